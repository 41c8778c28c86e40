//! Configuration of the daemons: a TOML file, overridden by the environment, overridden by flags. Unknown keys are
//! errors; every value has a known origin.

mod environment;
mod layers;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use self::layers::{Layers, Origin};
use crate::exit::usage;

/// Contents of `coordinator.toml`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CoordinatorFile {
    /// Folder of the coordinator's state.
    pub(crate) state_dir: PathBuf,
    /// Address for workers and operators: gRPC over mutual TLS.
    pub(crate) listen: String,
    /// Address of the pages, the API, health and metrics: plain HTTP on loopback, TLS everywhere else.
    pub(crate) http_listen: String,
    /// Address of the pages for browsers, if a proxy is in front of them: `https://cognate.example.com`; empty: the address
    /// above.
    pub(crate) http_address: String,
    /// Certificate of the pages with its chain, PEM; empty: one of the federation's own authority.
    pub(crate) http_certificate: PathBuf,
    /// Its key, PEM.
    pub(crate) http_key: PathBuf,
    /// Names or addresses by which others reach this machine, for its certificate and for invitations.
    pub(crate) names: Vec<String>,
    /// Working memory of an analysis.
    pub(crate) memory_budget: String,
    /// Pairs of contents that chunks of very many contents may propose in a scan; beyond it they are set aside.
    pub(crate) scan_pairs: u64,
    /// Threads of an analysis; 0: one for each processor.
    pub(crate) threads: usize,
    /// Time that a stop may take.
    pub(crate) drain: String,
    /// Results older than this are deleted; empty: never.
    pub(crate) keep_scans: String,
    /// Indexes under a method that no scan has used for this long are deleted; empty: never.
    pub(crate) keep_methods: String,
    /// Free disk space below which the coordinator accepts no data.
    pub(crate) disk_reserve: String,
    /// Most disk space that the manifests of one site may use at the coordinator; empty: no limit.
    pub(crate) site_quota: String,
    /// Most documents that one site may have at the coordinator; 0: no limit.
    pub(crate) site_documents: u64,
    /// Most contents; 0: no limit.
    pub(crate) site_contents: u64,
    /// Most bytes of the names of its documents; empty: no limit.
    pub(crate) site_names: String,
    /// Hosts, or hosts with a port, to which webhooks may go.
    pub(crate) webhook_hosts: Vec<String>,
    /// Lowest severity that is logged; empty: the value of the command line. SIGHUP reads it again.
    pub(crate) log_level: String,
    /// Clusters that may group the chunks of scans.
    pub(crate) spark: SparkEntry,
}

/// `[spark]`: Apache Spark clusters, for scans with `--engine spark`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SparkEntry {
    /// The program `cognate-spark`: a path, or a name that is looked up in `PATH`.
    pub(crate) program: PathBuf,
    /// Spark Connect servers, `sc://HOST:PORT`; a scan uses the first unless it names another. Empty: there is no Spark.
    pub(crate) servers: Vec<String>,
    /// Folders below which exchanges may be, `file:///DIR` or `s3a://BUCKET/DIR`; a scan uses the first unless it names another.
    pub(crate) exchanges: Vec<String>,
    /// The machines that join: `workers` (they run the program), `coordinator` (the cluster only groups chunks), or `auto`: the workers
    /// if the server can run programs.
    pub(crate) join: String,
    /// The path of `cognate-spark` on the workers; empty: it comes to them through the exchange.
    pub(crate) worker_program: String,
}

impl Default for SparkEntry {
    fn default() -> SparkEntry {
        SparkEntry {
            program: "cognate-spark".into(),
            servers: Vec::new(),
            exchanges: Vec::new(),
            join: "auto".into(),
            worker_program: String::new(),
        }
    }
}

impl Default for CoordinatorFile {
    fn default() -> CoordinatorFile {
        CoordinatorFile {
            state_dir: "/var/lib/cognate".into(),
            listen: "0.0.0.0:7443".into(),
            http_listen: "127.0.0.1:7480".into(),
            http_address: String::new(),
            http_certificate: PathBuf::new(),
            http_key: PathBuf::new(),
            names: Vec::new(),
            memory_budget: "1GiB".into(),
            scan_pairs: 30_000_000_000,
            threads: 0,
            drain: "30s".into(),
            keep_scans: String::new(),
            keep_methods: String::new(),
            disk_reserve: "64MiB".into(),
            site_quota: "32GiB".into(),
            site_documents: 2_000_000,
            site_contents: 2_000_000,
            site_names: "256MiB".into(),
            webhook_hosts: Vec::new(),
            log_level: String::new(),
            spark: SparkEntry::default(),
        }
    }
}

