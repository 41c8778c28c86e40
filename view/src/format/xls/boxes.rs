//! Texts beside the cells of a workbook: comments and boxes ([MS-XLS] 2.4.329), titles of charts, and what is printed above and
//! below a page.

use crate::format::compound::{place_at, u16_at, wide_text};
use crate::format::sheet::header_text;

/// Kinds of records.
const HEADER: u16 = 0x0014;
const FOOTER: u16 = 0x0015;
const CONTINUE: u16 = 0x003C;
const SHEET: u16 = 0x0085;
pub(super) const BEGIN: u16 = 0x0809;
pub(super) const END: u16 = 0x000A;
const BOX: u16 = 0x01B6;
const CHART_TEXT: u16 = 0x100D;
/// Sheets that are looked at, at most.
const SHEETS_MAX: usize = 4096;

/// The texts of each sheet, in the order of the sheets.
pub(super) fn of_sheets(stream: &[u8]) -> Vec<Vec<String>> {
    sheets(stream).map(|at| of_sheet(stream, at)).collect()
}

/// The places where sheets begin; the end of the stream for one without a place.
pub(super) fn sheets(stream: &[u8]) -> impl Iterator<Item = usize> {
    let sheets = records(stream, 0).take_while(|record| record.kind != END).filter(|record| record.kind == SHEET);
    sheets.take(SHEETS_MAX).map(|sheet| place_at(sheet.body, 0).unwrap_or(stream.len()))
}

/// The texts of the sheet that begins at a place, and of the charts in it.
fn of_sheet(stream: &[u8], at: usize) -> Vec<String> {
    let (mut texts, mut depth) = (Vec::new(), 0_usize);
    let mut records = records(stream, at).peekable();
    while let Some(record) = records.next() {
        match record.kind {
            BEGIN => depth += 1,
            END if depth <= 1 => break,
            END => depth -= 1,
            HEADER | FOOTER => texts.extend(u16_at(record.body, 0).map(|length| {
                let text = letters(record.body.get(2..).unwrap_or_default(), usize::from(length)).text;
                header_text(&text)
            })),
            CHART_TEXT => texts.extend(
                record
                    .body
                    .get(2)
                    .map(|&length| letters(record.body.get(3..).unwrap_or_default(), usize::from(length)).text),
            ),
            BOX => {
                let mut length = u16_at(record.body, 10).map_or(0, usize::from);
                let mut text = String::new();
                while length > 0
                    && let Some(part) = records.next_if(|record| record.kind == CONTINUE)
                {
                    let part = letters(part.body, length);
                    text.push_str(&part.text);
                    length = length.saturating_sub(part.count.max(1));
                }
                texts.push(text);
            }
            _ => {}
        }
    }
    texts.retain(|text| !text.trim().is_empty());
    texts
}

struct Letters {
    text: String,
    count: usize,
}

/// Letters of one or two bytes, which a flag before them says; as many as there are, up to a number.
fn letters(bytes: &[u8], count_max: usize) -> Letters {
    let Some((flags, bytes)) = bytes.split_first() else {
        return Letters { text: String::new(), count: 0 };
    };
    if flags & 1 == 0 {
        let bytes = &bytes[..bytes.len().min(count_max)];
        return Letters { text: bytes.iter().map(|&byte| char::from(byte)).collect(), count: bytes.len() };
    }
    let bytes = &bytes[..bytes.len().min(2 * count_max)];
    Letters { text: wide_text(bytes), count: bytes.len() / 2 }
}

pub(super) struct Record<'s> {
    pub(super) kind: u16,
    /// The place of the body in the stream.
    pub(super) at: usize,
    pub(super) body: &'s [u8],
}

/// The records from a place on.
pub(super) fn records(stream: &[u8], mut at: usize) -> impl Iterator<Item = Record<'_>> {
    std::iter::from_fn(move || {
        let (kind, length) = (u16_at(stream, at)?, usize::from(u16_at(stream, at.checked_add(2)?)?));
        let body = stream.get(at + 4..)?;
        let body = &body[..length.min(body.len())];
        let record = Record { kind, at: at + 4, body };
        at += 4 + length;
        Some(record)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u16, body: &[u8]) -> Vec<u8> {
        [&kind.to_le_bytes()[..], &u16::try_from(body.len()).unwrap().to_le_bytes(), body].concat()
    }

    #[test]
    fn comments_titles_and_headers_are_found_sheet_by_sheet() {
        let place = |at: u32| [&at.to_le_bytes()[..], &[0; 4]].concat();
        let start = 2 * (4 + 8) + 4;
        let first = [
            record(BEGIN, &[]),
            record(HEADER, b"\x0B\0\0&LTop &P/&N"),
            record(BOX, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0]),
            record(CONTINUE, b"\0com"),
            record(CONTINUE, b"\x01m\0e\0"),
            record(CONTINUE, &[1, 2, 3]),
            record(BEGIN, &[]),
            record(CHART_TEXT, b"\0\0\x05\0title"),
            record(END, &[]),
            record(BOX, &[0; 12]),
            record(END, &[]),
        ]
        .concat();
        let second = [record(BEGIN, &[]), record(FOOTER, b"\x03\0\0end")].concat();
        let sheets = [record(SHEET, &place(start)), record(SHEET, &place(start + u32::try_from(first.len()).unwrap()))];
        let stream = [&sheets.concat()[..], &record(END, &[]), &first, &second].concat();
        assert_eq!(of_sheets(&stream), [vec!["\nTop /", "comme", "title"], vec!["end"]]);
        for length in 0..stream.len() {
            let _ = of_sheets(&stream[..length]);
        }
    }
}
