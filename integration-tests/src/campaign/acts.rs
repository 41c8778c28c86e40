//! What administrators do: invite, revoke, save and restore. The model follows their answers alone.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{BACK_MAX, Backup, Campaign, Member, SITES, Standing};
use crate::federation::text;
use crate::sandbox::{copy, names, wait_within};

/// No older backup is kept.
const BACKUPS_MAX: usize = 4;

impl Campaign {
    /// What an administrator does before a scan.
    pub(super) fn act(&mut self) {
        let members = self.sites(Standing::Member);
        match self.dice.below(20) {
            0 | 1 => {
                if let Some(name) = self.pick(&members) {
                    self.revoke(&name);
                    self.expect_refused(&name);
                }
            }
            2 => self.race(),
            3 | 4 => self.use_the_past(),
            5..=7 => self.back_up(),
            8 => self.restore(),
            9 => self.copy_worker(),
            _ => {}
        }
        for name in SITES {
            if self.members[name].standing != Standing::Member && self.dice.below(10) < 6 {
                self.enrol(name);
            }
        }
        self.wait_back();
    }

    /// Has a site enrolled that is not a member, and starts its worker.
    pub(super) fn enrol(&mut self, name: &str) {
        self.put_state_away(name);
        let invitation = self.federation.invite(name);
        self.federation.enroll(name, &invitation).expect(0);
        self.enrolled(name, invitation);
    }

    fn enrolled(&mut self, name: &str, invitation: String) {
        self.past_invitations.push(invitation);
        self.made += 1;
        let member = Member { standing: Standing::Member, credential: self.made };
        self.members.insert(name.to_owned(), member);
        self.note(&format!("{name} is enrolled, certificate {}", member.credential));
        self.count("enrolments");
        self.federation.start(name);
    }

    /// The state of a site that is to be enrolled again counts no more.
    fn put_state_away(&mut self, name: &str) {
        self.federation.kill(name);
        let state = self.federation.site(name).state().to_owned();
        if state.is_dir() {
            let past = self.fresh("past");
            std::fs::rename(&state, &past).unwrap();
            self.past_states.push((name.to_owned(), past));
        }
    }

    /// Revokes a site.
    pub(super) fn revoke(&mut self, name: &str) {
        self.federation.operate(&["site", "revoke", name]).expect(0);
        self.note(&format!("{name} is revoked"));
        self.count("revocations");
        self.members.get_mut(name).unwrap().standing = Standing::Revoked;
        for backup in &mut self.backups {
            backup.revoked_since.insert(name.to_owned());
        }
    }

    /// The worker of a site that is no member ends, and says why.
    pub(super) fn expect_refused(&mut self, name: &str) {
        if !self.federation.site(name).has_worker() {
            return;
        }
        let mut worker = self.federation.take_worker(name);
        assert!(worker.ends_within(BACK_MAX), "the worker of {name}, which is no member, goes on: {}", worker.stderr());
        let run = worker.ended();
        let has_refused = run.code == Some(74) && self.excuses.disks.contains(name);
        let is_no_member = run.code == Some(14);
        assert!(is_no_member || has_refused, "the worker of {name} ends as one that is no member: {run:?}");
        self.check_line(&run);
    }

    /// Two machines use one invitation at the same moment.
    fn race(&mut self) {
        let outside: Vec<String> = SITES
            .iter()
            .map(|name| (*name).to_owned())
            .filter(|name| self.members[name].standing != Standing::Member)
            .collect();
        let name = match self.pick(&outside) {
            Some(name) => name,
            None => {
                let name = (*self.dice.pick(&SITES)).to_owned();
                self.revoke(&name);
                self.expect_refused(&name);
                name
            }
        };
        self.put_state_away(&name);
        let invitation = self.federation.invite(&name);
        let states = [self.fresh("race"), self.fresh("race")];
        let runs = states.each_ref().map(|state| {
            let config = self.config_with(&name, state);
            self.federation.sandbox.start(["worker", "enroll", &invitation, "--config", text(&config)])
        });
        let runs = runs.map(crate::Running::ended);
        let codes = runs.each_ref().map(|run| run.code);
        self.note(&format!("two use one invitation for {name}: {codes:?}"));
        self.count("races for an invitation");
        let winners: Vec<usize> = (0..2).filter(|number| codes[*number] == Some(0)).collect();
        assert_eq!(winners.len(), 1, "an invitation makes one certificate: {runs:?}");
        let (winner, loser) = (winners[0], 1 - winners[0]);
        assert_eq!(codes[loser], Some(14), "{:?}", runs[loser]);
        std::fs::rename(&states[winner], self.federation.site(&name).state()).unwrap();
        let _ = std::fs::remove_dir_all(&states[loser]);
        self.enrolled(&name, invitation);
    }

    /// A configuration of a site with another state.
    fn config_with(&mut self, name: &str, state: &Path) -> PathBuf {
        let site = self.federation.site(name);
        let config = std::fs::read_to_string(site.config()).unwrap();
        let config = config.replace(text(site.state()), text(state));
        let file = self.fresh("config");
        std::fs::write(&file, config).unwrap();
        file
    }

