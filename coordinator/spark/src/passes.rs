//! The passes of an analysis on the workers, each one statement over tables of blocks.
//!
//! | pass | reads | key | leaves |
//! |---|---|---|---|
//! | tags | postings | tags | the chunks that contents share; overlap |
//! | prefixes | chunks, facts | contents | the holders of chunks, and which of them look the chunk up |
//! | components | holders | tags | pairs that could be linked, from which the coordinator packs partitions |
//! | route | chunks, facts, places | contents | chunks and facts by partition |
//! | join | chunks, facts | partition | links, clusters, figures |
//!
//! Spark brings the blocks of a key to one task, and the program of this crate does the work there ([`crate::work`]). A pass is published
//! when every key was in exactly one task and what the tasks read is what the passes before wrote.

use anyhow::{Context as _, Result, bail};

use crate::block::{Kind, Sums};
use crate::connect::Server;
use crate::exchange::Exchange;
use crate::export::{self, damaged_part};
use crate::job::Job;
use crate::partitions::{Components, NONE};
use crate::row::Sum;
use crate::rules::Division;
use crate::stages::{PASSES, Pass, Stages};
use crate::stop::Stop;
use crate::table::{TableWriter, each_block};
use crate::work::MARKER;
use crate::{check, progress};

/// Tasks of a pass at most; those of a small scan are few anyhow.
const TASKS_MAX: u64 = 100_000;
/// Bytes of a file with places.
const FILE_BYTES: usize = 32 << 20;
/// The tables that the coordinator writes.
const RULES: &str = "rules";
const FACTS: &str = "facts";
const STEPS: u64 = 1000;

/// A table that a pass reads, and the kinds of its blocks.
struct Source<'a> {
    folder: &'a str,
    kinds: &'a [Kind],
    sum: Sum,
}

/// What the passes share.
pub(crate) struct Passes<'a> {
    pub(crate) job: &'a Job,
    pub(crate) exchange: &'a Exchange,
    pub(crate) server: &'a Server,
    pub(crate) stop: &'a Stop,
    pub(crate) stages: &'a mut Stages,
    pub(crate) program: String,
}

/// What is left in the exchange at the end: the tables with analyses and links.
pub(crate) struct Left {
    pub(crate) tags: Pass,
    pub(crate) join: Option<Pass>,
}

