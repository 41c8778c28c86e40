//! Which rows may be among others: a bit for each hash of a row tells of nearly all rows that they are not, in a memory that is near.

/// A bit for each hash of some rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Present {
    bits: u32,
    words: Vec<u64>,
}

/// The hash of a row: it has this many bits.
pub(crate) fn hash(row: u64, multiplier: u64, bits: u32) -> usize {
    usize::try_from(row.wrapping_mul(multiplier) >> (64 - bits)).expect("a hash has few bits")
}

/// The bits of a hash for so many rows.
pub(crate) fn bits_for(rows: usize) -> u32 {
    rows.next_power_of_two().trailing_zeros().max(1)
}

impl Present {
    /// Takes rows in the place of those before. With `bits_per_row_log2` of 3, one
    /// row in eight passes by chance, or fewer.
    pub(crate) fn fill(&mut self, rows: impl ExactSizeIterator<Item = u64>, multiplier: u64, bits_per_row_log2: u32) {
        self.bits = bits_for(rows.len()) + bits_per_row_log2;
        self.words.clear();
        self.words.resize((1 << self.bits) / 64 + 1, 0);
        for row in rows {
            let bit = hash(row, multiplier, self.bits);
            self.words[bit / 64] |= 1 << (bit % 64);
        }
    }

    /// False if the row is not among those that it was filled with, under the same multiplier.
    pub(crate) fn may_have(&self, row: u64, multiplier: u64) -> bool {
        let bit = hash(row, multiplier, self.bits);
        self.words[bit / 64] >> (bit % 64) & 1 == 1
    }
}
