//! Batches: numbered pieces of an index, packed for the wire and checked when they are unpacked.
//!
//! Contents (fingerprints of bytes) and documents (paths with such contents) are two kinds of rows: a content is sent
//! once per index, however many documents have it. [`BatchBuilder`] packs and [`Batch::decode`] unpacks. An impossible
//! value (counts that disagree, a chunk of no bytes, lengths that do not add up, a path out of its repository) is
//! refused with the field's name.

use std::collections::HashMap;

use cognate_fingerprint::{Chunk, Content, ContentDigest, SAMPLE_VALUE_BYTES, SAMPLE_WINDOW_BYTES, Tag, WindowSample};
use prost::Message as _;

use crate::limits::{
    BATCH_BODY_BYTES_MAX, BATCH_BODY_BYTES_TARGET, BATCH_PATH_BYTES_MAX, CONTENT_BYTES_MAX, CONTENT_CHUNKS_MAX,
    SAMPLE_BYTES_MAX,
};
use crate::path::{DocumentPath, PathError};
use crate::v1;
pub use crate::v1::DocumentState;

/// Largest weight of a row of a method without chunks: its rows are features of weight 1, which do not add up to the
/// size of the content.
pub const FEATURE_WEIGHT_MAX: u32 = 1;

/// A document of an index: its path, state and content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DocumentRow {
    /// Its path in its repository.
    pub path: DocumentPath,
    /// Its state: read, or the reason why not.
    pub state: DocumentState,
    /// Its content, if it was read.
    pub content: Option<ContentDigest>,
    /// Time of its last modification, in seconds since 1970; 0 if it was not read.
    pub modified: i64,
    /// The EDRM Message ID Hash of a message, if the site's policy allows to send it.
    pub message_id_hash: Option<[u8; 16]>,
}

impl DocumentRow {
    /// A document without content, for the reason of its state.
    pub fn without_content(path: DocumentPath, state: DocumentState) -> DocumentRow {
        DocumentRow { path, state, content: None, modified: 0, message_id_hash: None }
    }
}

/// A batch that has been checked.
#[derive(Debug, Default)]
pub struct Batch {
    /// Contents that are complete in this batch. Their chunks follow each other in `chunks`.
    pub contents: Vec<Content>,
    /// The chunks of `contents`.
    pub chunks: v1::ChunkTable,
    /// Pieces of contents that are too large for one batch.
    pub parts: Vec<Part>,
    /// Documents, ordered by path.
    pub documents: Vec<DocumentRow>,
}

/// A piece of a content that goes in parts.
#[derive(Debug)]
pub struct Part {
    /// The number of the content within the index's epoch.
    pub upload: u64,
    /// The piece's chunks.
    pub chunks: v1::ChunkTable,
    /// With the last piece: the digest, size and chunk count of the content.
    pub end: Option<Content>,
}

