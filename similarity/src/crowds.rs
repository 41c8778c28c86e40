//! Tags that very many contents hold and look up: those by which an analysis would meet more pairs than it may.
//!
//! A content looks for partners along the holders of the tags of its prefix (`prefix.rs`). A tag costs at most the contents that
//! look it up times the contents that hold it. Where these products come to more than a bound, the tags with the largest
//! are named, so that the caller may leave them out of the comparison, as templates are.
//!
//! Mostly that takes a reading of the shards or three, and no row is written: a content looks up a crowd only if the crowds that it
//! holds weigh as much together as it must share, since all tags after a crowd in its order are crowds as well.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use cognate_fingerprint::Tag;

use crate::budget::Budget;
use crate::error::Error;
use crate::input::{Input, Options};
use crate::monitor::{Monitor, Phase};
use crate::posting::Posting;
use crate::prefix::{PrefixTables, find_prefixes, tags_per_bucket};
use crate::shards::Shards;
use crate::spill::{Buckets, SpillFolder};
use crate::tags::{CROWD_HOLDERS_MIN, find_shared_tags};
use crate::workers::{Tracker, share_out};

/// The effort for a tag: the contents that look it up, and those that hold it.
#[derive(Clone, Copy, Default)]
struct Effort {
    searches: u64,
    holders: u64,
}

impl Effort {
    fn pairs(self) -> u64 {
        self.searches.saturating_mul(self.holders)
    }
}

/// The tags to leave out so that contents meet by tags with [`CROWD_HOLDERS_MIN`] holders or more at most `pairs_max` times:
/// none if they do not anyway. Ascending.
///
/// Without them contents look up others, which may be crowds in turn: to be called again with shards that leave these
/// out, until there are none.
///
/// # Errors
///
/// As [`crate::analyse`].
pub fn crowded_tags(
    shards: &dyn Shards,
    input: &Input<'_>,
    options: &Options<'_>,
    monitor: &Monitor<'_>,
    pairs_max: u64,
) -> Result<Vec<Tag>, Error> {
    // Every tag has at most all contents: few contents are never too many.
    let contents = input.payload_bytes.len() as u64;
    if contents.saturating_mul(shards.posting_count_max()) <= pairs_max {
        return Ok(Vec::new());
    }
    let crowds = find_crowds(shards, options, monitor)?;
    if crowds.iter().fold(0, |sum: u64, (_, holders)| sum.saturating_add(holders.saturating_mul(*holders))) <= pairs_max
    {
        return Ok(Vec::new());
    }
    if weigh_at_most(shards, input, options, monitor, &crowds)? <= pairs_max {
        return Ok(Vec::new());
    }
    let mut efforts: Vec<(u64, Tag)> = weigh(shards, input, options, monitor, &crowds)?;
    efforts.sort_unstable_by_key(|&(pairs, tag)| (Reverse(pairs), tag));
    let mut sum = efforts.iter().fold(0u128, |sum, (pairs, _)| sum + u128::from(*pairs));
    let mut crowded = Vec::new();
    if sum <= u128::from(pairs_max) {
        return Ok(crowded);
    }
    // Half of it, since what is looked up next costs as well.
    for (pairs, tag) in efforts {
        if sum <= u128::from(pairs_max / 2) {
            break;
        }
        sum -= u128::from(pairs);
        crowded.push(tag);
    }
    crowded.sort_unstable();
    Ok(crowded)
}

/// The tags with very many postings, ascending.
fn find_crowds(shards: &dyn Shards, options: &Options<'_>, monitor: &Monitor<'_>) -> Result<Vec<(Tag, u64)>, Error> {
    let shard_count = shards.shard_count() as usize;
    let tracker = Tracker::new(monitor, Phase::Tags, shard_count);
    let found = share_out(options.threads, shard_count, Vec::new, |found: &mut Vec<(Tag, u64)>, shard| {
        let mut open: Option<(Tag, u64)> = None;
        let is_crowd = |open: &(Tag, u64)| open.1 >= u64::from(CROWD_HOLDERS_MIN);
        shards.visit(u32::try_from(shard).expect("the number of a shard has 32 bits"), &mut |postings| {
            tracker.check()?;
            for posting in postings.iter().filter(|posting| !posting.template) {
                match &mut open {
                    Some((tag, count)) if *tag == posting.tag => *count += 1,
                    _ => found.extend(open.replace((posting.tag, 1)).filter(is_crowd)),
                }
            }
            Ok(())
        })?;
        found.extend(open.filter(is_crowd));
        Ok(())
    })?;
    let mut crowds: Vec<_> = found.into_iter().flatten().collect();
    crowds.sort_unstable();
    Ok(crowds)
}

