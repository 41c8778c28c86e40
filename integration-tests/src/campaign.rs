//! A campaign: rounds of faults and of acts of people, at random over a federation of real processes, with a checker.
//!
//! In each round documents change, an administrator acts, a scan is launched, and while it runs processes are killed or stand still,
//! lines are cut, clocks jump, disks fill and fail. Then everything is put right, and what must hold is checked:
//! - a revocation that was answered never comes back: neither its site nor its certificate is served again;
//! - an invitation makes one certificate, and none after a restored backup;
//! - nothing is restored without an answer to who was revoked since;
//! - what each site sent is what the coordinator has; only one that was restored since has less, until the next sync under that method;
//! - a complete scan lacks no document that was there all along, and has none that never was;
//! - the digest of a scan over folders that did not change is that of a comparison of the same folders in one process;
//! - once everything is put right, the next scan is complete;
//! - a process ends only for a reason, with its exit code and one line that says why, and never in a panic.
//!
//! What a round does comes from the seed and the number of the round. When what happens meets what is cannot be drawn: real processes
//! run as fast as they like.
//!
//! A round mostly waits, so that several federations run at once: each is a lane with a seed of its own, drawn from that of the run.

mod acts;
mod checks;
mod disturb;
mod documents;
mod lanes;
mod outcome;
mod small_disk;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::clock::Clocks;
use crate::dice::Dice;
use crate::sandbox::Running;
use crate::{Federation, not_checked, tree};
use lanes::Lane;
pub use lanes::{Plan, run};
pub use outcome::{Outcome, Violation};
use small_disk::SmallDisk;

/// The sites. All are of one party.
const SITES: [&str; 4] = ["a", "b", "c", "d"];
/// Documents that a federation begins with.
const DOCUMENTS: usize = 60;
/// The options of scans under each of the methods that the campaign uses.
const METHODS: [&[&str]; 2] = [&[], &["--chunk-bytes", "80"]];
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
    /// A backup was restored since all sites synced under every method.
    is_restored: bool,
    /// Files that were changed while the scan ran.
    touched: BTreeSet<(String, PathBuf)>,
    scans: Vec<String>,
    history: Vec<String>,
    outcome: Outcome,
    made: u64,
    began: Instant,
    /// Since when the time belongs to no step of a round yet.
    marked: Instant,
    /// How often the machine had stood still when this was last asked.
    standstills: u64,
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
            is_restored: false,
            touched: BTreeSet::new(),
            scans: Vec::new(),
            history: Vec::new(),
            outcome: Outcome::default(),
            made: 0,
            began: Instant::now(),
            marked: Instant::now(),
            standstills: lanes::standstills(),
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

    /// The dice of a round come from the seed and its number, whatever happened before.
    fn begin_round(&mut self, lane: Lane, round: u64) {
        self.dice = Dice::new(lane.seed.wrapping_mul(1_000_003).wrapping_add(round));
        self.marked = Instant::now();
        self.note(&format!("--- round {round}"));
    }

    fn round(&mut self, round: u64) {
        self.excuses = Excuses::default();
        self.touched.clear();
        self.has_stood_still();
        self.change_documents();
        self.act();
        self.spent("acts of people, and sites that come back after them");
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
        self.spent("scans under disturbances");
        self.put_right();
        self.spent("putting right");
        let settled = self.check_scan(scan, &sites, &before, &options);
        self.spent("the ends of disturbed scans");
        self.wait_back();
        self.spent("sites that come back");
        if !settled {
            self.check_quiet_scan(METHODS[0]);
            self.spent("scans in peace");
        }
        self.check_members();
        if round.is_multiple_of(5) {
            self.check_records();
        }
        self.tidy();
        self.spent("checks of members and records");
    }

    fn launch(&self, sites: &[String], options: &[&str]) -> Running {
        let repositories = sites.iter().map(|name| format!("{name}/kb")).collect::<Vec<_>>().join(",");
        self.federation.begin(&Federation::launching(&repositories, options))
    }

    fn options(&mut self) -> Vec<&'static str> {
        match self.dice.below(10) {
            0..=5 => METHODS[0].to_vec(),
            6 | 7 => METHODS[1].to_vec(),
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
        *self.outcome.counts.entry(what.to_owned()).or_default() += 1;
    }

    /// Whether the machine, or all processes of the campaign, stood still since this was last asked. Sessions end then.
    fn has_stood_still(&mut self) -> bool {
        let before = std::mem::replace(&mut self.standstills, lanes::standstills());
        let has = before != self.standstills;
        if has {
            self.note("everything stood still for a while");
            self.count("standstills of the machine");
        }
        has
    }

    /// Adds the time since the last call to a step.
    fn spent(&mut self, step: &'static str) {
        *self.outcome.spent.entry(step).or_default() += self.marked.elapsed();
        self.marked = Instant::now();
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

    /// Everything that helps to understand a violation.
    fn show(&mut self, lane: Lane, round: u64) {
        let from = self.history.len().saturating_sub(80);
        lane.say(&self.history[from..]);
        self.federation.show_logs();
        if let Some(folder) = std::env::var_os("COGNATE_CAMPAIGN_KEEP") {
            let to = PathBuf::from(folder).join(format!("seed-{}-round-{round}", lane.seed));
            self.federation.kill_all();
            crate::sandbox::copy(&self.federation.sandbox.path(""), &to);
        }
    }
}
