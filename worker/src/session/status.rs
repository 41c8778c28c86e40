//! The status of a site, and the file that holds it while the daemon does not run.
//!
//! The names of the fields in JSON are part of `worker status`.

use std::path::{Path, PathBuf};

use cognate_fingerprint::Method;
use cognate_proto::selection::SelectionRule;
use serde::{Deserialize, Serialize};

/// The status of a site. Times are seconds since 1970.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SiteStatus {
    /// The session with the coordinator.
    pub session: SessionStatus,
    /// The site is paused and takes no assignments.
    pub paused: bool,
    /// The policy allows no reading at this time of day.
    pub outside_hours: bool,
    /// The syncs that run now.
    #[serde(rename = "doing")]
    pub running: Vec<RunningSync>,
    /// The last sync of every repository and method.
    #[serde(rename = "done")]
    pub indexes: Vec<IndexStatus>,
    /// The speed of the last sync; 0: unknown.
    pub bytes_per_second: u64,
}

/// The session with the coordinator.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionStatus {
    /// True while the site is attached.
    pub attached: bool,
    /// The time at which `attached` last changed.
    pub since: i64,
    /// The name under which the coordinator knows this site.
    pub site: String,
    /// The address of the coordinator.
    pub destination: String,
    /// The reason why the site is not attached.
    pub why: String,
    /// The time of the next attempt.
    pub next_attempt: Option<i64>,
}

/// A sync that runs now.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunningSync {
    /// The repository.
    pub repository: String,
    /// The number of the assignment; 0: requested by this site.
    pub assignment: u64,
    /// The time of its start.
    pub since: i64,
    /// Entries that the walk has reported.
    pub entries_seen: u64,
    /// Documents that are finished.
    pub documents_done: u64,
    /// Bytes that were read.
    pub read_bytes: u64,
    /// Bytes that were sent.
    pub sent_bytes: u64,
    /// The walk has ended.
    pub walk_finished: bool,
}

/// The last sync of one repository under one method.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct IndexStatus {
    /// The repository.
    pub repository: String,
    /// The method's name.
    pub method: String,
    /// The view of the method.
    pub view: String,
    /// The mean length of a chunk.
    pub chunk_bytes: u64,
    /// The parameters of the method.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub param: String,
    /// The method id, in hexadecimal digits.
    pub method_id: String,
    /// True for a refinement. All refinements under one method share one entry.
    pub refined: bool,
    /// The patterns that select documents.
    pub include: Vec<String>,
    /// The patterns that exclude documents.
    pub exclude: Vec<String>,
    /// The greatest size of a document.
    #[serde(rename = "size_bytes_max")]
    pub size_max_bytes: Option<u64>,
    /// The share of the documents in a sample, in percent.
    pub sample_percent: Option<u32>,
    /// True if links were followed.
    pub follow_symlinks: bool,
    /// The end of the last sync that succeeded.
    pub finished: Option<i64>,
    /// Number of documents in the index.
    pub documents: u64,
    /// Bytes that the sync read.
    pub read_bytes: u64,
    /// Bytes that the sync sent.
    pub sent_bytes: u64,
    /// Number of unreadable documents.
    pub unreadable: u64,
    /// The first thousand unreadable documents.
    pub unreadable_documents: Vec<UnreadableDocument>,
    /// The time of the last failure, if no sync has succeeded since.
    pub failed: Option<i64>,
    /// The reason of the last failure.
    pub failure: String,
}

/// An unreadable document.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct UnreadableDocument {
    /// The path in its repository, safe to print on a terminal.
    pub path: String,
    /// The reason.
    pub reason: String,
}

impl IndexStatus {
    /// The method; `None` if this version does not know it.
    pub(crate) fn method(&self) -> Option<Method> {
        let spec = cognate_proto::v1::MethodSpec {
            name: self.method.clone(),
            view: self.view.clone(),
            chunk_bytes: self.chunk_bytes,
            method_id: Vec::new(),
            param: self.param.clone(),
        };
        Method::try_from(&spec).ok()
    }

    /// The selection of the sync.
    pub(crate) fn selection(&self) -> SelectionRule {
        SelectionRule {
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            size_max_bytes: self.size_max_bytes,
            sample_percent: self.sample_percent,
        }
    }
}

/// The file of the status in a state folder.
pub(super) fn status_file(state_dir: &Path) -> PathBuf {
    state_dir.join("status.json")
}

/// Reads the status that the last daemon saved; an empty one if there is none.
pub fn saved_status(state_dir: &Path) -> SiteStatus {
    let text = std::fs::read(status_file(state_dir)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_in_json_are_those_of_worker_status() {
        let status = SiteStatus {
            running: vec![RunningSync { repository: "kb".into(), ..RunningSync::default() }],
            indexes: vec![IndexStatus { method: "tttd".into(), ..IndexStatus::default() }],
            ..SiteStatus::default()
        };
        let value = serde_json::to_value(&status).unwrap();
        assert_eq!(value["doing"][0]["repository"], "kb");
        assert_eq!(value["done"][0]["method"], "tttd");
        let names = |value: &serde_json::Value| {
            let mut names: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
            names.sort();
            names.join(" ")
        };
        assert_eq!(names(&value), "bytes_per_second doing done outside_hours paused session");
        assert_eq!(names(&value["session"]), "attached destination next_attempt since site why");
        assert_eq!(serde_json::from_value::<SiteStatus>(value).unwrap(), status);
    }

    #[test]
    fn a_missing_or_damaged_file_is_an_empty_status() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(saved_status(folder.path()), SiteStatus::default());
        std::fs::write(status_file(folder.path()), "{\"paused\": tr").unwrap();
        assert_eq!(saved_status(folder.path()), SiteStatus::default());
    }
}
