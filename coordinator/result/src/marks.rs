//! Verdicts on a result: the clusters that have one, and if it still holds; and the labels of clusters. They are read from the
//! tables that `join` fills.

use std::collections::HashSet;

use cognate_proto::v1;
use rusqlite::params;

use crate::browse::{Browse, ClusterRow, SetRow};
use crate::error::Error;
use crate::report::{FoundView, hex, time};
use cognate_storage::store::Store;
use cognate_storage::verdict::{self, CLUSTER, DOCUMENT, IDENTICAL, Key, Labels, VerdictEntry, word};

/// A view, and the content under it.
type Named = (String, Vec<u8>);

/// A verdict as it is shown.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Mark {
    /// By which action.
    pub(crate) action: u64,
    /// Name of the reviewer.
    pub by: String,
    /// Why it does not hold any more; nothing: it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<String>,
    /// Note for other people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// In the result of which scan it was seen.
    #[serde(skip)]
    pub(crate) scan: u64,
    /// Time of the verdict.
    pub time: String,
    /// The same, in seconds since 1970.
    #[serde(skip)]
    pub(crate) seconds: i64,
    /// The verdict.
    pub verdict: &'static str,
}

/// The tags and the people that clusters of a result have, in the order of their names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LabelsInUse {
    /// The tags.
    pub tags: Vec<String>,
    /// The people.
    pub people: Vec<String>,
}

/// A person, and how many clusters are assigned to that person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AssigneeInUse {
    /// The name of the person.
    pub name: String,
    /// Clusters of that person.
    pub clusters: u64,
    /// Those without a verdict that holds.
    pub open: u64,
}

impl Mark {
    pub(super) fn of(entry: &VerdictEntry, changed: Option<String>) -> Mark {
        Mark {
            action: entry.action,
            by: entry.by.clone(),
            changed,
            note: entry.note.clone(),
            scan: entry.scan,
            time: time(entry.time),
            seconds: entry.time,
            verdict: word(entry.verdict()),
        }
    }
}

impl Browse {
    /// The labels of a cluster.
    ///
    /// # Errors
    /// Fails if the result cannot be read.
    pub fn labels_of_cluster(&self, number: i64) -> Result<Labels, Error> {
        let sql = "SELECT is_tag, word FROM temp.label WHERE cluster = ? ORDER BY 1, 2";
        let words: Vec<(bool, String)> = self.report().rows(sql, [number])?;
        let mut labels = Labels::default();
        for (is_tag, word) in words {
            match is_tag {
                true => drop(labels.tags.insert(word)),
                false => labels.assignee = word,
            }
        }
        Ok(labels)
    }

    /// The tags and the people that clusters of this result have. It takes as long as there are words, however many clusters have
    /// them.
    ///
    /// # Errors
    /// Fails if the result cannot be read.
    pub fn labels_in_use(&self) -> Result<LabelsInUse, Error> {
        let words = |is_tag: bool| -> Result<Vec<String>, Error> {
            let sql = "SELECT min(word) FROM temp.label WHERE is_tag = ? AND word > ?";
            let mut words: Vec<String> = Vec::new();
            loop {
                let last = words.last().map_or("", String::as_str);
                match self.report().row::<Option<String>>(sql, params![is_tag, last])? {
                    Some(word) => words.push(word),
                    None => return Ok(words),
                }
            }
        };
        Ok(LabelsInUse { tags: words(true)?, people: words(false)? })
    }

