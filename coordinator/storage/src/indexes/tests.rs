use cognate_fingerprint::MethodId;

use cognate_proto::name::RepositoryName;
use cognate_similarity::Run;

use crate::harness::{batch, method, opened_again, push, root};
use crate::store::SlotRow;

use super::*;

/// An open state.
pub(crate) struct Fixture {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) indexes: Arc<Indexes>,
    pub(crate) store: Arc<Store>,
    durable: bool,
}

pub(crate) fn key() -> SlotKey {
    SlotKey {
        site: "a".parse().unwrap(),
        repository: RepositoryName::main(),
        method_id: MethodId([1; 16]),
        scope: None,
    }
}

pub(crate) fn config() -> IndexesConfig {
    IndexesConfig {
        durable: true,
        clock: || std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_800_000_000),
        disk_reserve_bytes: 0,
        quotas: SiteQuotas::default(),
    }
}

impl Fixture {
    pub(crate) fn new() -> Fixture {
        Fixture::at(tempfile::tempdir().unwrap(), true)
    }

    /// One that does not wait for the disk.
    pub(crate) fn fast() -> Fixture {
        Fixture::at(tempfile::tempdir().unwrap(), false)
    }

    pub(crate) fn at(folder: tempfile::TempDir, durable: bool) -> Fixture {
        let config = IndexesConfig { durable, ..config() };
        let (store, indexes) = opened_again(|| crate::maintenance::open(folder.path(), config)).unwrap();
        Fixture { folder, indexes, store, durable }
    }

    /// Closes everything, as at the end of the process.
    pub(crate) fn close(self) -> tempfile::TempDir {
        let Fixture { folder, indexes, store, .. } = self;
        drop((indexes, store));
        // sled may let go of its lock a moment later, from another thread.
        if let Ok(lock) = std::fs::File::open(folder.path().join("store/db")) {
            while lock.try_lock().is_err() {
                std::thread::yield_now();
            }
        }
        folder
    }

    /// Opens everything again, as after a crash: what was not committed is gone.
    pub(crate) fn restart(self) -> Fixture {
        let durable = self.durable;
        Fixture::at(self.close(), durable)
    }

    pub(crate) fn writer(&self, epoch: u64) -> IndexWriter {
        self.indexes.writer(key(), epoch, &method()).unwrap()
    }

    fn segment(&self) -> PathBuf {
        self.indexes.segment_path(self.indexes.sealed(&key()).unwrap().unwrap().id)
    }
}

#[test]
fn what_was_committed_is_there_after_a_crash_and_what_was_not_is_sent_again() {
    let fixture = Fixture::new();
    let mut writer = fixture.writer(7);
    push(&mut writer, 1..=2);
    assert_eq!(writer.commit().unwrap(), 2);
    push(&mut writer, 3..=3);
    let (path, row) = (fixture.indexes.segment_path(writer.id), writer.row.clone());
    drop(writer);
    // The third was only just being written.
    let length = std::fs::metadata(&path).unwrap().len();
    assert!(length > row.segment_bytes);
    std::fs::File::options().write(true).open(&path).unwrap().set_len(length - 1).unwrap();
    let fixture = fixture.restart();
    let mut writer = fixture.writer(7);
    assert_eq!((writer.committed_sequence(), writer.root().to_bytes()), (2, root(1..=2)));
    push(&mut writer, 2..=4);
    writer.seal(4, &root(1..=4)).unwrap();
    let sealed = fixture.indexes.sealed(&key()).unwrap().unwrap();
    let fixture = fixture.restart();
    assert_eq!(fixture.indexes.load(sealed.id, 4).unwrap().documents.len(), 4);
    let (runs, _) = fixture.indexes.runs(sealed.id, 4).unwrap();
    assert_eq!(runs.iter().map(Run::records).sum::<u64>(), 4);
}

#[test]
fn complete_records_of_a_segment_are_adopted_after_a_crash_before_the_row() {
    let fixture = Fixture::new();
    let mut writer = fixture.writer(7);
    push(&mut writer, 1..=2);
    writer.commit().unwrap();
    let (id, before) = (writer.id, writer.row.clone());
    push(&mut writer, 3..=3);
    writer.seal(3, &root(1..=3)).unwrap();
    let sealed = fixture.store.index(id).unwrap().unwrap();
    // The row and the slot as they were before.
    fixture.store.put_index(id, &before).unwrap();
    fixture.store.put_slot(&key(), &SlotRow { current: 0, pending: id.0 }).unwrap();
    let fixture = fixture.restart();
    let found = fixture.store.index(id).unwrap().unwrap();
    assert_eq!(comparable(&found), comparable(&sealed));
    assert_eq!(fixture.store.slot(&key()).unwrap(), SlotRow { current: id.0, pending: 0 });
    assert_eq!(fixture.indexes.runs(id, 3).unwrap().0.iter().map(Run::records).sum::<u64>(), 3);
}

