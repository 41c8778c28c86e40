//! Of clusters that omit links: the links from which the facts about each member follow, and counts of the others.
//!
//! Links can grow with the square of the members; what is kept here does not. Of each member these links stand out:
//!
//! - the one by which it shares most bytes, and the one by which it shares most with a member that is held elsewhere;
//! - the one by which it holds most of another;
//! - the one by which each of the two holds most of the larger.
//!
//! So nothing is lost of what a member is at best: what it shares, contains and is near to. Of equals the one with the first other member counts, so that
//! neither order nor threads matter. Next to them stand the links of the maximum spanning forest by shared bytes.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeSet;

use crate::forest::{Forest, StrongLink};
use crate::input::{HolderLabel, Holders};
use crate::measure::Resemblance;
use crate::members::{Members, Pair};
use crate::omitted::{OmittedLinks, OmittedOf, STRENGTHS, strength};

/// No other member yet.
const NONE: u32 = u32::MAX;

/// The other end of a link, and what it shares.
#[derive(Clone, Copy, Debug)]
struct End {
    member: u32,
    shared_bytes: u64,
}

const NO_END: End = End { member: NONE, shared_bytes: 0 };

/// The links of a member that stand out.
#[derive(Clone, Copy, Debug)]
struct Best {
    shares: End,
    /// Of those that are not held where that one is.
    elsewhere: End,
    holds: End,
    near: End,
    /// The buckets of its links, a bit for each: by resemblance, by containment.
    strengths: [u32; 2],
}

const NO_BEST: Best = Best { shares: NO_END, elsewhere: NO_END, holds: NO_END, near: NO_END, strengths: [0; 2] };

/// The groups that hold the contents.
#[derive(Clone, Copy)]
pub(crate) struct HeldBy<'a> {
    pub(crate) holders: &'a Holders,
    /// The labels by which elsewhere is told; nothing where nobody is known to hold anything.
    pub(crate) labels: &'a [HolderLabel],
    /// The label of each content where each group is a label.
    pub(crate) groups: &'a [HolderLabel],
    /// Words of 64 groups.
    pub(crate) words: usize,
}

/// Links that stand out of those that stream past, in any order.
pub(crate) struct Outstanding<'a> {
    members: Members<'a>,
    held_by: HeldBy<'a>,
    best: Vec<Best>,
    /// The groups that hold what a member is linked with, words for each.
    reached: Vec<u64>,
    joins: Forest,
    count: u64,
    strengths: [[u64; STRENGTHS]; 2],
}

impl<'a> Outstanding<'a> {
    pub(crate) fn new(members: Members<'a>, held_by: HeldBy<'a>) -> Outstanding<'a> {
        let count = members.count();
        Outstanding {
            members,
            held_by,
            best: vec![NO_BEST; count],
            reached: vec![0; count * held_by.words],
            joins: Forest::new(count),
            count: 0,
            strengths: [[0; STRENGTHS]; 2],
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, pair: Pair) {
        self.joins.add(StrongLink { pair, weight: pair.shared_bytes });
        self.count += 1;
        let buckets = self.buckets(&pair);
        for (counts, bucket) in self.strengths.iter_mut().zip(buckets) {
            counts[bucket] += 1;
        }
        for (own, other) in [(pair.smaller, pair.larger), (pair.larger, pair.smaller)] {
            for (bits, bucket) in self.best[own as usize].strengths.iter_mut().zip(buckets) {
                *bits |= 1 << bucket;
            }
            self.consider(own, End { member: other, shared_bytes: pair.shared_bytes });
            self.reach(own, other);
        }
    }

    /// Counts a link no more.
    pub(crate) fn discount(&mut self, pair: &Pair) {
        self.count -= 1;
        let buckets = self.buckets(pair);
        for (counts, bucket) in self.strengths.iter_mut().zip(buckets) {
            counts[bucket] -= 1;
        }
    }

