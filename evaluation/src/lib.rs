//! The laboratory: the experiments of the papers, repeated with this project's methods on other data.
//!
//! **It promises** the same numbers for the same corpus and seed, but for time and memory, and a truth that does not come from the methods under
//! test.
//!
//! **It must not know** sites or a federation.
//!
//! Read [`Experiment`] first: a name, and a function from a folder of documents to [`Findings`]. [`write()`] makes JSON, CSV, SVG and a page of
//! them. `evaluation/README.md` has what came of each.

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
mod only_here;
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
