//! Plans: which copies are kept and which could go, by rules that people give. Nothing here, and nothing of Cognate, deletes
//! or moves a document; what is planned is carried out by whoever owns it.
//!
//! A plan is made of *groups* of documents that stand for each other: identical sets of the same bytes. Where people have
//! decided on clusters, those are groups as well, and are chosen from by the same rules.

mod rule;

use std::cmp::Ordering;

pub use self::rule::{Rule, RuleError};
use crate::error::Error;
use crate::report::{IdenticalSet, Located, Report};

/// What is kept.
#[derive(Clone, Debug)]
pub struct Keep {
    /// In their order: where one does not tell two documents apart, the next one does.
    pub rules: Vec<Rule>,
    /// How many documents of a group are kept at least; 1 or more.
    pub min_copies: usize,
}

/// What becomes of the documents of a group.
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
}

/// A document of a group.
#[derive(Clone, Debug)]
pub struct Member {
    /// Where it is.
    pub document: Located,
    /// Why it is kept, if it is; else it goes.
    pub kept: Option<Why>,
}

/// Why a document is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// It stands where everything is kept.
    Reference(String),
    /// It is the best by this rule, the first that tells it from the next.
    Rule(String),
    /// It is the next best, so that there are as many as are wanted.
    Copies,
    /// The rules do not tell it from another one.
    Tie,
    /// All there are must be kept.
    All,
    /// It stands inside of another document, from where it cannot be taken away.
    Inside,
}

/// Why nothing of a group goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// The rules do not say which are kept: somebody must.
    Tie,
    /// There are no more than must be kept.
    Few,
}

/// What a plan comes to.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Totals {
    /// Groups of which something goes.
    pub groups: u64,
    /// Documents that are kept in those.
    pub kept: u64,
    /// Documents that go.
    pub gone: u64,
    /// Their bytes.
    pub gone_bytes: u64,
    /// Groups that the rules do not decide.
    pub ties: u64,
    /// Bytes that copies beyond the least number waste in those.
    pub tie_bytes: u64,
    /// Groups of which all documents must be kept.
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
        }
    }
}

impl Decision {
    /// The documents that go.
    pub fn gone(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.kept.is_none())
    }

    /// The documents that are kept.
    pub fn kept(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.kept.is_some())
    }
}

impl Totals {
    /// Counts a decision in.
    pub fn add(&mut self, decision: &Decision, keep: &Keep) {
        match decision.left {
            Some(Left::Few) => self.few += 1,
            Some(Left::Tie) => {
                self.ties += 1;
                let more = decision.members.len().saturating_sub(keep.min_copies.max(1)) as u64;
                self.tie_bytes += more * decision.size_bytes;
            }
            None => {
                self.groups += 1;
                self.kept += decision.kept().count() as u64;
                let gone = decision.gone().count() as u64;
                self.gone += gone;
                self.gone_bytes += gone * decision.size_bytes;
            }
        }
    }
}

impl Report {
    /// Decides on every identical set of the same bytes, those whose copies waste most first. Empty documents and what only
    /// reads alike are no copies of each other.
    ///
    /// # Errors
    /// When the file cannot be read, or `each` fails.
    pub fn plan<E: From<Error>>(&self, keep: &Keep, mut each: impl FnMut(Decision) -> Result<(), E>) -> Result<(), E> {
        self.identical(|set: IdenticalSet| match (set.tier, set.size_bytes) {
            ("same bytes", Some(size_bytes)) if size_bytes > 0 => each(decide(set.id, size_bytes, set.documents, keep)),
            _ => Ok(()),
        })
    }
}

/// Decides which documents of a group are kept. Never all go, never fewer stay than are wanted, never one goes that stands
/// where everything is kept; and where the rules do not tell a document that would go from one that would stay, all stay.
pub fn decide(group: String, size_bytes: u64, documents: Vec<Located>, keep: &Keep) -> Decision {
    let least = keep.min_copies.max(1);
    let mut members: Vec<Member> = documents
        .into_iter()
        .map(|document| {
            let kept = keep.rules.iter().find(|rule| rule.is_reference_of(&document));
            let kept = kept.map(|rule| Why::Reference(rule.to_string()));
            let inside = document.path.contains(cognate_proto::path::INSIDE).then_some(Why::Inside);
            Member { document, kept: kept.or(inside) }
        })
        .collect();
    // What cannot be taken away is kept, and is no copy that could stand for another.
    let references = members.iter().filter(|member| matches!(member.kept, Some(Why::Reference(_)))).count();
    let mut open: Vec<usize> = (0..members.len()).filter(|place| members[*place].kept.is_none()).collect();
    open.sort_by(|a, b| compare(&keep.rules, &members[*a].document, &members[*b].document).0);
    let wanted = least.saturating_sub(references);
    let left = if open.is_empty() || wanted >= open.len() {
        Some(Left::Few)
    } else if wanted > 0 {
        let (last, first) = (&members[open[wanted - 1]].document, &members[open[wanted]].document);
        (compare(&keep.rules, last, first).0 == Ordering::Equal).then_some(Left::Tie)
    } else {
        None
    };
    match left {
        Some(left) => {
            let why = if left == Left::Tie { Why::Tie } else { Why::All };
            members
                .iter_mut()
                .filter(|member| member.kept.is_none())
                .for_each(|member| member.kept = Some(why.clone()));
        }
        None => {
            for (rank, place) in open[..wanted].iter().enumerate() {
                let next = &members[open[wanted]].document;
                let rule = compare(&keep.rules, &members[*place].document, next).1;
                let by = rule.map_or(Why::Copies, |rule| Why::Rule(rule.to_string()));
                members[*place].kept = Some(if rank == 0 && references == 0 { by } else { Why::Copies });
            }
        }
    }
    Decision { group, size_bytes, members, left }
}

/// Which of two is kept rather, and the first rule that says so.
fn compare<'r>(rules: &'r [Rule], a: &Located, b: &Located) -> (Ordering, Option<&'r Rule>) {
    let told = rules.iter().map(|rule| (rule.compare(a, b), Some(rule)));
    told.into_iter().find(|(order, _)| *order != Ordering::Equal).unwrap_or((Ordering::Equal, None))
}

#[cfg(test)]
mod tests;
