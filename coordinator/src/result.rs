//! The result of a scan as one `SQLite` file: written under another name, put in its place whole, and never changed.
//!
//! Equal inputs and options give equal rows in equal order, whatever the threads, the budget, or who came first.

use std::collections::BTreeMap;
use std::path::Path;

use cognate_fingerprint::View;
use cognate_proto::batch::DocumentState;
use cognate_proto::path::DocumentPath;
use cognate_proto::v1::{FileClass, SyncSummary};
use cognate_similarity::{Cluster, ContentIndex, Shape};
use rusqlite::{Connection, Statement, params};

use self::names::{folder_relation_name, relation_name, shape_name, skip_reason, status_name, unread_reason};
use self::sets::{Sets, is_in_place};
use self::whole::{What, Whole, WholeRow, status_of};
use crate::error::Error;
use crate::scan::measure::{Fraction, Measures};
use crate::scan::second;
use crate::scan::{Bucket, Frozen, Histogram, Layer, Layered, Part, Refine, Scan, Status};
use crate::store::ScanRow;

mod evidence;
mod names;
mod sets;
mod whole;

const SCHEMA: &str = include_str!("result/schema.sql");
const INDEXES: &str = include_str!("result/indexes.sql");
/// The name of the format; a reader refuses another.
pub(crate) const FORMAT: &str = "cognate.result/3";
/// The formats before it, which are read as well: links without ratios of their own; and before that one view, one row a
/// document.
pub(crate) const FORMATS_BEFORE: [&str; 2] = ["cognate.result/2", "cognate.result/1"];

/// What is written.
pub(crate) struct Publication<'a> {
    pub(crate) scan: &'a Scan,
    pub(crate) row: &'a ScanRow,
    pub(crate) finished: i64,
    /// What was found under each of the scan's views.
    pub(crate) layers: &'a [Layered],
    /// Whether the file must survive a loss of power.
    pub(crate) durable: bool,
}

/// Writes the result of a scan to `path`, replacing what an interrupted attempt may have left.
pub(crate) fn write(path: &Path, publication: &Publication<'_>) -> Result<(), Error> {
    let beside = path.with_extension("writing");
    let failed = |source| Error::Result { path: path.to_owned(), source };
    match std::fs::remove_file(&beside) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Error::state(&beside)(error)),
        _ => {}
    }
    let written = Writer::create(&beside).and_then(|mut writer| writer.write_all(publication)).map_err(failed);
    // The rename is what publishes: until then the file has no name that anybody reads.
    let synced = written
        .and_then(|()| std::fs::File::open(&beside).and_then(|file| file.sync_all()).map_err(Error::state(&beside)));
    if let Err(error) = synced {
        // The first error is the one worth telling; a leftover is overwritten by the next attempt.
        let _ = std::fs::remove_file(&beside);
        return Err(error);
    }
    crate::failpoint!("publish.before_rename");
    std::fs::rename(&beside, path).map_err(Error::state(path))?;
    if publication.durable
        && let Some(folder) = path.parent()
    {
        // The names of the file and of its folder must survive a loss of power as well as the bytes.
        for folder in [Some(folder), folder.parent()].into_iter().flatten() {
            std::fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(Error::state(folder))?;
        }
    }
    crate::failpoint!("publish.after_rename");
    Ok(())
}

impl Publication<'_> {
    /// All layers are of the same repositories.
    fn roots(&self) -> &Frozen {
        &self.layers[0].frozen
    }

    /// Whether documents in these repositories together count, where only what crosses does.
    fn crosses(&self, roots: impl Iterator<Item = u16>) -> bool {
        let all = &self.roots().roots;
        let by_party = all.iter().any(|root| root.party_number != all[0].party_number);
        let mut labels = roots.map(|root| {
            let root = &all[usize::from(root)];
            if by_party { root.party_number } else { root.site_number }
        });
        let first = labels.next();
        !self.scan.spec.across_only || labels.any(|label| Some(label) != first)
    }

    /// Whether the scan looks at text.
    fn has_text(&self) -> bool {
        self.scan.spec.layers.iter().any(|layer| layer.method.view().is_text())
    }
}

