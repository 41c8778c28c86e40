//! Fine figures of a find: the strongest matches of each document are measured by fine chunks, as a scan measures pairs
//! (`similarity::fine`, `docs/decisions/0028-fine-figures.md`).
//!
//! The query has the fine chunks of its own chunks; a site is asked for those of what is left of a match. A plan is made from
//! the manifests, the sites are asked, all at the same time and no longer than [`WAIT_MAX`], and then everything is measured.
//! A match whose fine chunks cannot all be had keeps the figures of whole chunks, and says why.
//!
//! Fine chunks that scans keep are not used: a site gave them for a scan, and its policy decides about this question again.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use cognate_analysis::fine::{FineAnswer, FineRequest};
use cognate_fingerprint::{ContentDigest, FineChunk, Tag};
use cognate_proto::fine::{Expansion, FineChoice};
use cognate_proto::limits::FINE_CHUNKS_MAX;
use cognate_proto::name::{RepositoryName, SiteName};
use cognate_proto::options::Precision;
use cognate_proto::v1::FindRelation;
use cognate_similarity::fine::{ByChunks, CLOSE_LOOK_TIMES, ChunkCount, FineMeasure, by_chunks, counted};
use cognate_storage::Error as StorageError;
use cognate_storage::store::SlotKey;
use tokio::task::JoinSet;
use tokio::time::Instant;

use cognate_desk::find::{Answer, Coarse, FindQuery, Match, Measure, WAIT_MAX};

use super::Finder;
use super::draft::{CANDIDATES_MAX, Draft, Strength};
use crate::error::Error;
use crate::session::{FineScan, NoAnswer};

/// Chunks of one repository that a find asks for: their fine chunks take some 7 MB on the way.
const CHUNKS_MAX: usize = FINE_CHUNKS_MAX / 2;
/// Chunks that are left of the candidates of a find and of their documents, all together: 50 MB. Candidates beyond them are not
/// measured.
const LEFT_CHUNKS_MAX: usize = 1 << 21;
/// Bytes that are left of one of the two in a candidate that is measured, each chunk as often as it occurs: as many as the fine chunks of a
/// [query](cognate_proto::limits::FIND_FINE_MAX) are of.
const LEFT_BYTES_MAX: u64 = 64 << 20;
/// Sites that are asked for the chunks of one match, one after the other, if they have copies of it.
const SOURCES_MAX: usize = 3;

/// The questions of a find, and the answers so far.
pub(super) struct Plan {
    query: Arc<FindQuery>,
    /// True if the person who asks sees several parties.
    across_parties: bool,
    /// The repositories whose latest scan followed symbolic links.
    following: BTreeSet<Source>,
    candidates: Vec<Candidate>,
    /// Chunks of the query whose fine chunks are missing.
    wanted: BTreeSet<Tag>,
    /// Fine chunks from the sites.
    known: HashMap<Tag, Arc<[FineChunk]>>,
    /// Chunks that are left of the candidates.
    left_chunks: usize,
}

/// A repository.
type Source = (SiteName, RepositoryName);

/// A match of a document that is measured.
struct Candidate {
    document: usize,
    /// Its place among the matches, or among the contents below the thresholds.
    place: Place,
    digest: ContentDigest,
    by_chunks: ByChunks,
    payload_bytes: u64,
    /// Repositories that have it and are not asked yet, the next one last.
    sources: Vec<Source>,
    /// The reason why it is coarse, unless all fine chunks are known in the end.
    coarse: Option<Coarse>,
    /// True if no site needs to be asked.
    is_settled: bool,
}

#[derive(Clone, Copy)]
enum Place {
    Match(usize),
    Below(usize),
}

impl Place {
    fn is_below(self) -> bool {
        matches!(self, Place::Below(_))
    }
}

/// A question to a repository, with the length of each chunk.
#[derive(Default)]
struct Question {
    contents: BTreeMap<ContentDigest, BTreeSet<Tag>>,
    lengths: HashMap<Tag, u32>,
    /// The candidates that wait for the answer.
    candidates: Vec<usize>,
}

