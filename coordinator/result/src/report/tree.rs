//! What became of the documents of one of two repositories, folder by folder.

use std::ops::Range;

use cognate_result_file::row;
use rusqlite::params;

use super::{Report, path_of};
use crate::error::Error;

/// Entries of a folder that are listed at most.
const ENTRIES_MAX: usize = 2000;

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
    /// Standard text in common with documents there, and nothing else.
    pub standard_text: u64,
    /// Nothing was found there, which is not decided.
    pub not_decided: u64,
    /// Nothing there.
    pub only: u64,
    /// Of a document that is elsewhere there: its path there.
    pub elsewhere: Option<String>,
}

impl TreeEntry {
    /// Its documents, in the order of the words for changes.
    pub fn counts(&self) -> [u64; 6] {
        [self.same, self.changed, self.moved, self.standard_text, self.not_decided, self.only]
    }

    /// True for a folder.
    pub fn is_folder(&self) -> bool {
        self.bytes.last() == Some(&b'/')
    }

    /// All documents.
    pub fn documents(&self) -> u64 {
        self.counts().iter().sum()
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
        let Some(root) = self.root_number(site, repository) else { return Ok((Vec::new(), false)) };
        let alone = |row: &str| format!("{row}.elsewhere <> 'yes'");
        // At one place, with too little in common for a link: changed, as `changes` counts.
        let rewritten = format!(
            "({} AND EXISTS (SELECT 1 FROM document c WHERE c.id = t.counterpart AND {}))",
            alone("t"),
            alone("c")
        );
        let listed = self.listed_number();
        let sql = format!(
            "SELECT {} FROM (SELECT substr(t.path, ?3) AS rest,
                     CASE WHEN {rewritten} THEN 1 WHEN t.elsewhere = 'standard text' THEN 3
                          WHEN t.elsewhere = 'not decided' THEN 4 WHEN t.elsewhere = 'no' THEN 5
                          WHEN t.elsewhere IS NULL THEN NULL WHEN NOT coalesce(t.partner_in_place, 0) THEN 2
                          WHEN t.partner_relation = 'identical' THEN 0 ELSE 1 END AS fate, t.partner AS partner
                   FROM {} AND {listed} >= ?1 AND {listed} < ?2)
             WHERE fate IS NOT NULL GROUP BY name ORDER BY name LIMIT {}",
            EntryColumns::select(),
            self.fated(),
            ENTRIES_MAX + 1
        );
        let numbers = self.numbers_below(root, folder)?;
        let start = i64::try_from(folder.len()).unwrap_or(i64::MAX - 1) + 1;
        let mut entries = Vec::new();
        self.each_row(&sql, params![numbers.start, numbers.end, start], |row: EntryColumns| {
            let EntryColumns { name: bytes, same, changed, moved, standard_text, not_decided, only, partner } = row;
            let name = path_of(&bytes).0;
            let mut entry =
                TreeEntry { name, bytes, same, changed, moved, standard_text, not_decided, only, elsewhere: None };
            if let Some(partner) = partner.filter(|_| !entry.is_folder()) {
                let path: Vec<u8> = self.row("SELECT path FROM document WHERE id = ?", [partner])?;
                entry.elsewhere = Some(path_of(&path).0);
            }
            entries.push(entry);
            Ok::<_, Error>(())
        })?;
        let is_more = entries.len() > ENTRIES_MAX;
        entries.truncate(ENTRIES_MAX);
        Ok((entries, is_more))
    }

    /// The numbers of the documents below a folder of a repository. Documents are numbered in the order of their repositories and paths, so that
    /// they stand next to each other: nobody looks through all documents for those of each folder.
    fn numbers_below(&self, root: i64, folder: &[u8]) -> Result<Range<i64>, Error> {
        // The first path after all that begin with the folder: its last byte is one more.
        let after = match folder.iter().rposition(|byte| *byte < u8::MAX) {
            None => (root + 1, Vec::new()),
            Some(last) => (root, [&folder[..last], &[folder[last] + 1]].concat()),
        };
        Ok(self.number_at(root, folder)?..self.number_at(after.0, &after.1)?)
    }
}

row! {
    /// An entry of a folder: how many of its documents have each fate, and of a document that moved the number of its partner.
    struct EntryColumns {
        name: Vec<u8> = "CASE instr(rest, x'2f') WHEN 0 THEN rest ELSE substr(rest, 1, instr(rest, x'2f')) END AS name",
        same: u64 = "sum(fate = 0)",
        changed: u64 = "sum(fate = 1)",
        moved: u64 = "sum(fate = 2)",
        standard_text: u64 = "sum(fate = 3)",
        not_decided: u64 = "sum(fate = 4)",
        only: u64 = "sum(fate = 5)",
        partner: Option<i64> = "max(CASE fate WHEN 2 THEN partner END)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_below_a_folder_are_those_of_a_naive_search_for_any_paths() {
        let names: [&[u8]; 12] = [
            b"a",
            b"a/",
            b"a/b",
            b"a/b/c",
            b"a/b/d",
            b"a/b0",
            b"a/bb/c",
            b"a0",
            b"a0/x",
            b"b/a",
            b"\xff/\xff",
            b"\xff0",
        ];
        // Numbers may have gaps, and repositories any paths.
        let mut rows: Vec<(i64, &[u8])> = Vec::new();
        for (root, step) in [(0, 1), (1, 5), (2, 2)] {
            rows.extend(names.iter().step_by(step).map(|path| (root, *path)));
        }
        let folder = tempfile::tempdir().unwrap();
        let report = super::super::blocks::tests::report_with(folder.path(), |writer| {
            writer.execute_batch("CREATE TABLE document (id INTEGER PRIMARY KEY, root, path)").unwrap();
            for (place, (root, path)) in rows.iter().enumerate() {
                let number = 3 * i64::try_from(place).unwrap();
                writer.execute("INSERT INTO document VALUES (?, ?, ?)", params![number, root, path]).unwrap();
            }
        });
        let folders: [&[u8]; 11] =
            [b"", b"a/", b"a/b/", b"a/bb/", b"a0/", b"b/", b"b/a/", b"c/", b"\xff/", b"\xff/\xff", b"\xff"];
        for (root, below) in (0..4).flat_map(|root| folders.map(|below| (root, below))) {
            let numbers = report.numbers_below(root, below).unwrap();
            let found = (0..rows.len()).filter(|place| numbers.contains(&(3 * i64::try_from(*place).unwrap())));
            let naive = (0..rows.len()).filter(|place| rows[*place].0 == root && rows[*place].1.starts_with(below));
            assert!(found.eq(naive), "{root} {below:?}");
        }
    }
}
