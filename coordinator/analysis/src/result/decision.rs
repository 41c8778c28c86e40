//! What is decided about each document, once, over all views that were read. Whatever a result says of documents follows it: lists, folders,
//! changes, overlap, what only one side has.
//!
//! Seen from its own place, a document is **elsewhere** if a document at another place is the same under any view (the same bytes, the same
//! text, the same lines with other line ends, or the same message where messages are matched) or is linked with it under any view: in either direction, by either threshold. A link
//! that rests on frames does not count: a document with no other is elsewhere by its **standard text** alone. It is **not decided** if it is
//! neither, and something that could have shown the contrary was cut, refused, not read, or not measured. It is **only here** if it is none of
//! these. Places are parties where there are two or more, else sites, and the repositories of one site alone. A document without anything to
//! compare is none of the four.
//!
//! Its **partner** is the best document elsewhere, over all views: the same, else by the relation in the order of statuses, else by the view
//! that speaks for the document. Its **status** is the first that applies over all views, at its own place too.

use std::ops::Range;

use cognate_similarity::Relation;

use super::Publication;
use super::document_rows::{DecidedPartner, DocumentRows, What, is_control, status_of};
use super::sets::Sets;
use crate::findings::Status;
use crate::freeze::FrozenRoot;
use crate::label_reach::LabelReach;
use crate::ratio::Fraction;
use crate::undecided::UndecidedReason;

/// The decisions about all documents, in their order.
pub(super) struct Decisions {
    pub(super) of_documents: Vec<Decision>,
    /// Per loose set, the first rows of its documents.
    loose: Vec<Vec<u32>>,
}

/// What is decided about a document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decision {
    /// Its first row.
    pub(super) first: u32,
    /// Its row of the view that speaks for it: sizes are those of this row.
    pub(super) speaking: u32,
    /// Its row of the view that gives the partner; without one, the status.
    pub(super) deciding: u32,
    pub(super) status: Status,
    pub(super) partner: Option<DecidedPartner>,
    /// Nothing: it has nothing to compare, or there is no other place.
    pub(super) elsewhere: Option<Elsewhere>,
    /// The reason why it is not decided that it has nothing in common with others, whatever was found.
    pub(super) undecided: Option<UndecidedReason>,
    /// Its loose set.
    pub(super) loose_set: Option<usize>,
}

/// Whether something of a document is at another place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Elsewhere {
    Yes,
    StandardText,
    No,
    NotDecided,
}

/// Sites and parties that documents reach.
#[derive(Clone, Copy)]
pub(super) struct Reach<'a> {
    publication: &'a Publication<'a>,
    documents: &'a DocumentRows<'a>,
    decisions: &'a Decisions,
    /// 0: sites, 1: parties.
    level: usize,
}

impl Decisions {
    pub(super) fn of(publication: &Publication<'_>, documents: &DocumentRows<'_>, sets: &Sets) -> Decisions {
        let mut loose: Vec<Vec<u32>> = vec![Vec::new(); sets.loose.len()];
        for rows in documents.documents() {
            sets.loose_set(rows.start).into_iter().for_each(|set| loose[set].push(row_number(rows.start)));
        }
        let mut decisions = Decisions { of_documents: Vec::new(), loose };
        let mut of_documents = Vec::with_capacity(documents.rows.len());
        for rows in documents.documents() {
            of_documents.push(decisions.decide(publication, documents, rows, sets));
        }
        decisions.of_documents = of_documents;
        decisions
    }