impl Passes<'_> {
    /// Carries out all passes.
    pub(crate) fn run(&mut self, division: Division, postings: Sum) -> Result<Left> {
        let tag_keys = 1 << division.tag_bits;
        let contents = u32::try_from(self.job.contents)?;
        let content_keys = i32::try_from(contents.div_ceil(division.contents_each.max(1)))?;
        self.write_rules(division)?;
        let facts = self.write_facts(division)?;
        let facts = || Source { folder: FACTS, kinds: &[Kind::Facts], sum: facts };
        let postings = Source { folder: export::BLOCKS, kinds: &[Kind::Postings], sum: postings };
        let tags = self.pass("tags", &[postings], tag_keys)?;
        let chunks = || tags.source("tags", &[Kind::Chunks]);
        let tags_folder = chunks().0;
        let chunks = || Source { folder: &tags_folder, kinds: &[Kind::Chunks], sum: chunks().1 };
        let prefixes = self.pass("prefixes", &[chunks(), facts()], content_keys)?;
        let (folder, sum) = prefixes.source("prefixes", &[Kind::Holders]);
        let holders = Source { folder: &folder, kinds: &[Kind::Holders], sum };
        let components = self.pass("components", &[holders], tag_keys)?;
        let (places, partitions, sum) = match self.stages.passes.get("route") {
            // The places are those of the attempt whose route is published.
            Some(_) => (String::new(), self.pack(&prefixes, &components)?.1, Sum::default()),
            None => self.write_places(division, &prefixes, &components)?,
        };
        if partitions == 0 {
            return Ok(Left { tags, join: None });
        }
        let places = Source { folder: &places, kinds: &[Kind::Places], sum };
        let route = self.pass("route", &[chunks(), facts(), places], content_keys)?;
        let kinds = [Kind::Facts, Kind::Chunks];
        let (folder, sum) = route.source("route", &kinds);
        let join = self.pass("join", &[Source { folder: &folder, kinds: &kinds, sum }], partitions)?;
        Ok(Left { tags, join: Some(join) })
    }

    /// A pass with so many keys, unless it is published already.
    fn pass(&mut self, name: &'static str, sources: &[Source<'_>], keys: i32) -> Result<Pass> {
        let number = PASSES.iter().position(|pass| *pass == name).expect("a pass is listed") as u64;
        let report = |done: u64, total: u64| {
            let share = (STEPS * done).checked_div(total).unwrap_or(0).min(STEPS);
            progress("group", number * STEPS + share, PASSES.len() as u64 * STEPS);
        };
        report(0, 1);
        if let Some(pass) = self.stages.passes.get(name) {
            return Ok(pass.clone());
        }
        check(self.stop)?;
        let attempt = self.stages.attempt()?;
        let done = self.carry_out((name, attempt), sources, keys, &report);
        match done {
            Ok(outs) => {
                let pass = Pass { attempt, outs };
                self.stages.pass(name, &pass)?;
                Ok(pass)
            }
            Err(error) => Err(self.explained(error, sources)?),
        }
    }

    fn carry_out(
        &self,
        (name, attempt): (&str, u64),
        sources: &[Source<'_>],
        keys: i32,
        report: &dyn Fn(u64, u64),
    ) -> Result<Sums> {
        let tasks = u64::try_from(keys)?.clamp(1, TASKS_MAX);
        self.server.set("spark.sql.shuffle.partitions", &tasks.to_string());
        self.server.view("cognate_rules", &self.exchange.url_of(RULES))?;
        let mut parts = vec![format!(
            "SELECT {} AS kind, CAST(id AS INT) AS key, '' AS file, block FROM range({keys}) CROSS JOIN cognate_rules",
            Kind::Rules.number()
        )];
        for (number, source) in sources.iter().enumerate() {
            let view = format!("cognate_{number}");
            self.server.view(&view, &self.exchange.url_of(source.folder))?;
            let kinds: Vec<String> = source.kinds.iter().map(|kind| kind.number().to_string()).collect();
            parts.push(format!(
                "SELECT kind, key, input_file_name() AS file, block FROM {view} WHERE kind IN ({})",
                kinds.join(", ")
            ));
        }
        let statement = format!(
            "SELECT kind, key, block FROM (SELECT TRANSFORM(kind, key, file, block) {TABS} USING '{}' AS (kind INT, key INT, block STRING) {TABS} FROM (\
             SELECT kind, key, file, block FROM ({}) DISTRIBUTE BY key SORT BY key, kind))",
            command(&self.program, name),
            parts.join(" UNION ALL ")
        );
        let folder = folder_of(name, attempt);
        let url = self.exchange.url_of(&folder);
        self.server.write(&statement, (&url, &["kind"]), &mut |done, total| report(done, total))?;
        let mut expected = Sum::default();
        sources.iter().for_each(|source| expected += source.sum);
        let mut reports =
            Reports { keys: vec![false; usize::try_from(keys)?], read: Sum::default(), outs: Sums::new() };
        each_block(self.exchange, (&folder, Kind::Report, None), self.stop, &mut |_, text| {
            reports.take(name, std::str::from_utf8(&text).context("a report is no text")?)
        })?;
        reports.check(name, expected)
    }

    /// What is wrong, if a file of the exchange is; what was damaged is made again at the next attempt.
    fn explained(&mut self, error: anyhow::Error, sources: &[Source<'_>]) -> Result<anyhow::Error> {
        check(self.stop)?;
        let text = format!("{error:#}");
        if let Some(part) = damaged_part(self.exchange, self.stages, true)? {
            let name = self.exchange.url_of(&export::name_of(part, true));
            self.stages.damaged(part)?;
            return Ok(anyhow::anyhow!(
                "the exchange is damaged: `{name}` is not what was written there: check the storage, and launch the scan again"
            ));
        }
        let is_damage = text.contains("the exchange is damaged") || text.contains(DISAGREES);
        for source in sources {
            let name = source.folder.rsplit_once('-').map_or(source.folder, |(name, _)| name);
            if PASSES.contains(&name) && (is_damage || text.contains(&format!("/{}", source.folder))) {
                self.stages.unpass(name)?;
            }
        }
        let cure = if is_damage { ": check the storage, and launch the scan again" } else { "" };
        Ok(anyhow::anyhow!("{text}{cure}"))
    }

    fn write_rules(&self, division: Division) -> Result<()> {
        let text = format!("{}{}", self.job.rules()?, division.text());
        let mut writer = TableWriter::new()?;
        writer.push(Kind::Rules, 0, text.as_bytes())?;
        self.exchange.put(&format!("{RULES}/part-0.parquet"), writer.finish()?.0)
    }

    fn write_facts(&self, division: Division) -> Result<Sum> {
        let mut blocks = Blocks {
            exchange: self.exchange,
            folder: FACTS,
            kind: Kind::Facts,
            open: None,
            files: 0,
            sum: Sum::default(),
        };
        self.job.each_fact(&mut |content, class, payload| {
            let mut row = [0; 16];
            row[..4].copy_from_slice(&content.to_le_bytes());
            row[4..8].copy_from_slice(&class.to_le_bytes());
            row[8..].copy_from_slice(&payload.to_le_bytes());
            blocks.push(division.of_content(content), &row)
        })?;
        blocks.finish()
    }

    fn write_places(&mut self, division: Division, prefixes: &Pass, components: &Pass) -> Result<(String, i32, Sum)> {
        let (partitions, count) = self.pack(prefixes, components)?;
        let folder = folder_of("places", self.stages.attempt()?);
        let exchange = self.exchange;
        let mut blocks =
            Blocks { exchange, folder: &folder, kind: Kind::Places, open: None, files: 0, sum: Sum::default() };
        for (content, partition) in (0u32..).zip(partitions).filter(|(_, partition)| *partition != NONE) {
            let row = [content.to_le_bytes(), partition.to_le_bytes()].concat();
            blocks.push(division.of_content(content), &row)?;
        }
        let sum = blocks.finish()?;
        Ok((folder, count, sum))
    }

    /// The partitions, from the pairs of all tasks.
    fn pack(&mut self, prefixes: &Pass, components: &Pass) -> Result<(Vec<u32>, i32)> {
        let packed = self.packed(prefixes, components);
        if packed.is_err() {
            check(self.stop)?;
            self.stages.unpass("prefixes")?;
        }
        packed
    }

    fn packed(&self, prefixes: &Pass, components: &Pass) -> Result<(Vec<u32>, i32)> {
        let mut united = Components::new(self.job.contents)?;
        let (folder, sum) = components.source("components", &[Kind::Edges]);
        each_block(self.exchange, (&folder, Kind::Edges, Some(sum)), self.stop, &mut |_, edges| {
            edges.as_chunks::<8>().0.iter().try_for_each(|edge| {
                let [a, b] = crate::block::words(edge);
                united.unite(a, b)
            })
        })?;
        let mut rows = vec![0; self.job.contents];
        let (folder, sum) = prefixes.source("prefixes", &[Kind::Counts]);
        each_block(self.exchange, (&folder, Kind::Counts, Some(sum)), self.stop, &mut |_, counts| {
            counts.as_chunks::<8>().0.iter().try_for_each(|count| {
                let [content, chunks] = crate::block::words(count);
                *rows.get_mut(content as usize).context("the cluster counted a content that is not there")? = chunks;
                Ok(())
            })
        })?;
        united.pack(&rows)
    }
}

/// Columns of lines are separated by tabs; without it, Spark separates them by a control character.
const TABS: &str = "ROW FORMAT DELIMITED FIELDS TERMINATED BY '\\t'";

/// The folder of an attempt.
pub(crate) fn folder_of(name: &str, attempt: u64) -> String {
    format!("{name}-{attempt}")
}

impl Pass {
    /// Its table, and the sum of its blocks of some kinds.
    pub(crate) fn source(&self, name: &str, kinds: &[Kind]) -> (String, Sum) {
        let mut sum = Sum::default();
        kinds.iter().for_each(|kind| sum += self.outs.get(kind).copied().unwrap_or_default());
        (folder_of(name, self.attempt), sum)
    }
}

/// The command of a task. A program that came through the exchange is in the folder of the session, below that of the executor.
fn command(program: &str, pass: &str) -> String {
    if program.contains('/') {
        return format!("exec {program} work {pass}");
    }
    format!(
        "for found in ./*/{program} ./{program}; do [ -x \"$found\" ] && exec \"$found\" work {pass}; done; \
         echo {MARKER}the program {program} has not come to this worker >&2; exec cat > /dev/null"
    )
}

/// What all tasks of a pass report.
struct Reports {
    keys: Vec<bool>,
    read: Sum,
    outs: Sums,
}

/// In an error about sums.
const DISAGREES: &str = "was not given what";

impl Reports {
    fn take(&mut self, name: &str, text: &str) -> Result<()> {
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words.as_slice() {
                ["task", found] if *found == name => {}
                ["key", key, blocks, hashes] => {
                    let key: usize = key.parse()?;
                    match self.keys.get_mut(key) {
                        Some(known) if !*known => *known = true,
                        _ => bail!("the cluster had the key {key} of the pass `{name}` in two tasks; nothing is used"),
                    }
                    self.read += Sum { rows: blocks.parse()?, hashes: hashes.parse()? };
                }
                ["out", kind, blocks, hashes] => {
                    let kind = kind.parse().ok().and_then(Kind::of).context("a report has an unknown kind")?;
                    *self.outs.entry(kind).or_default() += Sum { rows: blocks.parse()?, hashes: hashes.parse()? };
                }
                _ => bail!("a report of the pass `{name}` is not understood: `{line}`"),
            }
        }
        Ok(())
    }

    fn check(self, name: &str, expected: Sum) -> Result<Sums> {
        if let Some(key) = self.keys.iter().position(|known| !known) {
            bail!("the cluster had no task for the key {key} of the pass `{name}`; nothing is used");
        }
        if self.read != expected {
            bail!(
                "the pass `{name}` {DISAGREES} was written for it: {} blocks with the sum {}, not {} with the sum {}; nothing is used",
                self.read.rows,
                self.read.hashes,
                expected.rows,
                expected.hashes
            );
        }
        Ok(self.outs)
    }
}

