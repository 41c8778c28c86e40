//! Fine chunks with AVX-512: the values of 64 positions at a time, and the tags of eight fine chunks.
//!
//! The bytes of 64 positions, those before them and those before these are woven into words, and eight words are hashed side by side.
//!
//! Registers go through loops and functions that are declared for the instructions, never through a closure: what calls it would
//! pass them through the memory.

use std::arch::x86_64::*;

use super::{
    ALL_BYTES, END_BITS, END_BYTES, END_MASK, FINE_BYTES_MAX, FineChunk, RADIUS, Sips, WINDOW_BYTES, low_word, words,
};
use crate::sip::SipHash;
use crate::x86::{Avx512Vbmi2, load_8_long, load_64, load_bytes, load_words, store_words};

/// The positions of a step: as many as a register has bytes.
const STEP: usize = 64;
/// The positions of a group of steps. What was just stored is slow to load at another offset, so that all values of a group are there before
/// they are compared.
const GROUP: usize = 4 * STEP;
/// The words of a register.
const WORDS: usize = 16;
/// The fine chunks whose tags are made together.
const LANES: usize = 8;
/// The fine chunks that wait for their tags at most: for the same reason, those that came last are not the first to be loaded.
const HELD_MOST: usize = 4 * LANES;

type Register = __m512i;

/// The proof that this processor can use the instructions.
#[derive(Clone, Copy)]
pub(super) struct Wide(Avx512Vbmi2);

impl Wide {
    /// Nothing if the processor does not have the instructions.
    pub(super) fn detect() -> Option<Wide> {
        Avx512Vbmi2::detect().map(Wide)
    }

