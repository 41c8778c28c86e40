//! Suggestions: tags on which links rest that join otherwise unlike documents. The engine is the judge: suggested tags were
//! left out of an analysis, and of some links nothing was left that came near to a link. Such links are hollow.
//!
//! A tag comes into question when contents of several kinds have it (versions of a document are one kind) and it is, with
//! the others like it, the lesser part of most of them. Near-duplicates are one kind, however many, so that what makes
//! them near is never suggested on their account.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use cognate_fingerprint::Tag;
use cognate_proto::limits::TEXT_BYTES_MAX;
use cognate_proto::v1;
use cognate_similarity::{
    Analysis, Error as EngineError, Input, Link, LinkSink, Monitor, Options, Progress, Shards, Thresholds,
    analyse_with_links, find_links,
};
use cognate_storage::store::ScanRow;
use cognate_storage::template::{Chunk, TAGS_MAX, joined};

pub use self::postings::Postings;
use self::spread::{Contents, SpreadTags};
use crate::analyser::Analyser;
use crate::clusters::collect;
use crate::copies::Copies;
use crate::error::Error;
use crate::freeze::{FreezeRequest, FrozenSet, IgnoreReason, OtherLayer};
use crate::kinds::{Kinds, NumberSet, cluster_of_each};
use crate::result::cluster_name;
use crate::spec::ScanJob;
use crate::subject::Subject;

mod postings;
mod spread;

/// The most rounds of suggestions, each on top of the earlier ones.
const ROUNDS_MAX: u32 = 24;
/// Of the tags on which a cluster rests, those are suggested that have at least this part of the holders of the one that
/// has most: the others may carry nothing once these are gone.
const TIER: usize = 4;
/// Holders, joined by hollow links, that are enough to find the cluster of a tag.
const JOINED_MAX: usize = 64;
/// Number of documents that a suggestion names.
const EXAMPLES: usize = 3;

/// Receives progress and suggestions; returns false once the caller is gone.
pub type Listener<'a> = dyn Fn(v1::SuggestTemplatesResponse) -> bool + Sync + 'a;

/// Options of a request for suggestions.
#[derive(Clone, Copy, Debug)]
pub struct SuggestOptions {
    /// Continue as if each suggestion had been marked, until nothing is left to suggest.
    pub until_quiet: bool,
    /// Least number of kinds of contents that hold a suggested tag; at least 2.
    pub kinds_min: usize,
}

impl Analyser {
    /// Analyses a scan's frozen row again and suggests the tags that are worth marking. Links of the row's first layer are
    /// judged; the caller holds its indexes.
    ///
    /// # Errors
    /// Fails if the indexes cannot be read, or the analysis fails.
    pub fn suggest_templates(
        &self,
        scan: &ScanJob,
        row: &ScanRow,
        options: SuggestOptions,
        listener: &Listener<'_>,
    ) -> Result<(), Error> {
        let method = scan.spec.first().method;
        let selection = scan.spec.selection()?;
        let (indexes, other_layer) = (&*self.indexes, OtherLayer::None);
        let request = FreezeRequest { indexes, row, layer: 0, method: &method, selection: &selection, other_layer };
        let mut frozen = FrozenSet::build(&request)?;
        frozen.set_aside(self.frozen_templates(row, 0)?.tags, IgnoreReason::Template)?;
        let copies = Copies::of(&frozen);
        let folder = self.scan_folder(scan.id);
        let desk = Desk { scan, copies: &copies, spill_dir: &folder, listener };
        let mut found = desk.analysed(&frozen, &payloads(&frozen))?;
        for round in 1..=ROUNDS_MAX {
            let spread = found.spread(&frozen, options.kinds_min)?;
            if spread.chunks.is_empty() {
                break;
            }
            let hollow = found.hollow(&desk, &mut frozen, &spread)?;
            let bundles = carriers(&frozen, &hollow, &spread, &found.cluster_of)?;
            if bundles.is_empty() {
                break;
            }
            let before = payloads(&frozen);
            frozen.set_aside(bundles.values().flatten().map(|chunk| chunk.0).collect(), IgnoreReason::Template)?;
            let next = desk.analysed(&frozen, &payloads(&frozen))?;
            let gone = found.without(&next.links);
            desk.send(&frozen, &found, &Losses { gone: &gone, hollow: &hollow }, &bundles, &before, round)?;
            if !options.until_quiet {
                break;
            }
            found = next;
        }
        Ok(())
    }
}

