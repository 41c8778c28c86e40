//! The vector space model: texts as weighted words, and the cosines of all pairs.

use std::collections::{BTreeMap, HashMap};

use crate::error::Error;
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

/// The vectors of texts: words except the most frequent, weighted with the logarithm of their count and of the inverse share
/// of texts that have them.
pub(super) fn vectors(texts: &[&[u8]]) -> Vec<Vector> {
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

/// The cosine of the angle between two vectors.
pub(super) fn cosine(a: &Vector, b: &Vector) -> f64 {
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
pub(super) fn cosines(vectors: &[Vector], least: f64) -> Result<Vec<(usize, usize, f64)>, Error> {
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
    fn vectors_have_length_one_and_leave_out_frequent_words() {
        let texts: [&[u8]; 3] = [b"rose and tulip and rose", b"the of and", b"oak"];
        let vectors = vectors(&texts);
        assert_eq!(vectors.iter().map(Vec::len).collect::<Vec<_>>(), [2, 0, 1]);
        for vector in vectors.iter().filter(|vector| !vector.is_empty()) {
            assert!((cosine(vector, vector) - 1.0).abs() < 1e-12);
        }
        assert_eq!(terms("Füße, 3.14!".as_bytes()), ["füße", "3", "14"]);
    }
}