/// The error of a refused batch.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// It is larger than [`BATCH_BODY_BYTES_MAX`].
    #[error("a batch of {body_bytes} bytes is larger than {BATCH_BODY_BYTES_MAX}")]
    TooLarge {
        /// Its size.
        body_bytes: usize,
    },
    /// It cannot be decoded.
    #[error("a batch is not an encoded body: {0}")]
    Malformed(#[from] prost::DecodeError),
    /// A field has an impossible value.
    #[error("`{field}` {problem}")]
    Field {
        /// The field, as the `.proto` file names it.
        field: &'static str,
        /// The problem.
        problem: String,
    },
    /// A path is invalid.
    #[error("`path_own`: {0}")]
    Path(#[from] PathError),
}

fn field<T>(field: &'static str, problem: impl Into<String>) -> Result<T, BatchError> {
    Err(BatchError::Field { field, problem: problem.into() })
}

/// The digest of a batch's body: 16 bytes of BLAKE3.
pub fn body_digest(body: &[u8]) -> [u8; 16] {
    let mut digest = [0; 16];
    digest.copy_from_slice(&blake3::hash(body).as_bytes()[..16]);
    digest
}

impl v1::ChunkTable {
    /// Number of chunks of the table.
    pub fn rows(&self) -> usize {
        self.length_bytes.len()
    }

    /// The table of these chunks.
    pub fn of(chunks: &[Chunk]) -> v1::ChunkTable {
        let mut table = v1::ChunkTable::default();
        table.set(chunks);
        table
    }

    /// Has these chunks in the place of those before, in the same memory.
    pub fn set(&mut self, chunks: &[Chunk]) {
        self.clear();
        chunks.iter().for_each(|chunk| self.push(chunk));
    }

    /// Appends a chunk without its offset, which follows from the lengths of the chunks before it.
    pub fn push(&mut self, chunk: &Chunk) {
        if chunk.repeated_byte {
            self.repeated_byte.push(row_number(self.rows()));
        }
        self.tags.extend_from_slice(&chunk.tag.0);
        self.length_bytes.push(chunk.length_bytes);
    }

    /// Appends another table.
    pub fn append(&mut self, other: &v1::ChunkTable) {
        let before = row_number(self.rows());
        self.repeated_byte.extend(other.repeated_byte.iter().map(|row| row + before));
        self.tags.extend_from_slice(&other.tags);
        self.length_bytes.extend_from_slice(&other.length_bytes);
    }

    /// The chunks in order: tag, length in bytes, and true if the chunk repeats one byte value.
    ///
    /// The table must have been [checked](v1::ChunkTable::check).
    pub fn iter(&self) -> impl Iterator<Item = (Tag, u32, bool)> + '_ {
        let mut repeated = self.repeated_byte.iter().peekable();
        self.tags.chunks_exact(16).zip(&self.length_bytes).enumerate().map(move |(row, (tag, length))| {
            let is_repeated = repeated.next_if(|next| **next as usize == row).is_some();
            (Tag(tag.try_into().expect("chunks of sixteen")), *length, is_repeated)
        })
    }

    /// Checks the columns against each other.
    ///
    /// # Errors
    /// If they contradict each other, or a length is impossible for the method.
    pub fn check(&self, chunk_bytes_max: u32) -> Result<(), BatchError> {
        if self.tags.len() != 16 * self.rows() {
            return field("tags", format!("has {} bytes for {} lengths", self.tags.len(), self.rows()));
        }
        if let Some(length) = self.length_bytes.iter().find(|length| **length == 0 || **length > chunk_bytes_max) {
            return field("length_bytes", format!("is {length}, not 1 to {chunk_bytes_max}"));
        }
        let ascending = self.repeated_byte.windows(2).all(|pair| pair[0] < pair[1]);
        if !ascending || self.repeated_byte.last().is_some_and(|last| *last as usize >= self.rows()) {
            return field("repeated_byte", "does not name rows of the table in ascending order");
        }
        Ok(())
    }
}

fn row_number(row: usize) -> u32 {
    u32::try_from(row).expect("a table of a batch is far smaller")
}

/// Packs contents and documents until a batch is full.
#[derive(Default)]
pub struct BatchBuilder {
    contents: v1::ContentTable,
    places: HashMap<ContentDigest, u32>,
    parts: Vec<v1::ContentPart>,
    documents: Vec<DocumentRow>,
    body_bytes: usize,
}

impl BatchBuilder {
    /// True if there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty() && self.parts.is_empty() && self.documents.is_empty()
    }

    /// True if the batch has reached its target size.
    pub fn is_full(&self) -> bool {
        self.body_bytes >= BATCH_BODY_BYTES_TARGET
    }

    /// Adds a content with all of its chunks, at most [`CONTENT_CHUNKS_MAX`].
    pub fn content(&mut self, content: &Content, chunks: &v1::ChunkTable) {
        debug_assert!(chunks.rows() <= CONTENT_CHUNKS_MAX && chunks.rows() as u64 == content.chunk_count);
        let table = &mut self.contents;
        self.places.insert(content.digest, row_number(table.size_bytes.len() + 1));
        table.digests.extend_from_slice(&content.digest.0);
        table.size_bytes.push(content.size_bytes);
        table.chunk_counts.push(row_number(chunks.rows()));
        table.chunks.get_or_insert_default().append(chunks);
        table.sample_counts.push(row_number(content.sample.len()));
        table.samples.extend_from_slice(content.sample.as_bytes());
        self.body_bytes += 27 + content.sample.as_bytes().len() + chunks.rows() * 19;
    }

    /// Adds a piece of a content that is too large for one batch; the last one has its digest, size, chunk count and sample.
    pub fn part(&mut self, upload: u64, chunks: v1::ChunkTable, end: Option<&Content>) {
        debug_assert!(chunks.rows() <= CONTENT_CHUNKS_MAX);
        self.body_bytes += 48 + end.map_or(0, |_| SAMPLE_BYTES_MAX) + chunks.rows() * 19;
        let end = end.map(|content| v1::ContentEnd {
            digest: content.digest.0.to_vec(),
            size_bytes: content.size_bytes,
            chunk_count: content.chunk_count,
            sample: content.sample.as_bytes().to_vec(),
        });
        self.parts.push(v1::ContentPart { upload, chunks: Some(chunks), end });
    }

    /// Adds a document. Its content must be in this batch, or have been sent earlier.
    pub fn document(&mut self, row: DocumentRow) {
        self.body_bytes += row.path.as_bytes().len() + 12;
        self.documents.push(row);
    }

    /// Packs the body and begins an empty batch. Returns the documents too, in the order in which they are sent.
    pub fn finish(&mut self) -> (prost::bytes::Bytes, Vec<DocumentRow>) {
        let BatchBuilder { mut contents, places, parts, mut documents, .. } = std::mem::take(self);
        if contents.samples.is_empty() {
            contents.sample_counts.clear();
        }
        documents.sort_by(|a, b| a.path.cmp(&b.path));
        let body = v1::BatchBody {
            contents: Some(contents).filter(|table| !table.size_bytes.is_empty()),
            parts,
            documents: Some(v1::DocumentTable::from_rows(&documents, &places)).filter(|table| !table.states.is_empty()),
        };
        (body.encode_to_vec().into(), documents)
    }
}

