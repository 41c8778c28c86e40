//! The length of a fingerprint: collisions (Broder 1997, 4.1), and estimates that are far off (4.2).
//!
//! A shingle is represented by f(shingle), ℓ bits. f is drawn at random here, as in the paper's bound: another key for each
//! trial.

use cognate_fingerprint::SplitMix64;

use crate::error::Error;
use crate::findings::{Agreement, Findings, Table};
use crate::methods::{method, sign, signer};
use crate::rng::Rng;
use crate::setting::Setting;
use crate::statistics::{deviation, mean, per_cent};
use crate::synthetic::Generator;
use crate::threads::each;

/// Lengths of fingerprints in bits; 40 is the paper's.
const LENGTHS: [u32; 6] = [16, 20, 24, 28, 32, 40];
/// Shingles of a document in the paper's experiment.
const SHINGLES: usize = 1000;
/// The length of a shingle in the paper's experiment, in bits.
const SHINGLE_BITS: f64 = 400.0;
/// The number of documents of the Web in the paper's experiment.
const DOCUMENTS: f64 = 30e6;

/// What fingerprints of one length did.
#[derive(Default)]
struct Outcome {
    trials: usize,
    beyond: usize,
    error_max: f64,
    bound_mean: f64,
    /// The numbers of different fingerprints, less what the formula expects.
    excess: Vec<f64>,
}

/// Two sets of shingles, each ascending.
type Pair = [Vec<u64>; 2];

pub(super) fn collisions(setting: &Setting<'_>, findings: &mut Findings) -> Result<(), Error> {
    let pairs = pairs(setting)?;
    let functions = setting.either(20, 100);
    let mut table = Table::new(
        "broder-collisions",
        "Fingerprints of ℓ bits: the error that collisions cause, against the bound",
        &[
            "ℓ",
            "trials",
            "bound |A ∪ B| / 2^(ℓ−11)",
            "greatest error",
            "beyond the bound",
            "collisions expected",
            "found, less expected",
        ],
    );
    let mut outcomes = Vec::new();
    for (number, length) in LENGTHS.into_iter().enumerate() {
        setting.step("shortening fingerprints", number, LENGTHS.len())?;
        let found = each(pairs.len(), |pair| Ok(trials(&pairs[pair], length, functions, setting.seed + pair as u64)))?;
        let mut all = Outcome::default();
        for one in found {
            all.trials += one.trials;
            all.beyond += one.beyond;
            all.error_max = all.error_max.max(one.error_max);
            all.bound_mean += one.bound_mean / pairs.len() as f64;
            all.excess.extend(one.excess);
        }
        let n = mean(&pairs.iter().map(|[a, _]| a.len() as f64).collect::<Vec<_>>());
        table.row([
            u64::from(length).into(),
            all.trials.into(),
            crate::findings::Cell::from(format!("{:.2e}", all.bound_mean)),
            crate::findings::Cell::from(format!("{:.2e}", all.error_max)),
            all.beyond.into(),
            crate::findings::Cell::from(format!("{:.2e}", n - expected(n, length))),
            crate::findings::Cell::from(format!("{:+.2e}", -mean(&all.excess))),
        ]);
        outcomes.push((length, all));
    }
    findings.tables.push(table);
    compare(&outcomes, findings);
    Ok(())
}

/// Documents of about a thousand shingles of ten words, and versions of them.
fn pairs(setting: &Setting<'_>) -> Result<Vec<Pair>, Error> {
    let all = method("shingle", "w=10,option=b,sample=all")?;
    let mut generator = Generator::new(setting.seed ^ 41);
    let count = setting.either(40, 200);
    let mut pairs = Vec::with_capacity(count);
    for number in 0..count {
        let text = generator.paragraph(SHINGLES + 9);
        let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        for place in Rng::of(setting.seed, 70 + number as u64).choose(number * 60 / count, words.len()) {
            words[place] = format!("new{place}");
        }
        let shingles = |text: &str| -> Result<Vec<u64>, Error> {
            let signature = sign(&mut signer(&all), text.as_bytes())?;
            let word = |tag: &[u8; 16]| tag.iter().take(8).fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
            let mut shingles: Vec<u64> = signature.features.iter().map(|feature| word(&feature.tag.0)).collect();
            shingles.sort_unstable();
            shingles.dedup();
            Ok(shingles)
        };
        pairs.push([shingles(&text)?, shingles(&words.join(" "))?]);
    }
    Ok(pairs)
}

