//! The exact measures of pairs, in a file: a record for each pair, and at the end a checksum of everything before it. The file
//! stays with the latest scan of its kind, so that a scan of the same documents asks for nothing again.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::Path;

use cognate_durable::whole::Draft;
use cognate_fingerprint::ContentDigest;
use cognate_proto::measure::ContentPair;

use crate::error::Error;

const MAGIC: [u8; 8] = *b"CGNATEX1";
const CHECKSUM_BYTES: usize = 32;
/// Two digests, and the bytes of each content that are in the other.
const RECORD_BYTES: usize = 2 * 16 + 2 * 8;
/// Pairs of earlier comparisons that stay.
const KEPT_MAX: usize = 4096;

/// Exact measures, by the digests under which the sites know the contents.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Answers(BTreeMap<ContentPair, [u64; 2]>);

impl Answers {
    /// The bytes of each content of a pair that are in the other, if they were counted.
    pub(super) fn get(&self, pair: &ContentPair) -> Option<[u64; 2]> {
        self.0.get(pair).copied()
    }

    pub(super) fn insert(&mut self, pair: ContentPair, shared_bytes: [u64; 2]) {
        self.0.insert(pair, shared_bytes);
    }

    /// Adds the pairs of an earlier scan, as long as they are not too many.
    pub(super) fn keep(&mut self, earlier: &Answers) {
        for (pair, shared_bytes) in &earlier.0 {
            if self.0.len() < KEPT_MAX {
                self.0.entry(*pair).or_insert(*shared_bytes);
            }
        }
    }

    /// Writes the file; with `sync` it is on the disk then.
    pub(super) fn write(&self, path: &Path, sync: bool) -> Result<(), Error> {
        let mut bytes = MAGIC.to_vec();
        for (pair, shared_bytes) in &self.0 {
            pair.iter().for_each(|digest| bytes.extend(digest.0));
            shared_bytes.iter().for_each(|count| bytes.extend(count.to_le_bytes()));
        }
        let checksum = *blake3::hash(&bytes).as_bytes();
        bytes.extend(checksum);
        let (draft, mut file) = Draft::create(path, 0o600).map_err(Error::state(path))?;
        file.write_all(&bytes).map_err(Error::state(path))?;
        draft.finish(sync).map_err(Error::state(path))
    }

    /// Reads a file, and checks all of it.
    pub(super) fn read(path: &Path) -> Result<Answers, Error> {
        let bytes = std::fs::read(path).map_err(Error::state(path))?;
        let damaged = || Error::state(path)(io::Error::new(io::ErrorKind::InvalidData, "it is damaged"));
        let (body, checksum) = bytes.split_last_chunk::<CHECKSUM_BYTES>().ok_or_else(damaged)?;
        let records = body.strip_prefix(&MAGIC).ok_or_else(damaged)?;
        let (records, rest) = records.as_chunks::<RECORD_BYTES>();
        if !rest.is_empty() || checksum != blake3::hash(body).as_bytes() {
            return Err(damaged());
        }
        let number = |record: &[u8; RECORD_BYTES], start: usize| {
            u64::from_le_bytes(record[start..start + 8].try_into().expect("eight bytes"))
        };
        let digest = |record: &[u8; RECORD_BYTES], start: usize| {
            ContentDigest(record[start..start + 16].try_into().expect("sixteen bytes"))
        };
        let pair = |record| ([digest(record, 0), digest(record, 16)], [number(record, 32), number(record, 40)]);
        Ok(Answers(records.iter().map(pair).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(numbers: std::ops::Range<u8>) -> Answers {
        let pair = |number: u8| [ContentDigest([number; 16]), ContentDigest([number ^ 0x80; 16])];
        Answers(numbers.map(|number| (pair(number), [u64::from(number), 1 << number])).collect())
    }

    #[test]
    fn measures_are_read_back_and_earlier_ones_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("exact");
        for written in [answers(0..0), answers(3..9)] {
            written.write(&path, false).unwrap();
            assert_eq!(Answers::read(&path).unwrap(), written);
        }
        let mut kept = answers(8..12);
        kept.keep(&answers(3..9));
        assert_eq!(kept, answers(3..12));
        assert_eq!(kept.get(&[ContentDigest([4; 16]), ContentDigest([0x84; 16])]), Some([4, 16]));
    }

    #[test]
    fn a_damaged_file_is_refused_whichever_byte_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("exact");
        answers(0..3).write(&path, false).unwrap();
        let intact = std::fs::read(&path).unwrap();
        for place in 0..intact.len() {
            let mut damaged = intact.clone();
            damaged[place] ^= 0x20;
            std::fs::write(&path, damaged).unwrap();
            assert!(Answers::read(&path).is_err(), "byte {place}");
            std::fs::write(&path, &intact[..place]).unwrap();
            assert!(Answers::read(&path).is_err(), "{place} bytes");
        }
    }
}
