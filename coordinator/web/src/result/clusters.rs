//! The left half of the workspace: the list of clusters, filtered, sorted and in pages, one row a pair or group.

use cognate_proto::name::ScanId;

use super::Paging;
use crate::{Again, Fields};
use cognate_result::browse::{Browse, ClusterFilter, ClusterRow, Sort, VerdictWanted, Window};
use cognate_result::marks::{LabelsInUse, Mark};
use cognate_server::Error;
use cognate_storage::store::Store;
use cognate_storage::verdict::{Labels, SavedFilter};

/// The orders that the form offers: the column, and its name for people.
const ORDERS: [(&str, &str); 14] = [
    ("joined", "most bytes in common first"),
    ("size", "largest first"),
    ("containment", "most contained first"),
    ("mean", "most alike first"),
    ("-mean", "least alike first"),
    ("redundant", "most redundant bytes first"),
    ("shared", "strongest link first"),
    ("members", "most members first"),
    ("documents", "most documents first"),
    ("last", "modified last first"),
    ("-first", "modified first first"),
    ("sites", "most sites first"),
    ("path", "by path"),
    ("id", "by id"),
];

/// The filter and the order of a list, and both as a query again.
#[derive(Clone)]
pub(super) struct ListQuery {
    pub(super) filter: ClusterFilter,
    pub(super) sort: Sort,
    pub(super) query: String,
    /// The page, from 1.
    pub(super) number: u64,
}

impl ListQuery {
    /// Reads an address.
    ///
    /// # Errors
    /// Fails if a field of the filter, or the order, is invalid.
    pub(super) fn of(raw: Option<&str>, fields: &Fields, number: u64) -> Result<ListQuery, Error> {
        let filter: ClusterFilter = raw.unwrap_or_default().parse()?;
        let sort: Sort = fields.text("sort").map_or(Ok(Sort::default()), str::parse)?;
        let mut query = filter.to_query();
        if sort != Sort::default() {
            query.push_str(if query.is_empty() { "" } else { "&" });
            query.push_str(&format!("sort={sort}"));
        }
        Ok(ListQuery { filter, sort, query, number })
    }

    /// The address of the list, without its page.
    pub(super) fn list(&self, id: ScanId) -> String {
        let address = format!("/scans/{id}/clusters");
        if self.query.is_empty() { address } else { format!("{address}?{}", self.query) }
    }

    /// The address of a cluster next to this list.
    pub(super) fn address(&self, id: ScanId, row: &ClusterRow) -> String {
        let mut address = format!("/scans/{id}/clusters/{}/{}", row.view, row.id);
        let mut separator = '?';
        if !self.query.is_empty() {
            address.push(separator);
            address.push_str(&self.query);
            separator = '&';
        }
        if self.number > 1 {
            address.push_str(&format!("{separator}page={}", self.number));
        }
        address
    }
}

/// A row of the list.
pub(super) struct ListRow {
    pub(super) row: ClusterRow,
    pub(super) mark: Option<Mark>,
    pub(super) labels: Labels,
    pub(super) address: String,
}

impl ListRow {
    /// The one percentage of a row, and what it measures.
    pub(super) fn share(&self) -> (Option<cognate_result::report::Ratio>, &'static str) {
        share(&self.row)
    }

    /// Documents that the row does not name.
    pub(super) fn more(&self) -> u64 {
        self.row.documents.saturating_sub(1 + u64::from(self.row.second_path.is_some()))
    }
}

/// The one percentage of a cluster: how alike its documents are, or for a document within a much larger one, how much of it
/// is there.
pub(super) fn share(row: &ClusterRow) -> (Option<cognate_result::report::Ratio>, &'static str) {
    /// From this share on, one document is in the other.
    const INSIDE: i64 = 8000;
    /// A resemblance below this would hide that.
    const UNLIKE: i64 = 5000;
    let is_inside = row.relation != "group"
        && row.max_containment.is_some_and(|contained| contained.0 >= INSIDE)
        && row.mean_resemblance.0 < UNLIKE;
    if is_inside { (row.max_containment, "inside") } else { (Some(row.mean_resemblance), "alike") }
}

/// The list, as the workspace shows it.
pub(super) struct ListPane {
    pub(super) rows: Vec<ListRow>,
    pub(super) paging: Paging,
    pub(super) sites: Vec<String>,
    pub(super) has_views: bool,
    /// The tags and the people of clusters, which forms suggest.
    pub(super) in_use: LabelsInUse,
    pub(super) fields: Fields,
    pub(super) asked: ListQuery,
    /// The address of this page of the list.
    pub(super) here: String,
    /// Where the list goes on after its last row; empty: nowhere.
    pub(super) onward: String,
    pub(super) saved: Vec<SavedFilter>,
    /// The forms that filter and save the filter, if something was wrong with one.
    pub(super) form: Again,
    pub(super) saving: Again,
}

/// The rows of a page of the list, and how many there are on all pages.
pub(super) struct Rows {
    pub(super) rows: Vec<ListRow>,
    pub(super) total: u64,
    pub(super) sites: Vec<String>,
    pub(super) has_views: bool,
    pub(super) in_use: LabelsInUse,
}

/// The clusters before and after one in its list.
pub(super) type Neighbours = (Option<ClusterRow>, Option<ClusterRow>);

