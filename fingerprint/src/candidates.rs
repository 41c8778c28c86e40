//! The places of a document where a chunk may end, found before chunks are cut; and, in the same pass, the windows of its sample.
//!
//! The rolling fingerprint of a place depends on the last 64 bytes alone. So a document need not be followed from its beginning to
//! its end: a run of bytes is divided into stretches of equal length, each of which begins a window earlier, and one
//! register follows many stretches. The pass gives two bits for each place: the first is set if its fingerprint is below the bound of D, the
//! second if it is below that of D'. The rules of TTTD then look for set bits.
//!
//! `sixteen.rs` follows sixteen stretches with AVX-512; `plain.rs` is its safe twin, place by place, for every other processor and for
//! short runs of bytes.

mod plain;
#[cfg(target_arch = "x86_64")]
mod sixteen;

use crate::tttd::Tttd;
use crate::window_sample::{OpenSample, WindowSampler};
#[cfg(target_arch = "x86_64")]
use crate::x86::Avx512Vbmi2;

/// The places of a word of bits.
const WORD_PLACES: usize = u64::BITS as usize;

/// The way of finding candidates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Sixteen(Avx512Vbmi2),
}

impl Way {
    /// The ways of this processor, the fastest first.
    fn all() -> impl Iterator<Item = Way> {
        #[cfg(target_arch = "x86_64")]
        let wide = Avx512Vbmi2::detect().map(Way::Sixteen);
        #[cfg(not(target_arch = "x86_64"))]
        let wide = None;
        wide.into_iter().chain([Way::Plain])
    }
}

/// Finds candidates, and the windows of samples.
pub(crate) struct Finder {
    tttd: Tttd,
    sampler: Option<WindowSampler>,
    #[cfg(target_arch = "x86_64")]
    planes: Box<sixteen::Planes>,
    way: Way,
}

/// A run of bytes in which candidates are wanted: those of `data` from `from` on.
#[derive(Clone, Copy)]
struct Run<'a> {
    /// Before `from`, at least the bytes of a window, or all of the document.
    data: &'a [u8],
    from: usize,
}

/// A bit for each place of a run, the highest first. All are 0 at first.
struct Bits<'a> {
    main: &'a mut [u64],
    backup: &'a mut [u64],
}

impl Finder {
    pub(crate) fn new(tttd: Tttd, sampler: Option<WindowSampler>) -> Finder {
        Finder {
            #[cfg(target_arch = "x86_64")]
            planes: sixteen::Planes::of(tttd.table()),
            tttd,
            sampler,
            way: Way::all().next().expect("the plain way is always there"),
        }
    }

    /// Goes place by place from now on, as on a processor without the instructions.
    #[cfg(test)]
    pub(crate) fn make_plain(&mut self) {
        self.way = Way::Plain;
    }

    /// True if candidates are to be looked for before chunks are cut. Where places are followed one by one, [`Tttd::cut`] is faster,
    /// since it leaves out half of them; but with a sample none may be left out.
    pub(crate) fn looks_ahead(&self) -> bool {
        self.way != Way::Plain || self.sampler.is_some()
    }

    pub(crate) fn tttd(&self) -> &Tttd {
        &self.tttd
    }

    pub(crate) fn sampler(&self) -> Option<&WindowSampler> {
        self.sampler.as_ref()
    }

    /// Does not look for windows of samples from now on.
    pub(crate) fn leave_samples(&mut self) {
        self.sampler = None;
    }

    fn find(&self, run: Run<'_>, bits: Bits<'_>, sample: Option<&mut OpenSample>) {
        let sample = self.sampler.as_ref().zip(sample);
        match self.way {
            #[cfg(target_arch = "x86_64")]
            Way::Sixteen(token) if run.data.len() - run.from >= sixteen::BYTES_LEAST => {
                sixteen::find(token, &self.tttd, &self.planes, run, bits, sample);
            }
            _ => plain::find(&self.tttd, run, bits, sample),
        }
    }
}

/// The candidates of a part of a document.
///
/// Places are those in `data`, a slice that the caller has. It may move in the document, by multiples of 64 bytes.
#[derive(Default)]
pub(crate) struct Candidates {
    /// The place of the highest bit of the first word, a multiple of 64.
    first: usize,
    /// The first place that was not looked at: a multiple of 64, or the end of the document.
    end: usize,
    main: Vec<u64>,
    backup: Vec<u64>,
}

impl Candidates {
    /// None, with the memory of these.
    pub(crate) fn cleared(mut self) -> Candidates {
        self.main.clear();
        self.backup.clear();
        Candidates { first: 0, end: 0, ..self }
    }

