//! Feeds the lanes: which chain is in which lane, what the next block of each is, and where its value goes.

use super::{BLOCK_BYTES, Chain, Value};

/// The chains in `LANES` lanes, and those that wait.
pub(super) struct Feed<'a, const LANES: usize> {
    chains: &'a [Chain<'a>],
    /// The first chain that waits.
    next: usize,
    /// The flags of all blocks.
    common: u32,
    chain_of: [usize; LANES],
    /// What is left of each chain.
    pub(super) rests: [&'a [u8]; LANES],
    pub(super) counters: [u32; LANES],
    /// The flags of the next blocks.
    pub(super) flags: [u32; LANES],
    /// The lengths of the next blocks.
    pub(super) lengths: [u32; LANES],
    /// A bit for each lane that has a chain.
    active: u32,
    /// A bit for each lane whose chain begins with the next block.
    pub(super) fresh: u32,
    /// A bit for each lane whose chain ends with the next block.
    ended: u32,
}

impl<'a, const LANES: usize> Feed<'a, LANES> {
    #[inline(always)]
    pub(super) fn new(chains: &'a [Chain<'a>], common: u32) -> Feed<'a, LANES> {
        let mut feed = Feed {
            chains,
            next: 0,
            common,
            chain_of: [0; LANES],
            rests: [&[]; LANES],
            counters: [0; LANES],
            flags: [0; LANES],
            lengths: [0; LANES],
            active: 0,
            fresh: 0,
            ended: 0,
        };
        (0..LANES).for_each(|lane| feed.take(lane));
        feed
    }

    /// Puts the next chain into a lane, or none.
    #[inline(always)]
    fn take(&mut self, lane: usize) {
        let Some(chain) = self.chains.get(self.next) else {
            self.active &= !(1 << lane);
            return;
        };
        self.rests[lane] = chain.bytes;
        self.counters[lane] = chain.counter;
        self.flags[lane] = self.common | chain.first;
        self.chain_of[lane] = self.next;
        self.active |= 1 << lane;
        self.fresh |= 1 << lane;
        self.next += 1;
    }

    /// Gives the next blocks their lengths and flags; false if no lane has a chain.
    #[inline(always)]
    pub(super) fn begin_step(&mut self) -> bool {
        let mut ended = 0;
        for lane in 0..LANES {
            let left = self.rests[lane].len();
            self.lengths[lane] = u32::try_from(left.min(BLOCK_BYTES)).expect("at most 64");
            ended |= u32::from(left <= BLOCK_BYTES) << lane;
        }
        self.ended = ended & self.active;
        each_bit(self.ended, |lane| self.flags[lane] |= self.chains[self.chain_of[lane]].last);
        self.active != 0
    }

    /// Goes on to the blocks after these, or to other chains where a chain has ended; `state` is called if one has.
    #[inline(always)]
    pub(super) fn end_step(&mut self, values: &mut [Value], state: impl FnOnce() -> [[u32; LANES]; 8]) {
        self.fresh = 0;
        self.flags = [self.common; LANES];
        for rest in &mut self.rests {
            *rest = rest.get(BLOCK_BYTES..).unwrap_or(&[]);
        }
        if self.ended == 0 {
            return;
        }
        let words = state();
        each_bit(self.ended, |lane| {
            let value = &mut values[self.chain_of[lane]];
            for (bytes, word) in value.as_chunks_mut::<4>().0.iter_mut().zip(&words) {
                *bytes = word[lane].to_le_bytes();
            }
            self.take(lane);
        });
    }
}

#[inline(always)]
fn each_bit(mut bits: u32, mut each: impl FnMut(usize)) {
    while bits != 0 {
        each(bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}
