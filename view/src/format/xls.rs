//! Workbooks of Excel of before 2007, and those of today that are binary: as those of Office Open XML, sheet by sheet its name
//! and its rows as paragraphs.

mod boxes;
mod positions;

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use calamine::{Data, Reader, Xls, XlsError, Xlsb};

use crate::format::compound::{self, Compound, Entry};
use crate::format::sheet::number_text;
use crate::outcome::Reason;
use crate::source::Source;
use crate::text::Text;

/// The stream of a workbook, that of one of before 1997, and the names under which the reader finds them.
const WORKBOOK: &str = "/Workbook";
const OLD_WORKBOOK: &str = "/Book";
const KNOWN: [&str; 2] = ["Workbook", "Book"];

/// Reads a workbook.
pub(super) fn extract(source: &mut dyn Source, text: &mut dyn Text) -> Result<(), Reason> {
    let mut file = Compound::open(source)?;
    let mut stream = match file.stream(WORKBOOK)? {
        Some(stream) => stream,
        None => file.stream(OLD_WORKBOOK)?.ok_or(Reason::Damaged)?,
    };
    let boxes = boxes::of_sheets(&stream);
    let is_known = |entry: &Entry| KNOWN.contains(&entry.name.as_str());
    let is_moved = positions::move_together(&mut stream)?;
    let bytes = match file.entries("/").iter().any(is_known) && !is_moved {
        true => compound::bytes(source)?,
        // The reader knows the stream only as it is mostly written, and finds its table in it.
        false => compound::with_stream(WORKBOOK, &stream)?,
    };
    let workbook = unwinding(|| Xls::new(Cursor::new(bytes)))?.map_err(|error| match error {
        XlsError::Password => Reason::Encrypted,
        _ => Reason::Damaged,
    })?;
    sheets(workbook, &boxes, text)?;
    file.finish()
}

/// Reads a binary workbook in a package.
pub(super) fn extract_packed(source: &mut dyn Source, text: &mut dyn Text) -> Result<(), Reason> {
    let bytes = compound::bytes(source)?;
    let mut workbook = unwinding(|| Xlsb::new(Cursor::new(bytes)))?.map_err(|_| Reason::Damaged)?;
    let mut is_complete = true;
    for name in workbook.sheet_names() {
        text.push(&name)?;
        text.end_paragraph()?;
        let read = unwinding(|| cells(&mut workbook, &name, text))?;
        text.end_paragraph()?;
        is_complete &= read?;
    }
    if is_complete { Ok(()) } else { Err(Reason::Damaged) }
}

/// Reads the cells of a sheet one by one: a table of them could have a million rows of sixteen thousand. False if not all can be read.
fn cells(workbook: &mut Xlsb<Cursor<Vec<u8>>>, sheet: &str, text: &mut dyn Text) -> Result<bool, Reason> {
    let Ok(mut cells) = workbook.worksheet_cells_reader(sheet) else { return Ok(false) };
    let mut row = None;
    loop {
        let Ok(next) = cells.next_cell() else { return Ok(false) };
        let Some(cell) = next else { return Ok(true) };
        let (own, _) = cell.get_position();
        if row.replace(own).is_some_and(|before| before != own) {
            text.end_paragraph()?;
        }
        give(&cell.get_value().clone().into(), text)?;
        text.push(" ")?;
    }
}

/// Reads the cells of each sheet, and the texts beside them.
fn sheets(mut workbook: Xls<Cursor<Vec<u8>>>, boxes: &[Vec<String>], text: &mut dyn Text) -> Result<(), Reason> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::compound::compound_of;
    use crate::kind::Kind;
    use crate::text::tests::text_of;

    /// The stream of a workbook of one sheet, which has a number, a text and a comment.
    fn stream() -> Vec<u8> {
        let record = |kind: u16, body: &[u8]| {
            [&kind.to_le_bytes()[..], &u16::try_from(body.len()).unwrap().to_le_bytes(), body].concat()
        };
        let begin = |of: u8| record(0x0809, &[0, 6, of, 0, 0xBB, 0x0D, 0xCC, 0x07, 0, 0, 0, 0, 6, 0, 0, 0]);
        let text = record(0x00FC, b"\x01\0\0\0\x01\0\0\0\x04\0\0text");
        let start = u32::try_from(20 + 13 + text.len() + 4).unwrap().to_le_bytes();
        [
            begin(5),
            record(0x0085, &[&start[..], &[0, 0, 1, 0, b'S']].concat()),
            text,
            record(0x000A, &[]),
            begin(0x10),
            record(0x0203, &[&[0, 0, 0, 0, 0, 0][..], &0.1_f64.to_le_bytes()].concat()),
            record(0x00FD, &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
            record(0x01B6, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0]),
            record(0x003C, b"\0note"),
            record(0x000A, &[]),
        ]
        .concat()
    }

    #[test]
    fn sheets_are_read_with_their_comments_whatever_the_case_of_the_name_of_the_stream() {
        for name in ["Workbook", "WORKBOOK", "Book", "BOOK"] {
            let file = compound_of(&[(name, &stream())]);
            assert_eq!(Kind::detect(&mut Cursor::new(&*file)).unwrap(), Kind::Xls, "{name}");
            assert_eq!(text_of(Kind::Xls, &file).as_deref(), Ok("S\n0.1\ntext\nnote"), "{name}");
        }
    }

    #[test]
    fn a_workbook_that_is_cut_is_damaged() {
        let stream = stream();
        assert_eq!(text_of(Kind::Xls, &compound_of(&[("Workbook", &stream[..30])])), Err(Reason::Damaged));
        for length in 0..stream.len() {
            let _ = text_of(Kind::Xls, &compound_of(&[("Workbook", &stream[..length])]));
        }
        assert_eq!(text_of(Kind::Xls, &compound_of(&[("Other", b"")])), Err(Reason::Damaged));
    }
}
