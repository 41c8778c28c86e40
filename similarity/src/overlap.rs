//! Overlap of labels: how many bytes of one occur at the other, every copy counted.
//!
//! This is coverage, counted tag by tag, and never a sum over links: a chunk that ten documents share is counted once
//! per occurrence under each label.

use foldhash::HashMap;

use crate::input::{HolderLabel, Holders, Holding, Input, Level};
use crate::posting::ContentIndex;

/// A tag of a content with at most this number of holders is counted at once: its pairs of labels are few.
const HOLDERS_FEW: usize = if cfg!(test) { 2 } else { 16 };
/// Contents for which a thread adds bytes up before it counts them: a table of two megabytes, filled as far as it may be, and while they are
/// counted up to six more.
const ALONE_MAX: usize = if cfg!(test) { 3 } else { (1 << 17) / 8 * 7 };

/// The bytes that the labels of one level have in common.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OverlapLevel {
    label_count: u16,
    shared_bytes: Vec<u64>,
    template_bytes: Vec<u64>,
    shared_once_bytes: Vec<u64>,
}

/// The bytes of a tag under a label.
#[derive(Clone, Copy, Default)]
pub(crate) struct LabelBytes {
    /// In all copies.
    pub(crate) bytes: u64,
    /// In each content once.
    pub(crate) once_bytes: u64,
}

impl OverlapLevel {
    /// Labels that have nothing in common yet.
    pub fn new(label_count: u16) -> OverlapLevel {
        let cells = usize::from(label_count) * usize::from(label_count);
        let none = || vec![0; cells];
        OverlapLevel { label_count, shared_bytes: none(), template_bytes: none(), shared_once_bytes: none() }
    }

    /// The bytes of a level with `label_count` labels.
    pub(crate) fn bytes(label_count: u16) -> u64 {
        3 * size_of::<u64>() as u64 * u64::from(label_count) * u64::from(label_count)
    }

    /// Number of labels of the level.
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

    /// Adds bytes of a that b has as well, in all copies and in each content once.
    pub fn add_shared(&mut self, a: u16, b: u16, bytes: u64, once_bytes: u64) {
        self.add(a, b, false, LabelBytes { bytes, once_bytes });
    }

    /// Adds bytes of templates of a that b has as well.
    pub fn add_template(&mut self, a: u16, b: u16, bytes: u64) {
        self.add(a, b, true, LabelBytes { bytes, once_bytes: 0 });
    }

    /// Counts bytes of a that b has as well as bytes of templates, which were counted as others.
    pub fn move_to_template(&mut self, a: u16, b: u16, bytes: u64, once_bytes: u64) {
        let cell = self.cell(a, b);
        self.shared_bytes[cell] = self.shared_bytes[cell].saturating_sub(bytes);
        self.shared_once_bytes[cell] = self.shared_once_bytes[cell].saturating_sub(once_bytes);
        self.add_template(a, b, bytes);
    }

    /// Counts bytes of a that occur at b.
    pub(crate) fn add(&mut self, a: u16, b: u16, template: bool, label_bytes: LabelBytes) {
        let cell = self.cell(a, b);
        let add = |matrix: &mut Vec<u64>, bytes: u64| matrix[cell] = matrix[cell].saturating_add(bytes);
        if template {
            add(&mut self.template_bytes, label_bytes.bytes);
        } else {
            add(&mut self.shared_bytes, label_bytes.bytes);
            add(&mut self.shared_once_bytes, label_bytes.once_bytes);
        }
    }

    /// For each pair of labels: bytes outside of templates, bytes of templates, and the first with each content once.
    pub(crate) fn matrices(&self) -> [&[u64]; 3] {
        [&self.shared_bytes, &self.template_bytes, &self.shared_once_bytes]
    }

    pub(crate) fn matrices_mut(&mut self) -> [&mut [u64]; 3] {
        [&mut self.shared_bytes, &mut self.template_bytes, &mut self.shared_once_bytes]
    }

    /// Adds everything that another count of the same labels has.
    pub fn absorb(&mut self, other: &OverlapLevel) {
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

/// A content that holds a tag, and the number of times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Occurrence {
    pub(crate) content: ContentIndex,
    pub(crate) count: u32,
}

/// The levels and holders, shared by all threads.
pub(crate) struct Labels<'a> {
    holders: &'a Holders,
    levels: &'a [Level],
    holder_labels: Vec<Vec<HolderLabel>>,
}