    /// Adds what another thread has found.
    pub(crate) fn join(&mut self, other: Outstanding<'_>) {
        for (own, theirs) in (0u32..).zip(&other.best) {
            [theirs.shares, theirs.elsewhere, theirs.holds, theirs.near]
                .into_iter()
                .filter(|end| end.member != NONE)
                .for_each(|end| self.consider(own, end));
            let best = &mut self.best[own as usize];
            best.strengths.iter_mut().zip(theirs.strengths).for_each(|(mine, theirs)| *mine |= theirs);
        }
        self.reached.iter_mut().zip(&other.reached).for_each(|(mine, theirs)| *mine |= theirs);
        self.joins.join(other.joins);
        self.count += other.count;
        for (mine, theirs) in self.strengths.iter_mut().zip(other.strengths) {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        }
    }

    /// The links that stand out of the members that `is_wanted` names, with some others, each once; and what all others
    /// of these members say.
    pub(crate) fn finish(mut self, others: &[Pair], is_wanted: impl Fn(u32) -> bool) -> (Vec<Pair>, OmittedLinks) {
        let mut found: BTreeSet<(u32, u32)> = BTreeSet::new();
        let mut pairs = Vec::new();
        let mut take = |pair: Pair| {
            if found.insert((pair.smaller, pair.larger)) {
                pairs.push(pair);
            }
        };
        let joins = std::mem::replace(&mut self.joins, Forest::new(0)).finish().0;
        others.iter().chain(&joins).filter(|pair| is_wanted(pair.smaller)).for_each(|pair| take(*pair));
        let wanted = (0u32..).zip(&self.best).filter(|(own, best)| best.shares.member != NONE && is_wanted(*own));
        for (own, best) in wanted.clone() {
            let ends = [best.shares, best.elsewhere, best.holds, best.near];
            for End { member, shared_bytes } in ends.into_iter().filter(|end| end.member != NONE) {
                take(Pair { smaller: own.min(member), larger: own.max(member), shared_bytes });
            }
        }
        let words = self.held_by.words;
        let mut of: Vec<OmittedOf> = wanted
            .map(|(own, best)| OmittedOf {
                content: self.members.content(own),
                strengths: best.strengths,
                groups: self.reached[own as usize * words..(own as usize + 1) * words].to_vec(),
            })
            .collect();
        of.sort_unstable_by_key(|one| one.content);
        pairs.iter().for_each(|pair| self.discount(pair));
        let [resemblance, containment] = self.strengths;
        (pairs, OmittedLinks { count: self.count, resemblance, containment, of })
    }

    fn consider(&mut self, own: u32, end: End) {
        let members = self.members;
        let before = |other: u32| Reverse(members.content(other).0);
        let by_bytes = |a: &End, b: &End| {
            let order = a.shared_bytes.cmp(&b.shared_bytes);
            order.then_with(|| before(a.member).cmp(&before(b.member)))
        };
        let by_share = |a: &End, b: &End, whole: &dyn Fn(u32) -> u64| -> Ordering {
            let share = |x: &End, y: &End| u128::from(x.shared_bytes) * u128::from(whole(y.member).max(1));
            share(a, b).cmp(&share(b, a)).then_with(|| by_bytes(a, b))
        };
        let payload = |member: u32| members.payload_bytes(member);
        let larger = |member: u32| members.payload_bytes(member.max(own));
        let best = &mut self.best[own as usize];
        if best.shares.member == NONE {
            (best.shares, best.holds, best.near) = (end, end, end);
            return;
        }
        let label = |member: u32| {
            let labels = self.held_by.labels;
            labels.get(members.content(member).at()).copied().unwrap_or(HolderLabel::NONE)
        };
        let is_apart = || label(best.shares.member) != label(end.member);
        if by_bytes(&end, &best.shares).is_gt() {
            if is_apart() {
                best.elsewhere = best.shares;
            }
            best.shares = end;
        } else if (best.elsewhere.member == NONE || by_bytes(&end, &best.elsewhere).is_gt()) && is_apart() {
            best.elsewhere = end;
        }
        if by_share(&end, &best.holds, &payload).is_gt() {
            best.holds = end;
        }
        if by_share(&end, &best.near, &larger).is_gt() {
            best.near = end;
        }
    }

