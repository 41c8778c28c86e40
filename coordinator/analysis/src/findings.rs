//! The outcome of one layer for every content and document: its status, its partner, the places that it reaches, and the bytes that places
//! have in common. `result/decision.rs` decides over all layers.
//!
//! Links are read one by one from their file: memory grows with contents and documents, not with links.

use std::collections::HashMap;
use std::num::NonZeroUsize;

use cognate_similarity::{Analysis, Link, Relation};

use crate::alignment::{Alignment, PlaceVote};
use crate::cluster_joins::{ClusterJoins, Join};
use crate::clusters::Links;
use crate::copies::Copies;
use crate::coverage::{ClosestRelatives, Coverage, LabelOverlap};
use crate::error::Error;
use crate::fine::{OutsideLink, outside_of, rests_on_frame};
use crate::folders::{Partners, PartnersSoFar};
use crate::freeze::FrozenSet;
use crate::histogram::{Counter, Histogram};
use crate::label_reach::{LabelReach, ReachSoFar};
use crate::measure::Measures;
use crate::subject::Subject;
use crate::threads::side_by_side;

/// The status of a document: the first that applies (`docs/report.md`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Status {
    /// It has no bytes.
    ExcludedEmpty,
    /// All its bytes are template.
    ExcludedTemplate,
    /// It is too short for the method to see anything in it, and no other document is the same.
    ExcludedShort,
    /// There is no text in documents of its kind.
    ExcludedNoText,
    /// Its members are compared instead.
    ExcludedContainer,
    /// Another document has the same bytes.
    Identical,
    /// It holds most of another, and that most of it.
    Near,
    /// It holds most of another.
    Contains,
    /// Another holds most of it.
    Contained,
    /// It shares enough with another to be listed.
    Shares,
    /// It shares nothing that counts with another but standard text: what many otherwise unlike documents have.
    StandardText,
    /// Nothing of the kind was found, and something that could have shown the contrary was not measured.
    Undecided,
    /// Nothing of the kind.
    Unique,
}

impl Status {
    /// True if it is a reason to leave a document out.
    pub(crate) fn is_excluded(self) -> bool {
        self < Status::Identical
    }
}

/// The findings about a layer.
pub(crate) struct Findings {
    pub(crate) analysis: Analysis,
    /// Per content, the documents that have it: places in `FrozenSet::documents`, packed in content order.
    pub(crate) copies: Copies,
    /// Folders of two repositories that are compared with each other.
    pub(crate) alignment: Alignment,
    /// The votes of this view for these folders.
    pub(crate) votes: Vec<PlaceVote>,
    pub(crate) measures: Measures,
    pub(crate) of_links: LinkFindings,
}

/// The outcome of a comparison, from which findings follow.
#[derive(Clone, Copy)]
pub(crate) struct LinkEvidence<'a> {
    pub(crate) analysis: &'a Analysis,
    pub(crate) links: &'a Links,
    /// The links of which a frame is part.
    pub(crate) outside: &'a [OutsideLink],
    pub(crate) measures: &'a Measures,
    pub(crate) alignment: &'a Alignment,
    /// True if the layer speaks for some of its documents only, so that what places have in common is counted document by document.
    pub(crate) by_document: bool,
}

/// The findings that follow from the links.
pub(crate) struct LinkFindings {
    /// Per cluster, what joins its members.
    pub(crate) joins: Vec<Join>,
    /// Per content, true if its copies form an identical set that counts.
    pub(crate) identical: Vec<bool>,
    /// Per content, what its documents are.
    pub(crate) status: Vec<Status>,
    /// By sites and by parties, where there are several: where something of each content is.
    pub(crate) reach: [Option<LabelReach>; 2],
    /// The bytes that they have in common.
    pub(crate) covered: [LabelOverlap; 2],
    /// If they are counted document by document, the bytes that the closest relative of each content has at each label: no more than its place
    /// has.
    pub(crate) closest: Option<[HashMap<(u32, u16), u64>; 2]>,
    pub(crate) partners: Partners,
    pub(crate) histogram: Histogram,
}

