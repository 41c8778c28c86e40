//! The fingerprints of texts, and the pairs that have one in common.

use std::collections::{HashMap, HashSet};

use cognate_fingerprint::{Method, Signature};

use crate::error::Error;
use crate::methods::{sign, signer};
use crate::statistics::share;
use crate::threads::each;

/// The parameters of the product.
pub(super) const DEFAULT: &str = "";
/// Other parameters for passages: narrow and wide intervals.
pub(super) const OTHERS: [&str; 2] = ["k=18,step=30", "k=10,step=60"];
/// The numbers of classes that are compared: the paper's range.
pub(super) const CLASSES: [u32; 6] = [10, 14, 18, 22, 26, 30];
/// The numbers of intervals and the distances between their bounds that are compared.
pub(super) const INTERVALS: [(u32, u32); 5] = [(2, 30), (3, 30), (3, 45), (3, 60), (3, 75)];

/// The parameters as a reader sees them.
pub(super) fn name(param: &str) -> String {
    if param.is_empty() { "default".to_owned() } else { param.replace(',', ", ") }
}

/// The signatures of texts, in their order.
pub(super) fn fingerprints(method: &Method, texts: &[&[u8]]) -> Result<Vec<Signature>, Error> {
    each(texts.len(), |number| sign(&mut signer(method), texts[number]))
}

/// The share of all pairs that have a fingerprint in common.
pub(super) fn collisions(signatures: &[Signature]) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::method;

    #[test]
    fn collisions_are_pairs_with_a_fingerprint_in_common() {
        let method = method("fuzzy", "r=3,rho=3").unwrap();
        let text = "the storm took the tree and some more of the apple wood near the harbour ";
        let (same, other) = (text.repeat(9), "zebra quokka yak jackal viper ".repeat(30));
        let signatures = fingerprints(&method, &[same.as_bytes(), other.as_bytes(), same.as_bytes()]).unwrap();
        assert!((collisions(&signatures) - 1.0 / 3.0).abs() < 1e-12);
    }
}
