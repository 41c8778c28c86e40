//! Work that takes longer than a page: looking for templates worth marking. Somebody begins it, and looks in again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use cognate_proto::v1;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use crate::PageError;

/// How many are kept for a person, and of everybody's; one more takes the place of the oldest that is done.
const EACH_MAX: usize = 4;
const ALL_MAX: usize = 64;

/// Whose, and about which scan.
pub(crate) type JobKey = (String, u64);

/// The work of everybody.
#[derive(Clone, Default)]
pub(crate) struct Jobs {
    held: Arc<Mutex<HashMap<JobKey, Job>>>,
}

/// Work that goes on or is done.
#[derive(Clone, Debug, Default)]
pub(crate) struct Job {
    /// Seconds since 1970.
    pub(crate) begun: i64,
    pub(crate) done: bool,
    pub(crate) progress: Option<v1::AnalysisState>,
    pub(crate) found: Vec<v1::TemplateSuggestion>,
    /// Why it failed, or nothing.
    pub(crate) failure: String,
}

type Suggestions = ReceiverStream<Result<v1::SuggestTemplatesResponse, Status>>;

impl Jobs {
    /// Follows what is found until it has ended; what was begun before by the same person for the same scan is forgotten.
    ///
    /// # Errors
    /// When too much is going on.
    pub(crate) fn begin(&self, key: JobKey, now: i64, mut told: Suggestions) -> Result<(), PageError> {
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
                let busy = || PageError::invalid("too much is being looked for already: wait until something is done");
                held.remove(&oldest.ok_or_else(busy)?);
            }
            held.insert(key.clone(), Job { begun: now, ..Job::default() });
        }
        let jobs = self.clone();
        tokio::spawn(async move {
            while let Some(answer) = told.next().await {
                let mut held = jobs.lock();
                // Who began anew wants to hear no more of this.
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

    /// How it stands.
    pub(crate) fn look(&self, key: &JobKey) -> Option<Job> {
        self.lock().get(key).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<JobKey, Job>> {
        self.held.lock().expect("nothing panics while it is held")
    }
}
