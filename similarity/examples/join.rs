//! The engine alone: postings in a file, links out in a file, in bounded memory.
//!
//! Reads records of 24 bytes (tag 16, length u32, document u32, little-endian), writes links of 16 bytes (a u32, b u32,
//! shared bytes u64; a < b, sorted), and prints one JSON line. The file is never in memory at once: threads take parts
//! of it to shards, which spill beyond the budget; links are sorted the same way.
//!
//! ```sh
//! cargo run --release -p cognate-similarity --example join -- plain.postings --min-shared-bytes 16384 \
//!     --min-containment 0.5 --memory-budget 1GiB --threads 2 -o plain.links
//! make_postings --documents 20000000 --out - | join - --records 1100000000 -o large.links
//! ```

#![expect(clippy::print_stdout, reason = "a program that reports what it found")]

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::num::NonZeroUsize;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use clap::{Parser, ValueEnum};
use cognate_fingerprint::Tag;
use cognate_similarity::{
    Containment, ContentIndex, GatherOptions, GatheredShards, Holders, Input, Link, LinksOptions, Monitor, Options,
    Phase, Posting, Progress, SortedLinks, SpillFolder, Stats, Thresholds, analyse, find_links,
};

const RECORD_BYTES: usize = 24;
/// Read at a time by each thread.
const READ_BYTES: usize = RECORD_BYTES << 14;
/// Written at a time by each thread.
const WRITE_LINKS: usize = 1 << 14;
const LINK_BYTES: u64 = 16;
/// The program itself, its buffers and what the allocator holds back.
const OVERHEAD_BYTES: u64 = 16 << 20;
/// Payload, and the memory of the engine for a content in addition to its working memory.
const DOCUMENT_BYTES: u64 = 32;

