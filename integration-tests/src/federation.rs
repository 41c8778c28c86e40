//! A federation of real processes: a coordinator, and workers that reach it over lines which a test can disturb.
//!
//! Each federation has loopback addresses of its own, so that many run at once and a coordinator that is started again
//! is found where it was.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::canonical::comparable;
use crate::clock::Clocks;
use crate::dice::{Dice, seed};
use crate::invitation;
use crate::metrics;
use crate::proxy::Proxy;
use crate::sandbox::{Run, Running, Sandbox, wait_until};
use crate::tree::{self, Files};

/// Time limit for a daemon to stop, as these are configured.
const DRAIN: Duration = Duration::from_secs(10);
/// Lines of each log that are shown with a failure.
const LOG_LINES: usize = 40;

/// A coordinator and its sites.
#[derive(Debug)]
pub struct Federation {
    /// The folder of all files of the federation.
    pub sandbox: Sandbox,
    /// The seed of the trees and of the order of events.
    pub dice: Dice,
    net: [u8; 2],
    port: u16,
    clocks: Option<Clocks>,
    coordinator: Option<Running>,
    sites: BTreeMap<String, Site>,
}

/// A site and its worker.
#[derive(Debug)]
pub struct Site {
    name: String,
    party: Option<String>,
    folder: PathBuf,
    config: PathBuf,
    state: PathBuf,
    line: Proxy,
    worker: Option<Running>,
}

impl Site {
    /// Whether a worker was started, and not taken or killed since.
    pub fn has_worker(&self) -> bool {
        self.worker.is_some()
    }

    /// Its one repository, `kb`.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its worker's configuration.
    pub fn config(&self) -> &Path {
        &self.config
    }

    /// Its worker's state.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Its way to the coordinator.
    pub fn line(&self) -> &Proxy {
        &self.line
    }

    /// The worker's process.
    #[track_caller]
    pub fn worker(&mut self) -> &mut Running {
        self.worker.as_mut().expect("the worker was started")
    }
}

impl Federation {
    /// A coordinator that serves, and no sites.
    pub fn new(own_seed: u64) -> Federation {
        let mut federation = Federation::prepared(own_seed);
        federation.init();
        federation.start_coordinator();
        federation
    }

    /// Sites `a`, `b` and so on with documents from a common stock, attached.
    pub fn of(own_seed: u64, sites: usize, documents: usize) -> Federation {
        let mut federation = Federation::new(own_seed);
        let trees = tree::varied(&mut federation.dice, sites, documents);
        for (name, files) in ["a", "b", "c", "d", "e"].iter().zip(&trees) {
            federation.add(name, files);
        }
        federation.sandbox.settle();
        federation.start_all();
        federation
    }

    /// A configuration of a coordinator, and nothing else yet.
    pub fn prepared(own_seed: u64) -> Federation {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let seed = seed(own_seed);
        let own = NEXT.fetch_add(1, Ordering::Relaxed);
        let hash = blake3::hash(format!("{} {own}", std::process::id()).as_bytes());
        let bytes = hash.as_bytes();
        let federation = Federation {
            sandbox: Sandbox::seeded(seed),
            dice: Dice::new(seed),
            // Neither 127.0.x.x, which others use, nor a broadcast address.
            net: [bytes[0] % 250 + 2, bytes[1]],
            port: 10_000 + u16::from_le_bytes([bytes[2], bytes[3]]) % 20_000,
            clocks: None,
            coordinator: None,
            sites: BTreeMap::new(),
        };
        let names: Vec<String> = (1..=12).map(|host| format!("\"{}\"", federation.address(host).ip())).collect();
        let config = format!(
            "state_dir = \"{}\"\nlisten = \"{}\"\nhttp_listen = \"{}:{}\"\nnames = [{}]\nwebhook_hosts = [\"127.0.0.1\"]\ndrain = \"{}s\"\n",
            federation.sandbox.path("coordinator").display(),
            federation.address(1),
            federation.address(1).ip(),
            federation.port + 1,
            names.join(", "),
            DRAIN.as_secs(),
        );
        std::fs::write(federation.coordinator_config(), config).unwrap();
        federation
    }

