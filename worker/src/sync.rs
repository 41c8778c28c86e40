//! Floor 5: a sync brings the coordinator's index of one repository under one method up to date.
//!
//! - [`job`]: a checked request for a sync, its progress and its outcome.
//! - [`syncs`]: carries jobs out: connects walk, readers and collector, and starts again after a loss.
//! - [`read_stage`]: the readers, which execute the first step of the [plan](crate::plan), in the threads of [`readers`], and hand over
//!   a [`read_outcome`] for each document.
//! - [`collect`]: the collector, which executes the rest with [`index_sender`] and [`memory`].
//! - [`in_flight`] and [`inside_share`]: bounds on the documents inside of other documents: on their way, and in the index.
//! - [`refine`]: the documents that a refinement chose. [`estimate`], [`hash_search`], [`fine`] (with [`listed`]),
//!   [`measure`]: answers without a sync.
//! - [`office`]: the office files that a sync of bytes finds, for the sync of their text.
//! - [`stopped`]: the reasons why an attempt ends early.

pub(crate) mod collect;
pub(crate) mod estimate;
pub(crate) mod fine;
pub(crate) mod hash_search;
mod in_flight;
mod index_sender;
mod inside_share;
pub(crate) mod job;
mod listed;
pub(crate) mod measure;
mod memory;
pub(crate) mod office;
mod read_outcome;
mod read_stage;
mod readers;
pub(crate) mod refine;
mod stopped;
pub(crate) mod syncs;
