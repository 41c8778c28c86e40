//! Complete files: the content under a name before, during and after a write.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

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
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, PRIVATE);
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
