//! The figures of links that an analysis does not report: counts, and the groups with which each content is linked.

use crate::measure::Resemblance;
use crate::posting::ContentIndex;

/// Buckets of strength: a twentieth each, of which the last includes 1.
pub const STRENGTHS: usize = 20;

/// The links of clusters that keep only some, as far as they are not reported.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct OmittedLinks {
    /// Number of them.
    pub count: u64,
    /// By resemblance.
    pub resemblance: [u64; STRENGTHS],
    /// By the larger share that one of two contents has in the other.
    pub containment: [u64; STRENGTHS],
    /// The contents of such clusters, ascending.
    pub of: Vec<OmittedOf>,
}

/// The figures of all links of a content, reported ones included.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OmittedOf {
    /// The content.
    pub content: ContentIndex,
    /// The buckets in which it has links, a bit for each: by resemblance, and by containment.
    pub strengths: [u32; 2],
    /// The groups that hold contents with which it is linked: a bit for each, in words of 64.
    pub groups: Vec<u64>,
}

impl OmittedOf {
    /// True if a group holds a content with which this one is linked.
    pub fn reaches(&self, group: u16) -> bool {
        let word = self.groups.get(usize::from(group) / 64).copied().unwrap_or(0);
        word >> (group % 64) & 1 == 1
    }
}

impl OmittedLinks {
    /// Counts a link no more that the caller has from elsewhere, by what its contents share and weigh.
    pub fn discount(&mut self, shared_bytes: u64, payload_bytes: [u64; 2]) {
        let [a, b] = payload_bytes;
        let Resemblance { shared, union } = Resemblance::of(shared_bytes, a, b);
        let alike = &mut self.resemblance[strength(shared, union)];
        *alike = alike.saturating_sub(1);
        let more = &mut self.containment[strength(shared_bytes, a.min(b))];
        *more = more.saturating_sub(1);
        self.count = self.count.saturating_sub(1);
    }

    /// Adds those of other clusters.
    pub(crate) fn append(&mut self, mut other: OmittedLinks) {
        self.count += other.count;
        let counts = [(&mut self.resemblance, other.resemblance), (&mut self.containment, other.containment)];
        for (mine, theirs) in counts {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        }
        self.of.append(&mut other.of);
    }
}

/// The bucket of a share: that of 0.1 begins a bucket, and 1 is in the last.
pub fn strength(part: u64, whole: u64) -> usize {
    let place = match part.checked_mul(STRENGTHS as u64) {
        Some(parts) => parts / whole.max(1),
        None => u64::try_from(u128::from(part) * STRENGTHS as u128 / u128::from(whole.max(1))).unwrap_or(u64::MAX),
    };
    usize::try_from(place).unwrap_or(usize::MAX).min(STRENGTHS - 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_share_falls_into_the_bucket_that_it_begins() {
        for (part, whole, place) in
            [(0, 10, 0), (1, 20, 1), (99, 1000, 1), (1, 10, 2), (19, 20, 19), (20, 20, 19), (0, 0, 0)]
        {
            assert_eq!(strength(part, whole), place, "{part}/{whole}");
        }
        assert_eq!(strength(u64::MAX, u64::MAX), 19);
    }

    proptest! {
        #[test]
        fn the_bucket_of_a_share_is_exact_at_any_size(part: u64, whole: u64) {
            let exact = u128::from(part) * STRENGTHS as u128 / u128::from(whole.max(1));
            prop_assert_eq!(strength(part, whole) as u128, exact.min(STRENGTHS as u128 - 1));
        }
    }

    #[test]
    fn a_group_is_reached_by_its_own_bit_and_one_beyond_all_words_by_none() {
        let of = |groups: Vec<u64>| OmittedOf { content: ContentIndex(0), strengths: [0; 2], groups };
        let reached = |one: OmittedOf| (0..=u16::MAX).filter(|group| one.reaches(*group)).collect::<Vec<_>>();
        assert!(reached(of(vec![])).is_empty());
        assert_eq!(reached(of(vec![1, 1 << 63, 5])), [0, 127, 128, 130]);
        assert_eq!(reached(of(vec![u64::MAX; 1024])).len(), 1 << 16);
    }

    #[test]
    fn a_link_is_counted_no_more_in_the_buckets_that_it_is_in_and_never_below_nothing() {
        let mut omitted = OmittedLinks { count: 2, ..OmittedLinks::default() };
        // Fifty bytes of a hundred and of two hundred: a fifth of what either has, and half of the smaller.
        omitted.resemblance[4] = 1;
        omitted.containment[10] = 1;
        omitted.containment[3] = 7;
        omitted.discount(50, [200, 100]);
        assert_eq!((omitted.count, omitted.resemblance, omitted.containment[10]), (1, [0; STRENGTHS], 0));
        for _ in 0..2 {
            omitted.discount(50, [100, 200]);
        }
        assert_eq!((omitted.count, omitted.resemblance), (0, [0; STRENGTHS]));
        assert_eq!(omitted.containment.iter().sum::<u64>(), 7, "the others are as they were");
    }

    #[test]
    fn the_figures_of_several_clusters_add_up() {
        let one = |content, count| OmittedLinks {
            count,
            resemblance: [count; STRENGTHS],
            containment: [2 * count; STRENGTHS],
            of: vec![OmittedOf { content: ContentIndex(content), strengths: [1, 2], groups: vec![3] }],
        };
        let mut sum = one(1, 10);
        sum.append(one(2, 5));
        sum.append(OmittedLinks::default());
        assert_eq!((sum.count, sum.resemblance, sum.containment), (15, [15; STRENGTHS], [30; STRENGTHS]));
        assert_eq!(sum.of.iter().map(|one| one.content.0).collect::<Vec<_>>(), [1, 2]);
    }
}
