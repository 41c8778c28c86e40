//! Overlap of labels: how many bytes of one occur at the other, every copy counted.
//!
//! This is coverage, counted tag by tag, and never a sum over links: a chunk that ten documents share is counted once
//! per occurrence at each side.

use crate::input::{Holders, Home, Input, Level};
use crate::posting::ContentIndex;

/// What the labels of one level have in common.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OverlapLevel {
    label_count: u16,
    shared_bytes: Vec<u64>,
    template_bytes: Vec<u64>,
    shared_once_bytes: Vec<u64>,
}

/// What a label has of a tag.
#[derive(Clone, Copy, Default)]
pub(crate) struct Held {
    /// In all copies.
    pub(crate) bytes: u64,
    /// In each content once.
    pub(crate) once_bytes: u64,
}

impl OverlapLevel {
    /// Nothing in common yet.
    pub(crate) fn new(label_count: u16) -> OverlapLevel {
        let cells = usize::from(label_count) * usize::from(label_count);
        let none = || vec![0; cells];
        OverlapLevel { label_count, shared_bytes: none(), template_bytes: none(), shared_once_bytes: none() }
    }

    /// How many labels the level has.
    pub fn label_count(&self) -> u16 {
        self.label_count
    }

    /// Bytes of a's chunk occurrences whose tag occurs at b, templates apart; 0 where a is b.
    pub fn shared_bytes(&self, a: u16, b: u16) -> u64 {
        self.shared_bytes[self.cell(a, b)]
    }

    /// Bytes of a's template occurrences whose tag occurs at b; 0 where a is b.
    pub fn template_bytes(&self, a: u16, b: u16) -> u64 {
        self.template_bytes[self.cell(a, b)]
    }

    /// As [`shared_bytes`](OverlapLevel::shared_bytes), with each of a's contents counted once, however many copies.
    pub fn shared_once_bytes(&self, a: u16, b: u16) -> u64 {
        self.shared_once_bytes[self.cell(a, b)]
    }

    /// Counts what a has that occurs at b.
    pub(crate) fn add(&mut self, a: u16, b: u16, template: bool, held: Held) {
        let cell = self.cell(a, b);
        let add = |matrix: &mut Vec<u64>, bytes: u64| matrix[cell] = matrix[cell].saturating_add(bytes);
        if template {
            add(&mut self.template_bytes, held.bytes);
        } else {
            add(&mut self.shared_bytes, held.bytes);
            add(&mut self.shared_once_bytes, held.once_bytes);
        }
    }

    /// Bytes that are no template's, bytes that are, and the first with each content once, for each pair of labels.
    pub(crate) fn matrices(&self) -> [&[u64]; 3] {
        [&self.shared_bytes, &self.template_bytes, &self.shared_once_bytes]
    }

    pub(crate) fn matrices_mut(&mut self) -> [&mut [u64]; 3] {
        [&mut self.shared_bytes, &mut self.template_bytes, &mut self.shared_once_bytes]
    }

    fn absorb(&mut self, other: &OverlapLevel) {
        for (mine, theirs) in self.matrices_mut().into_iter().zip(other.matrices()) {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                *mine = mine.saturating_add(*theirs);
            }
        }
    }

    fn cell(&self, a: u16, b: u16) -> usize {
        assert!(a < self.label_count && b < self.label_count, "labels are below their count");
        usize::from(a) * usize::from(self.label_count) + usize::from(b)
    }
}

/// A content that holds a tag, and how often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Occurrence {
    pub(crate) content: ContentIndex,
    pub(crate) count: u32,
}

/// What all threads need to know of the levels.
pub(crate) struct Labels<'a> {
    holders: &'a Holders,
    levels: &'a [Level],
    homes: Vec<Vec<Home>>,
}

impl<'a> Labels<'a> {
    pub(crate) fn new(input: &Input<'a>) -> Labels<'a> {
        let homes = input.levels.iter();
        Labels {
            holders: input.holders,
            levels: input.levels,
            homes: homes.map(|level| Home::of_all(input.holders, &level.labels)).collect(),
        }
    }
}

/// One thread's count of overlap.
pub(crate) struct Tally<'a> {
    labels: &'a Labels<'a>,
    counted: Vec<OverlapLevel>,
    /// What each label has of the tag at hand; only those in `touched` have anything.
    held: Vec<Held>,
    /// For each label in `touched`, the last of the tag's occurrences that was counted under it.
    last: Vec<Option<usize>>,
    touched: Vec<u16>,
}

impl<'a> Tally<'a> {
    pub(crate) fn new(labels: &'a Labels<'a>) -> Tally<'a> {
        let counts = labels.levels.iter().map(|level| level.label_count);
        let widest = usize::from(counts.clone().max().unwrap_or(0));
        Tally {
            labels,
            counted: counts.map(OverlapLevel::new).collect(),
            held: vec![Held::default(); widest],
            last: vec![None; widest],
            touched: Vec::new(),
        }
    }

    /// Counts a tag by all its occurrences.
    #[inline]
    pub(crate) fn count(&mut self, length_bytes: u32, template: bool, group: &[Occurrence]) {
        for level in 0..self.counted.len() {
            let homes = &self.labels.homes[level];
            let first = homes[group[0].content.at()];
            let stays_home =
                first != Home::SEVERAL && group[1..].iter().all(|other| homes[other.content.at()] == first);
            if !stays_home {
                self.count_at(level, length_bytes, template, group);
            }
        }
    }

    fn count_at(&mut self, level: usize, length_bytes: u32, template: bool, group: &[Occurrence]) {
        let labels = &self.labels.levels[level].labels;
        for (number, occurrence) in group.iter().enumerate() {
            let once_bytes = u64::from(length_bytes) * u64::from(occurrence.count);
            for holding in self.labels.holders.of(occurrence.content) {
                let label = labels[usize::from(holding.group.0)];
                let at = usize::from(label);
                if holding.copies == 0 {
                    continue;
                }
                let held = &mut self.held[at];
                match self.last[at].replace(number) {
                    None => {
                        self.touched.push(label);
                        held.once_bytes = once_bytes;
                    }
                    // Two groups of one label hold the same content.
                    Some(last) if last == number => {}
                    Some(_) => held.once_bytes = held.once_bytes.saturating_add(once_bytes),
                }
                held.bytes = held.bytes.saturating_add(once_bytes.saturating_mul(u64::from(holding.copies)));
            }
        }
        for &a in &self.touched {
            for &b in self.touched.iter().filter(|&&b| b != a) {
                self.counted[level].add(a, b, template, self.held[usize::from(a)]);
            }
        }
        for label in self.touched.drain(..) {
            self.held[usize::from(label)] = Held::default();
            self.last[usize::from(label)] = None;
        }
    }

    /// Adds up what the threads counted.
    pub(crate) fn total<'t>(labels: &Labels<'_>, tallies: impl Iterator<Item = &'t Tally<'t>>) -> Vec<OverlapLevel>
    where
        'a: 't,
    {
        let counts = labels.levels.iter().map(|level| level.label_count);
        let mut total: Vec<_> = counts.map(OverlapLevel::new).collect();
        for tally in tallies {
            for (sum, part) in total.iter_mut().zip(&tally.counted) {
                sum.absorb(part);
            }
        }
        total
    }
}
