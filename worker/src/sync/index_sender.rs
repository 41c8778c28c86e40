//! Sending of one index: compares every row with the sent state, fills batches, and pushes them.

use std::io;

use cognate_fingerprint::{Content, WindowSample};
use cognate_proto::batch::{BatchBuilder, DocumentRow, DocumentState};
use cognate_proto::documents::IndexedDocument;
use cognate_proto::limits::CONTENT_CHUNKS_MAX;
use cognate_proto::path::DocumentPath;
use cognate_proto::v1::ChunkTable;

use super::stopped::Stopped;
use crate::documents::outcome::Chunks;
use crate::plan::{SendStep, send_step};
use crate::records::lists::Location;
use crate::records::sent_state::{HeldFiles, SentState};
use crate::records::store::Records;
use crate::sending::push::{BatchCounts, Push};

/// Sends the rows of one index.
pub(super) struct IndexSender<'a> {
    records: &'a Records,
    sent: SentState,
    push: Push,
    batch: BatchBuilder,
    batch_contents: Vec<Content>,
    batch_chunks: u64,
    /// The chunks of one content, for their memory.
    table: ChunkTable,
    /// The number of the last long content that was sent in parts.
    uploads: u64,
}

impl<'a> IndexSender<'a> {
    pub(super) fn new(records: &'a Records, sent: SentState, push: Push) -> IndexSender<'a> {
        // Numbers from here on were never used in this epoch, not even by an interrupted sync.
        let uploads = sent.sequence() << 20;
        IndexSender {
            records,
            sent,
            push,
            batch: BatchBuilder::default(),
            batch_contents: Vec::new(),
            batch_chunks: 0,
            table: ChunkTable::default(),
            uploads,
        }
    }

    pub(super) fn sent(&self) -> &SentState {
        &self.sent
    }

    /// Number of bytes of all messages.
    pub(super) fn sent_bytes(&self) -> u64 {
        self.push.sent_bytes()
    }

    /// Marks a document as existing, without a new row.
    pub(super) fn keep(&mut self, path: &DocumentPath) {
        self.sent.see(path);
    }

    /// Sends the row of a document, with its content if it has one, unless the coordinator has it.
    pub(super) fn send(&mut self, row: DocumentRow, content: Option<(Content, Chunks)>) -> Result<(), Stopped> {
        let sent = self.sent.see(&row.path);
        let is_content_sent = row.content.is_some_and(|digest| self.sent.has_content(&digest));
        match (send_step(sent, &IndexedDocument::from(&row), is_content_sent), content) {
            (SendStep::Keep, _) => return Ok(()),
            (SendStep::ContentAndRow, Some((content, chunks))) => self.add_content(&content, chunks)?,
            _ => {}
        }
        self.add_row(row)
    }

    /// Removes a document from the index.
    pub(super) fn remove(&mut self, path: DocumentPath) -> Result<(), Stopped> {
        self.add_row(DocumentRow::without_content(path, DocumentState::Removed))
    }

    /// Seals the index. Returns the number of bytes that were sent.
    pub(super) fn seal(&mut self, canary: [u8; 16]) -> Result<u64, Stopped> {
        let sent_bytes = self.push.seal(self.sent.sequence(), self.sent.root(), canary)?;
        self.sent.finish_sync().map_err(|source| self.records.failure(source))?;
        Ok(sent_bytes)
    }

    /// A file for each content, of a sync without a log.
    pub(super) fn take_files(&mut self) -> HeldFiles {
        self.sent.take_files()
    }

    /// Ends the push without a seal.
    pub(super) fn close(self) -> SentState {
        self.push.close();
        self.sent
    }

    fn add_row(&mut self, row: DocumentRow) -> Result<(), Stopped> {
        self.sent.add_document(&row);
        self.batch.document(row);
        self.flush_if_full()
    }

    fn add_content(&mut self, content: &Content, chunks: Chunks) -> Result<(), Stopped> {
        let bare;
        let content = if self.sent.has_samples() {
            content
        } else {
            bare = Content { sample: WindowSample::NONE, ..*content };
            &bare
        };
        let is_short = content.chunk_count <= CONTENT_CHUNKS_MAX as u64;
        self.batch_chunks += if is_short { content.chunk_count } else { 0 };
        match chunks {
            Chunks::Held(list) => {
                self.table.set(&list);
                self.batch.content(content, &self.table);
            }
            Chunks::Stored(location) if is_short => {
                let mut complete = ChunkTable::default();
                self.read_list(location, |_, table| {
                    complete.append(&table);
                    Ok(())
                })?;
                self.batch.content(content, &complete);
            }
            Chunks::Stored(location) => {
                self.uploads += 1;
                let upload = self.uploads;
                self.read_list(location, |sender, table| {
                    sender.batch_chunks += table.rows() as u64;
                    sender.batch.part(upload, table, None);
                    sender.flush_if_full()
                })?;
                self.batch.part(upload, ChunkTable::default(), Some(content));
            }
        }
        self.sent.add_content(content);
        self.batch_contents.push(content.clone());
        Ok(())
    }

    /// Reads a list, record by record. An error of the push in `each` is distinguished from damage of the list.
    fn read_list(
        &mut self,
        location: Location,
        mut each: impl FnMut(&mut Self, ChunkTable) -> Result<(), Stopped>,
    ) -> Result<(), Stopped> {
        let lists = &self.records.lists;
        let mut stopped = None;
        let read = lists.read(location, |table| {
            each(self, table).map_err(|reason| {
                stopped = Some(reason);
                io::Error::other("stopped")
            })
        });
        match (stopped, read) {
            (Some(reason), _) => Err(reason),
            (None, Err(error)) => {
                tracing::warn!(%error, file = location.file, "a list is damaged or missing: its documents are read again");
                Err(Stopped::ListLost(location.file))
            }
            (None, Ok(())) => Ok(()),
        }
    }

    fn flush_if_full(&mut self) -> Result<(), Stopped> {
        if self.batch.is_full() { self.flush() } else { Ok(()) }
    }

    /// Sends the batch that is being filled.
    pub(super) fn flush(&mut self) -> Result<(), Stopped> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let (body, documents) = self.batch.finish();
        let contents = std::mem::take(&mut self.batch_contents);
        let sequence = self.sent.log_batch(&documents, &contents).map_err(|source| self.records.failure(source))?;
        let counts = BatchCounts {
            documents: documents.len() as u64,
            contents: contents.len() as u64,
            chunks: std::mem::take(&mut self.batch_chunks),
        };
        Ok(self.push.batch(sequence, body, counts)?)
    }
}
