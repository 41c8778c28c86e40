//! Whatever fails on the way, the scan ends with what an undisturbed one says, and hardly anything is sent twice.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use cognate_integration_tests::binary::{cognate_failpoints, workspace};
use cognate_integration_tests::proxy::{Way, Weather};
use cognate_integration_tests::sandbox::{names, wait_until, wait_within};
use cognate_integration_tests::tree::{Files, edited};
use cognate_integration_tests::{Dice, Federation, Running};
use rustix::process::Signal;

/// What may be under way without an acknowledgement, and so be sent again after each failure.
const WINDOW_BYTES: u64 = 4 << 20;
/// What a new connection costs beside: handshakes, greetings, frames.
const CONNECTION_BYTES: u64 = 64 << 10;
/// Many small chunks, so that there is something to send.
const MEAN: [&str; 2] = ["--chunk-bytes", "80"];

/// Documents of which a good part stands at two sites.
fn trees(dice: &mut Dice, documents: usize, size_bytes: usize) -> [Files; 2] {
    let mut trees = [Files::new(), Files::new()];
    for number in 0..documents {
        let content = dice.bytes(size_bytes);
        trees[number % 2].insert(format!("d{}/{number}", number % 7), content.clone());
        if number % 3 == 0 {
            trees[1 - number % 2].insert(format!("edited/{number}"), edited(dice, content));
        }
    }
    trees
}

/// Two sites that read slowly, so that there is time for something to happen.
fn slow(own_seed: u64) -> Federation {
    let mut federation = Federation::new(own_seed);
    let trees = trees(&mut federation.dice, 80, 30_000);
    for (name, files) in ["a", "b"].iter().zip(&trees) {
        federation.add_with(name, None, files, "[policy]\nread_bytes_per_second = \"2MB\"\n");
    }
    federation.sandbox.settle();
    federation.start_all();
    federation
}

/// Gives every document of a site a new end, so that the next scan has work.
fn change(federation: &mut Federation, name: &str) {
    let folder = federation.site(name).folder().to_owned();
    for path in cognate_integration_tests::sandbox::contents(&folder).into_keys() {
        let mut content = std::fs::read(folder.join(&path)).unwrap();
        content.truncate(30_000);
        content.extend(federation.dice.bytes(200));
        std::fs::write(folder.join(&path), content).unwrap();
    }
}

fn sent(federation: &Federation) -> u64 {
    federation.names().iter().map(|name| federation.site(name).line().bytes(Way::Up)).sum()
}

/// Waits until so many bytes more have gone up, or the scan has ended.
fn wait_sent(federation: &Federation, scan: &mut Running, bytes: u64) {
    wait_until("bytes have gone up, or the scan has ended", || {
        sent(federation) >= bytes || scan.ends_within(Duration::ZERO)
    });
}

/// One after another, at moments that the dice choose.
fn disturbed(own_seed: u64, rounds: usize, mut disturb: impl FnMut(&mut Federation)) {
    let mut federation = slow(own_seed);
    let before = sent(&federation);
    federation.check(federation.scan(&MEAN), &MEAN);
    let once = sent(&federation) - before;
    for _ in 0..rounds {
        for name in federation.names() {
            change(&mut federation, &name);
        }
        federation.sandbox.settle();
        let before = sent(&federation);
        let mut scan = federation.begin_scan(&MEAN);
        let moment = federation.dice.below(usize::try_from(once).unwrap());
        wait_sent(&federation, &mut scan, before + moment as u64);
        disturb(&mut federation);
        federation.check(scan.ended(), &MEAN);
        let again = (sent(&federation) - before).saturating_sub(once + once / 10);
        assert!(again <= WINDOW_BYTES + 4 * CONNECTION_BYTES, "{again} bytes were sent again");
    }
    for name in federation.names() {
        federation.worker(&name, &["ledger", "verify"]).expect(0);
    }
}

