//! Search for files by their hashes, in the cache. No document is read.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cognate_proto::file_hash::{FileHashList, HashKinds};
use cognate_proto::limits::{FILE_HASH_HITS_PIECE, FILE_HASH_HOLDERS_MAX, FILE_HASH_HOLDERS_PIECE};
use cognate_proto::name::RepositoryName;
use cognate_proto::path::DocumentPath;
use cognate_proto::v1::file_hash_hits_request::Message as Up;
use cognate_proto::v1::{FileHashCoverage, FileHashHit, FileHashHits, FileHashHolder, FileHashState};

use crate::documents::root::Root;
use crate::error::SyncError;
use crate::policy::Times;
use crate::records::cache::Cache;
use crate::records::cache::known::KnownDocument;
use crate::records::stamp::Stamp;
use crate::records::store::Records;

/// A query by hashes.
pub(crate) struct HashQuery {
    /// Ascending.
    pub(crate) repositories: Vec<RepositoryName>,
    /// The hashes, all of kinds that this site stores.
    pub(crate) list: FileHashList,
    /// Number of files that are listed for one hash.
    pub(crate) holders_max: usize,
}

/// The matches of a query.
#[derive(Default)]
pub(crate) struct HashMatches {
    coverage: Vec<FileHashCoverage>,
    hits: BTreeMap<u32, FileHashHit>,
    named: usize,
}

/// Searches the files of a site by their hashes.
pub(crate) struct HashSearch {
    pub(crate) records: Arc<Records>,
    /// The repositories of the site, with their roots.
    pub(crate) repositories: Vec<(RepositoryName, PathBuf)>,
    /// Files and folders of the worker itself, which are no documents.
    pub(crate) own_files: Arc<[PathBuf]>,
    /// The precision of the times that are sent.
    pub(crate) times: Times,
}

impl HashSearch {
    /// Searches the remembered files of some repositories. Blocks.
    pub(crate) fn search(&self, query: &HashQuery, cancelled: &AtomicBool) -> Result<HashMatches, SyncError> {
        let mut matches = HashMatches::default();
        let Some(cache) = self.records.cache()? else { return Ok(matches) };
        for repository in &query.repositories {
            self.search_repository(&cache, repository, query, &mut matches, cancelled)?;
        }
        Ok(matches)
    }

    fn search_repository(
        &self,
        cache: &Cache,
        repository: &RepositoryName,
        query: &HashQuery,
        matches: &mut HashMatches,
        cancelled: &AtomicBool,
    ) -> Result<(), SyncError> {
        let kinds: HashKinds = query.list.kinds();
        let offered = self.repositories.iter().find(|(name, _)| name == repository);
        // If the folder cannot be opened, its files are gone at the moment.
        let root = offered.and_then(|(_, path)| Root::open(path, true, &self.own_files).ok());
        let (mut files, mut files_without) = (0, 0);
        cache.each(repository, |path, known| {
            let covers = known.hashes.kinds().contains_all(kinds);
            *(if covers { &mut files } else { &mut files_without }) += 1;
            for number in known.hashes.iter().filter_map(|hash| query.list.number(hash)) {
                let holder = || self.holder(repository, root.as_ref(), &path, &known);
                matches.add(number, query.holders_max, holder);
            }
            !cancelled.load(Ordering::Relaxed)
        });
        if cancelled.load(Ordering::Relaxed) {
            return Err(SyncError::Cancelled);
        }
        let last = cache.last_sync(repository);
        matches.coverage.push(FileHashCoverage {
            repository: repository.to_string(),
            files,
            // Unreadable files are not in the cache.
            files_without: last.files.saturating_sub(files).max(files_without),
            synced: last.seconds,
        });
        Ok(())
    }

