//! A scan: one analysis over a frozen set of indexes, in steps that are each done once.
//!
//! `Syncing` brings the indexes up to date, `Frozen` fixes the indexes and their batches, `Analysed` has all links,
//! clusters and overlap in files, `Published` means that the result exists. The step is written to the store ahead of
//! the next one, so that a scan continues after a restart: synced indexes are level, frozen ones are held, and a result
//! is the same however often it is begun.

mod disk_wait;
mod estimate;
mod fine;
mod fine_questions;
mod launch;
mod refinement;
mod running;
mod site_wait;
mod state;
mod sync;
mod verification;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use cognate_analysis::published::file_digest;
use cognate_analysis::refine::{Choice, Choices, scope_of};
use cognate_analysis::spec::{Layer, ScanSpec};
use cognate_analysis::{Analyser, Error as AnalysisError};
use cognate_fingerprint::{Key, MethodId};
use cognate_proto::name::{PartyName, RepositoryName, ScanId, SiteName};
use cognate_proto::v1::attach_response::Message as Down;
use cognate_proto::v1::{ResultNotice, SyncSummary};
use cognate_result::report::Report;
use cognate_storage::failpoint;
use cognate_storage::indexes::Sealed;
use cognate_storage::store::{FrozenRow, IndexId, MissingRow, ScanRow, ScanStep, SlotKey};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use self::fine::AttachedSites;
pub(crate) use self::launch::check_member;
pub(crate) use self::running::Scan;
pub use self::running::{RepositoryProgress, ScanEnd, ScanProgress};
use self::site_wait::SiteWait;
pub(crate) use self::state::status;
use self::sync::{Synced, until};
use crate::agreement::{Claims, Standing};
use crate::error::Error;
use crate::identity::Members;
use crate::metrics::Metrics;
use crate::session::Sessions;
use cognate_storage::disk::blocking;
use cognate_storage::records::Records;

/// The number of analyses at the same time, each with its own working memory; others wait.
pub(crate) const ANALYSES_AT_ONCE: usize = 2;
/// The number of analyses that wait for sites, whose turns others have meanwhile.
pub(crate) const ANALYSES_WAITING: usize = 2;

/// Why a site gives nothing more to a scan that runs.
const REVOKED: &str = "the site was revoked while the scan ran";

/// Launches scans and carries them out, step by step.
pub struct Scans {
    pub(crate) records: Arc<Records>,
    /// Analyses the frozen indexes.
    pub(crate) analyser: Arc<Analyser>,
    pub(crate) sessions: Arc<Sessions>,
    /// Tells when a site may have been revoked: it never comes back.
    pub(crate) members: Arc<Members>,
    pub(crate) metrics: Arc<Metrics>,
    /// One launch at a time, so that checking an id and reserving it is one step.
    pub(crate) launching: Mutex<()>,
    /// The scans of this process.
    pub(crate) running: Mutex<HashMap<ScanId, Arc<Scan>>>,
    pub(crate) analyses: Arc<Semaphore>,
    pub(crate) waiting: Arc<Semaphore>,
    /// Notified of every scan that has ended.
    pub(crate) ended: Mutex<Option<mpsc::UnboundedSender<ScanId>>>,
}

impl Scans {
    /// Carries a scan out from the step in its row.
    pub(crate) async fn run(self: Arc<Scans>, scan: Arc<Scan>, row: ScanRow) {
        let result = self.steps_with_room(&scan, row).await;
        let cancelled = matches!(&result, Err(error) if error.is_cancelled());
        if cancelled && scan.is_halted() {
            tracing::info!(scan = %scan.id, "a scan stops, and continues at the next start");
            return;
        }
        let end = match result {
            Ok(path) => ScanEnd::Published(path),
            Err(_) if cancelled => ScanEnd::Cancelled,
            Err(error) => ScanEnd::Failed { kind: error.failure_kind(), reason: chain(&error) },
        };
        let (scans, id, ending) = (Arc::clone(&self), scan.id, end.clone());
        if let Err(error) = blocking(move || scans.settle(id, &ending)).await {
            tracing::error!(scan = %scan.id, %error, "the end of a scan cannot be recorded");
        }
        self.report_end(&scan, &end);
        scan.progress.send_modify(|progress| progress.ended = Some(end));
        if !scan.spec.in_process {
            self.lock().remove(&scan.id);
        }
    }

