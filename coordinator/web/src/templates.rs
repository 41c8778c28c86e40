//! Templates: the list, marking, taking back, and suggestions.

use askama::Template;
use axum::Router;
use axum::extract::Path;
use axum::routing::{get, post};
use cognate_proto::name::ScanId;
use cognate_proto::v1::operator_server::Operator as _;
use cognate_proto::v1::{self, ScanStatus};
use cognate_storage::template::split_rows;
use tokio_stream::StreamExt as _;

use crate::jobs::{Job, JobKey};
use crate::scans::ScanRow;
use crate::{Again, Fields, Page, PageError, Pages, Person, Shown, filters, html, scan_id, see};

pub(crate) fn routes() -> Router<Pages> {
    Router::new()
        .route("/templates", get(list))
        .route("/templates/mark", post(mark))
        .route("/templates/unmark", post(unmark))
        .route("/templates/suggest", post(suggest))
        .route("/templates/suggested/{id}", get(suggested))
        .route("/templates/accept", post(accept))
}

/// Scans that are offered for suggestions.
const SCANS: usize = 20;
/// Maximum length of the note of a suggested template, in characters.
const NOTE_CHARS: usize = 200;

#[derive(Template)]
#[template(path = "templates.html")]
struct Templates {
    page: Page,
    templates: Vec<Row>,
    scans: Vec<ScanRow>,
    /// True if templates that were taken back are shown too.
    all: bool,
    /// The forms that search and mark, if something was wrong with one.
    search: Again,
    marking: Again,
}

struct Row {
    id: String,
    method: String,
    tags: u64,
    rows: u64,
    bytes: u64,
    note: String,
    cluster: String,
    scan: String,
    marked: i64,
    marked_by: String,
    unmarked: i64,
    unmarked_by: String,
}

#[derive(Template)]
#[template(path = "suggested.html")]
struct Suggested {
    page: Page,
    id: String,
    job: Job,
    rows: Vec<SuggestionRow>,
}

struct SuggestionRow {
    place: usize,
    cluster: String,
    tags: u64,
    rows: u64,
    bytes: u64,
    documents: u64,
    document_bytes: u64,
    emptied: u64,
    links_gone: u64,
    links_hollow: u64,
    clusters_gone: u64,
    examples: Vec<String>,
}

async fn list(person: Person, fields: Fields) -> Shown {
    shown(&person, fields.is_set("all"), Again::default(), Again::default()).await
}

async fn shown(person: &Person, all: bool, search: Again, marking: Again) -> Shown {
    let service = &person.pages.service;
    let mut answers =
        service.list_templates(person.ask("ListTemplates", v1::ListTemplatesRequest { all })?).await?.into_inner();
    let mut templates = Vec::new();
    while let Some(template) = answers.next().await {
        templates.push(row(&template?));
    }
    let scans = service.list_scans(person.ask("ListScans", v1::ListScansRequest {})?).await?.into_inner().scans;
    let has_result = |scan: &&v1::ScanState| matches!(scan.status(), ScanStatus::Complete | ScanStatus::Partial);
    let scans = scans.iter().filter(has_result).take(SCANS).map(ScanRow::of).collect();
    let page = Templates { page: person.page("templates"), templates, scans, all, search, marking };
    page.search.answered(page.marking.answered(html(&page)))
}

fn row(template: &v1::Template) -> Row {
    Row {
        id: format!("{:016x}", template.id),
        method: crate::sites::method(template.method.as_ref()),
        tags: template.tag_count,
        rows: template.row_count,
        bytes: template.tag_bytes.max(template.row_bytes),
        note: template.note.clone(),
        cluster: template.cluster.clone(),
        scan: if template.scan == 0 { String::new() } else { ScanId(template.scan).to_string() },
        marked: template.marked,
        marked_by: template.marked_by.clone(),
        unmarked: template.unmarked,
        unmarked_by: template.unmarked_by.clone(),
    }
}

async fn mark(person: Person, fields: Fields) -> Shown {
    match marked(&person, &fields).await {
        Ok(()) => see("/templates"),
        Err(error) => {
            let form = Again::of(fields, error, &["cluster", "share", "note"])?;
            shown(&person, false, Again::default(), form).await
        }
    }
}

/// Marks the common part of a cluster's members, or the frame on which it rests.
async fn marked(person: &Person, fields: &Fields) -> Result<(), PageError> {
    let scan = fields.text("scan").map(scan_id).transpose()?.map_or(0, |id| id.0);
    let text = |name| fields.text(name).unwrap_or_default().to_owned();
    let request = v1::MarkTemplateRequest {
        scan,
        cluster: fields.needed("cluster")?.to_owned(),
        share: text("share"),
        note: text("note"),
        frame: fields.is_set("frame"),
        ..Default::default()
    };
    let template = person.pages.service.mark_template(person.ask("MarkTemplate", request)?).await?.into_inner();
    person.say(ignored(&template));
    Ok(())
}

