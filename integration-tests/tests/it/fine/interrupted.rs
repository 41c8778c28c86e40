//! Scans whose sites are slow, away, paused or killed while they send fine chunks.

use std::time::Duration;

use cognate_integration_tests::proxy::{Way, Weather};
use cognate_integration_tests::sandbox::{wait_until, wait_within};
use cognate_integration_tests::tree::of_versions;
use cognate_integration_tests::{Federation, Running};
use serde_json::Value;

/// Two sites with versions of so many documents, of which each site sends about 9 kB of fine chunks. The line of `b` carries so many bytes
/// a second.
fn federation(own_seed: u64, documents: usize, bytes_per_second: u64) -> Federation {
    let mut federation = Federation::new(own_seed);
    let [a, b] = of_versions(&mut federation.dice, documents);
    federation.add("a", &a);
    federation.add("b", &b);
    federation.sandbox.settle();
    federation.start_all();
    federation.site("b").line().set(Weather { bytes_per_second: Some(bytes_per_second), ..Weather::default() });
    federation
}

/// The only scan, as `scan show` has it.
fn shown(federation: &Federation) -> Value {
    let scans = federation.operate(&["scan", "list", "--format", "json"]).expect(0).json();
    let Some(id) = scans[0]["id"].as_str() else { return Value::Null };
    federation.operate(&["scan", "show", id, "--format", "json"]).expect(0).json()
}

/// The row of a site in it.
fn row(federation: &Federation, site: &str) -> Value {
    let shown = shown(federation);
    let rows = shown["repositories"].as_array().cloned().unwrap_or_default();
    rows.into_iter().find(|row| row["site"] == site).unwrap_or_default()
}

/// Waits until a part of the fine chunks of `b` has come.
fn wait_for_part(federation: &Federation, scan: &mut Running, percent: u64) {
    wait_within(Duration::from_secs(120), "a part of the fine chunks has come", || {
        assert!(!scan.ends_within(Duration::from_millis(50)), "the scan was over before anything happened");
        let row = row(federation, "b");
        let count = |field: &str| row[field].as_u64().unwrap_or(0);
        count("fine_chunks") > 0 && 100 * count("fine_chunks_done") > percent * count("fine_chunks")
    });
}

fn sent_bytes(federation: &Federation) -> u64 {
    super::fine_bytes(federation, "b").unwrap()
}

#[test]
fn a_line_that_is_cut_after_every_150_kilobytes_gets_all_fine_chunks_across() {
    let federation = federation(1130, 120, 400_000);
    let mut scan = federation.begin_scan(&[]);
    wait_for_part(&federation, &mut scan, 0);
    let line = federation.site("b").line();
    line.cut_after(Way::Up, [150_000; 40]);
    line.cut();
    federation.check(scan.ended_within(Duration::from_secs(180)), &[]);
    assert!(line.cuts_left() <= 36, "{} cuts left of 40", line.cuts_left());
}

#[test]
fn what_a_site_has_sent_is_not_asked_again_if_the_coordinator_is_killed() {
    let [undisturbed, mut disturbed] = [0; 2].map(|_| federation(1131, 240, 400_000));
    undisturbed.check(undisturbed.scan(&[]), &[]);
    let mut scan = disturbed.begin_scan(&[]);
    wait_for_part(&disturbed, &mut scan, 70);
    disturbed.kill_coordinator();
    disturbed.start_coordinator();
    disturbed.check(scan.ended_within(Duration::from_secs(180)), &[]);
    let [of_one, of_both] = [&undisturbed, &disturbed].map(sent_bytes);
    // What is under way when it is killed is sent again: a few tables of 100 kB.
    assert!(of_both < of_one * 135 / 100, "{of_both} bytes in place of {of_one}");
    disturbed.worker("b", &["ledger", "verify"]).expect(0);
}

#[test]
fn a_site_that_goes_away_is_waited_for_and_named_and_changes_nothing_when_it_is_back() {
    let mut federation = federation(1132, 120, 400_000);
    let mut scan = federation.begin_scan(&[]);
    wait_for_part(&federation, &mut scan, 0);
    federation.kill("b");
    wait_until("the scan says whom it waits for", || row(&federation, "b")["waiting"] == "the site is not attached");
    let text = federation.operate(&["scan", "show", shown(&federation)["id"].as_str().unwrap()]).expect(0);
    assert!(text.text().contains("finer chunks, the site is not attached"), "{}", text.text());
    federation.start("b");
    federation.check(scan.ended_within(Duration::from_secs(180)), &[]);
}

#[test]
fn a_site_that_pauses_is_waited_for_and_changes_nothing_when_it_goes_on() {
    let federation = federation(1133, 120, 400_000);
    let mut scan = federation.begin_scan(&[]);
    wait_for_part(&federation, &mut scan, 0);
    federation.worker("b", &["pause"]).expect(0);
    wait_until("the scan says why it waits", || row(&federation, "b")["waiting"] == "the site is paused");
    federation.worker("b", &["resume"]).expect(0);
    federation.check(scan.ended_within(Duration::from_secs(180)), &[]);
}

#[test]
fn a_site_that_is_slow_at_the_deadline_makes_the_result_partial() {
    let federation = federation(1134, 120, 400_000);
    let mut scan = federation.begin_scan(&["--sync-deadline", "15s"]);
    wait_for_part(&federation, &mut scan, 0);
    federation.site("b").line().set(Weather { bytes_per_second: Some(1000), ..Weather::default() });
    let report = scan.ended_within(Duration::from_secs(120)).expect(3).json();
    assert_eq!(report["scan"]["status"], "partial");
    let incomplete = report["scan"]["fine"]["incomplete"].as_array().unwrap();
    assert_eq!((incomplete.len(), &incomplete[0]["site"]), (1, &"b".into()));
    let reason = incomplete[0]["reason"].as_str().unwrap();
    assert_eq!(reason, "it did not come within 15 seconds: the site is slow");
    assert_eq!(shown(&federation)["status"], "partial");
}

#[test]
fn a_site_that_is_away_at_the_deadline_fails_a_scan_that_must_be_complete() {
    let mut federation = federation(1135, 120, 400_000);
    let mut scan = federation.begin_scan(&["--sync-deadline", "15s", "--require-complete"]);
    wait_for_part(&federation, &mut scan, 0);
    federation.kill("b");
    let error = scan.ended_within(Duration::from_secs(120)).expect(1).stderr;
    assert!(error.contains("requires all sites, and b/kb") && error.contains("not attached"), "{error}");
}
