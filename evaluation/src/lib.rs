//! The experiments of the papers, repeated with this project's methods on other data.
//!
//! An [`Experiment`] has a name, reads a folder of documents (or generates some), and returns [`Findings`]: tables, figures
//! drawn like the paper's, and a comparison with the paper, finding by finding. [`write()`] writes them into a folder: every
//! number as JSON, each table as CSV, each figure as SVG, and a page to read.
//!
//! Everything but measured time and memory is the same for the same corpus and the same seed. The crate knows nothing of
//! sites or of a federation.

mod broder;
mod broder_web;
mod chunkers;
mod corpus;
mod document;
mod error;
mod experiment;
mod figure;
mod findings;
mod fuzzy;
mod hp2005;
mod in_common;
mod kdd2009;
mod machine;
mod methods;
mod page;
mod pieces;
mod relatives;
mod rng;
mod setting;
mod similarity_index;
mod statistics;
mod svg;
mod synthetic;
mod templates;
mod threads;
mod truth;
mod write;

pub use error::Error;
pub use experiment::{EXPERIMENTS, Experiment};
pub use figure::{Axis, Figure, Panel, Scale, Series, Style};
pub use findings::{Agreement, Cell, Comparison, Findings, Table};
pub use setting::Setting;
pub use write::write;
