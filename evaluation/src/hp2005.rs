//! `hp2005`: a documentation collection from files to clusters, at three mean lengths of chunks.
//!
//! Forman et al. (2005), 3.1: 52,125 HTML documents in 347 folders, 327 MB, chunked at means of 5000 and 100 bytes on a
//! 3 GHz processor with 1 GB, and then analysed. Here the same in the same two steps, on one thread: documents to a file of
//! metadata, and that file to clusters; each with its time and its memory.

mod graph;
mod steps;

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use cognate_fingerprint::{Chunk, Key, Method, Tag, View};
use cognate_similarity::{
    Analysis, ContentIndex, GatherOptions, GatheredShards, Holders, Input, Monitor, Options, Posting, SpillFolder,
    Thresholds, analyse,
};

use crate::corpus::{Entry, entries};
use crate::error::Error;
use crate::figure::{Axis, Figure, Panel, Style};
use crate::findings::{Agreement, Cell, Findings, Table};
use crate::machine::{Memory, Stopwatch};
use crate::setting::Setting;
use crate::statistics::per_cent;
use crate::synthetic::Generator;

const MEANS: [u64; 3] = [5000, 1000, 100];
const DOCUMENTS_SMALL: usize = 20_000;
const BYTES_SMALL: usize = 256 << 20;
/// The size of the paper's collection.
const PAPER_BYTES: f64 = 327e6;
const PAPER_DOCUMENTS: f64 = 52_125.0;
const MEMORY_BUDGET_BYTES: u64 = 64 << 20;
const MIN_SHARED_BYTES: u64 = 1000;

/// The measurements at one mean.
struct Measured {
    mean: u64,
    chunks: u64,
    metadata_bytes: u64,
    chunking_seconds: f64,
    chunking: Memory,
    analysis_seconds: f64,
    analysing: Memory,
    contents: usize,
    identical_sets: usize,
    identical_documents: usize,
    analysis: Analysis,
}

pub(crate) fn run(setting: &Setting<'_>) -> Result<Findings, Error> {
    let scratch = tempfile::tempdir().map_err(Error::io("make a folder in", &std::env::temp_dir()))?;
    let corpus = match setting.corpus {
        Some(corpus) => corpus.to_owned(),
        None => generated(setting, &scratch.path().join("corpus"))?,
    };
    let all = entries(&corpus)?;
    let documents = chosen(setting, &all);
    if documents.is_empty() {
        return Err(Error::Corpus { corpus, found: "no documents".to_owned(), needed: "a collection of documents" });
    }
    let total_bytes: u64 = documents.iter().map(|document| document.size_bytes as u64).sum();
    let mut folders: Vec<Option<&Path>> = documents.iter().map(|document| document.path.parent()).collect();
    folders.dedup();
    // The first mean would pay for the disk otherwise. (The paper's times include it in part.)
    for (number, document) in documents.iter().enumerate() {
        if number % 1024 == 0 {
            setting.step("reading once", number, documents.len())?;
        }
        fs::read(&document.path).map_err(Error::io("read", &document.path))?;
    }
    let mut measured = Vec::new();
    for mean in MEANS {
        measured.push(measure(setting, documents, mean, scratch.path())?);
    }
    let mut findings = Findings::new(
        "A documentation collection from files to clusters",
        "Forman, Eshghi, Chiocchetti 2005, section 3.1.",
    );
    findings.fact("corpus", setting.corpus_name());
    findings.fact("documents", documents.len());
    findings.fact("folders", folders.len());
    findings.fact("bytes", total_bytes);
    findings.fact("threads", 1);
    findings.fact("a link needs", format!("{MIN_SHARED_BYTES} bytes in common, or half of the smaller document"));
    findings.fact("memory budget of the analysis", format!("{} MiB", MEMORY_BUDGET_BYTES >> 20));
    report(&mut findings, &measured, total_bytes, documents.len());
    let engine = |mean: u64| measured.iter().find(|one| one.mean == mean).map(|one| one.analysis.stats.links);
    steps::run(setting, documents, scratch.path(), &engine, &mut findings)?;
    Ok(findings)
}

