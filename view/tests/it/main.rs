//! Documents as they come: through children, out of archives, and hostile ones.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod archives;
mod damage;
mod fuzz;
mod hostile;
mod make;
mod pool;
mod reader;
mod recognise;
