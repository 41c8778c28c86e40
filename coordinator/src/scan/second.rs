//! The second reading: what a method only proposes is read again under the method that verifies it.
//!
//! `fuzzy` finds pairs whose first letters agree, `similarity-index` pairs whose numbers are near. Whether there is anything
//! to it, term vectors say, or chunks. Sites are asked for those of the documents that were proposed and of no others: an
//! index with a scope, as a refinement has. Within one process everything is read again, since nobody is to be spared.

use std::collections::BTreeMap;
use std::sync::Arc;

use cognate_fingerprint::{ContentDigest, Method, is_hit};
use cognate_proto::limits::SCOPE_CONTENTS_MAX;
use cognate_proto::name::{RepositoryName, SiteName};
use cognate_proto::scope::Scope;
use cognate_proto::selection::Selection;
use cognate_similarity::{Error as EngineError, RunShards, Shards as _};

use super::analyse::Task;
use super::freeze::Frozen;
use super::refine::{Choice, Choices};
use super::spec::{Layer, Scan, ScanSpec};
use super::subject::Subject;
use super::{Scans, slot};
use crate::error::Error;
use crate::indexes::Sealed;
use crate::store::{MissingRow, ScanRow};

/// Where the indexes of the second reading of a layer stand among the layers of a scan's row.
const SECOND: usize = 16;

/// Which repositories are asked, and for what.
type Asked = (Vec<(SiteName, RepositoryName)>, Choices);

/// A layer as it was read again.
pub(super) struct Second {
    pub(super) frozen: Frozen,
    /// Of each content that was read again, its number where it was proposed.
    pub(super) numbers: Vec<Option<u32>>,
}

/// The rows of a scan, if any, that are of the second reading of a repository.
pub(crate) fn rows_of<'r>(
    row: &'r ScanRow,
    site: &'r str,
    repository: &'r str,
) -> impl Iterator<Item = &'r crate::store::FrozenRow> {
    let is_second = |layer: u32| usize::try_from(layer).is_ok_and(|layer| layer >= SECOND);
    let rows = row.frozen.iter().filter(move |one| is_second(one.layer));
    rows.filter(move |one| (one.site.as_str(), one.repository.as_str()) == (site, repository))
}

impl Scans {
    /// Has what the methods of a synced scan propose read again, where they do no more.
    pub(super) async fn read_again(self: &Arc<Scans>, scan: &Arc<Scan>, mut row: ScanRow) -> Result<ScanRow, Error> {
        for layer in 0..scan.spec.layers.len() {
            let Some(method) = scan.spec.layers[layer].method.verifier() else { continue };
            let turn = tokio::select! {
                turn = self.analyses.acquire() => turn.expect("it is never closed"),
                () = scan.stopped() => return Err(Error::Cancelled),
            };
            let (scans, proposing, now) = (Arc::clone(self), Arc::clone(scan), row.clone());
            let choosing = tokio::task::spawn_blocking(move || scans.proposed(&proposing, &now, layer)).await;
            drop(turn);
            let crashed = |_| Err(Error::Refused("the choice crashed: see the log".to_owned()));
            let Some((repositories, choices)) = choosing.unwrap_or_else(crashed)? else { continue };
            let again = Layer { method, method_id: None, thresholds: scan.spec.layers[layer].thresholds };
            let spec = ScanSpec { repositories, layers: vec![again], refine: None, ..scan.spec.clone() };
            self.sync_again(scan, &spec, &choices, (&mut row, layer)).await?;
        }
        Ok(row)
    }

    /// What each repository is asked for again; nothing where nothing is proposed.
    fn proposed(&self, scan: &Scan, row: &ScanRow, layer: usize) -> Result<Option<Asked>, Error> {
        let frozen = self.frozen_alone(scan, (row, layer), &scan.spec.layers[layer].method)?;
        let subject = Subject::of(&frozen, scan.spec.across_only);
        let contents = self.task(scan, layer, &subject, |task| task.proposed_contents())?;
        if contents.is_empty() {
            return Ok(None);
        }
        let mut chosen: BTreeMap<u16, (Vec<ContentDigest>, u64, u64)> = BTreeMap::new();
        for document in &frozen.documents {
            if contents.binary_search(&document.content.0).is_ok() {
                let content = &frozen.contents[document.content.0 as usize];
                let (digests, documents, size_bytes) = chosen.entry(document.root).or_default();
                digests.push(content.digest);
                *documents += 1;
                *size_bytes += content.size_bytes;
            }
        }
        let of = row.method_id(layer).ok_or_else(|| Error::Refused("a scan without a method".to_owned()))?;
        let (mut repositories, mut choices) = (Vec::new(), Vec::new());
        for (root, place) in (0..).zip(&frozen.roots) {
            repositories.push((place.site.clone(), place.repository.clone()));
            let (digests, documents, size_bytes) = chosen.remove(&root).unwrap_or_default();
            if scan.spec.in_process {
                choices.push(None);
                continue;
            }
            let scope = Scope::new(of, digests).map_err(|_| {
                Error::Refused(format!(
                    "more than {SCOPE_CONTENTS_MAX} contents of {}/{} are proposed and would have to be verified: use a method \
                     that needs no verification",
                    place.site, place.repository
                ))
            })?;
            choices.push(Some(Choice { scope: Arc::new(scope), documents, size_bytes }));
        }
        Ok(Some((repositories, choices)))
    }

