//! Measurements on the machine: time, and the memory of this process.

use std::fs;
use std::time::Instant;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Measures the seconds since its start.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

/// Measures processor time since its start: other programs do not count.
pub(crate) struct ProcessorWatch {
    clock: ClockId,
    start: Timespec,
}

impl ProcessorWatch {
    /// That of this thread.
    pub(crate) fn start() -> ProcessorWatch {
        ProcessorWatch::with(ClockId::ThreadCPUTime)
    }

    /// That of all threads of the process together.
    pub(crate) fn of_all_threads() -> ProcessorWatch {
        ProcessorWatch::with(ClockId::ProcessCPUTime)
    }

    fn with(clock: ClockId) -> ProcessorWatch {
        ProcessorWatch { clock, start: clock_gettime(clock) }
    }

    pub(crate) fn seconds(&self) -> f64 {
        let now = clock_gettime(self.clock);
        (now.tv_sec - self.start.tv_sec) as f64 + (now.tv_nsec - self.start.tv_nsec) as f64 / 1e9
    }
}

/// The memory that a step of an experiment takes.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Memory {
    /// The resident memory at the start: the program, and the rest of earlier steps.
    pub(crate) before_mib: Option<f64>,
    /// The greatest resident memory since then.
    pub(crate) peak_mib: Option<f64>,
}

impl Memory {
    /// Begins a step.
    pub(crate) fn begin() -> Memory {
        // If the system cannot reset the peak, it is that of the whole run so far: too high, never too low.
        let _ = fs::write("/proc/self/clear_refs", "5");
        Memory { before_mib: status("VmRSS:"), peak_mib: None }
    }

    /// Ends the step.
    pub(crate) fn end(self) -> Memory {
        Memory { peak_mib: status("VmHWM:"), ..self }
    }

    /// The memory that the step has added, in MiB.
    pub(crate) fn added_mib(&self) -> Option<f64> {
        Some((self.peak_mib? - self.before_mib?).max(0.0))
    }
}

/// The greatest resident memory of a process so far, in MiB; `None` if it has ended or the system does not provide it.
pub(crate) fn peak_mib_of(process: u32) -> Option<f64> {
    value(&process.to_string(), "VmHWM:")
}

/// A value of the system's status of this process, in MiB; `None` if the system does not provide it.
fn status(name: &str) -> Option<f64> {
    value("self", name)
}

fn value(process: &str, name: &str) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_takes_memory_shows_it() {
        let memory = Memory::begin();
        let bytes = vec![1_u8; 64 << 20];
        let memory = memory.end();
        assert_eq!(bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>(), 64 << 20);
        // Systems without this status have no figure.
        assert!(memory.added_mib().is_none_or(|added| added > 32.0), "{memory:?}");
        let memory = Memory { before_mib: Some(10.0), peak_mib: Some(7.0) };
        assert_eq!(memory.added_mib(), Some(0.0));
        assert_eq!(Memory::default().added_mib(), None);
    }

    #[test]
    fn watches_do_not_run_backwards() {
        let (watch, processor) = (Stopwatch::start(), ProcessorWatch::start());
        let (first, used) = (watch.seconds(), processor.seconds());
        assert!(watch.seconds() >= first && processor.seconds() >= used && used >= 0.0);
    }
}
