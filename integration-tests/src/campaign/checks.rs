//! What must hold.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::documents::Documents;
use super::{BACK_MAX, Campaign, METHODS, SCAN_MAX, SITES, Standing};
use crate::canonical::comparable;
use crate::federation::text;
use crate::sandbox::{Run, Running, wait_within};

/// The exit codes that docs/operations.md names.
const CODES: [i32; 12] = [0, 1, 2, 3, 10, 11, 12, 13, 14, 15, 70, 74];

impl Campaign {
    /// Whoever fails says why in the last line, with a code that is documented.
    pub(super) fn check_line(&self, run: &Run) {
        let code = run.code.unwrap_or_else(|| panic!("a signal ended it: {run:?}"));
        assert!(CODES.contains(&code) && code != 70, "an exit code that is not for this: {run:?}");
        let last = run.stderr.lines().last().unwrap_or_default();
        assert!(code == 0 || last.starts_with("cognate: "), "the last line says why: {run:?}");
    }

    /// A daemon that ended by itself had a reason.
    pub(super) fn check_end(&mut self, who: &str, run: &Run, was_asked: bool) {
        let has_point = who == "coordinator" && self.excuses.points;
        self.note(&format!("{who} has ended with {:?}", run.code.or(run.signal)));
        match run.code {
            Some(0) if was_asked => {}
            Some(74) if self.excuses.disks.contains(who) => self.check_line(run),
            Some(14) if self.members.get(who).is_some_and(|member| member.standing != Standing::Member) => {
                self.check_line(run);
            }
            None if has_point && run.signal == Some(6) => {}
            _ => panic!("{who} ended without a reason that it could have: {run:?}"),
        }
        self.count(&format!("ends with {:?}", run.code.or(run.signal).unwrap_or_default()));
    }

    /// Checks what a disturbed scan says; true if it is the whole truth about folders that did not change.
    pub(super) fn check_scan(
        &mut self,
        mut scan: Running,
        sites: &[String],
        before: &Documents,
        options: &[&str],
    ) -> bool {
        assert!(scan.ends_within(SCAN_MAX), "the scan hangs: {}", scan.stderr());
        let run = scan.ended();
        if self.has_stood_still() {
            self.excuses.coordinator = true;
        }
        self.note(&format!("the scan ends with {:?}", run.code));
        self.count(&format!("scans that end with {:?}", run.code.unwrap_or(-1)));
        if !matches!(run.code, Some(0 | 3)) {
            self.check_line(&run);
            self.note(run.stderr.lines().last().unwrap_or_default());
            let is_excused = self.excuses.coordinator || self.excuses.clocks || !self.excuses.disks.is_empty();
            let all_missing = sites.iter().all(|site| self.excuses.sites.contains(site));
            assert!(is_excused || all_missing, "nothing happened that a scan could fail for: {run:?}");
            return false;
        }
        let report = run.json();
        let id = report["scan"]["id"].as_str().unwrap().to_owned();
        self.scans.push(id.clone());
        let missing: BTreeSet<&str> =
            report["scan"]["missing"].as_array().into_iter().flatten().filter_map(|row| row["site"].as_str()).collect();
        for site in &missing {
            let is_excused = self.excuses.sites.contains(*site) || self.excuses.coordinator;
            assert!(is_excused, "{site} is missing, and nothing happened to it: {}", report["scan"]["missing"]);
        }
        let is_complete = report["scan"]["status"] == "complete";
        assert_eq!(is_complete, missing.is_empty(), "{}", report["scan"]);
        self.check_documents(&id, sites, &missing, before);
        if !is_complete {
            self.note(&format!("without {missing:?}"));
            self.count("scans without a site");
            return false;
        }
        self.count("complete scans");
        // A site that went away before its documents were measured is named, with the reason; so are documents that changed.
        let unmeasured: Vec<&Value> = report["scan"]["fine"]["incomplete"].as_array().into_iter().flatten().collect();
        for row in &unmeasured {
            let site = row["site"].as_str().unwrap_or_default();
            let has_changed = row["changed_contents"].as_u64().is_some_and(|count| count > 0)
                && self.touched.iter().any(|(touched, _)| touched == site);
            let is_excused = self.excuses.coordinator || self.excuses.sites.contains(site) || has_changed;
            assert!(is_excused && row["refused"] == false, "{row} is not measured, and nothing happened to it");
        }
        // As are documents that were gone when they were to be read.
        let is_unread = |row: &&Value| row["unreadable"].as_u64().is_some_and(|count| count > 0);
        let unread: Vec<&Value> = report["sites"].as_array().into_iter().flatten().filter(is_unread).collect();
        for row in &unread {
            assert!(self.touched.iter().any(|(site, _)| row["site"] == **site), "{row} has unread documents: {run:?}");
        }
        assert_eq!(unmeasured.is_empty() && unread.is_empty(), run.code == Some(0), "{run:?}");
        if !self.touched.is_empty() || !unmeasured.is_empty() {
            return false;
        }
        let expected = self.federation.expected_of(sites, options);
        assert_eq!(comparable(&report), comparable(&expected), "a scan differs from a comparison of the same folders");
        true
    }

