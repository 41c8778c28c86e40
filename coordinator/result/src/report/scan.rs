//! The scan, its repositories, and the documents that it left out.

use rusqlite::Row;

use super::{
    Counts, FineRepository, FineSection, LayerRow, MissingRow, Ratio, Report, RunSection, RunSite, ScanSection,
    SelectionSection, SetAsideRow, SiteSection, hex, time,
};
use crate::error::Error;

/// The program that writes reports.
const TOOL: &str = concat!("cognate ", env!("CARGO_PKG_VERSION"));

impl Report {
    /// The scan and its options.
    ///
    /// # Errors
    /// Fails if the file cannot be read; so for every method below.
    pub fn scan(&self) -> Result<ScanSection, Error> {
        let by = if self.by_root() == "r.id" { "site, repository" } else { "place" };
        let sql = format!("SELECT site, repository, reason FROM missing ORDER BY {by}");
        let missing = self
            .collect(&sql, |row| Ok(MissingRow { reason: row.get(2)?, repository: row.get(1)?, site: row.get(0)? }))?;
        let run = self.run()?;
        let (refines, refined) = self.refined()?.unzip();
        let layers = self.collect("SELECT * FROM layer ORDER BY number", |row| {
            Ok(LayerRow {
                chunk_bytes: row.get("chunk_bytes")?,
                min_shared_bytes: row.get("min_shared_bytes")?,
                param: row.get("param")?,
                templates_digest: row.get("templates_digest")?,
                view: row.get("view")?,
            })
        })?;
        let templates_digest = layers.first().and_then(|layer| layer.templates_digest.clone());
        let param = layers.first().and_then(|layer| layer.param.clone());
        let precision: Option<String> = self.one("SELECT precision FROM layer ORDER BY number", |row| row.get(0))?;
        let fine = self.fine()?;
        let selection = self.selection()?;
        let estimates = self.sampled_overlap(selection.as_ref().and_then(|selection| selection.sample_percent))?;
        let parties: u64 = self.one("SELECT count(DISTINCT party) FROM root", |row| row.get(0))?;
        self.one("SELECT * FROM scan", |row| {
            let keyed: bool = row.get("keyed")?;
            Ok(ScanSection {
                across_only: row.get("across_only")?,
                chosen: self.chosen.clone(),
                chunk_bytes: row.get("chunk_bytes")?,
                cluster: row.get("cluster")?,
                digest: None,
                estimates,
                fine,
                id: Some(row.get("id")?),
                keyed,
                layers: (layers.len() > 1).then_some(layers),
                match_message_ids: row.get::<_, bool>("match_message_ids")?.then_some(true),
                method: row.get("method")?,
                min_containment: Ratio::parse(&row.get::<_, String>("min_containment")?),
                min_shared_bytes: row.get("min_shared_bytes")?,
                missing,
                notice: (parties > 1 && !keyed).then_some(UNKEYED_NOTICE),
                param,
                passages: row.get::<_, bool>("passages")?.then_some(true),
                precision,
                refined,
                refines,
                run: Some(run),
                samples: self.samples.clone(),
                selection,
                slice: self.slice.clone(),
                status: row.get("status")?,
                templates_digest,
                verified_by: row.get("verified_by")?,
                view: row.get("view")?,
            })
        })
    }

