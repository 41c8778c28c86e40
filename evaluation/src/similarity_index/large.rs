//! The index over a large collection: the paper's future work.

use cognate_fingerprint::{Formula, is_hit};

use crate::document::Document;
use crate::error::Error;
use crate::findings::{Agreement, Findings, Table};
use crate::methods::{sign, signer};
use crate::relatives::closest_pairs;
use crate::rng::Rng;
use crate::setting::Setting;
use crate::similarity_index::documents::collection;
use crate::similarity_index::score::{hash, hits, index_method};
use crate::statistics::{mean, per_cent, share};
use crate::threads::each;
use crate::truth::jaccard;

/// The greatest number of queries in a large collection of which a hit is examined.
const SAMPLE: usize = 3000;
/// The formulas that are asked, each with its k; true for signed hashes.
const ASKED: [(&str, usize, bool); 5] =
    [("43B", 40, true), ("43B", 40, false), ("47C", 40, true), ("3B", 16, true), ("21A", 40, false)];

/// Adds the hits of queries in a large collection.
pub(super) fn add(setting: &Setting<'_>, findings: &mut Findings) -> Result<(), Error> {
    let documents = collection(setting, setting.either(4000, 10_000))?;
    findings.fact("large collection", format!("{} documents", documents.len()));
    let resemblance = |a: usize, b: usize| jaccard(&documents[a].bytes, &documents[b].bytes, 20);
    let alike: Vec<(usize, usize)> =
        closest_pairs(&documents).into_iter().filter(|&(a, b)| resemblance(a, b) >= 0.7).collect();
    let mut measured = Vec::new();
    for (number, (formula, k, signed)) in ASKED.into_iter().enumerate() {
        setting.step("asking a large collection", number, ASKED.len())?;
        let indexes = index_collection(&documents, formula, (k, 100), signed)?;
        let mut rng = Rng::of(setting.seed, number as u64);
        measured.push(measure(&indexes, &alike, &mut rng, &resemblance));
    }
    tabulate(&measured, findings);
    compare(&measured[0], documents.len(), findings);
    Ok(())
}

fn index_collection(
    documents: &[Document],
    formula: &str,
    parameters: (usize, usize),
    signed: bool,
) -> Result<Vec<Option<i128>>, Error> {
    let parsed = Formula::parse(formula).ok_or_else(|| Error::Method(format!("no way {formula}")))?;
    let method = index_method(parsed, parameters, signed)?;
    each(documents.len(), |place| {
        Ok(sign(&mut signer(&method), &documents[place].bytes).ok().and_then(|signature| signature.index))
    })
}

/// The hits of all queries under one formula.
struct Measured {
    /// The documents that have an index.
    documents: usize,
    /// The mean number of hits of a query.
    hits: f64,
    /// The share of sampled hits whose documents have at least a tenth of their windows in common.
    right: f64,
    /// The share of the pairs of relatives that are hits.
    recall: f64,
}

impl Measured {
    fn share_of_collection(&self) -> f64 {
        self.hits / self.documents.max(1) as f64
    }

    fn false_positives(&self) -> f64 {
        self.hits * (1.0 - self.right)
    }
}

fn measure(
    indexes: &[Option<i128>],
    alike: &[(usize, usize)],
    rng: &mut Rng,
    resemblance: &dyn Fn(usize, usize) -> f64,
) -> Measured {
    let mut sorted: Vec<(i128, usize)> =
        indexes.iter().enumerate().filter_map(|(at, index)| Some(((*index)?, at))).collect();
    sorted.sort_unstable();
    let (mut counts, mut sampled, mut right) = (Vec::new(), 0, 0);
    let every = sorted.len().div_ceil(SAMPLE).max(1);
    for (place, &(query, at)) in sorted.iter().enumerate() {
        let first = sorted.partition_point(|(other, _)| *other < query && !is_hit(query, *other));
        let after = first + sorted[first..].partition_point(|(other, _)| is_hit(query, *other));
        counts.push((after - first).saturating_sub(1) as f64);
        // Of a few hits the true resemblance is computed.
        if after - first > 1 && place % every == 0 {
            let other = sorted[first + rng.below(after - first)].1;
            if other != at {
                sampled += 1;
                right += usize::from(resemblance(at, other) >= 0.1);
            }
        }
    }
    let is_found = |pair: &&(usize, usize)| hits(indexes, pair.0, pair.1);
    let found = alike.iter().filter(is_found).count();
    Measured {
        documents: sorted.len(),
        hits: mean(&counts),
        right: share(right, sampled),
        recall: share(found, alike.len()),
    }
}

fn tabulate(measured: &[Measured], findings: &mut Findings) {
    let mut table = Table::new(
        "similarity-index-large",
        "A query in a large collection",
        &[
            "way",
            "k",
            "hash",
            "documents",
            "hits a query",
            "share of the collection",
            "of the hits really alike",
            "false positives a query",
            "of the relatives found",
        ],
    );
    for ((formula, k, signed), one) in ASKED.into_iter().zip(measured) {
        table.row([
            formula.into(),
            k.into(),
            hash(signed).into(),
            one.documents.into(),
            one.hits.into(),
            one.share_of_collection().into(),
            one.right.into(),
            one.false_positives().into(),
            one.recall.into(),
        ]);
    }
    findings.tables.push(table);
}

fn compare(best: &Measured, documents: usize, findings: &mut Findings) {
    findings.compare("6.1: a much larger collection (future work)", "\"to really determine the robustness … a much larger collection\"", "at most 10 false positives a query, and 90 % of the pairs that are 70 % alike found", format!(
            "{documents} documents, 43B, k = 40: {:.0} hits a query, {} of the collection; {} of a sample of them are alike \
             at all (10 % of their windows of 20 bytes), so that {:.0} are false positives; {} of the pairs that are 70 % alike \
             are found",
            best.hits,
            per_cent(best.share_of_collection()),
            per_cent(best.right),
            best.false_positives(),
            per_cent(best.recall)
        ), Agreement::of(best.false_positives() <= 10.0 && best.recall >= 0.9), "one number does not distinguish thousands of documents: most hits have only their length in common. It can propose candidates that another method verifies");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_are_counted_without_the_query_itself() {
        // 100 and 110 are hits for each other, 1000 for nobody; the fourth has no index.
        let indexes = [Some(100), Some(1000), Some(110), None];
        let measured = measure(&indexes, &[(0, 2), (0, 1), (0, 3)], &mut Rng::new(1), &|_, _| 1.0);
        assert_eq!(measured.documents, 3);
        assert!((measured.hits - 2.0 / 3.0).abs() < 1e-12 && (measured.recall - 1.0 / 3.0).abs() < 1e-12);
        assert!((measured.share_of_collection() - 2.0 / 9.0).abs() < 1e-12);
        // Every sampled hit is right, or none is.
        for (resemblance, false_positives) in [(1.0, 0.0), (0.0, 2.0 / 3.0)] {
            let measured = measure(&[Some(100), Some(110), Some(1000)], &[], &mut Rng::new(3), &|_, _| resemblance);
            let is_sampled = measured.right > 0.0 || resemblance < 0.1;
            assert!(!is_sampled || (measured.false_positives() - false_positives).abs() < 1e-12);
        }
    }
}
