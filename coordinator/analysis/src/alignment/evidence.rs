//! The evidence for an alignment: documents of two repositories that share content under one name.
//!
//! A document is evidence for one place. It is its own path if what is there at the other repository has the same content
//! or a link with it. Else it is that of the copy whose path is most alike from the end, or of the content that
//! it shares most with; several that are equally alike share the weight. Contents with very many copies say nothing.
//!
//! A document is worth less as evidence if chance or boilerplate could give it: if it shares fewer than [`EVIDENCE_BYTES_MIN`] bytes, or if
//! what it shares is at more than [`RARE_MAX`] places.

use std::cmp::Reverse;

use cognate_similarity::{ContentIndex, Link};

use super::search::{FULL_WORTH, Vote, common_end, search};
use super::{Alignment, equal, name};
use crate::error::Error;
use crate::freeze::FrozenSet;
use crate::link_figures::LinkFigures;
use crate::measure::Measures;
use crate::subject::{Subject, index};

/// Pairs of copies that are weighed for one content; of more, only equal paths are evidence.
const COPIES_WEIGHED_MAX: usize = 256;
/// Bytes in common from which on a document is worth its full weight.
const EVIDENCE_BYTES_MIN: u64 = 64;
/// The most documents of a content at one repository, or contents there that share nearly as much as the closest, of which one is worth its
/// full weight.
const RARE_MAX: u64 = 4;
/// The weight of one unit, which copies that are equally alike share.
const UNIT: u64 = 1 << 16;

/// Evidence while links are read.
struct Gathering<'a> {
    subject: &'a Subject<'a>,
    /// For each document, the one of the same path at the other repository.
    in_place: Vec<Option<u32>>,
    /// For each document, the bytes that it shares with the one of the same path.
    stays: Vec<Option<u64>>,
    /// For each content, by repository, the content at the other repository that shares most with it.
    best: [Vec<Option<BestPartner>>; 2],
    /// For each content, by repository, the contents at the other one that share at least half as much as the best.
    rivals: [Vec<u32>; 2],
}

/// Bytes in common, and the content; of equals the first.
type BestPartner = (u64, Reverse<u32>);

