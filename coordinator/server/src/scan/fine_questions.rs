//! The questions for fine chunks of one analysis: every repository is asked for itself, a few requests ahead, and whatever arrives is kept
//! before it is acknowledged. A site that goes away is asked for the rest when it is back.

use std::time::Duration;

use cognate_analysis::Error as AnalysisError;
use cognate_analysis::fine::{AskedRepository, FineArrival, FineFailure, FineRequest, FineSiteEnd, FineWork};
use cognate_proto::limits::FINE_CHUNKS_MAX;
use cognate_proto::name::SiteName;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use super::Scan;
use super::running::RepositoryProgress;
use super::site_wait::SiteWait;
use super::sync::until;
use crate::session::{FinePart, FineScan, NoAnswer};

/// Requests to a repository at the same time: its site sends the chunks of one while it reads for the next.
const REQUESTS_AHEAD: usize = 3;
/// Chunks of a request, at first and at most, and at least. A slow line gets smaller ones, so that little is cut again after an
/// interruption; but of a long document each request reads a part.
const REQUEST_CHUNKS_MOST: usize = FINE_CHUNKS_MAX / 4;
const REQUEST_CHUNKS_LEAST: usize = 1 << 8;
/// A request that takes less time is followed by a larger one, and one that takes more by a smaller one.
const REQUEST_TIME_LEAST: Duration = Duration::from_secs(10);
const REQUEST_TIME_MOST: Duration = Duration::from_secs(60);
/// Parts that may wait to be kept.
const PARTS_WAITING: usize = 16;
/// Attempts that bring nothing, one after the other, before a site that is there counts as failed.
const ATTEMPTS_MAX: u32 = 50;
/// The time between two attempts, and the longest: each is twice as long as the last.
const ATTEMPT_PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(10));
/// The time after which an analysis gives its memory back, if all sites that it waits for are away or closed.
const CLOSED_MAX: Duration = Duration::from_secs(60);
/// The longest time for which an analysis waits for sites and keeps its turn from others.
const TURN_MAX: Duration = Duration::from_secs(600);
/// Interval in which the state of the questions is looked at.
const TICK: Duration = Duration::from_secs(1);

/// The turn of an analysis while it waits for sites: few analyses run at the same time, and others wait for their turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// Another analysis may have it.
    Given,
    /// This analysis has it still.
    Held,
}

/// The questions of an analysis.
pub(super) struct FineQuestions<'a> {
    scan: &'a Scan,
    sites: SiteWait,
    facts: FineScan,
    work: &'a mut dyn FineWork,
    repositories: Vec<Repository>,
    asking: JoinSet<RequestEnd>,
}

/// A repository that is asked.
struct Repository {
    asked: AskedRepository,
    /// Chunks of the next request.
    request_chunks: usize,
    /// Requests that are under way.
    requests: Vec<AbortHandle>,
    under_way: usize,
    /// No further request goes to it.
    is_over: bool,
    done_chunks: u64,
}

/// The end of a request to a repository, by its number.
struct RequestEnd {
    number: usize,
    took: Duration,
    end: Result<FineSiteEnd, FineFailure>,
}

