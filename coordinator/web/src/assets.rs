//! The style sheet, the script and the icon: part of this binary.

use std::io::Read as _;

use axum::Router;
use axum::body::Bytes;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;

use lzma_rust2::XzReader;
use tokio::sync::OnceCell;

use crate::guard::running_modules;
use crate::{PageError, Pages};

const STYLE: &str = include_str!("../static/style.css");
const SCRIPT: &str = include_str!("../static/script.js");
/// The script of the page of finds, and that of its worker.
const FIND: &str = include_str!("../static/find.js");
const FINGERPRINT: &str = include_str!("../static/fingerprint.js");
/// What the worker runs: crate `query`, built by `query/browser.sh`.
const MODULE: &[u8] = include_bytes!("../static/fingerprint.wasm.xz");
const ICON: &str = include_str!("../static/icon.svg");

pub(crate) fn routes() -> Router<Pages> {
    Router::new()
        .route("/static/style.css", get(async || file("text/css; charset=utf-8", STYLE)))
        .route("/static/script.js", get(async || file("text/javascript; charset=utf-8", SCRIPT)))
        .route("/static/find.js", get(async || file("text/javascript; charset=utf-8", FIND)))
        .route(
            "/static/fingerprint.js",
            get(async || running_modules(file("text/javascript; charset=utf-8", FINGERPRINT))),
        )
        .route("/static/fingerprint.wasm", get(module))
        .route("/static/icon.svg", get(async || file("image/svg+xml", ICON)))
        .route("/favicon.ico", get(async || file("image/svg+xml", ICON)))
}

fn file(kind: &'static str, content: &'static str) -> Response {
    // Addresses carry the version: see `layout.html`.
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "private, max-age=3600")], content).into_response()
}

/// The module, unpacked once.
async fn module() -> Response {
    static UNPACKED: OnceCell<Result<Bytes, String>> = OnceCell::const_new();
    let unpacked = UNPACKED.get_or_init(async || {
        let unpacked = cognate_storage::disk::off_tasks(|| {
            let mut module = Vec::new();
            XzReader::new(MODULE, false).read_to_end(&mut module).map(|_| module)
        });
        unpacked.await.map_err(|error| error.to_string())?.map(Bytes::from).map_err(|error| error.to_string())
    });
    match unpacked.await {
        Ok(module) => {
            let headers =
                [(header::CONTENT_TYPE, "application/wasm"), (header::CACHE_CONTROL, "private, max-age=86400")];
            (headers, module.clone()).into_response()
        }
        Err(error) => PageError::internal(format!("the module cannot be unpacked: {error}")).into_response(),
    }
}
