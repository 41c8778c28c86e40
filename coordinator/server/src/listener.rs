//! The listener: one port, TLS 1.3, and limits on everything that precedes the identification of a peer.
//!
//! A connection is accepted if it shows a certificate of the CA, or none; every call checks that the certificate is still
//! valid. Nobody waits for a place: where there are too many connections, one of whoever has the most makes way, so that
//! a peer that opens many keeps out nobody but itself.

mod members;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use cognate_proto::dial::set_up_tcp;
use cognate_proto::identity::CertificateInfo;
use rustls::CertificateError;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;

use self::members::Members;
use crate::error::Error;
use crate::identity::{PeerInfo, Refusal, Refusals};
use crate::places::{Place, PlaceLimits, Places};
use crate::server::Peer;
use crate::tls::Tls;

/// The handshakes at the same time, and the longest time of each.
const HANDSHAKES: PlaceLimits = PlaceLimits { all: 512, each: 64 };
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// The connections without a certificate, and the longest time of each.
const ANONYMOUS: PlaceLimits = PlaceLimits { all: 128, each: 16 };
const ANONYMOUS_LIFE: Duration = Duration::from_secs(60);
/// Connections that wait for the server to take them.
const ENTERED_WAITING: usize = 64;
/// The wait between attempts to accept when the process is out of descriptors.
const EXHAUSTED_WAIT: Duration = Duration::from_millis(100);
const EXHAUSTED_WAIT_MAX: Duration = Duration::from_secs(2);

/// The listener, bound but not yet accepting.
pub struct Listener {
    tcp: TcpListener,
    door: Arc<Door>,
}

/// The state that all connections share.
struct Door {
    tls: Arc<Tls>,
    refusals: Arc<Refusals>,
    handshakes: Arc<Places>,
    anonymous: Arc<Places>,
    members: Arc<Members>,
}

impl Listener {
    /// Binds the address. Nothing is accepted before [`Listener::incoming`].
    ///
    /// # Errors
    /// Fails if the address cannot be bound.
    pub async fn bind(address: &str, tls: Arc<Tls>, refusals: Arc<Refusals>) -> Result<Listener, Error> {
        let tcp =
            TcpListener::bind(address).await.map_err(|source| Error::Listen { address: address.into(), source })?;
        let door = Door {
            tls,
            refusals,
            handshakes: Places::new(HANDSHAKES),
            anonymous: Places::new(ANONYMOUS),
            members: Arc::default(),
        };
        Ok(Listener { tcp, door: Arc::new(door) })
    }

    /// The bound address.
    ///
    /// # Errors
    /// Fails if the operating system does not report it.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }

    /// Starts to accept: a stream of the accepted connections. Dropping the stream closes the listener.
    pub fn incoming(self) -> impl Stream<Item = io::Result<Peer<TlsStream<TcpStream>>>> {
        let (through, incoming) = mpsc::channel(ENTERED_WAITING);
        crate::tasks::spawn(accept(self.tcp, self.door, through));
        ReceiverStream::new(incoming)
    }
}

type Through = mpsc::Sender<io::Result<Peer<TlsStream<TcpStream>>>>;

async fn accept(tcp: TcpListener, door: Arc<Door>, through: Through) {
    loop {
        let (stream, from) = tokio::select! {
            accepted = next_connection(&tcp) => accepted,
            () = through.closed() => return,
        };
        if let Some(place) = door.place(&door.handshakes, from, "a handshake") {
            crate::tasks::spawn(enter(Arc::clone(&door), stream, from, place, through.clone()));
        }
    }
}

/// The next connection to a listener. Waits longer and longer while the process is out of descriptors.
pub async fn next_connection(tcp: &TcpListener) -> (TcpStream, SocketAddr) {
    let mut wait = EXHAUSTED_WAIT;
    loop {
        match tcp.accept().await {
            Ok(accepted) => return accepted,
            Err(error) if is_exhausted(&error) => {
                tracing::warn!(%error, ?wait, "no connection can be accepted for now");
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(EXHAUSTED_WAIT_MAX);
            }
            // The peer disconnected before it was accepted.
            Err(error) => tracing::debug!(%error, "a connection was not accepted"),
        }
    }
}

