//! The probes of the coordinator, on a port and a thread of their own: they answer whatever the rest has to do.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread::JoinHandle;

use anyhow::Context as _;
use cognate_server::OperatorService;
use cognate_web::HttpListener;
use tokio::sync::oneshot;

use super::refused;

/// Any free port of this machine, without TLS: probes have no certificates.
const LISTEN: &str = "127.0.0.1:0";

/// The probes, which answer until they are stopped.
pub(super) struct Probes {
    /// The bound address.
    pub(super) address: SocketAddr,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Probes {
    /// Starts to serve.
    ///
    /// # Errors
    /// Fails if no thread or port can be had.
    pub(super) fn start(service: OperatorService, pages: String) -> anyhow::Result<Probes> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("the probes cannot be started")?;
        let (bound, address) = mpsc::sync_channel(1);
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = move || {
            runtime.block_on(async {
                let listener = match HttpListener::bind(LISTEN, None).await {
                    Ok(listener) => listener,
                    Err(error) => return drop(bound.send(Err(refused(error)))),
                };
                let _ = bound.send(listener.local_addr().map_err(Into::into));
                listener.serve_probes(service, &pages, async { drop(stopped.await) }).await;
            });
        };
        let thread = std::thread::Builder::new().name("probes".to_owned()).spawn(serving);
        let thread = thread.context("the probes cannot be started")?;
        let address = address.recv().context("the probes crashed: see the log")??;
        Ok(Probes { address, stop, thread })
    }

    /// Stops serving, and lets go of the state.
    pub(super) fn stop(self) {
        let _ = self.stop.send(());
        if self.thread.join().is_err() {
            tracing::error!("the probes crashed");
        }
    }
}