impl<'a> FineQuestions<'a> {
    pub(super) fn new(
        scan: &'a Scan,
        sites: SiteWait,
        facts: FineScan,
        work: &'a mut dyn FineWork,
    ) -> FineQuestions<'a> {
        let repository = |asked| Repository {
            asked,
            request_chunks: REQUEST_CHUNKS_MOST,
            requests: Vec::new(),
            under_way: 0,
            is_over: false,
            done_chunks: 0,
        };
        let repositories = work.repositories().into_iter().map(repository).collect();
        FineQuestions { scan, sites, facts, work, repositories, asking: JoinSet::new() }
    }

    /// Asks until every repository has answered or given up, or until `deadline`, from which on the rest has given up.
    pub(super) async fn ask(mut self, deadline: Option<Instant>, turn: Turn) -> Result<(), AnalysisError> {
        let (parts, mut arriving) = mpsc::channel(PARTS_WAITING);
        let mut ticks = tokio::time::interval(TICK);
        let (began, mut closed_since) = (Instant::now(), None);
        loop {
            self.ask_more(&parts);
            if self.asking.is_empty() {
                break;
            }
            tokio::select! {
                Some(part) = arriving.recv() => self.take(part, &mut arriving)?,
                Some(ended) = self.asking.join_next() => match ended {
                    Ok(ended) => self.end(ended),
                    Err(error) if error.is_cancelled() => {}
                    Err(error) => std::panic::resume_unwind(error.into_panic()),
                },
                _ = ticks.tick() => {
                    self.show();
                    let all_closed = self.waited_for().all(|site| self.sites.reason(site).is_some());
                    closed_since = all_closed.then(|| closed_since.unwrap_or_else(Instant::now));
                    let is_idle = closed_since.is_some_and(|since: Instant| since.elapsed() >= CLOSED_MAX);
                    if is_idle || turn == Turn::Held && began.elapsed() >= TURN_MAX {
                        return Err(AnalysisError::Waiting(self.waited_for().cloned().collect()));
                    }
                }
                () = until(deadline) => self.give_up(),
                () = self.scan.stopped() => return Err(AnalysisError::Cancelled),
            }
        }
        while let Ok(part) = arriving.try_recv() {
            self.take(part, &mut arriving)?;
        }
        self.show();
        Ok(())
    }

    /// Has as many requests under way to each repository as there may be.
    fn ask_more(&mut self, parts: &mpsc::Sender<FinePart>) {
        for (number, repository) in self.repositories.iter_mut().enumerate() {
            while !repository.is_over && repository.under_way < REQUESTS_AHEAD {
                let Some(request) = self.work.next(number, repository.request_chunks) else {
                    repository.is_over = true;
                    break;
                };
                let sites = self.sites.clone();
                let facts = self.facts;
                let parts = parts.clone();
                repository.under_way += 1;
                repository.requests.retain(|request| !request.is_finished());
                repository.requests.push(self.asking.spawn(async move {
                    let began = Instant::now();
                    let end = answer(&sites, facts, number, request, parts).await;
                    RequestEnd { number, took: began.elapsed(), end }
                }));
            }
        }
    }

    /// Keeps a part, together with others that have arrived, and acknowledges them.
    fn take(&mut self, first: FinePart, arriving: &mut mpsc::Receiver<FinePart>) -> Result<(), AnalysisError> {
        let more = std::iter::from_fn(|| arriving.try_recv().ok()).take(PARTS_WAITING);
        let (mut arrived, mut waiting) = (Vec::new(), Vec::new());
        for FinePart { number, expansions, sent_bytes, kept } in [first].into_iter().chain(more) {
            self.repositories[number].done_chunks += expansions.len() as u64;
            arrived.push(FineArrival { number, expansions, sent_bytes });
            waiting.push(kept);
        }
        self.work.take(arrived)?;
        // A site that is gone meanwhile is asked for the rest alone.
        for kept in waiting {
            let _ = kept.send(());
        }
        for number in 0..self.repositories.len() {
            if self.work.failed(number) {
                self.repositories[number].stop();
            }
        }
        Ok(())
    }

    /// Takes the end of a request in, which also says how large the next one should be.
    fn end(&mut self, RequestEnd { number, took, end }: RequestEnd) {
        let repository = &mut self.repositories[number];
        // Another request of a repository that was stopped may have ended at the same time.
        let Some(under_way) = repository.under_way.checked_sub(1) else { return };
        repository.under_way = under_way;
        repository.request_chunks = match took {
            took if took < REQUEST_TIME_LEAST => (2 * repository.request_chunks).min(REQUEST_CHUNKS_MOST),
            took if took > REQUEST_TIME_MOST => (repository.request_chunks / 2).max(REQUEST_CHUNKS_LEAST),
            _ => repository.request_chunks,
        };
        if end.is_err() {
            repository.stop();
        }
        self.work.end(number, end);
    }

    /// Ends all requests at the deadline; the repositories that have not answered everything have failed.
    fn give_up(&mut self) {
        let limit = self.scan.spec.options.sync_deadline.unwrap_or_default();
        for (number, repository) in self.repositories.iter_mut().enumerate().filter(|(_, one)| one.is_open()) {
            let reason = self.sites.reason(&repository.asked.site).unwrap_or("the site is slow");
            let reason = format!("it did not come within {} seconds: {reason}", limit.as_secs());
            tracing::warn!(scan = %self.scan.id, site = %repository.asked.site, reason, "fine chunks are missing");
            repository.stop();
            self.work.end(number, Err(FineFailure::passing(reason)));
        }
    }

    /// The sites of which something has not come yet.
    fn waited_for(&self) -> impl Iterator<Item = &SiteName> {
        self.repositories.iter().filter(|repository| repository.is_open()).map(|repository| &repository.asked.site)
    }

    /// Shows the answers with the repositories of the scan.
    fn show(&self) {
        let of_scan = &self.scan.spec.options.repositories;
        self.scan.progress.send_modify(|progress| {
            // After a restart nothing is known of the syncs.
            progress.repositories.resize_with(of_scan.len(), RepositoryProgress::default);
            for ((site, name), shown) in of_scan.iter().zip(&mut progress.repositories) {
                let is_this = |one: &&Repository| one.asked.site == *site && one.asked.repository == *name;
                let Some(repository) = self.repositories.iter().find(is_this) else { continue };
                (shown.fine_chunks, shown.fine_chunks_done) = (repository.asked.chunks, repository.done_chunks);
                let reason = self.sites.reason(site).filter(|_| repository.is_open());
                shown.waiting = reason.unwrap_or_default().to_owned();
            }
        });
    }
}

impl Repository {
    /// True if the repository has not answered everything.
    fn is_open(&self) -> bool {
        !self.is_over || self.under_way > 0
    }

    /// Ends all requests.
    fn stop(&mut self) {
        self.is_over = true;
        self.requests.drain(..).for_each(|request| request.abort());
        self.under_way = 0;
    }
}

/// Asks for chunks of a repository with a number, and asks again for the rest if the site goes away and comes back: an interruption
/// changes nothing in the result. Nobody waits for a site that was revoked.
async fn answer(
    sites: &SiteWait,
    facts: FineScan,
    number: usize,
    mut request: FineRequest,
    parts: mpsc::Sender<FinePart>,
) -> Result<FineSiteEnd, FineFailure> {
    let (mut left_chunks, mut attempts, mut pause) = (request.choice.tags().count(), 0, ATTEMPT_PAUSES.0);
    loop {
        let absent = match sites.sessions.ask_fine(number, &mut request, facts, parts.clone()).await {
            Ok(end) => return Ok(end),
            Err(NoAnswer::Failed(failure)) => return Err(failure),
            Err(NoAnswer::Absent(failure)) => failure,
        };
        let before = std::mem::replace(&mut left_chunks, request.choice.tags().count());
        (attempts, pause) = if left_chunks < before { (0, ATTEMPT_PAUSES.0) } else { (attempts + 1, pause) };
        if left_chunks == 0 {
            return Ok(FineSiteEnd::default());
        }
        if attempts == ATTEMPTS_MAX {
            return Err(absent);
        }
        sites.one(&request.site).await?;
        // A session that is about to end counts as attached for a moment.
        tokio::time::sleep(pause).await;
        pause = (2 * pause).min(ATTEMPT_PAUSES.1);
    }
}

#[cfg(test)]
mod tests;
