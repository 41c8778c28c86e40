//! Writes the frames: each with a few of its documents.

use cognate_result_file::{Frame as FrameRecord, FrameCluster, FrameExample};

use super::{LayerPart, Writer, row_number};
use crate::fine::Frame;
use cognate_storage::template::{joined, joined_rows};

impl Writer {
    /// Writes the frames of a layer, numbered from `before` on; returns their number.
    pub(super) fn frames(&self, part: &LayerPart<'_>, before: usize) -> rusqlite::Result<usize> {
        let Some(fine) = &part.layer.fine else { return Ok(0) };
        let (mut insert, mut clusters, mut examples) = (self.insert()?, self.insert()?, self.insert()?);
        for (number, frame) in (row_number(before)..).zip(&fine.frames) {
            let Frame { documents, document_bytes, emptied, links, clusters_gone, clusters_changed, .. } = frame;
            let (tags, lengths) = joined(&frame.chunks);
            let lengths: Vec<u8> = lengths.iter().flat_map(|length| length.to_le_bytes()).collect();
            let number_of = |cluster: u32| {
                let members = &part.layer.findings.analysis.clusters[cluster as usize].members;
                // A cluster of two with the same lines is none of the result.
                part.order.number_of(members[0].0 as usize).map(row_number)
            };
            insert.add(&FrameRecord {
                id: number,
                layer: part.number,
                cluster: number_of(frame.cluster).unwrap_or_default(),
                documents: *documents,
                document_bytes: *document_bytes,
                emptied: *emptied,
                links: *links,
                clusters_gone: *clusters_gone,
                clusters_changed: *clusters_changed,
                tags,
                lengths,
                rows: joined_rows(&frame.rows),
            })?;
            for cluster in frame.clusters.iter().filter_map(|cluster| number_of(*cluster)) {
                clusters.add(&FrameCluster { frame: number, cluster })?;
            }
            for document in &frame.examples {
                let document = &part.layer.frozen.documents[*document as usize];
                let path = part.layer.frozen.path(document).to_owned();
                examples.add(&FrameExample { frame: number, root: document.root.into(), path })?;
            }
        }
        Ok(fine.frames.len())
    }
}
