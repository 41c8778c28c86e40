//! `in-common`: how close the reported share of two documents is to what they truly have in common.
//!
//! Pairs of one path and different bytes are drawn from two folders. The truth needs no chunks: the bytes of the first
//! document that lie in windows of 32 bytes which occur in the second. Pairs of unrelated documents of one kind show
//! whether a way to measure reports what is not there. Office files are compared by their text, as a comparison does, and are a
//! corpus of their own.

mod contracts;
pub(crate) mod measure;
mod pairs;
mod report;

use std::path::Path;

use cognate_fingerprint::{EXACT_WINDOW_BYTES, WindowIndex};

use crate::error::Error;
use crate::findings::Findings;
use crate::in_common::measure::{Measurer, WAY_COUNT, ways};
use crate::in_common::pairs::{Pair, related, unrelated};
use crate::setting::Setting;
use crate::threads::each;

/// Pairs of a small run, and of a full one.
const PAIRS: (usize, usize) = (150, 600);
/// The sizes of documents that are drawn.
const SIZE_BYTES: (usize, usize) = (2000, 400_000);

/// One pair, measured in every way. Shares are of the first document, from 0 to 1.
struct Measured {
    path: String,
    size_bytes: usize,
    truth: f64,
    reported: [f64; WAY_COUNT],
    /// Tags of both documents that each way needs.
    tags: [usize; WAY_COUNT],
    /// Bytes of both documents.
    both_bytes: usize,
}

/// The findings about two folders, by bytes or by text.
struct Corpus {
    name: String,
    by_text: bool,
    related: Vec<Measured>,
    unrelated: Vec<Measured>,
}

pub(crate) fn run(setting: &Setting<'_>) -> Result<Findings, Error> {
    if setting.pairs.is_empty() && !setting.office_set {
        return Err(Error::Method("the experiment needs pairs of folders with two versions of documents".to_owned()));
    }
    let mut corpora = Vec::new();
    for [a, b] in setting.pairs {
        corpora.extend(of_folders(setting, a, b)?);
    }
    if setting.office_set {
        let folder = tempfile::tempdir().map_err(Error::io("create a folder in", &std::env::temp_dir()))?;
        let [drafted, signed] = contracts::write(folder.path(), setting.seed)?;
        corpora.extend(of_folders(setting, &drafted, &signed)?);
    }
    Ok(report::findings(&corpora))
}

/// The findings about the documents that are compared by their bytes, and about those that are compared by their text.
fn of_folders(setting: &Setting<'_>, a: &Path, b: &Path) -> Result<Vec<Corpus>, Error> {
    let name = format!("{} / {}", last_part(a), last_part(b));
    setting.step(&format!("choosing pairs of {name}"), 0, 1)?;
    let count = setting.either(PAIRS.0, PAIRS.1);
    let drawn = related(a, b, SIZE_BYTES, count, setting.seed)?;
    if drawn.is_empty() {
        return Err(Error::Corpus {
            corpus: a.to_owned(),
            found: format!("no document of 2 to 400 KB that has other bytes below `{}`", b.display()),
            needed: "documents with the same path and different bytes",
        });
    }
    let (by_text, by_bytes): (Vec<Pair>, Vec<Pair>) = drawn.into_iter().partition(|pair| pair.by_text);
    let mut corpora = Vec::new();
    if !by_bytes.is_empty() {
        corpora.push(of_pairs(setting, name.clone(), &by_bytes)?);
    }
    if !by_text.is_empty() {
        corpora.push(of_pairs(setting, format!("{name} (text)"), &by_text)?);
    }
    Ok(corpora)
}

fn of_pairs(setting: &Setting<'_>, name: String, drawn: &[Pair]) -> Result<Corpus, Error> {
    let others = unrelated(drawn, setting.seed);
    let measure = |pairs: &[Pair], what: &str| {
        each(pairs.len(), |number| {
            setting.step(&format!("{what} of {name}"), number, pairs.len())?;
            measured(&pairs[number])
        })
    };
    let by_text = drawn.iter().any(|pair| pair.by_text);
    Ok(Corpus { related: measure(drawn, "pairs")?, unrelated: measure(&others, "unrelated pairs")?, name, by_text })
}

fn measured(pair: &Pair) -> Result<Measured, Error> {
    let [a, b] = pair.read()?;
    let mut measurer = Measurer::new()?;
    let mut found = Measured {
        path: pair.path.clone(),
        size_bytes: a.len(),
        truth: WindowIndex::of(&b, EXACT_WINDOW_BYTES).shared_runs(&a).bytes() as f64 / a.len().max(1) as f64,
        reported: [0.0; WAY_COUNT],
        tags: [0; WAY_COUNT],
        both_bytes: a.len() + b.len(),
    };
    for (place, way) in ways(pair.by_text).iter().enumerate() {
        (found.reported[place], found.tags[place]) = measurer.share(way, &a, &b);
    }
    Ok(found)
}

/// The last part of a path, so that findings do not depend on the machine.
fn last_part(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests;
