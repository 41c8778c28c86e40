//! Carries out jobs: one sync at a time, with a walk, readers and a collector that run at the same time.
//!
//! Bounded channels connect the stages, so memory does not grow with the repository. The walk lists documents, the readers
//! read those that changed, and the collector sends the differences. Documents that the walk did not see are removed at
//! the end, and the index is sealed with its digest.

use std::io;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use cognate_fingerprint::{FeatureKind, Key};
use cognate_proto::file_hash::HashKinds;
use cognate_proto::scope::Scope;
use cognate_proto::v1::{OpenIndex, SkippedCount};

use super::collect::{Collector, OpenPush, Upload};
use super::in_flight::InsideInFlight;
use super::job::{Counters, Job, SyncOutcome};
use super::office::OfficeLists;
use super::read_stage::{SyncContext, read_entries};
use super::readers::{Crew, Ends, Watch};
use super::refine::ChosenDocuments;
use super::stopped::Stopped;
use crate::documents::extraction::ReaderProcesses;
use crate::documents::file_calls::{FileCalls, no_answer};
use crate::documents::handful::Handful;
use crate::documents::long::LongDocuments;
use crate::documents::reader::Reader;
use crate::documents::root::Root;
use crate::documents::text_reader::{StoredTexts, TextReader};
use crate::documents::tools::Tools;
use crate::documents::walk::{Entry, Skipped, walk};
use crate::error::SyncError;
use crate::pace::Pace;
use crate::policy::Times;
use crate::random::fresh_epoch;
use crate::records::answers::Answers;
use crate::records::cache::Cache;
use crate::records::compaction::compact;
use crate::records::sent_state::{IndexUpload, SentState};
use crate::records::store::Records;
use crate::sending::push::{Push, PushLink};

/// Number of entries that are handed over at a time, at first and at most. Small groups of short files cost more time to wake threads than to read,
/// and are not fingerprinted side by side; of the few entries of a small tree, each thread should have its part.
const ENTRIES_PER_GROUP: [usize; 2] = [4, 64];
/// The same where documents are read as text, which takes long.
const TEXTS_PER_GROUP: [usize; 2] = [4, 16];
/// A group has a part of the entries before it.
const GROUP_PART: usize = 16;
/// Number of groups that wait between two stages.
const GROUPS_WAITING_MAX: usize = 8;

/// The settings of a site that every sync uses.
pub(crate) struct SyncSettings {
    /// The key of the federation.
    pub(crate) key: Key,
    /// Number of documents that are read at the same time.
    pub(crate) threads: NonZeroUsize,
    /// How long a call to the file system of a document may take.
    pub(crate) file_wait_max: Duration,
    pub(crate) clock: fn() -> SystemTime,
    /// The kinds of hashes that this site stores of its files.
    pub(crate) file_hashes: HashKinds,
    /// If set, samples of contents are sent.
    pub(crate) samples: bool,
    /// If set, hashes of message ids are sent.
    pub(crate) message_id_hashes: bool,
    /// The precision of the times that are sent.
    pub(crate) times: Times,
}

/// Carries out the syncs of a site.
pub(crate) struct Syncs {
    pub(crate) records: Arc<Records>,
    pub(crate) pace: Arc<Pace>,
    pub(crate) processes: ReaderProcesses,
    pub(crate) settings: SyncSettings,
    /// The office files that the last sync of bytes found.
    pub(crate) office: OfficeLists,
    /// The answers that the coordinator has had today; none where it is the same process.
    pub(crate) answers: Option<Answers>,
}

/// What the threads of a sync use. It outlives the sync as long as one of them waits for a file system that does not answer.
struct SyncHandles {
    syncs: Arc<Syncs>,
    job: Arc<Job>,
    root: Arc<Root>,
    chosen: Option<ChosenDocuments>,
    cache: Option<Arc<Cache>>,
    counters: Arc<Counters>,
    cancelled: Arc<AtomicBool>,
}

