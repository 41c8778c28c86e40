//! Setting verdicts and labels, and undoing them.

use cognate_proto::limits::TEXT_BYTES_MAX;
use cognate_proto::name::{ScanId, one_line};
use cognate_proto::v1;

use cognate_storage::verdict::{ActionRow, Decision, Undone, change_words, word};

use super::{Verdicts, refused};
use crate::error::Error;
use cognate_result::browse::ClusterFilter;
use cognate_result::report::Reader;
use cognate_storage::journal::What;

/// Maximum subjects of one event.
pub(super) const OF_A_PART: usize = 4096;
const SUBJECTS_MAX: usize = 10_000;
const FILTER_BYTES_MAX: usize = 4096;

/// A request to set a verdict, or to change labels.
#[derive(Debug)]
pub struct VerdictRequest {
    scan: ScanId,
    /// Unspecified for labels.
    verdict: v1::Verdict,
    label: Option<v1::LabelChange>,
    note: String,
    about: About,
}

/// The subjects.
#[derive(Debug)]
enum About {
    /// These.
    Subjects(Vec<v1::Subject>),
    /// All clusters that match the filter; their number, if the request has one, must fit.
    Filter(Box<ClusterFilter>, Option<u64>),
}

impl VerdictRequest {
    /// Checks a request.
    ///
    /// # Errors
    /// Fails if it names no verdict, no subject, or too much.
    pub fn from_wire(request: v1::SetVerdictsRequest) -> Result<VerdictRequest, Error> {
        let verdict = request.verdict();
        let v1::SetVerdictsRequest { scan, note, subjects, filter, expected, label, .. } = request;
        match (verdict, &label) {
            (v1::Verdict::Unspecified, None) => return Err(refused("verdict", "say which")),
            (v1::Verdict::Unspecified, Some(_)) | (_, None) => {}
            (_, Some(_)) => return Err(refused("label", "a verdict and labels are two decisions")),
        }
        let label = label.map(super::label::checked).transpose()?;
        if label.is_some() && subjects.iter().any(|subject| subject.kind() != v1::SubjectKind::Cluster) {
            return Err(refused("label", "only clusters have labels"));
        }
        if note.len() > TEXT_BYTES_MAX {
            return Err(refused("note", "it is too long"));
        }
        if subjects.is_empty() == filter.is_empty() {
            return Err(refused("subjects", "name the subjects, or a filter"));
        }
        if subjects.len() > SUBJECTS_MAX {
            return Err(refused("subjects", format!("at most {SUBJECTS_MAX} at once: a filter takes any number")));
        }
        if filter.len() > FILTER_BYTES_MAX {
            return Err(refused("filter", "it is too long"));
        }
        let about = match filter.as_str() {
            "" => About::Subjects(subjects),
            "all" => About::Filter(Box::default(), expected),
            filter => About::Filter(Box::new(filter.parse()?), expected),
        };
        Ok(VerdictRequest { scan: ScanId(scan), verdict, label, note: one_line(&note), about })
    }

    /// The scans whose results are read: its own, and that of which a filter asks what changed since.
    pub fn scans(&self) -> impl Iterator<Item = ScanId> {
        let since = if let About::Filter(filter, _) = &self.about { filter.since } else { None };
        std::iter::once(self.scan).chain(since)
    }
}

