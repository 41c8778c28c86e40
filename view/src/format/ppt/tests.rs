use std::io::Cursor;

use super::*;
use crate::format::compound::compound_of;
use crate::kind::Kind;
use crate::text::tests::text_of;

fn record(first: u16, kind: u16, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap();
    [&first.to_le_bytes()[..], &kind.to_le_bytes(), &length.to_le_bytes(), body].concat()
}

fn numbers(all: &[u32]) -> Vec<u8> {
    all.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn wide(text: &str) -> Vec<u8> {
    [
        record(0, TEXT_HEADER, &numbers(&[0])),
        record(0, WIDE_TEXT, &text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>()),
    ]
    .concat()
}

fn narrow(text: &str) -> Vec<u8> {
    [record(0, TEXT_HEADER, &numbers(&[0])), record(0, NARROW_TEXT, text.as_bytes())].concat()
}

/// A slide with boxes, each with these records, and the number of its notes.
fn slide(boxes: &[Vec<u8>], notes: u32) -> Vec<u8> {
    let boxes: Vec<u8> = boxes.iter().flat_map(|own| record(0xF, 0xF004, &record(0xF, CLIENT_TEXT_BOX, own))).collect();
    let drawing = record(0xF, DRAWING, &record(0xF, 0xF002, &record(0xF, 0xF003, &boxes)));
    record(0xF, 0x03EE, &[record(2, SLIDE_ATOM, &numbers(&[0, 0, 0, 0, notes])), drawing].concat())
}

/// A presentation with these slides and notes, and the outline of the first slide. It was saved twice: the first time with
/// other slides at the same numbers.
fn presentation(slides: &[Vec<u8>], notes: &[Vec<u8>], outline: &[u8]) -> [Vec<u8>; 2] {
    let persist = |number: u32, id: u32| record(0, SLIDE_PERSIST, &numbers(&[number, 0, 0, id, 0]));
    let (mut listed, mut listed_notes) = (Vec::new(), Vec::new());
    for at in 0..u32::try_from(slides.len()).unwrap() {
        listed.extend(persist(10 + at, 256 + at));
        listed.extend_from_slice(if at == 0 { outline } else { &[] });
    }
    (0..).zip(notes).for_each(|(at, _)| listed_notes.extend(persist(100 + at, 500 + at)));
    let lists = [record(0xF, SLIDE_LIST, &listed), record(0x2F, SLIDE_LIST, &listed_notes)].concat();
    let mut stream = slide(&[wide("of the past")], 0);
    let first_directory = u32::try_from(stream.len()).unwrap();
    stream.extend(record(0, PERSIST_DIRECTORY, &numbers(&[10 | 1 << 20, 0])));
    let first_edit = u32::try_from(stream.len()).unwrap();
    stream.extend(record(0, USER_EDIT, &numbers(&[0, 0, 0, first_directory, 1])));
    let mut places = Vec::new();
    let parts = [(1, record(0xF, DOCUMENT, &lists))].into_iter();
    for (number, part) in parts.chain((10..).zip(slides.to_vec())).chain((100..).zip(notes.to_vec())) {
        places.extend([number | 1 << 20, u32::try_from(stream.len()).unwrap()]);
        stream.extend(part);
    }
    let directory = u32::try_from(stream.len()).unwrap();
    stream.extend(record(0, PERSIST_DIRECTORY, &numbers(&places)));
    let edit = u32::try_from(stream.len()).unwrap();
    stream.extend(record(0, USER_EDIT, &numbers(&[0, 0, first_edit, directory, 1])));
    [stream, record(0, 0x0FF6, &numbers(&[20, 0xE391_C05F, edit]))]
}

fn read([stream, user]: &[Vec<u8>; 2]) -> Result<String, Reason> {
    let file = compound_of(&[("PowerPoint Document", stream), ("Current User", user)]);
    assert_eq!(Kind::detect(&mut Cursor::new(&*file)).unwrap(), Kind::Ppt);
    text_of(Kind::Ppt, &file)
}

#[test]
fn slides_are_read_in_their_order_each_with_its_notes() {
    let outline = [wide("Title"), narrow("first\rsecond")].concat();
    let reference = |at| record(0, OUTLINE_REFERENCE, &numbers(&[at]));
    let slides = [slide(&[reference(0), narrow("a box\u{B}of two"), reference(1)], 500), slide(&[wide("näxt")], 0)];
    let notes = [slide(&[wide("a note")], 0)];
    let read = read(&presentation(&slides, &notes, &outline));
    assert_eq!(read.as_deref(), Ok("Title\na box of two\nfirst\nsecond\na note\nnäxt"));
}

#[test]
fn a_presentation_that_was_saved_for_an_older_version_too_is_read_in_the_newer_one() {
    let [stream, user] = presentation(&[slide(&[wide("new")], 0)], &[], &[]);
    let file = compound_of(&[
        ("PowerPoint Document", b"of before"),
        ("Current User", b""),
        ("PP97_DUALSTORAGE/PowerPoint Document", &stream),
        ("PP97_DUALSTORAGE/Current User", &user),
    ]);
    assert_eq!(text_of(Kind::Ppt, &file).as_deref(), Ok("new"));
}

#[test]
fn what_is_filled_in_is_no_text() {
    let number = record(0, FILLED_IN[0], &numbers(&[5]));
    let slides = [slide(&[[narrow("Page * of"), number].concat()], 0)];
    assert_eq!(read(&presentation(&slides, &[], &[])).as_deref(), Ok("Page of"));
}

#[test]
fn the_date_and_the_footer_of_a_slide_are_read_where_they_are_shown() {
    let string = |instance: u16, text: &str| {
        record(instance << 4, STRING, &text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>())
    };
    for (flags, wanted) in [(0x25, "x\ndate\nfooter"), (0x20, "x\nfooter"), (0x04, "x"), (0, "x")] {
        let atom = record(0, HEADERS_FOOTERS_ATOM, &numbers(&[flags << 16]));
        let footers = record(0xF, HEADERS_FOOTERS, &[atom, string(0, "date"), string(2, "footer")].concat());
        let mut own = slide(&[wide("x")], 0);
        own.extend(footers);
        let length = u32::try_from(own.len() - 8).unwrap();
        own[4..8].copy_from_slice(&length.to_le_bytes());
        assert_eq!(read(&presentation(&[own], &[], &[])).as_deref(), Ok(wanted), "{flags:#x}");
    }
}

#[test]
fn a_presentation_with_a_password_is_encrypted_and_one_without_its_directory_is_damaged() {
    let [stream, mut user] = presentation(&[slide(&[wide("x")], 0)], &[], &[]);
    let damaged = [stream[..stream.len() - 30].to_vec(), user.clone()];
    assert_eq!(read(&damaged), Err(Reason::Damaged));
    let mut complete = stream.clone();
    // The record of a save has two numbers more in most files.
    let edit = complete.len() - 28;
    complete[edit + 4] = 28;
    complete.extend([0; 8]);
    assert_eq!(read(&[complete, vec![7; 20]]).as_deref(), Ok("x"), "the last save is found without its place");
    user[12..16].copy_from_slice(&ENCRYPTED.to_le_bytes());
    assert_eq!(read(&[stream, user]), Err(Reason::Encrypted));
}

#[test]
fn numbers_that_no_presentation_can_have_do_no_harm() {
    let [stream, user] = presentation(&[slide(&[wide("x")], 500)], &[slide(&[narrow("y")], 0)], &wide("z"));
    for at in 0..stream.len() {
        for value in [0, 0x7F, 0xFF] {
            let mut changed = stream.clone();
            changed[at] = value;
            let _ = read(&[changed, user.clone()]);
        }
    }
}
