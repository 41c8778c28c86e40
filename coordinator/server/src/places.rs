//! The places of a door: a bounded number of connections, shared among the addresses that they come from.
//!
//! A connection that waits for its peer can lose its place: when no place is left, the oldest one of the address that
//! has the most makes way. A peer that sends nothing therefore never keeps another one out, however many connections it
//! opens. A connection for which the coordinator works keeps its place.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::oneshot;

/// The numbers of places.
#[derive(Clone, Copy, Debug)]
pub struct PlaceLimits {
    /// Connections in all.
    pub all: usize,
    /// Connections of one address: an IPv4 address, or 64 bits of an IPv6 address. Loopback has no limit of its own: a
    /// proxy on this machine stands for all of its clients.
    pub each: usize,
}

/// The connections of one door.
pub struct Places {
    limits: PlaceLimits,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    /// By number: the lowest is the oldest.
    entries: BTreeMap<u64, Entry>,
    by_address: HashMap<IpAddr, usize>,
    next: u64,
}

struct Entry {
    address: IpAddr,
    waits: bool,
    /// Dropping it ends the connection.
    _end: oneshot::Sender<()>,
}

/// The place of one connection, until it is dropped.
pub struct Place {
    turn: Turn,
    taken_away: oneshot::Receiver<()>,
}

/// A handle on a place, with which its connection says if it waits for its peer.
#[derive(Clone)]
pub struct Turn {
    places: Arc<Places>,
    number: u64,
}

/// No place is left, and no connection can make way.
#[derive(Debug)]
pub struct Full;

impl Places {
    /// A door without connections.
    pub fn new(limits: PlaceLimits) -> Arc<Places> {
        Arc::new(Places { limits, taken: Mutex::default() })
    }

    /// Takes a place for a connection from this address, which waits for its peer at first. The number is of the
    /// connections that made way: 0 or 1.
    ///
    /// # Errors
    /// Fails if there are too many connections and the coordinator works for all that could make way.
    pub fn take(self: &Arc<Places>, from: IpAddr) -> Result<(Place, usize), Full> {
        let address = origin(from);
        let mut taken = self.lock();
        let own = taken.by_address.get(&address).copied().unwrap_or_default();
        let leaving = if own >= self.limits.each && !address.is_loopback() {
            Some(taken.oldest_waiting_of(address).ok_or(Full)?)
        } else if taken.entries.len() >= self.limits.all {
            Some(taken.oldest_waiting_of_the_greediest().ok_or(Full)?)
        } else {
            None
        };
        if let Some(number) = leaving {
            taken.remove(number);
        }
        let number = taken.next;
        taken.next += 1;
        let (end, taken_away) = oneshot::channel();
        taken.entries.insert(number, Entry { address, waits: true, _end: end });
        *taken.by_address.entry(address).or_default() += 1;
        let place = Place { turn: Turn { places: Arc::clone(self), number }, taken_away };
        Ok((place, usize::from(leaving.is_some())))
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().expect("nothing panics while it is held")
    }
}

impl Taken {
    fn oldest_waiting_of(&self, address: IpAddr) -> Option<u64> {
        let found = self.entries.iter().find(|(_, entry)| entry.waits && entry.address == address);
        found.map(|(number, _)| *number)
    }

    /// The oldest waiting connection of the address that has the most waiting ones.
    fn oldest_waiting_of_the_greediest(&self) -> Option<u64> {
        let mut waiting = HashMap::<IpAddr, (usize, u64)>::new();
        for (number, entry) in self.entries.iter().filter(|(_, entry)| entry.waits) {
            waiting.entry(entry.address).or_insert((0, *number)).0 += 1;
        }
        waiting.into_values().max_by_key(|(count, oldest)| (*count, u64::MAX - oldest)).map(|(_, oldest)| oldest)
    }

    fn remove(&mut self, number: u64) {
        let Some(entry) = self.entries.remove(&number) else { return };
        if let Some(count) = self.by_address.get_mut(&entry.address) {
            *count -= 1;
            if *count == 0 {
                self.by_address.remove(&entry.address);
            }
        }
    }
}

impl Place {
    /// Resolves when another connection has taken the place.
    pub async fn taken_away(&mut self) {
        let _ = (&mut self.taken_away).await;
    }

    /// A handle on this place.
    pub fn turn(&self) -> Turn {
        self.turn.clone()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.turn.places.lock().remove(self.turn.number);
    }
}

impl Turn {
    /// The coordinator works for the connection: it keeps its place.
    pub fn works(&self) {
        self.set(false);
    }

    /// The connection waits for its peer: it may lose its place.
    pub fn waits(&self) {
        self.set(true);
    }

    fn set(&self, waits: bool) {
        if let Some(entry) = self.places.lock().entries.get_mut(&self.number) {
            entry.waits = waits;
        }
    }
}

/// The address as limits count it: a network hands out 64 bits of an IPv6 address to one peer.
pub(crate) fn origin(from: IpAddr) -> IpAddr {
    match from.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_taken_away(place: &mut Place) -> bool {
        !matches!(place.taken_away.try_recv(), Err(oneshot::error::TryRecvError::Empty))
    }

    fn take(places: &Arc<Places>, from: &str) -> Place {
        places.take(from.parse().unwrap()).unwrap().0
    }

    #[test]
    fn a_full_door_closes_the_oldest_silent_connection_of_the_address_that_has_the_most() {
        let places = Places::new(PlaceLimits { all: 4, each: 3 });
        let mut honest = take(&places, "192.0.2.1");
        let mut greedy: Vec<Place> = (0..3).map(|_| take(&places, "192.0.2.9")).collect();
        let (mut late, made_way) = places.take("192.0.2.2".parse().unwrap()).unwrap();
        assert_eq!(made_way, 1);
        assert!(is_taken_away(&mut greedy[0]) && !is_taken_away(&mut greedy[1]));
        assert!(!is_taken_away(&mut honest) && !is_taken_away(&mut late));
    }

    #[test]
    fn one_address_takes_its_own_places_and_no_others() {
        let places = Places::new(PlaceLimits { all: 10, each: 2 });
        let (mut first, mut second) = (take(&places, "2001:db8::1"), take(&places, "2001:db8::2"));
        second.turn().works();
        let mut third = take(&places, "2001:db8::3");
        assert!(is_taken_away(&mut first) && !is_taken_away(&mut second));
        third.turn().works();
        assert!(places.take("2001:db8::4".parse().unwrap()).is_err(), "the coordinator works for both");
        third.turn().waits();
        let _fourth = take(&places, "2001:db8::4");
        assert!(is_taken_away(&mut third));
        take(&places, "2001:db8:0:1::4");
    }

    #[test]
    fn a_place_is_free_again_after_its_connection() {
        let places = Places::new(PlaceLimits { all: 2, each: 1 });
        for _ in 0..3 {
            let (_place, made_way) = places.take("192.0.2.1".parse().unwrap()).unwrap();
            assert_eq!(made_way, 0);
        }
        assert!(places.lock().entries.is_empty() && places.lock().by_address.is_empty());
    }
}
