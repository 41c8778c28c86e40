//! The cache: the documents that this site remembers. By their stamps, unchanged documents are neither read nor sent again.
//!
//! The rows are described in [`rows`]. A damaged cache is moved aside, and the documents are read again. sled is named in
//! this module only.

pub(crate) mod known;
mod open;
pub(crate) mod rows;

use std::io;
use std::path::Path;

use cognate_durable::closing::Closing;
use cognate_proto::name::RepositoryName;
use cognate_proto::path::DocumentPath;

use self::known::{Change, KnownDocument, LastSync, ListMove, MethodResult, StoredPart};
use self::open::Trees;
use self::rows::{Family, Key, ListSize, PARTS_PER_ROW, Parts, Value};
use super::lists::Location;
use super::text_key::TextKey;
use crate::error::SiteError;

/// Number of rows that one write changes when many rows change, and the bytes of their values.
const ROWS_PER_WRITE: usize = 4096;
const BYTES_PER_WRITE: usize = 1 << 20;

/// The open cache.
pub(crate) struct Cache {
    trees: Closing<Trees>,
}

impl Cache {
    /// Opens the cache in a folder.
    pub(crate) fn open(folder: &Path) -> Result<Cache, SiteError> {
        Ok(Cache { trees: open::open(folder)? })
    }

    /// Looks up a remembered document. A row that cannot be read counts as missing.
    pub(crate) fn get(&self, repository: &RepositoryName, path: &DocumentPath) -> Option<KnownDocument> {
        self.value(&Key::Document(repository.clone(), path.clone()))
    }

    /// Hands over the documents inside of a document, by a method's result, in the order in which they were read, until `each`
    /// returns `false`. There may be very many: they are never in memory together.
    ///
    /// Returns `false` if not all of them are stored.
    pub(crate) fn each_inside(
        &self,
        repository: &RepositoryName,
        path: &DocumentPath,
        result: &MethodResult,
        mut each: impl FnMut(DocumentPath, StoredPart) -> bool,
    ) -> bool {
        let mut left = result.inside;
        if left == 0 {
            return true;
        }
        for row in self.trees.inside.scan_prefix(Key::inside_of(repository, path, result.method_id)) {
            let Some(Parts(parts)) = row.ok().and_then(|(_, value)| Value::from_bytes(&value)) else { return false };
            for (path, part) in parts {
                let Some(after) = left.checked_sub(1) else { return false };
                left = after;
                if !each(path, part) {
                    return true;
                }
            }
        }
        left == 0
    }

    /// Remembers and forgets many paths at once. A failure means that documents are read again: `false`.
    pub(crate) fn apply(&self, repository: &RepositoryName, changes: &[Change]) -> bool {
        let applied = self.apply_inside(repository, changes).and_then(|()| {
            let mut rows = Rows::of(&self.trees.documents);
            for change in changes {
                let key = Key::Document(repository.clone(), change.path.clone()).to_bytes();
                rows.change(key, change.known.as_ref().map(Value::to_bytes))?;
            }
            rows.finish()
        });
        let is_applied = applied.is_ok();
        warn("the cache cannot be written; documents will be read again", applied);
        is_applied
    }

    /// Writes the rows inside of documents before the rows that count them: after a stop in between, the count differs and
    /// the document is read again.
    fn apply_inside(&self, repository: &RepositoryName, changes: &[Change]) -> sled::Result<()> {
        let mut rows = Rows::of(&self.trees.inside);
        for Change { path, known, inside } in changes {
            let earlier = self.get(repository, path).map(|known| known.results).unwrap_or_default();
            let stays = |result: &MethodResult| known.as_ref().is_some_and(|known| known.results.contains(result));
            for result in earlier.iter().filter(|result| result.inside > 0 && !stays(result)) {
                for row in self.trees.inside.scan_prefix(Key::inside_of(repository, path, result.method_id)) {
                    rows.change(row?.0, None)?;
                }
            }
            if let Some((method_id, parts)) = inside {
                // Rows that a stop left behind, of a time when there were more.
                let first = u32::try_from(parts.len().div_ceil(PARTS_PER_ROW)).unwrap_or(u32::MAX);
                let beyond = Key::Inside(repository.clone(), path.clone(), *method_id, first).to_bytes();
                for row in self.trees.inside.range(beyond..) {
                    let key = row?.0;
                    if !key.starts_with(&Key::inside_of(repository, path, *method_id)) {
                        break;
                    }
                    rows.change(key, None)?;
                }
                for (number, parts) in (0u32..).zip(parts.chunks(PARTS_PER_ROW)) {
                    let key = Key::Inside(repository.clone(), path.clone(), *method_id, number);
                    rows.change(key.to_bytes(), Some(Parts(parts.to_vec()).to_bytes()))?;
                }
            }
        }
        rows.finish()
    }

