//! The first step of a scan: every repository's index is brought up to date, however often its site comes and goes.
//!
//! An attached site gets its assignment at once, other sites when they attach again. Earlier batches stay, so that
//! nothing is read or sent twice.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cognate_fingerprint::{Key, KeyFingerprint};
use cognate_proto::name::{RepositoryName, SiteName};
use cognate_proto::options::ScanView;
use cognate_proto::v1::{self, SyncProgress, SyncSummary};
use tokio::sync::mpsc;
use tokio::time::Instant;

use cognate_analysis::refine::Choices;
use cognate_analysis::spec::ScanSpec;
use cognate_storage::clock::random_number;

use super::{REVOKED, RepositoryProgress, Scan, Scans};
use crate::agreement::{Claims, Standing};
use crate::error::Error;
use crate::session::{Agreement, Event, Outcome, SealedIndex, Wanted, other_method};

/// The longest time for which a scan waits for a site, whatever was requested: the clock has a limited range.
pub(super) const DEADLINE_MAX: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// The outcome of the syncs of a scan, in the order of its repositories: an index for each layer, or the reason for
/// having fewer.
pub(super) struct Synced {
    pub(super) repositories: Vec<Result<Vec<(SealedIndex, SyncSummary)>, String>>,
    /// True if the sites fingerprinted with a key.
    pub(super) keyed: bool,
    /// The fingerprint of the key of all sites that took part, if they have one.
    pub(super) key: Option<KeyFingerprint>,
}

/// One repository under one layer, and its progress.
struct Target {
    site: SiteName,
    repository: RepositoryName,
    /// The places of both in the specification.
    place: usize,
    layer: usize,
    key: Option<KeyFingerprint>,
    state: State,
    progress: RepositoryProgress,
    /// The bytes of its sessions that ended before the sync did.
    interrupted: InterruptedBytes,
}

/// Bytes of sessions that ended early.
#[derive(Clone, Copy, Default)]
struct InterruptedBytes {
    read: u64,
    sent: u64,
}

#[expect(clippy::large_enum_variant, reason = "a running scan has one for each repository")]
enum State {
    /// The site is not there, or does not offer the repository.
    Waiting,
    Assigned(u64),
    Ended(Result<(SealedIndex, SyncSummary), String>),
}

impl Target {
    /// Keeps the bytes of a session that has ended early, and waits for the next one.
    fn interrupt(&mut self) {
        self.interrupted = InterruptedBytes { read: self.progress.read_bytes, sent: self.progress.sent_bytes };
        self.state = State::Waiting;
    }
}

impl InterruptedBytes {
    fn added_to(self, summary: SyncSummary) -> SyncSummary {
        SyncSummary {
            read_bytes: summary.read_bytes.saturating_add(self.read),
            sent_bytes: summary.sent_bytes.saturating_add(self.sent),
            ..summary
        }
    }
}

/// The syncs of one scan in progress. Open assignments are taken back when it is dropped.
struct Syncing<'a> {
    scans: &'a Scans,
    scan: &'a Scan,
    /// The scope of the sync: the complete repository, or the part that is read again.
    spec: &'a ScanSpec,
    choices: &'a Choices,
    targets: Vec<Target>,
    across_parties: bool,
    keys: Claims<KeyFingerprint>,
    /// One for each layer: their methods differ.
    agreements: Vec<Agreement>,
    events: mpsc::UnboundedSender<Event>,
}

impl Scans {
    /// Syncs every repository of a scan, until the deadline at most.
    pub(super) async fn sync_all(
        &self,
        scan: &Scan,
        spec: &ScanSpec,
        choices: &Choices,
        started: i64,
    ) -> Result<Synced, Error> {
        let (events, mut heard) = mpsc::unbounded_channel();
        let mut syncing = Syncing::new(self, (scan, spec), choices, events)?;
        let deadline = self.deadline(scan, started);
        let mut changes = self.sessions.changes();
        let mut membership = self.members.changes();
        loop {
            // Marked as seen before the check, so that a site that attaches or is revoked meanwhile is not missed.
            changes.borrow_and_update();
            membership.borrow_and_update();
            syncing.assign_waiting()?;
            if syncing.is_over() {
                break;
            }
            tokio::select! {
                heard = syncing.hear(&mut heard) => heard?,
                // The senders live as long as the sessions and the registry do.
                _ = changes.changed() => {}
                // A site that is away when it is revoked changes no session.
                _ = membership.changed() => {}
                () = until(deadline) => break,
                () = scan.stopped() => return Err(Error::Cancelled),
            }
        }
        syncing.finish()
    }

