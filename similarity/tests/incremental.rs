//! An analysis that begins with an earlier one has the findings of one from nothing, whatever has changed in between.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use cognate_fingerprint::Tag;
use cognate_similarity::{
    Analysis, ContentIndex, EarlierAnalysis, Error, Group, Holders, Holding, IncrementalAnalysis, Input, Level,
    LinkFile, LinkWriter, LinksOptions, MemoryShards, Monitor, Options, Posting, SortedLinks, SpillFolder, Thresholds,
    analyse_incrementally, analyse_with_links,
};
use proptest::prelude::*;

const GROUPS: u16 = 4;
const PARTIES: [u16; GROUPS as usize] = [0, 1, 1, 0];

/// Contents by numbers in place of digests, with their chunks and the copies of each group.
#[derive(Clone, Default, Debug)]
struct World {
    contents: BTreeMap<u32, (Vec<u8>, [u32; GROUPS as usize])>,
}

/// A change between two scans; the numbers choose one of the contents.
#[derive(Clone, Debug)]
enum Change {
    Add { digest: u32, chunks: Vec<u8>, group: u16 },
    Remove { which: usize },
    Edit { which: usize, digest: u32, chunk: u8 },
    Copy { which: usize, group: u16 },
    Move { which: usize, to: u16 },
}

impl World {
    fn apply(&mut self, change: &Change) {
        let digests: Vec<u32> = self.contents.keys().copied().collect();
        let pick = |which: &usize| digests.get(which % digests.len().max(1)).copied();
        match change {
            Change::Add { digest, chunks, group } => self.add(*digest, chunks, *group),
            Change::Remove { which } => drop(pick(which).map(|digest| self.take(digest))),
            Change::Edit { which, digest, chunk } => {
                let Some(old) = pick(which) else { return };
                let mut chunks = self.contents[&old].0.clone();
                let place = usize::from(*chunk) % (chunks.len() + 1);
                match chunk % 3 {
                    0 => chunks.insert(place, *chunk),
                    _ if place < chunks.len() => chunks[place] = *chunk,
                    _ => drop(chunks.pop()),
                }
                let group = self.take(old);
                self.add(*digest, &chunks, group);
            }
            Change::Copy { which, group } => {
                if let Some(digest) = pick(which) {
                    self.contents.get_mut(&digest).unwrap().1[usize::from(*group)] += 1;
                }
            }
            Change::Move { which, to } => {
                let Some(digest) = pick(which) else { return };
                let chunks = self.contents[&digest].0.clone();
                self.take(digest);
                self.add(digest, &chunks, *to);
            }
        }
    }

    /// The same digest is the same content: the second is a copy of the first.
    fn add(&mut self, digest: u32, chunks: &[u8], group: u16) {
        let content = self.contents.entry(digest).or_insert_with(|| (chunks.to_vec(), [0; GROUPS as usize]));
        content.1[usize::from(group)] += 1;
    }

    /// Takes one copy away, from the first group that has one.
    fn take(&mut self, digest: u32) -> u16 {
        let copies = &mut self.contents.get_mut(&digest).unwrap().1;
        let group = copies.iter().position(|copies| *copies > 0).unwrap();
        copies[group] -= 1;
        if copies.iter().all(|copies| *copies == 0) {
            self.contents.remove(&digest);
        }
        u16::try_from(group).unwrap()
    }

    fn postings(&self) -> Vec<Posting> {
        let contents = (0..).map(ContentIndex).zip(self.contents.values());
        let posting = |(content, chunk): (ContentIndex, u8)| Posting {
            tag: tag(chunk),
            length_bytes: length_bytes(chunk),
            template: chunk < 2,
            content,
        };
        contents
            .flat_map(|(content, (chunks, _))| chunks.iter().map(move |chunk| (content, *chunk)))
            .map(posting)
            .collect()
    }

    fn payload_bytes(&self) -> Vec<u64> {
        let counted =
            |chunks: &Vec<u8>| chunks.iter().filter(|chunk| **chunk >= 2).map(|c| u64::from(length_bytes(*c))).sum();
        self.contents.values().map(|(chunks, _)| counted(chunks)).collect()
    }

