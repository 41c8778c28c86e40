//! Scans in lists and one by one.

use cognate_proto::name::{ScanId, one_line};
use cognate_proto::options::{ScanOptions, ScanView};
use cognate_proto::v1::{self, ScanState, ScanStatus};
use serde_json::{Value, json};

use super::{find, refine, spec};
use crate::exit::Exit;
use crate::operator::client::{Operator, OperatorArg};
use crate::operator::members::{TableFormat, print, print_json, time};
use cognate_export::human::{bytes, count};
use cognate_export::settings;
use cognate_export::table::table;

/// `cognate scan list`.
pub(super) async fn list(arg: &OperatorArg, search: Option<&str>, format: TableFormat) -> anyhow::Result<Exit> {
    let operator = Operator::open(arg).await?;
    let listed = operator.call(|mut client| async move { client.list_scans(v1::ListScansRequest {}).await }).await?;
    let shown: Vec<&ScanState> = listed.scans.iter().filter(|scan| search.is_none_or(|text| has(scan, text))).collect();
    match format {
        TableFormat::Json => print_json(&shown.into_iter().map(object).collect::<Value>())?,
        TableFormat::Text => {
            let rows = shown.into_iter().map(|scan| {
                vec![
                    ScanId(scan.scan).to_string(),
                    one_line(&scan.name),
                    status(scan).to_owned(),
                    when(scan.started),
                    when(scan.finished),
                    one_line(&scan.launched_by),
                    about(scan),
                ]
            });
            print(&table(&["SCAN", "NAME", "STATUS", "STARTED", "FINISHED", "BY", "REPOSITORIES"], rows))?;
        }
    }
    Ok(Exit::Complete)
}

/// True if a text is in the name of a scan, its repositories, or the name of the person; capitals do not matter.
fn has(scan: &ScanState, text: &str) -> bool {
    let text = text.to_lowercase();
    [scan.name.clone(), about(scan), scan.launched_by.clone()].iter().any(|field| field.to_lowercase().contains(&text))
}

/// The repositories of a scan, and what it refines of them.
fn about(state: &ScanState) -> String {
    let refine = state.options.as_ref().and_then(|options| options.refine.as_ref());
    let refines = refine.map(|refine| format!(", refines {}", ScanId(refine.scan)));
    format!("{}{}", state.options.as_ref().map(spec::names).unwrap_or_default(), refines.unwrap_or_default())
}

/// `cognate scan show`.
pub(super) async fn show(arg: &OperatorArg, scan: &str, format: TableFormat) -> anyhow::Result<Exit> {
    let operator = Operator::open(arg).await?;
    let id = find(&operator, scan).await?;
    let request = v1::ShowScanRequest { scan: id.0 };
    let state = operator.call(|mut client| async move { client.show_scan(request).await }).await?;
    match format {
        TableFormat::Json => print_json(&object(&state))?,
        TableFormat::Text => print(&text(&state))?,
    }
    Ok(Exit::Complete)
}

