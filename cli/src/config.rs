//! The configuration of the daemons: a TOML file, overridden by the environment, overridden by flags. Unknown keys are
//! errors; every value knows where it comes from.

mod environment;
mod layers;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use self::layers::{Layers, Origin};
use crate::exit::usage;

/// What `coordinator.toml` says.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CoordinatorFile {
    /// The folder for the coordinator's state.
    pub(crate) state_dir: PathBuf,
    /// Where workers and operators dial: gRPC over mutual TLS.
    pub(crate) listen: String,
    /// Where the pages, the API, health and metrics are served: plain on loopback, TLS everywhere else.
    pub(crate) http_listen: String,
    /// Where browsers find the pages, if a proxy stands before them: `https://cognate.example.com`; empty: where they are
    /// served.
    pub(crate) http_address: String,
    /// The certificate that the pages show, PEM, with what signed it; empty: one of the federation's own authority.
    pub(crate) http_certificate: PathBuf,
    /// Its key, PEM.
    pub(crate) http_key: PathBuf,
    /// The names or addresses by which others reach this machine; they stand in its certificate and in invitations.
    pub(crate) names: Vec<String>,
    /// Working memory of an analysis.
    pub(crate) memory_budget: String,
    /// Threads of an analysis; 0: one for each processor.
    pub(crate) threads: usize,
    /// How long a stop may take.
    pub(crate) drain: String,
    /// Results older than this are deleted; empty: never.
    pub(crate) keep_scans: String,
    /// Indexes under a method that no scan has used for this long are deleted; empty: never.
    pub(crate) keep_methods: String,
    /// The coordinator takes nothing in while less than this is free on its disk.
    pub(crate) disk_reserve: String,
    /// What a site may keep here at most; empty: no limit.
    pub(crate) site_quota: String,
    /// From which severity on events are logged; empty: as the command line says. Read again at SIGHUP.
    pub(crate) log_level: String,
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
            threads: 0,
            drain: "30s".into(),
            keep_scans: String::new(),
            keep_methods: String::new(),
            disk_reserve: "64MiB".into(),
            site_quota: String::new(),
            log_level: String::new(),
        }
    }
}

/// What `worker.toml` says.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WorkerFile {
    /// The folder for the worker's state.
    pub(crate) state_dir: PathBuf,
    /// The folders on offer.
    pub(crate) repository: Vec<RepositoryEntry>,
    /// The federation's key, in a file; empty: none.
    pub(crate) key: PathBuf,
    /// How many documents are read at once; 0: one for each processor.
    pub(crate) threads: usize,
    /// How long a stop may take.
    pub(crate) drain: String,
    /// How much extracted text is kept, compressed, so that nothing is extracted twice.
    pub(crate) texts_bytes_max: String,
    /// What this site agrees to.
    pub(crate) policy: PolicyEntry,
}

/// One `[[repository]]`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RepositoryEntry {
    /// The name that scans know it by.
    pub(crate) name: String,
    /// Its folder.
    pub(crate) path: PathBuf,
    /// Syncs by itself this often, under every method that it was synced with before; absent: only when asked.
    #[serde(default)]
    pub(crate) sync_every: Option<String>,
    /// The views that may be used here; absent: those of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) views: Option<Vec<String>>,
}

/// `[policy]`: what a scan may ask of this site, and how gently it is to be done.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PolicyEntry {
    /// The methods that may be used.
    pub(crate) methods: Vec<String>,
    /// The views that may be used.
    pub(crate) views: Vec<String>,
    /// The least mean length of a chunk.
    pub(crate) chunk_bytes_min: String,
    /// The same for scans across parties without a key.
    pub(crate) chunk_bytes_min_unkeyed_across: String,
    /// The same for text, which is shorter than the files that it stands in.
    pub(crate) chunk_bytes_min_unkeyed_across_text: String,
    /// The least window that a feature may be made from, where features are no chunks.
    pub(crate) window_bytes_min: String,
    /// The same for scans across parties without a key.
    pub(crate) window_bytes_min_unkeyed_across: String,
    /// The most features that a signature of a fixed size may have.
    pub(crate) signature_features_max: u64,
    /// Whether plain numbers of documents (`similarity-index`) may leave although there is a key.
    pub(crate) plain_indexes: bool,
    /// Whether other parties may have keyed term vectors of documents that `fuzzy` proposes.
    pub(crate) term_vectors: bool,
    /// Whether scans across parties may be without a key at all.
    pub(crate) unkeyed_across_parties: bool,
    /// Whether a scan may read again, under another method that is allowed, only the documents that an earlier one chose.
    pub(crate) refine: bool,
    /// Whether the EDRM hash of a message's id may be told, which no key protects.
    pub(crate) message_id_hashes: bool,
    /// Of which kinds hashes of whole files are kept (`md5`, `sha1`, `sha256`), so that this site can be asked for known
    /// files. They are never sent.
    pub(crate) file_hashes: Vec<String>,
    /// What is told of a document's time: `exact`, `day` or `none`.
    pub(crate) times: String,
    /// When documents may be read: `22:00-06:00`, local time; empty: always.
    pub(crate) hours: String,
    /// How much is read a second; empty: as fast as it goes.
    pub(crate) read_bytes_per_second: String,
    /// Which share of the time is spent reading, above 0 and at most 1.
    pub(crate) share_of_time: f64,
}

impl Default for WorkerFile {
    fn default() -> WorkerFile {
        WorkerFile {
            state_dir: "/var/lib/cognate-worker".into(),
            repository: Vec::new(),
            key: PathBuf::new(),
            threads: 0,
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
            unkeyed_across_parties: false,
            refine: true,
            message_id_hashes: false,
            file_hashes: Vec::new(),
            times: "exact".into(),
            hours: String::new(),
            read_bytes_per_second: String::new(),
            share_of_time: 1.0,
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

/// Reads a configuration: what the program assumes, below the file, below the environment.
///
/// # Errors
/// A usage error that names the key and where it stands.
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
