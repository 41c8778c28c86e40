//! Shows the windows of a document, all of one length, to a sampler.

use crate::extractor::{Extracted, Extractor};
use crate::mix::Mix;
use crate::rolling::Rolling;
use crate::sampler::Sampler;
use crate::signature::{Shortage, Tagger, UnsupportedDocument};

/// Rolls a window over a document and shows the value of each position to a sampler.
pub(crate) struct WindowExtractor<S> {
    rolling: Rolling,
    mix: Mix,
    tagger: Tagger,
    sampler: S,
    /// The last bytes so far: the windows that end in the next bytes begin in them.
    tail: Vec<u8>,
    seen_bytes: u64,
}

impl<S: Sampler> WindowExtractor<S> {
    pub(crate) fn new(rolling: Rolling, mix: Mix, tagger: Tagger, sampler: S) -> WindowExtractor<S> {
        WindowExtractor { rolling, mix, tagger, sampler, tail: Vec::new(), seen_bytes: 0 }
    }

    fn sample(&mut self, bytes: &[u8]) {
        self.rolling.each(bytes, self.mix, &mut self.sampler);
    }
}

impl<S: Sampler> Extractor for WindowExtractor<S> {
    fn push(&mut self, bytes: &[u8]) -> Result<(), UnsupportedDocument> {
        let overlap = self.rolling.window_bytes() - 1;
        self.seen_bytes += bytes.len() as u64;
        // The windows that begin in earlier bytes come first, then the others.
        let mut seam = std::mem::take(&mut self.tail);
        seam.extend_from_slice(&bytes[..bytes.len().min(overlap)]);
        self.sample(&seam);
        if bytes.len() >= overlap {
            self.sample(bytes);
            seam.clear();
            seam.extend_from_slice(&bytes[bytes.len() - overlap..]);
        } else {
            seam.drain(..seam.len().saturating_sub(overlap));
        }
        self.tail = seam;
        Ok(())
    }

    fn finish(&mut self) -> Extracted {
        let needed = self.rolling.window_bytes() as u64;
        let found = std::mem::take(&mut self.seen_bytes);
        self.tail.clear();
        let shortage = (found < needed).then_some(Shortage { found, needed, unit: "bytes" });
        let windows = (found + 1).saturating_sub(needed);
        Extracted { windows, features: self.sampler.finish(&self.tagger), index: None, shortage }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::key::Key;
    use crate::method::mod_n::ModN;
    use crate::rabin::{Polynomial, Rabin};
    use crate::test_support::documents;

    fn extractor(window_bytes: usize) -> WindowExtractor<ModN> {
        let key = Key::none();
        let rolling = Rolling::new(Rabin::new(Polynomial::of(&key)), window_bytes);
        WindowExtractor::new(rolling, Mix::of(&key), Tagger::new(&key), ModN::new(1))
    }

    fn extracted(extractor: &mut impl Extractor, parts: &[&[u8]]) -> Extracted {
        parts.iter().for_each(|part| extractor.push(part).unwrap());
        extractor.finish()
    }

    #[test]
    fn a_document_has_a_window_at_every_position_that_leaves_room_for_one() {
        for window_bytes in [2, 3, 20, 300] {
            let mut extractor = extractor(window_bytes);
            for length in [0, 1, window_bytes - 1, window_bytes, window_bytes + 1, 3 * window_bytes] {
                let document = vec![b'x'; length];
                let Extracted { windows, features, shortage, .. } = extracted(&mut extractor, &[&document]);
                assert_eq!(windows, (length as u64 + 1).saturating_sub(window_bytes as u64), "{length}");
                assert_eq!(features.len(), usize::from(length >= window_bytes), "{length}");
                let expected = Shortage { found: length as u64, needed: window_bytes as u64, unit: "bytes" };
                assert_eq!(shortage, (length < window_bytes).then_some(expected), "{length}");
            }
        }
    }

    proptest! {
        #[test]
        fn the_split_into_parts_changes_nothing(document in documents(), window_bytes in 2..60_usize, step in 1..99_usize) {
            let mut extractor = extractor(window_bytes);
            let at_once = extracted(&mut extractor, &[&document]);
            let parts = extracted(&mut extractor, &document.chunks(step).collect::<Vec<_>>());
            prop_assert_eq!(at_once.features, parts.features);
            prop_assert_eq!((at_once.windows, at_once.shortage), (parts.windows, parts.shortage));
        }
    }
}
