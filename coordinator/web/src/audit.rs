//! The audit log: the acts of people, newest first, read from the journal. For administrators.

use askama::Template;
use axum::Router;
use axum::routing::get;
use cognate_proto::v1;
use cognate_proto::v1::operator_server::Operator as _;

use crate::exports::file;
use crate::{Fields, Page, PageError, Pages, Person, Shown, filters, html, scan_id};
use cognate_export::grid::{Column, CsvRows, Kind, Rows as _, column};
use cognate_export::human;
use cognate_storage::store::Store;

pub(crate) fn routes() -> Router<Pages> {
    Router::new().route("/audit", get(list)).route("/audit/csv", get(csv))
}

/// The columns of the events for programs.
const COLUMNS: [Column; 6] = [
    column("time", "When", Kind::Text, 20),
    column("by", "Who", Kind::Text, 16),
    column("action", "Action", Kind::Text, 16),
    column("subject", "Subject", Kind::Text, 60),
    column("repositories", "Repositories", Kind::Text, 40),
    column("detail", "Details", Kind::Text, 40),
];
/// Events that a file asks for at once, and at most.
const FILE_PAGE: u32 = 1000;
const FILE_EVENTS_MAX: usize = 100_000;

/// Events on a page.
const ROWS: u32 = 100;

#[derive(Template)]
#[template(path = "audit-log.html")]
struct Audit {
    page: Page,
    events: Vec<Row>,
    /// The person whose acts are shown; empty: all.
    by: String,
    is_newest: bool,
    /// The address of the older events, or empty.
    older: String,
}

struct Row {
    time: i64,
    by: String,
    action: String,
    subject: String,
    /// The id of the scan that the event is about, or empty.
    scan: String,
    /// Its repositories, if it is there.
    repositories: String,
    detail: String,
}

/// The id of the scan that an event is about: `scan ID`, or `… of scan ID`.
fn scan_of(subject: &str) -> Option<&str> {
    let id = subject.strip_prefix("scan ").or_else(|| subject.rsplit_once(" of scan ").map(|(_, id)| id))?;
    scan_id(id).is_ok().then_some(id)
}

/// The repositories of a scan, if it is there.
fn repositories(store: &Store, id: &str) -> String {
    let Some(row) = scan_id(id).ok().and_then(|id| store.scan(id).ok().flatten()) else { return String::new() };
    let names = row.options().repositories.into_iter().map(|(site, repository)| format!("{site}/{repository}"));
    names.collect::<Vec<_>>().join(", ")
}

/// A row of the log.
fn row(store: &Store, event: v1::AuditEvent) -> Row {
    Row {
        repositories: scan_of(&event.subject).map(|scan| repositories(store, scan)).unwrap_or_default(),
        scan: scan_of(&event.subject).unwrap_or_default().to_owned(),
        time: event.time,
        by: event.by,
        action: event.action,
        subject: event.subject,
        detail: event.detail,
    }
}

/// The same log as CSV, newest first.
async fn csv(person: Person, fields: Fields) -> Shown {
    let by = fields.text("by").unwrap_or_default().to_owned();
    let store = std::sync::Arc::clone(&person.pages.services().records.store);
    let (mut rows, mut before) = (Vec::new(), 0);
    while rows.len() < FILE_EVENTS_MAX {
        let request = v1::ListEventsRequest { before, count: FILE_PAGE, by: by.clone() };
        let answer = person.pages.service.list_events(person.ask("ListEvents", request)?).await?.into_inner();
        rows.extend(answer.events.into_iter().map(|event| row(&store, event)));
        before = answer.older;
        if before == 0 {
            break;
        }
    }
    let mut out = Vec::new();
    let mut write = || -> cognate_export::Result<()> {
        let mut lines = CsvRows::new(&COLUMNS, &mut out)?;
        for Row { time, by, action, subject, repositories, detail, .. } in &rows {
            let texts = [by, action, subject, repositories, detail].map(|text| text.as_str().into());
            lines.row(std::iter::once(human::stamp(*time).into()).chain(texts).collect())?;
        }
        lines.finish()
    };
    write().map_err(|error| PageError::internal(error.to_string()))?;
    Ok(file("cognate-audit-log.csv", "text/csv; charset=utf-8", out.into()))
}

async fn list(person: Person, fields: Fields) -> Shown {
    let (by, before) = (fields.text("by").unwrap_or_default().to_owned(), fields.number("before")?.unwrap_or_default());
    let request = person.ask("ListEvents", v1::ListEventsRequest { before, count: ROWS, by: by.clone() })?;
    let answer = person.pages.service.list_events(request).await?.into_inner();
    let store = std::sync::Arc::clone(&person.pages.services().records.store);
    let mut older = form_urlencoded::Serializer::new(String::new());
    if !by.is_empty() {
        older.append_pair("by", &by);
    }
    let older = match answer.older {
        0 => String::new(),
        place => format!("/audit?{}", older.append_pair("before", &place.to_string()).finish()),
    };
    let events = answer.events.into_iter().map(|event| row(&store, event)).collect();
    html(&Audit { page: person.page("audit"), events, by, is_newest: before == 0, older })
}