impl<'a> Gathering<'a> {
    /// Begins with copies; nothing if there are not two repositories.
    fn new(subject: &'a Subject<'a>) -> Option<Gathering<'a>> {
        let frozen = subject.frozen;
        if frozen.roots.len() != 2 {
            return None;
        }
        let second = frozen.documents.partition_point(|document| document.root == 0);
        let paths: Vec<&[u8]> = frozen.documents.iter().map(|document| frozen.path(document)).collect();
        let mut in_place = vec![None; paths.len()];
        for (a, b) in equal([&paths[..second], &paths[second..]]) {
            in_place[a] = u32::try_from(second + b).ok();
            in_place[second + b] = u32::try_from(a).ok();
        }
        let contents = frozen.contents.len();
        let mut gathering = Gathering {
            subject,
            stays: vec![None; in_place.len()],
            in_place,
            best: [vec![None; contents], vec![None; contents]],
            rivals: [vec![0; contents], vec![0; contents]],
        };
        for (place, document) in frozen.documents.iter().enumerate() {
            let size_bytes = frozen.contents[document.content.0 as usize].size_bytes;
            let is_same = |other: u32| frozen.documents[other as usize].content == document.content;
            if gathering.in_place[place].is_some_and(is_same) && size_bytes > 0 {
                gathering.stays[place] = Some(size_bytes);
            }
        }
        Some(gathering)
    }

    /// Takes in a link.
    fn link(&mut self, link: &Link, measured: &LinkFigures) {
        for (from, to, shared_bytes) in
            [(link.a, link.b, measured.shared_bytes[0]), (link.b, link.a, measured.shared_bytes[1])]
        {
            for side in 0..2 {
                self.consider(side, from, to, shared_bytes);
            }
        }
    }

    fn consider(&mut self, side: usize, from: ContentIndex, to: ContentIndex, shared_bytes: u64) {
        let subject = self.subject;
        let (own, others) = (self.copies(from)[side], self.copies(to)[1 - side]);
        if own.is_empty() || others.is_empty() {
            return;
        }
        let documents = &subject.frozen.documents;
        for place in own {
            let stays = &mut self.stays[*place as usize];
            if self.in_place[*place as usize].is_some_and(|other| documents[other as usize].content == to) {
                *stays = (*stays).max(Some(shared_bytes));
            }
        }
        let found = (shared_bytes, Reverse(to.0));
        if self.best[side][from.0 as usize].is_some_and(|best| best >= found)
            || own.len() * others.len() > COPIES_WEIGHED_MAX
        {
            return;
        }
        let name = |place: &u32| name(subject.frozen.path(&documents[*place as usize]));
        if own.iter().any(|own| others.iter().any(|other| name(own) == name(other))) {
            self.best[side][from.0 as usize] = Some(found);
        }
    }

    /// Takes in a link once more, when the best of all links are known.
    fn count_rivals(&mut self, link: &Link, measured: &LinkFigures) {
        let [of_a, of_b] = measured.shared_bytes;
        for (from, to, shared_bytes) in [(link.a, link.b, of_a), (link.b, link.a, of_b)] {
            let others = self.copies(to);
            for side in 0..2 {
                let best = self.best[side][from.0 as usize].filter(|_| !others[1 - side].is_empty());
                let is_rival = best.is_some_and(|(best, _)| shared_bytes.saturating_mul(2) >= best);
                self.rivals[side][from.0 as usize] += u32::from(is_rival);
            }
        }
    }

    /// The copies of a content at the two repositories.
    fn copies(&self, content: ContentIndex) -> [&'a [u32]; 2] {
        let Subject { frozen, copies, .. } = self.subject;
        let all = copies.of_content(content);
        let (a, b) = all.split_at(all.partition_point(|place| frozen.root_of(*place) == 0));
        [a, b]
    }

    /// The votes.
    fn finish(self) -> Vec<PlaceVote> {
        let mut votes: Vec<PlaceVote> = Vec::new();
        for (place, shared_bytes) in (0..).zip(&self.stays) {
            if let (Some(shared_bytes), Some(other)) = (shared_bytes, self.in_place[place as usize]) {
                let (places, weight) = ([place.min(other), place.max(other)], magnitude(*shared_bytes));
                votes.push(PlaceVote { places, weight, worth: FULL_WORTH });
            }
        }
        for (content, frozen) in self.subject.frozen.contents.iter().enumerate().filter(|(_, one)| one.size_bytes > 0) {
            let copies = self.copies(index(content));
            for side in 0..2 {
                let (others, shared_bytes, rivals) = match (copies[1 - side].is_empty(), self.best[side][content]) {
                    (false, _) => (copies[1 - side], frozen.size_bytes, 1),
                    (true, Some((shared_bytes, Reverse(other)))) => {
                        let rivals = self.rivals[side][content].max(self.rivals[1 - side][other as usize]);
                        (self.copies(ContentIndex(other))[1 - side], shared_bytes, rivals)
                    }
                    (true, None) => continue,
                };
                if copies[side].len() * others.len() <= COPIES_WEIGHED_MAX {
                    let crowd = (copies[side].len().max(others.len()) as u64).max(rivals.into());
                    let evidence = Evidence { shared_bytes, worth: worth(shared_bytes, crowd) };
                    let own = copies[side].iter().filter(|place| self.stays[**place as usize].is_none());
                    own.for_each(|place| self.vote(*place, others, evidence, &mut votes));
                }
            }
        }
        // Two documents that name each other vote twice.
        votes.sort_unstable();
        votes.dedup_by(|later, first| {
            let is_same = later.places == first.places;
            if is_same {
                first.weight += later.weight;
                first.worth = first.worth.max(later.worth);
            }
            is_same
        });
        votes
    }

    /// Votes for those of some documents at the other repository whose paths are most like that of a document.
    fn vote(&self, place: u32, others: &[u32], evidence: Evidence, votes: &mut Vec<PlaceVote>) {
        let path = |place: u32| self.subject.frozen.path_at(place);
        let free = others.iter().filter(|other| self.stays[**other as usize].is_none());
        let alike: Vec<(usize, u32)> = free
            .filter(|other| name(path(**other)) == name(path(place)))
            .map(|other| (common_end(path(place), path(*other)), *other))
            .collect();
        let most = alike.iter().map(|(bytes, _)| *bytes).max();
        let best: Vec<u32> = alike.iter().filter(|(bytes, _)| Some(*bytes) == most).map(|(_, other)| *other).collect();
        let worth = evidence.worth / best.len().max(1) as u64;
        let weight = magnitude(evidence.shared_bytes) / FULL_WORTH * worth;
        let of = |other: &u32| PlaceVote { places: [place.min(*other), place.max(*other)], weight, worth };
        votes.extend(best.iter().map(of));
    }
}

/// The bytes that a content shares with its copies or its closest relative at the other repository, and their worth.
#[derive(Clone, Copy)]
struct Evidence {
    shared_bytes: u64,
    worth: u64,
}

