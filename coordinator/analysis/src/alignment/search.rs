//! The search for aligned folders.
//!
//! Each pair of documents that share content under one name is a vote. Less the end that both paths have in common, they name
//! two folders, and the vote is for these. Votes of equal paths are for the roots. The pairs of folders are decided
//! from the highest down. A pair is chosen if it has more votes than any other pair of either folder, and more than twice
//! the votes by which the documents below are in their places already, and if its documents are worth enough as evidence. The votes of a
//! pair that is not chosen go
//! to the folders below it, so that a folder is aligned even if the one above it is not.
//!
//! The work grows with the number of votes times the depth of their paths.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use foldhash::{HashMap, HashMapExt as _, HashSet};

use super::{AlignedPair, Alignment, Paths, below, depth, is_within, joined, name, parent, rest, upwards};

/// A pair needs this many times the votes of the documents that are in their places already.
const CLEARLY: u64 = 2;
/// Documents of the smaller folder for each one that has to vote.
const SHARE: u64 = 8;
/// The worth of a document that neither chance nor boilerplate gives.
pub(super) const FULL_WORTH: u64 = 1 << 12;
/// The worth of the documents that move a folder, in documents of full worth.
const DOCUMENTS_MIN: u64 = 2;

/// Evidence that two documents are at the same place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Vote<'a> {
    /// The paths of the two; their last names are equal.
    pub(crate) paths: [&'a [u8]; 2],
    pub(crate) weight: u64,
    /// Its value as evidence, [`FULL_WORTH`] at most: less for a short document, and for one that many are like.
    pub(crate) worth: u64,
}

/// Two folders.
type Pair<'a> = [&'a [u8]; 2];

/// A vote, and the folders that it is for at present.
#[derive(Clone, Copy)]
struct FolderVote<'a> {
    vote: Vote<'a>,
    pair: Pair<'a>,
}

/// Chooses the aligned folders of two repositories. Those in `given` come first, and nothing that is found contradicts them.
pub(crate) fn search(paths: Paths<'_>, votes: &[Vote<'_>], given: &[[Vec<u8>; 2]]) -> Alignment {
    // The usual case: paths agree.
    if given.is_empty() && votes.iter().all(|vote| vote.paths[0] == vote.paths[1]) {
        return Alignment::default();
    }
    let mut search = Search::new(paths, votes, given);
    while let Some((_, round)) = search.pending.pop_first() {
        search.decide(round);
    }
    let found = search.chosen.iter().map(|pair| AlignedPair { folders: pair.map(<[u8]>::to_vec), given: false });
    let given = given.iter().map(|folders| AlignedPair { folders: folders.clone(), given: true });
    Alignment::new(given.chain(found).collect())
}

