//! Documents: where they are, what became of them, and which could not be read.

use serde::Serialize;

use super::Ratio;

/// Place and age of a document.
#[derive(Clone, Serialize, Debug)]
pub struct Located {
    /// The EDRM Message ID Hash of a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id_hash: Option<String>,
    /// Time of the last modification.
    pub modified: String,
    /// Its path.
    pub path: String,
    /// Set when the path is percent-escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_escaped: Option<bool>,
    /// Set when some of its text was recognised in pictures of pages: it has the errors of such text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recognised: Option<bool>,
    /// Its repository.
    pub repository: String,
    /// Its site.
    pub site: String,
    /// Its own size, where that of the set is not that of each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
}

/// An unreadable document.
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
    /// The sites, in the order of their names, at which something of it is, as bits.
    #[serde(skip)]
    pub(crate) at_sites: Vec<u8>,
    /// Likewise those with which it shares standard text.
    #[serde(skip)]
    pub(crate) standard_text_sites: Vec<u8>,
    /// The number of its loose set.
    #[serde(skip)]
    pub(crate) loose_set: Option<i64>,
    /// The digest of its content; none where it holds no text itself, or has no bytes of its own.
    pub content: Option<String>,
    /// Whether something of it is at another place: `yes`, `standard text` (and nothing else), `no` (it is only here) or `not decided`; none: it
    /// has nothing to compare, or there is one repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
    /// The EDRM Message ID Hash of a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id_hash: Option<String>,
    /// Time of the last modification.
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
    /// Set when some of its text was recognised in pictures of pages: it has the errors of such text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recognised: Option<bool>,
    /// Its repository.
    pub repository: String,
    /// Its site.
    pub site: String,
    /// Its size.
    pub size_bytes: u64,
    /// `identical`, `near`, `contains`, `contained`, `shares`, `undecided`, `unique`, or `excluded(reason)`: over all views.
    pub status: String,
    /// Under two views: how much text it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_bytes: Option<u64>,
    /// Under two views: the digest of its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_content: Option<String>,
    /// The reason why its status, or whether it is elsewhere, is not decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undecided: Option<String>,
    /// The same, whatever was found of it.
    #[serde(skip)]
    pub(crate) unmeasured: Option<String>,
}

/// The document that another is best compared with.
#[derive(Clone, Serialize, Debug)]
pub struct PartnerRow {
    /// The share of the document outside of standard text that it has; nothing if none is part of what they share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside_share: Option<Ratio>,
    /// Its path.
    pub path: String,
    /// Set when the path is percent-escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_escaped: Option<bool>,
    /// Relation of the document to it.
    pub relation: String,
    /// Its repository.
    pub repository: String,
    /// The share of the document that it has; none for a document without content of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<Ratio>,
    /// Bytes that both have.
    pub shared_bytes: u64,
    /// Its site.
    pub site: String,
    /// Under which of two views.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
}

/// Whether something of a document is at another place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Elsewhere {
    /// It is.
    Yes,
    /// Standard text of it is, and nothing else that counts.
    StandardText,
    /// It is only here.
    No,
    /// Nothing was found, and something that could have shown the contrary was not measured.
    NotDecided,
}

impl Elsewhere {
    /// Reads the word of a result.
    pub(crate) fn parse(word: &str) -> Option<Elsewhere> {
        match word {
            "yes" => Some(Elsewhere::Yes),
            "standard text" => Some(Elsewhere::StandardText),
            "no" => Some(Elsewhere::No),
            "not decided" => Some(Elsewhere::NotDecided),
            _ => None,
        }
    }
}

/// Status of a document, in a short row.
#[derive(Clone, Copy, Debug)]
pub struct Fate<'a> {
    /// The place of its repository among the report's sites.
    pub site: usize,
    /// Its path, as bytes.
    pub path: &'a [u8],
    /// Its size, under the view that has the partner.
    pub size_bytes: u64,
    /// Whether something of it is at the other repository; none: there was nothing to compare.
    pub elsewhere: Option<Elsewhere>,
    /// The document of another repository that it is best compared with.
    pub partner: Option<FatePartner<'a>>,
    /// The reason why it is not decided that the other has nothing of it.
    pub undecided: Option<&'a str>,
    /// True if some of its text was recognised in pictures of pages.
    pub recognised: bool,
    /// Its number.
    pub id: i64,
    /// Of two repositories, the number of the document at the same place of the other.
    pub counterpart: Option<i64>,
}

/// The document that another is best compared with, in few words.
#[derive(Clone, Copy, Debug)]
pub struct FatePartner<'a> {
    /// Bytes that both have.
    pub shared_bytes: u64,
    /// The share of the document that it has, if they are not the same.
    pub share: Option<Ratio>,
    /// The same outside of standard text, if some is part of what they share.
    pub outside_share: Option<Ratio>,
    /// True if they are the same bytes, or the same text.
    pub identical: bool,
    /// The partner's path, where it is at another place.
    pub moved_to: Option<&'a [u8]>,
}