    /// The time from which the scan continues without missing sites. A restart does not put it off.
    fn deadline(&self, scan: &Scan, started: i64) -> Option<Instant> {
        let wait = scan.spec.options.sync_deadline?.min(DEADLINE_MAX);
        Instant::now().checked_add(left_to_wait(wait, started, self.records.now()))
    }
}

/// The rest of a wait that began at `started`; both times are in whole seconds since 1970. One second less counts as waited, since the wait
/// may have begun at the end of its second, and must not be shorter than what was asked for.
fn left_to_wait(wait: Duration, started: i64, now: i64) -> Duration {
    let waited = now.saturating_sub(started).saturating_sub(1);
    wait.saturating_sub(Duration::from_secs(u64::try_from(waited).unwrap_or(0)))
}

/// Resolves at a time, or never.
pub(super) async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

impl<'a> Syncing<'a> {
    fn new(
        scans: &'a Scans,
        (scan, spec): (&'a Scan, &'a ScanSpec),
        choices: &'a Choices,
        events: mpsc::UnboundedSender<Event>,
    ) -> Result<Syncing<'a>, Error> {
        let target = |(place, layer): (usize, usize)| Target {
            site: spec.options.repositories[place].0.clone(),
            repository: spec.options.repositories[place].1.clone(),
            place,
            layer,
            key: None,
            state: State::Waiting,
            progress: RepositoryProgress::default(),
            interrupted: InterruptedBytes::default(),
        };
        let targets: Vec<Target> = spec.targets().map(target).collect();
        scan.progress.send_modify(|progress| {
            progress.repositories = vec![RepositoryProgress::default(); spec.options.repositories.len()];
        });
        let across_parties = scans.crosses_parties(&spec.options.repositories)?;
        let sites = site_count(spec);
        let agreements = spec.layers.iter().map(|_| Arc::new(Mutex::new(Claims::new(sites)))).collect();
        let keys = Claims::new(sites);
        Ok(Syncing { scans, scan, spec, choices, targets, across_parties, keys, agreements, events })
    }

    fn is_over(&self) -> bool {
        self.targets.iter().all(|target| matches!(target.state, State::Ended(_)))
    }

    /// Ends the wait for sites that are no members any more: they never come back.
    fn give_up_revoked(&mut self) -> Result<(), Error> {
        for number in 0..self.targets.len() {
            let target = &self.targets[number];
            if matches!(target.state, State::Waiting) && self.scans.records.store.party_of(&target.site)?.is_none() {
                tracing::warn!(scan = %self.scan.id, site = %target.site, "a site was revoked while the scan ran");
                self.end(number, Err(REVOKED.to_owned()));
            }
        }
        Ok(())
    }

    /// Gives every site that has come its assignment. A site with another key than most is left out before it is asked to
    /// read, as is one whose policy does not allow the scan.
    fn assign_waiting(&mut self) -> Result<(), Error> {
        self.give_up_revoked()?;
        let mut come = Vec::new();
        for number in 0..self.targets.len() {
            let is_next = self.is_next(number);
            let target = &mut self.targets[number];
            let attached = self.scans.sessions.attached(&target.site);
            self.scan.progress.send_if_modified(|progress| {
                let shown = &mut progress.repositories[target.place].attached;
                std::mem::replace(shown, attached.is_some()) != attached.is_some()
            });
            let Some(attached) = attached else { continue };
            target.key = Some(attached.key_fingerprint);
            if is_next && attached.repositories.contains(&target.repository) {
                come.push(number);
            }
        }
        self.leave_out()?;
        for number in come {
            let target = &self.targets[number];
            let agrees = target.key.is_none_or(|key| self.keys.standing(&key) == Standing::Agrees);
            if agrees && matches!(target.state, State::Waiting) {
                self.assign(number);
            }
        }
        Ok(())
    }

    /// Leaves the sites out that cannot take part.
    ///
    /// # Errors
    /// Fails if keys differ and nobody can tell which ones are wrong.
    fn leave_out(&mut self) -> Result<(), Error> {
        for target in &self.targets {
            target.key.into_iter().for_each(|key| drop(self.keys.claim(&target.site, key)));
        }
        for number in 0..self.targets.len() {
            let target = &self.targets[number];
            let (Some(key), false) = (target.key, matches!(target.state, State::Ended(_))) else { continue };
            let reason = match self.keys.standing(&key) {
                Standing::Differs(most) => {
                    format!("the site has {}, and the other sites {}: give all the same key", says(key), says(most))
                }
                Standing::Split(other, theirs) => return Err(different_keys(&target.site, key, &other, theirs)),
                Standing::Agrees | Standing::Undecided if self.is_unwilling(target) => {
                    "the scan crosses parties without a key, and the site takes part in none of that kind".to_owned()
                }
                Standing::Agrees | Standing::Undecided => continue,
            };
            if let State::Assigned(assignment) = target.state {
                self.scans.sessions.cancel(assignment);
            }
            tracing::warn!(scan = %self.scan.id, site = %target.site, reason, "a site is left out of the scan");
            self.end(number, Err(reason));
        }
        Ok(())
    }

    /// True if the scan crosses parties without a key, and the policy of an attached site forbids that.
    fn is_unwilling(&self, target: &Target) -> bool {
        let unkeyed = target.key == Some(Key::none().fingerprint());
        let attached = || self.scans.sessions.attached(&target.site);
        unkeyed
            && self.across_parties
            && !self.spec.in_process
            && attached().is_some_and(|attached| !attached.unkeyed_across_parties)
    }

    /// True if a target waits for its site alone: the layers of a repository are synced one after the other.
    fn is_next(&self, number: usize) -> bool {
        let target = &self.targets[number];
        let before = &self.targets[number - target.layer..number];
        matches!(target.state, State::Waiting)
            && before.iter().all(|before| matches!(before.state, State::Ended(Ok(_))))
    }

    fn assign(&mut self, place: usize) {
        let spec = self.spec;
        let target = &mut self.targets[place];
        let layer = &spec.layers[target.layer];
        let mut method = v1::MethodSpec::from(&layer.method);
        method.method_id = layer.method_id.map(|id| id.0.to_vec()).unwrap_or_default();
        let number = random_number();
        let scope = self.choices[target.place].as_ref().map(|choice| Arc::clone(&choice.scope));
        let assignment = v1::Assignment {
            assignment: number,
            repository: target.repository.to_string(),
            method: Some(method),
            selection: Some((&spec.options.selection()).into()),
            follow_symlinks: spec.options.follow,
            across_parties: self.across_parties,
            refinement: scope.as_ref().map(|scope| scope.announcement()),
            ..v1::Assignment::default()
        };
        let wanted = Wanted {
            method: layer.method,
            scope,
            agreement: Arc::clone(&self.agreements[target.layer]),
            target: place,
            events: self.events.clone(),
        };
        if self.scans.sessions.assign(&target.site, assignment, wanted) {
            target.state = State::Assigned(number);
        }
    }

    /// Takes events until one may change which targets wait. Progress, which every site sends each second, does not.
    async fn hear(&mut self, heard: &mut mpsc::UnboundedReceiver<Event>) -> Result<(), Error> {
        loop {
            let event = heard.recv().await.expect("the syncing holds a sender");
            let is_progress = matches!(event, Event::Progress { .. });
            self.take(event)?;
            if !is_progress {
                return Ok(());
            }
        }
    }

    fn take(&mut self, event: Event) -> Result<(), Error> {
        match event {
            Event::Progress { target, progress } => self.show(target, &progress),
            Event::Ended { target, outcome } => {
                let ended = match outcome {
                    Outcome::Synced(sealed, summary) => Ok((sealed, summary)),
                    Outcome::Failed(reason) | Outcome::Refused(reason) => Err(reason),
                    Outcome::Estimated(_) => Err("the site only estimated the cost of a sync".to_owned()),
                    Outcome::Away => {
                        tracing::info!(scan = %self.scan.id, site = %self.targets[target].site, "a site disconnected during its sync, which continues when the site is back");
                        self.targets[target].interrupt();
                        return Ok(());
                    }
                };
                self.end(target, ended);
            }
            Event::Differs(difference) => return Err(difference.into()),
        }
        Ok(())
    }

    /// Receives the end of a target. If one layer of a repository fails, the others are not asked for.
    fn end(&mut self, number: usize, ended: Result<(SealedIndex, SyncSummary), String>) {
        let target = &self.targets[number];
        let first = number - target.layer;
        let of_repository = first..first + self.spec.layers.len();
        if let (Err(reason), true) = (&ended, of_repository.len() > 1) {
            let reason = match (self.spec.options.view, target.layer) {
                (ScanView::Auto, 0) => reason.clone(),
                (ScanView::Auto, _) => format!("text of office files: {reason}; --view raw compares bytes alone"),
                _ => format!("view {}: {reason}", self.spec.layers[target.layer].method.view()),
            };
            for other in of_repository {
                self.targets[other].progress.ended = Some(Err(reason.clone()));
                self.targets[other].state = State::Ended(Err(reason.clone()));
            }
        } else {
            let target = &mut self.targets[number];
            target.progress.ended = Some(ended.as_ref().map(|_| ()).map_err(Clone::clone));
            let interrupted = target.interrupted;
            target.state = State::Ended(ended.map(|(sealed, summary)| (sealed, interrupted.added_to(summary))));
        }
        self.show_repository(number);
    }

    fn show(&mut self, number: usize, progress: &SyncProgress) {
        let Target { progress: own, interrupted, .. } = &mut self.targets[number];
        own.entries_seen = progress.entries_seen;
        own.walk_finished = progress.walk_finished;
        own.documents_done = progress.documents_done;
        own.read_bytes = interrupted.read.saturating_add(progress.read_bytes);
        own.sent_bytes = interrupted.sent.saturating_add(progress.sent_bytes);
        own.open_bytes = progress.open_bytes;
        self.show_repository(number);
    }

    /// Shows the layers of a repository as one.
    fn show_repository(&self, number: usize) {
        let target = &self.targets[number];
        let first = number - target.layer;
        let layers = &self.targets[first..first + self.spec.layers.len()];
        let sum = |count: fn(&RepositoryProgress) -> u64| layers.iter().map(|layer| count(&layer.progress)).sum();
        let ended = layers.iter().map(|layer| layer.progress.ended.clone()).collect::<Option<Result<(), String>>>();
        self.scan.progress.send_modify(|all| {
            let shown = &mut all.repositories[target.place];
            shown.entries_seen = sum(|layer| layer.entries_seen);
            // The text of office files is listed only when all bytes are read, which may take hours: until then the walk of bytes counts.
            let mut begun = layers.iter().map(|layer| &layer.progress).filter(|layer| layer.has_begun()).peekable();
            shown.walk_finished = begun.peek().is_some() && begun.all(|layer| layer.walk_finished);
            shown.documents_done = sum(|layer| layer.documents_done);
            shown.read_bytes = sum(|layer| layer.read_bytes);
            shown.sent_bytes = sum(|layer| layer.sent_bytes);
            shown.open_bytes = sum(|layer| layer.open_bytes);
            shown.ended = ended;
        });
    }

    /// The present indexes. A repository that is not done is missing, as is one of a site that differs from most.
    fn finish(mut self) -> Result<Synced, Error> {
        self.check_methods()?;
        let keyed = self.targets.iter().filter_map(|target| target.key).any(|key| key != Key::none().fingerprint());
        let done = self.targets.iter().filter(|target| matches!(target.state, State::Ended(Ok(_))));
        let mut keys: Vec<_> = done.filter_map(|target| target.key).collect();
        keys.dedup();
        let key = keys.first().copied().filter(|key| keys.len() == 1 && *key != Key::none().fingerprint());
        let mut repositories: Vec<_> = self.spec.options.repositories.iter().map(|_| Ok(Vec::new())).collect();
        for target in &mut self.targets {
            let ended = match std::mem::replace(&mut target.state, State::Waiting) {
                State::Ended(ended) => ended,
                State::Waiting => Err(self.scans.why_waiting(&target.site, &target.repository)),
                State::Assigned(number) => {
                    self.scans.sessions.cancel(number);
                    Err("the site did not finish in time".to_owned())
                }
            };
            let repository: &mut Result<Vec<_>, String> = &mut repositories[target.place];
            match (repository, ended) {
                (Ok(layers), Ok(synced)) => layers.push(synced),
                // The first reason is reported.
                (Err(_), _) => {}
                (missing, Err(reason)) => *missing = Err(reason),
            }
        }
        Ok(Synced { repositories, keyed, key })
    }

    /// Leaves the repositories out whose index was made under another method than most.
    fn check_methods(&mut self) -> Result<(), Error> {
        for layer in 0..self.spec.layers.len() {
            let made = |target: &Target| match &target.state {
                State::Ended(Ok((sealed, _))) if target.layer == layer => Some((target.site.clone(), sealed.method_id)),
                _ => None,
            };
            let all: Vec<_> = self.targets.iter().map(made).collect();
            let sites = all.iter().flatten().map(|(site, _)| site).collect::<BTreeSet<_>>().len();
            let mut claims = Claims::new(sites);
            all.iter().flatten().for_each(|(site, id)| drop(claims.claim(site, *id)));
            for (number, made) in all.iter().enumerate() {
                let Some((site, id)) = made else { continue };
                match claims.standing(id) {
                    Standing::Agrees | Standing::Undecided => {}
                    Standing::Differs(most) => self.end(number, Err(other_method(*id, most))),
                    Standing::Split(other, theirs) => {
                        return Err(Error::Mismatch {
                            a: site.to_string(),
                            a_says: format!("method {id}"),
                            b: other.to_string(),
                            b_says: format!("method {theirs}"),
                        });
                    }
                }
            }
        }
        Ok(())
    }
}

