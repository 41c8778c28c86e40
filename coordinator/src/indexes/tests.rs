use cognate_fingerprint::{Chunk, Content, MethodId, Tag};
use cognate_proto::batch::{BatchBuilder, DocumentRow, DocumentState};
use cognate_proto::path::DocumentPath;
use cognate_proto::root::RowHash;
use cognate_proto::v1::ChunkTable;

use cognate_proto::name::RepositoryName;

use super::*;

struct Fixture {
    folder: tempfile::TempDir,
    indexes: Arc<Indexes>,
    store: Arc<Store>,
}

fn key() -> SlotKey {
    SlotKey { site: "a".parse().unwrap(), repository: RepositoryName::main(), method_id: MethodId([1; 16]) }
}

fn method() -> Method {
    Method::tttd(cognate_fingerprint::View::Raw, 1000).unwrap()
}

impl Fixture {
    fn new() -> Fixture {
        Fixture::at(tempfile::tempdir().unwrap())
    }

    fn at(folder: tempfile::TempDir) -> Fixture {
        let store = Arc::new(Store::open(&folder.path().join("db"), &folder.path().join("journal"), true).unwrap());
        let indexes = Arc::new(Indexes::open(Arc::clone(&store), &folder.path().join("indexes"), true).unwrap());
        Fixture { folder, indexes, store }
    }

    /// Opens everything again, as after a crash: what was not committed is gone.
    fn restart(self) -> Fixture {
        let Fixture { folder, indexes, store } = self;
        drop((indexes, store));
        Fixture::at(folder)
    }

    fn writer(&self, epoch: u64) -> IndexWriter {
        self.indexes.writer(key(), epoch, &method()).unwrap()
    }

    fn segment(&self) -> PathBuf {
        self.indexes.segment_path(self.indexes.sealed(&key()).unwrap().unwrap().id)
    }
}

/// A batch with one document of one chunk, and what it adds to the root.
fn batch(number: u8) -> (Vec<u8>, [u8; 16], [RowHash; 2]) {
    let mut table = ChunkTable::default();
    table.push(&Chunk { offset: 0, length_bytes: 100, tag: Tag([number; 16]), repeated_byte: false });
    let content = Content { size_bytes: 100, chunk_count: 1, digest: ContentDigest([number; 16]) };
    let row = DocumentRow {
        path: DocumentPath::new(&[b'a' + number]).unwrap(),
        state: DocumentState::Read,
        content: Some(content.digest),
        modified: 0,
    };
    let hashes = [RowHash::of_document(&row), RowHash::of_content(content.digest, 100, 1)];
    let mut builder = BatchBuilder::default();
    builder.content(&content, &table);
    builder.document(row);
    let (body, _) = builder.finish();
    (body.to_vec(), body_digest(&body), hashes)
}

fn push(writer: &mut IndexWriter, numbers: std::ops::RangeInclusive<u8>) {
    for number in numbers {
        let (body, digest, _) = batch(number);
        assert!(writer.batch(number.into(), &digest, &body).unwrap().is_ok());
    }
}

fn root(numbers: std::ops::RangeInclusive<u8>) -> [u8; 32] {
    let mut root = Root::default();
    numbers.flat_map(|number| batch(number).2).for_each(|hash| root.add(hash));
    root.to_bytes()
}

#[test]
fn what_was_committed_is_there_after_a_crash_and_what_was_not_is_sent_again() {
    let fixture = Fixture::new();
    let mut writer = fixture.writer(7);
    push(&mut writer, 1..=2);
    assert_eq!(writer.commit().unwrap(), 2);
    push(&mut writer, 3..=3);
    drop(writer);
    let fixture = fixture.restart();
    let mut writer = fixture.writer(7);
    assert_eq!((writer.committed_sequence(), writer.root().to_bytes()), (2, root(1..=2)));
    push(&mut writer, 2..=4);
    writer.seal(4, &root(1..=4)).unwrap();
    let sealed = fixture.indexes.sealed(&key()).unwrap().unwrap();
    let fixture = fixture.restart();
    assert_eq!(fixture.indexes.load(sealed.id, 4).unwrap().documents.len(), 4);
    let runs = fixture.indexes.runs(sealed.id, 4).unwrap();
    assert_eq!(runs.iter().map(Run::records).sum::<u64>(), 4);
}