struct Writer {
    connection: Connection,
}

/// What of one layer is written, and where its rows begin.
struct LayerPart<'a> {
    number: usize,
    layer: &'a Layered,
    order: ClusterOrder<'a>,
    contents_before: usize,
    clusters_before: usize,
}

impl LayerPart<'_> {
    fn content(&self, content: ContentIndex) -> usize {
        self.contents_before + content.0 as usize
    }
}

impl Writer {
    fn create(path: &Path) -> rusqlite::Result<Writer> {
        let connection = Connection::open(path)?;
        // Nobody reads it before it is whole, and a crash throws it away: no journal, no syncs. What the rows refer to is
        // there by the way they are made; looking it up for every row was a third of a rescan of a million documents.
        connection.execute_batch(
            "PRAGMA foreign_keys = OFF; PRAGMA page_size = 8192; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
             PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -16000; PRAGMA application_id = 0x436f676e;",
        )?;
        connection.execute_batch(SCHEMA)?;
        Ok(Writer { connection })
    }

    fn write_all(&mut self, publication: &Publication<'_>) -> rusqlite::Result<()> {
        self.connection.execute_batch("BEGIN")?;
        let whole = Whole::of(publication);
        let sets = Sets::of(publication, &whole);
        self.scan(publication)?;
        self.layers(publication, &sets)?;
        self.roots(publication, &whole)?;
        self.documents(publication, &whole, &sets)?;
        self.unread(publication)?;
        evidence::write(&self.connection, publication, &whole)?;
        let (mut contents_before, mut clusters_before, mut folders_before) = (0, 0, 0);
        for (number, layer) in publication.layers.iter().enumerate() {
            let order = ClusterOrder::of(layer);
            let part = LayerPart { number, layer, order, contents_before, clusters_before };
            self.contents(&part, &sets)?;
            self.clusters(&part)?;
            self.folders(&part, folders_before)?;
            self.overlap(&part)?;
            self.histogram(number, &layer.findings.histogram)?;
            contents_before += layer.frozen.contents.len();
            clusters_before += part.order.clusters.len();
            folders_before += layer.findings.folders.len();
        }
        self.connection.execute_batch("COMMIT")?;
        self.connection.execute_batch(INDEXES)
    }

