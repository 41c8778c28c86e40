//! The listener: one port, TLS 1.3, and limits on everything that precedes the identification of a peer.
//!
//! Handshakes run in parallel, limited in number and time. A connection is accepted if it shows a certificate of the
//! CA, or none; every call checks that the certificate is still valid.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, SystemTime};

use cognate_proto::dial::set_up_tcp;
use cognate_proto::identity::{CertificateInfo, MemberUri};
use cognate_proto::v1::MemberKind;
use rustls::CertificateError;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;

use crate::error::Error;
use crate::identity::{Authority, PeerInfo, Refusal, Refusals};
use crate::server::Peer;

/// The number of handshakes at the same time, and the longest time of each.
const HANDSHAKES_MAX: usize = 64;
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// The number of connections, of those without a certificate, and the longest time of each of these.
const CONNECTIONS_MAX: usize = 1024;
const ANONYMOUS_MAX: usize = 128;
const ANONYMOUS_LIFE: Duration = Duration::from_secs(60);
/// The number of connections of one site and of one person. One more ends the oldest: a member whose lost connection
/// still counts is let in again.
const CONNECTIONS_PER_SITE: usize = 4;
const CONNECTIONS_PER_OPERATOR: usize = 16;
/// The wait between attempts to accept when the process is out of descriptors.
const EXHAUSTED_WAIT: Duration = Duration::from_millis(100);
const EXHAUSTED_WAIT_MAX: Duration = Duration::from_secs(2);

/// The certificate of the coordinator, which can be replaced while it serves.
pub struct Tls {
    authority: Arc<Authority>,
    current: RwLock<Arc<rustls::ServerConfig>>,
    renewal: Mutex<SystemTime>,
}

impl Tls {
    /// A certificate for these names.
    ///
    /// # Errors
    /// Fails if a name is invalid.
    pub fn new(authority: Arc<Authority>, names: &[String]) -> Result<Tls, Error> {
        let (config, renewal) = authority.server_config(names)?;
        Ok(Tls { authority, current: RwLock::new(config), renewal: Mutex::new(renewal) })
    }

    /// Sets a new certificate, for connections from now on. Open ones continue.
    ///
    /// # Errors
    /// Fails if a name is invalid: then everything stays as it was.
    pub fn renew(&self, names: &[String]) -> Result<(), Error> {
        let (config, renewal) = self.authority.server_config(names)?;
        *self.current.write().expect("nothing panics while it is held") = config;
        *self.renewal.lock().expect("nothing panics while it is held") = renewal;
        Ok(())
    }

    /// True if two thirds of the certificate's life are over.
    pub fn is_due(&self, now: SystemTime) -> bool {
        *self.renewal.lock().expect("nothing panics while it is held") <= now
    }

    fn current(&self) -> Arc<rustls::ServerConfig> {
        Arc::clone(&self.current.read().expect("nothing panics while it is held"))
    }
}

/// The listener, bound but not yet accepting.
pub struct Listener {
    tcp: TcpListener,
    door: Arc<Door>,
}

/// The state that all connections share.
struct Door {
    tls: Arc<Tls>,
    refusals: Arc<Refusals>,
    handshakes: Arc<Semaphore>,
    connections: Arc<Semaphore>,
    anonymous: Arc<Semaphore>,
    members: Mutex<HashMap<MemberKey, VecDeque<Held>>>,
}

type MemberKey = (MemberKind, String);

/// A connection of a member: dropping the sender ends it.
struct Held {
    number: u64,
    _end: oneshot::Sender<()>,
}

