//! What every page passes on its way in and out: who asks, whether a form is one of ours, and what browsers are told not to
//! do with what they get.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};

use crate::error::PageError;
use crate::fields::Fields;
use crate::person::csrf;
use crate::{ErrorPage, Page, Pages, html};

/// No form is larger.
const FORM_BYTES_MAX: usize = 8 << 20;

/// Lets only persons through, and forms only with the number of their session.
pub(crate) async fn guard(State(pages): State<Pages>, request: Request, next: Next) -> Response {
    let path: Arc<str> = request.uri().path_and_query().map_or("/", |path| path.as_str()).into();
    let Some((person, session)) = pages.browser(request.headers()) else {
        return to_sign_in(&pages, request.method(), &path);
    };
    let response = match checked(request, Some(&csrf(&session))).await {
        Ok(mut request) => {
            request.extensions_mut().insert(person.clone());
            next.run(request).await
        }
        Err(error) => error.into_response(),
    };
    finished(response, &path, || person.page(""))
}

/// What is open to everybody: only told how to treat what they get.
pub(crate) async fn open(State(pages): State<Pages>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let response = match checked(request, None).await {
        Ok(request) => next.run(request).await,
        Err(error) => error.into_response(),
    };
    finished(response, &path, || Page::of_nobody(pages.now()))
}

/// Reads a form and makes sure that a page of ours sent it.
async fn checked(request: Request, token: Option<&str>) -> Result<Request, PageError> {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return Ok(request);
    }
    // Browsers say whose page a request comes from, and pages cannot lie about it.
    let from = request.headers().get("sec-fetch-site").map(HeaderValue::as_bytes);
    if !matches!(from, None | Some(b"same-origin" | b"none")) {
        return Err(PageError::denied("this form came from another place: open the page anew and try again"));
    }
    let (mut parts, body) = request.into_parts();
    let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.split(';').next().unwrap_or_default().trim() != "application/x-www-form-urlencoded" {
        return Err(PageError::invalid("a form is sent as `application/x-www-form-urlencoded`"));
    }
    let bytes = to_bytes(body, FORM_BYTES_MAX).await;
    let bytes = bytes.map_err(|_| PageError::invalid("the form was cut off, or is larger than 8 MiB"))?;
    let fields = Fields::read(&bytes);
    if token.is_some_and(|token| fields.text("csrf") != Some(token)) {
        return Err(PageError::denied("this form was made for another session: open the page anew and try again"));
    }
    parts.extensions.insert(fields);
    Ok(Request::from_parts(parts, Body::empty()))
}

fn to_sign_in(pages: &Pages, method: &Method, path: &str) -> Response {
    // What was sent with a form is gone; the page that it stood on is where to go on.
    let to = if *method == Method::GET { path } else { "/" };
    let mut response = match to {
        "/" => Redirect::to("/sign-in").into_response(),
        to => {
            let to: String = form_urlencoded::byte_serialize(to.as_bytes()).collect();
            Redirect::to(&format!("/sign-in?to={to}")).into_response()
        }
    };
    pages.remember(&mut response, to);
    secured(&mut response);
    response
}

/// Errors become pages, and every answer says how it is to be treated.
fn finished(mut response: Response, path: &str, page: impl FnOnce() -> Page) -> Response {
    if let Some(error) = response.extensions_mut().remove::<PageError>() {
        let status = error.status;
        let shown = html(&ErrorPage::new(page(), error, path));
        response = shown.unwrap_or_else(IntoResponse::into_response);
        *response.status_mut() = status;
    } else if response.status() == StatusCode::METHOD_NOT_ALLOWED {
        response = PageError::not_found().into_response();
        return finished(response, path, page);
    }
    secured(&mut response);
    response
}

/// Nothing but what we serve runs or is loaded, nobody frames a page, nothing is kept.
fn secured(response: &mut Response) {
    let told: [(HeaderName, &'static str); 7] = [
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action \
             'self'; base-uri 'none'; frame-ancestors 'none'",
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
    ];
    let headers = response.headers_mut();
    for (name, value) in told {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

/// A cookie of a request.
pub(crate) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
}
