//! Damaged messages and texts from outside: refused with a reason, or valid.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::HashSet;
use std::fmt::Display;
use std::path::Path;

use cognate_fingerprint::{Chunk, Content, ContentDigest, FineChunk, Method, Tag, View, WindowSample};
use cognate_proto::batch::{Batch, BatchBuilder, DocumentRow, DocumentState};
use cognate_proto::file_hash::{FileHash, FileHashList, HashKind};
use cognate_proto::fine::{AnswerTables, FineChoice, answered, expansions};
use cognate_proto::identity::{CertificateInfo, Membership};
use cognate_proto::invitation::{Invitation, check_address};
use cognate_proto::measure::{unpack_measures, unpack_pairs};
use cognate_proto::options::{Refine, ScanOptions};
use cognate_proto::path::{DocumentPath, escaped, unescaped};
use cognate_proto::scope::ScopeAnnouncement;
use cognate_proto::selection::{Facts, Selection};
use cognate_proto::v1::{self, ChunkTable};
use prost::Message;

fn run(name: &str, valid: &[Vec<u8>], target: impl FnMut(&[u8]) -> String) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name);
    let ran = cognate_fuzzing::run(name, &corpus, valid, target);
    assert!(ran.answers >= 3, "{name}: {ran:?} does not come into the reader");
}

fn answer<T>(result: Result<T, impl Display>) -> String {
    result.map_or_else(|error| error.to_string(), |_| "valid".to_owned())
}

fn batch() -> Vec<u8> {
    let mut builder = BatchBuilder::default();
    for number in 1..4_u8 {
        let mut table = ChunkTable::default();
        let chunk = |tag| Chunk { offset: 0, length_bytes: 100, tag: Tag([tag; 16]), repeated_byte: false };
        (0..number).for_each(|tag| table.push(&chunk(tag)));
        let chunks = u64::from(number);
        let (digest, sample) = (ContentDigest([number; 16]), WindowSample::NONE);
        builder.content(&Content { size_bytes: 100 * chunks, chunk_count: chunks, digest, sample }, &table);
        builder.document(DocumentRow {
            path: DocumentPath::new(&[b'a' + number, b'/', b'x']).unwrap(),
            state: DocumentState::Read,
            content: Some(digest),
            modified: i64::from(number) - 2,
            message_id_hash: (number == 2).then_some([7; 16]),
        });
    }
    builder.finish().0.to_vec()
}

#[test]
fn any_bytes_are_a_valid_batch_or_refused() {
    run("batch", &[batch()], |input| answer(Batch::decode(input, 1000)));
}

/// A message whose first byte is the kind.
fn of_kind(kind: u8, message: &impl Message) -> Vec<u8> {
    [vec![kind], message.encode_to_vec()].concat()
}

fn checked<M: Message + Default, T, E: Display>(body: &[u8], check: impl FnOnce(M) -> Result<T, E>) -> String {
    match M::decode(body) {
        Err(error) => error.to_string(),
        Ok(message) => answer(check(message)),
    }
}

