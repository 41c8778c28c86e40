//! Output formats of results: the fourth floor of a coordinator, used by the command line, the pages and the API alike.
//!
//! [`mod@format`] lists the formats of a report. Lists are columns and cells ([`grid`], [`lists`]) that every format writes;
//! [`human`] has the one way to write a count, a size, a share, a time. [`plan`] writes the plan of a site, [`audit`] the
//! auditor's report, [`stored_query`] a watch and a case for programs.
//!
//! This crate reads results and writes bytes. It knows nothing of terminals, options, sessions, calls, or HTTP.

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
pub mod plan;
pub mod recognised;
mod representative;
pub mod settings;
pub mod show;
pub mod stored_query;
pub mod table;
mod text;
mod tree;
pub mod xlsx;

pub use error::{Error, Result};
pub use format::Format;
