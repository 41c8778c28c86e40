use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use cognate_fingerprint::{Chunk, Content, ContentDigest, MethodId, Tag};
use cognate_proto::batch::{BatchBuilder, DocumentRow, DocumentState, body_digest};
use cognate_proto::name::{RepositoryName, SiteName};
use cognate_proto::path::DocumentPath;
use cognate_proto::root::{Root, RowHash};
use cognate_proto::v1::{self, ChunkTable};

use crate::error::Error;
use crate::indexes::Indexes;
use crate::indexes::tests::{Fixture, comparable, config, method};
use crate::journal::{Event, MemberName, What};
use crate::store::{IndexRow, SlotKey};

/// A worker with a tree in memory: it keeps of an index what the outbox keeps.
pub(super) struct Site {
    pub(super) name: SiteName,
    epoch: u64,
    sequence: u64,
    root: Root,
    documents: BTreeMap<String, u64>,
    contents: HashSet<u64>,
    /// The tree as it is now: each document has the content of this number.
    pub(super) tree: BTreeMap<String, u64>,
    restarts: u64,
}

/// The tag of a content's chunk: easy to find in a file.
pub(super) fn tag(content: u64, chunk: u64) -> Tag {
    let mut tag = [0; 16];
    tag.copy_from_slice(&blake3::hash(&[content.to_le_bytes(), chunk.to_le_bytes()].concat()).as_bytes()[..16]);
    Tag(tag)
}

fn content_of(number: u64) -> (Content, ChunkTable) {
    let mut table = ChunkTable::default();
    let chunks = 10 + number % 20;
    for chunk in 0..chunks {
        table.push(&Chunk { offset: 0, length_bytes: 1000, tag: tag(number, chunk), repeated_byte: false });
    }
    let mut digest = [7; 16];
    digest[..8].copy_from_slice(&number.to_le_bytes());
    (Content { size_bytes: 1000 * chunks, chunk_count: chunks, digest: ContentDigest(digest) }, table)
}

fn row_of(path: &str, content: Option<u64>) -> DocumentRow {
    DocumentRow {
        path: DocumentPath::new(path.as_bytes()).unwrap(),
        state: if content.is_some() { DocumentState::Read } else { DocumentState::Removed },
        content: content.map(|number| content_of(number).0.digest),
        modified: 0,
        message_id_hash: None,
    }
}

impl Site {
    pub(super) fn new(name: &str, documents: u64) -> Site {
        let tree = (0..documents).map(|number| (format!("folder {}/{number}", number % 7), number)).collect();
        Site {
            name: name.parse().unwrap(),
            epoch: 1,
            sequence: 0,
            root: Root::default(),
            documents: BTreeMap::new(),
            contents: HashSet::new(),
            tree,
            restarts: 0,
        }
    }

    pub(super) fn key(&self) -> SlotKey {
        let (site, repository) = (self.name.clone(), RepositoryName::main());
        SlotKey { site, repository, method_id: MethodId([1; 16]), scope: None }
    }

    pub(super) fn sync(&mut self, indexes: &std::sync::Arc<Indexes>) {
        self.push(indexes);
        indexes.tidy(&self.key());
    }