/// At least the pairs that are met by these tags.
fn weigh_at_most(
    shards: &dyn Shards,
    input: &Input<'_>,
    options: &Options<'_>,
    monitor: &Monitor<'_>,
    crowds: &[(Tag, u64)],
) -> Result<u64, Error> {
    let weights: Vec<AtomicU64> = input.payload_bytes.iter().map(|_| AtomicU64::new(0)).collect();
    let weight = |posting: &Posting| {
        let out_of_range = Error::ContentOutOfRange { content: posting.content.0, contents: weights.len() };
        weights.get(posting.content.at()).ok_or(out_of_range)
    };
    visit_crowds(shards, options, monitor, crowds, &|_, posting| {
        weight(posting)?.fetch_add(posting.length_bytes.into(), Ordering::Relaxed);
        Ok(())
    })?;
    let searches: Vec<AtomicU64> = crowds.iter().map(|_| AtomicU64::new(0)).collect();
    visit_crowds(shards, options, monitor, crowds, &|place, posting| {
        let least = options.thresholds.least_shared_bytes(input.payload_bytes[posting.content.at()]);
        if weight(posting)?.load(Ordering::Relaxed) >= least {
            searches[place].fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    })?;
    let pairs = searches.iter().zip(crowds).map(|(searches, (_, holders))| {
        Effort { searches: searches.load(Ordering::Relaxed), holders: *holders }.pairs()
    });
    Ok(pairs.fold(0, u64::saturating_add))
}

/// Shows the postings of some tags, with the places of these.
fn visit_crowds(
    shards: &dyn Shards,
    options: &Options<'_>,
    monitor: &Monitor<'_>,
    crowds: &[(Tag, u64)],
    visit: &(dyn Fn(usize, &Posting) -> Result<(), Error> + Sync),
) -> Result<(), Error> {
    let shard_count = shards.shard_count() as usize;
    let tracker = Tracker::new(monitor, Phase::Tags, shard_count);
    share_out(
        options.threads,
        shard_count,
        || (),
        |(), shard| {
            // Tags ascend: the next crowd is at the same place or after it.
            let mut at = 0;
            shards.visit(u32::try_from(shard).expect("the number of a shard has 32 bits"), &mut |postings| {
                tracker.check()?;
                for posting in postings.iter().filter(|posting| !posting.template) {
                    if crowds.get(at).is_some_and(|(tag, _)| *tag < posting.tag) {
                        at += crowds[at..].partition_point(|(tag, _)| *tag < posting.tag);
                    }
                    if crowds.get(at).is_some_and(|(tag, _)| *tag == posting.tag) {
                        visit(at, posting)?;
                    }
                }
                Ok(())
            })
        },
    )?;
    Ok(())
}

/// The pairs that are met by each of some tags.
fn weigh(
    shards: &dyn Shards,
    input: &Input<'_>,
    options: &Options<'_>,
    monitor: &Monitor<'_>,
    crowds: &[(Tag, u64)],
) -> Result<Vec<(u64, Tag)>, Error> {
    let input = Input { levels: &[], ..*input };
    let (budget, spill) = (Budget::new(options), SpillFolder::new(options.spill_dir));
    let rows = Buckets::new(&spill, &budget.tag_rows(shards, &input));
    let tags = find_shared_tags(shards, &input, &rows, None, options.threads, monitor)?;
    let holders = Buckets::new(&spill, &budget.holder_rows(tags.numbers.count));
    let tables = PrefixTables { rows: &rows, numbers: &tags.numbers, holders: &holders };
    find_prefixes(&tables, input.payload_bytes, &options.thresholds, options.threads, monitor)?;
    let per_bucket = tags_per_bucket(tags.numbers.count, &holders);
    let mut found = Vec::new();
    // A tag with two lengths has two numbers.
    let named = tags.crowds.iter().map(|(tag, number)| (tags.numbers.of(*number), *tag));
    let mut efforts: BTreeMap<u32, (Tag, Effort)> = named
        .filter(|(_, tag)| crowds.binary_search_by_key(tag, |(crowd, _)| *crowd).is_ok())
        .map(|(number, tag)| (number, (tag, Effort::default())))
        .collect();
    for bucket in 0..holders.count() {
        let first = u32::try_from(bucket).expect("buckets are few").saturating_mul(per_bucket);
        if efforts.range(first..first.saturating_add(per_bucket)).next().is_some() {
            holders.scan(bucket, |rows| {
                for row in rows {
                    if let Some((_, effort)) = efforts.get_mut(&row.tag) {
                        effort.holders += 1;
                        effort.searches += u64::from(row.in_prefix());
                    }
                }
                Ok(())
            })?;
        }
        holders.clear(bucket)?;
    }
    found.extend(efforts.into_values().map(|(tag, effort)| (effort.pairs(), tag)));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::num::{NonZeroU32, NonZeroUsize};
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::input::Holders;
    use crate::posting::ContentIndex;
    use crate::shards::MemoryShards;
    use crate::threshold::Thresholds;

    /// The crowded tags of contents that are lists of chunks and their bytes, each with a chunk of its own of 10 bytes.
    fn crowded(contents: &[&[(u8, u32)]], pairs_max: u64) -> Vec<u8> {
        crowded_under(contents, contents.len(), [1 << 20, 2, 3], pairs_max).unwrap()
    }

    /// The same for the first of these contents alone, whatever the postings say. `setup` has bytes of memory, threads and shards.
    fn crowded_under(
        contents: &[&[(u8, u32)]],
        described: usize,
        setup: [u32; 3],
        pairs_max: u64,
    ) -> Result<Vec<u8>, Error> {
        let [memory_budget_bytes, threads, shards] = setup;
        let mut postings = Vec::new();
        let mut payload_bytes = Vec::new();
        for (content, chunks) in (0u32..).zip(contents) {
            let posting = |tag: [u8; 16], length_bytes, template| Posting {
                tag: Tag(tag),
                length_bytes,
                template,
                content: ContentIndex(content),
            };
            let mut own = [0xff; 16];
            own[1..5].copy_from_slice(&content.to_be_bytes());
            postings.push(posting(own, 10, false));
            postings.extend(chunks.iter().map(|(tag, bytes)| posting([*tag; 16], *bytes, *tag == 9)));
            payload_bytes.push(10 + chunks.iter().map(|(_, bytes)| u64::from(*bytes)).sum::<u64>());
        }
        let options = Options {
            thresholds: Thresholds { min_shared_bytes: u64::MAX, min_containment: "0.5".parse().unwrap() },
            memory_budget_bytes: memory_budget_bytes.into(),
            threads: NonZeroUsize::new(threads as usize).unwrap(),
            spill_dir: &std::env::temp_dir(),
        };
        let holders = Holders::new();
        let input = Input { payload_bytes: &payload_bytes[..described], holders: &holders, levels: &[], across: None };
        let monitor = Monitor { progress: &|_| (), cancelled: &AtomicBool::new(false) };
        let shards = MemoryShards::new(postings, NonZeroU32::new(shards).unwrap());
        let tags = crowded_tags(&shards, &input, &options, &monitor, pairs_max)?;
        Ok(tags.iter().map(|tag| tag.0[0]).collect())
    }

    #[test]
    fn a_tag_that_makes_too_many_pairs_is_named_and_a_common_one_that_nobody_looks_up_is_not() {
        let alone = [(1, 20)];
        let twenty: Vec<&[(u8, u32)]> = vec![&alone; 20];
        // Twenty contents that look it up, and hold it.
        assert!(crowded(&twenty, 400).is_empty());
        assert_eq!(crowded(&twenty, 399), [1]);
        // A tenth of each content: nothing is found by it.
        let header = [(1, 2), (2, 8)];
        let with_header: Vec<&[(u8, u32)]> = [vec![&header[..]; 3], vec![&[(1, 1)][..]; 17]].concat();
        assert!(crowded(&with_header, 10).is_empty());
        // It weighs enough with a rarer one in five of them, which look up that one alone.
        let rarer = [(1, 10), (2, 9)];
        let with_rarer: Vec<&[(u8, u32)]> = [vec![&rarer[..]; 5], vec![&[(2, 1)][..]; 15]].concat();
        assert!(crowded(&with_rarer, 60).is_empty());
        assert_eq!(crowded(&with_rarer, 24), [1]);
        // Templates are left out already.
        assert!(crowded(&vec![&[(9, 20)][..]; 20], 10).is_empty());
    }

    #[test]
    fn of_several_crowds_the_largest_are_named_until_half_of_the_bound_is_left() {
        let (small, large) = ([(1, 20)], [(2, 20)]);
        let contents: Vec<&[(u8, u32)]> = [vec![&small[..]; 6], vec![&large[..]; 10]].concat();
        assert!(crowded(&contents, 136).is_empty());
        assert_eq!(crowded(&contents, 135), [2]);
        assert_eq!(crowded(&contents, 70), [1, 2]);
    }

    #[test]
    fn crowds_do_not_depend_on_the_budget_the_threads_or_the_shards() {
        let (small, large, both) = ([(1, 20)], [(2, 20)], [(1, 9), (2, 9), (4, 3)]);
        let contents: Vec<&[(u8, u32)]> = [vec![&small[..]; 6], vec![&large[..]; 10], vec![&both[..]; 5]].concat();
        for pairs_max in [0, 30, 100, 300] {
            let expected = crowded(&contents, pairs_max);
            for setup in [[0, 1, 1], [1000, 3, 256], [1 << 30, 4, 7]] {
                let found = crowded_under(&contents, contents.len(), setup, pairs_max).unwrap();
                assert_eq!(found, expected, "{pairs_max} {setup:?}");
            }
        }
        assert!(crowded(&contents, u64::MAX).is_empty());
        assert!(!crowded(&contents, 0).is_empty());
    }

    #[test]
    fn a_crowd_in_a_content_that_is_not_described_is_refused() {
        let alone = [(1, 20)];
        let error = crowded_under(&[&alone[..]; 20], 19, [1 << 20, 2, 3], 10).unwrap_err();
        assert!(matches!(error, Error::ContentOutOfRange { content: 19, contents: 19 }), "{error}");
    }
}