#[test]
fn a_coordinator_that_is_killed_at_any_moment_loses_nothing() {
    disturbed(401, 4, |federation| {
        federation.kill_coordinator();
        federation.start_coordinator();
    });
}

#[test]
fn a_worker_that_is_killed_at_any_moment_goes_on_where_it_was() {
    disturbed(402, 4, |federation| {
        let name = federation.dice.pick(&["a", "b"]).to_owned();
        federation.kill(name);
        federation.start(name);
    });
}

#[test]
fn everybody_may_be_killed_at_once() {
    disturbed(403, 3, |federation| {
        federation.kill("a");
        federation.kill_coordinator();
        federation.kill("b");
        federation.start("b");
        federation.start_coordinator();
        federation.start("a");
    });
}

#[test]
fn a_line_that_is_cut_is_made_anew() {
    disturbed(404, 3, |federation| {
        federation.site("a").line().cut();
        federation.site("b").line().cut();
    });
}

#[test]
fn what_is_sent_again_after_a_kill_fits_the_window() {
    // More is sent than the window holds, so that to begin again would show.
    let mut federation = Federation::new(405);
    let files = trees(&mut federation.dice, 60, 1_200_000);
    federation.add("a", &files[0]);
    federation.sandbox.settle();
    federation.start_all();
    let (total, kills) = (federation.dice.between(9, 11) as u64 * 1_000_000, 2);
    let mut scan = federation.begin_scan(&MEAN);
    for kill in 1..=kills {
        wait_sent(&federation, &mut scan, total * kill / (kills + 1));
        assert!(!scan.ends_within(Duration::ZERO), "the scan was over before the kill");
        federation.kill_coordinator();
        federation.start_coordinator();
    }
    federation.check(scan.ended(), &MEAN);
    let with_kills = sent(&federation);
    // The same once more, from nothing, undisturbed.
    let mut clean = Federation::new(405);
    clean.add("a", &files[0]);
    clean.sandbox.settle();
    clean.start_all();
    clean.scan(&MEAN).report();
    let once = sent(&clean);
    assert!(once > 2 * WINDOW_BYTES, "{once} bytes say nothing about the window");
    assert!(with_kills <= once + kills * (WINDOW_BYTES + CONNECTION_BYTES), "{with_kills} bytes, undisturbed {once}");
}

// --- The line

#[test]
fn a_line_that_is_reset_at_every_so_many_bytes_gets_everything_across() {
    let mut federation = slow(411);
    // Among the handshake, the greeting, the opening and the batches.
    let cuts: Vec<u64> = (1..=12).map(|number| number * number * 997).collect();
    for name in federation.names() {
        federation.site(&name).line().cut_after(Way::Up, cuts[..6].iter().copied());
        federation.site(&name).line().cut_after(Way::Down, cuts[..3].iter().map(|bytes| bytes / 2));
        federation.site(&name).line().cut();
    }
    federation.check(federation.scan(&MEAN), &MEAN);
    for name in federation.names() {
        assert_eq!(federation.site(&name).line().cuts_left(), 0);
        change(&mut federation, &name);
    }
}

#[test]
fn acknowledgements_that_are_lost_make_nothing_count_twice() {
    let federation = slow(412);
    let line = federation.site("a").line();
    let mut scan = federation.begin_scan(&MEAN);
    let before = line.bytes(Way::Up);
    wait_until("batches go up", || line.bytes(Way::Up) > before + 20_000);
    let attached = line.connections();
    line.set(Weather { silent_down: true, ..Weather::default() });
    let stored = || federation.metric("cognate_batches_total");
    let then = stored();
    // If a busy machine has stored the last batch before this count, no other comes until the line is given up.
    wait_within(Duration::from_secs(90), "more is stored, unheard", || {
        stored() > then || line.connections() > attached || scan.ends_within(Duration::ZERO)
    });
    line.cut();
    line.heal();
    federation.check(scan.ended(), &MEAN);
    federation.worker("a", &["ledger", "verify"]).expect(0);
}

