//! `broder`: resemblance by definition, and the errors of its estimates.
//!
//! Broder (1997): the table of roses (section 2), the estimates from `MIN_s`, `MOD_m` and `L_i` (section 3), and the probability
//! that one is within ε (4.2). The length of fingerprints (4.1) is in `collisions`.

mod collisions;

use cognate_fingerprint::{Method, within};

use crate::error::Error;
use crate::figure::{Axis, Figure, Panel, Style};
use crate::findings::{Agreement, Findings, Table};
use crate::methods::{method, sign, signer};
use crate::rng::Rng;
use crate::setting::Setting;
use crate::statistics::{deviation, mean, per_cent, share};
use crate::synthetic::Generator;
use crate::threads::each;

const ROSE: &str = "a rose is a rose is a rose";
const FLOWER: &str = "a rose is a flower which is a rose";
/// Resemblance in per cent at w = 1, 2, 3, under each option.
const PRINTED: [(&str, [f64; 3]); 2] = [("a", [70.0, 50.0, 30.0]), ("b", [60.0, 50.0, 42.85])];
const SAMPLES: [(&str, &str); 4] = [
    ("MIN_100", "sample=min,s=100"),
    ("MIN_200", "sample=min,s=200"),
    ("MOD_25", "sample=mod,m=25"),
    ("L_i", "sample=levels,s=100"),
];
const WORDS: usize = 3000;
const EPSILON: f64 = 0.1;

/// A document and a version of it: their true resemblance, and the estimate from each sample.
struct Trial {
    truth: f64,
    estimates: Vec<f64>,
    /// The number of features in the `L_i` of the version.
    level_size: usize,
}

pub(crate) fn run(setting: &Setting<'_>) -> Result<Findings, Error> {
    let mut findings =
        Findings::new("Resemblance, by definition and by estimate", "Broder 1997, sections 2, 3, 4.1 and 4.2.");
    findings.fact("corpus", "the paper's example; versions of documents made from the seed");
    roses(&mut findings)?;
    let trials = trials(setting, &mut findings)?;
    estimates(&trials, &mut findings);
    probabilities(&trials, &mut findings);
    let of_samples: Vec<(f64, [f64; 2])> =
        trials.iter().map(|trial| (trial.truth, [trial.estimates[0], trial.estimates[1]])).collect();
    collisions::far_off(&of_samples, &mut findings);
    collisions::collisions(setting, &mut findings)?;
    Ok(findings)
}

fn resemblance(method: &Method, a: &str, b: &str) -> Result<f64, Error> {
    let mut signer = signer(method);
    let (a, b) = (sign(&mut signer, a.as_bytes())?, sign(&mut signer, b.as_bytes())?);
    Ok(method.likeness(&a, &b).resemblance.map_or(0.0, |estimate| estimate.ratio()))
}

fn roses(findings: &mut Findings) -> Result<(), Error> {
    let mut table =
        Table::new("broder-roses", "Resemblance of two phrases about roses, %", &["option", "w", "the paper", "here"]);
    let mut all_equal = true;
    for (option, printed) in PRINTED {
        for (w, printed) in (1_u64..).zip(printed) {
            let method = method("shingle", &format!("tokens=words,w={w},option={option},sample=all"))?;
            let found = 100.0 * resemblance(&method, ROSE, FLOWER)?;
            // 3/7 is printed as 42.85, cut off and not rounded.
            all_equal &= (found - printed).abs() < 0.01;
            table.row([option.to_uppercase().into(), w.into(), printed.into(), found.into()]);
        }
    }
    findings.tables.push(table);
    findings.compare(
        "2: the roses",
        "A: 70, 50, 30 %; B: 60, 50, 42.85 % at w = 1, 2, 3",
        "equal",
        if all_equal { "the same six numbers" } else { "see the table" },
        Agreement::of(all_equal),
        "all shingles, no sample",
    );
    let bags = method("shingle", "tokens=letters,w=2,option=a,sample=all")?;
    let permuted = resemblance(&bags, "acaba", "abaca")?;
    findings.compare(
        "2: (a,c,a,b,a) and (a,b,a,c,a) at w = 2, option A",
        "100 %",
        "equal",
        per_cent(permuted),
        Agreement::of((permuted - 1.0).abs() < 1e-12),
        "the same pairs of letters in another order",
    );
    Ok(())
}

