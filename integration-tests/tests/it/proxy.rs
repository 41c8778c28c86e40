//! The line that faults are made with does what the tests believe: else they would prove nothing.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use cognate_integration_tests::proxy::{Proxy, Way, Weather};
use cognate_integration_tests::sandbox::wait_until;

const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

/// A line to somebody who sends back what comes.
fn echo() -> Proxy {
    let listener = TcpListener::bind(ANY).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || std::io::copy(&mut &stream, &mut &stream));
        }
    });
    Proxy::new(ANY, address)
}

fn dial(proxy: &Proxy) -> TcpStream {
    let stream = TcpStream::connect(proxy.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

fn bounce(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    stream.write_all(bytes)?;
    let mut back = vec![0; bytes.len()];
    stream.read_exact(&mut back)?;
    assert_eq!(back, bytes);
    Ok(())
}

#[test]
fn bytes_pass_as_they_are_in_any_weather_and_are_counted() {
    let proxy = echo();
    proxy.capture();
    let mut stream = dial(&proxy);
    let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(100_000).collect();
    bounce(&mut stream, &bytes).unwrap();
    proxy.set(Weather { slice_bytes: Some(7), ..Weather::default() });
    bounce(&mut stream, &bytes[..5000]).unwrap();
    let latency = Duration::from_millis(40);
    proxy.set(Weather { latency, jitter: latency / 4, ..Weather::default() });
    let began = Instant::now();
    bounce(&mut stream, b"slow").unwrap();
    assert!(began.elapsed() >= 2 * latency);
    assert_eq!((proxy.bytes(Way::Up), proxy.bytes(Way::Down)), (105_004, 105_004));
    let [up, down] = proxy.captured();
    assert!(up == down && up.ends_with(b"slow"));
    drop(stream);
    wait_until("the connection is closed", || proxy.open() == 0);
}

#[test]
fn a_line_is_cut_at_the_given_byte() {
    let proxy = echo();
    proxy.cut_after(Way::Up, [1000]);
    let mut stream = dial(&proxy);
    bounce(&mut stream, &[1; 999]).unwrap();
    assert_eq!(bounce(&mut stream, &[1; 2]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(proxy.bytes(Way::Up), 1000);
    // Only that connection; the next one is cut on request, although it carries no bytes.
    let mut stream = dial(&proxy);
    bounce(&mut stream, &[1; 2000]).unwrap();
    proxy.cut();
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    proxy.set(Weather { refuse: true, ..Weather::default() });
    assert!(bounce(&mut dial(&proxy), b"x").is_err());
}

#[test]
fn silence_holds_bytes_back_until_it_ends() {
    let proxy = echo();
    let mut stream = dial(&proxy);
    bounce(&mut stream, b"before").unwrap();
    proxy.set(Weather { silent_down: true, ..Weather::default() });
    stream.write_all(b"held").unwrap();
    wait_until("it has gone up", || proxy.bytes(Way::Up) == 10);
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    assert_eq!(stream.read(&mut [0; 4]).unwrap_err().kind(), ErrorKind::WouldBlock);
    proxy.heal();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut back = [0; 4];
    stream.read_exact(&mut back).unwrap();
    assert_eq!(&back, b"held");
}
