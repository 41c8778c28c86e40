//! The research corpus: a hundred documents of 9 to 540 KB in order of their length, and their versions with edits.

use cognate_fingerprint::{Method, Signature, window_hashes};

use crate::corpus::{Selection, load};
use crate::document::Document;
use crate::error::Error;
use crate::findings::Findings;
use crate::kdd2009::edits::{Edit, Spread, edited, words};
use crate::methods::{resemblance, sign, signer};
use crate::rng::Rng;
use crate::setting::Setting;
use crate::statistics::{mean, share};
use crate::threads::each;
use crate::truth::jaccard;

const DOCUMENTS: usize = 100;
/// The width of the windows by which documents are different, in bytes.
const SHARE_WIDTH: usize = 20;
/// The share of a document's windows from which on it is not different from another.
const SHARE_MAX: f64 = 0.1;
const BYTES_MIN: usize = 9 << 10;
const BYTES_MAX: usize = 540 << 10;

/// An algorithm with its parameters, and its name in the paper.
pub(crate) struct Algorithm {
    pub(crate) name: String,
    pub(crate) method: Method,
}

impl Algorithm {
    pub(crate) fn new(kind: &str, w: usize, n: usize) -> Result<Algorithm, Error> {
        let method = crate::methods::method(kind, &format!("w={w},n={n}"))?;
        let kind = match method.algorithm() {
            cognate_fingerprint::Algorithm::Mod(_) => "Mod",
            cognate_fingerprint::Algorithm::Min(_) => "Min",
            cognate_fingerprint::Algorithm::Sketch(_) => "Sketch",
            _ => "BSW",
        };
        Ok(Algorithm { name: format!("{kind}_{n}"), method })
    }

    /// The signatures of documents, in their order.
    pub(crate) fn sign_all(&self, documents: &[Document]) -> Result<Vec<Signature>, Error> {
        each(documents.len(), |number| sign(&mut signer(&self.method), &documents[number].bytes))
    }
}

/// Reads the corpus: its folder `RC_orig` if it has one, else every document of a suitable length, thinned to a hundred that
/// are spread over the lengths.
pub(crate) fn documents(setting: &Setting<'_>, findings: &mut Findings) -> Result<Vec<Document>, Error> {
    let inner = setting.corpus.map(|corpus| corpus.join("RC_orig")).filter(|folder| folder.is_dir());
    let setting = Setting { corpus: inner.as_deref().or(setting.corpus), ..*setting };
    let selection = Selection {
        bytes_min: BYTES_MIN,
        bytes_max: BYTES_MAX,
        documents_max: usize::MAX,
        total_bytes_max: 512 << 20,
        text: false,
    };
    let mut found = load(&setting, &selection, 160, 50_000)?;
    found.retain(|document| (BYTES_MIN..=BYTES_MAX).contains(&document.bytes.len()) && !document.bytes.contains(&0));
    found.sort_by(|a, b| (a.bytes.len(), &a.path).cmp(&(b.bytes.len(), &b.path)));
    let all = found.len();
    let mut found = different(found);
    let left_out = all - found.len();
    let count = found.len();
    if count < 10 {
        return Err(setting.corpus_lacks(format!("{count} texts of 9 to 540 KB"), "at least 10, better 100"));
    }
    let documents: Vec<Document> = if count <= DOCUMENTS {
        std::mem::take(&mut found)
    } else {
        let keep: std::collections::BTreeSet<usize> =
            (0..DOCUMENTS).map(|number| number * (count - 1) / (DOCUMENTS - 1)).collect();
        let thinned = found.into_iter().enumerate().filter(|(number, _)| keep.contains(number));
        thinned.map(|(_, document)| document).collect()
    };
    let lengths: Vec<f64> = documents.iter().map(|document| document.bytes.len() as f64 / 1024.0).collect();
    findings.fact("corpus", setting.corpus_name());
    findings.fact("documents", documents.len());
    let greatest = greatest_share(&documents);
    assert!(greatest < SHARE_MAX, "the choice leaves out whatever is more alike");
    findings.fact(
        "all different",
        format!(
            "two documents have at most {:.1} % of their windows of {SHARE_WIDTH} bytes in common, counted exactly; \
             {left_out} of {all} texts were left out for {:.0} % or more",
            100.0 * greatest,
            100.0 * SHARE_MAX
        ),
    );
    findings.fact(
        "lengths",
        format!(
            "{:.0} to {:.0} KiB, mean {:.0}, median {:.0} (the paper's: 9 to 540, mean about 50)",
            lengths[0],
            lengths[lengths.len() - 1],
            mean(&lengths),
            lengths[lengths.len() / 2]
        ),
    );
    Ok(documents)
}

/// The documents of which none has [`SHARE_MAX`] of its windows in common with one that comes before it and was kept, and none
/// before it with it. They come in order of their length.
fn different(documents: Vec<Document>) -> Vec<Document> {
    let mut kept: Vec<(Document, Vec<u64>)> = Vec::new();
    for document in documents {
        let windows = window_set(&document.bytes);
        if kept.iter().all(|(_, other)| share_in_common(other, &windows) < SHARE_MAX) {
            kept.push((document, windows));
        }
    }
    kept.into_iter().map(|(document, _)| document).collect()
}

