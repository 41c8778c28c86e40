//! Source of a result: the coordinator, or a file that `--format sqlite` wrote.

use std::path::{Path, PathBuf};

use cognate_result::report::Report;

use crate::operator::client::{Operator, OperatorArg};
use crate::scan::{Fetched, fetch, find_result};
use crate::stop::Stop;

/// A result that can be read.
pub(crate) enum Source {
    /// From the coordinator.
    Fetched(Fetched),
    /// From a file.
    File(Report),
}

impl Source {
    /// Opens the result that `scan` names: a file, or else a scan at the coordinator.
    pub(crate) async fn open(arg: &OperatorArg, scan: &str, stop: &Stop) -> anyhow::Result<Source> {
        if let Some(file) = file(scan) {
            return Ok(Source::File(Report::open(&file)?));
        }
        let operator = Operator::open(arg).await?;
        Source::fetch(&operator, scan, stop).await
    }

    /// The same with an open connection to the coordinator.
    pub(crate) async fn fetch(operator: &Operator, scan: &str, stop: &Stop) -> anyhow::Result<Source> {
        let scan = find_result(operator, scan).await?;
        let mut fetched = fetch(operator, scan, stop).await?;
        fetched.set_verdicts(crate::verdict::states(operator, scan).await?);
        fetched.set_samples(&crate::verdict::samples(operator, scan).await?);
        Ok(Source::Fetched(fetched))
    }

    pub(crate) fn report(&self) -> &Report {
        match self {
            Source::Fetched(fetched) => fetched,
            Source::File(report) => report,
        }
    }

    pub(crate) fn report_mut(&mut self) -> &mut Report {
        match self {
            Source::Fetched(fetched) => fetched,
            Source::File(report) => report,
        }
    }
}

/// The file, if `scan` names one: no id of a scan has a `.` or `/`.
pub(crate) fn file(scan: &str) -> Option<PathBuf> {
    let path = Path::new(scan);
    let is_file = scan.contains(['.', '/']) && std::fs::metadata(path).is_ok_and(|found| found.is_file());
    is_file.then(|| path.to_owned())
}
