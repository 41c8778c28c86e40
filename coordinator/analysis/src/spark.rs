//! Grouping by an Apache Spark cluster: the postings that can make no link are left out elsewhere.
//!
//! Most tags are of one content alone. A program of its own, `cognate-spark`, exports the postings of a layer to a folder that the
//! cluster reads, has it group them by tag and leave such tags out, checks what came back, and leaves the rest as one run. The engine
//! compares that run as it would compare all: a tag of one content, held by one group, makes neither a link nor overlap. So the result
//! is the same bytes. Everything heavy (Parquet, object stores, Spark Connect) is in that program, none of it in this one.
//!
//! The program gets a folder with a `job` and is asked through its input and output: see `child.rs`. It keeps there how far it is, so that
//! another attempt on the same input continues.

mod child;
mod job;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use cognate_proto::options::{Engine, ScanOptions};
use cognate_similarity::{Binding, ContentIndex, Run, RunInput, RunShards, Shards as _};

use self::child::Ended;
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

/// The postings that are left, in a run; the files are removed at the end.
pub(crate) struct Grouped {
    pub(crate) shards: RunShards,
    /// Postings before.
    pub(crate) postings: u64,
    folder: PathBuf,
}

impl Drop for Grouped {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.folder) {
            tracing::warn!(folder = %self.folder.display(), %error, "the files of an exchange stay");
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

    /// Has the postings of a layer grouped; `binding` is that of the layer's checkpoint.
    ///
    /// # Errors
    /// If the program cannot be run or fails; its error names the cause. What it has published stays for another attempt, unless the scan
    /// is cancelled.
    pub(crate) fn group(&self, scan: &ScanJob, subject: &Subject<'_>, binding: &Binding) -> Result<Grouped, Error> {
        let places = self.places(&scan.spec.options)?;
        let name = data_encoding::HEXLOWER.encode(&binding[..16]);
        let folder = self.folder.join(&name);
        std::fs::create_dir_all(&folder).map_err(Error::state(&folder))?;
        job::write(&folder, &name, scan, subject, &places)?;
        let ended = child::run(&self.settings.program, "group", &folder, scan)?;
        match ended {
            Ended::Done { kept, postings } => self.opened(folder, subject, (kept, postings)),
            Ended::Failed(reason) => Err(Error::Refused(format!("Spark: {reason}"))),
            Ended::Stopped if scan.halted.load(Ordering::Relaxed) => Err(Error::Cancelled),
            Ended::Stopped => {
                std::fs::remove_dir_all(&folder).map_err(Error::state(&folder))?;
                Err(Error::Cancelled)
            }
        }
    }

    fn opened(&self, folder: PathBuf, subject: &Subject<'_>, (kept, postings): (u64, u64)) -> Result<Grouped, Error> {
        let run = Run::open(&kept_path(&folder))?;
        let contents = subject.frozen.contents.len();
        let contents = (0..contents)
            .map(|content| Some(ContentIndex(u32::try_from(content).expect("contents have 31-bit numbers"))));
        let mut shards = RunShards::new(vec![RunInput { run, contents: contents.collect() }]);
        if shards.posting_count_max() != kept {
            let (has, path) = (shards.posting_count_max(), kept_path(&folder));
            return Err(Error::Refused(format!(
                "Spark: `{}` has {has} postings, not {kept}: launch the scan again",
                path.display()
            )));
        }
        shards.set_templates(subject.frozen.shards.templates().to_vec());
        Ok(Grouped { shards, postings, folder })
    }
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
