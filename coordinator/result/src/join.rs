//! The join of the decisions of a store with the clusters of a result: temporary tables, by which lists are filtered.
//!
//! The first time all decisions are joined, later those that changed. A decision is about a cluster by its id, or by its
//! members if the one that gave it its id is gone.

use std::collections::BTreeSet;

use cognate_storage::store::Store;
use cognate_storage::verdict::{CLUSTER, Key, Labels, VIEWS, VerdictEntry, VerdictRow, word};
use rusqlite::{OptionalExtension as _, params};

use crate::browse::Browse;
use crate::error::Error;
use crate::other_verdicts::OtherVerdicts;
use crate::report::{Reader, hex};

/// The subjects of decisions, with the clusters that they are about; and the verdicts and labels of clusters.
const TABLES: &str = "
    CREATE TEMP TABLE subject (key BLOB PRIMARY KEY, cluster INTEGER) WITHOUT ROWID;
    CREATE TEMP TABLE mark (cluster INTEGER PRIMARY KEY, verdict TEXT, changed INTEGER, key BLOB, by TEXT);
    CREATE TEMP TABLE label (is_tag INTEGER, word TEXT, cluster INTEGER,
      PRIMARY KEY (is_tag, word, cluster)) WITHOUT ROWID;";
const INDEXES: &str = "
    CREATE INDEX temp.subject_cluster ON subject (cluster);
    CREATE INDEX temp.label_cluster ON label (cluster);";
/// All decisions are put here first, in the order of their keys.
const UNSORTED: &str = "
    CREATE TEMP TABLE unsorted_mark (cluster INTEGER, is_own INTEGER, verdict TEXT, changed INTEGER, key BLOB, by TEXT);
    CREATE TEMP TABLE unsorted_label (is_tag INTEGER, word TEXT, cluster INTEGER);";
/// In their order, tables grow at their end alone: random places in tables that do not fit in the cache take three times as long.
const SORT: &str = "
    INSERT OR IGNORE INTO temp.mark
      SELECT cluster, verdict, changed, key, by FROM temp.unsorted_mark ORDER BY cluster, is_own DESC, key;
    DROP TABLE temp.unsorted_mark;
    INSERT OR IGNORE INTO temp.label
      SELECT is_tag, word, cluster FROM temp.unsorted_label ORDER BY is_tag, word, cluster;
    DROP TABLE temp.unsorted_label;";
/// When more subjects than this have changed, all are joined again: it takes less time.
const CHANGED_MAX: usize = 20_000;

/// The decisions about one subject that count for the reader, with the cluster of this result that they are about.
struct Joined<'r> {
    cluster: i64,
    /// True if the cluster has the id that it had when it was decided about.
    is_own: bool,
    /// The verdict in force, and if the cluster has changed since.
    verdict: Option<(&'r VerdictEntry, bool)>,
    labels: Labels,
}

impl Joined<'_> {
    fn each_label(&self, mut each: impl FnMut(bool, &str) -> rusqlite::Result<usize>) -> rusqlite::Result<()> {
        for tag in &self.labels.tags {
            each(true, tag)?;
        }
        if !self.labels.assignee.is_empty() {
            each(false, &self.labels.assignee)?;
        }
        Ok(())
    }
}

impl Browse {
    /// Makes the tables, empty.
    pub(crate) fn make_join_tables(&self) -> Result<(), Error> {
        self.execute(TABLES)?;
        self.execute(INDEXES)
    }

    /// Brings the marks of clusters level with the store, as a person may read them.
    ///
    /// # Errors
    /// Fails if the store or the result cannot be read.
    pub fn mark(&mut self, store: &Store, reader: &Reader) -> Result<(), Error> {
        let now = store.verdict_number()?;
        if self.reader != *reader {
            self.reader = reader.clone();
            self.marked = None;
        }
        if self.marked == Some(now) {
            return Ok(());
        }
        let changed = match self.marked {
            Some(before) => Some(store.verdicts_changed(before)?).filter(|keys| keys.len() <= CHANGED_MAX),
            None => None,
        };
        let (mut others, done);
        if let Some(keys) = changed {
            others = std::mem::take(&mut self.other_verdicts);
            done = self.within(|browse| browse.join_some(store, &keys, &mut others));
        } else {
            others = OtherVerdicts::default();
            done = self.within(|browse| browse.join_all(store, &mut others));
        }
        if let Err(error) = done {
            // All of it is read again.
            self.marked = None;
            return Err(error);
        }
        self.other_verdicts = others;
        self.marked = Some(now);
        Ok(())
    }

