//! Deciding, and taking it back.

use cognate_proto::limits::TEXT_BYTES_MAX;
use cognate_proto::name::{ScanId, one_line};
use cognate_proto::v1;
use rusqlite::params;

use super::{ActionRow, Decided, Decision, Key, Undone, refused, sixteen, word};
use crate::browse::{Browse, ClusterFilter, ClusterRow};
use crate::coordinator::Coordinator;
use crate::error::Error;
use crate::journal::What;

/// So many subjects go into one event.
const OF_A_PART: usize = 4096;
/// The members of a cluster are remembered one by one while they are no more than this.
const MEMBERS_MAX: u64 = 64;
const SUBJECTS_MAX: usize = 10_000;
const FILTER_BYTES_MAX: usize = 4096;

/// What somebody decides.
#[derive(Debug)]
pub(crate) struct Wish {
    pub(crate) scan: ScanId,
    pub(crate) verdict: v1::Verdict,
    pub(crate) note: String,
    pub(crate) about: About,
}

/// About what.
#[derive(Debug)]
pub(crate) enum About {
    /// These.
    Subjects(Vec<v1::Subject>),
    /// All clusters that the filter lets through, which are so many where that is said.
    Filter(Box<ClusterFilter>, Option<u64>),
}

impl Wish {
    /// Checks what somebody asks for.
    pub(crate) fn from_wire(request: v1::SetVerdictsRequest) -> Result<Wish, Error> {
        let verdict = request.verdict();
        let v1::SetVerdictsRequest { scan, note, subjects, filter, expected, .. } = request;
        if verdict == v1::Verdict::Unspecified {
            return Err(refused("verdict", "say which"));
        }
        if note.len() > TEXT_BYTES_MAX {
            return Err(refused("note", "it is too long"));
        }
        if subjects.is_empty() == filter.is_empty() {
            return Err(refused("subjects", "say about what: subjects, or a filter"));
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
        Ok(Wish { scan: ScanId(scan), verdict, note: one_line(&note), about })
    }
}

impl Coordinator {
    /// Decides, and answers by which action that can be taken back, and about how many it was.
    ///
    /// # Errors
    /// When there is nothing such in the scan's result, or not as many as were seen.
    pub(crate) fn decide(&self, wish: &Wish, by: &str) -> Result<(u64, u64), Error> {
        let (decided, filter) = match &wish.about {
            About::Subjects(subjects) => {
                let browse = self.browse(wish.scan)?;
                let mut decided = Vec::new();
                for subject in subjects {
                    decided.push(browse.decided(subject)?);
                }
                (decided, String::new())
            }
            About::Filter(filter, expected) => {
                let browse = self.browse_for(wish.scan, filter)?;
                let numbers = browse.cluster_numbers(filter)?;
                let count = numbers.len() as u64;
                if let Some(expected) = expected.filter(|expected| *expected != count) {
                    return Err(Error::Refused(format!(
                        "the filter lets {count} clusters through and not {expected}: look again, and decide about those"
                    )));
                }
                if numbers.is_empty() {
                    return Err(Error::Refused("the filter lets no cluster through".to_owned()));
                }
                let mut decided = Vec::with_capacity(numbers.len());
                for number in numbers {
                    if let Some(cluster) = browse.cluster_numbered(number)? {
                        decided.push(browse.decided_cluster(&cluster)?);
                    }
                }
                let filter = filter.to_query();
                (decided, if filter.is_empty() { "all".to_owned() } else { filter })
            }
        };
        let action = self.store.next_number()?;
        let subjects = decided.len() as u64;
        for (part, decided) in decided.chunks(OF_A_PART).enumerate() {
            let decision = Decision {
                action,
                part: u32::try_from(part).unwrap_or(u32::MAX),
                scan: wish.scan.0,
                verdict: wish.verdict.into(),
                note: wish.note.clone(),
                filter: filter.clone(),
                decided: decided.to_vec(),
            };
            self.record(What::Decided(decision), by)?;
        }
        tracing::info!(action, by, subjects, verdict = word(wish.verdict), "a verdict is set");
        Ok((action, subjects))
    }

