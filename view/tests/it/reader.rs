//! Documents read through a pool, and their parts.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZeroUsize;

use cognate_view::{CHILD_ARGUMENT, Kind, Limits, Outcome, Parts, Pool, Reason};

/// A part as it was reported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) text: String,
    pub(crate) outcome: Outcome,
}

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_cognate-view-child");

pub(crate) fn pool(limits: Limits) -> Pool {
    Pool::new(PROGRAM, [CHILD_ARGUMENT], NonZeroUsize::MIN, limits).unwrap()
}

/// A pool whose children obey documents.
pub(crate) fn faulty(limits: Limits) -> Pool {
    Pool::new(PROGRAM, [CHILD_ARGUMENT, "faulty"], NonZeroUsize::MIN, limits).unwrap()
}

pub(crate) fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}

pub(crate) fn read(pool: &Pool, name: &str, bytes: &[u8]) -> Vec<Part> {
    collect(pool.extract(&file(bytes), name).unwrap().parts())
}

/// Reads in this process.
pub(crate) fn walked(name: &str, bytes: &[u8], limits: &Limits) -> Vec<Part> {
    let mut stream = Vec::new();
    cognate_view::walk(file(bytes), Some(name), limits, &mut stream).unwrap();
    collect(Parts::new(stream.as_slice()))
}

pub(crate) fn collect(mut parts: Parts<impl std::io::Read>) -> Vec<Part> {
    let mut all = Vec::new();
    while let Some(head) = parts.next_part().unwrap() {
        let mut text = String::new();
        parts.read_to_string(&mut text).unwrap();
        let end = parts.outcome().unwrap();
        assert_eq!(end.text_bytes, text.len() as u64);
        all.push(Part { name: head.name, kind: head.kind, text, outcome: end.outcome });
    }
    assert_eq!(all.last().unwrap().name, "", "the last part is the document itself");
    all
}

/// `NAME: TEXT` or `NAME: REASON` for each part, for tests to compare.
pub(crate) fn lines(parts: &[Part]) -> Vec<String> {
    let line = |part: &Part| match part.outcome {
        Outcome::Text => format!("{}: {}", part.name, part.text),
        Outcome::NoText => format!("{}: no text", part.name),
        Outcome::Container => format!("{}: container", part.name),
        Outcome::Pictures => format!("{}: pictures", part.name),
        Outcome::Recognised => format!("{}: recognised: {}", part.name, part.text),
        Outcome::InPart(reason) => format!("{}: in part ({reason}): {}", part.name, part.text),
        Outcome::Unextractable(reason) => format!("{}: ({reason})", part.name),
    };
    parts.iter().map(line).collect()
}

/// The outcome of the document itself.
pub(crate) fn own(parts: &[Part]) -> Outcome {
    parts.last().unwrap().outcome
}

pub(crate) fn because(reason: Reason) -> Outcome {
    Outcome::Unextractable(reason)
}
