use proptest::prelude::*;

use super::*;
use crate::limits::Limits;

/// A header with a right checksum, and its content in blocks.
fn entry(name: &str, kind: u8, content: &[u8]) -> Vec<u8> {
    let mut block = vec![0; BLOCK_BYTES];
    block[..name.len()].copy_from_slice(name.as_bytes());
    block[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
    block[148..156].fill(b' ');
    block[156] = kind;
    let sum: u64 = block.iter().map(|&byte| u64::from(byte)).sum();
    block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    block.extend(content);
    block.resize(block.len().next_multiple_of(BLOCK_BYTES), 0);
    block
}

/// A pax header with these records.
fn pax(records: &[(&str, &str)]) -> Vec<u8> {
    let record = |&(key, value): &(&str, &str)| {
        let rest = format!(" {key}={value}\n");
        let length = (rest.len() + 1..).find(|length| length.to_string().len() + rest.len() == *length).unwrap();
        format!("{length}{rest}")
    };
    entry("pax", b'x', records.iter().map(record).collect::<String>().as_bytes())
}

type Visited = Vec<(String, Result<Vec<u8>, Reason>)>;

fn visited(archive: &[u8], piece_bytes: usize) -> (Visited, Result<(), Reason>) {
    let budget = Budget::new(&Limits::default(), archive.len() as u64);
    let mut found = Vec::new();
    let result = tar(&mut Pieces { bytes: archive, piece_bytes }, &budget, &mut |name, content| {
        let content = match content {
            MemberContent::Bytes(bytes, _) => {
                let mut all = Vec::new();
                bytes.read_to_end(&mut all).map(|_| all).map_err(|error| reason(&error))
            }
            MemberContent::Closed(reason) => Err(reason),
        };
        found.push((name.to_owned(), content));
        Ok(())
    });
    (found, result)
}

/// A stream that gives few bytes at a time.
struct Pieces<'b> {
    bytes: &'b [u8],
    piece_bytes: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(self.piece_bytes);
        self.bytes.read(&mut buffer[..length])
    }
}

fn names(archive: &[u8]) -> Vec<String> {
    visited(archive, usize::MAX).0.into_iter().map(|(name, _)| name).collect()
}

#[test]
fn only_files_are_visited() {
    let kinds = [(b'0', true), (0, true), (b'7', true), (b'1', false), (b'2', false), (b'3', false), (b'5', false)];
    for (kind, is_file) in kinds {
        let (found, result) = visited(&entry("x", kind, b"content"), usize::MAX);
        assert_eq!((found.len(), result), (usize::from(is_file), Ok(())), "{kind}");
    }
    assert!(names(&entry("folder/", b'0', b"")).is_empty(), "old archives mark folders by a slash");
}

#[test]
fn extended_headers_are_about_the_next_file_only() {
    let files = [entry("short", b'0', b"a"), entry("next", b'0', b"b")].concat();
    let long = entry("", b'L', b"a long name\0");
    for (header, expected) in [
        (pax(&[("path", "ä/b")]), ["ä/b", "next"]),
        (pax(&[("mtime", "1.5"), ("path", "p")]), ["p", "next"]),
        (long.clone(), ["a long name", "next"]),
        (entry("", b'g', b"13 path=other\n"), ["short", "next"]),
        (entry("", b'K', b"target of a link\0"), ["short", "next"]),
        ([long, pax(&[("path", "the last one")])].concat(), ["the last one", "next"]),
        (entry("pax", b'x', b"no record"), ["short", "next"]),
        (entry("pax", b'x', b"99 path=x\n"), ["short", "next"]),
    ] {
        assert_eq!(names(&[header, files.clone()].concat()), expected);
    }
}

#[test]
fn the_size_of_an_extended_header_counts() {
    let mut file = entry("x", b'0', b"");
    file.extend([b'y'; BLOCK_BYTES]);
    let (found, result) = visited(&[pax(&[("size", "3")]), file, entry("next", b'0', b"")].concat(), usize::MAX);
    assert_eq!(result, Ok(()));
    assert_eq!(found, [("x".to_owned(), Ok(b"yyy".to_vec())), ("next".to_owned(), Ok(Vec::new()))]);
}

#[test]
fn sparse_files_of_pax_are_named_and_not_read() {
    let records = [("GNU.sparse.major", "1"), ("GNU.sparse.name", "true name"), ("path", "GNUSparseFile.0/x")];
    let (found, _) = visited(&[pax(&records), entry("x", b'0', b"map")].concat(), usize::MAX);
    assert_eq!(found, [("true name".to_owned(), Err(Reason::Unsupported))]);
}

