//! A result as a file, from a page: written while it is sent, however large it is.

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

use super::{PageError, Pages, Person, Shown, scan_id};
use crate::http::Export;
use crate::journal::Action;
use crate::operator::blocking;

/// How much is sent at a time, and how many such pieces may wait.
const PIECE_BYTES: usize = 64 << 10;
const PIECES_WAITING: usize = 8;

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route("/scans/{id}/export/{extension}", get(export))
        .route("/scans/{id}/audit/{extension}", get(audit))
}

async fn export(State(pages): State<Pages>, person: Person, Path((id, extension)): Path<(String, String)>) -> Shown {
    let id = scan_id(&id)?;
    let export = pages.exports.iter().find(|export| export.extension == extension).ok_or_else(PageError::not_found)?;
    let body = written(&person, id, export).await?;
    Ok(file(&format!("cognate-{id}.{}", export.extension), export.content_type, body))
}

/// A result in one of its forms, written while it is sent. Who took it is written down.
pub(super) async fn written(person: &Person, id: ScanId, export: &'static Export) -> Result<Body, PageError> {
    person.may("FetchResult")?;
    let (service, operator) = (person.pages.service.clone(), person.operator.clone());
    let opening = blocking(move || {
        service.result_of(&operator, id)?;
        service.coordinator.note(Action::Fetched, id.0, operator.name.as_str())?;
        service.coordinator.report_with_verdicts(id)
    });
    let report = opening.await?;
    let (pieces, stream) = mpsc::channel(PIECES_WAITING);
    tokio::task::spawn_blocking(move || {
        let mut out = io::BufWriter::with_capacity(PIECE_BYTES, Pieces(pieces));
        let written = (export.write)(&report, &mut out).and_then(|()| Ok(io::Write::flush(&mut out)?));
        if let Err(error) = written {
            tracing::warn!(scan = %id, extension = export.extension, %error, "an export ended early");
            // What was sent so far must not pass for the whole: the connection is cut.
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

/// A file to be kept, never one to be shown in the place of a page.
pub(super) fn file(name: &str, content_type: &str, body: Body) -> Response {
    let disposition = format!("attachment; filename=\"{name}\"");
    ([(header::CONTENT_TYPE, content_type.to_owned()), (header::CONTENT_DISPOSITION, disposition)], body)
        .into_response()
}

/// What is written, piece by piece, to who reads it.
struct Pieces(mpsc::Sender<io::Result<Vec<u8>>>);

impl io::Write for Pieces {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let sent = self.0.blocking_send(Ok(piece.to_vec()));
        sent.map(|()| piece.len()).map_err(|_| io::Error::new(io::ErrorKind::BrokenPipe, "who reads is gone"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Pages {
    /// The forms in which results can be had.
    pub(super) fn exports(&self) -> &'static [Export] {
        self.exports
    }
}
