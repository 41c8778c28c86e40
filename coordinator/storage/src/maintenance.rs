//! What is done to the state as a whole: opened, made anew, checked, saved, brought back, thrown away.

mod backup;
mod check;
mod forget;
mod rebuild;
mod space;

pub use self::backup::{BackupOptions, Saved, backup, restore};
pub use self::check::{CheckOptions, CheckResult, Checked, Finding, check};
pub use self::forget::{Keeping, Retention};
pub use self::rebuild::open;
pub use self::rebuild::{Rebuilt, rebuild};

pub use self::space::space;

#[cfg(test)]
mod tests;
