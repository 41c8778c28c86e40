//! Workbooks of Excel of before 2007, and those of today that are binary: as those of Office Open XML, sheet by sheet its name
//! and its rows as paragraphs.

mod boxes;

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use calamine::{Data, Reader, Xls, XlsError, Xlsb};

use crate::format::compound::{self, Compound, Entry};
use crate::format::xlsx::number_text;
use crate::outcome::Reason;
use crate::source::Source;
use crate::text::Text;

/// The stream of a workbook, and the names under which the reader finds it.
const WORKBOOK: &str = "/Workbook";
const KNOWN: [&str; 2] = ["Workbook", "Book"];

/// Reads a workbook.
pub(super) fn extract(source: &mut dyn Source, text: &mut dyn Text) -> Result<(), Reason> {
    let mut file = Compound::open(source)?;
    let stream = file.stream(WORKBOOK)?.unwrap_or_default();
    let boxes = boxes::of_sheets(&stream);
    let is_known = |entry: &Entry| KNOWN.contains(&entry.name.as_str());
    let bytes = match file.entries("/").iter().any(is_known) {
        true => compound::bytes(source)?,
        // The reader knows the stream only as it is mostly written.
        false => compound::with_stream(WORKBOOK, &stream)?,
    };
    let workbook = unwinding(|| Xls::new(Cursor::new(bytes)))?.map_err(|error| match error {
        XlsError::Password => Reason::Encrypted,
        _ => Reason::Damaged,
    })?;
    sheets(workbook, &boxes, text)
}

/// Reads a binary workbook in a package.
pub(super) fn extract_packed(source: &mut dyn Source, text: &mut dyn Text) -> Result<(), Reason> {
    let bytes = compound::bytes(source)?;
    let workbook = unwinding(|| Xlsb::new(Cursor::new(bytes)))?.map_err(|_| Reason::Damaged)?;
    sheets(workbook, &[], text)
}

/// Reads the cells of each sheet, and the texts beside them.
fn sheets<R: Reader<Cursor<Vec<u8>>>>(
    mut workbook: R,
    boxes: &[Vec<String>],
    text: &mut dyn Text,
) -> Result<(), Reason> {
    let mut is_complete = true;
    for (at, name) in workbook.sheet_names().iter().enumerate() {
        text.push(name)?;
        text.end_paragraph()?;
        let cells = unwinding(|| workbook.worksheet_range(name)).map_or(None, Result::ok);
        is_complete &= cells.is_some();
        for row in cells.iter().flat_map(calamine::Range::rows) {
            for cell in row {
                give(cell, text)?;
                text.push(" ")?;
            }
            text.end_paragraph()?;
        }
        for paragraph in boxes.get(at).into_iter().flatten().flat_map(|own| own.lines()) {
            text.push(paragraph)?;
            text.end_paragraph()?;
        }
    }
    if is_complete { Ok(()) } else { Err(Reason::Damaged) }
}

/// Runs the reader of workbooks, which gives up some damaged ones by a panic.
fn unwinding<T>(read: impl FnOnce() -> T) -> Result<T, Reason> {
    catch_unwind(AssertUnwindSafe(read)).map_err(|_| Reason::Damaged)
}

/// A cell as a workbook of Office Open XML stores it.
fn give(cell: &Data, text: &mut dyn Text) -> Result<(), Reason> {
    match cell {
        Data::Bool(truth) => text.push(if *truth { "TRUE" } else { "FALSE" }),
        Data::Float(number) => text.push(&number_text(*number)),
        Data::DateTime(time) => text.push(&number_text(time.as_f64())),
        cell => text.push(&cell.to_string()),
    }
}
