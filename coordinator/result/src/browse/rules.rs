//! Deciding about many clusters by a rule, before anybody looks at them one by one: all that is below given folders, or
//! which document of each cluster stays. A rule is a plan first, which people see; the ties are theirs to decide.

use cognate_proto::v1;
use rusqlite::params_from_iter;

use super::{Browse, ClusterFilter, ClusterRow};
use crate::error::Error;
use crate::plan::{Decision, Group, Keep, Rule, decide};
use crate::report::{DocumentPlace, Located};

/// Documents about which a rule decides at most.
const DOCUMENTS_MAX: usize = 200_000;
/// Clusters of each kind that are named.
const NAMED_MAX: usize = 20;

/// A rule for many clusters.
#[derive(Clone, Debug)]
pub enum BulkRule {
    /// A verdict on every cluster of which all documents are below one of these places.
    Below(Vec<Rule>, v1::Verdict),
    /// In every cluster the first rule that decides says which document stays: it is kept, the others are duplicates, and the
    /// cluster is done.
    Keep(Keep),
}

/// What a rule would decide.
#[derive(Debug, Default)]
pub struct Bulk {
    /// The clusters of the filter.
    pub clusters: u64,
    /// The clusters about which it decides, by their numbers, with the verdict on each.
    pub decided: Vec<(i64, v1::Verdict)>,
    /// The documents about which it decides.
    pub documents: Vec<(v1::Subject, v1::Verdict)>,
    /// Clusters that the rule does not decide, because it does not distinguish their documents.
    pub ties: u64,
    /// The first of the clusters about which it decides.
    pub examples: Vec<ClusterRow>,
    /// The first of the ties.
    pub tied: Vec<ClusterRow>,
}

/// A document of a cluster.
struct Of {
    cluster: i64,
    located: Located,
    path: Vec<u8>,
}

impl Browse {
    /// What a rule would decide about the clusters that a filter lets through.
    ///
    /// # Errors
    /// As [`Browse::clusters`], or if the clusters have too many documents.
    pub fn bulk(&self, filter: &ClusterFilter, rule: &BulkRule) -> Result<Bulk, Error> {
        let condition = self.condition(filter)?;
        let too_many = || {
            Error::Invalid(format!(
                "`filter`: a rule decides about {DOCUMENTS_MAX} documents at most: choose fewer clusters"
            ))
        };
        // Counted first: reading more than a rule decides about takes a second.
        let sql = format!("SELECT coalesce(sum(k.documents), 0) FROM cluster k WHERE {}", condition.sql);
        let counted: u64 = self.report.row(&sql, params_from_iter(&condition.values))?;
        if counted > DOCUMENTS_MAX as u64 {
            return Err(too_many());
        }
        let sql = format!(
            "SELECT c.cluster, {} FROM content c JOIN document d ON d.content = c.id
             WHERE c.cluster IN (SELECT k.id FROM cluster k WHERE {}) ORDER BY c.cluster, d.id LIMIT {}",
            DocumentPlace::select(),
            condition.sql,
            DOCUMENTS_MAX + 1,
        );
        let mut documents = Vec::new();
        self.report.each_row(&sql, params_from_iter(condition.values), |(cluster, place): (i64, DocumentPlace)| {
            let located = self.report.located(&place)?;
            let located = Located { message_id_hash: None, recognised: None, ..located };
            documents.push(Of { cluster, located, path: place.path });
            Ok::<_, Error>(())
        })?;
        if documents.len() > DOCUMENTS_MAX {
            return Err(too_many());
        }
        let mut bulk = Bulk::default();
        for of_cluster in documents.chunk_by(|a, b| a.cluster == b.cluster) {
            bulk.clusters += 1;
            self.add(&mut bulk, of_cluster, rule)?;
        }
        Ok(bulk)
    }

    fn add(&self, bulk: &mut Bulk, documents: &[Of], rule: &BulkRule) -> Result<(), Error> {
        let number = documents.first().map_or(0, |document| document.cluster);
        match rule {
            BulkRule::Below(places, verdict) => {
                let below = |document: &Of| places.iter().any(|place| place.prefers(&document.located));
                if !documents.iter().all(below) {
                    return Ok(());
                }
                bulk.decided.push((number, *verdict));
            }
            BulkRule::Keep(keep) => {
                let decision = keeping(documents, keep);
                if decision.left.is_some() {
                    bulk.ties += 1;
                    if bulk.tied.len() < NAMED_MAX {
                        bulk.tied.extend(self.cluster_numbered(number)?);
                    }
                    return Ok(());
                }
                for (member, document) in decision.members.iter().zip(documents) {
                    let verdict = if member.kept.is_some() { v1::Verdict::Keep } else { v1::Verdict::Duplicate };
                    bulk.documents.push((subject(document), verdict));
                }
                bulk.decided.push((number, v1::Verdict::Done));
            }
        }
        if bulk.examples.len() < NAMED_MAX {
            bulk.examples.extend(self.cluster_numbered(number)?);
        }
        Ok(())
    }
}

fn keeping(documents: &[Of], keep: &Keep) -> Decision {
    let group = Group {
        digest: String::new(),
        size_bytes: 0,
        documents: documents.iter().map(|document| (document.located.clone(), None)).collect(),
        said: Vec::new(),
    };
    decide(group, keep)
}

fn subject(document: &Of) -> v1::Subject {
    v1::Subject {
        kind: v1::SubjectKind::Document.into(),
        site: document.located.site.clone(),
        repository: document.located.repository.clone(),
        path: document.path.clone(),
        ..v1::Subject::default()
    }
}
