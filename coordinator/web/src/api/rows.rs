//! Sites and scans as programs read them. Fields are in the order of their names.

use cognate_export::human;
use cognate_proto::name::ScanId;
use cognate_proto::options::ScanOptions;
use cognate_proto::v1;
use serde::Serialize;

/// A site.
#[derive(Serialize)]
pub(super) struct SiteRow {
    last_heard: Option<String>,
    party: String,
    party_full_name: Option<String>,
    repositories: Vec<RepositoryRow>,
    site: String,
    state: &'static str,
}

/// A repository of a site.
#[derive(Serialize)]
struct RepositoryRow {
    indexes: Vec<IndexRow>,
    offered: bool,
    repository: String,
}

/// An index of a repository.
#[derive(Serialize)]
struct IndexRow {
    bytes: u64,
    chunk_bytes: u64,
    documents: u64,
    keyed: bool,
    method: String,
    sealed: Option<String>,
    view: String,
}

/// A scan, with the fields that the command line shows as well.
#[derive(Serialize)]
pub(super) struct ScanRow {
    across_only: bool,
    chunk_bytes: u32,
    digest: Option<String>,
    exclude: Vec<String>,
    failure: Option<String>,
    finished: Option<String>,
    id: String,
    include: Vec<String>,
    launched_by: String,
    method: String,
    min_containment: String,
    min_shared_bytes: u64,
    name: Option<String>,
    origin: Option<String>,
    repositories: Vec<ProgressRow>,
    result_bytes: u64,
    sample: Option<u32>,
    size_max: Option<u64>,
    started: Option<String>,
    status: &'static str,
    view: &'static str,
    waiting: Option<String>,
}

/// The progress of a repository in a scan.
#[derive(Serialize)]
struct ProgressRow {
    attached: bool,
    documents_done: u64,
    ended: bool,
    failure: Option<String>,
    read_bytes: u64,
    repository: Option<String>,
    sent_bytes: u64,
}

impl SiteRow {
    /// A site with those of the repositories that are its own.
    pub(super) fn of(member: &v1::Member, repositories: &[v1::Repository]) -> SiteRow {
        let membership = member.membership.clone().unwrap_or_default();
        let own = repositories.iter().filter(|repository| repository.site == membership.name);
        SiteRow {
            last_heard: time(member.last_heard),
            repositories: own.map(RepositoryRow::from).collect(),
            state: crate::sites::state(member),
            party: membership.party,
            party_full_name: some(&member.party_full_name),
            site: membership.name,
        }
    }
}

impl From<&v1::Repository> for RepositoryRow {
    fn from(repository: &v1::Repository) -> RepositoryRow {
        RepositoryRow {
            indexes: repository.indexes.iter().map(IndexRow::from).collect(),
            offered: repository.offered,
            repository: repository.repository.clone(),
        }
    }
}

impl From<&v1::RepositoryIndex> for IndexRow {
    fn from(index: &v1::RepositoryIndex) -> IndexRow {
        let method = index.method.clone().unwrap_or_default();
        IndexRow {
            bytes: index.size_bytes,
            chunk_bytes: method.chunk_bytes,
            documents: index.documents,
            keyed: index.keyed,
            method: method.name,
            sealed: time(index.sealed),
            view: method.view,
        }
    }
}

impl From<&v1::ScanState> for ScanRow {
    fn from(state: &v1::ScanState) -> ScanRow {
        let options = ScanOptions::of_record(state.options.as_ref());
        let layers = options.layers().unwrap_or_default();
        let first = layers.first();
        ScanRow {
            across_only: options.across_only,
            chunk_bytes: first.map_or(0, |layer| layer.method.chunk_bytes()),
            digest: some(&state.digest),
            exclude: options.exclude,
            failure: some(&state.failure),
            finished: time(state.finished),
            id: ScanId(state.scan).to_string(),
            include: options.include,
            launched_by: state.launched_by.clone(),
            method: options.method,
            min_containment: options.min_containment,
            min_shared_bytes: first.map_or(0, |layer| layer.min_shared_bytes),
            name: some(&state.name),
            origin: some(&options.origin),
            repositories: state.repositories.iter().map(ProgressRow::from).collect(),
            result_bytes: state.result_bytes,
            sample: options.sample_percent,
            size_max: options.size_max_bytes,
            started: time(state.started),
            status: crate::scans::status(state.status()),
            view: options.view.name(),
            waiting: some(&state.waiting),
        }
    }
}

impl From<&v1::RepositoryState> for ProgressRow {
    fn from(row: &v1::RepositoryState) -> ProgressRow {
        ProgressRow {
            attached: row.attached,
            documents_done: row.documents_done,
            ended: row.ended,
            failure: some(&row.failure),
            read_bytes: row.read_bytes,
            repository: row.repository.as_ref().map(crate::scans::repository),
            sent_bytes: row.sent_bytes,
        }
    }
}

fn time(seconds: i64) -> Option<String> {
    (seconds != 0).then(|| human::stamp(seconds))
}

fn some(text: &str) -> Option<String> {
    Some(text).filter(|text| !text.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    /// The fields of a schema of the description of the API.
    fn described(schema: &str) -> BTreeSet<String> {
        let api: Value = serde_json::from_str(super::super::OPENAPI).unwrap();
        api["components"]["schemas"][schema]["properties"].as_object().unwrap().keys().cloned().collect()
    }

    fn written(row: impl Serialize) -> BTreeSet<String> {
        serde_json::to_value(row).unwrap().as_object().unwrap().keys().cloned().collect()
    }

    #[test]
    fn sites_and_scans_have_the_fields_that_the_api_describes() {
        assert_eq!(written(SiteRow::of(&v1::Member::default(), &[])), described("Site"));
        assert_eq!(written(ScanRow::from(&v1::ScanState::default())), described("Scan"));
    }

    #[test]
    fn a_scan_has_its_selection_and_nothing_is_null_rather_than_empty() {
        let options = ScanOptions {
            include: vec!["*.txt".to_owned()],
            exclude: vec!["/tmp".to_owned()],
            size_max_bytes: Some(4000),
            repositories: vec![("paris".parse().unwrap(), "kb".parse().unwrap())],
            ..ScanOptions::default()
        };
        let state = v1::ScanState { scan: 7, options: Some((&options).into()), ..v1::ScanState::default() };
        let row = serde_json::to_value(ScanRow::from(&state)).unwrap();
        assert_eq!((&row["include"][0], &row["exclude"][0]), (&"*.txt".into(), &"/tmp".into()));
        assert_eq!(
            (&row["size_max"], &row["failure"], &row["id"]),
            (&4000.into(), &Value::Null, &"0000000000000007".into())
        );
    }

    #[test]
    fn a_site_has_its_own_repositories_only() {
        let repository = |site: &str, name: &str| v1::Repository {
            site: site.to_owned(),
            repository: name.to_owned(),
            indexes: vec![v1::RepositoryIndex::default()],
            ..v1::Repository::default()
        };
        let membership = v1::Membership { name: "paris".to_owned(), ..v1::Membership::default() };
        let member = v1::Member { membership: Some(membership), ..v1::Member::default() };
        let row = SiteRow::of(&member, &[repository("paris", "kb"), repository("tokyo", "kb")]);
        let row = serde_json::to_value(row).unwrap();
        assert_eq!(row["repositories"].as_array().unwrap().len(), 1);
        assert_eq!(row["repositories"][0]["indexes"][0]["sealed"], Value::Null);
    }
}
