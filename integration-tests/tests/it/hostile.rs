//! Every entry of a folder is accounted for: read, unreadable, or left out; its name is stored and shown harmlessly.
//!
//! Permission bits do not bind root, so that unreadable things are made by links and paths that cannot be opened.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use cognate_integration_tests::dice::seed;
use cognate_integration_tests::sandbox::names;
use cognate_integration_tests::{Corpus, Dice, Federation, Files, Rules, Sandbox};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use serde_json::{Value, json};

/// Ends a thread beside a test when the test ends, however it ends.
struct Stopping<'a>(&'a AtomicBool);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A count of the one site of a report.
fn site(report: &Value, name: &str) -> u64 {
    report["sites"][0][name].as_u64().unwrap()
}

/// Everything below a folder that is not a folder itself; links are not followed.
fn entries(folder: &Path) -> u64 {
    let mut count = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for path in names(&next) {
            if path.symlink_metadata().unwrap().is_dir() { folders.push(path) } else { count += 1 }
        }
    }
    count
}

#[track_caller]
fn all_accounted_for(report: &Value, folder: &Path) {
    let sum = site(report, "documents") + site(report, "unreadable") + site(report, "skipped");
    assert_eq!(sum, entries(folder), "documents, unreadable and skipped are everything: {}", report["sites"]);
    let reasons = report["sites"][0]["skipped_reasons"].as_object();
    let by_reason: u64 = reasons.into_iter().flat_map(|reasons| reasons.values()).map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(by_reason, site(report, "skipped"));
    assert_eq!(report["unread"].as_array().unwrap().len() as u64, site(report, "unreadable"));
}

