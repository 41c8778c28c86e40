//! `fuzzy`: fuzzy fingerprints, their recall against cosine similarity, their speed-up, and planted passages.
//!
//! Stein and Meyer zu Eissen: the share of the pairs above a cosine similarity that have a fingerprint in common (Fig. 8, left),
//! the number of documents that a query has a fingerprint in common with, by the size of the collection (right), and the use
//! case of plagiarised passages.

mod fingerprints;
mod passages;
mod recall;
mod speed_up;
mod vectors;

use crate::corpus::{Selection, load};
use crate::error::Error;
use crate::findings::Findings;
use crate::fuzzy::passages::passages;
use crate::fuzzy::recall::recall;
use crate::fuzzy::speed_up::speed_up;
use crate::fuzzy::vectors::{FREQUENT, cosines, terms, vectors};
use crate::machine::Stopwatch;
use crate::setting::Setting;
use crate::statistics::share;

/// Shorter documents are left out, as in the paper.
const WORDS_MIN: usize = 50;

pub(crate) fn run(setting: &Setting<'_>) -> Result<Findings, Error> {
    let selection = Selection {
        bytes_min: 300,
        bytes_max: 1 << 20,
        documents_max: setting.either(2500, 15_000),
        total_bytes_max: setting.either(40 << 20, 400 << 20),
        text: true,
    };
    let mut documents = load(setting, &selection, 1500, 4000)?;
    let is_generated = setting.corpus.is_none();
    documents.retain(|document| {
        let words = terms(&document.bytes);
        let frequent = words.iter().filter(|word| FREQUENT.contains(&word.as_str())).count();
        words.len() >= WORDS_MIN && (is_generated || share(frequent, words.len()) >= 0.15)
    });
    if documents.len() < 50 {
        return Err(setting
            .corpus_lacks(format!("{} English texts of {WORDS_MIN} words or more", documents.len()), "some hundred"));
    }
    let mut findings = Findings::new("Fuzzy fingerprints", "Stein, Meyer zu Eissen, section 3.2, Fig. 8.");
    findings.fact("corpus", setting.corpus_name());
    findings.fact(
        "documents",
        format!("{}, English, {WORDS_MIN} words or more, what a reader sees of them", documents.len()),
    );
    setting.step("finding all cosine similarities", 0, 4)?;
    let watch = Stopwatch::start();
    let texts: Vec<&[u8]> = documents.iter().map(|document| document.bytes.as_slice()).collect();
    let vectors = vectors(&texts);
    let pairs = cosines(&vectors, 0.3)?;
    let scanning = watch.seconds();
    setting.step("comparing fingerprints", 1, 4)?;
    let fingerprinted = recall(&documents, &pairs, &mut findings)?;
    setting.step("measuring the speed-up", 2, 4)?;
    speed_up(setting, &fingerprinted, scanning, &mut findings);
    setting.step("planting passages", 3, 4)?;
    passages(setting, &documents, &mut findings)?;
    findings.remark(
        "Vectors: words in lower case, the most frequent of English left out, weighted with the logarithm of their count and \
         of the inverse share of documents that have them.",
    );
    findings.remark(
        "The expected frequencies of first letters are the project's own table (`fingerprint/frequencies`), in place of the \
         British National Corpus.",
    );
    Ok(findings)
}