/// The number of sites of a scan.
pub(super) fn site_count(spec: &ScanSpec) -> usize {
    spec.options.repositories.iter().map(|(site, _)| site).collect::<BTreeSet<_>>().len()
}

fn says(key: KeyFingerprint) -> String {
    match key == Key::none().fingerprint() {
        true => "no federation key".to_owned(),
        false => format!("the federation key {key}"),
    }
}

fn different_keys(a: &SiteName, a_key: KeyFingerprint, b: &SiteName, b_key: KeyFingerprint) -> Error {
    Error::Mismatch { a: a.to_string(), a_says: says(a_key), b: b.to_string(), b_says: says(b_key) }
}

impl Drop for Syncing<'_> {
    fn drop(&mut self) {
        for target in &self.targets {
            if let State::Assigned(number) = target.state {
                self.scans.sessions.cancel(number);
            }
        }
    }
}

impl Scans {
    /// Refuses at once a scan that is known to fail: keys that differ, repositories that no site offers, policies.
    ///
    /// # Errors
    /// Fails if the attached sites do not allow it.
    pub(crate) fn check_launch(&self, spec: &ScanSpec) -> Result<(), Error> {
        self.analyser.spark.check(&spec.options)?;
        let mut keys = Vec::new();
        for (site, repository) in &spec.options.repositories {
            let Some(attached) = self.sessions.attached(site) else { continue };
            if !spec.options.no_sync && !attached.repositories.contains(repository) {
                let offered: Vec<String> = attached.repositories.iter().map(ToString::to_string).collect();
                return Err(Error::Invalid(format!(
                    "`repositories`: `{site}` offers no `{repository}`; it offers {}",
                    if offered.is_empty() { "none".to_owned() } else { offered.join(", ") }
                )));
            }
            keys.push((site, attached.key_fingerprint));
        }
        if spec.options.no_sync {
            return Ok(());
        }
        // One that differs from most is left out; the scan goes on without it, unless it must be complete.
        let mut claims = Claims::new(site_count(spec));
        keys.iter().for_each(|(site, key)| drop(claims.claim(site, *key)));
        for &(site, key) in &keys {
            match claims.standing(&key) {
                Standing::Split(other, theirs) => return Err(different_keys(site, key, &other, theirs)),
                Standing::Differs(most) if spec.options.require_complete => {
                    let (other, _) = keys.iter().find(|(_, key)| *key == most).expect("most have claimed it");
                    return Err(different_keys(other, most, site, key));
                }
                Standing::Agrees | Standing::Undecided | Standing::Differs(_) => {}
            }
        }
        let unkeyed = keys.iter().any(|(_, key)| *key == Key::none().fingerprint());
        if unkeyed && self.crosses_parties(&spec.options.repositories)? {
            self.check_unkeyed_policies(&spec.options.repositories)?;
        }
        Ok(())
    }

