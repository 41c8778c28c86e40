//! The door of the pages.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use cognate_integration_tests::Federation;
use cognate_integration_tests::sandbox::wait_within;

use super::{PATIENCE, Use, is_healthy, soon};

/// A form of which the head promises so many bytes and none comes.
fn slow_form(federation: &Federation, bytes: usize) -> TcpStream {
    let address = federation.http_address();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!(
        "POST /sign-in HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: {bytes}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

/// The status of the answer on a connection; nothing: it was closed without one.
fn status(mut stream: TcpStream) -> Option<u16> {
    let mut answer = Vec::new();
    // The end may be a reset, since not all was read that was sent.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).split(' ').nth(1)?.parse().ok()
}

#[test]
fn slow_bodies_silence_neither_pages_nor_probes() {
    let mut federation = Federation::new(5101);
    assert_eq!(federation.http("/sign-in").0, 200);
    is_healthy(&federation);
    let before = Use::of(&mut federation);
    let mut slow: Vec<TcpStream> = (0..256).map(|_| slow_form(&federation, 1000)).collect();
    for stream in &mut slow {
        // Some have made way for others already.
        let _ = stream.write_all(b"c");
    }
    for path in ["/readyz", "/sign-in", "/metrics"] {
        let (status, _) = soon(path, || federation.http(path));
        assert_eq!(status, 200, "{path}");
    }
    is_healthy(&federation);
    Use::of(&mut federation).at_most_above(&before, 64 << 20, 8, 320);
    // The connections that are left end by themselves.
    let late = slow.pop().unwrap();
    assert_eq!(soon("the end of a slow body", || status(late)), Some(408));
    drop(slow);
    let all_gone = || Use::of(&mut federation).descriptors <= before.descriptors + 8;
    wait_within(Duration::from_secs(30), "the connections are gone", all_gone);
}

#[test]
fn large_forms_of_strangers_are_refused_by_their_heads_and_cost_no_memory() {
    let mut federation = Federation::new(5102);
    assert_eq!(federation.http("/sign-in").0, 200);
    let before = Use::of(&mut federation);
    let form = "a&".repeat(4 << 20);
    for _ in 0..12 {
        let mut stream = slow_form(&federation, form.len());
        // The answer comes before the end of the form, and with it the end of the connection.
        let _ = stream.write_all(form.as_bytes());
        assert!(matches!(soon("the refusal", || status(stream)), Some(413) | None));
    }
    assert_eq!(soon("the status of a large form", || status(slow_form(&federation, form.len()))), Some(413));
    Use::of(&mut federation).at_most_above(&before, 32 << 20, 8, 16);
    assert_eq!(federation.http("/sign-in").0, 200);
}

#[test]
fn a_host_that_is_not_of_this_machine_is_not_answered() {
    let federation = Federation::new(5103);
    let address = federation.http_address();
    let asked = |host: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET /metrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        status(stream)
    };
    assert_eq!(asked("rebound.example"), Some(421));
    assert_eq!(asked(&format!("rebound.example:{}", address.port())), Some(421));
    assert_eq!(asked(&address.to_string()), Some(200));
    assert_eq!(asked("localhost"), Some(200));
}
