//! `OpenDocument`: texts, sheets and presentations, as archives or as flat files: the body, then headers and footers.
//!
//! Text deleted under tracked changes is left out; notes, annotations and boxes come after the paragraph in which they
//! are set. A row of a sheet is a paragraph, with its cells as they are shown. A cell that is repeated counts once.

use std::io::{BufRead as _, BufReader, SeekFrom};

use crate::format::package::Package;
use crate::format::paragraphs::Paragraphs;
use crate::format::xml::{self, Tag, XmlVisitor};
use crate::outcome::Reason;
use crate::source::Source;
use crate::stop::broken;
use crate::text::Text;

/// Reads a document.
pub(super) fn extract(source: &mut dyn Source, text: &mut dyn Text) -> Result<(), Reason> {
    let mut body = Body::new(text);
    if !is_archive(source)? {
        xml::walk(BufReader::new(source), &mut body)?;
        return body.end_paragraph();
    }
    let mut package = Package::open(source)?;
    let mut manifest = Manifest::default();
    package.walk("META-INF/manifest.xml", &mut manifest)?;
    if manifest.encrypted {
        return Err(Reason::Encrypted);
    }
    if !package.walk("content.xml", &mut body)? {
        return Err(Reason::Damaged);
    }
    body.end_paragraph()?;
    let mut furniture = Body::new(text);
    package.walk("styles.xml", &mut furniture)?;
    furniture.end_paragraph()?;
    package.finish()
}

/// True if a document is an archive; otherwise it is one file of XML. Leaves the source at its start.
fn is_archive(source: &mut dyn Source) -> Result<bool, Reason> {
    source.seek(SeekFrom::Start(0)).map_err(broken)?;
    let archive = BufReader::with_capacity(4, &mut *source).fill_buf().map_err(broken)?.starts_with(b"PK");
    source.seek(SeekFrom::Start(0)).map_err(broken)?;
    Ok(archive)
}

/// Finds out from the manifest that members are encrypted.
#[derive(Default)]
struct Manifest {
    encrypted: bool,
}

impl XmlVisitor for Manifest {
    fn start(&mut self, tag: &Tag<'_>) -> Result<(), Reason> {
        self.encrypted |= tag.name() == "encryption-data";
        Ok(())
    }
}

/// Follows paragraphs, which hold all text that is shown.
struct Body<'t> {
    paragraphs: Paragraphs<'t>,
    /// Number of open elements that are skipped.
    skipped: usize,
    /// Number of open paragraphs, within each other.
    open: usize,
    /// Within the body, or in so many headers and footers.
    within: usize,
    sheet: bool,
}

impl<'t> Body<'t> {
    fn new(text: &'t mut dyn Text) -> Body<'t> {
        Body { paragraphs: Paragraphs::new(text), skipped: 0, open: 0, within: 0, sheet: false }
    }

    fn end_paragraph(&mut self) -> Result<(), Reason> {
        self.paragraphs.end_paragraph()
    }

    /// A name that is shown as a heading.
    fn heading(&mut self, name: &str) -> Result<(), Reason> {
        self.end_paragraph()?;
        self.paragraphs.push(name)?;
        self.end_paragraph()
    }
}

/// Elements of paragraphs that are not shown, or that differ on each page.
fn is_skipped(name: &str) -> bool {
    matches!(
        name,
        "text:tracked-changes"
            | "text:note-citation"
            | "text:page-number"
            | "text:page-count"
            | "dc:creator"
            | "dc:date"
            | "meta:creator-initials"
            | "svg:title"
            | "svg:desc"
            | "office:binary-data"
            | "office:forms"
            | "office:event-listeners"
            | "table:tracked-changes"
            | "text:hidden-paragraph"
    )
}

/// The parts of a page that are on each.
fn is_furniture(name: &str) -> bool {
    matches!(name, "header" | "footer" | "header-left" | "footer-left" | "header-first" | "footer-first")
}

impl XmlVisitor for Body<'_> {
    fn start(&mut self, tag: &Tag<'_>) -> Result<(), Reason> {
        if self.skipped > 0 || is_skipped(tag.full_name()) {
            self.skipped += 1;
            return Ok(());
        }
        match tag.name() {
            "body" => self.within += 1,
            // Programs name sheets themselves, and such names carry no meaning.
            name if is_furniture(name) && !self.sheet => self.within += 1,
            "spreadsheet" => self.sheet = true,
            "table" if self.sheet => self.heading(&tag.attribute("name").unwrap_or_default())?,
            "annotation" if self.sheet => self.paragraphs.begin_aside(),
            "p" | "h" if self.within > 0 => {
                if self.open > 0 {
                    self.paragraphs.begin_aside();
                }
                self.open += 1;
            }
            "s" | "tab" | "line-break" if self.open > 0 => self.paragraphs.push(" ")?,
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
            "body" => self.within = self.within.saturating_sub(1),
            name if is_furniture(name) && !self.sheet => self.within = self.within.saturating_sub(1),
            "annotation" if self.sheet => self.paragraphs.end_aside(),
            "table-row" | "table" | "shapes" if self.sheet => self.paragraphs.end_paragraph()?,
            "p" | "h" if self.open > 1 => {
                self.open -= 1;
                self.paragraphs.end_aside();
            }
            "p" | "h" if self.open == 1 => {
                self.open = 0;
                if self.sheet { self.paragraphs.push(" ")? } else { self.paragraphs.end_paragraph()? }
            }
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), Reason> {
        if self.open > 0 && self.skipped == 0 { self.paragraphs.push(text) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
