//! One scan: its progress at each site, updated while it runs; the reason of a failure and advice; and its end.
//!
//! Its result is shown by other pages; `scan-tabs.html` links to them.

use std::convert::Infallible;

use askama::Template;
use axum::Router;
use axum::extract::Path;
use axum::response::IntoResponse as _;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::routing::{get, post};
use cognate_proto::name::ScanId;
use cognate_proto::options::ScanOptions;
use cognate_proto::v1::operator_server::Operator as _;
use cognate_proto::v1::{self, AnalysisPhase, FailureKind, ScanStatus};
use tokio::sync::mpsc;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;

use crate::scans::{ScanRow, repository};
use crate::{Again, Fields, Page, PageError, Pages, Person, Shown, filters, html, scan_id, see};
use cognate_export::{human, settings};

pub(crate) fn routes() -> Router<Pages> {
    Router::new()
        .route("/scans/{id}", get(scan))
        .route("/scans/{id}/live", get(live))
        .route("/scans/{id}/ended", get(ended))
        .route("/scans/{id}/rename", post(rename))
        .route("/scans/{id}/cancel", post(cancel))
        .route("/scans/{id}/delete", post(delete))
}

#[derive(Template)]
#[template(path = "scan.html")]
struct ScanPage {
    page: Page,
    scan: ScanRow,
    /// The form for its name.
    again: Again,
    view: ScanView,
    settings: Vec<(&'static str, String)>,
    is_under_way: bool,
    has_result: bool,
}

/// The part of the page that changes while the scan runs.
#[derive(Template)]
#[template(path = "scan-state.html")]
struct ScanPart {
    view: ScanView,
}

/// The present state of a scan.
struct ScanView {
    status: &'static str,
    failure: String,
    advice: &'static str,
    waiting: String,
    analysis: Option<Analysis>,
    repositories: Vec<RepositoryView>,
}

struct Analysis {
    phase: &'static str,
    done: u64,
    total: u64,
}

struct RepositoryView {
    name: String,
    state: &'static str,
    entries_seen: u64,
    walk_finished: bool,
    documents_done: u64,
    read_bytes: u64,
    sent_bytes: u64,
    failure: String,
}

impl ScanView {
    fn of(state: &v1::ScanState) -> ScanView {
        let phase = |phase| match phase {
            AnalysisPhase::Freezing => "fixing the input",
            AnalysisPhase::Exporting => "writing chunks for Spark",
            AnalysisPhase::Grouping => "the Spark cluster works",
            AnalysisPhase::Fetching => "reading what Spark returns",
            AnalysisPhase::Comparing => "comparing",
            AnalysisPhase::Publishing => "writing the result",
            AnalysisPhase::Unspecified => "waiting for its turn",
        };
        ScanView {
            status: crate::scans::status(state.status()),
            failure: state.failure.clone(),
            advice: advice(state),
            waiting: state.waiting.clone(),
            analysis: state.analysis.as_ref().filter(|_| state.status() == ScanStatus::Analysing).map(|analysis| {
                Analysis { phase: phase(analysis.phase()), done: analysis.done, total: analysis.total }
            }),
            repositories: state.repositories.iter().map(RepositoryView::of).collect(),
        }
    }
}

impl RepositoryView {
    fn of(state: &v1::RepositoryState) -> RepositoryView {
        let is_foreign = state.repository.as_ref().is_some_and(|named| named.repository.is_empty());
        RepositoryView {
            name: state.repository.as_ref().map(repository).unwrap_or_default(),
            state: match (state.ended, state.failure.is_empty(), state.attached) {
                (_, true, _) if is_foreign => "not shown",
                (true, true, _) if !state.waiting.is_empty() => "waited for",
                (true, true, _) => "done",
                (true, false, _) => "failed",
                (false, _, true) => "reading",
                (false, _, false) => "away",
            },
            // Of a scan that ended before the coordinator started, what the walk found is not known any more.
            entries_seen: state.entries_seen.max(state.documents_done),
            walk_finished: state.walk_finished,
            documents_done: state.documents_done,
            read_bytes: state.read_bytes,
            sent_bytes: state.sent_bytes,
            failure: if state.failure.is_empty() { state.waiting.clone() } else { state.failure.clone() },
        }
    }
}

/// Advice for a scan that failed or is partial.
fn advice(state: &v1::ScanState) -> &'static str {
    let has_missing = state.repositories.iter().any(|repository| !repository.failure.is_empty());
    match state.status() {
        ScanStatus::Failed if state.failure_kind() == FailureKind::Mismatch => {
            "Every site must have the same key file and version: `cognate worker key` shows the key's fingerprint at each. \
             Then launch the scan again."
        }
        ScanStatus::Failed if has_missing => {
            "The table shows why sites could not take part. Fix the cause (or leave these sites out), then launch the scan \
             again: sites read only what they have not read yet."
        }
        ScanStatus::Failed => {
            "Fix the cause, then launch the scan again: sites read only what they have not read yet. The coordinator's \
             log has more details."
        }
        ScanStatus::Partial => {
            "Sites are missing from this result, or gave less than they were asked for, as the table and the report say. Launch the \
             scan again once they are attached: the others read only what has changed."
        }
        ScanStatus::Cancelled => {
            "Somebody stopped it. The data that was read stays, so a new scan continues from there."
        }
        _ => "",
    }
}

