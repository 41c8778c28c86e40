//! Answers that are written to a file without a name while their reader takes them at its own pace.
//!
//! The producer is done as soon as the disk allows; a slow reader costs disk space and no thread. The space is free
//! again when either end is dropped.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{Semaphore, watch};
use tonic::Status;

use crate::error::Error;

/// The bytes that are written and read at a time.
const PIECE_BYTES: usize = 64 << 10;
/// The number of producers at work; others wait their turn.
const PRODUCERS_MAX: usize = 8;
/// The bytes between checks of the free disk space.
const CHECK_BYTES: u64 = 4 << 20;

/// The folder of the spools.
pub(super) struct Spools {
    folder: Arc<Path>,
    disk_reserve_bytes: u64,
    producers: Arc<Semaphore>,
}

/// The state of a spool, as its reader sees it.
#[derive(Clone, Default)]
struct Written {
    file: Option<Arc<File>>,
    bytes: u64,
    end: Option<Result<(), Status>>,
    /// The bytes that were read.
    taken: Arc<AtomicU64>,
}

/// The producer's end.
pub struct SpoolWriter {
    file: Arc<File>,
    buffer: Vec<u8>,
    written: watch::Sender<Written>,
    folder: Arc<Path>,
    disk_reserve_bytes: u64,
    checked_at: u64,
}

/// The reader's end.
pub struct SpoolReader {
    written: watch::Receiver<Written>,
    position: u64,
}

/// The messages of a spool.
pub(crate) struct Messages<T> {
    reader: SpoolReader,
    bytes: Vec<u8>,
    position: usize,
    over: bool,
    message: std::marker::PhantomData<fn() -> T>,
}

/// A function that writes an answer to the spool.
pub(super) type Produce = Box<dyn FnOnce(&mut SpoolWriter) -> Result<(), Error> + Send>;

impl Spools {
    pub(super) fn new(folder: PathBuf, disk_reserve_bytes: u64) -> Result<Spools, Error> {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(Error::state(&folder))?;
        // A process that ended between the creation of a file and the removal of its name left it behind.
        for entry in std::fs::read_dir(&folder).map_err(Error::state(&folder))? {
            let path = entry.map_err(Error::state(&folder))?.path();
            std::fs::remove_file(&path).map_err(Error::state(&path))?;
        }
        let producers = Arc::new(Semaphore::new(PRODUCERS_MAX));
        Ok(Spools { folder: folder.into(), disk_reserve_bytes, producers })
    }

    pub(super) fn begin(&self, produce: Produce) -> SpoolReader {
        let (sender, written) = watch::channel(Written::default());
        let (folder, disk_reserve_bytes) = (Arc::clone(&self.folder), self.disk_reserve_bytes);
        let producers = Arc::clone(&self.producers);
        crate::tasks::spawn(async move {
            let turn = tokio::select! {
                turn = producers.acquire_owned() => turn,
                () = sender.closed() => return,
            };
            let work = move || {
                let _turn = turn;
                produced(produce, &sender, folder, disk_reserve_bytes);
            };
            // A crash is logged where it happens, and the reader sees that the sender is gone.
            let _ = cognate_storage::disk::off_tasks(work).await;
        });
        SpoolReader { written, position: 0 }
    }
}

fn produced(produce: Produce, sender: &watch::Sender<Written>, folder: Arc<Path>, disk_reserve_bytes: u64) {
    let done = unnamed(&folder).and_then(|file| {
        sender.send_modify(|written| written.file = Some(Arc::clone(&file)));
        let (buffer, written) = (Vec::with_capacity(PIECE_BYTES), sender.clone());
        let mut writer = SpoolWriter { file, buffer, written, folder, disk_reserve_bytes, checked_at: 0 };
        let produced = produce(&mut writer);
        let shown = writer.show();
        produced.and(shown)
    });
    sender.send_modify(|written| written.end = Some(done.map_err(Status::from)));
}

/// A file that is gone as soon as nobody has it open.
fn unnamed(folder: &Path) -> Result<Arc<File>, Error> {
    let path = folder.join(format!("{:016x}", cognate_storage::clock::random_number()));
    let file = File::options().read(true).write(true).create_new(true).mode(0o600).open(&path);
    let file = file.map_err(Error::state(&path))?;
    std::fs::remove_file(&path).map_err(Error::state(&path))?;
    Ok(Arc::new(file))
}

impl SpoolWriter {
    /// Writes one message, for [`Messages`].
    ///
    /// # Errors
    /// Fails if the disk has no room, or the reader is gone.
    pub(crate) fn message(&mut self, message: &impl prost::Message) -> Result<(), Error> {
        let bytes = message.encode_to_vec();
        let length = u32::try_from(bytes.len()).map_err(|_| Error::Full("a message is too long".to_owned()))?;
        let written = self.write_all(&length.to_le_bytes()).and_then(|()| self.write_all(&bytes));
        written.map_err(|error| self.failed(error))
    }

    /// Shows the reader all that was written.
    ///
    /// # Errors
    /// Fails as a write does.
    pub(crate) fn show(&mut self) -> Result<(), Error> {
        self.flush().map_err(|error| self.failed(error))
    }

    /// True if the reader has taken all that it was shown, or is gone.
    pub(crate) fn is_read(&self) -> bool {
        let written = self.written.borrow();
        written.taken.load(Ordering::Relaxed) >= written.bytes || self.written.receiver_count() == 0
    }

