//! Launching scans, following them, and continuing those that an earlier process was cut off in.

use std::cmp::Reverse;
use std::sync::Arc;

use cognate_analysis::AnalysisLimits;
use cognate_analysis::spec::ScanSpec;
use cognate_fingerprint::Method;
use cognate_proto::name::{ScanId, SiteName};
use cognate_proto::options::ScanOptions;
use cognate_proto::v1::{self, MemberKind, MemberStatus};
use cognate_storage::clock::random_number;
use cognate_storage::store::{ScanRow, ScanStep, Store};
use tokio::sync::watch;

use super::Scans;
use super::running::{Scan, ScanProgress};
use crate::error::Error;

/// The scans under way of one person, and of all.
const OWN_MAX: usize = 16;
const ALL_MAX: usize = 256;

impl Scans {
    /// Ends the scans that an earlier process was cut off in, and removes what they left half done.
    ///
    /// # Errors
    /// Fails if the store fails, or something cannot be removed.
    pub fn end_interrupted(&self) -> Result<(), Error> {
        for (id, mut row) in self.records.store.scans()? {
            if !row.step().is_under_way() {
                continue;
            }
            tracing::info!(scan = %id, "a scan was interrupted");
            row.fail(v1::FailureKind::Interrupted, "interrupted");
            row.finished = self.records.now();
            self.analyser.record(id, &row)?;
            self.remove_folder(id)?;
        }
        Ok(())
    }

