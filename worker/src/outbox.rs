//! What this site has put on its way: per index, a log of the rows of every batch, written before the batch is sent.
//!
//! Replayed up to the batch that the coordinator says is durable, it is what the coordinator holds; what differs from
//! the repository now is what must be sent. Acknowledgements need not be recorded, and nothing here needs to reach the
//! disk in time: a log that lags behind what the coordinator has is noticed, and the index is begun anew from the cache,
//! under another epoch, without reading a document again.
//!
//! File: the epoch, then records of length, checksum and an encoded [`OutboxRecord`].

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

use cognate_fingerprint::{Content, ContentDigest};
use cognate_proto::batch::{DocumentRow, DocumentState};
use cognate_proto::path::DocumentPath;
use cognate_proto::root::{Root, RowHash};
use cognate_proto::v1;
use prost::Message as _;

const HEADER_BYTES: usize = 4 + 8;
const RECORD_BYTES_MAX: usize = 4 << 20;
/// What the paths of a record come to at most: those of a snapshot, each of the greatest length.
const RECORD_PATH_BYTES_MAX: usize = SNAPSHOT_ROWS * cognate_proto::limits::PATH_BYTES_MAX;
/// How many documents a record of a rewritten log holds.
const SNAPSHOT_ROWS: usize = 4096;

#[derive(Clone, PartialEq, prost::Message)]
struct OutboxRecord {
    #[prost(uint64, tag = "1")]
    sequence: u64,
    #[prost(message, optional, tag = "2")]
    documents: Option<v1::DocumentTable>,
    #[prost(bytes = "vec", tag = "3")]
    content_digests: Vec<u8>,
    #[prost(uint64, repeated, tag = "4")]
    content_sizes: Vec<u64>,
    #[prost(uint64, repeated, tag = "5")]
    content_chunk_counts: Vec<u64>,
}

/// The state of one index as this site believes the coordinator holds it.
pub(crate) struct Outbox {
    log: Option<Log>,
    epoch: u64,
    sequence: u64,
    root: Root,
    documents: HashMap<DocumentPath, Shipped>,
    contents: HashMap<ContentDigest, (u64, u64)>,
    /// Documents that this sync has come across.
    seen: HashSet<DocumentPath>,
    /// Records since the log was last rewritten, in rows.
    rows_logged: usize,
}

struct Log {
    path: PathBuf,
    file: File,
}

/// A document's row without its path.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Shipped {
    state: DocumentState,
    content: Option<ContentDigest>,
    modified: i64,
    message_id_hash: Option<[u8; 16]>,
}

impl Outbox {
    /// An outbox that nobody will ever ask again: it keeps no log and no documents, only what a first sync needs.
    pub(crate) fn ephemeral(epoch: u64) -> Outbox {
        Outbox {
            log: None,
            epoch,
            sequence: 0,
            root: Root::default(),
            documents: HashMap::new(),
            contents: HashMap::new(),
            seen: HashSet::new(),
            rows_logged: 0,
        }
    }

