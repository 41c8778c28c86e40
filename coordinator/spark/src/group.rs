//! The second stage: the cluster groups rows by tag, and leaves out the tags of one content that one group holds.
//!
//! One statement writes all rows: those that are left as they are, and of the others their hash alone. Then the rows and hashes of both
//! kinds are added up, and have to be those that were exported. A row that the cluster loses, doubles or changes is found here.

use anyhow::{Context as _, Result, bail};

use crate::connect::Server;
use crate::exchange::Exchange;
use crate::export::{self, Whole, damaged_part, name_of};
use crate::row::{COLUMNS, SEVERAL, Sum};
use crate::stages::{Left, Stages};
use crate::stop::Stop;
use crate::{check, progress};

/// Rows of a task of the cluster, about 40 MB.
const TASK_ROWS: u64 = 1 << 20;
const TASKS_MIN: u64 = 8;
const TASKS_MAX: u64 = 100_000;

/// The folder of an attempt.
pub(crate) fn folder_of(attempt: u64) -> String {
    format!("grouped-{attempt}")
}

/// Has the rows grouped, unless that is published already.
pub(crate) fn group(
    exchange: &Exchange,
    (server, stop): (&Server, &Stop),
    stages: &mut Stages,
    whole: Whole,
) -> Result<Left> {
    if let Some(left) = stages.grouped {
        progress("group", 1, 1);
        return Ok(left);
    }
    check(stop)?;
    let attempt = stages.attempt()?;
    if whole.sum.rows == 0 {
        let left = Left { attempt, kept: Sum::default(), dropped: Sum::default() };
        stages.grouped(&left)?;
        return Ok(left);
    }
    let left = match grouped(exchange, server, whole, attempt) {
        Ok(left) => left,
        Err(error) => {
            check(stop)?;
            // What the cluster read may be what is wrong.
            if let Some(part) = damaged_part(exchange, stages, false)? {
                let name = exchange.url_of(&name_of(part, false));
                stages.damaged(part)?;
                bail!(
                    "the exchange is damaged: `{name}` is not what was written there: check the storage, and launch the scan again"
                );
            }
            return Err(error);
        }
    };
    stages.grouped(&left)?;
    Ok(left)
}

fn grouped(exchange: &Exchange, server: &Server, whole: Whole, attempt: u64) -> Result<Left> {
    progress("group", 0, 0);
    let tasks = (whole.sum.rows / TASK_ROWS).clamp(TASKS_MIN, TASKS_MAX);
    server.set("spark.sql.shuffle.partitions", &tasks.to_string());
    server.view("postings", &exchange.url_of(export::FOLDER))?;
    let written = exchange.url_of(&folder_of(attempt));
    server.write(&statement(), (&written, &[]), &mut |done, total| progress("group", done, total))?;
    server.view("grouped", &written)?;
    let totals = server.totals(&totals_statement())?;
    let [kept, kept_hashes, dropped, dropped_hashes] = totals.as_slice() else {
        bail!("the server returned {} totals, not 4", totals.len());
    };
    let rows = |rows: &i128| u64::try_from(*rows).context("the server returned a negative number of rows");
    let left = Left {
        attempt,
        kept: Sum { rows: rows(kept)?, hashes: *kept_hashes },
        dropped: Sum { rows: rows(dropped)?, hashes: *dropped_hashes },
    };
    let mut sum = left.kept;
    sum += left.dropped;
    if sum != whole.sum {
        bail!(
            "the cluster has not grouped what it was given: {} rows with the sum {} went in, {} with the sum {} came out; nothing is used",
            whole.sum.rows,
            whole.sum.hashes,
            sum.rows,
            sum.hashes
        );
    }
    Ok(left)
}

fn statement() -> String {
    let left: Vec<String> =
        COLUMNS.iter().map(|column| format!("CASE WHEN is_kept THEN {column} END AS {column}")).collect();
    let (left, columns) = (left.join(", "), COLUMNS.join(", "));
    format!(
        "SELECT {left}, CASE WHEN NOT is_kept THEN xxhash64({columns}) END AS dropped FROM (\
         SELECT {columns}, (min(content) OVER tag <> max(content) OVER tag) OR (max(flags) OVER tag >= {SEVERAL}) AS is_kept \
         FROM postings WINDOW tag AS (PARTITION BY tag_high, tag_low))"
    )
}

fn totals_statement() -> String {
    let columns = COLUMNS.join(", ");
    format!(
        "SELECT count(content), sum(CASE WHEN content IS NOT NULL THEN CAST(xxhash64({columns}) AS DECIMAL(20, 0)) END), \
         count(dropped), sum(CAST(dropped AS DECIMAL(20, 0))) FROM grouped"
    )
}
