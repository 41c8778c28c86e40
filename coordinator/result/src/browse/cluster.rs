//! One cluster: its members in relation to one of them, its links, and the parts that remain above a threshold.

use std::collections::HashMap;

use cognate_analysis::disjoint_sets::DisjointSets;
use rusqlite::params;

use super::{Browse, ClusterRow, Page, Window};
use crate::error::Error;
use crate::report::{DocumentPlace, FamilyRow, LinkRow, Member, Parts, Ratio, Report, hex};

/// The most places of a member's documents that are shown.
const PLACES_MAX: i64 = 100;
/// So many links are handed over, the strongest.
const LINKS_MAX: usize = 500;

/// A cluster as its page shows it.
#[derive(Clone, Debug)]
pub struct ClusterPage {
    /// Its row in lists.
    pub cluster: ClusterRow,
    /// The member with which the others are compared.
    pub pivot: MemberRow,
    /// True if that is the representative.
    pub pivot_is_representative: bool,
    /// A page of the members, in the order of their first documents.
    pub members: Page<MemberRow>,
    /// The strongest links.
    pub links: Vec<LinkRow>,
    /// Number of links that the result lists.
    pub links_listed: u64,
    /// Number of those that have at least the threshold's resemblance.
    pub links_kept: u64,
    /// The members of each part into which the cluster falls at the threshold, largest first, by their places. Parts of one
    /// member are left out.
    pub parts: Vec<Vec<usize>>,
    /// Number of members that have no link at the threshold.
    pub alone: usize,
    /// The members of each family, the representative first.
    pub families: Vec<FamilyRow>,
}

/// A member of a cluster: a content, shown as its first document.
#[derive(Clone, Debug, serde::Serialize)]
pub struct MemberRow {
    /// Its place among the members, from 0.
    pub place: usize,
    /// The digest of its content.
    pub digest: String,
    /// Its size.
    pub size_bytes: u64,
    /// All documents that have it, at most a hundred.
    pub documents: Vec<Place>,
    /// Number of documents.
    pub copies: u64,
    /// The sites of those.
    pub sites: Vec<String>,
    /// The family that it belongs to, by number.
    pub family: Option<usize>,
    /// Relation to the pivot; nothing for the pivot itself, and if the two are not linked.
    pub to_pivot: Option<ToPivot>,
}

/// Place of a document.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Place {
    /// Its site.
    pub site: String,
    /// Its repository.
    pub repository: String,
    /// Its path.
    pub path: String,
    /// The same, as it is.
    #[serde(skip)]
    pub bytes: Vec<u8>,
    /// True if the path is percent-escaped.
    pub path_escaped: bool,
    /// Time of the last modification.
    pub modified: String,
    /// True if some of its text was recognised in pictures of pages.
    pub recognised: bool,
}

impl Place {
    /// Value in a form: site, repository, and the path in hexadecimal digits.
    pub fn form_value(&self) -> String {
        format!("{}/{}/{}", self.site, self.repository, hex(&self.bytes))
    }

    /// Value in an address: site, repository and path, as people read them.
    pub fn named(&self) -> String {
        format!("{}/{}/{}", self.site, self.repository, self.path)
    }

    pub(super) fn of(report: &Report, place: DocumentPlace) -> Result<Place, Error> {
        let located = report.located(&place)?;
        Ok(Place {
            site: located.site,
            repository: located.repository,
            path: located.path,
            bytes: place.path,
            path_escaped: located.path_escaped.is_some(),
            modified: located.modified,
            recognised: place.recognised,
        })
    }
}

/// Relation of a member to the pivot.
#[derive(Clone, Debug, serde::Serialize)]
pub struct ToPivot {
    /// Bytes that both have.
    pub shared_bytes: u64,
    /// Shared bytes by bytes of both.
    pub resemblance: Option<Ratio>,
    /// Share of the member that is also in the pivot.
    pub in_pivot: Option<Ratio>,
    /// Share of the pivot that is also in the member.
    pub pivot_in: Option<Ratio>,
    /// `near`, `contains`, `contained` or `shares`: of the member to the pivot.
    pub relation: String,
}

/// Options of the view of a cluster.
#[derive(Clone, Debug, Default)]
pub struct ClusterQuery {
    /// The digest of the member that the others are compared with; nothing: the representative.
    pub pivot: Option<String>,
    /// Only links of this resemblance join, in ten-thousandths.
    pub threshold: i64,
    /// The page of members.
    pub window: Window,
}

