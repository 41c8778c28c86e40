//! What this site knows of its files from earlier: by their stamps, unchanged documents are neither read nor sent again.
//!
//! One sled tree, one row per path: key = repository name, 0, path; value = version byte, then an encoded [`StampRow`].
//! It is a cache: a damaged one is set aside, and the documents are read again. sled is named in this module only.

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};

use cognate_fingerprint::{Content, ContentDigest, MethodId};
use cognate_proto::name::RepositoryName;
use cognate_proto::path::DocumentPath;
use cognate_proto::v1::FileClass;
use prost::Message as _;

use crate::error::SiteError;
use crate::lists::Location;
use crate::stamp::Stamp;

/// The version of the rows. A newer one is refused, an older one would be migrated.
const SCHEMA: u32 = 1;
const SCHEMA_KEY: &[u8] = b"schema";
const COMPACTED_KEY: &[u8] = b"compacted";
/// How many rows are written at a time when many are.
const REWRITTEN_AT_A_TIME: usize = 4096;
/// How much of the cache sled may keep in memory.
const MEMORY_BYTES: u64 = 32 << 20;

/// The open cache.
pub(crate) struct Cache {
    rows: sled::Tree,
    /// How many documents each repository held at its last sync.
    roots: sled::Tree,
    db: sled::Db,
}

