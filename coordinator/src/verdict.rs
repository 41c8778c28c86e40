//! What people decided about what results show. It is a record: every decision goes through the journal, with who made it
//! and when, and so does taking it back.
//!
//! A verdict is about a cluster, an identical set or a document, by what stays the same in later scans: the cluster's view
//! and id, the set's tier and id, where the document is. It holds while that consists of the same (`members_digest`, the
//! places of a set's documents, the document's content); where it does not any more, it is told as changed, and why.
//! Documents are named by a hash of where they are: the journal cannot forget a path.

mod decide;
mod marks;
mod pool;
mod saved;

use cognate_proto::v1;

use crate::error::Error;

pub(crate) use decide::{About, Wish};
pub(crate) use marks::Mark;
pub(crate) use pool::Browses;
pub(crate) use saved::SavedFilter;

/// What can be decided, as people write it.
pub(crate) const WORDS: [(v1::Verdict, &str); 5] = [
    (v1::Verdict::Duplicate, "duplicate"),
    (v1::Verdict::NotADuplicate, "not-a-duplicate"),
    (v1::Verdict::Intentional, "intentional"),
    (v1::Verdict::Keep, "keep"),
    (v1::Verdict::Done, "done"),
];

/// A verdict as people write it.
pub(crate) fn word(verdict: v1::Verdict) -> &'static str {
    WORDS.iter().find(|(known, _)| *known == verdict).map_or("unspecified", |(_, word)| *word)
}

/// The verdict that a word says.
pub(crate) fn parse(word: &str) -> Option<v1::Verdict> {
    WORDS.iter().find(|(_, known)| *known == word).map(|(verdict, _)| *verdict)
}

const CLUSTER: u8 = 1;
const IDENTICAL: u8 = 2;
const DOCUMENT: u8 = 3;
const VIEWS: [&str; 2] = ["raw", "text"];
const TIERS: [&str; 3] = ["same bytes", "same text", "same message"];

/// What a verdict is about, as the store looks it up: a kind, a view or tier, and 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Key(pub(crate) [u8; 18]);

impl Key {
    fn new(kind: u8, of: usize, id: [u8; 16]) -> Key {
        let mut key = [0; 18];
        (key[0], key[1]) = (kind, u8::try_from(of).unwrap_or(u8::MAX));
        key[2..].copy_from_slice(&id);
        Key(key)
    }

    /// Of a cluster by its view and id; nothing: there can be none such.
    pub(crate) fn of_cluster(view: &str, id: &str) -> Option<Key> {
        Some(Key::new(CLUSTER, VIEWS.iter().position(|known| *known == view)?, sixteen(id)?))
    }

    /// Of an identical set by its tier and id.
    pub(crate) fn of_set(tier: &str, id: &str) -> Option<Key> {
        Some(Key::new(IDENTICAL, TIERS.iter().position(|known| *known == tier)?, sixteen(id)?))
    }

    /// Of a document by where it is.
    pub(crate) fn of_document(site: &str, repository: &str, path: &[u8]) -> Key {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"cognate verdict place 1");
        for part in [site.as_bytes(), repository.as_bytes(), path] {
            hasher.update(&[0]).update(part);
        }
        let hash = hasher.finalize();
        Key::new(DOCUMENT, 0, *hash.as_bytes().first_chunk().expect("a hash has 32 bytes"))
    }

    /// The key that these bytes are.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Key> {
        bytes.try_into().ok().map(Key)
    }

    /// What a message says of it; of a document, not where it is.
    fn subject(self) -> v1::Subject {
        let id = crate::report::hex(&self.0[2..]);
        let name = |names: &[&str]| names.get(usize::from(self.0[1])).copied().unwrap_or_default().to_owned();
        match self.0[0] {
            CLUSTER => {
                v1::Subject { kind: v1::SubjectKind::Cluster.into(), view: name(&VIEWS), id, ..v1::Subject::default() }
            }
            IDENTICAL => v1::Subject {
                kind: v1::SubjectKind::Identical.into(),
                view: name(&TIERS),
                id,
                ..v1::Subject::default()
            },
            _ => v1::Subject { kind: v1::SubjectKind::Document.into(), ..v1::Subject::default() },
        }
    }
}

