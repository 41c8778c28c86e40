//! Files and disks that are not as they should be: reads that fail, hang or are slow, files with two names, other file systems.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cognate_integration_tests::binary::{cognate, cognate_failpoints};
use cognate_integration_tests::canonical::comparable;
use cognate_integration_tests::sandbox::{compare_args, contents, wait_until};
use cognate_integration_tests::{Dice, Federation, Files, Run, Sandbox, not_checked};
use serde_json::Value;

/// Two sites with a few documents each; `a` has a large one as well.
fn federation(own_seed: u64) -> Federation {
    federation_with(own_seed, "")
}

/// The same, with more lines in the configuration of both.
fn federation_with(own_seed: u64, more: &str) -> Federation {
    // Built now, and not while somebody waits for it.
    cognate_failpoints();
    let mut federation = Federation::new(own_seed);
    let common = federation.dice.bytes(30_000);
    for name in ["a", "b"] {
        let mut files = Files::from([("common".to_owned(), common.clone()), ("empty".to_owned(), vec![])]);
        for number in 0..4 {
            files.insert(format!("own/{number}"), federation.dice.bytes(5000));
        }
        files.insert("large".to_owned(), federation.dice.bytes(600_000));
        federation.add_with(name, None, &files, more);
    }
    federation.sandbox.settle();
    federation
}

#[test]
fn an_error_in_the_middle_of_a_file_makes_that_file_unreadable_and_no_other() {
    let mut federation = federation(1401);
    federation.start_failing("a", "disk=read:*/a-kb/large:2+:EIO");
    federation.start("b");
    ["a", "b"].iter().for_each(|name| federation.wait_attached(name));
    let report = federation.scan(&[]).expect(3).json();
    assert!(federation.site_mut("a").worker().stderr().contains("disk fault:"), "the fault has happened");
    let row = report["sites"].as_array().unwrap().iter().find(|row| row["site"] == "a").unwrap();
    assert_eq!((&row["documents"], &report["scan"]["status"]), (&6.into(), &"complete".into()), "{row}");
    let id = report["scan"]["id"].as_str().unwrap();
    let listed = federation.operate(&["report", id, "--documents", "--in", "a", "--format", "ndjson"]).expect(0);
    let listed: Vec<String> = listed.lines().iter().map(|row| row["path"].as_str().unwrap().to_owned()).collect();
    assert!(!listed.contains(&"large".to_owned()) && listed.contains(&"common".to_owned()), "{listed:?}");
    // The disk is well again: so is the file, though it has not changed.
    federation.kill("a");
    federation.start("a");
    federation.wait_attached("a");
    federation.check(federation.scan(&[]), &[]);
}

#[test]
fn a_large_file_that_takes_several_starts_costs_none_of_those_before_it_and_is_read_in_the_end() {
    cognate_failpoints();
    let mut federation = Federation::new(1709);
    let large = federation.dice.bytes(24_000_000);
    let mut files: Files = (0..20).map(|number| (number.to_string(), federation.dice.bytes(20_000))).collect();
    let part = large[1_000_000..2_000_000].to_vec();
    files.insert("z-large".to_owned(), large);
    federation.add_with("a", None, &files, "[policy]\nread_bytes_per_second = \"8MB\"\n");
    federation.add("b", &Files::from([("part".to_owned(), part)]));
    federation.sandbox.settle();
    federation.start("b");
    federation.wait_attached("b");
    let mut scan = None;
    // Each of the others is read in two pieces.
    for passes in [50, 70, 90] {
        federation.start_failing("a", &format!("worker.mid_file={passes}*off->return"));
        federation.wait_attached("a");
        let scan = scan.get_or_insert_with(|| federation.begin_scan(&[]));
        wait_until("the worker comes by", || federation.site_mut("a").worker().ends_within(Duration::ZERO));
        assert_eq!(federation.take_worker("a").ended().signal, Some(6));
        assert!(!scan.ends_within(Duration::ZERO), "the scan waits for it");
    }
    federation.start("a");
    let report = federation.check(scan.unwrap().ended(), &[]);
    let row = report["scan"]["run"]["sites"].as_array().unwrap().iter().find(|row| row["site"] == "a").unwrap();
    // Only the one that every start was in the middle of is read again.
    assert_eq!(row["read_documents"], 1, "{row}");
}

