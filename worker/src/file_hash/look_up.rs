//! Which files of this site have a hash of a list: asked of what was kept at the last syncs. No document is read.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use cognate_proto::file_hash::{FileHashList, HashKinds};
use cognate_proto::limits::{FILE_HASH_HITS_PIECE, FILE_HASH_HOLDERS_MAX, FILE_HASH_HOLDERS_PIECE};
use cognate_proto::name::RepositoryName;
use cognate_proto::path::DocumentPath;
use cognate_proto::v1::file_hash_hits_request::Message as Up;
use cognate_proto::v1::{FileHashCoverage, FileHashHit, FileHashHits, FileHashHolder, FileHashState};

use crate::cache::{Cache, Known};
use crate::error::SyncError;
use crate::root::Root;
use crate::site::Site;
use crate::stamp::Stamp;

/// What is asked of this site.
pub(crate) struct Question {
    /// Ascending.
    pub(crate) repositories: Vec<RepositoryName>,
    /// The hashes, all of kinds that this site keeps.
    pub(crate) list: FileHashList,
    /// How many files are named for a hash.
    pub(crate) holders_max: usize,
}

/// What was found.
#[derive(Default)]
pub(crate) struct Findings {
    coverage: Vec<FileHashCoverage>,
    hits: BTreeMap<u32, FileHashHit>,
    named: usize,
}

impl Site {
    /// Looks through what is kept of the files of some repositories. Blocks.
    pub(crate) fn look_up(&self, question: &Question, cancelled: &AtomicBool) -> Result<Findings, SyncError> {
        let mut findings = Findings::default();
        let Some(cache) = self.cache()? else { return Ok(findings) };
        for repository in &question.repositories {
            self.look_through(&cache, repository, question, &mut findings, cancelled)?;
        }
        Ok(findings)
    }

    fn look_through(
        &self,
        cache: &Cache,
        repository: &RepositoryName,
        question: &Question,
        findings: &mut Findings,
        cancelled: &AtomicBool,
    ) -> Result<(), SyncError> {
        let asked: HashKinds = question.list.kinds();
        let offered = self.config.repositories.iter().find(|(name, _)| name == repository);
        // Where the folder cannot be had, its files are not there now.
        let root = offered.and_then(|(_, path)| Root::open(path, true).ok());
        let (mut files, mut files_without) = (0, 0);
        cache.each(repository, |path, known| {
            let covers = known.hashes.kinds().contains_all(asked);
            *(if covers { &mut files } else { &mut files_without }) += 1;
            for number in known.hashes.iter().filter_map(|hash| question.list.number(hash)) {
                let holder = || self.holder(repository, root.as_ref(), &path, &known);
                findings.add(number, question.holders_max, holder);
            }
            !cancelled.load(Ordering::Relaxed)
        });
        if cancelled.load(Ordering::Relaxed) {
            return Err(SyncError::Cancelled);
        }
        let last = cache.last_sync(repository);
        findings.coverage.push(FileHashCoverage {
            repository: repository.to_string(),
            files,
            // Those that could not be read are not in the cache at all.
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
        known: &Known,
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
            modified: self.config.policy.times.told(known.stamp.modified_seconds()),
            state: state.into(),
        }
    }
}

impl Findings {
    fn add(&mut self, number: u32, holders_max: usize, holder: impl FnOnce() -> FileHashHolder) {
        let hit = self.hits.entry(number).or_default();
        (hit.number, hit.files) = (number, hit.files + 1);
        if hit.holders.len() < holders_max && self.named < FILE_HASH_HOLDERS_MAX {
            hit.holders.push(holder());
            self.named += 1;
        }
    }

    /// How many hashes of the list were found.
    pub(crate) fn hashes(&self) -> usize {
        self.hits.len()
    }

    /// The messages that tell it, but for the first and the last.
    pub(crate) fn into_messages(self) -> impl Iterator<Item = Up> {
        let messages = packed(self.hits.into_values()).into_iter().map(|hits| Up::Hits(FileHashHits { hits }));
        self.coverage.into_iter().map(Up::Coverage).chain(messages)
    }
}

/// As many hits a message as fit: one with more files goes in several.
fn packed(hits: impl Iterator<Item = FileHashHit>) -> Vec<Vec<FileHashHit>> {
    let mut messages: Vec<Vec<FileHashHit>> = Vec::new();
    let mut room = 0;
    for mut hit in hits {
        let mut holders = std::mem::take(&mut hit.holders).into_iter().peekable();
        // Once, even where no file is named.
        let mut files = Some(hit.files);
        while files.is_some() || holders.peek().is_some() {
            if room == 0 || messages.last().is_none_or(|message| message.len() == FILE_HASH_HITS_PIECE) {
                messages.push(Vec::new());
                room = FILE_HASH_HOLDERS_PIECE;
            }
            let holders: Vec<FileHashHolder> = holders.by_ref().take(room).collect();
            room -= holders.len();
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
            let mut whole: BTreeMap<u32, FileHashHit> = BTreeMap::new();
            for message in &messages {
                let named: usize = message.iter().map(|hit| hit.holders.len()).sum();
                assert!(
                    !message.is_empty() && message.len() <= FILE_HASH_HITS_PIECE && named <= FILE_HASH_HOLDERS_PIECE
                );
                for hit in message {
                    let own = whole.entry(hit.number).or_insert_with(|| FileHashHit { holders: vec![], ..hit.clone() });
                    own.holders.extend(hit.holders.iter().cloned());
                }
            }
            assert_eq!(whole.into_values().collect::<Vec<_>>(), hits, "{counts:?}");
            assert!(messages.len() <= 1 + counts.iter().sum::<usize>() / 64 + counts.len() / FILE_HASH_HITS_PIECE);
        }
    }
}
