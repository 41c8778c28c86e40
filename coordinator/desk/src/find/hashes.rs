//! Finds by hashes: the files that have an MD5, SHA-1 or SHA-256 of a list.

mod list;
pub mod record;
mod wire;

use std::collections::BTreeMap;

use cognate_proto::file_hash::{FileHashList, HashKinds};
use cognate_proto::name::{RepositoryName, SiteName};
use cognate_proto::path::DocumentPath;
use cognate_proto::v1::FileHashState;

pub use self::list::Listed;

/// A query by hashes.
#[derive(Clone, Debug)]
pub struct HashQuery {
    /// The hashes.
    pub list: FileHashList,
    /// The places to look in; nothing: everywhere. Without a repository: in all of the site.
    pub repositories: Vec<(SiteName, Option<RepositoryName>)>,
    /// The number of files that are named for each hash.
    pub holders_max: u32,
}

/// The answer to a query by hashes.
#[derive(Clone, Default, Debug)]
pub struct HashAnswer {
    /// All repositories that the query is about and the person may see, by site and name.
    pub coverage: Vec<HashCoverage>,
    /// By the number of the hash on the list.
    pub hits: BTreeMap<u32, HashHit>,
}

/// A repository, and the coverage of the query in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HashCoverage {
    /// The site's party.
    pub party: String,
    /// The site.
    pub site: String,
    /// The repository.
    pub repository: String,
    /// Hashes of these kinds were looked for.
    pub kinds: HashKinds,
    /// The reason for which not all were, in one line; empty: all were.
    pub reason: String,
    /// Its files with stored hashes of all these kinds.
    pub files: u64,
    /// Its files without them: they were not searched.
    pub files_without: u64,
    /// The time of the last update of the hashes; seconds since 1970.
    pub synced: i64,
}

/// The files that have a hash.
#[derive(Clone, Default, Debug)]
pub struct HashHit {
    /// The number of files.
    pub files: u64,
    /// The first of them, by site, repository and path.
    pub holders: Vec<HashHolder>,
}

/// A file that has a hash.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HashHolder {
    /// The site's party.
    pub party: String,
    /// The site.
    pub site: SiteName,
    /// The repository.
    pub repository: RepositoryName,
    /// The path.
    pub path: DocumentPath,
    /// Its size.
    pub size_bytes: u64,
    /// The time of its last change; seconds since 1970.
    pub modified: i64,
    /// The state of the file since it was hashed.
    pub state: FileHashState,
}

impl HashCoverage {
    /// True if all hashes of the query were looked for in all its files.
    pub fn is_whole(&self) -> bool {
        self.reason.is_empty() && self.files_without == 0
    }
}

impl HashHit {
    /// The number of files that are not named.
    pub fn omitted(&self) -> u64 {
        self.files - self.holders.len() as u64
    }
}

impl HashAnswer {
    /// The number of matching files, each as often as it has a hash of the list.
    pub fn files(&self) -> u64 {
        self.hits.values().map(|hit| hit.files).sum()
    }

    /// In the same order whichever site answered first.
    pub fn finish(&mut self, holders_max: u32) {
        self.coverage.sort_by(|a, b| (&a.site, &a.repository).cmp(&(&b.site, &b.repository)));
        for hit in self.hits.values_mut() {
            hit.holders.sort_by(|a, b| (&a.site, &a.repository, &a.path).cmp(&(&b.site, &b.repository, &b.path)));
            hit.holders.truncate(holders_max as usize);
        }
    }
}
