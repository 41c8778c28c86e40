//! A refinement: the documents that an earlier scan selects, read again under another method.
//!
//! The earlier result selects them: it never changes, so that the choice is the same after a restart. A site gets the
//! digests of contents that it sent itself, and the index that comes of it bears the digest over them.

use std::collections::BTreeMap;
use std::sync::Arc;

use cognate_fingerprint::{ContentDigest, MethodId};
use cognate_proto::limits::SCOPE_CONTENTS_MAX;
use cognate_proto::name::{RepositoryName, ScanId, SiteName};
use cognate_proto::options::Refine;
use cognate_proto::scope::{Scope, ScopeId};
use cognate_proto::selection::{Facts, Selection};
use cognate_proto::v1;

use cognate_analysis::refine::{Choice, Choices};
use cognate_analysis::spec::ScanSpec;

use super::Scans;
use crate::error::Error;
use cognate_result::report::Report;
use cognate_storage::store::{ScanRow, ScanStep};

/// The bytes that a chunk adds to a batch: its tag and its length.
const CHUNK_BYTES_SENT: u64 = 18;
/// The bytes that a document adds: its path without the shared part, state, digest, time.
const DOCUMENT_BYTES_SENT: u64 = 48;

impl Scans {
    /// The request to each repository of a scan.
    ///
    /// # Errors
    /// Fails if the refined scan does not exist, has not ended with a result, is not about a repository, or is of the
    /// same method; or if the selection is empty or too large.
    pub(crate) fn choices(&self, spec: &ScanSpec) -> Result<Choices, Error> {
        let Some(refine) = &spec.options.refine else { return Ok(vec![None; spec.options.repositories.len()]) };
        let (row, layer) = self.refinable(refine.scan, spec)?;
        let mut found = self.contents_of(refine, (&row, layer), spec)?;
        let mut choices = Vec::new();
        for (site, repository) in &spec.options.repositories {
            let (of, contents) = found.remove(&(site.clone(), repository.clone())).ok_or_else(|| {
                Error::Refused(format!("scan {} is not about {site}/{repository}: leave it out", refine.scan))
            })?;
            let too_many = |_| {
                Error::Refused(format!(
                    "of {site}/{repository} more than {SCOPE_CONTENTS_MAX} contents are selected: select fewer, or scan all of it \
                     under this method"
                ))
            };
            let Found { digests, documents, size_bytes } = contents;
            let scope = Arc::new(Scope::new(of, digests).map_err(too_many)?);
            choices.push(Some(Choice { scope, documents, size_bytes }));
        }
        if choices.iter().flatten().all(|choice| choice.documents == 0) {
            return Err(Error::Refused(format!("scan {} leaves no documents of this kind to refine", refine.scan)));
        }
        Ok(choices)
    }

    /// The row of a scan that this one can refine, and its layer: that of the same view, or else the first.
    fn refinable(&self, id: ScanId, spec: &ScanSpec) -> Result<(ScanRow, usize), Error> {
        let row = self.records.store.scan(id)?.ok_or(Error::UnknownScan(id))?;
        let refused = |why: String| Err(Error::Refused(format!("scan {id} cannot be refined: {why}")));
        if row.step() != ScanStep::Published {
            return refused("it has no result".to_owned());
        }
        let earlier = row.options();
        if earlier.refine.is_some() {
            return refused("it is a refinement itself; refine the scan that it refines".to_owned());
        }
        let wanted = spec.first().method;
        let layers = earlier.layers().map_err(|error| Error::Invalid(error.to_string()))?;
        let layer = layers.iter().position(|layer| layer.method.view() == wanted.view()).unwrap_or(0);
        let method = layers[layer].method;
        let sampled = !wanted.capabilities().fixed_size;
        if method == wanted && !sampled {
            return refused("it is of the same method with the same parameters".to_owned());
        }
        let is_alike = (method.name(), method.view()) == (wanted.name(), wanted.view());
        if is_alike && sampled && method.chunk_bytes() <= wanted.chunk_bytes() {
            return refused(format!(
                "its chunks have a mean of {} bytes, and a refinement needs shorter ones: --chunk-bytes 100",
                method.chunk_bytes()
            ));
        }
        Ok((row, layer))
    }

