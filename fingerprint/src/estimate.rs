//! From two signatures to how alike two documents are, and how far that can be trusted.
//!
//! Source: A. Broder, "On the resemblance and containment of documents" (1997), section 4.2. Of a sample of s, k agree; how
//! many would has a hypergeometric distribution, which a binomial one approaches where the document is much larger than
//! the sample. Only additions, multiplications and divisions are made, so that every machine finds the same digits.

use crate::method::similarity_index::is_hit;
use crate::signature::{Feature, Signature};

/// The share of probability that an interval leaves out at each of its ends: 95 % are inside.
const TAIL: f64 = 0.025;

/// A ratio, and the interval that holds the true one in 95 of 100 cases.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// How much of the sample agrees: features, or bytes where features are chunks.
    pub agreeing: u64,
    /// How much there is of it; at least 1.
    pub sample: u64,
    /// The interval, from 0 to 1.
    pub interval: [f64; 2],
    /// Whether nothing was estimated: all that the documents consist of was compared.
    pub exact: bool,
}

impl Estimate {
    /// The ratio itself.
    pub fn ratio(&self) -> f64 {
        float(self.agreeing) / float(self.sample)
    }

    /// Everything was compared: the interval is the ratio. `None` where there is nothing to compare.
    pub(crate) fn exact(agreeing: u64, sample: u64) -> Option<Estimate> {
        let ratio = (sample > 0).then(|| float(agreeing) / float(sample))?;
        Some(Estimate { agreeing, sample, interval: [ratio, ratio], exact: true })
    }

    /// A sample of independent draws, or of something so large that they are as good as that.
    pub(crate) fn binomial(agreeing: u64, sample: u64) -> Option<Estimate> {
        (sample > 0).then(|| Estimate { agreeing, sample, interval: binomial_interval(agreeing, sample), exact: false })
    }

    /// A sample from about `population` that are there in all.
    pub(crate) fn drawn(agreeing: u64, sample: u64, population: u64) -> Option<Estimate> {
        let interval = || hypergeometric_interval(agreeing, sample, population.max(sample));
        (sample > 0).then(|| Estimate { agreeing, sample, interval: interval(), exact: false })
    }
}

/// What two signatures say of their documents. What a method cannot say is `None`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Likeness {
    /// What they share, of what either has.
    pub resemblance: Option<Estimate>,
    /// What of the first is in the second.
    pub a_in_b: Option<Estimate>,
    /// What of the second is in the first.
    pub b_in_a: Option<Estimate>,
    /// For methods that only propose pairs (`fuzzy`, `similarity-index`): whether they propose this one, the second to one
    /// who asks for the first. For others, whether there is anything in common.
    pub is_candidate: bool,
}

/// How much two lists of features, each ascending and without repeats, have in common.
struct Overlap {
    common: u64,
    a: u64,
    b: u64,
}

impl Overlap {
    fn of(a: &[Feature], b: &[Feature]) -> Overlap {
        let (mut rest, mut common) = (b, 0);
        for feature in a {
            let skipped = rest.iter().take_while(|other| *other < feature).count();
            rest = &rest[skipped..];
            common += u64::from(rest.first() == Some(feature));
        }
        Overlap { common, a: a.len() as u64, b: b.len() as u64 }
    }

    fn union(&self) -> u64 {
        self.a + self.b - self.common
    }
}

/// Features that are a fair sample of the windows, each drawn by itself: MOD and its relatives. `exact` says that all are
/// there.
pub(crate) fn by_sampled_sets(a: &[Feature], b: &[Feature], exact: bool) -> Likeness {
    let overlap = Overlap::of(a, b);
    let ratio = if exact { Estimate::exact } else { Estimate::binomial };
    Likeness {
        resemblance: ratio(overlap.common, overlap.union()),
        a_in_b: ratio(overlap.common, overlap.a),
        b_in_a: ratio(overlap.common, overlap.b),
        is_candidate: overlap.common > 0,
    }
}

