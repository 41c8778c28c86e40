//! The cost of a scan for each site: asked of attached sites, and taken from the last sync of the others.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cognate_proto::name::{RepositoryName, SiteName};
use cognate_proto::v1;
use tokio::sync::mpsc;

use cognate_analysis::spec::{Layer, ScanSpec};
use cognate_storage::clock::random_number;

use super::Scans;
use crate::agreement::Claims;
use crate::error::Error;
use crate::session::{Event, Outcome, Wanted};

/// The longest time in which sites answer.
const ESTIMATE_MAX: Duration = Duration::from_secs(15);

impl Scans {
    /// The cost of a scan for each repository, in the order of the specification.
    ///
    /// # Errors
    /// Fails if the store fails. A site that does not answer is no error.
    pub(crate) async fn estimate(self: &Arc<Scans>, spec: &ScanSpec) -> Result<Vec<v1::RepositoryEstimate>, Error> {
        if spec.options.refine.is_some() {
            let (scans, spec) = (Arc::clone(self), spec.clone());
            let refined =
                cognate_storage::disk::off_tasks(move || scans.estimate_refined(&spec, &scans.choices(&spec)?)).await;
            return refined.unwrap_or_else(|_| Err(Error::Refused("the estimate crashed: see the log".to_owned())));
        }
        let (events, mut heard) = mpsc::unbounded_channel();
        let mut asked = BTreeMap::new();
        let mut answers: Vec<Result<v1::Estimate, String>> = Vec::new();
        for (place, (repository, layer)) in spec.targets().enumerate() {
            let ((site, repository), layer) = (&spec.options.repositories[repository], &spec.layers[layer]);
            let offers =
                self.sessions.attached(site).is_some_and(|attached| attached.repositories.contains(repository));
            let number = random_number();
            let assigned = offers && !spec.options.no_sync && {
                let assignment = v1::Assignment {
                    assignment: number,
                    repository: repository.to_string(),
                    method: Some((&layer.method).into()),
                    selection: Some((&spec.options.selection()).into()),
                    follow_symlinks: spec.options.follow,
                    estimate_only: true,
                    across_parties: self.crosses_parties(&spec.options.repositories)?,
                    refinement: None,
                };
                let wanted = Wanted {
                    method: layer.method,
                    scope: None,
                    agreement: Arc::new(Mutex::new(Claims::new(1))),
                    target: place,
                    events: events.clone(),
                };
                self.sessions.assign(site, assignment, wanted)
            };
            if assigned {
                asked.insert(place, number);
            }
            answers.push(Err(self.why_unknown(site, repository)));
        }
        let deadline = tokio::time::Instant::now() + ESTIMATE_MAX;
        while !asked.is_empty() {
            let Ok(Some(event)) = tokio::time::timeout_at(deadline, heard.recv()).await else { break };
            if let Event::Ended { target, outcome } = event {
                asked.remove(&target);
                answers[target] = match outcome {
                    Outcome::Estimated(estimate) => Ok(estimate),
                    Outcome::Failed(reason) | Outcome::Refused(reason) => Err(reason),
                    Outcome::Synced(..) => Err("the site synced instead of estimating the cost".to_owned()),
                    Outcome::Away => Err("the site went away".to_owned()),
                };
            }
        }
        for (place, number) in asked {
            self.sessions.cancel(number);
            answers[place] = Err("the site did not answer in time".to_owned());
        }
        let mut estimates = Vec::new();
        for ((place, layer), answer) in spec.targets().zip(answers) {
            let (site, repository) = &spec.options.repositories[place];
            let repository_ref = v1::RepositoryRef { site: site.to_string(), repository: repository.to_string() };
            let (estimate, unknown) = match answer {
                Ok(estimate) => (Some(estimate), String::new()),
                // The figures of the last sync are better than none, and the note says that they are old.
                Err(reason) => (self.last_known(site, repository, &spec.layers[layer])?, reason),
            };
            let view = match spec.layers.len() {
                1 => String::new(),
                _ => spec.layers[layer].method.view().to_string(),
            };
            estimates.push(v1::RepositoryEstimate { repository: Some(repository_ref), unknown, estimate, view });
        }
        Ok(estimates)
    }

    fn why_unknown(&self, site: &SiteName, repository: &RepositoryName) -> String {
        match self.sessions.attached(site) {
            None if self.is_revoked(site) => {
                "the site is revoked: `cognate site invite` lets it enrol again".to_owned()
            }
            None => "the site is not attached".to_owned(),
            Some(attached) if !attached.repositories.contains(repository) => {
                "the site does not offer this repository".to_owned()
            }
            Some(_) => "nothing would be synced".to_owned(),
        }
    }

    /// The documents of the last sync under the same view, all of them known to the site.
    fn last_known(
        &self,
        site: &SiteName,
        repository: &RepositoryName,
        layer: &Layer,
    ) -> Result<Option<v1::Estimate>, Error> {
        let indexes = self.analyser.indexes.all()?;
        let view = layer.method.view().to_string();
        let of_repository = indexes.iter().filter(|(key, _, row)| {
            let method = row.header.as_ref().and_then(|header| header.method.as_ref());
            key.site == *site
                && key.repository == *repository
                && key.scope.is_none()
                && row.sealed
                && method.is_some_and(|method| method.view == view)
        });
        Ok(of_repository.max_by_key(|(_, _, row)| row.documents).map(|(_, _, row)| v1::Estimate {
            documents: row.documents,
            size_bytes: row.size_bytes,
            unread_documents: row.documents,
            unread_bytes: row.size_bytes,
            ..v1::Estimate::default()
        }))
    }
}
