//! The walk over a file, with limits, without members, and to an output that fails.

use super::*;
use crate::format::tests::zip_of;
use crate::frames::Parts;

fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// The names and outcomes of the parts of a file.
fn outcomes(file: File, hint: Option<&str>, limits: &Limits) -> Vec<(String, Kind, Outcome)> {
    let mut stream = Vec::new();
    walk(file, hint, limits, &mut stream).unwrap();
    let (mut parts, mut all) = (Parts::new(stream.as_slice()), Vec::new());
    while let Some(head) = parts.next_part().unwrap() {
        all.push((head.name, head.kind, parts.outcome().unwrap().outcome));
    }
    all
}

/// An output that takes so many bytes, and counts what is written after them.
struct Full {
    left: usize,
    refused: u32,
}

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.left);
        self.left -= taken;
        if taken == 0 && !bytes.is_empty() {
            self.refused += 1;
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_output_that_fails_anywhere_ends_the_walk_with_its_error() {
    let long = "words ".repeat(20_000);
    let archive = zip_of(&[("a", b"first"), ("b", long.as_bytes()), ("c.zip", &zip_of(&[("d", b"inner")]))]);
    let mut stream = Vec::new();
    walk(file(&archive), Some(""), &Limits::default(), &mut stream).unwrap();
    for left in (0..300).chain((300..stream.len()).step_by(997)).chain([stream.len() - 1]) {
        let mut output = Full { left, refused: 0 };
        let error = walk(file(&archive), Some(""), &Limits::default(), &mut output).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{left}");
    }
    let mut output = Full { left: stream.len(), refused: 0 };
    walk(file(&archive), Some(""), &Limits::default(), &mut output).unwrap();
    assert_eq!((output.left, output.refused), (0, 0));
}

#[test]
fn no_further_member_is_read_for_an_output_that_failed() {
    let names: Vec<String> = (0..1000).map(|number| number.to_string()).collect();
    let members: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), b"text".as_slice())).collect();
    let mut output = Full { left: 100, refused: 0 };
    walk(file(&zip_of(&members)), Some(""), &Limits::default(), &mut output).unwrap_err();
    assert!(output.refused < 20, "{}", output.refused);
}

#[test]
fn an_archive_stays_closed_without_a_hint_and_other_documents_are_read() {
    let archive = zip_of(&[("a", b"text")]);
    let closed = outcomes(file(&archive), None, &Limits::default());
    assert_eq!(closed, [(String::new(), Kind::Zip, Outcome::Container)]);
    assert_eq!(outcomes(file(&archive), Some(""), &Limits::default()).len(), 2);
    let text = outcomes(file(b"text"), None, &Limits::default());
    assert_eq!(text, [(String::new(), Kind::Text, Outcome::Text)]);
}

#[test]
fn what_cannot_be_read_is_a_part_with_a_reason_and_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let write_only = File::create(folder.path().join("x")).unwrap();
    (&write_only).write_all(b"text").unwrap();
    for unreadable in [File::open(folder.path()).unwrap(), write_only] {
        let parts = outcomes(unreadable, Some(""), &Limits::default());
        assert_eq!(parts, [(String::new(), Kind::Other, Outcome::Unextractable(Reason::Damaged))]);
    }
}

#[test]
fn files_embedded_in_documents_are_members_within_the_limits() {
    let document = |embedded: &[u8]| {
        zip_of(&[
            ("[Content_Types].xml", b"<Types/>"),
            ("word/document.xml", b"<w:document><w:p><w:r><w:t>words</w:t></w:r></w:p></w:document>"),
            ("word/embeddings/in", embedded),
        ])
    };
    let (inner, outer) = (document(b"text"), document(&document(b"text")));
    let summary = |bytes: &[u8], limits: &Limits| -> Vec<(usize, Outcome)> {
        let parts = outcomes(file(bytes), Some(""), limits).into_iter();
        parts.map(|(name, _, outcome)| (name.matches("embeddings").count(), outcome)).collect()
    };
    let because = Outcome::Unextractable;
    let limits = Limits::default();
    assert_eq!(summary(&outer, &limits), [(2, Outcome::Text), (1, Outcome::Text), (0, Outcome::Text)]);
    let shallow = Limits { depth_max: 1, ..limits };
    assert_eq!(summary(&outer, &shallow), [(1, because(Reason::TooDeep)), (0, Outcome::Text)]);
    assert_eq!(summary(&inner, &shallow), [(1, Outcome::Text), (0, Outcome::Text)]);
    let alone = Limits { depth_max: 0, ..limits };
    assert_eq!(summary(&inner, &alone), [(0, because(Reason::TooDeep))]);
    let few = Limits { members_max: 1, ..limits };
    assert_eq!(summary(&outer, &few), [(1, because(Reason::TooMany)), (0, because(Reason::TooMany))]);
    let small = Limits { expanded_bytes_max: 3, ..limits };
    assert_eq!(summary(&inner, &small), [(0, because(Reason::TooLarge))]);
}

#[test]
fn the_pages_of_a_document_decide_what_it_is() {
    for (kind, pictures, others, expected) in [
        (Kind::Pdf, 0, 0, Outcome::Text),
        (Kind::Pdf, 1, 1, Outcome::Text),
        (Kind::Pdf, 2, 1, Outcome::Pictures),
        (Kind::Tiff, 1, 0, Outcome::Pictures),
        (Kind::Tiff, 0, 0, Outcome::NoText),
        (Kind::Png, 0, 0, Outcome::NoText),
        (Kind::Text, 0, 0, Outcome::Text),
    ] {
        assert_eq!(outcome_of(kind, Pages { pictures, others }), expected, "{kind:?} {pictures} {others}");
    }
}
