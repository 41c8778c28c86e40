//! Floor 7: the daemon of a site. It connects, serves a session, and connects again. Between and during sessions it
//! syncs on the site's own schedule, renews its certificate, and answers requests on its control socket.
//!
//! - [`dialer`]: connects to the coordinator.
//! - [`handle`]: the running daemon, as the parts below use it.
//! - [`control_server`]: answers requests on the control socket.
//! - [`schedule`], [`renewal`]: scheduled syncs and the renewal of the certificate.
//! - [`sessions`]: one session after the other.
//! - [`run`]: starts and stops all of this.

mod control_server;
pub(crate) mod dialer;
mod handle;
mod renewal;
pub(crate) mod run;
mod schedule;
mod sessions;
