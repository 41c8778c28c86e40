//! Writes the tables of a result by two threads, each into a file of its own: `SQLite` lets one thread write to a file at a time, and a
//! result is its insertions, for the most part. Documents, with what they hold, are half of it; they are copied in the end, which costs a
//! fraction of their insertion, since `SQLite` copies rows and entries of an index as they are where both tables are declared alike.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use cognate_result_file::copy_documents;

use super::clusters::ClusterOrder;
use super::decision::Decisions;
use super::document_rows::DocumentRows;
use super::sets::Sets;
use super::{Publication, Rows, Tables, Writer};
use crate::threads::side_by_side;

/// With fewer rows of documents, everything is written into one file.
const APART_ROWS_MIN: usize = 4096;

/// Writes all tables to a file; the second file is for documents meanwhile.
pub(super) fn write_tables([path, apart]: [&Path; 2], publication: &Publication<'_>) -> rusqlite::Result<()> {
    let threads = publication.scan.spec.threads;
    let order = || ClusterOrder::of_layers(publication.layers);
    let (clusters, documents) = side_by_side(threads, order, || DocumentRows::of(publication));
    let sets = Sets::of(publication, &documents);
    let decisions = Decisions::of(publication, &documents, &sets);
    let rows = &Rows { documents, decisions, sets, clusters };
    let writer = Writer::create(path)?;
    if rows.documents.rows.len() < APART_ROWS_MIN {
        writer.write_documents(publication, rows)?;
        return writer.write_others(publication, rows);
    }
    let write_apart = || Writer::create(apart)?.write_documents(publication, rows);
    let (apart_written, written) = side_by_side(threads, write_apart, || writer.write_others(publication, rows));
    apart_written.and(written)?;
    writer.copy_documents(apart)
}

impl Writer {
    /// Copies the tables of documents from another file.
    fn copy_documents(&self, from: &Path) -> rusqlite::Result<()> {
        self.connection.execute_batch(&Tables::Documents.tables())?;
        // The indexes are there before the rows, and so they are copied: afterwards, they would be sorted once more.
        self.connection.execute_batch(Tables::Documents.indexes())?;
        // The bytes as they are: a path need not be text.
        self.connection.execute("ATTACH ? AS apart", [from.as_os_str().as_bytes()])?;
        self.connection.execute_batch("BEGIN")?;
        copy_documents(&self.connection)?;
        self.connection.execute_batch("COMMIT; DETACH apart;")
    }
}
