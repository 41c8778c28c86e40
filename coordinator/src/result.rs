//! The result of a scan as one `SQLite` file: written under another name, put in its place whole, and never changed.
//!
//! Equal inputs and options give equal rows in equal order, whatever the threads, the budget, or who came first.

use std::collections::BTreeMap;
use std::path::Path;

use cognate_proto::batch::DocumentState;
use cognate_proto::v1::{FileClass, SkipReason};
use cognate_similarity::{Cluster, ContentIndex, Relation, Resemblance, Shape};
use rusqlite::{Connection, Statement, params};

use crate::error::Error;
use crate::scan::{Bucket, Findings, FolderRelation, Frozen, Histogram, Refine, Scan, Status};
use crate::store::ScanRow;

const SCHEMA: &str = include_str!("result/schema.sql");
const INDEXES: &str = include_str!("result/indexes.sql");
/// The name of the format; a reader refuses another.
pub(crate) const FORMAT: &str = "cognate.result/1";

/// What is written.
pub(crate) struct Publication<'a> {
    pub(crate) scan: &'a Scan,
    pub(crate) row: &'a ScanRow,
    pub(crate) finished: i64,
    pub(crate) frozen: &'a Frozen,
    pub(crate) findings: &'a Findings,
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

struct Writer {
    connection: Connection,
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
        self.scan(publication)?;
        self.templates(publication)?;
        self.roots(publication)?;
        let order = ClusterOrder::of(publication);
        self.contents(publication, &order)?;
        self.documents(publication)?;
        self.clusters(publication, &order)?;
        self.folders(publication)?;
        self.overlap(publication)?;
        self.histogram(&publication.findings.histogram)?;
        self.connection.execute_batch("COMMIT")?;
        self.connection.execute_batch(INDEXES)
    }

    fn scan(&self, publication: &Publication<'_>) -> rusqlite::Result<()> {
        let Publication { scan, row, finished, .. } = publication;
        let spec = &scan.spec;
        let status = if row.missing.is_empty() { "complete" } else { "partial" };
        let sets = IdenticalSums::of(publication);
        self.connection.execute(
            "INSERT INTO scan VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            params![
                FORMAT,
                scan.id.to_string(),
                spec.method.name(),
                spec.method.view().to_string(),
                spec.method.chunk_bytes(),
                integer(spec.thresholds.min_shared_bytes),
                spec.thresholds.min_containment.to_string(),
                spec.across_only,
                row.keyed,
                status,
                sets.sets,
                sets.in_place,
                integer(sets.wasted_bytes),
                row.started,
                finished,
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
        let Publication { row, frozen, .. } = publication;
        let chosen: u64 = row.frozen.iter().map(|frozen| frozen.chosen_documents).sum();
        let found = (frozen.documents.len() + frozen.unread.len()) as u64;
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

    fn templates(&self, publication: &Publication<'_>) -> rusqlite::Result<()> {
        let Publication { row, frozen, .. } = publication;
        if !row.templates_digest.is_empty() {
            self.connection.execute("INSERT INTO templates VALUES (?)", [&row.templates_digest])?;
        }
        let mut insert = self.connection.prepare("INSERT INTO set_aside VALUES (?,?,?)")?;
        for one in &frozen.set_aside {
            insert.execute(params![one.tag.0, integer(one.documents), one.length_bytes])?;
        }
        Ok(())
    }

    fn roots(&self, publication: &Publication<'_>) -> rusqlite::Result<()> {
        let frozen = publication.frozen;
        let mut sums = vec![RootSums::default(); frozen.roots.len()];
        for document in &frozen.documents {
            let content = &frozen.contents[document.content.0 as usize];
            sums[document.root as usize].add(content.size_bytes, content.chunk_count, document.changing);
        }
        for (root, ..) in &frozen.unread {
            sums[*root as usize].unreadable += 1;
        }
        for (number, (root, sums)) in frozen.roots.iter().zip(&sums).enumerate() {
            let compressed = root.summary.census.iter().filter(|row| row.class() != FileClass::Plain);
            // What a site says of itself is not to be relied on, not even to add up.
            let compressed_bytes = compressed.fold(0, |sum: u64, row| sum.saturating_add(row.size_bytes));
            self.connection.execute(
                "INSERT INTO root VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
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
                    integer(root.summary.read_bytes),
                    integer(root.summary.read_documents),
                    integer(root.summary.sent_bytes),
                ],
            )?;
            for skipped in &root.summary.skipped {
                self.connection.execute(
                    "INSERT INTO skipped VALUES (?,?,?)",
                    params![number, skip_reason(skipped.reason()), integer(skipped.entries)],
                )?;
            }
        }
        Ok(())
    }

    fn contents(&self, publication: &Publication<'_>, order: &ClusterOrder<'_>) -> rusqlite::Result<()> {
        let Publication { frozen, findings, .. } = publication;
        let mut identical = vec![None; frozen.contents.len()];
        for (rank, content) in identical_order(frozen, findings).into_iter().enumerate() {
            identical[content] = Some(rank);
        }
        let mut insert = self.connection.prepare("INSERT INTO content VALUES (?,?,?,?,?,?,?,?,?)")?;
        for (number, content) in frozen.contents.iter().enumerate() {
            insert.execute(params![
                number,
                content.digest.0,
                integer(content.size_bytes),
                integer(content.payload_bytes),
                integer(content.chunk_count),
                findings.copies.of_content(content_index(number)).len(),
                identical[number],
                is_in_place(publication, content_index(number)),
                order.cluster_of[number],
            ])?;
        }
        Ok(())
    }

    fn documents(&self, publication: &Publication<'_>) -> rusqlite::Result<()> {
        let Publication { frozen, findings, .. } = publication;
        let mut insert = self.connection.prepare("INSERT INTO document VALUES (?,?,?,?,?,?,?,?,?,?,?,?)")?;
        for (number, document) in frozen.documents.iter().enumerate() {
            let partner = findings.partners.of_document(number);
            insert.execute(params![
                number,
                document.root,
                document.path.as_bytes(),
                document.content.0,
                integer(frozen.contents[document.content.0 as usize].size_bytes),
                document.modified,
                document.changing,
                status_name(findings.status[document.content.0 as usize]),
                partner.map(|partner| partner.document),
                partner.map(|partner| integer(partner.shared_bytes)),
                partner.map(|partner| partner.relation.map_or("identical", relation_name)),
                partner.map(|partner| frozen.documents[partner.document as usize].path == document.path),
            ])?;
        }
        let mut statuses = BTreeMap::<(u16, &str), u64>::new();
        for document in &frozen.documents {
            let status = status_name(findings.status[document.content.0 as usize]);
            *statuses.entry((document.root, status)).or_default() += 1;
        }
        let mut insert = self.connection.prepare("INSERT INTO status VALUES (?,?,?)")?;
        for ((root, status), documents) in statuses {
            insert.execute(params![root, status, documents])?;
        }
        let mut insert = self.connection.prepare("INSERT INTO unread VALUES (?,?,?)")?;
        for (root, path, state) in &frozen.unread {
            insert.execute(params![root, path.as_bytes(), unread_reason(*state)])?;
        }
        Ok(())
    }

    fn clusters(&self, publication: &Publication<'_>, order: &ClusterOrder<'_>) -> rusqlite::Result<()> {
        let frozen = publication.frozen;
        let payload_bytes: Vec<u64> = frozen.contents.iter().map(|content| content.payload_bytes).collect();
        let mut insert = self.connection.prepare("INSERT INTO cluster VALUES (?,?,?,?,?,?,?,?,?,?,?)")?;
        let mut links = self.connection.prepare("INSERT INTO link VALUES (?,?,?,?,?)")?;
        let mut families = self.connection.prepare("INSERT INTO family VALUES (?,?,?,?,?)")?;
        let mut members = self.connection.prepare("INSERT INTO family_member VALUES (?,?,?)")?;
        for (number, (total_bytes, cluster)) in order.clusters.iter().enumerate() {
            let resemblances = Resemblances::of(cluster, &payload_bytes);
            insert.execute(params![
                number,
                cluster_name(frozen, cluster),
                members_digest(frozen, cluster),
                shape_name(Shape::of(cluster, &payload_bytes)),
                cluster.representative.0,
                integer(*total_bytes),
                cluster.members.len(),
                integer(cluster.link_count),
                integer(cluster.links_omitted()),
                resemblances.min,
                resemblances.mean,
            ])?;
            write_links(&mut links, number, frozen, cluster)?;
            for (place, family) in cluster.families.iter().enumerate() {
                families.execute(params![
                    number,
                    place,
                    family.representative.0,
                    ten_thousandths(family.min_resemblance.shared, family.min_resemblance.union),
                    family.over_representative_only,
                ])?;
                for member in &family.members {
                    members.execute(params![number, place, member.0])?;
                }
            }
        }
        Ok(())
    }

    fn folders(&self, publication: &Publication<'_>) -> rusqlite::Result<()> {
        let mut insert = self.connection.prepare("INSERT INTO folder VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)")?;
        for (number, pair) in publication.findings.folders.iter().enumerate() {
            insert.execute(params![
                number,
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
            ])?;
        }
        Ok(())
    }

    fn overlap(&self, publication: &Publication<'_>) -> rusqlite::Result<()> {
        let mut insert = self.connection.prepare("INSERT INTO overlap VALUES (?,?,?,?,?,?,?,?,?)")?;
        for row in &publication.findings.overlap {
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
            ])?;
        }
        Ok(())
    }
}

