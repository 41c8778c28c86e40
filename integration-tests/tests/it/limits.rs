//! What the system has little of: descriptors, room for a log, time until a certificate ends.

use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use cognate_integration_tests::binary::{cognate, cognate_failpoints};
use cognate_integration_tests::clock::Clocks;
use cognate_integration_tests::federation::text;
use cognate_integration_tests::sandbox::{contents, wait_until, wait_within};
use cognate_integration_tests::{Federation, Running, not_checked};

/// A coordinator that the shell starts after these words.
fn coordinator_after(federation: &Federation, words: &str, redirection: &str) -> Running {
    let (config, ready) = (federation.coordinator_config(), federation.sandbox.path("ready"));
    let _ = std::fs::remove_file(&ready);
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{words} exec \"$0\" \"$@\" {redirection}")).arg(cognate());
    command.args(["coordinator", "run", "--config", text(&config), "--ready-file", text(&ready)]);
    let running = federation.sandbox.spawn(command);
    wait_until("the coordinator serves", || std::fs::read(&ready).is_ok_and(|bytes| !bytes.is_empty()));
    running
}

fn stop(mut running: Running) {
    running.signal(rustix::process::Signal::TERM);
    running.ended().expect(0);
}

#[test]
fn a_coordinator_without_descriptors_waits_and_goes_on_when_there_are_some() {
    let mut federation = Federation::of(1601, 2, 30);
    federation.kill_coordinator();
    let coordinator = coordinator_after(&federation, "ulimit -n 80;", "");
    ["a", "b"].iter().for_each(|name| federation.wait_attached(name));
    // More than there are descriptors.
    let held: Vec<TcpStream> = (0..120).map(|_| TcpStream::connect(federation.address(1)).unwrap()).collect();
    wait_within(Duration::from_secs(30), "strangers that do not greet are sent away", || {
        let mut byte = [0; 1];
        held[0].set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        matches!(std::io::Read::read(&mut &held[0], &mut byte), Ok(0))
            || held[0].take_error().is_ok_and(|error| error.is_some())
    });
    drop(held);
    federation.check(federation.scan(&[]), &[]);
    stop(coordinator);
}

#[test]
fn a_coordinator_that_gets_no_more_memory_ends_or_goes_on_and_the_report_is_the_same() {
    use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
    let mut federation = Federation::of(1605, 2, 60);
    for more in [0, 1 << 20, 4 << 20, 16 << 20] {
        let added = federation.dice.bytes(30_000);
        std::fs::write(federation.site("a").folder().join(format!("with{more}")), added).unwrap();
        federation.sandbox.settle();
        let id = federation.coordinator().id();
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
        let size: u64 = size.trim().trim_end_matches(" kB").parse().unwrap();
        let limit = Rlimit { current: Some((size << 10) + more), maximum: getrlimit(Resource::As).maximum };
        prlimit(Pid::from_raw(id), Resource::As, limit).unwrap();
        let mut scan = federation.begin_scan(&[]);
        wait_within(Duration::from_secs(90), "the coordinator or the scan has ended", || {
            federation.coordinator().ends_within(Duration::ZERO) || scan.ends_within(Duration::ZERO)
        });
        // A supervisor starts it again, with what it had before.
        if federation.coordinator().ends_within(Duration::ZERO) {
            let run = federation.take_coordinator().ended_anyhow();
            assert!(run.signal.is_some() || !matches!(run.code, Some(0 | 3)), "{run:?}");
        } else {
            // It may have panicked for want of a thread, and be about to end.
            let mut coordinator = federation.take_coordinator();
            coordinator.signal(rustix::process::Signal::KILL);
            coordinator.ended_anyhow();
        }
        federation.start_coordinator();
        let run = scan.ended();
        assert!(run.code == Some(0) || run.stderr.lines().any(|line| line.starts_with("cognate: ")), "{run:?}");
        federation.restart_all();
        federation.check(federation.scan(&[]), &[]);
    }
}

#[test]
fn a_coordinator_with_another_authority_hears_nothing_and_sites_go_on_when_they_are_invited_again() {
    let mut federation = Federation::of(1606, 2, 30);
    federation.check(federation.scan(&[]), &[]);
    federation.kill_coordinator();
    std::fs::remove_dir_all(federation.coordinator_state()).unwrap();
    federation.init();
    federation.start_coordinator();
    for name in ["a", "b"] {
        federation.kill(name);
        federation.start(name);
        wait_until("it is told", || {
            let log = federation.site_mut(name).worker().stderr();
            log.contains("is not the coordinator") && log.contains("nothing was sent")
        });
        federation.kill(name);
        let invitation = federation.invite(name);
        std::fs::remove_dir_all(federation.site(name).state()).unwrap();
        federation.enroll(name, &invitation).expect(0);
    }
    federation.start_all();
    federation.check(federation.scan(&[]), &[]);
}

