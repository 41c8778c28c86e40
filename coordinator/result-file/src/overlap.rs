//! What sites and parties have in common.

use crate::record::{Word, record};

record! {
    /// What two sites or parties have in common under a view.
    pub struct Overlap in "overlap" {
        /// `site` or `party`.
        pub level: Word,
        /// The first site or party.
        pub a: String,
        /// The second site or party.
        pub b: String,
        /// Documents of the first that are also in the second.
        pub documents_a: u64,
        /// Documents of the second that are also in the first.
        pub documents_b: u64,
        /// Bytes of the first that are also in the second.
        pub shared_bytes_a: u64,
        /// Bytes of the second that are also in the first.
        pub shared_bytes_b: u64,
        /// Bytes of template chunks of the first that are also in the second: they are not in `shared_bytes_a`.
        pub template_bytes_a: u64,
        /// The same of the second.
        pub template_bytes_b: u64,
        /// The number of the view.
        pub layer: usize,
    }
}

record! {
    /// The same with each content of a place once, however many copies.
    pub struct OverlapOnce in "overlap_once" {
        /// `site` or `party`.
        pub level: Word,
        /// The first site or party.
        pub a: String,
        /// The second site or party.
        pub b: String,
        /// That are identical or linked to one of the other.
        pub contents_a: u64,
        /// The same of the second.
        pub contents_b: u64,
        /// Bytes of the first that are also in the second.
        pub shared_bytes_a: u64,
        /// Bytes of the second that are also in the first.
        pub shared_bytes_b: u64,
        /// The number of the view.
        pub layer: usize,
    }
}