    /// Nothing that was there all along is missing at a site that took part, and nothing is there that never was.
    fn check_documents(&mut self, id: &str, sites: &[String], missing: &BTreeSet<&str>, before: &Documents) {
        let rows = self.federation.operate(&["report", id, "--documents", "--format", "ndjson"]);
        if rows.code != Some(0) {
            // A disturbance may still go on; the report itself was read, so the quiet scan says the rest.
            return self.check_line(&rows);
        }
        let path = |row: &Value, name: &str| row[name].as_str().map(PathBuf::from);
        let listed: BTreeSet<(String, PathBuf, u64)> = rows
            .lines()
            .iter()
            .filter_map(|row| Some((row["site"].as_str()?.to_owned(), path(row, "path")?, row["size_bytes"].as_u64()?)))
            .collect();
        let after = self.documents(sites);
        for ((site, path), bytes) in before {
            let key = (site.clone(), path.clone());
            if missing.contains(site.as_str()) || self.touched.contains(&key) {
                continue;
            }
            let wanted = (site.clone(), path.clone(), bytes.len() as u64);
            assert!(listed.contains(&wanted), "a scan lacks {wanted:?}, which was there all along");
        }
        for (site, path, size) in &listed {
            let key = (site.clone(), path.clone());
            let is_known = |documents: &Documents| documents.get(&key).is_some_and(|bytes| bytes.len() as u64 == *size);
            let is_there = is_known(before) || is_known(&after) || self.touched.contains(&key);
            assert!(is_there, "a scan has {site}:{} of {size} bytes, which was not there", path.display());
        }
    }

    /// With everything in order, a scan is complete and says what a comparison says.
    pub(super) fn check_quiet_scan(&mut self, options: &[&str]) {
        let sites = self.sites(Standing::Member);
        if sites.is_empty() {
            return;
        }
        self.federation.sandbox.settle();
        self.has_stood_still();
        let run = loop {
            let mut scan = self.launch(&sites, options);
            assert!(scan.ends_within(SCAN_MAX), "a scan in peace hangs: {}", scan.stderr());
            let run = scan.ended();
            // That was no peace.
            if run.code == Some(0) || !self.has_stood_still() {
                break run;
            }
            self.wait_back();
        };
        assert_eq!(run.code, Some(0), "a scan in peace is not complete: {run:?}");
        let report = run.report();
        self.note("a scan in peace is complete");
        self.count("scans in peace");
        self.scans.push(report["scan"]["id"].as_str().unwrap().to_owned());
        let expected = self.federation.expected_of(&sites, options);
        assert_eq!(comparable(&report), comparable(&expected), "a scan in peace differs from a comparison");
    }

