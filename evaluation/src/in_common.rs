//! `in-common`: how close the reported share of two documents is to what they truly have in common.
//!
//! Pairs of one path and different bytes are drawn from two folders. The truth needs no chunks: the bytes of the first
//! document that lie in windows of 32 bytes which occur in the second. Pairs of unrelated documents of one kind show
//! whether a way to measure reports what is not there.

mod measure;
mod pairs;
mod report;

use std::path::Path;

use crate::error::Error;
use crate::findings::Findings;
use crate::in_common::measure::{Measurer, WAYS};
use crate::in_common::pairs::{Pair, related, unrelated};
use crate::setting::Setting;
use crate::threads::each;
use crate::truth::{WIDTH, Windows};

/// Pairs of a small run, and of a full one.
const PAIRS: (usize, usize) = (150, 600);
/// The sizes of documents that are drawn.
const SIZE_BYTES: (usize, usize) = (2000, 400_000);

/// One pair, measured in every way. Shares are of the first document, from 0 to 1.
struct Measured {
    path: String,
    size_bytes: usize,
    truth: f64,
    reported: [f64; WAYS.len()],
    /// Tags of both documents that each way needs.
    tags: [usize; WAYS.len()],
    /// Bytes of both documents.
    both_bytes: usize,
}

/// The findings about two folders.
struct Corpus {
    name: String,
    related: Vec<Measured>,
    unrelated: Vec<Measured>,
}

pub(crate) fn run(setting: &Setting<'_>) -> Result<Findings, Error> {
    if setting.pairs.is_empty() {
        return Err(Error::Method("the experiment needs pairs of folders with two versions of documents".to_owned()));
    }
    let mut corpora = Vec::new();
    for [a, b] in setting.pairs {
        corpora.push(of_folders(setting, a, b)?);
    }
    Ok(report::findings(&corpora))
}

fn of_folders(setting: &Setting<'_>, a: &Path, b: &Path) -> Result<Corpus, Error> {
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
    let others = unrelated(&drawn, setting.seed);
    let measure = |pairs: &[Pair], what: &str| {
        each(pairs.len(), |number| {
            setting.step(&format!("{what} of {name}"), number, pairs.len())?;
            measured(&pairs[number])
        })
    };
    Ok(Corpus { related: measure(&drawn, "pairs")?, unrelated: measure(&others, "unrelated pairs")?, name })
}

fn measured(pair: &Pair) -> Result<Measured, Error> {
    let [a, b] = pair.read()?;
    let mut measurer = Measurer::new()?;
    let mut found = Measured {
        path: pair.path.clone(),
        size_bytes: a.len(),
        truth: Windows::of(&b, WIDTH).shared_runs(&a).bytes() as f64 / a.len().max(1) as f64,
        reported: [0.0; WAYS.len()],
        tags: [0; WAYS.len()],
        both_bytes: a.len() + b.len(),
    };
    for (place, way) in WAYS.iter().enumerate() {
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
