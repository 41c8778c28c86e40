//! Batches read back: the state that the records of a segment add up to.

use std::path::{Path, PathBuf};

use cognate_proto::batch::Batch;
use cognate_proto::index_digest::IndexDigest;
use prost::Message as _;

use crate::error::Error;
use crate::index::{Chunks, Index};
use crate::segment::{BaseRecord, Kind, Record, SealRecord};

/// An index as far as its segment has been read.
pub struct Replay {
    path: PathBuf,
    chunk_bytes_max: u32,
    compacted: bool,
    pub(crate) index: Index,
    /// The last seal, and the sequence of the batch before it.
    pub(crate) seal: Option<(u64, SealRecord)>,
}

impl Replay {
    pub(crate) fn new(path: &Path, chunk_bytes_max: u32) -> Replay {
        Replay { path: path.to_owned(), chunk_bytes_max, compacted: false, index: Index::default(), seal: None }
    }

    /// True if the segment was compacted.
    pub(crate) fn is_compacted(&self) -> bool {
        self.compacted
    }

    /// Takes in the next record. Each posting is handed to `posting` with its content's ordinal.
    ///
    /// # Errors
    /// Fails if the record cannot be the next: its checksum was right, so it was written wrongly or elsewhere.
    pub(crate) fn take(&mut self, record: &Record, posting: impl FnMut(u32, &mut Chunks<'_>)) -> Result<(), Error> {
        match record.kind {
            Kind::Batch => {
                if record.sequence != self.index.sequence() + 1 {
                    return Err(self.wrong(record, "a batch is out of order"));
                }
                let batch = self.decode(record)?;
                self.index.apply(record.digest, record.body.len() as u64, &batch, posting);
            }
            Kind::Base => {
                let base = BaseRecord::decode(record.body.as_slice());
                let base = base.map_err(|_| self.wrong(record, "a record cannot be read"))?;
                self.compacted = true;
                self.index = Index::after(record.sequence, &base).map_err(|detail| self.wrong(record, detail))?;
            }
            Kind::Compacted => {
                let batch = self.decode(record)?;
                self.index.take_in(&batch, posting);
            }
            Kind::Seal => {
                let seal = SealRecord::decode(record.body.as_slice());
                let seal = seal.map_err(|_| self.wrong(record, "a record cannot be read"))?;
                let agreed = IndexDigest::from_bytes(&seal.root) == Some(self.index.root());
                if !agreed || record.sequence != self.index.sequence() {
                    return Err(self.wrong(record, "the batches do not come to the root that was sealed"));
                }
                self.seal = Some((record.sequence, seal));
            }
        }
        Ok(())
    }

    fn decode(&self, record: &Record) -> Result<Batch, Error> {
        Batch::decode(&record.body, self.chunk_bytes_max).map_err(|error| self.wrong(record, &error.to_string()))
    }

    fn wrong(&self, record: &Record, detail: &str) -> Error {
        let detail = format!("{detail}, in the record that ends at byte {}", record.end);
        Error::Corrupt { path: self.path.clone(), detail }
    }
}
