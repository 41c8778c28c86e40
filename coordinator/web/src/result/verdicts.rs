//! Setting verdicts and labels, undoing them, and their history.

use askama::Template;
use axum::Router;
use axum::extract::Path;
use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use cognate_proto::name::ScanId;
use cognate_proto::v1::{self, SubjectKind};

use crate::exports::file;
use crate::{Fields, Page, PageError, Pages, Person, Shown, filters, html, scan_id, see};
use cognate_desk::verdict::SubjectName;
use cognate_export::grid::{Column, CsvRows, Kind, Rows as _, column};
use cognate_export::human;
use cognate_server::operator::blocking;
use cognate_storage::verdict;

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route("/scans/{id}/verdicts", get(history).post(decide))
        .route("/scans/{id}/labels", post(label))
        .route("/scans/{id}/verdicts/csv", get(history_csv))
        .route("/scans/{id}/verdicts/undo", post(undo))
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
    actions: Vec<ActionView>,
    people: Vec<String>,
    fields: Fields,
    more: usize,
}

/// An action, and what it is about.
struct ActionView {
    action: v1::VerdictAction,
    names: Vec<SubjectName>,
}

impl ActionView {
    /// The verdict, or empty for a change of labels.
    fn word(&self) -> &'static str {
        if self.action.label.is_some() { "" } else { verdict::word(self.action.verdict()) }
    }

    /// The change of labels, or empty.
    fn change(&self) -> String {
        self.action.label.as_ref().map(verdict::change_words).unwrap_or_default()
    }

    fn scan(&self) -> ScanId {
        ScanId(self.action.scan)
    }

    /// Subjects that have no name here.
    fn unnamed(&self) -> u64 {
        self.action.subjects.saturating_sub(self.names.len() as u64)
    }
}

impl History {
    /// The value of a field of the filter.
    fn value(&self, name: &str) -> &str {
        self.fields.text(name).unwrap_or_default()
    }

    /// The filter as a query.
    fn query(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for name in ["by", "verdict", "of"] {
            if let Some(value) = self.fields.text(name) {
                query.append_pair(name, value);
            }
        }
        query.finish()
    }
}

/// The decisions that a filter lets through, latest first, with their names, and all people who decided.
async fn decisions(
    person: &Person,
    id: ScanId,
    fields: &Fields,
    count_max: usize,
) -> Result<(Vec<ActionView>, Vec<String>, usize), PageError> {
    person.may("ListVerdictActions")?;
    let asking = person.clone();
    let text = |name: &str| fields.text(name).map(str::to_owned);
    let (by, word, is_of_scan) = (text("by"), text("verdict"), fields.text("of") == Some("scan"));
    blocking(move || {
        let service = &asking.pages.service;
        service.check_result(&asking.operator, id)?;
        let mut actions = service.verdict_history(&asking.operator)?;
        let mut people: Vec<String> = actions.iter().map(|action| action.by.clone()).collect();
        people.sort();
        people.dedup();
        actions.retain(|action| {
            by.as_ref().is_none_or(|by| action.by == *by)
                && word.as_ref().is_none_or(|word| match word.as_str() {
                    "label" => action.label.is_some(),
                    word => action.label.is_none() && verdict::word(action.verdict()) == word,
                })
                && (!is_of_scan || action.scan == id.0)
        });
        let more = actions.len().saturating_sub(count_max);
        actions.truncate(count_max);
        let mut names = service.services.verdicts.names_of(&actions, &service.reader(&asking.operator))?;
        let view = |action: v1::VerdictAction| {
            let names = names.remove(&(action.action, action.verdict)).unwrap_or_default();
            ActionView { action, names }
        };
        Ok((actions.into_iter().map(view).collect(), people, more))
    })
    .await
    .map_err(PageError::from)
}

async fn history(person: Person, Path(id): Path<String>, fields: Fields) -> Shown {
    let id = scan_id(&id)?;
    let (actions, people, more) = decisions(&person, id, &fields, ACTIONS).await?;
    html(&History { page: person.page("scans"), id, actions, people, fields, more })
}

