//! What a sample of the documents says about all of them: of each repository the share that another one has, with an interval.
//!
//! Copies are drawn by their sizes and versions by their places ([`cognate_proto::selection::Drawn`]), so a document counts in
//! two ways that add up: it is identical to one of the other repository, or else it is linked to the one at its place there.
//! What is alike and has another name, and is no copy, is not found: the estimate is then too low.

use std::collections::{HashMap, HashSet};

use cognate_fingerprint::binomial_interval;
use cognate_proto::selection::{Drawn, place};
use serde::Serialize;

use super::order::RootPlace;
use super::{Ratio, Report};
use crate::error::Error;

/// Pairs of more repositories than this are too many to estimate.
const ROOTS_MAX: usize = 4;

/// The share of a repository that another one has, as a sample says.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct SampledOverlap {
    /// The other repository, as `site/repository`.
    pub at: String,
    /// The share of the bytes: the estimate, and the ends of its interval.
    pub bytes: [Ratio; 3],
    /// The share of the documents, in the same form.
    pub documents: [Ratio; 3],
    /// The repository of which it is the share.
    pub of: String,
    /// Documents of it in the sample.
    pub sampled: u64,
}

/// A document in a sample, and what the other repository has of it.
#[derive(Clone, Copy, Debug)]
struct Document {
    /// The hash of its place, and its size: documents of one class are drawn together.
    place: u64,
    size_bytes: u64,
    drawn: Drawn,
    is_identical: bool,
    /// The bytes that it shares with the document at its place, if that is a version of it.
    version_bytes: u64,
}

impl Report {
    /// What the sample says, where the scan compared one; nothing for a part of the report.
    pub(super) fn sampled_overlap(&self, percent: Option<u32>) -> Result<Vec<SampledOverlap>, Error> {
        let Some(percent) = percent.filter(|_| !self.is_part() && self.roots.len() <= ROOTS_MAX) else {
            return Ok(Vec::new());
        };
        let name = |root: &RootPlace| format!("{}/{}", root.site, root.repository);
        let names: Vec<(i64, String)> = (0..).zip(self.roots.iter().map(name)).collect();
        let sql = "SELECT root, path, size_bytes, content FROM document WHERE listed AND content IS NOT NULL";
        let rows: Vec<(i64, Vec<u8>, u64, i64)> = self.rows(sql, ())?;
        let mut links: HashMap<(i64, i64), u64> = HashMap::new();
        self.each_row("SELECT a, b, shared_bytes FROM link", (), |(a, b, shared)| {
            links.extend([((a, b), shared), ((b, a), shared)]);
            Ok::<_, Error>(())
        })?;
        let mut all = Vec::new();
        for (of, of_name) in &names {
            for (at, at_name) in names.iter().filter(|(at, _)| at != of) {
                let there = || rows.iter().filter(|(root, ..)| root == at);
                let contents: HashSet<i64> = there().map(|(.., content)| *content).collect();
                let mut versions: HashMap<&[u8], Vec<i64>> = HashMap::new();
                there().for_each(|(_, path, _, content)| versions.entry(place(path)).or_default().push(*content));
                let own = rows.iter().filter(|(root, ..)| root == of).map(|(_, path, size_bytes, content)| {
                    let shared =
                        versions.get(place(path)).into_iter().flatten().filter_map(|at| links.get(&(*content, *at)));
                    let hash = blake3::hash(place(path));
                    Document {
                        place: u64::from_le_bytes(*hash.as_bytes().first_chunk().expect("a hash has 32 bytes")),
                        size_bytes: *size_bytes,
                        drawn: Drawn::of(path, *size_bytes, percent),
                        is_identical: contents.contains(content),
                        version_bytes: shared.max().copied().unwrap_or(0).min(*size_bytes),
                    }
                });
                let own: Vec<Document> = own.collect();
                if own.is_empty() {
                    continue;
                }
                all.push(SampledOverlap {
                    at: at_name.clone(),
                    bytes: share(&own, |document| document.size_bytes, |document| document.version_bytes),
                    documents: share(&own, |_| 1, |document| u64::from(document.version_bytes > 0)),
                    of: of_name.clone(),
                    sampled: own.len() as u64,
                });
            }
        }
        Ok(all)
    }
}

/// A share of what documents weigh, and its interval. `version` is what counts of a document that is no copy.
fn share(documents: &[Document], weight: impl Fn(&Document) -> u64, version: impl Fn(&Document) -> u64) -> [Ratio; 3] {
    let by_size = documents.iter().filter(|document| document.drawn.by_size);
    let copies = by_size.map(|one| (one.size_bytes, weight(one), if one.is_identical { weight(one) } else { 0 }));
    let by_place = documents.iter().filter(|document| document.drawn.by_place);
    let versions = by_place.map(|one| (one.place, weight(one), if one.is_identical { 0 } else { version(one) }));
    let (copies, versions) = (ratio(copies), ratio(versions));
    let share = (copies.share + versions.share).clamp(0.0, 1.0);
    let variance = copies.variance + versions.variance;
    // So many independent draws would vary as much; classes that are all alike are no more than as many draws as they are.
    let draws_max = copies.draws.min(versions.draws);
    let draws = match variance > 0.0 {
        true => (share * (1.0 - share) / variance).clamp(1.0, draws_max),
        false => draws_max,
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "there are at least 0 and few draws")]
    let ends = |found: f64| binomial_interval(found as u64, (draws as u64).max(1));
    let [low, _] = ends((share * draws).floor());
    let [_, high] = ends((share * draws).ceil());
    #[expect(clippy::cast_possible_truncation, reason = "it is between 0 and 10,000")]
    let ratio = |share: f64| Ratio((share * 10_000.0).round() as i64);
    [ratio(share), ratio(low.min(share)), ratio(high.max(share))]
}

