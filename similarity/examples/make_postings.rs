//! Writes generated postings for the engine's figures: seeded, streaming, the same bytes for the same parameters.
//!
//! A record has 24 bytes: tag (16), length (4, little-endian), document (4, little-endian). Documents come in units:
//! one by itself, or a family of one and its edited copies. Numbers of documents are scattered, so that a family does
//! not end up together. Memory does not depend on the number of postings.
//!
//! ```sh
//! cargo run --release -p cognate-similarity --example make_postings -- --documents 200000 --out plain.postings
//! ```

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that reports what it wrote")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use cognate_fingerprint::SplitMix64;

/// Writes generated postings: records of tag (16 bytes), length and document (4 bytes each, little-endian).
#[derive(Parser, Clone, Debug)]
#[command(after_help = "Example: make_postings --documents 200000 --near 0.25 --hubs 40 --hub-share 0.01..0.1 --out F")]
struct Recipe {
    /// File to write; `-` for standard output
    #[arg(long)]
    out: PathBuf,
    /// The same seed gives the same file
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of documents
    #[arg(long, default_value_t = 200_000)]
    documents: u32,
    /// Mean number of chunks of a document, hubs and templates apart
    #[arg(long, default_value_t = 50)]
    chunks: u32,
    /// Distribution of the number of chunks
    #[arg(long, value_enum, default_value = "fixed")]
    distribution: Distribution,
    /// Mean length of a chunk in bytes; lengths are uniform between half and one and a half of it
    #[arg(long, default_value_t = 1000)]
    chunk_bytes: u32,
    /// Share of the documents that are edited copies of another
    #[arg(long, default_value_t = 0.25)]
    near: f64,
    /// Sizes of families, the one and its copies together
    #[arg(long, default_value = "2..20", value_parser = sizes)]
    cluster: (u32, u32),
    /// Share of its chunks that a copy has edited
    #[arg(long, default_value_t = 0.1)]
    edited: f64,
    /// Number of tags that are hubs
    #[arg(long, default_value_t = 0)]
    hubs: u32,
    /// Shares of the documents that hold a hub: the rarest and the commonest, the others evenly between
    #[arg(long, default_value = "0.01..0.1", value_parser = shares)]
    hub_share: (f64, f64),
    /// Length of the chunk of a hub; that of any other chunk unless given
    #[arg(long)]
    hub_bytes: Option<u32>,
    /// Share of the documents that have the template
    #[arg(long, default_value_t = 0.0)]
    template_documents: f64,
    /// Share of its chunks that a document with the template has from it
    #[arg(long, default_value_t = 0.3)]
    template_share: f64,
    /// Number of documents of the quadratic family
    #[arg(long, default_value_t = 0)]
    quadratic: u32,
    /// Share of its chunks that a member of the quadratic family has in common with the others
    #[arg(long, default_value_t = 0.9)]
    quadratic_share: f64,
    /// The chunks that they share
    #[arg(long, value_enum, default_value = "same")]
    quadratic_kind: Quadratic,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Distribution {
    /// All documents have the mean.
    Fixed,
    /// Evenly from one chunk to twice the mean.
    Uniform,
    /// Many small documents and few large ones, falling off exponentially, up to 20 times the mean.
    Exponential,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Quadratic {
    /// All members hold the same common chunks.
    Same,
    /// Each member has edited others of the common chunks.
    Scattered,
}

fn range<T: std::str::FromStr + PartialOrd>(text: &str) -> Option<(T, T)> {
    let (low, high) = text.split_once("..")?;
    let (low, high) = (low.parse().ok()?, high.parse().ok()?);
    (low <= high).then_some((low, high))
}

fn sizes(text: &str) -> Result<(u32, u32), String> {
    range(text).filter(|&(low, _)| low >= 2).ok_or_else(|| "not sizes of at least two, such as 2..20".to_owned())
}

fn shares(text: &str) -> Result<(f64, f64), String> {
    range(text).filter(|&(low, high)| low > 0.0 && high <= 1.0).ok_or_else(|| "not shares such as 0.01..0.1".to_owned())
}

struct Random(SplitMix64);

impl Random {
    fn new(seed: u64) -> Random {
        Random(SplitMix64::new(seed))
    }

    fn below(&mut self, end: u32) -> u32 {
        u32::try_from((u128::from(self.0.next()) * u128::from(end)) >> 64).expect("below a 32-bit number")
    }

    /// Evenly from 0 to below 1.
    fn share(&mut self) -> f64 {
        f64::from(u32::try_from(self.0.next() >> 32).expect("half of 64 bits")) / 4_294_967_296.0
    }

    fn happens(&mut self, share: f64) -> bool {
        self.share() < share
    }
}

/// Chunks are numbered; the kinds that several documents share have number ranges of their own.
const HUBS: u64 = 1 << 63;
const TEMPLATE: u64 = 1 << 62;
const COMMON: u64 = 1 << 61;

struct Generator<W> {
    recipe: Recipe,
    random: Random,
    next_chunk: u64,
    /// Documents made so far.
    made: u32,
    /// Step from the number of one document to the next, without a common divisor with their count.
    stride: u32,
    /// For each hub, the next document that has it, by its place in the order of making.
    next_hubs: BinaryHeap<Reverse<(u64, u32)>>,
    postings: u64,
    out: W,
}

impl<W: Write> Generator<W> {
    fn new(recipe: Recipe, out: W) -> Generator<W> {
        let stride = scattering_stride(recipe.documents);
        let random = Random::new(SplitMix64::mix(recipe.seed));
        let mut generator = Generator {
            recipe,
            random,
            next_chunk: 0,
            made: 0,
            stride,
            next_hubs: BinaryHeap::new(),
            postings: 0,
            out,
        };
        for hub in 0..generator.recipe.hubs {
            generator.plan_hub(hub, 0);
        }
        generator
    }

    fn write_all(&mut self) -> io::Result<()> {
        let (low, high) = self.recipe.cluster;
        let copies = f64::from(low - 1 + high - 1) / 2.0;
        // Families are units until the copies make up the requested share of the documents.
        let families = self.recipe.near / (copies * (1.0 - self.recipe.near)).max(f64::MIN_POSITIVE);
        while self.made < self.recipe.quadratic.min(self.recipe.documents) {
            self.write_quadratic()?;
        }
        while self.made < self.recipe.documents {
            let mut chunks = self.fresh_chunks();
            self.write_document(&chunks)?;
            if !self.random.happens(families) {
                continue;
            }
            let size = low + self.random.below(high - low + 1);
            for _ in 1..size.min(self.recipe.documents - self.made + 1) {
                let copy: Vec<u64> =
                    chunks.clone().into_iter().map(|chunk| self.edit(chunk, self.recipe.edited)).collect();
                self.write_document(&copy)?;
                // Copies of copies as well as of the first.
                if self.random.happens(0.2) {
                    chunks = copy;
                }
            }
        }
        self.out.flush()
    }

    fn chunk_count(&mut self) -> u32 {
        let mean = self.recipe.chunks.max(1);
        match self.recipe.distribution {
            Distribution::Fixed => mean,
            Distribution::Uniform => 1 + self.random.below(2 * mean),
            Distribution::Exponential => {
                let times = -(1.0 - self.random.share()).ln();
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 20 means")]
                let count = (times.min(20.0) * f64::from(mean)).round() as u32;
                count.max(1)
            }
        }
    }

    fn fresh(&mut self) -> u64 {
        self.next_chunk += 1;
        self.next_chunk
    }

    fn fresh_chunks(&mut self) -> Vec<u64> {
        let count = self.chunk_count();
        let from_template = match self.random.happens(self.recipe.template_documents) {
            true => self.recipe.template_share,
            false => 0.0,
        };
        let common = share_of(count, from_template);
        (0..count).map(|at| if at < common { TEMPLATE | u64::from(at) } else { self.fresh() }).collect()
    }

    fn edit(&mut self, chunk: u64, share: f64) -> u64 {
        if self.random.happens(share) { self.fresh() } else { chunk }
    }

    fn write_quadratic(&mut self) -> io::Result<()> {
        let (count, share) = (self.recipe.chunks.max(1), self.recipe.quadratic_share);
        let common = share_of(count, share);
        let chunks: Vec<u64> = (0..count)
            .map(|at| match self.recipe.quadratic_kind {
                Quadratic::Same if at < common => COMMON | u64::from(at),
                Quadratic::Same => self.fresh(),
                Quadratic::Scattered => self.edit(COMMON | u64::from(at), 1.0 - share),
            })
            .collect();
        self.write_document(&chunks)
    }

    fn plan_hub(&mut self, hub: u32, from: u64) {
        let (low, high) = self.recipe.hub_share;
        let part = f64::from(hub) / f64::from((self.recipe.hubs - 1).max(1));
        let share = low + (high - low) * part;
        // The gap to the next document that has it is geometrically distributed.
        let gap = if share >= 1.0 { 0.0 } else { ((1.0 - self.random.share()).ln() / (1.0 - share).ln()).floor() };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a gap is finite and not negative")]
        let next = from + gap.min(1e12) as u64;
        if next < u64::from(self.recipe.documents) {
            self.next_hubs.push(Reverse((next, hub)));
        }
    }

    fn write_document(&mut self, chunks: &[u64]) -> io::Result<()> {
        let place = u64::from(self.made);
        let number = place * u64::from(self.stride) % u64::from(self.recipe.documents);
        let number = u32::try_from(number).expect("below the number of documents");
        self.made += 1;
        for &chunk in chunks {
            let length_bytes = chunk_bytes(chunk, self.recipe.chunk_bytes);
            self.write(chunk, length_bytes, number)?;
        }
        while let Some(&Reverse((next, hub))) = self.next_hubs.peek() {
            if next != place {
                break;
            }
            self.next_hubs.pop();
            let chunk = HUBS | u64::from(hub);
            let length_bytes = self.recipe.hub_bytes.unwrap_or(chunk_bytes(chunk, self.recipe.chunk_bytes));
            self.write(chunk, length_bytes, number)?;
            self.plan_hub(hub, place + 1);
        }
        Ok(())
    }

    fn write(&mut self, chunk: u64, length_bytes: u32, document: u32) -> io::Result<()> {
        let mut tag = Random::new(chunk ^ SplitMix64::mix(self.recipe.seed));
        let mut record = [0; 24];
        record[..8].copy_from_slice(&tag.0.next().to_le_bytes());
        record[8..16].copy_from_slice(&tag.0.next().to_le_bytes());
        record[16..20].copy_from_slice(&length_bytes.to_le_bytes());
        record[20..].copy_from_slice(&document.to_le_bytes());
        self.postings += 1;
        self.out.write_all(&record)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a 32-bit number")]
fn share_of(count: u32, share: f64) -> u32 {
    (f64::from(count) * share).round() as u32
}

/// The length of a chunk, always the same for the same chunk.
fn chunk_bytes(chunk: u64, mean_bytes: u32) -> u32 {
    mean_bytes / 2 + Random::new(chunk).below(mean_bytes.max(1)) + 1
}

/// A number near the golden section of `documents` that has no common divisor with it.
fn scattering_stride(documents: u32) -> u32 {
    let divisor = |mut a: u32, mut b: u32| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let golden = share_of(documents, 0.618_033_988_75).max(1);
    (golden..=documents.max(1)).find(|&stride| divisor(stride, documents) == 1).unwrap_or(1)
}

fn main() -> io::Result<()> {
    let recipe = Recipe::parse();
    let to_pipe = recipe.out.as_os_str() == "-";
    let out: Box<dyn Write> = if to_pipe { Box::new(io::stdout()) } else { Box::new(File::create(&recipe.out)?) };
    let mut generator = Generator::new(recipe, BufWriter::with_capacity(1 << 20, out));
    generator.write_all()?;
    let (documents, postings) = (generator.made, generator.postings);
    let summary = format!("{{\"documents\":{documents},\"postings\":{postings},\"file_bytes\":{}}}", postings * 24);
    if to_pipe {
        eprintln!("{summary}");
    } else {
        println!("{summary}");
    }
    Ok(())
}