    /// Notes who holds what a member is linked with.
    fn reach(&mut self, own: u32, other: u32) {
        let HeldBy { holders, groups, words, .. } = self.held_by;
        if words == 0 {
            return;
        }
        let content = self.members.content(other);
        let reached = &mut self.reached[own as usize * words..(own as usize + 1) * words];
        let mut mark = |group: usize| reached[group / 64] |= 1 << (group % 64);
        match groups[content.at()].single() {
            Some(group) => mark(group),
            None => {
                holders.of(content).iter().filter(|held| held.copies > 0).for_each(|held| mark(held.group.0.into()))
            }
        }
    }

    fn buckets(&self, pair: &Pair) -> [usize; 2] {
        let Resemblance { shared, union } = self.members.resemblance(pair);
        // The smaller of two holds the larger share of itself.
        [strength(shared, union), strength(pair.shared_bytes, self.members.payload_bytes(pair.smaller))]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;
    use crate::input::{Group, Holding};
    use crate::posting::ContentIndex;

    /// Groups at both ends of the words that have their bits.
    const GROUPS: [u16; 5] = [0, 63, 64, 127, 128];
    const MEMBERS: u32 = 8;

    #[derive(Debug)]
    struct World {
        contents: Vec<u32>,
        payload_bytes: Vec<u64>,
        holders: Holders,
        labels: Vec<HolderLabel>,
    }

    impl World {
        fn new(contents: &[(u64, Vec<(usize, u32)>)]) -> World {
            let payload_bytes: Vec<u64> = contents.iter().map(|(payload_bytes, _)| *payload_bytes).collect();
            let mut order: Vec<u32> = (0..MEMBERS).collect();
            order.sort_by_key(|content| (payload_bytes[*content as usize], *content));
            let mut holders = Holders::new();
            for (_, held) in contents {
                holders.push(held.iter().map(|&(at, copies)| Holding { group: Group(GROUPS[at]), copies }));
            }
            let labels = HolderLabel::of_all(&holders, &(0..=128).collect::<Vec<u16>>());
            World { contents: order, payload_bytes, holders, labels }
        }

        fn members(&self) -> Members<'_> {
            Members { contents: &self.contents, payload_bytes: &self.payload_bytes }
        }

        fn outstanding<'p>(&self, links: impl IntoIterator<Item = &'p Pair>) -> Outstanding<'_> {
            let (labels, groups) = (&self.labels[..], &self.labels[..]);
            let mut found =
                Outstanding::new(self.members(), HeldBy { holders: &self.holders, labels, groups, words: 3 });
            links.into_iter().for_each(|link| found.add(*link));
            found
        }
    }

    fn world() -> impl Strategy<Value = World> {
        let held = prop::collection::vec((0..GROUPS.len(), 0..3_u32), 0..3);
        prop::collection::vec((1..30_u64, held), MEMBERS as usize).prop_map(|contents| World::new(&contents))
    }

    /// Contents and links between some of them, in any order.
    fn linked() -> impl Strategy<Value = (World, Vec<Pair>)> {
        let links = prop::collection::btree_map((0..MEMBERS, 0..MEMBERS), 0..1000_u64, 0..40);
        let links = links.prop_map(|links| Vec::from_iter(links.into_iter().filter(|((a, b), _)| a < b)));
        (world(), links.prop_shuffle()).prop_map(|(world, links)| {
            let shared = |smaller: u32, number: u64| 1 + number % world.members().payload_bytes(smaller);
            let pair = |((smaller, larger), number)| Pair { smaller, larger, shared_bytes: shared(smaller, number) };
            let links = links.into_iter().map(pair).collect();
            (world, links)
        })
    }

    fn finished(found: Outstanding<'_>, is_wanted: impl Fn(u32) -> bool) -> (Vec<Pair>, OmittedLinks) {
        let (mut pairs, omitted) = found.finish(&[], is_wanted);
        pairs.sort_unstable_by_key(|pair| (pair.smaller, pair.larger));
        (pairs, omitted)
    }

    proptest! {
        #[test]
        fn neither_the_order_of_links_nor_the_thread_that_meets_them_matters((world, links) in linked()) {
            let mut ascending = links.clone();
            ascending.sort_unstable_by_key(|pair| (pair.smaller, pair.larger));
            let expected = finished(world.outstanding(&ascending), |_| true);
            let of_thread = |thread: usize| world.outstanding(links.iter().skip(thread).step_by(3));
            let mut found = of_thread(2);
            found.join(of_thread(0));
            found.join(of_thread(1));
            prop_assert_eq!(finished(found, |_| true), expected);
        }

        #[test]
        fn every_link_is_reported_or_counted_and_a_member_knows_what_all_of_its_links_reach((world, links) in linked()) {
            let (reported, omitted) = finished(world.outstanding(&links), |_| true);
            let different: BTreeSet<(u32, u32)> = reported.iter().map(|pair| (pair.smaller, pair.larger)).collect();
            prop_assert!(different.len() == reported.len() && reported.iter().all(|pair| links.contains(pair)));
            let members = world.members();
            let buckets = |pair: &Pair| {
                let Resemblance { shared, union } = members.resemblance(pair);
                [strength(shared, union), strength(pair.shared_bytes, members.payload_bytes(pair.smaller))]
            };
            let mut counts = [[0; STRENGTHS]; 2];
            for pair in links.iter().filter(|pair| !reported.contains(pair)) {
                counts.iter_mut().zip(buckets(pair)).for_each(|(counts, bucket)| counts[bucket] += 1);
            }
            prop_assert_eq!([omitted.resemblance, omitted.containment], counts);
            prop_assert_eq!(omitted.count, (links.len() - reported.len()) as u64);
            let mut of: BTreeMap<ContentIndex, ([u32; 2], BTreeSet<u16>)> = BTreeMap::new();
            for pair in &links {
                for (own, other) in [(pair.smaller, pair.larger), (pair.larger, pair.smaller)] {
                    let (bits, groups) = of.entry(members.content(own)).or_default();
                    bits.iter_mut().zip(buckets(pair)).for_each(|(bits, bucket)| *bits |= 1 << bucket);
                    let held = world.holders.of(members.content(other)).iter().filter(|held| held.copies > 0);
                    groups.extend(held.map(|held| held.group.0));
                }
            }
            prop_assert!(omitted.of.iter().map(|one| one.content).eq(of.keys().copied()));
            for (one, (bits, groups)) in omitted.of.iter().zip(of.values()) {
                prop_assert_eq!(&one.strengths, bits);
                prop_assert!((0..200).all(|group| one.reaches(group) == groups.contains(&group)), "{:?}", groups);
            }
        }

        #[test]
        fn links_that_are_counted_no_more_leave_what_the_others_say((world, links) in linked()) {
            // Two clusters: of the second, the caller has all links.
            let is_wanted = |member: u32| member < MEMBERS / 2;
            let links = || links.iter().filter(|pair| is_wanted(pair.smaller) == is_wanted(pair.larger));
            let mut both = world.outstanding(links());
            links().filter(|pair| !is_wanted(pair.smaller)).for_each(|pair| both.discount(pair));
            let first = world.outstanding(links().filter(|pair| is_wanted(pair.smaller)));
            prop_assert_eq!(finished(both, is_wanted), finished(first, |_| true));
        }
    }

    #[test]
    fn the_best_of_a_member_elsewhere_is_not_held_where_its_best_of_all_is() {
        // Content 0 shares most with 3 and 2, which one group holds, and less with 1, which another one holds.
        let held = |at| vec![(at, 1)];
        let mut contents = vec![(100, held(0)), (100, held(1)), (100, held(2)), (100, held(2))];
        contents.resize(MEMBERS as usize, (1, vec![]));
        let world = World::new(&contents);
        let place =
            |content: u32| u32::try_from(world.contents.iter().position(|one| *one == content).unwrap()).unwrap();
        let link = |a: u32, b: u32, shared_bytes| Pair { smaller: place(a), larger: place(b), shared_bytes };
        let links = [link(0, 1, 10), link(0, 2, 20), link(0, 3, 30)];
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let found = world.outstanding(order.map(|at| &links[at]));
            let best = found.best[place(0) as usize];
            assert_eq!((best.shares.member, best.elsewhere.member), (place(3), place(1)), "{order:?}");
        }
    }
}
