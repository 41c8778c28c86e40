//! The stages that are published: lines that are added to a file in the folder of the job.
//!
//! | line | what |
//! |---|---|
//! | `input DIGEST` | the input that all other lines are about |
//! | `part NUMBER ROWS HASHES POSTINGS BYTES BLAKE3` | a part is in the exchange |
//! | `exported` | all parts are |
//! | `grouped ATTEMPT ROWS HASHES DROPPED-ROWS DROPPED-HASHES` | what is left is in the exchange, and its sums agree |
//! | `damaged NUMBER`, `ungrouped` | a part, or what is left, is not what it was, and is made again |
//! | `attempt NUMBER` | a folder has this number, whatever became of it |
//! | `pass NAME ATTEMPT KIND:BLOCKS:HASHES...` | the table of a pass on the workers is in the exchange, and the sums of its blocks |
//! | `unpass NAME` | that table is not what it was: it and those of later passes are made again |

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::block::{Kind, Sums};
use crate::row::Sum;

/// The passes on the workers, in their order.
pub(crate) const PASSES: [&str; 5] = ["tags", "prefixes", "components", "route", "join"];

/// A part of the export.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    pub(crate) number: u64,
    pub(crate) sum: Sum,
    pub(crate) postings: u64,
    pub(crate) bytes: u64,
    pub(crate) blake3: String,
}

/// What is left after grouping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Left {
    pub(crate) attempt: u64,
    pub(crate) kept: Sum,
    pub(crate) dropped: Sum,
}

/// A pass on the workers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Pass {
    pub(crate) attempt: u64,
    /// The blocks of its table.
    pub(crate) outs: Sums,
}

/// The published stages of a job.
pub(crate) struct Stages {
    path: PathBuf,
    file: File,
    is_new: bool,
    pub(crate) parts: BTreeMap<u64, Part>,
    pub(crate) exported: bool,
    pub(crate) grouped: Option<Left>,
    /// By their names.
    pub(crate) passes: BTreeMap<String, Pass>,
    /// Attempts to group that were made, whatever became of them.
    pub(crate) attempts: u64,
}

impl Stages {
    /// Opens the stages of an input; those of another one are forgotten.
    pub(crate) fn open(folder: &Path, digest: &str) -> Result<Stages> {
        let path = folder.join("stages");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let is_new = text.lines().next() != Some(&format!("input {digest}"));
        let complete = text.rfind('\n').map_or(0, |end| end + 1);
        let open = || -> std::io::Result<File> {
            let mut file = OpenOptions::new().create(true).write(true).truncate(is_new).open(&path)?;
            if is_new {
                writeln!(file, "input {digest}")?;
            } else {
                // A line that was cut off is no line.
                file.set_len(complete as u64)?;
            }
            drop(file);
            OpenOptions::new().append(true).open(&path)
        };
        let file = open().with_context(|| format!("`{}` cannot be written", path.display()))?;
        let mut stages = Stages {
            path,
            file,
            is_new,
            parts: BTreeMap::new(),
            exported: false,
            grouped: None,
            passes: BTreeMap::new(),
            attempts: 0,
        };
        if !is_new {
            text[..complete].lines().skip(1).for_each(|line| stages.take(line));
        }
        Ok(stages)
    }

    /// True if nothing of this input was done before.
    pub(crate) fn is_new(&self) -> bool {
        self.is_new
    }

    pub(crate) fn part(&mut self, part: &Part) -> Result<()> {
        let Part { number, sum, postings, bytes, blake3 } = part;
        self.write(&format!("part {number} {} {} {postings} {bytes} {blake3}", sum.rows, sum.hashes))
    }

    pub(crate) fn exported(&mut self) -> Result<()> {
        self.write("exported")
    }

    pub(crate) fn attempt(&mut self) -> Result<u64> {
        let attempt = self.attempts;
        self.write(&format!("attempt {attempt}"))?;
        Ok(attempt)
    }

    pub(crate) fn grouped(&mut self, left: &Left) -> Result<()> {
        let Left { attempt, kept, dropped } = left;
        self.write(&format!("grouped {attempt} {} {} {} {}", kept.rows, kept.hashes, dropped.rows, dropped.hashes))
    }

    pub(crate) fn damaged(&mut self, number: u64) -> Result<()> {
        self.write(&format!("damaged {number}"))
    }

    pub(crate) fn ungrouped(&mut self) -> Result<()> {
        self.write("ungrouped")
    }

    pub(crate) fn pass(&mut self, name: &str, pass: &Pass) -> Result<()> {
        let out = |(kind, sum): (&Kind, &Sum)| format!(" {}:{}:{}", kind.number(), sum.rows, sum.hashes);
        let outs: String = pass.outs.iter().map(out).collect();
        self.write(&format!("pass {name} {}{outs}", pass.attempt))
    }

    /// Forgets a pass and those after it.
    pub(crate) fn unpass(&mut self, name: &str) -> Result<()> {
        self.write(&format!("unpass {name}"))
    }

    fn write(&mut self, line: &str) -> Result<()> {
        let write = |file: &mut File| {
            file.write_all(format!("{line}\n").as_bytes())?;
            file.sync_data()
        };
        write(&mut self.file).with_context(|| format!("`{}` cannot be written", self.path.display()))?;
        self.take(line);
        Ok(())
    }

