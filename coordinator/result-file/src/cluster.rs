//! Clusters, and the families in them.

use crate::ratio::Ratio;
use crate::record::{Word, record};

record! {
    /// A cluster. They are numbered by view and by the bytes that join their members, falling, then by name.
    pub struct Cluster in "cluster" {
        /// Its number, from 0.
        pub id: i64 = "PRIMARY KEY",
        /// Stable: made from the smallest member's digest.
        pub name: String,
        /// The digest over the digests of all members.
        pub members_digest: String,
        /// `pair`, `archive` or `group`.
        pub relation: Word,
        /// The content that stands for the cluster.
        pub representative: i64 = "REFERENCES content",
        /// Bytes of its contents, each counted once.
        pub total_bytes: u64,
        /// Number of its contents.
        pub members: u64,
        /// Number of its links.
        pub links: u64,
        /// Links that are not listed.
        pub links_omitted: u64,
        /// The least resemblance over its links.
        pub min_resemblance: Ratio,
        /// The mean resemblance over its links.
        pub mean_resemblance: Ratio,
        /// The greatest resemblance; none if the method does not measure it.
        pub max_resemblance: Option<Ratio>,
        /// The greatest containment, either way; none if the method does not measure it.
        pub max_containment: Option<Ratio>,
        /// Of its strongest link.
        pub shared_bytes: u64,
        /// Of the strongest links that join all members without a circle (a maximum spanning forest by shared bytes).
        pub joined_bytes: u64,
        /// In copies beyond the first, and `joined_bytes`.
        pub redundant_bytes: u64,
        /// Every copy counted.
        pub documents: u64,
        /// Numbers of sites, with a comma before and after each: sites by their first repository.
        pub sites: String,
        /// Number of these sites.
        pub site_count: u64,
        /// Whether its documents are at several parties; in a scan of one party, at several sites.
        pub crosses: bool,
        /// The earliest modification of a document.
        pub first_modified: i64,
        /// The latest modification of a document.
        pub last_modified: i64,
        /// Where the representative is.
        pub root: i64 = "REFERENCES root",
        /// The path of the representative there.
        pub path: Vec<u8>,
        /// The number of the view.
        pub layer: usize,
        /// Of the links of `joined_bytes`, those that rest on a frame.
        pub frame_links: u64,
        /// Whether these are at least half of them.
        pub on_frame: bool,
        /// Where a document of another member is, the first by number: of a pair, the other one.
        pub second_root: Option<i64> = "REFERENCES root",
        /// The path of that document.
        pub second_path: Option<Vec<u8>>,
    }
}

record! {
    /// Members of a cluster that are close to one of them.
    pub struct Family in "family" {
        /// The cluster.
        pub cluster: i64 = "REFERENCES cluster",
        /// Its number in the cluster, from 0.
        pub number: u64,
        /// The content that all members are close to.
        pub representative: i64 = "REFERENCES content",
        /// The least resemblance between two members.
        pub min_resemblance: Ratio,
        /// Whether that is only over pairs with the representative.
        pub over_representative_only: bool,
    }
}

record! {
    /// A member of a family.
    pub struct FamilyMember in "family_member" {
        /// The cluster.
        pub cluster: i64,
        /// The number of the family in its cluster.
        pub number: u64,
        /// The member.
        pub content: i64 = "REFERENCES content",
    }
}
