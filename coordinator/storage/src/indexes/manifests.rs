//! Manifests read back: the chunks of certain contents, in their order, from the segment that they were received in.
//!
//! An analysis works on postings, which have no order. Code that shows the position of a passage in a document, or
//! estimates from complete signatures, reads manifests here. The position of each content in its segment is found by
//! reading it once.

use std::collections::HashSet;
use std::sync::Arc;

use cognate_fingerprint::{Content, ContentDigest, Tag};
use cognate_proto::batch::Batch;
use cognate_proto::v1::ChunkTable;

use super::{Indexes, Sealed, lock};
use crate::error::Error;
use crate::segment::{self, Kind, Next, Record, SegmentReader};
use crate::store::{IndexId, IndexRow, SlotKey};

/// The most chunks of one content that are read back: 80 MiB. A content with more is reported as too large.
pub(crate) const MANIFEST_CHUNKS_MAX: usize = 4 << 20;

/// Number of contents with positions in memory, 16 bytes each; those of the latest index stay in any case.
const PLACES_MAX: usize = 4 << 20;

/// A content with its chunks, or its features where its method has none, as its site sent them.
#[derive(Debug)]
pub struct Manifest {
    /// The digest, size and other facts of the content.
    pub content: Content,
    /// Its chunks or features, in their order in the content.
    pub chunks: ChunkTable,
}

impl Manifest {
    /// Its chunks in order: where each begins, its length, its tag, and whether it is one byte over and over. Of a
    /// method without chunks the offsets say nothing.
    pub fn placed(&self) -> impl Iterator<Item = (u64, u32, Tag, bool)> + '_ {
        self.chunks.iter().scan(0, |end: &mut u64, (tag, length_bytes, repeated)| {
            let offset = *end;
            *end += u64::from(length_bytes);
            Some((offset, length_bytes, tag, repeated))
        })
    }
}

/// Positions of the contents of an index in its segment.
pub(super) struct Places {
    id: IndexId,
    sequence: u64,
    /// The first eight bytes of each digest, ascending, with the place of the record in which it begins.
    rows: Vec<(u64, u64)>,
}

impl Indexes {
    /// The manifest of a content, if the current index has it.
    ///
    /// # Errors
    /// Fails if it has more than `MANIFEST_CHUNKS_MAX` chunks, or the segment cannot be read.
    pub fn manifest(&self, key: &SlotKey, digest: ContentDigest) -> Result<Option<Manifest>, Error> {
        let Some(sealed) = self.sealed(key)? else { return Ok(None) };
        let row = self.row(sealed.id)?;
        let places = self.places(&sealed, &row)?;
        for at in places.of(digest) {
            if let Some(manifest) = self.manifest_at(sealed.id, &row, at, digest)? {
                return Ok(Some(manifest));
            }
        }
        Ok(None)
    }

    /// Hands over the manifests of these contents, as far as the index has them, in the order in which they arrived:
    /// one reading of the segment, for callers that need many.
    pub fn manifests(
        &self,
        sealed: &Sealed,
        wanted: &HashSet<ContentDigest>,
        each: &mut dyn FnMut(Manifest) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let row = self.row(sealed.id)?;
        let mut seen = HashSet::new();
        self.each_batch(sealed, &row, |_, batch| {
            let mut given = Ok(());
            seen.extend(batch.contents.iter().map(|content| content.digest));
            let mut first = 0;
            for content in &batch.contents {
                let count = usize::try_from(content.chunk_count).unwrap_or(usize::MAX);
                if wanted.contains(&content.digest) && given.is_ok() {
                    given = each(Manifest { content: content.clone(), chunks: cut(&batch.chunks, first, count) });
                }
                first += count;
            }
            given
        })?;
        let in_parts: Vec<ContentDigest> = wanted.iter().filter(|digest| !seen.contains(*digest)).copied().collect();
        if in_parts.is_empty() {
            return Ok(());
        }
        let places = self.places(sealed, &row)?;
        let mut found: Vec<(u64, ContentDigest)> =
            in_parts.iter().flat_map(|digest| places.of(*digest).map(|at| (at, *digest))).collect();
        found.sort_unstable_by_key(|(at, digest)| (*at, digest.0));
        for (at, digest) in found {
            if let Some(manifest) = self.manifest_at(sealed.id, &row, at, digest)? {
                each(manifest)?;
            }
        }
        Ok(())
    }