    /// The registry is what was answered, and who is a member is attached, or soon again.
    pub(super) fn check_members(&mut self) {
        wait_within(BACK_MAX, "all members are attached", || {
            let rows = self.federation.members();
            SITES.iter().all(|name| {
                let row = rows.iter().find(|row| row["name"] == **name).cloned().unwrap_or_default();
                let is_attached = row["attached"] == true;
                match self.members[*name].standing {
                    Standing::Member => assert_eq!(row["status"], "active", "{row}"),
                    Standing::Revoked => assert!(row["status"] == "revoked" && !is_attached, "{row}"),
                    Standing::Forgotten => assert!(!is_attached, "{row}"),
                }
                is_attached == (self.members[*name].standing == Standing::Member)
            })
        });
    }

    /// What each site sent is what the coordinator has; after a sync under every method, all of it.
    fn check_ledgers(&mut self) {
        let mut behind = 0;
        for name in self.sites(Standing::Member) {
            let run = self.verified(&name);
            let text = run.text();
            // A worker that was enrolled again has sent nothing of what the one before it sent, until it syncs under that method.
            let columns = |line: &str| -> Vec<u64> {
                line.split_whitespace().skip(3).filter_map(|word| word.parse().ok()).collect()
            };
            let is_known = |line: &str| matches!(columns(line)[..], [0, ..]);
            let different: Vec<&str> = text.lines().filter(|line| line.ends_with(" DIFFERS")).collect();
            assert!(different.iter().all(|line| is_known(line)), "{run:?}");
            // Only a coordinator that was restored since has an earlier state.
            let earlier = text.lines().filter(|line| line.ends_with(" behind")).count();
            assert!(earlier == 0 || self.is_restored, "the coordinator has lost what it acknowledged: {run:?}");
            let code = if !different.is_empty() {
                1
            } else if earlier > 0 {
                3
            } else {
                0
            };
            assert_eq!(run.code, Some(code), "{run:?}");
            behind += earlier;
        }
        if behind > 0 {
            self.note(&format!("{behind} indexes are behind after a restored backup"));
            self.count("restored coordinators that have an earlier state");
        }
        for options in METHODS {
            self.check_quiet_scan(options);
        }
        self.is_restored = false;
        for name in self.sites(Standing::Member) {
            let run = self.verified(&name).expect(0);
            let rows: Vec<&str> = run.text().lines().filter(|line| line.trim_start().starts_with("kb ")).collect();
            let all_agree = rows.iter().all(|line| line.ends_with(" same"));
            assert!(
                all_agree && rows.len() >= METHODS.len(),
                "both ends agree after a scan under each method: {run:?}"
            );
        }
    }

    /// The comparison of a site's ledger with the coordinator's counts. A connection that the network has forgotten shows only when it is
    /// used, so the daemon may have to connect again first.
    fn verified(&self, name: &str) -> Run {
        let mut verified = None;
        wait_within(BACK_MAX, &format!("{name} asks the coordinator"), || {
            let run = self.federation.worker(name, &["ledger", "verify", "--coordinator"]);
            let is_cut_off = run.stderr.contains("the session with the coordinator failed")
                || run.stderr.contains("not attached to the coordinator");
            verified = Some(run);
            !is_cut_off
        });
        verified.expect("it was asked")
    }

    /// The records at both ends are whole.
    pub(super) fn check_records(&mut self) {
        self.check_ledgers();
        let mut coordinator = self.federation.take_coordinator();
        coordinator.signal(rustix::process::Signal::TERM);
        assert!(coordinator.ends_within(Duration::from_secs(40)), "the coordinator does not stop");
        coordinator.ended().expect(0);
        let config = self.federation.coordinator_config();
        let check = ["coordinator", "check", "--read-data", "--config", text(&config)];
        self.federation.sandbox.cognate(check).expect(0);
        self.federation.start_coordinator();
        self.count("checks of all records");
        // Asked to come back later, they would wait for half a minute.
        for name in self.sites(Standing::Member) {
            self.federation.kill(&name);
            self.federation.start(&name);
        }
        self.wait_back();
    }
}
