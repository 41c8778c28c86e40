//! The services of one coordinator, each with the handles that it uses. Calls and pages reach them through this list.

use std::sync::Arc;

use crate::audit::Audits;
use crate::find::Finder;
use crate::health::Health;
use crate::identity::Members;
use crate::logins::Logins;
use crate::metrics::Metrics;
use crate::removal::Removal;
use crate::scan::Scans;
use crate::schedule::Schedules;
use crate::session::Sessions;
use crate::streams::Streams;
use crate::template::Templates;
use crate::watching::Watching;
use crate::webhook::Webhooks;
use cognate_desk::case::Cases;
use cognate_desk::results::Results;
use cognate_desk::verdict::Verdicts;
use cognate_desk::watch::Watches;
use cognate_storage::records::Records;

/// All services of a coordinator.
pub struct Services {
    /// The record: store, journal, clock.
    pub records: Arc<Records>,
    /// The registry of sites and people.
    pub members: Arc<Members>,
    /// The sites that are attached.
    pub(crate) sessions: Arc<Sessions>,
    /// Launching and running scans.
    pub scans: Arc<Scans>,
    /// The counters.
    pub(crate) metrics: Arc<Metrics>,
    /// The people who are signed in at the pages.
    pub logins: Logins,
    /// The receivers of notices.
    pub(crate) webhooks: Webhooks,
    /// Answers that are streams.
    pub streams: Arc<Streams>,
    /// Open results.
    pub results: Arc<Results>,
    /// Decisions about results.
    pub verdicts: Verdicts,
    /// Marked and suggested templates.
    pub(crate) templates: Templates,
    /// Searches for documents.
    pub(crate) finder: Arc<Finder>,
    /// Standing queries.
    pub(crate) watches: Arc<Watches<Finder>>,
    /// Notices about them.
    pub(crate) watching: Watching,
    /// Queries with their answers.
    pub(crate) cases: Arc<Cases<Finder>>,
    /// Auditors' reports.
    pub(crate) audits: Audits,
    /// Scheduled scans.
    pub(crate) schedules: Arc<Schedules>,
    /// Removal of sites, scans and old state.
    pub(crate) removal: Arc<Removal>,
    /// Readiness and metrics.
    pub health: Health,
}
