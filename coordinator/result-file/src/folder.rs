//! Pairs of folders, and what is nowhere else, by folder.

use crate::record::{Word, record};

record! {
    /// Two folders that hold documents of each other, over all views, those with most bytes first. Bytes are those of what was compared.
    pub struct FolderPair in "folder" {
        /// Its number, from 0.
        pub id: i64 = "PRIMARY KEY",
        /// The repository of the first folder.
        pub root_a: i64 = "REFERENCES root",
        /// The path of the first folder.
        pub path_a: Vec<u8>,
        /// The repository of the second folder.
        pub root_b: i64 = "REFERENCES root",
        /// The path of the second folder.
        pub path_b: Vec<u8>,
        /// `identical`, `contains`, `contained` or `overlaps`.
        pub relation: Word,
        /// Documents of the first that are also in the second.
        pub documents_a: u64,
        /// Documents of the second that are also in the first.
        pub documents_b: u64,
        /// Bytes of the first that are also in the second.
        pub shared_bytes_a: u64,
        /// Bytes of the second that are also in the first.
        pub shared_bytes_b: u64,
        /// All documents of the first folder.
        pub documents_total_a: u64,
        /// All documents of the second folder.
        pub documents_total_b: u64,
        /// Bytes of all documents of the first folder.
        pub bytes_a: u64,
        /// Bytes of all documents of the second folder.
        pub bytes_b: u64,
    }
}

record! {
    /// Folders of two repositories that are at different paths and are compared with each other, by the first.
    pub struct Alignment in "alignment" {
        /// Its number, from 0.
        pub id: i64 = "PRIMARY KEY",
        /// Of the first repository; empty: its root.
        pub path_a: Vec<u8>,
        /// Of the second.
        pub path_b: Vec<u8>,
        /// Of either that it gives a counterpart.
        pub documents: u64,
        /// Whether somebody named the pair.
        pub given: bool,
    }
}

record! {
    /// Documents that are nowhere else, not even in part (at another party if there are several, else at another site), by the
    /// folders at the top of repositories; those of which that is not decided; and those that share standard text, and nothing else.
    pub struct OnlyHere in "only_here" {
        /// The repository.
        pub root: i64 = "REFERENCES root",
        /// Empty: the repository itself.
        pub folder: Vec<u8>,
        /// Number of documents that are nowhere else.
        pub documents: u64,
        /// Their bytes, of what was compared.
        pub bytes: u64,
        /// Number of documents that share nothing but standard text with others elsewhere.
        pub standard_text_documents: u64,
        /// Their bytes, of what was compared.
        pub standard_text_bytes: u64,
        /// Number of documents of which it is not decided.
        pub undecided_documents: u64,
        /// Their bytes, of what was compared.
        pub undecided_bytes: u64,
    }
}
