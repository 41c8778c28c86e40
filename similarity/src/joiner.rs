//! Pass 5: joins the partitions in turn, and cuts those beyond the memory budget into slices.
//!
//! The contents of a partition only *could* be linked. Where their tags do not fit in memory together, their links are
//! found first, two slices at a time, and the contents are packed again by the clusters that these links form: those
//! are mostly small. Then each pack is joined by itself, in memory, like any other partition.

use std::borrow::Cow;
use std::num::NonZeroUsize;

use crate::budget::Budget;
use crate::cluster::LinkRule;
use crate::component::{Components, Partitions};
use crate::error::Error;
use crate::input::{HolderLabel, Input, Options};
use crate::join_row::JoinRow;
use crate::link::Link;
use crate::lists::Lists;
use crate::members::Members;
use crate::outstanding::HeldBy;
use crate::partition_join::{JoinOutcome, LoadedPartition};
use crate::request::Request;
use crate::slices::Slices;
use crate::spill::{Buckets, SpillFolder, Writer};
use crate::workers::{Tracker, share_out};

/// Partitions and the rows of each.
pub(crate) struct PackedPartitions<'a, 's> {
    pub(crate) partitions: &'a Partitions,
    pub(crate) rows: &'a Buckets<'s, JoinRow>,
    /// The contents behind the numbers in the partitions; if absent, these numbers are contents.
    pub(crate) contents: Option<&'a [u32]>,
}

impl PackedPartitions<'_, '_> {
    /// The contents of a partition, by ascending payload.
    fn contents(&self, partition: usize) -> Cow<'_, [u32]> {
        let members = self.partitions.members(partition);
        match self.contents {
            None => Cow::Borrowed(members),
            Some(contents) => members.iter().map(|&member| contents[member as usize]).collect(),
        }
    }

    /// The partitions that all threads join together, and the others.
    fn by_size(&self) -> (Vec<usize>, Vec<usize>) {
        (0..self.partitions.count()).partition(|&partition| self.partitions.is_large(partition))
    }
}

/// Joins partitions.
#[derive(Clone, Copy)]
pub(crate) struct Joiner<'a, 's> {
    pub(crate) input: &'a Input<'a>,
    pub(crate) options: &'a Options<'a>,
    pub(crate) budget: Budget,
    pub(crate) spill: &'s SpillFolder,
    /// The labels of all contents, if links must go across.
    pub(crate) holder_labels: Option<&'a [HolderLabel]>,
    /// The holders of all contents, if links of clusters are reported.
    pub(crate) held_by: Option<HeldBy<'a>>,
    pub(crate) request: Request<'a>,
    pub(crate) rule: LinkRule,
    pub(crate) tracker: &'a Tracker<'a>,
}

impl Joiner<'_, '_> {
    /// Joins all partitions: large ones one after the other with all threads, then the others in parallel.
    pub(crate) fn join_all(&self, packed: &PackedPartitions<'_, '_>) -> Result<JoinOutcome, Error> {
        let (large, small) = packed.by_size();
        let mut outcome = JoinOutcome::default();
        for partition in large {
            if packed.partitions.is_oversized(partition) {
                self.join_oversized(packed, partition, &mut outcome)?;
            } else {
                self.join(packed, partition, self.options.threads, &mut outcome)?;
            }
            self.tracker.step()?;
        }
        self.join_small(packed, &small, &mut outcome, || self.tracker.step())?;
        outcome.clusters.sort_unstable_by_key(|cluster| cluster.members[0]);
        outcome.omitted.of.sort_unstable_by_key(|one| one.content);
        Ok(outcome)
    }

    fn join_small(
        &self,
        packed: &PackedPartitions<'_, '_>,
        small: &[usize],
        outcome: &mut JoinOutcome,
        done: impl Fn() -> Result<(), Error> + Sync,
    ) -> Result<(), Error> {
        let others = share_out(self.options.threads, small.len(), JoinOutcome::default, |outcome, task| {
            self.join(packed, small[task], NonZeroUsize::MIN, outcome)?;
            done()
        })?;
        others.into_iter().for_each(|other| outcome.take(other));
        Ok(())
    }

