//! Tags in their order, which are looked up often. Tags are hashes: by their first bits, a short list of some that follow each other is found,
//! and in it the tag.

use cognate_fingerprint::Tag;

/// Tags of one short list, on average.
const TAGS_PER_LIST: usize = 8;
/// The bits that an index is by, at most.
const BITS_MAX: u32 = 24;

/// Tags, ascending, each once.
#[derive(Debug)]
pub(super) struct TagList {
    tags: Vec<Tag>,
    /// By the first bits of a tag, where the tags with them begin; at the end, the number of all.
    starts: Vec<u32>,
    bits: u32,
}

impl TagList {
    /// Of tags that ascend.
    pub(super) fn of(tags: Vec<Tag>) -> TagList {
        debug_assert!(tags.is_sorted_by(|a, b| a < b), "they ascend, each once");
        let bits = (tags.len() / TAGS_PER_LIST).max(1).ilog2().min(BITS_MAX);
        let mut starts = Vec::with_capacity((1 << bits) + 1);
        for (place, tag) in (0..).zip(&tags) {
            starts.resize((first_bits(tag, bits) + 1).max(starts.len()), place);
        }
        starts.resize((1 << bits) + 1, u32::try_from(tags.len()).expect("a scan has fewer than 2^32 chunks"));
        TagList { tags, starts, bits }
    }

    /// The place of a tag, if it is in the list.
    pub(super) fn place(&self, tag: &Tag) -> Option<u32> {
        let list = first_bits(tag, self.bits);
        let (start, end) = (self.starts[list], self.starts[list + 1]);
        let place = self.tags[start as usize..end as usize].binary_search(tag).ok()?;
        u32::try_from(place).ok().map(|place| start + place)
    }

    pub(super) fn contains(&self, tag: &Tag) -> bool {
        self.place(tag).is_some()
    }

    pub(super) fn tags(&self) -> &[Tag] {
        &self.tags
    }
}

fn first_bits(tag: &Tag, bits: u32) -> usize {
    let first = u32::from_be_bytes(*tag.0.first_chunk().expect("a tag is longer"));
    first.checked_shr(u32::BITS - bits).unwrap_or(0) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn no_tag_is_in_an_empty_list() {
        assert_eq!(TagList::of(Vec::new()).place(&Tag([0; 16])), None);
        assert_eq!(TagList::of(Vec::new()).place(&Tag([255; 16])), None);
    }

    proptest! {
        #[test]
        fn every_tag_is_at_its_place_and_no_other_is_there(
            first in prop::collection::btree_set(any::<u16>(), 0..400),
            alike in prop::collection::btree_set(any::<u8>(), 0..60),
            others in prop::collection::vec(any::<u16>(), 0..40),
        ) {
            let tag = |first: u16, last: u8| {
                let mut tag = Tag([7; 16]);
                tag.0[..2].copy_from_slice(&first.to_be_bytes());
                tag.0[15] = last;
                tag
            };
            // Those of a site that chooses its tags begin alike.
            let mut tags: Vec<Tag> = first.iter().map(|first| tag(*first, 0)).collect();
            tags.extend(alike.iter().map(|last| tag(0xffff, *last)));
            tags.sort_unstable();
            tags.dedup();
            let list = TagList::of(tags.clone());
            for (place, tag) in (0..).zip(&tags) {
                prop_assert_eq!(list.place(tag), Some(place));
            }
            for other in others.iter().map(|first| tag(*first, 1)).chain([Tag([0; 16]), Tag([255; 16])]) {
                prop_assert_eq!(list.contains(&other), tags.contains(&other));
            }
        }
    }
}
