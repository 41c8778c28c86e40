//! Buckets: rows sorted coarsely by number, in memory while they fit and in checksummed files once they do not.
//!
//! The passes of an analysis hand rows to each other through buckets. A bucket keeps its rows in memory until all
//! buckets of the pass together use up their share of the budget; then whichever bucket grows next and is worth a write
//! moves to a file. A small input never touches the disk: the folder is made at the first spill. It is removed when
//! the [`SpillFolder`] is dropped, whatever the reason.

mod file;
mod folder;
mod packing;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use zerocopy::{FromBytes, Immutable, IntoBytes};

use self::file::{Chain, SpillFile};
pub use self::folder::SpillFolder;
use crate::error::Error;

/// Rows that a writer holds back per bucket, at most: so few that those of hundreds of buckets stay in a nearer cache.
const HELD_ROWS_MAX: usize = 64;
/// A block is read into memory at once; rows beyond this go into a block of their own.
const BLOCK_BYTES_MAX: usize = 1 << 18;
/// Files of a pass, at most. All are open at the same time; with one for each of thousands of buckets, each write would have to open its file.
const FILES_MAX: usize = 16;

/// A row of fixed size without padding, of one to three words of eight bytes.
pub(crate) trait Row: FromBytes + IntoBytes + Immutable + Copy + Send {}

impl<T: FromBytes + IntoBytes + Immutable + Copy + Send> Row for T {}

/// A poisoned lock means that another thread panicked; that panic ends the analysis, so the data need not be
/// mistrusted.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Options of a set of buckets.
pub(crate) struct BucketsOptions {
    /// Distinguishes the files of the passes.
    pub(crate) name: &'static str,
    pub(crate) count: usize,
    /// Memory for the rows of all buckets; may be exceeded by half while buckets too small to write pile up.
    pub(crate) memory_bytes_max: u64,
    /// Threads that write at the same time.
    pub(crate) writers: usize,
}

/// Numbered buckets of rows.
pub(crate) struct Buckets<'s, T> {
    spill: &'s SpillFolder,
    /// Each has the blocks of buckets that follow each other, so that the first are gone before the last are read.
    files: Vec<SpillFile>,
    buckets: Vec<Mutex<Bucket<T>>>,
    memory_bytes: AtomicU64,
    memory_bytes_max: u64,
    /// Rows of a slice, for which memory is taken at a time.
    slice_rows_max: usize,
}

struct Bucket<T> {
    /// Rows in memory, in the slices that the writers added.
    slices: Vec<Vec<T>>,
    memory_bytes: u64,
    /// Blocks in the file.
    spilled: Chain,
    spilled_rows: u64,
}