impl v1::DocumentTable {
    /// Packs rows that are ordered by path. `places` has the numbers of the contents in the same batch, from 1.
    pub fn from_rows(documents: &[DocumentRow], places: &HashMap<ContentDigest, u32>) -> v1::DocumentTable {
        let mut table = v1::DocumentTable::default();
        let mut previous: &[u8] = &[];
        let mut modified = 0;
        for (number, row) in documents.iter().enumerate() {
            let path = row.path.as_bytes();
            let shared = path.iter().zip(previous).take_while(|(a, b)| a == b).count();
            table.path_shared_bytes.push(row_number(shared));
            table.path_own_bytes.push(row_number(path.len() - shared));
            table.path_own.extend_from_slice(&path[shared..]);
            table.states.push(row.state.into());
            previous = path;
            if let Some(hash) = row.message_id_hash {
                table.message_id_rows.push(row_number(number));
                table.message_id_hashes.extend_from_slice(&hash);
            }
            if let Some(digest) = row.content {
                let place = places.get(&digest).copied().unwrap_or(0);
                table.contents.push(place);
                if place == 0 {
                    table.content_digests.extend_from_slice(&digest.0);
                }
                table.modified_delta.push(row.modified.wrapping_sub(modified));
                modified = row.modified;
            }
        }
        table
    }

    /// Unpacks and checks the rows, whose paths have at most `path_bytes_max` bytes together. `contents` are those of
    /// the same batch.
    ///
    /// # Errors
    /// If the columns disagree, a path is invalid, or the rows are not in ascending order of their paths.
    pub fn rows(&self, contents: &[Content], path_bytes_max: usize) -> Result<Vec<DocumentRow>, BatchError> {
        let rows = self.states.len();
        if self.path_shared_bytes.len() != rows || self.path_own_bytes.len() != rows {
            return field("path_own_bytes", "does not have one entry for each state");
        }
        let mut own = self.path_own.as_slice();
        let mut references = References::new(self, contents);
        let mut path: Vec<u8> = Vec::new();
        let mut path_bytes = 0;
        let mut documents: Vec<DocumentRow> = Vec::with_capacity(rows);
        for row in 0..rows {
            let shared = self.path_shared_bytes[row] as usize;
            let Some((suffix, rest)) = own.split_at_checked(self.path_own_bytes[row] as usize) else {
                return field("path_own", "is shorter than its lengths add up to");
            };
            if shared > path.len() {
                return field("path_shared_bytes", "is more than the length of the path before");
            }
            own = rest;
            path.truncate(shared);
            path.extend_from_slice(suffix);
            path_bytes += path.len();
            if path_bytes > path_bytes_max {
                return field("path_shared_bytes", format!("makes more than {path_bytes_max} bytes of paths"));
            }
            let path = DocumentPath::new(&path)?;
            if documents.last().is_some_and(|previous| previous.path >= path) {
                return field("path_own", format!("is not in ascending order at `{path}`"));
            }
            let state = DocumentState::try_from(self.states[row]).unwrap_or_default();
            let (content, modified) = match state {
                DocumentState::Unspecified => {
                    return field("states", "has one that this version does not know");
                }
                state if state.has_content() => references.next()?,
                _ => (None, 0),
            };
            documents.push(DocumentRow { path, state, content, modified, message_id_hash: None });
        }
        if !own.is_empty() {
            return field("path_own", "is longer than its lengths add up to");
        }
        references.finish()?;
        self.put_message_ids(&mut documents)?;
        Ok(documents)
    }

