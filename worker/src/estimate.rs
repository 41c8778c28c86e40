//! What a sync would come to, without reading or sending anything: a walk of a few seconds, and what the cache knows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cognate_proto::v1::{Estimate, SyncSummary};

use crate::error::SyncError;
use crate::file_hash::FileHashes;
use crate::root::Root;
use crate::site::Site;
use crate::stamp::Stamp;
use crate::sync::Job;
use crate::walk::{Entry, Skipped, walk};

/// How long the walk may take.
const WALK_MAX: Duration = Duration::from_secs(10);
/// What a chunk adds to a batch: its tag and its length.
const CHUNK_BYTES_SENT: u64 = 18;
/// What a document adds besides its path: state, digest, time.
const DOCUMENT_BYTES_SENT: u64 = 24;

impl Site {
    /// Answers an assignment that only asks.
    pub(crate) fn estimate(&self, job: &Job, cancelled: &AtomicBool) -> Result<SyncSummary, SyncError> {
        let failed = |source| SyncError::Root { path: job.path.clone(), source };
        let root = Root::open(&job.path, job.follow_symlinks).map_err(failed)?;
        let cache = self.cache()?;
        // What stands in the outbox was sent before; how much of it, only the log would tell, which is large.
        let sent_before = self.outbox_path(&job.repository, job.method_id, None).try_exists().unwrap_or(false);
        let mut estimate = Estimate { bytes_per_second: self.board.bytes_per_second(), ..Estimate::default() };
        let began = Instant::now();
        let walked = walk(&root, &job.selection, job.follow_symlinks, &Arc::new(Skipped::default()), |entry| {
            let Entry::Document(path) = entry else { return true };
            if began.elapsed() > WALK_MAX || cancelled.load(Ordering::Relaxed) {
                estimate.cut_short = true;
                return false;
            }
            let Ok(stat) = root.stat(&path) else { return true };
            let stamp = Stamp::of(&stat);
            if !job.selection.selects_size(stamp.length_bytes) {
                return true;
            }
            estimate.documents += 1;
            estimate.size_bytes += stamp.length_bytes;
            let known = cache.as_ref().and_then(|cache| cache.get(&job.repository, &path));
            let keeps = |hashes: &FileHashes| hashes.kinds().contains_all(self.config.policy.file_hashes);
            let known = known.filter(|known| known.stamp == stamp && keeps(&known.hashes));
            let made = known.and_then(|known| known.made.into_iter().find(|made| made.method_id == job.method_id));
            // What is inside of a document is not looked up for an estimate.
            let chunks = made.map(|made| made.piece.listed.map_or(0, |(content, _)| content.chunk_count));
            if chunks.is_some() {
                estimate.unread_documents += 1;
                estimate.unread_bytes += stamp.length_bytes;
            }
            if chunks.is_none() || !sent_before {
                let chunks = chunks.unwrap_or_else(|| job.method.features_expected(stamp.length_bytes));
                // Paths are sent with what they share with the one before left out: about half.
                let path_bytes = path.as_bytes().len() as u64 / 2;
                estimate.send_bytes += chunks * CHUNK_BYTES_SENT + DOCUMENT_BYTES_SENT + path_bytes;
            }
            true
        });
        walked.map_err(failed)?;
        if cancelled.load(Ordering::Relaxed) {
            return Err(SyncError::Cancelled);
        }
        Ok(SyncSummary { estimate: Some(estimate), ..SyncSummary::default() })
    }
}
