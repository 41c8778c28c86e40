//! Writes the clusters: those that share most first, each with its links and families.

use cognate_result_file::{Cluster as ClusterRecord, Family, FamilyMember, Insert, Link, Ratio};
use cognate_similarity::{Cluster, Shape};

use super::group::{Group, Places};
use super::names::{STANDARD_TEXT, relation_name, shape_name};
use super::{LayerPart, Publication, Writer, hex, row_number};
use crate::cluster_joins::{Join, directed};
use crate::fine::outside_of;
use crate::freeze::FrozenSet;
use crate::layer_result::LayerResult;
use crate::measure::Measures;

impl Writer {
    pub(super) fn clusters(
        &self,
        publication: &Publication<'_>,
        part: &LayerPart<'_>,
        places: &Places,
    ) -> rusqlite::Result<()> {
        let LayerResult { frozen, findings, .. } = part.layer;
        let (mut insert, mut links) = (self.insert()?, self.insert()?);
        let (mut families, mut members) = (self.insert()?, self.insert()?);
        for (number, (join, cluster)) in part.order.clusters.iter().enumerate() {
            let number = row_number(part.order.first + number);
            let resemblances = Resemblances::of(cluster, frozen, &findings.measures);
            let strength = write_links(&mut links, number, part, cluster)?;
            let group = group_of(part.layer, cluster);
            let total_bytes = size_bytes(frozen, cluster);
            let copies_bytes = group.document_bytes.saturating_sub(total_bytes);
            let summed = group.summed(publication, places);
            let representative = findings.copies.of_content(cluster.representative).iter();
            let place = |document: &&u32| places.of_root(frozen.root_of(**document));
            let representative = representative.min_by_key(|document| (place(document), **document));
            // Every content has a document.
            let representative = &frozen.documents[representative.map_or(0, |document| *document as usize)];
            let other = cluster.members.iter().filter(|member| **member != cluster.representative).min();
            let second = other.and_then(|other| findings.copies.of_content(*other).first());
            let second = second.map(|document| &frozen.documents[*document as usize]);
            let on_frame = join.rests_on_frame(cluster.members.len());
            // One member contains the others by a frame alone.
            let shape = if on_frame && cluster.members.len() > 2 { Shape::Group } else { Shape::of(cluster) };
            insert.add(&ClusterRecord {
                id: number,
                name: cluster_name(frozen, cluster),
                members_digest: members_digest(frozen, cluster),
                relation: shape_name(shape).into(),
                representative: part.content(cluster.representative),
                total_bytes,
                members: cluster.members.len() as u64,
                links: cluster.link_count,
                links_omitted: cluster.links_omitted(),
                min_resemblance: resemblances.min,
                mean_resemblance: resemblances.mean,
                max_resemblance: strength.max_resemblance,
                max_containment: strength.max_containment,
                shared_bytes: strength.shared_bytes,
                joined_bytes: join.bytes,
                redundant_bytes: copies_bytes.saturating_add(join.bytes),
                documents: summed.documents,
                sites: summed.sites,
                site_count: summed.site_count,
                crosses: summed.crosses,
                first_modified: summed.first_modified,
                last_modified: summed.last_modified,
                root: representative.root.into(),
                path: frozen.path(representative).to_owned(),
                layer: part.number,
                frame_links: join.frame_links,
                on_frame,
                second_root: second.map(|second| second.root.into()),
                second_path: second.map(|second| frozen.path(second).to_owned()),
            })?;
            for (place, family) in (0..).zip(&cluster.families) {
                families.add(&Family {
                    cluster: number,
                    number: place,
                    representative: part.content(family.representative),
                    min_resemblance: Ratio::of(family.min_resemblance.shared, family.min_resemblance.union),
                    over_representative_only: family.over_representative_only,
                })?;
                for member in &family.members {
                    members.add(&FamilyMember { cluster: number, number: place, content: part.content(*member) })?;
                }
            }
        }
        Ok(())
    }
}

/// The documents of a cluster, every copy counted.
fn group_of(layer: &LayerResult, cluster: &Cluster) -> Group {
    let LayerResult { frozen, findings, .. } = layer;
    let mut group = Group::default();
    for member in &cluster.members {
        let size_bytes = frozen.contents[member.0 as usize].size_bytes;
        for document in findings.copies.of_content(*member) {
            let document = &frozen.documents[*document as usize];
            group.add(document.root, size_bytes, document.modified);
        }
    }
    group
}

