//! Sixteen lanes with AVX-512.

use std::arch::x86_64::*;

use super::groups::{Step, groups};
use super::{BLOCK_BYTES, BLOCK_LENGTH, Chain, Flags, INITIAL, Value};
use crate::x86::{Avx512, load_16 as load, load_64, load_bytes, store_16 as store};

const LANES: usize = 16;
type Words = __m512i;

/// Follows each chain to its end.
#[expect(unsafe_code, reason = "the token proves that the processor has the instructions")]
pub(super) fn run(_: Avx512, chains: &[Chain<'_>], flags: Flags, key: &[u32; 8], values: &mut [Value]) {
    unsafe { follow(chains, flags, key, values) }
}

kernel!(#[target_feature(enable = "avx512f,avx512bw,bmi2")]);

#[inline]
#[target_feature(enable = "avx512f")]
fn splat(word: u32) -> Words {
    _mm512_set1_epi32(word.cast_signed())
}

#[inline]
#[target_feature(enable = "avx512f")]
fn add(a: Words, b: Words) -> Words {
    _mm512_add_epi32(a, b)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn xor(a: Words, b: Words) -> Words {
    _mm512_xor_si512(a, b)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn rotate<const BITS: i32>(words: Words) -> Words {
    _mm512_ror_epi32::<BITS>(words)
}

#[inline]
#[target_feature(enable = "avx512f")]
#[expect(clippy::cast_possible_truncation, reason = "sixteen lanes have sixteen bits")]
fn choose(bits: u32, set: Words, unset: Words) -> Words {
    _mm512_mask_blend_epi32(bits as __mmask16, unset, set)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
pub(crate) fn blocks(blocks: &[&[u8; BLOCK_BYTES]; LANES]) -> [Words; 16] {
    let mut rows = [splat(0); 16];
    for (row, block) in rows.iter_mut().zip(blocks) {
        *row = load_64(block);
    }
    transposed(rows)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
pub(crate) fn last_blocks(rests: &[&[u8]; LANES]) -> [Words; 16] {
    let mut rows = [splat(0); 16];
    for (row, rest) in rows.iter_mut().zip(rests) {
        *row = load_bytes(rest);
    }
    transposed(rows)
}

/// Pairs of words, then pairs of pairs within quarters of registers, then the quarters.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
fn transposed(rows: [Words; 16]) -> [Words; 16] {
    let mut pairs = rows;
    for i in 0..8 {
        pairs[2 * i] = _mm512_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
        pairs[2 * i + 1] = _mm512_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
    }
    // fours[4 i + j]: word j of each quarter, of the rows 4 i to 4 i + 3.
    let mut fours = rows;
    for i in 0..4 {
        let [a, b, c, d] = [pairs[4 * i], pairs[4 * i + 1], pairs[4 * i + 2], pairs[4 * i + 3]];
        fours[4 * i] = _mm512_unpacklo_epi64(a, c);
        fours[4 * i + 1] = _mm512_unpackhi_epi64(a, c);
        fours[4 * i + 2] = _mm512_unpacklo_epi64(b, d);
        fours[4 * i + 3] = _mm512_unpackhi_epi64(b, d);
    }
    let mut words = rows;
    for j in 0..4 {
        let [a, b, c, d] = [fours[j], fours[4 + j], fours[8 + j], fours[12 + j]];
        let low_even = _mm512_shuffle_i32x4::<0b10_00_10_00>(a, b);
        let low_odd = _mm512_shuffle_i32x4::<0b11_01_11_01>(a, b);
        let high_even = _mm512_shuffle_i32x4::<0b10_00_10_00>(c, d);
        let high_odd = _mm512_shuffle_i32x4::<0b11_01_11_01>(c, d);
        words[j] = _mm512_shuffle_i32x4::<0b10_00_10_00>(low_even, high_even);
        words[4 + j] = _mm512_shuffle_i32x4::<0b10_00_10_00>(low_odd, high_odd);
        words[8 + j] = _mm512_shuffle_i32x4::<0b11_01_11_01>(low_even, high_even);
        words[12 + j] = _mm512_shuffle_i32x4::<0b11_01_11_01>(low_odd, high_odd);
    }
    words
}
