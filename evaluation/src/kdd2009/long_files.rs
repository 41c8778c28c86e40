//! `long-files`: the traditional basic sliding window on long files, against sampling (the paper's last paragraph).
//!
//! "We believe that traditional Basic Sliding Window algorithm might be a more promising approach for longer files than the
//! sampling-based technique and is worth future investigation." The comparison here has signatures of one size a byte, n = 500
//! for `BSW-chunk`, `Mod` and `BSW`, and the fixed ones of `Min` and `Sketch`; it is made on true versions of documents and
//! on documents with edits, by the length of the document.

use cognate_fingerprint::{EXACT_WINDOW_BYTES, WindowIndex};

use crate::corpus::{Selection, load};
use crate::error::Error;
use crate::figure::{Axis, Figure, Panel, Style};
use crate::findings::{Agreement, Findings, Table};
use crate::kdd2009::PAPER;
use crate::kdd2009::edits::{Edit, Spread, edited, words};
use crate::methods::{method, resemblance, sign, signer};
use crate::relatives::closest_pairs;
use crate::rng::Rng;
use crate::setting::Setting;
use crate::statistics::{mean, per_cent, share};
use crate::threads::each;
use crate::truth::jaccard;

const WIDTH: usize = 20;
const ALGORITHMS: [(&str, &str, usize); 5] = [
    ("BSW-chunk_500", "bsw-chunk", 500),
    ("Mod_500", "mod", 500),
    ("Min_100", "min", 100),
    ("Sketch_100", "sketch", 100),
    ("BSW_500", "bsw", 500),
];
const CHUNK: usize = 0;
/// Classes of documents by their size in bytes.
const LENGTHS: [(usize, &str); 4] =
    [(64 << 10, "16-64 KiB"), (256 << 10, "64-256 KiB"), (1 << 20, "256 KiB-1 MiB"), (usize::MAX, "1 MiB and more")];
const BYTES_MIN: usize = 16 << 10;
/// Documents of a class that are compared.
const OF_A_CLASS: usize = 60;
/// Edits of the second experiment, in every document: the paper's most.
const EDITS: usize = 50;
/// Bytes to an edit in the third experiment.
const EDIT_EVERY_BYTES: usize = 1000;

/// The measurements of a class of documents in one of the experiments.
#[derive(Default)]
struct Class {
    documents: usize,
    bytes: f64,
    truth: Vec<f64>,
    /// By algorithm, by document.
    errors: [Vec<f64>; ALGORITHMS.len()],
    entries: [Vec<f64>; ALGORITHMS.len()],
    /// Of the bytes in common, those in common chunks.
    found: usize,
    shared: usize,
    /// Documents of which more bytes were reported as common than are.
    too_many: usize,
}

impl Class {
    fn error(&self, algorithm: usize) -> f64 {
        mean(&self.errors[algorithm].iter().map(|error| error.abs()).collect::<Vec<_>>())
    }
}

/// One comparison: the errors of all algorithms.
struct One {
    bytes: usize,
    truth: f64,
    errors: [f64; ALGORITHMS.len()],
    entries: [f64; ALGORITHMS.len()],
    found: usize,
    shared: usize,
}

pub(crate) fn run(setting: &Setting<'_>) -> Result<Findings, Error> {
    let selection = Selection {
        bytes_min: BYTES_MIN,
        bytes_max: 16 << 20,
        documents_max: setting.either(600, usize::MAX),
        total_bytes_max: setting.either(60 << 20, 600 << 20),
        text: false,
    };
    let mut documents = load(setting, &selection, 300, 60_000)?;
    documents.retain(|document| !document.bytes.contains(&0) && document.bytes.len() >= BYTES_MIN);
    setting.step("finding versions", 0, 1)?;
    let mut versions: Vec<Vec<(usize, usize)>> = vec![Vec::new(); LENGTHS.len()];
    for (a, b) in closest_pairs(&documents) {
        let class = class_of(documents[a].bytes.len().min(documents[b].bytes.len()));
        versions[class].push((a, b));
    }
    let mut alone: Vec<Vec<usize>> = vec![Vec::new(); LENGTHS.len()];
    for (number, document) in documents.iter().enumerate() {
        alone[class_of(document.bytes.len())].push(number);
    }
    if versions.iter().all(Vec::is_empty) {
        return Err(setting
            .corpus_lacks(format!("{} texts and no two that share much", documents.len()), "versions of long texts"));
    }
    let mut findings =
        Findings::new("The traditional sliding window on long files", &format!("{PAPER}, section 8: its conjecture."));
    findings.fact("corpus", setting.corpus_name());
    findings.fact("texts of 16 KiB and more", documents.len());
    findings
        .fact("compared", format!("at most {OF_A_CLASS} of each class of length, evenly over those that there are"));
    findings.fact("w", WIDTH);
    let mut experiments: Vec<(&str, Vec<Class>)> = Vec::new();
    experiments.push((
        "versions",
        classes(setting, "comparing versions", &versions, |&(a, b), _| {
            Ok((documents[a].bytes.clone(), documents[b].bytes.clone()))
        })?,
    ));
    for (name, every) in [("50 edits", None), ("an edit a KB", Some(EDIT_EVERY_BYTES))] {
        experiments.push((
            name,
            classes(setting, name, &alone, |&number, rng| {
                let original = documents[number].bytes.clone();
                let count = every.map_or(EDITS, |every| original.len() / every);
                let version = edited(&original, &words(&original), Edit::InsertA, Spread::Random, count, rng);
                Ok((original, version))
            })?,
        ));
    }
    tabulate(&experiments, &mut findings);
    draw(&experiments, &mut findings);
    compare(&experiments, &mut findings);
    Ok(findings)
}

