//! What happens while a scan runs.

use std::time::Duration;

use rustix::process::Signal;

use super::{Campaign, SITES, Standing};
use crate::proxy::{Way, Weather};
use crate::sandbox::{Run, Running, wait_until};

const COORDINATOR: &str = "coordinator";
/// Files of a coordinator whose calls fail, as `DISK_FAULTS` names them.
const COORDINATOR_FILES: [&str; 7] = [
    "coordinator/journal",
    "coordinator/journal.head",
    "coordinator/indexes/*",
    "coordinator/store/*",
    "coordinator/scans/*",
    "coordinator/scans/*result*",
    "coordinator/*",
];
/// Those of a worker.
const WORKER_FILES: [&str; 5] = ["ledger", "*sent*", "*lists*", "*cache*", "*"];
/// Points at which a coordinator ends.
const POINTS: [&str; 12] = [
    "ingest.before_write",
    "ingest.after_write",
    "ingest.after_seg_fsync",
    "ingest.before_commit",
    "ingest.before_ack",
    "seal.before_slot",
    "seal.after_slot",
    "journal.before_head",
    "journal.after_append",
    "scan.after_frozen",
    "publish.before_rename",
    "publish.after_rename",
];

impl Campaign {
    /// One disturbance, which is over when this returns, but for what `put_right` puts right.
    pub(super) fn disturb(&mut self, scan: &mut Running) {
        let site = (*self.dice.pick(&SITES)).to_owned();
        match self.dice.below(24) {
            0..=2 => self.kill_coordinator(scan),
            3..=5 => self.kill_worker(&site, scan),
            6 => self.kill_all(scan),
            7 | 8 => self.pause(&site, scan),
            9..=12 => self.line(&site, scan),
            13 | 14 => self.move_clock(&site, scan),
            15 | 16 => self.fail_disk(&site, scan),
            17 => self.fill_disk(scan),
            18 | 19 => self.change_meanwhile(&site),
            20 => self.revoke_meanwhile(&site),
            21 => self.back_up_meanwhile(),
            22 => self.drain(scan),
            _ => self.end_at_a_point(scan),
        }
    }

    fn told(&mut self, what: &str, count: &str) {
        self.note(what);
        self.count(count);
    }

    /// Lets time pass, or the scan end.
    fn pass(&mut self, scan: &mut Running, milliseconds_max: usize) {
        let milliseconds = self.dice.between(0, milliseconds_max) as u64;
        scan.ends_within(Duration::from_millis(milliseconds));
    }

    fn kill_coordinator(&mut self, scan: &mut Running) {
        self.told("the coordinator is killed", "kills of the coordinator");
        self.excuses.coordinator = true;
        self.survey(COORDINATOR);
        self.federation.kill_coordinator();
        self.pass(scan, 1500);
        self.federation.start_coordinator();
    }

    fn kill_worker(&mut self, site: &str, scan: &mut Running) {
        self.told(&format!("{site} is killed"), "kills of a worker");
        self.excuses.sites.insert(site.to_owned());
        self.survey(site);
        self.federation.kill(site);
        self.pass(scan, 1500);
        self.start_worker(site);
    }

    fn start_worker(&mut self, site: &str) {
        if self.members[site].standing == Standing::Member {
            self.federation.start(site);
        }
    }

    fn kill_all(&mut self, scan: &mut Running) {
        self.told("all are killed", "kills of all");
        self.excuses.coordinator = true;
        for name in SITES {
            self.survey(name);
            self.federation.kill(name);
        }
        self.kill_coordinator(scan);
        for name in SITES {
            self.start_worker(name);
        }
    }

    fn pause(&mut self, site: &str, scan: &mut Running) {
        let who = if self.dice.below(3) == 0 { COORDINATOR } else { site };
        self.told(&format!("{who} stands still"), "pauses");
        self.excuse(who);
        self.signal(who, Signal::STOP);
        self.pass(scan, 5000);
        self.signal(who, Signal::CONT);
    }

    fn excuse(&mut self, who: &str) {
        match who {
            COORDINATOR => self.excuses.coordinator = true,
            site => drop(self.excuses.sites.insert(site.to_owned())),
        }
    }

