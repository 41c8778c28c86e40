use std::fs;
use std::path::{Path, PathBuf};

use super::folder::NEXT_FOLDER;
use super::*;

fn options(memory_bytes_max: u64) -> BucketsOptions {
    BucketsOptions { name: "rows", count: 3, memory_bytes_max, writers: 1 }
}

fn fill(buckets: &Buckets<'_, [u32; 2]>) {
    let mut writer = buckets.writer();
    for n in 0..10_000u32 {
        writer.push(n as usize % 3, [n, n * 2]).unwrap();
    }
    writer.finish().unwrap();
}

fn rows(buckets: &Buckets<'_, [u32; 2]>) -> Result<Vec<u32>, Error> {
    let mut found = Vec::new();
    for number in 0..buckets.count() {
        buckets.scan(number, |slice| {
            for row in slice {
                assert_eq!((row[0] as usize % 3, row[1]), (number, row[0] * 2));
                found.push(row[0]);
            }
            Ok(())
        })?;
    }
    found.sort_unstable();
    Ok(found)
}

#[test]
fn rows_come_back_from_memory_without_touching_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let spill = SpillFolder::new(folder.path());
    let buckets = Buckets::new(&spill, &options(1 << 20));
    fill(&buckets);
    assert_eq!(rows(&buckets).unwrap(), (0..10_000).collect::<Vec<_>>());
    assert_eq!(spill.written_bytes(), 0);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn rows_come_back_from_files_and_the_folder_goes() {
    let folder = tempfile::tempdir().unwrap();
    let spill = SpillFolder::new(folder.path());
    let buckets = Buckets::new(&spill, &options(4096));
    fill(&buckets);
    assert!((40_000..70_000).contains(&spill.written_bytes()), "{}", spill.written_bytes());
    assert_eq!(rows(&buckets).unwrap(), (0..10_000).collect::<Vec<_>>());
    assert_eq!(rows(&buckets).unwrap(), (0..10_000).collect::<Vec<_>>());
    buckets.clear(1).unwrap();
    assert_eq!(fs::read_dir(spill.path().unwrap()).unwrap().count(), 2);
    drop(buckets);
    assert_eq!(fs::read_dir(spill.path().unwrap()).unwrap().count(), 0);
    drop(spill);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_file_of_several_buckets_goes_with_the_last_of_them_and_may_be_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let spill = SpillFolder::new(folder.path());
    // Two or three buckets have a file.
    let buckets = Buckets::new(&spill, &BucketsOptions { count: 40, ..options(4096) });
    let rows = |number: u32| (0..900).map(move |n| [number, n]).collect::<Vec<_>>();
    let fill = || {
        (0..40).for_each(|number| rows(number).chunks(7).for_each(|few| buckets.append(number as usize, few).unwrap()))
    };
    let files = || fs::read_dir(spill.path().unwrap()).unwrap().count();
    for _ in 0..2 {
        fill();
        assert_eq!(files(), FILES_MAX);
        for number in 0..40 {
            let (mut scanned, all) = (Vec::new(), rows(number));
            let number = number as usize;
            let keep = |rows: &[[u32; 2]]| {
                scanned.extend_from_slice(rows);
                Ok(())
            };
            buckets.scan(number, keep).unwrap();
            assert_eq!(buckets.rows(number), 900);
            let mut taken = buckets.take(number).unwrap();
            assert_eq!(taken, scanned);
            taken.sort_unstable();
            assert_eq!((taken, buckets.rows(number)), (all, 0));
            let of_file = |file: usize| (0..40).rfind(|bucket| bucket * FILES_MAX / 40 == file);
            assert_eq!(files(), (0..FILES_MAX).filter(|file| of_file(*file) > Some(number)).count(), "{number}");
        }
    }
}

#[test]
fn a_file_stays_as_long_as_one_block_of_it_may_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let spill = SpillFolder::new(folder.path());
    let file = SpillFile::new("rows-0.spill".to_owned());
    let (mut chains, mut packed) = ([Chain::default(); 2], Vec::new());
    for (chain, value) in [(0, 0_u64), (1, 1), (0, 2)] {
        file.append(&spill, &[vec![[value, 7]; 5]], &mut chains[chain], &mut packed).unwrap();
    }
    let path = spill.path().unwrap().join("rows-0.spill");
    file.forget(&chains[0]).unwrap();
    assert!(path.try_exists().unwrap());
    let mut rows: Vec<[u64; 2]> = Vec::new();
    let mut left = chains[1];
    assert!(file.read(&mut left, &mut packed, &mut rows).unwrap());
    assert!(!file.read(&mut left, &mut packed, &mut rows).unwrap());
    assert_eq!(rows, [[1, 7]; 5]);
    file.forget(&Chain::default()).unwrap();
    assert!(path.try_exists().unwrap(), "a bucket without blocks has none to forget");
    file.forget(&chains[1]).unwrap();
    assert!(!path.try_exists().unwrap());
}

#[test]
fn memory_stays_within_one_and_a_half_times_its_share() {
    let folder = tempfile::tempdir().unwrap();
    let spill = SpillFolder::new(folder.path());
    let buckets = Buckets::new(&spill, &options(8192));
    let mut writer = buckets.writer();
    for n in 0..10_000u32 {
        writer.push(n as usize % 3, [n, n * 2]).unwrap();
        assert!(buckets.memory_bytes.load(Ordering::Relaxed) <= 8192 * 3 / 2);
    }
}

