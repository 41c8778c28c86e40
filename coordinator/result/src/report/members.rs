//! The contents of a cluster.

use cognate_fingerprint::ContentDigest;
use rusqlite::params;

use super::Report;
use crate::error::Error;

impl Report {
    /// The cluster whose id begins so, its layer, and the digests of its contents; nothing: there is none.
    ///
    /// # Errors
    /// Fails if there are several, or the file cannot be read.
    pub fn members_of(&self, beginning: &str) -> Result<Option<(String, usize, Vec<ContentDigest>)>, Error> {
        let failed = |error| self.failed(error);
        let mut found = self.clusters_called(beginning).map_err(failed)?;
        match found.len() {
            0 => Ok(None),
            1 => {
                let (id, name, layer) = found.remove(0);
                Ok(Some((name, layer, self.digests_of(id).map_err(failed)?)))
            }
            _ => Err(Error::Invalid(format!("`cluster`: more than one begins with `{beginning}`: type more of it"))),
        }
    }

    /// Two of them at most.
    fn clusters_called(&self, beginning: &str) -> rusqlite::Result<Vec<(i64, String, usize)>> {
        let mut statement =
            self.connection.prepare("SELECT id, name, layer FROM cluster WHERE substr(name, 1, ?) = ? LIMIT 2")?;
        statement
            .query_map(params![beginning.len(), beginning], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect()
    }

    fn digests_of(&self, cluster: i64) -> rusqlite::Result<Vec<ContentDigest>> {
        let mut statement = self.connection.prepare("SELECT digest FROM content WHERE cluster = ? ORDER BY id")?;
        statement.query_map([cluster], |row| row.get::<_, [u8; 16]>(0).map(ContentDigest))?.collect()
    }
}
