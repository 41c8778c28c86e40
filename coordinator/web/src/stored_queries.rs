//! Watches and cases: stored queries. The coordinator repeats a watch by itself; people repeat a case, which stores
//! every answer.

use askama::Template;
use axum::Router;
use axum::extract::Path;
use axum::routing::{get, post};
use cognate_proto::v1;
use cognate_proto::v1::operator_server::Operator as _;
use tokio_stream::StreamExt as _;

use crate::exports::file;
use crate::find::{searched, shown_again, to_keep};
use crate::found::Answer;
use crate::{Fields, Page, PageError, Pages, Person, Shown, filters, html, see};
use cognate_desk::find::{FindQuery, stored};
use cognate_export::human;
use cognate_server::operator::blocking;

pub(crate) fn routes() -> Router<Pages> {
    Router::new()
        .route("/watches", get(watches))
        .route("/watches/add", post(add))
        .route("/watches/remove", post(remove))
        .route("/watches/{name}", get(watch))
        .route("/cases", get(cases))
        .route("/cases/open", post(open))
        .route("/cases/{name}", get(case))
        .route("/cases/{name}/check", post(check))
        .route("/cases/{name}/export", get(export))
}

#[derive(Template)]
#[template(path = "watches.html")]
struct Watches {
    page: Page,
    rows: Vec<WatchRow>,
}

#[derive(Template)]
#[template(path = "watch.html")]
struct OneWatch {
    page: Page,
    row: WatchRow,
    answer: Answer,
}

/// A watch and its state.
struct WatchRow {
    name: String,
    note: String,
    webhook: String,
    by: String,
    created: i64,
    checked: i64,
    last_new: i64,
    hits: u64,
    bound: String,
    query: QueryView,
}

/// The query, in words.
struct QueryView {
    method: String,
    places: String,
    documents: Vec<(String, u64)>,
}

impl QueryView {
    fn of(query: Option<&v1::StoredQuery>) -> QueryView {
        let query = query.cloned().unwrap_or_default();
        let open = query.open.clone().unwrap_or_default();
        let place = |place: &v1::RepositoryPlace| match place.repository.as_str() {
            "" => place.site.clone(),
            repository => format!("{}/{repository}", place.site),
        };
        let size = |document: &v1::QueryDocument| document.end.as_ref().map_or(0, |end| end.size_bytes);
        QueryView {
            method: crate::sites::method(open.method.as_ref()),
            places: open.repositories.iter().map(place).collect::<Vec<_>>().join(", "),
            documents: query.documents.iter().map(|document| (document.name.clone(), size(document))).collect(),
        }
    }
}

impl WatchRow {
    fn of(state: v1::WatchState) -> WatchRow {
        let watch = state.watch.unwrap_or_default();
        WatchRow {
            query: QueryView::of(watch.query.as_ref()),
            bound: bound(&watch.site, &watch.party),
            name: watch.name,
            note: watch.note,
            webhook: watch.webhook,
            by: watch.created_by,
            created: watch.created,
            checked: state.checked,
            last_new: state.last_new,
            hits: state.hits,
        }
    }
}

/// The bounds of the person who made it, in words, or empty.
fn bound(site: &str, party: &str) -> String {
    match (site, party) {
        ("", "") => String::new(),
        ("", party) => format!("party {party}"),
        (site, _) => format!("site {site}"),
    }
}

/// The watches that a person may see, with their state.
pub(crate) async fn watch_states(person: &Person) -> Result<Vec<v1::WatchState>, PageError> {
    let request = person.ask("ListWatches", v1::ListWatchesRequest {})?;
    let mut answers = person.pages.service.list_watches(request).await?.into_inner();
    let mut states = Vec::new();
    while let Some(state) = answers.next().await {
        states.push(state?);
    }
    Ok(states)
}

/// The cases that a person may see, the latest first.
pub(crate) async fn all_cases(person: &Person) -> Result<Vec<v1::Case>, PageError> {
    let request = person.ask("ListCases", v1::ListCasesRequest {})?;
    let mut answers = person.pages.service.list_cases(request).await?.into_inner();
    let mut cases = Vec::new();
    while let Some(case) = answers.next().await {
        cases.push(case?);
    }
    Ok(cases)
}

async fn watches(person: Person) -> Shown {
    let rows = watch_states(&person).await?.into_iter().map(WatchRow::of).collect();
    html(&Watches { page: person.page("find"), rows })
}

/// A watch, with its current matches.
async fn watch(person: Person, Path(name): Path<String>) -> Shown {
    let mut states = watch_states(&person).await?;
    states.retain(|state| state.watch.as_ref().is_some_and(|watch| watch.name == name));
    let state = states.pop().ok_or_else(PageError::not_found)?;
    let watch = person.pages.service.watch_called(&person.operator, &name)?;
    let query = watch.query.unwrap_or_default();
    let names = stored::names(&query);
    let answer = searched(&person, FindQuery::stored(&query)?, &names, (watch.site, watch.party)).await?;
    html(&OneWatch { page: person.page("find"), row: WatchRow::of(state), answer })
}

async fn add(person: Person, fields: Fields) -> Shown {
    match added(&person, &fields).await {
        Ok(()) => see("/watches"),
        Err(error) => shown_again(&person, fields, error).await,
    }
}

