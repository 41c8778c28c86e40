//! The page of finds by hashes: a list of known files, as tools write them.

use askama::Template;
use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use cognate_proto::path::printable;
use cognate_proto::v1::{FindHashesOpen, RepositoryPlace};

use crate::{Again, Fields, Page, PageError, Pages, Person, Shown, filters, find, html};
use cognate_desk::find::hashes::record::{hash, state};
use cognate_desk::find::hashes::{HashAnswer, HashCoverage, HashHit, HashQuery, Listed};

pub(crate) fn routes() -> Router<Pages> {
    Router::new().route("/find/hashes", get(form).post(ask))
}

#[derive(Template)]
#[template(path = "find-hashes.html")]
struct FindHashesPage {
    page: Page,
    /// The submitted form, to be sent again.
    form: Again,
    answer: Option<AnswerShown>,
}

/// An answer as it is shown.
struct AnswerShown {
    hashes: u64,
    found: u64,
    files: u64,
    omitted: u64,
    kinds: String,
    rows: Vec<RowShown>,
    coverage: Vec<HashCoverage>,
}

struct RowShown {
    kind: &'static str,
    hash: String,
    listed_as: String,
    site: String,
    repository: String,
    path: String,
    size_bytes: u64,
    modified: i64,
    state: &'static str,
}

async fn form(person: Person) -> Shown {
    person.may("FindHashes")?;
    page(&person, Again::default(), None)
}

fn page(person: &Person, form: Again, answer: Option<AnswerShown>) -> Shown {
    let page = FindHashesPage { page: person.page("find"), form, answer };
    page.form.answered(html(&page))
}

async fn ask(person: Person, fields: Fields) -> Shown {
    person.may("FindHashes")?;
    match asked(&person, &fields).await {
        Ok(answer) => page(&person, Again::filled(fields), Some(answer)),
        Err(error) => {
            let names = if error.status == StatusCode::NOT_FOUND { &["sites"][..] } else { &["list", "sites"] };
            page(&person, Again::of(fields, error, names)?, None)
        }
    }
}

async fn asked(person: &Person, fields: &Fields) -> Result<AnswerShown, PageError> {
    let listed = Listed::read(fields.needed("list")?.as_bytes()).map_err(PageError::invalid)?;
    let places: Vec<RepositoryPlace> = find::places(fields.text("sites").unwrap_or_default()).collect();
    let mut query = HashQuery::open(&FindHashesOpen { repositories: places, holders_max: 0 })?;
    query.list = listed.list.clone();
    let answer = person.pages.service.searched_hashes(person.operator.clone(), query).await?;
    Ok(shown(&listed, answer))
}

fn shown(listed: &Listed, answer: HashAnswer) -> AnswerShown {
    AnswerShown {
        hashes: listed.list.hashes().len() as u64,
        found: answer.hits.len() as u64,
        files: answer.files(),
        omitted: answer.hits.values().map(HashHit::omitted).sum(),
        kinds: listed.list.kinds().to_string(),
        rows: answer.hits.iter().flat_map(|(number, hit)| rows(listed, *number, hit)).collect(),
        coverage: answer.coverage,
    }
}

fn rows<'a>(listed: &'a Listed, number: u32, hit: &'a HashHit) -> impl Iterator<Item = RowShown> + 'a {
    let hash = hash(listed, number);
    let names = listed.names.get(&number).map(|names| names.join(", ")).unwrap_or_default();
    hit.holders.iter().map(move |holder| RowShown {
        kind: hash.kind().name(),
        hash: hash.to_string(),
        listed_as: printable(names.as_bytes()).into_owned(),
        site: holder.site.to_string(),
        repository: holder.repository.to_string(),
        path: printable(holder.path.as_bytes()).into_owned(),
        size_bytes: holder.size_bytes,
        modified: holder.modified,
        state: state(holder.state),
    })
}