impl Writer {
    fn histogram(&self, histogram: &Histogram) -> rusqlite::Result<()> {
        let mut insert = self.connection.prepare("INSERT INTO histogram VALUES (?,?,?,?)")?;
        let mut row = |measure: &str, bucket: usize, counts: &Bucket| {
            insert.execute(params![measure, bucket, integer(counts.links), integer(counts.documents)]).map(drop)
        };
        row("all", 0, &histogram.all)?;
        for (measure, buckets) in [("containment", &histogram.containment), ("resemblance", &histogram.resemblance)] {
            buckets.iter().enumerate().try_for_each(|(bucket, counts)| row(measure, bucket, counts))?;
        }
        Ok(())
    }
}

fn write_links(insert: &mut Statement<'_>, number: usize, frozen: &Frozen, cluster: &Cluster) -> rusqlite::Result<()> {
    for link in &cluster.links {
        let relation = relation_name(frozen.relation(link));
        insert.execute(params![number, link.a.0, link.b.0, integer(link.shared_bytes), relation])?;
    }
    Ok(())
}

/// What the identical sets come to.
#[derive(Default)]
struct IdenticalSums {
    sets: u64,
    in_place: u64,
    wasted_bytes: u64,
}

impl IdenticalSums {
    fn of(publication: &Publication<'_>) -> IdenticalSums {
        let Publication { frozen, findings, .. } = publication;
        let mut sums = IdenticalSums::default();
        for content in (0..frozen.contents.len()).filter(|content| findings.identical[*content]) {
            let copies = findings.copies.of_content(content_index(content)).len() as u64;
            sums.sets += 1;
            sums.in_place += u64::from(is_in_place(publication, content_index(content)));
            let wasted_bytes = frozen.contents[content].size_bytes.saturating_mul(copies - 1);
            sums.wasted_bytes = sums.wasted_bytes.saturating_add(wasted_bytes);
        }
        sums
    }
}

