//! The API for programs: the same calls as the command line's, as JSON, with a credential from `cognate operator login
//! --token` in the header `Authorization`. Sessions of browsers do not count here.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use serde_json::json;

use super::{PageError, Pages, Person};
use crate::identity::Refusal;

const OPENAPI: &str = include_str!("../../static/openapi.json");

pub(super) fn routes(pages: &Pages) -> Router<Pages> {
    let versioned = Router::new()
        .route("/openapi.json", get(openapi))
        .fallback(async || PageError::not_found())
        .layer(axum::middleware::from_fn_with_state(pages.clone(), guard));
    Router::new().route("/api/openapi.json", get(openapi)).nest("/api/v1", versioned)
}

async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}

/// Lets only programs with a credential through.
async fn guard(State(pages): State<Pages>, mut request: Request, next: Next) -> Response {
    let Some(operator) = bearer(request.headers()).and_then(|token| pages.logins().program(pages.members(), token))
    else {
        pages.members().refusals().count(Refusal::Session);
        let mut response = told(&PageError::nobody(Refusal::Session.to_string()));
        response.headers_mut().insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
        return response;
    };
    request.extensions_mut().insert(Person { operator, pages, session: None });
    let mut response = next.run(request).await;
    if let Some(error) = response.extensions_mut().remove::<PageError>() {
        return told(&error);
    }
    if response.status() == StatusCode::METHOD_NOT_ALLOWED {
        return told(&PageError::not_found());
    }
    response.headers_mut().insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    response
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ").map(str::trim)
}

/// An error as JSON.
fn told(error: &PageError) -> Response {
    let body = format!("{}\n", json!({"error": error.message}));
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    (error.status, headers, body).into_response()
}
