//! The reference implementation for tests of the engine: it compares every pair directly.
//!
//! It computes from the definitions alone and shares no code with the engine for counting, thresholds, clusters and
//! families. Its time grows with the square of the contents; use it on small inputs.

use std::collections::{BTreeMap, BTreeSet};

use cognate_similarity::{
    Cluster, ContentIndex, FAMILY_MEMBERS_MEASURED_MAX, Family, Input, Link, OverlapLevel, Posting, Resemblance,
};

/// A chunk: tag and length.
type Chunk = ([u8; 16], u32);
/// Number of occurrences of each chunk.
type Counts = BTreeMap<Chunk, u64>;

/// Bytes of a chunk under a label, in all copies and in each content once.
#[derive(Clone, Copy, Default)]
struct LabelBytes {
    bytes: u64,
    once_bytes: u64,
}

/// The thresholds of a link, the share as a plain fraction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OracleThresholds {
    /// Shared bytes that make a link.
    pub(crate) min_shared_bytes: u64,
    /// Share of the smaller content that makes a link: numerator and denominator.
    pub(crate) min_containment: [u64; 2],
}

/// The findings that the engine must equal; they have no statistics.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Reference {
    /// The clusters, by their smallest members.
    pub(crate) clusters: Vec<Cluster>,
    /// Overlap at each level.
    pub(crate) overlap: Vec<OverlapLevel>,
}

/// Finds clusters and overlap the slow way.
///
/// # Panics
///
/// If a posting or a label is out of range.
pub(crate) fn analyse(postings: &[Posting], input: &Input<'_>, thresholds: &OracleThresholds) -> Reference {
    let counts = count(postings, input.payload_bytes.len(), false);
    let mut shared = BTreeMap::new();
    let mut links = Vec::new();
    for a in 0..counts.len() {
        for b in a + 1..counts.len() {
            let bytes = shared_bytes(&counts[a], &counts[b]);
            shared.insert((a, b), bytes);
            if is_link(bytes, a, b, input, thresholds) && is_across(a, b, input) {
                links.push((a, b));
            }
        }
    }
    Reference { clusters: clusters(&links, &shared, input.payload_bytes), overlap: overlap(postings, input) }
}

fn count(postings: &[Posting], contents: usize, template: bool) -> Vec<Counts> {
    let mut counts = vec![Counts::new(); contents];
    for posting in postings.iter().filter(|posting| posting.template == template) {
        let chunk = (posting.tag.0, posting.length_bytes);
        *counts[posting.content.0 as usize].entry(chunk).or_default() += 1;
    }
    counts
}

fn shared_bytes(a: &Counts, b: &Counts) -> u64 {
    let both = a.iter().filter_map(|(chunk, mine)| Some((chunk, mine, b.get(chunk)?)));
    both.map(|(chunk, mine, theirs)| mine.min(theirs) * u64::from(chunk.1)).sum()
}

fn is_link(shared: u64, a: usize, b: usize, input: &Input<'_>, thresholds: &OracleThresholds) -> bool {
    let [numerator, denominator] = thresholds.min_containment;
    let contained = |size: u64| shared * denominator >= numerator * size;
    shared >= 1
        && (contained(input.payload_bytes[a])
            || contained(input.payload_bytes[b])
            || shared >= thresholds.min_shared_bytes)
}

fn is_across(a: usize, b: usize, input: &Input<'_>) -> bool {
    let Some(labels) = input.across else {
        return true;
    };
    let mut found = BTreeSet::new();
    for content in [a, b] {
        for holding in input.holders.of(content_index(content)) {
            if holding.copies > 0 {
                found.insert(labels[usize::from(holding.group.0)]);
            }
        }
    }
    found.len() >= 2
}

fn content_index(content: usize) -> ContentIndex {
    ContentIndex(u32::try_from(content).expect("the oracle is for small inputs"))
}

type SharedBytes = BTreeMap<(usize, usize), u64>;

