//! An index in memory: the documents and contents that the batches of one epoch add up to.

mod contents;

use std::collections::HashSet;

use cognate_fingerprint::{Content, ContentDigest, WindowSample};
use cognate_proto::batch::{Batch, DocumentRow, DocumentState, FEATURE_WEIGHT_MAX};
use cognate_proto::documents::{Documents, IndexedDocument};
use cognate_proto::index_digest::{IndexDigest, RowHash, RowSum};
use cognate_proto::limits::WINDOW_BATCHES;
use cognate_proto::v1::ChunkTable;

pub use self::contents::Contents;
use crate::error::Error;
use crate::segment::BaseRecord;

/// Digests of batches in memory, 16 bytes each; beyond it those of the last window stay.
const DIGESTS_MAX: usize = 1 << 16;
/// Memory for a content: a row, and its place in a table that is half full or more.
const CONTENT_BYTES: u64 = 121;

/// The state of an index after some batch.
#[derive(Default)]
pub struct Index {
    /// The documents by their paths.
    pub documents: Documents,
    /// The contents by their digests.
    pub contents: Contents,
    /// The content that is arriving in parts, if one is. A worker sends one after the other: another one's first part
    /// says that the last was given up.
    upload: Option<(u64, Upload)>,
    /// The chunks of that content, as far as they have arrived.
    uploaded: blake3::Hasher,
    /// Number of batches before those with known digests.
    undigested: u64,
    /// Digests of the batches after them; they distinguish a repetition from a contradiction.
    digests: Vec<[u8; 16]>,
    /// The chain over the digests of all batches, and what their bodies came to.
    head: [u8; 32],
    body_bytes: u64,
    root: RowSum,
    /// The size of all documents, each copy counted.
    size_bytes: u64,
    /// Bytes of the paths of all documents.
    name_bytes: u64,
    /// Bytes of the samples of all contents.
    sample_bytes: u64,
    next_ordinal: u32,
}

/// Facts about a content besides its chunks.
#[derive(Clone, Debug)]
pub struct IndexedContent {
    /// Its number in the index's runs.
    pub ordinal: u32,
    /// The size of the content in bytes.
    pub size_bytes: u64,
    /// The number of its chunks, or of its features where the method has no chunks.
    pub chunk_count: u64,
    /// Sum of its chunks: its size, or the weight of its features if the method has no chunks.
    pub weight: u64,
    /// Bytes in chunks of one repeated byte.
    pub repeated_bytes: u64,
    /// The digest of its size and of its chunks in their order. Sites that mean the same content send the same chunks; a site
    /// that sends others under its digest is known by this.
    pub chunks_digest: [u8; 16],
    /// Its sample, if its site sends samples.
    pub sample: WindowSample,
}

impl IndexedContent {
    /// The facts that a site declares; the others follow from its chunks.
    fn of(content: &Content) -> IndexedContent {
        let Content { size_bytes, chunk_count, .. } = *content;
        let (chunks_digest, sample) = ([0; 16], content.sample.clone());
        IndexedContent { ordinal: 0, size_bytes, chunk_count, weight: 0, repeated_bytes: 0, chunks_digest, sample }
    }

    /// The hash of its row.
    fn row_hash(&self, digest: ContentDigest) -> RowHash {
        RowHash::of_content(digest, self.size_bytes, self.chunk_count, self.sample.digest())
    }
}

/// The digest of a content's chunks, which are hashed one after the other, and of its size.
fn chunks_digest(size_bytes: u64, chunks: blake3::Hash) -> [u8; 16] {
    let mut bytes = [0; 40];
    bytes[..8].copy_from_slice(&size_bytes.to_le_bytes());
    bytes[8..].copy_from_slice(chunks.as_bytes());
    let digest = blake3::hash(&bytes);
    *digest.as_bytes().first_chunk().expect("a hash is longer")
}

/// A content in parts, as far as it has come.
#[derive(Clone, Copy, Default)]
struct Upload {
    ordinal: u32,
    weight: u64,
    chunk_count: u64,
    repeated_bytes: u64,
}

