//! The input of an analysis next to its postings, and its options.
//!
//! The engine knows neither sites nor parties: it sees *groups* that hold copies of contents, and *levels* that label
//! the groups. A level that gives each group a label of its own represents sites, one that labels by owner represents
//! parties.

use std::num::NonZeroUsize;
use std::path::Path;

use crate::error::Error;
use crate::posting::ContentIndex;
use crate::threshold::Thresholds;

/// Most contents of one analysis: half of what 32 bits number, because one bit marks a content's prefix.
pub const CONTENTS_MAX: u64 = (1 << 31) - 1;

/// A holder of copies, such as a site.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Group(pub u16);

/// The copies of a content that a group holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Holding {
    /// The holder.
    pub group: Group,
    /// Number of documents of this group that have this content.
    pub copies: u32,
}

/// The holders of every content, packed in content order.
#[derive(Clone, Debug)]
pub struct Holders {
    /// Start of each content's holdings, and the end.
    starts: Vec<usize>,
    holdings: Vec<Holding>,
}

impl Default for Holders {
    fn default() -> Holders {
        Holders { starts: vec![0], holdings: Vec::new() }
    }
}

impl Holders {
    /// Describes no content yet; contents follow through [`push`](Holders::push).
    pub fn new() -> Holders {
        Holders::default()
    }

    /// Adds the holders of the next content; a group may come several times.
    pub fn push(&mut self, holdings: impl IntoIterator<Item = Holding>) {
        self.holdings.extend(holdings);
        self.starts.push(self.holdings.len());
    }

    /// Number of contents described so far.
    pub fn contents(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of groups: one more than the largest that holds anything.
    pub(crate) fn groups(&self) -> usize {
        self.holdings.iter().map(|holding| usize::from(holding.group.0) + 1).max().unwrap_or(0)
    }

    /// The holders of a content.
    pub fn of(&self, content: ContentIndex) -> &[Holding] {
        &self.holdings[self.starts[content.at()]..self.starts[content.at() + 1]]
    }
}

/// A labelling of groups for which overlap is counted.
#[derive(Clone, Debug)]
pub struct Level {
    /// The label of each group, below `label_count`.
    pub labels: Vec<u16>,
    /// Number of labels. Overlap takes 24 bytes for each pair of labels and thread.
    pub label_count: u16,
}

/// Facts about the contents.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Per content its size less the bytes of its template chunks.
    pub payload_bytes: &'a [u64],
    /// Per content its holders and their copies; may be empty where neither levels nor `across` need it.
    pub holders: &'a Holders,
    /// The levels at which overlap is counted.
    pub levels: &'a [Level],
    /// If given, the label of each group: a link counts only when the holders of its two contents together have at
    /// least two labels.
    pub across: Option<&'a [u16]>,
}

/// Options of an analysis.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Thresholds of a link.
    pub thresholds: Thresholds,
    /// Working memory, next to the input itself, about 24 bytes per content and the result.
    pub memory_budget_bytes: u64,
    /// Threads that work at the same time.
    pub threads: NonZeroUsize,
    /// Folder for rows that do not fit the budget; the analysis makes a folder of its own in it, and removes it.
    pub spill_dir: &'a Path,
}

/// Refuses an input whose parts contradict each other, before anything is computed from it.
pub(crate) fn check(input: &Input<'_>) -> Result<(), Error> {
    let invalid = |detail| Err(Error::InvalidInput { detail });
    let contents = input.payload_bytes.len();
    if contents as u64 > CONTENTS_MAX {
        return Err(Error::TooMany { what: "contents", count: contents as u64, count_max: CONTENTS_MAX });
    }
    let needs_holders = !input.levels.is_empty() || input.across.is_some();
    if input.holders.contents() != contents && (needs_holders || input.holders.contents() > 0) {
        return invalid("holders and payloads describe different numbers of contents");
    }
    let groups = input.holders.groups();
    let labels = input.levels.iter().map(|level| level.labels.len());
    if labels.chain(input.across.map(<[u16]>::len)).any(|labels| labels < groups) {
        return invalid("a group has no label");
    }
    let beyond = |level: &Level| level.labels.iter().any(|&label| label >= level.label_count);
    if input.levels.iter().any(beyond) {
        return invalid("a label is beyond its level's count");
    }
    Ok(())
}

/// The one label under which a content is held, where there is exactly one.
///
/// Most contents are held under one label; with it, an analysis need not look up their holders at every posting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HolderLabel(u32);

impl HolderLabel {
    /// No group holds the content.
    pub(crate) const NONE: HolderLabel = HolderLabel(u32::MAX);
    /// Holders of several labels hold it.
    pub(crate) const SEVERAL: HolderLabel = HolderLabel(u32::MAX - 1);

    /// The label of every content under these labels of groups.
    pub(crate) fn of_all(holders: &Holders, labels: &[u16]) -> Vec<HolderLabel> {
        let windows = holders.starts.windows(2);
        let slices = windows.map(|ends| &holders.holdings[ends[0]..ends[1]]);
        slices.map(|holdings| HolderLabel::of(holdings, labels)).collect()
    }

    fn of(holdings: &[Holding], labels_of_groups: &[u16]) -> HolderLabel {
        let held = holdings.iter().filter(|holding| holding.copies > 0);
        let mut labels = held.map(|h| HolderLabel(u32::from(labels_of_groups[usize::from(h.group.0)])));
        let Some(first) = labels.next() else {
            return HolderLabel::NONE;
        };
        if labels.all(|label| label == first) { first } else { HolderLabel::SEVERAL }
    }

