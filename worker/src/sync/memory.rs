//! Remembering what was read: lists first, then the rows of the cache that refer to them.

use std::collections::{HashMap, HashSet};
use std::io;

use cognate_fingerprint::{Content, ContentDigest, MethodId};
use cognate_proto::name::RepositoryName;
use cognate_proto::path::DocumentPath;
use cognate_proto::v1::ChunkTable;

use crate::documents::outcome::{Chunks, Fingerprinted, PartOutcome};
use crate::records::cache::Cache;
use crate::records::cache::known::{Change, KnownDocument, LastSync, MethodResult, StoredPart};
use crate::records::lists::{ListWriter, Lists, Location};
use crate::records::stamp::Stamp;
use crate::records::store::StampedList;

/// Number of rows that wait to be written at most, beside those of one document.
const ROWS_PER_WRITE: usize = 1024;

/// Remembers the documents of one sync.
pub(super) struct Memory<'a> {
    cache: Option<&'a Cache>,
    lists: &'a Lists,
    repository: &'a RepositoryName,
    method_id: MethodId,
    /// The recognition of text that is in force.
    recognition: u64,
    writer: ListWriter<'a>,
    /// Lists that this sync has stored, by the digest of their content.
    stored: HashMap<ContentDigest, Location>,
    /// The lists of long contents, if nothing is remembered.
    held: HashMap<ContentDigest, StampedList>,
    /// List files of single documents to which rows refer, or which are held.
    used_spools: HashSet<u64>,
    changes: Vec<Change>,
    /// The rows of these changes.
    rows: usize,
    /// Reset when the disk accepts no more lists.
    can_store: bool,
}

impl<'a> Memory<'a> {
    pub(super) fn new(
        cache: Option<&'a Cache>,
        lists: &'a Lists,
        repository: &'a RepositoryName,
        (method_id, recognition): (MethodId, u64),
    ) -> Memory<'a> {
        Memory {
            cache,
            lists,
            repository,
            method_id,
            recognition,
            writer: lists.writer(),
            stored: HashMap::new(),
            held: HashMap::new(),
            used_spools: HashSet::new(),
            changes: Vec::new(),
            rows: 0,
            can_store: true,
        }
    }

    /// Remembers a document that was read, if it is settled.
    pub(super) fn remember(&mut self, path: &DocumentPath, done: &Fingerprinted, earlier: Option<KnownDocument>) {
        if self.can_remember() && done.settled {
            self.store(path, done, earlier, done.stamp);
        }
    }

    /// Stores the documents inside of one for the time of this sync: the next one reads it again, unless it is remembered as well.
    pub(super) fn remember_inside(&mut self, path: &DocumentPath, done: &Fingerprinted) {
        if self.can_remember() && !done.settled {
            self.store(path, done, None, done.stamp.of_no_file());
        }
    }

    fn can_remember(&self) -> bool {
        self.cache.is_some() && self.can_store
    }

    fn store(&mut self, path: &DocumentPath, done: &Fingerprinted, earlier: Option<KnownDocument>, stamp: Stamp) {
        match self.change(path.clone(), done, earlier) {
            Ok(mut change) => {
                if let Some(known) = &mut change.known {
                    known.stamp = stamp;
                }
                self.add(change);
            }
            Err(error) => self.stop_storing(&error),
        }
    }

    fn add(&mut self, change: Change) {
        self.rows += 1 + change.inside.as_ref().map_or(0, |(_, inside)| inside.len());
        self.changes.push(change);
        if self.rows >= ROWS_PER_WRITE {
            self.flush();
        }
    }

    /// Holds the list of a long document that was read, if it is settled and nothing is remembered. A list that is not [taken](Memory::take_held) is
    /// deleted.
    pub(super) fn hold(&mut self, done: &Fingerprinted) {
        let Some((content, Chunks::Stored(location))) = &done.own.content else { return };
        if self.cache.is_none() && done.settled && !self.held.contains_key(&content.digest) {
            self.used_spools.insert(location.file);
            self.held.insert(content.digest, StampedList { stamp: done.stamp, location: *location });
        }
    }

    /// The lists that are held.
    pub(super) fn take_held(&mut self) -> HashMap<ContentDigest, StampedList> {
        std::mem::take(&mut self.held)
    }

    /// Forgets a document.
    pub(super) fn forget(&mut self, path: DocumentPath) {
        self.add(Change::forget(path));
    }

    /// Removes the list file of a document if no row refers to it and it is not held.
    pub(super) fn discard_unused(&self, spool_file: Option<u64>) {
        if let Some(file) = spool_file.filter(|file| !self.used_spools.contains(file)) {
            // A file that stays only takes disk space until the next compaction.
            let _ = self.lists.delete(file);
        }
    }

    /// Writes everything to the cache.
    pub(super) fn flush(&mut self) {
        if let Err(error) = self.writer.flush() {
            self.stop_storing(&error);
        }
        if let Some(cache) = self.cache {
            crate::failpoint!("worker.cache_write");
            self.can_store &= cache.apply(self.repository, &self.changes);
        }
        self.changes.clear();
        self.rows = 0;
    }

    /// The same, if there is anything to write.
    pub(super) fn flush_unwritten(&mut self) {
        if !self.changes.is_empty() {
            self.flush();
        }
    }

    /// Ends a sealed sync; `last` is its outcome if it was a sync of the complete repository.
    pub(super) fn finish(&self, last: Option<LastSync>) {
        if let Some(cache) = self.cache {
            cache.finish_sync(self.repository, last);
        }
    }

    /// The result of a document that was just stored; none if it is not stored.
    pub(super) fn result(&self, own: &PartOutcome, inside: u32) -> Option<MethodResult> {
        if !self.can_remember() {
            return None;
        }
        let list = match &own.content {
            Some((content, _)) => Some((content.clone(), *self.stored.get(&content.digest)?)),
            None => None,
        };
        let own = StoredPart { state: own.state, list, message_id_hash: own.message_id_hash };
        Some(MethodResult { method_id: self.method_id, own, inside, recognition: None })
    }

    /// The new value of a document. Its lists are stored.
    fn change(
        &mut self,
        path: DocumentPath,
        done: &Fingerprinted,
        earlier: Option<KnownDocument>,
    ) -> io::Result<Change> {
        let own = self.part(&done.own)?;
        let mut inside = Vec::with_capacity(done.inside.len());
        for (path, outcome) in &done.inside {
            inside.push((path.clone(), self.part(outcome)?));
        }
        let count = u32::try_from(inside.len()).map_err(|_| io::Error::other("too many documents inside of one"))?;
        let recognition = done.has_pictures.then_some(self.recognition);
        let result = MethodResult { method_id: self.method_id, own, inside: count, recognition };
        Ok(Change { path, known: Some(merged(done, earlier, result)), inside: Some((self.method_id, inside)) })
    }

    fn part(&mut self, outcome: &PartOutcome) -> io::Result<StoredPart> {
        let list = match &outcome.content {
            Some((content, chunks)) => Some((content.clone(), self.list(content, chunks)?)),
            None => None,
        };
        Ok(StoredPart { state: outcome.state, list, message_id_hash: outcome.message_id_hash })
    }

    /// The place of a list. It is stored unless this sync has stored it already.
    fn list(&mut self, content: &Content, chunks: &Chunks) -> io::Result<Location> {
        if let Some(location) = self.stored.get(&content.digest) {
            return Ok(*location);
        }
        let location = match chunks {
            Chunks::Stored(location) => {
                self.used_spools.insert(location.file);
                *location
            }
            Chunks::Held(list) => self.writer.append(&ChunkTable::of(list))?,
        };
        self.stored.insert(content.digest, location);
        Ok(location)
    }

    /// Goes on without storing lists: a full disk means reading again, and does not end the sync.
    fn stop_storing(&mut self, error: &io::Error) {
        tracing::warn!(%error, "documents cannot be remembered; they will be read again at the next sync");
        self.can_store = false;
        self.changes.retain(|change| change.known.is_none());
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        for list in self.held.values() {
            // A file that stays only takes disk space until the process ends.
            let _ = self.lists.delete(list.location.file);
        }
    }
}

