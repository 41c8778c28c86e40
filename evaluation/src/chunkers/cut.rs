//! The chunkers that are compared.

use cognate_fingerprint::Key;
use cognate_fingerprint::tttd::Tttd;
use fastcdc::v2020::FastCDC;

use crate::rng::Rng;

pub(crate) const TTTD: &str = "TTTD";
pub(crate) const BASIC: &str = "basic sliding window";
pub(crate) const FIXED: &str = "fixed length";
pub(crate) const FASTCDC: &str = "FastCDC";
/// The names of all chunkers.
pub(crate) const KINDS: [&str; 4] = [TTTD, BASIC, FIXED, FASTCDC];

/// A chunker with its mean.
pub(crate) enum Chunker {
    /// Two thresholds, two divisors: the project's own.
    Tttd(Box<Tttd>),
    /// Cuts wherever the fingerprint of the last 64 bytes is below a bound, and nowhere else.
    Basic { table: Box<[u64; 256]>, bound: u64 },
    /// Cuts at a fixed distance in bytes.
    Fixed(usize),
    /// The crate `fastcdc`, version 2020 of the algorithm, with its usual least and greatest lengths.
    FastCdc(usize),
}

impl Chunker {
    /// The chunker of this name and mean; `None` if it does not support the mean.
    pub(crate) fn new(kind: &str, mean: usize) -> Option<Chunker> {
        match kind {
            TTTD => Some(Chunker::Tttd(Box::new(Tttd::new(u32::try_from(mean).ok()?, &Key::none())))),
            BASIC => {
                let mut rng = Rng::new(64);
                let table = Box::new(std::array::from_fn(|_| rng.next()));
                Some(Chunker::Basic { table, bound: u64::MAX / mean as u64 })
            }
            FIXED => Some(Chunker::Fixed(mean)),
            _ => (mean >= fastcdc::v2020::AVERAGE_MIN).then_some(Chunker::FastCdc(mean)),
        }
    }

    /// The start and end of each chunk of a document.
    pub(crate) fn chunks<'d>(&'d self, document: &'d [u8]) -> Box<dyn Iterator<Item = (usize, usize)> + 'd> {
        let mut start = 0;
        let mut each = move |end: Option<usize>| {
            let end = end?;
            let chunk = (start, end);
            start = end;
            Some(chunk)
        };
        let length = document.len();
        let mut from = 0;
        match self {
            Chunker::Tttd(tttd) => Box::new(std::iter::from_fn(move || {
                let end = (from < length).then(|| tttd.cut(document, from, true)).flatten().map(|cut| from + cut);
                from = end.unwrap_or(length);
                each(end)
            })),
            Chunker::Basic { table, bound } => {
                let mut fingerprint = 0_u64;
                Box::new(std::iter::from_fn(move || {
                    if from == length {
                        return None;
                    }
                    for &byte in &document[from..] {
                        from += 1;
                        fingerprint = (fingerprint << 1).wrapping_add(table[usize::from(byte)]);
                        if fingerprint < *bound {
                            break;
                        }
                    }
                    each(Some(from))
                }))
            }
            Chunker::Fixed(size) => Box::new(std::iter::from_fn(move || {
                let end = (from < length).then(|| length.min(from + size));
                from = end.unwrap_or(length);
                each(end)
            })),
            Chunker::FastCdc(mean) => {
                // The crate asks for even lengths.
                let least = (mean / 8 * 2).max(fastcdc::v2020::MINIMUM_MIN);
                let most = (mean * 8).max(fastcdc::v2020::MAXIMUM_MIN);
                let chunks = FastCDC::new(document, least, mean / 2 * 2, most);
                Box::new(chunks.map(|chunk| (chunk.offset, chunk.offset + chunk.length)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Generator;

    #[test]
    fn chunks_tile_the_document_and_have_about_the_wanted_mean() {
        let text = Generator::new(9).paragraph(60_000).into_bytes();
        for kind in KINDS {
            for mean in [300, 1000, 4000] {
                let chunker = Chunker::new(kind, mean).unwrap();
                let chunks: Vec<_> = chunker.chunks(&text).collect();
                assert_eq!((chunks[0].0, chunks[chunks.len() - 1].1), (0, text.len()), "{kind}");
                assert!(chunks.windows(2).all(|pair| pair[0].1 == pair[1].0), "{kind}");
                let found = text.len() / chunks.len();
                assert!((mean * 6 / 10..mean * 17 / 10).contains(&found), "{kind} {mean} {found}");
            }
            let chunker = Chunker::new(kind, 1000).unwrap();
            assert_eq!(chunker.chunks(b"").count(), 0, "{kind}");
            assert_eq!(chunker.chunks(b"a").collect::<Vec<_>>(), [(0, 1)], "{kind}");
        }
    }
}
