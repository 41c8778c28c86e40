//! Which rows may be among others: a bit for each hash of a row tells of nearly all rows that they are not, in a memory that is near.

/// A bit for each hash of some rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Present {
    bits: u32,
    words: Vec<u64>,
}

/// The hash of a row; its highest bits are those that depend on all of the row.
pub(crate) fn hash(row: u64, multiplier: u64) -> u64 {
    row.wrapping_mul(multiplier)
}

/// The highest bits of a hash.
pub(crate) fn highest(hash: u64, bits: u32) -> usize {
    usize::try_from(hash >> (64 - bits)).expect("a table has few bits")
}

/// The bits of a table for these rows.
pub(crate) fn bits_for(rows: usize) -> u32 {
    rows.next_power_of_two().trailing_zeros().max(1)
}

impl Present {
    /// Takes the hashes of rows in the place of those before. With `bits_per_row_log2` of 3, one row in eight passes by chance, or
    /// fewer.
    pub(crate) fn fill(&mut self, hashes: impl ExactSizeIterator<Item = u64>, bits_per_row_log2: u32) {
        self.bits = bits_for(hashes.len()) + bits_per_row_log2;
        self.words.clear();
        self.words.resize((1 << self.bits) / 64 + 1, 0);
        for hash in hashes {
            let bit = highest(hash, self.bits);
            self.words[bit / 64] |= 1 << (bit % 64);
        }
    }

    /// False if the row with this hash is not among those that it was filled with.
    pub(crate) fn may_have(&self, hash: u64) -> bool {
        let bit = highest(hash, self.bits);
        self.words[bit / 64] >> (bit % 64) & 1 == 1
    }
}
