use std::fs::File;
use std::io::Write as _;

use super::*;

fn fault(text: &str, folder: &Path) -> Fault {
    let (operation, rest) = text.split_once(':').unwrap();
    format!("{operation}:{}/{rest}", folder.canonicalize().unwrap().display()).parse().unwrap()
}

#[test]
fn only_the_named_call_of_the_named_file_fails() {
    let folder = tempfile::tempdir().unwrap();
    let injection = inject(fault("write:log:2:ENOSPC", folder.path()));
    let [mut log, mut other] = ["log", "other"].map(|name| File::create(folder.path().join(name)).unwrap());
    other.write_all(b"one").unwrap();
    log.write_all(b"one").unwrap();
    other.write_all(b"two").unwrap();
    assert_eq!(injection.fired(), 0);
    assert_eq!(log.write_all(b"two").unwrap_err().raw_os_error(), Some(libc::ENOSPC));
    log.write_all(b"three").unwrap();
    assert_eq!((injection.fired(), std::fs::read(folder.path().join("log")).unwrap()), (1, b"onethree".to_vec()));
}

#[test]
fn every_kind_of_call_can_fail_and_works_again_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut file = File::create(path("log")).unwrap();
    let mut each = |what: &str, call: &mut dyn FnMut(&mut File) -> std::io::Result<()>| {
        let injection = inject(fault(&format!("{what}:*:1+:EIO"), folder.path()));
        for fired in 1..=2 {
            assert_eq!(call(&mut file).unwrap_err().raw_os_error(), Some(libc::EIO), "{what}");
            assert_eq!(injection.fired(), fired, "{what}");
        }
        drop(injection);
        call(&mut file).unwrap();
    };
    each("create", &mut |_| File::create(path("new")).map(drop));
    each("create", &mut |_| std::fs::create_dir(path("folder")));
    each("write", &mut |file| file.write_all(b"x"));
    each("write", &mut |file| file.write_vectored(&[std::io::IoSlice::new(b"x")]).map(drop));
    each("write", &mut |file| std::os::unix::fs::FileExt::write_all_at(file, b"x", 7));
    each("sync", &mut |file| file.sync_all());
    each("sync", &mut |file| file.sync_data());
    each("sync", &mut |_| File::open(folder.path().join("folder"))?.sync_all());
    each("resize", &mut |file| file.set_len(3));
    each("rename", &mut |_| std::fs::rename(path("new"), path("renamed")));
    each("remove", &mut |_| std::fs::remove_file(path("renamed")));
}

#[test]
fn reads_fail_or_take_their_time_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("read");
    std::fs::write(&path, vec![7; 100_000]).unwrap();
    let mut file = File::open(&path).unwrap();
    let injection = inject(fault("read:read:2:EIO", folder.path()));
    let mut buffer = [0; 1000];
    let mut read = || std::io::Read::read(&mut file, &mut buffer);
    assert_eq!(read().unwrap(), 1000);
    assert_eq!(read().unwrap_err().raw_os_error(), Some(libc::EIO));
    assert_eq!((read().unwrap(), injection.fired()), (1000, 1));
    drop(injection);
    let _slow = inject(fault("read:read:1:SLOW", folder.path()));
    let began = std::time::Instant::now();
    assert_eq!(std::os::unix::fs::FileExt::read_at(&file, &mut buffer, 0).unwrap(), 1000);
    assert!(began.elapsed() >= std::time::Duration::from_secs(5));
}
