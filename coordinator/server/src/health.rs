//! State of the coordinator: readiness, use of the disk, and metrics.

use crate::identity::Members;
use crate::metrics::Metrics;
use crate::scan::Scans;
use crate::session::Sessions;
use crate::storing::Storing;
use cognate_proto::name::SiteName;
use cognate_proto::v1;
use cognate_storage::records::Records;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::watch;

use crate::error::Error;
use cognate_storage::maintenance;
use cognate_storage::store::ScanStep;

/// A certificate that ends within this is a reason not to be ready, in seconds.
const EXPIRY_SECONDS: i64 = 24 * 3600;

/// Readiness, use of the disk, and metrics.
pub struct Health {
    pub(crate) records: Arc<Records>,
    pub(crate) members: Arc<Members>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) scans: Arc<Scans>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) storing: Arc<Storing>,
    pub(crate) state_dir: PathBuf,
    pub(crate) software: &'static str,
    pub(crate) disk_reserve_bytes: u64,
    pub(crate) started: i64,
    pub(crate) draining: watch::Sender<bool>,
}

impl Health {
    /// Starts no more work from now on: sites are asked to leave, and `/readyz` reports it.
    pub fn drain(&self, retry_after_ms: u32) {
        self.draining.send_replace(true);
        let drain = v1::attach_response::Message::Drain(v1::Drain { retry_after_ms });
        self.sessions.send_all(&drain);
    }

    /// The reason for which the coordinator is not ready; nothing: it is.
    pub fn reasons_not_ready(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        if *self.draining.borrow() {
            reasons.push("it is stopping".to_owned());
        }
        if let Some(failure) = &*self.records.store.failed().borrow() {
            reasons.push(format!("the state cannot be written: {}", failure.reason));
        }
        if let Some(reason) = self.storing.failure() {
            reasons.push(format!("batches cannot be stored: {reason}"));
        }
        match self.scans.analyser.indexes.free_bytes() {
            Ok(free) if free < self.disk_reserve_bytes => {
                reasons.push(format!(
                    "{free} bytes are free on the disk, less than the reserve of {}",
                    self.disk_reserve_bytes
                ));
            }
            Ok(_) => {}
            Err(error) => reasons.push(error.to_string()),
        }
        if let Some(expires) = self.members.authority_expires()
            && expires.saturating_sub(self.records.now()) < EXPIRY_SECONDS
        {
            reasons.push("the certificate of the CA ends within a day".to_owned());
        }
        reasons
    }

    /// The use of the disk and the state of the coordinator.
    pub(crate) fn show(&self) -> Result<v1::CoordinatorState, Error> {
        let reasons = self.reasons_not_ready();
        Ok(v1::CoordinatorState {
            software: self.software.to_owned(),
            started: self.started,
            space: maintenance::space(&self.state_dir, &self.scans.analyser.indexes)?,
            disk_free_bytes: self.scans.analyser.indexes.free_bytes()?,
            ready: reasons.is_empty(),
            reasons,
        })
    }

    fn results_space(&self) -> Result<(u64, u64), Error> {
        let (mut files, mut bytes) = (0, 0);
        for (id, row) in self.records.store.scans()? {
            if row.step() == ScanStep::Published {
                files += 1;
                bytes += std::fs::metadata(self.scans.analyser.result_path(id)).map_or(0, |found| found.len());
            }
        }
        Ok((files, bytes))
    }

    /// All metrics in the format of Prometheus. Values that change by themselves are computed now.
    pub fn measure(&self) -> String {
        if let Err(error) = self.look_up() {
            tracing::warn!(%error, "some metrics could not be looked up");
        }
        self.metrics.encode()
    }

    fn look_up(&self) -> Result<(), Error> {
        let metrics = &self.metrics;
        let gauge = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let attached = self.sessions.sites();
        metrics.sessions.set(gauge(attached.len() as u64));
        metrics.clear_sites();
        let mut sites = 0;
        for member in self.records.store.members(v1::MemberKind::Site)? {
            let Some(Ok(site)) = member.membership.as_ref().map(|membership| membership.name.parse::<SiteName>())
            else {
                continue;
            };
            if member.status() != v1::MemberStatus::Active {
                continue;
            }
            sites += 1;
            if let Some(certified) = &member.certified {
                metrics.certificate(site.as_str(), certified.not_after);
            }
            let now = self.sessions.attached(&site);
            let (heard, skew) = match now {
                Some(attached) => (attached.last_heard, attached.clock_skew_seconds),
                None => (self.records.store.seen(&site)?.last_heard, 0),
            };
            if heard > 0 {
                metrics.site_heard(site.as_str(), heard, skew);
            }
        }
        metrics.sites.set(sites);
        if let Some(expires) = self.members.authority_expires() {
            metrics.certificate("ca", expires);
        }
        let mut documents = 0;
        let mut sealed = std::collections::BTreeMap::<String, i64>::new();
        for (key, _, row) in self.scans.analyser.indexes.all()? {
            if !row.sealed {
                continue;
            }
            documents += row.documents;
            let time = row.seal.as_ref().map_or(0, |seal| seal.time);
            let last = sealed.entry(key.site.to_string()).or_default();
            *last = (*last).max(time);
        }
        metrics.documents.set(gauge(documents));
        sealed.iter().for_each(|(site, time)| metrics.site_sealed(site, *time));
        metrics.scans_running.set(gauge(self.scans.lock().len() as u64));
        let indexes = self.scans.analyser.indexes.space()?;
        let sled_bytes = self.records.store.disk_bytes()?;
        let (_, result_bytes) = self.results_space()?;
        let all = indexes.segments.bytes + indexes.runs.bytes + indexes.damaged.bytes + sled_bytes + result_bytes;
        metrics.store_bytes.set(gauge(all));
        metrics.sled_bytes.set(gauge(sled_bytes));
        let (free, total) = self.disk()?;
        metrics.disk_free_bytes.set(gauge(free));
        metrics.disk_bytes.set(gauge(total));
        Ok(())
    }

    fn disk(&self) -> Result<(u64, u64), Error> {
        let stat = rustix::fs::statvfs(&self.state_dir).map_err(|error| Error::state(&self.state_dir)(error.into()))?;
        Ok((stat.f_bavail.saturating_mul(stat.f_frsize), stat.f_blocks.saturating_mul(stat.f_frsize)))
    }
}
