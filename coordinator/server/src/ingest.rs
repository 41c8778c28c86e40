//! One push: batches in, acknowledgements out. An acknowledgement means that everything up to it is durable.
//!
//! One task reads the stream, another one has its messages taken in, each by a thread that blocks for the disk and never
//! for the site; these threads are few, however many pushes there are (`disk`). Between the tasks is a short queue, so that a fast site fills the window and not the coordinator's memory.
//! Commits are shared by all batches that have
//! come in the meantime. A push belongs to a session: once that has ended, nothing more of it is taken in.

use std::sync::Arc;
use std::time::Instant;

use cognate_fingerprint::MethodId;
use cognate_proto::calls::Messages;
use cognate_proto::limits::{PADDED_BYTES, WINDOW_BYTES};
use cognate_proto::name::SiteName;
use cognate_proto::v1::push_request::Message as Up;
use cognate_proto::v1::push_response::Message as Down;
use cognate_proto::v1::{Ack, Opened, PushRequest, PushResponse, Seal, Sealed};
use tokio::sync::mpsc;
use tonic::Status;

use cognate_storage::ErrorKind;

use crate::error::Error;
use crate::metrics::Metrics;
use crate::session::{Live, SealedIndex, Sessions};
use crate::storing::Storing;
use cognate_storage::indexes::IndexWriter;
use cognate_storage::records::Records;

/// The number of messages that may wait to be taken in.
const QUEUE_MESSAGES: usize = 4;
/// The bytes that may wait for a commit; more are committed at once.
const COMMIT_BYTES: u64 = WINDOW_BYTES / 4;

type Answers = mpsc::Sender<Result<PushResponse, Status>>;

/// The properties of a push, next to its index.
pub(crate) struct Push {
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) storing: Arc<Storing>,
    pub(crate) records: Arc<Records>,
    pub(crate) site: SiteName,
    pub(crate) assignment: u64,
    pub(crate) method_id: MethodId,
    pub(crate) live: Live,
}

/// Serves a push to its end, on the answers' side of the stream.
pub(crate) async fn serve(push: Push, writer: IndexWriter, mut requests: Messages<PushRequest>, answers: Answers) {
    let inside_max = writer.inside_max();
    let opened = Opened {
        committed_sequence: writer.committed_sequence(),
        index_digest: writer.root().to_bytes().to_vec(),
        window_bytes: WINDOW_BYTES,
        inside_documents_max: inside_max.documents.unwrap_or_default(),
        inside_path_bytes_max: inside_max.path_bytes.unwrap_or_default(),
    };
    if answers.send(response(Down::Opened(opened))).await.is_err() {
        return;
    }
    let (queue, waiting) = mpsc::channel(QUEUE_MESSAGES);
    let mut live = push.live.clone();
    let taking_in = {
        let answers = answers.clone();
        crate::tasks::spawn(Intake { push, writer, first_uncommitted: None }.run(waiting, answers))
    };
    loop {
        let message = tokio::select! {
            // A push may be idle for any time: a site may read one large document for hours, or be paused. Its session
            // shows that it is alive.
            message = requests.message() => message,
            // The task that has the messages taken in sends the reason to the site.
            () = live.ended() => break,
        };
        match message {
            Ok(Some(PushRequest { message: Some(message), padding })) => {
                if let Err(refused) = check_padding(&padding) {
                    let _ = answers.send(Err(refused)).await;
                    break;
                }
                if queue.send(message).await.is_err() {
                    break;
                }
            }
            Ok(Some(PushRequest { message: None, .. })) => {
                let _ = answers.send(Err(Status::invalid_argument("an empty message"))).await;
                break;
            }
            // The site disconnected or has finished.
            Ok(None) | Err(_) => break,
        }
    }
    drop(queue);
    let _ = taking_in.await;
}

/// Checks what a message was filled up with: with anything but zeros it could say something.
pub(crate) fn check_padding(padding: &[u8]) -> Result<(), Status> {
    if padding.len() > 2 * PADDED_BYTES || padding.iter().any(|byte| *byte != 0) {
        return Err(Status::invalid_argument("a message is filled up with something else than a few zeros"));
    }
    Ok(())
}

