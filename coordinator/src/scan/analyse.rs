//! What a frozen set comes to: the engine's clusters and overlap, and what follows from them for every document.

use std::path::Path;
use std::sync::Mutex;

use cognate_similarity::{
    Analysis, ContentIndex, Group, Holders, Holding, Input, Level, Link, Options, Progress, Relation, Watch,
    analyse_telling,
};

use super::copies::Copies;
use super::folders::{FolderPair, Partners};
use super::freeze::Frozen;
use super::spec::Scan;
use crate::error::Error;

/// What became of a document: the first that applies (`docs/report.md`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Status {
    /// It has no bytes.
    ExcludedEmpty,
    /// All its bytes are template.
    ExcludedTemplate,
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
}

/// What the engine is told of a frozen set.
pub(crate) struct Prepared<'a> {
    scan: &'a Scan,
    spill_dir: &'a Path,
    holders: Holders,
    levels: [Level; 2],
}

impl<'a> Prepared<'a> {
    pub(crate) fn of(frozen: &Frozen, copies: &Copies, scan: &'a Scan, spill_dir: &'a Path) -> Prepared<'a> {
        let (sites, parties) = labels(frozen);
        Prepared { scan, spill_dir, holders: holders(frozen, copies), levels: [sites, parties] }
    }

    /// The labels across which links count, if they count so: parties where there are two or more, else sites.
    fn across(&self) -> &[u16] {
        let [sites, parties] = &self.levels;
        if parties.label_count > 1 { &parties.labels } else { &sites.labels }
    }

    /// Contents with these payloads.
    pub(crate) fn input<'b>(&'b self, payload_bytes: &'b [u64]) -> Input<'b> {
        Input {
            payload_bytes,
            holders: &self.holders,
            levels: &self.levels,
            across: self.scan.spec.across_only.then_some(self.across()),
        }
    }

    pub(crate) fn options(&self) -> Options<'_> {
        Options {
            thresholds: self.scan.spec.thresholds,
            memory_budget_bytes: self.scan.spec.memory_budget_bytes,
            threads: self.scan.spec.threads,
            spill_dir: self.spill_dir,
        }
    }
}

