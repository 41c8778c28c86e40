//! `cognate fingerprint`: fingerprints of files, for people and for other programs.

mod inside;

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use cognate_fingerprint::{
    Chunk, Content, ContentDigest, Feature, FeatureKind, FineChunk, FineCutter, Fingerprinter, Key, Method, MethodId,
    Signature, Signer, Tag, UnsupportedDocument, View,
};
use cognate_proto::limits::FIND_FINE_MAX;
use cognate_proto::path::{escaped, printable};
use cognate_view::Pool;
use serde::Serialize;

use cognate_server::find::fine_to_text;

use crate::args::{KeyArgs, MethodArgs, threads};
use crate::exit::{Exit, usage};
use crate::extraction;

/// Shows the fingerprints of files, for people and for other programs.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate fingerprint --format summary -- *.html
  cognate fingerprint --chunk-bytes 100 --format ndjson -- report.txt
  cognate fingerprint --method shingle --param w=7,sample=min,s=200 -- report.txt
  cognate fingerprint --method similarity-index --param way=43B,k=40 --format summary -- *.txt")]
pub(crate) struct FingerprintArgs {
    /// Files to fingerprint
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) method: MethodArgs,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: FingerprintFormat,
    /// With --format ndjson: add the fine chunks of each chunk, so that a find measures edited documents by them
    #[arg(long)]
    pub(crate) fine: bool,
    /// Threads [default: one for each processor]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum FingerprintFormat {
    /// A table of chunks or features
    Text,
    /// One object per file
    Ndjson,
    /// One line per file, without chunks or features
    Summary,
}

/// Result for a file, or for a document inside it: path and fingerprint.
pub(crate) type Found = (Vec<u8>, io::Result<Fingerprinted>);

/// Fingerprint of one document, and the time that it took.
pub(crate) struct Fingerprinted {
    pub(crate) became: Became,
    took: Duration,
}

/// The method that files are fingerprinted under, and its id with the key.
#[derive(Clone, Copy)]
struct Under<'a> {
    method: &'a Method,
    id: MethodId,
}

/// Fingerprint under a method that cuts chunks, or under any other.
pub(crate) enum Became {
    /// The chunks, the content, and the fine chunks that were asked for.
    Chunks(Vec<Chunk>, Content, FineOfChunks),
    Signature(Signature),
}

/// Fine chunks by the tags of their chunks.
pub(crate) type FineOfChunks = BTreeMap<Tag, Vec<FineChunk>>;

/// Implementation of the method.
enum Machine {
    Chunks(Box<Fingerprinter>),
    /// The same, where fine chunks are made as well.
    FineChunks(Box<Fingerprinter>, Arc<Mutex<Seen>>),
    Signature(Signer),
}

/// Chunks of the document that is being read, with their fine chunks. A document with more fine chunks than a find takes has
/// none.
#[derive(Default)]
struct Seen {
    chunks: Vec<Chunk>,
    fine: FineOfChunks,
    fine_count: usize,
}

/// Fingerprints a file, or under a text view the documents inside it, one after the other.
pub(crate) struct Reader {
    machine: Machine,
    view: View,
    pool: Option<Pool>,
}

impl Reader {
    /// Reads files under a method; with `fine` it makes fine chunks as well, if the method has any.
    pub(crate) fn new(method: &Method, key: &Key, fine: bool) -> anyhow::Result<Reader> {
        let pool = method.view().is_text().then(|| extraction::pool(NonZeroUsize::MIN)).transpose()?;
        Ok(Reader { machine: Machine::new(method, key, fine), view: method.view(), pool })
    }

    /// Results for one file.
    pub(crate) fn read(&mut self, path: &Path) -> Vec<Found> {
        self.machine.documents(self.pool.as_ref(), self.view, path, true)
    }
}