/// The greatest share of any document's windows that another one has, of all pairs.
fn greatest_share(documents: &[Document]) -> f64 {
    let windows: Vec<Vec<u64>> = documents.iter().map(|document| window_set(&document.bytes)).collect();
    let pairs = (0..windows.len()).flat_map(|a| (a + 1..windows.len()).map(move |b| (a, b)));
    pairs.map(|(a, b)| share_in_common(&windows[a], &windows[b])).fold(0.0, f64::max)
}

/// The windows of a document, ascending, each once.
fn window_set(bytes: &[u8]) -> Vec<u64> {
    let mut windows: Vec<u64> = window_hashes(bytes, SHARE_WIDTH).collect();
    windows.sort_unstable();
    windows.dedup();
    windows
}

/// The share of the windows of the document with fewer that both have, 0 to 1.
fn share_in_common(a: &[u64], b: &[u64]) -> f64 {
    let (mut at_a, mut at_b, mut common) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(at_a), b.get(at_b)) {
        common += usize::from(x == y);
        at_a += usize::from(x <= y);
        at_b += usize::from(y <= x);
    }
    share(common, a.len().min(b.len()))
}

/// The numbers of edits: all of the paper's 1 to 50, or some of them.
pub(crate) fn steps(setting: &Setting<'_>) -> Vec<usize> {
    match setting.full {
        true => (1..=50).collect(),
        false => vec![1, 2, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50],
    }
}

/// The similarity after edits, for every step, every algorithm and every document.
pub(crate) struct Edited {
    pub(crate) steps: Vec<usize>,
    /// The similarity that an algorithm reports; by step, by algorithm, by document.
    pub(crate) found: Vec<Vec<Vec<f64>>>,
    /// The true similarity; by step, by window width, by document.
    pub(crate) truth: Vec<Vec<Vec<f64>>>,
}

impl Edited {
    /// The mean similarity that an algorithm reports, by the number of edits.
    pub(crate) fn curve(&self, algorithm: usize) -> Vec<(f64, f64)> {
        let means = self.found.iter().map(|by_algorithm| mean(&by_algorithm[algorithm]));
        self.steps.iter().map(|step| *step as f64).zip(means).collect()
    }

    /// The true mean similarity for a window, by the number of edits.
    pub(crate) fn true_curve(&self, window: usize) -> Vec<(f64, f64)> {
        let means = self.truth.iter().map(|by_window| mean(&by_window[window]));
        self.steps.iter().map(|step| *step as f64).zip(means).collect()
    }

    /// The similarity that an algorithm reports of each document after `edits` edits.
    pub(crate) fn at(&self, edits: usize, algorithm: usize) -> &[f64] {
        &self.found[self.place(edits)][algorithm]
    }

    /// The true similarity of each document after `edits` edits.
    pub(crate) fn truth_at(&self, edits: usize, window: usize) -> &[f64] {
        &self.truth[self.place(edits)][window]
    }

    fn place(&self, edits: usize) -> usize {
        self.steps.iter().position(|step| *step == edits).unwrap_or(self.steps.len() - 1)
    }
}

/// Edits every document in every step, and compares it with its original under every algorithm.
pub(crate) fn edit(
    setting: &Setting<'_>,
    documents: &[Document],
    algorithms: &[Algorithm],
    windows: &[usize],
    (edit, spread): (Edit, Spread),
) -> Result<Edited, Error> {
    let steps = steps(setting);
    let spans: Vec<Vec<(usize, usize)>> = documents.iter().map(|document| words(&document.bytes)).collect();
    let mut originals = Vec::new();
    for algorithm in algorithms {
        originals.push(algorithm.sign_all(documents)?);
    }
    let (mut found, mut truth) = (Vec::new(), Vec::new());
    for (number, &step) in steps.iter().enumerate() {
        setting.step("editing and comparing", number, steps.len())?;
        let by_document = each(documents.len(), |document| {
            let original = &documents[document].bytes;
            let version = version(setting, (document, original, &spans[document]), step, (edit, spread));
            let mut reported = Vec::with_capacity(algorithms.len());
            for (algorithm, originals) in algorithms.iter().zip(&originals) {
                let signature = sign(&mut signer(&algorithm.method), &version)?;
                reported.push(resemblance(&algorithm.method, &originals[document], &signature));
            }
            let true_ones: Vec<f64> = windows.iter().map(|width| jaccard(original, &version, *width)).collect();
            Ok((reported, true_ones))
        })?;
        let (reported, true_ones): (Vec<_>, Vec<_>) = by_document.into_iter().unzip();
        found.push(transposed(&reported, algorithms.len()));
        truth.push(transposed(&true_ones, windows.len()));
    }
    Ok(Edited { steps, found, truth })
}