    /// True if sites of more than one party take part.
    pub fn crosses_parties(&self, repositories: &[(SiteName, RepositoryName)]) -> Result<bool, Error> {
        let mut parties = std::collections::BTreeSet::new();
        for (site, _) in repositories {
            // A site that is revoked while the scan runs stays of its party.
            parties.insert(self.records.store.party_of_data(site)?.map(|party| party.to_string()));
        }
        Ok(parties.len() > 1)
    }

    /// Checks that every site takes part in scans across parties without a key.
    ///
    /// # Errors
    /// Fails if one does not.
    pub(super) fn check_unkeyed_policies(&self, repositories: &[(SiteName, RepositoryName)]) -> Result<(), Error> {
        for (site, _) in repositories {
            let known = self.sessions.attached(site).map(|attached| attached.unkeyed_across_parties);
            let agrees = match known {
                Some(agrees) => agrees,
                // The site is away: its last greeting counts, and it is checked again when it attaches.
                None => {
                    let seen = self.records.store.seen(site)?;
                    seen.unkeyed_across_parties || seen.last_heard == 0
                }
            };
            if !agrees {
                return Err(Error::Refused(format!(
                    "the scan crosses parties without a key, and `{site}` does not take part in such scans: give all sites a \
                     key, or let its policy say unkeyed_across_parties = true"
                )));
            }
        }
        Ok(())
    }

