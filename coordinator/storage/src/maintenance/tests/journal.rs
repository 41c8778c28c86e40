//! Check, backup, restore, rebuild and acceptance of a loss with a journal that was compacted.

use super::*;
use crate::harness::opened_again;
use crate::journal::{Acted, Action};
use crate::maintenance::{BackupOptions, CheckOptions, Finding, backup, check, rebuild, rebuild_with_loss, restore};

/// A state that was lived in, whose journal was compacted twice, with an event after that.
fn compacted() -> Fixture {
    let (fixture, _) = lived_in();
    for _ in 0..2 {
        for scan in 0..400 {
            record(&fixture, What::Acted(Acted { action: Action::SignedIn.into(), scan }));
        }
        fixture.store.compact_journal_beyond(0).unwrap().expect("it has outgrown the state");
    }
    record(&fixture, What::Profile(v1::Profile { name: "after".into(), options: None }));
    fixture
}

fn findings(state: &Path) -> Vec<Finding> {
    check(state, CheckOptions { read_data: true }, &|_, _| None).unwrap().findings
}

fn kept(state: &Path) -> Vec<PathBuf> {
    let mut kept = files_below(&state.join("journal.past"));
    kept.sort();
    kept
}

fn number_of_events(fixture: &Fixture) -> usize {
    fixture.store.history().unwrap().newest_first(u64::MAX, usize::MAX, |_, _| Some(())).unwrap().len()
}

#[test]
fn a_state_with_a_compacted_journal_is_checked_with_the_parts_that_are_kept() {
    let fixture = compacted();
    let while_running = findings(fixture.folder.path());
    assert!(while_running.is_empty(), "{while_running:?}");
    let folder = fixture.close();
    let state = folder.path();
    assert_eq!(findings(state), []);
    let parts = kept(state);
    assert_eq!(parts.len(), 2);
    for part in &parts {
        let intact = std::fs::read(part).unwrap();
        let middle = intact.len() / 2;
        let mut flipped = intact.clone();
        flipped[middle] ^= 1;
        // A part with a chain of its own that is as long: another's.
        let other = tempfile::tempdir().unwrap();
        let mut journal = crate::journal::Journal::open(&other.path().join("journal"), false, |_, _| Ok(())).unwrap();
        while journal.bytes() < middle as u64 {
            journal.append(&Event { what: Some(What::ScanDeleted(1)), ..Event::default() }).unwrap();
        }
        let foreign = std::fs::read(other.path().join("journal")).unwrap();
        for bytes in [flipped, intact[..middle].to_vec(), intact[..intact.len() - 1].to_vec(), foreign] {
            std::fs::write(part, bytes).unwrap();
            let found = findings(state);
            assert!(matches!(&found[..], [one] if one.path == *part && one.cure.contains("audit log")), "{found:?}");
        }
        std::fs::write(part, intact).unwrap();
    }
    // The administrator may move them away, the oldest first or all of them.
    std::fs::remove_file(&parts[0]).unwrap();
    assert_eq!(findings(state), []);
    // A store that was not brought level after a compaction follows from it, and one of another time does not.
    let fixture = Fixture::at(folder, false);
    fixture.store.barrier().unwrap();
    let folder = fixture.close();
    let old = tempfile::tempdir().unwrap();
    copy_below(&folder.path().join("store"), old.path());
    let fixture = Fixture::at(folder, false);
    for scan in 0..400 {
        record(&fixture, What::Acted(Acted { action: Action::SignedIn.into(), scan }));
    }
    fixture.store.compact_journal_beyond(0).unwrap().unwrap();
    let folder = fixture.close();
    std::fs::remove_dir_all(folder.path().join("store")).unwrap();
    copy_below(old.path(), &folder.path().join("store"));
    let found = findings(folder.path());
    assert!(matches!(&found[..], [one] if one.problem == "it does not follow from the journal"), "{found:?}");
}

