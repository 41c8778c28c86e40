//! How far the review of a result is.

use cognate_proto::name::ScanId;
use cognate_proto::v1;

use super::Verdicts;
use crate::error::Error;
use cognate_result::report::Reader;

impl Verdicts {
    /// How far the review of a scan's clusters is, and what samples of its links say, as far as a person may read it.
    ///
    /// # Errors
    /// Fails if the scan has no result, or it cannot be read.
    pub fn review(&self, scan: ScanId, reader: &Reader) -> Result<v1::ShowReviewResponse, Error> {
        let progress = self.results.browse(scan, reader)?.progress()?;
        let mut samples: Vec<_> = self.samples_of(scan, reader)?.iter().map(super::sample::state).collect();
        samples.reverse();
        Ok(v1::ShowReviewResponse {
            clusters: progress.clusters,
            decided: progress.decided,
            changed: progress.changed,
            reviewers: progress.by_person.into_iter().map(|(by, clusters)| v1::Reviewer { by, clusters }).collect(),
            samples,
        })
    }
}