fn clusters(links: &[(usize, usize)], shared: &SharedBytes, payloads: &[u64]) -> Vec<Cluster> {
    // Every content takes the smallest label among itself and its neighbours until nothing changes.
    let mut labels: Vec<usize> = (0..payloads.len()).collect();
    loop {
        let before = labels.clone();
        for &(a, b) in links {
            let label = labels[a].min(labels[b]);
            labels[a] = label;
            labels[b] = label;
        }
        if labels == before {
            break;
        }
    }
    let mut groups = BTreeMap::<usize, Vec<usize>>::new();
    for (content, &label) in labels.iter().enumerate() {
        groups.entry(label).or_default().push(content);
    }
    let groups = groups.into_values().filter(|members| members.len() > 1);
    groups.map(|members| cluster(members, links, shared, payloads)).collect()
}

fn cluster(members: Vec<usize>, links: &[(usize, usize)], shared: &SharedBytes, payloads: &[u64]) -> Cluster {
    let links: Vec<_> = links.iter().filter(|(a, _)| members.contains(a)).collect();
    let degree = |m: usize| links.iter().filter(|(a, b)| *a == m || *b == m).count();
    let mut ranked = members.clone();
    ranked.sort_by(|&x, &y| (degree(y), payloads[y]).cmp(&(degree(x), payloads[x])).then(x.cmp(&y)));
    Cluster {
        link_count: links.len() as u64,
        min_resemblance: least(links.iter().map(|(a, b)| resemblance(*a, *b, shared, payloads))),
        resemblance_sum: links.iter().map(|(a, b)| fixed(resemblance(*a, *b, shared, payloads))).sum(),
        container: members
            .iter()
            .copied()
            .find(|&m| contains_all(m, &members, &links, shared, payloads))
            .map(content_index),
        links: links
            .iter()
            .map(|&&(a, b)| Link { a: content_index(a), b: content_index(b), shared_bytes: shared[&(a, b)] })
            .collect(),
        members: members.into_iter().map(content_index).collect(),
        representative: content_index(ranked[0]),
        families: families(ranked, shared, payloads),
    }
}

fn resemblance(a: usize, b: usize, shared: &SharedBytes, payloads: &[u64]) -> Resemblance {
    let shared = shared[&(a.min(b), a.max(b))];
    Resemblance { shared, union: payloads[a] + payloads[b] - shared }
}

/// In units of 2^-32, rounded from the nearest floating point number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a fraction is at most one")]
fn fixed(resemblance: Resemblance) -> u128 {
    (resemblance.shared as f64 / resemblance.union as f64 * 4_294_967_296.0).round() as u128
}

fn contains_all(
    container: usize,
    members: &[usize],
    links: &[&(usize, usize)],
    shared: &SharedBytes,
    payloads: &[u64],
) -> bool {
    members.iter().filter(|&&part| part != container).all(|&part| {
        let pair = (part.min(container), part.max(container));
        links.contains(&&pair) && shared[&pair] * 10 >= payloads[part] * 8
    })
}

fn least(resemblances: impl Iterator<Item = Resemblance>) -> Resemblance {
    resemblances.reduce(|x, y| if is_less(y, x) { y } else { x }).expect("a cluster has a link")
}

fn families(ranked: Vec<usize>, shared: &SharedBytes, payloads: &[u64]) -> Vec<Family> {
    let mut families = Vec::new();
    let mut left = ranked;
    while !left.is_empty() {
        let representative = left.remove(0);
        let (mut members, others): (Vec<usize>, Vec<usize>) = left.into_iter().partition(|&m| {
            let with = resemblance(representative, m, shared, payloads);
            with.shared * 10 >= with.union * 8
        });
        left = others;
        members.push(representative);
        members.sort_unstable();
        if members.len() < 2 {
            continue;
        }
        let over_representative_only = members.len() > FAMILY_MEMBERS_MEASURED_MAX;
        let mut least: Option<Resemblance> = None;
        for &a in &members {
            for &b in members.iter().filter(|&&b| b > a) {
                if over_representative_only && a != representative && b != representative {
                    continue;
                }
                let this = resemblance(a, b, shared, payloads);
                if least.is_none_or(|least| is_less(this, least)) {
                    least = Some(this);
                }
            }
        }
        families.push(Family {
            representative: content_index(representative),
            members: members.into_iter().map(content_index).collect(),
            min_resemblance: least.expect("two members make a pair"),
            over_representative_only,
        });
    }
    families
}

