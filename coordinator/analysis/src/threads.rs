//! Two steps at the same time.

use std::num::NonZeroUsize;

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
