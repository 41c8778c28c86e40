//! What this site knows of its files from earlier: by their stamps, unchanged documents are neither read nor sent again.
//!
//! One sled tree, one row per path: key = repository name, 0, path; value = version byte, then an encoded row (`rows.rs`).
//! It is a cache: a damaged one is set aside, and the documents are read again. sled is named in this module only.

mod rows;

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};

use cognate_fingerprint::{Content, MethodId};
use cognate_proto::batch::DocumentState;
use cognate_proto::name::RepositoryName;
use cognate_proto::path::DocumentPath;
use cognate_proto::v1::FileClass;
use prost::Message as _;

use self::rows::{MadeRow, decode, encode};
use crate::error::SiteError;
use crate::file_hash::FileHashes;
use crate::lists::Location;
use crate::stamp::Stamp;
use crate::texts::TextKey;

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
    /// What is inside of documents, under text views: one row each.
    inside: sled::Tree,
    /// Where what was extracted lies.
    texts: sled::Tree,
    /// What the last sync of each repository came to.
    roots: sled::Tree,
    db: sled::Db,
}

/// What is known of one path.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Known {
    pub(crate) stamp: Stamp,
    pub(crate) class: FileClass,
    /// The digest of its bytes, where a text view asked for it: by it, what was extracted is found again.
    pub(crate) bytes_digest: Option<[u8; 16]>,
    /// The hashes of its bytes that the site keeps.
    pub(crate) hashes: FileHashes,
    /// What each method made of it.
    pub(crate) made: Vec<Made>,
}

/// What a method made of a document.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Made {
    pub(crate) method_id: MethodId,
    pub(crate) piece: Piece,
    /// How many documents are inside of it. What became of them is asked for apart.
    pub(crate) inside: u32,
}

/// What became of a document, or of one inside of it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Piece {
    pub(crate) state: DocumentState,
    /// What it holds, and where the list lies.
    pub(crate) listed: Option<(Content, Location)>,
    pub(crate) message_id_hash: Option<[u8; 16]>,
}

/// What a sync of all of a repository came to.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct LastSync {
    /// The documents of the index.
    pub(crate) documents: u64,
    /// The files that were come across, those that could not be read among them; 0: it is not known.
    pub(crate) files: u64,
    /// When it ended: seconds since 1970.
    pub(crate) seconds: i64,
}

/// A path to be remembered or forgotten.
pub(crate) struct Change {
    pub(crate) path: DocumentPath,
    /// What is known of it from now on; `None`: nothing.
    pub(crate) known: Option<Known>,
    /// What is inside of it, under the method that was last over it.
    pub(crate) inside: Option<(MethodId, Vec<(DocumentPath, Piece)>)>,
}

impl Change {
    /// A document that is not there any more.
    pub(crate) fn forget(path: DocumentPath) -> Change {
        Change { path, known: None, inside: None }
    }
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

    /// What is inside of a document, as a method made it; `None` where not all of it is known.
    pub(crate) fn inside(
        &self,
        repository: &RepositoryName,
        path: &DocumentPath,
        made: &Made,
    ) -> Option<Vec<(DocumentPath, Piece)>> {
        if made.inside == 0 {
            return Some(Vec::new());
        }
        let rows = self.inside.scan_prefix(inside_key(repository, path, Some(made.method_id)));
        let pieces: Vec<_> = rows
            .map(|row| {
                let row = MadeRow::decode(row.ok()?.1.as_ref()).ok()?;
                Some((row.path()?, row.piece()?))
            })
            .collect::<Option<_>>()?;
        (pieces.len() == made.inside as usize).then_some(pieces)
    }

    /// Remembers and forgets many paths at once. A failure only costs reading again.
    pub(crate) fn apply(&self, repository: &RepositoryName, changes: &[Change]) {
        let applied = self.apply_inside(repository, changes).and_then(|()| {
            let mut batch = sled::Batch::default();
            for change in changes {
                match &change.known {
                    Some(known) => batch.insert(key(repository, &change.path), encode(known)),
                    None => batch.remove(key(repository, &change.path)),
                }
            }
            self.rows.apply_batch(batch)
        });
        if let Err(error) = applied {
            tracing::warn!(%error, "the cache cannot be written; documents will be read again");
        }
    }

