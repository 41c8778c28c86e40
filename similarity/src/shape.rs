//! The shape of a cluster: a pair, an archive, or a group.

use crate::cluster::Cluster;

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
    /// The shape of a cluster.
    ///
    /// Containment follows from all its links ([`Cluster::container`]). If a threshold above four fifths or an across
    /// rule dropped the link between an archive and one of its parts, the shape is a group.
    pub fn of(cluster: &Cluster) -> Shape {
        match (cluster.members.len(), cluster.container) {
            (2, _) => Shape::Pair,
            (_, Some(_)) => Shape::Archive,
            (_, None) => Shape::Group,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Resemblance;
    use crate::posting::ContentIndex;

    #[test]
    fn an_archive_holds_each_of_the_others() {
        let cluster = |members: u32, container: Option<u32>| Cluster {
            members: (0..members).map(ContentIndex).collect(),
            links: vec![],
            link_count: 0,
            min_resemblance: Resemblance { shared: 1, union: 2 },
            resemblance_sum: 0,
            container: container.map(ContentIndex),
            representative: ContentIndex(1),
            families: vec![],
        };
        assert_eq!(Shape::of(&cluster(3, Some(1))), Shape::Archive);
        assert_eq!(Shape::of(&cluster(3, None)), Shape::Group);
        assert_eq!(Shape::of(&cluster(2, Some(0))), Shape::Pair);
    }
}
