//! The cache on a real disk: restarts, damage, locks, and rows inside of documents.

use cognate_disk_faults::{Disk, Fault, Operation, errors, inject};
use cognate_fingerprint::{Content, ContentDigest, MethodId, WindowSample};
use cognate_proto::batch::DocumentState;
use cognate_proto::v1::FileClass;

use super::open::SCHEMA;
use super::*;
use crate::records::file_hashes::FileHashes;
use crate::records::stamp::Stamp;

/// Opens a cache that this process has just closed. Threads of sled have its lock until they are through with their last work, which
/// takes seconds where the processors are busy: so the time counts, and not how often it was tried.
fn open_again(folder: &Path) -> Result<Cache, SiteError> {
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    loop {
        match Cache::open(folder) {
            Err(SiteError::Locked { .. }) if std::time::Instant::now() < until => std::thread::yield_now(),
            opened => return opened,
        }
    }
}

fn known() -> KnownDocument {
    KnownDocument {
        stamp: Stamp { length_bytes: 5, modified_ns: -7, changed_ns: 8, inode: 9 },
        class: FileClass::Pdf,
        candidate: cognate_view::Candidate::Document,
        bytes_digest: None,
        hashes: FileHashes::from_bytes(&[0; 17]).unwrap(),
        results: vec![MethodResult { method_id: MethodId([1; 16]), own: part(3), inside: 0, recognition: None }],
    }
}

fn part(file: u64) -> StoredPart {
    let content = Content { size_bytes: 5, chunk_count: 1, digest: ContentDigest([2; 16]), sample: WindowSample::NONE };
    let location = Location { file, offset: 4, length_bytes: 5 };
    StoredPart { state: DocumentState::Read, list: Some((content, location)), message_id_hash: None }
}

fn set(path: &DocumentPath, known: Option<KnownDocument>) -> [Change; 1] {
    [Change { path: path.clone(), known, inside: None }]
}

#[test]
fn the_next_process_knows_every_remembered_document() {
    let folder = tempfile::tempdir().unwrap();
    let (repository, path) = (RepositoryName::main(), DocumentPath::new(b"a/b").unwrap());
    let cache = Cache::open(&folder.path().join("db")).unwrap();
    cache.apply(&repository, &set(&path, Some(known())));
    let last = LastSync { documents: 12, files: 13, seconds: -14, root: (15, 16) };
    cache.finish_sync(&repository, Some(last));
    drop(cache);
    let cache = open_again(&folder.path().join("db")).unwrap();
    assert_eq!(cache.get(&repository, &path), Some(known()));
    assert_eq!(cache.get(&"other".parse().unwrap(), &path), None);
    assert_eq!(cache.last_sync(&repository), last);
    cache.apply(&repository, &set(&path, None));
    assert_eq!(cache.get(&repository, &path), None);
}

/// The documents inside of a document; none if not all of them are stored.
fn stored_inside(
    cache: &Cache,
    repository: &RepositoryName,
    path: &DocumentPath,
    result: &MethodResult,
) -> Option<Vec<(DocumentPath, StoredPart)>> {
    let mut found = Vec::new();
    let is_complete = cache.each_inside(repository, path, result, |path, part| {
        found.push((path, part));
        true
    });
    is_complete.then_some(found)
}

#[test]
fn any_number_of_documents_inside_of_a_document_are_written_and_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path()).unwrap();
    let (repository, path) = (RepositoryName::main(), DocumentPath::new(b"a.zip").unwrap());
    let method_id = MethodId([7; 16]);
    let count = u32::try_from(2 * ROWS_PER_WRITE * PARTS_PER_ROW + 3).unwrap();
    let name = |number: u32| DocumentPath::new(format!("a.zip!/{number}").as_bytes()).unwrap();
    let many: Vec<_> = (0..count).map(|number| (name(number), part(u64::from(number)))).collect();
    let container = StoredPart { state: DocumentState::Container, list: None, message_id_hash: None };
    let result = MethodResult { method_id, own: container, inside: count, recognition: None };
    let known = KnownDocument { results: vec![result.clone()], ..known() };
    let change = Change { path: path.clone(), known: Some(known), inside: Some((method_id, many.clone())) };
    cache.apply(&repository, &[change]);
    assert_eq!(stored_inside(&cache, &repository, &path, &result), Some(many));
    let mut handed_over = 0;
    assert!(cache.each_inside(&repository, &path, &result, |_, _| {
        handed_over += 1;
        handed_over < 5
    }));
    assert_eq!(handed_over, 5);
    // A stop before the row of the document left rows of more documents than there are now.
    cache.trees.documents.clear().unwrap();
    let fewer = MethodResult { inside: 3, ..result };
    let known = KnownDocument { results: vec![fewer.clone()], ..self::known() };
    let few: Vec<_> = (0..3).map(|number| (name(number), part(u64::from(number)))).collect();
    cache.apply(
        &repository,
        &[Change { path: path.clone(), known: Some(known), inside: Some((method_id, few.clone())) }],
    );
    assert_eq!(stored_inside(&cache, &repository, &path, &fewer), Some(few));
    cache.apply(&repository, &set(&path, None));
    assert_eq!(cache.trees.inside.len(), 0);
}

