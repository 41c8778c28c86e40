//! Eight lanes with AVX2.

use std::arch::x86_64::*;

use super::groups::{Step, groups};
use super::{BLOCK_BYTES, BLOCK_LENGTH, Chain, Flags, INITIAL, Value};
use crate::x86::{Avx2, load_8 as load, load_halves, store_8 as store};

const LANES: usize = 8;
type Words = __m256i;

/// Follows each chain to its end.
#[expect(unsafe_code, reason = "the token proves that the processor has the instructions")]
pub(super) fn run(_: Avx2, chains: &[Chain<'_>], flags: Flags, key: &[u32; 8], values: &mut [Value]) {
    unsafe { follow(chains, flags, key, values) }
}

kernel!(#[target_feature(enable = "avx2")]);

#[inline]
#[target_feature(enable = "avx2")]
fn splat(word: u32) -> Words {
    _mm256_set1_epi32(word.cast_signed())
}

#[inline]
#[target_feature(enable = "avx2")]
fn add(a: Words, b: Words) -> Words {
    _mm256_add_epi32(a, b)
}

#[inline]
#[target_feature(enable = "avx2")]
fn xor(a: Words, b: Words) -> Words {
    _mm256_xor_si256(a, b)
}

/// Bytes of each word in another order.
#[inline]
#[target_feature(enable = "avx2")]
fn bytes(words: Words, order: i32) -> Words {
    let [a, b, c, d] = [0, 0x0404_0404, 0x0808_0808, 0x0c0c_0c0c].map(|start| order + start);
    _mm256_shuffle_epi8(words, _mm256_setr_epi32(a, b, c, d, a, b, c, d))
}

#[inline]
#[target_feature(enable = "avx2")]
fn rotate<const BITS: i32>(words: Words) -> Words {
    match BITS {
        16 => bytes(words, 0x0100_0302),
        8 => bytes(words, 0x0003_0201),
        12 => _mm256_or_si256(_mm256_srli_epi32::<12>(words), _mm256_slli_epi32::<20>(words)),
        7 => _mm256_or_si256(_mm256_srli_epi32::<7>(words), _mm256_slli_epi32::<25>(words)),
        _ => unreachable!("there are four rotations"),
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn choose(bits: u32, set: Words, unset: Words) -> Words {
    let own = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    _mm256_blendv_epi8(unset, set, _mm256_cmpeq_epi32(_mm256_and_si256(splat(bits), own), own))
}

#[inline]
#[target_feature(enable = "avx2")]
fn blocks(blocks: &[&[u8; BLOCK_BYTES]; LANES]) -> [Words; 16] {
    let (mut low, mut high) = ([splat(0); 8], [splat(0); 8]);
    for lane in 0..LANES {
        [low[lane], high[lane]] = load_halves(blocks[lane]);
    }
    let mut words = [splat(0); 16];
    words[..8].copy_from_slice(&transposed(low));
    words[8..].copy_from_slice(&transposed(high));
    words
}

#[inline]
#[target_feature(enable = "avx2")]
fn last_blocks(rests: &[&[u8]; LANES]) -> [Words; 16] {
    let mut filled = [[0; BLOCK_BYTES]; LANES];
    for (block, rest) in filled.iter_mut().zip(rests) {
        block[..rest.len()].copy_from_slice(rest);
    }
    blocks(&filled.each_ref())
}

/// A transposition: pairs of words, then pairs of pairs within halves of registers, then the halves.
#[inline]
#[target_feature(enable = "avx2")]
fn transposed(rows: [Words; 8]) -> [Words; 8] {
    let mut pairs = rows;
    for i in 0..4 {
        pairs[2 * i] = _mm256_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
        pairs[2 * i + 1] = _mm256_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
    }
    let mut fours = rows;
    for i in 0..2 {
        let [a, b, c, d] = [pairs[4 * i], pairs[4 * i + 1], pairs[4 * i + 2], pairs[4 * i + 3]];
        fours[4 * i] = _mm256_unpacklo_epi64(a, c);
        fours[4 * i + 1] = _mm256_unpackhi_epi64(a, c);
        fours[4 * i + 2] = _mm256_unpacklo_epi64(b, d);
        fours[4 * i + 3] = _mm256_unpackhi_epi64(b, d);
    }
    let mut words = rows;
    for j in 0..4 {
        words[j] = _mm256_permute2x128_si256::<0x20>(fours[j], fours[4 + j]);
        words[4 + j] = _mm256_permute2x128_si256::<0x31>(fours[j], fours[4 + j]);
    }
    words
}
