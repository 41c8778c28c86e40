//! The search through one index after the other.
//!
//! Within an index, the overlap with each document is added up from its postings, tag by tag; only the strongest
//! matches stay, so that memory is bounded by them and by the contents of one index. Where fine chunks will be asked for,
//! as many contents that are below the thresholds stay as well: with fine chunks they may reach them. These are contents with a chunk in common, and
//! those whose window samples have values in common with that of the document, which a scan would propose as well.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use cognate_desk::find::{FindQuery, Found, Holder, Match, Measure, Searched, SearchedDocument};
use cognate_fingerprint::{ContentDigest, Feature, FeatureKind, Runs, Tag, is_hit, sample_bytes_per_value};
use cognate_proto::limits::FIND_HOLDERS_MAX;
use cognate_proto::v1::DocumentState;
use cognate_similarity::fine::ChunkCount;
use cognate_similarity::{ContentIndex, ContentMap, RunInput, RunShards, Shards as _};

use super::Finder;
use super::draft::{CANDIDATES_MAX, Draft, Proposal, Strength};
use super::verify::CONTENTS_MAX;
use crate::error::Error;
use cognate_storage::indexes::Sealed;
use cognate_storage::store::SlotKey;
use cognate_storage::template;
use cognate_storage::{Index, IndexedContent};

/// So many values in common make a content a candidate. It need not be a part of either that is worth a link: a passage of a kilobyte in a
/// long document is what is searched for, and the strongest candidates alone are measured.
const COMMON_VALUES_MIN: u64 = 2;
/// The weight of a value in common if one content has it; each of more holders divides it.
const RARITY: u64 = 64;

/// A search in progress.
pub(super) struct Search<'a> {
    finder: &'a Finder,
    query: &'a FindQuery,
    /// The tags of templates, ascending.
    templates: Vec<Tag>,
    documents: Vec<Progress>,
}

/// The matches of one document so far.
struct Progress {
    /// Each tag that counts once, with its number of occurrences and its length.
    tags: HashMap<Tag, (u64, u32)>,
    /// The same tags, ascending.
    sorted: Vec<Tag>,
    payload_bytes: u64,
    matches: Proposals,
    /// Contents that are below the thresholds.
    below: Proposals,
    documents: u64,
}

/// By digest and by digest of the chunks: sites that describe a content differently are measured by their own chunks.
type ContentKey = (ContentDigest, [u8; 16]);
type Proposals = BTreeMap<ContentKey, Proposal>;

/// A content that has something in common with a document.
struct Hit {
    digest: ContentDigest,
    size_bytes: u64,
    measure: Measure,
    /// True if it reaches the thresholds.
    reaches: bool,
    strength: Strength,
}

impl Hit {
    fn of(digest: ContentDigest, size_bytes: u64, measure: Measure) -> Hit {
        Hit {
            digest,
            size_bytes,
            measure,
            reaches: true,
            strength: Strength { in_common_bytes: measure.shared_bytes.unwrap_or(0), rarity: 0 },
        }
    }
}

/// An open index, and the meaning of its ordinals.
struct Open<'a> {
    key: &'a SlotKey,
    party: &'a str,
    sealed: Sealed,
    index: Arc<Index>,
    shards: RunShards,
    /// The contents that a document has, by their ordinals.
    contents: HashMap<u32, ContentDigest>,
}

impl Open<'_> {
    /// The content with an ordinal, if a document has it.
    fn content(&self, ordinal: u32) -> Option<(ContentDigest, &IndexedContent)> {
        let digest = self.contents.get(&ordinal)?;
        Some((*digest, self.index.contents.get(digest)?))
    }
}

