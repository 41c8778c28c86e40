//! Alignment: the folders of one repository that are at another name or depth in a second one.
//!
//! Two paths are at the same place if they are equal, or if an aligned pair of folders leads from one to the other. Pairs are
//! chosen by what their documents share (`search`), or given by people. They are one to one: no folder is in two pairs.
//! Documents are matched one to one as well, by the deepest pair first; then equal paths that no pair has matched; last those
//! that are equal but for case and the way in which accents are written.

mod evidence;
mod search;
mod spelling;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use foldhash::HashMap;

pub(crate) use self::evidence::{AlignmentFindings, AlignmentRequest, EarlierView, PlaceVote, counterparts, find};
pub(crate) use self::search::common_end;
pub(crate) use self::spelling::is_one_name;

/// The paths of the documents of two repositories, each list ascending.
pub(crate) type Paths<'a> = [&'a [&'a [u8]]; 2];

/// The aligned folders of two repositories.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Alignment {
    /// By the first folder.
    pairs: Vec<AlignedPair>,
    /// The place of each folder's pair, for each repository.
    places: [HashMap<Vec<u8>, usize>; 2],
}

/// A folder of the first repository, and the folder of the second one that it is compared with.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct AlignedPair {
    /// The two folders; an empty path is the root.
    pub folders: [Vec<u8>; 2],
    /// True if somebody named the pair.
    pub given: bool,
}

impl Alignment {
    /// An alignment of these pairs.
    pub fn new(mut pairs: Vec<AlignedPair>) -> Alignment {
        pairs.sort_unstable();
        let places = [0, 1].map(|side| {
            let folders = pairs.iter().enumerate().map(|(place, pair)| (pair.folders[side].clone(), place));
            folders.collect()
        });
        Alignment { pairs, places }
    }

    /// The pairs, by the first folder.
    pub fn pairs(&self) -> &[AlignedPair] {
        &self.pairs
    }

    /// True if only equal paths are at the same place.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The folder of the other repository at the place of a folder of repository `side`, by the deepest pair above it.
    pub fn opposite(&self, side: usize, folder: &[u8]) -> Vec<u8> {
        match upwards(folder).find_map(|above| self.places[side].get(above)) {
            Some(place) => {
                let AlignedPair { folders, .. } = &self.pairs[*place];
                joined(&folders[1 - side], rest(folder, &folders[side]))
            }
            None => folder.to_vec(),
        }
    }

    /// For each document of the first repository, the document of the second one at its place, and the pair that leads
    /// there; none for equal paths, and for those that are equal to people.
    pub(crate) fn matched(&self, paths: Paths<'_>) -> Vec<Option<(u32, Option<u32>)>> {
        let mut matched = vec![None; paths[0].len()];
        let mut taken = vec![false; paths[1].len()];
        if !self.pairs.is_empty() {
            let places: HashMap<&[u8], u32> = paths[1].iter().copied().zip(0..).collect();
            let mut order: Vec<(u32, &AlignedPair)> = (0..).zip(&self.pairs).collect();
            order.sort_by_key(|(_, pair)| {
                (Reverse(pair.folders.iter().map(|folder| depth(folder)).sum::<usize>()), *pair)
            });
            for (number, pair) in order {
                for place in below(paths[0], &pair.folders[0]) {
                    let expected = joined(&pair.folders[1], rest(paths[0][place], &pair.folders[0]));
                    let Some(other) = places.get(expected.as_slice()) else { continue };
                    if matched[place].is_none() && !taken[*other as usize] {
                        matched[place] = Some((*other, Some(number)));
                        taken[*other as usize] = true;
                    }
                }
            }
        }
        let found = |other: usize| Some((u32::try_from(other).expect("fewer than 2^32 documents"), None));
        for (place, other) in equal(paths) {
            if matched[place].is_none() && !taken[other] {
                (matched[place], taken[other]) = (found(other), true);
            }
        }
        for (place, other) in self.equal_but_for_spelling(paths, |place| matched[place].is_none()) {
            if !taken[other] {
                matched[place] = found(other);
            }
        }
        matched
    }

    /// The places of paths that are one for people: by the pairs above them, and but for case and the way in which accents are
    /// written, since file systems differ in both. Where a repository has two such paths, none of them is meant.
    fn equal_but_for_spelling(&self, paths: Paths<'_>, is_wanted: impl Fn(usize) -> bool) -> Vec<(usize, usize)> {
        let spelled = |place: usize| spelling::folded(&self.opposite(0, paths[0][place]));
        let mut wanted: HashMap<Vec<u8>, [Vec<usize>; 2]> = (0..paths[0].len())
            .filter(|place| is_wanted(*place))
            .map(|place| (spelled(place), Default::default()))
            .collect();
        if wanted.is_empty() {
            return Vec::new();
        }
        for place in 0..paths[0].len() {
            wanted.get_mut(&spelled(place)).into_iter().for_each(|found| found[0].push(place));
        }
        for (other, path) in paths[1].iter().enumerate() {
            wanted.get_mut(&spelling::folded(path)).into_iter().for_each(|found| found[1].push(other));
        }
        let single = |found: &[Vec<usize>; 2]| match (&*found[0], &*found[1]) {
            ([place], [other]) => Some((*place, *other)),
            _ => None,
        };
        let mut found: Vec<_> = wanted.values().filter_map(single).collect();
        found.sort_unstable();
        found
    }
}

/// The places of equal paths.
fn equal(paths: Paths<'_>) -> Vec<(usize, usize)> {
    let (mut equal, mut other) = (Vec::new(), 0);
    for (place, path) in paths[0].iter().enumerate() {
        while paths[1].get(other).is_some_and(|next| next < path) {
            other += 1;
        }
        if paths[1].get(other) == Some(path) {
            equal.push((place, other));
        }
    }
    equal
}

/// The places of the paths below a folder.
fn below(paths: &[&[u8]], folder: &[u8]) -> std::ops::Range<usize> {
    if folder.is_empty() {
        return 0..paths.len();
    }
    // `/` is followed by `0` among bytes.
    let bound = |end: u8| {
        let bound = [folder, &[end]].concat();
        paths.partition_point(|path| *path < bound.as_slice())
    };
    bound(b'/')..bound(b'0')
}

/// True if a path is a folder, or below it.
pub(crate) fn is_within(path: &[u8], folder: &[u8]) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

/// A path below a folder, as seen from the folder.
fn rest<'a>(path: &'a [u8], folder: &[u8]) -> &'a [u8] {
    match folder.len() {
        0 => path,
        length => path.get(length + 1..).unwrap_or_default(),
    }
}

fn joined(folder: &[u8], rest: &[u8]) -> Vec<u8> {
    match (folder.is_empty(), rest.is_empty()) {
        (true, _) => rest.to_vec(),
        (_, true) => folder.to_vec(),
        _ => [folder, b"/", rest].concat(),
    }
}

/// Number of names in the path of a folder.
fn depth(folder: &[u8]) -> usize {
    if folder.is_empty() { 0 } else { 1 + folder.iter().filter(|byte| **byte == b'/').count() }
}

/// The folder of a path.
fn parent(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(&[], |slash| &path[..slash])
}

/// The last name of a path.
fn name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// A folder and all folders above it.
fn upwards(folder: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::successors(Some(folder), |folder| (!folder.is_empty()).then(|| parent(folder)))
}
