//! One cluster: its members in relation to one of them, its links, and the parts that remain above a threshold.

use std::collections::HashMap;

use cognate_analysis::disjoint_sets::DisjointSets;
use cognate_result_file::{Family, Link, Record as _, columns, reversed};
use rusqlite::params;

use super::{Browse, ClusterRow, Page, Window};
use crate::error::Error;
use crate::report::{Ratio, hex, path_of, time};

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
    pub links: Vec<LinkView>,
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
    pub families: Vec<FamilyView>,
}

/// A member of a cluster: a content, shown as its first document.
#[derive(Clone, Debug, serde::Serialize)]
pub struct MemberRow {
    /// Its place among the members, from 0.
    pub place: usize,
    /// Its number in the result.
    #[serde(skip)]
    pub content: i64,
    /// The digest of its content.
    pub digest: String,
    /// Its size.
    pub size_bytes: u64,
    /// Its size less templates.
    pub payload_bytes: u64,
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

    /// From the columns site, repository, path, modified and recognised.
    pub(super) fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Place> {
        let bytes: Vec<u8> = row.get(2)?;
        let (path, escaped) = path_of(&bytes);
        Ok(Place {
            site: row.get(0)?,
            repository: row.get(1)?,
            path,
            bytes,
            path_escaped: escaped.is_some(),
            modified: time(row.get(3)?),
            recognised: row.get(4)?,
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

/// A link.
#[derive(Clone, Debug, serde::Serialize)]
pub struct LinkView {
    /// The place of the first.
    pub a: usize,
    /// The place of the second.
    pub b: usize,
    /// Bytes that both have.
    pub shared_bytes: u64,
    /// Shared bytes by bytes of both.
    pub resemblance: Option<Ratio>,
    /// Share of the first that is also in the second.
    pub a_in_b: Option<Ratio>,
    /// Share of the second that is also in the first.
    pub b_in_a: Option<Ratio>,
    /// Relation of the first to the second.
    pub relation: String,
    /// True if the measures are estimates.
    pub estimated: bool,
    /// The interval that holds the true resemblance in 95 of 100 cases, where it is one of a sample.
    pub interval: Option<(Ratio, Ratio)>,
    /// Of an estimate: the probability that one from such a sample is within a tenth of such a resemblance.
    pub within_tenth: Option<Ratio>,
    /// Bytes that both have outside of frames; nothing if no frame is part of the link.
    pub outside_bytes: Option<u64>,
    /// True if it would be no link without its frames.
    pub rests_on_frame: bool,
}

/// Members that are close to one of them.
#[derive(Clone, Debug, serde::Serialize)]
pub struct FamilyView {
    /// The places of the members.
    pub members: Vec<usize>,
    /// The least resemblance between two of them.
    pub min_resemblance: Ratio,
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

/// The contents of a cluster in their order, with what ratios are made of.
struct Members {
    contents: Vec<i64>,
    places: HashMap<i64, usize>,
    payload_bytes: Vec<u64>,
    digests: Vec<Vec<u8>>,
}

impl Browse {
    /// A cluster by its number; nothing: there is none.
    ///
    /// # Errors
    /// Fails if the result cannot be read.
    pub fn cluster(&self, number: i64, query: &ClusterQuery) -> Result<Option<ClusterPage>, Error> {
        let Some(cluster) = self.cluster_numbered(number)? else { return Ok(None) };
        let members = self.members_in_order(number)?;
        let representative = self
            .one("SELECT representative FROM cluster WHERE id = ?", [number], |row| row.get::<_, i64>(0))?
            .and_then(|content| members.places.get(&content).copied())
            .unwrap_or(0);
        let asked = query.pivot.as_deref();
        let pivot = asked
            .and_then(|digest| members.digests.iter().position(|known| hex(known) == digest))
            .unwrap_or(representative);
        let mut links = self.links_of(number, &members)?;
        let to_pivot = to_pivot(&links, pivot);
        let families = self.families_of(number, &members)?;
        let family_of: HashMap<usize, usize> = families
            .iter()
            .enumerate()
            .flat_map(|(family, view)| view.members.iter().map(move |member| (*member, family)))
            .collect();
        let row = |place: usize| -> Result<MemberRow, Error> {
            let mut row = self.member(&members, place)?;
            row.family = family_of.get(&place).copied();
            row.to_pivot = to_pivot.get(&place).cloned();
            Ok(row)
        };
        let offset = usize::try_from(query.window.offset()).unwrap_or(usize::MAX);
        let count = usize::try_from(query.window.rows()).unwrap_or(usize::MAX);
        let shown = (0..members.contents.len()).skip(offset).take(count);
        let rows = shown.map(row).collect::<Result<Vec<_>, _>>()?;
        let remains = |link: &&LinkView| link.resemblance.is_none_or(|resemblance| resemblance.0 >= query.threshold);
        let (parts, alone) = parts(members.contents.len(), links.iter().filter(remains));
        let (links_listed, links_kept) = (links.len() as u64, links.iter().filter(remains).count() as u64);
        links.sort_by_key(|link| (std::cmp::Reverse((link.resemblance, link.shared_bytes)), link.a, link.b));
        links.truncate(LINKS_MAX);
        Ok(Some(ClusterPage {
            cluster,
            pivot: row(pivot)?,
            pivot_is_representative: pivot == representative,
            members: Page { rows, total: members.contents.len() as u64 },
            links,
            links_listed,
            links_kept,
            parts,
            alone,
            families,
        }))
    }

    /// The contents of a cluster, in the order of their first documents.
    fn members_in_order(&self, number: i64) -> Result<Members, Error> {
        let by = self.report.by_document();
        let sql = format!(
            "SELECT c.id, c.payload_bytes, c.digest FROM content c JOIN document d ON d.content = c.id
                    JOIN root r ON r.id = d.root
             WHERE c.cluster = ? ORDER BY {by}"
        );
        let mut members = Members { contents: vec![], places: HashMap::new(), payload_bytes: vec![], digests: vec![] };
        let rows = self.collect(&sql, [number], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, u64>(1)?, row.get::<_, Vec<u8>>(2)?))
        })?;
        for (content, payload_bytes, digest) in rows {
            let place = members.contents.len();
            if *members.places.entry(content).or_insert(place) != place {
                continue;
            }
            members.contents.push(content);
            members.payload_bytes.push(payload_bytes);
            members.digests.push(digest);
        }
        Ok(members)
    }

    fn links_of(&self, number: i64, members: &Members) -> Result<Vec<LinkView>, Error> {
        let sql = format!("SELECT {} FROM link l WHERE l.cluster = ?", columns::<Link>("l"));
        let links = self.collect(&sql, [number], |row| Link::from_row(row, 0))?;
        let view = |link: Link| {
            let ([a, b], link) = link.placed(|content| members.places.get(&content).copied())?;
            Some(LinkView {
                a,
                b,
                shared_bytes: link.shared_bytes,
                resemblance: link.resemblance.map(Ratio),
                a_in_b: link.a_in_b.map(Ratio),
                b_in_a: link.b_in_a.map(Ratio),
                relation: link.relation.into_owned(),
                estimated: link.estimated,
                interval: link.low.map(Ratio).zip(link.high.map(Ratio)),
                outside_bytes: link.outside_bytes,
                rests_on_frame: link.on_frame,
                within_tenth: link.within_tenth.map(Ratio),
            })
        };
        Ok(links.into_iter().filter_map(view).collect())
    }

    fn families_of(&self, number: i64, members: &Members) -> Result<Vec<FamilyView>, Error> {
        let sql = format!("SELECT {} FROM family f WHERE f.cluster = ? ORDER BY f.number", columns::<Family>("f"));
        let families = self.collect(&sql, [number], |row| Family::from_row(row, 0))?;
        let mut views = Vec::new();
        for family in families {
            let sql = "SELECT content FROM family_member WHERE cluster = ? AND number = ?";
            let contents = self.collect(sql, params![number, family.number], |row| row.get::<_, i64>(0))?;
            let mut places: Vec<usize> =
                contents.iter().filter_map(|content| members.places.get(content).copied()).collect();
            let first = members.places.get(&family.representative).copied();
            places.sort_by_key(|place| (Some(*place) != first, *place));
            views.push(FamilyView { members: places, min_resemblance: Ratio(family.min_resemblance) });
        }
        Ok(views)
    }

    fn member(&self, members: &Members, place: usize) -> Result<MemberRow, Error> {
        let content = members.contents[place];
        let by = self.report.by_document();
        let sql = format!(
            "SELECT r.site, r.repository, d.path, d.modified, d.recognised FROM document d JOIN root r ON r.id = d.root
             WHERE d.content = ? ORDER BY {by} LIMIT ?"
        );
        let documents = self.collect(&sql, params![content, PLACES_MAX], Place::read)?;
        let sql = "SELECT DISTINCT r.site FROM document d JOIN root r ON r.id = d.root WHERE d.content = ? ORDER BY 1";
        let mut sites = self.collect(sql, [content], |row| row.get(0))?;
        self.report.sort_sites(&mut sites);
        let sql = "SELECT size_bytes, documents FROM content WHERE id = ?";
        let (size_bytes, copies) = self.one(sql, [content], |row| Ok((row.get(0)?, row.get(1)?)))?.unwrap_or_default();
        Ok(MemberRow {
            place,
            content,
            digest: hex(&members.digests[place]),
            size_bytes,
            payload_bytes: members.payload_bytes[place],
            documents,
            copies,
            sites,
            family: None,
            to_pivot: None,
        })
    }
}

fn to_pivot(links: &[LinkView], pivot: usize) -> HashMap<usize, ToPivot> {
    let mut all = HashMap::new();
    for link in links {
        let (member, in_pivot, pivot_in, relation) = if link.a == pivot {
            (link.b, link.b_in_a, link.a_in_b, reversed(&link.relation).to_owned())
        } else if link.b == pivot {
            (link.a, link.a_in_b, link.b_in_a, link.relation.clone())
        } else {
            continue;
        };
        let LinkView { shared_bytes, resemblance, .. } = *link;
        all.insert(member, ToPivot { shared_bytes, resemblance, in_pivot, pivot_in, relation });
    }
    all
}

/// The parts that these links join, largest first, and the number of members that are alone.
fn parts<'a>(members: usize, links: impl Iterator<Item = &'a LinkView>) -> (Vec<Vec<usize>>, usize) {
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
        let link = |a, b, resemblance| LinkView {
            a,
            b,
            shared_bytes: 1,
            resemblance: Some(Ratio(resemblance)),
            a_in_b: None,
            b_in_a: None,
            relation: "shares".to_owned(),
            estimated: false,
            interval: None,
            within_tenth: None,
            outside_bytes: None,
            rests_on_frame: false,
        };
        let links = [link(0, 1, 9000), link(1, 2, 3000), link(2, 3, 9500), link(3, 4, 2000)];
        let at = |threshold| parts(5, links.iter().filter(move |link| link.resemblance >= Some(Ratio(threshold))));
        assert_eq!(at(0), (vec![vec![0, 1, 2, 3, 4]], 0));
        assert_eq!(at(3000), (vec![vec![0, 1, 2, 3]], 1));
        assert_eq!(at(5000), (vec![vec![0, 1], vec![2, 3]], 1));
        assert_eq!(at(9600), (vec![], 5));
    }
}
