//! Clusters from links that the caller has, under measures of its own.
//!
//! An analysis measures pairs by the payloads of contents. If links come from elsewhere (estimates from samples, pairs
//! that were compared one by one), or if clusters are not simply connected components, this module puts them
//! together. All links are in memory: about 24 bytes for each.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::cluster::{Cluster, FAMILY_MEMBERS_MEASURED_MAX, Family, LinkRule};
use crate::component::Components;
use crate::link::Link;
use crate::measure::Resemblance;
use crate::posting::ContentIndex;

/// The rule by which links become clusters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clustering {
    /// The contents that links connect.
    Connected,
    /// Broder's: one content after the other, the largest first, joins the linked representative that it resembles
    /// most, or else becomes a representative itself. Links between clusters count in none.
    Greedy,
}

/// The measures of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkMeasure {
    /// The resemblance of the two.
    pub resemblance: Resemblance,
    /// True if four fifths or more of the first are in the second; then the same for the second in the first.
    pub contained: [bool; 2],
}

/// Links by the contents that they join.
struct Graph<'a> {
    links: &'a [Link],
    measures: &'a dyn Fn(&Link) -> LinkMeasure,
    starts: Vec<usize>,
    of: Vec<u32>,
    /// Clusters of which not all links are given.
    dense: &'a [&'a Cluster],
    /// For each content the place of its cluster among them; empty if there are none.
    dense_of: Vec<Option<u32>>,
}

/// Puts links together, which come by (a, b) and each once. `weights` has the weight of every content.
///
/// The fields of a cluster are as [`Cluster`] describes, except for families: where two members that are both near to
/// their representative are not linked, the family's least resemblance is over pairs with the representative alone.
///
/// `dense` are clusters of an analysis that omit links, whose remaining links are among those given. What connected
/// clusters say of the links within them, they say as these do: counts, resemblance, containers and families. Where one has
/// several of them, or others as well, its representative is that of the one with most links. Greedy clusters know of given links alone.
pub fn cluster_links(
    links: &[Link],
    weights: &[u64],
    clustering: Clustering,
    measures: &dyn Fn(&Link) -> LinkMeasure,
    dense: &[&Cluster],
) -> Vec<Cluster> {
    debug_assert!(links.is_sorted(), "links come in order");
    let dense = if clustering == Clustering::Greedy { &[] } else { dense };
    let graph = Graph { dense, dense_of: places(dense, weights.len()), ..Graph::new(links, weights.len(), measures) };
    let assigned = match clustering {
        Clustering::Connected => graph.connected(),
        Clustering::Greedy => graph.greedy(weights),
    };
    let mut members: Vec<(u32, u32)> = (0..).zip(&assigned).map(|(content, cluster)| (*cluster, content)).collect();
    members.sort_unstable();
    let clusters = members.chunk_by(|a, b| a.0 == b.0).filter(|members| members.len() > 1);
    let mut clusters: Vec<Cluster> = clusters
        .map(|members| {
            let contents: Vec<u32> = members.iter().map(|(_, content)| *content).collect();
            let representative = (clustering == Clustering::Greedy).then_some(members[0].0);
            graph.cluster(&contents, &assigned, weights, representative)
        })
        .collect();
    clusters.sort_unstable_by_key(|cluster| cluster.members[0]);
    clusters
}

/// For each content the place of its cluster.
fn places(clusters: &[&Cluster], contents: usize) -> Vec<Option<u32>> {
    let mut places = vec![None; if clusters.is_empty() { 0 } else { contents }];
    for (place, cluster) in (0..).zip(clusters) {
        cluster.members.iter().for_each(|member| places[member.at()] = Some(place));
    }
    places
}