impl Index {
    /// The last batch that the state includes, or 0.
    pub fn sequence(&self) -> u64 {
        self.undigested + self.digests.len() as u64
    }

    /// The chain over the digests of all batches: BLAKE3 of the head before and the digest.
    pub fn head(&self) -> [u8; 32] {
        self.head
    }

    /// Sum of the bodies of all batches.
    pub fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// The size of all documents, each copy counted.
    pub(crate) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Bytes of the paths of all documents.
    pub(crate) fn name_bytes(&self) -> u64 {
        self.name_bytes
    }

    #[cfg(test)]
    pub(crate) fn pretend_name_bytes(&mut self, name_bytes: u64) {
        self.name_bytes = name_bytes;
    }

    /// About the memory that it takes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let (documents, contents) = (self.documents.len() as u64, self.contents.len() as u64);
        let names = Documents::memory_bytes(documents, self.name_bytes);
        names + contents * CONTENT_BYTES + self.sample_bytes + self.digests.len() as u64 * 16
    }

    /// The root over documents and contents.
    pub fn root(&self) -> IndexDigest {
        self.root.digest()
    }

    /// Number of ordinals given out so far.
    pub fn ordinals(&self) -> u32 {
        self.next_ordinal
    }

    /// Begins after batches that were compacted.
    ///
    /// # Errors
    /// Names the part that does not fit.
    pub(crate) fn after(sequence: u64, base: &BaseRecord) -> Result<Index, &'static str> {
        let (digests, rest) = base.digests.as_chunks();
        let undigested = sequence.checked_sub(digests.len() as u64).filter(|_| rest.is_empty());
        Ok(Index {
            undigested: undigested.ok_or("it has more digests than batches")?,
            digests: digests.to_vec(),
            head: base.head.as_slice().try_into().map_err(|_| "its chain has another length")?,
            body_bytes: base.body_bytes,
            root: IndexDigest::from_bytes(&base.dropped_root).ok_or("its root has another length")?.into(),
            ..Index::default()
        })
    }

    /// Returns the rest of the batches so far for a compaction that drops the contents that are not `live`.
    pub(crate) fn base(&self, live: &HashSet<ContentDigest>) -> BaseRecord {
        let mut dropped = self.root();
        for (path, document) in self.documents.iter() {
            dropped.remove(RowHash::of_document(&document.with_path(path)));
        }
        for (digest, content) in self.contents.iter().filter(|(digest, _)| live.contains(*digest)) {
            dropped.remove(content.row_hash(*digest));
        }
        let undigested = self.digests.len().saturating_sub(WINDOW_BATCHES);
        BaseRecord {
            dropped_root: dropped.to_bytes().to_vec(),
            head: self.head.to_vec(),
            body_bytes: self.body_bytes,
            digests: self.digests[undigested..].as_flattened().to_vec(),
        }
    }

    /// The contents that a document has.
    pub fn live(&self) -> HashSet<ContentDigest> {
        self.documents.iter().filter_map(|(_, document)| document.content).collect()
    }

    /// About what the documents and contents take in a segment, with `live` contents alone.
    pub(crate) fn weight(&self, live: &HashSet<ContentDigest>) -> u64 {
        self.weight_of(|digest| live.contains(digest))
    }

    /// The same with all contents.
    pub(crate) fn weight_of_all(&self) -> u64 {
        self.weight_of(|_| true)
    }

    fn weight_of(&self, counts: impl Fn(&ContentDigest) -> bool) -> u64 {
        let documents = self.name_bytes + 24 * self.documents.len() as u64;
        let contents = self.contents.iter().filter(|(digest, _)| counts(digest));
        documents
            + contents
                .map(|(_, content)| 24 + 19 * content.chunk_count + content.sample.as_bytes().len() as u64)
                .sum::<u64>()
    }

    /// True if this very batch was taken in earlier.
    ///
    /// # Errors
    /// Fails if there is a gap before it, or the number belongs to another batch.
    pub(crate) fn is_repetition(&self, sequence: u64, digest: [u8; 16]) -> Result<bool, Error> {
        let expected = self.sequence() + 1;
        if sequence == 0 || sequence > expected {
            return Err(Error::OutOfOrder { expected, got: sequence });
        }
        let Some(place) = (sequence - 1).checked_sub(self.undigested) else {
            return Err(Error::OutOfOrder { expected, got: sequence });
        };
        match usize::try_from(place).ok().and_then(|place| self.digests.get(place)) {
            None => Ok(false),
            Some(known) if *known == digest => Ok(true),
            Some(_) => Err(Error::Contradiction(format!("batch {sequence} came again with other content"))),
        }
    }

    /// The contents that documents of the batch refer to and that are neither here nor in it.
    pub(crate) fn unknown_contents(&self, batch: &Batch) -> Vec<ContentDigest> {
        let digests = batch.documents.iter().filter_map(|row| row.content);
        let mut unknown: Vec<ContentDigest> = digests.filter(|digest| !self.contents.contains(digest)).collect();
        if !unknown.is_empty() {
            let ended = batch.parts.iter().filter_map(|part| part.end.as_ref().map(|end| end.digest));
            let arriving: HashSet<ContentDigest> =
                batch.contents.iter().map(|content| content.digest).chain(ended).collect();
            unknown.retain(|digest| !arriving.contains(digest));
        }
        unknown
    }

    /// Checks that the parts of a batch continue the parts that have arrived, and end where they declare.
    ///
    /// # Errors
    /// Fails if they do not; the state is unchanged.
    pub(crate) fn check_parts(&self, batch: &Batch, chunk_bytes_max: u32) -> Result<(), Error> {
        let mut current = self.upload;
        for part in &batch.parts {
            let mut upload = current.filter(|(number, _)| *number == part.upload).unwrap_or_default().1;
            upload.grow(&part.chunks);
            current = Some((part.upload, upload));
            if let Some(end) = &part.end {
                let tiles = chunk_bytes_max > FEATURE_WEIGHT_MAX;
                let size_bytes = if tiles { upload.weight } else { end.size_bytes };
                if (end.size_bytes, end.chunk_count) != (size_bytes, upload.chunk_count) {
                    return Err(Error::Invalid(format!(
                        "upload {} ends with {} bytes in {} chunks, but {} in {} arrived",
                        part.upload, end.size_bytes, end.chunk_count, upload.weight, upload.chunk_count
                    )));
                }
                current = None;
            }
        }
        Ok(())
    }

    /// Takes in the next batch, which has been checked. Each posting is handed to `posting` with its content's ordinal.
    pub(crate) fn apply(
        &mut self,
        digest: [u8; 16],
        body_bytes: u64,
        batch: &Batch,
        posting: impl FnMut(u32, &mut Chunks<'_>),
    ) {
        self.digests.push(digest);
        // Nobody repeats a batch from before the window: very many small ones take no memory.
        if self.digests.len() > DIGESTS_MAX {
            let gone = self.digests.len() - WINDOW_BATCHES;
            self.digests.drain(..gone);
            self.undigested += gone as u64;
        }
        self.head = *blake3::Hasher::new().update(&self.head).update(&digest).finalize().as_bytes();
        self.body_bytes += body_bytes;
        self.take_in(batch, posting);
    }

    /// Takes in a piece of a compacted segment; it is no batch of its own.
    pub fn take_in(&mut self, batch: &Batch, mut posting: impl FnMut(u32, &mut Chunks<'_>)) {
        let mut chunks = batch.chunks.iter();
        let mut encoded = Vec::new();
        for content in &batch.contents {
            let ordinal = self.take_ordinal();
            let mut own = Chunks::new(&mut chunks, content.chunk_count, &mut encoded);
            posting(ordinal, &mut own);
            own.by_ref().for_each(drop);
            let Chunks { weight, repeated_bytes, .. } = own;
            let chunks_digest = chunks_digest(content.size_bytes, blake3::hash(&encoded));
            let facts =
                IndexedContent { ordinal, weight, repeated_bytes, chunks_digest, ..IndexedContent::of(content) };
            self.add_content(content.digest, facts);
        }
        for part in &batch.parts {
            let mut upload = match self.upload.take().filter(|(number, _)| *number == part.upload) {
                Some((_, upload)) => upload,
                None => {
                    self.uploaded.reset();
                    Upload { ordinal: self.take_ordinal(), ..Upload::default() }
                }
            };
            upload.grow(&part.chunks);
            let mut rows = part.chunks.iter();
            let mut own = Chunks::new(&mut rows, u64::MAX, &mut encoded);
            posting(upload.ordinal, &mut own);
            own.by_ref().for_each(drop);
            self.uploaded.update(&encoded);
            match &part.end {
                None => self.upload = Some((part.upload, upload)),
                Some(end) => {
                    let chunks_digest = chunks_digest(end.size_bytes, self.uploaded.finalize());
                    let Upload { ordinal, weight, repeated_bytes, .. } = upload;
                    let facts =
                        IndexedContent { ordinal, weight, repeated_bytes, chunks_digest, ..IndexedContent::of(end) };
                    self.add_content(end.digest, facts);
                }
            }
        }
        batch.documents.iter().for_each(|row| self.add_document(row));
    }

    fn take_ordinal(&mut self) -> u32 {
        let ordinal = self.next_ordinal;
        self.next_ordinal = ordinal.checked_add(1).expect("an index holds fewer than 2^32 contents");
        ordinal
    }

    /// A repeated content keeps its first ordinal; the postings of the second belong to no content.
    fn add_content(&mut self, digest: ContentDigest, facts: IndexedContent) {
        let (size_bytes, chunk_count, sample) = (facts.size_bytes, facts.chunk_count, facts.sample.digest());
        let sample_bytes = facts.sample.as_bytes().len() as u64;
        if self.contents.add(digest, facts) {
            self.sample_bytes += sample_bytes;
            self.root.add_content(digest, size_bytes, chunk_count, sample);
        }
    }

    fn add_document(&mut self, row: &DocumentRow) {
        let before = if row.state == DocumentState::Removed {
            let removed = self.documents.remove(&row.path);
            self.name_bytes -= removed.map_or(0, |_| row.path.as_bytes().len() as u64);
            removed
        } else {
            self.root.add_document(row);
            // The sizes come from a site and cannot be trusted, not even to add up.
            self.size_bytes = self.size_bytes.wrapping_add(self.size_of(row.content));
            let before = self.documents.insert(row.path.clone(), IndexedDocument::from(row));
            self.name_bytes += if before.is_none() { row.path.as_bytes().len() as u64 } else { 0 };
            before
        };
        if let Some(before) = before {
            self.root.remove(RowHash::of_document(&before.with_path(row.path.clone())));
            self.size_bytes = self.size_bytes.wrapping_sub(self.size_of(before.content));
        }
    }

    fn size_of(&self, content: Option<ContentDigest>) -> u64 {
        content.and_then(|digest| self.contents.get(&digest)).map_or(0, |content| content.size_bytes)
    }
}

impl Upload {
    fn grow(&mut self, chunks: &ChunkTable) {
        self.chunk_count += chunks.rows() as u64;
        for (_, length_bytes, repeated_byte) in chunks.iter() {
            self.weight += u64::from(length_bytes);
            self.repeated_bytes += if repeated_byte { u64::from(length_bytes) } else { 0 };
        }
    }
}

/// The chunks of one content of a batch.
pub struct Chunks<'a> {
    rows: &'a mut dyn Iterator<Item = (cognate_fingerprint::Tag, u32, bool)>,
    left: u64,
    weight: u64,
    repeated_bytes: u64,
    /// The chunks that were handed over, as their digest takes them in.
    encoded: &'a mut Vec<u8>,
}