    fn signal(&mut self, who: &str, signal: Signal) {
        if who == COORDINATOR {
            if self.federation.has_coordinator() {
                self.federation.coordinator().signal(signal);
            }
        } else if self.federation.site(who).has_worker() {
            self.federation.site_mut(who).worker().signal(signal);
        }
    }

    fn line(&mut self, site: &str, scan: &mut Running) {
        self.excuses.sites.insert(site.to_owned());
        let calm = Weather::default();
        let (what, weather) = match self.dice.below(9) {
            0 => ("cut", calm),
            1 => ("silent up", Weather { silent_up: true, ..calm }),
            2 => ("silent down", Weather { silent_down: true, ..calm }),
            3 => ("silent", Weather { silent_up: true, silent_down: true, ..calm }),
            4 => ("refused", Weather { refuse: true, ..calm }),
            5 => ("slow", Weather { latency: Duration::from_millis(80), jitter: Duration::from_millis(60), ..calm }),
            6 => ("in slices", Weather { slice_bytes: Some(100), ..calm }),
            7 => ("cut at a byte", calm),
            // It takes a minute to notice.
            _ if self.dice.below(6) == 0 => ("forgotten", calm),
            _ => ("cut", calm),
        };
        self.told(&format!("the line of {site} is {what}"), &format!("lines: {what}"));
        let bytes = self.dice.between(100, 20_000) as u64;
        let way = if self.dice.below(2) == 0 { Way::Up } else { Way::Down };
        let line = self.federation.site(site).line();
        line.set(weather);
        match what {
            "cut" | "refused" => line.cut(),
            "cut at a byte" => {
                line.cut_after(way, [bytes]);
                line.cut();
            }
            "forgotten" => line.lose(),
            _ => {}
        }
        self.pass(scan, 3000);
    }

    fn move_clock(&mut self, site: &str, scan: &mut Running) {
        const MINUTE: i64 = 60;
        let who = if self.dice.below(2) == 0 { COORDINATOR } else { site };
        let minutes = [5, 55, 300, 60 * 24 * 5][self.dice.below(4)];
        let seconds = if self.dice.below(2) == 0 { minutes * MINUTE } else { -minutes * MINUTE };
        let Some(clocks) = self.federation.clocks() else { return };
        clocks.set(who, seconds);
        self.told(&format!("the clock of {who} is set to {seconds:+} s"), "clocks that jump");
        self.excuses.clocks = true;
        self.excuse(who);
        self.pass(scan, 4000);
    }

    fn fail_disk(&mut self, site: &str, scan: &mut Running) {
        let who = if self.dice.below(2) == 0 { COORDINATOR } else { site };
        let files = match who {
            COORDINATOR => (*self.dice.pick(&COORDINATOR_FILES)).to_owned(),
            site => format!("worker-{site}/{}", self.dice.pick(&WORKER_FILES)),
        };
        let operation = *self.dice.pick(&["write", "write", "sync", "create", "rename"]);
        let error = *self.dice.pick(&["ENOSPC", "EIO", "EDQUOT"]);
        let number = self.dice.between(1, 20);
        let more = if self.dice.below(3) == 0 { "+" } else { "" };
        let fault = format!("{operation}:*/{files}:{number}{more}:{error}");
        self.told(&format!("the disk of {who} fails: {fault}"), "failures of a disk");
        self.excuse(who);
        self.excuses.disks.insert(who.to_owned());
        self.survey(who);
        let points = format!("disk={fault}");
        if who == COORDINATOR {
            self.federation.kill_coordinator();
            self.federation.start_coordinator_failing(&points);
        } else {
            self.federation.kill(site);
            if self.members[site].standing == Standing::Member {
                self.federation.start_failing(site, &points);
            }
        }
        self.pass(scan, 4000);
    }

    fn fill_disk(&mut self, scan: &mut Running) {
        let Some(disk) = &self.disk else { return };
        disk.fill();
        self.told("the disk of the coordinator is full", "full disks");
        self.excuses.coordinator = true;
        self.excuses.disks.insert(COORDINATOR.to_owned());
        self.pass(scan, 3000);
        self.disk.as_ref().unwrap().empty();
    }

