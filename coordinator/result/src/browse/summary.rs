//! Content of the first page of a result.

use std::collections::BTreeMap;

use super::{Browse, ClusterFilter, ClusterRow, Sort, Window};
use crate::error::Error;
use crate::report::{
    AlignmentRow, ChangesRow, FolderSection, HistogramSection, IdenticalTotals, OverlapSection, ScanSection,
    SetAsideRow, SiteSection,
};

/// Rows of a list on the first page.
const FIRST_ROWS: usize = 10;

/// Content of the first page of a result.
#[derive(Debug)]
pub struct Summary {
    /// The scan and its options.
    pub scan: ScanSection,
    /// The compared sites, with their coverage.
    pub sites: Vec<SiteSection>,
    /// Documents by status, over all sites.
    pub status: BTreeMap<String, u64>,
    /// All documents.
    pub documents: u64,
    /// The identical sets, tier by tier.
    pub identical: Vec<IdenticalTotals>,
    /// Sums over the clusters.
    pub clusters: ClusterTotals,
    /// The first folders at different paths that are compared with each other.
    pub aligned: Vec<AlignmentRow>,
    /// Number of all such folders.
    pub aligned_count: u64,
    /// The changes between two repositories, if the scan compared two.
    pub changes: Vec<ChangesRow>,
    /// Overlap of sites, and of parties.
    pub overlap: Vec<OverlapSection>,
    /// Strength of all links, view by view.
    pub histograms: Vec<HistogramSection>,
    /// The pairs of folders that explain most.
    pub folders: Vec<FolderSection>,
    /// Number of pairs of folders.
    pub folder_count: u64,
    /// The clusters that share most.
    pub largest: Vec<ClusterRow>,
    /// Templates that were set aside.
    pub set_aside: Vec<SetAsideRow>,
    /// Number of ignored tags.
    pub set_aside_count: u64,
}

/// Sums over the clusters of a result.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClusterTotals {
    /// Number of clusters.
    pub clusters: u64,
    /// Number of pairs among them.
    pub pairs: u64,
    /// Their contents.
    pub members: u64,
    /// Their documents, every copy counted.
    pub documents: u64,
    /// Their links.
    pub links: u64,
    /// Redundant bytes in them.
    pub redundant_bytes: u64,
    /// Ten-thousandths: the mean over the clusters of their mean resemblance.
    pub mean_resemblance: Option<i64>,
}

impl Browse {
    /// Number of pairs of folders.
    ///
    /// # Errors
    /// Fails if the result cannot be read.
    pub fn folder_count(&self) -> Result<u64, Error> {
        self.report.row("SELECT count(*) FROM folder", ())
    }

    /// Content of the first page.
    ///
    /// # Errors
    /// Fails if the files cannot be read.
    pub fn summary(&self) -> Result<Summary, Error> {
        let report = &self.report;
        let sites = report.sites()?;
        let mut status = BTreeMap::new();
        for (name, count) in sites.iter().flat_map(|site| &site.status) {
            *status.entry(name.clone()).or_insert(0) += count;
        }
        let totals = "SELECT count(*), coalesce(sum(relation = 'pair'), 0), coalesce(sum(members), 0),
                             coalesce(sum(documents), 0), coalesce(sum(links), 0),
                             coalesce(sum(redundant_bytes), 0), CAST(avg(mean_resemblance) AS INTEGER) FROM cluster";
        let (count, pairs, members, documents, links, redundant_bytes, mean_resemblance) = report.row(totals, ())?;
        let clusters =
            ClusterTotals { clusters: count, pairs, members, documents, links, redundant_bytes, mean_resemblance };
        let mut set_aside = Vec::new();
        let mut set_aside_count = 0;
        report.set_aside::<Error>(|row| {
            set_aside_count += 1;
            if set_aside.len() < FIRST_ROWS {
                set_aside.push(row);
            }
            Ok(())
        })?;
        let mut aligned = report.alignment_rows()?;
        aligned.sort_by_key(|row| std::cmp::Reverse(row.documents));
        let folders = report.folder_page(FIRST_ROWS, 0)?;
        let first = Window { page: 0, rows: FIRST_ROWS as u64 };
        Ok(Summary {
            documents: sites.iter().map(|site| site.documents).sum(),
            status,
            identical: report.identical_totals()?,
            clusters,
            changes: report.changes()?,
            aligned_count: aligned.len() as u64,
            aligned: aligned.into_iter().take(FIRST_ROWS).collect(),
            overlap: report.overlap()?,
            histograms: report.histogram()?.into_iter().chain(report.text_histogram()?).collect(),
            folder_count: self.folder_count()?,
            folders,
            largest: self.clusters(&ClusterFilter::default(), Sort::default(), first)?.rows,
            set_aside,
            set_aside_count,
            scan: report.scan()?,
            sites,
        })
    }
}
