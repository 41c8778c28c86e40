//! Lines that are long, thin, closed on one side, or come and go for long.

use std::time::{Duration, Instant};

use cognate_integration_tests::proxy::{Way, Weather};
use cognate_integration_tests::sandbox::wait_within;
use cognate_integration_tests::{Federation, Files};

/// Many small chunks, so that there is something to send.
const MEAN: [&str; 2] = ["--chunk-bytes", "80"];

/// Sites with so many bytes of documents each.
fn federation(own_seed: u64, sites: &[&str], bytes: usize) -> Federation {
    let mut federation = Federation::new(own_seed);
    for name in sites {
        let files: Files = (0..10).map(|number| (number.to_string(), federation.dice.bytes(bytes / 10))).collect();
        federation.add(name, &files);
    }
    federation.sandbox.settle();
    federation.start_all();
    federation
}

#[test]
fn a_round_trip_of_a_fifth_of_a_second_costs_no_round_trip_for_each_batch() {
    let federation = federation(1501, &["a"], 8_000_000);
    let line = federation.site("a").line();
    line.set(Weather { latency: Duration::from_millis(100), ..Weather::default() });
    let (before, began) = (line.bytes(Way::Up), Instant::now());
    federation.check(federation.scan(&MEAN), &MEAN);
    let (sent, took) = (line.bytes(Way::Up) - before, began.elapsed());
    // With one batch of 256 KiB under way, each would wait for its answer: 1.3 MB a second at the very most, and without its reading.
    let batches = sent / (256 << 10);
    assert!(batches >= 6, "{sent} bytes say nothing");
    println!("{sent} bytes in {took:?}");
    assert!(took < Duration::from_secs(30), "{sent} bytes in {took:?}");
}

#[test]
fn a_line_of_256_kilobits_a_second_gets_everything_across() {
    let federation = federation(1502, &["a"], 900_000);
    federation.site("a").line().set(Weather { bytes_per_second: Some(32_000), ..Weather::default() });
    let began = Instant::now();
    federation.check(federation.scan(&MEAN), &MEAN);
    assert!(began.elapsed() > Duration::from_secs(3), "the line is not slow: {:?}", began.elapsed());
}

#[test]
fn a_line_that_is_closed_on_one_side_is_made_anew() {
    let mut federation = federation(1503, &["a"], 400_000);
    for way in [Way::Up, Way::Down] {
        let line = federation.site("a").line();
        let made = line.connections();
        line.close(way);
        cognate_integration_tests::sandbox::wait_within(Duration::from_secs(90), "the site dials again", || {
            federation.site("a").line().connections() > made
        });
        let more = federation.dice.bytes(5000);
        std::fs::write(federation.site("a").folder().join(format!("{way:?}")), more).unwrap();
        federation.sandbox.settle();
        federation.check(federation.scan(&MEAN), &MEAN);
    }
}

#[test]
fn lines_of_four_sites_that_come_and_go_one_after_the_other_get_everything_across() {
    let mut federation = federation(1504, &["a", "b", "c", "d"], 1_500_000);
    let mut scan = federation.begin_scan(&MEAN);
    let mut cuts = 0;
    // Half a minute at most: each is cut off for a while, the next before it is back.
    while cuts < 60 && !scan.ends_within(Duration::from_millis(100)) {
        let name = ["a", "b", "c", "d"][cuts % 4];
        federation.site(name).line().set(Weather { refuse: true, ..Weather::default() });
        federation.site(name).line().cut();
        let earlier = *federation.dice.pick(&["a", "b", "c", "d"]);
        federation.site(earlier).line().heal();
        cuts += 1;
    }
    federation.names().iter().for_each(|name| federation.site(name).line().heal());
    assert!(cuts > 2, "the scan was over before anything happened");
    federation.check(scan.ended(), &MEAN);
}

#[test]
#[ignore = "it waits for more than a minute: `.ci/nightly slow`"]
fn a_line_that_forgets_silent_connections_keeps_those_of_sites_that_have_nothing_to_say() {
    let federation = Federation::of(1621, 2, 20);
    let line = federation.site("a").line();
    line.set(Weather { forgets_after: Some(Duration::from_secs(30)), ..Weather::default() });
    let made = line.connections();
    let began = std::time::Instant::now();
    let passed = || began.elapsed() > Duration::from_secs(70);
    wait_within(Duration::from_secs(120), "more than twice that time has passed", passed);
    assert_eq!(federation.member("a")["attached"], true);
    assert_eq!(line.connections(), made, "the session is the same");
    federation.check(federation.scan(&[]), &[]);
}
