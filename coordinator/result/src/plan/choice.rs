//! Which copies of a group stay: the decision itself, of documents that are read from a report or unpacked for a preview.

use std::cell::Cell;
use std::cmp::Ordering;

use super::placed::Placed;
use super::rule::Rule;
use super::said::{Bearing, Word};
use super::{Keep, Left, Why};

/// The effect of all verdicts on a group as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OnAll {
    /// The rules decide.
    Open,
    /// It is left out, because of this verdict.
    Apart(&'static str),
    /// The verdicts do not go together, or do not hold any more: somebody must decide.
    Unclear,
}

/// The decision about a group.
pub(crate) struct Choice<'k> {
    /// Why nothing of it goes, if nothing does.
    pub(crate) left: Option<Left>,
    /// Why each document stays; `None`: it goes.
    pub(crate) kept: Vec<Option<Because<'k>>>,
}

/// [`Why`], before it is written down.
#[derive(Clone, Copy)]
pub(crate) enum Because<'k> {
    Reference(&'k Rule),
    Rule(&'k Rule),
    Copies,
    Tie,
    All,
    Inside,
    Verdict(&'static str),
    Spared,
}

impl Because<'_> {
    pub(super) fn why(self) -> Why {
        match self {
            Because::Reference(rule) => Why::Reference(rule.to_string()),
            Because::Rule(rule) => Why::Rule(rule.to_string()),
            Because::Copies => Why::Copies,
            Because::Tie => Why::Tie,
            Because::All => Why::All,
            Because::Inside => Why::Inside,
            Because::Verdict(word) => Why::Verdict(word),
            Because::Spared => Why::Spared,
        }
    }
}

impl OnAll {
    /// From the verdicts on the group, and those on its documents.
    pub(crate) fn of(said: impl Iterator<Item = Word>, on_each: &[Option<Word>]) -> OnAll {
        let (mut hold, mut changed) = (None, false);
        let mut against = on_each.iter().flatten().any(Word::is_duplicate);
        for word in said {
            against |= word.is_duplicate();
            match (word.protects(), word.holds) {
                (true, true) => hold = hold.or(Some(word.verdict)),
                (true, false) => changed = true,
                _ => {}
            }
        }
        match (hold, against, changed) {
            (Some(word), false, _) => OnAll::Apart(word),
            (Some(_), true, _) => OnAll::Unclear,
            // A later decision took the change into account.
            (None, true, _) | (None, false, false) => OnAll::Open,
            (None, false, true) => OnAll::Unclear,
        }
    }
}

/// Decides the documents that stay; `on_each` has the verdict on each document alone.
pub(crate) fn choose<'k, D: Placed>(
    documents: &[D],
    on_each: &[Option<Word>],
    on_all: OnAll,
    keep: &'k Keep,
) -> Choice<'k> {
    let kept = documents.iter().zip(on_each).map(|(document, word)| stays(document, *word, keep)).collect();
    let mut choice = Choice { left: None, kept };
    match on_all {
        OnAll::Open => choice.by_rules(documents, on_each, keep),
        OnAll::Apart(word) => choice.leave(Left::Verdict, Because::Verdict(word)),
        OnAll::Unclear => choice.leave(Left::Tie, Because::Tie),
    }
    choice
}

/// Why a document stays whatever becomes of the others.
fn stays<'k>(document: &impl Placed, word: Option<Word>, keep: &'k Keep) -> Option<Because<'k>> {
    if document.path().contains(cognate_proto::path::INSIDE) {
        return Some(Because::Inside);
    }
    let reference = keep.rules.iter().find(|rule| rule.is_reference_of(document));
    reference.map(Because::Reference).or_else(|| {
        let word = word.filter(|word| word.holds && matches!(word.bearing, Bearing::Stay | Bearing::Apart));
        word.map(|word| Because::Verdict(word.verdict))
    })
}

