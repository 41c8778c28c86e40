//! The rows of a report. Fields are declared in the order of their names: see the module above.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::{VerdictSection, ten_thousandths};

/// How many, by name.
pub type Counts = BTreeMap<String, u64>;

/// A ratio in ten-thousandths, written as a number with at most four decimals.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ratio(pub i64);

impl Ratio {
    /// The ratio of two numbers of bytes, rounded.
    pub fn of(part: u64, whole: u64) -> Ratio {
        Ratio(ten_thousandths(part, whole))
    }

    /// The ratio that a decimal says, rounded.
    pub(super) fn parse(text: &str) -> Ratio {
        #[expect(clippy::cast_possible_truncation, reason = "a share lies between 0 and 1")]
        Ratio((text.parse::<f64>().unwrap_or_default() * 10_000.0).round() as i64)
    }

    /// The ratio as a number.
    pub fn to_f64(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a ratio is 0 to 1")]
        let number = self.0 as f64 / 10_000.0;
        number
    }
}

impl Serialize for Ratio {
    /// Whole numbers without a point, as RFC 8785 has them.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 % 10_000 == 0 {
            serializer.serialize_i64(self.0 / 10_000)
        } else {
            serializer.serialize_f64(self.to_f64())
        }
    }
}

/// What was done.
#[derive(Clone, Serialize, Debug)]
pub struct ScanSection {
    /// Whether only what crosses sites or parties counted.
    pub across_only: bool,
    /// The mean chunk in bytes, or the bytes to a feature; none where signatures have a fixed size.
    pub chunk_bytes: Option<u64>,
    /// `greedy`, where clusters are not the connected components.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The digest of the report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The scan's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Whether the sites had a key.
    pub keyed: bool,
    /// How documents were compared under each of two views.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layers: Option<Vec<LayerRow>>,
    /// Set when messages with the same EDRM Message ID Hash form a set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_message_ids: Option<bool>,
    /// The method's name.
    pub method: String,
    /// A link needs this share of the smaller content.
    pub min_containment: Ratio,
    /// Or this many bytes; none where the method knows of none.
    pub min_shared_bytes: Option<u64>,
    /// Repositories that could not take part.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingRow>,
    /// What whoever reads the result must know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<&'static str>,
    /// The parameters of the method, where it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub param: Option<String>,
    /// Set when paragraphs were compared, each as a document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passages: Option<bool>,
    /// What was chosen of the scan that this one refines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refined: Option<RefinedSection>,
    /// The scan that this one refines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refines: Option<String>,
    /// What may differ between equal runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunSection>,
    /// The site whose slice this is, where it is not the whole report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slice: Option<String>,
    /// `complete` or `partial`.
    pub status: String,
    /// The digest of the templates that were set aside, where any were marked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub templates_digest: Option<String>,
    /// What looked at the pairs that the method only proposes: `tttd` or `cosine`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified_by: Option<String>,
    /// `raw`, `text` or `both`.
    pub view: String,
}

/// How documents were compared under one of two views.
#[derive(Clone, Serialize, Debug)]
pub struct LayerRow {
    /// The mean chunk in bytes, or the bytes to a feature.
    pub chunk_bytes: Option<u64>,
    /// A link needs this many bytes, or the scan's share of the smaller content.
    pub min_shared_bytes: Option<u64>,
    /// The parameters of the method, where it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub param: Option<String>,
    /// The digest of the templates that were set aside, where any were marked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub templates_digest: Option<String>,
    /// `raw` or `text`.
    pub view: String,
}

/// A tag that was left out of the comparison.
#[derive(Clone, Serialize, Debug)]
pub struct SetAsideRow {
    /// Documents that have it, every copy counted.
    pub documents: u64,
    /// The length of its chunk.
    pub length_bytes: u64,
    /// The tag, in hexadecimal digits.
    pub tag: String,
    /// Under which of two views.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
}

/// A repository that could not take part.
#[derive(Clone, Serialize, Debug)]
pub struct MissingRow {
    /// Why.
    pub reason: String,
    /// The repository.
    pub repository: String,
    /// Its site.
    pub site: String,
}

/// Which documents of an earlier scan a refinement is about.
#[derive(Clone, Serialize, Debug)]
pub struct RefinedSection {
    /// Of them, documents that are gone or not what they were, and were left out.
    pub changed: u64,
    /// Documents chosen, at the repositories that took part.
    pub documents: u64,
    /// Of those that were unmatched, no smaller ones; none where they were not chosen.
    pub size_min_bytes: Option<u64>,
    /// `linked`, `unmatched` or `both`.
    pub what: String,
}

/// Times and counters of this run alone.
#[derive(Clone, Serialize, Debug)]
pub struct RunSection {
    /// When it ended.
    pub finished: String,
    /// What each site did.
    pub sites: Vec<RunSite>,
    /// When it began.
    pub started: String,
}

