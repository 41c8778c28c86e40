//! A folder that goes away, in which the real binary runs as a process of its own.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::deadline::Deadline;
use crate::tree::{self, Files};
use crate::{binary, canonical};

/// Longer than any run should ever take; what is not done then hangs.
pub const DEADLINE: Duration = Duration::from_secs(60);
/// The time for a whole comparison, which on a machine that does other work takes as long as a scan.
const COMPARISON_MAX: Duration = Duration::from_secs(240);

/// Interval in which the end of a process is waited for, between two looks at the deadline.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// A temporary folder with a seed, which a failing test prints.
#[derive(Debug)]
pub struct Sandbox {
    folder: tempfile::TempDir,
    seed: u64,
    runs: AtomicU64,
}

impl Sandbox {
    /// An empty sandbox for a test that rolls no dice.
    pub fn new() -> Sandbox {
        Sandbox::seeded(0)
    }

    /// An empty sandbox for a test whose folders come from this seed.
    pub fn seeded(seed: u64) -> Sandbox {
        let folder = tempfile::Builder::new().prefix("cognate-test-").tempdir().unwrap();
        for own in ["tmp", "output"] {
            std::fs::create_dir(folder.path().join(own)).unwrap();
        }
        Sandbox { folder, seed, runs: AtomicU64::new(0) }
    }

    /// The path of something in the sandbox.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes a folder with these files.
    pub fn tree(&self, name: &str, files: &Files) -> PathBuf {
        let path = self.path(name);
        tree::write(&path, files);
        path
    }

    /// Makes a folder with these small files.
    pub fn folder(&self, name: &str, files: &[(&str, &[u8])]) -> PathBuf {
        let files = files.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec())).collect();
        self.tree(name, &files)
    }

    /// The entries of the folder for temporary files that the binary uses.
    pub fn temporary_files(&self) -> Vec<PathBuf> {
        names(&self.path("tmp"))
    }

    /// Runs the binary to its end.
    pub fn cognate<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Run {
        self.cognate_in(self.folder.path(), args)
    }

    /// Runs the binary to its end in a folder.
    pub fn cognate_in<A: AsRef<OsStr>>(&self, folder: &Path, args: impl IntoIterator<Item = A>) -> Run {
        self.start_in(folder, args).ended()
    }

    /// Starts the binary.
    pub fn start<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Running {
        self.start_in(self.folder.path(), args)
    }

    fn start_in<A: AsRef<OsStr>>(&self, folder: &Path, args: impl IntoIterator<Item = A>) -> Running {
        let mut command = Command::new(binary::cognate());
        command.args(args).current_dir(folder);
        self.spawn(command)
    }

    /// Starts the binary that has points at which it can be made to fail, as `FAILPOINTS` says; `disk=` and what `DISK_FAULTS`
    /// takes: errors of the disk.
    pub fn start_failing<A: AsRef<OsStr>>(&self, points: &str, args: impl IntoIterator<Item = A>) -> Running {
        let mut command = self.command(points);
        command.args(args);
        self.spawn(command)
    }

    /// A command of the binary that is shipped, or with points of the one that can be made to fail.
    pub fn command(&self, points: &str) -> Command {
        let mut command = match points {
            "" => Command::new(binary::cognate()),
            _ => Command::new(binary::cognate_failpoints()),
        };
        let (variable, value) = match points.split_once('=') {
            Some(("disk", faults)) => ("DISK_FAULTS", faults),
            Some(("waiting", part)) => ("WAITING_CALLS", part),
            _ => ("FAILPOINTS", points),
        };
        if !points.is_empty() {
            command.env(variable, value);
        }
        command.current_dir(self.folder.path());
        command
    }

    /// Starts a command with what the sandbox puts around it.
    pub fn spawn(&self, mut command: Command) -> Running {
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        // Files and not pipes: a full pipe would stop the process.
        let (stdout, stderr) = (self.path(format!("output/{number}.out")), self.path(format!("output/{number}.err")));
        command
            .env("TMPDIR", self.path("tmp"))
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(File::create(&stdout).unwrap())
            .stderr(File::create(&stderr).unwrap());
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("COGNATE_")) {
            command.env_remove(name);
        }
        let shown = format!("{command:?}");
        let mut child = command.spawn().unwrap();
        let id = Pid::from_child(&child);
        let (ended_to, ended) = channel();
        std::thread::spawn(move || ended_to.send(child.wait()));
        Running { id, ended, stdout, stderr, shown, status: None }
    }

    /// Deletes what processes that have ended wrote, but for the last ones. Those that run go on writing.
    pub fn forget_output(&self) {
        let last = self.runs.load(Ordering::Relaxed);
        let number =
            |path: &PathBuf| path.file_stem().and_then(OsStr::to_str).and_then(|name| name.parse::<u64>().ok());
        for path in names(&self.path("output")) {
            let is_empty_or_result = path.extension() == Some(OsStr::new("out"));
            if is_empty_or_result && number(&path).is_some_and(|number| number + 50 < last) {
                let _ = File::options().write(true).truncate(true).open(path);
            }
        }
    }

    /// Compares folders that are named as sites, with further arguments, and answers the report.
    pub fn report(&self, folders: &[(&str, &Path)], args: &[&str]) -> Value {
        self.compare(folders, args).report()
    }

    /// Compares folders that are named as sites, as JSON, with further arguments.
    pub fn compare(&self, folders: &[(&str, &Path)], args: &[&str]) -> Run {
        let mut args = args.to_vec();
        args.extend(["--format", "json"]);
        self.start(compare_args(folders, &args)).ended_within(COMPARISON_MAX)
    }

    /// Waits until the clock of the file system is so far on that files made before count as settled: what was touched
    /// in the same tick as its reading began is, by design, read again.
    pub fn settle(&self) {
        let probe = self.path("tmp/settle");
        let now = |probe: &Path| {
            std::fs::write(probe, "x").unwrap();
            std::fs::metadata(probe).unwrap().modified().unwrap()
        };
        let began = now(&probe);
        wait_until("the clock goes on", || {
            now(&probe).duration_since(began).is_ok_and(|passed| passed > Duration::from_millis(30))
        });
        std::fs::remove_file(&probe).unwrap();
    }
}