impl SyncHandles {
    fn context(&self) -> SyncContext<'_> {
        let SyncHandles { syncs, job, root, chosen, cache, counters, cancelled } = self;
        SyncContext {
            job,
            records: &syncs.records,
            root,
            chosen: chosen.as_ref(),
            office: &syncs.office,
            cache: cache.as_deref(),
            file_hashes: syncs.settings.file_hashes,
            recognition: syncs.processes.recognition(job.keeps_text),
            counters,
            cancelled,
        }
    }
}

/// The reason why an attempt did not succeed.
enum AttemptError {
    /// The sync has failed.
    Failed(SyncError),
    /// The coordinator lost contents that it had: the index must start again.
    UnknownContents(Box<SentState>),
    /// A stored list cannot be read: its documents must be read again.
    ListLost(u64),
}

impl From<SyncError> for AttemptError {
    fn from(error: SyncError) -> AttemptError {
        AttemptError::Failed(error)
    }
}

impl Syncs {
    /// Carries a job out; `scope` holds the contents of a refinement. Blocks. If the coordinator has lost the index, it
    /// starts again, once.
    pub(crate) fn sync(
        self: &Arc<Self>,
        job: &Arc<Job>,
        scope: Option<Scope>,
        link: &PushLink,
        counters: &Arc<Counters>,
    ) -> Result<SyncOutcome, SyncError> {
        let root = Root::open(&job.path, job.follow_symlinks, &job.own_files)
            .map(Arc::new)
            .map_err(|source| SyncError::Root { path: job.path.clone(), source })?;
        if let Some(sentinel) = job.sentinel.as_ref().filter(|sentinel| !root.has(sentinel)) {
            return Err(SyncError::SentinelMissing { path: job.path.clone(), sentinel: sentinel.clone() });
        }
        let cache = self.records.cache()?;
        let chosen = scope.map(|scope| ChosenDocuments::look_up(&self.records, job, scope)).transpose()?;
        let held = Arc::new(SyncHandles {
            syncs: Arc::clone(self),
            job: Arc::clone(job),
            root,
            chosen,
            cache: cache.clone(),
            counters: Arc::clone(counters),
            cancelled: Arc::clone(&link.cancelled),
        });
        let began = Instant::now();
        let mut outcome = self.sync_until_agreed(&held, link)?;
        if job.method.view().is_text() {
            outcome.summary.recognition = self.processes.recogniser_name(job.keeps_text).unwrap_or_default();
        }
        outcome.bytes_per_second = bytes_per_second(outcome.summary.read_bytes, began.elapsed());
        self.clean_up(job, cache.as_deref());
        Ok(outcome)
    }

    /// Removes what the sync left unused. A failure is only logged.
    fn clean_up(&self, job: &Job, cache: Option<&Cache>) {
        if let Some(cache) = cache
            && let Err(error) = compact(cache, &self.records.lists)
        {
            tracing::warn!(%error, "unused lists could not be removed");
        }
        if job.method.view().is_text() {
            self.processes.stop();
            let trimmed = cache.map_or(Ok(()), |cache| match self.records.texts.trim()? {
                Some(last) => cache.forget_texts(|location| location.file <= last),
                None => Ok(()),
            });
            if let Err(error) = trimmed {
                tracing::warn!(%error, "stored texts could not be trimmed");
            }
        }
    }

    /// Attempts the sync, and starts again after a loss at the coordinator or of a stored list.
    fn sync_until_agreed(&self, held: &Arc<SyncHandles>, link: &PushLink) -> Result<SyncOutcome, SyncError> {
        let job = &held.job;
        let mut sent = self.sent_state(job)?;
        let mut restarted = false;
        loop {
            let push = self.open_push(job, link, &mut sent)?.ok_or(SyncError::Disagreement)?;
            match self.attempt(held, Upload { sent, push }) {
                Ok(outcome) => return Ok(outcome),
                Err(AttemptError::Failed(error)) => return Err(error),
                Err(AttemptError::UnknownContents(_)) if restarted => return Err(SyncError::Disagreement),
                Err(AttemptError::UnknownContents(returned)) => {
                    restarted = true;
                    sent = *returned;
                    sent.restart(fresh_epoch()).map_err(|source| self.records.failure(source))?;
                }
                // Each file is lost only once, so this ends.
                Err(AttemptError::ListLost(file)) if self.records.mark_lost(file) => {
                    sent = self.sent_state(job)?;
                }
                Err(AttemptError::ListLost(_)) => return Err(SyncError::Disagreement),
            }
        }
    }

