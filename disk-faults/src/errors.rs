//! Faults in force: in tests of this process, or of a whole process by its environment.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(all(target_os = "linux", target_env = "gnu"))]
use crate::calls::announce;
use crate::fault::{Armed, Fault};
use crate::observer;

/// The name of the environment variable with the faults of a process, separated by `;`.
pub const VARIABLE: &str = "DISK_FAULTS";

/// A fault in force, until this is dropped.
#[derive(Debug)]
pub struct Injection {
    number: u64,
    fired: Arc<AtomicU64>,
}

impl Injection {
    /// Number of the calls that failed so far.
    pub fn fired(&self) -> u64 {
        self.fired.load(Ordering::Acquire)
    }
}

impl Drop for Injection {
    fn drop(&mut self) {
        observer::remove(|observer| observer.armed.retain(|(number, _)| *number != self.number));
    }
}

/// Makes calls of this process fail.
pub fn inject(fault: Fault) -> Injection {
    arm(fault, None)
}

fn arm(fault: Fault, announce: Option<fn(&str)>) -> Injection {
    let fired = Arc::new(AtomicU64::new(0));
    let armed = Armed::new(fault, Arc::clone(&fired), announce);
    let number = observer::add(|observer, number| observer.armed.push((number, armed)));
    Injection { number, fired }
}

/// Makes calls of this process fail for as long as it runs, as the environment says; each is named on standard error at its first
/// failure.
///
/// # Errors
/// Fails if the variable has something else than faults, or this system cannot have any.
pub fn inject_from_environment() -> Result<(), String> {
    let Ok(faults) = std::env::var(VARIABLE) else { return Ok(()) };
    if !crate::IS_SUPPORTED {
        return Err(format!("{VARIABLE} has no effect on this system"));
    }
    for fault in faults.split(';').filter(|fault| !fault.is_empty()) {
        std::mem::forget(arm(fault.parse()?, Some(announce)));
    }
    Ok(())
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn announce(_: &str) {}

/// Paths below a folder that match a pattern.
pub fn below(folder: &Path, files: &str) -> String {
    // The kernel names files by their path without links.
    let folder: PathBuf = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    format!("{}/{files}", folder.display())
}

/// Has calls to the disk on threads that run tasks told on standard error, as the environment says (`waiting.rs`).
pub fn watch_from_environment() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if let Ok(part) = std::env::var(crate::waiting::VARIABLE) {
        crate::waiting::watch(part, announce);
        // Calls are looked at only while somebody waits for them.
        observer::add(|_, _| {});
    }
}

#[cfg(test)]
mod tests;
