//! `cognate fingerprint`: fingerprints of files, for people and for other programs.

mod inside;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use cognate_fingerprint::{Content, Key, Method, Signature, UnsupportedDocument, Verification, View};
use cognate_proto::limits::FIND_FINE_MAX;
use cognate_proto::path::{escaped, printable};
use cognate_query::{Machine, Under, write_line};
use cognate_view::Pool;

pub(crate) use cognate_query::{Became, FineOfChunks};

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
    /// With --format ndjson: add the fine chunks of each chunk, so that a find measures edited documents by them; under fuzzy, the keyed words of each text, so that a find verifies what it proposes
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
pub(crate) type Found = cognate_query::Found<Fingerprinted>;

/// Fingerprint of one document, and the time that it took.
pub(crate) struct Fingerprinted {
    pub(crate) became: Became,
    took: Duration,
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
        Ok(Reader { machine: Machine::new(method, key, fine_max(fine)), view: method.view(), pool })
    }

    /// Results for one file.
    pub(crate) fn read(&mut self, path: &Path) -> Vec<Found> {
        documents(&mut self.machine, self.pool.as_ref(), self.view, path, true)
    }
}

/// Runs the command. Files are read in parallel and reported in the order of the arguments.
pub(crate) fn run(args: &FingerprintArgs) -> anyhow::Result<Exit> {
    let method = args.method.any()?;
    let key = args.key.key()?;
    let can = method.capabilities();
    let is_verified = can.verified_by == Some(Verification::Cosine);
    if args.fine && !(args.format == FingerprintFormat::Ndjson && (can.fine || is_verified)) {
        return Err(usage(
            "--fine: only --format ndjson has fine chunks, and only of `tttd` with a mean of at most 16384; under `fuzzy` it has \
             the words",
        ));
    }
    if method.capabilities().fixed_size && args.method.chunk_bytes.is_some() {
        tell!("cognate: `{}` makes signatures of a fixed size; --chunk-bytes changes nothing", method.name());
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
            let mut machine = Machine::new(&method, &key, fine_max(args.fine));
            scope.spawn(move || {
                while let Some((place, path)) = take(next, &args.files) {
                    let found = documents(&mut machine, pool, method.view(), path, keep_chunks);
                    if results_to.send((place, found)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(results_to);
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        let under = Under::new(&method, &key);
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

/// Most fine chunks of a document: as many as a find takes.
fn fine_max(fine: bool) -> usize {
    if fine { FIND_FINE_MAX } else { 0 }
}

/// Fingerprints a file, or the documents inside it.
fn documents(machine: &mut Machine, pool: Option<&Pool>, view: View, path: &Path, keep_chunks: bool) -> Vec<Found> {
    match pool {
        None => vec![(bytes_of(path), fingerprint(machine, path, keep_chunks))],
        Some(pool) => inside::fingerprint(pool, machine, view, path, keep_chunks),
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
    let became = machine.read(from, keep_chunks)?;
    Ok(Fingerprinted { became, took: began.elapsed() })
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
            tell!("cognate: `{}` {cannot}: {error}", printable(bytes));
            return Ok(false);
        }
    };
    match format {
        FingerprintFormat::Ndjson => {
            let (text, is_escaped) = escaped(bytes);
            write_line(out, (&text, is_escaped), under, &file.became)?;
        }
        FingerprintFormat::Summary => writeln!(out, "{}", summary(&printable(bytes), method, &file))?,
        FingerprintFormat::Text => {
            writeln!(out, "{}", summary(&printable(bytes), method, &file))?;
            write_table(out, &file.became)?;
        }
    }
    Ok(true)
}

fn write_table(out: &mut impl Write, became: &Became) -> io::Result<()> {
    match became {
        Became::Chunks(chunks, ..) => chunks.iter().try_for_each(|chunk| {
            let note = if chunk.repeated_byte { "  one repeated byte" } else { "" };
            writeln!(out, "{:>14} {:>9}  {}{note}", chunk.offset, chunk.length_bytes, chunk.tag)
        }),
        Became::Signature(signature, _) => signature
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
        Became::Signature(Signature { shortage: Some(shortage), .. }, _) => shortage.to_string(),
        Became::Signature(Signature { index: Some(index), .. }, _) => format!("index {index}"),
        Became::Signature(signature, _) => {
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
