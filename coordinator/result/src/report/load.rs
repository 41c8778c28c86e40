//! The rows of a load file: each content once, with all its places, and its group of near duplicates.

use std::collections::HashMap;

use cognate_proto::path::percent;
use cognate_proto::shown::is_marked;
use rusqlite::Row;

use super::{Ratio, Report, hex, is_recognised, path_of, time};
use crate::error::Error;
use cognate_storage::verdict::Labels;

/// A content, shown as its first document.
#[derive(Clone, Debug)]
pub struct LoadRow {
    /// The sites that have it, each once, in their order.
    pub all_sites: Vec<String>,
    /// All its documents, as `site/repository: path`; `%`, `;` and characters that act on the text around them are
    /// percent-escaped in every path, so that the paths can be listed with `; ` between them.
    pub all_paths: Vec<String>,
    /// The digest of its bytes; of text where it has those alone; none where it holds nothing itself.
    pub content: Option<String>,
    /// The identical set that its documents form.
    pub exact_group: Option<String>,
    /// Its group under the scan's first view.
    pub group: Option<NearGroup>,
    /// The EDRM Message ID Hash of a message.
    pub message_id_hash: Option<String>,
    /// Time of the last modification of the first.
    pub modified: String,
    /// The first one's path.
    pub path: String,
    /// True if the path is percent-escaped.
    pub path_escaped: bool,
    /// True if some of its text was recognised in pictures of pages.
    pub recognised: bool,
    /// The first one's repository.
    pub repository: String,
    /// The first one's site.
    pub site: String,
    /// The size of each.
    pub size_bytes: u64,
    /// Status of the first.
    pub status: String,
    /// Under two views: its group by text.
    pub text_group: Option<NearGroup>,
    /// Under two views: the digest of the text.
    pub text_content: Option<String>,
}

/// The group of near duplicates that a content is in.
#[derive(Clone, Debug)]
pub struct NearGroup {
    /// The cluster's id.
    pub id: String,
    /// True if the others are compared with it.
    pub principal: bool,
    /// Resemblance to that one, if the two are linked.
    pub similarity: Option<Ratio>,
    /// The verdict on the cluster, if it holds and the report is joined with verdicts.
    pub verdict: Option<&'static str>,
    /// The labels of the cluster, if the report is joined with labels.
    pub labels: Labels,
}

/// The group of a content: the number of its cluster, and its relation to the representative.
struct Near {
    cluster: i64,
    principal: bool,
    similarity: Option<Ratio>,
}

/// What the rows of a cluster repeat.
struct Named {
    id: String,
    verdict: Option<&'static str>,
    labels: Labels,
}

#[derive(Default)]
struct Groups {
    names: HashMap<i64, Named>,
    of: HashMap<i64, Near>,
}

impl Groups {
    fn of(report: &Report) -> rusqlite::Result<Groups> {
        let mut groups = Groups::default();
        let mut statement =
            report.connection.prepare("SELECT id, name, representative, layer FROM cluster ORDER BY id")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (cluster, name, representative): (i64, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let (members, links) = report.members_and_links(cluster)?;
            let mut similarity: HashMap<i64, Option<Ratio>> = HashMap::new();
            for link in links {
                let (a, b) = (members[link.a].content, members[link.b].content);
                if a == representative || b == representative {
                    similarity.insert(if a == representative { b } else { a }, link.resemblance);
                }
            }
            for member in &members {
                let content = member.content;
                let similarity = similarity.remove(&content).flatten();
                groups.of.insert(content, Near { cluster, principal: content == representative, similarity });
            }
            let layer = row.get(3)?;
            let verdict = report.verdict_of_cluster(layer, &name).filter(|verdict| verdict.changed.is_none());
            let labels = report.labels_of(layer, &name);
            groups.names.insert(cluster, Named { id: name, verdict: verdict.map(|verdict| verdict.verdict), labels });
        }
        Ok(groups)
    }

