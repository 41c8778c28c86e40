//! Buckets: rows sorted coarsely by number, in memory while they fit and in checksummed files once they do not.
//!
//! The passes of an analysis hand rows to each other through buckets. A bucket keeps its rows in memory until all
//! buckets of the pass together use up their share of the budget; then whichever bucket grows next and is worth a write
//! moves to its file. A small input never touches the disk: the folder is made at the first spill. It is removed when
//! the [`SpillFolder`] is dropped, whatever the reason.
//!
//! A spill file is a list of blocks: number of rows (4 bytes), CRC-32 of the rows (4 bytes), the rows. The file is this process's own and
//! lives as long as a pass: rows are in the order of bytes of this machine, and the checksum is for faults of the disk, and must cost nothing next to reading.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::error::Error;

/// Rows that a writer holds back per bucket, at most: so few that those of hundreds of buckets stay in a nearer cache.
const HELD_ROWS_MAX: usize = 64;
/// A block is read into memory at once; rows beyond this go into a block of their own.
const BLOCK_BYTES_MAX: usize = 1 << 18;
/// Names of spill folders within one process differ by this number.
static NEXT_FOLDER: AtomicU64 = AtomicU64::new(0);

/// A row of fixed size without padding: its bytes in a file are those in memory.
pub(crate) trait Row: FromBytes + IntoBytes + Immutable + Copy + Send {}

impl<T: FromBytes + IntoBytes + Immutable + Copy + Send> Row for T {}

/// The folder for spilled rows, made when first needed and removed when this value is dropped.
#[derive(Debug)]
pub struct SpillFolder {
    parent: PathBuf,
    folder: OnceLock<PathBuf>,
    making: Mutex<()>,
    written_bytes: AtomicU64,
}

impl SpillFolder {
    /// Names a folder of its own in `parent`; both are made at the first spill.
    pub fn new(parent: &Path) -> SpillFolder {
        SpillFolder {
            parent: parent.to_owned(),
            folder: OnceLock::new(),
            making: Mutex::new(()),
            written_bytes: AtomicU64::new(0),
        }
    }

    /// Bytes written to spill files so far.
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes.load(Ordering::Relaxed)
    }

    fn folder(&self) -> Result<&Path, Error> {
        let _one_at_a_time = lock(&self.making);
        if let Some(folder) = self.folder.get() {
            return Ok(folder);
        }
        fs::create_dir_all(&self.parent).map_err(Error::io("create", &self.parent))?;
        loop {
            let number = NEXT_FOLDER.fetch_add(1, Ordering::Relaxed);
            let folder = self.parent.join(format!("spill-{}-{number}", std::process::id()));
            match fs::create_dir(&folder) {
                Ok(()) => return Ok(self.folder.get_or_init(|| folder)),
                // An earlier process with this number may have left a folder; it is not ours to remove.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io("create", &folder)(error)),
            }
        }
    }
}

