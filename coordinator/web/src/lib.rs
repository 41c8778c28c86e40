//! Pages and API of a coordinator over HTTP.
//!
//! **It promises** that a page makes the same calls as the command line, for the person who is signed in, and works without its script. Names from
//! outside are shown with the filters `name` and `sentence` only.
//!
//! **It must not know** how anything is stored, or who may do what: `server` decides that.
//!
//! Read `overview.rs` first, the simplest page. A page is a file: a function `routes`, handlers that take a `Person`, and a template each.

mod api;
mod assets;
mod audit;
mod error;
mod exports;
mod fields;
mod find;
mod find_hashes;
mod found;
mod glossary;
mod guard;
mod host;
mod http;
mod jobs;
mod large_forms;
mod launch;
mod overview;
mod people;
mod person;
mod plan;
mod probes;
mod problem;
mod received;
mod result;
mod scan;
mod scan_form;
mod scans;
mod schedules;
mod sign_in;
mod sites;
mod stored_queries;
mod templates;

pub use self::http::HttpListener;

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::response::{Html, IntoResponse as _, Response};
use cognate_proto::name::ScanId;
use cognate_proto::v1::Role;

pub(crate) use self::error::PageError;
pub(crate) use self::fields::Fields;
use self::jobs::Jobs;
use self::large_forms::LargeForms;
pub(crate) use self::person::Person;
pub(crate) use self::problem::Again;
pub(crate) use cognate_export::filters;
use cognate_server::Services;
use cognate_server::identity::Members;
use cognate_server::logins::{Logins, Notice};
use cognate_server::operator::OperatorService;

/// The menu: the key, address and name of each place, and the least role to which it is offered.
const MENU: [(&str, &str, &str, Role); 8] = [
    ("overview", "/", "Overview", Role::Viewer),
    ("scans", "/scans", "Scans", Role::Viewer),
    ("find", "/find", "Find", Role::Analyst),
    ("sites", "/sites", "Sites", Role::Viewer),
    ("schedules", "/schedules", "Schedules", Role::Viewer),
    ("templates", "/templates", "Templates", Role::Viewer),
    ("people", "/people", "People", Role::Administrator),
    ("audit", "/audit", "Audit log", Role::Administrator),
];

/// A place in the menu.
struct Place {
    path: &'static str,
    label: &'static str,
    is_here: bool,
}

/// The answer of a handler.
pub(crate) type Shown = Result<Response, PageError>;

/// The services and settings of the pages.
#[derive(Clone)]
pub(crate) struct Pages {
    /// The calls that a page may make, through [`Person::ask`].
    pub(crate) service: OperatorService,
    /// The address of the pages for browsers.
    address: Arc<str>,
    jobs: Jobs,
    large_forms: LargeForms,
}

/// The probes and metrics.
pub(crate) fn probes_router(service: OperatorService, address: &str) -> Router {
    probes::routes().with_state(Pages::new(service, address))
}

/// Everything that is served over HTTP.
pub(crate) fn router(service: OperatorService, address: &str) -> Router {
    let pages = Pages::new(service, address);
    let guarded = Router::new()
        .merge(exports::routes())
        .merge(find::routes())
        .merge(find_hashes::routes())
        .merge(stored_queries::routes())
        .merge(glossary::routes())
        .merge(overview::routes())
        .merge(result::routes())
        .merge(scan::routes())
        .merge(scans::routes())
        .merge(sites::routes())
        .merge(launch::routes())
        .merge(schedules::routes())
        .merge(templates::routes())
        .merge(people::routes())
        .merge(plan::routes())
        .merge(audit::routes())
        .fallback(async || PageError::not_found())
        .layer(axum::middleware::from_fn_with_state(pages.clone(), guard::guard));
    let open = Router::new()
        .merge(sign_in::routes())
        .merge(assets::routes())
        .layer(axum::middleware::from_fn_with_state(pages.clone(), guard::open));
    Router::new().merge(probes::routes()).merge(api::routes(&pages)).merge(open).merge(guarded).with_state(pages)
}

impl Pages {
    fn new(service: OperatorService, address: &str) -> Pages {
        Pages { service, address: address.into(), jobs: Jobs::default(), large_forms: LargeForms::default() }
    }

    pub(crate) fn services(&self) -> &Arc<Services> {
        &self.service.services
    }

    fn members(&self) -> &Members {
        &self.services().members
    }

    fn logins(&self) -> &Logins {
        &self.services().logins
    }

