//! The slots of a pool: each is the right to run one child.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::process::Process;
use crate::limits::Limits;
use crate::recognise::Recogniser;
use crate::sandbox::Confinement;

/// The state that all handles of a pool share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
    pub(super) size: usize,
    pub(super) limits: Limits,
    pub(super) recogniser: Option<Arc<Recogniser>>,
    pub(super) confinement: Confinement,
    pub(super) state: Mutex<State>,
    pub(super) returned: Condvar,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) idle: Vec<Process>,
    /// Number of children, busy ones included.
    pub(super) running: usize,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A child that is free, or a new one.
    pub(super) fn acquire(this: &Arc<Shared>) -> io::Result<Slot> {
        let mut state = this.lock();
        loop {
            if let Some(process) = state.idle.pop() {
                return Ok(Slot { pool: Arc::clone(this), process: Some(process), given_back: false });
            }
            if state.running < this.size {
                state.running += 1;
                drop(state);
                // From this line on, dropping the slot frees the place.
                let mut slot = Slot { pool: Arc::clone(this), process: None, given_back: false };
                slot.replace()?;
                return Ok(slot);
            }
            state = this.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A place in the pool, with the child that has it. A child that is still in it when it is dropped is ended.
#[derive(Debug)]
pub(super) struct Slot {
    pool: Arc<Shared>,
    pub(super) process: Option<Process>,
    given_back: bool,
}

impl Slot {
    /// Puts a new child into this place.
    pub(super) fn replace(&mut self) -> io::Result<()> {
        self.process = None;
        let (process, _) = Process::start(&self.pool.program, &self.pool.arguments, &self.pool.limits)?;
        self.process = Some(process);
        Ok(())
    }

    /// The child at this place.
    pub(super) fn process(&mut self) -> io::Result<&mut Process> {
        self.process.as_mut().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// The child is done with its document and may read the next.
    pub(super) fn give_back(mut self) {
        if let Some(process) = self.process.take() {
            self.given_back = true;
            self.pool.lock().idle.push(process);
            self.pool.returned.notify_one();
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if !self.given_back {
            self.process = None;
            self.pool.lock().running -= 1;
            self.pool.returned.notify_one();
        }
    }
}

impl Read for Slot {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.process()?.read(buffer)
    }
}
