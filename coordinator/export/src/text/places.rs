//! The status of each document from one site to the other, by folder.
//!
//! The table of folders is short and still shows the places of change: it begins with the root alone and opens, again
//! and again, the folder in which most documents differ, until it has enough rows and none covers too much.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::Error;
use crate::recognised;
use cognate_proto::path::printable;
use cognate_result::report::{Alignment, Elsewhere, Fate, FatePartner, Ratio, Report, SiteSection};

/// Two sites next to each other.
pub(super) struct Places {
    names: [String; 2],
    alignment: Alignment,
    /// By folder, as it is called at the first site.
    folders: BTreeMap<String, Sums>,
    changed: Vec<Change>,
    moved: Vec<Change>,
    /// Documents of which the other has nothing, so far as that is decided, or standard text alone.
    alone: [Vec<Change>; 2],
    /// Documents of each that could not be read.
    unread: [u64; 2],
}

/// A document that is not just the same at both.
pub(super) struct Change {
    /// Its number, and that of the document at the same place of the other.
    numbers: (i64, Option<i64>),
    pub(super) path: String,
    /// The mark of recognised text, or nothing.
    pub(super) mark: &'static str,
    pub(super) moved_to: Option<String>,
    /// Whether the other site has something of it.
    elsewhere: Elsewhere,
    pub(super) size_bytes: u64,
    /// Bytes in common; unknown where they are too few for a link.
    pub(super) shared_bytes: Option<u64>,
    /// The share of it that the other has.
    pub(super) share: Option<Ratio>,
    /// The same outside of standard text, if some is part of it.
    pub(super) outside_share: Option<Ratio>,
    /// The reason why it is not decided that the other has nothing of it.
    pub(super) undecided: Option<String>,
}

/// Documents by status. All but `only[1]` are counted at the first site, `standard_text` and `open`, which is not decided, at both.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Sums {
    pub(super) same: u64,
    pub(super) changed: u64,
    pub(super) moved: u64,
    pub(super) standard_text: u64,
    pub(super) open: u64,
    pub(super) only: [u64; 2],
}

impl Sums {
    fn differing(&self) -> u64 {
        self.changed + self.moved + self.standard_text + self.open + self.only[0] + self.only[1]
    }

    fn add(&mut self, other: Sums) {
        self.same += other.same;
        self.changed += other.changed;
        self.moved += other.moved;
        self.standard_text += other.standard_text;
        self.open += other.open;
        self.only[0] += other.only[0];
        self.only[1] += other.only[1];
    }

    /// The number of documents that have nothing at the other site but, perhaps, standard text.
    fn alone(&mut self, elsewhere: Elsewhere, side: usize) -> &mut u64 {
        match elsewhere {
            Elsewhere::StandardText => &mut self.standard_text,
            Elsewhere::NotDecided => &mut self.open,
            Elsewhere::No | Elsewhere::Yes => &mut self.only[side],
        }
    }
}

/// A row of the table.
pub(super) struct PlaceRow {
    pub(super) folder: String,
    pub(super) sums: Sums,
}

impl Places {
    pub(super) fn of(report: &Report, sites: [&SiteSection; 2]) -> crate::Result<Places> {
        let names = sites.map(|site| match site.repository.as_str() {
            "main" => site.site.clone(),
            repository => format!("{}/{repository}", site.site),
        });
        let empty = || [Vec::new(), Vec::new()];
        let mut places = Places {
            names,
            alignment: report.alignment()?,
            folders: BTreeMap::new(),
            changed: Vec::new(),
            moved: Vec::new(),
            alone: empty(),
            unread: sites.map(|site| site.unreadable),
        };
        report.fates::<Error>(|fate| {
            places.take(&fate);
            Ok(())
        })?;
        places.pair_rewritten();
        // Rows in descending order of the bytes that are not in common.
        for list in [&mut places.changed, &mut places.moved] {
            list.sort_by_key(|change| {
                std::cmp::Reverse(change.size_bytes.saturating_sub(change.shared_bytes.unwrap_or(0)))
            });
        }
        places.alone.iter_mut().for_each(|list| list.sort_by_key(|alone| std::cmp::Reverse(alone.size_bytes)));
        Ok(places)
    }

