//! The right half of the workspace: one cluster. Of a pair, the two documents side by side; of a group, its members
//! compared with the pivot, the places of their common parts, and its links.

use cognate_export::estimated;
use cognate_proto::name::ScanId;

use super::Paging;
use super::clusters::{ListQuery, Neighbours};
use super::explain::{Compared, pairs};
use super::map::OverlapMap;
use super::pictures::Graph;
use crate::{Fields, PageError, Person};
use cognate_result::browse::{Browse, ClusterPage, ClusterQuery, ClusterRow, MemberRow, Place, Window};
use cognate_result::explain::DocumentName;
use cognate_result::marks::Mark;
use cognate_result::report::LinkRow;
use cognate_result::report::Ratio;
use cognate_server::Error;
use cognate_storage::store::Store;
use cognate_storage::verdict::{Labels, sixteen};

/// Links that are listed; the others are in the picture and in the exports.
const LINKS: usize = 100;

/// The options of the view of a cluster, as its address has them.
#[derive(Clone)]
pub(super) struct DetailQuery {
    threshold: i64,
    pivot: Option<String>,
    /// The page of the members, from 1.
    number: u64,
}

impl DetailQuery {
    /// Reads an address.
    ///
    /// # Errors
    /// Fails if a number is none.
    pub(super) fn of(fields: &Fields) -> Result<DetailQuery, PageError> {
        let threshold = fields.number("threshold")?.unwrap_or(0).min(100);
        Ok(DetailQuery {
            threshold: i64::try_from(threshold).unwrap_or(0),
            pivot: fields.text("pivot").map(str::to_owned),
            number: fields.number("part")?.unwrap_or(1).clamp(1, super::PAGES_MAX),
        })
    }
}

/// A member, with the verdicts on its documents.
pub(super) struct MemberView {
    pub(super) member: MemberRow,
    pub(super) marks: Vec<Option<Mark>>,
    pub(super) is_oldest: bool,
    pub(super) is_newest: bool,
    pub(super) is_largest: bool,
}

/// A cluster, as the workspace shows it.
pub(super) struct Detail {
    pub(super) cluster: ClusterPage,
    pub(super) mark: Option<Mark>,
    pub(super) labels: Labels,
    pub(super) members: Vec<MemberView>,
    /// Of a group.
    pub(super) map: Option<OverlapMap>,
    /// Of a pair.
    pub(super) pair: Option<Compared>,
    pub(super) graph: Graph,
    pub(super) paging: Paging,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
    /// The address of the list.
    pub(super) list: String,
    pub(super) here: String,
    pub(super) threshold: i64,
    pub(super) pivot: String,
    /// The filter and the order again, for forms that show the same cluster with other options.
    pub(super) asked: Vec<(String, String)>,
    separator: char,
    scan: ScanId,
}

impl Detail {
    /// Gathers it; nothing: there is no such cluster.
    ///
    /// # Errors
    /// Fails if the result or the indexes cannot be read.
    pub(super) fn of(
        person: &Person,
        (browse, store): (&Browse, &Store),
        id: ScanId,
        row: ClusterRow,
        (list, neighbours): (&ListQuery, Option<Neighbours>),
        query: &DetailQuery,
    ) -> Result<Option<Detail>, Error> {
        let window = Window { page: query.number - 1, ..Window::default() };
        let wanted = ClusterQuery { pivot: query.pivot.clone(), threshold: query.threshold * 100, window };
        let (before, after) = match neighbours {
            Some(neighbours) => neighbours,
            None => browse.neighbours(&list.filter, list.sort, row.number)?,
        };
        let Some(cluster) = browse.cluster(row.number, &wanted)? else { return Ok(None) };
        let mark = browse.mark_of_cluster(store, &cluster.cluster)?;
        let labels = browse.labels_of_cluster(row.number)?;
        let members = members(browse, store, &cluster)?;
        let (map, pair) = match cluster.members.total {
            2 => (None, compared(person, browse, id, &cluster)?),
            _ => (Some(map(person, browse, id, &cluster)?), None),
        };
        let here = list.address(id, &cluster.cluster);
        let separator = if here.contains('?') { '&' } else { '?' };
        let pages = format!("{here}{separator}pivot={}", query.pivot.as_deref().unwrap_or_default());
        let mut paging = Paging::of(query.number, window.rows, cluster.members.total, String::new());
        paging.address = format!("{pages}&part=");
        let address = |row: Option<ClusterRow>| row.map(|row| list.address(id, &row));
        Ok(Some(Detail {
            graph: Graph::of(&cluster, query.threshold * 100),
            paging,
            mark,
            labels,
            members,
            map,
            pair,
            before: address(before),
            after: address(after),
            list: list.list(id),
            asked: form_urlencoded::parse(list.query.as_bytes()).into_owned().collect(),
            here,
            separator,
            threshold: query.threshold,
            pivot: query.pivot.clone().unwrap_or_default(),
            cluster,
            scan: id,
        }))
    }

    pub(super) fn links(&self) -> &[LinkRow] {
        &self.cluster.links[..self.cluster.links.len().min(LINKS)]
    }

    /// The one percentage of the cluster, and what it measures.
    pub(super) fn share(&self) -> (Option<Ratio>, &'static str) {
        super::clusters::share(&self.cluster.cluster)
    }

    /// The page that follows a verdict.
    pub(super) fn next(&self) -> &str {
        self.after.as_deref().unwrap_or(&self.list)
    }