struct Search<'a> {
    paths: Paths<'a>,
    given: &'a [[Vec<u8>; 2]],
    chosen: Vec<Pair<'a>>,
    /// The folders of the given and the chosen pairs, for each repository.
    taken: [HashSet<&'a [u8]>; 2],
    /// The documents of each repository that vote.
    voters: [HashSet<&'a [u8]>; 2],
    /// The undecided votes by the depth of the two folders together.
    pending: BTreeMap<usize, Vec<FolderVote<'a>>>,
    /// For each folder of each repository, the weight of the votes of documents below it that are decided.
    settled: [HashMap<&'a [u8], PairCount>; 2],
    /// For each folder of each repository, its documents and how many of them vote.
    documents: [HashMap<&'a [u8], Documents>; 2],
}

#[derive(Clone, Copy, Default)]
struct PairCount {
    /// Votes of all documents below the folder.
    all: u64,
    /// Votes of those directly in it.
    direct: u64,
}

#[derive(Clone, Copy, Default)]
struct Documents {
    all: u64,
    voting: u64,
}

/// The votes for a pair of folders.
#[derive(Default)]
struct Group<'a> {
    votes: Vec<FolderVote<'a>>,
    weight: u64,
}

impl Group<'_> {
    /// The worth of its documents. Of a document with a vote in each view, the better one counts.
    fn worth(&self) -> u64 {
        let mut worths: HashMap<&[u8], u64> = HashMap::new();
        for Vote { paths, worth, .. } in self.votes.iter().map(|cast| cast.vote) {
            let of_document = worths.entry(paths[0]).or_default();
            *of_document = worth.max(*of_document);
        }
        worths.values().sum()
    }
}

impl<'a> Search<'a> {
    fn new(paths: Paths<'a>, votes: &[Vote<'a>], given: &'a [[Vec<u8>; 2]]) -> Search<'a> {
        let mut documents: [HashMap<&[u8], Documents>; 2] = Default::default();
        for (documents, paths) in documents.iter_mut().zip(paths) {
            // Documents of a folder are mostly next to each other: the folders above are looked up once for all of them.
            for together in paths.chunk_by(|a, b| parent(a) == parent(b)) {
                let folders = upwards(parent(together[0]));
                folders.for_each(|folder| documents.entry(folder).or_default().all += together.len() as u64);
            }
        }
        let mut search = Search {
            paths,
            given,
            chosen: Vec::new(),
            taken: [0, 1].map(|side| given.iter().map(|pair| pair[side].as_slice()).collect()),
            voters: [0, 1].map(|side| votes.iter().map(|vote| vote.paths[side]).collect()),
            pending: BTreeMap::new(),
            settled: Default::default(),
            documents,
        };
        search.count_voting();
        // Nearly all documents stay where they are: their votes are settled folder by folder.
        let mut staying: HashMap<&[u8], u64> = HashMap::new();
        for vote in votes {
            let [a, b] = vote.paths;
            if let Some(pair) = search.given(vote) {
                search.settle(&FolderVote { vote: *vote, pair });
            } else if a == b {
                *staying.entry(parent(a)).or_default() += vote.weight;
            } else {
                let common = common_end(a, b);
                let folder = |path: &'a [u8]| &path[..(path.len() - common).saturating_sub(1)];
                search.put(FolderVote { vote: *vote, pair: [folder(a), folder(b)] });
            }
        }
        for (folder, weight) in staying {
            (0..2).for_each(|side| search.settle_in(side, folder, &[], weight));
        }
        search
    }

    fn count_voting(&mut self) {
        for (documents, voters) in self.documents.iter_mut().zip(&self.voters) {
            let mut voting: HashMap<&[u8], u64> = HashMap::new();
            voters.iter().for_each(|path| *voting.entry(parent(path)).or_default() += 1);
            for (folder, voting) in voting {
                upwards(folder).for_each(|above| documents.entry(above).or_default().voting += voting);
            }
        }
    }

    /// The given pair that leads from one document to the other.
    fn given(&self, vote: &Vote<'a>) -> Option<Pair<'a>> {
        let [a, b] = vote.paths;
        let leads = |pair: &&[Vec<u8>; 2]| {
            let [of_a, of_b] = *pair;
            is_within(a, of_a) && is_within(b, of_b) && rest(a, of_a) == rest(b, of_b)
        };
        self.given.iter().find(leads).map(|[of_a, of_b]| [of_a.as_slice(), of_b.as_slice()])
    }

    fn put(&mut self, cast: FolderVote<'a>) {
        self.pending.entry(cast.pair.iter().map(|folder| depth(folder)).sum()).or_default().push(cast);
    }

    /// Counts a vote for the place that its pair gives, in all folders below that pair.
    fn settle(&mut self, cast: &FolderVote<'a>) {
        for side in 0..2 {
            self.settle_in(side, parent(cast.vote.paths[side]), cast.pair[side], cast.vote.weight);
        }
    }

    /// Counts votes of documents in a folder for it and for the folders above it, up to that of their pair.
    fn settle_in(&mut self, side: usize, folder: &'a [u8], of_pair: &[u8], weight: u64) {
        for above in upwards(folder).take_while(|above| above.len() >= of_pair.len()) {
            let settled = self.settled[side].entry(above).or_default();
            settled.all += weight;
            settled.direct += if above == folder { weight } else { 0 };
        }
    }

    /// Decides the pairs of one depth.
    fn decide(&mut self, round: Vec<FolderVote<'a>>) {
        // Undecided pairs of deeper folders are rivals too.
        let strongest = strongest(round.iter().chain(self.pending.values().flatten()));
        for (pair, group) in grouped(&round) {
            let is_strongest = (0..2).all(|side| strongest[side].get(pair[side]).is_some_and(|best| best.1.0 == pair));
            if is_strongest && self.is_free(&pair) && self.is_worth(&pair, &group) {
                self.chosen.push(pair);
                self.taken.iter_mut().zip(pair).for_each(|(taken, folder)| taken.extend([folder]));
                group.votes.iter().for_each(|cast| self.settle(cast));
            } else {
                group.votes.iter().filter_map(lowered).for_each(|cast| self.put(cast));
            }
        }
    }

    /// True if neither folder is in a pair, and no given pair is contradicted.
    fn is_free(&self, pair: &Pair<'_>) -> bool {
        let agrees = |given: &[Vec<u8>; 2]| is_within(pair[0], &given[0]) == is_within(pair[1], &given[1]);
        (0..2).all(|side| !self.taken[side].contains(pair[side])) && self.given.iter().all(agrees)
    }

    fn is_worth(&self, pair: &Pair<'a>, group: &Group<'a>) -> bool {
        self.has_documents_enough(pair, group) && self.is_clearly_stronger(pair, group)
    }

    /// Documents that move together are a folder, if they are worth two and not too small a part of it; one is enough if the folders
    /// have names that differ in numbers alone.
    fn has_documents_enough(&self, pair: &Pair<'a>, group: &Group<'a>) -> bool {
        let voting = [0, 1].map(|side| {
            let paths: HashSet<&[u8]> = group.votes.iter().map(|cast| cast.vote.paths[side]).collect();
            paths.len() as u64
        });
        let at_stake = [0, 1].map(|side| {
            let Documents { all, voting: elsewhere } = self.documents[side][pair[side]];
            all - elsewhere + voting[side]
        });
        let renamed = || {
            let is_new = |side: usize| !self.documents[1 - side].contains_key(pair[side]);
            let names = pair.map(name);
            // A name that both have, such as `tests`, says nothing.
            names[0] != names[1] && without_numbers(names[0]) == without_numbers(names[1]) && is_new(0) && is_new(1)
        };
        let voting = voting[0].min(voting[1]);
        let worth = group.worth();
        (worth >= DOCUMENTS_MIN * FULL_WORTH && voting * SHARE >= at_stake[0].min(at_stake[1]))
            || (worth >= FULL_WORTH && renamed())
    }

    fn is_clearly_stronger(&self, pair: &Pair<'a>, group: &Group<'a>) -> bool {
        let mut outweighed = false;
        for (side, folder) in pair.iter().enumerate() {
            let settled = self.settled[side].get(folder).copied().unwrap_or_default();
            if group.weight > CLEARLY * settled.all {
                continue;
            }
            let own = group.votes.iter().filter(|cast| parent(cast.vote.paths[side]) == *folder);
            let direct: u64 = own.map(|cast| cast.vote.weight).sum();
            if direct <= CLEARLY * settled.direct {
                return false;
            }
            outweighed = true;
        }
        // The documents of the folder itself left, and others below it stayed. They would be compared by the pair
        // if it led from them to anything.
        !outweighed || !self.is_contested(pair, group)
    }

    /// True if the pair leads to a document from too many that have no vote for it.
    fn is_contested(&self, pair: &Pair<'a>, group: &Group<'a>) -> bool {
        (0..2).any(|side| {
            let voting: HashSet<&[u8]> = group.votes.iter().map(|cast| cast.vote.paths[side]).collect();
            let documents = below(self.paths[side], pair[side]).map(|place| self.paths[side][place]);
            let contested = documents.filter(|path| {
                self.voters[side].contains(path) && !voting.contains(path) && {
                    let expected = joined(pair[1 - side], rest(path, pair[side]));
                    self.paths[1 - side].binary_search(&expected.as_slice()).is_ok()
                }
            });
            voting.len() as u64 <= CLEARLY * contested.count() as u64
        })
    }
}

fn grouped<'a>(casts: &[FolderVote<'a>]) -> BTreeMap<Pair<'a>, Group<'a>> {
    let mut groups: BTreeMap<Pair<'a>, Group<'a>> = BTreeMap::new();
    for cast in casts {
        let group = groups.entry(cast.pair).or_default();
        group.weight += cast.vote.weight;
        group.votes.push(*cast);
    }
    groups
}

