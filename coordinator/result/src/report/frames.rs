//! The frames of a result: what many otherwise unlike documents have, and links rest on.

use cognate_fingerprint::Tag;
use cognate_result_file::{Frame, FrameExample, columns};
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
        let columns = columns::<Frame>("f");
        let sql = format!("SELECT {columns}, k.name FROM frame f JOIN cluster k ON k.id = f.cluster ORDER BY f.id");
        let section = |(frame, cluster): (Frame, String)| {
            let lengths = frame.lengths.as_chunks().0.iter().map(|length| u32::from_le_bytes(*length));
            FrameSection {
                layer: frame.layer,
                cluster,
                documents: frame.documents,
                document_bytes: frame.document_bytes,
                emptied: frame.emptied,
                links: frame.links,
                clusters_gone: frame.clusters_gone,
                clusters_changed: frame.clusters_changed,
                clusters: Vec::new(),
                chunks: split(&frame.tags).zip(lengths).collect(),
                rows: split_rows(&frame.rows).collect(),
                examples: Vec::new(),
            }
        };
        let mut frames: Vec<FrameSection> = self.rows(&sql, ())?.into_iter().map(section).collect();
        let sql = "SELECT c.frame, k.name FROM frame_cluster c JOIN cluster k ON k.id = c.cluster";
        for (frame, cluster) in self.rows::<(usize, String)>(sql, ())? {
            frames[frame].clusters.push(cluster);
        }
        for FrameExample { frame, root, path } in self.records("ORDER BY t.rowid")? {
            let root = self.root(root)?;
            if let Some(frame) = usize::try_from(frame).ok().and_then(|frame| frames.get_mut(frame)) {
                frame.examples.push([root.site.clone(), root.repository.clone(), path_of(&path).0]);
            }
        }
        Ok(frames)
    }
}
