//! What is told of two documents: schema `cognate.explain/1`. Fields may be added, never renamed.

use cognate_result::report::{ClusterDocument, Found, FoundView, LinkRow, Ratio};
use serde::{Deserialize, Serialize};

/// The name of the schema.
pub(crate) const SCHEMA: &str = "cognate.explain/1";

#[derive(Serialize, Deserialize, Debug)]
pub(crate) struct Explained {
    pub(crate) schema: String,
    /// The scan's id.
    pub(crate) scan: String,
    pub(crate) a: Document,
    pub(crate) b: Document,
    /// View by view.
    pub(crate) views: Vec<Pair>,
    /// Where both files were at hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) difference: Option<Difference>,
}

/// A document.
#[derive(Clone, Serialize, Deserialize, Debug)]
pub(crate) struct Document {
    pub(crate) site: String,
    pub(crate) repository: String,
    pub(crate) path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) path_escaped: Option<bool>,
    pub(crate) modified: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) status: String,
}

/// What the two are to each other under one view.
#[derive(Serialize, Deserialize, Debug)]
pub(crate) struct Pair {
    /// `raw`, `text` or `passages`.
    pub(crate) view: String,
    pub(crate) method: String,
    pub(crate) chunk_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) param: Option<String>,
    pub(crate) a: Side,
    pub(crate) b: Side,
    /// Whether they are the same.
    pub(crate) identical: bool,
    /// Whether the result has a link between them.
    pub(crate) linked: bool,
    pub(crate) shared_bytes: Option<u64>,
    pub(crate) a_in_b: Option<f64>,
    pub(crate) b_in_a: Option<f64>,
    pub(crate) resemblance: Option<f64>,
    /// How A lies to B.
    pub(crate) relation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) estimated: Option<bool>,
    /// The cluster that both are in.
    pub(crate) cluster: Option<String>,
    /// From A to B, where they are in one cluster and not linked.
    pub(crate) through: Vec<Step>,
    /// The members of that cluster, the oldest first.
    pub(crate) versions: Vec<Version>,
    /// What stands in both, in the order of A; nothing where it is not known.
    pub(crate) shared: Option<Vec<Shared>>,
    /// The shortest of them, which are left out.
    #[serde(default)]
    pub(crate) shared_omitted: u64,
    pub(crate) templates_a: Vec<[u64; 2]>,
    pub(crate) templates_b: Vec<[u64; 2]>,
    /// Why it is not known where they share what they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unplaced: Option<String>,
}

/// One of the two under a view.
#[derive(Serialize, Deserialize, Debug)]
pub(crate) struct Side {
    pub(crate) content: String,
    pub(crate) size_bytes: u64,
    pub(crate) payload_bytes: u64,
    pub(crate) copies: u64,
}

/// Bytes that stand in both.
#[derive(Clone, Copy, Serialize, Deserialize, Debug)]
pub(crate) struct Shared {
    pub(crate) offset_a: u64,
    pub(crate) offset_b: u64,
    pub(crate) length_bytes: u64,
}

/// A link on the way from A to B, and the document that it leads to.
#[derive(Serialize, Deserialize, Debug)]
pub(crate) struct Step {
    /// How the one before lies to it.
    pub(crate) relation: String,
    pub(crate) shared_bytes: u64,
    pub(crate) resemblance: Option<f64>,
    pub(crate) document: Document,
}

/// A member of the cluster.
#[derive(Serialize, Deserialize, Debug)]
pub(crate) struct Version {
    pub(crate) document: Document,
    pub(crate) size_bytes: u64,
    pub(crate) copies: u64,
    /// `a`, `b`, or nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) is: Option<String>,
}

/// How two files differ.
#[derive(Serialize, Deserialize, Debug)]
pub(crate) struct Difference {
    /// `lines` or `bytes`.
    pub(crate) of: String,
    /// Lines or bytes that only A has, and only B.
    pub(crate) only_a: u64,
    pub(crate) only_b: u64,
    /// What changed, in order.
    pub(crate) hunks: Vec<Hunk>,
    /// What of that is left out.
    #[serde(default)]
    pub(crate) hunks_omitted: u64,
}

/// A place where they differ: lines from 1, or bytes from 0.
#[derive(Serialize, Deserialize, Debug)]
pub(crate) struct Hunk {
    pub(crate) start_a: u64,
    pub(crate) length_a: u64,
    pub(crate) start_b: u64,
    pub(crate) length_b: u64,
    /// Of lines: as they are, each with ` `, `-` or `+` before it; what changed within a line stands in `[-…-]` and `{+…+}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) lines: Vec<String>,
}

pub(crate) fn number(ratio: Option<Ratio>) -> Option<f64> {
    ratio.map(Ratio::to_f64)
}

impl From<&Found> for Document {
    fn from(found: &Found) -> Document {
        Document {
            site: found.site.clone(),
            repository: found.repository.clone(),
            path: found.path.clone(),
            path_escaped: found.path_escaped.then_some(true),
            modified: found.modified.clone(),
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
    pub(crate) fn of(link: &LinkRow, to: &ClusterDocument) -> Step {
        Step {
            relation: link.relation.clone(),
            shared_bytes: link.shared_bytes,
            resemblance: number(link.resemblance),
            document: Document::from(to),
        }
    }
}

impl Document {
    pub(crate) fn place(&self) -> String {
        format!("{}/{}: {}", self.site, self.repository, self.path)
    }
}
