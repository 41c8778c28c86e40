//! The chunks of what is read: held in memory while they are few, in a list file of their own once they are many.

use std::io;

use cognate_proto::limits::CONTENT_CHUNKS_MAX;
use cognate_proto::v1::ChunkTable;

use super::Chunks;
use crate::lists::{ListWriter, Lists, Location};

/// How many chunks of one document, all that is inside of it included, are held in memory.
const HELD_CHUNKS_MAX: usize = 4 * CONTENT_CHUNKS_MAX;

/// Takes the chunks of one document, list by list.
pub(super) struct Spool<'a> {
    table: ChunkTable,
    writer: ListWriter<'a>,
    listed: Option<Location>,
    /// Chunks of lists that have ended and are held.
    held: usize,
    file: Option<u64>,
    /// Whether the list file could not be written.
    pub(super) failed: bool,
}

impl<'a> Spool<'a> {
    pub(super) fn new(lists: &'a Lists) -> Spool<'a> {
        Spool { table: ChunkTable::default(), writer: lists.writer(), listed: None, held: 0, file: None, failed: false }
    }

    pub(super) fn push(&mut self, chunk: &cognate_fingerprint::Chunk) -> io::Result<()> {
        if self.table.rows() == CONTENT_CHUNKS_MAX {
            self.spill()?;
        }
        self.table.push(chunk);
        Ok(())
    }

    /// The list is whole; the next begins.
    pub(super) fn end_list(&mut self) -> io::Result<Chunks> {
        if self.listed.is_none() && self.held + self.table.rows() <= HELD_CHUNKS_MAX {
            self.held += self.table.rows();
            return Ok(Chunks::Held(std::mem::take(&mut self.table)));
        }
        self.spill()?;
        Ok(Chunks::Listed(self.listed.take().expect("spilled above")))
    }

    /// Makes the list file readable, and says which one it is, if there is one.
    pub(super) fn finish(mut self) -> io::Result<Option<u64>> {
        self.writer.flush()?;
        Ok(self.file)
    }

    fn spill(&mut self) -> io::Result<()> {
        let appended = self.writer.append(&self.table);
        self.failed = appended.is_err();
        let piece = appended?;
        self.file = Some(piece.file);
        match &mut self.listed {
            Some(listed) => listed.length_bytes += piece.length_bytes,
            None => self.listed = Some(piece),
        }
        self.table = ChunkTable::default();
        Ok(())
    }
}