/// The weight of a pair of folders, and the pair; of equals the first.
type Strength<'a> = (u64, Reverse<Pair<'a>>);

/// For each folder of each repository, its strongest pair.
fn strongest<'a, 'c>(casts: impl Iterator<Item = &'c FolderVote<'a>>) -> [HashMap<&'a [u8], Strength<'a>>; 2]
where
    'a: 'c,
{
    let mut weights: HashMap<Pair<'a>, u64> = HashMap::new();
    casts.for_each(|cast| *weights.entry(cast.pair).or_default() += cast.vote.weight);
    let mut strongest: [HashMap<&[u8], Strength<'a>>; 2] = Default::default();
    for (pair, weight) in weights {
        let found = (weight, Reverse(pair));
        for (strongest, folder) in strongest.iter_mut().zip(pair) {
            let best = strongest.entry(folder).or_insert(found);
            *best = found.max(*best);
        }
    }
    strongest
}

/// The same vote for the folders one name deeper, if its documents are below those.
fn lowered<'a>(cast: &FolderVote<'a>) -> Option<FolderVote<'a>> {
    let [a, b] = [0, 1].map(|side| {
        let path = cast.vote.paths[side];
        let begin = if cast.pair[side].is_empty() { 0 } else { cast.pair[side].len() + 1 };
        let end = path[begin..].iter().position(|byte| *byte == b'/')?;
        Some(&path[..begin + end])
    });
    Some(FolderVote { vote: cast.vote, pair: [a?, b?] })
}