fn payloads(frozen: &FrozenSet) -> Vec<u64> {
    frozen.contents.iter().map(|content| content.weight).collect()
}

/// Findings of an analysis, as far as they matter here.
struct RoundAnalysis {
    analysis: Analysis,
    /// By (a, b).
    links: Vec<Link>,
    cluster_of: Vec<u32>,
}

impl RoundAnalysis {
    fn spread(&self, frozen: &FrozenSet, kinds_min: usize) -> Result<SpreadTags, Error> {
        let payload_bytes = payloads(frozen);
        let kinds = Kinds::of(&self.links, &payload_bytes).finish();
        let contents =
            Contents { kinds: &kinds, payload_bytes: &payload_bytes, cluster_of: &self.cluster_of, kinds_min };
        SpreadTags::find(&frozen.shards, &contents)
    }

    /// The links between contents of which, without the tags that are spread, nothing is left that comes near to a link:
    /// not to a fifth of the thresholds.
    fn hollow(&self, desk: &Desk<'_>, frozen: &mut FrozenSet, spread: &SpreadTags) -> Result<Vec<(u32, Link)>, Error> {
        let before = frozen.shards.templates().to_vec();
        let tags = spread.chunks.iter().map(|chunk| chunk.0);
        frozen.shards.set_templates(before.iter().copied().chain(tags).collect());
        let less = |(payload, held): (u64, &u64)| payload.saturating_sub(*held);
        let payload_bytes: Vec<u64> = payloads(frozen).into_iter().zip(&spread.held_bytes).map(less).collect();
        let left = desk.links_at_a_fifth(frozen, &payload_bytes);
        frozen.shards.set_templates(before);
        Ok(self.without(&left?))
    }

    /// The links that are not among others, each with its cluster.
    fn without(&self, others: &[Link]) -> Vec<(u32, Link)> {
        let mut others = others.iter().map(|link| (link.a, link.b)).peekable();
        let is_gone = |link: &&Link| {
            while others.next_if(|pair| *pair < (link.a, link.b)).is_some() {}
            others.next_if_eq(&(link.a, link.b)).is_none()
        };
        self.links.iter().filter(is_gone).map(|link| (self.cluster_of[link.a.0 as usize], *link)).collect()
    }
}

/// Links that are gone once some tags are set aside, and those that were hollow; both by (a, b).
struct Losses<'a> {
    gone: &'a [(u32, Link)],
    hollow: &'a [(u32, Link)],
}

impl Losses<'_> {
    fn is_hollow(&self, link: &Link) -> bool {
        self.hollow.binary_search_by_key(&(link.a, link.b), |(_, link)| (link.a, link.b)).is_ok()
    }
}

/// Shared state of all steps of one request.
struct Desk<'a> {
    scan: &'a ScanJob,
    copies: &'a Copies,
    spill_dir: &'a std::path::Path,
    listener: &'a Listener<'a>,
}

