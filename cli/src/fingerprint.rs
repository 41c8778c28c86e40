//! `cognate fingerprint`: what files become, for people and for other programs.

mod inside;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use cognate_fingerprint::{Chunk, Content, Fingerprinter, Method};
use cognate_proto::path::{escaped, printable};
use serde::Serialize;

use crate::args::{FingerprintArgs, FingerprintFormat, threads};
use crate::exit::Exit;
use crate::extraction;

/// What became of a file, or of what is inside of it: its path, and what it came to.
type Found = (Vec<u8>, io::Result<Fingerprinted>);

/// What a file came to.
struct Fingerprinted {
    chunks: Vec<Chunk>,
    content: Content,
    took: Duration,
}

/// Runs the command. Files are read side by side and told in the order in which they were named.
pub(crate) fn run(args: &FingerprintArgs) -> anyhow::Result<Exit> {
    let method = args.method.method()?;
    let key = args.key.key()?;
    let next = AtomicUsize::new(0);
    let keep_chunks = args.format != FingerprintFormat::Summary;
    let count = threads(args.threads).min(NonZeroUsize::new(args.files.len()).unwrap_or(NonZeroUsize::MIN));
    let pool = method.view().is_text().then(|| extraction::pool(count)).transpose()?;
    let count = count.get();
    let failed = std::thread::scope(|scope| {
        let (results_to, results) = sync_channel(2 * count);
        for _ in 0..count {
            let (results_to, next, pool) = (results_to.clone(), &next, pool.as_ref());
            let mut fingerprinter = method.fingerprinter(&key);
            scope.spawn(move || {
                while let Some((place, path)) = take(next, &args.files) {
                    let found = match pool {
                        None => vec![(bytes_of(path), fingerprint(&mut fingerprinter, path, keep_chunks))],
                        Some(pool) => inside::fingerprint(pool, &mut fingerprinter, method.view(), path, keep_chunks),
                    };
                    if results_to.send((place, found)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(results_to);
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        let failed = in_order(&results, |found| write_all(&mut out, args.format, &method, found));
        // Whoever waits to hand over a result must not wait for ever.
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

fn take<'a>(next: &AtomicUsize, files: &'a [PathBuf]) -> Option<(usize, &'a Path)> {
    let place = next.fetch_add(1, Ordering::Relaxed);
    files.get(place).map(|path| (place, path.as_path()))
}

fn bytes_of(path: &Path) -> Vec<u8> {
    path.as_os_str().as_encoded_bytes().to_vec()
}

fn fingerprint(fingerprinter: &mut Fingerprinter, path: &Path, keep_chunks: bool) -> io::Result<Fingerprinted> {
    read(fingerprinter, &mut File::open(path)?, keep_chunks)
}

fn read(fingerprinter: &mut Fingerprinter, from: &mut impl Read, keep_chunks: bool) -> io::Result<Fingerprinted> {
    let began = Instant::now();
    let mut chunks = Vec::new();
    let content = fingerprinter.read(from, |chunk| {
        if keep_chunks {
            chunks.push(chunk);
        }
        Ok(())
    })?;
    Ok(Fingerprinted { chunks, content, took: began.elapsed() })
}

/// Hands results on in their order, and counts those that failed.
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

#[derive(Serialize)]
struct FileLine<'a> {
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_escaped: Option<bool>,
    size_bytes: u64,
    method: &'a str,
    content: String,
    chunks: Vec<(u64, u32, String)>,
}

/// Writes what became of a file and of what is inside of it; `false` when any of it could not be read.
fn write_all(out: &mut impl Write, format: FingerprintFormat, method: &Method, found: Vec<Found>) -> io::Result<bool> {
    let mut all_read = true;
    for (path, result) in found {
        all_read &= write_one(out, format, method, &path, result)?;
    }
    Ok(all_read)
}

/// Writes what became of one document; `false` when it could not be read, which is told on standard error.
fn write_one(
    out: &mut impl Write,
    format: FingerprintFormat,
    method: &Method,
    bytes: &[u8],
    result: io::Result<Fingerprinted>,
) -> io::Result<bool> {
    let file = match result {
        Ok(file) => file,
        Err(error) => {
            eprintln!("cognate: `{}` cannot be read: {error}", printable(bytes));
            return Ok(false);
        }
    };
    match format {
        FingerprintFormat::Ndjson => {
            let (text, is_escaped) = escaped(bytes);
            let chunk = |chunk: &Chunk| (chunk.offset, chunk.length_bytes, chunk.tag.to_string());
            let line = FileLine {
                path: &text,
                path_escaped: is_escaped.then_some(true),
                size_bytes: file.content.size_bytes,
                method: method.name(),
                content: file.content.digest.to_string(),
                chunks: file.chunks.iter().map(chunk).collect(),
            };
            serde_json::to_writer(&mut *out, &line)?;
            writeln!(out)?;
        }
        FingerprintFormat::Summary => writeln!(out, "{}", summary(&printable(bytes), &file))?,
        FingerprintFormat::Text => {
            writeln!(out, "{}", summary(&printable(bytes), &file))?;
            for chunk in &file.chunks {
                let note = if chunk.repeated_byte { "  one byte over and over" } else { "" };
                writeln!(out, "{:>14} {:>9}  {}{note}", chunk.offset, chunk.length_bytes, chunk.tag)?;
            }
        }
    }
    Ok(true)
}

fn summary(path: &str, file: &Fingerprinted) -> String {
    let Content { size_bytes, chunk_count, digest } = file.content;
    let mean = size_bytes.checked_div(chunk_count).unwrap_or(0);
    let seconds = file.took.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a speed for people")]
    let speed = if seconds > 0.0 { size_bytes as f64 / 1e6 / seconds } else { 0.0 };
    format!("{path}  {size_bytes} bytes  {chunk_count} chunks  mean {mean}  {digest}  {seconds:.3} s  {speed:.0} MB/s")
}
