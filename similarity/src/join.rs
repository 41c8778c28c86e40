//! Pass 5, partition by partition: finds the pairs that share enough.
//!
//! Groups of members look for partners among the groups after them. A group adds up, rank by rank of its prefix, what
//! every later holder shares with it; a holder that cannot reach the threshold with the weight of the ranks that are
//! left is dropped. For the others these ranks are either added up the same way or looked for in their own lists,
//! whichever is cheaper: few partners are walked one by one, thousands share the walk along the holders of common tags.
//! That is prefix filtering (Chaudhuri, Ganti and Kaushik 2006; Bayardo, Ma and Srikant 2007) with the choice between
//! merging and counting of Li, Lu and Lu (2008). Measures of the pairs that remain are exact.

use std::num::NonZeroUsize;

use crate::error::Error;
use crate::lists::Lists;
use crate::members::Pair;
use crate::prefix::prefix_length;
use crate::workers::{Tracker, share_out};

/// Groups that look for partners between two checks for cancellation.
const SEARCHES_PER_TASK: usize = 64;

/// The pairs to find.
#[derive(Clone, Copy)]
pub(crate) struct PairFilter<'a> {
    /// Bytes that each member must share as the smaller one of a pair; must not fall from a member to the next.
    pub(crate) least_bytes: &'a (dyn Fn(u32) -> u64 + Sync),
    /// True for pairs that count; if absent, all do.
    pub(crate) admits: Option<&'a (dyn Fn(u32, u32) -> bool + Sync)>,
    /// True for members whose pairs with larger members are searched; if absent, those of all are. A member needs all
    /// smaller ones with it, or all that it is linked with: groups are only searched from the first.
    pub(crate) searches: Option<&'a (dyn Fn(u32) -> bool + Sync)>,
}

impl PairFilter<'_> {
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

/// Finds all pairs that share enough; returns the collectors and the number of pairs measured.
pub(crate) fn join<C: Collect>(
    lists: &Lists,
    filter: PairFilter<'_>,
    threads: NonZeroUsize,
    tracker: &Tracker<'_>,
    collect: impl Fn() -> C + Sync,
) -> Result<(Vec<C>, u64), Error> {
    let groups = lists.groups().count();
    let start = || (PairSearch::new(lists, filter), collect());
    let tasks = groups.div_ceil(SEARCHES_PER_TASK);
    let ends = share_out(threads, tasks, start, |(search, collect), task| {
        tracker.check()?;
        let first = task * SEARCHES_PER_TASK;
        (first..groups.min(first + SEARCHES_PER_TASK)).try_for_each(|group| {
            search.find_pairs_of(u32::try_from(group).expect("contents have 31-bit numbers"), collect)
        })
    })?;
    let candidates = ends.iter().map(|(search, _)| search.candidates).sum();
    Ok((ends.into_iter().map(|(_, collect)| collect).collect(), candidates))
}

/// The search of one thread for pairs.
pub(crate) struct PairSearch<'a> {
    lists: &'a Lists,
    filter: PairFilter<'a>,
    /// Bytes that each group met shares with the searching group; zero for all others.
    shared_bytes: Vec<u64>,
    met: Vec<u32>,
    /// Weight of each rank after the prefix and of those after it.
    rests_bytes: Vec<u64>,
    candidates: u64,
}

/// The groups that may be partners of a group.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PartnerRange {
    Later,
    All,
}