/// The columns of the decisions for programs.
const COLUMNS: [Column; 12] = [
    column("action", "Action", Kind::Text, 8),
    column("time", "When", Kind::Text, 20),
    column("by", "Who", Kind::Text, 16),
    column("verdict", "Verdict", Kind::Text, 16),
    column("subjects", "About", Kind::Count, 8),
    column("kind", "Kind", Kind::Text, 12),
    column("place", "At", Kind::Text, 20),
    column("path", "Path", Kind::Text, 60),
    column("sites", "Sites", Kind::Text, 20),
    column("note", "Note", Kind::Text, 40),
    column("undone", "Taken back", Kind::Text, 20),
    column("labels", "Labels", Kind::Text, 30),
];

/// The same list as CSV: a row for each decision, with its first subject.
async fn history_csv(person: Person, Path(id): Path<String>, fields: Fields) -> Shown {
    let id = scan_id(&id)?;
    let (actions, _, _) = decisions(&person, id, &fields, usize::MAX).await?;
    let mut out = Vec::new();
    let mut write = || -> cognate_export::Result<()> {
        let mut rows = CsvRows::new(&COLUMNS, &mut out)?;
        for view in &actions {
            let action = &view.action;
            let name = view.names.first().cloned().unwrap_or_default();
            let place = if name.site.is_empty() { String::new() } else { format!("{}/{}", name.site, name.repository) };
            let undone = if action.undone == 0 { String::new() } else { human::stamp(action.undone) };
            rows.row(vec![
                action.action.to_string().into(),
                human::stamp(action.time).into(),
                action.by.as_str().into(),
                view.word().into(),
                action.subjects.into(),
                name.kind.into(),
                place.into(),
                name.path.into(),
                name.sites.join(", ").into(),
                action.note.as_str().into(),
                undone.into(),
                view.change().into(),
            ])?;
        }
        rows.finish()
    };
    write().map_err(|error| PageError::internal(error.to_string()))?;
    Ok(file(&format!("cognate-verdicts-{id}.csv"), "text/csv; charset=utf-8", out.into()))
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
    let request = v1::SetVerdictsRequest { verdict: decided.into(), ..about(id, &fields)? };
    if is_about_nothing(&request) {
        person.say("Nothing was selected, so no verdict was set.");
        return back(id, &fields);
    }
    let done = set(&person, request).await?;
    // A script sent the request and continues by itself.
    if fields.is_set("quiet") {
        return Ok(done.action.to_string().into_response());
    }
    let count = human::count(done.subjects);
    person.say(format!("Decided about {count}: {word}. “Undo” (u) takes it back."));
    back(id, &fields)
}

/// A decision of a form without what is decided: its subjects or its filter, and its note.
fn about(id: ScanId, fields: &Fields) -> Result<v1::SetVerdictsRequest, PageError> {
    let by_filter = fields.is_set("by_filter");
    let filter = match (by_filter, fields.text("filter")) {
        (false, _) => String::new(),
        (true, None) => "all".to_owned(),
        (true, Some(filter)) => filter.to_owned(),
    };
    Ok(v1::SetVerdictsRequest {
        scan: id.0,
        note: fields.text("note").unwrap_or_default().to_owned(),
        subjects: if by_filter { Vec::new() } else { subjects(fields)? },
        filter,
        expected: if by_filter { fields.number("expected")? } else { None },
        ..v1::SetVerdictsRequest::default()
    })
}

fn is_about_nothing(request: &v1::SetVerdictsRequest) -> bool {
    request.subjects.is_empty() && request.filter.is_empty()
}

async fn set(person: &Person, request: v1::SetVerdictsRequest) -> Result<v1::SetVerdictsResponse, PageError> {
    person.may("SetVerdicts")?;
    let asking = person.clone();
    let deciding =
        cognate_storage::disk::off_tasks(move || asking.pages.service.set_verdicts(&asking.operator, request));
    Ok(deciding.await.map_err(|_| PageError::internal("a page crashed: see the log"))??)
}

