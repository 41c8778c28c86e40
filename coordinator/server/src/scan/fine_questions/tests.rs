//! Sites that answer in part, go away, are closed, slow or revoked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cognate_analysis::spec::ScanSpec;
use cognate_fingerprint::{ContentDigest, FineChunk, Method, MethodId, Tag, View};
use cognate_proto::fine::{AnswerTables, FineChoice};
use cognate_proto::name::{PartyName, RepositoryName, ScanId};
use cognate_proto::v1::attach_response::Message as Down;
use cognate_proto::v1::fine_chunks_request::Message as Up;
use cognate_proto::v1::{AttachResponse, FineEnd, FineQuery, Hello, MemberKind, SiteState};
use tonic::Status;

use super::*;
use crate::harness::indexes::{LIMITS, spec};
use crate::harness::{Harness, soon};
use crate::session::{Attached, TakenFine};

type Inbox = mpsc::Receiver<Result<AttachResponse, Status>>;

/// Chunks that are wanted of sites, and what came of them.
struct Wanted {
    repositories: Vec<AskedRepository>,
    next: Vec<u32>,
    kept: BTreeMap<Tag, usize>,
    ends: Vec<Option<Result<FineSiteEnd, FineFailure>>>,
}

fn tag(number: usize, chunk: u32) -> Tag {
    let mut tag = [u8::try_from(number).unwrap(); 16];
    tag[..4].copy_from_slice(&chunk.to_le_bytes());
    Tag(tag)
}

impl Wanted {
    fn of(sites: &[&str], chunks: u64) -> Wanted {
        let repository =
            |site: &&str| AskedRepository { site: site.parse().unwrap(), repository: RepositoryName::main(), chunks };
        Wanted {
            repositories: sites.iter().map(repository).collect(),
            next: vec![0; sites.len()],
            kept: BTreeMap::new(),
            ends: vec![None; sites.len()],
        }
    }

    fn failure(&self, number: usize) -> &str {
        match &self.ends[number] {
            Some(Err(failure)) => &failure.reason,
            _ => "",
        }
    }

    /// Asks until all is there, or the wait is over: two hours, by a clock that may be turned.
    async fn ask(&mut self, fixture: &Fixture, deadline: Option<Duration>) -> Result<(), AnalysisError> {
        self.ask_in(fixture, deadline, Turn::Given).await
    }

    async fn ask_in(&mut self, fixture: &Fixture, deadline: Option<Duration>, turn: Turn) -> Result<(), AnalysisError> {
        let facts = FineScan { across_parties: false, follow_symlinks: false };
        let deadline = deadline.map(|limit| Instant::now() + limit);
        let asking = FineQuestions::new(&fixture.scan, fixture.sites(), facts, self).ask(deadline, turn);
        tokio::time::timeout(Duration::from_secs(7200), asking).await.expect("it ends")
    }
}

impl FineWork for Wanted {
    fn repositories(&self) -> Vec<AskedRepository> {
        self.repositories.clone()
    }

    fn next(&mut self, number: usize, chunks_max: usize) -> Option<FineRequest> {
        let all = u32::try_from(self.repositories[number].chunks).unwrap();
        let end = all.min(self.next[number] + u32::try_from(chunks_max).unwrap());
        let chunks = std::mem::replace(&mut self.next[number], end)..end;
        let tags: Vec<Tag> = chunks.map(|chunk| tag(number, chunk)).collect();
        (!tags.is_empty()).then(|| FineRequest {
            site: self.repositories[number].site.clone(),
            repository: RepositoryName::main(),
            method: Method::tttd(View::Raw, 1000).unwrap(),
            method_id: MethodId([1; 16]),
            choice: FineChoice { contents: vec![(ContentDigest([1; 16]), tags)] },
        })
    }

    fn take(&mut self, arrived: Vec<FineArrival>) -> Result<(), AnalysisError> {
        for expansion in arrived.iter().flat_map(|arrival| &arrival.expansions) {
            *self.kept.entry(expansion.tag).or_default() += 1;
        }
        Ok(())
    }

    fn end(&mut self, number: usize, end: Result<FineSiteEnd, FineFailure>) {
        self.ends[number] = Some(end);
    }

    fn failed(&self, number: usize) -> bool {
        matches!(self.ends[number], Some(Err(_)))
    }
}

struct Fixture {
    harness: Harness,
    scan: Scan,
}

impl Fixture {
    async fn start() -> Fixture {
        let harness = Harness::start().await;
        for site in ["a", "b"] {
            harness.coordinator.admit(&site.parse().unwrap(), &PartyName::home()).unwrap();
        }
        Fixture { harness, scan: Scan::new(ScanId(1), ScanSpec::new(spec(false), &LIMITS).unwrap()) }
    }

    fn sites(&self) -> SiteWait {
        let services = self.harness.coordinator.services();
        SiteWait { sessions: Arc::clone(&services.sessions), members: Arc::clone(&services.members) }
    }

