use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::PathBuf;

use cognate_fingerprint::EXACT_WINDOW_BYTES;
use proptest::prelude::*;

use super::comparison::Report;
use super::content::Content;
use super::coverage::coverage;
use super::judged::Reason;
use super::shared::ContentWindows;
use super::*;
use crate::rng::Rng;

/// The bytes of a content that are in windows of the others, but for windows and runs of one byte, without hashes of windows.
fn by_brute_force(of: &[u8], others: &[&[u8]]) -> usize {
    let mut counts = vec![true; of.len()];
    let mut is_shared = vec![false; of.len()];
    let known: HashSet<&[u8]> = others.iter().flat_map(|other| other.windows(EXACT_WINDOW_BYTES)).collect();
    for (start, window) in of.windows(EXACT_WINDOW_BYTES).enumerate() {
        let place = start..start + EXACT_WINDOW_BYTES;
        if window.iter().all(|byte| *byte == window[0]) {
            counts[place].fill(false);
        } else if known.contains(window) {
            is_shared[place].fill(true);
        }
    }
    counts.iter().zip(&is_shared).filter(|(counts, is_shared)| **counts && **is_shared).count()
}

/// A document of pieces: random ones, some of few letters, runs of one byte, and those that others have too.
fn random_document(rng: &mut Rng, pieces: &[Vec<u8>], bytes_min: usize) -> Vec<u8> {
    let mut document = Vec::new();
    while document.len() < bytes_min {
        match rng.below(5) {
            0 => document.extend(vec![b'z'; rng.below(80)]),
            1 => {
                let own: Vec<u8> = (0..rng.below(300)).map(|_| b'a' + u8::try_from(rng.below(26)).unwrap()).collect();
                document.extend(own);
            }
            _ => document.extend(&pieces[rng.below(pieces.len())]),
        }
    }
    document
}

/// Documents at two or three sites, written below a folder; the seed is in every message of the tests.
fn random_sites(seed: u64) -> (tempfile::TempDir, Vec<Vec<Vec<u8>>>) {
    let mut rng = Rng::new(seed);
    let pieces: Vec<Vec<u8>> =
        (0..12).map(|_| (0..rng.below(400)).map(|_| b'a' + u8::try_from(rng.below(26)).unwrap()).collect()).collect();
    let folder = tempfile::tempdir().unwrap();
    let mut all = Vec::new();
    for site in 0..2 + rng.below(2) {
        let below = folder.path().join(format!("site-{site}"));
        fs::create_dir(&below).unwrap();
        let mut documents = Vec::new();
        for _ in 0..6 {
            let bytes = 900 + rng.below(900);
            documents.push(random_document(&mut rng, &pieces, bytes));
        }
        for (number, document) in documents.iter().enumerate() {
            fs::write(below.join(format!("{number}")), document).unwrap();
        }
        all.push(documents);
    }
    (folder, all)
}

fn setting<'s>(corpus: &'s Path, progress: &'s (dyn Fn(&str, u64, u64) -> bool + Sync)) -> Setting<'s> {
    Setting { corpus: Some(corpus), pairs: &[], office_set: false, full: true, seed: 1, progress }
}

#[test]
fn partners_are_those_of_brute_force_over_random_trees() {
    let progress = |_: &str, _, _| true;
    let (mut found, mut not_best) = (0, 0);
    for seed in 0..40 {
        let (folder, documents) = random_sites(seed);
        let setting = setting(folder.path(), &progress);
        let sites = Sites::read(&setting, folder.path()).unwrap();
        for (number, site) in sites.sites.iter().enumerate() {
            let partners = partners(&setting, &sites, number).unwrap();
            for document in &site.documents {
                let content = &sites.contents[document.content];
                let others = documents.iter().enumerate().filter(|(other, _)| *other != number);
                let best = others
                    .flat_map(|(_, others)| others)
                    .map(|other| by_brute_force(&content.bytes, &[other]))
                    .max()
                    .unwrap_or(0);
                let expected = crate::statistics::share(best, content.counted_bytes());
                let share = partners[document.content].map_or(0.0, |partner| partner.share);
                assert!(share <= expected + 1e-9, "seed {seed}, {}: {share} {expected}", document.path);
                if content.counted_bytes() >= partners::SMALL_BYTES_MIN && expected >= 0.5 {
                    // The sample may not show a few bytes.
                    assert!(share > expected - 0.1, "seed {seed}, {}: {share} {expected}", document.path);
                    found += 1;
                    not_best += usize::from(share < expected - 1e-9);
                }
            }
        }
    }
    assert!(not_best * 50 <= found, "{not_best} of {found}");
    assert!(found > 100, "{found}");
}

