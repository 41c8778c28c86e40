//! Threads that share out numbered tasks, and the count of tasks done.
//!
//! Tasks are handed out in order; the choice of the thread is left to chance, so callers must sort their results
//! afterwards.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::error::Error;
use crate::monitor::{Monitor, Phase, Progress};

/// Does every task below `tasks`, each thread with a state of its own, and returns the states.
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
    let run_tasks = || {
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
        return Ok(vec![run_tasks()?]);
    }
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(run_tasks)).collect();
        let ends = workers.into_iter().map(|worker| match worker.join() {
            Ok(end) => end,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ends.collect()
    })
}

/// Counts the finished tasks of a phase for the caller, who may cancel in between.
pub(crate) struct Tracker<'a> {
    monitor: &'a Monitor<'a>,
    phase: Phase,
    done: AtomicU64,
    total: u64,
}

impl<'a> Tracker<'a> {
    pub(crate) fn new(monitor: &'a Monitor<'a>, phase: Phase, total: usize) -> Tracker<'a> {
        Tracker { monitor, phase, done: AtomicU64::new(0), total: total as u64 }
    }

    /// Reports one more task as done.
    pub(crate) fn step(&self) -> Result<(), Error> {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        (self.monitor.progress)(Progress { phase: self.phase, done, total: self.total });
        self.check()
    }

    /// Ends a long task when the caller has cancelled.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.monitor.cancelled.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_is_done_once_with_any_number_of_threads() {
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

    #[test]
    fn no_more_threads_work_than_there_are_tasks() {
        for (threads, tasks, states) in [(4, 0, 1), (4, 1, 1), (4, 2, 2), (2, 100, 2), (1, 100, 1)] {
            let threads = NonZeroUsize::new(threads).unwrap();
            let done = share_out(
                threads,
                tasks,
                || 0,
                |done, _| {
                    *done += 1;
                    Ok(())
                },
            );
            let done = done.unwrap();
            assert_eq!((done.len(), done.iter().sum::<usize>()), (states, tasks));
        }
    }

    #[test]
    fn a_tracker_counts_to_its_total_and_ends_when_cancelled() {
        let seen = std::sync::Mutex::new(Vec::new());
        let progress = |progress: Progress| seen.lock().unwrap().push((progress.phase, progress.done, progress.total));
        let cancelled = AtomicBool::new(false);
        let monitor = Monitor { progress: &progress, cancelled: &cancelled };
        let tracker = Tracker::new(&monitor, Phase::Tags, 3);
        tracker.check().unwrap();
        tracker.step().unwrap();
        tracker.step().unwrap();
        cancelled.store(true, Ordering::Relaxed);
        // The last step is reported all the same.
        assert!(matches!(tracker.step(), Err(Error::Cancelled)));
        assert!(matches!(tracker.check(), Err(Error::Cancelled)));
        assert_eq!(*seen.lock().unwrap(), [(Phase::Tags, 1, 3), (Phase::Tags, 2, 3), (Phase::Tags, 3, 3)]);
    }

    #[test]
    #[should_panic(expected = "task 5")]
    fn a_panic_of_a_thread_goes_to_the_caller() {
        let threads = NonZeroUsize::new(2).unwrap();
        let _ = share_out(
            threads,
            10,
            || (),
            |(), task| {
                assert!(task != 5, "task 5");
                Ok(())
            },
        );
    }
}