    fn scan(&self, publication: &Publication<'_>) -> rusqlite::Result<()> {
        let Publication { scan, row, finished, .. } = publication;
        let spec = &scan.spec;
        let status = if row.missing.is_empty() { "complete" } else { "partial" };
        let first = spec.first();
        let passages = first.method.view() == View::Passages;
        let view = match (spec.layers.len(), first.method.view()) {
            (1, View::Raw) => "raw",
            (1, View::Text | View::Passages) => "text",
            _ => "both",
        };
        self.connection.execute(
            "INSERT INTO scan VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            params![
                FORMAT,
                scan.id.to_string(),
                first.method.name(),
                view,
                chunk_bytes(first),
                min_shared_bytes(first),
                first.thresholds.min_containment.to_string(),
                spec.across_only,
                row.keyed,
                status,
                row.started,
                finished,
                passages,
                spec.match_message_ids,
                Some("greedy").filter(|_| spec.greedy),
                first.method.verified_by(),
            ],
        )?;
        for missing in &row.missing {
            self.connection.execute(
                "INSERT INTO missing VALUES (?,?,?)",
                params![missing.site, missing.repository, missing.reason],
            )?;
        }
        match &spec.refine {
            Some(refine) => self.refined(refine, publication),
            None => Ok(()),
        }
    }

    fn refined(&self, refine: &Refine, publication: &Publication<'_>) -> rusqlite::Result<()> {
        let Publication { row, .. } = publication;
        let frozen = publication.roots();
        let chosen: u64 = row.frozen.iter().map(|frozen| frozen.chosen_documents).sum();
        // Of text, what a document holds stands beside it: the chosen ones are files.
        let files = frozen.documents.iter().filter(|document| document.part == Part::File).count();
        let bare = frozen.bare.iter().filter(|bare| bare.part == Part::File).count();
        let found = (files + bare + frozen.unread.len()) as u64;
        self.connection.execute(
            "INSERT INTO refined VALUES (?,?,?,?,?)",
            params![
                refine.scan.to_string(),
                refine.word(),
                refine.unmatched().then(|| integer(refine.size_bytes_min)),
                integer(chosen),
                integer(chosen.saturating_sub(found)),
            ],
        )?;
        Ok(())
    }

    fn layers(&self, publication: &Publication<'_>, sets: &Sets) -> rusqlite::Result<()> {
        let Publication { scan, row, layers, .. } = publication;
        let mut insert = self.connection.prepare("INSERT INTO layer VALUES (?,?,?,?,?,?,?,?,?)")?;
        let mut set_aside = self.connection.prepare("INSERT INTO set_aside VALUES (?,?,?,?)")?;
        for (number, (layer, found)) in scan.spec.layers.iter().zip(*layers).enumerate() {
            let sums = sets.sums[number];
            insert.execute(params![
                number,
                if layer.method.view().is_text() { "text" } else { "raw" },
                chunk_bytes(layer),
                min_shared_bytes(layer),
                Some(row.layer(number).templates_digest).filter(|digest| !digest.is_empty()),
                integer(sums.sets),
                integer(sums.in_place),
                integer(sums.wasted_bytes),
                Some(layer.method.param()).filter(|param| !param.is_empty()),
            ])?;
            for one in &found.frozen.set_aside {
                set_aside.execute(params![one.tag.0, integer(one.documents), one.length_bytes, number])?;
            }
        }
        let mut insert = self.connection.prepare("INSERT INTO message VALUES (?,?,?,?)")?;
        for (number, set) in sets.messages.iter().enumerate() {
            insert.execute(params![number, set.hash, integer(set.documents), set.in_place])?;
        }
        Ok(())
    }

    fn roots(&self, publication: &Publication<'_>, whole: &Whole<'_>) -> rusqlite::Result<()> {
        let frozen = publication.roots();
        let sums = RootSums::of(publication, whole);
        for (number, (root, sums)) in frozen.roots.iter().zip(&sums).enumerate() {
            let compressed = root.summary.census.iter().filter(|row| row.class() != FileClass::Plain);
            // What a site says of itself is not to be relied on, not even to add up.
            let compressed_bytes = compressed.fold(0, |sum: u64, row| sum.saturating_add(row.size_bytes));
            let sum = |count: fn(&SyncSummary) -> u64| {
                let of_layers = publication.layers.iter().map(|layer| count(&layer.frozen.roots[number].summary));
                let again = second::rows_of(publication.row, root.site.as_str(), root.repository.as_str());
                let again = again.filter_map(|row| row.summary.as_ref()).map(count);
                integer(of_layers.chain(again).fold(0, u64::saturating_add))
            };
            let text = |count: i64| publication.has_text().then_some(count);
            self.connection.execute(
                "INSERT INTO root VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                params![
                    number,
                    root.party.as_str(),
                    root.site.as_str(),
                    root.repository.as_str(),
                    sums.documents,
                    sums.bytes,
                    sums.chunks,
                    sums.empty,
                    sums.unreadable,
                    sums.changed,
                    integer(compressed_bytes),
                    sum(|summary| summary.read_bytes),
                    sum(|summary| summary.read_documents),
                    sum(|summary| summary.sent_bytes),
                    text(sums.text_bytes),
                    text(sums.members),
                    text(sums.passages),
                    text(sums.no_text),
                ],
            )?;
            // Every layer's walk leaves the same out.
            for skipped in &root.summary.skipped {
                self.connection.execute(
                    "INSERT INTO skipped VALUES (?,?,?)",
                    params![number, skip_reason(skipped.reason()), integer(skipped.entries)],
                )?;
            }
        }
        Ok(())
    }

    fn contents(&self, part: &LayerPart<'_>, sets: &Sets) -> rusqlite::Result<()> {
        let Layered { frozen, findings } = part.layer;
        let mut insert = self.connection.prepare("INSERT INTO content VALUES (?,?,?,?,?,?,?,?,?,?)")?;
        for (number, content) in frozen.contents.iter().enumerate() {
            insert.execute(params![
                part.content(content_index(number)),
                content.digest.0,
                integer(content.size_bytes),
                integer(content.payload_bytes),
                integer(content.chunk_count),
                findings.copies.of_content(content_index(number)).len(),
                sets.of_content(part.number, number),
                is_in_place(part.layer, content_index(number)),
                part.order.cluster_of[number].map(|cluster| part.clusters_before + cluster),
                part.number,
            ])?;
        }
        Ok(())
    }

    fn documents(&self, publication: &Publication<'_>, whole: &Whole<'_>, sets: &Sets) -> rusqlite::Result<()> {
        let layers = publication.layers;
        let contents_before = [0, layers[0].frozen.contents.len()];
        let mut insert =
            self.connection.prepare("INSERT INTO document VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")?;
        let mut statuses = BTreeMap::<(u16, &str), u64>::new();
        for rows in whole.documents() {
            let first = rows.start;
            let of_rows = whole.rows[rows.clone()].iter().map(|row| row.status(layers));
            let message_set = sets.of_message(first);
            let status = match (status_of(of_rows.clone()), message_set) {
                (status, Some(_)) if !status.is_excluded() => Status::Identical,
                (status, _) => status,
            };
            *statuses.entry((whole.rows[first].root, status_name(status))).or_default() += 1;
            // Whichever view gives the status tells of the partner.
            let tells = of_rows.clone().position(|own| own == status).unwrap_or(0);
            let message = rows.clone().find_map(|row| whole.rows[row].message(layers));
            for number in rows {
                let row = &whole.rows[number];
                let found = Told::of(row, layers, whole);
                insert.execute(params![
                    number,
                    row.root,
                    row.path.as_bytes(),
                    found.content.map(|content| contents_before[usize::from(row.layer)] + content),
                    integer(row.size_bytes(layers)),
                    found.modified,
                    found.changing,
                    status_name(status),
                    found.partner,
                    found.partner_shared_bytes,
                    found.partner_relation,
                    found.partner_in_place,
                    row.layer,
                    whole.other(number),
                    number == first,
                    Some(row.status(layers)).filter(|own| *own != status).map(status_name),
                    number == first && tells > 0,
                    message,
                    message_set.filter(|_| number == first),
                ])?;
            }
        }
        let mut insert = self.connection.prepare("INSERT INTO status VALUES (?,?,?)")?;
        for ((root, status), documents) in statuses {
            insert.execute(params![root, status, documents])?;
        }
        Ok(())
    }

    fn unread(&self, publication: &Publication<'_>) -> rusqlite::Result<()> {
        let mut insert = self.connection.prepare("INSERT INTO unread VALUES (?,?,?,?)")?;
        for (layer, (root, path, state)) in unread(publication) {
            insert.execute(params![root, path.as_bytes(), unread_reason(*state), layer])?;
        }
        Ok(())
    }

    fn clusters(&self, part: &LayerPart<'_>) -> rusqlite::Result<()> {
        let Layered { frozen, findings } = part.layer;
        let mut insert = self.connection.prepare("INSERT INTO cluster VALUES (?,?,?,?,?,?,?,?,?,?,?,?)")?;
        let mut links = self.connection.prepare("INSERT INTO link VALUES (?,?,?,?,?,?,?,?,?,?,?)")?;
        let mut families = self.connection.prepare("INSERT INTO family VALUES (?,?,?,?,?)")?;
        let mut members = self.connection.prepare("INSERT INTO family_member VALUES (?,?,?)")?;
        for (number, (total_bytes, cluster)) in part.order.clusters.iter().enumerate() {
            let number = part.clusters_before + number;
            let resemblances = Resemblances::of(cluster, frozen, &findings.measures);
            insert.execute(params![
                number,
                cluster_name(frozen, cluster),
                members_digest(frozen, cluster),
                shape_name(Shape::of(cluster, &[])),
                part.content(cluster.representative),
                integer(*total_bytes),
                cluster.members.len(),
                integer(cluster.link_count),
                integer(cluster.links_omitted()),
                resemblances.min,
                resemblances.mean,
                part.number,
            ])?;
            write_links(&mut links, number, part, cluster)?;
            for (place, family) in cluster.families.iter().enumerate() {
                families.execute(params![
                    number,
                    place,
                    part.content(family.representative),
                    ten_thousandths(family.min_resemblance.shared, family.min_resemblance.union),
                    family.over_representative_only,
                ])?;
                for member in &family.members {
                    members.execute(params![number, place, part.content(*member)])?;
                }
            }
        }
        Ok(())
    }

    fn folders(&self, part: &LayerPart<'_>, before: usize) -> rusqlite::Result<()> {
        let mut insert = self.connection.prepare("INSERT INTO folder VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")?;
        for (number, pair) in part.layer.findings.folders.iter().enumerate() {
            insert.execute(params![
                before + number,
                pair.roots[0],
                pair.paths[0],
                pair.roots[1],
                pair.paths[1],
                folder_relation_name(pair.relation),
                integer(pair.documents[0]),
                integer(pair.documents[1]),
                integer(pair.shared_bytes[0]),
                integer(pair.shared_bytes[1]),
                integer(pair.documents_total[0]),
                integer(pair.documents_total[1]),
                integer(pair.size_bytes[0]),
                integer(pair.size_bytes[1]),
                part.number,
            ])?;
        }
        Ok(())
    }

    fn overlap(&self, part: &LayerPart<'_>) -> rusqlite::Result<()> {
        let mut insert = self.connection.prepare("INSERT INTO overlap VALUES (?,?,?,?,?,?,?,?,?,?)")?;
        for row in &part.layer.findings.overlap {
            insert.execute(params![
                row.level,
                row.a,
                row.b,
                integer(row.documents[0]),
                integer(row.documents[1]),
                integer(row.shared_bytes[0]),
                integer(row.shared_bytes[1]),
                integer(row.template_bytes[0]),
                integer(row.template_bytes[1]),
                part.number,
            ])?;
        }
        Ok(())
    }

    fn histogram(&self, layer: usize, histogram: &Histogram) -> rusqlite::Result<()> {
        let mut insert = self.connection.prepare("INSERT INTO histogram VALUES (?,?,?,?,?)")?;
        let mut row = |measure: &str, bucket: usize, counts: &Bucket| {
            let (links, documents) = (integer(counts.links), integer(counts.documents));
            insert.execute(params![measure, bucket, links, documents, layer]).map(drop)
        };
        row("all", 0, &histogram.all)?;
        let containment = histogram.containment.as_ref().map(|rows| ("containment", rows));
        for (measure, buckets) in containment.into_iter().chain([("resemblance", &histogram.resemblance)]) {
            buckets.iter().enumerate().try_for_each(|(bucket, counts)| row(measure, bucket, counts))?;
        }
        Ok(())
    }
}

