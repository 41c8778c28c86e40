//! A rehearsal: what would leave, written to a file exactly as it would be sent, and answered as by a coordinator that
//! holds nothing.
//!
//! The file is the messages in the framing of gRPC: a byte that says "not compressed" (0), the length (u32, big-endian),
//! the encoded message. First the greeting, then for each repository its opening, batches and seal, and the end.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use cognate_fingerprint::Method;
use cognate_proto::limits::{MESSAGE_BYTES_MAX, WINDOW_BYTES};
use cognate_proto::name::RepositoryName;
use cognate_proto::root::Root;
use cognate_proto::selection::SelectionRule;
use cognate_proto::v1::attach_request::Message as AttachUp;
use cognate_proto::v1::push_request::Message as Up;
use cognate_proto::v1::push_response::Message as Down;
use cognate_proto::v1::{Ack, AttachRequest, Opened, PushRequest, PushResponse, Sealed, SyncEnded};
use prost::Message as _;
use tokio::sync::mpsc;
use tonic::Status;

use crate::attach::checked::own_job;
use crate::attach::hello;
use crate::error::SyncError;
use crate::ledger::read::SummaryRow;
use crate::ledger::{IndexEntry, Kind, LedgerError};
use crate::outgoing::{Book, Uplink, kind_of};
use crate::push::Link;
use crate::site::Site;
use crate::sync::Counters;

/// The file that takes what would be sent.
pub struct Rehearsal {
    path: PathBuf,
    inner: Mutex<Inner>,
}

struct Inner {
    out: Box<dyn Write + Send>,
    summary: BTreeMap<(Kind, String), SummaryRow>,
}

impl fmt::Debug for Rehearsal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rehearsal({})", self.path.display())
    }
}

impl Rehearsal {
    /// Writes to `out`, which is known to people as `path`.
    pub fn new(path: &Path, out: Box<dyn Write + Send>) -> Rehearsal {
        Rehearsal { path: path.to_owned(), inner: Mutex::new(Inner { out, summary: BTreeMap::new() }) }
    }