#[test]
fn a_read_that_hangs_holds_up_only_its_site_and_the_scan_can_be_cancelled() {
    let mut federation = federation(1402);
    federation.start_failing("a", "disk=read:*/a-kb/large:2:HANG");
    federation.start("b");
    ["a", "b"].iter().for_each(|name| federation.wait_attached(name));
    let mut stuck = federation.begin_scan(&[]);
    wait_until("the read hangs", || federation.site_mut("a").worker().stderr().contains("disk fault:"));
    // The other site is scanned meanwhile.
    let other = ["scan", "launch", "--repositories", "b/kb", "--yes", "--wait", "--format", "json"];
    federation.operate(&other).report();
    assert!(!stuck.ends_within(Duration::ZERO), "the scan waits for the site");
    let scans = federation.operate(&["scan", "list", "--format", "json"]).expect(0).json();
    let under_way = scans.as_array().unwrap().iter().find(|scan| scan["status"] == "syncing").unwrap();
    let id = under_way["scan"].as_str().or(under_way["id"].as_str()).unwrap().to_owned();
    federation.operate(&["scan", "cancel", &id]).expect(0);
    let cancelled = stuck.ended();
    assert_ne!(cancelled.code, Some(0), "{cancelled:?}");
    // Nothing but the end of the process ends such a read.
    federation.kill("a");
    federation.start("a");
    federation.wait_attached("a");
    federation.check(federation.scan(&[]), &[]);
}

#[test]
fn a_file_whose_read_never_ends_is_given_up_and_named_and_the_next_scan_reads_it() {
    let mut federation = federation_with(1411, "file_wait = \"2s\"\n");
    federation.start_failing("a", "disk=read:*/a-kb/large:2:HANG");
    federation.start("b");
    ["a", "b"].iter().for_each(|name| federation.wait_attached(name));
    let report = federation.scan(&[]).expect(3).json();
    assert_eq!(report["scan"]["status"], "complete", "{report}");
    let unread = report["unread"].as_array().unwrap();
    let reasons: Vec<_> = unread.iter().map(|row| (row["path"].as_str(), row["reason"].as_str())).collect();
    assert_eq!(reasons, [(Some("large"), Some("its file system did not answer in time"))]);
    let row = report["sites"].as_array().unwrap().iter().find(|row| row["site"] == "a").unwrap();
    assert_eq!(row["documents"], 6, "all others are compared: {row}");
    // The same process reads it once it answers.
    federation.check(federation.scan(&[]), &[]);
}

#[test]
fn a_file_whose_read_never_ends_while_others_wait_for_it_ends_no_comparison() {
    cognate_failpoints();
    let (sandbox, mut dice) = (Sandbox::seeded(1412), Dice::new(1412));
    let mut files: Files = (0..200).map(|number| (number.to_string(), dice.bytes(3000))).collect();
    files.insert("large".to_owned(), dice.bytes(40_000_000));
    let (a, b) = (sandbox.tree("a", &files), sandbox.tree("b", &files));
    for faults in ["disk=read:*/a/large:3:HANG", "disk=read:*/a/17:1:HANG"] {
        let args = ["--file-wait", "2s", "--format", "json", "--threads", "3"];
        let run = sandbox.start_failing(faults, compare_args(&[("a", &a), ("b", &b)], &args)).ended().expect(3);
        let report = run.json();
        let of_site = |site: &str| report["sites"].as_array().unwrap().iter().find(|row| row["site"] == site).unwrap();
        assert_eq!((&of_site("a")["documents"], &of_site("b")["documents"]), (&200.into(), &201.into()), "{faults}");
        assert!(run.stderr.contains("does not answer"), "{}", run.stderr);
    }
}

#[test]
fn a_file_that_is_replaced_while_it_is_read_is_wholly_the_old_one_or_the_new_one_and_then_the_new_one() {
    let mut federation = federation(1407);
    let large = federation.site("a").folder().join("large");
    // Its second read takes five seconds: time enough to put another file in its place.
    federation.start_failing("a", "disk=read:*/a-kb/large:2:SLOW");
    federation.start("b");
    ["a", "b"].iter().for_each(|name| federation.wait_attached(name));
    let old = federation.expected(&[]);
    let mut scan = federation.begin_scan(&[]);
    wait_until("it is being read", || federation.site_mut("a").worker().stderr().contains("disk fault:"));
    let other = federation.dice.bytes(600_000);
    std::fs::write(large.with_extension("new"), &other).unwrap();
    assert!(!scan.ends_within(Duration::ZERO));
    std::fs::rename(large.with_extension("new"), &large).unwrap();
    let new = federation.expected(&[]);
    let report = scan.ended();
    let report = if report.code == Some(3) { report.json() } else { report.report() };
    let either = [&old, &new].iter().any(|all| comparable(all) == comparable(&report));
    let row = report["sites"].as_array().unwrap().iter().find(|row| row["site"] == "a").unwrap();
    // Or it is named as a file that changed while it was read, and is no document of this scan.
    assert!(either || row["documents"] == 6, "{row}");
    federation.sandbox.settle();
    federation.check(federation.scan(&[]), &[]);
}

