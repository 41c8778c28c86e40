//! The bytes that join the members of a cluster: the weight of its maximum spanning forest by what its links share, and how many of
//! the links of the forest rest on a frame.
//!
//! A cluster that keeps all its links is summed up by itself. Of the others the links stream past, and memory is linear in
//! their members.

use cognate_similarity::{Cluster, ContentIndex, Link, SpanningForest};

use crate::copies::Copies;
use crate::fine::{OutsideLink, rests_on_frame};
use crate::freeze::FrozenContent;
use crate::link_figures::LinkFigures;
use crate::measure::Measures;

/// A link as reports have it: from the content whose first document comes first.
pub(crate) fn directed(
    copies: &Copies,
    link: &Link,
    measured: LinkFigures,
) -> (ContentIndex, ContentIndex, LinkFigures) {
    let first = |content: ContentIndex| copies.of_content(content).first().copied();
    match first(link.a) <= first(link.b) {
        true => (link.a, link.b, measured),
        false => (link.b, link.a, measured.reversed()),
    }
}

/// The links that join the members of a cluster, summed up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Join {
    /// Bytes of the links of its forest.
    pub(crate) bytes: u64,
    /// Number of these links that rest on a frame.
    pub(crate) frame_links: u64,
}

impl Join {
    fn add(&mut self, shared_bytes: u64, rests_on_frame: bool) {
        self.bytes = self.bytes.saturating_add(shared_bytes);
        self.frame_links += u64::from(rests_on_frame);
    }

    /// True if at least half of the links that join the members of a cluster rest on a frame.
    pub(crate) fn rests_on_frame(&self, members: usize) -> bool {
        self.frame_links > 0 && 2 * self.frame_links >= (members as u64).saturating_sub(1)
    }
}

/// Clusters, with the forest of those that do not keep all their links.
pub(crate) struct ClusterJoins<'a> {
    clusters: &'a [Cluster],
    copies: &'a Copies,
    /// The links of which a frame is part.
    outside: &'a [OutsideLink],
    /// Per content, its place among the members of such clusters, if there are any.
    place: Vec<Option<u32>>,
    /// Per such member, the content and the place of its cluster.
    members: Vec<ContentIndex>,
    cluster_of: Vec<usize>,
    forest: SpanningForest,
}

impl<'a> ClusterJoins<'a> {
    pub(crate) fn new(
        contents: usize,
        clusters: &'a [Cluster],
        outside: &'a [OutsideLink],
        copies: &'a Copies,
    ) -> ClusterJoins<'a> {
        let (mut place, mut members, mut cluster_of) = (Vec::new(), Vec::new(), Vec::new());
        for (number, cluster) in clusters.iter().enumerate().filter(|(_, cluster)| cluster.links_omitted() > 0) {
            place.resize(contents, None);
            for member in &cluster.members {
                place[member.0 as usize] = u32::try_from(cluster_of.len()).ok();
                members.push(*member);
                cluster_of.push(number);
            }
        }
        let forest = SpanningForest::new(cluster_of.len());
        ClusterJoins { clusters, copies, outside, place, members, cluster_of, forest }
    }

    /// Takes in a link of any cluster, or between two.
    pub(crate) fn link(&mut self, link: &Link, measured: &LinkFigures) {
        let place = |content: ContentIndex| self.place.get(content.0 as usize).copied().flatten();
        let (Some(a), Some(b)) = (place(link.a), place(link.b)) else { return };
        if self.cluster_of[a as usize] == self.cluster_of[b as usize] {
            let (.., measured) = directed(self.copies, link, *measured);
            self.forest.add(a, b, measured.shared_bytes[0]);
        }
    }

    /// The join of each cluster, in the order of the clusters.
    pub(crate) fn finish(self, contents: &[FrozenContent], measures: &Measures) -> Vec<Join> {
        let mut joins = vec![Join::default(); self.clusters.len()];
        let rests = |a, b| rests_on_frame(self.outside, &Link { a, b, shared_bytes: 0 });
        for (join, cluster) in joins.iter_mut().zip(self.clusters).filter(|(_, one)| one.links_omitted() == 0) {
            *join = join_of(cluster, rests, |link| {
                let (.., measured) = directed(self.copies, link, measures.of(contents, link));
                measured.shared_bytes[0]
            });
        }
        for (a, b, shared) in self.forest.finish() {
            let rests = rests(self.members[a as usize], self.members[b as usize]);
            joins[self.cluster_of[a as usize]].add(shared, rests);
        }
        joins
    }
}

