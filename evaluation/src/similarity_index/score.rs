//! One run of the experiment, and its score.

use cognate_fingerprint::{Formula, Method, is_hit};

use crate::document::Document;
use crate::error::Error;
use crate::methods::{method, sign, signer};
use crate::similarity_index::documents::ZONES;

/// One run: a formula with its k, and the numbers of the 15 documents.
pub(super) struct Run {
    pub(super) way: Formula,
    pub(super) k: usize,
    pub(super) signed: bool,
    pub(super) indexes: Vec<Option<i128>>,
    pub(super) score: Score,
}

/// The score of a matrix of hits.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Score {
    pub(super) correct: usize,
    pub(super) false_positives: usize,
    pub(super) false_negatives: usize,
}

impl Score {
    pub(super) fn of(indexes: &[Option<i128>]) -> Score {
        let mut score = Score { correct: 0, false_positives: 0, false_negatives: 0 };
        for (a, b) in (0..indexes.len()).flat_map(|a| (0..indexes.len()).map(move |b| (a, b))) {
            match (hits(indexes, a, b), is_positive(a, b)) {
                (true, true) => score.correct += 1,
                (true, false) => score.false_positives += 1,
                (false, true) => score.false_negatives += 1,
                (false, false) => {}
            }
        }
        score
    }

    pub(super) fn ratio(self) -> f64 {
        self.correct as f64 / (self.false_positives + self.false_negatives).max(1) as f64
    }
}

/// True if document b is a hit for a query with document a.
pub(super) fn hits(indexes: &[Option<i128>], a: usize, b: usize) -> bool {
    matches!((indexes[a], indexes[b]), (Some(query), Some(other)) if is_hit(query, other))
}

/// True if two documents are in one zone, or the same.
pub(super) fn is_positive(a: usize, b: usize) -> bool {
    a == b || ZONES.iter().any(|zone| zone.contains(&a) && zone.contains(&b))
}

pub(super) fn index_method(way: Formula, (k, w): (usize, usize), signed: bool) -> Result<Method, Error> {
    let hash = if signed { "signed" } else { "unsigned" };
    method("similarity-index", &format!("way={way},k={k},w={w},hash={hash}"))
}

pub(super) fn index_all(
    way: Formula,
    (k, w): (usize, usize),
    signed: bool,
    documents: &[Document],
) -> Result<Run, Error> {
    let mut signer = signer(&index_method(way, (k, w), signed)?);
    let indexes: Vec<Option<i128>> =
        documents.iter().map(|document| Ok(sign(&mut signer, &document.bytes)?.index)).collect::<Result<_, Error>>()?;
    let score = Score::of(&indexes);
    Ok(Run { way, k, signed, indexes, score })
}

/// The name of a kind of hashes.
pub(super) fn hash(signed: bool) -> &'static str {
    if signed { "signed" } else { "unsigned" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Setting;
    use crate::similarity_index::documents::{NAMES, fifteen};
    use crate::similarity_index::paper::BEST;

    #[test]
    fn each_of_the_fifteen_has_an_index_under_the_five_best_of_the_paper() {
        let progress = |_: &str, _, _| true;
        let setting =
            Setting { corpus: None, pairs: &[], office_set: false, full: false, seed: 1, progress: &progress };
        let documents = fifteen(&setting).unwrap();
        for (way, k, ..) in BEST {
            let run = index_all(Formula::parse(way).unwrap(), (k, 25), true, &documents).unwrap();
            for (index, name) in run.indexes.iter().zip(NAMES) {
                assert!(index.is_some(), "{way} k = {k}: {name}");
            }
        }
    }

    #[test]
    fn a_document_that_cannot_be_read_ends_the_experiment() {
        let binary = [Document { path: "p".to_owned(), bytes: b"a\0b".to_vec() }];
        assert!(index_all(Formula::parse("43B").unwrap(), (4, 5), true, &binary).is_err());
    }

    #[test]
    fn there_are_45_cells_that_should_be_hits() {
        let cells = (0..15).flat_map(|a| (0..15).map(move |b| (a, b)));
        assert_eq!(cells.filter(|&(a, b)| is_positive(a, b)).count(), 45);
    }

    #[test]
    fn a_matrix_of_documents_that_are_all_alike_has_hits_everywhere() {
        let score = Score::of(&[Some(100); 15]);
        assert_eq!(score, Score { correct: 45, false_positives: 180, false_negatives: 0 });
        let apart: Vec<Option<i128>> = (0..15).map(|place| Some(1_i128 << (3 * place))).collect();
        assert_eq!(Score::of(&apart), Score { correct: 15, false_positives: 0, false_negatives: 30 });
    }

    #[test]
    fn a_document_without_an_index_is_no_hit_even_for_itself() {
        let indexes = [Some(100), None, Some(110)];
        for (a, b, expected) in [(0, 0, true), (0, 2, true), (0, 1, false), (1, 0, false), (1, 1, false)] {
            assert_eq!(hits(&indexes, a, b), expected, "{a} {b}");
        }
        let score = Score { correct: 3, false_positives: 0, false_negatives: 0 };
        assert!((score.ratio() - 3.0).abs() < 1e-12, "no mistakes count as one");
    }
}