/// Contents of `worker.toml`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WorkerFile {
    /// Folder of the worker's state.
    pub(crate) state_dir: PathBuf,
    /// The folders that the site offers.
    pub(crate) repository: Vec<RepositoryEntry>,
    /// File with the federation key; empty: none.
    pub(crate) key: PathBuf,
    /// If set, all sites of the federation belong to one party.
    pub(crate) one_party: bool,
    /// Number of documents that are read at once; 0: one for each processor.
    pub(crate) threads: usize,
    /// How long the file system of a document may not answer until the document is given up.
    pub(crate) file_wait: String,
    /// Time that a stop may take.
    pub(crate) drain: String,
    /// Size of the compressed cache of extracted text, which avoids extracting a text twice.
    pub(crate) texts_bytes_max: String,
    /// Limits that the site sets.
    pub(crate) policy: PolicyEntry,
}

/// One `[[repository]]`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RepositoryEntry {
    /// Name of the repository in scans.
    pub(crate) name: String,
    /// Path of the folder.
    pub(crate) path: PathBuf,
    /// Interval of automatic syncs, under every method of earlier syncs; absent: sync only on request.
    #[serde(default)]
    pub(crate) sync_every: Option<String>,
    /// Allowed views of this repository; absent: those of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) views: Option<Vec<String>>,
    /// A file below the folder that shows that it is mounted; absent: none is looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sentinel: Option<PathBuf>,
}

/// `[policy]`: what a scan may request of this site, and the limits on its load.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PolicyEntry {
    /// Allowed methods.
    pub(crate) methods: Vec<String>,
    /// Allowed views.
    pub(crate) views: Vec<String>,
    /// Least average length of a chunk.
    pub(crate) chunk_bytes_min: String,
    /// The same for scans across parties without a key.
    pub(crate) chunk_bytes_min_unkeyed_across: String,
    /// The same for text, which is shorter than the files that contain it.
    pub(crate) chunk_bytes_min_unkeyed_across_text: String,
    /// Least window that a feature may be made from, for methods whose features are not chunks.
    pub(crate) window_bytes_min: String,
    /// The same for scans across parties without a key.
    pub(crate) window_bytes_min_unkeyed_across: String,
    /// Most features of a signature of a fixed size.
    pub(crate) signature_features_max: u64,
    /// If set, unkeyed numbers of documents (`similarity-index`) may leave although there is a key.
    pub(crate) plain_indexes: bool,
    /// If set, other parties may receive keyed term vectors of documents that `fuzzy` proposes.
    pub(crate) term_vectors: bool,
    /// Scans that get fine chunks: `always`, `within-party-or-keyed` or `never`.
    pub(crate) fine: String,
    /// The share of the chunks of a repository whose pieces scans across parties may have in a day.
    pub(crate) fine_share_per_day: f64,
    /// If set, scans across parties may have no key.
    pub(crate) unkeyed_across_parties: bool,
    /// If set, a scan may read documents that an earlier one chose again, under another allowed method.
    pub(crate) refine: bool,
    /// If set, a scan may follow symbolic links within a repository.
    pub(crate) follow_symlinks: bool,
    /// If set, documents are removed from an index even if more are gone than are there.
    pub(crate) mass_removals: bool,
    /// If set, the EDRM hash of a message id, which no key protects, may leave.
    pub(crate) message_id_hashes: bool,
    /// If set, the messages with hashes are filled up with zeros, so that their sizes tell less.
    pub(crate) pad_messages: bool,
    /// Kinds of hashes of entire files that the site stores (`md5`, `sha1`, `sha256`), so that it can be searched for known
    /// files. They never leave the site.
    pub(crate) file_hashes: Vec<String>,
    /// Precision of a document's time in messages: `exact`, `day` or `none`.
    pub(crate) times: String,
    /// Hours in which documents may be read: `22:00-06:00`, local time; empty: always.
    pub(crate) hours: String,
    /// Most bytes to read per second; empty: no limit.
    pub(crate) read_bytes_per_second: String,
    /// Share of the time to spend reading, above 0 and at most 1.
    pub(crate) share_of_time: f64,
    /// Recognition of text in pictures of pages.
    pub(crate) ocr: OcrEntry,
}