#[test]
#[ignore = "it takes minutes: `.ci/nightly`"]
fn a_disk_that_takes_five_seconds_for_each_sync_of_the_journal_silences_neither_probes_nor_pages() {
    let mut federation = federation(1403);
    federation.kill_coordinator();
    assert!(federation.start_coordinator_failing("disk=sync:*/coordinator/journal:1+:SLOW"));
    ["a", "b"].iter().for_each(|name| federation.start(name));
    let mut inviting = federation.begin(&["site", "invite", "c"]);
    let began = Instant::now();
    let mut slowest = Duration::ZERO;
    while !inviting.ends_within(Duration::from_millis(100)) {
        let asked = Instant::now();
        assert_eq!(federation.http("/livez").0, 200);
        slowest = slowest.max(asked.elapsed());
    }
    assert!(began.elapsed() > Duration::from_secs(4), "the disk is not slow: {:?}", began.elapsed());
    assert!(slowest < Duration::from_secs(2), "a probe waits {slowest:?} for the disk");
    inviting.ended().expect(0);
    ["a", "b"].iter().for_each(|name| federation.wait_attached(name));
    federation.check(federation.scan(&[]), &[]);
}

#[test]
fn a_file_with_two_names_is_a_document_under_each() {
    let sandbox = Sandbox::new();
    let content = cognate_integration_tests::Dice::new(1404).bytes(20_000);
    let a = sandbox.tree("a", &Files::from([("one".to_owned(), content.clone())]));
    std::fs::hard_link(a.join("one"), a.join("two")).unwrap();
    let b = sandbox.tree("b", &Files::from([("three".to_owned(), content)]));
    let report = sandbox.report(&[("a", &a), ("b", &b)], &[]);
    let set = &report["identical"][0];
    assert_eq!(set["documents"].as_array().map(Vec::len), Some(3), "{report}");
    // The same with a state, and after one of the names is gone.
    let state = sandbox.path("state");
    let state = ["--state", state.to_str().unwrap()];
    sandbox.settle();
    sandbox.report(&[("a", &a), ("b", &b)], &state);
    std::fs::remove_file(a.join("one")).unwrap();
    sandbox.settle();
    let report = sandbox.report(&[("a", &a), ("b", &b)], &state);
    assert_eq!(report["identical"][0]["documents"].as_array().map(Vec::len), Some(2), "{report}");
}

/// Mounts a file system in memory, where that is allowed.
struct Mount<'a>(&'a Path);

impl Mount<'_> {
    fn new(at: &Path) -> Option<Mount<'_>> {
        std::fs::create_dir_all(at).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=4m", "cognate-test"]).arg(at).stderr(Stdio::null());
        mount.status().is_ok_and(|status| status.success()).then_some(Mount(at))
    }
}

impl Drop for Mount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[test]
fn a_file_system_that_is_mounted_below_a_root_is_counted_and_not_entered() {
    let mut federation = Federation::new(1405);
    let content = federation.dice.bytes(9000);
    federation.add("a", &Files::from([("own".to_owned(), content.clone())]));
    let place = federation.site("a").folder().join("mounted");
    let Some(_mount) = Mount::new(&place) else {
        return not_checked("a file system below a root: only root may mount one");
    };
    std::fs::write(place.join("there"), &content).unwrap();
    federation.sandbox.settle();
    federation.start_all();
    let report = federation.check(federation.scan(&[]), &[]);
    let site = &report["sites"][0];
    assert_eq!((&site["documents"], &site["skipped_reasons"]["other file system"]), (&1.into(), &1.into()), "{site}");
}

