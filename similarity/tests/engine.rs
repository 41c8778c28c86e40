//! The engine against its oracle, against itself under other budgets, and against the world.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

#[path = "support/oracle.rs"]
mod oracle;

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cognate_fingerprint::Tag;
use cognate_fuzzing::Dice;
use cognate_similarity::{
    Analysis, ContentIndex, Error, Group, Holders, Holding, Input, Level, MemoryShards, Monitor, Options, Posting, Run,
    RunInput, RunRecord, RunShards, Shards, Thresholds, WriteRun, analyse, write_run,
};
use proptest::prelude::*;

use self::oracle::OracleThresholds;

/// Contents as lists of (chunk number, times); a chunk's number decides its tag, length and whether it is a template.
#[derive(Clone, Debug)]
struct World {
    contents: Vec<Vec<(u8, u32)>>,
    /// Per content (group, copies).
    holders: Vec<Vec<(u16, u32)>>,
    lengths_bytes: Vec<u32>,
    /// Chunks below this number are templates.
    templates: u8,
    across: bool,
}

const GROUPS: u16 = 4;
const PARTIES: [u16; GROUPS as usize] = [0, 1, 1, 0];

impl World {
    fn postings(&self) -> Vec<Posting> {
        let mut postings = Vec::new();
        for (content, chunks) in (0u32..).zip(&self.contents) {
            for &(chunk, times) in chunks {
                let posting = Posting {
                    tag: tag(chunk.into()),
                    length_bytes: self.lengths_bytes[usize::from(chunk)],
                    template: chunk < self.templates,
                    content: ContentIndex(content),
                };
                postings.extend(std::iter::repeat_n(posting, times as usize));
            }
        }
        postings
    }

    fn payload_bytes(&self) -> Vec<u64> {
        let mut payload_bytes = vec![0; self.contents.len()];
        for posting in self.postings().iter().filter(|posting| !posting.template) {
            payload_bytes[posting.content.0 as usize] += u64::from(posting.length_bytes);
        }
        payload_bytes
    }

    fn holders(&self) -> Holders {
        let mut holders = Holders::new();
        for list in &self.holders {
            holders.push(list.iter().map(|&(group, copies)| Holding { group: Group(group), copies }));
        }
        holders
    }
}

/// Spread over shards, so that neighbouring numbers are not neighbouring tags.
fn tag(chunk: u32) -> Tag {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&chunk.wrapping_mul(0x9e37_79b9).to_be_bytes());
    bytes[12..].copy_from_slice(&chunk.to_be_bytes());
    Tag(bytes)
}

#[derive(Clone, Copy, Debug)]
struct Setup {
    shards: u32,
    threads: usize,
    budget_bytes: u64,
}

fn levels() -> Vec<Level> {
    vec![
        Level { labels: (0..GROUPS).collect(), label_count: GROUPS },
        Level { labels: PARTIES.to_vec(), label_count: 2 },
    ]
}

fn run_on(
    shards: &dyn Shards,
    world: &World,
    thresholds: Thresholds,
    setup: Setup,
    spill_dir: &Path,
) -> Result<Analysis, Error> {
    let (payload_bytes, holders, levels) = (world.payload_bytes(), world.holders(), levels());
    let input = Input {
        payload_bytes: &payload_bytes,
        holders: &holders,
        levels: &levels,
        across: world.across.then_some(&PARTIES),
    };
    let options = Options {
        thresholds,
        memory_budget_bytes: setup.budget_bytes,
        threads: NonZeroUsize::new(setup.threads).unwrap(),
        spill_dir,
    };
    let monitor =
        Monitor { progress: &|progress| assert!(progress.done <= progress.total), cancelled: &AtomicBool::new(false) };
    analyse(shards, &input, &options, &monitor)
}

