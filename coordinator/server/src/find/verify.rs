//! The verification of a find: sites read what a method only proposes a second time, by the words of the texts, as for a scan
//! (`scan::verification`).
//!
//! The query has the terms of its documents; a site is asked for those of the proposed contents and of no others, as an index
//! of a part of its repository, which is removed once it was read. All sites are asked at the same time and no longer than
//! [`WAIT_MAX`](cognate_desk::find::WAIT_MAX). A proposal whose terms cannot be had stays a candidate, with the reason.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex};

use cognate_desk::find::{Answer, Coarse, FindQuery, Match, Measure};
use cognate_fingerprint::{ContentDigest, Feature, Method, MethodId, cosine_of_features};
use cognate_proto::name::{RepositoryName, SiteName};
use cognate_proto::options::Precision;
use cognate_proto::path::DocumentPath;
use cognate_proto::scope::Scope;
use cognate_proto::selection::SelectionRule;
use cognate_proto::v1::{self, FindRelation};
use cognate_storage::clock::random_number;
use cognate_storage::indexes::Sealed;
use cognate_storage::maintenance::drop_part;
use cognate_storage::store::SlotKey;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::Finder;
use super::draft::Draft;
use super::fine::late;
use crate::agreement::Claims;
use crate::error::Error;
use crate::session::{Event, Outcome, SealedIndex, Sessions, Wanted};
use cognate_storage::disk::blocking;

/// Proposed contents that a find has read again: some seconds of a site's time.
pub(super) const CONTENTS_MAX: usize = 4096;
/// Sites that are asked for one content, one after the other, if they have copies of it.
const SOURCES_MAX: usize = 3;

/// A repository.
type Source = (SiteName, RepositoryName);

/// The terms of documents, by their paths.
type Terms = HashMap<DocumentPath, Vec<Feature>>;

/// The questions of a find, and the answers so far.
pub(super) struct Plan {
    query: Arc<FindQuery>,
    /// True if the person who asks sees several parties.
    across_parties: bool,
    /// The repositories whose latest scan followed symbolic links.
    following: BTreeSet<Source>,
    contents: BTreeMap<ContentDigest, Proposed>,
}

/// A content that was proposed for a document of the query.
#[derive(Default)]
struct Proposed {
    /// The repositories that have it and are not asked yet, each with a document there; the next one last.
    sources: Vec<(Source, DocumentPath)>,
    terms: Option<Vec<Feature>>,
    /// The reason why it has no terms.
    coarse: Option<Coarse>,
}

/// A question to a repository.
struct Question {
    verifier: Method,
    verifier_id: MethodId,
    scope: Arc<Scope>,
    across_parties: bool,
    follow_symlinks: bool,
    /// A document of each content.
    documents: Vec<(DocumentPath, ContentDigest)>,
}

/// An assignment of a find, which is taken back if nobody waits for its end any more.
struct Waiting<'a> {
    sessions: &'a Sessions,
    number: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.sessions.cancel(self.number);
    }
}

impl Finder {
    /// Plans the questions.
    pub(super) fn verify_plan(
        &self,
        query: &Arc<FindQuery>,
        drafts: &[Draft],
        across_parties: bool,
    ) -> Result<Plan, Error> {
        let mut contents: BTreeMap<ContentDigest, Proposed> = BTreeMap::new();
        for (draft, document) in drafts.iter().zip(&query.documents) {
            for one in draft.found.matches.iter().filter(|one| is_candidate(one)) {
                let is_full = contents.len() == CONTENTS_MAX;
                if document.terms.is_empty() || (is_full && !contents.contains_key(&one.digest)) {
                    continue;
                }
                contents.entry(one.digest).or_insert_with(|| self.proposed(one));
            }
        }
        let following = if contents.is_empty() { BTreeSet::new() } else { self.following(query)? };
        Ok(Plan { query: Arc::clone(query), across_parties, following, contents })
    }

    fn proposed(&self, one: &Match) -> Proposed {
        let mut sources: Vec<(Source, DocumentPath)> = Vec::new();
        for holder in &one.holders {
            let source = (holder.site.clone(), holder.repository.clone());
            if !sources.iter().any(|(known, _)| *known == source) {
                sources.push((source, holder.path.clone()));
            }
        }
        // Sites that are attached first: the figures do not depend on who answers.
        sources.sort_by_key(|((site, _), _)| self.sessions.attached(site).is_none());
        sources.truncate(SOURCES_MAX);
        sources.reverse();
        Proposed { sources, ..Proposed::default() }
    }

