//! The servers that a dial accepts as the coordinator; others receive no byte.

#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

use std::sync::{Arc, Mutex};

use cognate_proto::dial::{Dial, DialError, Trust};
use cognate_proto::identity::{Credential, KeyHash, PrivateKey};
use cognate_proto::v1::EnrollRequest;
use cognate_proto::v1::enrolment_client::EnrolmentClient;
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

struct Ca {
    parameters: CertificateParams,
    key: PrivateKey,
    der: Vec<u8>,
}

impl Ca {
    fn new() -> Ca {
        let key = PrivateKey::generate().unwrap();
        let mut parameters = CertificateParams::default();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        let der = parameters.self_signed(key.pair()).unwrap().der().to_vec();
        Ca { parameters, key, der }
    }

    /// A server with a certificate of this CA for a name; it accepts one connection and records the bytes read from it.
    async fn serve(&self, name: &str, purpose: ExtendedKeyUsagePurpose) -> (u16, Heard) {
        self.serve_with_chain(name, purpose, vec![self.der.clone().into()]).await
    }

    async fn serve_with_chain(
        &self,
        name: &str,
        purpose: ExtendedKeyUsagePurpose,
        above: Vec<CertificateDer<'static>>,
    ) -> (u16, Heard) {
        self.serve_certificate(leaf(name, purpose), above, &[b"h2"]).await
    }

    async fn serve_certificate(
        &self,
        parameters: CertificateParams,
        mut above: Vec<CertificateDer<'static>>,
        protocols: &[&[u8]],
    ) -> (u16, Heard) {
        let leaf = KeyPair::generate().unwrap();
        let issuer = Issuer::from_params(&self.parameters, self.key.pair());
        let certificate = parameters.signed_by(&leaf, &issuer).unwrap();
        above.insert(0, certificate.der().clone());
        let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(above, PrivatePkcs8KeyDer::from(leaf.serialize_der()).into())
            .unwrap();
        tls.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Heard::default();
        tokio::spawn(take(listener, TlsAcceptor::from(Arc::new(tls)), heard.clone()));
        (port, heard)
    }
}

/// A certificate for a name that is not signed yet.
fn leaf(name: &str, purpose: ExtendedKeyUsagePurpose) -> CertificateParams {
    let mut parameters = CertificateParams::new(vec![name.to_owned()]).unwrap();
    parameters.extended_key_usages = vec![purpose];
    parameters
}

/// The bytes received after the handshake.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<u8>>>);

async fn take(listener: TcpListener, acceptor: TlsAcceptor, heard: Heard) {
    let (stream, _) = listener.accept().await.unwrap();
    let Ok(mut stream) = acceptor.accept(stream).await else { return };
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        heard.0.lock().unwrap().extend_from_slice(&buffer[..count]);
    }
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

/// Enrols with a secret over this dial, which cannot succeed: no service answers.
async fn enroll(dial: &Dial, secret: &[u8]) -> DialError {
    let request = EnrollRequest { secret: secret.to_vec(), ..EnrollRequest::default() };
    let status = EnrolmentClient::new(dial.channel()).enroll(request).await.unwrap_err();
    DialError::of(&status).unwrap_or_else(|| panic!("not about dialling: {status:?}"))
}

#[tokio::test]
async fn a_server_of_another_ca_hears_no_byte_of_the_secret() {
    let (ours, other) = (Ca::new(), Ca::new());
    let secret = b"a secret that must not get out!!".as_slice();
    for trust in [Trust::CaKey(ours.key.key_hash()), Trust::Ca(ours.der.clone())] {
        // It even shows our CA's certificate, which anybody can have, above its own.
        for chain in [vec![other.der.clone().into()], vec![ours.der.clone().into()], vec![]] {
            let (port, heard) = other.serve_with_chain("127.0.0.1", ExtendedKeyUsagePurpose::ServerAuth, chain).await;
            let dial = Dial::new(&[format!("127.0.0.1:{port}")], &trust, None).unwrap();
            let error = enroll(&dial, secret).await;
            assert!(error.to_string().contains("not issued by"), "{error}");
            assert!(error.to_string().contains(&ours.key.key_hash().words()), "{error}");
            assert!(error.is_lasting());
            assert_eq!(heard.0.lock().unwrap().len(), 0);
        }
    }
}

