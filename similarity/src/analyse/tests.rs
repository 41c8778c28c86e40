//! The engine against its oracle on thousands of small random instances, clusters of many links among them.

use std::num::NonZeroU32;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use cognate_fingerprint::Tag;
use cognate_fuzzing::Dice;

use super::*;
use crate::apart::{SharedChunk, TagFacts, find_shared_chunks, prefix_length};
use crate::component::Components;
use crate::input::{Group, Holders, Holding, Level};
use crate::link::Link;
use crate::measure::Resemblance;
use crate::omitted::{OmittedLinks, OmittedOf};
use crate::oracle::{self, OracleThresholds};
use crate::pair::PairMeasure;
use crate::posting::{ContentIndex, Posting};
use crate::shards::MemoryShards;
use crate::threshold::Thresholds;

struct Random(Dice);

impl Random {
    fn new(seed: u64) -> Random {
        Random(Dice::new(seed))
    }

    fn below(&mut self, end: u32) -> u32 {
        u32::try_from(self.0.below(end as usize)).unwrap()
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        *self.0.pick(choices)
    }
}

struct Instance {
    postings: Vec<Posting>,
    payload_bytes: Vec<u64>,
    holders: Holders,
    levels: Vec<Level>,
    across: Option<Vec<u16>>,
}

/// Fresh contents, copies with edits, equal sets, empties; hubs that most have; repeated chunks.
fn instance(random: &mut Random) -> Instance {
    let (contents, chunks) = (random.below(24), 1 + random.below(40));
    let (copied, hubs) = (random.below(4), random.below(4));
    let longest = random.of(&[1, 3, 200]);
    let mut lists: Vec<Vec<u32>> = Vec::new();
    for _ in 0..contents {
        let mut list = match random.below(4) < copied && !lists.is_empty() {
            true => lists[random.below(u32::try_from(lists.len()).unwrap()) as usize].clone(),
            false => (0..random.below(12)).map(|_| random.below(chunks)).collect(),
        };
        if random.below(2) == 0 {
            list.pop();
            list.push(random.below(chunks));
        }
        list.extend((0..hubs).filter(|_| random.below(8) > 0).map(|hub| 1000 + hub));
        lists.push(list);
    }
    let posting = |content: u32, chunk: u32| {
        let mut tag = [0; 16];
        tag[..4].copy_from_slice(&chunk.wrapping_mul(0x9e37_79b9).to_be_bytes());
        let length_bytes = 1 + chunk.wrapping_mul(2_654_435_761) % longest;
        Posting { tag: Tag(tag), length_bytes, template: chunk == 7, content: ContentIndex(content) }
    };
    let postings: Vec<Posting> =
        (0u32..).zip(&lists).flat_map(|(c, list)| list.iter().map(move |&n| posting(c, n))).collect();
    let mut payload_bytes = vec![0; lists.len()];
    for posting in postings.iter().filter(|posting| !posting.template) {
        payload_bytes[posting.content.at()] += u64::from(posting.length_bytes);
    }
    let mut holders = Holders::new();
    for _ in &lists {
        let holdings = (0..random.below(3)).map(|_| (random.of(&[0, 1, 2]), random.below(3)));
        let holdings: Vec<_> = holdings.collect();
        holders.push(holdings.into_iter().map(|(group, copies)| Holding { group: Group(group), copies }));
    }
    let across = (random.below(4) == 0).then(|| vec![0, 1, 1]);
    Instance { postings, payload_bytes, holders, levels: vec![Level { labels: vec![0, 1, 2], label_count: 3 }], across }
}

/// Applies the rule for the links of a cluster to a cluster of the oracle.
fn thin(cluster: &mut Cluster, rule: LinkRule, payload_bytes: &[u64]) {
    if rule.keeps_all(cluster.members.len() as u64, cluster.link_count) {
        return;
    }
    let size = |content: ContentIndex| (payload_bytes[content.at()], content);
    cluster.links.sort_by_key(|link| {
        let resemblance = Resemblance::of(link.shared_bytes, size(link.a).0, size(link.b).0);
        let (smaller, larger) = (size(link.a).min(size(link.b)), size(link.a).max(size(link.b)));
        (std::cmp::Reverse(resemblance.to_fixed()), smaller, larger)
    });
    let mut trees: Vec<usize> = (0..payload_bytes.len()).collect();
    cluster.links.retain(|link| {
        let (a, b) = (trees[link.a.at()], trees[link.b.at()]);
        trees.iter_mut().filter(|tree| **tree == a).for_each(|tree| *tree = b);
        a != b
    });
    cluster.links.sort_unstable();
}

