//! The lock of the ledger in every order of its threads, by loom.

/// In place of those of the standard library: each of their calls is a place at which another thread may go on.
mod sync {
    pub(super) use loom::sync::{Mutex, MutexGuard};
}
#[allow(clippy::duplicate_mod, reason = "it is the same code over other locks")]
#[path = "turns.rs"]
mod turns;

use std::io;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

use self::turns::{Files, Turns};
use crate::ledger::{Entry, Totals};

/// Files in memory. Of all calls of one kind the first may fail; all later ones report success, as those of Linux do.
#[derive(Default)]
struct Disk {
    entries: Vec<Entry>,
    /// Number of the last entry that is on the disk.
    synced: Arc<AtomicU64>,
    append_fails: bool,
    sync_fails: bool,
}

impl Files for Disk {
    fn append(&mut self, entry: &Entry) -> io::Result<()> {
        if std::mem::take(&mut self.append_fails) {
            return Err(io::Error::other("failed"));
        }
        self.entries.push(entry.clone());
        Ok(())
    }

    fn sync(&mut self, last: u64) -> io::Result<()> {
        if std::mem::take(&mut self.sync_fails) {
            return Err(io::Error::other("failed"));
        }
        self.synced.store(last, Ordering::Relaxed);
        Ok(())
    }
}

/// Tries this in every order of its threads in which at most two of them are interrupted, as the locks of the coordinator's store are.
fn in_every_order(body: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(body);
}

/// Runs this in three threads, of which one is the caller's, and answers what each had.
fn in_three_threads<R: Send + 'static>(each: impl Fn(u64) -> R + Send + Sync + 'static) -> [R; 3] {
    let each = Arc::new(each);
    let [first, second] = [1, 2].map(|number| {
        let each = Arc::clone(&each);
        thread::spawn(move || each(number))
    });
    [each(0), first.join().unwrap(), second.join().unwrap()]
}

/// Records a message of so many bytes, and answers its number.
fn record(turns: &Turns<Disk>, durable: bool, message_bytes: u64) -> io::Result<u64> {
    let mut number = 0;
    turns.record(durable, |before| {
        number = before.messages + 1;
        Entry { number, message_bytes, bytes_so_far: before.bytes + message_bytes, ..Entry::default() }
    })?;
    Ok(number)
}

/// What a thread may send: a batch when it is on the disk, and messages that belong together when all of them are.
fn may_send(turns: &Turns<Disk>, thread: u64) -> io::Result<u64> {
    let number = record(turns, thread > 0, thread + 1)?;
    if thread == 0 {
        turns.sync()?;
    }
    Ok(number)
}

#[test]
fn in_no_order_of_threads_is_a_message_sent_after_an_entry_that_was_not_written() {
    in_every_order(|| {
        let turns = Turns::new(Disk { append_fails: true, ..Disk::default() }, Totals::default());
        let outcomes = in_three_threads(move |thread| may_send(&turns, thread));
        assert!(outcomes.iter().all(Result::is_err), "{outcomes:?}");
    });
}

#[test]
fn in_no_order_of_threads_is_a_message_sent_after_a_sync_of_the_ledger_that_failed() {
    in_every_order(|| {
        let turns = Turns::new(Disk { sync_fails: true, ..Disk::default() }, Totals::default());
        let outcomes = in_three_threads(move |thread| may_send(&turns, thread));
        assert!(outcomes.iter().all(Result::is_err), "{outcomes:?}");
    });
}

#[test]
fn in_every_order_of_threads_what_may_be_sent_is_on_the_disk_and_numbered_as_it_stands_in_the_file() {
    in_every_order(|| {
        let disk = Disk::default();
        let synced = Arc::clone(&disk.synced);
        let turns = Arc::new(Turns::new(disk, Totals { messages: 4, bytes: 100 }));
        let ours = Arc::clone(&turns);
        in_three_threads(move |thread| {
            let number = may_send(&turns, thread).unwrap();
            assert!(synced.load(Ordering::Relaxed) >= number, "message {number} is sent and may be lost");
        });
        let entries = ours.with_files(|files| std::mem::take(&mut files.entries));
        let mut bytes = 100;
        for (entry, number) in entries.iter().zip(5..) {
            bytes += entry.message_bytes;
            assert_eq!((entry.number, entry.bytes_so_far), (number, bytes), "{entries:?}");
        }
        assert_eq!((entries.len(), ours.totals()), (3, Totals { messages: 7, bytes: 106 }));
    });
}

#[test]
fn in_no_order_of_threads_do_the_totals_of_a_ledger_go_back_or_count_what_is_not_written() {
    in_every_order(|| {
        let turns = Turns::new(Disk::default(), Totals::default());
        in_three_threads(move |thread| {
            if thread > 0 {
                record(&turns, false, 1).unwrap();
                return;
            }
            let (first, second) = (turns.totals(), turns.totals());
            assert!(first.messages <= second.messages, "{first:?}, then {second:?}");
            let written = turns.with_files(|files| files.entries.len() as u64);
            assert!(second.messages <= written, "{second:?}, and {written} are written");
        });
    });
}
