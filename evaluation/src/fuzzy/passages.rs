//! The use case of plagiarism: edited passages are planted among others and searched for.

use std::collections::{HashMap, HashSet};

use cognate_fingerprint::{Method, Signature, cosine_of_features};

use crate::document::Document;
use crate::error::Error;
use crate::figure::{Axis, Figure, Panel, Style};
use crate::findings::{Agreement, Findings, Table};
use crate::fuzzy::fingerprints::{DEFAULT, OTHERS, fingerprints, name};
use crate::fuzzy::vectors::{SIMILAR, counted};
use crate::methods::method;
use crate::rng::Rng;
use crate::setting::Setting;
use crate::statistics::{per_cent, share};

/// The percentages of a passage's words that are replaced.
const EDITS: [usize; 6] = [0, 5, 10, 20, 30, 50];

/// The results of one variant, each with the percentage of words that was replaced.
type Curve = Vec<(f64, Planted)>;

/// Plants edited passages of some documents among others, searches for them, and verifies the candidates by cosine similarity.
pub(super) fn passages(setting: &Setting<'_>, documents: &[Document], findings: &mut Findings) -> Result<(), Error> {
    let all = split(documents, setting.either(6000, 40_000));
    let planted = all.len().min(setting.either(400, 2000));
    if planted < 20 {
        findings.remark("Too few passages of 150 words for the experiment with planted passages.");
        return Ok(());
    }
    let mut curves = Vec::new();
    for param in [DEFAULT, OTHERS[0], OTHERS[1]] {
        let method = method("fuzzy", param)?;
        let known = fingerprints(&method, &all.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
        let mut curve = Curve::new();
        for edits in EDITS {
            curve.push((edits as f64, plant(setting, &method, (&all, &known), planted, edits)?));
        }
        curves.push((name(param), curve));
    }
    tabulate(&curves, planted, findings);
    draw(&curves, planted, findings);
    compare(&curves, planted, findings);
    Ok(())
}

/// About `most` different passages of 150 words.
fn split(documents: &[Document], most: usize) -> Vec<Vec<u8>> {
    let of_document = |document: &Document| -> Vec<Vec<u8>> {
        let words: Vec<&[u8]> = document.bytes.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
        words.chunks_exact(150).map(|passage| passage.join(&b' ')).collect()
    };
    let mut all: Vec<Vec<u8>> = documents.iter().flat_map(of_document).collect();
    let every = all.len().div_ceil(most).max(1);
    all = all.into_iter().step_by(every).collect();
    let mut seen = HashSet::new();
    all.retain(|passage| seen.insert(passage.clone()));
    all
}

fn tabulate(curves: &[(String, Curve)], planted: usize, findings: &mut Findings) {
    let mut table = Table::new(
        "fuzzy-passages",
        "Planted passages of 150 words, by the share of their words that was replaced",
        &[
            "parameters",
            "replaced",
            "passages",
            "candidates a passage",
            "found",
            "recall",
            "precision before",
            "precision verified",
        ],
    );
    for (name, curve) in curves {
        for (edits, found) in curve {
            table.row([
                name.as_str().into(),
                (edits / 100.0).into(),
                planted.into(),
                share(found.candidates, planted).into(),
                found.found.into(),
                share(found.found, planted).into(),
                share(found.right, found.candidates).into(),
                share(found.verified_right, found.verified).into(),
            ]);
        }
    }
    findings.tables.push(table);
}

fn draw(curves: &[(String, Curve)], planted: usize, findings: &mut Findings) {
    let mut panel = Panel::new(
        "planted passages",
        Axis::linear("words replaced, %").between(0.0, 50.0),
        Axis::linear("%").between(0.0, 100.0),
    );
    for (name, curve) in curves {
        let points = |of: &dyn Fn(&Planted) -> f64| {
            curve.iter().map(|(edits, found)| (*edits, 100.0 * of(found))).collect::<Vec<_>>()
        };
        panel.add(&format!("recall, {name}"), Style::Line, points(&|found| share(found.found, planted)));
        panel.add(
            &format!("precision verified, {name}"),
            Style::Dashed,
            points(&|found| share(found.verified_right, found.verified)),
        );
    }
    findings.figures.push(Figure::new("fuzzy-passages", "Planted and edited passages (3.1, plagiarism)", vec![panel]));
}

fn compare(curves: &[(String, Curve)], planted: usize, findings: &mut Findings) {
    let recalls = |curve: &[(f64, Planted)]| {
        let each = curve.iter().map(|(edits, found)| format!("{edits} %: {}", per_cent(share(found.found, planted))));
        each.collect::<Vec<_>>().join(", ")
    };
    let at_ten = |curve: &[(f64, Planted)]| share(curve[2].1.found, planted);
    findings.compare(
        "3.1: short passages, slightly modified, are discovered",
        "\"ideally suited to discover copied and slightly modified passages\"",
        "by default at least 80 % with 10 % of their words replaced",
        curves.iter().map(|(name, curve)| format!("{name}: recall by words replaced {}", recalls(curve))).collect::<Vec<_>>().join("; "),
        Agreement::of(at_ten(&curves[0].1) >= 0.8),
        "a passage of 150 words has a few words a class, so some replacements move it into other intervals; wider intervals find and propose more",
    );
    let unedited = &curves[0].1[0].1;
    let precision = share(unedited.verified_right, unedited.verified);
    findings.compare(
        "candidates are verified in the vector space",
        "in-depth analysis of all candidates",
        "by default at least 90 % of what is verified is right",
        format!(
            "precision {} before and {} after, of unedited passages under {}",
            per_cent(share(unedited.right, unedited.candidates)),
            per_cent(precision),
            curves[0].0
        ),
        Agreement::of(precision >= 0.9),
        "verified: a cosine of at least 0.5, the default of a scan; right: the source, or a passage as similar as it (0.8)",
    );
}

/// The results for planted passages.
#[derive(Clone, Copy, Default)]
struct Planted {
    found: usize,
    candidates: usize,
    right: usize,
    verified: usize,
    verified_right: usize,
}

/// Edits passages and looks for them among all.
fn plant(
    setting: &Setting<'_>,
    method: &Method,
    (all, known): (&[Vec<u8>], &[Signature]),
    count: usize,
    edits: usize,
) -> Result<Planted, Error> {
    let mut holders: HashMap<_, Vec<usize>> = HashMap::new();
    for (number, signature) in known.iter().enumerate() {
        signature.features.iter().for_each(|feature| holders.entry(feature.tag).or_default().push(number));
    }
    let mut rng = Rng::of(setting.seed, 900 + edits as u64);
    let chosen = rng.choose(count, all.len());
    let edited: Vec<Vec<u8>> = chosen.iter().map(|number| replaced(all, *number, edits, &mut rng)).collect();
    let queries = fingerprints(method, &edited.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
    let texts: Vec<&[u8]> = all.iter().chain(&edited).map(Vec::as_slice).collect();
    let counted = counted(&texts)?;
    let cosine = |a: usize, b: usize| cosine_of_features(&counted[a], &counted[b]).unwrap_or(0.0);
    let mut planted = Planted::default();
    for (place, (source, query)) in chosen.iter().zip(&queries).enumerate() {
        let met: HashSet<usize> =
            query.features.iter().filter_map(|feature| holders.get(&feature.tag)).flatten().copied().collect();
        planted.found += usize::from(met.contains(source));
        planted.candidates += met.len();
        for other in met {
            let right = usize::from(cosine(other, *source) >= SIMILAR);
            planted.right += right;
            if cosine(other, all.len() + place) >= 0.5 {
                planted.verified += 1;
                planted.verified_right += right;
            }
        }
    }
    Ok(planted)
}

/// A passage with a share of its words replaced by words of other passages.
fn replaced(all: &[Vec<u8>], number: usize, per_cent_edited: usize, rng: &mut Rng) -> Vec<u8> {
    let mut words: Vec<&[u8]> = all[number].split(|byte| *byte == b' ').collect();
    for place in rng.choose(words.len() * per_cent_edited / 100, words.len()) {
        let other = &all[rng.below(all.len())];
        let others: Vec<&[u8]> = other.split(|byte| *byte == b' ').collect();
        words[place] = others[rng.below(others.len())];
    }
    words.join(&b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_words_of_a_passage_is_replaced_by_words_of_others() {
        let passages: Vec<Vec<u8>> = ["a", "b"].map(|word| vec![word; 100].join(" ").into_bytes()).to_vec();
        for per_cent_edited in [0, 10, 50, 100] {
            let text = String::from_utf8(replaced(&passages, 0, per_cent_edited, &mut Rng::new(3))).unwrap();
            let (all, others) = (text.split(' ').count(), text.matches('b').count());
            // About half of the words that are drawn come from the same passage.
            let is_changed = per_cent_edited == 0 || others > 0;
            assert!(all == 100 && others <= per_cent_edited && is_changed, "{per_cent_edited} {others}");
        }
    }
}
