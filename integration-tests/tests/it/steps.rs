//! The steps of a scan after its sites have been synced: what was done is not done again, what is damaged is made anew, and
//! a rescan compares what has changed. The report is the same in every case.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use cognate_integration_tests::binary::cognate_failpoints;
use cognate_integration_tests::canonical::comparable;
use cognate_integration_tests::sandbox::{contents, names, wait_until};
use cognate_integration_tests::tree::{Files, edited};
use cognate_integration_tests::{Federation, Run, not_checked};
use serde_json::Value;

/// Many small chunks, so that there is something to compare.
const MEAN: [&str; 4] = ["--view", "raw", "--chunk-bytes", "80"];
const BEGUN: &str = "what has changed is compared";
const WHOLE: &str = "compared";

/// Two sites with documents of which many have a relative at the other.
fn federation(own_seed: u64) -> Federation {
    cognate_failpoints();
    let mut federation = Federation::new(own_seed);
    let mut trees = [Files::new(), Files::new()];
    for number in 0..60 {
        let content = federation.dice.bytes(8000);
        trees[number % 2].insert(format!("d{}/{number}", number % 5), content.clone());
        if number % 3 == 0 {
            let version = edited(&mut federation.dice, content.clone());
            trees[1 - number % 2].insert(format!("edited/{number}"), version);
        }
        if number % 10 == 0 {
            trees[1 - number % 2].insert(format!("copied/{number}"), content);
        }
    }
    for (name, files) in ["a", "b"].iter().zip(&trees) {
        federation.add(name, files);
    }
    federation.sandbox.settle();
    federation.start_all();
    federation
}

/// Changes some documents of a site: one gets a new end, one goes, one comes, one is a copy now.
fn change_some(federation: &mut Federation, name: &str) {
    let folder = federation.site(name).folder().to_owned();
    let paths: Vec<PathBuf> =
        cognate_integration_tests::sandbox::contents(&folder).into_keys().map(|path| folder.join(path)).collect();
    let picked: Vec<PathBuf> = (0..3).map(|_| federation.dice.pick(&paths).clone()).collect();
    let mut content = std::fs::read(&picked[0]).unwrap();
    content.extend(federation.dice.bytes(300));
    std::fs::write(&picked[0], &content).unwrap();
    let number = federation.dice.below(1_000_000);
    std::fs::copy(&picked[1], folder.join(format!("copy-{number}"))).unwrap();
    std::fs::write(folder.join(format!("new-{number}")), &content[2000..]).unwrap();
    if picked[2] != picked[0] {
        std::fs::remove_file(&picked[2]).unwrap();
    }
    federation.sandbox.settle();
}

/// Starts the coordinator again, with points at which it fails.
fn restart(federation: &mut Federation, points: &str) {
    federation.stop_coordinator();
    assert!(federation.start_coordinator_failing(points));
    federation.restart_all();
}

/// A scan in which the coordinator ends at a point and stays away; what is done meanwhile, before it goes on.
fn broken_off(federation: &mut Federation, point: &str, meanwhile: impl FnOnce(&mut Federation)) -> (Run, String) {
    restart(federation, &format!("{point}=return"));
    let scan = federation.begin_scan(&MEAN);
    wait_until("the coordinator comes by", || federation.coordinator().ends_within(Duration::ZERO));
    assert_eq!(federation.take_coordinator().ended().signal, Some(6), "{point}");
    meanwhile(federation);
    federation.start_coordinator();
    federation.restart_all();
    let run = scan.ended();
    (run, federation.coordinator().stderr())
}

/// The folders of scans that have files for the next one.
fn bases(federation: &Federation) -> Vec<PathBuf> {
    let folders = names(&federation.coordinator_state().join("scans")).into_iter();
    folders.filter(|folder| folder.join("links-0").is_file()).collect()
}

fn files_of(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    assert!(path.is_file(), "{} is there", path.display());
    path
}

/// Flips a bit in the middle, or near the end where the middle may say nothing.
fn flip(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let place = bytes.len() / 2;
    bytes[place] ^= 4;
    std::fs::write(path, bytes).unwrap();
}

