//! One run of the program that recognises text: its start, its input and answer, and its end.
//!
//! The worker's own program is started first; it gives up its rights and becomes the other program.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown};

use crate::sandbox;

/// The hidden argument with which a program becomes the one that recognises text; see [`recogniser_main`].
pub const RECOGNISER_ARGUMENT: &str = "__view-recogniser";

/// Bytes of an answer: a page has some thousand.
const ANSWER_BYTES_MAX: usize = 4 << 20;
/// Bytes of a failing program's error output that are kept.
const LAST_WORDS_BYTES_MAX: usize = 1024;

/// One run of the program.
pub(super) struct Run<'r> {
    pub(super) launcher: &'r Path,
    pub(super) program: &'r Path,
    /// The folder of its languages.
    pub(super) data: Option<&'r Path>,
    pub(super) arguments: &'r [OsString],
    pub(super) memory_bytes_max: u64,
    pub(super) time_max: Duration,
}

/// A run that gave no text.
#[derive(Debug)]
pub(super) enum Failure {
    TimedOut,
    Failed(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::TimedOut => f.write_str("it took too long"),
            Failure::Failed(why) => f.write_str(why),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Failed(error.to_string())
    }
}

/// Gives up the rights of this process and becomes the program that recognises text.
///
/// Call it before anything else, on the only thread, if the first argument is [`RECOGNISER_ARGUMENT`].
pub fn recogniser_main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(2);
    let number = |argument: Option<OsString>| argument?.to_str()?.parse().ok();
    let (memory, seconds) = (number(arguments.next()), number(arguments.next()));
    let (Some(memory), Some(seconds), Some(program)) = (memory, seconds, arguments.next()) else {
        return ExitCode::FAILURE;
    };
    let data = std::env::var_os("TESSDATA_PREFIX").map(PathBuf::from);
    let confinement = sandbox::confine_program(memory, seconds, Path::new(&program), data.as_deref());
    let Some(question) = arguments.next() else {
        // Without arguments there is nothing to run: the parent asks for the confinement.
        use std::io::Write as _;
        let written = io::stdout().write_all(&[confinement.to_bits()]);
        return if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    };
    let arguments = std::iter::once(question).chain(arguments);
    let error = Command::new(program).args(arguments).exec();
    // The parent reads this.
    #[expect(clippy::print_stderr, reason = "this process has nothing else to say it with")]
    {
        eprintln!("{error}");
    }
    ExitCode::FAILURE
}

/// Runs the program with an input, and returns its answer.
pub(super) fn run(run: &Run<'_>, input: &[u8]) -> Result<Vec<u8>, Failure> {
    let (ours, theirs) = UnixStream::pair()?;
    let mut command = Command::new(run.launcher);
    // Its processor time ends a program that outlives the worker.
    let seconds = run.time_max.as_secs().saturating_add(1);
    command.arg(RECOGNISER_ARGUMENT).arg(run.memory_bytes_max.to_string()).arg(seconds.to_string());
    command.arg(run.program).args(run.arguments);
    // One thread: several would give no other text, and the worker reads several documents at once.
    command.env_clear().env("OMP_THREAD_LIMIT", "1").env("LC_ALL", "C");
    command.envs(run.data.map(|data| ("TESSDATA_PREFIX", data)));
    command.current_dir("/").process_group(0).stderr(Stdio::piped());
    command.stdin(OwnedFd::from(theirs.try_clone()?)).stdout(OwnedFd::from(theirs));
    let mut child = command.spawn()?;
    // It holds the program's end of the socket: while that is open, the answer has no end.
    drop(command);
    let errors = child.stderr.take();
    let mut running = Running { child, socket: ours, errors, words: Vec::new() };
    let answer = running.converse(input, Instant::now() + run.time_max);
    running.end(answer)
}

/// A program that runs. Dropped, it is killed.
struct Running {
    child: Child,
    socket: UnixStream,
    /// Its error output, until it ends.
    errors: Option<ChildStderr>,
    words: Vec<u8>,
}

