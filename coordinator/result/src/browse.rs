//! Lists of a result for pages: paged, filtered and sorted in the database, in memory that does not grow with it.
//!
//! The writer of a result puts all that lists sort and filter by into the rows of clusters, sets and documents, so that a
//! page is a query to one file.

mod cluster;
mod clusters;
mod condition;
mod documents;
mod filter;
mod query;
mod review;
mod rules;
mod sets;
mod summary;

use std::cell::RefCell;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::error::Error;
use crate::other_verdicts::OtherVerdicts;
use crate::report::{Order, Reader, Report};

pub use crate::report::VerdictWanted;
pub use cluster::{ClusterPage, ClusterQuery, MemberRow, Place, ToPivot};
pub use clusters::ClusterRow;
pub use cognate_result_file::Cluster;
pub use documents::{DocumentQuery, DocumentRow};
pub use filter::{Change, ClusterFilter, Sort};
pub use review::{Progress, SampledDocument, SampledLink};
pub use rules::{Bulk, BulkRule};
pub use sets::{SetFilter, SetRow};
pub use summary::{ClusterTotals, Summary};

/// Rows of a page by default.
pub const PAGE_ROWS: u64 = 50;
/// No page has more.
pub const PAGE_ROWS_MAX: u64 = 1000;

/// Some rows of a list, and how many it has in all.
#[derive(Clone, Debug, Default)]
pub struct Page<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// Number of rows on all pages.
    pub total: u64,
}

/// A page of a list, counted from 0.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Number of the page.
    pub page: u64,
    /// Rows of a page.
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

/// A result that is open for pages.
pub struct Browse {
    report: Report,
    /// The file's number when it was opened.
    file_number: Option<u64>,
    /// The sites by the numbers that lists give them.
    numbered: Vec<String>,
    /// The sites in the order of the launch.
    sites: Vec<String>,
    /// Version of the store up to which the marks of verdicts are current; nothing: there are none yet.
    pub(crate) marked: Option<u64>,
    /// The verdicts in force about documents and sets, as of the same version.
    pub(crate) other_verdicts: OtherVerdicts,
    /// The path whose clusters are in the table `temp.found`.
    found_path: RefCell<Option<String>>,
    /// The person for whom the marks are.
    pub(crate) reader: Reader,
    /// The party of all sites; nothing: there are several.
    pub(crate) party: Option<String>,
}

impl Browse {
    /// Opens a result.
    ///
    /// # Errors
    /// Fails if the file is no result that this build reads.
    pub fn open(result: &Path) -> Result<Browse, Error> {
        let report = Report::open(result)?;
        let mut browse = Browse {
            report,
            file_number: number_of(result),
            numbered: Vec::new(),
            sites: Vec::new(),
            marked: None,
            other_verdicts: OtherVerdicts::default(),
            found_path: RefCell::new(None),
            reader: Reader::default(),
            party: None,
        };
        browse.make_join_tables()?;
        // Lists number the sites by their first repository.
        let sites = browse.report.rows::<String>("SELECT site FROM root GROUP BY site ORDER BY min(id)", ())?;
        browse.sites.clone_from(&sites);
        browse.numbered = sites;
        let mut parties = browse.report.rows::<String>("SELECT DISTINCT party FROM root LIMIT 2", ())?;
        browse.party = if parties.len() == 1 { parties.pop() } else { None };
        // Pages are for people.
        browse.report.set_order(Order::Launch);
        browse.report.sort_sites(&mut browse.sites);
        Ok(browse)
    }

    /// The result itself.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The sites, in the order of the launch.
    pub fn sites(&self) -> &[String] {
        &self.sites
    }

    /// The party of all sites; nothing: there are several.
    pub fn party(&self) -> Option<&str> {
        self.party.as_deref()
    }

    /// The person for whom verdicts are marked.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// True while the file is the one that was opened: a scan that is removed or published again has another.
    pub fn is_current(&self) -> bool {
        self.file_number.is_some() && number_of(self.report.path()) == self.file_number
    }

    pub(crate) fn failed(&self, source: rusqlite::Error) -> Error {
        self.report.failed(source)
    }

    /// The names of sites, from their numbers with a comma before and after each.
    fn site_names(&self, numbers: &str) -> Vec<String> {
        let numbers = numbers.split(',').filter_map(|number| number.parse::<usize>().ok());
        let mut names: Vec<String> = numbers.filter_map(|number| self.numbered.get(number).cloned()).collect();
        self.report.sort_sites(&mut names);
        names
    }
}

/// The number of the file of this name now.
fn number_of(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().map(|found| found.ino())
}
