//! Two documents of a result side by side: what they share under each view, where in both it stands, and through which others
//! they are in one cluster.

use askama::Template;
use axum::Router;
use axum::extract::Path;
use axum::routing::get;
use cognate_proto::name::ScanId;
use cognate_proto::path::unescaped;
use cognate_proto::v1;

use super::browsing;
use crate::{Fields, Page, PageError, Pages, Person, Shown, filters, html, scan_id};
use cognate_result::browse::ClusterFilter;
use cognate_result::report::{ClusterDocument, Found, FoundView, LinkRow, Ratio, Report};
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
    /// As they were named.
    a: String,
    b: String,
    found: Option<[Found; 2]>,
    pairs: Vec<Pair>,
}

/// The two under one view.
struct Pair {
    view: String,
    a: FoundView,
    b: FoundView,
    is_identical: bool,
    shared_bytes: Option<u64>,
    a_in_b: Option<Ratio>,
    b_in_a: Option<Ratio>,
    resemblance: Option<Ratio>,
    /// How the first lies to the second, in words.
    relation: String,
    is_estimated: bool,
    /// The cluster that both are in.
    cluster: Option<String>,
    /// From the first to the second, where they are in one cluster and not linked.
    through: Vec<(LinkRow, ClusterDocument)>,
    /// The members of the cluster, the oldest first.
    versions: Vec<ClusterDocument>,
    places: Places,
}

/// Where it stands.
enum Places {
    /// They are the same all over.
    All,
    Known(PairMap),
    /// Why it is not known.
    Unknown(String),
}

/// Two bars, one above the other, and what leads from one to the other.
struct PairMap {
    widths: [u64; 2],
    bands: Vec<Band>,
    templates: [Vec<(u64, u64)>; 2],
    runs: Vec<v1::SharedRun>,
    omitted: u64,
}

/// A run of bytes in both, as columns.
struct Band {
    a: (u64, u64),
    b: (u64, u64),
    bytes: u64,
}

impl Band {
    /// What lies between the two bars.
    fn points(&self) -> String {
        let ((a, a_width), (b, b_width)) = (self.a, self.b);
        format!("{a},18 {},18 {},58 {b},58", a + a_width, b + b_width)
    }
}

/// A document as an address names it: `site/repository/path`, or as reports write it.
fn place(named: &str) -> Option<(String, String, String)> {
    let (site, rest) = named.split_once('/')?;
    let (repository, path) = match (rest.split_once('/'), rest.split_once(": ")) {
        (first, Some((repository, path))) if first.is_none_or(|(before, _)| before.len() > repository.len()) => {
            (repository, path)
        }
        (Some((repository, path)), _) => (repository, path),
        (None, _) => return None,
    };
    (!path.is_empty()).then(|| (site.to_owned(), repository.to_owned(), path.to_owned()))
}

fn found(report: &Report, named: &str) -> Result<Found, Error> {
    let unknown = || Error::UnknownMember(format!("the scan has no document `{named}`: its page Documents lists all"));
    let (site, repository, path) = place(named).ok_or_else(unknown)?;
    for bytes in [path.as_bytes().to_vec(), unescaped(&path)] {
        if let Some(found) = report.find(&site, &repository, &bytes)? {
            return Ok(found);
        }
    }
    Err(unknown())
}

async fn explain(person: Person, Path(id): Path<String>, fields: Fields) -> Shown {
    let id = scan_id(&id)?;
    person.may("Explain")?;
    // Spaces at the ends of a name are part of it.
    let [a, b] = ["a", "b"].map(|name| fields.all(name).next().unwrap_or_default().to_owned());
    let named = [a.clone(), b.clone()];
    let (service, operator) = (person.pages.service.clone(), person.operator.clone());
    let (found, pairs) = browsing(&person, id, &ClusterFilter::default(), move |browse, _| {
        if named.iter().all(String::is_empty) {
            return Ok((None, Vec::new()));
        }
        let report = browse.report();
        let both = [found(report, &named[0])?, found(report, &named[1])?];
        Ok((Some(both.clone()), pairs(&service, &operator, id, report, &both)?))
    })
    .await?;
    if found.is_some() && pairs.is_empty() {
        return Err(PageError::invalid("the two have no view in common: one of them was left out of the comparison"));
    }
    html(&Explain { page: person.page("scans"), id, a, b, found, pairs })
}

