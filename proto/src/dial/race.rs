//! Reaches one of the addresses of a name: attempts begin one after the other, a quarter of a second apart, the kinds of addresses in turn, and
//! the first that succeeds wins (RFC 8305). So an address that answers nothing delays the others and does not hide them.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::task::JoinSet;

/// The time between the beginnings of two attempts.
const STAGGER: Duration = Duration::from_millis(250);

/// Connects to the first of the addresses that answers.
///
/// # Errors
/// Fails with the error of the last attempt if all fail, or if there is no address.
pub(super) async fn race<T, A>(
    addresses: impl Iterator<Item = SocketAddr>,
    connect: impl Fn(SocketAddr) -> A,
) -> io::Result<T>
where
    T: Send + 'static,
    A: Future<Output = io::Result<T>> + Send + 'static,
{
    let mut waiting = in_turn(addresses);
    let mut attempts = JoinSet::new();
    let mut failed = io::Error::new(io::ErrorKind::NotFound, "its name has no address");
    while let Some(address) = waiting.pop_front() {
        attempts.spawn(connect(address));
        tokio::select! {
            Some(ended) = attempts.join_next() => match ended? {
                Ok(connected) => return Ok(connected),
                Err(error) => failed = error,
            },
            () = tokio::time::sleep(STAGGER), if !waiting.is_empty() => {}
        }
    }
    while let Some(ended) = attempts.join_next().await {
        match ended? {
            Ok(connected) => return Ok(connected),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// Addresses of the two kinds in turn, each kind in its order; the kind of the first one begins.
fn in_turn(addresses: impl Iterator<Item = SocketAddr>) -> VecDeque<SocketAddr> {
    let mut addresses = addresses.peekable();
    let begins_with_v6 = addresses.peek().is_some_and(SocketAddr::is_ipv6);
    let (first, second): (Vec<_>, Vec<_>) = addresses.partition(|address| address.is_ipv6() == begins_with_v6);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut both = VecDeque::new();
    loop {
        let pair = [first.next(), second.next()];
        if pair == [None, None] {
            return both;
        }
        both.extend(pair.into_iter().flatten());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    /// The address that wins, where some never answer and others refuse.
    async fn winner(all: &[&str], silent: &[&str], refusing: &[&str]) -> Result<SocketAddr, String> {
        let (silent, refusing) = (addresses(silent), addresses(refusing));
        let connect = |address: SocketAddr| {
            let (is_silent, refuses) = (silent.contains(&address), refusing.contains(&address));
            async move {
                match (is_silent, refuses) {
                    (true, _) => std::future::pending().await,
                    (_, true) => Err(io::Error::other(address.to_string())),
                    _ => Ok(address),
                }
            }
        };
        let racing = race(addresses(all).into_iter(), connect);
        let won = tokio::time::timeout(Duration::from_secs(10), racing).await.expect("one of them answers");
        won.map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn an_address_that_answers_nothing_hides_no_other_and_all_that_refuse_are_an_error() {
        const V6: [&str; 2] = ["[2001:db8::1]:7443", "[2001:db8::2]:7443"];
        const V4: &str = "192.0.2.1:7443";
        let all = [V6[0], V6[1], V4];
        assert_eq!(winner(&all, &[], &[]).await.unwrap().to_string(), V6[0], "the first, if it answers");
        assert_eq!(winner(&all, &V6, &[]).await.unwrap().to_string(), V4);
        assert_eq!(winner(&all, &V6[..1], &[V4]).await.unwrap().to_string(), V6[1]);
        assert_eq!(winner(&all, &[], &V6).await.unwrap().to_string(), V4);
        assert_eq!(winner(&all, &[], &all).await.unwrap_err(), V6[1], "the last attempt");
        assert_eq!(winner(&[], &[], &[]).await.unwrap_err(), "its name has no address");
    }

    #[test]
    fn the_two_kinds_of_addresses_are_tried_in_turn() {
        let given = addresses(&["[::1]:1", "[::2]:1", "[::3]:1", "1.0.0.1:1"]);
        let expected = addresses(&["[::1]:1", "1.0.0.1:1", "[::2]:1", "[::3]:1"]);
        assert_eq!(Vec::from(in_turn(given.into_iter())), expected);
    }
}
