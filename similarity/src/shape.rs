//! The shape of a cluster: a pair, an archive, or a group.

use crate::cluster::{Cluster, Link};
use crate::posting::ContentIndex;
use crate::threshold::Containment;

/// The shape of a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shape {
    /// Two members.
    Pair,
    /// One member contains each of the others.
    Archive,
    /// Anything else.
    Group,
}

impl Shape {
    /// The shape of a cluster, from its links and the payloads of all contents of the analysis.
    ///
    /// Containment is read off the kept links. Where a threshold above four fifths or an across rule dropped the link
    /// between an archive and one of its parts, the shape is a group.
    pub fn of(cluster: &Cluster, payload_bytes: &[u64]) -> Shape {
        if cluster.members.len() == 2 {
            return Shape::Pair;
        }
        // Only a member that is linked with all others can contain them all.
        let mut contained = vec![0usize; cluster.members.len()];
        for link in &cluster.links {
            for (container, part) in [(link.a, link.b), (link.b, link.a)] {
                if contains(link, part, payload_bytes) {
                    contained[place(cluster, container)] += 1;
                }
            }
        }
        let others = cluster.members.len() - 1;
        if contained.contains(&others) { Shape::Archive } else { Shape::Group }
    }
}

fn contains(link: &Link, part: ContentIndex, payload_bytes: &[u64]) -> bool {
    Containment::FOUR_FIFTHS.is_reached_by(link.shared_bytes, payload_bytes[part.at()])
}

fn place(cluster: &Cluster, member: ContentIndex) -> usize {
    cluster.members.binary_search(&member).expect("links of a cluster join its members")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_holds_each_of_the_others() {
        let link = |a, b, shared_bytes| Link { a: ContentIndex(a), b: ContentIndex(b), shared_bytes };
        let mut cluster = Cluster {
            members: vec![ContentIndex(0), ContentIndex(1), ContentIndex(2)],
            links: vec![link(0, 1, 80), link(1, 2, 90)],
            representative: ContentIndex(1),
            families: vec![],
        };
        let payload_bytes = [100, 1000, 100];
        assert_eq!(Shape::of(&cluster, &payload_bytes), Shape::Archive);
        cluster.links[0].shared_bytes = 79;
        assert_eq!(Shape::of(&cluster, &payload_bytes), Shape::Group);
        cluster.members.pop();
        assert_eq!(Shape::of(&cluster, &payload_bytes), Shape::Pair);
    }
}
