//! The probability that an estimate is close, and the interval that holds the true ratio.
//!
//! Source: A. Broder, "On the resemblance and containment of documents" (1997), section 4.2. Of a sample of s, k agree: k has
//! a hypergeometric distribution, which the binomial one approaches where the document is much larger than the sample. Only
//! additions, multiplications and divisions are made, so that every machine finds the same digits.

/// The probability that an interval leaves out at each of its ends: 95 % are inside.
const TAIL: f64 = 0.025;
/// The same for pairs that a report selects: 99 % are inside.
const TAIL_OF_SELECTED: f64 = 0.005;

/// The probability that an estimate from `sample` independent draws is within `error` of the true `ratio`, both 0 to 1.
///
/// Source: Broder 1997, section 4.2, p(s, r, ε). (The paper prints s (r - ε) as the upper limit of the sum; s (r + ε) is
/// meant.)
pub fn within(sample: u64, ratio: f64, error: f64) -> f64 {
    let (least, most) = (float(sample) * (ratio - error), float(sample) * (ratio + error));
    // A rounding error of an integer must not decide.
    let slack = 1e-9 * float(sample).max(1.0);
    let inside = |k: u64| (least - slack..=most + slack).contains(&float(k));
    Binomial { draws: sample, ratio }.probability(inside)
}

/// The probability that an estimate of which `agreeing` of `sample` draws agree is within a tenth of the true ratio, if that is the one it gives:
/// p(s, r, ε) for the ε of the paper's examples. `sample` is at least 1.
pub fn within_tenth(agreeing: u64, sample: u64) -> f64 {
    within(sample, float(agreeing) / float(sample), 0.1)
}

/// The interval of ratios under which `agreeing` of `sample` independent draws is not among the outer 2.5 % at either end.
///
/// Source: Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial" (1934).
/// `agreeing` is at most `sample`, and `sample` at least 1.
pub fn binomial_interval(agreeing: u64, sample: u64) -> [f64; 2] {
    binomial_interval_with(TAIL, agreeing, sample)
}

/// The same with 0.5 % at either end, for pairs that are selected by their estimates: the best of several is too high more often than not. Of the
/// best partners in three unlike collections 96 to 100 % of the true ratios are inside (`docs/methods.md`).
pub fn interval_of_selected(agreeing: u64, sample: u64) -> [f64; 2] {
    binomial_interval_with(TAIL_OF_SELECTED, agreeing, sample)
}

fn binomial_interval_with(tail: f64, agreeing: u64, sample: u64) -> [f64; 2] {
    let at = |ratio| Binomial { draws: sample, ratio };
    let low = match agreeing {
        0 => 0.0,
        _ => crossing(|ratio| at(ratio).probability(|k| k >= agreeing) > tail),
    };
    let high =
        if agreeing == sample { 1.0 } else { crossing(|ratio| at(ratio).probability(|k| k <= agreeing) <= tail) };
    [low, high]
}

/// A population from which on the draws are as good as independent, and above which counts would not be exact.
const POPULATION_MAX: u64 = 1 << 53;

/// The same interval for a sample that is drawn from `population` without replacement; `population` is at least `sample`.
pub fn hypergeometric_interval(agreeing: u64, sample: u64, population: u64) -> [f64; 2] {
    let population = population.min(POPULATION_MAX).max(sample);
    let at = |common: u64| Hypergeometric { draws: sample, common, population };
    let (least, most) = (agreeing, population - (sample - agreeing));
    // The least number in common that is not too small, and the greatest that is not too large.
    let low = least_that(least, most, |common| at(common).probability(|k| k >= agreeing) > TAIL);
    let high = least_that(least, most, |common| at(common).probability(|k| k <= agreeing) <= TAIL);
    let is_beyond = at(high).probability(|k| k <= agreeing) <= TAIL;
    let high = if is_beyond && high > least { high - 1 } else { high };
    [float(low) / float(population), float(high) / float(population)]
}

/// The ratio at which a condition that holds above some ratio begins to hold, to 40 bits.
fn crossing(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut below, mut above) = (0.0, 1.0);
    for _ in 0..40 {
        let middle = (below + above) / 2.0;
        if holds(middle) { above = middle } else { below = middle }
    }
    (below + above) / 2.0
}

/// The least number from `least` to `most` at which a condition holds, if it holds above some number; `most` if there is
/// none.
fn least_that(least: u64, most: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut below, mut above) = (least, most);
    while below < above {
        let middle = below + (above - below) / 2;
        if holds(middle) { above = middle } else { below = middle + 1 }
    }
    below
}

/// The distribution of the number of successes in a number of draws.
trait Draws {
    /// The least and the greatest number of successes.
    fn range(&self) -> (u64, u64);

    /// One of the most probable numbers.
    fn mode(&self) -> u64;

    /// P(k + 1) / P(k).
    fn step(&self, k: u64) -> f64;

    /// The probability of the numbers for which `counts` is true.
    fn probability(&self, counts: impl Fn(u64) -> bool) -> f64 {
        let (least, most) = self.range();
        let mode = self.mode().clamp(least, most);
        let (mut all, mut counted) = (0.0, 0.0);
        let mut add = |k: u64, weight: f64| {
            all += weight;
            if counts(k) {
                counted += weight;
            }
            // The probabilities beyond are too small to change the sum.
            weight > 1e-18
        };
        // The weights are relative to that of the mode: no factorials, no logarithms.
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
        truncated((float(self.draws) + 1.0) * self.ratio)
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
        truncated((float(self.draws) + 1.0) * (float(self.common) + 1.0) / (float(self.population) + 2.0))
    }

    fn step(&self, k: u64) -> f64 {
        let others_left = self.population + k + 1 - self.common - self.draws;
        float(self.common - k) * float(self.draws - k) / (float(k + 1) * float(others_left))
    }
}

#[expect(clippy::cast_precision_loss, reason = "ratios are shown with four decimals")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the mode of a distribution of counts is a count"
)]
fn truncated(count: f64) -> u64 {
    count as u64
}

#[cfg(test)]
mod tests;
