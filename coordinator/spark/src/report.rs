//! A report as Parquet, for the tools of a data platform: the lines of `cognate report --format ndjson`, a table for each kind of line.
//!
//! A field becomes a column: numbers, texts and truth values as they are, lists and objects as JSON text, which every engine of SQL reads
//! (`from_json`, `get_json_object`). A kind that has very many lines has several files, so that memory does not depend on the report.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use serde_json::{Map, Value};

use crate::exchange::Exchange;

/// The name of the folder below the address.
pub(crate) const NAME: &str = "report";
/// Lines of a file at most, and bytes of JSON.
const LINES_MAX: usize = 1 << 16;
const BYTES_MAX: usize = 64 << 20;

/// Lines of one kind that have no file yet, and the columns of those that have.
#[derive(Default)]
struct Table {
    lines: Vec<Map<String, Value>>,
    bytes: usize,
    files: u64,
    columns: BTreeMap<String, DataType>,
}

/// Reads lines and writes tables; returns the number of lines of each kind.
pub(crate) fn write(lines: impl BufRead, exchange: &Exchange) -> Result<BTreeMap<String, u64>> {
    if !exchange.is_empty()? {
        bail!("`{}` is not empty: choose another folder", exchange.url());
    }
    let mut tables: BTreeMap<String, Table> = BTreeMap::new();
    let mut counts = BTreeMap::new();
    for (number, line) in (1..).zip(lines.lines()) {
        let line = line.context("the report cannot be read")?;
        let wrong = || format!("line {number} is not one of `cognate report --format ndjson`");
        let Value::Object(mut fields) = serde_json::from_str(&line).with_context(wrong)? else { bail!(wrong()) };
        let Some(Value::String(kind)) = fields.remove("type") else { bail!(wrong()) };
        if kind.is_empty() || !kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') {
            bail!(wrong());
        }
        *counts.entry(kind.clone()).or_insert(0) += 1;
        let table = tables.entry(kind.clone()).or_default();
        table.bytes += line.len();
        table.lines.push(fields);
        if table.lines.len() >= LINES_MAX || table.bytes >= BYTES_MAX {
            table.write(&kind, exchange)?;
        }
    }
    tables.iter_mut().try_for_each(|(kind, table)| table.write(kind, exchange))?;
    Ok(counts)
}

impl Table {
    /// Writes the lines that wait. A column that is known has the kind that it had in the first file.
    fn write(&mut self, kind: &str, exchange: &Exchange) -> Result<()> {
        let lines = std::mem::take(&mut self.lines);
        self.bytes = 0;
        if lines.is_empty() {
            return Ok(());
        }
        let mut found: BTreeMap<String, Option<DataType>> = BTreeMap::new();
        for (name, value) in lines.iter().flatten() {
            let known = found.entry(name.clone()).or_default();
            *known = match (known.take(), kind_of(value)) {
                (known, None) => known,
                (None, new) => new,
                (Some(known), Some(new)) => Some(joined(known, new)),
            };
        }
        for (name, kind) in found {
            self.columns.entry(name).or_insert(kind.unwrap_or(DataType::Utf8));
        }
        let fields: Vec<Field> = self.columns.iter().map(|(name, kind)| Field::new(name, kind.clone(), true)).collect();
        let columns: Result<Vec<ArrayRef>> =
            self.columns.iter().map(|(name, kind)| column(name, kind, &lines)).collect();
        let schema = Arc::new(Schema::new(fields));
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?)).build();
        let mut writer = ArrowWriter::try_new(Vec::new(), Arc::clone(&schema), Some(properties))?;
        writer.write(&RecordBatch::try_new(schema, columns?)?)?;
        let file = writer.into_inner()?;
        exchange.put(&format!("type={kind}/part-{:06}.parquet", self.files), file)?;
        self.files += 1;
        Ok(())
    }
}

/// The kind of a value; nothing tells it of a null.
fn kind_of(value: &Value) -> Option<DataType> {
    match value {
        Value::Null => None,
        Value::Bool(_) => Some(DataType::Boolean),
        Value::Number(number) if number.is_i64() => Some(DataType::Int64),
        Value::Number(number) if number.is_f64() => Some(DataType::Float64),
        _ => Some(DataType::Utf8),
    }
}

fn joined(a: DataType, b: DataType) -> DataType {
    match (a, b) {
        (a, b) if a == b => a,
        (DataType::Int64, DataType::Float64) | (DataType::Float64, DataType::Int64) => DataType::Float64,
        _ => DataType::Utf8,
    }
}