    fn holder(
        &self,
        repository: &RepositoryName,
        root: Option<&Root>,
        path: &DocumentPath,
        known: &KnownDocument,
    ) -> FileHashHolder {
        let state = match root.and_then(|root| root.stat(path).ok()) {
            None => FileHashState::Gone,
            Some(stat) if Stamp::of(&stat) == known.stamp => FileHashState::Unchanged,
            Some(_) => FileHashState::Changed,
        };
        FileHashHolder {
            repository: repository.to_string(),
            path: path.as_bytes().to_vec(),
            size_bytes: known.stamp.length_bytes,
            modified: self.times.rounded(known.stamp.modified_seconds()),
            state: state.into(),
        }
    }
}

impl HashMatches {
    fn add(&mut self, number: u32, holders_max: usize, holder: impl FnOnce() -> FileHashHolder) {
        let hit = self.hits.entry(number).or_default();
        (hit.number, hit.files) = (number, hit.files + 1);
        if hit.holders.len() < holders_max && self.named < FILE_HASH_HOLDERS_MAX {
            hit.holders.push(holder());
            self.named += 1;
        }
    }

    /// Number of hashes of the list that match a file.
    pub(crate) fn hashes(&self) -> usize {
        self.hits.len()
    }

    /// The messages of the matches, without the first and the last message of the stream.
    pub(crate) fn into_messages(self) -> impl Iterator<Item = Up> {
        let messages = packed(self.hits.into_values()).into_iter().map(|hits| Up::Hits(FileHashHits { hits }));
        self.coverage.into_iter().map(Up::Coverage).chain(messages)
    }
}

/// Packs as many hits into a message as fit. A hit with more files is split over several messages.
fn packed(hits: impl Iterator<Item = FileHashHit>) -> Vec<Vec<FileHashHit>> {
    let mut messages: Vec<Vec<FileHashHit>> = Vec::new();
    let mut places = 0;
    for mut hit in hits {
        let mut holders = std::mem::take(&mut hit.holders).into_iter().peekable();
        // At least one message, even if it lists no file.
        let mut files = Some(hit.files);
        while files.is_some() || holders.peek().is_some() {
            if places == 0 || messages.last().is_none_or(|message| message.len() == FILE_HASH_HITS_PIECE) {
                messages.push(Vec::new());
                places = FILE_HASH_HOLDERS_PIECE;
            }
            let holders: Vec<FileHashHolder> = holders.by_ref().take(places).collect();
            places -= holders.len();
            let piece = FileHashHit { number: hit.number, files: files.take().unwrap_or(0), holders };
            messages.last_mut().expect("there is one").push(piece);
        }
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hit_is_in_some_message_and_no_message_is_too_large() {
        let holder = |place: usize| FileHashHolder { size_bytes: place as u64, ..FileHashHolder::default() };
        let hit = |number: u32, named: usize| FileHashHit {
            number,
            files: named as u64 + 1,
            holders: (0..named).map(holder).collect(),
        };
        for counts in [vec![], vec![0], vec![64, 0, 1], vec![1, 200, 63, 64, 65], vec![0; 3000], vec![1; 300]] {
            let hits: Vec<FileHashHit> = (0..).zip(&counts).map(|(number, named)| hit(number, *named)).collect();
            let messages = packed(hits.clone().into_iter());
            let mut merged: BTreeMap<u32, FileHashHit> = BTreeMap::new();
            for message in &messages {
                let named: usize = message.iter().map(|hit| hit.holders.len()).sum();
                assert!(
                    !message.is_empty() && message.len() <= FILE_HASH_HITS_PIECE && named <= FILE_HASH_HOLDERS_PIECE
                );
                for hit in message {
                    let own =
                        merged.entry(hit.number).or_insert_with(|| FileHashHit { holders: vec![], ..hit.clone() });
                    own.holders.extend(hit.holders.iter().cloned());
                }
            }
            assert_eq!(merged.into_values().collect::<Vec<_>>(), hits, "{counts:?}");
            assert!(messages.len() <= 1 + counts.iter().sum::<usize>() / 64 + counts.len() / FILE_HASH_HITS_PIECE);
        }
    }
}