/// A push that goes on.
struct Intake {
    push: Push,
    writer: IndexWriter,
    first_uncommitted: Option<Instant>,
}

/// The state after a message: the push, unless it has ended, and the answer to the site.
type Taken = (Option<Intake>, Option<Result<PushResponse, Status>>);

impl Intake {
    /// Takes messages in until there are no more, an error ends the push, or the index is sealed.
    async fn run(self, mut waiting: mpsc::Receiver<Up>, answers: Answers) {
        let mut intake = self;
        let records = Arc::clone(&intake.push.records);
        loop {
            let message = waiting.recv().await;
            let is_last = waiting.is_empty();
            let taking = records.disk.push(move || intake.take(message, is_last)).await;
            let (rest, answer) = taking.unwrap_or_else(|error| {
                tracing::error!(%error, "storing a push failed");
                (None, Some(Err(Status::internal("storing failed"))))
            });
            let is_read = match answer {
                Some(answer) => answers.send(answer).await.is_ok(),
                None => true,
            };
            match rest {
                Some(rest) if is_read => intake = rest,
                // Dropping the writer flushes its buffers to the disk.
                rest => return drop(records.disk.push(move || drop(rest)).await),
            }
        }
    }

    /// Takes one message in, and commits after the last one that waits. No message: the push was cut off.
    fn take(mut self, message: Option<Up>, is_last: bool) -> Taken {
        let Some(message) = message else {
            // The acknowledged batches are stored, and need not be sent again.
            let committed = self.writer.commit().map_err(Error::from);
            return self.ended(committed.and_then(|_| self.push.still_holds()));
        };
        if let Err(error) = self.push.still_holds() {
            let committed = self.writer.commit().map_err(Error::from);
            return self.ended(committed.and(Err(error)));
        }
        match message {
            Up::Batch(batch) => {
                self.first_uncommitted.get_or_insert_with(Instant::now);
                match self.push.take(&mut self.writer, batch.sequence, &batch.digest, &batch.body) {
                    Ok(Ok(())) => {}
                    Ok(Err(unknown)) => {
                        let ack =
                            Ack { unknown_contents: unknown, ..ack(&self.writer, self.writer.committed_sequence()) };
                        return (None, Some(response(Down::Ack(ack))));
                    }
                    Err(error) => return self.ended(Err(error)),
                }
            }
            Up::Seal(seal) => return self.seal(seal),
            Up::Open(_) => return (None, Some(Err(Status::invalid_argument("the index is open already")))),
        }
        if !is_last && self.writer.uncommitted_bytes() < COMMIT_BYTES {
            return (Some(self), None);
        }
        match self.push.commit(&mut self.writer) {
            Ok(sequence) => {
                let latency = &self.push.metrics.ack_latency_seconds;
                self.first_uncommitted
                    .take()
                    .into_iter()
                    .for_each(|since| latency.observe(since.elapsed().as_secs_f64()));
                let ack = ack(&self.writer, sequence);
                (Some(self), Some(response(Down::Ack(ack))))
            }
            Err(error) => self.ended(Err(error)),
        }
    }

    fn seal(self, seal: Seal) -> Taken {
        let (indexes, key) = self.writer.place();
        let records = Arc::clone(&self.push.records);
        match self.push.seal(self.writer, seal) {
            Ok(sealed) => {
                self.push.metrics.seal("sealed");
                // The site does not wait for it.
                crate::tasks::spawn(async move { drop(records.disk.push(move || indexes.tidy(&key)).await) });
                (None, Some(response(Down::Sealed(sealed))))
            }
            Err(error) => {
                let repository = key.repository.as_str();
                if matches!(error, Error::Storage(cognate_storage::Error::Contradiction(_))) {
                    self.push.metrics.seal("differs");
                    tracing::error!(site = %self.push.site, repository, %error, "an index is not what its site sent, and is not sealed");
                } else {
                    self.push.metrics.seal("failed");
                    tracing::error!(site = %self.push.site, repository, %error, "an index could not be sealed");
                }
                self.push.storing.failed(&error);
                (None, Some(Err(error.into())))
            }
        }
    }

