//! A scan that finds no room on the disk: it stays at its recorded step, says so, and goes on once there is room.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cognate_proto::name::ScanId;

use super::spec::Scan;
use super::{Scans, chain};
use crate::error::{Error, ErrorKind};
use crate::store::ScanRow;

/// The first wait, and the longest: each is twice the one before it.
const WAITS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// So much more must be free than when the scan stopped before it is worth an attempt.
const MORE_BYTES: u64 = 1 << 20;
/// After so long it is tried in any case: what was in the way may have been a quota.
const WAITED_MAX: Duration = Duration::from_secs(15 * 60);

impl Scans {
    /// Carries out the steps of a scan, again whenever room has been made for them.
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
            let folder = self.folder.join(scan.id.to_string());
            self.remove_unfinished(scan.id)?;
            let reason = format!("no room in `{}`: {}; make room there", folder.display(), chain(&error));
            if scan.spec.in_process {
                return Err(Error::Full(format!("{reason} and try again")));
            }
            tracing::warn!(scan = %scan.id, %reason, "a scan waits for room on the disk");
            let free_bytes = free_bytes(&self.folder);
            let told = format!("{reason}, and it goes on by itself");
            scan.progress.send_modify(|progress| progress.waiting = Some(told));
            self.wait_for_room(scan, free_bytes).await?;
            scan.progress.send_modify(|progress| progress.waiting = None);
            tracing::info!(scan = %scan.id, "a scan goes on");
            // What the failed attempt had recorded before it failed counts.
            row = self.store.scan(scan.id)?.ok_or(Error::UnknownScan(scan.id))?;
        }
    }

    /// Until more is free than before, somebody asks, or it has been long.
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
            let more = match (before_bytes, free_bytes(&self.folder)) {
                (Some(before), Some(now)) => now >= before.saturating_add(MORE_BYTES),
                _ => true,
            };
            if more || waited >= WAITED_MAX {
                return Ok(());
            }
        }
    }

    /// Has a scan that waits try at once.
    pub(crate) fn ask(&self, id: ScanId) {
        if let Some(scan) = self.lock().get(&id) {
            scan.ask();
        }
    }
}

/// How much is free on the disk of a folder, where the system tells it.
fn free_bytes(folder: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(folder).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}
