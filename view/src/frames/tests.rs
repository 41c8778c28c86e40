//! A stream is read as it was written, and any other stream is an error.

use proptest::prelude::*;

use super::*;

type Part = (String, Kind, String, PartEnd);

fn read(stream: impl Read) -> io::Result<Vec<Part>> {
    let mut parts = Parts::new(stream);
    let mut all = Vec::new();
    while let Some(head) = parts.next_part()? {
        let mut text = String::new();
        parts.read_to_string(&mut text)?;
        all.push((head.name, head.kind, text, parts.outcome()?));
    }
    Ok(all)
}

fn written(parts: &[(&str, Kind, &str, Outcome)]) -> Vec<u8> {
    let mut writer = PartsWriter::in_memory();
    for &(name, kind, text, outcome) in parts {
        writer.begin(name, kind).unwrap();
        writer.text(text).unwrap();
        writer.end(outcome, (kind == Kind::Mail).then_some([7; 16])).unwrap();
    }
    writer.finish().unwrap()
}

const PARTS: [(&str, Kind, &str, Outcome); 3] = [
    ("mail.zip!/inner", Kind::Mail, "Dear all", Outcome::Text),
    ("b", Kind::Pdf, "some", Outcome::Unextractable(Reason::Damaged)),
    ("", Kind::Zip, "", Outcome::Container),
];

#[test]
fn parts_are_read_as_they_were_written() {
    let parts = read(written(&PARTS).as_slice()).unwrap();
    assert_eq!(parts.len(), 3);
    for ((name, kind, text, end), (wanted, of, content, outcome)) in parts.iter().zip(PARTS) {
        assert_eq!((name.as_str(), *kind, text.as_str(), end.outcome), (wanted, of, content, outcome));
        assert_eq!(end.message_id_hash.is_some(), of == Kind::Mail);
        assert_eq!(end.text_bytes, content.len() as u64);
    }
}

#[test]
fn every_kind_outcome_and_reason_comes_back() {
    let kinds = (0..=255).filter_map(kind_of);
    assert!(kinds.clone().all(|kind| kind_of(kind as u8) == Some(kind)) && kinds.count() == 43);
    for outcome in [Outcome::Text, Outcome::NoText, Outcome::Container, Outcome::Pictures, Outcome::Recognised] {
        assert_eq!(read(written(&[("", Kind::Pdf, "", outcome)]).as_slice()).unwrap()[0].3.outcome, outcome);
    }
    for reason in (0..=255).filter_map(reason_of) {
        assert_eq!(reason_of(reason as u8), Some(reason));
        for outcome in [Outcome::Unextractable(reason), Outcome::InPart(reason)] {
            assert_eq!(read(written(&[("", Kind::Other, "", outcome)]).as_slice()).unwrap()[0].3.outcome, outcome);
        }
    }
}

#[test]
fn pictures_of_pages_come_among_the_text_and_are_no_parts_that_a_reader_takes() {
    let mut writer = PartsWriter::new(Vec::new()).unwrap();
    writer.begin("", Kind::Pdf).unwrap();
    writer.text("before").unwrap();
    writer.picture(&[7; FRAME_BYTES_MAX + 1], 300).unwrap();
    writer.text("after").unwrap();
    writer.end_with_pages(Outcome::Pictures, None, 9).unwrap();
    let stream = writer.finish().unwrap();
    let (mut frames, mut seen) = (Frames::new(stream.as_slice()), Vec::new());
    while let Some(frame) = frames.next().unwrap() {
        seen.push(match frame {
            Frame::Begin(_) => "begin".to_owned(),
            Frame::Text => frames.last_text().to_owned(),
            Frame::Picture => format!("{} bytes", frames.last_picture().len()),
            Frame::PictureEnd(dots) => format!("{dots} dots"),
            Frame::End(end) => format!("{} pages, {:?}", end.picture_pages, end.outcome),
        });
    }
    assert_eq!(seen, ["begin", "before", "65536 bytes", "1 bytes", "300 dots", "after", "9 pages, Pictures"]);
    assert!(read(stream.as_slice()).is_err());
    let mut damaged = stream.clone();
    damaged[200] ^= 1;
    let mut frames = Frames::new(damaged.as_slice());
    assert!((0..7).any(|_| frames.next().is_err()), "the checksum covers pictures");
}

#[test]
fn text_of_any_length_goes_through_in_frames_of_characters() {
    let text = "aä€𝄞".repeat(50_000);
    for start in 0..4 {
        let text = format!("{}{text}", "x".repeat(start));
        let stream = written(&[("", Kind::Text, &text, Outcome::Text)]);
        assert!(read(stream.as_slice()).unwrap()[0].2 == text);
    }
}

