//! Scans that are launched again and again. The times come from the record, so that a restart neither forgets a scan
//! nor launches one twice.

use crate::metrics::Metrics;
use crate::scan::Scans;
use cognate_storage::disk::blocking;
use cognate_storage::records::Records;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

use cognate_proto::clock_times::ClockTimes;
use cognate_proto::name::ScanId;
use cognate_proto::options::ScanOptions;
use cognate_proto::v1;
use tokio::sync::mpsc;

use crate::error::Error;
use crate::removal::{KeepFor, Removal};
use crate::scan::status;
use crate::webhook::{Notice, Webhooks};
use cognate_analysis::AnalysisLimits;
use cognate_result::report::Report;
use cognate_storage::journal::What;
use cognate_storage::store::ScanStep;

/// The longest time between two looks at the clock, because the clock may be set.
const LOOK_INTERVAL: Duration = Duration::from_secs(30);
/// The time between two checks for state that is past its retention time, and of the size of the journal.
const EXPIRE_INTERVAL: Duration = Duration::from_secs(600);
/// The longest wait of a scheduled scan for a site, unless its options have another: nobody looks at it.
const SITE_WAIT: Duration = Duration::from_secs(24 * 3600);

/// Launches scans that are due and reports those that have ended, for as long as it is polled.
pub(crate) async fn run(schedules: Arc<Schedules>, removal: Arc<Removal>, limits: AnalysisLimits, keep: KeepFor) {
    let (ended, mut endings) = mpsc::unbounded_channel();
    *schedules.scans.ended.lock().expect("nothing panics while it is held") = Some(ended);
    let mut expiry = tokio::time::interval(EXPIRE_INTERVAL);
    loop {
        let due = Arc::clone(&schedules);
        let wait = match blocking(move || due.launch_due(&limits)).await {
            Ok(wait) => wait,
            Err(error) => {
                tracing::error!(%error, "schedules cannot be checked");
                LOOK_INTERVAL
            }
        };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = schedules.changed.notified() => {}
            Some(scan) = endings.recv() => schedules.notify(scan),
            _ = expiry.tick() => {
                let removal = Arc::clone(&removal);
                drop(cognate_storage::disk::off_tasks(move || removal.tidy(keep)));
            }
        }
    }
}

/// Scans that are launched again and again.
pub(crate) struct Schedules {
    pub(crate) records: Arc<Records>,
    pub(crate) scans: Arc<Scans>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) webhooks: Webhooks,
    pub(crate) changed: Notify,
}

impl Schedules {
    /// Launches every schedule's scan that is due, and answers the time until the next one.
    pub(crate) fn launch_due(&self, limits: &AnalysisLimits) -> Result<Duration, Error> {
        let now = self.records.now();
        let mut wait = LOOK_INTERVAL;
        for schedule in self.records.store.schedules()? {
            if schedule.next_start > now {
                let until = u64::try_from(schedule.next_start - now).unwrap_or(u64::MAX);
                wait = wait.min(Duration::from_secs(until));
                continue;
            }
            // Runs that were missed while the coordinator was down are replaced by one.
            let next_start = match schedule.at.parse::<ClockTimes>() {
                Ok(times) => times.next_after(now),
                Err(_) => now.saturating_add(i64::try_from(schedule.every_seconds.max(1)).unwrap_or(i64::MAX)),
            };
            let last = ScanId(schedule.last_scan);
            let still_runs =
                schedule.last_scan != 0 && self.records.store.scan(last)?.is_some_and(|row| row.step().is_under_way());
            let mut changed = v1::Schedule { next_start, ..schedule.clone() };
            if still_runs {
                tracing::info!(schedule = schedule.name, scan = %last, "the last scan of a schedule has not ended: this one is left out");
            } else {
                let id = due_id(&schedule);
                let mut options = ScanOptions::of_record(schedule.options.as_ref());
                options.sync_deadline.get_or_insert(SITE_WAIT);
                let launched = self.scans.launch_as(id, options, "", &schedule.name, limits);
                match launched {
                    Ok(()) => {
                        changed.last_scan = id.0;
                        changed.last_started = now;
                        changed.last_error.clear();
                    }
                    // The present state does not allow it; the next time it may.
                    Err(error) => {
                        tracing::warn!(schedule = schedule.name, %error, "a scheduled scan was not launched");
                        changed.last_error = format!("not launched: {error}");
                        self.notify_refused(&changed);
                    }
                }
            }
            wait = wait.min(Duration::from_secs(u64::try_from(next_start - now).unwrap_or(0).max(1)));
            self.records.record(What::Schedule(changed), "")?;
        }
        Ok(wait)
    }

