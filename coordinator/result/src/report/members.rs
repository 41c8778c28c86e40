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
        let sql = "SELECT id, name, layer FROM cluster WHERE substr(name, 1, ?) = ? LIMIT 2";
        let mut found: Vec<(i64, String, usize)> = self.rows(sql, params![beginning.len(), beginning])?;
        let Some((id, name, layer)) = found.pop() else { return Ok(None) };
        if !found.is_empty() {
            return Err(Error::Invalid(format!("`cluster`: more than one begins with `{beginning}`: type more of it")));
        }
        let digests = self.rows("SELECT digest FROM content WHERE cluster = ? ORDER BY id", [id])?;
        Ok(Some((name, layer, digests.into_iter().map(ContentDigest).collect())))
    }
}
