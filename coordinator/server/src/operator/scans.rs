//! Scans, profiles and schedules, as far as a person may see and change them.

use std::time::Duration;

use cognate_proto::clock_times::ClockTimes;
use cognate_proto::limits::TEXT_BYTES_MAX;
use cognate_proto::name::{ScanId, one_line};
use cognate_proto::options::ScanOptions;
use cognate_proto::v1;
use tokio::sync::mpsc;
use tonic::Status;

use super::OperatorService;
use crate::error::Error;
use crate::identity::Operator;
use crate::scan::check_member;
use cognate_analysis::spec::ScanSpec;
use cognate_storage::journal::What;

/// A state is sent at most this often, however fast it changes.
const WATCH_INTERVAL: Duration = Duration::from_millis(200);
/// And at least this often, so that the client knows that the coordinator runs.
const WATCH_SILENCE: Duration = Duration::from_secs(15);
/// Schedules run no more often than this, and no less often than that.
const EVERY_SECONDS: std::ops::RangeInclusive<u64> = 10..=366 * 24 * 3600;

impl OperatorService {
    /// The scan that options describe, if they make sense and a person may have these repositories scanned.
    pub(super) fn checked(&self, operator: &Operator, options: Option<&v1::ScanOptions>) -> Result<ScanSpec, Error> {
        let options = options.map(ScanOptions::try_from).transpose();
        let options = options.map_err(|error| Error::Invalid(error.to_string()))?.unwrap_or_default();
        let checked = ScanSpec::new(options, &self.settings.limits)?;
        for (site, _) in &checked.options.repositories {
            if !self.is_own(operator, site.as_str()) {
                return Err(Error::Denied(format!("`{}` may not have `{site}` scanned", operator.name)));
            }
            check_member(&self.services.records.store, site)?;
        }
        Ok(checked)
    }

    /// Checks that a person may see the result of the scan that another is to refine: which documents a refinement has tells what
    /// the result says of them.
    pub(super) fn check_refined(&self, operator: &Operator, spec: &ScanSpec) -> Result<(), Error> {
        let Some(refine) = &spec.options.refine else { return Ok(()) };
        let state = self.visible_state(operator, refine.scan)?;
        self.check_full_result(operator, refine.scan, &state)
    }

    /// Checks that a refinement can be launched, unless it was launched earlier: then it is only asked for again.
    pub(super) async fn check_refinement(&self, operator: &Operator, id: ScanId, spec: ScanSpec) -> Result<(), Status> {
        if spec.options.refine.is_none() || self.services.records.store.scan(id).map_err(Error::from)?.is_some() {
            return Ok(());
        }
        self.check_refined(operator, &spec)?;
        let scans = std::sync::Arc::clone(&self.services.scans);
        super::blocking(move || scans.choices(&spec).map(drop)).await
    }

    /// The state of a scan, as much as a person may see of it; else the error of a scan that does not exist.
    pub(super) fn visible_state(&self, operator: &Operator, id: ScanId) -> Result<v1::ScanState, Error> {
        self.shown(operator, self.services.scans.state(id)?).ok_or(Error::UnknownScan(id))
    }

    /// The part of a scan's state that a person may see; nothing if the scan does not concern the person.
    fn shown(&self, operator: &Operator, mut state: v1::ScanState) -> Option<v1::ScanState> {
        if !state.options.as_ref().is_some_and(|options| self.sees(operator, options)) {
            return None;
        }
        operator.viewer().scan_state(&mut state, |site| self.party_of(site));
        Some(state)
    }

    /// Blanks the options of a profile or a schedule that a person may not see, and answers if they concern other parties;
    /// nothing if they do not concern the person.
    pub(super) fn shown_options(&self, operator: &Operator, options: &mut v1::ScanOptions) -> Option<bool> {
        let sees = self.sees(operator, options);
        sees.then(|| operator.viewer().scan_options(options, |site| self.party_of(site)))
    }

    /// Checks that a scan is about sites of a person alone: what ends it, or takes its result away, concerns the others too.
    pub(super) fn check_concerns_no_other(
        &self,
        operator: &Operator,
        state: &v1::ScanState,
        act: &str,
    ) -> Result<(), Error> {
        let repositories = state.options.as_ref().map_or(&[][..], |options| &options.repositories);
        match repositories.iter().all(|repository| self.is_own(operator, &repository.site)) {
            true => Ok(()),
            false => Err(Error::Denied(format!(
                "the scan is also about sites that `{}` may not see: ask `{}`, who launched it, or an administrator without \
                 bounds to {act} it",
                operator.name, state.launched_by
            ))),
        }
    }

