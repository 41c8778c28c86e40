//! The records of a site, open: one handle for everything that a sync, an estimate or a query by hashes needs of them.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use cognate_fingerprint::{ContentDigest, MethodId};
use cognate_proto::name::RepositoryName;
use cognate_proto::path::DocumentPath;
use cognate_proto::scope::ScopeId;

use super::cache::Cache;
use super::cache::known::StoredPart;
use super::lists::{Lists, Location};
use super::sent_state::{HeldFiles, IndexUpload, SentFiles, SentState};
use super::stamp::Stamp;
use super::texts::Texts;
use crate::error::{SiteError, SyncError};

/// Number of attempts to open the cache while another part of this process is closing it.
const CACHE_OPENINGS_MAX: usize = 50;
/// Number of sent logs of refinements that a repository keeps. A missing log only means that its rows are sent again.
const REFINEMENT_LOGS_MAX: usize = 8;

/// The documents of an index are forgotten after so long without a query about it, while there are queries about others.
const UNASKED_MAX: Duration = Duration::from_secs(600);

/// The documents of indexes, each with the time of the last query.
type SentFilesOfIndexes = HashMap<(RepositoryName, MethodId), (SentFiles, Instant)>;

/// Facts about the last sync of an index, at a site that remembers nothing else.
#[derive(Default)]
pub(crate) struct Held {
    /// A document for each content.
    pub(crate) files: HeldFiles,
    /// The lists of long contents.
    pub(crate) lists: HashMap<ContentDigest, StampedList>,
}

/// The place of a content's list, and the stamp of the file that had the content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StampedList {
    pub(crate) stamp: Stamp,
    pub(crate) location: Location,
}

/// The records of a site.
pub(crate) struct Records {
    folder: PathBuf,
    /// If not set, nothing is remembered after a sync.
    remember: bool,
    pub(crate) lists: Lists,
    pub(crate) texts: Texts,
    /// The cache while something uses it. It is opened again for the next use.
    cache: Mutex<Weak<Cache>>,
    /// Keeps the cache open between syncs.
    _open_cache: Option<Arc<Cache>>,
    /// The numbers of list files that could not be read: stored results that refer to them are not used.
    lost_lists: Mutex<HashSet<u64>>,
    /// The documents of indexes about which queries follow each other, so that the log of a large index is not read for each of them.
    sent_files: Mutex<SentFilesOfIndexes>,
    /// Facts about the last sync of each index, if nothing is remembered.
    held: Mutex<HashMap<(RepositoryName, MethodId), Held>>,
}

impl Records {
    /// Opens or creates the records. Set `close_between_syncs` where the process is idle most of the time.
    ///
    /// # Errors
    /// If the folder cannot be used, or another process uses it. A damaged cache is moved aside.
    pub(crate) fn open(
        folder: &Path,
        remember: bool,
        close_between_syncs: bool,
        texts_bytes_max: u64,
    ) -> Result<Records, SiteError> {
        let failed = |source| SiteError::State { path: folder.to_owned(), source };
        std::fs::create_dir_all(folder).map_err(failed)?;
        let lists = Lists::open(&folder.join("lists")).map_err(failed)?;
        let texts = Texts::open(&folder.join("texts"), texts_bytes_max).map_err(failed)?;
        // Opened in any case, so that an error shows at the start.
        let cache = remember.then(|| Cache::open(&folder.join("cache")).map(Arc::new)).transpose()?;
        Ok(Records {
            folder: folder.to_owned(),
            remember,
            lists,
            texts,
            cache: Mutex::new(cache.as_ref().map(Arc::downgrade).unwrap_or_default()),
            _open_cache: cache.filter(|_| !close_between_syncs),
            lost_lists: Mutex::default(),
            sent_files: Mutex::default(),
            held: Mutex::default(),
        })
    }

    /// If not set, this site remembers nothing after a sync.
    pub(crate) fn remember(&self) -> bool {
        self.remember
    }