    /// True if contents go with their samples: where the site allows it, of methods that have fine chunks. A refinement has none.
    pub(super) fn sends_samples(&self, job: &Job) -> bool {
        self.settings.samples && job.scope().is_none() && job.method.capabilities().fine
    }

    fn sent_state(&self, job: &Job) -> Result<SentState, SyncError> {
        let fresh = IndexUpload { epoch: fresh_epoch(), samples: self.sends_samples(job) };
        self.records.sent_state(&job.repository, job.method_id, job.scope(), fresh)
    }

    /// Opens the index at the coordinator. If both ends hold different states, it starts again; `None` if they still do.
    fn open_push(&self, job: &Job, link: &PushLink, sent: &mut SentState) -> Result<Option<OpenPush>, SyncError> {
        for _ in 0..2 {
            let open = OpenIndex {
                assignment: job.assignment,
                repository: job.repository.to_string(),
                method_id: job.method_id.0.to_vec(),
                epoch: sent.epoch(),
                scope: job.scope().map(|scope| scope.0.to_vec()).unwrap_or_default(),
            };
            let (push, opened) = Push::open(link, open)?;
            let agreed = sent.resume(opened.committed_sequence, opened.root);
            if agreed.map_err(|source| self.records.failure(source))? {
                return Ok(Some(OpenPush { push, inside_max: opened.inside_max }));
            }
            tracing::info!(repository = %job.repository, "the coordinator holds another state of the index, which starts again");
            push.close();
            sent.restart(fresh_epoch()).map_err(|source| self.records.failure(source))?;
        }
        Ok(None)
    }

    fn attempt(&self, held: &Arc<SyncHandles>, upload: Upload) -> Result<SyncOutcome, AttemptError> {
        let context = held.context();
        let skipped = Arc::new(Skipped::default());
        let canary = context.job.method.canary(&self.settings.key);
        let mut collector = Collector::new(context, (self.settings.times, canary), upload, &skipped);
        let collected = self.run_stages(held, &mut collector, &skipped);
        let finished = match collected {
            Ok(()) if context.cancelled.load(Ordering::Relaxed) => Err(Stopped::Failed(SyncError::Cancelled)),
            Ok(()) => collector.finish((self.settings.clock)()),
            Err(stopped) => Err(stopped),
        };
        match finished {
            Ok(mut outcome) => {
                outcome.summary.skipped = skipped_counts(&skipped);
                Ok(outcome)
            }
            Err(Stopped::Failed(error)) => {
                collector.remember_read();
                Err(AttemptError::Failed(error))
            }
            Err(Stopped::UnknownContents) => Err(AttemptError::UnknownContents(Box::new(collector.close()))),
            Err(Stopped::ListLost(file)) => {
                collector.close();
                Err(AttemptError::ListLost(file))
            }
        }
    }

    /// Runs the walk and the readers in threads, and the collector in this one.
    fn run_stages(
        &self,
        held: &Arc<SyncHandles>,
        collector: &mut Collector<'_>,
        skipped: &Arc<Skipped>,
    ) -> Result<(), Stopped> {
        let (context, threads) = (held.context(), self.settings.threads.get());
        let listed = self.office.list_for(context.job);
        collector.set_listed(listed.is_some());
        let (entries_to, entries) = sync_channel(GROUPS_WAITING_MAX);
        let (outcomes_to, outcomes) = sync_channel(GROUPS_WAITING_MAX);
        let crew = Arc::new(Crew {
            long: Arc::new(LongDocuments::new(threads)),
            in_flight: InsideInFlight::default(),
            wait_max: self.settings.file_wait_max,
            repository: held.job.repository.clone(),
        });
        // Only the readers may hold these ends of the channels, or a stage would wait for ever.
        let ends = Ends { entries: Arc::new(Mutex::new(entries)), outcomes: outcomes_to };
        let (of_readers, of_reader) = (Arc::clone(held), Arc::clone(&crew));
        let readers = Watch::begin(Arc::clone(&crew), threads, ends, move |place, at_work| {
            let (held, crew) = (Arc::clone(&of_readers), Arc::clone(&of_reader));
            Box::new(move || {
                let context = held.context();
                let reader = held.syncs.reader(context, &crew.long, &place.calls);
                read_entries(context, reader, (&crew, &place), at_work);
            })
        });
        std::thread::scope(|scope| {
            let walker = scope.spawn(move || list_documents(context, listed, skipped, entries_to));
            let watch = scope.spawn(move || readers.wait(|| context.cancelled.load(Ordering::Relaxed)));
            let collected = collector.collect_all(outcomes, &crew.in_flight);
            let walked = walker.join().expect("the walk does not panic");
            let answers = watch.join().expect("the watch does not panic");
            collected?;
            let root = |source| SyncError::Root { path: context.job.path.clone(), source };
            walked.map_err(root)?;
            if answers { Ok(()) } else { Err(root(no_answer()).into()) }
        })
    }