    /// Asks the sites for the terms of what was proposed, until `until`.
    pub(super) async fn ask_terms(self: &Arc<Self>, plan: &mut Plan, until: Instant) {
        for _ in 0..SOURCES_MAX {
            let questions = plan.questions();
            if questions.is_empty() || Instant::now() >= until {
                return;
            }
            let mut asking = JoinSet::new();
            for (source, question) in questions {
                let finder = Arc::clone(self);
                asking.spawn(async move {
                    let asked = tokio::time::timeout_at(until, finder.terms(&source, &question)).await;
                    let terms = asked.unwrap_or_else(|_| Err(late(Some(&source))));
                    (source, question, terms)
                });
            }
            while let Some(answered) = asking.join_next().await {
                match answered {
                    Ok((source, question, terms)) => plan.take(&source, question, terms),
                    Err(error) => tracing::error!(%error, "a query for terms crashed"),
                }
            }
        }
    }

    /// The terms of these documents of a repository.
    async fn terms(self: &Arc<Self>, source: &Source, question: &Question) -> Result<Terms, Coarse> {
        let (site, repository) = source.clone();
        let names = std::iter::once((site.to_string(), repository.to_string()));
        let hold = self.indexes.hold(names);
        let sealed = self.read_again(source, question).await?;
        let key = SlotKey { site, repository, method_id: question.verifier_id, scope: Some(question.scope.id()) };
        let (finder, documents) = (Arc::clone(self), question.documents.clone());
        let read = blocking(move || {
            let terms = finder.terms_of(&sealed, &documents);
            drop(hold);
            let dropped = drop_part(&finder.store, &finder.indexes, &key);
            let terms = terms?;
            dropped?;
            Ok::<_, Error>(terms)
        });
        read.await.map_err(|error| {
            tracing::error!(%error, "the terms of a site cannot be read");
            Coarse::of_site(source, "the coordinator cannot read its answer: see the coordinator's log")
        })
    }

    /// Has a site read documents again under the method that verifies, and waits for the end.
    async fn read_again(&self, source: &Source, question: &Question) -> Result<SealedIndex, Coarse> {
        let failed = |reason: &str| Err(Coarse::of_site(source, reason));
        let (events, mut heard) = mpsc::unbounded_channel();
        let number = random_number();
        let (site, repository) = source;
        let method_id = question.verifier_id.0.to_vec();
        let method = v1::MethodSpec { method_id, ..v1::MethodSpec::from(&question.verifier) };
        let assignment = v1::Assignment {
            assignment: number,
            repository: repository.to_string(),
            method: Some(method),
            selection: Some((&SelectionRule::default()).into()),
            follow_symlinks: question.follow_symlinks,
            across_parties: question.across_parties,
            refinement: Some(question.scope.announcement()),
            ..v1::Assignment::default()
        };
        let wanted = Wanted {
            method: question.verifier,
            scope: Some(Arc::clone(&question.scope)),
            agreement: Arc::new(Mutex::new(Claims::new(1))),
            target: 0,
            events,
        };
        let offers = |attached: &crate::session::AttachedSite| attached.repositories.contains(repository);
        if !self.sessions.attached(site).as_ref().is_some_and(offers) || !self.sessions.assign(site, assignment, wanted)
        {
            return failed("its site is not attached");
        }
        let _waiting = Waiting { sessions: &self.sessions, number };
        loop {
            match heard.recv().await {
                Some(Event::Progress { .. }) => {}
                Some(Event::Ended { outcome: Outcome::Synced(sealed, _), .. })
                    if sealed.method_id == question.verifier_id =>
                {
                    return Ok(sealed);
                }
                Some(Event::Ended { outcome: Outcome::Synced(..), .. }) => {
                    return failed("its site has another key or version than the query");
                }
                Some(Event::Ended { outcome: Outcome::Failed(reason), .. }) => return failed(&reason),
                Some(Event::Ended { outcome: Outcome::Refused(reason), .. }) => {
                    return Err(Coarse { refused: true, ..Coarse::of_site(source, reason) });
                }
                Some(Event::Ended { outcome: Outcome::Away, .. }) => {
                    return failed("its site disconnected before it answered");
                }
                Some(Event::Ended { outcome: Outcome::Estimated(_), .. } | Event::Differs(_)) | None => {
                    return failed("its site did not answer");
                }
            }
        }
    }