#[test]
fn the_documents_inside_of_a_document_are_stored_as_long_as_the_document() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path()).unwrap();
    let (repository, path) = (RepositoryName::main(), DocumentPath::new(b"a.zip").unwrap());
    let method_id = MethodId([7; 16]);
    let at = |path: &str| DocumentPath::new(path.as_bytes()).unwrap();
    let failed = StoredPart { state: DocumentState::Damaged, list: None, message_id_hash: Some([1; 16]) };
    let inside = vec![(at("a.zip!/x"), part(1)), (at("a.zip!/y/z"), failed.clone())];
    let container = StoredPart { state: DocumentState::Container, list: None, message_id_hash: None };
    let result = MethodResult { method_id, own: container, inside: 2, recognition: None };
    let known = KnownDocument { bytes_digest: Some([9; 16]), results: vec![result.clone()], ..known() };
    let change = Change { path: path.clone(), known: Some(known.clone()), inside: Some((method_id, inside.clone())) };
    cache.apply(&repository, &[change]);
    assert_eq!(cache.get(&repository, &path), Some(known));
    assert_eq!(stored_inside(&cache, &repository, &path, &result), Some(inside));
    let neighbour = DocumentPath::new(b"a.zi").unwrap();
    assert_eq!(stored_inside(&cache, &repository, &neighbour, &result), None);
    cache.rewrite(|location| Ok(ListMove::To(Location { offset: 40, ..location }))).unwrap();
    let moved = stored_inside(&cache, &repository, &path, &result).unwrap();
    assert_eq!(moved[0].1.list.as_ref().unwrap().1.offset, 40);
    assert_eq!(moved[1].1, failed);
    cache.rewrite(|_| Ok(ListMove::Gone)).unwrap();
    assert_eq!(stored_inside(&cache, &repository, &path, &result), None);
    cache.apply(&repository, &set(&path, None));
    assert_eq!(cache.trees.inside.len(), 0);
}

#[test]
fn a_second_process_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let _first = Cache::open(&folder.path().join("db")).unwrap();
    assert!(matches!(Cache::open(&folder.path().join("db")), Err(SiteError::Locked { .. })));
}

#[test]
fn a_damaged_cache_is_moved_aside_and_an_empty_one_takes_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let cache = Cache::open(&path).unwrap();
    cache.finish_sync(&RepositoryName::main(), Some(LastSync { documents: 1, files: 1, seconds: 1, root: (1, 1) }));
    drop(cache);
    std::fs::write(path.join("conf"), b"not a file of sled").unwrap();
    let cache = open_again(&path).unwrap();
    assert_eq!(cache.last_sync(&RepositoryName::main()), LastSync::default());
    assert!(folder.path().join("db.damaged-1").try_exists().unwrap());
}

#[test]
fn a_cache_of_another_version_is_refused_and_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path()).unwrap();
    cache.insert(&Key::Schema, &(SCHEMA + 1)).unwrap();
    cache.trees.db.flush().unwrap();
    drop(cache);
    assert!(matches!(open_again(folder.path()), Err(SiteError::OtherVersion { found: 2, known: 1, .. })));
}

#[test]
fn a_cache_whose_disk_syncs_nothing_any_more_closes_without_a_panic() {
    // From whichever call on: the very last one as well.
    for number in 1.. {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(&folder.path().join("cache")).unwrap();
        let path = DocumentPath::new(b"a").unwrap();
        cache.apply(&RepositoryName::main(), &[Change { path, known: Some(known()), inside: None }]);
        let files = errors::below(folder.path(), "cache/db");
        let injection = inject(Fault { operation: Operation::Sync, files, number, error: 122, disk: Disk::StaysSo });
        let closed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(cache)));
        assert!(closed.is_ok(), "{number}");
        if injection.fired() == 0 {
            assert!(number > 1, "no call failed");
            break;
        }
    }
}
