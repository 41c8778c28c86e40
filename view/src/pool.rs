//! The children that read documents, and how the worker asks them.
//!
//! A child is the worker's own program, started again with one argument. It gets each document as an open descriptor and
//! answers with a stream of parts; it is used for many documents. What goes wrong in it ends as the outcome of the
//! document that it was reading, and the next document gets a new child.

mod answer;
mod process;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::frames::Parts;
use crate::limits::Limits;
use crate::sandbox::Confinement;
use answer::Answer;
use process::Process;

/// Children that read documents, at most as many as the pool is large.
#[derive(Clone, Debug)]
pub struct Pool(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    program: PathBuf,
    arguments: Vec<OsString>,
    size: usize,
    limits: Limits,
    confinement: Confinement,
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Process>,
    /// How many there are, those at work included.
    running: usize,
}

impl Pool {
    /// Makes a pool and starts its first child; others are started when they are needed.
    ///
    /// `program` with `arguments` is this program again: what it is to do then is [`child_main`](crate::child_main), before
    /// anything else.
    ///
    /// # Errors
    /// When the child cannot be started or does not answer.
    pub fn new(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
        size: NonZeroUsize,
        limits: Limits,
    ) -> io::Result<Pool> {
        let program = program.into();
        let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
        let (first, confinement) = Process::start(&program, &arguments, &limits)?;
        let state = Mutex::new(State { idle: vec![first], running: 1 });
        let returned = Condvar::new();
        Ok(Pool(Arc::new(Inner { program, arguments, size: size.get(), limits, confinement, state, returned })))
    }

    /// Has a document read, by the first child that is free; waits for one.
    ///
    /// The name is a hint for the names of what it holds, or empty: only the last component of that of a compressed file
    /// (`notes.txt.gz`) matters. The file is read from its beginning to its end, and its position is not touched.
    ///
    /// # Errors
    /// When a child cannot be started or the descriptor not handed over. What is wrong with the document is no error.
    pub fn extract(&self, file: &File, name: &str) -> io::Result<Extraction> {
        let mut lease = Inner::acquire(&self.0)?;
        // The position is shared with the caller's descriptor; the child does not use it.
        let file = file.try_clone()?;
        let name = process::hint(name);
        if lease.process()?.ask(&file, &name).is_err() {
            // It died while it was idle. Where a new one cannot be asked either, that is no accident.
            lease.replace()?;
            lease.process()?.ask(&file, &name)?;
        }
        Ok(Extraction(Answer::new(lease, file, name)))
    }

    /// What keeps the children from doing anything else on this system.
    pub fn confinement(&self) -> Confinement {
        self.0.confinement
    }

    /// The limits that the children keep.
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// How many children may be at work at once.
    pub fn size(&self) -> usize {
        self.0.size
    }
}

/// What a document holds, as the stream that [`Parts`] reads and a cache may keep: always whole, whatever becomes of the
/// child. The document whose child crashed, was killed or took too long ends with a part that says so.
///
/// Dropped before its end, it ends the child.
#[derive(Debug)]
pub struct Extraction(Answer);

impl Extraction {
    /// Reads it part by part.
    pub fn parts(self) -> Parts<Extraction> {
        Parts::new(self)
    }
}

impl Read for Extraction {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A child that is free, or a new one.
    fn acquire(this: &Arc<Inner>) -> io::Result<Lease> {
        let mut state = this.lock();
        loop {
            if let Some(process) = state.idle.pop() {
                return Ok(Lease { pool: Arc::clone(this), process: Some(process), given_back: false });
            }
            if state.running < this.size {
                state.running += 1;
                drop(state);
                // From here on the lease gives the place back, whatever happens.
                let mut lease = Lease { pool: Arc::clone(this), process: None, given_back: false };
                lease.replace()?;
                return Ok(lease);
            }
            state = this.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A place in the pool, with the child that has it. A child that is still in it when it is dropped is ended.
#[derive(Debug)]
struct Lease {
    pool: Arc<Inner>,
    process: Option<Process>,
    given_back: bool,
}

impl Lease {
    /// Puts a new child into this place.
    fn replace(&mut self) -> io::Result<()> {
        self.process = None;
        let (process, _) = Process::start(&self.pool.program, &self.pool.arguments, &self.pool.limits)?;
        self.process = Some(process);
        Ok(())
    }

    /// The child at this place.
    fn process(&mut self) -> io::Result<&mut Process> {
        self.process.as_mut().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// The child is done with its document and may read the next.
    fn give_back(mut self) {
        if let Some(process) = self.process.take() {
            self.given_back = true;
            self.pool.lock().idle.push(process);
            self.pool.returned.notify_one();
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.given_back {
            self.process = None;
            self.pool.lock().running -= 1;
            self.pool.returned.notify_one();
        }
    }
}
