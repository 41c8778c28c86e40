//! A connection, as the calls on it see it.

use std::net::IpAddr;
use std::sync::Arc;

use tokio::sync::Notify;

use crate::identity::PeerInfo;

/// The peer of a connection, and the way to end it.
#[derive(Clone, Debug)]
pub struct Connection {
    pub(crate) peer: PeerInfo,
    /// The address of the peer; nothing: a pipe within the process.
    pub(crate) from: Option<IpAddr>,
    /// Notified to end the connection.
    pub(crate) end: Arc<Notify>,
}
