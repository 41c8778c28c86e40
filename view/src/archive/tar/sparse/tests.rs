use proptest::prelude::*;

use super::*;
use crate::limits::Limits;

/// The field of a header that describes a sparse file: four pieces at most, the flag of more blocks, and the size.
fn header(pieces: &[(u64, u64)], more: bool, size: u64) -> Vec<u8> {
    let mut header = map(pieces, 4);
    header.push(u8::from(more));
    header.extend(field(size));
    header
}

/// A block of 21 pieces that follows a header.
fn block(pieces: &[(u64, u64)], more: bool) -> Vec<u8> {
    let mut block = map(pieces, 21);
    block.push(u8::from(more));
    block.resize(BLOCK_BYTES, 0);
    block
}

fn map(pieces: &[(u64, u64)], places: usize) -> Vec<u8> {
    let mut map: Vec<u8> = pieces.iter().flat_map(|&(at, length)| [field(at), field(length)].concat()).collect();
    assert!(map.len() <= places * 24);
    map.resize(places * 24, 0);
    map
}

fn field(number: u64) -> Vec<u8> {
    format!("{number:011o}\0").into_bytes()
}

/// The file that a header and the bytes after it describe.
fn filled(header: &[u8], mut after: &[u8]) -> io::Result<Vec<u8>> {
    let mut sparse = Sparse::read(header, &mut after)?;
    let budget = Budget::new(&Limits::default(), 1 << 20);
    let mut file = Vec::new();
    sparse.over(&mut after, &budget).read_to_end(&mut file)?;
    Ok(file)
}

#[test]
fn holes_are_zeros_and_pieces_are_the_bytes_of_the_archive() {
    let check = |pieces: &[(u64, u64)], size: u64, bytes: &[u8], expected: &[u8]| {
        assert_eq!(filled(&header(pieces, false, size), bytes).unwrap(), expected, "{pieces:?} {size}");
    };
    check(&[], 0, b"", b"");
    check(&[], 3, b"", b"\0\0\0");
    check(&[(0, 3)], 3, b"abc", b"abc");
    check(&[(2, 1)], 4, b"a", b"\0\0a\0");
    check(&[(0, 1), (3, 2)], 5, b"abc", b"a\0\0bc");
    check(&[(1, 1), (2, 1)], 3, b"ab", b"\0ab");
    // GNU tar ends the map of a file with a last hole by an empty piece at its end.
    check(&[(0, 1), (4, 0)], 4, b"a", b"a\0\0\0");
}

#[test]
fn a_map_goes_on_in_blocks() {
    let pieces: Vec<(u64, u64)> = (0..30).map(|number| (2 * number, 1)).collect();
    let bytes: Vec<u8> = (1..=30).collect();
    let after = [block(&pieces[4..25], true), block(&pieces[25..], false), bytes].concat();
    let file = filled(&header(&pieces[..4], true, 60), &after).unwrap();
    let expected: Vec<u8> = (1..=30).flat_map(|byte| [byte, 0]).collect();
    assert_eq!(file, expected);
}

#[test]
fn impossible_maps_are_damage() {
    for (pieces, size) in [
        (&[(0, 4)][..], 3),
        (&[(4, 1)], 4),
        (&[(0, 2), (1, 2)], 9),
        (&[(5, 1), (0, 1)], 9),
        (&[((1 << 33) - 1, 1), (0, 1)], 1 << 32),
    ] {
        let result = Sparse::read(&header(pieces, false, size), &mut io::empty());
        assert!(result.is_err(), "{pieces:?} {size}");
    }
    let mut no_number = header(&[(0, 1)], false, 1);
    no_number[0] = b'x';
    assert!(Sparse::read(&no_number, &mut io::empty()).is_err());
    assert!(Sparse::read(&[0; 90], &mut io::empty()).is_err(), "a short header");
    assert!(Sparse::read(&header(&[], true, 1), &mut &[0; 100][..]).is_err(), "a missing block");
}

#[test]
fn holes_count_as_output_of_a_decoder() {
    let budget = Budget::new(&Limits { expanded_bytes_max: 1000, ..Limits::default() }, 1);
    let mut sparse = Sparse::read(&header(&[], false, 1 << 30), &mut io::empty()).unwrap();
    let error = sparse.over(&mut io::empty(), &budget).read_to_end(&mut Vec::new()).unwrap_err();
    assert_eq!(crate::budget::reason(&error), Reason::TooLarge);
    assert_eq!(budget.stopped(), Some(Reason::TooLarge));
}

proptest! {
    #[test]
    fn any_file_comes_back_from_its_pieces(gaps in prop::collection::vec((0_u64..5, 1_u64..5), 0..5), end in 0_u64..5) {
        let (mut at, mut pieces, mut expected, mut bytes) = (0, Vec::new(), Vec::new(), Vec::new());
        for (gap, length) in gaps.into_iter().take(4) {
            at += gap;
            pieces.push((at, length));
            expected.resize(usize::try_from(at).unwrap(), 0);
            for _ in 0..length {
                let byte = u8::try_from(bytes.len() + 1).unwrap();
                bytes.push(byte);
                expected.push(byte);
            }
            at += length;
        }
        let size = at + end;
        expected.resize(usize::try_from(size).unwrap(), 0);
        prop_assert_eq!(filled(&header(&pieces, false, size), &bytes).unwrap(), expected);
    }
}

#[test]
fn a_file_without_all_bytes_of_its_pieces_is_damaged() {
    for (bytes, is_complete) in [(&b"abcd"[..], true), (b"abcde", true), (b"abc", false), (b"ab", false), (b"", false)]
    {
        let file = filled(&header(&[(0, 2), (5, 2)], false, 9), bytes);
        assert_eq!(file.is_ok(), is_complete, "{bytes:?}");
        if let Err(error) = file {
            assert_eq!(crate::budget::reason(&error), Reason::Damaged);
        }
    }
}
