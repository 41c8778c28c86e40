//! The properties of characters, as far as they say that text is not shown ([MS-DOC] 2.8.6, 2.9.33).

use std::ops::Range;

use crate::format::compound::{place_at, u16_at};

/// Size of a page of properties.
const PAGE_BYTES: usize = 512;
/// Pages that are looked at, at most.
const PAGES_MAX: usize = 1 << 16;
/// Properties: deleted under tracked changes, hidden.
const IS_DELETED: u16 = 0x0800;
const IS_HIDDEN: u16 = 0x083C;

/// The ranges of the document whose text is not shown. They are in order and do not overlap.
#[derive(Debug, Default)]
pub(super) struct Visibility(Vec<Range<usize>>);

impl Visibility {
    /// Reads the pages whose numbers stand in a table of the document.
    pub(super) fn read(document: &[u8], table: &[u8]) -> Visibility {
        let count = table.len().saturating_sub(4) / 8;
        let mut hidden: Vec<Range<usize>> = Vec::new();
        for number in 0..count.min(PAGES_MAX) {
            let page = place_at(table, 4 * (count + 1) + 4 * number).map(|page| (page & 0x3F_FFFF) * PAGE_BYTES);
            let page = page.and_then(|at| document.get(at..at + PAGE_BYTES));
            page.into_iter().for_each(|page| hidden_on(page, &mut hidden));
        }
        hidden.sort_by_key(|range| range.start);
        Visibility(hidden)
    }

    /// The parts of a range that are shown.
    pub(super) fn shown_between(&self, start: usize, end: usize) -> impl Iterator<Item = Range<usize>> {
        let first = self.0.partition_point(|range| range.end <= start);
        let within = self.0[first..].iter().take_while(move |range| range.start < end);
        let ends = within.clone().map(|range| range.start).chain([end]);
        let starts = [start].into_iter().chain(within.map(|range| range.end));
        starts.zip(ends).map(|(start, end)| start..end).filter(|range| range.start < range.end)
    }
}

/// The hidden text of a page of properties: places, then for each range where its properties are.
fn hidden_on(page: &[u8], hidden: &mut Vec<Range<usize>>) {
    let count = usize::from(page.last().copied().unwrap_or(0));
    for number in 0..count {
        let (Some(start), Some(end)) = (place_at(page, 4 * number), place_at(page, 4 * number + 4)) else { return };
        let at = 2 * usize::from(page.get(4 * (count + 1) + number).copied().unwrap_or(0));
        let length = usize::from(page.get(at).copied().unwrap_or(0));
        let properties = page.get(at + 1..at + 1 + length).filter(|_| at > 0);
        if start < end && properties.is_some_and(hides) {
            hidden.push(start..end);
        }
    }
}

/// True if properties say that text is not shown.
fn hides(mut properties: &[u8]) -> bool {
    let mut is_hidden = false;
    while let Some(property) = u16_at(properties, 0) {
        let operand = properties.get(2..).unwrap_or_default();
        if matches!(property, IS_DELETED | IS_HIDDEN) {
            is_hidden |= operand.first() == Some(&1);
        }
        let length = match property >> 13 {
            0 | 1 => 1,
            2 | 4 | 5 => 2,
            3 => 4,
            7 => 3,
            _ => 1 + usize::from(operand.first().copied().unwrap_or(0)),
        };
        properties = operand.get(length..).unwrap_or_default();
    }
    is_hidden
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_ranges_are_left_out() {
        let hidden = Visibility(vec![10..20, 30..40]);
        let shown = |start, end| hidden.shown_between(start, end).collect::<Vec<_>>();
        assert_eq!(shown(0, 50), [0..10, 20..30, 40..50]);
        assert!(shown(12, 18).is_empty());
        assert_eq!(shown(15, 35), std::slice::from_ref(&(20..30)));
        assert_eq!(shown(40, 41), std::slice::from_ref(&(40..41)));
    }

    #[test]
    fn properties_hide_whatever_stands_before_them() {
        assert!(hides(&[0x3C, 0x08, 1]) && hides(&[0x00, 0x08, 1]));
        assert!(!hides(&[0x3C, 0x08, 0]) && !hides(&[]));
        // Bold, a size of two bytes, and a property of its own length come first.
        assert!(hides(&[0x35, 0x08, 1, 0x43, 0x4A, 24, 0, 0x4F, 0xCA, 2, 9, 9, 0x3C, 0x08, 1]));
        assert!(!hides(&[0x43, 0x4A, 0x3C]));
    }
}