    /// Calls `each` for every remembered file of a repository, ordered by path, until it returns `false`. Rows that cannot
    /// be read are left out.
    pub(crate) fn each(&self, repository: &RepositoryName, mut each: impl FnMut(DocumentPath, KnownDocument) -> bool) {
        for row in self.trees.documents.scan_prefix(Key::documents_of(repository)) {
            let Ok((key, value)) = row else { continue };
            let Some(Key::Document(_, path)) = Key::from_bytes(Family::Documents, &key) else { continue };
            let Some(known) = KnownDocument::from_bytes(&value) else { continue };
            if !each(path, known) {
                return;
            }
        }
    }

    /// The outcome of the last sync of a complete repository.
    pub(crate) fn last_sync(&self, repository: &RepositoryName) -> LastSync {
        self.value(&Key::Repository(repository.clone())).unwrap_or_default()
    }

    /// Calls `each` for the place of every list and writes the new places. Rows that cannot be read are removed.
    pub(crate) fn rewrite(&self, mut each: impl FnMut(Location) -> io::Result<ListMove>) -> io::Result<()> {
        rewrite_tree(&self.trees.inside, |value| {
            let Some(mut parts) = Parts::from_bytes(value) else { return Ok(RowChange::Remove) };
            let mut has_moved = false;
            for (_, part) in &mut parts.0 {
                match move_list(part, &mut each)? {
                    Some(moved) => has_moved |= moved,
                    // Without one of them, the document is read again.
                    None => return Ok(RowChange::Remove),
                }
            }
            Ok(if has_moved { RowChange::To(parts.to_bytes()) } else { RowChange::Keep })
        })?;
        rewrite_tree(&self.trees.documents, |value| {
            let Some(mut known) = KnownDocument::from_bytes(value) else { return Ok(RowChange::Remove) };
            let mut changed = false;
            let mut left = Vec::with_capacity(known.results.len());
            for mut result in std::mem::take(&mut known.results) {
                let moved = move_list(&mut result.own, &mut each)?;
                changed |= moved != Some(false);
                left.extend(moved.map(|_| result));
            }
            known.results = left;
            Ok(if changed { RowChange::To(known.to_bytes()) } else { RowChange::Keep })
        })?;
        self.trees.db.flush().map_err(io::Error::other)?;
        Ok(())
    }

    /// The place of an extracted text.
    pub(crate) fn text(&self, key: &TextKey) -> Option<Location> {
        self.value(&Key::Text(*key))
    }

    /// Remembers the place of an extracted text.
    pub(crate) fn remember_text(&self, key: &TextKey, location: Location) {
        let written = self.insert(&Key::Text(*key), &location);
        warn("the cache cannot be written; documents will be extracted again", written);
    }

    /// Forgets the extracted texts whose place `is_gone`.
    pub(crate) fn forget_texts(&self, is_gone: impl Fn(Location) -> bool) -> io::Result<()> {
        rewrite_tree(&self.trees.texts, |value| {
            let stays = Location::from_bytes(value).is_some_and(|location| !is_gone(location));
            Ok(if stays { RowChange::Keep } else { RowChange::Remove })
        })
    }

    /// The size of the lists after their last compaction.
    pub(crate) fn lists_after_compaction(&self) -> ListSize {
        self.value(&Key::Compacted).unwrap_or_default()
    }