    /// Brings the index level with the tree, a batch for every few documents.
    fn push(&mut self, indexes: &std::sync::Arc<Indexes>) {
        let mut writer = indexes.writer(self.key(), self.epoch, &method()).unwrap();
        if (writer.committed_sequence(), writer.root()) != (self.sequence, self.root) {
            drop(writer);
            return self.restart(indexes);
        }
        let before = std::mem::replace(&mut self.documents, self.tree.clone());
        let gone = before.keys().filter(|path| !self.tree.contains_key(*path)).map(|path| (path.clone(), None));
        let new = self.tree.iter().filter(|(path, content)| before.get(*path) != Some(content));
        let changes: Vec<_> = new.map(|(path, content)| (path.clone(), Some(*content))).chain(gone).collect();
        for some in changes.chunks(50) {
            let mut batch = BatchBuilder::default();
            for (path, content) in some {
                if let Some(content) = content.filter(|content| self.contents.insert(*content)) {
                    let (content, table) = content_of(content);
                    batch.content(&content, &table);
                    self.root.add(RowHash::of_content(content.digest, content.size_bytes, content.chunk_count));
                }
                if let Some(before) = before.get(path) {
                    self.root.remove(RowHash::of_document(&row_of(path, Some(*before))));
                }
                if content.is_some() {
                    self.root.add(RowHash::of_document(&row_of(path, *content)));
                }
                batch.document(row_of(path, *content));
            }
            self.sequence += 1;
            let (body, _) = batch.finish();
            if writer.batch(self.sequence, &body_digest(&body), &body).unwrap().is_err() {
                drop(writer);
                return self.restart(indexes);
            }
        }
        writer.seal(self.sequence, &self.root.to_bytes()).unwrap();
    }

    /// Begins the index anew, as a worker does whose coordinator has lost something.
    fn restart(&mut self, indexes: &std::sync::Arc<Indexes>) {
        let tree = std::mem::take(&mut self.tree);
        let name = self.name.to_string();
        *self = Site { tree, epoch: self.epoch + 1, restarts: self.restarts + 1, ..Site::new(&name, 0) };
        self.push(indexes);
    }

    /// Changes, adds and removes documents.
    fn live_a_day(&mut self, day: u64) {
        for number in 0..15 {
            let place = (day * 31 + number * 17) % 300;
            let path = format!("folder {}/{place}", place % 7);
            match number {
                0 => drop(self.tree.remove(&path)),
                _ => drop(self.tree.insert(path, 1000 + day * 20 + number)),
            }
        }
    }
}

fn bytes_below(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let bytes = entries.map(|entry| match entry.file_type().unwrap().is_dir() {
        true => bytes_below(&entry.path()),
        false => entry.metadata().unwrap().len(),
    });
    bytes.sum()
}

fn rows(fixture: &Fixture) -> Vec<(SlotKey, IndexRow)> {
    let all = fixture.indexes.all().unwrap();
    let mut rows: Vec<_> = all.into_iter().map(|(key, _, row)| (key, comparable(&row))).collect();
    rows.sort_by_key(|(key, _)| format!("{key:?}"));
    rows
}

fn postings(fixture: &Fixture, site: &Site) -> u64 {
    let sealed = fixture.indexes.sealed(&site.key()).unwrap().unwrap();
    let index = fixture.indexes.load(sealed.id, sealed.sequence).unwrap();
    let live: HashSet<_> = index.contents.values().map(|content| content.ordinal).collect();
    let mut postings = 0;
    for run in fixture.indexes.runs(sealed.id, sealed.sequence).unwrap().0 {
        crate::indexes::read_run(&run, |record| postings += u64::from(live.contains(&record.ordinal))).unwrap();
    }
    assert_eq!(postings, index.contents.values().map(|content| content.chunk_count).sum::<u64>());
    postings
}

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
    // What the worn one holds is the tree, and a restart finds the same.
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
}

