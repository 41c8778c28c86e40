//! What documents hold.

use crate::record::record;

record! {
    /// What documents with the same bytes share, or with the same text. They are numbered by view and digest.
    pub struct Content in "content" {
        /// Its number, from 0.
        pub id: i64 = "PRIMARY KEY",
        /// The digest.
        pub digest: [u8; 16],
        /// Its bytes.
        pub size_bytes: u64,
        /// Less the bytes of template chunks.
        pub payload_bytes: u64,
        /// Number of its chunks.
        pub chunks: u64,
        /// Number of documents that have it.
        pub documents: u64,
        /// Its number among the identical sets that are listed, if it is one.
        pub identical: Option<i64>,
        /// Whether its documents are one at the same place in each of several repositories.
        pub in_place: bool,
        /// Its cluster, if it has one.
        pub cluster: Option<i64>,
        /// The number of the view.
        pub layer: usize,
    }
}

record! {
    /// A loose set: documents with different contents that are the same all the same. First those of the same lines with other line ends, then,
    /// where messages are matched, those that are the same message; of each those with most documents first.
    pub struct LooseSet in "loose_set" {
        /// Its number, from 0.
        pub id: i64 = "PRIMARY KEY",
        /// The EDRM Message ID Hash; for the same lines, made of the digests of the two contents.
        pub name: [u8; 16],
        /// The same lines; else the same message.
        pub same_lines: bool,
        /// Number of documents.
        pub documents: u64,
        /// Whether its documents are one at the same place in each of several repositories.
        pub in_place: bool,
    }
}
