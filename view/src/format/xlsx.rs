//! Spreadsheets of Office Open XML: sheet by sheet its name, its rows as paragraphs, what is printed above and below them,
//! and its comments and drawings.
//!
//! Cells of a row are parted by spaces. Numbers, dates among them, are as they are stored, with the digits that count, since
//! how they are shown is up to formats and places; formulas are left out and their results stay.

use std::borrow::Cow;

use crate::format::package::Package;
use crate::format::sheet::{header_text, number_text};
use crate::format::xls;
use crate::format::xml::{Tag, XmlVisitor};
use crate::outcome::Reason;
use crate::source::Source;
use crate::text::Text;

/// Bytes of the shared text of a workbook at most: all of it is in memory.
const SHARED_BYTES_MAX: usize = 128 << 20;

/// What is printed above and below the pages of a sheet.
const HEADERS: [&str; 6] = ["oddHeader", "oddFooter", "evenHeader", "evenFooter", "firstHeader", "firstFooter"];

/// Reads a spreadsheet.
pub(super) fn extract(source: &mut dyn Source, text: &mut dyn Text) -> Result<(), Reason> {
    let mut package = Package::open(source)?;
    let main = package.relations("")?.with_role("officeDocument").into_iter().next();
    let main = main.unwrap_or_else(|| "xl/workbook.xml".to_owned());
    if main.ends_with(".bin") {
        drop(package);
        return xls::extract_packed(source, text);
    }
    let mut workbook = Workbook::default();
    if !package.walk(&main, &mut workbook)? {
        return Err(Reason::Damaged);
    }
    let relations = package.relations(&main)?;
    let mut shared = SharedStrings::default();
    for part in relations.with_role("sharedStrings") {
        package.walk(&part, &mut shared)?;
    }
    for (name, id) in &workbook.sheets {
        text.push(name)?;
        text.end_paragraph()?;
        let Some(part) = relations.with_id(id) else {
            continue;
        };
        package.walk(part, &mut Sheet::new(&shared, text))?;
        text.end_paragraph()?;
        let relations = package.relations(part)?;
        for part in ["comments", "threadedComment", "drawing"].iter().flat_map(|role| relations.with_role(role)) {
            package.read_part(&part, text)?;
            let relations = package.relations(&part)?;
            for part in ["chart", "chartEx"].iter().flat_map(|role| relations.with_role(role)) {
                package.read_part(&part, text)?;
            }
        }
    }
    package.finish()
}

/// The names of the sheets and the ids of their parts, in order.
#[derive(Default)]
struct Workbook {
    sheets: Vec<(String, String)>,
}

impl XmlVisitor for Workbook {
    fn start(&mut self, tag: &Tag<'_>) -> Result<(), Reason> {
        if tag.name() == "sheet" {
            let name = tag.attribute("name").unwrap_or_default().into_owned();
            self.sheets.push((name, tag.reference().unwrap_or_default().into_owned()));
        }
        Ok(())
    }
}

/// The texts that cells refer to by number.
#[derive(Default)]
struct SharedStrings {
    texts: String,
    ends: Vec<usize>,
    reads: bool,
    /// Within a reading aid.
    aid: bool,
}

impl SharedStrings {
    fn get(&self, number: usize) -> Option<&str> {
        let end = *self.ends.get(number)?;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.texts.get(start..end)
    }
}

impl XmlVisitor for SharedStrings {
    fn start(&mut self, tag: &Tag<'_>) -> Result<(), Reason> {
        match tag.name() {
            "t" => self.reads = !self.aid,
            "rPh" => self.aid = true,
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, name: &str) -> Result<(), Reason> {
        match name {
            "t" => self.reads = false,
            "rPh" => self.aid = false,
            "si" => self.ends.push(self.texts.len()),
            _ => {}
        }
        let bytes = self.texts.len() + self.ends.len() * size_of::<usize>();
        if bytes > SHARED_BYTES_MAX { Err(Reason::TooLarge) } else { Ok(()) }
    }

    fn text(&mut self, text: &str) -> Result<(), Reason> {
        if self.reads {
            self.texts.push_str(text);
        }
        Ok(())
    }
}

/// Follows the rows of a sheet.
struct Sheet<'t> {
    shared: &'t SharedStrings,
    text: &'t mut dyn Text,
    reads: bool,
    aid: bool,
    /// The value of the cell is the number of its text.
    by_number: bool,
    truth: bool,
    number: bool,
    value: String,
}

impl<'t> Sheet<'t> {
    fn new(shared: &'t SharedStrings, text: &'t mut dyn Text) -> Sheet<'t> {
        Sheet {
            shared,
            text,
            reads: false,
            aid: false,
            by_number: false,
            truth: false,
            number: false,
            value: String::new(),
        }
    }
}

impl XmlVisitor for Sheet<'_> {
    fn start(&mut self, tag: &Tag<'_>) -> Result<(), Reason> {
        match tag.name() {
            "c" => {
                let kind = tag.full_attribute("t");
                self.by_number = kind.as_deref() == Some("s");
                self.truth = kind.as_deref() == Some("b");
                self.number = matches!(kind.as_deref(), None | Some("n"));
            }
            "v" | "t" => self.reads = !self.aid,
            "rPh" => self.aid = true,
            name if HEADERS.contains(&name) => self.reads = true,
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, name: &str) -> Result<(), Reason> {
        match name {
            "v" | "t" => self.reads = false,
            "rPh" => self.aid = false,
            name if HEADERS.contains(&name) => {
                self.reads = false;
                for paragraph in header_text(&std::mem::take(&mut self.value)).lines() {
                    self.text.push(paragraph)?;
                    self.text.end_paragraph()?;
                }
            }
            "c" => {
                let place = || self.value.trim().parse::<usize>().ok();
                let number = || self.value.trim().parse::<f64>().ok().filter(|_| self.number);
                let text = match self.value.trim() {
                    _ if self.by_number => place().and_then(|place| self.shared.get(place)).unwrap_or_default().into(),
                    "0" if self.truth => "FALSE".into(),
                    "1" if self.truth => "TRUE".into(),
                    _ => number().map_or(Cow::Borrowed(&*self.value), |number| number_text(number).into()),
                };
                self.text.push(&text)?;
                self.text.push(" ")?;
                self.value.clear();
            }
            "row" => self.text.end_paragraph()?,
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), Reason> {
        if self.reads {
            self.value.push_str(text);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
