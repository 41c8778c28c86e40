//! Errors of the disk in real processes, at the n-th call to each class of their files.

use std::collections::BTreeSet;
use std::time::Duration;

use cognate_integration_tests::binary::{cognate, cognate_failpoints};
use cognate_integration_tests::canonical::comparable;
use cognate_integration_tests::sandbox::{compare_args, wait_until};
use cognate_integration_tests::{Federation, Run, Sandbox};

/// Says how much is tried: `all` tries every call of every class; otherwise one call of each.
const VARIABLE: &str = "COGNATE_DISK_FAULTS";
const MEAN: [&str; 2] = ["--chunk-bytes", "80"];

/// The classes of files of a coordinator: operation, files, and the call that is tried by default.
const COORDINATOR: &[(&str, &str, u64)] = &[
    ("write", "coordinator/journal", 2),
    ("sync", "coordinator/journal.head", 2),
    ("write", "coordinator/indexes/*.seg", 2),
    ("sync", "coordinator/indexes/*.seg", 2),
    ("write", "coordinator/indexes/*.run*", 1),
    ("write", "coordinator/store/*", 4),
    ("write", "coordinator/scans/*spill*", 1),
    ("write", "coordinator/scans/*links*", 1),
    ("create", "coordinator/scans/*", 2),
    ("write", "coordinator/scans/*result*", 3),
    ("rename", "coordinator/scans/*", 2),
];

/// Those of a worker.
const WORKER: &[(&str, &str, u64)] = &[
    ("write", "worker-a/ledger", 3),
    ("sync", "worker-a/ledger", 2),
    ("write", "worker-a/*sent*", 2),
    ("write", "worker-a/*lists*", 1),
    ("write", "worker-a/*cache*", 2),
    ("rename", "worker-a/*", 1),
];

fn numbers(first: u64) -> impl Iterator<Item = u64> {
    let all = std::env::var(VARIABLE).is_ok_and(|value| value == "all");
    let next = move |last: &u64| all.then(|| if *last < 10 { last + 1 } else { last + last / 2 });
    std::iter::successors(Some(if all { 1 } else { first }), next)
}

fn federation(own_seed: u64) -> Federation {
    // Built now, and not while somebody waits for it.
    cognate_failpoints();
    let federation = Federation::of(own_seed, 2, 40);
    federation.check(federation.scan(&MEAN), &MEAN);
    federation.sandbox.settle();
    federation
}

/// Changes some documents of a site, so that the next scan has work.
fn change(federation: &mut Federation) {
    let folder = federation.site("a").folder().to_owned();
    for path in cognate_integration_tests::sandbox::contents(&folder).into_keys().take(8) {
        let more = federation.dice.bytes(3000);
        std::fs::write(folder.join(path), more).unwrap();
    }
    federation.sandbox.settle();
}

/// A scan that failed named the file and the cause; one that is launched after it says what an undisturbed one says.
fn check(federation: &Federation, run: Run, fault: &str, cause: &str) {
    if run.code == Some(0) {
        federation.check(run, &MEAN);
        return;
    }
    assert!(run.stderr.contains(cause), "{fault}: the error does not name its cause: {run:?}");
    federation.check(federation.scan(&MEAN), &MEAN);
}

/// A process that ended because of the disk says so.
fn check_end(run: &Run, fault: &str, cause: &str) {
    assert_eq!(run.code, Some(74), "{fault}: {run:?}");
    assert!(run.stderr.contains(cause), "{fault}: {run:?}");
}

/// The scan that waits for space. It goes on when somebody watches it.
fn waiting(log: &str) -> Option<String> {
    let line = log.lines().find(|line| line.contains("a scan waits for disk space"))?;
    Some(line.split("scan=").nth(1)?.split(' ').next()?.to_owned())
}

fn error_of(number: u64) -> (&'static str, &'static str) {
    [("ENOSPC", "No space left"), ("EIO", "Input/output error"), ("EDQUOT", "quota exceeded")]
        [usize::try_from(number % 3).unwrap()]
}

