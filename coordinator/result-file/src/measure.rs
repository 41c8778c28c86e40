//! How shares were measured: fine chunks, and the exact counts of a sample.

use crate::record::record;

record! {
    /// The fine chunks that a repository gave, where pairs were measured by fine chunks.
    pub struct FineChunks in "fine" {
        /// The repository.
        pub root: i64,
        /// The number of the view.
        pub layer: usize,
        /// That the site was asked to cut.
        pub chunks: u64,
        /// Of these, cut now or for an earlier scan.
        pub expanded_chunks: u64,
        /// Whose documents are gone or have changed.
        pub changed_contents: u64,
        /// Why the site gave no more; none: it gave what it could.
        pub failure: Option<String>,
        /// Whether the reason is the site's policy.
        pub refused: bool,
    }
}

record! {
    /// A pair of the sample: what is reported against what a site counts in its documents, bytes in windows of 32 bytes that
    /// occur in the other content. Pairs that are links, or truly share enough to be.
    pub struct ExactPair in "exact" {
        /// The number of the view.
        pub layer: usize,
        /// Bytes of the first content.
        pub size_bytes_a: u64,
        /// Bytes of the second content.
        pub size_bytes_b: u64,
        /// In common, by the comparison.
        pub reported_bytes: u64,
        /// Of the first that are in the second, as counted.
        pub true_bytes_a: u64,
        /// Of the second that are in the first, as counted.
        pub true_bytes_b: u64,
    }
}

record! {
    /// A site that has pairs of the sample.
    pub struct ExactSite in "exact_site" {
        /// The number of the view.
        pub layer: usize,
        /// The site.
        pub site: String,
        /// Pairs of the sample that it has.
        pub sampled_pairs: u64,
        /// Of these, measured now or for an earlier scan.
        pub measured_pairs: u64,
        /// Why no more were measured; none: the documents of the others have changed.
        pub failure: Option<String>,
        /// Whether the reason is the site's policy.
        pub refused: bool,
        /// Of documents, now.
        pub read_bytes: u64,
    }
}