fn column(name: &str, kind: &DataType, lines: &[Map<String, Value>]) -> Result<ArrayRef> {
    let values = || lines.iter().map(|line| line.get(name).filter(|value| !value.is_null()));
    let wrong = || format!("the field `{name}` is of another kind than at the beginning of the report");
    Ok(match kind {
        DataType::Boolean => {
            let read = |value: &Value| value.as_bool().with_context(wrong);
            Arc::new(values().map(|value| value.map(read).transpose()).collect::<Result<BooleanArray>>()?)
        }
        DataType::Int64 => {
            let read = |value: &Value| value.as_i64().with_context(wrong);
            Arc::new(values().map(|value| value.map(read).transpose()).collect::<Result<Int64Array>>()?)
        }
        DataType::Float64 => {
            let read = |value: &Value| value.as_f64().with_context(wrong);
            Arc::new(values().map(|value| value.map(read).transpose()).collect::<Result<Float64Array>>()?)
        }
        _ => {
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            Arc::new(values().map(|value| value.map(text)).collect::<StringArray>())
        }
    })
}

#[cfg(test)]
mod tests {
    use arrow_array::Array as _;
    use arrow_array::cast::AsArray as _;
    use arrow_array::types::{Float64Type, Int64Type};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::*;

    #[test]
    fn lines_become_a_table_for_each_kind_with_a_column_for_each_field() {
        let folder = tempfile::tempdir().unwrap();
        let exchange = Exchange::open(&format!("file://{}", folder.path().display()), NAME).unwrap();
        let lines = [
            r#"{"type":"cluster","id":"é","links":3,"share":1,"dense":true,"members":[{"path":"a"}],"gone":null}"#,
            r#"{"type":"scan","id":"x"}"#,
            r#"{"type":"cluster","id":"b","links":18446744073709551615,"share":0.5,"dense":null}"#,
        ];
        let counts = write(lines.join("\n").as_bytes(), &exchange).unwrap();
        assert_eq!(counts, [("cluster".to_owned(), 2), ("scan".to_owned(), 1)].into());
        let file = exchange.get("type=cluster/part-000000.parquet").unwrap();
        let batch = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap().next().unwrap().unwrap();
        let text = |name: &str| -> Vec<Option<String>> {
            batch.column_by_name(name).unwrap().as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
        };
        let some = |texts: [Option<&str>; 2]| texts.map(|text| text.map(str::to_owned));
        assert_eq!(text("id"), some([Some("é"), Some("b")]));
        assert_eq!(text("links"), some([Some("3"), Some("18446744073709551615")]), "no number is cut");
        assert_eq!(text("members"), some([Some(r#"[{"path":"a"}]"#), None]));
        assert_eq!(text("gone"), some([None, None]));
        let share = batch.column_by_name("share").unwrap().as_primitive::<Float64Type>();
        assert_eq!(share.values(), &[1.0, 0.5]);
        assert!(batch.column_by_name("dense").unwrap().as_boolean().is_null(1));
        let error = write(&b"{}"[..], &exchange).unwrap_err().to_string();
        assert!(error.contains("is not empty"), "{error}");
    }

    #[test]
    fn a_long_report_has_several_files_of_the_same_columns() {
        let folder = tempfile::tempdir().unwrap();
        let exchange = Exchange::open(&format!("file://{}", folder.path().display()), NAME).unwrap();
        let count = LINES_MAX + 10;
        let lines: String = (0..count).map(|number| format!("{{\"type\":\"link\",\"number\":{number}}}\n")).collect();
        assert_eq!(write(lines.as_bytes(), &exchange).unwrap()["link"], count as u64);
        let files = exchange.data_files("type=link").unwrap();
        assert_eq!(files.len(), 2);
        let mut sum = 0;
        for file in files {
            let file = exchange.get(&file.name).unwrap();
            for batch in ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap() {
                sum += batch.unwrap().column(0).as_primitive::<Int64Type>().values().iter().sum::<i64>();
            }
        }
        assert_eq!(sum, (count * (count - 1) / 2) as i64);
    }

    #[test]
    fn what_is_no_report_is_refused_with_its_line() {
        for (lines, number) in [("{\"type\":\"scan\"}\n[]", 2), ("{\"id\":1}", 1), ("x", 1), ("{\"type\":\"a/b\"}", 1)]
        {
            let folder = tempfile::tempdir().unwrap();
            let exchange = Exchange::open(&format!("file://{}", folder.path().display()), NAME).unwrap();
            let error = format!("{:#}", write(lines.as_bytes(), &exchange).unwrap_err());
            assert!(error.contains(&format!("line {number} ")), "{error}");
        }
    }
}
