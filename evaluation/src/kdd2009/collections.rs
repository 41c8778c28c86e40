//! `collections`: pairs against threshold in two collections of short documents (the paper's Fig. 9 and 10, Table 2).
//!
//! The paper's authors read the output of diff. Here a pair is correct if the words that both have in the same order, which
//! diff would leave unmarked, are at least the share of both that the threshold demands.

use std::collections::{BTreeMap, HashMap};

use cognate_fingerprint::Signature;

use crate::corpus::{Selection, load};
use crate::document::Document;
use crate::error::Error;
use crate::figure::{Axis, Figure, Panel, Style};
use crate::findings::{Agreement, Findings, Table};
use crate::kdd2009::PAPER;
use crate::kdd2009::edits::words;
use crate::kdd2009::families::as_sets;
use crate::kdd2009::research::Algorithm;
use crate::methods::resemblance;
use crate::setting::Setting;
use crate::statistics::{cumulative, per_cent};
use crate::threads::each;

/// The name, the least and greatest length in bytes, and the number of documents in the paper.
const COLLECTIONS: [(&str, usize, usize, usize); 2] =
    [("Collection_1", 600, 1500, 5040), ("Collection_2", 2048, 4096, 2500)];
const KINDS: [&str; 4] = ["mod", "min", "sketch", "bsw"];
/// The places of two of them.
const MIN: usize = 1;
const SKETCH: usize = 2;
const THRESHOLD: f64 = 0.7;
/// Features of more documents than this propose no pairs: other features do, or the pairs are not alike.
const HOLDERS_MAX: usize = 1500;

/// A pair with the similarity that each algorithm reports.
struct Pair {
    a: usize,
    b: usize,
    reported: [f64; 4],
    /// The share of words in common and in order.
    truth: f64,
}

pub(crate) fn run(setting: &Setting<'_>) -> Result<Findings, Error> {
    let mut findings =
        Findings::new("Similar pairs in two collections", &format!("{PAPER}, section 5, Fig. 9 and 10, Table 2."));
    findings.fact("corpus", setting.corpus_name());
    findings.fact("correct", "at least 70 % of the words of both are in common and in the same order");
    let mut all = Vec::new();
    for (name, least, most, count) in COLLECTIONS {
        let documents = documents(setting, least, most, count)?;
        if documents.len() < 50 {
            return Err(setting.corpus_lacks(
                format!("{} different texts of {least} to {most} bytes", documents.len()),
                "some hundred texts of 600 to 1500 bytes and of 2 to 4 KiB",
            ));
        }
        let pairs = pairs(setting, name, &documents)?;
        findings.fact(name, format!("{} documents of {least} to {most} bytes, each content once", documents.len()));
        all.push((name, documents, pairs));
    }
    tabulate(&all, &mut findings);
    draw(&all, &mut findings);
    compare(&all, &mut findings);
    Ok(findings)
}

fn documents(setting: &Setting<'_>, least: usize, most: usize, count: usize) -> Result<Vec<Document>, Error> {
    let selection = Selection {
        bytes_min: least,
        bytes_max: most,
        documents_max: setting.either(count, 4 * count),
        total_bytes_max: usize::MAX,
        text: false,
    };
    let mut documents = load(setting, &selection, 6000, if least < 1000 { 900 } else { 2600 })?;
    documents.retain(|document| (least..=most).contains(&document.bytes.len()) && !document.bytes.contains(&0));
    let mut seen = std::collections::HashSet::new();
    documents.retain(|document| seen.insert(document.bytes.clone()));
    documents.truncate(setting.either(count, usize::MAX));
    Ok(documents)
}

