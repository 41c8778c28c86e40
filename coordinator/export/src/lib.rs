//! Formats of results, for the command line, the pages and the API.
//!
//! **It promises** that all three write the same bytes for the same result, and that a count, a size, a share and a time are written in one form.
//!
//! **It must not know** terminals, options, sessions, calls or HTTP: it reads results and writes bytes.
//!
//! Read [`mod@format`] first, the list of formats, then [`grid`] and [`lists`]: columns and cells that every format writes, and [`human`]. [`plan`]
//! writes the plan of a site, [`audit`] the auditor's report.

pub mod answer;
pub mod audit;
mod clusters;
pub mod contradicted;
mod csv;
mod error;
pub mod estimated;
pub mod expected;
pub mod filters;
pub mod format;
mod frames;
pub mod grid;
pub mod html;
pub mod human;
mod json;
pub mod legend;
pub mod lines;
pub mod lists;
mod loadfile;
pub mod overlap;
mod partial;
pub mod plan;
pub mod recognised;
mod representative;
pub mod settings;
pub mod show;
pub mod table;
mod text;
mod tree;
mod undecided;
pub mod xlsx;

pub use error::{Error, Result};
pub use format::Format;