    /// Seconds since 1970.
    pub(crate) fn now(&self) -> i64 {
        self.services().records.now()
    }

    /// The person who is signed in at a browser, with the random number of the session.
    fn browser(&self, headers: &HeaderMap) -> Option<(Person, Arc<str>)> {
        let secret = guard::cookie(headers, &self.cookie_name("session"))?;
        let operator = self.logins().session(self.members(), secret)?;
        let session: Arc<str> = secret.into();
        let person = Person { operator, pages: self.clone(), session: Some(Arc::clone(&session)) };
        Some((person, session))
    }

    /// The name of a cookie contains the federation: several coordinators may share one address.
    fn cookie_name(&self, what: &str) -> String {
        let prefix = if self.is_https() { "__Host-" } else { "" };
        format!("{prefix}cognate-{what}-{}", self.members().deployment())
    }

    fn is_https(&self) -> bool {
        self.address.starts_with("https:")
    }

    /// Sets a cookie for so many seconds; 0 takes it away.
    fn set_cookie(&self, response: &mut Response, what: &str, value: &str, seconds: u32) {
        let secure = if self.is_https() { "; Secure" } else { "" };
        let name = self.cookie_name(what);
        let cookie = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
    }

    /// Remembers where somebody wanted to go, until it is signed in.
    fn remember(&self, response: &mut Response, to: &str) {
        let encoded: String = form_urlencoded::byte_serialize(to.as_bytes()).collect();
        if to != "/" && encoded.len() <= 1024 {
            self.set_cookie(response, "to", &encoded, 600);
        }
    }
}

/// The frame of every page: who looks at it, and when.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    /// The place in the menu.
    pub(crate) here: &'static str,
    /// The person who is signed in, or empty.
    pub(crate) name: String,
    pub(crate) role: &'static str,
    /// The bounds of the person, or empty.
    pub(crate) bound: String,
    pub(crate) is_analyst: bool,
    pub(crate) is_administrator: bool,
    /// For every form.
    pub(crate) csrf: String,
    /// Seconds since 1970.
    pub(crate) now: i64,
    /// A notice that is shown once.
    pub(crate) notice: Option<Notice>,
}

impl Page {
    fn menu(&self) -> Vec<Place> {
        let offered = MENU.iter().filter(|(_, _, _, role)| match role {
            Role::Administrator => self.is_administrator,
            Role::Analyst => self.is_analyst,
            _ => true,
        });
        offered.map(|(key, path, label, _)| Place { path, label, is_here: *key == self.here }).collect()
    }

    /// A page for people who are not signed in.
    fn without_person(now: i64) -> Page {
        Page {
            here: "",
            name: String::new(),
            role: "",
            bound: String::new(),
            is_analyst: false,
            is_administrator: false,
            csrf: String::new(),
            now,
            notice: None,
        }
    }
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    page: Page,
    error: PageError,
    /// The scan whose page was requested, if its own page says more; or empty.
    scan: String,
}

impl ErrorPage {
    fn new(page: Page, error: PageError, path: &str) -> ErrorPage {
        let scan = path.strip_prefix("/scans/").and_then(|rest| rest.split('/').next());
        let scan = scan.filter(|scan| error.status == StatusCode::CONFLICT && scan_id(scan).is_ok());
        ErrorPage { page, error, scan: scan.unwrap_or_default().to_owned() }
    }

    fn title(&self) -> &'static str {
        match self.error.status.as_u16() {
            400 => "That cannot be done",
            401 | 403 => "Not allowed",
            404 => "Not found",
            408 => "Too slow",
            409 => "Not possible in the present state",
            413 => "Too large",
            503 => "Not now",
            507 => "No disk space",
            _ => "Something is wrong",
        }
    }
}

/// A template as a page.
pub(crate) fn html(template: &impl Template) -> Shown {
    Ok(Html(template.render()?).into_response())
}

/// Redirects to another page, after a form.
pub(crate) fn see(path: &str) -> Shown {
    Ok(axum::response::Redirect::to(path).into_response())
}

/// The id of a scan in an address.
///
/// # Errors
/// Fails as a page that does not exist if it is invalid.
pub(crate) fn scan_id(text: &str) -> Result<ScanId, PageError> {
    let well_formed = text.len() == 16 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    let number = well_formed.then(|| u64::from_str_radix(text, 16).ok()).flatten();
    number.map(ScanId).ok_or_else(PageError::not_found)
}

#[cfg(test)]
mod tests;