#[test]
fn damage_to_a_spill_file_is_found_and_the_file_named() {
    let folder = tempfile::tempdir().unwrap();
    let spill = SpillFolder::new(folder.path());
    let buckets = Buckets::new(&spill, &options(4096));
    fill(&buckets);
    let path = spill.path().unwrap().join("rows-0.spill");
    let good = fs::read(&path).unwrap();
    for place in [0, 3, 10, 30, good.len() / 2, good.len() - 1] {
        let mut bad = good.clone();
        bad[place] ^= 0x40;
        fs::write(&path, bad).unwrap();
        let error = rows(&buckets).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "byte {place}: {error}");
        assert!(error.to_string().contains("rows-0.spill"), "{error}");
    }
    fs::write(&path, &good[..good.len() - 4]).unwrap();
    assert!(matches!(rows(&buckets), Err(Error::Corrupt { .. })));
}

#[test]
fn rows_that_are_appended_follow_each_other_in_slices() {
    let spill = SpillFolder::new(Path::new("/nonexistent"));
    let buckets: Buckets<'_, [u32; 2]> = Buckets::new(&spill, &options(1 << 20));
    for count in [0u32, 1, 5, 3000] {
        let rows: Vec<[u32; 2]> = (0..count).map(|n| [n, n]).collect();
        buckets.append(1, &rows).unwrap();
    }
    assert_eq!([buckets.rows(0), buckets.rows(1), buckets.rows(2)], [0, 3006, 0]);
    let mut found = Vec::new();
    buckets
        .scan(1, |rows| {
            found.extend(rows.iter().map(|row| row[0]));
            Ok(())
        })
        .unwrap();
    let expected: Vec<u32> = (0..1).chain(0..5).chain(0..3000).collect();
    assert_eq!(found, expected);
    buckets.clear(1).unwrap();
    assert_eq!((buckets.rows(1), buckets.memory_bytes.load(Ordering::Relaxed)), (0, 0));
}

#[test]
fn two_folders_of_one_parent_do_not_meet() {
    let parent = tempfile::tempdir().unwrap();
    let (one, two) = (SpillFolder::new(parent.path()), SpillFolder::new(parent.path()));
    assert_ne!(one.path().unwrap(), two.path().unwrap());
    assert_eq!(one.path().unwrap(), one.path().unwrap());
    drop(one);
    assert!(two.path().unwrap().is_dir());
}

#[test]
fn an_error_of_a_visitor_ends_the_scan() {
    let spill = SpillFolder::new(Path::new("/nonexistent"));
    let buckets = Buckets::new(&spill, &options(1 << 20));
    fill(&buckets);
    let mut visits = 0;
    let result = buckets.scan(0, |_| {
        visits += 1;
        Err(Error::Cancelled)
    });
    assert!(matches!(result, Err(Error::Cancelled)));
    assert_eq!(visits, 1);
}

#[test]
fn a_folder_that_an_earlier_process_left_is_passed_over_and_stays() {
    let parent = tempfile::tempdir().unwrap();
    let next = NEXT_FOLDER.load(Ordering::Relaxed);
    let left: Vec<PathBuf> =
        (next..next + 40).map(|number| parent.path().join(format!("spill-{}-{number}", std::process::id()))).collect();
    for folder in &left {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join("rows-0.spill"), b"of somebody else").unwrap();
    }
    let spill = SpillFolder::new(parent.path());
    let buckets = Buckets::new(&spill, &options(4096));
    fill(&buckets);
    assert!(!left.iter().any(|folder| folder == spill.path().unwrap()));
    assert_eq!(rows(&buckets).unwrap().len(), 10_000);
    drop(buckets);
    drop(spill);
    assert!(left.iter().all(|folder| fs::read(folder.join("rows-0.spill")).unwrap() == b"of somebody else"));
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), left.len());
}

#[test]
fn a_parent_that_is_a_file_and_a_spill_file_that_is_gone_are_named() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("file");
    fs::write(&file, b"").unwrap();
    let spill = SpillFolder::new(&file);
    let buckets: Buckets<'_, [u32; 2]> = Buckets::new(&spill, &options(0));
    let error = buckets.append(0, &[[1, 2]; 100]).unwrap_err();
    assert!(matches!(error, Error::Io { .. }) && error.to_string().contains("file"), "{error}");
    let spill = SpillFolder::new(parent.path());
    let buckets = Buckets::new(&spill, &options(4096));
    fill(&buckets);
    fs::remove_file(spill.path().unwrap().join("rows-1.spill")).unwrap();
    assert_eq!(rows(&buckets).unwrap().len(), 10_000, "an open file can be read until it is closed");
    let error = buckets.clear(1).unwrap_err();
    assert!(matches!(error, Error::Io { .. }) && error.to_string().contains("rows-1.spill"), "{error}");
}

#[test]
fn rows_of_several_threads_all_arrive_and_give_their_memory_back() {
    let folder = tempfile::tempdir().unwrap();
    for memory_bytes_max in [0, 4096, 1 << 20] {
        let spill = SpillFolder::new(folder.path());
        let buckets = Buckets::new(&spill, &BucketsOptions { writers: 4, ..options(memory_bytes_max) });
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let mut writer = buckets.writer();
                scope.spawn(move || {
                    (thread * 2500..(thread + 1) * 2500)
                        .for_each(|n: u32| writer.push(n as usize % 3, [n, n * 2]).unwrap());
                    writer.finish().unwrap();
                });
            }
        });
        assert_eq!(rows(&buckets).unwrap(), (0..10_000).collect::<Vec<_>>());
        assert_eq!((0..3).map(|number| buckets.rows(number)).sum::<u64>(), 10_000);
        (0..3).for_each(|number| buckets.clear(number).unwrap());
        assert_eq!((buckets.memory_bytes.load(Ordering::Relaxed), rows(&buckets).unwrap().len()), (0, 0));
    }
}
