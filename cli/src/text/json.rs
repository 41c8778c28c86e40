//! A document as a JSON object, whose text is streamed.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, Read, Write};

use cognate_proto::path::escaped;
use cognate_view::{Extraction, Kind, PartEnd, Parts};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer as _};

/// Writes a part, with or without its text; returns its outcome.
pub(super) fn write(
    out: &mut impl Write,
    name: &[u8],
    kind: Kind,
    parts: &mut Parts<Extraction>,
    with_text: bool,
) -> io::Result<PartEnd> {
    let (path, path_escaped) = escaped(name);
    let mut serializer = serde_json::Serializer::new(out);
    let mut object = serializer.serialize_map(None)?;
    object.serialize_entry("path", &path)?;
    if path_escaped {
        object.serialize_entry("path_escaped", &true)?;
    }
    object.serialize_entry("kind", super::kind_name(kind))?;
    if with_text {
        let text = Streamed { parts: RefCell::new(parts), failed: RefCell::default() };
        let written = object.serialize_entry("text", &text);
        if let Some(error) = text.failed.take() {
            return Err(error);
        }
        written?;
    }
    let end = parts.outcome()?;
    let (outcome, reason) = super::outcome_name(end.outcome);
    object.serialize_entry("outcome", outcome)?;
    if let Some(reason) = reason {
        object.serialize_entry("reason", reason)?;
    }
    object.serialize_entry("bytes", &end.text_bytes)?;
    if let Some(hash) = end.message_id_hash {
        object.serialize_entry("message_id_hash", &data_encoding::HEXLOWER.encode(&hash))?;
    }
    object.end()?;
    Ok(end)
}

/// The text of the current part as a string that is never in memory as a whole.
struct Streamed<'p> {
    parts: RefCell<&'p mut Parts<Extraction>>,
    failed: RefCell<Option<io::Error>>,
}

impl Serialize for Streamed<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Streamed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = self.parts.borrow_mut();
        let mut buffer = vec![0; 64 * 1024];
        // The first bytes of a character whose end is still to come.
        let mut begun = 0;
        loop {
            let read = match parts.read(&mut buffer[begun..]) {
                Ok(0) => return Ok(()),
                Ok(read) => read,
                Err(error) => {
                    *self.failed.borrow_mut() = Some(error);
                    return Err(fmt::Error);
                }
            };
            let filled = begun + read;
            let complete = match str::from_utf8(&buffer[..filled]) {
                Ok(text) => text,
                Err(error) => str::from_utf8(&buffer[..error.valid_up_to()]).unwrap_or_default(),
            };
            f.write_str(complete)?;
            let written = complete.len();
            buffer.copy_within(written..filled, 0);
            begun = filled - written;
        }
    }
}