    /// Opens the log at `path`, or begins one under `fresh_epoch` where there is none that can be read.
    pub(crate) fn open(path: &Path, fresh_epoch: u64) -> io::Result<Outbox> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        let mut epoch = [0; 8];
        let log = Some(Log { path: path.to_owned(), file: file.try_clone()? });
        let mut outbox = Outbox { log, ..Outbox::ephemeral(fresh_epoch) };
        if file.metadata()?.len() < 8 {
            outbox.restart(fresh_epoch)?;
            return Ok(outbox);
        }
        file.read_exact(&mut epoch)?;
        outbox.epoch = u64::from_le_bytes(epoch);
        Ok(outbox)
    }

    /// All that was put on its way of an index, to be looked at; nothing where there is no log.
    pub(crate) fn sent(path: &Path) -> io::Result<Option<Outbox>> {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let mut epoch = [0; 8];
        if !filled(&mut reader, &mut epoch)? {
            return Ok(None);
        }
        // It has a log, so that documents are kept; that log is never written.
        let log = Some(Log { path: path.to_owned(), file: File::open(path)? });
        let mut outbox = Outbox { log, ..Outbox::ephemeral(u64::from_le_bytes(epoch)) };
        while let Some((record, _)) = read_record(&mut reader)? {
            if !outbox.replay(record) {
                break;
            }
        }
        Ok(Some(outbox))
    }

    /// The documents that were read, with their contents.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&DocumentPath, &ContentDigest)> {
        self.documents.iter().filter_map(|(path, shipped)| Some((path, shipped.content.as_ref()?)))
    }

    /// Whether a document of this path stands in the index, whatever became of it.
    pub(crate) fn knows(&self, path: &DocumentPath) -> bool {
        self.documents.contains_key(path)
    }

    /// The epoch of the index.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The last batch that was sent, or 0.
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The root of the index with all that was sent.
    pub(crate) fn root(&self) -> Root {
        self.root
    }

    /// Goes to the state after `committed_sequence`, the last batch that is durable at the coordinator. What was logged
    /// beyond it is cut off, since it must be sent again. Answers whether both sides then have the same root.
    pub(crate) fn resume(&mut self, committed_sequence: u64, committed_root: Root) -> io::Result<bool> {
        let Some(log) = &self.log else { return Ok(committed_sequence == 0) };
        let mut reader = BufReader::with_capacity(1 << 16, File::open(&log.path)?);
        reader.read_exact(&mut [0; 8])?;
        let mut kept_bytes = 8;
        while let Some((record, length_bytes)) = read_record(&mut reader)? {
            if record.sequence > committed_sequence {
                break;
            }
            if !self.replay(record) {
                return Ok(false);
            }
            kept_bytes += length_bytes;
        }
        let log = self.log.as_ref().expect("looked at above");
        log.file.set_len(kept_bytes)?;
        Ok(self.sequence == committed_sequence && self.root == committed_root)
    }

    /// Begins the index anew.
    pub(crate) fn restart(&mut self, epoch: u64) -> io::Result<()> {
        if let Some(log) = &mut self.log {
            log.file.set_len(0)?;
            log.file.write_all(&epoch.to_le_bytes())?;
        }
        *self = Outbox { log: self.log.take(), ..Outbox::ephemeral(epoch) };
        Ok(())
    }

    /// Whether the content has been sent, or is about to be in the batch that is being filled.
    pub(crate) fn has_content(&self, digest: &ContentDigest) -> bool {
        self.contents.contains_key(digest)
    }

    /// Whether the document stands in the index just like this. It counts as come across either way.
    pub(crate) fn has_document(&mut self, row: &DocumentRow) -> bool {
        if self.log.is_none() {
            return false;
        }
        self.seen.insert(row.path.clone());
        self.documents.get(&row.path) == Some(&Shipped::from(row))
    }

    /// The size of a document as it stands in the index, where it is there and was read.
    pub(crate) fn size_of(&self, path: &DocumentPath) -> Option<u64> {
        let digest = self.documents.get(path)?.content?;
        self.contents.get(&digest).map(|(size_bytes, _)| *size_bytes)
    }

    /// Leaves a document as it stands in the index: it is there, but this sync is not about it.
    pub(crate) fn leave(&mut self, path: DocumentPath) {
        if self.log.is_some() {
            self.seen.insert(path);
        }
    }

    /// Takes a content into the batch that is being filled.
    pub(crate) fn add_content(&mut self, content: &Content) {
        let numbers = (content.size_bytes, content.chunk_count);
        if self.contents.insert(content.digest, numbers).is_none() {
            self.root.add(RowHash::of_content(content.digest, content.size_bytes, content.chunk_count));
        }
    }

    /// Takes a document into the batch that is being filled, or out of the index.
    pub(crate) fn add_document(&mut self, row: &DocumentRow) {
        let removed = row.state == DocumentState::Removed;
        if !removed {
            self.root.add(RowHash::of_document(row));
        }
        if self.log.is_none() {
            return;
        }
        let before = match removed {
            true => self.documents.remove(&row.path),
            false => self.documents.insert(row.path.clone(), Shipped::from(row)),
        };
        if let Some(before) = before {
            self.root.remove(RowHash::of_document(&before.with_path(row.path.clone())));
        }
    }

    /// The documents of the index that this sync has not come across.
    pub(crate) fn unseen(&self) -> Vec<DocumentPath> {
        let mut unseen: Vec<_> = self.documents.keys().filter(|path| !self.seen.contains(*path)).cloned().collect();
        unseen.sort();
        unseen
    }

    /// How many documents the index holds. Without a log nobody counts them.
    pub(crate) fn documents(&self) -> u64 {
        self.documents.len() as u64
    }

    /// Writes down what the next batch holds, before it is sent, and answers its number.
    pub(crate) fn log_batch(&mut self, documents: &[DocumentRow], contents: &[Content]) -> io::Result<u64> {
        self.sequence += 1;
        self.rows_logged += documents.len();
        if let Some(log) = &mut self.log {
            log.write(&record(self.sequence, documents, contents))?;
        }
        Ok(self.sequence)
    }

    /// After a sync that was sealed: a log that has grown to many times what it says is written anew.
    pub(crate) fn finish_sync(&mut self) -> io::Result<()> {
        self.seen.clear();
        let Some(log) = &mut self.log else { return Ok(()) };
        if self.rows_logged < 2 * self.documents.len() + 2 * SNAPSHOT_ROWS {
            return Ok(());
        }
        let fresh = log.path.with_extension("new");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&fresh)?;
        file.write_all(&self.epoch.to_le_bytes())?;
        let mut snapshot = Log { path: fresh.clone(), file };
        let mut documents: Vec<_> =
            self.documents.iter().map(|(path, shipped)| shipped.with_path(path.clone())).collect();
        documents.sort_by(|a, b| a.path.cmp(&b.path));
        let contents: Vec<_> = self.contents.iter().map(|(digest, numbers)| content(*digest, *numbers)).collect();
        for rows in documents.chunks(SNAPSHOT_ROWS) {
            snapshot.write(&record(self.sequence, rows, &[]))?;
        }
        for rows in contents.chunks(SNAPSHOT_ROWS) {
            snapshot.write(&record(self.sequence, &[], rows))?;
        }
        std::fs::rename(&fresh, &log.path)?;
        log.file = OpenOptions::new().append(true).open(&log.path)?;
        self.rows_logged = self.documents.len();
        Ok(())
    }

    /// Takes in a logged record; `false` when it says what cannot be.
    fn replay(&mut self, record: OutboxRecord) -> bool {
        let Ok(documents) = record.documents.unwrap_or_default().rows(&[], RECORD_PATH_BYTES_MAX) else { return false };
        let numbers = record.content_sizes.iter().copied().zip(record.content_chunk_counts.iter().copied());
        for (digest, numbers) in record.content_digests.chunks_exact(16).zip(numbers) {
            self.add_content(&content(ContentDigest(digest.try_into().expect("chunks of sixteen")), numbers));
        }
        documents.iter().for_each(|row| self.add_document(row));
        self.rows_logged += documents.len();
        self.sequence = record.sequence;
        true
    }
}

