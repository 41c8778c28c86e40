//! The scores of all runs: the paper's Table 9 and Figure 3.

use std::cmp::Reverse;

use crate::figure::{Axis, Figure, Panel, Style};
use crate::findings::{Agreement, Cell, Findings, Table};
use crate::similarity_index::paper::BEST;
use crate::similarity_index::score::{Run, hash};

/// Adds the tables, the figure and the comparisons of scores.
pub(super) fn add(runs: &[Run], findings: &mut Findings) {
    let (signed, unsigned) = (by_score(runs, true), by_score(runs, false));
    tabulate_all(runs, findings);
    tabulate_best(&signed, &unsigned, findings);
    compare_published(runs, findings);
    compare_winner(signed[0], unsigned[0], findings);
    compare_good(runs, findings);
    compare_ways(runs, findings);
    compare_top(&signed, findings);
}

/// The runs over signed or unsigned hashes, the best first.
fn by_score(runs: &[Run], signed: bool) -> Vec<&Run> {
    let mut best: Vec<&Run> = runs.iter().filter(|run| run.signed == signed).collect();
    best.sort_by(|a, b| b.score.ratio().total_cmp(&a.score.ratio()));
    best
}

fn tabulate_all(runs: &[Run], findings: &mut Findings) {
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
}

fn tabulate_best(signed: &[&Run], unsigned: &[&Run], findings: &mut Findings) {
    let mut table = Table::new(
        "similarity-index-best",
        "The best ten, signed and unsigned (Table 9)",
        &["rank", "signed", "k", "score", "unsigned", "k", "score"],
    );
    for rank in 0..10 {
        let cells = |run: &Run| [run.way.to_string().into(), Cell::from(run.k), run.score.ratio().into()];
        let [a, b, c] = cells(signed[rank]);
        let [d, e, f] = cells(unsigned[rank]);
        table.row([(rank + 1).into(), a, b, c, d, e, f]);
    }
    findings.tables.push(table);
}

/// Compares the paper's five best runs with ours of the same formula and k.
fn compare_published(runs: &[Run], findings: &mut Findings) {
    for (way, k, positives, negatives, correct, score) in BEST {
        let of =
            |signed: bool| runs.iter().find(|run| run.way.to_string() == way && run.k == k && run.signed == signed);
        let describe = |signed: bool| of(signed).map_or_else(String::new, describe);
        let ours = of(true).map_or(0.0, |run| run.score.ratio());
        findings.compare(
            &format!("Table 9: {way}, k = {k}"),
            &format!("{correct} correct, {positives} FP, {negatives} FN: {score:.2}"),
            "the score of signed hashes within 0.15 of the paper's",
            format!("{}; {}", describe(true), describe(false)),
            Agreement::of((ours - score).abs() <= 0.15),
            "not the paper's bytes; signed hashes cancel, so it is partly chance if two sums are within 30 %",
        );
    }
}

fn describe(run: &Run) -> String {
    let score = run.score;
    format!(
        "{}: {} correct, {} FP, {} FN: {:.2}",
        hash(run.signed),
        score.correct,
        score.false_positives,
        score.false_negatives,
        score.ratio()
    )
}

fn compare_winner(winner: &Run, unsigned: &Run, findings: &mut Findings) {
    findings.compare(
        "Table 9: the winner is 43B (0 modulo 25 over Soundex, stop words removed)",
        "43B at k = 40, and third at k = 4",
        "43B at k = 40 has the best score of signed hashes",
        format!(
            "{} at k = {}: {:.2}; unsigned {} at k = {}: {:.2}",
            winner.way,
            winner.k,
            winner.score.ratio(),
            unsigned.way,
            unsigned.k,
            unsigned.score.ratio()
        ),
        Agreement::of(winner.way.to_string() == "43B" && winner.k == 40),
        "chance, see below",
    );
}

/// Compares the number of runs with a score above 1.
fn compare_good(runs: &[Run], findings: &mut Findings) {
    let above = |signed: bool| runs.iter().filter(|run| run.signed == signed && run.score.ratio() > 1.0).count();
    findings.compare(
        "5: scores above 1.0",
        "104 of 672 (656 exist: way 13 has no characters)",
        "within 25 % of 104, signed",
        format!("{} of 656 signed, {} of 656 unsigned", above(true), above(false)),
        Agreement::of((78..=130).contains(&above(true))),
        "unsigned sums say little but the length of the document",
    );
}

/// Compares the ways that have most runs with a score above 1.
fn compare_ways(runs: &[Run], findings: &mut Findings) {
    let (by_signed, by_unsigned) = (good_by_way(runs, true), good_by_way(runs, false));
    draw_ways(by_signed, by_unsigned, findings);
    let mut order: Vec<usize> = (1..15).collect();
    order.sort_by_key(|way| Reverse(by_signed[*way]));
    let leading: Vec<String> = order.iter().take(4).map(|way| format!("{way} ({})", by_signed[*way])).collect();
    findings.compare(
        "Fig. 3: most frequent methods above 1.0",
        "9 (23), 3 (21), 7 (21)",
        "the same three lead, signed",
        format!(
            "{}; of the paper's: 9 ({}), 3 ({}), 7 ({})",
            leading.join(", "),
            by_signed[9],
            by_signed[3],
            by_signed[7]
        ),
        Agreement::of([3, 7, 9].iter().all(|way| order[..3].contains(way))),
        "sums of the highest, of 0 modulo 25 and of the lowest hashes; a Rabin hash of hashes is a random number",
    );
}

/// The number of runs with a score above 1, by the number of the way.
fn good_by_way(runs: &[Run], signed: bool) -> [usize; 15] {
    let mut counts = [0; 15];
    let good = runs.iter().filter(|run| run.signed == signed && run.score.ratio() > 1.0);
    good.for_each(|run| counts[usize::from(run.way.number)] += 1);
    counts
}

fn draw_ways(by_signed: [usize; 15], by_unsigned: [usize; 15], findings: &mut Findings) {
    let mut panel =
        Panel::new("runs with a score above 1.0", Axis::linear("method").between(0.5, 14.5), Axis::linear("runs"));
    let points = |counts: [usize; 15]| (1..15).map(move |way| (f64::from(way), counts[way as usize] as f64));
    panel.add("signed", Style::Bars, points(by_signed));
    panel.add("unsigned", Style::Bars, points(by_unsigned));
    findings.figures.push(Figure::new("similarity-index-ways", "Methods in the best results (Fig. 3)", vec![panel]));
}

fn compare_top(signed: &[&Run], findings: &mut Findings) {
    let top = &signed[..10];
    let of_eight = top.iter().filter(|run| run.k == 8).count();
    findings.compare(
        "5.1: none of the top ten has k = 8",
        "none",
        "none of the signed runs",
        format!("{of_eight} of the top ten signed runs"),
        Agreement::of(of_eight == 0),
        "nothing in the method sets 8 apart",
    );
    let without_stop_words = signed[..5].iter().filter(|run| run.way.to_string().ends_with('B')).count();
    findings.compare(
        "5.1: four of the top five use variation B",
        "4 of 5",
        "at least four of the signed runs",
        format!("{without_stop_words} of 5"),
        Agreement::of(without_stop_words >= 4),
        "stop words removed, repeated words kept",
    );
}