/// A document, given with its number and its words, after `step` edits; the same in every experiment of a seed.
pub(crate) fn version(
    setting: &Setting<'_>,
    (number, original, spans): (usize, &[u8], &[(usize, usize)]),
    step: usize,
    (edit, spread): (Edit, Spread),
) -> Vec<u8> {
    let mut rng = Rng::of(setting.seed, (number * 1000 + step) as u64);
    edited(original, spans, edit, spread, step, &mut rng)
}

/// Exchanges rows and columns.
pub(crate) fn transposed(rows: &[Vec<f64>], columns: usize) -> Vec<Vec<f64>> {
    (0..columns).map(|column| rows.iter().map(|row| row[column]).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_are_means_over_documents_at_each_number_of_edits() {
        // Two steps, two algorithms, two documents; one window width.
        let edited = Edited {
            steps: vec![10, 50],
            found: vec![vec![vec![1.0, 0.8], vec![0.5, 0.7]], vec![vec![0.4, 0.2], vec![0.1, 0.1]]],
            truth: vec![vec![vec![0.9, 0.7]], vec![vec![0.2, 0.4]]],
        };
        let rounded =
            |curve: Vec<(f64, f64)>| curve.into_iter().map(|(x, y)| (x, (y * 1e9).round() / 1e9)).collect::<Vec<_>>();
        assert_eq!(rounded(edited.curve(0)), [(10.0, 0.9), (50.0, 0.3)]);
        assert_eq!(rounded(edited.curve(1)), [(10.0, 0.6), (50.0, 0.1)]);
        assert_eq!(rounded(edited.true_curve(0)), [(10.0, 0.8), (50.0, 0.3)]);
        assert_eq!(edited.at(10, 1), [0.5, 0.7]);
        assert_eq!(edited.truth_at(50, 0), [0.2, 0.4]);
        // A number of edits that was not made is answered by the last step.
        assert_eq!(edited.at(33, 0), [0.4, 0.2]);
    }

    #[test]
    fn rows_become_columns() {
        assert_eq!(
            transposed(&[vec![1.0, 2.0], vec![3.0, 4.0], vec![5.0, 6.0]], 2),
            [[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]
        );
        assert!(transposed(&[], 0).is_empty());
    }

    #[test]
    fn of_documents_that_have_a_tenth_in_common_one_is_taken() {
        let text = |label: &str, count: usize| -> String { (0..count).map(|at| format!("{label}{at} ")).collect() };
        let of = |name: &str, text: String| Document { path: name.to_owned(), bytes: text.into_bytes() };
        let first = of("first", text("word", 1000));
        let version = of("version", text("word", 150) + &text("own", 1000));
        let quoting = of("quoting", text("word", 60) + &text("other", 1100));
        let share = |a: &Document, b: &Document| share_in_common(&window_set(&a.bytes), &window_set(&b.bytes));
        assert!(share(&first, &version) > SHARE_MAX && (0.01..SHARE_MAX).contains(&share(&first, &quoting)));
        let all = [first, version, quoting];
        let kept: Vec<String> = different(all.to_vec()).into_iter().map(|document| document.path).collect();
        assert_eq!(kept, ["first", "quoting"]);
        assert!(greatest_share(&all) > SHARE_MAX && greatest_share(&different(all.to_vec())) < SHARE_MAX);
    }

    #[test]
    fn algorithms_have_the_names_of_the_paper() {
        for (kind, name) in [("mod", "Mod_100"), ("min", "Min_100"), ("sketch", "Sketch_100"), ("bsw", "BSW_100")] {
            assert_eq!(Algorithm::new(kind, 20, 100).unwrap().name, name);
        }
        assert!(Algorithm::new("mod", 1, 100).is_err());
    }

    #[test]
    fn a_corpus_of_few_texts_is_refused_and_one_of_many_is_thinned_to_a_hundred() {
        let folder = tempfile::tempdir().unwrap();
        let progress = |_: &str, _, _| true;
        let setting = Setting {
            corpus: Some(folder.path()),
            pairs: &[],
            office_set: false,
            full: false,
            seed: 1,
            progress: &progress,
        };
        let write = |number: usize| {
            let text = format!("{number} ").repeat((BYTES_MIN + 20 * number).div_ceil(number.to_string().len() + 1));
            std::fs::write(folder.path().join(format!("{number}.txt")), text).unwrap();
        };
        (0..9).for_each(write);
        let error = documents(&setting, &mut Findings::new("", "")).unwrap_err();
        assert!(error.to_string().contains("9 texts of 9 to 540 KB"), "{error}");
        (9..130).for_each(write);
        let mut findings = Findings::new("", "");
        let found = documents(&setting, &mut findings).unwrap();
        assert_eq!(found.len(), DOCUMENTS);
        assert!(found.is_sorted_by_key(|document| document.bytes.len()));
        assert!(findings.facts.iter().any(|(name, value)| name == "documents" && value == "100"));
    }
}
