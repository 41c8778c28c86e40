//! Chunking and tagging on one thread, beside the obvious pipeline: the crate `fastcdc` and one BLAKE3 call per chunk.
//!
//! `cargo bench -p cognate-fingerprint`

use cognate_fingerprint::{Key, Method, View};
use divan::counter::BytesCount;

const DOCUMENT_BYTES: usize = 64 << 20;
const MEANS: [u64; 3] = [100, 1000, 16_384];

fn main() {
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

#[divan::bench(args = MEANS, sample_count = 10)]
fn tttd_and_tags(bencher: divan::Bencher<'_, '_>, mean: u64) {
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

#[divan::bench(args = MEANS, sample_count = 10)]
fn fastcdc_v2020_and_one_hash_per_chunk(bencher: divan::Bencher<'_, '_>, mean: u64) {
    let document = document();
    let parameters =
        cognate_fingerprint::tttd::Parameters::for_mean(u32::try_from(mean).expect("the mean is in range"));
    let key = [7; 32];
    bencher.counter(BytesCount::new(document.len())).bench_local(|| {
        fastcdc::v2020::FastCDC::new(
            &document,
            parameters.chunk_bytes_min as usize,
            usize::try_from(mean).expect("the mean is in range"),
            parameters.chunk_bytes_max as usize,
        )
        .map(|chunk| {
            u64::from(blake3::keyed_hash(&key, &document[chunk.offset..chunk.offset + chunk.length]).as_bytes()[0])
        })
        .sum::<u64>()
    });
}
