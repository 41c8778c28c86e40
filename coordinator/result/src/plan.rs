//! Plans: the copies that stay and the copies that could go, by rules that people give. Neither a plan nor Cognate deletes
//! or moves a document; the documents' owner carries out the plan.
//!
//! A plan is made of *groups* of interchangeable documents: identical sets of the same bytes. Verdicts
//! about a group, or about a document in it, count before the rules do. Where a person asks for it, a plan also has
//! *versions*: documents of which another document has all but a stated number of bytes.

mod choice;
mod placed;
mod rule;
mod said;
mod versions;

use std::cmp::Ordering;

use self::choice::{Because, Compared};
pub(crate) use self::choice::{Choice, OnAll, choose};
pub(crate) use self::placed::Placed;
pub use self::rule::{Rule, RuleError};
use self::said::Around;
pub use self::said::Said;
pub(crate) use self::said::{Bearing, Word};
pub use self::versions::{Version, VersionTotals, Versions};
use crate::error::Error;
use crate::report::{IdenticalSet, Located, Report};

/// Rules of a plan.
#[derive(Clone, Debug)]
pub struct Keep {
    /// In their order: if one does not distinguish two documents, the next one does.
    pub rules: Vec<Rule>,
    /// The fewest documents of a group that stay; 1 or more.
    pub min_copies: usize,
}

/// Interchangeable documents, and the verdicts on them.
#[derive(Clone, Debug)]
pub struct Group {
    /// The digest of what they hold.
    pub digest: String,
    /// The size of each.
    pub size_bytes: u64,
    /// The documents, by site, repository and path, each with what was decided about it alone.
    pub documents: Vec<(Located, Option<Said>)>,
    /// Verdicts on all of them.
    pub said: Vec<Said>,
}

/// Decision about the documents of a group.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The group: the digest of what its documents hold.
    pub group: String,
    /// The size of each.
    pub size_bytes: u64,
    /// Its documents, by site, repository and path.
    pub members: Vec<Member>,
    /// Why nothing of it goes, if nothing does.
    pub left: Option<Left>,
    /// The verdicts because of which nothing goes.
    pub said: Vec<Said>,
}

/// A document of a group.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its place.
    pub document: Located,
    /// The reason for which it stays; `None`: it goes.
    pub kept: Option<Why>,
    /// The verdict on it alone, if that affects plans.
    pub said: Option<Said>,
}

/// Reason for which a document stays.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// It is below a reference, where all documents stay.
    Reference(String),
    /// It is the best by this rule, the first that distinguishes it from the next.
    Rule(String),
    /// It is the next best, so that there are as many as are wanted.
    Copies,
    /// The rules do not distinguish it from another one.
    Tie,
    /// No group may lose more documents than this one has to spare.
    All,
    /// It is inside of another document, from which it cannot be removed.
    Inside,
    /// Somebody decided so, in this word.
    Verdict(&'static str),
    /// The documents that go have the verdict "duplicate", and this one does not.
    Spared,
}

/// Why nothing of a group goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// The rules do not decide, or verdicts contradict each other: a person must decide.
    Tie,
    /// All documents must stay.
    Few,
    /// Somebody decided that nothing is to be done about it.
    Verdict,
}

/// Sums of a plan.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Totals {
    /// Groups of which something goes.
    pub groups: u64,
    /// Documents of those groups that stay.
    pub kept: u64,
    /// Documents that go.
    pub gone: u64,
    /// Their bytes.
    pub gone_bytes: u64,
    /// Groups that are not decided.
    pub ties: u64,
    /// Of those, the ones whose verdicts do not go together, or do not hold any more.
    pub unclear: u64,
    /// Bytes that copies beyond the least number waste in the others.
    pub tie_bytes: u64,
    /// Groups that are left out because they are intentional.
    pub intentional: u64,
    /// Because they are not duplicates.
    pub not_duplicates: u64,
    /// By the verdict that all of it stays.
    pub kept_whole: u64,
    /// Documents of those three.
    pub left_out: u64,
    /// Groups of which all documents must stay.
    pub few: u64,
}

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Why::Reference(rule) | Why::Rule(rule) => f.write_str(rule),
            Why::Copies => f.write_str("min-copies"),
            Why::Tie => f.write_str("tie"),
            Why::All => f.write_str("no more than must be kept"),
            Why::Inside => f.write_str("inside of another document"),
            Why::Verdict(verdict) => write!(f, "verdict: {verdict}"),
            Why::Spared => f.write_str("verdict: the others are duplicates"),
        }
    }
}

impl Decision {
    /// The documents that go.
    pub fn gone(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.kept.is_none())
    }

    /// The documents that stay.
    pub fn staying(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.kept.is_some())
    }
}

impl Totals {
    /// Groups that verdicts leave out.
    pub fn groups_left_out(&self) -> u64 {
        self.intentional + self.not_duplicates + self.kept_whole
    }

    /// Counts a decision in.
    pub fn add(&mut self, decision: &Decision, keep: &Keep) {
        let word = decision.said.first().map(|said| said.verdict.verdict);
        let gone = decision.gone().count();
        self.add_counts(decision.left, word, (decision.members.len(), gone), decision.size_bytes, keep);
    }

