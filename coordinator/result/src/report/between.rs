//! Changes between two repositories: the documents of each that are the same, changed, moved or missing at the other.

use super::{ChangesRow, ClusterSection, Report};
use crate::error::Error;

/// Statuses of documents that have nothing to compare.
const NOTHING: &str = "'excluded(empty)', 'excluded(no text)', 'excluded(container)'";

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
        // It looks at every document, and most formats say it more than once.
        let rows = match self.changes.get() {
            Some(rows) => rows,
            None => {
                let found = self.count_changes()?;
                self.changes.get_or_init(|| found)
            }
        };
        let mut places: Vec<usize> = (0..rows.len()).collect();
        places.sort_by_key(|root| self.place_of_root(*root));
        Ok(places.into_iter().map(|root| rows[root].clone()).collect())
    }

    /// The same by the numbers of the repositories.
    fn count_changes(&self) -> Result<[ChangesRow; 2], Error> {
        let names = self.collect("SELECT site, repository FROM root ORDER BY id", |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        })?;
        let row = |from: usize| {
            let [(from_site, from_repository), (to_site, to_repository)] =
                [from, 1 - from].map(|root| names[root].clone());
            ChangesRow { changed: 0, from_repository, from_site, moved: 0, only: 0, same: 0, to_repository, to_site }
        };
        let mut rows = [row(0), row(1)];
        for (row, root) in rows.iter_mut().zip(0..) {
            let sql = format!(
                "SELECT sum(t.partner_in_place AND t.partner_relation = 'identical'),
                        sum(t.partner_in_place AND t.partner_relation <> 'identical'), sum(NOT t.partner_in_place),
                        sum(t.partner_in_place IS NULL AND t.status NOT IN ({NOTHING}))
                 FROM {}",
                self.fated_of(root)?
            );
            (row.same, row.changed, row.moved, row.only) = self.one(&sql, |found| {
                let count = |column: usize| found.get::<_, Option<u64>>(column).map(Option::unwrap_or_default);
                Ok((count(0)?, count(1)?, count(2)?, count(3)?))
            })?;
        }
        let rewritten = self.rewritten()?;
        for row in &mut rows {
            row.changed += rewritten;
            row.only -= rewritten;
        }
        Ok(rows)
    }

    /// Of a scan of two repositories, the number of clusters of a view that are one document, changed at its place.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn clusters_in_place(&self, view: usize) -> Result<u64, Error> {
        if self.roots.len() != 2 || self.is_part() {
            return Ok(0);
        }
        self.one(&format!("SELECT count(*) FROM cluster k WHERE k.layer = {view} AND {IN_PLACE}"), |row| row.get(0))
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

    /// Number of documents that both have at one place with too little in common for a link: they changed, and are missing
    /// nowhere.
    fn rewritten(&self) -> Result<u64, Error> {
        let alone = |row: &str| format!("{row}.partner_in_place IS NULL AND {row}.status NOT IN ({NOTHING})");
        let sql = format!(
            "SELECT count(*) FROM {} AND {} AND EXISTS
               (SELECT 1 FROM document c JOIN document u ON u.id = CASE WHEN c.partner_in_other THEN c.other ELSE c.id END
                WHERE c.id = t.counterpart AND {})",
            self.fated_of(0)?,
            alone("t"),
            alone("u")
        );
        self.one(&sql, |row| row.get(0))
    }
}
