//! `window`: the influence of the window's width on similarity (the paper's Fig. 1 and 2).

use crate::document::Document;
use crate::error::Error;
use crate::figure::{Axis, Figure, Panel, Style};
use crate::findings::{Agreement, Findings, Table};
use crate::kdd2009::PAPER;
use crate::kdd2009::edits::{Edit, Spread};
use crate::kdd2009::research::{Algorithm, Edited, documents, edit};
use crate::setting::Setting;
use crate::statistics::{mean, per_cent};

const WIDTHS: [usize; 7] = [5, 10, 20, 40, 60, 80, 100];
/// The widths for which the true similarity is computed too.
const EXACT: [usize; 3] = [5, 20, 100];

pub(crate) fn run(setting: &Setting<'_>) -> Result<Findings, Error> {
    let mut findings =
        Findings::new("What the width of the window does", &format!("{PAPER}, sections 3 and 4.1, Fig. 1 and 2."));
    let documents = documents(setting, &mut findings)?;
    let mut algorithms = Vec::new();
    for (kind, n) in [("mod", 100), ("bsw", 400)] {
        for width in WIDTHS {
            algorithms.push(Algorithm::new(kind, width, n)?);
        }
    }
    let edited = edit(setting, &documents, &algorithms, &EXACT, (Edit::InsertA, Spread::Random))?;
    lengths(&documents, &mut findings);
    draw(&edited, &mut findings);
    compare(&edited, &mut findings);
    let bytes: f64 = mean(&documents.iter().map(|document| document.bytes.len() as f64).collect::<Vec<_>>());
    // An edit ends w - 1 windows and makes w + 1 new ones: (L - iw) / (L + iw) of L windows stay.
    let ratio = 0.66;
    let length = 50.0 * 100.0 * (1.0 + ratio) / (1.0 - ratio);
    findings.remark(format!(
        "i edits end about i·w windows of a document and make as many new ones: of L windows, (L − i·w) / (L + i·w) stay in common. At w = 100 and i = 50 that is {} for a document of our mean length ({bytes:.0} bytes), and the \
         paper's 66 % is what a document of {length:.0} bytes would have: most of its documents must be shorter than its mean of 50 KB.",
        per_cent((bytes - 5000.0) / (bytes + 5000.0)),
    ));
    Ok(findings)
}

/// The paper's Fig. 1.
fn lengths(documents: &[Document], findings: &mut Findings) {
    let kibibytes = |document: &Document| document.bytes.len() as f64 / 1024.0;
    let count = documents.len() as f64;
    let mut panel = Panel::new(
        "documents of RC_orig",
        Axis::linear("document, by length").between(0.0, count),
        Axis::linear("length, KiB"),
    );
    panel.add(
        "here",
        Style::Curve,
        documents.iter().enumerate().map(|(number, document)| (number as f64, kibibytes(document))),
    );
    panel.add("the paper's ends", Style::Dots, [(0.0, 9.0), (count - 1.0, 540.0)]);
    findings.figures.push(Figure::new("window-lengths", "Lengths of the documents (Fig. 1)", vec![panel]));
    let ends = [documents.first(), documents.last()].map(|document| document.map_or(0.0, kibibytes));
    findings.compare(
        "Fig. 1: documents of very different lengths",
        "9 to 540 KB",
        "both ends within 25 % of the paper's",
        format!("{:.0} to {:.0} KiB", ends[0], ends[1]),
        Agreement::of((ends[0] / 9.0 - 1.0).abs() <= 0.25 && (ends[1] / 540.0 - 1.0).abs() <= 0.25),
        "chosen for it, evenly over the ranks of a larger collection",
    );
}

fn draw(edited: &Edited, findings: &mut Findings) {
    let mut table = Table::new(
        "window",
        "Mean similarity by width and number of inserted \"a\"",
        &["edits", "w", "Mod_100", "BSW_400", "exact"],
    );
    for (place, step) in edited.steps.iter().enumerate() {
        for (number, width) in WIDTHS.iter().enumerate() {
            let found = |algorithm: usize| mean(&edited.found[place][algorithm]);
            table.row([
                (*step).into(),
                (*width).into(),
                found(number).into(),
                found(WIDTHS.len() + number).into(),
                exact_at(*width).map(|number| mean(&edited.truth[place][number])).into(),
            ]);
        }
    }
    findings.tables.push(table);
    let mut panels = Vec::new();
    for (title, first) in [("(a) Mod_100", 0), ("(b) BSW_400", WIDTHS.len())] {
        let y = Axis::linear("mean similarity, %").between(50.0, 100.0);
        let mut panel = Panel::new(title, Axis::linear("number of \"a\" inserted").between(0.0, 50.0), y);
        for (number, width) in WIDTHS.iter().enumerate() {
            let points = edited.curve(first + number).into_iter().map(|(step, found)| (step, 100.0 * found));
            panel.add(&format!("w = {width}"), Style::Line, points);
        }
        panels.push(panel);
    }
    findings.figures.push(Figure::new("window", "Impact of the window (Fig. 2): mean similarity in RC_a", panels));
}

