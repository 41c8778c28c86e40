//! Chunking and tagging on one thread, next to the obvious pipeline: the crate `fastcdc` and one BLAKE3 call per chunk.
//!
//! `cargo bench -p cognate-fingerprint`

#![expect(clippy::print_stderr, reason = "a benchmark prints to the terminal")]

use cognate_fingerprint::tttd::{Parameters, Tttd};
use cognate_fingerprint::{Key, Method, View};
use divan::counter::BytesCount;

const DOCUMENT_BYTES: usize = 64 << 20;
const MEANS: [u64; 3] = [100, 1000, 16_384];

fn main() {
    // The two cut differently, and a hash has a cost for each chunk and each byte: the number of chunks is part of the result.
    let document = document();
    for mean in MEANS {
        let method = Method::tttd(View::Raw, mean).expect("the mean is in range");
        let ours = method.fingerprinter(&Key::none()).slice(&document, |_| ()).chunk_count;
        let parameters = Parameters::for_mean(u32::try_from(mean).expect("the mean is in range"));
        let (min, max) = (parameters.chunk_bytes_min as usize, parameters.chunk_bytes_max as usize);
        let mean = usize::try_from(mean).expect("the mean is in range");
        let theirs = fastcdc::v2020::FastCDC::new(&document, min, mean, max).count();
        eprintln!("mean {mean}: {ours} chunks of TTTD, {theirs} of FastCDC");
    }
    divan::main();
}

/// Text-like bytes: words of a small vocabulary in random order, so that windows repeat as they do in real documents.
fn document() -> Vec<u8> {
    let mut random = vec![0; DOCUMENT_BYTES / 4];
    blake3::Hasher::new().update(b"benchmark").finalize_xof().fill(&mut random);
    let mut document = Vec::with_capacity(DOCUMENT_BYTES);
    let mut words = random.iter().cycle();
    while document.len() < DOCUMENT_BYTES {
        let (a, b) = (words.next().copied().unwrap_or(0), words.next().copied().unwrap_or(0));
        document.extend_from_slice(&format!("w{a:x}{} ", b % 16).into_bytes());
    }
    document.truncate(DOCUMENT_BYTES);
    document
}

/// The work of a worker: read in pieces, cut, tag, digest.
#[divan::bench(args = MEANS, sample_count = 10)]
fn tttd_and_tags_from_a_reader(bencher: divan::Bencher<'_, '_>, mean: u64) {
    let document = document();
    let method = Method::tttd(View::Raw, mean).expect("the mean is in range");
    let mut fingerprinter = method.fingerprinter(&Key::none());
    bencher.counter(BytesCount::new(document.len())).bench_local(|| {
        let mut chunk_count = 0_u64;
        fingerprinter
            .read(&mut document.as_slice(), |_| {
                chunk_count += 1;
                Ok(())
            })
            .expect("memory does not fail");
        chunk_count
    });
}

/// The same over a document in memory, as in the other pipeline.
#[divan::bench(args = MEANS, sample_count = 10)]
fn tttd_and_tags(bencher: divan::Bencher<'_, '_>, mean: u64) {
    let document = document();
    let method = Method::tttd(View::Raw, mean).expect("the mean is in range");
    let fingerprinter = method.fingerprinter(&Key::none());
    bencher.counter(BytesCount::new(document.len())).bench_local(|| {
        let mut chunk_count = 0_u64;
        fingerprinter.slice(&document, |_| chunk_count += 1);
        chunk_count
    });
}

/// Cutting without tags.
#[divan::bench(args = MEANS, sample_count = 10)]
fn tttd_cuts_alone(bencher: divan::Bencher<'_, '_>, mean: u64) {
    let document = document();
    let tttd = Tttd::new(u32::try_from(mean).expect("the mean is in range"), &Key::none());
    bencher.counter(BytesCount::new(document.len())).bench_local(|| {
        let (mut start, mut chunk_count) = (0, 0_u64);
        while start < document.len()
            && let Some(length) = tttd.cut(&document, start, true)
        {
            start += length;
            chunk_count += 1;
        }
        chunk_count
    });
}

#[divan::bench(args = MEANS, sample_count = 10)]
fn fastcdc_v2020_and_one_hash_per_chunk(bencher: divan::Bencher<'_, '_>, mean: u64) {
    let document = document();
    let parameters = Parameters::for_mean(u32::try_from(mean).expect("the mean is in range"));
    let key = [7; 32];
    bencher.counter(BytesCount::new(document.len())).bench_local(|| {
        fastcdc::v2020::FastCDC::new(
            &document,
            parameters.chunk_bytes_min as usize,
            usize::try_from(mean).expect("the mean is in range"),
            parameters.chunk_bytes_max as usize,
        )
        .map(|chunk| {
            let bytes = &document[chunk.offset..chunk.offset + chunk.length];
            u64::from(blake3::keyed_hash(&key, bytes).as_bytes()[0])
        })
        .sum::<u64>()
    });
}
