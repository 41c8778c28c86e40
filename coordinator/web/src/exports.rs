//! A result as a file, from a page: written to the disk while it is sent, so that its size does not matter and no thread
//! waits for the reader.

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use cognate_proto::name::ScanId;
use cognate_proto::v1::AuditFormat;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::{Fields, PageError, Pages, Person, Shown, scan_id};
use cognate_export::Format;
use cognate_result::report::Choice;
use cognate_server::operator::blocking;
use cognate_storage::journal::Action;

pub(crate) fn routes() -> Router<Pages> {
    Router::new()
        .route("/scans/{id}/export/{extension}", get(export))
        .route("/scans/{id}/audit/{extension}", get(audit))
}

async fn export(person: Person, Path((id, extension)): Path<(String, String)>, fields: Fields) -> Shown {
    let id = scan_id(&id)?;
    let format = Format::OFFERED.into_iter().find(|format| format.extension() == extension);
    let format = format.ok_or_else(PageError::not_found)?;
    let choice = choice(&fields)?;
    let part = if choice.is_empty() { "" } else { "-part" };
    let body = written(&person, id, format, choice).await?;
    Ok(file(&format!("cognate-{id}{part}.{}", format.extension()), format.content_type(), body))
}

/// The clusters to which an address limits a report: `verdict`, `tag` and `assignee`, as in the filter of the list.
///
/// # Errors
/// Fails if there is no such verdict.
pub(crate) fn choice(fields: &Fields) -> Result<Choice, PageError> {
    let tags: Vec<String> = fields.all("tag").filter(|tag| !tag.is_empty()).map(str::to_owned).collect();
    let choice = Choice::parse(fields.text("verdict"), &tags, fields.text("assignee"));
    choice.map_err(|error| PageError::from(cognate_server::Error::from(error)))
}

/// A result in one of its formats, written while it is sent. The journal records who downloaded it.
pub(crate) async fn written(person: &Person, id: ScanId, format: Format, choice: Choice) -> Result<Body, PageError> {
    person.may("FetchResult")?;
    let (service, operator) = (person.pages.service.clone(), person.operator.clone());
    let slot = service.services.streams.open_page(&operator);
    let slot = slot.map_err(|refused| PageError::busy(refused.message()))?;
    let streams = Arc::clone(&service.services.streams);
    let opening = blocking(move || {
        service.result_of(&operator, id)?;
        service.services.records.note(Action::Fetched, id.0, operator.name.as_str())?;
        let mut report = service.reviewed_report(&operator, id)?;
        report.choose(&choice)?;
        Ok(report)
    });
    let report = opening.await?;
    let mut written = streams.spooled(move |out| Ok(format.write(&report, 0, out)?));
    let (pieces, stream) = mpsc::channel(1);
    tokio::spawn(async move {
        let _slot = slot;
        loop {
            let piece = match written.next().await {
                Ok(Some(piece)) => Ok(piece),
                Ok(None) => return,
                Err(status) => {
                    let error = status.message();
                    tracing::warn!(scan = %id, extension = format.extension(), error, "an export ended early");
                    // A truncated file must not look complete: the connection is cut.
                    Err(io::Error::other("the export failed: see the log"))
                }
            };
            let failed = piece.is_err();
            if pieces.send(piece).await.is_err() || failed {
                return;
            }
        }
    });
    Ok(Body::from_stream(ReceiverStream::new(stream)))
}

async fn audit(State(pages): State<Pages>, person: Person, Path((id, extension)): Path<(String, String)>) -> Shown {
    person.may("Audit")?;
    let id = scan_id(&id)?;
    let (format, content_type) = match extension.as_str() {
        "html" => (AuditFormat::Html, "text/html; charset=utf-8"),
        "json" => (AuditFormat::Json, "application/json"),
        _ => return Err(PageError::not_found()),
    };
    let making = cognate_storage::disk::off_tasks(move || pages.service.audited(&person.operator, id, format));
    let document = making.await.map_err(|_| PageError::internal("a page crashed: see the log"))??;
    Ok(file(&format!("cognate-audit-{id}.{extension}"), content_type, Body::from(document)))
}

/// A file to save, which a browser never shows in place of a page.
pub(crate) fn file(name: &str, content_type: &str, body: Body) -> Response {
    let disposition = format!("attachment; filename=\"{name}\"");
    ([(header::CONTENT_TYPE, content_type.to_owned()), (header::CONTENT_DISPOSITION, disposition)], body)
        .into_response()
}