impl Desk<'_> {
    fn analysed(&self, frozen: &FrozenSet, payload_bytes: &[u64]) -> Result<RoundAnalysis, Error> {
        let thresholds = self.scan.spec.first().thresholds;
        let (analysis, links) = self.run(frozen, payload_bytes, thresholds, analyse_with_links)?;
        let cluster_of = cluster_of_each(frozen.contents.len(), &analysis.clusters);
        Ok(RoundAnalysis { analysis, links, cluster_of })
    }

    /// The links at a fifth of the thresholds.
    fn links_at_a_fifth(&self, frozen: &FrozenSet, payload_bytes: &[u64]) -> Result<Vec<Link>, Error> {
        let thresholds = self.scan.spec.first().thresholds.fifth();
        Ok(self.run(frozen, payload_bytes, thresholds, find_links)?.1)
    }

    /// Runs the engine. Returns the links as well, by (a, b).
    fn run<T>(
        &self,
        frozen: &FrozenSet,
        payload_bytes: &[u64],
        thresholds: Thresholds,
        engine: impl FnOnce(&dyn Shards, &Input<'_>, &Options<'_>, &Monitor<'_>, &LinkSink<'_>) -> Result<T, EngineError>,
    ) -> Result<(T, Vec<Link>), Error> {
        let spec = &self.scan.spec;
        let links: Mutex<Vec<Link>> = Mutex::default();
        let keep = |new: &[Link]| collect(&links, new, spec.memory_budget_bytes);
        let subject = Subject::of(frozen, spec.options.across_only);
        let input = Input { payload_bytes, ..subject.input() };
        let options = Options {
            thresholds,
            memory_budget_bytes: spec.memory_budget_bytes,
            threads: spec.threads,
            spill_dir: self.spill_dir,
        };
        let progress = |now: Progress| self.progress(now);
        let monitor = Monitor { progress: &progress, cancelled: &self.scan.cancelled };
        let found = engine(&frozen.shards, &input, &options, &monitor, &keep)?;
        let mut links = links.into_inner().expect("nothing panicked while it was held");
        links.sort_unstable();
        Ok((found, links))
    }

    /// Sends the progress; ends the request if the caller is gone.
    fn progress(&self, now: Progress) {
        let share = (1000 * now.done).checked_div(now.total).unwrap_or(1000);
        let (done, total) = (now.phase as u64 * 1000 + share, 5000);
        let progress = Some(v1::AnalysisState { phase: v1::AnalysisPhase::Comparing.into(), done, total });
        if !(self.listener)(v1::SuggestTemplatesResponse { progress, suggestion: None }) {
            self.scan.cancelled.store(true, Ordering::Relaxed);
        }
    }

    /// Sends the bundles that are ignored, those that most documents have first.
    fn send(
        &self,
        frozen: &FrozenSet,
        found: &RoundAnalysis,
        losses: &Losses<'_>,
        bundles: &Bundles,
        payload_bytes: &[u64],
        round: u32,
    ) -> Result<(), Error> {
        let mut suggestions = Vec::new();
        for (cluster, chunks) in bundles {
            let cluster = cluster_name(frozen, &found.analysis.clusters[*cluster as usize]);
            let (tags, lengths) = joined(chunks);
            let measured = self.measured(frozen, found, losses, chunks, payload_bytes)?;
            suggestions.push(v1::TemplateSuggestion { round, cluster, tags, lengths, ..measured });
        }
        suggestions.sort_by(|a, b| b.documents.cmp(&a.documents).then_with(|| a.cluster.cmp(&b.cluster)));
        for suggestion in suggestions {
            (self.listener)(v1::SuggestTemplatesResponse { progress: None, suggestion: Some(suggestion) });
        }
        Ok(())
    }

    /// Effect of ignoring these, together with the other bundles.
    fn measured(
        &self,
        frozen: &FrozenSet,
        found: &RoundAnalysis,
        losses: &Losses<'_>,
        chunks: &[Chunk],
        payload_bytes: &[u64],
    ) -> Result<v1::TemplateSuggestion, Error> {
        let mut holders = NumberSet::new(frozen.contents.len());
        holders.begin();
        let mut suggestion = v1::TemplateSuggestion::default();
        let tags: Vec<Tag> = chunks.iter().map(|chunk| chunk.0).collect();
        let copies = |content: u32| self.copies.of_content(cognate_similarity::ContentIndex(content));
        frozen.shards.visit_tags(&tags, &mut |_, postings| {
            for posting in postings {
                let content = posting.content.0;
                let documents = copies(content).len() as u64;
                suggestion.document_bytes += documents * u64::from(posting.length_bytes);
                if holders.show(content) {
                    let emptied =
                        frozen.contents[content as usize].payload_bytes == 0 && payload_bytes[content as usize] > 0;
                    suggestion.documents += documents;
                    suggestion.emptied += if emptied { documents } else { 0 };
                }
            }
            Ok(())
        })?;
        let mut touched: HashMap<u32, u64> = HashMap::new();
        for (cluster, link) in losses.gone {
            *touched.entry(*cluster).or_default() += 1;
            if holders.has(link.a.0) && holders.has(link.b.0) {
                suggestion.links_gone += 1;
                suggestion.links_hollow += u64::from(losses.is_hollow(link));
            }
        }
        let mine = losses.gone.iter().filter(|(_, link)| holders.has(link.a.0) && holders.has(link.b.0));
        let mut clusters: Vec<u32> = mine.map(|(cluster, _)| *cluster).collect();
        clusters.sort_unstable();
        clusters.dedup();
        for cluster in clusters {
            match touched[&cluster] == found.analysis.clusters[cluster as usize].link_count {
                true => suggestion.clusters_gone += 1,
                false => suggestion.clusters_changed += 1,
            }
        }
        let named = (0..frozen.contents.len()).zip(0..).filter(|(_, content)| holders.has(*content)).take(EXAMPLES);
        for (_, content) in named {
            let document = copies(content).first().map(|place| &frozen.documents[*place as usize]);
            suggestion.examples.extend(document.map(|document| {
                let root = &frozen.roots[document.root as usize];
                let path = cognate_proto::path::printable(frozen.path(document));
                let path: String = path.chars().take(TEXT_BYTES_MAX).collect();
                format!("{}/{}/{path}", root.site, root.repository)
            }));
        }
        Ok(suggestion)
    }
}

