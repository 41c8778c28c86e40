//! Strength of the links: counts over all links, in twenty buckets of a twentieth each.

use cognate_similarity::Link;

use crate::measured::Measured;
use crate::subject::{Subject, index};

/// Buckets of each measure; the last includes 1.
pub const BUCKETS: usize = 20;

/// Links and the documents that they touch, by strength.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Histogram {
    /// By resemblance.
    pub(crate) resemblance: [Bucket; BUCKETS],
    /// By containment: the larger share that one content has in the other. Nothing if the method
    /// does not measure it.
    pub(crate) containment: Option<[Bucket; BUCKETS]>,
    /// All links, and all documents that any of them touches.
    pub(crate) all: Bucket,
}

/// Links of one strength.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Bucket {
    /// Links, which are between contents.
    pub(crate) links: u64,
    /// Documents whose content has such a link.
    pub(crate) documents: u64,
}

/// Counts links one by one; eight bytes for each content.
pub(crate) struct Counter<'a> {
    subject: &'a Subject<'a>,
    histogram: Histogram,
    /// Of each content, in which buckets it has a link, by a bit for each.
    touched: Vec<[u32; 2]>,
}

impl<'a> Counter<'a> {
    pub(crate) fn new(subject: &'a Subject<'a>) -> Counter<'a> {
        let touched = vec![[0; 2]; subject.frozen.contents.len()];
        Counter { subject, histogram: Histogram::default(), touched }
    }

    pub(crate) fn link(&mut self, link: &Link, measured: &Measured) {
        let ends = [link.a.0 as usize, link.b.0 as usize];
        let alike = bucket(measured.resemblance.part, measured.resemblance.whole);
        self.histogram.resemblance[alike].links += 1;
        self.histogram.all.links += 1;
        ends.iter().for_each(|content| self.touched[*content][0] |= 1 << alike);
        let Some([a, b]) = measured.contained else { return };
        let more = bucket(a.part, a.whole).max(bucket(b.part, b.whole));
        self.histogram.containment.get_or_insert_default()[more].links += 1;
        ends.iter().for_each(|content| self.touched[*content][1] |= 1 << more);
    }

    pub(crate) fn finish(mut self) -> Histogram {
        for (content, [resemblance, containment]) in self.touched.into_iter().enumerate() {
            if resemblance == 0 {
                continue;
            }
            let documents = self.subject.copies.of_content(index(content)).len() as u64;
            self.histogram.all.documents += documents;
            for bucket in 0..BUCKETS {
                self.histogram.resemblance[bucket].documents += documents * u64::from(resemblance >> bucket & 1);
                if let Some(rows) = &mut self.histogram.containment {
                    rows[bucket].documents += documents * u64::from(containment >> bucket & 1);
                }
            }
        }
        self.histogram
    }
}

/// The bucket of a share: that of 0.1 begins a bucket, and 1 is in the last.
fn bucket(part: u64, whole: u64) -> usize {
    let place = u128::from(part) * BUCKETS as u128 / u128::from(whole.max(1));
    usize::try_from(place).unwrap_or(usize::MAX).min(BUCKETS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_falls_into_the_bucket_that_it_begins() {
        for (part, whole, place) in
            [(0, 10, 0), (1, 20, 1), (99, 1000, 1), (1, 10, 2), (19, 20, 19), (20, 20, 19), (0, 0, 0)]
        {
            assert_eq!(bucket(part, whole), place, "{part}/{whole}");
        }
        assert_eq!(bucket(u64::MAX, u64::MAX), 19);
    }
}
