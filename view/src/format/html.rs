//! HTML: the text that a browser shows of a page before any click.
//!
//! Left out are the head with its title, scripts, styles, templates, comments, replacements of scripts, pictures and
//! films that cannot be shown (alternative texts too), and elements that their own attributes hide. Blocks, items and
//! cells are paragraphs; a line break is a space; other elements do not part words.

mod element;
mod hidden;

use std::io;

use html5gum::emitters::{Emitter, naive_next_state};
use html5gum::{IoReader, State, Tokenizer};

use self::element::{Element, Name};
use self::hidden::HiddenElements;
use crate::charset::{Decoder, Encoding, mark, sniff};

use crate::outcome::Reason;
use crate::source::{self, Source};
use crate::stop::broken;
use crate::text::Text;

/// Bytes in which a page may declare its encoding.
const DECLARATION_BYTES: usize = 4096;
/// Bytes of text that are written at once.
const PIECE_BYTES: usize = 8 << 10;
/// Bytes of a name or of an attribute that are looked at.
const VALUE_BYTES_MAX: usize = 1024;

/// Reads the visible text of a page.
pub(super) fn extract(source: &mut dyn Source, text: &mut dyn Text) -> Result<(), Reason> {
    let head = source::head(source).map_err(broken)?;
    let encoding = match declared(&head) {
        Some(encoding) if mark(&head).is_none() => Encoding::Web(encoding),
        _ => Encoding::of(source).map_err(broken)?,
    };
    let decoder = Decoder::new(source, encoding).map_err(broken)?;
    let page = Page::new(is_xml(&head), text);
    match Tokenizer::new_with_emitter(IoReader::new(decoder), page).next() {
        None => Ok(()),
        Some(Ok(reason)) => Err(reason),
        Some(Err(error)) => Err(broken::<io::Error>(error)),
    }
}

/// Reads the visible text of a page that was decoded already.
pub(super) fn extract_str(page: &str, text: &mut dyn Text) -> Result<(), Reason> {
    let emitter = Page::new(is_xml(page.as_bytes()), text);
    match Tokenizer::new_with_emitter(page, emitter).next() {
        None => Ok(()),
        Some(Ok(reason)) => Err(reason),
        Some(Err(never)) => match never {},
    }
}

/// XHTML is read by the rules of XML where they differ: an element may end where it begins.
fn is_xml(head: &[u8]) -> bool {
    head.trim_ascii_start().starts_with(b"<?xml")
}

/// The encoding that a page declares. It can only be declared in ASCII, so wide encodings are not believed.
fn declared(head: &[u8]) -> Option<&'static encoding_rs::Encoding> {
    use crate::charset::Charset;
    if !matches!(sniff(head), Some(Charset::Utf8 | Charset::Legacy)) {
        return None;
    }
    let head = head[..head.len().min(DECLARATION_BYTES)].to_ascii_lowercase();
    let mut rest = head.as_slice();
    while let Some(at) = memchr::memchr(b'<', rest) {
        rest = &rest[at + 1..];
        let (tag, word): (_, &[u8]) = match rest {
            _ if rest.starts_with(b"meta") => (tag(rest), b"charset"),
            _ if rest.starts_with(b"?xml") => (tag(rest), b"encoding"),
            _ => continue,
        };
        let Some(at) = memchr::memmem::find(tag, word) else {
            continue;
        };
        let value = tag[at + word.len()..].trim_ascii_start().strip_prefix(b"=").unwrap_or_default();
        let value = value.trim_ascii_start().trim_start_with(|byte| byte == b'"' || byte == b'\'');
        let end = value.iter().position(|byte| !byte.is_ascii_alphanumeric() && !b"-_:.".contains(byte));
        let Some(encoding) = encoding_rs::Encoding::for_label(&value[..end.unwrap_or(value.len())]) else {
            continue;
        };
        return Some(if encoding.is_ascii_compatible() { encoding } else { encoding_rs::UTF_8 });
    }
    None
}

fn tag(rest: &[u8]) -> &[u8] {
    &rest[..memchr::memchr(b'>', rest).unwrap_or(rest.len())]
}

trait TrimStartWith {
    fn trim_start_with(&self, trim: impl Fn(u8) -> bool) -> &[u8];
}

impl TrimStartWith for [u8] {
    fn trim_start_with(&self, trim: impl Fn(u8) -> bool) -> &[u8] {
        &self[self.iter().position(|&byte| !trim(byte)).unwrap_or(self.len())..]
    }
}

/// Takes a page from the tokenizer, tag by tag. Its only token is the reason to give up.
struct Page<'t> {
    text: &'t mut dyn Text,
    xml: bool,
    failed: Option<Reason>,
    /// Text that was not handed over yet; its last character may be cut off.
    piece: Vec<u8>,
    hidden: HiddenElements,
    /// The tag that is being read.
    tag: Tag,
    attribute: Vec<u8>,
    value: Vec<u8>,
    last_start: Name,
}

#[derive(Default)]
struct Tag {
    name: Name,
    is_end: bool,
    closes_itself: bool,
    hides: bool,
    open: bool,
}

