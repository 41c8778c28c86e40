//! Plans of questions to sites, and what becomes of a match with the answers and without.

use std::time::Duration;

use cognate_analysis::fine::FineFailure;
use cognate_fingerprint::{Feature, Key, Method, View, WindowSample};
use cognate_proto::v1;
use tokio::sync::mpsc::Receiver;
use tonic::Status;

use super::super::draft::Proposal;
use super::*;
use crate::harness::Harness;
use crate::harness::indexes::{fill, held, under};
use cognate_desk::find::{Found, Holder, Least, SearchedDocument, deadline};

fn tag(number: u8) -> Tag {
    Tag([number; 16])
}

/// Chunks of 70 bytes.
fn chunks(numbers: &[u8]) -> Vec<ChunkCount> {
    counted(numbers.iter().map(|number| (tag(*number), 70)))
}

/// Ten fine chunks of seven bytes. Those of 100 more are the same.
fn fine(number: u8) -> Arc<[FineChunk]> {
    let one = |place: u8| FineChunk { tag: (number % 100).wrapping_mul(11).wrapping_add(place), length_bytes: 7 };
    (0..10).map(one).collect()
}

fn source(site: &str) -> Source {
    (site.parse().unwrap(), "kb".parse().unwrap())
}

/// A match of a document with the chunks 1 to 10: it has these.
fn one(site: &str, digest: u8, theirs: &[u8]) -> (Match, ByChunks) {
    let found = by_chunks(&chunks(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), &chunks(theirs));
    let holder = Holder {
        site: site.parse().unwrap(),
        repository: "kb".parse().unwrap(),
        path: cognate_proto::path::DocumentPath::new(b"x").unwrap(),
        modified: 0,
        party: "home".to_owned(),
    };
    let one = Match {
        digest: ContentDigest([digest; 16]),
        size_bytes: 70 * theirs.len() as u64,
        measure: Measure::exact(found.shared_bytes, 700, 70 * theirs.len() as u64),
        precision: None,
        coarse: None,
        documents: 1,
        holders: vec![holder],
    };
    (one, found)
}

fn query(matches_max: usize, of_query: &[u8]) -> Arc<FindQuery> {
    let method = Method::tttd(View::Raw, 80).unwrap();
    let least = Least { shared_bytes: 0, containment: Some("0.5".parse().unwrap()) };
    Arc::new(FindQuery {
        method,
        method_id: cognate_fingerprint::MethodId([1; 16]),
        verifier_id: None,
        repositories: Vec::new(),
        least,
        matches_max,
        precision: Precision::Fine,
        documents: Vec::new(),
        fine: of_query.iter().map(|number| (tag(*number), fine(*number))).collect(),
    })
}

/// A plan about one document, with matches and contents below the thresholds, each with the sites that have it.
fn plan(query: &Arc<FindQuery>, all: &[(&[&str], u8, &[u8])]) -> (Plan, Draft) {
    let mut plan = Plan {
        query: Arc::clone(query),
        across_parties: false,
        following: BTreeSet::from([source("b")]),
        candidates: Vec::new(),
        wanted: BTreeSet::new(),
        known: HashMap::new(),
        left_chunks: 0,
    };
    let empty = Found {
        size_bytes: 700,
        template_bytes: 0,
        run_lengths: None,
        matches: Vec::new(),
        documents: 0,
        documents_omitted: 0,
    };
    let mut draft =
        Draft { found: empty, strengths: Vec::new(), below: Vec::new(), payload_bytes: 700, chunks: Vec::new() };
    for (sites, digest, theirs) in all {
        let (one, by_chunks) = one(sites[0], *digest, theirs);
        let is_match = one.measure.reaches(&query.least, [700, one.size_bytes]);
        draft.found.documents += u64::from(is_match);
        let payload_bytes = one.size_bytes;
        let strength = Strength { in_common_bytes: one.measure.shared_bytes.unwrap_or(0), rarity: 0 };
        let place = if is_match {
            draft.strengths.push(strength);
            draft.found.matches.push(one);
            Place::Match(draft.found.matches.len() - 1)
        } else {
            draft.below.push(Proposal { strength, one });
            Place::Below(draft.below.len() - 1)
        };
        plan.add(Candidate {
            document: 0,
            place,
            digest: ContentDigest([*digest; 16]),
            is_settled: by_chunks.left.iter().any(Vec::is_empty),
            by_chunks,
            payload_bytes,
            sources: sites.iter().rev().map(|site| source(site)).collect(),
            coarse: None,
        });
    }
    (plan, draft)
}