fn write_links(
    insert: &mut Insert<'_, Link>,
    cluster_number: i64,
    part: &LayerPart<'_>,
    cluster: &Cluster,
) -> rusqlite::Result<Strength> {
    let LayerResult { frozen, findings, fine, .. } = part.layer;
    let outside = fine.as_ref().map_or(&[][..], |fine| &fine.outside);
    let mut strength = Strength::default();
    for link in &cluster.links {
        let measured = findings.measures.of(&frozen.contents, link);
        let precision = findings.measures.precision(&measured);
        let outside = outside_of(outside, link.a.0, link.b.0);
        let (a, b, measured) = directed(&findings.copies, link, measured);
        let contained = measured.contained.map(|both| both.map(|share| Ratio(share.rounded())));
        // A measure that the method does not have is less than any other.
        strength.max_resemblance = strength.max_resemblance.max(Some(Ratio(measured.resemblance.rounded())));
        strength.max_containment = strength.max_containment.max(contained.map(|[a_in_b, b_in_a]| a_in_b.max(b_in_a)));
        strength.shared_bytes = strength.shared_bytes.max(measured.shared_bytes[0]);
        let on_frame = outside.is_some_and(|outside| outside.rests_on_frame);
        insert.add(&Link {
            cluster: cluster_number,
            a: part.content(a),
            b: part.content(b),
            shared_bytes: measured.shared_bytes[0],
            relation: if on_frame { STANDARD_TEXT } else { relation_name(measured.relation) }.into(),
            resemblance: Some(Ratio(measured.resemblance.rounded())),
            a_in_b: contained.map(|[a_in_b, _]| a_in_b),
            b_in_a: contained.map(|[_, b_in_a]| b_in_a),
            estimated: measured.estimate.is_some(),
            low: precision.map(|precision| Ratio(precision.interval[0])),
            high: precision.map(|precision| Ratio(precision.interval[1])),
            within_tenth: precision.map(|precision| Ratio(precision.within_tenth)),
            outside_bytes: outside.map(|outside| outside.shared_bytes),
            on_frame,
        })?;
    }
    Ok(strength)
}

/// The links of a cluster, summed up.
#[derive(Default)]
struct Strength {
    max_resemblance: Option<Ratio>,
    max_containment: Option<Ratio>,
    shared_bytes: u64,
}

/// Bytes of the contents of a cluster, each counted once.
fn size_bytes(frozen: &FrozenSet, cluster: &Cluster) -> u64 {
    cluster.members.iter().map(|member| frozen.contents[member.0 as usize].size_bytes).sum()
}

/// The clusters of a layer by the bytes that join their members, falling, then by their smallest member's digest.
pub(super) struct ClusterOrder<'a> {
    /// The number of the first.
    pub(super) first: usize,
    pub(super) clusters: Vec<(Join, &'a Cluster)>,
    cluster_of: Vec<Option<usize>>,
}

impl<'a> ClusterOrder<'a> {
    /// Those of all layers, numbered from 0 on.
    pub(super) fn of_layers(layers: &'a [LayerResult]) -> Vec<ClusterOrder<'a>> {
        let mut first = 0;
        let mut order = |layer| {
            let order = ClusterOrder::of(layer, first);
            first += order.clusters.len();
            order
        };
        layers.iter().map(&mut order).collect()
    }

    fn of(LayerResult { frozen, findings, .. }: &'a LayerResult, first: usize) -> ClusterOrder<'a> {
        let clusters = findings.analysis.clusters.iter().zip(&findings.of_links.joins);
        // Two documents with the same lines are an identical set.
        let clusters = clusters.filter(|(cluster, _)| match cluster.members[..] {
            [a, b] => !frozen.have_same_lines(a, b),
            _ => true,
        });
        let mut clusters: Vec<(Join, String, &Cluster)> =
            clusters.map(|(cluster, join)| (*join, cluster_name(frozen, cluster), cluster)).collect();
        clusters.sort_unstable_by(|a, b| b.0.bytes.cmp(&a.0.bytes).then_with(|| a.1.cmp(&b.1)));
        let mut cluster_of = vec![None; frozen.contents.len()];
        for (number, (.., cluster)) in clusters.iter().enumerate() {
            cluster.members.iter().for_each(|member| cluster_of[member.0 as usize] = Some(number));
        }
        let clusters = clusters.into_iter().map(|(join, _, cluster)| (join, cluster)).collect();
        ClusterOrder { first, clusters, cluster_of }
    }

    /// The number of a content's cluster.
    pub(super) fn number_of(&self, content: usize) -> Option<usize> {
        self.cluster_of[content].map(|cluster| self.first + cluster)
    }
}

/// The least and the mean resemblance over the links of a cluster.
struct Resemblances {
    min: Ratio,
    mean: Ratio,
}

impl Resemblances {
    fn of(cluster: &Cluster, frozen: &FrozenSet, measures: &Measures) -> Resemblances {
        if cluster.links_omitted() > 0 {
            let min = Ratio::of(cluster.min_resemblance.shared, cluster.min_resemblance.union);
            return Resemblances { min, mean: rounded(cluster.mean_resemblance()) };
        }
        let of_link = |link| measures.resemblance(&frozen.contents, link);
        let min = cluster.links.iter().map(of_link).min();
        // Summed in the order of the links, which is fixed: the same bytes give the same mean.
        let sum: f64 = cluster.links.iter().map(|link| of_link(link).to_f64()).sum();
        let mean = rounded(sum / cluster.links.len() as f64);
        Resemblances { min: min.map_or(Ratio(0), |min| Ratio::of(min.shared, min.union)), mean }
    }
}

/// A mean of ratios in ten-thousandths; less than all is never rounded to all.
#[expect(clippy::cast_possible_truncation, reason = "a mean of ratios is 0 to 1")]
fn rounded(mean: f64) -> Ratio {
    let rounded = (mean * 10_000.0).round() as i64;
    Ratio(if mean < 1.0 { rounded.min(9_999) } else { rounded })
}

/// The name of a cluster: the digest of its smallest member's digest, so that it stays while that member does.
pub(crate) fn cluster_name(frozen: &FrozenSet, cluster: &Cluster) -> String {
    hex(&frozen.contents[cluster.members[0].0 as usize].digest.0)
}

fn members_digest(frozen: &FrozenSet, cluster: &Cluster) -> String {
    let digests: Vec<u8> =
        cluster.members.iter().flat_map(|member| frozen.contents[member.0 as usize].digest.0).collect();
    hex(&digests)
}