/// The value of a document after one method has read it. Results of other methods stay valid only for the same stamp.
fn merged(done: &Fingerprinted, earlier: Option<KnownDocument>, result: MethodResult) -> KnownDocument {
    let same = earlier.filter(|known| known.stamp == done.stamp);
    let bytes_digest = done.bytes_digest.or(same.as_ref().and_then(|known| known.bytes_digest));
    let mut results = same.map(|known| known.results).unwrap_or_default();
    results.retain(|other| other.method_id != result.method_id);
    results.push(result);
    KnownDocument {
        stamp: done.stamp,
        class: done.class,
        candidate: done.candidate,
        bytes_digest,
        hashes: done.hashes.clone(),
        results,
    }
}

#[cfg(test)]
mod tests {
    use cognate_fingerprint::WindowSample;
    use cognate_proto::batch::DocumentState;
    use cognate_proto::v1::FileClass;

    use super::*;
    use crate::records::file_hashes::FileHashes;

    fn stamp(inode: u64) -> Stamp {
        Stamp { length_bytes: 5, modified_ns: 1, changed_ns: 1, inode }
    }

    fn result(method: u8, inside: u32) -> MethodResult {
        let own = StoredPart { state: DocumentState::Container, list: None, message_id_hash: None };
        MethodResult { method_id: MethodId([method; 16]), own, inside, recognition: None }
    }

    fn done(stamp: Stamp, bytes_digest: Option<[u8; 16]>) -> Fingerprinted {
        Fingerprinted {
            own: PartOutcome { state: DocumentState::Container, content: None, message_id_hash: None },
            inside: Vec::new(),
            spool_file: None,
            stamp,
            class: FileClass::Archive,
            candidate: cognate_view::Candidate::No,
            has_pictures: false,
            bytes_digest,
            hashes: FileHashes::default(),
            changing: false,
            settled: true,
            read_bytes: 5,
        }
    }

