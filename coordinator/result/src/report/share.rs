//! A site's share of a result: its own documents, and the sets and clusters that hold one of them. Of what other parties
//! hold, it says at which sites and how many, never where.

use std::collections::BTreeMap;

use rusqlite::Row;
use serde_json::{Value, json};

use super::{Report, SiteSection, Viewer, hex, is_recognised, path_of, time};
use crate::error::Error;

/// A set or cluster as it is put together from its documents.
struct Gathered {
    id: i64,
    head: Value,
    documents: Vec<Value>,
    elsewhere: BTreeMap<String, u64>,
}

impl Report {
    /// Returns the rows that a site may see, each with its `type`. `digest` is that of the complete report.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or `each` fails.
    pub fn share_of<E: From<Error>>(
        &self,
        site: &str,
        party: &str,
        digest: &str,
        mut each: impl FnMut(Value) -> Result<(), E>,
    ) -> Result<(), E> {
        let viewer = Viewer::of_site(site, party);
        let sites = self.sites()?;
        each(self.share_of_scan(&viewer, &sites, digest)?)?;
        for row in &sites {
            each(typed("site", viewer.site(row)))?;
        }
        for row in self.overlap()?.iter().filter(|row| viewer.sees_overlap(row)) {
            each(typed("overlap", serde_json::to_value(row).unwrap_or_default()))?;
        }
        self.share_of_sets(site, &viewer, &mut each)?;
        self.share_of_clusters(site, &viewer, &mut each)?;
        self.share_of_documents(&viewer, &sites, &mut each)?;
        self.unread(|row| match viewer.owns(&row.site) {
            true => each(typed("unread", serde_json::to_value(&row).unwrap_or_default())),
            false => Ok(()),
        })
    }

    fn share_of_scan(&self, viewer: &Viewer, sites: &[SiteSection], digest: &str) -> Result<Value, Error> {
        let mut scan = self.scan()?;
        scan.digest = Some(digest.to_owned()).filter(|digest| !digest.is_empty());
        viewer.scan(&mut scan, sites);
        Ok(typed("scan", serde_json::to_value(&scan).unwrap_or_default()))
    }

    fn share_of_sets<E: From<Error>>(
        &self,
        site: &str,
        viewer: &Viewer,
        each: &mut impl FnMut(Value) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = "SELECT c.identical, r.party, r.site, r.repository, d.path, d.modified, c.size_bytes,
                          d.message_id_hash, c.digest, c.layer, d.recognised
                   FROM content c JOIN document d ON d.content = c.id JOIN root r ON r.id = d.root
                   WHERE c.identical IS NOT NULL AND c.id IN
                     (SELECT o.content FROM document o JOIN root s ON s.id = o.root WHERE s.site = ?1)
                   ORDER BY c.identical, d.id";
        self.gather(sql, site, viewer, each, |row| {
            let (digest, layer): (Vec<u8>, usize) = (row.get(8)?, row.get(9)?);
            let size_bytes: u64 = row.get(6)?;
            let head = json!({
                "type": "identical", "id": hex(&digest), "tier": self.tier(layer), "size_bytes": size_bytes,
            });
            Ok(self.with_view(head, layer))
        })?;
        let sql =
            "SELECT m.id, r.party, r.site, r.repository, d.path, d.modified, d.size_bytes, d.message_id_hash, m.hash,
                    d.recognised
                   FROM message m JOIN document d ON d.message = m.id JOIN root r ON r.id = d.root
                   WHERE m.id IN
                     (SELECT o.message FROM document o JOIN root s ON s.id = o.root
                      WHERE s.site = ?1 AND o.message IS NOT NULL)
                   ORDER BY m.id, d.id";
        self.gather(sql, site, viewer, each, |row| {
            let hash: Vec<u8> = row.get(8)?;
            Ok(json!({"type": "identical", "id": hex(&hash), "tier": "same message", "size_bytes": null}))
        })
    }

    fn with_view(&self, mut row: Value, layer: usize) -> Value {
        if let Some(view) = self.view(layer) {
            row["view"] = Value::String(view);
        }
        row
    }