    /// Records the end of a scan, and removes what nobody needs after it.
    fn settle(&self, id: ScanId, end: &ScanEnd) -> Result<(), Error> {
        let recorded = self.record_end(id, end);
        // Not before that is on record: a record that failed may be in the journal nevertheless, and say that there is a result.
        if recorded.is_ok() && !matches!(end, ScanEnd::Published(_)) {
            // Files of an interrupted analysis are useless; those that cannot be removed now are removed at the next
            // start.
            let _ = std::fs::remove_dir_all(self.analyser.scan_folder(id));
        }
        // The data that this scan protected from removal may be removed now.
        if let Err(error) = self.analyser.indexes.collect() {
            tracing::warn!(%error, "tidying was put off");
        }
        recorded
    }

    async fn steps(self: &Arc<Scans>, scan: &Arc<Scan>, row: ScanRow) -> Result<PathBuf, Error> {
        let row = match row.step() {
            ScanStep::Syncing => {
                let choices = self.chosen(scan).await?;
                let frozen = match scan.spec.options.no_sync {
                    false => self.sync(scan, choices, row).await?,
                    true => {
                        let (scans, of) = (Arc::clone(self), Arc::clone(scan));
                        blocking(move || scans.take_last(&of.spec, &choices, row)).await?
                    }
                };
                let frozen = self.read_again(scan, frozen).await?;
                let (scans, of) = (Arc::clone(self), Arc::clone(scan));
                blocking(move || scans.freeze(&of, frozen)).await?
            }
            _ => row,
        };
        self.analyse(scan, row).await
    }

    /// The steps after the first, again whenever sites that were away for long are back.
    async fn analyse(self: &Arc<Scans>, scan: &Arc<Scan>, mut row: ScanRow) -> Result<PathBuf, Error> {
        loop {
            let turn = tokio::select! {
                turn = Arc::clone(&self.analyses).acquire_owned() => turn.expect("it is never closed"),
                () = scan.stopped() => return Err(Error::Cancelled),
            };
            let (scans, of) = (Arc::clone(self), Arc::clone(scan));
            let finishing = cognate_storage::disk::off_tasks(move || scans.analyse_and_publish(&of, row, turn));
            match finishing.await {
                Ok(Err(Error::Analysis(AnalysisError::Waiting(sites)))) => self.wait_for(scan, &sites).await?,
                done => {
                    return done
                        .unwrap_or_else(|_| Err(Error::Refused("the analysis crashed: see the log".to_owned())));
                }
            }
            // The step that it had recorded counts.
            row = self.records.store.scan(scan.id)?.ok_or(Error::UnknownScan(scan.id))?;
        }
    }

    /// Waits without memory or a turn, until one of these sites can answer, or their time is over.
    async fn wait_for(&self, scan: &Scan, sites: &[SiteName]) -> Result<(), Error> {
        let wait = SiteWait { sessions: Arc::clone(&self.sessions), members: Arc::clone(&self.members) };
        let reasons = sites.iter().filter_map(|site| Some(format!("{site}: {}", wait.reason(site)?)));
        let mut reasons: Vec<String> = reasons.collect();
        reasons.dedup();
        tracing::info!(scan = %scan.id, reasons = reasons.join("; "), "a scan waits for sites");
        let shown = Some(reasons.join("; ")).filter(|shown| !shown.is_empty());
        scan.progress.send_modify(|progress| progress.waiting = shown);
        let deadline = scan.fine_deadline();
        let waited = scan.waits(async {
            tokio::select! {
                () = wait.any(sites) => Ok(()),
                () = until(deadline) => Ok(()),
                () = scan.stopped() => Err(Error::Cancelled),
            }
        });
        waited.await?;
        scan.progress.send_modify(|progress| progress.waiting = None);
        Ok(())
    }

    /// Records the input of the analysis.
    fn freeze(&self, scan: &Scan, row: ScanRow) -> Result<ScanRow, Error> {
        let row = self.check_canaries(scan, row)?;
        let row = self.analyser.freeze_templates(row)?;
        self.analyser.record(scan.id, &row)?;
        failpoint!("scan.after_frozen");
        Ok(row)
    }

    /// Analyses a frozen scan, and publishes its result: the digest is taken before the row says that there is one.
    fn analyse_and_publish(&self, scan: &Scan, mut row: ScanRow, turn: OwnedSemaphorePermit) -> Result<PathBuf, Error> {
        // The turn ends with the sites.
        let sites = AttachedSites::of(self, scan, turn)?;
        let written = self.analyser.analyse(scan, &mut row, &sites)?;
        if scan.spec.options.require_complete && !row.coarse.is_empty() {
            return Err(Error::Incomplete(reasons(&row.coarse)));
        }
        if !scan.spec.in_process {
            row.digest = digest(&written.path)?;
            row.file_digest = file_digest(&written.path)?;
        }
        row.step = ScanStep::Published.into();
        row.finished = written.finished;
        self.analyser.record(scan.id, &row)?;
        tracing::info!(scan = %scan.id, "published");
        failpoint!("scan.after_published");
        self.analyser.keep_latest(scan, &row)?;
        Ok(written.path)
    }

