//! Writes the findings of an experiment: JSON, CSV, SVG, and the page.

use std::fs;
use std::path::Path;

use crate::error::Error;
use crate::findings::{Cell, Findings, Table};
use crate::page::page;
use crate::svg;

/// Writes `EXPERIMENT.json`, `EXPERIMENT.md`, and a file for each table and figure into a folder, and creates the folder if it
/// is missing.
///
/// # Errors
/// If a file cannot be written.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Axis, Figure, Panel, Style};

    fn findings() -> Findings {
        let mut findings = Findings::new("Title", "Somebody 1999.");
        let mut table = Table::new("shares", "Shares", &["name", "share"]);
        table.row(["a, \"b\"".into(), 0.5.into()]);
        table.row(["c".into(), Cell::None]);
        findings.tables.push(table);
        let mut panel = Panel::new("p", Axis::linear("x"), Axis::linear("y"));
        panel.add("s", Style::Line, [(0.0, 0.0), (1.0, 1.0)]);
        findings.figures.push(Figure::new("curve", "A curve", vec![panel]));
        findings
    }

    #[test]
    fn every_number_table_and_figure_has_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("new/folder");
        write("name", &findings(), &out).unwrap();
        let read = |file: &str| fs::read_to_string(out.join(file)).unwrap();
        assert_eq!(read("shares.csv"), "name,share\n\"a, \"\"b\"\"\",0.5\nc,\n");
        assert!(read("curve.svg").starts_with("<svg ") && read("name.md").starts_with("# Title\n"));
        let json: serde_json::Value = serde_json::from_str(&read("name.json")).unwrap();
        assert_eq!(json["tables"][0]["rows"][1], serde_json::json!(["c", null]));
        assert_eq!(json["figures"][0]["panels"][0]["series"][0]["points"][1], serde_json::json!([1.0, 1.0]));
        let again = folder.path().join("again");
        write("name", &findings(), &again).unwrap();
        for file in ["name.json", "name.md", "shares.csv", "curve.svg"] {
            assert_eq!(fs::read(out.join(file)).unwrap(), fs::read(again.join(file)).unwrap(), "{file}");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let error = write("name", &findings(), &file.join("below")).unwrap_err();
        assert!(error.to_string().contains("below"), "{error}");
    }
}