    pub(super) fn is_revoked(&self, site: &SiteName) -> bool {
        let member = self.records.store.member(v1::MemberKind::Site, site.as_str());
        member.ok().flatten().is_some_and(|row| row.status() == v1::MemberStatus::Revoked)
    }

    /// The reason for which a site that is waited for has nothing to do.
    pub(super) fn why_waiting(&self, site: &SiteName, repository: &RepositoryName) -> String {
        match self.sessions.attached(site) {
            None if self.is_revoked(site) => {
                "the site is revoked: `cognate site invite` lets it enrol again".to_owned()
            }
            None => "the site did not attach in time".to_owned(),
            Some(attached) if !attached.repositories.contains(repository) => {
                "the site does not offer this repository".to_owned()
            }
            Some(_) => "the site did not finish in time".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_that_began_at_the_end_of_a_second_is_no_shorter_than_asked_and_none_is_a_second_longer() {
        let second = Duration::from_secs(1);
        // These times are the same for a wait from 14.99 to 15.01 and for one from 14.01 to 15.99.
        assert_eq!(left_to_wait(second, 14, 15), second);
        for waited in 0..10 {
            let left = left_to_wait(8 * second, 14, 14 + waited);
            let (least, most) =
                (8_u64.saturating_sub(waited.unsigned_abs()), 9_u64.saturating_sub(waited.unsigned_abs()));
            assert!((least..=most).contains(&left.as_secs()), "{waited}: {left:?}");
        }
        // A clock that was set back since makes no wait longer.
        assert_eq!(left_to_wait(second, 14, 3), second);
    }
}
