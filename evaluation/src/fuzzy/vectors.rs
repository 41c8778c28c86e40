//! The vector space model as scans use it to verify candidates: the counts of words without stop words, and the cosines of
//! all pairs.

use std::collections::HashMap;

use cognate_fingerprint::Feature;

use crate::error::Error;
use crate::methods::{method, sign, signer};
use crate::threads::each;

/// The most frequent words of English. A document with few of them is in another language, or no text.
pub(super) const FREQUENT: [&str; 24] = [
    "the", "of", "and", "to", "in", "a", "is", "that", "for", "it", "as", "was", "with", "be", "by", "on", "not", "he",
    "his", "but", "at", "are", "this", "which",
];
/// The cosine from which on documents are similar: the paper's shaded area.
pub(super) const SIMILAR: f64 = 0.8;

/// A text as a vector of unit length: term, weight; by term.
pub(super) type Vector = Vec<(u32, f64)>;

/// The words of a text, in lower case.
pub(super) fn terms(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// The term counts of texts as scans read them to verify a candidate, in their order.
pub(super) fn counted(texts: &[&[u8]]) -> Result<Vec<Vec<Feature>>, Error> {
    let method = method("terms", "")?;
    each(texts.len(), |number| Ok(sign(&mut signer(&method), texts[number])?.features))
}

/// The same as vectors, for the cosines of all pairs: each tag is twelve bytes of a word's hash and its count.
fn vectors(counted: &[Vec<Feature>]) -> Vec<Vector> {
    let mut numbers: HashMap<&[u8], u32> = HashMap::new();
    let mut all = Vec::with_capacity(counted.len());
    for features in counted {
        let mut vector: Vector = Vec::with_capacity(features.len());
        for feature in features {
            let (hash, count) = feature.tag.0.split_at(12);
            let next = u32::try_from(numbers.len()).expect("fewer words than 2^32");
            let count = u32::from_be_bytes(count.try_into().expect("four of sixteen bytes"));
            vector.push((*numbers.entry(hash).or_insert(next), f64::from(count)));
        }
        vector.sort_unstable_by_key(|(number, _)| *number);
        let length = vector.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt();
        vector.iter_mut().for_each(|(_, weight)| *weight /= length.max(f64::MIN_POSITIVE));
        all.push(vector);
    }
    all
}

/// All pairs above a similarity.
pub(super) fn cosines(counted: &[Vec<Feature>], least: f64) -> Result<Vec<(usize, usize, f64)>, Error> {
    let vectors = vectors(counted);
    let terms = vectors.iter().flatten().map(|(term, _)| *term as usize + 1).max().unwrap_or(0);
    let mut holders: Vec<Vec<(u32, f64)>> = vec![Vec::new(); terms];
    for (number, vector) in (0_u32..).zip(&vectors) {
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

#[cfg(test)]
mod tests {
    use cognate_fingerprint::cosine_of_features;

    use super::*;

    #[test]
    fn the_cosines_of_all_pairs_are_those_by_which_scans_verify() {
        let texts: [&[u8]; 5] =
            [b"rose tulip rose oak", b"oak elm rose", b"elm elm birch", b"Oak rose, the tulip and rose", b"the of"];
        let counted = counted(&texts).unwrap();
        let found = cosines(&counted, 0.0).unwrap();
        for a in 0..4 {
            for b in a + 1..4 {
                let expected = cosine_of_features(&counted[a], &counted[b]).unwrap();
                let pair = found.iter().find(|pair| (pair.0, pair.1) == (a, b)).unwrap();
                assert!((pair.2 - expected).abs() < 1e-12);
            }
        }
        let of = |a, b| found.iter().find(|pair| (pair.0, pair.1) == (a, b)).unwrap().2;
        assert!((of(0, 3) - 1.0).abs() < 1e-12 && of(0, 2).abs() < 1e-12 && of(0, 4).abs() < 1e-12);
        // (2, 1, 1) and (1, 1, 1) with two words in common: counts, not their logarithms.
        assert!((of(0, 1) - 3.0 / 18.0_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn words_are_in_lower_case_and_without_marks() {
        assert_eq!(terms("Füße, 3.14!".as_bytes()), ["füße", "3", "14"]);
    }
}
