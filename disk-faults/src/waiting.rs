//! Calls to the disk that make an asynchronous runtime wait: those on threads that run its tasks. While such a call waits for the disk,
//! everything else that the thread would do waits as well.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::operation::Operation;

/// The environment variable that has such calls told: a part of the paths that matter, such as `/coordinator/`.
pub const VARIABLE: &str = "WAITING_CALLS";
/// The beginning of each line.
pub const MARK: &str = "a thread of the runtime waits for the disk:";

static IS_ON: AtomicBool = AtomicBool::new(false);
static TOLD: Mutex<Told> = Mutex::new(Told { part: String::new(), announce: None, calls: Vec::new() });

/// What is told, and what was.
struct Told {
    /// A part of the paths that matter.
    part: String,
    announce: Option<fn(&str)>,
    calls: Vec<(Operation, String)>,
}

fn told() -> MutexGuard<'static, Told> {
    TOLD.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    static RUNS_TASKS: Cell<bool> = const { Cell::new(false) };
}

/// Says that this thread runs tasks: for `on_thread_park` and `on_thread_unpark` of a runtime, which only such threads call.
pub fn this_thread_runs_tasks() {
    RUNS_TASKS.set(true);
}

/// Has such calls to files with this part in their path told: each kind of call to each kind of file once.
pub(crate) fn watch(part: String, announce: fn(&str)) {
    let mut told = told();
    (told.part, told.announce) = (part, Some(announce));
    IS_ON.store(true, Ordering::Release);
}

/// True if calls of this thread are to be told.
pub(crate) fn concerns(path: &std::path::Path) -> bool {
    IS_ON.load(Ordering::Acquire) && RUNS_TASKS.get() && path.to_string_lossy().contains(told().part.as_str())
}

/// Tells of a call, the first time.
pub(crate) fn tell(operation: Operation, path: &std::path::Path) {
    if !concerns(path) {
        return;
    }
    // Numbers in names are of no matter: one scan's file is like the other's.
    let kind: String = path.to_string_lossy().chars().filter(|letter| !letter.is_ascii_digit()).collect();
    let mut told = told();
    if told.calls.iter().all(|(one, at)| *one != operation || *at != kind) {
        told.calls.push((operation, kind));
        if let Some(announce) = told.announce {
            announce(&format!("{MARK} {} {}\n", operation.name(), path.display()));
        }
    }
}
