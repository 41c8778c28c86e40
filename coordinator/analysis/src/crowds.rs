//! Chunks that would make more pairs than a scan may compare are left out of it, as templates are, and the result names them.

use cognate_similarity::{Monitor, Progress, crowded_tags};

use crate::analyser::Analyser;
use crate::error::Error;
use crate::freeze::{FrozenSet, IgnoreReason};
use crate::spec::ScanJob;
use crate::subject::Subject;

/// Rounds after which a scan is given up: each leaves out half of what is too much, or more.
const ROUNDS_MAX: usize = 64;

impl Analyser {
    /// Sets chunks aside until contents meet no more often than the scan allows.
    pub(crate) fn set_crowds_aside(&self, scan: &ScanJob, layer: usize, frozen: &mut FrozenSet) -> Result<(), Error> {
        for _ in 0..ROUNDS_MAX {
            let subject = Subject::of(frozen, scan.spec.options.across_only);
            let tags = self.task(scan, layer, &subject, |task| {
                let report = |now: Progress| task.report(now);
                let monitor = Monitor { progress: &report, cancelled: &scan.cancelled };
                let (shards, input) = (&subject.frozen.shards, subject.input());
                Ok(crowded_tags(shards, &input, &task.options(), &monitor, scan.spec.pairs_max)?)
            })?;
            if tags.is_empty() {
                return Ok(());
            }
            tracing::warn!(
                scan = %scan.id,
                tags = tags.len(),
                "chunks that very many documents have are set aside: they would make more pairs than `scan_pairs`"
            );
            frozen.set_aside(tags, IgnoreReason::Crowd)?;
        }
        Err(Error::Refused(format!(
            "after {ROUNDS_MAX} rounds documents still meet by common chunks more often than `scan_pairs` allows ({}): raise it in the \
             configuration of the coordinator, or leave out the repository that has them",
            scan.spec.pairs_max
        )))
    }
}
