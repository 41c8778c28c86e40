//! A result as a file, from a page: written while it is sent, so that its size does not matter.

use std::io;

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

use crate::{PageError, Pages, Person, Shown, scan_id};
use cognate_export::Format;
use cognate_server::operator::blocking;
use cognate_storage::journal::Action;

/// Bytes that are sent at a time, and pieces that may wait.
const PIECE_BYTES: usize = 64 << 10;
const PIECES_WAITING: usize = 8;

pub(crate) fn routes() -> Router<Pages> {
    Router::new()
        .route("/scans/{id}/export/{extension}", get(export))
        .route("/scans/{id}/audit/{extension}", get(audit))
}

async fn export(person: Person, Path((id, extension)): Path<(String, String)>) -> Shown {
    let id = scan_id(&id)?;
    let format = Format::OFFERED.into_iter().find(|format| format.extension() == extension);
    let format = format.ok_or_else(PageError::not_found)?;
    let body = written(&person, id, format).await?;
    Ok(file(&format!("cognate-{id}.{}", format.extension()), format.content_type(), body))
}

/// A result in one of its formats, written while it is sent. The journal records who downloaded it.
pub(crate) async fn written(person: &Person, id: ScanId, format: Format) -> Result<Body, PageError> {
    person.may("FetchResult")?;
    let (service, operator) = (person.pages.service.clone(), person.operator.clone());
    let opening = blocking(move || {
        service.result_of(&operator, id)?;
        service.services.records.note(Action::Fetched, id.0, operator.name.as_str())?;
        service.services.results.report_with_verdicts(id)
    });
    let report = opening.await?;
    let (pieces, stream) = mpsc::channel(PIECES_WAITING);
    tokio::task::spawn_blocking(move || {
        let mut out = io::BufWriter::with_capacity(PIECE_BYTES, Pieces(pieces));
        let written = format.write(&report, 0, &mut out).and_then(|()| Ok(io::Write::flush(&mut out)?));
        if let Err(error) = written {
            tracing::warn!(scan = %id, extension = format.extension(), %error, "an export ended early");
            // A truncated file must not look complete: the connection is cut.
            let _ = out.get_ref().0.blocking_send(Err(io::Error::other("the export failed: see the log")));
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
    let making = tokio::task::spawn_blocking(move || pages.service.audited(&person.operator, id, format));
    let document = making.await.map_err(|_| PageError::internal("a page crashed: see the log"))??;
    Ok(file(&format!("cognate-audit-{id}.{extension}"), content_type, Body::from(document)))
}

/// A file to save, which a browser never shows in place of a page.
pub(crate) fn file(name: &str, content_type: &str, body: Body) -> Response {
    let disposition = format!("attachment; filename=\"{name}\"");
    ([(header::CONTENT_TYPE, content_type.to_owned()), (header::CONTENT_DISPOSITION, disposition)], body)
        .into_response()
}

/// Passes the written bytes on to the client, piece by piece.
struct Pieces(mpsc::Sender<io::Result<Vec<u8>>>);

impl io::Write for Pieces {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let sent = self.0.blocking_send(Ok(piece.to_vec()));
        sent.map(|()| piece.len()).map_err(|_| io::Error::new(io::ErrorKind::BrokenPipe, "the reader is gone"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
