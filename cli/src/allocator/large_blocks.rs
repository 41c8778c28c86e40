//! Large blocks of memory: once there are too many of them, the next ones are in a file.
//!
//! A scan holds its documents and contents in a few tables and lists. These grow with their number, and are mostly read and written from one
//! end to the other. In a file that is mapped they are as quick as in memory while there is memory for them, and
//! the system writes pages of them to the disk while there is not. So neither a scan nor a sync needs more memory than it is given, however
//! many the documents are ([decision 0053](../../../docs/decisions/0053-large-blocks.md)).
//!
//! The file has no name: nobody else opens it, and it is gone with the process. Its place is reserved before a block is used, so that
//! a full disk is seen here and nowhere else; the block is then in memory after all.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use rustix::mm::{MapFlags, MremapFlags, ProtFlags};

/// Blocks of at least so many bytes are large.
const LARGE_BYTES_MIN: usize = 1 << 20;
/// Large blocks in the file at a time; more are in memory.
const FILE_BLOCKS_MAX: usize = 1024;
/// A block takes a multiple of so many bytes in the file. Systems have pages of this size at most.
const PAGE_BYTES: usize = 1 << 16;

/// Every mapping begins at a multiple of so many bytes.
const ALIGNMENT_MAX: usize = 4096;

/// Bytes of large blocks in memory.
static MEMORY_BYTES: AtomicUsize = AtomicUsize::new(0);
/// Beyond so many bytes in memory, large blocks are in the file, if there is one.
static MEMORY_BYTES_MAX: AtomicUsize = AtomicUsize::new(usize::MAX);
/// Bytes of large blocks in the file.
static FILE_BYTES: AtomicUsize = AtomicUsize::new(0);
/// Large blocks that the file had no room for.
static REFUSED: AtomicU64 = AtomicU64::new(0);
static BLOCK_FILE: Mutex<BlockFile> =
    Mutex::new(BlockFile { file: None, end: 0, blocks: [NO_BLOCK; FILE_BLOCKS_MAX], count: 0 });

/// The allocator of the program: that of the system, but for large blocks beyond what memory is for.
pub(crate) struct LargeBlocks;

/// Keeps large blocks in a file of a folder from now on, while there are more of them in memory than so many bytes.
///
/// # Errors
/// Fails if no file can be made there.
pub(crate) fn keep_in(folder: &Path, memory_bytes_max: u64) -> std::io::Result<()> {
    let file = nameless(folder)?;
    let mut blocks = BLOCK_FILE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    // Blocks in an earlier file stay where they are: a mapping holds its file.
    if blocks.count == 0 {
        (blocks.file, blocks.end) = (Some(OwnedFd::from(file)), 0);
    }
    drop(blocks);
    MEMORY_BYTES_MAX.store(usize::try_from(memory_bytes_max).unwrap_or(usize::MAX), Ordering::Relaxed);
    Ok(())
}

/// The number of large blocks so far that the file had no room for.
pub(super) fn refused() -> u64 {
    REFUSED.load(Ordering::Relaxed)
}

/// A new file without a name, which only this process can read.
fn nameless(folder: &Path) -> std::io::Result<File> {
    tempfile::tempfile_in(folder)
}

/// The file, and the blocks in it.
struct BlockFile {
    file: Option<OwnedFd>,
    /// The place of the next block. No place is used twice before all blocks are gone, since a file may have holes.
    end: u64,
    blocks: [FileBlock; FILE_BLOCKS_MAX],
    /// The number of blocks; the first so many places of the list have them, in no order.
    count: usize,
}

/// A block in the file.
#[derive(Clone, Copy)]
struct FileBlock {
    address: usize,
    offset: u64,
    /// A multiple of [`PAGE_BYTES`].
    mapped_bytes: usize,
}

const NO_BLOCK: FileBlock = FileBlock { address: 0, offset: 0, mapped_bytes: 0 };