impl Listener {
    /// Binds the address. Nothing is accepted before [`Listener::incoming`].
    ///
    /// # Errors
    /// Fails if the address cannot be bound.
    pub async fn bind(address: &str, tls: Arc<Tls>, refusals: Arc<Refusals>) -> Result<Listener, Error> {
        let tcp =
            TcpListener::bind(address).await.map_err(|source| Error::Listen { address: address.into(), source })?;
        let semaphore = |count| Arc::new(Semaphore::new(count));
        let door = Door {
            tls,
            refusals,
            handshakes: semaphore(HANDSHAKES_MAX),
            connections: semaphore(CONNECTIONS_MAX),
            anonymous: semaphore(ANONYMOUS_MAX),
            members: Mutex::default(),
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
        let (through, incoming) = mpsc::channel(HANDSHAKES_MAX);
        tokio::spawn(accept(self.tcp, self.door, through));
        ReceiverStream::new(incoming)
    }
}

type Through = mpsc::Sender<io::Result<Peer<TlsStream<TcpStream>>>>;

async fn accept(tcp: TcpListener, door: Arc<Door>, through: Through) {
    let mut wait = EXHAUSTED_WAIT;
    let mut number = 0;
    loop {
        let accepted = tokio::select! {
            accepted = tcp.accept() => accepted,
            () = through.closed() => return,
        };
        match accepted {
            Ok((stream, from)) => {
                wait = EXHAUSTED_WAIT;
                number += 1;
                match Arc::clone(&door.connections).try_acquire_owned() {
                    Ok(place) => {
                        tokio::spawn(enter(Arc::clone(&door), stream, from, number, place, through.clone()));
                    }
                    Err(_) => door.refuse(from, Refusal::Connections, &format!("{CONNECTIONS_MAX} in all")),
                }
            }
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

async fn enter(
    door: Arc<Door>,
    stream: TcpStream,
    from: SocketAddr,
    number: u64,
    place: OwnedSemaphorePermit,
    through: Through,
) {
    // A silent peer does not delay the others.
    let speaks = tokio::time::timeout(HANDSHAKE_TIMEOUT, stream.peek(&mut [0])).await;
    if !matches!(speaks, Ok(Ok(1))) {
        return door.refuse(from, Refusal::HandshakeTimeout, "the peer sent nothing");
    }
    let turn = Arc::clone(&door.handshakes).acquire_owned().await;
    let entered = match tokio::time::timeout(HANDSHAKE_TIMEOUT, door.admit(stream, number, place)).await {
        Ok(entered) => entered,
        Err(_) => Err((Refusal::HandshakeTimeout, String::new())),
    };
    drop(turn);
    match entered {
        // At a shutdown the receiver is gone.
        Ok(peer) => drop(through.send(Ok(peer)).await),
        Err((refusal, detail)) => door.refuse(from, refusal, &detail),
    }
}

impl Door {
    async fn admit(
        self: &Arc<Self>,
        stream: TcpStream,
        number: u64,
        place: OwnedSemaphorePermit,
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
        let Some(member) = member else {
            let anonymous = Arc::clone(&self.anonymous).try_acquire_owned();
            let anonymous = anonymous.map_err(|_| (Refusal::Connections, format!("{ANONYMOUS_MAX} anonymous")))?;
            let end = async move {
                let _places = (place, anonymous);
                tokio::time::sleep(ANONYMOUS_LIFE).await;
            };
            return Ok(Peer::known(stream, info, end));
        };
        let held = self.hold(member, number);
        let end = async move {
            let _place = place;
            held.await;
        };
        Ok(Peer::known(stream, info, end))
    }

    fn refuse(&self, from: SocketAddr, refusal: Refusal, detail: &str) {
        self.refusals.count(refusal);
        tracing::info!(%from, reason = refusal.label(), detail, "a connection was refused");
    }

    /// Counts a member's connection until the future is dropped; it resolves when others have taken its place.
    fn hold(self: &Arc<Self>, member: &MemberUri, number: u64) -> impl Future<Output = ()> + Send + use<> {
        let key = (member.kind, member.name.clone());
        let (end, ended) = oneshot::channel();
        let mut members = self.members.lock().expect("nothing panics while it is held");
        let connections = members.entry(key.clone()).or_default();
        connections.push_back(Held { number, _end: end });
        let most = if member.kind == MemberKind::Site { CONNECTIONS_PER_SITE } else { CONNECTIONS_PER_OPERATOR };
        if connections.len() > most {
            connections.pop_front();
            self.refusals.count(Refusal::Connections);
            tracing::info!(member = %member, most, "the oldest connection is closed for a new one");
        }
        drop(members);
        let left = Left { door: Arc::clone(self), key, number };
        async move {
            let _left = left;
            let _ = ended.await;
        }
    }
}

/// Takes a connection out of the count when it is gone.
struct Left {
    door: Arc<Door>,
    key: MemberKey,
    number: u64,
}

impl Drop for Left {
    fn drop(&mut self) {
        let mut members = self.door.members.lock().expect("nothing panics while it is held");
        if let Some(connections) = members.get_mut(&self.key) {
            connections.retain(|held| held.number != self.number);
            if connections.is_empty() {
                members.remove(&self.key);
            }
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
