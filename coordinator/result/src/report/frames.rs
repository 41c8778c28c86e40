//! The frames of a result: what many otherwise unlike documents have, and links rest on.

use cognate_fingerprint::Tag;
use cognate_similarity::frame::FrameRow;
use cognate_storage::template::{split, split_rows};

use super::{Report, path_of};
use crate::error::Error;

/// A frame, with what would be gone without it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrameSection {
    /// The view under which it was found, by its place among [`Report::views`].
    pub layer: usize,
    /// The id of the cluster in which most documents are that rest on it.
    pub cluster: String,
    /// Documents that have any of it, every copy counted.
    pub documents: u64,
    /// Its bytes in all of them.
    pub document_bytes: u64,
    /// Documents that consist of nothing else.
    pub emptied: u64,
    /// Links that rest on frames, of which this one is part.
    pub links: u64,
    /// Clusters of which all links do.
    pub clusters_gone: u64,
    /// Others of which some do.
    pub clusters_changed: u64,
    /// The ids of all these clusters.
    pub clusters: Vec<String>,
    /// The tags of chunks that are frame from end to end, ascending, with their lengths.
    pub chunks: Vec<(Tag, u32)>,
    /// Rows of fine chunks, ascending.
    pub rows: Vec<FrameRow>,
    /// A few of the documents: site, repository, and the path as people read it.
    pub examples: Vec<[String; 3]>,
}

impl Report {
    /// The frames, view by view, those first that most documents have.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn frames(&self) -> Result<Vec<FrameSection>, Error> {
        let sql = "SELECT f.id, f.layer, k.name, f.documents, f.document_bytes, f.emptied, f.links, f.clusters_gone,
                          f.clusters_changed, f.tags, f.lengths, f.rows
                   FROM frame f JOIN cluster k ON k.id = f.cluster ORDER BY f.id";
        let mut frames = self.collect(sql, |row| {
            let lengths = row.get_ref(10)?.as_blob()?.as_chunks().0.iter().map(|length| u32::from_le_bytes(*length));
            Ok(FrameSection {
                layer: row.get(1)?,
                cluster: row.get(2)?,
                documents: row.get(3)?,
                document_bytes: row.get(4)?,
                emptied: row.get(5)?,
                links: row.get(6)?,
                clusters_gone: row.get(7)?,
                clusters_changed: row.get(8)?,
                clusters: Vec::new(),
                chunks: split(row.get_ref(9)?.as_blob()?).zip(lengths).collect(),
                rows: split_rows(row.get_ref(11)?.as_blob()?).collect(),
                examples: Vec::new(),
            })
        })?;
        self.each("SELECT c.frame, k.name FROM frame_cluster c JOIN cluster k ON k.id = c.cluster", |row| {
            let frame: usize = row.get(0)?;
            frames[frame].clusters.push(row.get(1)?);
            Ok(())
        })?;
        let sql = "SELECT e.frame, r.site, r.repository, e.path FROM frame_example e JOIN root r ON r.id = e.root
                   ORDER BY e.rowid";
        self.each(sql, |row| {
            let frame: usize = row.get(0)?;
            let (path, _) = path_of(row.get_ref(3)?.as_blob()?);
            frames[frame].examples.push([row.get(1)?, row.get(2)?, path]);
            Ok(())
        })?;
        Ok(frames)
    }
}
