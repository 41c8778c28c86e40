//! Small batches for the tests of this crate and of those above.

use cognate_fingerprint::{Chunk, Content, ContentDigest, Method, Tag, WindowSample};
use cognate_proto::batch::{BatchBuilder, DocumentRow, DocumentState, body_digest};
use cognate_proto::index_digest::{IndexDigest, RowHash};
use cognate_proto::path::DocumentPath;
use cognate_proto::v1::ChunkTable;

#[cfg(test)]
use crate::Error;
use crate::indexes::IndexWriter;

/// TTTD over raw bytes with a mean of 1000 bytes.
pub fn method() -> Method {
    Method::tttd(cognate_fingerprint::View::Raw, 1000).expect("the test's own data is valid")
}

/// A batch with one document of one chunk, and what it adds to the root.
pub fn batch(number: u8) -> (Vec<u8>, [u8; 16], [RowHash; 2]) {
    let mut table = ChunkTable::default();
    table.push(&Chunk { offset: 0, length_bytes: 100, tag: Tag([number; 16]), repeated_byte: false });
    let digest = ContentDigest([number; 16]);
    let content = Content { size_bytes: 100, chunk_count: 1, digest, sample: WindowSample::NONE };
    let row = DocumentRow {
        path: DocumentPath::new(&[b'a' + number]).expect("the test's own data is valid"),
        state: DocumentState::Read,
        content: Some(content.digest),
        modified: 0,
        message_id_hash: None,
    };
    let hashes = [RowHash::of_document(&row), RowHash::of_content(content.digest, 100, 1, 0)];
    let mut builder = BatchBuilder::default();
    builder.content(&content, &table);
    builder.document(row);
    let (body, _) = builder.finish();
    (body.to_vec(), body_digest(&body), hashes)
}

/// Pushes the batches with these numbers.
pub fn push(writer: &mut IndexWriter, numbers: std::ops::RangeInclusive<u8>) {
    for number in numbers {
        let (body, digest, _) = batch(number);
        assert!(writer.batch(number.into(), &digest, &body).expect("the test's own data is valid").is_ok());
    }
}

/// The index digest after these batches.
pub fn root(numbers: std::ops::RangeInclusive<u8>) -> [u8; 32] {
    let mut root = IndexDigest::default();
    numbers.flat_map(|number| batch(number).2).for_each(|hash| root.add(hash));
    root.to_bytes()
}

/// Opens a store that this process has just closed. Threads of sled have its lock until they are through with their last work, which
/// takes seconds where the processors are busy: so the time counts, and not how often it was tried.
///
/// # Errors
/// Fails as `open` does; because of the lock only after a minute.
#[cfg(test)]
pub(crate) fn opened_again<T>(mut open: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    loop {
        match open() {
            Err(Error::Locked { .. }) if std::time::Instant::now() < until => std::thread::yield_now(),
            opened => return opened,
        }
    }
}