    /// The end of the push; an error is logged and told to the site.
    fn ended(&self, result: Result<(), Error>) -> Taken {
        let Err(error) = result else { return (None, None) };
        self.push.storing.failed(&error);
        if error.kind() == ErrorKind::Exhausted {
            self.push.metrics.shed.inc();
        }
        // Another attempt would end the same: what waits for this site goes on without it.
        if let Error::Storage(cognate_storage::Error::Quota(reason)) = &error {
            self.push.sessions.refuse(self.push.assignment, reason);
        }
        // A session that ends ends its pushes: that is no fault of anybody's.
        match &error {
            Error::Stale(_) => tracing::info!(site = %self.push.site, %error, "a push has ended with its session"),
            _ => tracing::warn!(site = %self.push.site, %error, "a push was refused"),
        }
        (None, Some(Err(error.into())))
    }
}

impl Push {
    /// True if the session that the push belongs to is still the current one of its site.
    fn still_holds(&self) -> Result<(), Error> {
        if self.live.holds() {
            return Ok(());
        }
        Err(Error::Stale("the session of this push has ended, and another may have begun: attach again".to_owned()))
    }

    /// Stores a batch; returns the contents that it refers to and that are missing here.
    fn take(
        &self,
        writer: &mut IndexWriter,
        sequence: u64,
        digest: &[u8],
        body: &[u8],
    ) -> Result<Result<(), Vec<u8>>, Error> {
        self.metrics.received_bytes.inc_by(body.len() as u64);
        let before = writer.uncommitted_bytes();
        match writer.batch(sequence, digest, body) {
            Ok(Ok(())) => {
                // A repeated batch adds nothing to the pending commit.
                self.metrics.batch(if writer.uncommitted_bytes() > before { "stored" } else { "repeated" });
                Ok(Ok(()))
            }
            Ok(Err(unknown)) => {
                self.metrics.batch("refused");
                Ok(Err(unknown.iter().flat_map(|digest| digest.0).collect()))
            }
            Err(error) => {
                self.metrics.batch("refused");
                if matches!(error, cognate_storage::Error::Contradiction(_)) {
                    self.metrics.quarantined.inc();
                }
                Err(error.into())
            }
        }
    }

    fn commit(&self, writer: &mut IndexWriter) -> Result<u64, Error> {
        cognate_storage::failpoint!("ingest.before_commit");
        let begun = Instant::now();
        let sequence = writer.commit()?;
        self.storing.worked();
        self.metrics.fsync_seconds.observe(begun.elapsed().as_secs_f64());
        cognate_storage::failpoint!("ingest.before_ack");
        Ok(sequence)
    }

    /// Seals the index, and records the seal for this assignment.
    fn seal(&self, mut writer: IndexWriter, seal: Seal) -> Result<Sealed, Error> {
        if !matches!(seal.canary.len(), 0 | 16) {
            return Err(Error::Invalid("a canary has 16 bytes".to_owned()));
        }
        let (id, sequence) = (writer.id(), seal.sequence);
        writer.set_canary(seal.canary);
        let received = writer.seal(sequence, &seal.index_digest)?;
        self.storing.worked();
        let sealed = SealedIndex { method_id: self.method_id, id, sequence };
        self.sessions.sealed(&self.site, self.assignment, sealed);
        Ok(Sealed { sequence, index_digest: seal.index_digest, received: Some(received) })
    }
}

fn ack(writer: &IndexWriter, committed_sequence: u64) -> Ack {
    let counts = writer.counts();
    Ack {
        committed_sequence,
        documents: counts.documents,
        contents: counts.contents,
        chunks: counts.chunks,
        unknown_contents: Vec::new(),
    }
}

fn response(message: Down) -> Result<PushResponse, Status> {
    Ok(PushResponse { message: Some(message) })
}

#[cfg(test)]
mod tests;