/// What is known of one path.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Known {
    pub(crate) stamp: Stamp,
    pub(crate) class: FileClass,
    /// What each method made of it, and where the list lies.
    pub(crate) made: Vec<(MethodId, Content, Location)>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StampRow {
    #[prost(uint64, tag = "1")]
    length_bytes: u64,
    #[prost(sint64, tag = "2")]
    modified_ns: i64,
    #[prost(sint64, tag = "3")]
    changed_ns: i64,
    #[prost(uint64, tag = "4")]
    inode: u64,
    #[prost(enumeration = "FileClass", tag = "5")]
    class: i32,
    #[prost(message, repeated, tag = "6")]
    made: Vec<MadeRow>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct MadeRow {
    #[prost(bytes = "vec", tag = "1")]
    method_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    digest: Vec<u8>,
    #[prost(uint64, tag = "3")]
    size_bytes: u64,
    #[prost(uint64, tag = "4")]
    chunk_count: u64,
    #[prost(uint64, tag = "5")]
    file: u64,
    #[prost(uint64, tag = "6")]
    offset: u64,
    #[prost(uint64, tag = "7")]
    list_bytes: u64,
}

impl Cache {
    /// Opens the cache in a folder. A damaged one is moved aside, with a warning.
    pub(crate) fn open(folder: &Path) -> Result<Cache, SiteError> {
        match open_db(folder) {
            Ok(cache) => cache.checked(folder),
            Err(OpenError::Locked) => Err(SiteError::Locked { path: folder.to_owned(), pid: None }),
            Err(OpenError::Refused(source)) => Err(SiteError::State { path: folder.to_owned(), source }),
            Err(OpenError::Damaged(reason)) => {
                let aside = set_aside(folder)?;
                tracing::warn!(
                    reason,
                    aside = %aside.display(),
                    "the cache is damaged and was set aside; documents will be read again"
                );
                open_db(folder).map_err(|_| SiteError::Locked { path: folder.to_owned(), pid: None })?.checked(folder)
            }
        }
    }

    fn checked(self, folder: &Path) -> Result<Cache, SiteError> {
        let found = self.db.get(SCHEMA_KEY).ok().flatten();
        match found.as_deref().map(|bytes| <[u8; 4]>::try_from(bytes).map(u32::from_be_bytes)) {
            None => drop(self.db.insert(SCHEMA_KEY, &SCHEMA.to_be_bytes())),
            Some(Ok(SCHEMA)) => {}
            Some(found) => {
                let found = found.unwrap_or(u32::MAX);
                return Err(SiteError::Newer { path: folder.to_owned(), found, known: SCHEMA });
            }
        }
        Ok(self)
    }

    /// What is known of a path; a row that cannot be read is as good as none.
    pub(crate) fn get(&self, repository: &RepositoryName, path: &DocumentPath) -> Option<Known> {
        let value = self.rows.get(key(repository, path)).ok()??;
        decode(&value)
    }

    /// Remembers and forgets many paths at once. A failure only costs reading again.
    pub(crate) fn apply(&self, repository: &RepositoryName, changes: &[(DocumentPath, Option<Known>)]) {
        let mut batch = sled::Batch::default();
        for (path, known) in changes {
            match known {
                Some(known) => batch.insert(key(repository, path), encode(known)),
                None => batch.remove(key(repository, path)),
            }
        }
        if let Err(error) = self.rows.apply_batch(batch) {
            tracing::warn!(%error, "the cache cannot be written; documents will be read again");
        }
    }

    /// How many documents the repository held at its last sync.
    pub(crate) fn documents_at_last_sync(&self, repository: &RepositoryName) -> u64 {
        let value = self.roots.get(repository.as_str()).ok().flatten();
        value.and_then(|bytes| bytes.as_ref().try_into().ok().map(u64::from_be_bytes)).unwrap_or(0)
    }

    /// Hands every row to `each`, which may say what it is to be instead. Rows that cannot be read are removed.
    pub(crate) fn rewrite(&self, mut each: impl FnMut(&mut Known) -> std::io::Result<bool>) -> std::io::Result<()> {
        let mut batch = sled::Batch::default();
        let mut changed = 0;
        for row in self.rows.iter() {
            let (key, value) = row.map_err(std::io::Error::other)?;
            match decode(&value) {
                None => batch.remove(key),
                Some(mut known) => {
                    if !each(&mut known)? {
                        continue;
                    }
                    batch.insert(key, encode(&known));
                }
            }
            changed += 1;
            if changed % REWRITTEN_AT_A_TIME == 0 {
                self.rows.apply_batch(std::mem::take(&mut batch)).map_err(std::io::Error::other)?;
            }
        }
        self.rows.apply_batch(batch).map_err(std::io::Error::other)?;
        self.db.flush().map_err(std::io::Error::other)?;
        Ok(())
    }

    /// How large the lists were after they were last compacted: bytes and files.
    pub(crate) fn lists_after_compaction(&self) -> (u64, u64) {
        let number = |bytes: &[u8]| bytes.try_into().ok().map(u64::from_be_bytes);
        let value = self.db.get(COMPACTED_KEY).ok().flatten();
        let numbers = value.and_then(|value| {
            let (bytes, files) = value.split_at_checked(8)?;
            Some((number(bytes)?, number(files)?))
        });
        numbers.unwrap_or_default()
    }

    pub(crate) fn set_lists_after_compaction(&self, bytes: u64, files: u64) {
        let value = [bytes.to_be_bytes(), files.to_be_bytes()].concat();
        if let Err(error) = self.db.insert(COMPACTED_KEY, value) {
            tracing::warn!(%error, "the cache cannot be written; lists will be compacted again");
        }
    }

    /// Remembers how many documents the repository holds, where that is known, and brings all that was remembered to the
    /// disk.
    pub(crate) fn finish_sync(&self, repository: &RepositoryName, documents: Option<u64>) {
        let count = |documents: u64| self.roots.insert(repository.as_str(), &documents.to_be_bytes()).map(drop);
        let result = documents.map_or(Ok(()), count).and_then(|()| self.db.flush());
        if let Err(error) = result {
            tracing::warn!(%error, "the cache cannot be written; documents will be read again");
        }
    }
}

enum OpenError {
    Locked,
    Refused(std::io::Error),
    Damaged(String),
}

/// Opens sled. Damage can show as an error or as a panic in its depths; both mean the same here.
fn open_db(folder: &Path) -> Result<Cache, OpenError> {
    let config = sled::Config::new().path(folder).cache_capacity(MEMORY_BYTES).mode(sled::Mode::LowSpace);
    let opened = std::panic::catch_unwind(AssertUnwindSafe(|| -> sled::Result<Cache> {
        let db = config.open()?;
        Ok(Cache { rows: db.open_tree("stamps")?, roots: db.open_tree("roots")?, db })
    }));
    match opened {
        Ok(Ok(cache)) => Ok(cache),
        Ok(Err(sled::Error::Io(error))) if error.to_string().contains("lock") => Err(OpenError::Locked),
        // What the system refuses (room, rights, descriptors) is no damage.
        Ok(Err(sled::Error::Io(error))) if error.raw_os_error().is_some() => Err(OpenError::Refused(error)),
        Ok(Err(error)) => Err(OpenError::Damaged(error.to_string())),
        Err(_) => Err(OpenError::Damaged("sled panicked while it opened".to_owned())),
    }
}

fn set_aside(folder: &Path) -> Result<PathBuf, SiteError> {
    let aside = (1..).map(|number| folder.with_extension(format!("damaged-{number}")));
    let free = |path: &PathBuf| matches!(path.try_exists(), Ok(false));
    let aside = aside.take(10_000).find(free).unwrap_or_else(|| folder.with_extension("damaged"));
    let state = |source| SiteError::State { path: folder.to_owned(), source };
    std::fs::rename(folder, &aside).map_err(state)?;
    Ok(aside)
}

fn key(repository: &RepositoryName, path: &DocumentPath) -> Vec<u8> {
    [repository.as_str().as_bytes(), &[0], path.as_bytes()].concat()
}

fn encode(known: &Known) -> Vec<u8> {
    let made = |(method_id, content, location): &(MethodId, Content, Location)| MadeRow {
        method_id: method_id.0.to_vec(),
        digest: content.digest.0.to_vec(),
        size_bytes: content.size_bytes,
        chunk_count: content.chunk_count,
        file: location.file,
        offset: location.offset,
        list_bytes: location.length_bytes,
    };
    let row = StampRow {
        length_bytes: known.stamp.length_bytes,
        modified_ns: known.stamp.modified_ns,
        changed_ns: known.stamp.changed_ns,
        inode: known.stamp.inode,
        class: known.class.into(),
        made: known.made.iter().map(made).collect(),
    };
    let mut value = vec![1];
    row.encode(&mut value).expect("a vector takes everything");
    value
}

fn decode(value: &[u8]) -> Option<Known> {
    let (1, row) = value.split_first().map(|(version, row)| (*version, row))? else { return None };
    let row = StampRow::decode(row).ok()?;
    let made = |made: MadeRow| {
        let digest = ContentDigest(made.digest.try_into().ok()?);
        let content = Content { size_bytes: made.size_bytes, chunk_count: made.chunk_count, digest };
        let location = Location { file: made.file, offset: made.offset, length_bytes: made.list_bytes };
        Some((MethodId(made.method_id.try_into().ok()?), content, location))
    };
    Some(Known {
        stamp: Stamp {
            length_bytes: row.length_bytes,
            modified_ns: row.modified_ns,
            changed_ns: row.changed_ns,
            inode: row.inode,
        },
        class: row.class(),
        made: row.made.into_iter().map(made).collect::<Option<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Known {
        Known {
            stamp: Stamp { length_bytes: 5, modified_ns: -7, changed_ns: 8, inode: 9 },
            class: FileClass::Pdf,
            made: vec![(
                MethodId([1; 16]),
                Content { size_bytes: 5, chunk_count: 1, digest: ContentDigest([2; 16]) },
                Location { file: 3, offset: 4, length_bytes: 5 },
            )],
        }
    }

    #[test]
    fn what_is_remembered_is_known_to_the_next_process() {
        let folder = tempfile::tempdir().unwrap();
        let (repository, path) = (RepositoryName::main(), DocumentPath::new(b"a/b").unwrap());
        let cache = Cache::open(&folder.path().join("db")).unwrap();
        cache.apply(&repository, &[(path.clone(), Some(known()))]);
        cache.finish_sync(&repository, Some(12));
        drop(cache);
        let cache = Cache::open(&folder.path().join("db")).unwrap();
        assert_eq!(cache.get(&repository, &path), Some(known()));
        assert_eq!(cache.get(&"other".parse().unwrap(), &path), None);
        assert_eq!(cache.documents_at_last_sync(&repository), 12);
        cache.apply(&repository, &[(path.clone(), None)]);
        assert_eq!(cache.get(&repository, &path), None);
    }

    #[test]
    fn a_second_process_is_told_who_is_in_its_way() {
        let folder = tempfile::tempdir().unwrap();
        let _first = Cache::open(&folder.path().join("db")).unwrap();
        assert!(matches!(Cache::open(&folder.path().join("db")), Err(SiteError::Locked { .. })));
    }

    #[test]
    fn a_damaged_cache_is_set_aside_and_begun_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let cache = Cache::open(&path).unwrap();
        cache.finish_sync(&RepositoryName::main(), Some(1));
        drop(cache);
        std::fs::write(path.join("conf"), b"this is not sled's").unwrap();
        let cache = Cache::open(&path).unwrap();
        assert_eq!(cache.documents_at_last_sync(&RepositoryName::main()), 0);
        assert!(folder.path().join("db.damaged-1").try_exists().unwrap());
    }

    #[test]
    fn a_newer_cache_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path()).unwrap();
        cache.db.insert(SCHEMA_KEY, &(SCHEMA + 1).to_be_bytes()).unwrap();
        cache.db.flush().unwrap();
        drop(cache);
        assert!(matches!(Cache::open(folder.path()), Err(SiteError::Newer { found: 2, known: 1, .. })));
    }
}
