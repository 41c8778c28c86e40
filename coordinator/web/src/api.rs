//! The API for programs: the same calls as the command line's, as JSON, with a credential from `cognate operator login
//! --token` in the header `Authorization`. Sessions of browsers do not count here.

mod rows;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use cognate_export::Format;
use cognate_proto::name::ScanId;
use cognate_proto::v1::operator_server::Operator as _;
use cognate_proto::v1::{self, MemberKind};
use serde::Serialize;
use serde_json::{Map, Value, json};

use self::rows::{ScanRow, SiteRow};
use crate::received::{PROGRAM, received};
use crate::scan_form;
use crate::{Fields, PageError, Pages, Person, Shown, scan_id};
use cognate_desk::stored_query::{CaseRow, WatchRow};
use cognate_server::identity::Refusal;
use cognate_storage::clock::random_number;

const OPENAPI: &str = include_str!("../static/openapi.json");

pub(crate) fn routes(pages: &Pages) -> Router<Pages> {
    let versioned = Router::new()
        .route("/openapi.json", get(openapi))
        .route("/sites", get(sites))
        .route("/scans", get(scans).post(launch))
        .route("/scans/{id}", get(scan))
        .route("/scans/{id}/report", get(report))
        .route("/scans/{id}/explain", get(explain))
        .route("/watches", get(watches))
        .route("/cases", get(cases))
        .route("/cases/{name}", get(case))
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
        let mut response = failure(&PageError::not_signed_in(Refusal::Session.to_string()));
        response.headers_mut().insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
        return response;
    };
    request.extensions_mut().insert(Person { operator, pages, session: None });
    let (parts, body) = request.into_parts();
    let request = match received(&parts, body, PROGRAM).await {
        Ok(body) => Request::from_parts(parts, Body::from(body)),
        Err(error) => return failure(&error),
    };
    let mut response = next.run(request).await;
    if let Some(error) = response.extensions_mut().remove::<PageError>() {
        return failure(&error);
    }
    if response.status() == StatusCode::METHOD_NOT_ALLOWED {
        return failure(&PageError::not_found());
    }
    response.headers_mut().insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    response
}

async fn sites(person: Person) -> Shown {
    let service = &person.pages.service;
    let kind = MemberKind::Site.into();
    let members = service.list_members(person.ask("ListMembers", v1::ListMembersRequest { kind })?).await?.into_inner();
    let repositories = service.list_repositories(person.ask("ListRepositories", v1::ListRepositoriesRequest {})?);
    let repositories = repositories.await?.into_inner().repositories;
    Ok(answer(&members.members.iter().map(|member| SiteRow::of(member, &repositories)).collect::<Vec<_>>()))
}

async fn scans(person: Person) -> Shown {
    let request = person.ask("ListScans", v1::ListScansRequest {})?;
    let scans = person.pages.service.list_scans(request).await?.into_inner().scans;
    Ok(answer(&scans.iter().map(ScanRow::from).collect::<Vec<_>>()))
}

async fn scan(person: Person, Path(id): Path<String>) -> Shown {
    Ok(answer(&ScanRow::from(&crate::scan::shown(&person, scan_id(&id)?).await?)))
}

/// Launches a scan. A program gives its options and, if it may ask again, an id.
async fn launch(person: Person, body: Bytes) -> Shown {
    let mut values: Map<String, Value> =
        serde_json::from_slice(&body).map_err(|error| PageError::invalid(error.to_string()))?;
    let id = match values.remove("id").unwrap_or_default() {
        Value::Null => ScanId(random_number().max(1)),
        id => scan_id(id.as_str().unwrap_or_default())
            .map_err(|_| PageError::invalid("`id`: an id is 16 hexadecimal digits"))?,
    };
    let name = match values.remove("name").unwrap_or_default() {
        Value::Null => String::new(),
        Value::String(name) => name,
        _ => return Err(PageError::invalid("`name`: it is not a text")),
    };
    let options = Some(scan_form::of_program(values)?.into());
    let request = v1::LaunchScanRequest { scan: id.0, options, name };
    person.pages.service.launch_scan(person.ask("LaunchScan", request)?).await?;
    let mut response = answer(&ScanRow::from(&crate::scan::shown(&person, id).await?));
    *response.status_mut() = StatusCode::ACCEPTED;
    Ok(response)
}

/// The report as one object, written as it is read.
async fn report(person: Person, Path(id): Path<String>, fields: Fields) -> Shown {
    let id = scan_id(&id)?;
    crate::scan::shown(&person, id).await?;
    let body = crate::exports::written(&person, id, Format::Json, crate::exports::choice(&fields)?).await?;
    Ok(([(header::CONTENT_TYPE, Format::Json.content_type())], body).into_response())
}

/// What two documents share, as `cognate explain --format json` writes it.
async fn explain(person: Person, Path(id): Path<String>, fields: Fields) -> Shown {
    let id = scan_id(&id)?;
    let [a, b] = ["a", "b"].map(|name| fields.all(name).next().unwrap_or_default().to_owned());
    for (name, value) in [("a", &a), ("b", &b)] {
        if value.is_empty() {
            return Err(PageError::invalid(format!("`{name}`: a document, as site/repository/path")));
        }
    }
    Ok(answer(&crate::result::explained(&person, id, a, b).await?))
}

async fn watches(person: Person) -> Shown {
    let states = crate::stored_queries::watch_states(&person).await?;
    Ok(answer(&states.into_iter().map(WatchRow::from).collect::<Vec<_>>()))
}

async fn cases(person: Person) -> Shown {
    let cases = crate::stored_queries::all_cases(&person).await?;
    Ok(answer(&cases.into_iter().map(CaseRow::from).collect::<Vec<_>>()))
}

/// The complete record, with all answers.
async fn case(person: Person, Path(name): Path<String>) -> Shown {
    let record = crate::stored_queries::exported(&person, &name).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], record).into_response())
}

fn answer(value: &impl Serialize) -> Response {
    match serde_json::to_string_pretty(value) {
        Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text + "\n").into_response(),
        Err(error) => PageError::internal(error.to_string()).into_response(),
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ").map(str::trim)
}

/// An error as JSON.
fn failure(error: &PageError) -> Response {
    let body = format!("{}\n", json!({"error": error.message}));
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    (error.status, headers, body).into_response()
}