    fn put_message_ids(&self, documents: &mut [DocumentRow]) -> Result<(), BatchError> {
        let (hashes, rest) = self.message_id_hashes.as_chunks();
        if hashes.len() != self.message_id_rows.len() || !rest.is_empty() {
            return field("message_id_hashes", "does not have sixteen bytes for each row");
        }
        if !self.message_id_rows.windows(2).all(|pair| pair[0] < pair[1]) {
            return field("message_id_rows", "is not in ascending order");
        }
        for (row, hash) in self.message_id_rows.iter().zip(hashes) {
            match documents.get_mut(*row as usize) {
                Some(document) => document.message_id_hash = Some(*hash),
                None => return field("message_id_rows", "names a missing row"),
            }
        }
        Ok(())
    }
}

impl DocumentState {
    /// True for the states of documents that were fingerprinted.
    pub fn has_content(self) -> bool {
        matches!(self, DocumentState::Read | DocumentState::Changing) || self.is_read_as_text()
    }

    /// True for the states of documents for which their text speaks.
    pub fn is_read_as_text(self) -> bool {
        matches!(self, DocumentState::ReadAsText | DocumentState::Recognised | DocumentState::ReadInPart)
    }
}

impl Batch {
    /// Unpacks and checks a body whose chunks are at most `chunk_bytes_max` bytes long, or whose features weigh at most
    /// [`FEATURE_WEIGHT_MAX`].
    ///
    /// # Errors
    /// If anything in it is impossible.
    pub fn decode(body: &[u8], chunk_bytes_max: u32) -> Result<Batch, BatchError> {
        if body.len() > BATCH_BODY_BYTES_MAX {
            return Err(BatchError::TooLarge { body_bytes: body.len() });
        }
        let body = v1::BatchBody::decode(body)?;
        let table = body.contents.unwrap_or_default();
        let chunks = table.chunks.unwrap_or_default();
        chunks.check(chunk_bytes_max)?;
        let mut contents = contents(&table.digests, &table.size_bytes, &table.chunk_counts, &chunks, chunk_bytes_max)?;
        put_samples(&mut contents, &table.sample_counts, &table.samples, chunk_bytes_max)?;
        let parts = body.parts.into_iter().map(|part| checked_part(part, chunk_bytes_max)).collect::<Result<_, _>>()?;
        let documents = body.documents.unwrap_or_default().rows(&contents, BATCH_PATH_BYTES_MAX)?;
        Ok(Batch { contents, chunks, parts, documents })
    }
}

fn contents(
    digests: &[u8],
    sizes: &[u64],
    chunk_counts: &[u32],
    chunks: &v1::ChunkTable,
    chunk_bytes_max: u32,
) -> Result<Vec<Content>, BatchError> {
    if digests.len() != 16 * sizes.len() || chunk_counts.len() != sizes.len() {
        return field("digests", "does not have one entry for each size and count");
    }
    let mut lengths = chunks.length_bytes.as_slice();
    let mut contents = Vec::with_capacity(sizes.len());
    for ((digest, &size_bytes), &chunk_count) in digests.chunks_exact(16).zip(sizes).zip(chunk_counts) {
        let Some((own, rest)) = lengths.split_at_checked(chunk_count as usize) else {
            return field("chunk_counts", "counts more chunks than there are");
        };
        let sum: u64 = own.iter().copied().map(u64::from).sum();
        if size_bytes > CONTENT_BYTES_MAX {
            return field("size_bytes", format!("is {size_bytes}, more than {CONTENT_BYTES_MAX}"));
        }
        if sum != size_bytes && chunk_bytes_max > FEATURE_WEIGHT_MAX {
            return field("size_bytes", format!("is {size_bytes}, but the chunks add up to {sum}"));
        }
        lengths = rest;
        let digest = ContentDigest(digest.try_into().expect("chunks of sixteen"));
        contents.push(Content { size_bytes, chunk_count: chunk_count.into(), digest, sample: WindowSample::NONE });
    }
    if !lengths.is_empty() {
        return field("chunk_counts", "counts fewer chunks than there are");
    }
    Ok(contents)
}

