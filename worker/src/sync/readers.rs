//! The threads that read, and the watch over them.
//!
//! A thread that waits for a file system which does not answer cannot be ended. It is given up after the site's limit: its document is unreadable, and
//! another thread takes its place with the entries that it had not handed over. So the threads own what they use, and one that was given
//! up leaves it untouched should its call ever end.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cognate_proto::batch::DocumentState;
use cognate_proto::name::RepositoryName;
use cognate_proto::path::DocumentPath;

use super::in_flight::InsideInFlight;
use super::read_outcome::{DocumentResult, Outcome};
use crate::documents::file_calls::{CallUnderWay, FileCalls};
use crate::documents::long::{AtWork, LongDocuments};
use crate::documents::walk::Entry;

/// The calls are looked at so many times before the limit.
const LOOKS: u32 = 12;
/// The longest time between two looks.
const LOOK_MAX: Duration = Duration::from_secs(1);
/// A document is named after this part of the limit.
const NAMED_PART: u32 = 6;
/// Once so many documents are given up, the repository is: each has cost a thread, and the rest will hardly answer.
const GIVEN_UP_MAX: usize = 16;

/// What the threads of one attempt have in common.
pub(super) struct Crew {
    pub(super) long: Arc<LongDocuments>,
    pub(super) in_flight: InsideInFlight,
    /// How long a call to the file system may take.
    pub(super) wait_max: Duration,
    /// For messages.
    pub(super) repository: RepositoryName,
}

/// The ends of the channels from the walk and to the collector.
#[derive(Clone)]
pub(super) struct Ends {
    pub(super) entries: Arc<Mutex<Receiver<Vec<Entry>>>>,
    pub(super) outcomes: SyncSender<io::Result<Vec<Outcome>>>,
}

/// The place of one reader.
pub(super) struct Place {
    pub(super) calls: Arc<FileCalls>,
    work: Mutex<Work>,
}

/// What is left to do at a place.
struct Work {
    /// `None` once the reader takes no more entries: others would wait for the ends of the channels.
    ends: Option<Ends>,
    /// The entries that were taken last.
    group: Arc<[Entry]>,
    /// The entry that is being read.
    at: usize,
    /// The entries before this one are handed over.
    handed: usize,
}

impl Place {
    fn new(ends: Ends) -> Place {
        let work = Work { ends: Some(ends), group: Arc::default(), at: 0, handed: 0 };
        Place { calls: Arc::default(), work: Mutex::new(work) }
    }

    fn lock(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next entries; `None` if there are no more.
    pub(super) fn next_group(&self) -> Option<Arc<[Entry]>> {
        let mut work = self.lock();
        if work.handed == work.group.len() {
            let ends = work.ends.clone()?;
            drop(work);
            let group = ends.entries.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()?;
            work = self.lock();
            *work = Work { ends: work.ends.take(), group: group.into(), at: 0, handed: 0 };
        }
        Some(Arc::clone(&work.group))
    }

    /// The entry with this number is being read.
    pub(super) fn reads(&self, number: usize) {
        self.lock().at = number;
    }

    /// The end to which the outcomes of the entries before this one go; `None` if the reader was given up.
    pub(super) fn hand_over(&self, before: usize) -> Option<SyncSender<io::Result<Vec<Outcome>>>> {
        let mut work = self.lock();
        let ends = work.ends.as_ref().filter(|_| !self.calls.is_given_up())?;
        let outcomes = ends.outcomes.clone();
        work.handed = before;
        Some(outcomes)
    }

    /// The reader takes no more entries.
    pub(super) fn finish(&self) {
        self.lock().ends = None;
    }

    /// The document that is being read, if any entry is.
    fn document(&self) -> Option<DocumentPath> {
        let work = self.lock();
        work.ends.as_ref()?;
        match work.group.get(work.at)? {
            Entry::Document(path) | Entry::Unreadable(path, _) => Some(path.clone()),
        }
    }

    /// Gives the reader up; returns the document that it was reading, and the other entries that it has not handed over.
    fn give_up(&self, long: &LongDocuments) -> Option<(DocumentPath, Vec<Entry>)> {
        let document = self.document();
        let mut work = self.lock();
        long.give_up(&self.calls);
        work.ends = None;
        let (at, handed) = (work.at, work.handed);
        let left = work.group.iter().enumerate().skip(handed).filter(|(number, _)| *number != at);
        Some((document?, left.map(|(_, entry)| entry.clone()).collect()))
    }
}

/// A thread and its place.
struct ReaderThread {
    place: Arc<Place>,
    thread: JoinHandle<()>,
    /// The call that was under way when it was last looked at, and since when.
    seen: Option<(CallUnderWay, Instant)>,
    is_named: bool,
}

/// The threads of the readers of one attempt, which it begins and replaces.
pub(super) struct Watch<B> {
    crew: Arc<Crew>,
    begin: B,
    watched: Vec<(usize, ReaderThread)>,
    begun: usize,
    given_up: usize,
    ended: (Sender<usize>, Receiver<usize>),
}

/// Says that a thread has ended, however it did.
struct EndSignal(usize, Sender<usize>);

impl Drop for EndSignal {
    fn drop(&mut self) {
        // If nobody waits for it, it was given up.
        let _ = self.1.send(self.0);
    }
}

impl<B: Fn(Arc<Place>, AtWork) -> Box<dyn FnOnce() + Send>> Watch<B> {
    /// Begins so many readers; `begin` makes the work of one.
    pub(super) fn begin(crew: Arc<Crew>, readers: usize, ends: Ends, begin: B) -> Watch<B> {
        let mut watch = Watch { crew, begin, watched: Vec::new(), begun: 0, given_up: 0, ended: channel() };
        let places: Vec<_> = (0..readers).map(|_| watch.place(ends.clone())).collect();
        for (place, at_work) in places {
            watch.spawn(place, at_work);
        }
        drop(ends);
        watch
    }