fn write_links(
    insert: &mut Statement<'_>,
    number: usize,
    part: &LayerPart<'_>,
    cluster: &Cluster,
) -> rusqlite::Result<()> {
    let Layered { frozen, findings } = part.layer;
    // A link is told from the content whose first document comes first.
    let first = |content: ContentIndex| findings.copies.of_content(content).first().copied();
    for link in &cluster.links {
        let measured = findings.measures.of(&frozen.contents, link);
        let interval = findings.measures.interval(&measured);
        let (a, b, measured) = match first(link.a) <= first(link.b) {
            true => (link.a, link.b, measured),
            false => (link.b, link.a, measured.reversed()),
        };
        let contained = measured.contained.map(|both| both.map(Fraction::rounded));
        insert.execute(params![
            number,
            part.content(a),
            part.content(b),
            integer(measured.shared_bytes[0]),
            relation_name(measured.relation),
            measured.resemblance.rounded(),
            contained.map(|[a_in_b, _]| a_in_b),
            contained.map(|[_, b_in_a]| b_in_a),
            measured.estimate.is_some(),
            interval.map(|[low, _]| low),
            interval.map(|[_, high]| high),
        ])?;
    }
    Ok(())
}

/// What could not be read, with the layer that could not: a document whose bytes cannot be read is told once.
fn unread<'a>(publication: &Publication<'a>) -> Vec<(usize, &'a (u16, DocumentPath, DocumentState))> {
    let mut all: Vec<_> = publication
        .layers
        .iter()
        .enumerate()
        .flat_map(|(layer, found)| found.frozen.unread.iter().map(move |unread| (layer, unread)))
        .collect();
    all.sort_by(|(a_layer, a), (b_layer, b)| (a.0, &a.1, a_layer).cmp(&(b.0, &b.1, b_layer)));
    all.dedup_by(|(_, later), (_, first)| (later.0, &later.1) == (first.0, &first.1));
    all
}