fn fifo(path: &Path) {
    rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

/// Names that break naive programs, as bytes.
fn odd_names() -> Vec<Vec<u8>> {
    let mut names: Vec<Vec<u8>> = [
        &b"not \xff\xfe utf-8"[..],
        b"latin-1 caf\xe9 50%",
        b"new\nline",
        b"escape \x1b[31mred\x1b]0;title\x07",
        b"tab\tbell\x07",
        b"-rf",
        b"--help",
        b"=1+1",
        b"@cmd",
        b"+1",
        b"quote\"comma,semicolon;",
        b" leading and trailing ",
        b"caf\xc3\xa9 composed",
        b"cafe\xcc\x81 composed",
        b"right-to-left \xe2\x80\xae txt.exe",
        b"zero\xe2\x80\x8bwidth",
        b"back\\slash",
        b"...",
        b"NUL",
        b"%41",
        b"\x80%41",
        b"c1 \xc2\x9b31m",
    ]
    .map(<[u8]>::to_vec)
    .into();
    names.push(vec![b'n'; 255]);
    names.push("ä".repeat(127).into_bytes());
    names
}

/// The bytes of a path in a report.
fn bytes_of(row: &Value) -> Vec<u8> {
    let path = row["path"].as_str().unwrap();
    if row["path_escaped"] != true {
        return path.as_bytes().to_vec();
    }
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first == b'%' {
            bytes.push(u8::from_str_radix(std::str::from_utf8(&after[..2]).unwrap(), 16).unwrap());
            rest = &after[2..];
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    bytes
}

#[test]
fn odd_names_come_back_byte_for_byte_and_harm_no_terminal() {
    let sandbox = Sandbox::new();
    let (a, b) = (sandbox.path("a"), sandbox.path("b"));
    for folder in [&a, &b] {
        std::fs::create_dir(folder).unwrap();
        for (number, name) in odd_names().iter().enumerate() {
            std::fs::write(folder.join(OsStr::from_bytes(name)), format!("document {number}")).unwrap();
        }
    }
    let folders = [("a", a.as_path()), ("b", b.as_path())];
    let report = sandbox.report(&folders, &[]);
    all_accounted_for(&report, &a);
    let sets = report["identical"].as_array().unwrap();
    assert_eq!(sets.len(), odd_names().len(), "each name's document has its twin and no other");
    let found: BTreeSet<Vec<u8>> =
        sets.iter().flat_map(|set| set["documents"].as_array().unwrap()).map(bytes_of).collect();
    assert_eq!(found, odd_names().into_iter().collect());
    let escaped = |row: &&Value| row["path_escaped"] == true;
    let count = sets.iter().flat_map(|set| set["documents"].as_array().unwrap()).filter(escaped).count();
    assert_eq!(count, 6, "three names that are not UTF-8, at two sites");
    for format in ["text", "csv", "ndjson"] {
        let mut args: Vec<&OsStr> = ["compare", "--limit", "0", "--format", format].map(OsStr::new).into();
        args.extend([a.as_os_str(), b.as_os_str()]);
        let run = sandbox.cognate(args).expect(0);
        // JSON escapes the controls of ASCII alone, and CSV keeps cells as they are: only text is for terminals.
        let raw = |c: &char| match format {
            "text" => c.is_control() && *c != '\n',
            "ndjson" => *c < ' ' && *c != '\n',
            _ => false,
        };
        assert_eq!(run.text().chars().find(raw), None, "{format}: {run:?}");
        let obeyed = ['\u{202e}', '\u{9b}', '\u{1b}'];
        assert!(format != "text" || !run.text().contains(obeyed), "{format}: {run:?}");
    }
    let mut args: Vec<std::ffi::OsString> = ["fingerprint", "--format", "summary", "--"].map(Into::into).into();
    args.extend(odd_names().into_iter().map(std::ffi::OsString::from_vec));
    let run = sandbox.cognate_in(&a, args).expect(0);
    assert_eq!(run.text().lines().count(), odd_names().len(), "{run:?}");
    assert!(!run.text().contains('\u{1b}'), "{run:?}");
}

#[test]
fn names_that_look_alike_stay_two_documents() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("a", &[("caf\u{e9}", b"composed"), ("cafe\u{301}", b"decomposed")]);
    if names(&folder).len() < 2 {
        return; // A file system that takes both for one name cannot hold the twins.
    }
    let report = sandbox.report(&[("a", &folder)], &[]);
    assert_eq!((site(&report, "documents"), report["identical"].as_array().unwrap().len()), (2, 0));
}

/// A folder with one of everything that is no plain file, and how many plain files it has.
fn menagerie(sandbox: &Sandbox) -> (PathBuf, UnixListener) {
    sandbox.folder("outside", &[("secret", b"not below the root"), ("deep/er", b"neither")]);
    let folder = sandbox.folder("zoo", &[("plain", b"plain content"), ("sub/plain", b"plain content"), ("empty", b"")]);
    fifo(&folder.join("fifo"));
    let socket = UnixListener::bind(folder.join("socket")).unwrap();
    symlink("nowhere", folder.join("dangling")).unwrap();
    symlink("self", folder.join("self")).unwrap();
    symlink("..", folder.join("sub/up")).unwrap();
    symlink("../outside/secret", folder.join("leads-out")).unwrap();
    symlink("../outside", folder.join("folder-leads-out")).unwrap();
    symlink("plain", folder.join("to-plain")).unwrap();
    symlink("fifo", folder.join("to-fifo")).unwrap();
    symlink("/dev/zero", folder.join("endless")).unwrap();
    std::fs::hard_link(folder.join("plain"), folder.join("hard")).unwrap();
    (folder, socket)
}

#[test]
fn special_files_and_links_are_counted_and_never_opened() {
    let sandbox = Sandbox::new();
    let (folder, _socket) = menagerie(&sandbox);
    let report = sandbox.report(&[("zoo", &folder)], &[]);
    all_accounted_for(&report, &folder);
    assert_eq!(report["sites"][0]["skipped_reasons"], json!({"special file": 2, "symbolic link": 8}));
    assert_eq!((site(&report, "documents"), site(&report, "empty"), site(&report, "unreadable")), (4, 1, 0));
    let paths: Vec<&str> =
        report["identical"][0]["documents"].as_array().unwrap().iter().map(|d| d["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["hard", "plain", "sub/plain"], "hard links are documents each");
}

#[test]
fn with_follow_links_within_the_folder_are_read_and_others_are_named() {
    let sandbox = Sandbox::new();
    let (folder, _socket) = menagerie(&sandbox);
    let run = sandbox.compare(&[("zoo", &folder)], &["--follow"]).expect(3);
    let report = run.json();
    let unread: Vec<&str> =
        report["unread"].as_array().unwrap().iter().map(|row| row["path"].as_str().unwrap()).collect();
    assert_eq!(unread, ["folder-leads-out", "leads-out", "sub/up"]);
    // Read: the four plain files, and the link to `plain`.
    assert_eq!(site(&report, "documents"), 5);
    // Left out: the pipe, the socket, the link to the pipe, the device; and the links that lead nowhere.
    assert_eq!(report["sites"][0]["skipped_reasons"], json!({"special file": 4, "symbolic link": 2}));
    sandbox.compare(&[("zoo", &folder)], &["--follow", "--require-complete"]).expect(1);
}

#[test]
fn a_scan_follows_links_only_where_the_site_allows_it_and_never_out_of_its_repository() {
    let mut federation = Federation::new(1601);
    let files = |text: &str| Files::from([("inner/file".to_owned(), text.as_bytes().to_vec())]);
    federation.add_with("a", None, &files("of a"), "[policy]\nfollow_symlinks = true\n");
    federation.add("b", &files("of b"));
    federation.sandbox.folder("outside", &[("salaries", b"not below the root")]);
    for name in ["a", "b"] {
        let site = federation.site(name);
        symlink("../outside", site.folder().join("out")).unwrap();
        symlink(site.state(), site.folder().join("own-state")).unwrap();
        symlink("inner/file", site.folder().join("link")).unwrap();
    }
    federation.sandbox.settle();
    federation.start_all();

    let report = federation.scan(&["--follow"]).json();
    let missing = &report["scan"]["missing"][0];
    assert_eq!((&report["scan"]["status"], &missing["site"]), (&json!("partial"), &json!("b")));
    assert!(missing["reason"].as_str().unwrap().contains("policy.follow_symlinks is false"), "{missing}");
    let unread: Vec<(&str, &str)> = report["unread"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["path"].as_str().unwrap(), row["reason"].as_str().unwrap()))
        .collect();
    let reason = "a symbolic link leads out of the repository";
    assert_eq!(unread, [("out", reason), ("own-state", reason)]);
    assert_eq!(report["sites"][0]["documents"], 2, "a file, and a link to it");

    let without = federation.scan(&[]).json();
    assert_eq!(without["scan"]["status"], "complete");
}

#[test]
fn system_folders_are_counted_once_and_not_entered() {
    let sandbox = Sandbox::new();
    let files: [(&str, &[u8]); 7] = [
        ("src/.git/config", b"x"),
        ("src/.git/objects/1", b"x"),
        (".svn/entries", b"x"),
        ("lost+found/1", b"x"),
        (".gitignore", b"*"),
        ("ignored", b"y"),
        ("sub/.git", b"gitdir: elsewhere"),
    ];
    let folder = sandbox.folder("a", &files);
    let report = sandbox.report(&[("a", &folder)], &[]);
    assert_eq!(report["sites"][0]["skipped_reasons"], json!({"system folder": 3}));
    assert_eq!(site(&report, "documents"), 3, "ignore files are not obeyed, and a file may be called `.git`");
}

#[test]
fn documents_at_the_edges_of_chunk_sizes_compare_as_brute_force_does() {
    let seed = seed(41);
    let sandbox = Sandbox::seeded(seed);
    let mut dice = Dice::new(seed);
    let bytes = dice.bytes(300_000);
    let sizes: Vec<usize> =
        [0..3, 459..475, 540..546, 984..987, 2799..2850, 5598..5604].into_iter().flatten().collect();
    let mut files: Vec<(String, Vec<u8>)> =
        sizes.iter().map(|size| (format!("size-{size}"), bytes[..*size].to_vec())).collect();
    files.extend(sizes.iter().map(|size| (format!("zeros-{size}"), vec![0; *size])));
    for size in [256 << 10, (256 << 10) - 1, (256 << 10) + 1, (256 << 10) + 2843 + 32] {
        files.push((format!("read-{size}"), bytes[..size].to_vec()));
    }
    let (a, b): (Vec<_>, Vec<_>) = files.into_iter().partition(|(path, _)| path.len() % 2 == 0);
    let (a, b) = (sandbox.tree("a", &a.into_iter().collect()), sandbox.tree("b", &b.into_iter().collect()));
    let folders = [("a", a.as_path()), ("b", b.as_path())];
    let corpus = Corpus::read(&sandbox, &folders, 1000);
    let rules = Rules { min_shared_bytes: 1, ..Rules::default() };
    // Brute force counts whole chunks.
    let report = sandbox.report(&folders, &["--min-shared-bytes", "1", "--precision", "coarse"]);
    assert_eq!(report["overlap"], corpus.overlap(rules));
    let links: u64 =
        report["clusters"].as_array().unwrap().iter().map(|cluster| cluster["link_count"].as_u64().unwrap()).sum();
    assert_eq!(usize::try_from(links).unwrap(), corpus.link_count(rules));
    assert_eq!(report["identical"].as_array().unwrap().len(), corpus.identical(rules).as_array().unwrap().len());
}

/// Makes folders within each other, deeper than any path that the system takes, and a file at each tenth.
fn deep_folders(root: &Path, levels: usize) -> u64 {
    let name = "d".repeat(200);
    let enter = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut folder = rustix::fs::open(root, enter, Mode::empty()).unwrap();
    let mut files = 0;
    for level in 0..levels {
        if level % 10 == 5 {
            let made = rustix::fs::openat(&folder, "file", OFlags::WRONLY | OFlags::CREATE, Mode::RUSR).unwrap();
            std::fs::File::from(made).write_all(b"found at every depth").unwrap();
            files += 1;
        }
        rustix::fs::mkdirat(&folder, name.as_str(), Mode::RWXU).unwrap();
        folder = rustix::fs::openat(&folder, name.as_str(), enter, Mode::empty()).unwrap();
    }
    files
}

#[test]
fn folders_deeper_than_the_longest_path_are_read_or_reported() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("a", &[("top", b"found at every depth")]);
    let files = deep_folders(&folder, 30);
    let run = sandbox.compare(&[("a", &folder)], &[]);
    assert!(matches!(run.code, Some(0 | 3)), "{run:?}");
    let report = run.json();
    let (documents, unreadable) = (site(&report, "documents"), site(&report, "unreadable"));
    assert!(documents >= 3, "{documents}");
    // The documents below an unreadable folder cannot be counted: one row represents them.
    assert!(documents == files + 1 || unreadable > 0, "nothing is lost silently: {report}");
    assert_eq!(run.code, Some(if unreadable > 0 { 3 } else { 0 }));
}

#[test]
fn many_levels_of_folders_are_walked() {
    let sandbox = Sandbox::new();
    let deep = "d/".repeat(900) + "file";
    let folder = sandbox.folder("a", &[(&deep, b"x"), ("top", b"x")]);
    let report = sandbox.report(&[("a", &folder)], &[]);
    assert_eq!(report["identical"][0]["documents"].as_array().unwrap().len(), 2);
}

#[test]
fn a_file_that_grows_while_it_is_read_is_read_or_marked_and_nothing_hangs() {
    let sandbox = Sandbox::seeded(42);
    let folder = sandbox.folder("a", &[("still", b"still"), ("growing", &Dice::new(42).bytes(8 << 20))]);
    let stop = AtomicBool::new(false);
    let report = std::thread::scope(|scope| {
        let _stopping = Stopping(&stop);
        let appending = scope.spawn(|| {
            let mut file = std::fs::File::options().append(true).open(folder.join("growing")).unwrap();
            let (_never, wait) = mpsc::channel::<()>();
            while !stop.load(Ordering::Relaxed) {
                file.write_all(&[7; 4096]).unwrap();
                // Slower than any reader: what grows faster than it can be read is another question.
                let _ = wait.recv_timeout(Duration::from_millis(1));
            }
        });
        let report = sandbox.report(&[("a", &folder)], &[]);
        stop.store(true, Ordering::Relaxed);
        appending.join().unwrap();
        report
    });
    assert_eq!((site(&report, "documents"), site(&report, "unreadable")), (2, 0));
    assert!(site(&report, "changed") <= 1, "{}", report["sites"]);
    let run = &report["scan"]["run"]["sites"][0];
    assert!(run["read_bytes"].as_u64().unwrap() <= 3 * (16 << 20), "it is read three times at most: {run}");
}

#[test]
fn a_changed_file_is_not_remembered() {
    let sandbox = Sandbox::seeded(43);
    let folder = sandbox.folder("a", &[("growing", &Dice::new(43).bytes(4 << 20))]);
    let state = sandbox.path("state");
    let args = ["--state", state.to_str().unwrap()];
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let appending = scope.spawn(|| {
            let mut file = std::fs::File::options().append(true).open(folder.join("growing")).unwrap();
            while !stop.load(Ordering::Relaxed) && file.metadata().unwrap().len() < 64 << 20 {
                file.write_all(&[7; 256]).unwrap();
                std::thread::yield_now();
            }
        });
        let report = sandbox.report(&[("a", &folder)], &args);
        stop.store(true, Ordering::Relaxed);
        appending.join().unwrap();
        report
    });
    sandbox.settle();
    let again = sandbox.report(&[("a", &folder)], &args);
    assert_eq!(again["sites"], sandbox.report(&[("a", &folder)], &[])["sites"]);
}

