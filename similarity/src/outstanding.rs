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
