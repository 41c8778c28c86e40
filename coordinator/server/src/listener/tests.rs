//! Connections that the listener accepts and refuses.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use cognate_proto::dial::{Dial, DialError, Trust};
use cognate_proto::identity::{Credential, Membership, PrivateKey};
use cognate_proto::v1::enrolment_client::EnrolmentClient;
use cognate_proto::v1::worker_client::WorkerClient;
use cognate_proto::v1::{EnrollRequest, ReceivedRequest};
use rcgen::{CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, SanType};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tonic::Code;

use super::*;
use crate::harness::{Harness, now, site, soon};
use crate::identity::Authority;

fn long_ago() -> SystemTime {
    now() - Duration::from_secs(60 * 24 * 60 * 60)
}

fn far_ahead() -> SystemTime {
    now() + Duration::from_secs(60 * 24 * 60 * 60)
}

fn paris() -> Membership {
    Membership::Site { name: "paris".parse().unwrap(), party: cognate_proto::name::PartyName::home() }
}

/// A certificate for paris as its own CA would make it, changed by `change`.
fn parameters(harness: &Harness, change: impl FnOnce(&mut CertificateParams)) -> CertificateParams {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = DistinguishedName::new();
    parameters.distinguished_name.push(DnType::CommonName, "paris");
    let uri = format!("cognate://{}/site/paris", harness.authority.deployment());
    parameters.subject_alt_names = vec![SanType::URI(uri.try_into().unwrap())];
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    change(&mut parameters);
    parameters
}