impl BlockFile {
    /// A new block, all zero; nothing where there is no room for it.
    fn allocate(&mut self, size_bytes: usize) -> Option<*mut u8> {
        let file = self.file.as_ref()?.as_fd();
        if self.count == FILE_BLOCKS_MAX {
            return None;
        }
        if self.count == 0 {
            self.end = 0;
        }
        let mapped_bytes = size_bytes.checked_next_multiple_of(PAGE_BYTES)?;
        let offset = self.end;
        reserve(file, offset, mapped_bytes).ok()?;
        // SAFETY: the kernel chooses the address, so that nothing that exists is mapped over. The file belongs to this module
        // alone, has no name, and is never truncated below a block.
        #[expect(unsafe_code, reason = "the standard library has no mapped files")]
        let mapped = unsafe {
            let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
            rustix::mm::mmap(ptr::null_mut(), mapped_bytes, protection, flags, file, offset)
        };
        let Ok(address) = mapped else {
            free(file, offset, mapped_bytes);
            return None;
        };
        self.blocks[self.count] = FileBlock { address: address.addr(), offset, mapped_bytes };
        self.count += 1;
        self.end += mapped_bytes as u64;
        FILE_BYTES.fetch_add(mapped_bytes, Ordering::Relaxed);
        Some(address.cast())
    }

    /// The place in the list of the block that begins at an address.
    fn place(&self, address: usize) -> Option<usize> {
        self.blocks[..self.count].iter().position(|block| block.address == address)
    }

    /// Gives a block back; false if there is no such block.
    fn release(&mut self, block: *mut u8) -> bool {
        let Some(place) = self.place(block.addr()) else { return false };
        let FileBlock { offset, mapped_bytes, .. } = self.blocks[place];
        self.count -= 1;
        self.blocks[place] = self.blocks[self.count];
        FILE_BYTES.fetch_sub(mapped_bytes, Ordering::Relaxed);
        // SAFETY: the block was mapped with just this address and length, and whoever gives it back uses it no more.
        #[expect(unsafe_code, reason = "the standard library has no mapped files")]
        let unmapped = unsafe { rustix::mm::munmap(block.cast(), mapped_bytes) };
        if let (Ok(()), Some(file)) = (unmapped, &self.file) {
            free(file.as_fd(), offset, mapped_bytes);
        }
        true
    }

    /// Lets a block grow where it is in the file, if it is the last one there. It may move in memory.
    fn grow(&mut self, block: *mut u8, size_bytes: usize) -> Option<*mut u8> {
        let place = self.place(block.addr())?;
        let FileBlock { offset, mapped_bytes, .. } = self.blocks[place];
        let wanted_bytes = size_bytes.checked_next_multiple_of(PAGE_BYTES)?;
        // One that shrinks very much is better moved: only then is its room given back.
        if wanted_bytes <= mapped_bytes {
            return (wanted_bytes >= mapped_bytes / 2).then_some(block);
        }
        if offset + mapped_bytes as u64 != self.end {
            return None;
        }
        let file = self.file.as_ref()?.as_fd();
        reserve(file, self.end, wanted_bytes - mapped_bytes).ok()?;
        // SAFETY: the block was mapped with just this address and length; the file is as long as the new length needs; whoever
        // lets it grow uses it by its new address alone.
        #[expect(unsafe_code, reason = "the standard library has no mapped files")]
        let moved = unsafe { rustix::mm::mremap(block.cast(), mapped_bytes, wanted_bytes, MremapFlags::MAYMOVE) };
        let Ok(address) = moved else {
            free(file, self.end, wanted_bytes - mapped_bytes);
            return None;
        };
        self.blocks[place] = FileBlock { address: address.addr(), offset, mapped_bytes: wanted_bytes };
        self.end = offset + wanted_bytes as u64;
        FILE_BYTES.fetch_add(wanted_bytes - mapped_bytes, Ordering::Relaxed);
        Some(address.cast())
    }
}

/// Makes room in the file: a page that finds none when it is written would end the process.
fn reserve(file: impl AsFd, offset: u64, size_bytes: usize) -> Result<(), Errno> {
    loop {
        match rustix::fs::fallocate(&file, FallocateFlags::empty(), offset, size_bytes as u64) {
            Err(Errno::INTR) => {}
            reserved => return reserved,
        }
    }
}

