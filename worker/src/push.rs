//! The push stream as the sync sees it: hand over a batch, wait while too much is under way, hear what is durable.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::Duration;

use cognate_proto::batch::body_digest;
use cognate_proto::limits::{MESSAGE_BYTES_MAX, WINDOW_BATCHES, WINDOW_BYTES};
use cognate_proto::root::Root;
use cognate_proto::v1::push_request::Message as Up;
use cognate_proto::v1::push_response::Message as Down;
use cognate_proto::v1::worker_client::WorkerClient;
use cognate_proto::v1::{Batch, OpenIndex, PushRequest, PushResponse, Seal};
use prost::Message as _;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;
use tonic::transport::Channel;

/// How long the coordinator may be silent while something is waited for.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// How long it may take to open an index: a large one is read first.
const OPENING_MAX: Duration = Duration::from_secs(600);

/// One push, driven from a thread that may block.
pub(crate) struct Push {
    requests: mpsc::Sender<PushRequest>,
    responses: Receiver<Result<PushResponse, Status>>,
    /// The batches under way: number and size.
    under_way: VecDeque<(u64, u64)>,
    under_way_bytes: u64,
    window_bytes: u64,
    sent_bytes: u64,
}

/// What the coordinator holds of the index.
pub(crate) struct Opened {
    pub(crate) committed_sequence: u64,
    pub(crate) root: Root,
}

/// Why a batch could not be got across.
pub(crate) enum PushError {
    /// The coordinator ended the stream.
    Status(Status),
    /// Documents refer to contents that the coordinator does not have.
    UnknownContents,
}

impl From<Status> for PushError {
    fn from(status: Status) -> PushError {
        PushError::Status(status)
    }
}

impl Push {
    /// Opens the stream and the index.
    pub(crate) fn open(
        runtime: &tokio::runtime::Handle,
        channel_to: &Channel,
        open: OpenIndex,
    ) -> Result<(Push, Opened), Status> {
        let (requests, outgoing) = mpsc::channel(4);
        let (incoming, responses) = channel();
        let mut client = WorkerClient::new(channel_to.clone()).max_decoding_message_size(MESSAGE_BYTES_MAX);
        runtime.spawn(async move {
            let mut stream = match client.push(ReceiverStream::new(outgoing)).await {
                Ok(response) => response.into_inner(),
                Err(status) => return drop(incoming.send(Err(status))),
            };
            while let Some(message) = stream.message().await.transpose() {
                let failed = message.is_err();
                if incoming.send(message).is_err() || failed {
                    return;
                }
            }
        });
        let mut push = Push {
            requests,
            responses,
            under_way: VecDeque::new(),
            under_way_bytes: 0,
            window_bytes: WINDOW_BYTES,
            sent_bytes: 0,
        };
        push.send(Up::Open(open))?;
        match push.wait_for(OPENING_MAX)? {
            Down::Opened(opened) => {
                let root = Root::from_bytes(&opened.root).ok_or_else(|| unexpected("a root of another length"))?;
                // A coordinator may ask for a smaller window, never for one that the site's memory is not made for.
                push.window_bytes = opened.window_bytes.clamp(1, WINDOW_BYTES);
                Ok((push, Opened { committed_sequence: opened.committed_sequence, root }))
            }
            _ => Err(unexpected("no answer to the opening")),
        }
    }

    /// How many bytes of messages have been sent.
    pub(crate) fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// Sends a batch, after waiting for room in the window.
    pub(crate) fn batch(&mut self, sequence: u64, body: prost::bytes::Bytes) -> Result<(), PushError> {
        let body_bytes = body.len() as u64;
        while let Some(message) = self.poll()? {
            self.take_ack(&message)?;
        }
        while !self.under_way.is_empty()
            && (self.under_way_bytes + body_bytes > self.window_bytes || self.under_way.len() >= WINDOW_BATCHES)
        {
            let message = self.wait()?;
            self.take_ack(&message)?;
        }
        self.under_way.push_back((sequence, body_bytes));
        self.under_way_bytes += body_bytes;
        let digest = body_digest(&body).to_vec();
        Ok(self.send(Up::Batch(Batch { sequence, digest, body }))?)
    }

    /// Ends the push, and waits until the coordinator has let go of the index.
    pub(crate) fn close(self) {
        drop(self.requests);
        // Whatever it still says, or why it ends, does not matter any more.
        while let Ok(Ok(_)) = self.responses.recv_timeout(SILENCE_MAX) {}
    }

    /// Says that all is sent, and waits until the coordinator has it all and comes to the same root.
    pub(crate) fn seal(&mut self, sequence: u64, root: Root, canary: [u8; 16]) -> Result<u64, PushError> {
        self.send(Up::Seal(Seal { sequence, root: root.to_bytes().to_vec(), canary: canary.to_vec() }))?;
        loop {
            match self.wait()? {
                Down::Sealed(sealed) if sealed.root == root.to_bytes() && sealed.sequence == sequence => {
                    return Ok(self.sent_bytes);
                }
                Down::Sealed(_) => return Err(unexpected("a seal over something else").into()),
                message => self.take_ack(&message)?,
            }
        }
    }

    fn take_ack(&mut self, message: &Down) -> Result<(), PushError> {
        let Down::Ack(ack) = message else { return Err(unexpected("a message out of turn").into()) };
        if !ack.unknown_contents.is_empty() {
            return Err(PushError::UnknownContents);
        }
        let last = self.under_way.back().map_or(0, |(sequence, _)| *sequence);
        if ack.committed_sequence > last && !self.under_way.is_empty() {
            return Err(unexpected("an acknowledgement of what was not sent").into());
        }
        while self.under_way.front().is_some_and(|(sequence, _)| *sequence <= ack.committed_sequence) {
            let (_, body_bytes) = self.under_way.pop_front().expect("looked at above");
            self.under_way_bytes -= body_bytes;
        }
        Ok(())
    }

    fn send(&mut self, message: Up) -> Result<(), Status> {
        let request = PushRequest { message: Some(message) };
        self.sent_bytes += request.encoded_len() as u64;
        if self.requests.blocking_send(request).is_ok() {
            return Ok(());
        }
        // The stream is gone; why, the other direction knows.
        match self.responses.recv_timeout(SILENCE_MAX) {
            Ok(Err(status)) => Err(status),
            _ => Err(Status::unavailable("the stream was closed")),
        }
    }

    fn wait(&mut self) -> Result<Down, Status> {
        self.wait_for(SILENCE_MAX)
    }

    fn wait_for(&mut self, longest: Duration) -> Result<Down, Status> {
        match self.responses.recv_timeout(longest) {
            Ok(message) => content(message?),
            Err(RecvTimeoutError::Timeout) => Err(Status::deadline_exceeded(format!(
                "nothing was heard of the coordinator for {} s",
                longest.as_secs()
            ))),
            Err(RecvTimeoutError::Disconnected) => Err(Status::unavailable("the stream was closed")),
        }
    }

    fn poll(&mut self) -> Result<Option<Down>, Status> {
        match self.responses.try_recv() {
            Ok(message) => content(message?).map(Some),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(Status::unavailable("the stream was closed")),
        }
    }
}

fn content(response: PushResponse) -> Result<Down, Status> {
    response.message.ok_or_else(|| unexpected("an empty message"))
}

fn unexpected(what: &str) -> Status {
    Status::invalid_argument(format!("the coordinator sent {what}"))
}
