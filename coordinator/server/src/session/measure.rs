//! Queries for exact measures to sites, and their answers. Each query has a number of its own, and only its site answers it.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use cognate_analysis::fine::{FineFailure, MeasureAnswer, MeasureRequest};
use cognate_proto::measure::{pack_pairs, unpack_measures};
use cognate_proto::name::{SiteName, one_line};
use cognate_proto::v1;
use cognate_proto::v1::attach_response::Message as Down;
use tokio::sync::oneshot;

use super::fine::{FineScan, NoAnswer};
use super::{Sessions, lock};
use crate::error::Error;

/// The queries that have not been answered.
#[derive(Default)]
pub(super) struct MeasureQueries {
    next: AtomicU64,
    open: Mutex<HashMap<u64, Open>>,
}

struct Open {
    site: SiteName,
    /// The number of pairs of the query.
    pairs: usize,
    /// Moves to the caller with the answer.
    answered: oneshot::Sender<Result<MeasureAnswer, NoAnswer>>,
}

/// A query for as long as a caller waits for its answer.
struct Waiting<'a> {
    queries: &'a MeasureQueries,
    number: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        lock(&self.queries.open).remove(&self.number);
    }
}

impl Sessions {
    /// Asks a site to measure pairs exactly, and waits for its answer as long as the caller does; an error has the reason.
    pub(crate) async fn ask_measures(
        &self,
        request: MeasureRequest,
        scan: FineScan,
    ) -> Result<MeasureAnswer, NoAnswer> {
        let MeasureRequest { site, repositories, method, method_id, pairs } = request;
        let Some(mut live) = self.live(&site) else { return Err(NoAnswer::absent("its site is not attached")) };
        let queries = &self.measure_queries;
        let number = queries.next.fetch_add(1, Ordering::Relaxed) + 1;
        let message = Down::MeasureQuery(v1::MeasureQuery {
            query: number,
            repositories: repositories.iter().map(ToString::to_string).collect(),
            method: Some(v1::MethodSpec { method_id: method_id.0.to_vec(), ..v1::MethodSpec::from(&method) }),
            across_parties: scan.across_parties,
            contents: pack_pairs(&pairs),
            follow_symlinks: scan.follow_symlinks,
        });
        let (answered, answer) = oneshot::channel();
        lock(&queries.open).insert(number, Open { site: site.clone(), pairs: pairs.len(), answered });
        let _waiting = Waiting { queries, number };
        if !self.send(&site, message) {
            return Err(NoAnswer::absent("its site does not read its messages"));
        }
        tokio::select! {
            answer = answer => match answer {
                Ok(answer) => answer,
                Err(_) => Err(NoAnswer::absent("its site did not answer")),
            },
            () = live.ended() => Err(NoAnswer::absent("its site disconnected before it answered")),
        }
    }

    /// Receives a site's answer, and hands it to the caller that waits for it.
    ///
    /// # Errors
    /// Fails if no caller waits for the answer to such a query, or the counts cannot be those of its pairs.
    pub(crate) fn answer_measures(&self, site: &SiteName, answer: &v1::MeasureAnswer) -> Result<(), Error> {
        let open = {
            let mut open = lock(&self.measure_queries.open);
            let is_asked = open.get(&answer.query).is_some_and(|open| open.site == *site);
            if is_asked { open.remove(&answer.query) } else { None }
        };
        let Some(Open { pairs, answered, .. }) = open else {
            return Err(Error::Stale("no caller waits for these exact measures".to_owned()));
        };
        let counts = unpack_measures(answer, pairs);
        // The caller may have given up.
        let _ = answered.send(match &counts {
            Err(error) => {
                let reason = format!("its site's answer cannot be used: {error}");
                Err(NoAnswer::Failed(FineFailure::passing(reason)))
            }
            Ok(_) if !answer.failure.is_empty() => {
                let reason = one_line(&answer.failure);
                Err(NoAnswer::Failed(FineFailure { reason, refused: answer.refused }))
            }
            Ok(measures) => Ok(MeasureAnswer { measures: measures.clone(), read_bytes: answer.read_bytes }),
        });
        counts.map(drop).map_err(|error| Error::Invalid(error.to_string()))
    }
}