/// What joins a cluster that keeps all its links.
fn join_of(
    cluster: &Cluster,
    rests: impl Fn(ContentIndex, ContentIndex) -> bool,
    shared: impl Fn(&Link) -> u64,
) -> Join {
    let mut join = Join::default();
    if let [link] = cluster.links.as_slice() {
        join.add(shared(link), rests(link.a, link.b));
        return join;
    }
    let place = |content: ContentIndex| {
        let place = cluster.members.partition_point(|member| *member < content);
        u32::try_from(place).expect("contents have 31-bit numbers")
    };
    let mut forest = SpanningForest::new(cluster.members.len());
    cluster.links.iter().for_each(|link| forest.add(place(link.a), place(link.b), shared(link)));
    for (a, b, shared) in forest.finish() {
        join.add(shared, rests(cluster.members[a as usize], cluster.members[b as usize]));
    }
    join
}

#[cfg(test)]
mod tests {
    use cognate_fingerprint::ContentDigest;
    use cognate_similarity::Resemblance;

    use super::*;

    fn content(size_bytes: u64) -> FrozenContent {
        FrozenContent {
            digest: ContentDigest([0; 16]),
            chunks_digest: [0; 16],
            size_bytes,
            payload_bytes: size_bytes,
            weight: size_bytes,
            repeated_bytes: 0,
            chunk_count: 1,
            spoken_for: false,
            counts_as_text: false,
        }
    }

    fn link(a: u32, b: u32, shared_bytes: u64) -> Link {
        Link { a: ContentIndex(a), b: ContentIndex(b), shared_bytes }
    }

    fn cluster(members: &[u32], links: &[Link], link_count: u64) -> Cluster {
        Cluster {
            members: members.iter().map(|member| ContentIndex(*member)).collect(),
            links: links.to_vec(),
            link_count,
            min_resemblance: Resemblance { shared: 1, union: 1 },
            resemblance_sum: 0,
            container: None,
            representative: ContentIndex(members[0]),
            families: Vec::new(),
        }
    }

    #[test]
    fn links_that_a_cluster_leaves_out_and_no_others_count_for_it() {
        // Two small contents resemble each other most, but the large ones share more.
        let all = [link(0, 1, 90), link(0, 2, 500), link(1, 2, 80), link(2, 5, 999), link(3, 4, 70)];
        let clusters = [cluster(&[0, 1, 2], &[all[0], all[2]], 3), cluster(&[3, 4], &all[4..], 1)];
        let contents = [100, 100, 9000, 100, 100, 9000].map(content);
        let copies = Copies::of_each(contents.len());
        let measures = Measures::of_chunks();
        let rests = |a, b, rests_on_frame| OutsideLink { a, b, shared_bytes: 1, own_bytes: [1; 2], rests_on_frame };
        // The third is of no forest, and the second has enough outside of its frame.
        let outside = [rests(0, 1, true), rests(0, 2, false), rests(1, 2, true), rests(3, 4, true)];
        let mut joined = ClusterJoins::new(contents.len(), &clusters, &outside, &copies);
        all.iter().for_each(|link| joined.link(link, &measures.of(&contents, link)));
        let joins = joined.finish(&contents, &measures);
        assert_eq!(joins, [Join { bytes: 590, frame_links: 1 }, Join { bytes: 70, frame_links: 1 }]);
        assert_eq!(
            [(0, 3), (0, 4), (1, 2)].map(|(join, members)| joins[join].rests_on_frame(members)),
            [true, false, true]
        );
    }
}
