//! The job: the files that the coordinator wrote. It is on the same machine and trusted, but it may be cut off.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use cognate_fingerprint::Tag;
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
    /// The machines that join: the workers or the coordinator.
    pub(crate) join: Join,
    /// The path of this program on the workers; empty: it comes through the exchange.
    pub(crate) worker_program: String,
    /// Tags that are declared boilerplate.
    pub(crate) templates: Vec<Tag>,
    /// A bit for each content.
    several: Vec<u8>,
    /// Of each content its class of holders; read when they are needed.
    classes: Vec<u32>,
    pub(crate) runs: Vec<JobRun>,
}

/// Where the engine joins what the cluster has brought together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Join {
    /// On the workers where the server can run programs there, else at the coordinator.
    Auto,
    Workers,
    Coordinator,
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
        if lines.next() != Some("cognate-spark 2") {
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
            join: Join::Coordinator,
            worker_program: String::new(),
            templates: Vec::new(),
            several: Vec::new(),
            classes: Vec::new(),
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
                "join" => {
                    job.join = match value {
                        "auto" => Join::Auto,
                        "workers" => Join::Workers,
                        "coordinator" => Join::Coordinator,
                        _ => bail!("the job has an unknown place to join: `{value}`"),
                    }
                }
                "worker-program" => value.clone_into(&mut job.worker_program),
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
        job.templates = read_rows(&folder.join("templates"), |row: &[u8; 16]| Tag(*row))?;
        Ok(job)
    }

    /// Reads the classes of holders, which only a join on the workers needs.
    pub(crate) fn read_classes(&mut self) -> Result<()> {
        let class = |row: &[u8; FACT_BYTES]| u32::from_le_bytes([row[8], row[9], row[10], row[11]]);
        self.classes = read_rows(&self.folder.join("facts"), class)?;
        if self.classes.len() != self.contents {
            bail!("`{}` is not of {} contents", self.folder.join("facts").display(), self.contents);
        }
        Ok(())
    }

    /// The class of the holders of a content.
    pub(crate) fn class(&self, content: ContentIndex) -> u32 {
        self.classes[content.0 as usize]
    }

    /// Visits the class and the payload of each content.
    pub(crate) fn each_fact(&self, each: &mut dyn FnMut(u32, u32, u64) -> Result<()>) -> Result<()> {
        let path = self.folder.join("facts");
        let file = std::fs::File::open(&path).with_context(|| format!("`{}` cannot be read", path.display()))?;
        let mut file = std::io::BufReader::new(file);
        for content in 0..u32::try_from(self.contents)? {
            let mut row = [0; FACT_BYTES];
            file.read_exact(&mut row).with_context(|| format!("`{}` cannot be read", path.display()))?;
            let payload = u64::from_le_bytes(row[..8].try_into().expect("a row has 12 bytes"));
            each(content, self.class(ContentIndex(content)), payload)?;
        }
        Ok(())
    }

    /// The rules for tasks on the workers.
    pub(crate) fn rules(&self) -> Result<String> {
        let path = self.folder.join("rules");
        std::fs::read_to_string(&path).with_context(|| format!("`{}` cannot be read", path.display()))
    }

    /// The digest of the input: stages of another input do not count.
    pub(crate) fn digest(&self, on_workers: bool) -> Result<String> {
        let mut hasher = blake3::Hasher::new_derive_key("cognate spark job v1");
        hasher.update(&(self.contents as u64).to_le_bytes());
        hasher.update(&self.several);
        hasher.update(&self.part_postings().to_le_bytes());
        if on_workers {
            hasher.update(b"workers");
            hasher.update(self.rules()?.as_bytes());
            for tag in &self.templates {
                hasher.update(&tag.0);
            }
            let facts = self.folder.join("facts");
            hasher.update(&std::fs::read(&facts).with_context(|| format!("`{}` cannot be read", facts.display()))?);
        }
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

/// Bytes of a row of `facts`: payload, class.
const FACT_BYTES: usize = 12;

/// The rows of a file; none if it is not there.
fn read_rows<T, const BYTES: usize>(path: &Path, row: impl Fn(&[u8; BYTES]) -> T) -> Result<Vec<T>> {
    let bytes = match std::fs::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        read => read.with_context(|| format!("`{}` cannot be read", path.display()))?,
    };
    let (rows, rest) = bytes.as_chunks::<BYTES>();
    if !rest.is_empty() {
        bail!("`{}` is damaged: launch the scan again", path.display());
    }
    Ok(rows.iter().map(row).collect())
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
