//! The second reading: what a method only proposes is read again under the method that verifies it.
//!
//! `fuzzy` finds pairs whose first letters agree, `similarity-index` pairs whose numbers are near. Term vectors
//! or chunks decide which of these pairs are links. Sites send them for the proposed documents alone: an index with a scope, as a
//! refinement has. Within one process everything is read again, since there is no site to spare.

use std::collections::BTreeMap;
use std::sync::Arc;

use cognate_fingerprint::{ContentDigest, Method, Verification, is_hit};
use cognate_proto::limits::SCOPE_CONTENTS_MAX;
use cognate_proto::name::{RepositoryName, SiteName};
use cognate_proto::scope::Scope;
use cognate_similarity::{Error as EngineError, RunShards, Shards as _};

use crate::analyser::Analyser;
use crate::compare::Task;
use crate::error::Error;
use crate::freeze::{FreezeRequest, FrozenSet, OtherLayer};
use crate::refine::{Choice, Choices};
use crate::spec::{Comparison, ScanJob};
use crate::subject::Subject;
use cognate_storage::store::ScanRow;

/// First number of the layers of a scan's row that hold the indexes of the second reading.
pub const SECOND: usize = 16;

/// The repositories whose documents are read again, and the contents that each of them sends.
pub struct SecondReading {
    /// The repositories.
    pub repositories: Vec<(SiteName, RepositoryName)>,
    /// For each of them the contents; none for all.
    pub choices: Choices,
}

/// A layer as it was read again.
pub(crate) struct Second {
    pub(crate) frozen: FrozenSet,
    /// Of each content that was read again, its number where it was proposed.
    pub(crate) numbers: Vec<Option<u32>>,
}

/// The rows of a scan, if any, that are of the second reading of a repository.
pub(crate) fn rows_of<'r>(
    row: &'r ScanRow,
    site: &'r str,
    repository: &'r str,
) -> impl Iterator<Item = &'r cognate_storage::store::FrozenRow> {
    let is_second = |layer: u32| usize::try_from(layer).is_ok_and(|layer| layer >= SECOND);
    let rows = row.frozen.iter().filter(move |one| is_second(one.layer));
    rows.filter(move |one| (one.site.as_str(), one.repository.as_str()) == (site, repository))
}

impl Analyser {
    /// The contents that each repository is asked for again; nothing if nothing is proposed.
    pub fn proposed(&self, scan: &ScanJob, row: &ScanRow, layer: usize) -> Result<Option<SecondReading>, Error> {
        let Comparison::Proposals(verification) = scan.spec.comparison(layer) else { return Ok(None) };
        let frozen = self.frozen_alone(scan, row, layer, &scan.spec.layers[layer].method)?;
        let subject = Subject::of(&frozen, scan.spec.options.across_only);
        let contents = self.task(scan, layer, &subject, |task| task.proposed_contents(verification))?;
        if contents.is_empty() {
            return Ok(None);
        }
        let mut chosen: BTreeMap<u16, (Vec<ContentDigest>, u64, u64)> = BTreeMap::new();
        for document in &frozen.documents {
            if contents.binary_search(&document.content.0).is_ok() {
                let content = &frozen.contents[document.content.0 as usize];
                let (digests, documents, size_bytes) = chosen.entry(document.root).or_default();
                digests.push(frozen.digest_at_site(content));
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
        Ok(Some(SecondReading { repositories, choices }))
    }

    /// The second reading of a layer; nothing if nothing was proposed.
    pub(crate) fn second(
        &self,
        scan: &ScanJob,
        row: &ScanRow,
        layer: usize,
        frozen: &FrozenSet,
    ) -> Result<Option<Second>, Error> {
        let Some(method) = scan.spec.layers[layer].method.verifier() else { return Ok(None) };
        if row.frozen_of(SECOND + layer).next().is_none() {
            return Ok(None);
        }
        let second = self.frozen_alone(scan, row, SECOND + layer, &method)?;
        let mut numbers = vec![None; second.contents.len()];
        // Both lists are by root and path: the same document is at most one step ahead.
        let mut first = frozen.documents.iter().peekable();
        for document in &second.documents {
            let key = (document.root, second.path(document));
            while first.next_if(|other| (other.root, frozen.path(other)) < key).is_some() {}
            let Some(same) = first.peek().filter(|other| (other.root, frozen.path(other)) == key) else { continue };
            let sizes = [&second.contents[document.content.0 as usize], &frozen.contents[same.content.0 as usize]];
            // One that has changed meanwhile is not what was proposed.
            if sizes[0].size_bytes == sizes[1].size_bytes {
                numbers[document.content.0 as usize].get_or_insert(same.content.0);
            }
        }
        Ok(Some(Second { frozen: second, numbers }))
    }

    /// A layer without what other layers say of it.
    fn frozen_alone(&self, scan: &ScanJob, row: &ScanRow, layer: usize, method: &Method) -> Result<FrozenSet, Error> {
        let selection = scan.spec.selection()?;
        let (indexes, other_layer) = (&*self.indexes, OtherLayer::None);
        let mut frozen =
            FrozenSet::build(&FreezeRequest { indexes, row, layer, method, selection: &selection, other_layer })?;
        frozen.set_controls(&scan.spec.options.control)?;
        Ok(frozen)
    }
}

impl Task<'_> {
    /// The contents of which the method proposes a pair, ascending.
    fn proposed_contents(&self, verification: Verification) -> Result<Vec<u32>, Error> {
        let mut contents: Vec<u32> = match verification {
            Verification::Chunks => {
                let mut all: Vec<(i128, u32)> = (0..)
                    .zip(indexes_of(&self.subject.frozen.shards, self.subject.frozen.contents.len())?)
                    .filter_map(|(content, index)| Some((index?, content)))
                    .collect();
                all.sort_unstable();
                // Hits are near to each other: a document without a hit next to it has none.
                let pairs = all.windows(2).filter(|pair| is_near(pair[0].0, pair[1].0));
                pairs.flat_map(|pair| [pair[0].1, pair[1].1]).collect()
            }
            Verification::Cosine => self.candidates()?.into_iter().flat_map(|(a, b)| [a, b]).collect(),
        };
        contents.sort_unstable();
        contents.dedup();
        Ok(contents)
    }
}

/// True if one of two indexes is a hit for the other: that is not always symmetric.
pub(crate) fn is_near(a: i128, b: i128) -> bool {
    is_hit(a, b) || is_hit(b, a)
}

/// The index of each content, where it has one.
pub(crate) fn indexes_of(shards: &RunShards, contents: usize) -> Result<Vec<Option<i128>>, EngineError> {
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