#[test]
fn an_archive_ends_with_zeros_or_with_its_bytes() {
    let files = [entry("a", b'0', b"1"), entry("b", b'0', b"2")];
    assert_eq!(names(&files.concat()), ["a", "b"]);
    assert_eq!(names(&[&files[0][..], &[0; 1024], &files[1]].concat()), ["a"]);
    assert_eq!(visited(b"", 1), (Vec::new(), Ok(())));
    let (found, result) = visited(&[&files[0][..], &files[1][..100]].concat(), usize::MAX);
    assert_eq!((found.len(), result), (1, Err(Reason::Damaged)), "half a header");
    let (_, result) = visited(&[&files[0][..], &[7; BLOCK_BYTES]].concat(), usize::MAX);
    assert_eq!(result, Err(Reason::Damaged), "a wrong checksum");
}

#[test]
fn a_name_of_a_megabyte_is_the_longest() {
    let longest = usize::try_from(EXTENSION_BYTES_MAX).unwrap();
    for (length, result) in [(longest, Ok(())), (longest + 1, Err(Reason::TooLarge))] {
        let archive = [entry("", b'L', &vec![b'x'; length]), entry("a", b'0', b"")].concat();
        assert_eq!(visited(&archive, usize::MAX).1, result, "{length}");
    }
}

#[test]
fn a_visitor_ends_the_reading() {
    let archive = [entry("a", b'0', b"1"), entry("b", b'0', b"2")].concat();
    let budget = Budget::new(&Limits::default(), 1);
    let mut count = 0;
    let result = tar(&mut archive.as_slice(), &budget, &mut |_, _| {
        count += 1;
        Err(Reason::TooMany)
    });
    assert_eq!((count, result), (1, Err(Reason::TooMany)));
}

proptest! {
    #[test]
    fn members_do_not_depend_on_the_sizes_of_reads(
        members in prop::collection::vec(("[a-z]{1,9}", prop::collection::vec(any::<u8>(), 0..1200)), 0..5),
        piece_bytes in 1_usize..700,
    ) {
        let archive: Vec<u8> = members.iter().flat_map(|(name, content)| entry(name, b'0', content)).collect();
        let expected: Visited = members.into_iter().map(|(name, content)| (name, Ok(content))).collect();
        prop_assert_eq!(visited(&archive, piece_bytes), (expected, Ok(())));
    }

    #[test]
    fn a_truncated_archive_gives_its_first_members(
        lengths in prop::collection::vec(0_usize..1200, 1..5),
        cut in 0_usize..6000,
    ) {
        let members: Vec<Vec<u8>> = lengths.iter().map(|&length| vec![b'x'; length]).collect();
        let archive: Vec<u8> = members.iter().flat_map(|content| entry("x", b'0', content)).collect();
        let (found, _) = visited(&archive[..cut.min(archive.len())], usize::MAX);
        prop_assert!(found.len() <= members.len());
        for (at, ((_, content), member)) in found.iter().zip(&members).enumerate() {
            let is_last = at + 1 == found.len();
            prop_assert!(content.as_ref() == Ok(member) || (is_last && *content == Err(Reason::Damaged)));
        }
    }
}

#[test]
fn a_size_beyond_all_archives_is_damage_and_no_sum_overflows() {
    for size in [u64::MAX, u64::MAX - 1, u64::MAX - 511, u64::MAX - 512, 1 << 63] {
        for kind in [b'0', b'5', b'g', b'K', b'S'] {
            let mut header = entry("x", kind, b"");
            header[124..128].copy_from_slice(&[0x80, 0, 0, 0]);
            header[128..136].copy_from_slice(&size.to_be_bytes());
            header[148..156].fill(b' ');
            let sum: u64 = header.iter().map(|&byte| u64::from(byte)).sum();
            header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
            let (found, result) = visited(&[header, b"some bytes".to_vec()].concat(), usize::MAX);
            assert_eq!(result, Err(Reason::Damaged), "{size} {kind}");
            assert!(found.iter().all(|(_, content)| *content == Err(Reason::Damaged) || kind == b'S'), "{found:?}");
        }
        let (_, result) = visited(&[pax(&[("size", &size.to_string())]), entry("x", b'0', b"")].concat(), usize::MAX);
        assert_eq!(result, Err(Reason::Damaged), "{size}");
    }
}