/// The part of the corpus that a run takes.
fn chosen<'e>(setting: &Setting<'_>, all: &'e [Entry]) -> &'e [Entry] {
    if setting.full {
        return all;
    }
    let mut bytes = 0;
    let fits = |entry: &&Entry| {
        bytes += entry.size_bytes;
        bytes <= BYTES_SMALL
    };
    let count = all.iter().take(DOCUMENTS_SMALL).take_while(fits).count();
    &all[..count]
}

fn generated(setting: &Setting<'_>, corpus: &Path) -> Result<PathBuf, Error> {
    for document in Generator::new(setting.seed).collection(setting.either(2000, 20_000), 6000) {
        let path = corpus.join(&document.path);
        let folder = path.parent().unwrap_or(corpus);
        fs::create_dir_all(folder).map_err(Error::io("make the folder", folder))?;
        fs::write(&path, &document.bytes).map_err(Error::io("write", &path))?;
    }
    Ok(corpus.to_owned())
}

fn measure(setting: &Setting<'_>, documents: &[Entry], mean: u64, scratch: &Path) -> Result<Measured, Error> {
    let metadata = scratch.join("metadata");
    let memory = Memory::begin();
    let watch = Stopwatch::start();
    let chunks = chunk(setting, documents, mean, &metadata)?;
    let (chunking_seconds, chunking) = (watch.seconds(), memory.end());
    let memory = Memory::begin();
    let watch = Stopwatch::start();
    setting.step(&format!("analysing at a mean of {mean}"), 0, 1)?;
    let gathered = gather_and_analyse(&metadata, chunks, scratch)?;
    let (analysis_seconds, analysing) = (watch.seconds(), memory.end());
    let sets = gathered.copies.iter().filter(|copies| **copies > 1);
    let metadata_bytes = fs::metadata(&metadata).map_err(Error::io("read", &metadata))?.len();
    Ok(Measured {
        mean,
        chunks,
        metadata_bytes,
        chunking_seconds,
        chunking,
        analysis_seconds,
        analysing,
        contents: gathered.copies.len(),
        identical_sets: sets.clone().count(),
        identical_documents: sets.map(|copies| *copies as usize).sum(),
        analysis: gathered.analysis,
    })
}

/// Writes the digest (16 bytes), size (8) and chunk count (4) of every document, and the tag and length (20) of each chunk.
/// Returns the number of chunks.
fn chunk(setting: &Setting<'_>, documents: &[Entry], mean: u64, metadata: &Path) -> Result<u64, Error> {
    let method = Method::tttd(View::Raw, mean).map_err(|error| Error::Method(error.to_string()))?;
    let mut fingerprinter = method.fingerprinter(&Key::none());
    let file = File::create(metadata).map_err(Error::io("write", metadata))?;
    let mut out = BufWriter::with_capacity(1 << 16, file);
    let (mut all_chunks, mut chunks): (u64, Vec<Chunk>) = (0, Vec::new());
    for (number, document) in documents.iter().enumerate() {
        if number % 1024 == 0 {
            setting.step(&format!("chunking at a mean of {mean}"), number, documents.len())?;
        }
        chunks.clear();
        let mut file = File::open(&document.path).map_err(Error::io("read", &document.path))?;
        let content = fingerprinter.read(&mut file, |chunk| {
            chunks.push(chunk);
            Ok(())
        });
        let content = content.map_err(Error::io("read", &document.path))?;
        all_chunks += content.chunk_count;
        let count = u32::try_from(chunks.len()).expect("a document has fewer than 2^32 chunks");
        let mut row = Vec::with_capacity(28 + 20 * chunks.len());
        row.extend_from_slice(&content.digest.0);
        row.extend_from_slice(&content.size_bytes.to_le_bytes());
        row.extend_from_slice(&count.to_le_bytes());
        for chunk in &chunks {
            row.extend_from_slice(&chunk.tag.0);
            row.extend_from_slice(&(chunk.length_bytes | u32::from(chunk.repeated_byte) << 31).to_le_bytes());
        }
        out.write_all(&row).map_err(Error::io("write", metadata))?;
    }
    out.flush().map_err(Error::io("write", metadata))?;
    Ok(all_chunks)
}

