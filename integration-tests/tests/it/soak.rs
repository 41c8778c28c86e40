//! The soak in short: the long one is `cargo run -p cognate-integration-tests --bin soak`.

use std::time::Duration;

use cognate_integration_tests::soak::{Size, draw, run};

#[test]
fn a_short_soak_counts_what_processes_use_and_ends_with_whole_records() {
    let size = Size { sites: 6, hostile: 0, samples: 3, interval: Duration::from_millis(1), keep_scans: "15m" };
    let mut lines = Vec::new();
    let samples = run(1301, size, &mut lines).unwrap();
    for sample in &samples {
        for used in [sample.coordinator, sample.workers] {
            assert!(used.memory_bytes > 1 << 20 && used.open_files > 5 && used.disk_bytes > 1000, "{sample:?}");
        }
    }
    assert_eq!((samples.len(), samples[2].scans, samples[2].compared), (3, 3, 1));
    assert_eq!(String::from_utf8(lines).unwrap().lines().count(), 3);
    assert!(draw(&samples, "a short soak").contains("<polyline"));
}
