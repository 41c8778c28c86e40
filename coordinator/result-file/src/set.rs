//! Identical sets.

use crate::record::{Word, record};

record! {
    /// An identical set: those of contents under their numbers there, then the loose ones.
    pub struct IdenticalSet in "identical" {
        /// Its number, from 0.
        pub id: i64 = "PRIMARY KEY",
        /// The digest of the content, or the name of the loose set.
        pub name: String,
        /// Of the places of its documents.
        pub members_digest: String,
        /// `same bytes`, `same text`, `same lines` or `same message`.
        pub tier: Word,
        /// Of the first document.
        pub size_bytes: u64,
        /// In copies beyond the first.
        pub redundant_bytes: u64,
        /// Number of documents.
        pub documents: u64,
        /// Numbers of sites, as in a cluster.
        pub sites: String,
        /// Number of these sites.
        pub site_count: u64,
        /// Whether its documents are at several parties or sites, as in a cluster.
        pub crosses: bool,
        /// The earliest modification of a document.
        pub first_modified: i64,
        /// The latest modification of a document.
        pub last_modified: i64,
        /// Where the first document is.
        pub root: i64 = "REFERENCES root",
        /// The path of the first document there.
        pub path: Vec<u8>,
    }
}

record! {
    /// The sets of the same bytes in their order, packed as [`PackedSet`](crate::PackedSet) says.
    pub struct PackedSets in "packed_sets" {
        /// The number of the first set of the block.
        pub first: u64 = "PRIMARY KEY",
        /// The packed sets.
        pub block: Vec<u8>,
    }
}