    /// Continues the scans that an earlier process was cut off in, each from its last step, on the current runtime.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub fn carry_on(self: &Arc<Self>, limits: &AnalysisLimits) -> Result<(), Error> {
        let under_way: Vec<(ScanId, ScanRow)> =
            self.records.store.scans()?.into_iter().filter(|(_, row)| row.step().is_under_way()).collect();
        let mut scans = Vec::new();
        for (id, row) in under_way {
            let spec = match ScanSpec::new(row.options(), limits) {
                Ok(spec) => spec,
                Err(error) => {
                    let mut row = row;
                    row.fail(v1::FailureKind::Other, format!("it cannot continue: {error}"));
                    row.finished = self.records.now();
                    self.analyser.record(id, &row)?;
                    continue;
                }
            };
            let scan = Arc::new(Scan::new(id, spec));
            // Incomplete files are written again.
            if row.step() == ScanStep::Analysed {
                self.analyser.remove_unfinished(id)?;
            } else {
                self.remove_folder(id)?;
            }
            tracing::info!(scan = %id, step = ?row.step(), "a scan continues");
            scans.push((scan, row));
        }
        for (scan, row) in scans {
            self.start(scan, row);
        }
        Ok(())
    }

    /// Launches a scan within this process. It runs on the current runtime until it ends or is cancelled.
    ///
    /// # Errors
    /// Fails if it names a site that was never admitted.
    pub fn launch(self: &Arc<Self>, spec: ScanSpec) -> Result<ScanId, Error> {
        self.check_sites(&spec)?;
        self.analyser.spark.check(&spec.options)?;
        let id = ScanId(random_number());
        let row = self.begun(&spec.options, "", "")?;
        self.analyser.record(id, &row)?;
        self.start(Arc::new(Scan::new(id, spec)), row);
        Ok(id)
    }

    /// Launches a scan under an id that the caller made, which people call by a name, or by none. A repeated request has no
    /// effect.
    ///
    /// # Errors
    /// Fails if it is invalid, names an unknown site or scan, is impossible in the present state, or another scan has
    /// the id.
    pub fn launch_as(
        self: &Arc<Self>,
        id: ScanId,
        wanted: ScanOptions,
        name: &str,
        by: &str,
        limits: &AnalysisLimits,
    ) -> Result<(), Error> {
        let _one_at_a_time = self.launching.lock().expect("nothing panics while it is held");
        if let Some(row) = self.records.store.scan(id)? {
            if row.options() == wanted {
                return Ok(());
            }
            return Err(Error::Exists(format!("there is another scan {id}: choose another id")));
        }
        if id.0 == 0 {
            return Err(Error::Invalid("`scan`: an id is a number other than 0".to_owned()));
        }
        let spec = ScanSpec::new(wanted, limits)?;
        self.check_sites(&spec)?;
        self.check_launch(&spec)?;
        self.check_sample(&spec)?;
        self.check_under_way(by)?;
        let row = self.begun(&spec.options, name, by)?;
        self.analyser.record(id, &row)?;
        tracing::info!(scan = %id, by, "a scan is launched");
        self.start(Arc::new(Scan::new(id, spec)), row);
        Ok(())
    }

    fn begun(&self, options: &ScanOptions, name: &str, by: &str) -> Result<ScanRow, Error> {
        Ok(ScanRow {
            options: Some(options.into()),
            step: ScanStep::Syncing.into(),
            started: self.records.now(),
            launched_by: by.to_owned(),
            name: name.to_owned(),
            number: self.records.store.next_number()?,
            ..ScanRow::default()
        })
    }

    /// Checks that somebody has not too many scans under way: each has its own state, and all wait for the same turns.
    fn check_under_way(&self, by: &str) -> Result<(), Error> {
        let ids: Vec<ScanId> = self.lock().keys().copied().collect();
        let (mut own, mut all) = (0, 0);
        for id in &ids {
            // Of a scan that has ended, as its row says, a task may still be there for a moment.
            let Some(row) = self.records.store.scan(*id)?.filter(|row| row.step().is_under_way()) else { continue };
            all += 1;
            own += usize::from(row.launched_by == by);
        }
        let refused = match (own >= OWN_MAX, all >= ALL_MAX) {
            (true, _) => format!("`{by}` has {OWN_MAX} scans under way already"),
            (false, true) => format!("{ALL_MAX} scans are under way already"),
            (false, false) => return Ok(()),
        };
        Err(Error::Refused(format!("{refused}: wait for one, or cancel it")))
    }

    fn check_sites(&self, spec: &ScanSpec) -> Result<(), Error> {
        spec.options.repositories.iter().try_for_each(|(site, _)| check_member(&self.records.store, site))
    }

    /// Refuses a sample of a repository whose index has more: the sync of the sample would remove what was sent.
    fn check_sample(&self, spec: &ScanSpec) -> Result<(), Error> {
        if spec.options.sample_percent.is_none() {
            return Ok(());
        }
        let mut scans = self.records.store.scans()?;
        scans.sort_unstable_by_key(|(_, row)| Reverse(row.number));
        for (key, _, row) in self.analyser.indexes.all()? {
            let method = row.header.as_ref().and_then(|header| Method::try_from(header.method.as_ref()?).ok());
            let is_asked = spec.options.repositories.contains(&(key.site.clone(), key.repository.clone()))
                && spec.layers.iter().any(|layer| Some(layer.method) == method);
            if !row.sealed || key.scope.is_some() || !is_asked {
                continue;
            }
            let is_of_key = |scan: &ScanRow| scan.frozen.iter().any(|frozen| frozen.slot().as_ref() == Some(&key));
            // An index that no scan has used is of a site's own schedule.
            let latest = scans.iter().find(|(_, scan)| is_of_key(scan));
            if latest.is_none_or(|(_, scan)| scan.options().sample_percent.is_none()) {
                return Err(Error::Refused(format!(
                    "{}/{} has an index, which an estimate would reduce to a sample: launch the scan without --estimate; it \
                     reads what has changed alone, and with --no-sync nothing",
                    key.site, key.repository
                )));
            }
        }
        Ok(())
    }

    fn start(self: &Arc<Self>, scan: Arc<Scan>, row: ScanRow) {
        self.lock().insert(scan.id, Arc::clone(&scan));
        crate::tasks::spawn(Arc::clone(self).run(scan, row));
    }

    /// Follows a scan that is under way.
    ///
    /// # Errors
    /// Fails if there is no such scan.
    pub fn watch(&self, id: ScanId) -> Result<watch::Receiver<ScanProgress>, Error> {
        self.lock().get(&id).map(|scan| scan.progress.subscribe()).ok_or(Error::UnknownScan(id))
    }

    /// Asks a scan to stop. It does so at the next opportunity, and leaves nothing behind.
    pub fn cancel(&self, id: ScanId) {
        if let Some(scan) = self.lock().get(&id) {
            scan.cancel();
        }
    }

    /// Stops all scans where they are. They continue at the next start.
    pub fn halt(&self) {
        self.lock().values().for_each(|scan| scan.halt());
    }

    fn remove_folder(&self, id: ScanId) -> Result<(), Error> {
        let folder = self.analyser.scan_folder(id);
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::state(&folder)(error)),
            _ => Ok(()),
        }
    }
}

/// Refuses a site that cannot take part: it was revoked, has not enrolled yet, or is none.
///
/// # Errors
/// Fails if it cannot, or the store cannot be read.
pub(crate) fn check_member(store: &Store, site: &SiteName) -> Result<(), Error> {
    let refused = |why: &str| Err(Error::Refused(format!("site `{site}` {why}")));
    match store.member(MemberKind::Site, site.as_str())?.map(|row| row.status()) {
        Some(MemberStatus::Active) => Ok(()),
        Some(MemberStatus::Revoked) => refused("is revoked: `cognate site invite` lets it enrol again"),
        Some(MemberStatus::Invited) => refused("has not enrolled yet: its invitation is open"),
        Some(MemberStatus::Unspecified) | None => Err(Error::UnknownSite(site.clone())),
    }
}
