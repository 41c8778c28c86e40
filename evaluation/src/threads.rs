//! Shares work between threads; the results come in the order of the work.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::Error;

/// Does `work` for each number below `count` and returns the results in order.
///
/// # Errors
/// If a piece of work fails; no more are begun then.
pub(crate) fn each<T: Send>(count: usize, work: impl Fn(usize) -> Result<T, Error> + Sync) -> Result<Vec<T>, Error> {
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(count.max(1));
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return Ok(done);
            }
            match work(number) {
                Ok(result) => done.push((number, result)),
                Err(error) => {
                    next.store(count, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
    };
    let parts: Vec<Result<Vec<(usize, T)>, Error>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let mut all = Vec::with_capacity(count);
    for part in parts {
        all.extend(part?);
    }
    all.sort_unstable_by_key(|(number, _)| *number);
    Ok(all.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_work_and_an_error_ends_it() {
        assert_eq!(each(100, |number| Ok(number * 2)).unwrap(), (0..100).map(|number| number * 2).collect::<Vec<_>>());
        assert!(matches!(
            each(100, |number| if number == 40 { Err(Error::Stopped) } else { Ok(()) }),
            Err(Error::Stopped)
        ));
        assert!(each(0, |_| Ok(())).unwrap().is_empty());
    }

    #[test]
    fn work_that_panics_is_not_lost() {
        let result =
            std::panic::catch_unwind(|| each(10, |number| if number == 3 { panic!("broken") } else { Ok(()) }));
        assert!(result.is_err());
    }
}