async fn added(person: &Person, fields: &Fields) -> Result<(), PageError> {
    let text = |name| fields.text(name).unwrap_or_default().to_owned();
    let name = fields.needed("name")?.to_owned();
    let watch = v1::Watch {
        name: name.clone(),
        query: Some(to_keep(fields)?),
        webhook: text("webhook"),
        note: text("note"),
        ..v1::Watch::default()
    };
    let request = person.ask("PutWatch", v1::PutWatchRequest { watch: Some(watch) })?;
    let hits = person.pages.service.put_watch(request).await?.into_inner().hits;
    person.say(format!("The watch “{name}” is set up. {} match now; only new ones will be reported.", documents(hits)));
    Ok(())
}

async fn remove(person: Person, fields: Fields) -> Shown {
    let name = fields.needed("name")?.to_owned();
    let request = person.ask("RemoveWatch", v1::RemoveWatchRequest { name: name.clone() })?;
    person.pages.service.remove_watch(request).await?;
    person.say(format!("The watch “{name}” is removed."));
    see("/watches")
}

#[derive(Template)]
#[template(path = "cases.html")]
struct Cases {
    page: Page,
    rows: Vec<CaseRow>,
}

#[derive(Template)]
#[template(path = "case.html")]
struct OneCase {
    page: Page,
    row: CaseRow,
    /// The number of the check whose answer is shown, from 1.
    number: usize,
    /// `None`: it is erased.
    answer: Option<Answer>,
}

/// A case with its checks.
struct CaseRow {
    name: String,
    note: String,
    by: String,
    opened: i64,
    bound: String,
    query: QueryView,
    checks: Vec<v1::CaseCheck>,
}

impl CaseRow {
    fn of(case: v1::Case) -> CaseRow {
        CaseRow {
            query: QueryView::of(case.query.as_ref()),
            bound: bound(&case.site, &case.party),
            name: case.name,
            note: case.note,
            by: case.opened_by,
            opened: case.opened,
            checks: case.checks,
        }
    }

    fn last(&self) -> v1::CaseCheck {
        self.checks.last().cloned().unwrap_or_default()
    }
}

async fn cases(person: Person) -> Shown {
    let rows = all_cases(&person).await?.into_iter().map(CaseRow::of).collect();
    html(&Cases { page: person.page("find"), rows })
}

/// A case, with one of its answers: the last, unless another is requested.
async fn case(person: Person, Path(name): Path<String>, fields: Fields) -> Shown {
    person.may("ExportCase")?;
    let number = fields.number("check")?.map(|number| usize::try_from(number).unwrap_or(usize::MAX));
    let (service, operator) = (person.pages.service.clone(), person.operator.clone());
    let looking = blocking(move || {
        let case = service.case_called(&operator, &name)?;
        let number = number.unwrap_or(case.checks.len());
        let answer = match number.checked_sub(1) {
            Some(place) if place < case.checks.len() => service.case_answer(&operator, &name, place)?,
            _ => return Ok(None),
        };
        Ok(Some((case, number, answer)))
    });
    let (case, number, answer) = looking.await?.ok_or_else(PageError::not_found)?;
    let answer = answer.map(Answer::read).transpose()?;
    html(&OneCase { page: person.page("find"), row: CaseRow::of(case), number, answer })
}

async fn open(person: Person, fields: Fields) -> Shown {
    match opened(&person, &fields).await {
        Ok(name) => see(&format!("/cases/{name}")),
        Err(error) => shown_again(&person, fields, error).await,
    }
}

async fn opened(person: &Person, fields: &Fields) -> Result<String, PageError> {
    let name = fields.needed("name")?.to_owned();
    let note = fields.text("note").unwrap_or_default().to_owned();
    let request = v1::OpenCaseRequest { name: name.clone(), query: Some(to_keep(fields)?), note };
    person.pages.service.open_case(person.ask("OpenCase", request)?).await?;
    person.say("The case is open, and its first answer is stored.");
    Ok(name)
}

async fn check(person: Person, Path(name): Path<String>) -> Shown {
    let request = person.ask("CheckCase", v1::CheckCaseRequest { name: name.clone() })?;
    let case = person.pages.service.check_case(request).await?.into_inner();
    let found = case.checks.last().map_or(0, |check| check.documents);
    person.say(format!("The query was asked again: {} match.", documents(found)));
    see(&format!("/cases/{}", case.name))
}

/// The complete record as one file.
async fn export(person: Person, Path(name): Path<String>) -> Shown {
    let bytes = exported(&person, &name).await?;
    Ok(file(&format!("cognate-case-{name}.json"), "application/json", bytes.into()))
}

/// The complete record, as the command line writes it.
pub(crate) async fn exported(person: &Person, name: &str) -> Result<Vec<u8>, PageError> {
    let request = person.ask("ExportCase", v1::ExportCaseRequest { name: name.to_owned() })?;
    let mut pieces = person.pages.service.export_case(request).await?.into_inner();
    let mut bytes = Vec::new();
    while let Some(piece) = pieces.next().await {
        bytes.extend(piece?.piece);
    }
    let whole: serde_json::Value =
        serde_json::from_slice(&bytes).map_err(|error| PageError::internal(format!("the case: {error}")))?;
    Ok(format!("{whole:#}\n").into_bytes())
}

fn documents(count: u64) -> String {
    match count {
        1 => "1 document".to_owned(),
        count => format!("{} documents", human::count(count)),
    }
}