    pub(crate) fn record(
        &self,
        kind: Kind,
        message: &impl prost::Message,
        index: Option<IndexEntry>,
    ) -> Result<(), LedgerError> {
        let encoded = message.encode_to_vec();
        let mut inner = self.inner.lock().expect("nothing panics while it is held");
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

    /// Ends the file, and says what is in it by kind and repository.
    ///
    /// # Errors
    /// When what is buffered cannot be written.
    pub fn finish(&self) -> io::Result<BTreeMap<(Kind, String), SummaryRow>> {
        let mut inner = self.inner.lock().expect("nothing panics while it is held");
        inner.out.flush()?;
        Ok(inner.summary.clone())
    }
}

/// Answers a push as a coordinator would that holds nothing and takes everything.
pub(crate) async fn answer(
    mut requests: mpsc::Receiver<PushRequest>,
    incoming: mpsc::Sender<Result<PushResponse, Status>>,
) {
    while let Some(request) = requests.recv().await {
        let answer = match request.message {
            Some(Up::Open(_)) => Down::Opened(Opened {
                committed_sequence: 0,
                root: Root::default().to_bytes().to_vec(),
                window_bytes: WINDOW_BYTES,
            }),
            Some(Up::Batch(batch)) => Down::Ack(Ack { committed_sequence: batch.sequence, ..Ack::default() }),
            Some(Up::Seal(seal)) => Down::Sealed(Sealed { sequence: seal.sequence, root: seal.root, received: None }),
            None => return,
        };
        if incoming.send(Ok(PushResponse { message: Some(answer) })).await.is_err() {
            return;
        }
    }
}

/// A message as it stands in a rehearsal's file.
#[derive(Debug)]
pub enum Rehearsed {
    /// A message of the control stream.
    Attach(AttachRequest),
    /// A message of a push.
    Push(PushRequest),
}

/// Reads a rehearsal's file: the greeting and the end belong to the control stream, what is between to pushes.
///
/// # Errors
/// When the file ends within a message, or holds what is none.
pub fn read(mut file: impl Read, mut each: impl FnMut(Rehearsed) -> io::Result<()>) -> io::Result<()> {
    let damaged = |problem: &str| io::Error::new(io::ErrorKind::InvalidData, problem.to_owned());
    let mut pushing = false;
    let mut first = true;
    loop {
        let mut header = [0; 5];
        if file.read(&mut header[..1])? == 0 {
            return Ok(());
        }
        file.read_exact(&mut header[1..])?;
        let length = u32::from_be_bytes(header[1..].try_into().expect("four bytes")) as usize;
        if header[0] != 0 || length > MESSAGE_BYTES_MAX {
            return Err(damaged("this is no rehearsal of Cognate's"));
        }
        let mut message = vec![0; length];
        file.read_exact(&mut message)?;
        // A push goes from its opening to its seal; between pushes the control stream speaks.
        let rehearsed = if pushing || (!first && opens(&message)) {
            let request = PushRequest::decode(message.as_slice()).map_err(|_| damaged("a message cannot be read"))?;
            pushing = !matches!(request.message, Some(Up::Seal(_)));
            Rehearsed::Push(request)
        } else {
            let request = AttachRequest::decode(message.as_slice()).map_err(|_| damaged("a message cannot be read"))?;
            Rehearsed::Attach(request)
        };
        first = false;
        each(rehearsed)?;
    }
}

/// Whether a message that is not the first one opens an index: field 1 of a push; the control stream's field 1 is the
/// greeting, of which there is one.
fn opens(message: &[u8]) -> bool {
    message.first() == Some(&0x0a)
}

/// What was read for the messages of one repository.
#[derive(Clone, Debug)]
pub struct RehearsedSync {
    /// The repository.
    pub repository: RepositoryName,
    /// Documents that were come across.
    pub documents: u64,
    /// Bytes that were read.
    pub read_bytes: u64,
    /// Documents that could not be read.
    pub unreadable: u64,
}

/// Writes what would leave if these repositories were synced under a method, to a coordinator that holds nothing. Blocks.
/// Times, the epoch and what tells this start from others are as they are now: another rehearsal has others.
///
/// # Errors
/// When a repository cannot be read, the policy does not allow the method, or the file cannot be written.
pub fn rehearse(
    site: &Arc<Site>,
    runtime: &tokio::runtime::Handle,
    rehearsal: &Arc<Rehearsal>,
    repositories: &[RepositoryName],
    method: Method,
    cancelled: &Arc<AtomicBool>,
) -> Result<Vec<RehearsedSync>, SyncError> {
    let book = Book::Rehearsal(Arc::clone(rehearsal));
    let say = |message: AttachUp| {
        let kind = kind_of(&message);
        book.record(kind, &AttachRequest { message: Some(message) }, || None)
    };
    say(AttachUp::Hello(hello(site)))?;
    let mut synced = Vec::new();
    for repository in repositories {
        let job = own_job(site, repository.clone(), method, SelectionRule::default(), false)?;
        let link = Link {
            runtime: runtime.clone(),
            uplink: Uplink::rehearsal(Arc::clone(rehearsal)),
            credit: Arc::new(AtomicU64::new(WINDOW_BYTES)),
            cancelled: Arc::clone(cancelled),
        };
        let counters = Counters::default();
        let finished = site.sync(&job, None, &link, &counters)?;
        synced.push(RehearsedSync {
            repository: repository.clone(),
            documents: counters.documents_done.load(Ordering::Relaxed),
            read_bytes: finished.summary.read_bytes,
            unreadable: finished.unreadable,
        });
        say(AttachUp::Ended(SyncEnded { summary: Some(finished.summary), ..SyncEnded::default() }))?;
    }
    Ok(synced)
}