impl Browse {
    /// A cluster by its number; nothing: there is none.
    ///
    /// # Errors
    /// Fails if the result cannot be read.
    pub fn cluster(&self, number: i64, query: &ClusterQuery) -> Result<Option<ClusterPage>, Error> {
        let Some(cluster) = self.cluster_numbered(number)? else { return Ok(None) };
        let Parts { members, mut links, mut families } = self.report.parts(number)?;
        let representative = members.place(cluster.representative).unwrap_or(0);
        let asked = query.pivot.as_deref();
        let pivot = asked
            .and_then(|digest| members.all.iter().position(|member| hex(&member.digest) == digest))
            .unwrap_or(representative);
        let to_pivot = to_pivot(&links, pivot);
        // The representative first.
        for family in &mut families {
            let first = family.representative;
            family.members.sort_by_key(|place| (*place != first, *place));
        }
        let of_family = |(family, row): (usize, &FamilyRow)| {
            row.members.iter().map(move |member| (*member, family)).collect::<Vec<_>>()
        };
        let family_of: HashMap<usize, usize> = families.iter().enumerate().flat_map(of_family).collect();
        let row = |place: usize| -> Result<MemberRow, Error> {
            let family = family_of.get(&place).copied();
            self.member(place, &members.all[place], family, to_pivot.get(&place).cloned())
        };
        let offset = usize::try_from(query.window.offset()).unwrap_or(usize::MAX);
        let count = usize::try_from(query.window.rows()).unwrap_or(usize::MAX);
        let shown = (0..members.all.len()).skip(offset).take(count);
        let rows = shown.map(row).collect::<Result<Vec<_>, _>>()?;
        let remains = |link: &&LinkRow| link.resemblance.is_none_or(|resemblance| resemblance.0 >= query.threshold);
        let (parts, alone) = parts(members.all.len(), links.iter().filter(remains));
        let (links_listed, links_kept) = (links.len() as u64, links.iter().filter(remains).count() as u64);
        links.sort_by_key(|link| (std::cmp::Reverse((link.resemblance, link.shared_bytes)), link.a, link.b));
        links.truncate(LINKS_MAX);
        Ok(Some(ClusterPage {
            cluster,
            pivot: row(pivot)?,
            pivot_is_representative: pivot == representative,
            members: Page { rows, total: members.all.len() as u64 },
            links,
            links_listed,
            links_kept,
            parts,
            alone,
            families,
        }))
    }

    fn member(
        &self,
        place: usize,
        Member { content, digest, document }: &Member,
        family: Option<usize>,
        to_pivot: Option<ToPivot>,
    ) -> Result<MemberRow, Error> {
        let sql = format!(
            "SELECT {} FROM document d JOIN root r ON r.id = d.root WHERE d.content = ? ORDER BY {} LIMIT ?",
            DocumentPlace::select(),
            self.report.by_document()
        );
        let documents = self.report.rows(&sql, params![content, PLACES_MAX])?.into_iter();
        let mut sites = document.sites.clone();
        self.report.sort_sites(&mut sites);
        Ok(MemberRow {
            place,
            digest: hex(digest),
            size_bytes: document.size_bytes,
            documents: documents.map(|place| Place::of(&self.report, place)).collect::<Result<_, _>>()?,
            copies: document.copies,
            sites,
            family,
            to_pivot,
        })
    }
}

fn to_pivot(links: &[LinkRow], pivot: usize) -> HashMap<usize, ToPivot> {
    let from_pivot = links.iter().filter_map(|link| link.clone().from(pivot));
    let to_pivot = from_pivot.map(LinkRow::turned).map(|link| {
        let LinkRow { shared_bytes, resemblance, a_in_b: in_pivot, b_in_a: pivot_in, relation, .. } = link;
        (link.a, ToPivot { shared_bytes, resemblance, in_pivot, pivot_in, relation })
    });
    to_pivot.collect()
}

/// The parts that these links join, largest first, and the number of members that are alone.
fn parts<'a>(members: usize, links: impl Iterator<Item = &'a LinkRow>) -> (Vec<Vec<usize>>, usize) {
    let number = |member: usize| u32::try_from(member).expect("fewer than 2^32 members");
    let mut sets = DisjointSets::apart(members);
    links.for_each(|link| sets.join(number(link.a), number(link.b)));
    let mut all: Vec<Vec<usize>> = vec![Vec::new(); members];
    for (member, least) in sets.finish().into_iter().enumerate() {
        all[least as usize].push(member);
    }
    let alone = all.iter().filter(|part| part.len() == 1).count();
    all.retain(|part| part.len() > 1);
    all.sort_by_key(|part| (std::cmp::Reverse(part.len()), part[0]));
    (all, alone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_falls_apart_where_its_links_are_weak() {
        let link = |a, b, resemblance| LinkRow {
            a,
            b,
            shared_bytes: 1,
            resemblance: Some(Ratio(resemblance)),
            a_in_b: None,
            b_in_a: None,
            relation: "shares".to_owned(),
            estimated: None,
            interval: None,
            within_tenth: None,
            outside_bytes: None,
            rests_on_frame: None,
        };
        let links = [link(0, 1, 9000), link(1, 2, 3000), link(2, 3, 9500), link(3, 4, 2000)];
        let at = |threshold| parts(5, links.iter().filter(move |link| link.resemblance >= Some(Ratio(threshold))));
        assert_eq!(at(0), (vec![vec![0, 1, 2, 3, 4]], 0));
        assert_eq!(at(3000), (vec![vec![0, 1, 2, 3]], 1));
        assert_eq!(at(5000), (vec![vec![0, 1], vec![2, 3]], 1));
        assert_eq!(at(9600), (vec![], 5));
    }
}
