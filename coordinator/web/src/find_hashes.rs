//! The page of finds by hashes: a list of known files, as tools write them.

use askama::Template;
use axum::Router;
use axum::routing::get;
use cognate_proto::path::printable;
use cognate_proto::v1::{FindHashesOpen, RepositoryPlace};

use crate::{Fields, Page, PageError, Pages, Person, Shown, filters, find, html};
use cognate_server::find::hashes::record::{hash, state};
use cognate_server::find::hashes::{HashAnswer, HashCoverage, HashHit, HashQuery, Listed};

pub(crate) fn routes() -> Router<Pages> {
    Router::new().route("/find/hashes", get(form).post(ask))
}

#[derive(Template)]
#[template(path = "find-hashes.html")]
struct FindHashesPage {
    page: Page,
    /// The submitted form, to be sent again.
    list: String,
    sites: String,
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
    html(&FindHashesPage { page: person.page("find"), list: String::new(), sites: String::new(), answer: None })
}

async fn ask(person: Person, fields: Fields) -> Shown {
    person.may("FindHashes")?;
    let text = fields.needed("list")?.to_owned();
    let sites = fields.text("sites").unwrap_or_default().to_owned();
    let listed = Listed::read(text.as_bytes()).map_err(PageError::invalid)?;
    let places: Vec<RepositoryPlace> = find::places(&sites).collect();
    let mut query = HashQuery::open(&FindHashesOpen { repositories: places, holders_max: 0 })?;
    query.list = listed.list.clone();
    let answer = person.pages.service.searched_hashes(person.operator.clone(), query).await?;
    html(&FindHashesPage { page: person.page("find"), list: text, sites, answer: Some(shown(&listed, answer)) })
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