/// The result of the analysis, and the number of documents of each content.
struct Gathered {
    analysis: Analysis,
    copies: Vec<u32>,
}

/// Reads the metadata, keeps each content once, and finds the clusters.
fn gather_and_analyse(metadata: &Path, chunks: u64, scratch: &Path) -> Result<Gathered, Error> {
    let folder = SpillFolder::new(scratch);
    let gather = GatherOptions { postings_max: chunks.max(1), memory_budget_bytes: MEMORY_BUDGET_BYTES, threads: 1 };
    let shards = GatheredShards::new(&folder, &gather);
    let (mut payload_bytes, mut copies): (Vec<u64>, Vec<u32>) = (Vec::new(), Vec::new());
    let mut known: HashMap<[u8; 16], usize> = HashMap::new();
    let mut writer = shards.writer();
    let file = File::open(metadata).map_err(Error::io("read", metadata))?;
    let mut source = BufReader::with_capacity(1 << 16, file);
    let mut head = [0; 28];
    let mut chunk = [0; 20];
    while read_or_end(&mut source, &mut head).map_err(Error::io("read", metadata))? {
        let digest: [u8; 16] = head[..16].try_into().expect("16 bytes");
        let count = u32::from_le_bytes(head[24..].try_into().expect("4 bytes"));
        let next = payload_bytes.len();
        let number = *known.entry(digest).or_insert(next);
        if number == next {
            payload_bytes.push(0);
            copies.push(0);
        }
        copies[number] += 1;
        for _ in 0..count {
            source.read_exact(&mut chunk).map_err(Error::io("read", metadata))?;
            if number != next {
                continue;
            }
            let length = u32::from_le_bytes(chunk[16..].try_into().expect("4 bytes"));
            let (length_bytes, template) = (length & (u32::MAX >> 1), length >> 31 == 1);
            if !template {
                payload_bytes[number] += u64::from(length_bytes);
            }
            let content = ContentIndex(u32::try_from(number).expect("fewer documents than 2^31"));
            let tag = Tag(chunk[..16].try_into().expect("16 bytes"));
            writer.push(&Posting { tag, length_bytes, template, content })?;
        }
    }
    writer.finish()?;
    drop(known);
    let input = Input { payload_bytes: &payload_bytes, holders: &Holders::new(), levels: &[], across: None };
    let min_containment = "0.5".parse().expect("a share");
    let options = Options {
        thresholds: Thresholds { min_shared_bytes: MIN_SHARED_BYTES, min_containment },
        memory_budget_bytes: MEMORY_BUDGET_BYTES,
        threads: NonZeroUsize::MIN,
        spill_dir: scratch,
    };
    let monitor = Monitor { progress: &|_| (), cancelled: &AtomicBool::new(false) };
    let analysis = analyse(&shards, &input, &options, &monitor)?;
    Ok(Gathered { analysis, copies })
}