    /// Positions of all contents, from memory or from the segment.
    fn places(&self, sealed: &Sealed, row: &IndexRow) -> Result<Arc<Places>, Error> {
        let is_this = |places: &Arc<Places>| (places.id, places.sequence) == (sealed.id, sealed.sequence);
        if let Some(known) = lock(&self.places).iter().find(|places| is_this(places)) {
            return Ok(Arc::clone(known));
        }
        let mut rows = Vec::new();
        let mut upload: Option<(u64, u64)> = None;
        self.each_batch(sealed, row, |at, batch| {
            rows.extend(batch.contents.iter().map(|content| (prefix(content.digest), at)));
            for part in &batch.parts {
                let begun = upload.filter(|(number, _)| *number == part.upload).map_or(at, |(_, begun)| begun);
                upload = match &part.end {
                    None => Some((part.upload, begun)),
                    Some(content) => {
                        rows.push((prefix(content.digest), begun));
                        None
                    }
                };
            }
            Ok(())
        })?;
        rows.sort_unstable();
        let found = Arc::new(Places { id: sealed.id, sequence: sealed.sequence, rows });
        let mut known = lock(&self.places);
        known.retain(|places| !is_this(places));
        known.insert(0, Arc::clone(&found));
        while known.len() > 1 && known.iter().map(|places| places.rows.len()).sum::<usize>() > PLACES_MAX {
            known.pop();
        }
        Ok(found)
    }

    /// Hands over all batches of an index up to where it was sealed, each with its place.
    fn each_batch(
        &self,
        sealed: &Sealed,
        row: &IndexRow,
        mut each: impl FnMut(u64, Batch) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut at = None;
        segment::read(&self.segment_path(sealed.id), row.segment_bytes, |record| {
            let begun = at.replace(record.end).unwrap_or(0);
            if record.sequence > sealed.sequence {
                return Ok(());
            }
            match self.batch_of(sealed.id, row, &record)? {
                Some(batch) => each(begun, batch),
                None => Ok(()),
            }
        })
    }

    fn batch_of(&self, id: IndexId, row: &IndexRow, record: &Record) -> Result<Option<Batch>, Error> {
        if !matches!(record.kind, Kind::Batch | Kind::Compacted) {
            return Ok(None);
        }
        let wrong = |error: cognate_proto::batch::BatchError| Error::Corrupt {
            path: self.segment_path(id),
            detail: format!("{error}, in the record that ends at byte {}", record.end),
        };
        Batch::decode(&record.body, row.chunk_bytes_max).map(Some).map_err(wrong)
    }

    /// The content of this digest, if it begins in the record at a place.
    fn manifest_at(
        &self,
        id: IndexId,
        row: &IndexRow,
        at: u64,
        digest: ContentDigest,
    ) -> Result<Option<Manifest>, Error> {
        let mut reader = SegmentReader::open(&self.segment_path(id))?;
        if at > reader.at() {
            reader.seek(at)?;
        }
        let mut gathered = (None, ChunkTable::default());
        while reader.at() < row.segment_bytes {
            let Next::Record(record) = reader.next()? else { return Ok(None) };
            let Some(batch) = self.batch_of(id, row, &record)? else { continue };
            let mut first = 0;
            for content in &batch.contents {
                let count = usize::try_from(content.chunk_count).unwrap_or(usize::MAX);
                if content.digest == digest {
                    return Ok(Some(Manifest { content: content.clone(), chunks: cut(&batch.chunks, first, count) }));
                }
                first += count;
            }
            if batch.parts.is_empty() {
                return Ok(None);
            }
            for part in batch.parts {
                if gathered.0 != Some(part.upload) {
                    gathered = (Some(part.upload), ChunkTable::default());
                }
                gathered.1.append(&part.chunks);
                if gathered.1.rows() > MANIFEST_CHUNKS_MAX {
                    return Err(Error::Refused(format!(
                        "a document has more than {MANIFEST_CHUNKS_MAX} chunks: too many to be looked at one by one"
                    )));
                }
                if let Some(content) = part.end.filter(|content| content.digest == digest) {
                    return Ok(Some(Manifest { content, chunks: gathered.1 }));
                }
            }
        }
        Ok(None)
    }
}

impl Places {
    /// Positions at which a content of this digest may begin.
    fn of(&self, digest: ContentDigest) -> impl Iterator<Item = u64> + '_ {
        let wanted = prefix(digest);
        let first = self.rows.partition_point(|(prefix, _)| *prefix < wanted);
        self.rows[first..].iter().take_while(move |(prefix, _)| *prefix == wanted).map(|(_, at)| *at)
    }
}

fn prefix(digest: ContentDigest) -> u64 {
    u64::from_be_bytes(digest.0[..8].try_into().expect("eight bytes"))
}

/// Some chunks of a table, as one of its own.
fn cut(table: &ChunkTable, first: usize, count: usize) -> ChunkTable {
    let mut own = ChunkTable::default();
    for (tag, length_bytes, repeated) in table.iter().skip(first).take(count) {
        if repeated {
            own.repeated_byte.push(u32::try_from(own.rows()).expect("a batch has fewer chunks"));
        }
        own.tags.extend_from_slice(&tag.0);
        own.length_bytes.push(length_bytes);
    }
    own
}

#[cfg(test)]
mod tests {
    use cognate_fingerprint::{Chunk, WindowSample};
    use cognate_proto::batch::{BatchBuilder, DocumentRow, DocumentState, body_digest};
    use cognate_proto::index_digest::{IndexDigest, RowHash};
    use cognate_proto::path::DocumentPath;

