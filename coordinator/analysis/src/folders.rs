//! Folders: where the other side keeps what a folder holds.
//!
//! Every document is given one partner in another repository: a copy of the same bytes, or else the content it shares
//! most with; among several, the one whose path is most like its own from the end. The folders of the two are a pair; pairs
//! whose folders have the same name are merged into their parents, so that a tree that was moved complete is listed
//! once, by the highest pair that explains where its documents went.

use std::cmp::Reverse;

use cognate_similarity::{ContentIndex, Link, Relation};
use foldhash::{HashMap, HashMapExt};

use crate::alignment::{Alignment, common_end, counterparts, is_one_name};
use crate::fine::OutsideLink;
use crate::link_figures::{LinkFigures, reversed};
use crate::ratio::Fraction;
use crate::subject::Subject;

/// Of more copies than this, the one at the same place is looked for before all of them are weighed.
const COPIES_FEW: usize = if cfg!(test) { 2 } else { 8 };
/// Of more copies than this, the one whose path is most alike is not looked for.
const COPIES_WEIGHED_MAX: usize = 256;

/// For each document its partner, if it has one.
pub(crate) struct Partners {
    partners: Vec<Option<Partner>>,
    /// For each document, true if it shares standard text with one elsewhere.
    standard_text: Vec<bool>,
}

/// The document at another place that a document is best compared with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Partner {
    /// Its place among the frozen documents.
    pub(crate) document: u32,
    /// The bytes that both have.
    pub(crate) shared_bytes: u64,
    /// Relation of the document to its partner; `None`: they are the same bytes.
    pub(crate) relation: Option<Relation>,
    /// The share of the document outside of frames that its partner has; `None`: no frame is part of their link.
    pub(crate) outside: Option<Fraction>,
}

/// Two folders that hold documents of each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FolderPair {
    pub(crate) roots: [u16; 2],
    pub(crate) paths: [Vec<u8>; 2],
    pub(crate) relation: FolderRelation,
    /// Documents of each with a partner in the other.
    pub(crate) documents: [u64; 2],
    /// Bytes of them that the partner has.
    pub(crate) shared_bytes: [u64; 2],
    /// All documents below each of the two.
    pub(crate) documents_total: [u64; 2],
    pub(crate) size_bytes: [u64; 2],
}

/// Relation of the first folder of a pair to the second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FolderRelation {
    /// The same documents under the same names, on both sides.
    Identical,
    /// Every document of the second has a copy in the first.
    Contains,
    /// Every document of the first has a copy in the second.
    Contained,
    /// Some have, or are alike.
    Overlaps,
}

impl Partners {
    /// The partner of a document.
    pub(crate) fn of_document(&self, place: usize) -> Option<Partner> {
        self.partners[place]
    }

    /// True if a document has no partner, and shares standard text with a document elsewhere.
    pub(crate) fn has_standard_text_alone(&self, place: usize) -> bool {
        self.partners[place].is_none() && self.standard_text[place]
    }
}

/// Partners while links are read: of each document the best one so far.
pub(crate) struct PartnersSoFar<'a> {
    subject: &'a Subject<'a>,
    /// Of two repositories, the document at the place of each.
    counterparts: Option<Vec<Option<u32>>>,
    /// Rank of the best one: bytes that both have, then likeness of paths; a copy is before all.
    found: Vec<Option<(Partner, usize)>>,
    standard_text: Vec<bool>,
}

