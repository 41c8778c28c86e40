//! Compaction of the lists: files that nothing refers to any more are removed, and what lives in files that are mostly
//! dead, or too many and too small, is written together anew. A state that is used for years does not grow for ever.
//!
//! The order is that of every write here: lists, then the rows that point to them, then the old files go. A stop in
//! between leaves files that nothing refers to, which the next time removes.

use std::collections::{HashMap, HashSet};
use std::io;

use crate::cache::{Cache, Moved};
use crate::lists::{ListWriter, Lists, Location};

/// Growth below this is not worth looking at.
const BYTES_LEAST: u64 = 16 << 20;
const FILES_LEAST: u64 = 128;
/// A file smaller than this is written together with others when there are too many.
const SMALL_BYTES: u64 = 1 << 20;

/// Compacts the lists if they have grown to twice what they were after the last time. No sync may be under way.
pub(crate) fn compact(cache: &Cache, lists: &Lists) -> io::Result<()> {
    let files = lists.files()?;
    let bytes: u64 = files.iter().map(|(_, bytes)| bytes).sum();
    let (bytes_before, files_before) = cache.lists_after_compaction();
    if bytes < 2 * bytes_before + BYTES_LEAST && (files.len() as u64) < 2 * files_before + FILES_LEAST {
        return Ok(());
    }
    let live = live_bytes(cache)?;
    let kept = kept_files(&files, &live);
    rewrite(cache, lists, &kept)?;
    for (file, _) in files.iter().filter(|(file, _)| !kept.contains(file)) {
        lists.delete(*file)?;
    }
    let left = lists.files()?;
    let left_bytes = left.iter().map(|(_, bytes)| bytes).sum();
    cache.set_lists_after_compaction(left_bytes, left.len() as u64);
    tracing::info!(
        files_before = files.len(),
        files = left.len(),
        bytes_before = bytes,
        bytes = left_bytes,
        "lists were compacted"
    );
    Ok(())
}

/// How many bytes of each file are referred to; a list that many documents share counts once.
fn live_bytes(cache: &Cache) -> io::Result<HashMap<u64, u64>> {
    let mut seen = HashSet::new();
    let mut live: HashMap<u64, u64> = HashMap::new();
    cache.rewrite(|location| {
        if seen.insert((location.file, location.offset)) {
            *live.entry(location.file).or_default() += location.length_bytes;
        }
        Ok(Moved::Stays)
    })?;
    Ok(live)
}

/// Which files stay: large ones of which at least half is alive.
fn kept_files(files: &[(u64, u64)], live: &HashMap<u64, u64>) -> HashSet<u64> {
    let is_dead = |(file, bytes): &(u64, u64)| live.get(file).copied().unwrap_or(0) * 2 < *bytes;
    let is_small = |(_, bytes): &(u64, u64)| *bytes < SMALL_BYTES;
    files.iter().filter(|file| !is_dead(file) && !is_small(file)).map(|(file, _)| *file).collect()
}

/// Writes what lives in other files together, and points the rows there.
fn rewrite(cache: &Cache, lists: &Lists, kept: &HashSet<u64>) -> io::Result<()> {
    let mut writer = lists.writer();
    let mut moved: HashMap<(u64, u64), Option<Location>> = HashMap::new();
    // All lists before the first row: a row never points to what is not there.
    cache.rewrite(|location| {
        let place = (location.file, location.offset);
        if !kept.contains(&location.file) && !moved.contains_key(&place) {
            moved.insert(place, copied(lists, &mut writer, location)?);
        }
        Ok(Moved::Stays)
    })?;
    writer.flush()?;
    cache.rewrite(|location| {
        Ok(match moved.get(&(location.file, location.offset)) {
            None => Moved::Stays,
            Some(Some(new)) => Moved::To(*new),
            Some(None) => Moved::Gone,
        })
    })
}

