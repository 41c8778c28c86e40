//! Writes what an experiment found: JSON, CSV, SVG, and the page.

use std::fs;
use std::path::Path;

use crate::error::Error;
use crate::findings::{Cell, Findings, Table};
use crate::page::page;
use crate::svg;

/// Writes `EXPERIMENT.json`, `EXPERIMENT.md`, and a file for each table and figure into a folder, which is made where it
/// is missing.
///
/// # Errors
/// When a file cannot be written.
pub fn write(experiment: &str, findings: &Findings, folder: &Path) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(Error::io("make the folder", folder))?;
    let put = |name: String, bytes: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, bytes).map_err(Error::io("write", &path))
    };
    let mut json = serde_json::to_vec_pretty(findings).map_err(|error| Error::Method(error.to_string()))?;
    json.push(b'\n');
    put(format!("{experiment}.json"), &json)?;
    for table in &findings.tables {
        put(format!("{}.csv", table.name), &csv(table)?)?;
    }
    for figure in &findings.figures {
        put(format!("{}.svg", figure.name), svg::draw(figure).as_bytes())?;
    }
    put(format!("{experiment}.md"), page(experiment, findings).as_bytes())
}

fn csv(table: &Table) -> Result<Vec<u8>, Error> {
    let failed = |error: csv::Error| Error::Method(error.to_string());
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(&table.columns).map_err(failed)?;
    for row in &table.rows {
        writer.write_record(row.iter().map(Cell::text)).map_err(failed)?;
    }
    writer.into_inner().map_err(|error| Error::Method(error.to_string()))
}
