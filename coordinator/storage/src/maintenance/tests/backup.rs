//! Checks of a state, and backups of it.

use super::*;
use crate::harness::opened_again;

fn clock() -> std::time::SystemTime {
    (config().clock)()
}

fn checked(state: &Path) -> crate::maintenance::Checked {
    crate::maintenance::check(state, crate::maintenance::CheckOptions { read_data: true }, &|_, _| None).unwrap()
}

#[test]
fn next_to_a_running_coordinator_a_damaged_last_record_is_found_and_an_unfinished_one_is_not() {
    let (fixture, sites) = lived_in();
    let sealed = fixture.indexes.sealed(&sites[1].key()).unwrap().unwrap();
    let path = fixture.folder.path().join(format!("indexes/{}.seg", sealed.id.0));
    let intact = std::fs::read(&path).unwrap();
    // The seal is the last record; its last byte is one of its body.
    let mut damaged = intact.clone();
    *damaged.last_mut().unwrap() ^= 4;
    std::fs::write(&path, damaged).unwrap();
    let findings = checked(fixture.folder.path()).findings;
    assert!(matches!(&findings[..], [finding] if finding.path == path), "{findings:?}");
    for cut in 1..30 {
        std::fs::write(&path, &intact[..intact.len() - cut]).unwrap();
        let findings = checked(fixture.folder.path()).findings;
        assert!(findings.is_empty(), "cut by {cut}: {findings:?}");
    }
}

#[test]
fn a_sound_state_has_no_findings_and_every_damaged_segment_is_named_with_its_cure() {
    let (fixture, sites) = lived_in();
    // Next to a running coordinator, all but its store is checked.
    let while_running = checked(fixture.folder.path());
    assert!(!while_running.store && while_running.findings.is_empty(), "{while_running:?}");
    let sealed = fixture.indexes.sealed(&sites[1].key()).unwrap().unwrap();
    let folder = fixture.close();
    let sound = checked(folder.path());
    assert!(sound.store && sound.findings.is_empty(), "{sound:?}");
    assert!(sound.events > 0 && sound.batches > 0 && sound.runs > 0 && sound.segments == 3, "{sound:?}");
    let path = folder.path().join(format!("indexes/{}.seg", sealed.id.0));
    let intact = std::fs::read(&path).unwrap();
    for place in (0..intact.len()).step_by(intact.len() / 40) {
        let mut damaged = intact.clone();
        damaged[place] ^= 4;
        std::fs::write(&path, damaged).unwrap();
        let findings = checked(folder.path()).findings;
        assert!(
            findings.iter().any(|finding| finding.path == path && finding.problem.contains("at byte")),
            "{findings:?}"
        );
        assert!(findings.iter().any(|finding| finding.cure.contains("`b/main`")), "{findings:?}");
    }
    // Also where the store cannot say how much of it counts.
    let (store, away) = (folder.path().join("store"), folder.path().join("away"));
    std::fs::rename(&store, &away).unwrap();
    assert!(checked(folder.path()).findings.iter().any(|finding| finding.path == path));
    std::fs::rename(&away, &store).unwrap();
    std::fs::write(&path, intact).unwrap();
    let run = files_below(&folder.path().join("indexes")).into_iter().find(|path| path.extension().unwrap() == "run");
    let run = run.unwrap();
    let mut damaged = std::fs::read(&run).unwrap();
    let last = damaged.len() - 20;
    damaged[last] ^= 1;
    std::fs::write(&run, damaged).unwrap();
    let findings = checked(folder.path()).findings;
    assert!(matches!(&findings[..], [finding] if finding.path == run), "{findings:?}");
    // The store's word is held against the segments.
    let fixture = Fixture::at(folder, false);
    let mut row = fixture.store.index(sealed.id).unwrap().unwrap();
    row.head[0] ^= 1;
    fixture.store.put_index(sealed.id, &row).unwrap();
    let folder = fixture.close();
    let findings = checked(folder.path()).findings;
    assert!(findings.iter().any(|finding| finding.cure.contains("rebuild")), "{findings:?}");
}