/// The resemblance of two ascending sets, and the size of their union.
fn resemblance(a: &[u64], b: &[u64]) -> (f64, usize) {
    let common = a.iter().filter(|value| b.binary_search(value).is_ok()).count();
    let union = a.len() + b.len() - common;
    (common as f64 / union.max(1) as f64, union)
}

/// The expected number of different fingerprints of n shingles: 2^ℓ (1 − (1 − 2^−ℓ)^n).
fn expected(n: f64, length: u32) -> f64 {
    let all = 2_f64.powi(i32::try_from(length).expect("few bits"));
    all * -(n * (-1.0 / all).ln_1p()).exp_m1()
}

fn trials([a, b]: &Pair, length: u32, functions: usize, seed: u64) -> Outcome {
    let (truth, union) = resemblance(a, b);
    let bound = union as f64 / 2_f64.powi(i32::try_from(length).expect("few bits") - 11);
    let mut outcome = Outcome { trials: functions, bound_mean: bound, ..Outcome::default() };
    let mut rng = Rng::of(seed, u64::from(length));
    for _ in 0..functions {
        let (key, odd) = (rng.next(), rng.next() | 1);
        let short = |set: &[u64]| {
            let mut short: Vec<u64> =
                set.iter().map(|value| SplitMix64::mix((value ^ key).wrapping_mul(odd)) >> (64 - length)).collect();
            short.sort_unstable();
            short.dedup();
            short
        };
        let (short_a, short_b) = (short(a), short(b));
        let error = (resemblance(&short_a, &short_b).0 - truth).abs();
        outcome.beyond += usize::from(error >= bound);
        outcome.error_max = outcome.error_max.max(error);
        outcome.excess.push(short_a.len() as f64 - expected(a.len() as f64, length));
    }
    outcome
}

fn compare(outcomes: &[(u32, Outcome)], findings: &mut Findings) {
    let kept = outcomes.iter().all(|(_, outcome)| outcome.beyond * 1000 <= outcome.trials);
    findings.compare(
        "4.1: collisions change the resemblance by less than |S(A) ∪ S(B)| / 2^(ℓ−11)",
        "with a probability above 99.9 %",
        "at every length at most one trial in 1000 reaches the bound",
        outcomes
            .iter()
            .map(|(length, outcome)| format!("ℓ = {length}: {} of {}", outcome.beyond, outcome.trials))
            .collect::<Vec<_>>()
            .join(", "),
        Agreement::of(kept),
        "at 16 and 20 bits the bound is above 1; from 24 on it is some hundred times what happens",
    );
    let off = |outcome: &Outcome| {
        let of_mean = deviation(&outcome.excess) / (outcome.excess.len().max(1) as f64).sqrt();
        (mean(&outcome.excess), of_mean)
    };
    // Where no trial had a collision nothing can be judged.
    let judged = outcomes.iter().filter(|(_, outcome)| outcome.excess.iter().any(|excess| *excess < -0.5));
    let as_expected = judged.clone().all(|(_, outcome)| {
        let (mean, of_mean) = off(outcome);
        mean.abs() < 3.5 * of_mean
    });
    findings.compare(
        "4.1: E(|f(S)|) = 2^ℓ (1 − (1 − 2^−ℓ)^n)",
        "about n − n (n − 1) / 2^(ℓ+1)",
        "at every length with collisions the mean is within 3.5 of its standard errors",
        judged
            .map(|(length, outcome)| {
                let (mean, of_mean) = off(outcome);
                format!("ℓ = {length}: off by {mean:+.4} ± {of_mean:.4}")
            })
            .collect::<Vec<_>>()
            .join(", "),
        Agreement::of(as_expected),
        "the number of different fingerprints of about 1000 shingles",
    );
    if let Some((_, forty)) = outcomes.iter().find(|(length, _)| *length == 40) {
        let pairs = (2 * SHINGLES) as f64 * (2 * SHINGLES) as f64 / 2.0;
        findings.compare(
            "4.1: the choice of the length: 40 bits for 1000 shingles of 400 bits",
            "chosen",
            "the bound is below 0.001, and no trial is off by more",
            format!("bound {:.1e}, greatest error {:.1e}", forty.bound_mean, forty.error_max),
            Agreement::of(forty.bound_mean < 0.001 && forty.error_max <= 0.001),
            format!(
                "Rabin fingerprints against an adversary: two of 2000 shingles collide with a probability of at most {:.1e}; \
                 the product's 64 bits have a bound of {:.1e} at a million shingles, and its features, of 128, add nothing to that",
                pairs * SHINGLE_BITS / 2_f64.powi(39),
                1e6 / 2_f64.powi(53)
            ),
        );
    }
}