impl<'a> PairSearch<'a> {
    pub(crate) fn new(lists: &'a Lists, filter: PairFilter<'a>) -> PairSearch<'a> {
        let shared_bytes = vec![0; lists.groups().count()];
        PairSearch { lists, filter, shared_bytes, met: Vec::new(), rests_bytes: Vec::new(), candidates: 0 }
    }

    /// Finds the pairs of a group with itself and with those after it.
    fn find_pairs_of(&mut self, group: u32, collect: &mut impl Collect) -> Result<(), Error> {
        let members = self.lists.groups().members(group);
        // The first member has the smallest payload of all that can come together here, and so needs the least.
        let least_bytes = (self.filter.least_bytes)(members[0]);
        if self.lists.total_bytes(group) < least_bytes {
            return Ok(());
        }
        if self.filter.searches.is_some_and(|searches| !members.iter().any(|&member| searches(member))) {
            return Ok(());
        }
        self.pair_within(members, self.lists.total_bytes(group), collect)?;
        self.measure(group, least_bytes, PartnerRange::Later);
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
        self.measure(group, least_bytes, PartnerRange::All);
        for group in self.met.drain(..) {
            let shared_bytes = std::mem::take(&mut self.shared_bytes[group as usize]);
            if shared_bytes >= least_bytes {
                found.push((group, shared_bytes));
            }
        }
    }

    fn pair_within(&mut self, members: &[u32], shared_bytes: u64, collect: &mut impl Collect) -> Result<(), Error> {
        for (at, &smaller) in members.iter().enumerate() {
            if (self.filter.least_bytes)(smaller) > shared_bytes {
                break;
            }
            self.candidates += (members.len() - at - 1) as u64;
            for &larger in &members[at + 1..] {
                if self.filter.admits(smaller, larger) {
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
        let suffices = |member: u32| (self.filter.least_bytes)(member) <= shared_bytes;
        let mut pair = |smaller: u32, larger: u32| match self.filter.admits(smaller, larger) {
            true => collect.pair(Pair { smaller, larger, shared_bytes }),
            false => Ok(()),
        };
        for (one, other) in [(a, b), (b, a)] {
            for &smaller in one {
                if !suffices(smaller) {
                    break;
                }
                let larger = other.partition_point(|&member| member < smaller);
                other[larger..].iter().try_for_each(|&larger| pair(smaller, larger))?;
            }
        }
        Ok(())
    }

    /// Fills `met` with the groups that may share `least_bytes`, and `shared_bytes` with their bytes where these are
    /// enough.
    fn measure(&mut self, group: u32, least_bytes: u64, range: PartnerRange) {
        let list = self.lists.list(group);
        let weights = list.iter().map(|&rank| self.lists.weight_bytes(rank));
        let prefix = prefix_length(weights, least_bytes);
        if self.is_common(&list[..prefix], group, range) {
            self.rests_bytes.clear();
            self.rests_bytes.push(0);
            self.count_all(group, range);
            self.drop_light(group, least_bytes);
            self.candidates += self.met.len() as u64;
            return;
        }
        for &rank in &list[..prefix] {
            let weight_bytes = self.lists.weight_bytes(rank);
            for &other in self.partners(rank, group, range) {
                let shared_bytes = &mut self.shared_bytes[other as usize];
                if *shared_bytes == 0 {
                    self.met.push(other);
                }
                *shared_bytes = shared_bytes.saturating_add(weight_bytes);
            }
        }
        if range == PartnerRange::All {
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
            self.count_rest(rest, group, range);
        } else {
            self.walk_rest(rest, least_bytes);
        }
    }

    /// True if the holders of a prefix are so many that it is cheaper to look at all groups.
    fn is_common(&self, prefix: &[u32], group: u32, range: PartnerRange) -> bool {
        let (Some(common), Some(last)) = (self.lists.common(), prefix.last()) else {
            return false;
        };
        if !common.covers(*last) {
            return false;
        }
        let holders: usize = prefix.iter().map(|&rank| self.partners(rank, group, range).len()).sum();
        let groups = self.lists.groups().count() - if range == PartnerRange::Later { group as usize + 1 } else { 0 };
        // A group met by the prefix is mostly looked at again for the ranks after it.
        3 * holders > (groups + common.setup()) * common.columns_of(self.lists.list(group))
    }

    /// Adds up all that the groups share with one: rare ranks along their holders, common ones by tables.
    fn count_all(&mut self, group: u32, range: PartnerRange) {
        let Some(common) = self.lists.common() else {
            return;
        };
        let list = self.lists.list(group);
        let rare = list.partition_point(|&rank| !common.covers(rank));
        for &rank in &list[..rare] {
            let weight_bytes = self.lists.weight_bytes(rank);
            for &other in self.partners(rank, group, range) {
                let shared_bytes = &mut self.shared_bytes[other as usize];
                *shared_bytes = shared_bytes.saturating_add(weight_bytes);
            }
        }
        let first = if range == PartnerRange::Later { group as usize + 1 } else { 0 };
        common.count(&list[rare..], |rank| self.lists.weight_bytes(rank), first, &mut self.shared_bytes[first..]);
        if range == PartnerRange::All {
            self.shared_bytes[group as usize] = 0;
        }
        let first = u32::try_from(first).expect("contents have 31-bit numbers");
        let shared = (first..).zip(&self.shared_bytes[first as usize..]);
        self.met.extend(shared.filter(|(_, shared_bytes)| **shared_bytes > 0).map(|(other, _)| other));
    }

    fn partners(&self, rank: u32, group: u32, range: PartnerRange) -> &'a [u32] {
        let holders = self.lists.holders(rank);
        match range {
            PartnerRange::Later => &holders[holders.partition_point(|&other| other <= group)..],
            PartnerRange::All => holders,
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
        let (groups, filter) = (self.lists.groups(), self.filter);
        let members = groups.members(group);
        self.met.retain(|&other| {
            let shared_bytes = &mut self.shared_bytes[other as usize];
            let remains = shared_bytes.saturating_add(rest_bytes) >= least_bytes
                && match (members, groups.members(other)) {
                    (&[a], &[b]) => filter.admits(a, b),
                    _ => true,
                };
            if !remains {
                *shared_bytes = 0;
            }
            remains
        });
    }

    /// Adds up the ranks after the prefix along their holders.
    fn count_rest(&mut self, rest: &[u32], group: u32, range: PartnerRange) {
        for &rank in rest {
            let weight_bytes = self.lists.weight_bytes(rank);
            for &other in self.partners(rank, group, range) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::sync::atomic::AtomicBool;

    use proptest::prelude::*;

    use crate::join_row::JoinRow;
    use crate::monitor::{Monitor, Phase};

    fn tracker_of(monitor: &Monitor<'_>, run: impl FnOnce(&Tracker<'_>)) {
        run(&Tracker::new(monitor, Phase::Join, 1));
    }

    /// Lists of members that hold each tag of a cell so often.
    fn lists(cells: &BTreeMap<(u32, u32), u32>, members: usize) -> Lists {
        let row = |(&(tag, member), &count): (&(u32, u32), &u32)| JoinRow { tag, member, length_bytes: 2 + tag, count };
        Lists::new(cells.iter().map(row).collect(), members)
    }

    struct PairList(Vec<Pair>);

    impl Collect for PairList {
        fn pair(&mut self, pair: Pair) -> Result<(), Error> {
            self.0.push(pair);
            Ok(())
        }
    }

    fn found(lists: &Lists, filter: PairFilter<'_>, threads: usize) -> Vec<(u32, u32, u64)> {
        let monitor = Monitor { progress: &|_| (), cancelled: &AtomicBool::new(false) };
        let mut pairs = Vec::new();
        tracker_of(&monitor, |tracker| {
            let threads = NonZeroUsize::new(threads).unwrap();
            let (ends, candidates) = join(lists, filter, threads, tracker, || PairList(vec![])).unwrap();
            let all = ends.into_iter().flat_map(|end| end.0);
            pairs = all.map(|pair| (pair.smaller, pair.larger, pair.shared_bytes)).collect();
            // Groups of equal members are measured as one.
            assert!(candidates > 0 || pairs.is_empty());
        });
        pairs.sort_unstable();
        pairs
    }

    const MEMBERS: u32 = 14;

    proptest! {
        #[test]
        fn a_join_finds_exactly_the_pairs_that_share_enough(
            cells in prop::collection::btree_map((0u32..10, 0..MEMBERS), 1u32..4, 0..90),
            least in 1u64..40,
            rises in any::<bool>(),
            modulus in 1u32..4,
            threads in 1usize..3,
        ) {
            let lists = lists(&cells, MEMBERS as usize);
            // Larger members may need more, never less.
            let least_bytes = |member: u32| least + if rises { u64::from(member) } else { 0 };
            let admits = |a: u32, b: u32| (a + b).is_multiple_of(modulus);
            let searches = |member: u32| member < 6;
            for (admits, searches) in [
                (None, None),
                (Some(&admits as &(dyn Fn(u32, u32) -> bool + Sync)), None),
                (None, Some(&searches as &(dyn Fn(u32) -> bool + Sync))),
            ] {
                let filter = PairFilter { least_bytes: &least_bytes, admits, searches };
                let mut expected = Vec::new();
                for a in 0..MEMBERS {
                    for b in a + 1..MEMBERS {
                        let shared_bytes = lists.shared_bytes(a, b);
                        let counts = admits.is_none_or(|admits| admits(a, b));
                        if shared_bytes >= least_bytes(a) && counts {
                            expected.push((a, b, shared_bytes));
                        }
                    }
                }
                let pairs = found(&lists, filter, threads);
                match searches {
                    None => prop_assert_eq!(pairs, expected),
                    // A group is searched for all its members as soon as one of them is.
                    Some(searches) => {
                        prop_assert!(pairs.iter().all(|pair| expected.contains(pair)));
                        let wanted = expected.iter().filter(|(a, ..)| searches(*a));
                        prop_assert!(wanted.into_iter().all(|pair| pairs.contains(pair)));
                    }
                }
            }
        }

        #[test]
        fn neighbours_of_a_group_are_all_groups_that_share_enough(
            cells in prop::collection::btree_map((0u32..8, 0..MEMBERS), 1u32..3, 0..70),
            least in 1u64..30,
        ) {
            let lists = lists(&cells, MEMBERS as usize);
            let mut search = PairSearch::new(&lists, PairFilter { least_bytes: &|_| 1, admits: None, searches: None });
            let mut neighbours = Vec::new();
            let groups = u32::try_from(lists.groups().count()).unwrap();
            for group in 0..groups {
                search.neighbours(group, least, &mut neighbours);
                neighbours.sort_unstable();
                let first = |group: u32| lists.groups().members(group)[0];
                let others = (0..groups).filter(|&other| other != group);
                let shared = others.map(|other| (other, lists.shared_bytes(first(group), first(other))));
                let expected: Vec<(u32, u64)> = shared.filter(|(_, shared_bytes)| *shared_bytes >= least).collect();
                prop_assert_eq!(&neighbours, &expected);
            }
        }
    }

    #[test]
    fn a_cancelled_join_ends_with_that_error() {
        let cancelled = AtomicBool::new(true);
        let monitor = Monitor { progress: &|_| (), cancelled: &cancelled };
        let lists = lists(&BTreeMap::from([((0, 0), 1), ((0, 1), 1)]), 2);
        let filter = PairFilter { least_bytes: &|_| 1, admits: None, searches: None };
        tracker_of(&monitor, |tracker| {
            let joined = join(&lists, filter, NonZeroUsize::MIN, tracker, || PairList(vec![]));
            assert!(matches!(joined, Err(Error::Cancelled)));
        });
    }

    #[test]
    fn an_error_of_a_collector_ends_the_join() {
        struct Full;
        impl Collect for Full {
            fn pair(&mut self, _: Pair) -> Result<(), Error> {
                Err(Error::TooMany { what: "pairs", count: 1, count_max: 0 })
            }
        }
        let monitor = Monitor { progress: &|_| (), cancelled: &AtomicBool::new(false) };
        let lists = lists(&BTreeMap::from([((0, 0), 1), ((0, 1), 1)]), 2);
        let filter = PairFilter { least_bytes: &|_| 1, admits: None, searches: None };
        tracker_of(&monitor, |tracker| {
            let joined = join(&lists, filter, NonZeroUsize::MIN, tracker, || Full);
            assert!(matches!(joined, Err(Error::TooMany { .. })));
        });
    }
}