/// The s smallest of each: the s smallest of both together, and how many of these are in both.
pub(crate) fn by_smallest(a: &Signature, b: &Signature, s: u64) -> Likeness {
    let overlap = Overlap::of(&a.features, &b.features);
    let whole = |signature: &Signature| (signature.features.len() as u64) < s;
    let resemblance = if whole(a) && whole(b) {
        // Neither has more windows than these, but for repeats.
        Estimate::exact(overlap.common, overlap.union())
    } else {
        let mut both: Vec<&Feature> = a.features.iter().chain(&b.features).collect();
        both.sort_unstable_by_key(|feature| feature.order());
        let (mut sample, mut agreeing) = (0, 0);
        let mut rest = both.as_slice();
        while let [first, after @ ..] = rest
            && sample < s
        {
            let is_common = after.first() == Some(first);
            agreeing += u64::from(is_common);
            sample += 1;
            rest = &after[usize::from(is_common)..];
        }
        // Windows a + windows b count what is common twice.
        let population = (a.windows + b.windows).saturating_mul(sample) / (sample + agreeing).max(1);
        Estimate::drawn(agreeing, sample, population)
    };
    Likeness { resemblance, a_in_b: None, b_in_a: None, is_candidate: overlap.common > 0 }
}

/// The s smallest of one window in m: as before, but fewer than s are not all there is.
pub(crate) fn by_smallest_of_mod(a: &Signature, b: &Signature, s: u64) -> Likeness {
    let likeness = by_smallest(a, b, s);
    let estimated = |found: Estimate| Estimate::binomial(found.agreeing, found.sample);
    Likeness { resemblance: likeness.resemblance.and_then(estimated), ..likeness }
}

/// Samples of places: the share of the n at which the two agree.
pub(crate) fn by_places(a: &[Feature], b: &[Feature], n: u64) -> Likeness {
    let common = Overlap::of(a, b).common;
    let sample = if a.is_empty() || b.is_empty() { 0 } else { n };
    Likeness { resemblance: Estimate::binomial(common, sample), a_in_b: None, b_in_a: None, is_candidate: common > 0 }
}

/// Chunks, with repeats: bytes in common, a lower bound of what the documents share, and exact as that.
pub(crate) fn by_weights(a: &Signature, b: &Signature) -> Likeness {
    let sorted = |signature: &Signature| {
        let mut features = signature.features.clone();
        features.sort_unstable();
        features
    };
    let (a, b) = (sorted(a), sorted(b));
    let mut rest = b.as_slice();
    let mut shared = 0;
    for feature in &a {
        let skipped = rest.iter().take_while(|other| *other < feature).count();
        rest = &rest[skipped..];
        if let [first, after @ ..] = rest
            && first == feature
        {
            shared += u64::from(feature.weight);
            rest = after;
        }
    }
    let bytes = |features: &[Feature]| features.iter().map(|feature| u64::from(feature.weight)).sum::<u64>();
    let (bytes_a, bytes_b) = (bytes(&a), bytes(&b));
    Likeness {
        resemblance: Estimate::exact(shared, bytes_a + bytes_b - shared),
        a_in_b: Estimate::exact(shared, bytes_a),
        b_in_a: Estimate::exact(shared, bytes_b),
        is_candidate: shared > 0,
    }
}

/// A feature in common proposes a pair, and says no more.
pub(crate) fn by_collision(a: &[Feature], b: &[Feature]) -> Likeness {
    let is_candidate = Overlap::of(a, b).common > 0;
    Likeness { resemblance: None, a_in_b: None, b_in_a: None, is_candidate }
}

/// The second lies within 30 % of the first.
pub(crate) fn by_range(a: &Signature, b: &Signature) -> Likeness {
    let is_candidate = matches!((a.index, b.index), (Some(query), Some(other)) if is_hit(query, other));
    Likeness { resemblance: None, a_in_b: None, b_in_a: None, is_candidate }
}

