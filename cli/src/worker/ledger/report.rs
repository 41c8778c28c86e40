//! `worker ledger verify --report`: the counts of a signed report, held against the site's own record.
//!
//! A report has the counts of all sites. A coordinator that compared other batches than it acknowledged differs from the ledger of a site that checks
//! the report.

use std::io::Write;
use std::path::Path;

use cognate_export::table::table;
use cognate_proto::shown::harmless_lines;
use cognate_server::verify_signed;
use cognate_worker::enrolment::Identity;
use cognate_worker::ledger::count::{Counts, Indexes};
use cognate_worker::ledger::read::Verified;
use serde_json::Value;

use super::super::setup::{Setup, enrolment_error};
use crate::exit::{Exit, coded};

/// The row of a report about an index of this site.
struct Row {
    repository: String,
    epoch: u64,
    counts: Counts,
}

/// Compares the indexes of this site in a report with the ledger.
pub(super) fn compare(out: &mut impl Write, file: &Path, setup: &Setup, verified: &Verified) -> anyhow::Result<Exit> {
    let shown = file.display();
    let refused = |problem: String| coded(Exit::Failed, format!("`{shown}` {problem}"));
    let document = std::fs::read(file).map_err(|error| coded(Exit::InputOutput, format!("`{shown}`: {error}")))?;
    let signed = verify_signed(&document).ok_or_else(|| refused("is not a signed report".to_owned()))?;
    let key = signed.map_err(|error| refused(format!("does not match its signature: {error}")))?;
    let identity = Identity::open(&setup.state_dir).map_err(enrolment_error)?;
    let own = identity.authority()?;
    if key != own {
        let (key, own) = (key.words(), own.words());
        return Err(refused(format!("was signed with the key {key}, which is not that of your federation, {own}")));
    }
    let site = identity
        .site()
        .ok_or_else(|| refused("cannot be compared: the certificate of this site has no name".to_owned()))?;
    let rows = rows(&document, &site)
        .ok_or_else(|| refused("has no evidence: `report audit --format json` makes one that does".to_owned()))?;
    if rows.is_empty() {
        return Err(refused(format!("has nothing of the site {site}")));
    }
    let (lines, different) = held(&rows, &verified.indexes);
    let headings = ["REPOSITORY", "EPOCH", " BATCHES", " BYTES", "VERDICT"];
    writeln!(out, "{}", harmless_lines(&table(&headings, lines)))?;
    if different > 0 {
        let message = format!("what was compared is not what this site sent, in {different} indexes");
        return Err(coded(Exit::Failed, message));
    }
    writeln!(out, "what was compared is what this site sent, to the last byte")?;
    Ok(Exit::Complete)
}

/// The rows of a site; none if this is no report with evidence, or a row of it is not readable.
fn rows(document: &[u8], site: &str) -> Option<Vec<Row>> {
    let document: Value = serde_json::from_slice(document).ok()?;
    let rows = document.pointer("/audit/evidence")?.as_array()?;
    let row = |row: &Value| {
        let head = data_encoding::HEXLOWER.decode(row["head"].as_str()?.as_bytes()).ok()?;
        Some(Row {
            repository: row["repository"].as_str()?.to_owned(),
            epoch: u64::from_str_radix(row["epoch"].as_str()?, 16).ok()?,
            counts: Counts {
                batches: row["batches"].as_u64()?,
                body_bytes: row["bytes"].as_u64()?,
                head: head.try_into().ok()?,
            },
        })
    };
    rows.iter().filter(|row| row["site"] == site).map(row).collect()
}

/// The lines of a table, and the number of those that differ.
fn held(rows: &[Row], indexes: &Indexes) -> (Vec<Vec<String>>, usize) {
    let is_same = |row: &Row| indexes.was_sealed(&row.repository, row.epoch, &row.counts);
    let line = |row: &Row| {
        let verdict = if is_same(row) { "same" } else { "DIFFERS" };
        vec![
            row.repository.clone(),
            format!("{:016x}", row.epoch),
            row.counts.batches.to_string(),
            row.counts.body_bytes.to_string(),
            verdict.to_owned(),
        ]
    };
    (rows.iter().map(line).collect(), rows.iter().filter(|row| !is_same(row)).count())
}
