//! `cognate worker results`: results of scans that concern this site.

use std::io::{self, Write};

use clap::{Args, ValueEnum};
use cognate_proto::name::one_line;
use cognate_worker::control::Request;
use serde_json::Value;

use super::ConfigArgs;
use super::setup;
use super::status::ask;
use crate::exit::{Exit, usage};
use cognate_export::table::table;

/// Lists the scans that concern this site, or shows the part of one scan's result that does.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate worker results --config worker.toml
  cognate worker results 5f2e91c0a7b3d846 --format ndjson --config worker.toml")]
pub(super) struct ResultsArgs {
    /// The scan
    #[arg(value_name = "SCAN")]
    scan: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: ResultsFormat,
    #[command(flatten)]
    pub(super) config: ConfigArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum ResultsFormat {
    /// For people
    Text,
    /// One object per line
    Ndjson,
}

pub(super) fn run(args: &ResultsArgs) -> anyhow::Result<Exit> {
    let setup = setup::load(&args.config)?;
    let scan = args.scan.as_deref().map(|scan| u64::from_str_radix(scan, 16)).transpose();
    let scan = scan.map_err(|_| usage("a scan is named by its number of up to 16 hexadecimal digits"))?;
    let mut rows = 0;
    let mut list = Vec::new();
    ask(&setup, &Request::Results { scan }, |mut value| {
        rows += 1;
        let row = value["row"].take();
        match args.format {
            ResultsFormat::Ndjson => writeln!(io::stdout(), "{row}"),
            ResultsFormat::Text if scan.is_none() => {
                list.push(listed(&row));
                Ok(())
            }
            ResultsFormat::Text => writeln!(io::stdout(), "{}", text(&row)),
        }
    })?;
    if rows == 0 && args.format == ResultsFormat::Text {
        writeln!(io::stdout(), "no scan that has ended concerns this site")?;
    }
    if !list.is_empty() {
        writeln!(io::stdout(), "{}", table(&["SCAN", "STATUS", "STARTED", "FINISHED", "DIGEST"], list))?;
    }
    Ok(Exit::Complete)
}

/// A scan in the list.
fn listed(row: &Value) -> Vec<String> {
    let string = |name: &str| one_line(row[name].as_str().unwrap_or("–"));
    let digest = string("digest").chars().take(16).collect();
    vec![string("id"), string("status"), string("started"), string("finished"), digest]
}

/// A row in words, with the sites that share documents.
fn text(row: &Value) -> String {
    let string = |value: &Value| one_line(value.as_str().unwrap_or_default());
    let place = |document: &Value| {
        format!("{}/{}:{}", string(&document["site"]), string(&document["repository"]), string(&document["path"]))
    };
    let places = |documents: &Value| -> Vec<String> {
        documents.as_array().map(|documents| documents.iter().map(place).collect()).unwrap_or_default()
    };
    match row["type"].as_str() {
        Some("identical") => {
            format!("identical ({} bytes): {}", row["size_bytes"], places(&row["documents"]).join("  "))
        }
        Some("cluster") => {
            let documents = places(&row["documents"]).join("  ");
            format!("{} ({} bytes): {documents}", string(&row["relation"]), row["total_bytes"])
        }
        Some("unread") => format!("unread: {}: {}", place(row), string(&row["reason"])),
        Some("document") => format!("{}: {}", string(&row["status"]), place(row)),
        _ => pairs(row),
    }
}

/// Any other row: its simple values.
fn pairs(row: &Value) -> String {
    let Some(object) = row.as_object() else { return one_line(&row.to_string()) };
    let simple = object.iter().filter(|(_, value)| !value.is_array() && !value.is_object() && !value.is_null());
    let shown = simple.map(|(name, value)| match value.as_str() {
        Some(text) => format!("{name} {}", one_line(text)),
        None => format!("{name} {value}"),
    });
    shown.collect::<Vec<_>>().join("  ")
}
