//! The repositories that took part, and what is known of them.

use crate::record::{Word, record};

record! {
    /// A repository that took part.
    pub struct Root in "root" {
        /// Its number, from 0.
        pub id: i64 = "PRIMARY KEY",
        /// The party of the site.
        pub party: String,
        /// The site.
        pub site: String,
        /// Its name at the site.
        pub repository: String,
        /// Looked into, empty ones too.
        pub documents: u64,
        /// Under the first view, as chunks.
        pub bytes: u64,
        /// Chunks under the first view.
        pub chunks: u64,
        /// Documents without bytes or text.
        pub empty: u64,
        /// Documents that could not be read.
        pub unreadable: u64,
        /// Changed each time they were read.
        pub changed: u64,
        /// In containers where raw chunks find only identical files.
        pub compressed_bytes: u64,
        /// Hard links: names beyond the first of a file.
        pub hard_links: u64,
        /// Their bytes.
        pub hard_link_bytes: u64,
        /// Bytes that the site read for the scan.
        pub read_bytes: u64,
        /// Documents that the site read for the scan.
        pub read_documents: u64,
        /// Bytes that the site sent for the scan.
        pub sent_bytes: u64,
        /// Bytes of text; this and the next three are none where no text was looked at.
        pub text_bytes: Option<u64>,
        /// Documents that are members of archives and messages.
        pub members: Option<u64>,
        /// Documents that are paragraphs.
        pub passages: Option<u64>,
        /// Documents of a kind that has no text.
        pub no_text: Option<u64>,
        /// Read once more for fine chunks.
        pub fine_read_bytes: u64,
        /// Documents that count as text; this and the next are none where documents do not count under one view each.
        pub text_documents: Option<u64>,
        /// Bytes of the files that count as text.
        pub text_file_bytes: Option<u64>,
        /// In the order of the launch, sites by their first repository.
        pub place: u64,
        /// Of which other sites sent other chunks under the same digest.
        pub contradicted_contents: u64,
        /// Documents of which some text was recognised in pictures of pages.
        pub recognised: u64,
        /// The program that recognised it, with its version and languages.
        pub recognition: Option<String>,
    }
}

record! {
    /// Entries of a repository that were left out for one reason.
    pub struct Skipped in "skipped" {
        /// The repository.
        pub root: i64 = "REFERENCES root",
        /// Why.
        pub reason: Word,
        /// Number of entries.
        pub entries: u64,
    }
}

record! {
    /// Files of one kind in a repository, with their bytes.
    pub struct Census in "census" {
        /// The repository.
        pub root: i64 = "REFERENCES root",
        /// `plain`, `archive`, `office`, `pdf` or `media`.
        pub class: Word,
        /// Number of documents.
        pub documents: u64,
        /// Their bytes.
        pub bytes: u64,
    }
}

record! {
    /// By what both sides know that the index of a repository is what its site sent: as in the site's ledger.
    pub struct Evidence in "evidence" {
        /// The repository.
        pub root: i64 = "REFERENCES root",
        /// The number of the view.
        pub layer: usize,
        /// The epoch of the index.
        pub epoch: String,
        /// Batches that the index was sent in.
        pub batches: u64,
        /// In the bodies of the batches.
        pub bytes: u64,
        /// The chain over the batches.
        pub head: String,
        /// The multiset hash over documents and contents.
        pub index_root: String,
    }
}