impl<'a> Chunks<'a> {
    fn new(
        rows: &'a mut dyn Iterator<Item = (cognate_fingerprint::Tag, u32, bool)>,
        left: u64,
        encoded: &'a mut Vec<u8>,
    ) -> Chunks<'a> {
        encoded.clear();
        Chunks { rows, left, weight: 0, repeated_bytes: 0, encoded }
    }
}

impl Iterator for Chunks<'_> {
    type Item = (cognate_fingerprint::Tag, u32, bool);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let row = self.rows.next()?;
        self.weight += u64::from(row.1);
        self.repeated_bytes += if row.2 { u64::from(row.1) } else { 0 };
        self.encoded.extend_from_slice(&row.0.0);
        self.encoded.extend_from_slice(&row.1.to_le_bytes());
        self.encoded.push(u8::from(row.2));
        Some(row)
    }
}

#[cfg(test)]
mod tests {
    use cognate_fingerprint::{Chunk, Tag};
    use cognate_proto::batch::BatchBuilder;
    use cognate_proto::path::DocumentPath;

    use super::*;

    fn content(number: u8, lengths: &[u32]) -> (Content, ChunkTable) {
        let mut table = ChunkTable::default();
        for &length_bytes in lengths {
            table.push(&Chunk { offset: 0, length_bytes, tag: Tag([number; 16]), repeated_byte: length_bytes == 9 });
        }
        let size_bytes = lengths.iter().copied().map(u64::from).sum();
        let (chunk_count, digest) = (lengths.len() as u64, ContentDigest([number; 16]));
        let content = Content { size_bytes, chunk_count, digest, sample: WindowSample::NONE };
        (content, table)
    }

