use std::io::Cursor;

use super::*;
use crate::format::compound::compound_of;
use crate::kind::Kind;
use crate::text::tests::text_of;

/// A document whose text is in pieces, each wide or narrow, with the lengths of its stories.
fn document(pieces: &[(&str, bool)], stories: [u32; STORIES], flags: u16) -> Vec<u8> {
    let mut bytes = vec![0; 0x400];
    bytes[..2].copy_from_slice(&IDENTIFIER.to_le_bytes());
    bytes[2..4].copy_from_slice(&VERSION_MIN.to_le_bytes());
    bytes[10..12].copy_from_slice(&flags.to_le_bytes());
    for (at, length) in stories.iter().enumerate() {
        bytes[LENGTHS_AT + 4 * at..][..4].copy_from_slice(&length.to_le_bytes());
    }
    let (mut ends, mut places, mut end) = (vec![0_u32], Vec::new(), 0);
    for (text, is_wide) in pieces {
        let at = u32::try_from(bytes.len()).unwrap();
        places.extend([0, 0]);
        match is_wide {
            true => {
                places.extend(at.to_le_bytes());
                bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
            }
            false => {
                places.extend(((at * 2) | IS_NARROW).to_le_bytes());
                bytes.extend_from_slice(&encoding_rs::WINDOWS_1252.encode(text).0);
            }
        }
        places.extend([0, 0]);
        end += u32::try_from(text.encode_utf16().count()).unwrap();
        ends.push(end);
        bytes.resize(bytes.len().next_multiple_of(2), 0);
    }
    let plc: Vec<u8> = ends.iter().flat_map(|end| end.to_le_bytes()).chain(places).collect();
    let mut table = vec![1, 2, 0, 9, 9, 2];
    table.extend(u32::try_from(plc.len()).unwrap().to_le_bytes());
    table.extend(plc);
    bytes[PIECES_AT + 4..][..4].copy_from_slice(&u32::try_from(table.len()).unwrap().to_le_bytes());
    compound_of(&[("WordDocument", &bytes), ("0Table", &table)])
}

fn check(pieces: &[(&str, bool)], stories: [u32; STORIES], wanted: Result<&str, Reason>) {
    let document = document(pieces, stories, 0);
    assert_eq!(Kind::detect(&mut Cursor::new(&*document)).unwrap(), Kind::Doc);
    assert_eq!(text_of(Kind::Doc, &document).as_deref().map_err(|reason| *reason), wanted, "{pieces:?}");
}

#[test]
fn pieces_are_read_in_the_order_of_the_text() {
    check(
        &[("Hello ", false), ("wörld €\r", true), ("Next\r", false)],
        [19, 0, 0, 0, 0, 0, 0, 0],
        Ok("Hello wörld €\nNext"),
    );
}

#[test]
fn a_document_of_word_97_has_the_letters_of_windows_though_a_mac_wrote_it() {
    let mut bytes = document(&[("gjøre på\r", false)], [9, 0, 0, 0, 0, 0, 0, 0], 0);
    let header = [IDENTIFIER.to_le_bytes(), VERSION_MIN.to_le_bytes()].concat();
    let header_at = bytes.windows(4).position(|place| place == header).unwrap();
    bytes[header_at + CHARACTER_SET_AT..][..2].copy_from_slice(&CHARACTER_SET_OF_MAC.to_le_bytes());
    assert_eq!(text_of(Kind::Doc, &bytes).as_deref(), Ok("gjøre på"));
}

#[test]
fn notes_and_headers_come_after_the_body_and_macros_are_no_text() {
    let pieces = [("body\rnote\rhead\rmacro\rcomment\rend\rbox\rboxes\r", false)];
    check(&pieces, [5, 5, 5, 6, 8, 4, 4, 6], Ok("body\nbox\nnote\nend\nhead\nboxes\ncomment"));
}

#[test]
fn instructions_of_fields_are_left_out_and_cells_are_paragraphs() {
    let text =
        "see \u{13} HYPERLINK \"x\" \u{14}here\u{15}\u{1}, a\u{1e}b\u{b}c\rone\u{7}two\u{7}\u{7}\u{13} PAGE \u{15}\r";
    let length = u32::try_from(text.chars().count()).unwrap();
    check(&[(text, false)], [length, 0, 0, 0, 0, 0, 0, 0], Ok("see here, a-b c\none\ntwo"));
    let nested = "\u{13} IF \u{13} X \u{14}y\u{15} \u{14}yes\u{15} no\r";
    check(&[(nested, true)], [u32::try_from(nested.chars().count()).unwrap(), 0, 0, 0, 0, 0, 0, 0], Ok("yes no"));
}

#[test]
fn a_document_with_a_password_is_encrypted_and_one_without_its_end_is_damaged() {
    let locked = document(&[("x\r", false)], [2, 0, 0, 0, 0, 0, 0, 0], IS_ENCRYPTED);
    assert_eq!(text_of(Kind::Doc, &locked), Err(Reason::Encrypted));
    let mut bytes = vec![0; 0x400];
    bytes[..4].copy_from_slice(&[0xEC, 0xA5, 0x64, 0]);
    assert_eq!(text_of(Kind::Doc, &compound_of(&[("WordDocument", &bytes)])), Err(Reason::Unsupported));
    assert_eq!(text_of(Kind::Doc, &compound_of(&[("WordDocument", b"\xEC\xA5")])), Err(Reason::Damaged));
}

