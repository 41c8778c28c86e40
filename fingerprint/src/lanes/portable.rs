//! Four lanes in plain arrays.

use super::groups::{Step, groups};
use super::{BLOCK_BYTES, BLOCK_LENGTH, Chain, Flags, INITIAL, Value};

const LANES: usize = 4;
type Words = [u32; LANES];

/// Follows each chain to its end.
pub(super) fn run(chains: &[Chain<'_>], flags: Flags, key: &[u32; 8], values: &mut [Value]) {
    follow(chains, flags, key, values);
}

kernel!();

#[inline(always)]
fn splat(word: u32) -> Words {
    [word; LANES]
}

#[inline(always)]
fn load(words: &[u32; LANES]) -> Words {
    *words
}

#[inline(always)]
fn store(words: Words) -> [u32; LANES] {
    words
}

#[inline(always)]
fn each(mut a: Words, b: Words, operation: impl Fn(u32, u32) -> u32) -> Words {
    for lane in 0..LANES {
        a[lane] = operation(a[lane], b[lane]);
    }
    a
}

#[inline(always)]
fn add(a: Words, b: Words) -> Words {
    each(a, b, u32::wrapping_add)
}

#[inline(always)]
fn xor(a: Words, b: Words) -> Words {
    each(a, b, |a, b| a ^ b)
}

#[inline(always)]
fn rotate<const BITS: u32>(words: Words) -> Words {
    words.map(|word| word.rotate_right(BITS))
}

#[inline(always)]
fn choose(bits: u32, set: Words, unset: Words) -> Words {
    std::array::from_fn(|lane| if bits >> lane & 1 == 1 { set[lane] } else { unset[lane] })
}

#[inline(always)]
fn blocks(blocks: &[&[u8; BLOCK_BYTES]; LANES]) -> [Words; 16] {
    let mut words = [[0; LANES]; 16];
    for (lane, block) in blocks.iter().enumerate() {
        for (word, bytes) in words.iter_mut().zip(block.as_chunks::<4>().0) {
            word[lane] = u32::from_le_bytes(*bytes);
        }
    }
    words
}

#[inline(always)]
fn last_blocks(rests: &[&[u8]; LANES]) -> [Words; 16] {
    let mut filled = [[0; BLOCK_BYTES]; LANES];
    for (block, rest) in filled.iter_mut().zip(rests) {
        block[..rest.len()].copy_from_slice(rest);
    }
    blocks(&filled.each_ref())
}
