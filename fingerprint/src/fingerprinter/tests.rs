use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::test_support::{ShortReads, documents, noise, texts};
use crate::{Method, View};

const METHODS: [(&str, &str); 10] = [
    ("tttd", ""),
    ("mod", "n=5"),
    ("min", "n=9"),
    ("sketch", "n=9"),
    ("bsw", "n=5"),
    ("bsw-chunk", "n=16"),
    ("shingle", "w=2,m=2"),
    ("fuzzy", "words=50"),
    ("similarity-index", "k=2,way=23A"),
    ("terms", ""),
];

fn fingerprinter(name: &str, param: &str) -> Fingerprinter {
    Method::parse(name, View::Raw, None, param).unwrap().fingerprinter(&Key::none())
}

fn read(fingerprinter: &mut Fingerprinter, document: &[u8], step: usize) -> io::Result<(Vec<Chunk>, Content)> {
    let mut chunks = vec![];
    let content = fingerprinter.read(&mut ShortReads { rest: document, step }, |chunk| {
        chunks.push(chunk);
        Ok(())
    })?;
    Ok((chunks, content))
}

fn slice(fingerprinter: &Fingerprinter, document: &[u8]) -> (Vec<Chunk>, Content) {
    let mut chunks = vec![];
    let content = fingerprinter.slice(document, |chunk| chunks.push(chunk));
    (chunks, content)
}

fn slices(fingerprinter: &mut Fingerprinter, documents: &[&[u8]]) -> Vec<(Vec<Chunk>, Content)> {
    fingerprinter.slices(documents).iter().map(|(content, chunks)| (chunks.to_vec(), content)).collect()
}

/// A reader that fails after some bytes.
struct Broken<'a>(&'a [u8]);

impl Read for Broken<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(io::ErrorKind::ConnectionReset.into()),
            count => Ok(count),
        }
    }
}

proptest! {
    // Each case sets up ten methods.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn several_documents_side_by_side_give_what_each_gives_alone(
        text in texts(),
        several in proptest::collection::vec(documents(), 0..6),
        chunk_bytes in prop_oneof![Just(80), Just(1000)],
    ) {
        let mut all: Vec<&[u8]> = several.iter().map(Vec::as_slice).collect();
        all.insert(all.len() / 2, text.as_bytes());
        let methods = METHODS.map(|(name, param)| fingerprinter(name, param));
        let cutting = Method::tttd(View::Raw, chunk_bytes).unwrap().fingerprinter(&Key::none());
        for mut fingerprinter in methods.into_iter().chain([cutting]) {
            // Nothing of a handful is left in the next.
            for documents in [&all[..], &all[all.len() / 2..], &all[..0]] {
                let expected: Vec<_> = documents.iter().map(|document| slice(&fingerprinter, document)).collect();
                prop_assert_eq!(&slices(&mut fingerprinter, documents), &expected);
            }
        }
    }

    #[test]
    fn a_document_in_memory_and_one_in_short_reads_give_the_same(text in texts(), bytes in documents(), step in 1..60_usize) {
        for (name, param) in METHODS {
            let mut fingerprinter = fingerprinter(name, param);
            for document in [text.as_bytes(), &bytes] {
                let in_memory = slice(&fingerprinter, document);
                match read(&mut fingerprinter, document, step) {
                    Ok(found) => prop_assert_eq!(found, in_memory, "{}", name),
                    // A document that is not supported has its digest and no features.
                    Err(_) => {
                        prop_assert!(in_memory.0.is_empty(), "{}", name);
                        prop_assert_eq!(in_memory.1.size_bytes, document.len() as u64);
                    }
                }
            }
        }
    }

    #[test]
    fn a_document_that_breaks_off_leaves_nothing_behind_for_the_next(first in texts(), second in texts(), part in 0..=100_usize) {
        let broken = &first.as_bytes()[..first.len() * part / 100];
        for (name, param) in METHODS {
            let mut used = fingerprinter(name, param);
            let expected = slice(&used, second.as_bytes());
            let error = used.read(&mut Broken(broken), |_| Ok(())).unwrap_err();
            prop_assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
            prop_assert_eq!(&read(&mut used, second.as_bytes(), 100).unwrap(), &expected, "{} after a broken one", name);
            // A zero ends a text for the methods that read words.
            let is_read = used.read(&mut [broken, b"\0"].concat().as_slice(), |_| Ok(())).is_ok();
            prop_assert_eq!(is_read, !Method::parse(name, View::Raw, None, param).unwrap().capabilities().words, "{}", name);
            prop_assert_eq!(&read(&mut used, second.as_bytes(), 100).unwrap(), &expected, "{} after a zero", name);
        }
    }

    #[test]
    fn a_visitor_sees_every_chunk_with_its_bytes_and_the_caller_none(document in documents(), step in 1..300_usize) {
        for (name, param) in METHODS {
            let method = Method::parse(name, View::Raw, None, param).unwrap();
            let seen = Arc::new(Mutex::new((Vec::new(), Vec::new())));
            let visitor = {
                let seen = Arc::clone(&seen);
                Box::new(move |chunk: &Chunk, bytes: &[u8]| {
                    let (chunks, all) = &mut *seen.lock().unwrap();
                    assert_eq!((chunk.offset, chunk.length_bytes as usize), (all.len() as u64, bytes.len()));
                    chunks.push(*chunk);
                    all.extend_from_slice(bytes);
                })
            };
            let visited = Fingerprinter::visited(*method.algorithm(), &Key::none(), visitor);
            prop_assert_eq!(visited.is_some(), method.capabilities().has_chunks(), "{}", name);
            let Some(mut visited) = visited else { continue };
            let (chunks, content) = slice(&fingerprinter(name, param), &document);
            for is_in_memory in [true, false] {
                let found =
                    if is_in_memory { slice(&visited, &document) } else { read(&mut visited, &document, step).unwrap() };
                prop_assert_eq!(found, (vec![], content.clone()));
                prop_assert_eq!(std::mem::take(&mut *seen.lock().unwrap()), (chunks.clone(), document.clone()));
            }
            prop_assert!(slice(&visited.without_samples(), &document).1.sample.is_empty());
        }
    }

    #[test]
    fn chunks_carry_the_features_of_the_signature(text in texts()) {
        for (name, param) in METHODS {
            let signature =
                Method::parse(name, View::Raw, None, param).unwrap().signer(&Key::none()).read(&mut text.as_bytes()).unwrap();
            let (chunks, content) = slice(&fingerprinter(name, param), text.as_bytes());
            let mut expected: Vec<(Tag, u32)> =
                signature.features.iter().map(|feature| (feature.tag, feature.weight)).collect();
            expected.extend(signature.index.map(|index| (Tag(index.to_be_bytes()), 1)));
            prop_assert_eq!(chunks.iter().map(|chunk| (chunk.tag, chunk.length_bytes)).collect::<Vec<_>>(), expected);
            prop_assert_eq!(content.chunk_count, chunks.len() as u64);
            prop_assert_eq!((content.digest, content.size_bytes), (signature.digest, signature.size_bytes));
        }
    }
}

