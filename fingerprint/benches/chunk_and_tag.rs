//! Chunking and tagging on one thread, next to the obvious pipeline: the crate `fastcdc` and one BLAKE3 call per chunk.
//!
//! `cargo bench -p cognate-fingerprint`

#![expect(clippy::print_stderr, reason = "a benchmark prints to the terminal")]

use std::time::Instant;

use cognate_fingerprint::tttd::{Parameters, Tttd};
use cognate_fingerprint::{Key, Method, View};
use divan::counter::BytesCount;

const DOCUMENT_BYTES: usize = 64 << 20;
const MEANS: [u64; 3] = [100, 1000, 16_384];

/// Rounds in which each pipeline runs once; a median is of so many runs.
const ROUNDS: usize = 9;

fn main() {
    // `cargo test` runs benchmarks as well, to see that they work.
    if std::env::args().any(|argument| argument == "--bench") {
        MEANS.into_iter().for_each(compare);
    }
    divan::main();
}

/// Prints the times of both pipelines in alternation, and how many times as fast ours is. The two cut differently, and a hash has a cost
/// for each chunk and each byte: the number of chunks is part of the result.
fn compare(mean: u64) {
    let document = document();
    let method = Method::tttd(View::Raw, mean).expect("the mean is in range");
    let mut reader = method.fingerprinter(&Key::none());
    let memory = method.fingerprinter(&Key::none());
    let without = method.visiting_fingerprinter(&Key::none(), Box::new(|_, _| ())).expect("the method has chunks");
    let without = without.without_samples();
    let (mut times, mut chunks) = ([const { Vec::new() }; 4], [0; 2]);
    for _ in 0..ROUNDS {
        let [from_reader, from_memory, without_sample, other] = &mut times;
        from_reader.push(timed(|| {
            reader.read(&mut document.as_slice(), |_| Ok(())).expect("memory does not fail");
        }));
        from_memory.push(timed(|| chunks[0] = memory.slice(&document, |_| ()).chunk_count));
        without_sample.push(timed(|| {
            without.slice(&document, |_| ());
        }));
        other.push(timed(|| chunks[1] = fastcdc_and_hashes(&document, mean).0));
    }
    let [from_reader, from_memory, without_sample, other] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[ROUNDS / 2]
    });
    eprintln!("mean {mean}: {} chunks of TTTD, {} of FastCDC in {other:.1} ms", chunks[0], chunks[1]);
    for (what, time) in
        [("from a reader", from_reader), ("from memory", from_memory), ("from memory, no sample", without_sample)]
    {
        eprintln!("  {what:24} {time:6.1} ms, {:.2} times as fast", other / time);
    }
}

/// The milliseconds that a pipeline takes.
fn timed(run: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    run();
    begin.elapsed().as_secs_f64() * 1000.0
}

/// The other pipeline: the number of chunks, and a number that depends on all hashes.
fn fastcdc_and_hashes(document: &[u8], mean: u64) -> (u64, u64) {
    let parameters = Parameters::for_mean(u32::try_from(mean).expect("the mean is in range"));
    let (min, max) = (parameters.chunk_bytes_min as usize, parameters.chunk_bytes_max as usize);
    let mean = usize::try_from(mean).expect("the mean is in range");
    fastcdc::v2020::FastCDC::new(document, min, mean, max).fold((0, 0), |(count, sum), chunk| {
        let bytes = &document[chunk.offset..chunk.offset + chunk.length];
        (count + 1, sum + u64::from(blake3::keyed_hash(&[7; 32], bytes).as_bytes()[0]))
    })
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
    bencher.counter(BytesCount::new(document.len())).bench_local(|| fastcdc_and_hashes(&document, mean));
}
