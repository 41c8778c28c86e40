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

use std::collections::BTreeMap;

use crate::corpus::{Selection, load};
use crate::document::Document;
use crate::error::Error;
use crate::findings::Findings;
use crate::fuzzy::fingerprints::DEFAULT;
use crate::fuzzy::passages::passages;
use crate::fuzzy::recall::recall;
use crate::fuzzy::speed_up::speed_up;
use crate::fuzzy::vectors::{FREQUENT, terms};
use crate::methods::method;
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
    let sets = sets(documents);
    for (name, documents) in &sets {
        let described = format!("{}, English, {WORDS_MIN} words or more, what a reader sees of them", documents.len());
        findings.fact(&format!("set {name}"), described);
    }
    findings.fact("defaults", method("fuzzy", DEFAULT)?.param());
    let measured = recall(&sets, &|what| setting.step(what, 0, 4), &mut findings)?;
    setting.step("measuring the speed-up", 2, 4)?;
    for one in &measured {
        speed_up(setting, one, &mut findings);
    }
    setting.step("planting passages", 3, 4)?;
    let documents: Vec<Document> = sets.into_iter().flat_map(|(_, documents)| documents).collect();
    passages(setting, &documents, &mut findings)?;
    findings.remark(
        "The defaults follow from a rule that was written first: of all k from 10 to 30 and all intervals, the highest recall above 0.8 in the worse of two sets with at most 10 % of all pairs as candidates in either.",
    );
    findings.remark(
        "The expected frequencies of first letters are the project's own table (`fingerprint/frequencies`), in place of the \
         British National Corpus.",
    );
    Ok(findings)
}

/// The documents by the first folder of their paths, if there are two such folders; else all in one set.
fn sets(documents: Vec<Document>) -> Vec<(String, Vec<Document>)> {
    let mut sets: BTreeMap<String, Vec<Document>> = BTreeMap::new();
    for document in documents {
        let folder = document.path.split('/').next().unwrap_or_default().to_owned();
        sets.entry(folder).or_default().push(document);
    }
    match sets.len() {
        2 => sets.into_iter().collect(),
        _ => vec![("all".to_owned(), sets.into_values().flatten().collect())],
    }
}
