//! A spill file: blocks of packed rows, of several buckets, in the order in which they were written.
//!
//! Only this process reads a spill file, and it is gone with the pass. So rows are in the order of bytes of this machine, and what a block must be is known
//! before it is read: that of the last of a bucket is in memory, and each block begins with that of the one before it. The checksum is for faults of the
//! disk, and must cost nothing next to reading.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::folder::SpillFolder;
use super::packing::{grow, pack, unpack};
use super::{Row, lock};
use crate::error::Error;

/// A file of which several buckets have blocks, made with its first block and removed with its last.
pub(super) struct SpillFile {
    name: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: Option<Arc<OpenFile>>,
    /// The bytes of all blocks so far.
    end: u64,
    /// Blocks that may still be read.
    blocks: u64,
}

struct OpenFile {
    file: File,
    path: PathBuf,
}

/// The blocks of a bucket: where the last of them is and what it must be. It begins with the same data about the blocks before it.
#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(super) struct Chain {
    offset: u64,
    /// The bytes of the last block.
    bytes: u32,
    /// The rows of the last block.
    rows: u32,
    /// The CRC-32 of its bytes.
    check: u32,
    /// All blocks.
    blocks: u32,
}

const HEAD_BYTES: usize = size_of::<Chain>();

impl SpillFile {
    pub(super) fn new(name: String) -> SpillFile {
        SpillFile { name, state: Mutex::default() }
    }

    /// Writes a block, which is small enough to be read at once, and makes it the last of a bucket. `packed` is memory for it.
    pub(super) fn append<T: Row>(
        &self,
        spill: &SpillFolder,
        slices: &[Vec<T>],
        chain: &mut Chain,
        packed: &mut Vec<u8>,
    ) -> Result<(), Error> {
        grow(packed, HEAD_BYTES);
        packed[..HEAD_BYTES].copy_from_slice(chain.as_bytes());
        let bytes = pack(slices, packed, HEAD_BYTES);
        let packed = &packed[..bytes];
        // Only its place is taken under the lock: other buckets may write to the file at the same time.
        let (open, offset) = {
            let mut state = lock(&self.state);
            let open = match &state.open {
                Some(open) => Arc::clone(open),
                None => self.create(spill, &mut state)?,
            };
            state.blocks += 1;
            let offset = state.end;
            state.end += bytes as u64;
            (open, offset)
        };
        open.file.write_all_at(packed, offset).map_err(Error::io("write", &open.path))?;
        spill.add_written(bytes);
        let small = |number: usize| u32::try_from(number).expect("a block has kilobytes");
        *chain = Chain {
            offset,
            bytes: small(bytes),
            rows: small(slices.iter().map(Vec::len).sum()),
            check: crc32fast::hash(packed),
            blocks: chain.blocks + 1,
        };
        Ok(())
    }

    fn create(&self, spill: &SpillFolder, state: &mut State) -> Result<Arc<OpenFile>, Error> {
        let path = spill.path()?.join(&self.name);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
        let file = file.map_err(Error::io("create", &path))?;
        let open = Arc::new(OpenFile { file, path });
        *state = State { open: Some(Arc::clone(&open)), end: 0, blocks: 0 };
        Ok(open)
    }

    /// Adds the rows of the last block of a chain to `rows` and takes it off; false if there is none. `packed` is memory for its bytes.
    pub(super) fn read<T: Row>(
        &self,
        chain: &mut Chain,
        packed: &mut Vec<u8>,
        rows: &mut Vec<T>,
    ) -> Result<bool, Error> {
        if chain.blocks == 0 {
            return Ok(false);
        }
        let open = lock(&self.state).open.clone().expect("a file with blocks is open");
        let corrupt = |detail| Error::Corrupt { path: open.path.clone(), detail };
        let bytes = chain.bytes as usize;
        grow(packed, bytes);
        open.file.read_exact_at(&mut packed[..bytes], chain.offset).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => corrupt("it is cut short"),
            _ => Error::io("read", &open.path)(error),
        })?;
        if chain.check != crc32fast::hash(&packed[..bytes]) {
            return Err(corrupt("the checksum of a block does not match"));
        }
        if !unpack(packed, HEAD_BYTES..bytes, chain.rows as usize, rows) {
            return Err(corrupt("a block does not have the rows that were written"));
        }
        *chain = Chain::read_from_bytes(&packed[..HEAD_BYTES]).expect("as many bytes");
        Ok(true)
    }

    /// The blocks of a bucket are not wanted any more.
    pub(super) fn forget(&self, chain: &Chain) -> Result<(), Error> {
        if chain.blocks == 0 {
            return Ok(());
        }
        let mut state = lock(&self.state);
        state.blocks -= u64::from(chain.blocks);
        if state.blocks > 0 {
            return Ok(());
        }
        let open = state.open.take().expect("a file with blocks is open");
        fs::remove_file(&open.path).map_err(Error::io("remove", &open.path))
    }
}

/// Frees the disk as soon as a pass is over.
impl Drop for SpillFile {
    fn drop(&mut self) {
        if let Some(open) = lock(&self.state).open.take() {
            // The folder is removed at the end of the analysis, so a failure here loses nothing.
            let _ = fs::remove_file(&open.path);
        }
    }
}
