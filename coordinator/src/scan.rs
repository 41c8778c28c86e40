//! A scan: one analysis over a frozen set of indexes, in steps that are each done once.
//!
//! `Syncing` brings the indexes up to date, `Frozen` fixes which ones and at which batch, `Analysed` has all links, clusters
//! and overlap in files, `Published` means that the result stands. The step is written to the store before the next one begins, so that a scan goes on where it was after a
//! restart: what was synced is found to be level, what was frozen is held on to, and a result is the same however often it
//! is begun.

mod analyse;
mod checkpoint;
mod clusters;
mod copies;
mod coverage;
mod estimate;
mod findings;
mod finish;
mod folders;
mod freeze;
mod histogram;
mod manifests;
pub(crate) mod measure;
mod part;
mod propose;
mod refine;
mod room;
pub(crate) mod second;
mod set_aside;
mod spec;
mod state;
mod subject;
mod sync;
pub(crate) mod verify;
mod wire;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use cognate_fingerprint::{Key, MethodId, Tag};
use cognate_proto::name::{PartyName, RepositoryName, ScanId, SiteName};
use cognate_proto::v1::attach_response::Message as Down;
use cognate_proto::v1::{ResultNotice, SyncSummary};
use tokio::sync::{Semaphore, mpsc};

pub(crate) use self::copies::Copies;
pub(crate) use self::findings::Status;
pub(crate) use self::finish::Layered;
pub(crate) use self::folders::FolderRelation;
pub(crate) use self::freeze::{BareDocument, Frozen};
pub(crate) use self::histogram::{BUCKETS as HISTOGRAM_BUCKETS, Bucket, Histogram};
pub(crate) use self::part::Part;
pub use self::refine::Refine;
use self::refine::{Choice, Choices, scope_of};
pub(crate) use self::spec::Scan;
pub use self::spec::{AnalysisPhase, Layer, RepositoryProgress, ScanEnd, ScanProgress, ScanSpec};
pub(crate) use self::state::status;
pub(crate) use self::subject::Subject;
pub use self::wire::AnalysisLimits;
use crate::error::Error;
use crate::indexes::{Indexes, Sealed};
use crate::journal::{Event, ScanEvent, What};
use crate::metrics::Metrics;
use crate::session::Sessions;
use crate::store::{FrozenRow, IndexId, LayerRow, MissingRow, ScanRow, ScanStep, SlotKey, Store};
use crate::template;

/// How many analyses are carried out at once, each with its own working memory; others wait.
pub(crate) const ANALYSES_AT_ONCE: usize = 2;

/// Everything that a scan works with.
pub(crate) struct Scans {
    pub(crate) store: Arc<Store>,
    pub(crate) indexes: Arc<Indexes>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) folder: PathBuf,
    pub(crate) clock: fn() -> SystemTime,
    /// The scans of this process.
    pub(crate) running: Mutex<HashMap<ScanId, Arc<Scan>>>,
    pub(crate) analyses: Semaphore,
    /// Told of every scan that has ended.
    pub(crate) ended: Mutex<Option<mpsc::UnboundedSender<ScanId>>>,
}

impl Scans {
    /// Carries a scan out from where its row says that it is.
    pub(crate) async fn run(self: Arc<Scans>, scan: Arc<Scan>, row: ScanRow) {
        let result = self.steps_with_room(&scan, row).await;
        let cancelled = matches!(result, Err(Error::Cancelled | Error::Analysis(cognate_similarity::Error::Cancelled)));
        if cancelled && scan.is_halted() {
            tracing::info!(scan = %scan.id, "a scan is left where it is: it goes on at the next start");
            return;
        }
        let end = match result {
            Ok(path) => ScanEnd::Published(path),
            Err(_) if cancelled => ScanEnd::Cancelled,
            Err(error) => ScanEnd::Failed(chain(&error)),
        };
        if !matches!(end, ScanEnd::Published(_)) {
            // What an analysis that was cut short leaves is of use to nobody; what cannot be removed now is at the start.
            let _ = std::fs::remove_dir_all(self.folder.join(scan.id.to_string()));
        }
        if let Err(error) = self.record_end(scan.id, &end) {
            tracing::error!(scan = %scan.id, %error, "the end of a scan cannot be recorded");
        }
        // What this scan kept from being removed may go now.
        if let Err(error) = self.indexes.collect() {
            tracing::warn!(%error, "tidying was put off");
        }
        self.tell_end(&scan, &end);
        scan.progress.send_modify(|progress| progress.ended = Some(end));
        if !scan.spec.in_process {
            self.lock().remove(&scan.id);
        }
    }

