//! A scan: one analysis over a frozen set of indexes, in steps that are each done once.
//!
//! `Syncing` brings the indexes up to date, `Frozen` fixes which ones and at which batch, `Published` means that the result
//! stands. The step is written to the store before the next one begins.

mod analyse;
mod copies;
mod folders;
mod freeze;
mod spec;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cognate_fingerprint::{Key, KeyFingerprint, MethodId};
use cognate_proto::name::{PartyName, RepositoryName, ScanId, SiteName};
use cognate_proto::selection::Selection;
use cognate_proto::v1::{self, SyncProgress, SyncSummary};
use tokio::sync::mpsc;

pub(crate) use self::analyse::{Findings, Status};
pub(crate) use self::folders::FolderRelation;
pub(crate) use self::freeze::Frozen;
pub(crate) use self::spec::Scan;
pub use self::spec::{AnalysisPhase, RepositoryProgress, ScanEnd, ScanProgress, ScanSpec};
use crate::error::Error;
use crate::indexes::{Indexes, Sealed};
use crate::journal::{ScanEvent, What};
use crate::result;
use crate::session::{Event, Sessions};
use crate::store::{FrozenRow, IndexId, MissingRow, ScanRow, ScanStep, SlotKey, Store};

/// No scan waits longer for a site, whatever was asked for: a clock cannot count further than its range.
const DEADLINE_MAX: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Everything that a scan works with.
pub(crate) struct Scans {
    pub(crate) store: Arc<Store>,
    pub(crate) indexes: Arc<Indexes>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) folder: PathBuf,
    pub(crate) clock: fn() -> SystemTime,
}

impl Scans {
    /// Carries a scan out from its beginning.
    pub(crate) async fn run(self: Arc<Scans>, scan: Arc<Scan>) {
        let result = self.steps(&scan).await;
        let end = match result {
            Ok(path) => ScanEnd::Published(path),
            Err(Error::Cancelled | Error::Analysis(cognate_similarity::Error::Cancelled)) => ScanEnd::Cancelled,
            Err(error) => ScanEnd::Failed(chain(&error)),
        };
        if !matches!(end, ScanEnd::Published(_)) {
            // What an analysis that was cut short leaves is of use to nobody; what cannot be removed now is at the start.
            let _ = std::fs::remove_dir_all(self.folder.join(scan.id.to_string()));
        }
        if let Err(error) = self.record_end(scan.id, &end) {
            tracing::error!(scan = %scan.id, %error, "the end of a scan cannot be recorded");
        }
        scan.progress.send_modify(|progress| progress.ended = Some(end));
    }

    async fn steps(self: &Arc<Scans>, scan: &Arc<Scan>) -> Result<PathBuf, Error> {
        let row = ScanRow {
            spec: Some((&scan.spec).into()),
            step: ScanStep::Syncing.into(),
            started: seconds((self.clock)()),
            ..ScanRow::default()
        };
        self.record(scan.id, &row)?;
        let row = if scan.spec.sync { self.sync(scan, row).await? } else { self.take_last(scan, row)? };
        self.record(scan.id, &row)?;
        let (scans, scan) = (Arc::clone(self), Arc::clone(scan));
        let finishing = tokio::task::spawn_blocking(move || scans.analyse_and_publish(&scan, row));
        finishing.await.expect("an analysis does not panic")
    }

