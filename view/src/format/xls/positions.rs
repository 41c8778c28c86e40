//! The places of cells, before a reader makes a table of all places between them.
//!
//! One cell in the last row of the last column, or the mere claim that there is one, costs the memory of sixteen million cells. The text of a sheet
//! needs the order of its cells alone: rows and columns without any are taken out, and what a sheet says of its size is.

use super::boxes::{BEGIN, END, records, sheets};
use crate::format::compound::u16_at;
use crate::outcome::Reason;

/// Kinds of records ([MS-XLS] 2.3).
const DIMENSIONS: u16 = 0x0200;
const BLANK: u16 = 0x0201;
const PASSWORD: u16 = 0x002F;
const SEVERAL_NUMBERS: u16 = 0x00BD;
/// Formulas, numbers, texts, truths and errors: the row and the column come first.
const CELLS: [u16; 7] = [0x0006, 0x00D6, 0x00FD, 0x0203, 0x0204, 0x0205, 0x027E];
/// Tables up to this size are left as they are.
const TABLE_CELLS: usize = 1 << 18;
/// Larger tables are not read.
const TABLE_CELLS_MAX: usize = 6 << 20;
const PLACES: usize = 1 << 16;

/// Moves the cells of each sheet together where its table would be large. True if any were moved.
///
/// # Errors
/// [`Reason::TooLarge`] if the table of a sheet is too large even so.
pub(super) fn move_together(stream: &mut [u8]) -> Result<bool, Reason> {
    if records(stream, 0).take_while(|record| record.kind != END).any(|record| record.kind == PASSWORD) {
        return Ok(false);
    }
    let mut is_moved = false;
    let starts: Vec<usize> = sheets(stream).collect();
    for start in starts {
        is_moved |= Cells::of(stream, start).move_together(stream)?;
    }
    Ok(is_moved)
}

/// The cells of a sheet.
struct Cells {
    /// Places in the stream of numbers of rows, and of numbers of columns.
    rows_at: Vec<usize>,
    columns_at: Vec<usize>,
    rows: Numbers,
    columns: Numbers,
    /// The places of the records that say how large the sheet is.
    dimensions_at: Vec<usize>,
    /// The cells of the table that they say.
    said: usize,
}

impl Cells {
    fn of(stream: &[u8], start: usize) -> Cells {
        let mut cells = Cells {
            rows_at: Vec::new(),
            columns_at: Vec::new(),
            rows: Numbers::new(),
            columns: Numbers::new(),
            dimensions_at: Vec::new(),
            said: 0,
        };
        let mut depth = 0_usize;
        for record in records(stream, start) {
            match record.kind {
                BEGIN => depth += 1,
                END if depth <= 1 => break,
                END => depth -= 1,
                DIMENSIONS if depth <= 1 => {
                    cells.dimensions_at.push(record.at);
                    cells.said = cells.said.max(said(record.body));
                }
                SEVERAL_NUMBERS if depth <= 1 && record.body.len() >= 6 => {
                    let last = record.body.len() - 2;
                    cells.add(record.body, record.at, last);
                }
                kind if depth <= 1 && CELLS.contains(&kind) => cells.add(record.body, record.at, 2),
                _ => {}
            }
        }
        cells
    }

    /// A record of cells in one row, from the column in its second number to that at `last`.
    fn add(&mut self, body: &[u8], at: usize, last: usize) {
        let (Some(row), Some(first), Some(end)) = (u16_at(body, 0), u16_at(body, 2), u16_at(body, last)) else {
            return;
        };
        self.rows.add(row, row);
        self.columns.add(first, end);
        self.rows_at.push(at);
        self.columns_at.push(at + 2);
        if last != 2 {
            self.columns_at.push(at + last);
        }
    }

    fn move_together(self, stream: &mut [u8]) -> Result<bool, Reason> {
        if self.rows.span().saturating_mul(self.columns.span()).max(self.said) <= TABLE_CELLS {
            return Ok(false);
        }
        if self.rows.count().saturating_mul(self.columns.count()) > TABLE_CELLS_MAX {
            return Err(Reason::TooLarge);
        }
        for (places, numbers) in [(&self.rows_at, self.rows), (&self.columns_at, self.columns)] {
            let ranks = numbers.ranks();
            for &at in places {
                if let Some(number) = u16_at(stream, at) {
                    stream[at..at + 2].copy_from_slice(&ranks[usize::from(number)].to_le_bytes());
                }
            }
        }
        for at in self.dimensions_at {
            // The kind and the length come before the body.
            stream[at - 4..at - 2].copy_from_slice(&BLANK.to_le_bytes());
        }
        Ok(true)
    }
}