/// Changes the labels of clusters: tags with commas between them, and the person who is to look at them.
async fn label(person: Person, Path(id): Path<String>, fields: Fields) -> Shown {
    let id = scan_id(&id)?;
    let tags = |name: &str| {
        let of_fields = fields.all(name).flat_map(|text| text.split(','));
        of_fields.map(str::trim).filter(|tag| !tag.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    let (was, is) = (fields.text("assignee_was"), fields.text("assignee"));
    let assignee = match fields.is_set("unassign") {
        true => Some(String::new()),
        false => (was != is).then(|| is.unwrap_or_default().to_owned()),
    };
    let label = v1::LabelChange { add: tags("tag"), remove: tags("untag"), assignee };
    let words = verdict::change_words(&label);
    let request = v1::SetVerdictsRequest { label: Some(label), ..about(id, &fields)? };
    if is_about_nothing(&request) || words.is_empty() {
        person.say(match words.is_empty() {
            true => "Type a tag, or the name of a person.",
            false => "Nothing was selected, so no label was changed.",
        });
        return back(id, &fields);
    }
    match set(&person, request).await {
        Ok(done) => {
            let (count, unit) = (human::count(done.subjects), if done.subjects == 1 { "cluster" } else { "clusters" });
            person.say(format!("{count} {unit} labelled: {words}. “Undo” (u) takes it back."));
        }
        // The page behind the form has the old labels; the notice above it says what is wrong with the new ones.
        Err(error) if error.status == axum::http::StatusCode::BAD_REQUEST => {
            person.say(format!("No label was changed: {}.", error.message.trim_end_matches('.')));
        }
        Err(error) => return Err(error),
    }
    back(id, &fields)
}

async fn undo(person: Person, Path(id): Path<String>, fields: Fields) -> Shown {
    let id = scan_id(&id)?;
    person.may("UndoVerdicts")?;
    let action = fields.number("action")?.unwrap_or(0);
    let asking = person.clone();
    let undoing =
        cognate_storage::disk::off_tasks(move || asking.pages.service.undo_verdicts(&asking.operator, action));
    match undoing.await.map_err(|_| PageError::internal("a page crashed: see the log"))? {
        Ok(done) => {
            let what = if done.subjects == 1 { "cluster, set or document" } else { "clusters, sets or documents" };
            person.say(format!("Taken back: your last decision, about {} {what}.", human::count(done.subjects)));
        }
        // There may be nothing to undo.
        Err(error) if action == 0 => person.say(format!("Nothing is taken back: {error}.")),
        Err(error) => return Err(error.into()),
    }
    back(id, &fields)
}

async fn remove_filter(person: Person, Path(id): Path<String>, fields: Fields) -> Shown {
    let id = scan_id(&id)?;
    may_save(&person)?;
    let (asking, name) = (person.clone(), fields.needed("name")?.to_owned());
    blocking(move || Ok(asking.pages.services().verdicts.remove_filter(&name, asking.operator.name.as_str())?)).await?;
    back(id, &fields)
}

/// People who are bound to a site or a party name no filters, which are for all.
pub(super) fn may_save(person: &Person) -> Result<(), PageError> {
    person.may("SetVerdicts")?;
    match person.operator.viewer().is_bound() {
        false => Ok(()),
        true => Err(PageError::denied(
            "saved filters are for all people: people who are bound to a site or a party save the address of the page instead",
        )),
    }
}

/// To the page that the form names, if it is one of this scan.
pub(super) fn back(id: ScanId, fields: &Fields) -> Shown {
    let own = format!("/scans/{id}/");
    let to = fields.text("to").filter(|to| to.starts_with(&own));
    see(to.unwrap_or(&format!("/scans/{id}/clusters")))
}
