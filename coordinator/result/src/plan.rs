//! Plans: the copies that stay and the copies that could go, by rules that people give. Neither a plan nor Cognate deletes
//! or moves a document; the documents' owner carries out the plan.
//!
//! A plan is made of *groups* of interchangeable documents: identical sets of the same bytes. Verdicts
//! about a group, or about a document in it, count before the rules do. Where a person asks for it, a plan also has
//! *versions*: documents of which another document has all but a stated number of bytes.

mod rule;
mod said;
mod versions;

use std::cmp::Ordering;

pub use self::rule::{Rule, RuleError};
pub use self::said::Said;
use self::said::{Around, Bearing, Judged};
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
        match decision.left {
            Some(Left::Few) => self.few += 1,
            Some(Left::Verdict) => {
                match decision.said.first().map(|said| said.verdict.verdict) {
                    Some("intentional") => self.intentional += 1,
                    Some("keep") => self.kept_whole += 1,
                    _ => self.not_duplicates += 1,
                }
                self.left_out += decision.members.len() as u64;
            }
            Some(Left::Tie) if !decision.said.is_empty() => {
                self.ties += 1;
                self.unclear += 1;
            }
            Some(Left::Tie) => {
                self.ties += 1;
                let more = decision.members.len().saturating_sub(keep.min_copies.max(1)) as u64;
                self.tie_bytes += more * decision.size_bytes;
            }
            None => {
                self.groups += 1;
                self.kept += decision.staying().count() as u64;
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
    let members = documents.into_iter().map(|(document, said)| {
        let said = said.filter(|said| said.bearing() != Bearing::None);
        let stays_for = stays(&document, said.as_ref(), keep);
        Member { document, kept: stays_for, said }
    });
    let mut decision = Decision { group: digest, size_bytes, members: members.collect(), left: None, said: Vec::new() };
    match Judged::of(said, &decision.members) {
        Judged::Open => decision.choose(keep),
        Judged::Apart(said) => {
            let word = said.first().map_or("", |said| said.verdict.verdict);
            decision.leave(Left::Verdict, &Why::Verdict(word));
            decision.said = said;
        }
        Judged::Unclear(said) => {
            decision.leave(Left::Tie, &Why::Tie);
            decision.said = said;
        }
    }
    decision
}

/// Why a document stays whatever becomes of the others.
fn stays(document: &Located, said: Option<&Said>, keep: &Keep) -> Option<Why> {
    if document.path.contains(cognate_proto::path::INSIDE) {
        return Some(Why::Inside);
    }
    let reference = keep.rules.iter().find(|rule| rule.is_reference_of(document));
    reference.map(|rule| Why::Reference(rule.to_string())).or_else(|| {
        let said = said.filter(|said| said.holds() && matches!(said.bearing(), Bearing::Stay | Bearing::Apart));
        said.map(|said| Why::Verdict(said.verdict.verdict))
    })
}

impl Decision {
    /// Chooses by what was decided about documents, then by the rules.
    fn choose(&mut self, keep: &Keep) {
        let members = &mut self.members;
        let standing = members.iter().filter(|member| member.serves_others()).count();
        let mut open: Vec<usize> = (0..members.len()).filter(|place| members[*place].kept.is_none()).collect();
        open.sort_by(|a, b| compare(&keep.rules, &members[*a], &members[*b]).0);
        let wanted = keep.min_copies.max(1).saturating_sub(standing);
        if open.is_empty() || wanted >= open.len() {
            return self.leave(Left::Few, &Why::All);
        }
        if wanted == 0 {
            return;
        }
        let (stays, next) = open.split_at(wanted);
        let next = next[0];
        if compare(&keep.rules, &members[stays[wanted - 1]], &members[next]).0 == Ordering::Equal {
            return self.leave(Left::Tie, &Why::Tie);
        }
        for (rank, place) in stays.iter().enumerate() {
            let by = compare(&keep.rules, &members[*place], &members[next]).1;
            members[*place].kept =
                Some(if rank == 0 && standing == 0 { by.unwrap_or(Why::Copies) } else { Why::Copies });
        }
    }

    /// Nothing of it goes.
    fn leave(&mut self, left: Left, why: &Why) {
        self.left = Some(left);
        for member in self.members.iter_mut().filter(|member| member.kept.is_none()) {
            member.kept = Some(why.clone());
        }
    }
}

impl Member {
    /// True if it is a copy that stays for the others. A document that cannot be removed is none, and a copy on purpose
    /// has its own purpose.
    fn serves_others(&self) -> bool {
        matches!(self.kept, Some(Why::Reference(_) | Why::Verdict("keep")))
    }

    fn is_duplicate(&self) -> bool {
        self.said.as_ref().is_some_and(|said| said.holds() && said.bearing() == Bearing::Go)
    }
}

/// Order of two documents by preference, and the rule that decides it.
fn compare(rules: &[Rule], a: &Member, b: &Member) -> (Ordering, Option<Why>) {
    match a.is_duplicate().cmp(&b.is_duplicate()) {
        Ordering::Equal => {}
        order => return (order, Some(Why::Spared)),
    }
    let mut orders = rules.iter().map(|rule| (rule.compare(&a.document, &b.document), rule));
    orders
        .find(|(order, _)| *order != Ordering::Equal)
        .map_or((Ordering::Equal, None), |(order, rule)| (order, Some(Why::Rule(rule.to_string()))))
}

#[cfg(test)]
mod tests;
