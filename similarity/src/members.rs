//! Members: the contents of a partition, and pairs of them.

use crate::link::Link;
use crate::measure::Resemblance;
use crate::posting::ContentIndex;

/// A pair of members and what they share; `smaller` has the smaller payload, and the smaller number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pair {
    pub(crate) smaller: u32,
    pub(crate) larger: u32,
    pub(crate) shared_bytes: u64,
}

/// The contents of a partition, by their places in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Members<'a> {
    /// The members by ascending payload, then number.
    pub(crate) contents: &'a [u32],
    /// The payloads of all contents.
    pub(crate) payload_bytes: &'a [u64],
}

impl Members<'_> {
    pub(crate) fn count(&self) -> usize {
        self.contents.len()
    }

    #[inline]
    pub(crate) fn content(&self, member: u32) -> ContentIndex {
        ContentIndex(self.contents[member as usize])
    }

    #[inline]
    pub(crate) fn payload_bytes(&self, member: u32) -> u64 {
        self.payload_bytes[self.content(member).at()]
    }

    pub(crate) fn resemblance(&self, pair: &Pair) -> Resemblance {
        let payloads = (self.payload_bytes(pair.smaller), self.payload_bytes(pair.larger));
        Resemblance::of(pair.shared_bytes, payloads.0, payloads.1)
    }

    #[inline]
    pub(crate) fn link(&self, pair: &Pair) -> Link {
        let (x, y) = (self.content(pair.smaller), self.content(pair.larger));
        Link { a: x.min(y), b: x.max(y), shared_bytes: pair.shared_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTENTS: [u32; 3] = [4, 1, 2];
    const PAYLOADS: [u64; 5] = [0, 20, 30, 0, 10];

    fn members() -> Members<'static> {
        Members { contents: &CONTENTS, payload_bytes: &PAYLOADS }
    }

    #[test]
    fn a_member_is_a_content_by_its_place() {
        let members = members();
        assert_eq!(members.count(), 3);
        for (member, content, payload_bytes) in [(0, 4, 10), (1, 1, 20), (2, 2, 30)] {
            assert_eq!(members.content(member), ContentIndex(content));
            assert_eq!(members.payload_bytes(member), payload_bytes);
        }
    }

    #[test]
    fn a_pair_becomes_a_link_from_the_smaller_to_the_larger_number() {
        for (smaller, larger, a, b) in [(0, 1, 1, 4), (0, 2, 2, 4), (1, 2, 1, 2)] {
            let pair = Pair { smaller, larger, shared_bytes: 7 };
            assert_eq!(members().link(&pair), Link { a: ContentIndex(a), b: ContentIndex(b), shared_bytes: 7 });
        }
        let resemblance = members().resemblance(&Pair { smaller: 0, larger: 2, shared_bytes: 8 });
        assert_eq!((resemblance.shared, resemblance.union), (8, 32));
    }
}