impl<'a> Graph<'a> {
    fn new(links: &'a [Link], contents: usize, measures: &'a dyn Fn(&Link) -> LinkMeasure) -> Graph<'a> {
        let mut starts = vec![0; contents + 2];
        let ends = |link: &Link| [link.a.at(), link.b.at()];
        links.iter().flat_map(ends).for_each(|content| starts[content + 2] += 1);
        for content in 0..contents {
            starts[content + 2] += starts[content + 1];
        }
        let mut of = vec![0; 2 * links.len()];
        for (number, link) in (0u32..).zip(links) {
            for content in ends(link) {
                of[starts[content + 1]] = number;
                starts[content + 1] += 1;
            }
        }
        Graph { links, measures, starts, of, dense: &[], dense_of: Vec::new() }
    }

    fn dense_of(&self, content: u32) -> Option<u32> {
        self.dense_of.get(content as usize).copied().flatten()
    }

    /// True if a dense cluster counts a link.
    fn is_counted(&self, link: &Link) -> bool {
        self.dense_of(link.a.0).is_some_and(|dense| self.dense_of(link.b.0) == Some(dense))
    }

    /// The dense clusters of some contents.
    fn dense_clusters(&self, members: &[u32]) -> Vec<&'a Cluster> {
        let mut dense: Vec<u32> = members.iter().filter_map(|member| self.dense_of(*member)).collect();
        dense.sort_unstable();
        dense.dedup();
        dense.iter().map(|place| self.dense[*place as usize]).collect()
    }

    /// The links of a content, each with its other end.
    fn links_of(&self, content: u32) -> impl Iterator<Item = (&'a Link, u32)> + '_ {
        let numbers = &self.of[self.starts[content as usize]..self.starts[content as usize + 1]];
        numbers.iter().map(move |number| {
            let link = &self.links[*number as usize];
            (link, if link.a.0 == content { link.b.0 } else { link.a.0 })
        })
    }

    /// For each content the smallest that links connect it with.
    fn connected(&self) -> Vec<u32> {
        let count = self.starts.len() - 2;
        let components = Components::new(count);
        self.links.iter().for_each(|link| components.unite(link.a.0, link.b.0));
        (0u32..).take(count).map(|content| components.root(content)).collect()
    }

    /// For each content its representative.
    fn greedy(&self, weights: &[u64]) -> Vec<u32> {
        let mut order: Vec<u32> = (0u32..).take(weights.len()).collect();
        order.sort_unstable_by_key(|content| (Reverse(weights[*content as usize]), *content));
        let mut assigned: Vec<Option<u32>> = vec![None; weights.len()];
        for content in order {
            let representatives = self.links_of(content).filter(|(_, other)| assigned[*other as usize] == Some(*other));
            let best = representatives.max_by_key(|(link, other)| ((self.measures)(link).resemblance, Reverse(*other)));
            assigned[content as usize] = Some(best.map_or(content, |(_, representative)| representative));
        }
        assigned.into_iter().map(|cluster| cluster.expect("every content is in the order")).collect()
    }

    fn cluster(&self, members: &[u32], assigned: &[u32], weights: &[u64], representative: Option<u32>) -> Cluster {
        let cluster = assigned[members[0] as usize];
        let dense = self.dense_clusters(members);
        let inside =
            |content: u32| self.links_of(content).filter(move |(_, other)| assigned[*other as usize] == cluster);
        let mut links: Vec<(Link, LinkMeasure)> = Vec::new();
        let mut ranks: Vec<(Reverse<usize>, Reverse<u64>, u32)> = Vec::new();
        let mut container = None;
        for &member in members {
            let contains_all = dense.iter().find(|dense| dense.container == Some(ContentIndex(member)));
            let (mut count, mut contained) = (0, contains_all.map_or(0, |dense| dense.members.len() - 1));
            for (link, _) in inside(member) {
                let measure = (self.measures)(link);
                count += 1;
                if contains_all.is_none() || !self.is_counted(link) {
                    contained += usize::from(measure.contained[usize::from(link.a.0 == member)]);
                }
                if link.a.0 == member {
                    links.push((*link, measure));
                }
            }
            if contained == members.len() - 1 && container.is_none() {
                container = Some(ContentIndex(member));
            }
            ranks.push((Reverse(count), Reverse(weights[member as usize]), member));
        }
        ranks.sort_unstable();
        links.sort_unstable_by_key(|(link, _)| *link);
        let others = links.iter().filter(|(link, _)| !self.is_counted(link)).map(|(_, measure)| measure.resemblance);
        let count = others.clone().count() as u64 + dense.iter().map(|dense| dense.link_count).sum::<u64>();
        let least = others.clone().chain(dense.iter().map(|dense| dense.min_resemblance)).min();
        let sum: u128 = others.map(|resemblance| u128::from(resemblance.to_fixed())).sum();
        let most = dense.iter().max_by_key(|dense| (dense.link_count, Reverse(dense.members[0])));
        let representative = representative.or(most.map(|dense| dense.representative.0));
        Cluster {
            members: members.iter().map(|member| ContentIndex(*member)).collect(),
            link_count: count,
            min_resemblance: least.expect("members are linked"),
            resemblance_sum: sum + dense.iter().map(|dense| dense.resemblance_sum).sum::<u128>(),
            container,
            representative: ContentIndex(representative.unwrap_or(ranks[0].2)),
            families: self.families(&ranks, assigned, cluster, &dense),
            links: strongest(links, members, dense.is_empty(), LinkRule::published(weights.len())),
        }
    }

    /// Families in the order of `ranks`, those of dense clusters among them.
    fn families(
        &self,
        ranks: &[(Reverse<usize>, Reverse<u64>, u32)],
        assigned: &[u32],
        cluster: u32,
        dense: &[&Cluster],
    ) -> Vec<Family> {
        let mut members: Vec<u32> = ranks.iter().map(|(.., member)| *member).collect();
        members.sort_unstable();
        let place = |content: u32| members.binary_search(&content).expect("it is a member");
        let mut taken = vec![false; members.len()];
        let mut families = Vec::new();
        let mut given: HashMap<u32, &Family> = HashMap::new();
        for family in dense.iter().flat_map(|dense| &dense.families) {
            given.insert(family.representative.0, family);
            family.members.iter().for_each(|member| taken[place(member.0)] = true);
        }
        for &(.., representative) in ranks {
            families.extend(given.get(&representative).map(|family| (*family).clone()));
            if std::mem::replace(&mut taken[place(representative)], true) {
                continue;
            }
            let mut family = vec![(representative, None)];
            for (link, other) in self.links_of(representative).filter(|(_, other)| assigned[*other as usize] == cluster)
            {
                let resemblance = (self.measures)(link).resemblance;
                if resemblance.is_near() && !std::mem::replace(&mut taken[place(other)], true) {
                    family.push((other, Some(resemblance)));
                }
            }
            if family.len() > 1 {
                families.push(self.family(&family));
            }
        }
        families
    }

    /// A family of its members and their resemblance with the first of them.
    fn family(&self, family: &[(u32, Option<Resemblance>)]) -> Family {
        let near = family.iter().filter_map(|(_, resemblance)| *resemblance);
        let mut members: Vec<u32> = family.iter().map(|(member, _)| *member).collect();
        let representative = members[0];
        members.sort_unstable();
        let least = near.min().expect("it has two members or more");
        let among_all = || {
            let (mut pairs, mut least) = (0, least);
            for &member in &members {
                let later = self.links_of(member).filter(|(_, other)| *other > member);
                for (link, _) in later.filter(|(_, other)| members.binary_search(other).is_ok()) {
                    pairs += 1;
                    least = least.min((self.measures)(link).resemblance);
                }
            }
            (pairs == members.len() * (members.len() - 1) / 2).then_some(least)
        };
        let measured = if members.len() > FAMILY_MEMBERS_MEASURED_MAX { None } else { among_all() };
        Family {
            representative: ContentIndex(representative),
            members: members.iter().map(|member| ContentIndex(*member)).collect(),
            min_resemblance: measured.unwrap_or(least),
            over_representative_only: measured.is_none(),
        }
    }
}