#[test]
fn a_backup_has_the_parts_of_the_journal_and_a_restored_state_knows_its_members() {
    let fixture = compacted();
    let (expected, events) = (registry(&fixture), number_of_events(&fixture));
    let elsewhere = tempfile::tempdir().unwrap();
    let (to, state) = (elsewhere.path().join("backup"), elsewhere.path().join("state"));
    let clock = config().clock;
    let saved = backup(fixture.folder.path(), &to, &BackupOptions { include_ca: false, made: clock() }).unwrap();
    assert!(saved.damaged.is_empty() && kept(&to).len() == 2, "{saved:?}");
    let key = elsewhere.path().join("ca.key");
    std::fs::copy(fixture.folder.path().join("ca.key"), &key).unwrap();
    drop(fixture);
    // Members that only the checkpoint names are found, to be revoked.
    let restored = restore(&to, &state, &restoring(&["a".to_owned(), "nobody".to_owned()], Some(&key))).unwrap();
    assert_eq!((restored.revoked, restored.unknown), (vec!["a".to_owned()], vec!["nobody".to_owned()]));
    assert_eq!((restored.rebuilt.members, restored.rebuilt.indexes), (3, 3));
    let (store, _) = opened_again(|| crate::maintenance::open(&state, config())).unwrap();
    let status = |name: &str| store.member(v1::MemberKind::Site, name).unwrap().unwrap().status();
    assert_eq!((status("a"), status("b")), (v1::MemberStatus::Revoked, v1::MemberStatus::Active));
    assert_eq!(store.profiles().unwrap(), expected.2);
    let history = store.history().unwrap().newest_first(u64::MAX, usize::MAX, |_, _| Some(())).unwrap();
    assert_eq!(history.len(), events + 2, "it was restored, and one was revoked");
}

#[test]
fn a_store_is_rebuilt_from_a_compacted_journal() {
    let fixture = compacted();
    let expected = (registry(&fixture), rows(&fixture));
    let folder = fixture.close();
    let rebuilt = rebuild(folder.path(), config().clock).unwrap();
    assert_eq!((rebuilt.members, rebuilt.indexes), (3, 3));
    let fixture = Fixture::at(folder, false);
    assert_eq!((registry(&fixture), rows(&fixture)), expected);
}

#[test]
fn where_a_checkpoint_is_damaged_the_loss_is_accepted_by_the_part_before_it() {
    let fixture = compacted();
    let members = (registry(&fixture).0, registry(&fixture).1);
    let folder = fixture.close();
    let journal = folder.path().join("journal");
    let intact = std::fs::read(&journal).unwrap();
    let intact_head = std::fs::read(journal.with_extension("head")).unwrap();
    let mut flipped = intact.clone();
    flipped[intact.len() / 2] ^= 1;
    let mut flipped_first = intact.clone();
    flipped_first[70] ^= 1;
    let mut folder = Some(folder);
    for bytes in [flipped, flipped_first, intact[..intact.len() / 3].to_vec(), Vec::new()] {
        let state = folder.take().unwrap();
        std::fs::write(&journal, &bytes).unwrap();
        std::fs::write(journal.with_extension("head"), &intact_head).unwrap();
        for refused in [
            rebuild(state.path(), config().clock).map(drop),
            crate::maintenance::open(state.path(), config()).map(drop),
            backup(
                state.path(),
                &state.path().join("b"),
                &BackupOptions { include_ca: false, made: (config().clock)() },
            )
            .map(drop),
        ] {
            assert!(matches!(&refused, Err(Error::Corrupt { path, .. }) if *path == journal), "{refused:?}");
        }
        assert!(findings(state.path()).iter().any(|finding| finding.path == journal));
        let parts = kept(state.path());
        let (rebuilt, aside) = rebuild_with_loss(state.path(), config().clock).unwrap();
        assert_eq!((rebuilt.members, std::fs::read(aside.unwrap()).unwrap()), (3, bytes));
        let fixture = Fixture::at(state, false);
        assert_eq!((registry(&fixture).0, registry(&fixture).1), members, "nothing of the old part is lost");
        assert!(fixture.store.profile("after").unwrap().is_none(), "what came after it is");
        // It can be compacted again, and no part is written over.
        for scan in 0..400 {
            record(&fixture, What::Acted(Acted { action: Action::SignedIn.into(), scan }));
        }
        fixture.store.compact_journal_beyond(0).unwrap().unwrap();
        let state = fixture.close();
        assert_eq!(kept(state.path()).len(), parts.len() + 1);
        assert_eq!(findings(state.path()), []);
        folder = Some(state);
    }
    // Without the part before it, what can be read of it remains.
    let state = folder.unwrap();
    std::fs::remove_dir_all(state.path().join("journal.past")).unwrap();
    let length = std::fs::metadata(&journal).unwrap().len();
    std::fs::File::options().write(true).open(&journal).unwrap().set_len(length / 2).unwrap();
    rebuild_with_loss(state.path(), config().clock).unwrap();
    let fixture = Fixture::at(state, false);
    assert_eq!(number_of_events(&fixture), 1, "the acceptance itself");
    assert_eq!(findings(fixture.close().path()), []);
}
