//! Frozen sets that tests write down as paths and contents.

use std::collections::{BTreeMap, BTreeSet};

use cognate_fingerprint::ContentDigest;
use cognate_proto::name::RepositoryName;
use cognate_proto::path::DocumentPath;
use cognate_proto::v1::SyncSummary;
use cognate_similarity::{ContentIndex, RunShards};

use crate::freeze::{Evidence, FrozenContent, FrozenDocument, FrozenRoot, FrozenSet, Paths, WindowSamples, firsts};
use crate::part::Part;

/// The documents of a repository: path and content.
pub(crate) type Tree = BTreeMap<String, u32>;

/// Trees as an analysis sees them, each of a site. Every content has 1,000 bytes.
pub(crate) fn frozen(trees: &[&Tree]) -> FrozenSet {
    let numbers: BTreeSet<u32> = trees.iter().flat_map(|tree| tree.values()).copied().collect();
    let numbers: Vec<u32> = numbers.into_iter().collect();
    let content = |number: &u32| FrozenContent {
        digest: ContentDigest([u8::try_from(number % 251).unwrap(); 16]),
        chunks_digest: [0; 16],
        size_bytes: 1000,
        payload_bytes: 1000,
        weight: 1000,
        repeated_bytes: 0,
        chunk_count: 1,
        spoken_for: false,
        counts_as_text: false,
    };
    let mut paths = Paths::default();
    let mut document = |root: u16, (path, number): (&String, &u32)| FrozenDocument {
        root,
        path: paths.add(&DocumentPath::new(path.as_bytes()).unwrap()),
        content: ContentIndex(u32::try_from(numbers.binary_search(number).unwrap()).unwrap()),
        modified: 0,
        changing: false,
        recognised: false,
        in_part: false,
        part: Part::File,
        control: false,
    };
    let root = |site_number: u16| FrozenRoot {
        party: "home".parse().unwrap(),
        site: format!("s{site_number}").parse().unwrap(),
        repository: RepositoryName::main(),
        summary: SyncSummary::default(),
        site_number,
        party_number: 0,
        contradicted: 0,
        evidence: Evidence { epoch: 0, batches: 0, body_bytes: 0, head: [0; 32], root: [0; 32] },
    };
    let mut documents: Vec<FrozenDocument> = Vec::new();
    for (number, tree) in (0..).zip(trees) {
        documents.extend(tree.iter().map(|one| document(number, one)));
    }
    FrozenSet {
        roots: (0..).take(trees.len()).map(root).collect(),
        firsts: firsts(&documents, u32::try_from(trees.len()).unwrap()),
        controls: Vec::new(),
        documents,
        paths,
        contents: numbers.iter().map(content).collect(),
        samples: WindowSamples::none(numbers.len()),
        unread: Vec::new(),
        bare: Vec::new(),
        messages: Vec::new(),
        shards: RunShards::new(Vec::new()),
        set_aside: Vec::new(),
        renamed: std::collections::HashMap::new(),
    }
}