    /// The label, if it is one.
    pub(crate) fn single(self) -> Option<usize> {
        let is_one = self != HolderLabel::NONE && self != HolderLabel::SEVERAL;
        is_one.then_some(self.0 as usize)
    }

    /// True if the holders of two contents together have at least two labels.
    pub(crate) fn is_across(self, other: HolderLabel) -> bool {
        match (self, other) {
            (HolderLabel::SEVERAL, _) | (_, HolderLabel::SEVERAL) => true,
            (HolderLabel::NONE, _) | (_, HolderLabel::NONE) => false,
            _ => self != other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holders(lists: &[&[(u16, u32)]]) -> Holders {
        let mut holders = Holders::new();
        for list in lists {
            holders.push(list.iter().map(|&(group, copies)| Holding { group: Group(group), copies }));
        }
        holders
    }

    #[test]
    fn holders_are_read_back_by_content() {
        let holders = holders(&[&[(0, 1), (1, 2)], &[], &[(7, 3)]]);
        assert_eq!(holders.contents(), 3);
        let of = |content| holders.of(ContentIndex(content)).iter().map(|h| (h.group.0, h.copies)).collect::<Vec<_>>();
        assert_eq!([of(0), of(1), of(2)], [vec![(0, 1), (1, 2)], vec![], vec![(7, 3)]]);
    }

    #[test]
    fn the_label_of_a_content_is_the_one_of_all_its_holders() {
        let labels = [5, 5, 6];
        for (list, expected) in [
            (&[][..], HolderLabel::NONE),
            (&[(0, 0)], HolderLabel::NONE),
            (&[(0, 1)], HolderLabel(5)),
            (&[(0, 1), (1, 4)], HolderLabel(5)),
            (&[(0, 1), (2, 0)], HolderLabel(5)),
            (&[(0, 1), (2, 1)], HolderLabel::SEVERAL),
            (&[(0, 0), (2, 9)], HolderLabel(6)),
        ] {
            assert_eq!(HolderLabel::of_all(&holders(&[list]), &labels), [expected], "{list:?}");
        }
    }

    #[test]
    fn two_contents_are_across_when_their_holders_have_two_labels() {
        let (none, several, five, six) = (HolderLabel::NONE, HolderLabel::SEVERAL, HolderLabel(5), HolderLabel(6));
        for (a, b, is_across) in [
            (five, six, true),
            (five, five, false),
            (none, five, false),
            (none, none, false),
            (several, several, true),
            (several, five, true),
            (several, none, true),
        ] {
            assert_eq!(a.is_across(b), is_across, "{a:?} {b:?}");
            assert_eq!(b.is_across(a), is_across, "{b:?} {a:?}");
        }
    }

    #[test]
    fn contradictions_are_refused_and_their_absence_is_not() {
        let level = |labels: &[u16], label_count| Level { labels: labels.to_vec(), label_count };
        let none = holders(&[]);
        let two = holders(&[&[(0, 1)], &[(1, 1)]]);
        for (payloads, holders, levels, across, refused) in [
            (2, &none, vec![], None, None),
            (2, &two, vec![], None, None),
            (2, &two, vec![level(&[0, 0], 1)], Some(&[0, 1][..]), None),
            (3, &two, vec![], None, Some("different numbers of contents")),
            (2, &none, vec![level(&[0], 1)], None, Some("different numbers of contents")),
            (2, &none, vec![], Some(&[0][..]), Some("different numbers of contents")),
            (2, &two, vec![level(&[0], 1)], None, Some("a group has no label")),
            (2, &two, vec![], Some(&[0][..]), Some("a group has no label")),
            (2, &two, vec![level(&[0, 2], 2)], None, Some("a label is beyond its level's count")),
            (0, &none, vec![level(&[], 0)], Some(&[][..]), None),
        ] {
            let payload_bytes = vec![1; payloads];
            let input = Input { payload_bytes: &payload_bytes, holders, levels: &levels, across };
            let checked = check(&input).map_err(|error| error.to_string());
            match refused {
                None => assert_eq!(checked, Ok(())),
                Some(detail) => assert!(checked.as_ref().is_err_and(|error| error.contains(detail)), "{checked:?}"),
            }
        }
    }

    #[test]
    fn the_last_group_and_the_last_label_are_like_any_other() {
        let one = holders(&[&[(u16::MAX, 1)], &[(0, 1)], &[(0, 0), (u16::MAX, 1)]]);
        assert_eq!((one.groups(), holders(&[&[], &[]]).groups()), (1 << 16, 0));
        let labels: Vec<u16> = (0..=u16::MAX).collect();
        let found = HolderLabel::of_all(&one, &labels);
        let singles: Vec<_> = found.iter().map(|label| label.single()).collect();
        assert_eq!(singles, [Some(usize::from(u16::MAX)), Some(0), Some(usize::from(u16::MAX))]);
        assert!(found[0].is_across(found[1]) && !found[0].is_across(found[2]));
        assert_eq!([HolderLabel::NONE, HolderLabel::SEVERAL].map(HolderLabel::single), [None, None]);
        // A label for every group but the last.
        let input = Input { payload_bytes: &[1; 3], holders: &one, levels: &[], across: Some(&labels[1..]) };
        assert!(check(&input).unwrap_err().to_string().contains("a group has no label"));
        assert!(check(&Input { across: Some(&labels), ..input }).is_ok());
    }
}
