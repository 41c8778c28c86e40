//! Documents and readers that the tests of several files use.

use std::io::{self, Read};

use proptest::prelude::*;

/// A reader that gives at most `step` bytes at a time.
pub(crate) struct ShortReads<'a> {
    pub(crate) rest: &'a [u8],
    pub(crate) step: usize,
}

impl Read for ShortReads<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.step.min(buffer.len());
        self.rest.read(&mut buffer[..count])
    }
}

/// Pseudo-random bytes that are the same for the same label.
pub(crate) fn noise(label: &str, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().update(label.as_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

/// Documents with few values, long runs and repeats next to noise, as real documents have them.
pub(crate) fn documents() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..600),
        proptest::collection::vec(b'a'..=b'c', 0..600),
        (any::<u8>(), 0..900_usize).prop_map(|(byte, length)| vec![byte; length]),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// Texts of a small vocabulary, so that words and shingles repeat.
pub(crate) fn texts() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[a-e]{1,2}",
        "[A-Z][a-z]{2,7}",
        Just("the".to_owned()),
        Just("of".to_owned()),
        Just("Füße".to_owned()),
        Just("1787".to_owned()),
        Just("𝒳".to_owned()),
    ];
    let gap = prop_oneof![Just(" "), Just(", "), Just(".\n"), Just("\n\n")];
    proptest::collection::vec((word, gap), 0..120)
        .prop_map(|words| words.into_iter().map(|(word, gap)| word + gap).collect())
}