impl<'k> Choice<'k> {
    /// Chooses by what was decided about documents, then by the rules.
    fn by_rules<D: Placed>(&mut self, documents: &[D], on_each: &[Option<Word>], keep: &'k Keep) {
        let serving = self.kept.iter().flatten().filter(|because| because.serves_others()).count();
        let mut open: Vec<usize> = (0..documents.len()).filter(|place| self.kept[*place].is_none()).collect();
        let wanted = keep.min_copies.max(1).saturating_sub(serving);
        if open.is_empty() || wanted >= open.len() {
            return self.leave(Left::Few, Because::All);
        }
        if wanted == 0 {
            return;
        }
        let all: Vec<Compared<'_, D>> = documents
            .iter()
            .zip(on_each)
            .map(|(document, word)| Compared::new(document, word.as_ref().is_some_and(Word::is_duplicate)))
            .collect();
        open.sort_by(|a, b| compare(&keep.rules, &all[*a], &all[*b]).0);
        let (stays, next) = open.split_at(wanted);
        let next = &all[next[0]];
        if compare(&keep.rules, &all[stays[wanted - 1]], next).0 == Ordering::Equal {
            return self.leave(Left::Tie, Because::Tie);
        }
        for (rank, place) in stays.iter().enumerate() {
            let first = rank == 0 && serving == 0;
            let by = first.then(|| compare(&keep.rules, &all[*place], next).1).flatten();
            self.kept[*place] = Some(by.unwrap_or(Because::Copies));
        }
    }

    /// Nothing of it goes.
    fn leave(&mut self, left: Left, because: Because<'k>) {
        self.left = Some(left);
        self.kept.iter_mut().filter(|kept| kept.is_none()).for_each(|kept| *kept = Some(because));
    }
}

impl Because<'_> {
    /// True of a copy that stays for the others. A document that cannot be removed is none, and a copy on purpose has its own
    /// purpose.
    fn serves_others(&self) -> bool {
        matches!(self, Because::Reference(_) | Because::Verdict("keep"))
    }
}

/// A document while it is compared with others: what a rule says about it alone is found once.
pub(super) struct Compared<'d, D> {
    document: &'d D,
    /// True if its verdict is `duplicate`.
    goes: bool,
    /// Of the first rules: a bit for each that was asked, and its answer.
    asked: Cell<(u64, u64)>,
}

impl<'d, D: Placed> Compared<'d, D> {
    pub(super) fn new(document: &'d D, goes: bool) -> Compared<'d, D> {
        Compared { document, goes, asked: Cell::new((0, 0)) }
    }

    /// The judgement of the rule at this place about the document alone.
    fn is_preferred(&self, rule: &Rule, place: usize) -> Option<bool> {
        let Some(bit) = 1_u64.checked_shl(u32::try_from(place).unwrap_or(u32::MAX)) else {
            return rule.prefers_alone(self.document);
        };
        let (known, answers) = self.asked.get();
        if known & bit != 0 {
            return Some(answers & bit != 0);
        }
        let answer = rule.prefers_alone(self.document)?;
        self.asked.set((known | bit, if answer { answers | bit } else { answers }));
        Some(answer)
    }
}

/// Order of two documents by preference, and what decides it.
pub(super) fn compare<'k, D: Placed>(
    rules: &'k [Rule],
    a: &Compared<'_, D>,
    b: &Compared<'_, D>,
) -> (Ordering, Option<Because<'k>>) {
    match a.goes.cmp(&b.goes) {
        Ordering::Equal => {}
        order => return (order, Some(Because::Spared)),
    }
    for (place, rule) in rules.iter().enumerate() {
        let order = match (a.is_preferred(rule, place), b.is_preferred(rule, place)) {
            (Some(of_a), Some(of_b)) => of_b.cmp(&of_a),
            _ => rule.compare(a.document, b.document),
        };
        if order != Ordering::Equal {
            return (order, Some(Because::Rule(rule)));
        }
    }
    (Ordering::Equal, None)
}