#[test]
fn unread_text_is_skipped() {
    let stream = written(&[("a", Kind::Text, &"text".repeat(100_000), Outcome::Text), PARTS[2]]);
    let mut parts = Parts::new(stream.as_slice());
    assert_eq!(parts.next_part().unwrap().unwrap().name, "a");
    assert_eq!(parts.next_part().unwrap().unwrap().name, "");
    assert_eq!(parts.outcome().unwrap().outcome, Outcome::Container);
    assert_eq!(parts.next_part().unwrap(), None);
    assert!(parts.outcome().is_err());
}

#[test]
fn a_stream_that_ends_early_is_an_error_wherever_it_ends() {
    let stream = written(&PARTS);
    for cut in 0..stream.len() {
        assert!(read(&stream[..cut]).is_err(), "{cut}");
    }
}

#[test]
fn the_document_itself_is_the_last_part() {
    // Bytes after it are not read; a stream that ends without it is invalid.
    let doubled = [written(&PARTS), written(&PARTS)].concat();
    assert_eq!(read(doubled.as_slice()).unwrap().len(), 3);
    assert!(read(written(&PARTS[..2]).as_slice()).is_err());
}

#[test]
fn the_writer_and_the_reader_check_names() {
    let long = "x".repeat(NAME_BYTES_MAX + 1);
    for name in ["/a", "a/", "a//b", "..", "a/../b", ".", "a\0b", &long] {
        assert!(PartsWriter::in_memory().begin(name, Kind::Text).is_err(), "{name:?}");
        let mut stream = MAGIC.to_vec();
        stream.push(BEGIN);
        stream.extend(u32::try_from(name.len() + 1).unwrap().to_le_bytes());
        stream.push(Kind::Text as u8);
        stream.extend(name.as_bytes());
        assert!(Parts::new(stream.as_slice()).next_part().is_err(), "{name:?}");
    }
    let twice = written(&[PARTS[1], PARTS[1], PARTS[2]]);
    assert!(read(twice.as_slice()).is_err(), "two parts of one name");
}

#[test]
fn a_stated_length_allocates_nothing_before_its_bytes_arrive() {
    let mut stream = written(&PARTS[..1]);
    for (tag, length) in [(BEGIN, u32::MAX), (TEXT, u32::MAX), (END, u32::MAX), (BEGIN, 0), (TEXT, 65_537), (9, 1)] {
        stream.push(tag);
        stream.extend(length.to_le_bytes());
        assert!(read(stream.as_slice()).is_err(), "{tag} {length}");
        stream.truncate(stream.len() - HEAD_BYTES);
    }
}

#[test]
fn a_stream_returns_only_errors_after_the_first_error() {
    let mut stream = written(&PARTS);
    let last = MAGIC.len() + HEAD_BYTES + 1 + PARTS[0].0.len() + HEAD_BYTES;
    stream[last] ^= 1;
    let mut parts = Parts::new(stream.as_slice());
    parts.next_part().unwrap();
    assert!(parts.outcome().is_err());
    assert!(parts.next_part().is_err());
}

proptest! {
    #[test]
    fn any_damage_is_an_error_or_leaves_what_was_written(at in 0..1000_usize, bit in 0..8_u8) {
        let stream = written(&PARTS);
        let at = at % stream.len();
        let mut damaged = stream.clone();
        damaged[at] ^= 1 << bit;
        // The checksum covers all of a part but the places of its frames, which cannot change alone.
        if let Ok(parts) = read(damaged.as_slice()) {
            prop_assert_eq!(parts, read(stream.as_slice()).unwrap());
        }
    }

    #[test]
    fn no_stream_makes_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), frames in proptest::collection::vec((1..5_u8, 0..40_u32, any::<[u8; 40]>()), 0..12)) {
        let _ = read(bytes.as_slice());
        let mut stream = MAGIC.to_vec();
        for (tag, length, payload) in frames {
            stream.push(tag);
            stream.extend(length.to_le_bytes());
            stream.extend(&payload[..payload.len().min(length as usize)]);
        }
        let _ = read(stream.as_slice());
    }
}

/// A stream that gives one byte at a time.
struct ByteByByte<'b>(&'b [u8]);

impl Read for ByteByByte<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(1);
        self.0.read(&mut buffer[..length])
    }
}

