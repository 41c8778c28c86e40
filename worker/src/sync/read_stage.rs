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

/// A stored result with the documents inside.
pub(super) struct StoredDocument {
    pub(super) known: KnownDocument,
    pub(super) result: MethodResult,
    pub(super) inside: Vec<(DocumentPath, StoredPart)>,
}

/// A document in the cache, as the plan asks for it.
struct CachedDocument<'a> {
    context: SyncContext<'a>,
    cache: &'a Cache,
    path: &'a DocumentPath,
    known: &'a KnownDocument,
}

impl Remembered for CachedDocument<'_> {
    type Stored = (MethodResult, Vec<(DocumentPath, StoredPart)>);

    fn stamp(&self) -> Stamp {
        self.known.stamp
    }

    fn is_chosen(&self) -> bool {
        let inside = |result: &MethodResult| self.cache.inside(&self.context.job.repository, self.path, result);
        self.context.chosen.is_some_and(|chosen| chosen.contains(self.known, inside))
    }

    fn stored(&self) -> Option<Self::Stored> {
        let SyncContext { job, records, file_hashes, recognition, .. } = self.context;
        if job.keeps_text {
            // It may be of a time when the policy gave the text.
            return None;
        }
        let (repository, method_id) = (&job.repository, job.method_id);
        let (result, inside) =
            stored_result(self.cache, records, (repository, self.path), self.known, method_id, file_hashes)?;
        // Other languages, another version of the program or none at all would find another text.
        let is_current = result.recognition.is_none_or(|id| id == recognition.id);
        is_current.then_some((result, inside))
    }
}

/// The stored result of a method, if it is complete: the result, the documents inside, their lists, and all hashes.
fn stored_result(
    cache: &Cache,
    records: &Records,
    (repository, path): (&RepositoryName, &DocumentPath),
    known: &KnownDocument,
    method_id: MethodId,
    hashes: HashKinds,
) -> Option<(MethodResult, Vec<(DocumentPath, StoredPart)>)> {
    let result = known.result(method_id).filter(|_| known.hashes.kinds().contains_all(hashes))?;
    let inside = cache.inside(repository, path, result)?;
    let is_lost = records.is_any_lost(inside.iter().map(|(_, part)| part).chain([&result.own]));
    (!is_lost).then(|| (result.clone(), inside))
}

/// A reader: takes groups of entries until there are no more, and helps with the long documents of the other readers then.
pub(super) fn read_entries(
    context: SyncContext<'_>,
    reader: io::Result<Reader<'_>>,
    (long, at_work): (&LongDocuments, AtWork<'_>),
    entries: &Mutex<Receiver<Vec<Entry>>>,
    outcomes: &SyncSender<io::Result<Vec<Outcome>>>,
) {
    let mut reader = match reader {
        Ok(reader) => reader,
        Err(error) => {
            // The collector ends the sync with this error. If there is no collector, the sync has ended.
            let _ = outcomes.send(Err(error));
            return;
        }
    };
    take_entries(context, &mut reader, entries, outcomes);
    drop(at_work);
    long.help(&mut reader.tools);
}

fn take_entries(
    context: SyncContext<'_>,
    reader: &mut Reader<'_>,
    entries: &Mutex<Receiver<Vec<Entry>>>,
    outcomes: &SyncSender<io::Result<Vec<Outcome>>>,
) {
    loop {
        let Ok(group) = entries.lock().expect("readers do not panic").recv() else { return };
        context.counters.entries_seen.fetch_add(group.len() as u64, Ordering::Relaxed);
        let mut read = Vec::with_capacity(group.len());
        for entry in group {
            let walked = walked(context, reader, &entry);
            let is_large = matches!(walked, Some(Walked::File(stamp)) if stamp.length_bytes >= LARGE_BYTES);
            // What was read before a large document is remembered while that one is read: a stop costs only the large one.
            if is_large && !read.is_empty() && !hand_over(reader, std::mem::take(&mut read), outcomes) {
                return;
            }
            match read_entry(context, reader, entry, walked) {
                Ok(outcome) => read.push(outcome),
                Err(error) => {
                    let _ = outcomes.send(Err(error));
                    return;
                }
            }
        }
        if !hand_over(reader, read, outcomes) {
            return;
        }
    }
}

/// Fingerprints the documents that wait and hands all over; false if the sync ends.
fn hand_over(reader: &mut Reader<'_>, mut read: Vec<Outcome>, outcomes: &SyncSender<io::Result<Vec<Outcome>>>) -> bool {
    let done = read.iter_mut().filter_map(|outcome| match &mut outcome.result {
        DocumentResult::Read(done, _) => Some(done),
        _ => None,
    });
    let read = reader.fingerprint_waiting(done).map(|()| read);
    let goes_on = read.is_ok();
    outcomes.send(read).is_ok() && goes_on
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
        Step::Reuse((result, inside)) => {
            let known = known.expect("a stored result is one of a remembered document");
            Ok(DocumentResult::Unchanged(Box::new(StoredDocument { known, result, inside })))
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
