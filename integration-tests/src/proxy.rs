//! A line between two processes that a test can make slow, silent, or cut at any byte while it is in use.
//!
//! Each direction of a connection has two threads with a short queue between them: one reads, one sends on when a chunk's
//! time has come. What is held back is not lost: as in a real network, it arrives once the line works again.

use std::collections::{BTreeMap, VecDeque};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rustix::net::connect_unspec;

use crate::dice::Dice;

/// Chunks of one direction that are under way at most.
const QUEUE: usize = 256;
const CHUNK_BYTES: usize = 16 << 10;

/// Direction of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// From who dialled.
    Up,
    /// From who was dialled.
    Down,
}

/// Behaviour of the line.
#[derive(Clone, Debug, Default)]
pub struct Weather {
    /// Delay of a chunk in one direction.
    pub latency: Duration,
    /// Greatest random addition to the delay; the order does not change.
    pub jitter: Duration,
    /// Bytes a second, each way and connection.
    pub bytes_per_second: Option<u64>,
    /// Bytes to the server are held back; the connection stays open.
    pub silent_up: bool,
    /// Bytes to the client are held back; the connection stays open.
    pub silent_down: bool,
    /// Chunks are cut into slices of so many bytes.
    pub slice_bytes: Option<usize>,
    /// New connections are reset at once.
    pub refuse: bool,
    /// A connection on which nothing went for so long carries nothing any more, as in a router that forgets what is silent.
    pub forgets_after: Option<Duration>,
}

#[derive(Debug, Default)]
struct State {
    weather: Weather,
    target: Option<SocketAddr>,
    /// Each new connection takes the first and is reset after so many bytes up.
    cuts_up: VecDeque<u64>,
    /// The same for bytes down.
    cuts_down: VecDeque<u64>,
    /// Connections numbered below this are reset.
    cut_below: u64,
    /// Connections numbered below this carry no more bytes, and stay open.
    lost_below: u64,
    /// When something last went on a connection; nothing: it is forgotten.
    heard: BTreeMap<u64, Option<Instant>>,
    connections: u64,
    open: BTreeMap<u64, [TcpStream; 2]>,
    up: u64,
    down: u64,
    captured: Option<[Vec<u8>; 2]>,
    ended: bool,
}

impl State {
    /// Whether the line still knows a connection, on which something is to go now.
    fn knows(&mut self, number: u64) -> bool {
        let heard = self.heard.entry(number).or_insert_with(|| Some(Instant::now()));
        let is_forgotten = |at: Instant| self.weather.forgets_after.is_some_and(|limit| at.elapsed() > limit);
        *heard = heard.filter(|at| !is_forgotten(*at)).map(|_| Instant::now());
        heard.is_some()
    }