fn run(world: &World, thresholds: Thresholds, setup: Setup) -> Analysis {
    let spill_dir = tempfile::tempdir().unwrap();
    let shards = NonZeroU32::new(setup.shards).unwrap();
    let shards = MemoryShards::new(world.postings(), shards);
    let analysis = run_on(&shards, world, thresholds, setup, spill_dir.path()).unwrap();
    assert_eq!(files_in(spill_dir.path()), 0, "the spill folder is empty afterwards");
    analysis
}

fn files_in(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

fn reference(world: &World, min_shared_bytes: u64, thousandths: u64) -> oracle::Reference {
    let (payload_bytes, holders, levels) = (world.payload_bytes(), world.holders(), levels());
    let input = Input {
        payload_bytes: &payload_bytes,
        holders: &holders,
        levels: &levels,
        across: world.across.then_some(&PARTIES),
    };
    let thresholds = OracleThresholds { min_shared_bytes, min_containment: [thousandths, 1000] };
    oracle::analyse(&world.postings(), &input, &thresholds)
}

fn thresholds(min_shared_bytes: u64, thousandths: u64) -> Thresholds {
    let text = format!("{}.{:03}", thousandths / 1000, thousandths % 1000);
    Thresholds { min_shared_bytes, min_containment: text.parse().unwrap() }
}

const CHUNKS: u8 = 24;

/// Fresh lists, lists derived from an earlier content, hubs in nearly every content, empty contents.
fn worlds() -> impl Strategy<Value = World> {
    let fresh = prop::collection::vec((0..CHUNKS, 1u32..4), 0..7);
    let content = (fresh, any::<bool>(), any::<prop::sample::Index>(), 0u8..3);
    let contents = prop::collection::vec(content, 0..18);
    let holders = prop::collection::vec(prop::collection::vec((0..GROUPS, 0u32..3), 0..3), 18);
    let lengths_bytes = prop::collection::vec(prop_oneof![1u32..4, 1u32..200], CHUNKS as usize);
    (contents, holders, lengths_bytes, 0u8..3, any::<bool>()).prop_map(
        |(drafts, mut holders, lengths_bytes, templates, across)| {
            let mut contents: Vec<Vec<(u8, u32)>> = Vec::new();
            for (mut chunks, derived, from, hubs) in drafts {
                if derived && !contents.is_empty() {
                    let from = &contents[from.index(contents.len())];
                    chunks.truncate(1);
                    chunks.extend_from_slice(from);
                }
                chunks.extend((0..hubs).map(|hub| (templates + hub, 1)));
                contents.push(chunks);
            }
            holders.truncate(contents.len());
            World { contents, holders, lengths_bytes, templates, across }
        },
    )
}

fn setups() -> impl Strategy<Value = Setup> {
    let shards = prop_oneof![Just(1u32), Just(2), Just(7), Just(256)];
    let budget_bytes = prop_oneof![Just(0u64), Just(1 << 10), Just(8 << 10), Just(40 << 10), Just(64 << 20)];
    (shards, 1usize..4, budget_bytes).prop_map(|(shards, threads, budget_bytes)| Setup {
        shards,
        threads,
        budget_bytes,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_tag_of_one_content_that_one_group_holds_changes_nothing(world in worlds(), min_shared_bytes in 1u64..2000) {
        let setup = Setup { shards: 3, threads: 2, budget_bytes: 1 << 20 };
        let thresholds = thresholds(min_shared_bytes, 500);
        let all = world.postings();
        let stays = |posting: &&Posting| {
            let is_several = world.holders[posting.content.0 as usize].len() > 1;
            is_several || all.iter().any(|other| other.tag == posting.tag && other.content != posting.content)
        };
        let left: Vec<Posting> = all.iter().filter(stays).copied().collect();
        let spill_dir = tempfile::tempdir().unwrap();
        let shards = |postings: &[Posting]| MemoryShards::new(postings.to_vec(), NonZeroU32::new(3).unwrap());
        let found = |postings: &[Posting]| run_on(&shards(postings), &world, thresholds, setup, spill_dir.path()).unwrap();
        let (whole, grouped) = (found(&all), found(&left));
        prop_assert_eq!((whole.clusters, whole.overlap), (grouped.clusters, grouped.overlap));
    }

    #[test]
    fn the_engine_equals_the_oracle(
        world in worlds(),
        setup in setups(),
        min_shared_bytes in prop_oneof![Just(0u64), 1u64..40, 1u64..400, Just(u64::MAX)],
        thousandths in prop_oneof![Just(0u64), Just(500), Just(800), Just(1000), Just(333), 0u64..=1000],
    ) {
        let found = run(&world, thresholds(min_shared_bytes, thousandths), setup);
        let expected = reference(&world, min_shared_bytes, thousandths);
        prop_assert_eq!(found.clusters, expected.clusters);
        prop_assert_eq!(found.overlap, expected.overlap);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_pair_at_a_threshold_is_linked_and_just_below_it_is_not(
        world in worlds(),
        setup in setups(),
    ) {
        let all = reference(&World { across: false, ..world.clone() }, 1, 0);
        let world = World { across: false, ..world };
        for link in all.clusters.iter().flat_map(|cluster| &cluster.links).step_by(5) {
            for (least, linked) in [(link.shared_bytes, true), (link.shared_bytes + 1, false)] {
                let found = run(&world, thresholds(least, 1000), setup);
                let payload_bytes = world.payload_bytes();
                let smaller = payload_bytes[link.a.0 as usize].min(payload_bytes[link.b.0 as usize]);
                let found = found.clusters.iter().any(|cluster| cluster.links.contains(link));
                prop_assert_eq!(found, linked || link.shared_bytes == smaller);
            }
        }
    }
}

/// Documents with edited versions, a few of them archives of others, and a header that all have.
fn corpus(documents: u32) -> World {
    let mut dice = Dice::new(7);
    let mut random = move |below: u32| u32::try_from(dice.below(below as usize)).unwrap();
    let mut world = World {
        contents: Vec::new(),
        holders: Vec::new(),
        lengths_bytes: (0..=255).map(|chunk| 50 + chunk).collect(),
        templates: 1,
        across: false,
    };
    for document in 0..documents {
        let chunk = |random: u32| u8::try_from(random).unwrap();
        let mut chunks: Vec<_> = (0..20).map(|_| (chunk(random(256)), 1 + random(2))).collect();
        if document > 0 && random(3) > 0 {
            let from = world.contents[random(document) as usize].clone();
            chunks.truncate(2);
            chunks.extend(from);
            chunks.truncate(40);
        }
        world.contents.push(chunks);
        world.holders.push(vec![(u16::try_from(random(4)).unwrap(), 1)]);
    }
    world
}

#[test]
fn results_do_not_depend_on_shards_threads_budget_or_order() {
    let world = corpus(5000);
    let thresholds = thresholds(u64::MAX, 700);
    let setup = |shards, threads, budget_bytes| Setup { shards, threads, budget_bytes };
    let plain = run(&world, thresholds, setup(1, 1, 1 << 30));
    assert!(plain.clusters.len() > 100 && plain.stats.links > 2000, "{:?}", plain.stats);
    assert_eq!(plain.stats.spilled_bytes, 0);
    for other in [setup(256, 2, 1 << 30), setup(3, 3, 1 << 20), setup(64, 2, 200_000), setup(9, 1, 0)] {
        let found = run(&world, thresholds, other);
        assert_eq!(found.clusters, plain.clusters, "{other:?}");
        assert_eq!(found.overlap, plain.overlap, "{other:?}");
        assert_eq!(found.stats.shared_tags, plain.stats.shared_tags);
        assert_eq!(found.stats.spilled_bytes > 0, other.budget_bytes < 1 << 30, "{:?}", found.stats);
    }
}

#[test]
fn postings_in_runs_give_the_same_result_as_in_memory() {
    let world = corpus(600);
    let folder = tempfile::tempdir().unwrap();
    let thresholds = thresholds(2000, 500);
    let mut runs = Vec::new();
    for number in 0..3u32 {
        // Each run numbers its contents backwards and holds one content that is dead by now.
        let mine = |content: u32| content % 3 == number;
        let ordinal = |content: u32| 1000 - content;
        let alive = world.postings().into_iter().filter(|posting| mine(posting.content.0));
        let mut records: Vec<_> = alive
            .map(|posting| RunRecord {
                tag: posting.tag,
                length_bytes: posting.length_bytes,
                template: posting.template,
                ordinal: ordinal(posting.content.0),
            })
            .collect();
        let dead: Vec<_> = records.iter().map(|record| RunRecord { ordinal: 0, ..*record }).collect();
        records.extend(dead);
        let path = folder.path().join(format!("{number}.run"));
        write_run(&path, &mut records, &WriteRun { sync: false }).unwrap();
        let contents = (0..=1000u32).map(|o| {
            let content = 1000 - o;
            (o > 0 && content < 600 && mine(content)).then_some(ContentIndex(content))
        });
        runs.push(RunInput { run: Run::open(&path).unwrap(), contents: contents.collect() });
    }
    let setup = Setup { shards: 1, threads: 2, budget_bytes: 300_000 };
    let spill_dir = tempfile::tempdir().unwrap();
    let found = run_on(&RunShards::new(runs), &world, thresholds, setup, spill_dir.path()).unwrap();
    let expected = run(&world, thresholds, setup);
    assert_eq!(found.clusters, expected.clusters);
    assert_eq!(found.overlap, expected.overlap);
    assert_eq!(found.stats.postings, expected.stats.postings);
}

/// A world of contents made of chunks of 100 bytes, all held by one group.
fn plain_world(contents: &[&[u8]]) -> World {
    World {
        contents: contents.iter().map(|chunks| chunks.iter().map(|&c| (c, 1)).collect()).collect(),
        holders: vec![vec![(0, 1)]; contents.len()],
        lengths_bytes: vec![100; 256],
        templates: 0,
        across: false,
    }
}

const LARGE: Setup = Setup { shards: 4, threads: 2, budget_bytes: 64 << 20 };

#[test]
fn collapsing_identical_copies_leaves_4_links_of_21() {
    // Figure 7: a cluster of two documents and one of three, in a chain of links, each document with a copy.
    let documents: [&[u8]; 5] = [&[1, 2, 3], &[1, 2, 4], &[10, 11, 12, 13], &[10, 11, 12, 14], &[10, 11, 12, 15]];
    let copied: Vec<_> = documents.iter().flat_map(|document| [*document, *document]).collect();
    let links = |world| run(&world, thresholds(u64::MAX, 500), LARGE).stats.links;
    assert_eq!(links(plain_world(&documents)), 4);
    assert_eq!(links(plain_world(&copied)), 21);
}

#[test]
fn a_chain_does_not_hide_that_its_ends_differ() {
    let chain: [&[u8]; 3] = [&[1, 2, 3, 4], &[3, 4, 5, 6], &[5, 6, 7, 8]];
    let found = run(&plain_world(&chain), thresholds(u64::MAX, 500), LARGE);
    assert_eq!(found.clusters.len(), 1);
    assert_eq!(found.clusters[0].representative, ContentIndex(1));
    assert!(found.clusters[0].families.is_empty());
}

#[test]
fn near_members_are_a_family_even_where_the_threshold_dropped_their_link() {
    // Two versions of a document share nine chunks of eleven; an archive contains both.
    let versions: [Vec<u8>; 2] = [(1..=10).collect(), (2..=11).collect()];
    let archive: Vec<u8> = (1..=40).collect();
    let world = plain_world(&[&versions[0], &versions[1], &archive]);
    let found = run(&world, thresholds(u64::MAX, 1000), LARGE);
    let [cluster] = &found.clusters[..] else { panic!("{found:?}") };
    assert_eq!((cluster.links.len(), cluster.representative), (2, ContentIndex(2)));
    assert_eq!(cluster.families.len(), 1);
    assert_eq!(cluster.families[0].members, [ContentIndex(0), ContentIndex(1)]);
    let least = cluster.families[0].min_resemblance;
    assert_eq!((least.shared, least.union), (900, 1100));
}

#[test]
fn a_family_of_more_than_a_thousand_is_measured_by_its_representative_and_says_so() {
    for (members, over_representative_only) in [(1000u32, false), (1001, true)] {
        // All hold ten common chunks and one of their own.
        let mut postings = Vec::new();
        for content in 0..members {
            let chunks = (0..10).chain([100 + content]);
            postings.extend(chunks.map(|chunk| Posting {
                tag: tag(chunk),
                length_bytes: 100,
                template: false,
                content: ContentIndex(content),
            }));
        }
        let world = World { contents: vec![vec![]; members as usize], ..plain_world(&[]) };
        let mut holders = Holders::new();
        world.contents.iter().for_each(|_| holders.push([]));
        let input =
            Input { payload_bytes: &vec![1100; members as usize], holders: &holders, levels: &[], across: None };
        let spill_dir = tempfile::tempdir().unwrap();
        let options = Options {
            thresholds: thresholds(u64::MAX, 500),
            memory_budget_bytes: 64 << 20,
            threads: NonZeroUsize::new(2).unwrap(),
            spill_dir: spill_dir.path(),
        };
        let monitor = Monitor { progress: &|_| (), cancelled: &AtomicBool::new(false) };
        let shards = MemoryShards::new(postings, NonZeroU32::MIN);
        let analysis = analyse(&shards, &input, &options, &monitor).unwrap();
        let family = &analysis.clusters[0].families[0];
        assert_eq!(family.members.len(), members as usize);
        assert_eq!(family.over_representative_only, over_representative_only);
        assert_eq!((family.min_resemblance.shared, family.min_resemblance.union), (1000, 1200));
        assert_eq!(analysis.stats.links, u64::from(members) * u64::from(members - 1) / 2);
    }
}

#[test]
fn a_chunk_that_everybody_has_does_not_make_everybody_a_candidate() {
    let contents = 3000u32;
    let world = World {
        // One common chunk, four of their own shared with one neighbour.
        contents: vec![vec![]; contents as usize],
        ..plain_world(&[])
    };
    let mut postings = Vec::new();
    for content in 0..contents {
        let own = (0..4).map(|n| 10 + content / 2 * 4 + n);
        postings.extend(own.chain([0]).map(|chunk| Posting {
            tag: tag(chunk),
            length_bytes: 100,
            template: false,
            content: ContentIndex(content),
        }));
    }
    let mut holders = Holders::new();
    world.contents.iter().for_each(|_| holders.push([]));
    let input = Input { payload_bytes: &vec![500; contents as usize], holders: &holders, levels: &[], across: None };
    let options = Options {
        thresholds: thresholds(u64::MAX, 500),
        memory_budget_bytes: 64 << 20,
        threads: NonZeroUsize::MIN,
        spill_dir: Path::new("/nonexistent"),
    };
    let monitor = Monitor { progress: &|_| (), cancelled: &AtomicBool::new(false) };
    let shards = MemoryShards::new(postings, NonZeroU32::MIN);
    let analysis = analyse(&shards, &input, &options, &monitor).unwrap();
    assert_eq!(analysis.stats.links, u64::from(contents / 2));
    assert_eq!(analysis.stats.candidates, u64::from(contents / 2));
}

#[test]
fn cancelling_ends_the_analysis_and_leaves_no_files() {
    let world = corpus(2000);
    let (payload_bytes, holders) = (world.payload_bytes(), world.holders());
    let input = Input { payload_bytes: &payload_bytes, holders: &holders, levels: &[], across: None };
    let shards = MemoryShards::new(world.postings(), NonZeroU32::new(16).unwrap());
    let mut steps = 0;
    loop {
        let spill_dir = tempfile::tempdir().unwrap();
        let options = Options {
            thresholds: thresholds(2000, 500),
            memory_budget_bytes: 50_000,
            threads: NonZeroUsize::new(2).unwrap(),
            spill_dir: spill_dir.path(),
        };
        let (cancelled, seen) = (AtomicBool::new(false), AtomicUsize::new(0));
        let progress = |_| {
            if seen.fetch_add(1, Ordering::Relaxed) == steps {
                cancelled.store(true, Ordering::Relaxed);
            }
        };
        let monitor = Monitor { progress: &progress, cancelled: &cancelled };
        let result = analyse(&shards, &input, &options, &monitor);
        assert_eq!(files_in(spill_dir.path()), 0);
        match result {
            Err(error) => assert!(matches!(error, Error::Cancelled), "{error}"),
            Ok(_) => break,
        }
        steps += 1 + steps / 2;
    }
    assert!(steps > 10);
}

/// A source that fails half way.
struct Failing(MemoryShards);

impl Shards for Failing {
    fn shard_count(&self) -> u32 {
        self.0.shard_count()
    }

    fn posting_count_max(&self) -> u64 {
        self.0.posting_count_max()
    }

    fn visit(&self, shard: u32, visit: &mut dyn FnMut(&[Posting]) -> Result<(), Error>) -> Result<(), Error> {
        if shard == 8 {
            return Err(Error::Corrupt { path: "some.run".into(), detail: "it is broken" });
        }
        self.0.visit(shard, visit)
    }
}

#[test]
fn a_failing_source_ends_the_analysis_and_leaves_no_files() {
    let world = corpus(2000);
    let shards = Failing(MemoryShards::new(world.postings(), NonZeroU32::new(16).unwrap()));
    let spill_dir = tempfile::tempdir().unwrap();
    let setup = Setup { shards: 16, threads: 2, budget_bytes: 50_000 };
    let error = run_on(&shards, &world, thresholds(1, 0), setup, spill_dir.path()).unwrap_err();
    assert_eq!(error.to_string(), "some.run is corrupt: it is broken");
    assert_eq!(files_in(spill_dir.path()), 0);
}

#[test]
fn a_spill_folder_that_cannot_be_made_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let world = corpus(2000);
    let shards = MemoryShards::new(world.postings(), NonZeroU32::MIN);
    let setup = Setup { shards: 1, threads: 1, budget_bytes: 1000 };
    let error = run_on(&shards, &world, thresholds(1, 0), setup, file.path()).unwrap_err();
    assert!(matches!(error, Error::Io { .. }));
    assert!(error.to_string().contains(file.path().to_str().unwrap()), "{error}");
}

#[test]
fn contradictions_in_the_input_are_refused() {
    let world = plain_world(&[&[1], &[1]]);
    let refused = |world: &World, postings| {
        let shards = MemoryShards::new(postings, NonZeroU32::MIN);
        let result = run_on(&shards, world, thresholds(1, 0), LARGE, Path::new("/nonexistent"));
        result.unwrap_err().to_string()
    };
    let mut beyond = world.postings();
    beyond[1].content = ContentIndex(2);
    assert_eq!(refused(&world, beyond), "a posting names content 2 of only 2");
    let stranger = World { holders: vec![vec![(9, 1)], vec![]], ..world.clone() };
    assert_eq!(refused(&stranger, vec![]), "invalid input: a group has no label");
    let short = World { holders: vec![vec![]], ..world };
    assert!(refused(&short, vec![]).contains("different numbers of contents"));
}

#[test]
fn nothing_in_gives_nothing_out() {
    let found = run(&plain_world(&[]), thresholds(1, 0), LARGE);
    assert!(found.clusters.is_empty());
    assert_eq!(found.stats.postings, 0);
}
