//! Rows packed: what all rows of a block have in common is written once.
//!
//! Rows of one bucket have much in common: the leading bits of their tags or contents, and the upper bytes of lengths and counts. A row is
//! taken as words of eight bytes. Of each word, those bytes are kept from the lowest to the highest in which rows of the block differ;
//! the others stand in the [`Column`] of the word, which comes before the rows.

use std::ops::Range;

use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::Row;

type Word = [u8; WORD_BYTES];
const WORD_BYTES: usize = size_of::<u64>();

/// The bits that rows have in common in one of their words.
#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
struct Column {
    /// The bits outside of the bytes that are kept.
    common: u64,
    /// The bits below the bytes that are kept.
    shift: u32,
    /// The number of bytes that are kept of each row.
    kept_bytes: u32,
}

impl Column {
    /// For words of which one is `word`, and which differ from it in these bits.
    fn new(word: u64, different: u64) -> Column {
        if different == 0 {
            return Column { common: word, shift: 0, kept_bytes: 0 };
        }
        let (below, above) = (different.trailing_zeros() / 8, different.leading_zeros() / 8);
        let column = Column { common: 0, shift: 8 * below, kept_bytes: 8 - below - above };
        Column { common: word & !(column.mask() << column.shift), ..column }
    }

    /// The bits of the bytes that are kept, moved to the end of a word.
    fn mask(&self) -> u64 {
        u64::MAX.checked_shr(u64::BITS - 8 * self.kept_bytes).unwrap_or(0)
    }

    fn is_possible(&self) -> bool {
        self.kept_bytes <= 8
            && self.shift < u64::BITS
            && self.shift.is_multiple_of(8)
            && self.shift <= u64::BITS - 8 * self.kept_bytes
    }
}

/// Packs rows into `packed` from the place `at` on, whatever was there, and returns where they end.
pub(super) fn pack<T: Row>(slices: &[Vec<T>], packed: &mut Vec<u8>, at: usize) -> usize {
    const { assert!(size_of::<T>().is_multiple_of(WORD_BYTES) && size_of::<T>() <= 3 * WORD_BYTES) };
    match size_of::<T>() / WORD_BYTES {
        1 => pack_words::<T, 1>(slices, packed, at),
        2 => pack_words::<T, 2>(slices, packed, at),
        _ => pack_words::<T, 3>(slices, packed, at),
    }
}

fn pack_words<T: Row, const WORDS: usize>(slices: &[Vec<T>], packed: &mut Vec<u8>, mut at: usize) -> usize {
    let slices = || slices.iter().map(|slice| slice.as_bytes().as_chunks().0.as_chunks::<WORDS>().0);
    let first = slices().flatten().next().map_or([0; WORDS], |row| row.map(u64::from_ne_bytes));
    let mut different = [0; WORDS];
    for slice in slices() {
        for row in slice {
            for word in 0..WORDS {
                different[word] |= u64::from_ne_bytes(row[word]) ^ first[word];
            }
        }
    }
    let columns: [Column; WORDS] = std::array::from_fn(|word| Column::new(first[word], different[word]));
    let rows: usize = slices().map(<[_]>::len).sum();
    // Whole words are stored, each over what the one before has too much.
    grow(packed, at + size_of_val(&columns) + rows * row_bytes(&columns) + WORD_BYTES);
    packed[at..at + size_of_val(&columns)].copy_from_slice(columns.as_bytes());
    at += size_of_val(&columns);
    for slice in slices() {
        for row in slice {
            for (word, column) in row.iter().zip(&columns) {
                let kept: Word = (u64::from_ne_bytes(*word) >> column.shift).to_le_bytes();
                packed[at..at + WORD_BYTES].copy_from_slice(&kept);
                at += column.kept_bytes as usize;
            }
        }
    }
    at
}

/// Makes memory for at least these bytes.
pub(super) fn grow(bytes: &mut Vec<u8>, least: usize) {
    if bytes.len() < least {
        bytes.resize(least, 0);
    }
}

/// Adds the rows that are packed in this part of `packed` to `rows`; false if they cannot be there.
pub(super) fn unpack<T: Row>(packed: &mut Vec<u8>, part: Range<usize>, count: usize, rows: &mut Vec<T>) -> bool {
    match size_of::<T>() / WORD_BYTES {
        1 => unpack_words::<T, 1>(packed, part, count, rows),
        2 => unpack_words::<T, 2>(packed, part, count, rows),
        _ => unpack_words::<T, 3>(packed, part, count, rows),
    }
}

