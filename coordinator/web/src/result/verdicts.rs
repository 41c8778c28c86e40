//! Setting verdicts, undoing them, and their history.

use askama::Template;
use axum::Router;
use axum::extract::Path;
use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use cognate_proto::name::ScanId;
use cognate_proto::v1::{self, SubjectKind};

use crate::{Fields, Page, PageError, Pages, Person, Shown, filters, html, scan_id, see};
use cognate_export::human;
use cognate_server::operator::blocking;
use cognate_storage::verdict;

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route("/scans/{id}/verdicts", get(history).post(decide))
        .route("/scans/{id}/verdicts/undo", post(undo))
        .route("/scans/{id}/filters", post(save_filter))
        .route("/scans/{id}/filters/remove", post(remove_filter))
}

/// The buttons: key, word and label.
pub(super) const VERDICTS: [(u8, &str, &str); 5] = [
    (1, "duplicate", "Duplicate"),
    (2, "not-a-duplicate", "Not a duplicate"),
    (3, "intentional", "Intentional"),
    (4, "keep", "Keep"),
    (5, "done", "Done"),
];

/// Actions that are shown.
const ACTIONS: usize = 500;

#[derive(Template)]
#[template(path = "result/verdicts.html")]
struct History {
    page: Page,
    id: ScanId,
    actions: Vec<v1::VerdictAction>,
    more: usize,
}

impl History {
    fn word(&self, action: &v1::VerdictAction) -> &'static str {
        verdict::word(action.verdict())
    }

    fn scan(&self, action: &v1::VerdictAction) -> ScanId {
        ScanId(action.scan)
    }
}

async fn history(person: Person, Path(id): Path<String>) -> Shown {
    let id = scan_id(&id)?;
    person.may("ListVerdictActions")?;
    let asking = person.clone();
    let actions = tokio::task::spawn_blocking(move || {
        let service = &asking.pages.service;
        service.check_result(&asking.operator, id)?;
        service.verdict_history(&asking.operator)
    });
    let mut actions = actions.await.map_err(|_| PageError::internal("a page crashed: see the log"))??;
    let more = actions.len().saturating_sub(ACTIONS);
    actions.truncate(ACTIONS);
    html(&History { page: person.page("scans"), id, actions, more })
}

/// The subjects of a form.
fn subjects(fields: &Fields) -> Result<Vec<v1::Subject>, PageError> {
    let mut subjects = Vec::new();
    let wrong = || PageError::invalid("the form is not valid: reload the page and try again");
    for cluster in fields.all("cluster") {
        let (view, name) = cluster.split_once('/').ok_or_else(wrong)?;
        let (view, id) = (view.to_owned(), name.to_owned());
        subjects.push(v1::Subject { kind: SubjectKind::Cluster.into(), view, id, ..v1::Subject::default() });
    }
    for set in fields.all("set") {
        subjects.push(v1::Subject {
            kind: SubjectKind::Identical.into(),
            id: set.to_owned(),
            ..v1::Subject::default()
        });
    }
    for document in fields.all("document") {
        let mut parts = document.splitn(3, '/');
        let (Some(site), Some(repository), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(wrong());
        };
        subjects.push(v1::Subject {
            kind: SubjectKind::Document.into(),
            site: site.to_owned(),
            repository: repository.to_owned(),
            path: data_encoding::HEXLOWER.decode(path.as_bytes()).map_err(|_| wrong())?,
            ..v1::Subject::default()
        });
    }
    Ok(subjects)
}

async fn decide(person: Person, Path(id): Path<String>, fields: Fields) -> Shown {
    let id = scan_id(&id)?;
    let word = fields.needed("verdict")?;
    let decided = verdict::parse(word).ok_or_else(|| PageError::invalid("`verdict`: there is no such verdict"))?;
    let by_filter = fields.is_set("by_filter");
    let subjects = if by_filter { Vec::new() } else { subjects(&fields)? };
    if !by_filter && subjects.is_empty() {
        person.say("Nothing was selected, so no verdict was set.");
        return back(id, &fields);
    }
    let filter = match (by_filter, fields.text("filter")) {
        (false, _) => String::new(),
        (true, None) => "all".to_owned(),
        (true, Some(filter)) => filter.to_owned(),
    };
    let request = v1::SetVerdictsRequest {
        scan: id.0,
        verdict: decided.into(),
        note: fields.text("note").unwrap_or_default().to_owned(),
        subjects,
        filter,
        expected: if by_filter { fields.number("expected")? } else { None },
    };
    person.may("SetVerdicts")?;
    let asking = person.clone();
    let deciding = tokio::task::spawn_blocking(move || asking.pages.service.set_verdicts(&asking.operator, request));
    let done = deciding.await.map_err(|_| PageError::internal("a page crashed: see the log"))??;
    // A script sent the request and continues by itself.
    if fields.is_set("quiet") {
        return Ok(done.action.to_string().into_response());
    }
    let count = human::count(done.subjects);
    person.say(format!("Decided about {count}: {word}. “Undo” (u) takes it back."));
    back(id, &fields)
}

async fn undo(person: Person, Path(id): Path<String>, fields: Fields) -> Shown {
    let id = scan_id(&id)?;
    person.may("UndoVerdicts")?;
    let action = fields.number("action")?.unwrap_or(0);
    let asking = person.clone();
    let undoing = tokio::task::spawn_blocking(move || asking.pages.service.undo_verdicts(&asking.operator, action));
    match undoing.await.map_err(|_| PageError::internal("a page crashed: see the log"))? {
        Ok(done) => person.say(format!("Taken back: what was decided about {}.", human::count(done.subjects))),
        // There may be nothing to undo.
        Err(error) if action == 0 => person.say(format!("Nothing is taken back: {error}.")),
        Err(error) => return Err(error.into()),
    }
    back(id, &fields)
}

/// Saves the filter of a list under a name. Filters are for all people, so only people without bounds may name them.
async fn save_filter(person: Person, Path(id): Path<String>, fields: Fields) -> Shown {
    let id = scan_id(&id)?;
    may_save(&person)?;
    let (name, query) = (fields.needed("name")?, fields.text("query").unwrap_or_default());
    let (asking, saved, query) = (person.clone(), name.to_owned(), query.to_owned());
    blocking(move || asking.pages.services().verdicts.save_filter(&saved, &query, asking.operator.name.as_str()))
        .await?;
    person.say(format!("The filter is saved as “{name}”."));
    back(id, &fields)
}

async fn remove_filter(person: Person, Path(id): Path<String>, fields: Fields) -> Shown {
    let id = scan_id(&id)?;
    may_save(&person)?;
    let (asking, name) = (person.clone(), fields.needed("name")?.to_owned());
    blocking(move || asking.pages.services().verdicts.remove_filter(&name, asking.operator.name.as_str())).await?;
    back(id, &fields)
}

fn may_save(person: &Person) -> Result<(), PageError> {
    person.may("SetVerdicts")?;
    match person.operator.viewer().is_bound() {
        false => Ok(()),
        true => Err(PageError::denied(
            "saved filters are for all people: people who are bound to a site or a party save the address of the page instead",
        )),
    }
}

/// To the page that the form names, if it is one of this scan.
fn back(id: ScanId, fields: &Fields) -> Shown {
    let own = format!("/scans/{id}/");
    let to = fields.text("to").filter(|to| to.starts_with(&own));
    see(to.unwrap_or(&format!("/scans/{id}/clusters")))
}
