//! Suggestions: tags on which links rest that join what is otherwise unlike. The engine is the judge: what is suggested was
//! left out of an analysis, and links were gone.
//!
//! A tag comes into question when contents of several kinds have it (versions of a document are one kind) and it is, with
//! the others like it, the lesser part of most of them. Near-duplicates are one kind, however many, so that what makes
//! them near is never suggested on their account.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use cognate_fingerprint::Tag;
use cognate_proto::limits::TEXT_BYTES_MAX;
use cognate_proto::name::ScanId;
use cognate_proto::selection::Selection;
use cognate_proto::v1;
use cognate_similarity::{Analysis, Input, Link, Options, Progress, Watch, analyse_telling};

use super::spread::{Contents, Kinds, NOWHERE, Seen, Spread};
use super::{Chunk, TAGS_MAX, joined};
use crate::coordinator::Coordinator;
use crate::error::Error;
use crate::result::cluster_name;
use crate::scan::{AnalysisLimits, Copies, Frozen, Scan, ScanSpec, Subject};
use crate::store::{ScanRow, ScanStep};

/// How often something is suggested at most, one time upon the other.
const ROUNDS_MAX: u32 = 10;
/// From how many kinds on, where nothing is said.
const KINDS_MIN: u32 = 5;
/// How many documents of a suggestion are named.
const EXAMPLES: usize = 3;

/// What is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub(crate) scan: ScanId,
    /// Whether it goes on as if what is suggested were marked.
    pub(crate) until_quiet: bool,
    pub(crate) kinds_min: usize,
}

impl Wish {
    pub(crate) fn from_wire(request: v1::SuggestTemplatesRequest) -> Result<Wish, Error> {
        let kinds_min = if request.min_documents == 0 { KINDS_MIN } else { request.min_documents };
        if kinds_min < 2 {
            return Err(Error::Invalid("`min_documents`: at least two have something in common".to_owned()));
        }
        let kinds_min = usize::try_from(kinds_min).unwrap_or(usize::MAX);
        Ok(Wish { scan: ScanId(request.scan), until_quiet: request.until_quiet, kinds_min })
    }
}

/// What is told on the way; answers whether anybody listens.
pub(crate) type Suggested<'a> = dyn Fn(v1::SuggestTemplatesResponse) -> bool + Sync + 'a;

impl Coordinator {
    /// Analyses what a scan was about as it stands now, and tells what is worth marking.
    ///
    /// # Errors
    /// When the scan has no result, its sites have no indexes any more, or the analysis fails.
    pub(crate) fn suggest_templates(
        &self,
        wish: &Wish,
        limits: &AnalysisLimits,
        told: &Suggested<'_>,
    ) -> Result<(), Error> {
        let row = self.store.scan(wish.scan)?.filter(|row| row.step() == ScanStep::Published);
        let row = row.ok_or_else(|| Error::Refused(format!("scan {} has no result", wish.scan)))?;
        let spec = ScanSpec::from_wire(&row.spec.clone().unwrap_or_default(), limits)?;
        let scan = Scan::new(wish.scan, ScanSpec { method_id: row.method_id(), ..spec });
        let places = row.frozen.iter().map(|frozen| (frozen.site.clone(), frozen.repository.clone()));
        let _hold = self.scans.indexes.hold(places);
        let choices = self.scans.choices(&scan.spec)?;
        let taken = self.scans.freeze_templates(self.scans.take_last(&scan, &choices, ScanRow::default())?)?;
        let selection = Selection::new(scan.spec.selection.clone()).map_err(|e| Error::Invalid(e.to_string()))?;
        let mut frozen = Frozen::build(&self.scans.indexes, &taken, &selection)?;
        frozen.set_aside(self.scans.frozen_templates(&taken)?)?;
        let copies = Copies::of(&frozen);
        let folder = self.scans.folder.join(wish.scan.to_string());
        let desk = Desk { scan: &scan, copies: &copies, spill_dir: &folder, told };
        let mut found = desk.analysed(&frozen, &payloads(&frozen))?;
        for round in 1..=ROUNDS_MAX {
            let spread = found.spread(&frozen, wish.kinds_min)?;
            if spread.chunks.is_empty() {
                break;
            }
            let trial = found.without(&desk, &mut frozen, &spread)?;
            let chosen = desk.bundles(&frozen, &found, &trial, &spread, round)?;
            if chosen.is_empty() || !wish.until_quiet {
                break;
            }
            let all_of_it = chosen.len() == spread.chunks.len();
            frozen.set_aside(chosen)?;
            found = if all_of_it { trial } else { desk.analysed(&frozen, &payloads(&frozen))? };
        }
        Ok(())
    }
}