impl Verdicts {
    /// Sets a verdict within what its author may read; answers the action, by which it can be undone, and the number of subjects.
    ///
    /// # Errors
    /// Fails if a subject is not in the scan's result, or the number of subjects differs from the expected one.
    pub fn decide(&self, request: &VerdictRequest, by: &str, reader: &Reader) -> Result<(u64, u64), Error> {
        let (decided, filter, party) = match &request.about {
            About::Subjects(subjects) => {
                let browse = self.results.browse(request.scan, reader)?;
                let mut decided = Vec::new();
                for subject in subjects {
                    decided.push(browse.decided(subject)?);
                }
                (decided, String::new(), browse.party().map(str::to_owned))
            }
            About::Filter(filter, expected) => {
                let browse = self.results.browse_for(request.scan, filter, reader)?;
                let numbers = browse.cluster_numbers(filter)?;
                let count = numbers.len() as u64;
                if let Some(expected) = expected.filter(|expected| *expected != count) {
                    return Err(Error::Refused(format!(
                        "{count} clusters match the filter, not {expected}: reload the list and decide again"
                    )));
                }
                if numbers.is_empty() {
                    return Err(Error::Refused("no cluster matches the filter".to_owned()));
                }
                let mut decided = Vec::with_capacity(numbers.len());
                for number in numbers {
                    if let Some(cluster) = browse.cluster_numbered(number)? {
                        decided.push(browse.decided_cluster(&cluster)?);
                    }
                }
                let filter = filter.to_query();
                (decided, if filter.is_empty() { "all".to_owned() } else { filter }, browse.party().map(str::to_owned))
            }
        };
        let action = self.records.store.next_number()?;
        let subjects = decided.len() as u64;
        let mut decisions = Vec::new();
        for (part, decided) in decided.chunks(OF_A_PART).enumerate() {
            let decision = Decision {
                action,
                part: u32::try_from(part).unwrap_or(u32::MAX),
                scan: request.scan.0,
                verdict: request.verdict.into(),
                note: request.note.clone(),
                filter: filter.clone(),
                decided: decided.to_vec(),
                party: party.clone().unwrap_or_default(),
                is_bound: reader.party.is_some(),
                label: request.label.clone(),
            };
            self.check_tags(&decision)?;
            decisions.push(decision);
        }
        for decision in decisions {
            match decision.part {
                0 => self.records.record(What::Decided(decision), by)?,
                _ => self.records.record_part(What::Decided(decision), by)?,
            }
        }
        match &request.label {
            None => tracing::info!(action, by, subjects, verdict = word(request.verdict), "a verdict is set"),
            Some(change) => tracing::info!(action, by, subjects, change = change_words(change), "labels are changed"),
        }
        Ok((action, subjects))
    }

    /// The events of an action that can be undone; 0: the last action of the person that is not undone.
    ///
    /// # Errors
    /// Fails if there is none.
    pub fn undoable(&self, action: u64, by: &str) -> Result<(u64, Vec<ActionRow>), Error> {
        let action = match action {
            0 => {
                let mut actions = self.records.store.verdict_actions();
                let last = actions.find_map(|row| match row {
                    Ok((action, row)) if row.by == by && row.undone == 0 => Some(Ok(action)),
                    Ok(_) => None,
                    Err(error) => Some(Err(error)),
                });
                last.transpose()?.ok_or_else(|| Error::Unknown(format!("`{by}` has decided nothing to undo")))?
            }
            action => action,
        };
        let parts = self.records.store.verdict_action(action)?;
        match parts.first() {
            None => Err(Error::Unknown(format!("no verdict {action}: `cognate verdict list --history` shows them"))),
            Some(_) => Ok((action, parts)),
        }
    }

    /// Undoes an action, and returns the number of its subjects.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub fn undo(&self, action: u64, parts: &[ActionRow], by: &str) -> Result<u64, Error> {
        // A repeated request does not undo later decisions.
        if parts.iter().any(|part| part.undone == 0) {
            self.records.record(What::Undone(Undone { action }), by)?;
            tracing::info!(action, by, "a verdict is taken back");
        }
        Ok(parts.iter().map(|part| part.keys().count() as u64).sum())
    }

    /// The verdicts that were set and undone, latest first.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub fn verdict_history(&self) -> Result<Vec<v1::VerdictAction>, Error> {
        let mut actions: Vec<v1::VerdictAction> = Vec::new();
        for row in self.records.store.verdict_actions() {
            let (action, row) = row?;
            let subjects = row.keys().count() as u64;
            // A rule sets several verdicts in one action.
            let is_same = |last: &&mut v1::VerdictAction| last.action == action && last.verdict == row.verdict;
            match actions.last_mut().filter(is_same) {
                Some(last) => last.subjects += subjects,
                None => actions.push(v1::VerdictAction {
                    action,
                    scan: row.scan,
                    verdict: row.verdict,
                    note: row.note,
                    by: row.by,
                    time: row.time,
                    subjects,
                    filter: row.filter,
                    undone_by: row.undone_by,
                    undone: row.undone,
                    label: row.label,
                }),
            }
        }
        Ok(actions)
    }
}