    /// Cuts a chunk and hands every fine chunk, in order, to `each`.
    #[expect(unsafe_code, reason = "the proof is that the processor has the instructions")]
    pub(super) fn cut(self, sips: &Sips, chunk: &[u8], each: impl FnMut(FineChunk)) {
        let Wide(Avx512Vbmi2 { .. }) = self;
        unsafe { cut(sips, chunk, each) }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
fn cut(sips: &Sips, chunk: &[u8], each: impl FnMut(FineChunk)) {
    let mut pieces = Pieces::new(chunk, &sips.tags, each);
    let mut values = Values([i32::MAX; WORDS + GROUP + STEP]);
    values.follow(&sips.cuts, chunk, 0, GROUP);
    for start in (0..chunk.len()).step_by(GROUP) {
        values.shift();
        for step in (STEP..=GROUP).step_by(STEP) {
            values.follow(&sips.cuts, chunk, start + step, step);
        }
        for step in (0..GROUP.min(chunk.len() - start)).step_by(STEP) {
            let mut least = values.least(step);
            while least != 0 {
                pieces.end_at(start + step + least.trailing_zeros() as usize + 1);
                least &= least - 1;
            }
        }
    }
    pieces.end_at(chunk.len());
    pieces.hand_over(true);
}

/// The values of the last positions before a group, of those of the group, and of those after it; the greatest where the chunk has none.
#[repr(align(64))]
struct Values([i32; WORDS + GROUP + STEP]);

impl Values {
    /// Goes on by a group.
    #[inline]
    fn shift(&mut self) {
        self.0.copy_within(GROUP.., 0);
    }

    /// Sets the values of the step that begins at this place of the chunk and of the group.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
    fn follow(&mut self, cuts: &SipHash, chunk: &[u8], start: usize, step: usize) {
        let own = self.0[WORDS + step..][..STEP].as_chunks_mut().0;
        let Some(rest) = chunk.get(start..).filter(|rest| !rest.is_empty()) else {
            own.iter_mut().for_each(|words: &mut [i32; WORDS]| words.fill(i32::MAX));
            return;
        };
        let bytes = if start == 0 {
            // Bytes before the chunk count as zeros.
            let mut first = [0; STEP + 2];
            let count = rest.len().min(STEP);
            first[2..2 + count].copy_from_slice(&rest[..count]);
            let [third, second, latest] =
                [0, 1, 2].map(|from| first[from..].first_chunk().expect("a step has so many bytes"));
            [load_64(latest), load_64(second), load_64(third)]
        } else {
            [load_bytes(rest), load_bytes(&chunk[start - 1..]), load_bytes(&chunk[start - 2..])]
        };
        let mut values = hashed(cuts, windows(&bytes));
        if rest.len() < STEP {
            let there = u64::MAX >> (STEP - rest.len());
            for (number, words) in values.iter_mut().enumerate() {
                #[expect(clippy::cast_possible_truncation, reason = "a register has sixteen words")]
                let there = (there >> (WORDS * number)) as u16;
                *words = _mm512_mask_blend_epi32(there, _mm512_set1_epi32(i32::MAX), *words);
            }
        }
        for (words, value) in own.iter_mut().zip(values) {
            store_words(value, words);
        }
    }

    /// A bit for each position of the step whose value is less than those before it and not more than those after it.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
    fn least(&self, step: usize) -> u64 {
        let mut least = 0;
        for number in 0..STEP / WORDS {
            let place = step + WORDS * (1 + number);
            let value = self.at(place);
            let mut is_least = u16::MAX;
            for distance in 1..=RADIUS {
                is_least = _mm512_mask_cmplt_epi32_mask(is_least, value, self.at(place - distance));
                is_least = _mm512_mask_cmple_epi32_mask(is_least, value, self.at(place + distance));
            }
            least |= u64::from(is_least) << (WORDS * number);
        }
        least
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
    fn at(&self, place: usize) -> Register {
        load_words(self.0[place..].first_chunk().expect("there are values on both sides"))
    }
}

/// The values of 64 positions, by their windows.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
fn hashed(cuts: &SipHash, windows: [Register; 4]) -> [Register; 4] {
    let length = splat(WINDOW_BYTES << 56);
    let mut values = windows;
    for words in &mut values {
        let (low, high) = (_mm512_castsi512_si256(*words), _mm512_extracti64x4_epi64::<1>(*words));
        let low = sip(cuts, [or(_mm512_cvtepu32_epi64(low), length)]);
        let high = sip(cuts, [or(_mm512_cvtepu32_epi64(high), length)]);
        let low = _mm512_castsi256_si512(_mm512_cvtepi64_epi32(low));
        *words = _mm512_inserti64x4::<1>(low, _mm512_cvtepi64_epi32(high));
    }
    values
}

/// The windows of 64 positions, a word of four bytes each: the byte of the position, the one before it, and the one before that.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
fn windows([a, b, c]: &[Register; 3]) -> [Register; 4] {
    let (a, b, c, d) = (*a, *b, *c, _mm512_setzero_si512());
    let (low, high) = (_mm512_unpacklo_epi8(a, b), _mm512_unpackhi_epi8(a, b));
    let (low_upper, high_upper) = (_mm512_unpacklo_epi8(c, d), _mm512_unpackhi_epi8(c, d));
    // Each has four positions of each quarter of a register.
    let a = _mm512_unpacklo_epi16(low, low_upper);
    let b = _mm512_unpackhi_epi16(low, low_upper);
    let c = _mm512_unpacklo_epi16(high, high_upper);
    let d = _mm512_unpackhi_epi16(high, high_upper);
    let (first_ab, first_cd) =
        (_mm512_shuffle_i32x4::<0b01_00_01_00>(a, b), _mm512_shuffle_i32x4::<0b01_00_01_00>(c, d));
    let (last_ab, last_cd) = (_mm512_shuffle_i32x4::<0b11_10_11_10>(a, b), _mm512_shuffle_i32x4::<0b11_10_11_10>(c, d));
    [
        _mm512_shuffle_i32x4::<0b10_00_10_00>(first_ab, first_cd),
        _mm512_shuffle_i32x4::<0b11_01_11_01>(first_ab, first_cd),
        _mm512_shuffle_i32x4::<0b10_00_10_00>(last_ab, last_cd),
        _mm512_shuffle_i32x4::<0b11_01_11_01>(last_ab, last_cd),
    ]
}

/// Fine chunks that wait for their tags.
struct Pieces<'a, E> {
    chunk: &'a [u8],
    sips: &'a [SipHash; 3],
    each: E,
    /// The place where the next one begins.
    start: usize,
    held: usize,
    /// The first and the last eight bytes of each, and bytes after it.
    words: [[u64; HELD_MOST]; 2],
    /// 1 to [`FINE_BYTES_MAX`].
    lengths: [u64; HELD_MOST],
}

impl<'a, E: FnMut(FineChunk)> Pieces<'a, E> {
    fn new(chunk: &'a [u8], sips: &'a [SipHash; 3], each: E) -> Pieces<'a, E> {
        Pieces { chunk, sips, each, start: 0, held: 0, words: [[0; HELD_MOST]; 2], lengths: [1; HELD_MOST] }
    }

    /// Ends a fine chunk at a place, or several if it is long.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
    fn end_at(&mut self, end: usize) {
        while self.start < end {
            let length = (end - self.start).min(usize::from(FINE_BYTES_MAX));
            let bytes = words(&self.chunk[self.start..]);
            self.words[0][self.held] = low_word(bytes);
            self.words[1][self.held] = low_word(bytes >> 64);
            self.lengths[self.held] = length as u64;
            self.start += length;
            self.held += 1;
            if self.held == HELD_MOST {
                self.hand_over(false);
            }
        }
    }

    /// Hands over those that are held: all, or all but the last ones.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
    fn hand_over(&mut self, all: bool) {
        let [low, high] = self.words.each_ref().map(|words| words.as_chunks::<LANES>().0);
        let lengths = self.lengths.as_chunks::<LANES>().0;
        let mut left = if all { self.held } else { HELD_MOST - LANES };
        for ((low, high), lengths) in low.iter().zip(high).zip(lengths) {
            let tags = tags(self.sips, [low, high], lengths);
            for (tag, length) in tags.into_iter().zip(lengths).take(left) {
                (self.each)(FineChunk { tag, length_bytes: length.to_le_bytes()[0] });
            }
            left = left.saturating_sub(LANES);
            if left == 0 {
                break;
            }
        }
        let [low, high] = &mut self.words;
        for words in [low, high, &mut self.lengths] {
            words.copy_within(HELD_MOST - LANES.., 0);
        }
        self.held = LANES;
    }
}

/// The tags of eight fine chunks.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
fn tags(sips: &[SipHash; 3], [low, high]: [&[u64; LANES]; 2], lengths: &[u64; LANES]) -> [u8; LANES] {
    let (low, high, length) = (load_8_long(low), load_8_long(high), load_8_long(lengths));
    let ones = splat(u64::MAX);
    // A shift by 64 bits or more leaves nothing, also where the number of bits is below zero.
    let unused = _mm512_sub_epi64(splat(64), times_eight(_mm512_min_epu64(length, splat(8))));
    let low = _mm512_and_si512(low, _mm512_srlv_epi64(ones, unused));
    let high = _mm512_and_si512(high, _mm512_srlv_epi64(ones, _mm512_sub_epi64(splat(128), times_eight(length))));
    let end = _mm512_min_epu64(length, splat(END_BYTES as u64));
    let before = times_eight(_mm512_sub_epi64(length, end));
    let last = or(
        or(_mm512_srlv_epi64(low, before), _mm512_sllv_epi64(high, _mm512_sub_epi64(splat(64), before))),
        _mm512_srlv_epi64(high, _mm512_sub_epi64(before, splat(64))),
    );
    let first = sip(&sips[0], [of_end(low, end)]);
    let last = sip(&sips[1], [of_end(last, end)]);
    let all = sip(&sips[2], [low, high, or(splat(ALL_BYTES << 56), length)]);
    let mask = splat(u64::from(END_MASK));
    let ends = or(_mm512_and_si512(first, mask), _mm512_slli_epi64::<END_BITS>(_mm512_and_si512(last, mask)));
    let tags = _mm512_cvtepi64_epi8(or(ends, _mm512_slli_epi64::<{ 2 * END_BITS }>(all)));
    _mm_cvtsi128_si64(tags).to_le_bytes()
}

#[inline]
#[target_feature(enable = "avx512f")]
fn times_eight(words: Register) -> Register {
    _mm512_slli_epi64::<3>(words)
}

/// The word that is hashed of the bytes at one end, of so many.
#[inline]
#[target_feature(enable = "avx512f")]
fn of_end(word: Register, end: Register) -> Register {
    or(_mm512_slli_epi64::<56>(end), _mm512_and_si512(word, splat(u64::from(u32::MAX))))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn splat(word: u64) -> Register {
    _mm512_set1_epi64(word.cast_signed())
}

#[inline]
#[target_feature(enable = "avx512f")]
fn or(a: Register, b: Register) -> Register {
    _mm512_or_si512(a, b)
}

/// `SipHash`-1-3 under one key in eight lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn sip<const WORDS: usize>(sip: &SipHash, words: [Register; WORDS]) -> Register {
    let [a, b, c, d] = sip.start();
    let mut v = [splat(a), splat(b), splat(c), splat(d)];
    for word in words {
        v[3] = _mm512_xor_si512(v[3], word);
        round(&mut v);
        v[0] = _mm512_xor_si512(v[0], word);
    }
    v[2] = _mm512_xor_si512(v[2], splat(0xff));
    for _ in 0..3 {
        round(&mut v);
    }
    _mm512_xor_si512(_mm512_xor_si512(v[0], v[1]), _mm512_xor_si512(v[2], v[3]))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn round(v: &mut [Register; 4]) {
    v[0] = _mm512_add_epi64(v[0], v[1]);
    v[1] = _mm512_xor_si512(_mm512_rol_epi64::<13>(v[1]), v[0]);
    v[0] = _mm512_rol_epi64::<32>(v[0]);
    v[2] = _mm512_add_epi64(v[2], v[3]);
    v[3] = _mm512_xor_si512(_mm512_rol_epi64::<16>(v[3]), v[2]);
    v[0] = _mm512_add_epi64(v[0], v[3]);
    v[3] = _mm512_xor_si512(_mm512_rol_epi64::<21>(v[3]), v[0]);
    v[2] = _mm512_add_epi64(v[2], v[1]);
    v[1] = _mm512_xor_si512(_mm512_rol_epi64::<17>(v[1]), v[2]);
    v[2] = _mm512_rol_epi64::<32>(v[2]);
}