fn pairs(
    service: &OperatorService,
    operator: &Operator,
    id: ScanId,
    report: &Report,
    [a, b]: &[Found; 2],
) -> Result<Vec<Pair>, Error> {
    let mut pairs = Vec::new();
    for of_a in &a.views {
        let Some(of_b) = b.views.iter().find(|of_b| of_b.view == of_a.view) else { continue };
        let mut pair = told(report, of_a, of_b)?;
        if !pair.is_identical {
            let request = v1::ExplainRequest {
                scan: id.0,
                layer: u32::try_from(of_a.view).unwrap_or(u32::MAX),
                a: of_a.digest.0.to_vec(),
                b: of_b.digest.0.to_vec(),
            };
            match service.explain_pair(operator, &request) {
                Ok(answer) => pair.measured(answer),
                // What a later sync took away, or never had a place, is said; all else is still told.
                Err(Error::Refused(why)) => pair.places = Places::Unknown(why),
                Err(error) => return Err(error),
            }
        }
        pairs.push(pair);
    }
    Ok(pairs)
}

/// What the result says of the two.
fn told(report: &Report, a: &FoundView, b: &FoundView) -> Result<Pair, Error> {
    let is_identical = a.content == b.content;
    let whole = is_identical.then_some(Ratio(10_000));
    let mut pair = Pair {
        view: report.views().get(a.view).cloned().unwrap_or_default(),
        a: a.clone(),
        b: b.clone(),
        is_identical,
        shared_bytes: is_identical.then_some(a.payload_bytes),
        a_in_b: whole,
        b_in_a: whole,
        resemblance: whole,
        relation: if is_identical { "identical".to_owned() } else { String::new() },
        is_estimated: false,
        cluster: None,
        through: Vec::new(),
        versions: Vec::new(),
        places: Places::All,
    };
    let (Some((cluster, name)), Some((other, _))) = (&a.cluster, &b.cluster) else { return Ok(pair) };
    if cluster != other {
        return Ok(pair);
    }
    pair.cluster = Some(name.clone());
    pair.versions = report.versions(*cluster)?;
    let Some(route) = report.route(*cluster, a.content, b.content)? else { return Ok(pair) };
    match route.links.as_slice() {
        [] => {}
        [link] => {
            pair.shared_bytes = Some(link.shared_bytes);
            (pair.a_in_b, pair.b_in_a, pair.resemblance) = (link.a_in_b, link.b_in_a, link.resemblance);
            pair.relation.clone_from(&link.relation);
            pair.is_estimated = link.estimated == Some(true);
        }
        _ => pair.through = route.links.into_iter().zip(route.documents.into_iter().skip(1)).collect(),
    }
    Ok(pair)
}

impl Pair {
    /// What was measured counts, not what a link said: it is the same, and there where there is no link.
    fn measured(&mut self, answer: v1::ExplainResponse) {
        let (shared, a, b) = (answer.shared_bytes, answer.a_payload_bytes, answer.b_payload_bytes);
        self.shared_bytes = Some(shared);
        self.a_in_b = Some(Ratio::of(shared, a));
        self.b_in_a = Some(Ratio::of(shared, b));
        self.resemblance = Some(Ratio::of(shared, (a + b).saturating_sub(shared)));
        if self.relation.is_empty() && shared > 0 {
            self.relation = "below the thresholds of the scan".to_owned();
        }
        self.places = Places::Known(PairMap::of(answer, [self.a.size_bytes, self.b.size_bytes]));
    }

