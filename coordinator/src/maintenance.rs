//! What is done to the state as a whole: opened, made anew, checked, saved, brought back, thrown away.

mod rebuild;

pub(crate) use self::rebuild::open;
pub use self::rebuild::{Rebuilt, rebuild};
