use proptest::prelude::*;

use super::*;

fn event(name: &str) -> Event {
    Event { time: 5, by: "me".to_owned(), what: Some(What::ProfileRemoved(name.to_owned())) }
}

/// A journal of these events, and where each of them ends.
fn journal(names: &[String]) -> (tempfile::TempDir, PathBuf, Vec<u64>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let mut journal = Journal::open(&path, false, |_, _| Ok(())).unwrap();
    let ends = names.iter().map(|name| {
        journal.append(&event(name)).unwrap();
        journal.position().end
    });
    let ends = ends.collect();
    (folder, path, ends)
}

/// Puts the head back to the first record: nothing was acknowledged.
fn unseal(path: &Path) {
    let head = head::path_of(path);
    std::fs::remove_file(&head).unwrap();
    Head::open(&head, Found::Missing, false).unwrap();
}

#[test]
fn the_newest_events_are_read_from_the_last_marks_whatever_their_number() {
    let names: Vec<String> = (0..3000).map(|number| format!("{number}-{}", "x".repeat(60))).collect();
    let (_folder, path, mut ends) = journal(&names);
    let reopened = Journal::open(&path, false, |_, _| Ok(())).unwrap();
    assert!(reopened.marks.len() > 3 && reopened.marks[0] == START, "{:?}", reopened.marks);
    // As few as they are long ago: a journal of 16 MB has 256 of them in memory.
    let kib_apart = |pair: &[Position]| (pair[1].end - pair[0].end) >> 10;
    assert!(reopened.marks.windows(2).all(|pair| kib_apart(pair) >= 64), "{:?}", reopened.marks);
    ends.reverse();
    for (before, count) in
        [(u64::MAX, 1), (u64::MAX, 700), (ends[1000], 1500), (ends[2], 5000), (ends[2999], 3), (0, 1)]
    {
        let newest = reopened.history().unwrap().newest_first(before, count, |_, at| Some(at.end)).unwrap();
        let expected: Vec<u64> = ends.iter().copied().filter(|end| *end < before).take(count).collect();
        assert_eq!(newest, expected, "{before} {count}");
    }
}

fn events(path: &Path) -> Result<Vec<Event>, Error> {
    let mut events = vec![];
    Journal::open(path, false, |event, _| {
        events.push(event);
        Ok(())
    })?;
    Ok(events)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_torn_tail_takes_nothing_with_it_wherever_it_is_cut(names in proptest::collection::vec("[a-z]{0,20}", 1..6)) {
        let (_folder, path, ends) = journal(&names);
        let intact = std::fs::read(&path).unwrap();
        for length in FORMAT.magic.len()..=intact.len() {
            std::fs::write(&path, &intact[..length]).unwrap();
            unseal(&path);
            let whole = ends.iter().filter(|end| **end <= length as u64).count();
            let expected: Vec<_> = names[..whole].iter().map(|name| event(name)).collect();
            prop_assert_eq!(events(&path).unwrap(), expected);
            // It was cut to a complete record, and continues from there.
            let mut reopened = Journal::open(&path, false, |_, _| Ok(())).unwrap();
            reopened.append(&event("after")).unwrap();
            prop_assert_eq!(events(&path).unwrap().len(), whole + 1);
        }
    }

    #[test]
    fn a_flipped_bit_before_the_last_record_is_refused_by_its_place(
        names in proptest::collection::vec("[a-z]{0,20}", 2..6),
        bit in 0..8_u8,
    ) {
        let (_folder, path, ends) = journal(&names);
        let intact = std::fs::read(&path).unwrap();
        let last = usize::try_from(ends[ends.len() - 2]).unwrap();
        for place in FORMAT.magic.len()..last {
            let mut damaged = intact.clone();
            damaged[place] ^= 1_u8 << bit;
            std::fs::write(&path, &damaged).unwrap();
            let begins = ends.iter().rev().find(|end| **end <= place as u64).copied().unwrap_or(START.end);
            let error = events(&path).unwrap_err().to_string();
            prop_assert!(error.ends_with(&format!("at byte {begins}")), "{}", error);
        }
    }
}

