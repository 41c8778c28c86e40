//! The style sheet, the script and the icon: part of this binary.

use axum::Router;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;

use crate::Pages;

const STYLE: &str = include_str!("../static/style.css");
const SCRIPT: &str = include_str!("../static/script.js");
const ICON: &str = include_str!("../static/icon.svg");

pub(crate) fn routes() -> Router<Pages> {
    Router::new()
        .route("/static/style.css", get(async || file("text/css; charset=utf-8", STYLE)))
        .route("/static/script.js", get(async || file("text/javascript; charset=utf-8", SCRIPT)))
        .route("/static/icon.svg", get(async || file("image/svg+xml", ICON)))
        .route("/favicon.ico", get(async || file("image/svg+xml", ICON)))
}

fn file(kind: &'static str, content: &'static str) -> Response {
    // Addresses carry the version: see `layout.html`.
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "private, max-age=3600")], content).into_response()
}