/// By (a, b).
/// Chunks, ascending, by the cluster that they belong to.
type Bundles = BTreeMap<u32, Vec<Chunk>>;

/// The chunks on which hollow links rest, each with the cluster in which most of its holders are that have such links: of
/// every cluster those that are spread widest.
fn carriers(
    frozen: &FrozenSet,
    hollow: &[(u32, Link)],
    spread: &SpreadTags,
    cluster_of: &[u32],
) -> Result<Bundles, Error> {
    let mut partners: HashMap<u32, Vec<u32>> = HashMap::new();
    for (_, link) in hollow {
        partners.entry(link.a.0).or_default().push(link.b.0);
    }
    let mut holders = NumberSet::new(frozen.contents.len());
    let mut carriers = BTreeMap::<u32, Vec<(usize, Chunk)>>::new();
    let tags: Vec<Tag> = spread.chunks.iter().map(|chunk| chunk.0).collect();
    frozen.shards.visit_tags(&tags, &mut |tag, postings| {
        holders.begin();
        let contents: Vec<u32> =
            postings.iter().map(|posting| posting.content.0).filter(|content| holders.show(*content)).collect();
        let has_hollow = |content: &&u32| {
            partners.get(content).is_some_and(|partners| partners.iter().any(|partner| holders.has(*partner)))
        };
        let joined = contents.iter().filter(has_hollow).take(JOINED_MAX);
        let mut clusters: Vec<u32> = joined.map(|content| cluster_of[*content as usize]).collect();
        clusters.sort_unstable();
        let most = clusters.chunk_by(|a, b| a == b).max_by_key(|same| (same.len(), std::cmp::Reverse(same[0])));
        if let Some(same) = most {
            carriers.entry(same[0]).or_default().push((contents.len(), (tag, postings[0].length_bytes)));
        }
        Ok(())
    })?;
    Ok(carriers.into_iter().map(|(cluster, chunks)| (cluster, widest(chunks))).collect())
}

/// The chunks that are spread widest, ascending, and no more than one template can have.
fn widest(mut chunks: Vec<(usize, Chunk)>) -> Vec<Chunk> {
    chunks.sort_unstable_by_key(|(holders, chunk)| (std::cmp::Reverse(*holders), *chunk));
    let most = chunks.first().map_or(0, |(holders, _)| *holders);
    chunks.retain(|(holders, _)| holders * TIER >= most);
    chunks.truncate(TAGS_MAX);
    let mut chunks: Vec<Chunk> = chunks.into_iter().map(|(_, chunk)| chunk).collect();
    chunks.sort_unstable();
    chunks
}

#[cfg(test)]
mod tests;
