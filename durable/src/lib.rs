//! Files that survive a crash.
//!
//! **It promises** that a [`log`] has all records that were synced, and finds the rest of one that was being written; and that a [`whole`] file has
//! its old or its new content. A [`private`] one can be read by its owner alone.
//!
//! **It must not know** the content of any file.
//!
//! Read [`log`] first. [`closing`] is for things of libraries that may panic as they are closed; [`failpoint!`] is a point at which tests cause a crash.

pub mod closing;
pub mod failpoint;
pub mod log;
pub mod private;
pub mod whole;
