//! The child: confines itself, then reads one document after the other and answers with their parts.
//!
//! Its standard input is a socket. The parent sends a greeting with the limits, and for each document a request with
//! its descriptor. The child sends one byte with its confinement, and for each document a stream of parts and one byte:
//! ready for the next document, or to be replaced.

use std::fs::File;
use std::io::{self, BufWriter, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Duration;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags};

use crate::frames::FRAME_BYTES_MAX;
use crate::hint::HINT_BYTES_MAX;
use crate::limits::Limits;
use crate::sandbox;

/// The hidden argument with which a program becomes a child; see [`child_main`].
pub const CHILD_ARGUMENT: &str = "__view-child";

/// In place of the length of a hint: archives stay closed.
const CLOSED: u8 = 255;
/// The child may have the next document.
pub(crate) const READY: u8 = 1;
/// The child wants to be replaced.
const RETIRING: u8 = 2;
/// Number of documents after which a child is replaced.
const DOCUMENTS_MAX: u32 = 10_000;

const GREETING_BYTES: usize = 8 * 8;

/// Reads documents for the parent process until it closes the connection.
///
/// Call it before anything else, on the only thread, if the first argument is [`CHILD_ARGUMENT`].
pub fn child_main() -> ExitCode {
    serve(crate::walk::walk)
}

/// Reads a document of a file, with a hint for names (`None`: archives stay closed), and writes the stream of its parts:
/// [`walk`](crate::walk) is one.
pub type WalkFn = fn(File, Option<&str>, &Limits, &mut dyn Write) -> io::Result<()>;

/// As [`child_main`], with another function for each document: for tests in which a child fails.
pub fn serve(walk: WalkFn) -> ExitCode {
    match catch_unwind(AssertUnwindSafe(|| serve_until_the_end(walk))) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(_)) => ExitCode::FAILURE,
        // The state after a panic is unknown, so the process ends.
        Err(_) => std::process::exit(101),
    }
}

fn serve_until_the_end(walk: WalkFn) -> io::Result<()> {
    let mut greeting = [0; GREETING_BYTES];
    receive(&mut greeting)?.map_or(Ok(()), |_| Err(io::Error::from(io::ErrorKind::InvalidData)))?;
    let limits = limits_of(&greeting);
    let memory = Memory::open();
    let confinement = sandbox::confine(&limits);
    let mut answer = BufWriter::with_capacity(FRAME_BYTES_MAX, Socket);
    answer.write_all(&[confinement.to_bits()])?;
    answer.flush()?;
    for documents in 1.. {
        let Some((file, hint)) = next_request()? else { break };
        walk(file, hint.as_deref(), &limits, &mut answer)?;
        let ready = documents < DOCUMENTS_MAX && !memory.has_grown();
        answer.write_all(&[if ready { READY } else { RETIRING }])?;
        answer.flush()?;
        if !ready {
            break;
        }
    }
    Ok(())
}

/// The limits, as a child receives them.
pub(crate) fn greeting(limits: &Limits) -> [u8; GREETING_BYTES] {
    let numbers = [
        limits.expanded_bytes_max,
        limits.ratio_max.into(),
        limits.members_max.into(),
        limits.depth_max.into(),
        limits.text_bytes_max,
        limits.time_max.as_millis().try_into().unwrap_or(u64::MAX),
        limits.memory_bytes_max,
        limits.picture_pages_max.into(),
    ];
    let mut greeting = [0; GREETING_BYTES];
    for (bytes, number) in greeting.as_chunks_mut::<8>().0.iter_mut().zip(numbers) {
        *bytes = number.to_le_bytes();
    }
    greeting
}

fn limits_of(greeting: &[u8; GREETING_BYTES]) -> Limits {
    let number = |place: usize| greeting.as_chunks::<8>().0.get(place).map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let small = |place| u32::try_from(number(place)).unwrap_or(u32::MAX);
    Limits {
        expanded_bytes_max: number(0),
        ratio_max: small(1),
        members_max: small(2),
        depth_max: small(3),
        text_bytes_max: number(4),
        time_max: Duration::from_millis(number(5)),
        memory_bytes_max: number(6),
        picture_pages_max: small(7),
    }
}