    pub(crate) fn set_lists_after_compaction(&self, size: ListSize) {
        let written = self.insert(&Key::Compacted, &size);
        warn("the cache cannot be written; lists will be compacted again", written);
    }

    /// Syncs the cache to the disk after a sync; `last` is the outcome of a sync of the complete repository.
    pub(crate) fn finish_sync(&self, repository: &RepositoryName, last: Option<LastSync>) {
        let insert = |last: LastSync| self.insert(&Key::Repository(repository.clone()), &last);
        let written = last.map_or(Ok(()), insert).and_then(|()| self.trees.db.flush());
        warn("the cache cannot be written; documents will be read again", written);
    }

    fn tree(&self, family: Family) -> &sled::Tree {
        match family {
            Family::Documents => &self.trees.documents,
            Family::Inside => &self.trees.inside,
            Family::Texts => &self.trees.texts,
            Family::Repositories => &self.trees.repositories,
            Family::Settings => &self.trees.settings,
        }
    }

    fn value<V: Value>(&self, key: &Key) -> Option<V> {
        V::from_bytes(&self.tree(key.family()).get(key.to_bytes()).ok()??)
    }

    fn insert(&self, key: &Key, value: &impl Value) -> sled::Result<()> {
        self.tree(key.family()).insert(key.to_bytes(), value.to_bytes()).map(drop)
    }
}

fn warn<T>(message: &str, result: sled::Result<T>) {
    if let Err(error) = result {
        tracing::warn!(%error, "{message}");
    }
}

/// The change of a row.
enum RowChange {
    Keep,
    To(Vec<u8>),
    Remove,
}

/// Moves the list of a part: `Some(true)` if its place changed, `None` if the list is gone.
fn move_list(
    part: &mut StoredPart,
    each: &mut impl FnMut(Location) -> io::Result<ListMove>,
) -> io::Result<Option<bool>> {
    let Some((_, location)) = &mut part.list else { return Ok(Some(false)) };
    Ok(match each(*location)? {
        ListMove::Stays => Some(false),
        ListMove::Gone => None,
        ListMove::To(new) => {
            *location = new;
            Some(true)
        }
    })
}

fn rewrite_tree(tree: &sled::Tree, mut each: impl FnMut(&[u8]) -> io::Result<RowChange>) -> io::Result<()> {
    let mut rows = Rows::of(tree);
    for row in tree.iter() {
        let (key, value) = row.map_err(io::Error::other)?;
        match each(&value)? {
            RowChange::Keep => continue,
            RowChange::To(value) => rows.change(key, Some(value)),
            RowChange::Remove => rows.change(key, None),
        }
        .map_err(io::Error::other)?;
    }
    rows.finish().map_err(io::Error::other)
}

/// Changes of rows of one tree, written some thousands at a time: a batch is in memory several times while it is applied.
struct Rows<'a> {
    tree: &'a sled::Tree,
    batch: sled::Batch,
    changed: usize,
    bytes: usize,
}

impl Rows<'_> {
    fn of(tree: &sled::Tree) -> Rows<'_> {
        Rows { tree, batch: sled::Batch::default(), changed: 0, bytes: 0 }
    }

    /// Sets a row to a value, or removes it.
    fn change(&mut self, key: impl Into<sled::IVec>, value: Option<Vec<u8>>) -> sled::Result<()> {
        self.changed += 1;
        self.bytes += value.as_ref().map_or(0, Vec::len);
        match value {
            Some(value) => self.batch.insert(key, value),
            None => self.batch.remove(key),
        }
        if self.changed >= ROWS_PER_WRITE || self.bytes >= BYTES_PER_WRITE { self.write() } else { Ok(()) }
    }

    fn finish(mut self) -> sled::Result<()> {
        self.write()
    }

    fn write(&mut self) -> sled::Result<()> {
        (self.changed, self.bytes) = (0, 0);
        self.tree.apply_batch(std::mem::take(&mut self.batch))
    }
}

#[cfg(test)]
mod tests;
