//! The strongest links that hold clusters together: a maximum spanning forest of links that stream past. What makes a link
//! strong is up to the caller: clusters keep the most alike, and are ordered by those that share most bytes.
//!
//! A link is left out where stronger ones connect its ends already. A link that is
//! left out of the forest of some links is left out of the forest of all links too (Kruskal 1956), so a full buffer may be thinned at any time, and forests of
//! several threads may be joined: the outcome is the one of all links together. Memory is linear in the members.

use std::cmp::Reverse;

use crate::component::Components;
use crate::members::{Members, Pair};

/// The strength of a link; no two links of a partition are equally strong.
///
/// The more a link weighs, the stronger; among equals, the smaller the payloads of its members, then their numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Strength {
    weight: u64,
    places: Reverse<(u32, u32)>,
}

impl Strength {
    /// Stronger than any link.
    const MOST: Strength = Strength { weight: u64::MAX, places: Reverse((0, 0)) };

    fn of(link: &StrongLink) -> Strength {
        Strength { weight: link.weight, places: Reverse((link.pair.smaller, link.pair.larger)) }
    }
}

/// A pair and what its link weighs: how much its members resemble each other, in the units of
/// [`crate::measure::Resemblance::to_fixed`], or the bytes that they share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StrongLink {
    pub(crate) pair: Pair,
    pub(crate) weight: u64,
}

impl StrongLink {
    pub(crate) fn of(members: &Members<'_>, pair: Pair) -> StrongLink {
        StrongLink { pair, weight: members.resemblance(&pair).to_fixed() }
    }
}

/// The forest of the links added so far.
#[derive(Debug)]
pub(crate) struct Forest {
    links: Vec<StrongLink>,
    links_max: usize,
    /// Of each member, the root of its tree when the buffer was last thinned, and the weakest link on the path to it.
    /// The path between two members of a tree is no weaker than the weaker of their paths to the root: a link that is
    /// weaker than both cannot count.
    paths: Vec<RootPath>,
}

#[derive(Clone, Copy, Debug)]
struct RootPath {
    root: u32,
    weakest: Strength,
}

