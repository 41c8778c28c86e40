//! The checks that every request passes: the person behind it, the origin of a form, and the headers of the answer.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};

use crate::error::PageError;
use crate::fields::Fields;
use crate::person::{Person, csrf};
use crate::received::{FORM, LARGE_FORM, STRANGER, is_announced_within, received};
use crate::{ErrorPage, Page, Pages, html};

/// Lets only people through who are signed in, and only forms with the number of their session.
pub(crate) async fn guard(State(pages): State<Pages>, request: Request, next: Next) -> Response {
    let path: Arc<str> = request.uri().path_and_query().map_or("/", |path| path.as_str()).into();
    let Some((person, session)) = pages.browser(request.headers()) else {
        return to_sign_in(&pages, request.method(), &path);
    };
    if let Some(clean) = without_empty_fields(&request) {
        let mut response = Redirect::to(&clean).into_response();
        secured(&mut response);
        return response;
    }
    let response = match checked(&pages, request, Some((&person, &csrf(&session)))).await {
        Ok(mut request) => {
            request.extensions_mut().insert(person.clone());
            next.run(request).await
        }
        Err(error) => error.into_response(),
    };
    finished(response, &path, || person.page(""))
}

/// The address of a filter without the fields that were left empty, which a browser sends all the same: addresses are passed on,
/// and people read them. Nothing: it has none.
fn without_empty_fields(request: &Request) -> Option<String> {
    let query = request.uri().query().filter(|_| request.method() == Method::GET)?;
    let kept: Vec<&str> = query.split('&').filter(|pair| !pair.is_empty() && !pair.ends_with('=')).collect();
    let clean = kept.join("&");
    let path = request.uri().path();
    match clean.as_str() {
        same if same == query => None,
        "" => Some(path.to_owned()),
        clean => Some(format!("{path}?{clean}")),
    }
}

/// Pages that are open to everybody: they only get the headers.
pub(crate) async fn open(State(pages): State<Pages>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let response = match checked(&pages, request, None).await {
        Ok(request) => next.run(request).await,
        Err(error) => error.into_response(),
    };
    finished(response, &path, || Page::without_person(pages.now()))
}

/// Reads a form and checks that one of our pages sent it: with the secret of the person's session, if there is one.
async fn checked(pages: &Pages, request: Request, of: Option<(&Person, &str)>) -> Result<Request, PageError> {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return Ok(request);
    }
    // Browsers name the page that a request comes from, and pages cannot change that.
    let from = request.headers().get("sec-fetch-site").map(HeaderValue::as_bytes);
    if !matches!(from, None | Some(b"same-origin" | b"none")) {
        return Err(PageError::denied("this form was sent by another site: reload the page and try again"));
    }
    let (mut parts, body) = request.into_parts();
    let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.split(';').next().unwrap_or_default().trim() != "application/x-www-form-urlencoded" {
        return Err(PageError::invalid("a form is sent as `application/x-www-form-urlencoded`"));
    }
    let fields = match of {
        Some((person, _)) => form(pages, person, &parts, body).await?,
        None => Fields::read(&received(&parts, body, STRANGER).await?)?,
    };
    if of.is_some_and(|(_, token)| fields.text("csrf") != Some(token)) {
        return Err(PageError::denied("this form was made for another session: reload the page and try again"));
    }
    parts.extensions.insert(fields);
    Ok(Request::from_parts(parts, Body::empty()))
}

/// Reads the form of a person who is signed in.
async fn form(pages: &Pages, person: &Person, parts: &Parts, body: Body) -> Result<Fields, PageError> {
    if is_announced_within(parts, FORM) {
        return Fields::read(&received(parts, body, FORM).await?);
    }
    let place = pages.large_forms.place(&person.operator.name)?;
    let bytes = received(parts, body, LARGE_FORM).await?;
    // Megabytes take a while to decode, which must delay no other request.
    let fields = cognate_storage::disk::off_tasks(move || Fields::read(&bytes)).await;
    Ok(fields.map_err(|_| PageError::internal("a page crashed: see the log"))??.holding(place))
}

fn to_sign_in(pages: &Pages, method: &Method, path: &str) -> Response {
    // The data of the form is lost; the page that contains the form is the place to continue.
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

/// Turns errors into pages, and adds the security headers to every answer.
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

/// The policy of pages.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action \
                      'self'; base-uri 'none'; frame-ancestors 'none'";
/// The policy of the one worker: it runs a WebAssembly module of ours, loads that, and can do nothing else.
const POLICY_OF_WORKER: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'";

/// Marks the answer that has the script of a worker which runs a module.
#[derive(Clone, Copy)]
struct RunsModules;

/// The script of a worker, which may run modules.
pub(crate) fn running_modules(mut script: Response) -> Response {
    script.extensions_mut().insert(RunsModules);
    script
}

/// Only our own resources run or are loaded, no other site frames a page, and nothing is cached.
fn secured(response: &mut Response) {
    let runs_modules = response.extensions().get::<RunsModules>().is_some();
    let headers_to_set: [(HeaderName, &'static str); 7] = [
        (header::CONTENT_SECURITY_POLICY, if runs_modules { POLICY_OF_WORKER } else { POLICY }),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
    ];
    let headers = response.headers_mut();
    for (name, value) in headers_to_set {
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