impl<'a> PartnersSoFar<'a> {
    /// Copies of the same bytes are partners already.
    pub(crate) fn new(subject: &'a Subject<'a>, alignment: &Alignment) -> PartnersSoFar<'a> {
        let counterparts = counterparts(subject.frozen, alignment);
        let standard_text = vec![false; subject.frozen.documents.len()];
        let mut so_far = PartnersSoFar { subject, counterparts, found: Vec::new(), standard_text };
        let documents = subject.frozen.documents.iter().enumerate();
        so_far.found = documents
            .map(|(place, document)| {
                let shared_bytes = subject.frozen.contents[document.content.0 as usize].size_bytes;
                let copy = (shared_bytes > 0).then(|| so_far.best(place, document.content)).flatten();
                copy.map(|document| (Partner { document, shared_bytes, relation: None, outside: None }, 0))
            })
            .collect();
        so_far
    }

    /// Takes in a link, with the relation of its contents, and what it is without its frames if it has any.
    pub(crate) fn link(&mut self, link: &Link, measured: &LinkFigures, outside: Option<&OutsideLink>) {
        let LinkFigures { shared_bytes: [of_a, of_b], relation, .. } = *measured;
        let outside =
            |side: usize| outside.map(|link| Fraction { part: link.shared_bytes, whole: link.own_bytes[side] });
        let of_both = [
            (link.a, link.b, (of_a, Some(relation), outside(0))),
            (link.b, link.a, (of_b, Some(reversed(relation)), outside(1))),
        ];
        for (from, to, (shared_bytes, relation, outside)) in of_both {
            // An estimate may be of more than there is.
            let shared_bytes = shared_bytes.min(self.subject.frozen.contents[from.0 as usize].size_bytes);
            for place in self.subject.copies.of_content(from) {
                let partner = |document| Partner { document, shared_bytes, relation, outside };
                self.consider(*place as usize, to, shared_bytes, partner);
            }
        }
    }

    /// Takes in a link that rests on a frame: it gives no partner.
    pub(crate) fn standard_text(&mut self, link: &Link) {
        let copies = |content| self.subject.copies.of_content(content);
        for (from, to) in [(link.a, link.b), (link.b, link.a)] {
            for place in copies(from) {
                let place = *place as usize;
                self.standard_text[place] =
                    self.standard_text[place] || self.first_elsewhere(place, copies(to)).is_some();
            }
        }
    }

    fn consider(
        &mut self,
        place: usize,
        content: ContentIndex,
        shared_bytes: u64,
        partner: impl FnOnce(u32) -> Partner,
    ) {
        let key = |(partner, alike): &(Partner, usize)| (partner.shared_bytes, *alike, Reverse(partner.document));
        let now = self.found[place];
        if now.is_some_and(|(now, _)| now.relation.is_none() || now.shared_bytes > shared_bytes) {
            return;
        }
        let Some(document) = self.best(place, content) else { return };
        let other = (partner(document), self.alike(place, document));
        if now.is_none_or(|now| key(&now) < key(&other)) {
            self.found[place] = Some(other);
        }
    }

    pub(crate) fn finish(self) -> Partners {
        let partners = self.found.into_iter().map(|found| found.map(|(partner, _)| partner)).collect();
        Partners { partners, standard_text: self.standard_text }
    }

    /// Of the documents of a content elsewhere, the one at the place of a document, or whose path is most like its path; of
    /// equals the first.
    fn best(&self, place: usize, content: ContentIndex) -> Option<u32> {
        let copies = self.subject.copies.of_content(content);
        // No copy is better than one at the same place, and a search finds it without comparing all paths.
        let in_place = if copies.len() > COPIES_FEW { self.in_place(place, copies) } else { None };
        if in_place.is_some() || copies.len() > COPIES_WEIGHED_MAX {
            return in_place.or_else(|| self.first_elsewhere(place, copies));
        }
        let elsewhere = |other: &&u32| self.is_elsewhere(place, **other);
        // The last of equals would win: reversed, the first document does.
        copies.iter().rev().filter(elsewhere).max_by_key(|other| self.alike(place, **other)).copied()
    }

    /// Of the documents of a content elsewhere, the first at the place of a document. They are in the order of repositories, and of paths in
    /// each.
    fn in_place(&self, place: usize, copies: &[u32]) -> Option<u32> {
        if let Some(counterparts) = &self.counterparts {
            let other = counterparts[place]?;
            return (copies.binary_search(&other).is_ok() && self.is_elsewhere(place, other)).then_some(other);
        }
        let frozen = self.subject.frozen;
        let (own, mut rest) = (self.path(place), copies);
        while let Some(first) = rest.first() {
            let root = frozen.root_of(*first);
            let (of_root, others) = rest.split_at(rest.partition_point(|other| frozen.root_of(*other) <= root));
            let same = of_root.binary_search_by(|other| self.path(*other as usize).cmp(own)).map(|at| of_root[at]);
            if let Some(other) = same.ok().filter(|other| self.is_elsewhere(place, *other)) {
                return Some(other);
            }
            rest = others;
        }
        None
    }

    /// The first of the documents of a content elsewhere.
    fn first_elsewhere(&self, place: usize, copies: &[u32]) -> Option<u32> {
        let frozen = self.subject.frozen;
        let mut rest = copies;
        while let Some(first) = rest.first() {
            if self.is_elsewhere(place, *first) {
                return Some(*first);
            }
            // In a single repository it is the document itself; else none of its repository is elsewhere.
            let passed = match frozen.roots.len() {
                1 => 1,
                _ => rest.partition_point(|other| frozen.root_of(*other) <= frozen.root_of(*first)),
            };
            rest = &rest[passed..];
        }
        None
    }

    fn is_elsewhere(&self, place: usize, other: u32) -> bool {
        let Subject { frozen, .. } = self.subject;
        let (own_root, other_root) = (frozen.documents[place].root, frozen.root_of(other));
        match self.subject.across() {
            Some(labels) => labels[usize::from(other_root)] != labels[usize::from(own_root)],
            None if frozen.roots.len() == 1 => other as usize != place,
            None => other_root != own_root,
        }
    }

    fn is_in_place(&self, place: usize, other: u32) -> bool {
        match &self.counterparts {
            Some(counterparts) => counterparts[place] == Some(other),
            None => self.path(place) == self.path(other as usize),
        }
    }

    fn alike(&self, place: usize, other: u32) -> usize {
        if self.is_in_place(place, other) {
            return usize::MAX;
        }
        common_end(self.path(place), self.path(other as usize))
    }

    fn path(&self, place: usize) -> &[u8] {
        let Subject { frozen, .. } = self.subject;
        frozen.path(&frozen.documents[place])
    }
}