impl Forest {
    pub(crate) fn new(members: usize) -> Forest {
        let count = u32::try_from(members).expect("contents have 31-bit numbers");
        Forest {
            links: Vec::new(),
            links_max: (2 * members).max(1024),
            paths: (0..count).map(|member| RootPath { root: member, weakest: Strength::MOST }).collect(),
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, link: StrongLink) {
        let (a, b) = (&self.paths[link.pair.smaller as usize], &self.paths[link.pair.larger as usize]);
        if a.root == b.root && Strength::of(&link) < a.weakest.min(b.weakest) {
            return;
        }
        self.links.push(link);
        if self.links.len() >= self.links_max {
            self.thin();
        }
    }

    /// Adds the forest of another thread.
    pub(crate) fn join(&mut self, other: Forest) {
        other.links.into_iter().for_each(|link| self.add(link));
    }

    /// The links of the forest, the strongest first, and the trees.
    pub(crate) fn finish(mut self) -> (Vec<Pair>, Components) {
        let trees = self.thin();
        (self.links.into_iter().map(|link| link.pair).collect(), trees)
    }

    fn thin(&mut self) -> Components {
        let components = Components::new(self.paths.len());
        self.links.sort_unstable_by_key(|link| Reverse(Strength::of(link)));
        self.links.retain(|link| {
            let connects = components.root(link.pair.smaller) != components.root(link.pair.larger);
            components.unite(link.pair.smaller, link.pair.larger);
            connects
        });
        self.find_paths();
        components
    }

    /// Walks every tree from an end of its strongest link.
    fn find_paths(&mut self) {
        let mut starts = vec![0u32; self.paths.len() + 2];
        let ends = |link: &StrongLink| [(link.pair.smaller, link.pair.larger), (link.pair.larger, link.pair.smaller)];
        for (from, _) in self.links.iter().flat_map(ends) {
            starts[from as usize + 2] += 1;
        }
        for at in 2..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut steps = vec![(0u32, 0u32); 2 * self.links.len()];
        for (number, link) in (0u32..).zip(&self.links) {
            for (from, to) in ends(link) {
                let place = &mut starts[from as usize + 1];
                steps[*place as usize] = (to, number);
                *place += 1;
            }
        }
        let mut walked = vec![false; self.paths.len()];
        let mut open = Vec::new();
        for strongest in &self.links {
            let root = strongest.pair.smaller;
            if walked[root as usize] {
                continue;
            }
            walked[root as usize] = true;
            self.paths[root as usize] = RootPath { root, weakest: Strength::MOST };
            open.push(root);
            while let Some(from) = open.pop() {
                let weakest = self.paths[from as usize].weakest;
                for &(to, link) in &steps[starts[from as usize] as usize..starts[from as usize + 1] as usize] {
                    if !std::mem::replace(&mut walked[to as usize], true) {
                        let weakest = weakest.min(Strength::of(&self.links[link as usize]));
                        self.paths[to as usize] = RootPath { root, weakest };
                        open.push(to);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn link(smaller: u32, larger: u32, weight: u64) -> StrongLink {
        StrongLink { pair: Pair { smaller, larger, shared_bytes: weight }, weight }
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

    fn strongest(links: &[(u32, u32, u64)], members: usize) -> Vec<(u32, u32)> {
        let mut forest = Forest::new(members);
        links.iter().for_each(|&(a, b, weight)| forest.add(link(a, b, weight)));
        forest.finish().0.iter().map(|pair| (pair.smaller, pair.larger)).collect()
    }

    #[test]
    fn the_weakest_link_of_every_circle_is_left_out() {
        for (links, expected) in [
            (&[][..], &[][..]),
            (&[(0, 1, 5)], &[(0, 1)]),
            (&[(0, 1, 5), (1, 2, 3), (0, 2, 4)], &[(0, 1), (0, 2)]),
            (&[(0, 1, 5), (1, 2, 5), (0, 2, 5)], &[(0, 1), (0, 2)]),
            (&[(0, 1, 1), (2, 3, 9)], &[(2, 3), (0, 1)]),
            (&[(0, 1, 9), (1, 2, 1), (2, 3, 9), (0, 3, 2)], &[(0, 1), (2, 3), (0, 3)]),
        ] {
            assert_eq!(strongest(links, 4), expected, "{links:?}");
        }
    }

    #[test]
    fn among_equals_the_link_of_smaller_members_is_stronger() {
        let strength = |smaller, larger, weight| Strength::of(&link(smaller, larger, weight));
        let ascending = [strength(0, 1, 1), strength(5, 6, 2), strength(3, 9, 2), strength(3, 4, 2), Strength::MOST];
        assert!(ascending.is_sorted());
    }

    proptest! {
        #[test]
        fn a_forest_is_the_one_that_kruskal_finds(
            links in prop::collection::btree_map((0u32..12, 0u32..12), 0u64..6, 0..60),
            links_max in 1usize..80,
        ) {
            let links: Vec<StrongLink> =
                links.into_iter().filter(|((a, b), _)| a < b).map(|((a, b), strength)| link(a, b, strength)).collect();
            let mut forest = Forest { links_max, ..Forest::new(12) };
            links.iter().for_each(|link| forest.add(*link));
            let mut sorted = links.clone();
            sorted.sort_unstable_by_key(|link| Reverse(Strength::of(link)));
            let mut trees: Vec<u32> = (0..12).collect();
            sorted.retain(|link| {
                let (from, to) = (trees[link.pair.smaller as usize], trees[link.pair.larger as usize]);
                trees.iter_mut().filter(|tree| **tree == from).for_each(|tree| *tree = to);
                from != to
            });
            let expected: Vec<Pair> = sorted.iter().map(|link| link.pair).collect();
            prop_assert_eq!(forest.finish().0, expected);
        }
    }
}