impl<'a> Labels<'a> {
    pub(crate) fn new(input: &Input<'a>) -> Labels<'a> {
        let holder_labels = input.levels.iter();
        Labels {
            holders: input.holders,
            levels: input.levels,
            holder_labels: holder_labels.map(|level| HolderLabel::of_all(input.holders, &level.labels)).collect(),
        }
    }

    /// True if a content is held under several labels of any level.
    fn has_several(&self, content: ContentIndex) -> bool {
        self.holder_labels.iter().any(|labels| labels[content.at()] == HolderLabel::SEVERAL)
    }
}

/// One thread's count of overlap.
///
/// Each tag adds to every pair of its labels, whose number grows with the square of the holders. If a single content with many holders has it, its bytes are
/// added up first, content by content and then for each set of holders, which many contents have: each set adds to its pairs once.
pub(crate) struct Tally<'a> {
    labels: &'a Labels<'a>,
    counted: Vec<OverlapLevel>,
    /// Bytes of the present tag under each label; zero except for those in `active`.
    bytes_of: Vec<LabelBytes>,
    /// For each label in `active`, the last of the tag's occurrences that was counted under it.
    last: Vec<Option<usize>>,
    active: Vec<u16>,
    /// Of contents with many holders, the bytes of tags that no other content has, in and outside of templates.
    alone: HashMap<(ContentIndex, bool), u64>,
}

