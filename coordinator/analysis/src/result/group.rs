//! Columns that lists show of the documents of a cluster or of an identical set: number, places, and times.

use super::Publication;

/// Places of the documents of a scan: repositories, and the sites that have them, numbered by their first repository.
pub(super) struct Places {
    site_of: Vec<u16>,
    names: Vec<(String, String)>,
    /// Places in the order of the launch.
    launched: Vec<usize>,
}

impl Places {
    pub(super) fn of(publication: &Publication<'_>) -> Places {
        let roots = &publication.roots().roots;
        let mut sites = Vec::new();
        let mut site_of = Vec::with_capacity(roots.len());
        for root in roots {
            let place = sites.iter().position(|known| *known == root.site_number).unwrap_or_else(|| {
                sites.push(root.site_number);
                sites.len() - 1
            });
            site_of.push(u16::try_from(place).unwrap_or(u16::MAX));
        }
        let names: Vec<(String, String)> =
            roots.iter().map(|root| (root.site.to_string(), root.repository.to_string())).collect();
        let order = publication.launch_order();
        let of_root = |(site, repository): &(String, String)| order.place_of(site, repository);
        let launched = names.iter().map(of_root).collect();
        Places { site_of, names, launched }
    }

    /// The place of a repository in the order of the launch, in which people see documents.
    pub(super) fn of_root(&self, root: u16) -> usize {
        self.launched[usize::from(root)]
    }

    /// A hash of where a document is; sums of them do not depend on an order.
    pub(super) fn hash(&self, root: u16, path: &[u8]) -> u128 {
        let (site, repository) = &self.names[usize::from(root)];
        let end: &[u8] = &[0];
        // At once: a hasher that takes part after part has two kilobytes of its own.
        let hash = blake3::hash(&[site.as_bytes(), end, repository.as_bytes(), end, path, end].concat());
        u128::from_be_bytes(*hash.as_bytes().first_chunk().expect("a hash has 32 bytes"))
    }
}

/// The documents of a cluster or of a set, summed up.
#[derive(Default)]
pub(super) struct Group {
    pub(super) documents: u64,
    pub(super) document_bytes: u64,
    first_modified: Option<i64>,
    last_modified: Option<i64>,
    /// The repositories, ascending.
    roots: Vec<u16>,
}

impl Group {
    pub(super) fn add(&mut self, root: u16, size_bytes: u64, modified: i64) {
        self.documents += 1;
        self.document_bytes = self.document_bytes.saturating_add(size_bytes);
        self.first_modified = Some(self.first_modified.map_or(modified, |first| first.min(modified)));
        self.last_modified = self.last_modified.max(Some(modified));
        if let Err(place) = self.roots.binary_search(&root) {
            self.roots.insert(place, root);
        }
    }

    /// The columns that clusters and sets have in common.
    pub(super) fn summed(&self, publication: &Publication<'_>, places: &Places) -> GroupSums {
        let mut sites: Vec<u16> = self.roots.iter().map(|root| places.site_of[usize::from(*root)]).collect();
        sites.sort_unstable();
        sites.dedup();
        let numbers = sites.iter().fold(",".to_owned(), |text, site| text + &site.to_string() + ",");
        GroupSums {
            documents: self.documents,
            sites: numbers,
            site_count: sites.len() as u64,
            crosses: publication.spans(self.roots.iter().copied()),
            first_modified: self.first_modified.unwrap_or(0),
            last_modified: self.last_modified.unwrap_or(0),
        }
    }
}

/// Sums over the documents of a cluster or of a set, as the records of both have them.
pub(super) struct GroupSums {
    pub(super) documents: u64,
    pub(super) sites: String,
    pub(super) site_count: u64,
    pub(super) crosses: bool,
    pub(super) first_modified: i64,
    pub(super) last_modified: i64,
}
