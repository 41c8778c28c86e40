//! Pass 5, partition by partition: finds the pairs that share enough.
//!
//! Members are numbered by ascending payload, so the smaller content of a pair has the smaller number. Each member looks
//! up the tags of its prefix among larger members; a pair met for the first time is measured by walking both lists from
//! the tag that they met at, and given up as soon as what is left cannot reach the threshold. Measures of pairs that are
//! kept are exact.

use std::num::NonZeroUsize;

use crate::error::Error;
use crate::prefix::{Rarity, prefix_length};
use crate::spill::Row;
use crate::workers::{Tracker, share_out};

/// Bytes of memory that joining takes per row at its height, rounded up.
pub(crate) const JOIN_ROW_BYTES: u64 = 72;
/// Members that look for partners between two looks at the caller's wish to cancel.
const SEEKERS_PER_TASK: usize = 256;

/// A shared tag of a member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JoinRow {
    pub(crate) rarity: Rarity,
    /// The member's place in the partition.
    pub(crate) member: u32,
    pub(crate) length_bytes: u32,
    pub(crate) count: u32,
}

impl Row for JoinRow {
    const BYTES: usize = <[u32; 5]>::BYTES;

    fn encode(&self, out: &mut Vec<u8>) {
        let (holders, tag) = self.rarity.parts();
        [holders, tag, self.member, self.length_bytes, self.count].encode(out);
    }

    fn decode(bytes: &[u8]) -> JoinRow {
        let [holders, tag, member, length_bytes, count] = Row::decode(bytes);
        JoinRow { rarity: Rarity::new(holders, tag), member, length_bytes, count }
    }
}

/// A tag in the list of a member; lists ascend by rank, from rare to common.
#[derive(Clone, Copy, Debug)]
struct Item {
    rank: u32,
    length_bytes: u32,
    count: u32,
}

impl Item {
    fn weight_bytes(&self) -> u64 {
        u64::from(self.length_bytes) * u64::from(self.count)
    }
}

/// A place where a tag is held.
#[derive(Clone, Copy, Debug)]
struct Holder {
    member: u32,
    /// Where the tag stands in the member's list.
    at: u32,
}

/// A pair of members and what they share; `smaller` has the smaller payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pair {
    pub(crate) smaller: u32,
    pub(crate) larger: u32,
    pub(crate) shared_bytes: u64,
}

/// The lists of a partition's members, and who holds each tag.
#[derive(Debug)]
pub(crate) struct Lists {
    starts: Vec<usize>,
    items: Vec<Item>,
    /// Weight of each item and those after it in the same list.
    rests_bytes: Vec<u64>,
    holder_starts: Vec<usize>,
    /// Per rank the holders by ascending member.
    holders: Vec<Holder>,
}

impl Lists {
    /// Builds the lists of `members` members. Tags of one member are dropped: they cannot be shared here.
    pub(crate) fn new(mut rows: Vec<JoinRow>, members: usize) -> Lists {
        rows.sort_unstable_by_key(|row| (row.rarity, row.member));
        drop_lone_tags(&mut rows);
        let starts = list_starts(&rows, members);
        let empty = Item { rank: 0, length_bytes: 0, count: 0 };
        let mut items = vec![empty; rows.len()];
        let mut holders = Vec::with_capacity(rows.len());
        let mut holder_starts = vec![0];
        let mut ends = starts.clone();
        for (rank, tag) in (0u32..).zip(rows.chunk_by(|a, b| a.rarity == b.rarity)) {
            for row in tag {
                let member = row.member as usize;
                let at = u32::try_from(ends[member] - starts[member]).expect("tags have 32-bit numbers");
                holders.push(Holder { member: row.member, at });
                items[ends[member]] = Item { rank, length_bytes: row.length_bytes, count: row.count };
                ends[member] += 1;
            }
            holder_starts.push(holders.len());
        }
        Lists { rests_bytes: rests(&starts, &items), starts, items, holder_starts, holders }
    }

    /// Bytes that two members share, exactly.
    pub(crate) fn shared_bytes(&self, a: u32, b: u32) -> u64 {
        merge_bytes(self.list(a), self.list(b))
    }

    fn range(&self, member: u32) -> std::ops::Range<usize> {
        self.starts[member as usize]..self.starts[member as usize + 1]
    }

    fn list(&self, member: u32) -> &[Item] {
        &self.items[self.range(member)]
    }

    fn holders(&self, rank: u32) -> &[Holder] {
        &self.holders[self.holder_starts[rank as usize]..self.holder_starts[rank as usize + 1]]
    }

    /// Shared bytes of two members from the given places on, or `None` when they do not reach `least_bytes`.
    fn measure(&self, a: (u32, usize), b: (u32, usize), least_bytes: u64) -> Option<u64> {
        let (a_range, b_range) = (self.range(a.0), self.range(b.0));
        let (mut a, mut b) = (a_range.start + a.1, b_range.start + b.1);
        let mut shared_bytes = 0u64;
        while a < a_range.end && b < b_range.end {
            let (x, y) = (self.items[a], self.items[b]);
            if x.rank == y.rank {
                shared_bytes = shared_bytes.saturating_add(common_bytes(&x, &y));
                a += 1;
                b += 1;
                continue;
            }
            if x.rank < y.rank {
                a += 1;
            } else {
                b += 1;
            }
            // Asked only after a miss: while tags agree nothing is lost.
            let rest = |at: usize, end: usize| if at < end { self.rests_bytes[at] } else { 0 };
            let rest_bytes = rest(a, a_range.end).min(rest(b, b_range.end));
            if shared_bytes.saturating_add(rest_bytes) < least_bytes {
                return None;
            }
        }
        (shared_bytes >= least_bytes).then_some(shared_bytes)
    }
}

