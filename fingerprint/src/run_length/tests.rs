use super::*;
use crate::chunk::Tag;
use crate::key::Key;
use crate::split_mix::SplitMix64;
use crate::view::View;

fn bytes(rng: &mut SplitMix64, count: usize) -> Vec<u8> {
    (0..count.div_ceil(8)).flat_map(|_| rng.next().to_le_bytes()).take(count).collect()
}

fn tags(method: &Method, document: &[u8]) -> Vec<Tag> {
    let mut tags = Vec::new();
    method.fingerprinter(&Key::none()).slice(document, |chunk| tags.push(chunk.tag));
    tags
}

/// The percentage of shared runs of a length that are really found.
fn found(method: &Method, length: u64, trials: usize) -> usize {
    let mut rng = SplitMix64::new(length);
    let around = 6 * method.chunk_bytes() as usize;
    let found = (0..trials).filter(|_| {
        let run = bytes(&mut rng, usize::try_from(length).unwrap());
        let own = usize::try_from(rng.next() % 1024).unwrap();
        let document = |rng: &mut SplitMix64, own| [bytes(rng, around + own), run.clone(), bytes(rng, around)].concat();
        let (a, b) = (document(&mut rng, own), document(&mut rng, 0));
        let of_a = tags(method, &a);
        tags(method, &b).iter().any(|tag| of_a.contains(tag))
    });
    found.count() * 100 / trials
}

#[test]
fn predicted_lengths_are_those_that_the_chunkers_find() {
    for method in [
        Method::tttd(View::Raw, 200).unwrap(),
        Method::parse("bsw-chunk", View::Raw, Some(200), "").unwrap(),
        Method::parse("mod", View::Raw, Some(200), "").unwrap(),
    ] {
        let lengths = Runs::of(&method).unwrap().lengths();
        for (length, percent) in [(lengths.p50, 50), (lengths.p95, 95), (lengths.p99, 99)] {
            let really = found(&method, length.unwrap(), 600);
            // Chunks that end at a backup are predicted with caution.
            let more = if percent == 50 { 8 } else { 3 };
            assert!((percent - 4..=percent + more).contains(&really), "{} {percent} {really}", method.name());
        }
    }
}

#[test]
fn lengths_scale_with_the_mean_and_are_the_same_every_time() {
    let of = |mean| Runs::of(&Method::tttd(View::Raw, mean).unwrap()).unwrap().lengths();
    assert_eq!(of(1000), of(1000));
    let (small, large) = (of(1000).p95.unwrap(), of(10_000).p95.unwrap());
    assert!(large > 9 * small && large < 11 * small, "{small} {large}");
    assert!(of(1000).p50 < of(1000).p95 && of(1000).p95 < of(1000).p99);
}

#[test]
fn observed_lengths_of_random_bytes_are_the_predicted_ones() {
    let method = Method::tttd(View::Raw, 200).unwrap();
    let document = bytes(&mut SplitMix64::new(7), 1 << 20);
    let mut lengths = Vec::new();
    method.fingerprinter(&Key::none()).slice(&document, |chunk| lengths.push(chunk.length_bytes));
    let runs = Runs::of(&method).unwrap();
    let observed = runs.observed([lengths.as_slice()].into_iter());
    for (observed, predicted) in
        [(observed.p50, runs.lengths().p50), (observed.p95, runs.lengths().p95), (observed.p99, runs.lengths().p99)]
    {
        let (observed, predicted) = (observed.unwrap(), predicted.unwrap());
        assert!(observed.abs_diff(predicted) * 8 < predicted, "{observed} {predicted}");
    }
}

#[test]
fn a_document_of_one_chunk_has_no_run_that_is_certainly_found() {
    let runs = Runs::of(&Method::tttd(View::Raw, 1000).unwrap()).unwrap();
    assert_eq!(runs.observed([[300].as_slice()].into_iter()).p95, None);
    assert_eq!(runs.observed(std::iter::empty()), RunLengths::default());
}

#[test]
fn methods_of_a_fixed_size_have_no_run_lengths() {
    for name in ["min", "sketch", "fuzzy", "similarity-index"] {
        assert!(Runs::of(&Method::parse(name, View::Raw, None, "").unwrap()).is_none(), "{name}");
    }
    // One window in 50: P(found) = 1 - 0.98^k.
    let lengths = Runs::of(&Method::parse("mod", View::Raw, Some(50), "w=20").unwrap()).unwrap().lengths();
    assert_eq!((lengths.p50, lengths.p95), (Some(19 + 35), Some(19 + 149)));
}