    async fn steps(self: &Arc<Scans>, scan: &Arc<Scan>, row: ScanRow) -> Result<PathBuf, Error> {
        let row = match row.step() {
            ScanStep::Syncing => {
                let choices = self.chosen(scan).await?;
                let frozen = match scan.spec.sync {
                    true => self.sync(scan, &choices, row).await?,
                    false => self.take_last(scan, &choices, row)?,
                };
                let frozen = self.read_again(scan, frozen).await?;
                self.check_canaries(&frozen)?;
                let frozen = self.freeze_templates(frozen)?;
                self.record(scan.id, &frozen)?;
                crate::failpoint!("scan.after_frozen");
                frozen
            }
            _ => row,
        };
        let _turn = tokio::select! {
            turn = self.analyses.acquire() => turn.expect("it is never closed"),
            () = scan.stopped() => return Err(Error::Cancelled),
        };
        let (scans, scan) = (Arc::clone(self), Arc::clone(scan));
        let finishing = tokio::task::spawn_blocking(move || scans.analyse_and_publish(&scan, row));
        finishing.await.unwrap_or_else(|_| Err(Error::Refused("the analysis crashed: see the log".to_owned())))
    }

    /// What each repository is asked for: the same however often a scan is gone on with.
    async fn chosen(self: &Arc<Scans>, scan: &Scan) -> Result<Choices, Error> {
        let (scans, spec) = (Arc::clone(self), scan.spec.clone());
        let choosing = tokio::task::spawn_blocking(move || scans.choices(&spec));
        choosing.await.unwrap_or_else(|_| Err(Error::Refused("the choice crashed: see the log".to_owned())))
    }