/// How probable it is that the estimate from `sample` draws lies within `error` of the true ratio: Broder's p(s, r, ε).
///
/// (The sum's upper limit is printed as s (r - ε) there; s (r + ε) is meant.)
pub fn within(sample: u64, ratio: f64, error: f64) -> f64 {
    let (least, most) = (float(sample) * (ratio - error), float(sample) * (ratio + error));
    // What division and multiplication leave of a whole number must not decide.
    let slack = 1e-9 * float(sample).max(1.0);
    let inside = |k: u64| (least - slack..=most + slack).contains(&float(k));
    Binomial { draws: sample, ratio }.probability(inside)
}

/// The interval of Clopper and Pearson: the ratios under which `agreeing` of `sample` is not in the outer 2.5 % at either end.
pub fn binomial_interval(agreeing: u64, sample: u64) -> [f64; 2] {
    let at = |ratio| Binomial { draws: sample, ratio };
    let low = match agreeing {
        0 => 0.0,
        _ => crossing(|ratio| at(ratio).probability(|k| k >= agreeing) > TAIL),
    };
    let high =
        if agreeing == sample { 1.0 } else { crossing(|ratio| at(ratio).probability(|k| k <= agreeing) <= TAIL) };
    [low, high]
}

/// The same where the sample is drawn from `population`, without putting back.
pub fn hypergeometric_interval(agreeing: u64, sample: u64, population: u64) -> [f64; 2] {
    let at = |common: u64| Hypergeometric { draws: sample, common, population };
    let (least, most) = (agreeing, population - (sample - agreeing));
    // The least number in common that is not too few, and the greatest that is not too many.
    let low = least_that(least, most, |common| at(common).probability(|k| k >= agreeing) > TAIL);
    let high = least_that(least, most, |common| at(common).probability(|k| k <= agreeing) <= TAIL);
    let is_beyond = at(high).probability(|k| k <= agreeing) <= TAIL;
    let high = if is_beyond && high > least { high - 1 } else { high };
    [float(low) / float(population), float(high) / float(population)]
}

/// Where a condition that holds above some ratio begins to hold.
fn crossing(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut below, mut above) = (0.0, 1.0);
    for _ in 0..40 {
        let middle = (below + above) / 2.0;
        if holds(middle) { above = middle } else { below = middle }
    }
    (below + above) / 2.0
}

/// The least number from `least` to `most` for which a condition holds that holds above some number; `most` if none.
fn least_that(least: u64, most: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut below, mut above) = (least, most);
    while below < above {
        let middle = below + (above - below) / 2;
        if holds(middle) { above = middle } else { below = middle + 1 }
    }
    below
}

/// How many of so many draws succeed.
trait Draws {
    /// The numbers that can come out.
    fn range(&self) -> (u64, u64);

    /// One of the most probable.
    fn mode(&self) -> u64;

    /// P(k + 1) / P(k).
    fn step(&self, k: u64) -> f64;

    /// The probability of all numbers that `counts`.
    fn probability(&self, counts: impl Fn(u64) -> bool) -> f64 {
        let (least, most) = self.range();
        let mode = self.mode().clamp(least, most);
        let (mut all, mut counted) = (0.0, 0.0);
        let mut add = |k: u64, weight: f64| {
            all += weight;
            if counts(k) {
                counted += weight;
            }
            // What is left beyond is less than can be told.
            weight > 1e-18
        };
        // Weights relative to that of the mode; no factorials, no logarithms.
        let (mut k, mut weight) = (mode, 1.0);
        while add(k, weight) && k < most {
            weight *= self.step(k);
            k += 1;
        }
        (k, weight) = (mode, 1.0);
        while k > least {
            weight /= self.step(k - 1);
            k -= 1;
            if !add(k, weight) {
                break;
            }
        }
        counted / all
    }
}

struct Binomial {
    draws: u64,
    ratio: f64,
}

impl Draws for Binomial {
    fn range(&self) -> (u64, u64) {
        match self.ratio {
            ratio if ratio <= 0.0 => (0, 0),
            ratio if ratio >= 1.0 => (self.draws, self.draws),
            _ => (0, self.draws),
        }
    }

