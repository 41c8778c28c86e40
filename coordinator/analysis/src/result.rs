//! The result of a scan as one `SQLite` file: written under another name, renamed when complete, and never changed.
//!
//! Equal inputs and options give equal rows in equal order, whatever the threads, the budget, or the order of arrival.

use std::collections::HashMap;
use std::path::Path;

use cognate_durable::whole::{Draft, sync_folder};
use cognate_fingerprint::View;
use cognate_proto::options::{Refine, ScanOptions, ScanView};
use cognate_result_file::{
    ExactPair, ExactSite, FORMAT, FineChunks, Insert, Layer as LayerRecord, LooseSet, Missing, Part as Tables, Record,
    Refined, Scan, Selection, SetAside,
};
use cognate_similarity::ContentIndex;
use rusqlite::Connection;

use self::apart::write_tables;
use self::clusters::ClusterOrder;
pub(crate) use self::clusters::cluster_name;
use self::decision::Decisions;
use self::document_rows::DocumentRows;
use self::group::Places;
use self::sets::Sets;
use crate::alignment::Alignment;
use crate::error::Error;
use crate::freeze::{FrozenSet, IgnoreReason};
use crate::layer_result::LayerResult;
use crate::part::Part;
use crate::spec::{Comparison, Layer, ScanJob};
use cognate_storage::store::ScanRow;

mod apart;
mod changes;
mod clusters;
mod decision;
mod document_rows;
mod documents;
mod evidence;
mod frames;
mod group;
mod in_common;
mod names;
mod overlap;
mod packed_sets;
mod roots;
mod sets;

/// Content of a result.
pub(crate) struct Publication<'a> {
    pub(crate) scan: &'a ScanJob,
    pub(crate) row: &'a ScanRow,
    pub(crate) finished: i64,
    /// Findings of the views that are in the result.
    pub(crate) layers: &'a [LayerResult],
    /// All views that were synced.
    pub(crate) synced: &'a [LayerResult],
    /// True if the file must survive a loss of power.
    pub(crate) durable: bool,
}

/// The views that are in a result. Where there are no office files, there is nothing to say about them.
pub(crate) fn layers_with_documents<'a>(scan: &ScanJob, layers: &'a [LayerResult]) -> &'a [LayerResult] {
    match layers {
        [bytes, office] if scan.spec.options.view == ScanView::Auto && office.frozen.is_empty() => {
            std::slice::from_ref(bytes)
        }
        all => all,
    }
}

/// Writes the result of a scan to `path`, replacing what an interrupted attempt may have left.
pub(crate) fn write(path: &Path, publication: &Publication<'_>) -> Result<(), Error> {
    let draft = Draft::begin(path).map_err(Error::state(path))?;
    // It is dropped with its file: nothing is published but the result.
    let apart = Draft::begin(&path.with_extension("documents")).map_err(Error::state(path))?;
    let failed = |source| Error::Result { path: path.to_owned(), source };
    write_tables([&draft, &apart].map(Draft::temporary), publication).map_err(failed)?;
    drop(apart);
    // The rename publishes the result: until then the file has no name that anybody reads.
    if publication.durable {
        draft.sync().map_err(Error::state(path))?;
    }
    cognate_storage::failpoint!("publish.before_rename");
    draft.publish().map_err(Error::state(path))?;
    if publication.durable
        && let Some(folder) = path.parent()
    {
        // The names of the file and of its folder must survive a loss of power as well as the bytes.
        for folder in [Some(folder), folder.parent()].into_iter().flatten() {
            sync_folder(folder).map_err(Error::state(folder))?;
        }
    }
    cognate_storage::failpoint!("publish.after_rename");
    Ok(())
}