impl<'t> Page<'t> {
    fn new(xml: bool, text: &'t mut dyn Text) -> Page<'t> {
        Page {
            text,
            xml,
            failed: None,
            piece: Vec::with_capacity(PIECE_BYTES + 1024),
            hidden: HiddenElements::default(),
            tag: Tag::default(),
            attribute: Vec::new(),
            value: Vec::new(),
            last_start: Name::default(),
        }
    }

    /// Hands over the complete characters of the piece.
    fn flush(&mut self) {
        let complete = match std::str::from_utf8(&self.piece) {
            Ok(_) => self.piece.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => self.piece.len(),
        };
        let result = self.text.push(&String::from_utf8_lossy(&self.piece[..complete]));
        self.piece.drain(..complete);
        self.note(result);
    }

    fn end_paragraph(&mut self) {
        if !self.piece.is_empty() {
            self.flush();
            self.piece.clear();
        }
        let result = self.text.end_paragraph();
        self.note(result);
    }

    fn note(&mut self, result: Result<(), Reason>) {
        if let Err(reason) = result {
            self.failed.get_or_insert(reason);
        }
    }

    fn end_attribute(&mut self) {
        if !self.tag.is_end {
            match self.attribute.as_slice() {
                b"hidden" => self.tag.hides |= !self.value.eq_ignore_ascii_case(b"until-found"),
                b"style" => self.tag.hides |= hidden::by_style(&self.value),
                b"open" => self.tag.open = true,
                _ => {}
            }
        }
        self.attribute.clear();
        self.value.clear();
    }

    fn tag_ends(&mut self) {
        let tag = std::mem::take(&mut self.tag);
        let element = Element::of(tag.name.bytes());
        let empty = element.is_void() || (self.xml && tag.closes_itself);
        let shown = if tag.is_end {
            self.hidden.end(&tag.name)
        } else {
            let hides = tag.hides || element.is_hidden() || (tag.name.bytes() == b"dialog" && !tag.open);
            self.hidden.start(&tag.name, hides, empty)
        };
        if !tag.is_end {
            self.last_start = tag.name;
        }
        if shown {
            match element {
                Element::Block => self.end_paragraph(),
                Element::Space => self.piece.push(b' '),
                Element::Inline | Element::Void | Element::Hidden => {}
            }
        }
    }
}

/// Appends as much as is looked at.
fn keep(into: &mut Vec<u8>, bytes: &[u8]) {
    let space = VALUE_BYTES_MAX.saturating_sub(into.len());
    into.extend_from_slice(&bytes[..bytes.len().min(space)]);
}

impl Emitter for Page<'_> {
    type Token = Reason;

    fn set_last_start_tag(&mut self, name: Option<&[u8]>) {
        self.last_start = Name::default();
        self.last_start.push(name.unwrap_or_default());
    }

    fn emit_eof(&mut self) {
        self.end_paragraph();
    }

    fn emit_error(&mut self, _: html5gum::Error) {}

    fn should_emit_errors(&mut self) -> bool {
        false
    }

    fn pop_token(&mut self) -> Option<Reason> {
        self.failed
    }

    fn emit_string(&mut self, bytes: &[u8]) {
        if self.hidden.is_hidden() {
            return;
        }
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE_BYTES {
            self.flush();
        }
    }

    fn init_start_tag(&mut self) {
        self.tag = Tag::default();
    }

    fn init_end_tag(&mut self) {
        self.tag = Tag { is_end: true, ..Tag::default() };
    }

    fn init_comment(&mut self) {}

    fn emit_current_tag(&mut self) -> Option<State> {
        self.end_attribute();
        let without_content = self.tag.is_end || (self.xml && self.tag.closes_itself);
        let state = if without_content { None } else { naive_next_state(self.tag.name.bytes()) };
        self.tag_ends();
        state
    }

    fn emit_current_comment(&mut self) {}

    fn emit_current_doctype(&mut self) {}

    fn set_self_closing(&mut self) {
        self.tag.closes_itself = true;
    }

    fn set_force_quirks(&mut self) {}

    fn push_tag_name(&mut self, name: &[u8]) {
        self.tag.name.push(name);
    }

    fn push_comment(&mut self, _: &[u8]) {}

    fn push_doctype_name(&mut self, _: &[u8]) {}

    fn init_doctype(&mut self) {}

    fn init_attribute(&mut self) {
        self.end_attribute();
    }

    fn push_attribute_name(&mut self, name: &[u8]) {
        keep(&mut self.attribute, name);
    }

    fn push_attribute_value(&mut self, value: &[u8]) {
        // Other attributes cannot hide an element.
        if matches!(self.attribute.as_slice(), b"style" | b"hidden") {
            keep(&mut self.value, value);
        }
    }

    fn set_doctype_public_identifier(&mut self, _: &[u8]) {}

    fn set_doctype_system_identifier(&mut self, _: &[u8]) {}

    fn push_doctype_public_identifier(&mut self, _: &[u8]) {}

    fn push_doctype_system_identifier(&mut self, _: &[u8]) {}

    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        self.tag.is_end && !self.last_start.bytes().is_empty() && self.tag.name == self.last_start
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        self.xml
    }
}

#[cfg(test)]
mod tests;
