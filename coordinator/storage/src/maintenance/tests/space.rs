//! Space that the state takes, and a full disk.

use std::io::Write as _;

use super::*;

#[test]
fn the_space_that_is_taken_adds_up() {
    let (fixture, _) = lived_in();
    let state = fixture.folder.path();
    // Keys are not among what grows.
    std::fs::remove_file(state.join("ca.key")).unwrap();
    std::fs::create_dir(state.join("store.corrupt-1")).unwrap();
    std::fs::write(state.join("store.corrupt-1/db"), "old").unwrap();
    let space = crate::maintenance::space(state, &fixture.indexes).unwrap();
    let kinds: Vec<_> = space.iter().map(|row| row.kind.as_str()).collect();
    assert_eq!(kinds, ["segments", "runs", "results", "store", "journal", "damaged"]);
    assert_eq!(space.iter().map(|row| row.bytes).sum::<u64>(), bytes_below(state));
    assert!(space.iter().all(|row| row.live_bytes <= row.bytes), "{space:?}");
    assert_eq!((space[5].files, space[5].live_bytes), (1, 0));
    assert!(fixture.indexes.free_bytes().unwrap() > 0);
}

/// A file system of 8 MiB of its own, where this may be made.
struct Small(PathBuf);

impl Small {
    fn mount(at: &Path) -> Option<Small> {
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=8m", "tmpfs"])
            .arg(at)
            .stderr(std::process::Stdio::null())
            .status();
        mounted.is_ok_and(|status| status.success()).then(|| Small(at.to_owned()))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_refuses_batches_by_name_and_goes_on_when_there_is_room_again() {
    let folder = tempfile::tempdir().unwrap();
    let Some(small) = Small::mount(folder.path()) else {
        let _ = writeln!(std::io::stderr(), "\nNOT CHECKED: a full disk, since no small file system can be mounted\n");
        return;
    };
    let config = crate::indexes::IndexesConfig { disk_reserve_bytes: 1 << 20, ..config() };
    let (store, indexes) = crate::harness::opened_again(|| crate::maintenance::open(&small.0, config)).unwrap();
    let ballast = small.0.join("ballast");
    let free = usize::try_from(indexes.free_bytes().unwrap()).unwrap();
    std::fs::write(&ballast, vec![1; free - (1 << 20) - 20_000]).unwrap();
    let mut site = Site::new("a", 300);
    let mut writer = indexes.writer(site.key(), 1, &method()).unwrap();
    let mut refused = None;
    for number in 0..300_u64 {
        let mut batch = BatchBuilder::default();
        let (content, table) = content_of(number);
        batch.content(&content, &table);
        let (body, _) = batch.finish();
        match writer.batch(number + 1, &body_digest(&body), &body) {
            Ok(taken) => {
                assert!(taken.is_ok());
                assert_eq!(writer.commit().unwrap(), number + 1);
            }
            Err(error) => {
                refused = Some((number, error));
                break;
            }
        }
    }
    let (taken, error) = refused.unwrap();
    assert!(taken > 0 && matches!(&error, Error::Full(reason) if reason.contains("reserve")), "{error}");
    // Earlier batches are acknowledged and stay.
    assert_eq!(writer.commit().unwrap(), taken);
    drop(writer);
    assert!(store.failed().borrow().is_none());
    std::fs::remove_file(&ballast).unwrap();
    site.epoch = 2;
    site.sync(&indexes);
    assert!(indexes.sealed(&site.key()).unwrap().is_some());
    drop((store, indexes));
}
