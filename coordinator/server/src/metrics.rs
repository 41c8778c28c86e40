//! Metrics, under the names that Prometheus shows. Labels have few values, except for the names of sites.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// A counter or gauge for each value of one label.
type By<M> = Family<[(&'static str, String); 1], M>;

/// All metrics of one coordinator.
pub(crate) struct Metrics {
    registry: Registry,
    pub(crate) sessions: Gauge,
    pub(crate) sites: Gauge,
    pub(crate) sessions_replaced: Counter,
    pub(crate) clones_refused: Counter,
    pub(crate) pushes_denied: Counter,
    pub(crate) claims_refused: Counter,
    pub(crate) received_bytes: Counter,
    pub(crate) ack_latency_seconds: Histogram,
    pub(crate) fsync_seconds: Histogram,
    pub(crate) quarantined: Counter,
    pub(crate) shed: Counter,
    pub(crate) disk_bytes: Gauge,
    pub(crate) disk_free_bytes: Gauge,
    pub(crate) store_bytes: Gauge,
    pub(crate) sled_bytes: Gauge,
    pub(crate) documents: Gauge,
    pub(crate) scans_running: Gauge,
    pub(crate) new_overlap: Counter,
    pub(crate) watch_hits: Counter,
    batches: By<Counter>,
    seals: By<Counter>,
    scans: By<Counter>,
    auth_failures: By<Counter>,
    last_heard: By<Gauge>,
    last_sealed: By<Gauge>,
    clock_skew: By<Gauge<f64, AtomicU64>>,
    cert_expiry: By<Gauge>,
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        let latencies = || Histogram::new(exponential_buckets(0.000_5, 2.0, 16));
        let mut metrics = Metrics {
            registry: Registry::with_prefix("cognate"),
            sessions: Gauge::default(),
            sites: Gauge::default(),
            sessions_replaced: Counter::default(),
            clones_refused: Counter::default(),
            pushes_denied: Counter::default(),
            claims_refused: Counter::default(),
            received_bytes: Counter::default(),
            ack_latency_seconds: latencies(),
            fsync_seconds: latencies(),
            quarantined: Counter::default(),
            shed: Counter::default(),
            disk_bytes: Gauge::default(),
            disk_free_bytes: Gauge::default(),
            store_bytes: Gauge::default(),
            sled_bytes: Gauge::default(),
            documents: Gauge::default(),
            scans_running: Gauge::default(),
            new_overlap: Counter::default(),
            watch_hits: Counter::default(),
            batches: By::default(),
            seals: By::default(),
            scans: By::default(),
            auth_failures: By::default(),
            last_heard: By::default(),
            last_sealed: By::default(),
            clock_skew: By::default(),
            cert_expiry: By::default(),
        };
        metrics.register();
        // A rate needs a first value, so all labels exist from the start.
        for result in ["stored", "repeated", "refused"] {
            drop(metrics.batches.get_or_create(&[("result", result.to_owned())]));
        }
        for result in ["sealed", "differs", "failed"] {
            drop(metrics.seals.get_or_create(&[("result", result.to_owned())]));
        }
        for status in ["complete", "partial", "failed", "cancelled"] {
            drop(metrics.scans.get_or_create(&[("status", status.to_owned())]));
        }
        metrics
    }

    fn register(&mut self) {
        let build: By<Gauge> = By::default();
        build.get_or_create(&[("version", env!("CARGO_PKG_VERSION").to_owned())]).set(1);
        let all = &mut self.registry;
        all.register("build_info", "The running version", build);
        all.register("sessions", "Sites that are attached", self.sessions.clone());
        all.register("sites", "Sites that may attach", self.sites.clone());
        all.register("session_replaced", "Sessions that another took over", self.sessions_replaced.clone());
        all.register("session_refused", "Workers that look like a copy of a site's", self.clones_refused.clone());
        all.register("push_denied", "Pushes without an assignment", self.pushes_denied.clone());
        all.register("claims_refused", "Numbers reported by sites that are impossible", self.claims_refused.clone());
        all.register("batches", "Batches, by outcome", self.batches.clone());
        all.register("seals", "Seals of indexes, by outcome", self.seals.clone());
        all.register("received_bytes", "Bytes of batches that came in", self.received_bytes.clone());
        all.register("ack_latency_seconds", "Time from a batch to its answer", self.ack_latency_seconds.clone());
        all.register("fsync_seconds", "Time to bring a commit to the disk", self.fsync_seconds.clone());
        all.register(
            "quarantined",
            "Damaged files that were quarantined, and batches that contradict what is stored",
            self.quarantined.clone(),
        );
        all.register("shed", "Pushes that were refused for lack of disk space", self.shed.clone());
        all.register("disk_bytes", "The size of the state's file system", self.disk_bytes.clone());
        all.register("disk_free_bytes", "Free bytes of it", self.disk_free_bytes.clone());
        all.register("store_bytes", "Bytes of the state", self.store_bytes.clone());
        all.register("sled_bytes", "Bytes of the state in sled", self.sled_bytes.clone());
        all.register("documents", "Documents in the present indexes", self.documents.clone());
        all.register("scans_running", "Scans that have not ended", self.scans_running.clone());
        all.register("watch_hits", "New documents that watches found", self.watch_hits.clone());
        all.register("new_overlap", "Scans of schedules that found something new in common", self.new_overlap.clone());
        all.register("scans", "Scans that ended, by status", self.scans.clone());
        all.register("auth_failures", "Calls and connections that were refused, by reason", self.auth_failures.clone());
        all.register(
            "site_last_heard_timestamp_seconds",
            "Time of the last message of a site",
            self.last_heard.clone(),
        );
        all.register(
            "site_last_sealed_timestamp_seconds",
            "Time of the last seal of an index of a site",
            self.last_sealed.clone(),
        );
        all.register("clock_skew_seconds", "Seconds by which a site's clock is ahead", self.clock_skew.clone());
        all.register("cert_expiry_timestamp_seconds", "End of a certificate", self.cert_expiry.clone());
    }

    /// A batch came: `stored`, `repeated` or `refused`.
    pub(crate) fn batch(&self, result: &'static str) {
        self.batches.get_or_create(&[("result", result.to_owned())]).inc();
    }

    /// The seal of an index came: `sealed`, `differs` (the site has another index digest) or `failed`.
    pub(crate) fn seal(&self, result: &'static str) {
        self.seals.get_or_create(&[("result", result.to_owned())]).inc();
    }

    /// A scan ended: `complete`, `partial`, `failed` or `cancelled`.
    pub(crate) fn scan_ended(&self, status: &'static str) {
        self.scans.get_or_create(&[("status", status.to_owned())]).inc();
    }

    /// The reasons for which calls and connections are refused: each is counted from 0 on, so that a rate sees the first burst.
    pub(crate) fn expect_auth_failures(&self, reasons: impl IntoIterator<Item = &'static str>) {
        for reason in reasons {
            drop(self.auth_failures.get_or_create(&[("reason", reason.to_owned())]));
        }
    }

    /// Counts a refused call or connection. There are few reasons.
    pub(crate) fn auth_failure(&self, reason: &'static str) {
        self.auth_failures.get_or_create(&[("reason", reason.to_owned())]).inc();
    }

    /// Sets the time of the last message of a site, and the lead of its clock.
    pub(crate) fn site_heard(&self, site: &str, last_heard: i64, clock_skew_seconds: i64) {
        self.last_heard.get_or_create(&[("site", site.to_owned())]).set(last_heard);
        #[expect(clippy::cast_precision_loss, reason = "a clock that is off by more is off by more")]
        self.clock_skew.get_or_create(&[("site", site.to_owned())]).set(clock_skew_seconds as f64);
    }

    /// Sets the time of the last seal of a site's index.
    pub(crate) fn site_sealed(&self, site: &str, sealed: i64) {
        self.last_sealed.get_or_create(&[("site", site.to_owned())]).set(sealed);
    }

    /// Sets the end of a certificate: `ca`, `coordinator`, or the name of a site.
    pub(crate) fn certificate(&self, of: &str, expires: i64) {
        self.cert_expiry.get_or_create(&[("of", of.to_owned())]).set(expires);
    }

    /// Drops the values of sites, so that they can be set again.
    pub(crate) fn clear_sites(&self) {
        self.last_heard.clear();
        self.clock_skew.clear();
        self.last_sealed.clear();
        self.cert_expiry.clear();
    }

    /// All metrics in the format of Prometheus.
    pub(crate) fn encode(&self) -> String {
        let mut out = String::new();
        text::encode(&mut out, &self.registry).expect("a string takes everything");
        out
    }
}
