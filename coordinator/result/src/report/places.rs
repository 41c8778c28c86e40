//! Overlap of places, and strength of the links: folders, overlap, histograms.

use rusqlite::Row;

use super::{BucketRow, FolderPlace, FolderSection, HistogramSection, OverlapSection, Ratio, Report, path_of};
use crate::error::Error;
use cognate_analysis::HISTOGRAM_BUCKETS as BUCKETS;

impl Report {
    /// The folder pairs, those with most bytes first.
    pub fn folders<E: From<Error>>(&self, mut each: impl FnMut(FolderSection) -> Result<(), E>) -> Result<(), E> {
        self.folders_where("", &mut each)
    }

    /// Some of the folder pairs.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn folder_page(&self, count: usize, offset: usize) -> Result<Vec<FolderSection>, Error> {
        let mut folders = Vec::new();
        self.folders_where::<Error>(&format!("LIMIT {count} OFFSET {offset}"), &mut |folder| {
            folders.push(folder);
            Ok(())
        })?;
        Ok(folders)
    }

    fn folders_where<E: From<Error>>(
        &self,
        which: &str,
        each: &mut impl FnMut(FolderSection) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = format!(
            "SELECT f.*, a.site AS site_a, a.repository AS repository_a, b.site AS site_b,
                    b.repository AS repository_b
             FROM folder f JOIN root a ON a.id = f.root_a JOIN root b ON b.id = f.root_b ORDER BY f.id {which}"
        );
        let folder = |row: &Row<'_>, side: &str| -> rusqlite::Result<FolderPlace> {
            let bytes: Vec<u8> = row.get(format!("path_{side}").as_str())?;
            let (path, path_escaped) = path_of(&bytes);
            Ok(FolderPlace {
                path,
                path_escaped,
                repository: row.get(format!("repository_{side}").as_str())?,
                site: row.get(format!("site_{side}").as_str())?,
            })
        };
        let is_stored = self.has_histogram()?;
        let share = |row: &Row<'_>, shared: &str, all: &str| -> rusqlite::Result<Option<Ratio>> {
            Ok(if is_stored { Some(Ratio::of(row.get(shared)?, row.get(all)?)) } else { None })
        };
        self.each_or(
            &sql,
            |row| {
                let pair = FolderSection {
                    a: folder(row, "a")?,
                    b: folder(row, "b")?,
                    bytes_a: row.get("bytes_a")?,
                    bytes_b: row.get("bytes_b")?,
                    documents_a: row.get("documents_a")?,
                    documents_b: row.get("documents_b")?,
                    documents_total_a: row.get("documents_total_a")?,
                    documents_total_b: row.get("documents_total_b")?,
                    relation: row.get("relation")?,
                    share_a: share(row, "shared_bytes_a", "bytes_a")?,
                    share_b: share(row, "shared_bytes_b", "bytes_b")?,
                    shared_bytes_a: row.get("shared_bytes_a")?,
                    shared_bytes_b: row.get("shared_bytes_b")?,
                    view: self.view(row.get("layer")?),
                };
                Ok(Some(self.turned(pair, [row.get("root_a")?, row.get("root_b")?])))
            },
            each,
        )
    }

    /// Strength of all links of the scan's first view; nothing if there are none, or an earlier version
    /// wrote the result.
    pub fn histogram(&self) -> Result<Option<HistogramSection>, Error> {
        self.histogram_of(0)
    }

    /// The same of the links of texts, where there are two views.
    pub fn text_histogram(&self) -> Result<Option<HistogramSection>, Error> {
        if self.views.len() > 1 { self.histogram_of(1) } else { Ok(None) }
    }

    fn histogram_of(&self, layer: usize) -> Result<Option<HistogramSection>, Error> {
        if !self.has_histogram()? {
            return Ok(None);
        }
        let buckets = |measure: &str| {
            let sql = format!(
                "SELECT bucket, links, documents FROM histogram WHERE layer = {layer} AND measure = '{measure}'
                 ORDER BY bucket"
            );
            self.collect(&sql, |row| {
                let bucket: u64 = row.get(0)?;
                let bound = |bucket| Ratio::of(bucket, BUCKETS as u64);
                Ok(BucketRow { documents: row.get(2)?, from: bound(bucket), links: row.get(1)?, to: bound(bucket + 1) })
            })
        };
        let sql = format!("SELECT links, documents FROM histogram WHERE layer = {layer} AND measure = 'all'");
        let all = self.one(&sql, |row| {
            Ok(HistogramSection {
                containment: Vec::new(),
                documents: row.get(1)?,
                links: row.get(0)?,
                resemblance: Vec::new(),
                view: self.view(layer),
            })
        })?;
        let (containment, resemblance) = (buckets("containment")?, buckets("resemblance")?);
        Ok((all.links > 0).then_some(HistogramSection { containment, resemblance, ..all }))
    }

    /// Results of earlier versions have none, and their digests are those of reports without.
    fn has_histogram(&self) -> Result<bool, Error> {
        self.one("SELECT count(*) FROM sqlite_master WHERE name = 'histogram'", |row| row.get(0))
    }

    /// Overlap of sites, and of parties.
    pub fn overlap(&self) -> Result<Vec<OverlapSection>, Error> {
        // Sites before parties, as the format says.
        let mut rows = self.collect("SELECT * FROM overlap ORDER BY layer, level = 'party', a, b", |row| {
            Ok(OverlapSection {
                a: row.get("a")?,
                b: row.get("b")?,
                documents_a: row.get("documents_a")?,
                documents_b: row.get("documents_b")?,
                level: row.get("level")?,
                shared_bytes_a: row.get("shared_bytes_a")?,
                shared_bytes_b: row.get("shared_bytes_b")?,
                template_bytes_a: row.get("template_bytes_a")?,
                template_bytes_b: row.get("template_bytes_b")?,
                view: self.view(row.get("layer")?),
            })
        })?;
        rows.retain(|row: &OverlapSection| row.level != "site" || self.lists(&row.a) || self.lists(&row.b));
        Ok(self.sort_pairs(rows))
    }
}