    fn selection(&self) -> Result<Option<SelectionSection>, Error> {
        let mut selection = SelectionSection::default();
        let rows = self.collect("SELECT kind, value FROM selection ORDER BY rowid", |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        })?;
        for (kind, value) in rows {
            match kind.as_str() {
                "include" => selection.include.push(value),
                "exclude" => selection.exclude.push(value),
                "size_max" => selection.size_max_bytes = value.parse().ok(),
                "sample" => selection.sample_percent = value.parse().ok(),
                "follow" => selection.follow = Some(true),
                _ => {}
            }
        }
        Ok(Some(selection).filter(|selection| *selection != SelectionSection::default()))
    }

    /// The pairs of all layers that were measured by fine chunks.
    fn fine(&self) -> Result<Option<FineSection>, Error> {
        let sql = format!(
            "SELECT f.changed_contents, f.chunks, f.expanded_chunks, f.failure, f.refused, r.repository, r.site
             FROM fine f JOIN root r ON r.id = f.root WHERE f.expanded_chunks < f.chunks ORDER BY f.layer, {}",
            self.by_root()
        );
        let incomplete = self.collect(&sql, |row| {
            Ok(FineRepository {
                changed_contents: row.get(0)?,
                chunks: row.get(1)?,
                expanded_chunks: row.get(2)?,
                reason: row.get(3)?,
                refused: row.get(4)?,
                repository: row.get(5)?,
                site: row.get(6)?,
            })
        })?;
        let sql = "SELECT sum(coarse_pairs), sum(fine_pairs), sum(omitted_pairs), sum(template_rows) FROM layer";
        let sums = self.one(sql, |row| {
            let coarse_pairs: Option<u64> = row.get(0)?;
            coarse_pairs.map(|coarse_pairs| Ok((coarse_pairs, row.get(1)?, row.get(2)?, row.get(3)?))).transpose()
        })?;
        let Some((coarse_pairs, fine_pairs, omitted_pairs, template_rows)) = sums else { return Ok(None) };
        // Only a comparison by fine chunks has frames: in any other all links would be looked at for nothing.
        let sql = "SELECT (SELECT count(*) FROM frame), (SELECT count(*) FROM cluster WHERE on_frame),
                          (SELECT count(*) FROM link WHERE on_frame)";
        let (frames, frame_clusters, frame_links) = self.one(sql, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        Ok(Some(FineSection {
            coarse_pairs,
            fine_pairs,
            frame_clusters,
            frame_links,
            frames,
            incomplete,
            omitted_pairs,
            template_rows,
        }))
    }

    /// The tags that were left out of the comparison.
    pub fn set_aside<E: From<Error>>(&self, mut each: impl FnMut(SetAsideRow) -> Result<(), E>) -> Result<(), E> {
        let read = |row: &Row<'_>| -> rusqlite::Result<Option<SetAsideRow>> {
            let tag = hex(row.get_ref(0)?.as_blob()?);
            let (view, crowded) = (self.view(row.get(3)?), row.get(4)?);
            Ok(Some(SetAsideRow { crowded, documents: row.get(1)?, length_bytes: row.get(2)?, tag, view }))
        };
        self.each_or(
            "SELECT tag, documents, length_bytes, layer, crowded FROM set_aside ORDER BY layer, tag",
            read,
            &mut each,
        )
    }

    fn run(&self) -> Result<RunSection, Error> {
        let sites = self.collect("SELECT * FROM root ORDER BY id", |row| {
            Ok(RunSite {
                fine_read_bytes: Some(row.get("fine_read_bytes")?).filter(|bytes| *bytes > 0),
                read_bytes: row.get("read_bytes")?,
                read_documents: row.get("read_documents")?,
                repository: row.get("repository")?,
                sent_bytes: row.get("sent_bytes")?,
                site: row.get("site")?,
            })
        })?;
        let order = self.launch_order()?;
        let expected_error = self.expected_error()?;
        self.one("SELECT started, finished FROM scan", |row| {
            Ok(RunSection {
                expected_error,
                finished: time(row.get("finished")?),
                order,
                sites,
                started: time(row.get("started")?),
                tool: TOOL,
            })
        })
    }

    /// The repositories that took part.
    pub fn sites(&self) -> Result<Vec<SiteSection>, Error> {
        let passages: bool = self.one("SELECT passages FROM scan", |row| row.get(0))?;
        let mut sites = self.collect("SELECT * FROM root ORDER BY id", |row| {
            Ok(SiteSection {
                bytes: row.get("bytes")?,
                changed: row.get("changed")?,
                chunks: row.get("chunks")?,
                compressed_bytes: row.get("compressed_bytes")?,
                contradicted_contents: Some(row.get("contradicted_contents")?).filter(|contents| *contents > 0),
                documents: row.get("documents")?,
                empty: row.get("empty")?,
                excluded: Counts::new(),
                members: row.get("members")?,
                no_text: row.get("no_text")?,
                not_compared_by_text: Counts::new(),
                party: row.get("party")?,
                passages: row.get::<_, Option<u64>>("passages")?.filter(|_| passages),
                recognition: row.get("recognition")?,
                recognised: Some(row.get("recognised")?).filter(|documents| *documents > 0),
                repository: row.get("repository")?,
                site: row.get("site")?,
                skipped: 0,
                skipped_reasons: Counts::new(),
                status: Counts::new(),
                text_bytes: row.get("text_bytes")?,
                text_documents: row.get("text_documents")?,
                text_file_bytes: row.get("text_file_bytes")?,
                unextractable: Counts::new(),
                unreadable: row.get("unreadable")?,
            })
        })?;
        self.each("SELECT root, reason, entries FROM skipped", |row| {
            let (root, reason, entries): (usize, String, u64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            sites[root].skipped += entries;
            sites[root].skipped_reasons.insert(reason, entries);
            Ok(())
        })?;
        self.each("SELECT root, status, documents FROM status", |row| {
            let (root, status, count): (usize, String, u64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            match status.strip_prefix("excluded(") {
                None => drop(sites[root].status.insert(status, count)),
                Some(reason) => {
                    *sites[root].status.entry("excluded".to_owned()).or_insert(0) += count;
                    sites[root].excluded.insert(reason.trim_end_matches(')').to_owned(), count);
                }
            }
            Ok(())
        })?;
        let sql = "SELECT root, reason, count(*) FROM unread WHERE reason LIKE '%: %' GROUP BY 1, 2";
        self.each(sql, |row| {
            let (root, reason, count): (usize, String, u64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let site = &mut sites[root];
            if let Some(reason) = reason.strip_prefix("unextractable: ") {
                site.unextractable.insert(reason.to_owned(), count);
            } else if let Some(reason) = reason.strip_prefix("not compared by text: ") {
                site.not_compared_by_text.insert(reason.to_owned(), count);
            }
            Ok(())
        })?;
        Ok(self.sort_roots(sites))
    }
}

/// Warning on a result across parties whose sites had no key.
const UNKEYED_NOTICE: &str = "fingerprinted without a key across parties: whoever holds a document can test whether its \
                              chunks occur elsewhere";