    /// The cache, open while the caller holds it; `None` if nothing is remembered.
    pub(crate) fn cache(&self) -> Result<Option<Arc<Cache>>, SyncError> {
        if !self.remember {
            return Ok(None);
        }
        let mut slot = self.cache.lock().expect("no code panics while it holds this lock");
        if let Some(open) = slot.upgrade() {
            return Ok(Some(open));
        }
        let folder = self.folder.join("cache");
        let failed = |error: SiteError| {
            let source = io::Error::other(error.to_string());
            SyncError::Records { path: folder.clone(), source }
        };
        let open = Arc::new(open_cache(&folder).map_err(failed)?);
        *slot = Arc::downgrade(&open);
        Ok(Some(open))
    }

    /// Opens the sent state of an index, or starts it for the upload `fresh`.
    pub(crate) fn sent_state(
        &self,
        repository: &RepositoryName,
        method_id: MethodId,
        scope: Option<ScopeId>,
        fresh: IndexUpload,
    ) -> Result<SentState, SyncError> {
        if !self.remember {
            return Ok(SentState::ephemeral(fresh));
        }
        // A sync needs the memory, and changes the log.
        self.forget_files();
        let log = self.sent_log(repository, method_id, scope);
        if scope.is_some() {
            remove_old_refinements(&log).map_err(|source| self.failure(source))?;
        }
        SentState::open(&log, fresh).map_err(|source| self.failure(source))
    }

    /// Everything that was ever sent of the index of a complete repository; `None` if nothing was.
    pub(crate) fn read_sent_state(
        &self,
        repository: &RepositoryName,
        method_id: MethodId,
    ) -> Result<Option<SentState>, SyncError> {
        let log = self.sent_log(repository, method_id, None);
        SentState::read(&log).map_err(|source| SyncError::Records { path: log, source })
    }

    /// A document for each of these contents, of those that had them when they were last sent: the first by its path, if the site remembers them.
    pub(crate) fn documents_with_contents(
        &self,
        repository: &RepositoryName,
        method_id: MethodId,
        contents: &HashSet<ContentDigest>,
    ) -> Result<HeldFiles, SyncError> {
        let index = (repository.clone(), method_id);
        if !self.remember {
            let held = self.held();
            let Some(held) = held.get(&index) else { return Ok(HeldFiles::new()) };
            let path = |digest: &ContentDigest| Some((*digest, held.files.get(digest)?.clone()));
            return Ok(contents.iter().filter_map(path).collect());
        }
        let mut files = self.take_sent_files(&index)?;
        let found = files.find(contents);
        self.put_sent_files(index, files);
        Ok(found)
    }

    /// The number of chunks of all contents that were sent of an index, if the site remembers them.
    pub(crate) fn index_chunks(&self, repository: &RepositoryName, method_id: MethodId) -> Result<u64, SyncError> {
        let index = (repository.clone(), method_id);
        let files = self.take_sent_files(&index)?;
        let chunks = files.chunks();
        self.put_sent_files(index, files);
        Ok(chunks)
    }

    fn take_sent_files(&self, index: &(RepositoryName, MethodId)) -> Result<SentFiles, SyncError> {
        let known = self.sent_files().remove(index);
        Ok(match known {
            Some((files, _)) => files,
            None => self.read_sent_state(&index.0, index.1)?.map(SentState::into_sent_files).unwrap_or_default(),
        })
    }

    fn put_sent_files(&self, index: (RepositoryName, MethodId), files: SentFiles) {
        let mut all = self.sent_files();
        all.insert(index, (files, Instant::now()));
        // Those of other indexes, after the last query of a scan about them.
        all.retain(|_, (_, asked)| asked.elapsed() < UNASKED_MAX);
    }

    /// Forgets the documents that are kept between queries; at a site that remembers nothing there are none.
    pub(crate) fn forget_files(&self) {
        let forgotten = std::mem::take(&mut *self.sent_files());
        drop(forgotten);
    }

