//! Decisions with the names of what they are about: the store knows clusters and sets by ids and documents by hashes, and the
//! result in which they were seen has their paths.

use std::collections::HashMap;

use cognate_proto::name::ScanId;
use cognate_proto::v1;

use super::Verdicts;
use crate::error::Error;
use cognate_result::report::Reader;
use cognate_storage::verdict::{CLUSTER, IDENTICAL, Key};

/// Subjects of an action that are named.
const NAMED_MAX: usize = 3;
/// Results that are opened for names: the decisions about others keep their numbers alone.
const SCANS_MAX: usize = 16;

/// The subject of a decision, by its names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SubjectName {
    /// `cluster`, `identical set` or `document`.
    pub kind: &'static str,
    /// The site of its first document.
    pub site: String,
    /// The repository of that.
    pub repository: String,
    /// The path of that.
    pub path: String,
    /// Its sites, if they are several: the other side is among them.
    pub sites: Vec<String>,
    /// Its documents beyond the first.
    pub more: u64,
    /// Its page within the result: `clusters/raw/…`, `identical/…`, or empty.
    pub page: String,
}

impl Verdicts {
    /// The names of what actions are about, the first of each: by action and verdict.
    ///
    /// # Errors
    /// Fails if the store cannot be read. A result that cannot be read gives no names.
    pub fn names_of(
        &self,
        actions: &[v1::VerdictAction],
        reader: &Reader,
    ) -> Result<HashMap<(u64, i32), Vec<SubjectName>>, Error> {
        let mut about = Vec::new();
        for action in actions {
            let parts = self.records.store.verdict_action(action.action)?;
            let keys = parts.iter().filter(|part| part.verdict == action.verdict).flat_map(|part| part.keys());
            about.push((action.scan, keys.take(NAMED_MAX).collect()));
        }
        let names = self.names_of_keys(&about, reader)?;
        Ok(actions.iter().map(|action| (action.action, action.verdict)).zip(names).collect())
    }

    /// The names of subjects in the results of scans, in the order of the subjects: the first of each row.
    ///
    /// # Errors
    /// As [`Verdicts::names_of`].
    pub fn names_of_keys(&self, about: &[(u64, Vec<Key>)], reader: &Reader) -> Result<Vec<Vec<SubjectName>>, Error> {
        let mut scans: Vec<u64> = Vec::new();
        for (scan, _) in about {
            if !scans.contains(scan) {
                scans.push(*scan);
            }
        }
        let mut names = vec![Vec::new(); about.len()];
        for scan in scans.into_iter().take(SCANS_MAX) {
            let Ok(browse) = self.results.browse(ScanId(scan), reader) else { continue };
            for ((_, keys), named) in about.iter().zip(&mut names).filter(|((of, _), _)| *of == scan) {
                for key in keys.iter().take(NAMED_MAX) {
                    named.extend(self.name_of(&browse, *key)?);
                }
            }
        }
        Ok(names)
    }

    fn name_of(&self, browse: &cognate_result::browse::Browse, key: Key) -> Result<Option<SubjectName>, Error> {
        let subject = key.subject();
        match key.0[0] {
            CLUSTER => Ok(browse.cluster_called(&subject.view, &subject.id)?.map(|cluster| SubjectName {
                kind: "cluster",
                more: cluster.documents.saturating_sub(1),
                site: cluster.site,
                repository: cluster.repository,
                path: cluster.path,
                sites: cluster.sites,
                page: format!("clusters/{}/{}", cluster.view, cluster.id),
            })),
            IDENTICAL => Ok(browse.set_called(&subject.id)?.map(|set| SubjectName {
                kind: "identical set",
                more: set.documents.saturating_sub(1),
                site: set.site,
                repository: set.repository,
                path: set.path,
                sites: set.sites,
                page: format!("identical/{}", set.id),
            })),
            _ => {
                let Some(row) = self.records.store.verdict(key)? else { return Ok(None) };
                let Some(entry) = row.entries.last() else { return Ok(None) };
                let Some((subject, _)) = browse.document_state(key, entry)? else { return Ok(None) };
                Ok(Some(SubjectName {
                    kind: "document",
                    site: subject.site,
                    repository: subject.repository,
                    path: cognate_proto::path::printable(&subject.path).into_owned(),
                    ..SubjectName::default()
                }))
            }
        }
    }
}