#[test]
fn a_backup_made_while_sites_push_is_complete_and_a_restored_older_state_makes_sites_send_again() {
    let (fixture, mut sites) = lived_in();
    let state = fixture.folder.path();
    std::fs::write(state.join("ca.crt"), "public").unwrap();
    // A name may begin with a dot.
    for case in ["one", ".2024"] {
        std::fs::create_dir_all(state.join("cases").join(case)).unwrap();
        std::fs::write(state.join("cases").join(case).join("1.json"), "{}").unwrap();
    }
    // What is derived, belongs to the process, or is none of ours.
    std::fs::create_dir_all(state.join("spool")).unwrap();
    for name in ["serving.toml", "spool/0123", "somebody's notes", "cases/one/.2.json.partial", "indexes/7-old.seg"] {
        std::fs::write(state.join(name), "other").unwrap();
    }
    std::fs::create_dir_all(state.join("scans/00ff")).unwrap();
    std::fs::write(state.join("scans/00ff/result.sqlite"), "a result").unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let (to, restored) = (elsewhere.path().join("backup"), elsewhere.path().join("state"));
    let options = crate::maintenance::BackupOptions { include_ca: false, made: clock() };
    // One push is under way: what it has not committed may or may not be in it, but nothing is half there.
    let mut writer = fixture.indexes.writer(sites[0].key(), 99, &method()).unwrap();
    let (body, digest, _) = crate::harness::batch(2);
    assert!(writer.batch(2, &digest, &body).unwrap().is_ok());
    let saved = crate::maintenance::backup(state, &to, &options).unwrap();
    let names: Vec<_> = files_below(&to).iter().map(|path| path.strip_prefix(&to).unwrap().to_owned()).collect();
    assert!(saved.damaged.is_empty() && saved.files == 8 && names.len() == 10, "{saved:?} {names:?}");
    for name in ["ca.crt", "cases/one/1.json", "cases/.2024/1.json", "scans/00ff/result.sqlite", "journal"] {
        assert!(names.contains(&name.into()), "{name}: {names:?}");
    }
    assert!(crate::maintenance::backup(state, &to, &options).is_err());
    drop(writer);
    let expected = (registry(&fixture), rows(&fixture));
    // The world goes on.
    for day in 20..22 {
        sites[1].live_a_day(day);
        sites[1].sync(&fixture.indexes);
    }
    drop(fixture);
    // As the documented order has it: the key of the authority is there first, and a lock may be.
    std::fs::create_dir(&restored).unwrap();
    write_authority(&restored.join("ca.key"), "secret");
    std::fs::write(restored.join("lock"), "").unwrap();
    let found = crate::maintenance::restore(&to, &restored, &restoring(&[], None)).unwrap();
    assert_eq!(std::fs::read(restored.join("ca.key")).unwrap(), b"secret");
    assert_eq!((found.rebuilt.members, found.rebuilt.indexes), (3, 3));
    let again = crate::maintenance::restore(&to, &restored, &restoring(&[], None));
    assert!(again.unwrap_err().to_string().contains("not empty"));
    let (store, indexes) = opened_again(|| crate::maintenance::open(&restored, config())).unwrap();
    let found = indexes.all().unwrap();
    assert_eq!(found.len(), expected.1.len());
    for (key, _, row) in found.iter().filter(|(.., row)| row.sealed) {
        assert!(expected.1.contains(&(key.clone(), comparable(row))));
    }
    assert_eq!(std::fs::read(restored.join("scans/00ff/result.sqlite")).unwrap(), b"a result");
    let highest = found.iter().map(|(_, id, _)| id.0).max().unwrap();
    assert!(store.next_index_id().unwrap().0 > highest + 1);
    // A worker that is further than the restored coordinator cannot continue its own log here, and restarts the index.
    sites[1].live_a_day(23);
    sites[1].sync(&indexes);
    assert_eq!(sites[1].restarts, 1);
    let sealed = indexes.sealed(&sites[1].key()).unwrap().unwrap();
    assert_eq!(indexes.load(sealed.id, sealed.sequence).unwrap().root(), sites[1].root);
    drop((store, indexes));
    let findings = checked(&restored).findings;
    assert!(findings.iter().all(|finding| finding.path.ends_with("result.sqlite")), "{findings:?}");
}