/// Copies a list; nothing when it cannot be read, and its documents will be read again.
fn copied(lists: &Lists, writer: &mut ListWriter<'_>, location: Location) -> io::Result<Option<Location>> {
    let mut new: Option<Location> = None;
    let mut unwritable = None;
    let read = lists.read(location, |table| {
        let piece = writer.append(&table).map_err(|error| {
            unwritable = Some(error);
            io::Error::other("stopped")
        })?;
        match &mut new {
            Some(new) => new.length_bytes += piece.length_bytes,
            None => new = Some(piece),
        }
        Ok(())
    });
    match (unwritable, read) {
        (Some(error), _) => Err(error),
        (None, Ok(())) => Ok(new),
        (None, Err(_)) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use cognate_fingerprint::{Content, ContentDigest, MethodId};
    use cognate_proto::batch::DocumentState;
    use cognate_proto::name::RepositoryName;
    use cognate_proto::path::DocumentPath;
    use cognate_proto::v1::{ChunkTable, FileClass};

    use super::*;
    use crate::cache::{Change, Known, Made, Piece};
    use crate::stamp::Stamp;

    fn table(number: u32) -> ChunkTable {
        ChunkTable { tags: vec![7; 16], length_bytes: vec![number], repeated_byte: vec![] }
    }

    fn change(number: u32, document: u32, location: Location) -> [Change; 1] {
        [Change { path: path(document), known: Some(known(number, location)), inside: None }]
    }

    fn known(number: u32, location: Location) -> Known {
        let content = Content { size_bytes: 5, chunk_count: 1, digest: ContentDigest([2; 16]) };
        let piece = Piece { state: DocumentState::Read, listed: Some((content, location)), message_id_hash: None };
        Known {
            stamp: Stamp { length_bytes: 5, modified_ns: 1, changed_ns: 1, inode: number.into() },
            class: FileClass::Plain,
            bytes_digest: None,
            hashes: Default::default(),
            made: vec![Made { method_id: MethodId([1; 16]), piece, inside: 0 }],
        }
    }

    fn path(number: u32) -> DocumentPath {
        DocumentPath::new(number.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn after_many_syncs_of_a_few_changing_documents_a_few_files_are_left() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(&folder.path().join("cache")).unwrap();
        let lists = Lists::open(&folder.path().join("lists")).unwrap();
        let repository = RepositoryName::main();
        for sync in 0..1000 {
            let mut writer = lists.writer();
            let location = writer.append(&table(sync)).unwrap();
            writer.flush().unwrap();
            cache.apply(&repository, &change(sync, sync % 10, location));
            compact(&cache, &lists).unwrap();
            assert!(lists.files().unwrap().len() as u64 <= 2 * FILES_LEAST, "after {sync}");
        }
        for number in 0..10 {
            let known = cache.get(&repository, &path(number)).unwrap();
            let (_, location) = known.made[0].piece.listed.unwrap();
            let mut lengths = vec![];
            lists
                .read(location, |table| {
                    lengths.extend(table.length_bytes);
                    Ok(())
                })
                .unwrap();
            assert_eq!(lengths, [990 + number]);
        }
    }

    #[test]
    fn a_list_that_cannot_be_read_is_forgotten_and_the_rest_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(&folder.path().join("cache")).unwrap();
        let lists = Lists::open(&folder.path().join("lists")).unwrap();
        let repository = RepositoryName::main();
        for number in 0..200 {
            let mut writer = lists.writer();
            let location = writer.append(&table(number)).unwrap();
            writer.flush().unwrap();
            cache.apply(&repository, &change(number, number, location));
        }
        lists.delete(1).unwrap();
        compact(&cache, &lists).unwrap();
        assert!(cache.get(&repository, &path(0)).unwrap().made.is_empty());
        assert_eq!(cache.get(&repository, &path(1)).unwrap().made.len(), 1);
        assert_eq!(lists.files().unwrap().len(), 1);
    }
}