/// All links, or of very many the strongest that connect the same members.
fn strongest(mut links: Vec<(Link, LinkMeasure)>, members: &[u32], are_all: bool, rule: LinkRule) -> Vec<Link> {
    if !are_all || !rule.keeps_all(members.len() as u64, links.len() as u64) {
        links.sort_unstable_by_key(|(link, measure)| (Reverse(measure.resemblance), *link));
        let components = Components::new(members.len());
        let place = |content: ContentIndex| {
            let place = members.binary_search(&content.0).expect("links join members");
            u32::try_from(place).expect("contents have 31-bit numbers")
        };
        links.retain(|(link, _)| {
            let (a, b) = (place(link.a), place(link.b));
            let joins = components.root(a) != components.root(b);
            components.unite(a, b);
            joins
        });
        links.sort_unstable_by_key(|(link, _)| *link);
    }
    links.into_iter().map(|(link, _)| link).collect()
}

#[cfg(test)]
mod tests {
    use std::num::{NonZeroU32, NonZeroUsize};
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;

    use cognate_fingerprint::Tag;

    use cognate_fuzzing::Dice;

    use super::*;
    use crate::measure::Relation;
    use crate::{Holders, Input, MemoryShards, Monitor, Options, Posting, Thresholds, analyse_with_links};