impl Shipped {
    fn with_path(self, path: DocumentPath) -> DocumentRow {
        DocumentRow {
            path,
            state: self.state,
            content: self.content,
            modified: self.modified,
            message_id_hash: self.message_id_hash,
        }
    }
}

impl From<&DocumentRow> for Shipped {
    fn from(row: &DocumentRow) -> Shipped {
        Shipped { state: row.state, content: row.content, modified: row.modified, message_id_hash: row.message_id_hash }
    }
}

impl Log {
    fn write(&mut self, record: &OutboxRecord) -> io::Result<()> {
        let body = record.encode_to_vec();
        let length = u32::try_from(body.len()).expect("a record is about as large as a batch");
        let mut bytes = Vec::with_capacity(HEADER_BYTES + body.len());
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&blake3::hash(&body).as_bytes()[..8]);
        bytes.extend_from_slice(&body);
        self.file.write_all(&bytes)
    }
}

fn record(sequence: u64, documents: &[DocumentRow], contents: &[Content]) -> OutboxRecord {
    OutboxRecord {
        sequence,
        documents: Some(v1::DocumentTable::from_rows(documents, &HashMap::new())),
        content_digests: contents.iter().flat_map(|content| content.digest.0).collect(),
        content_sizes: contents.iter().map(|content| content.size_bytes).collect(),
        content_chunk_counts: contents.iter().map(|content| content.chunk_count).collect(),
    }
}

fn content(digest: ContentDigest, (size_bytes, chunk_count): (u64, u64)) -> Content {
    Content { size_bytes, chunk_count, digest }
}

/// The next record and its length, or nothing at the end of the file or where it is torn.
fn read_record(reader: &mut impl io::Read) -> io::Result<Option<(OutboxRecord, u64)>> {
    let mut header = [0; HEADER_BYTES];
    if !filled(reader, &mut header)? {
        return Ok(None);
    }
    let (length, sum) = header.split_at(4);
    let length = u32::from_le_bytes(length.try_into().expect("four bytes")) as usize;
    if length > RECORD_BYTES_MAX {
        return Ok(None);
    }
    let mut body = vec![0; length];
    if !filled(reader, &mut body)? || &blake3::hash(&body).as_bytes()[..8] != sum {
        return Ok(None);
    }
    Ok(OutboxRecord::decode(body.as_slice()).ok().map(|record| (record, (HEADER_BYTES + length) as u64)))
}