/// Two folders, those of the root that comes first before the other.
type Pair<'a> = ([u16; 2], [&'a [u8]; 2]);

#[derive(Clone, Copy, Default)]
struct Sums {
    documents: [u64; 2],
    shared_bytes: [u64; 2],
    copies: [u64; 2],
    copies_in_place: [u64; 2],
}

impl Sums {
    fn add(&mut self, other: &Sums) {
        for side in 0..2 {
            self.documents[side] += other.documents[side];
            self.shared_bytes[side] += other.shared_bytes[side];
            self.copies[side] += other.copies[side];
            self.copies_in_place[side] += other.copies_in_place[side];
        }
    }
}

/// A document as the folders of a result count it.
#[derive(Clone, Copy)]
pub(crate) struct FolderDocument<'a> {
    pub(crate) root: u16,
    pub(crate) path: &'a [u8],
    /// Its bytes, under the view that speaks for it.
    pub(crate) size_bytes: u64,
    /// The document that it is best compared with.
    pub(crate) partner: Option<FolderPartner<'a>>,
}

/// The partner of a document.
#[derive(Clone, Copy)]
pub(crate) struct FolderPartner<'a> {
    pub(crate) root: u16,
    pub(crate) path: &'a [u8],
    /// The bytes of the document that it has, under the view that speaks for the document.
    pub(crate) shared_bytes: u64,
    pub(crate) is_copy: bool,
}

/// The folder pairs of all repositories, those with most bytes first. Controls are documents that people planted: they are not among `documents`,
/// nor partners of these.
pub(crate) fn pairs<'a>(documents: impl Iterator<Item = FolderDocument<'a>> + Clone) -> Vec<FolderPair> {
    let totals = Totals::of(documents.clone());
    let mut sums = direct_sums(documents);
    merge_upwards(&mut sums, &totals);
    let mut pairs: Vec<FolderPair> =
        sums.into_iter().map(|((roots, paths), sums)| folder_pair(roots, paths, &sums, &totals)).collect();
    pairs.sort_by(|x, y| {
        let bytes = |pair: &FolderPair| pair.shared_bytes[0].max(pair.shared_bytes[1]);
        bytes(y).cmp(&bytes(x)).then_with(|| (x.roots, &x.paths).cmp(&(y.roots, &y.paths)))
    });
    pairs
}

