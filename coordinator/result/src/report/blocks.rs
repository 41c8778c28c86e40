//! Long lists read by two threads, block by block: one reads ahead, and the other, which hands the rows over, reads a block itself
//! where the first has not begun it.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

use super::Report;
use crate::error::Error;

/// The numbers of a block.
const BLOCK: usize = 256;
/// Lists of fewer blocks are read by one thread.
const BLOCKS_MIN: usize = 4;
/// The blocks that wait to be handed over.
const BLOCKS_AHEAD: usize = 2;

impl Report {
    /// Hands over the rows that have these numbers, in their order: `read` reads those of a block.
    pub(super) fn in_blocks<T: Send, E: From<Error>>(
        &self,
        numbers: Range<i64>,
        read: impl Fn(&Report, Range<i64>) -> Result<Vec<T>, Error> + Sync,
        each: &mut impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        let starts: Vec<i64> = numbers.clone().step_by(BLOCK).collect();
        let block = |number: usize| starts[number]..numbers.end.min(starts[number] + BLOCK as i64);
        // A part of a report is made of temporary tables, which no other connection sees.
        if self.is_part() || starts.len() <= BLOCKS_MIN {
            return (0..starts.len())
                .try_for_each(|number| read(self, block(number))?.into_iter().try_for_each(&mut *each));
        }
        let again = self.again()?;
        // The blocks that were begun, by either thread.
        let begun = AtomicUsize::new(1);
        thread::scope(|scope| {
            let (sender, receiver) = sync_channel(BLOCKS_AHEAD);
            let (begun, block, read, count) = (&begun, &block, &read, starts.len());
            scope.spawn(move || {
                loop {
                    let number = begun.fetch_add(1, Ordering::Relaxed);
                    // Nobody receives any more once there was a failure.
                    if number >= count || sender.send(read(&again, block(number))).is_err() {
                        return;
                    }
                }
            });
            for number in 0..count {
                let is_free = begun.compare_exchange(number, number + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok();
                let rows = match number == 0 || is_free {
                    true => read(self, block(number)),
                    false => receiver.recv().expect("the other thread sends every block that it begins"),
                };
                rows?.into_iter().try_for_each(&mut *each)?;
            }
            Ok(())
        })
    }

    /// The same report by a connection of its own, for another thread.
    fn again(&self) -> Result<Report, Error> {
        let again = Report::open(&self.path)?;
        again.order.set(self.order.get());
        Ok(Report {
            verdicts: self.verdicts.clone(),
            of_documents: self.of_documents.clone(),
            labels: self.labels.clone(),
            has_verdicts: self.has_verdicts,
            ..again
        })
    }

    /// The numbers from the least to the greatest, by a query that answers both, or nothing.
    pub(super) fn numbers(&self, sql: &str) -> Result<Range<i64>, Error> {
        self.one(sql, |row| {
            let (least, greatest): (Option<i64>, Option<i64>) = (row.get(0)?, row.get(1)?);
            Ok(least.zip(greatest).map_or(0..0, |(least, greatest)| least..greatest + 1))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Mutex;
    use std::thread::ThreadId;

    use cognate_analysis::result::FORMAT;

    use super::*;

    fn empty_report(folder: &std::path::Path) -> Report {
        let path = folder.join("result.sqlite");
        let tables = format!(
            "CREATE TABLE scan (schema); INSERT INTO scan VALUES ('{FORMAT}');
             CREATE TABLE layer (number, view); CREATE TABLE root (id, party, site, place);"
        );
        rusqlite::Connection::open(&path).unwrap().execute_batch(&tables).unwrap();
        Report::open(&path).unwrap()
    }

    /// The rows until the end or the first failure, the outcome, and the number of threads that read. Reading the first block waits until so
    /// many threads read.
    fn read_until(report: &Report, numbers: Range<i64>, fails_at: i64, threads: usize) -> (Vec<i64>, bool, usize) {
        let readers: Mutex<HashSet<ThreadId>> = Mutex::default();
        let mut rows = Vec::new();
        let read = |_: &Report, block: Range<i64>| {
            readers.lock().unwrap().insert(thread::current().id());
            while block.start == numbers.start && readers.lock().unwrap().len() < threads {
                thread::yield_now();
            }
            match block.contains(&fails_at) {
                true => Err(Error::Invalid("damaged".to_owned())),
                false => Ok(block.collect()),
            }
        };
        let outcome = report.in_blocks(numbers.clone(), read, &mut |row| {
            rows.push(row);
            Ok::<_, Error>(())
        });
        (rows, outcome.is_ok(), readers.into_inner().unwrap().len())
    }

    #[test]
    fn a_result_is_mapped_as_a_whole_however_large_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let report = empty_report(folder.path());
        let mapped: i64 = report.connection().query_row("PRAGMA mmap_size", [], |row| row.get(0)).unwrap();
        assert_eq!(mapped, 1 << 40);
    }

    #[test]
    fn rows_come_in_order_and_two_threads_read_those_of_long_lists() {
        let folder = tempfile::tempdir().unwrap();
        let report = empty_report(folder.path());
        for (end, threads) in [(3, 0), (4, 1), (3 + 4 * 256, 1), (3 + 4 * 256 + 1, 2), (9000, 2)] {
            let (rows, is_complete, readers) = read_until(&report, 3..end, -1, threads);
            assert!(rows.into_iter().eq(3..end), "{end}");
            assert_eq!((is_complete, readers), (true, threads), "{end}");
        }
    }

    #[test]
    fn a_block_that_cannot_be_read_ends_the_list_after_those_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let report = empty_report(folder.path());
        for fails_at in [0, 300, 700, 4999] {
            let (rows, is_complete, _) = read_until(&report, 0..5000, fails_at, 2);
            assert!(!is_complete && rows.into_iter().eq(0..fails_at / 256 * 256), "{fails_at}");
        }
        let mut left = 700;
        let outcome = report.in_blocks(0..5000, |_, block| Ok(block.collect()), &mut |_: i64| {
            left -= 1;
            if left == 0 { Err(Error::Invalid("no room".to_owned())) } else { Ok(()) }
        });
        assert!(matches!(outcome, Err(Error::Invalid(why)) if why == "no room"));
    }
}
