//! Under which labels (sites or parties) something of each content is: held there, or linked with what is held there; and under which there is
//! standard text of it. A bit for each label.

use cognate_similarity::{Level, Link, OmittedOf};

use crate::subject::Subject;

/// The labels that each content reaches.
pub(crate) struct LabelReach {
    words: usize,
    reached: Vec<u64>,
    standard_text: Vec<u64>,
}

impl LabelReach {
    /// True if something of a content is held under a label: a copy, or what it is linked with.
    pub(crate) fn is_at(&self, content: usize, label: u16) -> bool {
        self.has_bit(&self.reached, content, label)
    }

    /// True if a content shares standard text with one that is held under a label.
    pub(crate) fn has_standard_text_at(&self, content: usize, label: u16) -> bool {
        self.has_bit(&self.standard_text, content, label)
    }

    fn has_bit(&self, bits: &[u64], content: usize, label: u16) -> bool {
        bits[content * self.words + usize::from(label) / 64] >> (label % 64) & 1 == 1
    }
}

/// The same while links are read.
pub(crate) struct ReachSoFar<'a> {
    level: &'a Level,
    words: usize,
    held: Vec<u64>,
    linked: Vec<u64>,
    standard_text: Vec<u64>,
}

impl<'a> ReachSoFar<'a> {
    /// Nothing where there is but one label.
    pub(crate) fn new(subject: &Subject<'_>, level: &'a Level) -> Option<ReachSoFar<'a>> {
        if level.label_count < 2 {
            return None;
        }
        let words = usize::from(level.label_count).div_ceil(64);
        let mut held = vec![0; words * subject.frozen.contents.len()];
        // Controls are documents that people planted: nothing is there because of them.
        for document in subject.frozen.documents.iter().filter(|document| !document.control) {
            let label = usize::from(level.labels[usize::from(document.root)]);
            held[document.content.0 as usize * words + label / 64] |= 1 << (label % 64);
        }
        let none = || vec![0; held.len()];
        Some(ReachSoFar { level, words, linked: none(), standard_text: none(), held })
    }

    pub(crate) fn link(&mut self, link: &Link, rests_on_frame: bool) {
        let reached = if rests_on_frame { &mut self.standard_text } else { &mut self.linked };
        for (from, to) in [(link.a, link.b), (link.b, link.a)] {
            let (from, to) = (from.0 as usize * self.words, to.0 as usize * self.words);
            for word in 0..self.words {
                reached[from + word] |= self.held[to + word];
            }
        }
    }

    /// Takes in the holders of what a content is linked with by links that are not reported. They are like those that are: if all of these
    /// rest on frames, so do the others.
    pub(crate) fn omitted(&mut self, one: &OmittedOf) {
        let from = one.content.0 as usize * self.words;
        let has_any = |reached: &[u64]| reached[from..from + self.words].iter().any(|word| *word > 0);
        let rests = has_any(&self.standard_text) && !has_any(&self.linked);
        let reached = if rests { &mut self.standard_text } else { &mut self.linked };
        // Control documents belong to groups of their own, which follow those of the roots.
        for (label, _) in self.level.labels.iter().zip(0..).filter(|(_, root)| one.reaches(*root)) {
            let label = usize::from(*label);
            reached[from + label / 64] |= 1 << (label % 64);
        }
    }

    pub(crate) fn finish(self) -> LabelReach {
        let mut reached = self.linked;
        reached.iter_mut().zip(self.held).for_each(|(reached, held)| *reached |= held);
        LabelReach { words: self.words, reached, standard_text: self.standard_text }
    }
}