#[test]
fn a_line_that_carries_nothing_and_tells_nobody_is_given_up_within_a_minute() {
    let federation = slow(417);
    let line = federation.site("a").line();
    let mut scan = federation.begin_scan(&MEAN);
    let before = line.bytes(Way::Up);
    wait_until("batches go up", || line.bytes(Way::Up) > before + 50_000 || scan.ends_within(Duration::ZERO));
    let made = line.connections();
    line.lose();
    wait_within(Duration::from_secs(70), "the site makes a new connection", || line.connections() > made);
    federation.check(scan.ended(), &MEAN);
}

#[test]
fn a_slow_and_stuttering_line_only_takes_longer() {
    let federation = slow(413);
    let weather = Weather {
        latency: Duration::from_millis(60),
        jitter: Duration::from_millis(30),
        slice_bytes: Some(500),
        ..Weather::default()
    };
    federation.site("a").line().set(weather);
    federation.check(federation.scan(&MEAN), &MEAN);
}

#[test]
fn a_coordinator_that_cannot_be_reached_is_tried_again_until_it_can() {
    let mut federation = slow(414);
    federation.check(federation.scan(&MEAN), &MEAN);
    let tried = federation.names().into_iter().map(|name| {
        let line = federation.site(&name).line();
        line.set(Weather { refuse: true, ..Weather::default() });
        line.cut();
        (name, line.connections())
    });
    for (name, tried) in tried.collect::<Vec<_>>() {
        let line = federation.site(&name).line();
        wait_until("it is tried again and again", || line.connections() >= tried + 3);
    }
    // Meanwhile documents change.
    change(&mut federation, "a");
    federation.sandbox.settle();
    let scan = federation.begin_scan(&MEAN);
    for name in federation.names() {
        federation.site(&name).line().heal();
    }
    federation.check(scan.ended(), &MEAN);
}

#[test]
fn who_accepts_and_never_answers_is_given_up_on() {
    let listener = TcpListener::bind(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0)).unwrap();
    let silent = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            held.push(stream);
        }
    });
    let federation = slow(415);
    let line = federation.site("a").line();
    line.retarget(silent);
    line.cut();
    let tried = line.connections();
    wait_until("it was given up on and tried again", || line.connections() >= tried + 2);
    line.retarget(federation.address(1));
    federation.check(federation.scan(&MEAN), &MEAN);
}

#[test]
fn a_process_that_stood_still_is_heard_again_or_replaced() {
    let mut federation = slow(416);
    for stopped in ["a", "coordinator"] {
        change(&mut federation, "a");
        federation.sandbox.settle();
        let before = sent(&federation);
        let mut scan = federation.begin_scan(&MEAN);
        wait_sent(&federation, &mut scan, before + 50_000);
        let process = if stopped == "a" { federation.site_mut("a").worker() } else { federation.coordinator() };
        process.signal(Signal::STOP);
        // It is left alone for a while: nothing else is there to be waited for.
        assert!(!scan.ends_within(Duration::from_secs(10)), "the scan ended without {stopped}");
        let process = if stopped == "a" { federation.site_mut("a").worker() } else { federation.coordinator() };
        process.signal(Signal::CONT);
        federation.check(scan.ended(), &MEAN);
    }
}

// --- Points at which a process ends

/// Points that a coordinator comes by in a scan over changed documents, each with how often it passes before it ends there.
const SCAN_POINTS: &[(&str, &[u32])] = &[
    ("ingest.before_write", &[0, 1]),
    ("ingest.after_write", &[0, 1]),
    ("ingest.after_seg_fsync", &[1]),
    ("ingest.before_commit", &[0]),
    ("ingest.after_flush", &[0, 3]),
    ("ingest.before_ack", &[0]),
    ("seal.before_slot", &[0, 1]),
    ("seal.after_slot", &[0, 1]),
    ("journal.before_head", &[0, 1]),
    ("journal.after_append", &[0, 1]),
];

