//! BLAKE3 of many short contents side by side: each lane of a SIMD register hashes a piece of its own.
//!
//! A content of at most 1024 bytes is one chain of blocks, and a processor that follows one chain waits for itself most of the
//! time. Here as many chains run at once as a register has words, each with its own counter. Chains with as many blocks run at the same time, so that
//! lanes differ in nothing else until the last block. A longer content is several
//! pieces, whose values are joined in pairs, level by level, in the same lanes. The result is that of the crate `blake3`, bit by bit.
//!
//! Source: O'Connor, Aumasson, Neves, Wilcox-O'Hearn, "BLAKE3: one function, fast everywhere" (2020), sections 2.1 to 2.4.
//!
//! `groups.rs` decides which chains are in the lanes together, `kernel.rs` is the arithmetic. `sixteen.rs` (AVX-512) and `eight.rs` (AVX2) give
//! it registers; `portable.rs` gives it plain arrays, for the tests. A processor with neither calls the crate, content by content.

#[macro_use]
mod kernel;
#[cfg(target_arch = "x86_64")]
mod eight;
mod groups;
#[cfg(test)]
mod portable;
#[cfg(target_arch = "x86_64")]
pub(crate) mod sixteen;

#[cfg(target_arch = "x86_64")]
use crate::x86::{Avx2, Avx512};

/// The length of a whole block, in bytes.
const BLOCK_LENGTH: u32 = 64;
const BLOCK_BYTES: usize = BLOCK_LENGTH as usize;
/// The bytes of a piece, which the authors call a chunk.
const PIECE_BYTES: usize = 1024;

/// The first words of the fractions of square roots, as in SHA-256: the key of those who have none, and a part of every state.
const INITIAL: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

const PIECE_START: u32 = 1;
const PIECE_END: u32 = 2;
const PARENT: u32 = 4;
const ROOT: u32 = 8;
const KEYED: u32 = 16;

/// The value of a piece, of two joined values, or of a content.
type Value = [u8; 32];

/// A step of all lanes takes as long as so many blocks in a call of the crate.
const STEP_BLOCKS: usize = 4;
/// A further piece of a content takes as long as so many blocks in a call of the crate, which has lanes of its own for them.
const PIECE_BLOCKS: usize = 4;
/// The most lanes of a processor.
const LANES_MOST: usize = 16;

/// The chain of blocks that a lane follows: a piece, or two values that are joined.
struct Chain<'a> {
    /// At most [`PIECE_BYTES`].
    bytes: &'a [u8],
    /// The number of the piece in its content.
    counter: u32,
    /// The flags that the last block has in addition to those of all.
    last: u32,
}

impl Chain<'_> {
    /// The number of its blocks; an empty one has one.
    fn blocks(&self) -> usize {
        self.bytes.len().div_ceil(BLOCK_BYTES).max(1)
    }
}

/// The flags of blocks, whatever chain they are of.
#[derive(Clone, Copy)]
struct Flags {
    /// Of every block.
    common: u32,
    /// Of the first block in addition.
    first: u32,
}

/// A set of lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lanes {
    /// The crate `blake3`, one content after the other.
    One,
    /// Four lanes in plain arrays.
    #[cfg(test)]
    Portable,
    /// Eight lanes.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    /// Sixteen lanes.
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

impl Lanes {
    /// The lanes of this processor, the most first.
    fn all() -> impl Iterator<Item = Lanes> {
        #[cfg(target_arch = "x86_64")]
        let wide = [Avx512::detect().map(Lanes::Avx512), Avx2::detect().map(Lanes::Avx2)];
        #[cfg(not(target_arch = "x86_64"))]
        let wide = [None];
        wide.into_iter().flatten().chain([Lanes::One])
    }

    /// The value at the end of each chain.
    fn run(self, chains: &[Chain<'_>], flags: Flags, key: &[u32; 8], values: &mut [Value]) {
        match self {
            Lanes::One => unreachable!("the crate hashes contents, not chains"),
            #[cfg(test)]
            Lanes::Portable => portable::run(chains, flags, key, values),
            #[cfg(target_arch = "x86_64")]
            Lanes::Avx2(avx2) => eight::run(avx2, chains, flags, key, values),
            #[cfg(target_arch = "x86_64")]
            Lanes::Avx512(avx512) => sixteen::run(avx512, chains, flags, key, values),
        }
    }
}

/// Hashes many contents under one key, or under none: the keyed hash and the hash of BLAKE3, bit by bit.
#[derive(Clone, Debug)]
pub struct ManyHasher {
    key: Option<[u8; 32]>,
    lanes: Lanes,
}

impl ManyHasher {
    /// A hasher for the keyed hash under `key`, in the lanes of this processor.
    pub fn keyed(key: [u8; 32]) -> ManyHasher {
        ManyHasher { key: Some(key), lanes: Lanes::all().next().expect("the crate is always there") }
    }