#[test]
fn daemons_whose_log_cannot_be_written_go_on() {
    let mut federation = Federation::of(1602, 2, 30);
    federation.kill_coordinator();
    let coordinator = coordinator_after(&federation, "", "2>/dev/full");
    federation.kill("a");
    let mut command = Command::new("sh");
    command.arg("-c").arg("exec \"$0\" \"$@\" 2>/dev/full").arg(cognate());
    command.args(["worker", "run", "--config", text(federation.site("a").config()), "--log-level", "info"]);
    let worker = federation.sandbox.spawn(command);
    ["a", "b"].iter().for_each(|name| federation.wait_attached(name));
    federation.check(federation.scan(&[]), &[]);
    [worker, coordinator].into_iter().for_each(stop);
}

#[test]
fn a_certificate_that_has_expired_is_refused_by_name_and_nothing_else_is_lost() {
    const DAY: i64 = 86_400;
    let mut federation = Federation::of(1603, 2, 30);
    let Some(clocks) = Clocks::new(&federation.sandbox.path("")) else {
        return not_checked("certificates that expire: libfaketime is not installed");
    };
    federation.kill_all();
    // A worker that was off for longer than its certificate lives.
    for name in ["coordinator", "a"] {
        clocks.set(name, 40 * DAY);
    }
    federation.set_clocks(clocks);
    federation.start_coordinator();
    federation.start("a");
    let mut worker = federation.take_worker("a");
    assert!(worker.ends_within(Duration::from_secs(60)), "{}", worker.stderr());
    let refused = worker.ended().expect(14);
    assert!(refused.stderr.to_lowercase().contains("expired"), "{refused:?}");
    // It was the clock: set right, everything works as before.
    federation.kill_coordinator();
    for name in ["coordinator", "a"] {
        federation.clocks().unwrap().set(name, 0);
    }
    federation.start_coordinator();
    federation.start_all();
    federation.check(federation.scan(&[]), &[]);
}

/// The time of day of the coordinator, by when it last heard the worker of `a`.
fn coordinator_time(federation: &Federation) -> jiff::Timestamp {
    worker_time(federation);
    federation.member("a")["last_heard"].as_str().unwrap().parse().unwrap()
}

/// The time of day of the worker of `a`, by the record of a message that it is made to send.
fn worker_time(federation: &Federation) -> jiff::Timestamp {
    for word in ["pause", "resume"] {
        federation.worker("a", &[word]).expect(0);
    }
    let ledger = federation.worker("a", &["ledger", "export", "--format", "ndjson"]).expect(0);
    let last: serde_json::Value = serde_json::from_str(ledger.text().lines().next_back().unwrap()).unwrap();
    last["utc"].as_str().unwrap().parse().unwrap()
}

/// Whether a clock is off by so many seconds, to ten minutes.
fn is_off_by(time: jiff::Timestamp, seconds: i64) -> bool {
    (time.as_second() - jiff::Timestamp::now().as_second() - seconds).abs() < 600
}

#[test]
fn a_clock_that_jumps_while_sites_are_attached_ends_no_session_and_changes_no_report() {
    let mut federation = Federation::of(1604, 2, 30);
    let Some(clocks) = Clocks::new(&federation.sandbox.path("")) else {
        return not_checked("clocks that jump: libfaketime is not installed");
    };
    federation.kill_all();
    federation.set_clocks(clocks);
    federation.start_coordinator();
    federation.start_all();
    let made = federation.site("a").line().connections();
    // Certificates hold from two days before they were made: further back, the coordinator rightly refuses the new one of the operator.
    for seconds in [-30 * 3600, 7200, -3000, 0] {
        for name in ["a", "coordinator"] {
            federation.clocks().unwrap().set(name, seconds);
        }
        wait_until("the coordinator's clock has followed", || is_off_by(coordinator_time(&federation), seconds));
        wait_until("the worker's clock has followed", || is_off_by(worker_time(&federation), seconds));
        let more = federation.dice.bytes(4000);
        std::fs::write(federation.site("a").folder().join(format!("at{seconds}")), more).unwrap();
        federation.sandbox.settle();
        // The operator's own clock is right, so it can dial only while the coordinator's certificate is valid: it is from before.
        federation.check(federation.scan(&[]), &[]);
    }
    assert_eq!(federation.site("a").line().connections(), made, "the session goes on");
}