    /// The first step: bring every index up to date, and fix what will be analysed.
    async fn sync(&self, scan: &Scan, mut row: ScanRow) -> Result<ScanRow, Error> {
        let spec = &scan.spec;
        let repositories = vec![RepositoryProgress::default(); spec.repositories.len()];
        scan.progress.send_modify(|progress| progress.repositories = repositories);
        let (events, mut heard) = mpsc::unbounded_channel();
        let deadline =
            spec.sync_deadline.and_then(|wait| tokio::time::Instant::now().checked_add(wait.min(DEADLINE_MAX)));
        let keys = self.assign_all(scan, &events, deadline).await?;
        drop(events);
        row.keyed = keys.iter().flatten().any(|key| *key != Key::none().fingerprint());
        let mut ended: BTreeMap<usize, (Option<MethodId>, Result<SyncSummary, String>)> = BTreeMap::new();
        for (target, key) in keys.iter().enumerate() {
            if key.is_none() {
                ended.insert(target, (None, Err("the site did not come in time".to_owned())));
            }
        }
        while ended.len() < spec.repositories.len() {
            let event = match deadline {
                Some(deadline) => match tokio::time::timeout_at(deadline, heard.recv()).await {
                    Ok(event) => event,
                    Err(_) => break,
                },
                None => heard.recv().await,
            };
            match event {
                Some(Event::Progress { target, progress }) => self.show(scan, target, &progress),
                Some(Event::Ended { target, method_id, outcome }) => {
                    let shown = outcome.as_ref().map(|_| ()).map_err(Clone::clone);
                    scan.progress.send_modify(|progress| progress.repositories[target].ended = Some(shown));
                    ended.insert(target, (method_id, outcome));
                }
                None => break,
            }
            if scan.cancelled.load(std::sync::atomic::Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
        }
        same_method(spec, &ended)?;
        for (target, (site, repository)) in spec.repositories.iter().enumerate() {
            let late = || (None, Err("the site was not done in time".to_owned()));
            let (method_id, outcome) = ended.remove(&target).unwrap_or_else(late);
            let frozen = match (method_id, outcome) {
                (Some(method_id), Ok(summary)) => self.frozen_row(site, repository, method_id, summary)?,
                (_, Ok(_)) => Err("the site said that it was done without pushing".to_owned()),
                (_, Err(reason)) => Err(reason),
            };
            match frozen {
                Ok(frozen) => row.frozen.push(frozen),
                Err(reason) => {
                    row.missing.push(MissingRow { site: site.to_string(), repository: repository.to_string(), reason });
                }
            }
        }
        if row.frozen.is_empty() {
            let reasons: Vec<String> = row
                .missing
                .iter()
                .map(|missing| format!("{}/{}: {}", missing.site, missing.repository, missing.reason))
                .collect();
            return Err(Error::NothingToAnalyse(reasons.join("; ")));
        }
        tracing::info!(scan = %scan.id, "synced");
        row.step = ScanStep::Frozen.into();
        Ok(row)
    }

    /// The first step without syncing: what the last syncs left is what will be analysed.
    fn take_last(&self, scan: &Scan, mut row: ScanRow) -> Result<ScanRow, Error> {
        let unknown = || Error::Invalid("without a method id nothing can be analysed unsynced".to_owned());
        let method_id = scan.spec.method_id.ok_or_else(unknown)?;
        for (site, repository) in &scan.spec.repositories {
            let key = SlotKey { site: site.clone(), repository: repository.clone(), method_id };
            let Some(sealed) = self.indexes.sealed(&key)? else {
                return Err(Error::NotSynced { site: site.clone(), repository: repository.clone() });
            };
            let summary = self.indexes.summary(sealed.id)?;
            row.frozen.push(self.row_of(site, repository, &sealed, summary)?);
        }
        row.keyed = scan.spec.keyed;
        row.step = ScanStep::Frozen.into();
        Ok(row)
    }

    /// Waits for every site and gives it its assignment. Sites with different keys are refused before anything is read.
    async fn assign_all(
        &self,
        scan: &Scan,
        events: &mpsc::UnboundedSender<Event>,
        deadline: Option<tokio::time::Instant>,
    ) -> Result<Vec<Option<KeyFingerprint>>, Error> {
        let spec = &scan.spec;
        let mut keys: Vec<Option<KeyFingerprint>> = Vec::new();
        for (site, repository) in &spec.repositories {
            let attached = self.sessions.wait_for(site, repository);
            let key = match deadline {
                Some(deadline) => tokio::time::timeout_at(deadline, attached).await.ok(),
                None => Some(attached.await),
            };
            keys.push(key);
        }
        let mut known = keys.iter().enumerate().filter_map(|(target, key)| key.map(|key| (target, key)));
        if let Some((first, first_key)) = known.next()
            && let Some((other, other_key)) = known.find(|(_, key)| *key != first_key)
        {
            return Err(Error::Mismatch {
                a: spec.repositories[first].0.to_string(),
                a_says: format!("key {first_key}"),
                b: spec.repositories[other].0.to_string(),
                b_says: format!("key {other_key}"),
            });
        }
        let mut method = v1::MethodSpec::from(&spec.method);
        method.method_id = spec.method_id.map(|id| id.0.to_vec()).unwrap_or_default();
        for (target, (site, repository)) in spec.repositories.iter().enumerate() {
            if keys[target].is_none() {
                continue;
            }
            let assignment = v1::Assignment {
                assignment: random_number(),
                repository: repository.to_string(),
                method: Some(method.clone()),
                selection: Some((&spec.selection).into()),
                follow_symlinks: spec.follow_symlinks,
                ..v1::Assignment::default()
            };
            self.sessions.assign(site, assignment, spec.method, target, events.clone()).await;
        }
        Ok(keys)
    }

    fn show(&self, scan: &Scan, target: usize, progress: &SyncProgress) {
        scan.progress.send_modify(|all| {
            let shown = &mut all.repositories[target];
            shown.entries_seen = progress.entries_seen;
            shown.walk_finished = progress.walk_finished;
            shown.documents_done = progress.documents_done;
            shown.read_bytes = progress.read_bytes;
            shown.sent_bytes = progress.sent_bytes;
        });
    }

    fn frozen_row(
        &self,
        site: &SiteName,
        repository: &RepositoryName,
        method_id: MethodId,
        summary: SyncSummary,
    ) -> Result<Result<FrozenRow, String>, Error> {
        let key = SlotKey { site: site.clone(), repository: repository.clone(), method_id };
        let Some(sealed) = self.indexes.sealed(&key)? else {
            return Ok(Err("the index was not sealed".to_owned()));
        };
        self.indexes.put_summary(sealed.id, &summary)?;
        Ok(Ok(self.row_of(site, repository, &sealed, summary)?))
    }

    fn row_of(
        &self,
        site: &SiteName,
        repository: &RepositoryName,
        sealed: &Sealed,
        summary: SyncSummary,
    ) -> Result<FrozenRow, Error> {
        let party = self.store.party_of(site)?.unwrap_or_else(PartyName::home).to_string();
        Ok(FrozenRow {
            site: site.to_string(),
            repository: repository.to_string(),
            index: sealed.id.0,
            sequence: sealed.sequence,
            summary: Some(summary),
            party,
        })
    }

    /// The steps after freezing: they need no site any more.
    pub(crate) fn analyse_and_publish(&self, scan: &Scan, mut row: ScanRow) -> Result<PathBuf, Error> {
        let at = |phase, done, total| {
            scan.progress.send_modify(|progress| progress.analysis = Some((phase, done, total)));
        };
        let selection = Selection::new(scan.spec.selection.clone()).map_err(|e| Error::Invalid(e.to_string()))?;
        let folder = self.folder.join(scan.id.to_string());
        let spill_dir = folder.join("spill");
        std::fs::create_dir_all(&spill_dir).map_err(Error::state(&spill_dir))?;
        let compare = || {
            at(AnalysisPhase::Freezing, 0, 0);
            let frozen = Frozen::build(&self.indexes, &row, &selection)?;
            let (documents, contents) = (frozen.documents.len(), frozen.contents.len());
            tracing::info!(scan = %scan.id, documents, contents, "frozen");
            let told = |done, total| at(AnalysisPhase::Comparing, done, total);
            let findings = Findings::of(&frozen, scan, &spill_dir, &told)?;
            Ok((frozen, findings))
        };
        let (frozen, findings) = match compare() {
            Err(Error::Analysis(error)) if error.kind() == cognate_similarity::ErrorKind::Corrupt => {
                tracing::warn!(%error, "the runs are made anew from the segments");
                row.frozen.iter().try_for_each(|row| self.indexes.rebuild_runs(IndexId(row.index)))?;
                compare()
            }
            found => found,
        }?;
        std::fs::remove_dir_all(&spill_dir).map_err(Error::state(&spill_dir))?;
        tracing::info!(scan = %scan.id, clusters = findings.analysis.clusters.len(), "analysed");
        at(AnalysisPhase::Publishing, 0, 0);
        let path = folder.join("result.sqlite");
        let finished = seconds((self.clock)());
        result::write(&path, &result::Publication { scan, row: &row, finished, frozen: &frozen, findings: &findings })?;
        tracing::info!(scan = %scan.id, "published");
        row.step = ScanStep::Published.into();
        self.record(scan.id, &row)?;
        Ok(path)
    }

    fn record_end(&self, id: ScanId, end: &ScanEnd) -> Result<(), Error> {
        let Some(mut row) = self.store.scan(id)? else { return Ok(()) };
        match end {
            ScanEnd::Published(_) => return Ok(()),
            ScanEnd::Failed(reason) => {
                row.step = ScanStep::Failed.into();
                row.failure.clone_from(reason);
            }
            ScanEnd::Cancelled => row.step = ScanStep::Cancelled.into(),
        }
        self.record(id, &row)
    }

    /// Writes down how far a scan is, before anything is built on it.
    fn record(&self, id: ScanId, row: &ScanRow) -> Result<(), Error> {
        let what = What::Scan(ScanEvent { id: id.0, row: row.clone() });
        self.store.record(&crate::journal::Event { time: seconds((self.clock)()), by: String::new(), what: Some(what) })
    }
}

/// Sites that arrive at different method ids would compare as if they had nothing in common.
fn same_method(
    spec: &ScanSpec,
    ended: &BTreeMap<usize, (Option<MethodId>, Result<SyncSummary, String>)>,
) -> Result<(), Error> {
    let mut ids = ended.iter().filter_map(|(target, (method_id, _))| method_id.map(|id| (*target, id)));
    let Some((first, first_id)) = ids.next() else { return Ok(()) };
    match ids.find(|(_, id)| *id != first_id) {
        None => Ok(()),
        Some((other, other_id)) => Err(Error::Mismatch {
            a: spec.repositories[first].0.to_string(),
            a_says: format!("method {first_id}"),
            b: spec.repositories[other].0.to_string(),
            b_says: format!("method {other_id}"),
        }),
    }
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

pub(crate) fn seconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// A number that nobody can guess and that does not come twice.
pub(crate) fn random_number() -> u64 {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).expect("the operating system gives random numbers");
    u64::from_le_bytes(bytes).max(1)
}