impl Drop for SpillFolder {
    fn drop(&mut self) {
        if let Some(folder) = self.folder.get() {
            // A failure has no caller to report to; a leftover only takes disk space, and its name shows its origin.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

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
    name: &'static str,
    buckets: Vec<Mutex<Bucket<T>>>,
    memory_bytes: AtomicU64,
    memory_bytes_max: u64,
    /// Rows of a slice: memory is taken for so many at a time.
    slice_rows_max: usize,
}

struct Bucket<T> {
    /// Rows in memory, in the slices that the writers added.
    slices: Vec<Vec<T>>,
    memory_bytes: u64,
    /// Rows in the file.
    spilled_rows: u64,
}

impl<'s, T: Row> Buckets<'s, T> {
    pub(crate) fn new(spill: &'s SpillFolder, options: &BucketsOptions) -> Buckets<'s, T> {
        let slice_bytes = options.memory_bytes_max / 4 / (options.count * options.writers) as u64;
        let slice_rows = usize::try_from(slice_bytes).unwrap_or(usize::MAX) / size_of::<T>();
        let empty = || Bucket { slices: Vec::new(), memory_bytes: 0, spilled_rows: 0 };
        Buckets {
            spill,
            name: options.name,
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
        if bucket.spilled_rows > 0 {
            let (mut file, mut rows) = (SpillFile::open(self.path(number)?, bucket.spilled_rows)?, Vec::new());
            while file.read_block(&mut rows)? {
                visit(&rows)?;
            }
        }
        bucket.slices.iter().try_for_each(|slice| visit(slice))
    }

    /// Forgets the rows of a bucket and frees their memory and disk.
    pub(crate) fn clear(&self, number: usize) -> Result<(), Error> {
        let mut bucket = lock(&self.buckets[number]);
        self.memory_bytes.fetch_sub(bucket.memory_bytes, Ordering::Relaxed);
        bucket.memory_bytes = 0;
        bucket.slices = Vec::new();
        if std::mem::take(&mut bucket.spilled_rows) > 0 {
            let path = self.path(number)?;
            fs::remove_file(&path).map_err(Error::io("remove", &path))?;
        }
        Ok(())
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
        let path = self.path(number)?;
        // Opened for each write: thousands of buckets would run out of descriptors.
        let mut file = OpenOptions::new().create(true).append(true).open(&path).map_err(Error::io("open", &path))?;
        let mut begun = 0;
        while begun < bucket.slices.len() {
            let mut bytes = 0;
            let fits = |slice: &&Vec<T>| {
                bytes += size_of_val(slice.as_slice());
                bytes <= BLOCK_BYTES_MAX
            };
            let count = bucket.slices[begun..].iter().take_while(fits).count().max(1);
            self.write_block(&mut file, &path, &bucket.slices[begun..begun + count])?;
            begun += count;
        }
        bucket.spilled_rows = bucket.rows();
        self.memory_bytes.fetch_sub(bucket.memory_bytes, Ordering::Relaxed);
        bucket.memory_bytes = 0;
        bucket.slices = Vec::new();
        Ok(())
    }

    fn write_block(&self, file: &mut File, path: &Path, slices: &[Vec<T>]) -> Result<(), Error> {
        let (mut count, mut check) = (0, crc32fast::Hasher::new());
        for slice in slices {
            count += slice.len();
            check.update(slice.as_bytes());
        }
        let count = u32::try_from(count).expect("a block holds kilobytes");
        let head = [count, check.finalize()];
        let parts = std::iter::once(head.as_bytes()).chain(slices.iter().map(|slice| slice.as_bytes()));
        let bytes = write_all(file, parts.map(IoSlice::new).collect()).map_err(Error::io("write", path))?;
        self.spill.written_bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    fn path(&self, number: usize) -> Result<PathBuf, Error> {
        Ok(self.spill.folder()?.join(format!("{}-{number}.spill", self.name)))
    }
}

/// Frees the disk as soon as a pass is over.
impl<T> Drop for Buckets<'_, T> {
    fn drop(&mut self) {
        let Some(folder) = self.spill.folder.get() else {
            return;
        };
        for (number, bucket) in self.buckets.iter().enumerate() {
            if lock(bucket).spilled_rows > 0 {
                // The folder is removed at the end of the analysis, so a failure here loses nothing.
                let _ = fs::remove_file(folder.join(format!("{}-{number}.spill", self.name)));
            }
        }
    }
}

/// Writes several parts by as few calls as the system needs, and returns how many bytes they are: small writes to a file cost more than their bytes.
fn write_all(file: &mut impl Write, mut parts: Vec<IoSlice<'_>>) -> io::Result<u64> {
    let bytes: usize = parts.iter().map(|part| part.len()).sum();
    let mut left = &mut parts[..];
    while !left.is_empty() {
        match file.write_vectored(left) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => IoSlice::advance_slices(&mut left, count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes as u64)
}

impl<T> Bucket<T> {
    /// The rows in memory and in the file.
    fn rows(&self) -> u64 {
        self.spilled_rows + self.slices.iter().map(|slice| slice.len() as u64).sum::<u64>()
    }
}

/// A spill file that is read block by block.
struct SpillFile {
    file: File,
    path: PathBuf,
    /// Rows that are not read yet.
    left: u64,
}

impl SpillFile {
    fn open(path: PathBuf, rows: u64) -> Result<SpillFile, Error> {
        let file = File::open(&path).map_err(Error::io("open", &path))?;
        Ok(SpillFile { file, path, left: rows })
    }

    /// Reads the rows of the next block, in the place of those that are there; false if there is none.
    fn read_block<T: Row>(&mut self, rows: &mut Vec<T>) -> Result<bool, Error> {
        if self.left == 0 {
            return Ok(false);
        }
        let mut head = [0_u32; 2];
        self.read(head.as_mut_bytes())?;
        let [count, check] = head;
        // Checked before memory is taken for it: a damaged count could ask for gigabytes.
        if count == 0 || u64::from(count) > self.left || count as usize * size_of::<T>() > 2 * BLOCK_BYTES_MAX {
            return Err(self.corrupt("a block has an impossible length"));
        }
        rows.resize(count as usize, T::new_zeroed());
        let bytes = rows.as_mut_bytes();
        self.read(bytes)?;
        if check != crc32fast::hash(bytes) {
            return Err(self.corrupt("the checksum of a block does not match"));
        }
        self.left -= u64::from(count);
        Ok(true)
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        self.file.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.corrupt("it is cut short"),
            _ => Error::io("read", &self.path)(error),
        })
    }

    fn corrupt(&self, detail: &'static str) -> Error {
        Error::Corrupt { path: self.path.clone(), detail }
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
            self.buckets.append(number, held)?;
            held.clear();
        }
        Ok(())
    }

    /// Hands over what is still held back.
    pub(crate) fn finish(self) -> Result<(), Error> {
        self.held.iter().enumerate().try_for_each(|(number, rows)| self.buckets.append(number, rows))
    }
}

#[cfg(test)]
mod tests;
