//! Number of bytes of one place that another place also has: overlap in bytes, whatever the method weighs.
//!
//! Chunks are counted byte by byte. Of a fair sample, each feature represents as many bytes as any other of its place. Of
//! signatures of a fixed size it is only known how alike documents are: each counts with what its closest relative has.

use std::collections::HashMap;

use cognate_similarity::{Level, Link, OverlapLevel};

use crate::freeze::FrozenContent;
use crate::link_figures::LinkFigures;
use crate::ratio::Fraction;
use crate::subject::Subject;

/// Source of the bytes of a place that another place also has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Coverage {
    /// From chunks that occur there.
    Chunks,
    /// From features that occur there.
    Samples,
    /// From the closest relative that each document has there.
    Links,
}

/// Bytes of each label that each other label also has, row by row.
#[derive(Default)]
pub(crate) struct LabelOverlap {
    /// Every copy counted.
    pub(crate) shared_bytes: Vec<u64>,
    /// Bytes of templates, likewise.
    pub(crate) template_bytes: Vec<u64>,
    /// Without copies.
    pub(crate) shared_once_bytes: Vec<u64>,
}

/// Of each content, how much of it the closest relative under each label has.
pub(crate) struct ClosestRelatives<'a> {
    subject: &'a Subject<'a>,
    level: &'a Level,
    coverage: Coverage,
    shared_bytes: HashMap<(u32, u16), u64>,
}

impl<'a> ClosestRelatives<'a> {
    pub(crate) fn new(subject: &'a Subject<'a>, level: &'a Level, coverage: Coverage) -> ClosestRelatives<'a> {
        ClosestRelatives { subject, level, coverage, shared_bytes: HashMap::new() }
    }

    pub(crate) fn link(&mut self, link: &Link, measured: &LinkFigures) {
        if self.coverage != Coverage::Links {
            return;
        }
        let [of_a, of_b] = measured.shared_bytes;
        for (from, to, shared_bytes) in [(link.a, link.b, of_a), (link.b, link.a, of_b)] {
            for label in self.labels(to.0) {
                let closest = self.shared_bytes.entry((from.0, label)).or_default();
                *closest = shared_bytes.max(*closest);
            }
        }
    }

    /// Of each content and other label, the bytes of the content that its closest relative there has.
    pub(crate) fn finish(self) -> HashMap<(u32, u16), u64> {
        self.shared_bytes
    }

    /// The labels of a content's documents, but those that were planted.
    fn labels(&self, content: u32) -> impl Iterator<Item = u16> + use<'a> {
        let (subject, level) = (self.subject, self.level);
        subject.roots_of(content).map(|root| level.labels[usize::from(root)])
    }

    /// Bytes that labels have in common, if the engine counted this.
    pub(crate) fn covered(&self, counted: Option<&OverlapLevel>) -> LabelOverlap {
        let Some(counted) = counted else { return self.of_relatives() };
        let count = self.level.label_count;
        let cells = |bytes: &dyn Fn(u16, u16) -> u64| -> Vec<u64> {
            (0..count).flat_map(|a| (0..count).map(move |b| (a, b))).map(|(a, b)| bytes(a, b)).collect()
        };
        match self.coverage {
            Coverage::Chunks => {
                let mut covered = LabelOverlap {
                    shared_bytes: cells(&|a, b| counted.shared_bytes(a, b)),
                    template_bytes: cells(&|a, b| counted.template_bytes(a, b)),
                    shared_once_bytes: cells(&|a, b| counted.shared_once_bytes(a, b)),
                };
                // The engine does not count chunks that a document repeats, such as zeros, since they do not show that two
                // documents are related. If the other label has a copy of the whole document, it has these chunks too.
                self.add(&mut covered, |content, _, is_held| if is_held { content.repeated_bytes } else { 0 });
                covered
            }
            Coverage::Samples => {
                let totals = self.totals();
                let bytes = |a: u16, features| {
                    let (bytes, weight) = totals[usize::from(a)];
                    Fraction { part: features, whole: weight }.of_bytes(bytes)
                };
                LabelOverlap {
                    shared_bytes: cells(&|a, b| bytes(a, counted.shared_bytes(a, b))),
                    template_bytes: cells(&|_, _| 0),
                    shared_once_bytes: cells(&|a, b| bytes(a, counted.shared_once_bytes(a, b))),
                }
            }
            Coverage::Links => self.of_relatives(),
        }
    }

    /// Of each label, the bytes of the documents in which the method sees anything, and what their features weigh.
    fn totals(&self) -> Vec<(u64, u64)> {
        let mut totals = vec![(0_u64, 0_u64); usize::from(self.level.label_count)];
        for document in self.subject.frozen.documents.iter().filter(|document| !document.control) {
            let content = &self.subject.frozen.contents[document.content.0 as usize];
            if content.weight > 0 {
                let (bytes, weight) = &mut totals[usize::from(self.level.labels[usize::from(document.root)])];
                *bytes = bytes.saturating_add(content.size_bytes);
                *weight = weight.saturating_add(content.weight);
            }
        }
        totals
    }

    /// Of each document, all of it where another label holds a copy, else what its closest relative there has.
    fn of_relatives(&self) -> LabelOverlap {
        let count = usize::from(self.level.label_count);
        let none = || vec![0_u64; count * count];
        let mut covered = LabelOverlap { shared_bytes: none(), template_bytes: none(), shared_once_bytes: none() };
        self.add(
            &mut covered,
            |content, closest, is_held| {
                if is_held { content.size_bytes } else { closest.min(content.size_bytes) }
            },
        );
        covered
    }

    /// Adds bytes of each content to what its labels have in common with others: by what its closest relative under the other
    /// label has, and whether that holds a copy.
    fn add(&self, covered: &mut LabelOverlap, bytes: impl Fn(&FrozenContent, u64, bool) -> u64) {
        let count = usize::from(self.level.label_count);
        let mut copies = vec![0_u64; count];
        for (content, frozen) in (0u32..).zip(&self.subject.frozen.contents) {
            copies.fill(0);
            self.labels(content).for_each(|label| copies[usize::from(label)] += 1);
            for (own, own_copies) in copies.iter().enumerate().filter(|(_, copies)| **copies > 0) {
                for other in (0..self.level.label_count).filter(|other| usize::from(*other) != own) {
                    let closest = self.shared_bytes.get(&(content, other)).copied().unwrap_or(0);
                    let bytes = bytes(frozen, closest, copies[usize::from(other)] > 0);
                    let cell = own * count + usize::from(other);
                    let all = bytes.saturating_mul(*own_copies);
                    covered.shared_bytes[cell] = covered.shared_bytes[cell].saturating_add(all);
                    covered.shared_once_bytes[cell] = covered.shared_once_bytes[cell].saturating_add(bytes);
                }
            }
        }
    }
}