/// What a site did in this run.
#[derive(Clone, Serialize, Debug)]
pub struct RunSite {
    /// Bytes of documents read.
    pub read_bytes: u64,
    /// Documents read.
    pub read_documents: u64,
    /// The repository.
    pub repository: String,
    /// Bytes of messages sent.
    pub sent_bytes: u64,
    /// The site.
    pub site: String,
}

/// A repository and its documents in numbers.
#[derive(Clone, Serialize, Debug)]
pub struct SiteSection {
    /// Bytes of all documents.
    pub bytes: u64,
    /// Documents that changed each time they were read.
    pub changed: u64,
    /// Chunks of all documents.
    pub chunks: u64,
    /// Bytes in compressed containers.
    pub compressed_bytes: u64,
    /// Documents looked into, empty ones too.
    pub documents: u64,
    /// Empty documents.
    pub empty: u64,
    /// Excluded documents by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub excluded: Counts,
    /// Where text was looked at: documents that are members of archives and messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub members: Option<u64>,
    /// Documents of kinds that have no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_text: Option<u64>,
    /// The site's party.
    pub party: String,
    /// Where paragraphs were compared: how many there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passages: Option<u64>,
    /// The repository.
    pub repository: String,
    /// The site.
    pub site: String,
    /// Entries left out.
    pub skipped: u64,
    /// Entries left out, by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped_reasons: Counts,
    /// Documents by status; adds up to `documents`.
    pub status: Counts,
    /// Bytes of text of all documents, where it was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_bytes: Option<u64>,
    /// Documents whose text could not be read, by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unextractable: Counts,
    /// Documents and folders that could not be read.
    pub unreadable: u64,
}

/// Where a document is, and how old.
#[derive(Clone, Serialize, Debug)]
pub struct Located {
    /// The EDRM Message ID Hash of a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id_hash: Option<String>,
    /// When it was last modified.
    pub modified: String,
    /// Its path.
    pub path: String,
    /// Set when the path is percent-escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_escaped: Option<bool>,
    /// Its repository.
    pub repository: String,
    /// Its site.
    pub site: String,
    /// Its own size, where that of the set is not that of each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
}

/// Documents that are the same in some respect.
#[derive(Clone, Serialize, Debug)]
pub struct IdenticalSet {
    /// The documents, by site, repository and path.
    pub documents: Vec<Located>,
    /// The set's id: the content's digest, or the hash of the message.
    pub id: String,
    /// The size of each, in bytes or of the text; none where it is a message.
    pub size_bytes: Option<u64>,
    /// In what they are the same: `same bytes`, `same text` or `same message`.
    pub tier: &'static str,
    /// What was decided about them, where the report is joined with verdicts; not part of the digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictSection>,
    /// Under which of two views.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
}

/// A cluster.
#[derive(Clone, Serialize, Debug)]
pub struct ClusterSection {
    /// Its contents, each shown as its first document.
    pub documents: Vec<ClusterDocument>,
    /// Members that are close to one of them.
    pub families: Vec<FamilyRow>,
    /// Its id, from the smallest member's digest.
    pub id: String,
    /// How many links it has.
    pub link_count: u64,
    /// Its links.
    pub links: Vec<LinkRow>,
    /// How many of them are not listed.
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
    /// Bytes of its contents, each counted once.
    pub total_bytes: u64,
    /// What was decided about it, where the report is joined with verdicts; not part of the digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictSection>,
    /// Under which of two views.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
}

/// A content in a cluster.
#[derive(Clone, Serialize, Debug)]
pub struct ClusterDocument {
    /// How many documents have it.
    pub copies: u64,
    /// The identical set that they form, if they do.
    pub identical: Option<String>,
    /// The EDRM Message ID Hash of the first, where it is a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id_hash: Option<String>,
    /// When the first was last modified.
    pub modified: String,
    /// The first one's path.
    pub path: String,
    /// Set when the path is percent-escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_escaped: Option<bool>,
    /// Its size less templates.
    pub payload_bytes: u64,
    /// The first one's repository.
    pub repository: String,
    /// The first one's site.
    pub site: String,
    /// All sites that have it.
    pub sites: Vec<String>,
    /// Its size.
    pub size_bytes: u64,
}