    /// All scans that a person may see, newest first.
    pub(super) fn all_scans(&self, operator: &Operator) -> Result<Vec<v1::ScanState>, Error> {
        let mut rows = self.services.records.store.scans()?;
        rows.sort_by_key(|(id, row)| std::cmp::Reverse((row.number, *id)));
        let states = rows.into_iter().map(|(id, row)| self.services.scans.state_of(id, row));
        Ok(states.filter_map(|state| self.shown(operator, state)).collect())
    }

    /// Sends the state of a scan as a person may see it, now and after changes, until it has ended.
    pub(super) fn watch(&self, operator: Operator, id: ScanId) -> mpsc::Receiver<Result<v1::ScanState, Status>> {
        let (states, stream) = mpsc::channel(4);
        let (service, services) = (self.clone(), std::sync::Arc::clone(&self.services));
        // The person who looks may have freed disk space.
        services.scans.ask(id);
        crate::tasks::spawn(async move {
            let mut sessions = services.sessions.changes();
            let mut draining = services.health.draining.subscribe();
            loop {
                // Subscribed before the state is read, so that a change in between is sent next.
                let mut progress = services.scans.watch(id).ok();
                let state = match service.visible_state(&operator, id) {
                    Ok(state) => state,
                    Err(error) => return drop(states.send(Err(error.into())).await),
                };
                let ended = !matches!(state.status(), v1::ScanStatus::Syncing | v1::ScanStatus::Analysing);
                if states.send(Ok(state)).await.is_err() || ended {
                    return;
                }
                tokio::time::sleep(WATCH_INTERVAL).await;
                let changed = async {
                    // A scan that has ended drops its end of this channel.
                    if let Some(progress) = &mut progress {
                        let _ = progress.changed().await;
                    }
                };
                tokio::select! {
                    () = changed => {}
                    _ = sessions.changed() => {}
                    () = tokio::time::sleep(WATCH_SILENCE) => {}
                    () = states.closed() => return,
                    () = async { drop(draining.wait_for(|draining| *draining).await) } => {
                        let stopping = Status::unavailable("the coordinator is stopping: try again in a moment");
                        return drop(states.send(Err(stopping)).await);
                    }
                }
            }
        });
        stream
    }

    /// Saves a profile in place of one with the same name.
    pub fn save_profile(&self, operator: &Operator, profile: v1::Profile) -> Result<(), Error> {
        check_name(&profile.name)?;
        let spec = self.checked(operator, profile.options.as_ref())?;
        check_not_refining(&spec)?;
        if let Some(known) = self.services.records.store.profile(&profile.name)? {
            self.check_own("profile", operator, &profile.name, known.options.as_ref())?;
        }
        Ok(self.services.records.record(What::Profile(profile), operator.name.as_str())?)
    }

    /// Removes a profile.
    pub fn drop_profile(&self, operator: &Operator, name: &str) -> Result<(), Error> {
        let known = self.services.records.store.profile(name)?;
        self.check_own("profile", operator, name, known.and_then(|known| known.options).as_ref())?;
        Ok(self.services.records.record(What::ProfileRemoved(name.to_owned()), operator.name.as_str())?)
    }

    pub(super) fn save_schedule(&self, operator: &Operator, mut schedule: v1::Schedule) -> Result<(), Error> {
        check_name(&schedule.name)?;
        let mut options = schedule.options.take().unwrap_or_default();
        options.origin = format!("schedule {}", schedule.name);
        let spec = self.checked(operator, Some(&options))?;
        check_not_refining(&spec)?;
        self.check_known(&spec)?;
        let times = match (schedule.at.as_str(), schedule.every_seconds) {
            ("", every) if EVERY_SECONDS.contains(&every) => None,
            ("", _) => return Err(Error::Invalid("`every`: a schedule runs every 10s to 366days".to_owned())),
            (_, 1..) => return Err(Error::Invalid("`at` and `every`: give one of them".to_owned())),
            (at, 0) => {
                let times: ClockTimes = at.parse().map_err(|error| Error::Invalid(format!("`at`: {error}")))?;
                schedule.at = times.to_string();
                Some(times)
            }
        };
        let known = self.services.records.store.schedule(&schedule.name)?;
        let before = known.as_ref().map_or("", |known| known.webhook.as_str());
        self.services.webhooks.check(operator, &schedule.webhook, before)?;
        if let Some(known) = &known {
            self.check_own("schedule", operator, &schedule.name, known.options.as_ref())?;
        }
        // Only the coordinator sets the results of earlier runs.
        let (last_started, last_scan) = known.map_or((0, 0), |known| (known.last_started, known.last_scan));
        let now = self.services.records.now();
        let next_start = times.map_or(now, |times| times.next_after(now));
        let last_error = String::new();
        let schedule =
            v1::Schedule { options: Some(options), last_started, last_scan, next_start, last_error, ..schedule };
        self.services.records.record(What::Schedule(schedule), operator.name.as_str())?;
        self.services.schedules.changed.notify_one();
        Ok(())
    }

