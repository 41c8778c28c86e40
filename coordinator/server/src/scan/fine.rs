//! The sites of a scan, as its analysis asks them for fine chunks and for exact measures.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use cognate_analysis::fine::{FineAnswer, FineFailure, FineRequest, FineSource, MeasureAnswer, MeasureRequest};
use cognate_proto::name::SiteName;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use super::running::Scan;
use super::{REVOKED, Scans};
use crate::error::Error;
use crate::identity::Members;
use crate::session::{FineScan, NoAnswer, Sessions};

/// The longest wait for a site that is not attached, if the scan has no shorter deadline: the time in which a restarted
/// worker is back.
const ABSENCE_MAX: Duration = Duration::from_secs(60);

/// The number of times that a site is asked the same.
const ATTEMPTS_MAX: u32 = 50;
/// The time between two attempts.
const ATTEMPT_PAUSE: Duration = Duration::from_millis(200);

/// Asks the attached sites, from a thread that may block. While it waits for them, another analysis has its turn: a site
/// that does not answer keeps no scan of others from its own.
pub(super) struct AttachedSites<'a> {
    turn: Mutex<Option<OwnedSemaphorePermit>>,
    analyses: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    scan: &'a Scan,
    sessions: Arc<Sessions>,
    members: Arc<Members>,
    facts: FineScan,
    /// The longest wait for a site that is not attached.
    absence_max: Duration,
    runtime: Handle,
}

impl<'a> AttachedSites<'a> {
    pub(super) fn of(scans: &Scans, scan: &'a Scan, turn: OwnedSemaphorePermit) -> Result<AttachedSites<'a>, Error> {
        let options = &scan.spec.options;
        Ok(AttachedSites {
            turn: Mutex::new(Some(turn)),
            analyses: Arc::clone(&scans.analyses),
            waiting: Arc::clone(&scans.waiting),
            scan,
            sessions: Arc::clone(&scans.sessions),
            members: Arc::clone(&scans.members),
            facts: FineScan {
                across_parties: scans.crosses_parties(&options.repositories)?,
                follow_symlinks: options.follow,
            },
            absence_max: options.sync_deadline.unwrap_or(ABSENCE_MAX).min(ABSENCE_MAX),
            runtime: Handle::current(),
        })
    }

    fn turn(&self) -> MutexGuard<'_, Option<OwnedSemaphorePermit>> {
        self.turn.lock().expect("nothing panics while it is held")
    }

    async fn ask_all<Q: Query>(&self, queries: Vec<Q>) -> Vec<Result<Q::Answer, FineFailure>> {
        let mut asking = JoinSet::new();
        let late = || Err(FineFailure::passing("its site did not answer"));
        let mut answers: Vec<Result<Q::Answer, FineFailure>> = queries.iter().map(|_| late()).collect();
        for (place, query) in queries.into_iter().enumerate() {
            let (sessions, members) = (Arc::clone(&self.sessions), Arc::clone(&self.members));
            let asked = ask((sessions, members), query, self.facts, self.absence_max);
            asking.spawn(async move { (place, asked.await) });
        }
        loop {
            tokio::select! {
                () = self.scan.stopped() => return answers,
                answered = asking.join_next() => match answered {
                    None => return answers,
                    Some(Ok((place, answer))) => answers[place] = answer,
                    Some(Err(error)) => tracing::error!(%error, "a query to a site crashed"),
                },
            }
        }
    }
}

/// The longest time in which a site measures pairs exactly, whatever it does meanwhile. They only show how far off the other figures
/// are: a scan does not wait longer for that.
const MEASURE_MAX: Duration = Duration::from_secs(60);

/// A query to a site, which is asked as often as it takes.
trait Query: Clone + Send + Sync + 'static {
    type Answer: Send + 'static;
    /// The longest time in which the site is asked, with all interruptions.
    const ASKED_MAX: Duration;

    fn site(&self) -> &SiteName;

    fn ask(self, sessions: &Sessions, facts: FineScan) -> impl Future<Output = Result<Self::Answer, NoAnswer>> + Send;
}

impl Query for FineRequest {
    type Answer = FineAnswer;
    // Each attempt has a limit of its own.
    const ASKED_MAX: Duration = Duration::MAX;

    fn site(&self) -> &SiteName {
        &self.site
    }