/// Every pair that some algorithm reports as at least 40 % alike.
fn pairs(setting: &Setting<'_>, name: &str, documents: &[Document]) -> Result<Vec<Pair>, Error> {
    let mut found: BTreeMap<(usize, usize), [f64; 4]> = BTreeMap::new();
    let mut algorithms = Vec::new();
    for (number, kind) in KINDS.into_iter().enumerate() {
        setting.step(&format!("{name}: comparing"), number, KINDS.len() + 1)?;
        let algorithm = Algorithm::new(kind, 20, 100)?;
        let signatures = algorithm.sign_all(documents)?;
        for (a, b) in candidates(&signatures) {
            let similarity = resemblance(&algorithm.method, &signatures[a], &signatures[b]);
            if similarity >= 0.4 {
                found.entry((a, b)).or_default()[number] = similarity;
            }
        }
        algorithms.push((algorithm, signatures));
    }
    setting.step(&format!("{name}: reading what differs"), KINDS.len(), KINDS.len() + 1)?;
    let found: Vec<((usize, usize), [f64; 4])> = found.into_iter().collect();
    each(found.len(), |number| {
        let ((a, b), reported) = found[number];
        Ok(Pair { a, b, reported, truth: in_order(&documents[a].bytes, &documents[b].bytes) })
    })
}

/// The pairs that have a feature in common.
fn candidates(signatures: &[Signature]) -> Vec<(usize, usize)> {
    let mut holders: HashMap<_, Vec<u32>> = HashMap::new();
    for (number, signature) in (0_u32..).zip(signatures) {
        signature.features.iter().for_each(|feature| holders.entry(feature.tag).or_default().push(number));
    }
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    let mut met = vec![u32::MAX; signatures.len()];
    for (a, signature) in (0_u32..).zip(signatures) {
        for others in signature.features.iter().filter_map(|feature| holders.get(&feature.tag)) {
            if others.len() > HOLDERS_MAX {
                continue;
            }
            for &b in others.iter().filter(|b| **b > a) {
                if met[b as usize] != a {
                    met[b as usize] = a;
                    pairs.push((a as usize, b as usize));
                }
            }
        }
    }
    pairs
}

/// Twice the words of a longest common subsequence, of the words of both.
fn in_order(a: &[u8], b: &[u8]) -> f64 {
    let split = |bytes: &'_ [u8]| words(bytes);
    let (words_a, words_b) = (split(a), split(b));
    let word = |bytes: &'_ [u8], span: (usize, usize)| bytes[span.0..span.1].to_vec();
    let mut numbers: HashMap<Vec<u8>, u32> = HashMap::new();
    let mut number = |text: Vec<u8>| {
        let next = u32::try_from(numbers.len()).expect("few words");
        *numbers.entry(text).or_insert(next)
    };
    let a: Vec<u32> = words_a.into_iter().map(|span| number(word(a, span))).collect();
    let b: Vec<u32> = words_b.into_iter().map(|span| number(word(b, span))).collect();
    let mut lengths = vec![0_usize; b.len() + 1];
    for x in &a {
        let mut diagonal = 0;
        for (place, y) in b.iter().enumerate() {
            let above = lengths[place + 1];
            lengths[place + 1] = if x == y { diagonal + 1 } else { above.max(lengths[place]) };
            diagonal = above;
        }
    }
    match a.len() + b.len() {
        0 => 0.0,
        all => 2.0 * lengths[b.len()] as f64 / all as f64,
    }
}

/// The number of pairs that an algorithm reports above a threshold, and the number of them that are correct.
fn count(pairs: &[Pair], algorithm: usize, threshold: f64) -> (usize, usize) {
    let reported = pairs.iter().filter(|pair| pair.reported[algorithm] > threshold);
    (reported.clone().count(), reported.filter(|pair| pair.truth >= THRESHOLD).count())
}