impl Publication<'_> {
    /// All layers are of the same repositories.
    fn roots(&self) -> &FrozenSet {
        &self.layers[0].frozen
    }

    /// The alignment of two repositories: that of the last view knows the evidence of all.
    fn alignment(&self) -> &Alignment {
        &self.layers[self.layers.len() - 1].findings.alignment
    }

    /// True if documents in these repositories together count, if only pairs across sites or parties do.
    fn crosses(&self, roots: impl Iterator<Item = u16>) -> bool {
        !self.scan.spec.options.across_only || self.spans(roots)
    }

    /// True for repositories of several parties, where the scan has several, and otherwise of several sites.
    fn spans(&self, roots: impl Iterator<Item = u16>) -> bool {
        let all = &self.roots().roots;
        let by_party = all.iter().any(|root| root.party_number != all[0].party_number);
        let mut labels = roots.map(|root| {
            let root = &all[usize::from(root)];
            if by_party { root.party_number } else { root.site_number }
        });
        let first = labels.next();
        labels.any(|label| Some(label) != first)
    }

    /// True if each document counts under one view alone.
    fn counts_once(&self) -> bool {
        self.has_text() && self.scan.spec.options.view == ScanView::Auto
    }

    /// The places of repositories in the order of the launch: sites by their first repository.
    fn launch_order(&self) -> LaunchOrder<'_> {
        let launched = &self.scan.spec.options.repositories;
        let mut firsts = HashMap::new();
        for ((site, _), place) in launched.iter().zip(0_usize..) {
            firsts.entry(site.as_str()).or_insert(place);
        }
        let mut ordered: Vec<(&str, &str)> =
            launched.iter().map(|(site, name)| (site.as_str(), name.as_str())).collect();
        // Repositories of a site stay in their order.
        ordered.sort_by_key(|(site, _)| firsts[site]);
        let mut places = HashMap::new();
        for (repository, place) in ordered.into_iter().zip(0..) {
            places.entry(repository).or_insert(place);
        }
        LaunchOrder { places }
    }

    /// True if the scan compares text.
    fn has_text(&self) -> bool {
        self.scan.spec.layers.iter().zip(self.layers).any(|(layer, _)| layer.method.view().is_text())
    }
}

/// The places of repositories in the order of the launch.
struct LaunchOrder<'a> {
    places: HashMap<(&'a str, &'a str), usize>,
}

impl LaunchOrder<'_> {
    /// The place of a repository; one that was not launched comes last.
    fn place_of(&self, site: &str, repository: &str) -> usize {
        self.places.get(&(site, repository)).copied().unwrap_or(self.places.len())
    }
}

struct Writer {
    connection: Connection,
}

/// Documents, identical sets and clusters, numbered in the order of their rows: rows of several tables refer to these numbers.
struct Rows<'a> {
    documents: DocumentRows<'a>,
    decisions: Decisions,
    sets: Sets,
    /// Those of each layer.
    clusters: Vec<ClusterOrder<'a>>,
}

/// The rows of one layer, and the number of its first content.
struct LayerPart<'a> {
    number: usize,
    layer: &'a LayerResult,
    order: &'a ClusterOrder<'a>,
    contents_before: usize,
}

impl LayerPart<'_> {
    fn content(&self, content: ContentIndex) -> i64 {
        row_number(self.contents_before + content.0 as usize)
    }
}

/// The layers with the order of their clusters.
fn parts<'a>(layers: &'a [LayerResult], clusters: &'a [ClusterOrder<'a>]) -> impl Iterator<Item = LayerPart<'a>> {
    let mut contents = 0;
    layers.iter().zip(clusters).enumerate().map(move |(number, (layer, order))| {
        let contents_before = contents;
        contents += layer.frozen.contents.len();
        LayerPart { number, layer, order, contents_before }
    })
}

impl Writer {
    fn create(path: &Path) -> rusqlite::Result<Writer> {
        let connection = Connection::open(path)?;
        // It is read only when it is complete, and a crash discards it: no journal, no syncs. Referenced rows
        // exist by construction; checking each row took a third of a rescan of a million documents.
        connection.execute_batch(
            "PRAGMA foreign_keys = OFF; PRAGMA page_size = 8192; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
             PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -16000; PRAGMA application_id = 0x436f676e;",
        )?;
        Ok(Writer { connection })
    }

    /// Writes the tables of documents, and of what they hold.
    fn write_documents(&self, publication: &Publication<'_>, rows: &Rows<'_>) -> rusqlite::Result<()> {
        self.connection.execute_batch("BEGIN")?;
        self.connection.execute_batch(&Tables::Documents.tables())?;
        self.documents(publication, &rows.documents, &rows.decisions)?;
        for part in parts(publication.layers, &rows.clusters) {
            self.contents(&part, &rows.documents, &rows.sets)?;
        }
        self.connection.execute_batch("COMMIT")?;
        self.connection.execute_batch(Tables::Documents.indexes())
    }