/// Evidence that two documents are at the same place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct PlaceVote {
    /// Their places among the frozen documents.
    places: [u32; 2],
    weight: u64,
    /// As in [`Vote`].
    worth: u64,
}

/// The worth of what is shared with one of a crowd, which has one at least.
fn worth(shared_bytes: u64, crowd: u64) -> u64 {
    FULL_WORTH * shared_bytes.min(EVIDENCE_BYTES_MIN) / EVIDENCE_BYTES_MIN * RARE_MAX / crowd.max(RARE_MAX)
}

/// Weight of a vote: a large document says more than a small one, and not as much as thousands of them.
fn magnitude(bytes: u64) -> u64 {
    UNIT * u64::from(u64::BITS - bytes.leading_zeros())
}

/// The alignment that the options of a scan ask for.
#[derive(Clone, Default, Debug)]
pub(crate) struct AlignmentRequest {
    /// Pairs of folders that it has in any case.
    pub(crate) given: Vec<[Vec<u8>; 2]>,
    /// True if further pairs are searched for.
    pub(crate) search: bool,
}

/// The same repositories under an earlier view.
pub(crate) struct EarlierView<'a> {
    pub(crate) frozen: &'a FrozenSet,
    pub(crate) votes: &'a [PlaceVote],
}

/// An alignment, and what speaks for it.
#[derive(Default)]
pub(crate) struct AlignmentFindings {
    pub(crate) alignment: Alignment,
    pub(crate) votes: Vec<PlaceVote>,
}

/// The links of an analysis that are evidence, one after the other.
pub(crate) type EachLink<'a> = &'a dyn Fn(&mut dyn FnMut(&Link)) -> Result<(), Error>;

/// The alignment of the two repositories of a layer; an empty one if there are not two.
pub(crate) fn find(
    subject: &Subject<'_>,
    each_link: EachLink<'_>,
    measures: &Measures,
    request: &AlignmentRequest,
    earlier: Option<EarlierView<'_>>,
) -> Result<AlignmentFindings, Error> {
    let Some(mut gathering) = Gathering::new(subject).filter(|_| request.search || !request.given.is_empty()) else {
        return Ok(AlignmentFindings::default());
    };
    let (mut own, mut all) = (Vec::new(), Vec::new());
    let mut frozen = vec![subject.frozen];
    if request.search {
        each_link(&mut |link| gathering.link(link, &measures.of(&subject.frozen.contents, link)))?;
        each_link(&mut |link| gathering.count_rivals(link, &measures.of(&subject.frozen.contents, link)))?;
        own = gathering.finish();
        frozen.extend(earlier.iter().map(|earlier| earlier.frozen));
        let of_views = [(subject.frozen, &own[..])].into_iter().chain(earlier.map(|view| (view.frozen, view.votes)));
        all = of_views.flat_map(|(frozen, votes)| votes.iter().map(|vote| vote.of(frozen))).collect();
    }
    let paths = [0, 1].map(|root| {
        let documents =
            frozen.iter().flat_map(|frozen| frozen.documents.iter().map(move |document| (frozen, document)));
        let of_root = documents.filter(|(_, document)| document.root == root);
        let mut paths: Vec<&[u8]> = of_root.map(|(frozen, document)| frozen.path(document)).collect();
        // Each view lists its documents in order: a stable sort merges the lists.
        paths.sort();
        paths.dedup();
        paths
    });
    Ok(AlignmentFindings { alignment: search([&paths[0], &paths[1]], &all, &request.given), votes: own })
}

impl PlaceVote {
    fn of<'f>(&self, frozen: &'f FrozenSet) -> Vote<'f> {
        let PlaceVote { places, weight, worth } = *self;
        Vote { paths: places.map(|place| frozen.path_at(place)), weight, worth }
    }
}

/// For each document, the one at its place in the other repository. Nothing if there are not two repositories.
pub(crate) fn counterparts(frozen: &FrozenSet, alignment: &Alignment) -> Option<Vec<Option<u32>>> {
    if frozen.roots.len() != 2 {
        return None;
    }
    let second = frozen.documents.partition_point(|document| document.root == 0);
    let paths: Vec<&[u8]> = frozen.documents.iter().map(|document| frozen.path(document)).collect();
    let mut counterparts = vec![None; paths.len()];
    for (a, found) in alignment.matched([&paths[..second], &paths[second..]]).into_iter().enumerate() {
        let Some((b, _)) = found else { continue };
        let b = second + b as usize;
        counterparts[a] = u32::try_from(b).ok();
        counterparts[b] = u32::try_from(a).ok();
    }
    Some(counterparts)
}