/// Whether the documents of a content are one under the same path in each of several repositories.
fn is_in_place(publication: &Publication<'_>, content: ContentIndex) -> bool {
    let documents = &publication.frozen.documents;
    let copies = publication.findings.copies.of_content(content);
    // Documents are ordered by root, so that two of one root stand side by side.
    let each_its_own = |pair: &[u32]| {
        let [a, b] = [&documents[pair[0] as usize], &documents[pair[1] as usize]];
        a.root != b.root && a.path == b.path
    };
    copies.len() > 1 && copies.windows(2).all(each_its_own)
}

#[derive(Clone, Copy, Default)]
struct RootSums {
    documents: i64,
    bytes: i64,
    chunks: i64,
    empty: i64,
    unreadable: i64,
    changed: i64,
}

impl RootSums {
    fn add(&mut self, size_bytes: u64, chunk_count: u64, changing: bool) {
        self.documents += 1;
        self.bytes += integer(size_bytes);
        self.chunks += integer(chunk_count);
        self.empty += i64::from(size_bytes == 0);
        self.changed += i64::from(changing);
    }
}

/// The clusters by total bytes, falling, then by their smallest member's digest.
struct ClusterOrder<'a> {
    clusters: Vec<(u64, &'a Cluster)>,
    cluster_of: Vec<Option<usize>>,
}