impl<'a> Search<'a> {
    pub(super) fn new(finder: &'a Finder, query: &'a FindQuery) -> Result<Search<'a>, Error> {
        let templates = template::in_force(&finder.store, query.method_id)?.1.tags;
        let documents = query.documents.iter().map(|queried| Progress::new(queried, &templates)).collect();
        Ok(Search { finder, query, templates, documents })
    }

    /// Searches the index of a key, if there is one.
    pub(super) fn index(&mut self, key: &SlotKey, party: &str) -> Result<Option<Searched>, Error> {
        let indexes = &self.finder.indexes;
        let Some(sealed) = indexes.sealed(key)? else { return Ok(None) };
        let open = self.open(key, party, sealed)?;
        for number in 0..self.documents.len() {
            let mut found = self.candidates(&open, number)?;
            let queried = &self.query.documents[number];
            if let Some(content) = open.index.contents.get(&queried.digest)
                && open.contents.contains_key(&content.ordinal)
                && queried.size_bytes > 0
            {
                found.retain(|one| one.digest != queried.digest);
                found.push(Hit::of(queried.digest, content.size_bytes, Measure::identical(queried.size_bytes)));
            }
            self.take(&open, number, found);
        }
        let bare = |state| matches!(state, DocumentState::NoText | DocumentState::Container);
        let mut searched = Searched { documents: 0, unread: 0, sealed: indexes.sealed_at(open.sealed.id)? };
        for (_, document) in open.index.documents.iter() {
            match document.content {
                Some(_) => searched.documents += 1,
                None => searched.unread += u64::from(!bare(document.state)),
            }
        }
        Ok(Some(searched))
    }

    fn open<'k>(&self, key: &'k SlotKey, party: &'k str, sealed: Sealed) -> Result<Open<'k>, Error> {
        let indexes = &self.finder.indexes;
        let index = indexes.load(sealed.id, sealed.sequence)?;
        let (runs, ordinals) = indexes.runs(sealed.id, sealed.sequence)?;
        let live = index.live();
        let mut map: Vec<Option<ContentIndex>> = vec![None; index.ordinals().max(ordinals) as usize];
        let mut contents = HashMap::new();
        for (digest, content) in index.contents.iter().filter(|(digest, _)| live.contains(digest)) {
            map[content.ordinal as usize] = Some(ContentIndex(content.ordinal));
            contents.insert(content.ordinal, *digest);
        }
        let map: ContentMap = map.into_iter().collect();
        let inputs = runs.into_iter().map(|run| RunInput { run, contents: map.clone() });
        Ok(Open { key, party, sealed, index, shards: RunShards::new(inputs.collect()), contents })
    }

    /// The contents of an index that overlap with a document, and the overlap.
    fn candidates(&self, open: &Open<'_>, number: usize) -> Result<Vec<Hit>, Error> {
        let (queried, progress) = (&self.query.documents[number], &self.documents[number]);
        let method = &self.query.method;
        if method.capabilities().features == FeatureKind::Index {
            return within_range(open, queried);
        }
        let mut shared: HashMap<u32, u64> = HashMap::new();
        open.shards.visit_tags(&progress.sorted, &mut |tag, postings| {
            let (count, length_bytes) = progress.tags.get(&tag).copied().unwrap_or_default();
            let mut ordinals: Vec<u32> = postings.iter().map(|posting| posting.content.0).collect();
            ordinals.sort_unstable();
            for same in ordinals.chunk_by(|a, b| a == b) {
                let common = count.min(same.len() as u64) * u64::from(length_bytes);
                *shared.entry(same[0]).or_default() += common;
            }
            Ok(())
        })?;
        if method.capabilities().only_proposes() {
            let contents = shared.keys().filter_map(|ordinal| open.content(*ordinal));
            return Ok(contents
                .map(|(digest, content)| Hit::of(digest, content.size_bytes, Measure::candidate()))
                .collect());
        }
        if !method.capabilities().has_chunks() {
            return self.estimated(open, queried, shared.into_keys());
        }
        let sampled = if self.query.is_fine() { sampled(open, queried) } else { HashMap::new() };
        for ordinal in sampled.keys() {
            shared.entry(*ordinal).or_default();
        }
        let aside = self.set_aside(open, &shared)?;
        let measured = shared.into_iter().filter_map(|(ordinal, shared)| {
            let (digest, content) = open.content(ordinal)?;
            let aside = aside.get(&ordinal).copied().unwrap_or(0);
            let payload = (content.weight - content.repeated_bytes).saturating_sub(aside);
            let measure = Measure::exact(shared, progress.payload_bytes, payload);
            let reaches = shared > 0 && measure.reaches(&self.query.least, [progress.payload_bytes, payload]);
            // Of what both have in templates, with what chance adds to an estimate of it, nothing counts.
            let of_templates = aside.min(queried.size_bytes - progress.payload_bytes);
            let Strength { in_common_bytes, rarity } = sampled.get(&ordinal).copied().unwrap_or_default();
            let in_common_bytes = shared.max(in_common_bytes.saturating_sub(of_templates * 5 / 4));
            let strength = Strength { in_common_bytes, rarity };
            let hit = Hit { digest, size_bytes: content.size_bytes, measure, reaches, strength };
            Some(hit).filter(|hit| hit.reaches || (self.query.is_fine() && in_common_bytes > 0))
        });
        Ok(measured.collect())
    }

    /// The bytes of templates that these contents have.
    fn set_aside(&self, open: &Open<'_>, contents: &HashMap<u32, u64>) -> Result<HashMap<u32, u64>, Error> {
        let mut aside: HashMap<u32, u64> = HashMap::new();
        if contents.is_empty() {
            return Ok(aside);
        }
        open.shards.visit_tags(&self.templates, &mut |_, postings| {
            // A chunk of one repeated byte is not part of the payload.
            for posting in postings.iter().filter(|posting| !posting.template) {
                if contents.contains_key(&posting.content.0) {
                    *aside.entry(posting.content.0).or_default() += u64::from(posting.length_bytes);
                }
            }
            Ok(())
        })?;
        Ok(aside)
    }

    /// The same for methods that compare signatures: they are read back.
    fn estimated(
        &self,
        open: &Open<'_>,
        queried: &SearchedDocument,
        ordinals: impl Iterator<Item = u32>,
    ) -> Result<Vec<Hit>, Error> {
        let wanted: HashSet<ContentDigest> =
            ordinals.filter_map(|ordinal| open.contents.get(&ordinal)).copied().collect();
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let own = self.features(&queried.features);
        let mut found = Vec::new();
        self.finder.indexes.manifests(&open.sealed, &wanted, &mut |manifest| {
            let features: Vec<Feature> =
                manifest.chunks.iter().map(|(tag, weight, _)| Feature { tag, weight }).collect();
            let Some(agreement) = self.query.method.agreement(&own, &self.features(&features)) else { return Ok(()) };
            let sizes = [queried.size_bytes, manifest.content.size_bytes];
            let measure = Measure::sampled(&self.query.method, &agreement, sizes);
            if measure.shared_bytes > Some(0) && measure.reaches(&self.query.least, sizes) {
                found.push(Hit::of(manifest.content.digest, sizes[1], measure));
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Features without those of templates, ascending and each once.
    fn features(&self, features: &[Feature]) -> Vec<Feature> {
        let is_own = |feature: &&Feature| self.templates.binary_search(&feature.tag).is_err();
        let mut features: Vec<Feature> = features.iter().filter(is_own).copied().collect();
        features.sort_unstable();
        features.dedup();
        features
    }

    /// Adds the matches of an index for a document, with their holders.
    fn take(&mut self, open: &Open<'_>, number: usize, found: Vec<Hit>) {
        let mut holders: HashMap<ContentDigest, Vec<Holder>> =
            found.iter().map(|hit| (hit.digest, Vec::new())).collect();
        let mut counts: HashMap<ContentDigest, u64> = HashMap::new();
        if !found.is_empty() {
            for (path, document) in open.index.documents.iter() {
                let Some((digest, holders)) =
                    document.content.and_then(|digest| holders.get_mut(&digest).map(|holders| (digest, holders)))
                else {
                    continue;
                };
                *counts.entry(digest).or_default() += 1;
                if holders.len() < FIND_HOLDERS_MAX {
                    holders.push(Holder {
                        site: open.key.site.clone(),
                        repository: open.key.repository.clone(),
                        path,
                        modified: document.modified,
                        party: open.party.to_owned(),
                    });
                }
            }
        }
        let progress = &mut self.documents[number];
        for Hit { digest, size_bytes, measure, reaches, strength } in found {
            let count = counts.get(&digest).copied().unwrap_or(0);
            let own = holders.remove(&digest).unwrap_or_default();
            let chunks_digest = open.index.contents.get(&digest).map_or([0; 16], |content| content.chunks_digest);
            progress.documents += if reaches { count } else { 0 };
            let new = || {
                let (precision, coarse) = (None, None);
                let one = Match { digest, size_bytes, measure, precision, coarse, documents: 0, holders: Vec::new() };
                Proposal { strength, one }
            };
            let proposals = if reaches { &mut progress.matches } else { &mut progress.below };
            let known = &mut proposals.entry((digest, chunks_digest)).or_insert_with(new).one;
            known.documents += count;
            let free = FIND_HOLDERS_MAX.saturating_sub(known.holders.len());
            known.holders.extend(own.into_iter().take(free));
        }
        let below_max = if self.query.is_fine() { CANDIDATES_MAX } else { 0 };
        let proposed_max = if self.query.is_verified() { CONTENTS_MAX } else { 0 };
        let matches_max = self.query.matches_max.max(below_max).max(proposed_max);
        let by_strength: [(usize, Order); 2] = [(below_max, Proposal::by_bytes), (below_max, Proposal::by_rarity)];
        keep(&mut progress.matches, &[&[(matches_max, Proposal::by_match as Order)], &by_strength[..]].concat());
        keep(&mut progress.below, &by_strength);
    }

    /// The matches, in order, by whole chunks; and the tags of templates.
    pub(super) fn finish(self, runs: Option<&Runs>) -> (Vec<Draft>, Vec<Tag>) {
        let Search { query, documents, templates, .. } = self;
        let in_order = |proposals: Proposals, order: Order| {
            let mut all: Vec<Proposal> = proposals.into_values().collect();
            all.sort_unstable_by(order);
            all
        };
        let draft = |(progress, queried): (Progress, &SearchedDocument)| {
            let has_chunks = query.method.capabilities().has_chunks();
            let lengths: Vec<u32> = queried.features.iter().map(|feature| feature.weight).collect();
            let matches = in_order(progress.matches, Proposal::by_match).into_iter();
            let (strengths, matches) = matches.map(|Proposal { strength, one }| (strength, one)).unzip();
            let found = Found {
                size_bytes: queried.size_bytes,
                template_bytes: if has_chunks { queried.size_bytes - progress.payload_bytes } else { 0 },
                run_lengths: runs.filter(|_| has_chunks).map(|runs| runs.observed(std::iter::once(lengths.as_slice()))),
                documents: progress.documents,
                documents_omitted: 0,
                matches,
            };
            let count = |(tag, (count, length_bytes)): (Tag, (u64, u32))| ChunkCount {
                tag,
                length_bytes,
                count: u32::try_from(count).unwrap_or(u32::MAX),
            };
            let mut chunks: Vec<ChunkCount> = progress.tags.into_iter().map(count).collect();
            chunks.sort_unstable();
            let below = in_order(progress.below, Proposal::by_bytes);
            Draft { found, strengths, below, payload_bytes: progress.payload_bytes, chunks }
        };
        (documents.into_iter().zip(&query.documents).map(draft).collect(), templates)
    }
}

/// The contents whose number is near that of a document: these methods store numbers in place of features.
fn within_range(open: &Open<'_>, queried: &SearchedDocument) -> Result<Vec<Hit>, Error> {
    let (Some(own), mut found) = (queried.index, Vec::new()) else { return Ok(Vec::new()) };
    for shard in 0..open.shards.shard_count() {
        open.shards.visit(shard, &mut |postings| {
            let hits = postings.iter().filter(|posting| is_hit(own, i128::from_be_bytes(posting.tag.0)));
            let contents = hits.filter_map(|posting| open.content(posting.content.0));
            found.extend(contents.map(|(digest, content)| Hit::of(digest, content.size_bytes, Measure::candidate())));
            Ok(())
        })?;
    }
    Ok(found)
}

impl Progress {
    fn new(queried: &SearchedDocument, templates: &[Tag]) -> Progress {
        let mut tags: HashMap<Tag, (u64, u32)> = HashMap::new();
        let (mut payload_bytes, mut repeated) = (0, queried.repeated.iter().peekable());
        for (place, feature) in queried.features.iter().enumerate() {
            let is_repeated = repeated.next_if(|next| **next as usize == place).is_some();
            if is_repeated || templates.binary_search(&feature.tag).is_ok() {
                continue;
            }
            payload_bytes += u64::from(feature.weight);
            tags.entry(feature.tag).or_insert((0, feature.weight)).0 += 1;
        }
        let mut sorted: Vec<Tag> = tags.keys().copied().collect();
        sorted.sort_unstable();
        let (matches, below) = (BTreeMap::new(), BTreeMap::new());
        Progress { tags, sorted, payload_bytes, matches, below, documents: 0 }
    }
}

/// An order of proposals, the strongest first.
type Order = fn(&Proposal, &Proposal) -> Ordering;

/// Drops all but the first of each order, as many as it says. The others only become weaker as more are found, so that no match of the
/// answer is lost.
fn keep(all: &mut Proposals, orders: &[(usize, Order)]) {
    if orders.iter().any(|(most, _)| all.len() <= *most) {
        return;
    }
    let mut kept: HashSet<ContentKey> = HashSet::new();
    for (most, order) in orders {
        let mut first: Vec<(&ContentKey, &Proposal)> = all.iter().collect();
        first.sort_unstable_by(|(_, a), (_, b)| order(a, b));
        kept.extend(first.into_iter().take(*most).map(|(key, _)| *key));
    }
    all.retain(|key, _| kept.contains(key));
}

/// The contents of an index whose samples have enough in common with that of a document, and how much.
fn sampled(open: &Open<'_>, queried: &SearchedDocument) -> HashMap<u32, Strength> {
    let (own, counts) = (queried.sample.values().collect::<HashSet<_>>(), queried.sample.counts());
    if own.is_empty() {
        return HashMap::new();
    }
    let contents =
        || open.contents.iter().filter_map(|(ordinal, digest)| Some((*ordinal, open.index.contents.get(digest)?)));
    let mut holders: HashMap<u64, u64> = HashMap::new();
    for value in contents().flat_map(|(_, content)| content.sample.values()).filter(|value| own.contains(value)) {
        *holders.entry(value).or_default() += 1;
    }
    let in_common = contents().filter_map(|(ordinal, content)| {
        let (mut common, mut rarity) = (0, 0);
        for holders in content.sample.values().filter_map(|value| holders.get(&value)) {
            common += 1;
            rarity += (RARITY / holders).max(1);
        }
        let (level, _) = counts.at_common_level(&content.sample.counts());
        let in_common_bytes = common * sample_bytes_per_value(level);
        (common >= COMMON_VALUES_MIN).then_some((ordinal, Strength { in_common_bytes, rarity }))
    });
    in_common.collect()
}