/// A row without derived fields.
pub(crate) fn comparable(row: &IndexRow) -> IndexRow {
    IndexRow { runs: vec![], live_bytes: 0, measured_bytes: 0, measured_weight: 0, ..row.clone() }
}

#[test]
fn a_push_that_goes_on_after_a_crash_puts_no_posting_into_two_runs() {
    let fixture = Fixture::new();
    let mut writer = fixture.writer(7);
    push(&mut writer, 1..=2);
    writer.commit().unwrap();
    let (id, before) = (writer.id, writer.row.clone());
    push(&mut writer, 3..=3);
    writer.commit().unwrap();
    drop(writer);
    // The row as it was before: the segment is taken over, and its postings are in a run though nothing is sealed.
    fixture.store.put_index(id, &before).unwrap();
    let fixture = fixture.restart();
    assert_eq!(ordinals(&fixture, id, 3), [0, 1, 2]);
    let mut writer = fixture.writer(7);
    assert_eq!(writer.committed_sequence(), 3);
    push(&mut writer, 4..=4);
    writer.seal(4, &root(1..=4)).unwrap();
    assert_eq!(ordinals(&fixture, id, 4), [0, 1, 2, 3]);
    // The same between two syncs, where the index is not in memory any more.
    let fixture = fixture.restart();
    let mut writer = fixture.writer(7);
    push(&mut writer, 5..=5);
    writer.seal(5, &root(1..=5)).unwrap();
    assert_eq!(ordinals(&fixture, id, 5), [0, 1, 2, 3, 4]);
}

/// The ordinals of all postings, ascending: batches of the harness have one each.
fn ordinals(fixture: &Fixture, id: IndexId, sequence: u64) -> Vec<u32> {
    let mut ordinals = Vec::new();
    for run in &fixture.indexes.runs(id, sequence).unwrap().0 {
        super::runs::read_run(run, |record| ordinals.push(record.ordinal)).unwrap();
    }
    ordinals.sort_unstable();
    ordinals
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
    fixture.indexes.collect().unwrap();
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
fn a_damaged_segment_is_quarantined_and_the_site_learns_that_nothing_is_here() {
    let fixture = Fixture::new();
    let mut writer = fixture.writer(7);
    push(&mut writer, 1..=3);
    writer.seal(3, &root(1..=3)).unwrap();
    let path = fixture.segment();
    let fixture = fixture.restart();
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last - 300] ^= 1;
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
    let (runs, _) = fixture.indexes.runs(sealed.id, sealed.sequence).unwrap();
    assert_eq!(runs.iter().map(Run::records).collect::<Vec<_>>(), [5]);
    let files = |fixture: &Fixture| std::fs::read_dir(fixture.folder.path().join("indexes")).unwrap().count();
    assert!(files(&fixture) > 2);
    fixture.indexes.collect().unwrap();
    assert_eq!(files(&fixture), 2);
}

#[test]
fn a_body_that_is_not_what_its_digest_says_is_refused() {
    let fixture = Fixture::new();
    let (body, _, _) = batch(1);
    let error = fixture.writer(7).batch(1, &[0; 16], &body).unwrap_err();
    assert!(matches!(error, Error::Invalid(_)), "{error}");
}

#[test]
fn what_was_received_is_counted_once_and_chained() {
    let fixture = Fixture::new();
    let mut writer = fixture.writer(7);
    push(&mut writer, 1..=3);
    push(&mut writer, 2..=3);
    let received = writer.seal(3, &root(1..=3)).unwrap();
    let (mut head, mut body_bytes) = ([0; 32], 0);
    for number in 1..=3 {
        let (body, digest, _) = batch(number);
        head = *blake3::hash(&[&head[..], &digest].concat()).as_bytes();
        body_bytes += body.len() as u64;
    }
    assert_eq!((received.batches, received.body_bytes, received.epoch), (3, body_bytes, 7));
    assert_eq!(received.head, head);
    let site = key().site;
    assert_eq!(fixture.indexes.received(&site).unwrap(), std::slice::from_ref(&received));
    assert_eq!(fixture.restart().indexes.received(&site).unwrap(), [received]);
}