    /// Somebody tries a certificate or an invitation that does not count any more.
    fn use_the_past(&mut self) {
        if !self.past_states.is_empty() {
            let (name, state) = self.dice.pick(&self.past_states).clone();
            let config = self.config_with(&name, &state);
            self.note(&format!("a certificate of {name} that does not count is tried"));
            self.count("certificates that do not count");
            let run = self.federation.sandbox.cognate(["worker", "run", "--config", text(&config)]);
            // Without a certificate it was not even enrolled: the site was invited again before it had one.
            assert!(matches!(run.code, Some(14)), "a certificate that does not count is served: {run:?}");
            self.check_line(&run);
        }
        if !self.past_invitations.is_empty() {
            let invitation = self.dice.pick(&self.past_invitations).clone();
            let state = self.fresh("thief");
            let config = self.config_with("a", &state);
            self.count("invitations that do not count");
            let run = self.federation.sandbox.cognate(["worker", "enroll", &invitation, "--config", text(&config)]);
            assert_eq!(run.code, Some(14), "an invitation that was used counts again: {run:?}");
            self.check_line(&run);
        }
    }

    /// Saves the coordinator's state while it runs.
    pub(super) fn back_up(&mut self) {
        let folder = self.fresh("backup");
        let config = self.federation.coordinator_config();
        let members = self.members.clone();
        let words = ["coordinator", "backup", text(&folder), "--include-ca", "--config", text(&config)];
        let run = self.federation.sandbox.cognate(words);
        self.note(&format!("a backup ends with {:?}", run.code));
        if run.code != Some(0) {
            assert!(self.excuses.coordinator, "{run:?}");
            return self.check_line(&run);
        }
        self.count("backups");
        // An invitation that nobody has used yet is in the next backup, or not: it must not count after a restore either way.
        self.backups.push(Backup { folder, members, revoked_since: BTreeSet::new() });
        if self.backups.len() > BACKUPS_MAX {
            let old = self.backups.remove(0);
            let _ = std::fs::remove_dir_all(old.folder);
        }
    }

    /// The machine of the coordinator is lost; an earlier backup takes its place.
    fn restore(&mut self) {
        if self.backups.is_empty() {
            return self.back_up();
        }
        let number = self.dice.below(self.backups.len());
        // What was saved later belongs to a history that nobody goes on with.
        for later in self.backups.drain(number + 1..) {
            let _ = std::fs::remove_dir_all(later.folder);
        }
        let backup = self.backups[number].clone();
        match self.dice.below(2) {
            0 => self.federation.kill_coordinator(),
            _ => self.federation.stop_coordinator(),
        }
        let state = self.federation.coordinator_state();
        self.federation.lose_coordinator_state();
        let left = names(&state);
        let config = self.federation.coordinator_config();
        let restore = ["coordinator", "restore", text(&backup.folder), "--config", text(&config)];
        self.federation.sandbox.cognate(restore).expect(2);
        assert_eq!(names(&state), left, "without an answer nothing is restored");
        let mut words = restore.to_vec();
        match backup.revoked_since.is_empty() {
            true => words.push("--none-revoked"),
            false => backup.revoked_since.iter().for_each(|name| words.extend(["--revoked", name])),
        }
        self.federation.sandbox.cognate(words).expect(0);
        self.note(&format!("restored, with {:?} revoked since", backup.revoked_since));
        self.count("restores");
        self.is_restored = true;
        self.scans.clear();
        self.worker_copies.clear();
        self.federation.start_coordinator();
        for name in SITES {
            let member = self.members.get_mut(name).unwrap();
            let is_same = |old: &Member| old.standing == Standing::Member && old.credential == member.credential;
            let is_revoked = backup.revoked_since.contains(name);
            match member.standing {
                _ if is_revoked => member.standing = Standing::Revoked,
                Standing::Member if backup.members.get(name).is_some_and(is_same) => {}
                Standing::Member => member.standing = Standing::Forgotten,
                Standing::Revoked | Standing::Forgotten => {}
            }
            if member.standing != Standing::Member {
                self.note(&format!("{name} is no member any more"));
                self.expect_refused(name);
            }
        }
        // It now knows of a revocation that was made after it.
        self.backups[number].revoked_since = backup.revoked_since;
    }

    /// A worker with an earlier state looks like a copy, and says what to do: that is done. One that was not heard of since its
    /// state was saved goes on.
    fn expect_copy(&mut self, name: &str) {
        const REMEDY: &str = "enrol the site again";
        let mut is_refused = false;
        wait_within(BACK_MAX, &format!("{name} is attached or told of a copy"), || {
            let worker = self.federation.site_mut(name).worker();
            assert!(!worker.ends_within(Duration::ZERO), "the worker of {name} ended: {}", worker.stderr());
            is_refused = worker.stderr().contains(REMEDY);
            is_refused || worker.stderr().contains("attached protocol")
        });
        if is_refused {
            self.note(&format!("{name} looks like a copy"));
            self.count("workers that look like copies");
            self.enrol(name);
        }
    }

    /// Copies the state of a worker, or puts an earlier copy back.
    fn copy_worker(&mut self) {
        let Some(name) = self.pick(&self.sites(Standing::Member)) else { return };
        self.federation.kill(&name);
        let state = self.federation.site(&name).state().to_owned();
        let credential = self.members[&name].credential;
        match self.worker_copies.remove(&name) {
            Some((earlier, folder)) if earlier == credential => {
                std::fs::remove_dir_all(&state).unwrap();
                std::fs::rename(&folder, &state).unwrap();
                self.note(&format!("an earlier state of {name} is put back"));
                self.count("earlier states of workers");
                self.federation.start(&name);
                return self.expect_copy(&name);
            }
            _ => {
                let folder = self.fresh("copy");
                copy(&state, &folder);
                std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).unwrap();
                self.worker_copies.insert(name.clone(), (credential, folder));
            }
        }
        self.federation.start(&name);
    }
}
