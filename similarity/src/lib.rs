//! Finds contents that share chunks: postings in, links and clusters out.
//!
//! **It promises** exact and deterministic results (tests compare them with a brute-force oracle) within a memory budget, whatever the size of
//! the input.
//!
//! **It must not know** sites, paths, time or the wire: contents are dense numbers, their holders opaque groups. Only its spill folder is on a disk.
//!
//! Read [`analyse()`] first. A *posting* says that a chunk, known by its tag, occurs in a content. Contents that share enough bytes are *linked*;
//! links form *clusters*, and in a cluster *families* have what is truly close. [`fine`] measures pairs by fine chunks.
//!
//! ```
//! use std::num::{NonZeroU32, NonZeroUsize};
//! use std::sync::atomic::AtomicBool;
//!
//! use cognate_fingerprint::Tag;
//! use cognate_similarity::{
//!     ContentIndex, Group, Holders, Holding, Input, MemoryShards, Options, Posting, Thresholds, Monitor, analyse,
//! };
//!
//! // Two contents of 1000 bytes that share a chunk of 900.
//! let chunk = |tag, length_bytes, content| Posting {
//!     tag: Tag([tag; 16]),
//!     length_bytes,
//!     template: false,
//!     content: ContentIndex(content),
//! };
//! let postings = vec![chunk(1, 900, 0), chunk(2, 100, 0), chunk(1, 900, 1), chunk(3, 100, 1)];
//! let mut holders = Holders::new();
//! holders.push([Holding { group: Group(0), copies: 1 }]);
//! holders.push([Holding { group: Group(1), copies: 1 }]);
//! let input = Input { payload_bytes: &[1000, 1000], holders: &holders, levels: &[], across: None };
//! let options = Options {
//!     thresholds: Thresholds { min_shared_bytes: 16384, min_containment: "0.5".parse()? },
//!     memory_budget_bytes: 32 << 20,
//!     threads: NonZeroUsize::MIN,
//!     spill_dir: &std::env::temp_dir(),
//! };
//! let monitor = Monitor { progress: &|_| (), cancelled: &AtomicBool::new(false) };
//! let shards = MemoryShards::new(postings, NonZeroU32::MIN);
//! let analysis = analyse(&shards, &input, &options, &monitor)?;
//! assert_eq!(analysis.clusters[0].links[0].shared_bytes, 900);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod analyse;
mod analysis_file;
mod apart;
mod budget;
mod checked;
mod checksum;
mod cluster;
mod cluster_builder;
mod common_ranks;
mod component;
mod crowds;
mod error;
pub mod fine;
mod forest;
pub mod frame;
mod gather;
mod groups;
mod incremental;
mod input;
mod join;
mod join_row;
mod joiner;
mod link;
mod link_clusters;
mod link_file;
mod link_stats;
mod links;
mod lists;
mod measure;
mod members;
mod monitor;
mod omitted;
mod outstanding;
mod overlap;
mod pair;
mod partition_join;
mod posting;
mod prefix;
mod present;
mod rank;
mod request;
mod run;
mod shape;
mod shards;
mod slices;
mod spanning;
mod spill;
mod tags;
mod threshold;
mod workers;

// The oracle of the tests uses nothing but what is public.
#[cfg(test)]
extern crate self as cognate_similarity;
#[cfg(test)]
#[path = "../tests/support/oracle.rs"]
mod oracle;

pub use analyse::{Analysis, Stats, analyse, analyse_with_links, find_links};
pub use apart::{SharedChunk, TagFacts, analyse_part, find_shared_chunks, prefix_length};
pub use checked::{Binding, CheckedReader, CheckedWriter, StreamKind};
pub use cluster::{
    ANALYSIS_LINKS_MAX, CLUSTER_LINKS_ALL_MAX, CLUSTER_LINKS_PER_MEMBER_MAX, CONTENT_LINKS_MIN, Cluster,
    FAMILY_MEMBERS_MEASURED_MAX, Family,
};
pub use crowds::crowded_tags;
pub use error::{Error, ErrorKind};
pub use gather::{GatherOptions, GatherWriter, GatheredShards};
pub use incremental::{EarlierAnalysis, IncrementalAnalysis, analyse_incrementally};
pub use input::{CONTENTS_MAX, Group, Holders, Holding, Input, Level, Options};
pub use link::Link;
pub use link_clusters::{Clustering, LinkMeasure, cluster_links};
pub use link_file::{LinkFile, LinkReader, LinkWriter};
pub use links::{LinksOptions, SortedLinks, VisitLinks};
pub use measure::{Relation, Resemblance};
pub use monitor::{Monitor, Phase, Progress};
pub use omitted::{OmittedLinks, OmittedOf, STRENGTHS, strength};
pub use overlap::OverlapLevel;
pub use pair::PairMeasure;
pub use posting::{ContentIndex, Posting};
pub use request::LinkSink;
pub use run::{Run, RunReader, RunRecord, RunSummary, SHARDS, WriteRun, merge_runs, write_run};
pub use shape::Shape;
pub use shards::{ContentMap, MemoryShards, RunInput, RunShards, Shards, VisitTag};
pub use spanning::SpanningForest;
pub use spill::SpillFolder;
pub use tags::CROWD_HOLDERS_MIN;
pub use threshold::{Containment, ContainmentError, Thresholds};
