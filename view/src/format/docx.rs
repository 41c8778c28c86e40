//! Text documents of Office Open XML: the body, then notes, headers, footers and comments.
//!
//! Text deleted under tracked changes, hidden text, and the instructions of fields are left out; insertions and
//! the results of fields are read. Of alternatives for programs of different ages the first is read. A text box comes
//! after the paragraph to which it is anchored.

use std::io::Cursor;

use crate::format::package::Package;
use crate::format::paragraphs::Paragraphs;
use crate::format::xml::{Tag, XmlVisitor};
use crate::kind::Kind;
use crate::outcome::Reason;
use crate::source::Source;
use crate::stop::broken;
use crate::text::Text;

/// The parts next to the body, in the order in which they are read.
const ROLES: [&str; 6] = ["diagramData", "footnotes", "endnotes", "header", "footer", "comments"];

/// Reads a text document.
pub(super) fn extract(source: &mut dyn Source, text: &mut dyn Text) -> Result<(), Reason> {
    let mut package = Package::open(source)?;
    let body = package.relations("")?.with_role("officeDocument").into_iter().next();
    let body = body.unwrap_or_else(|| "word/document.xml".to_owned());
    if !package.read_part(&body, text)? {
        return Err(Reason::Damaged);
    }
    let relations = package.relations(&body)?;
    for part in relations.with_role("aFChunk") {
        extract_chunk(&package.bytes(&part)?, text)?;
    }
    package.read_charts(&relations, text)?;
    for part in ROLES.iter().flat_map(|role| relations.with_role(role)) {
        package.read_part(&part, text)?;
    }
    package.finish()
}

/// Reads a document of another format that is shown as a part of this one.
fn extract_chunk(bytes: &[u8], text: &mut dyn Text) -> Result<(), Reason> {
    let mut source = Cursor::new(bytes);
    let kind = Kind::detect(&mut source).map_err(broken)?;
    if matches!(kind, Kind::Html | Kind::Text | Kind::Rtf | Kind::Mail) {
        super::extract(kind, &mut source, text)?;
    }
    text.end_paragraph()
}

impl Package<'_> {
    /// Reads the text of a part; false if no part has this name.
    pub(super) fn read_part(&mut self, name: &str, text: &mut dyn Text) -> Result<bool, Reason> {
        // Damage may leave a story anywhere: each part begins anew.
        let mut story = Story::new(text);
        let is_there = self.walk(name, &mut story)?;
        story.end_paragraph()?;
        Ok(is_there)
    }
}

/// Follows text in the markup of text documents and of drawings, which presentations are made of.
pub(super) struct Story<'t> {
    paragraphs: Paragraphs<'t>,
    /// Number of open elements that are skipped.
    skipped: usize,
    /// Within an element of text.
    text: bool,
    comment: bool,
    run: bool,
    run_hidden: bool,
    /// For each set of alternatives: the first has been read.
    chosen: Vec<bool>,
}

impl<'t> Story<'t> {
    pub(super) fn new(text: &'t mut dyn Text) -> Story<'t> {
        Story {
            paragraphs: Paragraphs::new(text),
            skipped: 0,
            text: false,
            comment: false,
            run: false,
            run_hidden: false,
            chosen: Vec::new(),
        }
    }

    pub(super) fn end_paragraph(&mut self) -> Result<(), Reason> {
        self.paragraphs.end_paragraph()
    }

    pub(super) fn push(&mut self, text: &str) -> Result<(), Reason> {
        if self.run_hidden { Ok(()) } else { self.paragraphs.push(text) }
    }

    fn is_skipped(&self, tag: &Tag<'_>) -> bool {
        match tag.name() {
            "del" | "moveFrom" => true,
            "Fallback" => self.chosen.last() == Some(&true),
            // The number of a slide is none of its words.
            "fld" => tag.full_attribute("type").as_deref() == Some("slidenum"),
            _ => false,
        }
    }
}

impl XmlVisitor for Story<'_> {
    fn start(&mut self, tag: &Tag<'_>) -> Result<(), Reason> {
        if self.skipped > 0 || self.is_skipped(tag) {
            self.skipped += 1;
            return Ok(());
        }
        match tag.name() {
            "t" => self.text = true,
            // The text of a comment; in text documents it is a kind of field for forms.
            "text" if tag.full_name() != "w:text" => (self.text, self.comment) = (true, true),
            "r" => (self.run, self.run_hidden) = (true, false),
            "vanish" if self.run => self.run_hidden = is_on(tag),
            "tab" | "ptab" | "br" | "cr" if self.run || tag.name() == "br" => self.push(" ")?,
            "noBreakHyphen" => self.push("-")?,
            "sym" => {
                let character = tag.attribute("char").and_then(|code| u32::from_str_radix(&code, 16).ok());
                // Fonts of symbols use code points of private use, which mean nothing elsewhere.
                let character = character.and_then(char::from_u32).filter(|c| !('\u{E000}'..='\u{F8FF}').contains(c));
                self.push(character.unwrap_or(' ').encode_utf8(&mut [0; 4]))?;
            }
            "AlternateContent" => self.chosen.push(false),
            "txbxContent" => self.paragraphs.begin_aside(),
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, name: &str) -> Result<(), Reason> {
        if self.skipped > 0 {
            self.skipped -= 1;
            return Ok(());
        }
        match name {
            "t" => self.text = false,
            "text" if self.comment => {
                (self.text, self.comment) = (false, false);
                self.paragraphs.end_paragraph()?;
            }
            "r" => (self.run, self.run_hidden) = (false, false),
            "p" | "tc" => self.paragraphs.end_paragraph()?,
            "Choice" => {
                if let Some(chosen) = self.chosen.last_mut() {
                    *chosen = true;
                }
            }
            "AlternateContent" => {
                self.chosen.pop();
            }
            "txbxContent" => self.paragraphs.end_aside(),
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), Reason> {
        if self.text && self.skipped == 0 { self.push(text) } else { Ok(()) }
    }
}

/// True if a present property is on.
fn is_on(tag: &Tag<'_>) -> bool {
    !matches!(tag.attribute("val").as_deref(), Some("0" | "false" | "off"))
}

#[cfg(test)]
mod tests;