#[test]
fn a_coordinator_whose_clock_is_days_off_during_a_scan_delays_it_and_ends_no_worker() {
    let mut federation = Federation::of(1608, 2, 40);
    let Some(clocks) = Clocks::new(&federation.sandbox.path("")) else {
        return not_checked("clocks that are days off: libfaketime is not installed");
    };
    federation.kill_all();
    federation.set_clocks(clocks);
    federation.start_coordinator();
    federation.start_all();
    for (number, moment) in [0, 300, 700, 1200].into_iter().enumerate() {
        for name in ["a", "b"] {
            let more = federation.dice.bytes(60_000);
            std::fs::write(federation.site(name).folder().join(format!("more{number}")), more).unwrap();
        }
        federation.sandbox.settle();
        let mut scan = federation.begin_scan(&["--chunk-bytes", "80"]);
        scan.ends_within(Duration::from_millis(moment));
        federation.clocks().unwrap().set("coordinator", -5 * 86_400);
        scan.ends_within(Duration::from_millis(1500));
        // A session that is cut meanwhile is refused when it is made anew.
        federation.site("a").line().cut();
        scan.ends_within(Duration::from_millis(2500));
        federation.clocks().unwrap().set("coordinator", 0);
        wait_within(Duration::from_secs(180), "the scan ends", || scan.ends_within(Duration::ZERO));
        wait_until("the coordinator has the right time", || federation.operate(&["site", "list"]).code == Some(0));
        for name in ["a", "b"] {
            let worker = federation.site_mut(name).worker();
            assert!(!worker.ends_within(Duration::ZERO), "a worker ended: {}", worker.stderr());
            wait_within(Duration::from_secs(150), "it is attached", || federation.member(name)["attached"] == true);
        }
    }
    federation.check(federation.scan(&[]), &[]);
}

/// The beginning of a line about a call to the disk on a thread that runs tasks (`disk-faults/src/waiting.rs`).
const WAITS: &str = "a thread of the runtime waits for the disk:";

#[test]
fn no_thread_that_runs_the_tasks_of_a_coordinator_waits_for_its_disk() {
    cognate_failpoints();
    let mut federation = Federation::of(1607, 2, 40);
    federation.kill_all();
    assert!(federation.start_coordinator_failing("waiting=/coordinator/"));
    for name in ["a", "b"] {
        federation.start(name);
        federation.wait_attached(name);
    }
    let id = federation.check(federation.scan(&[]), &[])["scan"]["id"].as_str().unwrap().to_owned();
    federation.scan(&["--view", "both"]).report();
    federation.person("anna", "analyst", &[]);
    for words in [
        &["scan", "launch", "--repositories", "a/kb,b/kb", "--no-sync", "--yes", "--wait"][..],
        &["report", &id, "--documents"],
        &["report", &id, "--format", "json"],
        &["site", "list"],
        &["repo", "list"],
        &["site", "invite", "c"],
        &["operator", "revoke", "anna"],
        &["template", "suggest", &id],
        &["scan", "delete", &id],
        &["site", "revoke", "b"],
        &["site", "forget", "b"],
    ] {
        let run = federation.operate(words);
        assert!(run.code == Some(0) || words[0] == "site" && words[1] == "forget", "{run:?}");
    }
    assert_eq!(federation.http("/readyz").0, 200);
    let log = federation.coordinator().stderr();
    let waits: Vec<&str> = log.lines().filter(|line| line.starts_with(WAITS)).collect();
    assert!(waits.is_empty(), "{waits:#?}");
}

#[test]
fn no_thread_that_runs_the_tasks_of_a_worker_waits_for_its_disk() {
    cognate_failpoints();
    let mut federation = Federation::of(1611, 2, 40);
    let config = std::fs::read_to_string(federation.site("a").config()).unwrap();
    let config = config.replace("[[repository]]", "[policy]\nfile_hashes = [\"sha256\"]\n\n[[repository]]");
    std::fs::write(federation.site("a").config(), config).unwrap();
    federation.kill("a");
    federation.start_failing("a", "waiting=/worker-a/");
    federation.wait_attached("a");
    let id = federation.check(federation.scan(&[]), &[])["scan"]["id"].as_str().unwrap().to_owned();
    // Some of the documents may look like something that has no text.
    assert!(matches!(federation.scan(&["--view", "both"]).code, Some(0 | 3)));
    federation.operate(&["scan", "launch", "--refine", &id, "--chunk-bytes", "100", "--yes", "--wait"]).expect(0);
    let listed = federation.sandbox.path("listed");
    std::fs::write(&listed, format!("{}\n", "00".repeat(32))).unwrap();
    federation.operate(&["find", "--hashes", listed.to_str().unwrap()]).expect(3);
    for words in [&["pause"][..], &["resume"], &["sync"], &["status"], &["results"], &["ledger", "verify"]] {
        let run = federation.worker("a", words);
        assert!(run.code == Some(0) || words[0] == "sync" && run.code == Some(3), "{run:?}");
    }
    federation.site("a").line().cut();
    federation.kill_coordinator();
    federation.start_coordinator();
    federation.wait_attached("a");
    let mut worker = federation.take_worker("a");
    worker.signal(rustix::process::Signal::TERM);
    let run = worker.ended().expect(0);
    let waits: Vec<&str> = run.stderr.lines().filter(|line| line.starts_with(WAITS)).collect();
    assert!(waits.is_empty(), "{waits:#?}");
}