    fn take(&mut self, fate: &Fate<'_>) {
        let change = |moved_to: Option<&[u8]>, shared_bytes: Option<u64>| Change {
            numbers: (fate.id, fate.counterpart),
            path: printable(fate.path).into_owned(),
            mark: recognised::mark(Some(fate.recognised)),
            moved_to: moved_to.map(|path| printable(path).into_owned()),
            elsewhere: fate.elsewhere.unwrap_or(Elsewhere::Yes),
            size_bytes: fate.size_bytes,
            shared_bytes,
            share: fate.partner.and_then(|partner| partner.share),
            outside_share: fate.partner.and_then(|partner| partner.outside_share),
            undecided: fate.undecided.map(str::to_owned),
        };
        let mut sums = Sums::default();
        match fate.elsewhere {
            None => return,
            // A pair is listed once, from the first site.
            Some(Elsewhere::Yes) if fate.site == 1 => return,
            Some(Elsewhere::Yes) => self.take_related(fate.partner, &mut sums, change),
            Some(elsewhere) => {
                *sums.alone(elsewhere, fate.site) = 1;
                self.alone[fate.site].push(change(None, None));
            }
        }
        let path = printable(fate.path);
        let folder = self.folder_of(fate.site, &path);
        // Most documents are in a folder that is known: only the others need a new name.
        match self.folders.get_mut(folder.as_ref()) {
            Some(known) => known.add(sums),
            None => drop(self.folders.insert(folder.into_owned(), sums)),
        }
    }

    /// Takes in a document that has something at the other site. It has no partner if no link of it is reported.
    fn take_related(
        &mut self,
        partner: Option<FatePartner<'_>>,
        sums: &mut Sums,
        change: impl Fn(Option<&[u8]>, Option<u64>) -> Change,
    ) {
        match partner {
            None => sums.moved = 1,
            Some(FatePartner { identical: true, moved_to: None, .. }) => sums.same = 1,
            Some(FatePartner { identical: true, moved_to: Some(_), .. }) => sums.moved = 1,
            Some(FatePartner { shared_bytes, moved_to: None, .. }) => {
                sums.changed = 1;
                self.changed.push(change(None, Some(shared_bytes)));
            }
            Some(FatePartner { shared_bytes, moved_to, .. }) => {
                sums.moved = 1;
                self.moved.push(change(moved_to, Some(shared_bytes)));
            }
        }
    }

    /// The folder of a document as it is called at the first site.
    fn folder_of<'p>(&self, site: usize, path: &'p str) -> Cow<'p, str> {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        if site == 0 || self.alignment.is_empty() {
            return folder.into();
        }
        String::from_utf8_lossy(&self.alignment.opposite(site, folder.as_bytes())).into_owned().into()
    }

    /// A document that both sites have at one place, with too little in common for a link, was rewritten: it is
    /// missing at neither site.
    fn pair_rewritten(&mut self) {
        let numbers =
            self.alone.each_ref().map(|list| list.iter().map(|alone| alone.numbers.0).collect::<HashSet<i64>>());
        for side in 0..2 {
            let is_there = |alone: &Change| alone.numbers.1.is_some_and(|other| numbers[1 - side].contains(&other));
            let (rewritten, rest) =
                std::mem::take(&mut self.alone[side]).into_iter().partition::<Vec<Change>, _>(is_there);
            self.alone[side] = rest;
            for alone in rewritten {
                let folder = self.folder_of(side, &alone.path).into_owned();
                let sums = self.folders.entry(folder).or_default();
                *sums.alone(alone.elsewhere, side) -= 1;
                if side == 0 {
                    sums.changed += 1;
                    self.changed.push(alone);
                }
            }
        }
    }

    pub(super) fn names(&self) -> [&str; 2] {
        [&self.names[0], &self.names[1]]
    }

    pub(super) fn changed(&self) -> &[Change] {
        &self.changed
    }

    pub(super) fn moved(&self) -> &[Change] {
        &self.moved
    }

    /// The documents of a site of which the other has nothing: so far as that is decided or not, or standard text alone.
    pub(super) fn alone(&self, side: usize, elsewhere: Elsewhere) -> impl Iterator<Item = &Change> {
        self.alone[side].iter().filter(move |alone| alone.elsewhere == elsewhere)
    }

    pub(super) fn unread(&self, side: usize) -> u64 {
        self.unread[side]
    }

    /// At most `limit` rows and one for all the rest; together they count every document once.
    pub(super) fn rows(&self, limit: usize) -> Vec<PlaceRow> {
        let mut open = vec![Node::of(String::new(), &self.folders)];
        let all = open[0].sums.differing();
        loop {
            let widest = open
                .iter()
                .enumerate()
                .filter(|(_, node)| node.can_open(&self.folders))
                .max_by_key(|(place, node)| (node.sums.differing(), std::cmp::Reverse(*place)));
            // A folder in which an eighth of everything differs says too little as one row, however many there are.
            let worth_opening = |node: &Node| open.len() < limit || node.sums.differing() > all / 8;
            let Some((place, _)) = widest.filter(|(_, node)| worth_opening(node)) else { break };
            let node = open.remove(place);
            open.extend(node.opened(&self.folders));
        }
        open.sort_by(|a, b| b.sums.differing().cmp(&a.sums.differing()).then_with(|| a.folder.cmp(&b.folder)));
        let shown = open.iter().take(limit).take_while(|node| node.sums.differing() > 0).count();
        let mut rest = Sums::default();
        open[shown..].iter().for_each(|node| rest.add(node.sums));
        open.truncate(shown);
        open.sort_by(|a, b| a.folder.cmp(&b.folder));
        let mut rows: Vec<PlaceRow> = open.iter().map(Node::row).collect();
        if rest != Sums::default() {
            let folder = if rows.is_empty() { "everything" } else { "everything else" }.to_owned();
            rows.push(PlaceRow { folder, sums: rest });
        }
        rows
    }
}

