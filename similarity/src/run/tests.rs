//! Runs read back as they were written, and damage is refused.

use std::fs;
use std::path::Path;

use cognate_fingerprint::Tag;
use proptest::prelude::*;

use super::format::{BLOCK_BYTES, HEADER_BYTES, RECORD_BYTES, TEMPLATE_BIT};
use super::*;
use crate::checksum::{CHECKSUM_BYTES, checksum};
use crate::error::{Error, ErrorKind};

fn record(first: u8, ordinal: u32) -> RunRecord {
    let mut tag = [7; 16];
    tag[0] = first;
    RunRecord { tag: Tag(tag), length_bytes: 1 + ordinal, template: ordinal.is_multiple_of(3), ordinal }
}

fn write(path: &Path, records: &mut [RunRecord]) -> RunSummary {
    write_run(path, records, &WriteRun { sync: false }).unwrap()
}

fn read(path: &Path) -> Result<Vec<RunRecord>, Error> {
    let run = Run::open(path)?;
    let mut records = Vec::new();
    for shard in 0..SHARDS {
        let mut reader = run.shard(shard)?;
        while let Some(record) = reader.peek()? {
            assert_eq!(u32::from(record.tag.0[0]), shard);
            records.push(record);
            reader.advance();
        }
    }
    Ok(records)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_run_gives_back_its_records_sorted(
        rows in prop::collection::vec((any::<u8>(), 0u32..4, 0..TEMPLATE_BIT, any::<bool>()), 0..3000)
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.run");
        let mut records: Vec<_> = rows.iter().map(|&(first, ordinal, length_bytes, template)| {
            RunRecord { length_bytes, template, ..record(first, ordinal) }
        }).collect();
        let summary = write(&path, &mut records);
        prop_assert_eq!(summary.records, records.len() as u64);
        prop_assert_eq!(summary.file_bytes, fs::metadata(&path).unwrap().len());
        prop_assert!(records.is_sorted_by_key(|r| (r.tag, r.ordinal)));
        prop_assert_eq!(read(&path).unwrap(), records);
    }
}

#[test]
fn a_flipped_bit_anywhere_is_found_and_the_file_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flipped.run");
    let mut records: Vec<_> = (0..1500u32).map(|n| record(n.to_le_bytes()[0], n)).collect();
    write(&path, &mut records);
    let good = fs::read(&path).unwrap();
    let places = (0..good.len()).step_by(97).chain([8, 12, 16, good.len() - 1]);
    for place in places {
        let mut bad = good.clone();
        bad[place] ^= 0x10;
        fs::write(&path, bad).unwrap();
        let error = read(&path).unwrap_err();
        assert!(error.to_string().contains("flipped.run"), "byte {place}: {error}");
    }
}

#[test]
fn a_run_cut_short_anywhere_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.run");
    write(&path, &mut (0..1500u32).map(|n| record(5, n)).collect::<Vec<_>>());
    let good = fs::read(&path).unwrap();
    for length in [0, 5, 10, 100, HEADER_BYTES, good.len() - 40, good.len() - 1] {
        fs::write(&path, &good[..length]).unwrap();
        assert!(Run::open(&path).is_err(), "{length} bytes");
    }
}

#[test]
fn a_block_of_another_run_does_not_pass() {
    let folder = tempfile::tempdir().unwrap();
    let (mine, other) = (folder.path().join("mine.run"), folder.path().join("other.run"));
    write(&mine, &mut [record(5, 1)]);
    write(&other, &mut [record(6, 2)]);
    let mut bytes = fs::read(&mine).unwrap();
    let foreign = fs::read(&other).unwrap();
    let end = bytes.len();
    bytes[HEADER_BYTES..].copy_from_slice(&foreign[HEADER_BYTES..end]);
    fs::write(&mine, bytes).unwrap();
    assert!(matches!(read(&mine), Err(Error::Corrupt { .. })));
}

#[test]
fn a_foreign_file_is_not_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("letter.txt");
    fs::write(&path, "Dear reader, ".repeat(1000)).unwrap();
    assert!(matches!(Run::open(&path), Err(Error::NotARun { .. })));
}

#[test]
fn another_version_is_refused_by_number() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("newer.run");
    write(&path, &mut [record(5, 1)]);
    let mut bytes = fs::read(&path).unwrap();
    bytes[8] = 2;
    fs::write(&path, bytes).unwrap();
    assert!(matches!(Run::open(&path), Err(Error::UnsupportedVersion { version: 2, .. })));
}