fn last_lines(log: &str, from: usize) -> &str {
    log.get(from..).unwrap_or_default()
}

#[test]
fn a_rescan_compares_what_has_changed_and_says_what_a_full_one_does() {
    let mut federation = federation(701);
    federation.check(federation.scan(&MEAN), &MEAN);
    for round in 0..4 {
        change_some(&mut federation, if round % 2 == 0 { "a" } else { "b" });
        let before = federation.coordinator().stderr().len();
        federation.check(federation.scan(&MEAN), &MEAN);
        let log = federation.coordinator().stderr();
        assert!(last_lines(&log, before).contains(BEGUN), "round {round}: {}", last_lines(&log, before));
        assert_eq!(bases(&federation).len(), 1, "only the latest keeps what the next one begins with");
    }
    // Another question has another answer, and does not begin with this one.
    let across: Vec<&str> = MEAN.into_iter().chain(["--across-only"]).collect();
    let before = federation.coordinator().stderr().len();
    federation.check(federation.scan(&across), &across);
    assert!(!last_lines(&federation.coordinator().stderr(), before).contains(BEGUN));
    assert_eq!(bases(&federation).len(), 2);
    for _ in 0..2 {
        change_some(&mut federation, "a");
        let before = federation.coordinator().stderr().len();
        federation.check(federation.scan(&across), &across);
        assert!(last_lines(&federation.coordinator().stderr(), before).contains(BEGUN));
    }
    // Whoever deletes all scans has the next one compare everything.
    let scans = federation.operate(&["scan", "list", "--format", "json"]).expect(0).json();
    for scan in scans.as_array().unwrap() {
        federation.operate(&["scan", "delete", scan["id"].as_str().unwrap()]).expect(0);
    }
    assert_eq!(bases(&federation).len(), 0);
    let before = federation.coordinator().stderr().len();
    federation.check(federation.scan(&MEAN), &MEAN);
    assert!(!last_lines(&federation.coordinator().stderr(), before).contains(BEGUN));
}

#[test]
fn what_was_analysed_is_published_without_analysing_again() {
    let mut federation = federation(702);
    for point in ["scan.after_analysed", "publish.before_rename", "publish.after_rename"] {
        change_some(&mut federation, "a");
        let (run, log) = broken_off(&mut federation, point, |_| ());
        assert!(log.contains("published") && !log.contains(WHOLE), "{point}: {log}");
        federation.check(run, &MEAN);
    }
}

#[test]
fn a_rescan_that_is_broken_off_comes_to_the_same_end() {
    let mut federation = federation(703);
    federation.check(federation.scan(&MEAN), &MEAN);
    for point in ["scan.in_tags", "scan.between_partitions", "scan.before_analysed", "scan.after_published"] {
        change_some(&mut federation, "b");
        let (run, log) = broken_off(&mut federation, point, |_| ());
        assert_eq!(log.contains(BEGUN), point != "scan.after_published", "{point}: {log}");
        federation.check(run, &MEAN);
    }
    // What a scan that ended too early left is removed by the next one.
    federation.check(federation.scan(&MEAN), &MEAN);
    assert_eq!(bases(&federation).len(), 1);
}

#[test]
fn a_file_of_an_analysis_that_is_damaged_is_named_and_made_anew() {
    let mut federation = federation(704);
    federation.check(federation.scan(&MEAN), &MEAN);
    for (name, damage) in
        [("links-0", flip as fn(&Path)), ("analysis-0", flip), ("links-0", |path| std::fs::remove_file(path).unwrap())]
    {
        // In the scan that goes on.
        let before = bases(&federation);
        change_some(&mut federation, "a");
        let (run, log) = broken_off(&mut federation, "scan.after_analysed", |federation| {
            let mut own = bases(federation);
            own.retain(|folder| !before.contains(folder));
            damage(&files_of(&own[0], name));
        });
        assert!(log.contains("everything is compared again") && log.contains(name), "{name}: {log}");
        federation.check(run, &MEAN);
        // In the one that the next begins with.
        change_some(&mut federation, "b");
        damage(&files_of(&bases(&federation)[0], name));
        let before = federation.coordinator().stderr().len();
        federation.check(federation.scan(&MEAN), &MEAN);
        let log = federation.coordinator().stderr();
        let log = last_lines(&log, before);
        assert!(log.contains("is not used") && log.contains(name), "{name}: {log}");
    }
}