/// A folder with all below it, or only with the documents that are directly in it.
struct Node {
    folder: String,
    direct_only: bool,
    sums: Sums,
}

impl Node {
    fn of(folder: String, folders: &BTreeMap<String, Sums>) -> Node {
        let mut sums = Sums::default();
        below(&folder, folders).for_each(|(_, own)| sums.add(*own));
        Node { folder, direct_only: false, sums }
    }

    fn can_open(&self, folders: &BTreeMap<String, Sums>) -> bool {
        !self.direct_only
            && self.sums.differing() > 0
            && below(&self.folder, folders).any(|(name, _)| *name != self.folder)
    }

    /// The folder's own documents, and each of its folders.
    fn opened(self, folders: &BTreeMap<String, Sums>) -> Vec<Node> {
        let prefix = if self.folder.is_empty() { 0 } else { self.folder.len() + 1 };
        let mut nodes: Vec<Node> = Vec::new();
        // Adjacent names are not enough: `b-c` sorts between `b` and `b/x`.
        let mut children = BTreeSet::new();
        for (name, own) in below(&self.folder, folders) {
            if *name == self.folder {
                nodes.push(Node { folder: self.folder.clone(), direct_only: true, sums: *own });
            } else if let Some(child) = name[prefix..].split('/').next() {
                children.insert(format!("{}{child}", &name[..prefix]));
            }
        }
        nodes.extend(children.into_iter().map(|child| Node::of(child, folders)));
        nodes
    }

    fn row(&self) -> PlaceRow {
        let name = printable(self.folder.as_bytes());
        let folder = match (self.direct_only, self.folder.is_empty()) {
            (true, true) => "(in the root itself)".to_owned(),
            (true, false) => format!("{name}/ (in it directly)"),
            (false, true) => "(all)".to_owned(),
            (false, false) => format!("{name}/"),
        };
        PlaceRow { folder, sums: self.sums }
    }
}

/// A folder and all folders below it.
fn below<'a>(
    folder: &'a str,
    folders: &'a BTreeMap<String, Sums>,
) -> Box<dyn Iterator<Item = (&'a String, &'a Sums)> + 'a> {
    if folder.is_empty() {
        return Box::new(folders.iter());
    }
    let own = folders.get_key_value(folder).into_iter();
    // `/` is followed by `0` among bytes: this is every name that begins with `folder/`.
    let inner = folders.range(format!("{folder}/")..format!("{folder}0"));
    Box::new(own.chain(inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(folders: &[(&str, u64, u64)], limit: usize, rows: &[(&str, u64, u64)]) {
        let sums = |same, changed| Sums { same, changed, ..Sums::default() };
        let folders = folders.iter().map(|(name, same, changed)| ((*name).to_owned(), sums(*same, *changed))).collect();
        let empty = || [Vec::new(), Vec::new()];
        let (names, alignment) = (["a".into(), "b".into()], Alignment::default());
        let places =
            Places { names, alignment, folders, changed: vec![], moved: vec![], alone: empty(), unread: [0; 2] };
        let shown: Vec<_> =
            places.rows(limit).into_iter().map(|row| (row.folder, row.sums.same, row.sums.changed)).collect();
        let rows: Vec<_> = rows.iter().map(|(name, same, changed)| ((*name).to_owned(), *same, *changed)).collect();
        assert_eq!(shown, rows);
    }

    #[test]
    fn folders_are_opened_where_most_documents_differ() {
        let folders = [("", 1, 0), ("a", 5, 0), ("b", 2, 1), ("b/x", 0, 9), ("b/y", 4, 0), ("b-c", 1, 1)];
        check(&folders, 1, &[("b/x/", 0, 9), ("everything else", 13, 2)]);
        let four = [("b/ (in it directly)", 2, 1), ("b-c/", 1, 1), ("b/x/", 0, 9), ("everything else", 10, 0)];
        check(&folders, 4, &four);
        check(&folders, 6, &four);
    }

    #[test]
    fn equal_trees_are_one_row() {
        check(&[("", 1, 0), ("a", 5, 0)], 9, &[("everything", 6, 0)]);
    }
}