/// The request for a document; its descriptor goes with it.
pub(crate) fn request(hint: Option<&str>) -> Vec<u8> {
    let Some(hint) = hint else { return vec![CLOSED] };
    let hint = if hint.len() > HINT_BYTES_MAX { "" } else { hint };
    let mut request = vec![u8::try_from(hint.len()).unwrap_or(0)];
    request.extend_from_slice(hint.as_bytes());
    request
}

/// The next document and its hint; `None` if the parent has no more.
fn next_request() -> io::Result<Option<(File, Option<String>)>> {
    let mut length = [0; 1];
    let Some(file) = receive(&mut length)? else { return Ok(None) };
    if length == [CLOSED] {
        return Ok(Some((file, None)));
    }
    let mut hint = vec![0; usize::from(length[0])];
    receive(&mut hint)?;
    Ok(Some((file, Some(String::from_utf8_lossy(&hint).into_owned()))))
}

/// Fills the buffer from the parent and returns the descriptor that came with the bytes.
fn receive(mut buffer: &mut [u8]) -> io::Result<Option<File>> {
    let mut file = None;
    while !buffer.is_empty() {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let socket = io::stdin();
        let received = rustix::io::retry_on_intr(|| {
            let slice = &mut [IoSliceMut::new(buffer)];
            rustix::net::recvmsg(socket.as_fd(), slice, &mut control, RecvFlags::empty())
        })?;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                file = descriptors.map(File::from).next().or(file);
            }
        }
        if received.bytes == 0 {
            return Ok(None);
        }
        buffer = &mut buffer[received.bytes..];
    }
    Ok(file)
}

/// The connection to the parent.
#[derive(Debug)]
struct Socket;

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let socket = io::stdin();
        Ok(rustix::io::retry_on_intr(|| rustix::net::send(socket.as_fd(), bytes, SendFlags::NOSIGNAL))?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The memory of this process, from a file that was opened before the sandbox.
#[derive(Debug)]
struct Memory {
    statm: Option<File>,
    at_first: u64,
}

impl Memory {
    /// Growth in pages since its start after which a child is replaced.
    const PAGES_MORE_MAX: u64 = 16 * 1024;

    fn open() -> Memory {
        let mut memory = Memory { statm: File::open("/proc/self/statm").ok(), at_first: 0 };
        memory.at_first = memory.resident_pages();
        memory
    }

    fn has_grown(&self) -> bool {
        self.resident_pages() > self.at_first.saturating_add(Memory::PAGES_MORE_MAX)
    }

    fn resident_pages(&self) -> u64 {
        use std::os::unix::fs::FileExt as _;
        let Some(statm) = &self.statm else { return 0 };
        let mut text = [0; 128];
        let length = statm.read_at(&mut text, 0).unwrap_or(0);
        let text = str::from_utf8(&text[..length]).unwrap_or_default();
        text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_come_back_from_a_greeting() {
        let limits = Limits {
            expanded_bytes_max: u64::MAX,
            ratio_max: u32::MAX,
            members_max: 1,
            depth_max: 0,
            text_bytes_max: 1 << 40,
            time_max: Duration::from_millis(1234),
            memory_bytes_max: 7,
            picture_pages_max: 9,
        };
        for limits in [limits, Limits::default()] {
            assert_eq!(limits_of(&greeting(&limits)), limits);
        }
    }

    #[test]
    fn a_request_has_the_length_of_its_hint_before_it() {
        assert_eq!(request(Some("")), [0]);
        assert_eq!(request(Some("ab")), [2, b'a', b'b']);
        assert_eq!(request(Some(&"x".repeat(HINT_BYTES_MAX))).len(), 1 + HINT_BYTES_MAX);
        // Longer names are never sent; see `HINT_BYTES_MAX`.
        assert_eq!(request(Some(&"x".repeat(HINT_BYTES_MAX + 1))), [0]);
        assert_eq!(request(None), [CLOSED]);
    }
}
