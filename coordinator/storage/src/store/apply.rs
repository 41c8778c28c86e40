//! Writing an event into the journal, and what it does to the view.

use std::panic::AssertUnwindSafe;

use cognate_proto::name::ScanId;
use cognate_proto::v1;

use super::value::ActionPart;
use super::{Failure, Key, MemberRow, ScanRow, Store};
use crate::error::Error;
use crate::journal::{
    ActionState, CaseChecked, CaseErased, Event, MemberName, MemberState, ScanEvent, ScanNamed, VerdictLogged,
    VerdictState, What,
};
use crate::verdict;

/// The threads that write records, for tests.
#[cfg(any(test, feature = "harness"))]
impl Store {
    fn note_writer(&self, event: &Event) {
        let writer = (std::thread::current().id(), format!("{:?}", event.what));
        self.writers.lock().expect("nothing panics while it is held").push(writer);
    }

    /// The thread of every record so far, and what it recorded.
    pub fn writers(&self) -> Vec<(std::thread::ThreadId, String)> {
        self.writers.lock().expect("nothing panics while it is held").clone()
    }
}

impl Store {
    /// Writes an event into the journal, and then into the view. Once this returns, it survives.
    ///
    /// # Errors
    /// Fails if the disk refuses it. After a panic, nothing is written any more: the process could serve and never record.
    pub fn record(&self, event: &Event) -> Result<(), Error> {
        self.check_alive()?;
        std::panic::catch_unwind(AssertUnwindSafe(|| self.record_held(event))).unwrap_or_else(|_| {
            let reason = "a bug ended the writing of a record: see the log, and report the problem".to_owned();
            self.fail(Failure { reason: reason.clone(), is_bug: true });
            Err(Error::Stopped(reason))
        })
    }

    fn record_held(&self, event: &Event) -> Result<(), Error> {
        self.journal.write(
            || self.check_alive(),
            |journal| {
                let journal = journal.as_mut().expect("a store that is only looked at records nothing");
                #[cfg(any(test, feature = "harness"))]
                self.note_writer(event);
                self.watched(journal.append(event))?;
                crate::failpoint!("journal.after_append");
                self.watched(self.apply(event).and_then(|()| self.put_applied(journal.position())))
            },
        )
    }

