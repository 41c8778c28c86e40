//! Identities: invitations, certificates, keys, and pretenders.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use cognate_integration_tests::Federation;
use cognate_integration_tests::proxy::{Way, Weather};
use cognate_integration_tests::sandbox::{contents, copy, find, wait_until};
use cognate_integration_tests::tree::{Files, varied};
use cognate_integration_tests::{Dice, invitation};
use rustls::pki_types::PrivatePkcs8KeyDer;

fn few(seed: u64) -> Vec<Files> {
    varied(&mut Dice::new(seed), 2, 30)
}

#[test]
fn a_revoked_site_is_cut_off_within_a_second_and_its_worker_says_so() {
    let mut federation = Federation::new(501);
    let files = few(501);
    federation.add_with("a", None, &files[0], "[policy]\nread_bytes_per_second = \"40KB\"\n");
    federation.add("b", &files[1]);
    federation.sandbox.settle();
    federation.start_all();
    let mut scan = federation.begin_scan(&["--sync-deadline", "10s"]);
    let line = federation.site("a").line();
    let before = line.bytes(Way::Up);
    wait_until("the site is sending", || line.bytes(Way::Up) > before + 400 || scan.ends_within(Duration::ZERO));
    federation.operate(&["site", "revoke", "a"]).expect(0);
    let began = Instant::now();
    wait_until("nothing is open any more", || federation.site("a").line().open() == 0);
    assert!(began.elapsed() < Duration::from_secs(1), "it took {:?}", began.elapsed());
    let ended = federation.take_worker("a").ended();
    assert!(ended.code == Some(14) && ended.stderr.contains("revoked"), "{ended:?}");
    // Nor does another start help, nor any other command that asks the coordinator.
    federation.worker("a", &["run"]).refusal(14);
    let run = scan.ended();
    assert_eq!(run.code, Some(3), "{run:?}");
    assert_eq!(federation.member("a")["status"], "revoked");
}

#[test]
fn damage_to_the_end_of_the_journal_does_not_bring_a_revoked_site_back() {
    let mut federation = Federation::new(503);
    let files = few(503);
    federation.add("a", &files[0]);
    federation.start_all();
    federation.operate(&["site", "revoke", "a"]).expect(0);
    federation.stop_coordinator();
    let journal = federation.coordinator_state().join("journal");
    let intact = std::fs::read(&journal).unwrap();
    let mut flipped = intact.clone();
    let last = flipped.len() - 1;
    flipped[last] ^= 1;
    let config = federation.coordinator_config();
    let command = |words: &[&str]| {
        federation.sandbox.cognate([&["coordinator"], words, &["--config", config.to_str().unwrap()]].concat())
    };
    for bytes in [&flipped[..], &[]] {
        std::fs::write(&journal, bytes).unwrap();
        let refused = command(&["run"]).expect(1);
        assert!(refused.stderr.contains("acknowledged") && refused.stderr.contains("--accept-loss"), "{refused:?}");
        assert!(command(&["check"]).expect(1).text().contains("acknowledged"));
        command(&["rebuild"]).expect(1);
        command(&["backup", federation.sandbox.path("backup").to_str().unwrap()]).expect(1);
        assert_eq!(std::fs::read(&journal).unwrap(), bytes, "nothing was changed");
    }
    std::fs::write(&journal, intact).unwrap();
    command(&["check"]).expect(0);
    federation.start_coordinator();
    assert_eq!(federation.member("a")["status"], "revoked");
}

#[test]
fn a_restored_backup_brings_back_no_revoked_site_and_no_used_invitation() {
    let mut federation = Federation::new(504);
    let files = few(504);
    federation.add("a", &files[0]);
    federation.add("c", &files[0]);
    federation.prepare_site("b", None, &files[1], "");
    let used = federation.invite("b");
    let (config, backup) = (federation.coordinator_config(), federation.sandbox.path("backup"));
    let (config, backup) = (config.to_str().unwrap(), backup.to_str().unwrap());
    federation.sandbox.cognate(["coordinator", "backup", backup, "--include-ca", "--config", config]).expect(0);
    federation.operate(&["site", "revoke", "a"]).expect(0);
    federation.enroll("b", &used).expect(0);
    federation.stop_coordinator();
    federation.lose_coordinator_state();
    let restore = ["coordinator", "restore", backup, "--config", config];
    // Without an answer, nothing is restored.
    let asked = federation.sandbox.cognate(restore).expect(2);
    assert!(asked.stderr.contains("--revoked") && asked.stderr.contains("--none-revoked"), "{asked:?}");
    let restored =
        federation.sandbox.cognate([&restore[..], &["--revoked", "a", "--revoked", "nobody"]].concat()).expect(0);
    assert!(restored.text().contains("`a` is revoked") && restored.text().contains("`nobody` is not in the backup"));
    federation.start_coordinator();
    assert_eq!(federation.member("a")["status"], "revoked");
    assert_eq!(federation.member("c")["status"], "active");
    federation.worker("a", &["run"]).refusal(14);
    // Its invitation was open when the backup was made. Who has it, or has used it, is invited again.
    federation.enroll("b", &used).refusal(14);
    let again = federation.invite("b");
    std::fs::remove_dir_all(federation.site("b").state()).unwrap();
    federation.enroll("b", &again).expect(0);
    assert_eq!(federation.member("b")["status"], "active");
}