    fn row(path: &str, state: DocumentState, content: Option<u8>) -> DocumentRow {
        let content = content.map(|number| ContentDigest([number; 16]));
        DocumentRow {
            path: DocumentPath::new(path.as_bytes()).unwrap(),
            state,
            content,
            modified: 0,
            message_id_hash: None,
        }
    }

    fn batch(fill: impl FnOnce(&mut BatchBuilder)) -> Batch {
        let mut builder = BatchBuilder::default();
        fill(&mut builder);
        Batch::decode(&builder.finish().0, 5000).unwrap()
    }

    #[test]
    fn batches_add_up_and_a_removed_document_leaves_no_trace_in_the_root() {
        let mut index = Index::default();
        let (one, table) = content(1, &[5, 9]);
        let first = batch(|batch| {
            batch.content(&one, &table);
            batch.document(row("a", DocumentState::Read, Some(1)));
        });
        let mut postings = vec![];
        index.apply([1; 16], 0, &first, |ordinal, chunks| postings.extend(chunks.map(|chunk| (ordinal, chunk.1))));
        assert_eq!(postings, [(0, 5), (0, 9)]);
        assert_eq!(index.contents[&one.digest].repeated_bytes, 9);
        let after_first = index.root();
        index.apply([2; 16], 0, &batch(|batch| batch.document(row("b", DocumentState::Read, Some(1)))), |_, _| {});
        index.apply([3; 16], 0, &batch(|batch| batch.document(row("b", DocumentState::Removed, None))), |_, _| {});
        assert_eq!((index.root(), index.documents.len(), index.sequence()), (after_first, 1, 3));
    }

