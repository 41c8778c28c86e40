//! The locks of `serial` in every order of their threads, by loom.

/// In place of those of the standard library: each of their calls is a place at which another thread may go on.
mod sync {
    pub(super) use loom::sync::Mutex;
    pub(super) use loom::sync::atomic::{AtomicU64, Ordering};
}
#[allow(clippy::duplicate_mod, reason = "it is the same code over other locks")]
#[path = "serial.rs"]
mod serial;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU32};
use loom::thread;

use self::serial::{Serial, SharedSync};
use self::sync::Ordering;

/// A disk whose first sync fails. All later ones report success, as those of Linux do.
#[derive(Default)]
struct Disk {
    syncs: AtomicU32,
    failed: AtomicBool,
}

impl Disk {
    fn check(&self) -> Result<(), &'static str> {
        if self.failed.load(Ordering::SeqCst) { Err("stopped") } else { Ok(()) }
    }

    fn sync(&self) -> Result<(), &'static str> {
        if self.syncs.fetch_add(1, Ordering::SeqCst) > 0 {
            return Ok(());
        }
        self.failed.store(true, Ordering::SeqCst);
        Err("failed")
    }
}

/// Tries this in every order of its threads in which at most two of them are interrupted: without a bound there are millions of orders,
/// and two interruptions are enough to fail, to wait and to overtake.
fn in_every_order(body: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(body);
}

/// Runs this in three threads, of which one is the caller's, and answers what each had.
fn in_three_threads<R: Send + 'static>(each: impl Fn(usize) -> R + Send + Sync + 'static) -> [R; 3] {
    let each = Arc::new(each);
    let [first, second] = [1, 2].map(|number| {
        let each = Arc::clone(&each);
        thread::spawn(move || each(number))
    });
    [each(0), first.join().unwrap(), second.join().unwrap()]
}

#[test]
fn in_no_order_of_threads_is_a_record_acknowledged_after_a_sync_that_failed() {
    in_every_order(|| {
        let (record, disk) = (Serial::new(0), Disk::default());
        let outcomes = in_three_threads(move |_| {
            record.write(
                || disk.check(),
                |records| {
                    *records += 1;
                    disk.sync()
                },
            )
        });
        assert!(outcomes.iter().all(Result::is_err), "{outcomes:?}");
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == Err("failed")).count(), 1);
    });
}

#[test]
fn in_no_order_of_threads_does_a_shared_sync_hide_that_one_failed() {
    in_every_order(|| {
        let (shared, disk) = (SharedSync::new(), Disk::default());
        let outcomes = in_three_threads(move |_| shared.run(|| disk.check(), || disk.sync()));
        assert!(outcomes.iter().all(Result::is_err), "{outcomes:?}");
    });
}

#[test]
fn in_every_order_of_threads_a_shared_sync_has_what_its_callers_wrote() {
    in_every_order(|| {
        let shared = SharedSync::new();
        let (written, synced): ([AtomicBool; 3], [AtomicBool; 3]) = Default::default();
        in_three_threads(move |number| {
            written[number].store(true, Ordering::Relaxed);
            let sync = || {
                for (written, synced) in written.iter().zip(&synced) {
                    synced.fetch_or(written.load(Ordering::Relaxed), Ordering::Relaxed);
                }
                Ok::<(), ()>(())
            };
            shared.run(|| Ok(()), sync).unwrap();
            assert!(synced[number].load(Ordering::Relaxed), "the sync that it shared began before it had written");
        });
    });
}
