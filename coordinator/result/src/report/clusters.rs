//! The clusters of a result, each with its members, links and families.

use std::collections::HashMap;
use std::ops::Range;

use cognate_result_file::{Cluster, Family, Link, Record as _, columns};
use rusqlite::params;

use super::blocks::blocks;
use super::{ClusterDocument, ClusterSection, FamilyRow, LinkRow, Located, Ratio, Report, hex, located};
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
        let read = |report: &Report, block: &Range<i64>| {
            let mut clusters = Vec::new();
            report.clusters_in(view, block.clone(), |cluster| {
                clusters.push(cluster);
                Ok(())
            })?;
            Ok(clusters)
        };
        self.in_pieces(&self.cluster_blocks(view)?, read, &mut |clusters| clusters.into_iter().try_for_each(&mut each))
    }

    /// The numbers of the clusters of a view, in blocks.
    pub(super) fn cluster_blocks(&self, view: usize) -> Result<Vec<Range<i64>>, Error> {
        Ok(blocks(self.numbers(&format!("SELECT min(id), max(id) FROM cluster WHERE layer = {view}"))?))
    }

    /// The clusters of a view with these numbers, in their order. Members, links and families are read for all of them at once: most clusters
    /// are pairs, for which a query takes longer to begin than to read.
    pub(super) fn clusters_in(
        &self,
        view: usize,
        numbers: Range<i64>,
        mut each: impl FnMut(ClusterSection) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let failed = |error| self.failed(error);
        let mut parts = self.parts_of(&numbers).map_err(failed)?;
        let columns = columns::<Cluster>("k");
        let sql = format!("SELECT {columns} FROM cluster k WHERE k.layer = ? AND k.id >= ? AND k.id < ? ORDER BY k.id");
        let mut statement = self.connection.prepare_cached(&sql).map_err(failed)?;
        let mut rows = statement.query(params![view, numbers.start, numbers.end]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let cluster = Cluster::from_row(row, 0).map_err(failed)?;
            let parts = parts.remove(&cluster.id).unwrap_or_default();
            each(self.cluster(cluster, parts))?;
        }
        Ok(())
    }

    /// The clusters `k` of a view for which a condition holds, in the same order.
    pub(super) fn clusters_where<E: From<Error>>(
        &self,
        view: usize,
        condition: &str,
        mut each: impl FnMut(ClusterSection) -> Result<(), E>,
    ) -> Result<(), E> {
        let columns = columns::<Cluster>("k");
        let sql = format!("SELECT {columns} FROM cluster k WHERE k.layer = ? AND {condition} ORDER BY k.id");
        let mut statement = self.connection.prepare(&sql).map_err(|error| self.failed(error))?;
        let mut rows = statement.query([view]).map_err(|error| self.failed(error))?;
        while let Some(row) = rows.next().map_err(|error| self.failed(error))? {
            let read = || {
                let cluster = Cluster::from_row(row, 0)?;
                let parts = self.parts_of(&(cluster.id..cluster.id + 1))?.remove(&cluster.id).unwrap_or_default();
                Ok(self.cluster(cluster, parts))
            };
            let cluster = read().map_err(|error: rusqlite::Error| self.failed(error))?;
            each(cluster)?;
        }
        Ok(())
    }

    fn cluster(&self, cluster: Cluster, parts: Parts) -> ClusterSection {
        let Parts { members, links, families } = parts;
        let Labels { tags, assignee } = self.labels_of(cluster.layer, &cluster.name);
        ClusterSection {
            assignee,
            families,
            frame_links: Some(cluster.frame_links).filter(|links| *links > 0),
            joined_bytes: cluster.joined_bytes,
            link_count: cluster.links,
            links_omitted: cluster.links_omitted,
            links,
            mean_resemblance: Ratio(cluster.mean_resemblance),
            members_digest: cluster.members_digest,
            min_resemblance: Ratio(cluster.min_resemblance),
            relation: cluster.relation.into_owned(),
            representative: members.place(cluster.representative).unwrap_or(0),
            rests_on_frame: cluster.on_frame.then_some(true),
            sites: self.sites_of(&members.all),
            tags: tags.into_iter().collect(),
            total_bytes: cluster.total_bytes,
            verdict: self.verdict_of_cluster(cluster.layer, &cluster.name),
            view: self.view(cluster.layer),
            id: cluster.name,
            documents: members.all.into_iter().map(|member| member.document).collect(),
        }
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
        Ok(self.members_in(&(cluster..cluster + 1))?.remove(&cluster).unwrap_or_default().members.all)
    }

    /// The contents of a cluster, and its links by their places.
    pub(super) fn members_and_links(&self, cluster: i64) -> rusqlite::Result<(Vec<Member>, Vec<LinkRow>)> {
        let numbers = cluster..cluster + 1;
        let mut parts = self.members_in(&numbers)?;
        self.add_links(&numbers, &mut parts)?;
        let Parts { members, links, .. } = parts.remove(&cluster).unwrap_or_default();
        Ok((members.all, links))
    }

    /// The members, links and families of the clusters with these numbers.
    fn parts_of(&self, numbers: &Range<i64>) -> rusqlite::Result<HashMap<i64, Parts>> {
        let mut parts = self.members_in(numbers)?;
        self.add_links(numbers, &mut parts)?;
        self.add_families(numbers, &mut parts)?;
        Ok(parts)
    }

    /// The same without links and families.
    fn members_in(&self, numbers: &Range<i64>) -> rusqlite::Result<HashMap<i64, Parts>> {
        // Copies of a text that are copies of the same bytes are listed as such.
        let sql = format!(
            "SELECT c.id, c.digest, c.size_bytes, d.path, d.modified, r.site, r.repository, r.party,
                          d.message_id_hash, c.payload_bytes,
                          CASE WHEN c.identical IS NOT NULL THEN c.digest
                               WHEN c.layer > 0 AND c.documents > 1 THEN
                                 (SELECT b.digest FROM document o JOIN content b ON b.id = o.content
                                  WHERE o.id = d.other AND b.identical IS NOT NULL) END,
                          d.recognised, c.cluster
                   FROM content c CROSS JOIN document d ON d.content = c.id CROSS JOIN root r ON r.id = d.root
                   WHERE c.cluster >= ? AND c.cluster < ? ORDER BY c.cluster, {}",
            self.by_document()
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query([numbers.start, numbers.end])?;
        let mut all: HashMap<i64, Parts> = HashMap::new();
        while let Some(row) = rows.next()? {
            let Parts { members, .. } = all.entry(row.get(12)?).or_default();
            let content: i64 = row.get(0)?;
            let Located { message_id_hash, modified, path, path_escaped, recognised, repository, site, .. } =
                located(row)?;
            if let Some(place) = members.place(content) {
                let member = &mut members.all[place];
                member.document.copies += 1;
                if !member.document.sites.contains(&site) {
                    member.document.sites.push(site);
                }
                continue;
            }
            let identical: Option<[u8; 16]> = row.get(10)?;
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
        Ok(all)
    }

    fn add_links(&self, numbers: &Range<i64>, parts: &mut HashMap<i64, Parts>) -> rusqlite::Result<()> {
        let columns = columns::<Link>("l");
        let sql = format!("SELECT {columns} FROM link l WHERE l.cluster >= ? AND l.cluster < ? ORDER BY l.cluster");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query([numbers.start, numbers.end])?;
        while let Some(row) = rows.next()? {
            let link = Link::from_row(row, 0)?;
            let Some(Parts { members, links, .. }) = parts.get_mut(&link.cluster) else { continue };
            let Some(([a, b], link)) = link.placed(|content| members.place(content)) else { continue };
            links.push(LinkRow {
                a,
                a_in_b: link.a_in_b.map(Ratio),
                b,
                b_in_a: link.b_in_a.map(Ratio),
                estimated: link.estimated.then_some(true),
                interval: link.low.zip(link.high).map(|(low, high)| [Ratio(low), Ratio(high)]),
                outside_bytes: link.outside_bytes,
                relation: link.relation.into_owned(),
                resemblance: link.resemblance.map(Ratio),
                rests_on_frame: link.on_frame.then_some(true),
                shared_bytes: link.shared_bytes,
                within_tenth: link.within_tenth.map(Ratio),
            });
        }
        parts.values_mut().for_each(|parts| parts.links.sort_by_key(|link| (link.a, link.b)));
        Ok(())
    }

    fn add_families(&self, numbers: &Range<i64>, parts: &mut HashMap<i64, Parts>) -> rusqlite::Result<()> {
        let sql = format!(
            "SELECT {}, m.content
             FROM family f CROSS JOIN family_member m ON m.cluster = f.cluster AND m.number = f.number
             WHERE f.cluster >= ? AND f.cluster < ? ORDER BY f.cluster, f.number",
            columns::<Family>("f")
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query([numbers.start, numbers.end])?;
        let mut last = None;
        while let Some(row) = rows.next()? {
            let (family, member) = (Family::from_row(row, 0)?, row.get(Family::WIDTH)?);
            let Some(Parts { members, families, .. }) = parts.get_mut(&family.cluster) else { continue };
            let place = |content: i64| members.place(content).unwrap_or(0);
            if last.replace((family.cluster, family.number)) != Some((family.cluster, family.number)) {
                families.push(FamilyRow {
                    members: Vec::new(),
                    min_resemblance: Ratio(family.min_resemblance),
                    over_representative_only: family.over_representative_only.then_some(true),
                    representative: place(family.representative),
                });
            }
            if let Some(family) = families.last_mut() {
                family.members.push(place(member));
            }
        }
        let families = parts.values_mut().flat_map(|parts| &mut parts.families);
        families.for_each(|family| family.members.sort_unstable());
        Ok(())
    }
}

/// The members, links and families of a cluster.
#[derive(Default)]
struct Parts {
    members: Members,
    links: Vec<LinkRow>,
    families: Vec<FamilyRow>,
}

/// A content of a cluster, with its first document.
pub(super) struct Member {
    pub(super) content: i64,
    pub(super) document: ClusterDocument,
}

/// The contents of a cluster, and the place of each.
#[derive(Default)]
struct Members {
    all: Vec<Member>,
    places: HashMap<i64, usize>,
}

impl Members {
    /// Contents that are looked through one by one: most clusters are pairs.
    const FEW: usize = 8;

    fn push(&mut self, member: Member) {
        if self.all.len() == Members::FEW {
            self.places = self.all.iter().enumerate().map(|(place, member)| (member.content, place)).collect();
        }
        if self.all.len() >= Members::FEW {
            self.places.insert(member.content, self.all.len());
        }
        self.all.push(member);
    }

    fn place(&self, content: i64) -> Option<usize> {
        match self.places.is_empty() {
            true => self.all.iter().position(|member| member.content == content),
            false => self.places.get(&content).copied(),
        }
    }
}