    fn group_of(&self, content: Option<i64>) -> Option<NearGroup> {
        let near = self.of.get(&content?)?;
        let Named { id, verdict, labels } = self.names.get(&near.cluster)?;
        Some(NearGroup {
            id: id.clone(),
            principal: near.principal,
            similarity: near.similarity,
            verdict: *verdict,
            labels: labels.clone(),
        })
    }
}

impl Report {
    /// Every content once; a document that holds nothing itself is a row of its own.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or `each` fails.
    pub fn load_rows<E: From<Error>>(&self, mut each: impl FnMut(LoadRow) -> Result<(), E>) -> Result<(), E> {
        let groups = Groups::of(self).map_err(|error| self.failed(error))?;
        let sql = "SELECT d.content, d.id, d.path, d.modified, d.status, d.size_bytes, r.site, r.repository, c.digest,
                          c.identical IS NOT NULL, d.message_id_hash, o.content, oc.digest, d.layer,
                          d.recognised
                   FROM document d JOIN root r ON r.id = d.root LEFT JOIN content c ON c.id = d.content
                        LEFT JOIN document o ON o.id = d.other LEFT JOIN content oc ON oc.id = o.content
                   WHERE d.listed ORDER BY d.content IS NULL, d.content, d.id";
        let mut current: Option<(Option<i64>, LoadRow)> = None;
        self.each_or(
            sql,
            |row| {
                let (content, site): (Option<i64>, String) = (row.get(0)?, row.get(6)?);
                let (path, path_escaped) = path_of(row.get_ref(2)?.as_blob()?);
                let listed = percent(&path, path_escaped.is_none(), |one| one == ';' || is_marked(one));
                let place = format!("{site}/{}: {listed}", row.get::<_, String>(7)?);
                match &mut current {
                    Some((of, open)) if content.is_some() && *of == content => {
                        open.all_paths.push(place);
                        if !open.all_sites.contains(&site) {
                            open.all_sites.push(site);
                        }
                        Ok(None)
                    }
                    _ => {
                        let mut next = load_row(row, &groups, path, path_escaped.is_some())?;
                        next.all_paths.push(place);
                        next.all_sites.push(site);
                        Ok(current.replace((content, next)).map(|(_, done)| done))
                    }
                }
            },
            &mut |row: LoadRow| if self.lists_any(&row.all_sites) { each(row) } else { Ok(()) },
        )?;
        match current {
            Some((_, last)) if self.lists_any(&last.all_sites) => each(last),
            _ => Ok(()),
        }
    }

    fn lists_any(&self, sites: &[String]) -> bool {
        sites.iter().any(|site| self.lists(site))
    }
}

fn load_row(row: &Row<'_>, groups: &Groups, path: String, path_escaped: bool) -> rusqlite::Result<LoadRow> {
    let digest =
        |place: usize| -> rusqlite::Result<Option<String>> { Ok(row.get_ref(place)?.as_blob_or_null()?.map(hex)) };
    let content = digest(8)?;
    // Members of containers have text alone.
    let is_text_alone = row.get::<_, i64>(13)? > 0;
    let (group, text_group, text_content) = match is_text_alone {
        false => (groups.group_of(row.get(0)?), groups.group_of(row.get(11)?), digest(12)?),
        true => (None, groups.group_of(row.get(0)?), content.clone()),
    };
    Ok(LoadRow {
        all_sites: Vec::new(),
        all_paths: Vec::new(),
        exact_group: content.clone().filter(|_| row.get::<_, bool>(9).unwrap_or_default()),
        content: content.filter(|_| !is_text_alone),
        group,
        message_id_hash: digest(10)?,
        modified: time(row.get(3)?),
        path,
        path_escaped,
        recognised: is_recognised(row)?.is_some(),
        repository: row.get(7)?,
        site: row.get(6)?,
        size_bytes: row.get(5)?,
        status: row.get(4)?,
        text_group,
        text_content,
    })
}