#[test]
fn documents_of_word_6_are_read_in_their_code_page() {
    let text = encoding_rs::WINDOWS_1251.encode("Съешь же ещё этих мягких французских булок\rда\r").0.into_owned();
    let length = u32::try_from(text.len()).unwrap();
    let mut bytes = vec![0; 0x300];
    bytes[..4].copy_from_slice(&[0xDC, 0xA5, 0x65, 0]);
    bytes[0x18..0x1C].copy_from_slice(&0x300_u32.to_le_bytes());
    bytes[0x1C..0x20].copy_from_slice(&(0x300 + length).to_le_bytes());
    bytes[0x34..0x38].copy_from_slice(&length.to_le_bytes());
    bytes.extend(&text);
    let read = |bytes: &[u8]| text_of(Kind::Doc, &compound_of(&[("WordDocument", bytes)]));
    assert_eq!(read(&bytes).as_deref(), Ok("Съешь же ещё этих мягких французских булок\nда"));
    let mut of_mac = bytes[..0x300].to_vec();
    of_mac[20..22].copy_from_slice(&256_u16.to_le_bytes());
    of_mac[0x34..0x38].copy_from_slice(&6_u32.to_le_bytes());
    of_mac.extend(b"\x8Et\x8E \xC7\xC8");
    assert_eq!(read(&of_mac).as_deref(), Ok("été «»"));
    // In two pieces, of which the second comes first in the file.
    let table = [
        &[2, 28, 0, 0, 0][..],
        &numbers(&[0, length - 3, length]),
        &[0, 0],
        &numbers(&[0x303]),
        &[0; 4],
        &numbers(&[0x300]),
        &[0, 0],
    ];
    let table = table.concat();
    let at = 0x300 + text.len();
    bytes[10..12].copy_from_slice(&IS_IN_PIECES.to_le_bytes());
    bytes[0x160..0x168].copy_from_slice(&numbers(&[u32::try_from(at).unwrap(), u32::try_from(table.len()).unwrap()]));
    bytes[0x300..].rotate_right(3);
    bytes.extend(table);
    assert_eq!(read(&bytes).as_deref(), Ok("Съешь же ещё этих мягких французских булок\nда"));
}

#[test]
fn documents_of_word_95_from_eastern_asia_have_two_bytes_a_letter() {
    let text: Vec<u8> = "您好 Word\r次\r".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut bytes = vec![0; 0x300];
    bytes[..4].copy_from_slice(&[0x99, 0xA6, 0x68, 0]);
    bytes[0x18..0x20].copy_from_slice(&numbers(&[0x300, 0x300 + u32::try_from(text.len()).unwrap()]));
    bytes[0x34..0x38].copy_from_slice(&10_u32.to_le_bytes());
    bytes[10..12].copy_from_slice(&IS_WIDE.to_le_bytes());
    let read = |bytes: &[u8]| text_of(Kind::Doc, &compound_of(&[("WordDocument", bytes)]));
    let whole = [&bytes[..], &text].concat();
    assert_eq!(read(&whole).as_deref(), Ok("您好 Word\n次"));
    // In two pieces, of which the second comes first in the file.
    let table = [
        &[2, 28, 0, 0, 0][..],
        &numbers(&[0, 8, 10]),
        &[0, 0],
        &numbers(&[0x304]),
        &[0; 4],
        &numbers(&[0x300]),
        &[0, 0],
    ]
    .concat();
    bytes[10..12].copy_from_slice(&(IS_WIDE | IS_IN_PIECES).to_le_bytes());
    bytes[0x160..0x168].copy_from_slice(&numbers(&[0x300 + 20, u32::try_from(table.len()).unwrap()]));
    let in_pieces = [&bytes[..], &text[16..], &text[..16], &table].concat();
    assert_eq!(read(&in_pieces).as_deref(), Ok("您好 Word\n次"));
}

#[test]
fn a_piece_that_ends_before_it_begins_has_no_text() {
    let backwards = Piece { start: 20, end: 10, at: 0, is_narrow: true };
    let document =
        Document { bytes: b"text", pieces: vec![backwards], hidden: Visibility::default(), encoding: WINDOWS_1252 };
    let mut text = crate::text::tests::CollectedText::default();
    assert_eq!(document.story(0, 40, &mut text), Ok(true));
    assert_eq!(text.finish(), "");
}

fn numbers(all: &[u32]) -> Vec<u8> {
    all.iter().flat_map(|number| number.to_le_bytes()).collect()
}

#[test]
fn numbers_that_no_document_can_have_do_no_harm() {
    let good = document(&[("text\r", false)], [5, 0, 0, 0, 0, 0, 0, 0], 0);
    let mut file = Compound::open(&mut Cursor::new(&*good)).unwrap();
    let (bytes, table) = (file.stream("/WordDocument").unwrap().unwrap(), file.stream("/0Table").unwrap().unwrap());
    for at in 0..bytes.len().min(0x200) {
        for value in [0, 0x7F, 0xFF] {
            let mut changed = bytes.clone();
            changed[at] = value;
            let _ = text_of(Kind::Doc, &compound_of(&[("WordDocument", &changed), ("0Table", &table)]));
        }
    }
    for at in 0..table.len() {
        for value in [0, 0x7F, 0xFF] {
            let mut changed = table.clone();
            changed[at] = value;
            let _ = text_of(Kind::Doc, &compound_of(&[("WordDocument", &bytes), ("0Table", &changed)]));
        }
    }
}
