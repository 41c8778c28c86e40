//! Threads that share out numbered tasks, and the count of what is done.
//!
//! Tasks are handed out in order; which thread gets which is left to chance, so whoever uses this must put results in
//! order afterwards.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::error::Error;
use crate::watch::{Phase, Progress, Watch};

/// Does every task below `tasks`, each thread with a state of its own, and gives back the states.
///
/// The first error stops all threads.
pub(crate) fn share_out<S: Send>(
    threads: NonZeroUsize,
    tasks: usize,
    start: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> Result<(), Error> + Sync,
) -> Result<Vec<S>, Error> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let labour = || {
        let mut state = start();
        while !failed.load(Ordering::Relaxed) {
            let task = next.fetch_add(1, Ordering::Relaxed);
            if task >= tasks {
                break;
            }
            work(&mut state, task).inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
        }
        Ok(state)
    };
    let threads = threads.get().min(tasks);
    if threads <= 1 {
        return Ok(vec![labour()?]);
    }
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(labour)).collect();
        let ends = workers.into_iter().map(|worker| match worker.join() {
            Ok(end) => end,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ends.collect()
    })
}

/// Counts the finished tasks of a phase for the caller, who may cancel in between.
pub(crate) struct Tracker<'a> {
    watch: &'a Watch<'a>,
    phase: Phase,
    done: AtomicU64,
    total: u64,
}

impl<'a> Tracker<'a> {
    pub(crate) fn new(watch: &'a Watch<'a>, phase: Phase, total: usize) -> Tracker<'a> {
        Tracker { watch, phase, done: AtomicU64::new(0), total: total as u64 }
    }

    /// Says that one more task is done.
    pub(crate) fn step(&self) -> Result<(), Error> {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        (self.watch.progress)(Progress { phase: self.phase, done, total: self.total });
        self.check()
    }

    /// Ends a long task when the caller has cancelled.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.watch.cancelled.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_is_done_once_whatever_the_threads() {
        for threads in 1..5 {
            let threads = NonZeroUsize::new(threads).unwrap();
            let done = share_out(threads, 100, Vec::new, |done: &mut Vec<usize>, task| {
                done.push(task);
                Ok(())
            });
            let mut done = done.unwrap().concat();
            done.sort_unstable();
            assert_eq!(done, (0..100).collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_error_ends_the_work() {
        let result = share_out(
            NonZeroUsize::new(2).unwrap(),
            10,
            || (),
            |(), task| {
                if task == 3 { Err(Error::Cancelled) } else { Ok(()) }
            },
        );
        assert!(matches!(result, Err(Error::Cancelled)));
    }
}
