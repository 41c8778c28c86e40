//! The readers of a sync: each takes entries of the walk, executes the first step of the plan, and hands outcomes to the
//! collector.

use std::io;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};

use cognate_fingerprint::MethodId;
use cognate_proto::batch::DocumentState;
use cognate_proto::file_hash::HashKinds;
use cognate_proto::name::RepositoryName;
use cognate_proto::path::DocumentPath;

use super::in_flight::InsideInFlight;
use super::job::{Counters, Job};
use super::office::OfficeLists;
use super::refine::ChosenDocuments;
use crate::documents::extraction::RecognitionInForce;
use crate::documents::long::{AtWork, LongDocuments};
use crate::documents::outcome::{Fingerprinted, ReadOutcome};
use crate::documents::reader::Reader;
use crate::documents::root::Root;
use crate::documents::states::state_of;
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

/// A document with the outcome of its reader.
pub(super) struct Outcome {
    pub(super) path: DocumentPath,
    pub(super) result: DocumentResult,
}

impl Outcome {
    /// The number of documents inside that it has in memory.
    pub(super) fn inside(&self) -> usize {
        match &self.result {
            DocumentResult::Read(done, _) => done.inside.len(),
            _ => 0,
        }
    }
}

/// The outcome of a reader for one document.
#[expect(
    clippy::large_enum_variant,
    reason = "most documents are read, and memory would be given back by another thread"
)]
pub(super) enum DocumentResult {
    /// The stored result is used.
    Unchanged(Box<StoredDocument>),
    /// The document was read. Results of other methods for the same stamp come with it.
    Read(Fingerprinted, Option<Box<KnownDocument>>),
    /// The document cannot be read.
    Failed(DocumentState),
    /// The document is larger than the selection allows.
    NotSelected,
    /// The document is not what a refinement chose.
    Outdated,
}

/// A stored result. The documents inside are in the cache.
pub(super) struct StoredDocument {
    pub(super) known: KnownDocument,
    pub(super) result: MethodResult,
    /// The bytes of the paths of the documents inside.
    pub(super) inside_path_bytes: u64,
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
    (long, at_work): (&LongDocuments, AtWork<'_>),
    entries: &Mutex<Receiver<Vec<Entry>>>,
    handover: &Handover<'_>,
) {
    let mut reader = match reader {
        Ok(reader) => reader,
        Err(error) => {
            // The collector ends the sync with this error. If there is no collector, the sync has ended.
            let _ = handover.outcomes.send(Err(error));
            return;
        }
    };
    take_entries(context, &mut reader, entries, handover);
    drop(at_work);
    long.help(&mut reader.tools);
}

fn take_entries(
    context: SyncContext<'_>,
    reader: &mut Reader<'_>,
    entries: &Mutex<Receiver<Vec<Entry>>>,
    handover: &Handover<'_>,
) {
    loop {
        let Ok(group) = entries.lock().expect("readers do not panic").recv() else { return };
        context.counters.entries_seen.fetch_add(group.len() as u64, Ordering::Relaxed);
        let mut read = Vec::with_capacity(group.len());
        for entry in group {
            let walked = walked(context, reader, &entry);
            let is_large = matches!(walked, Some(Walked::File(stamp)) if stamp.length_bytes >= LARGE_BYTES);
            // What was read before a large document is remembered while that one is read: a stop costs only the large one.
            if is_large && !read.is_empty() && !handover.send(reader, std::mem::take(&mut read)) {
                return;
            }
            match read_entry(context, reader, entry, walked) {
                Ok(outcome) => {
                    let has_many = outcome.inside() > INSIDE_HELD_MAX;
                    read.push(outcome);
                    if has_many && !handover.send(reader, std::mem::take(&mut read)) {
                        return;
                    }
                }
                Err(error) => {
                    let _ = handover.outcomes.send(Err(error));
                    return;
                }
            }
        }
        if !handover.send(reader, read) {
            return;
        }
    }
}

/// The way from the readers to the collector.
pub(super) struct Handover<'a> {
    pub(super) outcomes: SyncSender<io::Result<Vec<Outcome>>>,
    pub(super) in_flight: &'a InsideInFlight,
}

impl Handover<'_> {
    /// Fingerprints the documents that wait and hands all over; false if the sync ends.
    fn send(&self, reader: &mut Reader<'_>, mut read: Vec<Outcome>) -> bool {
        let done = read.iter_mut().filter_map(|outcome| match &mut outcome.result {
            DocumentResult::Read(done, _) => Some(done),
            _ => None,
        });
        let read = reader.fingerprint_waiting(done).map(|()| read);
        let goes_on = read.is_ok();
        self.in_flight.enter(read.iter().flatten().map(Outcome::inside).sum());
        self.outcomes.send(read).is_ok() && goes_on
    }
}

/// The metadata of a document now. Without a cache nothing is remembered, and the metadata decides on nothing.
fn walked(context: SyncContext<'_>, reader: &Reader<'_>, entry: &Entry) -> Option<Walked> {
    let (Entry::Document(path), Some(_)) = (entry, context.cache) else { return None };
    Some(match reader.tools.root.stat(path) {
        Ok(stat) => Walked::File(Stamp::of(&stat)),
        Err(error) => Walked::Unreadable(state_of(&error)),
    })
}

fn read_entry(
    context: SyncContext<'_>,
    reader: &mut Reader<'_>,
    entry: Entry,
    walked: Option<Walked>,
) -> io::Result<Outcome> {
    let (path, result) = match entry {
        Entry::Unreadable(path, state) => (path, DocumentResult::Failed(state)),
        Entry::Document(path) => {
            let result = read_document(context, reader, &path, walked)?;
            (path, result)
        }
    };
    Ok(Outcome { path, result })
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