    /// Contents that share some of 40 chunks with each other.
    fn postings() -> (Vec<Posting>, Vec<u64>) {
        let (mut postings, mut weights) = (Vec::new(), vec![0; 60]);
        let mut dice = Dice::new(7);
        let mut rng = move |below: u64| dice.roll() % below;
        for content in 0..60_u32 {
            let family = u64::from(content) / 6;
            for chunk in 0..8_u64 {
                let tag = if rng(10) < 8 { family * 8 + chunk } else { 1000 + rng(1000) };
                let length_bytes = 50 + u32::try_from(tag % 7).unwrap();
                let mut bytes = [0; 16];
                bytes[..8].copy_from_slice(&tag.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
                let tag = Tag(bytes);
                postings.push(Posting { tag, length_bytes, template: false, content: ContentIndex(content) });
                weights[content as usize] += u64::from(length_bytes);
            }
        }
        (postings, weights)
    }

    #[test]
    fn clusters_of_given_links_equal_those_of_an_analysis() {
        let (postings, weights) = postings();
        let links = Mutex::new(Vec::new());
        let holders = Holders::new();
        let input = Input { payload_bytes: &weights, holders: &holders, levels: &[], across: None };
        let options = Options {
            thresholds: Thresholds { min_shared_bytes: 1000, min_containment: "0.3".parse().unwrap() },
            memory_budget_bytes: 32 << 20,
            threads: NonZeroUsize::MIN,
            spill_dir: &std::env::temp_dir(),
        };
        let monitor = Monitor { progress: &|_| (), cancelled: &AtomicBool::new(false) };
        let shards = MemoryShards::new(postings, NonZeroU32::MIN);
        let sink = |found: &[Link]| {
            links.lock().unwrap().extend_from_slice(found);
            Ok(())
        };
        let expected = analyse_with_links(&shards, &input, &options, &monitor, &sink).unwrap().clusters;
        let mut links = links.into_inner().unwrap();
        links.sort_unstable();
        let measure = |link: &Link| {
            let (a, b) = (weights[link.a.at()], weights[link.b.at()]);
            let relation = Relation::of(link.shared_bytes, a, b);
            LinkMeasure {
                resemblance: Resemblance::of(link.shared_bytes, a, b),
                contained: [
                    matches!(relation, Relation::Near | Relation::Contained),
                    matches!(relation, Relation::Near | Relation::Contains),
                ],
            }
        };
        assert!(expected.len() > 5 && expected.iter().any(|cluster| !cluster.families.is_empty()));
        assert_eq!(cluster_links(&links, &weights, Clustering::Connected, &measure, &[]), expected);
    }

    #[test]
    fn greedy_clusters_are_around_representatives_and_a_chain_is_cut() {
        let link = |a, b, shared_bytes| Link { a: ContentIndex(a), b: ContentIndex(b), shared_bytes };
        // A chain 0-1-2-3, of which 1 is the largest, and 2 nearer to 3.
        let links = [link(0, 1, 60), link(1, 2, 55), link(2, 3, 90)];
        let weights = [100, 110, 100, 105];
        let measure = |link: &Link| LinkMeasure {
            resemblance: Resemblance { shared: link.shared_bytes, union: 100 },
            contained: [false, false],
        };
        let clusters = cluster_links(&links, &weights, Clustering::Greedy, &measure, &[]);
        let shown: Vec<(Vec<u32>, u32, u64)> = clusters
            .iter()
            .map(|one| (one.members.iter().map(|member| member.0).collect(), one.representative.0, one.link_count))
            .collect();
        assert_eq!(shown, [(vec![0, 1], 1, 1), (vec![2, 3], 3, 1)]);
        assert_eq!(cluster_links(&links, &weights, Clustering::Connected, &measure, &[])[0].members.len(), 4);
    }

    fn simple(link: &Link) -> LinkMeasure {
        // Shared bytes of a hundred; from eighty on, one contains the other.
        let contained = link.shared_bytes >= 80;
        let resemblance = Resemblance { shared: link.shared_bytes, union: 100 };
        LinkMeasure { resemblance, contained: [contained; 2] }
    }

    fn link(a: u32, b: u32, shared_bytes: u64) -> Link {
        Link { a: ContentIndex(a), b: ContentIndex(b), shared_bytes }
    }

    /// Members, representative, container and families of each cluster.
    type ClusterSummary = (Vec<u32>, u32, Option<u32>, Vec<(Vec<u32>, u64, bool)>);

    fn shown(links: &[Link], weights: &[u64], clustering: Clustering) -> Vec<ClusterSummary> {
        let numbers = |members: &[ContentIndex]| members.iter().map(|member| member.0).collect::<Vec<_>>();
        let family = |family: &Family| {
            (numbers(&family.members), family.min_resemblance.shared, family.over_representative_only)
        };
        let clusters = cluster_links(links, weights, clustering, &simple, &[]);
        let show = |cluster: &Cluster| {
            let families = cluster.families.iter().map(family).collect();
            (numbers(&cluster.members), cluster.representative.0, cluster.container.map(|one| one.0), families)
        };
        clusters.iter().map(show).collect()
    }

    #[test]
    fn clusters_name_their_representative_container_and_families() {
        let weights = [100; 5];
        for (links, expected) in [
            (vec![], vec![]),
            (vec![link(1, 3, 50)], vec![(vec![1, 3], 1, None, vec![])]),
            (vec![link(1, 3, 80)], vec![(vec![1, 3], 1, Some(1), vec![(vec![1, 3], 80, false)])]),
            // Content 2 has most links and contains both others, which are not linked.
            (vec![link(0, 2, 90), link(2, 4, 85)], vec![(vec![0, 2, 4], 2, Some(2), vec![(vec![0, 2, 4], 85, true)])]),
            (
                vec![link(0, 2, 90), link(0, 4, 10), link(2, 4, 85)],
                vec![(vec![0, 2, 4], 0, Some(2), vec![(vec![0, 2], 90, false)])],
            ),
            (vec![link(0, 1, 20), link(3, 4, 30)], vec![(vec![0, 1], 0, None, vec![]), (vec![3, 4], 3, None, vec![])]),
        ] {
            assert_eq!(shown(&links, &weights, Clustering::Connected), expected, "{links:?}");
        }
    }

    #[test]
    fn of_equal_representatives_a_content_joins_the_first() {
        // Contents 0 and 1 are the largest and not linked; 2 is equally like both.
        let clusters = shown(&[link(0, 2, 50), link(1, 2, 50)], &[10, 10, 5], Clustering::Greedy);
        assert_eq!(clusters, [(vec![0, 2], 0, None, vec![])]);
        let clusters = shown(&[link(0, 2, 50), link(1, 2, 51)], &[10, 10, 5], Clustering::Greedy);
        assert_eq!(clusters, [(vec![1, 2], 1, None, vec![])]);
    }

    #[test]
    fn links_beyond_both_bounds_are_thinned_to_those_that_connect() {
        // 400 members that are all linked: more links than the rule keeps.
        let mut links = Vec::new();
        for a in 0..400u32 {
            links.extend((a + 1..400).map(|b| link(a, b, u64::from((a * 7 + b * 3) % 50))));
        }
        let clusters = cluster_links(&links, &[1; 400], Clustering::Connected, &simple, &[]);
        let [cluster] = &clusters[..] else { panic!("{} clusters", clusters.len()) };
        assert_eq!((cluster.links.len(), cluster.link_count), (399, 400 * 399 / 2));
        assert!(cluster.links.is_sorted());
        assert_eq!(cluster.min_resemblance.shared, 0);
    }

    #[test]
    fn a_dense_cluster_keeps_its_figures_and_takes_others_in() {
        // 400 members that are all linked, and one that is linked with the second of them.
        let mut links = Vec::new();
        for a in 0..400u32 {
            links.extend((a + 1..400).map(|b| link(a, b, 20 + u64::from((a * 7 + b * 3) % 50))));
        }
        let weights = [1; 402];
        let all = cluster_links(&links, &weights, Clustering::Connected, &simple, &[]);
        let [dense] = &all[..] else { panic!("{} clusters", all.len()) };
        let mut left = dense.links.clone();
        // A link of the cluster that is known from elsewhere counts once.
        left.push(*links.iter().find(|link| left.binary_search(link).is_err()).unwrap());
        left.sort_unstable();
        let again = cluster_links(&left, &weights, Clustering::Connected, &simple, &[dense]);
        assert_eq!(again, all);
        left.push(link(400, 401, 90));
        left.push(link(1, 400, 10));
        left.sort_unstable();
        let joined = cluster_links(&left, &weights, Clustering::Connected, &simple, &[dense]);
        let [cluster] = &joined[..] else { panic!("{} clusters", joined.len()) };
        assert_eq!((cluster.members.len(), cluster.links.len()), (402, 401));
        assert_eq!(cluster.link_count, dense.link_count + 2);
        assert_eq!((cluster.min_resemblance.shared, cluster.representative), (10, dense.representative));
        assert_eq!(cluster.families.len(), 1, "the two others are near");
    }
}
