//! Analyses on an Apache Spark cluster: its workers join, or they leave out the postings that can make no link.
//!
//! A program of its own, `cognate-spark`, exports the postings of a layer to a folder that the cluster reads. Where the cluster can
//! run programs, its workers carry out the passes of the engine, and `cognate-spark` writes their analysis and links to files: the
//! same bytes as the engine makes here. Elsewhere the cluster groups the postings by tag and omits the tags of one content, which are
//! most; `cognate-spark` checks the others and writes them as one run. The engine compares that run as it would compare all: a tag of
//! one content, held by one group, makes neither a link nor overlap. So the result is the same bytes. Everything heavy (Parquet, object stores, Spark Connect) is in that program, none of it in this one.
//!
//! The program gets a folder with a `job` and is asked through its input and output: see `child.rs`. It keeps there how far it is, so that
//! another attempt on the same input continues.

mod child;
mod job;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use cognate_proto::options::{Engine, ScanOptions};
use cognate_similarity::{
    Analysis, Binding, ContentIndex, LinkFile, Run, RunInput, RunShards, Shards as _, Thresholds,
};

use self::child::ChildExit;
use crate::error::Error;
use crate::spec::ScanJob;
use crate::subject::Subject;

/// The clusters that the configuration of a coordinator allows. Data leaves from the coordinator's own network, so that not everybody who
/// may launch scans decides where to.
#[derive(Clone, Debug, Default)]
pub struct SparkSettings {
    /// The program `cognate-spark`: a path, or a name that is looked up in `PATH`.
    pub program: PathBuf,
    /// Addresses of Spark Connect servers: `sc://HOST:PORT`. Empty: there is no Spark.
    pub servers: Vec<String>,
    /// Addresses of folders below which exchanges may be.
    pub exchanges: Vec<String>,
    /// The machines that join: the workers or the coordinator.
    pub join: SparkJoin,
    /// The path of the program on the workers; empty: it comes to them through the exchange.
    pub worker_program: String,
}

/// The machines on which the engine joins contents that share chunks.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum SparkJoin {
    /// On the workers if the server can run programs there, else at the coordinator.
    #[default]
    Auto,
    /// On the workers, or the scan fails.
    Workers,
    /// At the coordinator; the cluster only groups.
    Coordinator,
}

impl SparkJoin {
    /// All places, with their names.
    pub const ALL: [(SparkJoin, &str); 3] =
        [(SparkJoin::Auto, "auto"), (SparkJoin::Workers, "workers"), (SparkJoin::Coordinator, "coordinator")];

    fn name(self) -> &'static str {
        SparkJoin::ALL.iter().find(|(join, _)| *join == self).expect("all are listed").1
    }
}

/// The clusters, and the folder for what they are asked.
#[derive(Clone, Debug, Default)]
pub struct Spark {
    /// The configuration.
    pub settings: SparkSettings,
    /// The folder with a folder for each job.
    pub folder: PathBuf,
}

/// The places that a scan uses.
pub(crate) struct Places {
    pub(crate) server: String,
    pub(crate) exchange: String,
}

/// The answer of a cluster.
pub(crate) enum SparkOutcome {
    /// The postings that are left.
    Grouped(GroupedPostings),
    /// All that there is to find.
    Joined(Box<JoinedLinks>),
}

/// The postings that are left, in a run; the files are removed at the end.
pub(crate) struct GroupedPostings {
    pub(crate) shards: RunShards,
    /// Postings before.
    pub(crate) postings: u64,
    _folder: Folder,
}

/// The analysis and the links of the workers; the files are removed at the end.
pub(crate) struct JoinedLinks {
    pub(crate) analysis: Analysis,
    /// The links that the engine reports, in order.
    pub(crate) links: LinkFile,
    _folder: Folder,
}

/// The folder of a job, which is removed when it is dropped.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(folder = %self.0.display(), %error, "the files of an exchange stay");
        }
    }
}

impl Spark {
    /// Checks that a scan may use the places that it names.
    ///
    /// # Errors
    /// If the configuration does not allow them, or has none.
    pub fn check(&self, options: &ScanOptions) -> Result<(), Error> {
        match options.engine {
            Engine::Native => Ok(()),
            Engine::Spark => self.places(options).map(drop),
        }
    }