    fn sent_files(&self) -> MutexGuard<'_, SentFilesOfIndexes> {
        self.sent_files.lock().expect("no code panics while it holds this lock")
    }

    fn held(&self) -> MutexGuard<'_, HashMap<(RepositoryName, MethodId), Held>> {
        self.held.lock().expect("no code panics while it holds this lock")
    }

    /// Keeps the facts about a sync in place of those about the one before, if nothing is remembered.
    pub(crate) fn hold(&self, repository: &RepositoryName, method_id: MethodId, new: Held) {
        if self.remember {
            return;
        }
        let before = self.held().insert((repository.clone(), method_id), new);
        for list in before.unwrap_or_default().lists.into_values() {
            // A file that stays only takes disk space until the process ends.
            let _ = self.lists.delete(list.location.file);
        }
    }

    /// The list of a content, if it is stored, with the stamp of a file that had the content when it was last read: the one at `path`, or the first
    /// of the sync if nothing is remembered.
    pub(crate) fn stored_list(
        &self,
        repository: &RepositoryName,
        method_id: MethodId,
        path: &DocumentPath,
        content: &ContentDigest,
    ) -> Option<StampedList> {
        if !self.remember {
            return self.held().get(&(repository.clone(), method_id))?.lists.get(content).copied();
        }
        let known = self.cache().ok()??.get(repository, path)?;
        let (own, location) = known.result(method_id)?.own.list.as_ref()?;
        (own.digest == *content).then_some(StampedList { stamp: known.stamp, location: *location })
    }

    /// True if something was ever sent of an index.
    pub(crate) fn was_sent(&self, repository: &RepositoryName, method_id: MethodId, scope: Option<ScopeId>) -> bool {
        self.sent_log(repository, method_id, scope).try_exists().unwrap_or(false)
    }

    fn sent_log(&self, repository: &RepositoryName, method_id: MethodId, scope: Option<ScopeId>) -> PathBuf {
        self.folder.join("sent").join(repository.as_str()).join(log_name(method_id, scope))
    }

    /// Marks a list file as lost; `false` if it is marked already.
    pub(crate) fn mark_lost(&self, list_file: u64) -> bool {
        self.lost_lists.lock().expect("no code panics while it holds this lock").insert(list_file)
    }

    /// True if the list of a part is in a lost file.
    pub(crate) fn is_lost(&self, part: &StoredPart) -> bool {
        let lost = self.lost_lists.lock().expect("no code panics while it holds this lock");
        part.list.as_ref().is_some_and(|(_, location)| lost.contains(&location.file))
    }

    /// The error of a sync that cannot use the records.
    pub(crate) fn failure(&self, source: io::Error) -> SyncError {
        SyncError::Records { path: self.folder.clone(), source }
    }
}