/// 16 bytes of 32 hexadecimal digits.
pub(crate) fn sixteen(hex: &str) -> Option<[u8; 16]> {
    let digits = hex.len() == 32 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = if digits { u128::from_str_radix(hex, 16).ok() } else { None };
    number.map(u128::to_be_bytes)
}

/// A part of a decision, as the journal keeps it: at most some thousands of subjects.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Decision {
    /// Which action it is a part of, and which part.
    #[prost(uint64, tag = "1")]
    pub(crate) action: u64,
    #[prost(uint32, tag = "2")]
    pub(crate) part: u32,
    /// The scan in whose result it was seen.
    #[prost(fixed64, tag = "3")]
    pub(crate) scan: u64,
    #[prost(enumeration = "v1::Verdict", tag = "4")]
    pub(crate) verdict: i32,
    #[prost(string, tag = "5")]
    pub(crate) note: String,
    /// The filter that chose the subjects, where one did.
    #[prost(string, tag = "6")]
    pub(crate) filter: String,
    #[prost(message, repeated, tag = "7")]
    pub(crate) decided: Vec<Decided>,
}

/// What was decided about, and what it consisted of then.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Decided {
    /// A [`Key`].
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) key: Vec<u8>,
    /// The digest of its members; of a document, of its content: 16 bytes.
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) digest: Vec<u8>,
    /// The digests of a cluster's contents, 16 bytes each, where they are few.
    #[prost(bytes = "vec", tag = "3")]
    pub(crate) members: Vec<u8>,
    /// How many there were; of a set, how many documents.
    #[prost(uint64, tag = "4")]
    pub(crate) member_count: u64,
    /// Of a document: its site and repository, and the view of the content.
    #[prost(string, tag = "5")]
    pub(crate) site: String,
    #[prost(string, tag = "6")]
    pub(crate) repository: String,
    #[prost(string, tag = "7")]
    pub(crate) view: String,
}

/// A decision that was taken back.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Undone {
    #[prost(uint64, tag = "1")]
    pub(crate) action: u64,
}

/// What was decided about one subject, the last decision last.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct VerdictRow {
    #[prost(message, repeated, tag = "1")]
    pub(crate) entries: Vec<VerdictEntry>,
}

/// One decision about one subject.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct VerdictEntry {
    #[prost(uint64, tag = "1")]
    pub(crate) action: u64,
    #[prost(enumeration = "v1::Verdict", tag = "2")]
    pub(crate) verdict: i32,
    #[prost(string, tag = "3")]
    pub(crate) note: String,
    #[prost(string, tag = "4")]
    pub(crate) by: String,
    #[prost(sint64, tag = "5")]
    pub(crate) time: i64,
    #[prost(fixed64, tag = "6")]
    pub(crate) scan: u64,
    #[prost(message, required, tag = "7")]
    pub(crate) decided: Decided,
}

/// A part of an action, as the store keeps it: what is needed to list it and to take it back.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ActionRow {
    #[prost(fixed64, tag = "1")]
    pub(crate) scan: u64,
    #[prost(enumeration = "v1::Verdict", tag = "2")]
    pub(crate) verdict: i32,
    #[prost(string, tag = "3")]
    pub(crate) note: String,
    #[prost(string, tag = "4")]
    pub(crate) filter: String,
    #[prost(string, tag = "5")]
    pub(crate) by: String,
    #[prost(sint64, tag = "6")]
    pub(crate) time: i64,
    /// 18 bytes each.
    #[prost(bytes = "vec", tag = "7")]
    pub(crate) keys: Vec<u8>,
    #[prost(string, tag = "8")]
    pub(crate) undone_by: String,
    #[prost(sint64, tag = "9")]
    pub(crate) undone: i64,
}

impl ActionRow {
    pub(crate) fn keys(&self) -> impl Iterator<Item = Key> {
        self.keys.as_chunks().0.iter().map(|key| Key(*key))
    }
}

/// What somebody asks for cannot be, and why.
fn refused(field: &str, why: impl std::fmt::Display) -> Error {
    Error::Invalid(format!("`{field}`: {why}"))
}