fn answered(numbers: &[u8]) -> Result<FineAnswer, NoAnswer> {
    let expansion = |number: &u8| Expansion { tag: tag(*number), fine: fine(*number).to_vec() };
    Ok(FineAnswer { expansions: numbers.iter().map(expansion).collect(), ..FineAnswer::default() })
}

fn finished(plan: Plan, draft: Draft) -> Answer {
    let mut answer = Answer::default();
    plan.finish(vec![draft], &mut answer);
    answer
}

/// Per match: the number of its digest, the bytes in common, and its precision.
fn listed(answer: &Answer) -> Vec<(u8, u64, Precision)> {
    let row = |one: &Match| (one.digest.0[0], one.measure.shared_bytes.unwrap(), one.precision.unwrap());
    answer.documents[0].matches.iter().map(row).collect()
}

const ALL: [u8; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
/// One chunk of the document, and nine whose fine chunks are those of the others.
const EDITED: [u8; 10] = [1, 102, 103, 104, 105, 106, 107, 108, 109, 110];

#[test]
fn an_edited_content_is_measured_by_the_fine_chunks_of_its_site_and_reaches_the_threshold() {
    let query = query(9, &ALL);
    let (mut plan, draft) = plan(&query, &[(&["a"], 1, &[1, 2, 3, 4, 5, 6, 20, 21]), (&["b"], 2, &EDITED)]);
    assert!(plan.wanted.is_empty());
    let questions = plan.questions();
    assert_eq!(questions.keys().collect::<Vec<_>>(), [&source("a"), &source("b")]);
    let asked = |site: &str| plan.request(&source(site), &questions[&source(site)]).choice;
    assert_eq!(asked("a").contents, [(ContentDigest([1; 16]), vec![tag(20), tag(21)])]);
    assert_eq!(asked("b").contents[0].1, EDITED[1..].iter().map(|number| tag(*number)).collect::<Vec<_>>());
    assert!(plan.facts(&source("b")).follow_symlinks && !plan.facts(&source("a")).follow_symlinks);
    plan.take(&source("a"), &questions[&source("a")], answered(&[20, 21]));
    plan.take(&source("b"), &questions[&source("b")], answered(&EDITED[1..]));
    assert!(plan.questions().is_empty(), "everything is known");
    let answer = finished(plan, draft);
    assert_eq!(listed(&answer), [(2, 700, Precision::Fine), (1, 420, Precision::Fine)], "the strongest first");
    assert_eq!((answer.precision, answer.documents[0].documents), (Some(Precision::Fine), 2));
    assert_eq!(answer.documents[0].matches[0].measure.relation, FindRelation::Near);
}

#[test]
fn a_content_with_short_runs_that_is_not_far_from_the_threshold_is_measured_closely() {
    // Two fine chunks of 16 bytes, one that differs, and two more.
    let halves = |number: u8, middle: u8| -> Vec<FineChunk> {
        let all = [(number, 16), (number + 1, 16), (middle, 6), (number + 2, 16), (number + 3, 16)];
        all.map(|(tag, length_bytes)| FineChunk { tag, length_bytes }).to_vec()
    };
    let mut query = query(9, &[]);
    Arc::get_mut(&mut query).unwrap().fine =
        (1..=10).map(|number| (tag(number), halves(8 * number, 0).into())).collect();
    let found = |theirs: &[u8]| {
        let (mut plan, draft) = plan(&query, &[(&["a"], 1, theirs)]);
        let questions = plan.questions();
        let edited = theirs.iter().filter(|number| **number > 100);
        let expansions =
            edited.map(|number| Expansion { tag: tag(*number), fine: halves(8 * (number - 100), 0b11_1111) });
        let answer = FineAnswer { expansions: expansions.collect(), ..FineAnswer::default() };
        plan.take(&source("a"), &questions[&source("a")], Ok(answer));
        listed(&finished(plan, draft))
    };
    let two_chunks = [1, 2, 103, 104, 105, 106, 107, 108, 109, 110];
    assert_eq!(found(&two_chunks), [(1, 2 * 70 + 8 * 64, Precision::Fine)]);
    assert_eq!(found(&EDITED), [], "four times a tenth is no half");
}

#[test]
fn a_site_that_gives_nothing_leaves_its_match_coarse_and_is_named() {
    let query = query(9, &ALL);
    let (mut plan, draft) = plan(&query, &[(&["a"], 1, &[1, 2, 3, 4, 5, 6, 27, 28]), (&["b"], 2, &EDITED)]);
    let questions = plan.questions();
    let failure = FineFailure { reason: "policy.fine is never".to_owned(), refused: true };
    plan.take(&source("a"), &questions[&source("a")], Err(NoAnswer::Failed(failure)));
    plan.take(&source("b"), &questions[&source("b")], answered(&EDITED[2..]));
    assert!(plan.questions().is_empty(), "no other site has them");
    let answer = finished(plan, draft);
    assert_eq!(listed(&answer), [(1, 420, Precision::Coarse)]);
    let coarse = answer.documents[0].matches[0].coarse.as_ref().unwrap();
    assert_eq!((coarse.place.as_ref(), coarse.refused), (Some(&source("a")), true));
    // The content that might have been a match is counted.
    let reasons: Vec<_> = answer.coarse.iter().map(|(coarse, matches)| (coarse.reason.as_str(), *matches)).collect();
    assert_eq!(reasons, [("policy.fine is never", 1), ("the document has changed since its last sync, or is gone", 1)]);
    assert_eq!(answer.precision, Some(Precision::Coarse));
}

#[test]
fn a_copy_at_another_site_is_asked_for_what_the_first_one_did_not_give() {
    let query = query(9, &ALL);
    let (mut plan, draft) = plan(&query, &[(&["a", "b"], 2, &EDITED)]);
    let questions = plan.questions();
    plan.take(&source("a"), &questions[&source("a")], answered(&[102]));
    let questions = plan.questions();
    assert_eq!(questions.keys().collect::<Vec<_>>(), [&source("b")]);
    assert_eq!(questions[&source("b")].lengths.len(), 8, "without the one that is known");
    plan.take(&source("b"), &questions[&source("b")], answered(&EDITED[2..]));
    assert_eq!(listed(&finished(plan, draft)), [(2, 700, Precision::Fine)]);
}

#[test]
fn a_query_without_fine_chunks_is_not_asked_about_and_says_which_it_lacks() {
    let query = query(9, &ALL[..5]);
    let (mut plan, draft) = plan(&query, &[(&["a"], 1, &[1, 2, 3, 4, 5, 6, 107]), (&["b"], 2, &EDITED)]);
    assert!(plan.questions().is_empty());
    let answer = finished(plan, draft);
    assert_eq!(answer.wanted, [6, 7, 8, 9, 10].map(tag));
    assert_eq!(listed(&answer), [(1, 420, Precision::Coarse)]);
    assert_eq!(answer.coarse[0].0.place, None);
}

#[test]
fn a_content_within_the_document_needs_no_question() {
    let query = query(1, &[]);
    let (mut plan, draft) = plan(&query, &[(&["a"], 1, &ALL[..6]), (&["a"], 3, &ALL[..5])]);
    assert!(plan.questions().is_empty() && plan.wanted.is_empty());
    let answer = finished(plan, draft);
    assert_eq!((listed(&answer), answer.documents[0].documents_omitted), (vec![(1, 420, Precision::Fine)], 1));
}

#[test]
fn fine_chunks_that_do_not_add_up_are_not_used() {
    let query = query(9, &ALL);
    let (mut plan, draft) = plan(&query, &[(&["a"], 1, &[1, 2, 3, 4, 5, 6, 107])]);
    let questions = plan.questions();
    let mut answer = answered(&[107]).unwrap_or_default();
    answer.expansions[0].fine.pop();
    plan.take(&source("a"), &questions[&source("a")], Ok(answer));
    let answer = finished(plan, draft);
    assert_eq!(listed(&answer), [(1, 420, Precision::Coarse)]);
    assert!(answer.coarse[0].0.reason.contains("do not add up"));
}

/// The next question for fine chunks that a site receives.
async fn question(inbox: &mut Receiver<Result<v1::AttachResponse, Status>>) -> v1::FineQuery {
    loop {
        if let Some(v1::attach_response::Message::FineQuery(sent)) = inbox.recv().await.unwrap().unwrap().message {
            return sent;
        }
    }
}

#[tokio::test]
async fn a_site_that_is_away_or_silent_keeps_no_find_waiting_and_is_named() {
    let harness = Harness::start().await;
    fill(&harness.coordinator, "a", View::Raw, 1, &[held("x", &[1, 2, 3])]);
    let method = under(View::Raw);
    let feature = |number: u8| Feature { tag: tag(number), weight: 100 };
    let cut = (0..10).map(|place| FineChunk { tag: place, length_bytes: 10 }).collect();
    let searched = SearchedDocument {
        size_bytes: 200,
        digest: ContentDigest([9; 16]),
        windows: 2,
        index: None,
        features: vec![feature(1), feature(9)],
        terms: Vec::new(),
        repeated: Vec::new(),
        sample: WindowSample::NONE,
    };
    let query = Arc::new(FindQuery {
        method,
        method_id: method.id(&Key::none()),
        verifier_id: None,
        least: Least::default(),
        documents: vec![searched],
        fine: HashMap::from([(tag(9), cut)]),
        ..FindQuery::clone(&query(9, &[]))
    });
    let services = harness.coordinator.services();
    let asked = async |wait: u64| {
        let until = Instant::now() + Duration::from_millis(wait);
        let sees: crate::find::Sees = Arc::new(|_: &SiteName| true);
        services.finder.find(Arc::clone(&query), sees, None, until).await.unwrap()
    };
    let reason = |answer: &Answer| answer.documents[0].matches[0].coarse.clone().unwrap().reason;
    assert_eq!(reason(&asked(60_000).await), "its site is not attached");
    let (down, mut inbox) = tokio::sync::mpsc::channel(8);
    let hello = v1::Hello {
        protocol_min: 1,
        protocol_max: 1,
        key_fingerprint: vec![0; 16],
        repositories: vec!["main".into()],
        instance: 1,
        ..v1::Hello::default()
    };
    let _attached = services.sessions.attach(&"a".parse().unwrap(), &hello, down).unwrap();
    let mut asking = Box::pin(asked(60_000));
    let sent = tokio::select! {
        _ = &mut asking => panic!("it waits for the site"),
        sent = question(&mut inbox) => sent,
    };
    assert_eq!((sent.contents, sent.chunks, sent.across_parties), (1, 2, false));
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(61)).await;
    let answer = asking.await;
    tokio::time::resume();
    assert_eq!(reason(&answer), "its site did not answer within 60 seconds");
    assert_eq!(answer.documents[0].matches[0].measure.shared_bytes, Some(100));
    // No time is left for a question: nothing is sent.
    let answer = asked(0).await;
    assert_eq!(
        (reason(&answer), answer.precision),
        ("its site did not answer within 60 seconds".into(), Some(Precision::Coarse))
    );
    assert!(inbox.try_recv().is_err(), "one question");
    // A query that asks for whole chunks alone asks no site.
    let coarse = Arc::new(FindQuery { precision: Precision::Coarse, ..FindQuery::clone(&query) });
    let sees: crate::find::Sees = Arc::new(|_: &SiteName| true);
    let answer = services.finder.find(coarse, sees, None, deadline()).await.unwrap();
    assert_eq!((answer.precision, answer.coarse.len(), inbox.try_recv().is_err()), (Some(Precision::Coarse), 0, true));
}

#[test]
fn a_content_that_has_one_chunk_very_many_times_is_not_measured() {
    let query = query(9, &ALL);
    let often = [&ALL[..6], &vec![102; 1 << 20]].concat();
    let (mut plan, draft) = plan(&query, &[(&["a"], 1, &often)]);
    assert!(plan.questions().is_empty());
    assert_eq!(listed(&finished(plan, draft)), [(1, 420, Precision::Coarse)]);
}
