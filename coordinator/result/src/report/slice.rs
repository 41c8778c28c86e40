//! A site's slice of a report: the rows that concern it. They are the same rows as in the complete report.

use std::collections::HashSet;

use rusqlite::params;

use super::Report;
use crate::error::Error;

/// Sums over the clusters of a report.
#[derive(Clone, Copy, Default, Debug)]
pub struct ClusterTotals {
    /// Number of clusters.
    pub clusters: u64,
    /// Contents in them.
    pub contents: u64,
    /// Bytes of those, each counted once.
    pub bytes: u64,
}

/// Tables of this connection alone, which hide those of the file under the same names.
const SLICE: &str = "
  CREATE TEMP TABLE concerned (id INTEGER PRIMARY KEY);
  INSERT INTO concerned SELECT DISTINCT d.content FROM main.document d JOIN main.root r ON r.id = d.root
    WHERE r.site = (SELECT site FROM temp.slice) AND d.content IS NOT NULL;
  CREATE TEMP TABLE cluster AS SELECT * FROM main.cluster WHERE id IN
    (SELECT c.cluster FROM main.content c JOIN concerned USING (id) WHERE c.cluster IS NOT NULL);
  CREATE INDEX temp.slice_cluster ON cluster (id);
  CREATE TEMP TABLE content AS SELECT * FROM main.content;
  UPDATE temp.content SET identical = NULL, in_place = 0
    WHERE identical IS NOT NULL AND id NOT IN (SELECT id FROM concerned);
  CREATE INDEX temp.slice_content ON content (id);
  CREATE INDEX temp.slice_content_identical ON content (identical) WHERE identical IS NOT NULL;
  CREATE INDEX temp.slice_content_cluster ON content (cluster) WHERE cluster IS NOT NULL;
  CREATE TEMP TABLE loose_set AS SELECT * FROM main.loose_set WHERE id IN
    (SELECT d.loose_set FROM main.document d JOIN main.root r ON r.id = d.root
     WHERE r.site = (SELECT site FROM temp.slice) AND d.loose_set IS NOT NULL);
  CREATE INDEX temp.slice_loose_set ON loose_set (id);
  CREATE TEMP TABLE folder AS SELECT f.* FROM main.folder f JOIN main.root a ON a.id = f.root_a
    JOIN main.root b ON b.id = f.root_b WHERE (SELECT site FROM temp.slice) IN (a.site, b.site);
  CREATE TEMP TABLE unread AS SELECT u.* FROM main.unread u JOIN main.root r ON r.id = u.root
    WHERE r.site = (SELECT site FROM temp.slice);
";

/// The sums over the identical sets of each layer, once a part of the report is in the tables of this connection.
pub(super) const LAYERS: &str = "
  CREATE TEMP TABLE IF NOT EXISTS layer AS SELECT * FROM main.layer;
  UPDATE temp.layer SET
    identical_sets = (SELECT count(*) FROM temp.content c WHERE c.layer = number AND c.identical IS NOT NULL),
    identical_in_place =
      (SELECT count(*) FROM temp.content c WHERE c.layer = number AND c.identical IS NOT NULL AND c.in_place),
    hard_link_bytes = 0,
    wasted_bytes = (SELECT coalesce(sum(c.size_bytes * (c.documents - 1)), 0) FROM temp.content c
                    WHERE c.layer = number AND c.identical IS NOT NULL);
";

impl Report {
    /// Leaves of the report what concerns a site: sets, clusters and pairs of folders with a document of its, its own
    /// documents, what could not be read there, and what it has in common with others. Of all sites there remain the counts.
    ///
    /// # Errors
    /// Fails if there is no such site, or the file cannot be read.
    pub fn slice(&mut self, site: &str) -> Result<(), Error> {
        let sites: HashSet<String> = self.sites()?.into_iter().map(|row| row.site).collect();
        if !sites.contains(site) {
            return Err(Error::Invalid(format!("the scan has no site `{site}`")));
        }
        let made = || -> rusqlite::Result<()> {
            self.connection.execute_batch("CREATE TEMP TABLE slice (site TEXT NOT NULL);")?;
            self.connection.execute("INSERT INTO temp.slice VALUES (?)", params![site])?;
            self.connection.execute_batch(SLICE)?;
            self.connection.execute_batch(LAYERS)
        };
        made().map_err(|error| self.failed(error))?;
        self.slice = Some(site.to_owned());
        Ok(())
    }

    /// The site of a slice; `None` for the complete report.
    pub fn sliced(&self) -> Option<&str> {
        self.slice.as_deref()
    }

    /// True unless it is the complete report: it is a site's slice, or limited to clusters that people chose.
    pub fn is_part(&self) -> bool {
        self.slice.is_some() || self.chosen.is_some()
    }

    /// True if a document or row of this site is listed.
    pub(super) fn lists(&self, site: &str) -> bool {
        self.slice.as_deref().is_none_or(|slice| slice == site)
    }

    /// Number of documents in the identical sets, a document counted in each.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn identical_documents(&self) -> Result<u64, Error> {
        let sql = "SELECT (SELECT coalesce(sum(documents), 0) FROM content WHERE identical IS NOT NULL)
                        + (SELECT coalesce(sum(documents), 0) FROM loose_set)";
        self.row(sql, ())
    }

    /// Sums over the clusters of all views.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn cluster_totals(&self) -> Result<ClusterTotals, Error> {
        let sql = "SELECT count(*), coalesce(sum(members), 0), coalesce(sum(total_bytes), 0) FROM cluster";
        let (clusters, contents, bytes) = self.row(sql, ())?;
        Ok(ClusterTotals { clusters, contents, bytes })
    }
}
