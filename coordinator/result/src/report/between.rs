//! Changes between two repositories: the documents of each that are the same, changed, moved or missing at the other.

use cognate_result_file::Change;

use super::{ChangesRow, ClusterSection, Report};
use crate::error::Error;

/// True for a cluster `k` of two documents at one place, each of which changed there: their rows with the partner say so.
const IN_PLACE: &str = "k.members = 2 AND k.documents = 2
  AND 1 = (SELECT count(DISTINCT min(l.id, coalesce(l.counterpart, l.id))) FROM content c
    JOIN document d ON d.content = c.id JOIN document l ON l.id = CASE WHEN d.listed THEN d.id ELSE d.other END
    WHERE c.cluster = k.id)
  AND NOT EXISTS (SELECT 1 FROM content c JOIN document d ON d.content = c.id
    JOIN document l ON l.id = CASE WHEN d.listed THEN d.id ELSE d.other END
    JOIN document t ON t.id = CASE WHEN l.partner_in_other THEN l.other ELSE l.id END
    WHERE c.cluster = k.id AND (t.partner_in_place IS NOT 1 OR t.partner_relation = 'identical'))";

impl Report {
    /// Of a scan of two repositories, what became of the documents of each at the other; else nothing.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn changes(&self) -> Result<Vec<ChangesRow>, Error> {
        if self.roots.len() != 2 || self.is_part() {
            return Ok(Vec::new());
        }
        let row = |Change { root, same, changed, moved, standard_text, not_decided, only_here }| {
            let (from, to) = (self.root(root)?, self.root(1 - root)?);
            Ok(ChangesRow {
                changed,
                from_repository: from.repository.clone(),
                from_site: from.site.clone(),
                moved,
                not_decided,
                only: only_here,
                same,
                standard_text,
                to_repository: to.repository.clone(),
                to_site: to.site.clone(),
            })
        };
        let rows = self.records("ORDER BY t.root")?.into_iter().map(row);
        Ok(self.sort_roots(rows.collect::<Result<_, Error>>()?))
    }

    /// Of a scan of two repositories, the number of clusters of a view that are one document, changed at its place.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn clusters_in_place(&self, view: usize) -> Result<u64, Error> {
        if self.roots.len() != 2 || self.is_part() {
            return Ok(0);
        }
        self.row(&format!("SELECT count(*) FROM cluster k WHERE k.layer = {view} AND {IN_PLACE}"), ())
    }

    /// The other clusters of a view.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or `each` fails.
    pub fn clusters_elsewhere<E: From<Error>>(
        &self,
        view: usize,
        each: impl FnMut(ClusterSection) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.clusters_in_place(view)? {
            0 => self.clusters_of(view, each),
            _ => self.clusters_where(view, &format!("NOT ({IN_PLACE})"), each),
        }
    }
}
