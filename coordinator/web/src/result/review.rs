//! The review of a result: how much is decided, by whom, and how much is left; filters that are given to people; blind
//! samples; and rules for many clusters at once.

use askama::Template;
use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::routing::{get, post};
use cognate_proto::name::ScanId;

use super::browsing;
use super::desk::saved_filters;
use super::verdicts::VERDICTS;
use crate::{Again, Fields, Page, PageError, Pages, Person, Shown, filters, html, scan_id, see};
use cognate_export::expected::precision;
use cognate_export::human;
use cognate_result::browse::{Bulk, BulkRule, ClusterFilter, ClusterRow, Progress, VerdictWanted};
use cognate_result::marks::AssigneeInUse;
use cognate_result::plan::{Keep, Rule};
use cognate_result::report::SampleSection;
use cognate_server::Error;
use cognate_server::operator::blocking;
use cognate_storage::verdict;
use cognate_storage::verdict::SavedFilter;

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route("/scans/{id}/review", get(review))
        .route("/scans/{id}/review/rule", get(preview).post(apply))
        .route("/scans/{id}/filters/assign", post(assign))
}

/// Places of a rule at most.
const PLACES_MAX: usize = 32;

#[derive(Template)]
#[template(path = "result/review.html")]
struct Review {
    page: Page,
    id: ScanId,
    progress: Progress,
    filters: Vec<FilterRow>,
    samples: Vec<SampleView>,
    /// The people to whom single clusters are assigned.
    people: Vec<AssigneeInUse>,
    places: Vec<String>,
    fields: Fields,
    /// The error in the form of a rule, or empty.
    problem: String,
    preview: Option<Preview>,
    /// The forms that draw a sample and assign a filter, if something was wrong with one.
    drawing: Again,
    assigning: Again,
}

/// A saved filter, and how much of it is left.
struct FilterRow {
    saved: SavedFilter,
    clusters: u64,
    open: u64,
}

/// A sample, and what it says.
struct SampleView {
    section: SampleSection,
    sentence: Option<String>,
}

/// What a rule would decide.
struct Preview {
    bulk: Bulk,
    /// The filter, as a query.
    filter: String,
}

impl Preview {
    /// The lists of clusters: their headings, and the first rows.
    fn lists(&self) -> [(&'static str, &[ClusterRow]); 2] {
        [("The first of them", &self.bulk.examples), ("The first ties", &self.bulk.tied)]
    }
}

impl Review {
    /// The clusters that are left to a person.
    fn open_of(&self, name: &str) -> String {
        let verdict = Some(VerdictWanted::Open);
        let filter = ClusterFilter { verdict, assignee: Some(name.to_owned()), ..ClusterFilter::default() };
        format!("/scans/{}/clusters?{}", self.id, filter.to_query())
    }

    fn value(&self, name: &str) -> &str {
        self.fields.text(name).unwrap_or_default()
    }

