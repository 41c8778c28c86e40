//! Overlap of places, and strength of the links: folders, overlap, histograms.

use cognate_result_file::{FolderPair, Histogram, Overlap};

use super::{BucketRow, FolderPlace, FolderSection, HistogramSection, OverlapSection, Ratio, Report, path_of, select};
use crate::error::Error;
use cognate_analysis::HISTOGRAM_BUCKETS as BUCKETS;

impl Report {
    /// The folder pairs, those with most bytes first.
    pub fn folders<E: From<Error>>(&self, mut each: impl FnMut(FolderSection) -> Result<(), E>) -> Result<(), E> {
        self.folders_where("", &mut each)
    }

    /// Some of the folder pairs.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn folder_page(&self, count: usize, offset: usize) -> Result<Vec<FolderSection>, Error> {
        let mut folders = Vec::new();
        self.folders_where::<Error>(&format!("LIMIT {count} OFFSET {offset}"), &mut |folder| {
            folders.push(folder);
            Ok(())
        })?;
        Ok(folders)
    }

    fn folders_where<E: From<Error>>(
        &self,
        which: &str,
        each: &mut impl FnMut(FolderSection) -> Result<(), E>,
    ) -> Result<(), E> {
        let folder = |root: i64, path: &[u8]| -> Result<FolderPlace, Error> {
            let (root, (path, path_escaped)) = (self.root(root)?, path_of(path));
            Ok(FolderPlace { path, path_escaped, repository: root.repository.clone(), site: root.site.clone() })
        };
        self.each_row(&select::<FolderPair>(&format!("ORDER BY t.id {which}")), (), |pair: FolderPair| {
            let section = FolderSection {
                a: folder(pair.root_a, &pair.path_a)?,
                b: folder(pair.root_b, &pair.path_b)?,
                bytes_a: pair.bytes_a,
                bytes_b: pair.bytes_b,
                documents_a: pair.documents_a,
                documents_b: pair.documents_b,
                documents_total_a: pair.documents_total_a,
                documents_total_b: pair.documents_total_b,
                relation: pair.relation.into_owned(),
                share_a: Some(Ratio::of(pair.shared_bytes_a, pair.bytes_a)),
                share_b: Some(Ratio::of(pair.shared_bytes_b, pair.bytes_b)),
                shared_bytes_a: pair.shared_bytes_a,
                shared_bytes_b: pair.shared_bytes_b,
            };
            each(self.turned(section, [pair.root_a, pair.root_b].map(|root| usize::try_from(root).unwrap_or(0))))
        })
    }

    /// Strength of all links of the scan's first view; nothing if there are none.
    pub fn histogram(&self) -> Result<Option<HistogramSection>, Error> {
        self.histogram_of(0)
    }

    /// The same of the links of texts, where there are two views.
    pub fn text_histogram(&self) -> Result<Option<HistogramSection>, Error> {
        if self.views.len() > 1 { self.histogram_of(1) } else { Ok(None) }
    }

    fn histogram_of(&self, layer: usize) -> Result<Option<HistogramSection>, Error> {
        let records: Vec<Histogram> = self.records(&format!("WHERE t.layer = {layer} ORDER BY t.bucket"))?;
        let of = |measure: &'static str| records.iter().filter(move |record| record.measure == measure);
        let bound = |bucket| Ratio::of(bucket, BUCKETS as u64);
        let row = |record: &Histogram| {
            let Histogram { bucket, links, documents, .. } = *record;
            BucketRow { documents, from: bound(bucket), links, to: bound(bucket + 1) }
        };
        Ok(of("all").find(|all| all.links > 0).map(|all| HistogramSection {
            containment: of("containment").map(row).collect(),
            documents: all.documents,
            links: all.links,
            resemblance: of("resemblance").map(row).collect(),
            view: self.view(layer),
        }))
    }

    /// Overlap of sites, and of parties.
    pub fn overlap(&self) -> Result<Vec<OverlapSection>, Error> {
        // Sites before parties, as the format says.
        let records: Vec<Overlap> = self.records("ORDER BY t.level = 'party', t.a, t.b")?;
        let is_listed = |row: &Overlap| row.level != "site" || self.lists(&row.a) || self.lists(&row.b);
        let rows = records.into_iter().filter(is_listed).map(|overlap| OverlapSection {
            a: overlap.a,
            b: overlap.b,
            bytes_total_a: overlap.bytes_total_a,
            bytes_total_b: overlap.bytes_total_b,
            contents_a: overlap.contents_a,
            contents_b: overlap.contents_b,
            documents_a: overlap.documents_a,
            documents_b: overlap.documents_b,
            documents_total_a: overlap.documents_total_a,
            documents_total_b: overlap.documents_total_b,
            estimate_error_bytes_a: overlap.estimate_error_bytes_a,
            estimate_error_bytes_b: overlap.estimate_error_bytes_b,
            estimated_bytes_a: overlap.estimated_bytes_a,
            estimated_bytes_b: overlap.estimated_bytes_b,
            level: overlap.level.into_owned(),
            shared_bytes_a: overlap.shared_bytes_a,
            shared_bytes_b: overlap.shared_bytes_b,
            shared_once_bytes_a: overlap.shared_once_bytes_a,
            shared_once_bytes_b: overlap.shared_once_bytes_b,
            template_bytes_a: overlap.template_bytes_a,
            template_bytes_b: overlap.template_bytes_b,
        });
        Ok(self.sort_pairs(rows.collect()))
    }
}