    /// Reads the terms of documents back from the index that a site has sent. Blocks.
    fn terms_of(&self, sealed: &SealedIndex, documents: &[(DocumentPath, ContentDigest)]) -> Result<Terms, Error> {
        let sealed = Sealed { id: sealed.id, sequence: sealed.sequence };
        let index = self.indexes.load(sealed.id, sealed.sequence)?;
        let wanted: HashSet<&DocumentPath> = documents.iter().map(|(path, _)| path).collect();
        let mut holders: HashMap<ContentDigest, Vec<DocumentPath>> = HashMap::new();
        for (path, document) in index.documents.iter() {
            if let (true, Some(content)) = (wanted.contains(&path), document.content) {
                holders.entry(content).or_default().push(path);
            }
        }
        let contents: HashSet<ContentDigest> = holders.keys().copied().collect();
        let mut terms = Terms::new();
        self.indexes.manifests(&sealed, &contents, &mut |manifest| {
            let mut features: Vec<Feature> =
                manifest.chunks.iter().map(|(tag, weight, _)| Feature { tag, weight }).collect();
            features.sort_unstable();
            for path in holders.remove(&manifest.content.digest).unwrap_or_default() {
                terms.insert(path, features.clone());
            }
            Ok(())
        })?;
        Ok(terms)
    }
}

fn is_candidate(one: &Match) -> bool {
    one.measure.relation == FindRelation::Candidate
}

impl Plan {
    /// The next question to each repository.
    fn questions(&mut self) -> Vec<(Source, Question)> {
        let (Some(verifier), Some(verifier_id)) = (self.query.method.verifier(), self.query.verifier_id) else {
            return Vec::new();
        };
        let mut documents: BTreeMap<Source, Vec<(DocumentPath, ContentDigest)>> = BTreeMap::new();
        for (digest, proposed) in self.contents.iter_mut().filter(|(_, proposed)| proposed.terms.is_none()) {
            if let Some((source, path)) = proposed.sources.pop() {
                documents.entry(source).or_default().push((path, *digest));
            }
        }
        let question = |(source, documents): (Source, Vec<(DocumentPath, ContentDigest)>)| {
            let contents = documents.iter().map(|(_, digest)| *digest).collect();
            let scope = Scope::new(self.query.method_id, contents).expect("a find has fewer contents than a scope");
            let question = Question {
                verifier,
                verifier_id,
                scope: Arc::new(scope),
                across_parties: self.across_parties,
                follow_symlinks: self.following.contains(&source),
                documents,
            };
            (source, question)
        };
        documents.into_iter().map(question).collect()
    }

    /// Takes the answer of a repository.
    fn take(&mut self, source: &Source, question: Question, answer: Result<Terms, Coarse>) {
        let gone = Coarse::of_site(source, "the document has changed since its last sync, or is gone");
        let (mut terms, reason) = match answer {
            Ok(terms) => (terms, gone),
            Err(reason) => (Terms::new(), reason),
        };
        for (path, digest) in question.documents {
            let Some(proposed) = self.contents.get_mut(&digest) else { continue };
            proposed.terms = terms.remove(&path);
            proposed.coarse = Some(reason.clone());
        }
    }

    /// Measures all candidates, and completes the answer. The matches of each document are in order again.
    pub(super) fn finish(self, drafts: Vec<Draft>, answer: &mut Answer) {
        let Plan { query, contents, .. } = self;
        let mut reasons = BTreeMap::<Coarse, u64>::new();
        for (Draft { mut found, .. }, document) in drafts.into_iter().zip(&query.documents) {
            found.matches.retain_mut(|one| {
                one.precision = Some(Precision::Fine);
                if !is_candidate(one) {
                    return true;
                }
                let proposed = contents.get(&one.digest);
                let sizes = [document.size_bytes, one.size_bytes];
                match proposed.and_then(|proposed| proposed.terms.as_ref()) {
                    Some(terms) => {
                        let cosine = cosine_of_features(&document.terms, terms).unwrap_or(0.0);
                        one.measure = Measure::of_cosine(cosine, sizes);
                        let stays = one.measure.reaches(&query.least, sizes);
                        found.documents -= if stays { 0 } else { one.documents };
                        stays
                    }
                    None => {
                        let coarse = proposed.map_or_else(
                            || of_query(document.terms.is_empty()),
                            |proposed| proposed.coarse.clone().unwrap_or_else(|| late(None)),
                        );
                        one.precision = Some(Precision::Coarse);
                        one.coarse = Some(coarse.clone());
                        *reasons.entry(coarse).or_default() += 1;
                        true
                    }
                }
            });
            found.list(query.matches_max);
            answer.documents.push(found);
        }
        answer.precision = Some(if reasons.is_empty() { Precision::Fine } else { Precision::Coarse });
        answer.coarse = reasons.into_iter().collect();
    }
}

/// The reason why a content was not asked for.
fn of_query(without_terms: bool) -> Coarse {
    let too_many = || format!("a find verifies no more than {CONTENTS_MAX} contents: narrow it with --site");
    Coarse::of_query(&match without_terms {
        true => "the query has no words of its document: `cognate fingerprint --fine` adds them".to_owned(),
        false => too_many(),
    })
}