#[test]
fn a_length_that_does_not_fit_is_refused_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.run");
    let mut records = [RunRecord { length_bytes: TEMPLATE_BIT, ..record(1, 1) }];
    let error = write_run(&path, &mut records, &WriteRun { sync: true }).unwrap_err();
    assert!(matches!(error, Error::LengthTooLarge { .. }));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    write_run(&path, &mut [record(1, 1)], &WriteRun { sync: true }).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn merged_runs_are_the_run_of_all_their_records(
        parts in prop::collection::vec(prop::collection::vec((any::<u8>(), 0u32..9), 0..2500), 0..5)
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (mut runs, mut all) = (Vec::new(), Vec::new());
        for (number, part) in parts.iter().enumerate() {
            let mut records: Vec<_> = part.iter().map(|&(first, ordinal)| record(first, ordinal)).collect();
            let path = folder.path().join(format!("{number}.run"));
            write(&path, &mut records);
            runs.push(Run::open(&path).unwrap());
            all.append(&mut records);
        }
        let (merged, at_once) = (folder.path().join("merged.run"), folder.path().join("at_once.run"));
        let summary = merge_runs(&merged, &runs, &WriteRun { sync: false }).unwrap();
        prop_assert_eq!(summary, write(&at_once, &mut all));
        prop_assert_eq!(fs::read(&merged).unwrap(), fs::read(&at_once).unwrap());
    }
}

#[test]
fn a_damaged_run_is_not_merged() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["a.run", "b.run"] {
        write(&path(name), &mut (0..3000u32).map(|n| record(n.to_le_bytes()[0], n)).collect::<Vec<_>>());
    }
    let mut bad = fs::read(path("b.run")).unwrap();
    let middle = bad.len() / 2;
    bad[middle] ^= 1;
    fs::write(path("b.run"), bad).unwrap();
    let runs = [Run::open(&path("a.run")).unwrap(), Run::open(&path("b.run")).unwrap()];
    let error = merge_runs(&path("c.run"), &runs, &WriteRun { sync: false }).unwrap_err();
    assert!(error.to_string().contains("b.run"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_tag_is_found_at_any_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wanted.run");
    // Other shards are before and after shard 3; every tag but the odd ones occurs, some thousand times.
    let mut records: Vec<_> = (0..500).map(|ordinal| record(2, ordinal)).collect();
    let tag = |number: u16| {
        let mut tag = [0; 16];
        tag[0] = 3;
        tag[1..3].copy_from_slice(&number.to_be_bytes());
        Tag(tag)
    };
    for number in 0..400u16 {
        let times = if number % 97 == 0 { 2500 } else { 1 + u32::from(number % 5) };
        records.extend((0..times).map(|ordinal| RunRecord { tag: tag(2 * number), ..record(3, ordinal) }));
    }
    records.extend((0..500).map(|ordinal| record(4, ordinal)));
    write(&path, &mut records);
    let run = Run::open(&path).unwrap();
    let first_from = |wanted: Tag| records.iter().find(|r| r.tag.0[0] == 3 && r.tag >= wanted).copied();
    for number in 0..802 {
        let mut reader = run.shard(3).unwrap();
        reader.seek(tag(number)).unwrap();
        assert_eq!(reader.peek().unwrap(), first_from(tag(number)), "{number}");
    }
    // One after the other, on the same reader.
    let mut reader = run.shard(3).unwrap();
    for number in (0..802).step_by(7) {
        reader.seek(tag(number)).unwrap();
        assert_eq!(reader.peek().unwrap(), first_from(tag(number)), "{number}");
    }
}

#[test]
fn a_block_that_is_damaged_is_refused_however_often_it_is_asked_for_and_the_others_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.run");
    let mut records: Vec<_> = (0..2500).map(|n| record(5, n)).collect();
    write(&path, &mut records);
    let mut bytes = fs::read(&path).unwrap();
    bytes[HEADER_BYTES + BLOCK_BYTES + 20] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let run = Run::open(&path).unwrap();
    let mut reader = run.shard(5).unwrap();
    for (number, record) in records.iter().enumerate() {
        let found = reader.peek();
        match number {
            1024..2048 => assert!(matches!(found, Err(Error::Corrupt { .. })), "record {number}: {found:?}"),
            _ => assert_eq!(found.unwrap(), Some(*record)),
        }
        reader.advance();
    }
    assert_eq!(reader.peek().unwrap(), None);
}

