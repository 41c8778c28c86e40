//! The papers' own experiments, run again with this project's methods on data that is at hand.
//!
//! An [`Experiment`] has a name, reads a folder of documents (or makes its own), and gives [`Findings`]: tables, figures
//! drawn like the paper's, and a comparison with the paper, finding by finding. [`write()`] puts all of it into a folder:
//! every number as JSON, each table as CSV, each figure as SVG, and a page that one can read.
//!
//! Everything but measured time and memory is the same for the same corpus and the same seed. Nothing here knows of sites
//! or of a federation.

mod broder;
mod broder_web;
mod chunkers;
mod corpus;
mod dice;
mod error;
mod experiment;
mod figure;
mod findings;
mod fuzzy;
mod hp2005;
mod kdd2009;
mod machine;
mod methods;
mod page;
mod relatives;
mod similarity_index;
mod statistics;
mod svg;
mod synthetic;
mod threads;
mod truth;
mod write;

pub use error::Error;
pub use experiment::{EXPERIMENTS, Experiment, Setting};
pub use figure::{Axis, Figure, Panel, Scale, Series, Style};
pub use findings::{Agreement, Cell, Comparison, Findings, Table};
pub use write::write;