    pub(super) fn with_pivot(&self, digest: &str) -> String {
        let threshold = if self.threshold > 0 { format!("&threshold={}", self.threshold) } else { String::new() };
        format!("{}{}pivot={digest}{threshold}", self.here, self.separator)
    }

    /// The address of the comparison of a member with the pivot.
    pub(super) fn with_member(&self, member: &MemberRow) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("a", &named(&self.cluster.pivot)).append_pair("b", &named(member));
        format!("/scans/{}/explain?{}", self.scan, query.finish())
    }

    /// The documents of a pair: the representative, and the other.
    pub(super) fn two(&self) -> Option<[&Place; 2]> {
        let other = self.cluster.members.rows.iter().find(|member| member.place != self.cluster.pivot.place)?;
        Some([self.cluster.pivot.documents.first()?, other.documents.first()?])
    }

    /// The name of a member in pictures: its first document.
    pub(super) fn name(&self, place: &usize) -> Option<&Place> {
        let of = std::iter::once(&self.cluster.pivot).chain(&self.cluster.members.rows);
        of.filter(|member| member.place == *place).find_map(|member| member.documents.first())
    }

    /// True if a link is weaker than the threshold.
    pub(super) fn is_dropped(&self, link: &LinkRow) -> bool {
        link.resemblance.is_some_and(|resemblance| resemblance.0 < self.threshold * 100)
    }

    pub(super) fn has_estimates(&self) -> bool {
        self.cluster.links.iter().any(|link| link.estimated.is_some())
    }

    /// The precision of estimated links, in words.
    pub(super) fn precision(&self) -> String {
        estimated::many(self.cluster.links.iter().map(|link| link.within_tenth))
    }
}

/// The name of a member, as an address has it: its first document.
fn named(member: &MemberRow) -> String {
    member.documents.first().map(Place::named).unwrap_or_default()
}

/// The members of a page, with their marks: which is the oldest, the newest and the largest of those that are shown.
fn members(browse: &Browse, store: &Store, cluster: &ClusterPage) -> Result<Vec<MemberView>, Error> {
    let rows = &cluster.members.rows;
    let times: Vec<_> = rows.iter().map(|member| member.documents.iter().map(|place| &place.modified).min()).collect();
    let sizes: Vec<_> = rows.iter().map(|member| member.size_bytes).collect();
    let mut views = Vec::new();
    for (place, member) in rows.iter().enumerate() {
        let mut marks = Vec::new();
        for place in &member.documents {
            let at = (place.site.as_str(), place.repository.as_str(), place.bytes.as_slice());
            marks.push(browse.mark_of_document(store, at, (&cluster.cluster.view, &member.digest))?);
        }
        views.push(MemberView {
            is_oldest: is_least(&times, place),
            is_newest: is_greatest(&times, place),
            is_largest: is_greatest(&sizes, place),
            member: member.clone(),
            marks,
        });
    }
    Ok(views)
}

/// True if no value is greater than the one at this place, and not all are equal.
fn is_greatest<T: Ord>(values: &[T], place: usize) -> bool {
    values.iter().max() == values.get(place) && values.iter().min() != values.iter().max()
}

/// The same of the least.
fn is_least<T: Ord>(values: &[T], place: usize) -> bool {
    values.iter().min() == values.get(place) && values.iter().min() != values.iter().max()
}

/// The two documents of a pair side by side.
fn compared(person: &Person, browse: &Browse, id: ScanId, cluster: &ClusterPage) -> Result<Option<Compared>, Error> {
    let report = browse.report();
    let Some(other) = cluster.members.rows.iter().find(|member| member.place != cluster.pivot.place) else {
        return Ok(None);
    };
    let mut both = Vec::new();
    for member in [&cluster.pivot, other] {
        let name = DocumentName::parse(&named(member));
        match name.map(|name| name.find(report)).transpose()?.flatten() {
            Some(found) => both.push(found),
            None => return Ok(None),
        }
    }
    let Ok(both) = <[_; 2]>::try_from(both) else { return Ok(None) };
    let all = pairs(&person.pages.service, &person.operator, id, report, &both)?;
    Ok(all.into_iter().find(|compared| compared.view == cluster.cluster.view))
}

/// The bars of a group's members: the pivot is first on every page of the members.
fn map(person: &Person, browse: &Browse, id: ScanId, cluster: &ClusterPage) -> Result<OverlapMap, Error> {
    let layer = browse.report().views().iter().position(|known| *known == cluster.cluster.view).unwrap_or(0);
    let mut shown: Vec<(usize, [u8; 16])> = Vec::new();
    for member in std::iter::once(&cluster.pivot).chain(&cluster.members.rows) {
        if !shown.iter().any(|(place, _)| *place == member.place) {
            shown.push((member.place, sixteen(&member.digest).unwrap_or_default()));
        }
    }
    OverlapMap::of(&person.pages.services().results, id, layer, &shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equal_members_none_is_the_largest_or_the_oldest() {
        let marked = |values: &[u64]| {
            (0..values.len()).map(|place| (is_least(values, place), is_greatest(values, place))).collect::<Vec<_>>()
        };
        assert_eq!(marked(&[5, 9, 9, 7]), [(true, false), (false, true), (false, true), (false, false)]);
        assert_eq!(marked(&[4, 4]), [(false, false); 2]);
        assert_eq!(marked(&[]), []);
    }
}