#[test]
fn files_that_come_and_go_during_a_run_end_no_run() {
    let sandbox = Sandbox::seeded(44);
    let mut dice = Dice::new(44);
    let files = (0..200).map(|number| (format!("d{}/{number}", number % 9), dice.bytes(20_000))).collect();
    let folder = sandbox.tree("a", &files);
    let stop = AtomicBool::new(false);
    let codes = std::thread::scope(|scope| {
        let _stopping = Stopping(&stop);
        let coming_and_going = scope.spawn(|| {
            let mut round = 0;
            while !stop.load(Ordering::Relaxed) {
                round += 1;
                let path = folder.join(format!("d{}/{}", round % 9, round % 200));
                let _ = std::fs::remove_file(&path);
                match round % 3 {
                    0 => fifo(&path),
                    1 => symlink("/etc/passwd", &path).unwrap(),
                    _ => std::fs::write(&path, "back").unwrap(),
                }
                let _ = std::fs::remove_file(&path);
                std::thread::yield_now();
            }
        });
        let codes: Vec<_> = (0..5)
            .map(|_| {
                let run = sandbox.compare(&[("a", &folder)], &[]);
                let report = run.json();
                assert!(!run.text().contains("root:"), "no link was followed");
                for row in report["unread"].as_array().unwrap() {
                    let reason = row["reason"].as_str().unwrap();
                    assert!(reason.starts_with("vanished") || reason.starts_with("not a regular file"), "{row}");
                }
                run.code
            })
            .collect();
        stop.store(true, Ordering::Relaxed);
        coming_and_going.join().unwrap();
        codes
    });
    assert!(codes.iter().all(|code| matches!(code, Some(0 | 3))), "{codes:?}");
}

#[test]
fn times_that_no_calendar_has_are_no_obstacle() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("a", &[("past", b"x"), ("future", b"x"), ("now", b"x")]);
    let set = |name: &str, seconds: i64| {
        let time = rustix::fs::Timespec { tv_sec: seconds, tv_nsec: 0 };
        let times = rustix::fs::Timestamps { last_access: time, last_modification: time };
        // A file system that cannot hold the time keeps the nearest one.
        rustix::fs::utimensat(CWD, folder.join(name), &times, AtFlags::empty()).unwrap();
    };
    set("past", -11_644_473_600);
    set("future", 200_000_000_000);
    let report = sandbox.report(&[("a", &folder)], &[]);
    assert_eq!(report["identical"][0]["documents"].as_array().unwrap().len(), 3);
}
