//! Work on the entire state: open, rebuild, check, back up, restore, expire.

mod backup;
mod check;
mod forget;
mod rebuild;
mod space;

pub use self::backup::{BackupOptions, RestoreOptions, Restored, Saved, backup, code_of, restore};
pub use self::check::{CheckOptions, CheckResult, Checked, Finding, RecordedResult, ResultProblem, check};
pub use self::forget::{Keeping, Retention, drop_part};
pub use self::rebuild::open;
pub use self::rebuild::{Rebuilt, rebuild, rebuild_with_loss};

pub use self::space::space;

#[cfg(test)]
mod tests;
