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
    for bytes in [None, Some(vec![]), Some(vec![7; own.len()]), Some(foreign)] {
        let _ = std::fs::remove_file(&head);
        if let Some(bytes) = bytes {
            std::fs::write(&head, bytes).unwrap();
        }
        let error = events(&path).unwrap_err().to_string();
        assert!(error.contains("--accept-loss"), "{error}");
    }
    let intact = std::fs::read(&path).unwrap();
    std::fs::write(&path, [&intact[..], b"rest"].concat()).unwrap();
    assert_eq!(seal(&path).unwrap(), 4);
    assert_eq!((events(&path).unwrap().len(), std::fs::read(&path).unwrap()), (2, intact));
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
