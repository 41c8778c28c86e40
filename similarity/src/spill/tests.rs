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
    assert!(spill.written_bytes() > 60_000);
    assert_eq!(rows(&buckets).unwrap(), (0..10_000).collect::<Vec<_>>());
    assert_eq!(rows(&buckets).unwrap(), (0..10_000).collect::<Vec<_>>());
    buckets.clear(1).unwrap();
    assert_eq!(fs::read_dir(spill.folder().unwrap()).unwrap().count(), 2);
    drop(buckets);
    assert_eq!(fs::read_dir(spill.folder().unwrap()).unwrap().count(), 0);
    drop(spill);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
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
    let path = buckets.path(0).unwrap();
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

/// Takes three bytes a call, and every other call is interrupted.
#[derive(Default)]
struct Reluctant {
    calls: usize,
    taken: Vec<u8>,
}

impl Write for Reluctant {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.calls += 1;
        if self.calls % 2 == 1 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let taken = &bytes[..bytes.len().min(3)];
        self.taken.extend_from_slice(taken);
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn all_parts_are_written_however_little_a_call_takes() {
    let mut file = Reluctant::default();
    let parts: [&[u8]; 5] = [b"12345678", b"", b"9", b"abcdef", b""];
    assert_eq!(write_all(&mut file, parts.map(IoSlice::new).into()).unwrap(), 15);
    assert_eq!(file.taken, b"123456789abcdef");
    let mut full: &mut [u8] = &mut [0; 4];
    let error = write_all(&mut full, parts.map(IoSlice::new).into()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::WriteZero);
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
    assert_ne!(one.folder().unwrap(), two.folder().unwrap());
    assert_eq!(one.folder().unwrap(), one.folder().unwrap());
    drop(one);
    assert!(two.folder().unwrap().is_dir());
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
    assert!(!left.iter().any(|folder| folder == spill.folder().unwrap()));
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
    fs::remove_file(buckets.path(1).unwrap()).unwrap();
    for error in [rows(&buckets).unwrap_err(), buckets.clear(1).unwrap_err()] {
        assert!(matches!(error, Error::Io { .. }) && error.to_string().contains("rows-1.spill"), "{error}");
    }
}

#[test]
fn a_block_of_more_rows_than_are_left_is_refused_although_its_sum_matches() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows-0.spill");
    let block = |rows: u32| {
        let bytes = vec![7; rows as usize * 8];
        [[rows, crc32fast::hash(&bytes)].as_bytes(), &bytes].concat()
    };
    let scanned = |content: Vec<u8>, expected: u64| {
        fs::write(&path, content).unwrap();
        let (mut file, mut rows) = (SpillFile::open(path.clone(), expected).unwrap(), Vec::<[u32; 2]>::new());
        let mut found = 0;
        loop {
            match file.read_block(&mut rows) {
                Ok(true) => found += rows.len() as u64,
                Ok(false) => return (Ok(()), found),
                Err(error) => return (Err(error.to_string()), found),
            }
        }
    };
    let impossible = Err(format!("{} is corrupt: a block has an impossible length", path.display()));
    assert_eq!(scanned([block(3), block(4)].concat(), 7), (Ok(()), 7));
    assert_eq!(scanned([block(3), block(4)].concat(), 6), (impossible.clone(), 3));
    assert_eq!(scanned([block(3), block(0), block(4)].concat(), 7), (impossible.clone(), 3));
    let most = u32::try_from(2 * BLOCK_BYTES_MAX / 8).unwrap();
    assert_eq!(scanned(block(most), u64::MAX).1, u64::from(most));
    assert_eq!(scanned(block(most + 1), u64::MAX), (impossible, 0));
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