    fn known(stamp: Stamp) -> Option<KnownDocument> {
        Some(KnownDocument {
            stamp,
            class: FileClass::Archive,
            candidate: cognate_view::Candidate::No,
            bytes_digest: Some([9; 16]),
            hashes: FileHashes::default(),
            results: vec![result(1, 1), result(2, 2)],
        })
    }

    #[test]
    fn results_of_other_methods_stay_for_the_same_stamp_only() {
        let same = merged(&done(stamp(1), None), known(stamp(1)), result(1, 7));
        assert_eq!(same.results, [result(2, 2), result(1, 7)]);
        assert_eq!(same.bytes_digest, Some([9; 16]));
        let changed = merged(&done(stamp(2), None), known(stamp(1)), result(1, 7));
        assert_eq!((changed.results, changed.bytes_digest), (vec![result(1, 7)], None));
        let first = merged(&done(stamp(1), Some([3; 16])), None, result(1, 7));
        assert_eq!((first.results, first.bytes_digest), (vec![result(1, 7)], Some([3; 16])));
    }

    #[test]
    fn only_settled_documents_are_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(&folder.path().join("cache")).unwrap();
        let lists = Lists::open(&folder.path().join("lists")).unwrap();
        let repository = RepositoryName::main();
        let mut memory = Memory::new(Some(&cache), &lists, &repository, (MethodId([1; 16]), 0));
        let path = |name: &str| DocumentPath::new(name.as_bytes()).unwrap();
        memory.remember(&path("settled"), &done(stamp(1), None), None);
        memory.remember(&path("racy"), &Fingerprinted { settled: false, ..done(stamp(1), None) }, None);
        assert_eq!(cache.get(&repository, &path("settled")), None, "it is written by the flush");
        memory.flush();
        assert!(cache.get(&repository, &path("settled")).is_some());
        assert_eq!(cache.get(&repository, &path("racy")), None);
        memory.forget(path("settled"));
        memory.flush();
        assert_eq!(cache.get(&repository, &path("settled")), None);
    }

    #[test]
    fn what_is_inside_of_an_unsettled_document_is_stored_for_this_sync_and_never_used_again() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(&folder.path().join("cache")).unwrap();
        let lists = Lists::open(&folder.path().join("lists")).unwrap();
        let repository = RepositoryName::main();
        let mut memory = Memory::new(Some(&cache), &lists, &repository, (MethodId([1; 16]), 0));
        let path = |name: &str| DocumentPath::new(name.as_bytes()).unwrap();
        let state = |state| PartOutcome { state, content: None, message_id_hash: None };
        let racy = Fingerprinted {
            settled: false,
            own: state(DocumentState::Container),
            inside: vec![(path("a.zip!/b"), state(DocumentState::Container))],
            ..done(stamp(7), None)
        };
        memory.remember_inside(&path("a.zip"), &racy);
        memory.flush();
        let result = memory.result(&racy.own, 1).unwrap();
        let mut inside = Vec::new();
        let is_complete = cache.each_inside(&repository, &path("a.zip"), &result, |path, part| {
            inside.push((path, part.state));
            true
        });
        assert!(is_complete);
        assert_eq!(inside, [(path("a.zip!/b"), DocumentState::Container)]);
        assert_ne!(cache.get(&repository, &path("a.zip")).unwrap().stamp, racy.stamp);
    }

    #[test]
    fn the_list_of_a_long_document_is_held_where_nothing_is_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(&folder.path().join("cache")).unwrap();
        let lists = Lists::open(&folder.path().join("lists")).unwrap();
        let repository = RepositoryName::main();
        let content = |number: u8| {
            let (digest, sample) = (ContentDigest([number; 16]), WindowSample::NONE);
            Content { size_bytes: 9, chunk_count: 9, digest, sample }
        };
        let long = |number: u8, settled: bool| {
            let mut writer = lists.writer();
            let location = writer.append(&ChunkTable::default()).unwrap();
            let own = PartOutcome::read(content(number), Chunks::Stored(location));
            Fingerprinted { own, settled, spool_file: Some(location.file), ..done(stamp(u64::from(number)), None) }
        };
        let held = |cache: Option<&Cache>| {
            let mut memory = Memory::new(cache, &lists, &repository, (MethodId([1; 16]), 0));
            for (number, settled) in [(1, true), (2, false), (1, true)] {
                let done = long(number, settled);
                memory.hold(&done);
                memory.discard_unused(done.spool_file);
            }
            let held = memory.take_held();
            let files: Vec<u64> = lists.files().unwrap().into_iter().map(|(file, _)| file).collect();
            (held.into_iter().map(|(digest, list)| (digest, list.location.file)).collect::<Vec<_>>(), files)
        };
        let (of_none, files) = held(None);
        assert_eq!((of_none, files), (vec![(ContentDigest([1; 16]), 1)], vec![1]));
        lists.delete(1).unwrap();
        let mut failed = Memory::new(None, &lists, &repository, (MethodId([1; 16]), 0));
        failed.hold(&long(1, true));
        drop(failed);
        assert_eq!(lists.files().unwrap(), []);
        assert_eq!(held(Some(&cache)).0, []);
    }
}