    fn share_of_clusters<E: From<Error>>(
        &self,
        site: &str,
        viewer: &Viewer,
        each: &mut impl FnMut(Value) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = "SELECT k.id, r.party, r.site, r.repository, d.path, d.modified, c.size_bytes,
                          d.message_id_hash, k.name, k.members_digest, k.relation, k.total_bytes, k.links,
                          k.min_resemblance, k.mean_resemblance, k.layer, k.joined_bytes, d.recognised
                   FROM cluster k JOIN content c ON c.cluster = k.id JOIN document d ON d.content = c.id
                        JOIN root r ON r.id = d.root
                   WHERE k.id IN
                     (SELECT b.cluster FROM content b JOIN document o ON o.content = b.id JOIN root s ON s.id = o.root
                      WHERE s.site = ?1 AND b.cluster IS NOT NULL)
                   ORDER BY k.id, d.id";
        self.gather(sql, site, viewer, each, |row| {
            let head = json!({
                "type": "cluster",
                "id": row.get::<_, String>(8)?,
                "members_digest": row.get::<_, String>(9)?,
                "relation": row.get::<_, String>(10)?,
                "joined_bytes": row.get::<_, u64>(16)?,
                "total_bytes": row.get::<_, u64>(11)?,
                "link_count": row.get::<_, u64>(12)?,
                "min_resemblance": super::Ratio(row.get(13)?),
                "mean_resemblance": super::Ratio(row.get(14)?),
            });
            Ok(self.with_view(head, row.get(15)?))
        })
    }

    /// Puts documents together by the first column; those of other parties are counted.
    fn gather<E: From<Error>>(
        &self,
        sql: &str,
        site: &str,
        viewer: &Viewer,
        each: &mut impl FnMut(Value) -> Result<(), E>,
        head: impl Fn(&Row<'_>) -> rusqlite::Result<Value>,
    ) -> Result<(), E> {
        let mut statement = self.connection.prepare(sql).map_err(|error| self.failed(error))?;
        let mut rows = statement.query([site]).map_err(|error| self.failed(error))?;
        let mut current: Option<Gathered> = None;
        while let Some(row) = rows.next().map_err(|error| self.failed(error))? {
            let mut take = || -> rusqlite::Result<Option<Gathered>> {
                let id: i64 = row.get(0)?;
                let mut finished = None;
                if current.as_ref().is_none_or(|gathered| gathered.id != id) {
                    let next = Gathered { id, head: head(row)?, documents: Vec::new(), elsewhere: BTreeMap::new() };
                    finished = current.replace(next);
                }
                let gathered = current.as_mut().expect("it was just put there");
                let at: String = row.get(2)?;
                if viewer.sees_paths_of(&row.get::<_, String>(1)?) {
                    gathered.documents.push(document(row, &at)?);
                } else {
                    *gathered.elsewhere.entry(at).or_default() += 1;
                }
                Ok(finished)
            };
            if let Some(finished) = take().map_err(|error| self.failed(error))? {
                each(finished.row())?;
            }
        }
        current.map_or(Ok(()), |last| each(last.row()))
    }

    fn share_of_documents<E: From<Error>>(
        &self,
        viewer: &Viewer,
        sites: &[SiteSection],
        each: &mut impl FnMut(Value) -> Result<(), E>,
    ) -> Result<(), E> {
        let parties: BTreeMap<&str, &str> = sites.iter().map(|row| (row.site.as_str(), row.party.as_str())).collect();
        self.documents(|row| match viewer.owns(&row.site) {
            true => {
                let partner = row.partner.as_ref().and_then(|partner| parties.get(partner.site.as_str()).copied());
                each(typed("document", viewer.document(&row, partner)))
            }
            false => Ok(()),
        })
    }
}

impl Gathered {
    fn row(self) -> Value {
        let elsewhere =
            self.elsewhere.into_iter().map(|(site, documents)| json!({"site": site, "documents": documents}));
        let mut row = self.head;
        row["documents"] = Value::Array(self.documents);
        row["elsewhere"] = Value::Array(elsewhere.collect());
        row
    }
}

fn document(row: &Row<'_>, site: &str) -> rusqlite::Result<Value> {
    let (path, escaped) = path_of(row.get_ref(4)?.as_blob()?);
    let mut value = json!({
        "site": site,
        "repository": row.get::<_, String>(3)?,
        "path": path,
        "modified": time(row.get(5)?),
        "size_bytes": row.get::<_, u64>(6)?,
    });
    if let Some(escaped) = escaped {
        value["path_escaped"] = Value::Bool(escaped);
    }
    if let Some(recognised) = is_recognised(row)? {
        value["recognised"] = Value::Bool(recognised);
    }
    if let Some(hash) = row.get_ref(7)?.as_blob_or_null()? {
        value["message_id_hash"] = Value::String(hex(hash));
    }
    Ok(value)
}

fn typed(r#type: &str, mut row: Value) -> Value {
    row["type"] = Value::String(r#type.to_owned());
    row
}
