//! Overlap of repositories: the histogram of links, folders, and bytes.

use serde::Serialize;

use super::Ratio;

/// Strength of all links, with those that a cluster leaves out.
#[derive(Clone, Serialize, Debug)]
pub struct HistogramSection {
    /// By containment: how much the content that is contained more has of itself in the other.
    pub containment: Vec<BucketRow>,
    /// Documents that any link touches.
    pub documents: u64,
    /// Links.
    pub links: u64,
    /// By resemblance.
    pub resemblance: Vec<BucketRow>,
    /// Under which of two views.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
}

/// Links of one strength.
#[derive(Clone, Serialize, Debug)]
pub struct BucketRow {
    /// Documents whose content has such a link.
    pub documents: u64,
    /// The least strength.
    pub from: Ratio,
    /// Links.
    pub links: u64,
    /// Upper end of the strength, exclusive except for 1.
    pub to: Ratio,
}

/// Two folders that hold documents of each other.
#[derive(Clone, Serialize, Debug)]
pub struct FolderSection {
    /// The first folder.
    pub a: FolderPlace,
    /// The second folder.
    pub b: FolderPlace,
    /// Bytes of all documents below the first.
    pub bytes_a: u64,
    /// Bytes of all documents below the second.
    pub bytes_b: u64,
    /// Documents of the first with a partner in the second.
    pub documents_a: u64,
    /// Documents of the second with a partner in the first.
    pub documents_b: u64,
    /// All documents below the first.
    pub documents_total_a: u64,
    /// All documents below the second.
    pub documents_total_b: u64,
    /// `identical`, `contains`, `contained` or `overlaps`.
    pub relation: String,
    /// Share of the first's bytes that their partners have.
    pub share_a: Option<Ratio>,
    /// Share of the second's bytes that their partners have.
    pub share_b: Option<Ratio>,
    /// Bytes of the first's documents that their partners have.
    pub shared_bytes_a: u64,
    /// Bytes of the second's documents that their partners have.
    pub shared_bytes_b: u64,
}

/// A folder.
#[derive(Clone, Serialize, Debug)]
pub struct FolderPlace {
    /// Its path; empty for the root.
    pub path: String,
    /// Set when the path is percent-escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_escaped: Option<bool>,
    /// Its repository.
    pub repository: String,
    /// Its site.
    pub site: String,
}

/// Changes from one repository to another, in documents. Documents without anything to compare are not counted.
#[derive(Clone, Serialize, Debug)]
pub struct ChangesRow {
    /// Documents with other content at the same place.
    pub changed: u64,
    /// Repository of the documents.
    pub from_repository: String,
    /// Its site.
    pub from_site: String,
    /// Documents with a copy or a relative at another place.
    pub moved: u64,
    /// Documents of which nothing was found there, where that is not decided.
    pub not_decided: u64,
    /// Documents with nothing there.
    pub only: u64,
    /// Documents with equal content at the same place.
    pub same: u64,
    /// Documents that share standard text with documents there, and nothing else.
    pub standard_text: u64,
    /// The other repository.
    pub to_repository: String,
    /// Its site.
    pub to_site: String,
}

impl ChangesRow {
    /// The documents, in the order of the words for changes.
    pub fn counts(&self) -> [u64; 6] {
        [self.same, self.changed, self.moved, self.standard_text, self.not_decided, self.only]
    }
}

/// Overlap of two sites or parties, over all views. Bytes are those of what was compared: of each document under the view that speaks for it, its
/// text or its bytes.
#[derive(Clone, Serialize, Debug)]
pub struct OverlapSection {
    /// The first.
    pub a: String,
    /// The second.
    pub b: String,
    /// All bytes of the first that were compared.
    pub bytes_total_a: u64,
    /// All bytes of the second that were compared.
    pub bytes_total_b: u64,
    /// Contents of the first that are identical or linked to one of the second, each once.
    pub contents_a: u64,
    /// And the other way.
    pub contents_b: u64,
    /// Documents of the first that are identical or linked to one of the second, under any view.
    pub documents_a: u64,
    /// And the other way.
    pub documents_b: u64,
    /// Documents of the first that have something to compare, and empty ones.
    pub documents_total_a: u64,
    /// Documents of the second.
    pub documents_total_b: u64,
    /// The expected distance of `estimated_bytes_a` from the truth, either way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate_error_bytes_a: Option<u64>,
    /// And the other way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate_error_bytes_b: Option<u64>,
    /// An estimate of the bytes of the first that are also at the second: those that were measured, and what window samples show besides.
    /// Nothing if no pair was measured by fine chunks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_bytes_a: Option<u64>,
    /// And the other way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_bytes_b: Option<u64>,
    /// `site` or `party`.
    pub level: String,
    /// Bytes of the first's chunks that occur at the second, every copy counted.
    pub shared_bytes_a: u64,
    /// And the other way.
    pub shared_bytes_b: u64,
    /// Bytes of the first's chunks that occur at the second, each content once.
    pub shared_once_bytes_a: u64,
    /// And the other way.
    pub shared_once_bytes_b: u64,
    /// The same of template chunks.
    pub template_bytes_a: u64,
    /// And the other way.
    pub template_bytes_b: u64,
}