    async fn ask(self, sessions: &Sessions, facts: FineScan) -> Result<FineAnswer, NoAnswer> {
        sessions.ask_fine(self, facts).await
    }
}

impl Query for MeasureRequest {
    type Answer = MeasureAnswer;
    const ASKED_MAX: Duration = MEASURE_MAX;

    fn site(&self) -> &SiteName {
        &self.site
    }

    async fn ask(self, sessions: &Sessions, facts: FineScan) -> Result<MeasureAnswer, NoAnswer> {
        sessions.ask_measures(self, facts).await
    }
}

/// Asks a site for as long as a query of its kind may take.
async fn ask<Q: Query>(
    services: (Arc<Sessions>, Arc<Members>),
    query: Q,
    facts: FineScan,
    absence_max: Duration,
) -> Result<Q::Answer, FineFailure> {
    let asked = tokio::time::timeout(Q::ASKED_MAX, ask_again(services, query, facts, absence_max));
    asked.await.unwrap_or_else(|_| {
        Err(FineFailure::passing(format!("its site did not answer in {} seconds", Q::ASKED_MAX.as_secs())))
    })
}

/// Asks a site, and asks again if it goes away and comes back: an interruption changes nothing in the result. Nobody waits for
/// a site that was revoked.
async fn ask_again<Q: Query>(
    (sessions, members): (Arc<Sessions>, Arc<Members>),
    query: Q,
    facts: FineScan,
    absence_max: Duration,
) -> Result<Q::Answer, FineFailure> {
    let mut left = ATTEMPTS_MAX;
    loop {
        let (mut changes, mut membership) = (sessions.changes(), members.changes());
        changes.mark_unchanged();
        membership.mark_unchanged();
        let absent = match query.clone().ask(&sessions, facts).await {
            Ok(answer) => return Ok(answer),
            Err(NoAnswer::Failed(failure)) => return Err(failure),
            Err(NoAnswer::Absent(failure)) => failure,
        };
        let back = async {
            while sessions.attached(query.site()).is_none() {
                // A registry that cannot be read says nothing about the site.
                if members.has_site(query.site()).is_ok_and(|has_it| !has_it) {
                    return Err(FineFailure::passing(REVOKED));
                }
                // The senders live as long as the sessions and the registry do.
                tokio::select! {
                    _ = changes.changed() => {}
                    _ = membership.changed() => {}
                }
            }
            Ok(())
        };
        left -= 1;
        match tokio::time::timeout(absence_max, back).await {
            _ if left == 0 => return Err(absent),
            Err(_) => return Err(absent),
            Ok(Err(revoked)) => return Err(revoked),
            Ok(Ok(())) => {}
        }
        // A session that is about to end counts as attached for a moment.
        tokio::time::sleep(ATTEMPT_PAUSE).await;
    }
}

impl FineSource for AttachedSites<'_> {
    fn ask(&self, requests: Vec<FineRequest>) -> Vec<Result<FineAnswer, FineFailure>> {
        self.ask_in_turn(requests)
    }

    fn measure(&self, requests: Vec<MeasureRequest>) -> Vec<Result<MeasureAnswer, FineFailure>> {
        self.ask_in_turn(requests)
    }
}

impl AttachedSites<'_> {
    /// Asks all sites, without a turn meanwhile.
    fn ask_in_turn<Q: Query>(&self, requests: Vec<Q>) -> Vec<Result<Q::Answer, FineFailure>> {
        if self.scan.spec.options.no_sync {
            // Nobody expects them of a scan that is not to ask.
            let refused = FineFailure { reason: "the scan asks no site".to_owned(), refused: true };
            return requests.iter().map(|_| Err(refused.clone())).collect();
        }
        // Those that wait keep their memory, so that only a few give their turns away.
        let place = Arc::clone(&self.waiting).try_acquire_owned();
        if place.is_ok() {
            *self.turn() = None;
        }
        let answers = self.runtime.block_on(self.ask_all(requests));
        if place.is_ok() {
            let turn = self.runtime.block_on(async {
                tokio::select! {
                    turn = Arc::clone(&self.analyses).acquire_owned() => turn.ok(),
                    // It ends at its next step.
                    () = self.scan.stopped() => None,
                }
            });
            *self.turn() = turn;
        }
        answers
    }
}