/// What is told of a document under one view.
#[derive(Default)]
struct Told {
    content: Option<usize>,
    modified: i64,
    changing: bool,
    /// The row of the document of another repository that it is best compared with.
    partner: Option<u32>,
    partner_shared_bytes: Option<i64>,
    partner_relation: Option<&'static str>,
    partner_in_place: Option<bool>,
}

impl Told {
    fn of(row: &WholeRow<'_>, layers: &[Layered], whole: &Whole<'_>) -> Told {
        let What::Document(place) = row.what else { return Told::default() };
        let layer = usize::from(row.layer);
        let Layered { frozen, findings } = &layers[layer];
        let document = &frozen.documents[place as usize];
        let partner = findings.partners.of_document(place as usize);
        Told {
            content: Some(document.content.0 as usize),
            modified: document.modified,
            changing: document.changing,
            partner: partner.map(|partner| whole.place(layer, partner.document)),
            partner_shared_bytes: partner.map(|partner| integer(partner.shared_bytes)),
            partner_relation: partner.map(|partner| partner.relation.map_or("identical", relation_name)),
            partner_in_place: partner.map(|partner| frozen.documents[partner.document as usize].path == document.path),
        }
    }
}

/// What the documents of a repository come to.
#[derive(Clone, Copy, Default)]
struct RootSums {
    documents: i64,
    bytes: i64,
    chunks: i64,
    empty: i64,
    unreadable: i64,
    changed: i64,
    text_bytes: i64,
    members: i64,
    passages: i64,
    no_text: i64,
}

