//! `similarity-index`: one number a document, in all the ways of the paper.
//!
//! Roth (2011): 15 documents in three zones of relatives; every way to make the number is scored by what the 15 × 15 matrix
//! of hits says: ones inside of the zones are correct, zeros there are false negatives, ones elsewhere false positives. The
//! paper's future work, a much larger collection, follows.

mod documents;

use cognate_fingerprint::{Method, Way, is_hit};

use crate::dice::Dice;
use crate::error::Error;
use crate::experiment::Setting;
use crate::figure::{Axis, Figure, Panel, Style};
use crate::findings::{Agreement, Cell, Findings, Table};
use crate::methods::{method, sign, signer};
use crate::similarity_index::documents::{Document, NAMES, ZONES, collection, fifteen};
use crate::statistics::{mean, per_cent, share};
use crate::threads::each;
use crate::truth::jaccard;

/// (k, w) of the four runs.
const RUNS: [(usize, usize); 4] = [(4, 5), (8, 12), (16, 25), (40, 100)];
/// Way, k, false positives, false negatives, correct and score of the paper's Table 9.
const BEST: [(&str, usize, usize, usize, usize, f64); 5] = [
    ("43B", 40, 0, 10, 35, 3.50),
    ("47C", 40, 14, 5, 40, 2.11),
    ("43B", 4, 3, 13, 32, 2.00),
    ("3B", 16, 8, 10, 35, 1.94),
    ("21B", 40, 2, 14, 31, 1.94),
];
/// Of so many queries at most, one of the hits in a large collection is looked at.
const SAMPLE: usize = 3000;
/// What the paper's Tables 10 to 24 have, a string of rows for each zone of each of the five.
const PRINTED: [[&str; 3]; 5] = [
    ["1110 1110 1110 0001", "1111 1111 1111 1111", "101 010 101"],
    ["1110 0111 1111 0101", "1111 1101 1111 1111", "111 111 111"],
    ["1110 1110 1110 0001", "1111 0100 1111 1111", "101 010 101"],
    ["1110 1110 1110 0001", "1111 1111 1111 1111", "101 010 101"],
    ["1110 1110 1110 0001", "1111 0100 1011 1111", "101 010 101"],
];

/// One run: a way with its k, and the numbers of the 15 documents.
struct Run {
    way: Way,
    k: usize,
    signed: bool,
    indexes: Vec<Option<i128>>,
    score: Score,
}

/// What a matrix of hits comes to.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Score {
    correct: usize,
    false_positives: usize,
    false_negatives: usize,
}

