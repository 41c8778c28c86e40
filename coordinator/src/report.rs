//! What a result says, read from its file: the rows of the report `cognate.report/1`, in the order in which it lists them.
//!
//! Lists can be long, so they are handed over row by row and never held whole. The fields of every row are declared in
//! the order of their names: written without spaces, a row is its own RFC 8785 canonical form, and the digest of a
//! report can be taken while it streams.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Row, params};

use crate::error::Error;
use crate::result::{FORMAT, FORMATS_BEFORE, ten_thousandths};

mod before;
mod canonical;
mod documents;
mod evidence;
mod load;
mod members;
mod pair;
mod places;
mod refined;
mod rows;
mod sets;
mod share;
mod since;
mod slice;
mod verdicts;

pub use canonical::json_digest;
pub use documents::DocumentFilter;
pub use evidence::*;
pub use load::{LoadRow, NearGroup};
pub use pair::{Found, FoundView, Route};
pub use rows::*;
pub use since::{Change, Changes};
pub use slice::ClusterTotals;
pub use verdicts::VerdictSection;

/// The name of the report's schema. Fields may be added to it, never renamed.
pub const SCHEMA: &str = "cognate.report/1";

/// What is stamped on a result across parties whose sites had no key.
const UNKEYED_NOTICE: &str = "fingerprinted without a key across parties: whoever holds a document can test whether its \
                              chunks occur elsewhere";

/// The documents as `d`, and as `t` the row of the same document that tells of its partner.
const LISTED: &str = "document d CROSS JOIN document t ON t.id = CASE WHEN d.tells_other THEN d.other ELSE d.id END";

/// An open result.
pub struct Report {
    connection: Connection,
    path: PathBuf,
    /// The scan's views, `raw` or `text`, by the numbers of their layers.
    views: Vec<String>,
    /// Whether an earlier version wrote the result.
    is_of_before: bool,
    /// The site whose slice is told, if not all is.
    slice: Option<String>,
    /// What was decided, by whether it is about a cluster, by view or tier, and by id.
    verdicts: HashMap<(bool, String, String), VerdictSection>,
    /// What was decided about documents.
    of_documents: HashMap<verdicts::PlaceKey, VerdictSection>,
    /// Whether that was said.
    has_verdicts: bool,
}

impl Report {
    /// Opens a result for reading.
    ///
    /// # Errors
    /// When the file is not there, or is not a result of a version that this build reads.
    pub fn open(path: &Path) -> Result<Report, Error> {
        let failed = |source| Error::Result { path: path.to_owned(), source };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        // Plans are to stay as they are: without this, each cluster's queries were prepared anew for its number.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(failed)?;
        let format: String = connection.query_row("SELECT schema FROM scan", [], |row| row.get(0)).map_err(failed)?;
        let is_of_before = format != FORMAT;
        match format.as_str() {
            FORMAT => {}
            before if FORMATS_BEFORE.contains(&before) => before::adapt(&connection, before).map_err(failed)?,
            _ => {
                let detail = format!("it is a result of format `{format}`, this version reads `{FORMAT}`");
                return Err(Error::Corrupt { path: path.to_owned(), detail });
            }
        }
        let mut report = Report {
            connection,
            path: path.to_owned(),
            views: Vec::new(),
            is_of_before,
            slice: None,
            verdicts: HashMap::new(),
            of_documents: HashMap::new(),
            has_verdicts: false,
        };
        report.views = report.collect("SELECT view FROM layer ORDER BY number", |row| row.get(0))?;
        Ok(report)
    }

    /// The views that were compared, `raw` or `text`, in the order in which their rows are told.
    pub fn views(&self) -> &[String] {
        &self.views
    }

    /// The view of a layer, where there are two: it is told of every row.
    fn view(&self, layer: usize) -> Option<String> {
        self.views.get(layer).filter(|_| self.views.len() > 1).cloned()
    }