/// Checks a message as the end that receives it does.
fn message(input: &[u8]) -> String {
    let Some((kind, body)) = input.split_first() else { return "nothing".to_owned() };
    match kind % 15 {
        0 => checked(body, |message: v1::ScanOptions| ScanOptions::try_from(&message)),
        1 => checked(body, |message: v1::Refine| Refine::try_from(&message)),
        2 => checked(body, |message: v1::MethodSpec| Method::try_from(&message)),
        3 => checked(body, |message: v1::SelectionSpec| {
            Selection::try_from(message).inspect(|selection| {
                selection.selects(&Facts::of_path(b"a/b.txt"));
                selection.excludes_folder(b"a");
            })
        }),
        4 => checked(body, |message: v1::Membership| Membership::try_from(&message)),
        5 => checked(body, |message: v1::Refinement| {
            ScopeAnnouncement::check(&message).and_then(|scope| {
                let mut receiver = scope.receiver();
                receiver.take(&v1::ScopeResponse::decode(body).unwrap_or_default())?;
                receiver.finish()
            })
        }),
        6 => answer(unpack_pairs(body)),
        7 => checked(body, |message: v1::MeasureAnswer| unpack_measures(&message, 3)),
        8 => checked(body, |message: v1::FineChoice| {
            let mut choice = FineChoice::default();
            choice.take(&message).and_then(|()| choice.check(10, 100))
        }),
        9 => checked(body, |message: v1::FineTable| {
            expansions(&message, &mut HashSet::from([Tag([0; 16]), Tag([1; 16])]))
        }),
        10 => checked(body, |message: v1::FileHashTable| FileHashList::default().take(&message)),
        11 => answer(CertificateInfo::read(body)),
        12 => checked(body, |_: v1::PushRequest| Ok::<_, String>(())),
        13 => checked(body, |message: v1::FineAnswerTable| {
            let asked = [Tag([0; 16]), Tag([1; 16])];
            answered(&message, &asked, &mut HashSet::from(asked))
        }),
        _ => checked(body, |_: v1::AttachResponse| Ok::<_, String>(())),
    }
}

#[test]
fn any_message_is_valid_or_refused() {
    let method = v1::MethodSpec::from(&Method::tttd(View::Raw, 1000).unwrap());
    let measure = v1::MeasureAnswer::default();
    let refinement = v1::Refinement { contents: 3, ..v1::Refinement::default() };
    let open = v1::OpenIndex { assignment: 7, repository: "main".to_owned(), ..v1::OpenIndex::default() };
    let push = v1::PushRequest { message: Some(v1::push_request::Message::Open(open)), ..v1::PushRequest::default() };
    let mut answer = AnswerTables::new(true);
    (0..2).for_each(|number| answer.push(number, [FineChunk { tag: 3, length_bytes: 7 }; 9].into_iter()));
    let answer = answer.finish().remove(0);
    let seeds = [
        of_kind(0, &v1::ScanOptions { refine: Some(v1::Refine::default()), ..v1::ScanOptions::default() }),
        of_kind(1, &v1::Refine::default()),
        of_kind(2, &method),
        of_kind(3, &v1::SelectionSpec::default()),
        of_kind(4, &v1::Membership { kind: 1, name: "site".to_owned(), ..v1::Membership::default() }),
        of_kind(5, &refinement),
        [vec![6], vec![1; 64]].concat(),
        of_kind(7, &measure),
        of_kind(8, &v1::FineChoice::default()),
        of_kind(9, &v1::FineTable::default()),
        of_kind(10, &v1::FileHashTable::default()),
        vec![11, 0x30, 0x82, 1, 0],
        of_kind(12, &push),
        of_kind(13, &answer),
        of_kind(14, &v1::AttachResponse::default()),
    ];
    run("messages", &seeds, message);
}

#[test]
fn any_text_is_valid_or_refused() {
    let seeds = ["cognate-invite:", "hub.example.com:7443", "sha256:00", "a/b%20c", "site", "md5"];
    let seeds: Vec<Vec<u8>> = seeds.iter().map(|text| text.as_bytes().to_vec()).collect();
    run("texts", &seeds, |input| {
        let path = DocumentPath::new(input);
        let (shown, is_escaped) = escaped(input);
        let back = if is_escaped { unescaped(&shown) } else { shown.as_bytes().to_vec() };
        assert_eq!(back, input, "a path that is escaped can be read back");
        let text = String::from_utf8_lossy(input);
        let answers = [
            answer(path),
            answer(text.parse::<Invitation>()),
            answer(text.parse::<FileHash>()),
            answer(text.parse::<HashKind>()),
            answer(check_address(&text)),
            answer(text.parse::<cognate_proto::name::SiteName>()),
        ];
        answers.join(" ")
    });
}
