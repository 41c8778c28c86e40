//! The contents of an index by their digests.
//!
//! A table of places and a list of rows take less memory than a table of rows: a table is half empty on the mean, and is there twice
//! while it grows.

use std::collections::HashMap;
use std::ops::Index;

use cognate_fingerprint::ContentDigest;

use super::IndexedContent;

/// The contents of an index, in no order.
#[derive(Default)]
pub struct Contents {
    places: HashMap<ContentDigest, u32>,
    rows: Vec<IndexedContent>,
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
        self.places.get(digest).map(|place| &self.rows[*place as usize])
    }

    /// True if it is one of them.
    pub fn contains(&self, digest: &ContentDigest) -> bool {
        self.places.contains_key(digest)
    }

    /// The facts about each content.
    pub fn values(&self) -> impl Iterator<Item = &IndexedContent> {
        self.rows.iter()
    }

    /// Each content with the facts about it.
    pub fn iter(&self) -> impl Iterator<Item = (&ContentDigest, &IndexedContent)> {
        self.places.iter().map(|(digest, place)| (digest, &self.rows[*place as usize]))
    }

    /// Adds a content; false if it is there already.
    pub(super) fn add(&mut self, digest: ContentDigest, facts: IndexedContent) -> bool {
        let rows = &mut self.rows;
        let mut is_new = false;
        self.places.entry(digest).or_insert_with(|| {
            is_new = true;
            rows.push(facts);
            u32::try_from(rows.len() - 1).expect("an index holds fewer than 2^32 contents")
        });
        is_new
    }
}

impl Index<&ContentDigest> for Contents {
    type Output = IndexedContent;

    fn index(&self, digest: &ContentDigest) -> &IndexedContent {
        self.get(digest).expect("it is there")
    }
}
