//! Probes: `/livez`, `/readyz` and `/metrics`, open to every client that can connect.

use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use serde::Serialize;

use crate::Pages;

/// The longest time that the check of the state may take: less than probes wait.
const CHECK_TIMEOUT: Duration = Duration::from_secs(3);

pub(crate) fn routes() -> Router<Pages> {
    Router::new().route("/livez", get(|| async { "ok\n" })).route("/readyz", get(ready)).route("/metrics", get(metrics))
}

#[derive(Serialize)]
struct Readiness {
    ready: bool,
    reasons: Vec<String>,
}

async fn ready(State(pages): State<Pages>) -> Response {
    let asked = cognate_storage::disk::off_tasks(move || pages.services().health.reasons_not_ready());
    let reasons = match tokio::time::timeout(CHECK_TIMEOUT, asked).await {
        Ok(Ok(reasons)) => reasons,
        Ok(Err(_)) => vec!["the check of the state crashed: see the log".to_owned()],
        Err(_) => vec![format!("the disk of the state did not answer within {CHECK_TIMEOUT:?}")],
    };
    let status = if reasons.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = serde_json::to_string(&Readiness { ready: reasons.is_empty(), reasons }).unwrap_or_default();
    (status, [(header::CONTENT_TYPE, "application/json")], format!("{body}\n")).into_response()
}

async fn metrics(State(pages): State<Pages>) -> Response {
    let text = cognate_storage::disk::off_tasks(move || pages.services().health.measure()).await.unwrap_or_default();
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}
