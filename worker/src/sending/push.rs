//! One push of an index: sends batches, waits while too many bytes are under way, and receives acknowledgements.
//!
//! The answers of the coordinator are checked against what was sent: an acknowledgement of something else, or one that
//! goes back, ends the session. Silence ends a push, slowness does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cognate_proto::batch::body_digest;
use cognate_proto::index_digest::IndexDigest;
use cognate_proto::v1::push_request::Message as Up;
use cognate_proto::v1::push_response::Message as Down;
use cognate_proto::v1::{Batch, OpenIndex, PushRequest, PushResponse, Seal};
use prost::Message as _;
use prost::bytes::Bytes;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TryRecvError;
use tonic::Status;

use super::connection::Connection;
use super::outgoing::Outgoing;
use super::padding::pad;
use super::window::Window;
use crate::ledger::{IndexEntry, LedgerError};

/// Longest silence of the coordinator while this site waits for it.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// Longest wait for the opening of an index: the coordinator reads a large index first.
const OPENING_MAX: Duration = Duration::from_secs(600);

/// Interval in which a wait checks for a cancellation.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The connection of a push, with its window and its cancellation.
#[derive(Clone)]
pub(crate) struct PushLink {
    pub(crate) runtime: tokio::runtime::Handle,
    pub(crate) connection: Connection,
    /// Number of bytes that may be under way, by the coordinator's last credit.
    pub(crate) credit: Arc<AtomicU64>,
    pub(crate) cancelled: Arc<AtomicBool>,
    /// If set, messages are filled up with zeros.
    pub(crate) pads: bool,
}

/// One push. Its calls block.
pub(crate) struct Push {
    runtime: tokio::runtime::Handle,
    requests: Outgoing<PushRequest>,
    responses: mpsc::Receiver<Result<PushResponse, Status>>,
    cancelled: Arc<AtomicBool>,
    pads: bool,
    /// The index, as the ledger names it.
    index: IndexEntry,
    window: Window,
    sent_bytes: u64,
}

/// The state of the index at the coordinator.
pub(crate) struct Opened {
    pub(crate) committed_sequence: u64,
    pub(crate) root: IndexDigest,
    pub(crate) inside_max: InsideMax,
}

/// The documents inside of other documents that an index may have at the coordinator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InsideMax {
    pub(crate) documents: u64,
    /// The bytes of their paths.
    pub(crate) path_bytes: u64,
}

impl InsideMax {
    /// No limit.
    pub(crate) const NONE: InsideMax = InsideMax { documents: u64::MAX, path_bytes: u64::MAX };

    /// By the numbers of a message, in which 0 says that there is no limit.
    fn of([documents, path_bytes]: [u64; 2]) -> InsideMax {
        let limit = |most: u64| if most == 0 { u64::MAX } else { most };
        InsideMax { documents: limit(documents), path_bytes: limit(path_bytes) }
    }
}

/// Number of rows of a batch, for the ledger.
#[derive(Clone, Copy, Default)]
pub(crate) struct BatchCounts {
    pub(crate) documents: u64,
    pub(crate) contents: u64,
    pub(crate) chunks: u64,
}

/// The reason why a push failed.
pub(crate) enum PushError {
    /// The coordinator ended the stream.
    Status(Status),
    /// The coordinator does not have contents to which documents refer.
    UnknownContents,
    /// The coordinator violated the protocol.
    Violation(String),
    /// The message could not be logged.
    Ledger(LedgerError),
    /// The sync was cancelled.
    Cancelled,
}

impl From<Status> for PushError {
    fn from(status: Status) -> PushError {
        PushError::Status(status)
    }
}

impl From<LedgerError> for PushError {
    fn from(error: LedgerError) -> PushError {
        PushError::Ledger(error)
    }
}

impl Push {
    /// Opens the stream and the index.
    pub(crate) fn open(link: &PushLink, open: OpenIndex) -> Result<(Push, Opened), PushError> {
        let (requests, responses) = link.connection.push(&link.runtime);
        let mut push = Push {
            runtime: link.runtime.clone(),
            requests,
            responses,
            cancelled: Arc::clone(&link.cancelled),
            pads: link.pads,
            index: IndexEntry {
                repository: open.repository.clone(),
                method_id: open.method_id.clone(),
                epoch: open.epoch,
                scope: open.scope.clone(),
                ..IndexEntry::default()
            },
            window: Window::new(Arc::clone(&link.credit)),
            sent_bytes: 0,
        };
        push.send(Up::Open(open), IndexEntry::default())?;
        match push.wait_for(OPENING_MAX)? {
            Down::Opened(opened) => {
                let root = IndexDigest::from_bytes(&opened.index_digest)
                    .ok_or_else(|| unexpected("a digest of another length"))?;
                push.window.open(opened.window_bytes, opened.committed_sequence);
                let inside_max = InsideMax::of([opened.inside_documents_max, opened.inside_path_bytes_max]);
                Ok((push, Opened { committed_sequence: opened.committed_sequence, root, inside_max }))
            }
            _ => Err(unexpected("no answer to the opening")),
        }
    }

