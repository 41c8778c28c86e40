//! Writing an event into the journal, and what it does to the view.

use cognate_proto::v1;

use super::{MemberRow, Store, member_key, put};
use crate::error::Error;
use crate::journal::{CaseChecked, CaseErased, Event, MemberName, ScanEvent, What};

impl Store {
    /// Writes an event into the journal, and then into the view. Once this returns, it survives.
    pub fn record(&self, event: &Event) -> Result<(), Error> {
        self.check_alive()?;
        let mut journal = self.journal.lock().expect("nothing panics while it is held");
        let journal = journal.as_mut().expect("a store that is only looked at records nothing");
        self.watched(journal.append(event))?;
        crate::failpoint!("journal.after_append");
        self.watched(self.apply(event).and_then(|()| self.put_applied(journal.position())))
    }

    /// Takes an event into the view. Twice is the same as once: a crash may come between the event and the note that it
    /// was taken in.
    pub(super) fn apply(&self, event: &Event) -> Result<(), Error> {
        let Some(what) = &event.what else { return Ok(()) };
        match what {
            What::Invited(invited) => {
                let key = member_key(invited.membership.kind(), &invited.membership.name);
                let mut row: MemberRow = self.get(&self.members, &key)?.unwrap_or_default();
                if row.status() != v1::MemberStatus::Active {
                    row.status = v1::MemberStatus::Invited.into();
                    row.membership = Some(invited.membership.clone());
                }
                row.invited = Some(invited.clone());
                put(&self.members, &key, &row)
            }
            What::Admitted(membership) => {
                let row = MemberRow {
                    membership: Some(membership.clone()),
                    status: v1::MemberStatus::Active.into(),
                    ..MemberRow::default()
                };
                put(&self.members, &member_key(membership.kind(), &membership.name), &row)
            }
            What::Certified(certified) => {
                // A worker that is enrolled anew begins to count anew.
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
            What::Revoked(name) => self.change_member(name, |row| row.status = v1::MemberStatus::Revoked.into()),
            What::Forgotten(name) => {
                self.members.remove(member_key(name.kind(), &name.name))?;
                let Some(site) = name.site() else { return Ok(()) };
                self.remove_seen(&site)?;
                self.forget_verdicts(&site)
            }
            What::Scan(ScanEvent { id, row }) => put(&self.scans, &id.to_be_bytes(), row),
            What::ScanDeleted(id) => {
                self.scans.remove(id.to_be_bytes())?;
                Ok(())
            }
            What::Profile(profile) => put(&self.profiles, profile.name.as_bytes(), profile),
            What::ProfileRemoved(name) => {
                self.profiles.remove(name.as_bytes())?;
                Ok(())
            }
            What::Schedule(schedule) => put(&self.schedules, schedule.name.as_bytes(), schedule),
            What::ScheduleRemoved(name) => {
                self.schedules.remove(name.as_bytes())?;
                Ok(())
            }
            What::Acted(_) => Ok(()),
            What::Watch(watch) => put(&self.watches, watch.name.as_bytes(), watch),
            What::WatchRemoved(name) => {
                self.watches.remove(name.as_bytes())?;
                Ok(())
            }
            What::Case(case) => put(&self.cases, case.name.as_bytes(), case),
            What::CaseChecked(CaseChecked { name, number, check }) => self.change_case(name, |case| {
                case.checks.truncate(*number as usize);
                case.checks.extend(check.clone());
            }),
            What::CaseErased(CaseErased { name, number }) => self.change_case(name, |case| {
                if let Some(check) = case.checks.get_mut(*number as usize) {
                    check.erased = true;
                }
            }),
            What::Template(template) => put(&self.templates, &template.id.to_be_bytes(), template),
            What::TemplateUnmarked(id) => {
                let Some(template) = self.template(*id)? else { return Ok(()) };
                let (unmarked_by, unmarked) = (event.by.clone(), event.time);
                put(&self.templates, &id.to_be_bytes(), &v1::Template { unmarked_by, unmarked, ..template })
            }
            What::Decided(decision) => self.apply_decision(decision, &event.by, event.time),
            What::FilterSaved(filter) => put(&self.saved_filters, filter.name.as_bytes(), filter),
            What::FilterRemoved(name) => {
                self.saved_filters.remove(name.as_bytes())?;
                Ok(())
            }
            What::Undone(undone) => self.apply_undone(undone.action, &event.by, event.time),
        }
    }

    fn change_member(&self, name: &MemberName, change: impl FnOnce(&mut MemberRow)) -> Result<(), Error> {
        let key = member_key(name.kind(), &name.name);
        let mut row: MemberRow = self.get(&self.members, &key)?.unwrap_or_default();
        change(&mut row);
        put(&self.members, &key, &row)
    }

    fn change_case(&self, name: &str, change: impl FnOnce(&mut v1::Case)) -> Result<(), Error> {
        let Some(mut case) = self.case(name)? else { return Ok(()) };
        change(&mut case);
        put(&self.cases, name.as_bytes(), &case)
    }
}