impl RootSums {
    /// Bytes and chunks are those of the first layer.
    fn of(publication: &Publication<'_>, whole: &Whole<'_>) -> Vec<RootSums> {
        let layers = publication.layers;
        let text = layers.len() - 1;
        let has_text = publication.has_text();
        let mut all = vec![RootSums::default(); publication.roots().roots.len()];
        for rows in whole.documents() {
            let rows = &whole.rows[rows];
            let sums = &mut all[usize::from(rows[0].root)];
            let statuses = rows.iter().map(|row| row.status(layers));
            sums.documents += 1;
            sums.empty += i64::from(status_of(statuses) == Status::ExcludedEmpty);
            sums.changed += i64::from(rows.iter().any(|row| Told::of(row, layers, whole).changing));
            sums.members += i64::from(rows[0].part(layers) == Part::Member);
            sums.passages += i64::from(rows[0].part(layers) == Part::Passage);
            for row in rows {
                sums.no_text += i64::from(row.status(layers) == Status::ExcludedNoText);
                if has_text && usize::from(row.layer) == text {
                    sums.text_bytes += integer(row.size_bytes(layers));
                }
                if row.layer == 0 {
                    sums.add(row, layers);
                }
            }
        }
        for (_, (root, ..)) in unread(publication) {
            all[usize::from(*root)].unreadable += 1;
        }
        all
    }

    fn add(&mut self, row: &WholeRow<'_>, layers: &[Layered]) {
        self.bytes += integer(row.size_bytes(layers));
        if let What::Document(place) = row.what {
            let frozen = &layers[0].frozen;
            let content = frozen.documents[place as usize].content;
            self.chunks += integer(frozen.contents[content.0 as usize].chunk_count);
        }
    }
}

/// The clusters by total bytes, falling, then by their smallest member's digest.
struct ClusterOrder<'a> {
    clusters: Vec<(u64, &'a Cluster)>,
    cluster_of: Vec<Option<usize>>,
}

