//! The clusters of a result, each with its members, links and families.

use std::collections::HashMap;
use std::ops::Range;

use cognate_result_file::{Cluster, Family, Link, columns, row};
use rusqlite::params;

use super::blocks::blocks;
use super::{ClusterDocument, ClusterSection, DocumentPlace, FamilyRow, LinkRow, Located, Report, hex, select};
use crate::error::Error;
use cognate_storage::verdict::Labels;

impl Report {
    /// Number of clusters of a view, by its place among [`Report::views`].
    pub fn cluster_count(&self, view: usize) -> Result<u64, Error> {
        self.row(&format!("SELECT count(*) FROM cluster WHERE layer = {view}"), ())
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
        let mut parts = self.parts_of(&numbers)?;
        let sql = select::<Cluster>("WHERE t.layer = ? AND t.id >= ? AND t.id < ? ORDER BY t.id");
        self.each_row(&sql, params![view, numbers.start, numbers.end], |cluster: Cluster| {
            let parts = parts.remove(&cluster.id).unwrap_or_default();
            each(self.cluster(cluster, parts))
        })
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
        self.each_row(&sql, [view], |cluster: Cluster| {
            let parts = self.parts(cluster.id)?;
            each(self.cluster(cluster, parts))
        })
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
            mean_resemblance: cluster.mean_resemblance,
            members_digest: cluster.members_digest,
            min_resemblance: cluster.min_resemblance,
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

    /// The members, links and families of a cluster.
    pub(crate) fn parts(&self, cluster: i64) -> Result<Parts, Error> {
        Ok(self.parts_of(&(cluster..cluster + 1))?.remove(&cluster).unwrap_or_default())
    }

    /// Those of the clusters with these numbers.
    pub(super) fn parts_of(&self, numbers: &Range<i64>) -> Result<HashMap<i64, Parts>, Error> {
        let mut parts = self.members_in(numbers)?;
        self.add_links(numbers, &mut parts)?;
        self.add_families(numbers, &mut parts)?;
        Ok(parts)
    }

    /// The same without links and families.
    pub(super) fn members_in(&self, numbers: &Range<i64>) -> Result<HashMap<i64, Parts>, Error> {
        let sql = format!(
            "SELECT {} FROM content c CROSS JOIN document d ON d.content = c.id CROSS JOIN root r ON r.id = d.root
             WHERE c.cluster >= ? AND c.cluster < ? ORDER BY c.cluster, {}",
            MemberColumns::select(),
            self.by_document()
        );
        let mut all: HashMap<i64, Parts> = HashMap::new();
        self.each_row(&sql, [numbers.start, numbers.end], |row: MemberColumns| {
            let Parts { members, .. } = all.entry(row.cluster).or_default();
            if let Some(place) = members.place(row.content) {
                let (document, site) = (&mut members.all[place].document, &self.root(row.place.root)?.site);
                document.copies += 1;
                if !document.sites.contains(site) {
                    document.sites.push(site.clone());
                }
                return Ok(());
            }
            let Located { message_id_hash, modified, path, path_escaped, recognised, repository, site, .. } =
                self.located(&row.place)?;
            let document = ClusterDocument {
                copies: 1,
                identical: row.identical.map(|digest| hex(&digest)),
                message_id_hash,
                modified,
                path,
                path_escaped,
                payload_bytes: row.payload_bytes,
                recognised,
                repository,
                sites: vec![site.clone()],
                site,
                size_bytes: row.size_bytes,
            };
            members.push(Member { content: row.content, digest: row.digest, document });
            Ok::<_, Error>(())
        })?;
        Ok(all)
    }

    pub(super) fn add_links(&self, numbers: &Range<i64>, parts: &mut HashMap<i64, Parts>) -> Result<(), Error> {
        let sql = select::<Link>("WHERE t.cluster >= ? AND t.cluster < ? ORDER BY t.cluster");
        self.each_row(&sql, [numbers.start, numbers.end], |link: Link| {
            if let Some(Parts { members, links, .. }) = parts.get_mut(&link.cluster) {
                links.extend(LinkRow::of(link, |content| members.place(content)));
            }
            Ok::<_, Error>(())
        })?;
        parts.values_mut().for_each(|parts| parts.links.sort_by_key(|link| (link.a, link.b)));
        Ok(())
    }

    fn add_families(&self, numbers: &Range<i64>, parts: &mut HashMap<i64, Parts>) -> Result<(), Error> {
        let sql = format!(
            "SELECT {}, m.content
             FROM family f CROSS JOIN family_member m ON m.cluster = f.cluster AND m.number = f.number
             WHERE f.cluster >= ? AND f.cluster < ? ORDER BY f.cluster, f.number",
            columns::<Family>("f")
        );
        let mut last = None;
        self.each_row(&sql, [numbers.start, numbers.end], |(family, member): (Family, i64)| {
            let Some(Parts { members, families, .. }) = parts.get_mut(&family.cluster) else { return Ok(()) };
            let place = |content: i64| members.place(content).unwrap_or(0);
            if last.replace((family.cluster, family.number)) != Some((family.cluster, family.number)) {
                families.push(FamilyRow {
                    members: Vec::new(),
                    min_resemblance: family.min_resemblance,
                    over_representative_only: family.over_representative_only.then_some(true),
                    representative: place(family.representative),
                });
            }
            if let Some(family) = families.last_mut() {
                family.members.push(place(member));
            }
            Ok::<_, Error>(())
        })?;
        let families = parts.values_mut().flat_map(|parts| &mut parts.families);
        families.for_each(|family| family.members.sort_unstable());
        Ok(())
    }
}

row! {
    /// A document `d` of a content `c` of a cluster. Copies of a text that are copies of the same bytes are listed as such.
    struct MemberColumns {
        cluster: i64 = "c.cluster",
        content: i64 = "c.id",
        digest: [u8; 16] = "c.digest",
        place: DocumentPlace = DocumentPlace::select(),
        size_bytes: u64 = "c.size_bytes",
        payload_bytes: u64 = "c.payload_bytes",
        identical: Option<[u8; 16]> = "CASE WHEN c.identical IS NOT NULL THEN c.digest
                                            WHEN c.layer > 0 AND c.documents > 1 THEN
                                              (SELECT b.digest FROM document o JOIN content b ON b.id = o.content
                                               WHERE o.id = d.other AND b.identical IS NOT NULL) END",
    }
}

/// The members, links and families of a cluster.
#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) members: Members,
    pub(crate) links: Vec<LinkRow>,
    pub(crate) families: Vec<FamilyRow>,
}

/// A content of a cluster, with its first document.
pub(crate) struct Member {
    pub(crate) content: i64,
    pub(crate) digest: [u8; 16],
    pub(crate) document: ClusterDocument,
}

/// The contents of a cluster in the order of their first documents, and the place of each.
#[derive(Default)]
pub(crate) struct Members {
    pub(crate) all: Vec<Member>,
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

    pub(crate) fn place(&self, content: i64) -> Option<usize> {
        match self.places.is_empty() {
            true => self.all.iter().position(|member| member.content == content),
            false => self.places.get(&content).copied(),
        }
    }
}