    /// The request to each repository: the same however often a scan is continued.
    async fn chosen(self: &Arc<Scans>, scan: &Scan) -> Result<Choices, Error> {
        let (scans, spec) = (Arc::clone(self), scan.spec.clone());
        let choosing = cognate_storage::disk::off_tasks(move || scans.choices(&spec));
        choosing.await.unwrap_or_else(|_| Err(Error::Refused("the choice crashed: see the log".to_owned())))
    }

    /// The first step: brings every index up to date, and fixes the input of the analysis.
    async fn sync(self: &Arc<Scans>, scan: &Arc<Scan>, choices: Choices, row: ScanRow) -> Result<ScanRow, Error> {
        let synced = self.sync_all(scan, &scan.spec, &choices, row.started).await?;
        let (scans, of) = (Arc::clone(self), Arc::clone(scan));
        blocking(move || scans.take_synced(&of, &choices, synced, row)).await
    }

    fn take_synced(&self, scan: &Scan, choices: &Choices, synced: Synced, mut row: ScanRow) -> Result<ScanRow, Error> {
        row.keyed = synced.keyed;
        row.key_fingerprint = synced.key.map(|key| key.0.to_vec()).unwrap_or_default();
        let outcomes = synced.repositories.into_iter().zip(choices);
        for ((site, repository), (outcome, choice)) in scan.spec.options.repositories.iter().zip(outcomes) {
            match outcome {
                Ok(layers) => {
                    for (layer, (sealed, summary)) in layers.into_iter().enumerate() {
                        let key = slot(site, repository, sealed.method_id, choice.as_ref());
                        self.keep_summary(&key, &summary)?;
                        let at = Sealed { id: sealed.id, sequence: sealed.sequence };
                        row.frozen.push(self.row_of(&key, layer, choice.as_ref(), &at, summary)?);
                    }
                }
                Err(reason) => {
                    row.missing.push(MissingRow { site: site.to_string(), repository: repository.to_string(), reason });
                }
            }
        }
        self.check_missing(&scan.spec, &row)?;
        tracing::info!(scan = %scan.id, missing = row.missing.len(), "synced");
        row.step = ScanStep::Frozen.into();
        Ok(row)
    }

    /// Checks that enough indexes exist to continue.
    fn check_missing(&self, spec: &ScanSpec, row: &ScanRow) -> Result<(), Error> {
        if row.frozen.is_empty() {
            return Err(Error::NothingToAnalyse(reasons(&row.missing)));
        }
        if spec.options.require_complete && !row.missing.is_empty() {
            return Err(Error::Incomplete(reasons(&row.missing)));
        }
        Ok(())
    }

    /// The first step without syncing: the present indexes are the input of the analysis.
    pub(crate) fn take_last(&self, spec: &ScanSpec, choices: &Choices, mut row: ScanRow) -> Result<ScanRow, Error> {
        for (number, layer) in spec.layers.iter().enumerate() {
            let method_id = match layer.method_id {
                Some(method_id) => method_id,
                None => self.common_method_id(spec, layer, choices)?,
            };
            for ((site, repository), choice) in spec.options.repositories.iter().zip(choices) {
                let key = slot(site, repository, method_id, choice.as_ref());
                let Some(sealed) = self.analyser.indexes.sealed(&key)? else {
                    if layer.method_id.is_some() {
                        return Err(not_synced(site, repository, layer));
                    }
                    let reason = format!("its index was made under another key or version than method {method_id}");
                    row.missing.push(MissingRow { site: site.to_string(), repository: repository.to_string(), reason });
                    continue;
                };
                let summary = self.analyser.indexes.summary(sealed.id)?;
                row.frozen.push(self.row_of(&key, number, choice.as_ref(), &sealed, summary)?);
            }
            row.keyed = method_id != layer.method.id(&Key::none());
        }
        // If one layer of a repository is missing, the others do not count.
        let mut missing = BTreeMap::new();
        for one in row.missing.drain(..) {
            missing.entry((one.site.clone(), one.repository.clone())).or_insert(one);
        }
        row.missing = missing.into_values().collect();
        let missing = &row.missing;
        row.frozen
            .retain(|one| !missing.iter().any(|gone| (&gone.site, &gone.repository) == (&one.site, &one.repository)));
        self.check_missing(spec, &row)?;
        // The id of a method is made of its key: an earlier scan under the same id had the same one.
        let (id, scans) = (row.method_id(0), self.records.store.scans()?);
        let same = scans.into_iter().filter(|(_, earlier)| id.is_some() && earlier.method_id(0) == id);
        let mut known = same.map(|(_, earlier)| earlier.key_fingerprint).filter(|key| !key.is_empty());
        row.key_fingerprint = known.next().unwrap_or_default();
        // A site checks its policy for other parties when it syncs. Its present index may be one for its own party alone.
        if !row.keyed && !spec.in_process && self.crosses_parties(&spec.options.repositories)? {
            return Err(Error::Refused(
                "the scan crosses parties without a key, so that each site has to check its policy: launch it without \
                 --no-sync, or give all sites a key"
                    .to_owned(),
            ));
        }
        row.step = ScanStep::Frozen.into();
        Ok(row)
    }