    /// Writes all other tables.
    fn write_others(&self, publication: &Publication<'_>, rows: &Rows<'_>) -> rusqlite::Result<()> {
        let Rows { documents, decisions, sets, clusters } = rows;
        self.connection.execute_batch("BEGIN")?;
        self.connection.execute_batch(&Tables::Others.tables())?;
        let places = Places::of(publication);
        self.scan(publication)?;
        self.layers(publication, sets)?;
        self.roots(publication, documents)?;
        self.sets(publication, documents, sets, &places)?;
        self.packed_sets(publication, rows)?;
        self.alignment(publication.alignment(), &documents.matched)?;
        self.unread(publication)?;
        evidence::write(&self.connection, publication, documents)?;
        self.insert()?.add_all(in_common::overlap(publication, documents, decisions))?;
        self.insert()?.add_all(in_common::only_here(publication, documents, decisions))?;
        self.folders(publication, documents, decisions)?;
        let mut frames_before = 0;
        for part in parts(publication.layers, clusters) {
            self.clusters(publication, &part, &places)?;
            frames_before += self.frames(&part, frames_before)?;
            self.histogram(part.number, &part.layer.findings.of_links.histogram)?;
        }
        self.connection.execute_batch("COMMIT")?;
        self.connection.execute_batch(Tables::Others.indexes())
    }

    /// Prepares the insertion of records.
    fn insert<R: Record>(&self) -> rusqlite::Result<Insert<'_, R>> {
        Insert::into(&self.connection)
    }

    fn scan(&self, publication: &Publication<'_>) -> rusqlite::Result<()> {
        let Publication { scan, row, finished, .. } = publication;
        let spec = &scan.spec;
        let status = if row.is_partial() { "partial" } else { "complete" };
        let first = spec.first();
        let passages = first.method.view() == View::Passages;
        let view = if passages { ScanView::Text } else { spec.options.view };
        self.insert()?.add(&Scan {
            schema: FORMAT.to_owned(),
            id: scan.id.to_string(),
            method: first.method.name().into(),
            view: view.name().into(),
            chunk_bytes: chunk_bytes(first),
            min_shared_bytes: min_shared_bytes(first),
            min_containment: first.thresholds.min_containment.to_string(),
            across_only: spec.options.across_only,
            keyed: row.keyed,
            status: status.into(),
            started: row.started,
            finished: *finished,
            passages,
            match_message_ids: spec.options.match_message_ids,
            cluster: spec.options.greedy.then(|| "greedy".into()),
            verified_by: match spec.comparison(0) {
                Comparison::Proposals(verification) => Some(verification.name().into()),
                _ => None,
            },
        })?;
        self.selection(&spec.options)?;
        let order = publication.launch_order();
        self.insert()?.add_all(row.missing.iter().map(|missing| Missing {
            site: missing.site.clone(),
            repository: missing.repository.clone(),
            reason: missing.reason.clone(),
            place: order.place_of(&missing.site, &missing.repository) as u64,
        }))?;
        match &spec.options.refine {
            Some(refine) => self.refined(refine, publication),
            None => Ok(()),
        }
    }

    fn selection(&self, options: &ScanOptions) -> rusqlite::Result<()> {
        let of =
            |kind: &'static str, patterns: &[String]| patterns.iter().map(move |value| (kind, value.clone())).collect();
        let mut rows: Vec<(&'static str, String)> = of("include", &options.include);
        rows.extend::<Vec<_>>(of("exclude", &options.exclude));
        rows.extend(options.size_max_bytes.map(|bytes| ("size_max", bytes.to_string())));
        rows.extend(options.sample_percent.map(|percent| ("sample", percent.to_string())));
        rows.extend(options.follow.then(|| ("follow", "true".to_owned())));
        self.insert()?.add_all(rows.into_iter().map(|(kind, value)| Selection { kind: kind.into(), value }))
    }

    fn refined(&self, refine: &Refine, publication: &Publication<'_>) -> rusqlite::Result<()> {
        let Publication { row, .. } = publication;
        let frozen = publication.roots();
        let chosen: u64 = row.frozen.iter().map(|frozen| frozen.chosen_documents).sum();
        // Of text, the members of a document are listed next to it: the chosen ones are files.
        let files = frozen.documents.iter().filter(|document| document.part == Part::File).count();
        let bare = frozen.bare.iter().filter(|bare| bare.part == Part::File).count();
        let unread = frozen.unread.iter().filter(|(_, _, state)| !state.has_content()).count();
        let found = (files + bare + unread) as u64;
        self.insert()?.add(&Refined {
            scan: refine.scan.to_string(),
            what: refine.word().into(),
            size_min_bytes: refine.unmatched().then_some(refine.size_min_bytes),
            documents: chosen,
            changed: chosen.saturating_sub(found),
        })
    }

    fn layers(&self, publication: &Publication<'_>, sets: &Sets) -> rusqlite::Result<()> {
        let Publication { scan, row, layers, .. } = publication;
        for (number, (layer, found)) in scan.spec.layers.iter().zip(*layers).enumerate() {
            let (sums, fine) = (sets.sums[number], found.fine.as_ref());
            self.insert()?.add(&LayerRecord {
                number,
                view: if layer.method.view().is_text() { "text".into() } else { "raw".into() },
                chunk_bytes: chunk_bytes(layer),
                min_shared_bytes: min_shared_bytes(layer),
                templates_digest: Some(row.layer(number).templates_digest.to_owned())
                    .filter(|digest| !digest.is_empty()),
                identical_sets: sums.sets,
                identical_in_place: sums.in_place,
                wasted_bytes: sums.wasted_bytes,
                hard_link_bytes: sums.hard_link_bytes,
                param: Some(layer.method.param()).filter(|param| !param.is_empty()),
                precision: scan.spec.precision(number).map(|precision| precision.name().into()),
                fine_pairs: fine.map(|fine| fine.fine_pairs),
                coarse_pairs: fine.map(|fine| fine.coarse_pairs),
                omitted_pairs: fine.map(|fine| fine.omitted_pairs),
                template_rows: fine.map(|fine| fine.template_rows),
            })?;
            let roots = fine.into_iter().flat_map(|fine| (0..).zip(&fine.roots));
            self.insert()?.add_all(roots.map(|(root, of_root)| FineChunks {
                root,
                layer: number,
                chunks: of_root.chunks,
                expanded_chunks: of_root.expanded_chunks,
                changed_contents: of_root.changed_contents,
                failure: of_root.failure.as_ref().map(|failure| failure.reason.clone()),
                refused: of_root.failure.as_ref().is_some_and(|failure| failure.refused),
            }))?;
            self.exact(number, found)?;
            self.insert()?.add_all(found.frozen.set_aside.iter().map(|one| SetAside {
                tag: one.tag.0,
                documents: one.documents,
                length_bytes: one.length_bytes.into(),
                layer: number,
                crowded: one.why == IgnoreReason::Crowd,
            }))?;
        }
        self.insert()?.add_all((0..).zip(&sets.loose).map(|(id, set)| LooseSet {
            id,
            name: set.name,
            same_lines: set.same_lines,
            documents: set.documents,
            in_place: set.in_place,
        }))
    }
}