fn common_bytes(a: &Item, b: &Item) -> u64 {
    u64::from(a.length_bytes) * u64::from(a.count.min(b.count))
}

fn merge_bytes(a: &[Item], b: &[Item]) -> u64 {
    let (mut at, mut bt, mut shared_bytes) = (0, 0, 0u64);
    while at < a.len() && bt < b.len() {
        match a[at].rank.cmp(&b[bt].rank) {
            std::cmp::Ordering::Less => at += 1,
            std::cmp::Ordering::Greater => bt += 1,
            std::cmp::Ordering::Equal => {
                shared_bytes = shared_bytes.saturating_add(common_bytes(&a[at], &b[bt]));
                at += 1;
                bt += 1;
            }
        }
    }
    shared_bytes
}

fn drop_lone_tags(rows: &mut Vec<JoinRow>) {
    let mut kept = 0;
    let mut at = 0;
    while at < rows.len() {
        let rarity = rows[at].rarity;
        let length = rows[at..].iter().take_while(|row| row.rarity == rarity).count();
        if length > 1 {
            rows.copy_within(at..at + length, kept);
            kept += length;
        }
        at += length;
    }
    rows.truncate(kept);
}

fn list_starts(rows: &[JoinRow], members: usize) -> Vec<usize> {
    let mut starts = vec![0; members + 1];
    rows.iter().for_each(|row| starts[row.member as usize + 1] += 1);
    for member in 0..members {
        starts[member + 1] += starts[member];
    }
    starts
}

fn rests(starts: &[usize], items: &[Item]) -> Vec<u64> {
    let mut rests_bytes = vec![0; items.len()];
    for ends in starts.windows(2) {
        let mut rest_bytes = 0u64;
        for at in (ends[0]..ends[1]).rev() {
            rest_bytes = rest_bytes.saturating_add(items[at].weight_bytes());
            rests_bytes[at] = rest_bytes;
        }
    }
    rests_bytes
}

/// Which pairs are wanted.
pub(crate) struct Wanted<'a> {
    /// What each member needs to share as the smaller one of a pair.
    pub(crate) least_bytes: &'a (dyn Fn(u32) -> u64 + Sync),
    /// Whether a pair may count at all.
    pub(crate) admits: &'a (dyn Fn(u32, u32) -> bool + Sync),
}

/// What joining found.
#[derive(Debug, Default)]
pub(crate) struct Joined {
    /// Pairs by smaller, then larger member.
    pub(crate) pairs: Vec<Pair>,
    /// Pairs that were measured.
    pub(crate) candidates: u64,
}

/// Finds all pairs that share what they need.
pub(crate) fn join(
    lists: &Lists,
    wanted: &Wanted<'_>,
    threads: NonZeroUsize,
    tracker: &Tracker<'_>,
) -> Result<Joined, Error> {
    let members = lists.starts.len() - 1;
    let start = || Seeker { lists, wanted, met_by: vec![u32::MAX; members], joined: Joined::default() };
    let tasks = members.div_ceil(SEEKERS_PER_TASK);
    let seekers = share_out(threads, tasks, start, |seeker, task| {
        tracker.check()?;
        let first = task * SEEKERS_PER_TASK;
        for member in first..members.min(first + SEEKERS_PER_TASK) {
            seeker.seek(u32::try_from(member).expect("contents have 31-bit numbers"));
        }
        Ok(())
    })?;
    let mut joined = Joined::default();
    for mut seeker in seekers {
        joined.candidates += seeker.joined.candidates;
        joined.pairs.append(&mut seeker.joined.pairs);
    }
    joined.pairs.sort_unstable_by_key(|pair| (pair.smaller, pair.larger));
    Ok(joined)
}

/// One thread's search.
struct Seeker<'a> {
    lists: &'a Lists,
    wanted: &'a Wanted<'a>,
    /// Per member the last one that met it, so that a pair is measured once without clearing anything.
    met_by: Vec<u32>,
    joined: Joined,
}

impl Seeker<'_> {
    /// Finds the larger partners of a member.
    fn seek(&mut self, member: u32) {
        let list = self.lists.list(member);
        let least_bytes = (self.wanted.least_bytes)(member);
        let total_bytes = self.lists.rests_bytes.get(self.lists.range(member).start);
        if list.is_empty() || total_bytes.is_none_or(|&total| total < least_bytes) {
            return;
        }
        let prefix = prefix_length(list.iter().map(Item::weight_bytes), least_bytes);
        for (at, item) in list[..prefix].iter().enumerate() {
            let holders = self.lists.holders(item.rank);
            let first = holders.partition_point(|holder| holder.member <= member);
            for holder in &holders[first..] {
                let met_by = &mut self.met_by[holder.member as usize];
                if std::mem::replace(met_by, member) != member {
                    self.measure((member, at), *holder, least_bytes);
                }
            }
        }
    }

    fn measure(&mut self, seeker: (u32, usize), holder: Holder, least_bytes: u64) {
        // The first common tag is the rarest, so both lists count only from there.
        let place = self.lists.starts[holder.member as usize] + holder.at as usize;
        let too_light = self.lists.rests_bytes[place] < least_bytes;
        if too_light || !(self.wanted.admits)(seeker.0, holder.member) {
            return;
        }
        self.joined.candidates += 1;
        let other = (holder.member, holder.at as usize);
        if let Some(shared_bytes) = self.lists.measure(seeker, other, least_bytes) {
            self.joined.pairs.push(Pair { smaller: seeker.0, larger: holder.member, shared_bytes });
        }
    }
}