#[test]
fn coverage_is_that_of_brute_force_over_random_trees() {
    let progress = |_: &str, _, _| true;
    for seed in 0..20 {
        let (folder, documents) = random_sites(seed);
        let setting = setting(folder.path(), &progress);
        let sites = Sites::read(&setting, folder.path()).unwrap();
        let found = coverage(&setting, &sites, [0, 1], false).unwrap();
        let at: Vec<&[u8]> = documents[1].iter().map(Vec::as_slice).collect();
        let expected: usize = documents[0].iter().map(|document| by_brute_force(document, &at)).sum();
        assert_eq!(found.covered_bytes, expected, "seed {seed}");
        let counted = documents[0].iter().map(|document| Content::new(document.clone(), false).counted_bytes());
        assert_eq!(found.bytes, counted.sum::<usize>(), "seed {seed}");
        let by_text = coverage(&setting, &sites, [0, 1], true).unwrap();
        assert_eq!((by_text.bytes, by_text.covered_bytes), (0, 0), "seed {seed}");
    }
}

proptest! {
    #[test]
    fn shared_bytes_are_those_of_brute_force(seed in 0..1_000_000_u64) {
        let mut rng = Rng::new(seed);
        let pieces: Vec<Vec<u8>> =
            (0..4).map(|_| (0..rng.below(90)).map(|_| b'a' + u8::try_from(rng.below(3)).unwrap()).collect()).collect();
        let [a, b] = [0; 2].map(|_| {
            let bytes_min = rng.below(600);
            random_document(&mut rng, &pieces, bytes_min)
        });
        let [of, at] = [&a, &b].map(|bytes| Content::new(bytes.clone(), false));
        let windows: BTreeSet<usize> = of.windows().map(|window| window.start).collect();
        for (start, window) in a.windows(EXACT_WINDOW_BYTES).enumerate() {
            prop_assert_eq!(windows.contains(&start), window.iter().any(|byte| *byte != window[0]), "seed {}", seed);
        }
        prop_assert_eq!(ContentWindows::of(&of).shared_bytes(&at), by_brute_force(&a, &[&b]), "seed {}", seed);
        prop_assert_eq!(ContentWindows::of(&of).shared_bytes(&of), by_brute_force(&a, &[&a]), "seed {}", seed);
    }
}

#[test]
fn a_stretch_that_all_documents_have_does_not_hide_the_partner() {
    let mut rng = Rng::new(7);
    let mut random =
        |bytes: usize| -> Vec<u8> { (0..bytes).map(|_| b'a' + u8::try_from(rng.below(26)).unwrap()).collect() };
    let licence = random(1500);
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
    [&a, &b].iter().for_each(|site| fs::create_dir(site).unwrap());
    for number in 0..60 {
        let own = random(2000);
        fs::write(a.join(format!("{number:02}")), [&licence[..], &own].concat()).unwrap();
        let near = [&licence[..], &own[..1900], &random(3000)].concat();
        fs::write(b.join(format!("{:02}", 59 - number)), near).unwrap();
    }
    let progress = |_: &str, _, _| true;
    let setting = setting(folder.path(), &progress);
    let sites = Sites::read(&setting, folder.path()).unwrap();
    let partners = partners(&setting, &sites, 0).unwrap();
    for (number, document) in sites.sites[0].documents.iter().enumerate() {
        let partner = partners[document.content].unwrap();
        assert_eq!(sites.example(partner.content, 0), format!("b/{:02}", 59 - number));
        assert!((partner.share - 3400.0 / 3500.0).abs() < 1e-9, "{partner:?}");
    }
}