fn class_of(bytes: usize) -> usize {
    LENGTHS.iter().position(|(most, _)| bytes < *most).unwrap_or(LENGTHS.len() - 1)
}

/// At most [`OF_A_CLASS`] of a list, evenly spread over it.
fn thinned<T>(all: &[T]) -> impl Iterator<Item = &T> {
    let count = all.len().min(OF_A_CLASS);
    (0..count).map(move |number| &all[number * all.len() / count])
}

fn classes<T: Sync>(
    setting: &Setting<'_>,
    what: &str,
    of_class: &[Vec<T>],
    pair: impl Fn(&T, &mut Rng) -> Result<(Vec<u8>, Vec<u8>), Error> + Sync,
) -> Result<Vec<Class>, Error> {
    let mut methods = Vec::new();
    for (_, kind, n) in ALGORITHMS {
        methods.push(method(kind, &format!("w={WIDTH},n={n}"))?);
    }
    let mut classes = Vec::new();
    for (number, all) in of_class.iter().enumerate() {
        setting.step(what, number, of_class.len())?;
        let chosen: Vec<&T> = thinned(all).collect();
        let found = each(chosen.len(), |place| {
            let mut rng = Rng::of(setting.seed, (number * 1000 + place) as u64);
            let (a, b) = pair(chosen[place], &mut rng)?;
            let truth = jaccard(&a, &b, WIDTH);
            let mut one = One {
                bytes: a.len(),
                truth,
                errors: [0.0; ALGORITHMS.len()],
                entries: [0.0; ALGORITHMS.len()],
                found: 0,
                shared: WindowIndex::of(&b, EXACT_WINDOW_BYTES).shared_runs(&a).bytes(),
            };
            for (algorithm, method) in methods.iter().enumerate() {
                let mut signer = signer(method);
                let (of_a, of_b) = (sign(&mut signer, &a)?, sign(&mut signer, &b)?);
                one.errors[algorithm] = resemblance(method, &of_a, &of_b) - truth;
                one.entries[algorithm] = of_a.features.len() as f64;
                if algorithm == CHUNK {
                    let likeness = method.likeness(&of_a, &of_b);
                    one.found =
                        likeness.a_in_b.map_or(0, |found| usize::try_from(found.agreeing).unwrap_or(usize::MAX));
                }
            }
            Ok(one)
        })?;
        let mut class = Class { documents: found.len(), ..Class::default() };
        for one in found {
            class.bytes += one.bytes as f64 / class.documents as f64;
            class.truth.push(one.truth);
            for algorithm in 0..ALGORITHMS.len() {
                class.errors[algorithm].push(one.errors[algorithm]);
                class.entries[algorithm].push(one.entries[algorithm]);
            }
            class.found += one.found;
            class.shared += one.shared;
            // A chunk of fewer bytes than a window of the exact measure may be common without a run that counts.
            class.too_many += usize::from(one.found as f64 > 1.01 * one.shared as f64);
        }
        classes.push(class);
    }
    Ok(classes)
}

fn tabulate(experiments: &[(&str, Vec<Class>)], findings: &mut Findings) {
    let mut columns = vec!["documents with", "length", "pairs", "mean bytes", "exact similarity"];
    let names: Vec<String> = ALGORITHMS.iter().map(|(name, ..)| format!("{name}, mean of |error|")).collect();
    columns.extend(names.iter().map(String::as_str));
    columns.extend([
        "BSW-chunk_500, mean error",
        "entries of BSW-chunk_500",
        "of Mod_500",
        "shared bytes in common chunks",
    ]);
    let mut table = Table::new("long-files", "Error against the similarity of all windows, by length", &columns);
    for (name, classes) in experiments {
        for ((_, length), class) in LENGTHS.iter().zip(classes).filter(|(_, class)| class.documents > 0) {
            let mut row = vec![
                (*name).into(),
                (*length).into(),
                class.documents.into(),
                class.bytes.round().into(),
                mean(&class.truth).into(),
            ];
            row.extend((0..ALGORITHMS.len()).map(|algorithm| class.error(algorithm).into()));
            row.extend([
                mean(&class.errors[CHUNK]).into(),
                mean(&class.entries[CHUNK]).into(),
                mean(&class.entries[1]).into(),
                share(class.found, class.shared).into(),
            ]);
            table.row(row);
        }
    }
    findings.tables.push(table);
}

