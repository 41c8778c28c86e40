//! A campaign: rounds of faults and of acts of people, at random over a federation of real processes, with a checker.
//!
//! In each round documents change, an administrator acts, a scan is launched, and while it runs processes are killed or stand still,
//! lines are cut, clocks jump, disks fill and fail. Then everything is put right, and what must hold is checked:
//! - a revocation that was answered never comes back: neither its site nor its certificate is served again;
//! - an invitation makes one certificate, and none after a restored backup;
//! - nothing is restored without an answer to who was revoked since;
//! - a complete scan lacks no document that was there all along, and has none that never was;
//! - the digest of a scan over folders that did not change is that of a comparison of the same folders in one process;
//! - once everything is put right, the next scan is complete;
//! - a process ends only for a reason, with its exit code and one line that says why, and never in a panic.
//!
//! What a round does comes from the seed and the number of the round. When what happens meets what is cannot be drawn: real processes
//! run as fast as they like.

mod acts;
mod checks;
mod disturb;
mod documents;
mod small_disk;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::clock::Clocks;
use crate::dice::Dice;
use crate::sandbox::Running;
use crate::{Federation, not_checked, tree};
use small_disk::SmallDisk;

/// The sites. All are of one party.
const SITES: [&str; 4] = ["a", "b", "c", "d"];
/// Documents that a federation begins with.
const DOCUMENTS: usize = 60;
/// A scan that takes longer hangs, whatever was done to it.
const SCAN_MAX: Duration = Duration::from_secs(240);
/// Sites are attached again within this time of the last fault: their waits grow to two minutes.
const BACK_MAX: Duration = Duration::from_secs(150);

/// The state of a site, by what the coordinator answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Standing {
    /// It has a certificate that counts.
    Member,
    /// It was revoked, and not invited since.
    Revoked,
    /// Its certificate is unknown to a registry that was restored.
    Forgotten,
}

/// A site, as the answers say.
#[derive(Clone, Copy, Debug)]
struct Member {
    standing: Standing,
    /// The number of its certificate: each enrolment has the next one.
    credential: u64,
}

/// A backup, and what was known when it was asked for.
#[derive(Clone, Debug)]
struct Backup {
    folder: PathBuf,
    members: BTreeMap<String, Member>,
    /// Sites that were revoked since.
    revoked_since: BTreeSet<String>,
}

/// Ends of processes and scans that the faults in force allow.
#[derive(Clone, Default, Debug)]
struct Excuses {
    /// These processes may end because of their disk.
    disks: BTreeSet<String>,
    /// These sites may be missing in the scan.
    sites: BTreeSet<String>,
    /// The coordinator was disturbed: any site may be missing, and the scan may have failed if it says why.
    coordinator: bool,
    /// The clock of some process was wrong.
    clocks: bool,
    /// The coordinator was to end at a point.
    points: bool,
}

/// A federation under attack.
struct Campaign {
    federation: Federation,
    dice: Dice,
    disk: Option<SmallDisk>,
    members: BTreeMap<String, Member>,
    backups: Vec<Backup>,
    /// Folders of states whose certificates must never count again, with the names of their sites.
    past_states: Vec<(String, PathBuf)>,
    /// Invitations that must never count again.
    past_invitations: Vec<String>,
    /// A copy of the state of a worker, with the number of its certificate.
    worker_copies: BTreeMap<String, (u64, PathBuf)>,
    excuses: Excuses,
    /// Files that were changed while the scan ran.
    touched: BTreeSet<(String, PathBuf)>,
    scans: Vec<String>,
    history: Vec<String>,
    counts: BTreeMap<String, u64>,
    made: u64,
    began: Instant,
}

/// The outcome of a campaign.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What was done and found, with how often.
    pub counts: BTreeMap<String, u64>,
    /// What does not hold: the round, and the sentence.
    pub violations: Vec<(u64, String)>,
}

/// Runs rounds from `first` on. After a violation the next round has a federation of its own. `is_told` prints every act.
pub fn run(seed: u64, first: u64, rounds: u64, is_told: bool) -> Outcome {
    let mut outcome = Outcome::default();
    let mut campaign = None;
    for round in first..first + rounds {
        let mut now = campaign.take().unwrap_or_else(|| Campaign::begin(seed.wrapping_add(round)));
        now.dice = Dice::new(seed.wrapping_mul(1_000_003).wrapping_add(round));
        let told = now.history.len();
        now.note(&format!("--- round {round} of seed {seed}"));
        let done = catch_unwind(AssertUnwindSafe(|| now.round(round)));
        if is_told {
            now.history[told..].iter().for_each(|line| say(line));
        }
        if let Err(panic) = done {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default();
            now.show(round, &text);
            outcome.violations.push((round, text));
            add(&mut outcome.counts, &now.counts);
        } else {
            campaign = Some(now);
        }
    }
    if let Some(last) = campaign {
        add(&mut outcome.counts, &last.counts);
    }
    outcome
}

fn add(to: &mut BTreeMap<String, u64>, counts: &BTreeMap<String, u64>) {
    counts.iter().for_each(|(name, count)| *to.entry(name.clone()).or_default() += count);
}

fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

impl Campaign {
    fn begin(seed: u64) -> Campaign {
        let mut federation = Federation::prepared(seed);
        let disk = SmallDisk::mount(&federation.coordinator_state());
        match disk {
            Some(_) => federation.add_config("disk_reserve = \"2MiB\"\n"),
            None => not_checked("a campaign with a full disk: only root may mount a small one"),
        }
        match Clocks::new(&federation.sandbox.path("")) {
            Some(clocks) => federation.set_clocks(clocks),
            None => not_checked("a campaign with clocks that jump: libfaketime is not installed"),
        }
        let mut campaign = Campaign {
            dice: Dice::new(seed),
            disk,
            members: BTreeMap::new(),
            backups: Vec::new(),
            past_states: Vec::new(),
            past_invitations: Vec::new(),
            worker_copies: BTreeMap::new(),
            excuses: Excuses::default(),
            touched: BTreeSet::new(),
            scans: Vec::new(),
            history: Vec::new(),
            counts: BTreeMap::new(),
            made: 0,
            began: Instant::now(),
            federation,
        };
        campaign.federation.init();
        campaign.federation.start_coordinator();
        let trees = tree::varied(&mut campaign.dice, SITES.len(), DOCUMENTS);
        for (name, files) in SITES.iter().zip(&trees) {
            // So slow that something can happen while it reads.
            let policy = "[policy]\nread_bytes_per_second = \"400KB\"\n";
            campaign.federation.prepare_site(name, None, files, policy);
            campaign.enrol(name);
        }
        campaign
    }

    fn round(&mut self, round: u64) {
        self.excuses = Excuses::default();
        self.touched.clear();
        self.change_documents();
        self.act();
        let sites = self.sites(Standing::Member);
        if sites.is_empty() {
            return self.check_members();
        }
        let before = self.documents(&sites);
        let options = self.options();
        self.note(&format!("a scan of {} {options:?}", sites.join(" ")));
        let mut scan = self.launch(&sites, &options);
        for _ in 0..self.dice.between(1, 3) {
            let moment = self.dice.between(0, 1500) as u64;
            scan.ends_within(Duration::from_millis(moment));
            self.disturb(&mut scan);
        }
        self.put_right();
        let settled = self.check_scan(scan, &sites, &before, &options);
        self.wait_back();
        if !settled {
            self.check_quiet_scan();
        }
        self.check_members();
        if round.is_multiple_of(5) {
            self.check_records();
        }
        self.tidy();
    }

    fn launch(&self, sites: &[String], options: &[&str]) -> Running {
        let repositories = sites.iter().map(|name| format!("{name}/kb")).collect::<Vec<_>>().join(",");
        self.federation.begin(&Federation::launching(&repositories, options))
    }

    fn options(&mut self) -> Vec<&'static str> {
        match self.dice.below(10) {
            0..=5 => vec![],
            6 | 7 => vec!["--chunk-bytes", "80"],
            8 => vec!["--precision", "coarse"],
            _ => vec!["--min-containment", "0.9"],
        }
    }

    /// The sites of this standing.
    fn sites(&self, standing: Standing) -> Vec<String> {
        let wanted = self.members.iter().filter(|(_, member)| member.standing == standing);
        wanted.map(|(name, _)| name.clone()).collect()
    }

    fn pick(&mut self, from: &[String]) -> Option<String> {
        if from.is_empty() { None } else { Some(self.dice.pick(from).clone()) }
    }

    /// A path in the sandbox that was not there before.
    fn fresh(&mut self, what: &str) -> PathBuf {
        self.made += 1;
        self.federation.sandbox.path(format!("{what}-{}", self.made))
    }

    /// Writes into the history.
    fn note(&mut self, what: &str) {
        self.history.push(format!("{:8.2} {what}", self.began.elapsed().as_secs_f64()));
    }

    /// Counts what was done or found.
    fn count(&mut self, what: &str) {
        *self.counts.entry(what.to_owned()).or_default() += 1;
    }

    /// Deletes what the next rounds need no more.
    fn tidy(&mut self) {
        while self.scans.len() > 2 {
            let scan = self.scans.remove(0);
            // It may be gone with a state that was replaced.
            self.federation.operate(&["scan", "delete", &scan]);
        }
        while self.past_states.len() > 12 {
            let (_, folder) = self.past_states.remove(0);
            let _ = std::fs::remove_dir_all(folder);
        }
        if self.past_invitations.len() > 6 {
            self.past_invitations.remove(0);
        }
        self.federation.sandbox.forget_output();
    }

    fn show(&mut self, round: u64, violation: &str) {
        say(&format!("VIOLATION in round {round}: {violation}\n--- the history"));
        let from = self.history.len().saturating_sub(80);
        self.history[from..].iter().for_each(|line| say(line));
        self.federation.show_logs();
        if let Some(folder) = std::env::var_os("COGNATE_CAMPAIGN_KEEP") {
            let to = PathBuf::from(folder).join(format!("round-{round}"));
            self.federation.kill_all();
            crate::sandbox::copy(&self.federation.sandbox.path(""), &to);
        }
    }
}
