//! Two documents of a result side by side: what they share under each view, the places of that in both, and the documents
//! through which they are in one cluster.

use askama::Template;
use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::routing::get;
use cognate_export::estimated;
use cognate_proto::name::ScanId;

use super::browsing;
use crate::{Again, Fields, Page, PageError, Pages, Person, Shown, filters, html, scan_id};
use cognate_result::browse::ClusterFilter;
use cognate_result::explain::record::{Document, Explained, Pair, SCHEMA, Shared, Version};
use cognate_result::explain::{DocumentName, common_views, request};
use cognate_result::report::{Found, Report};
use cognate_server::Error;
use cognate_server::identity::Operator;
use cognate_server::operator::OperatorService;

pub(super) fn routes() -> Router<Pages> {
    Router::new().route("/scans/{id}/explain", get(explain))
}

/// The width of a bar. More columns cannot be told apart.
const COLUMNS: u64 = 600;
/// So many places are drawn and listed: the longest.
const RUNS: usize = 200;
/// So many versions are listed.
const VERSIONS: usize = 50;

#[derive(Template)]
#[template(path = "result/explain.html")]
struct Explain {
    page: Page,
    id: ScanId,
    /// As they were named, and what is wrong with a name.
    a: String,
    b: String,
    form: Again,
    found: Option<[Found; 2]>,
    pairs: Vec<Compared>,
}

/// The two documents under one view, as the page shows them.
pub(super) struct Compared {
    /// The view, as the addresses of its clusters name it.
    pub(super) view: String,
    pub(super) pair: Pair,
    pub(super) places: Places,
}

impl Compared {
    /// The precision of an estimated resemblance, in words.
    pub(super) fn precision(&self) -> String {
        estimated::one(self.pair.interval, self.pair.within_tenth)
    }
}

/// The places of what both have.
pub(super) enum Places {
    /// They are the same all over.
    All,
    Known(PairMap),
    /// Why it is not known.
    Unknown(String),
}

/// Two bars, one above the other, and what leads from one to the other.
pub(super) struct PairMap {
    pub(super) widths: [u64; 2],
    pub(super) bands: Vec<Band>,
    pub(super) templates: [Vec<(u64, u64)>; 2],
    pub(super) runs: Vec<Shared>,
    pub(super) omitted: u64,
}

/// A run of bytes in both, as columns.
pub(super) struct Band {
    pub(super) a: (u64, u64),
    pub(super) b: (u64, u64),
    pub(super) bytes: u64,
}

impl Band {
    /// What lies between the two bars.
    pub(super) fn points(&self) -> String {
        let ((a, a_width), (b, b_width)) = (self.a, self.b);
        format!("{a},18 {},18 {},58 {b},58", a + a_width, b + b_width)
    }
}

fn found(report: &Report, field: &str, named: &str) -> Result<Found, Error> {
    let found = DocumentName::parse(named).map(|name| name.find(report)).transpose()?.flatten();
    found.ok_or_else(|| {
        Error::UnknownMember(format!("`{field}`: the scan has no document `{named}`: its page Documents lists all"))
    })
}

async fn explain(person: Person, Path(id): Path<String>, fields: Fields) -> Shown {
    let id = scan_id(&id)?;
    person.may("Explain")?;
    // Spaces at the ends of a name are part of it.
    let [a, b] = ["a", "b"].map(|name| fields.all(name).next().unwrap_or_default().to_owned());
    let named = [a.clone(), b.clone()];
    let (found, pairs, form) = match named.iter().all(String::is_empty) {
        true => (None, Vec::new(), Again::default()),
        false => match compared(&person, id, named).await {
            Ok((found, pairs)) => (Some(found), pairs, Again::default()),
            // That the scan is not there is no fault of a name.
            Err(error) if !error.message.starts_with('`') && error.status == StatusCode::NOT_FOUND => {
                return Err(error);
            }
            Err(error) => (None, Vec::new(), Again::of(fields, error, &["a", "b"])?),
        },
    };
    let page = Explain { page: person.page("scans"), id, a, b, form, found, pairs };
    page.form.answered(html(&page))
}

/// Two named documents, and what they share under each view that both have.
async fn compared(person: &Person, id: ScanId, named: [String; 2]) -> Result<([Found; 2], Vec<Compared>), PageError> {
    let (service, operator) = (person.pages.service.clone(), person.operator.clone());
    let all = ClusterFilter::default();
    let compared = browsing(person, id, &all, move |browse, _| {
        let report = browse.report();
        let both = [found(report, "a", &named[0])?, found(report, "b", &named[1])?];
        let pairs = pairs(&service, &operator, id, report, &both)?;
        Ok((both, pairs))
    });
    match compared.await? {
        (_, pairs) if pairs.is_empty() => {
            Err(PageError::invalid("the two have no view in common: one of them was left out of the comparison"))
        }
        compared => Ok(compared),
    }
}