impl Score {
    fn of(indexes: &[Option<i128>]) -> Score {
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

    fn ratio(self) -> f64 {
        self.correct as f64 / (self.false_positives + self.false_negatives).max(1) as f64
    }
}

/// Whether document b is a hit for one who asks for document a.
fn hits(indexes: &[Option<i128>], a: usize, b: usize) -> bool {
    matches!((indexes[a], indexes[b]), (Some(query), Some(other)) if is_hit(query, other))
}

/// Whether two documents are of one zone, or the same.
fn is_positive(a: usize, b: usize) -> bool {
    a == b || ZONES.iter().any(|zone| zone.contains(&a) && zone.contains(&b))
}

pub(crate) fn run(setting: &Setting<'_>) -> Result<Findings, Error> {
    let documents = fifteen(setting)?;
    let mut findings = Findings::new("The Similarity Index", "Roth 2011, sections 4, 5 and 6.");
    findings.fact("corpus", setting.corpus_name());
    let bytes: Vec<String> =
        documents.iter().map(|document| format!("{} {}", document.path, document.bytes.len())).collect();
    findings.fact("documents", bytes.join(", "));
    let ways: Vec<Way> = Way::all().collect();
    let mut runs = Vec::new();
    for signed in [true, false] {
        for (number, (k, w)) in RUNS.into_iter().enumerate() {
            setting.step("making all indexes", number, RUNS.len())?;
            let made = each(ways.len(), |place| index_all(ways[place], (k, w), signed, &documents))?;
            runs.extend(made);
        }
    }
    findings.fact("runs", format!("{} signed, as Java has its hashes, and as many unsigned", runs.len() / 2));
    scores(&runs, &mut findings);
    zones(&runs, &mut findings);
    ciphers(setting, &documents, &mut findings)?;
    large(setting, &mut findings)?;
    Ok(findings)
}

fn index_method(way: Way, (k, w): (usize, usize), signed: bool) -> Result<Method, Error> {
    let hash = if signed { "signed" } else { "unsigned" };
    method("similarity-index", &format!("way={way},k={k},w={w},hash={hash}"))
}

fn index_all(way: Way, (k, w): (usize, usize), signed: bool, documents: &[Document]) -> Result<Run, Error> {
    let mut signer = signer(&index_method(way, (k, w), signed)?);
    // A program among them is binary, and has no words: its index is none, as that of a text that is too short.
    let index = |document: &Document| sign(&mut signer, &document.bytes).ok().and_then(|signature| signature.index);
    let indexes: Vec<Option<i128>> = documents.iter().map(index).collect();
    let score = Score::of(&indexes);
    Ok(Run { way, k, signed, indexes, score })
}

fn scores(runs: &[Run], findings: &mut Findings) {
    let mut table = Table::new(
        "similarity-index-scores",
        "All runs",
        &["way", "k", "hash", "correct", "false positives", "false negatives", "score"],
    );
    for run in runs {
        table.row([
            run.way.to_string().into(),
            run.k.into(),
            hash(run.signed).into(),
            run.score.correct.into(),
            run.score.false_positives.into(),
            run.score.false_negatives.into(),
            run.score.ratio().into(),
        ]);
    }
    findings.tables.push(table);
    let best_of = |signed: bool| {
        let mut best: Vec<&Run> = runs.iter().filter(|run| run.signed == signed).collect();
        best.sort_by(|a, b| b.score.ratio().total_cmp(&a.score.ratio()));
        best
    };
    let mut table = Table::new(
        "similarity-index-best",
        "The best ten, signed and unsigned (Table 9)",
        &["rank", "signed", "k", "score", "unsigned", "k", "score"],
    );
    let (signed, unsigned) = (best_of(true), best_of(false));
    for rank in 0..10 {
        let cells = |run: &Run| [run.way.to_string().into(), Cell::from(run.k), run.score.ratio().into()];
        let [a, b, c] = cells(signed[rank]);
        let [d, e, f] = cells(unsigned[rank]);
        table.row([(rank + 1).into(), a, b, c, d, e, f]);
    }
    findings.tables.push(table);
    for (way, k, positives, negatives, correct, score) in BEST {
        let of =
            |signed: bool| runs.iter().find(|run| run.way.to_string() == way && run.k == k && run.signed == signed);
        let told = |signed: bool| {
            of(signed).map_or_else(String::new, |run| {
                let score = run.score;
                format!(
                    "{}: {} correct, {} FP, {} FN: {:.2}",
                    hash(signed),
                    score.correct,
                    score.false_positives,
                    score.false_negatives,
                    score.ratio()
                )
            })
        };
        let ours = of(true).map_or(0.0, |run| run.score.ratio());
        findings.compare(
            &format!("Table 9: {way}, k = {k}"),
            &format!("{correct} correct, {positives} FP, {negatives} FN: {score:.2}"),
            format!("{}; {}", told(true), told(false)),
            if (ours - score).abs() < 0.15 { Agreement::Yes } else if ours > 1.0 { Agreement::Partly } else { Agreement::No },
            "the documents have about the paper's lengths, not its bytes; a sum of signed hashes cancels, and whether two \
             sums lie within 30 % of each other is in part chance",
        );
    }
    let winner = signed[0];
    findings.compare(
        "Table 9: the winner is 43B (0 modulo 25 over Soundex, stop words removed)",
        "43B at k = 40, and third at k = 4",
        format!(
            "{} at k = {}: {:.2}; unsigned {} at k = {}: {:.2}",
            winner.way,
            winner.k,
            winner.score.ratio(),
            unsigned[0].way,
            unsigned[0].k,
            unsigned[0].score.ratio()
        ),
        match (winner.way.to_string() == "43B", winner.k) {
            (true, 40) => Agreement::Yes,
            (true, _) => Agreement::Partly,
            _ => Agreement::No,
        },
        "see below for how much chance there is in being the first of 656",
    );
    let above = |signed: bool| runs.iter().filter(|run| run.signed == signed && run.score.ratio() > 1.0).count();
    findings.compare(
        "5: scores above 1.0",
        "104 of 672 (656 exist: way 13 has no characters)",
        format!("{} of 656 signed, {} of 656 unsigned", above(true), above(false)),
        if (50..=200).contains(&above(true)) { Agreement::Yes } else { Agreement::Partly },
        "unsigned sums grow with the length of the document: they say little more than its length, and do better at it",
    );
    let frequent = |signed: bool| {
        let mut counts = [0_usize; 15];
        runs.iter()
            .filter(|run| run.signed == signed && run.score.ratio() > 1.0)
            .for_each(|run| counts[usize::from(run.way.number)] += 1);
        counts
    };
    let (by_signed, by_unsigned) = (frequent(true), frequent(false));
    let mut panel =
        Panel::new("runs with a score above 1.0", Axis::linear("method").between(0.5, 14.5), Axis::linear("runs"));
    let points = |counts: [usize; 15]| (1..15).map(move |way| (f64::from(way), counts[way as usize] as f64));
    panel.add("signed", Style::Bars, points(by_signed));
    panel.add("unsigned", Style::Bars, points(by_unsigned));
    findings.figures.push(Figure::new("similarity-index-ways", "Methods in the best results (Fig. 3)", vec![panel]));
    let mut order: Vec<usize> = (1..15).collect();
    order.sort_by_key(|way| std::cmp::Reverse(by_signed[*way]));
    let leading: Vec<String> = order.iter().take(4).map(|way| format!("{way} ({})", by_signed[*way])).collect();
    findings.compare(
        "Fig. 3: most frequent methods above 1.0",
        "9 (23), 3 (21), 7 (21)",
        format!("{}; of the paper's: 9 ({}), 3 ({}), 7 ({})", leading.join(", "), by_signed[9], by_signed[3], by_signed[7]),
        if order[..4].iter().filter(|way| [3, 7, 9].contains(way)).count() >= 2 { Agreement::Yes } else { Agreement::Partly },
        "sums of the highest, of 0 modulo 25 and of the lowest hashes; a Rabin hash of hashes is as good as a random number",
    );
    let top = &signed[..10];
    let of_eight = top.iter().filter(|run| run.k == 8).count();
    findings.compare(
        "5.1: none of the top ten has k = 8",
        "none",
        format!("{of_eight} of the top ten signed runs"),
        Agreement::of(of_eight == 0),
        "nothing in the method sets 8 apart",
    );
    let without_stop_words = signed[..5].iter().filter(|run| run.way.to_string().ends_with('B')).count();
    findings.compare(
        "5.1: four of the top five use variation B",
        "4 of 5",
        format!("{without_stop_words} of 5"),
        if without_stop_words >= 3 { Agreement::Yes } else { Agreement::Partly },
        "stop words removed, repeated words kept",
    );
}

fn hash(signed: bool) -> &'static str {
    if signed { "signed" } else { "unsigned" }
}