    fn holders(&self) -> Holders {
        let mut holders = Holders::new();
        for (_, copies) in self.contents.values() {
            let held = (0..).map(Group).zip(copies).filter(|(_, copies)| **copies > 0);
            holders.push(held.map(|(group, copies)| Holding { group, copies: *copies }));
        }
        holders
    }

    /// The one label under which each content is held; `None` for no label and for several.
    fn homes(&self) -> BTreeMap<u32, Option<u16>> {
        let home = |copies: &[u32; GROUPS as usize]| {
            let mut labels: Vec<u16> =
                copies.iter().zip(PARTIES).filter(|(c, _)| **c > 0).map(|(_, label)| label).collect();
            labels.dedup();
            labels.sort_unstable();
            labels.dedup();
            if let [one] = labels[..] { Some(one) } else { None }
        };
        self.contents.iter().map(|(digest, (_, copies))| (*digest, home(copies))).collect()
    }

    /// For each content its number in a later world; `None` if it is gone or changed.
    fn numbers_in(&self, later: &World, across: bool) -> Vec<Option<ContentIndex>> {
        let (homes, later_homes) = (self.homes(), later.homes());
        let number = |digest: &u32| {
            let place = later.contents.keys().position(|other| other == digest)?;
            let stays = !across || homes[digest] == later_homes[digest];
            stays.then(|| ContentIndex(u32::try_from(place).unwrap()))
        };
        self.contents.keys().map(number).collect()
    }
}

fn tag(chunk: u8) -> Tag {
    Tag(blake3::hash(&[chunk]).as_bytes()[..16].try_into().unwrap())
}

fn length_bytes(chunk: u8) -> u32 {
    [10, 35, 60, 100][usize::from(chunk % 4)]
}

#[derive(Clone, Copy, Debug)]
struct Setup {
    min_shared_bytes: u64,
    thousandths: u64,
    across: bool,
    threads: usize,
    budget_bytes: u64,
}

/// The files of an analysis: its findings, and its links.
struct SavedAnalysis {
    analysis: Analysis,
    links: Vec<u8>,
}

struct Bench<'a> {
    folder: &'a Path,
    setup: Setup,
}

impl Bench<'_> {
    fn with<T>(
        &self,
        world: &World,
        work: impl FnOnce(&MemoryShards, &Input<'_>, &Options<'_>, &Monitor<'_>) -> T,
    ) -> T {
        let Setup { min_shared_bytes, thousandths, across, threads, budget_bytes } = self.setup;
        let (payload_bytes, holders) = (world.payload_bytes(), world.holders());
        let levels = [
            Level { labels: (0..GROUPS).collect(), label_count: GROUPS },
            Level { labels: PARTIES.to_vec(), label_count: 2 },
        ];
        let across = across.then_some(&PARTIES[..]);
        let input = Input { payload_bytes: &payload_bytes, holders: &holders, levels: &levels, across };
        let min_containment = format!("{}.{:03}", thousandths / 1000, thousandths % 1000).parse().unwrap();
        let options = Options {
            thresholds: Thresholds { min_shared_bytes, min_containment },
            memory_budget_bytes: budget_bytes,
            threads: NonZeroUsize::new(threads).unwrap(),
            spill_dir: self.folder,
        };
        let monitor = Monitor { progress: &|_| (), cancelled: &AtomicBool::new(false) };
        let shards = MemoryShards::new(world.postings(), NonZeroU32::new(3).unwrap());
        work(&shards, &input, &options, &monitor)
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.join("links")
    }

    /// From nothing.
    fn full(&self, world: &World) -> SavedAnalysis {
        self.with(world, |shards, input, options, monitor| {
            let spill = SpillFolder::new(self.folder);
            let memory_budget_bytes = options.memory_budget_bytes;
            let contents = input.payload_bytes.len();
            let sorted = SortedLinks::new(&spill, &LinksOptions { contents, memory_budget_bytes, threads: 2 });
            let analysis = analyse_with_links(shards, input, options, monitor, &|links| sorted.add(links)).unwrap();
            let mut links = LinkWriter::create(&self.path(), &[0; 32]).unwrap();
            sorted.drain_in_order(options.threads, &mut |part| links.push(part)).unwrap();
            assert_eq!(links.finish(false).unwrap() + analysis.omitted.count, analysis.stats.links);
            SavedAnalysis { analysis, links: std::fs::read(self.path()).unwrap() }
        })
    }

    /// From the files of an earlier world.
    fn again(&self, earlier: &World, left: &SavedAnalysis, world: &World) -> (SavedAnalysis, IncrementalAnalysis) {
        let numbers = earlier.numbers_in(world, self.setup.across);
        let again = self.begin(left, &numbers, world).unwrap();
        assert_eq!(std::fs::read_dir(self.folder).unwrap().count(), 2, "nothing but the links is left behind");
        (SavedAnalysis { analysis: again.analysis.clone(), links: std::fs::read(self.path()).unwrap() }, again)
    }

    fn begin(
        &self,
        left: &SavedAnalysis,
        numbers: &[Option<ContentIndex>],
        world: &World,
    ) -> Result<IncrementalAnalysis, Error> {
        let earlier = self.folder.join("earlier");
        std::fs::write(&earlier, &left.links).unwrap();
        let before = LinkFile::open(&earlier, &[0; 32])?;
        self.with(world, |shards, input, options, monitor| {
            let mut links = LinkWriter::create(&self.path(), &[0; 32])?;
            let before = EarlierAnalysis { clusters: left.analysis.clusters.clone(), links: &before, numbers };
            let again = analyse_incrementally(shards, input, options, monitor, before, &mut links)?;
            links.finish(false)?;
            Ok(again)
        })
    }
}

