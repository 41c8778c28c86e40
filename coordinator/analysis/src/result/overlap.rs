//! Writes what repositories have in common: folders, bytes, and how alike their documents are.

use cognate_result_file::{Alignment as AlignmentRecord, FolderPair, Histogram as HistogramRecord};

use super::decision::Decisions;
use super::document_rows::{DocumentRows, is_control};
use super::names::folder_relation_name;
use super::{Publication, Writer};
use crate::alignment::Alignment;
use crate::folders::{FolderDocument, FolderPartner};
use crate::histogram::Bucket;
use crate::histogram::Histogram;

impl Writer {
    pub(super) fn folders(
        &self,
        publication: &Publication<'_>,
        documents: &DocumentRows<'_>,
        decisions: &Decisions,
    ) -> rusqlite::Result<()> {
        let layers = publication.layers;
        let of_documents = decisions.of_documents.iter().filter(|decision| {
            let row = &documents.rows[decision.speaking as usize];
            row.document(layers).is_some_and(|document| !document.control)
        });
        let placed = of_documents.map(|decision| {
            let row = &documents.rows[decision.first as usize];
            let partner = decision.partner.filter(|partner| !is_control(partner.row, documents, layers));
            FolderDocument {
                root: row.root,
                path: row.path,
                size_bytes: decision.compared_bytes(publication, documents),
                partner: partner.map(|partner| {
                    let other = &documents.rows[partner.row as usize];
                    let shared_bytes = decision.shared_bytes(publication, documents);
                    let is_copy = partner.relation.is_none();
                    FolderPartner { root: other.root, path: other.path, shared_bytes, is_copy }
                }),
            }
        });
        let pairs = (0..).zip(crate::folders::pairs(placed));
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
