//! The sites of a scan, as its analysis asks them for fine chunks and for exact measures.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use cognate_analysis::Error as AnalysisError;
use cognate_analysis::fine::{FineFailure, FineSource, FineWork, MeasureAnswer, MeasureRequest};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use super::Scans;
use super::fine_questions::{FineQuestions, Turn};
use super::running::Scan;
use super::site_wait::SiteWait;
use crate::error::Error;
use crate::session::{FineScan, NoAnswer};

/// The longest time in which a site measures pairs exactly, whatever it does meanwhile. They only show how far off the other figures
/// are: a scan does not wait longer for that.
const MEASURE_MAX: Duration = Duration::from_secs(60);
/// The time between two attempts to have pairs measured.
const ATTEMPT_PAUSE: Duration = Duration::from_millis(200);

/// Asks the attached sites, from a thread that may block. While it waits for them, another analysis has its turn: a site
/// that does not answer keeps no scan of others from its own.
pub(super) struct AttachedSites<'a> {
    turn: Mutex<Option<OwnedSemaphorePermit>>,
    analyses: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    scan: &'a Scan,
    sites: SiteWait,
    facts: FineScan,
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
            sites: SiteWait { sessions: Arc::clone(&scans.sessions), members: Arc::clone(&scans.members) },
            facts: FineScan {
                across_parties: scans.crosses_parties(&options.repositories)?,
                follow_symlinks: options.follow,
            },
            runtime: Handle::current(),
        })
    }

    fn turn(&self) -> MutexGuard<'_, Option<OwnedSemaphorePermit>> {
        self.turn.lock().expect("nothing panics while it is held")
    }

    /// The reason where nobody expects anything of the sites.
    fn asks_nobody(&self) -> Option<FineFailure> {
        let refused = FineFailure { reason: "the scan asks no site".to_owned(), refused: true };
        Some(refused).filter(|_| self.scan.spec.options.no_sync)
    }

    /// Waits for something of the sites, without a turn meanwhile; or with it, which `waiting` learns, if enough others wait already.
    fn out_of_turn<W: Future>(&self, waiting: impl FnOnce(Turn) -> W) -> W::Output {
        // Those that wait keep their memory, so that only a few give their turns away.
        let place = Arc::clone(&self.waiting).try_acquire_owned();
        if place.is_ok() {
            *self.turn() = None;
        }
        let done = self.runtime.block_on(waiting(if place.is_ok() { Turn::Given } else { Turn::Held }));
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
        done
    }

    async fn measure_all(&self, requests: Vec<MeasureRequest>) -> Vec<Result<MeasureAnswer, FineFailure>> {
        let mut asking = JoinSet::new();
        let late = || Err(FineFailure::passing("its site did not answer"));
        let mut answers: Vec<Result<MeasureAnswer, FineFailure>> = requests.iter().map(|_| late()).collect();
        for (place, request) in requests.into_iter().enumerate() {
            let measuring = measured(self.sites.clone(), request, self.facts);
            asking.spawn(async move { (place, measuring.await) });
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

/// Has a site measure pairs exactly, and asks again if it goes away and comes back.
async fn measured(sites: SiteWait, request: MeasureRequest, facts: FineScan) -> Result<MeasureAnswer, FineFailure> {
    let attempts = async {
        loop {
            match sites.sessions.ask_measures(request.clone(), facts).await {
                Ok(answer) => return Ok(answer),
                Err(NoAnswer::Failed(failure)) => return Err(failure),
                Err(NoAnswer::Absent(_)) => sites.one(&request.site).await?,
            }
            // A session that is about to end counts as attached for a moment.
            tokio::time::sleep(ATTEMPT_PAUSE).await;
        }
    };
    let late = || FineFailure::passing(format!("its site did not answer in {} seconds", MEASURE_MAX.as_secs()));
    tokio::time::timeout(MEASURE_MAX, attempts).await.unwrap_or_else(|_| Err(late()))
}

impl FineSource for AttachedSites<'_> {
    fn ask(&self, work: &mut dyn FineWork) -> Result<(), AnalysisError> {
        if let Some(refused) = self.asks_nobody() {
            (0..work.repositories().len()).for_each(|number| work.end(number, Err(refused.clone())));
            return Ok(());
        }
        let questions = FineQuestions::new(self.scan, self.sites.clone(), self.facts, work);
        self.out_of_turn(|turn| self.scan.waits(questions.ask(self.scan.fine_deadline(), turn)))
    }

    fn measure(&self, requests: Vec<MeasureRequest>) -> Vec<Result<MeasureAnswer, FineFailure>> {
        match self.asks_nobody() {
            Some(refused) => requests.iter().map(|_| Err(refused.clone())).collect(),
            None => self.out_of_turn(|_| self.measure_all(requests)),
        }
    }
}

#[cfg(test)]
mod tests {
    use cognate_analysis::fine::{AskedRepository, FineArrival, FineRequest, FineSiteEnd};
    use cognate_analysis::spec::ScanSpec;
    use cognate_fingerprint::{ContentDigest, Method, MethodId, Tag, View};
    use cognate_proto::fine::FineChoice;
    use cognate_proto::name::{PartyName, RepositoryName, ScanId};
    use cognate_proto::v1::Hello;
    use tokio::sync::mpsc;

    use super::*;
    use crate::harness::indexes::{LIMITS, spec};
    use crate::harness::{Harness, soon};

    /// One chunk of one site.
    struct OneChunk {
        is_asked: bool,
    }

    impl FineWork for OneChunk {
        fn repositories(&self) -> Vec<AskedRepository> {
            vec![AskedRepository { site: "a".parse().unwrap(), repository: RepositoryName::main(), chunks: 1 }]
        }

        fn next(&mut self, _: usize, _: usize) -> Option<FineRequest> {
            let is_first = !std::mem::replace(&mut self.is_asked, true);
            is_first.then(|| FineRequest {
                site: "a".parse().unwrap(),
                repository: RepositoryName::main(),
                method: Method::tttd(View::Raw, 1000).unwrap(),
                method_id: MethodId([1; 16]),
                choice: FineChoice { contents: vec![(ContentDigest([1; 16]), vec![Tag([1; 16])])] },
            })
        }

        fn take(&mut self, _: Vec<FineArrival>) -> Result<(), AnalysisError> {
            Ok(())
        }

        fn end(&mut self, _: usize, _: Result<FineSiteEnd, FineFailure>) {}

        fn failed(&self, _: usize) -> bool {
            false
        }
    }

    #[tokio::test]
    async fn a_scan_waits_a_minute_for_exact_measures_and_not_longer() {
        let harness = Harness::start().await;
        harness.coordinator.admit(&"a".parse().unwrap(), &PartyName::home()).unwrap();
        let services = harness.coordinator.services();
        let sites = SiteWait { sessions: Arc::clone(&services.sessions), members: Arc::clone(&services.members) };
        let hello = Hello {
            protocol_min: 1,
            protocol_max: 1,
            key_fingerprint: vec![0; 16],
            repositories: vec!["main".into()],
            ..Hello::default()
        };
        // It takes the question, and never answers.
        let (down, _inbox) = mpsc::channel(8);
        let _attached = services.sessions.attach(&"a".parse().unwrap(), &hello, down).unwrap();
        let request = MeasureRequest {
            site: "a".parse().unwrap(),
            repositories: vec![RepositoryName::main()],
            method: Method::tttd(View::Raw, 1000).unwrap(),
            method_id: MethodId([1; 16]),
            pairs: Vec::new(),
        };
        tokio::time::pause();
        let began = tokio::time::Instant::now();
        let facts = FineScan { across_parties: false, follow_symlinks: false };
        let Err(failed) = measured(sites, request, facts).await else { panic!("nobody answers") };
        assert_eq!(began.elapsed().as_secs(), 60);
        assert!(!failed.refused && failed.reason.contains("did not answer in 60 seconds"), "{failed:?}");
    }

    #[tokio::test]
    async fn an_analysis_that_waits_for_a_site_gives_its_turn_to_another() {
        let harness = Harness::start().await;
        harness.coordinator.admit(&"a".parse().unwrap(), &PartyName::home()).unwrap();
        let scans = Arc::clone(&harness.coordinator.services().scans);
        let scan = Arc::new(Scan::new(ScanId(1), ScanSpec::new(spec(false), &LIMITS).unwrap()));
        let turn = || Arc::clone(&scans.analyses).try_acquire_owned();
        let (own, _other) = (turn().unwrap(), turn().unwrap());
        assert!(turn().is_err(), "all turns are taken");
        // The site is away, and the analysis waits for it.
        let (waiting, of) = (Arc::clone(&scan), Arc::clone(&scans));
        let asking = tokio::task::spawn_blocking(move || {
            let sites = AttachedSites::of(&of, &waiting, own).unwrap();
            sites.ask(&mut OneChunk { is_asked: false })
        });
        let third = soon(Arc::clone(&scans.analyses).acquire_owned()).await.unwrap();
        scan.cancel();
        assert!(soon(asking).await.unwrap().is_err_and(|error| error.is_cancelled()));
        drop(third);
    }
}
