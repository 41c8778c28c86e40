//! The estimate of a sync, without reading or sending: a walk of a few seconds, and what the cache remembers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cognate_fingerprint::{SAMPLE_VALUE_BYTES, View};
use cognate_proto::limits::SAMPLE_BYTES_MAX;
use cognate_proto::v1::{Estimate, SyncSummary};

use super::job::Job;
use super::syncs::Syncs;
use crate::documents::root::Root;
use crate::documents::walk::{Entry, Skipped, walk};
use crate::error::SyncError;
use crate::records::stamp::Stamp;

/// Longest duration of the walk.
const WALK_MAX: Duration = Duration::from_secs(10);
/// Bytes that a chunk adds to a batch: its tag and its length.
const CHUNK_BYTES_SENT: u64 = 18;
/// Bytes that a document adds besides its path and its sample: state, digest, time.
const DOCUMENT_BYTES_SENT: u64 = 24;

/// Estimates a sync; `bytes_per_second` is the speed of the last one.
pub(crate) fn estimate(
    syncs: &Syncs,
    job: &Job,
    bytes_per_second: u64,
    cancelled: &AtomicBool,
) -> Result<SyncSummary, SyncError> {
    let failed = |source| SyncError::Root { path: job.path.clone(), source };
    let root = Arc::new(Root::open(&job.path, job.follow_symlinks, &job.own_files).map_err(failed)?);
    let cache = syncs.records.cache()?;
    // Whether a single document was sent would show only in the sent log, which is large.
    let was_sent = syncs.records.was_sent(&job.repository, job.method_id, None);
    let samples = syncs.sends_samples(job);
    let mut estimate = Estimate { bytes_per_second, ..Estimate::default() };
    let began = Instant::now();
    let walked = walk(&root, &job.selection, &Arc::new(Skipped::default()), |entry| {
        let Entry::Document(path) = entry else { return true };
        if began.elapsed() > WALK_MAX || cancelled.load(Ordering::Relaxed) {
            estimate.cut_short = true;
            return false;
        }
        let Ok(stat) = root.stat(&path) else { return true };
        let stamp = Stamp::of(&stat);
        if job.selection.selects(&stamp.facts(&path)) {
            let known = cache.as_ref().and_then(|cache| cache.get(&job.repository, &path));
            let known = known
                .filter(|known| known.stamp == stamp && known.hashes.kinds().contains_all(syncs.settings.file_hashes));
            // Of a file that was never read, nobody knows the kind.
            let least = syncs.processes.recognition(job.keeps_text).least;
            if job.method.view() == View::Office && known.as_ref().is_none_or(|known| known.candidate < least) {
                return true;
            }
            // Documents inside of a document are not looked up for an estimate.
            let result = known.as_ref().and_then(|known| known.result(job.method_id));
            let chunks = result.map(|result| result.own.list.as_ref().map_or(0, |(content, _)| content.chunk_count));
            // A path is sent without the part that it shares with the previous one: about half of it.
            let own_bytes =
                path.as_bytes().len() as u64 / 2 + if samples { sample_bytes(stamp.length_bytes) } else { 0 };
            add_document(&mut estimate, job, stamp.length_bytes, own_bytes, (chunks, was_sent));
        }
        true
    });
    walked.map_err(failed)?;
    if cancelled.load(Ordering::Relaxed) {
        return Err(SyncError::Cancelled);
    }
    Ok(SyncSummary { estimate: Some(estimate), ..SyncSummary::default() })
}

/// Bytes of the sample of a document, roughly ([`WindowSample`]).
fn sample_bytes(length_bytes: u64) -> u64 {
    let values = (length_bytes / 32)
        .min(16)
        .max((length_bytes / 64).min(48))
        .max((length_bytes / 128).min(96))
        .max(length_bytes / 256);
    (values * SAMPLE_VALUE_BYTES as u64).min(SAMPLE_BYTES_MAX as u64)
}

/// Adds a document to an estimate. `own_bytes` are those of its path and sample. `chunks` is its number of chunks, if its stored result is used; `was_sent` is true if
/// stored results were sent before.
fn add_document(
    estimate: &mut Estimate,
    job: &Job,
    length_bytes: u64,
    own_bytes: u64,
    (chunks, was_sent): (Option<u64>, bool),
) {
    estimate.documents += 1;
    estimate.size_bytes += length_bytes;
    if chunks.is_some() {
        estimate.unread_documents += 1;
        estimate.unread_bytes += length_bytes;
    }
    if chunks.is_none() || !was_sent {
        let chunks = chunks.unwrap_or_else(|| job.method.features_expected(length_bytes));
        estimate.send_bytes += chunks * CHUNK_BYTES_SENT + DOCUMENT_BYTES_SENT + own_bytes;
    }
}

#[cfg(test)]
mod tests {
    use cognate_fingerprint::{Key, Method, View};
    use cognate_proto::name::RepositoryName;
    use cognate_proto::selection::Selection;

    use super::*;

    #[test]
    fn the_sample_of_a_short_document_costs_less() {
        assert_eq!([0, 31, 320, 10_000, 1 << 30].map(sample_bytes), [0, 0, 50, 390, 40_963]);
    }

    #[test]
    fn documents_that_were_read_and_sent_cost_nothing() {
        let method = Method::tttd(View::Raw, 1000).unwrap();
        let job = Job {
            assignment: 1,
            repository: RepositoryName::main(),
            path: "/".into(),
            method,
            method_id: method.id(&Key::none()),
            selection: Arc::new(Selection::all()),
            follow_symlinks: false,
            own_files: Arc::default(),
            sentinel: None,
            accepts_removals: false,
            keeps_text: false,
            refinement: None,
        };
        let check = |chunks, was_sent, unread, send_bytes| {
            let mut estimate = Estimate::default();
            add_document(&mut estimate, &job, 10_000, 4, (chunks, was_sent));
            assert_eq!((estimate.documents, estimate.size_bytes), (1, 10_000));
            assert_eq!((estimate.unread_documents, estimate.send_bytes), (unread, send_bytes), "{chunks:?} {was_sent}");
        };
        check(Some(7), true, 1, 0);
        check(Some(7), false, 1, 7 * 18 + 24 + 4);
        let expected = method.features_expected(10_000);
        check(None, true, 0, expected * 18 + 24 + 4);
        check(None, false, 0, expected * 18 + 24 + 4);
    }
}