#[test]
fn a_frame_is_checked_before_its_bytes_are_taken() {
    let begin = |length: usize| [&MAGIC[..], &[BEGIN], &u32::try_from(length).unwrap().to_le_bytes()].concat();
    for (stream, what) in [
        (b"cogview\x02".to_vec(), "another version"),
        (begin(0), "a part without a kind"),
        (begin(NAME_BYTES_MAX + 2), "a name that is too long"),
        ([begin(1), vec![0]].concat(), "an unknown kind"),
        ([begin(2), vec![1, 0xFF]].concat(), "a name that is not UTF-8"),
        ([&MAGIC[..], &[TEXT, 1, 0, 0, 0, b'x']].concat(), "text before a part"),
        ([&MAGIC[..], &[END]].concat(), "an end before a part"),
        ([begin(1), vec![1], begin(1)[8..].to_vec(), vec![1]].concat(), "a part within a part"),
    ] {
        let error = read(stream.as_slice()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof), "{what}: {error}");
    }
}

#[test]
fn reads_outside_of_a_part_give_no_text() {
    let stream = written(&PARTS);
    let mut parts = Parts::new(stream.as_slice());
    assert_eq!(parts.read(&mut [0; 9]).unwrap(), 0, "before the first part");
    assert!(parts.outcome().is_err());
    let mut parts = Parts::new(stream.as_slice());
    parts.next_part().unwrap();
    assert_eq!(parts.read(&mut []).unwrap(), 0, "an empty buffer");
    parts.outcome().unwrap();
    assert_eq!(parts.read(&mut [0; 9]).unwrap(), 0, "after the end of a part");
}

proptest! {
    #[test]
    fn parts_do_not_depend_on_the_sizes_of_reads_and_writes(
        texts in prop::collection::vec(prop::collection::vec("[a-zäß€𝄞]{0,30}", 0..6), 1..6),
        read_bytes in 1_usize..20,
    ) {
        let mut writer = PartsWriter::in_memory();
        for (number, pieces) in texts.iter().enumerate() {
            let name = if number + 1 == texts.len() { String::new() } else { format!("part {number}") };
            writer.begin(&name, Kind::Text).unwrap();
            for piece in pieces {
                writer.text(piece).unwrap();
            }
            prop_assert_eq!(writer.text_bytes(), pieces.concat().len() as u64);
            writer.end(Outcome::Text, None).unwrap();
        }
        let stream = writer.finish().unwrap();
        let mut parts = Parts::new(ByteByByte(&stream));
        for pieces in &texts {
            parts.next_part().unwrap().unwrap();
            let mut text = Vec::new();
            let mut buffer = vec![0; read_bytes];
            loop {
                let read = parts.read(&mut buffer).unwrap();
                text.extend(&buffer[..read]);
                if read == 0 {
                    break;
                }
            }
            prop_assert_eq!(String::from_utf8(text).unwrap(), pieces.concat());
            prop_assert_eq!(parts.outcome().unwrap().text_bytes, pieces.concat().len() as u64);
        }
        prop_assert_eq!(parts.next_part().unwrap(), None);
        prop_assert!(parts.into_inner().0.is_empty());
    }
}

#[test]
fn reading_on_after_an_error_is_an_error_and_gives_no_text() {
    let begin = |text: &str| {
        let mut writer = PartsWriter::in_memory();
        writer.begin("", Kind::Text).unwrap();
        writer.text(text).unwrap();
        writer.flush_text().unwrap();
        writer.finish().unwrap()
    };
    let frame =
        |tag: u8, payload: &[u8]| [&[tag][..], &u32::try_from(payload.len()).unwrap().to_le_bytes(), payload].concat();
    for (broken, what) in [
        (Vec::new(), "the end of the stream"),
        (frame(TEXT, b"cut")[..6].to_vec(), "a frame that is cut off"),
        (frame(TEXT, b"\xFF"), "text that is not UTF-8"),
        (frame(END, &[0; END_BYTES]), "a wrong checksum"),
        (frame(PICTURE_END, &[0; 4]), "a picture"),
    ] {
        for taken in [1, 4] {
            let stream = [begin("text"), broken.clone()].concat();
            let mut parts = Parts::new(stream.as_slice());
            parts.next_part().unwrap();
            parts.read_exact(&mut vec![0; taken]).unwrap();
            assert!(parts.read_to_end(&mut Vec::new()).is_err(), "{what}");
            assert!(parts.read(&mut [0; 9]).is_err(), "{what}, again");
            assert!(parts.outcome().is_err() && parts.next_part().is_err(), "{what}, again");
        }
    }
}