/// `[policy.ocr]`: the text of pages that are pictures, by the program `tesseract`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct OcrEntry {
    /// Languages of the documents, as the program names them; empty: no text is recognised.
    pub(crate) languages: Vec<String>,
    /// The program: a path, or a name that is looked up in `PATH`.
    pub(crate) program: PathBuf,
    /// The folder of its languages; empty: where the program itself looks.
    pub(crate) data: PathBuf,
    /// Most pages of a document that are recognised; a document with more is not read.
    pub(crate) pages_max: u32,
    /// Most time for a page.
    pub(crate) page_time_max: String,
    /// Most time for all pages of a document.
    pub(crate) document_time_max: String,
}

impl Default for OcrEntry {
    fn default() -> OcrEntry {
        OcrEntry {
            languages: Vec::new(),
            program: "tesseract".into(),
            data: PathBuf::new(),
            pages_max: 200,
            page_time_max: "1m".into(),
            document_time_max: "30m".into(),
        }
    }
}

impl Default for WorkerFile {
    fn default() -> WorkerFile {
        WorkerFile {
            one_party: false,
            state_dir: "/var/lib/cognate-worker".into(),
            repository: Vec::new(),
            key: PathBuf::new(),
            threads: 0,
            file_wait: "1m".into(),
            drain: "30s".into(),
            texts_bytes_max: "2GiB".into(),
            policy: PolicyEntry::default(),
        }
    }
}

impl Default for PolicyEntry {
    fn default() -> PolicyEntry {
        PolicyEntry {
            methods: vec!["tttd".into()],
            views: vec!["raw".into(), "text".into()],
            chunk_bytes_min: "80".into(),
            chunk_bytes_min_unkeyed_across: "500".into(),
            chunk_bytes_min_unkeyed_across_text: "150".into(),
            window_bytes_min: "20".into(),
            window_bytes_min_unkeyed_across: "64".into(),
            signature_features_max: 1000,
            plain_indexes: false,
            term_vectors: false,
            fine: "within-party-or-keyed".into(),
            fine_share_per_day: 0.5,
            unkeyed_across_parties: false,
            refine: true,
            follow_symlinks: false,
            mass_removals: false,
            message_id_hashes: false,
            pad_messages: false,
            file_hashes: Vec::new(),
            times: "exact".into(),
            hours: String::new(),
            read_bytes_per_second: String::new(),
            share_of_time: 1.0,
            ocr: OcrEntry::default(),
        }
    }
}

/// A configuration with the origin of its values.
pub(crate) struct Loaded<T> {
    /// The values in force.
    pub(crate) values: T,
    layers: Layers,
    path: PathBuf,
}

/// Reads a configuration: defaults, overridden by the file, overridden by the environment.
///
/// # Errors
/// A usage error that names the key and its place.
pub(crate) fn load<T>(path: &Path) -> anyhow::Result<Loaded<T>>
where
    T: Default + Serialize + for<'a> Deserialize<'a>,
{
    let unreadable = |error| usage(format!("the configuration `{}` cannot be read: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    let mut layers = Layers::new(toml::Table::try_from(T::default())?);
    let settings = environment::settings(&environment::keys(layers.values()), environment::variables())?;
    layers.file::<T>(path, &text)?;
    for (name, value) in settings {
        layers.variable::<T>(&name, &value)?;
    }
    let values = layers.values().clone().try_into()?;
    Ok(Loaded { values, layers, path: path.to_owned() })
}

impl<T: Serialize> Loaded<T> {
    /// The origin of a value, for people: the file, or the environment.
    pub(crate) fn origin(&self, key: &str) -> String {
        match self.layers.origin(key) {
            Origin::Environment => "the environment".to_owned(),
            Origin::File | Origin::Default => format!("`{}`", self.path.display()),
        }
    }

    /// Every value in force with its origin, one a line.
    pub(crate) fn print(&self) -> anyhow::Result<String> {
        let table: toml::Table = toml::Table::try_from(&self.values)?;
        let mut lines = String::new();
        self.print_table("", &table, &mut lines);
        Ok(lines)
    }

    fn print_table(&self, prefix: &str, table: &toml::Table, lines: &mut String) {
        for (name, value) in table {
            let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            if let toml::Value::Table(inner) = value {
                self.print_table(&key, inner, lines);
                continue;
            }
            let origin = match self.layers.origin(&key) {
                Origin::Default => "default".to_owned(),
                Origin::File => self.path.display().to_string(),
                Origin::Environment => "environment".to_owned(),
            };
            lines.push_str(&format!("{key} = {value}  # {origin}\n"));
        }
    }
}