/// By value, then by the smaller parts.
fn is_less(x: Resemblance, y: Resemblance) -> bool {
    let (left, right) = (x.shared * y.union, y.shared * x.union);
    left < right || (left == right && (x.shared, x.union) < (y.shared, y.union))
}

fn overlap(postings: &[Posting], input: &Input<'_>) -> Vec<OverlapLevel> {
    let levels = input.levels.iter();
    levels
        .map(|level| {
            let mut overlap = OverlapLevel::new(level.label_count);
            for template in [false, true] {
                let counts = count(postings, input.payload_bytes.len(), template);
                let mut at = BTreeMap::<(Chunk, u16), LabelBytes>::new();
                for (content, counts) in counts.iter().enumerate() {
                    let held_by = input.holders.of(content_index(content)).iter().filter(|holding| holding.copies > 0);
                    let mut copies = BTreeMap::<u16, u64>::new();
                    for holding in held_by {
                        *copies.entry(level.labels[usize::from(holding.group.0)]).or_default() +=
                            u64::from(holding.copies);
                    }
                    for (label, copies) in copies {
                        for (chunk, times) in counts {
                            let label_bytes = at.entry((*chunk, label)).or_default();
                            label_bytes.once_bytes += times * u64::from(chunk.1);
                            label_bytes.bytes += times * u64::from(chunk.1) * copies;
                        }
                    }
                }
                for (&(chunk, a), &label_bytes) in &at {
                    for b in (0..level.label_count).filter(|&b| b != a) {
                        if at.contains_key(&(chunk, b)) {
                            match template {
                                true => overlap.add_template(a, b, label_bytes.bytes),
                                false => overlap.add_shared(a, b, label_bytes.bytes, label_bytes.once_bytes),
                            }
                        }
                    }
                }
            }
            overlap
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn posting(content: u32, chunk: u8) -> Posting {
        Posting {
            tag: cognate_fingerprint::Tag([chunk; 16]),
            length_bytes: 10,
            template: chunk == 0,
            content: ContentIndex(content),
        }
    }

    /// Clusters of contents that are lists of chunks of ten bytes.
    fn clusters_of(contents: &[&[u8]], min_containment: [u64; 2]) -> Vec<Vec<u32>> {
        let postings: Vec<Posting> = (0u32..)
            .zip(contents)
            .flat_map(|(content, chunks)| chunks.iter().map(move |&chunk| posting(content, chunk)))
            .collect();
        let weigh = |chunks: &&[u8]| 10 * chunks.iter().filter(|chunk| **chunk > 0).count() as u64;
        let payload_bytes: Vec<u64> = contents.iter().map(weigh).collect();
        let holders = cognate_similarity::Holders::new();
        let input = Input { payload_bytes: &payload_bytes, holders: &holders, levels: &[], across: None };
        let thresholds = OracleThresholds { min_shared_bytes: u64::MAX, min_containment };
        let reference = analyse(&postings, &input, &thresholds);
        reference.clusters.iter().map(|cluster| cluster.members.iter().map(|member| member.0).collect()).collect()
    }

    #[test]
    fn the_oracle_agrees_with_examples_by_hand() {
        for (contents, share, expected) in [
            (&[][..], [1, 2], vec![]),
            (&[&[1][..], &[2]], [1, 2], vec![]),
            (&[&[1, 2], &[1, 3]], [1, 2], vec![vec![0, 1]]),
            (&[&[1, 2], &[1, 3]], [51, 100], vec![]),
            // Two pairs that have nothing in common.
            (&[&[1, 2], &[8, 9], &[1, 3], &[8, 7]], [1, 2], vec![vec![0, 2], vec![1, 3]]),
            // A chain.
            (&[&[1, 2], &[2, 3], &[3, 4]], [1, 2], vec![vec![0, 1, 2]]),
            // Templates make no link.
            (&[&[0, 1], &[0, 2]], [1, 100], vec![]),
            // A repeated chunk counts as often as both have it.
            (&[&[1, 1, 1], &[1, 1, 2]], [2, 3], vec![vec![0, 1]]),
            (&[&[1, 1, 1], &[1, 2, 2]], [2, 3], vec![]),
        ] {
            assert_eq!(clusters_of(contents, share), expected, "{contents:?}");
        }
    }
}
