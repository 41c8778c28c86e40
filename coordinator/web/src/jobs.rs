//! Work that takes longer than a page: searching for templates. A person starts it and looks at its progress later.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use cognate_proto::v1;
use tokio_stream::StreamExt as _;

use crate::PageError;
use cognate_server::streams::Outgoing;

/// Jobs of one person, and of all people, that are stored; one more replaces the oldest that is done.
const EACH_MAX: usize = 4;
const ALL_MAX: usize = 64;

/// The person, and the scan.
pub(crate) type JobKey = (String, u64);

/// The jobs of all people.
#[derive(Clone, Default)]
pub(crate) struct Jobs {
    held: Arc<Mutex<HashMap<JobKey, Job>>>,
}

/// A job that runs or is done.
#[derive(Clone, Debug, Default)]
pub(crate) struct Job {
    /// Seconds since 1970.
    pub(crate) begun: i64,
    pub(crate) done: bool,
    pub(crate) progress: Option<v1::AnalysisState>,
    pub(crate) found: Vec<v1::TemplateSuggestion>,
    /// The reason of its failure, or empty.
    pub(crate) failure: String,
}

type Suggestions = Outgoing<v1::SuggestTemplatesResponse>;

impl Jobs {
    /// Collects the suggestions until the end; an earlier job of the same person for the same scan is dropped.
    ///
    /// # Errors
    /// Fails if too many jobs run.
    pub(crate) fn begin(&self, key: JobKey, now: i64, mut suggestions: Suggestions) -> Result<(), PageError> {
        {
            let mut held = self.lock();
            held.remove(&key);
            loop {
                let own = held.keys().filter(|(name, _)| *name == key.0).count();
                if own < EACH_MAX && held.len() < ALL_MAX {
                    break;
                }
                let may_go = |(other, job): &(&JobKey, &Job)| job.done && (own < EACH_MAX || other.0 == key.0);
                let oldest = held.iter().filter(may_go).min_by_key(|(_, job)| job.begun).map(|(key, _)| key.clone());
                let busy =
                    || PageError::invalid("too many searches for templates are running: wait until one has ended");
                held.remove(&oldest.ok_or_else(busy)?);
            }
            held.insert(key.clone(), Job { begun: now, ..Job::default() });
        }
        let jobs = self.clone();
        tokio::spawn(async move {
            while let Some(answer) = suggestions.next().await {
                let mut held = jobs.lock();
                // A new job has replaced this one.
                let Some(job) = held.get_mut(&key).filter(|job| job.begun == now) else { return };
                match answer {
                    Ok(answer) => {
                        job.progress = answer.progress.or(job.progress);
                        job.found.extend(answer.suggestion);
                    }
                    Err(status) => status.message().clone_into(&mut job.failure),
                }
            }
            if let Some(job) = jobs.lock().get_mut(&key).filter(|job| job.begun == now) {
                job.done = true;
            }
        });
        Ok(())
    }

    /// The present state of the job.
    pub(crate) fn look(&self, key: &JobKey) -> Option<Job> {
        self.lock().get(key).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<JobKey, Job>> {
        self.held.lock().expect("nothing panics while it is held")
    }
}
