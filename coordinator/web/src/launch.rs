//! Launching a scan: the form, then the cost at each site, then the launch; or saving it as a profile or a schedule.

use askama::Template;
use axum::Router;
use axum::routing::get;
use cognate_proto::name::ScanId;
use cognate_proto::options::ScanOptions;
use cognate_proto::v1;
use cognate_proto::v1::operator_server::Operator as _;

use crate::scan_form::{ScanForm, methods};
use crate::scans::repository;
use crate::{Again, Fields, Page, PageError, Pages, Person, Shown, filters, html, scan_id, see};
use cognate_export::human;
use cognate_storage::clock::random_number;

pub(crate) fn routes() -> Router<Pages> {
    Router::new().route("/scans/new", get(choose).post(estimate)).route("/scans/launch", axum::routing::post(launch))
}

#[derive(Template)]
#[template(path = "launch.html")]
struct Launch {
    page: Page,
    form: ScanForm,
    repositories: Vec<Choice>,
    profiles: Vec<String>,
    methods: Vec<(&'static str, &'static str)>,
    /// What is wrong with the submitted form.
    again: Again,
}

/// A repository that can be chosen.
struct Choice {
    name: String,
    offered: bool,
    is_chosen: bool,
    documents: u64,
    size_bytes: u64,
}

