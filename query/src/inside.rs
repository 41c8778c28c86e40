//! Fingerprints under a text view: of a document's text, and of the documents or passages inside it.

use std::io::{self, Read};

use cognate_fingerprint::View;
use cognate_view::{INSIDE, JoinedLines, Outcome, Parts, each_passage};

/// What became of a document: its path, and its fingerprint or the reason why it has none.
pub type Found<T> = (Vec<u8>, io::Result<T>);

/// Gives the text of each part of a document to `read`, and adds what it returns to `found`, under the path of the document with the
/// name of the part after it. Under the office view, a document of another kind has nothing.
///
/// # Errors
/// If the stream of parts is damaged or cannot be read.
pub fn documents_inside<R: Read, T>(
    mut parts: Parts<R>,
    view: View,
    path: &[u8],
    mut read: impl FnMut(&mut dyn Read) -> io::Result<T>,
    found: &mut Vec<Found<T>>,
) -> io::Result<()> {
    let first = found.len();
    while let Some(part) = parts.next_part()? {
        let own = match part.name.as_str() {
            "" => path.to_vec(),
            name => [path, INSIDE.as_bytes(), name.as_bytes()].concat(),
        };
        if part.name.is_empty() && view == View::Office && !part.kind.is_office() {
            found.truncate(first);
            return Ok(());
        }
        let before = found.len();
        match view {
            View::Passages => {
                let mut number = 0;
                each_passage(&mut parts, |passage| {
                    number += 1;
                    let name = [&own, INSIDE.as_bytes(), format!("#{number}").as_bytes()].concat();
                    found.push((name, read(&mut &*passage)));
                    Ok::<(), io::Error>(())
                })?;
            }
            View::Raw | View::Text | View::Office => {
                let text_itself = read(&mut JoinedLines(&mut parts));
                found.push((own.clone(), text_itself));
            }
        }
        match parts.outcome()?.outcome {
            Outcome::Text | Outcome::Recognised | Outcome::InPart(_) => {}
            Outcome::NoText | Outcome::Container => found.truncate(before),
            Outcome::Pictures => {
                found.truncate(before);
                found.push((own, Err(io::Error::other("its pages are pictures"))));
            }
            Outcome::Unextractable(reason) => {
                found.truncate(before);
                found.push((own, Err(io::Error::other(format!("unextractable: {reason}")))));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use cognate_fingerprint::{Key, Method};
    use cognate_view::{Limits, walk_source};
    use serde_json::Value;

    use super::*;
    use crate::{Machine, Under, write_line};

    /// The lines of a document under a view, and the reasons of those that have none.
    fn lines(document: &[u8], view: View) -> Vec<Value> {
        let method = Method::tttd(view, 200).unwrap();
        let (mut machine, mut stream) = (Machine::new(&method, &Key::none(), 1 << 20), Vec::new());
        let hint = (view != View::Office).then_some("");
        walk_source(&mut Cursor::new(document.to_vec()), hint, &Limits::default(), &mut stream).unwrap();
        let (mut found, mut out) = (Vec::new(), Vec::new());
        let read = |mut text: &mut dyn Read| machine.read(&mut text, true);
        documents_inside(Parts::new(stream.as_slice()), view, b"a", read, &mut found).unwrap();
        for (path, became) in found {
            let path = String::from_utf8(path).unwrap();
            match became {
                Ok(became) => {
                    let under = Under::new(&method, &Key::none());
                    write_line(&mut out, (&path, false), under, &became).unwrap();
                }
                Err(error) => writeln_json(&mut out, &path, &error),
            }
        }
        out.split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }

    fn writeln_json(out: &mut Vec<u8>, path: &str, error: &io::Error) {
        out.extend(serde_json::json!({"path": path, "error": error.to_string()}).to_string().bytes());
        out.push(b'\n');
    }

    #[test]
    fn the_text_of_a_document_is_fingerprinted_and_not_its_marks() {
        let html = b"<!doctype html><html><head><title>T</title></head><body><p>one &amp; two</p></body></html>";
        let [line] = &lines(html, View::Text)[..] else { panic!("one document") };
        assert_eq!((&line["path"], &line["view"]), (&"a".into(), &"text".into()));
        let size = line["size_bytes"].as_u64().unwrap();
        assert!((9..20).contains(&size), "{line}");
        assert_eq!(line["fine"].as_array().unwrap().len(), line["chunks"].as_array().unwrap().len());
        let plain = &lines(b"one & two", View::Text)[0];
        assert_eq!(plain["content"], line["content"], "{plain} {line}");
    }

    #[test]
    fn the_office_view_has_nothing_of_other_documents_and_a_broken_one_has_its_reason() {
        assert!(lines(b"plain words", View::Office).is_empty());
        let broken = &lines(b"%PDF-1.7\nnothing more\nstartxref\n0\n%%EOF", View::Office)[0];
        assert!(broken["error"].as_str().unwrap().starts_with("unextractable"), "{broken}");
    }
}
