//! A plan: the copies that stay by given rules, as a preview of the files. It moves and deletes nothing.

use askama::Template;
use axum::Router;
use axum::extract::{Path, State};
use axum::routing::get;
use cognate_proto::name::ScanId;

use crate::exports::file;
use crate::result::browsing;
use crate::{Again, Fields, Page, PageError, Pages, Person, Shown, filters, html, scan_id};
use cognate_export::plan::PlanFormat;
use cognate_result::browse::ClusterFilter;
use cognate_result::plan::{Decision, Keep, Rule};
use cognate_result::plan_preview::PlanPreview;
use cognate_result::report::Report;
use cognate_server::Error;

/// Sets of each kind that are shown; the files have all.
const SHOWN_MAX: usize = 100;
/// Further rules would decide nothing.
const RULES_MAX: usize = 32;

pub(crate) fn routes() -> Router<Pages> {
    Router::new().route("/scans/{id}/plan", get(plan)).route("/scans/{id}/plan/{site}/{extension}", get(download))
}

#[derive(Template)]
#[template(path = "plan.html")]
struct PlanPage {
    page: Page,
    id: ScanId,
    /// The rules as typed, one on a line.
    rules: String,
    copies: String,
    /// What is wrong with the form.
    form: Again,
    /// Places that can be a reference.
    places: Vec<String>,
    formats: [PlanFormat; 3],
    planned: Option<PlanPreview>,
    /// The rules as a query of an address.
    asked: String,
}

impl PlanPage {
    /// The lists of the page, ties first.
    fn lists(planned: &PlanPreview) -> [(&'static str, &[Decision]); 3] {
        [
            ("Ties", &planned.ties),
            ("Sets with documents that could go", &planned.shown),
            ("Sets that verdicts leave out", &planned.left_out),
        ]
    }
}

/// The rules of an address or a form: several fields, or lines of one.
fn keep_of(fields: &Fields) -> Result<Keep, String> {
    let lines = fields.all("keep").flat_map(str::lines).map(str::trim).filter(|line| !line.is_empty());
    let rules = lines.map(str::parse).collect::<Result<Vec<Rule>, _>>().map_err(|error| error.to_string())?;
    let copies = fields.number("copies").map_err(|error| error.message)?.unwrap_or(1);
    match usize::try_from(copies) {
        Ok(0) => Err("`copies`: at least one copy of each document stays".to_owned()),
        _ if rules.len() > RULES_MAX => Err(format!("more than {RULES_MAX} rules")),
        Ok(min_copies) => Ok(Keep { rules, min_copies }),
        Err(_) => Err("`copies`: the number is too large".to_owned()),
    }
}

async fn plan(person: Person, Path(id): Path<String>, fields: Fields) -> Shown {
    let id = scan_id(&id)?;
    let typed: Vec<&str> =
        fields.all("keep").flat_map(str::lines).map(str::trim).filter(|line| !line.is_empty()).collect();
    let rules = typed.join("\n");
    let keep = keep_of(&fields);
    let copies = keep.as_ref().map_or(1, |keep| keep.min_copies);
    let typed_copies = fields.text("copies").unwrap_or("1").to_owned();
    let asked = {
        let mut asked = form_urlencoded::Serializer::new(String::new());
        asked.extend_pairs(typed.iter().map(|rule| ("keep", rule)));
        asked.append_pair("copies", &copies.to_string()).finish()
    };
    let wanted = keep.as_ref().ok().filter(|keep| !keep.rules.is_empty()).cloned();
    let (places, planned) = browsing(&person, id, &ClusterFilter::default(), move |browse, store| {
        let places = browse.report().sites()?.into_iter().map(|site| format!("{}/{}", site.site, site.repository));
        Ok((places.collect(), wanted.map(|keep| browse.plan(store, &keep, SHOWN_MAX)).transpose()?))
    })
    .await?;
    let form = match &keep {
        Ok(_) => Again::default(),
        Err(problem) => Again::of(fields, PageError::invalid(problem.clone()), &["keep", "copies"])?,
    };
    let shown = PlanPage {
        page: person.page("scans"),
        id,
        rules,
        copies: typed_copies,
        form,
        places,
        formats: PlanFormat::ALL,
        planned,
        asked,
    };
    shown.form.answered(html(&shown))
}

async fn download(
    State(pages): State<Pages>,
    person: Person,
    Path((id, site, extension)): Path<(String, String, String)>,
    fields: Fields,
) -> Shown {
    let id = scan_id(&id)?;
    let format = PlanFormat::ALL.into_iter().find(|format| format.extension() == extension);
    let format = format.ok_or_else(PageError::not_found)?;
    let keep = keep_of(&fields).map_err(PageError::invalid)?;
    let of_site = site.clone();
    let written = reading(&pages, &person, id, move |report| {
        if report.sites()?.iter().all(|known| known.site != of_site) {
            return Ok(None);
        }
        Ok(Some(format.write(report, &keep, &of_site)))
    })
    .await?;
    let written = written.ok_or_else(PageError::not_found)?;
    let bytes = written.map_err(|error| PageError::internal(error.to_string()))?;
    Ok(file(&format!("cognate-plan-{id}-{site}.{extension}"), format.content_type(), bytes.into()))
}

/// Reads a result, for a person who may see all of it.
async fn reading<T: Send + 'static>(
    pages: &Pages,
    person: &Person,
    id: ScanId,
    read: impl FnOnce(&Report) -> Result<T, Error> + Send + 'static,
) -> Result<T, PageError> {
    person.may("FetchResult")?;
    let (service, operator) = (pages.service.clone(), person.operator.clone());
    let reading = cognate_storage::disk::off_tasks(move || {
        service.result_of(&operator, id)?;
        read(&service.reviewed_report(&operator, id)?)
    });
    Ok(reading.await.map_err(|_| PageError::internal("a page crashed: see the log"))??)
}
