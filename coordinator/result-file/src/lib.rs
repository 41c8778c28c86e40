//! The result file: the records of which the result of a scan consists, in one `SQLite` file that is written once and never changed.
//!
//! **It promises** that a file with the tables of [`Part`] has the columns that records read. A record is declared once, in the module of its
//! subject: the declaration makes the table, inserts rows and reads them. Ratios are integers in ten-thousandths, times are seconds since 1970,
//! paths are bytes.
//!
//! **It must not know** how values come about, or what a report says of them.
//!
//! Read `record.rs` first, then `cluster.rs`. A new column is a line here, the value that `analysis` fills in, and a reader that shows it.

mod cluster;
mod content;
mod document;
mod folder;
mod frame;
mod link;
mod measure;
mod overlap;
mod packed_set;
mod ratio;
mod record;
mod root;
mod row;
mod scan;
mod set;
#[cfg(test)]
mod tests;

use rusqlite::Connection;

pub use cluster::{Cluster, Family, FamilyMember};
pub use content::{Content, LooseSet};
pub use document::{Change, Control, Document, STATUSES, StatusCount, Unread};
pub use folder::{Alignment, FolderPair, OnlyHere};
pub use frame::{Frame, FrameCluster, FrameExample, SetAside};
pub use link::{Link, reversed};
pub use measure::{ExactPair, ExactSite, FineChunks};
pub use overlap::Overlap;
pub use packed_set::{Damaged, PackedDocument, PackedSet};
pub use ratio::{Ratio, ten_thousandths};
pub use record::{Column, Insert, Record, Word, columns, create_table};
pub use root::{Census, Evidence, Root, Skipped};
pub use row::{Columns, FromRow};
pub use scan::{Histogram, Layer, Missing, Refined, Scan, Selection};
pub use set::{IdenticalSet, PackedSets};

/// The name of the format; a reader refuses another.
pub const FORMAT: &str = "cognate.result/1";

/// The indexes of the tables of documents, and of all others.
const DOCUMENTS_INDEXES: &str = "
CREATE INDEX document_content ON document (content);
CREATE INDEX document_loose_set ON document (loose_set) WHERE loose_set IS NOT NULL;
CREATE INDEX content_identical ON content (identical) WHERE identical IS NOT NULL;
CREATE INDEX content_cluster ON content (cluster) WHERE cluster IS NOT NULL;
CREATE INDEX content_digest ON content (digest) WHERE cluster IS NOT NULL;
";
const INDEXES: &str = "
CREATE INDEX link_cluster ON link (cluster);
CREATE INDEX family_cluster ON family (cluster);
CREATE INDEX family_member_cluster ON family_member (cluster, number);
CREATE INDEX cluster_name ON cluster (name);
CREATE INDEX identical_name ON identical (name);
";

/// The tables of a result in two parts, which may be written apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Documents, what they hold, and counts of both.
    Documents,
    /// All else.
    Others,
}

/// Names the tables of documents.
macro_rules! of_documents {
    ($each:ident) => {
        [$each::<Document>(), $each::<StatusCount>(), $each::<Change>(), $each::<Content>()]
    };
}

impl Part {
    /// The statements that make its tables.
    pub fn tables(self) -> String {
        match self {
            Part::Documents => of_documents!(create_table).concat(),
            Part::Others => [
                create_table::<Scan>(),
                create_table::<Layer>(),
                create_table::<FineChunks>(),
                create_table::<ExactPair>(),
                create_table::<ExactSite>(),
                create_table::<LooseSet>(),
                create_table::<Refined>(),
                create_table::<Selection>(),
                create_table::<SetAside>(),
                create_table::<Frame>(),
                create_table::<FrameCluster>(),
                create_table::<FrameExample>(),
                create_table::<Root>(),
                create_table::<Skipped>(),
                create_table::<Missing>(),
                create_table::<Unread>(),
                create_table::<Cluster>(),
                create_table::<IdenticalSet>(),
                create_table::<PackedSets>(),
                create_table::<Link>(),
                create_table::<Family>(),
                create_table::<FamilyMember>(),
                create_table::<Alignment>(),
                create_table::<FolderPair>(),
                create_table::<Overlap>(),
                create_table::<OnlyHere>(),
                create_table::<Control>(),
                create_table::<Census>(),
                create_table::<Evidence>(),
                create_table::<Histogram>(),
            ]
            .concat(),
        }
    }

    /// The statements that make its indexes.
    pub fn indexes(self) -> &'static str {
        match self {
            Part::Documents => DOCUMENTS_INDEXES,
            Part::Others => INDEXES,
        }
    }
}

/// Copies the tables of documents from the file that is attached as `apart`.
///
/// # Errors
/// Fails if one of the two files has other tables.
pub fn copy_documents(connection: &Connection) -> rusqlite::Result<()> {
    fn copy<R: Record>() -> String {
        let table = R::TABLE;
        format!("INSERT INTO main.{table} SELECT * FROM apart.{table};\n")
    }
    connection.execute_batch(&of_documents!(copy).concat())
}