impl Rows {
    /// The neighbours of a cluster, if this page of the list has them: looking for them takes longer than the page itself.
    pub(super) fn neighbours(&self, number: i64, page: u64) -> Option<Neighbours> {
        let place = self.rows.iter().position(|row| row.row.number == number)?;
        let before = place.checked_sub(1).map(|place| self.rows[place].row.clone());
        let after = self.rows.get(place + 1).map(|row| row.row.clone());
        let rows_before = (page - 1).saturating_mul(Window::default().rows) + place as u64;
        let is_first = rows_before == 0;
        let is_last = rows_before + 1 == self.total;
        ((before.is_some() || is_first) && (after.is_some() || is_last)).then_some((before, after))
    }
}

/// The page of the list that is asked for.
pub(super) fn rows(browse: &Browse, store: &Store, id: ScanId, asked: &ListQuery) -> Result<Rows, Error> {
    let window = Window { page: asked.number - 1, ..Window::default() };
    let page = browse.clusters(&asked.filter, asked.sort, window)?;
    let mut rows = Vec::new();
    for row in page.rows {
        let mark = browse.mark_of_cluster(store, &row)?;
        let labels = browse.labels_of_cluster(row.number)?;
        rows.push(ListRow { address: asked.address(id, &row), row, mark, labels });
    }
    let has_views = browse.report().views().len() > 1;
    let in_use = browse.labels_in_use()?;
    Ok(Rows { rows, total: page.total, sites: browse.sites().to_vec(), has_views, in_use })
}

impl ListPane {
    pub(super) fn of(id: ScanId, found: Rows, asked: ListQuery, fields: Fields, saved: Vec<SavedFilter>) -> ListPane {
        let list = asked.list(id);
        let paging = Paging::of(asked.number, Window::default().rows, found.total, list.clone());
        let here = if asked.number > 1 { format!("{}{}", paging.address, asked.number) } else { list.clone() };
        // What is decided leaves a list of open clusters: the next ones are on its first page then.
        let empties = matches!(asked.filter.verdict, Some(VerdictWanted::Open | VerdictWanted::None));
        let onward = match (empties, asked.number < paging.pages) {
            (true, _) if paging.total > 0 => list,
            (false, true) => format!("{}{}", paging.address, asked.number + 1),
            _ => String::new(),
        };
        let Rows { rows, sites, has_views, in_use, .. } = found;
        ListPane {
            rows,
            paging,
            sites,
            has_views,
            in_use,
            fields,
            asked,
            here,
            onward,
            saved,
            form: Again::default(),
            saving: Again::default(),
        }
    }

    /// The value of a field of the filter.
    pub(super) fn value(&self, name: &str) -> &str {
        self.fields.text(name).unwrap_or_default()
    }

    /// The part of the filter to which an export can be limited, as a query; empty: none.
    pub(super) fn choice(&self) -> String {
        let ClusterFilter { verdict, tags, assignee, .. } = self.asked.filter.clone();
        ClusterFilter { verdict, tags, assignee, ..ClusterFilter::default() }.to_query()
    }

    /// The tags of the filter, and an empty one for another.
    pub(super) fn tags(&self) -> impl Iterator<Item = &str> {
        self.asked.filter.tags.iter().map(String::as_str).chain([""])
    }

    pub(super) fn has_site(&self, site: &str) -> bool {
        self.asked.filter.sites.iter().any(|known| known == site)
    }

    /// Number of fields of the folded part that the filter uses.
    pub(super) fn folded(&self) -> usize {
        let folded = [
            "site",
            "across",
            "relation",
            "tag",
            "assignee",
            "view",
            "frame",
            "least",
            "least_max",
            "mean",
            "mean_max",
            "contains",
            "size",
            "size_max",
            "members",
            "members_max",
            "from",
            "to",
            "since",
        ];
        folded.iter().filter(|name| self.fields.is_set(name)).count()
    }

    /// The orders that are offered, and the present one if it is another.
    pub(super) fn orders(&self) -> Vec<(String, String)> {
        let mut orders: Vec<_> = ORDERS.iter().map(|(name, label)| ((*name).to_owned(), (*label).to_owned())).collect();
        let present = self.asked.sort.to_string();
        if orders.iter().all(|(name, _)| *name != present) {
            orders.push((present.clone(), format!("by {present}")));
        }
        orders
    }

    pub(super) fn is_order(&self, name: &str) -> bool {
        self.asked.sort.to_string() == name
    }

    /// The name of the filter that is shown, if it has one.
    pub(super) fn saved_here(&self) -> Option<&SavedFilter> {
        self.saved.iter().find(|filter| filter.query == self.asked.query)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cognate_result::browse::Cluster;
    use cognate_result::report::Ratio;

    #[test]
    fn a_document_within_a_larger_one_is_inside_and_all_others_are_alike() {
        let row = |relation: &str, resemblance, containment| {
            ClusterRow::of(Cluster {
                relation: relation.to_owned().into(),
                mean_resemblance: Ratio(resemblance),
                max_containment: Some(Ratio(containment)),
                ..Cluster::default()
            })
        };
        for (relation, resemblance, containment, expected) in [
            ("pair", 9000, 9500, (9000, "alike")),
            ("pair", 300, 9800, (9800, "inside")),
            ("archive", 300, 9800, (9800, "inside")),
            ("pair", 300, 1200, (300, "alike")),
            ("group", 300, 9800, (300, "alike")),
        ] {
            let (found, word) = share(&row(relation, resemblance, containment));
            assert_eq!((found.unwrap().0, word), expected, "{relation} {resemblance} {containment}");
        }
    }
}
