//! Watches and cases as programs read them: `--format json` and the API write these types. Fields
//! are in the order of their names, as in every object that Cognate writes.

use cognate_proto::v1;
use serde::Serialize;

use cognate_result::report::time;

/// The query of a watch or of a case.
#[derive(Serialize, Debug)]
pub struct QueryRow {
    chunk_bytes: u64,
    documents: Vec<QueryDocumentRow>,
    method: String,
    param: String,
    view: String,
    /// `SITE`, or `SITE/REPOSITORY`; none: everywhere.
    r#where: Vec<String>,
}

#[derive(Serialize, Debug)]
struct QueryDocumentRow {
    path: String,
    size_bytes: u64,
}

/// A watch, and its state.
#[derive(Serialize, Debug)]
pub struct WatchRow {
    /// A time is none where nothing has happened yet.
    checked: Option<String>,
    created: Option<String>,
    created_by: String,
    last_new: Option<String>,
    matches: u64,
    name: String,
    note: String,
    query: QueryRow,
    webhook: String,
}

/// A case with its checks, without their answers.
#[derive(Serialize, Debug)]
pub struct CaseRow {
    checks: Vec<CheckRow>,
    name: String,
    note: String,
    opened: Option<String>,
    opened_by: String,
    query: QueryRow,
}

/// One time that the query of a case was asked.
#[derive(Serialize, Debug)]
pub struct CheckRow {
    by: String,
    digest: String,
    documents: u64,
    erased: bool,
    not_searched: u32,
    searched: u32,
    time: Option<String>,
}

/// A time for programs; 0 is never.
fn ever(seconds: i64) -> Option<String> {
    (seconds != 0).then(|| time(seconds))
}

fn place(place: &v1::RepositoryPlace) -> String {
    match place.repository.as_str() {
        "" => place.site.clone(),
        repository => format!("{}/{repository}", place.site),
    }
}

impl From<v1::StoredQuery> for QueryRow {
    fn from(query: v1::StoredQuery) -> QueryRow {
        let open = query.open.unwrap_or_default();
        let method = open.method.unwrap_or_default();
        let document = |document: v1::QueryDocument| QueryDocumentRow {
            path: document.name,
            size_bytes: document.end.map_or(0, |end| end.size_bytes),
        };
        QueryRow {
            chunk_bytes: method.chunk_bytes,
            documents: query.documents.into_iter().map(document).collect(),
            method: method.name,
            param: method.param,
            view: method.view,
            r#where: open.repositories.iter().map(place).collect(),
        }
    }
}

impl From<v1::WatchState> for WatchRow {
    fn from(state: v1::WatchState) -> WatchRow {
        let watch = state.watch.unwrap_or_default();
        WatchRow {
            checked: ever(state.checked),
            created: ever(watch.created),
            created_by: watch.created_by,
            last_new: ever(state.last_new),
            matches: state.hits,
            name: watch.name,
            note: watch.note,
            query: watch.query.unwrap_or_default().into(),
            webhook: watch.webhook,
        }
    }
}

impl From<v1::CaseCheck> for CheckRow {
    fn from(check: v1::CaseCheck) -> CheckRow {
        CheckRow {
            by: check.by,
            digest: check.digest,
            documents: check.documents,
            erased: check.erased,
            not_searched: check.not_searched,
            searched: check.searched,
            time: ever(check.time),
        }
    }
}

impl From<v1::Case> for CaseRow {
    fn from(case: v1::Case) -> CaseRow {
        CaseRow {
            checks: case.checks.into_iter().map(CheckRow::from).collect(),
            name: case.name,
            note: case.note,
            opened: ever(case.opened),
            opened_by: case.opened_by,
            query: case.query.unwrap_or_default().into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query() -> v1::StoredQuery {
        let place = |site: &str, repository: &str| v1::RepositoryPlace {
            site: site.to_owned(),
            repository: repository.to_owned(),
        };
        let method = v1::MethodSpec {
            name: "tttd".to_owned(),
            view: "text".to_owned(),
            chunk_bytes: 1000,
            ..v1::MethodSpec::default()
        };
        let document = v1::QueryDocument {
            name: "plan.docx".to_owned(),
            end: Some(v1::FindEnd { size_bytes: 7, ..v1::FindEnd::default() }),
            ..v1::QueryDocument::default()
        };
        v1::StoredQuery {
            open: Some(v1::FindOpen {
                method: Some(method),
                repositories: vec![place("paris", ""), place("tokyo", "kb")],
                ..v1::FindOpen::default()
            }),
            documents: vec![document, v1::QueryDocument::default()],
            fine: Vec::new(),
        }
    }

    fn state() -> v1::WatchState {
        let watch = v1::Watch {
            name: "contracts".to_owned(),
            query: Some(query()),
            webhook: "https://example.com/hook".to_owned(),
            note: "legal".to_owned(),
            created: 1,
            created_by: "anna".to_owned(),
            ..v1::Watch::default()
        };
        v1::WatchState { watch: Some(watch), hits: 3, checked: 61, last_new: 0 }
    }

    fn case() -> v1::Case {
        let check = v1::CaseCheck {
            time: 2,
            by: "anna".to_owned(),
            digest: "ab".to_owned(),
            documents: 4,
            searched: 2,
            not_searched: 1,
            ..v1::CaseCheck::default()
        };
        v1::Case {
            name: "leak-7".to_owned(),
            query: Some(query()),
            note: "asked by legal".to_owned(),
            opened: 1,
            opened_by: "anna".to_owned(),
            checks: vec![check, v1::CaseCheck { time: 3, erased: true, ..v1::CaseCheck::default() }],
            ..v1::Case::default()
        }
    }

    /// Rows as the API and `--format json` write them.
    fn pretty(rows: &impl Serialize) -> String {
        serde_json::to_string_pretty(rows).unwrap() + "\n"
    }

    #[test]
    fn watches_and_cases_are_written_as_they_always_were() {
        assert_eq!(pretty(&[WatchRow::from(state())]), include_str!("stored_query/watches.json"));
        assert_eq!(pretty(&[CaseRow::from(case())]), include_str!("stored_query/cases.json"));
    }

    #[test]
    fn fields_are_in_the_order_of_their_names() {
        // A `Value` sorts its keys.
        let sorted = |rows: serde_json::Value| format!("{rows:#}\n");
        assert_eq!(pretty(&WatchRow::from(state())), sorted(serde_json::json!(WatchRow::from(state()))));
        assert_eq!(pretty(&CaseRow::from(case())), sorted(serde_json::json!(CaseRow::from(case()))));
    }
}
