//! A federation in small: sites that sync, and what their coordinator keeps of it.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use cognate_fingerprint::{Chunk, Content, ContentDigest, MethodId, Tag, WindowSample};
use cognate_proto::batch::{BatchBuilder, DocumentRow, DocumentState, body_digest};
use cognate_proto::index_digest::{IndexDigest, RowHash};
use cognate_proto::name::{RepositoryName, SiteName};
use cognate_proto::path::DocumentPath;
use cognate_proto::v1::{self, ChunkTable};

use crate::error::Error;
use crate::harness::method;
use crate::indexes::Indexes;
use crate::indexes::tests::{Fixture, comparable, config};
use crate::journal::{Event, MemberName, What};
use crate::store::{IndexRow, SlotKey};

mod backup;
mod compaction;
mod disk;
mod forget;
mod journal;
mod rebuild;
mod simulation;
mod space;

/// A worker with a tree in memory: it keeps of an index what the outbox keeps.
pub(super) struct Site {
    pub(super) name: SiteName,
    epoch: u64,
    sequence: u64,
    root: IndexDigest,
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
    let sample = WindowSample::new(&[9, u64::from(digest[0]) + 10]).unwrap();
    (Content { size_bytes: 1000 * chunks, chunk_count: chunks, digest: ContentDigest(digest), sample }, table)
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
            root: IndexDigest::default(),
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
                    self.root.add(RowHash::of_content(
                        content.digest,
                        content.size_bytes,
                        content.chunk_count,
                        content.sample.digest(),
                    ));
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

    /// Restarts the index, as a worker does whose coordinator has lost something.
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

/// A state with a registry, two sites, a scan and a push that was cut off.
/// Writes a key of an authority, which backups are made and checked with.
fn write_authority(path: &std::path::Path, key: &str) {
    cognate_durable::private::write_private(path, key.as_bytes()).unwrap();
}

fn restoring<'a>(revoked: &'a [String], key: Option<&'a std::path::Path>) -> crate::maintenance::RestoreOptions<'a> {
    crate::maintenance::RestoreOptions { revoked, key, clock: config().clock }
}

fn lived_in() -> (Fixture, [Site; 2]) {
    let fixture = Fixture::fast();
    write_authority(&fixture.folder.path().join("ca.key"), "secret");
    for (kind, name) in [(v1::MemberKind::Site, "a"), (v1::MemberKind::Site, "b"), (v1::MemberKind::Operator, "ann")] {
        let membership = v1::Membership { kind: kind.into(), name: name.into(), ..v1::Membership::default() };
        record(&fixture, What::Admitted(membership));
    }
    record(&fixture, What::Revoked(MemberName { kind: v1::MemberKind::Operator.into(), name: "ann".into() }));
    record(&fixture, What::Profile(v1::Profile { name: "weekly".into(), options: None }));
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
    let (body, digest, _) = crate::harness::batch(1);
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
