//! The page of finds. Files that are dropped on it are fingerprinted in the browser, and it takes the output of `cognate fingerprint`:
//! documents and the key stay with the person who asks. The query can be saved as a watch or as a case.

mod dropped;
mod lots;
mod ways;

use askama::Template;
use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use cognate_proto::v1::operator_server::Operator as _;
use cognate_proto::v1::{FindOpen, ListRepositoriesRequest, RepositoryPlace, StoredQuery};

use self::dropped::{Dropped, Part};
use self::lots::lots;
pub(crate) use self::ways::Ways;
use crate::found::Answer;
use crate::{Again, Fields, Page, PageError, Pages, Person, Shown, filters, html};
use cognate_desk::find::record::FindRecord;
use cognate_desk::find::{FindQuery, Fingerprints, Unsearched};
use cognate_server::operator::find::Bounds;

pub(crate) fn routes() -> Router<Pages> {
    Router::new().route("/find", get(form).post(find))
}

/// The fields of the form; errors that name none are about the first.
const FIELDS: [&str; 7] = ["fingerprints", "by", "sites", "min_containment", "name", "note", "webhook"];

#[derive(Template)]
#[template(path = "find.html")]
struct FindPage {
    page: Page,
    ways: Ways,
    /// The submitted form, to be sent again.
    form: Again,
    /// The answer, and whether it is about files that were dropped.
    answer: Option<String>,
    is_dropped: bool,
}

async fn shown(person: &Person, form: Again, answer: Option<String>, is_dropped: bool) -> Shown {
    let request = person.ask("ListRepositories", ListRepositoriesRequest {})?;
    let repositories = person.pages.service.list_repositories(request).await?.into_inner().repositories;
    let page = FindPage { page: person.page("find"), ways: Ways::of(&repositories), form, answer, is_dropped };
    page.form.answered(html(&page))
}

async fn form(person: Person) -> Shown {
    person.may("Find")?;
    shown(&person, Again::default(), None, false).await
}

/// The query of the form, from lines of one method.
fn asked(fields: &Fields, lines: &str) -> Result<(FindOpen, Fingerprints), PageError> {
    let read = Fingerprints::read(lines.as_bytes()).map_err(PageError::invalid)?;
    let open = FindOpen {
        method: Some(read.method.clone()),
        repositories: places(fields.text("sites").unwrap_or_default()).collect(),
        min_shared_bytes: 0,
        min_containment: fields.text("min_containment").unwrap_or_default().to_owned(),
        matches_max: 0,
        precision: String::new(),
        verifier: None,
    };
    Ok((open, read))
}

/// The lines of each method that the form asks about: all, those about bytes, or those about text.
fn wanted(fields: &Fields) -> Result<Vec<String>, PageError> {
    let lots = lots(fields.needed("fingerprints")?);
    let is_raw = |lot: &String| Fingerprints::read(lot.as_bytes()).is_ok_and(|read| read.method.view == "raw");
    let wanted: Vec<String> = match fields.text("by") {
        Some("bytes") => lots.into_iter().filter(is_raw).collect(),
        Some("text") => lots.into_iter().filter(|lot| !is_raw(lot)).collect(),
        _ => lots,
    };
    if wanted.is_empty() {
        return Err(PageError::invalid("`fingerprints`: none of these documents was fingerprinted so"));
    }
    Ok(wanted)
}

/// The places that somebody has typed, with commas or blanks between them.
pub(crate) fn places(sites: &str) -> impl Iterator<Item = RepositoryPlace> + '_ {
    sites.split([',', ' ']).filter(|place| !place.is_empty()).map(|place| {
        let (site, repository) = place.split_once('/').unwrap_or((place, ""));
        RepositoryPlace { site: site.to_owned(), repository: repository.to_owned() }
    })
}

/// The query of the form, as a watch or a case stores it.
pub(crate) fn to_keep(fields: &Fields) -> Result<StoredQuery, PageError> {
    let wanted = wanted(fields)?;
    let [lines] = wanted.as_slice() else {
        let why = "`by`: a watch or a case is about the bytes of files or about their text: choose one of them";
        return Err(PageError::invalid(why));
    };
    let (open, read) = asked(fields, lines)?;
    Ok(read.into_stored(open))
}

async fn find(person: Person, fields: Fields) -> Shown {
    person.may("Find")?;
    let is_dropped = fields.is_set("dropped");
    let answer = if is_dropped { found_dropped(&person, &fields).await } else { found_pasted(&person, &fields).await };
    let (form, answer) = match answer {
        Ok(answer) => (Again::filled(fields), Some(answer)),
        Err(error) => (again(fields, error)?, None),
    };
    shown(&person, form, answer, is_dropped).await
}

/// Shows the form again after its query could not be stored.
pub(crate) async fn shown_again(person: &Person, fields: Fields, error: PageError) -> Shown {
    let is_dropped = fields.is_set("dropped");
    shown(person, again(fields, error)?, None, is_dropped).await
}

/// The form with what is wrong in it. What is not there is a site or a repository.
fn again(fields: Fields, error: PageError) -> Result<Again, PageError> {
    let names = if error.status == StatusCode::NOT_FOUND { &["sites"][..] } else { &FIELDS };
    Again::of(fields, error, names)
}

/// The answers about lines that were pasted: each document with its matches.
async fn found_pasted(person: &Person, fields: &Fields) -> Result<String, PageError> {
    let mut rendered = String::new();
    for lines in wanted(fields)? {
        let (open, read) = asked(fields, &lines)?;
        let names: Vec<String> = read.documents.iter().map(|(name, _)| name.clone()).collect();
        let query = FindQuery::of_fingerprints(&open, read)?;
        rendered += &searched(person, query, &names, Bounds::default()).await?.render()?;
    }
    Ok(rendered)
}

/// The answer about files that were dropped: one table.
async fn found_dropped(person: &Person, fields: &Fields) -> Result<String, PageError> {
    let unread = lots::unread(fields.text("unread").unwrap_or_default())?;
    let lots = match fields.text("fingerprints") {
        None if !unread.is_empty() => Vec::new(),
        _ => wanted(fields)?,
    };
    let mut parts = Vec::new();
    for lines in lots {
        let (open, read) = asked(fields, &lines)?;
        let names: Vec<String> = read.documents.iter().map(|(name, _)| name.clone()).collect();
        let query = FindQuery::of_fingerprints(&open, read)?;
        let (record, launch) = asked_now(person, query, &names, Bounds::default()).await?;
        parts.push(Part { record, launch });
    }
    Ok(Dropped::new(parts, unread).render()?)
}

/// Asks a query now, within bounds, and renders the answer.
pub(crate) async fn searched(
    person: &Person,
    query: FindQuery,
    names: &[String],
    bounds: Bounds,
) -> Result<Answer, PageError> {
    let (record, launch) = asked_now(person, query, names, bounds).await?;
    Ok(Answer::new(record, launch))
}

/// Asks a query now: the answer, and the command that indexes what was not searched.
async fn asked_now(
    person: &Person,
    query: FindQuery,
    names: &[String],
    bounds: Bounds,
) -> Result<(FindRecord, String), PageError> {
    let under = query.under();
    let answer = person.pages.service.searched(person.operator.clone(), query, bounds).await?;
    let missing = || answer.coverage.iter().filter(|row| row.searched.err() == Some(Unsearched::NoIndex));
    let launch = if missing().next().is_some() { under.launch(missing()) } else { String::new() };
    Ok((FindRecord::of(&under, &answer, names), launch))
}