/// The same for programs.
pub(crate) async fn explained(person: &Person, id: ScanId, a: String, b: String) -> Result<Explained, PageError> {
    person.may("Explain")?;
    let ([a, b], pairs) = compared(person, id, [a, b]).await?;
    let views = pairs.into_iter().map(|compared| compared.pair).collect();
    let (a, b) = (Document::from(&a), Document::from(&b));
    Ok(Explained { schema: SCHEMA.to_owned(), scan: id.to_string(), a, b, views, difference: None })
}

/// The two documents under each view that both have.
pub(super) fn pairs(
    service: &OperatorService,
    operator: &Operator,
    id: ScanId,
    report: &Report,
    [a, b]: &[Found; 2],
) -> Result<Vec<Compared>, Error> {
    let mut pairs = Vec::new();
    for of_both in common_views([a, b]) {
        let mut pair = Pair::of(report, of_both)?;
        if !pair.identical {
            match service.explain_pair(operator, &request(id.0, of_both)) {
                Ok(answer) => pair.add_answer(&answer),
                // If the coordinator has no places, the rest of the result is shown.
                Err(Error::Refused(why)) => pair.unplaced = Some(why),
                Err(error) => return Err(error),
            }
        }
        let view = report.views().get(of_both[0].view).cloned().unwrap_or_default();
        pairs.push(Compared { view, places: Places::of(&pair), pair });
    }
    Ok(pairs)
}

impl Places {
    fn of(pair: &Pair) -> Places {
        match (&pair.shared, &pair.unplaced) {
            (Some(shared), _) => Places::Known(PairMap::of(pair, shared)),
            (None, Some(why)) => Places::Unknown(why.clone()),
            (None, None) => Places::All,
        }
    }
}

impl Compared {
    /// Those of the versions that are shown.
    pub(super) fn shown(&self) -> &[Version] {
        &self.pair.versions[..self.pair.versions.len().min(VERSIONS)]
    }

    /// The document that a version is: `A`, `B`, or nothing.
    fn is(&self, version: &Version) -> String {
        version.is.as_deref().unwrap_or_default().to_uppercase()
    }
}

impl PairMap {
    fn of(pair: &Pair, shared: &[Shared]) -> PairMap {
        let sizes = [pair.a.size_bytes, pair.b.size_bytes];
        let largest = sizes.into_iter().max().unwrap_or(1).max(1);
        let column = |bytes: u64| {
            u64::try_from(u128::from(bytes) * u128::from(COLUMNS) / u128::from(largest)).unwrap_or(COLUMNS)
        };
        let columns = |offset: u64, length: u64| (column(offset), (column(offset + length) - column(offset)).max(1));
        let stretches =
            |list: &[[u64; 2]]| list.iter().map(|[offset, length]| columns(*offset, *length)).collect::<Vec<_>>();
        let mut runs = shared.to_vec();
        let all = runs.len();
        runs.sort_by_key(|run| (std::cmp::Reverse(run.length_bytes), run.offset_a));
        runs.truncate(RUNS);
        runs.sort_by_key(|run| run.offset_a);
        let band = |run: &Shared| Band {
            a: columns(run.offset_a, run.length_bytes),
            b: columns(run.offset_b, run.length_bytes),
            bytes: run.length_bytes,
        };
        PairMap {
            widths: sizes.map(|size| column(size).max(1)),
            bands: runs.iter().map(band).collect(),
            templates: [stretches(&pair.templates_a), stretches(&pair.templates_b)],
            omitted: u64::try_from(all - runs.len()).unwrap_or(u64::MAX) + pair.shared_omitted,
            runs,
        }
    }

    /// The place of a run in the second document, compared with its place in the first.
    pub(super) fn moved(&self, run: &Shared) -> String {
        use cognate_export::human::count as number;
        match run.offset_a.cmp(&run.offset_b) {
            std::cmp::Ordering::Equal => "at the same place".to_owned(),
            std::cmp::Ordering::Less => format!("{} later", number(run.offset_b - run.offset_a)),
            std::cmp::Ordering::Greater => format!("{} earlier", number(run.offset_a - run.offset_b)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_as_wide_as_the_longer_of_the_two_and_shows_the_longest_runs() {
        let run = |offset_a, offset_b, length_bytes| Shared { offset_a, offset_b, length_bytes };
        let mut runs: Vec<_> = (0..300).map(|place| run(place * 10, place * 10, 5)).collect();
        runs.push(run(4000, 1000, 900));
        let side =
            |size_bytes| serde_json::json!({"content": "", "size_bytes": size_bytes, "payload_bytes": 0, "copies": 1});
        let pair = serde_json::json!({
            "view": "raw", "method": "tttd", "a": side(6000), "b": side(3000), "identical": false, "linked": false,
            "through": [], "versions": [], "shared_omitted": 7, "templates_a": [], "templates_b": [],
        });
        let map = PairMap::of(&serde_json::from_value(pair).unwrap(), &runs);
        assert_eq!((map.widths, map.bands.len(), map.omitted), ([600, 300], RUNS, 108));
        let last = map.bands.last().unwrap();
        assert_eq!((last.a, last.b, last.bytes), ((400, 90), (100, 90), 900));
        assert_eq!(last.points(), "400,18 490,18 190,58 100,58");
    }
}