#[test]
fn names_beyond_the_first_of_a_file_are_counted_and_waste_no_room() {
    let mut federation = Federation::new(1407);
    let [twice, once, short] = [30_000, 20_000, 500].map(|bytes| federation.dice.bytes(bytes));
    let file = |name: &str, content: &[u8]| (name.to_owned(), content.to_vec());
    federation.add("a", &Files::from([file("one", &twice), file("copy", &twice), file("short", &short)]));
    federation.add("b", &Files::from([file("other", &once), file("copy", &twice)]));
    let folder = federation.site("a").folder().to_owned();
    for (name, link) in [("one", "linked"), ("one", "d/linked"), ("short", "d/short")] {
        std::fs::create_dir_all(folder.join("d")).unwrap();
        std::fs::hard_link(folder.join(name), folder.join(link)).unwrap();
    }
    federation.sandbox.settle();
    federation.start_all();
    // Read at first, and remembered the second time.
    for _ in 0..2 {
        let run = federation.scan(&[]);
        let (id, report) = (run.json()["scan"]["id"].as_str().unwrap().to_owned(), federation.check(run, &[]));
        let links = |site: usize| [&report["sites"][site]["hard_links"], &report["sites"][site]["hard_link_bytes"]];
        assert_eq!((links(0), links(1)), ([&3.into(), &60_500.into()], [&Value::Null, &Value::Null]));
        let shown = federation.operate(&["report", &id]).expect(0);
        let wanted = "2 sets, 60.0 kB in copies beyond the first (besides 60.5 kB in hard links, which take no room)";
        assert!(shown.text().contains(wanted), "{}", shown.text());
    }
    // Across sites alone there is one set, of all that both have: its four copies beyond the first are counted as they are.
    let across = federation.scan(&["--across-only"]).json()["scan"]["id"].as_str().unwrap().to_owned();
    let shown = federation.operate(&["report", &across]).expect(0);
    assert!(shown.text().contains("1 set, 120.0 kB in copies beyond the first\n"), "{}", shown.text());
}

#[test]
fn scans_change_no_file_and_no_folder_of_a_repository() {
    let mut federation = Federation::of(1406, 2, 40);
    let folder = federation.site("a").folder().to_owned();
    let state = |path: &Path| {
        let entry = std::fs::symlink_metadata(path).unwrap();
        let changed = (entry.mtime(), entry.mtime_nsec(), entry.ctime(), entry.ctime_nsec());
        (changed, entry.mode(), entry.nlink(), entry.uid(), entry.len(), entry.ino())
    };
    let all = || {
        let mut paths: Vec<_> = contents(&folder).into_keys().map(|path| folder.join(path)).collect();
        let folders: Vec<_> = paths.iter().filter_map(|path| path.parent().map(Path::to_owned)).collect();
        paths.extend(folders);
        paths.into_iter().map(|path| (state(&path), path)).collect::<Vec<_>>()
    };
    let before = all();
    federation.check(federation.scan(&[]), &[]);
    federation.check(federation.scan(&["--chunk-bytes", "80"]), &["--chunk-bytes", "80"]);
    federation.scan(&["--view", "both"]).report();
    federation.kill("a");
    assert_eq!(all(), before);
}

#[test]
fn a_worker_that_may_read_everything_reads_what_is_not_its_own_and_one_that_may_not_names_it() {
    let may = Command::new("setpriv").args(["--reuid", "65534", "--clear-groups", "true"]).status();
    if !may.is_ok_and(|status| status.success()) {
        return not_checked("files of others: only root may become another user, by setpriv");
    }
    let sandbox = Sandbox::new();
    let a = sandbox.folder("a", &[("own", b"to be read by all"), ("others", b"to be read by root alone")]);
    let b = sandbox.folder("b", &[("x", b"something else")]);
    for (path, mode) in [
        (sandbox.path(""), 0o755),
        (a.clone(), 0o755),
        (b.clone(), 0o755),
        (a.join("own"), 0o644),
        (a.join("others"), 0o600),
        (b.join("x"), 0o644),
        (sandbox.path("tmp"), 0o777),
    ] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    // The folder of the build may be closed to others.
    let program = sandbox.path("cognate");
    std::fs::copy(cognate(), &program).unwrap();
    let run = |capabilities: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--clear-groups"]).args(capabilities).arg(&program);
        command.args(compare_args(&[("a", &a), ("b", &b)], &["--format", "json"])).current_dir(sandbox.path("tmp"));
        sandbox.spawn(command).ended()
    };
    let unreadable = |run: &Run| run.json()["sites"][0]["unreadable"].clone();
    // As `deploy/systemd` gives it to a worker that is to read everything.
    let reads = run(&["--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search"]).expect(0);
    assert_eq!(unreadable(&reads), 0);
    let refused = run(&[]).expect(3);
    assert_eq!(unreadable(&refused), 1);
}