impl<'s, T: Row> Buckets<'s, T> {
    pub(crate) fn new(spill: &'s SpillFolder, options: &BucketsOptions) -> Buckets<'s, T> {
        let slice_bytes = options.memory_bytes_max / 4 / (options.count * options.writers) as u64;
        let slice_rows = usize::try_from(slice_bytes).unwrap_or(usize::MAX) / size_of::<T>();
        let empty = || Bucket { slices: Vec::new(), memory_bytes: 0, spilled: Chain::default(), spilled_rows: 0 };
        let file = |number: usize| SpillFile::new(format!("{}-{number}.spill", options.name));
        Buckets {
            spill,
            files: (0..options.count.min(FILES_MAX)).map(file).collect(),
            buckets: (0..options.count).map(|_| Mutex::new(empty())).collect(),
            memory_bytes: AtomicU64::new(0),
            memory_bytes_max: options.memory_bytes_max,
            slice_rows_max: slice_rows.clamp(8, 1024),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.buckets.len()
    }

    /// A handle for one thread to write with.
    pub(crate) fn writer(&self) -> Writer<'_, 's, T> {
        let held_rows_max = self.slice_rows_max.min(HELD_ROWS_MAX);
        let held = self.buckets.iter().map(|_| Vec::with_capacity(held_rows_max)).collect();
        Writer { buckets: self, held, held_rows_max }
    }

    /// Visits the rows of a bucket in slices, a block of the file at a time; the order of rows is not defined.
    pub(crate) fn scan(&self, number: usize, mut visit: impl FnMut(&[T]) -> Result<(), Error>) -> Result<(), Error> {
        let bucket = lock(&self.buckets[number]);
        let (mut chain, mut packed, mut rows) = (bucket.spilled, Vec::new(), Vec::new());
        while self.file(number).read(&mut chain, &mut packed, &mut rows)? {
            visit(&rows)?;
            rows.clear();
        }
        bucket.slices.iter().try_for_each(|slice| visit(slice))
    }

    /// Takes the rows out of a bucket, in no defined order.
    pub(crate) fn take(&self, number: usize) -> Result<Vec<T>, Error> {
        let bucket = lock(&self.buckets[number]);
        let (mut chain, mut packed) = (bucket.spilled, Vec::new());
        let mut rows = Vec::with_capacity(usize::try_from(bucket.rows()).expect("a bucket fits in memory"));
        while self.file(number).read(&mut chain, &mut packed, &mut rows)? {}
        bucket.slices.iter().for_each(|slice| rows.extend_from_slice(slice));
        drop(bucket);
        self.clear(number)?;
        Ok(rows)
    }

    /// Forgets the rows of a bucket and frees their memory; their disk as soon as all buckets of a file are empty.
    pub(crate) fn clear(&self, number: usize) -> Result<(), Error> {
        let mut bucket = lock(&self.buckets[number]);
        self.free(&mut bucket);
        bucket.spilled_rows = 0;
        self.file(number).forget(&std::mem::take(&mut bucket.spilled))
    }

    /// Frees the memory of a bucket, whose rows are in the file or not wanted.
    fn free(&self, bucket: &mut Bucket<T>) {
        self.memory_bytes.fetch_sub(bucket.memory_bytes, Ordering::Relaxed);
        bucket.memory_bytes = 0;
        bucket.slices = Vec::new();
    }

    /// Rows of a bucket.
    pub(crate) fn rows(&self, number: usize) -> u64 {
        lock(&self.buckets[number]).rows()
    }

    /// Takes rows into a bucket.
    fn add(&self, number: usize, rows: Vec<T>) -> Result<(), Error> {
        let bytes = (rows.capacity() * size_of::<T>()) as u64;
        let mut bucket = lock(&self.buckets[number]);
        bucket.slices.push(rows);
        bucket.memory_bytes += bytes;
        let total = self.memory_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        // Writing a bucket that holds little would make many small blocks; larger ones follow soon.
        let worth_bytes = self.memory_bytes_max / (2 * self.count() as u64);
        if total > self.memory_bytes_max && bucket.memory_bytes >= worth_bytes {
            self.move_to_file(number, &mut bucket)?;
        }
        Ok(())
    }

    /// Copies rows into a bucket, after those that were appended earlier.
    pub(crate) fn append(&self, number: usize, mut rows: &[T]) -> Result<(), Error> {
        while !rows.is_empty() {
            let mut bucket = lock(&self.buckets[number]);
            let open = bucket.slices.last_mut().filter(|slice| slice.len() < slice.capacity());
            let space = open.as_ref().map_or(self.slice_rows_max, |slice| slice.capacity() - slice.len());
            let (now, later) = rows.split_at(rows.len().min(space));
            rows = later;
            if let Some(slice) = open {
                slice.extend_from_slice(now);
                continue;
            }
            drop(bucket);
            let mut slice = Vec::with_capacity(self.slice_rows_max);
            slice.extend_from_slice(now);
            self.add(number, slice)?;
        }
        Ok(())
    }

    fn move_to_file(&self, number: usize, bucket: &mut Bucket<T>) -> Result<(), Error> {
        let (mut slices, mut packed) = (&bucket.slices[..], Vec::new());
        while !slices.is_empty() {
            let mut bytes = 0;
            let fits = |slice: &&Vec<T>| {
                bytes += size_of_val(slice.as_slice());
                bytes <= BLOCK_BYTES_MAX
            };
            let (now, later) = slices.split_at(slices.iter().take_while(fits).count().max(1));
            self.file(number).append(self.spill, now, &mut bucket.spilled, &mut packed)?;
            slices = later;
        }
        bucket.spilled_rows = bucket.rows();
        self.free(bucket);
        Ok(())
    }

    /// The file of a bucket.
    fn file(&self, number: usize) -> &SpillFile {
        &self.files[number * self.files.len() / self.count()]
    }
}

impl<T> Bucket<T> {
    /// The rows in memory and in the file.
    fn rows(&self) -> u64 {
        self.spilled_rows + self.slices.iter().map(|slice| slice.len() as u64).sum::<u64>()
    }
}

/// Writes rows of one thread to buckets.
pub(crate) struct Writer<'b, 's, T> {
    buckets: &'b Buckets<'s, T>,
    held: Vec<Vec<T>>,
    held_rows_max: usize,
}

impl<T: Row> Writer<'_, '_, T> {
    #[inline]
    pub(crate) fn push(&mut self, number: usize, row: T) -> Result<(), Error> {
        let held = &mut self.held[number];
        held.push(row);
        if held.len() >= self.held_rows_max {
            self.hand_over(number)?;
        }
        Ok(())
    }

    /// Apart from `push`, which is called for each row and has to stay small.
    #[inline(never)]
    fn hand_over(&mut self, number: usize) -> Result<(), Error> {
        self.buckets.append(number, &self.held[number])?;
        self.held[number].clear();
        Ok(())
    }

    /// Hands over what is still held back.
    pub(crate) fn finish(self) -> Result<(), Error> {
        self.held.iter().enumerate().try_for_each(|(number, rows)| self.buckets.append(number, rows))
    }
}

#[cfg(test)]
mod tests;
