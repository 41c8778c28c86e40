//! A client of the coordinator's port that does as it likes: TLS with any identity, and HTTP/2 by hand.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Whom a connection shows.
pub(super) enum Identity<'a> {
    /// The owner of an operator's file.
    Operator(&'a Path),
    /// Nobody; the file names the authority.
    Anonymous(&'a Path),
}

/// A connection of HTTP/2 over TLS, of which nothing is read unless the test says so.
pub(super) struct Connection {
    stream: StreamOwned<ClientConnection, TcpStream>,
    next_stream: u32,
    /// The streams whose head has come.
    headed: Vec<u32>,
}

/// The configuration of TLS for an identity.
pub(super) fn tls(identity: &Identity<'_>) -> Arc<ClientConfig> {
    let (Identity::Operator(path) | Identity::Anonymous(path)) = identity;
    let file: toml::Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
    let pem = |key: &str| file[key].as_str().unwrap().as_bytes();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(pem("ca")).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots);
    let mut config = match identity {
        Identity::Anonymous(_) => config.with_no_client_auth(),
        Identity::Operator(_) => {
            let chain = vec![CertificateDer::from_pem_slice(pem("certificate")).unwrap()];
            config.with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(pem("key")).unwrap()).unwrap()
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    Arc::new(config)
}

impl Connection {
    /// Connects and begins HTTP/2. Each stream has room for so many bytes of answers.
    pub(super) fn open(address: SocketAddr, tls: &Arc<ClientConfig>, window: u32) -> std::io::Result<Connection> {
        let tcp = TcpStream::connect(address)?;
        tcp.set_read_timeout(Some(Duration::from_secs(20)))?;
        tcp.set_write_timeout(Some(Duration::from_secs(20)))?;
        let connection = ClientConnection::new(Arc::clone(tls), address.ip().into()).unwrap();
        let mut connection =
            Connection { stream: StreamOwned::new(connection, tcp), next_stream: 1, headed: Vec::new() };
        connection.stream.write_all(PREFACE)?;
        // SETTINGS_INITIAL_WINDOW_SIZE
        let setting = [&[0, 4][..], &window.to_be_bytes()].concat();
        connection.frame(SETTINGS, 0, 0, &setting)?;
        Ok(connection)
    }

    /// Begins a call: the number of its stream.
    pub(super) fn call(&mut self, method: &str) -> std::io::Result<u32> {
        self.call_with(method, &[])
    }

    /// Begins a call with further fields in its head.
    pub(super) fn call_with(&mut self, method: &str, more: &[(&str, &str)]) -> std::io::Result<u32> {
        let stream = self.next_stream;
        self.next_stream += 2;
        let fields = [
            (":method", "POST"),
            (":scheme", "https"),
            (":path", method),
            (":authority", "hub"),
            ("content-type", "application/grpc"),
            ("te", "trailers"),
        ];
        let mut block = Vec::new();
        for (name, value) in fields.iter().chain(more) {
            // A literal that is not indexed, with a literal name, both without the code of Huffman.
            block.push(0);
            for text in [name, value] {
                assert!(text.len() < 127, "a length in one byte");
                block.push(u8::try_from(text.len()).unwrap());
                block.extend_from_slice(text.as_bytes());
            }
        }
        self.frame(HEADERS, END_HEADERS, stream, &block)?;
        Ok(stream)
    }

    /// Sends a message of a call; the last one ends the request.
    pub(super) fn message(&mut self, stream: u32, message: &[u8], is_last: bool) -> std::io::Result<()> {
        let length = u32::try_from(message.len()).unwrap().to_be_bytes();
        let framed = [&[0][..], &length, message].concat();
        self.frame(DATA, if is_last { END_STREAM } else { 0 }, stream, &framed)
    }

    /// Sends the one message of a call, which says of itself that it is compressed.
    pub(super) fn compressed_message(&mut self, stream: u32, message: &[u8]) -> std::io::Result<()> {
        let length = u32::try_from(message.len()).unwrap().to_be_bytes();
        self.frame(DATA, END_STREAM, stream, &[&[1][..], &length, message].concat())
    }

    /// Begins calls and takes each back at once, until the coordinator ends the connection, or so many times.
    pub(super) fn reset_rapidly(&mut self, times: usize) -> std::io::Result<()> {
        for _ in 0..times {
            let stream = self.call("/cognate.v1.Operator/ListScans")?;
            self.frame(RESET, 0, stream, &[0, 0, 0, 8])?;
        }
        Ok(())
    }

    /// Sends a head that never ends: so many frames of 16 KiB.
    pub(super) fn head_without_end(&mut self, frames: usize) -> std::io::Result<()> {
        let block = [0; 16 << 10];
        self.frame(HEADERS, 0, self.next_stream, &block)?;
        (0..frames).try_for_each(|_| self.frame(CONTINUATION, 0, self.next_stream, &block))
    }

    /// Asks for answers that it never reads: so many of each kind.
    pub(super) fn ping_and_set(&mut self, times: usize) -> std::io::Result<()> {
        for _ in 0..times {
            self.frame(PING, 0, 0, &[7; 8])?;
            self.frame(SETTINGS, 0, 0, &[])?;
        }
        Ok(())
    }

    fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> std::io::Result<()> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
        self.stream.write_all(&[&head, payload].concat())?;
        self.stream.flush()
    }

    /// Reads, without making room for more, until every call has an answer: the number of those that were refused, which
    /// have nothing but a head.
    pub(super) fn refused_until_it_answers(&mut self) -> std::io::Result<usize> {
        let (mut answered, mut refused) = (0, 0);
        while answered < self.next_stream / 2 {
            let (kind, flags, stream) = self.next_frame()?;
            if kind == HEADERS && !self.headed.contains(&stream) {
                self.headed.push(stream);
                answered += 1;
                refused += usize::from(flags & END_STREAM != 0);
            }
        }
        Ok(refused)
    }

    /// The kind, the flags and the stream of the next frame.
    fn next_frame(&mut self) -> std::io::Result<(u8, u8, u32)> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head)?;
        let [a, b, c, kind, flags, stream @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        self.stream.read_exact(&mut payload)?;
        Ok((kind, flags, u32::from_be_bytes(stream)))
    }
}

/// A field of a protobuf message that holds a fixed number of 64 bits.
pub(super) fn fixed64(field: u8, value: u64) -> Vec<u8> {
    [&[field << 3 | 1][..], &value.to_le_bytes()].concat()
}
