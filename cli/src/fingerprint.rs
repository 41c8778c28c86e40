//! `cognate fingerprint`: what files become, for people and for other programs.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use cognate_fingerprint::{Chunk, Content, Fingerprinter, Method};
use cognate_proto::path::{escaped, printable};
use serde::Serialize;

use crate::args::{FingerprintArgs, FingerprintFormat, threads};
use crate::exit::Exit;

/// What became of one file.
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
    let count = threads(args.threads).get().min(args.files.len());
    let failed = std::thread::scope(|scope| {
        let (results_to, results) = sync_channel(2 * count);
        for _ in 0..count {
            let (results_to, next) = (results_to.clone(), &next);
            let mut fingerprinter = method.fingerprinter(&key);
            scope.spawn(move || {
                while let Some((place, path)) = take(next, &args.files) {
                    let result = fingerprint(&mut fingerprinter, path, keep_chunks);
                    if results_to.send((place, result)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(results_to);
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        let failed =
            in_order(&results, |place, result| write_one(&mut out, args.format, &method, &args.files[place], result));
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

fn fingerprint(fingerprinter: &mut Fingerprinter, path: &Path, keep_chunks: bool) -> io::Result<Fingerprinted> {
    let began = Instant::now();
    let mut file = File::open(path)?;
    let mut chunks = Vec::new();
    let content = fingerprinter.read(&mut file, |chunk| {
        if keep_chunks {
            chunks.push(chunk);
        }
        Ok(())
    })?;
    Ok(Fingerprinted { chunks, content, took: began.elapsed() })
}

/// Hands results on in their order, and counts those that failed.
fn in_order(
    results: &Receiver<(usize, io::Result<Fingerprinted>)>,
    mut each: impl FnMut(usize, io::Result<Fingerprinted>) -> io::Result<bool>,
) -> io::Result<usize> {
    let early: Mutex<VecDeque<Option<io::Result<Fingerprinted>>>> = Mutex::default();
    let mut early = early.into_inner().expect("nobody has held it");
    let (mut next, mut failed) = (0, 0);
    for (place, result) in results {
        let slot = place - next;
        while early.len() <= slot {
            early.push_back(None);
        }
        early[slot] = Some(result);
        while let Some(Some(_)) = early.front() {
            let result = early.pop_front().flatten().expect("looked at above");
            failed += usize::from(!each(next, result)?);
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

/// Writes what became of one file; `false` when it could not be read, which is told on standard error.
fn write_one(
    out: &mut impl Write,
    format: FingerprintFormat,
    method: &Method,
    path: &Path,
    result: io::Result<Fingerprinted>,
) -> io::Result<bool> {
    let bytes = path.as_os_str().as_encoded_bytes();
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
