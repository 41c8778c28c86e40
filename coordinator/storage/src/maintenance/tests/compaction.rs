//! Segments that are compacted while sites push.

use super::*;

#[test]
fn after_five_hundred_syncs_of_a_changing_tree_the_disk_holds_at_most_twice_what_is_live() {
    let worn = Fixture::fast();
    let mut site = Site::new("a", 300);
    site.sync(&worn.indexes);
    let mut greatest: f64 = 0.0;
    for day in 1..=500 {
        site.live_a_day(day);
        site.sync(&worn.indexes);
        worn.indexes.collect().unwrap();
        let space = worn.indexes.space().unwrap();
        let (bytes, live) = (space.segments.bytes, space.segments.live_bytes);
        greatest = greatest.max(bytes as f64 / live as f64);
    }
    assert_eq!(site.restarts, 0);
    let fresh = Fixture::fast();
    Site { tree: site.tree.clone(), ..Site::new("a", 0) }.sync(&fresh.indexes);
    let [worn_bytes, fresh_bytes] = [&worn, &fresh].map(|fixture| bytes_below(&fixture.folder.path().join("indexes")));
    println!(
        "after 500 syncs: {worn_bytes} bytes; the same tree pushed once: {fresh_bytes}; at most {greatest:.2} of live"
    );
    assert!(worn_bytes <= 2 * fresh_bytes, "{worn_bytes} against {fresh_bytes}");
    assert!(greatest <= 2.1, "{greatest}");
    let [worn_all, fresh_all] = [&worn, &fresh].map(|fixture| bytes_below(fixture.folder.path()));
    println!("with sled and the journal: {worn_all} and {fresh_all}");
    // The contents of the worn one are the tree, and a restart finds the same.
    let sealed = worn.indexes.sealed(&site.key()).unwrap().unwrap();
    let index = worn.indexes.load(sealed.id, sealed.sequence).unwrap();
    assert_eq!(index.documents.len(), site.tree.len());
    let (before, before_postings) = (rows(&worn), postings(&worn, &site));
    let worn = worn.restart();
    assert_eq!(rows(&worn), before);
    assert_eq!(postings(&worn, &site), before_postings);
    site.live_a_day(501);
    site.sync(&worn.indexes);
    assert_eq!(site.restarts, 0);
    postings(&worn, &site);
}

#[test]
fn a_document_that_takes_a_dropped_content_again_makes_the_site_restart_the_index_and_nothing_is_wrong() {
    let fixture = Fixture::fast();
    let mut site = Site::new("a", 300);
    let first = site.tree.clone();
    site.sync(&fixture.indexes);
    for day in 1..=40 {
        site.live_a_day(day);
        site.sync(&fixture.indexes);
    }
    site.tree = first;
    site.sync(&fixture.indexes);
    assert_eq!(site.restarts, 1);
    let sealed = fixture.indexes.sealed(&site.key()).unwrap().unwrap();
    let index = fixture.indexes.load(sealed.id, sealed.sequence).unwrap();
    assert_eq!((index.root(), index.documents.len()), (site.root, 300));
    fixture.indexes.collect().unwrap();
    assert_eq!(fixture.indexes.all().unwrap().len(), 1);
}

#[test]
fn the_summary_of_a_sync_after_a_compaction_goes_to_the_new_segment() {
    let fixture = Fixture::fast();
    let mut site = Site::new("a", 300);
    site.sync(&fixture.indexes);
    let first = fixture.indexes.sealed(&site.key()).unwrap().unwrap().id;
    for day in 1..=40 {
        site.live_a_day(day);
        site.sync(&fixture.indexes);
    }
    let now = fixture.indexes.sealed(&site.key()).unwrap().unwrap().id;
    assert!(now.0 > first.0 && fixture.store.index(first).unwrap().is_none());
    let skipped = vec![v1::SkippedCount { reason: 2, entries: 9 }];
    let summary = v1::SyncSummary { skipped, ..v1::SyncSummary::default() };
    fixture.indexes.put_summary(first, &summary).unwrap();
    let fixture = fixture.restart();
    assert_eq!(fixture.indexes.summary(now).unwrap(), summary);
}

#[test]
fn a_compacted_segment_that_is_damaged_before_its_seal_is_quarantined_when_the_store_is_rebuilt() {
    let fixture = Fixture::fast();
    let mut site = Site::new("a", 300);
    site.sync(&fixture.indexes);
    for day in 1..=40 {
        site.live_a_day(day);
        site.push(&fixture.indexes);
    }
    assert!(fixture.indexes.compact(&site.key()).unwrap());
    fixture.indexes.collect().unwrap();
    let id = fixture.indexes.sealed(&site.key()).unwrap().unwrap().id;
    let folder = fixture.close();
    let path = folder.path().join(format!("indexes/{}.seg", id.0));
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    std::fs::remove_dir_all(folder.path().join("store")).unwrap();
    let fixture = Fixture::at(folder, false);
    assert!(path.with_extension("damaged").try_exists().unwrap() && fixture.indexes.all().unwrap().is_empty());
    site.sync(&fixture.indexes);
    assert_eq!(site.restarts, 1);
    assert!(fixture.indexes.sealed(&site.key()).unwrap().is_some());
}

#[test]
fn the_summary_of_a_sync_during_a_compaction_is_included_and_pushes_wait() {
    let fixture = Fixture::fast();
    let mut site = Site::new("a", 300);
    site.sync(&fixture.indexes);
    let id = fixture.indexes.sealed(&site.key()).unwrap().unwrap().id;
    for day in 1..=40 {
        site.live_a_day(day);
        site.push(&fixture.indexes);
    }
    assert_eq!(fixture.indexes.sealed(&site.key()).unwrap().unwrap().id, id);
    // A summary arrives during a push: the next holder of the index writes it.
    let skipped = vec![v1::SkippedCount { reason: 2, entries: 9 }];
    let summary = v1::SyncSummary { skipped, ..v1::SyncSummary::default() };
    let writer = fixture.indexes.writer(site.key(), 1, &method()).unwrap();
    fixture.indexes.put_summary(id, &summary).unwrap();
    drop(writer);
    std::thread::scope(|scope| {
        let tidying = scope.spawn(|| fixture.indexes.compact(&site.key()).unwrap());
        // Before, during or after: a push is never refused because of it.
        for _ in 0..50 {
            match fixture.indexes.writer(site.key(), 1, &method()) {
                Ok(writer) => assert_eq!(writer.committed_sequence(), site.sequence),
                Err(error) => panic!("{error}"),
            }
        }
        let _ = tidying.join().unwrap();
    });
    fixture.indexes.compact(&site.key()).unwrap();
    let now = fixture.indexes.sealed(&site.key()).unwrap().unwrap().id;
    assert_ne!(now, id);
    assert_eq!(fixture.restart().indexes.summary(now).unwrap(), summary);
}