    fn places(&self, options: &ScanOptions) -> Result<Places, Error> {
        let SparkSettings { servers, exchanges, .. } = &self.settings;
        let refused = |option: &str, why: String| Err(Error::Invalid(format!("`{option}`: {why}")));
        let (Some(first_server), Some(first_exchange)) = (servers.first(), exchanges.first()) else {
            let why =
                "this coordinator has no Spark: name `servers` and `exchanges` under `[spark]` in its configuration";
            return refused("engine", why.to_owned());
        };
        let server = if options.spark.is_empty() { first_server } else { &options.spark };
        if !servers.contains(server) {
            return refused(
                "spark",
                format!("`{server}` is not in `spark.servers` of the coordinator's configuration"),
            );
        }
        let exchange = if options.exchange.is_empty() { first_exchange } else { &options.exchange };
        let exchange = exchange.trim_end_matches('/');
        let is_below = |allowed: &String| {
            let rest = exchange.strip_prefix(allowed.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if !exchanges.iter().any(is_below) {
            return refused(
                "exchange",
                format!("`{exchange}` is not below one of `spark.exchanges` of the coordinator's configuration"),
            );
        }
        Ok(Places { server: server.clone(), exchange: exchange.to_owned() })
    }

    /// Has the postings of a layer joined, or at least grouped; `binding` is that of the layer's checkpoint, `thresholds` those of a link.
    ///
    /// # Errors
    /// If the program cannot be run or fails; its error names the cause. What it has published stays for another attempt, unless the scan
    /// is cancelled.
    pub(crate) fn analyse(
        &self,
        scan: &ScanJob,
        subject: &Subject<'_>,
        binding: &Binding,
        thresholds: &Thresholds,
    ) -> Result<SparkOutcome, Error> {
        let places = self.places(&scan.spec.options)?;
        let name = data_encoding::HEXLOWER.encode(&binding[..16]);
        let folder = self.folder.join(&name);
        std::fs::create_dir_all(&folder).map_err(Error::state(&folder))?;
        let job = job::Job { folder: &folder, name: &name, scan, subject, thresholds };
        job.write(&places, &self.settings)?;
        let ended = child::run(&self.settings.program, "group", &folder, scan)?;
        match ended {
            ChildExit::Grouped { kept, postings } => opened(folder, subject, kept, postings).map(SparkOutcome::Grouped),
            ChildExit::Joined { links, postings } => {
                joined(folder, &name, links, postings).map(|joined| SparkOutcome::Joined(Box::new(joined)))
            }
            ChildExit::Failed(reason) => Err(Error::Refused(format!("Spark: {reason}"))),
            ChildExit::Stopped if scan.halted.load(Ordering::Relaxed) => Err(Error::Cancelled),
            ChildExit::Stopped => {
                std::fs::remove_dir_all(&folder).map_err(Error::state(&folder))?;
                Err(Error::Cancelled)
            }
        }
    }
}

fn opened(folder: PathBuf, subject: &Subject<'_>, kept: u64, postings: u64) -> Result<GroupedPostings, Error> {
    let run = Run::open(&kept_path(&folder))?;
    let contents = subject.frozen.contents.len();
    let contents =
        (0..contents).map(|content| Some(ContentIndex(u32::try_from(content).expect("contents have 31-bit numbers"))));
    let mut shards = RunShards::new(vec![RunInput { run, contents: contents.collect() }]);
    if shards.posting_count_max() != kept {
        let (has, path) = (shards.posting_count_max(), kept_path(&folder));
        return Err(Error::Refused(format!(
            "Spark: `{}` has {has} postings, not {kept}: launch the scan again",
            path.display()
        )));
    }
    shards.set_templates(subject.frozen.shards.templates().to_vec());
    Ok(GroupedPostings { shards, postings, _folder: Folder(folder) })
}

fn joined(folder: PathBuf, name: &str, links: u64, postings: u64) -> Result<JoinedLinks, Error> {
    let binding: Binding = name.as_bytes().try_into().expect("a name has 32 digits");
    let analysis = Analysis::read(&folder.join("analysis"), &binding)?;
    let file = LinkFile::open(&folder.join("links"), &binding)?;
    if (file.count(), analysis.stats.postings) != (links, postings) {
        return Err(Error::Refused(format!(
            "Spark: `{}` has {} links of {} postings, not {links} of {postings}: launch the scan again",
            folder.display(),
            file.count(),
            analysis.stats.postings
        )));
    }
    Ok(JoinedLinks { analysis, links: file, _folder: Folder(folder) })
}

/// The run that is left.
fn kept_path(folder: &Path) -> PathBuf {
    folder.join("kept.run")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spark() -> Spark {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Spark {
            settings: SparkSettings {
                program: "cognate-spark".into(),
                servers: texts(&["sc://one:15002", "sc://two:15002"]),
                exchanges: texts(&["file:///srv/exchange", "s3a://bucket/x/"]),
                ..SparkSettings::default()
            },
            folder: PathBuf::new(),
        }
    }

    fn options(server: &str, exchange: &str) -> ScanOptions {
        ScanOptions { engine: Engine::Spark, spark: server.into(), exchange: exchange.into(), ..ScanOptions::default() }
    }

    #[test]
    fn a_scan_uses_the_places_of_the_configuration_and_no_others() {
        let check = |server: &str, exchange: &str, expected: Result<[&str; 2], &str>| {
            let places = spark().places(&options(server, exchange));
            match (places, expected) {
                (Ok(places), Ok(expected)) => assert_eq!([&*places.server, &*places.exchange], expected),
                (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
                (found, expected) => {
                    panic!("{server} {exchange}: {:?}, not {expected:?}", found.map(|places| places.exchange))
                }
            }
        };
        check("", "", Ok(["sc://one:15002", "file:///srv/exchange"]));
        check("sc://two:15002", "s3a://bucket/x", Ok(["sc://two:15002", "s3a://bucket/x"]));
        check("", "s3a://bucket/x/deeper/", Ok(["sc://one:15002", "s3a://bucket/x/deeper"]));
        check("sc://169.254.169.254:80", "", Err("`spark.servers`"));
        check("", "file:///srv/exchange2", Err("`spark.exchanges`"));
        check("", "s3a://bucket", Err("`spark.exchanges`"));
        check("", "file:///etc", Err("`spark.exchanges`"));
    }

    #[test]
    fn a_coordinator_without_spark_says_so_and_native_scans_need_none() {
        let none = Spark::default();
        let error = none.check(&options("", "")).unwrap_err().to_string();
        assert!(error.contains("`[spark]`"), "{error}");
        none.check(&ScanOptions::default()).unwrap();
    }
}