#[test]
fn an_invitation_is_good_for_one_site_once() {
    let mut federation = Federation::new(502);
    let files = few(502);
    federation.prepare_site("a", None, &files[0], "");
    federation.prepare_site("b", None, &files[1], "");
    let token = federation.invite("a");
    federation.enroll("a", &token).expect(0);
    // Used.
    let refused = federation.enroll("b", &token).refusal(14);
    assert!(refused.contains("used"), "{refused}");
    // A mangled invitation is refused before anything is sent.
    let line = federation.site("b").line();
    let sent = line.bytes(Way::Up);
    let token = federation.invite("b");
    let mut mangled = token.clone().into_bytes();
    mangled[20] = if mangled[20] == b'A' { b'B' } else { b'A' };
    let refused = federation.enroll("b", std::str::from_utf8(&mangled).unwrap());
    assert!(matches!(refused.code, Some(2 | 14)) && !refused.stderr.is_empty(), "{refused:?}");
    federation.enroll("b", &token[..token.len() - 10]);
    assert_eq!(line.bytes(Way::Up), sent);
    // Ended.
    let ended = federation.operate(&["site", "invite", "c", "--valid", "1s"]).expect(0).text().trim().to_owned();
    let ended = invitation::readdressed(&ended, &line.address().to_string());
    let (config, made) = (federation.sandbox.path("c.toml"), Instant::now());
    let values = std::fs::read_to_string(federation.site("b").config()).unwrap().replace("worker-b", "worker-c");
    std::fs::write(&config, values).unwrap();
    wait_until("it has ended", || made.elapsed() > Duration::from_secs(2));
    let enroll = ["worker", "enroll", &ended, "--config", config.to_str().unwrap()];
    let refused = federation.sandbox.cognate(enroll).refusal(14);
    assert!(refused.contains("ended") || refused.contains("expired"), "{refused}");
    federation.enroll("b", &token).expect(0);
    assert_eq!(federation.member("b")["status"], "active");
}

#[test]
fn an_enrolment_that_was_cut_off_after_the_coordinator_decided_can_be_repeated() {
    let mut federation = Federation::new(503);
    let files = few(503);
    federation.prepare_site("a", None, &files[0], "");
    let token = federation.invite("a");
    let line = federation.site("a").line();
    // Everything goes up, the answer does not come down: at the end of the handshake, and amid the certificate.
    let enrolling = federation.sandbox.start([
        "worker",
        "enroll",
        &token,
        "--config",
        federation.site("a").config().to_str().unwrap(),
    ]);
    line.set(Weather { silent_down: true, ..Weather::default() });
    line.cut();
    drop(enrolling.ended());
    line.heal();
    for bytes in [1500, 1900, 2300] {
        line.cut_after(Way::Down, [bytes]);
        drop(federation.enroll("a", &token));
        line.heal();
    }
    let run = federation.enroll("a", &token);
    // It may have got through before: then there is a certificate to go on with.
    assert!(run.code == Some(0) || federation.member("a")["status"] == "active", "{run:?}");
    federation.sandbox.settle();
    federation.start_all();
    federation.check(federation.scan(&[]), &[]);
}

#[test]
fn a_wrong_secret_closes_the_invitation_after_a_few_attempts() {
    let mut federation = Federation::new(504);
    let files = few(504);
    federation.prepare_site("a", None, &files[0], "");
    let token = federation.invite("a");
    let mut last = String::new();
    for attempt in 0..6 {
        last = federation.enroll("a", &invitation::with_secret(&token, &[attempt; 32])).refusal(14);
    }
    assert!(last.contains("later") || last.contains("minutes") || last.contains("closed"), "{last}");
    // The right one does not help now either.
    federation.enroll("a", &token).refusal(14);
}

// --- Pretenders