    fn join(
        &self,
        packed: &PackedPartitions<'_, '_>,
        partition: usize,
        threads: NonZeroUsize,
        outcome: &mut JoinOutcome,
    ) -> Result<(), Error> {
        let contents = packed.contents(partition);
        let lists = Lists::new(packed.rows.take(partition)?, contents.len());
        self.part(&contents, lists, threads).join(outcome)
    }

    fn part<'p>(&'p self, contents: &'p [u32], lists: Lists, threads: NonZeroUsize) -> LoadedPartition<'p> {
        LoadedPartition {
            thresholds: &self.options.thresholds,
            members: Members { contents, payload_bytes: self.input.payload_bytes },
            lists,
            holder_labels: self.holder_labels,
            held_by: self.held_by.filter(|_| self.request.clusters),
            request: self.request,
            first_members: None,
            rule: self.rule,
            links_max: self.budget.links_in_memory(contents.len(), threads),
            threads,
            tracker: self.tracker,
        }
    }

    fn join_oversized(
        &self,
        packed: &PackedPartitions<'_, '_>,
        partition: usize,
        outcome: &mut JoinOutcome,
    ) -> Result<(), Error> {
        let contents = packed.contents(partition);
        let slices = Slices::cut(self.spill, packed.rows, partition, contents.len(), self.budget.slice())?;
        if !self.request.clusters {
            return self.join_slices(&slices, &contents, self.request, outcome);
        }
        let clusters = Components::new(contents.len());
        let unite = |links: &[Link]| {
            for link in links {
                clusters.unite(packed.partitions.place(link.a.0), packed.partitions.place(link.b.0));
            }
            Ok(())
        };
        self.join_slices(&slices, &contents, Request { sink: Some(&unite), clusters: false, ..self.request }, outcome)?;
        self.join_clusters(&slices, &contents, &clusters, outcome)
    }

    /// Finds the links of a partition, two slices at a time.
    fn join_slices(
        &self,
        slices: &Slices<'_>,
        contents: &[u32],
        request: Request<'_>,
        outcome: &mut JoinOutcome,
    ) -> Result<(), Error> {
        for (first, second) in slices.blocks() {
            let block = slices.read(first, second)?;
            let contents: Vec<u32> = block.members.iter().map(|&member| contents[member as usize]).collect();
            let lists = Lists::new(block.rows, contents.len());
            let joiner = Joiner { request, ..*self };
            let part = joiner.part(&contents, lists, self.options.threads);
            LoadedPartition { first_members: block.first_members, ..part }.join(outcome)?;
        }
        Ok(())
    }

    /// Packs the contents of slices by the clusters that they form, and joins each pack for its clusters and the links that
    /// are reported: they have been counted.
    fn join_clusters(
        &self,
        slices: &Slices<'_>,
        contents: &[u32],
        clusters: &Components,
        outcome: &mut JoinOutcome,
    ) -> Result<(), Error> {
        let payload_bytes: Vec<u64> =
            contents.iter().map(|&content| self.input.payload_bytes[content as usize]).collect();
        let row_counts = slices.row_counts();
        let pack = self.budget.pack(row_counts.iter().map(|&rows| u64::from(rows)).sum());
        let partitions = Partitions::pack(clusters, row_counts, &payload_bytes, &pack);
        let rows = Buckets::new(self.spill, &self.budget.cluster_rows(partitions.count()));
        let mut writer = rows.writer();
        slices.drain(|row| match partitions.of(row.member) {
            Some(partition) => writer.push(partition, JoinRow { member: partitions.place(row.member), ..*row }),
            None => Ok(()),
        })?;
        Writer::finish(writer)?;
        let packed = PackedPartitions { partitions: &partitions, rows: &rows, contents: Some(contents) };
        let joiner = Joiner { request: Request { clusters: true, ..self.request }, ..*self };
        let (large, small) = packed.by_size();
        let mut apart = JoinOutcome::default();
        for partition in large {
            joiner.join(&packed, partition, self.options.threads, &mut apart)?;
        }
        joiner.join_small(&packed, &small, &mut apart, || self.tracker.check())?;
        outcome.clusters.append(&mut apart.clusters);
        outcome.omitted.append(apart.omitted);
        outcome.oversized_clusters += partitions.oversized;
        Ok(())
    }
}