    /// Those of the versions that are shown.
    fn shown(&self) -> &[ClusterDocument] {
        &self.versions[..self.versions.len().min(VERSIONS)]
    }

    /// Which of the two a version is: `A`, `B`, or nothing.
    fn is(&self, version: &ClusterDocument, [a, b]: &[Found; 2]) -> &'static str {
        let is = |found: &Found| {
            (&found.site, &found.repository, &found.path) == (&version.site, &version.repository, &version.path)
        };
        if is(a) {
            "A"
        } else if is(b) {
            "B"
        } else {
            ""
        }
    }
}

impl PairMap {
    fn of(answer: v1::ExplainResponse, sizes: [u64; 2]) -> PairMap {
        let largest = sizes.into_iter().max().unwrap_or(1).max(1);
        let column = |bytes: u64| {
            u64::try_from(u128::from(bytes) * u128::from(COLUMNS) / u128::from(largest)).unwrap_or(COLUMNS)
        };
        let columns = |offset: u64, length: u64| (column(offset), (column(offset + length) - column(offset)).max(1));
        let stretches = |list: Vec<v1::Stretch>| {
            list.into_iter().map(|one| columns(one.offset, one.length_bytes)).collect::<Vec<_>>()
        };
        let mut runs = answer.runs;
        let all = runs.len();
        runs.sort_by_key(|run| (std::cmp::Reverse(run.length_bytes), run.a));
        runs.truncate(RUNS);
        runs.sort_by_key(|run| run.a);
        let band = |run: &v1::SharedRun| Band {
            a: columns(run.a, run.length_bytes),
            b: columns(run.b, run.length_bytes),
            bytes: run.length_bytes,
        };
        PairMap {
            widths: sizes.map(|size| column(size).max(1)),
            bands: runs.iter().map(band).collect(),
            templates: [stretches(answer.templates_a), stretches(answer.templates_b)],
            omitted: u64::try_from(all - runs.len()).unwrap_or(u64::MAX) + answer.runs_omitted,
            runs,
        }
    }
}

/// Where a run stands in the second, against where it stands in the first.
fn moved(run: &v1::SharedRun) -> String {
    use cognate_export::human::count as number;
    match run.a.cmp(&run.b) {
        std::cmp::Ordering::Equal => "at the same place".to_owned(),
        std::cmp::Ordering::Less => format!("{} later", number(run.b - run.a)),
        std::cmp::Ordering::Greater => format!("{} earlier", number(run.a - run.b)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_named_by_its_place_or_as_reports_write_it() {
        let told = |named: &str| place(named).map(|(site, repository, path)| format!("{site}|{repository}|{path}"));
        assert_eq!(told("paris/kb/a/b.txt").unwrap(), "paris|kb|a/b.txt");
        assert_eq!(told("paris/kb: a/b.txt").unwrap(), "paris|kb|a/b.txt");
        assert_eq!(told("paris/kb/a: b.txt").unwrap(), "paris|kb|a: b.txt");
        assert_eq!(told("paris/kb/ a ").unwrap(), "paris|kb| a ");
        assert!(place("paris").is_none() && place("paris/kb").is_none() && place("paris/kb/").is_none());
    }

    #[test]
    fn a_map_is_as_wide_as_the_longer_of_the_two_and_shows_the_longest_runs() {
        let run = |a, b, length_bytes| v1::SharedRun { a, b, length_bytes };
        let mut runs: Vec<_> = (0..300).map(|place| run(place * 10, place * 10, 5)).collect();
        runs.push(run(4000, 1000, 900));
        let answer = v1::ExplainResponse { runs, runs_omitted: 7, ..Default::default() };
        let map = PairMap::of(answer, [6000, 3000]);
        assert_eq!((map.widths, map.bands.len(), map.omitted), ([600, 300], RUNS, 108));
        let last = map.bands.last().unwrap();
        assert_eq!((last.a, last.b, last.bytes), ((400, 90), (100, 90), 900));
        assert_eq!(last.points(), "400,18 490,18 190,58 100,58");
    }
}