#[derive(Template)]
#[template(path = "estimate.html")]
struct EstimatePage {
    page: Page,
    /// The id that the scan will have: a form that is sent twice launches one scan.
    id: String,
    fields: Vec<(&'static str, String)>,
    no_sync: bool,
    /// True if only a sample is read.
    is_sample: bool,
    rows: Vec<EstimateRow>,
    read_bytes: u64,
    send_bytes: u64,
    /// What is wrong with a name that was given here.
    again: Again,
}

struct EstimateRow {
    name: String,
    is_known: bool,
    documents: u64,
    size_bytes: u64,
    read_bytes: u64,
    send_bytes: u64,
    time: String,
    note: String,
}

/// The form, empty or filled from a profile or an earlier scan.
async fn choose(person: Person, fields: Fields) -> Shown {
    person.may("LaunchScan")?;
    let form = match (fields.text("profile"), fields.text("again")) {
        (Some(name), _) => {
            let profiles = profiles(&person).await?;
            let known = profiles.into_iter().find(|profile| profile.name == name).ok_or_else(PageError::not_found)?;
            ScanForm::of_options(&ScanOptions::of_record(known.options.as_ref()))
        }
        (None, Some(id)) => {
            let state = crate::scan::shown(&person, scan_id(id)?).await?;
            ScanForm::of_options(&ScanOptions::of_record(state.options.as_ref()))
        }
        (None, None) => ScanForm::untouched(),
    };
    show_form(&person, form, Again::default()).await
}

async fn show_form(person: &Person, form: ScanForm, again: Again) -> Shown {
    let request = person.ask("ListRepositories", v1::ListRepositoriesRequest {})?;
    let listed = person.pages.service.list_repositories(request).await?.into_inner().repositories;
    let largest = |row: &v1::Repository, value: fn(&v1::RepositoryIndex) -> u64| {
        row.indexes.iter().map(value).max().unwrap_or_default()
    };
    let choice = |row: &v1::Repository| {
        let name = format!("{}/{}", row.site, row.repository);
        Choice {
            is_chosen: form.has_repository(&name),
            offered: row.offered,
            documents: largest(row, |index| index.documents),
            size_bytes: largest(row, |index| index.size_bytes),
            name,
        }
    };
    let page = Launch {
        page: person.page("scans"),
        repositories: listed.iter().map(choice).collect(),
        profiles: profiles(person).await?.into_iter().map(|profile| profile.name).collect(),
        methods: methods(),
        again,
        form,
    };
    page.again.answered(html(&page))
}

async fn profiles(person: &Person) -> Result<Vec<v1::Profile>, PageError> {
    let request = person.ask("ListProfiles", v1::ListProfilesRequest {})?;
    Ok(person.pages.service.list_profiles(request).await?.into_inner().profiles)
}

/// The cost and the question; or the form again with its error.
async fn estimate(person: Person, fields: Fields) -> Shown {
    person.may("LaunchScan")?;
    confirm(&person, fields, Again::default()).await
}

/// The cost and the question, and what is wrong with the names that were given there; or the first form with its error.
async fn confirm(person: &Person, fields: Fields, again: Again) -> Shown {
    let form = ScanForm::of_fields(&fields);
    let asked = async {
        let options = form.options()?;
        if options.no_sync {
            options.check().map_err(|error| PageError::invalid(error.to_string()))?;
            return Ok(Vec::new());
        }
        let request = person.ask("EstimateScan", v1::EstimateScanRequest { options: Some(options.into()) })?;
        Ok::<_, PageError>(person.pages.service.estimate_scan(request).await?.into_inner().repositories)
    };
    let rows: Vec<EstimateRow> = match asked.await {
        Ok(rows) => rows.iter().map(EstimateRow::of).collect(),
        // The form stays filled in.
        Err(error) => return show_form(person, form, Again::of(fields, error, &ScanForm::NAMES)?).await,
    };
    let page = EstimatePage {
        page: person.page("scans"),
        id: ScanId(random_number().max(1)).to_string(),
        fields: form.fields(),
        no_sync: form.has("no_sync"),
        is_sample: form.has("sample"),
        read_bytes: rows.iter().map(|row| row.read_bytes).sum(),
        send_bytes: rows.iter().map(|row| row.send_bytes).sum(),
        rows,
        again,
    };
    page.again.answered(html(&page))
}

/// The question again, after what was given there could not be used. `names` are the fields of its form, the first of which has errors
/// that name none.
pub(crate) async fn confirm_again(person: &Person, fields: Fields, error: PageError, names: &[&'static str]) -> Shown {
    let again = Again::of(fields.clone(), error, names)?;
    confirm(person, fields, again).await
}

impl EstimateRow {
    fn of(row: &v1::RepositoryEstimate) -> EstimateRow {
        let estimate = row.estimate.unwrap_or_default();
        let read_bytes = estimate.size_bytes.saturating_sub(estimate.unread_bytes);
        let mut name = row.repository.as_ref().map(repository).unwrap_or_default();
        if !row.view.is_empty() {
            name = format!("{name} ({})", human::view(&row.view));
        }
        EstimateRow {
            name,
            is_known: row.estimate.is_some(),
            documents: estimate.documents,
            size_bytes: estimate.size_bytes,
            read_bytes,
            send_bytes: estimate.send_bytes,
            time: match read_bytes.checked_div(estimate.bytes_per_second) {
                Some(seconds) => human::duration(seconds.max(1)),
                None => "?".to_owned(),
            },
            note: match (row.unknown.is_empty(), row.estimate.is_some(), estimate.cut_short) {
                (false, true, _) => format!("{}: the figures are those of the last sync", row.unknown),
                (false, false, _) => row.unknown.clone(),
                (true, _, true) => "at least this much: the walk was cut short".to_owned(),
                (true, _, false) => String::new(),
            },
        }
    }
}

async fn launch(person: Person, fields: Fields) -> Shown {
    let id = scan_id(fields.needed("id")?)?;
    let options = ScanForm::of_fields(&fields).options()?;
    let name = fields.text("scan_name").unwrap_or_default().to_owned();
    let request = v1::LaunchScanRequest { scan: id.0, options: Some(options.into()), name };
    match person.pages.service.launch_scan(person.ask("LaunchScan", request)?).await {
        Ok(_) => see(&format!("/scans/{id}")),
        Err(status) => confirm_again(&person, fields, status.into(), &["scan_name"]).await,
    }
}