/// Two contents of a cluster and what they share.
#[derive(Clone, Serialize, Debug)]
pub struct LinkRow {
    /// The place of the first.
    pub a: usize,
    /// How much of the first lies in the second; none where the method cannot tell.
    pub a_in_b: Option<Ratio>,
    /// The place of the second.
    pub b: usize,
    /// How much of the second lies in the first.
    pub b_in_a: Option<Ratio>,
    /// Set when what is said of the two is an estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated: Option<bool>,
    /// Of an estimate: what holds the true resemblance in 95 of 100 cases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[Ratio; 2]>,
    /// How the first lies to the second.
    pub relation: String,
    /// Shared bytes by bytes of both.
    pub resemblance: Option<Ratio>,
    /// Bytes that both have; of an estimate, bytes of the first.
    pub shared_bytes: u64,
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

/// How strong all links are, those too that a cluster leaves out.
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
    /// The strength that is too much, but for the whole.
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
    /// What share of the first's bytes these are; an earlier version's result does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_a: Option<Ratio>,
    /// What share of the second's bytes these are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_b: Option<Ratio>,
    /// Bytes of the first's documents that their partners have.
    pub shared_bytes_a: u64,
    /// Bytes of the second's documents that their partners have.
    pub shared_bytes_b: u64,
    /// Under which of two views.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
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

/// What two sites or parties have in common.
#[derive(Clone, Serialize, Debug)]
pub struct OverlapSection {
    /// The first.
    pub a: String,
    /// The second.
    pub b: String,
    /// Documents of the first that are identical or linked to one of the second.
    pub documents_a: u64,
    /// And the other way.
    pub documents_b: u64,
    /// `site` or `party`.
    pub level: String,
    /// Bytes of the first's chunks that occur at the second, every copy counted.
    pub shared_bytes_a: u64,
    /// And the other way.
    pub shared_bytes_b: u64,
    /// The same of template chunks.
    pub template_bytes_a: u64,
    /// And the other way.
    pub template_bytes_b: u64,
    /// Under which of two views.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
}

/// What could not be read.
#[derive(Clone, Serialize, Debug)]
pub struct UnreadSection {
    /// Its path.
    pub path: String,
    /// Set when the path is percent-escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_escaped: Option<bool>,
    /// Why.
    pub reason: String,
    /// Its repository.
    pub repository: String,
    /// Its site.
    pub site: String,
    /// Under which of two views.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
}

/// A document and what became of it. Under two views its sizes are of its bytes, or of its text where it has that alone.
#[derive(Clone, Serialize, Debug)]
pub struct DocumentSection {
    /// The digest of its content; none where it holds no text itself, or has no bytes of its own.
    pub content: Option<String>,
    /// The EDRM Message ID Hash of a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id_hash: Option<String>,
    /// When it was last modified.
    pub modified: String,
    /// The document of another repository that it is best compared with.
    pub partner: Option<PartnerRow>,
    /// Its path.
    pub path: String,
    /// Set when the path is percent-escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_escaped: Option<bool>,
    /// Its size less templates.
    pub payload_bytes: u64,
    /// Its repository.
    pub repository: String,
    /// Its site.
    pub site: String,
    /// Its size.
    pub size_bytes: u64,
    /// `identical`, `near`, `contains`, `contained`, `shares`, `unique`, or `excluded(reason)`: over all views.
    pub status: String,
    /// Under two views: how much text it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_bytes: Option<u64>,
    /// Under two views: the digest of its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_content: Option<String>,
}

/// The document that another is best compared with.
#[derive(Clone, Serialize, Debug)]
pub struct PartnerRow {
    /// Its path.
    pub path: String,
    /// Set when the path is percent-escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_escaped: Option<bool>,
    /// How the document lies to it.
    pub relation: String,
    /// Its repository.
    pub repository: String,
    /// Bytes that both have.
    pub shared_bytes: u64,
    /// Its site.
    pub site: String,
    /// Under which of two views.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
}

/// What the identical sets of a tier come to.
#[derive(Clone, Copy, Debug)]
pub struct IdenticalTotals {
    /// In what the documents of each are the same.
    pub tier: &'static str,
    /// How many there are.
    pub sets: u64,
    /// How many of them are one document under the same path in each of several repositories.
    pub in_place: u64,
    /// Bytes in copies beyond the first.
    pub wasted_bytes: u64,
}

/// What became of a document, in few words.
#[derive(Clone, Copy, Debug)]
pub struct Fate<'a> {
    /// The place of its repository among the report's sites.
    pub site: usize,
    /// Its path, as bytes.
    pub path: &'a [u8],
    /// Its size, under the view that tells of the partner.
    pub size_bytes: u64,
    /// Whether there was nothing to compare: no bytes, or no text.
    pub empty: bool,
    /// The document of another repository that it is best compared with.
    pub partner: Option<FatePartner<'a>>,
}

/// The document that another is best compared with, in few words.
#[derive(Clone, Copy, Debug)]
pub struct FatePartner<'a> {
    /// Bytes that both have.
    pub shared_bytes: u64,
    /// Whether they are the same bytes, or the same text.
    pub identical: bool,
    /// The partner's path, where it is another.
    pub moved_to: Option<&'a [u8]>,
}