/// The same, after the documents have arrived.
const END_POINTS: &[(&str, &[u32])] = &[
    ("scan.after_frozen", &[0]),
    ("scan.in_tags", &[3]),
    ("scan.in_prefixes", &[0]),
    ("scan.in_components", &[0]),
    ("scan.in_partitions", &[0]),
    ("scan.between_partitions", &[0]),
    ("scan.in_links", &[0, 5]),
    ("scan.before_analysed", &[0]),
    ("scan.after_analysed", &[0]),
    ("publish.before_rename", &[0]),
    ("publish.after_rename", &[0]),
    ("scan.after_published", &[0]),
    ("compact.before_rename", &[0]),
    ("compact.before_slot", &[0]),
    ("compact.after_slot", &[0]),
];

/// Points of the worker in a sync.
const WORKER_POINTS: &[(&str, &[u32])] = &[
    ("worker.before_ledger", &[0, 1]),
    ("worker.after_ledger", &[1]),
    ("worker.after_send", &[0, 1]),
    ("worker.after_ack", &[0]),
    ("worker.mid_file", &[0, 30]),
    ("worker.cache_write", &[0]),
];

const COMPACTION_TEST: &str =
    "a_coordinator_that_ends_at_any_point_of_a_compaction_of_the_journal_has_the_same_registry";

/// Points that something else leads to, with the test that goes there.
const OTHER_POINTS: &[(&str, &str)] = &[
    ("journal.in_checkpoint", COMPACTION_TEST),
    ("journal.before_swap", COMPACTION_TEST),
    ("journal.after_swap", COMPACTION_TEST),
    ("journal.after_swap_head", COMPACTION_TEST),
    ("enroll.after_record", "a_coordinator_that_ends_while_it_enrols_a_site_gives_it_the_same_certificate"),
    ("renew.after_write", "a_stop_at_any_point_of_a_renewal_leaves_a_key_and_certificate_that_belong_together"),
];

/// The process ends at a point when it comes there the next time after so often.
fn at(point: &str, passes: u32) -> String {
    if passes == 0 { format!("{point}=return") } else { format!("{point}={passes}*off->return") }
}

/// Two sites with enough to send that it takes several batches.
fn quick(own_seed: u64) -> Federation {
    // Built now, and not while somebody waits for it.
    cognate_failpoints();
    let mut federation = Federation::new(own_seed);
    let trees = trees(&mut federation.dice, 80, 30_000);
    for (name, files) in ["a", "b"].iter().zip(&trees) {
        // Batches come one after the other, and each is answered by itself.
        federation.add_with(name, None, files, "[policy]\nread_bytes_per_second = \"4MB\"\n");
    }
    federation.sandbox.settle();
    federation.start_all();
    federation.check(federation.scan(&MEAN), &MEAN);
    federation
}

fn coordinator_ends_at(own_seed: u64, points: &[(&str, &[u32])]) {
    let mut federation = quick(own_seed);
    let rounds = points.iter().flat_map(|(point, all)| all.iter().map(move |passes| at(point, *passes)));
    for (round, points) in rounds.enumerate() {
        // How many batches wait for one commit is chance: a point may be passed less often than most times.
        let came_by = (0..10).any(|_| ends_at(&mut federation, &points, if round % 2 == 0 { "a" } else { "b" }));
        assert!(came_by, "the coordinator does not come by {points}");
        if round % 4 == 0 {
            let config = federation.coordinator_config();
            let check = ["coordinator", "check", "--read-data", "--config", config.to_str().unwrap()];
            federation.sandbox.cognate(check).expect(0);
        }
    }
}