    fn contents_of(
        &self,
        refine: &Refine,
        (row, layer): (&ScanRow, usize),
        spec: &ScanSpec,
    ) -> Result<FoundByPlace, Error> {
        let invalid = |error: &dyn std::fmt::Display| Error::Invalid(error.to_string());
        let mut found = BTreeMap::new();
        let mut names = Vec::new();
        for frozen in row.frozen_of(layer) {
            let site: SiteName = frozen.site.parse().map_err(|error| invalid(&error))?;
            let repository: RepositoryName = frozen.repository.parse().map_err(|error| invalid(&error))?;
            let of = cognate_proto::spec::method_id(&frozen.method_id).map_err(|error| invalid(&error))?;
            names.push((site.clone(), repository.clone()));
            found.insert((site, repository), (of, Found::default()));
        }
        let selection = Selection::new(spec.options.selection()).map_err(|error| invalid(&error))?;
        let report = Report::open(&self.analyser.published(refine.scan)?)?;
        let (linked, unmatched) = (refine.linked(), refine.unmatched());
        report.left_interesting(layer, linked, unmatched, refine.size_min_bytes, |document| {
            let place = names.iter().position(|(site, repository)| {
                (site.as_str(), repository.as_str()) == (document.site, document.repository)
            });
            let selected = selection.selects(&Facts { path: document.path, size_bytes: Some(document.size_bytes) });
            if let Some((_, found)) = place.and_then(|place| found.get_mut(&names[place])).filter(|_| selected) {
                found.digests.push(ContentDigest(document.digest));
                found.documents += 1;
                found.size_bytes += document.size_bytes;
            }
        })?;
        Ok(found)
    }

    /// The cost of a refinement for each repository: the earlier scan knows its documents.
    pub(super) fn estimate_refined(
        &self,
        spec: &ScanSpec,
        choices: &Choices,
    ) -> Result<Vec<v1::RepositoryEstimate>, Error> {
        // Each document as if it had the mean size.
        let method = spec.first().method;
        let features =
            |documents: u64, size_bytes: u64| documents * method.features_expected(size_bytes / documents.max(1));
        let mut estimates = Vec::new();
        for ((site, repository), choice) in spec.options.repositories.iter().zip(choices) {
            let Some(Choice { scope, documents, size_bytes }) = choice else { continue };
            let known = self.is_synced(site, repository, spec, scope.id())?;
            let attached = self.sessions.attached(site).is_some();
            estimates.push(v1::RepositoryEstimate {
                repository: Some(v1::RepositoryRef { site: site.to_string(), repository: repository.to_string() }),
                unknown: if attached { String::new() } else { "the site is not attached".to_owned() },
                estimate: Some(v1::Estimate {
                    documents: *documents,
                    size_bytes: *size_bytes,
                    unread_documents: if known { *documents } else { 0 },
                    unread_bytes: if known { *size_bytes } else { 0 },
                    send_bytes: match known {
                        true => 0,
                        false => features(*documents, *size_bytes) * CHUNK_BYTES_SENT + documents * DOCUMENT_BYTES_SENT,
                    },
                    ..v1::Estimate::default()
                }),
                view: String::new(),
            });
        }
        Ok(estimates)
    }

    /// True if the index of a refinement exists already.
    fn is_synced(
        &self,
        site: &SiteName,
        repository: &RepositoryName,
        spec: &ScanSpec,
        scope: ScopeId,
    ) -> Result<bool, Error> {
        let wanted = v1::MethodSpec::from(&spec.first().method);
        let all = self.analyser.indexes.all()?;
        Ok(all.iter().any(|(key, _, row)| {
            let method = row.header.as_ref().and_then(|header| header.method.as_ref());
            (&key.site, &key.repository, key.scope) == (site, repository, Some(scope))
                && row.sealed
                && method.is_some_and(|method| cognate_proto::spec::is_same(method, &wanted))
        }))
    }
}

/// The documents that an earlier scan selects in each repository, and its method.
type FoundByPlace = BTreeMap<(SiteName, RepositoryName), (MethodId, Found)>;

/// The documents that an earlier scan selects in a repository.
#[derive(Default)]
struct Found {
    digests: Vec<ContentDigest>,
    documents: u64,
    size_bytes: u64,
}
