//! The sites of a scan, as its analysis asks them for fine chunks.

use std::sync::Arc;

use cognate_analysis::fine::{FineAnswer, FineFailure, FineRequest, FineSource};
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use super::Scans;
use super::running::Scan;
use crate::error::Error;
use crate::session::{FineScan, Sessions};

/// Asks the attached sites, from a thread that may block.
pub(super) struct AttachedSites<'a> {
    scan: &'a Scan,
    sessions: Arc<Sessions>,
    facts: FineScan,
    runtime: Handle,
}

impl<'a> AttachedSites<'a> {
    pub(super) fn of(scans: &Scans, scan: &'a Scan) -> Result<AttachedSites<'a>, Error> {
        let options = &scan.spec.options;
        Ok(AttachedSites {
            scan,
            sessions: Arc::clone(&scans.sessions),
            facts: FineScan {
                across_parties: scans.crosses_parties(&options.repositories)?,
                follow_symlinks: options.follow,
            },
            runtime: Handle::current(),
        })
    }

    async fn ask_all(&self, requests: Vec<FineRequest>) -> Vec<Result<FineAnswer, FineFailure>> {
        let mut asking = JoinSet::new();
        let count = requests.len();
        for (place, request) in requests.into_iter().enumerate() {
            let (sessions, facts) = (Arc::clone(&self.sessions), self.facts);
            asking.spawn(async move { (place, sessions.ask_fine(request, facts).await) });
        }
        let mut answers: Vec<Result<FineAnswer, FineFailure>> =
            (0..count).map(|_| Err(FineFailure::passing("its site did not answer"))).collect();
        loop {
            tokio::select! {
                () = self.scan.stopped() => return answers,
                answered = asking.join_next() => match answered {
                    None => return answers,
                    Some(Ok((place, answer))) => answers[place] = answer,
                    Some(Err(error)) => tracing::error!(%error, "a query for fine chunks crashed"),
                },
            }
        }
    }
}

impl FineSource for AttachedSites<'_> {
    fn ask(&self, requests: Vec<FineRequest>) -> Vec<Result<FineAnswer, FineFailure>> {
        if self.scan.spec.options.no_sync {
            return requests.iter().map(|_| Err(FineFailure::passing("the scan asks no site"))).collect();
        }
        self.runtime.block_on(self.ask_all(requests))
    }
}
