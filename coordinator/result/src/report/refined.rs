//! Documents that are worth a scan with another method, and the origin of a refinement.

use cognate_result_file::Refined;
use rusqlite::params;

use super::order::RootPlace;
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
        let sql = "SELECT d.root, d.path, c.digest, c.size_bytes FROM document d JOIN content c ON c.id = d.content
                   WHERE d.layer = ?4
                     AND ((?1 AND c.cluster IS NOT NULL)
                       OR (?2 AND coalesce(d.layer_status, d.status) IN ('unique', 'undecided', 'standard_text')
                           AND c.size_bytes >= ?3))
                   ORDER BY d.id";
        let size_bytes_min = i64::try_from(size_bytes_min).unwrap_or(i64::MAX);
        self.each_row(sql, params![linked, unmatched, size_bytes_min, layer], |(root, path, digest, size_bytes)| {
            let RootPlace { site, repository, .. } = self.root(root)?;
            let path: Vec<u8> = path;
            each(&Interesting { site, repository, path: &path, digest, size_bytes });
            Ok(())
        })
    }

    /// The scan that this one refines, and the chosen documents; nothing if it refines none.
    pub(super) fn refined(&self) -> Result<Option<(String, RefinedSection)>, Error> {
        Ok(self.records::<Refined>("")?.pop().map(|refined| {
            let Refined { scan, what, size_min_bytes, documents, changed } = refined;
            (scan, RefinedSection { changed, documents, size_min_bytes, what: what.into_owned() })
        }))
    }
}
