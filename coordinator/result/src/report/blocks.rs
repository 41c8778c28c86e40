//! Long lists read by two threads, piece by piece. Each takes the next piece that neither has begun; one of them hands the pieces over in
//! their order, and reads others while it waits for the one that is due.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

use super::Report;
use crate::error::Error;

/// The numbers of a block of rows.
pub(super) const BLOCK: usize = 256;
/// Lists of so many pieces or fewer are read by one thread.
const PIECES_MAX_ALONE: usize = 4;
/// The pieces of either thread that wait to be handed over: the first clusters are so large that many later blocks are read meanwhile.
const PIECES_AHEAD: usize = 16;

/// The numbers of rows in blocks of neighbours.
pub(super) fn blocks(numbers: Range<i64>) -> Vec<Range<i64>> {
    let end = numbers.end;
    numbers.step_by(BLOCK).map(|start| start..end.min(start + BLOCK as i64)).collect()
}

impl Report {
    /// Hands over the rows of the pieces of a list, in their order: `read` reads a piece.
    pub(super) fn in_pieces<P: Sync, T: Send, E: From<Error>>(
        &self,
        pieces: &[P],
        read: impl Fn(&Report, &P) -> Result<T, Error> + Sync,
        each: &mut impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        // A part of a report is made of temporary tables, which no other connection sees.
        if self.is_part() || pieces.len() <= PIECES_MAX_ALONE {
            return pieces.iter().try_for_each(|piece| each(read(self, piece)?));
        }
        let again = self.again()?;
        let begun = AtomicUsize::new(0);
        thread::scope(|scope| {
            let (sender, receiver) = sync_channel(PIECES_AHEAD);
            let (next, read) = (|| begun.fetch_add(1, Ordering::Relaxed), &read);
            scope.spawn(move || {
                loop {
                    let number = next();
                    let Some(piece) = pieces.get(number) else { return };
                    // Nobody receives any more once there was a failure.
                    if sender.send((number, read(&again, piece))).is_err() {
                        return;
                    }
                }
            });
            let mut waiting = BTreeMap::new();
            for due in 0..pieces.len() {
                let rows = loop {
                    waiting.extend(receiver.try_iter());
                    if let Some(rows) = waiting.remove(&due) {
                        break rows?;
                    }
                    let own = if waiting.len() < PIECES_AHEAD { next() } else { pieces.len() };
                    waiting.extend(match pieces.get(own) {
                        Some(piece) => Some((own, read(self, piece))),
                        None => Some(receiver.recv().expect("the other thread sends every piece that it begins")),
                    });
                };
                each(rows)?;
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
        let (least, greatest): (Option<i64>, Option<i64>) = self.row(sql, ())?;
        Ok(least.zip(greatest).map_or(0..0, |(least, greatest)| least..greatest + 1))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::HashSet;
    use std::sync::Mutex;
    use std::thread::ThreadId;

    use cognate_result_file::{FORMAT, Root, create_table};

    use super::*;

    fn empty_report(folder: &std::path::Path) -> Report {
        report_with(folder, |_| {})
    }

    /// A report of nothing but what is written here.
    pub(in crate::report) fn report_with(
        folder: &std::path::Path,
        write: impl FnOnce(&rusqlite::Connection),
    ) -> Report {
        let path = folder.join("result.sqlite");
        let tables = format!(
            "CREATE TABLE scan (schema); INSERT INTO scan VALUES ('{FORMAT}');
             CREATE TABLE layer (number, view); {}",
            create_table::<Root>()
        );
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.execute_batch(&tables).unwrap();
        write(&connection);
        Report::open(&path).unwrap()
    }

    /// The rows until the end or the first failure, the outcome, and the number of threads that read. Reading the first piece waits until so
    /// many threads read.
    fn read_until(report: &Report, numbers: Range<i64>, fails_at: i64, threads: usize) -> (Vec<i64>, bool, usize) {
        let readers: Mutex<HashSet<ThreadId>> = Mutex::default();
        let mut rows = Vec::new();
        let read = |_: &Report, block: &Range<i64>| {
            readers.lock().unwrap().insert(thread::current().id());
            while block.start == numbers.start && readers.lock().unwrap().len() < threads {
                thread::yield_now();
            }
            match block.contains(&fails_at) {
                true => Err(Error::Invalid("damaged".to_owned())),
                false => Ok(block.clone()),
            }
        };
        let outcome = report.in_pieces(&blocks(numbers.clone()), read, &mut |block| {
            rows.extend(block);
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
        let mut left = 7;
        let outcome = report.in_pieces(&blocks(0..5000), |_, block| Ok(block.clone()), &mut |_: Range<i64>| {
            left -= 1;
            if left == 0 { Err(Error::Invalid("no room".to_owned())) } else { Ok(()) }
        });
        assert!(matches!(outcome, Err(Error::Invalid(why)) if why == "no room"));
    }
}
