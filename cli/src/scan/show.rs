//! Scans in lists and one by one.

use cognate_proto::name::{ScanId, one_line};
use cognate_proto::v1::{self, ScanState, ScanStatus};
use serde_json::{Value, json};

use super::{find, refine, spec};
use crate::exit::Exit;
use crate::operator::client::{Operator, OperatorArg};
use crate::operator::members::{TableFormat, print, time};
use cognate_export::human::{bytes, count};
use cognate_export::table::table;

/// `cognate scan list`.
pub(super) async fn list(arg: &OperatorArg, format: TableFormat) -> anyhow::Result<Exit> {
    let operator = Operator::open(arg).await?;
    let listed = operator.call(|mut client| async move { client.list_scans(v1::ListScansRequest {}).await }).await?;
    match format {
        TableFormat::Json => print(&format!("{:#}", listed.scans.iter().map(object).collect::<Value>()))?,
        TableFormat::Text => {
            let rows = listed.scans.iter().map(|scan| {
                vec![
                    ScanId(scan.scan).to_string(),
                    status(scan).to_owned(),
                    when(scan.started),
                    when(scan.finished),
                    one_line(&scan.launched_by),
                    scan.spec.as_ref().map(about).unwrap_or_default(),
                ]
            });
            print(&table(&["SCAN", "STATUS", "STARTED", "FINISHED", "BY", "REPOSITORIES"], rows))?;
        }
    }
    Ok(Exit::Complete)
}

/// The repositories of a scan, and what it refines of them.
fn about(spec: &v1::ScanSpec) -> String {
    let refines = spec.refine.as_ref().map(|refine| format!(", refines {}", ScanId(refine.scan)));
    format!("{}{}", spec::names(spec), refines.unwrap_or_default())
}

/// `cognate scan show`.
pub(super) async fn show(arg: &OperatorArg, scan: &str, format: TableFormat) -> anyhow::Result<Exit> {
    let operator = Operator::open(arg).await?;
    let id = find(&operator, scan).await?;
    let request = v1::ShowScanRequest { scan: id.0 };
    let state = operator.call(|mut client| async move { client.show_scan(request).await }).await?;
    match format {
        TableFormat::Json => print(&format!("{:#}", object(&state)))?,
        TableFormat::Text => print(&text(&state))?,
    }
    Ok(Exit::Complete)
}

/// A scan for people.
pub(super) fn text(state: &ScanState) -> String {
    let mut lines = vec![format!("scan      {}", ScanId(state.scan)), format!("status    {}", status(state))];
    let mut line = |name: &str, value: String| {
        if !value.is_empty() {
            lines.push(format!("{name:<10}{value}"));
        }
    };
    line("failure", one_line(&state.failure));
    line("waits for", one_line(&state.waiting));
    line("started", when(state.started));
    line("finished", when(state.finished));
    line("by", one_line(&state.launched_by));
    line("from", state.spec.as_ref().map(|spec| one_line(&spec.origin)).unwrap_or_default());
    let refines = state.spec.as_ref().and_then(|spec| spec.refine.as_ref());
    line("view", state.spec.as_ref().map(view).unwrap_or_default());
    line("refines", refines.map(refine::words).unwrap_or_default());
    line("digest", one_line(&state.digest));
    if state.result_bytes > 0 {
        line("result", bytes(state.result_bytes));
    }
    if let Some(analysis) = &state.analysis {
        let percent = (100 * analysis.done).checked_div(analysis.total).unwrap_or(0);
        line("analysis", format!("{percent} %"));
    }
    let rows = state.repositories.iter().map(|row| {
        let note = match (row.ended, row.failure.is_empty(), row.attached) {
            (_, false, _) => one_line(&row.failure),
            (true, ..) => "done".to_owned(),
            (false, _, true) => "at it".to_owned(),
            (false, _, false) => "waiting for the site".to_owned(),
        };
        vec![
            row.repository.as_ref().map(spec::name).unwrap_or_default(),
            count(row.documents_done),
            bytes(row.read_bytes),
            bytes(row.sent_bytes),
            note,
        ]
    });
    lines.push(String::new());
    lines.push(table(&["REPOSITORY", " READ", " BYTES", " SENT", "STATE"], rows));
    lines.join("\n")
}

/// A scan for programs.
pub(super) fn object(state: &ScanState) -> Value {
    let spec = state.spec.clone().unwrap_or_default();
    let method = spec.method.clone().unwrap_or_default();
    let repositories = state.repositories.iter().map(|row| {
        let named = row.repository.clone().unwrap_or_default();
        json!({
            "site": named.site,
            "repository": named.repository,
            "attached": row.attached,
            "entries_seen": row.entries_seen,
            "walk_finished": row.walk_finished,
            "documents_done": row.documents_done,
            "read_bytes": row.read_bytes,
            "sent_bytes": row.sent_bytes,
            "ended": row.ended,
            "failure": none_if_empty(&row.failure),
        })
    });
    json!({
        "id": ScanId(state.scan).to_string(),
        "status": status(state),
        "started": none_if_empty(&when(state.started)),
        "finished": none_if_empty(&when(state.finished)),
        "failure": none_if_empty(&state.failure),
        "launched_by": state.launched_by,
        "origin": none_if_empty(&spec.origin),
        "method": method.name,
        "view": view(&spec).replace("passages", "text"),
        "passages": view(&spec) == "passages",
        "chunk_bytes": method.chunk_bytes,
        "text": spec.text.as_ref().map(|text| json!({
            "chunk_bytes": text.method.as_ref().map(|method| method.chunk_bytes),
            "min_shared_bytes": text.min_shared_bytes,
        })),
        "match_message_ids": spec.match_message_ids,
        "control": spec.control,
        "min_shared_bytes": spec.min_shared_bytes,
        "min_containment": spec.min_containment,
        "across_only": spec.across_only,
        "no_sync": spec.no_sync,
        "require_complete": spec.require_complete,
        "refines": spec.refine.as_ref().map(|refine| ScanId(refine.scan).to_string()),
        "refined": spec.refine.as_ref().map(refine::object),
        "repositories": repositories.collect::<Value>(),
        "analysis": state.analysis.as_ref().map(|analysis| json!({
            "phase": analysis.phase().as_str_name().trim_start_matches("ANALYSIS_PHASE_").to_ascii_lowercase(),
            "done": analysis.done,
            "total": analysis.total,
        })),
        "waiting": none_if_empty(&state.waiting),
        "digest": none_if_empty(&state.digest),
        "result_bytes": state.result_bytes,
    })
}

/// What of documents a scan compares.
fn view(spec: &v1::ScanSpec) -> String {
    match (&spec.text, &spec.method) {
        (Some(_), _) => "both".to_owned(),
        (None, method) => method.as_ref().map(|method| one_line(&method.view)).unwrap_or_default(),
    }
}

pub(super) fn none_if_empty(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// The status as people and programs read it.
fn status(state: &ScanState) -> &'static str {
    match state.status() {
        ScanStatus::Syncing => "syncing",
        ScanStatus::Analysing => "analysing",
        ScanStatus::Complete => "complete",
        ScanStatus::Partial => "partial",
        ScanStatus::Cancelled => "cancelled",
        ScanStatus::Failed | ScanStatus::Unspecified => "failed",
    }
}

/// A time, or nothing.
pub(super) fn when(seconds: i64) -> String {
    if seconds == 0 { String::new() } else { time(seconds) }
}