#[test]
fn the_summary_of_a_sync_is_in_the_segment() {
    let fixture = Fixture::new();
    let mut writer = fixture.writer(7);
    push(&mut writer, 1..=1);
    writer.seal(1, &root(1..=1)).unwrap();
    let id = fixture.indexes.sealed(&key()).unwrap().unwrap().id;
    let summary =
        |entries| SyncSummary { skipped: vec![v1::SkippedCount { reason: 1, entries }], ..SyncSummary::default() };
    fixture.indexes.put_summary(id, &summary(3)).unwrap();
    // While somebody writes, it waits for them.
    let mut writer = fixture.writer(7);
    fixture.indexes.put_summary(id, &summary(4)).unwrap();
    assert_eq!(fixture.indexes.summary(id).unwrap(), summary(4));
    push(&mut writer, 2..=2);
    writer.seal(2, &root(1..=2)).unwrap();
    // After a push that was cut off, the next seal takes it along.
    let mut writer = fixture.writer(7);
    push(&mut writer, 3..=3);
    writer.commit().unwrap();
    drop(writer);
    fixture.indexes.put_summary(id, &summary(5)).unwrap();
    assert_eq!(fixture.indexes.load(id, 2).unwrap().sequence(), 2);
    let writer = fixture.writer(7);
    assert_eq!(writer.committed_sequence(), 3);
    writer.seal(3, &root(1..=3)).unwrap();
    fixture.store.remove_index(id).unwrap();
    let fixture = fixture.restart();
    assert_eq!(fixture.indexes.summary(id).unwrap(), summary(5));
}

#[test]
fn a_scan_that_froze_an_index_finds_its_postings_though_it_has_grown_since() {
    let fixture = Fixture::new();
    let mut writer = fixture.writer(7);
    push(&mut writer, 1..=2);
    writer.seal(2, &root(1..=2)).unwrap();
    let id = fixture.indexes.sealed(&key()).unwrap().unwrap().id;
    let mut writer = fixture.writer(7);
    push(&mut writer, 3..=3);
    writer.seal(3, &root(1..=3)).unwrap();
    let frozen = fixture.indexes.load(id, 2).unwrap();
    let (runs, ordinals) = fixture.indexes.runs(id, 2).unwrap();
    let mut postings = 0;
    for run in &runs {
        super::runs::read_run(run, |record| {
            assert!(record.ordinal < ordinals);
            postings += u32::from(record.ordinal < frozen.ordinals());
        })
        .unwrap();
    }
    assert_eq!((frozen.documents.len(), postings), (2, 2));
}

/// The same indexes under other limits.
fn limited(fixture: &Fixture, quotas: SiteQuotas, disk_reserve_bytes: u64) -> Arc<Indexes> {
    let config = IndexesConfig { quotas, disk_reserve_bytes, ..config() };
    let store = Arc::clone(&fixture.store);
    Arc::new(Indexes::open(store, &fixture.folder.path().join("indexes"), config).unwrap())
}

#[test]
fn nothing_is_stored_into_the_reserve_and_pushes_continue_when_there_is_space() {
    let fixture = Fixture::new();
    let (body, digest, _) = batch(1);
    let mut writer = limited(&fixture, SiteQuotas::default(), u64::MAX / 2).writer(key(), 7, &method()).unwrap();
    let error = writer.batch(1, &digest, &body).unwrap_err();
    assert!(matches!(error, Error::Full(_)), "{error}");
    assert_eq!(error.kind(), crate::ErrorKind::Exhausted);
    assert_eq!(writer.commit().unwrap(), 0);
    drop(writer);
    let mut writer = limited(&fixture, SiteQuotas::default(), 1).writer(key(), 7, &method()).unwrap();
    assert!(writer.batch(1, &digest, &body).unwrap().is_ok());
    assert_eq!(writer.commit().unwrap(), 1);
}

