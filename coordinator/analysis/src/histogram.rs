//! Strength of the links: counts over all links, in twenty buckets of a twentieth each.

use cognate_similarity::{Link, OmittedLinks, STRENGTHS, strength};

use crate::link_figures::LinkFigures;
use crate::subject::{Subject, index};

/// Buckets of each measure; the last includes 1.
pub const BUCKETS: usize = STRENGTHS;

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

    pub(crate) fn link(&mut self, link: &Link, measured: &LinkFigures) {
        let ends = [link.a.0 as usize, link.b.0 as usize];
        let alike = strength(measured.resemblance.part, measured.resemblance.whole);
        self.histogram.resemblance[alike].links += 1;
        self.histogram.all.links += 1;
        ends.iter().for_each(|content| self.touched[*content][0] |= 1 << alike);
        let Some([a, b]) = measured.contained else { return };
        let more = strength(a.part, a.whole).max(strength(b.part, b.whole));
        self.histogram.containment.get_or_insert_default()[more].links += 1;
        ends.iter().for_each(|content| self.touched[*content][1] |= 1 << more);
    }

    /// Counts links that are not reported one by one, all of a method that measures containment.
    pub(crate) fn omitted(&mut self, omitted: &OmittedLinks) {
        if omitted.count == 0 {
            return;
        }
        let Histogram { resemblance, containment, all } = &mut self.histogram;
        all.links += omitted.count;
        let counts = [(resemblance, &omitted.resemblance), (containment.get_or_insert_default(), &omitted.containment)];
        for (buckets, links) in counts {
            buckets.iter_mut().zip(links).for_each(|(bucket, links)| bucket.links += links);
        }
        for one in &omitted.of {
            let touched = &mut self.touched[one.content.0 as usize];
            touched.iter_mut().zip(one.strengths).for_each(|(bits, more)| *bits |= more);
        }
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