    #[test]
    fn gaps_are_refused_repetitions_are_known_and_contradictions_are_an_alarm() {
        let mut index = Index::default();
        index.apply([1; 16], 0, &Batch::default(), |_, _| {});
        assert!(index.is_repetition(1, [1; 16]).unwrap());
        assert!(!index.is_repetition(2, [2; 16]).unwrap());
        assert!(matches!(index.is_repetition(1, [9; 16]), Err(Error::Contradiction(_))));
        for sequence in [0, 3, u64::MAX] {
            assert!(matches!(index.is_repetition(sequence, [1; 16]), Err(Error::OutOfOrder { expected: 2, .. })));
        }
    }

    #[test]
    fn a_content_in_parts_is_there_once_its_last_part_agrees() {
        let mut index = Index::default();
        let (whole, _) = content(7, &[5, 9, 5]);
        let first = batch(|batch| batch.part(1, content(7, &[5, 9]).1, None));
        index.check_parts(&first, 1000).unwrap();
        index.apply([1; 16], 0, &first, |_, _| {});
        assert!(index.upload.is_some() && index.contents.is_empty());
        let wrong = batch(|batch| batch.part(1, content(7, &[4]).1, Some(&whole)));
        assert!(index.check_parts(&wrong, 1000).is_err());
        let last = batch(|batch| batch.part(1, content(7, &[5]).1, Some(&whole)));
        index.check_parts(&last, 1000).unwrap();
        index.apply([2; 16], 0, &last, |ordinal, _| assert_eq!(ordinal, 0));
        assert!(index.upload.is_none());
        assert_eq!((index.contents[&whole.digest].size_bytes, index.contents[&whole.digest].repeated_bytes), (19, 9));
    }

