//! Disks that fail, for tests. No program that is shipped contains this crate.
//!
//! **It promises** that every call to the disk (`write`, `fsync`, `open`, `rename`, ...) of a linked program, also one in a library of others, goes
//! through `calls.rs`, which comes before the C library; and that files outside of the folders that a test names are left alone.
//!
//! **It must not know** what any file is for.
//!
//! Read [`errors`] first: the n-th call to a file fails, is slow, or hangs. [`recording`] records calls, [`power`] makes of them the folders that
//! a loss of power may leave, [`waiting`] reports calls on threads that run asynchronous tasks.

pub mod call;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod calls;
pub mod errors;
mod fault;
mod observer;
mod operation;
pub mod power;
mod recorder;
pub mod recording;
pub mod waiting;

pub use self::call::Call;
pub use self::errors::{Injection, inject};
pub use self::fault::{Disk, Fault, HANG, SLOW};
pub use self::operation::Operation;
pub use self::power::{CrashStates, State};
pub use self::recording::{Recording, record};

/// True if this build sees calls at all: on other systems than Linux with glibc it does not.
pub const IS_SUPPORTED: bool = cfg!(all(target_os = "linux", target_env = "gnu"));
