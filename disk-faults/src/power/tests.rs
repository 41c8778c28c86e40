use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write as _;

use crate::record;

use super::*;

/// The contents of a file over all states of a loss of power after the last call; none where it is missing.
fn contents(states: &CrashStates, name: &str) -> BTreeSet<Option<Vec<u8>>> {
    let at_end = states.at(states.calls().len(), 1000, 1);
    let content = |state: State| {
        let folder = tempfile::tempdir().unwrap();
        state.write_to(folder.path()).unwrap();
        std::fs::read(folder.path().join(name)).ok()
    };
    at_end.into_iter().map(content).collect()
}

fn some(contents: &[&[u8]]) -> BTreeSet<Option<Vec<u8>>> {
    contents.iter().map(|content| Some(content.to_vec())).collect()
}

#[test]
fn what_was_synced_with_its_name_is_there_and_a_later_write_may_be_in_part() {
    let folder = tempfile::tempdir().unwrap();
    let recording = record(folder.path()).unwrap();
    let mut file = File::create(folder.path().join("a")).unwrap();
    file.write_all(b"one").unwrap();
    file.sync_data().unwrap();
    File::open(folder.path()).unwrap().sync_all().unwrap();
    recording.mark(1);
    file.write_all(b"twos").unwrap();
    let states = recording.finish();
    assert_eq!(contents(&states, "a"), some(&[b"one", b"onetwos", b"onetw", b"one\0\0\0\0"]));
    assert!(states.at(states.calls().len(), 9, 1).iter().all(|state| state.acknowledged == Some(1)));
}

#[test]
fn a_name_that_was_not_synced_may_be_missing_although_the_file_was() {
    let folder = tempfile::tempdir().unwrap();
    let recording = record(folder.path()).unwrap();
    let mut file = File::create(folder.path().join("a")).unwrap();
    file.write_all(b"one").unwrap();
    file.sync_all().unwrap();
    let states = recording.finish();
    assert_eq!(contents(&states, "a"), [None, Some(b"one".to_vec())].into());
}

#[test]
fn a_rename_that_was_not_synced_leaves_the_old_or_the_new_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("a"), "old").unwrap();
    let recording = record(folder.path()).unwrap();
    std::fs::write(path("b"), "new").unwrap();
    File::open(path("b")).unwrap().sync_all().unwrap();
    File::open(folder.path()).unwrap().sync_all().unwrap();
    std::fs::rename(path("b"), path("a")).unwrap();
    let states = recording.finish();
    assert_eq!(contents(&states, "a"), some(&[b"old", b"new"]));
}

#[test]
fn a_file_that_was_not_synced_before_its_rename_may_be_empty_under_the_new_name() {
    let folder = tempfile::tempdir().unwrap();
    let recording = record(folder.path()).unwrap();
    std::fs::write(folder.path().join("b"), "new").unwrap();
    std::fs::rename(folder.path().join("b"), folder.path().join("a")).unwrap();
    File::open(folder.path()).unwrap().sync_all().unwrap();
    let found = contents(&recording.finish(), "a");
    assert!(found.contains(&Some(vec![])) && found.contains(&Some(b"new".to_vec())), "{found:?}");
}

#[test]
fn the_same_seed_gives_the_same_states() {
    let folder = tempfile::tempdir().unwrap();
    let recording = record(folder.path()).unwrap();
    for number in 0..20 {
        std::fs::write(folder.path().join(number.to_string()), "content").unwrap();
    }
    let states = recording.finish();
    let described = |seed| states.sample(30, seed).into_iter().map(|state| state.description).collect::<Vec<_>>();
    assert_eq!(described(5), described(5));
    assert_ne!(described(5), described(6));
}