#[test]
fn a_header_that_contradicts_itself_is_refused_although_its_checksum_matches() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("forged.run");
    write(&path, &mut [record(5, 1), record(5, 2), record(9, 3)]);
    let good = fs::read(&path).unwrap();
    let [block_records, count, table] = [12, 16, 24];
    let shard = |number: usize| table + 8 * number;
    let shards = |numbers: std::ops::RangeInclusive<usize>| numbers.map(shard).collect::<Vec<_>>();
    let end = || [vec![count], shards(10..=SHARDS as usize)].concat();
    for (places, value, problem) in [
        (vec![block_records], 1023, "another size of blocks"),
        (vec![count], 2, "fewer records than the table has"),
        (vec![shard(256)], 4, "more records in the table"),
        (shards(0..=5), 1, "a record before the first shard"),
        (vec![shard(6)], 3, "a shard that begins after the next one"),
        (end(), u64::MAX / RECORD_BYTES as u64, "more records than a file can have"),
        (end(), u64::MAX, "as many records as there are numbers"),
        (end(), 4, "a record more than the file has"),
    ] {
        let mut bytes = good.clone();
        for place in places {
            let width = if place == block_records { 4 } else { 8 };
            bytes[place..place + width].copy_from_slice(&value.to_le_bytes()[..width]);
        }
        let end = HEADER_BYTES - CHECKSUM_BYTES;
        let sum = checksum(&[&bytes[..end]]);
        bytes[end..HEADER_BYTES].copy_from_slice(&sum);
        fs::write(&path, &bytes).unwrap();
        assert!(matches!(Run::open(&path), Err(Error::Corrupt { .. })), "{problem}");
    }
}

#[test]
fn a_file_that_changes_after_it_was_opened_gives_an_error_and_no_other_records() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("changed.run");
    let mut records: Vec<_> = (0..2000).map(|n| record(5, n)).collect();
    write(&path, &mut records);
    let run = Run::open(&path).unwrap();
    let first = || run.shard(5).and_then(|mut reader| reader.peek());
    assert_eq!(first().unwrap(), Some(records[0]));
    records[1999].tag = Tag([6; 16]);
    write(&path, &mut records);
    assert_eq!(first().unwrap_err().kind(), ErrorKind::Corrupt, "another run, of the same size");
    fs::write(&path, b"CGNATRUN").unwrap();
    assert_eq!(first().unwrap_err().kind(), ErrorKind::Unavailable, "cut short");
    fs::remove_file(&path).unwrap();
    let error = first().unwrap_err();
    assert!(error.kind() == ErrorKind::Unavailable && error.to_string().contains("changed.run"), "{error}");
    assert_eq!(run.shard(6).unwrap().peek().unwrap(), None, "nothing is opened for an empty shard");
}

#[test]
fn merging_nothing_gives_an_empty_run_and_the_order_of_runs_does_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let merge = |name: &str, runs: &[Run]| {
        let summary = merge_runs(&path(name), runs, &WriteRun { sync: false }).unwrap();
        (summary, fs::read(path(name)).unwrap())
    };
    let (empty, bytes) = merge("none.run", &[]);
    assert_eq!((empty.records, empty.file_bytes), (0, HEADER_BYTES as u64));
    assert_eq!((read(&path("none.run")).unwrap(), write(&path("empty.run"), &mut [])), (vec![], empty));
    assert_eq!(fs::read(path("empty.run")).unwrap(), bytes);
    // Runs of one content each, with records that are equal.
    let mut runs = Vec::new();
    for number in 0..4 {
        write(&path(&format!("{number}.run")), &mut [record(5, number), record(5, 9), record(7, 3 - number)]);
        runs.push(Run::open(&path(&format!("{number}.run"))).unwrap());
    }
    let ascending = merge("ascending.run", &runs);
    runs.reverse();
    runs.push(Run::open(&path("none.run")).unwrap());
    assert_eq!(merge("descending.run", &runs), ascending);
}

#[test]
fn a_run_that_cannot_be_written_leaves_the_earlier_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.run");
    write(&path, &mut [record(5, 1)]);
    let mut long = [record(5, 2), RunRecord { length_bytes: u32::MAX, ..record(6, 3) }];
    assert_eq!(write_run(&path, &mut long, &WriteRun { sync: false }).unwrap_err().kind(), ErrorKind::TooLarge);
    assert_eq!(read(&path).unwrap(), [record(5, 1)]);
    let missing = folder.path().join("missing/a.run");
    let error = write_run(&missing, &mut [record(5, 1)], &WriteRun { sync: true }).unwrap_err();
    assert!(error.kind() == ErrorKind::Unavailable && error.to_string().contains("missing/a.run"), "{error}");
}

#[test]
fn readers_of_all_shards_at_a_time_share_the_file_that_was_opened_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shared.run");
    let mut records: Vec<_> = (0..1500_u32).map(|n| record(n.to_le_bytes()[0], n)).collect();
    write(&path, &mut records);
    let run = Run::open(&path).unwrap();
    let mut first = run.shard(0).unwrap();
    // Whoever opens it again would not find it.
    fs::rename(&path, folder.path().join("away")).unwrap();
    let readers: Vec<_> = (1..SHARDS).map(|shard| run.shard(shard).unwrap()).collect();
    for mut reader in readers {
        assert!(reader.peek().unwrap().is_some());
    }
    assert_eq!(first.peek().unwrap(), Some(records[0]));
    drop(first);
    run.shard(0).unwrap_err();
}