    fn decide(
        &self,
        publication: &Publication<'_>,
        documents: &DocumentRows<'_>,
        rows: Range<usize>,
        sets: &Sets,
    ) -> Decision {
        let layers = publication.layers;
        let (first, loose_set) = (rows.start, sets.loose_set(rows.start));
        let statuses = rows.clone().map(|row| documents.rows[row].status(layers));
        let of_views = status_of(statuses.clone());
        let undecided = match of_views {
            Status::ExcludedShort | Status::ExcludedTemplate => Some(UndecidedReason::NotCompared),
            _ => rows.clone().filter_map(|row| documents.undecided(row, layers)).min(),
        };
        let status = match (of_views, loose_set) {
            (status, Some(_)) if !status.is_excluded() => Status::Identical,
            (Status::Unique, _) if undecided.is_some() => Status::Undecided,
            (status, _) => status,
        };
        let speaking = documents.speaking(rows.clone(), layers);
        let partners = rows.clone().filter_map(|row| Some((row, documents.partner(row, layers)?)));
        let rank = |(row, partner): &(usize, DecidedPartner)| {
            (relation_rank(partner.relation), partner.relation.is_some() && *row != speaking, *row)
        };
        let found = partners.min_by_key(rank);
        let of_loose_set = || {
            let row = self.elsewhere_in_set(publication, documents, first, loose_set?)?;
            let shared_bytes = documents.rows[speaking].size_bytes(layers);
            Some((speaking, DecidedPartner { row, shared_bytes, relation: None, outside: None }))
        };
        let found = match found {
            Some((_, DecidedPartner { relation: None, .. })) => found,
            other => of_loose_set().or(other),
        };
        // Only the status of some view is that of the document where neither a loose set nor a doubt gives it.
        let of_status = || statuses.clone().position(|own| own == status).map_or(first, |place| first + place);
        let decision = Decision {
            first: row_number(first),
            speaking: row_number(speaking),
            deciding: row_number(found.map_or_else(of_status, |(row, _)| row)),
            status,
            partner: found.map(|(_, partner)| partner),
            elsewhere: None,
            undecided,
            loose_set,
        };
        Decision { elsewhere: self.elsewhere(publication, documents, &decision), ..decision }
    }

    /// The first document of a loose set at another place.
    fn elsewhere_in_set(
        &self,
        publication: &Publication<'_>,
        documents: &DocumentRows<'_>,
        first: usize,
        loose_set: usize,
    ) -> Option<u32> {
        let root = |row: u32| documents.rows[row as usize].root;
        let own = row_number(first);
        let roots = publication.roots().roots.len();
        let is_elsewhere = |other: &u32| match publication.scan.spec.options.across_only {
            true => publication.spans([root(own), root(*other)].into_iter()),
            false if roots == 1 => *other != own,
            false => root(*other) != root(own),
        };
        self.loose[loose_set].iter().copied().find(is_elsewhere)
    }

    fn elsewhere(
        &self,
        publication: &Publication<'_>,
        documents: &DocumentRows<'_>,
        decision: &Decision,
    ) -> Option<Elsewhere> {
        let roots = &publication.roots().roots;
        let has_nothing =
            matches!(decision.status, Status::ExcludedEmpty | Status::ExcludedNoText | Status::ExcludedContainer);
        if roots.len() < 2 || has_nothing {
            return None;
        }
        let level = usize::from(roots.iter().any(|root| root.party_number != roots[0].party_number));
        let reach = Reach { publication, documents, decisions: self, level };
        // The repositories of one site have no labels of their own.
        let has_sites = roots.iter().any(|root| root.site_number != roots[0].site_number);
        // A control counts for nobody else, and is itself where its like is.
        let by_label = has_sites && !is_control(decision.speaking, documents, publication.layers);
        let (is_elsewhere, has_standard_text) = match by_label {
            true => (reach.others(decision).next().is_some(), reach.with_standard_text(decision).next().is_some()),
            false => (decision.partner.is_some(), decision.has_standard_text_alone(publication, documents)),
        };
        Some(match is_elsewhere {
            true => Elsewhere::Yes,
            false if has_standard_text => Elsewhere::StandardText,
            false if decision.undecided.is_some() => Elsewhere::NotDecided,
            false => Elsewhere::No,
        })
    }

    /// By the rows of the views that speak for them, the numbers of documents.
    pub(super) fn by_speaking_row(&self, rows: usize) -> Vec<Option<u32>> {
        let mut documents = vec![None; rows];
        for (decision, number) in self.of_documents.iter().zip(0..) {
            documents[decision.speaking as usize] = Some(number);
        }
        documents
    }

    /// What documents reach of the sites, or of the parties.
    pub(super) fn reach<'a>(
        &'a self,
        publication: &'a Publication<'a>,
        documents: &'a DocumentRows<'a>,
        level: usize,
    ) -> Reach<'a> {
        Reach { publication, documents, decisions: self, level }
    }
}

impl Decision {
    /// Its rows.
    fn rows(&self, documents: &DocumentRows<'_>) -> impl Iterator<Item = usize> + use<> {
        let first = self.first as usize;
        [Some(first), documents.other(first)].into_iter().flatten()
    }

