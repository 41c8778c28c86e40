//! A scan that waits for disk space: it stays at its recorded step, reports the reason, and continues once there is
//! space.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cognate_proto::name::ScanId;

use super::Scan;
use super::{Scans, chain};
use crate::error::{Error, ErrorKind};
use cognate_storage::disk::blocking;
use cognate_storage::store::ScanRow;

/// The first wait, and the longest: each is twice as long as the last.
const WAITS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// The additional bytes that must be free, over those at the stop, for an attempt.
const MORE_BYTES: u64 = 1 << 20;
/// The time after which an attempt is made in any case: the cause may have been a quota.
const WAITED_MAX: Duration = Duration::from_secs(15 * 60);

impl Scans {
    /// Carries out the steps of a scan, again whenever space has been freed for them.
    pub(super) async fn steps_with_room(
        self: &Arc<Scans>,
        scan: &Arc<Scan>,
        mut row: ScanRow,
    ) -> Result<PathBuf, Error> {
        loop {
            let error = match self.steps(scan, row).await {
                Err(error) if error.kind() == ErrorKind::Exhausted => error,
                done => return done,
            };
            let folder = self.analyser.scan_folder(scan.id);
            let (scans, id) = (Arc::clone(self), scan.id);
            blocking(move || scans.analyser.remove_unfinished(id)).await?;
            let reason = format!("no disk space in `{}`: {}; free some space there", folder.display(), chain(&error));
            if scan.spec.in_process {
                return Err(Error::Full(format!("{reason} and try again")));
            }
            tracing::warn!(scan = %scan.id, %reason, "a scan waits for disk space");
            let free_bytes = free_bytes(&self.analyser.folder);
            let text = format!("{reason}, and the scan continues by itself");
            scan.progress.send_modify(|progress| progress.waiting = Some(text));
            self.wait_for_room(scan, free_bytes).await?;
            scan.progress.send_modify(|progress| progress.waiting = None);
            tracing::info!(scan = %scan.id, "a scan continues");
            // The step that the failed attempt had recorded counts.
            row = self.records.store.scan(scan.id)?.ok_or(Error::UnknownScan(scan.id))?;
        }
    }

    /// Waits until more space is free than before, somebody asks, or a time limit has passed.
    async fn wait_for_room(&self, scan: &Scan, before_bytes: Option<u64>) -> Result<(), Error> {
        let (mut wait, mut waited) = (WAITS.0, Duration::ZERO);
        loop {
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = scan.asked() => return Ok(()),
                () = scan.stopped() => return Err(Error::Cancelled),
            }
            waited += wait;
            wait = (2 * wait).min(WAITS.1);
            let more = match (before_bytes, free_bytes(&self.analyser.folder)) {
                (Some(before), Some(now)) => now >= before.saturating_add(MORE_BYTES),
                _ => true,
            };
            if more || waited >= WAITED_MAX {
                return Ok(());
            }
        }
    }

    /// Makes a waiting scan try at once.
    pub(crate) fn ask(&self, id: ScanId) {
        if let Some(scan) = self.lock().get(&id) {
            scan.ask();
        }
    }
}

/// The free bytes on the disk of a folder, if the system reports them.
fn free_bytes(folder: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(folder).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}