    /// The hash of each content, in their order. A content has fewer than 2^32 pieces: 4 TiB.
    pub fn hash_each(&self, contents: &[&[u8]]) -> Vec<Value> {
        if self.lanes == Lanes::One || !gain_in_lanes(contents) {
            return contents.iter().map(|content| self.hash(content)).collect();
        }
        self.hash_side_by_side(contents)
    }

    fn hash_side_by_side(&self, contents: &[&[u8]]) -> Vec<Value> {
        let piece_count: usize = contents.iter().map(|content| pieces_of(content)).sum();
        let (key, mode) = match &self.key {
            Some(key) => (words(key), KEYED),
            None => (INITIAL, 0),
        };
        let mut chains = Vec::with_capacity(piece_count);
        contents.iter().for_each(|content| push_pieces(&mut chains, content));
        let mut values = vec![[0; 32]; piece_count];
        self.lanes.run(&chains, Flags { common: mode, first: PIECE_START }, &key, &mut values);
        if piece_count == contents.len() {
            return values;
        }
        let mut counts: Vec<usize> = contents.iter().map(|content| pieces_of(content)).collect();
        while counts.iter().any(|count| *count > 1) {
            values = self.join(&values, &mut counts, &key, mode);
        }
        values
    }

    /// The hash of one content, by the crate.
    fn hash(&self, content: &[u8]) -> Value {
        match &self.key {
            Some(key) => blake3::keyed_hash(key, content),
            None => blake3::hash(content),
        }
        .into()
    }

    /// The next level of all trees: `counts` has the number of values of each. The last of an odd number goes up as it is.
    fn join(&self, values: &[Value], counts: &mut [usize], key: &[u32; 8], mode: u32) -> Vec<Value> {
        let (mut chains, mut first) = (Vec::with_capacity(values.len()), 0);
        for &count in &*counts {
            let root = if count == 2 { ROOT } else { 0 };
            let pairs = values[first..first + count].as_chunks::<2>().0;
            chains.extend(pairs.iter().map(|pair| Chain { bytes: pair.as_flattened(), counter: 0, last: root }));
            first += count;
        }
        let mut pairs = vec![[0; 32]; chains.len()];
        self.lanes.run(&chains, Flags { common: mode | PARENT, first: 0 }, key, &mut pairs);
        let (mut joined, mut pairs, mut first) = (Vec::with_capacity(values.len()), pairs.into_iter(), 0);
        for count in counts {
            joined.extend(pairs.by_ref().take(*count / 2));
            first += *count;
            if *count % 2 == 1 {
                joined.push(values[first - 1]);
            }
            *count = count.div_ceil(2);
        }
        joined
    }
}

/// True if hashing these contents side by side takes less time than one after the other: a few would leave most lanes empty.
fn gain_in_lanes(contents: &[&[u8]]) -> bool {
    let (mut alone, mut pieces, mut longest) = (0, 0, 0);
    for content in contents {
        let blocks = content.len().min(PIECE_BYTES).div_ceil(BLOCK_BYTES);
        longest = longest.max(blocks);
        pieces += pieces_of(content);
        alone += blocks + PIECE_BLOCKS * (pieces_of(content) - 1);
    }
    alone > STEP_BLOCKS * longest * pieces.div_ceil(LANES_MOST)
}

/// The number of pieces of a content; an empty one has one.
fn pieces_of(content: &[u8]) -> usize {
    content.len().div_ceil(PIECE_BYTES).max(1)
}

fn push_pieces<'a>(chains: &mut Vec<Chain<'a>>, content: &'a [u8]) {
    if content.len() <= PIECE_BYTES {
        chains.push(Chain { bytes: content, counter: 0, last: PIECE_END | ROOT });
        return;
    }
    let pieces = (0..).zip(content.chunks(PIECE_BYTES));
    chains.extend(pieces.map(|(counter, bytes)| Chain { bytes, counter, last: PIECE_END }));
}

fn words(key: &[u8; 32]) -> [u32; 8] {
    let mut words = [0; 8];
    for (word, bytes) in words.iter_mut().zip(key.as_chunks::<4>().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    words
}

#[cfg(test)]
mod tests;