    /// Number of bytes of all messages.
    pub(crate) fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// Sends a batch, as soon as the window allows it.
    pub(crate) fn batch(&mut self, sequence: u64, body: Bytes, counts: BatchCounts) -> Result<(), PushError> {
        let body_bytes = body.len() as u64;
        while let Some(message) = self.poll()? {
            self.take_ack(&message)?;
        }
        while self.window.is_full(body_bytes) {
            let message = self.wait()?;
            self.take_ack(&message)?;
        }
        self.window.send(sequence, body_bytes);
        let digest = body_digest(&body).to_vec();
        let index = IndexEntry {
            sequence,
            body_bytes,
            body_digest: digest.clone(),
            documents: counts.documents,
            contents: counts.contents,
            chunks: counts.chunks,
            ..IndexEntry::default()
        };
        self.send(Up::Batch(Batch { sequence, digest, body }), index)?;
        crate::failpoint!("worker.after_send");
        Ok(())
    }

    /// Ends the push, and waits until the coordinator has closed the index.
    pub(crate) fn close(self) {
        let Push { requests, mut responses, runtime, cancelled, .. } = self;
        drop(requests);
        let end = Instant::now() + SILENCE_MAX;
        // Further answers and the reason of the end do not matter.
        while !cancelled.load(Ordering::Relaxed) && Instant::now() < end {
            match runtime.block_on(async { tokio::time::timeout(CHECK_INTERVAL, responses.recv()).await }) {
                Ok(Some(Ok(_))) | Err(_) => {}
                Ok(Some(Err(_)) | None) => return,
            }
        }
    }

    /// Seals the index: waits until the coordinator holds every batch and computes the same digest.
    pub(crate) fn seal(&mut self, sequence: u64, root: IndexDigest, canary: [u8; 16]) -> Result<u64, PushError> {
        let index = IndexEntry { sequence, ..IndexEntry::default() };
        let seal = Seal { sequence, index_digest: root.to_bytes().to_vec(), canary: canary.to_vec() };
        self.send(Up::Seal(seal), index)?;
        loop {
            match self.wait()? {
                Down::Sealed(sealed) if sealed.index_digest == root.to_bytes() && sealed.sequence == sequence => {
                    return Ok(self.sent_bytes);
                }
                Down::Sealed(_) => return Err(unexpected("a seal over something else")),
                message => self.take_ack(&message)?,
            }
        }
    }

    fn take_ack(&mut self, message: &Down) -> Result<(), PushError> {
        let Down::Ack(ack) = message else { return Err(unexpected("a message out of turn")) };
        if !ack.unknown_contents.is_empty() {
            return Err(PushError::UnknownContents);
        }
        self.window.acknowledge(ack.committed_sequence).map_err(unexpected)?;
        crate::failpoint!("worker.after_ack");
        Ok(())
    }

    fn send(&mut self, message: Up, index: IndexEntry) -> Result<(), PushError> {
        let mut request = PushRequest { message: Some(message), ..PushRequest::default() };
        if self.pads {
            pad(&mut request);
        }
        let length_bytes = request.encoded_len() as u64;
        let IndexEntry { repository, method_id, epoch, scope, .. } = self.index.clone();
        let index = || Some(IndexEntry { repository, method_id, epoch, scope, ..index });
        let end = Instant::now() + SILENCE_MAX;
        // Without a free place the transport does not move at the moment.
        let requests = &self.requests;
        loop {
            if let Some(permit) = requests.try_reserve() {
                permit.push(request, index)?;
                self.sent_bytes += length_bytes;
                return Ok(());
            }
            let place =
                async { tokio::time::timeout(CHECK_INTERVAL, requests.reserve()).await.map(|place| place.is_some()) };
            match self.runtime.block_on(place) {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) if self.cancelled.load(Ordering::Relaxed) => return Err(PushError::Cancelled),
                Err(_) if Instant::now() >= end => return Err(silent(SILENCE_MAX)),
                Err(_) => {}
            }
        }
        // The stream has ended. The answers say why.
        loop {
            self.wait()?;
        }
    }

    fn wait(&mut self) -> Result<Down, PushError> {
        self.wait_for(SILENCE_MAX)
    }

    fn wait_for(&mut self, longest: Duration) -> Result<Down, PushError> {
        let end = Instant::now() + longest;
        loop {
            let responses = &mut self.responses;
            match self.runtime.block_on(async { tokio::time::timeout(CHECK_INTERVAL, responses.recv()).await }) {
                Ok(Some(message)) => return content(message?),
                Ok(None) => return Err(closed()),
                Err(_) if self.cancelled.load(Ordering::Relaxed) => return Err(PushError::Cancelled),
                Err(_) if Instant::now() >= end => return Err(silent(longest)),
                Err(_) => {}
            }
        }
    }

    fn poll(&mut self) -> Result<Option<Down>, PushError> {
        match self.responses.try_recv() {
            Ok(message) => content(message?).map(Some),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(closed()),
        }
    }
}

fn content(response: PushResponse) -> Result<Down, PushError> {
    response.message.ok_or_else(|| unexpected("an empty message"))
}

fn unexpected(what: &str) -> PushError {
    PushError::Violation(format!("it sent {what}"))
}

fn silent(longest: Duration) -> PushError {
    Status::deadline_exceeded(format!("the coordinator was silent for {} s", longest.as_secs())).into()
}

fn closed() -> PushError {
    Status::unavailable("the stream was closed").into()
}
