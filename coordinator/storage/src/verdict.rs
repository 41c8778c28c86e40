//! Decisions of reviewers as rows and events: the key of a subject, a decision, and what the store keeps of both. A decision is
//! a verdict, or a change of the labels of clusters: tags, and the person who is to look at them.
//!
//! A verdict is about a cluster, an identical set or a document, by what stays the same in later scans: the cluster's
//! view and id, the set's tier and id, the document's place. Documents are named by a hash of their place, since the
//! journal cannot forget a path.

use std::collections::BTreeSet;

use cognate_proto::v1;
use data_encoding::HEXLOWER;

/// The possible decisions, as people write them.
pub const WORDS: [(v1::Verdict, &str); 5] = [
    (v1::Verdict::Duplicate, "duplicate"),
    (v1::Verdict::NotADuplicate, "not-a-duplicate"),
    (v1::Verdict::Intentional, "intentional"),
    (v1::Verdict::Keep, "keep"),
    (v1::Verdict::Done, "done"),
];

/// A verdict as people write it.
pub fn word(verdict: v1::Verdict) -> &'static str {
    WORDS.iter().find(|(known, _)| *known == verdict).map_or("unspecified", |(_, word)| *word)
}

/// The verdict that a word says.
pub fn parse(word: &str) -> Option<v1::Verdict> {
    WORDS.iter().find(|(_, known)| *known == word).map(|(verdict, _)| *verdict)
}

/// A change of labels as people read it: `+hot -old, for anna`.
pub fn change_words(change: &v1::LabelChange) -> String {
    let tags = change.add.iter().map(|tag| format!("+{tag}")).chain(change.remove.iter().map(|tag| format!("-{tag}")));
    let mut words = vec![tags.collect::<Vec<_>>().join(" ")];
    match change.assignee.as_deref() {
        None => {}
        Some("") => words.push("for nobody".to_owned()),
        Some(name) => words.push(format!("for {name}")),
    }
    words.retain(|word| !word.is_empty());
    words.join(", ")
}

/// The first byte of the key of a cluster.
pub const CLUSTER: u8 = 1;
/// The first byte of the key of an identical set.
pub const IDENTICAL: u8 = 2;
/// The first byte of the key of a document.
pub const DOCUMENT: u8 = 3;
/// The views of clusters; a key holds the position, so the order never changes.
pub const VIEWS: [&str; 2] = ["raw", "text"];
/// The tiers of identical sets; a key holds the position, so the order never changes.
pub const TIERS: [&str; 4] = ["same bytes", "same text", "same lines", "same message"];

/// Subject of a verdict, as the store looks it up: a kind, a view or tier, and 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key(pub [u8; 18]);

impl Key {
    fn new(kind: u8, of: usize, id: [u8; 16]) -> Key {
        let mut key = [0; 18];
        (key[0], key[1]) = (kind, u8::try_from(of).unwrap_or(u8::MAX));
        key[2..].copy_from_slice(&id);
        Key(key)
    }

    /// Of a cluster by its view and id; nothing: there can be none such.
    pub fn of_cluster(view: &str, id: &str) -> Option<Key> {
        Some(Key::new(CLUSTER, VIEWS.iter().position(|known| *known == view)?, sixteen(id)?))
    }

    /// Of an identical set by its tier and id.
    pub fn of_set(tier: &str, id: &str) -> Option<Key> {
        Some(Key::new(IDENTICAL, TIERS.iter().position(|known| *known == tier)?, sixteen(id)?))
    }

    /// Of a document by where it is.
    pub fn of_document(site: &str, repository: &str, path: &[u8]) -> Key {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"cognate verdict place 1");
        for part in [site.as_bytes(), repository.as_bytes(), path] {
            hasher.update(&[0]).update(part);
        }
        let hash = hasher.finalize();
        Key::new(DOCUMENT, 0, *hash.as_bytes().first_chunk().expect("a hash has 32 bytes"))
    }

    /// The key that these bytes are.
    pub fn parse(bytes: &[u8]) -> Option<Key> {
        bytes.try_into().ok().map(Key)
    }

    /// The subject as a message names it; of a document, without its place.
    pub fn subject(self) -> v1::Subject {
        let id = HEXLOWER.encode(&self.0[2..]);
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
pub fn sixteen(hex: &str) -> Option<[u8; 16]> {
    let digits = hex.len() == 32 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = if digits { u128::from_str_radix(hex, 16).ok() } else { None };
    number.map(u128::to_be_bytes)
}

/// A part of a decision, as the journal keeps it: at most some thousands of subjects.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Decision {
    /// The number of the action: all parts of one decision have the same.
    #[prost(uint64, tag = "1")]
    pub action: u64,
    /// The number of the part within the action, from 0.
    #[prost(uint32, tag = "2")]
    pub part: u32,
    /// The scan in whose result it was seen.
    #[prost(fixed64, tag = "3")]
    pub scan: u64,
    /// A [`v1::Verdict`].
    #[prost(enumeration = "v1::Verdict", tag = "4")]
    pub verdict: i32,
    /// The note of the reviewer; may be empty.
    #[prost(string, tag = "5")]
    pub note: String,
    /// The filter that chose the subjects, where one did.
    #[prost(string, tag = "6")]
    pub filter: String,
    /// The subjects of this part.
    #[prost(message, repeated, tag = "7")]
    pub decided: Vec<Decided>,
    /// The party of all sites of that scan; empty if there were several.
    #[prost(string, tag = "8")]
    pub party: String,
    /// True if the author may read the results of this party alone.
    #[prost(bool, tag = "9")]
    pub is_bound: bool,
    /// The change of labels, in place of a verdict.
    #[prost(message, optional, tag = "10")]
    pub label: Option<v1::LabelChange>,
}

