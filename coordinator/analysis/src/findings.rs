//! The outcome of an analysis for every document: its status, its partner, its folder, and the overlap of places.
//!
//! Links are read one by one from their file: memory grows with contents and documents, not with links.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use cognate_similarity::{Analysis, Level, Link, OmittedOf, Relation};

use crate::alignment::{Alignment, PlaceVote};
use crate::cluster_joins::{ClusterJoins, Join};
use crate::clusters::Links;
use crate::copies::Copies;
use crate::coverage::ClosestRelatives;
use crate::error::Error;
use crate::fine::{OutsideLink, outside_of, rests_on_frame};
use crate::folders::{FolderPair, Partners, PartnersSoFar};
use crate::freeze::{FrozenContent, FrozenSet};
use crate::histogram::{Counter, Histogram};
use crate::measure::Measures;
use crate::subject::{Subject, index};
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
    /// Nothing of the kind.
    Unique,
}

impl Status {
    /// True if it is a reason to leave a document out.
    pub(crate) fn is_excluded(self) -> bool {
        self < Status::Identical
    }
}

/// Overlap of two sites or of two parties, both ways.
pub(crate) struct OverlapRow {
    pub(crate) level: &'static str,
    pub(crate) a: String,
    pub(crate) b: String,
    pub(crate) documents: [u64; 2],
    pub(crate) shared_bytes: [u64; 2],
    pub(crate) template_bytes: [u64; 2],
    /// Each content once, however many copies.
    pub(crate) contents: [u64; 2],
    pub(crate) shared_once_bytes: [u64; 2],
}

/// Documents of a folder at the top of a repository that are found nowhere else, not even in part.
pub(crate) struct OnlyHere {
    pub(crate) root: u16,
    /// Its name; empty for the repository itself.
    pub(crate) folder: Vec<u8>,
    pub(crate) documents: u64,
    pub(crate) size_bytes: u64,
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
}

/// The findings that follow from the links.
pub(crate) struct LinkFindings {
    /// Per cluster, what joins its members.
    pub(crate) joins: Vec<Join>,
    /// Per content, true if its copies form an identical set that counts.
    pub(crate) identical: Vec<bool>,
    /// Per content, what its documents are.
    pub(crate) status: Vec<Status>,
    pub(crate) overlap: Vec<OverlapRow>,
    /// Between parties if there are two or more, else between sites.
    pub(crate) only_here: Vec<OnlyHere>,
    pub(crate) partners: Partners,
    pub(crate) folders: Vec<FolderPair>,
    pub(crate) histogram: Histogram,
}

impl LinkFindings {
    /// Reads the links once for what documents are to each other, and once for what places and clusters have in common, at the same time.
    pub(crate) fn of(
        subject: &Subject<'_>,
        evidence: &LinkEvidence<'_>,
        threads: NonZeroUsize,
    ) -> Result<LinkFindings, Error> {
        let LinkEvidence { analysis, links, outside, measures, alignment } = *evidence;
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
            let partners = partners.finish();
            Ok::<_, Error>((status, crate::folders::pairs(frozen, &partners), partners))
        };
        let of_places = || {
            let mut reached = subject.levels.each_ref().map(|level| LabelReach::new(subject, level));
            let coverage = measures.coverage();
            let mut closest = subject.levels.each_ref().map(|level| ClosestRelatives::new(subject, level, coverage));
            let mut counter = Counter::new(subject);
            let mut joined = ClusterJoins::new(frozen.contents.len(), &analysis.clusters, outside, &subject.copies);
            links.for_each(|link| {
                let measured = measures.of(&frozen.contents, link);
                let rests = rests_on_frame(outside, link);
                reached.iter_mut().flatten().for_each(|reached| reached.link(link, rests));
                closest.iter_mut().for_each(|closest| closest.link(link, &measured));
                counter.link(link, &measured);
                joined.link(link, &measured);
            })?;
            counter.omitted(&analysis.omitted);
            for reached in reached.iter_mut().flatten() {
                analysis.omitted.of.iter().for_each(|one| reached.omitted(one));
            }
            let only_here = reached.iter().flatten().last().map(LabelReach::only_here).unwrap_or_default();
            let joins = joined.finish(&frozen.contents, measures);
            Ok::<_, Error>((overlap(subject, analysis, reached, closest), only_here, joins, counter.finish()))
        };
        let (of_documents, of_places) = side_by_side(threads, of_documents, of_places);
        let ((status, folders, partners), (overlap, only_here, joins, histogram)) = (of_documents?, of_places?);
        Ok(LinkFindings { joins, identical, status, overlap, only_here, partners, folders, histogram })
    }
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

/// Under which labels each content is held, and under which others are held that are linked with it, or share standard text with it: a bit
/// for each.
struct LabelReach<'a> {
    subject: &'a Subject<'a>,
    level: &'a Level,
    words: usize,
    held: Vec<u64>,
    linked: Vec<u64>,
    standard_text: Vec<u64>,
}

