//! The port of workers and operators.

use std::io::Write as _;
use std::net::TcpStream;

use cognate_integration_tests::{Federation, Files};

use super::client::{Connection, Identity, tls};
use super::{Use, is_healthy, soon};

fn federation(seed: u64) -> Federation {
    let mut federation = Federation::new(seed);
    federation.add("a", &Files::from([("a.txt".to_owned(), b"a document".repeat(100))]));
    federation.sandbox.settle();
    federation.start_all();
    federation
}

/// A scan of a site, a list and a revocation, each within the patience of its caller.
fn is_served(federation: &mut Federation, person: &str) {
    soon("a scan", || federation.scan(&[]).expect(0));
    soon("the list of sites", || federation.operate(&["site", "list"]).expect(0));
    soon("an invitation", || federation.person(person, "viewer", &[]));
    soon("a revocation", || federation.operate(&["operator", "revoke", person]).expect(0));
    is_healthy(federation);
}

#[test]
fn connections_that_never_greet_keep_nobody_out_and_fill_no_log() {
    let mut federation = federation(5301);
    let (before, address) = (Use::of(&mut federation), federation.address(1));
    let mut held = Vec::new();
    for number in 0..1600 {
        let mut stream = TcpStream::connect(address).unwrap();
        if number % 4 == 0 {
            // The first byte of a greeting.
            let _ = stream.write_all(&[22]);
        }
        held.push(stream);
    }
    is_served(&mut federation, "anna");
    Use::of(&mut federation).at_most_above(&before, 64 << 20, 8, 560);
    assert!(federation.metric("cognate_auth_failures_total") >= 1000.0);
    let log_bytes = federation.coordinator().stderr().len();
    assert!(log_bytes < 1 << 20, "the log has {log_bytes} bytes");
}

#[test]
fn strangers_that_stay_keep_no_stranger_out() {
    let mut federation = federation(5302);
    let (before, address) = (Use::of(&mut federation), federation.address(1));
    let tls = tls(&Identity::Anonymous(&federation.operator()));
    let held: Vec<Connection> = (0..400).map(|_| Connection::open(address, &tls, 65_535).unwrap()).collect();
    is_served(&mut federation, "anna");
    Use::of(&mut federation).at_most_above(&before, 96 << 20, 8, 160);
    drop(held);
}

#[test]
fn abuses_of_http2_cost_their_own_connection_and_nobody_else() {
    let mut federation = federation(5303);
    let (before, address) = (Use::of(&mut federation), federation.address(1));
    let tls = tls(&Identity::Anonymous(&federation.operator()));
    type Abuse = fn(&mut Connection) -> std::io::Result<()>;
    let abuses: [(&str, &str, Abuse); 3] = [
        ("anna", "calls that are taken back at once", |connection| connection.reset_rapidly(100_000)),
        ("ben", "a head without an end", |connection| connection.head_without_end(10_000)),
        ("cora", "questions whose answers are not read", |connection| connection.ping_and_set(200_000)),
    ];
    for (person, what, abuse) in abuses {
        let abusing: Vec<_> = (0..4)
            .map(|_| {
                let tls = std::sync::Arc::clone(&tls);
                std::thread::spawn(move || Connection::open(address, &tls, 65_535).and_then(|mut one| abuse(&mut one)))
            })
            .collect();
        is_served(&mut federation, person);
        let cut = abusing.into_iter().map(|one| one.join().unwrap().is_err()).filter(|is_cut| *is_cut).count();
        // Questions are answered for as long as there is room for the answers: they cost their own connection only time.
        assert!(cut == 4 || person == "cora", "{what}: {cut} connections of 4 were ended");
        Use::of(&mut federation).at_most_above(&before, 96 << 20, 8, 64);
    }
}

#[test]
fn compressed_messages_are_refused_before_they_are_unpacked() {
    let mut federation = federation(5304);
    let (before, address, operator) = (Use::of(&mut federation), federation.address(1), federation.operator());
    let tls = tls(&Identity::Operator(&operator));
    // A thousand bytes of zeros in a stored block, and a body that is no archive at all: neither is looked at.
    for (encoding, body) in [("gzip", vec![0x1f; 400]), ("zstd", vec![0x28; 400]), ("identity", vec![0; 40])] {
        let mut connection = Connection::open(address, &tls, 65_535).unwrap();
        let stream = connection.call_with("/cognate.v1.Operator/ListScans", &[("grpc-encoding", encoding)]).unwrap();
        connection.compressed_message(stream, &body).unwrap();
        assert_eq!(connection.refused_until_it_answers().unwrap(), 1, "{encoding}");
    }
    Use::of(&mut federation).at_most_above(&before, 16 << 20, 8, 16);
    is_served(&mut federation, "anna");
}

#[test]
fn nobody_is_told_which_calls_there_are() {
    let federation = federation(5305);
    let (address, operator) = (federation.address(1), federation.operator());
    for identity in [Identity::Anonymous(&operator), Identity::Operator(&operator)] {
        let mut connection = Connection::open(address, &tls(&identity), 65_535).unwrap();
        for version in ["v1", "v1alpha"] {
            let method = format!("/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo");
            let stream = connection.call(&method).unwrap();
            // Field 7, an empty text: the list of services.
            connection.message(stream, &[7 << 3 | 2, 0], true).unwrap();
        }
        assert_eq!(connection.refused_until_it_answers().unwrap(), 2);
    }
}
