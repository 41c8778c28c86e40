//! The machine that an experiment runs on: its clock, and how much memory this process has taken.

use std::fs;
use std::time::Instant;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Seconds since it was started.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

/// Processor time of this thread since it was started: what else runs on the machine does not count.
pub(crate) struct ProcessorWatch {
    before: Timespec,
}

impl ProcessorWatch {
    pub(crate) fn start() -> ProcessorWatch {
        ProcessorWatch { before: clock_gettime(ClockId::ThreadCPUTime) }
    }

    pub(crate) fn seconds(&self) -> f64 {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        (now.tv_sec - self.before.tv_sec) as f64 + (now.tv_nsec - self.before.tv_nsec) as f64 / 1e9
    }
}

/// The memory that a step of an experiment takes.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Memory {
    /// Resident when it began: the program, and what earlier steps have left.
    pub(crate) before_mib: Option<f64>,
    /// The most that was resident meanwhile.
    pub(crate) peak_mib: Option<f64>,
}

impl Memory {
    /// A step begins.
    pub(crate) fn begin() -> Memory {
        // Where the system cannot begin anew, peaks are those of the whole run so far: too high, never too low.
        let _ = fs::write("/proc/self/clear_refs", "5");
        Memory { before_mib: status("VmRSS:"), peak_mib: None }
    }

    /// It has ended.
    pub(crate) fn end(self) -> Memory {
        Memory { peak_mib: status("VmHWM:"), ..self }
    }

    /// What the step has added.
    pub(crate) fn added_mib(&self) -> Option<f64> {
        Some((self.peak_mib? - self.before_mib?).max(0.0))
    }
}

/// A line of what the system tells of this process, in MiB. Nothing where it does not tell.
fn status(name: &str) -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib / 1024.0)
}
