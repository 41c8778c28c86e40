//! A query by hashes and its answer between people and the coordinator, in both directions.

use cognate_proto::file_hash::{FileHashList, HashKinds};
use cognate_proto::limits::{
    FILE_HASH_HOLDERS_PIECE, FILE_HASHES_MAX, FIND_HOLDERS_MAX, FIND_MATCHES_DEFAULT, TEXT_BYTES_MAX,
};
use cognate_proto::path::DocumentPath;
use cognate_proto::v1;
use cognate_proto::v1::find_hashes_response::Message as Down;

use super::{HashAnswer, HashCoverage, HashHit, HashHolder, HashQuery};
use crate::error::Error;
use crate::find::query::place;

impl HashQuery {
    /// Checks the opening message of a query; the hashes come after it.
    ///
    /// # Errors
    /// When a name makes no sense.
    pub fn open(open: &v1::FindHashesOpen) -> Result<HashQuery, Error> {
        let default = u32::try_from(FIND_MATCHES_DEFAULT).unwrap_or(u32::MAX);
        let greatest = u32::try_from(FIND_HOLDERS_MAX).unwrap_or(u32::MAX);
        Ok(HashQuery {
            list: FileHashList::default(),
            repositories: open.repositories.iter().map(place).collect::<Result<_, Error>>()?,
            holders_max: if open.holders_max == 0 { default } else { open.holders_max.min(greatest) },
        })
    }

    /// Receives the next hashes.
    ///
    /// # Errors
    /// When they are not what may come next, or too many.
    pub fn take(&mut self, table: &v1::FileHashTable) -> Result<(), Error> {
        self.list.take(table).map_err(|error| Error::Invalid(error.to_string()))
    }
}

impl HashAnswer {
    /// The answer, message by message.
    pub fn into_wire(self) -> impl Iterator<Item = Down> {
        let coverage = self.coverage.into_iter().map(|row| Down::Coverage(row.into()));
        coverage.chain(self.hits.into_iter().flat_map(|(number, hit)| messages(number, hit)))
    }

    /// Receives the next message of an answer.
    ///
    /// # Errors
    /// When it cannot come there: the other side speaks another version.
    pub fn take(&mut self, message: Down) -> Result<(), Error> {
        let nonsense = || Error::Protocol("an answer that makes no sense: is the coordinator of this version?".into());
        match message {
            Down::Coverage(row) => self.coverage.push(row.into()),
            Down::Hit(hit) => {
                let number = Some(hit.number).filter(|number| (*number as usize) < FILE_HASHES_MAX);
                let own = self.hits.entry(number.ok_or_else(nonsense)?).or_default();
                own.files = own.files.max(hit.files);
                for holder in hit.holders {
                    own.holders.push(holder_of(holder).ok_or_else(nonsense)?);
                }
                if own.holders.len() as u64 > own.files {
                    return Err(nonsense());
                }
            }
        }
        Ok(())
    }
}

fn messages(number: u32, hit: HashHit) -> Vec<Down> {
    let piece = |holders: &[HashHolder]| {
        let holders = holders.iter().cloned().map(holder_to_wire).collect();
        Down::Hit(v1::FindHashesHit { number, files: hit.files, holders })
    };
    match hit.holders.is_empty() {
        true => vec![piece(&[])],
        false => hit.holders.chunks(FILE_HASH_HOLDERS_PIECE).map(piece).collect(),
    }
}

fn holder_to_wire(holder: HashHolder) -> v1::FindHashesHolder {
    v1::FindHashesHolder {
        party: holder.party,
        site: holder.site.to_string(),
        holder: Some(v1::FileHashHolder {
            repository: holder.repository.to_string(),
            path: holder.path.as_bytes().to_vec(),
            size_bytes: holder.size_bytes,
            modified: holder.modified,
            state: holder.state.into(),
        }),
    }
}

fn holder_of(message: v1::FindHashesHolder) -> Option<HashHolder> {
    let holder = message.holder?;
    Some(HashHolder {
        party: message.party,
        site: message.site.parse().ok()?,
        repository: holder.repository.parse().ok()?,
        path: DocumentPath::new(&holder.path).ok()?,
        size_bytes: holder.size_bytes,
        modified: holder.modified,
        state: holder.state(),
    })
}

impl From<HashCoverage> for v1::FindHashesCoverage {
    fn from(row: HashCoverage) -> v1::FindHashesCoverage {
        v1::FindHashesCoverage {
            party: row.party,
            site: row.site,
            repository: row.repository,
            kinds: row.kinds.to_wire(),
            reason: row.reason.chars().take(TEXT_BYTES_MAX / 4).collect(),
            files: row.files,
            files_without: row.files_without,
            synced: row.synced,
        }
    }
}

impl From<v1::FindHashesCoverage> for HashCoverage {
    fn from(row: v1::FindHashesCoverage) -> HashCoverage {
        HashCoverage {
            kinds: HashKinds::from_wire(&row.kinds),
            party: row.party,
            site: row.site,
            repository: row.repository,
            reason: row.reason,
            files: row.files,
            files_without: row.files_without,
            synced: row.synced,
        }
    }
}
