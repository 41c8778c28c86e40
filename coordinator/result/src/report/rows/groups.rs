//! Groups of documents: identical sets and clusters.

use serde::Serialize;

use super::{Located, Ratio};
use crate::report::{LinkRow, VerdictSection};

/// Documents that are the same in some respect.
#[derive(Clone, Serialize, Debug)]
pub struct IdenticalSet {
    /// The documents, by site, repository and path.
    pub documents: Vec<Located>,
    /// The set's id: the content's digest, or the hash of the message.
    pub id: String,
    /// The size of each, in bytes or of the text; none where it is a message.
    pub size_bytes: Option<u64>,
    /// In what they are the same: `same bytes`, `same text`, `same lines` or `same message`.
    pub tier: &'static str,
    /// The verdict on them, if the report is joined with verdicts; not part of the digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictSection>,
    /// Under which of two views.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
}

/// Sums over the identical sets of a tier.
#[derive(Clone, Copy, Debug)]
pub struct IdenticalTotals {
    /// In what the documents of each are the same.
    pub tier: &'static str,
    /// Number of sets.
    pub sets: u64,
    /// Number of those that are one document at the same place in each of several repositories.
    pub in_place: u64,
    /// Bytes in copies beyond the first; a file with several names counts once.
    pub wasted_bytes: u64,
    /// Bytes in names beyond the first of a file.
    pub hard_link_bytes: u64,
}

/// A cluster.
#[derive(Clone, Serialize, Debug)]
pub struct ClusterSection {
    /// The person who is to look at it, if the report is joined with labels; not part of the digest.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub assignee: String,
    /// Its contents, each shown as its first document.
    pub documents: Vec<ClusterDocument>,
    /// Members that are close to one of them.
    pub families: Vec<FamilyRow>,
    /// Of the links of `joined_bytes`, the number of those that rest on a frame, if any do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_links: Option<u64>,
    /// Its id, from the smallest member's digest.
    pub id: String,
    /// Bytes of the strongest links that join all its contents without a circle: what it has in common.
    pub joined_bytes: u64,
    /// Number of its links.
    pub link_count: u64,
    /// Its links.
    pub links: Vec<LinkRow>,
    /// Number of links that are not listed.
    pub links_omitted: u64,
    /// The mean resemblance over its links.
    pub mean_resemblance: Ratio,
    /// The digest of all members.
    pub members_digest: String,
    /// The least resemblance over its links.
    pub min_resemblance: Ratio,
    /// `pair`, `archive` or `group`.
    pub relation: String,
    /// The place of the representative among `documents`.
    pub representative: usize,
    /// Set if at least half of the links of `joined_bytes` rest on a frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rests_on_frame: Option<bool>,
    /// All sites that have one of its documents.
    #[serde(skip)]
    pub sites: Vec<String>,
    /// Its tags, if the report is joined with labels; not part of the digest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Bytes of its contents, each counted once.
    pub total_bytes: u64,
    /// The verdict on it, if the report is joined with verdicts; not part of the digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictSection>,
    /// Under which of two views.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
}

/// A content in a cluster.
#[derive(Clone, Serialize, Debug)]
pub struct ClusterDocument {
    /// Number of documents that have it.
    pub copies: u64,
    /// The identical set that they form, if they do.
    pub identical: Option<String>,
    /// The EDRM Message ID Hash of the first, where it is a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id_hash: Option<String>,
    /// Time of the last modification of the first, and of no other copy: of all copies the row of the cluster knows it.
    pub modified: String,
    /// The first one's path.
    pub path: String,
    /// Set when the path is percent-escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_escaped: Option<bool>,
    /// Its size less templates.
    pub payload_bytes: u64,
    /// Set when some of its text was recognised in pictures of pages: it has the errors of such text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recognised: Option<bool>,
    /// The first one's repository.
    pub repository: String,
    /// The first one's site.
    pub site: String,
    /// All sites that have it.
    pub sites: Vec<String>,
    /// Its size.
    pub size_bytes: u64,
}

/// Members of a cluster that are close to one of them.
#[derive(Clone, Serialize, Debug)]
pub struct FamilyRow {
    /// Their places.
    pub members: Vec<usize>,
    /// The least resemblance between two of them.
    pub min_resemblance: Ratio,
    /// Set when that is only over pairs with the representative.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_representative_only: Option<bool>,
    /// The place of the one that all are close to.
    pub representative: usize,
}
