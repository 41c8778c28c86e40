//! Answers that nobody reads.

use std::path::Path;

use cognate_integration_tests::{Federation, Files};

use super::client::{Connection, Identity, fixed64, tls};
use super::{Use, is_healthy, soon};

/// The connections of a person, and the calls on each, as many as the coordinator lets it have.
const CONNECTIONS: usize = 16;
const CALLS: usize = 16;

/// Two sites with the same documents, whose result is larger than what a connection and a channel hold.
fn federation() -> (Federation, u64) {
    let mut federation = Federation::new(5201);
    let name = |number: u32| format!("{number:0>200}.txt");
    let files: Files = (0..4000).map(|number| (name(number), format!("document {number}").into_bytes())).collect();
    for site in ["a", "b"] {
        federation.add(site, &files);
    }
    federation.sandbox.settle();
    federation.start_all();
    let report = federation.scan(&[]).report();
    let scan = u64::from_str_radix(report["scan"]["id"].as_str().unwrap(), 16).unwrap();
    (federation, scan)
}

/// Calls for a result on every stream that a person can open, and reads none: its connections, and the number of calls
/// that were refused.
fn unread(federation: &Federation, person: &Path, scan: u64) -> (Vec<Connection>, usize) {
    let (tls, mut refused) = (tls(&Identity::Operator(person)), 0);
    let open = |_| {
        let mut connection = Connection::open(federation.address(1), &tls, 65_535).unwrap();
        for _ in 0..CALLS {
            let call = connection.call("/cognate.v1.Operator/FetchResult").unwrap();
            connection.message(call, &fixed64(1, scan), true).unwrap();
        }
        refused += connection.refused_until_it_answers().unwrap();
        connection
    };
    ((0..CONNECTIONS).map(open).collect(), refused)
}

#[test]
fn unread_results_hold_no_thread_and_their_number_is_limited() {
    let (mut federation, scan) = federation();
    let people = ["anna", "ben"].map(|name| federation.person(name, "viewer", &[]));
    federation.operate(&["site", "list"]).expect(0);
    let before = Use::of(&mut federation);
    let attack = people.each_ref().map(|person| unread(&federation, person, scan));
    soon("the list of sites", || federation.operate(&["site", "list"]).expect(0));
    is_healthy(&federation);
    let revoked = soon("a revocation", || federation.operate(&["site", "revoke", "b"]));
    revoked.expect(0);
    Use::of(&mut federation).at_most_above(&before, 96 << 20, 64, 128);
    for (_, refused) in &attack {
        assert!(*refused >= CONNECTIONS * CALLS - 16, "sixteen streams for each person: {refused} were refused");
    }
    let others = federation.sandbox.cognate(["scan", "list", "--operator", people[0].to_str().unwrap()]);
    assert_eq!(others.code, Some(0), "calls that are no streams go on: {others:?}");
}