/// Documents with more and more of their words replaced.
fn trials(setting: &Setting<'_>, findings: &mut Findings) -> Result<Vec<Trial>, Error> {
    let count = setting.either(400, 4000);
    findings.fact("pairs", format!("{count}, of {WORDS} words each; shingles of 7 words, option B"));
    let all = method("shingle", "w=7,option=b,sample=all")?;
    let mut samples = Vec::new();
    for (_, sample) in SAMPLES {
        samples.push(method("shingle", &format!("w=7,option=b,{sample}"))?);
    }
    setting.step("comparing versions", 0, 1)?;
    let texts: Vec<(String, String)> = {
        let mut generator = Generator::new(setting.seed);
        (0..count)
            .map(|number| {
                let text = generator.paragraph(WORDS);
                let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
                let replaced = WORDS * (1 + number * 19 / count) / 120;
                for place in Rng::of(setting.seed, number as u64).choose(replaced, WORDS) {
                    words[place] = format!("new{place}");
                }
                (text, words.join(" "))
            })
            .collect()
    };
    let trials = each(count, |number| {
        let (text, version) = &texts[number];
        let mut level_size = 0;
        let mut estimates = Vec::new();
        for method in &samples {
            let mut signer = signer(method);
            let (a, b) = (sign(&mut signer, text.as_bytes())?, sign(&mut signer, version.as_bytes())?);
            estimates.push(method.likeness(&a, &b).resemblance.map_or(0.0, |estimate| estimate.ratio()));
            level_size = b.features.len();
        }
        Ok(Trial { truth: resemblance(&all, text, version)?, estimates, level_size })
    })?;
    triangle(&texts, &all, findings)?;
    Ok(trials)
}

/// Checks that 1 - r is a metric: the distance over a third document is never shorter.
fn triangle(texts: &[(String, String)], all: &Method, findings: &mut Findings) -> Result<(), Error> {
    let mut signer = signer(all);
    let mut signatures = Vec::new();
    for (text, version) in texts.iter().step_by(texts.len().div_ceil(10)) {
        // A third document with parts of both.
        let mixed: String = text.chars().take(text.len() / 2).chain(version.chars().skip(version.len() / 3)).collect();
        for text in [text, version, &mixed] {
            signatures.push(sign(&mut signer, text.as_bytes())?);
        }
    }
    let distance = |a: usize, b: usize| {
        let found = all.likeness(&signatures[a], &signatures[b]).resemblance;
        1.0 - found.map_or(0.0, |estimate| estimate.ratio())
    };
    let count = signatures.len();
    let table: Vec<Vec<f64>> = (0..count).map(|a| (0..count).map(|b| distance(a, b)).collect()).collect();
    let triples = (0..count).flat_map(|a| (0..count).flat_map(move |b| (0..count).map(move |c| (a, b, c))));
    let broken = triples.filter(|&(a, b, c)| table[a][c] > table[a][b] + table[b][c] + 1e-12).count();
    findings.compare(
        "2: 1 − r is a metric",
        "stated, the proof left out",
        "no triple breaks the triangle inequality",
        format!("{broken} of {} triples break the triangle inequality", count.pow(3)),
        Agreement::of(broken == 0),
        "documents, versions, and mixtures of both",
    );
    Ok(())
}