    fn attach(&self, site: &str, instance: u64, outside_hours: bool) -> (Attached, Inbox) {
        attach(&self.sites(), site, instance, outside_hours)
    }
}

fn attach(sites: &SiteWait, site: &str, instance: u64, outside_hours: bool) -> (Attached, Inbox) {
    let hello = Hello {
        protocol_min: 1,
        protocol_max: 1,
        key_fingerprint: vec![0; 16],
        repositories: vec!["main".into()],
        earlier_instances: (1..instance).collect(),
        instance,
        outside_hours,
        ..Hello::default()
    };
    let (down, inbox) = mpsc::channel(8);
    (sites.sessions.attach(&site.parse().unwrap(), &hello, down).unwrap(), inbox)
}

async fn next_query(inbox: &mut Inbox) -> FineQuery {
    loop {
        let message = inbox.recv().await.unwrap().unwrap().message;
        if let Some(Down::FineQuery(query)) = message {
            return query;
        }
    }
}

/// Answers a query about at most so many chunks, and ends the answer if that is all of them. Returns the chunks that it was asked for.
async fn answer_query(sites: &SiteWait, site: &str, query: FineQuery, chunks_max: usize) -> BTreeSet<Tag> {
    let site = site.parse().unwrap();
    let asked: Vec<Tag> = sites.sessions.fine_choice(&site, query.query).unwrap().tags().collect();
    let mut answering = sites.sessions.answering_fine(&site, query.query).unwrap();
    let mut tables = AnswerTables::new(true);
    let fine = FineChunk { tag: 7, length_bytes: 7 };
    (0..).zip(&asked).take(chunks_max).for_each(|(number, _)| tables.push(number, [fine].into_iter()));
    for table in tables.finish() {
        let Ok(TakenFine::Part(kept)) = answering.take(Up::Table(table)).await else { panic!("a part") };
        kept.await.unwrap();
    }
    if asked.len() <= chunks_max {
        answering.take(Up::End(FineEnd { read_bytes: 1, ..FineEnd::default() })).await.unwrap();
    }
    asked.into_iter().collect()
}

#[tokio::test]
async fn a_site_that_goes_away_within_its_answer_is_asked_for_the_rest_alone() {
    let fixture = Fixture::start().await;
    let (sites, mut wanted) = (fixture.sites(), Wanted::of(&["a"], 100));
    let site = async {
        let (mut asked, mut left) = (Vec::new(), usize::MAX);
        for instance in 1.. {
            let (attached, mut inbox) = attach(&sites, "a", instance, false);
            let query = next_query(&mut inbox).await;
            let of_query = answer_query(&sites, "a", query, 30).await;
            left = left.min(of_query.len());
            asked.push(of_query.len());
            if left <= 30 {
                return asked;
            }
            sites.sessions.detach(&"a".parse().unwrap(), attached.number);
        }
        unreachable!("it has an end")
    };
    let (asked, all) = soon(async { tokio::join!(site, wanted.ask(&fixture, None)) }).await;
    all.unwrap();
    assert_eq!(asked, [100, 70, 40, 10]);
    assert_eq!((wanted.kept.len(), wanted.kept.values().max()), (100, Some(&1)), "each once");
    let shown = fixture.scan.progress.borrow().repositories[0].clone();
    assert_eq!((shown.fine_chunks, shown.fine_chunks_done, &*shown.waiting), (100, 100, ""));
}

#[tokio::test]
async fn one_site_that_never_answers_holds_no_other_up_and_has_given_up_at_the_deadline() {
    let fixture = Fixture::start().await;
    let (sites, mut wanted) = (fixture.sites(), Wanted::of(&["a", "b"], 100_000));
    let (_silent, _unread) = fixture.attach("a", 1, false);
    let (_attached, mut inbox) = fixture.attach("b", 1, false);
    let site = async {
        let mut chunks = 0;
        while chunks < 100_000 {
            let query = next_query(&mut inbox).await;
            chunks += answer_query(&sites, "b", query, usize::MAX).await.len();
        }
    };
    tokio::time::pause();
    let ((), all) = tokio::join!(site, wanted.ask(&fixture, Some(Duration::from_secs(20))));
    all.unwrap();
    assert!(wanted.kept.keys().all(|tag| tag.0[15] == 1) && wanted.kept.len() == 100_000);
    assert!(wanted.failure(0).ends_with("the site is slow") && !wanted.failed(1), "{}", wanted.failure(0));
}

