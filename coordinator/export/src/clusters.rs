//! The list of clusters as columns. A column is one entry of [`COLUMNS`]; CSV, workbook and page take theirs from there.

use std::collections::HashMap;

use cognate_result::report::{ClusterDocument, ClusterSection, IdenticalSet, Located, Ratio};

use crate::grid::Kind::{Bytes, Count, Share, Text, Time};
use crate::grid::{Cell, Column, Kind};
use crate::human::{bytes, count};
use crate::recognised::mark;
use crate::representative::{RepresentativeLink, copies_bytes, linked_with_representative, name};

/// The exports that have the list.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Export {
    /// A row for each member, with the facts of its cluster.
    Csv,
    /// A row for the cluster, and one below it for each member.
    Sheet,
    /// The same as in a workbook.
    Page,
}

/// A cluster, and what its rows are made of.
pub(crate) struct Cluster<'a> {
    section: &'a ClusterSection,
    /// Its number in the list, from 1.
    number: u64,
    links: HashMap<usize, RepresentativeLink<'a>>,
}

impl<'a> Cluster<'a> {
    pub(crate) fn new(number: u64, section: &'a ClusterSection) -> Cluster<'a> {
        Cluster { section, number, links: linked_with_representative(section) }
    }

    /// The member at a place, below the number of documents.
    pub(crate) fn member(&self, place: usize) -> Member<'_> {
        Member {
            cluster: self,
            document: &self.section.documents[place],
            link: self.links.get(&place),
            is_representative: place == self.section.representative,
        }
    }

    fn view(&self) -> Option<&str> {
        self.section.view.as_deref()
    }

    /// The path of the representative, with the bytes that further copies take.
    fn path(&self) -> String {
        let path = &self.section.documents[self.section.representative].path;
        match copies_bytes(self.section) {
            0 => path.clone(),
            copies => format!("{path}; {} more in copies", bytes(copies)),
        }
    }
}

/// A member of a cluster.
pub(crate) struct Member<'a> {
    cluster: &'a Cluster<'a>,
    document: &'a ClusterDocument,
    link: Option<&'a RepresentativeLink<'a>>,
    is_representative: bool,
}