fn payloads(frozen: &Frozen) -> Vec<u64> {
    frozen.contents.iter().map(|content| content.payload_bytes).collect()
}

/// What an analysis found, as far as it matters here.
struct Found {
    analysis: Analysis,
    /// By (a, b).
    links: Vec<Link>,
    cluster_of: Vec<u32>,
}

impl Found {
    fn spread(&self, frozen: &Frozen, kinds_min: usize) -> Result<Spread, Error> {
        let payload_bytes = payloads(frozen);
        let kinds = Kinds::of(&self.links, &payload_bytes);
        let contents =
            Contents { kinds: &kinds, payload_bytes: &payload_bytes, cluster_of: &self.cluster_of, kinds_min };
        Spread::find(&frozen.shards, &contents)
    }

    /// The same analysis without the tags that are spread.
    fn without(&self, desk: &Desk<'_>, frozen: &mut Frozen, spread: &Spread) -> Result<Found, Error> {
        let before = frozen.shards.templates().to_vec();
        let tags = spread.chunks.iter().map(|chunk| chunk.0);
        frozen.shards.set_templates(before.iter().copied().chain(tags).collect());
        let less = |(payload, held): (u64, &u64)| payload.saturating_sub(*held);
        let payload_bytes: Vec<u64> = payloads(frozen).into_iter().zip(&spread.held_bytes).map(less).collect();
        let found = desk.analysed(frozen, &payload_bytes);
        frozen.shards.set_templates(before);
        found
    }

    /// The links that another analysis does not have, each with its cluster.
    fn gone(&self, trial: &Found) -> Vec<(u32, Link)> {
        let mut still = trial.links.iter().map(|link| (link.a, link.b)).peekable();
        let is_gone = |link: &&Link| {
            while still.next_if(|pair| *pair < (link.a, link.b)).is_some() {}
            still.next_if_eq(&(link.a, link.b)).is_none()
        };
        self.links.iter().filter(is_gone).map(|link| (self.cluster_of[link.a.0 as usize], *link)).collect()
    }
}

/// What all steps of one request work with.
struct Desk<'a> {
    scan: &'a Scan,
    copies: &'a Copies,
    spill_dir: &'a std::path::Path,
    told: &'a Suggested<'a>,
}