    fn failed(&self, error: io::Error) -> Error {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Error::Cancelled,
            io::ErrorKind::StorageFull => Error::Full(format!("the answer was not written to its end: {error}")),
            _ => Error::state(&*self.folder)(error),
        }
    }

    fn check_disk(&mut self, bytes: u64) -> io::Result<()> {
        if bytes < self.checked_at {
            return Ok(());
        }
        let stat = rustix::fs::statvfs(&*self.folder)?;
        if stat.f_bavail.saturating_mul(stat.f_frsize) < self.disk_reserve_bytes {
            let full = format!("less than the reserve of {} bytes is free on the disk", self.disk_reserve_bytes);
            return Err(io::Error::new(io::ErrorKind::StorageFull, full));
        }
        self.checked_at = bytes + CHECK_BYTES;
        Ok(())
    }
}

impl Write for SpoolWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= PIECE_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.written.receiver_count() == 0 {
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, "the reader is gone"));
        }
        let position = self.written.borrow().bytes;
        self.check_disk(position)?;
        self.file.write_all_at(&self.buffer, position)?;
        let bytes = position + self.buffer.len() as u64;
        self.buffer.clear();
        self.written.send_modify(|written| written.bytes = bytes);
        Ok(())
    }
}

impl SpoolReader {
    /// The next piece, as soon as there is one; nothing: that was all.
    ///
    /// # Errors
    /// Fails as the producer does, or if the file cannot be read.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, Status> {
        loop {
            let written = self.written.borrow_and_update().clone();
            if let Some(file) = written.file.filter(|_| written.bytes > self.position) {
                let length = (written.bytes - self.position).min(PIECE_BYTES as u64);
                let (position, mut piece) = (self.position, vec![0; usize::try_from(length).unwrap_or(PIECE_BYTES)]);
                self.position += length;
                written.taken.store(self.position, Ordering::Relaxed);
                let reading = move || file.read_exact_at(&mut piece, position).map(|()| piece);
                let read = cognate_storage::disk::off_tasks(reading).await.map_err(|_| crashed())?;
                return read.map(Some).map_err(|error| Status::internal(format!("an answer was lost: {error}")));
            }
            match written.end {
                Some(end) => return end.map(|()| None),
                None => self.written.changed().await.map_err(|_| crashed())?,
            }
        }
    }

    /// The messages that were written.
    pub(crate) fn messages<T>(self) -> Messages<T> {
        Messages { reader: self, bytes: Vec::new(), position: 0, over: false, message: std::marker::PhantomData }
    }
}

fn crashed() -> Status {
    Status::internal("a request crashed: see the log")
}

impl<T: prost::Message + Default> Messages<T> {
    /// The next message; nothing: that was all.
    pub(crate) async fn next(&mut self) -> Option<Result<T, Status>> {
        loop {
            if self.over {
                return None;
            }
            if let Some(message) = self.complete() {
                return Some(Ok(message));
            }
            match self.reader.next().await {
                Ok(Some(piece)) => {
                    self.bytes.drain(..std::mem::take(&mut self.position));
                    self.bytes.extend_from_slice(&piece);
                }
                Ok(None) => self.over = true,
                Err(status) => {
                    self.over = true;
                    return Some(Err(status));
                }
            }
        }
    }

    fn complete(&mut self) -> Option<T> {
        let (length, rest) = self.bytes[self.position..].split_first_chunk::<4>()?;
        let message = rest.get(..u32::from_le_bytes(*length) as usize)?;
        self.position += 4 + message.len();
        Some(T::decode(message).expect("it was encoded by the other end"))
    }
}

#[cfg(test)]
mod tests {
    use cognate_proto::v1::ResultsResponse;

    use super::*;

    fn row(number: usize) -> ResultsResponse {
        ResultsResponse { row: format!("{number} {}", "x".repeat(number % 1000)) }
    }

    #[tokio::test]
    async fn a_producer_ends_before_anything_is_read_and_all_of_it_arrives() {
        let folder = tempfile::tempdir().unwrap();
        let spools = Spools::new(folder.path().join("spool"), 0).unwrap();
        let (done, ended) = tokio::sync::oneshot::channel();
        let reader = spools.begin(Box::new(move |writer: &mut SpoolWriter| {
            (0..5000).try_for_each(|number| writer.message(&row(number)))?;
            done.send(()).unwrap();
            Err(Error::Refused("the end".to_owned()))
        }));
        ended.await.unwrap();
        let mut messages = reader.messages::<ResultsResponse>();
        for number in 0..4990 {
            assert_eq!(messages.next().await.unwrap().unwrap(), row(number));
        }
        let mut last = Vec::new();
        while let Some(message) = messages.next().await {
            last.push(message);
        }
        assert_eq!(last.pop().unwrap().unwrap_err().message(), "the end");
        assert_eq!(std::fs::read_dir(folder.path().join("spool")).unwrap().count(), 0, "no name is left");
    }

    #[tokio::test]
    async fn a_producer_without_a_reader_or_without_room_stops() {
        let folder = tempfile::tempdir().unwrap();
        let endless = |writer: &mut SpoolWriter| -> Result<(), Error> {
            loop {
                writer.message(&row(999))?;
            }
        };
        let full = Spools::new(folder.path().join("full"), u64::MAX).unwrap();
        let error = full.begin(Box::new(endless)).next().await.unwrap_err();
        assert_eq!(error.code(), tonic::Code::ResourceExhausted);
        let spools = Spools::new(folder.path().join("gone"), 0).unwrap();
        drop(spools.begin(Box::new(endless)));
        // All turns are free again once the producer has noticed.
        let all = u32::try_from(PRODUCERS_MAX).unwrap();
        drop(spools.producers.acquire_many(all).await.unwrap());
    }
}
