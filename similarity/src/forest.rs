//! The strongest links that hold clusters together: a maximum spanning forest of links that stream past.
//!
//! A link is left out where stronger ones connect its ends already. Whatever the strongest links of some links leave out,
//! the strongest of all leave out too (Kruskal 1956), so a full buffer may be thinned at any time, and forests of several
//! threads may be joined: the outcome is the one of all links together. Memory is linear in the members.

use std::cmp::Reverse;

use crate::component::Components;
use crate::join::Pair;

/// How strong a link is; no two links of a partition are equally strong.
///
/// The more two members resemble each other, the stronger; among equals, the smaller their payloads, then their numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Strength {
    resemblance: u64,
    places: Reverse<(u32, u32)>,
}

impl Strength {
    /// Weaker than any link.
    const NONE: Strength = Strength { resemblance: 0, places: Reverse((u32::MAX, u32::MAX)) };

    fn of(link: &StrongLink) -> Strength {
        Strength { resemblance: link.resemblance, places: Reverse((link.pair.smaller, link.pair.larger)) }
    }
}

/// A pair and how much its members resemble each other, in the units of [`crate::measure::Resemblance::to_fixed`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct StrongLink {
    pub(crate) pair: Pair,
    pub(crate) resemblance: u64,
}

/// The forest of the links seen so far.
#[derive(Debug)]
pub(crate) struct Forest {
    links: Vec<StrongLink>,
    links_max: usize,
    /// Of each member, its tree when the buffer was last thinned.
    trees: Vec<u32>,
    /// The weakest link of each tree: what is weaker and within the tree cannot count.
    weakest: Vec<Strength>,
}

impl Forest {
    pub(crate) fn new(members: usize) -> Forest {
        let count = u32::try_from(members).expect("contents have 31-bit numbers");
        Forest {
            links: Vec::new(),
            links_max: (2 * members).max(1024),
            trees: (0..count).collect(),
            weakest: vec![Strength::NONE; members],
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, link: StrongLink) {
        let tree = self.trees[link.pair.smaller as usize];
        if tree == self.trees[link.pair.larger as usize] && Strength::of(&link) < self.weakest[tree as usize] {
            return;
        }
        self.links.push(link);
        if self.links.len() >= self.links_max {
            self.thin();
        }
    }

    /// Takes in what another thread kept.
    pub(crate) fn join(&mut self, other: Forest) {
        other.links.into_iter().for_each(|link| self.add(link));
    }

    /// The links of the forest, the strongest first, and the trees.
    pub(crate) fn finish(mut self) -> (Vec<Pair>, Components) {
        let trees = self.thin();
        (self.links.into_iter().map(|link| link.pair).collect(), trees)
    }

    fn thin(&mut self) -> Components {
        let components = Components::new(self.trees.len());
        self.links.sort_unstable_by_key(|link| Reverse(Strength::of(link)));
        self.links.retain(|link| {
            let connects = components.root(link.pair.smaller) != components.root(link.pair.larger);
            components.unite(link.pair.smaller, link.pair.larger);
            connects
        });
        for (member, tree) in (0u32..).zip(&mut self.trees) {
            *tree = components.root(member);
        }
        self.weakest.fill(Strength::NONE);
        for link in &self.links {
            // The strongest come first, so the last one stays.
            self.weakest[self.trees[link.pair.smaller as usize] as usize] = Strength::of(link);
        }
        components
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(smaller: u32, larger: u32, resemblance: u64) -> StrongLink {
        StrongLink { pair: Pair { smaller, larger, shared_bytes: resemblance }, resemblance }
    }

    #[test]
    fn the_order_of_links_and_the_size_of_the_buffer_do_not_matter() {
        let mut links = Vec::new();
        for a in 0..60u32 {
            links.extend((a + 1..60).filter(|b| (a * b) % 7 < 3).map(|b| link(a, b, u64::from(a * 31 + b * 17) % 20)));
        }
        let forest = |links: &mut dyn Iterator<Item = &StrongLink>, links_max| {
            let mut forest = Forest { links_max, ..Forest::new(60) };
            links.for_each(|link| forest.add(*link));
            forest
        };
        let (expected, trees) = forest(&mut links.iter(), usize::MAX).finish();
        let roots = (0..60).filter(|&member| trees.root(member) == member).count();
        assert_eq!(expected.len(), 60 - roots);
        assert_eq!(forest(&mut links.iter(), 70).finish().0, expected);
        assert_eq!(forest(&mut links.iter().rev(), 61).finish().0, expected);
        let mut half = forest(&mut links.iter().step_by(2), 80);
        half.join(forest(&mut links.iter().skip(1).step_by(2), 1000));
        assert_eq!(half.finish().0, expected);
    }
}