#[tokio::test]
async fn the_right_server_hears_the_secret_and_the_name_must_fit() {
    let ours = Ca::new();
    for trust in [Trust::CaKey(ours.key.key_hash()), Trust::Ca(ours.der.clone())] {
        let (port, heard) = ours.serve("127.0.0.1", ExtendedKeyUsagePurpose::ServerAuth).await;
        let dial = Dial::new(&[format!("127.0.0.1:{port}")], &trust, None).unwrap();
        let request = EnrollRequest { secret: b"the secret".to_vec(), ..EnrollRequest::default() };
        let mut client = EnrolmentClient::new(dial.channel());
        let calling = tokio::spawn(async move { client.enroll(request).await });
        while !contains(&heard.0.lock().unwrap(), b"the secret") {
            tokio::task::yield_now().await;
        }
        calling.abort();

        let (port, heard) = ours.serve("hub.example.com", ExtendedKeyUsagePurpose::ServerAuth).await;
        let dial = Dial::new(&[format!("127.0.0.1:{port}")], &trust, None).unwrap();
        let error = enroll(&dial, b"the secret").await.to_string();
        assert!(error.contains("other names"), "{error}");
        assert_eq!(heard.0.lock().unwrap().len(), 0);
    }
}

#[tokio::test]
async fn a_member_of_the_same_ca_cannot_pretend_to_be_the_server() {
    let ours = Ca::new();
    let (port, heard) = ours.serve("127.0.0.1", ExtendedKeyUsagePurpose::ClientAuth).await;
    let dial = Dial::new(&[format!("127.0.0.1:{port}")], &Trust::CaKey(ours.key.key_hash()), None).unwrap();
    let error = enroll(&dial, b"the secret").await.to_string();
    assert!(error.contains("not a server's"), "{error}");
    assert_eq!(heard.0.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn addresses_are_tried_in_order_and_through_the_connector_of_the_caller() {
    let ours = Ca::new();
    let (port, _heard) = ours.serve("127.0.0.2", ExtendedKeyUsagePurpose::ServerAuth).await;
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (seen, addresses) = (Arc::clone(&asked), ["127.0.0.1:1".to_owned(), "127.0.0.2:9".to_owned()]);
    let dial = Dial::new(&addresses, &Trust::Ca(ours.der.clone()), None).unwrap().through(Arc::new(move |address| {
        seen.lock().unwrap().push(address.clone());
        Box::pin(async move {
            match address.as_str() {
                "127.0.0.2:9" => Ok(Box::new(TcpStream::connect(("127.0.0.1", port)).await?) as Box<_>),
                _ => Err(std::io::ErrorKind::ConnectionRefused.into()),
            }
        })
    }));
    dial.connect().await.unwrap();
    assert_eq!(*asked.lock().unwrap(), addresses);

    let stranger = Dial::new(&addresses[..1], &Trust::CaKey(KeyHash([0; 32])), None).unwrap();
    let error = stranger.connect().await.unwrap_err();
    assert!(error.to_string().contains("127.0.0.1:1") && !error.is_lasting(), "{error}");
    assert!(Dial::new(&[], &Trust::CaKey(KeyHash([0; 32])), None).is_err());
    assert!(Dial::new(&["no port".to_owned()], &Trust::CaKey(KeyHash([0; 32])), None).is_err());
}

#[test]
fn a_credential_shows_no_key_and_takes_none_of_another() {
    let ca = Ca::new();
    let key = PrivateKey::generate().unwrap();
    let issuer = Issuer::from_params(&ca.parameters, ca.key.pair());
    let certificate = CertificateParams::default().signed_by(key.pair(), &issuer).unwrap().der().to_vec();
    assert!(Credential::new(ca.der.clone(), certificate.clone(), PrivateKey::generate().unwrap()).is_err());
    let credential = Credential::new(ca.der, certificate, key).unwrap();
    let hidden = data_encoding::BASE64.encode(&credential.key.pkcs8()[40..60]);
    assert!(!format!("{credential:?}").contains(&hidden));
}

#[tokio::test]
async fn a_certificate_that_is_not_valid_now_is_refused_with_the_reason() {
    let ours = Ca::new();
    let year = |year| date_time_ymd(year, 1, 1);
    for (from, until, reason) in [(1990, 2001, "has expired"), (2990, 2999, "not valid yet")] {
        let mut parameters = leaf("127.0.0.1", ExtendedKeyUsagePurpose::ServerAuth);
        (parameters.not_before, parameters.not_after) = (year(from), year(until));
        let (port, heard) = ours.serve_certificate(parameters, vec![ours.der.clone().into()], &[b"h2"]).await;
        let dial = Dial::new(&[format!("127.0.0.1:{port}")], &Trust::Ca(ours.der.clone()), None).unwrap();
        let error = enroll(&dial, b"the secret").await;
        assert!(error.to_string().contains(reason) && error.is_lasting(), "{error}");
        assert_eq!(heard.0.lock().unwrap().len(), 0);
    }
}

#[tokio::test]
async fn a_wrong_server_is_reported_and_not_the_silence_of_another() {
    let (ours, other) = (Ca::new(), Ca::new());
    for is_first in [true, false] {
        let (port, _heard) = other.serve("127.0.0.1", ExtendedKeyUsagePurpose::ServerAuth).await;
        let mut addresses = [format!("127.0.0.1:{port}"), "127.0.0.1:1".to_owned()];
        if !is_first {
            addresses.reverse();
        }
        let error = Dial::new(&addresses, &Trust::Ca(ours.der.clone()), None).unwrap().connect().await.unwrap_err();
        assert!(
            matches!(&error, DialError::NotTrusted { address, .. } if address.contains(&port.to_string())),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_server_that_speaks_another_protocol_is_unreachable_and_worth_another_attempt() {
    let ours = Ca::new();
    for protocols in [&[][..], &[b"http/1.1".as_slice()]] {
        let parameters = leaf("127.0.0.1", ExtendedKeyUsagePurpose::ServerAuth);
        let (port, heard) = ours.serve_certificate(parameters, vec![ours.der.clone().into()], protocols).await;
        let dial = Dial::new(&[format!("127.0.0.1:{port}")], &Trust::Ca(ours.der.clone()), None).unwrap();
        let error = enroll(&dial, b"the secret").await;
        assert!(matches!(error, DialError::Unreachable { .. }) && !error.is_lasting(), "{error}");
        assert_eq!(heard.0.lock().unwrap().len(), 0);
    }
    for answer in [b"".as_slice(), b"HTTP/1.1 400 Bad Request\r\n\r\n", &[0x16, 3, 3, 0xFF, 0xFF], &[0; 64]] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let serving = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert!(stream.read(&mut [0; 4096]).await.unwrap() > 0);
            stream.write_all(answer).await.unwrap();
        });
        let dial = Dial::new(std::slice::from_ref(&address), &Trust::Ca(ours.der.clone()), None).unwrap();
        let error = dial.connect().await.unwrap_err();
        assert!(matches!(&error, DialError::Unreachable { address: named, .. } if *named == address), "{error}");
        serving.await.unwrap();
    }
}

#[test]
fn a_dial_that_cannot_succeed_is_refused_when_it_is_set_up() {
    let addresses = ["a:1".to_owned()];
    let refused = |addresses: &[String], trust: &Trust| match Dial::new(addresses, trust, None) {
        Err(DialError::Setup(reason)) => reason,
        other => panic!("{other:?}"),
    };
    let trust = Trust::Ca(Ca::new().der);
    assert!(refused(&addresses, &Trust::Ca(b"no certificate".to_vec())).starts_with("the CA: "));
    assert!(refused(&addresses, &Trust::Ca(Vec::new())).starts_with("the CA: "));
    assert!(refused(&[addresses[0].clone(), "a\nb:x".to_owned()], &trust).contains("a b:x"));
    assert!(Dial::new(&addresses, &trust, None).is_ok());
}