async fn scan(person: Person, Path(id): Path<String>) -> Shown {
    show(&person, scan_id(&id)?, None).await
}

/// The page of a scan, with the form for its name as it was filled in.
async fn show(person: &Person, id: ScanId, again: Option<Again>) -> Shown {
    let state = shown(person, id).await?;
    let has_result = matches!(state.status(), ScanStatus::Complete | ScanStatus::Partial);
    let page = ScanPage {
        page: person.page("scans"),
        scan: ScanRow::of(&state),
        again: again.unwrap_or_else(|| Again::filled(Fields::of("name", &state.name))),
        view: ScanView::of(&state),
        settings: settings::of(&ScanOptions::of_record(state.options.as_ref())),
        is_under_way: matches!(state.status(), ScanStatus::Syncing | ScanStatus::Analysing),
        has_result,
    };
    page.again.answered(html(&page))
}

/// The state of a scan, if this person may see it.
pub(crate) async fn shown(person: &Person, id: ScanId) -> Result<v1::ScanState, PageError> {
    let request = person.ask("ShowScan", v1::ShowScanRequest { scan: id.0 })?;
    Ok(person.pages.service.show_scan(request).await?.into_inner())
}

/// The page that follows the end of a scan: its result, or where it has none the scan itself, which says why.
async fn ended(person: Person, Path(id): Path<String>) -> Shown {
    let id = scan_id(&id)?;
    let request = person.ask("ShowScan", v1::ShowScanRequest { scan: id.0 })?;
    let state = person.pages.service.show_scan(request).await?.into_inner();
    let has_result = state.result_bytes > 0;
    see(&if has_result { format!("/scans/{id}/result") } else { format!("/scans/{id}") })
}

/// Sends the changing part repeatedly, until the scan has ended or the session is no longer valid.
async fn live(person: Person, Path(id): Path<String>) -> Shown {
    let request = person.ask("WatchScan", v1::ShowScanRequest { scan: scan_id(&id)?.0 })?;
    let mut states = person.pages.service.watch_scan(request).await?.into_inner();
    let mut changes = person.pages.services().members.changes();
    let (events, stream) = mpsc::channel::<Result<Event, Infallible>>(4);
    tokio::spawn(async move {
        loop {
            let state = tokio::select! {
                state = states.next() => state,
                _ = changes.changed() => match person.holds() {
                    true => continue,
                    false => return,
                },
                () = events.closed() => return,
            };
            let is_over = match &state {
                Some(Ok(state)) => !matches!(state.status(), ScanStatus::Syncing | ScanStatus::Analysing),
                _ => true,
            };
            // After the end, another page shows the scan.
            let event = match (is_over, state) {
                (false, Some(Ok(state))) if person.holds() => {
                    let part = ScanPart { view: ScanView::of(&state) };
                    match part.render() {
                        Ok(part) => Event::default().event("part").data(part.replace('\r', " ")),
                        Err(error) => return tracing::warn!(%error, "a page failed"),
                    }
                }
                (false, _) => return,
                (true, _) => Event::default().event("over").data("."),
            };
            if events.send(Ok(event)).await.is_err() || is_over {
                return;
            }
        }
    });
    Ok(Sse::new(ReceiverStream::new(stream)).keep_alive(KeepAlive::default()).into_response())
}

async fn rename(person: Person, Path(id): Path<String>, fields: Fields) -> Shown {
    let id = scan_id(&id)?;
    let name = fields.text("name").unwrap_or_default().to_owned();
    let request = person.ask("RenameScan", v1::RenameScanRequest { scan: id.0, name: name.clone() })?;
    if let Err(status) = person.pages.service.rename_scan(request).await {
        return show(&person, id, Some(Again::of(fields, status.into(), &["name"])?)).await;
    }
    person.say(match name.as_str() {
        "" => "The scan has no name.".to_owned(),
        name => format!("The scan is called “{name}”."),
    });
    see(&format!("/scans/{id}"))
}

async fn cancel(person: Person, Path(id): Path<String>) -> Shown {
    let id = scan_id(&id)?;
    let request = person.ask("CancelScan", v1::CancelScanRequest { scan: id.0 })?;
    person.pages.service.cancel_scan(request).await?;
    person.say("The scan is stopping.");
    see(&format!("/scans/{id}"))
}

async fn delete(person: Person, Path(id): Path<String>) -> Shown {
    let id = scan_id(&id)?;
    let request = person.ask("DeleteScan", v1::DeleteScanRequest { scan: id.0 })?;
    let bytes = person.pages.service.delete_scan(request).await?.into_inner().bytes;
    person.say(format!("Scan {id} is deleted; {} are free again.", human::bytes(bytes)));
    see("/scans")
}