/// Sums that each folder's own documents have in each folder of the other repository.
fn direct_sums<'a>(documents: impl Iterator<Item = FolderDocument<'a>>) -> HashMap<Pair<'a>, Sums> {
    let mut sums: HashMap<Pair<'a>, Sums> = HashMap::new();
    for document in documents {
        let Some(partner) = document.partner else { continue };
        let (own, own_name) = parent(document.path);
        let (theirs, their_name) = parent(partner.path);
        // A folder is no pair with itself.
        if (document.root, own) == (partner.root, theirs) {
            continue;
        }
        let swap = (document.root, own) > (partner.root, theirs);
        let side = usize::from(swap);
        let key = match swap {
            false => ([document.root, partner.root], [own, theirs]),
            true => ([partner.root, document.root], [theirs, own]),
        };
        let sums = sums.entry(key).or_default();
        sums.documents[side] += 1;
        sums.shared_bytes[side] += partner.shared_bytes;
        if partner.is_copy {
            sums.copies[side] += 1;
            sums.copies_in_place[side] += u64::from(is_one_name(own_name, their_name));
        }
    }
    sums
}

/// Pairs whose folders have the same name become one with their parents, from the deepest up, where that says more: where
/// several of them come together, or where the parents hold nothing else.
fn merge_upwards<'a>(sums: &mut HashMap<Pair<'a>, Sums>, totals: &Totals<'a>) {
    let depth = |path: &[u8]| if path.is_empty() { 0 } else { 1 + path.iter().filter(|byte| **byte == b'/').count() };
    let mut of_depth: Vec<Vec<Pair<'a>>> = Vec::new();
    for key in sums.keys() {
        let depth = depth(key.1[0]);
        of_depth.resize_with(of_depth.len().max(depth + 1), Vec::new);
        of_depth[depth].push(*key);
    }
    for depth in (1..of_depth.len()).rev() {
        let mut children: HashMap<Pair<'a>, Vec<Pair<'a>>> = HashMap::new();
        for key in std::mem::take(&mut of_depth[depth]) {
            let (roots, [a, b]) = key;
            let ((a_up, a_name), (b_up, b_name)) = (parent(a), parent(b));
            if is_one_name(a_name, b_name) && !b.is_empty() {
                children.entry((roots, [a_up, b_up])).or_default().push(key);
            }
        }
        for (up, keys) in children {
            let is_known = sums.contains_key(&up);
            if keys.len() == 1 && !is_known && !totals.same_documents(keys[0], up) {
                continue;
            }
            if !is_known {
                of_depth[depth - 1].push(up);
            }
            for key in keys {
                let merged = sums.remove(&key).unwrap_or_default();
                sums.entry(up).or_default().add(&merged);
            }
        }
    }
}

fn folder_pair(roots: [u16; 2], paths: [&[u8]; 2], sums: &Sums, totals: &Totals<'_>) -> FolderPair {
    let total = [totals.below(roots[0], paths[0]), totals.below(roots[1], paths[1])];
    let documents_total = total.map(|(documents, _)| documents);
    let all = |side: usize| sums.copies[side] == documents_total[side];
    let relation = match (all(0), all(1)) {
        (true, true) if sums.copies_in_place == documents_total => FolderRelation::Identical,
        (true, _) => FolderRelation::Contained,
        (_, true) => FolderRelation::Contains,
        _ => FolderRelation::Overlaps,
    };
    FolderPair {
        roots,
        paths: paths.map(<[u8]>::to_vec),
        relation,
        documents: sums.documents,
        shared_bytes: sums.shared_bytes,
        documents_total,
        size_bytes: total.map(|(_, size_bytes)| size_bytes),
    }
}

/// The folder of a path and its last name.
fn parent(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(place) => (&path[..place], &path[place + 1..]),
        None => (&[], path),
    }
}

/// Number of documents and bytes below each folder.
struct Totals<'a> {
    below: HashMap<(u16, &'a [u8]), (u64, u64)>,
}

