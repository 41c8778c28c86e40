//! Measures a scan of two sites over emulated lines: `lines [DOCUMENTS]` prints, for each line, the seconds of the scan, the bytes of the site
//! that sent more, the seconds that they take at the rate of the line, and the seconds of the same scan without a line.
//! `COGNATE_TEST_BINARIES` names a folder with release binaries.
//!
//! The documents are versions of each other with an edit in every chunk, so that nearly all bytes that are sent are fine chunks.

use std::time::{Duration, Instant};

use cognate_integration_tests::Federation;
use cognate_integration_tests::proxy::{Way, Weather};
use cognate_integration_tests::tree::of_versions;

/// A line: its name, bits a second, the delay each way, and the part of the documents that are sent over it.
struct Line {
    name: &'static str,
    bits_per_second: u64,
    delay_ms: u64,
    part: usize,
    forgets_after: Option<Duration>,
}

const LINES: [Line; 5] = [
    Line { name: "100 Mbit/s, 300 ms", bits_per_second: 100_000_000, delay_ms: 150, part: 1, forgets_after: None },
    Line { name: "10 Mbit/s, 40 ms", bits_per_second: 10_000_000, delay_ms: 20, part: 1, forgets_after: None },
    Line { name: "1 Mbit/s, 40 ms", bits_per_second: 1_000_000, delay_ms: 20, part: 4, forgets_after: None },
    Line { name: "256 kbit/s, 100 ms", bits_per_second: 256_000, delay_ms: 50, part: 4, forgets_after: None },
    Line {
        name: "1 Mbit/s, forgets after 20 s",
        bits_per_second: 1_000_000,
        delay_ms: 20,
        part: 4,
        forgets_after: Some(Duration::from_secs(20)),
    },
];

fn federation(documents: usize) -> Federation {
    let mut federation = Federation::new(1);
    let [a, b] = of_versions(&mut federation.dice, documents);
    federation.add("a", &a);
    federation.add("b", &b);
    federation.sandbox.settle();
    federation.start_all();
    federation
}

/// The seconds of a scan over a line, and the bytes of the site that sent more.
fn scan(documents: usize, weather: &Weather) -> (f64, u64) {
    let federation = federation(documents);
    let lines = ["a", "b"].map(|name| federation.site(name).line());
    lines.iter().for_each(|line| line.set(weather.clone()));
    let before = lines.map(|line| line.bytes(Way::Up));
    let began = Instant::now();
    federation.begin_scan(&[]).ended_within(Duration::from_secs(3600)).expect(0);
    let seconds = began.elapsed().as_secs_f64();
    let sent = lines.iter().zip(before).map(|(line, before)| line.bytes(Way::Up) - before);
    (seconds, sent.max().unwrap_or(0))
}

#[expect(clippy::print_stdout, reason = "it is a program")]
fn main() {
    let documents = std::env::args().nth(1).and_then(|number| number.parse().ok()).unwrap_or(1200);
    println!("{:<30} {:>9} {:>9} {:>9} {:>9} {:>9}", "LINE", "DOCUMENTS", "MB", "IDEAL s", "NO LINE s", "SCAN s");
    for Line { name, bits_per_second, delay_ms, part, forgets_after } in LINES {
        let weather = Weather {
            bytes_per_second: Some(bits_per_second / 8),
            latency: Duration::from_millis(delay_ms),
            forgets_after,
            ..Weather::default()
        };
        let (without, _) = scan(documents / part, &Weather::default());
        let (seconds, sent) = scan(documents / part, &weather);
        let (megabytes, ideal) = (sent as f64 / 1e6, 8.0 * sent as f64 / bits_per_second as f64);
        println!("{name:<30} {:>9} {megabytes:>9.2} {ideal:>9.1} {without:>9.1} {seconds:>9.1}", documents / part);
    }
}
