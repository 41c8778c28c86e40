//! Why it is not decided that a content has nothing in common with others: something that could have shown the contrary was not measured.

use crate::subject::Subject;

/// The reason, the first that applies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum UndecidedReason {
    /// It is too short for the method, or nothing but template.
    NotCompared,
    /// The text that speaks for the document could not be read.
    TextNotRead,
    /// The scan compares by whole chunks, or by estimates.
    NotMeasured,
    /// A site that holds one of a pair gave no fine chunks.
    SiteGaveNone,
    /// Some chunk of a pair could not be cut again: a document has changed.
    Incomplete,
    /// A bound left a pair out.
    Cut,
    /// A pair was measured below the threshold, and by no more than fine chunks can miss.
    Close,
}

/// Per content, the reason why some pair of it was not measured to the end.
pub(crate) struct UndecidedContents<'a> {
    subject: &'a Subject<'a>,
    reasons: Vec<Option<UndecidedReason>>,
}

impl<'a> UndecidedContents<'a> {
    /// None yet.
    pub(crate) fn new(subject: &'a Subject<'a>) -> UndecidedContents<'a> {
        UndecidedContents { subject, reasons: vec![None; subject.frozen.contents.len()] }
    }

    /// Takes in a pair that was not measured to the end. One whose documents are all at one place says nothing of other places, unless there
    /// is no other.
    pub(crate) fn pair(&mut self, [a, b]: [u32; 2], reason: UndecidedReason) {
        let has_places = self.subject.labels().windows(2).any(|two| two[0] != two[1]);
        if has_places && !self.subject.is_across([a, b]) {
            return;
        }
        for content in [a, b] {
            let known = &mut self.reasons[content as usize];
            *known = Some(known.map_or(reason, |known| known.min(reason)));
        }
    }

    /// Takes in contents that have no place left for what may be their relatives.
    pub(crate) fn crowded(&mut self, contents: &[u32]) {
        for content in contents {
            let known = &mut self.reasons[*content as usize];
            *known = Some(known.map_or(UndecidedReason::Cut, |known| known.min(UndecidedReason::Cut)));
        }
    }

    /// Takes in pairs that a bound left out.
    pub(crate) fn cut(&mut self, pairs: impl IntoIterator<Item = (u32, u32)>) {
        pairs.into_iter().for_each(|(a, b)| self.pair([a, b], UndecidedReason::Cut));
    }

    pub(crate) fn finish(self) -> Vec<Option<UndecidedReason>> {
        self.reasons
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{Tree, frozen};

    /// Trees of contents 0 and up; the reasons after these pairs.
    fn check(trees: &[&[u32]], pairs: &[([u32; 2], UndecidedReason)], expected: &[Option<UndecidedReason>]) {
        let tree = |contents: &&[u32]| contents.iter().map(|content| (content.to_string(), *content)).collect();
        let trees: Vec<Tree> = trees.iter().map(tree).collect();
        let frozen = frozen(&trees.iter().collect::<Vec<_>>());
        let subject = Subject::of(&frozen, false);
        let mut undecided = UndecidedContents::new(&subject);
        pairs.iter().for_each(|(pair, reason)| undecided.pair(*pair, *reason));
        assert_eq!(undecided.finish(), expected);
    }

    #[test]
    fn a_pair_at_one_place_decides_nothing_of_others() {
        let (gave_none, cut) = (Some(UndecidedReason::SiteGaveNone), Some(UndecidedReason::Cut));
        let pairs = [([0, 1], UndecidedReason::Cut), ([1, 2], UndecidedReason::SiteGaveNone)];
        check(&[&[0, 1], &[2]], &pairs, &[None, gave_none, gave_none]);
        check(&[&[0, 1, 2]], &pairs, &[cut, gave_none, gave_none]);
        check(&[&[0, 1], &[1]], &pairs[..1], &[cut, cut]);
    }

    #[test]
    fn the_first_reason_that_applies_is_given() {
        let pairs = [([0, 2], UndecidedReason::Close), ([0, 2], UndecidedReason::Incomplete)];
        check(&[&[0, 1], &[2]], &pairs, &[Some(UndecidedReason::Incomplete), None, Some(UndecidedReason::Incomplete)]);
    }
}
