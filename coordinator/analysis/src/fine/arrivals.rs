//! The log of the fine chunks that arrive for a scan: what a site has sent is not asked for again, whichever process ends.
//!
//! A record has the chunks of one message: for each its tag, the number of its fine chunks (4 bytes, little-endian), and of every fine
//! chunk its length and tag. The finished file of fine chunks replaces the log.

use std::path::Path;

use cognate_durable::log::{Format, Log, Next, Records};
use cognate_fingerprint::Tag;
use cognate_proto::fine::Expansion;
use cognate_proto::limits::{FINE_TABLE_CHUNKS_MAX, FINE_TABLE_MAX};

use super::chunk_file::{FINE_BYTES, HEADER_BYTES};
use super::expansions::ExpansionsWriter;
use crate::error::Error;

const FORMAT: Format =
    Format { magic: b"CGNATARR", record_bytes_max: FINE_TABLE_CHUNKS_MAX * HEADER_BYTES + FINE_TABLE_MAX * FINE_BYTES };
const PRIVATE: u32 = 0o600;

/// The open log.
pub(super) struct Arrivals {
    log: Log,
}

impl Arrivals {
    /// Opens the log of a scan, or begins one, and writes what it has to `writer`.
    pub(super) fn open(path: &Path, writer: &mut ExpansionsWriter) -> Result<Arrivals, Error> {
        let mut log = Log::open(path, FORMAT, PRIVATE, true).map_err(Error::state(path))?;
        let read = Records::open(path, FORMAT);
        let Ok(mut records) = read else {
            // It is not a log of this version: sites are asked again.
            log.restart().map_err(Error::state(path))?;
            return Ok(Arrivals { log });
        };
        let intact = loop {
            let place = records.place();
            match records.next().map_err(Error::state(path))? {
                Next::Record(body) if push_all(&body, writer)? => {}
                Next::Record(_) | Next::End | Next::Incomplete | Next::Changed { .. } => break place,
            }
        };
        log.resume(intact).map_err(Error::state(path))?;
        Ok(Arrivals { log })
    }

    /// Adds the chunks of one message. They survive a loss of power after [`sync`](Arrivals::sync).
    pub(super) fn append(&mut self, expansions: &[Expansion], path: &Path) -> Result<(), Error> {
        let mut body = Vec::new();
        for Expansion { tag, fine } in expansions {
            let count = u32::try_from(fine.len()).expect("a chunk has a few thousand fine chunks");
            body.extend_from_slice(&tag.0);
            body.extend_from_slice(&count.to_le_bytes());
            body.extend(fine.iter().flat_map(|fine| [fine.length_bytes, fine.tag]));
        }
        self.log.append(&body).map_err(|error| Error::state(path)(error.into()))
    }

    /// Syncs all records to the disk.
    pub(super) fn sync(&self, path: &Path) -> Result<(), Error> {
        self.log.sync().map_err(Error::state(path))
    }
}

/// Writes the chunks of a record; answers false if it is not one.
fn push_all(mut body: &[u8], writer: &mut ExpansionsWriter) -> Result<bool, Error> {
    while let Some((header, rest)) = body.split_first_chunk::<HEADER_BYTES>() {
        let (tag, count) = header.split_first_chunk::<16>().expect("a header has a tag");
        let count = u32::from_le_bytes(count.try_into().expect("and a number")) as usize;
        let Some((fine, rest)) = rest.split_at_checked(count.saturating_mul(FINE_BYTES)) else { return Ok(false) };
        writer.push_bytes(Tag(*tag), fine)?;
        body = rest;
    }
    Ok(body.is_empty())
}

#[cfg(test)]
mod tests {
    use cognate_fingerprint::FineChunk;

    use super::*;

    fn expansion(number: u8) -> Expansion {
        let fine = FineChunk { tag: number, length_bytes: 7 };
        Expansion { tag: Tag([number; 16]), fine: vec![fine; usize::from(number) + 1] }
    }

    #[test]
    fn what_arrived_is_there_after_a_restart_up_to_the_record_that_was_cut_whichever_byte_that_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("arrivals");
        let writer = || ExpansionsWriter::create(&folder.path().join("fine")).unwrap();
        let mut arrivals = Arrivals::open(&path, &mut writer()).unwrap();
        let messages: [&[u8]; 3] = [&[3, 4], &[200], &[5, 9]];
        let mut ends = Vec::new();
        for message in messages {
            let expansions: Vec<Expansion> = message.iter().map(|number| expansion(*number)).collect();
            arrivals.append(&expansions, &path).unwrap();
            arrivals.sync(&path).unwrap();
            ends.push(std::fs::metadata(&path).unwrap().len());
        }
        let intact = std::fs::read(&path).unwrap();
        for length in (0..=intact.len()).rev() {
            std::fs::write(&path, &intact[..length]).unwrap();
            let mut again = writer();
            let mut arrivals = Arrivals::open(&path, &mut again).unwrap();
            let there = ends.iter().filter(|end| **end <= length as u64).count();
            for (place, message) in messages.iter().enumerate() {
                for number in *message {
                    assert_eq!(again.contains(&expansion(*number).tag), place < there, "{number} of {length} bytes");
                }
            }
            arrivals.append(&[expansion(77)], &path).unwrap();
            let mut last = writer();
            Arrivals::open(&path, &mut last).unwrap();
            assert!(last.contains(&expansion(77).tag) && last.contains(&expansion(3).tag) == (there > 0));
        }
    }
}