impl Running {
    /// Sends the input and receives the answer, until the program has closed its outputs.
    fn converse(&mut self, mut input: &[u8], until: Instant) -> Result<Vec<u8>, Failure> {
        let (mut answer, mut is_answered) = (Vec::new(), false);
        if input.is_empty() {
            self.end_input();
        }
        while !is_answered || self.errors.is_some() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Failure::TimedOut);
            }
            self.wait(!input.is_empty(), !is_answered, left)?;
            if !input.is_empty() {
                let sent = self.send(input)?;
                input = &input[sent..];
                if input.is_empty() {
                    self.end_input();
                }
            }
            is_answered = is_answered || self.receive(&mut answer)?;
            self.listen();
        }
        Ok(answer)
    }

    fn wait(&self, is_sending: bool, is_receiving: bool, left: Duration) -> io::Result<()> {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::OUT, is_sending);
        flags.set(PollFlags::IN, is_receiving);
        let mut polled = vec![PollFd::new(&self.socket, flags)];
        polled.extend(self.errors.as_ref().map(|errors| PollFd::new(errors, PollFlags::IN)));
        // A socket that is no longer of interest would report its end at once, every time.
        let polled = if flags.is_empty() { &mut polled[1..] } else { &mut polled[..] };
        let timeout = Timespec::try_from(left).ok();
        match rustix::event::poll(polled, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends what can be sent now. A program that ended without reading all takes the rest as well.
    fn send(&self, input: &[u8]) -> io::Result<usize> {
        match rustix::net::send(&self.socket, input, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(sent) => Ok(sent),
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Err(Errno::PIPE | Errno::CONNRESET) => Ok(input.len()),
            Err(error) => Err(error.into()),
        }
    }

    fn end_input(&self) {
        // It fails only if the program has ended.
        let _ = rustix::net::shutdown(&self.socket, Shutdown::Write);
    }

    /// Receives what is there; true at the end of the answer.
    fn receive(&self, answer: &mut Vec<u8>) -> Result<bool, Failure> {
        let mut buffer = [0; 16 << 10];
        match rustix::net::recv(&self.socket, &mut buffer[..], RecvFlags::DONTWAIT) {
            Ok((0, _)) | Err(Errno::CONNRESET) => Ok(true),
            Ok((received, _)) if answer.len() + received > ANSWER_BYTES_MAX => {
                Err(Failure::Failed("its answer is too long".to_owned()))
            }
            Ok((received, _)) => {
                answer.extend_from_slice(&buffer[..received]);
                Ok(false)
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(false),
            Err(error) => Err(Failure::Failed(error.to_string())),
        }
    }

    /// Reads the error output as far as it is there, and notes its end.
    fn listen(&mut self) {
        use std::io::Read as _;
        let Some(errors) = &mut self.errors else { return };
        let readable = rustix::event::poll(&mut [PollFd::new(errors, PollFlags::IN)], Some(&Timespec::default()));
        if !readable.is_ok_and(|ready| ready > 0) {
            return;
        }
        let mut buffer = [0; LAST_WORDS_BYTES_MAX];
        match errors.read(&mut buffer) {
            Ok(read @ 1..) => {
                let space = LAST_WORDS_BYTES_MAX - self.words.len();
                self.words.extend_from_slice(&buffer[..read.min(space)]);
            }
            _ => self.errors = None,
        }
    }

    /// Ends the program. Its answer counts if it ended well.
    fn end(mut self, answer: Result<Vec<u8>, Failure>) -> Result<Vec<u8>, Failure> {
        // A program that has ended already keeps its exit status.
        let _ = self.child.kill();
        let status = self.child.wait()?;
        let answer = answer?;
        if status.signal() == Some(rustix::process::Signal::XCPU.as_raw()) {
            return Err(Failure::TimedOut);
        }
        if status.success() {
            return Ok(answer);
        }
        let words = String::from_utf8_lossy(&self.words);
        let last = words.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        Err(Failure::Failed(format!("{status}: {}", last.escape_debug())))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recognise::tests::program;

    fn answer(launcher: &Path, arguments: &[&str], input: &[u8], time_max: Duration) -> Result<Vec<u8>, String> {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        let run = Run {
            launcher,
            program: Path::new("/nowhere/tesseract"),
            data: None,
            arguments: &arguments,
            memory_bytes_max: 1000,
            time_max,
        };
        super::run(&run, input).map_err(|failure| failure.to_string())
    }

    /// The answer of a program that every system has, which is started in place of the worker's own.
    fn answer_of(name: &str, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, String> {
        answer(&program(name), arguments, input, Duration::from_secs(60))
    }

    #[test]
    fn a_program_gets_its_limits_and_then_what_to_run() {
        let given = answer_of("echo", &["stdin", "-l"], b"").unwrap();
        assert_eq!(String::from_utf8_lossy(&given), "__view-recogniser 1000 61 /nowhere/tesseract stdin -l\n");
        let longest = answer(&program("echo"), &[], b"", Duration::from_secs(u64::MAX >> 40)).unwrap();
        assert!(String::from_utf8_lossy(&longest).contains(&format!(" {} ", (u64::MAX >> 40) + 1)));
    }

    #[test]
    fn a_program_that_does_not_read_its_input_may_answer_all_the_same() {
        for length in [0, 1, 4 << 20] {
            assert_eq!(answer_of("true", &[], &vec![7; length]), Ok(Vec::new()), "{length}");
        }
    }

    #[test]
    fn the_last_words_of_a_program_that_failed_are_the_reason() {
        let silent = answer_of("false", &[], b"x").unwrap_err();
        assert!(silent.contains("exit status: 1") && silent.ends_with("it said nothing"), "{silent}");
        // It takes the arguments for the names of files, and reports one after the other.
        let loud = answer_of("cat", &["/nowhere/last"], b"").unwrap_err();
        assert!(loud.contains("exit status: 1") && loud.contains("/nowhere/last"), "{loud}");
        assert!(!loud.contains("tesseract"), "{loud}");
        assert!(answer(Path::new("/nowhere/worker"), &[], b"", Duration::from_secs(60)).is_err());
    }

    #[test]
    fn an_answer_without_end_is_refused_and_time_is_bounded() {
        assert_eq!(answer_of("yes", &[], b"").unwrap_err(), "its answer is too long");
        assert_eq!(answer(&program("yes"), &[], b"", Duration::ZERO).unwrap_err(), "it took too long");
    }
}
