//! A site's share of a result: its own documents, and the sets and clusters that hold one of them. Of what other parties
//! hold, it says at which sites and how many, never where.

use std::collections::BTreeMap;

use cognate_result_file::{Cluster, columns};
use serde_json::{Value, json};

use super::{DocumentPlace, IdenticalSet, Located, Report, SiteSection, Viewer};
use crate::error::Error;

/// A set or cluster as it is put together from its documents.
struct Gathered {
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
        self.share_of_documents(&viewer, &mut each)?;
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
        let mut take = |set: IdenticalSet| {
            let head = json!({"type": "identical", "id": set.id, "tier": set.tier, "size_bytes": set.size_bytes});
            let mut gathered = Gathered::new(with_view(head, set.view));
            for document in set.documents {
                let size_bytes = set.size_bytes.or(document.size_bytes);
                gathered.add(self, viewer, Located { size_bytes, ..document });
            }
            each(gathered.row())
        };
        let own = self.roots_at(site);
        let condition =
            format!("c.identical IS NOT NULL AND c.id IN (SELECT o.content FROM document o WHERE o.root IN ({own}))");
        self.identical_where(&condition, &mut take)?;
        let condition = format!(
            "WHERE s.id IN (SELECT o.loose_set FROM document o WHERE o.root IN ({own}) AND o.loose_set IS NOT NULL)"
        );
        self.loose_where(&condition, &mut take)
    }

    fn share_of_clusters<E: From<Error>>(
        &self,
        site: &str,
        viewer: &Viewer,
        each: &mut impl FnMut(Value) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = format!(
            "SELECT {}, {}, c.size_bytes
             FROM cluster k JOIN content c ON c.cluster = k.id JOIN document d ON d.content = c.id
             WHERE k.id IN (SELECT b.cluster FROM content b JOIN document o ON o.content = b.id
                            WHERE o.root IN ({}) AND b.cluster IS NOT NULL)
             ORDER BY k.id, d.id",
            columns::<Cluster>("k"),
            DocumentPlace::select(),
            self.roots_at(site)
        );
        let mut current: Option<(i64, Gathered)> = None;
        self.each_row(&sql, (), |(cluster, place, size_bytes): (Cluster, DocumentPlace, u64)| {
            let document = Located { size_bytes: Some(size_bytes), ..self.located(&place)? };
            if let Some((_, gathered)) = current.as_mut().filter(|(id, _)| *id == cluster.id) {
                gathered.add(self, viewer, document);
                return Ok(());
            }
            let (id, view) = (cluster.id, self.view(cluster.layer));
            let head = json!({
                "type": "cluster",
                "id": cluster.name,
                "members_digest": cluster.members_digest,
                "relation": cluster.relation,
                "joined_bytes": cluster.joined_bytes,
                "total_bytes": cluster.total_bytes,
                "link_count": cluster.links,
                "min_resemblance": cluster.min_resemblance,
                "mean_resemblance": cluster.mean_resemblance,
            });
            let mut next = Gathered::new(with_view(head, view));
            next.add(self, viewer, document);
            current.replace((id, next)).map_or(Ok(()), |(_, finished)| each(finished.row()))
        })?;
        current.map_or(Ok(()), |(_, last)| each(last.row()))
    }

    fn share_of_documents<E: From<Error>>(
        &self,
        viewer: &Viewer,
        each: &mut impl FnMut(Value) -> Result<(), E>,
    ) -> Result<(), E> {
        self.documents(|row| match viewer.owns(&row.site) {
            true => {
                let partner = row.partner.as_ref().and_then(|partner| self.party_of(&partner.site));
                each(typed("document", viewer.document(&row, partner)))
            }
            false => Ok(()),
        })
    }
}

impl Gathered {
    fn new(head: Value) -> Gathered {
        Gathered { head, documents: Vec::new(), elsewhere: BTreeMap::new() }
    }

    /// Takes a document; those of other parties are counted.
    fn add(&mut self, report: &Report, viewer: &Viewer, document: Located) {
        if report.party_of(&document.site).is_some_and(|party| viewer.sees_paths_of(party)) {
            self.documents.push(serde_json::to_value(&document).unwrap_or_default());
        } else {
            *self.elsewhere.entry(document.site).or_default() += 1;
        }
    }

    fn row(self) -> Value {
        let elsewhere =
            self.elsewhere.into_iter().map(|(site, documents)| json!({"site": site, "documents": documents}));
        let mut row = self.head;
        row["documents"] = Value::Array(self.documents);
        row["elsewhere"] = Value::Array(elsewhere.collect());
        row
    }
}

fn with_view(mut row: Value, view: Option<String>) -> Value {
    if let Some(view) = view {
        row["view"] = Value::String(view);
    }
    row
}

fn typed(r#type: &str, mut row: Value) -> Value {
    row["type"] = Value::String(r#type.to_owned());
    row
}