/// A TLS server with a certificate authority of its own, that reports the bytes received after the handshake.
fn pretender(address: SocketAddr) -> Receiver<Result<Vec<u8>, String>> {
    let authority_key = rcgen::KeyPair::generate().unwrap();
    let mut authority = rcgen::CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let certificate = authority.self_signed(&authority_key).unwrap();
    let issuer = rcgen::Issuer::new(authority, authority_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let leaf = rcgen::CertificateParams::new(vec![address.ip().to_string()]).unwrap().signed_by(&key, &issuer).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![leaf.der().clone(), certificate.der().clone()],
            PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        )
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let (config, listener) = (Arc::new(config), TcpListener::bind(address).unwrap());
    let (report, heard) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = rustls::StreamOwned::new(connection, stream);
            let mut bytes = Vec::new();
            let outcome = stream.read_to_end(&mut bytes).map_err(|error| error.to_string());
            // The expected outcome is an alert, without plain text before it.
            let _ = report.send(if bytes.is_empty() { outcome.map(|_| bytes) } else { Ok(bytes) });
        }
    });
    heard
}

#[test]
fn a_server_without_the_key_of_the_invitation_gets_no_secret() {
    let mut federation = Federation::new(505);
    let files = few(505);
    federation.prepare_site("a", None, &files[0], "");
    let token = federation.invite("a");
    let heard = pretender(federation.address(50));
    federation.site("a").line().retarget(federation.address(50));
    let refused = federation.enroll("a", &token);
    assert!(refused.code == Some(14) && refused.stderr.contains("nothing was sent"), "{refused:?}");
    let heard = heard.recv_timeout(Duration::from_secs(20)).unwrap();
    assert!(heard.as_ref().map_or(true, Vec::is_empty), "the pretender received {heard:?}");
    federation.site("a").line().retarget(federation.address(1));
    federation.enroll("a", &token).expect(0);
}

#[test]
fn a_worker_sends_nothing_to_a_server_in_the_middle() {
    let mut federation = Federation::of(506, 1, 20);
    let heard = pretender(federation.address(50));
    federation.site("a").line().retarget(federation.address(50));
    federation.site("a").line().cut();
    for _ in 0..2 {
        let heard = heard.recv_timeout(Duration::from_secs(30)).unwrap();
        assert!(heard.as_ref().map_or(true, Vec::is_empty), "the pretender received {heard:?}");
        // It would look again after an hour only: somebody has to set the line right first.
        wait_until("the site says so", || {
            let log = federation.site_mut("a").worker().stderr();
            log.contains("is not the coordinator") && log.contains("nothing was sent")
        });
        federation.kill("a");
        federation.start("a");
    }
    federation.kill("a");
    federation.site("a").line().retarget(federation.address(1));
    federation.start("a");
    federation.wait_attached("a");
    federation.check(federation.scan(&[]), &[]);
}