#[tokio::test]
async fn an_analysis_gives_its_memory_back_if_all_sites_that_it_waits_for_are_away_or_closed_for_a_minute() {
    let fixture = Fixture::start().await;
    let (_closed, _inbox) = fixture.attach("a", 1, true);
    tokio::time::pause();
    let began = Instant::now();
    let mut wanted = Wanted::of(&["a", "b"], 5);
    let Err(AnalysisError::Waiting(sites)) = wanted.ask(&fixture, None).await else { panic!("it waits") };
    assert_eq!(sites.iter().map(SiteName::as_str).collect::<Vec<_>>(), ["a", "b"]);
    assert!((60..=62).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    let shown: Vec<String> =
        fixture.scan.progress.borrow().repositories.iter().map(|one| one.waiting.clone()).collect();
    assert_eq!(shown, ["the site is outside of its hours", "the site is not attached"]);
    // With a deadline that is over first, it goes on without them.
    let mut wanted = Wanted::of(&["a", "b"], 5);
    wanted.ask(&fixture, Some(Duration::from_secs(20))).await.unwrap();
    assert!(wanted.failure(0).ends_with("the site is outside of its hours"), "{}", wanted.failure(0));
    assert!(wanted.failure(1).ends_with("the site is not attached"), "{}", wanted.failure(1));
}

#[tokio::test]
async fn an_analysis_that_keeps_its_turn_gives_way_after_ten_minutes_whatever_its_sites_do() {
    let fixture = Fixture::start().await;
    let (_silent, _unread) = fixture.attach("a", 1, false);
    tokio::time::pause();
    let began = Instant::now();
    let mut wanted = Wanted::of(&["a"], 5);
    let Err(AnalysisError::Waiting(sites)) = wanted.ask_in(&fixture, None, Turn::Held).await else {
        panic!("it waits")
    };
    assert_eq!((sites.len(), began.elapsed().as_secs() / 10), (1, 60));
    // Without a turn it waits on.
    let mut wanted = Wanted::of(&["a"], 5);
    let waiting = wanted.ask(&fixture, None);
    assert!(tokio::time::timeout(Duration::from_secs(3600), waiting).await.is_err(), "it waits for the site");
}

#[tokio::test]
async fn a_site_that_is_closed_is_asked_once_it_is_open() {
    let fixture = Fixture::start().await;
    let (sites, mut wanted) = (fixture.sites(), Wanted::of(&["a"], 5));
    // The coordinator has not heard of the pause yet.
    let (attached, mut inbox) = fixture.attach("a", 1, false);
    tokio::time::pause();
    let site = async {
        let name = "a".parse().unwrap();
        let query = next_query(&mut inbox).await;
        let state = |paused| SiteState { paused, outside_hours: false };
        sites.sessions.set_state(&name, attached.number, state(true));
        let mut answering = sites.sessions.answering_fine(&name, query.query).unwrap();
        let closed = FineEnd { failure: "paused".to_owned(), closed: true, ..FineEnd::default() };
        answering.take(Up::End(closed)).await.unwrap();
        let asked = tokio::time::timeout(Duration::from_secs(30), next_query(&mut inbox)).await;
        assert!(asked.is_err(), "nobody asks a site that is closed");
        sites.sessions.set_state(&name, attached.number, state(false));
        let query = next_query(&mut inbox).await;
        answer_query(&sites, "a", query, 5).await
    };
    let (asked, all) = tokio::join!(site, wanted.ask(&fixture, None));
    all.unwrap();
    assert_eq!((asked.len(), wanted.kept.len()), (5, 5));
}

#[tokio::test]
async fn a_site_that_refuses_several_requests_at_once_has_refused_once() {
    let fixture = Fixture::start().await;
    let (sites, mut wanted) = (fixture.sites(), Wanted::of(&["a"], 100_000));
    let (_attached, mut inbox) = fixture.attach("a", 1, false);
    let site = async {
        let mut queries = Vec::new();
        for _ in 0..REQUESTS_AHEAD {
            queries.push(next_query(&mut inbox).await);
        }
        for query in queries {
            let mut answering = sites.sessions.answering_fine(&"a".parse().unwrap(), query.query).unwrap();
            let refusal = FineEnd { failure: "policy.fine is never".to_owned(), refused: true, ..FineEnd::default() };
            answering.take(Up::End(refusal)).await.unwrap();
        }
    };
    let ((), all) = soon(async { tokio::join!(site, wanted.ask(&fixture, None)) }).await;
    all.unwrap();
    assert_eq!(wanted.failure(0), "policy.fine is never");
}

#[tokio::test]
async fn nobody_waits_for_a_site_that_is_revoked() {
    let fixture = Fixture::start().await;
    let mut wanted = Wanted::of(&["a", "b"], 5);
    let members = Arc::clone(&fixture.harness.coordinator.services().members);
    let revoking = async {
        // Both sites are waited for.
        while members.listeners() < 2 {
            tokio::task::yield_now().await;
        }
        for site in ["a", "b"] {
            members.revoke(MemberKind::Site, site, "anna").unwrap();
        }
    };
    let ((), all) = soon(async { tokio::join!(revoking, wanted.ask(&fixture, None)) }).await;
    all.unwrap();
    for number in 0..2 {
        assert_eq!(wanted.failure(number), crate::scan::REVOKED);
    }
}