fn unpack_words<T: Row, const WORDS: usize>(
    packed: &mut Vec<u8>,
    part: Range<usize>,
    count: usize,
    rows: &mut Vec<T>,
) -> bool {
    let Ok((columns, kept)) = <[Column; WORDS]>::read_from_prefix(&packed[part.clone()]) else { return false };
    if !columns.iter().all(Column::is_possible) || kept.len() != count * row_bytes(&columns) {
        return false;
    }
    let masks = columns.map(|column| column.mask());
    let mut at = part.start + size_of_val(&columns);
    // Whole words are loaded, also at the end.
    grow(packed, part.end + WORD_BYTES);
    rows.extend((0..count).map(|_| {
        let mut row = [0_u64; WORDS];
        for word in 0..WORDS {
            let kept: &Word = packed[at..].first_chunk().expect("there is a word more than is kept");
            row[word] = (u64::from_le_bytes(*kept) & masks[word]) << columns[word].shift | columns[word].common;
            at += columns[word].kept_bytes as usize;
        }
        T::read_from_bytes(row.as_bytes()).expect("a row has these words")
    }));
    true
}

fn row_bytes(columns: &[Column]) -> usize {
    columns.iter().map(|column| column.kept_bytes as usize).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packed<T: Row>(slices: &[Vec<T>]) -> Vec<u8> {
        let mut packed = vec![7; 300];
        let end = pack(slices, &mut packed, 5);
        assert_eq!(packed[..5], [7; 5]);
        packed[5..end].to_vec()
    }

    fn unpacked<T: Row>(packed: Vec<u8>, rows: usize) -> Option<Vec<T>> {
        let (mut packed, mut unpacked) = ([vec![7; 3], packed].concat(), Vec::new());
        let part = 3..packed.len();
        unpack(&mut packed, part, rows, &mut unpacked).then_some(unpacked)
    }

    fn comes_back<T: Row + PartialEq + std::fmt::Debug>(slices: &[Vec<T>]) {
        let rows = slices.concat();
        assert_eq!(unpacked(packed(slices), rows.len()), Some(rows));
    }

    #[test]
    fn only_the_bytes_in_which_rows_differ_are_kept() {
        let column = size_of::<Column>();
        // Two of the eight bytes differ, then three with one between them, then none.
        let rows = vec![[0x1122_3344_5566_7788_u64, 0xff00_0000, 5], [0x1122_9944_5566_7788, 0xff12_0034, 5]];
        assert_eq!(packed(std::slice::from_ref(&rows)).len(), 3 * column + 2 * (1 + 3));
        comes_back(&[rows]);
        assert_eq!(packed(&[vec![u64::MAX; 100]]).len(), column);
        assert_eq!(packed(&[vec![0_u64], vec![u64::MAX]]).len(), column + 16);
        assert_eq!(packed::<u64>(&[]).len(), column);
    }

    #[test]
    fn bytes_that_cannot_be_those_of_rows_are_refused() {
        let rows = vec![[1_u64, 2], [3, 1 << 40]];
        let good = packed(&[rows]);
        assert!(unpacked::<[u64; 2]>(good.clone(), 2).is_some());
        for (bad, count) in
            [(good.clone(), 1), (good.clone(), 3), (good[..good.len() - 1].to_vec(), 2), (vec![0; 31], 0)]
        {
            assert_eq!(unpacked::<[u64; 2]>(bad, count), None);
        }
        // Two bytes of the first word are kept, and none of the second.
        let good = packed(&[vec![[1_u64, 2], [0x0203, 2]]]);
        for (shift, kept_bytes) in [(1, 2), (56, 2), (64, 2), (0, 9), (0, 1), (0, u32::MAX), (u32::MAX, 2)] {
            let bad = Column { shift, kept_bytes, ..Column::default() };
            let bad = [bad.as_bytes(), &good[size_of::<Column>()..]].concat();
            assert_eq!(unpacked::<[u64; 2]>(bad, 2), None, "{shift} {kept_bytes}");
        }
        let bad = Column { shift: 64, ..Column::default() };
        let bad = [&good[..size_of::<Column>()], bad.as_bytes(), &good[2 * size_of::<Column>()..]].concat();
        assert_eq!(unpacked::<[u64; 2]>(bad, 2), None);
    }

    proptest! {
        #[test]
        fn rows_of_any_bytes_come_back(
            rows in prop::collection::vec(any::<[u64; 3]>(), 0..40),
            masks in prop::collection::vec(any::<u8>(), 3),
            common in any::<[u64; 3]>(),
            cut in 0..40_usize,
        ) {
            // In the bytes that a mask names rows differ.
            let mask = |mask: u8| (0..8).filter(|bit| mask >> bit & 1 == 1).fold(0, |word, bit| word | 0xff_u64 << (8 * bit));
            let masks: Vec<u64> = masks.into_iter().map(mask).collect();
            let of = |row: &[u64; 3]| -> [u64; 3] {
                std::array::from_fn(|word| row[word] & masks[word] | common[word] & !masks[word])
            };
            let rows: Vec<[u64; 3]> = rows.iter().map(of).collect();
            let (a, b) = rows.split_at(cut.min(rows.len()));
            comes_back(&[a.to_vec(), b.to_vec()]);
            comes_back(&[a.iter().map(|row| [row[0], row[2]]).collect::<Vec<_>>(), vec![]]);
            comes_back(&[b.iter().map(|row| row[1]).collect::<Vec<_>>()]);
        }
    }
}
