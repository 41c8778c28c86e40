use cognate_similarity::{ContentIndex, ContentMap, Link, Run, RunInput, RunRecord, RunShards, WriteRun, write_run};

use super::spread::{Contents, SpreadTags};
use super::*;
use crate::kinds::NOWHERE;

fn tag(number: u8) -> Tag {
    Tag([number; 16])
}

/// Contents as lists of chunks, all in one cluster, with the tags that are spread among them.
fn spread(contents: &[&[(u8, u32)]], links: &[(u32, u32, u64)], kinds_min: usize) -> Vec<Tag> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.run");
    let mut records = Vec::new();
    for (chunks, ordinal) in contents.iter().zip(0..) {
        let record = |&(number, length_bytes): &(u8, u32)| RunRecord {
            tag: tag(number),
            length_bytes,
            template: number == 255,
            ordinal,
        };
        records.extend(chunks.iter().map(record));
    }
    write_run(&path, &mut records, &WriteRun { sync: false }).unwrap();
    let map: ContentMap = (0..).take(contents.len()).map(|number| Some(ContentIndex(number))).collect();
    let shards = RunShards::new(vec![RunInput { run: Run::open(&path).unwrap(), contents: map }]);
    let payload =
        |chunks: &&[(u8, u32)]| chunks.iter().filter(|chunk| chunk.0 != 255).map(|chunk| u64::from(chunk.1)).sum();
    let payload_bytes: Vec<u64> = contents.iter().map(payload).collect();
    let links: Vec<Link> = links
        .iter()
        .map(|&(a, b, shared_bytes)| Link { a: ContentIndex(a), b: ContentIndex(b), shared_bytes })
        .collect();
    let kinds = Kinds::of(&links, &payload_bytes).finish();
    let cluster_of = vec![0; contents.len()];
    let contents = Contents { kinds: &kinds, payload_bytes: &payload_bytes, cluster_of: &cluster_of, kinds_min };
    let found = SpreadTags::find(&shards, &contents).unwrap();
    let nowhere = vec![NOWHERE; cluster_of.len()];
    let apart = SpreadTags::find(&shards, &Contents { cluster_of: &nowhere, ..contents }).unwrap();
    assert!(apart.chunks.is_empty(), "no link rests on what no cluster has");
    found.chunks.into_iter().map(|chunk| chunk.0).collect()
}

#[test]
fn tags_that_unlike_documents_share_are_spread() {
    let pages: Vec<Vec<(u8, u32)>> = (10..16).map(|own| vec![(1, 400), (2, 100), (255, 900), (own, 2000)]).collect();
    let pages: Vec<&[(u8, u32)]> = pages.iter().map(Vec::as_slice).collect();
    assert_eq!(spread(&pages, &[], 5), [tag(1), tag(2)]);
    assert_eq!(spread(&pages[..4], &[], 5), []);
    // A small page of which it is the greater part changes nothing.
    let small: Vec<&[(u8, u32)]> = pages.iter().copied().chain([&[(1, 400), (2, 100), (30, 50)][..]]).collect();
    assert_eq!(spread(&small, &[(0, 6, 500)], 5), [tag(1), tag(2)]);
}

#[test]
fn what_versions_of_a_document_have_in_common_is_not_spread() {
    // Ten versions that share nine tenths, and each with its neighbours alone what was written in between.
    let versions: Vec<Vec<(u8, u32)>> = (0..10).map(|n| vec![(1, 9000), (100 + n, 300), (101 + n, 300)]).collect();
    let versions: Vec<&[(u8, u32)]> = versions.iter().map(Vec::as_slice).collect();
    let links: Vec<(u32, u32, u64)> = (0..9).map(|n| (n, n + 1, 9300)).collect();
    assert_eq!(spread(&versions, &links, 2), []);
    // The same if every other link is omitted: they are joined through others.
    let links: Vec<(u32, u32, u64)> = (1..10).map(|n| (0, n, 9000)).collect();
    assert_eq!(spread(&versions, &links, 2), []);
}

#[test]
fn what_is_most_of_most_documents_is_what_they_are_about() {
    // Letters that a dozen people got, each with a name in it; nothing links them here.
    let letters: Vec<Vec<(u8, u32)>> = (10..22).map(|name| vec![(1, 900), (name, 100)]).collect();
    let quoting: Vec<Vec<(u8, u32)>> = (30..36).map(|own| vec![(1, 900), (own, 5000)]).collect();
    let of = |letters: &[Vec<(u8, u32)>]| -> Vec<Tag> {
        let all: Vec<&[(u8, u32)]> = letters.iter().chain(&quoting).map(Vec::as_slice).collect();
        spread(&all, &[], 5)
    };
    assert_eq!(of(&letters), []);
    // Six quote it and three have little else: the suggestion is the quoted text.
    assert_eq!(of(&letters[..3]), [tag(1)]);
}
