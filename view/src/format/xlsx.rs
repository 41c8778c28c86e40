//! Spreadsheets of Office Open XML: sheet by sheet its name, its rows as paragraphs, and its comments and drawings.
//!
//! Cells of a row are parted by spaces. Numbers, dates among them, are as they are stored, since how they are shown is
//! up to formats and places; formulas are left out and their results stay.

use crate::format::package::Package;
use crate::format::xml::{Tag, XmlVisitor};
use crate::outcome::Reason;
use crate::source::Source;
use crate::text::Text;

/// Bytes of the shared text of a workbook at most: all of it is in memory.
const SHARED_BYTES_MAX: usize = 128 << 20;

/// Reads a spreadsheet.
pub(super) fn extract(source: &mut dyn Source, text: &mut dyn Text) -> Result<(), Reason> {
    let mut package = Package::open(source)?;
    let main = package.relations("")?.with_role("officeDocument").into_iter().next();
    let main = main.unwrap_or_else(|| "xl/workbook.xml".to_owned());
    if main.ends_with(".bin") {
        return Err(Reason::Unsupported);
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
    value: String,
}

impl<'t> Sheet<'t> {
    fn new(shared: &'t SharedStrings, text: &'t mut dyn Text) -> Sheet<'t> {
        Sheet { shared, text, reads: false, aid: false, by_number: false, truth: false, value: String::new() }
    }
}

impl XmlVisitor for Sheet<'_> {
    fn start(&mut self, tag: &Tag<'_>) -> Result<(), Reason> {
        match tag.name() {
            "c" => {
                let kind = tag.full_attribute("t");
                self.by_number = kind.as_deref() == Some("s");
                self.truth = kind.as_deref() == Some("b");
            }
            "v" | "t" => self.reads = !self.aid,
            "rPh" => self.aid = true,
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, name: &str) -> Result<(), Reason> {
        match name {
            "v" | "t" => self.reads = false,
            "rPh" => self.aid = false,
            "c" => {
                let number = || self.value.trim().parse::<usize>().ok();
                let text = match self.value.trim() {
                    _ if self.by_number => number().and_then(|number| self.shared.get(number)).unwrap_or_default(),
                    "0" if self.truth => "FALSE",
                    "1" if self.truth => "TRUE",
                    _ => &self.value,
                };
                self.text.push(text)?;
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
