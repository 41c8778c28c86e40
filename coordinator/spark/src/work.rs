//! A task on a worker of the cluster: blocks come in as lines of the input, those of a key together, and go out as lines.
//!
//! Spark starts this program for each of its tasks (`TRANSFORM … USING`): placement, retries, the shuffle and its spill are Spark's. The
//! program needs no network, no credentials and no files but spill files of its own.
//!
//! The last block that a task writes is its report: which keys it had, the blocks of each, and the blocks that it wrote. The coordinator
//! adds the reports up: every key has to be in one task, and what goes into a pass has to be what came out of the one before.

mod components;
mod join;
mod prefixes;
mod route;
pub(crate) mod tags;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, BufWriter, Write};

use anyhow::{Context as _, Result, anyhow, bail};

use crate::block::{self, BLOCK_BYTES, Kind, Sums};
use crate::row::Sum;
use crate::rules::Rules;

/// The marker of an error in what Spark shows.
pub(crate) const MARKER: &str = "cognate-spark: ";
/// Bytes that wait for their blocks to fill.
const WAITING_BYTES_MAX: usize = 64 << 20;
/// The budget of the engine within a task.
pub(crate) const TASK_MEMORY_BYTES: u64 = 256 << 20;

/// A pass that a task takes part in.
pub(crate) trait Pass {
    /// Takes a block of the key at hand.
    fn take(&mut self, kind: Kind, payload: Vec<u8>) -> Result<()>;
    /// Ends a key.
    fn end_key(&mut self, key: i32, rules: &Rules, out: &mut Out<'_>) -> Result<()>;
    /// Ends the task.
    fn end(&mut self, _out: &mut Out<'_>) -> Result<()> {
        Ok(())
    }
}

/// The pass of a name.
fn pass_of(name: &str) -> Result<Box<dyn Pass>> {
    Ok(match name {
        "tags" => Box::new(tags::Tags::default()),
        "prefixes" => Box::new(prefixes::Prefixes::default()),
        "components" => Box::new(components::Pairs::default()),
        "route" => Box::new(route::Route::default()),
        "join" => Box::new(join::Join::default()),
        _ => bail!("there is no pass `{name}`"),
    })
}

/// Carries out a task.
pub(crate) fn work(name: &str, input: impl std::io::Read, output: impl Write + Send) -> Result<()> {
    let mut input = BufReader::with_capacity(1 << 20, input);
    let done = carry_out(name, &mut input, output);
    if done.is_err() {
        // Spark tells of a program that ends before it has read everything by a broken pipe, and not by its reason.
        let _ = std::io::copy(&mut input, &mut std::io::sink());
    }
    done
}

fn carry_out(name: &str, input: &mut impl BufRead, output: impl Write + Send) -> Result<()> {
    let mut pass = pass_of(name)?;
    let mut output = BufWriter::with_capacity(1 << 20, output);
    let mut out = Out { output: &mut output, waiting: BTreeMap::new(), waiting_bytes: 0, sums: Sums::new() };
    let mut report = format!("task {name}\n");
    let mut rules: Option<(Vec<u8>, Rules)> = None;
    let mut open: Option<(i32, Sum)> = None;
    let mut first = None;
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = input.read_until(b'\n', &mut line).context("the input cannot be read")?;
        let next = if read == 0 { None } else { Some(Line::of(&line)?) };
        if let Some((key, sum)) = open.filter(|(key, _)| next.as_ref().is_none_or(|next| next.key != *key)) {
            let rules = &rules.as_ref().ok_or_else(|| anyhow!("the key {key} has no rules"))?.1;
            pass.end_key(key, rules, &mut out)?;
            let _ = writeln!(report, "key {key} {} {}", sum.rows, sum.hashes);
            open = None;
        }
        let Some(Line { kind, key, file, text }) = next else { break };
        first = first.or(Some(key));
        // The rules are one block, which every key gets.
        let written_key = if kind == Kind::Rules { 0 } else { key };
        let (payload, checksum) = block::decode(kind, written_key, text)
            .map_err(|error| anyhow!("the exchange is damaged: `{file}` is not what was written there: {error}"))?;
        let sum = &mut open.get_or_insert((key, Sum::default())).1;
        if kind == Kind::Rules {
            if rules.as_ref().is_none_or(|(known, _)| *known != payload) {
                let read = Rules::parse(std::str::from_utf8(&payload)?)?;
                rules = Some((payload, read));
            }
            continue;
        }
        sum.rows += 1;
        sum.hashes += i128::from(checksum);
        pass.take(kind, payload)?;
    }
    pass.end(&mut out)?;
    out.flush_all()?;
    for (kind, sum) in &out.sums {
        let _ = writeln!(report, "out {} {} {}", kind.number(), sum.rows, sum.hashes);
    }
    if let Some(key) = first {
        out.write(Kind::Report, key, report.as_bytes())?;
    }
    output.flush().context("the output cannot be written")
}

/// A line of the input: kind, key, the file that it is from, the block.
struct Line<'a> {
    kind: Kind,
    key: i32,
    file: &'a str,
    text: &'a [u8],
}

impl Line<'_> {
    fn of(line: &[u8]) -> Result<Line<'_>> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let mut columns = line.split(|byte| *byte == b'\t');
        let mut column = || columns.next().context("a line of the input has too few columns");
        let number = |column: &[u8]| std::str::from_utf8(column).ok().and_then(|text| text.parse::<i32>().ok());
        let kind = number(column()?).and_then(Kind::of).context("a line of the input has no kind")?;
        let key = number(column()?).context("a line of the input has no key")?;
        let file = std::str::from_utf8(column()?).unwrap_or("?");
        Ok(Line { kind, key, file, text: column()? })
    }
}

/// The output of a task.
pub(crate) struct Out<'a> {
    output: &'a mut (dyn Write + Send),
    waiting: BTreeMap<(Kind, i32), Vec<u8>>,
    waiting_bytes: usize,
    sums: Sums,
}

impl Out<'_> {
    /// Adds a row to a block of its kind and key.
    pub(crate) fn push(&mut self, kind: Kind, key: i32, row: &[u8]) -> Result<()> {
        let block = self.waiting.entry((kind, key)).or_default();
        block.extend_from_slice(row);
        self.waiting_bytes += row.len();
        if block.len() >= BLOCK_BYTES {
            let payload = std::mem::take(block);
            self.waiting.remove(&(kind, key));
            self.waiting_bytes -= payload.len();
            self.write(kind, key, &payload)?;
        } else if self.waiting_bytes > WAITING_BYTES_MAX {
            self.flush_all()?;
        }
        Ok(())
    }

    /// Writes a block.
    pub(crate) fn write(&mut self, kind: Kind, key: i32, payload: &[u8]) -> Result<()> {
        let (text, checksum) = block::encode(kind, key, payload);
        block::count(&mut self.sums, kind, checksum);
        writeln!(self.output, "{}\t{key}\t{text}", kind.number()).context("the output cannot be written")
    }

    fn flush_all(&mut self) -> Result<()> {
        self.waiting_bytes = 0;
        std::mem::take(&mut self.waiting)
            .into_iter()
            .try_for_each(|((kind, key), payload)| self.write(kind, key, &payload))
    }
}
