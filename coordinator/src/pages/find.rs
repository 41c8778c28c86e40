//! The page of finds. It takes the output of `cognate fingerprint`: documents and the key stay with who asks.

use askama::Template;
use axum::Router;
use axum::routing::get;
use cognate_proto::path::printable;
use cognate_proto::v1::{FindOpen, RepositoryPlace};

use super::{Fields, Page, PageError, Pages, Person, Shown, filters, html};
use crate::find::record::{Under, reason, relation};
use crate::find::{Answer, FindQuery, Fingerprints, Found, Match, Share};
use crate::report::Ratio;

pub(super) fn routes() -> Router<Pages> {
    Router::new().route("/find", get(form).post(find))
}

/// How many documents are shown of a match: the command line shows more.
const HOLDERS_SHOWN: usize = 50;

#[derive(Template)]
#[template(path = "find.html")]
struct FindPage {
    page: Page,
    /// What was asked, to be asked again.
    fingerprints: String,
    sites: String,
    min_containment: String,
    answer: Option<AnswerShown>,
}

/// An answer as it is shown.
struct AnswerShown {
    documents: Vec<DocumentShown>,
    coverage: Vec<CoverageShown>,
    under: String,
    launch: String,
    lengths: Vec<(&'static str, u64)>,
    estimated: bool,
}

struct DocumentShown {
    name: String,
    size_bytes: u64,
    template_bytes: u64,
    omitted: u64,
    rows: Vec<RowShown>,
    lengths: Vec<(&'static str, u64)>,
}

struct RowShown {
    relation: &'static str,
    sought: String,
    found: String,
    shared: Option<u64>,
    site: String,
    repository: String,
    path: String,
    size_bytes: u64,
    modified: i64,
}

struct CoverageShown {
    site: String,
    repository: String,
    searched: bool,
    documents: u64,
    unread: u64,
    sealed: i64,
    reason: &'static str,
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

async fn find(person: Person, fields: Fields) -> Shown {
    person.may("Find")?;
    let text = fields.needed("fingerprints")?.to_owned();
    let [sites, min_containment] = ["sites", "min_containment"].map(|name| fields.text(name).unwrap_or_default());
    let read = Fingerprints::read(text.as_bytes()).map_err(PageError::invalid)?;
    let names: Vec<String> = read.documents.iter().map(|(name, _)| name.clone()).collect();
    let open = FindOpen {
        method: Some(read.method.clone()),
        repositories: places(sites).collect(),
        min_shared_bytes: 0,
        min_containment: min_containment.to_owned(),
        matches_max: 0,
    };
    let query = FindQuery::of_fingerprints(&open, read)?;
    let under = query.under();
    let answer = person.pages.service.searched(person.operator.clone(), query).await?;
    html(&FindPage {
        page: person.page("find"),
        fingerprints: text,
        sites: sites.to_owned(),
        min_containment: min_containment.to_owned(),
        answer: Some(shown(&under, &names, &answer)),
    })
}

/// The places that somebody has typed, with commas or blanks between them.
pub(super) fn places(sites: &str) -> impl Iterator<Item = RepositoryPlace> + '_ {
    sites.split([',', ' ']).filter(|place| !place.is_empty()).map(|place| {
        let (site, repository) = place.split_once('/').unwrap_or((place, ""));
        RepositoryPlace { site: site.to_owned(), repository: repository.to_owned() }
    })
}

fn shown(under: &Under, names: &[String], answer: &Answer) -> AnswerShown {
    let method = &under.method;
    let missing = || answer.coverage.iter().filter(|row| row.searched.is_none() && !row.other_key);
    let matches = || answer.documents.iter().flat_map(|found| &found.matches);
    AnswerShown {
        documents: names.iter().zip(&answer.documents).map(|(name, found)| document(name, found)).collect(),
        coverage: answer
            .coverage
            .iter()
            .map(|row| CoverageShown {
                site: row.site.clone(),
                repository: row.repository.clone(),
                searched: row.searched.is_some(),
                documents: row.searched.map_or(0, |searched| searched.documents),
                unread: row.searched.map_or(0, |searched| searched.unread),
                sealed: row.searched.map_or(0, |searched| searched.sealed),
                reason: reason(row),
            })
            .collect(),
        under: format!("{} over {} at {}", method.name(), method.view(), method.chunk_bytes()),
        launch: if missing().next().is_some() { under.launch(missing()) } else { String::new() },
        lengths: lengths(answer.run_lengths),
        estimated: matches().any(|one| one.measure.estimated),
    }
}

fn document(name: &str, found: &Found) -> DocumentShown {
    DocumentShown {
        name: name.to_owned(),
        size_bytes: found.size_bytes,
        template_bytes: found.template_bytes,
        omitted: found.documents_omitted
            + found.matches.iter().map(|one| one.holders.len().saturating_sub(HOLDERS_SHOWN) as u64).sum::<u64>(),
        rows: found.matches.iter().flat_map(rows).collect(),
        lengths: lengths(found.run_lengths),
    }
}

fn rows(one: &Match) -> impl Iterator<Item = RowShown> + '_ {
    let measure = &one.measure;
    one.holders.iter().take(HOLDERS_SHOWN).map(move |holder| RowShown {
        relation: relation(measure.relation),
        sought: percent(measure.sought_in_found.or(measure.resemblance)),
        found: percent(measure.found_in_sought.or(measure.resemblance)),
        shared: measure.shared_bytes,
        site: holder.site.to_string(),
        repository: holder.repository.to_string(),
        path: printable(holder.path.as_bytes()).into_owned(),
        size_bytes: one.size_bytes,
        modified: holder.modified,
    })
}

fn percent(share: Option<Share>) -> String {
    let shown = |ratio: Ratio| format!("{}.{} %", ratio.0 / 100, ratio.0 % 100 / 10);
    match share {
        None => "–".to_owned(),
        Some(Share { ratio, interval: None }) => shown(ratio),
        Some(Share { ratio, interval: Some([low, high]) }) => {
            format!("{} ({} to {})", shown(ratio), shown(low), shown(high))
        }
    }
}

fn lengths(lengths: Option<cognate_fingerprint::RunLengths>) -> Vec<(&'static str, u64)> {
    let lengths = lengths.unwrap_or_default();
    let all = [("every second time", lengths.p50), ("19 times in 20", lengths.p95), ("99 times in 100", lengths.p99)];
    all.into_iter().filter_map(|(how, length)| Some((how, length?))).collect()
}
