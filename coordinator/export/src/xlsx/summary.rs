//! The first sheet: the sites and repositories, how completely they are compared, the matches, and the overlap.

use cognate_result::report::{Report, STATUSES};
use rust_xlsxwriter::{Color, Format, Worksheet};

use super::{Book, Look, put, shown};
use crate::contradicted::{CONTRADICTED, contradicted};
use crate::grid::{Cell, Kind};
use crate::legend;
use crate::overlap::{Matrix, by_status, compared, parameters};

/// The sheet, and the number of its next row.
struct Page<'a> {
    worksheet: Worksheet,
    book: &'a Book,
    next: u32,
}

/// Makes the sheet, once all others are written.
pub(super) fn sheet(report: &Report, book: &Book) -> crate::Result<Worksheet> {
    let mut worksheet = Worksheet::new();
    worksheet.set_name("Summary")?;
    worksheet.set_column_width(0, 26)?;
    // Wide enough for every heading on one line: not every program makes a row as high as its text.
    worksheet.set_column_range_width(1, 30, 16)?;
    worksheet.set_landscape();
    worksheet.set_print_fit_to_pages(1, 0);
    let mut page = Page { worksheet, book, next: 0 };
    page.head(report)?;
    page.coverage(report)?;
    page.changes(report)?;
    page.found(report)?;
    let unit = compared(&report.scan()?).unwrap_or("bytes");
    for table in Matrix::of(report)? {
        page.matrix(&table, unit)?;
    }
    page.title("Sheets of this workbook")?;
    page.headings(&["Sheet", "Rows"], 1..)?;
    for (name, rows) in &book.written {
        page.row(&[name.as_str().into(), u64::from(*rows).into()], &[Kind::Text, Kind::Count])?;
    }
    page.title("Words")?;
    for (word, meaning) in legend::all() {
        page.row(&[word.into(), meaning.into()], &[Kind::Text; 2])?;
    }
    Ok(page.worksheet)
}

