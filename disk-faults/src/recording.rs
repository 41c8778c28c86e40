//! Recordings under way.

use std::path::Path;

use crate::observer;
use crate::power::CrashStates;
use crate::recorder::Recorder;

/// A recording under way; it ends when it is dropped.
#[derive(Debug)]
pub struct Recording(u64);

/// Begins to record the calls to the files below a folder.
///
/// # Errors
/// Fails if the folder cannot be read.
pub fn record(folder: &Path) -> std::io::Result<Recording> {
    let recorder = Recorder::begin(folder)?;
    Ok(Recording(observer::add(|observer, number| observer.recorders.push((number, recorder)))))
}

impl Recording {
    /// Notes that something was acknowledged, from this call on.
    pub fn mark(&self, what: u64) {
        for (number, recorder) in &mut observer::lock().recorders {
            if *number == self.0 {
                recorder.mark(what);
            }
        }
    }

    /// Ends it, and answers the folders that a loss of power may leave.
    pub fn finish(self) -> CrashStates {
        let number = self.0;
        std::mem::forget(self);
        let recorder = observer::remove(|observer| {
            let place = observer.recorders.iter().position(|(one, _)| *one == number);
            place.map(|place| observer.recorders.swap_remove(place).1)
        });
        recorder.map(Recorder::into_states).unwrap_or_default()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        observer::remove(|observer| observer.recorders.retain(|(number, _)| *number != self.0));
    }
}