impl Member<'_> {
    /// A share in the relation to the representative, which is all of itself. Without a link it is unknown.
    fn share(&self, of: fn(&RepresentativeLink<'_>) -> Option<Ratio>) -> Cell {
        if self.is_representative { Cell::from(1) } else { self.linked(of) }
    }

    fn linked(&self, of: fn(&RepresentativeLink<'_>) -> Option<Ratio>) -> Cell {
        Cell::share(self.link.and_then(of))
    }

    fn role(&self) -> Option<&str> {
        if self.is_representative { Some("representative") } else { self.link.map(|link| link.relation) }
    }

    fn place(&self) -> String {
        let ClusterDocument { site, repository, path, copies, recognised, .. } = self.document;
        let mark = mark(*recognised);
        let copies = if *copies > 1 { format!(" (× {})", count(*copies)) } else { String::new() };
        format!("{site}/{repository}: {path}{mark}{copies}")
    }
}

/// The source of a column's cells.
#[derive(Clone, Copy)]
enum Read {
    /// A fact of the cluster. CSV repeats it for each member.
    Cluster(fn(&Cluster<'_>) -> Cell),
    /// A fact of the member; the row of the cluster has none.
    Member(fn(&Member<'_>) -> Cell),
    /// One for the row of the cluster, another for the rows of members. CSV has the latter.
    Both(fn(&Cluster<'_>) -> Cell, fn(&Member<'_>) -> Cell),
}

/// The place and the title of a column in an export.
#[derive(Clone, Copy)]
struct Head {
    /// Columns are in the order of these, then in the order of entries.
    place: u8,
    title: &'static str,
}

/// A column of the list.
struct Entry {
    key: &'static str,
    kind: Kind,
    width: u8,
    heads: [Option<Head>; 3],
    read: Read,
    /// The cell for a document of an identical set, whose rows share the CSV with the clusters.
    set: fn(&IdenticalSet, &Located) -> Cell,
}

/// A column, in the exports that are named after it. `width` is that in a workbook, in characters.
const fn placed(key: &'static str, kind: Kind, width: u8, read: Read) -> Entry {
    Entry { key, kind, width, heads: [None; 3], read, set: |_, _| Cell::None }
}

impl Entry {
    const fn csv(mut self, place: u8) -> Entry {
        self.heads[Export::Csv as usize] = Some(Head { place, title: "" });
        self
    }

    const fn sheet(mut self, place: u8, title: &'static str) -> Entry {
        self.heads[Export::Sheet as usize] = Some(Head { place, title });
        self
    }

    const fn page(mut self, place: u8, title: &'static str) -> Entry {
        self.heads[Export::Page as usize] = Some(Head { place, title });
        self
    }

    const fn set(mut self, set: fn(&IdenticalSet, &Located) -> Cell) -> Entry {
        self.set = set;
        self
    }
}

use Read::{Both, Cluster as OfCluster, Member as OfMember};

/// All columns, with their places in each export. A new one takes the next place of each.
static COLUMNS: &[Entry] = &[
    placed("number", Text, 11, Both(|c| c.number.into(), |m| m.cluster.number.into())).sheet(1, "Cluster #"),
    placed("kind", Text, 0, OfCluster(|_| "cluster".into())).csv(1).set(|_, _| "identical".into()),
    placed("id", Text, 0, OfCluster(|c| c.section.id.as_str().into())).csv(2).set(|s, _| s.id.as_str().into()),
    placed("relation", Text, 0, OfCluster(|c| c.section.relation.as_str().into())).csv(3).set(|s, _| s.tier.into()),
    placed("type", Text, 13, Both(|c| c.section.relation.as_str().into(), |m| m.role().into())).sheet(5, "Type"),
    placed(
        "type_and_view",
        Text,
        12,
        Both(
            |c| {
                let view = c.view().map(|view| format!(" ({view})")).unwrap_or_default();
                format!("{}{view}", c.section.relation).into()
            },
            |m| m.role().into(),
        ),
    )
    .page(1, "Type"),
    placed("site", Text, 12, OfMember(|m| m.document.site.as_str().into()))
        .csv(4)
        .sheet(10, "Site")
        .set(|_, d| d.site.as_str().into()),
    placed("repository", Text, 12, OfMember(|m| m.document.repository.as_str().into()))
        .csv(5)
        .sheet(11, "Repository")
        .set(|_, d| d.repository.as_str().into()),
    placed("name", Text, 34, OfMember(|m| name(&m.document.path).into())).sheet(8, "Filename"),
    placed("path", Text, 50, OfMember(|m| m.document.path.as_str().into()))
        .csv(6)
        .sheet(9, "Path")
        .set(|_, d| d.path.as_str().into()),
    placed("document", Text, 60, Both(|c| c.path().into(), |m| m.place().into())).page(2, "Document"),
    placed("path_escaped", Text, 0, OfMember(|m| Cell::yes(m.document.path_escaped.is_some())))
        .csv(7)
        .set(|_, d| Cell::yes(d.path_escaped.is_some())),
    placed("size_bytes", Bytes, 12, OfMember(|m| m.document.size_bytes.into()))
        .csv(8)
        .sheet(7, "File size")
        .set(|s, d| d.size_bytes.or(s.size_bytes).into()),
    placed("size", Bytes, 12, Both(|c| c.section.total_bytes.into(), |m| m.document.size_bytes.into())).page(4, "Size"),
    placed("payload_bytes", Bytes, 0, OfMember(|m| m.document.payload_bytes.into())).csv(9),
    placed("modified", Time, 19, OfMember(|m| m.document.modified.as_str().into()))
        .csv(10)
        .sheet(15, "Modified")
        .page(10, "Modified")
        .set(|_, d| d.modified.as_str().into()),
    placed(
        "copies",
        Count,
        8,
        Both(
            |c| c.section.documents.iter().map(|member| member.copies).sum::<u64>().into(),
            |m| m.document.copies.into(),
        ),
    )
    .csv(11)
    .sheet(16, "Copies")
    .set(|s, _| copies(s).into()),
    placed("identical", Text, 34, Both(|c| c.section.id.as_str().into(), |m| m.document.identical.as_deref().into()))
        .csv(12)
        .sheet(19, "Cluster id, or identical set")
        .set(|s, _| s.id.as_str().into()),
    placed("representative", Text, 0, OfMember(|m| Cell::yes(m.is_representative))).csv(13),
    placed("resemblance", Share, 0, OfMember(|m| m.share(|link| link.resemblance))).csv(14).set(|_, _| 1.into()),
    placed("similar", Share, 10, Both(|c| Cell::share(c.section.mean_resemblance), |m| m.linked(|l| l.resemblance)))
        .sheet(6, "% Similar")
        .page(7, "Similar"),
    placed("in_representative", Share, 0, OfMember(|m| m.share(|link| link.within))).csv(15).set(|_, _| 1.into()),
    placed("within", Share, 11, OfMember(|m| m.linked(|link| link.within)))
        .sheet(12, "% in repre-sentative")
        .page(8, "Contained"),
    placed("view", Text, 7, OfCluster(|c| c.view().into()))
        .csv(16)
        .sheet(18, "View")
        .set(|s, _| s.view.as_deref().into()),
    placed("message_id_hash", Text, 0, OfMember(|m| m.document.message_id_hash.as_deref().into()))
        .csv(17)
        .set(|_, d| d.message_id_hash.as_deref().into()),
    placed("estimated", Text, 0, OfMember(|m| Cell::yes(m.link.is_some_and(|link| link.estimated)))).csv(18),
    placed("representative_in", Share, 0, OfMember(|m| m.share(|link| link.holds))).csv(19).set(|_, _| 1.into()),
    placed("holds", Share, 11, OfMember(|m| m.linked(|link| link.holds))).sheet(13, "% of repre-sentative"),
    placed("shared_bytes", Bytes, 0, OfMember(|m| m.link.map(|link| link.shared_bytes).into()))
        .csv(20)
        .set(|s, d| d.size_bytes.or(s.size_bytes).into()),
    placed(
        "in_common",
        Bytes,
        12,
        Both(|c| c.section.joined_bytes.into(), |m| m.link.map(|link| link.shared_bytes).into()),
    )
    .sheet(14, "In common")
    .page(3, "In common"),
    placed("joined_bytes", Bytes, 0, OfCluster(|c| c.section.joined_bytes.into())).csv(32),
    placed("relation_to_representative", Text, 0, OfMember(|m| m.link.map(|link| link.relation).into()))
        .csv(21)
        .set(|_, _| "identical".into()),
    placed("sites", Text, 0, OfMember(|m| m.document.sites.join(" ").into())).csv(22).set(|s, _| set_sites(s).into()),
    placed("all_sites", Text, 20, Both(|c| c.section.sites.join(", ").into(), |m| m.document.sites.join(", ").into()))
        .sheet(17, "All sites")
        .page(9, "Sites"),
    placed("members", Count, 8, OfCluster(|c| (c.section.documents.len() as u64).into()))
        .csv(23)
        .sheet(3, "# Files")
        .page(5, "Files")
        .set(|s, _| copies(s).into()),
    placed("links", Count, 8, OfCluster(|c| c.section.link_count.into())).csv(24).sheet(4, "Links").page(6, "Links"),
    placed("total_bytes", Bytes, 12, OfCluster(|c| c.section.total_bytes.into()))
        .csv(25)
        .sheet(2, "Total size")
        .set(|s, _| s.size_bytes.into()),
    placed("redundant_bytes", Bytes, 0, OfCluster(|c| (copies_bytes(c.section) + c.section.joined_bytes).into()))
        .csv(26)
        .set(|s, _| s.size_bytes.map(|size| size * (copies(s) - 1)).into()),
    placed("min_resemblance", Share, 0, OfCluster(|c| Cell::share(c.section.min_resemblance))).csv(27),
    placed("mean_resemblance", Share, 0, OfCluster(|c| Cell::share(c.section.mean_resemblance))).csv(28),
    placed("members_digest", Text, 0, OfCluster(|c| c.section.members_digest.as_str().into())).csv(29),
    placed("verdict", Text, 14, OfCluster(|c| c.section.verdict.as_ref().map(|verdict| verdict.verdict).into()))
        .csv(30)
        .sheet(22, "Verdict")
        .set(|s, _| s.verdict.as_ref().map(|verdict| verdict.verdict).into()),
    placed("recognised", Text, 16, OfMember(|m| Cell::yes(m.document.recognised.is_some())))
        .csv(33)
        .sheet(20, "Recognised text")
        .set(|_, d| Cell::yes(d.recognised.is_some())),
    placed("rests_on_frame", Text, 0, OfCluster(|c| Cell::yes(c.section.rests_on_frame.is_some()))).csv(34),
    placed("frame", Text, 9, OfCluster(|c| c.section.rests_on_frame.map(|_| "rests on a frame").into()))
        .sheet(21, "Frame")
        .page(11, "Frame"),
    placed("outside_bytes", Bytes, 0, OfMember(|m| m.link.and_then(|link| link.outside_bytes).into())).csv(35),
    placed(
        "verdict_changed",
        Text,
        0,
        OfCluster(|c| c.section.verdict.as_ref().and_then(|verdict| verdict.changed.as_deref()).into()),
    )
    .csv(31)
    .set(|s, _| s.verdict.as_ref().and_then(|verdict| verdict.changed.as_deref()).into()),
    placed("tags", Text, 20, OfCluster(|c| c.section.tags.join(", ").into())).csv(36).sheet(23, "Tags"),
    placed("assignee", Text, 16, OfCluster(|c| c.section.assignee.as_str().into())).csv(37).sheet(24, "Assignee"),
    placed("review", Text, 16, Both(|c| review(c.section).into(), |_| Cell::None)).page(12, "Review"),
];

/// What people said of a cluster, in words: its verdict, its tags, and the person who is to look at it.
pub(crate) fn review(cluster: &ClusterSection) -> String {
    let mut words = Vec::new();
    if let Some(verdict) = &cluster.verdict {
        let changed = if verdict.changed.is_some() { " (changed since)" } else { "" };
        words.push(format!("{}{changed}", verdict.verdict));
    }
    if !cluster.tags.is_empty() {
        words.push(cluster.tags.join(", "));
    }
    if !cluster.assignee.is_empty() {
        words.push(format!("for {}", cluster.assignee));
    }
    words.join("; ")
}

fn copies(set: &IdenticalSet) -> u64 {
    set.documents.len() as u64
}

fn set_sites(set: &IdenticalSet) -> String {
    let mut sites: Vec<&str> = set.documents.iter().map(|document| document.site.as_str()).collect();
    sites.dedup();
    sites.join(" ")
}

/// The columns of one export.
pub(crate) struct Layout {
    entries: Vec<&'static Entry>,
    /// The columns, in order.
    pub(crate) columns: Vec<Column>,
}

impl Layout {
    pub(crate) fn of(export: Export) -> Layout {
        Layout::among(COLUMNS, export)
    }

    fn among(entries: &'static [Entry], export: Export) -> Layout {
        let head = |entry: &Entry| entry.heads[export as usize];
        let mut entries: Vec<&Entry> = entries.iter().filter(|entry| head(entry).is_some()).collect();
        entries.sort_by_key(|entry| head(entry).map(|head| head.place));
        let column = |entry: &&Entry| {
            let title = head(entry).map(|head| head.title).filter(|title| !title.is_empty());
            Column { key: entry.key, title, kind: entry.kind, width: entry.width }
        };
        Layout { columns: entries.iter().map(column).collect(), entries }
    }

    /// The row of a cluster, above its members.
    pub(crate) fn cluster(&self, cluster: &Cluster<'_>) -> Vec<Cell> {
        let cell = |entry: &&Entry| match entry.read {
            OfCluster(read) | Both(read, _) => read(cluster),
            OfMember(_) => Cell::None,
        };
        self.entries.iter().map(cell).collect()
    }

    /// The row of a member below the row of its cluster.
    pub(crate) fn member(&self, member: &Member<'_>) -> Vec<Cell> {
        let cell = |entry: &&Entry| match entry.read {
            OfMember(read) | Both(_, read) => read(member),
            OfCluster(_) => Cell::None,
        };
        self.entries.iter().map(cell).collect()
    }

    /// The row of a member, with the facts of its cluster.
    pub(crate) fn flat(&self, member: &Member<'_>) -> Vec<Cell> {
        let cell = |entry: &&Entry| match entry.read {
            OfMember(read) | Both(_, read) => read(member),
            OfCluster(read) => read(member.cluster),
        };
        self.entries.iter().map(cell).collect()
    }

    /// The row of a document of an identical set.
    pub(crate) fn set(&self, set: &IdenticalSet, document: &Located) -> Vec<Cell> {
        self.entries.iter().map(|entry| (entry.set)(set, document)).collect()
    }
}

#[cfg(test)]
mod tests {
    use cognate_result::report::Ratio;

    use super::*;

    const EXPORTS: [Export; 3] = [Export::Csv, Export::Sheet, Export::Page];

    #[test]
    fn a_column_is_one_entry_at_its_place_in_every_export() {
        static ENTRIES: [Entry; 3] = [
            placed("new", Count, 8, OfMember(|member| member.document.copies.into()))
                .csv(2)
                .sheet(2, "New")
                .page(2, "New"),
            placed("old", Text, 8, OfCluster(|_| "x".into())).csv(1).sheet(1, "Old").page(1, "Old"),
            placed("newer", Text, 8, OfCluster(|_| "y".into())).csv(3).sheet(3, "Newer").page(3, "Newer"),
        ];
        for export in EXPORTS {
            let keys: Vec<&str> = Layout::among(&ENTRIES, export).columns.iter().map(|column| column.key).collect();
            assert_eq!(keys, ["old", "new", "newer"]);
        }
    }

    /// A cluster with every field that may be absent.
    fn cluster() -> ClusterSection {
        ClusterSection {
            assignee: "anna".to_owned(),
            documents: Vec::new(),
            families: Vec::new(),
            frame_links: Some(1),
            id: "c".to_owned(),
            joined_bytes: 1,
            link_count: 1,
            links: Vec::new(),
            links_omitted: 0,
            mean_resemblance: Ratio(1),
            members_digest: "d".to_owned(),
            min_resemblance: Ratio(1),
            relation: "pair".to_owned(),
            representative: 0,
            rests_on_frame: Some(true),
            sites: Vec::new(),
            tags: vec!["hot".to_owned()],
            total_bytes: 1,
            verdict: None,
            view: Some("text".to_owned()),
        }
    }

    #[test]
    fn every_field_of_a_cluster_is_a_column_or_an_exception() {
        /// Lists that have rows of their own, counts of what is left out of them, and the reason of `rests_on_frame`.
        const EXCEPTIONS: [&str; 5] = ["documents", "families", "links_omitted", "link_count", "frame_links"];
        let fields = serde_json::to_value(cluster()).unwrap();
        for field in fields.as_object().unwrap().keys() {
            let is_column = COLUMNS.iter().any(|entry| entry.key == field.as_str());
            assert!(is_column != EXCEPTIONS.contains(&field.as_str()), "{field}");
        }
    }

    #[test]
    fn the_fields_of_a_cluster_are_in_the_order_of_their_names_since_the_digest_rests_on_it() {
        let written = serde_json::to_string(&cluster()).unwrap();
        let fields = serde_json::to_value(cluster()).unwrap();
        let mut names: Vec<&String> = fields.as_object().unwrap().keys().collect();
        names.sort_unstable();
        let places: Vec<usize> = names.iter().map(|name| written.find(&format!("\"{name}\":")).unwrap()).collect();
        assert!(places.is_sorted(), "{written}");
    }

    #[test]
    fn the_columns_of_an_export_have_one_name_and_one_place_each() {
        for (export, count) in EXPORTS.into_iter().zip([37, 24, 12]) {
            let layout = Layout::of(export);
            let mut keys: Vec<&str> = layout.columns.iter().map(|column| column.key).collect();
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(keys.len(), layout.columns.len());
            let places = layout.entries.iter().filter_map(|entry| entry.heads[export as usize]).map(|head| head.place);
            assert_eq!(places.collect::<Vec<u8>>(), (1..=count).collect::<Vec<u8>>());
        }
    }
}