/// Two sites: `moved` and `copy` are at both, `alone` is at `a` alone.
fn report_and_sites() -> (tempfile::TempDir, Sites, Report) {
    let mut rng = Rng::new(11);
    let mut random =
        |bytes: usize| -> Vec<u8> { (0..bytes).map(|_| b'a' + u8::try_from(rng.below(26)).unwrap()).collect() };
    let [moved, copy, alone, other] = [0; 4].map(|_| random(3000));
    let folder = tempfile::tempdir().unwrap();
    for (path, bytes) in [
        ("a/moved", &moved),
        ("a/copy", &copy),
        ("a/alone", &alone),
        ("a/small", &b"small".to_vec()),
        ("b/copy", &copy),
        ("b/other", &other),
        ("b/renamed", &[&moved[..2700], &other[..500]].concat()),
    ] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    let progress = |_: &str, _, _| true;
    let sites = Sites::read(&setting(folder.path(), &progress), folder.path()).unwrap();
    let mut report = Report::default();
    for line in [
        r#"{"type":"scan","id":"1","fine":{"fine_pairs":7,"coarse_pairs":1,"omitted_pairs":2,"frames":0}}"#,
        r#"{"type":"site","site":"a","bytes":9005,"documents":4}"#,
        r#"{"type":"site","site":"b","bytes":9200,"documents":3}"#,
        r#"{"type":"overlap","level":"site","a":"a","b":"b","bytes_total_a":9000,"bytes_total_b":9000,"shared_bytes_a":3000,"shared_bytes_b":3000}"#,
        r#"{"type":"document","site":"a","path":"moved","status":"unique","elsewhere":"no","partner":null}"#,
        r#"{"type":"document","site":"a","path":"alone","status":"near","elsewhere":"no","partner":null}"#,
        r#"{"type":"document","site":"a","path":"small","status":"unique","elsewhere":"no","partner":null}"#,
        r#"{"type":"document","site":"b","path":"renamed","status":"undecided","elsewhere":"not decided","partner":null}"#,
        r#"{"type":"document","site":"b","path":"other","status":"contains","elsewhere":"standard text","partner":null}"#,
        r#"{"type":"document","site":"a","path":"copy","status":"identical","elsewhere":"yes","partner":{"site":"b","path":"copy","share":1}}"#,
        r#"{"type":"cluster","documents":[{"site":"a","path":"alone"},{"site":"b","path":"renamed"}],"links":[{"a":0,"b":1,"a_in_b":0.6,"b_in_a":null}]}"#,
        r#"{"type":"histogram","links":0}"#,
    ] {
        report.add(line).unwrap();
    }
    (folder, sites, report)
}

#[test]
fn documents_that_are_called_only_here_and_have_a_partner_are_missed() {
    let (folder, sites, report) = report_and_sites();
    let progress = |_: &str, _, _| true;
    let setting = setting(folder.path(), &progress);
    let partners: Vec<_> = (0..2).map(|site| partners(&setting, &sites, site).unwrap()).collect();
    let judged = judged::only_here(&sites, &report, &partners).unwrap();
    let counts: Vec<_> =
        judged.iter().map(|site| [site.documents, site.only_here, site.undecided, site.not_reported]).collect();
    assert_eq!(counts, [[3, 2, 0, 0], [3, 0, 1, 1]]);
    assert_eq!(judged[1].standard_text, [1, 0]);
    let [missed] = &judged[0].missed[..] else { panic!("one is missed") };
    assert_eq!((missed.path.as_str(), missed.partner.as_str(), missed.reason), ("moved", "b/renamed", Reason::Cut));
    assert!((missed.share - 0.9).abs() < 1e-9 && judged[0].missed_from(0.91) == 0);
    assert!(judged[1].missed.is_empty());
}

#[test]
fn links_of_half_and_more_are_held_against_the_truth() {
    let (folder, sites, report) = report_and_sites();
    let progress = |_: &str, _, _| true;
    let judged = judged::links(&setting(folder.path(), &progress), &sites, &report).unwrap();
    // The copies are one content, which is no pair.
    assert_eq!((judged.links, judged.low.len()), (1, 1));
    assert_eq!((judged.low[0].of.as_str(), judged.low[0].at.as_str()), ("a/alone", "b/renamed"));
    assert!(judged.low[0].share < 0.01 && (judged.low[0].reported - 0.6).abs() < 1e-9);
}

#[test]
fn a_corpus_without_two_folders_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("a")).unwrap();
    let progress = |_: &str, _, _| true;
    let error = run(&setting(folder.path(), &progress)).unwrap_err();
    assert!(error.to_string().contains("1 folders"), "{error}");
    let missing = PathBuf::from("/");
    let none = Setting { corpus: None, ..setting(&missing, &progress) };
    assert!(run(&none).unwrap_err().to_string().contains("--corpus"));
}