    /// The id under which most sites of a scan have an index made by a layer's method. The key is not known here, so the id
    /// is taken from the present indexes.
    fn common_method_id(&self, spec: &ScanSpec, layer: &Layer, choices: &Choices) -> Result<MethodId, Error> {
        let wanted = cognate_proto::v1::MethodSpec::from(&layer.method);
        let all = self.analyser.indexes.all()?;
        let (mut sites, mut under) = (BTreeSet::new(), BTreeMap::<MethodId, BTreeSet<&SiteName>>::new());
        for ((site, repository), choice) in spec.options.repositories.iter().zip(choices) {
            let scope = scope_of(choice.as_ref());
            let mut is_synced = false;
            for (key, _, row) in &all {
                let method = row.header.as_ref().and_then(|header| header.method.as_ref());
                let same = method.is_some_and(|method| cognate_proto::spec::is_same(method, &wanted));
                let here = key.site == *site && key.repository == *repository && key.scope == scope;
                if here && same && row.sealed {
                    is_synced = true;
                    under.entry(key.method_id).or_default().insert(site);
                }
            }
            if !is_synced {
                return Err(not_synced(site, repository, layer));
            }
            sites.insert(site);
        }
        let most = under.values().map(BTreeSet::len).max().unwrap_or_default();
        let best: Vec<(&MethodId, &BTreeSet<&SiteName>)> =
            under.iter().filter(|(_, sites)| sites.len() == most).collect();
        match best.as_slice() {
            [(one, _)] if 2 * most > sites.len() => Ok(**one),
            [(one, _), (other, _), ..] if most == sites.len() => Err(Error::Refused(format!(
                "the repositories have indexes under two keys, methods {one} and {other}: launch the scan without --no-sync"
            ))),
            _ => {
                let mut ids = under.iter().filter_map(|(id, sites)| Some((sites.first()?, id)));
                let (Some((a, a_id)), Some((b, b_id))) = (ids.next(), ids.next()) else {
                    return Err(Error::Invalid("`repositories`: a scan needs at least one".to_owned()));
                };
                let says = |id: &MethodId| format!("method {id}");
                Err(Error::Mismatch { a: a.to_string(), a_says: says(a_id), b: b.to_string(), b_says: says(b_id) })
            }
        }
    }

    fn row_of(
        &self,
        key: &SlotKey,
        layer: usize,
        choice: Option<&Choice>,
        sealed: &Sealed,
        summary: SyncSummary,
    ) -> Result<FrozenRow, Error> {
        let party = self.records.store.party_of_data(&key.site)?.unwrap_or_else(PartyName::home).to_string();
        Ok(FrozenRow {
            site: key.site.to_string(),
            repository: key.repository.to_string(),
            index: sealed.id.0,
            sequence: sealed.sequence,
            summary: Some(summary),
            party,
            method_id: key.method_id.0.to_vec(),
            scope: key.scope.map(|scope| scope.0.to_vec()).unwrap_or_default(),
            chosen_documents: choice.map_or(0, |choice| choice.documents),
            layer: u32::try_from(layer).expect("layers are few"),
        })
    }

