//! A list of known files comes down, and which of them are here goes up: only where this site keeps hashes of its files, and
//! each time into its ledger.

use cognate_proto::limits::{FILE_HASHES_MAX, FIND_HOLDERS_MAX};
use cognate_proto::name::{RepositoryName, one_line};
use cognate_proto::v1::FileHashQuery;
use cognate_proto::v1::file_hash_hits_request::Message as Up;
use cognate_proto::v1::{FileHashAnswer, FileHashEnd};

use super::{Session, Task, fatal, until, violation};
use crate::error::{SiteError, SyncError};
use crate::file_hash::look_up::{Findings, Question};

impl Session<'_> {
    /// Begins to answer a query by hashes.
    pub(super) fn start_query(&mut self, query: FileHashQuery) -> Result<(), SiteError> {
        if self.cancels.len() >= super::ASSIGNMENTS_MAX {
            return violation(format!("more than {} queries and assignments at a time", super::ASSIGNMENTS_MAX));
        }
        if query.hashes > FILE_HASHES_MAX as u64 {
            return violation(format!("a query by {} hashes, more than {FILE_HASHES_MAX}", query.hashes));
        }
        let work = self.work(0);
        self.tasks.spawn(async move { work.queried(query).await });
        Ok(())
    }
}

impl Task {
    async fn queried(self, query: FileHashQuery) -> (u64, Option<SiteError>) {
        let (key, number, asked_by) = (self.key, query.query, one_line(&query.asked_by));
        let (mut messages, failure) = match self.found(query).await {
            Ok(findings) => {
                tracing::info!(asked_by, found = findings.hashes(), "hashes of files were asked for");
                (findings.into_messages().collect(), String::new())
            }
            // The next session will not be asked: whoever waits hears that this one has ended.
            Err(SyncError::Cancelled) => return (key, None),
            Err(error) => {
                tracing::warn!(asked_by, %error, "hashes of files were asked for, and not looked up");
                let line = one_line(&error.to_string());
                if let Some(fatal) = fatal(error) {
                    return (key, Some(fatal));
                }
                (Vec::new(), line)
            }
        };
        messages.insert(0, Up::Answer(FileHashAnswer { query: number }));
        messages.push(Up::End(FileHashEnd { failure }));
        let told = until(&self.link.cancelled, self.link.uplink.file_hash_hits(messages)).await;
        match told.and_then(|told| told) {
            Ok(()) | Err(SyncError::Cancelled) => (key, None),
            Err(error) => {
                tracing::warn!(%error, "what was found by hashes could not be told");
                (key, fatal(error))
            }
        }
    }

    async fn found(&self, query: FileHashQuery) -> Result<Findings, SyncError> {
        let question = until(&self.link.cancelled, self.question(query)).await??;
        // One at a time: each goes through all that is kept.
        let turn = until(&self.link.cancelled, self.site.questions.acquire()).await?;
        let (site, link) = (std::sync::Arc::clone(&self.site), self.link.clone());
        let looking = tokio::task::spawn_blocking(move || site.look_up(&question, &link.cancelled));
        let found = looking.await.unwrap_or(Err(SyncError::Crashed));
        drop(turn);
        found
    }

    /// What is asked, once it is clear that this site answers such questions.
    async fn question(&self, query: FileHashQuery) -> Result<Question, SyncError> {
        let config = &self.site.config;
        let refused = |why: String| SyncError::Assignment(why);
        if config.policy.file_hashes.is_empty() {
            return Err(SyncError::Policy(
                "policy.file_hashes is empty, the query asks for hashes of files".to_owned(),
            ));
        }
        let mut repositories = Vec::with_capacity(query.repositories.len());
        for name in &query.repositories {
            let name: RepositoryName = name.parse().map_err(|_| refused("it names no repository".to_owned()))?;
            if !config.repositories.iter().any(|(offered, _)| *offered == name) {
                return Err(refused(format!("this site offers no repository `{name}`")));
            }
            repositories.push(name);
        }
        repositories.sort();
        repositories.dedup();
        let list = self.link.uplink.file_hashes(query.query, query.hashes).await?;
        let others = list.kinds().but(config.policy.file_hashes);
        if !others.is_empty() {
            let kept = config.policy.file_hashes;
            return Err(SyncError::Policy(format!("policy.file_hashes is {kept}, the query asks for {others}")));
        }
        let holders_max = usize::try_from(query.holders_max).unwrap_or(usize::MAX).min(FIND_HOLDERS_MAX);
        Ok(Question { repositories, list, holders_max })
    }
}