    /// In what the documents of an identical set of a layer are the same.
    fn tier(&self, layer: usize) -> &'static str {
        if self.views.get(layer).is_some_and(|view| view == "text") { "same text" } else { "same bytes" }
    }

    /// Where the result lies: a file of `SQLite` that anybody may open.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the rows are read through.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// What was done.
    ///
    /// # Errors
    /// When the file cannot be read; so for every method below.
    pub fn scan(&self) -> Result<ScanSection, Error> {
        let missing = self
            .collect("SELECT site, repository, reason FROM missing ORDER BY site, repository", |row| {
                Ok(MissingRow { reason: row.get(2)?, repository: row.get(1)?, site: row.get(0)? })
            })?;
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
        let parties: u64 = self.one("SELECT count(DISTINCT party) FROM root", |row| row.get(0))?;
        self.one("SELECT * FROM scan", |row| {
            let keyed: bool = row.get("keyed")?;
            Ok(ScanSection {
                across_only: row.get("across_only")?,
                chunk_bytes: row.get("chunk_bytes")?,
                cluster: row.get("cluster")?,
                digest: None,
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
                refined,
                refines,
                run: Some(run),
                slice: self.slice.clone(),
                status: row.get("status")?,
                templates_digest,
                verified_by: row.get("verified_by")?,
                view: row.get("view")?,
            })
        })
    }

    /// The tags that were left out of the comparison.
    pub fn set_aside<E: From<Error>>(&self, mut each: impl FnMut(SetAsideRow) -> Result<(), E>) -> Result<(), E> {
        let read = |row: &Row<'_>| -> rusqlite::Result<Option<SetAsideRow>> {
            let tag = hex(row.get_ref(0)?.as_blob()?);
            let view = self.view(row.get(3)?);
            Ok(Some(SetAsideRow { documents: row.get(1)?, length_bytes: row.get(2)?, tag, view }))
        };
        self.each_or("SELECT tag, documents, length_bytes, layer FROM set_aside ORDER BY layer, tag", read, &mut each)
    }

    fn run(&self) -> Result<RunSection, Error> {
        let sites = self.collect("SELECT * FROM root ORDER BY id", |row| {
            Ok(RunSite {
                read_bytes: row.get("read_bytes")?,
                read_documents: row.get("read_documents")?,
                repository: row.get("repository")?,
                sent_bytes: row.get("sent_bytes")?,
                site: row.get("site")?,
            })
        })?;
        self.one("SELECT started, finished FROM scan", |row| {
            Ok(RunSection { finished: time(row.get("finished")?), sites, started: time(row.get("started")?) })
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
                documents: row.get("documents")?,
                empty: row.get("empty")?,
                excluded: Counts::new(),
                members: row.get("members")?,
                no_text: row.get("no_text")?,
                party: row.get("party")?,
                passages: row.get::<_, Option<u64>>("passages")?.filter(|_| passages),
                repository: row.get("repository")?,
                site: row.get("site")?,
                skipped: 0,
                skipped_reasons: Counts::new(),
                status: Counts::new(),
                text_bytes: row.get("text_bytes")?,
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
        let sql =
            "SELECT root, substr(reason, 16), count(*) FROM unread WHERE reason LIKE 'unextractable: %' GROUP BY 1, 2";
        self.each(sql, |row| {
            let (root, reason, count): (usize, String, u64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            sites[root].unextractable.insert(reason, count);
            Ok(())
        })?;
        Ok(sites)
    }

    /// How many clusters a view has, by its place among [`Report::views`].
    pub fn cluster_count(&self, view: usize) -> Result<u64, Error> {
        self.one(&format!("SELECT count(*) FROM cluster WHERE layer = {view}"), |row| row.get(0))
    }

    /// The clusters, view by view, by total bytes, falling.
    pub fn clusters<E: From<Error>>(&self, mut each: impl FnMut(ClusterSection) -> Result<(), E>) -> Result<(), E> {
        (0..self.views.len()).try_for_each(|view| self.clusters_of(view, &mut each))
    }

    /// The clusters of a view, by total bytes, falling.
    pub fn clusters_of<E: From<Error>>(
        &self,
        view: usize,
        mut each: impl FnMut(ClusterSection) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = "SELECT id, name, members_digest, relation, representative, total_bytes, links, links_omitted,
                   min_resemblance, mean_resemblance, layer FROM cluster WHERE layer = ? ORDER BY id";
        let mut statement = self.connection.prepare(sql).map_err(|error| self.failed(error))?;
        let mut rows = statement.query([view]).map_err(|error| self.failed(error))?;
        while let Some(row) = rows.next().map_err(|error| self.failed(error))? {
            let cluster = self.cluster(row).map_err(|error| self.failed(error))?;
            each(cluster)?;
        }
        Ok(())
    }

    fn cluster(&self, row: &Row<'_>) -> rusqlite::Result<ClusterSection> {
        let id: i64 = row.get(0)?;
        let members = self.members(id)?;
        let place = |content: i64| members.iter().position(|member| member.content == content).unwrap_or(0);
        let links = self.links(id, &members)?;
        let families = self.families(id, &members)?;
        Ok(ClusterSection {
            families,
            id: row.get(1)?,
            link_count: row.get(6)?,
            links_omitted: row.get(7)?,
            links,
            mean_resemblance: Ratio(row.get(9)?),
            members_digest: row.get(2)?,
            min_resemblance: Ratio(row.get(8)?),
            relation: row.get(3)?,
            representative: place(row.get(4)?),
            total_bytes: row.get(5)?,
            verdict: self.verdict_of_cluster(row.get(10)?, row.get_ref(1)?.as_str()?),
            view: self.view(row.get(10)?),
            documents: members.into_iter().map(|member| member.document).collect(),
        })
    }

    /// The contents of a cluster, each with its first document, in the order of those.
    fn members(&self, cluster: i64) -> rusqlite::Result<Vec<Member>> {
        // Copies of a text that are copies of the same bytes are told as such.
        let sql = "SELECT c.id, c.digest, c.size_bytes, d.path, d.modified, r.site, r.repository, r.party,
                          d.message_id_hash, c.payload_bytes,
                          CASE WHEN c.identical IS NOT NULL THEN c.digest
                               WHEN c.layer > 0 AND c.documents > 1 THEN
                                 (SELECT b.digest FROM document o JOIN content b ON b.id = o.content
                                  WHERE o.id = d.other AND b.identical IS NOT NULL) END
                   FROM content c JOIN document d ON d.content = c.id JOIN root r ON r.id = d.root
                   WHERE c.cluster = ? ORDER BY d.id";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([cluster])?;
        let mut members: Vec<Member> = Vec::new();
        let mut places: HashMap<i64, usize> = HashMap::new();
        while let Some(row) = rows.next()? {
            let content: i64 = row.get(0)?;
            let Located { message_id_hash, modified, path, path_escaped, repository, site, .. } = located(row)?;
            if let Some(place) = places.get(&content) {
                let member = &mut members[*place];
                member.document.copies += 1;
                if !member.document.sites.contains(&site) {
                    member.document.sites.push(site);
                }
                continue;
            }
            let identical: Option<Vec<u8>> = row.get(10)?;
            places.insert(content, members.len());
            members.push(Member {
                content,
                document: ClusterDocument {
                    copies: 1,
                    identical: identical.map(|digest| hex(&digest)),
                    message_id_hash,
                    modified,
                    path,
                    path_escaped,
                    payload_bytes: row.get(9)?,
                    repository,
                    sites: vec![site.clone()],
                    site,
                    size_bytes: row.get(2)?,
                },
            });
        }
        Ok(members)
    }

    fn links(&self, cluster: i64, members: &[Member]) -> rusqlite::Result<Vec<LinkRow>> {
        let places = places_of(members);
        let sql = "SELECT a, b, shared_bytes, relation, resemblance, a_in_b, b_in_a, low, high, estimated FROM link
                   WHERE cluster = ?";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([cluster])?;
        let mut links = Vec::new();
        while let Some(row) = rows.next()? {
            let (a, b): (i64, i64) = (row.get(0)?, row.get(1)?);
            let relation: String = row.get(3)?;
            let (Some(&a), Some(&b)) = (places.get(&a), places.get(&b)) else { continue };
            let ratio = |column: usize| -> rusqlite::Result<Option<Ratio>> {
                Ok(row.get::<_, Option<i64>>(column)?.map(Ratio))
            };
            let (a_in_b, b_in_a, low, high) = (ratio(5)?, ratio(6)?, ratio(7)?, ratio(8)?);
            // A link is told from the document that comes first; earlier formats have it as it was found.
            let (a, b, a_in_b, b_in_a, relation) = match a < b {
                true => (a, b, a_in_b, b_in_a, relation),
                false => (b, a, b_in_a, a_in_b, reversed(&relation).to_owned()),
            };
            links.push(LinkRow {
                a,
                a_in_b,
                b,
                b_in_a,
                estimated: row.get::<_, bool>(9)?.then_some(true),
                interval: low.zip(high).map(|(low, high)| [low, high]),
                relation,
                resemblance: ratio(4)?,
                shared_bytes: row.get(2)?,
            });
        }
        links.sort_by_key(|link| (link.a, link.b));
        Ok(links)
    }

    fn families(&self, cluster: i64, members: &[Member]) -> rusqlite::Result<Vec<FamilyRow>> {
        let places = places_of(members);
        let place = |content: i64| places.get(&content).copied().unwrap_or(0);
        let sql = "SELECT number, representative, min_resemblance, over_representative_only FROM family
                   WHERE cluster = ? ORDER BY number";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([cluster])?;
        let mut families = Vec::new();
        while let Some(row) = rows.next()? {
            let number: i64 = row.get(0)?;
            let sql = "SELECT content FROM family_member WHERE cluster = ? AND number = ?";
            let mut statement = self.connection.prepare_cached(sql)?;
            let contents = statement.query_map(params![cluster, number], |row| row.get::<_, i64>(0))?;
            let mut members = contents.map(|content| content.map(place)).collect::<rusqlite::Result<Vec<_>>>()?;
            members.sort_unstable();
            families.push(FamilyRow {
                members,
                min_resemblance: Ratio(row.get(2)?),
                over_representative_only: row.get::<_, bool>(3)?.then_some(true),
                representative: place(row.get(1)?),
            });
        }
        Ok(families)
    }

    /// What could not be read.
    pub fn unread<E: From<Error>>(&self, mut each: impl FnMut(UnreadSection) -> Result<(), E>) -> Result<(), E> {
        let sql = "SELECT r.site, r.repository, u.path, u.reason, u.layer FROM unread u JOIN root r ON r.id = u.root
                   ORDER BY u.root, u.path";
        self.each_or(
            sql,
            |row| {
                let (path, path_escaped) = path_of(&row.get::<_, Vec<u8>>(2)?);
                Ok(Some(UnreadSection {
                    path,
                    path_escaped,
                    reason: row.get(3)?,
                    repository: row.get(1)?,
                    site: row.get(0)?,
                    view: self.view(row.get(4)?),
                }))
            },
            &mut each,
        )
    }

    /// Every document with what became of it.
    pub fn documents<E: From<Error>>(&self, mut each: impl FnMut(DocumentSection) -> Result<(), E>) -> Result<(), E> {
        let sql = format!(
            "SELECT d.path, d.modified, d.status, r.site, r.repository, d.size_bytes, coalesce(c.payload_bytes, 0),
                    CASE WHEN d.layer = 0 THEN c.digest END, p.path, pr.site, pr.repository, t.partner_shared_bytes, t.partner_relation,
                    d.message_id_hash, t.layer, tc.digest, tc.size_bytes
             FROM {} JOIN root r ON r.id = d.root LEFT JOIN content c ON c.id = d.content
                  LEFT JOIN document p ON p.id = t.partner LEFT JOIN root pr ON pr.id = p.root
                  LEFT JOIN content tc ON tc.id = CASE WHEN d.layer > 0 THEN d.content
                                                       ELSE (SELECT o.content FROM document o WHERE o.id = d.other) END
             WHERE d.listed ORDER BY d.id",
            LISTED,
        );
        let both = self.views.len() > 1;
        let partner = |row: &Row<'_>| -> rusqlite::Result<Option<PartnerRow>> {
            let Some(bytes) = row.get_ref(8)?.as_blob_or_null()? else { return Ok(None) };
            let (path, path_escaped) = path_of(bytes);
            Ok(Some(PartnerRow {
                path,
                path_escaped,
                relation: row.get(12)?,
                repository: row.get(10)?,
                shared_bytes: row.get(11)?,
                site: row.get(9)?,
                view: self.view(row.get(14)?),
            }))
        };
        self.each_or(
            &sql,
            |row| {
                let site: String = row.get(3)?;
                if !self.tells_of(&site) {
                    return Ok(None);
                }
                let (path, path_escaped) = path_of(row.get_ref(0)?.as_blob()?);
                let hex_or_null = |place: usize| -> rusqlite::Result<Option<String>> {
                    Ok(row.get_ref(place)?.as_blob_or_null()?.map(hex))
                };
                Ok(Some(DocumentSection {
                    content: hex_or_null(7)?,
                    message_id_hash: hex_or_null(13)?,
                    modified: time(row.get(1)?),
                    partner: partner(row)?,
                    path,
                    path_escaped,
                    payload_bytes: row.get(6)?,
                    repository: row.get(4)?,
                    site,
                    size_bytes: row.get(5)?,
                    status: row.get(2)?,
                    text_bytes: row.get::<_, Option<u64>>(16)?.filter(|_| both),
                    text_content: hex_or_null(15)?.filter(|_| both),
                }))
            },
            &mut each,
        )
    }

    /// What became of each document of two sites, in few words: for whoever counts rather than lists. Where the partner
    /// has the same path, it is not told again.
    pub fn fates<E: From<Error>>(&self, mut each: impl FnMut(Fate<'_>) -> Result<(), E>) -> Result<(), E> {
        // Where there is one view, every row is listed and tells of itself: none is looked up.
        let from = match self.views.len() {
            1 => "document t ORDER BY t.id".to_owned(),
            _ => format!("{LISTED} WHERE d.listed ORDER BY d.id"),
        };
        let sql = format!(
            "SELECT t.root, t.path, t.size_bytes,
                    t.status IN ('excluded(empty)', 'excluded(no text)', 'excluded(container)'),
                    t.partner_shared_bytes, t.partner_relation = 'identical',
                    CASE WHEN t.partner_in_place THEN NULL
                         ELSE (SELECT p.path FROM document p WHERE p.id = t.partner) END
             FROM {from}"
        );
        let mut statement = self.connection.prepare(&sql).map_err(|error| self.failed(error))?;
        let mut rows = statement.query([]).map_err(|error| self.failed(error))?;
        while let Some(row) = rows.next().map_err(|error| self.failed(error))? {
            let fate = || -> rusqlite::Result<Fate<'_>> {
                let shared_bytes: Option<u64> = row.get(4)?;
                let partner = match shared_bytes {
                    None => None,
                    Some(shared_bytes) => Some(FatePartner {
                        shared_bytes,
                        identical: row.get(5)?,
                        moved_to: row.get_ref(6)?.as_blob_or_null()?,
                    }),
                };
                Ok(Fate {
                    site: row.get(0)?,
                    path: row.get_ref(1)?.as_blob()?,
                    size_bytes: row.get(2)?,
                    empty: row.get(3)?,
                    partner,
                })
            };
            each(fate().map_err(|error| self.failed(error))?)?;
        }
        Ok(())
    }

    fn one<T>(&self, sql: &str, read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>) -> Result<T, Error> {
        self.connection.query_row(sql, [], read).map_err(|error| self.failed(error))
    }

    pub(crate) fn each(&self, sql: &str, mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<()>) -> Result<(), Error> {
        let mut run = || {
            let mut statement = self.connection.prepare(sql)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                read(row)?;
            }
            Ok(())
        };
        run().map_err(|error| self.failed(error))
    }

    fn collect<T>(&self, sql: &str, mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>) -> Result<Vec<T>, Error> {
        let mut all = Vec::new();
        self.each(sql, |row| read(row).map(|row| all.push(row)))?;
        Ok(all)
    }

    /// Hands over what a query's rows come to, and stops when the taker fails.
    fn each_or<T, E: From<Error>>(
        &self,
        sql: &str,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<Option<T>>,
        each: &mut impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut statement = self.connection.prepare(sql).map_err(|error| self.failed(error))?;
        let mut rows = statement.query([]).map_err(|error| self.failed(error))?;
        while let Some(row) = rows.next().map_err(|error| self.failed(error))? {
            if let Some(read) = read(row).map_err(|error| self.failed(error))? {
                each(read)?;
            }
        }
        Ok(())
    }

    pub(crate) fn failed(&self, source: rusqlite::Error) -> Error {
        Error::Result { path: self.path.clone(), source }
    }
}