/// Writes rows whose keys ascend as a table of several files.
struct Blocks<'a> {
    exchange: &'a Exchange,
    folder: &'a str,
    kind: Kind,
    open: Option<(i32, Vec<u8>, TableWriter)>,
    files: u64,
    sum: Sum,
}

impl Blocks<'_> {
    fn push(&mut self, key: i32, row: &[u8]) -> Result<()> {
        let (mut at, mut block, mut writer) = match self.open.take() {
            Some(open) => open,
            None => (key, Vec::new(), TableWriter::new()?),
        };
        if at != key || block.len() >= crate::block::BLOCK_BYTES {
            writer.push(self.kind, at, &block)?;
            block.clear();
            at = key;
        }
        if writer.bytes() >= FILE_BYTES {
            self.put(writer)?;
            writer = TableWriter::new()?;
        }
        block.extend_from_slice(row);
        self.open = Some((at, block, writer));
        Ok(())
    }

    fn put(&mut self, writer: TableWriter) -> Result<()> {
        let (content, sums) = writer.finish()?;
        sums.values().for_each(|sum| self.sum += *sum);
        self.exchange.put(&format!("{}/part-{:06}.parquet", self.folder, self.files), content)?;
        self.files += 1;
        Ok(())
    }

    /// A table without rows has a file as well, so that it can be read.
    fn finish(mut self) -> Result<Sum> {
        let writer = match self.open.take() {
            Some((key, block, mut writer)) => {
                writer.push(self.kind, key, &block)?;
                writer
            }
            None => TableWriter::new()?,
        };
        self.put(writer)?;
        Ok(self.sum)
    }
}