/// Gives contents their samples: none, or an entry of `counts` for each.
fn put_samples(
    contents: &mut [Content],
    counts: &[u32],
    samples: &[u8],
    chunk_bytes_max: u32,
) -> Result<(), BatchError> {
    if !counts.is_empty() && counts.len() != contents.len() {
        return field("sample_counts", "does not have one entry for each content");
    }
    if !samples.is_empty() && chunk_bytes_max <= FEATURE_WEIGHT_MAX {
        return field("samples", "is of a method without chunks");
    }
    let mut rest = samples;
    for (content, count) in contents.iter_mut().zip(counts) {
        let Some((own, further)) = rest.split_at_checked((*count as usize).saturating_mul(SAMPLE_VALUE_BYTES)) else {
            return field("samples", "has fewer values than are counted");
        };
        content.sample = checked_sample(own.to_vec(), content.size_bytes)?;
        rest = further;
    }
    if !rest.is_empty() {
        return field("samples", "has more values than are counted");
    }
    Ok(())
}

fn checked_sample(bytes: Vec<u8>, size_bytes: u64) -> Result<WindowSample, BatchError> {
    let Some(sample) = WindowSample::from_bytes(bytes) else {
        return field("samples", "has values that do not ascend, are too large or too many");
    };
    let windows = (size_bytes + 1).saturating_sub(SAMPLE_WINDOW_BYTES as u64);
    if sample.len() as u64 > windows {
        return field("samples", format!("has more values than {size_bytes} bytes have windows"));
    }
    Ok(sample)
}

fn checked_part(part: v1::ContentPart, chunk_bytes_max: u32) -> Result<Part, BatchError> {
    let chunks = part.chunks.unwrap_or_default();
    chunks.check(chunk_bytes_max)?;
    let end = match part.end {
        None => None,
        Some(end) => {
            let Ok(digest) = end.digest.as_slice().try_into() else {
                return field("digest", format!("has {} bytes and not 16", end.digest.len()));
            };
            if end.size_bytes > CONTENT_BYTES_MAX {
                return field("size_bytes", format!("is {}, more than {CONTENT_BYTES_MAX}", end.size_bytes));
            }
            let digest = ContentDigest(digest);
            let (size_bytes, chunk_count) = (end.size_bytes, end.chunk_count);
            if !end.sample.is_empty() && chunk_bytes_max <= FEATURE_WEIGHT_MAX {
                return field("sample", "is of a method without chunks");
            }
            Some(Content { size_bytes, chunk_count, digest, sample: checked_sample(end.sample, size_bytes)? })
        }
    };
    Ok(Part { upload: part.upload, chunks, end })
}

/// The columns that only documents with a content have an entry in.
struct References<'a> {
    places: std::slice::Iter<'a, u32>,
    deltas: std::slice::Iter<'a, i64>,
    digests: std::slice::ChunksExact<'a, u8>,
    contents: &'a [Content],
    modified: i64,
}

impl<'a> References<'a> {
    fn new(table: &'a v1::DocumentTable, contents: &'a [Content]) -> References<'a> {
        References {
            places: table.contents.iter(),
            deltas: table.modified_delta.iter(),
            digests: table.content_digests.chunks_exact(16),
            contents,
            modified: 0,
        }
    }

    fn next(&mut self) -> Result<(Option<ContentDigest>, i64), BatchError> {
        let (Some(place), Some(delta)) = (self.places.next(), self.deltas.next()) else {
            return field("contents", "has fewer entries than there are documents with a content");
        };
        self.modified = self.modified.wrapping_add(*delta);
        let digest = match (*place as usize).checked_sub(1) {
            None => self.digests.next().map(|bytes| ContentDigest(bytes.try_into().expect("chunks of sixteen"))),
            Some(place) => self.contents.get(place).map(|content| content.digest),
        };
        match digest {
            None => field("contents", "refers to a missing content"),
            Some(digest) => Ok((Some(digest), self.modified)),
        }
    }

    fn finish(self) -> Result<(), BatchError> {
        let rest = self.places.len() + self.deltas.len() + self.digests.len() + self.digests.remainder().len();
        if rest > 0 {
            return field("contents", "has more entries than there are documents with a content");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
