//! The rows of a load file: each content once, with all its places, and its group of near duplicates.

use std::collections::HashMap;

use cognate_proto::path::percent;
use cognate_proto::shown::is_marked;
use cognate_result_file::row;

use super::blocks::BLOCK;
use super::clusters::{Member, Parts};
use super::{DocumentPlace, Located, Ratio, Report, hex};
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
    /// The first document, with the size of each.
    pub document: Located,
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
    fn of(report: &Report) -> Result<Groups, Error> {
        let mut groups = Groups::default();
        let sql = "SELECT id, name, representative, layer FROM cluster ORDER BY id";
        let clusters: Vec<(i64, String, i64, usize)> = report.rows(sql, ())?;
        let mut parts = HashMap::new();
        for (cluster, name, representative, layer) in clusters {
            // Those of many clusters are read at once.
            if !parts.contains_key(&cluster) {
                parts = report.parts_of(&(cluster..cluster + BLOCK as i64))?;
            }
            let Parts { members, links, .. } = parts.remove(&cluster).unwrap_or_default();
            let mut similarity: HashMap<i64, Option<Ratio>> = HashMap::new();
            for link in links {
                let (a, b) = (members.all[link.a].content, members.all[link.b].content);
                if a == representative || b == representative {
                    similarity.insert(if a == representative { b } else { a }, link.resemblance);
                }
            }
            for Member { content, .. } in &members.all {
                let similarity = similarity.remove(content).flatten();
                groups.of.insert(*content, Near { cluster, principal: *content == representative, similarity });
            }
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
        let groups = Groups::of(self)?;
        let sql = format!(
            "SELECT {} FROM document d LEFT JOIN content c ON c.id = d.content
                  LEFT JOIN document o ON o.id = d.other LEFT JOIN content oc ON oc.id = o.content
             WHERE d.listed ORDER BY d.content IS NULL, d.content, d.id",
            LoadColumns::select()
        );
        let mut current: Option<(Option<i64>, LoadRow)> = None;
        let mut each = |row: LoadRow| if self.lists_any(&row.all_sites) { each(row) } else { Ok(()) };
        self.each_row(&sql, (), |row: LoadColumns| {
            let document = Located { size_bytes: Some(row.size_bytes), ..self.located(&row.place)? };
            let Located { site, repository, path, path_escaped, .. } = &document;
            let listed = percent(path, path_escaped.is_none(), |one| one == ';' || is_marked(one));
            let (place, site) = (format!("{site}/{repository}: {listed}"), site.clone());
            match &mut current {
                Some((of, open)) if row.content.is_some() && *of == row.content => {
                    open.all_paths.push(place);
                    if !open.all_sites.contains(&site) {
                        open.all_sites.push(site);
                    }
                    Ok(())
                }
                _ => {
                    let next = (row.content, row.load_row(&groups, document, site, place));
                    current.replace(next).map_or(Ok(()), |(_, done)| each(done))
                }
            }
        })?;
        current.map_or(Ok(()), |(_, last)| each(last))
    }

    fn lists_any(&self, sites: &[String]) -> bool {
        sites.iter().any(|site| self.lists(site))
    }
}

row! {
    /// A listed document `d` with its content `c`, and its content `oc` under the other view.
    struct LoadColumns {
        content: Option<i64> = "d.content",
        place: DocumentPlace = DocumentPlace::select(),
        status: String = "d.status",
        size_bytes: u64 = "d.size_bytes",
        layer: usize = "d.layer",
        digest: Option<[u8; 16]> = "c.digest",
        is_identical: bool = "c.identical IS NOT NULL",
        other_content: Option<i64> = "o.content",
        other_digest: Option<[u8; 16]> = "oc.digest",
    }
}

impl LoadColumns {
    /// The row that begins with this document.
    fn load_row(self, groups: &Groups, document: Located, site: String, place: String) -> LoadRow {
        let content = self.digest.map(|digest| hex(&digest));
        // Members of containers have text alone.
        let is_text_alone = self.layer > 0;
        let (of_content, of_other) = (groups.group_of(self.content), groups.group_of(self.other_content));
        let (group, text_group, text_content) = match is_text_alone {
            false => (of_content, of_other, self.other_digest.map(|digest| hex(&digest))),
            true => (None, of_content, content.clone()),
        };
        LoadRow {
            all_sites: vec![site],
            all_paths: vec![place],
            exact_group: content.clone().filter(|_| self.is_identical),
            content: content.filter(|_| !is_text_alone),
            document,
            group,
            status: self.status,
            text_group,
            text_content,
        }
    }
}
