//! One child: its start, its requests and answers, and the reason of its end.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IoSlice, Read, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags};

use crate::child::{self, READY};
use crate::frames::FRAME_BYTES_MAX;
use crate::limits::Limits;
use crate::outcome::Reason;
use crate::sandbox::Confinement;

/// Time limit for the start of a child, on a busy machine.
const START_TIME_MAX: Duration = Duration::from_secs(30);
/// A child gives up by itself at its time limit; after this much more time it is killed.
const GRACE: Duration = Duration::from_secs(2);
/// Bytes of a dying child's error output that are read.
const LAST_WORDS_BYTES_MAX: usize = 4096;

/// A child and the parent's end of its socket. Dropped, it is killed.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    socket: UnixStream,
    errors: Option<ChildStderr>,
    /// Bytes received and not yet read.
    buffer: Box<[u8]>,
    unread: std::ops::Range<usize>,
    documents: u64,
    /// True if something was received since the last request.
    answered: bool,
    /// Time spent waiting since the last request, and its limit.
    waited: Duration,
    time_max: Duration,
    time_max_of_document: Duration,
}

impl Process {
    /// Starts a child and receives its confinement.
    pub(super) fn start(program: &Path, arguments: &[OsString], limits: &Limits) -> io::Result<(Process, Confinement)> {
        let (socket, theirs) = UnixStream::pair()?;
        let mut command = Command::new(program);
        // In a group of its own, so that signals of a terminal reach only the worker, which ends its children itself.
        command.args(arguments).env_clear().current_dir("/").process_group(0);
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        // It holds the child's end of the socket: while that is open, the parent cannot notice the end of the child.
        drop(command);
        let errors = child.stderr.take();
        let mut process = Process {
            child,
            socket,
            errors,
            buffer: vec![0; FRAME_BYTES_MAX + 64].into_boxed_slice(),
            unread: 0..0,
            documents: 0,
            answered: false,
            waited: Duration::ZERO,
            time_max: START_TIME_MAX,
            time_max_of_document: limits.time_max.saturating_add(GRACE),
        };
        process.socket.write_all(&child::greeting(limits))?;
        let mut confinement = [0; 1];
        process.read_exact(&mut confinement).map_err(|error| {
            io::Error::new(error.kind(), format!("a child to read documents with did not start: {error}"))
        })?;
        Ok((process, Confinement::from_bits(confinement[0])))
    }

    /// Hands over a document.
    pub(super) fn ask(&mut self, file: &File, hint: Option<&str>) -> io::Result<()> {
        let request = child::request(hint);
        let descriptors = [file.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
        let flags = SendFlags::NOSIGNAL;
        let sent = rustix::io::retry_on_intr(|| {
            rustix::net::sendmsg(&self.socket, &[IoSlice::new(&request)], &mut control, flags)
        })?;
        self.socket.write_all(&request[sent..])?;
        self.documents += 1;
        self.answered = false;
        self.waited = Duration::ZERO;
        self.time_max = self.time_max_of_document;
        Ok(())
    }

    /// True if the child is ready for the next document, as it reports after each.
    pub(super) fn ready(&mut self) -> bool {
        let mut status = [0; 1];
        self.read_exact(&mut status).is_ok() && status[0] == READY && self.unread.is_empty()
    }

    /// True if this document had no answer, and earlier ones may be the cause.
    pub(super) fn may_be_innocent(&self) -> bool {
        self.documents > 1 && !self.answered && self.waited < self.time_max
    }

    /// Ends the child and returns the reason why its document cannot be read.
    pub(super) fn end(mut self) -> Reason {
        if self.waited >= self.time_max {
            return Reason::TimedOut;
        }
        // A child that has ended already keeps its exit status.
        let _ = self.child.kill();
        let Ok(status) = self.child.wait() else { return Reason::Crashed };
        // Rust's runtime prints this message if an allocation fails. The system kills processes if memory runs out.
        let starved = self.last_words().contains("memory allocation of");
        let killed = status.signal() == Some(rustix::process::Signal::KILL.as_raw());
        if starved || killed { Reason::OutOfMemory } else { Reason::Crashed }
    }

    fn last_words(&mut self) -> String {
        let mut words = [0; LAST_WORDS_BYTES_MAX];
        let Some(errors) = &mut self.errors else { return String::new() };
        // Does not wait: another process might hold the other end open.
        let now = Timespec::default();
        let readable = rustix::event::poll(&mut [PollFd::new(errors, PollFlags::IN)], Some(&now));
        let length = if readable.is_ok_and(|ready| ready > 0) { errors.read(&mut words).unwrap_or(0) } else { 0 };
        String::from_utf8_lossy(&words[..length]).into_owned()
    }

    /// Receives bytes; waits for them within the time limit.
    fn receive(&mut self) -> io::Result<()> {
        loop {
            match rustix::net::recv(&self.socket, &mut self.buffer[..], RecvFlags::DONTWAIT) {
                Ok((received, _)) => {
                    self.unread = 0..received;
                    self.answered |= received > 0;
                    return Ok(());
                }
                Err(Errno::AGAIN) => self.wait()?,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn wait(&mut self) -> io::Result<()> {
        let left = self.time_max.saturating_sub(self.waited);
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let timeout = Timespec::try_from(left).ok();
        let start = Instant::now();
        let result = rustix::event::poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], timeout.as_ref());
        self.waited += start.elapsed();
        match result {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Read for Process {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.unread.is_empty() {
            self.receive()?;
        }
        let now = self.unread.len().min(buffer.len());
        buffer[..now].copy_from_slice(&self.buffer[self.unread.start..self.unread.start + now]);
        self.unread.start += now;
        Ok(now)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
