//! An answer by hashes as one object, schema `cognate.find-hashes/1`. Fields are in the order of their names.

use cognate_proto::file_hash::{FileHash, HashKinds};
use cognate_proto::path::escaped;
use cognate_proto::v1::FileHashState;
use serde::{Deserialize, Serialize};

use super::{HashAnswer, HashCoverage, HashHit, HashHolder, Listed};
use crate::find::record::HolderRow;
pub use cognate_result::report::time;

/// The schema of the object.
pub const SCHEMA: &str = "cognate.find-hashes/1";

/// The full answer.
#[derive(Serialize, Deserialize, Debug)]
pub struct HashesRecord {
    /// The repositories that the query is about.
    pub coverage: Vec<CoverageRow>,
    /// The numbers.
    #[serde(flatten)]
    pub counts: Counts,
    /// The hashes that files have.
    pub matches: Vec<HashRow>,
    /// [`SCHEMA`].
    pub schema: String,
}

/// The part of an answer that occurs once.
#[derive(Serialize, Deserialize, Debug)]
pub struct Head {
    /// The numbers.
    #[serde(flatten)]
    pub counts: Counts,
    /// [`SCHEMA`].
    pub schema: String,
}

/// The numbers of an answer.
#[derive(Serialize, Deserialize, Debug)]
pub struct Counts {
    /// Files that have a hash of the list.
    pub files: u64,
    /// Hashes on the list.
    pub hashes: u64,
    /// Of them, those that a file has.
    pub hashes_found: u64,
    /// The kinds of hashes on the list.
    pub kinds: Vec<String>,
}

/// A repository, and the coverage of the query in it.
#[derive(Serialize, Deserialize, Debug)]
pub struct CoverageRow {
    /// True if all hashes of the list were looked for.
    pub covered: bool,
    /// Its files with stored hashes of all these kinds.
    pub files: u64,
    /// Its files without them: they were not searched.
    pub files_without: u64,
    /// Hashes of these kinds were looked for.
    pub kinds: Vec<String>,
    /// The site's party.
    pub party: String,
    /// If not covered: the reason.
    pub reason: Option<String>,
    /// The repository.
    pub repository: String,
    /// The site.
    pub site: String,
    /// The time of the last update of the hashes.
    pub synced: Option<String>,
}

/// A hash that files have.
#[derive(Serialize, Deserialize, Debug)]
pub struct HashRow {
    /// Files that have it.
    pub files: u64,
    /// Of them, those that are not named.
    pub files_omitted: u64,
    /// The hash, in hexadecimal digits.
    pub hash: String,
    /// The first files that have it.
    pub holders: Vec<FileRow>,
    /// The kind of the hash.
    pub kind: String,
    /// The names that the list has for it.
    pub listed_as: Vec<String>,
}

/// A file that has a hash.
#[derive(Serialize, Deserialize, Debug)]
pub struct FileRow {
    /// Where it is.
    #[serde(flatten)]
    pub holder: HolderRow,
    /// Its size.
    pub size_bytes: u64,
    /// The word for its state since it was hashed.
    pub state: String,
}

impl HashesRecord {
    /// The full answer.
    pub fn of(listed: &Listed, answer: &HashAnswer) -> HashesRecord {
        let Head { counts, schema } = Head::of(listed, answer);
        HashesRecord {
            coverage: answer.coverage.iter().map(CoverageRow::from).collect(),
            counts,
            matches: answer.hits.iter().map(|(number, hit)| HashRow::of(listed, *number, hit)).collect(),
            schema,
        }
    }
}

impl Head {
    /// The part that occurs once.
    pub fn of(listed: &Listed, answer: &HashAnswer) -> Head {
        let counts = Counts {
            files: answer.files(),
            hashes: listed.list.hashes().len() as u64,
            hashes_found: answer.hits.len() as u64,
            kinds: names(listed.list.kinds()),
        };
        Head { counts, schema: SCHEMA.to_owned() }
    }
}

impl From<&HashCoverage> for CoverageRow {
    fn from(row: &HashCoverage) -> CoverageRow {
        CoverageRow {
            covered: row.reason.is_empty(),
            files: row.files,
            files_without: row.files_without,
            kinds: names(row.kinds),
            party: row.party.clone(),
            reason: Some(&row.reason).filter(|reason| !reason.is_empty()).cloned(),
            repository: row.repository.clone(),
            site: row.site.clone(),
            synced: (row.synced != 0).then(|| time(row.synced)),
        }
    }
}

impl HashRow {
    /// The hash with a number on the list.
    pub fn of(listed: &Listed, number: u32, hit: &HashHit) -> HashRow {
        let hash = hash(listed, number);
        HashRow {
            files: hit.files,
            files_omitted: hit.omitted(),
            hash: hash.to_string(),
            holders: hit.holders.iter().map(FileRow::from).collect(),
            kind: hash.kind().name().to_owned(),
            listed_as: listed.names.get(&number).cloned().unwrap_or_default(),
        }
    }
}

impl From<&HashHolder> for FileRow {
    fn from(holder: &HashHolder) -> FileRow {
        let (path, path_escaped) = escaped(holder.path.as_bytes());
        let place = HolderRow {
            modified: time(holder.modified),
            party: holder.party.clone(),
            path: path.into_owned(),
            path_escaped,
            repository: holder.repository.to_string(),
            site: holder.site.to_string(),
        };
        FileRow { holder: place, size_bytes: holder.size_bytes, state: state(holder.state).to_owned() }
    }
}

fn names(kinds: HashKinds) -> Vec<String> {
    kinds.iter().map(|kind| kind.name().to_owned()).collect()
}

/// The hash with a number.
pub fn hash(listed: &Listed, number: u32) -> &FileHash {
    &listed.list.hashes()[number as usize]
}

/// The word for the state of a file since it was hashed.
pub fn state(state: FileHashState) -> &'static str {
    match state {
        FileHashState::Unchanged | FileHashState::Unspecified => "unchanged",
        FileHashState::Changed => "changed",
        FileHashState::Gone => "gone",
    }
}

#[cfg(test)]
mod tests;
