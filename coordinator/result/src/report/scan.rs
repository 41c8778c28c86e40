//! The scan, its repositories, and the documents that it left out.

use std::borrow::Cow;

use cognate_result_file::{FineChunks, Layer, Missing, Root, Scan, Selection, SetAside, Skipped, StatusCount};

use super::{
    Counts, FineRepository, FineSection, LayerRow, MissingRow, Ratio, Report, RunSection, RunSite, ScanSection,
    SelectionSection, SetAsideRow, SiteSection, hex, select, time,
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
        let by = if self.by_root() == "r.id" { "ORDER BY t.site, t.repository" } else { "ORDER BY t.place" };
        let missing = self.records(by)?.into_iter();
        let missing = missing.map(|Missing { site, repository, reason, .. }| MissingRow { reason, repository, site });
        let missing = missing.collect();
        let scan: Scan = self.record()?;
        let run = self.run(&scan)?;
        let (refines, refined) = self.refined()?.unzip();
        let layers: Vec<Layer> = self.records("ORDER BY t.number")?;
        let first = layers.first();
        let templates_digest = first.and_then(|layer| layer.templates_digest.clone());
        let param = first.and_then(|layer| layer.param.clone());
        let precision = first.and_then(|layer| layer.precision.as_deref().map(str::to_owned));
        let fine = self.fine(&layers)?;
        let layers: Vec<LayerRow> = layers
            .into_iter()
            .map(|layer| LayerRow {
                chunk_bytes: layer.chunk_bytes,
                min_shared_bytes: layer.min_shared_bytes,
                param: layer.param,
                templates_digest: layer.templates_digest,
                view: layer.view.into_owned(),
            })
            .collect();
        let selection = self.selection()?;
        let estimates = self.sampled_overlap(selection.as_ref().and_then(|selection| selection.sample_percent))?;
        let has_parties = self.roots.windows(2).any(|pair| pair[0].party != pair[1].party);
        Ok(ScanSection {
            across_only: scan.across_only,
            chosen: self.chosen.clone(),
            chunk_bytes: scan.chunk_bytes,
            cluster: scan.cluster.map(Cow::into_owned),
            digest: None,
            estimates,
            fine,
            id: Some(scan.id),
            keyed: scan.keyed,
            layers: (layers.len() > 1).then_some(layers),
            match_message_ids: scan.match_message_ids.then_some(true),
            method: scan.method.into_owned(),
            min_containment: Ratio::parse(&scan.min_containment),
            min_shared_bytes: scan.min_shared_bytes,
            missing,
            notice: (has_parties && !scan.keyed).then_some(UNKEYED_NOTICE),
            param,
            passages: scan.passages.then_some(true),
            precision,
            refined,
            refines,
            run: Some(run),
            samples: self.samples.clone(),
            selection,
            slice: self.slice.clone(),
            status: scan.status.into_owned(),
            templates_digest,
            verified_by: scan.verified_by.map(Cow::into_owned),
            view: scan.view.into_owned(),
        })
    }

    fn selection(&self) -> Result<Option<SelectionSection>, Error> {
        let mut selection = SelectionSection::default();
        for Selection { kind, value } in self.records("ORDER BY t.rowid")? {
            match &*kind {
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
    fn fine(&self, layers: &[Layer]) -> Result<Option<FineSection>, Error> {
        let by = self.by_root();
        let rest = format!("JOIN root r ON r.id = t.root WHERE t.expanded_chunks < t.chunks ORDER BY t.layer, {by}");
        let incomplete = self.records(&rest)?.into_iter().map(|fine: FineChunks| {
            let root = self.root(fine.root)?;
            Ok(FineRepository {
                changed_contents: fine.changed_contents,
                chunks: fine.chunks,
                expanded_chunks: fine.expanded_chunks,
                reason: fine.failure,
                refused: fine.refused,
                repository: root.repository.clone(),
                site: root.site.clone(),
            })
        });
        let incomplete = incomplete.collect::<Result<_, Error>>()?;
        if layers.iter().all(|layer| layer.coarse_pairs.is_none()) {
            return Ok(None);
        }
        let sum = |of: fn(&Layer) -> Option<u64>| layers.iter().filter_map(of).sum();
        // Only a comparison by fine chunks has frames: in any other all links would be looked at for nothing.
        let sql = "SELECT (SELECT count(*) FROM frame), (SELECT count(*) FROM cluster WHERE on_frame),
                          (SELECT count(*) FROM link WHERE on_frame)";
        let (frames, frame_clusters, frame_links) = self.row(sql, ())?;
        Ok(Some(FineSection {
            coarse_pairs: sum(|layer| layer.coarse_pairs),
            fine_pairs: sum(|layer| layer.fine_pairs),
            frame_clusters,
            frame_links,
            frames,
            incomplete,
            omitted_pairs: sum(|layer| layer.omitted_pairs),
            template_rows: sum(|layer| layer.template_rows),
        }))
    }

    /// The tags that were left out of the comparison.
    pub fn set_aside<E: From<Error>>(&self, mut each: impl FnMut(SetAsideRow) -> Result<(), E>) -> Result<(), E> {
        self.each_row(&select::<SetAside>("ORDER BY t.layer, t.tag"), (), |row| {
            let SetAside { tag, documents, length_bytes, layer, crowded } = row;
            each(SetAsideRow { crowded, documents, length_bytes, tag: hex(&tag), view: self.view(layer) })
        })
    }

    fn run(&self, scan: &Scan) -> Result<RunSection, Error> {
        let sites = self.records("ORDER BY t.id")?.into_iter().map(|root: Root| RunSite {
            fine_read_bytes: Some(root.fine_read_bytes).filter(|bytes| *bytes > 0),
            read_bytes: root.read_bytes,
            read_documents: root.read_documents,
            repository: root.repository,
            sent_bytes: root.sent_bytes,
            site: root.site,
        });
        let sites = sites.collect();
        Ok(RunSection {
            expected_error: self.expected_error()?,
            finished: time(scan.finished),
            order: self.launch_order()?,
            sites,
            started: time(scan.started),
            tool: TOOL,
        })
    }

    /// The repositories that took part.
    pub fn sites(&self) -> Result<Vec<SiteSection>, Error> {
        let passages = self.record::<Scan>()?.passages;
        let section = |root: Root| SiteSection {
            bytes: root.bytes,
            changed: root.changed,
            chunks: root.chunks,
            compressed_bytes: root.compressed_bytes,
            contradicted_contents: Some(root.contradicted_contents).filter(|contents| *contents > 0),
            documents: root.documents,
            empty: root.empty,
            excluded: Counts::new(),
            hard_links: Some(root.hard_links).filter(|links| *links > 0),
            hard_link_bytes: Some(root.hard_link_bytes).filter(|_| root.hard_links > 0),
            members: root.members,
            no_text: root.no_text,
            not_compared_by_text: Counts::new(),
            party: root.party,
            passages: root.passages.filter(|_| passages),
            recognition: root.recognition,
            recognised: Some(root.recognised).filter(|documents| *documents > 0),
            repository: root.repository,
            site: root.site,
            skipped: 0,
            skipped_reasons: Counts::new(),
            status: Counts::new(),
            text_bytes: root.text_bytes,
            text_documents: root.text_documents,
            text_file_bytes: root.text_file_bytes,
            unextractable: Counts::new(),
            unreadable: root.unreadable,
        };
        let mut sites: Vec<SiteSection> = self.records("ORDER BY t.id")?.into_iter().map(section).collect();
        let at = |root: i64| usize::try_from(root).unwrap_or(usize::MAX);
        for Skipped { root, reason, entries } in self.records("")? {
            let Some(site) = sites.get_mut(at(root)) else { continue };
            site.skipped += entries;
            site.skipped_reasons.insert(reason.into_owned(), entries);
        }
        for StatusCount { root, status, documents } in self.records("")? {
            let Some(site) = sites.get_mut(at(root)) else { continue };
            match status.strip_prefix("excluded(") {
                None => drop(site.status.insert(status.into_owned(), documents)),
                Some(reason) => {
                    *site.status.entry("excluded".to_owned()).or_insert(0) += documents;
                    site.excluded.insert(reason.trim_end_matches(')').to_owned(), documents);
                }
            }
        }
        let sql = "SELECT root, reason, count(*) FROM unread WHERE reason LIKE '%: %' GROUP BY 1, 2";
        for (root, reason, count) in self.rows::<(usize, String, u64)>(sql, ())? {
            let site = &mut sites[root];
            if let Some(reason) = reason.strip_prefix("unextractable: ") {
                site.unextractable.insert(reason.to_owned(), count);
            } else if let Some(reason) = reason.strip_prefix("not compared by text: ") {
                site.not_compared_by_text.insert(reason.to_owned(), count);
            }
        }
        Ok(self.sort_roots(sites))
    }
}

/// Warning on a result across parties whose sites had no key.
const UNKEYED_NOTICE: &str = "fingerprinted without a key across parties: whoever holds a document can test whether its \
                              chunks occur elsewhere";