/// The postings of a key at most, more or less: a task has them in memory.
const KEY_POSTINGS: u64 = 1 << 19;

impl Division {
    /// The division of so many postings.
    pub(crate) fn of(job: &Job) -> Division {
        let postings: u64 = job.runs.iter().map(|run| run.records).sum();
        let tag_bits = postings.div_ceil(KEY_POSTINGS).max(8).next_power_of_two().trailing_zeros().min(24);
        let keys = postings.div_ceil(2 * KEY_POSTINGS).max(8);
        let contents_each = u32::try_from((job.contents as u64).div_ceil(keys)).unwrap_or(u32::MAX).max(1);
        Division { tag_bits, contents_each }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reports(lines: &[&str]) -> Result<Sums, String> {
        let mut reports = Reports { keys: vec![false; 3], read: Sum::default(), outs: Sums::new() };
        let taken = lines.iter().try_for_each(|lines| reports.take("tags", lines));
        let checked = taken.and_then(|()| reports.check("tags", Sum { rows: 6, hashes: 60 }));
        checked.map_err(|error| error.to_string())
    }

    #[test]
    fn a_pass_counts_if_each_key_was_in_one_task_and_all_blocks_were_read() {
        let first = "task tags\nkey 0 1 10\nkey 2 3 30\nout 5 2 7\n";
        let outs = reports(&[first, "task tags\nkey 1 2 20\nout 5 1 1\nout 8 1 5\n"]).unwrap();
        assert_eq!(outs[&Kind::Chunks], Sum { rows: 3, hashes: 8 });
        assert_eq!(outs[&Kind::Analysis], Sum { rows: 1, hashes: 5 });
        for (second, expected) in [
            ("task tags\nkey 0 2 20\n", "the key 0 of the pass `tags` in two tasks"),
            ("task tags\nkey 3 2 20\n", "the key 3"),
            ("task tags\n", "no task for the key 1"),
            ("task tags\nkey 1 2 21\n", "not 6 with the sum 60"),
            ("task tags\nkey 1 1 20\n", "5 blocks"),
            ("task join\nkey 1 2 20\n", "not understood"),
            ("task tags\nkey 1 2\n", "not understood"),
        ] {
            let error = reports(&[first, second]).unwrap_err();
            assert!(error.contains(expected), "{second}: {error}");
        }
    }

    #[test]
    fn a_command_has_no_quote_that_would_end_it_in_a_statement() {
        for program in ["cognate-spark-12ab", "/opt/cognate-spark"] {
            let command = command(program, "tags");
            assert!(command.contains(program) && command.contains("work tags"), "{command}");
            assert!(!command.contains(['\'', '\\']), "{command}");
        }
    }
}