    /// An address of this federation's own. The coordinator has host 1, the lines to it of sites have 10 to 12.
    pub fn address(&self, host: u8) -> SocketAddr {
        SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, self.net[0], self.net[1], host)), self.port)
    }

    /// Makes the coordinator's state.
    #[track_caller]
    pub fn init(&self) {
        self.sandbox.cognate(["coordinator", "init", "--config", text(&self.coordinator_config())]).expect(0);
    }

    /// The coordinator's configuration.
    pub fn coordinator_config(&self) -> PathBuf {
        self.sandbox.path("coordinator.toml")
    }

    /// The coordinator's state.
    pub fn coordinator_state(&self) -> PathBuf {
        self.sandbox.path("coordinator")
    }

    /// Takes away the state of the coordinator, all but the key of its authority, which is kept in another place.
    pub fn lose_coordinator_state(&self) {
        let state = self.coordinator_state();
        let kept = self.sandbox.path("kept-apart.key");
        std::fs::copy(state.join("ca.key"), &kept).unwrap();
        std::fs::remove_dir_all(&state).unwrap();
        self.begin_state_with_key(&kept);
    }

    /// Makes the folder of the coordinator's state with the key of its authority alone.
    pub fn begin_state_with_key(&self, key: &Path) {
        let state = self.coordinator_state();
        std::fs::DirBuilder::new().mode(0o700).create(&state).unwrap();
        std::fs::copy(key, state.join("ca.key")).unwrap();
    }

    /// The first administrator's credential.
    pub fn operator(&self) -> PathBuf {
        self.coordinator_state().join("operator.toml")
    }

    // --- Sites

    /// Adds a site of the party `home` with these documents, enrolled and not started.
    #[track_caller]
    pub fn add(&mut self, name: &str, files: &Files) {
        self.add_with(name, None, files, "");
    }

    /// Adds a site with a party and further lines of configuration.
    #[track_caller]
    pub fn add_with(&mut self, name: &str, party: Option<&str>, files: &Files, config: &str) {
        self.prepare_site(name, party, files, config);
        let token = self.invite(name);
        self.enroll(name, &token).expect(0);
    }

    /// A site with a configuration and a line to the coordinator, not enrolled.
    pub fn prepare_site(&mut self, name: &str, party: Option<&str>, files: &Files, more: &str) {
        let number = u8::try_from(self.sites.len()).unwrap();
        let folder = self.sandbox.tree(&format!("{name}-kb"), files);
        let (config, state) = (self.sandbox.path(format!("{name}.toml")), self.sandbox.path(format!("worker-{name}")));
        // A site without a party is of a federation of one, unless its configuration says otherwise.
        let one_party = match more.contains("one_party") {
            true => String::new(),
            false => format!("one_party = {}\n", party.is_none()),
        };
        let values = format!(
            "state_dir = \"{}\"\n{one_party}drain = \"{}s\"\n{more}\n[[repository]]\nname = \"kb\"\npath = \"{}\"\n",
            state.display(),
            DRAIN.as_secs(),
            folder.display(),
        );
        std::fs::write(&config, values).unwrap();
        // The coordinator's certificate has the hosts up to 12.
        let mut own = self.address(10 + number % 3);
        own.set_port(self.port + u16::from(number / 3));
        let line = Proxy::new(own, self.address(1));
        let (name, party) = (name.to_owned(), party.map(str::to_owned));
        self.sites.insert(name.clone(), Site { name, party, folder, config, state, line, worker: None });
    }

    /// An invitation for a site that was prepared, by way of its line.
    #[track_caller]
    pub fn invite(&self, name: &str) -> String {
        let site = self.site(name);
        let mut args = vec!["site", "invite", name];
        if let Some(party) = &site.party {
            args.extend(["--party", party]);
        }
        let line = self.operate(&args).expect(0).text().trim().to_owned();
        invitation::readdressed(&line, &site.line.address().to_string())
    }

    /// Has a site enrolled.
    pub fn enroll(&self, name: &str, token: &str) -> Run {
        self.sandbox.cognate(["worker", "enroll", token, "--config", text(&self.site(name).config)])
    }

    /// A site.
    #[track_caller]
    pub fn site(&self, name: &str) -> &Site {
        &self.sites[name]
    }

    /// A site, to do something with its worker.
    #[track_caller]
    pub fn site_mut(&mut self, name: &str) -> &mut Site {
        self.sites.get_mut(name).unwrap()
    }

    /// The names of all sites.
    pub fn names(&self) -> Vec<String> {
        self.sites.keys().cloned().collect()
    }

    // --- Daemons

    /// Starts the coordinator and waits until it serves.
    #[track_caller]
    pub fn start_coordinator(&mut self) {
        assert!(self.start_coordinator_failing(""), "the coordinator ended: {}", self.coordinator().stderr());
    }

    /// Starts a coordinator with points at which it fails, and waits until it serves, or has failed already. None: the
    /// binary that is shipped. Answers whether it serves.
    #[track_caller]
    pub fn start_coordinator_failing(&mut self, points: &str) -> bool {
        let ready = self.sandbox.path("ready");
        let _ = std::fs::remove_file(&ready);
        self.coordinator = Some(self.coordinator_process(points));
        let mut serves = false;
        wait_until("the coordinator serves", || {
            let ended = self.coordinator().ends_within(Duration::ZERO);
            serves = std::fs::read(&ready).is_ok_and(|bytes| !bytes.is_empty());
            serves || ended
        });
        serves
    }

    /// Starts a coordinator without waiting.
    pub fn coordinator_process(&self, points: &str) -> Running {
        let (config, ready) = (self.coordinator_config(), self.sandbox.path("ready"));
        let args = ["coordinator", "run", "--config", text(&config), "--ready-file", text(&ready)];
        self.daemon("coordinator", points, &args)
    }

    fn daemon(&self, name: &str, points: &str, args: &[&str]) -> Running {
        let mut command = self.sandbox.command(points);
        command.args(args).args(["--log-level", "info", "--log-format", "compact"]);
        if let Some(clocks) = &self.clocks {
            clocks.apply(name, &mut command);
        }
        self.sandbox.spawn(command)
    }

    /// From now on daemons start with clocks of their own.
    pub fn set_clocks(&mut self, clocks: Clocks) {
        self.clocks = Some(clocks);
    }

    /// The clocks of the daemons, if they have their own.
    pub fn clocks(&self) -> Option<&Clocks> {
        self.clocks.as_ref()
    }

    /// The coordinator's process.
    #[track_caller]
    pub fn coordinator(&mut self) -> &mut Running {
        self.coordinator.as_mut().expect("the coordinator was started")
    }

    /// Whether the coordinator was started, and not taken or killed since.
    pub fn has_coordinator(&self) -> bool {
        self.coordinator.is_some()
    }

    /// Ends every daemon at once.
    pub fn kill_all(&mut self) {
        self.kill_coordinator();
        for name in self.names() {
            self.kill(&name);
        }
    }

    /// Prints the end of the log of every daemon.
    pub fn show_logs(&self) {
        let workers = self.sites.values().map(|site| (site.name.as_str(), &site.worker));
        for (name, running) in workers.chain([("coordinator", &self.coordinator)]) {
            if let Some(running) = running {
                show(name, &running.stderr());
            }
        }
    }

    /// Adds lines to the coordinator's configuration.
    pub fn add_config(&self, lines: &str) {
        let config = std::fs::read_to_string(self.coordinator_config()).unwrap();
        std::fs::write(self.coordinator_config(), config + lines).unwrap();
    }

    /// Takes the coordinator's process, to wait for its end.
    #[track_caller]
    pub fn take_coordinator(&mut self) -> Running {
        self.coordinator.take().expect("the coordinator was started")
    }

    /// Ends the coordinator at once.
    pub fn kill_coordinator(&mut self) {
        kill(self.coordinator.take());
    }

    /// Asks the coordinator to stop and waits until it has.
    #[track_caller]
    pub fn stop_coordinator(&mut self) {
        stop(self.take_coordinator());
    }

    /// Starts a worker, without waiting for it.
    pub fn start(&mut self, name: &str) {
        self.start_failing(name, "");
    }

    /// Starts a worker with points at which it fails.
    pub fn start_failing(&mut self, name: &str, points: &str) {
        let running = self.worker_process(name, points);
        self.site_mut(name).worker = Some(running);
    }

    /// A process of a site's worker that the caller ends itself.
    pub fn worker_process(&self, name: &str, points: &str) -> Running {
        self.daemon(name, points, &["worker", "run", "--config", text(&self.site(name).config)])
    }

    /// Starts all workers and waits until they are attached.
    #[track_caller]
    pub fn start_all(&mut self) {
        let names = self.names();
        names.iter().for_each(|name| self.start(name));
        self.wait_all_attached(&names);
    }

    /// Ends all workers at once and starts them again: these dial without having waited.
    #[track_caller]
    pub fn restart_all(&mut self) {
        for name in self.names() {
            self.kill(&name);
        }
        self.start_all();
    }

    /// Takes a worker's process, to wait for its end.
    #[track_caller]
    pub fn take_worker(&mut self, name: &str) -> Running {
        self.site_mut(name).worker.take().expect("the worker was started")
    }

    /// Ends a worker at once.
    pub fn kill(&mut self, name: &str) {
        kill(self.site_mut(name).worker.take());
    }

    /// Asks a worker to stop and waits until it has.
    #[track_caller]
    pub fn stop(&mut self, name: &str) {
        stop(self.take_worker(name));
    }

    /// A command of a site: `worker WORDS --config FILE`.
    pub fn worker(&self, name: &str, words: &[&str]) -> Run {
        let config = &self.site(name).config;
        self.sandbox.cognate(["worker"].iter().chain(words).copied().chain(["--config", text(config)]))
    }

    // --- Operators

    /// A command of the first administrator.
    pub fn operate(&self, args: &[&str]) -> Run {
        self.sandbox.spawn(self.operating(args)).ended()
    }

    /// The same, without waiting for its end.
    pub fn begin(&self, args: &[&str]) -> Running {
        self.sandbox.spawn(self.operating(args))
    }

    /// The command of an operator, not yet started.
    pub fn operating(&self, args: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new(crate::binary::cognate());
        command.args(args).args(["--operator", text(&self.operator())]);
        command
    }

    /// An address that signs the owner of this file in at the pages, once.
    #[track_caller]
    pub fn login(&self, operator: &Path) -> String {
        let run = self.sandbox.cognate(["operator", "login", "--operator", text(operator)]);
        run.expect(0).text().trim().to_owned()
    }

    /// Makes somebody a member: its file.
    #[track_caller]
    pub fn person(&self, name: &str, role: &str, more: &[&str]) -> PathBuf {
        let words: Vec<&str> = ["operator", "invite", name, "--role", role].iter().chain(more).copied().collect();
        let token = self.operate(&words).expect(0).text().trim().to_owned();
        let file = self.sandbox.path(format!("{name}.toml"));
        self.sandbox.cognate(["operator", "enroll", &token, "-o", text(&file)]).expect(0);
        file
    }

    /// The rows of `site list`.
    pub fn members(&self) -> Vec<Value> {
        self.operate(&["site", "list", "--format", "json"]).expect(0).json().as_array().unwrap().clone()
    }

    /// The row of a site in `site list`.
    pub fn member(&self, name: &str) -> Value {
        self.members().into_iter().find(|row| row["name"] == name).unwrap_or_default()
    }

    /// Waits until a worker is attached.
    #[track_caller]
    pub fn wait_attached(&self, name: &str) {
        self.wait_all_attached(&[name.to_owned()]);
    }

    /// Waits until workers are attached. Each question who is attached is a process of its own, and those that are waited for need
    /// the machine: so it is asked once there are enough sessions.
    #[track_caller]
    fn wait_all_attached(&self, names: &[String]) {
        wait_until(&format!("{} are attached", names.join(", ")), || {
            if metrics::value(self.http_address(), "cognate_sessions")
                .is_some_and(|sessions| sessions < names.len() as f64)
            {
                std::thread::sleep(Duration::from_millis(5));
                return false;
            }
            let rows = self.members();
            names.iter().all(|name| rows.iter().any(|row| row["name"] == **name && row["attached"] == true))
        });
    }

    /// The repositories of all sites, as `--repositories` takes them.
    pub fn repositories(&self) -> String {
        self.names().iter().map(|name| format!("{name}/kb")).collect::<Vec<_>>().join(",")
    }

    /// The words that launch a scan over all sites.
    pub fn launching<'a>(repositories: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let words = ["scan", "launch", "--repositories", repositories, "--yes", "--wait", "--format", "json"];
        words.iter().chain(more).copied().collect()
    }

    /// A scan over all sites, to its end.
    pub fn scan(&self, more: &[&str]) -> Run {
        self.operate(&Federation::launching(&self.repositories(), more))
    }

    /// The same, without waiting for its end.
    pub fn begin_scan(&self, more: &[&str]) -> Running {
        self.begin(&Federation::launching(&self.repositories(), more))
    }

    /// The report of a comparison of the same folders in one process.
    #[track_caller]
    pub fn expected(&self, more: &[&str]) -> Value {
        self.expected_of(&self.names(), more)
    }

    /// The same of some of the sites.
    #[track_caller]
    pub fn expected_of(&self, sites: &[String], more: &[&str]) -> Value {
        let sites: Vec<&Site> = sites.iter().map(|name| self.site(name)).collect();
        let names: Vec<String> = sites
            .iter()
            .map(|site| match &site.party {
                Some(party) => format!("{party}:{}/kb", site.name),
                None => format!("{}/kb", site.name),
            })
            .collect();
        let folders: Vec<(&str, &Path)> =
            names.iter().map(String::as_str).zip(sites.iter().map(|site| site.folder())).collect();
        self.sandbox.report(&folders, more)
    }

    /// Checks that a report says what a comparison in one process says, and answers it.
    #[track_caller]
    pub fn check(&self, run: Run, more: &[&str]) -> Value {
        let report = run.report();
        assert_eq!(comparable(&report), comparable(&self.expected(more)));
        report
    }

    // --- Answers of the coordinator

    /// Asks for a page: status and body.
    pub fn http(&self, path: &str) -> (u16, String) {
        self.http_with(path, "")
    }

    /// The same with more lines in the head of the request, each with its end.
    pub fn http_with(&self, path: &str, more: &str) -> (u16, String) {
        let address = self.http_address();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{more}\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    /// The address of the pages.
    pub fn http_address(&self) -> SocketAddr {
        SocketAddr::new(self.address(1).ip(), self.port + 1)
    }

    /// The sum of a metric over its labels; 0 where it is not there.
    pub fn metric(&self, name: &str) -> f64 {
        let (status, body) = self.http("/metrics");
        assert_eq!(status, 200, "{body}");
        let value = |line: &str| {
            let (head, value) = line.rsplit_once(' ')?;
            (head.split('{').next()? == name).then(|| value.parse::<f64>().unwrap())
        };
        body.lines().filter_map(value).sum()
    }
}

impl Drop for Federation {
    fn drop(&mut self) {
        let workers = self.sites.values_mut().map(|site| (site.name.clone(), site.worker.take()));
        let daemons: Vec<_> = workers.chain([("coordinator".to_owned(), self.coordinator.take())]).collect();
        for (name, running) in daemons {
            let Some(mut running) = running else { continue };
            if std::thread::panicking() {
                show(&name, &running.stderr());
            }
            running.signal(Signal::CONT);
            running.signal(Signal::KILL);
            running.ends_within(Duration::from_secs(10));
        }
    }
}

#[expect(clippy::print_stderr, reason = "the harness shows it with the failure")]
fn show(name: &str, log: &str) {
    let lines: Vec<&str> = log.lines().collect();
    eprintln!("--- the end of the log of {name}");
    lines[lines.len().saturating_sub(LOG_LINES)..].iter().for_each(|line| eprintln!("{line}"));
}

fn kill(running: Option<Running>) {
    if let Some(mut running) = running {
        running.signal(Signal::KILL);
        running.ended();
    }
}

#[track_caller]
fn stop(mut running: Running) {
    running.signal(Signal::TERM);
    running.ended().expect(0);
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("paths of a sandbox are UTF-8")
}
