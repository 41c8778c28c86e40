//! A store that is damaged, behind, or ahead is rebuilt from the journal and the segments.

use super::*;

#[test]
fn however_the_store_is_damaged_the_registry_and_the_indexes_are_as_before() {
    let (fixture, sites) = lived_in();
    let expected = (registry(&fixture), rows(&fixture));
    let slots = |fixture: &Fixture| {
        let mut slots = fixture.store.slots().unwrap();
        slots.sort_by_key(|(key, _)| format!("{key:?}"));
        slots
    };
    let expected_slots = slots(&fixture);
    fixture.store.barrier().unwrap();
    let folder = fixture.close();
    let intact = folder.path().join("intact");
    copy_below(&folder.path().join("store"), &intact.join("store"));
    copy_below(&folder.path().join("indexes"), &intact.join("indexes"));
    for name in ["journal", "journal.head"] {
        std::fs::copy(folder.path().join(name), intact.join(name)).unwrap();
    }
    let mut rebuilt = 0;
    let mut check = |what: &str, damage: &dyn Fn(&Path)| {
        let state = tempfile::tempdir().unwrap();
        copy_below(&intact, state.path());
        damage(&state.path().join("store"));
        let fixture = Fixture::at(state, false);
        assert_eq!(registry(&fixture), expected.0, "{what}");
        assert_eq!(rows(&fixture), expected.1, "{what}");
        assert_eq!(slots(&fixture), expected_slots, "{what}");
        postings(&fixture, &sites[0]);
        let aside = std::fs::read_dir(fixture.folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        rebuilt += aside.filter(|name| name.to_string_lossy().starts_with("store.corrupt-")).count();
        let mut writer = fixture.indexes.writer(sites[1].key(), 5, &method()).unwrap();
        assert_eq!(writer.commit().unwrap(), 0);
    };
    check("gone", &|store| std::fs::remove_dir_all(store).unwrap());
    for file in files_below(&intact.join("store")) {
        let name = file.strip_prefix(intact.join("store")).unwrap().to_owned();
        let length = std::fs::metadata(&file).unwrap().len();
        let what = |damage: &str| format!("{} {damage}", name.display());
        check(&what("removed"), &|store| std::fs::remove_file(store.join(&name)).unwrap());
        for part in 0..4 {
            let cut = length * part / 4;
            check(&what(&format!("cut to {cut}")), &|store| {
                std::fs::File::options().write(true).open(store.join(&name)).unwrap().set_len(cut).unwrap();
            });
        }
        let bytes = std::fs::read(&file).unwrap();
        let written: Vec<usize> = (0..bytes.len()).filter(|place| bytes[*place] != 0).collect();
        for place in written.iter().step_by((written.len() / 12).max(1)) {
            check(&what(&format!("flipped at {place}")), &|store| {
                let mut damaged = bytes.clone();
                damaged[*place] ^= 0x10;
                std::fs::write(store.join(&name), damaged).unwrap();
            });
        }
    }
    assert!(rebuilt > 0);
}

#[test]
fn a_store_that_lags_behind_the_journal_or_the_segments_catches_up() {
    let (fixture, mut sites) = lived_in();
    fixture.store.barrier().unwrap();
    let old = tempfile::tempdir().unwrap();
    let folder = fixture.close();
    copy_below(&folder.path().join("store"), old.path());
    let fixture = Fixture::at(folder, false);
    record(&fixture, What::Revoked(MemberName { kind: v1::MemberKind::Site.into(), name: "b".into() }));
    sites[0].live_a_day(9);
    sites[0].sync(&fixture.indexes);
    let expected = (registry(&fixture), rows(&fixture));
    let folder = fixture.close();
    std::fs::remove_dir_all(folder.path().join("store")).unwrap();
    copy_below(old.path(), &folder.path().join("store"));
    let fixture = Fixture::at(folder, false);
    assert_eq!((registry(&fixture), rows(&fixture)), expected);
    sites[0].live_a_day(10);
    sites[0].sync(&fixture.indexes);
    assert_eq!(sites[0].restarts, 0);
}

#[test]
fn a_journal_that_lost_what_was_acknowledged_is_refused_until_the_loss_is_accepted() {
    let (fixture, _) = lived_in();
    let journal = fixture.folder.path().join("journal");
    let head = journal.with_extension("head");
    let before = (std::fs::read(&journal).unwrap(), std::fs::read(&head).unwrap());
    record(&fixture, What::ProfileRemoved("weekly".into()));
    let folder = fixture.close();
    let after = (std::fs::read(&journal).unwrap(), std::fs::read(&head).unwrap());
    let mut flipped = after.0.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let refuses = |what: &str, (bytes, head_bytes): (Option<&[u8]>, Option<&[u8]>)| {
        let _ = (std::fs::remove_file(&journal), std::fs::remove_file(&head));
        for (path, bytes) in [(&journal, bytes), (&head, head_bytes)] {
            bytes.map_or(Ok(()), |bytes| std::fs::write(path, bytes)).unwrap();
        }
        let clock = config().clock;
        for _ in 0..2 {
            let opened = crate::maintenance::open(folder.path(), config()).map(drop);
            let rebuilt = crate::maintenance::rebuild(folder.path(), clock).map(drop);
            for refused in [opened, rebuilt] {
                let error = refused.expect_err(what);
                assert!(matches!(&error, Error::Corrupt { path, .. } if *path == journal), "{what}: {error}");
                assert!(error.to_string().contains("--accept-loss"), "{what}: {error}");
            }
        }
    };
    refuses("a flipped bit in the last record", (Some(&flipped), Some(&after.1)));
    refuses("an earlier journal", (Some(&before.0), Some(&after.1)));
    refuses("an empty journal", (Some(&[]), Some(&after.1)));
    refuses("no journal", (None, Some(&after.1)));
    refuses("no head", (Some(&after.0), None));
    refuses("neither", (None, None));
    // These fit each other: only the store knows better.
    refuses("an earlier journal with its head", (Some(&before.0), Some(&before.1)));
    std::fs::write(&journal, &flipped).unwrap();
    std::fs::write(&head, &after.1).unwrap();
    let (_, kept) = crate::maintenance::rebuild_with_loss(folder.path(), config().clock).unwrap();
    assert_eq!(std::fs::read(kept.unwrap()).unwrap(), flipped);
    let fixture = Fixture::at(folder, false);
    assert_eq!(fixture.store.profiles().unwrap().len(), 1, "what was lost is lost");
    let mut last = None;
    crate::journal::read(&journal, |event, _| {
        last = event.what;
        Ok(())
    })
    .unwrap();
    assert!(matches!(last, Some(What::Acted(acted)) if acted.action() == crate::journal::Action::LossAccepted));
}

#[test]
fn a_rebuild_that_was_asked_for_finds_the_same_and_keeps_what_only_the_store_knew() {
    let (fixture, mut sites) = lived_in();
    let seen = crate::store::SeenRow { instance: 5, ..Default::default() };
    fixture.store.put_seen(&sites[0].name, &seen).unwrap();
    let expected = (registry(&fixture), rows(&fixture));
    let clock = config().clock;
    assert!(matches!(crate::maintenance::rebuild(fixture.folder.path(), clock), Err(Error::Locked { .. })));
    let folder = fixture.close();
    let rebuilt = crate::maintenance::rebuild(folder.path(), clock).unwrap();
    assert_eq!((rebuilt.members, rebuilt.indexes), (3, 3));
    assert!(rebuilt.earlier_store.unwrap().ends_with("store.before-rebuild-20270115T080000Z"));
    let fixture = Fixture::at(folder, false);
    assert_eq!((registry(&fixture), rows(&fixture)), expected);
    assert_eq!(fixture.store.seen(&sites[0].name).unwrap(), seen);
    sites[0].live_a_day(4);
    sites[0].sync(&fixture.indexes);
}
