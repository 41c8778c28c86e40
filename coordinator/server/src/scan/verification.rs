//! The second reading: documents that a method only proposes are read again under the method that verifies them.
//!
//! `fuzzy` finds pairs whose first letters agree, `similarity-index` pairs whose numbers are near. Term vectors or
//! chunks confirm or reject them. Sites are asked for the proposed documents and no others: an index with a scope, as a
//! refinement has. Within one process everything is read again, because no site has to be spared.

use std::sync::Arc;

use cognate_analysis::refine::Choices;
use cognate_analysis::second::{SECOND, SecondReading};
use cognate_analysis::spec::{Layer, ScanSpec};
use cognate_proto::options::ScanOptions;

use super::{Scan, Scans, not_synced, slot};
use crate::error::Error;
use cognate_storage::indexes::Sealed;
use cognate_storage::store::{MissingRow, ScanRow};

impl Scans {
    /// Has documents read again if the methods of a synced scan only propose pairs.
    pub(super) async fn read_again(self: &Arc<Scans>, scan: &Arc<Scan>, mut row: ScanRow) -> Result<ScanRow, Error> {
        for layer in 0..scan.spec.layers.len() {
            let Some(method) = scan.spec.layers[layer].method.verifier() else { continue };
            let turn = tokio::select! {
                turn = self.analyses.acquire() => turn.expect("it is never closed"),
                () = scan.stopped() => return Err(Error::Cancelled),
            };
            let (scans, proposing, now) = (Arc::clone(self), Arc::clone(scan), row.clone());
            let choosing =
                cognate_storage::disk::off_tasks(move || scans.analyser.proposed(&proposing, &now, layer)).await;
            drop(turn);
            let choice = choosing.map_err(|_| Error::Refused("the choice crashed: see the log".to_owned()))??;
            let Some(SecondReading { repositories, choices }) = choice else { continue };
            let again = Layer { method, method_id: None, thresholds: scan.spec.layers[layer].thresholds };
            let options = ScanOptions { repositories, refine: None, ..scan.spec.options.clone() };
            let spec = ScanSpec { options, layers: vec![again], ..scan.spec.clone() };
            self.sync_again(scan, &spec, &choices, (&mut row, layer)).await?;
        }
        Ok(row)
    }

    /// Brings the indexes of the second reading up to date. A site that misses it takes no part in the scan.
    async fn sync_again(
        &self,
        scan: &Scan,
        spec: &ScanSpec,
        choices: &Choices,
        (row, layer): (&mut ScanRow, usize),
    ) -> Result<(), Error> {
        let place = SECOND + layer;
        if spec.options.no_sync {
            let method_id = self.common_method_id(spec, &spec.layers[0], choices)?;
            for ((site, repository), choice) in spec.options.repositories.iter().zip(choices) {
                let key = slot(site, repository, method_id, choice.as_ref());
                let Some(sealed) = self.analyser.indexes.sealed(&key)? else {
                    return Err(not_synced(site, repository, &spec.layers[0]));
                };
                let summary = self.analyser.indexes.summary(sealed.id)?;
                row.frozen.push(self.row_of(&key, place, choice.as_ref(), &sealed, summary)?);
            }
            return Ok(());
        }
        let synced = self.sync_all(scan, spec, choices, row.started).await?;
        for ((site, repository), (outcome, choice)) in
            spec.options.repositories.iter().zip(synced.repositories.into_iter().zip(choices))
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
                        format!("the proposals of `{}` cannot be verified: {reason}", scan.spec.first().method.name());
                    row.frozen
                        .retain(|one| (&one.site, &one.repository) != (&site.to_string(), &repository.to_string()));
                    row.missing.push(MissingRow { site: site.to_string(), repository: repository.to_string(), reason });
                }
            }
        }
        self.check_missing(&scan.spec, row)
    }
}
