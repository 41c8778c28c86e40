//! Writes what repositories have in common: folders, bytes, and how alike their documents are.

use cognate_result_file::{Alignment as AlignmentRecord, FolderPair, Histogram as HistogramRecord, Overlap};

use super::names::folder_relation_name;
use super::{LayerPart, Writer, row_number};
use crate::alignment::Alignment;
use crate::histogram::Bucket;
use crate::histogram::Histogram;

impl Writer {
    pub(super) fn folders(&self, part: &LayerPart<'_>, before: usize) -> rusqlite::Result<()> {
        let pairs = (row_number(before)..).zip(&part.layer.findings.of_links.folders);
        self.insert()?.add_all(pairs.map(|(id, pair)| FolderPair {
            id,
            root_a: pair.roots[0].into(),
            path_a: pair.paths[0].clone(),
            root_b: pair.roots[1].into(),
            path_b: pair.paths[1].clone(),
            relation: folder_relation_name(pair.relation).into(),
            documents_a: pair.documents[0],
            documents_b: pair.documents[1],
            shared_bytes_a: pair.shared_bytes[0],
            shared_bytes_b: pair.shared_bytes[1],
            documents_total_a: pair.documents_total[0],
            documents_total_b: pair.documents_total[1],
            bytes_a: pair.size_bytes[0],
            bytes_b: pair.size_bytes[1],
            layer: part.number,
        }))
    }

    /// The folders of two repositories that are compared with each other, with the documents that each pair matches.
    pub(super) fn alignment(&self, alignment: &Alignment, matched: &[u64]) -> rusqlite::Result<()> {
        let pairs = (0..).zip(alignment.pairs().iter().zip(matched));
        self.insert()?.add_all(pairs.map(|(id, (pair, documents))| AlignmentRecord {
            id,
            path_a: pair.folders[0].clone(),
            path_b: pair.folders[1].clone(),
            documents: *documents,
            given: pair.given,
        }))
    }

    pub(super) fn overlap(&self, part: &LayerPart<'_>) -> rusqlite::Result<()> {
        self.insert()?.add_all(part.layer.findings.of_links.overlap.iter().map(|row| Overlap {
            level: row.level.into(),
            a: row.a.clone(),
            b: row.b.clone(),
            documents_a: row.documents[0],
            documents_b: row.documents[1],
            shared_bytes_a: row.shared_bytes[0],
            shared_bytes_b: row.shared_bytes[1],
            template_bytes_a: row.template_bytes[0],
            template_bytes_b: row.template_bytes[1],
            layer: part.number,
        }))
    }

    pub(super) fn histogram(&self, layer: usize, histogram: &Histogram) -> rusqlite::Result<()> {
        let mut insert = self.insert()?;
        let mut row = |measure: &'static str, bucket: u64, counts: &Bucket| {
            let Bucket { links, documents } = *counts;
            insert.add(&HistogramRecord { measure: measure.into(), bucket, links, documents, layer })
        };
        row("all", 0, &histogram.all)?;
        let containment = histogram.containment.as_ref().map(|rows| ("containment", rows));
        for (measure, buckets) in containment.into_iter().chain([("resemblance", &histogram.resemblance)]) {
            (0..).zip(buckets).try_for_each(|(bucket, counts)| row(measure, bucket, counts))?;
        }
        Ok(())
    }
}
