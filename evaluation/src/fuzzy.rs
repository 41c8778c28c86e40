//! `fuzzy`: fuzzy fingerprints, their recall against cosine similarity, their speed-up, and planted passages.
//!
//! Stein and Meyer zu Eissen: which share of the pairs above a cosine similarity have a fingerprint in common (Fig. 8, left),
//! how many documents a query meets of how large a collection (right), and the use case of plagiarised passages.

use std::collections::{BTreeMap, HashMap, HashSet};

use cognate_fingerprint::{Method, Signature};

use crate::corpus::{Document, Want, load};
use crate::dice::Dice;
use crate::error::Error;
use crate::experiment::Setting;
use crate::figure::{Axis, Figure, Panel, Style};
use crate::findings::{Agreement, Findings, Table};
use crate::machine::Stopwatch;
use crate::methods::{common, method, sign, signer};
use crate::statistics::{per_cent, share};
use crate::threads::each;

/// Shorter documents are left out, as in the paper.
const WORDS_MIN: usize = 50;
/// The most frequent words of English: what has few of them is another language, or none.
const FREQUENT: [&str; 24] = [
    "the", "of", "and", "to", "in", "a", "is", "that", "for", "it", "as", "was", "with", "be", "by", "on", "not", "he",
    "his", "but", "at", "are", "this", "which",
];
const VARIANTS: [(&str, &str); 4] = [
    ("r = 3, ρ = 3", "r=3,rho=3"),
    ("r = 2, ρ = 3", "r=2,rho=3"),
    ("r = 3, ρ = 3, step 40", "r=3,rho=3,step=40"),
    ("r = 3, ρ = 3, step 60", "r=3,rho=3,step=60"),
];
/// What counts as similar in the paper's shaded area.
const SIMILAR: f64 = 0.8;
const EDITS: [usize; 6] = [0, 5, 10, 20, 30, 50];

/// A text as a vector of unit length: term, weight; by term.
type Vector = Vec<(u32, f64)>;

pub(crate) fn run(setting: &Setting<'_>) -> Result<Findings, Error> {
    let want = Want {
        bytes_min: 300,
        bytes_max: 1 << 20,
        documents_max: setting.either(2500, 15_000),
        total_bytes_max: setting.either(40 << 20, 400 << 20),
        text: true,
    };
    let mut documents = load(setting, &want, 1500, 4000)?;
    let is_made = setting.corpus.is_none();
    documents.retain(|document| {
        let words = terms(&document.bytes);
        let frequent = words.iter().filter(|word| FREQUENT.contains(&word.as_str())).count();
        words.len() >= WORDS_MIN && (is_made || share(frequent, words.len()) >= 0.15)
    });
    if documents.len() < 50 {
        return Err(Error::Corpus {
            corpus: setting.corpus.unwrap_or(std::path::Path::new("")).to_owned(),
            found: format!("{} English texts of {WORDS_MIN} words or more", documents.len()),
            needed: "some hundred",
        });
    }
    let mut findings = Findings::new("Fuzzy fingerprints", "Stein, Meyer zu Eissen, section 3.2, Fig. 8.");
    findings.fact("corpus", setting.corpus_name());
    findings.fact(
        "documents",
        format!("{}, English, {WORDS_MIN} words or more, what a reader sees of them", documents.len()),
    );
    setting.step("finding all cosine similarities", 0, 4)?;
    let watch = Stopwatch::start();
    let texts: Vec<&[u8]> = documents.iter().map(|document| document.bytes.as_slice()).collect();
    let vectors = vectors(&texts);
    let pairs = cosines(&vectors, 0.3)?;
    let scanning = watch.seconds();
    setting.step("comparing fingerprints", 1, 4)?;
    let fingerprinted = recall(&documents, &pairs, &mut findings)?;
    setting.step("measuring the speed-up", 2, 4)?;
    speed_up(setting, &fingerprinted, scanning, &mut findings);
    setting.step("planting passages", 3, 4)?;
    passages(setting, &documents, &mut findings)?;
    findings.remark(
        "Vectors: words in lower case, the most frequent of English left out, weighted with the logarithm of their count and \
         of the inverse share of documents that have them.",
    );
    findings.remark(
        "The expected frequencies of first letters are the project's own table (`fingerprint/frequencies`), in place of the \
         British National Corpus.",
    );
    Ok(findings)
}