/// A scan for people.
pub(super) fn text(state: &ScanState) -> String {
    let mut lines = Vec::new();
    let mut line = |name: &str, value: String| {
        if !value.is_empty() {
            lines.push(format!("{name:<26}{value}"));
        }
    };
    line("scan", ScanId(state.scan).to_string());
    line("status", status(state).to_owned());
    line("name", one_line(&state.name));
    line("failure", one_line(&state.failure));
    line("waits for", one_line(&state.waiting));
    line("started", when(state.started));
    line("finished", when(state.finished));
    line("by", one_line(&state.launched_by));
    let options = ScanOptions::of_record(state.options.as_ref());
    line("from", one_line(&options.origin));
    settings::of(&options).into_iter().for_each(|(name, value)| line(&name.to_lowercase(), one_line(&value)));
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
            _ if row.repository.as_ref().is_some_and(|named| named.repository.is_empty()) => {
                "another party's".to_owned()
            }
            (true, ..) if row.fine_chunks_done < row.fine_chunks => {
                let finer = format!("{} of {} finer chunks", count(row.fine_chunks_done), count(row.fine_chunks));
                match row.waiting.is_empty() {
                    true => finer,
                    false => format!("{finer}, {}", one_line(&row.waiting)),
                }
            }
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
    let options = ScanOptions::of_record(state.options.as_ref());
    let layers = options.layers().unwrap_or_default();
    let first = layers.first();
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
            "open_bytes": row.open_bytes,
            "fine_chunks": row.fine_chunks,
            "fine_chunks_done": row.fine_chunks_done,
            "waiting": none_if_empty(&row.waiting),
            "ended": row.ended,
            "failure": none_if_empty(&row.failure),
        })
    });
    let more = json!({
        "param": none_if_empty(&options.param),
        "precision": options.precision.name(),
        "engine": options.engine.name(),
        "spark": none_if_empty(&options.spark),
        "exchange": none_if_empty(&options.exchange),
        "greedy": options.greedy,
        "follow": options.follow,
        "sync_deadline_seconds": options.sync_deadline.map(|limit| limit.as_secs()),
        "memory_budget": options.memory_budget_bytes,
        "threads": options.threads,
    });
    let mut shown = json!({
        "id": ScanId(state.scan).to_string(),
        "name": none_if_empty(&state.name),
        "status": status(state),
        "started": none_if_empty(&when(state.started)),
        "finished": none_if_empty(&when(state.finished)),
        "failure": none_if_empty(&state.failure),
        "launched_by": state.launched_by,
        "origin": none_if_empty(&options.origin),
        "method": options.method,
        "view": options.view.name().replace("passages", "text"),
        "passages": options.view == ScanView::Passages,
        "chunk_bytes": first.map_or(0, |layer| layer.method.chunk_bytes()),
        "text": layers.get(1).map(|text| json!({
            "chunk_bytes": text.method.chunk_bytes(),
            "min_shared_bytes": text.min_shared_bytes,
        })),
        "match_message_ids": options.match_message_ids,
        "include": options.include,
        "exclude": options.exclude,
        "size_max": options.size_max_bytes,
        "sample": options.sample_percent,
        "control": options.control,
        "align": options.align,
        "no_align": options.no_align,
        "min_shared_bytes": first.map_or(0, |layer| layer.min_shared_bytes),
        "min_containment": options.min_containment,
        "across_only": options.across_only,
        "no_sync": options.no_sync,
        "require_complete": options.require_complete,
        "refines": options.refine.map(|refine| refine.scan.to_string()),
        "refined": options.refine.as_ref().map(refine::object),
        "repositories": repositories.collect::<Value>(),
        "analysis": state.analysis.as_ref().map(|analysis| json!({
            "phase": analysis.phase().as_str_name().trim_start_matches("ANALYSIS_PHASE_").to_ascii_lowercase(),
            "done": analysis.done,
            "total": analysis.total,
        })),
        "waiting": none_if_empty(&state.waiting),
        "digest": none_if_empty(&state.digest),
        "result_bytes": state.result_bytes,
    });
    if let (Value::Object(shown), Value::Object(more)) = (&mut shown, more) {
        shown.extend(more);
    }
    shown
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

#[cfg(test)]
mod tests {
    use super::*;

    fn state(include: &[&str], size_max_bytes: Option<u64>) -> ScanState {
        let options = ScanOptions {
            repositories: vec![("a".parse().unwrap(), "main".parse().unwrap())],
            include: include.iter().map(ToString::to_string).collect(),
            exclude: vec!["*.bak".to_owned()],
            size_max_bytes,
            ..ScanOptions::default()
        };
        ScanState { scan: 7, options: Some((&options).into()), ..ScanState::default() }
    }

    #[test]
    fn the_selection_of_a_scan_is_shown_to_people_and_to_programs() {
        let narrowed = state(&["*.txt", "/a\u{1b}b"], Some(4000));
        let shown = text(&narrowed);
        for (name, value) in [("only", "*.txt, /a"), ("without", "*.bak"), ("no larger than", "4.0 kB")] {
            let line = format!("{name:<26}{value}");
            assert!(shown.lines().any(|one| one.starts_with(&line)), "{line}: {shown}");
        }
        assert!(!shown.contains('\u{1b}'), "{shown}");
        let shown = object(&narrowed);
        assert_eq!(shown["include"], json!(["*.txt", "/a\u{1b}b"]));
        assert_eq!((&shown["exclude"], &shown["size_max"]), (&json!(["*.bak"]), &json!(4000)));
        let all = state(&[], None);
        assert!(!text(&all).contains("\nonly  ") && !text(&all).contains("\nno larger"));
        assert_eq!((&object(&all)["include"], &object(&all)["size_max"]), (&json!([]), &Value::Null));
    }
}