    /// The share of the clusters that is decided, in thousandths.
    fn decided_width(&self) -> u64 {
        self.progress.decided * 1000 / self.progress.clusters.max(1)
    }
}

async fn review(person: Person, Path(id): Path<String>, fields: Fields) -> Shown {
    shown(person, scan_id(&id)?, Forms { rule: fields, ..Forms::default() }).await
}

/// The forms of the page, as they were filled in.
#[derive(Default)]
pub(super) struct Forms {
    rule: Fields,
    /// What is wrong with the rule, or empty.
    problem: String,
    preview: Option<Preview>,
    drawing: Again,
    assigning: Again,
}

impl Forms {
    /// The form of a sample that could not be drawn.
    pub(super) fn of_drawing(drawing: Again) -> Forms {
        Forms { drawing, ..Forms::default() }
    }
}

pub(super) async fn shown(person: Person, id: ScanId, forms: Forms) -> Shown {
    let Forms { rule: fields, problem, preview, drawing, assigning } = forms;
    let saved = saved_filters(&person)?;
    let (progress, filters, places, people) = browsing(&person, id, &ClusterFilter::default(), move |browse, _| {
        let mut rows = Vec::new();
        for saved in saved {
            let Ok(filter) = saved.query.parse::<ClusterFilter>() else { continue };
            // The clusters of such a filter depend on another result.
            if filter.since.is_some() {
                continue;
            }
            let open = ClusterFilter { verdict: Some(VerdictWanted::Open), ..filter.clone() };
            let all = ClusterFilter { verdict: None, ..filter };
            // A filter may name a site that this scan does not have.
            if let (Ok(clusters), Ok(open)) = (browse.cluster_count(&all), browse.cluster_count(&open)) {
                rows.push(FilterRow { saved, clusters, open });
            }
        }
        let roots = browse.report().sites()?.into_iter().map(|site| format!("{}/{}", site.site, site.repository));
        Ok((browse.progress()?, rows, roots.collect(), browse.assignees_in_use()?))
    })
    .await?;
    let asking = person.clone();
    let samples = blocking(move || {
        let samples = asking.pages.service.review(&asking.operator, id)?.samples;
        Ok(samples.iter().map(SampleSection::of).collect::<Vec<_>>())
    });
    let samples = samples.await?.into_iter().map(|section| SampleView { sentence: precision(&section), section });
    let (page, samples) = (person.page("scans"), samples.collect());
    let page =
        Review { page, id, progress, filters, samples, people, places, fields, problem, preview, drawing, assigning };
    page.drawing.answered(page.assigning.answered(html(&page)))
}

/// The lines of the places of a form.
fn places_of(fields: &Fields) -> impl Iterator<Item = &str> {
    fields.all("place").flat_map(str::lines).map(str::trim).filter(|line| !line.is_empty())
}

/// The filter and the rule of a form, or the error in them for people.
fn rule_of(fields: &Fields) -> Result<(ClusterFilter, BulkRule), String> {
    let filter = fields.text("filter").unwrap_or_default().parse::<ClusterFilter>();
    let filter = filter.map_err(|error| format!("`filter`: {error}"))?;
    let places = || -> Result<Vec<Rule>, String> {
        let lines: Vec<&str> = places_of(fields).collect();
        if lines.is_empty() || lines.len() > PLACES_MAX {
            return Err(format!("`place`: name 1 to {PLACES_MAX} places, one on a line, as SITE/REPOSITORY/FOLDER"));
        }
        let rule = |line: &&str| format!("prefer:{line}").parse::<Rule>().map_err(|error| format!("`place`: {error}"));
        lines.iter().map(rule).collect()
    };
    let rule = match fields.text("rule") {
        Some("below") => {
            let verdict = verdict::parse(fields.text("verdict").unwrap_or_default());
            BulkRule::Below(places()?, verdict.ok_or("`verdict`: choose one")?)
        }
        Some("newest") => BulkRule::Keep(Keep { rules: vec![Rule::Newest], min_copies: 1 }),
        Some("prefer") => BulkRule::Keep(Keep { rules: places()?, min_copies: 1 }),
        _ => return Err("`rule`: choose one".to_owned()),
    };
    Ok((filter, rule))
}

async fn preview(person: Person, Path(id): Path<String>, fields: Fields) -> Shown {
    let id = scan_id(&id)?;
    let (filter, rule) = match rule_of(&fields) {
        Ok(asked) => asked,
        Err(problem) => return shown(person, id, Forms { rule: fields, problem, ..Forms::default() }).await,
    };
    let wanted = filter.clone();
    let found = browsing(&person, id, &filter, move |browse, _| Ok(browse.bulk(&wanted, &rule)));
    match found.await? {
        Ok(bulk) => {
            let preview = Some(Preview { bulk, filter: filter.to_query() });
            shown(person, id, Forms { rule: fields, preview, ..Forms::default() }).await
        }
        Err(error) => {
            let problem = Error::from(error).to_string();
            shown(person, id, Forms { rule: fields, problem, ..Forms::default() }).await
        }
    }
}

async fn apply(person: Person, Path(id): Path<String>, fields: Fields) -> Shown {
    let id = scan_id(&id)?;
    person.may("SetVerdicts")?;
    let (filter, rule) = rule_of(&fields).map_err(PageError::invalid)?;
    let expected = fields.number("expected")?.unwrap_or(0);
    let places = places_of(&fields).collect::<Vec<_>>().join(", ");
    let note = match fields.text("rule") {
        Some("below") => format!("rule: all that is below {places}"),
        Some("prefer") => format!("rule: prefer {places}"),
        _ => "rule: all but the newest".to_owned(),
    };
    let note: String = note.chars().take(250).collect();
    let asking = person.clone();
    let done = blocking(move || {
        let (service, operator) = (&asking.pages.service, &asking.operator);
        service.check_result(operator, id)?;
        if let Some(since) = filter.since {
            service.check_result(operator, since)?;
        }
        let by = (operator.name.as_str(), &service.reader(operator));
        Ok(service.services.verdicts.decide_by_rule((id, &filter), &rule, (&note, expected), by)?)
    });
    let (_, clusters) = done.await?;
    let count = human::count(clusters);
    person.say(format!("Decided about {count} clusters by a rule. “Undo” (u) takes all of it back."));
    see(&format!("/scans/{id}/review"))
}

async fn assign(person: Person, Path(id): Path<String>, fields: Fields) -> Shown {
    let id = scan_id(&id)?;
    super::verdicts::may_save(&person)?;
    match assigned(&person, &fields).await {
        Ok(()) => see(&format!("/scans/{id}/review")),
        // There is no form of a filter that is not there.
        Err(error) if error.status == StatusCode::NOT_FOUND => Err(error),
        Err(error) => {
            let assigning = Again::of(fields, error, &["assignee"])?;
            shown(person, id, Forms { assigning, ..Forms::default() }).await
        }
    }
}

/// Gives a saved filter to a person.
async fn assigned(person: &Person, fields: &Fields) -> Result<(), PageError> {
    let (name, assignee) = (fields.needed("name")?.to_owned(), fields.text("assignee").unwrap_or_default().to_owned());
    let (asking, to) = (person.clone(), assignee.clone());
    blocking(move || Ok(asking.pages.services().verdicts.assign_filter(&name, &to, asking.operator.name.as_str())?))
        .await?;
    person.say(match assignee.as_str() {
        "" => "Nobody is assigned now.".to_owned(),
        assignee => format!("Assigned to {assignee}."),
    });
    Ok(())
}
