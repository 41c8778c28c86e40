//! The job: the files that the coordinator wrote. It is on the same machine and trusted, but it may be cut off.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use cognate_similarity::{ContentIndex, ContentMap, Run, RunInput, RunShards};

/// Of an ordinal whose content is not in the analysis.
const ABSENT: u32 = u32::MAX;

/// A job.
pub(crate) struct Job {
    pub(crate) folder: PathBuf,
    /// The name of the exchange: the same for the same input.
    pub(crate) name: String,
    pub(crate) server: String,
    pub(crate) exchange: String,
    pub(crate) contents: usize,
    pub(crate) threads: usize,
    pub(crate) memory_bytes: u64,
    /// A bit for each content.
    several: Vec<u8>,
    pub(crate) runs: Vec<JobRun>,
}

/// A run, and the file with the contents of its ordinals.
#[derive(Clone)]
pub(crate) struct JobRun {
    pub(crate) path: PathBuf,
    pub(crate) map: PathBuf,
    pub(crate) records: u64,
}

impl Job {
    /// Reads a job.
    pub(crate) fn read(folder: &Path) -> Result<Job> {
        let path = folder.join("job");
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("the job `{}` cannot be read", path.display()))?;
        let mut lines = text.lines();
        if lines.next() != Some("cognate-spark 1") {
            bail!(
                "the job `{}` is of another version: install a `cognate-spark` of the coordinator's version",
                path.display()
            );
        }
        let mut job = Job {
            folder: folder.to_owned(),
            name: String::new(),
            server: String::new(),
            exchange: String::new(),
            contents: 0,
            threads: 1,
            memory_bytes: 0,
            several: Vec::new(),
            runs: Vec::new(),
        };
        let mut map = None;
        for line in lines {
            let (key, value) =
                line.split_once(' ').with_context(|| format!("the job has a line without a value: `{line}`"))?;
            match key {
                "name" => value.clone_into(&mut job.name),
                "server" => value.clone_into(&mut job.server),
                "exchange" => value.clone_into(&mut job.exchange),
                "contents" => job.contents = value.parse()?,
                "threads" => job.threads = value.parse::<usize>()?.max(1),
                "memory" => job.memory_bytes = value.parse()?,
                "map" => map = Some(folder.join(value)),
                "run" => {
                    let map = map.clone().context("the job has a run without a map")?;
                    let records = Run::open(Path::new(value))?.records();
                    job.runs.push(JobRun { path: value.into(), map, records });
                }
                _ => bail!("the job has an unknown line: `{line}`"),
            }
        }
        if job.name.len() != 32 || !job.name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            bail!("the job has no name of 32 hexadecimal digits");
        }
        let path = folder.join("several");
        job.several = std::fs::read(&path).with_context(|| format!("`{}` cannot be read", path.display()))?;
        if job.several.len() != job.contents.div_ceil(8) {
            bail!("`{}` is not of {} contents", path.display(), job.contents);
        }
        Ok(job)
    }

    /// The digest of the input: stages of another input do not count.
    pub(crate) fn digest(&self) -> Result<String> {
        let mut hasher = blake3::Hasher::new_derive_key("cognate spark job v1");
        hasher.update(&(self.contents as u64).to_le_bytes());
        hasher.update(&self.several);
        hasher.update(&self.part_postings().to_le_bytes());
        let mut last = None;
        for run in &self.runs {
            if last != Some(&run.map) {
                hasher.update(
                    &std::fs::read(&run.map).with_context(|| format!("`{}` cannot be read", run.map.display()))?,
                );
                last = Some(&run.map);
            }
            hasher.update(run.path.as_os_str().as_encoded_bytes());
            hasher.update(&run.records.to_le_bytes());
        }
        Ok(hasher.finalize().to_hex()[..32].to_owned())
    }

    /// True if several groups hold a content.
    pub(crate) fn is_several(&self, content: ContentIndex) -> bool {
        let content = content.0 as usize;
        self.several.get(content / 8).is_some_and(|byte| byte & (1 << (content % 8)) != 0)
    }

    /// The postings of a part of the export: they and the part are in memory once for each thread.
    pub(crate) fn part_postings(&self) -> u64 {
        (self.memory_bytes / self.threads as u64 / 160).clamp(1 << 16, 1 << 21)
    }

    /// Some runs, with their contents.
    pub(crate) fn shards(&self, runs: &[JobRun]) -> Result<RunShards> {
        let mut inputs = Vec::new();
        let mut last: Option<(&Path, ContentMap)> = None;
        for run in runs {
            let contents = match last.take().filter(|(path, _)| *path == run.map) {
                Some((_, contents)) => contents,
                None => read_map(&run.map, self.contents)?,
            };
            inputs.push(RunInput { run: Run::open(&run.path)?, contents: contents.clone() });
            last = Some((&run.map, contents));
        }
        Ok(RunShards::new(inputs))
    }
}

fn read_map(path: &Path, contents: usize) -> Result<ContentMap> {
    let bytes = std::fs::read(path).with_context(|| format!("`{}` cannot be read", path.display()))?;
    let (words, rest) = bytes.as_chunks::<4>();
    let numbers = words.iter().map(|word| u32::from_le_bytes(*word));
    if !rest.is_empty() || numbers.clone().any(|number| number != ABSENT && number as usize >= contents) {
        bail!("`{}` is damaged: launch the scan again", path.display());
    }
    Ok(numbers.map(|number| (number != ABSENT).then_some(ContentIndex(number))).collect())
}