/// Fills the buffer; false if nothing was left.
fn read_or_end(source: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<bool> {
    let (first, rest) = buffer.split_at_mut(1);
    match source.read(first)? {
        0 => Ok(false),
        _ => source.read_exact(rest).map(|()| true),
    }
}

fn report(findings: &mut Findings, measured: &[Measured], total_bytes: u64, documents: usize) {
    let megabytes = total_bytes as f64 / 1e6;
    let mut table = Table::new(
        "hp2005",
        "From files to clusters",
        &[
            "mean, bytes",
            "chunks",
            "bytes a chunk",
            "metadata share",
            "chunking, s",
            "MB/s",
            "chunking, MiB before",
            "added",
            "analysis, s",
            "analysis, MiB before",
            "added",
            "contents",
            "identical sets",
            "documents in them",
            "candidates",
            "links",
            "clusters",
            "contents in them",
        ],
    );
    for one in measured {
        let members: usize = one.analysis.clusters.iter().map(|cluster| cluster.members.len()).sum();
        table.row([
            one.mean.into(),
            one.chunks.into(),
            (total_bytes as f64 / one.chunks.max(1) as f64).into(),
            (one.metadata_bytes as f64 / total_bytes.max(1) as f64).into(),
            one.chunking_seconds.into(),
            (megabytes / one.chunking_seconds).into(),
            one.chunking.before_mib.into(),
            one.chunking.added_mib().into(),
            one.analysis_seconds.into(),
            one.analysing.before_mib.into(),
            one.analysing.added_mib().into(),
            one.contents.into(),
            one.identical_sets.into(),
            one.identical_documents.into(),
            one.analysis.stats.candidates.into(),
            one.analysis.stats.links.into(),
            one.analysis.clusters.len().into(),
            Cell::from(members),
        ]);
    }
    findings.tables.push(table);
    draw(findings, measured, total_bytes);
    let scale = total_bytes as f64 / PAPER_BYTES;
    findings.fact(
        "size against the paper's",
        format!("{scale:.2} times its 327 MB, {:.2} times its 52,125 documents", documents as f64 / PAPER_DOCUMENTS),
    );
    compare(findings, measured, scale, total_bytes, documents);
}

fn compare(findings: &mut Findings, measured: &[Measured], scale: f64, total_bytes: u64, documents: usize) {
    let [coarse, _, fine] = measured else { return };
    let added = |memory: Memory| memory.added_mib().unwrap_or(0.0);
    // The paper's figures are of the process, in units of a million bytes or of 2^20, which it does not say.
    let resident = |memory: &Memory| memory.peak_mib.unwrap_or(f64::INFINITY);
    let time = |one: &Measured, minutes: f64| {
        let theirs = minutes * 60.0 * scale;
        (
            format!(
                "{:.2} s, {:.0} MB/s: {:.0} times as fast a byte",
                one.chunking_seconds,
                total_bytes as f64 / 1e6 / one.chunking_seconds,
                theirs / one.chunking_seconds
            ),
            Agreement::of(one.chunking_seconds < theirs),
        )
    };
    let why = "a faster machine, cached files, and a chunker that skips to its least length";
    let (ours, agreement) = time(coarse, 25.0);
    findings.compare(
        "chunking at a mean of 5000",
        "25 min, 0.22 MB/s",
        "no slower a byte than the paper",
        ours,
        agreement,
        why,
    );
    let (ours, agreement) = time(fine, 39.0);
    findings.compare(
        "chunking at a mean of 100",
        "39 min, 0.14 MB/s",
        "no slower a byte than the paper",
        ours,
        agreement,
        why,
    );
    let slower = fine.chunking_seconds / coarse.chunking_seconds;
    findings.compare(
        "fifty times finer costs little more",
        "1.56 times the time",
        "less than twice the time",
        format!("{slower:.2} times the time"),
        Agreement::of(slower < 2.0),
        "opening files takes the same time at any mean",
    );
    let bytes_a_chunk = |one: &Measured| total_bytes as f64 / one.chunks.max(1) as f64;
    let short = total_bytes as f64 / documents as f64;
    findings.compare(
        "chunks at 5000",
        "88,510 for 52,125 documents of 6.3 kB: 3,694 bytes a chunk, 1.7 a document",
        "bytes a chunk within 25 % of the paper's 3,694",
        format!(
            "{} for {documents} documents of {:.1} kB: {:.0} bytes a chunk, {:.1} a document",
            coarse.chunks,
            short / 1e3,
            bytes_a_chunk(coarse),
            coarse.chunks as f64 / documents as f64
        ),
        Agreement::of((bytes_a_chunk(coarse) / 3694.0 - 1.0).abs() <= 0.25),
        "most documents are shorter than two chunks, and their ends are short chunks",
    );
    findings.compare(
        "chunks at 100",
        "3.8 million: 86 bytes a chunk",
        "bytes a chunk within 25 % of the paper's 86",
        format!("{}: {:.0} bytes a chunk", fine.chunks, bytes_a_chunk(fine)),
        Agreement::of((bytes_a_chunk(fine) / 86.0 - 1.0).abs() <= 0.25),
        "short ends again; runs of equal bytes are longer than the mean",
    );
    findings.compare("memory of chunking", "4 MB", "the process holds at most 4 MB in all", format!(
            "{:.1} MiB in all at 5000; chunking added {:.1} at 5000 and {:.1} at 100 to the {:.1} MiB of the program and its list of paths", resident(&coarse.chunking),
            added(coarse.chunking),
            added(fine.chunking),
            coarse.chunking.before_mib.unwrap_or(0.0)
        ), Agreement::of(resident(&coarse.chunking).max(resident(&fine.chunking)) <= 4.0), "a buffer of 256 KiB and the chunks of one document");
    findings.compare(
        "analysis at 5000",
        "14 s in 32 MB; 4 s of partitioning and less than 2 s",
        "at most 14 s for 327 MB, and the process holds at most 32 MB in all",
        format!(
            "{:.3} s in {:.1} MiB, of which the analysis added {:.1}",
            coarse.analysis_seconds,
            resident(&coarse.analysing),
            added(coarse.analysing)
        ),
        Agreement::of(coarse.analysis_seconds <= 14.0 * scale && resident(&coarse.analysing) <= 32.0),
        "tags that occur once are dropped before anything is compared, as the paper's pruning does",
    );
    let share = |one: &Measured| per_cent(one.metadata_bytes as f64 / total_bytes.max(1) as f64);
    findings.compare(
        "metadata are 1-3 % of the content",
        "1-3 %",
        "1 to 3 % at the default mean of 1000",
        format!("{} at 5000, {} at 1000, {} at 100", share(coarse), share(&measured[1]), share(fine)),
        Agreement::of((0.01..=0.03).contains(&(measured[1].metadata_bytes as f64 / total_bytes.max(1) as f64))),
        "20 bytes a chunk and 28 a document: so it is for large chunks alone",
    );
    findings.compare(
        "a finer mean finds more",
        "\"re-run with a smaller chunk size for a more fine-grained comparison\"",
        "more links at 100 than at 5000",
        format!(
            "{} links at 5000, {} at 1000, {} at 100",
            coarse.analysis.stats.links, measured[1].analysis.stats.links, fine.analysis.stats.links
        ),
        Agreement::of(fine.analysis.stats.links > coarse.analysis.stats.links),
        "most links at 100 are licences and page frames, which the paper's section 4 calls templates",
    );
}

fn draw(findings: &mut Findings, measured: &[Measured], total_bytes: u64) {
    let megabytes = total_bytes as f64 / 1e6;
    let axis = || Axis::log("mean chunk, bytes").between(80.0, 6000.0);
    let mut time = Panel::new("(a) seconds for each 327 MB", axis(), Axis::log("seconds").between(0.01, 3000.0));
    let each = |seconds: f64| seconds * PAPER_BYTES / 1e6 / megabytes;
    let at = |one: &Measured| one.mean as f64;
    time.add("chunking, here", Style::Line, measured.iter().map(|one| (at(one), each(one.chunking_seconds))));
    time.add("analysis, here", Style::Line, measured.iter().map(|one| (at(one), each(one.analysis_seconds))));
    time.add("chunking, 2005", Style::Dashed, [(5000.0, 1500.0), (100.0, 2340.0)]);
    time.add("analysis, 2005", Style::Dots, [(5000.0, 14.0), (5000.0, 6.0)]);
    let mut links = Panel::new("(b) what is found", axis(), Axis::log("number"));
    links.add("links", Style::Line, measured.iter().map(|one| (at(one), one.analysis.stats.links.max(1) as f64)));
    links.add("clusters", Style::Line, measured.iter().map(|one| (at(one), one.analysis.clusters.len().max(1) as f64)));
    links.add("chunks", Style::Dashed, measured.iter().map(|one| (at(one), one.chunks as f64)));
    findings.figures.push(Figure::new("hp2005", "Time and findings against the mean chunk", vec![time, links]));
}