    /// The people to whom clusters of this result are assigned, each with the number of clusters, and of those without a
    /// verdict that holds.
    ///
    /// # Errors
    /// Fails if the result cannot be read.
    pub fn assignees_in_use(&self) -> Result<Vec<AssigneeInUse>, Error> {
        // Grouped in the order of the table's key, so that nothing is sorted.
        let sql = "SELECT word, count(*), sum(open) FROM (
                     SELECT word, NOT EXISTS (SELECT 1 FROM temp.mark m WHERE m.cluster = l.cluster AND NOT m.changed) AS open
                     FROM temp.label l WHERE is_tag = 0 GROUP BY word, cluster)
                   GROUP BY word ORDER BY word";
        let rows = self.report().rows(sql, ())?.into_iter();
        Ok(rows.map(|(name, clusters, open)| AssigneeInUse { name, clusters, open }).collect())
    }

    /// The verdict on a cluster.
    pub fn mark_of_cluster(&self, store: &Store, cluster: &ClusterRow) -> Result<Option<Mark>, Error> {
        let sql = "SELECT key, changed FROM temp.mark WHERE cluster = ?";
        let found: Option<([u8; 18], bool)> = self.report().first_row(sql, [cluster.number])?;
        let Some((key, changed)) = found else { return Ok(None) };
        let Some(row) = store.verdict(Key(key))? else { return Ok(None) };
        let Some(entry) = self.in_force(&row) else { return Ok(None) };
        let why = if changed { Some(self.why_changed(entry, cluster)?) } else { None };
        Ok(Some(Mark::of(entry, why)))
    }

    /// Changes of a cluster's members since the verdict.
    fn why_changed(&self, entry: &VerdictEntry, cluster: &ClusterRow) -> Result<String, Error> {
        let decided = &entry.decided;
        let before: HashSet<[u8; 16]> = decided.members.as_chunks().0.iter().copied().collect();
        if before.len() as u64 != decided.member_count {
            return Ok(format!("it had {} members and has {}", decided.member_count, cluster.members));
        }
        let now = self.report().rows("SELECT digest FROM content WHERE cluster = ?", [cluster.number])?;
        let now: HashSet<[u8; 16]> = now.into_iter().collect();
        let (gone, added) = (before.difference(&now).count(), now.difference(&before).count());
        let counted = |count: usize, what: &str| match count {
            0 => None,
            1 => Some(format!("1 member {what}")),
            count => Some(format!("{count} members {what}")),
        };
        let changes: Vec<String> = [counted(gone, "gone"), counted(added, "added")].into_iter().flatten().collect();
        Ok(changes.join(", "))
    }

    /// The verdict on an identical set.
    pub fn mark_of_set(&self, store: &Store, set: &SetRow) -> Result<Option<Mark>, Error> {
        let Some(key) = Key::of_set(&set.tier, &set.id) else { return Ok(None) };
        let Some(row) = store.verdict(key)? else { return Ok(None) };
        Ok(self.in_force(&row).map(|entry| {
            let changed = hex(&entry.decided.digest) != set.members_digest;
            let why = || match (entry.decided.member_count, set.documents) {
                (before, now) if before == now => "its documents are at other places".to_owned(),
                (before, now) => format!("it had {before} documents and has {now}"),
            };
            Mark::of(entry, changed.then(why))
        }))
    }

    /// The verdict on a document, which has this content under this view.
    pub fn mark_of_document(
        &self,
        store: &Store,
        (site, repository, path): (&str, &str, &[u8]),
        (view, digest): (&str, &str),
    ) -> Result<Option<Mark>, Error> {
        let Some(row) = store.verdict(Key::of_document(site, repository, path))? else { return Ok(None) };
        let Some(entry) = self.in_force(&row) else { return Ok(None) };
        // Its content under the other view is searched for only if that has a verdict.
        let same = match entry.decided.view == view {
            true => hex(&entry.decided.digest) == digest,
            false => self.document_at(site, repository, path)?.is_some_and(|all| {
                all.iter().any(|(of, digest)| *of == entry.decided.view && *digest == entry.decided.digest)
            }),
        };
        Ok(Some(Mark::of(entry, (!same).then(|| "its content has changed".to_owned()))))
    }

    /// All verdicts about clusters and sets of this result, and those about documents whose content is in a cluster or set.
    pub fn verdict_states<E: From<Error>>(
        &self,
        store: &Store,
        mut each: impl FnMut(v1::VerdictState) -> Result<(), E>,
    ) -> Result<(), E> {
        for entry in store.verdicts() {
            let (key, row) = entry.map_err(Error::from)?;
            if key.0[0] == CLUSTER {
                if let Some(state) = self.cluster_state(store, key)? {
                    each(state)?;
                }
                continue;
            }
            let Some(last) = self.in_force(&row) else { continue };
            let state = match key.0[0] {
                IDENTICAL => match self.set_called(&hex(&key.0[2..]))? {
                    Some(set) => self.mark_of_set(store, &set)?.map(|mark| (key.subject(), mark)),
                    None => None,
                },
                DOCUMENT => self.document_state(key, last)?,
                _ => None,
            };
            if let Some((subject, mark)) = state {
                each(state_of(subject, last.verdict, mark))?;
            }
        }
        Ok(())
    }

    fn cluster_state(&self, store: &Store, key: Key) -> Result<Option<v1::VerdictState>, Error> {
        let sql = "SELECT cluster FROM temp.subject WHERE key = ?";
        let Some(number) = self.report().first_row::<i64>(sql, [key.0])? else { return Ok(None) };
        // Where a cluster goes on in the place of several, it is told once.
        let sql = "SELECT coalesce((SELECT key FROM temp.mark WHERE cluster = ?1), (SELECT min(key) FROM temp.subject WHERE cluster = ?1))";
        if self.report().first_row::<[u8; 18]>(sql, [number])? != Some(key.0) {
            return Ok(None);
        }
        let Some(cluster) = self.cluster_numbered(number)? else { return Ok(None) };
        let labels = self.labels_of_cluster(number)?;
        let mark = self.mark_of_cluster(store, &cluster)?;
        if mark.is_none() && labels.is_empty() {
            return Ok(None);
        }
        // If it continues under another id, that one is returned.
        let subject = v1::Subject { id: cluster.id, ..key.subject() };
        let verdict = mark.as_ref().and_then(|mark| verdict::parse(mark.verdict)).unwrap_or_default();
        let state = match mark {
            Some(mark) => state_of(subject, verdict.into(), mark),
            None => v1::VerdictState { subject: Some(subject), ..v1::VerdictState::default() },
        };
        Ok(Some(v1::VerdictState { tags: labels.tags.into_iter().collect(), assignee: labels.assignee, ..state }))
    }

    /// A document is found by its content: its verdict says where it is as a hash alone.
    ///
    /// # Errors
    /// Fails if the result cannot be read.
    pub fn document_state(&self, key: Key, entry: &VerdictEntry) -> Result<Option<(v1::Subject, Mark)>, Error> {
        let decided = &entry.decided;
        let Some(root) = self.report().root_number(&decided.site, &decided.repository) else { return Ok(None) };
        let sql = "SELECT path FROM document
                   WHERE content IN (SELECT id FROM content WHERE digest = ?1 AND cluster IS NOT NULL
                                     UNION SELECT c.id FROM identical i JOIN content c ON c.identical = i.id
                                     WHERE i.name = ?2 AND i.tier IN ('same bytes', 'same text'))
                     AND root = ?3";
        let paths: Vec<Vec<u8>> = self.report().rows(sql, params![decided.digest, hex(&decided.digest), root])?;
        let is_its = |path: &Vec<u8>| Key::of_document(&decided.site, &decided.repository, path) == key;
        let found = paths.into_iter().find(is_its);
        Ok(found.map(|path| {
            let subject = v1::Subject {
                site: decided.site.clone(),
                repository: decided.repository.clone(),
                path,
                ..key.subject()
            };
            (subject, Mark::of(entry, None))
        }))
    }

    /// Under which views a document has which content; nothing: it is not in this result.
    pub fn document_at(&self, site: &str, repository: &str, path: &[u8]) -> Result<Option<Vec<Named>>, Error> {
        let found = self.report().find(site, repository, path)?;
        let named = |view: FoundView| (self.report().views()[view.view].clone(), view.digest.0.to_vec());
        let all: Vec<Named> = found.into_iter().flat_map(|found| found.views).map(named).collect();
        Ok(Some(all).filter(|all| !all.is_empty()))
    }
}

fn state_of(subject: v1::Subject, verdict: i32, mark: Mark) -> v1::VerdictState {
    v1::VerdictState {
        subject: Some(subject),
        verdict,
        note: mark.note,
        by: mark.by,
        time: mark.seconds,
        scan: mark.scan,
        action: mark.action,
        changed: mark.changed.unwrap_or_default(),
        ..v1::VerdictState::default()
    }
}
