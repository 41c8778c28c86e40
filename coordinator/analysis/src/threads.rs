//! Two steps at the same time.

use std::num::NonZeroUsize;

use crate::error::Error;

/// Does two things at the same time, or one after the other where a scan has one thread.
pub(crate) fn side_by_side<A: Send, B>(
    threads: NonZeroUsize,
    first: impl FnOnce() -> A + Send,
    second: impl FnOnce() -> B,
) -> (A, B) {
    if threads.get() == 1 {
        return (first(), second());
    }
    std::thread::scope(|scope| {
        let first = scope.spawn(first);
        let second = second();
        (first.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), second)
    })
}

/// Asks the sites of a scan for something, and computes what does not depend on their answers. In one process both are done at the same time.
/// A scan of a federation gives its turn to another one while it waits for sites, and so it computes first, and asks nobody if that fails.
pub(crate) fn next_to_sites<A: Send, B>(
    in_process: bool,
    threads: NonZeroUsize,
    ask: impl FnOnce() -> Result<A, Error> + Send,
    compute: impl FnOnce() -> Result<B, Error>,
) -> Result<(A, B), Error> {
    if in_process {
        let (asked, computed) = side_by_side(threads, ask, compute);
        let computed = computed?;
        return Ok((asked?, computed));
    }
    let computed = compute()?;
    Ok((ask()?, computed))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// The steps that were taken, and whether they succeeded.
    fn steps(in_process: bool, threads: usize, computes: bool) -> (Vec<&'static str>, bool) {
        let steps = Mutex::new(Vec::new());
        let step = |name| steps.lock().unwrap().push(name);
        let ask = || {
            step("ask");
            Ok(())
        };
        let compute = || {
            step("compute");
            if computes { Ok(()) } else { Err(Error::Cancelled) }
        };
        let done = next_to_sites(in_process, NonZeroUsize::new(threads).unwrap(), ask, compute).is_ok();
        (steps.into_inner().unwrap(), done)
    }

    #[test]
    fn a_scan_of_a_federation_asks_when_it_has_computed_and_not_at_all_if_that_fails() {
        for threads in [1, 2] {
            assert_eq!(steps(false, threads, true), (vec!["compute", "ask"], true));
            assert_eq!(steps(false, threads, false), (vec!["compute"], false));
        }
    }

    #[test]
    fn in_one_process_both_are_done() {
        for threads in [1, 2] {
            for computes in [true, false] {
                let (mut steps, done) = steps(true, threads, computes);
                steps.sort_unstable();
                assert_eq!((steps, done), (vec!["ask", "compute"], computes));
            }
        }
    }
}