    /// What is inside comes before the rows that count on it: a stop in between leaves a number that does not fit.
    fn apply_inside(&self, repository: &RepositoryName, changes: &[Change]) -> sled::Result<()> {
        let mut batch = sled::Batch::default();
        for Change { path, known, inside } in changes {
            let before = self.get(repository, path).map(|known| known.made).unwrap_or_default();
            let stays = |made: &Made| known.as_ref().is_some_and(|known| known.made.contains(made));
            for made in before.iter().filter(|made| made.inside > 0 && !stays(made)) {
                for row in self.inside.scan_prefix(inside_key(repository, path, Some(made.method_id))) {
                    batch.remove(row?.0);
                }
            }
            if let Some((method_id, pieces)) = inside {
                for (number, (inside, piece)) in (0u32..).zip(pieces) {
                    let key =
                        [inside_key(repository, path, Some(*method_id)).as_slice(), &number.to_be_bytes()].concat();
                    let row = MadeRow::inside(*method_id, inside, piece);
                    batch.insert(key, row.encode_to_vec());
                }
            }
        }
        self.inside.apply_batch(batch)
    }

    /// Hands everything that is known of a repository's files to `each`, by path, for as long as it wants more. Rows that
    /// cannot be read are left out.
    pub(crate) fn each(&self, repository: &RepositoryName, mut each: impl FnMut(DocumentPath, Known) -> bool) {
        let prefix = [repository.as_str().as_bytes(), &[0]].concat();
        for row in self.rows.scan_prefix(&prefix) {
            let Ok((key, value)) = row else { continue };
            let Ok(path) = DocumentPath::new(&key[prefix.len()..]) else { continue };
            let Some(known) = decode(&value) else { continue };
            if !each(path, known) {
                return;
            }
        }
    }

    /// What the last sync of all of a repository came to.
    pub(crate) fn last_sync(&self, repository: &RepositoryName) -> LastSync {
        let value = self.roots.get(repository.as_str()).ok().flatten();
        LastSync::from_bytes(value.as_deref().unwrap_or_default())
    }

    /// Hands every place of a list to `each`, which says what becomes of it. Rows that cannot be read are removed.
    pub(crate) fn rewrite(&self, mut each: impl FnMut(Location) -> std::io::Result<Moved>) -> std::io::Result<()> {
        rewrite_tree(&self.inside, |value| {
            let Ok(mut row) = MadeRow::decode(value) else { return Ok(Rewritten::Gone) };
            let Some(mut piece) = row.piece() else { return Ok(Rewritten::Gone) };
            Ok(match move_list(&mut piece, &mut each)? {
                Some(true) => {
                    row.set_location(&piece);
                    Rewritten::To(row.encode_to_vec())
                }
                Some(false) => Rewritten::Stays,
                None => Rewritten::Gone,
            })
        })?;
        rewrite_tree(&self.rows, |value| {
            let Some(mut known) = decode(value) else { return Ok(Rewritten::Gone) };
            let mut changed = false;
            let mut kept = Vec::with_capacity(known.made.len());
            for mut made in std::mem::take(&mut known.made) {
                let moved = move_list(&mut made.piece, &mut each)?;
                changed |= moved != Some(false);
                kept.extend(moved.map(|_| made));
            }
            known.made = kept;
            Ok(if changed { Rewritten::To(encode(&known)) } else { Rewritten::Stays })
        })?;
        self.db.flush().map_err(std::io::Error::other)?;
        Ok(())
    }

    /// Where what was extracted lies, if it was.
    pub(crate) fn text(&self, key: &TextKey) -> Option<Location> {
        let row = self.texts.get(key.as_bytes()).ok()??;
        Some(MadeRow::decode(row.as_ref()).ok()?.location())
    }

    /// Remembers where what was extracted lies.
    pub(crate) fn keep_text(&self, key: &TextKey, location: Location) {
        let row = MadeRow::from(location);
        if let Err(error) = self.texts.insert(key.as_bytes(), row.encode_to_vec()) {
            tracing::warn!(%error, "the cache cannot be written; documents will be extracted again");
        }
    }

