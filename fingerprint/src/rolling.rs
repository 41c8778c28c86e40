//! A window that rolls over bytes: the Rabin fingerprint of every window of one width, whatever bytes come before it.

use crate::mix::Mix;
use crate::rabin::Rabin;
use crate::sampler::Sampler;

/// The number of stretches of windows that are read in parallel, since each step of one waits for its last step.
pub(crate) const STRETCHES: usize = 4;

/// The windows of a stretch, in long documents: so many that the bytes before the first of them do not matter.
const LONG: usize = 8192;
/// The windows of a stretch in short documents, and at the ends of long ones.
const SHORT: usize = 256;

/// The fingerprints of all windows of one width.
#[derive(Clone)]
pub(crate) struct Rolling {
    rabin: Rabin,
    leaving: Box<[u64; 256]>,
    window_bytes: usize,
}

impl Rolling {
    pub(crate) fn new(rabin: Rabin, window_bytes: usize) -> Rolling {
        Rolling { leaving: rabin.leaving(window_bytes), rabin, window_bytes }
    }

    pub(crate) fn window_bytes(&self) -> usize {
        self.window_bytes
    }

    /// The next window's fingerprint: `out` leaves it and `byte` enters.
    #[inline(always)]
    pub(crate) fn roll(&self, fingerprint: u64, out: u8, byte: u8) -> u64 {
        roll(self.rabin.carry(), &self.leaving, fingerprint, out, byte)
    }

    /// Shows the value of every window of `bytes` to the sampler. There is none if the bytes are fewer than a window has.
    pub(crate) fn each(&self, bytes: &[u8], mix: Mix, sampler: &mut impl Sampler) {
        let rest = self.stretches::<LONG>(bytes, mix, sampler);
        let rest = if self.window_bytes <= SHORT { self.stretches::<SHORT>(rest, mix, sampler) } else { rest };
        let Some((before, entering)) = rest.split_at_checked(self.window_bytes - 1) else { return };
        if entering.is_empty() {
            return;
        }
        let mut fingerprint = self.rabin.extend(0, before);
        let mut seen = sampler.begin();
        for (place, byte) in entering.iter().enumerate() {
            // Nothing leaves the first window.
            let out = place.checked_sub(1).map_or(0, |before| rest[before]);
            fingerprint = self.roll(fingerprint, out, *byte);
            sampler.see(&mut seen, 0, mix.value(fingerprint));
        }
        sampler.end(seen, mix.value(fingerprint));
    }

    /// Shows the values of as many windows as make [`STRETCHES`] of `LENGTH`, again and again, and returns the bytes of the
    /// windows that are left.
    ///
    /// (The length is a constant so that two registers address all stretches, and bounds are checked once.)
    #[inline(never)]
    fn stretches<'a, const LENGTH: usize>(
        &self,
        mut bytes: &'a [u8],
        mix: Mix,
        sampler: &mut impl Sampler,
    ) -> &'a [u8] {
        let (carry, leave, before) = (self.rabin.carry(), &*self.leaving, self.window_bytes - 1);
        while let Some(block) = bytes.get(..STRETCHES * LENGTH + before)
            && let Some(leaving) = block.as_chunks::<LENGTH>().0.first_chunk::<STRETCHES>()
            && let Some(entering) = block[before..].as_chunks::<LENGTH>().0.first_chunk::<STRETCHES>()
        {
            let mut fingerprints = [0; STRETCHES];
            for place in 0..before {
                for stretch in 0..STRETCHES {
                    fingerprints[stretch] = self.rabin.push(fingerprints[stretch], block[stretch * LENGTH + place]);
                }
            }
            let mut seen = sampler.begin();
            for place in 0..LENGTH {
                for stretch in 0..STRETCHES {
                    let byte = entering[stretch][place];
                    // Nothing leaves the first window.
                    let out = if place == 0 { 0 } else { leaving[stretch][place - 1] };
                    fingerprints[stretch] = roll(carry, leave, fingerprints[stretch], out, byte);
                    sampler.see(&mut seen, stretch, mix.value(fingerprints[stretch]));
                }
            }
            sampler.end(seen, mix.value(fingerprints[STRETCHES - 1]));
            bytes = &bytes[STRETCHES * LENGTH..];
        }
        bytes
    }
}

#[inline(always)]
fn roll(carry: &[u64; 256], leave: &[u64; 256], fingerprint: u64, out: u8, byte: u8) -> u64 {
    // The look-up that does not depend on the fingerprint runs in parallel with the chain of those that do.
    let change = u64::from(byte) ^ leave[usize::from(out)];
    (fingerprint << 8) ^ change ^ carry[(fingerprint >> 56) as usize]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::key::Key;
    use crate::rabin::Polynomial;
    use crate::signature::{Feature, Tagger};

    /// Keeps all values in the order of their windows.
    #[derive(Default)]
    struct All {
        values: Vec<u64>,
    }

    impl Sampler for All {
        type Seen = [Vec<u64>; STRETCHES];

        fn begin(&self) -> Self::Seen {
            Default::default()
        }

        fn see(&mut self, seen: &mut Self::Seen, stretch: usize, value: u64) {
            seen[stretch].push(value);
        }

        fn end(&mut self, seen: Self::Seen, last: u64) {
            self.values.extend(seen.concat());
            assert_eq!(self.values.last(), Some(&last));
        }

        fn finish(&mut self, _: &Tagger) -> Vec<Feature> {
            vec![]
        }
    }

    #[track_caller]
    fn check(bytes: &[u8], window_bytes: usize) {
        let (rabin, mix) = (Rabin::new(Polynomial::of(&Key::none())), Mix::of(&Key::none()));
        let mut all = All::default();
        Rolling::new(rabin.clone(), window_bytes).each(bytes, mix, &mut all);
        let expected: Vec<u64> = bytes.windows(window_bytes).map(|window| mix.value(rabin.extend(0, window))).collect();
        assert!(all.values == expected, "{} bytes, windows of {window_bytes}", bytes.len());
    }

    #[test]
    fn windows_of_long_and_short_stretches_have_the_values_of_their_bytes() {
        let mut bytes = vec![0; 3 * STRETCHES * LONG];
        Key::none().stream("a test of windows").fill(&mut bytes);
        let (long, short) = (STRETCHES * LONG, STRETCHES * SHORT);
        for window_bytes in [1, 2, 20, SHORT, SHORT + 1, 1024] {
            for windows in [1, 3, short - 1, short, short + 1, long - 1, long, long + 1, long + short + 1, 2 * long + 5]
            {
                check(&bytes[..windows + window_bytes - 1], window_bytes);
            }
        }
    }

    proptest! {
        #[test]
        fn rolled_windows_have_the_values_of_their_bytes(
            bytes in proptest::collection::vec(any::<u8>(), 0..3000),
            window_bytes in 1..70_usize,
        ) {
            check(&bytes, window_bytes);
        }
    }
}