/// Tables 10 to 24: the zones of the paper's five best, its cell and ours.
fn zones(runs: &[Run], findings: &mut Findings) {
    let mut table = Table::new(
        "similarity-index-zones",
        "Hits in the zones of the paper's five best (Tables 10 to 24): its row, ours signed, ours unsigned",
        &["way", "k", "query", "the paper", "signed", "unsigned"],
    );
    let (mut equal, mut all) = ([0, 0], 0);
    for ((way, k, ..), printed) in BEST.into_iter().zip(PRINTED) {
        let indexes = |signed: bool| {
            let run = runs.iter().find(|run| run.way.to_string() == way && run.k == k && run.signed == signed);
            run.map_or(&[][..], |run| &run.indexes)
        };
        for (zone, printed) in ZONES.iter().zip(printed) {
            for (a, expected) in zone.clone().zip(printed.split(' ')) {
                let row = |signed: bool| -> String {
                    zone.clone().map(|b| if hits(indexes(signed), a, b) { '1' } else { '0' }).collect()
                };
                for (place, signed) in [true, false].into_iter().enumerate() {
                    equal[place] +=
                        row(signed).chars().zip(expected.chars()).filter(|(ours, theirs)| ours == theirs).count();
                }
                all += expected.len();
                table.row([
                    way.into(),
                    k.into(),
                    NAMES[a].into(),
                    expected.into(),
                    row(true).into(),
                    row(false).into(),
                ]);
            }
        }
    }
    findings.tables.push(table);
    let [signed, unsigned] = equal.map(|equal| share(equal, all));
    findings.compare(
        "Tables 10 to 24: hits within the zones",
        "15 matrices, 205 cells",
        format!("{} of the cells are the same signed, {} unsigned", per_cent(signed), per_cent(unsigned)),
        if signed > 0.9 {
            Agreement::Yes
        } else if signed.max(unsigned) > 0.7 {
            Agreement::Partly
        } else {
            Agreement::No
        },
        "cell by cell in the table below",
    );
}

