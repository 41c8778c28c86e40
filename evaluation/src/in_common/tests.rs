use std::fs;
use std::path::PathBuf;

use super::measure::Measurer;
use super::report::{Errors, quantile};
use super::*;
use crate::rng::Rng;

/// Words at random.
fn text(rng: &mut Rng, words: usize) -> Vec<u8> {
    let mut word = || format!("w{}{}", rng.below(5000), if rng.below(12) == 0 { ".\n" } else { " " });
    (0..words).map(|_| word()).collect::<String>().into_bytes()
}

/// The text with a byte changed every `step` bytes.
fn edited(text: &[u8], step: usize) -> Vec<u8> {
    let mut edited = text.to_vec();
    edited.iter_mut().step_by(step).for_each(|byte| *byte = b'#');
    edited
}

/// Two folders: 40 documents with an edit every 200 bytes, one that is equal, one that is short, one at `a` alone.
fn folders() -> (tempfile::TempDir, [PathBuf; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
    let mut rng = Rng::new(3);
    for root in [&a, &b] {
        fs::create_dir(root).unwrap();
    }
    for number in 0..40 {
        let old = text(&mut rng, 1500 + 10 * number);
        fs::write(b.join(format!("{number}.txt")), edited(&old, 200)).unwrap();
        fs::write(a.join(format!("{number}.txt")), old).unwrap();
    }
    for (root, own) in [(&a, "x"), (&b, "y")] {
        fs::write(root.join("same.txt"), "the same ".repeat(500)).unwrap();
        fs::write(root.join("short.txt"), own).unwrap();
    }
    fs::write(a.join("alone.txt"), text(&mut rng, 1500)).unwrap();
    (folder, [a, b])
}

#[test]
fn fine_chunks_find_what_whole_chunks_do_not() {
    let mut rng = Rng::new(8);
    let a = text(&mut rng, 4000);
    let b = edited(&a, 200);
    let mut measurer = Measurer::new().unwrap();
    let reported: Vec<f64> = ways(false).iter().map(|way| measurer.share(way, &a, &b).0).collect();
    let truth = WindowIndex::of(&b, EXACT_WINDOW_BYTES).shared_runs(&a).bytes() as f64 / a.len() as f64;
    assert!(truth > 0.99 && reported[0] < 0.1 && reported[1] < 0.8, "{truth} {reported:?}");
    assert!((reported[2] - truth).abs() < 0.06, "{truth} {reported:?}");
    for way in ways(false) {
        let (all, _) = measurer.share(way, &a, &a);
        assert!((all - 1.0).abs() < 1e-12, "{way:?}");
        assert_eq!(measurer.share(way, b"", &a), (0.0, measurer.share(way, &a, b"").1), "{way:?}");
    }
}

#[test]
fn pairs_have_one_path_different_bytes_and_a_size_within_the_bounds() {
    let (_folder, [a, b]) = folders();
    let paths = |count, seed| -> Vec<String> {
        related(&a, &b, SIZE_BYTES, count, seed).unwrap().into_iter().map(|pair| pair.path).collect()
    };
    let all = paths(600, 1);
    assert_eq!(all.len(), 40);
    assert!(!all.iter().any(|path| ["same.txt", "short.txt", "alone.txt"].contains(&path.as_str())), "{all:?}");
    assert_eq!(paths(10, 1), all[..10]);
    assert_ne!(paths(10, 2), all[..10]);
    let drawn = related(&a, &b, SIZE_BYTES, 600, 1).unwrap();
    let others = unrelated(&drawn, 1);
    assert_eq!(others.len(), 40);
    assert!(others.iter().all(|pair| measured(pair).unwrap().truth < 0.1));
}

#[test]
fn quantiles_are_values_that_occur() {
    let values = [5.0, 1.0, 3.0, 2.0, 4.0];
    assert_eq!([0.0, 0.5, 0.9, 1.0].map(|at| quantile(&values, at).unwrap()), [1.0, 3.0, 4.0, 5.0]);
    assert_eq!(quantile(&[], 0.5), None);
}

#[test]
fn a_pair_that_shares_half_and_is_reported_less_is_counted() {
    let pair = |truth, reported| Measured {
        path: String::new(),
        size_bytes: 100,
        truth,
        reported: [reported; WAY_COUNT],
        tags: [3; WAY_COUNT],
        both_bytes: 200,
    };
    let related = vec![pair(0.5, 0.49), pair(0.6, 0.5), pair(0.49, 0.1), pair(1.0, 1.0)];
    let corpus = Corpus { name: String::new(), by_text: false, related, unrelated: vec![pair(0.1, 0.15)] };
    let errors = Errors::of(&corpus, 0);
    assert_eq!((errors.half, errors.reported_less), (3, 1));
    assert!((errors.median - 1.0).abs() < 1e-9, "{}", errors.median);
    assert!(errors.excess_p90.is_some_and(|excess| (excess - 5.0).abs() < 1e-9));
}

#[test]
fn a_run_has_a_row_for_each_way_and_a_picture_for_each_two_folders() {
    let (_folder, [a, b]) = folders();
    let progress = |_: &str, _, _| true;
    let pairs = [[a.clone(), b.clone()], [b, a]];
    let setting = Setting { corpus: None, pairs: &pairs, office_set: false, full: false, seed: 1, progress: &progress };
    let findings = run(&setting).unwrap();
    assert_eq!(findings.tables[0].rows.len(), 2 * WAY_COUNT);
    assert_eq!((findings.figures.len(), findings.comparisons.len()), (2, 8));
    assert_eq!(findings.tables[1].rows.len(), 12);
    assert_eq!(run(&setting).unwrap(), findings);
}

#[test]
fn folders_without_a_path_in_common_are_named() {
    let (_folder, [a, _]) = folders();
    let empty = tempfile::tempdir().unwrap();
    let progress = |_: &str, _, _| true;
    let pairs = [[a, empty.path().to_owned()]];
    let with = |pairs| {
        run(&Setting { corpus: None, pairs, office_set: false, full: false, seed: 1, progress: &progress }).unwrap_err()
    };
    assert!(with(&pairs).to_string().contains("documents with the same path"), "{}", with(&pairs));
    assert!(with(&[]).to_string().contains("needs pairs of folders"), "{}", with(&[]));
}

#[test]
fn contracts_of_one_template_are_compared_by_their_text() {
    let progress = |_: &str, _, _| true;
    let setting = Setting { corpus: None, pairs: &[], office_set: true, full: false, seed: 1, progress: &progress };
    let findings = run(&setting).unwrap();
    let rows = &findings.tables[0].rows;
    assert_eq!(rows.len(), WAY_COUNT);
    let text = format!("{rows:?}");
    assert!(
        text.contains("contracts-drafted / contracts-signed (text)") && text.contains("chunks, mean 200"),
        "{text}"
    );
    assert_eq!(run(&setting).unwrap(), findings);
}

#[test]
fn office_files_are_a_corpus_of_their_own() {
    let (_folder, [a, b]) = folders();
    contracts::write(&a, 1).unwrap();
    contracts::write(&b, 2).unwrap();
    let progress = |_: &str, _, _| true;
    let pairs = [[a, b]];
    let setting = Setting { corpus: None, pairs: &pairs, office_set: false, full: false, seed: 1, progress: &progress };
    let corpora = of_folders(&setting, &pairs[0][0], &pairs[0][1]).unwrap();
    let sizes: Vec<_> = corpora.iter().map(|corpus| (corpus.by_text, corpus.related.len())).collect();
    assert_eq!(sizes, [(false, 40), (true, 48)]);
    // The theme is most of the bytes of a contract, and no part of its text.
    assert!(corpora[1].related.iter().all(|pair| pair.size_bytes < 20_000));
}
