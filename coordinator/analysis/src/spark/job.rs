//! The job of a layer in files: what `cognate-spark` reads. The format is in `docs/formats.md`.
//!
//! | file | what |
//! |---|---|
//! | `job` | lines of a key and a value: where to, how much memory, and the runs, each with its map |
//! | `several` | a bit for each content: set if several groups hold it, so that its tags count as overlap with itself |
//! | `map-N` | the content of each ordinal of the runs of one index, 4 bytes little-endian; all ones: none |

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use cognate_durable::whole::{PRIVATE, write_whole};
use cognate_similarity::{ContentIndex, ContentMap};

use super::Places;
use crate::error::Error;
use crate::spec::ScanJob;
use crate::subject::Subject;

/// Of a content that an analysis does not include.
const ABSENT: u32 = u32::MAX;

/// Writes the job, replacing an earlier one.
pub(super) fn write(
    folder: &Path,
    name: &str,
    scan: &ScanJob,
    subject: &Subject<'_>,
    places: &Places,
) -> Result<(), Error> {
    let frozen = subject.frozen;
    let several = folder.join("several");
    std::fs::write(&several, bits(subject)).map_err(Error::state(&several))?;
    let mut text = format!(
        "cognate-spark 1\nname {name}\nserver {}\nexchange {}\ncontents {}\nthreads {}\nmemory {}\n",
        places.server,
        places.exchange,
        frozen.contents.len(),
        scan.spec.threads,
        scan.spec.memory_budget_bytes
    );
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
