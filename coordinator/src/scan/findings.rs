//! What follows from an analysis for every document: its status, its partner, its folder, and how far places overlap.
//!
//! Links are read once, one by one, from their file: memory grows with contents and documents, not with links.

use cognate_similarity::{Analysis, Level, Link, LinkFile, Relation};

use super::copies::Copies;
use super::folders::{FolderPair, Partners, PartnersSoFar};
use super::freeze::Frozen;
use super::histogram::{Counter, Histogram};
use super::subject::{Subject, index};
use crate::error::Error;

/// What became of a document: the first that applies (`docs/report.md`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Status {
    /// It has no bytes.
    ExcludedEmpty,
    /// All its bytes are template.
    ExcludedTemplate,
    /// There is no text in documents of its kind.
    ExcludedNoText,
    /// What it holds stands beside it.
    ExcludedContainer,
    /// Another document has the same bytes.
    Identical,
    /// It holds most of another, and that most of it.
    Near,
    /// It holds most of another.
    Contains,
    /// Another holds most of it.
    Contained,
    /// It shares enough with another to be told.
    Shares,
    /// Nothing of the kind.
    Unique,
}

impl Status {
    /// Whether it is a reason to leave a document out.
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
}

/// All that a scan found.
pub(crate) struct Findings {
    pub(crate) analysis: Analysis,
    /// Per content, the documents that have it: places in `Frozen::documents`, packed in content order.
    pub(crate) copies: Copies,
    /// Per content, whether its copies form an identical set that counts.
    pub(crate) identical: Vec<bool>,
    /// Per content, what its documents are.
    pub(crate) status: Vec<Status>,
    pub(crate) overlap: Vec<OverlapRow>,
    pub(crate) partners: Partners,
    pub(crate) folders: Vec<FolderPair>,
    pub(crate) histogram: Histogram,
}

impl Findings {
    /// Follows all links of an analysis.
    pub(super) fn of(subject: Subject<'_>, analysis: Analysis, links: &LinkFile) -> Result<Findings, Error> {
        let frozen = subject.frozen;
        let identical = subject.identical();
        let mut status = statuses(frozen, &identical);
        let mut partners = PartnersSoFar::new(&subject);
        let mut reached = subject.levels.each_ref().map(|level| Reached::new(&subject, level));
        let mut counter = Counter::new(&subject);
        links.for_each(|link| {
            let relation = frozen.relation(link);
            mark(&mut status, link, relation);
            partners.link(link, relation);
            reached.iter_mut().flatten().for_each(|reached| reached.link(link));
            counter.link(link);
        })?;
        let (partners, histogram) = (partners.finish(), counter.finish());
        Ok(Findings {
            overlap: overlap(&subject, &analysis, reached),
            folders: super::folders::pairs(frozen, &partners),
            partners,
            identical,
            status,
            histogram,
            copies: subject.copies,
            analysis,
        })
    }
}

/// What documents are without their links.
fn statuses(frozen: &Frozen, identical: &[bool]) -> Vec<Status> {
    let contents = frozen.contents.iter().zip(identical);
    contents
        .map(|(content, identical)| match (content.size_bytes, content.payload_bytes, identical) {
            (0, ..) => Status::ExcludedEmpty,
            (_, 0, _) => Status::ExcludedTemplate,
            (_, _, true) => Status::Identical,
            _ => Status::Unique,
        })
        .collect()
}

fn mark(status: &mut [Status], link: &Link, relation: Relation) {
    let seen_from_a = match relation {
        Relation::Near => Status::Near,
        Relation::Contains => Status::Contains,
        Relation::Contained => Status::Contained,
        Relation::Shares => Status::Shares,
    };
    let seen_from_b = match relation {
        Relation::Contains => Status::Contained,
        Relation::Contained => Status::Contains,
        _ => seen_from_a,
    };
    for (content, seen) in [(link.a, seen_from_a), (link.b, seen_from_b)] {
        let status = &mut status[content.0 as usize];
        *status = seen.min(*status);
    }
}

/// Under which labels each content is held, and under which others are held that are linked with it: a bit for each.
struct Reached<'a> {
    subject: &'a Subject<'a>,
    level: &'a Level,
    words: usize,
    held: Vec<u64>,
    linked: Vec<u64>,
}

impl<'a> Reached<'a> {
    /// Nothing where there is but one label.
    fn new(subject: &'a Subject<'a>, level: &'a Level) -> Option<Reached<'a>> {
        if level.label_count < 2 {
            return None;
        }
        let words = usize::from(level.label_count).div_ceil(64);
        let mut held = vec![0; words * subject.frozen.contents.len()];
        for document in &subject.frozen.documents {
            let label = usize::from(level.labels[usize::from(document.root)]);
            held[document.content.0 as usize * words + label / 64] |= 1 << (label % 64);
        }
        Some(Reached { subject, level, words, linked: vec![0; held.len()], held })
    }

    fn link(&mut self, link: &Link) {
        for (from, to) in [(link.a, link.b), (link.b, link.a)] {
            let (from, to) = (from.0 as usize * self.words, to.0 as usize * self.words);
            for word in 0..self.words {
                self.linked[from + word] |= self.held[to + word];
            }
        }
    }

    /// For each pair of labels, the documents of the first that are identical or linked to one of the second.
    fn documents_in_common(&self) -> Vec<u64> {
        let count = usize::from(self.level.label_count);
        let mut documents = vec![0; count * count];
        for (content, frozen) in self.subject.frozen.contents.iter().enumerate() {
            if frozen.size_bytes == 0 {
                continue;
            }
            let first = content * self.words;
            let is_common = |label: usize| {
                let word = first + label / 64;
                (self.held[word] | self.linked[word]) >> (label % 64) & 1 == 1
            };
            for place in self.subject.copies.of_content(index(content)) {
                let root = self.subject.frozen.documents[*place as usize].root;
                let own = usize::from(self.level.labels[usize::from(root)]);
                for other in (0..count).filter(|other| *other != own && is_common(*other)) {
                    documents[own * count + other] += 1;
                }
            }
        }
        documents
    }
}

fn overlap(subject: &Subject<'_>, analysis: &Analysis, reached: [Option<Reached<'_>>; 2]) -> Vec<OverlapRow> {
    let roots = &subject.frozen.roots;
    let mut rows = Vec::new();
    for (place, (name, reached)) in ["site", "party"].into_iter().zip(reached).enumerate() {
        let Some(reached) = reached else { continue };
        let documents = reached.documents_in_common();
        let level = reached.level;
        let label_name = |label: u16| {
            let root = level.labels.iter().position(|other| *other == label).expect("every label has a root");
            match place {
                0 => roots[root].site.to_string(),
                _ => roots[root].party.to_string(),
            }
        };
        let found = &analysis.overlap[place];
        for a in 0..level.label_count {
            for b in a + 1..level.label_count {
                let cell = |a: u16, b: u16| usize::from(a) * usize::from(level.label_count) + usize::from(b);
                rows.push(OverlapRow {
                    level: name,
                    a: label_name(a),
                    b: label_name(b),
                    documents: [documents[cell(a, b)], documents[cell(b, a)]],
                    shared_bytes: [found.shared_bytes(a, b), found.shared_bytes(b, a)],
                    template_bytes: [found.template_bytes(a, b), found.template_bytes(b, a)],
                });
            }
        }
    }
    rows
}
