//! Documents, with what became of them.

use crate::ratio::Ratio;
use crate::record::{Word, record};

/// The statuses of documents in the order in which lists have them; `excluded` has a reason in brackets.
pub const STATUSES: [&str; 9] =
    ["identical", "near", "contains", "contained", "shares", "standard_text", "undecided", "unique", "excluded"];

record! {
    /// A document under a view that has it, ordered by site, repository and path, then by view. Lists are of the rows that are
    /// `listed`: each document once.
    pub struct Document in "document" {
        /// Its number, from 0.
        pub id: i64 = "PRIMARY KEY",
        /// The repository.
        pub root: i64 = "REFERENCES root",
        /// The path.
        pub path: Vec<u8>,
        /// What it holds; none: under this view it holds no text itself.
        pub content: Option<i64> = "REFERENCES content",
        /// Its content's: here too, so that a list needs no look-up for each.
        pub size_bytes: u64,
        /// When it was last modified.
        pub modified: i64,
        /// Whether it changed each time it was read.
        pub changing: bool,
        /// Over all views.
        pub status: Word,
        /// The document of another repository that it is best compared with.
        pub partner: Option<i64>,
        /// Bytes that it shares with its partner.
        pub partner_shared_bytes: Option<u64>,
        /// `identical`, `near`, `contains`, `contained` or `shares`; standard text makes no partner.
        pub partner_relation: Option<Word>,
        /// Whether the partner is at the same place: its path is equal, or aligned.
        pub partner_in_place: Option<bool>,
        /// The share of it outside of frames that its partner has; none where no frame is part of their link.
        pub partner_outside: Option<Ratio>,
        /// The number of the view.
        pub layer: usize,
        /// The row of the same document under the other view.
        pub other: Option<i64>,
        /// Whether it is the first row of its document.
        pub listed: bool,
        /// Under this view alone, where that is another.
        pub layer_status: Option<Word>,
        /// Of a listed row: whether the row `other` has the partner to show.
        pub partner_in_other: bool,
        /// Whether something of it is at another place: `yes`, `standard text` (and nothing else), `no` (it is only here) or `not decided`; none: it
        /// has nothing to compare, or there is one repository.
        pub elsewhere: Option<Word>,
        /// Of a listed row: the sites, in the order of their names, at which something of it is, as bits.
        pub at_sites: Option<Vec<u8>>,
        /// Likewise the sites with documents of which it shares standard text; none: there are none.
        pub standard_text_sites: Option<Vec<u8>>,
        /// Why it is not decided that it has nothing in common with documents other than those that were found.
        pub undecided: Option<Word>,
        /// Of a message.
        pub message_id_hash: Option<[u8; 16]>,
        /// Of a listed row: its loose set.
        pub loose_set: Option<i64> = "REFERENCES loose_set",
        /// Of two repositories: the listed row of the document at the same place in the other.
        pub counterpart: Option<i64>,
        /// Whether, under a view of it, some of its text was recognised in pictures of pages.
        pub recognised: bool,
    }
}

record! {
    /// A document that could not be read.
    pub struct Unread in "unread" {
        /// The repository.
        pub root: i64 = "REFERENCES root",
        /// The path.
        pub path: Vec<u8>,
        /// Why.
        pub reason: Word,
        /// The number of the view.
        pub layer: usize,
    }
}

record! {
    /// The documents of a repository that have one status.
    pub struct StatusCount in "status" {
        /// The repository.
        pub root: i64 = "REFERENCES root",
        /// The status.
        pub status: Word,
        /// Number of documents.
        pub documents: u64,
    }
}

record! {
    /// Of two repositories, the documents of each that are the same, changed or moved at the other, share standard text there, or are missing.
    pub struct Change in "change" {
        /// The repository.
        pub root: i64 = "REFERENCES root",
        /// Documents with equal content at the same place.
        pub same: u64,
        /// With other content at the same place.
        pub changed: u64,
        /// With a copy or a relative at another place.
        pub moved: u64,
        /// That share standard text with documents there, and nothing else.
        pub standard_text: u64,
        /// With nothing found there, where that is not decided.
        pub not_decided: u64,
        /// With nothing there.
        pub only_here: u64,
    }
}

record! {
    /// A document that was planted so that it must be found. It counts in no overlap.
    pub struct Control in "control" {
        /// The row of the document.
        pub document: i64 = "REFERENCES document",
    }
}