    fn reader<'a>(
        &'a self,
        context: SyncContext<'a>,
        long: &'a LongDocuments,
        calls: &'a Arc<FileCalls>,
    ) -> io::Result<Reader<'a>> {
        let SyncContext { job, root, cache, cancelled, counters, .. } = context;
        let text = self.text_reader(job, cache);
        // Only chunks are found side by side.
        let are_joined = text.is_none() && job.method.capabilities().features == FeatureKind::Chunks;
        Ok(Reader {
            selection: &job.selection,
            clock: self.settings.clock,
            text,
            handful: are_joined.then(Handful::new),
            long: Some(long),
            tools: Tools {
                root,
                lists: &self.records.lists,
                fingerprinter: job.method.fingerprinter(&self.settings.key),
                hashes: if cache.is_some() { self.settings.file_hashes } else { HashKinds::NONE },
                pace: &self.pace,
                cancelled,
                calls,
                open_files: Some(&counters.open_files),
                head: Vec::new(),
            },
        })
    }

    /// The reader of text, if the job's view is of text.
    pub(super) fn text_reader<'a>(&'a self, job: &Job, cache: Option<&'a Cache>) -> Option<TextReader<'a>> {
        let view = job.method.view();
        view.is_text().then(|| TextReader {
            view,
            processes: &self.processes,
            recognition: self.processes.recognition(job.keeps_text),
            keeps_text: job.keeps_text,
            stored: cache
                .filter(|_| !job.keeps_text)
                .map(|cache| StoredTexts { cache, texts: self.records.texts.writer() }),
            message_id_hashes: self.settings.message_id_hashes,
        })
    }
}

/// Lists the documents of the job: those that another sync has listed, those that a refinement chose, or those of the walk.
fn list_documents(
    context: SyncContext<'_>,
    listed: Option<Vec<Entry>>,
    skipped: &Arc<Skipped>,
    entries: SyncSender<Vec<Entry>>,
) -> io::Result<()> {
    let SyncContext { job, root, chosen, counters, cancelled, .. } = context;
    let per_group = if job.method.view().is_text() { TEXTS_PER_GROUP } else { ENTRIES_PER_GROUP };
    let sent = send_groups(entries, per_group, cancelled, |send| {
        let mut each = |entry| {
            counters.entries_seen.fetch_add(1, Ordering::Relaxed);
            send(entry)
        };
        match (listed, chosen) {
            (Some(listed), _) => {
                let _ = listed.into_iter().all(each);
                Ok(())
            }
            (None, None) => walk(root, &job.selection, skipped, each),
            (None, Some(chosen)) => {
                let _ = chosen.documents(&job.selection).all(|path| each(Entry::Document(path.clone())));
                Ok(())
            }
        }
    });
    counters.walk_finished.store(true, Ordering::Relaxed);
    sent
}

