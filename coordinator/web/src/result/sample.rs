//! A blind sample: one pair after the other, without verdicts and figures, and what people say of it.

use askama::Template;
use axum::Router;
use axum::extract::Path;
use axum::routing::{get, post};
use cognate_proto::name::ScanId;

use super::explain::{Compared, Places, pairs};
use super::{browsing, review};
use crate::{Again, Fields, Page, PageError, Pages, Person, Shown, filters, html, scan_id, see};
use cognate_desk::verdict::SampleRequest;
use cognate_result::browse::{ClusterFilter, Place, SampledDocument};
use cognate_result::explain::DocumentName;
use cognate_server::operator::blocking;
use cognate_storage::sample::{Answer, SampleRow};

pub(super) fn routes() -> Router<Pages> {
    Router::new().route("/scans/{id}/samples", post(draw)).route("/scans/{id}/samples/{sample}", get(pair).post(judge))
}

/// The buttons: key, word and label.
const ANSWERS: [(u8, &str, &str); 3] =
    [(1, "match", "A true match"), (2, "no-match", "Not a match"), (3, "unsure", "Cannot say")];

#[derive(Template)]
#[template(path = "result/sample.html")]
struct SamplePage {
    page: Page,
    id: ScanId,
    sample: u64,
    by: String,
    /// Pairs with an answer, and all.
    answered: usize,
    pairs: usize,
    /// The pair that is shown; nothing: all have an answer.
    shown: Option<ShownPair>,
}

/// A pair, without figures.
struct ShownPair {
    /// Its place, from 0.
    place: usize,
    /// The two documents, if the result has them.
    documents: Option<[Place; 2]>,
    sizes: [u64; 2],
    compared: Option<Compared>,
}

async fn draw(person: Person, Path(id): Path<String>, fields: Fields) -> Shown {
    let id = scan_id(&id)?;
    person.may("SetVerdicts")?;
    match drawn(&person, id, &fields).await {
        Ok(sample) => see(&format!("/scans/{id}/samples/{sample}")),
        Err(error) => {
            let drawing = Again::of(fields, error, &["pairs", "filter"])?;
            review::shown(person, id, review::Forms::of_drawing(drawing)).await
        }
    }
}

/// Draws a sample: its number.
async fn drawn(person: &Person, id: ScanId, fields: &Fields) -> Result<u64, PageError> {
    let filter = fields.text("filter").unwrap_or_default().parse::<ClusterFilter>();
    let filter = filter.map_err(|error| PageError::invalid(format!("`filter`: {error}")))?;
    let request = SampleRequest { scan: id, filter, pairs: fields.number("pairs")?.unwrap_or(0) };
    let asking = person.clone();
    let sample = blocking(move || {
        let (service, operator) = (&asking.pages.service, &asking.operator);
        service.check_result(operator, id)?;
        if let Some(since) = request.filter.since {
            service.check_result(operator, since)?;
        }
        Ok(service.services.verdicts.draw_sample(&request, operator.name.as_str(), &service.reader(operator))?)
    });
    Ok(sample.await?)
}

/// The number of a sample in an address.
fn sample_number(text: &str) -> Result<u64, PageError> {
    text.parse().map_err(|_| PageError::not_found())
}

async fn pair(person: Person, Path((id, sample)): Path<(String, String)>, fields: Fields) -> Shown {
    let (id, sample) = (scan_id(&id)?, sample_number(&sample)?);
    person.may("Explain")?;
    let wanted = fields.number("pair")?;
    let asking = person.clone();
    let row = blocking(move || {
        let (service, operator) = (&asking.pages.service, &asking.operator);
        service.check_result(operator, id)?;
        Ok(service.services.verdicts.sample(id, sample, &service.reader(operator))?)
    });
    let row = row.await?;
    let open = |place: &usize| row.pairs[*place].answer() == Answer::Open;
    let asked = wanted.and_then(|pair| usize::try_from(pair).ok()).and_then(|pair| pair.checked_sub(1));
    let place = asked.filter(|place| *place < row.pairs.len()).or_else(|| order(&row).into_iter().find(open));
    let answered = row.pairs.iter().filter(|pair| pair.answer() != Answer::Open).count();
    let shown = match place {
        Some(place) => Some(of_pair(&person, id, &row, place).await?),
        None => None,
    };
    let (by, pairs) = (row.by, row.pairs.len());
    html(&SamplePage { page: person.page("scans"), id, sample, by, answered, pairs, shown })
}

/// The order in which pairs are shown: not that of their similarity, which would give away what to expect.
fn order(row: &SampleRow) -> Vec<usize> {
    let mut places: Vec<usize> = (0..row.pairs.len()).collect();
    places.sort_by_key(|place| {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&row.id.to_be_bytes()).update(&(*place as u64).to_be_bytes());
        *hasher.finalize().as_bytes()
    });
    places
}

async fn of_pair(person: &Person, id: ScanId, row: &SampleRow, place: usize) -> Result<ShownPair, PageError> {
    let (asking, pair) = (person.clone(), row.pairs[place].clone());
    browsing(person, id, &ClusterFilter::default(), move |browse, _| {
        let report = browse.report();
        let mut found = Vec::new();
        for digest in [&pair.a, &pair.b] {
            found.extend(browse.document_of_content(&pair.view, digest)?);
        }
        let Ok([a, b]) = <[SampledDocument; 2]>::try_from(found) else {
            return Ok(ShownPair { place, documents: None, sizes: [0, 0], compared: None });
        };
        let mut both = Vec::new();
        for document in [&a, &b] {
            let name = DocumentName::parse(&document.place.named());
            both.extend(name.map(|name| name.find(report)).transpose()?.flatten());
        }
        let compared = match <[_; 2]>::try_from(both) {
            Ok(both) => pairs(&asking.pages.service, &asking.operator, id, report, &both)?,
            Err(_) => Vec::new(),
        };
        let compared = compared.into_iter().find(|compared| compared.view == pair.view);
        let sizes = [a.size_bytes, b.size_bytes];
        Ok(ShownPair { place, documents: Some([a.place, b.place]), sizes, compared })
    })
    .await
}

async fn judge(person: Person, Path((id, sample)): Path<(String, String)>, fields: Fields) -> Shown {
    let (id, sample) = (scan_id(&id)?, sample_number(&sample)?);
    person.may("SetVerdicts")?;
    let answer = Answer::parse(fields.needed("verdict")?);
    let answer = answer.ok_or_else(|| PageError::invalid("`verdict`: there is no such answer"))?;
    let pair = fields.number("pair")?.and_then(|pair| u32::try_from(pair).ok());
    let pair = pair.ok_or_else(|| PageError::invalid("`pair`: it is missing"))?;
    let asking = person.clone();
    let judging = blocking(move || {
        let (service, operator) = (&asking.pages.service, &asking.operator);
        service.check_result(operator, id)?;
        let by = (operator.name.as_str(), &service.reader(operator));
        Ok(service.services.verdicts.judge(id, (sample, pair), answer, by)?)
    });
    judging.await?;
    see(&format!("/scans/{id}/samples/{sample}"))
}