fn change() -> impl Strategy<Value = Change> {
    let chunks = prop::collection::vec(0u8..24, 0..12);
    prop_oneof![
        3 => (any::<u32>(), chunks, 0..GROUPS).prop_map(|(digest, chunks, group)| Change::Add { digest, chunks, group }),
        2 => any::<usize>().prop_map(|which| Change::Remove { which }),
        4 => (any::<usize>(), any::<u32>(), 0u8..24).prop_map(|(which, digest, chunk)| Change::Edit { which, digest, chunk }),
        1 => (any::<usize>(), 0..GROUPS).prop_map(|(which, group)| Change::Copy { which, group }),
        1 => (any::<usize>(), 0..GROUPS).prop_map(|(which, to)| Change::Move { which, to }),
    ]
}

fn setup() -> impl Strategy<Value = Setup> {
    let thresholds = (prop_oneof![Just(u64::MAX), 1u64..500], prop_oneof![Just(500u64), Just(850), 1u64..=1000]);
    let rest = (any::<bool>(), 1usize..3, prop_oneof![Just(0u64), Just(20_000), Just(1 << 24)]);
    (thresholds, rest).prop_map(|((min_shared_bytes, thousandths), (across, threads, budget_bytes))| Setup {
        min_shared_bytes,
        thousandths,
        across,
        threads,
        budget_bytes,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_chain_of_rescans_equals_full_analyses(
        setup in setup(),
        first in prop::collection::vec(change(), 0..40),
        rounds in prop::collection::vec(prop::collection::vec(change(), 0..8), 1..5),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let bench = Bench { folder: folder.path(), setup };
        let mut world = World::default();
        first.iter().for_each(|change| world.apply(change));
        let mut left = bench.full(&world);
        for changes in rounds {
            let earlier = world.clone();
            changes.iter().for_each(|change| world.apply(change));
            let full = bench.full(&world);
            // Each begins with what the last one left that began with another.
            let (now, again) = bench.again(&earlier, &left, &world);
            prop_assert_eq!(&now.links, &full.links);
            prop_assert_eq!(&now.analysis.clusters, &full.analysis.clusters);
            prop_assert_eq!(&now.analysis.overlap, &full.analysis.overlap);
            prop_assert_eq!(&now.analysis.omitted, &full.analysis.omitted);
            let counts = |left: &SavedAnalysis| {
                let stats = left.analysis.stats;
                (stats.postings, stats.tags, stats.shared_tags, stats.links)
            };
            prop_assert_eq!(counts(&now), counts(&full));
            prop_assert!(again.compared <= world.contents.len() as u64);
            left = now;
        }
    }
}

/// Families of three near contents each, which have nothing to do with each other.
fn families(count: u32) -> World {
    let mut world = World::default();
    for family in 0..count {
        let own = |n: u32| u8::try_from(2 + family * 6 + n).unwrap();
        for member in 0..3 {
            let chunks: Vec<u8> = (0..5).map(own).chain((member == 1).then(|| own(5))).collect();
            world.add(family * 10 + member, &chunks[usize::from(member == 2)..], u16::try_from(member).unwrap());
        }
    }
    world
}

const SETUP: Setup =
    Setup { min_shared_bytes: u64::MAX, thousandths: 500, across: false, threads: 2, budget_bytes: 1 << 20 };

#[test]
fn only_contents_that_can_have_changed_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench { folder: folder.path(), setup: SETUP };
    let world = families(30);
    let left = bench.full(&world);
    assert_eq!(left.analysis.clusters.len(), 30);
    let (_, again) = bench.again(&world, &left, &world);
    assert_eq!((again.changed, again.compared, again.clusters_kept), (0, 0, 30));
    let mut later = world.clone();
    later.apply(&Change::Edit { which: 45, digest: 999, chunk: 3 });
    later.apply(&Change::Remove { which: 0 });
    let (_, again) = bench.again(&world, &left, &later);
    assert_eq!((again.changed, again.clusters_kept), (1, 28));
    assert!(again.compared <= 6, "{again:?}");
}

#[test]
fn earlier_links_that_are_damaged_are_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench { folder: folder.path(), setup: SETUP };
    let world = families(10);
    let mut left = bench.full(&world);
    std::fs::remove_file(bench.path()).unwrap();
    let numbers = world.numbers_in(&world, false);
    left.links[100] ^= 1;
    let error = bench.begin(&left, &numbers, &world).unwrap_err();
    assert!(error.to_string().contains("/earlier is corrupt"), "{error}");
    assert!(!bench.path().try_exists().unwrap());
}