/// Where each content stands among the members.
fn places_of(members: &[Member]) -> HashMap<i64, usize> {
    members.iter().enumerate().map(|(place, member)| (member.content, place)).collect()
}

struct Member {
    content: i64,
    document: ClusterDocument,
}

/// Columns 3 to 8 of the queries that list documents.
fn located(row: &Row<'_>) -> rusqlite::Result<Located> {
    let (path, path_escaped) = path_of(row.get_ref(3)?.as_blob()?);
    Ok(Located {
        message_id_hash: row.get_ref(8)?.as_blob_or_null()?.map(hex),
        modified: time(row.get(4)?),
        path,
        path_escaped,
        repository: row.get(6)?,
        site: row.get(5)?,
        size_bytes: None,
    })
}

pub(crate) fn path_of(bytes: &[u8]) -> (String, Option<bool>) {
    let (text, escaped) = cognate_proto::path::escaped(bytes);
    (text.into_owned(), escaped.then_some(true))
}

pub(crate) fn reversed(relation: &str) -> &str {
    match relation {
        "contains" => "contained",
        "contained" => "contains",
        same => same,
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// A time as text. One that no calendar has is shown at the edge.
pub(crate) fn time(seconds: i64) -> String {
    let clamped = seconds.clamp(jiff::Timestamp::MIN.as_second() + 1, jiff::Timestamp::MAX.as_second());
    jiff::Timestamp::from_second(clamped).map_or_else(|_| String::new(), |time| time.to_string())
}