/// A scan in which the coordinator ends at a point. Answers whether it came by there.
fn ends_at(federation: &mut Federation, points: &str, changed: &str) -> bool {
    for name in federation.names() {
        federation.kill(&name);
    }
    federation.kill_coordinator();
    // Several points come up only where a good part has changed.
    change(federation, changed);
    federation.sandbox.settle();
    // Some points it comes by before it serves.
    let serves = federation.start_coordinator_failing(points);
    if !serves {
        ended_by_itself(federation, points);
    }
    for name in federation.names() {
        federation.start(&name);
    }
    let mut scan = federation.begin_scan(&MEAN);
    wait_until("the coordinator comes by, or the scan is over", || {
        let gone = serves && federation.coordinator().ends_within(Duration::ZERO);
        gone || scan.ends_within(Duration::ZERO)
    });
    let came_by = !serves || federation.coordinator().ends_within(Duration::from_millis(200));
    if serves && came_by {
        ended_by_itself(federation, points);
    }
    federation.check(scan.ended(), &MEAN);
    came_by
}

fn ended_by_itself(federation: &mut Federation, points: &str) {
    let run = federation.take_coordinator().ended();
    assert_eq!(run.signal, Some(6), "{points}: {run:?}");
    federation.start_coordinator();
}

#[test]
fn a_coordinator_that_ends_at_any_point_of_receiving_comes_back_to_the_same_end() {
    coordinator_ends_at(421, SCAN_POINTS);
}

#[test]
fn a_coordinator_that_ends_at_any_point_of_an_analysis_comes_back_to_the_same_end() {
    coordinator_ends_at(423, END_POINTS);
}

#[test]
fn a_worker_that_ends_at_any_point_of_a_sync_goes_on_where_it_was() {
    let mut federation = quick(422);
    for (point, passes) in WORKER_POINTS {
        for points in passes.iter().map(|passes| at(point, *passes)) {
            let came_by = (0..3).any(|_| worker_ends_at(&mut federation, &points));
            assert!(came_by, "the worker does not come by {points}");
        }
    }
    federation.worker("a", &["ledger", "verify"]).expect(0);
}

/// A scan in which a worker ends at a point. Answers whether it came by there.
fn worker_ends_at(federation: &mut Federation, points: &str) -> bool {
    federation.stop("a");
    change(federation, "a");
    federation.sandbox.settle();
    federation.start_failing("a", points);
    let mut scan = federation.begin_scan(&MEAN);
    wait_until("the worker comes by, or the scan is over", || {
        federation.site_mut("a").worker().ends_within(Duration::ZERO) || scan.ends_within(Duration::ZERO)
    });
    let came_by = federation.site_mut("a").worker().ends_within(Duration::from_millis(200));
    if came_by {
        let run = federation.take_worker("a").ended();
        assert_eq!(run.signal, Some(6), "{points}: {run:?}");
        federation.start("a");
    }
    federation.check(scan.ended(), &MEAN);
    came_by
}

#[test]
fn a_coordinator_that_ends_while_it_enrols_a_site_gives_it_the_same_certificate() {
    cognate_failpoints();
    let mut federation = Federation::new(424);
    let files = trees(&mut federation.dice, 10, 3000);
    for ((point, name), files) in [("enroll.after_record", "a"), ("journal.after_append", "b")].iter().zip(&files) {
        federation.prepare_site(name, None, files, "");
        let token = federation.invite(name);
        federation.kill_coordinator();
        federation.start_coordinator_failing(&at(point, 0));
        let run = federation.enroll(name, &token);
        assert_ne!(run.code, Some(0), "{run:?}");
        assert_eq!(federation.take_coordinator().ended().signal, Some(6), "{point}");
        federation.start_coordinator();
        // The invitation is used up, and yet its answer can be had again by who has the key.
        federation.enroll(name, &token).expect(0);
    }
    federation.sandbox.settle();
    federation.start_all();
    federation.check(federation.scan(&[]), &[]);
}

