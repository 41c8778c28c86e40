//! Pass 5, partition by partition: finds the pairs that share enough.
//!
//! Groups of members look for partners among the groups after them. A group adds up, rank by rank of its prefix, what
//! every later holder shares with it; whoever cannot reach the threshold with the weight of the ranks that are left is
//! dropped. For the others these ranks are either added up the same way or looked for in their own lists, whichever is
//! cheaper: few partners are walked one by one, thousands share the walk along the holders of common tags. That is
//! prefix filtering (Chaudhuri, Ganti and Kaushik 2006; Bayardo, Ma and Srikant 2007) with the choice between merging
//! and counting of Li, Lu and Lu (2008). Measures of pairs that are kept are exact.

use std::num::NonZeroUsize;

use crate::error::Error;
use crate::lists::Lists;
use crate::prefix::prefix_length;
use crate::workers::{Tracker, share_out};

/// Groups that look for partners between two looks at the caller's wish to cancel.
const SEEKERS_PER_TASK: usize = 64;

/// A pair of members and what they share; `smaller` has the smaller payload, and the smaller number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pair {
    pub(crate) smaller: u32,
    pub(crate) larger: u32,
    pub(crate) shared_bytes: u64,
}

/// Which pairs are wanted.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// What each member needs to share as the smaller one of a pair; must not fall from a member to the next.
    pub(crate) least_bytes: &'a (dyn Fn(u32) -> u64 + Sync),
    /// Whether a pair may count at all; any pair does unless it is given.
    pub(crate) admits: Option<&'a (dyn Fn(u32, u32) -> bool + Sync)>,
    /// Whether pairs are wanted of which a member is the smaller one; those of any unless it is given.
    pub(crate) seeks: Option<&'a (dyn Fn(u32) -> bool + Sync)>,
}

impl Wanted<'_> {
    #[inline]
    fn admits(&self, a: u32, b: u32) -> bool {
        self.admits.is_none_or(|admits| admits(a.min(b), a.max(b)))
    }
}

/// Takes the pairs that one thread finds.
pub(crate) trait Collect: Send {
    /// Takes a pair.
    fn pair(&mut self, pair: Pair) -> Result<(), Error>;
}

/// Finds all pairs that share what they need and gives back the collectors, and how many pairs were measured.
pub(crate) fn join<C: Collect>(
    lists: &Lists,
    wanted: Wanted<'_>,
    threads: NonZeroUsize,
    tracker: &Tracker<'_>,
    collect: impl Fn() -> C + Sync,
) -> Result<(Vec<C>, u64), Error> {
    let groups = lists.groups().count();
    let start = || (Seeker::new(lists, wanted), collect());
    let tasks = groups.div_ceil(SEEKERS_PER_TASK);
    let ends = share_out(threads, tasks, start, |(seeker, collect), task| {
        tracker.check()?;
        let first = task * SEEKERS_PER_TASK;
        (first..groups.min(first + SEEKERS_PER_TASK))
            .try_for_each(|group| seeker.seek(u32::try_from(group).expect("contents have 31-bit numbers"), collect))
    })?;
    let candidates = ends.iter().map(|(seeker, _)| seeker.candidates).sum();
    Ok((ends.into_iter().map(|(_, collect)| collect).collect(), candidates))
}

/// One thread's search.
pub(crate) struct Seeker<'a> {
    lists: &'a Lists,
    wanted: Wanted<'a>,
    /// What each group that was met shares with the one that seeks; zero for all others.
    shared_bytes: Vec<u64>,
    met: Vec<u32>,
    /// Weight of each rank after the prefix and of those after it.
    rests_bytes: Vec<u64>,
    candidates: u64,
}

/// Among which groups partners are sought.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Among {
    Later,
    All,
}