impl Finder {
    /// Plans the questions. Blocks while it reads the manifests of the candidates.
    pub(super) fn fine_plan(
        &self,
        query: &Arc<FindQuery>,
        drafts: &[Draft],
        templates: &[Tag],
        across_parties: bool,
    ) -> Result<Plan, Error> {
        let mut plan = Plan {
            query: Arc::clone(query),
            across_parties,
            following: BTreeSet::new(),
            candidates: Vec::new(),
            wanted: BTreeSet::new(),
            known: HashMap::new(),
            left_chunks: 0,
        };
        for (document, draft) in drafts.iter().enumerate() {
            for (place, one) in strongest(draft) {
                let candidate = self.candidate((document, place), one, draft, templates, query)?;
                plan.add(candidate);
            }
        }
        if plan.candidates.iter().any(|candidate| !candidate.is_settled) {
            plan.following = self.following(query)?;
        }
        Ok(plan)
    }

    fn candidate(
        &self,
        (document, place): (usize, Place),
        one: &Match,
        draft: &Draft,
        templates: &[Tag],
        query: &FindQuery,
    ) -> Result<Candidate, Error> {
        let mut sources: Vec<Source> = Vec::new();
        for holder in &one.holders {
            let source = (holder.site.clone(), holder.repository.clone());
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
        let mut candidate = Candidate {
            document,
            place,
            digest: one.digest,
            by_chunks: ByChunks::default(),
            payload_bytes: 0,
            sources,
            coarse: None,
            is_settled: true,
        };
        let Some(chunks) = self.chunks_of(&candidate, templates, query)? else {
            let source = candidate.sources.first().cloned();
            let reason = "its index has changed, or it has too many chunks to be measured";
            candidate.coarse =
                Some(source.map_or_else(|| Coarse::of_query(reason), |source| Coarse::of_site(&source, reason)));
            return Ok(candidate);
        };
        candidate.payload_bytes = chunks.iter().map(bytes_of).sum();
        candidate.by_chunks = by_chunks(&draft.chunks, &chunks);
        candidate.is_settled = candidate.by_chunks.left.iter().any(Vec::is_empty);
        // Sites that are attached first: the figures do not depend on who answers.
        candidate.sources.sort_by_key(|(site, _)| self.sessions.attached(site).is_none());
        candidate.sources.truncate(SOURCES_MAX);
        candidate.sources.reverse();
        Ok(candidate)
    }

    /// The chunks of a match that count, by the first repository that has it.
    fn chunks_of(
        &self,
        candidate: &Candidate,
        templates: &[Tag],
        query: &FindQuery,
    ) -> Result<Option<Vec<ChunkCount>>, Error> {
        let Some((site, repository)) = candidate.sources.first().cloned() else { return Ok(None) };
        let key = SlotKey { site, repository, method_id: query.method_id, scope: None };
        let manifest = match self.indexes.manifest(&key, candidate.digest) {
            Ok(Some(manifest)) => manifest,
            // It is gone since the search, or too large to be read back.
            Ok(None) | Err(StorageError::Refused(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let counts =
            manifest.chunks.iter().filter(|(tag, _, repeated)| !repeated && templates.binary_search(tag).is_err());
        Ok(Some(counted(counts.map(|(tag, length_bytes, _)| (tag, length_bytes)))))
    }

    /// The repositories whose latest scan under the method read the targets of symbolic links.
    pub(super) fn following(&self, query: &FindQuery) -> Result<BTreeSet<Source>, Error> {
        let mut scans = self.store.scans()?;
        scans.sort_unstable_by_key(|(_, row)| Reverse(row.number));
        let mut latest: BTreeMap<Source, bool> = BTreeMap::new();
        for (_, row) in scans {
            let follow = row.options.as_ref().is_some_and(|options| options.follow);
            let of_method = row.frozen.iter().filter_map(|frozen| frozen.slot());
            for key in of_method.filter(|key| key.method_id == query.method_id && key.scope.is_none()) {
                latest.entry((key.site, key.repository)).or_insert(follow);
            }
        }
        Ok(latest.into_iter().filter(|(_, follow)| *follow).map(|(source, _)| source).collect())
    }

    /// Asks the sites for what the plan lacks, until `until`.
    pub(super) async fn ask_sites(self: &Arc<Self>, plan: &mut Plan, until: Instant) {
        for _ in 0..SOURCES_MAX {
            if Instant::now() >= until {
                return;
            }
            let questions = plan.questions();
            if questions.is_empty() {
                return;
            }
            let mut asking = JoinSet::new();
            for (source, question) in questions {
                let request = plan.request(&source, &question);
                let facts = plan.facts(&source);
                let finder = Arc::clone(self);
                asking.spawn(async move {
                    let asked = tokio::time::timeout_at(until, finder.sessions.ask_fine_at_once(request, facts)).await;
                    (source, question, asked)
                });
            }
            while let Some(answered) = asking.join_next().await {
                match answered {
                    Ok((source, question, Ok(answer))) => plan.take(&source, &question, answer),
                    Ok((source, question, Err(_))) => {
                        let reason = late(Some(&source)).reason;
                        plan.take(&source, &question, Err(NoAnswer::absent(&reason)));
                    }
                    Err(error) => tracing::error!(%error, "a query for fine chunks crashed"),
                }
            }
        }
    }
}

/// The matches of a document that are measured: half of them have the most in common, the others the rarest of what is left.
fn strongest(draft: &Draft) -> Vec<(Place, &Match)> {
    let matches = draft.found.matches.iter().zip(&draft.strengths).enumerate();
    let matches = matches.map(|(place, (one, strength))| (*strength, Place::Match(place), one));
    let below = draft.below.iter().enumerate();
    let below = below.map(|(place, below)| (below.strength, Place::Below(place), &below.one));
    let mut all: Vec<(Strength, Place, &Match)> = matches.chain(below).filter(|(.., one)| !is_identical(one)).collect();
    all.sort_by(|(a_has, _, a), (b_has, _, b)| {
        b_has.in_common_bytes.cmp(&a_has.in_common_bytes).then_with(|| Match::order(a, b))
    });
    let by_bytes = all.len().min(CANDIDATES_MAX / 2);
    all[by_bytes..].sort_by_key(|(strength, ..)| Reverse(strength.rarity));
    all.truncate(CANDIDATES_MAX);
    all.into_iter().map(|(_, place, one)| (place, one)).collect()
}

/// The reason where there was no answer in time, or no time for a question.
pub(super) fn late(source: Option<&Source>) -> Coarse {
    let reason = format!("its site did not answer within {} seconds", WAIT_MAX.as_secs());
    source.map_or_else(|| Coarse::of_query(&reason), |source| Coarse::of_site(source, reason.clone()))
}

fn is_identical(one: &Match) -> bool {
    one.measure.relation == FindRelation::Identical
}

fn bytes_of(chunk: &ChunkCount) -> u64 {
    u64::from(chunk.length_bytes) * u64::from(chunk.count)
}

/// True if what is left of a document is too long to be measured in a find.
fn is_too_long(left: &[ChunkCount]) -> bool {
    left.iter().map(bytes_of).fold(0, u64::saturating_add) > LEFT_BYTES_MAX
}

impl Plan {
    fn add(&mut self, mut candidate: Candidate) {
        if !candidate.is_settled {
            let missing = candidate.by_chunks.left[0].iter().map(|chunk| chunk.tag);
            let missing: Vec<Tag> = missing.filter(|tag| !self.query.fine.contains_key(tag)).collect();
            let left = candidate.by_chunks.left.iter().map(Vec::len).sum::<usize>();
            if !missing.is_empty() {
                candidate.give_up("the query has no fine chunks of what is left of its document");
                self.wanted.extend(missing);
            } else if candidate.by_chunks.left[1].len() > CHUNKS_MAX
                || self.left_chunks + left > LEFT_CHUNKS_MAX
                || candidate.by_chunks.left.iter().any(|left| is_too_long(left))
            {
                candidate.give_up("too many chunks are left of them to be measured in one find");
            } else {
                self.left_chunks += left;
            }
        }
        self.candidates.push(candidate);
    }

    /// The next question to each repository.
    fn questions(&mut self) -> BTreeMap<Source, Question> {
        let mut questions: BTreeMap<Source, Question> = BTreeMap::new();
        for (number, candidate) in self.candidates.iter_mut().enumerate() {
            if candidate.is_settled || candidate.is_complete(&self.known) {
                continue;
            }
            let Some(source) = candidate.sources.pop() else {
                candidate.is_settled = true;
                continue;
            };
            let missing: Vec<&ChunkCount> =
                candidate.by_chunks.left[1].iter().filter(|chunk| !self.known.contains_key(&chunk.tag)).collect();
            let question = questions.entry(source.clone()).or_default();
            let new: Vec<_> = missing.iter().filter(|chunk| !question.lengths.contains_key(&chunk.tag)).collect();
            if question.lengths.len() + new.len() > CHUNKS_MAX {
                candidate.coarse = Some(Coarse::of_site(&source, "a find asks a repository for no more chunks"));
                candidate.is_settled = true;
                continue;
            }
            question.candidates.push(number);
            for chunk in new {
                question.lengths.insert(chunk.tag, chunk.length_bytes);
                question.contents.entry(candidate.digest).or_default().insert(chunk.tag);
            }
        }
        questions.retain(|_, question| !question.candidates.is_empty());
        questions
    }

    fn request(&self, (site, repository): &Source, question: &Question) -> FineRequest {
        let contents = question.contents.iter().map(|(digest, tags)| (*digest, tags.iter().copied().collect()));
        FineRequest {
            site: site.clone(),
            repository: repository.clone(),
            method: self.query.method,
            method_id: self.query.method_id,
            choice: FineChoice { contents: contents.collect() },
        }
    }

    fn facts(&self, source: &Source) -> FineScan {
        FineScan { across_parties: self.across_parties, follow_symlinks: self.following.contains(source) }
    }

    /// Takes the answer of a repository.
    fn take(&mut self, source: &Source, question: &Question, answer: Result<FineAnswer, NoAnswer>) {
        let coarse = match answer {
            Ok(answer) if !answer.expansions.iter().all(|expansion| question.fits(expansion)) => {
                Coarse::of_site(source, "its fine chunks do not add up to its chunks")
            }
            Ok(answer) => {
                self.known
                    .extend(answer.expansions.into_iter().map(|expansion| (expansion.tag, expansion.fine.into())));
                Coarse::of_site(source, "the document has changed since its last sync, or is gone")
            }
            Err(NoAnswer::Absent(failure) | NoAnswer::Failed(failure)) => {
                Coarse { refused: failure.refused, ..Coarse::of_site(source, failure.reason) }
            }
        };
        for number in &question.candidates {
            self.candidates[*number].coarse = Some(coarse.clone());
        }
    }

    /// Measures all candidates, and completes the answer. The matches of each document are in order again.
    pub(super) fn finish(self, drafts: Vec<Draft>, answer: &mut Answer) {
        let (mut measure, mut reasons) = (FineMeasure::default(), BTreeMap::<Coarse, u64>::new());
        let mut candidates = self.candidates.into_iter().peekable();
        for (number, draft) in drafts.into_iter().enumerate() {
            let Draft { mut found, mut below, payload_bytes, .. } = draft;
            for one in &mut found.matches {
                // Those beyond the candidates.
                let too_many = || Coarse::of_query("a find measures the strongest matches of a document alone");
                one.coarse = (!is_identical(one)).then(too_many);
            }
            while let Some(candidate) = candidates.next_if(|candidate| candidate.document == number) {
                let sizes = [payload_bytes, candidate.payload_bytes];
                let reaches = |shared_bytes: u64| {
                    Measure::exact(shared_bytes, sizes[0], sizes[1]).reaches(&self.query.least, sizes)
                };
                let fine_bytes = candidate.fine_bytes(&self.query.fine, &self.known, &mut measure, reaches);
                let one = match candidate.place {
                    Place::Match(place) => &mut found.matches[place],
                    Place::Below(place) => &mut below[place].one,
                };
                let Some(fine_bytes) = fine_bytes else {
                    one.coarse = Some(candidate.coarse.unwrap_or_else(|| late(candidate.sources.last())));
                    let below = one.coarse.iter().filter(|_| candidate.place.is_below());
                    below.for_each(|coarse| *reasons.entry(coarse.clone()).or_default() += 1);
                    continue;
                };
                one.coarse = None;
                let shared_bytes = candidate.by_chunks.shared_bytes + fine_bytes;
                one.measure = Measure::exact(shared_bytes, sizes[0], sizes[1]);
                if candidate.place.is_below() && reaches(shared_bytes) {
                    let new = one.clone();
                    found.documents += new.documents;
                    found.matches.push(new);
                }
            }
            for one in &mut found.matches {
                one.precision = Some(if one.coarse.is_none() { Precision::Fine } else { Precision::Coarse });
            }
            found.list(self.query.matches_max);
            for coarse in found.matches.iter().filter_map(|one| one.coarse.as_ref()) {
                *reasons.entry(coarse.clone()).or_default() += 1;
            }
            answer.documents.push(found);
        }
        answer.precision = Some(if reasons.is_empty() { Precision::Fine } else { Precision::Coarse });
        answer.coarse = reasons.into_iter().collect();
        answer.wanted = self.wanted.into_iter().collect();
    }
}

impl Question {
    /// True if an expansion is of a chunk of this question and as long as the chunk.
    fn fits(&self, expansion: &Expansion) -> bool {
        let length_bytes: u32 = expansion.fine.iter().map(|fine| u32::from(fine.length_bytes)).sum();
        self.lengths.get(&expansion.tag) == Some(&length_bytes)
    }
}

impl Candidate {
    /// Leaves it as whole chunks say.
    fn give_up(&mut self, reason: &str) {
        self.coarse = Some(Coarse::of_query(reason));
        self.by_chunks = ByChunks::default();
        self.is_settled = true;
    }

    /// True if the fine chunks of all that is left of the match are known.
    fn is_complete(&self, known: &HashMap<Tag, Arc<[FineChunk]>>) -> bool {
        self.by_chunks.left[1].iter().all(|chunk| known.contains_key(&chunk.tag))
    }

    /// The bytes that the two have in common beyond whole chunks; nothing if they cannot be known. `reaches` says whether so many in common
    /// are enough for the query: where they are not and not much is missing, the pair is measured closely, as a scan does.
    fn fine_bytes(
        &self,
        of_query: &HashMap<Tag, Arc<[FineChunk]>>,
        of_sites: &HashMap<Tag, Arc<[FineChunk]>>,
        measure: &mut FineMeasure,
        reaches: impl Fn(u64) -> bool,
    ) -> Option<u64> {
        if self.coarse.is_some() && self.is_settled && self.by_chunks == ByChunks::default() {
            return None;
        }
        if self.by_chunks.left.iter().any(Vec::is_empty) {
            return Some(0);
        }
        measure.begin();
        for (side, (left, known)) in self.by_chunks.left.iter().zip([of_query, of_sites]).enumerate() {
            for chunk in left {
                let fine = known.get(&chunk.tag)?;
                (0..chunk.count).for_each(|_| measure.add(side, fine, &[]));
            }
        }
        let fine_bytes = measure.shared_bytes().all;
        let shared_bytes = self.by_chunks.shared_bytes + fine_bytes;
        let is_near = !reaches(shared_bytes) && reaches(shared_bytes.saturating_mul(CLOSE_LOOK_TIMES));
        Some(if is_near { measure.shared_bytes_closely().all } else { fine_bytes })
    }
}

#[cfg(test)]
mod tests;