    fn cut(&mut self) {
        self.cut_below = self.connections;
        self.open.values().flatten().for_each(reset);
    }
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The line. It ends with the value.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Proxy {
    /// A line from a port of its own on this address to where `target` listens.
    pub fn new(on: SocketAddr, target: SocketAddr) -> Proxy {
        let listener = TcpListener::bind(on).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        shared.lock().target = Some(target);
        let own = Arc::clone(&shared);
        std::thread::spawn(move || accept(&listener, &own));
        Proxy { address, shared }
    }

    /// Address to dial.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes the weather, on connections that are open too.
    pub fn set(&self, weather: Weather) {
        self.shared.lock().weather = weather;
        self.shared.changed.notify_all();
    }

    /// Lets everything through again.
    pub fn heal(&self) {
        let mut state = self.shared.lock();
        state.weather = Weather::default();
        state.cuts_up.clear();
        state.cuts_down.clear();
        drop(state);
        self.shared.changed.notify_all();
    }

    /// From now on leads elsewhere.
    pub fn retarget(&self, target: SocketAddr) {
        self.shared.lock().target = Some(target);
    }

    /// Resets every connection that is open.
    pub fn cut(&self) {
        let mut state = self.shared.lock();
        state.cut();
        drop(state);
        self.shared.changed.notify_all();
    }

    /// Closes one direction of every connection that is open; the other goes on.
    pub fn close(&self, way: Way) {
        for [client, server] in self.shared.lock().open.values() {
            let (from, to) = if way == Way::Up { (client, server) } else { (server, client) };
            let _ = (from.shutdown(Shutdown::Read), to.shutdown(Shutdown::Write));
        }
    }

    /// Forgets every connection that is open, as a router does that was started again: nothing passes on them, either way
    /// and for good, without closing it.
    pub fn lose(&self) {
        let mut state = self.shared.lock();
        state.lost_below = state.connections;
    }

    /// The next connections are reset after so many bytes this way, one after the other.
    pub fn cut_after(&self, way: Way, bytes: impl IntoIterator<Item = u64>) {
        let mut state = self.shared.lock();
        let cuts = if way == Way::Up { &mut state.cuts_up } else { &mut state.cuts_down };
        cuts.extend(bytes);
    }

    /// Number of planned cuts that have not happened yet.
    pub fn cuts_left(&self) -> usize {
        let state = self.shared.lock();
        state.cuts_up.len() + state.cuts_down.len()
    }

    /// From now on keeps every byte.
    pub fn capture(&self) {
        self.shared.lock().captured = Some([Vec::new(), Vec::new()]);
    }

    /// The recorded bytes in each direction, connection after connection in their order.
    pub fn captured(&self) -> [Vec<u8>; 2] {
        self.shared.lock().captured.clone().unwrap_or_default()
    }

    /// Bytes that went this way so far.
    pub fn bytes(&self, way: Way) -> u64 {
        let state = self.shared.lock();
        if way == Way::Up { state.up } else { state.down }
    }

    /// Connections that were made so far.
    pub fn connections(&self) -> u64 {
        self.shared.lock().connections
    }

    /// Connections that are open now.
    pub fn open(&self) -> u64 {
        self.shared.lock().open.len() as u64
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.ended = true;
        state.cut();
        drop(state);
        self.shared.changed.notify_all();
        // Wakes the thread that waits for connections.
        drop(TcpStream::connect(self.address));
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for client in listener.incoming() {
        let mut state = shared.lock();
        if state.ended {
            return;
        }
        let Ok(client) = client else { continue };
        let number = state.connections;
        state.connections += 1;
        if state.weather.refuse {
            reset(&client);
            continue;
        }
        let cuts = [state.cuts_up.pop_front(), state.cuts_down.pop_front()];
        let target = state.target.unwrap();
        drop(state);
        // A failure to connect closes the connection.
        let Ok(server) = TcpStream::connect(target) else {
            reset(&client);
            continue;
        };
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        connect(client, server, number, cuts, shared);
    }
}

/// One direction of one connection.
struct Lane {
    way: Way,
    number: u64,
    cut_after: Option<u64>,
    from: TcpStream,
    to: TcpStream,
    shared: Arc<Shared>,
}

fn connect(client: TcpStream, server: TcpStream, number: u64, cuts: [Option<u64>; 2], shared: &Arc<Shared>) {
    let open = [&client, &server].map(|stream| stream.try_clone().unwrap());
    shared.lock().open.insert(number, open);
    let clones = |way| (client.try_clone().unwrap(), server.try_clone().unwrap(), way);
    for ((client, server, way), cut_after) in [clones(Way::Up), clones(Way::Down)].into_iter().zip(cuts) {
        let (from, to) = if way == Way::Up { (client, server) } else { (server, client) };
        let lane = Lane { way, number, cut_after, from, to, shared: Arc::clone(shared) };
        std::thread::spawn(move || lane.run());
    }
}

/// A chunk and when it may arrive; nothing: the sender has ended.
type Parcel = Option<(Instant, Vec<u8>)>;

impl Lane {
    fn run(self) {
        let (queue, arrivals) = sync_channel::<Parcel>(QUEUE);
        let (from, shared) = (self.from.try_clone(), Arc::clone(&self.shared));
        let mut dice = Dice::new(self.number);
        std::thread::spawn(move || from.map(|from| read(from, &queue, &shared, &mut dice)));
        self.send(&arrivals);
        let mut state = self.shared.lock();
        if self.way == Way::Up {
            state.open.remove(&self.number);
        }
    }

    /// Sends on what arrives, until the end or a cut.
    fn send(&self, arrivals: &Receiver<Parcel>) {
        let mut sent = 0_u64;
        while let Ok(Some((due, bytes))) = arrivals.recv() {
            let slice_bytes = self.shared.lock().weather.slice_bytes.unwrap_or(bytes.len()).max(1);
            for mut slice in bytes.chunks(slice_bytes) {
                if !self.wait(due, slice.len()) {
                    return self.reset();
                }
                let left = self.cut_after.map_or(u64::MAX, |cut| cut.saturating_sub(sent));
                slice = &slice[..slice.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
                // Before: who has received it may ask for the count.
                self.count(slice);
                if (&self.to).write_all(slice).is_err() {
                    // The other end is gone: so is this one.
                    return self.reset();
                }
                sent += slice.len() as u64;
                if self.cut_after.is_some_and(|cut| sent >= cut) {
                    return self.reset();
                }
            }
        }
        let _ = self.to.shutdown(Shutdown::Write);
    }

    /// Waits until a slice may go; false: the connection is to be cut.
    fn wait(&self, due: Instant, bytes: usize) -> bool {
        let mut state = self.shared.lock();
        let is_known = state.knows(self.number);
        let mut due = due;
        if let Some(rate) = state.weather.bytes_per_second {
            due = due.max(Instant::now() + Duration::from_secs_f64(bytes as f64 / rate.max(1) as f64));
        }
        loop {
            if self.number < state.cut_below {
                return false;
            }
            let silenced = if self.way == Way::Up { state.weather.silent_up } else { state.weather.silent_down };
            let silent = silenced || !is_known || self.number < state.lost_below;
            let left = due.saturating_duration_since(Instant::now());
            state = match (silent, left.is_zero()) {
                (false, true) => return true,
                // A peer that only waits must notice a cut too, or it would wait for ever.
                (true, _) => self.shared.changed.wait(state).unwrap(),
                (false, false) => self.shared.changed.wait_timeout(state, left).unwrap().0,
            };
        }
    }

    fn count(&self, slice: &[u8]) {
        let mut state = self.shared.lock();
        let place = usize::from(self.way == Way::Down);
        *(if place == 0 { &mut state.up } else { &mut state.down }) += slice.len() as u64;
        if let Some(captured) = &mut state.captured {
            captured[place].extend_from_slice(slice);
        }
    }

    fn reset(&self) {
        reset(&self.from);
        reset(&self.to);
    }
}

fn read(mut from: TcpStream, queue: &SyncSender<Parcel>, shared: &Shared, dice: &mut Dice) {
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut last = Instant::now();
    loop {
        let Ok(count @ 1..) = from.read(&mut buffer) else {
            let _ = queue.send(None);
            return;
        };
        let (latency, jitter) = {
            let state = shared.lock();
            (state.weather.latency, state.weather.jitter)
        };
        let more = jitter.mul_f64(dice.below(1000) as f64 / 1000.0);
        last = last.max(Instant::now() + latency + more);
        if queue.send(Some((last, buffer[..count].to_vec()))).is_err() {
            return;
        }
    }
}

/// Ends a connection as a router does that has forgotten it: to dissolve it is to reset it, for any thread that reads from it
/// here as well.
fn reset(stream: &TcpStream) {
    let _ = connect_unspec(stream);
}
