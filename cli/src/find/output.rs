//! Matches in the requested format.

use std::io::Write;

use cognate_desk::find::record::FindRecord;
use cognate_desk::find::{Answer, Found, Match, Share};
use cognate_proto::path::escaped;
use serde_json::{Value, json};

use super::{FindFormat, Query, text, word};
use crate::operator::members::modified;
use crate::output::{OutputArgs, fitted, write_with};
use crate::stop::Stop;
use cognate_export::grid::csv_path;
use cognate_export::table::cell;

const COLUMNS: [&str; 18] = [
    "sought",
    "relation",
    "sought_in_found",
    "found_in_sought",
    "resemblance",
    "shared_bytes",
    "estimated",
    "party",
    "site",
    "repository",
    "path",
    "path_escaped",
    "size_bytes",
    "modified",
    "content",
    "low",
    "high",
    "precision",
];

/// Writes the answer.
pub(super) fn write(
    query: &Query,
    answer: &Answer,
    format: FindFormat,
    output: &OutputArgs,
    stop: &Stop,
) -> anyhow::Result<()> {
    write_with(output, stop, |out| match format {
        FindFormat::Text => fitted(output, out, |out, columns| text::write(query, answer, columns, out)),
        FindFormat::Json => {
            serde_json::to_writer_pretty(&mut *out, &FindRecord::of(&query.under, answer, &query.names))?;
            Ok(writeln!(out)?)
        }
        FindFormat::Ndjson => lines(query, answer, out),
        FindFormat::Csv => csv(query, answer, out),
    })
}

/// A row of NDJSON with its type.
pub(super) fn typed_line(out: &mut impl Write, kind: &str, mut value: Value) -> anyhow::Result<()> {
    if let Value::Object(fields) = &mut value {
        fields.insert("type".into(), kind.into());
    }
    serde_json::to_writer(&mut *out, &value)?;
    Ok(writeln!(out)?)
}

fn lines(query: &Query, answer: &Answer, out: &mut impl Write) -> anyhow::Result<()> {
    let mut line = |kind: &str, value: Value| typed_line(out, kind, value);
    let FindRecord { coarse, coverage, documents, head } = FindRecord::of(&query.under, answer, &query.names);
    line("find", json!(head))?;
    coarse.iter().try_for_each(|row| line("coarse", json!(row)))?;
    coverage.iter().try_for_each(|row| line("coverage", json!(row)))?;
    for document in &documents {
        let mut value = json!(document);
        if let Value::Object(fields) = &mut value {
            // Each match is one line.
            fields.remove("matches");
        }
        line("document", value)?;
        for one in &document.matches {
            let mut value = json!(one);
            value["sought"] = json!(document.path);
            line("match", value)?;
        }
    }
    Ok(())
}

fn csv(query: &Query, answer: &Answer, out: &mut impl Write) -> anyhow::Result<()> {
    let mut rows = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
    rows.write_record(COLUMNS)?;
    for (name, Found { matches, .. }) in query.names.iter().zip(&answer.documents) {
        for one in matches {
            for row in rows_of(name, one) {
                rows.write_record(row)?;
            }
        }
    }
    Ok(rows.flush()?)
}

fn rows_of<'a>(name: &'a str, one: &'a Match) -> impl Iterator<Item = [String; 18]> + 'a {
    let measure = &one.measure;
    let ratio = |share: Option<Share>| share.map(|share| share.ratio.to_f64().to_string()).unwrap_or_default();
    let interval = measure.sought_in_found.or(measure.resemblance).and_then(|share| share.interval);
    let bound = move |end: usize| interval.map(|interval| interval[end].to_f64().to_string()).unwrap_or_default();
    one.holders.iter().map(move |holder| {
        let (path, is_escaped) = escaped(holder.path.as_bytes());
        let (path, is_escaped) = csv_path(&path, is_escaped);
        [
            cell(name),
            word(one).to_owned(),
            ratio(measure.sought_in_found),
            ratio(measure.found_in_sought),
            ratio(measure.resemblance),
            measure.shared_bytes.map(|bytes| bytes.to_string()).unwrap_or_default(),
            if measure.estimated { "yes" } else { "" }.to_owned(),
            cell(&holder.party),
            holder.site.to_string(),
            holder.repository.to_string(),
            cell(&path),
            if is_escaped { "yes" } else { "" }.to_owned(),
            one.size_bytes.to_string(),
            modified(holder.modified),
            one.digest.to_string(),
            bound(0),
            bound(1),
            one.precision.map(|precision| precision.to_string()).unwrap_or_default(),
        ]
    })
}