impl<'a> Tally<'a> {
    pub(crate) fn new(labels: &'a Labels<'a>) -> Tally<'a> {
        let counts = labels.levels.iter().map(|level| level.label_count);
        let widest = usize::from(counts.clone().max().unwrap_or(0));
        Tally {
            labels,
            counted: counts.map(OverlapLevel::new).collect(),
            bytes_of: vec![LabelBytes::default(); widest],
            last: vec![None; widest],
            active: Vec::new(),
            alone: HashMap::default(),
        }
    }

    /// Counts a tag by all its occurrences.
    #[inline]
    pub(crate) fn count(&mut self, length_bytes: u32, template: bool, group: &[Occurrence]) {
        let bytes = |occurrence: &Occurrence| u64::from(length_bytes) * u64::from(occurrence.count);
        if let [one] = group
            && self.labels.has_several(one.content)
            && self.labels.holders.of(one.content).len() > HOLDERS_FEW
        {
            let sum = self.alone.entry((one.content, template)).or_default();
            *sum = sum.saturating_add(bytes(one));
            if self.alone.len() >= ALONE_MAX {
                self.count_alone();
            }
            return;
        }
        for level in 0..self.counted.len() {
            let holder_labels = &self.labels.holder_labels[level];
            let first = holder_labels[group[0].content.at()];
            let has_one_label = first != HolderLabel::SEVERAL
                && group[1..].iter().all(|other| holder_labels[other.content.at()] == first);
            if !has_one_label {
                let holders = self.labels.holders;
                self.count_at(level, template, group.iter().map(|one| (bytes(one), holders.of(one.content))));
            }
        }
    }

    /// Counts what was added up for single contents.
    fn count_alone(&mut self) {
        let holders = self.labels.holders;
        let mut of_holders: HashMap<(&[Holding], bool), u64> = HashMap::default();
        for ((content, template), bytes) in self.alone.drain() {
            let sum = of_holders.entry((holders.of(content), template)).or_default();
            *sum = sum.saturating_add(bytes);
        }
        for ((holdings, template), bytes) in of_holders {
            for level in 0..self.counted.len() {
                self.count_at(level, template, std::iter::once((bytes, holdings)));
            }
        }
    }

    /// Counts bytes that contents have in common, each with its holders.
    fn count_at<'h>(&mut self, level: usize, template: bool, contents: impl Iterator<Item = (u64, &'h [Holding])>) {
        let labels = &self.labels.levels[level].labels;
        for (number, (once_bytes, holdings)) in contents.enumerate() {
            for holding in holdings {
                let label = labels[usize::from(holding.group.0)];
                let at = usize::from(label);
                if holding.copies == 0 {
                    continue;
                }
                let label_bytes = &mut self.bytes_of[at];
                match self.last[at].replace(number) {
                    None => {
                        self.active.push(label);
                        label_bytes.once_bytes = once_bytes;
                    }
                    // Two groups of one label hold the same content.
                    Some(last) if last == number => {}
                    Some(_) => label_bytes.once_bytes = label_bytes.once_bytes.saturating_add(once_bytes),
                }
                label_bytes.bytes =
                    label_bytes.bytes.saturating_add(once_bytes.saturating_mul(u64::from(holding.copies)));
            }
        }
        for &a in &self.active {
            for &b in self.active.iter().filter(|&&b| b != a) {
                self.counted[level].add(a, b, template, self.bytes_of[usize::from(a)]);
            }
        }
        for label in self.active.drain(..) {
            self.bytes_of[usize::from(label)] = LabelBytes::default();
            self.last[usize::from(label)] = None;
        }
    }

    /// Adds up the counts of the threads.
    pub(crate) fn total(labels: &Labels<'_>, mut tallies: Vec<&mut Tally<'_>>) -> Vec<OverlapLevel> {
        std::thread::scope(|scope| {
            for tally in tallies.iter_mut().filter(|tally| !tally.alone.is_empty()) {
                scope.spawn(|| tally.count_alone());
            }
        });
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::input::{Group, Holding};

    fn input<'a>(holders: &'a Holders, levels: &'a [Level]) -> Input<'a> {
        Input { payload_bytes: &[0; 3], holders, levels, across: None }
    }

    /// Content 0 at group 0, content 1 twice at group 1, content 2 at both.
    fn three_contents() -> Holders {
        let mut holders = Holders::new();
        let holding = |group, copies| Holding { group: Group(group), copies };
        holders.push([holding(0, 1)]);
        holders.push([holding(1, 2)]);
        holders.push([holding(0, 1), holding(1, 3)]);
        holders
    }

    /// Shared, template and once-counted bytes of both directions after one tag.
    fn counted(template: bool, occurrences: &[(u32, u32)]) -> [(u64, u64, u64); 2] {
        let holders = three_contents();
        let levels = [Level { labels: vec![0, 1], label_count: 2 }];
        let labels = Labels::new(&input(&holders, &levels));
        let mut tally = Tally::new(&labels);
        let occurrence = |&(content, count): &(u32, u32)| Occurrence { content: ContentIndex(content), count };
        tally.count(10, template, &occurrences.iter().map(occurrence).collect::<Vec<_>>());
        let total = Tally::total(&labels, vec![&mut tally]);
        let of = |a, b| (total[0].shared_bytes(a, b), total[0].template_bytes(a, b), total[0].shared_once_bytes(a, b));
        assert_eq!((of(0, 0), of(1, 1)), ((0, 0, 0), (0, 0, 0)));
        [of(0, 1), of(1, 0)]
    }

    #[test]
    fn every_copy_of_an_occurrence_counts_and_once_each_content() {
        for (occurrences, expected) in [
            (&[(0, 1)][..], [(0, 0, 0), (0, 0, 0)]),
            (&[(0, 1), (1, 1)], [(10, 0, 10), (20, 0, 10)]),
            (&[(0, 3), (1, 1)], [(30, 0, 30), (20, 0, 10)]),
            // One content at both labels shares with itself.
            (&[(2, 1)], [(10, 0, 10), (30, 0, 10)]),
            (&[(0, 1), (1, 2), (2, 1)], [(20, 0, 20), (70, 0, 30)]),
        ] {
            assert_eq!(counted(false, occurrences), expected, "{occurrences:?}");
        }
        assert_eq!(counted(true, &[(0, 1), (1, 1)]), [(0, 10, 0), (0, 20, 0)]);
    }

    #[test]
    fn two_groups_of_one_label_hold_a_content_once() {
        let mut holders = Holders::new();
        holders.push([Holding { group: Group(0), copies: 1 }, Holding { group: Group(1), copies: 1 }]);
        holders.push([Holding { group: Group(2), copies: 1 }]);
        holders.push([]);
        let levels = [Level { labels: vec![0, 0, 1], label_count: 2 }];
        let labels = Labels::new(&input(&holders, &levels));
        let mut tally = Tally::new(&labels);
        let occurrence = |content| Occurrence { content: ContentIndex(content), count: 1 };
        tally.count(10, false, &[occurrence(0), occurrence(1), occurrence(2)]);
        let total = Tally::total(&labels, vec![&mut tally]);
        assert_eq!((total[0].shared_bytes(0, 1), total[0].shared_once_bytes(0, 1)), (20, 10));
        assert_eq!((total[0].shared_bytes(1, 0), total[0].shared_once_bytes(1, 0)), (10, 10));
    }

    proptest! {
        #[test]
        fn tags_of_single_contents_count_as_if_each_were_counted_at_once(
            holdings in prop::collection::vec(prop::collection::vec((0..4_u16, 0..3_u32), 0..4), 6),
            tags in prop::collection::vec((1..9_u32, any::<bool>(), prop::collection::btree_map(0..6_u32, 1..4_u32, 1..3)), 0..30),
        ) {
            let mut holders = Holders::new();
            for of_content in &holdings {
                holders.push(of_content.iter().map(|(group, copies)| Holding { group: Group(*group), copies: *copies }));
            }
            let levels = [Level { labels: vec![0, 1, 2, 3], label_count: 4 }, Level { labels: vec![0, 0, 1, 1], label_count: 2 }];
            let labels = Labels::new(&Input { payload_bytes: &[0; 6], ..input(&holders, &levels) });
            let mut tallies = [Tally::new(&labels), Tally::new(&labels)];
            let mut expected = levels.each_ref().map(|level| OverlapLevel::new(level.label_count));
            for (number, (length_bytes, template, group)) in tags.iter().enumerate() {
                let group: Vec<Occurrence> =
                    group.iter().map(|(content, count)| Occurrence { content: ContentIndex(*content), count: *count }).collect();
                tallies[number % 2].count(*length_bytes, *template, &group);
                for (level, expected) in levels.iter().zip(&mut expected) {
                    let under = |label: u16| {
                        let mut sums = LabelBytes::default();
                        for Occurrence { content, count } in &group {
                            let once = u64::from(length_bytes * count);
                            let copies = |holding: &Holding| {
                                u64::from(holding.copies) * u64::from(level.labels[usize::from(holding.group.0)] == label)
                            };
                            let copies: u64 = holders.of(*content).iter().map(copies).sum();
                            sums.bytes += once * copies;
                            sums.once_bytes += once * copies.min(1);
                        }
                        sums
                    };
                    for a in 0..level.label_count {
                        for b in (0..level.label_count).filter(|b| *b != a && under(*b).bytes > 0 && under(a).bytes > 0) {
                            expected.add(a, b, *template, under(a));
                        }
                    }
                }
            }
            prop_assert_eq!(Tally::total(&labels, tallies.iter_mut().collect()), expected.to_vec());
        }
    }

    #[test]
    fn sums_stop_at_the_largest_number() {
        let mut level = OverlapLevel::new(2);
        let most = LabelBytes { bytes: u64::MAX, once_bytes: u64::MAX - 1 };
        level.add(0, 1, false, most);
        level.add(0, 1, false, LabelBytes { bytes: 5, once_bytes: 5 });
        let mut other = OverlapLevel::new(2);
        other.add(0, 1, true, most);
        level.absorb(&other);
        level.absorb(&other);
        let found = (level.shared_bytes(0, 1), level.template_bytes(0, 1), level.shared_once_bytes(0, 1));
        assert_eq!(found, (u64::MAX, u64::MAX, u64::MAX));
    }

    #[test]
    fn bytes_of_templates_are_moved_out_of_what_is_shared() {
        let mut level = OverlapLevel::new(2);
        level.add_shared(0, 1, 100, 50);
        level.move_to_template(0, 1, 30, 15);
        level.add_template(0, 1, 4);
        let found = (level.shared_bytes(0, 1), level.template_bytes(0, 1), level.shared_once_bytes(0, 1));
        assert_eq!(found, (70, 34, 35));
    }

    #[test]
    #[should_panic(expected = "labels are below their count")]
    fn a_label_beyond_the_count_is_a_mistake_of_the_caller() {
        OverlapLevel::new(2).shared_bytes(1, 2);
    }
}
