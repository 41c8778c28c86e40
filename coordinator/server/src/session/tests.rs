use cognate_fingerprint::{ContentDigest, View};
use cognate_proto::file_hash::{FileHash, FileHashList};
use cognate_proto::v1::file_hash_hits_request::Message as Up;
use cognate_proto::v1::{FileHashAnswer, FileHashCoverage, FileHashEnd, FileHashHit, FileHashHits, FileHashHolder};

use super::*;

struct Fixture {
    _folder: tempfile::TempDir,
    store: Arc<Store>,
    sessions: Sessions,
}

type Inbox = mpsc::Receiver<Result<AttachResponse, Status>>;

fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::open(&folder.path().join("store"), &folder.path().join("journal"), false).unwrap());
    let clock = || SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
    Fixture { _folder: folder, sessions: Sessions::new(Arc::clone(&store), Arc::new(Metrics::new()), clock), store }
}

/// Each process knows those with lesser numbers.
fn hello(instance: u64) -> Hello {
    Hello {
        protocol_min: 1,
        protocol_max: 1,
        key_fingerprint: vec![0; 16],
        repositories: vec!["main".into()],
        earlier_instances: (1..instance).collect(),
        instance,
        now: 1_000_400,
        ..Hello::default()
    }
}

fn site(name: &str) -> SiteName {
    name.parse().unwrap()
}

impl Fixture {
    fn attach(&self, name: &str, hello: &Hello) -> Result<(Attached, Inbox), Error> {
        let (down, inbox) = mpsc::channel(8);
        Ok((self.sessions.attach(&site(name), hello, down)?, inbox))
    }

    /// Gives a site assignment 5 for its repository `main`, and returns its events.
    fn assign(&self, name: &str) -> mpsc::UnboundedReceiver<Event> {
        let (events, heard) = mpsc::unbounded_channel();
        let method = Method::tttd(View::Raw, 1000).unwrap();
        let wanted = Wanted { method, scope: None, agreement: Arc::new(Mutex::new(Claims::new(1))), target: 0, events };
        let assignment = Assignment { assignment: 5, repository: "main".into(), ..Assignment::default() };
        assert!(self.sessions.assign(&site(name), assignment, wanted));
        heard
    }

    fn open(&self, name: &str, assignment: u64, repository: &str) -> Result<Purpose, Error> {
        let open = OpenIndex { assignment, repository: repository.into(), ..OpenIndex::default() };
        self.sessions.purpose(&site(name), &open, MethodId([1; 16]))
    }
}

