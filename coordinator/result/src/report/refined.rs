//! Documents that are worth a scan with another method, and the origin of a refinement.

use cognate_result_file::Refined;
use rusqlite::params;

use super::{RefinedSection, Report};
use crate::error::Error;

/// A document that a result leaves interesting.
pub struct Interesting<'a> {
    pub site: &'a str,
    pub repository: &'a str,
    pub path: &'a [u8],
    pub digest: [u8; 16],
    pub size_bytes: u64,
}

impl Report {
    /// Hands over the documents in clusters of a layer, and those that are unique under it and of a size, in their order.
    pub fn left_interesting(
        &self,
        layer: usize,
        linked: bool,
        unmatched: bool,
        size_bytes_min: u64,
        mut each: impl FnMut(&Interesting<'_>),
    ) -> Result<(), Error> {
        let sql = "SELECT r.site, r.repository, d.path, c.digest, c.size_bytes
                   FROM document d JOIN content c ON c.id = d.content JOIN root r ON r.id = d.root
                   WHERE d.layer = ?4
                     AND ((?1 AND c.cluster IS NOT NULL)
                       OR (?2 AND coalesce(d.layer_status, d.status) = 'unique' AND c.size_bytes >= ?3))
                   ORDER BY d.id";
        let mut statement = self.connection.prepare(sql).map_err(|error| self.failed(error))?;
        let size_bytes_min = i64::try_from(size_bytes_min).unwrap_or(i64::MAX);
        let mut rows =
            statement.query(params![linked, unmatched, size_bytes_min, layer]).map_err(|error| self.failed(error))?;
        while let Some(row) = rows.next().map_err(|error| self.failed(error))? {
            let mut read = || -> rusqlite::Result<()> {
                let (site, repository): (String, String) = (row.get(0)?, row.get(1)?);
                let (path, digest): (Vec<u8>, [u8; 16]) = (row.get(2)?, row.get(3)?);
                let size_bytes = row.get(4)?;
                each(&Interesting { site: &site, repository: &repository, path: &path, digest, size_bytes });
                Ok(())
            };
            read().map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    /// The scan that this one refines, and the chosen documents; nothing if it refines none.
    pub(super) fn refined(&self) -> Result<Option<(String, RefinedSection)>, Error> {
        Ok(self.records::<Refined>("")?.pop().map(|refined| {
            let Refined { scan, what, size_min_bytes, documents, changed } = refined;
            (scan, RefinedSection { changed, documents, size_min_bytes, what: what.into_owned() })
        }))
    }
}