#[test]
fn a_consumer_that_fails_ends_the_document_and_not_the_fingerprinter() {
    for (name, param) in METHODS {
        let mut fingerprinter = fingerprinter(name, param);
        let document = "one oak and two elms stood by the harbour wall in the storm. ".repeat(200);
        let error = fingerprinter.read(&mut document.as_bytes(), |_| Err(io::Error::other("full"))).unwrap_err();
        assert_eq!(error.to_string(), "full", "{name}");
        assert_eq!(
            read(&mut fingerprinter, document.as_bytes(), 7).unwrap(),
            slice(&fingerprinter, document.as_bytes()),
            "{name}"
        );
    }
}

#[test]
fn an_interrupted_read_is_tried_again() {
    struct Interrupted<'a>(ShortReads<'a>, bool);
    impl Read for Interrupted<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 { Err(io::ErrorKind::Interrupted.into()) } else { self.0.read(buffer) }
        }
    }
    let document = noise("interrupted", 20_000);
    for (name, param) in [("tttd", ""), ("mod", "n=20")] {
        let mut fingerprinter = fingerprinter(name, param);
        let mut reader = Interrupted(ShortReads { rest: &document, step: 999 }, false);
        let mut chunks = vec![];
        let content = fingerprinter
            .read(&mut reader, |chunk| {
                chunks.push(chunk);
                Ok(())
            })
            .unwrap();
        assert_eq!((chunks, content), slice(&fingerprinter, &document), "{name}");
    }
}

#[test]
fn two_threads_may_use_one_fingerprinter_for_documents_in_memory() {
    let text = "a rose is a rose is a rose ".repeat(50);
    for (name, param) in METHODS {
        let fingerprinter = fingerprinter(name, param);
        let expected = slice(&fingerprinter, text.as_bytes());
        std::thread::scope(|scope| {
            let both = [0; 2].map(|_| scope.spawn(|| slice(&fingerprinter, text.as_bytes())));
            both.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), expected, "{name}"));
        });
    }
}
