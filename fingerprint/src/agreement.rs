//! The part of two samples that agrees, from their features alone and without an interval: cheap enough to decide about very
//! many pairs.

use crate::algorithm::Algorithm;
use crate::method::Method;
use crate::method::levels::{at_level, level_of};
use crate::method::shingle::Sample;
use crate::signature::Feature;

/// The part of two samples that agrees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Agreement {
    /// A sample of the features that either document has.
    Sample {
        /// The features of the sample that are in both.
        agreeing: u64,
        /// The size of the sample.
        sample: u64,
        /// True if the sample holds everything that the documents consist of.
        whole: bool,
    },
    /// Two samples that can be compared as sets.
    Sets {
        /// The features in both.
        common: u64,
        /// The features of the first.
        a: u64,
        /// The features of the second.
        b: u64,
        /// True if the samples hold everything that the documents consist of.
        whole: bool,
    },
}

impl Method {
    /// The part of two signatures that agrees, from their features, each list ascending and without repeats. `None` if there
    /// is nothing to compare, if features are chunks, or if the method only proposes pairs.
    pub fn agreement(&self, a: &[Feature], b: &[Feature]) -> Option<Agreement> {
        let found = match *self.algorithm() {
            Algorithm::Mod(sampled) => sets(a, b, sampled.n == 1),
            Algorithm::Bsw(_) => sets(a, b, false),
            Algorithm::Min(sampled) => smallest(a, b, sampled.n.into(), true),
            Algorithm::Sketch(sampled) => {
                let sample = if a.is_empty() || b.is_empty() { 0 } else { u64::from(sampled.n) };
                Agreement::Sample { agreeing: common(a, b), sample, whole: false }
            }
            Algorithm::Shingle(shingle) => match shingle.sample {
                Sample::All => sets(a, b, true),
                Sample::Mod { m } => sets(a, b, m == 1),
                Sample::Min { s } => smallest(a, b, s.into(), true),
                Sample::MinOfMod { m, s } => smallest(a, b, s.into(), m == 1),
                Sample::Levels { s } => {
                    let level = level_of(a, s).max(level_of(b, s));
                    sets(&at_level(a, level), &at_level(b, level), level == 0)
                }
            },
            Algorithm::Tttd { .. }
            | Algorithm::BswChunk(_)
            | Algorithm::Fuzzy(_)
            | Algorithm::SimilarityIndex(_)
            | Algorithm::Terms => return None,
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

/// The s smallest of both together, and the number of them that are in both. Lists of fewer than s hold everything, unless
/// they are a sample themselves (`of_all` is false then).
fn smallest(a: &[Feature], b: &[Feature], s: u64, of_all: bool) -> Agreement {
    let whole = of_all && (a.len() as u64) < s && (b.len() as u64) < s;
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
    use crate::signature::Signature;
    use crate::view::View;

    fn text(words: std::ops::Range<u32>) -> String {
        words.map(|word| format!("{}{word} ", char::from(b'a' + u8::try_from(word % 26).unwrap()))).collect()
    }

    #[test]
    fn the_agreement_is_that_of_the_estimator() {
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