/// Gives room in the file back. Where the system cannot, it is given back with the file.
fn free(file: impl AsFd, offset: u64, size_bytes: usize) {
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    let _ = rustix::fs::fallocate(&file, hole, offset, size_bytes as u64);
}

/// Does something with the file. The lock allocates nothing, and nothing below it panics.
fn with_file<T>(act: impl FnOnce(&mut BlockFile) -> T) -> T {
    act(&mut BLOCK_FILE.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
}

/// True if large blocks of so many bytes more may be in memory, which are counted then.
fn fits(size_bytes: usize) -> bool {
    let before = MEMORY_BYTES.fetch_add(size_bytes, Ordering::Relaxed);
    let fits = before.saturating_add(size_bytes) <= MEMORY_BYTES_MAX.load(Ordering::Relaxed);
    if !fits {
        MEMORY_BYTES.fetch_sub(size_bytes, Ordering::Relaxed);
    }
    fits
}

/// A large block, by `in_memory` if it is to be there. Those in the file are zero.
fn large(layout: Layout, in_memory: impl FnOnce(Layout) -> *mut u8) -> *mut u8 {
    if layout.align() <= ALIGNMENT_MAX && !fits(layout.size()) {
        if let Some(block) = with_file(|file| file.allocate(layout.size())) {
            return block;
        }
        REFUSED.fetch_add(1, Ordering::Relaxed);
        MEMORY_BYTES.fetch_add(layout.size(), Ordering::Relaxed);
    }
    in_memory(layout)
}

/// True if there are blocks in the file: without one, no list is looked through.
fn has_file_blocks() -> bool {
    FILE_BYTES.load(Ordering::Relaxed) > 0
}

// SAFETY: a block is either one of the system's allocator, which gets it back with its own layout, or a mapping of at least so many
// bytes, aligned to a page, that nothing else refers to until it is given back.
#[expect(unsafe_code, reason = "an allocator is an unsafe trait")]
unsafe impl GlobalAlloc for LargeBlocks {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller promises what the system's allocator asks.
        let in_memory = |layout| unsafe { System.alloc(layout) };
        if layout.size() < LARGE_BYTES_MIN { in_memory(layout) } else { large(layout, in_memory) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let in_memory = |layout| unsafe { System.alloc_zeroed(layout) };
        if layout.size() < LARGE_BYTES_MIN { in_memory(layout) } else { large(layout, in_memory) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if layout.size() >= LARGE_BYTES_MIN {
            if has_file_blocks() && with_file(|file| file.release(block)) {
                return;
            }
            MEMORY_BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        }
        // SAFETY: it is in no file, so that the system's allocator made it with this layout.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_bytes: usize) -> *mut u8 {
        let (was_large, is_large) = (layout.size() >= LARGE_BYTES_MIN, new_bytes >= LARGE_BYTES_MIN);
        let is_in_file = was_large && has_file_blocks() && with_file(|file| file.place(block.addr()).is_some());
        if is_in_file
            && is_large
            && let Some(grown) = with_file(|file| file.grow(block, new_bytes))
        {
            return grown;
        }
        let more_bytes = new_bytes.saturating_sub(if was_large { layout.size() } else { 0 });
        if !is_in_file && (!is_large || fits(more_bytes)) {
            let fewer_bytes =
                if was_large { layout.size().saturating_sub(if is_large { new_bytes } else { 0 }) } else { 0 };
            MEMORY_BYTES.fetch_sub(fewer_bytes, Ordering::Relaxed);
            // SAFETY: it is in no file, so that the system's allocator made it with this layout.
            return unsafe { System.realloc(block, layout, new_bytes) };
        }
        // SAFETY: the caller promises that the new size is one of a layout; both blocks have the lesser of both sizes, and the new
        // one is another.
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(new_bytes, layout.align()));
            if !moved.is_null() {
                ptr::copy_nonoverlapping(block, moved, layout.size().min(new_bytes));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of a folder, without a block.
    fn empty_file(folder: &Path) -> BlockFile {
        let file = Some(nameless(folder).unwrap().into());
        BlockFile { file, end: 0, blocks: [NO_BLOCK; FILE_BLOCKS_MAX], count: 0 }
    }

    #[test]
    fn large_blocks_beyond_the_limit_are_in_the_file_and_keep_their_bytes_as_they_grow_and_shrink() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = empty_file(folder.path());
        let bytes_of = |block: *mut u8, len: usize| {
            // SAFETY: the block has so many bytes, and nothing else refers to them.
            #[expect(unsafe_code, reason = "blocks are looked at as an allocator's user does")]
            unsafe {
                std::slice::from_raw_parts_mut(block, len)
            }
        };
        let len = 3 << 20;
        let first = file.allocate(len).unwrap();
        assert!(bytes_of(first, len).iter().all(|byte| *byte == 0), "a new block is zero");
        bytes_of(first, len)
            .iter_mut()
            .zip(0_usize..)
            .for_each(|(byte, place)| *byte = u8::try_from(place % 251).unwrap());
        // It is the last one: it grows where it is.
        let first = file.grow(first, 2 * len).unwrap();
        assert!(
            bytes_of(first, len).iter().zip(0_usize..).all(|(byte, place)| *byte == u8::try_from(place % 251).unwrap())
        );
        assert!(bytes_of(first, 2 * len)[len..].iter().all(|byte| *byte == 0));
        let second = file.allocate(len).unwrap();
        assert_ne!(first, second);
        bytes_of(second, len).fill(7);
        assert_eq!(file.grow(first, 4 * len), None, "another one is behind it");
        assert_eq!(file.grow(first, len + 1), Some(first), "it is large enough");
        assert_eq!(file.grow(first, len / 2), None, "much would be left");
        assert!(
            bytes_of(first, len).iter().zip(0_usize..).all(|(byte, place)| *byte == u8::try_from(place % 251).unwrap())
        );
        assert!(!file.release(ptr::null_mut()), "no block begins there");
        let stat = |file: &BlockFile| rustix::fs::fstat(file.file.as_ref().unwrap()).unwrap().st_blocks * 512;
        assert!(stat(&file) >= 3 * len as i64);
        assert!(file.release(first) && file.release(second));
        assert!(stat(&file) < 1 << 20, "its room is given back: {}", stat(&file));
        assert_eq!(file.count, 0);
    }

    #[test]
    fn lists_and_tables_of_the_program_are_as_in_memory_while_they_are_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        // Other tests of this process may have their large blocks there as well.
        keep_in(folder.path(), 0).unwrap();
        let before = FILE_BYTES.load(Ordering::Relaxed);
        let mut list: Vec<u64> = Vec::new();
        let mut table = std::collections::HashMap::new();
        for number in 0..400_000_u64 {
            list.push(number * number);
            table.insert(number, number + 1);
        }
        assert!(FILE_BYTES.load(Ordering::Relaxed) >= before + 400_000 * (8 + 16), "they are in the file");
        assert!(list.iter().zip(0..).all(|(value, number)| *value == number * number));
        assert!((0..400_000).all(|number| table[&number] == number + 1));
        list.truncate(1000);
        list.shrink_to_fit();
        assert!(list.iter().zip(0..).all(|(value, number)| *value == number * number), "small again, it is in memory");
        let zeros = vec![0_u8; 8 << 20];
        assert!(zeros.iter().all(|byte| *byte == 0));
        drop((list, table, zeros));
        MEMORY_BYTES_MAX.store(usize::MAX, Ordering::Relaxed);
    }

    #[test]
    fn a_block_for_which_the_disk_has_no_room_is_refused() {
        // A file that may not grow: as on a full disk, it could be mapped all the same, and a write to it would end the process.
        let full = rustix::fs::memfd_create("full", rustix::fs::MemfdFlags::ALLOW_SEALING).unwrap();
        rustix::fs::fcntl_add_seals(&full, rustix::fs::SealFlags::GROW).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut file = BlockFile { file: Some(full), ..empty_file(folder.path()) };
        assert_eq!(file.allocate(LARGE_BYTES_MIN), None);
        assert_eq!((file.count, file.end), (0, 0));
        let mut file = empty_file(folder.path());
        let block = file.allocate(LARGE_BYTES_MIN).expect("there is room in another one");
        assert!(file.release(block));
    }
}