#[test]
fn numbers_in_another_order_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench { folder: folder.path(), setup: SETUP };
    let world = families(2);
    let left = bench.full(&world);
    let mut numbers = world.numbers_in(&world, false);
    numbers.swap(0, 1);
    assert!(matches!(bench.begin(&left, &numbers, &world), Err(Error::InvalidInput { .. })));
}

/// So many contents of one chunk and another, which each share with some; held here and there.
fn crowd(count: u32) -> World {
    let mut world = World::default();
    for content in 0..count {
        let own = u8::try_from(4 + content % 40).unwrap();
        world.add(3 * content, &[3, own], u16::try_from(content % 3).unwrap());
    }
    world
}

#[test]
fn the_links_of_a_crowd_that_share_one_chunk_grow_with_its_contents_alone() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench { folder: folder.path(), setup: Setup { budget_bytes: 1 << 24, ..SETUP } };
    for count in [600, 1200] {
        let SavedAnalysis { analysis, links } = bench.full(&crowd(count));
        let all = u64::from(count) * u64::from(count - 1) / 2;
        assert_eq!(analysis.stats.links, all);
        assert_eq!(analysis.clusters[0].link_count, all);
        let reported = all - analysis.omitted.count;
        assert!(
            (u64::from(count) - 1..6 * u64::from(count)).contains(&reported),
            "{reported} links of {count} contents"
        );
        assert!(links.len() < 100 * count as usize + 500, "{} bytes", links.len());
    }
}

#[test]
fn a_rescan_of_a_crowd_finds_what_a_full_analysis_does() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench { folder: folder.path(), setup: SETUP };
    let mut world = crowd(500);
    families(5)
        .contents
        .into_iter()
        .for_each(|(digest, content)| drop(world.contents.insert(10_000 + digest, content)));
    let mut left = bench.full(&world);
    assert!(left.analysis.omitted.count > 100_000, "{}", left.analysis.omitted.count);
    for change in [
        // It changes no link, but who holds what the others are linked with.
        Change::Copy { which: 7, group: 3 },
        Change::Edit { which: 0, digest: 1, chunk: 100 },
        Change::Remove { which: 30 },
    ] {
        let earlier = world.clone();
        world.apply(&change);
        let full = bench.full(&world);
        let (now, _) = bench.again(&earlier, &left, &world);
        assert_eq!(now.links, full.links, "{change:?}");
        assert_eq!(now.analysis.clusters, full.analysis.clusters, "{change:?}");
        assert_eq!(now.analysis.omitted, full.analysis.omitted, "{change:?}");
        assert_eq!(now.analysis.stats.links, full.analysis.stats.links, "{change:?}");
        left = now;
    }
}