fn ignored(template: &v1::Template) -> String {
    match (template.tag_count, template.row_count) {
        (tags, 0) => format!("{tags} chunks are ignored from the next scan on."),
        (0, rows) => format!("{rows} rows of fine chunks are ignored from the next scan on."),
        (tags, rows) => format!("{tags} chunks and {rows} rows of fine chunks are ignored from the next scan on."),
    }
}

async fn unmark(person: Person, fields: Fields) -> Shown {
    let id = u64::from_str_radix(fields.needed("id")?, 16).map_err(|_| PageError::not_found())?;
    let request = person.ask("UnmarkTemplate", v1::UnmarkTemplateRequest { id })?;
    person.pages.service.unmark_template(request).await?;
    person.say("The template is taken back: its chunks count again from the next scan on.");
    see("/templates")
}

fn key(person: &Person, id: ScanId) -> JobKey {
    (person.operator.name.to_string(), id.0)
}

async fn suggest(person: Person, fields: Fields) -> Shown {
    match searched(&person, &fields).await {
        Ok(id) => see(&format!("/templates/suggested/{id}")),
        Err(error) => {
            let form = Again::of(fields, error, &["min_documents", "scan"])?;
            shown(&person, false, form, Again::default()).await
        }
    }
}

/// Starts the search for templates.
async fn searched(person: &Person, fields: &Fields) -> Result<ScanId, PageError> {
    let id = scan_id(fields.needed("scan")?)?;
    let min_documents = u32::try_from(fields.number("min_documents")?.unwrap_or_default())
        .map_err(|_| PageError::invalid("`min_documents`: it is too large"))?;
    let request = v1::SuggestTemplatesRequest { scan: id.0, until_quiet: fields.is_set("until_quiet"), min_documents };
    let suggestions =
        person.pages.service.suggest_templates(person.ask("SuggestTemplates", request)?).await?.into_inner();
    person.pages.jobs.begin(key(person, id), person.pages.now(), suggestions)?;
    Ok(id)
}

/// The suggestions so far. The page reloads itself while the search runs.
async fn suggested(person: Person, Path(id): Path<String>) -> Shown {
    let id = scan_id(&id)?;
    person.may("SuggestTemplates")?;
    crate::scan::shown(&person, id).await?;
    let job = person.pages.jobs.look(&key(&person, id)).ok_or_else(PageError::not_found)?;
    let row = |(place, found): (usize, &v1::TemplateSuggestion)| SuggestionRow {
        place,
        cluster: found.cluster.clone(),
        tags: found.lengths.len() as u64,
        rows: split_rows(&found.rows).count() as u64,
        // The rows of a frame cover its chunks as well.
        bytes: found.lengths.iter().copied().map(u64::from).sum::<u64>().max(row_bytes(found)),
        documents: found.documents,
        document_bytes: found.document_bytes,
        emptied: found.emptied,
        links_gone: found.links_gone,
        links_hollow: found.links_hollow,
        clusters_gone: found.clusters_gone,
        examples: found.examples.clone(),
    };
    let rows = job.found.iter().enumerate().map(row).collect();
    html(&Suggested { page: person.page("templates"), id: id.to_string(), job, rows })
}

fn row_bytes(found: &v1::TemplateSuggestion) -> u64 {
    split_rows(&found.rows).map(|row| row.first_bytes()).sum()
}

/// Marks a suggested template.
async fn accept(person: Person, fields: Fields) -> Shown {
    let id = scan_id(fields.needed("scan")?)?;
    let place = fields.number("place")?.and_then(|place| usize::try_from(place).ok()).unwrap_or(usize::MAX);
    let job = person.pages.jobs.look(&key(&person, id)).ok_or_else(PageError::not_found)?;
    let found = job.found.get(place).ok_or_else(PageError::not_found)?;
    let example = found.examples.first().cloned().unwrap_or_default();
    let note = format!("suggested: cluster {}, {example}", found.cluster).chars().take(NOTE_CHARS).collect();
    // The cluster may be from an analysis that left no result.
    let (tags, rows) = (found.tags.clone(), found.rows.clone());
    let request = v1::MarkTemplateRequest { scan: id.0, tags, rows, note, ..Default::default() };
    let template = person.pages.service.mark_template(person.ask("MarkTemplate", request)?).await?.into_inner();
    person.say(ignored(&template));
    see(&format!("/templates/suggested/{id}"))
}