type Collection = (&'static str, Vec<Document>, Vec<Pair>);

fn tabulate(all: &[Collection], findings: &mut Findings) {
    let mut table = Table::new(
        "collections",
        "Pairs reported, and how many of them are correct",
        &["collection", "threshold", "algorithm", "reported", "correct", "false", "precision"],
    );
    for (name, _, pairs) in all {
        for threshold in [0.4, 0.5, 0.6, 0.7, 0.8, 0.9] {
            for (number, kind) in KINDS.iter().enumerate() {
                let (reported, correct) = count(pairs, number, threshold);
                table.row([
                    (*name).into(),
                    threshold.into(),
                    (*kind).into(),
                    reported.into(),
                    correct.into(),
                    (reported - correct).into(),
                    (correct as f64 / reported as f64).into(),
                ]);
            }
        }
    }
    findings.tables.push(table);
}

fn draw(all: &[Collection], findings: &mut Findings) {
    let mut panels = Vec::new();
    for (letter, (name, _, pairs)) in ["a", "b"].iter().zip(all) {
        let x = Axis::linear("threshold, %").between(40.0, 90.0);
        let mut panel = Panel::new(&format!("({letter}) {name}"), x, Axis::linear("similar pairs"));
        for (number, kind) in KINDS.iter().enumerate() {
            let thresholds = (8..=18).map(|step| f64::from(step) / 20.0);
            let points = thresholds.map(|threshold| (100.0 * threshold, count(pairs, number, threshold).0 as f64));
            panel.add(&format!("{kind} 100"), Style::Line, points);
        }
        panels.push(panel);
    }
    findings.figures.push(Figure::new("collections", "Similar pairs against the threshold (Fig. 9)", panels));
    let mut panel = Panel::new(
        "document lengths",
        Axis::linear("bytes").between(0.0, 4200.0),
        Axis::linear("CDF, %").between(0.0, 100.0),
    );
    for (name, documents, _) in all {
        let lengths: Vec<f64> = documents.iter().map(|document| document.bytes.len() as f64).collect();
        let curve = cumulative(&lengths, 4200.0, 84).into_iter().map(|(x, y)| (x, 100.0 * y));
        panel.add(name, Style::Curve, curve);
    }
    findings.figures.push(Figure::new("collections-lengths", "Lengths of the documents (Fig. 10)", vec![panel]));
}

fn compare(all: &[Collection], findings: &mut Findings) {
    let paper =
        ["reported Mod/Min/Sketch/BSW 61/25/17/20 of 65; correct 48/24/17/19 of 51", "75/65/49/55 of 81, all correct"];
    let by_all_paper = ["12 of 65", "45 of 81"];
    for (place, (name, _, pairs)) in all.iter().enumerate() {
        let counts: Vec<(usize, usize)> = (0..4).map(|number| count(pairs, number, THRESHOLD)).collect();
        let describe = |of: fn(&(usize, usize)) -> usize| {
            counts.iter().map(|found| of(found).to_string()).collect::<Vec<_>>().join("/")
        };
        let above = |pair: &&Pair| pair.reported.iter().any(|similarity| *similarity > THRESHOLD);
        let union: Vec<&Pair> = pairs.iter().filter(above).collect();
        let correct = union.iter().filter(|pair| pair.truth >= THRESHOLD).count();
        findings.compare(&format!("Table 2, {name}, above 70 %"), paper[place], "Mod reports as many correct pairs as Min or more, and Min more than the others", format!("reported {} of {}; correct {} of {correct}", describe(|found| found.0), union.len(), describe(|found| found.1)), match counts.iter().map(|found| found.1).collect::<Vec<_>>()[..] {
                [mods, mins, sketches, chunks] if mods >= mins && mins >= sketches.max(chunks) => Agreement::Yes,
                _ => Agreement::No,
            }, "the order is compared, since the documents are others; Mod has about ten features of a short document, which scatter");
        let sets = pairs.iter().filter(|pair| as_sets(pair.reported[SKETCH]) > THRESHOLD).count();
        let of_min = |sketches: usize| sketches as f64 / counts[MIN].0.max(1) as f64;
        let paper_of_min = [17.0 / 25.0, 49.0 / 65.0][place];
        findings.compare(
            &format!("{name}: Sketch reports fewer pairs than Min, if compared by common entries as the others are"),
            ["17, Min 25", "49, Min 65"][place],
            "Sketch's share of Min's pairs within 10 points of the paper's",
            format!(
                "{sets}, Min {}: {} (the paper {}); by places that agree {}: {}",
                counts[MIN].0,
                per_cent(of_min(sets)),
                per_cent(paper_of_min),
                counts[SKETCH].0,
                per_cent(of_min(counts[SKETCH].0))
            ),
            Agreement::of((of_min(sets) - paper_of_min).abs() <= 0.1),
            "k of n places that agree are k of 2n − k entries (sketch-functions)",
        );
        let by_all = union.iter().filter(|pair| pair.reported.iter().all(|similarity| *similarity > THRESHOLD)).count();
        findings.compare(
            &format!("{name}: reported by all four"),
            by_all_paper[place],
            "a share within 10 points of the paper's",
            format!("{by_all} of {}", union.len()),
            Agreement::of((by_all as f64 / union.len().max(1) as f64 - [12.0 / 65.0, 45.0 / 81.0][place]).abs() <= 0.1),
            "near the threshold each draws its own sample",
        );
        let wrong: Vec<usize> = counts.iter().map(|found| found.0 - found.1).collect();
        findings.compare(
            &format!("{name}: false positives"),
            ["13 of Mod, 1 of Min, 0 of Sketch, 1 of BSW", "none"][place],
            ["Mod has the most", "none"][place],
            format!("Mod/Min/Sketch/BSW {}", wrong.iter().map(ToString::to_string).collect::<Vec<_>>().join("/")),
            if place == 0 {
                Agreement::of(wrong[0] >= *wrong.iter().max().unwrap_or(&0))
            } else {
                Agreement::of(wrong.iter().all(|count| *count == 0))
            },
            "the few features of a short document can fall into a loose template",
        );
    }
    if let [(_, short, in_short), (_, _, in_long)] = all {
        let precision = |pairs: &[Pair]| {
            let (reported, correct) = count(pairs, 0, THRESHOLD);
            correct as f64 / reported.max(1) as f64
        };
        let missed = in_short.iter().find(|pair| pair.reported[0] > THRESHOLD && pair.truth < 0.5);
        let example = missed.map_or_else(String::new, |pair| {
            format!(" (for example `{}` and `{}`)", short[pair.a].path, short[pair.b].path)
        });
        findings.compare(
            "false positives are of short documents",
            "all of them",
            "Mod is less precise among the short documents",
            format!(
                "precision of Mod_100: {} short{example}, {} longer",
                per_cent(precision(in_short)),
                per_cent(precision(in_long))
            ),
            Agreement::of(precision(in_short) < precision(in_long)),
            "the longer the document, the more samples",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_order_are_counted_as_diff_would() {
        let check = |a: &str, b: &str, expected: f64| {
            let found = in_order(a.as_bytes(), b.as_bytes());
            assert!((found - expected).abs() < 1e-12, "{a} {b} {found}");
        };
        check("a b c d", "a b c d", 1.0);
        check("a b c d", "a c d e", 0.75);
        check("a b c d", "d c b a", 0.25);
        check("a b", "c d", 0.0);
        check("", "", 0.0);
    }

    #[test]
    fn a_pair_that_shares_a_feature_is_a_candidate_once() {
        let algorithm = Algorithm::new("mod", 20, 4).unwrap();
        let text = |words: &str| Document { path: String::new(), bytes: words.repeat(30).into_bytes() };
        let documents = [
            text("one and the same sentence here. "),
            text("one and the same sentence here. "),
            text("nothing at all like it!! "),
        ];
        let signatures = algorithm.sign_all(&documents).unwrap();
        assert_eq!(candidates(&signatures), [(0, 1)]);
    }
}
