//! Folders: where the other side keeps what a folder holds.
//!
//! Every document is given one partner in another repository: a copy of the same bytes, or else the content it shares
//! most with; among several, the one whose path is most like its own from the end. What a path and its partner's have in
//! common at the end is then taken off both, and what is left is a pair of folders: the highest one that explains where
//! the documents below it went. A tree that was moved as a whole gives one pair, not one for each of its folders.

use std::collections::HashMap;

use cognate_similarity::{Analysis, ContentIndex, Relation};

use super::Frozen;
use super::analyse::{Copies, relation};

/// For each document its partner, if it has one.
pub(crate) struct Partners {
    partners: Vec<Option<Partner>>,
}

/// The document at another place that a document is best compared with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Partner {
    /// Its place among the frozen documents.
    pub(crate) document: u32,
    /// The bytes that both have.
    pub(crate) shared_bytes: u64,
    /// How the document lies to its partner; `None`: they are the same bytes.
    pub(crate) relation: Option<Relation>,
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

/// How the first folder of a pair lies to the second.
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
    pub(crate) fn of(frozen: &Frozen, copies: &Copies, analysis: &Analysis) -> Partners {
        let links = links_by_content(frozen, analysis);
        let one_root = frozen.roots.len() == 1;
        let partner = |(place, document): (usize, &super::freeze::FrozenDocument)| {
            let content = document.content;
            let size_bytes = frozen.contents[content.0 as usize].size_bytes;
            if size_bytes == 0 {
                return None;
            }
            let best = |content: ContentIndex| {
                let elsewhere = |other: &&u32| {
                    let other_root = frozen.documents[**other as usize].root;
                    if one_root { **other as usize != place } else { other_root != document.root }
                };
                let alike = |other: &u32| {
                    let path = frozen.documents[*other as usize].path.as_bytes();
                    common_end(document.path.as_bytes(), path)
                };
                // The last of equals would win: reversed, the first document does.
                copies.of_content(content).iter().rev().filter(elsewhere).max_by_key(|other| alike(other)).copied()
            };
            if let Some(document) = best(content) {
                return Some(Partner { document, shared_bytes: size_bytes, relation: None });
            }
            let linked = links.get(&content.0)?;
            let candidates = linked.iter().filter_map(|(other, shared_bytes, relation)| {
                let other = best(*other)?;
                let alike = common_end(document.path.as_bytes(), frozen.documents[other as usize].path.as_bytes());
                Some((*shared_bytes, alike, std::cmp::Reverse(other), *relation))
            });
            let (shared_bytes, _, std::cmp::Reverse(document), relation) =
                candidates.max_by_key(|(shared_bytes, alike, other, _)| (*shared_bytes, *alike, *other))?;
            Some(Partner { document, shared_bytes, relation: Some(relation) })
        };
        Partners { partners: frozen.documents.iter().enumerate().map(partner).collect() }
    }

    /// The partner of a document.
    pub(crate) fn of_document(&self, place: usize) -> Option<Partner> {
        self.partners[place]
    }
}

/// Each content's links: to which other, how many bytes, and how it lies to that one.
fn links_by_content(frozen: &Frozen, analysis: &Analysis) -> HashMap<u32, Vec<(ContentIndex, u64, Relation)>> {
    let mut links: HashMap<u32, Vec<(ContentIndex, u64, Relation)>> = HashMap::new();
    for link in analysis.clusters.iter().flat_map(|cluster| &cluster.links) {
        let relation = relation(frozen, link);
        links.entry(link.a.0).or_default().push((link.b, link.shared_bytes, relation));
        links.entry(link.b.0).or_default().push((link.a, link.shared_bytes, reversed(relation)));
    }
    links
}

/// The relation as it is seen from the other end of a link.
pub(crate) fn reversed(relation: Relation) -> Relation {
    match relation {
        Relation::Contains => Relation::Contained,
        Relation::Contained => Relation::Contains,
        same => same,
    }
}

/// How many bytes of whole names two paths have in common at their ends.
fn common_end(a: &[u8], b: &[u8]) -> usize {
    let names = |path: &[u8]| path.split(|byte| *byte == b'/').rev().map(<[u8]>::to_vec).collect::<Vec<_>>();
    let (a, b) = (names(a), names(b));
    a.iter().zip(&b).take_while(|(a, b)| a == b).map(|(name, _)| name.len() + 1).sum()
}

#[derive(Default)]
struct Sums {
    documents: [u64; 2],
    shared_bytes: [u64; 2],
    copies: [u64; 2],
    copies_in_place: [u64; 2],
}

