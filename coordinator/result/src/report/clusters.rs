//! The clusters of a result, each with its members, links and families.

use std::collections::HashMap;
use std::ops::Range;

use rusqlite::{Row, params};

use super::{ClusterDocument, ClusterSection, FamilyRow, LinkRow, Located, Ratio, Report, hex, located, reversed};
use crate::error::Error;
use cognate_storage::verdict::Labels;

impl Report {
    /// Number of clusters of a view, by its place among [`Report::views`].
    pub fn cluster_count(&self, view: usize) -> Result<u64, Error> {
        self.one(&format!("SELECT count(*) FROM cluster WHERE layer = {view}"), |row| row.get(0))
    }

    /// The clusters, view by view, by the bytes that join their members, falling.
    pub fn clusters<E: From<Error>>(&self, mut each: impl FnMut(ClusterSection) -> Result<(), E>) -> Result<(), E> {
        (0..self.views.len()).try_for_each(|view| self.clusters_of(view, &mut each))
    }

    /// The clusters of a view, by the bytes that join their members, falling.
    pub fn clusters_of<E: From<Error>>(
        &self,
        view: usize,
        mut each: impl FnMut(ClusterSection) -> Result<(), E>,
    ) -> Result<(), E> {
        let numbers = self.numbers(&format!("SELECT min(id), max(id) FROM cluster WHERE layer = {view}"))?;
        let read = |report: &Report, block: Range<i64>| {
            let mut clusters = Vec::new();
            let condition = format!("k.id >= {} AND k.id < {}", block.start, block.end);
            report.clusters_where(view, &condition, |cluster| {
                clusters.push(cluster);
                Ok::<_, Error>(())
            })?;
            Ok(clusters)
        };
        self.in_blocks(numbers, read, &mut each)
    }

    /// The clusters `k` of a view for which a condition holds, in the same order.
    pub(super) fn clusters_where<E: From<Error>>(
        &self,
        view: usize,
        condition: &str,
        mut each: impl FnMut(ClusterSection) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = format!(
            "SELECT id, name, members_digest, relation, representative, total_bytes, links, links_omitted,
                    min_resemblance, mean_resemblance, layer, joined_bytes, frame_links, on_frame
             FROM cluster k WHERE k.layer = ? AND {condition} ORDER BY k.id"
        );
        let mut statement = self.connection.prepare(&sql).map_err(|error| self.failed(error))?;
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
        let Labels { tags, assignee } = self.labels_of(row.get(10)?, row.get_ref(1)?.as_str()?);
        Ok(ClusterSection {
            assignee,
            families,
            frame_links: Some(row.get(12)?).filter(|links| *links > 0),
            id: row.get(1)?,
            joined_bytes: row.get(11)?,
            link_count: row.get(6)?,
            links_omitted: row.get(7)?,
            links,
            mean_resemblance: Ratio(row.get(9)?),
            members_digest: row.get(2)?,
            min_resemblance: Ratio(row.get(8)?),
            relation: row.get(3)?,
            representative: place(row.get(4)?),
            rests_on_frame: row.get::<_, bool>(13)?.then_some(true),
            sites: self.sites_of(&members),
            tags: tags.into_iter().collect(),
            total_bytes: row.get(5)?,
            verdict: self.verdict_of_cluster(row.get(10)?, row.get_ref(1)?.as_str()?),
            view: self.view(row.get(10)?),
            documents: members.into_iter().map(|member| member.document).collect(),
        })
    }

    fn sites_of(&self, members: &[Member]) -> Vec<String> {
        let mut sites: Vec<String> = members.iter().flat_map(|member| member.document.sites.iter().cloned()).collect();
        sites.sort_unstable();
        sites.dedup();
        self.sort_sites(&mut sites);
        sites
    }

    /// The contents of a cluster, each with its first document, in the order of those.
    pub(super) fn members(&self, cluster: i64) -> rusqlite::Result<Vec<Member>> {
        // Copies of a text that are copies of the same bytes are listed as such.
        let sql = format!(
            "SELECT c.id, c.digest, c.size_bytes, d.path, d.modified, r.site, r.repository, r.party,
                          d.message_id_hash, c.payload_bytes,
                          CASE WHEN c.identical IS NOT NULL THEN c.digest
                               WHEN c.layer > 0 AND c.documents > 1 THEN
                                 (SELECT b.digest FROM document o JOIN content b ON b.id = o.content
                                  WHERE o.id = d.other AND b.identical IS NOT NULL) END,
                          d.recognised
                   FROM content c JOIN document d ON d.content = c.id JOIN root r ON r.id = d.root
                   WHERE c.cluster = ? ORDER BY {}",
            self.by_document()
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query([cluster])?;
        let mut members: Vec<Member> = Vec::new();
        let mut places: HashMap<i64, usize> = HashMap::new();
        while let Some(row) = rows.next()? {
            let content: i64 = row.get(0)?;
            let Located { message_id_hash, modified, path, path_escaped, recognised, repository, site, .. } =
                located(row)?;
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
                    recognised,
                    repository,
                    sites: vec![site.clone()],
                    site,
                    size_bytes: row.get(2)?,
                },
            });
        }
        Ok(members)
    }

    pub(super) fn links(&self, cluster: i64, members: &[Member]) -> rusqlite::Result<Vec<LinkRow>> {
        let places = places_of(members);
        let sql = "SELECT a, b, shared_bytes, relation, resemblance, a_in_b, b_in_a, low, high, estimated, outside_bytes, on_frame,
                          within_tenth
                   FROM link
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
            // A link is written from the document that comes first; earlier formats have it as it was found.
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
                outside_bytes: row.get(10)?,
                relation,
                resemblance: ratio(4)?,
                rests_on_frame: row.get::<_, bool>(11)?.then_some(true),
                shared_bytes: row.get(2)?,
                within_tenth: ratio(12)?,
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
}

pub(super) struct Member {
    pub(super) content: i64,
    pub(super) document: ClusterDocument,
}

/// Place of each content among the members.
fn places_of(members: &[Member]) -> HashMap<i64, usize> {
    members.iter().enumerate().map(|(place, member)| (member.content, place)).collect()
}
