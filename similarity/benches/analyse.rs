//! Speed of an analysis of generated corpora: `cargo bench -p cognate-similarity`.
//!
//! The corpora come from a seeded generator, so figures of two builds can be compared.

#![expect(clippy::unwrap_used, reason = "a benchmark stops at what it did not expect")]

use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::atomic::AtomicBool;

use cognate_fingerprint::Tag;
use cognate_fuzzing::Dice;
use cognate_similarity::{
    Analysis, ContentIndex, Group, Holders, Holding, Input, Level, MemoryShards, Monitor, Options, Posting, Thresholds,
    analyse,
};

fn main() {
    divan::main();
}

/// A corpus to generate.
#[derive(Clone, Copy)]
struct Recipe {
    documents: u32,
    chunks_per_document: u32,
    /// Edited versions of an earlier document, of a hundred documents.
    near_duplicates_percent: u32,
    seed: u64,
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let postings = f64::from(self.documents) * f64::from(self.chunks_per_document) / 1e6;
        write!(f, "{postings} M postings, {} % near", self.near_duplicates_percent)
    }
}

const RECIPES: [Recipe; 3] = [
    Recipe { documents: 200_000, chunks_per_document: 7, near_duplicates_percent: 30, seed: 1 },
    Recipe { documents: 200_000, chunks_per_document: 50, near_duplicates_percent: 10, seed: 2 },
    Recipe { documents: 200_000, chunks_per_document: 50, near_duplicates_percent: 50, seed: 3 },
];

const LENGTH_BYTES: u32 = 1000;
/// Headers and footers that many documents have.
const COMMON_CHUNKS: u64 = 200;
const SITES: u16 = 4;

struct Corpus {
    shards: MemoryShards,
    payload_bytes: Vec<u64>,
    holders: Holders,
    levels: Vec<Level>,
}

fn tag(chunk: u64) -> Tag {
    let mut random = Dice::new(chunk);
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&random.roll().to_le_bytes());
    bytes[8..].copy_from_slice(&random.roll().to_le_bytes());
    Tag(bytes)
}

fn generate(recipe: Recipe) -> Corpus {
    let mut random = Dice::new(recipe.seed);
    let mut next_chunk = COMMON_CHUNKS;
    let mut lists: Vec<Vec<u64>> = Vec::new();
    for document in 0..recipe.documents {
        let is_copy = document > 0 && random.below(100) < recipe.near_duplicates_percent as usize;
        let mut list = match is_copy {
            true => lists[random.below(document as usize)].clone(),
            false => (0..recipe.chunks_per_document).map(|n| next_chunk + u64::from(n)).collect(),
        };
        next_chunk += u64::from(recipe.chunks_per_document);
        let edited = random.below(list.len());
        list[edited] = next_chunk;
        next_chunk += 1;
        // Nearly all have a header; its popularity falls off like that of words.
        list[0] = (random.roll() % COMMON_CHUNKS).min(random.roll() % COMMON_CHUNKS);
        lists.push(list);
    }
    let mut postings = Vec::new();
    for (content, list) in (0u32..).zip(&lists) {
        postings.extend(list.iter().map(|&chunk| Posting {
            tag: tag(chunk),
            length_bytes: LENGTH_BYTES,
            template: false,
            content: ContentIndex(content),
        }));
    }
    let payload = |list: &Vec<u64>| list.len() as u64 * u64::from(LENGTH_BYTES);
    let mut holders = Holders::new();
    for content in 0..recipe.documents {
        let group = Group(u16::try_from(content % u32::from(SITES)).unwrap());
        holders.push([Holding { group, copies: 1 }]);
    }
    Corpus {
        shards: MemoryShards::new(postings, NonZeroU32::new(256).unwrap()),
        payload_bytes: lists.iter().map(payload).collect(),
        holders,
        levels: vec![Level { labels: (0..SITES).collect(), label_count: SITES }],
    }
}

fn run(corpus: &Corpus, memory_budget_bytes: u64) -> Analysis {
    let input =
        Input { payload_bytes: &corpus.payload_bytes, holders: &corpus.holders, levels: &corpus.levels, across: None };
    let options = Options {
        thresholds: Thresholds { min_shared_bytes: 16384, min_containment: "0.5".parse().unwrap() },
        memory_budget_bytes,
        threads: NonZeroUsize::new(2).unwrap(),
        spill_dir: &std::env::temp_dir(),
    };
    let monitor = Monitor { progress: &|_| (), cancelled: &AtomicBool::new(false) };
    analyse(&corpus.shards, &input, &options, &monitor).unwrap()
}

#[divan::bench(args = RECIPES, sample_count = 3, sample_size = 1)]
fn in_memory(bencher: divan::Bencher<'_, '_>, recipe: Recipe) {
    let corpus = generate(recipe);
    bencher.bench_local(|| run(&corpus, 1 << 30));
}

#[divan::bench(args = RECIPES, sample_count = 3, sample_size = 1)]
fn out_of_core(bencher: divan::Bencher<'_, '_>, recipe: Recipe) {
    let corpus = generate(recipe);
    bencher.bench_local(|| run(&corpus, 32 << 20));
}
