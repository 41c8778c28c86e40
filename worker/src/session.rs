//! Floor 6: a site with all of its services, and one session with the coordinator.
//!
//! - [`offer`]: checks requests against the repositories, the key and the policy of this site.
//! - [`status`], [`status_tracker`]: the status of the site, as `worker status` shows it.
//! - [`site`]: the site, which opens the services below and hands each to its users.
//! - [`hello`], [`history`], [`own_sync`]: the first message, earlier assignments, and syncs that this site requests.
//! - [`task`]: one task of a session, a sync ([`sync_task`]) or a query by hashes ([`query_task`]), fine chunks ([`fine_task`]), or the
//!   exact measure of pairs ([`measure_task`]).
//! - [`content_query`]: what a site keeps until the next query about contents, and forgets if none comes.
//! - [`attach`]: the session itself.

pub(crate) mod attach;
mod content_query;
mod fine_task;
pub(crate) mod hello;
pub(crate) mod history;
mod measure_task;
pub(crate) mod offer;
pub(crate) mod own_sync;
mod query_task;
pub(crate) mod site;
pub(crate) mod status;
mod status_tracker;
mod sync_task;
mod task;