#[test]
fn a_new_epoch_takes_the_place_of_the_old_index_only_when_it_is_sealed() {
    let fixture = Fixture::new();
    let mut writer = fixture.writer(7);
    push(&mut writer, 1..=1);
    writer.seal(1, &root(1..=1)).unwrap();
    let old = fixture.indexes.sealed(&key()).unwrap().unwrap().id;
    let mut writer = fixture.writer(8);
    assert_eq!(writer.committed_sequence(), 0);
    push(&mut writer, 1..=2);
    writer.commit().unwrap();
    assert_eq!(fixture.indexes.sealed(&key()).unwrap().unwrap().id, old);
    writer.seal(2, &root(1..=2)).unwrap();
    let new = fixture.indexes.sealed(&key()).unwrap().unwrap().id;
    assert_ne!(new, old);
    assert!(fixture.store.index(old).unwrap().is_none());
    assert!(!fixture.indexes.segment_path(old).try_exists().unwrap());
}

#[test]
fn only_one_push_writes_an_index_at_a_time() {
    let fixture = Fixture::new();
    let first = fixture.writer(7);
    assert!(matches!(fixture.indexes.writer(key(), 7, &method()), Err(Error::Busy(_))));
    drop(first);
    fixture.writer(7);
}

#[test]
fn a_seal_over_something_else_is_refused() {
    for (sequence, agreed) in [(2, root(1..=2)), (1, root(1..=2)), (3, root(1..=2))] {
        let fixture = Fixture::new();
        let mut writer = fixture.writer(7);
        push(&mut writer, 1..=1);
        assert!(writer.seal(sequence, &agreed).is_err(), "{sequence}");
        assert!(fixture.indexes.sealed(&key()).unwrap().is_none());
    }
}

#[test]
fn a_damaged_segment_is_set_aside_and_the_site_is_told_that_nothing_is_here() {
    let fixture = Fixture::new();
    let mut writer = fixture.writer(7);
    push(&mut writer, 1..=3);
    writer.seal(3, &root(1..=3)).unwrap();
    let path = fixture.segment();
    let fixture = fixture.restart();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[50] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let writer = fixture.writer(7);
    assert_eq!(writer.committed_sequence(), 0);
    assert!(path.with_extension("damaged").try_exists().unwrap());
    assert!(fixture.indexes.sealed(&key()).unwrap().is_none());
}

#[test]
fn many_small_syncs_leave_few_runs() {
    let fixture = Fixture::new();
    for last in 1..=5 {
        let mut writer = fixture.writer(7);
        push(&mut writer, last..=last);
        writer.seal(last.into(), &root(1..=last)).unwrap();
    }
    let sealed = fixture.indexes.sealed(&key()).unwrap().unwrap();
    let runs = fixture.indexes.runs(sealed.id, sealed.sequence).unwrap();
    assert_eq!(runs.iter().map(Run::records).collect::<Vec<_>>(), [5]);
    let files = |fixture: &Fixture| std::fs::read_dir(fixture.folder.path().join("indexes")).unwrap().count();
    assert!(files(&fixture) > 2);
    assert_eq!(files(&fixture.restart()), 2);
}

#[test]
fn a_body_that_is_not_what_its_digest_says_is_refused() {
    let fixture = Fixture::new();
    let (body, _, _) = batch(1);
    let error = fixture.writer(7).batch(1, &[0; 16], &body).unwrap_err();
    assert!(matches!(error, Error::Invalid(_)), "{error}");
}
