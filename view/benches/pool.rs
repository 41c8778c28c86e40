//! The cost of a child next to the reading itself, and the speed of unpacking and reading archives.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZeroUsize;

use cognate_fuzzing::Dice;
use cognate_view::{CHILD_ARGUMENT, Limits, Parts, Pool};
use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};

fn main() {
    divan::main();
}

fn pool() -> Pool {
    let program = env!("CARGO_BIN_EXE_cognate-view-child");
    Pool::new(program, [CHILD_ARGUMENT], NonZeroUsize::MIN, Limits::default()).expect("a child starts")
}

fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(bytes).expect("disk space");
    file
}

/// Text that is neither all the same nor chance.
fn text(bytes: usize) -> Vec<u8> {
    let words = ["annual", "report", "of", "the", "committee", "on", "water", "levels", "and", "their", "causes"];
    let mut text = Vec::with_capacity(bytes + 16);
    let mut dice = Dice::new(1);
    while text.len() < bytes {
        text.extend_from_slice(format!("{} {} ", dice.pick(&words), dice.below(1024)).as_bytes());
    }
    text.truncate(bytes);
    text
}

/// All parts, to their ends.
fn drain(mut parts: Parts<impl std::io::Read>) -> usize {
    let mut text = vec![0; 64 * 1024];
    let mut bytes = 0;
    while parts.next_part().expect("complete stream").is_some() {
        loop {
            match parts.read(&mut text).expect("complete stream") {
                0 => break,
                read => bytes += read,
            }
        }
    }
    bytes
}

/// Small documents, one after the other, through one child.
#[divan::bench(args = [100, 1000, 10_000])]
fn small_documents_through_a_child(bencher: Bencher<'_, '_>, bytes: usize) {
    let (pool, file) = (pool(), file(&text(bytes)));
    bencher.counter(ItemsCount::new(1_usize)).bench(|| drain(pool.extract(&file, "x.txt").expect("asked").parts()));
}

/// The same in this process.
#[divan::bench(args = [100, 1000, 10_000])]
fn small_documents_in_this_process(bencher: Bencher<'_, '_>, bytes: usize) {
    let file = file(&text(bytes));
    bencher.counter(ItemsCount::new(1_usize)).bench(|| walked(&file));
}

fn walked(file: &File) -> usize {
    let mut stream = Vec::new();
    cognate_view::walk(file.try_clone().expect("a descriptor"), Some(""), &Limits::default(), &mut stream)
        .expect("memory");
    drain(Parts::new(stream.as_slice()))
}

#[divan::bench(sample_count = 20)]
fn a_large_text_through_a_child(bencher: Bencher<'_, '_>) {
    let (pool, file) = (pool(), file(&text(16 << 20)));
    bencher.counter(BytesCount::new(16_usize << 20)).bench(|| drain(pool.extract(&file, "").expect("asked").parts()));
}

#[divan::bench(sample_count = 20)]
fn start_of_a_child(bencher: Bencher<'_, '_>) {
    bencher.bench(pool);
}

const UNPACKED_BYTES: usize = 8 << 20;

/// Bytes that are no text: what remains is unpacking.
fn noise() -> Vec<u8> {
    let mut noise = text(UNPACKED_BYTES);
    noise[0] = 0;
    noise
}

#[divan::bench(args = ["gzip", "xz", "zstd", "bzip2"], sample_count = 10)]
fn unpacking(bencher: Bencher<'_, '_>, kind: &str) {
    let bytes = noise();
    let packed = match kind {
        "gzip" => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(&bytes).expect("memory");
            encoder.finish().expect("memory")
        }
        "xz" => {
            let options = lzma_rust2::XzOptions::with_preset(6);
            let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).expect("options");
            encoder.write_all(&bytes).expect("memory");
            encoder.finish().expect("memory")
        }
        "zstd" => ruzstd::encoding::compress_to_vec(bytes.as_slice(), ruzstd::encoding::CompressionLevel::Fastest),
        _ => {
            let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
            encoder.write_all(&bytes).expect("memory");
            encoder.finish().expect("memory")
        }
    };
    let file = file(&packed);
    bencher.counter(BytesCount::new(UNPACKED_BYTES)).bench(|| walked(&file));
}