impl<'a> LabelReach<'a> {
    /// Nothing where there is but one label.
    fn new(subject: &'a Subject<'a>, level: &'a Level) -> Option<LabelReach<'a>> {
        if level.label_count < 2 {
            return None;
        }
        let words = usize::from(level.label_count).div_ceil(64);
        let mut held = vec![0; words * subject.frozen.contents.len()];
        for document in subject.frozen.documents.iter().filter(|document| !document.control) {
            let label = usize::from(level.labels[usize::from(document.root)]);
            held[document.content.0 as usize * words + label / 64] |= 1 << (label % 64);
        }
        let none = || vec![0; held.len()];
        Some(LabelReach { subject, level, words, linked: none(), standard_text: none(), held })
    }

    fn link(&mut self, link: &Link, rests_on_frame: bool) {
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
    fn omitted(&mut self, one: &OmittedOf) {
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

    /// True if something of a content is held under a label other than its document's own.
    fn is_at(&self, content: usize, label: usize) -> bool {
        let word = content * self.words + label / 64;
        (self.held[word] | self.linked[word]) >> (label % 64) & 1 == 1
    }

    /// True if a content shares no more than standard text with others under a label.
    fn has_standard_text_at(&self, content: usize, label: usize) -> bool {
        self.standard_text[content * self.words + label / 64] >> (label % 64) & 1 == 1
    }

    /// The label of a document, unless it was planted.
    fn label(&self, place: u32) -> Option<usize> {
        let frozen = self.subject.frozen;
        let label = self.level.labels[usize::from(frozen.root_of(place))];
        (!frozen.is_control(place)).then_some(usize::from(label))
    }

    /// For each pair of labels, the documents of the first that are identical or linked to one of the second, and of how
    /// many contents they are.
    fn in_common(&self) -> InCommon {
        let count = usize::from(self.level.label_count);
        let mut found = InCommon::of(count);
        let mut copies = vec![0; count];
        for (content, frozen) in self.subject.frozen.contents.iter().enumerate() {
            if frozen.size_bytes == 0 || frozen.counts_as_text {
                continue;
            }
            copies.fill(0);
            let labels = self.subject.copies.of_content(index(content)).iter().filter_map(|place| self.label(*place));
            labels.for_each(|label| copies[label] += 1);
            for (own, copies) in copies.iter().enumerate().filter(|(_, copies)| **copies > 0) {
                for other in (0..count).filter(|other| *other != own && self.is_at(content, *other)) {
                    found.documents[own * count + other] += copies;
                    found.contents[own * count + other] += 1;
                    // It has no chunks in the comparison: a copy is all that it can have.
                    if frozen.spoken_for {
                        found.copied_bytes[own * count + other] += copies * frozen.size_bytes;
                        found.copied_once_bytes[own * count + other] += frozen.size_bytes;
                    }
                }
            }
        }
        found
    }

    /// The documents that are neither identical nor linked to one under another label, nor share standard text with one, by root and folder.
    fn only_here(&self) -> Vec<OnlyHere> {
        let count = usize::from(self.level.label_count);
        let mut folders: BTreeMap<(u16, &[u8]), (u64, u64)> = BTreeMap::new();
        for (document, place) in self.subject.frozen.documents.iter().zip(0..) {
            let Some(own) = self.label(place) else { continue };
            let content = document.content.0 as usize;
            let FrozenContent { size_bytes, counts_as_text, .. } = self.subject.frozen.contents[content];
            let is_there = |other| self.is_at(content, other) || self.has_standard_text_at(content, other);
            if size_bytes == 0 || counts_as_text || (0..count).any(|other| other != own && is_there(other)) {
                continue;
            }
            let path = self.subject.frozen.path(document);
            let folder = path.iter().position(|byte| *byte == b'/').map_or(&path[..0], |slash| &path[..slash]);
            let (documents, bytes) = folders.entry((document.root, folder)).or_default();
            *documents += 1;
            *bytes += size_bytes;
        }
        let row = |((root, folder), (documents, size_bytes)): ((u16, &[u8]), (u64, u64))| OnlyHere {
            root,
            folder: folder.to_vec(),
            documents,
            size_bytes,
        };
        folders.into_iter().map(row).collect()
    }
}

/// Weights that pairs of labels have in common, row by row.
struct InCommon {
    documents: Vec<u64>,
    contents: Vec<u64>,
    /// Bytes of copies of contents for which text speaks, and of those contents.
    copied_bytes: Vec<u64>,
    copied_once_bytes: Vec<u64>,
}

impl InCommon {
    fn of(labels: usize) -> InCommon {
        let [documents, contents, copied_bytes, copied_once_bytes] = [(); 4].map(|()| vec![0; labels * labels]);
        InCommon { documents, contents, copied_bytes, copied_once_bytes }
    }
}

fn overlap(
    subject: &Subject<'_>,
    analysis: &Analysis,
    reached: [Option<LabelReach<'_>>; 2],
    closest: [ClosestRelatives<'_>; 2],
) -> Vec<OverlapRow> {
    let roots = &subject.frozen.roots;
    let mut rows = Vec::new();
    for (place, (name, reached)) in ["site", "party"].into_iter().zip(reached).enumerate() {
        let Some(reached) = reached else { continue };
        let in_common = reached.in_common();
        let level = reached.level;
        let label_name = |label: u16| {
            let root = level.labels.iter().position(|other| *other == label).expect("every label has a root");
            match place {
                0 => roots[root].site.to_string(),
                _ => roots[root].party.to_string(),
            }
        };
        let covered = closest[place].covered(analysis.overlap.get(place));
        for a in 0..level.label_count {
            for b in a + 1..level.label_count {
                let cell = |a: u16, b: u16| usize::from(a) * usize::from(level.label_count) + usize::from(b);
                rows.push(OverlapRow {
                    level: name,
                    a: label_name(a),
                    b: label_name(b),
                    documents: [cell(a, b), cell(b, a)].map(|cell| in_common.documents[cell]),
                    contents: [cell(a, b), cell(b, a)].map(|cell| in_common.contents[cell]),
                    shared_bytes: [cell(a, b), cell(b, a)]
                        .map(|cell| covered.shared_bytes[cell] + in_common.copied_bytes[cell]),
                    template_bytes: [cell(a, b), cell(b, a)].map(|cell| covered.template_bytes[cell]),
                    shared_once_bytes: [cell(a, b), cell(b, a)]
                        .map(|cell| covered.shared_once_bytes[cell] + in_common.copied_once_bytes[cell]),
                });
            }
        }
    }
    rows
}
