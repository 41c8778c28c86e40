//! An explanation of two documents: schema `cognate.explain/1`. Fields may be added, never renamed.

use cognate_proto::options::Precision;
use serde::{Deserialize, Serialize};

use crate::report::{ClusterDocument, Found, FoundView, LinkRow, Ratio};

/// The name of the schema.
pub const SCHEMA: &str = "cognate.explain/1";

/// Two documents of a scan, and what they have in common.
#[derive(Serialize, Deserialize, Debug)]
pub struct Explained {
    /// [`SCHEMA`].
    pub schema: String,
    /// The scan's id.
    pub scan: String,
    /// The first document.
    pub a: Document,
    /// The second document.
    pub b: Document,
    /// The comparison under each view that has both.
    pub views: Vec<Pair>,
    /// The exact difference, if both files were at hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
}

/// A document.
#[derive(Clone, Serialize, Deserialize, Debug)]
pub struct Document {
    /// Its site.
    pub site: String,
    /// Its repository.
    pub repository: String,
    /// Its path.
    pub path: String,
    /// Set if the path is percent-escaped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_escaped: Option<bool>,
    /// The time of its last change.
    pub modified: String,
    /// Its status in the scan, or empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub status: String,
}

/// The comparison of two documents under one view.
#[derive(Serialize, Deserialize, Debug)]
pub struct Pair {
    /// `raw`, `text` or `passages`.
    pub view: String,
    /// Set if one of the documents counts by its text, and this view is of bytes: what a program packs around the words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence_only: Option<bool>,
    /// The name of the method.
    pub method: String,
    /// The mean length of a chunk.
    pub chunk_bytes: Option<u64>,
    /// Further parameters of the method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub param: Option<String>,
    /// The content of A.
    pub a: Side,
    /// The content of B.
    pub b: Side,
    /// True if they have the same content.
    pub identical: bool,
    /// True if the result has a link between them.
    pub linked: bool,
    /// The precision of the figures: `fine`, or `coarse` where whole chunks alone were compared; nothing if the method has no
    /// fine chunks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// The reason why they are coarse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coarse_reason: Option<String>,
    /// Bytes in common.
    pub shared_bytes: Option<u64>,
    /// Of these, bytes outside of standard text; nothing if none is part of the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside_bytes: Option<u64>,
    /// The share of A that is in B.
    pub a_in_b: Option<Ratio>,
    /// The share of B that is in A.
    pub b_in_a: Option<Ratio>,
    /// The share of their union that they have in common.
    pub resemblance: Option<Ratio>,
    /// The word for the relation of A to B.
    pub relation: Option<String>,
    /// Set if the shares are estimates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated: Option<bool>,
    /// Of an estimate: the interval that holds the true resemblance in 95 of 100 cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[Ratio; 2]>,
    /// Of an estimate: the probability that one from such a sample is within a tenth of such a resemblance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_tenth: Option<Ratio>,
    /// The cluster that both are in.
    pub cluster: Option<String>,
    /// The links from A to B, if they are in one cluster and not linked.
    pub through: Vec<Step>,
    /// The members of that cluster, the oldest first.
    pub versions: Vec<Version>,
    /// Runs of bytes in both, in the order of A; nothing if they are not known.
    pub shared: Option<Vec<Shared>>,
    /// The number of further runs: the shortest ones.
    #[serde(default)]
    pub shared_omitted: u64,
    /// Bytes in common that are in no run, because their fine chunks are not known any more.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unplaced_bytes: u64,
    /// Templates in A: offset and length.
    pub templates_a: Vec<[u64; 2]>,
    /// Templates in B.
    pub templates_b: Vec<[u64; 2]>,
    /// The reason for which the runs are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unplaced: Option<String>,
    /// The least containment of a link of the scan.
    #[serde(skip)]
    pub(super) min_containment: Option<Ratio>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

/// The content of one of the two under a view.
#[derive(Serialize, Deserialize, Debug)]
pub struct Side {
    /// Its digest.
    pub content: String,
    /// Its size.
    pub size_bytes: u64,
    /// Its bytes that count.
    pub payload_bytes: u64,
    /// The documents that have it.
    pub copies: u64,
}

/// A run of bytes in both.
#[derive(Clone, Copy, Serialize, Deserialize, Debug)]
pub struct Shared {
    /// Its place in A.
    pub offset_a: u64,
    /// Its place in B.
    pub offset_b: u64,
    /// Its length.
    pub length_bytes: u64,
}

/// A link from A towards B, and the document that it leads to.
#[derive(Serialize, Deserialize, Debug)]
pub struct Step {
    /// The relation of the earlier document to this one.
    pub relation: String,
    /// Bytes in common.
    pub shared_bytes: u64,
    /// The share of their union that the two have in common.
    pub resemblance: Option<Ratio>,
    /// The document that the link leads to.
    pub document: Document,
}

/// A member of the cluster.
#[derive(Serialize, Deserialize, Debug)]
pub struct Version {
    /// Its first document.
    pub document: Document,
    /// Its size.
    pub size_bytes: u64,
    /// The documents that have it.
    pub copies: u64,
    /// `a`, `b`, or nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is: Option<String>,
}

/// The exact difference of two files.
#[derive(Serialize, Deserialize, Debug)]
pub struct Difference {
    /// `lines` or `bytes`.
    pub of: String,
    /// Lines or bytes that only A has.
    pub only_a: u64,
    /// Lines or bytes that only B has.
    pub only_b: u64,
    /// The places where they differ, in order.
    pub hunks: Vec<Hunk>,
    /// The number of further places.
    #[serde(default)]
    pub hunks_omitted: u64,
}

/// A place where two files differ: lines from 1, or bytes from 0.
#[derive(Serialize, Deserialize, Debug)]
pub struct Hunk {
    /// The first line or byte of A.
    pub start_a: u64,
    /// The number of lines or bytes of A.
    pub length_a: u64,
    /// The first line or byte of B.
    pub start_b: u64,
    /// The number of lines or bytes of B.
    pub length_b: u64,
    /// Lines, each after ` `, `-` or `+`; a change within a line is in `[-…-]` and `{+…+}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
}

impl From<&Found> for Document {
    fn from(found: &Found) -> Document {
        Document {
            site: found.document.site.clone(),
            repository: found.document.repository.clone(),
            path: found.document.path.clone(),
            path_escaped: found.document.path_escaped,
            modified: found.document.modified.clone(),
            status: found.status.clone(),
        }
    }
}

impl From<&ClusterDocument> for Document {
    fn from(member: &ClusterDocument) -> Document {
        Document {
            site: member.site.clone(),
            repository: member.repository.clone(),
            path: member.path.clone(),
            path_escaped: member.path_escaped,
            modified: member.modified.clone(),
            status: String::new(),
        }
    }
}

impl From<&FoundView> for Side {
    fn from(view: &FoundView) -> Side {
        Side {
            content: view.digest.0.iter().map(|byte| format!("{byte:02x}")).collect(),
            size_bytes: view.size_bytes,
            payload_bytes: view.payload_bytes,
            copies: view.copies,
        }
    }
}

impl Step {
    pub(super) fn of(link: &LinkRow, to: &ClusterDocument) -> Step {
        Step {
            relation: link.relation.clone(),
            shared_bytes: link.shared_bytes,
            resemblance: link.resemblance,
            document: Document::from(to),
        }
    }
}

impl Document {
    /// The document as reports write it: `site/repository: path`.
    pub fn place(&self) -> String {
        format!("{}/{}: {}", self.site, self.repository, self.path)
    }
}