fn estimates(trials: &[Trial], findings: &mut Findings) {
    let mut table = Table::new(
        "broder-estimates",
        "Error of the estimates",
        &["sample", "pairs", "mean error", "standard error of the mean", "deviation", "within 0.1"],
    );
    let (mut unbiased, mut described) = (true, Vec::new());
    for (number, (name, _)) in SAMPLES.iter().enumerate() {
        let errors: Vec<f64> = trials.iter().map(|trial| trial.estimates[number] - trial.truth).collect();
        let close = errors.iter().filter(|error| error.abs() <= EPSILON).count();
        let of_mean = deviation(&errors) / (errors.len() as f64).sqrt();
        unbiased &= mean(&errors).abs() < 3.5 * of_mean;
        described.push(format!("{name} {:+.4} ± {of_mean:.4}", mean(&errors)));
        table.row([
            (*name).into(),
            errors.len().into(),
            mean(&errors).into(),
            of_mean.into(),
            deviation(&errors).into(),
            share(close, errors.len()).into(),
        ]);
    }
    findings.tables.push(table);
    findings.compare(
        "Theorem 1: the estimates are unbiased",
        "MIN_s, MOD_m",
        "every mean error within 3.5 of its standard errors",
        described.join(", "),
        Agreement::of(unbiased),
        "mean error and its standard error, against all shingles",
    );
    let sizes: Vec<f64> = trials.iter().map(|trial| trial.level_size as f64).collect();
    findings.compare(
        "3: the expected size of L_i",
        "\"always between 50 and 100\"",
        "the mean is between 50 and 100",
        format!("mean {:.0} for documents of {} shingles", mean(&sizes), WORDS - 6),
        Agreement::of((50.0..=100.0).contains(&mean(&sizes))),
        "MOD of 2^i keeps 100 to 200 of 100·2^i to 100·2^(i+1) shingles; the printed bounds need 2^(i+1)",
    );
    let mut panel = Panel::new(
        "estimates of each pair",
        Axis::linear("resemblance of all shingles").between(0.0, 1.0),
        Axis::linear("estimate").between(0.0, 1.0),
    );
    for number in [0, 2] {
        // Some hundreds are a cloud already.
        let some = trials.iter().step_by(trials.len().div_ceil(400).max(1));
        let points = some.map(|trial| (trial.truth, trial.estimates[number]));
        panel.add(SAMPLES[number].0, Style::Dots, points);
    }
    panel.add("exact", Style::Dashed, [(0.0, 0.0), (1.0, 1.0)]);
    findings.figures.push(Figure::new("broder-estimates", "Estimated against true resemblance", vec![panel]));
}

fn probabilities(trials: &[Trial], findings: &mut Findings) {
    let mut panel = Panel::new(
        "p(s, r, 0.1)",
        Axis::linear("resemblance").between(0.0, 1.0),
        Axis::linear("within 0.1, %").between(80.0, 100.0),
    );
    let mut worst: f64 = 0.0;
    for (number, s) in [(0, 100), (1, 200)] {
        let curve = (1..100).map(|step| f64::from(step) / 100.0);
        panel.add(
            &format!("computed, s = {s}"),
            Style::Dashed,
            curve.map(|ratio| (ratio, 100.0 * within(s, ratio, EPSILON))),
        );
        let mut points = Vec::new();
        for tenth in 0..10 {
            let (low, high) = (f64::from(tenth) / 10.0, f64::from(tenth + 1) / 10.0);
            let inside: Vec<&Trial> = trials.iter().filter(|trial| (low..high).contains(&trial.truth)).collect();
            if inside.len() < 20 {
                continue;
            }
            let close = inside.iter().filter(|trial| (trial.estimates[number] - trial.truth).abs() <= EPSILON).count();
            let expected = mean(&inside.iter().map(|trial| within(s, trial.truth, EPSILON)).collect::<Vec<_>>());
            worst = worst.max(expected - share(close, inside.len()));
            let middle = mean(&inside.iter().map(|trial| trial.truth).collect::<Vec<_>>());
            points.push((middle, 100.0 * share(close, inside.len())));
        }
        panel.add(&format!("found, s = {s}"), Style::Dots, points);
    }
    findings.figures.push(Figure::new(
        "broder-probability",
        "How probable it is that an estimate is close (4.2)",
        vec![panel],
    ));
    let mut table = Table::new("broder-probability", "p(s, r, ε)", &["s", "r", "ε = 0.05", "ε = 0.1", "ε = 0.2"]);
    for s in [50, 100, 200, 400] {
        for ratio in [0.5, 0.7, 0.9, 0.95] {
            let at = |epsilon| within(s, ratio, epsilon).into();
            table.row([s.into(), ratio.into(), at(0.05), at(0.1), at(0.2)]);
        }
    }
    findings.tables.push(table);
    findings.compare("4.2: an estimate is within ε with probability p(s, r, ε)", "100 samples are reasonable, 200 more than enough", "no class of ten per cent has 8 points fewer close estimates than computed", format!("at r = 0.5: {} and {} within 0.1", per_cent(within(100, 0.5, EPSILON)), per_cent(within(200, 0.5, EPSILON))), Agreement::of(worst < 0.08), format!("no class of ten per cent had fewer close estimates than computed, but for {} (chance, of some 30 pairs each); the printed upper limit s(r − ε) is taken for s(r + ε)", per_cent(worst.max(0.0))));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_roses_are_those_of_the_paper() {
        let mut findings = Findings::new("", "");
        roses(&mut findings).unwrap();
        assert!(findings.comparisons.iter().all(|row| row.agreement == Agreement::Yes), "{findings:?}");
    }
}
