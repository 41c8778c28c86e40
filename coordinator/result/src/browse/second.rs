//! The other document of a pair, for lists that name both.

use rusqlite::params;

use super::{Browse, ClusterRow, Place};
use crate::error::Error;

impl Browse {
    /// A document of another member than the representative: of a pair, the other one.
    ///
    /// # Errors
    /// Fails if the result cannot be read.
    pub fn second_document(&self, cluster: &ClusterRow) -> Result<Option<Place>, Error> {
        // In the order of the numbers, so that a group of many members costs no more than a pair.
        let sql = "SELECT r.site, r.repository, d.path, d.modified, d.recognised
                   FROM content c JOIN document d ON d.content = c.id JOIN root r ON r.id = d.root
                   WHERE c.cluster = ?1 AND c.id <> (SELECT representative FROM cluster WHERE id = ?1)
                   ORDER BY c.id, d.id LIMIT 1";
        self.one(sql, params![cluster.number], Place::read)
    }
}
