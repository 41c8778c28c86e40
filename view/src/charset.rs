//! Charsets: detection by the bytes of a text, and decoding to UTF-8.

mod decoder;
mod sniff;

pub(crate) use decoder::{Decoder, Encoding};
pub(crate) use sniff::{Charset, head_to_utf8, mark, sniff, without_utf8_mark};