#[test]
fn an_acknowledged_record_that_is_damaged_or_missing_is_refused_and_nothing_is_changed() {
    let names: Vec<_> = ["a", "bb", "ccc"].map(str::to_owned).into();
    let (_folder, path, ends) = journal(&names);
    let intact = std::fs::read(&path).unwrap();
    let last = usize::try_from(ends[1]).unwrap();
    let flipped = (last..intact.len()).map(|place| {
        let mut bytes = intact.clone();
        bytes[place] ^= 4;
        bytes
    });
    let cut = (0..intact.len()).map(|length| intact[..length].to_vec());
    let zeroed = [&intact[..last], &vec![0; intact.len() - last]].concat();
    for bytes in flipped.chain(cut).chain([zeroed]) {
        std::fs::write(&path, &bytes).unwrap();
        let error = events(&path).unwrap_err().to_string();
        let is_named = error.contains("acknowledged") && error.contains("--accept-loss");
        assert!(is_named || error.contains("at byte"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "a refusal changes nothing");
    }
    std::fs::remove_file(&path).unwrap();
    assert!(events(&path).is_err() && !path.try_exists().unwrap());
    std::fs::write(&path, intact).unwrap();
    assert_eq!(events(&path).unwrap().len(), 3);
}

#[test]
fn a_record_that_was_written_before_its_head_counts_from_the_next_start_on() {
    let names: Vec<_> = ["a", "b"].map(str::to_owned).into();
    let (_folder, path, _) = journal(&names);
    unseal(&path);
    assert_eq!(events(&path).unwrap().len(), 2);
    // Now it is acknowledged.
    let intact = std::fs::read(&path).unwrap();
    std::fs::write(&path, &intact[..intact.len() - 1]).unwrap();
    assert!(events(&path).is_err());
}

#[test]
fn a_journal_without_its_own_head_is_refused_until_it_is_sealed() {
    let names: Vec<_> = ["a", "b"].map(str::to_owned).into();
    let (_folder, path, _) = journal(&names);
    let (_other_folder, other, _) = journal(&["c".to_owned(), "d".to_owned(), "e".to_owned()]);
    let head = head::path_of(&path);
    let own = std::fs::read(&head).unwrap();
    let foreign = std::fs::read(head::path_of(&other)).unwrap();
    let states = [
        (None, "its head is gone"),
        (Some(vec![]), "its head is damaged"),
        (Some(vec![7; own.len()]), "its head is damaged"),
        (Some(foreign), "were acknowledged"),
    ];
    for (bytes, reason) in states {
        let _ = std::fs::remove_file(&head);
        if let Some(bytes) = bytes {
            std::fs::write(&head, bytes).unwrap();
        }
        let error = events(&path).unwrap_err().to_string();
        assert!(error.contains("--accept-loss") && error.contains(reason), "{error}");
    }
    let intact = std::fs::read(&path).unwrap();
    std::fs::write(&path, [&intact[..], b"rest"].concat()).unwrap();
    assert_eq!(seal(&path).unwrap(), 4);
    assert_eq!((events(&path).unwrap().len(), std::fs::read(&path).unwrap()), (2, intact));
}

#[test]
fn a_refusal_says_how_far_the_journal_can_be_read_and_how_far_it_was_acknowledged() {
    let names: Vec<_> = ["a", "bb", "ccc"].map(str::to_owned).into();
    let (_folder, path, ends) = journal(&names);
    let intact = std::fs::read(&path).unwrap();
    let refused = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        events(&path).unwrap_err().to_string()
    };
    let whole = ends[2];
    let told = refused(&intact[..intact.len() - 1]);
    assert!(told.contains(&format!("it has {} bytes, and {whole} bytes of it were acknowledged", whole - 1)), "{told}");
    let mut flipped = intact.clone();
    *flipped.last_mut().unwrap() ^= 4;
    let told = refused(&flipped);
    let expected = format!("a record at byte {} cannot be read, and all up to byte {whole} was acknowledged", ends[1]);
    assert!(told.contains(&expected), "{told}");
    // As long, and of another history.
    let (_other_folder, other, other_ends) =
        journal(&["a".to_owned(), "xx".to_owned(), "ccc".to_owned(), "d".to_owned()]);
    assert_eq!(other_ends[2], whole);
    let other = std::fs::read(&other).unwrap();
    for other in [&other[..], &other[..intact.len()]] {
        let told = refused(other);
        assert!(told.contains(&format!("it differs from what its head knows at byte {whole}")), "{told}");
    }
    // Of one that begins with a checkpoint, the bytes are those of its file.
    std::fs::write(&path, &intact).unwrap();
    let mut compacted = Journal::open(&path, false, |_, _| Ok(())).unwrap();
    compacted.compact(std::iter::empty()).unwrap();
    compacted.append(&event("after")).unwrap();
    let (part, end) = (std::fs::read(&path).unwrap(), compacted.position().end);
    let mut flipped = part.clone();
    *flipped.last_mut().unwrap() ^= 4;
    let told = refused(&flipped);
    assert!(told.contains(&format!("all up to byte {} was acknowledged", part.len())), "{told}");
    assert!(end > part.len() as u64);
}