    use super::super::tests::{Fixture, key};
    use super::*;
    use crate::harness::{push, root};

    fn table(lengths: &[u32]) -> ChunkTable {
        let mut table = ChunkTable::default();
        for &length_bytes in lengths {
            let tag = Tag([u8::try_from(length_bytes).unwrap(); 16]);
            table.push(&Chunk { offset: 0, length_bytes, tag, repeated_byte: length_bytes == 9 });
        }
        table
    }

    fn content(number: u8, lengths: &[u32]) -> Content {
        let size_bytes = lengths.iter().copied().map(u64::from).sum();
        let (chunk_count, digest) = (lengths.len() as u64, ContentDigest([number; 16]));
        Content { size_bytes, chunk_count, digest, sample: WindowSample::NONE }
    }

    fn row(number: u8) -> DocumentRow {
        DocumentRow {
            path: DocumentPath::new(&[b'A' + number]).unwrap(),
            state: DocumentState::Read,
            content: Some(ContentDigest([number; 16])),
            modified: 0,
            message_id_hash: None,
        }
    }

    /// An index with two contents in one batch, and one in parts over two others.
    fn filled() -> Fixture {
        let fixture = Fixture::new();
        let mut writer = fixture.writer(7);
        let mut sum = IndexDigest::default();
        let mut send = |sequence: u64, fill: &dyn Fn(&mut BatchBuilder)| {
            let mut builder = BatchBuilder::default();
            fill(&mut builder);
            let (body, _) = builder.finish();
            assert!(writer.batch(sequence, &body_digest(&body), &body).unwrap().is_ok());
        };
        send(1, &|batch| {
            batch.content(&content(1, &[5, 9]), &table(&[5, 9]));
            batch.content(&content(2, &[7]), &table(&[7]));
            batch.document(row(1));
            batch.document(row(2));
        });
        send(2, &|batch| batch.part(1, table(&[3, 4]), None));
        send(3, &|batch| {
            batch.part(1, table(&[9, 6]), Some(&content(3, &[3, 4, 9, 6])));
            batch.document(row(3));
        });
        for (number, lengths) in [(1, &[5, 9][..]), (2, &[7]), (3, &[3, 4, 9, 6])] {
            let content = content(number, lengths);
            sum.add(RowHash::of_document(&row(number)));
            sum.add(RowHash::of_content(content.digest, content.size_bytes, content.chunk_count, 0));
        }
        writer.seal(3, &sum.to_bytes()).unwrap();
        fixture
    }

    fn placed(manifest: &Manifest) -> Vec<(u64, u32, bool)> {
        manifest.placed().map(|(offset, length_bytes, _, repeated)| (offset, length_bytes, repeated)).collect()
    }

    #[test]
    fn a_content_is_read_back_chunk_by_chunk_in_its_order() {
        let fixture = filled();
        let read = |number: u8| fixture.indexes.manifest(&key(), ContentDigest([number; 16])).unwrap();
        assert_eq!(placed(&read(1).unwrap()), [(0, 5, false), (5, 9, true)]);
        assert_eq!(placed(&read(2).unwrap()), [(0, 7, false)]);
        let third = read(3).unwrap();
        assert_eq!(placed(&third), [(0, 3, false), (3, 4, false), (7, 9, true), (16, 6, false)]);
        assert_eq!((third.content.size_bytes, third.chunks.tags[16]), (22, 4));
        assert!(read(4).is_none());
    }

    #[test]
    fn many_contents_are_read_back_at_once() {
        let fixture = filled();
        let sealed = fixture.indexes.sealed(&key()).unwrap().unwrap();
        let wanted = [3, 2, 8].map(|number| ContentDigest([number; 16])).into();
        let mut found = Vec::new();
        let mut each = |manifest: Manifest| {
            found.push((manifest.content.digest.0[0], placed(&manifest).len()));
            Ok(())
        };
        fixture.indexes.manifests(&sealed, &wanted, &mut each).unwrap();
        assert_eq!(found, [(2, 1), (3, 4)]);
    }

    #[test]
    fn what_a_later_sync_adds_is_found_and_what_it_has_not_sealed_is_not() {
        let fixture = Fixture::new();
        let mut writer = fixture.writer(7);
        push(&mut writer, 1..=2);
        writer.seal(2, &root(1..=2)).unwrap();
        let read = |number: u8| fixture.indexes.manifest(&key(), ContentDigest([number; 16])).unwrap();
        assert!(read(2).is_some() && read(3).is_none());
        let mut writer = fixture.writer(7);
        push(&mut writer, 3..=3);
        writer.commit().unwrap();
        assert!(read(3).is_none());
        writer.seal(3, &root(1..=3)).unwrap();
        assert!(read(2).is_some() && read(3).is_some());
    }
}