/// The cells of the table from the first row and column to the last ones, as a sheet says.
fn said(body: &[u8]) -> usize {
    let number = |at: usize| u16_at(body, at).map_or(0, usize::from);
    match body.len() {
        // Rows have two bytes each before 1997, and four since.
        10 => number(2).saturating_sub(number(0)) * number(6).saturating_sub(number(4)),
        _ => {
            let row = |at: usize| number(at + 2) << 16 | number(at);
            row(4).saturating_sub(row(0)).saturating_mul(number(10).saturating_sub(number(8)))
        }
    }
}

/// Which of all numbers of rows, or of columns, are in use.
struct Numbers {
    used: Vec<bool>,
}

impl Numbers {
    fn new() -> Numbers {
        Numbers { used: vec![false; PLACES] }
    }

    fn add(&mut self, first: u16, last: u16) {
        let used = self.used.get_mut(usize::from(first)..=usize::from(last));
        used.into_iter().for_each(|used| used.fill(true));
    }

    fn count(&self) -> usize {
        self.used.iter().filter(|used| **used).count()
    }

    /// From the first to the last one.
    fn span(&self) -> usize {
        let ends = self.used.iter().position(|used| *used).zip(self.used.iter().rposition(|used| *used));
        ends.map_or(0, |(first, last)| last - first + 1)
    }

    /// For each number, how many before it are in use.
    fn ranks(&self) -> Vec<u16> {
        let mut next = 0_u16;
        let rank = |used: &bool| {
            let rank = next;
            next = next.wrapping_add(u16::from(*used));
            rank
        };
        self.used.iter().map(rank).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u16, body: &[u8]) -> Vec<u8> {
        [&kind.to_le_bytes()[..], &u16::try_from(body.len()).unwrap().to_le_bytes(), body].concat()
    }

    /// The stream of a workbook with one sheet of these records.
    fn workbook(records: &[Vec<u8>]) -> Vec<u8> {
        let sheet = [&record(BEGIN, &[])[..], &records.concat(), &record(END, &[])].concat();
        let place = u32::try_from(4 + 8 + 4).unwrap().to_le_bytes();
        [record(0x0085, &[&place[..], &[0; 4]].concat()), record(END, &[]), sheet].concat()
    }

    fn cell(kind: u16, row: u16, column: u16) -> Vec<u8> {
        record(kind, &[row.to_le_bytes(), column.to_le_bytes(), [9, 9]].concat())
    }

    fn several(row: u16, first: u16, last: u16) -> Vec<u8> {
        let numbers = vec![7; 6 * usize::from(last - first + 1)];
        record(SEVERAL_NUMBERS, &[&row.to_le_bytes()[..], &first.to_le_bytes(), &numbers, &last.to_le_bytes()].concat())
    }

    #[test]
    fn cells_far_from_each_other_are_moved_together_in_their_order() {
        let dimensions = |kind: u16| record(kind, &[0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0]);
        let mut stream = workbook(&[
            dimensions(DIMENSIONS),
            cell(0x0203, 3, 5),
            several(700, 4, 6),
            cell(0x00FD, 65_535, 255),
            record(0x0207, b"a result"),
        ]);
        assert_eq!(move_together(&mut stream), Ok(true));
        let together = [dimensions(BLANK), cell(0x0203, 0, 1), several(1, 0, 2), cell(0x00FD, 2, 3)];
        assert_eq!(stream, workbook(&[&together[..], &[record(0x0207, b"a result")]].concat()));
        assert_eq!(move_together(&mut stream), Ok(false), "they are together");
    }

    #[test]
    fn a_table_of_usual_size_stays_and_one_that_is_full_is_too_large() {
        let mut usual = workbook(&[cell(0x0203, 3, 5), cell(0x0203, 1000, 200)]);
        let before = usual.clone();
        assert_eq!((move_together(&mut usual), usual), (Ok(false), before));
        let full: Vec<Vec<u8>> = (0..30_000).map(|row| cell(0x0203, row, row % 256)).collect();
        assert_eq!(move_together(&mut workbook(&full)), Err(Reason::TooLarge));
    }

    #[test]
    fn the_said_size_alone_makes_no_table_and_a_password_hides_all_places() {
        let older = record(DIMENSIONS, &[0, 0, 255, 255, 0, 0, 0, 1, 0, 0]);
        let mut claims = workbook(&[older.clone(), cell(0x0203, 3, 5)]);
        assert_eq!(move_together(&mut claims), Ok(true));
        let mut locked = [record(PASSWORD, &[0; 4]), workbook(&[older])].concat();
        assert_eq!(move_together(&mut locked), Ok(false));
    }
}
