//! The files that a scan takes over from earlier scans, and the files of its own that it keeps for later ones.

use std::cmp::Reverse;

use cognate_fingerprint::MethodId;
use cognate_proto::name::ScanId;
use cognate_storage::store::{ScanRow, ScanStep};

use crate::analyser::Analyser;
use crate::checkpoint::{self, Checkpoint};
use crate::error::Error;
use crate::fine::FineFiles;
use crate::spec::ScanJob;

/// Number of earlier scans whose fine chunks are used.
const EARLIER_MAX: usize = 4;

impl Analyser {
    /// The answers that the latest published scans under a method had from sites, whatever else they were about: a scan of each kind
    /// keeps its own.
    pub(crate) fn earlier_fine_chunks(&self, id: ScanId, method_id: MethodId) -> Result<Vec<FineFiles>, Error> {
        let scans = self.store.scans()?.into_iter();
        let published = scans.filter(|(other, row)| *other != id && row.step() == ScanStep::Published);
        let layers = published.flat_map(|(other, row)| {
            let of_method = (0..row.layer_count()).filter(|layer| row.method_id(*layer) == Some(method_id));
            of_method.map(|layer| (row.number, FineFiles::new(&self.scan_folder(other), layer))).collect::<Vec<_>>()
        });
        let mut earlier: Vec<(u64, FineFiles)> = layers.filter(|(_, files)| files.has_any()).collect();
        earlier.sort_unstable_by_key(|(number, _)| Reverse(*number));
        earlier.truncate(EARLIER_MAX);
        Ok(earlier.into_iter().map(|(_, files)| files).collect())
    }

    /// Output of the latest published scan for a layer of the same kind, if it still exists.
    pub(crate) fn base(&self, id: ScanId, row: &ScanRow, layer: usize) -> Result<Option<Checkpoint>, Error> {
        let Some((base, place, found)) = self.latest_alike(id, row, layer)? else { return Ok(None) };
        let Ok(binding) = found.layer(place).binding.as_slice().try_into() else { return Ok(None) };
        let checkpoint = Checkpoint::new(&self.scan_folder(base), place, binding);
        match checkpoint.links() {
            Ok(_) => {
                tracing::info!(scan = %id, %base, "it begins with what an earlier scan found");
                Ok(Some(checkpoint))
            }
            Err(error) => {
                tracing::info!(scan = %id, %base, %error, "what an earlier scan found is not used");
                Ok(None)
            }
        }
    }

    /// The latest published scan with a layer of the same kind, and the number of that layer.
    fn latest_alike(&self, id: ScanId, row: &ScanRow, layer: usize) -> Result<Option<(ScanId, usize, ScanRow)>, Error> {
        let kind = row.layer(layer).kind;
        let scans = self.store.scans()?.into_iter().filter(|(other, _)| *other != id);
        let alike = scans.filter_map(|(other, found)| Some((other, alike(&found, &kind)?, found)));
        Ok(alike.max_by_key(|(.., row)| row.number))
    }

    /// Of the layers of a kind, only the latest keeps what the next one begins with.
    pub fn keep_latest(&self, scan: &ScanJob, row: &ScanRow) -> Result<(), Error> {
        let own = self.scan_folder(scan.id);
        let scans = if scan.spec.in_process { Vec::new() } else { self.store.scans()? };
        for layer in 0..scan.spec.layers.len() {
            if scan.spec.in_process {
                checkpoint::remove(&own, layer)?;
            }
            FineFiles::new(&own, layer).remove_links();
            let kind = row.layer(layer).kind;
            for (other, found) in scans.iter().filter(|(other, _)| *other != scan.id) {
                match alike(found, &kind) {
                    None => {}
                    Some(place) if found.number < row.number => {
                        checkpoint::remove(&self.scan_folder(*other), place)?;
                        FineFiles::new(&self.scan_folder(*other), place).remove();
                    }
                    Some(_) => {
                        checkpoint::remove(&own, layer)?;
                        FineFiles::new(&own, layer).remove();
                    }
                }
            }
        }
        Ok(())
    }
}

/// Number of the layer of a published scan that is of a kind.
fn alike(found: &ScanRow, kind: &[u8]) -> Option<usize> {
    let is_alike = |layer: &usize| !kind.is_empty() && found.layer(*layer).kind == kind;
    (0..found.layer_count()).find(is_alike).filter(|_| found.step() == ScanStep::Published)
}
