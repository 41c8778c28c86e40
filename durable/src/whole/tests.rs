//! Complete files: the content under a name before, during and after a write.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_killed_write_leaves_the_earlier_file_and_the_next_write_removes_its_rest() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.json");
    write_whole(&path, b"first", PRIVATE).unwrap();
    let (draft, mut file) = Draft::create(&path, PUBLIC).unwrap();
    file.write_all(b"half of the sec").unwrap();
    // A killed process drops nothing.
    std::mem::forget(draft);
    assert_eq!(std::fs::read(&path).unwrap(), b"first");
    assert!(temporary(&path).is_file());
    write_whole(&path, b"second", PRIVATE).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"second");
    assert_eq!(names(folder.path()), ["x.json"]);
}

#[test]
fn a_write_that_fails_leaves_the_earlier_file_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    write_whole(&path, b"first", PRIVATE).unwrap();
    let (draft, mut file) = Draft::create(&path, PRIVATE).unwrap();
    file.write_all(b"half").unwrap();
    drop(draft);
    assert_eq!((std::fs::read(&path).unwrap(), names(folder.path())), (b"first".to_vec(), vec!["x".to_owned()]));
    let below_a_file = path.join("y");
    assert!(write_whole(&below_a_file, b"second", PRIVATE).is_err());
    std::fs::create_dir(folder.path().join("folder")).unwrap();
    std::fs::write(folder.path().join("folder/file"), b"").unwrap();
    assert!(write_whole(&folder.path().join("folder"), b"second", PRIVATE).is_err());
    assert!(!temporary(&folder.path().join("folder")).is_file());
}

#[test]
fn a_private_file_is_private_whatever_was_under_its_names_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    for open in [&path, &temporary(&path)] {
        std::fs::write(open, b"anybody").unwrap();
        std::fs::set_permissions(open, std::fs::Permissions::from_mode(0o666)).unwrap();
    }
    write_whole(&path, b"secret", PRIVATE).unwrap();
    assert_eq!(mode(&path), PRIVATE);
}

#[test]
fn a_file_that_another_writer_makes_is_published_in_the_same_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.sqlite");
    std::fs::write(temporary(&path), b"a leftover").unwrap();
    let draft = Draft::begin(&path).unwrap();
    assert!(!draft.temporary().is_file());
    assert!(draft.sync().is_err(), "there is nothing to sync");
    std::fs::write(draft.temporary(), b"tables").unwrap();
    draft.sync().unwrap();
    draft.publish().unwrap();
    assert_eq!((std::fs::read(&path).unwrap(), names(folder.path()).len()), (b"tables".to_vec(), 1));
}

#[test]
fn a_name_without_a_folder_is_in_the_current_one() {
    assert_eq!(folder_of(Path::new("x")), Path::new("."));
    assert_eq!(folder_of(Path::new("a/x")), Path::new("a"));
    assert_eq!(temporary(Path::new("a/x.pem")), Path::new("a/x.pem.tmp"));
}

#[test]
fn links_under_both_names_are_replaced_and_the_files_that_they_point_to_stay() {
    let folder = tempfile::tempdir().unwrap();
    let (path, target) = (folder.path().join("x"), folder.path().join("target"));
    std::fs::write(&target, b"of somebody else").unwrap();
    for link in [&path, &temporary(&path)] {
        std::os::unix::fs::symlink(&target, link).unwrap();
    }
    write_whole(&path, b"secret", PRIVATE).unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), b"of somebody else");
    assert!(path.symlink_metadata().unwrap().is_file());
    assert_eq!((std::fs::read(&path).unwrap(), mode(&path)), (b"secret".to_vec(), PRIVATE));
}

#[test]
fn a_folder_under_the_temporary_name_stops_a_write_and_keeps_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    write_whole(&path, b"first", PRIVATE).unwrap();
    std::fs::create_dir(temporary(&path)).unwrap();
    std::fs::write(temporary(&path).join("file"), b"").unwrap();
    assert!(Draft::begin(&path).is_err() && write_whole(&path, b"second", PRIVATE).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"first");
    assert_eq!(names(&temporary(&path)), ["file"]);
}

#[test]
fn a_draft_that_somebody_removed_is_not_published_and_the_earlier_file_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    write_whole(&path, b"first", PUBLIC).unwrap();
    for sync in [false, true] {
        let (draft, _) = Draft::create(&path, PUBLIC).unwrap();
        std::fs::remove_file(draft.temporary()).unwrap();
        assert_eq!(draft.finish(sync).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!((std::fs::read(&path).unwrap(), names(folder.path())), (b"first".to_vec(), vec!["x".to_owned()]));
    }
}

#[test]
fn a_draft_has_its_own_name_only_once_it_is_finished() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let (draft, mut file) = Draft::create(&path, PUBLIC).unwrap();
    assert_eq!((draft.path(), names(folder.path())), (&*path, vec!["x.tmp".to_owned()]));
    file.write_all(b"all of it").unwrap();
    draft.finish(false).unwrap();
    assert_eq!((std::fs::read(&path).unwrap(), names(folder.path())), (b"all of it".to_vec(), vec!["x".to_owned()]));
    assert_eq!(mode(&path) & !PUBLIC, 0, "a document is no program");
    assert!(sync_folder_of(&folder.path().join("missing/x")).is_err());
}
