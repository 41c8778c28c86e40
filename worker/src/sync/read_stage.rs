//! The readers of a sync: each takes entries of the walk, executes the first step of the plan, and hands outcomes to the
//! collector.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cognate_fingerprint::MethodId;
use cognate_proto::file_hash::HashKinds;
use cognate_proto::name::RepositoryName;
use cognate_proto::path::DocumentPath;

use super::job::{Counters, Job};
use super::office::OfficeLists;
use super::read_outcome::{DocumentResult, Outcome, StoredDocument};
use super::readers::{Crew, Place};
use super::refine::ChosenDocuments;
use crate::documents::extraction::RecognitionInForce;
use crate::documents::long::AtWork;
use crate::documents::outcome::ReadOutcome;
use crate::documents::reader::Reader;
use crate::documents::root::Root;
use crate::documents::states::state_of;
use crate::documents::tools::Tools;
use crate::documents::walk::Entry;
use crate::plan::{ReadRules, Remembered, Step, Walked};
use crate::records::cache::Cache;
use crate::records::cache::known::{KnownDocument, MethodResult, StoredPart};
use crate::records::stamp::Stamp;
use crate::records::store::Records;

/// Size of a document that takes long enough to read for what was read before it to be remembered first.
const LARGE_BYTES: u64 = 16 << 20;

/// The most documents inside of one that wait for others of its group to be handed over with them.
const INSIDE_HELD_MAX: usize = 256;

/// Everything that the stages of one sync share.
#[derive(Clone, Copy)]
pub(super) struct SyncContext<'a> {
    pub(super) job: &'a Job,
    pub(super) records: &'a Records,
    pub(super) root: &'a Arc<Root>,
    /// The documents of a refinement; `None`: all documents of the walk.
    pub(super) chosen: Option<&'a ChosenDocuments>,
    /// The office files that the last sync of bytes found.
    pub(super) office: &'a OfficeLists,
    pub(super) cache: Option<&'a Cache>,
    /// The kinds of hashes that this site stores of its files.
    pub(super) file_hashes: HashKinds,
    /// The recognition of text that is in force.
    pub(super) recognition: RecognitionInForce,
    pub(super) counters: &'a Counters,
    pub(super) cancelled: &'a AtomicBool,
}

/// A document in the cache, as the plan asks for it.
struct CachedDocument<'a> {
    context: SyncContext<'a>,
    cache: &'a Cache,
    path: &'a DocumentPath,
    known: &'a KnownDocument,
}

impl Remembered for CachedDocument<'_> {
    type Stored = StoredResult;

    fn stamp(&self) -> Stamp {
        self.known.stamp
    }

    fn is_chosen(&self) -> bool {
        let has = |result: &MethodResult, is_chosen: &dyn Fn(&StoredPart) -> bool| {
            let mut has = false;
            self.cache.each_inside(&self.context.job.repository, self.path, result, |_, part| {
                has = is_chosen(&part);
                !has
            });
            has
        };
        self.context.chosen.is_some_and(|chosen| chosen.contains(self.known, has))
    }

    fn stored(&self) -> Option<Self::Stored> {
        let SyncContext { job, records, file_hashes, recognition, .. } = self.context;
        if job.keeps_text {
            // It may be of a time when the policy gave the text.
            return None;
        }
        let (repository, method_id) = (&job.repository, job.method_id);
        let stored = stored_result(self.cache, records, (repository, self.path), self.known, method_id, file_hashes)?;
        // Other languages, another version of the program or none at all would find another text.
        let is_current = stored.result.recognition.is_none_or(|id| id == recognition.id);
        is_current.then_some(stored)
    }
}

/// A result that is stored with all its lists.
struct StoredResult {
    result: MethodResult,
    inside_path_bytes: u64,
}

/// The stored result of a method, if it is complete: the result, the documents inside, their lists, and all hashes.
fn stored_result(
    cache: &Cache,
    records: &Records,
    (repository, path): (&RepositoryName, &DocumentPath),
    known: &KnownDocument,
    method_id: MethodId,
    hashes: HashKinds,
) -> Option<StoredResult> {
    let result = known.result(method_id).filter(|_| known.hashes.kinds().contains_all(hashes))?;
    let (mut is_lost, mut inside_path_bytes) = (records.is_lost(&result.own), 0);
    let is_complete = cache.each_inside(repository, path, result, |path, part| {
        is_lost |= records.is_lost(&part);
        inside_path_bytes += path.as_bytes().len() as u64;
        !is_lost
    });
    (is_complete && !is_lost).then(|| StoredResult { result: result.clone(), inside_path_bytes })
}

/// A reader: takes groups of entries until there are no more, and helps with the long documents of the other readers then.
pub(super) fn read_entries(
    context: SyncContext<'_>,
    reader: io::Result<Reader<'_>>,
    (crew, place): (&Crew, &Place),
    at_work: AtWork,
) {
    let handover = Handover { crew, place };
    let mut reader = match reader {
        Ok(reader) => reader,
        Err(error) => {
            handover.fail(error);
            return;
        }
    };
    take_entries(context, &mut reader, place, &handover);
    place.finish();
    drop(at_work);
    crew.long.help(&mut reader.tools);
}