    /// Takes an event into the view. Twice is the same as once: a crash may come between the event and the note that it
    /// was taken in.
    pub(super) fn apply(&self, event: &Event) -> Result<(), Error> {
        let Some(what) = &event.what else { return Ok(()) };
        match what {
            What::Invited(invited) => {
                let key = Key::Member(invited.membership.kind(), invited.membership.name.clone());
                let mut row: MemberRow = self.get(&key)?.unwrap_or_default();
                if row.status() != v1::MemberStatus::Active {
                    row.status = v1::MemberStatus::Invited.into();
                    row.membership = Some(invited.membership.clone());
                }
                row.invited = Some(invited.clone());
                self.put(&key, &row)
            }
            What::Admitted(membership) => {
                let row = MemberRow {
                    membership: Some(membership.clone()),
                    status: v1::MemberStatus::Active.into(),
                    ..MemberRow::default()
                };
                self.put(&Key::Member(membership.kind(), membership.name.clone()), &row)
            }
            What::Certified(certified) => {
                // A worker that enrols again begins to count again.
                if let Some(site) = certified.name.site() {
                    self.remove_seen(&site)?;
                }
                self.change_member(&certified.name, |row| {
                    row.status = v1::MemberStatus::Active.into();
                    if let Some(invited) = &row.invited {
                        row.membership = Some(invited.membership.clone());
                    }
                    row.certified = Some(certified.clone());
                    row.previous_key_sha256.clear();
                })
            }
            What::Renewed(certified) => self.change_member(&certified.name, |row| {
                row.previous_key_sha256.clone_from(&certified.asked_with_key_sha256);
                row.certified = Some(certified.clone());
            }),
            What::Revoked(name) => self.change_member(name, |row| {
                row.status = v1::MemberStatus::Revoked.into();
                let current = row.certified.as_ref().map(|certified| certified.key_sha256.clone());
                let keys = current.into_iter().chain([row.previous_key_sha256.clone()]).filter(|key| !key.is_empty());
                row.revoked_keys_sha256.extend(keys);
                row.revoked_keys_sha256.sort_unstable();
                row.revoked_keys_sha256.dedup();
            }),
            What::Forgotten(name) => {
                self.remove(&Key::Member(name.kind(), name.name.clone()))?;
                let Some(site) = name.site() else { return Ok(()) };
                self.remove_seen(&site)?;
                self.forget_verdicts(&site)
            }
            What::Scan(ScanEvent { id, row }) => {
                // The steps of a scan know the name of its launch.
                let name = self.scan(ScanId(*id))?.map_or_else(|| row.name.clone(), |known| known.name);
                self.put(&Key::Scan(ScanId(*id)), &ScanRow { name, ..row.clone() })
            }
            What::ScanNamed(ScanNamed { id, name }) => {
                let Some(row) = self.scan(ScanId(*id))? else { return Ok(()) };
                self.put(&Key::Scan(ScanId(*id)), &ScanRow { name: name.clone(), ..row })
            }
            What::PartyNamed(named) => {
                let key = Key::Party(named.party.clone());
                if named.full_name.is_empty() { self.remove(&key) } else { self.put(&key, named) }
            }
            What::ScanDeleted(id) => self.remove(&Key::Scan(ScanId(*id))),
            What::Profile(profile) => self.put(&Key::Profile(profile.name.clone()), profile),
            What::ProfileRemoved(name) => self.remove(&Key::Profile(name.clone())),
            What::Schedule(schedule) => self.put(&Key::Schedule(schedule.name.clone()), schedule),
            What::ScheduleRemoved(name) => self.remove(&Key::Schedule(name.clone())),
            What::Acted(_) => Ok(()),
            What::Restored(_) => self.void_invitations(),
            What::Watch(watch) => self.put(&Key::Watch(watch.name.clone()), watch),
            What::WatchRemoved(name) => self.remove(&Key::Watch(name.clone())),
            What::Case(case) => self.put(&Key::Case(case.name.clone()), case),
            What::CaseChecked(CaseChecked { name, number, check }) => self.change_case(name, |case| {
                case.checks.truncate(*number as usize);
                case.checks.extend(check.clone());
            }),
            What::CaseErased(CaseErased { name, number }) => self.change_case(name, |case| {
                if let Some(check) = case.checks.get_mut(*number as usize) {
                    check.erased = true;
                }
            }),
            What::Template(template) => self.put(&Key::Template(template.id), template),
            What::TemplateUnmarked(id) => {
                let Some(template) = self.template(*id)? else { return Ok(()) };
                let (unmarked_by, unmarked) = (event.by.clone(), event.time);
                self.put(&Key::Template(*id), &v1::Template { unmarked_by, unmarked, ..template })
            }
            What::Decided(decision) => self.apply_decision(decision, &event.by, event.time),
            What::FilterSaved(filter) => self.put(&Key::SavedFilter(filter.name.clone()), filter),
            What::FilterRemoved(name) => self.remove(&Key::SavedFilter(name.clone())),
            What::SampleDrawn(sample) => self.put(&Key::Sample(sample.id), sample),
            What::SampleJudged(judged) => self.apply_judged(*judged, &event.by),
            What::Undone(undone) => self.apply_undone(undone.action, &event.by, event.time),
            What::Checkpoint(_) | What::CheckpointEnd(_) => Ok(()),
            What::MemberState(MemberState { name, row }) => self.put(&Key::Member(name.kind(), name.name.clone()), row),
            What::VerdictState(VerdictState { key, row }) => match verdict::Key::parse(key) {
                Some(key) => self.put(&Key::Verdict(key), row),
                None => Ok(()),
            },
            What::ActionState(ActionState { action, part, row }) => {
                self.put(&Key::VerdictAction(ActionPart { action: *action, part: *part }), row)
            }
            What::VerdictLogged(VerdictLogged { number, action, part }) => {
                self.put(&Key::VerdictLog(*number), &ActionPart { action: *action, part: *part })
            }
        }
    }

    fn change_member(&self, name: &MemberName, change: impl FnOnce(&mut MemberRow)) -> Result<(), Error> {
        let key = Key::Member(name.kind(), name.name.clone());
        let mut row: MemberRow = self.get(&key)?.unwrap_or_default();
        change(&mut row);
        self.put(&key, &row)
    }

    fn change_case(&self, name: &str, change: impl FnOnce(&mut v1::Case)) -> Result<(), Error> {
        let Some(mut case) = self.case(name)? else { return Ok(()) };
        change(&mut case);
        self.put(&Key::Case(name.to_owned()), &case)
    }
}
