//! What became of the documents of one of two repositories, folder by folder.

use rusqlite::params;

use super::{Report, path_of};
use crate::error::Error;

/// Entries of a folder that are listed at most.
const ENTRIES_MAX: usize = 2000;

/// Statuses of documents that have nothing to compare.
const NOTHING: &str = "'excluded(empty)', 'excluded(no text)', 'excluded(container)'";

/// A folder or a document, with what became of its documents at the other repository.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TreeEntry {
    /// Its name in its folder, as it is written; of a folder, with a `/` at its end.
    pub name: String,
    /// The same, as it is.
    pub bytes: Vec<u8>,
    /// Equal content at the same place.
    pub same: u64,
    /// Other content at the same place.
    pub changed: u64,
    /// A copy or a relative at another place.
    pub moved: u64,
    /// Nothing there.
    pub only: u64,
    /// Of a document that is elsewhere there: its path there.
    pub elsewhere: Option<String>,
}

impl TreeEntry {
    /// True for a folder.
    pub fn is_folder(&self) -> bool {
        self.bytes.last() == Some(&b'/')
    }

    /// Documents.
    pub fn documents(&self) -> u64 {
        self.same + self.changed + self.moved + self.only
    }
}

impl Report {
    /// The entries of a folder of one of two repositories, by name; `folder` is empty for the repository itself, else it ends
    /// with a `/`. Nothing if the scan is not of two repositories. True: there are more than 2,000.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn tree(&self, (site, repository): (&str, &str), folder: &[u8]) -> Result<(Vec<TreeEntry>, bool), Error> {
        if self.roots.len() != 2 || self.is_part() {
            return Ok((Vec::new(), false));
        }
        let sql = "SELECT id FROM root WHERE site = ?1 AND repository = ?2";
        let root: Option<i64> = self
            .connection
            .query_row(sql, [site, repository], |row| row.get(0))
            .map(Some)
            .or_else(|error| if error == rusqlite::Error::QueryReturnedNoRows { Ok(None) } else { Err(error) })
            .map_err(|error| self.failed(error))?;
        let Some(root) = root else { return Ok((Vec::new(), false)) };
        let alone = |row: &str| format!("{row}.partner_in_place IS NULL AND {row}.status NOT IN ({NOTHING})");
        // At one place, with too little in common for a link: changed, as `changes` counts.
        let rewritten = format!(
            "({} AND EXISTS (SELECT 1 FROM document c
               JOIN document u ON u.id = CASE WHEN c.partner_in_other THEN c.other ELSE c.id END
               WHERE c.id = t.counterpart AND {}))",
            alone("t"),
            alone("u")
        );
        let sql = format!(
            "SELECT CASE instr(rest, x'2f') WHEN 0 THEN rest ELSE substr(rest, 1, instr(rest, x'2f')) END AS name,
                    sum(fate = 0), sum(fate = 1), sum(fate = 2), sum(fate = 3), max(CASE fate WHEN 2 THEN partner END)
             FROM (SELECT substr(t.path, ?3) AS rest,
                     CASE WHEN t.partner_in_place AND t.partner_relation = 'identical' THEN 0
                          WHEN t.partner_in_place OR {rewritten} THEN 1
                          WHEN t.partner_in_place IS NOT NULL THEN 2
                          WHEN t.status NOT IN ({NOTHING}) THEN 3 END AS fate, t.partner AS partner
                   FROM {} AND t.root = ?1 AND t.path >= ?2 AND substr(t.path, 1, ?3 - 1) = ?2)
             WHERE fate IS NOT NULL GROUP BY name ORDER BY name LIMIT {}",
            self.fated(),
            ENTRIES_MAX + 1
        );
        let read = || -> rusqlite::Result<Vec<TreeEntry>> {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let start = i64::try_from(folder.len()).unwrap_or(i64::MAX - 1) + 1;
            let mut rows = statement.query(params![root, folder, start])?;
            let mut entries = Vec::new();
            while let Some(row) = rows.next()? {
                let bytes: Vec<u8> = row.get(0)?;
                let partner: Option<i64> = row.get(5)?;
                let mut entry = TreeEntry {
                    name: path_of(&bytes).0,
                    bytes,
                    same: row.get(1)?,
                    changed: row.get(2)?,
                    moved: row.get(3)?,
                    only: row.get(4)?,
                    elsewhere: None,
                };
                if let Some(partner) = partner.filter(|_| !entry.is_folder()) {
                    let sql = "SELECT path FROM document WHERE id = ?";
                    let path: Vec<u8> = self.connection.prepare_cached(sql)?.query_row([partner], |row| row.get(0))?;
                    entry.elsewhere = Some(path_of(&path).0);
                }
                entries.push(entry);
            }
            Ok(entries)
        };
        let mut entries = read().map_err(|error| self.failed(error))?;
        let is_more = entries.len() > ENTRIES_MAX;
        entries.truncate(ENTRIES_MAX);
        Ok((entries, is_more))
    }
}