fn take_entries(context: SyncContext<'_>, reader: &mut Reader<'_>, place: &Place, handover: &Handover<'_>) {
    while let Some(group) = place.next_group() {
        let mut read = Vec::with_capacity(group.len());
        for (number, entry) in group.iter().enumerate() {
            place.reads(number);
            let walked = walked(context, reader, entry);
            let is_large = matches!(walked, Some(Walked::File(stamp)) if stamp.length_bytes >= LARGE_BYTES);
            // What was read before a large document is remembered while that one is read: a stop costs only the large one.
            if is_large && !read.is_empty() && !handover.send(reader, std::mem::take(&mut read), number) {
                return;
            }
            match read_entry(context, reader, entry, walked) {
                Ok(outcome) => {
                    let has_many = outcome.inside() > INSIDE_HELD_MAX;
                    read.push(outcome);
                    if has_many && !handover.send(reader, std::mem::take(&mut read), number + 1) {
                        return;
                    }
                }
                Err(error) => {
                    handover.fail(error);
                    return;
                }
            }
        }
        if !handover.send(reader, read, group.len()) {
            return;
        }
    }
}

/// The way from the readers to the collector.
struct Handover<'a> {
    crew: &'a Crew,
    place: &'a Place,
}

impl Handover<'_> {
    /// The collector ends the sync with this error. If there is no collector, the sync has ended.
    fn fail(&self, error: io::Error) {
        if let Some(outcomes) = self.place.hand_over(0) {
            let _ = outcomes.send(Err(error));
        }
    }

    /// Fingerprints the documents that wait and hands all over, those of the entries before `before`; false if the sync ends, or this reader was
    /// given up.
    fn send(&self, reader: &mut Reader<'_>, mut read: Vec<Outcome>, before: usize) -> bool {
        let done = read.iter_mut().filter_map(|outcome| match &mut outcome.result {
            DocumentResult::Read(done, _) => Some(done),
            _ => None,
        });
        let read = reader.fingerprint_waiting(done).map(|()| read);
        let goes_on = read.is_ok();
        let Some(outcomes) = self.place.hand_over(before) else { return false };
        self.crew.in_flight.enter(read.iter().flatten().map(Outcome::inside).sum());
        outcomes.send(read).is_ok() && goes_on
    }
}

/// The metadata of a document now. Without a cache nothing is remembered, and the metadata decides on nothing.
fn walked(context: SyncContext<'_>, reader: &Reader<'_>, entry: &Entry) -> Option<Walked> {
    let (Entry::Document(path), Some(_)) = (entry, context.cache) else { return None };
    let Tools { root, calls, .. } = &reader.tools;
    Some(match calls.make(|| root.stat(path)) {
        Ok(stat) => Walked::File(Stamp::of(&stat)),
        Err(error) => Walked::Unreadable(state_of(&error)),
    })
}

fn read_entry(
    context: SyncContext<'_>,
    reader: &mut Reader<'_>,
    entry: &Entry,
    walked: Option<Walked>,
) -> io::Result<Outcome> {
    let (path, result) = match entry {
        Entry::Unreadable(path, state) => (path, DocumentResult::Failed(*state)),
        Entry::Document(path) => (path, read_document(context, reader, path, walked)?),
    };
    Ok(Outcome { path: path.clone(), result })
}

/// Executes the first step of the plan for one document.
fn read_document(
    context: SyncContext<'_>,
    reader: &mut Reader<'_>,
    path: &DocumentPath,
    walked: Option<Walked>,
) -> io::Result<DocumentResult> {
    let rules = ReadRules { selection: &context.job.selection, refines: context.chosen.is_some() };
    let (Some(cache), Some(walked)) = (context.cache, walked) else { return read(context, &rules, reader, path, None) };
    let known = cache.get(&context.job.repository, path);
    let remembered = known.as_ref().map(|known| CachedDocument { context, cache, path, known });
    match rules.step(path, remembered.as_ref(), walked) {
        Step::Report(state) => Ok(DocumentResult::Failed(state)),
        Step::Outdated => Ok(DocumentResult::Outdated),
        Step::NotSelected => Ok(DocumentResult::NotSelected),
        Step::Reuse(StoredResult { result, inside_path_bytes }) => {
            let known = known.expect("a stored result is one of a remembered document");
            Ok(DocumentResult::Unchanged(Box::new(StoredDocument { known, result, inside_path_bytes })))
        }
        Step::Read => {
            let same = known.filter(|known| walked == Walked::File(known.stamp));
            read(context, &rules, reader, path, same)
        }
    }
}

fn read(
    context: SyncContext<'_>,
    rules: &ReadRules<'_>,
    reader: &mut Reader<'_>,
    path: &DocumentPath,
    known: Option<KnownDocument>,
) -> io::Result<DocumentResult> {
    let done = match reader.read(path, known.as_ref())? {
        ReadOutcome::Failed(state) => return Ok(DocumentResult::Failed(state)),
        ReadOutcome::NotSelected => return Ok(DocumentResult::NotSelected),
        ReadOutcome::Fingerprinted(done) => done,
    };
    context.counters.read_bytes.fetch_add(done.read_bytes, Ordering::Relaxed);
    context.counters.documents_read.fetch_add(1, Ordering::Relaxed);
    if rules.is_outdated(known.as_ref().map(|known| known.stamp), done.stamp, done.changing) {
        reader.discard(&done)?;
        return Ok(DocumentResult::Outdated);
    }
    Ok(DocumentResult::Read(done, known.map(Box::new)))
}