    fn place(&self, ends: Ends) -> (Arc<Place>, AtWork) {
        let place = Arc::new(Place::new(ends));
        let at_work = self.crew.long.at_work(&place.calls);
        (place, at_work)
    }

    fn spawn(&mut self, place: Arc<Place>, at_work: AtWork) {
        let number = self.begun;
        self.begun += 1;
        let (work, ended) = ((self.begin)(Arc::clone(&place), at_work), EndSignal(number, self.ended.0.clone()));
        let thread = std::thread::spawn(move || {
            let _ended = ended;
            work();
        });
        self.watched.push((number, ReaderThread { place, thread, seen: None, is_named: false }));
    }

    /// Waits for all threads; false if so many were given up that the repository is. `is_cancelled` ends waits for answers.
    pub(super) fn wait(mut self, is_cancelled: impl Fn() -> bool) -> bool {
        let look = (self.crew.wait_max / LOOKS).min(LOOK_MAX);
        let mut looked = Instant::now();
        while !self.watched.is_empty() {
            match self.ended.1.recv_timeout(look) {
                Ok(number) => self.join(number),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => unreachable!("an end for further threads is kept"),
            }
            if looked.elapsed() >= look {
                looked = Instant::now();
                self.look(if is_cancelled() { LOOK_MAX.min(self.crew.wait_max) } else { self.crew.wait_max });
            }
        }
        self.given_up < GIVEN_UP_MAX
    }

    fn join(&mut self, number: usize) {
        if let Some(place) = self.watched.iter().position(|(each, _)| *each == number) {
            let (_, watched) = self.watched.swap_remove(place);
            watched.thread.join().expect("readers do not panic");
        }
    }

    /// Names documents that are waited for, and gives up those whose file system has not answered within the limit.
    fn look(&mut self, wait_max: Duration) {
        let mut stuck = Vec::new();
        for (number, watched) in &mut self.watched {
            let now = watched.place.calls.under_way();
            match (now, watched.seen) {
                (Some(call), Some((before, since))) if call == before => {
                    if since.elapsed() >= wait_max {
                        stuck.push(*number);
                    } else if !watched.is_named && since.elapsed() >= wait_max / NAMED_PART {
                        watched.is_named = true;
                        let repository = &self.crew.repository;
                        match watched.place.document() {
                            Some(document) => {
                                tracing::warn!(%repository, %document, "the file system does not answer: waiting for it");
                            }
                            // It helps another reader.
                            None => {
                                tracing::warn!(%repository, "the file system does not answer for a part of a long document: waiting for it");
                            }
                        }
                    }
                }
                _ => (watched.seen, watched.is_named) = (now.map(|call| (call, Instant::now())), false),
            }
        }
        for number in stuck {
            self.replace(number);
        }
    }

    fn replace(&mut self, number: usize) {
        let Some(place) = self.watched.iter().position(|(each, _)| *each == number) else { return };
        // Its thread is left alone: nothing can end it.
        let (_, ReaderThread { place: stuck, .. }) = self.watched.swap_remove(place);
        // The next is at work before this one no longer is, or the others would take it for the end.
        let next = stuck.lock().ends.clone().map(|ends| self.place(ends));
        let given_up = stuck.give_up(&self.crew.long);
        // A reader without documents of its own had a segment of another's, which fails there.
        let (Some((path, left)), Some((next, at_work))) = (given_up, next) else { return };
        self.given_up += 1;
        let Crew { wait_max, repository, .. } = &*self.crew;
        tracing::warn!(%repository, document = %path, ?wait_max, "the file system has not answered: the document is given up until the next sync");
        let outcome = Outcome { path, result: DocumentResult::Failed(DocumentState::NoAnswer) };
        let sent = next.hand_over(0).is_some_and(|outcomes| outcomes.send(Ok(vec![outcome])).is_ok());
        // If nobody receives it, the sync has ended.
        if sent && self.given_up < GIVEN_UP_MAX {
            next.lock().group = left.into();
            self.spawn(next, at_work);
        }
    }
}
