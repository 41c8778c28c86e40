//! The answers about contents that this site has given today: what a coordinator may ask for has a limit that the site counts itself,
//! whatever the coordinator says of scans.
//!
//! The counts of a day are in a file, so that a start does not begin them again. A chunk that is asked for again says nothing new
//! and counts once, but only so often, since each time costs a reading. Which chunks were asked for is in memory alone: after a
//! start they count anew.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use cognate_durable::whole::write_whole;
use cognate_fingerprint::{MethodId, Tag};
use cognate_proto::name::RepositoryName;
use foldhash::HashMap;
use prost::Message as _;

use crate::error::SyncError;

/// The name of the file in the state folder.
const FILE: &str = "answers";
const PRIVATE: u32 = 0o600;
const DAY_SECONDS: u64 = 86_400;
/// Chunks of an index that may be cut again in a day however few it has: 65 MB of documents at the usual mean.
pub(crate) const CHUNKS_LEAST: u64 = 1 << 16;
/// How often one chunk is cut again in a day: as often as an unsteady line makes a scan ask.
const TIMES_MAX: u8 = 64;
/// Chunks of which it is known how often they were asked for: some 140 MB. Others count each time.
const KNOWN_MAX: usize = 1 << 22;
/// The limits that all indexes of a repository have in a day together: that of the bytes and that of the texts, whatever methods cut them.
const LIMITS_MAX: f64 = 2.0;
/// Pairs that are measured exactly in a day: those of 32 scans.
pub(crate) const PAIRS_MAX: u64 = 32 * 64;

/// The part of the chunks of an index that may be cut again in a day.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkLimit {
    /// Above 0 and at most 1.
    pub(crate) share: f64,
    /// Chunks of all contents that were sent of the index.
    pub(crate) in_index: u64,
}

impl ChunkLimit {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a number of chunks, which a double holds exactly up to 2^53"
    )]
    fn chunks(self) -> u64 {
        ((self.in_index as f64 * self.share) as u64).max(CHUNKS_LEAST)
    }
}

/// The counts of today.
pub(crate) struct Answers {
    path: PathBuf,
    clock: fn() -> SystemTime,
    today: Mutex<Today>,
}

#[derive(Default)]
struct Today {
    counts: Counts,
    /// How often each chunk was asked for, by the beginning of its tag.
    times: HashMap<u64, u8>,
}

/// The content of the file.
#[derive(Clone, PartialEq, prost::Message)]
struct Counts {
    /// Days since 1970, UTC.
    #[prost(uint64, tag = "1")]
    day: u64,
    #[prost(message, repeated, tag = "2")]
    indexes: Vec<IndexCount>,
    /// Pairs that were measured exactly.
    #[prost(uint64, tag = "3")]
    pairs: u64,
}

/// Chunks of an index that were cut again.
#[derive(Clone, PartialEq, prost::Message)]
struct IndexCount {
    #[prost(string, tag = "1")]
    repository: String,
    #[prost(bytes = "vec", tag = "2")]
    method_id: Vec<u8>,
    #[prost(uint64, tag = "3")]
    chunks: u64,
    /// The limit when they were counted last.
    #[prost(uint64, tag = "4")]
    limit: u64,
}

