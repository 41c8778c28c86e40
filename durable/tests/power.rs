//! Files after a loss of power at any moment, in every order in which the disk may have written.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;

use cognate_disk_faults::{CrashStates, record};
use cognate_durable::log::{Format, Log, Next, Records};
use cognate_durable::whole::{PUBLIC, write_whole};

const FORMAT: Format = Format { magic: b"a log 1\n", record_bytes_max: 100 };
/// States of one moment: all of them, or so many that a seed chooses.
const STATES_MAX: usize = 300;
const SEED: u64 = 1;

/// Calls `each` with every folder that a loss of power may leave, and the last mark before it.
fn every_state(states: &CrashStates, mut each: impl FnMut(&Path, u64, &str)) {
    for moment in 0..states.moments() {
        for state in states.at(moment, STATES_MAX, SEED) {
            let folder = tempfile::tempdir().unwrap();
            state.write_to(folder.path()).unwrap();
            each(folder.path(), state.acknowledged.unwrap_or_default(), &state.description);
        }
    }
}

#[test]
fn a_whole_file_has_the_old_or_the_new_content_and_the_new_one_once_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let recording = record(folder.path()).unwrap();
    let contents: [&[u8]; 3] = [b"the first", b"the second, which is longer", b"3"];
    for (number, content) in (1..).zip(contents) {
        write_whole(&folder.path().join("file"), content, PUBLIC).unwrap();
        recording.mark(number);
    }
    every_state(&recording.finish(), |folder, written, context| {
        let found = std::fs::read(folder.join("file")).ok();
        let version =
            found.map_or(0, |found| contents.iter().position(|content| *content == found).expect(context) + 1);
        assert!(version as u64 >= written, "{context}: version {version} after {written} was written");
    });
}

#[test]
fn a_log_has_every_record_that_was_synced_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let recording = record(folder.path()).unwrap();
    let mut log = Log::open(&folder.path().join("log"), FORMAT, PUBLIC, true).unwrap();
    let bodies: Vec<Vec<u8>> = (0..4).map(|number| vec![number + 1; 5 + usize::from(number)]).collect();
    for (number, body) in (1..).zip(&bodies) {
        log.append(body).unwrap();
        log.sync().unwrap();
        recording.mark(number);
    }
    every_state(&recording.finish(), |folder, synced, context| {
        let path = folder.join("log");
        let mut log = Log::open(&path, FORMAT, PUBLIC, true).unwrap();
        let mut records = Records::open(&path, FORMAT).expect(context);
        let mut found = vec![];
        while let Next::Record(body) = records.next().unwrap() {
            found.push(body);
        }
        assert!(found.len() as u64 >= synced && found == bodies[..found.len()], "{context}: {found:?} of {synced}");
        log.resume(records.place()).unwrap();
        log.append(b"after").unwrap();
        let mut records = Records::open(&path, FORMAT).unwrap();
        let all = std::iter::from_fn(|| match records.next().unwrap() {
            Next::Record(body) => Some(body),
            next => {
                assert_eq!(next, Next::End, "{context}");
                None
            }
        });
        assert_eq!(all.last().unwrap(), b"after", "{context}");
    });
}
