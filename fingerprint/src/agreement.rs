//! How much of two samples agrees, from their features alone and before anything is said of how far that can be trusted:
//! what decides about very many pairs.

use crate::method::Method;
use crate::method::levels::at_level;
use crate::method::shingle::{Sample, Shingle};
use crate::recipe::Recipe;
use crate::signature::Feature;

/// How much of two samples agrees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Agreement {
    /// Of a sample of what either document has, so many are in both.
    Sample {
        /// In both.
        agreeing: u64,
        /// In all.
        sample: u64,
        /// Whether the sample is all there is.
        whole: bool,
    },
    /// Of two samples that can be compared as sets.
    Sets {
        /// In both.
        common: u64,
        /// In the first.
        a: u64,
        /// In the second.
        b: u64,
        /// Whether the samples are all there is.
        whole: bool,
    },
}

impl Method {
    /// How much of two signatures' features, ascending and each once, agrees. `None` where there is nothing to compare, or
    /// where the method only proposes pairs.
    ///
    /// The level of a signature of `levels` is read off its features, of which the least rare tells it.
    pub fn agreement(&self, a: &[Feature], b: &[Feature]) -> Option<Agreement> {
        let Method::Other { recipe, .. } = self else { return None };
        let found = match *recipe {
            Recipe::Mod(windowed) => sets(a, b, windowed.n == 1),
            Recipe::Bsw(_) => sets(a, b, false),
            Recipe::Min(windowed) => smallest(a, b, windowed.n.into(), true),
            Recipe::Sketch(windowed) => {
                let sample = if a.is_empty() || b.is_empty() { 0 } else { u64::from(windowed.n) };
                Agreement::Sample { agreeing: common(a, b), sample, whole: false }
            }
            Recipe::Shingle(Shingle { sample, .. }) => match sample {
                Sample::All => sets(a, b, true),
                Sample::Mod { m } => sets(a, b, m == 1),
                Sample::Min { s } => smallest(a, b, s.into(), true),
                Sample::MinOfMod { m, s } => smallest(a, b, s.into(), m == 1),
                Sample::Levels { s } => {
                    // Above level 0 at least s are expected: far fewer are of a short document, all of whose are there.
                    let least_rank = |features: &[Feature]| features.iter().map(Feature::rank).min().unwrap_or(0);
                    let is_short = |features: &[Feature]| 2 * (features.len() as u64) < u64::from(s);
                    let level = |features: &[Feature]| if is_short(features) { 0 } else { least_rank(features) };
                    let level = level(a).max(level(b));
                    sets(&at_level(a, level), &at_level(b, level), level == 0)
                }
            },
            Recipe::BswChunk(_) | Recipe::Fuzzy(_) | Recipe::SimilarityIndex(_) | Recipe::Terms => return None,
        };
        let is_something = match found {
            Agreement::Sample { sample, .. } => sample > 0,
            Agreement::Sets { a, b, .. } => a > 0 && b > 0,
        };
        is_something.then_some(found)
    }
}

fn common(a: &[Feature], b: &[Feature]) -> u64 {
    let (mut rest, mut common) = (b, 0);
    for feature in a {
        let skipped = rest.iter().take_while(|other| *other < feature).count();
        rest = &rest[skipped..];
        common += u64::from(rest.first() == Some(feature));
    }
    common
}

fn sets(a: &[Feature], b: &[Feature], whole: bool) -> Agreement {
    Agreement::Sets { common: common(a, b), a: a.len() as u64, b: b.len() as u64, whole }
}

/// The s smallest of both together, and how many of them are in both. Where both have fewer, that is all there is, unless
/// they are a sample themselves.
fn smallest(a: &[Feature], b: &[Feature], s: u64, all_below: bool) -> Agreement {
    let whole = all_below && (a.len() as u64) < s && (b.len() as u64) < s;
    let mut both: Vec<_> = a.iter().chain(b).map(Feature::order).collect();
    both.sort_unstable();
    let (mut sample, mut agreeing) = (0, 0);
    for same in both.chunk_by(|x, y| x == y) {
        if sample == s && !whole {
            break;
        }
        sample += 1;
        agreeing += u64::from(same.len() > 1);
    }
    Agreement::Sample { agreeing, sample, whole }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;
    use crate::method::View;
    use crate::signature::Signature;

    fn text(words: std::ops::Range<u32>) -> String {
        words.map(|word| format!("{}{word} ", char::from(b'a' + u8::try_from(word % 26).unwrap()))).collect()
    }

    #[test]
    fn what_agrees_is_what_the_estimator_says() {
        let texts = [text(0..3000), text(300..3300), text(0..40), text(20..60), text(2000..40_000), text(0..3)];
        for (name, param) in [
            ("mod", "n=20"),
            ("bsw", "n=20"),
            ("min", "n=50"),
            ("sketch", "n=50"),
            ("shingle", "sample=all"),
            ("shingle", "sample=mod,m=10"),
            ("shingle", "sample=min,s=60"),
            ("shingle", "sample=min-of-mod,m=4,s=30"),
            ("shingle", "sample=levels,s=40"),
        ] {
            let method = Method::parse(name, View::Text, None, param).unwrap();
            let mut signer = method.signer(&Key::none());
            let signatures: Vec<Signature> =
                texts.iter().map(|text| signer.read(&mut text.as_bytes()).unwrap()).collect();
            for a in &signatures {
                for b in &signatures {
                    let likeness = method.likeness(a, b);
                    let found = method.agreement(&a.features, &b.features);
                    let ratio = match found {
                        None => None,
                        Some(Agreement::Sample { agreeing, sample, .. }) => Some((agreeing, sample)),
                        Some(Agreement::Sets { common, a, b, .. }) => Some((common, a + b - common)),
                    };
                    // Of a short document nothing may be left at the level of a long one.
                    assert!(found.is_some() || likeness.resemblance.is_none_or(|estimate| estimate.agreeing == 0));
                    let expected = likeness.resemblance.map(|estimate| (estimate.agreeing, estimate.sample));
                    // One that has nothing resembles nothing.
                    if let Some(found) = found.filter(|_| !a.features.is_empty() && !b.features.is_empty()) {
                        assert_eq!(ratio, expected, "{name} {param}");
                        let whole = match found {
                            Agreement::Sample { whole, .. } | Agreement::Sets { whole, .. } => whole,
                        };
                        assert_eq!(whole, likeness.resemblance.unwrap().exact, "{name} {param}");
                    }
                }
            }
        }
    }
}
