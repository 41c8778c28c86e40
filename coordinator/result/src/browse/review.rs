//! How far a review is, and the links from which a blind sample is drawn.

use std::collections::BTreeMap;

use rusqlite::{params, params_from_iter};

use super::{Browse, ClusterFilter, Place};
use crate::error::Error;
use crate::report::DocumentPlace;

/// How far the review of a result is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// All clusters.
    pub clusters: u64,
    /// With a verdict that holds.
    pub decided: u64,
    /// With a verdict that does not hold any more.
    pub changed: u64,
    /// Clusters by the person whose verdict holds.
    pub by_person: BTreeMap<String, u64>,
    /// Clusters by the verdict that holds.
    pub by_verdict: BTreeMap<String, u64>,
}

impl Progress {
    /// Clusters without a verdict that holds.
    pub fn open(&self) -> u64 {
        self.clusters.saturating_sub(self.decided)
    }
}

/// A link from which a sample may be drawn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SampledLink {
    /// The view under which its contents are linked.
    pub view: String,
    /// The digests of its contents.
    pub digests: [Vec<u8>; 2],
    /// Its similarity, in ten-thousandths.
    pub similarity: i64,
}

/// A document of a sampled pair.
#[derive(Clone, Debug)]
pub struct SampledDocument {
    /// Its place.
    pub place: Place,
    /// Its size.
    pub size_bytes: u64,
}

/// The similarity of a link `l`: its resemblance, or where the method measures none, the greater containment.
const SIMILARITY: &str = "coalesce(l.resemblance, max(coalesce(l.a_in_b, 0), coalesce(l.b_in_a, 0)))";

impl Browse {
    /// How far the review is.
    ///
    /// # Errors
    /// Fails if the result cannot be read.
    pub fn progress(&self) -> Result<Progress, Error> {
        let clusters = self.report.row("SELECT count(*) FROM cluster", ())?;
        let mut progress = Progress { clusters, ..Progress::default() };
        let sql = "SELECT by, verdict, changed, count(*) FROM temp.mark GROUP BY 1, 2, 3";
        for (by, verdict, changed, count) in self.report.rows::<(String, String, bool, u64)>(sql, ())? {
            if changed {
                progress.changed += count;
                continue;
            }
            progress.decided += count;
            *progress.by_person.entry(by).or_default() += count;
            *progress.by_verdict.entry(verdict).or_default() += count;
        }
        Ok(progress)
    }

    /// The links of the clusters that a filter lets through, the least similar first, as their numbers.
    ///
    /// # Errors
    /// As [`Browse::clusters`].
    pub fn links_by_similarity(&self, filter: &ClusterFilter) -> Result<Vec<i64>, Error> {
        let condition = self.condition(filter)?;
        let sql = format!(
            "SELECT l.rowid FROM link l JOIN cluster k ON k.id = l.cluster WHERE {} ORDER BY {SIMILARITY}, l.rowid",
            condition.sql
        );
        self.report.rows(&sql, params_from_iter(condition.values))
    }

    /// A link by its number.
    ///
    /// # Errors
    /// Fails if the result cannot be read.
    pub fn sampled_link(&self, number: i64) -> Result<Option<SampledLink>, Error> {
        let sql = format!(
            "SELECT v.view, a.digest, b.digest, {SIMILARITY} FROM link l JOIN content a ON a.id = l.a
             JOIN content b ON b.id = l.b JOIN layer v ON v.number = a.layer WHERE l.rowid = ?"
        );
        let link = |(view, a, b, similarity)| SampledLink { view, digests: [a, b], similarity };
        Ok(self.report.first_row(&sql, [number])?.map(link))
    }

    /// The first document of a content of a cluster, by view and digest.
    ///
    /// # Errors
    /// Fails if the result cannot be read.
    pub fn document_of_content(&self, view: &str, digest: &[u8]) -> Result<Option<SampledDocument>, Error> {
        let sql = format!(
            "SELECT {}, c.size_bytes
             FROM content c JOIN layer v ON v.number = c.layer JOIN document d ON d.content = c.id
             WHERE c.digest = ?1 AND c.cluster IS NOT NULL AND v.view = ?2 ORDER BY d.id LIMIT 1",
            DocumentPlace::select()
        );
        let found = self.report.first_row(&sql, params![digest, view])?;
        let document = |(place, size_bytes)| Ok(SampledDocument { place: Place::of(&self.report, place)?, size_bytes });
        found.map(document).transpose()
    }
}