    /// Joins all decisions.
    fn join_all(&self, store: &Store, others: &mut OtherVerdicts) -> Result<(), Error> {
        self.execute("DROP TABLE temp.subject; DROP TABLE temp.mark; DROP TABLE temp.label")?;
        self.execute(TABLES)?;
        self.execute(UNSORTED)?;
        for entry in store.verdicts() {
            let (key, row) = entry?;
            others.put(key, self.in_force(&row));
            self.put_unsorted(key, &row).map_err(|error| self.failed(error))?;
        }
        self.execute(SORT)?;
        self.execute(INDEXES)
    }

    fn put_unsorted(&self, key: Key, row: &VerdictRow) -> rusqlite::Result<()> {
        let Some(joined) = self.joined(key, row)? else { return Ok(()) };
        self.put_subject(key, joined.cluster)?;
        let connection = self.report().connection();
        if let Some((entry, changed)) = joined.verdict {
            let word = word(entry.verdict());
            connection.prepare_cached("INSERT INTO temp.unsorted_mark VALUES (?,?,?,?,?,?)")?.execute(params![
                joined.cluster,
                joined.is_own,
                word,
                changed,
                key.0,
                entry.by
            ])?;
        }
        let mut label = connection.prepare_cached("INSERT INTO temp.unsorted_label VALUES (?,?,?)")?;
        joined.each_label(|is_tag, word| label.execute(params![is_tag, word, joined.cluster]))
    }

    fn put_subject(&self, key: Key, cluster: i64) -> rusqlite::Result<usize> {
        let mut insert = self.report().connection().prepare_cached("INSERT INTO temp.subject VALUES (?,?)")?;
        insert.execute(params![key.0, cluster])
    }

    /// Joins the decisions about some subjects again: those that changed.
    fn join_some(&self, store: &Store, keys: &[Key], others: &mut OtherVerdicts) -> Result<(), Error> {
        let mut clusters = BTreeSet::new();
        for key in keys {
            let row = store.verdict(*key)?.unwrap_or_default();
            others.put(*key, self.in_force(&row));
            self.move_subject(*key, &row, &mut clusters).map_err(|error| self.failed(error))?;
        }
        // Other decisions may be about the same clusters.
        clusters.into_iter().try_for_each(|cluster| self.put_cluster(store, cluster))
    }

    /// Puts a subject where it is now, and adds the clusters that it was about and is about.
    fn move_subject(&self, key: Key, row: &VerdictRow, clusters: &mut BTreeSet<i64>) -> rusqlite::Result<()> {
        let connection = self.report().connection();
        let mut gone = connection.prepare_cached("DELETE FROM temp.subject WHERE key = ? RETURNING cluster")?;
        clusters.extend(gone.query_row([key.0], |row| row.get::<_, i64>(0)).optional()?);
        if let Some(joined) = self.joined(key, row)? {
            self.put_subject(key, joined.cluster)?;
            clusters.insert(joined.cluster);
        }
        Ok(())
    }

