//! The job of a layer in files: what `cognate-spark` reads.
//!
//! | file | what |
//! |---|---|
//! | `job` | lines of a key and a value: where to, how much memory, and the runs, each with its map |
//! | `several` | a bit for each content: set if several groups hold it, so that its tags count as overlap with itself |
//! | `map-N` | the content of each ordinal of the runs of one index, 4 bytes little-endian; all ones: none |
//! | `facts` | of each content its payload (8 bytes) and its class of holders (4 bytes) |
//! | `rules` | lines of a key and values: the thresholds, the labels of groups, and the groups of each class |
//! | `templates` | the tags that are declared boilerplate, 16 bytes each |

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use cognate_durable::whole::{PRIVATE, write_whole};
use cognate_similarity::{ContentIndex, ContentMap, Input, Thresholds};

use super::{Places, SparkSettings};
use crate::error::Error;
use crate::spec::ScanJob;
use crate::subject::{Subject, index};

/// Of a content that an analysis does not include.
const ABSENT: u32 = u32::MAX;

/// The input of a job.
pub(super) struct Job<'a> {
    pub(super) folder: &'a Path,
    pub(super) name: &'a str,
    pub(super) scan: &'a ScanJob,
    pub(super) subject: &'a Subject<'a>,
    pub(super) thresholds: &'a Thresholds,
}

impl Job<'_> {
    /// Writes the files, replacing those of an earlier job.
    pub(super) fn write(&self, places: &Places, settings: &SparkSettings) -> Result<(), Error> {
        let Job { folder, subject, .. } = *self;
        let frozen = subject.frozen;
        let several = folder.join("several");
        std::fs::write(&several, bits(subject)).map_err(Error::state(&several))?;
        let templates = folder.join("templates");
        let tags: Vec<u8> = frozen.shards.templates().iter().flat_map(|tag| tag.0).collect();
        std::fs::write(&templates, tags).map_err(Error::state(&templates))?;
        self.write_facts()?;
        let mut text = format!(
            "cognate-spark 2\nname {}\nserver {}\nexchange {}\ncontents {}\nthreads {}\nmemory {}\njoin {}\n",
            self.name,
            places.server,
            places.exchange,
            frozen.contents.len(),
            self.scan.spec.threads,
            self.scan.spec.memory_budget_bytes,
            settings.join.name()
        );
        if !settings.worker_program.is_empty() {
            let _ = writeln!(text, "worker-program {}", settings.worker_program);
        }
        // Runs of one index follow each other and have one map.
        let mut maps = 0;
        let mut last: Option<&ContentMap> = None;
        for input in &frozen.shards.runs {
            if last != Some(&input.contents) {
                let path = folder.join(format!("map-{maps}"));
                write_map(&path, &input.contents).map_err(Error::state(&path))?;
                let _ = writeln!(text, "map map-{maps}");
                maps += 1;
                last = Some(&input.contents);
            }
            let path = input.run.path();
            let Some(line) = path.to_str().filter(|line| !line.contains('\n')) else {
                let path = path.display();
                return Err(Error::Refused(format!(
                    "Spark: the path `{path}` cannot be written in a line of UTF-8: move `state_dir`"
                )));
            };
            let _ = writeln!(text, "run {line}");
        }
        let path = folder.join("job");
        write_whole(&path, text.as_bytes(), PRIVATE).map_err(Error::state(&path))
    }

    /// Writes `facts` and `rules`. Contents with the same holders, and as many copies at each, are of one class.
    fn write_facts(&self) -> Result<(), Error> {
        let input = self.subject.input();
        let (facts, rules) = (self.folder.join("facts"), self.folder.join("rules"));
        let mut text = rules_of(&input, self.thresholds);
        let mut classes: HashMap<Vec<(u16, u32)>, u32> = HashMap::new();
        let mut groups = 0;
        let mut file = BufWriter::new(File::create(&facts).map_err(Error::state(&facts))?);
        for (place, payload) in input.payload_bytes.iter().enumerate() {
            let held = input.holders.of(index(place)).iter();
            let held: Vec<(u16, u32)> = held.map(|holding| (holding.group.0, holding.copies)).collect();
            let next = u32::try_from(classes.len()).expect("classes are no more than contents");
            let class = *classes.entry(held).or_insert_with_key(|held| {
                let words: Vec<String> = held.iter().map(|(group, copies)| format!("{group}:{copies}")).collect();
                groups = held.iter().fold(groups, |most, (group, _)| most.max(usize::from(*group) + 1));
                let _ = writeln!(text, "class {}", words.join(" "));
                next
            });
            let written = file.write_all(&payload.to_le_bytes()).and_then(|()| file.write_all(&class.to_le_bytes()));
            written.map_err(Error::state(&facts))?;
        }
        file.flush().map_err(Error::state(&facts))?;
        let _ = writeln!(text, "groups {groups}");
        std::fs::write(&rules, text).map_err(Error::state(&rules))
    }
}

/// The rules, all but those of classes and groups.
fn rules_of(input: &Input<'_>, thresholds: &Thresholds) -> String {
    let words = |labels: &[u16]| labels.iter().map(|label| format!(" {label}")).collect::<String>();
    let Thresholds { min_shared_bytes, min_containment } = thresholds;
    let mut text = format!(
        "contents {}\nmin-shared {min_shared_bytes}\nmin-containment {min_containment}\n",
        input.payload_bytes.len()
    );
    for level in input.levels {
        let _ = writeln!(text, "level {}{}", level.label_count, words(&level.labels));
    }
    if let Some(across) = input.across {
        let _ = writeln!(text, "across{}", words(across));
    }
    text
}

/// A bit for each content, the lowest of a byte first.
fn bits(subject: &Subject<'_>) -> Vec<u8> {
    let input = subject.input();
    let contents = subject.frozen.contents.len();
    let mut bits = vec![0; contents.div_ceil(8)];
    for content in 0..contents {
        let number = ContentIndex(u32::try_from(content).expect("contents have 31-bit numbers"));
        if input.holders.of(number).len() > 1 {
            bits[content / 8] |= 1 << (content % 8);
        }
    }
    bits
}

fn write_map(path: &Path, contents: &ContentMap) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    for content in contents.iter() {
        file.write_all(&content.map_or(ABSENT, |content| content.0).to_le_bytes())?;
    }
    file.flush()
}