    /// Leaves the sites out at which a known text has other features than at most: the last guard against comparing
    /// different methods.
    fn check_canaries(&self, scan: &Scan, mut row: ScanRow) -> Result<ScanRow, Error> {
        let mut left_out = BTreeSet::new();
        for layer in 0..row.layer_count() {
            let mut canaries = Vec::new();
            for frozen in row.frozen_of(layer) {
                let canary = self.analyser.indexes.canary(IndexId(frozen.index))?;
                // An index that was sealed before canaries existed has none.
                if !canary.is_empty() {
                    let site: SiteName = frozen.site.parse().expect("it was frozen under a valid name");
                    canaries.push((site, format!("{}/{}", frozen.site, frozen.repository), canary));
                }
            }
            let sites = canaries.iter().map(|(site, ..)| site).collect::<BTreeSet<_>>().len();
            let mut claims = Claims::new(sites);
            canaries.iter().for_each(|(site, _, canary)| drop(claims.claim(site, canary)));
            for (site, name, canary) in &canaries {
                match claims.standing(&canary) {
                    Standing::Agrees | Standing::Undecided => {}
                    Standing::Differs(_) => drop(left_out.insert(site.to_string())),
                    Standing::Split(other, _) => {
                        let b = canaries.iter().find(|(site, ..)| *site == other).map(|(_, name, _)| name.clone());
                        return Err(Error::Canary { a: name.clone(), b: b.unwrap_or_default() });
                    }
                }
            }
        }
        if left_out.is_empty() {
            return Ok(row);
        }
        let reason = "a known text has other fingerprints here than at the other sites: check its key and version";
        for (site, repository) in scan.spec.options.repositories.iter().map(|(s, r)| (s.to_string(), r.to_string())) {
            if left_out.contains(&site) && row.frozen.iter().any(|one| one.site == site && one.repository == repository)
            {
                row.missing.push(MissingRow { site, repository, reason: reason.to_owned() });
            }
        }
        row.frozen.retain(|one| !left_out.contains(&one.site));
        self.check_missing(&scan.spec, &row)?;
        Ok(row)
    }

    /// Stores the summary of a sync with its index: with the present one, which is the same put together again, or a
    /// later one that the next sync reports on.
    fn keep_summary(&self, key: &SlotKey, summary: &SyncSummary) -> Result<(), Error> {
        match self.analyser.indexes.sealed(key)? {
            Some(now) => Ok(self.analyser.indexes.put_summary(now.id, summary)?),
            None => Ok(()),
        }
    }

    fn record_end(&self, id: ScanId, end: &ScanEnd) -> Result<(), Error> {
        let Some(mut row) = self.records.store.scan(id)? else { return Ok(()) };
        match end {
            ScanEnd::Published(_) => return Ok(()),
            ScanEnd::Failed { kind, reason } => row.fail(*kind, reason),
            ScanEnd::Cancelled => row.step = ScanStep::Cancelled.into(),
        }
        row.finished = self.records.now();
        Ok(self.analyser.record(id, &row)?)
    }

    /// Notifies the metrics, the sites that took part, and the schedules that a scan has ended.
    fn report_end(&self, scan: &Scan, end: &ScanEnd) {
        let status = match end {
            ScanEnd::Published(_) => match self.records.store.scan(scan.id) {
                Ok(Some(row)) if row.is_partial() => "partial",
                _ => "complete",
            },
            ScanEnd::Failed { .. } => "failed",
            ScanEnd::Cancelled => "cancelled",
        };
        self.metrics.scan_ended(status);
        tracing::info!(scan = %scan.id, status, "a scan has ended");
        if scan.spec.in_process {
            return;
        }
        if matches!(end, ScanEnd::Published(_)) {
            for (site, _) in &scan.spec.options.repositories {
                self.sessions.send(site, Down::Result(ResultNotice { scan: scan.id.0 }));
            }
        }
        if let Some(ended) = &*self.ended.lock().expect("nothing panics while it is held") {
            let _ = ended.send(scan.id);
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, HashMap<ScanId, Arc<Scan>>> {
        self.running.lock().expect("no critical section panics")
    }
}

/// Repositories and their reasons, in one line.
fn reasons(rows: &[MissingRow]) -> String {
    let reason = |one: &MissingRow| format!("{}/{}: {}", one.site, one.repository, one.reason);
    rows.iter().map(reason).collect::<Vec<_>>().join("; ")
}

/// The digest of a result that was just written.
fn digest(result: &Path) -> Result<String, Error> {
    Ok(Report::open(result)?.digest()?)
}

/// The folder of the index of a repository, or of the chosen part of it.
fn slot(site: &SiteName, repository: &RepositoryName, method_id: MethodId, choice: Option<&Choice>) -> SlotKey {
    SlotKey { site: site.clone(), repository: repository.clone(), method_id, scope: scope_of(choice) }
}

/// An error and its causes on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !line.contains(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        source = cause.source();
    }
    line
}

fn not_synced(site: &SiteName, repository: &RepositoryName, layer: &Layer) -> Error {
    Error::NotSynced { site: site.clone(), repository: repository.clone(), view: layer.method.view() }
}

#[cfg(test)]
mod tests;
