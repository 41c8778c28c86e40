//! The shortest shared run that would have been found, by simulation on the audited documents.

use std::collections::HashSet;

use cognate_export::audit::RunLengthRow;
use cognate_fingerprint::{ContentDigest, Runs};
use cognate_proto::options::LayerOptions;
use cognate_result::report::Report;
use cognate_storage::store::{FrozenRow, ScanRow};

use super::Audits;
use crate::error::Error;

/// The approximate number of contents of a layer that are read.
const CONTENTS: u64 = 4000;
/// A content with more chunks than this is not read: it would dominate the result.
const CHUNKS_MAX: u64 = 100_000;

impl Audits {
    /// One row for each repository and view, from the chunks of some of its contents, in their order, and the
    /// probability that the cuts of a common run agree.
    pub(super) fn run_lengths(&self, row: &ScanRow, report: &Report) -> Result<Vec<RunLengthRow>, Error> {
        let mut rows = Vec::new();
        for (layer, LayerOptions { method, .. }) in row.options().layers().unwrap_or_default().into_iter().enumerate() {
            let Some(runs) = Runs::of(&method) else { continue };
            for frozen in row.frozen_of(layer) {
                let documents = self.chunk_lengths(frozen, layer, report)?;
                let lengths = match documents.is_empty() {
                    true => runs.lengths(),
                    false => runs.observed(documents.iter().map(Vec::as_slice)),
                };
                rows.push(RunLengthRow {
                    site: frozen.site.clone(),
                    repository: frozen.repository.clone(),
                    view: method.view().to_string(),
                    contents: documents.len() as u64,
                    p50_bytes: lengths.p50,
                    p95_bytes: lengths.p95,
                    p99_bytes: lengths.p99,
                });
            }
        }
        rows.sort_by(|a, b| (&a.view, &a.site, &a.repository).cmp(&(&b.view, &b.site, &b.repository)));
        Ok(rows)
    }

    /// The lengths of the chunks of some contents, in their order, as far as the present index has them.
    fn chunk_lengths(&self, frozen: &FrozenRow, layer: usize, report: &Report) -> Result<Vec<Vec<u32>>, Error> {
        let indexes = &self.analyser.indexes;
        let place = (frozen.site.clone(), frozen.repository.clone());
        let _hold = indexes.hold(std::iter::once(place));
        let sealed = frozen.slot().map(|key| indexes.sealed(&key)).transpose()?.flatten();
        let Some(sealed) = sealed else { return Ok(Vec::new()) };
        let digests = report.some_contents(layer, &frozen.site, &frozen.repository, CONTENTS, CHUNKS_MAX)?;
        let wanted: HashSet<ContentDigest> = digests.into_iter().map(ContentDigest).collect();
        let mut documents = Vec::new();
        indexes.manifests(&sealed, &wanted, &mut |manifest| {
            documents.push((manifest.content.digest, manifest.chunks.length_bytes));
            Ok(())
        })?;
        // The same contents in the same order, independent of their order of arrival.
        documents.sort_by_key(|(digest, _)| *digest);
        documents.dedup_by_key(|(digest, _)| *digest);
        Ok(documents.into_iter().map(|(_, lengths)| lengths).collect())
    }
}
