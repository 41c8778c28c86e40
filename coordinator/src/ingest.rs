//! One push: batches in, acknowledgements out. An acknowledgement means that everything up to it is durable.
//!
//! The stream is read by a task that may wait, and taken in by a thread that may block: between them is a short queue,
//! so that a fast site fills the window and not the coordinator's memory. Commits are shared by all batches that have
//! come in the meantime.

use cognate_proto::limits::WINDOW_BYTES;
use cognate_proto::v1::push_request::Message as Up;
use cognate_proto::v1::push_response::Message as Down;
use cognate_proto::v1::{Ack, Opened, PushRequest, PushResponse, Sealed};
use tokio::sync::mpsc;
use tonic::{Status, Streaming};

use crate::indexes::IndexWriter;

/// How many messages may wait to be taken in.
const QUEUE_MESSAGES: usize = 4;
/// A commit is not put off once this much waits for it.
const COMMIT_BYTES: u64 = WINDOW_BYTES / 4;

type Answers = mpsc::Sender<Result<PushResponse, Status>>;

/// Serves a push to its end, on the answers' side of the stream.
pub(crate) async fn serve(writer: IndexWriter, mut requests: Streaming<PushRequest>, answers: Answers) {
    let opened = Opened {
        committed_sequence: writer.committed_sequence(),
        root: writer.root().to_bytes().to_vec(),
        window_bytes: WINDOW_BYTES,
    };
    if answers.send(response(Down::Opened(opened))).await.is_err() {
        return;
    }
    let (queue, waiting) = mpsc::channel(QUEUE_MESSAGES);
    let taking_in = {
        let answers = answers.clone();
        tokio::task::spawn_blocking(move || take_in(writer, waiting, &answers))
    };
    loop {
        match requests.message().await {
            Ok(Some(PushRequest { message: Some(message) })) => {
                if queue.send(message).await.is_err() {
                    break;
                }
            }
            Ok(Some(PushRequest { message: None })) => {
                let _ = answers.send(Err(Status::invalid_argument("an empty message"))).await;
                break;
            }
            // The site went away or said all it had to say.
            Ok(None) | Err(_) => break,
        }
    }
    drop(queue);
    if let Err(error) = taking_in.await {
        tracing::error!(%error, "taking in a push failed");
        let _ = answers.send(Err(Status::internal("taking in failed"))).await;
    }
}

/// Takes messages in until there are no more, an error ends the push, or the index is sealed.
fn take_in(mut writer: IndexWriter, mut waiting: mpsc::Receiver<Up>, answers: &Answers) {
    let result = loop {
        let Some(message) = waiting.blocking_recv() else {
            // Cut off: what was taken in is good, and need not be sent again.
            break writer.commit().map(|_| ());
        };
        match message {
            Up::Batch(batch) => match writer.batch(batch.sequence, &batch.digest, &batch.body) {
                Ok(Ok(())) => {}
                Ok(Err(unknown)) => {
                    let unknown_contents = unknown.iter().flat_map(|digest| digest.0).collect();
                    let ack = Ack { unknown_contents, ..ack(&writer, writer.committed_sequence()) };
                    let _ = answers.blocking_send(response(Down::Ack(ack)));
                    return;
                }
                Err(error) => break Err(error),
            },
            Up::Seal(seal) => match writer.seal(seal.sequence, &seal.root) {
                Ok(sequence) => {
                    let sealed = Sealed { sequence, root: seal.root, received: None };
                    let _ = answers.blocking_send(response(Down::Sealed(sealed)));
                    return;
                }
                Err(error) => {
                    let _ = answers.blocking_send(Err(error.into()));
                    return;
                }
            },
            Up::Open(_) => {
                let _ = answers.blocking_send(Err(Status::invalid_argument("the index is open already")));
                return;
            }
        }
        if waiting.is_empty() || writer.uncommitted_bytes() >= COMMIT_BYTES {
            match writer.commit() {
                Ok(sequence) => {
                    if answers.blocking_send(response(Down::Ack(ack(&writer, sequence)))).is_err() {
                        return;
                    }
                }
                Err(error) => break Err(error),
            }
        }
    };
    if let Err(error) = result {
        tracing::error!(%error, "a push was refused");
        let _ = answers.blocking_send(Err(error.into()));
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