    /// Notifies a schedule's webhook that its scan was not launched.
    fn notify_refused(&self, schedule: &v1::Schedule) {
        if schedule.webhook.is_empty() {
            return;
        }
        let notice = Notice {
            schedule: schedule.name.clone(),
            scan: String::new(),
            status: "not launched".to_owned(),
            digest: String::new(),
            failure: schedule.last_error.clone(),
            new_overlap: false,
            new: 0,
            changed: 0,
            gone: 0,
        };
        let of = format!("schedule {}", schedule.name);
        self.webhooks.notify(schedule.webhook.clone(), notice, of);
    }

    /// Notes at a schedule that its scan has failed.
    fn note_failure(&self, schedule: &v1::Schedule, failure: &str) -> Result<(), Error> {
        // It may have been changed or removed meanwhile.
        let Some(now) = self.records.store.schedule(&schedule.name)? else { return Ok(()) };
        if now.last_scan != schedule.last_scan {
            return Ok(());
        }
        tracing::warn!(schedule = schedule.name, failure, "the scan of a schedule has failed");
        let failed = v1::Schedule { last_error: failure.to_owned(), ..now };
        Ok(self.records.record(What::Schedule(failed), "")?)
    }

    /// Notifies a schedule's webhook that its scan has ended.
    fn notify(self: &Arc<Self>, scan: ScanId) {
        let schedules = Arc::clone(self);
        drop(cognate_storage::disk::off_tasks(move || {
            let notice = schedules.notice_of(scan);
            match notice {
                Ok(Some((address, notice))) => {
                    if notice.new_overlap {
                        schedules.metrics.new_overlap.inc();
                    }
                    if !address.is_empty() {
                        let of = format!("schedule {}", notice.schedule);
                        schedules.webhooks.notify(address, notice, of);
                    }
                }
                Ok(None) => {}
                Err(error) => tracing::error!(%scan, %error, "the new matches of a scan cannot be reported"),
            }
        }));
    }

    fn notice_of(&self, scan: ScanId) -> Result<Option<(String, Notice)>, Error> {
        let Some(row) = self.records.store.scan(scan)? else { return Ok(None) };
        let Some(schedule) = self.records.store.schedules()?.into_iter().find(|one| one.last_scan == scan.0) else {
            return Ok(None);
        };
        let mut notice = Notice {
            schedule: schedule.name.clone(),
            scan: scan.to_string(),
            status: status_name(status(&row)).to_owned(),
            digest: row.digest.clone(),
            failure: row.failure.clone(),
            new_overlap: false,
            new: 0,
            changed: 0,
            gone: 0,
        };
        if status(&row) == v1::ScanStatus::Failed {
            self.note_failure(&schedule, &row.failure)?;
        }
        if row.step() == ScanStep::Published {
            let now = Report::open(&self.scans.analyser.published(scan)?)?;
            let changes = match self.scan_before(scan, &row)? {
                Some(before) => now.since(&Report::open(&self.scans.analyser.published(before)?)?)?,
                None => now.all_new()?,
            };
            (notice.new, notice.changed, notice.gone) =
                (changes.new.len() as u64, changes.changed.len() as u64, changes.gone.len() as u64);
            notice.new_overlap = notice.new > 0;
        }
        Ok(Some((schedule.webhook, notice)))
    }

    /// The last scan of the same origin before this one that has a result.
    fn scan_before(&self, scan: ScanId, row: &cognate_storage::store::ScanRow) -> Result<Option<ScanId>, Error> {
        let origin = row.options().origin;
        let mut earlier: Vec<_> = self.records.store.scans()?;
        earlier.retain(|(id, other)| {
            *id != scan
                && other.step() == ScanStep::Published
                && other.number < row.number
                && other.options().origin == origin
        });
        Ok(earlier.into_iter().max_by_key(|(_, other)| other.number).map(|(id, _)| id))
    }
}

/// The id of the scan that a schedule has due: the same however often it is asked for, so that a crash between the launch
/// and the note of it does not launch a second.
fn due_id(schedule: &v1::Schedule) -> ScanId {
    let mut hasher = blake3::Hasher::new_derive_key("cognate scheduled scan v1");
    hasher.update(schedule.name.as_bytes()).update(&[0]);
    hasher.update(&schedule.next_start.to_le_bytes()).update(&schedule.every_seconds.to_le_bytes());
    hasher.update(schedule.at.as_bytes());
    let mut id = [0; 8];
    id.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    ScanId(u64::from_le_bytes(id).max(1))
}

pub(crate) fn status_name(status: v1::ScanStatus) -> &'static str {
    match status {
        v1::ScanStatus::Syncing => "syncing",
        v1::ScanStatus::Analysing => "analysing",
        v1::ScanStatus::Complete => "complete",
        v1::ScanStatus::Partial => "partial",
        v1::ScanStatus::Cancelled => "cancelled",
        v1::ScanStatus::Failed | v1::ScanStatus::Unspecified => "failed",
    }
}
