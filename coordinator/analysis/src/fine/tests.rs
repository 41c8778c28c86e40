//! The definition of links with fine figures (`docs/decisions/0028-fine-figures.md`), as naive as it can be written, and the product
//! held against it over random trees.
//!
//! `trees` makes the trees, `product` has them analysed from their indexes to the result, `candidates` and `measure` are the
//! definition. Chunks, fine chunks and samples of bytes are taken as given: their definitions are tested where they are made.

mod candidates;
mod measure;
mod product;
mod trees;

use std::collections::BTreeMap;

use self::candidates::ProposedPairs;
use self::product::Product;
use self::trees::Tree;

/// The number of instances in a usual run; `COGNATE_ORACLE_INSTANCES` asks for another one.
const INSTANCES: u64 = 200;

/// The links of an instance with the bytes that they share, by the places of their contents in the order of digests, and the
/// numbers of candidates and of pairs that bounds leave out.
#[derive(PartialEq, Eq, Debug, Default)]
struct Outcome {
    links: BTreeMap<(u32, u32), u64>,
    candidates: u64,
    omitted: u64,
    /// Of these, pairs of which too much is left; the product does not say it.
    too_long: u64,
}

fn number_of(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).map_or(usual, |number| number.parse().unwrap())
}

#[test]
fn links_of_random_trees_are_those_of_the_definition() {
    let first = number_of("COGNATE_ORACLE_FIRST", 0);
    let instances = number_of("COGNATE_ORACLE_INSTANCES", INSTANCES);
    let product = Product::open();
    let mut all = ProposedPairs::default();
    let (mut links, mut finer, mut too_long) = (0, 0, 0);
    for seed in first..first + instances {
        let tree = Tree::random(seed);
        let contents = tree.contents();
        let proposed = candidates::proposed(&tree, &contents);
        let expected = measure::outcome(&tree, &contents, &proposed);
        let found = product.compare(&tree, seed + 1);
        too_long += expected.too_long;
        let expected = Outcome { too_long: 0, ..expected };
        assert_eq!(found, expected, "instance {seed}: {:?}", tree.options);
        links += expected.links.len();
        finer += expected.links.iter().filter(|(pair, shared)| proposed.coarse[*pair] < **shared).count();
        all.add(proposed);
    }
    // Every kind of candidate, and every bound, decides some of the instances.
    let kinds = [&all.placed, &all.aligned, &all.linked, &all.near, &all.sampled].map(Vec::len);
    let cut = [all.cut_sharing.len(), all.cut_sampled, all.refuted.len()];
    println!(
        "{instances} instances, {links} links, {finer} of them finer; candidates by kind {kinds:?}, cut {cut:?}, {too_long} too long"
    );
    assert!(kinds.iter().all(|kind| *kind > 0) && finer > 0, "{kinds:?} {finer}");
    assert!(cut.iter().all(|cut| *cut > 0) && too_long > 0, "{cut:?} {too_long}");
}