#[test]
fn a_coordinator_whose_record_ends_in_a_panic_does_not_go_on_without_records() {
    cognate_failpoints();
    let mut federation = Federation::new(425);
    for point in ["journal.before_head", "journal.after_append"] {
        federation.kill_coordinator();
        federation.start_coordinator_failing(&format!("{point}=panic"));
        let run = federation.operate(&["site", "invite", point.split_once('.').unwrap().0]);
        assert_ne!(run.code, Some(0), "{run:?}");
        let ended = federation.take_coordinator().ended_anyhow();
        assert!(ended.code == Some(70) && ended.stderr.contains("a bug ended the writing of a record"), "{ended:?}");
        federation.start_coordinator();
        federation.operate(&["site", "invite", "other"]).expect(0);
    }
}

#[test]
fn a_coordinator_that_ends_at_any_point_of_a_compaction_of_the_journal_has_the_same_registry() {
    cognate_failpoints();
    let mut federation = Federation::new(426);
    let files = trees(&mut federation.dice, 10, 3000);
    for (name, files) in ["a", "b"].iter().zip(&files) {
        federation.add(name, files);
    }
    federation.operate(&["site", "invite", "gone"]).expect(0);
    federation.operate(&["site", "revoke", "gone"]).expect(0);
    let patterns: Vec<String> = (0..120).map(|number| format!("{number}{}", "x".repeat(1000))).collect();
    let points: Vec<&str> =
        OTHER_POINTS.iter().filter(|(_, test)| *test == COMPACTION_TEST).map(|(point, _)| *point).collect();
    let journal = federation.coordinator_state().join("journal");
    let length = || std::fs::metadata(&journal).unwrap().len();
    for point in &points {
        // A profile that is saved again and again: most of the journal says nothing any more.
        let mut save = vec!["scan", "profile", "save", "large", "--repositories", "a/main,b/main"];
        patterns.iter().for_each(|pattern| save.extend(["--exclude", pattern]));
        (0..12).for_each(|_| drop(federation.operate(&save).expect(0)));
        federation.stop_coordinator();
        let before = length();
        assert!(before > 1 << 20, "{before}");
        assert!(!federation.start_coordinator_failing(&at(point, 0)), "{point}: it is compacted before it serves");
        assert_eq!(federation.take_coordinator().ended().signal, Some(6), "{point}");
        federation.start_coordinator();
        assert!(length() < before / 4, "{point}: the journal was compacted");
        assert_eq!(federation.member("gone")["status"], "revoked", "{point}");
    }
    let kept = names(&federation.coordinator_state().join("journal.past"));
    assert_eq!(kept.len(), points.len(), "{kept:?}");
    federation.sandbox.settle();
    federation.start_all();
    federation.check(federation.scan(&[]), &[]);
    federation.stop_coordinator();
    let config = federation.coordinator_config();
    let command = |word: &str| federation.sandbox.cognate(["coordinator", word, "--config", config.to_str().unwrap()]);
    command("check").expect(0);
    command("rebuild").expect(0);
    command("check").expect(0);
    federation.start_coordinator();
    assert_eq!(federation.member("gone")["status"], "revoked");
}

#[test]
fn every_point_of_the_sources_is_in_the_tables() {
    let mut points = BTreeSet::new();
    let mut folders: Vec<_> =
        ["coordinator", "durable/src", "worker/src", "cli/src"].map(|folder| workspace().join(folder)).into();
    while let Some(folder) = folders.pop() {
        for path in names(&folder) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("failpoint.rs") {
                let source = std::fs::read_to_string(&path).unwrap();
                let name = |rest: &str| rest.split('"').nth(1).unwrap().to_owned();
                points.extend(source.split("failpoint!(").skip(1).map(name));
            }
        }
    }
    let tables = [SCAN_POINTS, END_POINTS, WORKER_POINTS].concat();
    let tabled: BTreeSet<String> = tables
        .iter()
        .map(|(point, _)| *point)
        .chain(OTHER_POINTS.iter().map(|(point, _)| *point))
        .map(str::to_owned)
        .collect();
    assert_eq!(tabled, points);
}
