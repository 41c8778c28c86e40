//! Damaged files of a site's state: refused by name, or read again from the documents.

use std::path::Path;

use cognate_durable::log::{Format, Log};
use prost::Message as _;

use crate::ledger::{Entry, Kind, read};
use crate::records::sent_state::{IndexUpload, SentState};

fn run(name: &str, valid: &[Vec<u8>], target: impl FnMut(&[u8]) -> String) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name);
    cognate_fuzzing::run(name, &corpus, valid, target);
}

/// Writes a log of these records, with checksums.
fn write(path: &Path, magic: &'static [u8], bodies: &[&[u8]]) {
    let _ = std::fs::remove_file(path);
    let mut log = Log::open(path, Format { magic, record_bytes_max: 1 << 20 }, 0o600, false).unwrap();
    bodies.iter().for_each(|body| log.append(body).unwrap());
}

#[test]
fn any_entry_of_a_ledger_is_read_or_named() {
    let folder = tempfile::tempdir().unwrap();
    let entry = Entry {
        number: 1,
        kind: Kind::Batch.into(),
        destination: "hub:7443".to_owned(),
        message_bytes: 5,
        digest: vec![1; 32],
        bytes_so_far: 5,
        ..Entry::default()
    };
    run("ledger-entries", &[entry.encode_to_vec()], |input| {
        write(&folder.path().join("ledger"), b"cognate ledger 1\n", &[input]);
        read::verify(folder.path(), false).unwrap().map_or_else(|damage| damage.to_string(), |_| "valid".to_owned())
    });
}

#[test]
fn any_ledger_is_read_or_its_damage_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let entry = |number| Entry { number, message_bytes: 5, bytes_so_far: 5 * number, ..Entry::default() };
    write(&path, b"cognate ledger 1\n", &[&entry(1).encode_to_vec(), &entry(2).encode_to_vec()]);
    let valid = std::fs::read(&path).unwrap();
    run("ledger", &[valid], |input| {
        std::fs::write(&path, input).unwrap();
        read::verify(folder.path(), false).unwrap().map_or_else(|damage| damage.to_string(), |_| "valid".to_owned())
    });
}

#[test]
fn any_record_of_the_sent_state_is_read_or_the_index_starts_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.log");
    let upload = IndexUpload { epoch: 7, samples: true };
    SentState::open(&path, upload).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let magic: &'static [u8] = bytes[..end].to_vec().leak();
    let first = [&7_u64.to_le_bytes()[..], &[1]].concat();
    // A sequence, a table of documents, digests and numbers of contents.
    let record = [&[8, 1, 18, 0, 26, 16][..], &[5; 16], &[34, 1, 10, 42, 1, 1]].concat();
    run("sent-state", &[record], |input| {
        write(&path, magic, &[&first, input]);
        let mut state = SentState::open(&path, upload).unwrap();
        let resumed = state.resume(1, Default::default()).unwrap();
        format!("{resumed} {} {}", state.sequence() == 1, state.documents().min(2))
    });
}

#[test]
fn any_request_on_the_control_socket_is_read_or_refused() {
    let valid = [r#"{"do":"status"}"#, r#"{"do":"sync","repositories":["a"],"accept_removals":true}"#];
    let valid = valid.map(|line| line.as_bytes().to_vec());
    run("control", &valid, |input| {
        serde_json::from_slice::<crate::control::Request>(input)
            .map_or_else(|error| error.to_string(), |_| "valid".into())
    });
}