    /// The parts of an action that can be taken back; 0: the last one of somebody's that is not undone.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn undoable(&self, action: u64, by: &str) -> Result<(u64, Vec<ActionRow>), Error> {
        let action = match action {
            0 => {
                let mut actions = self.store.verdict_actions();
                let last = actions.find_map(|row| match row {
                    Ok((action, row)) if row.by == by && row.undone == 0 => Some(Ok(action)),
                    Ok(_) => None,
                    Err(error) => Some(Err(error)),
                });
                last.transpose()?.ok_or_else(|| Error::UnknownMember(format!("`{by}` has decided nothing to undo")))?
            }
            action => action,
        };
        let parts = self.store.verdict_action(action)?;
        match parts.first() {
            None => {
                Err(Error::UnknownMember(format!("no verdict {action}: `cognate verdict list --history` shows them")))
            }
            Some(_) => Ok((action, parts)),
        }
    }

    /// Takes a decision back, and answers about how many it was.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) fn undo(&self, action: u64, parts: &[ActionRow], by: &str) -> Result<u64, Error> {
        // Asked again, nothing is undone that was decided since.
        if parts.iter().any(|part| part.undone == 0) {
            self.record(What::Undone(Undone { action }), by)?;
            tracing::info!(action, by, "a verdict is taken back");
        }
        Ok(parts.iter().map(|part| part.keys().count() as u64).sum())
    }

    /// What was decided and undone, latest first.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) fn verdict_history(&self) -> Result<Vec<v1::VerdictAction>, Error> {
        let mut actions: Vec<v1::VerdictAction> = Vec::new();
        for row in self.store.verdict_actions() {
            let (action, row) = row?;
            let subjects = row.keys().count() as u64;
            match actions.last_mut().filter(|last| last.action == action) {
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
                }),
            }
        }
        Ok(actions)
    }
}

impl Browse {
    /// What is remembered of what somebody decides about.
    fn decided(&self, subject: &v1::Subject) -> Result<Decided, Error> {
        match subject.kind() {
            v1::SubjectKind::Cluster => self.decided_cluster(&self.cluster_beginning(&subject.view, &subject.id)?),
            v1::SubjectKind::Identical => {
                let id = one_line(&subject.id);
                let set = self.set_called(&subject.id)?;
                let set = set.ok_or_else(|| Error::UnknownMember(format!("no identical set `{id}`")))?;
                let key = Key::of_set(&set.tier, &set.id).ok_or_else(|| refused("id", "it is no id"))?;
                Ok(Decided {
                    key: key.0.to_vec(),
                    digest: sixteen(&set.members_digest).unwrap_or_default().to_vec(),
                    member_count: set.documents,
                    ..Decided::default()
                })
            }
            v1::SubjectKind::Document => {
                let v1::Subject { site, repository, path, .. } = subject;
                let contents = self.document_at(site, repository, path)?;
                let content = contents.and_then(|contents| contents.into_iter().next());
                let (view, digest) = content.ok_or_else(|| {
                    let shown = one_line(&String::from_utf8_lossy(path));
                    let (site, repository) = (one_line(site), one_line(repository));
                    Error::UnknownMember(format!("no document {site}/{repository}: {shown} was compared"))
                })?;
                Ok(Decided {
                    key: Key::of_document(site, repository, path).0.to_vec(),
                    digest,
                    member_count: 1,
                    site: site.clone(),
                    repository: repository.clone(),
                    view,
                    ..Decided::default()
                })
            }
            v1::SubjectKind::Unspecified => Err(refused("subjects", "say of what kind")),
        }
    }

    fn decided_cluster(&self, cluster: &ClusterRow) -> Result<Decided, Error> {
        let key = Key::of_cluster(&cluster.view, &cluster.id);
        let key = key.ok_or_else(|| Error::UnknownMember(format!("no cluster `{}`", one_line(&cluster.id))))?;
        let mut members = Vec::new();
        if cluster.members <= MEMBERS_MAX {
            let connection = self.report().connection();
            let mut take = || -> rusqlite::Result<()> {
                let mut statement =
                    connection.prepare_cached("SELECT digest FROM content WHERE cluster = ? ORDER BY id")?;
                let mut rows = statement.query(params![cluster.number])?;
                while let Some(row) = rows.next()? {
                    members.extend_from_slice(row.get_ref(0)?.as_blob()?);
                }
                Ok(())
            };
            take().map_err(|error| self.failed(error))?;
        }
        Ok(Decided {
            key: key.0.to_vec(),
            digest: sixteen(&cluster.members_digest).unwrap_or_default().to_vec(),
            members,
            member_count: cluster.members,
            ..Decided::default()
        })
    }
}
