//! The chunks of a document while it is read: a short list stays in memory, a long one goes to a list file of its own.

use std::io;

use cognate_proto::limits::CONTENT_CHUNKS_MAX;
use cognate_proto::v1::ChunkTable;

use super::outcome::{Chunks, HeldChunks};
use crate::records::lists::{ListWriter, Lists, Location};

/// Number of chunks of one document that are held in memory, those of the documents inside of it included.
const HELD_CHUNKS_MAX: usize = 4 * CONTENT_CHUNKS_MAX;

/// Takes the chunks of one document, list by list.
pub(super) struct Spool<'a> {
    list: HeldChunks,
    writer: ListWriter<'a>,
    stored: Option<Location>,
    /// Number of chunks of the lists that ended and are held.
    held: usize,
    file: Option<u64>,
    /// The list file could not be written.
    pub(super) failed: bool,
}

impl<'a> Spool<'a> {
    pub(super) fn new(lists: &'a Lists) -> Spool<'a> {
        Spool { list: HeldChunks::new(), writer: lists.writer(), stored: None, held: 0, file: None, failed: false }
    }

    pub(super) fn push(&mut self, chunk: &cognate_fingerprint::Chunk) -> io::Result<()> {
        if self.list.len() == CONTENT_CHUNKS_MAX {
            self.spill()?;
        }
        self.list.push(*chunk);
        Ok(())
    }

    /// Ends the current list; the next chunk starts another.
    pub(super) fn end_list(&mut self) -> io::Result<Chunks> {
        if self.stored.is_none() && self.held + self.list.len() <= HELD_CHUNKS_MAX {
            self.held += self.list.len();
            return Ok(Chunks::Held(std::mem::take(&mut self.list)));
        }
        self.spill()?;
        Ok(Chunks::Stored(self.stored.take().expect("spilled above")))
    }

    /// Makes the list file readable and returns its number, if there is one.
    pub(super) fn finish(mut self) -> io::Result<Option<u64>> {
        self.writer.flush()?;
        Ok(self.file)
    }

    fn spill(&mut self) -> io::Result<()> {
        let appended = self.writer.append(&ChunkTable::of(&self.list));
        self.failed = appended.is_err();
        let added = appended?;
        self.file = Some(added.file);
        match &mut self.stored {
            Some(stored) => stored.length_bytes += added.length_bytes,
            None => self.stored = Some(added),
        }
        self.list.clear();
        Ok(())
    }
}