#[test]
fn a_site_has_no_more_than_its_quotas_over_all_its_indexes_and_others_are_not_held_up() {
    let none = SiteQuotas::default();
    let two_batches = {
        let fixture = Fixture::new();
        let mut writer = fixture.writer(7);
        push(&mut writer, 1..=2);
        writer.commit().unwrap();
        writer.row.segment_bytes
    };
    for (quotas, setting, quota) in [
        (SiteQuotas { documents: Some(2), ..none }, "site_documents", "2 documents"),
        (SiteQuotas { contents: Some(2), ..none }, "site_contents", "2 contents"),
        (SiteQuotas { name_bytes: Some(2), ..none }, "site_names", "2 bytes of names"),
        (SiteQuotas { bytes: Some(two_batches), ..none }, "site_quota", "bytes of manifests"),
    ] {
        let fixture = Fixture::new();
        let indexes = limited(&fixture, quotas, 0);
        let writer = |site: &str, repository: &str, epoch| {
            let key = SlotKey { site: site.parse().unwrap(), repository: repository.parse().unwrap(), ..key() };
            indexes.writer(key, epoch, &method()).unwrap()
        };
        let take = |writer: &mut IndexWriter, number: u8| {
            let (body, digest, _) = batch(number);
            writer.batch(number.into(), &digest, &body).map(|taken| taken.unwrap())
        };
        let refused = |error: Error| {
            assert!(matches!(error, Error::Quota(_)), "{error}");
            assert_eq!(error.kind(), crate::ErrorKind::Precondition);
            let text = error.to_string();
            assert!(["`a`", quota, &format!("`{setting}`")].iter().all(|part| text.contains(part)), "{text}");
        };
        let mut first = writer("a", "main", 7);
        (1..=2).for_each(|number| take(&mut first, number).unwrap());
        refused(take(&mut first, 3).unwrap_err());
        assert_eq!(first.commit().unwrap(), 2, "{setting}");
        // Neither another repository of the site nor one that was being written at the same time has any more.
        let mut second = writer("a", "other", 8);
        refused(take(&mut second, 1).unwrap_err());
        drop((first, second));
        // An index that is begun again takes the place of the one before.
        let mut again = writer("a", "main", 9);
        (1..=2).for_each(|number| take(&mut again, number).unwrap());
        refused(take(&mut again, 3).unwrap_err());
        take(&mut writer("b", "main", 10), 1).unwrap();
    }
}

#[test]
fn two_pushes_of_a_site_at_once_share_its_quota() {
    let fixture = Fixture::new();
    let indexes = limited(&fixture, SiteQuotas { documents: Some(2), ..SiteQuotas::default() }, 0);
    let writer = |repository: &str| {
        indexes.writer(SlotKey { repository: repository.parse().unwrap(), ..key() }, 7, &method()).unwrap()
    };
    let (mut first, mut second) = (writer("one"), writer("two"));
    push(&mut first, 1..=2);
    first.commit().unwrap();
    // It began when there was room for it.
    let (body, digest, _) = batch(1);
    second.commit().unwrap();
    assert!(matches!(second.batch(1, &digest, &body), Err(Error::Quota(_))));
}

#[test]
fn a_push_sees_what_another_one_of_its_site_has_taken_since_while_it_goes_on_and_when_it_has_ended() {
    let refused_after = |has_ended: bool| {
        let fixture = Fixture::new();
        let indexes = limited(&fixture, SiteQuotas { documents: Some(3), ..SiteQuotas::default() }, 0);
        let writer = |repository: &str| {
            indexes.writer(SlotKey { repository: repository.parse().unwrap(), ..key() }, 7, &method()).unwrap()
        };
        let (mut first, mut second) = (writer("one"), writer("two"));
        push(&mut first, 1..=1);
        first.commit().unwrap();
        second.commit().unwrap();
        push(&mut first, 2..=3);
        first.commit().unwrap();
        let mut first = Some(first);
        if has_ended {
            first = None;
        }
        second.commit().unwrap();
        let (body, digest, _) = batch(1);
        let refused = matches!(second.batch(1, &digest, &body), Err(Error::Quota(_)));
        drop(first);
        refused
    };
    assert!(refused_after(false) && refused_after(true));
}

