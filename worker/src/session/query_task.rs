//! The task of a session that answers a query by hashes of files. A site answers only if its policy stores such hashes, and
//! its ledger holds every answer.

use std::path::PathBuf;
use std::sync::Arc;

use cognate_proto::limits::FIND_HOLDERS_MAX;
use cognate_proto::name::{RepositoryName, one_line};
use cognate_proto::v1::file_hash_hits_request::Message as Up;
use cognate_proto::v1::{FileHashAnswer, FileHashEnd, FileHashQuery};

use super::task::{Task, TaskEnd, session_error, unless_cancelled, unsent};
use crate::error::SyncError;
use crate::sync::hash_search::{HashMatches, HashQuery};

/// Answers a query by hashes.
pub(super) async fn run_query(task: Task, query: FileHashQuery) -> TaskEnd {
    let (key, number, asked_by) = (task.key, query.query, one_line(&query.asked_by));
    let (mut messages, failure) = match search(&task, query).await {
        Ok(matches) => {
            tracing::info!(asked_by, matches = matches.hashes(), "a query by hashes of files was answered");
            (matches.into_messages().collect(), String::new())
        }
        // The next session does not repeat the query: its sender sees that this session has ended.
        Err(SyncError::Cancelled) => return (key, None),
        Err(error) => {
            tracing::warn!(asked_by, %error, "a query by hashes of files was not answered");
            let line = one_line(&error.to_string());
            if let Some(fatal) = session_error(error) {
                return (key, Some(fatal));
            }
            (Vec::new(), line)
        }
    };
    messages.insert(0, Up::Answer(FileHashAnswer { query: number }));
    messages.push(Up::End(FileHashEnd { failure }));
    let sent = unless_cancelled(&task.link.cancelled, task.link.connection.file_hash_hits(messages)).await;
    match sent.and_then(|sent| sent) {
        Ok(()) | Err(SyncError::Cancelled) => (key, None),
        Err(error) => {
            tracing::warn!(%error, "the matches of a query by hashes could not be sent");
            (key, Some(unsent(error)))
        }
    }
}

async fn search(task: &Task, query: FileHashQuery) -> Result<HashMatches, SyncError> {
    let query = unless_cancelled(&task.link.cancelled, checked_query(task, query)).await??;
    // One search at a time: each reads the complete cache.
    let turn = unless_cancelled(&task.link.cancelled, task.site.search_turn.acquire()).await?;
    let (site, link) = (Arc::clone(&task.site), task.link.clone());
    let searching = tokio::task::spawn_blocking(move || site.hash_search.search(&query, &link.cancelled));
    let matches = searching.await.unwrap_or(Err(SyncError::Crashed));
    drop(turn);
    matches
}

/// Checks a query against the policy, and requests its hashes.
async fn checked_query(task: &Task, query: FileHashQuery) -> Result<HashQuery, SyncError> {
    let stored = task.site.config.policy.file_hashes;
    if stored.is_empty() {
        return Err(SyncError::Policy("policy.file_hashes is empty, the query asks for hashes of files".to_owned()));
    }
    let repositories = checked_repositories(&query.repositories, &task.site.config.repositories)?;
    let list = task.link.connection.file_hashes(query.query, query.hashes).await?;
    let others = list.kinds().but(stored);
    if !others.is_empty() {
        return Err(SyncError::Policy(format!("policy.file_hashes is {stored}, the query asks for {others}")));
    }
    let holders_max = usize::try_from(query.holders_max).unwrap_or(usize::MAX).min(FIND_HOLDERS_MAX);
    Ok(HashQuery { repositories, list, holders_max })
}

/// The repositories of a query, ascending and without repetition. All of them must be offered.
fn checked_repositories(
    names: &[String],
    offered: &[(RepositoryName, PathBuf)],
) -> Result<Vec<RepositoryName>, SyncError> {
    let refused = |reason: String| SyncError::Assignment(reason);
    let mut repositories = Vec::with_capacity(names.len());
    for name in names {
        let name: RepositoryName = name.parse().map_err(|_| refused("it names no repository".to_owned()))?;
        if !offered.iter().any(|(offered, _)| *offered == name) {
            return Err(refused(format!("this site offers no repository `{name}`")));
        }
        repositories.push(name);
    }
    repositories.sort();
    repositories.dedup();
    Ok(repositories)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repositories_of_a_query_are_sorted_and_must_be_offered() {
        let offered: Vec<(RepositoryName, PathBuf)> = ["a", "b"].map(|name| (name.parse().unwrap(), "/".into())).into();
        let check = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            checked_repositories(&names, &offered).map_err(|error| error.to_string())
        };
        assert_eq!(check(&["b", "a", "b"]).unwrap(), ["a".parse().unwrap(), "b".parse().unwrap()]);
        assert_eq!(check(&[]).unwrap(), []);
        assert!(check(&["c"]).unwrap_err().contains("offers no repository `c`"));
        assert!(check(&["/"]).unwrap_err().contains("names no repository"));
    }
}