/// The folder pairs of all repositories, those with most bytes first.
pub(crate) fn pairs(frozen: &Frozen, partners: &Partners) -> Vec<FolderPair> {
    let mut sums: HashMap<([u16; 2], Vec<u8>, Vec<u8>), Sums> = HashMap::new();
    for (place, document) in frozen.documents.iter().enumerate() {
        let Some(partner) = partners.of_document(place) else { continue };
        let other = &frozen.documents[partner.document as usize];
        let (own, theirs, in_place) = enclosing(document.path.as_bytes(), other.path.as_bytes());
        // A pair is told once, from the side that comes first.
        let swap = (document.root, own) > (other.root, theirs);
        let side = usize::from(swap);
        let key = match swap {
            false => ([document.root, other.root], own.to_vec(), theirs.to_vec()),
            true => ([other.root, document.root], theirs.to_vec(), own.to_vec()),
        };
        let sums = sums.entry(key).or_default();
        sums.documents[side] += 1;
        sums.shared_bytes[side] += partner.shared_bytes;
        if partner.relation.is_none() {
            sums.copies[side] += 1;
            sums.copies_in_place[side] += u64::from(in_place);
        }
    }
    let totals = Totals::of(frozen, sums.keys());
    let mut pairs: Vec<FolderPair> = sums
        .into_iter()
        .map(|((roots, a, b), sums)| {
            let total = [totals.below(roots[0], &a), totals.below(roots[1], &b)];
            let documents_total = total.map(|(documents, _)| documents);
            let all = |side: usize| sums.copies[side] == documents_total[side];
            let in_place = sums.copies_in_place == documents_total;
            let relation = match (all(0), all(1)) {
                (true, true) if in_place => FolderRelation::Identical,
                (true, _) => FolderRelation::Contained,
                (_, true) => FolderRelation::Contains,
                _ => FolderRelation::Overlaps,
            };
            FolderPair {
                roots,
                paths: [a, b],
                relation,
                documents: sums.documents,
                shared_bytes: sums.shared_bytes,
                documents_total,
                size_bytes: total.map(|(_, size_bytes)| size_bytes),
            }
        })
        .collect();
    pairs.sort_by(|x, y| {
        let bytes = |pair: &FolderPair| pair.shared_bytes[0].max(pair.shared_bytes[1]);
        bytes(y).cmp(&bytes(x)).then_with(|| (x.roots, &x.paths).cmp(&(y.roots, &y.paths)))
    });
    pairs
}

/// The highest pair of folders below which two paths are the same, and whether the documents' own names are.
fn enclosing<'a>(a: &'a [u8], b: &'a [u8]) -> (&'a [u8], &'a [u8], bool) {
    let (mut a, mut b) = (a, b);
    let (a_folder, a_name) = parent(a);
    let (b_folder, b_name) = parent(b);
    let in_place = a_name == b_name;
    (a, b) = (a_folder, b_folder);
    loop {
        let ((a_up, a_name), (b_up, b_name)) = (parent(a), parent(b));
        if a.is_empty() || b.is_empty() || a_name != b_name {
            return (a, b, in_place);
        }
        (a, b) = (a_up, b_up);
    }
}

/// The folder of a path and its last name.
fn parent(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(place) => (&path[..place], &path[place + 1..]),
        None => (&[], path),
    }
}

/// How many documents and bytes lie below a folder, for the folders that are asked about.
struct Totals {
    below: HashMap<(u16, Vec<u8>), (u64, u64)>,
}

impl Totals {
    fn of<'a>(frozen: &Frozen, pairs: impl Iterator<Item = &'a ([u16; 2], Vec<u8>, Vec<u8>)>) -> Totals {
        let mut below: HashMap<(u16, Vec<u8>), (u64, u64)> = HashMap::new();
        for (roots, a, b) in pairs {
            below.insert((roots[0], a.clone()), (0, 0));
            below.insert((roots[1], b.clone()), (0, 0));
        }
        for document in &frozen.documents {
            let size_bytes = frozen.contents[document.content.0 as usize].size_bytes;
            let mut folder = document.path.as_bytes();
            loop {
                folder = parent(folder).0;
                if let Some((documents, bytes)) = below.get_mut(&(document.root, folder.to_vec())) {
                    *documents += 1;
                    *bytes += size_bytes;
                }
                if folder.is_empty() {
                    break;
                }
            }
        }
        Totals { below }
    }

    fn below(&self, root: u16, folder: &[u8]) -> (u64, u64) {
        self.below.get(&(root, folder.to_vec())).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(a: &str, b: &str, expected: (&str, &str, bool)) {
        let (x, y, in_place) = enclosing(a.as_bytes(), b.as_bytes());
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        assert_eq!((text(x).as_str(), text(y).as_str(), in_place), expected, "{a} {b}");
    }

    #[test]
    fn what_two_paths_share_at_the_end_is_taken_off() {
        check("a.txt", "a.txt", ("", "", true));
        check("src/x/a.c", "src/x/a.c", ("", "", true));
        check("src/x/a.c", "old/x/a.c", ("src", "old", true));
        check("src/x/a.c", "old/x/b.c", ("src", "old", false));
        check("x/y.txt", "z.txt", ("x", "", false));
        check("a/b/c/d", "b/c/d", ("a", "", true));
        check("gcc/ChangeLog", "gcc/ChangeLog-2021", ("", "", false));
    }

    #[test]
    fn likeness_is_counted_in_whole_names_from_the_end() {
        assert!(common_end(b"a/x/y", b"b/x/y") > common_end(b"a/x/y", b"b/z/y"));
        assert_eq!(common_end(b"foo", b"xfoo"), 0);
    }
}