#[cfg(test)]
mod tests {
    use cognate_analysis::spec::ScanSpec;
    use cognate_fingerprint::{Method, MethodId, View};
    use cognate_proto::fine::FineChoice;
    use cognate_proto::name::{PartyName, RepositoryName, ScanId};
    use cognate_proto::v1::MemberKind;

    use super::*;
    use crate::harness::indexes::{LIMITS, spec};
    use crate::harness::{Harness, soon};

    fn request(site: &str) -> FineRequest {
        FineRequest {
            site: site.parse().unwrap(),
            repository: RepositoryName::main(),
            method: Method::tttd(View::Raw, 1000).unwrap(),
            method_id: MethodId([1; 16]),
            choice: FineChoice::default(),
        }
    }

    #[tokio::test]
    async fn an_analysis_does_not_wait_for_a_site_that_is_revoked() {
        let harness = Harness::start().await;
        for site in ["a", "b"] {
            harness.coordinator.admit(&site.parse().unwrap(), &PartyName::home()).unwrap();
        }
        let services = harness.coordinator.services();
        let scan = Arc::new(Scan::new(ScanId(1), ScanSpec::new(spec(false), &LIMITS).unwrap()));
        let turn = Arc::clone(&services.scans.analyses).try_acquire_owned().unwrap();
        let (of, waiting) = (Arc::clone(&services.scans), Arc::clone(&scan));
        let asking = tokio::task::spawn_blocking(move || {
            let sites = AttachedSites::of(&of, &waiting, turn).unwrap();
            sites.ask(vec![request("a"), request("b")])
        });
        // Both sites are waited for: each wait runs to its end or its first pause at once, on the thread of this test.
        while services.members.listeners() < 2 {
            tokio::task::yield_now().await;
        }
        for site in ["a", "b"] {
            services.members.revoke(MemberKind::Site, site, "anna").unwrap();
        }
        let answers = soon(asking).await.unwrap();
        for answer in answers {
            assert_eq!(answer.err().map(|failure| failure.reason).as_deref(), Some(REVOKED));
        }
    }

    /// A query that its site takes and never answers.
    #[derive(Clone)]
    struct Unanswered(SiteName);

    impl Query for Unanswered {
        type Answer = ();
        const ASKED_MAX: Duration = MeasureRequest::ASKED_MAX;

        fn site(&self) -> &SiteName {
            &self.0
        }

        async fn ask(self, _: &Sessions, _: FineScan) -> Result<(), NoAnswer> {
            std::future::pending().await
        }
    }

    #[tokio::test]
    async fn a_scan_waits_a_minute_for_exact_measures_and_not_longer() {
        let harness = Harness::start().await;
        let services = harness.coordinator.services();
        let of = (Arc::clone(&services.sessions), Arc::clone(&services.members));
        let facts = FineScan { across_parties: false, follow_symlinks: false };
        tokio::time::pause();
        let began = tokio::time::Instant::now();
        let failed = ask(of, Unanswered("a".parse().unwrap()), facts, ABSENCE_MAX).await.unwrap_err();
        assert_eq!(began.elapsed().as_secs(), 60);
        assert!(!failed.refused && failed.reason.contains("did not answer in 60 seconds"), "{failed:?}");
    }

    #[tokio::test]
    async fn an_analysis_that_waits_for_a_site_gives_its_turn_to_another() {
        let harness = Harness::start().await;
        for site in ["a", "b"] {
            harness.coordinator.admit(&site.parse().unwrap(), &PartyName::home()).unwrap();
        }
        let scans = Arc::clone(&harness.coordinator.services().scans);
        let scan = Arc::new(Scan::new(ScanId(1), ScanSpec::new(spec(false), &LIMITS).unwrap()));
        let turn = || Arc::clone(&scans.analyses).try_acquire_owned();
        let (own, _other) = (turn().unwrap(), turn().unwrap());
        assert!(turn().is_err(), "all turns are taken");
        // The site is away, and the analysis waits for it.
        let (waiting, of) = (Arc::clone(&scan), Arc::clone(&scans));
        let asking = tokio::task::spawn_blocking(move || {
            let sites = AttachedSites::of(&of, &waiting, own).unwrap();
            sites.ask(vec![request("a")]).len()
        });
        let third = soon(Arc::clone(&scans.analyses).acquire_owned()).await.unwrap();
        scan.cancel();
        assert_eq!(soon(asking).await.unwrap(), 1);
        drop(third);
    }
}
