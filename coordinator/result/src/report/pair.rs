//! Two documents of a result: their places in it, and the links between them, direct or through others.

use std::collections::{HashMap, HashSet, VecDeque};

use cognate_fingerprint::{ContentDigest, Tag};
use cognate_proto::options::Precision;
use rusqlite::{OptionalExtension as _, params};

use super::{ClusterDocument, LinkRow, Report, path_of, time};
use crate::error::Error;

/// Rows of one document follow each other: one for each view.
const VIEWS_MAX: i64 = 3;

/// A document as a result has it.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its site.
    pub site: String,
    /// Its repository.
    pub repository: String,
    /// Its path.
    pub path: String,
    /// True if the path is percent-escaped.
    pub path_escaped: bool,
    /// Time of the last modification.
    pub modified: String,
    /// Status over all views.
    pub status: String,
    /// Its state under each view that has it.
    pub views: Vec<FoundView>,
}

/// A document under one view.
#[derive(Clone, Debug)]
pub struct FoundView {
    /// The place of the view among [`Report::views`].
    pub view: usize,
    /// Its content, by which a result knows it.
    pub content: i64,
    /// The digest of that.
    pub digest: ContentDigest,
    /// Its size.
    pub size_bytes: u64,
    /// Its size less templates.
    pub payload_bytes: u64,
    /// Number of documents that have it.
    pub copies: u64,
    /// Its cluster, by which a result knows it, and the cluster's id.
    pub cluster: Option<(i64, String)>,
    /// False if the document counts by its text, and this view is of its bytes.
    pub counts: bool,
}

/// Links between two contents of a cluster.
#[derive(Clone, Debug)]
pub struct Route {
    /// The contents from the one to the other, each shown as its first document.
    pub documents: Vec<ClusterDocument>,
    /// The links between them, each written from the one before; one fewer.
    pub links: Vec<LinkRow>,
}

impl Report {
    /// The document of this path, if the result has it.
    ///
    /// # Errors
    /// Fails if the file cannot be read; so for every method below.
    pub fn find(&self, site: &str, repository: &str, path: &[u8]) -> Result<Option<Found>, Error> {
        let read = || -> rusqlite::Result<Option<Found>> {
            let Some(first) = self.first_row(site, repository, path)? else { return Ok(None) };
            let sql =
                "SELECT d.layer, d.content, c.digest, c.size_bytes, c.payload_bytes, c.documents, c.cluster, k.name,
                              d.modified, d.status
                       FROM document d JOIN root r ON r.id = d.root LEFT JOIN content c ON c.id = d.content
                            LEFT JOIN cluster k ON k.id = c.cluster
                       WHERE d.id BETWEEN ?4 AND ?4 + ?5 AND r.site = ?1 AND r.repository = ?2 AND d.path = ?3 ORDER BY d.layer";
            let mut statement = self.connection.prepare(sql)?;
            let mut rows = statement.query(params![site, repository, path, first, VIEWS_MAX])?;
            let mut found: Option<Found> = None;
            while let Some(row) = rows.next()? {
                let (shown, path_escaped) = path_of(path);
                let found = match &mut found {
                    Some(found) => found,
                    none => none.insert(Found {
                        site: site.to_owned(),
                        repository: repository.to_owned(),
                        path: shown,
                        path_escaped: path_escaped.is_some(),
                        modified: time(row.get(8)?),
                        status: row.get(9)?,
                        views: Vec::new(),
                    }),
                };
                let Some(content) = row.get::<_, Option<i64>>(1)? else { continue };
                let cluster: Option<(i64, String)> = row.get::<_, Option<i64>>(6)?.zip(row.get(7)?);
                found.views.push(FoundView {
                    view: row.get(0)?,
                    content,
                    digest: ContentDigest(row.get(2)?),
                    size_bytes: row.get(3)?,
                    payload_bytes: row.get(4)?,
                    copies: row.get(5)?,
                    cluster,
                    counts: true,
                });
            }
            let counts_once = self.connection.query_row("SELECT view = 'auto' FROM scan", [], |row| row.get(0))?;
            if let Some(Found { views, .. }) = &mut found
                && counts_once
                && let [bytes, text] = views.as_mut_slice()
            {
                bytes.counts = text.size_bytes == 0;
            }
            Ok(found)
        };
        read().map_err(|error| self.failed(error))
    }

    /// The first row of a document, by bisection: rows are in the order of site, repository and path, and nothing else in the file
    /// finds a path.
    fn first_row(&self, site: &str, repository: &str, path: &[u8]) -> rusqlite::Result<Option<i64>> {
        let sql =
            "SELECT d.id, r.site, r.repository, d.path FROM document d JOIN root r ON r.id = d.root WHERE d.id >= ?
                   ORDER BY d.id LIMIT 1";
        let mut statement = self.connection.prepare(sql)?;
        let mut at = |id: i64| {
            let row = |row: &rusqlite::Row<'_>| {
                let place: (String, String, Vec<u8>) = (row.get(1)?, row.get(2)?, row.get(3)?);
                Ok((row.get::<_, i64>(0)?, place))
            };
            statement.query_row([id], row).optional()
        };
        let ends = "SELECT coalesce(min(id), 0), coalesce(max(id), -1) FROM document";
        let (mut from, mut to): (i64, i64) =
            self.connection.query_row(ends, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        to += 1;
        let wanted = (site, repository, path);
        let is_before =
            |place: &(String, String, Vec<u8>)| (place.0.as_str(), place.1.as_str(), place.2.as_slice()) < wanted;
        while from < to {
            let middle = from + (to - from) / 2;
            match at(middle)? {
                Some((id, place)) if is_before(&place) => from = id + 1,
                Some(_) | None => to = middle,
            }
        }
        if let Some((id, place)) = at(from)?
            && (place.0.as_str(), place.1.as_str(), place.2.as_slice()) == wanted
        {
            return Ok(Some(id));
        }
        // A document that is not there is rarely asked for; every row is then looked at.
        let sql = "SELECT min(d.id) FROM document d JOIN root r ON r.id = d.root WHERE r.site = ? AND r.repository = ? AND d.path = ?";
        self.connection.query_row(sql, params![site, repository, path], |row| row.get(0))
    }