impl Default for Sandbox {
    fn default() -> Sandbox {
        Sandbox::new()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if std::thread::panicking() {
            #[expect(clippy::print_stderr, reason = "the harness shows it with the failure")]
            {
                eprintln!("the seed of the failed test is {}", self.seed);
            }
        }
    }
}

/// The arguments of a comparison of named folders.
pub fn compare_args(folders: &[(&str, &Path)], args: &[&str]) -> Vec<std::ffi::OsString> {
    let mut all: Vec<std::ffi::OsString> = vec!["compare".into()];
    for (name, path) in folders {
        let mut word = std::ffi::OsString::from(format!("{name}="));
        word.push(path);
        all.push(word);
    }
    all.extend(args.iter().map(Into::into));
    all
}

/// A process on its way.
#[derive(Debug)]
pub struct Running {
    id: Pid,
    ended: Receiver<std::io::Result<ExitStatus>>,
    stdout: PathBuf,
    stderr: PathBuf,
    shown: String,
    status: Option<ExitStatus>,
}

impl Running {
    /// True if the process ends by itself within this time.
    pub fn ends_within(&mut self, wait: Duration) -> bool {
        let mut deadline = Deadline::after(wait);
        while self.status.is_none() {
            let left = deadline.left();
            self.status = self.ended.recv_timeout(left.min(LOOK_INTERVAL)).ok().map(|status| status.unwrap());
            if left.is_zero() {
                break;
            }
        }
        self.status.is_some()
    }

    /// Sends a signal; one that comes too late is no error.
    pub fn signal(&mut self, signal: Signal) {
        // A process that was waited for may have lent its number to another.
        if !self.ends_within(Duration::ZERO) {
            let _ = kill_process(self.id, signal);
        }
    }

    /// The number of the process.
    pub fn id(&self) -> i32 {
        self.id.as_raw_nonzero().get()
    }