    fn change_meanwhile(&mut self, site: &str) {
        let times = self.dice.between(1, 4);
        self.told(&format!("{times} documents of {site} change"), "changes during a scan");
        for _ in 0..times {
            self.change_document(site);
        }
    }

    fn revoke_meanwhile(&mut self, site: &str) {
        if self.members[site].standing == Standing::Member && self.is_well() {
            self.excuses.sites.insert(site.to_owned());
            self.revoke(site);
        }
    }

    fn back_up_meanwhile(&mut self) {
        if self.is_well() {
            self.back_up();
        }
    }

    /// True if the coordinator answers calls: nothing that is still in force keeps it from that.
    fn is_well(&mut self) -> bool {
        !self.excuses.disks.contains(COORDINATOR) && !self.excuses.clocks && self.federation.has_coordinator()
    }

    fn drain(&mut self, scan: &mut Running) {
        self.told("the coordinator is stopped", "stops of the coordinator");
        self.excuses.coordinator = true;
        self.survey(COORDINATOR);
        if !self.federation.has_coordinator() {
            return self.federation.start_coordinator();
        }
        self.signal(COORDINATOR, Signal::TERM);
        let mut coordinator = self.federation.take_coordinator();
        assert!(coordinator.ends_within(Duration::from_secs(40)), "the coordinator does not stop");
        let run = coordinator.ended();
        self.check_end(COORDINATOR, &run, true);
        self.pass(scan, 1000);
        self.federation.start_coordinator();
    }

    fn end_at_a_point(&mut self, scan: &mut Running) {
        let point = *self.dice.pick(&POINTS);
        let after = self.dice.below(4);
        self.told(&format!("the coordinator ends at {point}, time {after}"), "ends at a point");
        self.excuses.coordinator = true;
        self.survey(COORDINATOR);
        self.federation.kill_coordinator();
        self.excuses.points = true;
        let points = if after == 0 { format!("{point}=return") } else { format!("{point}={after}*off->return") };
        self.federation.start_coordinator_failing(&points);
        self.pass(scan, 4000);
        self.survey(COORDINATOR);
        self.federation.kill_coordinator();
        self.federation.start_coordinator();
    }

    /// Ends every disturbance that is still in force.
    pub(super) fn put_right(&mut self) {
        self.note("everything is put right");
        if let Some(disk) = &self.disk {
            disk.empty();
        }
        if let Some(clocks) = self.federation.clocks() {
            SITES.iter().chain([&COORDINATOR]).for_each(|name| clocks.set(name, 0));
        }
        self.signal(COORDINATOR, Signal::CONT);
        self.survey(COORDINATOR);
        if !self.federation.has_coordinator() || self.excuses.disks.contains(COORDINATOR) {
            self.federation.kill_coordinator();
            self.federation.start_coordinator();
        }
        if self.excuses.clocks {
            // It follows within a second, and until then nobody may believe its certificate.
            wait_until("the coordinator has the right time", || {
                self.federation.operate(&["site", "list"]).code == Some(0)
            });
        }
        for name in SITES {
            self.federation.site(name).line().heal();
            self.signal(name, Signal::CONT);
            if !self.federation.site(name).has_worker() {
                self.start_worker(name);
                continue;
            }
            if self.members[name].standing != Standing::Member {
                self.expect_refused(name);
                continue;
            }
            self.survey(name);
            if !self.federation.site(name).has_worker() || self.excuses.disks.contains(name) {
                self.federation.kill(name);
                self.federation.start(name);
            }
        }
    }

    /// Looks at a process that may have ended by itself, before somebody takes it away.
    fn survey(&mut self, who: &str) {
        let has_ended = match who {
            COORDINATOR => {
                self.federation.has_coordinator() && self.federation.coordinator().ends_within(Duration::ZERO)
            }
            site => {
                self.federation.site(site).has_worker()
                    && self.federation.site_mut(site).worker().ends_within(Duration::ZERO)
            }
        };
        if has_ended {
            let run: Run = match who {
                COORDINATOR => self.federation.take_coordinator().ended(),
                site => self.federation.take_worker(site).ended(),
            };
            self.check_end(who, &run, false);
        }
    }
}