    /// Brings the indexes of the second reading up to date. Who does not take part in it takes no part in the scan.
    async fn sync_again(
        &self,
        scan: &Scan,
        spec: &ScanSpec,
        choices: &Choices,
        (row, layer): (&mut ScanRow, usize),
    ) -> Result<(), Error> {
        let place = SECOND + layer;
        if !spec.sync {
            let method_id = self.common_method_id(spec, &spec.layers[0], choices)?;
            for ((site, repository), choice) in spec.repositories.iter().zip(choices) {
                let key = slot(site, repository, method_id, choice.as_ref());
                let Some(sealed) = self.indexes.sealed(&key)? else {
                    return Err(Error::NotSynced { site: site.clone(), repository: repository.clone() });
                };
                let summary = self.indexes.summary(sealed.id)?;
                row.frozen.push(self.row_of(&key, place, choice.as_ref(), &sealed, summary)?);
            }
            return Ok(());
        }
        let synced = self.sync_all(scan, spec, choices, row.started).await?;
        for ((site, repository), (outcome, choice)) in
            spec.repositories.iter().zip(synced.repositories.into_iter().zip(choices))
        {
            match outcome {
                Ok(mut one) => {
                    let (sealed, summary) = one.pop().expect("one layer was asked for");
                    let key = slot(site, repository, sealed.method_id, choice.as_ref());
                    let at = Sealed { id: sealed.id, sequence: sealed.sequence };
                    row.frozen.push(self.row_of(&key, place, choice.as_ref(), &at, summary)?);
                }
                Err(reason) => {
                    let reason =
                        format!("what `{}` proposes cannot be verified: {reason}", scan.spec.first().method.name());
                    row.frozen
                        .retain(|one| (&one.site, &one.repository) != (&site.to_string(), &repository.to_string()));
                    row.missing.push(MissingRow { site: site.to_string(), repository: repository.to_string(), reason });
                }
            }
        }
        self.check_missing(scan, row)
    }

    /// What was read again of a layer; nothing where nothing was proposed.
    pub(super) fn second(
        &self,
        scan: &Scan,
        (row, layer): (&ScanRow, usize),
        frozen: &Frozen,
    ) -> Result<Option<Second>, Error> {
        let Some(method) = scan.spec.layers[layer].method.verifier() else { return Ok(None) };
        if row.frozen_of(SECOND + layer).next().is_none() {
            return Ok(None);
        }
        let second = self.frozen_alone(scan, (row, SECOND + layer), &method)?;
        let mut numbers = vec![None; second.contents.len()];
        // Both lists are by root and path: the same document is at most one step ahead.
        let mut first = frozen.documents.iter().peekable();
        for document in &second.documents {
            let key = (document.root, &document.path);
            while first.next_if(|other| (other.root, &other.path) < key).is_some() {}
            let Some(same) = first.peek().filter(|other| (other.root, &other.path) == key) else { continue };
            let sizes = [&second.contents[document.content.0 as usize], &frozen.contents[same.content.0 as usize]];
            // One that has changed meanwhile is not what was proposed.
            if sizes[0].size_bytes == sizes[1].size_bytes {
                numbers[document.content.0 as usize].get_or_insert(same.content.0);
            }
        }
        Ok(Some(Second { frozen: second, numbers }))
    }

    /// A layer without what other layers say of it.
    fn frozen_alone(&self, scan: &Scan, at: (&ScanRow, usize), method: &Method) -> Result<Frozen, Error> {
        let selection = Selection::new(scan.spec.selection.clone()).map_err(|e| Error::Invalid(e.to_string()))?;
        let mut frozen = Frozen::build(&self.indexes, at, method, &selection, None)?;
        frozen.set_controls(&scan.spec.control)?;
        Ok(frozen)
    }
}

impl Task<'_> {
    /// The contents of which the method proposes a pair, ascending.
    fn proposed_contents(&self) -> Result<Vec<u32>, Error> {
        let method = &self.scan.spec.layers[self.layer].method;
        let mut contents: Vec<u32> = match method.verified_by() {
            Some("tttd") => {
                let mut all: Vec<(i128, u32)> = (0..)
                    .zip(indexes_of(&self.subject.frozen.shards, self.subject.frozen.contents.len())?)
                    .filter_map(|(content, index)| Some((index?, content)))
                    .collect();
                all.sort_unstable();
                // Hits are near to each other: who has none beside him has none.
                let pairs = all.windows(2).filter(|pair| is_near(pair[0].0, pair[1].0));
                pairs.flat_map(|pair| [pair[0].1, pair[1].1]).collect()
            }
            _ => self.candidates(method)?.into_iter().flat_map(|(a, b)| [a, b]).collect(),
        };
        contents.sort_unstable();
        contents.dedup();
        Ok(contents)
    }
}

/// Whether one of two indexes is a hit for the other: that is not always both ways.
pub(super) fn is_near(a: i128, b: i128) -> bool {
    is_hit(a, b) || is_hit(b, a)
}

/// The index of each content, where it has one.
pub(super) fn indexes_of(shards: &RunShards, contents: usize) -> Result<Vec<Option<i128>>, EngineError> {
    let mut indexes = vec![None; contents];
    for shard in 0..shards.shard_count() {
        shards.visit(shard, &mut |postings| {
            for posting in postings {
                indexes[posting.content.0 as usize] = Some(i128::from_be_bytes(posting.tag.0));
            }
            Ok(())
        })?;
    }
    Ok(indexes)
}