    /// Its standard error so far.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.stderr).unwrap()).into_owned()
    }

    /// Waits for the end. There was no panic.
    pub fn ended(self) -> Run {
        self.ended_within(DEADLINE)
    }

    /// The same with a time of its own.
    pub fn ended_within(self, wait: Duration) -> Run {
        let run = self.anyhow_within(wait);
        assert!(!run.stderr.contains("panicked"), "a panic: {run:#?}");
        run
    }

    /// Waits for the end, also of a process that was made to panic.
    pub fn ended_anyhow(self) -> Run {
        self.anyhow_within(DEADLINE)
    }

    fn anyhow_within(mut self, wait: Duration) -> Run {
        if !self.ends_within(wait) {
            self.signal(Signal::KILL);
            panic!("{} hangs: it was not done after {wait:?}", self.shown);
        }
        let status = self.status.unwrap();
        Run {
            code: status.code(),
            signal: status.signal(),
            stdout: std::fs::read(&self.stdout).unwrap(),
            stderr: String::from_utf8_lossy(&std::fs::read(&self.stderr).unwrap()).into_owned(),
            shown: self.shown.clone(),
        }
    }
}

/// Exit code and output of a process.
#[derive(Clone)]
pub struct Run {
    /// The exit code, where it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: String,
    /// The command line.
    pub shown: String,
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let start: Vec<u8> = self.stdout.iter().copied().take(2000).collect();
        writeln!(f, "{}\ncode {:?}, signal {:?}", self.shown, self.code, self.signal)?;
        write!(f, "stdout: {}\nstderr: {}", String::from_utf8_lossy(&start), self.stderr)
    }
}

impl Run {
    /// Checks the exit code.
    #[track_caller]
    pub fn expect(self, code: i32) -> Run {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    /// Standard output as text.
    #[track_caller]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("output is UTF-8")
    }

    /// The report of a comparison that was complete.
    #[track_caller]
    pub fn report(self) -> Value {
        self.expect(0).json()
    }

    /// Standard output as JSON, whose digest holds if it is a report.
    #[track_caller]
    pub fn json(&self) -> Value {
        let value: Value = serde_json::from_slice(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        if value["schema"] == "cognate.report/1" {
            assert_eq!(value["scan"]["digest"], canonical::digest(&value), "the digest of the report: {self:?}");
        }
        value
    }

    /// The lines of standard output, each as JSON.
    #[track_caller]
    pub fn lines(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Checks that it was refused in one line on standard error, with nothing on standard output, and answers the line.
    #[track_caller]
    pub fn refusal(self, code: i32) -> String {
        let run = self.expect(code);
        assert!(run.stdout.is_empty(), "a refusal writes no result: {run:?}");
        let lines: Vec<&str> = run.stderr.lines().filter(|line| line.starts_with("cognate: ")).collect();
        assert!(lines.len() == 1 && run.stderr.trim_end().ends_with(lines[0]), "one line says why: {run:?}");
        lines[0].to_owned()
    }
}

/// Waits for a condition, looking again and again until the deadline.
#[track_caller]
pub fn wait_until(what: &str, condition: impl FnMut() -> bool) {
    wait_within(DEADLINE, what, condition);
}

/// Waits for a condition that takes its time.
#[track_caller]
pub fn wait_within(deadline: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let mut deadline = Deadline::after(deadline);
    while !condition() {
        assert!(!deadline.left().is_zero(), "waited too long until {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The entries of a folder; none if it does not exist.
pub fn names(folder: &Path) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> = match std::fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| entry.unwrap().path()).collect(),
        Err(_) => Vec::new(),
    };
    names.sort();
    names
}

/// All files below a folder with their contents, by relative path.
pub fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for path in names(&next) {
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.strip_prefix(folder).unwrap().to_owned(), std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// Copies a folder with its folders and files. A socket is of a process that is over.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    std::fs::set_permissions(to, from.metadata().unwrap().permissions()).unwrap();
    for path in names(from) {
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else if path.is_file() {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

/// True if bytes occur in others.
pub fn find(all: &[u8], wanted: &[u8]) -> bool {
    all.windows(wanted.len()).any(|window| window == wanted)
}