/// The probability that more than `most` of `draws` independent tosses of a coin succeed.
fn above(most: u32, draws: u32) -> f64 {
    let mut sum = 0.0;
    for k in most + 1..=draws {
        let ways: f64 = (0..draws - k).map(|i| (f64::from(draws - i) / f64::from(i + 1)).log2()).sum();
        sum += (ways - f64::from(draws)).exp2();
    }
    sum
}

/// `estimates` are the true resemblances with the estimates of the samples of 100 and of 200.
pub(super) fn far_off(estimates: &[(f64, [f64; 2])], findings: &mut Findings) {
    let pairs = DOCUMENTS * DOCUMENTS / 2.0;
    let expected = [100, 200].map(|s| pairs * above(9 * s / 10, s));
    let below: Vec<_> = estimates.iter().filter(|(truth, _)| *truth < 0.5).collect();
    let seen = [0, 1].map(|sample: usize| below.iter().filter(|(_, found)| found[sample] > 0.9).count());
    findings.compare(
        "4.2: in the entire Web no pair below 50 % is seen as more than 90 %",
        "with a probability of less than 0.1 % some pair is",
        "of 100 samples less than 0.001 such pairs are expected if all pairs of 30 million documents resemble 50 %, and none is here",
        format!(
            "{:.1e} pairs with 100 samples, {:.1e} with 200; {} and {} of {} pairs below 50 % here",
            expected[0],
            expected[1],
            seen[0],
            seen[1],
            below.len()
        ),
        Agreement::of(expected[0] < 0.001 && seen == [0, 0] && !below.is_empty()),
        format!(
            "a pair at 50 % has a chance of {:.1e} with 100 samples; the true pairs of the Web resemble far less",
            above(90, 100)
        ),
    );
    let within_tenth = |sample: usize| {
        let close = below.iter().filter(|(truth, found)| (found[sample] - truth).abs() <= 0.1).count();
        per_cent(close as f64 / below.len().max(1) as f64)
    };
    findings.fact(
        "pairs below 50 %, estimates within 0.1",
        format!("{} of 100 samples, {} of 200", within_tenth(0), within_tenth(1)),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_of_tosses_is_the_binomial_one() {
        let close = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
        close(above(0, 1), 0.5);
        close(above(8, 10), 11.0 / 1024.0);
        close(above(4, 10), (252.0 + 210.0 + 120.0 + 45.0 + 10.0 + 1.0) / 1024.0);
        assert!(above(10, 10).abs() < 1e-300);
    }

    #[test]
    fn the_expected_number_of_fingerprints_is_that_of_the_formula() {
        // Two of two bits: the second misses the first three times of four.
        assert!((expected(2.0, 2) - 1.75).abs() < 1e-9);
        assert!((expected(1000.0, 40) - (1000.0 - 999.0 * 500.0 / 2_f64.powi(40))).abs() < 1e-6);
    }

    #[test]
    fn short_fingerprints_are_off_and_long_ones_are_not() {
        let a: Vec<u64> = (0..1000).collect();
        let b: Vec<u64> = (500..1500).collect();
        let short = trials(&[a.clone(), b.clone()], 8, 10, 1);
        assert!(short.error_max > 0.1 && short.trials == 10 && short.excess.iter().all(|excess| excess.abs() < 50.0));
        let long = trials(&[a, b], 60, 10, 1);
        assert!(long.error_max < 1e-12 && long.beyond == 0);
    }
}