    /// Removes a schedule; its scans and their results stay.
    pub fn drop_schedule(&self, operator: &Operator, name: &str) -> Result<(), Error> {
        let known = self.services.records.store.schedule(name)?;
        self.check_own("schedule", operator, name, known.and_then(|known| known.options).as_ref())?;
        self.services.records.record(What::ScheduleRemoved(name.to_owned()), operator.name.as_str())?;
        self.services.schedules.changed.notify_one();
        Ok(())
    }

    /// Checks that every repository was offered by its site at some time, or is indexed: a schedule for a name that nobody has would fail
    /// again and again.
    fn check_known(&self, spec: &ScanSpec) -> Result<(), Error> {
        let store = &self.services.records.store;
        for (site, repository) in &spec.options.repositories {
            let offered = store.seen(site)?.repositories;
            if offered.iter().any(|known| known == repository.as_str()) {
                continue;
            }
            let indexes = self.services.scans.analyser.indexes.all()?;
            if indexes.iter().any(|(key, ..)| key.site == *site && key.repository == *repository) {
                continue;
            }
            let cure = match offered.is_empty() {
                true => "it has never attached: start its worker first".to_owned(),
                false => format!("it offers {}", offered.join(", ")),
            };
            return Err(Error::Invalid(format!("`repositories`: `{site}` has no repository `{repository}`; {cure}")));
        }
        Ok(())
    }

    /// Checks that a profile or schedule exists and that a person may change it.
    fn check_own(
        &self,
        kind: &str,
        operator: &Operator,
        name: &str,
        options: Option<&v1::ScanOptions>,
    ) -> Result<(), Error> {
        match options {
            Some(options) if options.repositories.iter().all(|one| self.is_own(operator, &one.site)) => Ok(()),
            _ => Err(Error::UnknownMember(format!("no {kind} `{}`", one_line(name)))),
        }
    }
}

/// A refinement is of one scan, and done once.
fn check_not_refining(spec: &ScanSpec) -> Result<(), Error> {
    match spec.options.refine {
        Some(_) => Err(Error::Invalid("`refine`: a refinement is of one scan, and cannot be saved".to_owned())),
        None => Ok(()),
    }
}

/// Characters of the name of a scan.
const SCAN_NAME_CHARS_MAX: usize = 100;

/// What people call a scan: one line without spaces around it, or nothing.
pub(super) fn checked_scan_name(name: &str) -> Result<String, Error> {
    let name = name.trim();
    if name.chars().count() > SCAN_NAME_CHARS_MAX {
        return Err(Error::Invalid(format!("`name`: a scan's name has at most {SCAN_NAME_CHARS_MAX} characters")));
    }
    if name.chars().any(char::is_control) {
        return Err(Error::Invalid("`name`: a scan's name is one line of text".to_owned()));
    }
    // It stands wherever an id does, and must not be taken for one.
    if name == "latest" || name.len() >= 4 && name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Error::Invalid(format!("`name`: `{name}` could be the id of a scan: choose another name")));
    }
    Ok(name.to_owned())
}

fn check_name(name: &str) -> Result<(), Error> {
    let refused = |error: cognate_proto::name::NameError| Error::Invalid(format!("`name`: {error}"));
    // Sites, profiles and schedules are called by the same rule.
    name.parse::<cognate_proto::name::SiteName>().map(drop).map_err(refused)?;
    debug_assert!(name.len() <= TEXT_BYTES_MAX, "a name is short");
    Ok(())
}

#[cfg(test)]
mod tests;
