//! What pages show of a result: paged, filtered and sorted where the data is, in memory that does not grow with it.
//!
//! A result is written once for everybody; what only pages need of it lies in a file beside it (`side.rs`), derived and
//! made anew where it is missing. Lists of clusters and identical sets are questions to that file; lists of documents go
//! through its blocks.

mod cluster;
mod clusters;
mod documents;
mod filter;
mod query;
mod sets;
mod side;
mod summary;

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::report::Report;

pub use cluster::{ClusterPage, ClusterQuery, FamilyView, LinkView, MemberRow, Place, ToPivot};
pub use clusters::ClusterRow;
pub use documents::{DocumentQuery, DocumentRow};
pub use filter::{Change, ClusterFilter, Sort, VerdictWanted};
pub use sets::{SetFilter, SetRow};
pub use summary::{ClusterTotals, Summary};

/// Rows of a page, where nobody asks for another number.
pub const PAGE_ROWS: u64 = 50;
/// No page has more.
pub const PAGE_ROWS_MAX: u64 = 1000;

/// Some rows of a list, and how many it has in all.
#[derive(Clone, Debug, Default)]
pub struct Page<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// How many there are on all pages.
    pub total: u64,
}

/// Which rows of a list: pages count from 0.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Which page.
    pub page: u64,
    /// How many rows one has.
    pub rows: u64,
}

impl Default for Window {
    fn default() -> Window {
        Window { page: 0, rows: PAGE_ROWS }
    }
}

impl Window {
    fn rows(self) -> u64 {
        self.rows.clamp(1, PAGE_ROWS_MAX)
    }

    fn offset(self) -> u64 {
        self.page.saturating_mul(self.rows())
    }
}

/// An open result with what pages need beside it.
pub struct Browse {
    report: Report,
    side: PathBuf,
    /// Which file that was when it was opened.
    side_number: Option<u64>,
    sites: Vec<String>,
    /// How far the marks of verdicts are level with the store; nothing: there are none yet.
    pub(crate) marked: Option<u64>,
}

impl Browse {
    /// Opens a result; what pages need is made where it is missing, which takes seconds for a million documents.
    ///
    /// # Errors
    /// When the file is no result that this build reads, or nothing can be written beside it.
    pub fn open(result: &Path) -> Result<Browse, Error> {
        let report = Report::open(result)?;
        let side = side::ensure(&report)?;
        let side_number = number_of(&side);
        let mut browse = Browse { report, side, side_number, sites: Vec::new(), marked: None };
        browse.attach("side", &browse.side)?;
        let marks = "CREATE TEMP TABLE mark (cluster INTEGER PRIMARY KEY, verdict TEXT, changed INTEGER, key BLOB);
                     CREATE INDEX temp.mark_key ON mark (key);";
        browse.report.connection().execute_batch(marks).map_err(|error| browse.failed(error))?;
        browse.sites = browse.collect("SELECT name FROM side.site ORDER BY number", [], |row| row.get(0))?;
        Ok(browse)
    }

    /// The result itself.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The sites, in the order of their repositories.
    pub fn sites(&self) -> &[String] {
        &self.sites
    }

    /// Whether the file beside the result still is the one that was opened.
    pub fn is_current(&self) -> bool {
        self.side_number.is_some() && number_of(&self.side) == self.side_number
    }

    /// What the error is. Where a file is damaged, the one beside the result goes: it is made anew when somebody looks next.
    pub(crate) fn failed(&self, source: rusqlite::Error) -> Error {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        if matches!(source.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase)) {
            tracing::warn!(file = %self.side.display(), %source, "what pages need of a result is damaged, and made anew");
            let _ = std::fs::remove_file(&self.side);
        }
        self.report.failed(source)
    }

    fn attach(&self, name: &str, path: &Path) -> Result<(), Error> {
        let sql = format!("ATTACH ? AS {name}");
        let connection = self.report.connection();
        connection.execute(&sql, [path.to_string_lossy()]).map_err(|error| self.failed(error))?;
        // Pages go through much of it: mapped, it need not be copied.
        let sql = format!("PRAGMA {name}.mmap_size = 1073741824");
        connection.execute_batch(&sql).map_err(|error| self.failed(error))
    }

    fn collect<T, P: rusqlite::Params>(
        &self,
        sql: &str,
        params: P,
        read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Error> {
        let collect = || {
            let mut statement = self.report.connection().prepare_cached(sql)?;
            statement.query_map(params, read)?.collect::<rusqlite::Result<Vec<T>>>()
        };
        collect().map_err(|error| self.failed(error))
    }

    fn one<T, P: rusqlite::Params>(
        &self,
        sql: &str,
        params: P,
        read: impl FnOnce(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, Error> {
        let one = || {
            let mut statement = self.report.connection().prepare_cached(sql)?;
            let mut rows = statement.query(params)?;
            rows.next()?.map(read).transpose()
        };
        one().map_err(|error| self.failed(error))
    }

    /// The names of sites, from their numbers with a comma before and after each.
    fn site_names(&self, numbers: &str) -> Vec<String> {
        let numbers = numbers.split(',').filter_map(|number| number.parse::<usize>().ok());
        numbers.filter_map(|number| self.sites.get(number).cloned()).collect()
    }
}

/// Which file lies there now.
fn number_of(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().map(|found| found.ino())
}

/// Makes what pages need of a result, unless it is there.
///
/// # Errors
/// As [`Browse::open`].
pub fn prepare(result: &Path) -> Result<(), Error> {
    side::ensure(&Report::open(result)?).map(drop)
}
