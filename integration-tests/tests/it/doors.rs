//! The doors of a coordinator under attack: peers that are slow, silent or greedy, and an honest neighbour beside them.
//!
//! Each test asserts ceilings on the memory, the threads and the descriptors of the coordinator, and on the time that the
//! neighbour waits. They are generous: the machine may be slow and busy.

mod client;
mod disk;
mod grpc;
mod http;
mod quotas;
mod sites;
mod streams;

use std::time::{Duration, Instant};

use cognate_integration_tests::Federation;
use cognate_integration_tests::federation::text;

/// The longest time that an honest neighbour waits for an answer under attack.
const PATIENCE: Duration = Duration::from_secs(10);

/// The resources that a process uses.
#[derive(Debug)]
struct Use {
    memory_bytes: u64,
    threads: u64,
    descriptors: u64,
}

impl Use {
    /// The use of the coordinator now.
    fn of(federation: &mut Federation) -> Use {
        let process = format!("/proc/{}", federation.coordinator().id());
        let status = std::fs::read_to_string(format!("{process}/status")).unwrap();
        let number = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
            line.split_whitespace().next().unwrap().parse::<u64>().unwrap()
        };
        let descriptors = std::fs::read_dir(format!("{process}/fd")).unwrap().count() as u64;
        Use { memory_bytes: number("VmRSS:") << 10, threads: number("Threads:"), descriptors }
    }

    /// Checks that the coordinator uses at most so much more than before.
    #[track_caller]
    fn at_most_above(&self, before: &Use, memory_bytes: u64, threads: u64, descriptors: u64) {
        tell(&format!("{before:?}, then {self:?}"));
        assert!(self.memory_bytes <= before.memory_bytes + memory_bytes, "memory: {before:?}, then {self:?}");
        assert!(self.threads <= before.threads + threads, "threads: {before:?}, then {self:?}");
        assert!(self.descriptors <= before.descriptors + descriptors, "descriptors: {before:?}, then {self:?}");
    }
}

/// A coordinator that serves with further lines of configuration.
fn configured(own_seed: u64, lines: &str) -> Federation {
    let mut federation = Federation::prepared(own_seed);
    let config = std::fs::read_to_string(federation.coordinator_config()).unwrap();
    std::fs::write(federation.coordinator_config(), config + lines).unwrap();
    federation.init();
    federation.start_coordinator();
    federation
}

/// Something that the honest neighbour does, within its patience.
#[track_caller]
fn soon<T>(what: &str, act: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let done = act();
    tell(&format!("{what}: {:.2} s", began.elapsed().as_secs_f64()));
    assert!(began.elapsed() < PATIENCE, "{what} took {:?}", began.elapsed());
    done
}

/// A figure, which `--nocapture` shows.
#[expect(clippy::print_stderr, reason = "the harness shows it on request, and with a failure")]
fn tell(figure: &str) {
    eprintln!("{figure}");
}

/// The health check of a container, as the image runs it.
#[track_caller]
fn is_healthy(federation: &Federation) {
    let config = federation.coordinator_config();
    soon("the health check", || {
        federation.sandbox.cognate(["coordinator", "health", "--config", text(&config)]).expect(0);
    });
}