impl<'a> ClusterOrder<'a> {
    fn of(publication: &Publication<'a>) -> ClusterOrder<'a> {
        let frozen = publication.frozen;
        let size = |cluster: &Cluster| {
            cluster.members.iter().map(|member| frozen.contents[member.0 as usize].size_bytes).sum::<u64>()
        };
        let mut clusters: Vec<(u64, String, &Cluster)> = publication
            .findings
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

/// The contents that form identical sets: those whose copies waste most bytes first.
fn identical_order(frozen: &Frozen, findings: &Findings) -> Vec<usize> {
    let mut sets: Vec<(u64, usize)> = (0..frozen.contents.len())
        .filter(|content| findings.identical[*content])
        .map(|content| {
            let copies = findings.copies.of_content(content_index(content)).len() as u64;
            (frozen.contents[content].size_bytes.saturating_mul(copies - 1), content)
        })
        .collect();
    sets.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    sets.into_iter().map(|(_, content)| content).collect()
}

/// The least and the mean resemblance over the links of a cluster, in ten-thousandths.
struct Resemblances {
    min: i64,
    mean: i64,
}

impl Resemblances {
    fn of(cluster: &Cluster, payload_bytes: &[u64]) -> Resemblances {
        if cluster.links_omitted() > 0 {
            let min = ten_thousandths(cluster.min_resemblance.shared, cluster.min_resemblance.union);
            return Resemblances { min, mean: rounded(cluster.mean_resemblance()) };
        }
        let of_link = |link: &cognate_similarity::Link| {
            let (a, b) = (payload_bytes[link.a.0 as usize], payload_bytes[link.b.0 as usize]);
            Resemblance::of(link.shared_bytes, a, b)
        };
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

fn status_name(status: Status) -> &'static str {
    match status {
        Status::ExcludedEmpty => "excluded(empty)",
        Status::ExcludedTemplate => "excluded(template)",
        Status::Identical => "identical",
        Status::Near => "near",
        Status::Contains => "contains",
        Status::Contained => "contained",
        Status::Shares => "shares",
        Status::Unique => "unique",
    }
}

fn relation_name(relation: Relation) -> &'static str {
    match relation {
        Relation::Near => "near",
        Relation::Contains => "contains",
        Relation::Contained => "contained",
        Relation::Shares => "shares",
    }
}

fn shape_name(shape: Shape) -> &'static str {
    match shape {
        Shape::Pair => "pair",
        Shape::Archive => "archive",
        Shape::Group => "group",
    }
}

fn folder_relation_name(relation: FolderRelation) -> &'static str {
    match relation {
        FolderRelation::Identical => "identical",
        FolderRelation::Contains => "contains",
        FolderRelation::Contained => "contained",
        FolderRelation::Overlaps => "overlaps",
    }
}

fn unread_reason(state: DocumentState) -> &'static str {
    match state {
        DocumentState::PermissionDenied => "permission denied",
        DocumentState::Vanished => "vanished while it was looked at",
        DocumentState::NotAFile => "not a regular file any more",
        DocumentState::InputOutput => "input/output error",
        DocumentState::NameTooLong => "path too long for the system",
        DocumentState::LinkLoop => "a symbolic link leads back to a folder above it",
        _ => "cannot be read",
    }
}

fn skip_reason(reason: SkipReason) -> &'static str {
    match reason {
        SkipReason::SystemFolder => "system folder",
        SkipReason::NotSelected => "not selected",
        SkipReason::Symlink => "symbolic link",
        SkipReason::Special => "special file",
        SkipReason::OtherFileSystem => "other file system",
        SkipReason::Unspecified => "unspecified",
    }
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