    fn mode(&self) -> u64 {
        whole((float(self.draws) + 1.0) * self.ratio)
    }

    fn step(&self, k: u64) -> f64 {
        float(self.draws - k) / float(k + 1) * (self.ratio / (1.0 - self.ratio))
    }
}

struct Hypergeometric {
    draws: u64,
    common: u64,
    population: u64,
}

impl Draws for Hypergeometric {
    fn range(&self) -> (u64, u64) {
        ((self.draws + self.common).saturating_sub(self.population), self.draws.min(self.common))
    }

    fn mode(&self) -> u64 {
        whole((float(self.draws) + 1.0) * (float(self.common) + 1.0) / (float(self.population) + 2.0))
    }

    fn step(&self, k: u64) -> f64 {
        let others_left = self.population + k + 1 - self.common - self.draws;
        float(self.common - k) * float(self.draws - k) / (float(k + 1) * float(others_left))
    }
}

#[expect(clippy::cast_precision_loss, reason = "ratios are told to four decimals")]
fn float(count: u64) -> f64 {
    count as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count that came from counts")]
fn whole(count: f64) -> u64 {
    count as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn close(found: f64, expected: f64, error: f64) {
        assert!((found - expected).abs() <= error, "{found} is not {expected}");
    }

    #[test]
    fn probabilities_are_those_of_the_distributions() {
        // Ten throws of a coin: 252 of 1024 come to five.
        close(within(10, 0.5, 0.0), 252.0 / 1024.0, 1e-12);
        close(within(10, 0.5, 0.1), 672.0 / 1024.0, 1e-12);
        close(within(10, 0.5, 0.5), 1.0, 1e-12);
        close(within(100, 1.0, 0.0), 1.0, 1e-12);
        // Five cards of 52: one ace with a probability of 0.299473636.
        let aces = Hypergeometric { draws: 5, common: 4, population: 52 };
        close(aces.probability(|k| k == 1), 0.299_473_636, 1e-9);
        close(aces.probability(|k| k == 4), 0.000_018_469, 1e-9);
    }

    #[test]
    fn a_pair_below_50_per_cent_is_never_taken_for_one_above_90() {
        // Broder: less than 0.1 % for the whole Web of 30 million documents, with 100 samples; 4.5e14 pairs.
        let above = Binomial { draws: 100, ratio: 0.5 }.probability(|k| k > 90);
        assert!(above * 4.5e14 < 0.001, "{above}");
    }

    #[test]
    fn intervals_are_the_published_ones() {
        // Clopper and Pearson's tables at 95 %, and the rule of three for none.
        let check = |agreeing, sample, low, high| {
            let [found_low, found_high] = binomial_interval(agreeing, sample);
            close(found_low, low, 5e-5);
            close(found_high, high, 5e-5);
        };
        check(0, 10, 0.0, 0.3085);
        check(5, 10, 0.1871, 0.8129);
        check(10, 10, 0.6915, 1.0);
        check(81, 263, 0.2527, 0.3676);
        check(0, 100, 0.0, 0.0362);
    }

    #[test]
    fn a_sample_of_everything_leaves_no_doubt() {
        for agreeing in 0..=20 {
            let [low, high] = hypergeometric_interval(agreeing, 20, 20);
            close(low, float(agreeing) / 20.0, 1e-12);
            close(high, float(agreeing) / 20.0, 1e-12);
        }
    }

    #[test]
    fn a_sample_of_very_much_is_as_good_as_independent_draws() {
        for agreeing in [0, 1, 50, 99, 100] {
            let [low, high] = hypergeometric_interval(agreeing, 100, 100_000_000);
            let [binomial_low, binomial_high] = binomial_interval(agreeing, 100);
            close(low, binomial_low, 1e-5);
            close(high, binomial_high, 1e-5);
        }
        // And the smaller the population, the narrower.
        let width = |population| {
            let [low, high] = hypergeometric_interval(50, 100, population);
            high - low
        };
        assert!(width(150) < width(300) && width(300) < width(100_000));
    }
}
