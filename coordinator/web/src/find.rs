//! The page of finds. It takes the output of `cognate fingerprint`, so that documents and the key stay with the person
//! who asks. The query can be saved as a watch or as a case.

use askama::Template;
use axum::Router;
use axum::routing::get;
use cognate_proto::v1::{FindOpen, RepositoryPlace, StoredQuery};

use crate::found::Answer;
use crate::{Fields, Page, PageError, Pages, Person, Shown, filters, html};
use cognate_server::find::record::FindRecord;
use cognate_server::find::{FindQuery, Fingerprints, Unsearched};
use cognate_server::operator::find::Bounds;

pub(crate) fn routes() -> Router<Pages> {
    Router::new().route("/find", get(form).post(find))
}

#[derive(Template)]
#[template(path = "find.html")]
struct FindPage {
    page: Page,
    /// The submitted form, to be sent again.
    fingerprints: String,
    sites: String,
    min_containment: String,
    answer: Option<Answer>,
}

async fn form(person: Person) -> Shown {
    person.may("Find")?;
    let page = person.page("find");
    html(&FindPage {
        page,
        fingerprints: String::new(),
        sites: String::new(),
        min_containment: String::new(),
        answer: None,
    })
}

/// The query of the form.
fn asked(fields: &Fields) -> Result<(FindOpen, Fingerprints), PageError> {
    let read = Fingerprints::read(fields.needed("fingerprints")?.as_bytes()).map_err(PageError::invalid)?;
    let open = FindOpen {
        method: Some(read.method.clone()),
        repositories: places(fields.text("sites").unwrap_or_default()).collect(),
        min_shared_bytes: 0,
        min_containment: fields.text("min_containment").unwrap_or_default().to_owned(),
        matches_max: 0,
        precision: String::new(),
    };
    Ok((open, read))
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
    let (open, read) = asked(fields)?;
    Ok(read.into_stored(open))
}

async fn find(person: Person, fields: Fields) -> Shown {
    person.may("Find")?;
    let (open, read) = asked(&fields)?;
    let names: Vec<String> = read.documents.iter().map(|(name, _)| name.clone()).collect();
    let query = FindQuery::of_fingerprints(&open, read)?;
    let answer = searched(&person, query, &names, Bounds::default()).await?;
    let text = |name| fields.text(name).unwrap_or_default().to_owned();
    html(&FindPage {
        page: person.page("find"),
        fingerprints: text("fingerprints"),
        sites: text("sites"),
        min_containment: text("min_containment"),
        answer: Some(answer),
    })
}

/// Asks a query now, within bounds, and renders the answer.
pub(crate) async fn searched(
    person: &Person,
    query: FindQuery,
    names: &[String],
    bounds: Bounds,
) -> Result<Answer, PageError> {
    let under = query.under();
    let answer = person.pages.service.searched(person.operator.clone(), query, bounds).await?;
    let missing = || answer.coverage.iter().filter(|row| row.searched.err() == Some(Unsearched::NoIndex));
    let launch = if missing().next().is_some() { under.launch(missing()) } else { String::new() };
    Ok(Answer::new(FindRecord::of(&under, &answer, names), launch))
}