/// True if no descriptors or no memory are left: waiting helps, an immediate attempt does not.
fn is_exhausted(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let exhausted = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM].map(Errno::raw_os_error);
    error.raw_os_error().is_some_and(|code| exhausted.contains(&code))
}

async fn enter(door: Arc<Door>, stream: TcpStream, from: SocketAddr, mut place: Place, through: Through) {
    let entered = tokio::select! {
        entered = tokio::time::timeout(HANDSHAKE_TIMEOUT, door.admit(stream, from)) => entered,
        // It is counted and logged by the one that it makes way for.
        () = place.taken_away() => return,
    };
    drop(place);
    match entered.unwrap_or_else(|_| Err((Refusal::HandshakeTimeout, String::new()))) {
        // At a shutdown the receiver is gone.
        Ok(peer) => drop(through.send(Ok(peer)).await),
        Err((refusal, detail)) => door.refuse(from, refusal, &detail),
    }
}

impl Door {
    async fn admit(
        &self,
        stream: TcpStream,
        from: SocketAddr,
    ) -> Result<Peer<TlsStream<TcpStream>>, (Refusal, String)> {
        set_up_tcp(&stream).map_err(|error| (Refusal::Handshake, error.to_string()))?;
        let stream = TlsAcceptor::from(self.tls.current()).accept(stream).await.map_err(|error| why(&error))?;
        let session = stream.get_ref().1;
        if session.alpn_protocol() != Some(b"h2") {
            return Err((Refusal::Handshake, "it did not ask for HTTP/2".to_owned()));
        }
        let info = match session.peer_certificates().and_then(<[_]>::first) {
            Some(certificate) => match CertificateInfo::read(certificate) {
                Ok(info) => PeerInfo::Certificate(Arc::new(info)),
                Err(error) => return Err((Refusal::CertificateUnfit, error.to_string())),
            },
            None => PeerInfo::Anonymous,
        };
        let member = match &info {
            PeerInfo::Certificate(info) => info.member.as_ref(),
            PeerInfo::Anonymous | PeerInfo::Vouched(_) => None,
        };
        if let Some(member) = member {
            let (held, made_way) = self.members.hold(member);
            if let Some(made_way) = made_way {
                self.refuse(from, Refusal::Connections, &format!("the oldest of {made_way} made way for a new one"));
            }
            return Ok(Peer::known(stream, info, from.ip(), held.ended()));
        }
        let place = self.place(&self.anonymous, from, "a connection without a certificate");
        let Some(mut place) = place else { return Err((Refusal::Connections, "no place is left".to_owned())) };
        let end = async move {
            let _ = tokio::time::timeout(ANONYMOUS_LIFE, place.taken_away()).await;
        };
        Ok(Peer::known(stream, info, from.ip(), end))
    }

    /// A place for a connection; another one may make way for it.
    fn place(&self, places: &Arc<Places>, from: SocketAddr, whose: &str) -> Option<Place> {
        let taken = places.take(from.ip());
        if taken.as_ref().map_or(1, |(_, made_way)| *made_way) > 0 {
            self.refuse(from, Refusal::Connections, &format!("{whose} made way for a new one"));
        }
        taken.ok().map(|(place, _)| place)
    }

    /// Counts a refusal, and logs it unless many like it were logged just now.
    fn refuse(&self, from: SocketAddr, refusal: Refusal, detail: &str) {
        if let Some(unlogged) = self.refusals.counted(refusal) {
            tracing::info!(%from, reason = refusal.label(), detail, unlogged, "a connection was refused");
        }
    }
}

/// The reason for which a handshake failed.
fn why(error: &io::Error) -> (Refusal, String) {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let refusal = match tls {
        Some(rustls::Error::InvalidCertificate(problem)) => match problem {
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => Refusal::CertificateExpired,
            CertificateError::UnknownIssuer | CertificateError::BadSignature => Refusal::CertificateForeign,
            _ => Refusal::CertificateUnfit,
        },
        _ => Refusal::Handshake,
    };
    (refusal, error.to_string())
}

#[cfg(test)]
mod tests;