impl Desk<'_> {
    fn analysed(&self, frozen: &Frozen, payload_bytes: &[u64]) -> Result<Found, Error> {
        let subject = Subject::of(frozen, self.scan.spec.across_only);
        let told = |now: Progress| {
            let share = (1000 * now.done).checked_div(now.total).unwrap_or(1000);
            let (done, total) = (now.phase as u64 * 1000 + share, 5000);
            let phase = v1::AnalysisPhase::Comparing.into();
            let progress = Some(v1::AnalysisState { phase, done, total });
            if !(self.told)(v1::SuggestTemplatesResponse { progress, suggestion: None }) {
                self.scan.cancelled.store(true, Ordering::Relaxed);
            }
        };
        let watch = Watch { progress: &told, cancelled: &self.scan.cancelled };
        let links: Mutex<Vec<Link>> = Mutex::default();
        let keep = |told: &[Link]| {
            links.lock().expect("nothing panics while it is held").extend_from_slice(told);
            Ok(())
        };
        let input = Input { payload_bytes, ..subject.input() };
        let spec = &self.scan.spec;
        let options = Options {
            thresholds: spec.thresholds,
            memory_budget_bytes: spec.memory_budget_bytes,
            threads: spec.threads,
            spill_dir: self.spill_dir,
        };
        let analysis = analyse_telling(&frozen.shards, &input, &options, &watch, &keep)?;
        let mut links = links.into_inner().expect("nothing panicked while it was held");
        links.sort_unstable();
        let mut cluster_of = vec![NOWHERE; frozen.contents.len()];
        for (cluster, number) in analysis.clusters.iter().zip(0..) {
            cluster.members.iter().for_each(|member| cluster_of[member.0 as usize] = number);
        }
        Ok(Found { analysis, links, cluster_of })
    }

    /// Tells of the tags on which links rested that are gone, cluster by cluster, and answers them.
    fn bundles(
        &self,
        frozen: &Frozen,
        found: &Found,
        trial: &Found,
        spread: &Spread,
        round: u32,
    ) -> Result<Vec<Tag>, Error> {
        let gone = found.gone(trial);
        let mut bundles = carriers(frozen, &gone, spread, &found.cluster_of)?;
        let mut suggestions = Vec::new();
        for (cluster, chunks) in &mut bundles {
            // The heaviest, where one template would be too large: the others come with the next round.
            chunks.sort_unstable_by_key(|(weight, chunk)| (std::cmp::Reverse(*weight), *chunk));
            chunks.truncate(TAGS_MAX);
            let mut chunks: Vec<Chunk> = chunks.iter().map(|(_, chunk)| *chunk).collect();
            chunks.sort_unstable();
            let name = cluster_name(frozen, &found.analysis.clusters[*cluster as usize]);
            suggestions.push((self.measured(frozen, found, &gone, spread, &chunks)?, name, chunks));
        }
        suggestions.sort_by(|a, b| b.0.documents.cmp(&a.0.documents).then_with(|| a.1.cmp(&b.1)));
        let mut chosen = Vec::new();
        for (suggestion, cluster, chunks) in suggestions {
            chosen.extend(chunks.iter().map(|chunk| chunk.0));
            let (tags, lengths) = joined(&chunks);
            let suggestion = v1::TemplateSuggestion { round, cluster, tags, lengths, ..suggestion };
            (self.told)(v1::SuggestTemplatesResponse { progress: None, suggestion: Some(suggestion) });
        }
        Ok(chosen)
    }

    /// What it would come to if these were marked, together with the others.
    fn measured(
        &self,
        frozen: &Frozen,
        found: &Found,
        gone: &[(u32, Link)],
        spread: &Spread,
        chunks: &[Chunk],
    ) -> Result<v1::TemplateSuggestion, Error> {
        let mut holders = Seen::new(frozen.contents.len());
        holders.begin();
        let mut suggestion = v1::TemplateSuggestion::default();
        let tags: Vec<Tag> = chunks.iter().map(|chunk| chunk.0).collect();
        let copies = |content: u32| self.copies.of_content(cognate_similarity::ContentIndex(content));
        frozen.shards.visit_tags(&tags, &mut |_, postings| {
            for posting in postings {
                let documents = copies(posting.content.0).len() as u64;
                suggestion.document_bytes += documents * u64::from(posting.length_bytes);
                if holders.show(posting.content.0) {
                    let content = &frozen.contents[posting.content.0 as usize];
                    let held_bytes = spread.held_bytes[posting.content.0 as usize];
                    suggestion.documents += documents;
                    suggestion.emptied += if content.payload_bytes <= held_bytes { documents } else { 0 };
                }
            }
            Ok(())
        })?;
        let mut touched: HashMap<u32, u64> = HashMap::new();
        for (cluster, link) in gone {
            *touched.entry(*cluster).or_default() += 1;
            if holders.has(link.a.0) && holders.has(link.b.0) {
                suggestion.links_gone += 1;
            }
        }
        let mine = gone.iter().filter(|(_, link)| holders.has(link.a.0) && holders.has(link.b.0));
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
                let path = cognate_proto::path::printable(document.path.as_bytes());
                let path: String = path.chars().take(TEXT_BYTES_MAX).collect();
                format!("{}/{}/{path}", root.site, root.repository)
            }));
        }
        Ok(suggestion)
    }
}

/// The chunks on which links rested that are gone, by the cluster in which most of their holders are of those that lost
/// links; each with its weight.
fn carriers(
    frozen: &Frozen,
    gone: &[(u32, Link)],
    spread: &Spread,
    cluster_of: &[u32],
) -> Result<std::collections::BTreeMap<u32, Vec<(u64, Chunk)>>, Error> {
    let mut partners: HashMap<u32, Vec<u32>> = HashMap::new();
    for (_, link) in gone {
        partners.entry(link.a.0).or_default().push(link.b.0);
    }
    let mut holders = Seen::new(frozen.contents.len());
    let mut bundles = std::collections::BTreeMap::<u32, Vec<(u64, Chunk)>>::new();
    let tags: Vec<Tag> = spread.chunks.iter().map(|chunk| chunk.0).collect();
    frozen.shards.visit_tags(&tags, &mut |tag, postings| {
        holders.begin();
        let contents: Vec<u32> =
            postings.iter().map(|posting| posting.content.0).filter(|content| holders.show(*content)).collect();
        let mut clusters: Vec<u32> = contents
            .iter()
            .filter(|content| {
                partners.get(content).is_some_and(|partners| partners.iter().any(|partner| holders.has(*partner)))
            })
            .map(|content| cluster_of[*content as usize])
            .collect();
        clusters.sort_unstable();
        let most = clusters.chunk_by(|a, b| a == b).max_by_key(|same| (same.len(), std::cmp::Reverse(same[0])));
        if let Some(same) = most {
            let length_bytes = postings[0].length_bytes;
            let weight = contents.len() as u64 * u64::from(length_bytes);
            bundles.entry(same[0]).or_default().push((weight, (tag, length_bytes)));
        }
        Ok(())
    })?;
    Ok(bundles)
}
