//! The relation of the members of a cluster to its representative.

use std::collections::HashMap;

use cognate_result::report::{ClusterSection, Ratio};

/// A member and its relation to the representative of its cluster.
pub(crate) struct RepresentativeLink<'a> {
    pub(crate) resemblance: Option<Ratio>,
    /// The share of the member that is in the representative.
    pub(crate) within: Option<Ratio>,
    /// The share of the representative that is in the member.
    pub(crate) holds: Option<Ratio>,
    pub(crate) shared_bytes: u64,
    /// Of these, bytes outside of frames; nothing if no frame is part of the link.
    pub(crate) outside_bytes: Option<u64>,
    /// The kind of the relation.
    pub(crate) relation: &'a str,
    /// True if the ratios are estimates.
    pub(crate) estimated: bool,
}

/// The members that are linked with the representative, by their places. A member without such a link is not listed;
/// its ratio is unknown, not zero.
pub(crate) fn linked_with_representative(cluster: &ClusterSection) -> HashMap<usize, RepresentativeLink<'_>> {
    let linked = cluster.links.iter().filter_map(|link| {
        let (place, within, holds, relation) = match cluster.representative {
            place if place == link.a => (link.b, link.b_in_a, link.a_in_b, reversed(&link.relation)),
            place if place == link.b => (link.a, link.a_in_b, link.b_in_a, link.relation.as_str()),
            _ => return None,
        };
        let estimated = link.estimated.is_some();
        Some((
            place,
            RepresentativeLink {
                resemblance: link.resemblance,
                within,
                holds,
                shared_bytes: link.shared_bytes,
                outside_bytes: link.outside_bytes,
                relation,
                estimated,
            },
        ))
    });
    linked.collect()
}

fn reversed(relation: &str) -> &str {
    match relation {
        "contains" => "contained",
        "contained" => "contains",
        same => same,
    }
}

/// Bytes in copies beyond the first, of all contents.
pub(crate) fn copies_bytes(cluster: &ClusterSection) -> u64 {
    cluster.documents.iter().map(|member| (member.copies - 1) * member.size_bytes).sum()
}

/// The last name of a path.
pub(crate) fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