fn open_cache(folder: &Path) -> Result<Cache, SiteError> {
    let mut opened = Cache::open(folder);
    // The last user may be closing it at this moment.
    for _ in 0..CACHE_OPENINGS_MAX {
        if !matches!(opened, Err(SiteError::Locked { .. })) {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
        opened = Cache::open(folder);
    }
    opened
}

fn log_name(method_id: MethodId, scope: Option<ScopeId>) -> String {
    match scope {
        None => format!("{method_id}.log"),
        Some(scope) => format!("{method_id}.{scope}.log"),
    }
}

/// Removes the oldest logs of refinements next to `log`, so that there is space for one more. `log` itself stays.
fn remove_old_refinements(log: &Path) -> io::Result<()> {
    let Some(folder) = log.parent().filter(|folder| folder.is_dir()) else { return Ok(()) };
    let mut logs = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        // METHOD.SCOPE.log
        if entry.path() != log && entry.file_name().to_string_lossy().split('.').count() == 3 {
            logs.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    logs.sort_unstable();
    let excess = (logs.len() + 1).saturating_sub(REFINEMENT_LOGS_MAX);
    logs.iter().take(excess).try_for_each(|(_, path)| std::fs::remove_file(path))
}

#[cfg(test)]
mod tests {
    use cognate_fingerprint::{Content, ContentDigest, WindowSample};
    use cognate_proto::batch::{DocumentRow, DocumentState};

    use super::*;
    use crate::records::lists::Location;

    fn open(folder: &Path, remember: bool) -> Records {
        Records::open(folder, remember, true, 0).unwrap()
    }

    #[test]
    fn only_the_latest_logs_of_refinements_stay_and_every_complete_log_stays() {
        let folder = tempfile::tempdir().unwrap();
        let log = |number: u8| folder.path().join(log_name(MethodId([1; 16]), Some(ScopeId([number; 16]))));
        let complete = folder.path().join(log_name(MethodId([1; 16]), None));
        std::fs::write(&complete, "").unwrap();
        for number in 0..20 {
            remove_old_refinements(&log(number)).unwrap();
            std::fs::write(log(number), "").unwrap();
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), REFINEMENT_LOGS_MAX + 1);
        assert!(complete.is_file() && log(19).is_file());
    }

    #[test]
    fn a_site_that_remembers_nothing_has_no_cache_and_no_sent_log() {
        let folder = tempfile::tempdir().unwrap();
        let fresh = IndexUpload { epoch: 5, samples: false };
        let (records, repository, method_id) = (open(folder.path(), false), RepositoryName::main(), MethodId([1; 16]));
        assert!(records.cache().unwrap().is_none());
        assert_eq!(records.sent_state(&repository, method_id, None, fresh).unwrap().epoch(), 5);
        assert!(!records.was_sent(&repository, method_id, None));
        assert!(records.read_sent_state(&repository, method_id).unwrap().is_none());
    }

    #[test]
    fn a_sent_state_keeps_its_epoch_and_belongs_to_one_index() {
        let folder = tempfile::tempdir().unwrap();
        let fresh = |epoch| IndexUpload { epoch, samples: true };
        let (records, repository, method_id) = (open(folder.path(), true), RepositoryName::main(), MethodId([1; 16]));
        assert_eq!(records.sent_state(&repository, method_id, None, fresh(5)).unwrap().epoch(), 5);
        assert_eq!(records.sent_state(&repository, method_id, None, fresh(6)).unwrap().epoch(), 5);
        assert!(records.was_sent(&repository, method_id, None));
        assert!(!records.was_sent(&repository, method_id, Some(ScopeId([2; 16]))));
        assert!(!records.was_sent(&repository, MethodId([2; 16]), None));
    }

    #[test]
    fn files_of_contents_are_read_once_while_queries_follow_each_other_and_again_after_a_sync() {
        let folder = tempfile::tempdir().unwrap();
        let (records, repository, method_id) = (open(folder.path(), true), RepositoryName::main(), MethodId([1; 16]));
        let digest = ContentDigest([2; 16]);
        let log_document = |path: &str| {
            let content = Content { size_bytes: 5, chunk_count: 1, digest, sample: WindowSample::NONE };
            let row = DocumentRow {
                path: DocumentPath::new(path.as_bytes()).unwrap(),
                state: DocumentState::Read,
                content: Some(digest),
                modified: 1,
                message_id_hash: None,
            };
            let fresh = IndexUpload { epoch: 5, samples: false };
            records.sent_state(&repository, method_id, None, fresh).unwrap().log_batch(&[row], &[content]).unwrap();
        };
        let found = || {
            let files = records.documents_with_contents(&repository, method_id, &HashSet::from([digest])).unwrap();
            files.get(&digest).map(|path| path.to_string())
        };
        assert_eq!(found(), None);
        log_document("a");
        assert_eq!(found().as_deref(), Some("a"));
        std::fs::remove_file(records.sent_log(&repository, method_id, None)).unwrap();
        assert_eq!(found().as_deref(), Some("a"), "it is known");
        records.forget_files();
        assert_eq!(found(), None);
        log_document("b");
        assert_eq!(found().as_deref(), Some("b"));
    }

    #[test]
    fn a_part_is_lost_when_its_list_file_is() {
        let folder = tempfile::tempdir().unwrap();
        let records = open(folder.path(), false);
        let content =
            Content { size_bytes: 5, chunk_count: 1, digest: ContentDigest([2; 16]), sample: WindowSample::NONE };
        let part = |file| StoredPart {
            state: DocumentState::Read,
            list: Some((content.clone(), Location { file, ..Location::default() })),
            message_id_hash: None,
        };
        assert!(!records.is_lost(&part(3)));
        assert!(records.mark_lost(3) && !records.mark_lost(3));
        assert!(records.is_lost(&part(3)));
        assert!(!records.is_lost(&part(2)));
    }
}