    /// Forgets what was extracted and lies where `gone` says.
    pub(crate) fn forget_texts(&self, gone: impl Fn(Location) -> bool) -> std::io::Result<()> {
        rewrite_tree(&self.texts, |value| {
            let Ok(row) = MadeRow::decode(value) else { return Ok(Rewritten::Gone) };
            Ok(if gone(row.location()) { Rewritten::Gone } else { Rewritten::Stays })
        })
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

    /// Remembers what a sync of all of a repository came to, where it was one, and brings all that was remembered to the
    /// disk.
    pub(crate) fn finish_sync(&self, repository: &RepositoryName, last: Option<LastSync>) {
        let insert = |last: LastSync| self.roots.insert(repository.as_str(), last.to_bytes()).map(drop);
        let result = last.map_or(Ok(()), insert).and_then(|()| self.db.flush());
        if let Err(error) = result {
            tracing::warn!(%error, "the cache cannot be written; documents will be read again");
        }
    }
}

/// What becomes of a row of the cache.
enum Rewritten {
    Stays,
    To(Vec<u8>),
    Gone,
}

/// What becomes of a list.
pub(crate) enum Moved {
    Stays,
    To(Location),
    /// It cannot be had any more.
    Gone,
}

/// Asks for the list of a piece: whether it was moved, or nothing where it is gone.
fn move_list(
    piece: &mut Piece,
    each: &mut impl FnMut(Location) -> std::io::Result<Moved>,
) -> std::io::Result<Option<bool>> {
    let Some((_, location)) = &mut piece.listed else { return Ok(Some(false)) };
    Ok(match each(*location)? {
        Moved::Stays => Some(false),
        Moved::Gone => None,
        Moved::To(new) => {
            *location = new;
            Some(true)
        }
    })
}

fn rewrite_tree(tree: &sled::Tree, mut each: impl FnMut(&[u8]) -> std::io::Result<Rewritten>) -> std::io::Result<()> {
    let mut batch = sled::Batch::default();
    let mut changed = 0;
    for row in tree.iter() {
        let (key, value) = row.map_err(std::io::Error::other)?;
        match each(&value)? {
            Rewritten::Stays => continue,
            Rewritten::To(value) => batch.insert(key, value),
            Rewritten::Gone => batch.remove(key),
        }
        changed += 1;
        if changed % REWRITTEN_AT_A_TIME == 0 {
            tree.apply_batch(std::mem::take(&mut batch)).map_err(std::io::Error::other)?;
        }
    }
    tree.apply_batch(batch).map_err(std::io::Error::other)
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
        Ok(Cache {
            rows: db.open_tree("stamps")?,
            inside: db.open_tree("inside")?,
            texts: db.open_tree("texts")?,
            roots: db.open_tree("roots")?,
            db,
        })
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

/// Under which what is inside of a document begins: no path has a byte of 0.
fn inside_key(repository: &RepositoryName, path: &DocumentPath, method_id: Option<MethodId>) -> Vec<u8> {
    let method_id = method_id.as_ref().map_or(&[][..], |id| &id.0);
    [repository.as_str().as_bytes(), &[0], path.as_bytes(), &[0], method_id].concat()
}

#[cfg(test)]
mod tests {
    use cognate_fingerprint::ContentDigest;

    use super::*;

    /// Opens a cache that this process has just closed: sled may let go of its lock a moment later, from another thread.
    fn open_again(folder: &Path) -> Result<Cache, SiteError> {
        let opened = || match Cache::open(folder) {
            Err(SiteError::Locked { .. }) => {
                std::thread::yield_now();
                None
            }
            opened => Some(opened),
        };
        (0..100_000).find_map(|_| opened()).expect("the lock is let go of")
    }

    fn known() -> Known {
        Known {
            stamp: Stamp { length_bytes: 5, modified_ns: -7, changed_ns: 8, inode: 9 },
            class: FileClass::Pdf,
            bytes_digest: None,
            hashes: FileHashes::from_bytes(&[0; 17]).unwrap(),
            made: vec![Made { method_id: MethodId([1; 16]), piece: piece(3), inside: 0 }],
        }
    }

    fn piece(file: u64) -> Piece {
        let content = Content { size_bytes: 5, chunk_count: 1, digest: ContentDigest([2; 16]) };
        let location = Location { file, offset: 4, length_bytes: 5 };
        Piece { state: DocumentState::Read, listed: Some((content, location)), message_id_hash: None }
    }

    fn set(path: &DocumentPath, known: Option<Known>) -> [Change; 1] {
        [Change { path: path.clone(), known, inside: None }]
    }

    #[test]
    fn what_is_remembered_is_known_to_the_next_process() {
        let folder = tempfile::tempdir().unwrap();
        let (repository, path) = (RepositoryName::main(), DocumentPath::new(b"a/b").unwrap());
        let cache = Cache::open(&folder.path().join("db")).unwrap();
        cache.apply(&repository, &set(&path, Some(known())));
        let last = LastSync { documents: 12, files: 13, seconds: -14 };
        cache.finish_sync(&repository, Some(last));
        drop(cache);
        let cache = open_again(&folder.path().join("db")).unwrap();
        assert_eq!(cache.get(&repository, &path), Some(known()));
        assert_eq!(cache.get(&"other".parse().unwrap(), &path), None);
        assert_eq!(cache.last_sync(&repository), last);
        cache.apply(&repository, &set(&path, None));
        assert_eq!(cache.get(&repository, &path), None);
    }

    #[test]
    fn what_is_inside_of_a_document_is_known_as_long_as_the_document_is() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path()).unwrap();
        let (repository, path) = (RepositoryName::main(), DocumentPath::new(b"a.zip").unwrap());
        let method_id = MethodId([7; 16]);
        let at = |path: &str| DocumentPath::new(path.as_bytes()).unwrap();
        let failed = Piece { state: DocumentState::Damaged, listed: None, message_id_hash: Some([1; 16]) };
        let inside = vec![(at("a.zip!/x"), piece(1)), (at("a.zip!/y/z"), failed.clone())];
        let container = Piece { state: DocumentState::Container, listed: None, message_id_hash: None };
        let made = Made { method_id, piece: container, inside: 2 };
        let known = Known { bytes_digest: Some([9; 16]), made: vec![made.clone()], ..known() };
        let change =
            Change { path: path.clone(), known: Some(known.clone()), inside: Some((method_id, inside.clone())) };
        cache.apply(&repository, &[change]);
        assert_eq!(cache.get(&repository, &path), Some(known));
        assert_eq!(cache.inside(&repository, &path, &made), Some(inside));
        let neighbour = DocumentPath::new(b"a.zi").unwrap();
        assert_eq!(cache.inside(&repository, &neighbour, &made), None);
        cache.rewrite(|location| Ok(Moved::To(Location { offset: 40, ..location }))).unwrap();
        let moved = cache.inside(&repository, &path, &made).unwrap();
        assert_eq!(moved[0].1.listed.unwrap().1.offset, 40);
        assert_eq!(moved[1].1, failed);
        cache.rewrite(|_| Ok(Moved::Gone)).unwrap();
        assert_eq!(cache.inside(&repository, &path, &made), None);
        cache.apply(&repository, &set(&path, None));
        assert_eq!(cache.inside.len(), 0);
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
        cache.finish_sync(&RepositoryName::main(), Some(LastSync { documents: 1, files: 1, seconds: 1 }));
        drop(cache);
        std::fs::write(path.join("conf"), b"this is not sled's").unwrap();
        let cache = open_again(&path).unwrap();
        assert_eq!(cache.last_sync(&RepositoryName::main()), LastSync::default());
        assert!(folder.path().join("db.damaged-1").try_exists().unwrap());
    }

    #[test]
    fn a_newer_cache_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path()).unwrap();
        cache.db.insert(SCHEMA_KEY, &(SCHEMA + 1).to_be_bytes()).unwrap();
        cache.db.flush().unwrap();
        drop(cache);
        assert!(matches!(open_again(folder.path()), Err(SiteError::Newer { found: 2, known: 1, .. })));
    }
}