#[test]
fn a_client_without_tls_gets_no_answer() {
    let federation = Federation::new(507);
    let mut stream = TcpStream::connect(federation.address(1)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    // A frame of HTTP/2 would be longer than the alert of TLS that ends it.
    assert!(answer.len() < 10, "{answer:?}");
}

/// Copies the state of site `a`, and answers the configuration of a worker with the copy.
fn copied(federation: &Federation) -> PathBuf {
    let (state, twin) = (federation.site("a").state().to_owned(), federation.sandbox.path("twin"));
    copy(&state, &twin);
    let _ = std::fs::remove_file(twin.join("control.sock"));
    std::fs::set_permissions(&twin, std::fs::Permissions::from_mode(0o700)).unwrap();
    let config = std::fs::read_to_string(federation.site("a").config()).unwrap();
    let config = config.replace(state.to_str().unwrap(), twin.to_str().unwrap());
    let file = federation.sandbox.path("twin.toml");
    std::fs::write(&file, config).unwrap();
    file
}

#[test]
fn a_copy_of_a_worker_is_refused_and_the_first_one_goes_on() {
    let mut federation = Federation::of(508, 1, 30);
    federation.scan(&[]).report();
    // The copy is made of a state at rest, as a snapshot of a machine is.
    federation.stop("a");
    let file = copied(&federation);
    federation.start("a");
    federation.wait_attached("a");
    // However often it is started, as a service is.
    for _ in 0..3 {
        let refused = federation.metric("cognate_session_refused_total");
        let mut second =
            federation.sandbox.start(["worker", "run", "--config", file.to_str().unwrap(), "--log-level", "info"]);
        wait_until("the copy is noticed", || federation.metric("cognate_session_refused_total") > refused);
        assert_eq!(federation.member("a")["attached"], true);
        second.signal(rustix::process::Signal::KILL);
        second.ended();
    }
    federation.check(federation.scan(&[]), &[]);
    // The original may be started again as well.
    federation.stop("a");
    federation.start("a");
    federation.wait_attached("a");
    federation.check(federation.scan(&[]), &[]);
}

#[test]
fn a_copy_that_takes_over_from_a_running_worker_gives_way_when_that_one_comes_back() {
    let mut federation = Federation::of(519, 1, 30);
    federation.scan(&[]).report();
    // As a snapshot of a machine that runs: nothing is written meanwhile.
    federation.site_mut("a").worker().signal(rustix::process::Signal::STOP);
    let file = copied(&federation);
    federation.site_mut("a").worker().signal(rustix::process::Signal::CONT);
    let refused = federation.metric("cognate_session_refused_total");
    let mut second =
        federation.sandbox.start(["worker", "run", "--config", file.to_str().unwrap(), "--log-level", "info"]);
    wait_until("the copy is refused", || federation.metric("cognate_session_refused_total") > refused);
    wait_until("it is told", || second.stderr().contains("stop the copy"));
    assert_eq!(federation.member("a")["attached"], true);
    federation.check(federation.scan(&[]), &[]);
    second.signal(rustix::process::Signal::KILL);
    second.ended();
}

#[test]
fn a_second_process_on_a_state_ends_and_names_the_lock() {
    let federation = Federation::of(509, 1, 10);
    let worker = federation.worker("a", &["run"]).refusal(11);
    assert!(worker.contains("lock"), "{worker}");
    let config = federation.coordinator_config();
    let coordinator =
        federation.sandbox.cognate(["coordinator", "run", "--config", config.to_str().unwrap()]).refusal(11);
    assert!(coordinator.contains("lock"), "{coordinator}");
    federation.check(federation.scan(&[]), &[]);
}

#[test]
fn a_worker_that_was_never_enrolled_explains_how_to_enrol() {
    let mut federation = Federation::new(510);
    federation.prepare_site("a", None, &few(510)[0], "");
    let refused = federation.worker("a", &["run"]).refusal(10);
    assert!(refused.contains("enroll"), "{refused}");
}

// --- Keys

fn key_file(federation: &Federation, name: &str, digit: &str) -> String {
    let path = federation.sandbox.path(name);
    std::fs::write(&path, digit.repeat(64)).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_wrong_key_at_one_site_is_refused_with_both_fingerprints() {
    let mut federation = Federation::new(511);
    let files = few(511);
    let keys = ["a", "b"].map(|digit| key_file(&federation, &format!("key-{digit}"), digit));
    for ((name, files), key) in ["a", "b"].iter().zip(&files).zip(&keys) {
        federation.add_with(name, None, files, &format!("key = \"{key}\"\n"));
    }
    federation.sandbox.settle();
    federation.start_all();
    let run = federation.scan(&[]);
    assert_eq!(run.code, Some(12), "{run:?}");
    let fingerprints: Vec<String> = ["a", "b"]
        .iter()
        .map(|name| {
            let shown = federation.worker(name, &["key", "check"]).expect(0);
            let text = shown.text();
            let word = text.split(|letter: char| !letter.is_ascii_hexdigit()).find(|word| word.len() == 32);
            word.unwrap_or_else(|| panic!("{shown:?}")).to_owned()
        })
        .collect();
    assert!(
        fingerprints.iter().all(|fingerprint| run.stderr.contains(fingerprint.as_str())),
        "{fingerprints:?} {run:?}"
    );
    assert_eq!(federation.metric("cognate_batches_total"), 0.0, "nothing was sent");
}

#[test]
fn with_one_key_at_all_sites_the_coordinator_never_sees_it() {
    let mut federation = Federation::new(512);
    let files = few(512);
    let key = key_file(&federation, "key", "c");
    for (name, files) in ["a", "b"].iter().zip(&files) {
        federation.add_with(name, None, files, &format!("key = \"{key}\"\n"));
    }
    federation.sandbox.settle();
    federation.start_all();
    let report = federation.scan(&[]).report();
    let keyed = ["--key", &key];
    assert_eq!(report["scan"]["digest"], federation.expected(&keyed)["scan"]["digest"]);
    assert_eq!(report["scan"]["keyed"], true);
    let secret = [0xcc; 32];
    for (path, bytes) in contents(&federation.coordinator_state()) {
        assert!(!find(&bytes, &secret) && !find(&bytes, "c".repeat(64).as_bytes()), "{}", path.display());
    }
    // The tags of known bytes are nowhere either: without the key they cannot be computed.
    let plain = federation.expected(&[]);
    assert_ne!(plain["identical"][0]["id"], report["identical"][0]["id"]);
}
