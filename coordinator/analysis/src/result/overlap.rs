//! Writes what repositories have in common: folders, bytes, and how alike their documents are.

use rusqlite::params;

use super::names::folder_relation_name;
use super::{LayerPart, Writer, integer};
use crate::alignment::Alignment;
use crate::histogram::Bucket;
use crate::histogram::Histogram;

impl Writer {
    pub(super) fn folders(&self, part: &LayerPart<'_>, before: usize) -> rusqlite::Result<()> {
        let mut insert = self.connection.prepare("INSERT INTO folder VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")?;
        for (number, pair) in part.layer.findings.folders.iter().enumerate() {
            insert.execute(params![
                before + number,
                pair.roots[0],
                pair.paths[0],
                pair.roots[1],
                pair.paths[1],
                folder_relation_name(pair.relation),
                integer(pair.documents[0]),
                integer(pair.documents[1]),
                integer(pair.shared_bytes[0]),
                integer(pair.shared_bytes[1]),
                integer(pair.documents_total[0]),
                integer(pair.documents_total[1]),
                integer(pair.size_bytes[0]),
                integer(pair.size_bytes[1]),
                part.number,
            ])?;
        }
        Ok(())
    }

    /// The folders of two repositories that are compared with each other, with the documents that each pair matches.
    pub(super) fn alignment(&self, alignment: &Alignment, matched: &[u64]) -> rusqlite::Result<()> {
        let mut insert = self.connection.prepare("INSERT INTO alignment VALUES (?,?,?,?,?)")?;
        for (number, (pair, documents)) in alignment.pairs().iter().zip(matched).enumerate() {
            let [a, b] = &pair.folders;
            insert.execute(params![number, a, b, integer(*documents), pair.given])?;
        }
        Ok(())
    }

    pub(super) fn overlap(&self, part: &LayerPart<'_>) -> rusqlite::Result<()> {
        let mut insert = self.connection.prepare("INSERT INTO overlap VALUES (?,?,?,?,?,?,?,?,?,?)")?;
        for row in &part.layer.findings.overlap {
            insert.execute(params![
                row.level,
                row.a,
                row.b,
                integer(row.documents[0]),
                integer(row.documents[1]),
                integer(row.shared_bytes[0]),
                integer(row.shared_bytes[1]),
                integer(row.template_bytes[0]),
                integer(row.template_bytes[1]),
                part.number,
            ])?;
        }
        Ok(())
    }

    pub(super) fn histogram(&self, layer: usize, histogram: &Histogram) -> rusqlite::Result<()> {
        let mut insert = self.connection.prepare("INSERT INTO histogram VALUES (?,?,?,?,?)")?;
        let mut row = |measure: &str, bucket: usize, counts: &Bucket| {
            let (links, documents) = (integer(counts.links), integer(counts.documents));
            insert.execute(params![measure, bucket, links, documents, layer]).map(drop)
        };
        row("all", 0, &histogram.all)?;
        let containment = histogram.containment.as_ref().map(|rows| ("containment", rows));
        for (measure, buckets) in containment.into_iter().chain([("resemblance", &histogram.resemblance)]) {
            buckets.iter().enumerate().try_for_each(|(bucket, counts)| row(measure, bucket, counts))?;
        }
        Ok(())
    }
}
