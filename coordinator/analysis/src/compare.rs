//! The analysis of a frozen set: from nothing, or from what the latest scan of the same kind found.
//!
//! Links go through spill files into the scan's `links`; clusters and overlap come back in memory, which their size allows.

use std::path::Path;

use cognate_proto::options::Engine;
use cognate_similarity::{
    Analysis, Binding, EarlierAnalysis, LinkWriter, LinksOptions, Monitor, Options, Phase, Progress, RunShards,
    SortedLinks, SpillFolder, Thresholds, analyse_incrementally, analyse_with_links,
};

use crate::checkpoint::Checkpoint;
use crate::error::Error;
use crate::spark::{Spark, SparkOutcome};
use crate::spec::ScanJob;
use crate::subject::Subject;

/// Contents for each one that has come, gone or changed: if more have, an analysis from nothing costs no more.
const CHANGED_SHARE: usize = 4;

/// An analysis to carry out.
pub(crate) struct Task<'a> {
    pub(crate) subject: &'a Subject<'a>,
    pub(crate) scan: &'a ScanJob,
    pub(crate) layer: usize,
    /// Thresholds of a link.
    pub(crate) thresholds: Thresholds,
    pub(crate) spill_dir: &'a Path,
    /// True if the links must survive a loss of power.
    pub(crate) durable: bool,
    pub(crate) progress: &'a (dyn Fn(u64, u64) + Sync),
    /// The clusters elsewhere.
    pub(crate) spark: &'a Spark,
}

impl Task<'_> {
    /// Finds clusters and overlap, and writes the links that the engine reports to the checkpoint.
    pub(crate) fn analyse(&self, base: Option<&Checkpoint>, into: &Checkpoint) -> Result<Analysis, Error> {
        let mut links = into.link_writer()?;
        let begun = base.map(|base| self.again(base, &mut links)).transpose()?.flatten();
        let analysis = match (begun, self.scan.spec.options.engine) {
            (Some(analysis), _) => analysis,
            (None, Engine::Native) => self.everything(&self.subject.frozen.shards, &mut links)?,
            (None, Engine::Spark) => self.everything_elsewhere(into.binding(), &mut links)?,
        };
        links.finish(self.durable)?;
        tracing::info!(
            postings = analysis.stats.postings,
            shared_tags = analysis.stats.shared_tags,
            candidates = analysis.stats.candidates,
            links = analysis.stats.links,
            spilled_bytes = analysis.stats.spilled_bytes,
            "compared"
        );
        Ok(analysis)
    }

    /// Takes what the workers of a cluster found, or compares what it leaves of the postings.
    fn everything_elsewhere(&self, binding: &Binding, links: &mut LinkWriter) -> Result<Analysis, Error> {
        match self.spark.analyse(self.scan, self.subject, binding, &self.thresholds)? {
            SparkOutcome::Joined(joined) => {
                let mut found = joined.links.read()?;
                while let Some(some) = found.next_links()? {
                    links.push(some)?;
                }
                Ok(joined.analysis)
            }
            SparkOutcome::Grouped(grouped) => {
                let mut analysis = self.everything(&grouped.shards, links)?;
                analysis.stats.postings = grouped.postings;
                Ok(analysis)
            }
        }
    }

    fn everything(&self, shards: &RunShards, links: &mut LinkWriter) -> Result<Analysis, Error> {
        let input = self.subject.input();
        let options = self.options();
        let spill = SpillFolder::new(self.spill_dir);
        // A cluster lists only some of its links if they are very many; the statuses of documents follow from more.
        let sorted = SortedLinks::new(
            &spill,
            &LinksOptions {
                contents: input.payload_bytes.len(),
                memory_budget_bytes: options.memory_budget_bytes,
                threads: options.threads.get(),
            },
        );
        let report = |now: Progress| self.report(now);
        let monitor = Monitor { progress: &report, cancelled: &self.scan.cancelled };
        let mut analysis = analyse_with_links(shards, &input, &options, &monitor, &|links| sorted.add(links))?;
        sorted.drain_in_order(options.threads, &mut |part| {
            cognate_storage::failpoint!("scan.in_links");
            links.push(part)
        })?;
        analysis.stats.spilled_bytes += spill.written_bytes();
        Ok(analysis)
    }

    /// Begins with what an earlier scan found, unless too much has changed since.
    fn again(&self, base: &Checkpoint, links: &mut LinkWriter) -> Result<Option<Analysis>, Error> {
        let numbers = base.numbers_in(self.subject)?;
        let contents = self.subject.frozen.contents.len();
        let same = numbers.iter().flatten().count();
        let changed = (contents - same) + (numbers.len() - same);
        if changed > contents / CHANGED_SHARE {
            tracing::info!(changed, contents, "too much has changed: everything is compared");
            return Ok(None);
        }
        let before = EarlierAnalysis { clusters: base.analysis()?.clusters, links: &base.links()?, numbers: &numbers };
        let report = |now: Progress| self.report(now);
        let monitor = Monitor { progress: &report, cancelled: &self.scan.cancelled };
        let shards = &self.subject.frozen.shards;
        let again = analyse_incrementally(shards, &self.subject.input(), &self.options(), &monitor, before, links)?;
        tracing::info!(
            gone = numbers.len() - same,
            changed = again.changed,
            compared = again.compared,
            contents,
            clusters_kept = again.clusters_kept,
            "what has changed is compared"
        );
        Ok(Some(again.analysis))
    }

    pub(crate) fn options(&self) -> Options<'_> {
        let spec = &self.scan.spec;
        Options {
            thresholds: self.thresholds,
            memory_budget_bytes: spec.memory_budget_bytes,
            threads: spec.threads,
            spill_dir: self.spill_dir,
        }
    }

    pub(crate) fn report(&self, now: Progress) {
        match now.phase {
            Phase::Tags => {
                cognate_storage::failpoint!("scan.in_tags");
            }
            Phase::Prefixes => {
                cognate_storage::failpoint!("scan.in_prefixes");
            }
            Phase::Components => {
                cognate_storage::failpoint!("scan.in_components");
            }
            Phase::Partitions => {
                cognate_storage::failpoint!("scan.in_partitions");
            }
            Phase::Join => {
                cognate_storage::failpoint!("scan.between_partitions");
            }
        }
        let phases = 5;
        let share = (1000 * now.done).checked_div(now.total).unwrap_or(1000);
        (self.progress)(now.phase as u64 * 1000 + share, phases * 1000);
    }
}
