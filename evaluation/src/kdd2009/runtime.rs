//! `runtime`: the time for a document of 500 KB (the paper's Fig. 11).

use crate::corpus::{Selection, load};
use crate::document::Document;
use crate::error::Error;
use crate::figure::{Axis, Figure, Panel, Style};
use crate::findings::{Agreement, Findings, Table};
use crate::kdd2009::PAPER;
use crate::kdd2009::research::Algorithm;
use crate::machine::ProcessorWatch;
use crate::methods::{sign, signer};
use crate::setting::Setting;

const BYTES: usize = 500_000;
const WIDTHS: [usize; 5] = [20, 40, 60, 80, 100];
const KINDS: [(&str, [usize; 3]); 4] =
    [("mod", [100, 500, 1000]), ("min", [10, 50, 100]), ("bsw", [100, 500, 1000]), ("sketch", [10, 50, 100])];

/// Algorithms by name, each with its milliseconds against the width of the window.
type Curves = Vec<(String, Vec<(f64, f64)>)>;

pub(crate) fn run(setting: &Setting<'_>) -> Result<Findings, Error> {
    let selection =
        Selection { bytes_min: 1000, bytes_max: 64 << 20, documents_max: 4000, total_bytes_max: 32 << 20, text: false };
    let documents = load(setting, &selection, 400, 4000)?;
    let text = text_of(&documents);
    let mut findings = Findings::new("How long 500 KB take", &format!("{PAPER}, section 6, Fig. 11."));
    findings.fact("corpus", setting.corpus_name());
    findings.fact("document", format!("{BYTES} bytes of it"));
    findings.fact("time", "of the processor, on one thread");
    let repeats = setting.either(40, 300);
    findings.fact("each figure", format!("the least of {repeats} runs; all algorithms take turns"));
    let curves = curves(setting, &text, repeats, &mut findings)?;
    let most = curves.iter().flat_map(|(_, curve)| curve).map(|point| point.1).fold(0.0, f64::max);
    let x = || Axis::linear("window, bytes").between(15.0, 105.0);
    let mut panel = Panel::new(
        "all four algorithms",
        x(),
        Axis::linear("milliseconds of processor time").between(0.0, most.max(1.0)),
    );
    for name in ["Mod_500", "Min_100", "BSW_500", "Sketch_10", "Sketch_50", "Sketch_100"] {
        let points = curves.iter().filter(|(known, _)| known == name).flat_map(|(_, curve)| curve.iter().copied());
        panel.add(name, Style::Line, points);
    }
    findings.figures.push(Figure::new("runtime", "Processing time of 500 KB (Fig. 11)", vec![panel]));
    compare(&curves, &mut findings);
    Ok(findings)
}

/// 500 KB of the texts, one after the other, as often as it takes.
pub(crate) fn text_of(documents: &[Document]) -> Vec<u8> {
    let texts = documents.iter().filter(|document| !document.bytes.contains(&0));
    let mut text: Vec<u8> = texts.flat_map(|document| document.bytes.iter().copied()).take(BYTES).collect();
    if text.is_empty() {
        text.push(b' ');
    }
    while text.len() < BYTES {
        text.extend_from_within(..text.len().min(BYTES - text.len()));
    }
    text
}

/// Milliseconds of each algorithm against the width of the window, and the table of all.
fn curves(setting: &Setting<'_>, text: &[u8], repeats: usize, findings: &mut Findings) -> Result<Curves, Error> {
    let mut algorithms = Vec::new();
    for (kind, counts) in KINDS {
        for n in counts {
            for width in WIDTHS {
                algorithms.push((Algorithm::new(kind, width, n)?, n, width));
            }
        }
    }
    let mut signers: Vec<_> = algorithms.iter().map(|(algorithm, ..)| signer(&algorithm.method)).collect();
    let (mut least, mut features) = (vec![f64::INFINITY; signers.len()], vec![0; signers.len()]);
    // In turns, since a busy machine is so for seconds; it makes a run longer, never shorter.
    for round in 0..=repeats {
        setting.step("timing", round, repeats)?;
        for ((signer, least), features) in signers.iter_mut().zip(&mut least).zip(&mut features) {
            let watch = ProcessorWatch::start();
            *features = sign(signer, text)?.features.len();
            // The first round warms up.
            if round > 0 {
                *least = least.min(watch.seconds() * 1000.0);
            }
        }
    }
    let mut table =
        Table::new("runtime", "Milliseconds for 500 KB", &["algorithm", "n", "w", "milliseconds", "MB/s", "features"]);
    let mut curves = Curves::new();
    for (((algorithm, n, width), least), features) in algorithms.into_iter().zip(least).zip(features) {
        table.row([
            algorithm.name.clone().into(),
            n.into(),
            width.into(),
            least.into(),
            (BYTES as f64 / 1e3 / least).into(),
            features.into(),
        ]);
        match curves.last_mut() {
            Some((name, curve)) if *name == algorithm.name => curve.push((width as f64, least)),
            _ => curves.push((algorithm.name, vec![(width as f64, least)])),
        }
    }
    findings.tables.push(table);
    Ok(curves)
}

fn compare(curves: &Curves, findings: &mut Findings) {
    let curve = |name: &str| curves.iter().find(|(known, _)| known == name).map_or(&[][..], |(_, curve)| curve);
    let ends = |name: &str| (curve(name)[0].1, curve(name)[WIDTHS.len() - 1].1);
    let describe = |name: &str| format!("{name} {:.2} and {:.2} ms", ends(name).0, ends(name).1);
    let growth = ["Mod_500", "Min_100", "BSW_500"].map(|name| ends(name).1 / ends(name).0);
    findings.compare(
        "Mod, Min and BSW do not depend on the window",
        "independent of w",
        "at w = 100 less than 1.2 times the time at w = 20",
        format!("w = 20 and 100: {}, {}, {}", describe("Mod_500"), describe("Min_100"), describe("BSW_500")),
        Agreement::of(growth.iter().all(|growth| *growth < 1.2)),
        "the fingerprint is rolled: a byte goes in and one goes out",
    );
    let (ten, hundred) = (ends("Sketch_10").0, ends("Sketch_100").0);
    findings.compare(
        "Sketch grows with n",
        "n hash functions, \"significantly impacts its speed\"",
        "100 take more than 1.5 times the time of 10",
        format!("w = 20: Sketch_10 {ten:.2} ms, Sketch_100 {hundred:.2} ms"),
        Agreement::of(hundred > 1.5 * ten),
        "a window names the place that it may win (Ertl's SuperMinHash), at about the cost of one function",
    );
    let (narrow, wide) = ends("Sketch_100");
    findings.compare(
        "Sketch grows with w",
        "a larger window has a significant overhead",
        "w = 100 takes more than 1.3 times the time of w = 20",
        describe("Sketch_100"),
        Agreement::of(wide > 1.3 * narrow),
        "the functions mix one rolling fingerprint; the paper hashes the window n times (as sketch-functions does)",
    );
    let slowest = ["Mod_500", "Min_100", "BSW_500"].map(|name| ends(name).0).into_iter().fold(0.0, f64::max);
    findings.compare(
        "Mod, Min and BSW cost less than Sketch",
        "lower",
        "at w = 20 each takes less time than Sketch_100",
        format!("{:.1} times less than Sketch_100", hundred / slowest),
        Agreement::of(slowest < hundred),
        "one function against n in the paper; SuperMinHash costs about one",
    );
}