/// How much of a score is chance: the same documents with other letters have other hashes, and nothing else is different.
fn ciphers(setting: &Setting<'_>, documents: &[Document], findings: &mut Findings) -> Result<(), Error> {
    let count = setting.either(20, 100);
    let mut table = Table::new(
        "similarity-index-ciphers",
        "Scores of the same documents with their letters exchanged",
        &["way", "k", "hash", "ciphers", "least", "median", "greatest", "own letters"],
    );
    let mut told = Vec::new();
    for (way, k, signed) in
        [("23A", 40, true), ("3A", 16, true), ("29A", 40, true), ("23A", 40, false), ("21A", 40, false)]
    {
        setting.step("exchanging letters", told.len(), 5)?;
        let parsed = Way::parse(way).ok_or_else(|| Error::Method(format!("no way {way}")))?;
        let own = index_all(parsed, (k, 100), signed, documents)?.score.ratio();
        let mut scores = each(count, |number| {
            let mut dice = Dice::of(setting.seed, 40_000 + number as u64);
            let mut letters: Vec<(u64, u8)> = (b'a'..=b'z').map(|letter| (dice.next(), letter)).collect();
            letters.sort_unstable();
            let exchanged = |byte: &u8| match byte {
                b'a'..=b'z' => letters[usize::from(byte - b'a')].1,
                b'A'..=b'Z' => letters[usize::from(byte - b'A')].1.to_ascii_uppercase(),
                other => *other,
            };
            let exchange = |document: &Document| Document {
                path: document.path.clone(),
                bytes: document.bytes.iter().map(exchanged).collect(),
            };
            let documents: Vec<Document> = documents.iter().map(exchange).collect();
            Ok(index_all(parsed, (k, 100), signed, &documents)?.score.ratio())
        })?;
        scores.sort_unstable_by(f64::total_cmp);
        let (least, median, greatest) = (scores[0], scores[count / 2], scores[count - 1]);
        table.row([
            way.into(),
            k.into(),
            hash(signed).into(),
            count.into(),
            least.into(),
            median.into(),
            greatest.into(),
            own.into(),
        ]);
        told.push(format!("{way} k = {k} {}: {least:.2} to {greatest:.2}, median {median:.2}", hash(signed)));
    }
    findings.tables.push(table);
    findings.compare(
        "how much of a score is chance (not in the paper)",
        "none",
        told.join("; "),
        Agreement::Open,
        "the same documents with their letters exchanged have the same words, repeats and lengths, and other hashes: what a \
         score differs by is chance, and the best of 656 such draws is no proof of a method",
    );
    Ok(())
}

