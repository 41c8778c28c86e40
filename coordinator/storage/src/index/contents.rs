//! The contents of an index by their digests.
//!
//! The rows are in the order in which they came, and a table has the places of digests among them: five bytes for a place of the table, which is half
//! empty on the mean and is there twice while it grows.

use std::hash::{BuildHasher as _, RandomState};
use std::ops::Index;

use cognate_fingerprint::ContentDigest;
use hashbrown::HashTable;

use super::IndexedContent;

/// The contents of an index, in the order in which they came.
#[derive(Default)]
pub struct Contents {
    places: HashTable<u32>,
    rows: Vec<(ContentDigest, IndexedContent)>,
    /// Seeded: digests come from a site, which could choose such as meet in the table.
    hasher: RandomState,
}

impl Contents {
    /// Their number.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The facts about a content.
    pub fn get(&self, digest: &ContentDigest) -> Option<&IndexedContent> {
        self.place(digest).map(|place| &self.rows[place].1)
    }

    /// True if it is one of them.
    pub fn contains(&self, digest: &ContentDigest) -> bool {
        self.place(digest).is_some()
    }

    /// The facts about each content.
    pub fn values(&self) -> impl Iterator<Item = &IndexedContent> {
        self.rows.iter().map(|(_, facts)| facts)
    }

    /// Each content with the facts about it.
    pub fn iter(&self) -> impl Iterator<Item = (&ContentDigest, &IndexedContent)> {
        self.rows.iter().map(|(digest, facts)| (digest, facts))
    }

    /// To look many up, mostly in the order in which they came.
    pub fn lookup(&self) -> Lookup<'_> {
        Lookup { contents: self, next: 0 }
    }

    /// Adds a content; false if it is there already.
    pub(super) fn add(&mut self, digest: ContentDigest, facts: IndexedContent) -> bool {
        if self.contains(&digest) {
            return false;
        }
        let place = u32::try_from(self.rows.len()).expect("an index holds fewer than 2^32 contents");
        self.rows.push((digest, facts));
        let Contents { places, rows, hasher } = self;
        let hash = |place: &u32| hasher.hash_one(rows[*place as usize].0);
        places.insert_unique(hash(&place), place, hash);
        true
    }

    fn place(&self, digest: &ContentDigest) -> Option<usize> {
        let is_it = |place: &u32| self.rows[*place as usize].0 == *digest;
        self.places.find(self.hasher.hash_one(digest), is_it).map(|place| *place as usize)
    }
}

impl Index<&ContentDigest> for Contents {
    type Output = IndexedContent;

    fn index(&self, digest: &ContentDigest) -> &IndexedContent {
        self.get(digest).expect("it is there")
    }
}

/// Looks contents up one after the other: the one after the last is looked at first, and the table only if it is another.
pub struct Lookup<'a> {
    contents: &'a Contents,
    next: usize,
}

impl<'a> Lookup<'a> {
    /// The facts about a content.
    pub fn get(&mut self, digest: &ContentDigest) -> Option<&'a IndexedContent> {
        let is_next = self.contents.rows.get(self.next).is_some_and(|(next, _)| next == digest);
        let place = if is_next { self.next } else { self.contents.place(digest)? };
        self.next = place + 1;
        Some(&self.contents.rows[place].1)
    }
}
