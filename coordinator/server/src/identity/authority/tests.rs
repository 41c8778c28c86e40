//! The certificates of the CA, for every kind of request.

use cognate_proto::name::PartyName;
use rcgen::{CustomExtension, KeyPair};
use x509_parser::prelude::{GeneralName, X509Certificate};

use super::*;

fn clock() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

fn authority() -> (tempfile::TempDir, Authority) {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::create(folder.path(), clock).unwrap();
    (folder, authority)
}

fn paris() -> Membership {
    Membership::Site { name: "paris".parse().unwrap(), party: PartyName::home() }
}

fn inspect(der: &[u8], check: impl FnOnce(&X509Certificate<'_>)) {
    let (rest, certificate) = x509_parser::parse_x509_certificate(der).unwrap();
    assert!(rest.is_empty());
    check(&certificate);
}

/// A request that asks for more than it gets.
fn request(key: &KeyPair, ask: impl FnOnce(&mut CertificateParams)) -> Vec<u8> {
    let mut parameters = CertificateParams::default();
    ask(&mut parameters);
    parameters.serialize_request(key).unwrap().der().to_vec()
}

#[test]
fn a_ca_outlives_its_process_and_is_made_once() {
    use std::os::unix::fs::PermissionsExt as _;

    let (folder, authority) = authority();
    inspect(authority.certificate(), |certificate| {
        let constraints = certificate.basic_constraints().unwrap().unwrap().value;
        assert!(constraints.ca && constraints.path_len_constraint == Some(0));
        let usage = certificate.key_usage().unwrap().unwrap().value;
        assert!(usage.key_cert_sign() && usage.crl_sign() && !usage.digital_signature());
        let years = (certificate.validity().not_after.timestamp() - unix(clock())) / DAY / 365;
        assert_eq!(years, 10);
        assert_eq!(certificate.subject().to_string(), format!("CN=Cognate CA {}", authority.deployment()));
    });
    assert!(matches!(Authority::create(folder.path(), clock), Err(Error::Refused(_))));
    let again = Authority::open(folder.path(), clock).unwrap();
    assert_eq!((again.key_hash(), again.deployment()), (authority.key_hash(), authority.deployment()));

    let key = folder.path().join(KEY_FILE);
    assert_eq!(std::fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o640)).unwrap();
    assert!(Authority::open(folder.path(), clock).unwrap_err().to_string().contains("can be read by others"));

    // A key that does not belong to the CA's certificate is not used.
    let (other, _) = self::authority();
    std::fs::copy(other.path().join(KEY_FILE), &key).unwrap();
    assert!(matches!(
        Authority::open(folder.path(), clock),
        Err(Error::Storage(cognate_storage::Error::Corrupt { .. }))
    ));
}

#[test]
fn whatever_a_request_asks_for_only_its_key_is_used() {
    let (_folder, authority) = authority();
    type Ask = fn(&mut CertificateParams);
    let asks: [(&str, Ask); 6] = [
        ("nothing", |_| {}),
        ("to be a CA", |ask| ask.is_ca = IsCa::Ca(BasicConstraints::Unconstrained)),
        ("to be another site", |ask| {
            ask.subject_alt_names = vec![
                SanType::URI("cognate://00000000/site/tokyo".try_into().unwrap()),
                SanType::DnsName("hub.example.com".try_into().unwrap()),
            ];
        }),
        ("to be a server, or anything", |ask| {
            ask.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::Any];
        }),
        ("to sign certificates", |ask| ask.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign]),
        ("to be called something else", |ask| ask.distinguished_name = named("Cognate CA 00000000")),
    ];
    for (what, ask) in asks {
        for algorithm in [&rcgen::PKCS_ECDSA_P256_SHA256, &rcgen::PKCS_ED25519] {
            let pair = KeyPair::generate_for(algorithm).unwrap();
            let key = signing_request_key(&request(&pair, ask)).unwrap();
            let issued = authority.issue(&paris(), &key).unwrap();
            inspect(&issued, |certificate| {
                assert_eq!(certificate.public_key().raw, pair.subject_public_key_info(), "{what}");
                assert!(!certificate.is_ca(), "{what}");
                assert_eq!(certificate.subject().to_string(), "CN=paris", "{what}");
                let names = &certificate.subject_alternative_name().unwrap().unwrap().value.general_names;
                let uri = format!("cognate://{}/site/paris", authority.deployment());
                assert_eq!(*names, vec![GeneralName::URI(&uri)], "{what}");
                let uses = certificate.extended_key_usage().unwrap().unwrap().value;
                assert!(uses.client_auth && !uses.server_auth && !uses.any && uses.other.is_empty(), "{what}");
                let usage = certificate.key_usage().unwrap().unwrap().value;
                assert!(usage.digital_signature() && !usage.key_cert_sign() && !usage.crl_sign(), "{what}");
                assert_eq!(certificate.validity().not_before.timestamp(), unix(clock()) - 2 * DAY, "{what}");
                assert_eq!(certificate.validity().not_after.timestamp(), unix(clock()) + 30 * DAY, "{what}");
                assert!(certificate.raw_serial().len() >= 15, "{what}");
            });
        }
    }
}

#[test]
fn requests_that_prove_nothing_are_refused() {
    let good = KeyPair::generate().unwrap();
    let refused = |request: &[u8]| {
        let error = signing_request_key(request).map(drop).unwrap_err();
        assert!(matches!(error, Error::Invalid(_)), "{error}");
        error.to_string()
    };
    // Signed by another key than the one that it is for: the last byte is part of the signature.
    let mut forged = request(&good, |_| {});
    *forged.last_mut().unwrap() ^= 1;
    assert!(refused(&forged).contains("not signed by its own key"));
    // Keys of other kinds, also where the signature looks like one of P-256.
    let p384 = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384).unwrap();
    assert!(refused(&request(&p384, |_| {})).contains("neither"));
    assert!(refused(include_bytes!("p384_sha256.csr")).contains("neither"));
    assert!(refused(include_bytes!("rsa2048.csr")).contains("neither"));
    let mut padded = request(&good, |_| {});
    padded.push(0);
    refused(&padded);
    let large = request(&good, |ask| {
        ask.custom_extensions = vec![CustomExtension::from_oid_content(&[1, 2, 3], vec![0; 5000])];
    });
    assert!(refused(&large).contains("4 KiB"));
    for nonsense in [&b""[..], b"0", &[0x30, 0x82, 0xff, 0xff], &[0; 4096]] {
        refused(nonsense);
    }
    let whole = request(&good, |_| {});
    for end in 0..whole.len() {
        refused(&whole[..end]);
    }
}
