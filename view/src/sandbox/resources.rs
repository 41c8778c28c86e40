//! Resource limits of a process, which the system enforces.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::limits::Limits;

/// Processor time of a child in its life; it is replaced long before. The limit ends one that never stops.
const CPU_SECONDS_MAX: u64 = 3600;

/// Sets the limits; true if all of them are in force.
pub(super) fn limit(limits: &Limits) -> bool {
    let memory = limits.memory_bytes_max;
    let wanted = [
        // Allocated memory only: program and libraries are shared with the worker.
        (Resource::Data, memory),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        (Resource::Cpu, CPU_SECONDS_MAX),
        // Standard input, output and error, the document, and descriptors that the parent inherited.
        (Resource::Nofile, 64),
        (Resource::Nproc, 0),
    ];
    wanted.into_iter().all(|(resource, most)| lower(resource, most))
}

/// Sets the limits of the program that this process becomes; true if all of them are in force.
pub(super) fn limit_program(memory_bytes: u64, seconds: u64) -> bool {
    let limits = [
        (Resource::Data, memory_bytes),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        (Resource::Nofile, 64),
        (Resource::Nproc, 0),
    ];
    let all = limits.into_iter().all(|(resource, most)| lower(resource, most));
    // The first limit ends the program with a signal that has this meaning alone.
    let cpu = Rlimit { current: Some(seconds), maximum: Some(seconds.saturating_add(1)) };
    setrlimit(Resource::Cpu, cpu).is_ok() && all
}

fn lower(resource: Resource, most: u64) -> bool {
    let most = getrlimit(resource).maximum.map_or(most, |before| before.min(most));
    setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) }).is_ok()
}