/// Number of bytes of complete names that two paths have in common at their ends.
pub(crate) fn common_end(a: &[u8], b: &[u8]) -> usize {
    let equal = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a_rest, b_rest) = (&a[..a.len() - equal], &b[..b.len() - equal]);
    let is_name_end = |rest: &[u8]| rest.is_empty() || rest.ends_with(b"/");
    if is_name_end(a_rest) && is_name_end(b_rest) {
        return equal;
    }
    // The first name of the common end is only a part of a name.
    let end = &a[a.len() - equal..];
    end.iter().position(|byte| *byte == b'/').map_or(0, |slash| equal - slash - 1)
}

/// A name with every run of digits and the marks between them as one `0`.
fn without_numbers(name: &[u8]) -> Vec<u8> {
    let is_mark = |byte: u8| matches!(byte, b'.' | b'-' | b'_' | b'+' | b'~');
    let mut short: Vec<u8> = Vec::new();
    for (place, byte) in name.iter().enumerate() {
        let in_number = short.last() == Some(&b'0');
        let before_digit = name.get(place + 1).is_some_and(u8::is_ascii_digit);
        if byte.is_ascii_digit() {
            if !in_number {
                short.push(b'0');
            }
        } else if !(in_number && is_mark(*byte) && before_digit) {
            short.push(*byte);
        }
    }
    short
}