/// The other end of each link of a content.
fn ends(links: &[Link], content: ContentIndex) -> Vec<(Link, ContentIndex)> {
    let with = links.iter().filter(|link| link.a == content || link.b == content);
    with.map(|link| (*link, if link.a == content { link.b } else { link.a })).collect()
}

/// The label of the holders of a content where each group is a label, or by the labels of `across`: several are one of its own.
fn held_at(content: ContentIndex, input: &Input<'_>) -> Vec<u16> {
    let held = input.holders.of(content).iter().filter(|held| held.copies > 0);
    let mut at: Vec<u16> = held.map(|held| input.across.map_or(held.group.0, |at| at[held.group.0 as usize])).collect();
    at.sort_unstable();
    at.dedup();
    at.truncate(2);
    if at.len() == 2 { vec![u16::MAX] } else { at }
}

/// The links that are reported of a cluster that omits some, from the definition.
fn standing_out(all: &[Link], cluster: &Cluster, input: &Input<'_>) -> Vec<Link> {
    let size = |content: ContentIndex| input.payload_bytes[content.at()];
    let mut chosen = cluster.links.clone();
    let mut by_bytes = all.to_vec();
    let place = |content: ContentIndex| (size(content), content);
    by_bytes.sort_by_key(|link| {
        let (a, b) = (place(link.a), place(link.b));
        (std::cmp::Reverse(link.shared_bytes), a.min(b), a.max(b))
    });
    let mut trees: Vec<usize> = (0..input.payload_bytes.len()).collect();
    for link in by_bytes {
        let (a, b) = (trees[link.a.at()], trees[link.b.at()]);
        trees.iter_mut().filter(|tree| **tree == a).for_each(|tree| *tree = b);
        chosen.extend((a != b).then_some(link));
    }
    for member in &cluster.members {
        let ends = ends(all, *member);
        let most = |of: &[(Link, ContentIndex)], whole: &dyn Fn(ContentIndex) -> u64| {
            let mut best: Option<(Link, ContentIndex)> = None;
            for &(link, other) in of {
                let share = |link: &Link, other: ContentIndex| link.shared_bytes as f64 / whole(other).max(1) as f64;
                let is_better = best.is_none_or(|(known, with)| {
                    let (new, old) = (share(&link, other), share(&known, with));
                    new > old || (new == old && (link.shared_bytes, with) > (known.shared_bytes, other))
                });
                if is_better {
                    best = Some((link, other));
                }
            }
            best
        };
        let first = most(&ends, &|_| 1).unwrap();
        let apart: Vec<_> =
            ends.iter().filter(|(_, other)| held_at(*other, input) != held_at(first.1, input)).copied().collect();
        let larger = |other: ContentIndex| size(other).max(size(*member));
        let best = [Some(first), most(&apart, &|_| 1), most(&ends, &size), most(&ends, &larger)];
        chosen.extend(best.into_iter().flatten().map(|(link, _)| link));
    }
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

/// The figures of the links that are not reported, from all.
fn omitted(all: &[Link], reported: &[Link], clusters: &[Cluster], rule: LinkRule, input: &Input<'_>) -> OmittedLinks {
    let size = |content: ContentIndex| input.payload_bytes[content.at()];
    let buckets = |link: &Link| {
        let union = size(link.a) + size(link.b) - link.shared_bytes;
        let bucket = |whole: u64| usize::try_from((link.shared_bytes * 20 / whole).min(19)).unwrap();
        [bucket(union), bucket(size(link.a).min(size(link.b)))]
    };
    let mut found = OmittedLinks::default();
    for link in all.iter().filter(|link| reported.binary_search(link).is_err()) {
        found.count += 1;
        found.resemblance[buckets(link)[0]] += 1;
        found.containment[buckets(link)[1]] += 1;
    }
    let keeps_all = |cluster: &&Cluster| rule.keeps_all(cluster.members.len() as u64, cluster.link_count);
    let members = clusters.iter().filter(|cluster| !keeps_all(cluster)).flat_map(|cluster| &cluster.members);
    let words = usize::from(input.holders.groups() > 0);
    for &content in members {
        let mut of = OmittedOf { content, strengths: [0; 2], groups: vec![0; words] };
        for (link, other) in ends(all, content) {
            of.strengths.iter_mut().zip(buckets(&link)).for_each(|(bits, bucket)| *bits |= 1 << bucket);
            let held = input.holders.of(other).iter().filter(|held| held.copies > 0);
            held.for_each(|held| of.groups[0] |= 1 << held.group.0);
        }
        found.of.push(of);
    }
    found.of.sort_unstable_by_key(|one| one.content);
    found
}

/// All links, each pair compared by itself.
fn on_demand(instance: &Instance, thresholds: &Thresholds) -> Vec<Link> {
    let of = |content: u32| {
        let postings = instance.postings.iter().filter(|posting| posting.content.0 == content);
        postings.copied().collect::<Vec<_>>()
    };
    let contents = u32::try_from(instance.payload_bytes.len()).unwrap();
    let pairs = (0..contents).flat_map(|a| (a + 1..contents).map(move |b| (a, b)));
    let measured = pairs.map(|(a, b)| (a, b, PairMeasure::of(&of(a), &of(b))));
    let links = measured.filter(|(.., measure)| measure.is_link(thresholds));
    links
        .map(|(a, b, measure)| Link { a: ContentIndex(a), b: ContentIndex(b), shared_bytes: measure.shared_bytes })
        .collect()
}

fn check_instances(instances: u32, seed: u64) {
    let mut random = Random::new(seed);
    let (mut thinned, mut sliced) = (0, 0);
    for number in 0..instances {
        let instance = instance(&mut random);
        let input = Input {
            payload_bytes: &instance.payload_bytes,
            holders: &instance.holders,
            levels: &instance.levels,
            across: instance.across.as_deref(),
        };
        let some = 1 + u64::from(random.below(60));
        let min_shared_bytes = random.of(&[0, 1, 5, some, u64::MAX]);
        let tenths = random.of(&[0, 3, 5, 8, 9, 10]);
        let min_containment = format!("{}.{}", tenths / 10, tenths % 10).parse().unwrap();
        let rule = random.of(&[
            LinkRule { all_max: 0, per_member_max: 0, share_max: u64::MAX },
            LinkRule { all_max: 4, per_member_max: 1, share_max: u64::MAX },
            LinkRule { all_max: 30, per_member_max: 0, share_max: 2 },
            LinkRule::published(24),
        ]);
        let thresholds = OracleThresholds { min_shared_bytes, min_containment: [tenths, 10] };
        let mut expected = oracle::analyse(&instance.postings, &input, &thresholds);
        let mut links: Vec<Link> = expected.clusters.iter().flat_map(|cluster| cluster.links.clone()).collect();
        links.sort_unstable();
        let mut reported_links: Vec<Link> = Vec::new();
        for cluster in &mut expected.clusters {
            let all = cluster.links.clone();
            thin(cluster, rule, &instance.payload_bytes);
            thinned += u32::from(cluster.links_omitted() > 0);
            reported_links.extend(match cluster.links_omitted() {
                0 => all,
                _ => standing_out(&all, cluster, &input),
            });
        }
        reported_links.sort_unstable();
        let spill_dir = tempfile::tempdir().unwrap();
        let options = Options {
            thresholds: Thresholds { min_shared_bytes, min_containment },
            memory_budget_bytes: random.of(&[0, 1000, 20_000, 1 << 26]),
            threads: NonZeroUsize::new(random.of(&[1, 2, 3])).unwrap(),
            spill_dir: spill_dir.path(),
        };
        if instance.across.is_none() {
            assert_eq!(on_demand(&instance, &options.thresholds), links, "instance {number} of seed {seed}");
        }
        let shards = MemoryShards::new(instance.postings, NonZeroU32::new(random.of(&[1, 2, 5, 64])).unwrap());
        let monitor = Monitor { progress: &|_| (), cancelled: &AtomicBool::new(false) };
        let reported = Mutex::new(Vec::new());
        let collect = |links: &[Link]| {
            reported.lock().unwrap().extend_from_slice(links);
            Ok(())
        };
        let request = Request { sink: Some(&collect), clusters: true, changed: None };
        let found = run(&shards, &input, &options, &monitor, request, rule).unwrap();
        assert_eq!(found.clusters, expected.clusters, "instance {number} of seed {seed}: {options:?} {rule:?}");
        assert_eq!(found.overlap, expected.overlap, "instance {number} of seed {seed}");
        assert_eq!(found.stats.links, links.len() as u64);
        let take_reported = || {
            let mut reported = std::mem::take(&mut *reported.lock().unwrap());
            reported.sort_unstable();
            reported
        };
        assert_eq!(take_reported(), reported_links, "instance {number} of seed {seed}: {options:?} {rule:?}");
        assert_eq!(
            found.omitted,
            omitted(&links, &reported_links, &expected.clusters, rule, &input),
            "instance {number}"
        );
        let stats = find_links(&shards, &input, &options, &monitor, &collect).unwrap();
        assert_eq!(take_reported(), links, "instance {number} of seed {seed}: {options:?}");
        sliced += stats.oversized_partitions;
    }
    assert!(sliced > u64::from(instances / 10), "{sliced} partitions were cut into slices");
    assert!(thinned > instances / 10, "{thinned} clusters keep only some of their links");
}

#[test]
fn the_engine_equals_the_oracle_under_any_link_rule() {
    check_instances(2500, 1);
}

#[test]
#[ignore = "takes minutes; for changes of the engine"]
fn the_engine_equals_the_oracle_in_ten_thousand_instances() {
    check_instances(10_000, 2);
}

/// An analysis in parts: the tags range by range, and the contents component by component; `rule` apart, as machines share it out.
fn in_parts(instance: &Instance, input: &Input<'_>, options: &Options<'_>, rule: LinkRule) -> (Analysis, Vec<Link>) {
    let monitor = Monitor { progress: &|_| (), cancelled: &AtomicBool::new(false) };
    let contents = instance.payload_bytes.len();
    let mut whole = Analysis::default();
    // A chunk is known by the range of its tag and its number there.
    let mut chunks: Vec<((u32, u8, u32), SharedChunk)> = Vec::new();
    for range in 0..4u8 {
        let of_range = instance.postings.iter().filter(|posting| posting.tag.0[0] >> 6 == range).copied().collect();
        let shards = MemoryShards::new(of_range, NonZeroU32::MIN);
        let facts = find_shared_chunks(&shards, input, options, &monitor, &mut |chunk| {
            chunks.push(((chunk.holders, range, chunk.number), *chunk));
            Ok(())
        });
        let facts = facts.unwrap();
        let TagFacts { overlap, postings, tags, shared_tags } = facts;
        whole.append(Analysis {
            overlap,
            stats: Stats { postings, tags, shared_tags, ..Stats::default() },
            ..Analysis::default()
        });
    }
    chunks.sort_unstable_by_key(|(rarity, chunk)| (chunk.content, *rarity));
    let size = |content: ContentIndex| (instance.payload_bytes[content.at()], content);
    let mut smallest: std::collections::BTreeMap<_, ContentIndex> = std::collections::BTreeMap::new();
    for of_content in chunks.chunk_by(|a, b| a.1.content == b.1.content) {
        let content = of_content[0].1.content;
        let least_bytes = options.thresholds.least_shared_bytes(size(content).0);
        let weights = of_content.iter().map(|(_, chunk)| u64::from(chunk.length_bytes) * u64::from(chunk.count));
        for (rarity, _) in &of_content[..prefix_length(weights, least_bytes)] {
            let smallest = smallest.entry(*rarity).or_insert(content);
            *smallest = std::cmp::min_by_key(*smallest, content, |content| size(*content));
        }
    }
    let components = Components::new(contents);
    for (rarity, chunk) in &chunks {
        if let Some(first) = smallest.get(rarity).filter(|first| size(**first) < size(chunk.content)) {
            components.unite(first.0, chunk.content.0);
        }
    }
    let mut links = Vec::new();
    for root in 0..u32::try_from(contents).unwrap() {
        let of_root = |content: &u32| components.root(*content) == root;
        let members: Vec<u32> = (0..u32::try_from(contents).unwrap()).filter(of_root).collect();
        if members.len() < 2 {
            continue;
        }
        let local = |content: ContentIndex| members.binary_search(&content.0).ok();
        let of_all = |content: ContentIndex| ContentIndex(members[content.at()]);
        let postings = chunks.iter().flat_map(|((_, range, number), chunk)| {
            let mut tag = [0; 16];
            tag[0] = *range;
            tag[1..5].copy_from_slice(&number.to_be_bytes());
            let content = local(chunk.content).map(|content| ContentIndex(u32::try_from(content).unwrap()));
            let posting =
                move |content| Posting { tag: Tag(tag), length_bytes: chunk.length_bytes, template: false, content };
            content.into_iter().flat_map(move |content| (0..chunk.count).map(move |_| posting(content)))
        });
        let shards = MemoryShards::new(postings.collect(), NonZeroU32::MIN);
        let payload_bytes: Vec<u64> = members.iter().map(|content| size(ContentIndex(*content)).0).collect();
        let mut holders = Holders::new();
        members.iter().for_each(|content| holders.push(input.holders.of(ContentIndex(*content)).iter().copied()));
        let input = Input { payload_bytes: &payload_bytes, holders: &holders, levels: &[], across: input.across };
        let found = Mutex::new(Vec::new());
        let collect = |links: &[Link]| {
            found.lock().unwrap().extend_from_slice(links);
            Ok(())
        };
        let request = Request { sink: Some(&collect), clusters: true, changed: None };
        let mut part = run(&shards, &input, options, &monitor, request, rule).unwrap();
        part.renumber(&of_all);
        part.stats = Stats { links: part.stats.links, ..Stats::default() };
        whole.append(part);
        let of_link = |link: &Link| Link { a: of_all(link.a), b: of_all(link.b), ..*link };
        links.extend(found.lock().unwrap().iter().map(of_link));
    }
    whole.sort();
    links.sort_unstable();
    (whole, links)
}

#[test]
fn tags_range_by_range_and_contents_component_by_component_give_the_same_analysis() {
    let mut random = Random::new(3);
    let (mut clusters, mut omitted, mut components) = (0, 0, 0);
    for number in 0..1500 {
        let instance = instance(&mut random);
        let input = Input {
            payload_bytes: &instance.payload_bytes,
            holders: &instance.holders,
            levels: &instance.levels,
            across: instance.across.as_deref(),
        };
        let tenths = random.of(&[0, 3, 5, 8, 9, 10]);
        let spill_dir = tempfile::tempdir().unwrap();
        let options = Options {
            thresholds: Thresholds {
                min_shared_bytes: random.of(&[0, 1, 5, 20, u64::MAX]),
                min_containment: format!("{}.{}", tenths / 10, tenths % 10).parse().unwrap(),
            },
            memory_budget_bytes: random.of(&[0, 1000, 1 << 26]),
            threads: NonZeroUsize::MIN,
            spill_dir: spill_dir.path(),
        };
        let rule = random.of(&[
            LinkRule { all_max: 0, per_member_max: 0, share_max: u64::MAX },
            LinkRule { all_max: 30, per_member_max: 0, share_max: 2 },
            LinkRule::published(24),
        ]);
        let monitor = Monitor { progress: &|_| (), cancelled: &AtomicBool::new(false) };
        let shards = MemoryShards::new(instance.postings.clone(), NonZeroU32::MIN);
        let reported = Mutex::new(Vec::new());
        let collect = |links: &[Link]| {
            reported.lock().unwrap().extend_from_slice(links);
            Ok(())
        };
        let request = Request { sink: Some(&collect), clusters: true, changed: None };
        let mut expected = run(&shards, &input, &options, &monitor, request, rule).unwrap();
        let (mut found, links) = in_parts(&instance, &input, &options, rule);
        // Groups without a place are words of zeros at the end.
        for one in expected.omitted.of.iter_mut().chain(&mut found.omitted.of) {
            one.groups.resize(1, 0);
        }
        let of = |stats: Stats| (stats.postings, stats.tags, stats.shared_tags, stats.links);
        assert_eq!(of(found.stats), of(expected.stats), "instance {number}");
        assert_eq!(found.clusters, expected.clusters, "instance {number}");
        assert_eq!(found.overlap, expected.overlap, "instance {number}");
        assert_eq!(found.omitted, expected.omitted, "instance {number}");
        let mut expected_links = reported.into_inner().unwrap();
        expected_links.sort_unstable();
        assert_eq!(links, expected_links, "instance {number}");
        clusters += found.clusters.len();
        omitted += found.omitted.count;
        components += usize::from(found.clusters.len() > 1);
    }
    assert!(clusters > 500 && omitted > 100 && components > 100, "{clusters} {omitted} {components}");
}