#[test]
fn a_run_that_is_damaged_is_named_and_made_anew_from_its_segment() {
    let mut federation = federation(705);
    federation.check(federation.scan(&MEAN), &MEAN);
    for place in ["header", "block"] {
        change_some(&mut federation, "a");
        let (run, log) = broken_off(&mut federation, "scan.after_frozen", |federation| {
            let runs = names(&federation.coordinator_state().join("indexes"));
            let run = runs.iter().filter(|path| path.extension().is_some_and(|end| end == "run"));
            let run = run.max_by_key(|path| std::fs::metadata(path).unwrap().len()).unwrap();
            let mut bytes = std::fs::read(run).unwrap();
            let place = if place == "header" { 20 } else { bytes.len() / 2 };
            bytes[place] ^= 1;
            std::fs::write(run, bytes).unwrap();
        });
        assert!(log.contains("rebuilt from the segment") && log.contains(".run"), "{place}: {log}");
        federation.check(run, &MEAN);
    }
}

#[test]
fn a_spill_file_that_is_damaged_is_named_and_everything_is_compared_anew() {
    cognate_failpoints();
    let mut federation = Federation::new(707);
    let mut trees = [Files::new(), Files::new()];
    for number in 0..40 {
        let content = federation.dice.bytes(600_000);
        trees[1].insert(format!("{number}"), edited(&mut federation.dice, content.clone()));
        trees[0].insert(format!("{number}"), content);
    }
    federation.add("a", &trees[0]);
    federation.add("b", &trees[1]);
    federation.sandbox.settle();
    federation.start_all();
    // The analysis stands still for a while in its second pass, after a report that says that the first is over.
    restart(&mut federation, "scan.in_prefixes=1*off->1*sleep(6000)");
    let more: Vec<&str> = MEAN.into_iter().chain(["--memory-budget", "32MiB"]).collect();
    let scan = federation.begin_scan(&more);
    let scans = federation.coordinator_state().join("scans");
    let spilled = || -> Vec<PathBuf> {
        let below = |folders: Vec<PathBuf>| folders.iter().flat_map(|folder| names(folder)).collect::<Vec<_>>();
        let folders = names(&scans).into_iter().map(|scan| scan.join("spill")).collect();
        let mut files = below(below(folders));
        files.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("tags-")));
        files
    };
    let done = || {
        let scans = federation.operate(&["scan", "list", "--format", "json"]).expect(0).json();
        scans[0]["analysis"]["done"].as_u64().unwrap_or(0)
    };
    // At 1000 the first pass may be about to begin: heavy tags are looked for before it, under the same name.
    wait_until("the second of five passes has begun", || done() > 1000);
    assert!(!spilled().is_empty());
    spilled().iter().for_each(|path| flip(path));
    let run = scan.ended();
    let log = federation.coordinator().stderr();
    assert!(log.contains("everything is compared again") && log.contains("tags-"), "{log}");
    federation.check(run, &MEAN);
}

#[test]
fn a_coordinator_that_another_build_replaces_in_the_middle_of_a_scan_finishes_it() {
    let mut federation = federation(708);
    restart(&mut federation, "scan.in_prefixes=1*sleep(3000)");
    let mut scan = federation.begin_scan(&MEAN);
    let done = || {
        let scans = federation.operate(&["scan", "list", "--format", "json"]).expect(0).json();
        scans[0]["analysis"]["done"].as_u64().unwrap_or(0)
    };
    wait_until("the scan is analysed", || done() > 0);
    federation.stop_coordinator();
    assert!(!scan.ends_within(Duration::ZERO), "the scan was not over");
    // The program without points, of other code.
    federation.start_coordinator();
    federation.restart_all();
    federation.check(scan.ended(), &MEAN);
}