impl Writer {
    /// The pairs that sites measured exactly, and the sites that were asked.
    fn exact(&self, layer: usize, found: &LayerResult) -> rusqlite::Result<()> {
        self.insert()?.add_all(found.exact.iter().flat_map(|exact| &exact.pairs).map(|pair| ExactPair {
            layer,
            size_bytes_a: pair.size_bytes[0],
            size_bytes_b: pair.size_bytes[1],
            reported_bytes: pair.reported_bytes,
            true_bytes_a: pair.true_bytes[0],
            true_bytes_b: pair.true_bytes[1],
        }))?;
        let named = |number| found.frozen.roots.iter().find(|root| root.site_number == number);
        self.insert()?.add_all(found.exact.iter().flat_map(|exact| &exact.sites).map(|site| ExactSite {
            layer,
            site: named(site.site).map(|root| root.site.to_string()).unwrap_or_default(),
            sampled_pairs: site.sampled_pairs,
            measured_pairs: site.measured_pairs,
            failure: site.failure.as_ref().map(|failure| failure.reason.clone()),
            refused: site.failure.as_ref().is_some_and(|failure| failure.refused),
            read_bytes: site.read_bytes,
        }))
    }
}

/// The mean of a chunk, or the bytes to a feature; nothing where signatures have a fixed size.
fn chunk_bytes(layer: &Layer) -> Option<u64> {
    Some(layer.method.chunk_bytes().into()).filter(|_| !layer.method.capabilities().fixed_size)
}

/// The threshold in bytes, where bytes are known of.
fn min_shared_bytes(layer: &Layer) -> Option<u64> {
    layer.method.capabilities().shared_bytes.then_some(layer.thresholds.min_shared_bytes)
}

fn hex(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..32].to_owned()
}

fn content_index(content: usize) -> ContentIndex {
    ContentIndex(u32::try_from(content).expect("fewer than 2^32 contents"))
}

/// The number of a row.
fn row_number(number: usize) -> i64 {
    i64::try_from(number).expect("fewer rows than 2^63")
}