    /// Gives a cluster what all decisions about it say.
    fn put_cluster(&self, store: &Store, cluster: i64) -> Result<(), Error> {
        let connection = self.report().connection();
        let clear = || -> rusqlite::Result<()> {
            connection.prepare_cached("DELETE FROM temp.mark WHERE cluster = ?")?.execute([cluster])?;
            connection.prepare_cached("DELETE FROM temp.label WHERE cluster = ?")?.execute([cluster])?;
            Ok(())
        };
        clear().map_err(|error| self.failed(error))?;
        let sql = "SELECT key FROM temp.subject WHERE cluster = ? ORDER BY key";
        for key in self.report().rows(sql, [cluster])?.into_iter().map(Key) {
            let row = store.verdict(key)?.unwrap_or_default();
            self.put_sorted(key, &row).map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    fn put_sorted(&self, key: Key, row: &VerdictRow) -> rusqlite::Result<()> {
        let Some(joined) = self.joined(key, row)? else { return Ok(()) };
        let connection = self.report().connection();
        if let Some((entry, changed)) = joined.verdict {
            // The verdict under its own id counts; else the first one.
            let or = if joined.is_own { "REPLACE" } else { "IGNORE" };
            let sql = format!("INSERT OR {or} INTO temp.mark VALUES (?,?,?,?,?)");
            let word = word(entry.verdict());
            connection.prepare_cached(&sql)?.execute(params![joined.cluster, word, changed, key.0, entry.by])?;
        }
        let mut label = connection.prepare_cached("INSERT OR IGNORE INTO temp.label VALUES (?,?,?)")?;
        joined.each_label(|is_tag, word| label.execute(params![is_tag, word, joined.cluster]))
    }

    /// True if a decision counts here, and the reader may see it.
    fn counts(&self, entry: &VerdictEntry) -> bool {
        match &self.reader.party {
            Some(own) => entry.party == *own,
            None => !entry.is_bound || self.party.as_ref() == Some(&entry.party),
        }
    }

    /// The last verdict that counts here and that the reader may see.
    pub(crate) fn in_force<'r>(&self, row: &'r VerdictRow) -> Option<&'r VerdictEntry> {
        row.entries.iter().rev().find(|entry| entry.label.is_none() && self.counts(entry))
    }

    /// The decisions about a cluster; nothing: none counts, or they are about no cluster of this result.
    fn joined<'r>(&self, key: Key, row: &'r VerdictRow) -> rusqlite::Result<Option<Joined<'r>>> {
        if key.0[0] != CLUSTER {
            return Ok(None);
        }
        // Every entry is about the same cluster; the last one knows its members best.
        let Some(last) = row.entries.iter().rev().find(|entry| self.counts(entry)) else { return Ok(None) };
        let Some((cluster, digest)) = self.bearer(key, last)? else { return Ok(None) };
        let verdict = self.in_force(row).map(|entry| {
            let changed = digest.as_deref() != Some(hex(&entry.decided.digest).as_str());
            (entry, changed)
        });
        Ok(Some(Joined { cluster, is_own: digest.is_some(), verdict, labels: row.labels(|entry| self.counts(entry)) }))
    }

    /// The cluster of this result that a decision is about, with the digest of its members where it has the same id; nothing: there
    /// is none.
    fn bearer(&self, key: Key, entry: &VerdictEntry) -> rusqlite::Result<Option<(i64, Option<String>)>> {
        let connection = self.report().connection();
        let (name, view) = (hex(&key.0[2..]), VIEWS.get(usize::from(key.0[1])).copied().unwrap_or_default());
        let sql = "SELECT k.id, k.members_digest FROM cluster k JOIN layer l ON l.number = k.layer
                   WHERE k.name = ? AND l.view = ?";
        let found = connection
            .prepare_cached(sql)?
            .query_row([name.as_str(), view], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))
            .optional()?;
        if let Some((cluster, digest)) = found {
            return Ok(Some((cluster, Some(digest))));
        }
        // The member that gave the cluster its id is gone: it goes on under the id of another.
        let sql = "SELECT c.cluster FROM content c JOIN layer l ON l.number = c.layer
                   WHERE c.digest = ? AND c.cluster IS NOT NULL AND l.view = ?";
        let mut find = connection.prepare_cached(sql)?;
        for member in entry.decided.members.as_chunks::<16>().0 {
            let heir = find.query_row(params![member, view], |row| row.get::<_, i64>(0)).optional()?;
            if let Some(cluster) = heir {
                return Ok(Some((cluster, None)));
            }
        }
        Ok(None)
    }

    /// All or nothing.
    fn within(&self, work: impl FnOnce(&Browse) -> Result<(), Error>) -> Result<(), Error> {
        self.execute("BEGIN")?;
        let done = work(self);
        self.execute(if done.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
        done
    }

    fn execute(&self, sql: &str) -> Result<(), Error> {
        self.report().connection().execute_batch(sql).map_err(|error| self.failed(error))
    }
}
