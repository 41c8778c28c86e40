//! Writes the frames: each with a few of its documents.

use rusqlite::params;

use super::{LayerPart, Writer, integer};
use crate::fine::Frame;
use cognate_storage::template::{joined, joined_rows};

impl Writer {
    /// Writes the frames of a layer, numbered from `before` on; returns their number.
    pub(super) fn frames(&self, part: &LayerPart<'_>, before: usize) -> rusqlite::Result<usize> {
        let Some(fine) = &part.layer.fine else { return Ok(0) };
        let mut insert = self.connection.prepare("INSERT INTO frame VALUES (?,?,?,?,?,?,?,?,?,?,?,?)")?;
        let mut clusters = self.connection.prepare("INSERT INTO frame_cluster VALUES (?,?)")?;
        let mut examples = self.connection.prepare("INSERT INTO frame_example VALUES (?,?,?)")?;
        for (number, frame) in (before..).zip(&fine.frames) {
            let Frame { documents, document_bytes, emptied, links, clusters_gone, clusters_changed, .. } = frame;
            let (tags, lengths) = joined(&frame.chunks);
            let lengths: Vec<u8> = lengths.iter().flat_map(|length| length.to_le_bytes()).collect();
            let number_of = |cluster: u32| {
                let members = &part.layer.findings.analysis.clusters[cluster as usize].members;
                // Every member of a cluster has it.
                part.order.number_of(members[0].0 as usize).unwrap_or_default()
            };
            insert.execute(params![
                number,
                part.number,
                number_of(frame.cluster),
                integer(*documents),
                integer(*document_bytes),
                integer(*emptied),
                integer(*links),
                integer(*clusters_gone),
                integer(*clusters_changed),
                tags,
                lengths,
                joined_rows(&frame.rows),
            ])?;
            for cluster in &frame.clusters {
                clusters.execute(params![number, number_of(*cluster)])?;
            }
            for document in &frame.examples {
                let document = &part.layer.frozen.documents[*document as usize];
                examples.execute(params![number, document.root, part.layer.frozen.path(document)])?;
            }
        }
        Ok(fine.frames.len())
    }
}