    /// Counts the decision about a group in: why nothing goes, the first verdict because of which, the numbers of its documents and
    /// of those that go, and the size of each.
    pub(crate) fn add_counts(
        &mut self,
        left: Option<Left>,
        word: Option<&str>,
        (documents, gone): (usize, usize),
        size_bytes: u64,
        keep: &Keep,
    ) {
        match left {
            Some(Left::Few) => self.few += 1,
            Some(Left::Verdict) => {
                match word {
                    Some("intentional") => self.intentional += 1,
                    Some("keep") => self.kept_whole += 1,
                    _ => self.not_duplicates += 1,
                }
                self.left_out += documents as u64;
            }
            Some(Left::Tie) if word.is_some() => {
                self.ties += 1;
                self.unclear += 1;
            }
            Some(Left::Tie) => {
                self.ties += 1;
                let more = documents.saturating_sub(keep.min_copies.max(1)) as u64;
                self.tie_bytes += more * size_bytes;
            }
            None => {
                self.groups += 1;
                self.kept += (documents - gone) as u64;
                self.gone += gone as u64;
                self.gone_bytes += gone as u64 * size_bytes;
            }
        }
    }
}

impl Report {
    /// Decides on every identical set of the same bytes, those whose copies waste most first. Empty documents and what only
    /// reads alike are no copies of each other.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or `each` fails.
    pub fn plan<E: From<Error>>(&self, keep: &Keep, mut each: impl FnMut(Decision) -> Result<(), E>) -> Result<(), E> {
        let around = Around::of(self)?;
        self.identical(|set: IdenticalSet| match (set.tier, set.size_bytes) {
            ("same bytes", Some(size_bytes)) if size_bytes > 0 => {
                let of_set = set.verdict.map(|verdict| {
                    let (id, view) = (Some(set.id.clone()), Some(set.tier.to_owned()));
                    Said { about: "identical", id, view, verdict }
                });
                let said = of_set.into_iter().chain(around.said(&set.id)).collect();
                let documents = set.documents.into_iter().map(|document| {
                    let verdict = self.verdict_of_document(&document);
                    let said = verdict.map(|verdict| Said { about: "document", id: None, view: None, verdict });
                    (document, said)
                });
                each(decide(Group { digest: set.id, size_bytes, documents: documents.collect(), said }, keep))
            }
            _ => Ok(()),
        })
    }
}

/// Decides the documents of a group that stay. Never all go, and never fewer stay than `min_copies`. A document below a
/// reference or with a verdict to keep it never goes; and if neither verdicts nor rules distinguish a document that would go
/// from one that would stay, all stay.
pub fn decide(group: Group, keep: &Keep) -> Decision {
    let Group { digest, size_bytes, documents, said } = group;
    let (documents, on_each): (Vec<Located>, Vec<Option<Said>>) = documents.into_iter().unzip();
    let on_each: Vec<Option<Said>> =
        on_each.into_iter().map(|said| said.filter(|said| said.bearing() != Bearing::None)).collect();
    let words: Vec<Option<Word>> = on_each.iter().map(|said| said.as_ref().map(Said::word)).collect();
    let on_all = OnAll::of(said.iter().map(Said::word), &words);
    let said = match on_all {
        OnAll::Open => Vec::new(),
        OnAll::Apart(_) => said.into_iter().filter(|said| said.holds() && said.word().protects()).collect(),
        OnAll::Unclear => unclear(said, &on_each),
    };
    let Choice { left, kept } = choose(&documents, &words, on_all, keep);
    let members = documents.into_iter().zip(kept).zip(on_each);
    let member = |((document, kept), said): ((_, Option<Because<'_>>), _)| Member {
        document,
        kept: kept.map(|because| because.why()),
        said,
    };
    Decision { group: digest, size_bytes, members: members.map(member).collect(), left, said }
}

/// The verdicts because of which a group is unclear: those that protect it with those against them, or those that do not hold
/// any more.
fn unclear(said: Vec<Said>, on_each: &[Option<Said>]) -> Vec<Said> {
    let goes = |said: &&Said| said.holds() && said.bearing() == Bearing::Go;
    let against: Vec<Said> = said.iter().chain(on_each.iter().flatten()).filter(goes).cloned().collect();
    let (hold, changed): (Vec<Said>, Vec<Said>) =
        said.into_iter().filter(|said| said.word().protects()).partition(Said::holds);
    if hold.is_empty() { changed } else { [hold, against].concat() }
}

impl Member {
    fn is_duplicate(&self) -> bool {
        self.said.as_ref().is_some_and(|said| said.word().is_duplicate())
    }
}

/// Order of two documents by preference, and the rule that decides it.
fn compare(rules: &[Rule], a: &Member, b: &Member) -> (Ordering, Option<Why>) {
    let of = |member: &Member| member.is_duplicate();
    let (a, b) = (Compared::new(&a.document, of(a)), Compared::new(&b.document, of(b)));
    let (order, because) = choice::compare(rules, &a, &b);
    (order, because.map(|because| because.why()))
}

#[cfg(test)]
mod tests;
