//! Disks that fail, for tests. No program that is shipped contains this crate.
//!
//! A program that is linked with it makes its calls to the disk (`write`, `fsync`, `open`, `rename`, ...) through
//! `calls.rs`, which comes before the C library. So every writer is covered, also the ones in other people's crates, and no
//! code of the product knows of it. It does four things:
//!
//! - [`errors`]: the n-th call of a kind to a file fails with ENOSPC, EIO or another error, is slow, or hangs;
//! - [`recording`]: the calls to the files of a folder are recorded;
//! - [`power`]: from recorded calls, the folders that a loss of power may leave;
//! - [`waiting`]: calls on threads that run tasks of an asynchronous runtime are told.
//!
//! It does nothing for files outside of the folders that a test names.

pub mod call;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod calls;
pub mod dice;
pub mod errors;
mod fault;
mod observer;
mod operation;
pub mod power;
mod recorder;
pub mod recording;
pub mod waiting;

pub use self::call::Call;
pub use self::dice::Dice;
pub use self::errors::{Injection, inject};
pub use self::fault::{Disk, Fault, HANG, SLOW};
pub use self::operation::Operation;
pub use self::power::{CrashStates, State};
pub use self::recording::{Recording, record};

/// True if this build sees calls at all: on other systems than Linux with glibc it does not.
pub const IS_SUPPORTED: bool = cfg!(all(target_os = "linux", target_env = "gnu"));
