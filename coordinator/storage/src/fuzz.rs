//! Damaged files of the record: refused by name and place, or read.

use std::path::{Path, PathBuf};

use cognate_proto::batch::body_digest;
use prost::Message as _;

use crate::harness::{batch, method, root};
use crate::indexes::Replay;
use crate::journal::{Event, MemberName, What};
use crate::segment::{self, Kind, SealRecord, SegmentHeader, SegmentWriter};
use crate::store::Store;

fn run(name: &str, valid: &[Vec<u8>], target: impl FnMut(&[u8]) -> String) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name);
    let ran = cognate_fuzzing::run(name, &corpus, valid, target);
    assert!(ran.answers >= 3, "{name}: {ran:?} does not come into the reader");
}

fn header() -> SegmentHeader {
    let method = Some((&method()).into());
    SegmentHeader { site: "a".into(), repository: "main".into(), method, epoch: 7, ..SegmentHeader::default() }
}

/// Writes a segment of these records.
fn write(path: &Path, records: &[(Kind, u64, Vec<u8>)]) -> u64 {
    let _ = std::fs::remove_file(path);
    let mut writer = SegmentWriter::open(path, &header(), 0, false).unwrap();
    for (kind, sequence, body) in records {
        match kind {
            Kind::Batch => writer.append(*sequence, body_digest(body), body).unwrap(),
            kind => writer.append_record(*kind, *sequence, body).unwrap(),
        }
    }
    writer.commit().unwrap()
}

fn replayed(path: &Path, bytes: u64) -> String {
    let mut replay = Replay::new(path, 1 << 20);
    match segment::read(path, bytes, |record| replay.take(&record, |_, chunks| chunks.for_each(drop))) {
        Ok(()) => format!("an index {:?}", replay.seal.is_some()),
        Err(error) => error.to_string(),
    }
}

fn records() -> Vec<(Kind, u64, Vec<u8>)> {
    let seal = SealRecord { root: root(1..=2).to_vec(), ..SealRecord::default() };
    let batches = [1, 2].map(|number| (Kind::Batch, number.into(), batch(number).0));
    batches.into_iter().chain([(Kind::Seal, 2, seal.encode_to_vec())]).collect()
}

fn place(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().join("file")
}

#[test]
fn any_segment_is_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = place(&folder);
    write(&path, &records());
    let valid = std::fs::read(&path).unwrap();
    run("segment", &[valid], |input| {
        std::fs::write(&path, input).unwrap();
        replayed(&path, input.len() as u64)
    });
}

/// The checksums are right: it was written like this, by a bug or by somebody else.
#[test]
fn any_records_of_a_segment_are_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = place(&folder);
    let kinds = [Kind::Batch, Kind::Seal, Kind::Base, Kind::Compacted];
    let valid: Vec<Vec<u8>> = kinds
        .iter()
        .flat_map(|kind| records().into_iter().map(|(_, _, body)| [vec![*kind as u8], body].concat()))
        .collect();
    run("segment-records", &valid, |input| {
        let Some((kind, body)) = input.split_first() else { return "nothing".to_owned() };
        let kind = kinds[usize::from(*kind) % 4];
        let bytes = write(&path, &[records().swap_remove(0), (kind, 2, body.to_vec())]);
        replayed(&path, bytes)
    });
}

#[test]
fn any_event_of_a_journal_is_taken_in_or_refused() {
    let folder = tempfile::tempdir_in(if Path::new("/dev/shm").is_dir() { "/dev/shm" } else { "/tmp" }).unwrap();
    let store = Store::open(&folder.path().join("store"), &folder.path().join("journal"), false).unwrap();
    let name = || MemberName { kind: 1, name: "a".to_owned() };
    let events = [
        What::Revoked(name()),
        What::Forgotten(name()),
        What::ProfileRemoved("weekly".to_owned()),
        What::Admitted(cognate_proto::v1::Membership { kind: 1, name: "a".into(), ..Default::default() }),
        What::Scan(crate::journal::ScanEvent { id: 3, row: Default::default() }),
        What::Decided(Default::default()),
        What::SampleDrawn(Default::default()),
    ];
    let valid = events.map(|what| Event { time: 1, by: "me".to_owned(), what: Some(what) }.encode_to_vec());
    run("events", &valid, |input| match Event::decode(input) {
        Err(error) => error.to_string(),
        Ok(event) => {
            let answer = match store.record(&event) {
                Err(error) => error.to_string(),
                Ok(()) => event.what.map_or_else(|| "an unknown event".to_owned(), |what| kind_of(&what)),
            };
            assert!(store.failed().borrow().is_none(), "{:?}", *store.failed().borrow());
            answer
        }
    });
    drop(store);
    // What was recorded can be read again from the beginning.
    Store::open(&folder.path().join("again"), &folder.path().join("journal"), false).unwrap();
}

fn kind_of(what: &What) -> String {
    format!("{what:?}").split(['(', ' ', '{']).next().unwrap_or_default().to_owned()
}

#[test]
fn any_journal_is_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let mut journal = crate::journal::Journal::open(&path, false, |_, _| Ok(())).unwrap();
    for name in ["one", "two"] {
        let what = Some(What::ProfileRemoved(name.to_owned()));
        journal.append(&Event { time: 1, by: "me".to_owned(), what }).unwrap();
    }
    let valid = std::fs::read(&path).unwrap();
    run("journal", &[valid], |input| {
        std::fs::write(&path, input).unwrap();
        let mut events = 0;
        match crate::journal::read(&path, |_, _| {
            events += 1;
            Ok(())
        }) {
            Ok(_) => "read".to_owned(),
            Err(error) => error.to_string(),
        }
    });
}
