//! The manifests of a result's contents, from the indexes as they are now.

use cognate_fingerprint::ContentDigest;
use cognate_proto::name::ScanId;
use cognate_storage::indexes::Manifest;
use cognate_storage::store::{FrozenRow, ScanStep, SlotKey};

use crate::analyser::Analyser;
use crate::error::Error;

impl Analyser {
    /// The manifests of contents of a layer of a scan that has a result, in the order that they are asked for; nothing for
    /// those that later syncs took away. Of a content that sites describe differently, the manifest that two of them sent
    /// comes before that of the first.
    ///
    /// # Errors
    /// Fails if the scan has no result, a content has too many chunks, or a segment cannot be read.
    pub fn manifests(
        &self,
        scan: ScanId,
        layer: usize,
        digests: &[ContentDigest],
    ) -> Result<Vec<Option<Manifest>>, Error> {
        let row = self.store.scan(scan)?.filter(|row| row.step() == ScanStep::Published);
        let row = row.ok_or_else(|| Error::Refused(format!("scan {scan} has no result")))?;
        let keys: Vec<SlotKey> = row.frozen_of(layer).filter_map(FrozenRow::slot).collect();
        let _hold = self.indexes.hold(keys.iter().map(|key| (key.site.to_string(), key.repository.to_string())));
        let find = |digest: &ContentDigest| -> Result<Option<Manifest>, Error> {
            let mut sent: Vec<Manifest> = Vec::new();
            for key in &keys {
                let Some(found) = self.indexes.manifest(key, *digest)? else { continue };
                if sent.iter().any(|other| other.chunks == found.chunks) {
                    return Ok(Some(found));
                }
                sent.push(found);
            }
            Ok(sent.into_iter().next())
        };
        digests.iter().map(find).collect()
    }
}