#[test]
fn a_journal_that_was_read_knows_its_events_its_end_and_if_its_file_goes_on() {
    let names: Vec<_> = ["a", "bb", "ccc"].map(str::to_owned).into();
    let (folder, path, ends) = journal(&names);
    let facts = |path: &Path| {
        let read = verify(path, |_, _| Ok(())).unwrap();
        (read.events(), read.at().end, read.file_bytes(), read.has_rest())
    };
    assert_eq!(facts(&path), (3, ends[2], ends[2], false));
    let at = verify(&path, |_, _| Ok(())).unwrap().at();
    let intact = std::fs::read(&path).unwrap();
    assert!(ends_at(&path, at).unwrap());
    assert!(!ends_at(&path, Position { end: ends[1], ..at }).unwrap());
    assert!(!ends_at(&path, Position { hash: [1; 32], ..at }).unwrap());
    std::fs::write(&path, [&intact[..], b"rest"].concat()).unwrap();
    assert_eq!(facts(&path), (3, ends[2], ends[2], true));
    assert!(!ends_at(&path, at).unwrap(), "its file goes on");
    // After a compaction, places go on and the file begins again.
    let mut journal = Journal::open(&path, false, |_, _| Ok(())).unwrap();
    journal.compact(std::iter::empty()).unwrap();
    journal.append(&event("after")).unwrap();
    let file_bytes = path.metadata().unwrap().len();
    assert_eq!(facts(&path), (1, ends[2] + file_bytes, file_bytes, false));
    // There is none yet.
    let none = verify(&folder.path().join("none"), |_, _| Ok(())).unwrap();
    assert_eq!((none.at(), none.events(), none.has_rest()), (START, 0, false));
    assert!(none.read_after(Position::default(), |_, _| Ok(())).unwrap());
    assert!(!none.read_after(at, |_, _| Ok(())).unwrap());
}