/// A share of sums over classes that are drawn independently, with its variance.
struct Summed {
    share: f64,
    variance: f64,
    /// Classes, by the weight that they have: one that outweighs all others is one draw.
    draws: f64,
}

/// The ratio estimator over classes: the variance is that of the sums of their residuals.
fn ratio(documents: impl Iterator<Item = (u64, u64, u64)>) -> Summed {
    let mut classes: HashMap<u64, (f64, f64)> = HashMap::new();
    for (class, weight, common) in documents {
        let sums = classes.entry(class).or_default();
        #[expect(clippy::cast_precision_loss, reason = "an estimate needs no more")]
        let (weight, common) = (weight as f64, common as f64);
        sums.0 += weight;
        sums.1 += common;
    }
    // The sums must not depend on the order of a table of hashes.
    let mut classes: Vec<(u64, (f64, f64))> = classes.into_iter().collect();
    classes.sort_unstable_by_key(|(class, _)| *class);
    let (weight, common) = classes.iter().fold((0.0, 0.0), |sums, (_, (w, c))| (sums.0 + w, sums.1 + c));
    if weight <= 0.0 {
        return Summed { share: 0.0, variance: 0.0, draws: 1.0 };
    }
    let share = common / weight;
    let residuals: f64 = classes.iter().map(|(_, (w, c))| (c - share * w).powi(2)).sum();
    let squares: f64 = classes.iter().map(|(_, (w, _))| w.powi(2)).sum();
    #[expect(clippy::cast_precision_loss, reason = "a sample has few classes")]
    let count = classes.len() as f64;
    let variance = if count > 1.0 { residuals / weight.powi(2) * count / (count - 1.0) } else { 1.0 };
    Summed { share, variance, draws: weight.powi(2) / squares }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cognate_fingerprint::SplitMix64;

    /// Documents of a repository of which about a third are copies and a quarter versions; some names and some sizes are frequent.
    fn documents(seed: u64) -> Vec<Document> {
        let mut random = SplitMix64::new(seed);
        let mut draw = |below: u64| random.next() % below;
        (0..6000)
            .map(|number| {
                let path = match draw(10) {
                    0 => format!("{seed}/module {}/__init__.py", draw(300)),
                    _ => format!("{seed}/folder/{number}.txt"),
                };
                let size_bytes = if draw(5) == 0 { 100 + draw(40) } else { 1 + draw(200_000) + seed * 1000 };
                let fate = draw(12);
                let hash = blake3::hash(place(path.as_bytes()));
                Document {
                    place: u64::from_le_bytes(*hash.as_bytes().first_chunk().unwrap()),
                    size_bytes,
                    drawn: Drawn::of(path.as_bytes(), size_bytes, 5),
                    is_identical: fate < 4,
                    version_bytes: if (4..7).contains(&fate) { (size_bytes * 3 / 4).max(1) } else { 0 },
                }
            })
            .collect()
    }

    #[test]
    fn the_interval_of_a_sample_holds_the_true_share_in_95_of_100_repositories() {
        let (mut of_documents, mut of_bytes) = (0, 0);
        for seed in 1..=200 {
            let all = documents(seed);
            let drawn: Vec<Document> =
                all.iter().filter(|document| document.drawn.by_place || document.drawn.by_size).copied().collect();
            let holds = |[_, low, high]: [Ratio; 3], common: u64, total: u64| {
                let truth = i64::try_from(common * 10_000 / total).unwrap();
                i32::from((low.0..=high.0).contains(&truth))
            };
            let version = |one: &Document| u64::from(one.version_bytes > 0);
            let common = all.iter().map(|one| if one.is_identical { 1 } else { version(one) }).sum();
            of_documents += holds(share(&drawn, |_| 1, version), common, all.len() as u64);
            let common = all.iter().map(|one| if one.is_identical { one.size_bytes } else { one.version_bytes }).sum();
            let total = all.iter().map(|one| one.size_bytes).sum();
            of_bytes += holds(share(&drawn, |one| one.size_bytes, |one| one.version_bytes), common, total);
        }
        assert!(of_documents >= 190 && of_bytes >= 190, "{of_documents} and {of_bytes} of 200, seeds from 1 on");
    }

    #[test]
    fn nothing_and_all_in_common_have_intervals_too() {
        let of = |is_identical: bool| {
            let all = documents(7).into_iter().map(|one| Document { is_identical, version_bytes: 0, ..one });
            let drawn: Vec<Document> = all.filter(|one| one.drawn.by_place || one.drawn.by_size).collect();
            share(&drawn, |_| 1, |_| 0).map(|ratio| ratio.0)
        };
        let ([nothing, low, high], [all, least, most]) = (of(false), of(true));
        assert_eq!((nothing, low, all, most), (0, 0, 10_000, 10_000));
        assert!((1..1000).contains(&high) && (9000..10_000).contains(&least), "{high} {least}");
    }
}