impl Findings {
    /// Analyses a frozen set.
    pub(crate) fn of(
        frozen: &Frozen,
        scan: &Scan,
        spill_dir: &Path,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<Findings, Error> {
        let copies = Copies::of(frozen);
        let prepared = Prepared::of(frozen, &copies, scan, spill_dir);
        // Groups are roots.
        let across = prepared.across();
        let payload_bytes: Vec<u64> = frozen.contents.iter().map(|content| content.payload_bytes).collect();
        let (input, options) = (prepared.input(&payload_bytes), prepared.options());
        let phases = 5;
        let told = |now: Progress| {
            let share = (1000 * now.done).checked_div(now.total).unwrap_or(1000);
            progress(now.phase as u64 * 1000 + share, phases * 1000);
        };
        let watch = Watch { progress: &told, cancelled: &scan.cancelled };
        // A cluster keeps only some of its links where they are very many; what is said of its documents follows from all.
        let links: Mutex<Vec<Link>> = Mutex::default();
        let keep = |told: &[Link]| {
            links.lock().expect("nothing panics while it is held").extend_from_slice(told);
            Ok(())
        };
        let analysis = analyse_telling(&frozen.shards, &input, &options, &watch, &keep)?;
        let mut links = links.into_inner().expect("nothing panicked while it was held");
        links.sort_unstable();
        tracing::info!(
            postings = analysis.stats.postings,
            shared_tags = analysis.stats.shared_tags,
            candidates = analysis.stats.candidates,
            links = analysis.stats.links,
            spilled_bytes = analysis.stats.spilled_bytes,
            "compared"
        );
        let identical: Vec<bool> = (0..frozen.contents.len())
            .map(|content| {
                let copies = copies.of_content(index(content));
                let mut labels = copies.iter().map(|place| across[frozen.documents[*place as usize].root as usize]);
                let first = labels.next();
                let counts = !scan.spec.across_only || labels.any(|label| Some(label) != first);
                copies.len() > 1 && frozen.contents[content].size_bytes > 0 && counts
            })
            .collect();
        let status = statuses(frozen, &links, &identical);
        let partners = Partners::of(frozen, &copies, &links, input.across);
        Ok(Findings {
            overlap: overlap(frozen, &copies, &analysis, &links, &prepared.levels),
            folders: super::folders::pairs(frozen, &partners),
            partners,
            identical,
            status,
            copies,
            analysis,
        })
    }
}

fn index(place: usize) -> ContentIndex {
    ContentIndex(u32::try_from(place).expect("fewer than 2^32 contents"))
}

fn labels(frozen: &Frozen) -> (Level, Level) {
    let level = |labels: Vec<u16>| Level { label_count: labels.iter().max().map_or(0, |most| most + 1), labels };
    (
        level(frozen.roots.iter().map(|root| root.site_number).collect()),
        level(frozen.roots.iter().map(|root| root.party_number).collect()),
    )
}

fn holders(frozen: &Frozen, copies: &Copies) -> Holders {
    let mut holders = Holders::new();
    for content in 0..frozen.contents.len() {
        let mut holdings: Vec<Holding> = Vec::new();
        // Documents are ordered by root, so that the copies of a root stand together.
        for place in copies.of_content(index(content)) {
            let group = Group(frozen.documents[*place as usize].root);
            match holdings.last_mut() {
                Some(last) if last.group == group => last.copies += 1,
                _ => holdings.push(Holding { group, copies: 1 }),
            }
        }
        holders.push(holdings);
    }
    holders
}

fn statuses(frozen: &Frozen, links: &[Link], identical: &[bool]) -> Vec<Status> {
    let mut status: Vec<Status> = frozen
        .contents
        .iter()
        .zip(identical)
        .map(|(content, identical)| match (content.size_bytes, content.payload_bytes, identical) {
            (0, ..) => Status::ExcludedEmpty,
            (_, 0, _) => Status::ExcludedTemplate,
            (_, _, true) => Status::Identical,
            _ => Status::Unique,
        })
        .collect();
    for link in links {
        let [a, b] = [link.a.0 as usize, link.b.0 as usize];
        let relation = frozen.relation(link);
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
        status[a] = status[a].min(seen_from_a);
        status[b] = status[b].min(seen_from_b);
    }
    status
}

fn overlap(
    frozen: &Frozen,
    copies: &Copies,
    analysis: &Analysis,
    links: &[Link],
    levels: &[Level; 2],
) -> Vec<OverlapRow> {
    let mut rows = Vec::new();
    for (place, (name, level)) in ["site", "party"].into_iter().zip(levels).enumerate() {
        if level.label_count < 2 {
            continue;
        }
        let documents = documents_in_common(frozen, copies, links, level);
        let label_name = |label: u16| {
            let root = level.labels.iter().position(|other| *other == label).expect("every label has a root");
            match place {
                0 => frozen.roots[root].site.to_string(),
                _ => frozen.roots[root].party.to_string(),
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

/// For each pair of labels, the documents of the first that are identical or linked to one of the second.
fn documents_in_common(frozen: &Frozen, copies: &Copies, links: &[Link], level: &Level) -> Vec<u64> {
    let count = usize::from(level.label_count);
    let label_of = |place: &u32| usize::from(level.labels[frozen.documents[*place as usize].root as usize]);
    let held_by = |content: usize| {
        let mut held = vec![false; count];
        copies.of_content(index(content)).iter().for_each(|place| held[label_of(place)] = true);
        held
    };
    let mut reached: std::collections::HashMap<u32, Vec<bool>> = std::collections::HashMap::new();
    for link in links {
        for (from, to) in [(link.a.0, link.b.0), (link.b.0, link.a.0)] {
            let held = held_by(to as usize);
            let all = reached.entry(from).or_insert_with(|| vec![false; count]);
            all.iter_mut().zip(held).for_each(|(all, held)| *all |= held);
        }
    }
    let mut documents = vec![0; count * count];
    for (content, frozen_content) in frozen.contents.iter().enumerate() {
        if frozen_content.size_bytes == 0 {
            continue;
        }
        let held = held_by(content);
        let linked = reached.get(&index(content).0);
        for place in copies.of_content(index(content)) {
            let own = label_of(place);
            for other in (0..count).filter(|other| *other != own) {
                if held[other] || linked.is_some_and(|linked| linked[other]) {
                    documents[own * count + other] += 1;
                }
            }
        }
    }
    documents
}