/// The position of a width among those with a true similarity.
fn exact_at(width: usize) -> Option<usize> {
    EXACT.iter().position(|known| *known == width)
}

fn compare(edited: &Edited, findings: &mut Findings) {
    let last = |algorithm: usize| mean(edited.at(50, algorithm));
    let exact = |number: usize| exact_at(WIDTHS[number]).map_or(f64::NAN, |exact| mean(edited.truth_at(50, exact)));
    let (widest, narrowest) = (WIDTHS.len() - 1, 0);
    findings.compare(
        "Fig. 2: Mod_100 at w = 100, 50 edits",
        "66 %",
        "within 5 points of the paper's 66 %",
        format!("{} (exact: {})", per_cent(last(widest)), per_cent(exact(widest))),
        Agreement::of((last(widest) - 0.66).abs() <= 0.05),
        "the documents are longer than the paper's (see Remarks)",
    );
    findings.compare(
        "Fig. 2: Mod_100 at w = 5, 50 edits",
        "97 %",
        "within 5 points of the paper's 97 %",
        format!("{} (exact: {})", per_cent(last(narrowest)), per_cent(exact(narrowest))),
        Agreement::of((last(narrowest) - 0.97).abs() <= 0.05),
        "narrow windows hardly notice",
    );
    // Every step has edits of its own, so that one more edit may do less: what counts is five more.
    let rise = |least: f64| {
        let rises = (0..2 * WIDTHS.len()).flat_map(|number| {
            let curve = edited.curve(number);
            let later = move |(place, (from, before)): (usize, (f64, f64))| {
                let later: Vec<f64> = curve[place..].iter().filter(|at| at.0 - from >= least).map(|at| at.1).collect();
                later.into_iter().map(move |after| after - before)
            };
            edited.curve(number).into_iter().enumerate().flat_map(later).collect::<Vec<f64>>()
        });
        rises.fold(0.0, f64::max)
    };
    findings.compare(
        "similarity falls with the number of edits",
        "for every w, both algorithms",
        "with five edits more no curve is higher by half a point",
        format!(
            "at w = 20 from {} to {}; with five edits more no curve is higher by more than {}, with one more by {}",
            per_cent(edited.curve(2)[0].1),
            per_cent(last(2)),
            per_cent(rise(5.0)),
            per_cent(rise(1.0))
        ),
        Agreement::of(rise(5.0) < 0.005),
        "every step has edits of its own, and BSW_400 has few samples",
    );
    let ordered = |first: usize| (1..WIDTHS.len()).all(|number| last(first + number) <= last(first + number - 1));
    let describe = |first: usize| {
        let all =
            WIDTHS.iter().enumerate().map(|(number, width)| format!("w = {width}: {}", per_cent(last(first + number))));
        all.collect::<Vec<_>>().join(", ")
    };
    findings.compare(
        "the wider the window, the lower the similarity",
        "Mod_100 and BSW_400 alike",
        "lower at each wider window, after 50 edits, both algorithms",
        format!("Mod_100: {}; BSW_400: {}", describe(0), describe(WIDTHS.len())),
        Agreement::of(ordered(0) && ordered(WIDTHS.len())),
        "an edit ends as many windows as the window has bytes",
    );
    let apart = |number: usize| Some((last(number) - mean(edited.truth_at(50, exact_at(WIDTHS[number])?))).abs());
    let worst = (0..WIDTHS.len()).filter_map(apart).fold(0.0, f64::max);
    findings.compare(
        "Mod estimates the similarity of all windows (Broder's theorem)",
        "unbiased",
        "at every window within 1 point of the exact similarity",
        format!("at 50 edits off by {} at most", per_cent(worst)),
        Agreement::of(worst < 0.01),
        "exact: the sets of all windows of both documents",
    );
}