#[test]
fn a_document_that_is_planted_after_the_freeze_is_not_in_the_report() {
    let mut federation = federation(709);
    federation.check(federation.scan(&MEAN), &MEAN);
    change_some(&mut federation, "b");
    let mut expected = Value::Null;
    let (run, _) = broken_off(&mut federation, "scan.after_frozen", |federation| {
        expected = federation.expected(&MEAN);
        let (path, _) = contents(federation.site("b").folder()).into_iter().next().unwrap();
        std::fs::copy(federation.site("b").folder().join(path), federation.site("a").folder().join("planted")).unwrap();
        federation.sandbox.settle();
    });
    let report = run.report();
    assert_eq!(comparable(&report), comparable(&expected));
    assert!(!report.to_string().contains("planted"));
    let next = federation.check(federation.scan(&MEAN), &MEAN);
    assert!(next.to_string().contains("planted"), "the next scan has it");
}

/// A small file system in the place of the folder of scans, where the system lets us mount one.
struct Small {
    folder: PathBuf,
}

impl Small {
    fn mount(federation: &Federation, bytes: u64) -> Option<Small> {
        let folder = federation.coordinator_state().join("scans");
        std::fs::create_dir_all(&folder).unwrap();
        let options = format!("size={bytes}");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(&folder);
        mount.output().is_ok_and(|output| output.status.success()).then_some(Small { folder })
    }

    fn resize(&self, bytes: u64) {
        let options = format!("remount,size={bytes}");
        let made = Command::new("mount").args(["-o", &options]).arg(&self.folder).status().unwrap();
        assert!(made.success());
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["--lazy"]).arg(&self.folder).output();
    }
}

#[test]
fn a_scan_without_room_waits_at_its_step_and_goes_on_by_itself() {
    let mut federation = federation(706);
    federation.stop_coordinator();
    let Some(disk) = Small::mount(&federation, 8 << 20) else {
        return not_checked("a scan on a full disk, since no small file system can be mounted");
    };
    federation.start_coordinator();
    federation.restart_all();
    // From one that cannot even begin to one that lacks the last pages of its result.
    for free in [0, 4096, 20_000, 60_000, 120_000] {
        change_some(&mut federation, "a");
        let filler = disk.folder.join("filler");
        fill(&filler, free);
        let scan = federation.begin_scan(&MEAN);
        let mut waiting = Value::Null;
        wait_until("the scan waits for room", || {
            let scans = federation.operate(&["scan", "list", "--format", "json"]).expect(0).json();
            waiting = scans[0].clone();
            !waiting["waiting"].is_null()
        });
        let reason = waiting["waiting"].as_str().unwrap();
        let id = waiting["id"].as_str().unwrap();
        assert!(
            reason.contains("free some space") && reason.contains(disk.folder.join(id).to_str().unwrap()),
            "{reason}"
        );
        assert_eq!(reason.lines().count(), 1);
        assert_eq!(waiting["status"], "analysing");
        let left: Vec<String> = names(&disk.folder.join(id)).iter().map(|path| path.display().to_string()).collect();
        let half = |path: &String| path.ends_with(".tmp") || path.ends_with(".writing") || path.contains("spill");
        assert!(!left.iter().any(half), "{left:?} is left behind");
        // Room is made, and nobody has to ask.
        std::fs::remove_file(&filler).unwrap();
        federation.check(scan.ended(), &MEAN);
    }
    // Where nothing more is free, whoever watches has it tried at once.
    change_some(&mut federation, "b");
    let filler = disk.folder.join("filler");
    fill(&filler, 0);
    let scan = federation.begin_scan(&MEAN);
    let waits = |federation: &Federation| {
        let scans = federation.operate(&["scan", "list", "--format", "json"]).expect(0).json();
        !scans[0]["waiting"].is_null()
    };
    wait_until("the scan waits for room", || waits(&federation));
    disk.resize(64 << 20);
    federation.check(scan.ended(), &MEAN);
    federation.stop_coordinator();
}

/// Leaves so many bytes free.
fn fill(path: &Path, free: u64) {
    let stat = || {
        let stat = rustix::fs::statvfs(path.parent().unwrap()).unwrap();
        stat.f_bavail * stat.f_frsize
    };
    let bytes = stat().saturating_sub(free);
    std::fs::write(path, vec![1; usize::try_from(bytes).unwrap()]).unwrap();
}
