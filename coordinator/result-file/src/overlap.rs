//! What sites and parties have in common.

use crate::record::{Word, record};

record! {
    /// What two sites or parties have in common over all views. Bytes are those of what was compared: of each document under the view that
    /// speaks for it.
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
        /// All documents of the first with a content.
        pub documents_total_a: u64,
        /// All documents of the second with a content.
        pub documents_total_b: u64,
        /// Contents of the first that are also in the second, each once, however many copies.
        pub contents_a: u64,
        /// Contents of the second that are also in the first.
        pub contents_b: u64,
        /// Bytes of the first that are also in the second.
        pub shared_bytes_a: u64,
        /// Bytes of the second that are also in the first.
        pub shared_bytes_b: u64,
        /// An estimate of the bytes of the first that are also in the second: those that were measured, and what window samples show besides;
        /// nothing if no pair was measured by fine chunks.
        pub estimated_bytes_a: Option<u64>,
        /// The same of the second.
        pub estimated_bytes_b: Option<u64>,
        /// The expected distance of `estimated_bytes_a` from the truth, either way.
        pub estimate_error_bytes_a: Option<u64>,
        /// The same of the second.
        pub estimate_error_bytes_b: Option<u64>,
        /// Of `shared_bytes_a`, with each content once.
        pub shared_once_bytes_a: u64,
        /// Of `shared_bytes_b`, with each content once.
        pub shared_once_bytes_b: u64,
        /// Bytes of template chunks of the first that are also in the second: they are not in `shared_bytes_a`.
        pub template_bytes_a: u64,
        /// The same of the second.
        pub template_bytes_b: u64,
        /// All bytes of the first that were compared.
        pub bytes_total_a: u64,
        /// All bytes of the second that were compared.
        pub bytes_total_b: u64,
    }
}
