//! Signatures on one thread, from a reader, as a worker makes them: every method at its usual parameters.
//!
//! `cargo bench -p cognate-fingerprint --bench methods`

use cognate_fingerprint::{FineCutter, Key, Method, View};
use divan::counter::BytesCount;

const DOCUMENT_BYTES: usize = 32 << 20;

fn main() {
    divan::main();
}

/// English-like text: words of a vocabulary of 20,000, short ones more often, in lines and sentences.
fn document() -> Vec<u8> {
    let mut random = vec![0; DOCUMENT_BYTES];
    blake3::Hasher::new().update(b"words").finalize_xof().fill(&mut random);
    let vocabulary: Vec<Vec<u8>> = random[..20_000 * 12]
        .chunks(12)
        .map(|bytes| {
            let length = 2 + usize::from(bytes[0] % 4) + usize::from(bytes[1] % 6);
            bytes[2..2 + length].iter().map(|byte| b'a' + byte % 26).collect()
        })
        .collect();
    let mut document = Vec::with_capacity(DOCUMENT_BYTES + 16);
    for (place, bytes) in random.chunks_exact(4).cycle().enumerate() {
        let pick = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]) as usize;
        // Two of three words are among the commonest hundred.
        document.extend_from_slice(&vocabulary[if bytes[3] < 170 { pick % 100 } else { pick % vocabulary.len() }]);
        document.extend_from_slice(if place % 12 == 11 { b".\n" } else { b" " });
        if document.len() >= DOCUMENT_BYTES {
            break;
        }
    }
    document.truncate(DOCUMENT_BYTES);
    document
}

fn bench(bencher: divan::Bencher<'_, '_>, name: &str, param: &str) {
    let document = document();
    let method = Method::parse(name, View::Raw, None, param).expect("the parameters are in range");
    let mut signer = method.signer(&Key::none());
    bencher
        .counter(BytesCount::new(document.len()))
        .bench_local(|| signer.read(&mut document.as_slice()).expect("the document is text").features.len());
}

#[divan::bench(args = ["mod n=1000", "mod n=100", "min n=100", "sketch n=100", "sketch n=1000", "bsw n=1000", "bsw n=100",
    "bsw-chunk n=1000", "bsw-chunk n=100"], sample_count = 10)]
fn windows_of_20_bytes(bencher: divan::Bencher<'_, '_>, method: &str) {
    let (name, n) = method.split_once(' ').expect("a name and n");
    bench(bencher, name, &format!("w=20,{n}"));
}

#[divan::bench(args = [5, 100, 1000], sample_count = 10)]
fn mod_of_windows_of(bencher: divan::Bencher<'_, '_>, w: u32) {
    bench(bencher, "mod", &format!("w={w}"));
}

#[divan::bench(args = ["sample=mod", "sample=min", "sample=levels", "sample=mod,option=a", "tokens=letters,w=20",
    "tokens=lines,w=2"], sample_count = 10)]
fn shingle(bencher: divan::Bencher<'_, '_>, param: &str) {
    bench(bencher, "shingle", param);
}

#[divan::bench(args = ["way=43B", "way=3B", "way=21B", "way=47C", "way=5A", "way=14A"], sample_count = 10)]
fn similarity_index(bencher: divan::Bencher<'_, '_>, param: &str) {
    bench(bencher, "similarity-index", param);
}

#[divan::bench(args = ["", "words=200"], sample_count = 10)]
fn fuzzy(bencher: divan::Bencher<'_, '_>, param: &str) {
    bench(bencher, "fuzzy", param);
}

/// Chunks of so many bytes, each cut into fine chunks.
#[divan::bench(args = [100, 1000, 16_384], sample_count = 10)]
fn fine_chunks(bencher: divan::Bencher<'_, '_>, chunk_bytes: usize) {
    let document = document();
    let cutter = FineCutter::new(&Key::none());
    bencher.counter(BytesCount::new(document.len())).bench_local(|| {
        let mut sum = 0;
        for chunk in document.chunks(chunk_bytes) {
            cutter.cut(chunk, |fine| sum += usize::from(fine.tag));
        }
        sum
    });
}
