use std::io::{Cursor, Write as _};

use proptest::prelude::*;

use super::directory::read as read_directory;
use super::*;
use crate::archive::member::MemberContent;
use crate::budget::reason;
use crate::limits::Limits;

/// An archive of these files, each deflated or stored.
fn archive(files: &[(String, Vec<u8>, bool)]) -> Vec<u8> {
    let mut writer = ::zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content, deflated) in files {
        let method = if *deflated { ::zip::CompressionMethod::Deflated } else { ::zip::CompressionMethod::Stored };
        writer
            .start_file(name.as_str(), ::zip::write::SimpleFileOptions::default().compression_method(method))
            .unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn small() -> Vec<u8> {
    archive(&[("a".into(), b"first".to_vec(), true), ("b/c".into(), b"second".to_vec(), false)])
}

/// The place at which the directory of an archive begins.
fn directory_at(archive: &[u8]) -> usize {
    archive.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap()
}

type Visited = Vec<(String, Result<Vec<u8>, Reason>)>;

fn visited(archive: &[u8]) -> (Visited, Result<(), Reason>) {
    let budget = Budget::new(&Limits::default(), archive.len() as u64);
    let mut found = Vec::new();
    let result = zip(&mut Cursor::new(archive), &budget, &mut |name, content| {
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

fn contents() -> Visited {
    vec![("a".to_owned(), Ok(b"first".to_vec())), ("b/c".to_owned(), Ok(b"second".to_vec()))]
}

#[test]
fn bytes_before_an_archive_and_a_comment_after_it_do_not_matter() {
    let archive = small();
    for before in [&b""[..], b"#!/bin/sh\n", &[0; 5000]] {
        assert_eq!(visited(&[before, &archive].concat()), (contents(), Ok(())), "{}", before.len());
    }
    for comment in [&b"c"[..], b"PK\x05\x06 is how a directory ends", &[b'x'; 65_535]] {
        let mut commented = archive.clone();
        let at = commented.len() - 2;
        commented[at..].copy_from_slice(&u16::try_from(comment.len()).unwrap().to_le_bytes());
        commented.extend(comment);
        assert_eq!(visited(&commented), (contents(), Ok(())), "{}", comment.len());
    }
}

#[test]
fn a_signature_after_the_directory_is_allowed_and_other_bytes_are_not() {
    let archive = small();
    let end = archive.len() - 22;
    for (more, is_readable) in [(&b"PK\x05\x05\x01\0x"[..], true), (b"garbage", false), (b"PK\x01\x02", false)] {
        let mut changed = [&archive[..end], more, &archive[end..]].concat();
        let length = u32::try_from(end - directory_at(&archive) + more.len()).unwrap();
        let at = changed.len() - 10;
        changed[at..at + 4].copy_from_slice(&length.to_le_bytes());
        let members = read_directory(&mut Cursor::new(changed.as_slice()), 100);
        assert_eq!(members.is_ok(), is_readable, "{more:?}");
    }
}

#[test]
fn one_member_more_than_the_limit_is_read() {
    let archive = small();
    for (members_max, read) in [(0, 1), (1, 2), (2, 2), (100, 2)] {
        let members = read_directory(&mut Cursor::new(archive.as_slice()), members_max).unwrap();
        assert_eq!(members.len(), read, "{members_max}");
    }
}

#[test]
fn members_that_overlap_the_directory_or_each_other_are_damage() {
    let archive = small();
    let first = directory_at(&archive);
    let second = first + 46 + 1;
    let sizes_at = 20;
    let place_at = 42;
    let change = |at: usize, number: u32| {
        let mut changed = archive.clone();
        changed[at..at + 4].copy_from_slice(&number.to_le_bytes());
        read_directory(&mut Cursor::new(changed.as_slice()), 100).map(drop)
    };
    let place = u32::from_le_bytes(archive[second + place_at..second + place_at + 4].try_into().unwrap());
    assert_eq!(change(second + place_at, place), Ok(()));
    assert_eq!(change(second + place_at, 0), Err(Reason::Damaged), "two members at one place");
    assert_eq!(change(second + place_at, place - 2), Err(Reason::Damaged));
    assert_eq!(change(second + sizes_at, u32::try_from(first).unwrap()), Err(Reason::Damaged));
    assert_eq!(change(first + place_at, u32::MAX - 1), Err(Reason::Damaged));
}

#[test]
fn a_member_with_a_wrong_checksum_or_size_is_damaged_and_the_others_are_read() {
    let archive = small();
    let first = directory_at(&archive);
    for (field, what) in [(16, "checksum"), (24, "size")] {
        let mut changed = archive.clone();
        changed[first + field] ^= 1;
        let (found, result) = visited(&changed);
        assert_eq!(result, Ok(()), "{what}");
        assert_eq!(found, [("a".to_owned(), Err(Reason::Damaged)), contents()[1].clone()], "{what}");
    }
}

#[test]
fn encrypted_and_unknown_members_are_closed() {
    let archive = small();
    let first = directory_at(&archive);
    for (field, value, expected) in [(8, 1, Reason::Encrypted), (10, 99, Reason::Unsupported)] {
        let mut changed = archive.clone();
        changed[first + field] = value;
        let (found, _) = visited(&changed);
        assert_eq!(found, [("a".to_owned(), Err(expected)), contents()[1].clone()], "{field}");
    }
}

proptest! {
    #[test]
    fn members_come_out_in_order_with_their_bytes(
        files in prop::collection::btree_map("[a-z]{1,6}", (prop::collection::vec(any::<u8>(), 0..500), any::<bool>()), 0..6),
    ) {
        let files: Vec<_> = files.into_iter().map(|(name, (content, deflated))| (name, content, deflated)).collect();
        let expected: Visited = files.iter().map(|(name, content, _)| (name.clone(), Ok(content.clone()))).collect();
        let archive = archive(&files);
        prop_assert_eq!(visited(&archive), (expected.clone(), Ok(())));
        // Without a directory, the headers before the members give the same members, and the archive is damaged.
        if let Some(at) = archive.windows(4).position(|bytes| bytes == b"PK\x01\x02") {
            let (found, result) = visited(&archive[..at]);
            prop_assert_eq!(found, expected);
            prop_assert_eq!(result, Err(Reason::Damaged));
        }
    }

    #[test]
    fn no_damage_makes_the_reader_panic_or_invents_a_member(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut archive = small();
        let at = at.index(archive.len());
        archive[at] = byte;
        let (found, _) = visited(&archive);
        prop_assert!(found.len() <= 2);
        for (_, content) in found {
            let known = [&b"first"[..], b"second"];
            prop_assert!(content.is_err() || content.is_ok_and(|bytes| known.contains(&bytes.as_slice())));
        }
    }
}

/// An archive of one file that is compressed already, by a method.
fn packed(method: u16, flags: u16, packed: &[u8], content: &[u8]) -> Vec<u8> {
    let mut archive = archive(&[("a".into(), packed.to_vec(), false)]);
    let (sum, bytes) = (crc32fast::hash(content).to_le_bytes(), u32::try_from(content.len()).unwrap().to_le_bytes());
    let at = directory_at(&archive);
    // The local header, then the directory: flags, method, checksum, and the size behind that of the compressed bytes.
    for (start, sum_at) in [(6, 14), (at + 8, at + 16)] {
        archive[start..start + 2].copy_from_slice(&flags.to_le_bytes());
        archive[start + 2..start + 4].copy_from_slice(&method.to_le_bytes());
        archive[sum_at..sum_at + 4].copy_from_slice(&sum);
        archive[sum_at + 8..sum_at + 12].copy_from_slice(&bytes);
    }
    archive
}

#[test]
fn members_of_rarer_methods_are_unpacked() {
    let content = b"words and more words and more words".repeat(20);
    let mut xz = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).unwrap();
    xz.write_all(&content).unwrap();
    let options = lzma_rust2::LzmaOptions::with_preset(1);
    let mut lzma = lzma_rust2::LzmaWriter::new_no_header(Vec::new(), &options, true).unwrap();
    lzma.write_all(&content).unwrap();
    let header = [&[9, 4, 5, 0, 93][..], &options.dict_size.to_le_bytes()].concat();
    let lzma = [header, lzma.finish().unwrap()].concat();
    let length = u16::try_from(content.len()).unwrap();
    // One block that is stored, which is the same in both versions of the method.
    let deflate64 = [&[1][..], &length.to_le_bytes(), &(!length).to_le_bytes(), &content].concat();
    for (method, flags, bytes) in [(95, 0, xz.finish().unwrap()), (14, 2, lzma.clone()), (9, 0, deflate64)] {
        let all = (vec![("a".to_owned(), Ok(content.clone()))], Ok(()));
        assert_eq!(visited(&packed(method, flags, &bytes, &content)), all, "method {method}");
        let (found, _) = visited(&packed(method, flags, &bytes[..bytes.len() / 2], &content));
        assert!(found[0].1.is_err(), "method {method}, cut");
    }
    let mut large = lzma;
    large[5..9].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(visited(&packed(14, 2, &large, &content)).0, [("a".to_owned(), Err(Reason::OutOfMemory))]);
    assert_eq!(visited(&packed(98, 0, b"ppmd", &content)).0, [("a".to_owned(), Err(Reason::Unsupported))]);
}
