//! The file of a dry run: the messages that would be sent, in the framing of gRPC: a byte 0 for "not compressed", the
//! length (u32, big-endian), the encoded message.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use cognate_proto::index_digest::IndexDigest;
use cognate_proto::limits::WINDOW_BYTES;
use cognate_proto::v1::push_request::Message as Up;
use cognate_proto::v1::push_response::Message as Down;
use cognate_proto::v1::{Ack, Opened, PushRequest, PushResponse, Sealed};
use tokio::sync::mpsc;
use tonic::Status;

use crate::ledger::summary::SummaryRow;
use crate::ledger::{IndexEntry, Kind, LedgerError};

/// The file of a dry run.
pub struct DryRun {
    path: PathBuf,
    inner: Mutex<Inner>,
}

struct Inner {
    out: Box<dyn Write + Send>,
    summary: BTreeMap<(Kind, String), SummaryRow>,
}

impl fmt::Debug for DryRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DryRun({})", self.path.display())
    }
}

impl DryRun {
    /// Writes to `out`; errors name it as `path`.
    pub fn new(path: &Path, out: Box<dyn Write + Send>) -> DryRun {
        DryRun { path: path.to_owned(), inner: Mutex::new(Inner { out, summary: BTreeMap::new() }) }
    }

    pub(super) fn record(
        &self,
        kind: Kind,
        message: &impl prost::Message,
        index: Option<IndexEntry>,
    ) -> Result<(), LedgerError> {
        let encoded = message.encode_to_vec();
        let mut inner = self.inner();
        let length = u32::try_from(encoded.len()).expect("no message is that large");
        let header = [&[0], length.to_be_bytes().as_slice()].concat();
        let written = inner.out.write_all(&header).and_then(|()| inner.out.write_all(&encoded));
        written.map_err(|source| LedgerError::Unwritable { path: self.path.clone(), source })?;
        let repository = index.as_ref().map(|index| index.repository.clone()).unwrap_or_default();
        let row = inner.summary.entry((kind, repository)).or_default();
        row.messages += 1;
        row.bytes += (header.len() + encoded.len()) as u64;
        if let Some(index) = index {
            row.documents += index.documents;
            row.chunks += index.chunks;
        }
        Ok(())
    }

    /// Ends the file and returns its sums by kind and repository.
    ///
    /// # Errors
    /// If the buffer cannot be written.
    pub fn finish(&self) -> io::Result<BTreeMap<(Kind, String), SummaryRow>> {
        let mut inner = self.inner();
        inner.out.flush()?;
        Ok(inner.summary.clone())
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no code panics while it holds this lock")
    }
}

/// Answers a push like a coordinator that holds nothing and accepts everything.
pub(super) async fn answer(
    mut requests: mpsc::Receiver<PushRequest>,
    incoming: mpsc::Sender<Result<PushResponse, Status>>,
) {
    while let Some(request) = requests.recv().await {
        let answer = match request.message {
            Some(Up::Open(_)) => Down::Opened(Opened {
                committed_sequence: 0,
                index_digest: IndexDigest::default().to_bytes().to_vec(),
                window_bytes: WINDOW_BYTES,
                ..Opened::default()
            }),
            Some(Up::Batch(batch)) => Down::Ack(Ack { committed_sequence: batch.sequence, ..Ack::default() }),
            Some(Up::Seal(seal)) => {
                Down::Sealed(Sealed { sequence: seal.sequence, index_digest: seal.index_digest, received: None })
            }
            None => return,
        };
        if incoming.send(Ok(PushResponse { message: Some(answer) })).await.is_err() {
            return;
        }
    }
}