    /// The first step: bring every index up to date, and fix what will be analysed.
    async fn sync(&self, scan: &Scan, choices: &Choices, mut row: ScanRow) -> Result<ScanRow, Error> {
        let synced = self.sync_all(scan, &scan.spec, choices, row.started).await?;
        row.keyed = synced.keyed;
        let outcomes = synced.repositories.into_iter().zip(choices);
        for ((site, repository), (outcome, choice)) in scan.spec.repositories.iter().zip(outcomes) {
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
        self.check_missing(scan, &row)?;
        tracing::info!(scan = %scan.id, missing = row.missing.len(), "synced");
        row.step = ScanStep::Frozen.into();
        Ok(row)
    }

    /// Whether there is enough to go on with.
    fn check_missing(&self, scan: &Scan, row: &ScanRow) -> Result<(), Error> {
        let reason = |one: &MissingRow| format!("{}/{}: {}", one.site, one.repository, one.reason);
        let reasons: Vec<String> = row.missing.iter().map(reason).collect();
        if row.frozen.is_empty() {
            return Err(Error::NothingToAnalyse(reasons.join("; ")));
        }
        if scan.spec.require_complete && !row.missing.is_empty() {
            return Err(Error::Incomplete(reasons.join("; ")));
        }
        Ok(())
    }

    /// The first step without syncing: what the last syncs left is what will be analysed.
    pub(crate) fn take_last(&self, scan: &Scan, choices: &Choices, mut row: ScanRow) -> Result<ScanRow, Error> {
        let spec = &scan.spec;
        for (number, layer) in spec.layers.iter().enumerate() {
            let method_id = match layer.method_id {
                Some(method_id) => method_id,
                None => self.common_method_id(spec, layer, choices)?,
            };
            for ((site, repository), choice) in spec.repositories.iter().zip(choices) {
                let key = slot(site, repository, method_id, choice.as_ref());
                let Some(sealed) = self.indexes.sealed(&key)? else {
                    return Err(Error::NotSynced { site: site.clone(), repository: repository.clone() });
                };
                let summary = self.indexes.summary(sealed.id)?;
                row.frozen.push(self.row_of(&key, number, choice.as_ref(), &sealed, summary)?);
            }
            row.keyed = method_id != layer.method.id(&Key::none());
        }
        if !row.keyed && !spec.in_process && self.crosses_parties(&spec.repositories)? {
            self.check_unkeyed_policies(&spec.repositories)?;
        }
        row.step = ScanStep::Frozen.into();
        Ok(row)
    }

    /// The id under which all repositories of a scan have an index made by a layer's method. The key is not known here, so
    /// that it is found from what there is.
    fn common_method_id(&self, spec: &ScanSpec, layer: &Layer, choices: &Choices) -> Result<MethodId, Error> {
        let wanted = cognate_proto::v1::MethodSpec::from(&layer.method);
        let all = self.indexes.all()?;
        let mut common: Option<Vec<MethodId>> = None;
        for ((site, repository), choice) in spec.repositories.iter().zip(choices) {
            let scope = scope_of(choice.as_ref());
            let mut found = Vec::new();
            for (key, _, row) in &all {
                let method = row.header.as_ref().and_then(|header| header.method.as_ref());
                let same = method.is_some_and(|method| cognate_proto::spec::is_same(method, &wanted));
                let here = key.site == *site && key.repository == *repository && key.scope == scope;
                if here && same && row.sealed && !found.contains(&key.method_id) {
                    found.push(key.method_id);
                }
            }
            if found.is_empty() {
                return Err(Error::NotSynced { site: site.clone(), repository: repository.clone() });
            }
            if let Some(common) = &mut common {
                let others = common.clone();
                common.retain(|id| found.contains(id));
                if common.is_empty() {
                    let (first, _) = &spec.repositories[0];
                    return Err(Error::Mismatch {
                        a: first.to_string(),
                        a_says: format!("method {}", others[0]),
                        b: site.to_string(),
                        b_says: format!("method {}", found[0]),
                    });
                }
            } else {
                common = Some(found);
            }
        }
        match common.unwrap_or_default().as_slice() {
            [one] => Ok(*one),
            [one, other, ..] => Err(Error::Refused(format!(
                "the repositories have indexes under two keys, methods {one} and {other}: launch the scan without --no-sync"
            ))),
            [] => Err(Error::Invalid("`repositories`: a scan needs at least one".to_owned())),
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
        let party = self.store.party_of(&key.site)?.unwrap_or_else(PartyName::home).to_string();
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

    /// Fixes which templates are set aside: marks that come later are for later scans.
    pub(crate) fn freeze_templates(&self, mut row: ScanRow) -> Result<ScanRow, Error> {
        for layer in 0..row.layers() {
            let Some(method_id) = row.method_id(layer) else { continue };
            let (templates, tags) = template::in_force(&self.store, method_id)?;
            let templates_digest =
                if templates.is_empty() { String::new() } else { template::digest(method_id, &tags) };
            row.set_layer(layer, LayerRow { templates, templates_digest, ..row.layer(layer) });
        }
        Ok(row)
    }

    /// The tags that were fixed for a layer of a scan.
    pub(crate) fn frozen_templates(&self, row: &ScanRow, layer: usize) -> Result<Vec<Tag>, Error> {
        let LayerRow { templates, templates_digest, .. } = row.layer(layer);
        let tags = template::tags_of(&self.store, &templates)?;
        match row.method_id(layer) {
            Some(method_id) if !tags.is_empty() && template::digest(method_id, &tags) != templates_digest => Err(
                Error::Refused("the templates that it was frozen with are not what they were: launch it again".into()),
            ),
            _ => Ok(tags),
        }
    }

    /// Whether a known text became the same at all sites: the last guard against comparing what cannot be compared.
    fn check_canaries(&self, row: &ScanRow) -> Result<(), Error> {
        for layer in 0..row.layers() {
            let mut first: Option<(String, Vec<u8>)> = None;
            for frozen in row.frozen_of(layer) {
                let canary = self.indexes.canary(IndexId(frozen.index))?;
                let name = format!("{}/{}", frozen.site, frozen.repository);
                match &first {
                    // An index that was sealed before there were canaries says nothing.
                    _ if canary.is_empty() => {}
                    None => first = Some((name, canary)),
                    Some((_, other)) if *other == canary => {}
                    Some((a, _)) => return Err(Error::Canary { a: a.clone(), b: name }),
                }
            }
        }
        Ok(())
    }

    /// Keeps what a sync told beside the index: beside the one that stands now, which is the same put together anew, or a
    /// later one that the next sync tells of.
    fn keep_summary(&self, key: &SlotKey, summary: &SyncSummary) -> Result<(), Error> {
        match self.indexes.sealed(key)? {
            Some(now) => self.indexes.put_summary(now.id, summary),
            None => Ok(()),
        }
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
        row.finished = seconds((self.clock)());
        self.record(id, &row)
    }

    /// Writes down how far a scan is, before anything is built on it.
    pub(crate) fn record(&self, id: ScanId, row: &ScanRow) -> Result<(), Error> {
        let what = What::Scan(ScanEvent { id: id.0, row: row.clone() });
        self.store.record(&Event { time: seconds((self.clock)()), by: row.launched_by.clone(), what: Some(what) })
    }

    /// Tells who wants to know that a scan has ended: the metrics, the sites that took part, the schedules.
    fn tell_end(&self, scan: &Scan, end: &ScanEnd) {
        let status = match end {
            ScanEnd::Published(_) => match self.store.scan(scan.id) {
                Ok(Some(row)) if !row.missing.is_empty() => "partial",
                _ => "complete",
            },
            ScanEnd::Failed(_) => "failed",
            ScanEnd::Cancelled => "cancelled",
        };
        self.metrics.scan_ended(status);
        tracing::info!(scan = %scan.id, status, "a scan has ended");
        if scan.spec.in_process {
            return;
        }
        if matches!(end, ScanEnd::Published(_)) {
            for (site, _) in &scan.spec.repositories {
                self.sessions.tell(site, Down::Result(ResultNotice { scan: scan.id.0 }));
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

/// Where the index of a repository lies, or of what is chosen of it.
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