#[test]
fn a_backup_that_was_changed_is_refused_before_anything_is_written() {
    let (fixture, _) = lived_in();
    let elsewhere = tempfile::tempdir().unwrap();
    let (to, restored) = (elsewhere.path().join("backup"), elsewhere.path().join("state"));
    crate::maintenance::backup(
        fixture.folder.path(),
        &to,
        &crate::maintenance::BackupOptions { include_ca: false, made: clock() },
    )
    .unwrap();
    let key = elsewhere.path().join("ca.key");
    write_authority(&key, "secret");
    let restore = || crate::maintenance::restore(&to, &restored, &restoring(&[], Some(&key)));
    for path in files_below(&to) {
        let intact = std::fs::read(&path).unwrap();
        let mut damaged = intact.clone();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 1;
        std::fs::write(&path, damaged).unwrap();
        let named = if path.ends_with("manifest.mac") { to.join("manifest.json") } else { path.clone() };
        let error = restore().unwrap_err();
        assert!(matches!(&error, Error::Corrupt { path, .. } if *path == named), "{error}");
        std::fs::write(&path, &intact).unwrap();
        let away = path.with_extension("away");
        std::fs::rename(&path, &away).unwrap();
        assert!(restore().is_err());
        // The same bytes, but through a link.
        std::os::unix::fs::symlink(&away, &path).unwrap();
        assert!(restore().unwrap_err().to_string().contains("link"), "{}", path.display());
        std::fs::remove_file(&path).unwrap();
        std::fs::rename(&away, &path).unwrap();
    }
    let (folder, away) = (to.join("indexes"), elsewhere.path().join("away"));
    std::fs::rename(&folder, &away).unwrap();
    std::os::unix::fs::symlink(&away, &folder).unwrap();
    assert!(restore().unwrap_err().to_string().contains("link"));
    std::fs::remove_file(&folder).unwrap();
    std::fs::rename(&away, &folder).unwrap();
    assert!(!restored.try_exists().unwrap());
    restore().unwrap();
}

/// Replaces a file of a backup, and makes the manifest agree with it, as anybody can who has the backup and no key.
fn forge(backup: &Path, name: &str, bytes: &[u8]) {
    let path = backup.join("manifest.json");
    let mut manifest: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    manifest["files"][name] =
        serde_json::json!({"bytes": bytes.len(), "blake3": blake3::hash(bytes).to_hex().to_string()});
    std::fs::create_dir_all(backup.join(name).parent().unwrap()).unwrap();
    std::fs::write(backup.join(name), bytes).unwrap();
    std::fs::write(&path, manifest.to_string()).unwrap();
}

#[test]
fn a_forged_backup_is_refused_whatever_its_manifest_says() {
    let (fixture, _) = lived_in();
    let elsewhere = tempfile::tempdir().unwrap();
    let (to, key) = (elsewhere.path().join("backup"), elsewhere.path().join("ca.key"));
    let options = crate::maintenance::BackupOptions { include_ca: false, made: clock() };
    crate::maintenance::backup(fixture.folder.path(), &to, &options).unwrap();
    let journal = std::fs::read(to.join("journal")).unwrap();
    let restore = |key: &Path| {
        let restored = elsewhere.path().join("state");
        let result = crate::maintenance::restore(&to, &restored, &restoring(&[], Some(key)));
        let is_there = restored.try_exists().unwrap();
        (result.map(drop).map_err(|error| error.to_string()), is_there)
    };
    write_authority(&key, "another key");
    let (refused, is_there) = restore(&key);
    assert!(refused.unwrap_err().contains("of another federation") && !is_there);
    let (refused, is_there) = restore(&elsewhere.path().join("absent"));
    assert!(refused.unwrap_err().contains("is missing") && !is_there);
    write_authority(&key, "secret");
    // A journal that is a valid one, cut to its first records.
    for (name, bytes) in [("journal", &journal[..]), ("journal", &journal[..80]), ("scans/1f/result.sqlite", b"x")] {
        forge(&to, name, bytes);
        let (refused, is_there) = restore(&key);
        assert!(refused.unwrap_err().contains("it was changed") && !is_there, "{name}");
    }
}