#[test]
fn whatever_call_of_a_coordinator_to_its_disk_fails_it_says_so_and_the_report_is_the_same() {
    let (mut federation, mut classes) = (federation(471), BTreeSet::new());
    for (operation, files, first) in COORDINATOR {
        for number in numbers(*first) {
            let (error, cause) = error_of(number);
            let fault = format!("{operation}:*/{files}:{number}:{error}");
            for name in federation.names() {
                federation.kill(&name);
            }
            federation.kill_coordinator();
            change(&mut federation);
            let serves = federation.start_coordinator_failing(&format!("disk={fault}"));
            if !serves {
                check_end(&federation.take_coordinator().ended(), &fault, cause);
                federation.start_coordinator();
            }
            for name in federation.names() {
                federation.start(&name);
            }
            let mut scan = federation.begin_scan(&MEAN);
            let (mut fired, mut watching) = (!serves, None);
            wait_until("the scan is over", || {
                if watching.is_none() {
                    watching =
                        waiting(&federation.coordinator().stderr()).map(|id| federation.begin(&["scan", "watch", &id]));
                }
                if serves && !fired && federation.coordinator().ends_within(Duration::ZERO) {
                    check_end(&federation.take_coordinator().ended(), &fault, cause);
                    federation.start_coordinator();
                    fired = true;
                }
                scan.ends_within(Duration::ZERO)
            });
            fired |= federation.coordinator().stderr().contains("disk fault:");
            check(&federation, scan.ended(), &fault, cause);
            if !fired {
                break;
            }
            classes.insert(format!("{operation} {files}"));
        }
    }
    assert!(classes.len() >= COORDINATOR.len() * 2 / 3, "only in these classes a call failed: {classes:#?}");
}

#[test]
fn whatever_call_of_a_worker_to_its_disk_fails_it_says_so_and_the_report_is_the_same() {
    let (mut federation, mut classes) = (federation(472), BTreeSet::new());
    for (operation, files, first) in WORKER {
        for number in numbers(*first) {
            let (error, cause) = error_of(number);
            let fault = format!("{operation}:*/{files}:{number}:{error}");
            federation.kill("a");
            change(&mut federation);
            federation.start_failing("a", &format!("disk={fault}"));
            let mut scan = federation.begin_scan(&MEAN);
            let mut fired = false;
            wait_until("the scan is over", || {
                if !fired && federation.site_mut("a").worker().ends_within(Duration::ZERO) {
                    check_end(&federation.take_worker("a").ended(), &fault, cause);
                    federation.start("a");
                    fired = true;
                }
                scan.ends_within(Duration::ZERO)
            });
            fired |= federation.site_mut("a").worker().stderr().contains("disk fault:");
            check(&federation, scan.ended(), &fault, cause);
            if !fired {
                break;
            }
            classes.insert(format!("{operation} {files}"));
        }
    }
    assert!(classes.len() >= WORKER.len() * 2 / 3, "only in these classes a call failed: {classes:#?}");
    federation.worker("a", &["ledger", "verify"]).expect(0);
}

#[test]
fn few_file_descriptors_change_no_report_or_are_named_as_the_reason() {
    let sandbox = Sandbox::new();
    let file = |number: u32| (format!("{number}/{number}"), number.to_le_bytes().repeat(2000));
    let [a, b] = [0..60, 30..90].map(|numbers| numbers.map(file).collect());
    let folders = [("a", sandbox.tree("a", &a)), ("b", sandbox.tree("b", &b))];
    let folders = folders.each_ref().map(|(name, path)| (*name, path.as_path()));
    let expected = sandbox.report(&folders, &[]);
    let mut succeeded = 0;
    for descriptors in [16, 24, 32, 48, 64] {
        let mut command = std::process::Command::new("sh");
        command.arg("-c").arg(format!("ulimit -n {descriptors} && exec \"$0\" \"$@\"")).arg(cognate());
        let run = sandbox.spawn({
            command.args(compare_args(&folders, &["--format", "json"]));
            command
        });
        let run = run.ended();
        if run.code == Some(0) {
            assert_eq!(comparable(&run.report()), comparable(&expected), "{descriptors}");
            succeeded += 1;
        } else {
            assert!(run.stderr.contains("Too many open files"), "{descriptors}: {run:?}");
        }
    }
    assert!(succeeded > 0);
}

#[test]
fn a_coordinator_whose_disk_syncs_nothing_any_more_ends_with_the_reason_and_in_no_panic() {
    cognate_failpoints();
    let mut federation = Federation::new(475);
    // A sync and all later ones, also those of closing the store: some while it starts, some while it serves.
    for number in 1..=8 {
        federation.kill_coordinator();
        let fault = format!("sync:*/coordinator/*:{number}+:EDQUOT");
        federation.start_coordinator_failing(&format!("disk={fault}"));
        wait_until("the disk has failed", || {
            let has_ended = federation.coordinator().ends_within(Duration::ZERO);
            if !has_ended {
                federation.operate(&["operator", "invite", "anna", "--role", "analyst"]);
            }
            has_ended
        });
        check_end(&federation.take_coordinator().ended(), &fault, "quota exceeded");
    }
    federation.start_coordinator();
}
