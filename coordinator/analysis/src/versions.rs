//! Contents of which sites send different chunks under one digest. One of them is wrong: by mistake, or because it wants the
//! documents of the other to seem to share what they do not.
//!
//! Each such version is a content of its own, so that the documents of a site are compared by what that site sent. The
//! version of most sites keeps the digest; the others get one that follows from their chunks. Who differs is counted, and named in
//! the report.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use cognate_fingerprint::ContentDigest;
use cognate_storage::{Index, IndexedContent};

/// The key of the digests of versions: no secret, it only separates them from those of contents.
const VERSION_CONTEXT: &str = "cognate version of a content v1";

/// The digest of a content's chunks.
type ChunksDigest = [u8; 16];

/// The digests under which contents are compared.
#[derive(Default)]
pub(crate) struct Versions {
    /// Of each content with several versions, the one that keeps its digest.
    kept: HashMap<ContentDigest, ChunksDigest>,
    /// Of each root, the contents that most other sites describe differently, or that another site does where there are no
    /// most.
    pub(crate) contradicted: Vec<u64>,
}

impl Versions {
    /// Decides about the contents whose digests are `disputed`. Each root has the number of its site; `load` gives its index.
    pub(crate) fn of<E>(
        disputed: &BTreeSet<ContentDigest>,
        sites: &[u16],
        load: impl Fn(usize) -> Result<Arc<Index>, E>,
    ) -> Result<Versions, E> {
        let mut versions = Versions { contradicted: vec![0; sites.len()], ..Versions::default() };
        let mut holders: BTreeMap<ContentDigest, Vec<(usize, ChunksDigest)>> = BTreeMap::new();
        for root in 0..sites.len() {
            let index = load(root)?;
            let live = index.live();
            for digest in disputed.iter().filter(|digest| live.contains(digest)) {
                let version = index.contents.get(digest).map(|content| (root, content.chunks_digest));
                holders.entry(*digest).or_default().extend(version);
            }
        }
        holders.iter().for_each(|(digest, holders)| versions.decide(*digest, holders, sites));
        Ok(versions)
    }

    /// Decides about one content, of which each root has a version.
    fn decide(&mut self, digest: ContentDigest, holders: &[(usize, ChunksDigest)], sites: &[u16]) {
        let count = |wanted: Option<ChunksDigest>| {
            let of_version = holders.iter().filter(|(_, version)| wanted.is_none_or(|wanted| *version == wanted));
            of_version.map(|(root, _)| sites[*root]).collect::<BTreeSet<u16>>().len()
        };
        let mut counts: BTreeMap<ChunksDigest, usize> = BTreeMap::new();
        for (_, version) in holders {
            counts.entry(*version).or_insert_with(|| count(Some(*version)));
        }
        let most = counts.values().copied().max().unwrap_or(0);
        // Of versions with equally many sites, the first is taken, whose chunks `explain` reads.
        let Some((_, kept)) = holders.iter().find(|(_, version)| counts[version] == most) else { return };
        self.kept.insert(digest, *kept);
        let is_settled = 2 * most > count(None);
        for (root, version) in holders {
            self.contradicted[*root] += u64::from(!is_settled || version != kept);
        }
    }

    /// The digest under which a content is compared.
    pub(crate) fn digest(&self, digest: ContentDigest, content: &IndexedContent) -> ContentDigest {
        match self.kept.get(&digest) {
            Some(kept) if *kept != content.chunks_digest => {
                let mut hasher = blake3::Hasher::new_derive_key(VERSION_CONTEXT);
                hasher.update(&digest.0).update(&content.chunks_digest);
                ContentDigest(*hasher.finalize().as_bytes().first_chunk().expect("a hash is longer"))
            }
            _ => digest,
        }
    }
}
