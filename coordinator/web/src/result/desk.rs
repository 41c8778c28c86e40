//! The workspace of a review: the list of clusters at the left, the cluster that is open at the right. In a narrow window
//! these are two steps: the list, then the cluster.

use askama::Template;
use axum::Router;
use axum::extract::{Path, RawQuery};
use axum::routing::{get, post};
use cognate_proto::name::ScanId;

use super::cluster::{Detail, DetailQuery};
use super::clusters::{ListPane, ListQuery, rows};
use super::explain::Places;
use super::verdicts::{VERDICTS, back, may_save};
use super::{browsing, page_number};
use crate::{Again, Fields, Page, PageError, Pages, Person, Shown, filters, html, scan_id};
use cognate_server::operator::blocking;
use cognate_storage::verdict::SavedFilter;

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route("/scans/{id}/clusters", get(list))
        .route("/scans/{id}/clusters/{view}/{name}", get(cluster))
        .route("/scans/{id}/filters", post(save_filter))
}

/// The fields of the filter; errors that name none are about the first.
const FILTERS: [&str; 22] = [
    "path",
    "verdict",
    "sort",
    "least",
    "relation",
    "frame",
    "view",
    "least_max",
    "mean",
    "mean_max",
    "contains",
    "size",
    "size_max",
    "members",
    "members_max",
    "since",
    "change",
    "from",
    "to",
    "tag",
    "assignee",
    "site",
];

#[derive(Template)]
#[template(path = "result/desk.html")]
struct Desk {
    page: Page,
    id: ScanId,
    list: ListPane,
    detail: Option<Detail>,
    /// True if the address names a cluster: in a narrow window, that is what is shown.
    is_cluster: bool,
}

/// Saved filters are for all people, and may contain names that a bound person must not see.
pub(super) fn saved_filters(person: &Person) -> Result<Vec<SavedFilter>, PageError> {
    match person.operator.viewer().is_bound() {
        true => Ok(Vec::new()),
        false => Ok(person.pages.services().records.store.saved_filters().map_err(cognate_server::Error::from)?),
    }
}

async fn list(person: Person, Path(id): Path<String>, RawQuery(raw): RawQuery, fields: Fields) -> Shown {
    desk(person, scan_id(&id)?, None, Asked { raw: raw.unwrap_or_default(), fields, saving: Again::default() }).await
}

/// Saves the filter of a list under a name. Filters are for all people, so only people without bounds may name them.
async fn save_filter(person: Person, Path(id): Path<String>, fields: Fields) -> Shown {
    let id = scan_id(&id)?;
    may_save(&person)?;
    let query = fields.text("query").unwrap_or_default().to_owned();
    match saved_filter(&person, &fields, query.clone()).await {
        Ok(()) => back(id, &fields),
        Err(error) => after_saving(person, id, query, Again::of(fields, error, &["name"])?).await,
    }
}

async fn saved_filter(person: &Person, fields: &Fields, query: String) -> Result<(), PageError> {
    let name = fields.needed("name")?.to_owned();
    let (asking, saved) = (person.clone(), name.clone());
    blocking(move || {
        Ok(asking.pages.services().verdicts.save_filter(&saved, &query, asking.operator.name.as_str())?)
    })
    .await?;
    person.say(format!("The filter is saved as “{name}”."));
    Ok(())
}

/// The list again after its filter could not be saved under a name.
async fn after_saving(person: Person, id: ScanId, query: String, saving: Again) -> Shown {
    let fields = Fields::read(query.as_bytes())?;
    desk(person, id, None, Asked { raw: query, fields, saving }).await
}

/// What an address asks for, and the form that saves its filter, if something was wrong with that.
struct Asked {
    raw: String,
    fields: Fields,
    saving: Again,
}

async fn cluster(
    person: Person,
    Path((id, view, name)): Path<(String, String, String)>,
    RawQuery(raw): RawQuery,
    fields: Fields,
) -> Shown {
    let asked = Asked { raw: raw.unwrap_or_default(), fields, saving: Again::default() };
    desk(person, scan_id(&id)?, Some((view, name)), asked).await
}

async fn desk(person: Person, id: ScanId, named: Option<(String, String)>, asked: Asked) -> Shown {
    let Asked { raw, fields, saving } = asked;
    let (asked, form) = match ListQuery::of(Some(&raw), &fields, page_number(&fields)?) {
        Ok(asked) => (asked, Again::default()),
        // The list is shown as if there were no filter, and the form as it was filled in.
        Err(error) => {
            let form = Again::of(fields.clone(), error.into(), &FILTERS)?;
            (ListQuery::of(None, &Fields::default(), 1)?, form)
        }
    };
    let wanted = DetailQuery::of(&fields)?;
    let is_cluster = named.is_some();
    let (asking, of_list) = (person.clone(), asked.clone());
    let (found, detail) = browsing(&person, id, &asked.filter, move |browse, store| {
        let found = rows(browse, store, id, &of_list)?;
        let open = match &named {
            Some((view, name)) => browse.cluster_called(view, name)?,
            None => found.rows.first().map(|row| row.row.clone()),
        };
        let detail = open.map(|row| {
            let list = (&of_list, found.neighbours(row.number, of_list.number));
            Detail::of(&asking, (browse, store), id, row, list, &wanted)
        });
        let detail = detail.transpose()?.flatten();
        Ok((found, detail))
    })
    .await?;
    if is_cluster && detail.is_none() {
        return Err(PageError::not_found());
    }
    let saved = saved_filters(&person)?;
    let list = ListPane { form, saving, ..ListPane::of(id, found, asked, fields, saved) };
    let page = Desk { page: person.page("scans"), id, list, detail, is_cluster };
    page.list.form.answered(page.list.saving.answered(html(&page)))
}