#[test]
fn a_document_that_takes_a_dropped_content_again_makes_the_site_begin_anew_and_nothing_is_wrong() {
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
fn what_a_sync_tells_after_its_segment_was_put_together_anew_goes_to_the_new_one() {
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
fn a_compacted_segment_that_is_damaged_before_its_seal_is_set_aside_when_the_store_is_made_anew() {
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
fn what_a_sync_tells_while_its_segment_is_put_together_anew_is_taken_along_and_pushes_wait() {
    let fixture = Fixture::fast();
    let mut site = Site::new("a", 300);
    site.sync(&fixture.indexes);
    let id = fixture.indexes.sealed(&site.key()).unwrap().unwrap().id;
    for day in 1..=40 {
        site.live_a_day(day);
        site.push(&fixture.indexes);
    }
    assert_eq!(fixture.indexes.sealed(&site.key()).unwrap().unwrap().id, id);
    // Told while somebody pushes: whoever takes the index next takes it along.
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

/// A state with a registry, two sites, a scan and a push that was cut off.
fn lived_in() -> (Fixture, [Site; 2]) {
    let fixture = Fixture::fast();
    for (kind, name) in [(v1::MemberKind::Site, "a"), (v1::MemberKind::Site, "b"), (v1::MemberKind::Operator, "ann")] {
        let membership = v1::Membership { kind: kind.into(), name: name.into(), ..v1::Membership::default() };
        record(&fixture, What::Admitted(membership));
    }
    record(&fixture, What::Revoked(MemberName { kind: v1::MemberKind::Operator.into(), name: "ann".into() }));
    record(&fixture, What::Profile(v1::Profile { name: "weekly".into(), spec: None }));
    let mut sites = [Site::new("a", 40), Site::new("b", 60)];
    for (site, first_day) in sites.iter_mut().zip([1, 11]) {
        site.sync(&fixture.indexes);
        for day in first_day..first_day + 3 {
            site.live_a_day(day);
            site.sync(&fixture.indexes);
        }
    }
    // Another epoch of the first has only begun.
    let mut writer = fixture.indexes.writer(sites[0].key(), 99, &method()).unwrap();
    let (body, digest, _) = crate::indexes::tests::batch(1);
    assert!(writer.batch(1, &digest, &body).unwrap().is_ok());
    writer.commit().unwrap();
    drop(writer);
    (fixture, sites)
}

fn record(fixture: &Fixture, what: What) {
    fixture.store.record(&Event { time: 1, by: String::new(), what: Some(what) }).unwrap();
}

type Registry = (Vec<crate::store::MemberRow>, Vec<crate::store::MemberRow>, Vec<v1::Profile>);

fn registry(fixture: &Fixture) -> Registry {
    let store = &fixture.store;
    let members = |kind| store.members(kind).unwrap();
    (members(v1::MemberKind::Site), members(v1::MemberKind::Operator), store.profiles().unwrap())
}

fn copy_below(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        match entry.file_type().unwrap().is_dir() {
            true => copy_below(&entry.path(), &to.join(entry.file_name())),
            false => drop(std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

#[test]
fn however_the_store_is_damaged_the_registry_and_the_indexes_are_as_before() {
    let (fixture, sites) = lived_in();
    let expected = (registry(&fixture), rows(&fixture));
    let slots = |fixture: &Fixture| {
        let mut slots = fixture.store.slots().unwrap();
        slots.sort_by_key(|(key, _)| format!("{key:?}"));
        slots
    };
    let expected_slots = slots(&fixture);
    fixture.store.barrier().unwrap();
    let folder = fixture.close();
    let intact = folder.path().join("intact");
    copy_below(&folder.path().join("store"), &intact.join("store"));
    copy_below(&folder.path().join("indexes"), &intact.join("indexes"));
    std::fs::copy(folder.path().join("journal"), intact.join("journal")).unwrap();
    let mut rebuilt = 0;
    let mut check = |what: &str, damage: &dyn Fn(&Path)| {
        let state = tempfile::tempdir().unwrap();
        copy_below(&intact, state.path());
        damage(&state.path().join("store"));
        let fixture = Fixture::at(state, false);
        assert_eq!(registry(&fixture), expected.0, "{what}");
        assert_eq!(rows(&fixture), expected.1, "{what}");
        assert_eq!(slots(&fixture), expected_slots, "{what}");
        postings(&fixture, &sites[0]);
        let aside = std::fs::read_dir(fixture.folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        rebuilt += aside.filter(|name| name.to_string_lossy().starts_with("store.corrupt-")).count();
        let mut writer = fixture.indexes.writer(sites[1].key(), 5, &method()).unwrap();
        assert_eq!(writer.commit().unwrap(), 0);
    };
    check("gone", &|store| std::fs::remove_dir_all(store).unwrap());
    for file in files_below(&intact.join("store")) {
        let name = file.strip_prefix(intact.join("store")).unwrap().to_owned();
        let length = std::fs::metadata(&file).unwrap().len();
        let what = |damage: &str| format!("{} {damage}", name.display());
        check(&what("removed"), &|store| std::fs::remove_file(store.join(&name)).unwrap());
        for part in 0..4 {
            let cut = length * part / 4;
            check(&what(&format!("cut to {cut}")), &|store| {
                std::fs::File::options().write(true).open(store.join(&name)).unwrap().set_len(cut).unwrap();
            });
        }
        let bytes = std::fs::read(&file).unwrap();
        let written: Vec<usize> = (0..bytes.len()).filter(|place| bytes[*place] != 0).collect();
        for place in written.iter().step_by((written.len() / 12).max(1)) {
            check(&what(&format!("flipped at {place}")), &|store| {
                let mut damaged = bytes.clone();
                damaged[*place] ^= 0x10;
                std::fs::write(store.join(&name), damaged).unwrap();
            });
        }
    }
    assert!(rebuilt > 0);
}

#[test]
fn a_store_that_lags_behind_the_journal_or_the_segments_catches_up() {
    let (fixture, mut sites) = lived_in();
    fixture.store.barrier().unwrap();
    let old = tempfile::tempdir().unwrap();
    let folder = fixture.close();
    copy_below(&folder.path().join("store"), old.path());
    let fixture = Fixture::at(folder, false);
    record(&fixture, What::Revoked(MemberName { kind: v1::MemberKind::Site.into(), name: "b".into() }));
    sites[0].live_a_day(9);
    sites[0].sync(&fixture.indexes);
    let expected = (registry(&fixture), rows(&fixture));
    let folder = fixture.close();
    std::fs::remove_dir_all(folder.path().join("store")).unwrap();
    copy_below(old.path(), &folder.path().join("store"));
    let fixture = Fixture::at(folder, false);
    assert_eq!((registry(&fixture), rows(&fixture)), expected);
    sites[0].live_a_day(10);
    sites[0].sync(&fixture.indexes);
    assert_eq!(sites[0].restarts, 0);
}

#[test]
fn a_store_that_is_ahead_of_the_journal_is_made_anew_and_without_a_journal_it_is_refused() {
    let (fixture, _) = lived_in();
    let journal = fixture.folder.path().join("journal");
    let before = std::fs::read(&journal).unwrap();
    record(&fixture, What::ProfileRemoved("weekly".into()));
    let folder = fixture.close();
    std::fs::write(&journal, before).unwrap();
    let fixture = Fixture::at(folder, false);
    assert_eq!(fixture.store.profiles().unwrap().len(), 1);
    let folder = fixture.close();
    std::fs::remove_file(&journal).unwrap();
    for _ in 0..2 {
        let error = super::open(folder.path(), config()).map(drop).unwrap_err();
        assert!(matches!(&error, Error::Corrupt { path, .. } if path.ends_with("journal")), "{error}");
    }
}

#[test]
fn a_rebuild_that_was_asked_for_finds_the_same_and_keeps_what_only_the_store_knew() {
    let (fixture, mut sites) = lived_in();
    let seen = crate::store::SeenRow { generation: 5, ..Default::default() };
    fixture.store.put_seen(&sites[0].name, &seen).unwrap();
    let expected = (registry(&fixture), rows(&fixture));
    let clock = config().clock;
    assert!(matches!(super::rebuild(fixture.folder.path(), clock), Err(Error::Locked { .. })));
    let folder = fixture.close();
    let rebuilt = super::rebuild(folder.path(), clock).unwrap();
    assert_eq!((rebuilt.members, rebuilt.indexes), (3, 3));
    assert!(rebuilt.set_aside.unwrap().ends_with("store.before-rebuild-20270115T080000Z"));
    let fixture = Fixture::at(folder, false);
    assert_eq!((registry(&fixture), rows(&fixture)), expected);
    assert_eq!(fixture.store.seen(&sites[0].name).unwrap(), seen);
    sites[0].live_a_day(4);
    sites[0].sync(&fixture.indexes);
}

fn clock() -> std::time::SystemTime {
    (config().clock)()
}

fn checked(state: &Path) -> super::Checked {
    super::check(state, super::CheckOptions { read_data: true }).unwrap()
}

#[test]
fn a_sound_state_has_no_findings_and_every_damaged_segment_is_named_with_its_cure() {
    let (fixture, sites) = lived_in();
    // Beside a coordinator at work, all but its store is looked at.
    let beside = checked(fixture.folder.path());
    assert!(!beside.store && beside.findings.is_empty(), "{beside:?}");
    let sealed = fixture.indexes.sealed(&sites[1].key()).unwrap().unwrap();
    let folder = fixture.close();
    let sound = checked(folder.path());
    assert!(sound.store && sound.findings.is_empty(), "{sound:?}");
    assert!(sound.events > 0 && sound.batches > 0 && sound.runs > 0 && sound.segments == 3, "{sound:?}");
    let path = folder.path().join(format!("indexes/{}.seg", sealed.id.0));
    let intact = std::fs::read(&path).unwrap();
    for place in (0..intact.len()).step_by(intact.len() / 40) {
        let mut damaged = intact.clone();
        damaged[place] ^= 4;
        std::fs::write(&path, damaged).unwrap();
        let findings = checked(folder.path()).findings;
        assert!(
            findings.iter().any(|finding| finding.path == path && finding.problem.contains("at byte")),
            "{findings:?}"
        );
        assert!(findings.iter().any(|finding| finding.cure.contains("`b/main`")), "{findings:?}");
    }
    // Also where the store cannot say how much of it counts.
    let (store, away) = (folder.path().join("store"), folder.path().join("away"));
    std::fs::rename(&store, &away).unwrap();
    assert!(checked(folder.path()).findings.iter().any(|finding| finding.path == path));
    std::fs::rename(&away, &store).unwrap();
    std::fs::write(&path, intact).unwrap();
    let run = files_below(&folder.path().join("indexes")).into_iter().find(|path| path.extension().unwrap() == "run");
    let run = run.unwrap();
    let mut damaged = std::fs::read(&run).unwrap();
    let last = damaged.len() - 20;
    damaged[last] ^= 1;
    std::fs::write(&run, damaged).unwrap();
    let findings = checked(folder.path()).findings;
    assert!(matches!(&findings[..], [finding] if finding.path == run), "{findings:?}");
    // The store's word is held against the segments.
    let fixture = Fixture::at(folder, false);
    let mut row = fixture.store.index(sealed.id).unwrap().unwrap();
    row.head[0] ^= 1;
    fixture.store.put_index(sealed.id, &row).unwrap();
    let folder = fixture.close();
    let findings = checked(folder.path()).findings;
    assert!(findings.iter().any(|finding| finding.cure.contains("rebuild")), "{findings:?}");
}

#[test]
fn a_backup_made_while_sites_push_is_whole_and_a_restored_older_state_makes_sites_send_again() {
    let (fixture, mut sites) = lived_in();
    let state = fixture.folder.path();
    std::fs::create_dir(state.join("identity")).unwrap();
    std::fs::write(state.join("identity/ca.key"), "secret").unwrap();
    std::fs::write(state.join("identity/ca.crt"), "public").unwrap();
    std::fs::create_dir_all(state.join("scans/00ff")).unwrap();
    std::fs::write(state.join("scans/00ff/result.sqlite"), "a result").unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let (to, restored) = (elsewhere.path().join("backup"), elsewhere.path().join("state"));
    let options = super::BackupOptions { include_ca: false, clock };
    // One push is under way: what it has not committed may or may not be in it, but nothing is half there.
    let mut writer = fixture.indexes.writer(sites[0].key(), 99, &method()).unwrap();
    let (body, digest, _) = crate::indexes::tests::batch(2);
    assert!(writer.batch(2, &digest, &body).unwrap().is_ok());
    let saved = super::backup(state, &to, &options).unwrap();
    assert!(saved.damaged.is_empty() && saved.files == 6, "{saved:?}");
    assert!(!to.join("identity/ca.key").try_exists().unwrap() && to.join("identity/ca.crt").try_exists().unwrap());
    assert!(super::backup(state, &to, &options).is_err());
    drop(writer);
    let expected = (registry(&fixture), rows(&fixture));
    // The world goes on.
    for day in 20..22 {
        sites[1].live_a_day(day);
        sites[1].sync(&fixture.indexes);
    }
    drop(fixture);
    let rebuilt = super::restore(&to, &restored, clock).unwrap();
    assert_eq!((rebuilt.members, rebuilt.indexes), (3, 3));
    assert!(super::restore(&to, &restored, clock).unwrap_err().to_string().contains("not empty"));
    let (store, indexes) = super::open(&restored, config()).unwrap();
    let found = indexes.all().unwrap();
    assert_eq!(found.len(), expected.1.len());
    for (key, _, row) in found.iter().filter(|(.., row)| row.sealed) {
        assert!(expected.1.contains(&(key.clone(), comparable(row))));
    }
    assert_eq!(std::fs::read(restored.join("scans/00ff/result.sqlite")).unwrap(), b"a result");
    let highest = found.iter().map(|(_, id, _)| id.0).max().unwrap();
    assert!(store.next_index_id().unwrap().0 > highest + 1);
    // A worker that is further than the restored coordinator cannot go on in its own log here, and begins anew.
    sites[1].live_a_day(23);
    sites[1].sync(&indexes);
    assert_eq!(sites[1].restarts, 1);
    let sealed = indexes.sealed(&sites[1].key()).unwrap().unwrap();
    assert_eq!(indexes.load(sealed.id, sealed.sequence).unwrap().root(), sites[1].root);
    drop((store, indexes));
    let findings = checked(&restored).findings;
    assert!(findings.iter().all(|finding| finding.path.ends_with("result.sqlite")), "{findings:?}");
}

#[test]
fn a_backup_that_was_changed_is_refused_before_anything_is_written() {
    let (fixture, _) = lived_in();
    let elsewhere = tempfile::tempdir().unwrap();
    let (to, restored) = (elsewhere.path().join("backup"), elsewhere.path().join("state"));
    super::backup(fixture.folder.path(), &to, &super::BackupOptions { include_ca: false, clock }).unwrap();
    for path in files_below(&to) {
        let intact = std::fs::read(&path).unwrap();
        let mut damaged = intact.clone();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 1;
        std::fs::write(&path, damaged).unwrap();
        // A bit of the manifest's prose says nothing of files; all else is noticed.
        if !path.ends_with("manifest.json") {
            let error = super::restore(&to, &restored, clock).unwrap_err();
            assert!(matches!(&error, Error::Corrupt { path: named, .. } if *named == path), "{error}");
        }
        std::fs::write(&path, intact).unwrap();
        std::fs::rename(&path, path.with_extension("away")).unwrap();
        assert!(super::restore(&to, &restored, clock).is_err());
        std::fs::rename(path.with_extension("away"), &path).unwrap();
    }
    assert!(!restored.try_exists().unwrap());
    super::restore(&to, &restored, clock).unwrap();
}

fn keeping<'a>(fixture: &'a Fixture, scans: &'a Path) -> super::Keeping<'a> {
    super::Keeping { store: &fixture.store, indexes: &fixture.indexes, scans }
}

fn scan_over(site: &str, step: crate::store::ScanStep, finished: i64) -> crate::store::ScanRow {
    let reference = v1::RepositoryRef { site: site.into(), repository: "main".into() };
    let spec = v1::ScanSpec { repositories: vec![reference], ..v1::ScanSpec::default() };
    crate::store::ScanRow { spec: Some(spec), step: step.into(), started: 1, finished, ..Default::default() }
}

#[test]
fn a_forgotten_site_leaves_no_tag_in_any_file_and_the_others_are_as_before() {
    use crate::store::ScanStep;
    let (fixture, sites) = lived_in();
    // What came later at the one never was at the other.
    let only_a = sites[0].tree.values().filter(|content| **content > 1000);
    let only_a: Vec<_> = only_a.map(|content| tag(*content, 0)).collect();
    let scans = fixture.folder.path().join("scans");
    for (id, site) in [(1_u64, "a"), (2, "b")] {
        let row = scan_over(site, ScanStep::Published, 5);
        record(&fixture, What::Scan(crate::journal::ScanEvent { id, row }));
        let folder = scans.join(cognate_proto::name::ScanId(id).to_string());
        std::fs::create_dir_all(&folder).unwrap();
        let named = if site == "a" { only_a[0] } else { tag(1, 0) };
        std::fs::write(folder.join("result.sqlite"), named.0).unwrap();
    }
    // A damaged one that was set aside, and of which nobody can say whose it was.
    std::fs::write(fixture.folder.path().join("indexes/77.damaged"), only_a[1].0).unwrap();
    let files_with_a_tag = |fixture: &Fixture| {
        let files = files_below(fixture.folder.path()).into_iter();
        files
            .filter(|path| {
                let bytes = std::fs::read(path).unwrap();
                only_a.iter().any(|tag| bytes.windows(16).any(|window| window == tag.0))
            })
            .count()
    };
    assert!(files_with_a_tag(&fixture) > 3);
    let others: Vec<_> = rows(&fixture).into_iter().filter(|(key, _)| key.site.as_str() == "b").collect();
    let running = crate::journal::ScanEvent { id: 3, row: scan_over("a", ScanStep::Frozen, 0) };
    record(&fixture, What::Scan(running.clone()));
    let error = keeping(&fixture, &scans).forget(&sites[0].name, "ann", 9).unwrap_err();
    assert!(matches!(error, Error::Busy(_)), "{error}");
    record(&fixture, What::ScanDeleted(running.id));
    let receipt = keeping(&fixture, &scans).forget(&sites[0].name, "ann", 9).unwrap();
    assert_eq!((receipt.indexes, receipt.scans.clone()), (2, vec![1]));
    assert!(receipt.documents > 0 && receipt.bytes > 1000, "{receipt:?}");
    assert_eq!(files_with_a_tag(&fixture), 0);
    assert_eq!(rows(&fixture), others);
    assert!(fixture.store.member(v1::MemberKind::Site, "a").unwrap().is_none());
    let fixture = fixture.restart();
    assert_eq!((rows(&fixture), files_with_a_tag(&fixture)), (others, 0));
}

#[test]
fn what_was_kept_long_enough_goes_and_what_is_in_use_stays() {
    use crate::store::ScanStep;
    let (fixture, sites) = lived_in();
    let scans = fixture.folder.path().join("scans");
    let now = 1_800_000_000;
    for (id, step, finished) in [
        (1, ScanStep::Published, now - 100),
        (2, ScanStep::Published, now - 10),
        (3, ScanStep::Frozen, 0),
        (4, ScanStep::Failed, now - 100),
    ] {
        let row = scan_over("b", step, finished);
        record(&fixture, What::Scan(crate::journal::ScanEvent { id, row }));
    }
    let retention = super::Retention { scans_seconds: Some(50), methods_seconds: None };
    let expired = keeping(&fixture, &scans).expire(retention, now).unwrap();
    assert_eq!(expired.scans.iter().map(|id| id.0).collect::<Vec<_>>(), [1, 4]);
    assert_eq!(fixture.store.scans().unwrap().len(), 2);
    // The fixture's clock stands still: everything was sealed at `now`, and one of them is analysed later.
    let retention = super::Retention { scans_seconds: None, methods_seconds: Some(50) };
    assert_eq!(keeping(&fixture, &scans).expire(retention, now + 50).unwrap(), super::forget::Expired::default());
    fixture.store.put_used(&sites[0].key(), now + 30).unwrap();
    assert_eq!(keeping(&fixture, &scans).expire(retention, now + 60).unwrap().indexes, 1);
    assert!(fixture.indexes.sealed(&sites[0].key()).unwrap().is_some());
    assert!(fixture.indexes.sealed(&sites[1].key()).unwrap().is_none());
    // A scan over it has not ended: its files stay until then.
    let segments = |fixture: &Fixture| {
        let files = files_below(&fixture.folder.path().join("indexes"));
        files.iter().filter(|path| path.extension().unwrap() == "seg").count()
    };
    assert_eq!(segments(&fixture), 3);
    record(&fixture, What::ScanDeleted(3));
    fixture.indexes.collect().unwrap();
    assert_eq!(segments(&fixture), 2);
}

#[test]
fn the_space_that_is_taken_adds_up() {
    let (fixture, _) = lived_in();
    let state = fixture.folder.path();
    std::fs::create_dir(state.join("store.corrupt-1")).unwrap();
    std::fs::write(state.join("store.corrupt-1/db"), "old").unwrap();
    let space = super::space(state, &fixture.store, &fixture.indexes).unwrap();
    let kinds: Vec<_> = space.iter().map(|row| row.kind.as_str()).collect();
    assert_eq!(kinds, ["segments", "runs", "results", "store", "journal", "damaged"]);
    assert_eq!(space.iter().map(|row| row.bytes).sum::<u64>(), bytes_below(state));
    assert!(space.iter().all(|row| row.kind == "store" || row.live_bytes <= row.bytes), "{space:?}");
    assert_eq!((space[5].files, space[5].live_bytes), (1, 0));
    assert!(fixture.indexes.free_bytes().unwrap() > 0);
}

/// A file system of 8 MiB of its own, where this may be made.
struct Small(PathBuf);

impl Small {
    fn mount(at: &Path) -> Option<Small> {
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=8m", "tmpfs"])
            .arg(at)
            .stderr(std::process::Stdio::null())
            .status();
        mounted.is_ok_and(|status| status.success()).then(|| Small(at.to_owned()))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_refuses_batches_by_name_and_goes_on_when_there_is_room_again() {
    let folder = tempfile::tempdir().unwrap();
    let Some(small) = Small::mount(folder.path()) else {
        eprintln!("SKIPPED: no right to mount a tmpfs, so no disk can be filled");
        return;
    };
    let config = crate::indexes::IndexesConfig { disk_reserve_bytes: 1 << 20, ..config() };
    let (store, indexes) = super::open(&small.0, config).unwrap();
    let ballast = small.0.join("ballast");
    let free = usize::try_from(indexes.free_bytes().unwrap()).unwrap();
    std::fs::write(&ballast, vec![1; free - (1 << 20) - 20_000]).unwrap();
    let mut site = Site::new("a", 300);
    let mut writer = indexes.writer(site.key(), 1, &method()).unwrap();
    let mut refused = None;
    for number in 0..300_u64 {
        let mut batch = BatchBuilder::default();
        let (content, table) = content_of(number);
        batch.content(&content, &table);
        let (body, _) = batch.finish();
        match writer.batch(number + 1, &body_digest(&body), &body) {
            Ok(taken) => {
                assert!(taken.is_ok());
                assert_eq!(writer.commit().unwrap(), number + 1);
            }
            Err(error) => {
                refused = Some((number, error));
                break;
            }
        }
    }
    let (taken, error) = refused.unwrap();
    assert!(taken > 0 && matches!(&error, Error::Full(reason) if reason.contains("reserve")), "{error}");
    // What came before is acknowledged and stays.
    assert_eq!(writer.commit().unwrap(), taken);
    drop(writer);
    assert!(store.failed().borrow().is_none());
    std::fs::remove_file(&ballast).unwrap();
    site.epoch = 2;
    site.sync(&indexes);
    assert!(indexes.sealed(&site.key()).unwrap().is_some());
    drop((store, indexes));
}