    /// The tags that were set aside under a view.
    pub fn templates(&self, view: usize) -> Result<HashSet<Tag>, Error> {
        let sql = format!("SELECT tag FROM set_aside WHERE layer = {view}");
        Ok(self.collect(&sql, |row| row.get(0).map(Tag))?.into_iter().collect())
    }

    /// The precision with which pairs were measured under a view; none where its method has no fine chunks.
    pub fn precision(&self, view: usize) -> Result<Option<Precision>, Error> {
        let sql = format!("SELECT precision FROM layer WHERE number = {view}");
        let name: Option<String> = self.collect(&sql, |row| row.get(0))?.pop().flatten();
        Ok(name.and_then(|name| Precision::ALL.into_iter().find(|precision| precision.name() == name)))
    }

    /// The bytes in common of the link between two contents of a view, if there is one.
    pub fn linked_bytes(&self, view: usize, [a, b]: [&ContentDigest; 2]) -> Result<Option<u64>, Error> {
        let sql = "SELECT l.shared_bytes FROM content x JOIN content y ON y.cluster = x.cluster AND y.layer = x.layer
                          JOIN link l ON l.cluster = x.cluster
                               AND ((l.a = x.id AND l.b = y.id) OR (l.a = y.id AND l.b = x.id))
                   WHERE x.cluster IS NOT NULL AND y.cluster IS NOT NULL AND x.layer = ? AND x.digest = ? AND y.digest = ?";
        let view = i64::try_from(view).unwrap_or(i64::MAX);
        let found = self.connection.query_row(sql, params![view, a.0, b.0], |row| row.get(0)).optional();
        found.map_err(|error| self.failed(error))
    }

    /// The shortest way from one content of a cluster to another over the links that the result keeps; of several, the one
    /// that begins with the strongest link.
    pub fn route(&self, cluster: i64, from: i64, to: i64) -> Result<Option<Route>, Error> {
        let read = || -> rusqlite::Result<Option<Route>> {
            let (members, links) = self.members_and_links(cluster)?;
            let place = |content: i64| members.iter().position(|member| member.content == content);
            let (Some(from), Some(to)) = (place(from), place(to)) else { return Ok(None) };
            let way = shortest(&links, from, to);
            let shown = |place: usize| members[place].document.clone();
            Ok(way.map(|links| {
                let documents = std::iter::once(from).chain(links.iter().map(|link| link.b)).map(shown).collect();
                Route { documents, links }
            }))
        };
        read().map_err(|error| self.failed(error))
    }

    /// The contents of a cluster, the oldest first, each shown as its first document.
    pub fn versions(&self, cluster: i64) -> Result<Vec<ClusterDocument>, Error> {
        let mut documents: Vec<ClusterDocument> = self
            .members(cluster)
            .map_err(|error| self.failed(error))?
            .into_iter()
            .map(|member| member.document)
            .collect();
        // Times are written so that they sort as text; documents of the same age stay in the order of the report.
        documents.sort_by(|a, b| a.modified.cmp(&b.modified));
        Ok(documents)
    }
}

/// The fewest links from one place to another, each turned so that it leads there.
fn shortest(links: &[LinkRow], from: usize, to: usize) -> Option<Vec<LinkRow>> {
    let mut neighbours: HashMap<usize, Vec<LinkRow>> = HashMap::new();
    for link in links {
        neighbours.entry(link.a).or_default().push(link.clone());
        neighbours.entry(link.b).or_default().push(turned(link));
    }
    neighbours.values_mut().for_each(|links| links.sort_by_key(|link| (std::cmp::Reverse(link.shared_bytes), link.b)));
    let mut reached: HashMap<usize, LinkRow> = HashMap::new();
    let mut waiting = VecDeque::from([from]);
    while let Some(place) = waiting.pop_front() {
        if place == to {
            break;
        }
        for link in neighbours.get(&place).into_iter().flatten() {
            if link.b != from && !reached.contains_key(&link.b) {
                reached.insert(link.b, link.clone());
                waiting.push_back(link.b);
            }
        }
    }
    let (mut way, mut at) = (Vec::new(), to);
    while at != from {
        let link = reached.remove(&at)?;
        at = link.a;
        way.push(link);
    }
    way.reverse();
    Some(way)
}

/// The same link, written from the other end.
fn turned(link: &LinkRow) -> LinkRow {
    LinkRow {
        a: link.b,
        b: link.a,
        a_in_b: link.b_in_a,
        b_in_a: link.a_in_b,
        relation: cognate_result_file::reversed(&link.relation).to_owned(),
        ..link.clone()
    }
}