/// Hands entries over in groups, which become larger, until nothing receives them any more.
fn send_groups(
    entries: SyncSender<Vec<Entry>>,
    [first, most]: [usize; 2],
    cancelled: &AtomicBool,
    walk: impl FnOnce(&mut dyn FnMut(Entry) -> bool) -> io::Result<()>,
) -> io::Result<()> {
    let (mut group, mut size, mut sent) = (Vec::with_capacity(first), first, 0);
    walk(&mut |entry| {
        group.push(entry);
        if group.len() < size {
            return true;
        }
        sent += size;
        size = (sent / GROUP_PART).clamp(first, most);
        let full = std::mem::replace(&mut group, Vec::with_capacity(size));
        entries.send(full).is_ok() && !cancelled.load(Ordering::Relaxed)
    })?;
    // If nothing receives the last group, the sync has ended for another reason.
    let _ = entries.send(group);
    Ok(())
}

fn skipped_counts(skipped: &Skipped) -> Vec<SkippedCount> {
    let counts = skipped.counts().filter(|(_, entries)| *entries > 0);
    counts.map(|(reason, entries)| SkippedCount { reason: reason.into(), entries }).collect()
}

/// The speed of reading; `None` if too little was read to measure it.
fn bytes_per_second(read_bytes: u64, elapsed: Duration) -> Option<u64> {
    const READ_BYTES_MIN: u64 = 4 << 20;
    let elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX).max(1);
    (read_bytes >= READ_BYTES_MIN).then(|| read_bytes.saturating_mul(1000) / elapsed_ms)
}

#[cfg(test)]
mod tests {
    use cognate_proto::path::DocumentPath;
    use cognate_proto::v1::SkipReason;

    use super::*;

    fn entry(number: usize) -> Entry {
        Entry::Document(DocumentPath::new(number.to_string().as_bytes()).unwrap())
    }

    #[test]
    fn every_entry_arrives_in_order_whatever_the_number() {
        let [first, most] = ENTRIES_PER_GROUP;
        for count in [0, 1, first - 1, first, 3 * first + 1, 100 * most + 5] {
            let (to, from) = sync_channel(1000);
            send_groups(to, ENTRIES_PER_GROUP, &AtomicBool::new(false), |each| {
                assert!((0..count).all(|number| each(entry(number))));
                Ok(())
            })
            .unwrap();
            let groups: Vec<Vec<Entry>> = from.into_iter().collect();
            let sizes: Vec<usize> = groups[..groups.len() - 1].iter().map(Vec::len).collect();
            assert!(sizes.is_sorted() && sizes.iter().all(|size| (first..=most).contains(size)), "{sizes:?}");
            assert_eq!(sizes.last() == Some(&most), count > 20 * most, "{count}");
            assert_eq!(groups.concat(), (0..count).map(entry).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_walk_ends_when_nothing_receives_its_entries_or_it_is_cancelled() {
        let walked = |cancelled: bool, receives: bool| {
            let (to, from) = sync_channel(100);
            let _from = receives.then_some(from);
            let mut count = 0;
            send_groups(to, ENTRIES_PER_GROUP, &AtomicBool::new(cancelled), |each| {
                while count < 1000 && each(entry(count)) {
                    count += 1;
                }
                Ok(())
            })
            .unwrap();
            count
        };
        assert_eq!(walked(false, true), 1000);
        assert_eq!(walked(true, true), ENTRIES_PER_GROUP[0] - 1);
        assert_eq!(walked(false, false), ENTRIES_PER_GROUP[0] - 1);
    }

    #[test]
    fn a_speed_is_measured_only_if_enough_was_read() {
        assert_eq!(bytes_per_second((4 << 20) - 1, Duration::from_secs(1)), None);
        assert_eq!(bytes_per_second(8 << 20, Duration::from_secs(2)), Some(4 << 20));
        assert_eq!(bytes_per_second(4 << 20, Duration::ZERO), Some((4 << 20) * 1000));
    }

    #[test]
    fn only_reasons_that_occurred_are_listed() {
        let skipped = Skipped::default();
        assert!(skipped_counts(&skipped).is_empty());
        skipped.count(SkipReason::Symlink);
        skipped.count(SkipReason::Symlink);
        let counts = skipped_counts(&skipped);
        assert_eq!((counts.len(), counts[0].reason(), counts[0].entries), (1, SkipReason::Symlink, 2));
    }
}
