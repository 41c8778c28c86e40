//! Which chains are in the lanes at the same time: those with as many blocks, so that all lanes do the same until the last block.

use super::{BLOCK_BYTES, Chain, Flags, PIECE_BYTES, Value};

/// The most blocks of a chain.
const BLOCKS_MAX: usize = PIECE_BYTES / BLOCK_BYTES;

/// Chains that are followed at the same time, a lane each. In lanes that are left over is the last chain once more.
pub(super) struct Group<'a, const LANES: usize> {
    chains: [&'a Chain<'a>; LANES],
    /// The place of each chain among all.
    places: [usize; LANES],
    pub(super) counters: [u32; LANES],
    /// The least and the greatest number of blocks.
    blocks: [usize; 2],
}

/// A step in which chains end.
pub(super) struct Step<'a, const LANES: usize> {
    /// The bytes of each chain in this step, at most a block.
    pub(super) rests: [&'a [u8]; LANES],
    /// The lengths of the blocks.
    pub(super) lengths: [u32; LANES],
    pub(super) flags: [u32; LANES],
    /// A bit for each lane whose chain has not ended before.
    pub(super) active: u32,
}

/// The chains in groups, those with most blocks first.
pub(super) fn groups<'a, const LANES: usize>(chains: &'a [Chain<'a>]) -> impl Iterator<Item = Group<'a, LANES>> {
    let order = by_blocks(chains);
    (0..order.len()).step_by(LANES).map(move |first| {
        let places: [usize; LANES] = std::array::from_fn(|lane| order[(first + lane).min(order.len() - 1)] as usize);
        let of_group = places.map(|place| &chains[place]);
        Group {
            places,
            counters: of_group.map(|chain| chain.counter),
            blocks: [of_group[LANES - 1].blocks(), of_group[0].blocks()],
            chains: of_group,
        }
    })
}

/// The places of the chains, those with most blocks first.
fn by_blocks(chains: &[Chain<'_>]) -> Vec<u32> {
    let mut starts = [0; BLOCKS_MAX + 1];
    for chain in chains {
        starts[BLOCKS_MAX - chain.blocks()] += 1;
    }
    let mut next = 0;
    for start in &mut starts {
        (*start, next) = (next, next + *start);
    }
    let mut order = vec![0; chains.len()];
    for (place, chain) in (0..).zip(chains) {
        let start = &mut starts[BLOCKS_MAX - chain.blocks()];
        order[*start] = place;
        *start += 1;
    }
    order
}

impl<'a, const LANES: usize> Group<'a, LANES> {
    /// The steps in which every block is a whole one and not the last of its chain.
    pub(super) fn whole_steps(&self) -> usize {
        self.blocks[0] - 1
    }

    /// All steps.
    pub(super) fn steps(&self) -> usize {
        self.blocks[1]
    }

    /// The blocks of a step in which every block is a whole one.
    #[inline(always)]
    pub(super) fn blocks(&self, step: usize) -> [&'a [u8; BLOCK_BYTES]; LANES] {
        self.chains.map(|chain| &chain.bytes.as_chunks().0[step])
    }

    #[inline(always)]
    pub(super) fn step(&self, step: usize, flags: Flags) -> Step<'a, LANES> {
        let mut found = Step { rests: [&[]; LANES], lengths: [0; LANES], flags: [0; LANES], active: 0 };
        for (lane, chain) in self.chains.iter().enumerate() {
            let rest = chain.bytes.get(step * BLOCK_BYTES..).unwrap_or(&[]);
            let rest = &rest[..rest.len().min(BLOCK_BYTES)];
            found.rests[lane] = rest;
            found.lengths[lane] = u32::try_from(rest.len()).expect("at most 64");
            let first = if step == 0 { flags.first } else { 0 };
            let last = if step + 1 == chain.blocks() { chain.last } else { 0 };
            found.flags[lane] = flags.common | first | last;
            found.active |= u32::from(step < chain.blocks()) << lane;
        }
        found
    }

    /// Puts the value of each chain where it belongs, out of the words of all lanes.
    #[inline(always)]
    pub(super) fn put(&self, words: &[[u32; LANES]; 8], values: &mut [Value]) {
        for (lane, place) in self.places.into_iter().enumerate() {
            for (bytes, word) in values[place].as_chunks_mut::<4>().0.iter_mut().zip(words) {
                *bytes = word[lane].to_le_bytes();
            }
        }
    }
}