    /// Begins with a later place, a multiple of 64, before which the data has the bytes of a window.
    pub(crate) fn begin_at(&mut self, place: usize) {
        debug_assert!(self.main.is_empty() && place.is_multiple_of(WORD_PLACES));
        (self.first, self.end) = (place, place);
    }

    /// Looks at places up to `wanted` or a little more, as far as the data goes, and forgets those before `start`. `at_end` is true if
    /// the document ends where `data` does.
    pub(crate) fn look(
        &mut self,
        finder: &Finder,
        data: &[u8],
        start: usize,
        wanted: usize,
        at_end: bool,
        sample: Option<&mut OpenSample>,
    ) {
        let end = match wanted.next_multiple_of(WORD_PLACES) {
            end if end < data.len() => end,
            _ if at_end => data.len(),
            _ => Candidates::shiftable(data.len()),
        };
        if end <= self.end {
            return;
        }
        self.forget(start);
        let known = self.main.len();
        let words = known + (end - self.end).div_ceil(WORD_PLACES);
        self.main.resize(words, 0);
        self.backup.resize(words, 0);
        let bits = Bits { main: &mut self.main[known..], backup: &mut self.backup[known..] };
        finder.find(Run { data: &data[..end], from: self.end }, bits, sample);
        self.end = end;
    }

    /// Forgets words before a place.
    fn forget(&mut self, place: usize) {
        let words = (place.saturating_sub(self.first) / WORD_PLACES).min(self.main.len());
        self.main.drain(..words);
        self.backup.drain(..words);
        self.first += words * WORD_PLACES;
    }

    /// The greatest number of bytes, at most as many, that the data may be shifted by.
    pub(crate) fn shiftable(bytes: usize) -> usize {
        bytes & !(WORD_PLACES - 1)
    }

    /// The data begins `bytes` later now, which is a multiple of 64. No place before them is wanted again.
    pub(crate) fn shift(&mut self, bytes: usize) {
        self.forget(bytes);
        self.first -= bytes;
        self.end -= bytes;
    }

    /// The first place that was not looked at.
    pub(crate) fn end(&self) -> usize {
        self.end
    }

    /// The length of the chunk that begins at `start`, or `None` if the decision needs places that were not looked at.
    /// `at_end` is true if the document ends where they do. The rules are those of [`Tttd::cut`].
    pub(crate) fn cut(&self, tttd: &Tttd, start: usize, at_end: bool) -> Option<usize> {
        let parameters = tttd.parameters();
        let (min, max) = (parameters.chunk_bytes_min as usize, parameters.chunk_bytes_max as usize);
        let available = self.end - start;
        if available < max && !at_end {
            return None;
        }
        let longest = available.min(max);
        if longest <= min {
            return Some(longest);
        }
        // The last bytes of a chunk of the least and of the greatest length.
        let (first, last) = (start + min - 1 - self.first, start + longest - 1 - self.first);
        let length = |place: usize| place + self.first + 1 - start;
        if let Some(place) = first_set(&self.main, first, last) {
            return Some(length(place));
        }
        if longest < max {
            return Some(longest);
        }
        Some(last_set(&self.backup, first, last).map_or(max, length))
    }
}

/// The first bit that is set from `first` to `last`.
#[inline]
fn first_set(words: &[u64], first: usize, last: usize) -> Option<usize> {
    let (from, to) = (first / WORD_PLACES, last / WORD_PLACES);
    let mut word = words[from] & u64::MAX >> (first % WORD_PLACES);
    let mut number = from;
    for next in words[from + 1..=to].iter() {
        if word != 0 {
            break;
        }
        word = *next;
        number += 1;
    }
    let place = number * WORD_PLACES + word.leading_zeros() as usize;
    (word != 0 && place <= last).then_some(place)
}

/// The last bit that is set from `first` to `last`.
#[inline]
fn last_set(words: &[u64], first: usize, last: usize) -> Option<usize> {
    let (from, to) = (first / WORD_PLACES, last / WORD_PLACES);
    let mut word = words[to] & u64::MAX << (WORD_PLACES - 1 - last % WORD_PLACES);
    let mut number = to;
    for next in words[from..to].iter().rev() {
        if word != 0 {
            break;
        }
        word = *next;
        number -= 1;
    }
    let place = (number * WORD_PLACES + WORD_PLACES - 1).checked_sub(word.trailing_zeros() as usize)?;
    (word != 0 && place >= first).then_some(place)
}

#[cfg(test)]
mod tests;