impl<'a> Totals<'a> {
    fn of(documents: impl Iterator<Item = FolderDocument<'a>>) -> Totals<'a> {
        let mut direct: HashMap<(u16, &[u8]), (u64, u64)> = HashMap::new();
        for document in documents {
            let own = direct.entry((document.root, parent(document.path).0)).or_default();
            *own = (own.0 + 1, own.1 + document.size_bytes);
        }
        let mut below: HashMap<(u16, &[u8]), (u64, u64)> = HashMap::with_capacity(direct.len());
        for ((root, folder), (documents, bytes)) in direct {
            let mut folder = folder;
            loop {
                let all = below.entry((root, folder)).or_default();
                *all = (all.0 + documents, all.1 + bytes);
                if folder.is_empty() {
                    break;
                }
                folder = parent(folder).0;
            }
        }
        Totals { below }
    }

    fn below(&self, root: u16, folder: &[u8]) -> (u64, u64) {
        self.below.get(&(root, folder)).copied().unwrap_or_default()
    }

    /// True if a pair of parents holds no document that the pair below it does not.
    fn same_documents(&self, pair: Pair<'_>, above: Pair<'_>) -> bool {
        let (roots, paths) = pair;
        (0..2).all(|side| self.below(roots[side], paths[side]) == self.below(roots[side], above.1[side]))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_support::{Tree, frozen};

    /// Merges pairs that hold one document each; folders hold as many documents as pairs name them, or as said.
    fn check(pairs: &[(&'static str, &'static str)], others: &[(u16, &'static str)], merged: &[(&str, &str, u64)]) {
        let mut sums: HashMap<Pair<'_>, Sums> = HashMap::new();
        let mut below: HashMap<(u16, &[u8]), (u64, u64)> = HashMap::new();
        let mut count = |root: u16, folder: &'static str| {
            let mut folder = folder.as_bytes();
            loop {
                below.entry((root, folder)).or_default().0 += 1;
                if folder.is_empty() {
                    break;
                }
                folder = parent(folder).0;
            }
        };
        for (a, b) in pairs {
            count(0, a);
            count(1, b);
            let one = sums.entry(([0, 1], [a.as_bytes(), b.as_bytes()])).or_default();
            one.documents = [one.documents[0] + 1; 2];
        }
        others.iter().for_each(|(root, folder)| count(*root, folder));
        merge_upwards(&mut sums, &Totals { below });
        let text = |path: &[u8]| String::from_utf8(path.to_vec()).unwrap();
        let mut found: Vec<_> = sums.iter().map(|((_, [a, b]), sums)| (text(a), text(b), sums.documents[0])).collect();
        found.sort();
        let merged: Vec<_> = merged.iter().map(|(a, b, n)| ((*a).to_owned(), (*b).to_owned(), *n)).collect();
        assert_eq!(found, merged);
    }

    #[test]
    fn a_tree_in_its_place_is_one_pair() {
        check(&[("a", "a"), ("a/b", "a/b"), ("c", "c"), ("", "")], &[], &[("", "", 4)]);
    }

    #[test]
    fn a_folder_that_was_moved_is_listed_by_its_own_name() {
        check(&[("logs", "old/logs"), ("logs", "old/logs")], &[(0, "notes")], &[("logs", "old/logs", 2)]);
    }

    #[test]
    fn folders_that_were_moved_together_are_listed_by_their_parent() {
        let pairs = [("src/x", "old/x"), ("src/y/z", "old/y/z"), ("src/y", "old/y")];
        check(&pairs, &[(0, "doc"), (1, "doc")], &[("src", "old", 3)]);
    }

    #[test]
    fn a_parent_that_holds_nothing_else_speaks_for_its_only_folder() {
        check(&[("a/b/c", "x/b/c")], &[], &[("a", "x", 1)]);
    }

    proptest! {
        #[test]
        fn of_many_copies_the_best_is_the_one_whose_path_is_most_alike(
            trees in prop::collection::vec(prop::collection::btree_map("[ab](/[ab]){0,2}", 0..3_u32, 0..9), 1..5),
            across_only: bool,
        ) {
            let trees: Vec<&Tree> = trees.iter().collect();
            let frozen = frozen(&trees);
            let subject = Subject::of(&frozen, across_only);
            let partners = PartnersSoFar::new(&subject, &Alignment::default());
            for (place, document) in frozen.documents.iter().enumerate() {
                let copies = subject.copies.of_content(document.content).iter().copied();
                let elsewhere = copies.rev().filter(|other| partners.is_elsewhere(place, *other));
                let expected = elsewhere.max_by_key(|other| partners.alike(place, *other));
                prop_assert_eq!(partners.best(place, document.content), expected);
            }
        }
    }
}