impl Page<'_> {
    fn head(&mut self, report: &Report) -> crate::Result<()> {
        let scan = report.scan()?;
        let large = Format::new().set_bold().set_font_size(16);
        self.worksheet.write_string_with_format(0, 0, "Cognate: what sites have in common", &large)?;
        self.next = 2;
        for sentence in crate::answer::of(report)? {
            self.worksheet.write_string(self.next, 0, shown(&sentence))?;
            self.next += 1;
        }
        self.next += 1;
        if let Some(reasons) = crate::partial::of(&scan) {
            let stamp = Format::new().set_bold().set_font_size(14).set_font_color(Color::RGB(0x00C0_0000));
            self.worksheet.write_string_with_format(self.next, 0, reasons.sentence, &stamp)?;
            self.next += 1;
            for line in &reasons.lines {
                self.worksheet.write_string(self.next, 0, shown(line))?;
                self.next += 1;
            }
            self.next += 1;
        }
        let contradicted = contradicted(&report.sites()?);
        if !contradicted.is_empty() {
            self.worksheet.write_string(self.next, 0, CONTRADICTED)?;
            for (row, line) in (self.next + 1..).zip(&contradicted) {
                self.worksheet.write_string(row, 0, shown(line))?;
            }
            self.next += u32::try_from(contradicted.len()).unwrap_or(u32::MAX).saturating_add(2);
        }
        if let Some(notice) = scan.notice {
            self.worksheet.write_string(self.next, 0, notice)?;
            self.next += 2;
        }
        for (what, value) in parameters(report)? {
            self.worksheet.write_string_with_format(self.next, 0, what, &self.book.formats.group)?;
            self.worksheet.write_string(self.next, 1, shown(&value))?;
            self.next += 1;
        }
        Ok(())
    }

    fn coverage(&mut self, report: &Report) -> crate::Result<()> {
        self.title("Coverage: documents and bytes of each repository")?;
        let mut headings =
            vec!["Repository", "Party", "Documents", "Bytes", "Unreadable", "Changed", "Left out", "Empty"];
        headings.extend(STATUSES);
        headings.extend(["Text", "Recognised text", "Not compared by text"]);
        self.headings(&headings, 2..)?;
        for site in report.sites()? {
            let mut cells: Vec<Cell> = vec![
                format!("{}/{}", site.site, site.repository).into(),
                site.party.as_str().into(),
                site.documents.into(),
                site.bytes.into(),
                site.unreadable.into(),
                site.changed.into(),
                site.skipped.into(),
                site.empty.into(),
            ];
            cells.extend(STATUSES.iter().map(|status| Cell::from(site.status.get(*status).copied().unwrap_or(0))));
            cells.push(site.text_bytes.into());
            cells.push(site.recognised.unwrap_or(0).into());
            cells.push(site.not_compared_by_text.values().sum::<u64>().into());
            let mut kinds = vec![Kind::Text; 2];
            kinds.resize(cells.len(), Kind::Count);
            self.row(&cells, &kinds)?;
        }
        Ok(())
    }

    fn changes(&mut self, report: &Report) -> crate::Result<()> {
        let rows = report.changes()?;
        let Some(first) = rows.first() else { return Ok(()) };
        let place = |site: &str, repository: &str| format!("{site}/{repository}");
        let from = place(&first.from_site, &first.from_repository);
        self.title(&format!("Changes from {from} to {}", place(&first.to_site, &first.to_repository)))?;
        let words = legend::CHANGES.map(|(word, _)| word);
        self.headings(&[&["Documents of"], words.as_slice()].concat(), 1..)?;
        for row in &rows {
            let counts = row.counts().map(Cell::from);
            let of = Cell::from(place(&row.from_site, &row.from_repository));
            let mut kinds = vec![Kind::Text];
            kinds.resize(1 + counts.len(), Kind::Count);
            self.row(&[vec![of], counts.into()].concat(), &kinds)?;
        }
        Ok(())
    }

    fn found(&mut self, report: &Report) -> crate::Result<()> {
        const KINDS: [Kind; 3] = [Kind::Text, Kind::Count, Kind::Count];
        self.title("What was found")?;
        self.headings(&["Identical sets", "Sets", "Redundant bytes"], 1..)?;
        for tier in report.identical_totals()? {
            self.row(&[tier.tier.into(), tier.sets.into(), tier.wasted_bytes.into()], &KINDS)?;
        }
        let totals = report.cluster_totals()?;
        self.next += 1;
        self.headings(&["Clusters", "Files", "Bytes"], 0..)?;
        let counts = [totals.clusters, totals.contents, totals.bytes].map(Cell::from);
        self.row(&counts, &[Kind::Count; 3])?;
        self.next += 1;
        self.headings(&["Documents by status", "All sites"], 1..)?;
        for (status, documents) in by_status(&report.sites()?) {
            self.row(&[status.into(), documents.into()], &KINDS[..2])?;
        }
        Ok(())
    }

    /// The share of each site's bytes that each other one has; below it the same in numbers.
    fn matrix(&mut self, table: &Matrix, unit: &str) -> crate::Result<()> {
        let title = table.title();
        self.title(&format!("Overlap, {title}: share of the row's bytes that are also in the column's ({unit})"))?;
        let mut headings = vec![""];
        headings.extend(table.names.iter().map(String::as_str));
        self.headings(&headings, 1..)?;
        let kinds = vec![Kind::Share; headings.len()];
        for from in &table.names {
            let mut cells = vec![Cell::from(from.as_str())];
            cells.extend(table.names.iter().map(|to| Cell::share(table.of_at(from, to).map(|common| common.share()))));
            self.row(&cells, &kinds)?;
        }
        self.next += 1;
        self.headings(&["Of", "also at", "Documents", "of", "Bytes", "by samples", "±", "of", "Template bytes"], 2..)?;
        let mut kinds = vec![Kind::Text; 2];
        kinds.resize(9, Kind::Count);
        for from in &table.names {
            for to in &table.names {
                let Some(common) = table.of_at(from, to) else { continue };
                let cells = [
                    from.as_str().into(),
                    to.as_str().into(),
                    common.documents.into(),
                    common.documents_total.into(),
                    common.bytes.into(),
                    common.estimated_bytes.into(),
                    common.estimate_error_bytes.into(),
                    common.bytes_total.into(),
                    common.template_bytes.into(),
                ];
                self.row(&cells, &kinds)?;
            }
        }
        Ok(())
    }

    fn title(&mut self, text: &str) -> crate::Result<()> {
        self.next += 1;
        self.worksheet.write_string_with_format(self.next, 0, text, &self.book.formats.title)?;
        self.next += 1;
        Ok(())
    }

    /// Headings; those of columns of numbers are aligned to the right as these are.
    fn headings(&mut self, headings: &[&str], numbers: std::ops::RangeFrom<usize>) -> crate::Result<()> {
        for (place, heading) in (0u16..).zip(headings) {
            let formats = &self.book.formats;
            let format = if numbers.contains(&usize::from(place)) { &formats.number_heading } else { &formats.heading };
            self.worksheet.write_string_with_format(self.next, place, *heading, format)?;
        }
        self.next += 1;
        Ok(())
    }

    fn row(&mut self, cells: &[Cell], kinds: &[Kind]) -> crate::Result<()> {
        for (place, (cell, kind)) in (0u16..).zip(cells.iter().zip(kinds)) {
            put(&mut self.worksheet, &self.book.formats, (self.next, place), cell, *kind, Look::Plain)?;
        }
        self.next += 1;
        Ok(())
    }
}