/// Finds all pairs of documents that share enough, from a file of postings.
#[derive(Parser, Debug)]
#[command(after_help = "Example: join plain.postings --memory-budget 1GiB -o plain.links")]
struct Arguments {
    /// Records of 24 bytes: tag (16), length and document (4 bytes each, little-endian); `-` for standard input
    postings: PathBuf,
    /// Records that come through standard input, at most
    #[arg(long, required_if_eq("postings", "-"))]
    records: Option<u64>,
    /// Shared bytes that make a link
    #[arg(long, default_value = "16384", value_parser = size)]
    min_shared_bytes: u64,
    /// Share of the smaller document that makes a link
    #[arg(long, default_value = "0.5")]
    min_containment: Containment,
    /// Greatest resident memory
    #[arg(long, default_value = "1GiB", value_parser = size)]
    memory_budget: u64,
    /// Threads that work at the same time [default: all cores]
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    /// File of the links: records of 16 bytes, sorted
    #[arg(short, long)]
    output: PathBuf,
    /// Links to write
    #[arg(long, value_enum, default_value = "all")]
    links: Links,
    /// Folder of the spill files [default: the folder of the output]
    #[arg(long)]
    spill: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Links {
    /// Every one.
    All,
    /// The strongest that connect each cluster: one less than it has members.
    Spanning,
}

type AnyError = Box<dyn std::error::Error + Send + Sync>;

fn size(text: &str) -> Result<u64, String> {
    text.parse::<bytesize::ByteSize>().map(|size| size.as_u64())
}

fn main() -> Result<(), AnyError> {
    let arguments = Arguments::parse();
    let threads = arguments.threads.map_or_else(std::thread::available_parallelism, Ok)?;
    let output_folder = arguments.output.parent().filter(|folder| !folder.as_os_str().is_empty());
    let spill_dir = arguments.spill.clone().unwrap_or(output_folder.unwrap_or(Path::new(".")).to_owned());
    let folder = SpillFolder::new(&spill_dir);
    let mut clock = Clock::new();

    let budget_bytes = arguments.memory_budget.saturating_sub(OVERHEAD_BYTES);
    let source = Source::open(&arguments)?;
    let gather =
        GatherOptions { postings_max: source.records, memory_budget_bytes: budget_bytes, threads: threads.get() };
    let shards = GatheredShards::new(&folder, &gather);
    let payload_bytes = source.gather(&shards, threads)?;
    clock.lap("read");

    let documents = payload_bytes.len() as u64;
    let budget_bytes = budget_bytes.saturating_sub(documents * DOCUMENT_BYTES);
    let input = Input { payload_bytes: &payload_bytes, holders: &Holders::new(), levels: &[], across: None };
    let options = Options {
        thresholds: Thresholds {
            min_shared_bytes: arguments.min_shared_bytes,
            min_containment: arguments.min_containment,
        },
        memory_budget_bytes: budget_bytes,
        threads,
        spill_dir: &spill_dir,
    };
    let sorted = SortedLinks::new(
        &folder,
        &LinksOptions { contents: payload_bytes.len(), memory_budget_bytes: budget_bytes, threads: threads.get() },
    );
    let phases = Mutex::new(&mut clock);
    let progress = |progress: Progress| {
        if progress.done == progress.total
            && let Ok(mut clock) = phases.lock()
        {
            clock.lap(name(progress.phase));
        }
    };
    let monitor = Monitor { progress: &progress, cancelled: &AtomicBool::new(false) };
    let stats: Stats = match arguments.links {
        Links::All => find_links(&shards, &input, &options, &monitor, &|links| sorted.add(links))?,
        Links::Spanning => {
            let analysis = analyse(&shards, &input, &options, &monitor)?;
            for cluster in &analysis.clusters {
                sorted.add(&cluster.spanning_links(&payload_bytes))?;
            }
            analysis.stats
        }
    };
    let written = write_links(&arguments.output, &sorted, threads)?;
    clock.lap("write");

    let spilled_bytes = stats.spilled_bytes + folder.written_bytes();
    let with_postings = payload_bytes.iter().filter(|&&bytes| bytes > 0).count();
    println!(
        "{{\"postings\":{},\"documents\":{with_postings},\"links\":{},\"written_links\":{written},\"candidates\":{},\
         \"seconds\":{},\"processor_seconds\":{:.2},\"peak_resident_bytes\":{},\"spilled_bytes\":{spilled_bytes},\"partitions\":{},\
         \"oversized_partitions\":{},\"oversized_clusters\":{}}}",
        stats.postings,
        stats.links,
        stats.candidates,
        clock.json(),
        processor_seconds()?,
        peak_resident_bytes()?,
        stats.partitions,
        stats.oversized_partitions,
        stats.oversized_clusters,
    );
    Ok(())
}

/// The source of the postings.
struct Source {
    /// `None`: standard input.
    path: Option<PathBuf>,
    records: u64,
}

impl Source {
    fn open(arguments: &Arguments) -> Result<Source, AnyError> {
        let path = &arguments.postings;
        if let Some(records) = arguments.records.filter(|_| path.as_os_str() == "-") {
            return Ok(Source { path: None, records });
        }
        let bytes = fs::metadata(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?.len();
        if bytes % RECORD_BYTES as u64 != 0 {
            return Err(format!(
                "{} has {bytes} bytes, which is not a multiple of 24, the size of a record",
                path.display()
            )
            .into());
        }
        Ok(Source { path: Some(path.clone()), records: bytes / RECORD_BYTES as u64 })
    }

    /// Takes the postings to their shards and gives the payload of each document.
    fn gather(&self, shards: &GatheredShards<'_>, threads: NonZeroUsize) -> Result<Vec<u64>, AnyError> {
        let Some(path) = &self.path else {
            return gather_part(io::stdin().lock(), shards);
        };
        let (threads, records) = (threads.get() as u64, self.records);
        let gather_range = move |thread: u64| {
            let (start, end) = (records * thread / threads, records * (thread + 1) / threads);
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(start * RECORD_BYTES as u64))?;
            gather_part(file.take((end - start) * RECORD_BYTES as u64), shards)
        };
        let parts: Vec<Result<Vec<u64>, AnyError>> = std::thread::scope(|scope| {
            let readers: Vec<_> = (0..threads).map(|thread| scope.spawn(move || gather_range(thread))).collect();
            readers
                .into_iter()
                .map(|reader| reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        let mut payload_bytes: Vec<u64> = Vec::new();
        for part in parts {
            let mut part = part?;
            if part.len() > payload_bytes.len() {
                std::mem::swap(&mut part, &mut payload_bytes);
            }
            payload_bytes.iter_mut().zip(part).for_each(|(sum, bytes)| *sum += bytes);
        }
        Ok(payload_bytes)
    }
}

fn gather_part(mut source: impl Read, shards: &GatheredShards<'_>) -> Result<Vec<u64>, AnyError> {
    let mut writer = shards.writer();
    let mut payload_bytes: Vec<u64> = Vec::new();
    let mut buffer = Vec::with_capacity(READ_BYTES);
    // The postings of a document follow each other. Its sum is looked up once, for many documents in a row: memory answers several at the same time.
    let mut sums_bytes: Vec<(u32, u64)> = Vec::new();
    loop {
        buffer.clear();
        source.by_ref().take(READ_BYTES as u64).read_to_end(&mut buffer)?;
        let records = buffer.chunks_exact(RECORD_BYTES);
        if !records.remainder().is_empty() {
            return Err("the last record is cut short".into());
        }
        if buffer.is_empty() {
            break;
        }
        for record in records {
            let (tag, rest) = record.split_at(16);
            let (length, document) = rest.split_at(4);
            let length_bytes = u32::from_le_bytes(length.try_into()?);
            let document = u32::from_le_bytes(document.try_into()?);
            match sums_bytes.last_mut() {
                Some((last, sum)) if *last == document => *sum += u64::from(length_bytes),
                _ => sums_bytes.push((document, u64::from(length_bytes))),
            }
            let tag = Tag(tag.try_into()?);
            writer.push(&Posting { tag, length_bytes, template: false, content: ContentIndex(document) })?;
        }
        for (document, sum) in sums_bytes.drain(..) {
            let at = document as usize;
            if at >= payload_bytes.len() {
                payload_bytes.resize(at + 1, 0);
            }
            payload_bytes[at] += sum;
        }
    }
    writer.finish()?;
    Ok(payload_bytes)
}

fn write_links(path: &Path, sorted: &SortedLinks<'_>, threads: NonZeroUsize) -> Result<u64, AnyError> {
    let named = |source| cognate_similarity::Error::Io { action: "write", path: path.to_owned(), source };
    let file = File::create(path).map_err(named)?;
    let written = AtomicU64::new(0);
    sorted.drain(threads, &|first, links| {
        written.fetch_add(links.len() as u64, Ordering::Relaxed);
        let mut at = first * LINK_BYTES;
        for links in links.chunks(WRITE_LINKS) {
            let bytes = links.iter().flat_map(record).collect::<Vec<u8>>();
            file.write_all_at(&bytes, at).map_err(named)?;
            at += bytes.len() as u64;
        }
        Ok(())
    })?;
    Ok(written.into_inner())
}

fn record(link: &Link) -> [u8; 16] {
    let mut record = [0; 16];
    record[..4].copy_from_slice(&link.a.0.to_le_bytes());
    record[4..8].copy_from_slice(&link.b.0.to_le_bytes());
    record[8..].copy_from_slice(&link.shared_bytes.to_le_bytes());
    record
}

/// Measures the time of each phase.
struct Clock {
    start: Instant,
    last: Instant,
    laps: Vec<(&'static str, f64)>,
}

impl Clock {
    fn new() -> Clock {
        Clock { start: Instant::now(), last: Instant::now(), laps: Vec::new() }
    }

    fn lap(&mut self, name: &'static str) {
        let now = Instant::now();
        self.laps.push((name, (now - self.last).as_secs_f64()));
        self.last = now;
    }

    fn json(&self) -> String {
        let total = [("total", self.start.elapsed().as_secs_f64())];
        let fields = self.laps.iter().chain(&total).map(|(name, seconds)| format!("\"{name}\":{seconds:.3}"));
        format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
    }
}

fn name(phase: Phase) -> &'static str {
    match phase {
        Phase::Tags => "tags",
        Phase::Prefixes => "prefixes",
        Phase::Components => "components",
        Phase::Partitions => "partitions",
        Phase::Join => "join",
    }
}

/// Processor time of all threads, in the program and in the kernel.
fn processor_seconds() -> Result<f64, AnyError> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The second field is the name of the program in parentheses; the 14th and the 15th count hundredths of a second.
    let (_, fields) = stat.rsplit_once(')').ok_or("no name in /proc/self/stat")?;
    let ticks: Vec<u64> = fields.split_whitespace().skip(11).take(2).map(str::parse).collect::<Result<_, _>>()?;
    Ok(ticks.iter().sum::<u64>() as f64 / 100.0)
}

/// The greatest resident memory, which the kernel calls the high water mark.
fn peak_resident_bytes() -> Result<u64, AnyError> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM in /proc/self/status")?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib * 1024)
}