fn filled(reader: &mut impl io::Read, buffer: &mut [u8]) -> io::Result<bool> {
    match reader.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(path: &str, content: u8) -> DocumentRow {
        DocumentRow {
            path: DocumentPath::new(path.as_bytes()).unwrap(),
            state: DocumentState::Read,
            content: Some(ContentDigest([content; 16])),
            modified: 5,
            message_id_hash: None,
        }
    }

    fn gone(path: &str) -> DocumentRow {
        let path = DocumentPath::new(path.as_bytes()).unwrap();
        DocumentRow::without_content(path, DocumentState::Removed)
    }

    /// Ships the rows as one batch, and answers the root after it.
    fn ship(outbox: &mut Outbox, rows: &[DocumentRow]) -> Root {
        let mut contents = vec![];
        for row in rows {
            if let Some(digest) = row.content
                && !outbox.has_content(&digest)
            {
                contents.push(content(digest, (10, 1)));
                outbox.add_content(&contents[contents.len() - 1]);
            }
            outbox.add_document(row);
        }
        outbox.log_batch(rows, &contents).unwrap();
        outbox.root()
    }

    #[test]
    fn a_worker_that_was_stopped_goes_on_after_the_last_durable_batch() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x/index.log");
        let mut outbox = Outbox::open(&path, 7).unwrap();
        let roots = [ship(&mut outbox, &[row("a", 1), row("b", 1)]), ship(&mut outbox, &[gone("a"), row("b", 2)])];
        drop(outbox);
        for (committed, root) in [(0, Root::default()), (1, roots[0]), (2, roots[1])].into_iter().rev() {
            let mut outbox = Outbox::open(&path, 8).unwrap();
            assert!(outbox.resume(committed, root).unwrap(), "{committed}");
            assert_eq!(
                (outbox.epoch(), outbox.sequence(), outbox.documents()),
                (7, committed, [0, 2, 1][usize::try_from(committed).unwrap()])
            );
        }
    }

    #[test]
    fn a_coordinator_that_has_more_or_other_than_was_logged_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.log");
        let root = ship(&mut Outbox::open(&path, 7).unwrap(), &[row("a", 1)]);
        assert!(!Outbox::open(&path, 8).unwrap().resume(2, root).unwrap());
        assert!(!Outbox::open(&path, 8).unwrap().resume(1, Root::default()).unwrap());
    }

    #[test]
    fn a_torn_or_damaged_log_ends_before_the_damage() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.log");
        let mut outbox = Outbox::open(&path, 7).unwrap();
        let first = ship(&mut outbox, &[row("a", 1)]);
        let after_first = usize::try_from(std::fs::metadata(&path).unwrap().len()).unwrap();
        let second = ship(&mut outbox, &[row("b", 2)]);
        let intact = std::fs::read(&path).unwrap();
        for cut in after_first..intact.len() {
            std::fs::write(&path, &intact[..cut]).unwrap();
            assert!(!Outbox::open(&path, 8).unwrap().resume(2, second).unwrap(), "cut at {cut}");
            assert!(Outbox::open(&path, 8).unwrap().resume(1, first).unwrap(), "cut at {cut}");
            let mut damaged = intact.clone();
            damaged[cut] ^= 1;
            std::fs::write(&path, &damaged).unwrap();
            assert!(!Outbox::open(&path, 8).unwrap().resume(2, second).unwrap(), "flipped at {cut}");
        }
    }

    #[test]
    fn a_log_that_has_grown_is_rewritten_and_says_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.log");
        let mut outbox = Outbox::open(&path, 7).unwrap();
        for round in 0..3 * SNAPSHOT_ROWS {
            ship(&mut outbox, &[row("same", u8::try_from(round % 250).unwrap())]);
        }
        let (sequence, root) = (outbox.sequence(), outbox.root());
        let before = std::fs::metadata(&path).unwrap().len();
        outbox.finish_sync().unwrap();
        assert!(std::fs::metadata(&path).unwrap().len() < before / 10);
        let after = ship(&mut outbox, &[row("other", 1)]);
        drop(outbox);
        assert!(Outbox::open(&path, 8).unwrap().resume(sequence + 1, after).unwrap());
        assert!(Outbox::open(&path, 8).unwrap().resume(sequence, root).unwrap());
    }
}