    /// True if no view has a partner of the document, and one has standard text of it elsewhere.
    fn has_standard_text_alone(&self, publication: &Publication<'_>, documents: &DocumentRows<'_>) -> bool {
        self.partner.is_none()
            && self.rows(documents).any(|row| documents.has_standard_text_alone(row, publication.layers))
    }

    /// The bytes of the document as it was compared: under the view that speaks for it.
    pub(super) fn compared_bytes(&self, publication: &Publication<'_>, documents: &DocumentRows<'_>) -> u64 {
        documents.rows[self.speaking as usize].size_bytes(publication.layers)
    }

    /// Of these, the bytes that its partner has. What another view found is the same share of them.
    pub(super) fn shared_bytes(&self, publication: &Publication<'_>, documents: &DocumentRows<'_>) -> u64 {
        let Some(partner) = &self.partner else { return 0 };
        if self.deciding == self.speaking {
            return partner.shared_bytes;
        }
        let whole = documents.rows[self.deciding as usize].size_bytes(publication.layers);
        let all = self.compared_bytes(publication, documents);
        Fraction { part: partner.shared_bytes.min(whole), whole }.of_bytes(all)
    }
}

impl Reach<'_> {
    /// The number of labels.
    pub(super) fn label_count(&self) -> u16 {
        let roots = self.publication.roots().roots.iter();
        roots.map(|root| self.label(root)).max().map_or(0, |most| most + 1)
    }

    fn label(&self, root: &FrozenRoot) -> u16 {
        if self.level == 0 { root.site_number } else { root.party_number }
    }

    /// 0: of sites, 1: of parties.
    pub(super) fn level(&self) -> usize {
        self.level
    }

    /// The label of a repository.
    pub(super) fn label_of(&self, root: u16) -> u16 {
        self.label(&self.publication.roots().roots[usize::from(root)])
    }

    /// The label of a document's own place.
    pub(super) fn own(&self, decision: &Decision) -> u16 {
        self.label_of(self.documents.rows[decision.first as usize].root)
    }

    /// The other labels at which something of a document is, under any view.
    pub(super) fn others(&self, decision: &Decision) -> impl Iterator<Item = u16> {
        let own = self.own(decision);
        (0..self.label_count()).filter(move |label| *label != own && self.is_at(decision, *label))
    }

    fn is_at(&self, decision: &Decision, label: u16) -> bool {
        let by_content = self.any_view(decision, |reach, content| reach.is_at(content, label));
        let root = |row: u32| &self.publication.roots().roots[usize::from(self.documents.rows[row as usize].root)];
        let members = decision.loose_set.map_or(&[][..], |set| &self.decisions.loose[set]);
        by_content || members.iter().any(|row| self.label(root(*row)) == label)
    }

    /// The other labels under which a document is with which this one shares standard text.
    pub(super) fn with_standard_text(&self, decision: &Decision) -> impl Iterator<Item = u16> {
        let own = self.own(decision);
        let shares =
            move |label: u16| self.any_view(decision, |reach, content| reach.has_standard_text_at(content, label));
        (0..self.label_count()).filter(move |label| *label != own && shares(*label))
    }

    /// True if something holds for what a view that has the document says of its content.
    fn any_view(&self, decision: &Decision, holds: impl Fn(&LabelReach, usize) -> bool) -> bool {
        decision.rows(self.documents).any(|row| {
            let row = &self.documents.rows[row];
            let layer = &self.publication.layers[usize::from(row.layer)];
            let What::Document(place) = row.what else { return false };
            let reach = layer.findings.of_links.reach[self.level].as_ref();
            let content = layer.frozen.documents[place as usize].content.0 as usize;
            layer.frozen.contents[content].size_bytes > 0 && reach.is_some_and(|reach| holds(reach, content))
        })
    }
}

fn relation_rank(relation: Option<Relation>) -> u8 {
    match relation {
        None => 0,
        Some(Relation::Near) => 1,
        Some(Relation::Contains) => 2,
        Some(Relation::Contained) => 3,
        Some(Relation::Shares) => 4,
    }
}

fn row_number(row: usize) -> u32 {
    u32::try_from(row).expect("fewer than 2^32 documents")
}
