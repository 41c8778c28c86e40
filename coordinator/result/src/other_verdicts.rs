//! The verdicts in force about documents and identical sets, for plans.

use std::collections::{HashMap, HashSet};

use cognate_storage::verdict::{DOCUMENT, IDENTICAL, Key, VerdictEntry, word};

/// The verdicts about documents and identical sets that a reader may see, whether a result has them or not.
#[derive(Clone, Default)]
pub(crate) struct OtherVerdicts {
    /// Of documents: the digest of the content that was decided about, and the verdict.
    pub(crate) documents: HashMap<[u8; 18], ([u8; 16], &'static str)>,
    pub(crate) sets: HashSet<[u8; 18]>,
}

impl OtherVerdicts {
    pub(crate) fn put(&mut self, key: Key, entry: Option<&VerdictEntry>) {
        match (key.0[0], entry) {
            (IDENTICAL, Some(_)) => drop(self.sets.insert(key.0)),
            (IDENTICAL, None) => drop(self.sets.remove(&key.0)),
            (DOCUMENT, Some(entry)) => {
                let digest = entry.decided.digest.as_slice().try_into().unwrap_or_default();
                self.documents.insert(key.0, (digest, word(entry.verdict())));
            }
            (DOCUMENT, None) => drop(self.documents.remove(&key.0)),
            _ => {}
        }
    }
}