#[test]
fn a_push_counts_what_it_takes_in_and_writes_no_run_before_there_is_enough_for_one() {
    let fixture = Fixture::new();
    let mut writer = fixture.writer(7);
    let counts = |writer: &IndexWriter| {
        let writer::Counts { documents, contents, chunks } = writer.counts();
        (documents, contents, chunks)
    };
    push(&mut writer, 1..=1);
    let one = counts(&writer);
    assert!(one.0 > 0 && one.1 > 0 && one.2 > 0, "{one:?}");
    let bytes = |numbers: std::ops::RangeInclusive<u8>| numbers.map(|number| batch(number).0.len() as u64).sum::<u64>();
    assert_eq!(writer.uncommitted_bytes(), bytes(1..=1));
    push(&mut writer, 2..=3);
    assert_eq!(counts(&writer), (3 * one.0, 3 * one.1, 3 * one.2));
    assert_eq!(writer.uncommitted_bytes(), bytes(1..=3));
    // Taken in before: it counts once.
    push(&mut writer, 3..=3);
    assert_eq!((counts(&writer).0, writer.uncommitted_bytes()), (3 * one.0, bytes(1..=3)));
    writer.commit().unwrap();
    assert_eq!(writer.uncommitted_bytes(), 0);
    assert_eq!(fixture.store.index(writer.id()).unwrap().unwrap().runs.len(), 0);
    writer.seal(3, &root(1..=3)).unwrap();
    let row = fixture.indexes.sealed(&key()).unwrap().unwrap();
    assert_eq!(fixture.store.index(row.id).unwrap().unwrap().runs.len(), 1);
}

#[test]
fn an_index_that_did_not_change_stays_as_large_as_it_was_measured() {
    let fixture = Fixture::new();
    let mut writer = fixture.writer(7);
    push(&mut writer, 1..=4);
    writer.seal(4, &root(1..=4)).unwrap();
    let row = || fixture.store.index(fixture.indexes.sealed(&key()).unwrap().unwrap().id).unwrap().unwrap();
    let first = row();
    assert!(first.live_bytes > 0 && first.live_bytes == first.measured_bytes, "{first:?}");
    fixture.writer(7).seal(4, &root(1..=4)).unwrap();
    assert_eq!((row().live_bytes, row().measured_bytes), (first.live_bytes, first.measured_bytes));
}

#[test]
fn an_index_that_takes_too_much_memory_is_read_again_when_a_scan_needs_it() {
    let fixture = Fixture::new();
    let mut index = Index::default();
    let loaded = || lock(&fixture.indexes.loaded).len();
    for id in 1..=3 {
        fixture.indexes.keep_loaded(IndexId(id), Index::default());
    }
    assert_eq!(loaded(), 3);
    // A quarter of the bytes of paths is in memory.
    index.pretend_name_bytes(4 * (super::LOADED_BYTES_MAX + 1));
    fixture.indexes.keep_loaded(IndexId(4), index);
    assert_eq!(loaded(), 3, "the largest makes way");
}

#[test]
fn after_a_failure_to_sync_nothing_is_acknowledged_any_more() {
    let fixture = Fixture::new();
    let mut writer = fixture.writer(7);
    push(&mut writer, 1..=1);
    let failed = fixture.store.failed();
    assert!(failed.borrow().is_none());
    let source = std::io::Error::from_raw_os_error(5);
    let result: Result<(), Error> = Err(Error::Sync { path: "x".into(), source });
    fixture.store.watched(result).unwrap_err();
    assert!(failed.borrow().as_ref().is_some_and(|failure| failure.reason.contains('x') && !failure.is_bug));
    assert!(matches!(writer.commit(), Err(Error::Stopped(_))));
    assert!(fixture.indexes.writer(key(), 8, &method()).is_err());
}

#[test]
fn documents_inside_of_others_have_a_third_of_what_a_site_has_left_in_an_index_and_never_nothing() {
    let none = SiteQuotas::default();
    let inside = |quotas: SiteQuotas, documents, contents| {
        let beside = space::Held { bytes: 0, documents, contents, name_bytes: 100 };
        let InsideQuota { documents, path_bytes } = quotas.inside(&beside);
        (documents, path_bytes)
    };
    assert_eq!(inside(none, 5, 5), (None, None));
    let both = SiteQuotas { documents: Some(600), contents: Some(900), name_bytes: Some(400), ..none };
    assert_eq!(inside(both, 0, 0), (Some(200), Some(100)));
    assert_eq!(inside(both, 300, 0), (Some(100), Some(100)));
    assert_eq!(inside(both, 300, 840), (Some(20), Some(100)));
    assert_eq!(inside(both, 700, 0), (Some(1), Some(100)));
    assert_eq!(inside(SiteQuotas { contents: Some(9), ..none }, 0, 0), (Some(3), None));
}