/// Runs the command. Files are read in parallel and reported in the order of the arguments.
pub(crate) fn run(args: &FingerprintArgs) -> anyhow::Result<Exit> {
    let method = args.method.any()?;
    let key = args.key.key()?;
    if args.fine && !(args.format == FingerprintFormat::Ndjson && method.capabilities().fine) {
        return Err(usage(
            "--fine: only --format ndjson has fine chunks, and only of `tttd` with a mean of at most 16384",
        ));
    }
    if method.capabilities().fixed_size && args.method.chunk_bytes.is_some() {
        eprintln!("cognate: `{}` makes signatures of a fixed size; --chunk-bytes changes nothing", method.name());
    }
    let next = AtomicUsize::new(0);
    let keep_chunks = args.format != FingerprintFormat::Summary;
    let count = threads(args.threads).min(NonZeroUsize::new(args.files.len()).unwrap_or(NonZeroUsize::MIN));
    let pool = method.view().is_text().then(|| extraction::pool(count)).transpose()?;
    let count = count.get();
    let failed = std::thread::scope(|scope| {
        let (results_to, results) = sync_channel(2 * count);
        for _ in 0..count {
            let (results_to, next, pool) = (results_to.clone(), &next, pool.as_ref());
            let mut machine = Machine::new(&method, &key, args.fine);
            scope.spawn(move || {
                while let Some((place, path)) = take(next, &args.files) {
                    let found = machine.documents(pool, method.view(), path, keep_chunks);
                    if results_to.send((place, found)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(results_to);
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        let under = Under { method: &method, id: method.id(&key) };
        let failed = in_order(&results, |found| write_all(&mut out, args.format, under, found));
        // A thread that hands over a result must not wait forever.
        drop(results);
        failed.and_then(|failed| out.flush().map(|()| failed))
    });
    match failed {
        Ok(0) => Ok(Exit::Complete),
        Ok(failed) if failed == args.files.len() => Ok(Exit::Failed),
        Ok(_) => Ok(Exit::Incomplete),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Complete),
        Err(error) => Err(error.into()),
    }
}

impl Machine {
    fn new(method: &Method, key: &Key, fine: bool) -> Machine {
        if !method.capabilities().has_chunks() {
            return Machine::Signature(method.signer(key));
        }
        let visiting = (fine && method.capabilities().fine).then(|| {
            let (seen, cutter) = (Arc::<Mutex<Seen>>::default(), FineCutter::new(key));
            let of_visitor = Arc::clone(&seen);
            let visitor = move |chunk: &Chunk, bytes: &[u8]| lock(&of_visitor).take(*chunk, bytes, &cutter);
            Some((method.visiting_fingerprinter(key, Box::new(visitor))?, seen))
        });
        match visiting.flatten() {
            Some((fingerprinter, seen)) => Machine::FineChunks(Box::new(fingerprinter), seen),
            None => Machine::Chunks(Box::new(method.fingerprinter(key))),
        }
    }

    /// Fingerprints a file, or the documents inside it.
    fn documents(&mut self, pool: Option<&Pool>, view: View, path: &Path, keep_chunks: bool) -> Vec<Found> {
        match pool {
            None => vec![(bytes_of(path), fingerprint(self, path, keep_chunks))],
            Some(pool) => inside::fingerprint(pool, self, view, path, keep_chunks),
        }
    }
}

fn take<'a>(next: &AtomicUsize, files: &'a [PathBuf]) -> Option<(usize, &'a Path)> {
    let place = next.fetch_add(1, Ordering::Relaxed);
    files.get(place).map(|path| (place, path.as_path()))
}

fn bytes_of(path: &Path) -> Vec<u8> {
    path.as_os_str().as_encoded_bytes().to_vec()
}

fn fingerprint(machine: &mut Machine, path: &Path, keep_chunks: bool) -> io::Result<Fingerprinted> {
    read(machine, &mut File::open(path)?, keep_chunks)
}

fn read(machine: &mut Machine, from: &mut impl Read, keep_chunks: bool) -> io::Result<Fingerprinted> {
    let began = Instant::now();
    let became = match machine {
        Machine::Chunks(fingerprinter) => {
            let mut chunks = Vec::new();
            let content = fingerprinter.read(from, |chunk| {
                if keep_chunks {
                    chunks.push(chunk);
                }
                Ok(())
            })?;
            Became::Chunks(chunks, content, FineOfChunks::new())
        }
        Machine::FineChunks(fingerprinter, seen) => {
            *lock(seen) = Seen::default();
            let content = fingerprinter.read(from, |_| Ok(()))?;
            let Seen { chunks, fine, .. } = std::mem::take(&mut *lock(seen));
            Became::Chunks(chunks, content, fine)
        }
        Machine::Signature(signer) => Became::Signature(signer.read(from)?),
    };
    Ok(Fingerprinted { became, took: began.elapsed() })
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().expect("nothing panics while it is held")
}

impl Seen {
    fn take(&mut self, chunk: Chunk, bytes: &[u8], cutter: &FineCutter) {
        self.chunks.push(chunk);
        // A chunk of one repeated byte counts for nothing.
        if chunk.repeated_byte || self.fine_count > FIND_FINE_MAX || self.fine.contains_key(&chunk.tag) {
            return;
        }
        let mut fine = Vec::new();
        cutter.cut(bytes, |one| fine.push(one));
        self.fine_count += fine.len();
        self.fine.insert(chunk.tag, fine);
        if self.fine_count > FIND_FINE_MAX {
            self.fine.clear();
        }
    }
}

/// Passes results on in order, and counts the failed ones.
fn in_order(
    results: &Receiver<(usize, Vec<Found>)>,
    mut each: impl FnMut(Vec<Found>) -> io::Result<bool>,
) -> io::Result<usize> {
    let mut early: VecDeque<Option<Vec<Found>>> = VecDeque::new();
    let (mut next, mut failed) = (0, 0);
    for (place, result) in results {
        let slot = place - next;
        while early.len() <= slot {
            early.push_back(None);
        }
        early[slot] = Some(result);
        while let Some(Some(_)) = early.front() {
            let result = early.pop_front().flatten().expect("looked at above");
            failed += usize::from(!each(result)?);
            next += 1;
        }
    }
    Ok(failed)
}

#[derive(Serialize, Default)]
struct FileLine<'a> {
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_escaped: Option<bool>,
    size_bytes: u64,
    method: &'a str,
    view: String,
    chunk_bytes: u32,
    #[serde(skip_serializing_if = "String::is_empty")]
    param: String,
    /// Includes the key: only fingerprints with the same method id are comparable.
    method_id: String,
    content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    windows: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chunks: Option<Vec<(u64, u32, String)>>,
    /// The fine chunks of each chunk, if they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fine: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    features: Option<Vec<(String, u32)>>,
    /// Indexes, from 0, of chunks that repeat one byte.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    repeated: Vec<usize>,
    /// The filled slots of the sketch, with their values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sketch: Vec<(usize, u32)>,
    /// For the method that makes numbers: the number, or `null` if a document is too short for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<Option<i128>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Writes the results for a file and the documents inside it; `false` if any could not be read.
fn write_all(out: &mut impl Write, format: FingerprintFormat, under: Under<'_>, found: Vec<Found>) -> io::Result<bool> {
    let mut all_read = true;
    for (path, result) in found {
        all_read &= write_one(out, format, under, &path, result)?;
    }
    Ok(all_read)
}

/// Writes the result for one document; if it could not be read, reports that on standard error and returns `false`.
fn write_one(
    out: &mut impl Write,
    format: FingerprintFormat,
    under: Under<'_>,
    bytes: &[u8],
    result: io::Result<Fingerprinted>,
) -> io::Result<bool> {
    let method = under.method;
    let file = match result {
        Ok(file) => file,
        Err(error) => {
            let is_unfit = error.get_ref().is_some_and(|source| source.is::<UnsupportedDocument>());
            let cannot =
                if is_unfit { format!("cannot be used with `{}`", method.name()) } else { "cannot be read".into() };
            eprintln!("cognate: `{}` {cannot}: {error}", printable(bytes));
            return Ok(false);
        }
    };
    match format {
        FingerprintFormat::Ndjson => {
            let (text, is_escaped) = escaped(bytes);
            let line = FileLine { path_escaped: is_escaped.then_some(true), ..line(&text, under, &file.became) };
            serde_json::to_writer(&mut *out, &line)?;
            writeln!(out)?;
        }
        FingerprintFormat::Summary => writeln!(out, "{}", summary(&printable(bytes), method, &file))?,
        FingerprintFormat::Text => {
            writeln!(out, "{}", summary(&printable(bytes), method, &file))?;
            write_table(out, &file.became)?;
        }
    }
    Ok(true)
}

fn line<'a>(path: &'a str, under: Under<'a>, became: &Became) -> FileLine<'a> {
    let method = under.method;
    let tag_and_length = |chunk: &Chunk| (chunk.tag.to_string(), chunk.length_bytes);
    let place = |chunk: &Chunk| (chunk.offset, chunk.length_bytes, chunk.tag.to_string());
    let feature = |feature: &Feature| (feature.tag.to_string(), feature.weight);
    let (size_bytes, digest) = became.identity();
    let line = FileLine {
        path,
        size_bytes,
        method: method.name(),
        view: method.view().to_string(),
        chunk_bytes: method.chunk_bytes(),
        param: method.param(),
        method_id: under.id.to_string(),
        content: digest.to_string(),
        repeated: became.repeated(),
        ..FileLine::default()
    };
    match became {
        Became::Chunks(chunks, content, fine) if method.name() == "tttd" => {
            let of_chunk = |chunk: &Chunk| fine.get(&chunk.tag).map(|fine| fine_to_text(fine)).unwrap_or_default();
            let fine = if fine.is_empty() { Vec::new() } else { chunks.iter().map(of_chunk).collect() };
            let chunks = Some(chunks.iter().map(place).collect());
            FileLine { chunks, fine, sketch: content.sketch.slots().collect(), ..line }
        }
        Became::Chunks(chunks, content, _) => FileLine {
            windows: Some(content.chunk_count),
            features: Some(chunks.iter().map(tag_and_length).collect()),
            ..line
        },
        Became::Signature(signature) => {
            let is_number = method.capabilities().features == FeatureKind::Index;
            FileLine {
                windows: Some(signature.windows),
                features: (!is_number).then(|| signature.features.iter().map(feature).collect()),
                index: is_number.then_some(signature.index),
                note: signature.shortage.map(|shortage| shortage.to_string()),
                ..line
            }
        }
    }
}

impl Became {
    /// Indexes of chunks that repeat one byte.
    pub(crate) fn repeated(&self) -> Vec<usize> {
        let chunks = match self {
            Became::Chunks(chunks, ..) => chunks.as_slice(),
            Became::Signature(_) => &[],
        };
        chunks.iter().enumerate().filter(|(_, chunk)| chunk.repeated_byte).map(|(number, _)| number).collect()
    }

    fn identity(&self) -> (u64, ContentDigest) {
        match self {
            Became::Chunks(_, content, _) => (content.size_bytes, content.digest),
            Became::Signature(signature) => (signature.size_bytes, signature.digest),
        }
    }
}

fn write_table(out: &mut impl Write, became: &Became) -> io::Result<()> {
    match became {
        Became::Chunks(chunks, ..) => chunks.iter().try_for_each(|chunk| {
            let note = if chunk.repeated_byte { "  one repeated byte" } else { "" };
            writeln!(out, "{:>14} {:>9}  {}{note}", chunk.offset, chunk.length_bytes, chunk.tag)
        }),
        Became::Signature(signature) => signature
            .features
            .iter()
            .try_for_each(|feature| writeln!(out, "{:>14} {:>9}  {}", "", feature.weight, feature.tag)),
    }
}

fn summary(path: &str, method: &Method, file: &Fingerprinted) -> String {
    let (size_bytes, digest) = file.became.identity();
    let what = match &file.became {
        Became::Chunks(_, Content { chunk_count, .. }, _) => {
            format!("{chunk_count} chunks  mean {}", size_bytes.checked_div(*chunk_count).unwrap_or(0))
        }
        Became::Signature(Signature { shortage: Some(shortage), .. }) => shortage.to_string(),
        Became::Signature(Signature { index: Some(index), .. }) => format!("index {index}"),
        Became::Signature(signature) => {
            format!("{} features of {} {}", signature.features.len(), signature.windows, windows(method))
        }
    };
    let seconds = file.took.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a speed for people")]
    let speed = if seconds > 0.0 { size_bytes as f64 / 1e6 / seconds } else { 0.0 };
    format!("{path}  {size_bytes} bytes  {what}  {digest}  {seconds:.3} s  {speed:.0} MB/s")
}

/// The population that the features are sampled from.
fn windows(method: &Method) -> &'static str {
    match method.name() {
        "shingle" => "shingles",
        "fuzzy" => "words",
        _ => "windows",
    }
}