#[tokio::test]
async fn certificates_that_are_not_a_members_come_to_nothing() {
    let harness = Harness::start().await;
    let good = harness.credential(&site("paris"));
    WorkerClient::new(harness.channel(Some(&good))).received(ReceivedRequest {}).await.map_or_else(
        |status| assert!(!matches!(status.code(), Code::Unauthenticated | Code::PermissionDenied), "{status}"),
        drop,
    );
    let ca = harness.authority.certificate().to_vec();
    let key = || PrivateKey::generate().unwrap();
    let of = |certificate: Vec<u8>, key| Credential { ca_certificate: ca.clone(), certificate, key };
    let signed = |change: fn(&mut CertificateParams)| {
        let key = key();
        of(harness.authority.sign_as_it_is(&parameters(&harness, change), key.pair()), key)
    };
    let at = |clock| {
        let (authority, key) = (Authority::open(harness.folder(), clock).unwrap(), key());
        of(authority.issue(&paris(), key.pair()).unwrap(), key)
    };
    let self_signed = {
        let key = key();
        of(parameters(&harness, |_| {}).self_signed(key.pair()).unwrap().der().to_vec(), key)
    };
    let other_ca = {
        let folder = tempfile::tempdir().unwrap();
        let other = Authority::create(folder.path(), now).unwrap();
        let key = key();
        of(other.sign_as_it_is(&parameters(&harness, |_| {}), key.pair()), key)
    };
    // With the CA's name and federation, but a key of its own.
    let forged_ca = {
        let key = key();
        let mut forged = CertificateParams::default();
        forged.distinguished_name = DistinguishedName::new();
        let name = format!("Cognate CA {}", harness.authority.deployment());
        forged.distinguished_name.push(DnType::CommonName, name);
        let forger = PrivateKey::generate().unwrap();
        let issuer = rcgen::Issuer::from_params(&forged, forger.pair());
        of(parameters(&harness, |_| {}).signed_by(key.pair(), &issuer).unwrap().der().to_vec(), key)
    };
    let table: [(&str, Credential, Refusal); 11] = [
        ("expired", at(long_ago), Refusal::CertificateExpired),
        ("not yet valid", at(far_ahead), Refusal::CertificateExpired),
        ("self-signed", self_signed, Refusal::CertificateForeign),
        ("of another CA", other_ca, Refusal::CertificateForeign),
        ("of a CA with the same name", forged_ca, Refusal::CertificateForeign),
        (
            "a server's",
            signed(|it| it.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth]),
            Refusal::CertificateUnfit,
        ),
        (
            "for signing mail",
            signed(|it| it.extended_key_usages = vec![ExtendedKeyUsagePurpose::EmailProtection]),
            Refusal::CertificateUnfit,
        ),
        ("without a member", signed(|it| it.subject_alt_names.clear()), Refusal::CertificateUnfit),
        (
            "with a member only in its common name",
            signed(|it| it.subject_alt_names = vec![SanType::DnsName("paris".try_into().unwrap())]),
            Refusal::CertificateUnfit,
        ),
        ("of a member that the registry does not know", at(now).renamed(&harness, "tokyo"), Refusal::NotMember),
        ("for a member, with a key that the registry does not know", at(now), Refusal::NotMember),
    ];
    for (what, credential, refusal) in table {
        let before = harness.count(refusal);
        let result = soon(WorkerClient::new(harness.channel(Some(&credential))).received(ReceivedRequest {})).await;
        let status = result.map(drop).expect_err(what);
        match DialError::of(&status) {
            Some(error) => assert!(error.is_lasting(), "{what}: {error}"),
            None => {
                assert!(matches!(status.code(), Code::PermissionDenied | Code::Unauthenticated), "{what}: {status:?}")
            }
        }
        soon(async {
            while harness.count(refusal) == before {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

trait Renamed {
    fn renamed(self, harness: &Harness, name: &str) -> Credential;
}

impl Renamed for Credential {
    fn renamed(self, harness: &Harness, name: &str) -> Credential {
        let member = Membership::Site { name: name.parse().unwrap(), party: cognate_proto::name::PartyName::home() };
        Credential { certificate: harness.authority.issue(&member, self.key.pair()).unwrap(), ..self }
    }
}

#[tokio::test]
async fn an_invitation_becomes_a_certificate_over_the_network() {
    let harness = Harness::start().await;
    let invitation = harness.invite(&site("paris"));
    let key = PrivateKey::generate().unwrap();
    let request = EnrollRequest {
        token_id: invitation.token_id.to_vec(),
        secret: invitation.secret.to_vec(),
        signing_request: key.signing_request().unwrap(),
        software: "a\nb".to_owned(),
    };
    let dial = Dial::new(&invitation.addresses, &Trust::CaKey(invitation.ca_key), None).unwrap();
    let answer = EnrolmentClient::new(dial.channel()).enroll(request).await.unwrap().into_inner();
    let credential = Credential::new(answer.ca_certificate, answer.certificate, key).unwrap();
    let next = PrivateKey::generate().unwrap();
    let renewal = cognate_proto::v1::RenewRequest { signing_request: next.signing_request().unwrap() };
    let answer = EnrolmentClient::new(harness.channel(Some(&credential))).renew(renewal).await.unwrap().into_inner();
    let renewed = Credential::new(answer.ca_certificate, answer.certificate, next).unwrap();
    for credential in [credential, renewed] {
        let result = WorkerClient::new(harness.channel(Some(&credential))).received(ReceivedRequest {}).await;
        assert!(!matches!(result.map_err(|status| status.code()), Err(Code::PermissionDenied | Code::Unauthenticated)));
    }
}

/// The server's answer to bytes that are no TLS 1.3.
async fn answer(harness: &Harness, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(harness.address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    // A reset is an answer, too.
    let _ = soon(stream.read_to_end(&mut answer)).await;
    answer
}

#[tokio::test]
async fn older_tls_and_plain_text_are_refused() {
    let harness = Harness::start().await;
    // A greeting of TLS 1.2: no supported_versions.
    let mut hello = vec![0x03, 0x03];
    hello.extend_from_slice(&[7; 32]);
    hello.extend_from_slice(&[0, 0, 6, 0xc0, 0x2b, 0xc0, 0x2f, 0xcc, 0xa9, 1, 0]);
    let extensions =
        [&[0, 10, 0, 4, 0, 2, 0, 0x17][..], &[0, 11, 0, 2, 1, 0], &[0, 13, 0, 6, 0, 4, 4, 3, 8, 4], &[0, 23, 0, 0]]
            .concat();
    hello.extend_from_slice(&u16::try_from(extensions.len()).unwrap().to_be_bytes());
    hello.extend_from_slice(&extensions);
    let length = u8::try_from(hello.len()).unwrap();
    let record = [&[22, 3, 1, 0, length + 4, 1, 0, 0, length][..], &hello].concat();
    let answered = answer(&harness, &record).await;
    // A fatal alert: protocol version.
    assert_eq!(answered[..1], [21], "{answered:?}");
    assert_eq!(answered[5..7], [2, 70], "{answered:?}");

    let plain = answer(&harness, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    assert!(plain.is_empty() || plain[0] == 21, "{plain:?}");
    soon(async {
        while harness.count(Refusal::Handshake) < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn one_connection_too_many_ends_the_oldest_of_the_same_site() {
    let harness = Harness::start().await;
    let (paris, tokyo) = (harness.credential(&site("paris")), harness.credential(&site("tokyo")));
    let other = harness.dial(Some(&tokyo)).connect().await.unwrap();
    let mut connections = Vec::new();
    for _ in 0..=members::SITE_MAX {
        connections.push(raw(&harness, &paris).await);
    }
    assert_eq!(harness.count(Refusal::Connections), 1);
    // The oldest ends; it still receives the greeting of HTTP/2.
    let mut rest = Vec::new();
    let _ = soon(connections[0].read_to_end(&mut rest)).await;
    let mut buffer = [0; 1024];
    loop {
        let read = tokio::time::timeout(Duration::from_millis(100), connections[1].read(&mut buffer)).await;
        match read {
            Ok(count) => assert_ne!(count.unwrap(), 0, "the next one goes on"),
            Err(_) => break,
        }
    }
    let result = WorkerClient::new(other).received(ReceivedRequest {}).await;
    assert_ne!(result.map_err(|status| status.code()).err(), Some(Code::Unavailable));
}

#[tokio::test]
async fn connections_that_never_end_their_handshake_make_way_for_others() {
    let harness = Harness::start().await;
    let paris = harness.credential(&site("paris"));
    let mut unfinished = Vec::new();
    for number in 0..2 * HANDSHAKES.all {
        let mut stream = TcpStream::connect(harness.address).await.unwrap();
        if number % 2 == 1 {
            let _ = stream.write_all(&[22]).await;
        }
        unfinished.push(stream);
    }
    let entering = tokio::time::timeout(HANDSHAKE_TIMEOUT / 2, harness.dial(Some(&paris)).connect()).await;
    entering.expect("there is a place for those who speak").unwrap();
    assert!(harness.count(Refusal::Connections) >= HANDSHAKES.all as u64);
}

/// A connection on which nothing is sent.
async fn raw(harness: &Harness, credential: &Credential) -> tokio_rustls::client::TlsStream<TcpStream> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(harness.authority.certificate().to_vec().into()).unwrap();
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_client_auth_cert(
            vec![credential.certificate.clone().into()],
            rustls::pki_types::PrivatePkcs8KeyDer::from(credential.key.pkcs8().to_vec()).into(),
        )
        .unwrap();
    tls.alpn_protocols = vec![b"h2".to_vec()];
    let stream = TcpStream::connect(harness.address).await.unwrap();
    let name = rustls::pki_types::ServerName::try_from("127.0.0.1").unwrap();
    let mut stream = tokio_rustls::TlsConnector::from(Arc::new(tls)).connect(name, stream).await.unwrap();
    // The first byte from the server: it has accepted the connection.
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    stream.flush().await.unwrap();
    soon(stream.read_u8()).await.unwrap();
    // No ticket, with which a session could be resumed later without a check of the registry.
    assert_eq!(stream.get_ref().1.tls13_tickets_received(), 0);
    stream
}

#[tokio::test]
async fn a_new_certificate_is_shown_without_a_restart() {
    let harness = Harness::start().await;
    let paris = harness.credential(&site("paris"));
    let before = harness.dial(Some(&paris)).connect().await.unwrap();
    harness.tls.renew(&["127.0.0.9".to_owned()]).unwrap();
    let error = harness.dial(Some(&paris)).connect().await.unwrap_err();
    assert!(error.to_string().contains("other names"), "{error}");
    assert!(harness.tls.renew(&["not a name".to_owned()]).is_err());
    harness.tls.renew(&["hub.example.com".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    harness.dial(Some(&paris)).connect().await.unwrap();
    // The earlier connection is not affected.
    let result = WorkerClient::new(before).received(ReceivedRequest {}).await;
    assert_ne!(result.map_err(|status| status.code()).err(), Some(Code::Unavailable));
    assert!(!harness.tls.is_due(now() + Duration::from_secs(59 * 24 * 3600)));
    assert!(harness.tls.is_due(now() + Duration::from_secs(61 * 24 * 3600)));
}

#[test]
fn a_certificate_that_was_made_by_a_clock_ahead_is_replaced_once_the_clock_is_right() {
    static AHEAD: AtomicU64 = AtomicU64::new(5 * 24 * 3600);
    fn clock() -> std::time::SystemTime {
        now() + Duration::from_secs(AHEAD.load(Ordering::Relaxed))
    }
    let folder = tempfile::tempdir().unwrap();
    Authority::create(folder.path(), now).unwrap();
    let authority = Arc::new(Authority::open(folder.path(), clock).unwrap());
    let tls = Tls::new(authority, &["127.0.0.1".to_owned()]).unwrap();
    let first = tls.current();
    assert!(Arc::ptr_eq(&first, &tls.current()), "one that holds is kept");
    assert!(tls.is_due(now()), "nobody with the right time would accept it");
    AHEAD.store(0, Ordering::Relaxed);
    assert!(!Arc::ptr_eq(&first, &tls.current()), "the next connection gets another");
    assert!(!tls.is_due(now()));
}