/// The words of a text, in lower case.
fn terms(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

fn vectors(texts: &[&[u8]]) -> Vec<Vector> {
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let mut holders: Vec<u32> = Vec::new();
    let mut counted: Vec<BTreeMap<u32, u32>> = Vec::with_capacity(texts.len());
    for text in texts {
        let mut counts = BTreeMap::new();
        for word in terms(text).into_iter().filter(|word| !FREQUENT.contains(&word.as_str())) {
            let next = u32::try_from(numbers.len()).expect("fewer words than 2^32");
            let number = *numbers.entry(word).or_insert(next);
            if number == next {
                holders.push(0);
            }
            *counts.entry(number).or_insert(0) += 1;
        }
        counts.keys().for_each(|number| holders[*number as usize] += 1);
        counted.push(counts);
    }
    let all = texts.len() as f64;
    let weighted = |counts: BTreeMap<u32, u32>| -> Vector {
        let weight = |(number, count): (u32, u32)| {
            let rarity = ((1.0 + all) / f64::from(holders[number as usize])).ln();
            (number, (1.0 + f64::from(count).ln()) * rarity)
        };
        let vector: Vector = counts.into_iter().map(weight).collect();
        let length = vector.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt();
        vector.into_iter().map(|(number, weight)| (number, weight / length.max(f64::MIN_POSITIVE))).collect()
    };
    counted.into_iter().map(weighted).collect()
}

fn cosine(a: &Vector, b: &Vector) -> f64 {
    let (mut at_a, mut at_b, mut sum) = (0, 0, 0.0);
    while let (Some(x), Some(y)) = (a.get(at_a), b.get(at_b)) {
        if x.0 == y.0 {
            sum += x.1 * y.1;
        }
        at_a += usize::from(x.0 <= y.0);
        at_b += usize::from(y.0 <= x.0);
    }
    sum
}

/// All pairs above a similarity.
fn cosines(vectors: &[Vector], least: f64) -> Result<Vec<(usize, usize, f64)>, Error> {
    let terms = vectors.iter().flatten().map(|(term, _)| *term as usize + 1).max().unwrap_or(0);
    let mut holders: Vec<Vec<(u32, f64)>> = vec![Vec::new(); terms];
    for (number, vector) in (0_u32..).zip(vectors) {
        vector.iter().for_each(|(term, weight)| holders[*term as usize].push((number, *weight)));
    }
    let rows = each(vectors.len(), |a| {
        let mut sums = vec![0.0; vectors.len()];
        for (term, weight) in &vectors[a] {
            let others = &holders[*term as usize];
            let after = others.partition_point(|(other, _)| *other as usize <= a);
            others[after..].iter().for_each(|(other, other_weight)| sums[*other as usize] += weight * other_weight);
        }
        Ok(sums
            .into_iter()
            .enumerate()
            .filter(|(_, sum)| *sum >= least)
            .map(|(b, sum)| (a, b, sum))
            .collect::<Vec<_>>())
    })?;
    Ok(rows.concat())
}

fn fingerprints(method: &Method, texts: &[&[u8]]) -> Result<Vec<Signature>, Error> {
    each(texts.len(), |number| sign(&mut signer(method), texts[number]))
}

/// Recall by similarity; gives the fingerprints of the paper's parameters.
fn recall(
    documents: &[Document],
    pairs: &[(usize, usize, f64)],
    findings: &mut Findings,
) -> Result<Vec<Signature>, Error> {
    let texts: Vec<&[u8]> = documents.iter().map(|document| document.bytes.as_slice()).collect();
    let mut table = Table::new(
        "fuzzy-recall",
        "Which share of the pairs above a cosine similarity have a fingerprint in common",
        &["parameters", "similarity above", "pairs", "with a fingerprint in common", "recall", "met by chance"],
    );
    let mut panel = Panel::new(
        "recall at similarity",
        Axis::linear("cosine similarity").between(0.3, 1.0),
        Axis::linear("recall, %").between(0.0, 100.0),
    );
    let mut told = Vec::new();
    let mut kept = Vec::new();
    for (place, (name, param)) in VARIANTS.into_iter().enumerate() {
        let signatures = fingerprints(&method("fuzzy", param)?, &texts)?;
        let chance = collisions(&signatures);
        let met: Vec<(f64, bool)> = pairs
            .iter()
            .map(|&(a, b, found)| (found, common(&signatures[a].features, &signatures[b].features) > 0))
            .collect();
        let mut curve = Vec::new();
        for step in 6..20 {
            let least = f64::from(step) / 20.0;
            let above: Vec<&(f64, bool)> = met.iter().filter(|(found, _)| *found >= least).collect();
            let hits = above.iter().filter(|(_, hit)| *hit).count();
            if above.is_empty() {
                continue;
            }
            let recall = share(hits, above.len());
            table.row([name.into(), least.into(), above.len().into(), hits.into(), recall.into(), chance.into()]);
            curve.push((least, 100.0 * recall));
        }
        let at = |least: f64| curve.iter().find(|point| point.0 >= least - 1e-9).map_or(0.0, |point| point.1 / 100.0);
        told.push((name, at(SIMILAR), at(0.95), chance));
        panel.add(name, Style::Line, curve);
        if place == 0 {
            kept = signatures;
        }
    }
    panel.add("similar (the paper's shaded area)", Style::Dashed, [(SIMILAR, 0.0), (SIMILAR, 100.0)]);
    findings.tables.push(table);
    findings.figures.push(Figure::new("fuzzy-recall", "Recall against cosine similarity (Fig. 8, left)", vec![panel]));
    let (_, similar, very, chance) = told[0];
    let others: Vec<String> = told[1..]
        .iter()
        .map(|(name, similar, very, _)| format!("{name}: {} and {}", per_cent(*similar), per_cent(*very)))
        .collect();
    findings.compare(
        "Fig. 8, left: recall is high above 80 %",
        "high above 80 %",
        format!("{} of the pairs above 0.8, {} of those above 0.95; {}", per_cent(similar), per_cent(very), others.join("; ")),
        if similar >= 0.75 { Agreement::Yes } else if very >= 0.75 || similar > 3.0 * chance { Agreement::Partly } else { Agreement::No },
        "the paper gives neither intervals nor hash: ours are in docs/fingerprint.md, and decide between recall and the size \
         of the collision set, as the variants show",
    );
    let falls = told[0].1 <= told[0].2;
    findings.compare(
        "recall grows with similarity",
        "so do both curves",
        format!(
            "{} above 0.8, {} above 0.95, {} of any two documents",
            per_cent(similar),
            per_cent(very),
            per_cent(chance)
        ),
        Agreement::of(falls),
        "a pair of the same words falls into the same intervals",
    );
    Ok(kept)
}

/// Which share of all pairs have a fingerprint in common.
fn collisions(signatures: &[Signature]) -> f64 {
    let mut met = HashSet::new();
    let mut holders: HashMap<_, Vec<usize>> = HashMap::new();
    for (number, signature) in signatures.iter().enumerate() {
        for feature in &signature.features {
            let others = holders.entry(feature.tag).or_default();
            others.iter().for_each(|other| {
                met.insert((*other, number));
            });
            others.push(number);
        }
    }
    share(met.len(), signatures.len() * signatures.len().saturating_sub(1) / 2)
}

fn speed_up(setting: &Setting<'_>, signatures: &[Signature], scanning: f64, findings: &mut Findings) {
    let mut table =
        Table::new("fuzzy-speed", "Documents that a query meets", &["collection", "met by a query, mean", "speed-up"]);
    let mut order: Vec<(u64, usize)> = Vec::new();
    let mut dice = Dice::of(setting.seed, 7);
    (0..signatures.len()).for_each(|number| order.push((dice.next(), number)));
    order.sort_unstable();
    let (mut met, mut factor) = (Vec::new(), 0.0);
    for tenth in 1..=10 {
        let size = signatures.len() * tenth / 10;
        let part: Vec<Signature> = order[..size].iter().map(|(_, number)| signatures[*number].clone()).collect();
        let mean = collisions(&part) * (size as f64 - 1.0);
        factor = size as f64 / (mean + 1.0);
        table.row([size.into(), mean.into(), factor.into()]);
        met.push((size as f64, mean + 1.0));
    }
    let watch = Stopwatch::start();
    let share_met = collisions(signatures);
    let colliding = watch.seconds();
    findings.tables.push(table);
    let mut panel = Panel::new(
        "documents compared for a query",
        Axis::linear("documents in the collection"),
        Axis::linear("documents compared"),
    );
    panel.add("all: a sequential scan", Style::Dashed, met.iter().map(|(size, _)| (*size, *size)));
    panel.add("those with a fingerprint in common", Style::Line, met);
    findings.figures.push(Figure::new("fuzzy-speed", "Retrieval speed-up (Fig. 8, right)", vec![panel]));
    findings.compare(
        "Fig. 8, right: the collision set is a small part of the collection",
        "a line close to the x-axis",
        format!("{} of the collection: {factor:.0} times fewer comparisons", per_cent(share_met)),
        Agreement::of(factor >= 10.0),
        "collection divided by collision set, the query itself included",
    );
    findings.compare(
        "3.1: grouping by fingerprint is at least ten times as fast as by similarity",
        "an order of magnitude",
        format!(
            "{:.1} ms to find all collisions, {:.0} ms to find all cosine similarities",
            1e3 * colliding,
            1e3 * scanning
        ),
        Agreement::of(scanning > 10.0 * colliding),
        "the same documents, all pairs; fingerprinting itself not counted, as vectors are not either",
    );
}

/// Passages of some documents, edited and planted among others: found, and verified by cosine similarity.
fn passages(setting: &Setting<'_>, documents: &[Document], findings: &mut Findings) -> Result<(), Error> {
    let split = |document: &Document| -> Vec<Vec<u8>> {
        let words: Vec<&[u8]> = document.bytes.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
        words.chunks_exact(150).map(|passage| passage.join(&b' ')).collect()
    };
    let mut all: Vec<Vec<u8>> = documents.iter().flat_map(split).collect();
    let most = setting.either(6000, 40_000);
    let every = all.len().div_ceil(most).max(1);
    all = all.into_iter().step_by(every).collect();
    let mut seen = HashSet::new();
    all.retain(|passage| seen.insert(passage.clone()));
    let planted = all.len().min(setting.either(400, 2000));
    if planted < 20 {
        findings.remark("Too few passages of 150 words for the experiment with planted passages.");
        return Ok(());
    }
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
    let mut panel = Panel::new(
        "planted passages",
        Axis::linear("words replaced, %").between(0.0, 50.0),
        Axis::linear("%").between(0.0, 100.0),
    );
    let mut told = Vec::new();
    for (name, param) in [VARIANTS[0], VARIANTS[3]] {
        let method = method("fuzzy", param)?;
        let known = fingerprints(&method, &all.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
        let mut curve = Vec::new();
        for edits in EDITS {
            let found = plant(setting, &method, (&all, &known), planted, edits)?;
            table.row([
                name.into(),
                (edits as f64 / 100.0).into(),
                planted.into(),
                share(found.candidates, planted).into(),
                found.found.into(),
                share(found.found, planted).into(),
                share(found.right, found.candidates).into(),
                share(found.verified_right, found.verified).into(),
            ]);
            curve.push((edits as f64, found));
        }
        let points = |of: &dyn Fn(&Planted) -> f64| {
            curve.iter().map(|(edits, found)| (*edits, 100.0 * of(found))).collect::<Vec<_>>()
        };
        panel.add(&format!("recall, {name}"), Style::Line, points(&|found| share(found.found, planted)));
        panel.add(
            &format!("precision verified, {name}"),
            Style::Dashed,
            points(&|found| share(found.verified_right, found.verified)),
        );
        told.push((name, curve));
    }
    findings.tables.push(table);
    findings.figures.push(Figure::new("fuzzy-passages", "Planted and edited passages (3.1, plagiarism)", vec![panel]));
    let recalls = |curve: &[(f64, Planted)]| {
        let each = curve.iter().map(|(edits, found)| format!("{edits} %: {}", per_cent(share(found.found, planted))));
        each.collect::<Vec<_>>().join(", ")
    };
    let at_ten = |curve: &[(f64, Planted)]| share(curve[2].1.found, planted);
    let best = at_ten(&told[0].1).max(at_ten(&told[1].1));
    findings.compare(
        "3.1: short passages, slightly modified, are discovered",
        "\"ideally suited to discover copied and slightly modified passages\"",
        told.iter().map(|(name, curve)| format!("{name}: recall by words replaced {}", recalls(curve))).collect::<Vec<_>>().join("; "),
        if best >= 0.8 { Agreement::Yes } else if best >= 0.3 { Agreement::Partly } else { Agreement::No },
        "a passage of 150 words has a few words a class: replacing some moves it into other intervals; wider intervals find \
         more and propose more",
    );
    let unedited = &told[0].1[0].1;
    let precision = share(unedited.verified_right, unedited.verified);
    findings.compare(
        "candidates are verified in the vector space",
        "in-depth analysis of all candidates",
        format!(
            "precision {} before and {} after, of unedited passages under {}",
            per_cent(share(unedited.right, unedited.candidates)),
            per_cent(precision),
            told[0].0
        ),
        Agreement::of(precision >= 0.9),
        "verified: a cosine similarity of at least 0.4; right: the source, or a passage that is as good as the source (0.8)",
    );
    Ok(())
}

/// What came of planted passages.
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
    let mut dice = Dice::of(setting.seed, 900 + edits as u64);
    let chosen = dice.choose(count, all.len());
    let edited: Vec<Vec<u8>> = chosen.iter().map(|number| replaced(all, *number, edits, &mut dice)).collect();
    let queries = fingerprints(method, &edited.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
    let texts: Vec<&[u8]> = all.iter().chain(&edited).map(Vec::as_slice).collect();
    let vectors = vectors(&texts);
    let mut planted = Planted::default();
    for (place, (source, query)) in chosen.iter().zip(&queries).enumerate() {
        let met: HashSet<usize> =
            query.features.iter().filter_map(|feature| holders.get(&feature.tag)).flatten().copied().collect();
        planted.found += usize::from(met.contains(source));
        planted.candidates += met.len();
        for other in met {
            let right = usize::from(cosine(&vectors[other], &vectors[*source]) >= SIMILAR);
            planted.right += right;
            if cosine(&vectors[other], &vectors[all.len() + place]) >= 0.4 {
                planted.verified += 1;
                planted.verified_right += right;
            }
        }
    }
    Ok(planted)
}

/// A passage with a share of its words replaced by words of other passages.
fn replaced(all: &[Vec<u8>], number: usize, per_cent_edited: usize, dice: &mut Dice) -> Vec<u8> {
    let mut words: Vec<&[u8]> = all[number].split(|byte| *byte == b' ').collect();
    for place in dice.choose(words.len() * per_cent_edited / 100, words.len()) {
        let other = &all[dice.below(all.len())];
        let others: Vec<&[u8]> = other.split(|byte| *byte == b' ').collect();
        words[place] = others[dice.below(others.len())];
    }
    words.join(&b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cosines_of_all_pairs_are_those_of_each() {
        let texts: [&[u8]; 4] = [b"rose tulip rose oak", b"oak elm rose", b"elm elm birch", b"rose tulip rose oak"];
        let vectors = vectors(&texts);
        let found = cosines(&vectors, 0.0).unwrap();
        for a in 0..4 {
            for b in a + 1..4 {
                let expected = cosine(&vectors[a], &vectors[b]);
                let pair = found.iter().find(|pair| (pair.0, pair.1) == (a, b)).unwrap();
                assert!((pair.2 - expected).abs() < 1e-12);
            }
        }
        assert!((cosine(&vectors[0], &vectors[3]) - 1.0).abs() < 1e-12);
        assert!(cosine(&vectors[0], &vectors[2]).abs() < 1e-12);
    }

    #[test]
    fn collisions_are_pairs_with_a_fingerprint_in_common() {
        let method = method("fuzzy", "r=3,rho=3").unwrap();
        let text = "the storm took the tree and some more of the apple wood near the harbour ";
        let (same, other) = (text.repeat(9), "zebra quokka yak jackal viper ".repeat(30));
        let signatures = fingerprints(&method, &[same.as_bytes(), other.as_bytes(), same.as_bytes()]).unwrap();
        assert!((collisions(&signatures) - 1.0 / 3.0).abs() < 1e-12);
    }
}