#[test]
fn a_scan_goes_on_without_a_site_that_is_revoked_while_it_reads() {
    let mut federation = Federation::new(1609);
    for (name, policy) in [("a", "[policy]\nread_bytes_per_second = \"5KB\"\n"), ("b", ""), ("c", "")] {
        let files = (0..6).map(|number| (number.to_string(), federation.dice.bytes(60_000))).collect();
        federation.add_with(name, None, &files, policy);
    }
    federation.sandbox.settle();
    federation.start_all();
    let mut scan = federation.begin_scan(&[]);
    wait_until("the scan waits for it alone", || {
        federation.metric("cognate_seals_total") >= 2.0 || scan.ends_within(Duration::ZERO)
    });
    assert!(!scan.ends_within(Duration::ZERO), "it reads for minutes");
    federation.operate(&["site", "revoke", "a"]).expect(0);
    let run = scan.ended().expect(3);
    let report = run.json();
    let missing = &report["scan"]["missing"][0];
    assert!(missing["site"] == "a" && missing["reason"].as_str().unwrap().contains("revoked"), "{missing}");
    let documents = |name: &str| {
        let row = report["sites"].as_array().unwrap().iter().find(|row| row["site"] == name);
        row.map(|row| row["documents"].clone())
    };
    assert_eq!(["b", "c"].map(documents), [Some(6.into()), Some(6.into())]);
}

/// The first numbers of a row of the table of sizes in the guide.
fn sizes(of: &str) -> Vec<u64> {
    let guide =
        std::fs::read_to_string(cognate_integration_tests::binary::workspace().join("docs/operations.md")).unwrap();
    let (row, text) = (format!("| {of} | "), guide.split("## Sizes").nth(1).unwrap());
    let cell = text.lines().find_map(|line| line.strip_prefix(&row)).unwrap_or_else(|| panic!("no row `{of}`"));
    cell.split(|letter: char| !letter.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
}

#[test]
fn the_disk_and_the_network_that_a_scan_takes_are_those_of_the_guide() {
    let federation = Federation::of(1609, 2, 400);
    federation.scan(&[]).report();
    let (mut chunks, mut documents, mut sent, mut fine, mut read) = (0, 0, 0, 0, 0);
    for site in ["a", "b"] {
        let summary = federation.worker(site, &["ledger", "summary", "--format", "json"]).expect(0).json();
        for row in summary.as_array().unwrap() {
            let count = |name: &str| row[name].as_u64().unwrap();
            match row["kind"].as_str().unwrap() {
                "batch" => {
                    (chunks, documents, sent) =
                        (chunks + count("chunks"), documents + count("documents"), sent + count("bytes"));
                }
                "fine-chunks" => fine += count("bytes"),
                _ => {}
            }
        }
        read += contents(federation.site(site).folder()).values().map(|bytes| bytes.len() as u64).sum::<u64>();
    }
    assert!(chunks > 1000 && documents >= 400, "{chunks} chunks, {documents} documents");
    let of = |row: &str| {
        let numbers = sizes(row);
        numbers[0] * chunks + numbers[1] * documents
    };
    let network = of("network of a site");
    assert!(sent <= network && sent > network / 2, "{sent} bytes were sent, and the guide says {network}");
    assert!(fine > 0 && fine <= read / 8, "{fine} bytes of fine chunks for {read} bytes");
    let stored = contents(&federation.coordinator_state().join("indexes"));
    let indexes = stored.keys().filter(|path| path.extension().is_some_and(|kind| kind == "run")).count() as u64;
    let disk = of("disk of the coordinator") + 1000 * sizes("disk of the coordinator")[2] * indexes;
    let stored: u64 = stored.values().map(|bytes| bytes.len() as u64).sum();
    assert!(stored <= disk && stored > disk / 2, "{stored} bytes are stored, and the guide says {disk}");
}

#[test]
fn what_the_guide_says_of_sizes_was_measured() {
    let read =
        |name: &str| std::fs::read_to_string(cognate_integration_tests::binary::workspace().join("docs").join(name));
    let (guide, measured) = (read("operations.md").unwrap(), read("performance.md").unwrap());
    let sizes = guide.split("## Sizes").nth(1).unwrap().split("\n## ").next().unwrap();
    for (said, found) in [
        ("602 MB", "602 MB"),
        ("108,804 files", "108,804 documents, 602 MB"),
        ("4.9 s", "4.91 s"),
        ("15.3 MB", "15.28 MB"),
    ] {
        assert!(sizes.contains(said) && measured.contains(found), "{said}: {found}");
    }
}