    #[test]
    fn the_digest_of_chunks_is_the_same_in_parts_and_another_for_other_chunks() {
        let digest_after = |batches: &[Batch]| {
            let mut index = Index::default();
            for (number, batch) in (0..).zip(batches) {
                index.apply([number; 16], 0, batch, |_, chunks| assert!(chunks.next().is_some()));
            }
            index.contents[&ContentDigest([7; 16])].chunks_digest
        };
        let (whole, table) = content(7, &[5, 9, 5]);
        let at_once = digest_after(&[batch(|batch| batch.content(&whole, &table))]);
        let given_up = batch(|batch| batch.part(1, content(7, &[8]).1, None));
        let parts = [
            given_up,
            batch(|batch| batch.part(2, content(7, &[5, 9]).1, None)),
            batch(|batch| batch.part(2, content(7, &[5]).1, Some(&whole))),
        ];
        assert_eq!(digest_after(&parts[1..]), at_once);
        assert_eq!(digest_after(&parts), at_once);
        let swapped = content(7, &[9, 5, 5]).1;
        assert_ne!(digest_after(&[batch(|batch| batch.content(&whole, &swapped))]), at_once);
        let other_tags = content(8, &[5, 9, 5]).1;
        assert_ne!(digest_after(&[batch(|batch| batch.content(&whole, &other_tags))]), at_once);
    }

    #[test]
    fn a_content_whose_parts_were_given_up_is_in_nobodys_way() {
        let mut index = Index::default();
        let (whole, table) = content(7, &[5, 9]);
        let cut_off = batch(|batch| batch.part(1, content(7, &[5]).1, None));
        index.apply([1; 16], 0, &cut_off, |_, _| {});
        let again = batch(|batch| batch.part(2, table, Some(&whole)));
        index.check_parts(&again, 1000).unwrap();
        index.apply([2; 16], 0, &again, |ordinal, _| assert_eq!(ordinal, 1));
        assert_eq!((index.contents[&whole.digest].ordinal, index.upload.is_none()), (1, true));
    }

    #[test]
    fn documents_that_refer_to_nothing_are_named() {
        let refers = batch(|batch| batch.document(row("a", DocumentState::Read, Some(3))));
        assert_eq!(Index::default().unknown_contents(&refers), [ContentDigest([3; 16])]);
    }

    #[test]
    fn very_many_batches_take_no_memory_and_those_of_the_window_are_known() {
        let mut index = Index::default();
        let empty = batch(|_| ());
        let digest = |number: u64| [number.to_le_bytes(), [7; 8]].concat().try_into().unwrap();
        let count = DIGESTS_MAX as u64 + 1000;
        (1..=count).for_each(|number| index.apply(digest(number), 10, &empty, |_, _| ()));
        assert_eq!(index.sequence(), count);
        assert!(index.digests.len() < 2000 && index.digests.len() >= WINDOW_BATCHES);
        assert!(index.is_repetition(count, digest(count)).unwrap());
        assert!(
            index.is_repetition(count + 1 - WINDOW_BATCHES as u64, digest(count + 1 - WINDOW_BATCHES as u64)).unwrap()
        );
        assert!(matches!(index.is_repetition(count, [9; 16]), Err(Error::Contradiction(_))));
        assert!(matches!(index.is_repetition(1, digest(1)), Err(Error::OutOfOrder { .. })));
        assert!(!index.is_repetition(count + 1, [1; 16]).unwrap());
    }
}