impl IndexCount {
    /// The part of its limit that was used.
    fn used(&self) -> f64 {
        share_of(self.chunks, self.limit)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share of numbers that a double holds exactly up to 2^53")]
fn share_of(chunks: u64, limit: u64) -> f64 {
    chunks as f64 / limit.max(1) as f64
}

impl Answers {
    /// Opens the counts of a state folder. A file that cannot be read counts as none: it saves nothing but the limits of today.
    pub(crate) fn open(state_dir: &Path, clock: fn() -> SystemTime) -> Answers {
        let path = state_dir.join(FILE);
        let counts = match std::fs::read(&path) {
            Ok(bytes) => Counts::decode(&*bytes).map_err(io::Error::other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Counts::default()),
            Err(error) => Err(error),
        };
        let counts = counts.unwrap_or_else(|error| {
            tracing::warn!(%error, path = %path.display(), "the counts of today's answers cannot be read, and begin again");
            Counts::default()
        });
        Answers { path, clock, today: Mutex::new(Today { counts, times: HashMap::default() }) }
    }

    /// Counts chunks that are about to be cut again.
    ///
    /// # Errors
    /// If they are too many for today, or one was asked for too often; nothing is counted then. Or if the file cannot be written.
    pub(crate) fn take_chunks(
        &self,
        repository: &RepositoryName,
        method_id: MethodId,
        limit: ChunkLimit,
        tags: &[Tag],
    ) -> Result<(), SyncError> {
        let mut today = self.today.lock().expect("nothing panics while it is held");
        today.begin(self.day());
        let key = |tag: &Tag| u64::from_le_bytes(*tag.0.first_chunk().expect("a tag has sixteen bytes"));
        let mut asked: HashMap<u64, u64> = HashMap::default();
        for tag in tags {
            *asked.entry(key(tag)).or_default() += 1;
        }
        let times = |tag: &u64| today.times.get(tag).copied().unwrap_or(0);
        if asked.iter().any(|(tag, more)| u64::from(times(tag)) + more > TIMES_MAX.into()) {
            return Err(SyncError::Policy(format!(
                "the scan asks for the pieces of a chunk of `{repository}` that it had {TIMES_MAX} times today: it can go on tomorrow"
            )));
        }
        let new = asked.keys().filter(|tag| times(tag) == 0).count() as u64;
        let index = today.index(repository, method_id);
        let (most, before) = (limit.chunks(), today.counts.indexes[index].chunks);
        if before + new > most {
            return Err(SyncError::Policy(format!(
                "policy.fine_share_per_day is {}, so that of `{repository}` {most} chunks are cut again in a day: {before} were today, \
                 the scan asks for {new} more, and can go on tomorrow",
                limit.share
            )));
        }
        let of_others = today.others(repository, method_id).map(IndexCount::used).sum::<f64>();
        if of_others + share_of(before + new, most) > LIMITS_MAX {
            return Err(SyncError::Policy(format!(
                "policy.fine_share_per_day is {}, and the chunks of `{repository}` that were cut again today, over all methods, are                  twice that: the scan can go on tomorrow",
                limit.share
            )));
        }
        today.counts.indexes[index].chunks += new;
        today.counts.indexes[index].limit = most;
        for (tag, more) in asked {
            let is_full = today.times.len() >= KNOWN_MAX;
            match today.times.get_mut(&tag) {
                Some(times) => *times = times.saturating_add(u8::try_from(more).unwrap_or(u8::MAX)),
                None if is_full => {}
                None => drop(today.times.insert(tag, u8::try_from(more).unwrap_or(u8::MAX))),
            }
        }
        self.write(&today.counts)
    }

    /// Counts pairs that are about to be measured exactly.
    ///
    /// # Errors
    /// If they are too many for today; nothing is counted then. Or if the file cannot be written.
    pub(crate) fn take_pairs(&self, pairs: usize) -> Result<(), SyncError> {
        let mut today = self.today.lock().expect("nothing panics while it is held");
        today.begin(self.day());
        let (before, new) = (today.counts.pairs, pairs as u64);
        if before + new > PAIRS_MAX {
            return Err(SyncError::Policy(format!(
                "{before} pairs were measured exactly today, of {PAIRS_MAX} in a day, and the scan asks for {new} more"
            )));
        }
        today.counts.pairs += new;
        self.write(&today.counts)
    }

    fn day(&self) -> u64 {
        (self.clock)().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / DAY_SECONDS
    }

    fn write(&self, counts: &Counts) -> Result<(), SyncError> {
        write_whole(&self.path, &counts.encode_to_vec(), PRIVATE)
            .map_err(|source| SyncError::Records { path: self.path.clone(), source })
    }
}

impl Today {
    /// Begins the counts again on another day. A clock that is set back begins nothing again, and one that was far ahead does not hold
    /// the counts until that day comes.
    fn begin(&mut self, day: u64) {
        if self.counts.day > day + 1 {
            self.counts.day = day;
        }
        if day > self.counts.day {
            *self = Today { counts: Counts { day, ..Counts::default() }, times: HashMap::default() };
        }
    }

    /// The counts of a repository by other methods.
    fn others(&self, repository: &RepositoryName, method_id: MethodId) -> impl Iterator<Item = &IndexCount> {
        let is_other =
            move |index: &&IndexCount| index.repository == repository.as_str() && index.method_id != method_id.0;
        self.counts.indexes.iter().filter(is_other)
    }

    /// The place of the count of an index.
    fn index(&mut self, repository: &RepositoryName, method_id: MethodId) -> usize {
        let indexes = &mut self.counts.indexes;
        let is_it = |index: &IndexCount| index.repository == repository.as_str() && index.method_id == method_id.0;
        indexes.iter().position(is_it).unwrap_or_else(|| {
            indexes.push(IndexCount {
                repository: repository.to_string(),
                method_id: method_id.0.to_vec(),
                ..IndexCount::default()
            });
            indexes.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const METHOD: MethodId = MethodId([1; 16]);

    fn on_day(day: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(day * DAY_SECONDS + 5)
    }

    fn tags(numbers: std::ops::Range<u64>) -> Vec<Tag> {
        let tag = |number: u64| {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&number.to_le_bytes());
            Tag(bytes)
        };
        numbers.map(tag).collect()
    }

    fn refusal(result: Result<(), SyncError>) -> String {
        match result {
            Err(SyncError::Policy(reason)) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_day_has_a_share_of_the_chunks_and_a_start_begins_nothing_again() {
        let folder = tempfile::tempdir().unwrap();
        let limit = ChunkLimit { share: 0.5, in_index: 400_000 };
        let kb: RepositoryName = "kb".parse().unwrap();
        let take = |answers: &Answers, limit, numbers| answers.take_chunks(&kb, METHOD, limit, &tags(numbers));
        let answers = Answers::open(folder.path(), || on_day(20_000));
        take(&answers, limit, 0..150_000).unwrap();
        // What was asked for already is not new.
        take(&answers, limit, 0..200_000).unwrap();
        let refused = refusal(take(&answers, limit, 200_000..200_001));
        for part in ["policy.fine_share_per_day is 0.5", "200000 chunks", "200000 were", "1 more"] {
            assert!(refused.contains(part), "{refused}");
        }
        // Another index has its own share, and one of few chunks has all of them.
        let few = ChunkLimit { share: 0.1, in_index: 125 };
        answers.take_chunks(&"other".parse().unwrap(), METHOD, few, &tags(300_000..300_125)).unwrap();
        drop(answers);
        let again = Answers::open(folder.path(), || on_day(20_000));
        refusal(take(&again, limit, 500_000..500_001));
        for day in [|| on_day(19_990), || on_day(19_990)] {
            let far_ahead = Answers::open(folder.path(), day);
            refusal(take(&far_ahead, limit, 500_000..500_001));
        }
        let set_back = Answers::open(folder.path(), || on_day(19_999));
        refusal(take(&set_back, limit, 500_000..500_001));
        let tomorrow = Answers::open(folder.path(), || on_day(20_001));
        take(&tomorrow, limit, 0..200_000).unwrap();
    }

    #[test]
    fn a_chunk_is_cut_again_only_so_often_in_a_day() {
        let folder = tempfile::tempdir().unwrap();
        let answers = Answers::open(folder.path(), || on_day(20_000));
        let (kb, limit) = ("kb".parse().unwrap(), ChunkLimit { share: 1.0, in_index: 125 });
        for _ in 0..TIMES_MAX {
            answers.take_chunks(&kb, METHOD, limit, &tags(0..125)).unwrap();
        }
        assert!(refusal(answers.take_chunks(&kb, METHOD, limit, &tags(7..8))).contains("64 times today"));
        answers.take_chunks(&kb, METHOD, limit, &tags(125..126)).unwrap();
    }

    #[test]
    fn a_chunk_that_stands_often_in_one_choice_counts_as_often() {
        let folder = tempfile::tempdir().unwrap();
        let answers = Answers::open(folder.path(), || on_day(20_000));
        let (kb, limit) = ("kb".parse().unwrap(), ChunkLimit { share: 1.0, in_index: 125 });
        let take = |times| answers.take_chunks(&kb, METHOD, limit, &tags(7..8).repeat(times));
        refusal(take(65));
        take(40).unwrap();
        refusal(take(25));
        take(24).unwrap();
    }

    #[test]
    fn other_methods_give_a_repository_no_more_than_two_shares() {
        let folder = tempfile::tempdir().unwrap();
        let answers = Answers::open(folder.path(), || on_day(20_000));
        let (kb, limit) = ("kb".parse().unwrap(), ChunkLimit { share: 0.5, in_index: 400_000 });
        let take = |method, from: u64, count| {
            answers.take_chunks(&kb, MethodId([method; 16]), limit, &tags(from..from + count))
        };
        take(1, 0, 200_000).unwrap();
        take(2, 1_000_000, 100_000).unwrap();
        take(3, 2_000_000, 90_000).unwrap();
        assert!(refusal(take(4, 3_000_000, 20_000)).contains("over all methods"));
        take(4, 3_000_000, 10_000).unwrap();
        answers.take_chunks(&"other".parse().unwrap(), MethodId([4; 16]), limit, &tags(0..200_000)).unwrap();
    }

    #[test]
    fn a_day_has_exact_measures_for_some_scans() {
        let folder = tempfile::tempdir().unwrap();
        let answers = Answers::open(folder.path(), || on_day(20_000));
        for _ in 0..32 {
            answers.take_pairs(64).unwrap();
        }
        assert!(refusal(answers.take_pairs(1)).contains("2048 pairs were measured exactly today"));
        refusal(Answers::open(folder.path(), || on_day(20_000)).take_pairs(1));
    }

    #[test]
    fn a_damaged_file_begins_the_counts_again_and_one_that_cannot_be_written_refuses() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), [0xff; 9]).unwrap();
        Answers::open(folder.path(), || on_day(20_000)).take_pairs(64).unwrap();
        let answers = Answers::open(&folder.path().join("absent"), || on_day(20_000));
        assert!(matches!(answers.take_pairs(1), Err(SyncError::Records { .. })));
    }
}
