//! A dry run: writes what a sync would send to a file, and reads such a file back.
//!
//! The file begins with the first message of a session. For each repository follow the opening, the batches and the seal
//! of a push, and the message that reports its end.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cognate_fingerprint::Method;
use cognate_proto::limits::{MESSAGE_BYTES_MAX, WINDOW_BYTES};
use cognate_proto::name::RepositoryName;
use cognate_proto::selection::SelectionRule;
use cognate_proto::v1::attach_request::Message as AttachUp;
use cognate_proto::v1::push_request::Message as PushUp;
use cognate_proto::v1::{AttachRequest, PushRequest, SyncEnded};
use prost::Message as _;

use crate::error::SyncError;
use crate::ledger::LedgerError;
use crate::sending::connection::Connection;
pub use crate::sending::dry_run_file::DryRun;
use crate::sending::push::PushLink;
use crate::sending::send_log::{SendLog, attach_kind};
use crate::session::hello::hello;
use crate::session::site::Site;
use crate::sync::job::Counters;

/// The dry run of one repository.
#[derive(Clone, Debug)]
pub struct DryRunSync {
    /// The repository.
    pub repository: RepositoryName,
    /// Number of documents.
    pub documents: u64,
    /// Bytes that were read.
    pub read_bytes: u64,
    /// Number of unreadable documents.
    pub unreadable: u64,
}

/// Writes what would be sent if these repositories were synced under a method to a coordinator that holds nothing. Blocks.
/// Times, epochs and the identity of the process differ from one dry run to the next.
///
/// # Errors
/// If a repository cannot be read, the policy does not allow the method, or the file cannot be written.
pub fn run(
    site: &Arc<Site>,
    runtime: &tokio::runtime::Handle,
    file: &Arc<DryRun>,
    repositories: &[RepositoryName],
    method: Method,
    cancelled: &Arc<AtomicBool>,
) -> Result<Vec<DryRunSync>, SyncError> {
    record(file, AttachUp::Hello(hello(site)))?;
    let mut synced = Vec::new();
    for repository in repositories {
        let job = Arc::new(site.offer.own_job(repository.clone(), method, SelectionRule::default(), false)?);
        let link = PushLink {
            runtime: runtime.clone(),
            connection: Connection::dry_run(Arc::clone(file)),
            credit: Arc::new(AtomicU64::new(WINDOW_BYTES)),
            cancelled: Arc::clone(cancelled),
            pads: site.offer.policy.pad_messages,
        };
        let counters = Arc::new(Counters::default());
        let outcome = site.syncs.sync(&job, None, &link, &counters)?;
        synced.push(DryRunSync {
            repository: repository.clone(),
            documents: counters.documents_done.load(Ordering::Relaxed),
            read_bytes: outcome.summary.read_bytes,
            unreadable: outcome.unreadable,
        });
        record(file, AttachUp::Ended(SyncEnded { summary: Some(outcome.summary), ..SyncEnded::default() }))?;
    }
    Ok(synced)
}

fn record(file: &Arc<DryRun>, message: AttachUp) -> Result<(), LedgerError> {
    let kind = attach_kind(&message);
    SendLog::DryRun(Arc::clone(file)).record(kind, &AttachRequest { message: Some(message) }, || None)
}

/// A message in the file of a dry run.
#[derive(Debug)]
pub enum DryRunMessage {
    /// A message of the control stream.
    Attach(AttachRequest),
    /// A message of a push.
    Push(PushRequest),
}

/// Reads the file of a dry run.
///
/// # Errors
/// If the file ends within a message, or is not the file of a dry run.
pub fn read(mut file: impl Read, mut each: impl FnMut(DryRunMessage) -> io::Result<()>) -> io::Result<()> {
    let mut in_push = false;
    let mut is_first = true;
    while let Some(message) = read_message(&mut file)? {
        // A push goes from its opening to its seal; the other messages belong to the control stream.
        if in_push || (!is_first && is_opening(&message)) {
            let request = PushRequest::decode(message.as_slice()).map_err(|_| damaged("a message cannot be read"))?;
            in_push = !matches!(request.message, Some(PushUp::Seal(_)));
            each(DryRunMessage::Push(request))?;
        } else {
            let request = AttachRequest::decode(message.as_slice()).map_err(|_| damaged("a message cannot be read"))?;
            each(DryRunMessage::Attach(request))?;
        }
        is_first = false;
    }
    Ok(())
}

/// Reads one message in the framing of gRPC; `None` at the end of the file.
fn read_message(file: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut header = [0; 5];
    if file.read(&mut header[..1])? == 0 {
        return Ok(None);
    }
    file.read_exact(&mut header[1..])?;
    let length = u32::from_be_bytes(header[1..].try_into().expect("four bytes")) as usize;
    if header[0] != 0 || length > MESSAGE_BYTES_MAX {
        return Err(damaged("this is not the file of a dry run"));
    }
    let mut message = vec![0; length];
    file.read_exact(&mut message)?;
    Ok(Some(message))
}

fn damaged(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem.to_owned())
}

/// True if a message after the first one opens an index: this is field 1 of a push, and field 1 of the control stream is
/// the first message of the file.
fn is_opening(message: &[u8]) -> bool {
    message.first() == Some(&0x0a)
}

#[cfg(test)]
mod tests {
    use cognate_proto::v1::{Hello, OpenIndex, Seal};

    use super::*;

    fn frame(message: &impl prost::Message) -> Vec<u8> {
        let encoded = message.encode_to_vec();
        let length = u32::try_from(encoded.len()).unwrap().to_be_bytes();
        [&[0][..], &length, &encoded].concat()
    }

    fn file() -> Vec<u8> {
        let attach = |message| frame(&AttachRequest { message: Some(message) });
        let push = |message| frame(&PushRequest { message: Some(message), ..PushRequest::default() });
        let hello = AttachUp::Hello(Hello { software: "1".into(), ..Hello::default() });
        let open = PushUp::Open(OpenIndex { repository: "kb".into(), ..OpenIndex::default() });
        let seal = PushUp::Seal(Seal { sequence: 1, ..Seal::default() });
        let ended = AttachUp::Ended(SyncEnded { failure: "x".into(), ..SyncEnded::default() });
        [attach(hello), push(open), push(seal), attach(ended)].concat()
    }

    fn kinds(file: &[u8]) -> io::Result<String> {
        let mut kinds = String::new();
        read(file, |message| {
            kinds.push(match message {
                DryRunMessage::Attach(_) => 'a',
                DryRunMessage::Push(_) => 'p',
            });
            Ok(())
        })?;
        Ok(kinds)
    }

    #[test]
    fn messages_of_pushes_and_of_the_control_stream_are_distinguished() {
        assert_eq!(kinds(&file()).unwrap(), "appa");
        assert_eq!(kinds(&[]).unwrap(), "");
    }

    #[test]
    fn a_file_that_ends_within_a_message_or_is_another_is_an_error() {
        let file = file();
        let ends: Vec<usize> = (1..file.len()).filter(|end| kinds(&file[..*end]).is_ok()).collect();
        assert_eq!(ends.len(), 3, "only between messages: {ends:?}");
        assert!(kinds(b"%PDF-1.4 and more").unwrap_err().to_string().contains("not the file of a dry run"));
    }
}