/// Subject of a decision, and its members at that time.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Decided {
    /// A [`Key`].
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    /// The digest of its members; of a document, of its content: 16 bytes.
    #[prost(bytes = "vec", tag = "2")]
    pub digest: Vec<u8>,
    /// The digests of a cluster's contents, 16 bytes each, where they are few.
    #[prost(bytes = "vec", tag = "3")]
    pub members: Vec<u8>,
    /// Number of members at that time; of a set, its documents.
    #[prost(uint64, tag = "4")]
    pub member_count: u64,
    /// Of a document: its site; otherwise empty.
    #[prost(string, tag = "5")]
    pub site: String,
    /// Of a document: its repository; otherwise empty.
    #[prost(string, tag = "6")]
    pub repository: String,
    /// Of a document: the view of the content, one of [`VIEWS`]; otherwise empty.
    #[prost(string, tag = "7")]
    pub view: String,
}

/// A decision that was taken back.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Undone {
    /// The number of the action that was undone.
    #[prost(uint64, tag = "1")]
    pub action: u64,
}

/// Decisions about one subject, the last one last.
#[derive(Clone, PartialEq, prost::Message)]
pub struct VerdictRow {
    /// The decisions in force, in the order in which they were made: at most 16 verdicts and 16 changes of labels of the people of
    /// each party, and of those without bounds. Earlier changes of labels are one entry, whose action is 0.
    #[prost(message, repeated, tag = "1")]
    pub entries: Vec<VerdictEntry>,
}

/// One decision about one subject.
#[derive(Clone, PartialEq, prost::Message)]
pub struct VerdictEntry {
    /// The number of the action.
    #[prost(uint64, tag = "1")]
    pub action: u64,
    /// A [`v1::Verdict`].
    #[prost(enumeration = "v1::Verdict", tag = "2")]
    pub verdict: i32,
    /// The note of the reviewer; may be empty.
    #[prost(string, tag = "3")]
    pub note: String,
    /// The name of the operator.
    #[prost(string, tag = "4")]
    pub by: String,
    /// Time of the decision; seconds since 1970.
    #[prost(sint64, tag = "5")]
    pub time: i64,
    /// The scan in whose result the subject was seen.
    #[prost(fixed64, tag = "6")]
    pub scan: u64,
    /// The subject as it was at that time.
    #[prost(message, required, tag = "7")]
    pub decided: Decided,
    /// The party of all sites of that scan; empty if there were several.
    #[prost(string, tag = "8")]
    pub party: String,
    /// True if the author may read the results of this party alone.
    #[prost(bool, tag = "9")]
    pub is_bound: bool,
    /// The change of labels, in place of a verdict.
    #[prost(message, optional, tag = "10")]
    pub label: Option<v1::LabelChange>,
}

/// The labels of a cluster.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Labels {
    /// Its tags.
    pub tags: BTreeSet<String>,
    /// The person who is to look at it, or empty.
    pub assignee: String,
}

impl Labels {
    /// Makes a change.
    pub fn change(&mut self, change: &v1::LabelChange) {
        self.tags.retain(|tag| !change.remove.contains(tag));
        self.tags.extend(change.add.iter().cloned());
        if let Some(assignee) = &change.assignee {
            self.assignee.clone_from(assignee);
        }
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.tags.is_empty() && self.assignee.is_empty()
    }
}

impl VerdictRow {
    /// The labels that the entries which count leave.
    pub fn labels(&self, counts: impl Fn(&VerdictEntry) -> bool) -> Labels {
        let mut labels = Labels::default();
        self.entries.iter().filter(|entry| counts(entry)).filter_map(|entry| entry.label.as_ref()).for_each(|change| {
            labels.change(change);
        });
        labels
    }
}

/// A part of an action, as the store saves it: enough to list it and to undo it.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ActionRow {
    /// The scan in whose result the subjects were seen.
    #[prost(fixed64, tag = "1")]
    pub scan: u64,
    /// A [`v1::Verdict`].
    #[prost(enumeration = "v1::Verdict", tag = "2")]
    pub verdict: i32,
    /// The note of the reviewer; may be empty.
    #[prost(string, tag = "3")]
    pub note: String,
    /// The filter that chose the subjects; empty: they were chosen one by one.
    #[prost(string, tag = "4")]
    pub filter: String,
    /// The name of the operator.
    #[prost(string, tag = "5")]
    pub by: String,
    /// Time of the decision; seconds since 1970.
    #[prost(sint64, tag = "6")]
    pub time: i64,
    /// The [`Key`]s of the subjects, 18 bytes each.
    #[prost(bytes = "vec", tag = "7")]
    pub keys: Vec<u8>,
    /// Name of the operator who undid the action; empty if it was not undone.
    #[prost(string, tag = "8")]
    pub undone_by: String,
    /// Time of the undo; seconds since 1970, 0: never.
    #[prost(sint64, tag = "9")]
    pub undone: i64,
    /// The change of labels, in place of a verdict.
    #[prost(message, optional, tag = "10")]
    pub label: Option<v1::LabelChange>,
}

impl ActionRow {
    /// The keys of the subjects, in the order of the decision.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.keys.as_chunks().0.iter().map(|key| Key(*key))
    }
}

/// A filter with a name.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct SavedFilter {
    /// The name, unique among saved filters.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The part after the `?` of an address: the filter, and the order if another is chosen.
    #[prost(string, tag = "2")]
    pub query: String,
    /// Name of the operator who is to go through its clusters; empty: nobody in particular.
    #[prost(string, tag = "3")]
    pub assignee: String,
}