/// The paper's future work: false positives in a large collection.
fn large(setting: &Setting<'_>, findings: &mut Findings) -> Result<(), Error> {
    let documents = collection(setting, setting.either(4000, 10_000))?;
    findings.fact("large collection", format!("{} documents", documents.len()));
    let mut table = Table::new(
        "similarity-index-large",
        "A query in a large collection",
        &[
            "way",
            "k",
            "hash",
            "documents",
            "hits a query",
            "share of the collection",
            "of the hits really alike",
            "false positives a query",
            "of the relatives found",
        ],
    );
    let relatives = crate::relatives::closest_pairs(&documents);
    let alike: Vec<(usize, usize)> =
        relatives.into_iter().filter(|&(a, b)| jaccard(&documents[a].bytes, &documents[b].bytes, 20) >= 0.7).collect();
    let mut told = Vec::new();
    for (number, (way, k, signed)) in
        [("43B", 40, true), ("43B", 40, false), ("47C", 40, true), ("3B", 16, true), ("21A", 40, false)]
            .into_iter()
            .enumerate()
    {
        setting.step("asking a large collection", number, 5)?;
        let parsed = Way::parse(way).ok_or_else(|| Error::Method(format!("no way {way}")))?;
        let method = index_method(parsed, (k, 100), signed)?;
        let indexes: Vec<Option<i128>> = each(documents.len(), |place| {
            Ok(sign(&mut signer(&method), &documents[place].bytes).ok().and_then(|signature| signature.index))
        })?;
        let mut sorted: Vec<(i128, usize)> =
            indexes.iter().enumerate().filter_map(|(at, index)| Some(((*index)?, at))).collect();
        sorted.sort_unstable();
        let mut dice = Dice::of(setting.seed, number as u64);
        let (mut counts, mut sampled, mut right) = (Vec::new(), 0, 0);
        let every = sorted.len().div_ceil(SAMPLE).max(1);
        for (place, &(query, at)) in sorted.iter().enumerate() {
            let first = sorted.partition_point(|(other, _)| *other < query && !is_hit(query, *other));
            let after = first + sorted[first..].partition_point(|(other, _)| is_hit(query, *other));
            counts.push((after - first).saturating_sub(1) as f64);
            // A few hits are looked at: whether the documents are alike at all.
            if after - first > 1 && place % every == 0 {
                let other = sorted[first + dice.below(after - first)].1;
                if other != at {
                    sampled += 1;
                    right += usize::from(jaccard(&documents[at].bytes, &documents[other].bytes, 20) >= 0.1);
                }
            }
        }
        let found = alike
            .iter()
            .filter(|(a, b)| matches!((indexes[*a], indexes[*b]), (Some(x), Some(y)) if is_hit(x, y)))
            .count();
        table.row([
            way.into(),
            k.into(),
            hash(signed).into(),
            sorted.len().into(),
            mean(&counts).into(),
            (mean(&counts) / sorted.len().max(1) as f64).into(),
            share(right, sampled).into(),
            (mean(&counts) * (1.0 - share(right, sampled))).into(),
            share(found, alike.len()).into(),
        ]);
        told.push((
            format!("{way} {}", hash(signed)),
            mean(&counts),
            mean(&counts) / sorted.len().max(1) as f64,
            share(right, sampled),
            share(found, alike.len()),
        ));
    }
    findings.tables.push(table);
    let (_, hits, of_all, right, recall) = &told[0];
    findings.compare(
        "6.1: a much larger collection (future work)",
        "\"to really determine the robustness … a much larger collection\"",
        format!("{} documents, 43B, k = 40: {hits:.0} hits a query, {} of the collection; {} of a sample of them are alike at all (10 % of their windows of 20 bytes), so that {:.0} are false positives; {} of the pairs that are 70 % alike are found", documents.len(), per_cent(*of_all), per_cent(*right), hits * (1.0 - right), per_cent(*recall)),
        Agreement::No,
        "one number cannot tell thousands of documents apart: most hits are of about the same length and nothing else. It \
         stays a cheap source of candidates that another method verifies",
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_656_runs_and_45_cells_that_should_be_hits() {
        assert_eq!(Way::all().count() * RUNS.len(), 656);
        let cells = (0..15).flat_map(|a| (0..15).map(move |b| (a, b)));
        assert_eq!(cells.filter(|&(a, b)| is_positive(a, b)).count(), 45);
    }

    #[test]
    fn the_scores_of_the_paper_follow_from_its_counts() {
        for (way, _, false_positives, false_negatives, correct, score) in BEST {
            let found = Score { correct, false_positives, false_negatives }.ratio();
            // 21B is printed as 1.94 and comes to 31 / 16.
            assert!((found - score).abs() < 0.006, "{way} {found}");
            assert_eq!(correct + false_negatives, 45, "{way}");
        }
    }

    #[test]
    fn the_printed_matrices_have_the_printed_counts() {
        for ((way, k, _, false_negatives, ..), zones) in BEST.into_iter().zip(PRINTED) {
            let zeros: usize = zones.iter().map(|zone| zone.matches('0').count()).sum();
            assert_eq!(zeros, false_negatives, "{way} {k}");
        }
    }

    #[test]
    fn a_matrix_of_documents_that_are_all_alike_has_hits_everywhere() {
        let score = Score::of(&[Some(100); 15]);
        assert_eq!(score, Score { correct: 45, false_positives: 180, false_negatives: 0 });
        let apart: Vec<Option<i128>> = (0..15).map(|place| Some(1_i128 << (3 * place))).collect();
        assert_eq!(Score::of(&apart), Score { correct: 15, false_positives: 0, false_negatives: 30 });
    }
}