#[test]
fn a_view_gets_the_events_behind_its_place_and_is_told_of_a_place_that_is_none() {
    let names: Vec<_> = ["a", "bb", "ccc"].map(str::to_owned).into();
    let (_folder, path, ends) = journal(&names);
    let mut places = vec![];
    let read = verify(&path, |_, at| {
        places.push(at);
        Ok(())
    });
    let read = read.unwrap();
    let behind = |place: Position| {
        let mut count = 0;
        let is_place = read.read_after(place, |_, _| {
            count += 1;
            Ok(())
        });
        (is_place.unwrap(), count)
    };
    assert_eq!(behind(Position::default()), (true, 3));
    assert_eq!(behind(places[0]), (true, 2));
    assert_eq!(behind(places[2]), (true, 0));
    // No end of a record, an end with another history before it, and one that is further than the journal.
    for place in [
        Position { end: ends[0] + 1, ..places[0] },
        Position { hash: [1; 32], ..places[0] },
        Position { end: ends[2] + 1, ..places[2] },
    ] {
        assert!(!behind(place).0, "{place:?}");
    }
    // Damage elsewhere is none of the place.
    let elsewhere = || Error::Corrupt { path: "elsewhere".into(), detail: String::new() };
    assert!(matches!(read.read_after(places[0], |_, _| Err(elsewhere())), Err(Error::Corrupt { .. })));
}

#[test]
fn a_file_that_is_no_journal_or_one_of_a_newer_version_is_refused_as_what_it_is() {
    let (_folder, path, _) = journal(&["a".to_owned()]);
    let intact = std::fs::read(&path).unwrap();
    let refused = |first: &[u8]| {
        std::fs::write(&path, [first, &intact[first.len()..]].concat()).unwrap();
        events(&path).unwrap_err()
    };
    let newer = refused(b"cognate journal 2\n");
    assert!(matches!(newer, Error::OtherVersion { found: 2, known: VERSION, .. }), "{newer}");
    for first in [&b"cognate journal 0\n"[..], b"cognate journal 1 ", b"another journal 2\n"] {
        let other = refused(first);
        assert!(matches!(other, Error::Corrupt { .. }) && other.to_string().contains("it is not a journal"), "{other}");
    }
    // Of a part that was kept no head knows the length.
    std::fs::write(&path, &intact).unwrap();
    let mut compacted = Journal::open(&path, false, |_, _| Ok(())).unwrap();
    compacted.compact(std::iter::empty()).unwrap();
    let [kept] = &kept_parts(&path).unwrap()[..] else { panic!("one part is kept") };
    std::fs::write(&kept.path, &intact[..5]).unwrap();
    let problems = check_kept(&path, None).unwrap();
    assert!(problems.len() == 1 && problems[0].1.contains("it is cut short"), "{problems:?}");
}

#[test]
fn a_part_that_is_not_as_it_was_written_is_noticed() {
    let names: Vec<_> = ["a", "bb"].map(str::to_owned).into();
    let (folder, path, ends) = journal(&names);
    let past = Journal::open(&path, false, |_, _| Ok(())).unwrap().position();
    assert_eq!(past.end, ends[1]);
    let mut compacted = Journal::open(&path, false, |_, _| Ok(())).unwrap();
    compacted.compact(std::iter::empty()).unwrap();
    let end = Position { end: path.metadata().unwrap().len(), ..compacted.position() };
    let read_back = |past, end| compact::check_written(&path, past, end);
    read_back(past, end).unwrap();
    assert!(read_back(Position { end: past.end + 1, ..past }, end).is_err());
    assert!(read_back(past, Position { end: end.end + 1, ..end }).is_err());
    assert!(read_back(past, Position { hash: [1; 32], ..end }).is_err());
    // A part that was kept, and goes on after its end.
    let [kept] = &kept_parts(&path).unwrap()[..] else { panic!("one part is kept") };
    assert_eq!(check_kept(&path, Some(past)).unwrap(), []);
    let intact = std::fs::read(&kept.path).unwrap();
    std::fs::write(&kept.path, [&intact[..], b"rest"].concat()).unwrap();
    let problems = check_kept(&path, Some(past)).unwrap();
    assert!(problems.len() == 1 && problems[0].1.contains("does not end after"), "{problems:?}");
    // A file in the place of a folder is no folder that is not there.
    let no_folder = folder.path().join("other");
    std::fs::write(no_folder.with_extension("past"), b"a file").unwrap();
    assert!(kept_parts(&no_folder).is_err());
    assert!(verify(&path.join("journal"), |_, _| Ok(())).is_err());
}