#[test]
fn a_backup_with_names_that_none_has_is_refused_even_by_its_own_key() {
    let (fixture, _) = lived_in();
    let elsewhere = tempfile::tempdir().unwrap();
    let (to, key) = (elsewhere.path().join("backup"), fixture.folder.path().join("ca.key"));
    let options = crate::maintenance::BackupOptions { include_ca: false, made: clock() };
    crate::maintenance::backup(fixture.folder.path(), &to, &options).unwrap();
    let intact = std::fs::read(to.join("manifest.json")).unwrap();
    for name in ["store/db", ".bashrc", "indexes/x.run", "scans/1f/other", "cases/a/b/1.json", "lock", "journal.head"] {
        forge(&to, name, b"x");
        let derived = blake3::derive_key("cognate backup v1", b"secret");
        let code = blake3::keyed_hash(&derived, &std::fs::read(to.join("manifest.json")).unwrap());
        std::fs::write(to.join("manifest.mac"), code.to_hex().as_bytes()).unwrap();
        let restored = elsewhere.path().join("state");
        let refused = crate::maintenance::restore(&to, &restored, &restoring(&[], Some(&key))).unwrap_err();
        assert!(refused.to_string().contains(name) && !restored.try_exists().unwrap(), "{refused}");
        std::fs::write(to.join("manifest.json"), &intact).unwrap();
    }
}

#[test]
fn a_backup_that_brings_its_own_key_is_restored_once_the_key_is_put_in_its_place() {
    let (fixture, _) = lived_in();
    let elsewhere = tempfile::tempdir().unwrap();
    let (to, state) = (elsewhere.path().join("backup"), elsewhere.path().join("state"));
    let options = crate::maintenance::BackupOptions { include_ca: true, made: clock() };
    crate::maintenance::backup(fixture.folder.path(), &to, &options).unwrap();
    let restore = || crate::maintenance::restore(&to, &state, &restoring(&[], None)).map(drop);
    let refused = restore().unwrap_err().to_string();
    assert!(refused.contains("may have put another key there") && !state.try_exists().unwrap(), "{refused}");
    std::fs::create_dir(&state).unwrap();
    write_authority(&state.join("ca.key"), "another");
    assert!(restore().unwrap_err().to_string().contains("of another federation"));
    std::fs::copy(to.join("ca.key"), state.join("ca.key")).unwrap();
    restore().unwrap();
}

#[test]
fn the_code_of_a_backup_is_known_only_with_the_key_of_its_state() {
    let (fixture, _) = lived_in();
    let elsewhere = tempfile::tempdir().unwrap();
    let (to, state) = (elsewhere.path().join("backup"), fixture.folder.path());
    let options = crate::maintenance::BackupOptions { include_ca: false, made: clock() };
    crate::maintenance::backup(state, &to, &options).unwrap();
    assert!(crate::maintenance::code_of(&to, state).is_some());
    let later = crate::maintenance::BackupOptions { made: clock() + std::time::Duration::from_secs(1), ..options };
    crate::maintenance::backup(state, &elsewhere.path().join("later"), &later).unwrap();
    let code = crate::maintenance::code_of(&elsewhere.path().join("later"), state);
    assert!(code.is_some() && code != crate::maintenance::code_of(&to, state), "no copy, although nothing changed");
    let key = elsewhere.path().join("ca.key");
    write_authority(&key, "another");
    assert_eq!(crate::maintenance::code_of(&to, elsewhere.path()), None);
    forge(&to, "scans/1f/result.sqlite", b"x");
    assert_eq!(crate::maintenance::code_of(&to, state), None);
}
