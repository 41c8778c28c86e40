//! The journal as people read it: the author and the action of each event, newest first.

use cognate_proto::name::{ScanId, one_line};
use cognate_proto::v1;

use super::OperatorService;
use crate::error::Error;
use crate::identity::Operator;
use cognate_desk::verdict::SubjectName;
use cognate_storage::journal::{Action, Brief, What};
use cognate_storage::store::ScanStep;
use cognate_storage::verdict::{Decided, Decision, Key, change_words, word};

const COUNT: usize = 100;
const COUNT_MAX: usize = 1000;

impl OperatorService {
    /// A page of the events. A decision names the first of what it is about, as far as the result of its scan is there.
    ///
    /// # Errors
    /// Fails if the journal or the store cannot be read.
    pub fn events(
        &self,
        operator: &Operator,
        request: &v1::ListEventsRequest,
    ) -> Result<v1::ListEventsResponse, Error> {
        let count = match usize::try_from(request.count).unwrap_or(COUNT_MAX) {
            0 => COUNT,
            count => count.min(COUNT_MAX),
        };
        let before = if request.before == 0 { u64::MAX } else { request.before };
        // One extra event shows that there are more.
        let mut newest_first =
            self.services.records.store.history()?.newest_first(before, count + 1, |brief, position| {
                let is_wanted = request.by.is_empty() || brief.event.by == request.by;
                if is_wanted { described(brief, position.end) } else { None }
            })?;
        let is_more = newest_first.len() > count;
        newest_first.truncate(count);
        let older = newest_first.last().filter(|_| is_more).map_or(0, |(event, _)| event.place);
        let (mut events, about): (Vec<_>, Vec<_>) = newest_first.into_iter().unzip();
        self.name_subjects(operator, &mut events, about)?;
        Ok(v1::ListEventsResponse { events, older })
    }

    /// Writes the names of what decisions are about in the place of their number.
    fn name_subjects(
        &self,
        operator: &Operator,
        events: &mut [v1::AuditEvent],
        about: Vec<Option<About>>,
    ) -> Result<(), Error> {
        let decisions = events.iter_mut().zip(about).filter_map(|(event, about)| Some((event, about?)));
        let (events, about): (Vec<_>, Vec<_>) = decisions.unzip();
        let keys: Vec<_> = about.iter().map(|about| (about.scan, about.keys.clone())).collect();
        let names = self.services.verdicts.names_of_keys(&keys, &self.reader(operator))?;
        for ((event, about), names) in events.into_iter().zip(about).zip(names) {
            let Some(first) = names.first() else { continue };
            let others = match about.subjects - 1 {
                0 => String::new(),
                1 => ", and 1 other".to_owned(),
                others => format!(", and {others} others"),
            };
            let named = format!("{}{others}", shown(first));
            event.subject = one_line(&format!("{} about {named} of {}", about.decided, scanned(about.scan)));
        }
        Ok(())
    }
}

/// What a decision is about.
struct About {
    /// The verdict, or the change of labels, in words.
    decided: String,
    scan: u64,
    subjects: usize,
    /// The first subject.
    keys: Vec<Key>,
}

/// A subject by its first document, with the sites of the others.
fn shown(name: &SubjectName) -> String {
    let place = format!("{}/{}: {}", name.site, name.repository, name.path);
    match name.more {
        0 => place,
        more if name.sites.is_empty() => format!("{place} and {more} more"),
        more => format!("{place} and {more} more at {}", name.sites.join(", ")),
    }
}

/// An event in words, and what it decided about.
fn described(brief: &Brief, place: u64) -> Option<(v1::AuditEvent, Option<About>)> {
    let Brief { event, subjects } = brief;
    let what = event.what.as_ref()?;
    let about = match what {
        What::Decided(decision) => Some(About {
            decided: decided_words(decision),
            scan: decision.scan,
            subjects: (*subjects).max(1),
            keys: decision.decided.iter().take(1).filter_map(key_of).collect(),
        }),
        _ => None,
    };
    let (action, subject, detail) = words(what, *subjects);
    let event = v1::AuditEvent {
        place,
        time: event.time,
        by: event.by.clone(),
        action: action.to_owned(),
        subject: one_line(&subject),
        detail: one_line(&detail),
    };
    Some((event, about))
}

fn key_of(decided: &Decided) -> Option<Key> {
    <[u8; 18]>::try_from(decided.key.as_slice()).ok().map(Key)
}

/// The verdict of a decision, or its change of labels.
fn decided_words(decision: &Decision) -> String {
    decision.label.as_ref().map_or_else(|| word(decision.verdict()).to_owned(), change_words)
}