impl<'a> ClusterOrder<'a> {
    fn of(Layered { frozen, findings }: &'a Layered) -> ClusterOrder<'a> {
        let size = |cluster: &Cluster| {
            cluster.members.iter().map(|member| frozen.contents[member.0 as usize].size_bytes).sum::<u64>()
        };
        let mut clusters: Vec<(u64, String, &Cluster)> = findings
            .analysis
            .clusters
            .iter()
            .map(|cluster| (size(cluster), cluster_name(frozen, cluster), cluster))
            .collect();
        clusters.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let mut cluster_of = vec![None; frozen.contents.len()];
        for (number, (.., cluster)) in clusters.iter().enumerate() {
            cluster.members.iter().for_each(|member| cluster_of[member.0 as usize] = Some(number));
        }
        ClusterOrder { clusters: clusters.into_iter().map(|(size, _, cluster)| (size, cluster)).collect(), cluster_of }
    }
}

/// The mean of a chunk, or the bytes to a feature; nothing where signatures have a fixed size.
fn chunk_bytes(layer: &Layer) -> Option<u32> {
    Some(layer.method.chunk_bytes()).filter(|_| !layer.method.has_fixed_size())
}

/// The threshold in bytes, where bytes are known of.
fn min_shared_bytes(layer: &Layer) -> Option<i64> {
    let knows_bytes = layer.method.check_containment().is_ok() || layer.method.verified_by() == Some("tttd");
    knows_bytes.then(|| integer(layer.thresholds.min_shared_bytes))
}

/// The least and the mean resemblance over the links of a cluster, in ten-thousandths.
struct Resemblances {
    min: i64,
    mean: i64,
}

impl Resemblances {
    fn of(cluster: &Cluster, frozen: &Frozen, measures: &Measures) -> Resemblances {
        if cluster.links_omitted() > 0 {
            let min = ten_thousandths(cluster.min_resemblance.shared, cluster.min_resemblance.union);
            return Resemblances { min, mean: rounded(cluster.mean_resemblance()) };
        }
        let of_link = |link| measures.resemblance(&frozen.contents, link);
        let min = cluster.links.iter().map(of_link).min();
        // Summed in the order of the links, which is fixed: the same bytes give the same mean.
        let sum: f64 = cluster.links.iter().map(|link| of_link(link).to_f64()).sum();
        let mean = rounded(sum / cluster.links.len() as f64);
        Resemblances { min: min.map_or(0, |min| ten_thousandths(min.shared, min.union)), mean }
    }
}

/// A mean of ratios in ten-thousandths.
#[expect(clippy::cast_possible_truncation, reason = "a mean of ratios is 0 to 1")]
fn rounded(mean: f64) -> i64 {
    (mean * 10_000.0).round() as i64
}

/// A ratio rounded to the nearest ten-thousandth, halves up, without floating point.
pub(crate) fn ten_thousandths(part: u64, whole: u64) -> i64 {
    if whole == 0 {
        return 0;
    }
    let rounded = (u128::from(part) * 20_000 + u128::from(whole)) / (2 * u128::from(whole));
    i64::try_from(rounded).unwrap_or(i64::MAX)
}

/// The name of a cluster: the digest of its smallest member's digest, so that it stays while that member does.
pub(crate) fn cluster_name(frozen: &Frozen, cluster: &Cluster) -> String {
    hex(&frozen.contents[cluster.members[0].0 as usize].digest.0)
}

fn members_digest(frozen: &Frozen, cluster: &Cluster) -> String {
    let digests: Vec<u8> =
        cluster.members.iter().flat_map(|member| frozen.contents[member.0 as usize].digest.0).collect();
    hex(&digests)
}

fn hex(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..32].to_owned()
}

fn content_index(content: usize) -> ContentIndex {
    ContentIndex(u32::try_from(content).expect("fewer than 2^32 contents"))
}

/// Sizes and counts fit `SQLite`'s signed integers by far.
fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_rounded_without_floating_point() {
        assert_eq!(ten_thousandths(9, 11), 8182);
        assert_eq!(ten_thousandths(1, 3), 3333);
        assert_eq!(ten_thousandths(1, 1), 10_000);
        assert_eq!(ten_thousandths(1, 20_000), 1);
        assert_eq!(ten_thousandths(u64::MAX, u64::MAX), 10_000);
        assert_eq!(ten_thousandths(0, 0), 0);
    }
}