#[test]
fn the_audit_log_ends_with_an_error_where_a_part_that_was_kept_is_not_all_there() {
    let names: Vec<_> = ["a", "bb", "ccc"].map(str::to_owned).into();
    let (_folder, path, ends) = journal(&names);
    let mut compacted = Journal::open(&path, false, |_, _| Ok(())).unwrap();
    compacted.compact(std::iter::empty()).unwrap();
    compacted.append(&event("after")).unwrap();
    let newest = |count| compacted.history().unwrap().newest_first(u64::MAX, count, |_, at| Some(at.end));
    let all = [compacted.position().end, ends[2], ends[1], ends[0]];
    assert_eq!(newest(9).unwrap(), all);
    let [kept] = &kept_parts(&path).unwrap()[..] else { panic!("one part is kept") };
    let (_other_folder, other, other_ends) = journal(&["x", "yy", "zzz"].map(str::to_owned));
    assert_eq!(other_ends, ends);
    // Cut after a record, and another part that is as long.
    let cut = std::fs::read(&kept.path).unwrap()[..usize::try_from(ends[1]).unwrap()].to_vec();
    for bytes in [cut, std::fs::read(other).unwrap()] {
        std::fs::write(&kept.path, bytes).unwrap();
        let error = newest(9).unwrap_err();
        assert!(error.to_string().contains("does not end as the part of the journal after it says"), "{error}");
        assert_eq!(newest(1).unwrap(), all[..1], "it is not looked at");
    }
}

#[test]
fn a_journal_or_a_head_that_cannot_be_looked_at_is_not_taken_for_one_that_begins() {
    for name in ["journal", "journal.head"] {
        let folder = tempfile::tempdir().unwrap();
        // A link to itself: there is something, and nothing can be said of it.
        std::os::unix::fs::symlink(name, folder.path().join(name)).unwrap();
        let refused = verify(&folder.path().join("journal"), |_, _| Ok(()));
        assert!(matches!(refused, Err(Error::State { path, .. }) if path.ends_with(name)), "{name}");
    }
}

#[test]
fn a_record_that_was_taken_out_or_put_elsewhere_breaks_the_chain() {
    let names: Vec<_> = ["a", "b", "c"].map(str::to_owned).into();
    let (_folder, path, ends) = journal(&names);
    let intact = std::fs::read(&path).unwrap();
    let place = |number: usize| usize::try_from(ends[number]).unwrap();
    let without_second = [&intact[..place(0)], &intact[place(1)..], &intact[place(1)..]].concat();
    std::fs::write(&path, without_second).unwrap();
    assert!(matches!(events(&path), Err(Error::Corrupt { .. })));
}

#[test]
fn after_a_loss_of_power_at_any_moment_a_journal_has_what_was_acknowledged_and_opens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let recording = cognate_disk_faults::record(folder.path()).unwrap();
    let mut journal = Journal::open(&path, true, |_, _| Ok(())).unwrap();
    let names = ["one", "two", "three", "four"];
    for (number, name) in (1..).zip(names) {
        journal.append(&event(name)).unwrap();
        recording.mark(number);
    }
    drop(journal);
    let states = recording.finish();
    for moment in 0..states.moments() {
        for state in states.at(moment, 60, 7) {
            let folder = tempfile::tempdir().unwrap();
            state.write_to(folder.path()).unwrap();
            let path = folder.path().join("journal");
            let found = events(&path).unwrap_or_else(|error| panic!("{}: {error}", state.description));
            assert!(found.len() as u64 >= state.acknowledged.unwrap_or_default(), "{}", state.description);
            assert_eq!(found, names[..found.len()].iter().map(|name| event(name)).collect::<Vec<_>>());
            // It goes on.
            Journal::open(&path, false, |_, _| Ok(())).unwrap().append(&event("after")).unwrap();
            assert_eq!(events(&path).unwrap().len(), found.len() + 1, "{}", state.description);
        }
    }
}
