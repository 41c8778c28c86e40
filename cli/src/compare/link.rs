//! The network of a federation in one process: each site connects to the coordinator over a pipe in memory.

use std::io;

use cognate_proto::name::SiteName;
use cognate_server::Peer;
use hyper_util::rt::TokioIo;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::transport::{Channel, Endpoint};

/// Bytes that a pipe holds before its writer waits.
const PIPE_BYTES: usize = 1 << 20;

/// Connections from sites to the coordinator.
pub(super) struct Links {
    dial: mpsc::UnboundedSender<io::Result<Peer<DuplexStream>>>,
}

impl Links {
    /// A network, and its end at the coordinator.
    pub(super) fn new() -> (Links, impl Stream<Item = io::Result<Peer<DuplexStream>>>) {
        let (dial, incoming) = mpsc::unbounded_channel();
        (Links { dial }, UnboundedReceiverStream::new(incoming))
    }

    /// A site's transport to the coordinator. The pipe itself authenticates the site.
    pub(super) fn connect(&self, site: SiteName) -> Channel {
        let dial = self.dial.clone();
        let connector = tower::service_fn(move |_| {
            let (dial, site) = (dial.clone(), site.clone());
            async move {
                let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
                let gone = |_| io::Error::from(io::ErrorKind::ConnectionRefused);
                dial.send(Ok(Peer::new(theirs, site))).map_err(gone)?;
                Ok::<_, io::Error>(TokioIo::new(ours))
            }
        });
        // The address is never resolved: the connector above does not use it.
        Endpoint::from_static("http://coordinator.invalid")
            .initial_stream_window_size(8 << 20)
            .initial_connection_window_size(16 << 20)
            .connect_with_connector_lazy(connector)
    }
}
