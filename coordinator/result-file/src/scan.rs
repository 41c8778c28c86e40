//! What was done: the scan, its views, what it left out.

use crate::record::{Word, record};

record! {
    /// What was done: one row.
    pub struct Scan in "scan" {
        /// The name of the format, `cognate.result/1`.
        pub schema: String,
        /// The id of the scan.
        pub id: String,
        /// The name of the method of the first view.
        pub method: Word,
        /// `auto`, `raw`, `text` or `both`.
        pub view: Word,
        /// The mean of a chunk of the first view, or the bytes to a feature; none where signatures have a fixed size.
        pub chunk_bytes: Option<u64>,
        /// The least number of bytes that two documents must share to be linked; none where bytes are not known of.
        pub min_shared_bytes: Option<u64>,
        /// The least containment by which documents are linked whatever their bytes, as a decimal.
        pub min_containment: String,
        /// Whether only pairs across sites, or parties where there are several, count.
        pub across_only: bool,
        /// Whether the sites had a federation key.
        pub keyed: bool,
        /// `complete` or `partial`.
        pub status: Word,
        /// When it began.
        pub started: i64,
        /// When it ended.
        pub finished: i64,
        /// Whether paragraphs are documents.
        pub passages: bool,
        /// Whether messages with one message id are identical.
        pub match_message_ids: bool,
        /// `greedy`; none: connected components.
        pub cluster: Option<Word>,
        /// What looked at the pairs that the method proposed: `tttd` or `cosine`.
        pub verified_by: Option<Word>,
    }
}

record! {
    /// How documents were compared: a row for each view, numbered from 0.
    pub struct Layer in "layer" {
        /// Its number, from 0.
        pub number: usize = "PRIMARY KEY",
        /// `raw` or `text`.
        pub view: Word,
        /// The mean of a chunk, or the bytes to a feature; none where signatures have a fixed size.
        pub chunk_bytes: Option<u64>,
        /// As in the row of the scan.
        pub min_shared_bytes: Option<u64>,
        /// Of the method and the tags that were set aside, where any were marked.
        pub templates_digest: Option<String>,
        /// Number of its identical sets.
        pub identical_sets: u64,
        /// Of them, one document at the same place in each of several repositories.
        pub identical_in_place: u64,
        /// In copies beyond the first. A file with several names, hard links, counts once.
        pub wasted_bytes: u64,
        /// In names beyond the first of one file, if files are compared by their bytes.
        pub hard_link_bytes: u64,
        /// The parameters of the method, as `k=v,k=v`.
        pub param: Option<String>,
        /// `fine` or `coarse`; none where the method has no fine chunks.
        pub precision: Option<Word>,
        /// Pairs measured by fine chunks; this and the next two are none without fine chunks.
        pub fine_pairs: Option<u64>,
        /// Of which some chunk was not cut again.
        pub coarse_pairs: Option<u64>,
        /// Not measured again, because their documents have too many candidates.
        pub omitted_pairs: Option<u64>,
        /// Rows of fine chunks that templates leave out; none without fine chunks.
        pub template_rows: Option<u64>,
    }
}

record! {
    /// A pattern or a bound by which the scan chose documents; none where it chose all.
    pub struct Selection in "selection" {
        /// `include`, `exclude`, `size_max`, `sample` or `follow`.
        pub kind: Word,
        /// The pattern or bound.
        pub value: String,
    }
}

record! {
    /// Which documents of which earlier scan this one is about: one row, or none where it is about all.
    pub struct Refined in "refined" {
        /// The id of the earlier scan.
        pub scan: String,
        /// `linked`, `unmatched` or `both`.
        pub what: Word,
        /// Of those that were unmatched; none where they were not chosen.
        pub size_min_bytes: Option<u64>,
        /// Chosen.
        pub documents: u64,
        /// Of them, gone or not what they were: left out.
        pub changed: u64,
    }
}

record! {
    /// A repository that could not take part.
    pub struct Missing in "missing" {
        /// The site.
        pub site: String,
        /// Its name at the site.
        pub repository: String,
        /// Why.
        pub reason: String,
        /// In the order of the launch.
        pub place: u64,
    }
}

record! {
    /// How strong links are, those too that a cluster leaves out.
    pub struct Histogram in "histogram" {
        /// `resemblance`, `containment` (of the content that is contained more), or `all`.
        pub measure: Word,
        /// Links from this many twentieths up to the next; the last includes 1.
        pub bucket: u64,
        /// Number of links.
        pub links: u64,
        /// Documents whose content has such a link.
        pub documents: u64,
        /// The number of the view.
        pub layer: usize,
    }
}