impl<'a> Seeker<'a> {
    pub(crate) fn new(lists: &'a Lists, wanted: Wanted<'a>) -> Seeker<'a> {
        let shared_bytes = vec![0; lists.groups().count()];
        Seeker { lists, wanted, shared_bytes, met: Vec::new(), rests_bytes: Vec::new(), candidates: 0 }
    }

    /// Finds the pairs of a group with itself and with those after it.
    fn seek(&mut self, group: u32, collect: &mut impl Collect) -> Result<(), Error> {
        let members = self.lists.groups().members(group);
        // The first member has the smallest payload of all that can come together here, and so needs the least.
        let least_bytes = (self.wanted.least_bytes)(members[0]);
        if self.lists.total_bytes(group) < least_bytes {
            return Ok(());
        }
        if self.wanted.seeks.is_some_and(|seeks| !members.iter().any(|&member| seeks(member))) {
            return Ok(());
        }
        self.pair_within(members, self.lists.total_bytes(group), collect)?;
        self.measure(group, least_bytes, Among::Later);
        for at in 0..self.met.len() {
            let other = self.met[at];
            let shared_bytes = std::mem::take(&mut self.shared_bytes[other as usize]);
            if shared_bytes >= least_bytes {
                self.pair_between(members, self.lists.groups().members(other), shared_bytes, collect)?;
            }
        }
        self.met.clear();
        Ok(())
    }

    /// The groups that share `least_bytes` or more with a group, and how many bytes.
    pub(crate) fn neighbours(&mut self, group: u32, least_bytes: u64, found: &mut Vec<(u32, u64)>) {
        found.clear();
        if self.lists.total_bytes(group) < least_bytes {
            return;
        }
        self.measure(group, least_bytes, Among::All);
        for group in self.met.drain(..) {
            let shared_bytes = std::mem::take(&mut self.shared_bytes[group as usize]);
            if shared_bytes >= least_bytes {
                found.push((group, shared_bytes));
            }
        }
    }

    fn pair_within(&mut self, members: &[u32], shared_bytes: u64, collect: &mut impl Collect) -> Result<(), Error> {
        for (at, &smaller) in members.iter().enumerate() {
            if (self.wanted.least_bytes)(smaller) > shared_bytes {
                break;
            }
            self.candidates += (members.len() - at - 1) as u64;
            for &larger in &members[at + 1..] {
                if self.wanted.admits(smaller, larger) {
                    collect.pair(Pair { smaller, larger, shared_bytes })?;
                }
            }
        }
        Ok(())
    }

    fn pair_between(&self, a: &[u32], b: &[u32], shared_bytes: u64, collect: &mut impl Collect) -> Result<(), Error> {
        if let (&[a], &[b]) = (a, b) {
            // Known to suffice and to be admitted.
            return collect.pair(Pair { smaller: a, larger: b, shared_bytes });
        }
        let suffices = |member: u32| (self.wanted.least_bytes)(member) <= shared_bytes;
        let mut pair = |smaller: u32, larger: u32| match self.wanted.admits(smaller, larger) {
            true => collect.pair(Pair { smaller, larger, shared_bytes }),
            false => Ok(()),
        };
        for (side, other) in [(a, b), (b, a)] {
            for &smaller in side {
                if !suffices(smaller) {
                    break;
                }
                let larger = other.partition_point(|&member| member < smaller);
                other[larger..].iter().try_for_each(|&larger| pair(smaller, larger))?;
            }
        }
        Ok(())
    }

    /// Leaves in `met` the groups that may share `least_bytes`, and in `shared_bytes` what they do where it is enough.
    fn measure(&mut self, group: u32, least_bytes: u64, among: Among) {
        let list = self.lists.list(group);
        let weights = list.iter().map(|&rank| self.lists.weight_bytes(rank));
        let prefix = prefix_length(weights, least_bytes);
        if self.is_common(&list[..prefix], group, among) {
            self.rests_bytes.clear();
            self.rests_bytes.push(0);
            self.count_all(group, among);
            self.drop_light(group, least_bytes);
            self.candidates += self.met.len() as u64;
            return;
        }
        for &rank in &list[..prefix] {
            let weight_bytes = self.lists.weight_bytes(rank);
            for &other in self.partners(rank, group, among) {
                let shared_bytes = &mut self.shared_bytes[other as usize];
                if *shared_bytes == 0 {
                    self.met.push(other);
                }
                *shared_bytes = shared_bytes.saturating_add(weight_bytes);
            }
        }
        if among == Among::All {
            self.met.retain(|&other| other != group);
            self.shared_bytes[group as usize] = 0;
        }
        let rest = &list[prefix..];
        self.weigh_rests(rest);
        self.drop_light(group, least_bytes);
        self.candidates += self.met.len() as u64;
        if self.met.is_empty() || rest.is_empty() {
            return;
        }
        let walk = self.met.len() * (rest.len() + 4);
        let holders = || rest.iter().map(|&rank| self.lists.holders(rank).len()).sum::<usize>();
        if self.met.len() > 4 && holders() < walk {
            self.count_rest(rest, group, among);
        } else {
            self.walk_rest(rest, least_bytes);
        }
    }

    /// Whether the holders of a prefix are so many that it is cheaper to look at all groups.
    fn is_common(&self, prefix: &[u32], group: u32, among: Among) -> bool {
        let (Some(common), Some(last)) = (self.lists.common(), prefix.last()) else {
            return false;
        };
        if !common.covers(*last) {
            return false;
        }
        let holders: usize = prefix.iter().map(|&rank| self.partners(rank, group, among).len()).sum();
        let groups = self.lists.groups().count() - if among == Among::Later { group as usize + 1 } else { 0 };
        // Whoever is met by the prefix is mostly looked at again for the ranks after it.
        3 * holders > (groups + common.setup()) * common.columns_of(self.lists.list(group))
    }

    /// Adds up all that the groups share with one: rare ranks along their holders, common ones by tables.
    fn count_all(&mut self, group: u32, among: Among) {
        let Some(common) = self.lists.common() else {
            return;
        };
        let list = self.lists.list(group);
        let rare = list.partition_point(|&rank| !common.covers(rank));
        for &rank in &list[..rare] {
            let weight_bytes = self.lists.weight_bytes(rank);
            for &other in self.partners(rank, group, among) {
                let shared_bytes = &mut self.shared_bytes[other as usize];
                *shared_bytes = shared_bytes.saturating_add(weight_bytes);
            }
        }
        let first = if among == Among::Later { group as usize + 1 } else { 0 };
        common.count(&list[rare..], |rank| self.lists.weight_bytes(rank), first, &mut self.shared_bytes[first..]);
        if among == Among::All {
            self.shared_bytes[group as usize] = 0;
        }
        let first = u32::try_from(first).expect("contents have 31-bit numbers");
        let shared = (first..).zip(&self.shared_bytes[first as usize..]);
        self.met.extend(shared.filter(|(_, shared_bytes)| **shared_bytes > 0).map(|(other, _)| other));
    }

    fn partners(&self, rank: u32, group: u32, among: Among) -> &'a [u32] {
        let holders = self.lists.holders(rank);
        match among {
            Among::Later => &holders[holders.partition_point(|&other| other <= group)..],
            Among::All => holders,
        }
    }

    fn weigh_rests(&mut self, rest: &[u32]) {
        self.rests_bytes.clear();
        self.rests_bytes.resize(rest.len() + 1, 0);
        for (at, &rank) in rest.iter().enumerate().rev() {
            self.rests_bytes[at] = self.rests_bytes[at + 1].saturating_add(self.lists.weight_bytes(rank));
        }
    }

    /// Forgets the groups that cannot reach the threshold any more, and single pairs that do not count.
    fn drop_light(&mut self, group: u32, least_bytes: u64) {
        let rest_bytes = self.rests_bytes[0];
        let (groups, wanted) = (self.lists.groups(), self.wanted);
        let members = groups.members(group);
        self.met.retain(|&other| {
            let shared_bytes = &mut self.shared_bytes[other as usize];
            let kept = shared_bytes.saturating_add(rest_bytes) >= least_bytes
                && match (members, groups.members(other)) {
                    (&[a], &[b]) => wanted.admits(a, b),
                    _ => true,
                };
            if !kept {
                *shared_bytes = 0;
            }
            kept
        });
    }

    /// Adds up the ranks after the prefix along their holders.
    fn count_rest(&mut self, rest: &[u32], group: u32, among: Among) {
        for &rank in rest {
            let weight_bytes = self.lists.weight_bytes(rank);
            for &other in self.partners(rank, group, among) {
                let shared_bytes = &mut self.shared_bytes[other as usize];
                if *shared_bytes > 0 {
                    *shared_bytes = shared_bytes.saturating_add(weight_bytes);
                }
            }
        }
    }

    /// Looks for the ranks after the prefix in the lists of the groups met, and stops where they cannot be enough.
    fn walk_rest(&mut self, rest: &[u32], least_bytes: u64) {
        for &other in &self.met {
            let list = self.lists.list(other);
            let list = &list[list.partition_point(|&rank| rank < rest[0])..];
            let mut shared_bytes = self.shared_bytes[other as usize];
            let (mut at, mut bt) = (0, 0);
            while at < rest.len() && bt < list.len() {
                if rest[at] == list[bt] {
                    shared_bytes = shared_bytes.saturating_add(self.lists.weight_bytes(rest[at]));
                    at += 1;
                    bt += 1;
                } else if rest[at] < list[bt] {
                    at += 1;
                    if shared_bytes.saturating_add(self.rests_bytes[at]) < least_bytes {
                        break;
                    }
                } else {
                    bt += 1;
                }
            }
            self.shared_bytes[other as usize] = shared_bytes;
        }
    }
}
