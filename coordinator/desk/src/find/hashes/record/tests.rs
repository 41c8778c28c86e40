use std::collections::BTreeMap;

use super::super::HashHit;
use cognate_proto::path::DocumentPath;

use super::*;

/// Three hashes, of which one is in two files, and three repositories: searched, in part, and not at all.
fn answered() -> (Listed, HashAnswer) {
    let lines = format!("{}  loader.exe\n{}\n{}\n", "ab".repeat(32), "01".repeat(16), "cd".repeat(20));
    let listed = Listed::read(lines.as_bytes()).unwrap();
    let kinds = listed.list.kinds();
    let coverage = |repository: &str, kinds, reason: &str, files_without, synced| HashCoverage {
        party: "home".to_owned(),
        site: "paris".to_owned(),
        repository: repository.to_owned(),
        kinds,
        reason: reason.to_owned(),
        files: 12,
        files_without,
        synced,
    };
    let holder = |path: &[u8], state| HashHolder {
        party: "home".to_owned(),
        site: "paris".parse().unwrap(),
        repository: "kb".parse().unwrap(),
        path: DocumentPath::new(path).unwrap(),
        size_bytes: 4096,
        modified: 1_700_000_000,
        state,
    };
    let holders = vec![holder(b"bin/a.exe", FileHashState::Unchanged), holder(b"b\xff\n", FileHashState::Gone)];
    let number = (0..3).find(|number| listed.names.contains_key(number)).unwrap();
    let answer = HashAnswer {
        coverage: vec![
            coverage("kb", kinds, "", 0, 1_700_000_100),
            coverage("mail", kinds, "", 3, 1_700_000_100),
            coverage("old", HashKinds::NONE, "the site stores no hashes", 0, 0),
        ],
        hits: BTreeMap::from([(number, HashHit { files: 5, holders })]),
    };
    (listed, answer)
}

#[test]
fn an_answer_by_hashes_has_the_bytes_of_its_golden_file() {
    let (listed, answer) = answered();
    let written = serde_json::to_string_pretty(&HashesRecord::of(&listed, &answer)).unwrap() + "\n";
    if std::env::var_os("COGNATE_REGENERATE").is_some() {
        std::fs::write("src/find/hashes/record/hashes.json", &written).unwrap();
    }
    assert_eq!(written, include_str!("hashes.json"));
}

#[test]
fn what_was_written_is_read_again() {
    let (listed, answer) = answered();
    let record: HashesRecord = serde_json::from_str(include_str!("hashes.json")).unwrap();
    assert_eq!(
        serde_json::to_value(&record).unwrap(),
        serde_json::to_value(HashesRecord::of(&listed, &answer)).unwrap()
    );
}
