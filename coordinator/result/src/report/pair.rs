//! Two documents of a result: their places in it, and the links between them, direct or through others.

use std::collections::{HashMap, HashSet, VecDeque};

use cognate_fingerprint::{ContentDigest, Tag};
use cognate_proto::options::Precision;
use cognate_result_file::{Content, Scan, columns, row};
use rusqlite::params;

use super::clusters::Parts;
use super::{ClusterDocument, DocumentPlace, LinkRow, Located, Report};
use crate::error::Error;

/// Rows of one document follow each other: one for each view.
const VIEWS_MAX: i64 = 3;

/// A document as a result has it.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its place and age.
    pub document: Located,
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
        let Some(root) = self.root_number(site, repository) else { return Ok(None) };
        let sql = format!(
            "SELECT {} FROM document d LEFT JOIN content c ON c.id = d.content LEFT JOIN cluster k ON k.id = c.cluster
             WHERE d.id BETWEEN ?1 AND ?1 + ?2 AND d.root = ?3 AND d.path = ?4 ORDER BY d.layer",
            FoundColumns::select()
        );
        let rows: Vec<FoundColumns> = self.rows(&sql, params![self.number_at(root, path)?, VIEWS_MAX, root, path])?;
        let Some(first) = rows.first() else { return Ok(None) };
        let mut found =
            Found { document: self.located(&first.place)?, status: first.status.clone(), views: Vec::new() };
        found.views.extend(rows.into_iter().filter_map(FoundColumns::view));
        if let [bytes, text] = found.views.as_mut_slice()
            && self.record::<Scan>()?.view == "auto"
        {
            bytes.counts = text.size_bytes == 0;
        }
        Ok(Some(found))
    }

    /// The tags that were set aside under a view.
    pub fn templates(&self, view: usize) -> Result<HashSet<Tag>, Error> {
        let sql = format!("SELECT tag FROM set_aside WHERE layer = {view}");
        Ok(self.rows(&sql, ())?.into_iter().map(Tag).collect())
    }

    /// The precision with which pairs were measured under a view; none where its method has no fine chunks.
    pub fn precision(&self, view: usize) -> Result<Option<Precision>, Error> {
        let sql = format!("SELECT precision FROM layer WHERE number = {view}");
        let name: Option<Option<String>> = self.first_row(&sql, ())?;
        Ok(name.flatten().and_then(|name| Precision::ALL.into_iter().find(|precision| precision.name() == name)))
    }

    /// The bytes in common of the link between two contents of a view, if there is one.
    pub fn linked_bytes(&self, view: usize, [a, b]: [&ContentDigest; 2]) -> Result<Option<u64>, Error> {
        let sql = "SELECT l.shared_bytes FROM content x JOIN content y ON y.cluster = x.cluster AND y.layer = x.layer
                          JOIN link l ON l.cluster = x.cluster
                               AND ((l.a = x.id AND l.b = y.id) OR (l.a = y.id AND l.b = x.id))
                   WHERE x.cluster IS NOT NULL AND y.cluster IS NOT NULL AND x.layer = ? AND x.digest = ? AND y.digest = ?";
        let view = i64::try_from(view).unwrap_or(i64::MAX);
        self.first_row(sql, params![view, a.0, b.0])
    }

    /// The shortest way from one content of a cluster to another over the links that the result keeps; of several, the one
    /// that begins with the strongest link.
    pub fn route(&self, cluster: i64, from: i64, to: i64) -> Result<Option<Route>, Error> {
        let numbers = cluster..cluster + 1;
        let mut parts = self.members_in(&numbers)?;
        self.add_links(&numbers, &mut parts)?;
        let Parts { members, links, .. } = parts.remove(&cluster).unwrap_or_default();
        let (Some(from), Some(to)) = (members.place(from), members.place(to)) else { return Ok(None) };
        let shown = |place: usize| members.all[place].document.clone();
        Ok(shortest(&links, from, to).map(|links| {
            let documents = std::iter::once(from).chain(links.iter().map(|link| link.b)).map(shown).collect();
            Route { documents, links }
        }))
    }

    /// The contents of a cluster, the oldest first, each shown as its first document.
    pub fn versions(&self, cluster: i64) -> Result<Vec<ClusterDocument>, Error> {
        let members =
            self.members_in(&(cluster..cluster + 1))?.remove(&cluster).unwrap_or_default().members.all.into_iter();
        let mut documents: Vec<ClusterDocument> = members.map(|member| member.document).collect();
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
        neighbours.entry(link.b).or_default().push(link.clone().turned());
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

row! {
    /// A document `d` under a view, with its content `c` and its cluster `k`.
    struct FoundColumns {
        place: DocumentPlace = DocumentPlace::select(),
        status: String = "d.status",
        content: Option<Content> = columns::<Content>("c"),
        cluster: Option<String> = "k.name",
    }
}

impl FoundColumns {
    fn view(self) -> Option<FoundView> {
        let content = self.content?;
        Some(FoundView {
            view: content.layer,
            content: content.id,
            digest: ContentDigest(content.digest),
            size_bytes: content.size_bytes,
            payload_bytes: content.payload_bytes,
            copies: content.documents,
            cluster: content.cluster.zip(self.cluster),
            counts: true,
        })
    }
}