impl LinkFindings {
    /// Reads the links once for what documents are to each other, and once for what places and clusters have in common, at the same time.
    pub(crate) fn of(
        subject: &Subject<'_>,
        evidence: &LinkEvidence<'_>,
        threads: NonZeroUsize,
    ) -> Result<LinkFindings, Error> {
        let LinkEvidence { analysis, links, outside, measures, alignment, by_document } = *evidence;
        let frozen = subject.frozen;
        let identical = subject.identical();
        let of_documents = || {
            let mut status = statuses(frozen, &identical);
            let mut partners = PartnersSoFar::new(subject, alignment);
            links.for_each(|link| {
                let outside = outside_of(outside, link.a.0, link.b.0);
                if outside.is_some_and(|outside| outside.rests_on_frame) {
                    mark(&mut status, link, [Status::StandardText; 2]);
                    partners.standard_text(link);
                    return;
                }
                let measured = measures.of(&frozen.contents, link);
                mark(&mut status, link, seen_from_both(measured.relation));
                partners.link(link, &measured, outside);
            })?;
            Ok::<_, Error>((status, partners.finish()))
        };
        let of_places = || {
            let mut reached = subject.levels.each_ref().map(|level| ReachSoFar::new(subject, level));
            let coverage = measures.coverage();
            let mut closest = subject.levels.each_ref().map(|level| ClosestRelatives::new(subject, level, coverage));
            let relatives =
                || subject.levels.each_ref().map(|level| ClosestRelatives::new(subject, level, Coverage::Links));
            let mut of_each = by_document.then(relatives);
            let mut counter = Counter::new(subject);
            let mut joined = ClusterJoins::new(frozen.contents.len(), &analysis.clusters, outside, &subject.copies);
            links.for_each(|link| {
                let measured = measures.of(&frozen.contents, link);
                let rests = rests_on_frame(outside, link);
                reached.iter_mut().flatten().for_each(|reached| reached.link(link, rests));
                closest
                    .iter_mut()
                    .chain(of_each.iter_mut().flatten())
                    .for_each(|closest| closest.link(link, &measured));
                if !frozen.have_same_lines(link.a, link.b) {
                    counter.link(link, &measured);
                }
                joined.link(link, &measured);
            })?;
            counter.omitted(&analysis.omitted);
            for reached in reached.iter_mut().flatten() {
                analysis.omitted.of.iter().for_each(|one| reached.omitted(one));
            }
            let joins = joined.finish(&frozen.contents, measures);
            let mut counted = analysis.overlap.iter();
            let covered = closest.map(|closest| closest.covered(counted.next()));
            let reached = reached.map(|reached| reached.map(ReachSoFar::finish));
            let of_each = of_each.map(|of_each| of_each.map(ClosestRelatives::finish));
            Ok::<_, Error>(PlaceFindings {
                reach: reached,
                covered,
                closest: of_each,
                joins,
                histogram: counter.finish(),
            })
        };
        let (of_documents, of_places) = side_by_side(threads, of_documents, of_places);
        let (status, partners) = of_documents?;
        let PlaceFindings { reach, covered, closest, joins, histogram } = of_places?;
        Ok(LinkFindings { joins, identical, status, reach, covered, closest, partners, histogram })
    }
}

/// What places and clusters have in common.
struct PlaceFindings {
    reach: [Option<LabelReach>; 2],
    covered: [LabelOverlap; 2],
    closest: Option<[HashMap<(u32, u16), u64>; 2]>,
    joins: Vec<Join>,
    histogram: Histogram,
}

/// Statuses of documents without their links.
fn statuses(frozen: &FrozenSet, identical: &[bool]) -> Vec<Status> {
    let contents = frozen.contents.iter().zip(identical);
    contents
        .map(|(content, identical)| match (content.size_bytes, content.payload_bytes, identical) {
            (0, ..) => Status::ExcludedEmpty,
            (_, 0, _) => Status::ExcludedTemplate,
            (_, _, true) => Status::Identical,
            _ if content.chunk_count == 0 => Status::ExcludedShort,
            _ => Status::Unique,
        })
        .collect()
}

/// The statuses that a relation gives its first and its second document.
fn seen_from_both(relation: Relation) -> [Status; 2] {
    match relation {
        Relation::Near => [Status::Near; 2],
        Relation::Contains => [Status::Contains, Status::Contained],
        Relation::Contained => [Status::Contained, Status::Contains],
        Relation::Shares => [Status::Shares; 2],
    }
}

fn mark(status: &mut [Status], link: &Link, [of_a, of_b]: [Status; 2]) {
    for (content, seen) in [(link.a, of_a), (link.b, of_b)] {
        let status = &mut status[content.0 as usize];
        *status = seen.min(*status);
    }
}
