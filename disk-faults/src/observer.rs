//! What happens at each call: nothing, unless a test waits for it. The calls of all threads come here.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::fault::Armed;
use crate::operation::Operation;
use crate::recorder::Recorder;

/// Number of faults and recordings: without any, a call costs one load.
static WAITING: AtomicUsize = AtomicUsize::new(0);
static OBSERVER: Mutex<Observer> = Mutex::new(Observer { next: 0, armed: Vec::new(), recorders: Vec::new() });

#[derive(Debug)]
pub(crate) struct Observer {
    next: u64,
    pub(crate) armed: Vec<(u64, Armed)>,
    pub(crate) recorders: Vec<(u64, Recorder)>,
}

/// True if any call may matter to somebody.
pub(crate) fn is_waiting() -> bool {
    WAITING.load(Ordering::Acquire) > 0
}

pub(crate) fn lock() -> MutexGuard<'static, Observer> {
    OBSERVER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a fault or a recording, and answers its number.
pub(crate) fn add(add: impl FnOnce(&mut Observer, u64)) -> u64 {
    let mut observer = lock();
    let number = observer.next;
    observer.next += 1;
    add(&mut observer, number);
    WAITING.fetch_add(1, Ordering::Release);
    number
}

/// Takes something out again.
pub(crate) fn remove<T>(remove: impl FnOnce(&mut Observer) -> T) -> T {
    let mut observer = lock();
    WAITING.fetch_sub(1, Ordering::Release);
    remove(&mut observer)
}

impl Observer {
    /// True if a call to this file concerns somebody.
    pub(crate) fn concerns(&self, path: &Path) -> bool {
        crate::waiting::concerns(path)
            || self.armed.iter().any(|(_, armed)| armed.concerns(path))
            || self.recorders.iter().any(|(_, recorder)| recorder.concerns(path))
    }

    /// The error with which a call fails.
    pub(crate) fn error_of(&mut self, operation: Operation, path: &Path) -> Option<i32> {
        crate::waiting::tell(operation, path);
        self.armed.iter_mut().find_map(|(_, armed)| armed.error_of(operation, path))
    }

    /// Records what a call did.
    pub(crate) fn each_recorder(&mut self, path: &Path, mut each: impl FnMut(&mut Recorder)) {
        self.recorders.iter_mut().filter(|(_, recorder)| recorder.concerns(path)).for_each(|(_, one)| each(one));
    }
}
