//! The content of a result, read from its file: the rows of the report `cognate.report/1`, in the order in which it lists them.
//!
//! Lists can be long, so they are returned row by row and never held complete. The fields of every row are declared in
//! the order of their names: written without spaces, a row is its own RFC 8785 canonical form, and the digest of a
//! report can be taken while it streams.

use std::cell::Cell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Params};

use crate::error::Error;
use cognate_analysis::published::file_digest;
use cognate_result_file::{Columns, FORMAT, FromRow, Record, columns, row};
use cognate_storage::maintenance::{RecordedResult, ResultProblem};
use cognate_storage::verdict::Labels;

mod aligned;
mod between;
mod blocks;
mod canonical;
mod chosen;
mod clusters;
mod documents;
mod evidence;
mod expected;
mod frames;
mod likeness;
mod links;
mod load;
mod members;
mod order;
mod pair;
mod places;
mod refined;
mod rows;
mod sampled;
mod samples;
mod scan;
mod sets;
mod share;
mod since;
mod slice;
mod tree;
mod verdicts;
mod viewer;

pub use aligned::AlignmentRow;
pub use canonical::{ListRow, LongList, json_digest};
pub use chosen::{Choice, VerdictWanted};
pub(crate) use clusters::{Member, Parts};
pub use cognate_analysis::alignment::Alignment;
pub use cognate_result_file::{Ratio, STATUSES};
pub use documents::DocumentFilter;
pub(crate) use documents::share_of;
pub use evidence::*;
pub use expected::EXACT_PAIRS_MIN;
pub use frames::FrameSection;
pub use likeness::RepeatedBytes;
pub use links::LinkRow;
pub use load::{LoadRow, NearGroup};
pub use order::Order;
pub use pair::{Found, FoundView, Route};
pub use rows::*;
pub use sampled::SampledOverlap;
pub use samples::{BandRow, SampleSection};
pub(crate) use sets::loose_tier;
pub use since::{Change, Changes};
pub use slice::ClusterTotals;
pub use tree::TreeEntry;
pub use verdicts::VerdictSection;
pub use viewer::{Reader, Viewer};

/// The name of the report's schema. Fields may be added to it, never renamed.
pub const SCHEMA: &str = "cognate.report/1";

/// The part of a result that is mapped into memory, so all of it. The rest would be read by calls, each page as often as a row of it is
/// referred to: 84 GB of calls for the digest of a result of 2.5 GB, of which one gibibyte was mapped. `.cargo/config.toml` has the same
/// number, the most that `SQLite` allows.
const MAPPED_BYTES_MAX: u64 = 1 << 40;

/// An open result.
pub struct Report {
    connection: Connection,
    path: PathBuf,
    /// The scan's views, `raw` or `text`, by the numbers of their layers.
    views: Vec<String>,
    /// The repositories, by their numbers.
    roots: Vec<order::RootPlace>,
    /// The order of sites in lists.
    order: Cell<Order>,
    /// The site of a slice; `None` for the complete report.
    slice: Option<String>,
    /// Verdicts, by cluster or set, by view or tier, and by id.
    verdicts: HashMap<(bool, String, String), VerdictSection>,
    /// Verdicts on documents.
    of_documents: HashMap<verdicts::PlaceKey, VerdictSection>,
    /// The labels of clusters, by view and id.
    labels: HashMap<(String, String), Labels>,
    /// The clusters to which the report is limited by what people decided, in words; `None`: to none.
    chosen: Option<String>,
    /// True if verdicts were added.
    has_verdicts: bool,
    /// What blind samples say.
    samples: Vec<SampleSection>,
}

impl Report {
    /// Opens a result for reading.
    ///
    /// # Errors
    /// Fails if the file is not there, or is not a result of a version that this build reads.
    pub fn open(path: &Path) -> Result<Report, Error> {
        let failed = |source| Error::Result { path: path.to_owned(), source };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        // A result is read nearly whole, and its rows refer to each other: mapped, its pages need not be copied.
        connection.pragma_update(None, "mmap_size", MAPPED_BYTES_MAX).map_err(failed)?;
        // Nobody writes to a result. The lock of its first reading is kept: otherwise each of many thousand small queries takes it again.
        connection.pragma_update(Some("main"), "locking_mode", "EXCLUSIVE").map_err(failed)?;
        // Prepared statements must stay cached: without this, each cluster's queries were prepared again for its number.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(failed)?;
        let format: String = connection.query_row("SELECT schema FROM scan", [], |row| row.get(0)).map_err(failed)?;
        if format != FORMAT {
            let detail = format!("it is a result of format `{format}`, this version reads `{FORMAT}`");
            return Err(Error::Corrupt { path: path.to_owned(), detail });
        }
        let mut report = Report {
            connection,
            path: path.to_owned(),
            views: Vec::new(),
            roots: Vec::new(),
            order: Cell::default(),
            slice: None,
            verdicts: HashMap::new(),
            of_documents: HashMap::new(),
            labels: HashMap::new(),
            chosen: None,
            has_verdicts: false,
            samples: Vec::new(),
        };
        report.views = report.rows("SELECT view FROM layer ORDER BY number", ())?;
        report.roots = report.root_places()?;
        Ok(report)
    }