fn words(what: &What, subjects: usize) -> (&'static str, String, String) {
    let none = String::new;
    match what {
        What::Invited(invited) => ("invited", member(&invited.membership), role(&invited.membership)),
        What::Admitted(membership) => ("admitted", member(membership), role(membership)),
        What::Certified(certified) => ("enrolled", name(certified.name.kind(), &certified.name.name), none()),
        What::Renewed(certified) => ("renewed", name(certified.name.kind(), &certified.name.name), none()),
        What::Revoked(member) => ("revoked", name(member.kind(), &member.name), none()),
        What::Forgotten(member) => ("forgot", name(member.kind(), &member.name), none()),
        What::Scan(scan) => {
            let action = match scan.row.step() {
                ScanStep::Syncing => "launched",
                ScanStep::Published => "completed",
                ScanStep::Failed => "failed",
                ScanStep::Cancelled => "ended, cancelled",
                _ => "went on",
            };
            (action, scanned(scan.id), scan.row.failure.clone())
        }
        What::ScanNamed(named) => ("named", scanned(named.id), named.name.clone()),
        What::PartyNamed(named) => ("named", format!("party {}", named.party), named.full_name.clone()),
        What::ScanDeleted(id) => ("deleted", scanned(*id), none()),
        What::Profile(profile) => ("saved", format!("profile {}", profile.name), none()),
        What::ProfileRemoved(name) => ("removed", format!("profile {name}"), none()),
        What::Schedule(schedule) => ("saved", format!("schedule {}", schedule.name), none()),
        What::ScheduleRemoved(name) => ("removed", format!("schedule {name}"), none()),
        What::Template(template) => ("marked", format!("template {:016x}", template.id), template.note.clone()),
        What::TemplateUnmarked(id) => ("took back", format!("template {id:016x}"), none()),
        What::Decided(decision) => {
            let about = match subjects {
                1 => "1 subject".to_owned(),
                count => format!("{count} subjects"),
            };
            let detail = [decision.note.as_str(), decision.filter.as_str()].join(" ").trim().to_owned();
            let decided = decided_words(decision);
            let action = if decision.label.is_some() { "labelled" } else { "decided" };
            (action, format!("{decided} about {about} of {}", scanned(decision.scan)), detail)
        }
        What::FilterSaved(filter) => ("saved", format!("filter {}", filter.name), filter.query.clone()),
        What::SampleDrawn(sample) => (
            "drew",
            format!("sample {} of {} pairs", sample.id, sample.pairs.len()),
            format!("of scan {}", ScanId(sample.scan)),
        ),
        What::SampleJudged(judged) => (
            "answered",
            format!("pair {} of sample {}", judged.pair + 1, judged.sample),
            judged.answer().word().to_owned(),
        ),
        What::FilterRemoved(name) => ("removed", format!("filter {name}"), none()),
        What::Undone(undone) => ("took back", format!("verdict {}", undone.action), none()),
        What::Watch(watch) => ("set up", format!("watch {}", watch.name), watch.note.clone()),
        What::WatchRemoved(name) => ("removed", format!("watch {name}"), none()),
        What::Case(case) => ("opened", format!("case {}", case.name), case.note.clone()),
        What::CaseChecked(checked) => ("asked", format!("case {}", checked.name), none()),
        What::CaseErased(erased) => ("erased an answer of", format!("case {}", erased.name), none()),
        What::Restored(_) => ("restored", "a backup, and made open invitations void".to_owned(), none()),
        // No act: the history leaves checkpoints out.
        What::Checkpoint(_)
        | What::CheckpointEnd(_)
        | What::MemberState(_)
        | What::VerdictState(_)
        | What::ActionState(_)
        | What::VerdictLogged(_) => ("compacted", "this record".to_owned(), none()),
        What::Acted(acted) => {
            let action = match acted.action() {
                Action::Unspecified => "acted",
                Action::LoginAsked => "asked for an address to sign in",
                Action::SignedIn => "signed in",
                Action::SignedOut => "signed out",
                Action::SignInRefused => "was not signed in",
                Action::TokenAsked => "asked for a credential for programs",
                Action::Cancelled => "cancelled",
                Action::Fetched => "took the result of",
                Action::LossAccepted => "went on without a lost part of this record",
            };
            (action, if acted.scan == 0 { none() } else { scanned(acted.scan) }, none())
        }
    }
}

fn scanned(id: u64) -> String {
    format!("scan {}", ScanId(id))
}

fn name(kind: v1::MemberKind, name: &str) -> String {
    let kind = if kind == v1::MemberKind::Operator { "operator" } else { "site" };
    format!("{kind} {name}")
}

fn member(membership: &v1::Membership) -> String {
    name(membership.kind(), &membership.name)
}

fn role(membership: &v1::Membership) -> String {
    let mut words = Vec::new();
    match membership.role() {
        v1::Role::Unspecified => {}
        v1::Role::Viewer => words.push("viewer".to_owned()),
        v1::Role::Analyst => words.push("analyst".to_owned()),
        v1::Role::Administrator => words.push("administrator".to_owned()),
    }
    if !membership.party.is_empty() {
        words.push(format!("party {}", membership.party));
    }
    if !membership.site.is_empty() {
        words.push(format!("site {}", membership.site));
    }
    words.join(", ")
}