#[test]
fn a_worker_of_another_version_learns_which_end_has_to_upgrade() {
    let fixture = fixture();
    let refused = |min, max| {
        let hello = Hello { protocol_min: min, protocol_max: max, ..hello(1) };
        fixture.attach("a", &hello).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert!(refused(2, 3).contains("upgrade the coordinator"));
    assert!(refused(0, 0).contains("upgrade the worker"));
    assert_eq!(refused(1, 2), "");
}

#[test]
fn a_greeting_that_makes_no_sense_is_refused() {
    let fixture = fixture();
    assert!(fixture.attach("a", &Hello { key_fingerprint: vec![1; 15], ..hello(1) }).is_err());
    assert!(fixture.attach("a", &Hello { repositories: vec!["../etc".into()], ..hello(1) }).is_err());
}

/// A process that knows these that worked with its state before.
fn after(earlier: &[u64], instance: u64) -> Hello {
    Hello { earlier_instances: earlier.to_vec(), ..hello(instance) }
}

#[test]
fn a_worker_that_is_started_again_takes_over_and_one_with_another_state_is_refused() {
    let fixture = fixture();
    let (first, _inbox) = fixture.attach("a", &after(&[10, 20], 30)).unwrap();
    for other in [after(&[10, 20], 31), after(&[10], 20), after(&[], 0), after(&[], 99)] {
        assert!(matches!(fixture.attach("a", &other), Err(Error::Exists(_))), "{other:?}");
    }
    assert!(first.live.holds());
    let (second, _inbox) = fixture.attach("a", &after(&[10, 20], 30)).unwrap();
    assert!(!first.live.holds() && second.live.holds());
    fixture.attach("a", &after(&[10, 20, 30, 35], 40)).unwrap();
    assert!(!second.live.holds());
    // They are still refused after the other has left.
    fixture.sessions.cut(&site("a"));
    for other in [after(&[10, 20], 31), after(&[10, 20, 31], 32)] {
        assert!(matches!(fixture.attach("a", &other), Err(Error::Exists(_))), "{other:?}");
    }
    assert_eq!(fixture.store.seen(&site("a")).unwrap().instance, 40);
    let too_many: Vec<u64> = (1..=1001).collect();
    assert!(matches!(fixture.attach("a", &after(&too_many, 50)), Err(Error::Invalid(_))));
}

#[test]
fn a_copy_that_takes_over_from_a_worker_that_still_lives_gives_way_to_it() {
    let fixture = fixture();
    let original = after(&[1], 2);
    let copy = after(&[1, 2], 3);
    let restarted = after(&[1, 2, 3], 4);
    fixture.attach("a", &original).unwrap();
    // The coordinator cannot tell a copy of a running worker from the next start of that worker.
    fixture.attach("a", &copy).unwrap();
    let (back, _inbox) = fixture.attach("a", &original).unwrap();
    for copy in [&copy, &restarted] {
        assert!(matches!(fixture.attach("a", copy), Err(Error::Exists(_))), "{copy:?}");
    }
    assert!(back.live.holds());
    assert_eq!(fixture.store.seen(&site("a")).unwrap().copy_instance, 3);
    // While the original is away the copy is let in, until it is back.
    fixture.sessions.cut(&site("a"));
    let (away, _inbox) = fixture.attach("a", &restarted).unwrap();
    fixture.attach("a", &original).unwrap();
    assert!(!away.live.holds());
    // After the next start of the original the copy is refused whoever is attached.
    fixture.attach("a", &after(&[1, 2], 9)).unwrap();
    fixture.sessions.cut(&site("a"));
    for copy in [&copy, &restarted] {
        assert!(matches!(fixture.attach("a", copy), Err(Error::Exists(_))), "{copy:?}");
    }
}

#[test]
fn a_message_of_a_process_that_has_ended_does_not_lock_out_the_next_one() {
    let fixture = fixture();
    fixture.attach("a", &after(&[1], 2)).unwrap();
    fixture.attach("a", &after(&[1, 2], 3)).unwrap();
    // A greeting that the first process sent before it ended arrives late.
    fixture.attach("a", &after(&[1], 2)).unwrap();
    fixture.sessions.cut(&site("a"));
    let (session, _inbox) = fixture.attach("a", &after(&[1, 2], 3)).unwrap();
    assert!(session.live.holds());
    // From then on it is no copy: it may take its own place, and its next start may.
    fixture.attach("a", &after(&[1, 2], 3)).unwrap();
    let (next, _inbox) = fixture.attach("a", &after(&[1, 2, 3], 4)).unwrap();
    assert!(next.live.holds() && !session.live.holds());
}

#[test]
fn a_site_can_push_only_what_it_was_asked_for_in_its_present_session() {
    let fixture = fixture();
    let (_attached, _inbox_a) = fixture.attach("a", &hello(1)).unwrap();
    let (_attached, _inbox_b) = fixture.attach("b", &hello(2)).unwrap();
    let mut heard = fixture.assign("a");
    let purpose = fixture.open("a", 5, "main").unwrap();
    assert!(matches!(fixture.open("b", 5, "main"), Err(Error::Denied(_))));
    assert!(matches!(fixture.open("a", 5, "other"), Err(Error::Denied(_))));
    assert!(matches!(fixture.open("a", 6, "main"), Err(Error::Stale(_))));
    fixture.sessions.end(&site("b"), SyncEnded { assignment: 5, ..SyncEnded::default() });
    assert!(heard.try_recv().is_err());
    let (_attached, _inbox) = fixture.attach("a", &hello(3)).unwrap();
    assert!(matches!(heard.try_recv(), Ok(Event::Ended { outcome: Outcome::Away, .. })));
    assert!(!purpose.live.holds());
    assert!(matches!(fixture.open("a", 5, "main"), Err(Error::Stale(_))));
}

#[test]
fn a_refinement_is_sent_only_to_its_site_and_accepts_only_its_own_index() {
    let fixture = fixture();
    let (_attached, _inbox_a) = fixture.attach("a", &hello(1)).unwrap();
    let (_attached, _inbox_b) = fixture.attach("b", &hello(2)).unwrap();
    let (events, _heard) = mpsc::unbounded_channel();
    let scope = Arc::new(Scope::new(MethodId([1; 16]), vec![ContentDigest([3; 16])]).unwrap());
    let method = Method::tttd(View::Raw, 100).unwrap();
    let wanted = Wanted {
        method,
        scope: Some(Arc::clone(&scope)),
        agreement: Arc::new(Mutex::new(Claims::new(1))),
        target: 0,
        events,
    };
    let assignment = Assignment { assignment: 7, repository: "main".into(), ..Assignment::default() };
    assert!(fixture.sessions.assign(&site("a"), assignment, wanted));
    let _heard = fixture.assign("b");
    assert_eq!(fixture.sessions.scope(&site("a"), 7).unwrap(), scope);
    assert!(matches!(fixture.sessions.scope(&site("b"), 7), Err(Error::Stale(_))));
    assert!(matches!(fixture.sessions.scope(&site("a"), 8), Err(Error::Stale(_))));
    assert!(matches!(fixture.sessions.scope(&site("b"), 5), Err(Error::Denied(_))));
    let open = |assignment, scope: &[u8]| {
        let open = OpenIndex { assignment, repository: "main".into(), scope: scope.to_vec(), ..OpenIndex::default() };
        let name = if assignment == 5 { "b" } else { "a" };
        fixture.sessions.purpose(&site(name), &open, MethodId([1; 16])).map(|purpose| purpose.scope)
    };
    assert_eq!(open(7, &scope.id().0).unwrap(), Some(scope.id()));
    assert_eq!(open(5, &[]).unwrap(), None);
    // An older worker knows no scope, and would send everything.
    for other in [&[][..], &[9; 16], &[9; 3]] {
        assert!(matches!(open(7, other), Err(Error::Refused(_))), "{other:?}");
    }
    assert!(matches!(open(5, &scope.id().0), Err(Error::Refused(_))));
    assert!(matches!(open(0, &scope.id().0), Err(Error::Denied(_))));
}

#[test]
fn a_site_whose_data_is_refused_for_good_is_waited_for_no_longer() {
    let fixture = fixture();
    let (_attached, mut inbox) = fixture.attach("a", &hello(1)).unwrap();
    let mut events = fixture.assign("a");
    let assignment = 5;
    fixture.sessions.refuse(assignment, "the quota of `a` is exhausted\nand more");
    match events.try_recv().unwrap() {
        Event::Ended { outcome: Outcome::Failed(reason), .. } => {
            assert!(reason.starts_with("the quota of `a` is exhausted") && !reason.contains('\n'), "{reason}");
        }
        event => panic!("{event:?}"),
    }
    // The site hears of it, and pushes nothing more for it.
    let mut cancelled = false;
    while let Ok(Ok(message)) = inbox.try_recv() {
        cancelled |= matches!(message.message, Some(Down::Cancel(Cancel { assignment: of })) if of == assignment);
    }
    assert!(cancelled);
    assert!(matches!(fixture.open("a", assignment, "main"), Err(Error::Stale(_))));
    fixture.sessions.refuse(0, "a sync of its own has nobody who waits");
}

#[test]
fn a_sync_with_impossible_numbers_does_not_count_and_names_them() {
    let fixture = fixture();
    let (_attached, _inbox) = fixture.attach("a", &hello(1)).unwrap();
    let mut heard = fixture.assign("a");
    let progress = |read_bytes| SyncProgress { assignment: 5, read_bytes, ..SyncProgress::default() };
    fixture.sessions.progress(&site("a"), progress(u64::MAX));
    fixture.sessions.progress(&site("a"), progress(7));
    let Ok(Event::Progress { progress, .. }) = heard.try_recv() else { panic!("there was none") };
    assert_eq!(progress.read_bytes, 7);
    let sealed = SealedIndex { method_id: MethodId([1; 16]), id: IndexId(1), sequence: 1 };
    fixture.sessions.sealed(&site("a"), 5, sealed);
    let summary = SyncSummary { read_bytes: 9_223_372_036_854_775_807, ..SyncSummary::default() };
    fixture.sessions.end(&site("a"), SyncEnded { assignment: 5, summary: Some(summary), ..SyncEnded::default() });
    let Ok(Event::Ended { outcome: Outcome::Failed(reason), .. }) = heard.try_recv() else { panic!("it counted") };
    assert!(reason.contains("impossible numbers (9223372036854775807 bytes read"), "{reason}");
    assert_eq!(fixture.sessions.metrics.claims_refused.get(), 2);
}

#[test]
fn a_sync_counts_only_with_a_seal() {
    let fixture = fixture();
    let (_attached, _inbox) = fixture.attach("a", &hello(1)).unwrap();
    let mut heard = fixture.assign("a");
    let ended = SyncEnded { assignment: 5, summary: Some(SyncSummary::default()), ..SyncEnded::default() };
    fixture.sessions.end(&site("a"), ended);
    let Ok(Event::Ended { outcome: Outcome::Failed(reason), .. }) = heard.try_recv() else { panic!("it counted") };
    assert!(reason.contains("without sealing"), "{reason}");
}

#[test]
fn sites_that_open_their_indexes_under_other_methods_are_both_named() {
    let fixture = fixture();
    let (_attached, _inbox_a) = fixture.attach("a", &hello(1)).unwrap();
    let (_attached, _inbox_b) = fixture.attach("b", &hello(2)).unwrap();
    let (events, mut heard) = mpsc::unbounded_channel();
    let agreement = Arc::new(Mutex::new(Claims::new(2)));
    for (name, number) in [("a", 7), ("b", 8)] {
        let method = Method::tttd(View::Raw, 1000).unwrap();
        let wanted =
            Wanted { method, scope: None, agreement: Arc::clone(&agreement), target: 0, events: events.clone() };
        let assignment = Assignment { assignment: number, repository: "main".into(), ..Assignment::default() };
        assert!(fixture.sessions.assign(&site(name), assignment, wanted));
    }
    let open = |assignment| OpenIndex { assignment, repository: "main".into(), ..OpenIndex::default() };
    assert!(fixture.sessions.purpose(&site("a"), &open(7), MethodId([1; 16])).is_ok());
    let error = fixture.sessions.purpose(&site("b"), &open(8), MethodId([2; 16])).err().unwrap().to_string();
    assert!(error.contains("a and b") && error.contains(&MethodId([2; 16]).to_string()), "{error}");
    assert!(matches!(heard.try_recv(), Ok(Event::Differs(_))));
}

#[test]
fn it_is_known_how_far_a_clock_is_ahead_and_when_a_site_was_heard_of() {
    let fixture = fixture();
    let (_attached, mut inbox) = fixture.attach("a", &hello(1)).unwrap();
    assert!(matches!(inbox.try_recv().unwrap().unwrap().message, Some(Down::Welcome(_))));
    let known = fixture.sessions.attached(&site("a")).unwrap();
    assert_eq!((known.clock_skew_seconds, known.last_heard), (400, 1_000_000));
    assert_eq!(fixture.store.seen(&site("a")).unwrap().last_heard, 1_000_000);
}

/// Asks site `a` for three hashes, and returns the message that it received, with the waiting call.
async fn ask(fixture: &Arc<Fixture>, inbox: &mut Inbox) -> (u64, tokio::task::JoinHandle<Result<SiteAnswer, String>>) {
    let list = Arc::new(FileHashList::new((0..3).map(|number| FileHash::Md5([number; 16])).collect()).unwrap());
    let repositories = vec!["main".parse().unwrap()];
    let question = SiteQuestion { list, repositories, holders_max: 2, asked_by: "anna".into() };
    let asked = Arc::clone(fixture);
    let waiting = tokio::spawn(async move { asked.sessions.query(&site("a"), question).await });
    loop {
        match inbox.recv().await.unwrap().unwrap().message.unwrap() {
            Down::FileHashQuery(query) => return (query.query, waiting),
            other => assert!(matches!(other, Down::Welcome(_)), "{other:?}"),
        }
    }
}

fn coverage(repository: &str) -> Up {
    Up::Coverage(FileHashCoverage { repository: repository.into(), files: 4, ..FileHashCoverage::default() })
}

fn hit(number: u32, files: u64, paths: &[&str]) -> Up {
    let holder = |path: &&str| FileHashHolder {
        repository: "main".into(),
        path: path.as_bytes().to_vec(),
        ..FileHashHolder::default()
    };
    let hit = FileHashHit { number, files, holders: paths.iter().map(holder).collect() };
    Up::Hits(FileHashHits { hits: vec![hit] })
}

fn end(failure: &str) -> Up {
    Up::End(FileHashEnd { failure: failure.into() })
}

#[tokio::test]
async fn a_site_answers_what_it_was_asked_and_once() {
    let fixture = Arc::new(fixture());
    let (_attached, mut inbox) = fixture.attach("a", &hello(1)).unwrap();
    let (number, waiting) = ask(&fixture, &mut inbox).await;
    assert_eq!(fixture.sessions.hashes_asked(&site("a"), number).unwrap().hashes().len(), 3);
    // Neither another site nor another number can answer.
    assert!(fixture.sessions.hashes_asked(&site("b"), number).is_err());
    assert!(fixture.sessions.answering(&site("a"), number + 1).is_err());
    let mut answering = fixture.sessions.answering(&site("a"), number).unwrap();
    for message in [coverage("main"), hit(0, 3, &["x"]), hit(0, 0, &["y"]), hit(2, 1, &[])] {
        assert!(!answering.take(message).unwrap());
    }
    assert!(answering.take(end("")).unwrap());
    let answer = waiting.await.unwrap().unwrap();
    let counts: Vec<(u32, u64, usize)> =
        answer.hits.iter().map(|(number, (files, holders))| (*number, *files, holders.len())).collect();
    assert_eq!(counts, [(0, 3, 2), (2, 1, 0)]);
    assert!(fixture.sessions.answering(&site("a"), number).is_err());
    let (number, waiting) = ask(&fixture, &mut inbox).await;
    let mut refusing = fixture.sessions.answering(&site("a"), number).unwrap();
    assert!(refusing.take(end("policy.file_hashes is sha1")).unwrap());
    assert_eq!(waiting.await.unwrap().unwrap_err(), "policy.file_hashes is sha1");
}

#[tokio::test]
async fn an_answer_that_was_not_asked_for_is_refused() {
    let fixture = Arc::new(fixture());
    let (_attached, mut inbox) = fixture.attach("a", &hello(1)).unwrap();
    let (number, _waiting) = ask(&fixture, &mut inbox).await;
    let check = |messages: &[Up]| {
        let mut answering = fixture.sessions.answering(&site("a"), number).unwrap();
        let (last, before) = messages.split_last().unwrap();
        before.iter().for_each(|message| assert!(!answering.take(message.clone()).unwrap()));
        assert!(answering.take(last.clone()).is_err(), "{last:?}");
    };
    check(&[coverage("elsewhere")]);
    check(&[coverage("main"), coverage("main")]);
    check(&[hit(0, 1, &["x"]), coverage("main")]);
    check(&[hit(3, 1, &["x"])]);
    check(&[hit(1, 1, &["x"]), hit(0, 1, &["x"])]);
    check(&[hit(0, 1, &["x", "y"])]);
    check(&[hit(0, 9, &["x", "y", "z"])]);
    check(&[hit(0, 1, &["../../etc/passwd"])]);
    check(&[Up::Answer(FileHashAnswer { query: number })]);
}

#[tokio::test]
async fn who_waits_for_a_site_hears_that_it_has_gone_away() {
    let fixture = Arc::new(fixture());
    let (attached, mut inbox) = fixture.attach("a", &hello(1)).unwrap();
    let (number, waiting) = ask(&fixture, &mut inbox).await;
    fixture.sessions.detach(&site("a"), attached.number);
    assert_eq!(waiting.await.unwrap().unwrap_err(), "its site disconnected before it answered");
    assert!(fixture.sessions.hashes_asked(&site("a"), number).is_err());
    let (number, waiting) = {
        let (_attached, mut inbox) = fixture.attach("a", &hello(2)).unwrap();
        ask(&fixture, &mut inbox).await
    };
    // After the caller has given up, the question is forgotten.
    waiting.abort();
    let _ = waiting.await;
    assert!(fixture.sessions.hashes_asked(&site("a"), number).is_err());
}

#[tokio::test]
async fn exact_measures_come_from_the_site_that_was_asked_and_fit_its_pairs() {
    use cognate_analysis::fine::MeasureRequest;
    use cognate_proto::v1::{MeasureAnswer, PairMeasure};

    let fixture = fixture();
    let (_a, mut inbox) = fixture.attach("a", &hello(1)).unwrap();
    let _b = fixture.attach("b", &hello(2)).unwrap();
    let sessions = Arc::new(fixture.sessions);
    let ask = || {
        let request = MeasureRequest {
            site: site("a"),
            repositories: vec!["main".parse().unwrap()],
            method: Method::tttd(View::Raw, 1000).unwrap(),
            method_id: MethodId([1; 16]),
            pairs: vec![
                [ContentDigest([1; 16]), ContentDigest([2; 16])],
                [ContentDigest([1; 16]), ContentDigest([3; 16])],
            ],
        };
        let sessions = Arc::clone(&sessions);
        let scan = FineScan { across_parties: false, follow_symlinks: true };
        tokio::spawn(async move { sessions.ask_measures(request, scan).await })
    };
    let mut query = async || loop {
        let message = inbox.recv().await.unwrap().unwrap().message;
        if let Some(Down::MeasureQuery(query)) = message {
            return query;
        }
    };
    let asking = ask();
    let asked = query().await;
    assert_eq!((asked.repositories, asked.contents.len(), asked.follow_symlinks), (vec!["main".to_owned()], 64, true));
    let measure = |number| PairMeasure { number, first_bytes: 40, second_bytes: 36 };
    let answer =
        |query, number| MeasureAnswer { query, pairs: vec![measure(number)], read_bytes: 9, ..Default::default() };
    // Another site, and another number: the query stays open.
    assert!(sessions.answer_measures(&site("b"), &answer(asked.query, 1)).is_err());
    assert!(sessions.answer_measures(&site("a"), &answer(asked.query + 1, 1)).is_err());
    sessions.answer_measures(&site("a"), &answer(asked.query, 1)).unwrap();
    let found = asking.await.unwrap().ok().unwrap();
    assert_eq!((found.measures[0].number, found.measures[0].shared_bytes, found.read_bytes), (1, [40, 36], 9));
    assert!(sessions.answer_measures(&site("a"), &answer(asked.query, 1)).is_err(), "it is answered already");
    let asking = ask();
    let asked = query().await;
    assert!(sessions.answer_measures(&site("a"), &answer(asked.query, 2)).is_err(), "there is no third pair");
    let Err(NoAnswer::Failed(failure)) = asking.await.unwrap() else { panic!("it is no answer") };
    assert!(failure.reason.contains("cannot be used") && !failure.refused, "{}", failure.reason);
    let asking = ask();
    let refusal = MeasureAnswer {
        query: query().await.query,
        failure: "policy.fine is never".to_owned(),
        refused: true,
        ..Default::default()
    };
    sessions.answer_measures(&site("a"), &refusal).unwrap();
    let Err(NoAnswer::Failed(failure)) = asking.await.unwrap() else { panic!("it is refused") };
    assert_eq!((failure.reason.as_str(), failure.refused), ("policy.fine is never", true));
}