    fn take(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["part", rest @ ..] => drop(part(rest).map(|part| self.parts.insert(part.number, part))),
            ["exported"] => self.exported = true,
            ["attempt", number] => self.attempts = number.parse::<u64>().map_or(self.attempts, |number| number + 1),
            ["grouped", rest @ ..] => self.grouped = left(rest),
            ["damaged", number] => {
                number.parse().ok().and_then(|number: u64| self.parts.remove(&number));
                (self.exported, self.grouped) = (false, None);
                self.passes.clear();
            }
            ["ungrouped"] => self.grouped = None,
            ["pass", name, attempt, outs @ ..] => {
                drop(pass(attempt, outs).map(|pass| self.passes.insert((*name).to_owned(), pass)));
            }
            ["unpass", name] => {
                let from = PASSES.iter().position(|pass| pass == name).unwrap_or(0);
                PASSES[from..].iter().for_each(|pass| drop(self.passes.remove(*pass)));
            }
            _ => {}
        }
    }
}

fn part(words: &[&str]) -> Option<Part> {
    let [number, rows, hashes, postings, bytes, blake3] = words else { return None };
    Some(Part {
        number: number.parse().ok()?,
        sum: Sum { rows: rows.parse().ok()?, hashes: hashes.parse().ok()? },
        postings: postings.parse().ok()?,
        bytes: bytes.parse().ok()?,
        blake3: (*blake3).to_owned(),
    })
}

fn pass(attempt: &str, outs: &[&str]) -> Option<Pass> {
    let out = |word: &&str| {
        let mut numbers = word.split(':');
        let kind = Kind::of(numbers.next()?.parse().ok()?)?;
        Some((kind, Sum { rows: numbers.next()?.parse().ok()?, hashes: numbers.next()?.parse().ok()? }))
    };
    Some(Pass { attempt: attempt.parse().ok()?, outs: outs.iter().map(out).collect::<Option<_>>()? })
}

fn left(words: &[&str]) -> Option<Left> {
    let [attempt, rows, hashes, dropped_rows, dropped_hashes] = words else { return None };
    Some(Left {
        attempt: attempt.parse().ok()?,
        kept: Sum { rows: rows.parse().ok()?, hashes: hashes.parse().ok()? },
        dropped: Sum { rows: dropped_rows.parse().ok()?, hashes: dropped_hashes.parse().ok()? },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some_part(number: u64) -> Part {
        let sum = Sum { rows: 3 + number, hashes: -7_000_000_000_000_000_000_000 };
        Part { number, sum, postings: 9, bytes: 100, blake3: "ab".into() }
    }

    #[test]
    fn stages_come_back_and_a_line_that_was_cut_off_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let left = Left { attempt: 0, kept: Sum { rows: 1, hashes: -2 }, dropped: Sum { rows: 3, hashes: 4 } };
        let mut stages = Stages::open(folder.path(), "x").unwrap();
        assert!(stages.is_new());
        stages.part(&some_part(0)).unwrap();
        stages.part(&some_part(1)).unwrap();
        stages.exported().unwrap();
        assert_eq!(stages.attempt().unwrap(), 0);
        stages.grouped(&left).unwrap();
        drop(stages);
        let path = folder.path().join("stages");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.strip_suffix("4\n").unwrap()).unwrap();
        let mut again = Stages::open(folder.path(), "x").unwrap();
        assert!(!again.is_new() && again.exported && again.grouped.is_none());
        assert_eq!(again.parts.values().cloned().collect::<Vec<_>>(), [some_part(0), some_part(1)]);
        assert_eq!(again.attempt().unwrap(), 1, "an attempt has a folder of its own");
        again.damaged(1).unwrap();
        drop(again);
        let again = Stages::open(folder.path(), "x").unwrap();
        assert!(!again.exported && again.parts.len() == 1);
        assert!(Stages::open(folder.path(), "another input").unwrap().is_new());
    }

    #[test]
    fn a_pass_comes_back_and_goes_with_those_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut stages = Stages::open(folder.path(), "x").unwrap();
        stages.part(&some_part(0)).unwrap();
        let sum = Sum { rows: 4, hashes: 1 << 70 };
        let pass = Pass { attempt: 2, outs: [(Kind::Chunks, sum), (Kind::Analysis, Sum::default())].into() };
        let none = Pass { attempt: 3, outs: Sums::new() };
        stages.pass("tags", &pass).unwrap();
        stages.pass("prefixes", &none).unwrap();
        stages.pass("route", &none).unwrap();
        let open = || Stages::open(folder.path(), "x").unwrap();
        assert_eq!(
            open().passes,
            [("prefixes", &none), ("route", &none), ("tags", &pass)]
                .map(|(name, pass)| (name.to_owned(), pass.clone()))
                .into()
        );
        stages.unpass("components").unwrap();
        assert_eq!(open().passes.keys().collect::<Vec<_>>(), ["prefixes", "tags"]);
        stages.damaged(0).unwrap();
        assert!(open().passes.is_empty());
    }
}