fn draw(experiments: &[(&str, Vec<Class>)], findings: &mut Findings) {
    let mut panels = Vec::new();
    for (letter, (name, classes)) in ["a", "b", "c"].iter().zip(experiments) {
        let mut panel =
            Panel::new(&format!("({letter}) {name}"), Axis::log("length, bytes"), Axis::linear("mean of |error|, %"));
        for (algorithm, (title, ..)) in ALGORITHMS.iter().enumerate() {
            let held = classes.iter().filter(|class| class.documents > 0);
            panel.add(title, Style::Line, held.map(|class| (class.bytes, 100.0 * class.error(algorithm))));
        }
        panels.push(panel);
    }
    findings.figures.push(Figure::new("long-files", "Error of the reported similarity, by length", panels));
}

/// The errors of all algorithms in a class, in words.
fn described(class: &Class) -> String {
    let one =
        |(algorithm, (name, ..)): (usize, &(&str, &str, usize))| format!("{name} {}", per_cent(class.error(algorithm)));
    ALGORITHMS.iter().enumerate().map(one).collect::<Vec<_>>().join(", ")
}

fn compare(experiments: &[(&str, Vec<Class>)], findings: &mut Findings) {
    for (name, classes) in experiments {
        let held: Vec<(&str, &Class)> =
            LENGTHS.iter().map(|(_, length)| *length).zip(classes).filter(|(_, class)| class.documents > 0).collect();
        let Some((length, longest)) = held.last() else { continue };
        let is_best = (0..ALGORITHMS.len()).all(|other| other == CHUNK || longest.error(CHUNK) < longest.error(other));
        findings.compare(
            &format!("8: on long files the traditional sliding window is more promising than samples ({name})"),
            "a belief, \"worth future investigation\"",
            "in the longest documents its mean error is the smallest of the five",
            format!("{length}: {}", described(longest)),
            if *length == LENGTHS[LENGTHS.len() - 1].1 { Agreement::of(is_best) } else { Agreement::Other },
            "a sample errs by chance, a larger one less; an edit loses its chunk in a file of any length",
        );
    }
    let Some((_, versions)) = experiments.first() else { return };
    let held: Vec<&Class> = versions.iter().filter(|class| class.documents > 0).collect();
    let ratio = |class: &Class| class.error(CHUNK) / class.error(1).max(1e-9);
    findings.compare(
        "8: and the more so, the longer the file",
        "\"for longer files\"",
        "its error in units of that of Mod_500 falls from each class of versions to the next",
        held.iter().map(|class| format!("{:.1}", ratio(class))).collect::<Vec<_>>().join(", "),
        Agreement::of(held.len() > 1 && held.windows(2).all(|pair| ratio(pair[1]) < ratio(pair[0]))),
        "the error of Mod falls with the square root of the length, that of chunks does not",
    );
    let all = || experiments.iter().flat_map(|(_, classes)| classes);
    let (found, shared) = (all().map(|class| class.found).sum(), all().map(|class| class.shared).sum());
    let (too_many, pairs): (usize, usize) =
        (all().map(|class| class.too_many).sum(), all().map(|class| class.documents).sum());
    findings.compare(
        "8: its signature is exact: what two files have in common by it is identical",
        "\"we know precisely which portions of the files are identical\"",
        "no pair has more bytes in common chunks than in common at all, but for a hundredth",
        format!(
            "{too_many} of {pairs} pairs; {} of the shared bytes are in common chunks",
            per_cent(share(found, shared))
        ),
        Agreement::of(too_many == 0),
        "a lower bound with places, where samples have a ratio alone; TTTD finds more (chunkers)",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_by_length_and_thinned_evenly() {
        assert_eq!([0, 64 << 10, (1 << 20) - 1, 1 << 20].map(class_of), [0, 1, 2, 3]);
        let all: Vec<usize> = (0..240).collect();
        let some: Vec<usize> = thinned(&all).copied().collect();
        assert_eq!((some.len(), some[1], some[59]), (60, 4, 236));
        assert_eq!(thinned(&all[..7]).count(), 7);
        assert_eq!(thinned::<u8>(&[]).count(), 0);
    }

    #[test]
    fn long_documents_with_edits_are_measured_by_every_algorithm() {
        let progress = |_: &str, _, _| true;
        let setting =
            Setting { corpus: None, pairs: &[], office_set: false, full: false, seed: 1, progress: &progress };
        let text: Vec<u8> = crate::synthetic::Generator::new(1).paragraph(6000).into_bytes();
        let found = classes(&setting, "", &[vec![text.clone()], Vec::new()], |text: &Vec<u8>, rng| {
            Ok((text.clone(), edited(text, &words(text), Edit::InsertA, Spread::Random, 50, rng)))
        })
        .unwrap();
        let class = &found[0];
        assert_eq!((class.documents, found[1].documents, class.too_many), (1, 0, 0));
        assert!(class.errors[CHUNK][0] < -0.1, "chunks with an edit are lost: {:?}", class.errors);
        assert!(class.error(1) < 0.1 && class.found < class.shared && class.found > 0);
    }
}
