//! The report as a load file of a review platform: one row for each content, which names all its copies.

use std::io::Write;

use crate::Error;
use cognate_result::report::{LoadRow, NearGroup, Ratio, Report};

use crate::grid::{Cell, Column, CsvRows, Rows as _, hidden};
use crate::representative::name;

/// Between the entries of a cell that has several.
const BETWEEN: &str = "; ";

const COLUMNS: [Column; 27] = [
    hidden("DocID"),
    hidden("NearDupGroup"),
    hidden("NearDupPrincipal"),
    hidden("NearDupSimilarity"),
    hidden("ExactDupGroup"),
    hidden("ExactDupCount"),
    hidden("AllSites"),
    hidden("AllPaths"),
    hidden("MIH"),
    hidden("Status"),
    hidden("Site"),
    hidden("Repository"),
    hidden("Path"),
    hidden("PathEscaped"),
    hidden("FileName"),
    hidden("FileExtension"),
    hidden("FileSize"),
    hidden("DateModified"),
    hidden("ContentDigest"),
    hidden("TextDigest"),
    hidden("TextNearDupGroup"),
    hidden("TextNearDupPrincipal"),
    hidden("TextNearDupSimilarity"),
    hidden("RecognisedText"),
    hidden("Verdict"),
    hidden("Tags"),
    hidden("Assignee"),
];

/// Writes the load file.
pub(super) fn write(report: &Report, out: &mut impl Write) -> crate::Result<()> {
    let mut rows = CsvRows::new(&COLUMNS, out)?;
    let mut number = 0;
    report.load_rows::<Error>(|row| {
        number += 1;
        rows.row(cells(number, &row))
    })?;
    rows.finish()
}

fn cells(number: u64, row: &LoadRow) -> Vec<Cell> {
    let document = &row.document;
    let [group, principal, similarity] = near(row.group.as_ref());
    let [text_group, text_principal, text_similarity] = near(row.text_group.as_ref());
    let file = name(&document.path);
    let extension = file.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension);
    vec![
        format!("COG{number:08}").into(),
        group,
        principal,
        similarity,
        row.exact_group.clone().into(),
        (row.all_paths.len() as u64).into(),
        row.all_sites.join(BETWEEN).into(),
        row.all_paths.join(BETWEEN).into(),
        document.message_id_hash.clone().into(),
        row.status.as_str().into(),
        document.site.as_str().into(),
        document.repository.as_str().into(),
        document.path.as_str().into(),
        Cell::yes(document.path_escaped.is_some()),
        file.into(),
        extension.into(),
        document.size_bytes.into(),
        document.modified.as_str().into(),
        row.content.clone().into(),
        row.text_content.clone().into(),
        text_group,
        text_principal,
        text_similarity,
        Cell::yes(document.recognised.is_some()),
        joined(row, |group| group.verdict.iter().map(|verdict| (*verdict).to_owned()).collect()),
        joined(row, |group| group.labels.tags.iter().cloned().collect()),
        joined(row, |group| Some(group.labels.assignee.clone()).filter(|name| !name.is_empty()).into_iter().collect()),
    ]
}

/// What people said of the clusters of both views, each once.
fn joined(row: &LoadRow, of: impl Fn(&NearGroup) -> Vec<String>) -> Cell {
    let mut words: Vec<String> = row.group.iter().chain(&row.text_group).flat_map(of).collect();
    words.sort_unstable();
    words.dedup();
    Some(words.join(BETWEEN)).filter(|words| !words.is_empty()).into()
}

/// The group, whether it is the principal of it, and how alike it is to that, in percent.
fn near(group: Option<&NearGroup>) -> [Cell; 3] {
    let Some(group) = group else { return [Cell::None, Cell::None, Cell::None] };
    let percent = |ratio: Ratio| format!("{:.2}", ratio.to_f64() * 100.0);
    let similarity = if group.principal { Some("100".to_owned()) } else { group.similarity.map(percent) };
    [group.id.as_str().into(), if group.principal { "Y" } else { "N" }.into(), similarity.into()]
}
