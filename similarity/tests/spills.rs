//! Spill files that are damaged or do not fit the disk: named errors, and nothing left behind.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use cognate_fingerprint::Tag;
use cognate_similarity::{
    Analysis, ContentIndex, Error, ErrorKind, GatherOptions, GatheredShards, Holders, Input, Link, LinksOptions,
    Monitor, Options, Phase, Posting, SortedLinks, SpillFolder, Thresholds, analyse_with_links,
};

const CONTENTS: u32 = 3000;
const BUDGET_BYTES: u64 = 60_000;

/// Pairs of contents that share most of their chunks, and some chunks that very many share.
fn postings() -> impl Iterator<Item = Posting> {
    let chunks = |content: u32| {
        let own = (0..8).map(move |n| content / 2 * 8 + n).chain([1_000_000 + content]);
        own.chain([2_000_000 + content % 5])
    };
    (0..CONTENTS).flat_map(move |content| {
        chunks(content).map(move |chunk| Posting {
            tag: Tag(blake3::hash(&chunk.to_le_bytes()).as_bytes()[..16].try_into().unwrap()),
            length_bytes: 100,
            template: false,
            content: ContentIndex(content),
        })
    })
}

/// Gathers, analyses and sorts the links, all through spill files; `seen` is called when a phase ends.
fn run(folder: &Path, seen: &(dyn Fn(Phase) + Sync)) -> Result<(Analysis, u64), Error> {
    let spill = SpillFolder::new(folder);
    let threads = NonZeroUsize::new(2).unwrap();
    let gather = GatherOptions { postings_max: 33_000, memory_budget_bytes: BUDGET_BYTES, threads: 1 };
    let shards = GatheredShards::new(&spill, &gather);
    let mut writer = shards.writer();
    postings().try_for_each(|posting| writer.push(&posting))?;
    writer.finish()?;
    let mut holders = Holders::new();
    (0..CONTENTS).for_each(|_| holders.push([]));
    let input = Input { payload_bytes: &[1000; CONTENTS as usize], holders: &holders, levels: &[], across: None };
    let options = Options {
        thresholds: Thresholds { min_shared_bytes: u64::MAX, min_containment: "0.5".parse().unwrap() },
        memory_budget_bytes: BUDGET_BYTES,
        threads,
        spill_dir: folder,
    };
    let links =
        SortedLinks::new(&spill, &LinksOptions { contents: CONTENTS as usize, memory_budget_bytes: 2000, threads: 2 });
    let progress = |progress: cognate_similarity::Progress| {
        if progress.done == progress.total {
            seen(progress.phase);
        }
    };
    let monitor = Monitor { progress: &progress, cancelled: &AtomicBool::new(false) };
    let analysis = analyse_with_links(&shards, &input, &options, &monitor, &|found| links.add(found))?;
    let sorted = Mutex::new(0);
    links.drain(threads, &|_, part: &[Link]| {
        *sorted.lock().unwrap() += part.len() as u64;
        Ok(())
    })?;
    Ok((analysis, sorted.into_inner().unwrap()))
}

fn spill_files(folder: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    entries(folder).iter().flat_map(|folder| entries(folder)).collect()
}

#[test]
fn spilled_rows_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let most = Mutex::new(0);
    let (analysis, sorted) = run(folder.path(), &|_| {
        let files = spill_files(folder.path()).len();
        let mut most = most.lock().unwrap();
        *most = files.max(*most);
    })
    .unwrap();
    assert_eq!((analysis.stats.links, sorted), (u64::from(CONTENTS / 2), u64::from(CONTENTS / 2)));
    assert!(*most.lock().unwrap() > 20, "{most:?} files at most");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn damage_to_any_spill_file_is_named_and_nothing_is_left_behind() {
    for (phase, kind) in
        [(Phase::Tags, "tags"), (Phase::Prefixes, "holders"), (Phase::Partitions, "parts"), (Phase::Join, "links")]
    {
        for damage in [flip, cut_short, remove] {
            let folder = tempfile::tempdir().unwrap();
            let damaged = Mutex::new(0);
            let result = run(folder.path(), &|now| {
                if now == phase {
                    let files = spill_files(folder.path());
                    let files =
                        files.iter().filter(|file| file.file_name().unwrap().to_str().unwrap().starts_with(kind));
                    *damaged.lock().unwrap() += files.map(|file| damage(file)).count();
                }
            });
            assert!(*damaged.lock().unwrap() > 0, "{kind} is spilled");
            let error = result.map(|_| ()).unwrap_err();
            assert!(error.to_string().contains(&format!("/{kind}-")), "{error}");
            assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unavailable));
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{kind}");
        }
    }
}

fn flip(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(file, bytes).unwrap();
}

fn cut_short(file: &Path) {
    let bytes = fs::read(file).unwrap();
    fs::write(file, &bytes[..bytes.len() - 1]).unwrap();
}

fn remove(file: &Path) {
    fs::remove_file(file).unwrap();
}

/// A file system of its own, where the system lets us mount one.
struct Small {
    folder: tempfile::TempDir,
}

impl Small {
    fn mount(bytes: u64) -> Option<Small> {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs"]).arg(folder.path());
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then_some(Small { folder })
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.folder.path()).output();
    }
}

#[test]
fn a_full_disk_is_reported_at_any_write_and_leaves_no_files() {
    let mut failed = 0;
    for pages in [4u64, 40, 100, 200, 250, 300, 350, 400, 450, 500] {
        let Some(disk) = Small::mount(pages * 4096) else {
            eprintln!("no right to mount a small file system: nothing was tried");
            return;
        };
        match run(disk.folder.path(), &|_| ()) {
            Ok(_) => break,
            Err(error) => {
                failed += 1;
                assert_eq!(error.kind(), ErrorKind::Unavailable);
                assert!(error.to_string().contains(disk.folder.path().to_str().unwrap()), "{error}");
                assert_eq!(fs::read_dir(disk.folder.path()).unwrap().count(), 0);
                // On a larger disk, the same folder serves.
                let remount = format!("remount,size={}", 64 << 20);
                let made = Command::new("mount").args(["-o", &remount]).arg(disk.folder.path()).status().unwrap();
                assert!(made.success());
                run(disk.folder.path(), &|_| ()).unwrap();
            }
        }
    }
    assert!(failed > 2, "only {failed} disks were full");
}