    /// Checks a result file: its structure, and its digest where one is given. Answers the problem, if there is one.
    pub fn check(path: &Path, recorded: Option<RecordedResult<'_>>) -> Option<ResultProblem> {
        let quick = || -> rusqlite::Result<String> {
            let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        };
        match quick() {
            Ok(answer) if answer == "ok" => {}
            Ok(answer) => return Some(ResultProblem::Damaged(cognate_proto::name::one_line(&answer))),
            Err(error) => return Some(ResultProblem::Damaged(error.to_string())),
        }
        let RecordedResult { digest: expected, file_digest: of_file } = recorded?;
        let problem = match Report::open(path).and_then(|report| report.digest()) {
            Ok(found) if found != expected => format!("its digest is {found} and was {expected}"),
            Ok(_) => return None,
            Err(error) => error.to_string(),
        };
        // A report gets new fields in time. The bytes of the file then tell whether anything happened to it.
        match !of_file.is_empty() && file_digest(path).is_ok_and(|found| found == of_file) {
            true => Some(ResultProblem::OtherBuild(format!("another build wrote it: as this one reads it, {problem}"))),
            false => Some(ResultProblem::Damaged(problem)),
        }
    }

    /// The views that were compared, `raw` or `text`, in the order of their rows.
    pub fn views(&self) -> &[String] {
        &self.views
    }

    /// The view of a layer, if there are two: every row has it then.
    fn view(&self, layer: usize) -> Option<String> {
        self.views.get(layer).filter(|_| self.views.len() > 1).cloned()
    }

    /// In what the documents of an identical set of a layer are the same.
    pub(crate) fn tier(&self, layer: usize) -> &'static str {
        if self.views.get(layer).is_some_and(|view| view == "text") { "same text" } else { "same bytes" }
    }

    /// Path of the result: an ordinary `SQLite` file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Connection that reads the rows.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The rows of a query.
    pub(crate) fn rows<T: FromRow>(&self, sql: &str, params: impl Params) -> Result<Vec<T>, Error> {
        let mut all = Vec::new();
        self.each_row(sql, params, |row| {
            all.push(row);
            Ok::<_, Error>(())
        })?;
        Ok(all)
    }

    /// The one row of a query that always has one.
    pub(crate) fn row<T: FromRow>(&self, sql: &str, params: impl Params) -> Result<T, Error> {
        let row = self.first_row(sql, params)?;
        row.ok_or_else(|| self.failed(rusqlite::Error::QueryReturnedNoRows))
    }

    /// The first row of a query, if it has any.
    pub(crate) fn first_row<T: FromRow>(&self, sql: &str, params: impl Params) -> Result<Option<T>, Error> {
        let read = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            statement.query_row(params, |row| T::from_row(&mut Columns::of(row))).optional()
        };
        read().map_err(|error| self.failed(error))
    }

    /// Hands over the rows of a query, and stops when the taker fails.
    pub(crate) fn each_row<T: FromRow, E: From<Error>>(
        &self,
        sql: &str,
        params: impl Params,
        mut each: impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut statement = self.connection.prepare_cached(sql).map_err(|error| self.failed(error))?;
        let mut rows = statement.query(params).map_err(|error| self.failed(error))?;
        while let Some(row) = rows.next().map_err(|error| self.failed(error))? {
            each(T::from_row(&mut Columns::of(row)).map_err(|error| self.failed(error))?)?;
        }
        Ok(())
    }

    /// Records of one kind, as the rest of a query for their table `t` says.
    pub(crate) fn records<R: Record>(&self, rest: &str) -> Result<Vec<R>, Error> {
        self.rows(&select::<R>(rest), ())
    }

    /// The one record of a kind.
    pub(crate) fn record<R: Record>(&self) -> Result<R, Error> {
        self.row(&select::<R>(""), ())
    }

    /// The place of a document as reports show it.
    pub(crate) fn located(&self, place: &DocumentPlace) -> Result<Located, Error> {
        let (root, (path, path_escaped)) = (self.root(place.root)?, path_of(&place.path));
        Ok(Located {
            message_id_hash: place.message_id_hash.as_ref().map(|hash| hex(hash)),
            modified: time(place.modified),
            path,
            path_escaped,
            recognised: place.recognised.then_some(true),
            repository: root.repository.clone(),
            site: root.site.clone(),
            size_bytes: None,
        })
    }

    pub(crate) fn failed(&self, source: rusqlite::Error) -> Error {
        Error::Result { path: self.path.clone(), source }
    }
}

/// The query for records of one kind from their table `t`, with its rest.
pub(crate) fn select<R: Record>(rest: &str) -> String {
    format!("SELECT {} FROM {} t {rest}", columns::<R>("t"), R::TABLE)
}

row! {
    /// The place and age of a document `d`.
    pub(crate) struct DocumentPlace {
        root: i64 = "d.root",
        path: Vec<u8> = "d.path",
        modified: i64 = "d.modified",
        message_id_hash: Option<[u8; 16]> = "d.message_id_hash",
        recognised: bool = "d.recognised",
    }
}

pub(crate) fn path_of(bytes: &[u8]) -> (String, Option<bool>) {
    let (text, escaped) = cognate_proto::path::escaped(bytes);
    (text.into_owned(), escaped.then_some(true))
}

/// Lowercase hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

/// A time as text; none for 0, which stands in the place of one that the policy of a site withholds. One that no calendar has is
/// shown at the edge.
pub fn time(seconds: i64) -> String {
    if seconds == 0 {
        return String::new();
    }
    let clamped = seconds.clamp(jiff::Timestamp::MIN.as_second() + 1, jiff::Timestamp::MAX.as_second());
    jiff::Timestamp::from_second(clamped).map_or_else(|_| String::new(), |time| time.to_string())
}
