//! Compaction of the lists: files to which no row refers are removed, and the lists of files that are mostly unused, or too
//! small and too many, are written into new files. A state that is used for years does not grow without limit.
//!
//! The order is the same as for every write: first lists, then the rows that refer to them, then old files are removed. A
//! stop in between leaves unused files, which the next compaction removes.

use std::collections::{HashMap, HashSet};
use std::io;

use super::cache::Cache;
use super::cache::known::ListMove;
use super::cache::rows::ListSize;
use super::lists::{ListWriter, Lists, Location};

/// Less growth than this does not start a compaction.
const BYTES_LEAST: u64 = 16 << 20;
const FILES_LEAST: u64 = 128;
/// Smaller files are merged when there are too many.
const SMALL_BYTES: u64 = 1 << 20;

/// Compacts the lists if they have grown to twice their size after the last compaction. No sync may run meanwhile.
pub(crate) fn compact(cache: &Cache, lists: &Lists) -> io::Result<()> {
    let files = lists.files()?;
    let bytes: u64 = files.iter().map(|(_, bytes)| bytes).sum();
    let earlier = cache.lists_after_compaction();
    if bytes < 2 * earlier.bytes + BYTES_LEAST && (files.len() as u64) < 2 * earlier.files + FILES_LEAST {
        return Ok(());
    }
    let lasting = lasting_files(&files, &used_bytes(cache)?);
    rewrite(cache, lists, &lasting)?;
    for (file, _) in files.iter().filter(|(file, _)| !lasting.contains(file)) {
        lists.delete(*file)?;
    }
    let left = lists.files()?;
    let left_bytes = left.iter().map(|(_, bytes)| bytes).sum();
    cache.set_lists_after_compaction(ListSize { bytes: left_bytes, files: left.len() as u64 });
    tracing::info!(
        files_before = files.len(),
        files = left.len(),
        bytes_before = bytes,
        bytes = left_bytes,
        "lists were compacted"
    );
    Ok(())
}

/// Number of bytes of each file to which rows refer; a list that several documents share counts once.
fn used_bytes(cache: &Cache) -> io::Result<HashMap<u64, u64>> {
    let mut seen = HashSet::new();
    let mut used: HashMap<u64, u64> = HashMap::new();
    cache.rewrite(|location| {
        if seen.insert((location.file, location.offset)) {
            *used.entry(location.file).or_default() += location.length_bytes;
        }
        Ok(ListMove::Stays)
    })?;
    Ok(used)
}

/// The files that stay: large ones of which at least half is used.
fn lasting_files(files: &[(u64, u64)], used: &HashMap<u64, u64>) -> HashSet<u64> {
    let is_unused = |(file, bytes): &(u64, u64)| used.get(file).copied().unwrap_or(0) * 2 < *bytes;
    let is_small = |(_, bytes): &(u64, u64)| *bytes < SMALL_BYTES;
    files.iter().filter(|file| !is_unused(file) && !is_small(file)).map(|(file, _)| *file).collect()
}

/// Copies the used lists of other files into new files, and changes the rows that refer to them.
fn rewrite(cache: &Cache, lists: &Lists, lasting: &HashSet<u64>) -> io::Result<()> {
    let mut writer = lists.writer();
    let mut moved: HashMap<(u64, u64), Option<Location>> = HashMap::new();
    // All lists are written before the first row, so that no row refers to a missing list.
    cache.rewrite(|location| {
        let place = (location.file, location.offset);
        if !lasting.contains(&location.file) && !moved.contains_key(&place) {
            moved.insert(place, copied(lists, &mut writer, location)?);
        }
        Ok(ListMove::Stays)
    })?;
    writer.flush()?;
    cache.rewrite(|location| {
        Ok(match moved.get(&(location.file, location.offset)) {
            None => ListMove::Stays,
            Some(Some(new)) => ListMove::To(*new),
            Some(None) => ListMove::Gone,
        })
    })
}

/// Copies a list; `None` if it cannot be read, so that its documents are read again.
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
    use cognate_fingerprint::{Content, ContentDigest, MethodId, WindowSample};
    use cognate_proto::batch::DocumentState;
    use cognate_proto::name::RepositoryName;
    use cognate_proto::path::DocumentPath;
    use cognate_proto::v1::{ChunkTable, FileClass};

    use super::*;
    use crate::records::cache::known::{Change, KnownDocument, MethodResult, StoredPart};
    use crate::records::stamp::Stamp;

    fn table(number: u32) -> ChunkTable {
        ChunkTable { tags: vec![7; 16], length_bytes: vec![number], repeated_byte: vec![] }
    }

    fn change(number: u32, document: u32, location: Location) -> [Change; 1] {
        [Change { path: path(document), known: Some(known(number, location)), inside: None }]
    }

    fn known(number: u32, location: Location) -> KnownDocument {
        let content =
            Content { size_bytes: 5, chunk_count: 1, digest: ContentDigest([2; 16]), sample: WindowSample::NONE };
        let own = StoredPart { state: DocumentState::Read, list: Some((content, location)), message_id_hash: None };
        KnownDocument {
            stamp: Stamp { length_bytes: 5, modified_ns: 1, changed_ns: 1, inode: number.into() },
            class: FileClass::Plain,
            candidate: cognate_view::Candidate::No,
            bytes_digest: None,
            hashes: Default::default(),
            results: vec![MethodResult { method_id: MethodId([1; 16]), own, inside: 0, recognition: None }],
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
            let (_, location) = known.results[0].own.list.as_ref().unwrap();
            let mut lengths = vec![];
            lists
                .read(*location, |table| {
                    lengths.extend(table.length_bytes);
                    Ok(())
                })
                .unwrap();
            assert_eq!(lengths, [990 + number]);
        }
    }

    #[test]
    fn a_list_that_cannot_be_read_is_forgotten_and_the_rest_stays() {
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
        assert!(cache.get(&repository, &path(0)).unwrap().results.is_empty());
        assert_eq!(cache.get(&repository, &path(1)).unwrap().results.len(), 1);
        assert_eq!(lists.files().unwrap().len(), 1);
    }
}
