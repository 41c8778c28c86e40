//! Requests about documents that a site has sent: refinements, and exact measures of pairs.

use std::time::Duration;

use cognate_fingerprint::{ContentDigest, Key, Method, View};
use cognate_proto::scope::Scope;
use cognate_proto::v1::attach_response::Message as AttachDown;
use cognate_proto::v1::{Assignment, MeasureQuery, MethodSpec, RefinedSummary, Refinement, SelectionSpec};
use cognate_worker::control::Request as Ask;
use cognate_worker::ledger::read;
use cognate_worker::policy::{FinePolicy, Policy};

use crate::coordinator::{Running, Script, assignment, document, is_cut_off, write_documents};

/// The digest that a document of these tests has under the method of [`assignment`].
fn content(number: u32) -> ContentDigest {
    let text = document(number);
    let mut fingerprinter = Method::tttd(View::Raw, 1000).unwrap().fingerprinter(&Key::none());
    fingerprinter.read(&mut text.as_bytes(), |_| Ok(())).unwrap().digest
}

/// A refinement at a mean of 100 of what was sent at one of `of` bytes.
fn refining(number: u64, of: u64, contents: &[ContentDigest]) -> (Assignment, Vec<Vec<u8>>) {
    let of = Method::tttd(View::Raw, of).unwrap().id(&Key::none());
    let scope = Scope::new(of, contents.to_vec()).unwrap();
    let method = Some((&Method::tttd(View::Raw, 100).unwrap()).into());
    let assignment = Assignment { method, refinement: Some(scope.announcement()), ..assignment(number) };
    (assignment, scope.pieces().map(|piece| piece.contents).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refinement_reads_documents_that_the_site_has_sent_and_ignores_the_rest() {
    let guessed = ContentDigest([7; 16]);
    // Document 4 is there, but it was never sent.
    let selection = Some(SelectionSpec { exclude: vec!["paper 4".into()], ..SelectionSpec::default() });
    let (refinement, scope) = refining(6, 1000, &[content(3), content(4), guessed, content(11)]);
    let then = vec![AttachDown::Assignment(refinement)];
    let first = Assignment { selection, ..assignment(5) };
    let script = Script { then, scope, ..Script::sending(vec![AttachDown::Assignment(first)]) };
    let mut running = Running::start(script, Policy::everything());
    assert_eq!(running.ended().await.summary.unwrap().read_documents, 19);
    let ended = running.ended().await;
    assert_eq!((ended.assignment, ended.failure.as_str()), (6, ""));
    let summary = ended.summary.unwrap();
    assert_eq!((summary.read_documents, summary.read_bytes), (2, "document 3document 11".len() as u64));
    assert_eq!(summary.refined, Some(RefinedSummary { documents: 2, changed: 0, unknown_contents: 2 }));
    // The status marks the refinement, which the site would not sync on its own.
    let status = running.ask(Ask::Status).await.unwrap();
    let done = status[0]["status"]["done"].as_array().unwrap();
    let refined: Vec<_> = done.iter().map(|done| (done["documents"].clone(), done["refined"].clone())).collect();
    assert!(refined.contains(&(19.into(), false.into())) && refined.contains(&(2.into(), true.into())), "{done:?}");
    let (folder, stopped) = running.stop().await;
    stopped.unwrap();
    let verified = read::verify(&folder.path().join("state"), false).unwrap().unwrap();
    assert_eq!(verified.indexes.len(), 2);
    // The coordinator may remove the index of a refinement, but not the complete index.
    assert_eq!(verified.indexes.compare(&[]).len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refinement_leaves_out_documents_that_have_changed_and_counts_them() {
    let (refinement, scope) = refining(6, 1000, &[content(3), content(11)]);
    let mut running = Running::start(Script { scope, ..Script::sending(vec![]) }, Policy::everything());
    assert_eq!(running.assign(assignment(5)).await.failure, "");
    std::fs::write(running.root().join("paper 3"), "another document").unwrap();
    let ended = running.assign(refinement).await;
    assert_eq!(ended.failure, "");
    let refined = ended.summary.unwrap().refined;
    assert_eq!(refined, Some(RefinedSummary { documents: 2, changed: 1, unknown_contents: 0 }));
    running.stop().await.1.unwrap();
}

/// A query for the exact measure of pairs of contents that were sent under the method of [`assignment`].
pub(crate) fn measuring(contents: &[ContentDigest]) -> MeasureQuery {
    let method = Method::tttd(View::Raw, 1000).unwrap();
    let method = MethodSpec { method_id: method.id(&Key::none()).0.to_vec(), ..MethodSpec::from(&method) };
    let contents = contents.iter().flat_map(|content| content.0).collect();
    MeasureQuery {
        query: 7,
        repositories: vec!["kb".into()],
        method: Some(method),
        contents,
        ..MeasureQuery::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_site_measures_pairs_that_it_has_sent_and_answers_with_counts() {
    // Document 4 is there, but it was never sent.
    let selection = Some(SelectionSpec { exclude: vec!["paper 4".into()], ..SelectionSpec::default() });
    let first = AttachDown::Assignment(Assignment { selection, ..assignment(5) });
    let pairs = [content(3), content(4), content(3), content(11), ContentDigest([7; 16]), content(3)];
    let answer = async |query: MeasureQuery, policy: Policy| {
        let then = vec![AttachDown::MeasureQuery(query)];
        let mut running = Running::start(Script { then, ..Script::sending(vec![first.clone()]) }, policy);
        running.ended().await;
        let answer = tokio::time::timeout(Duration::from_secs(30), running.measured.recv()).await.unwrap().unwrap();
        running.stop().await.1.unwrap();
        answer
    };
    let measured = answer(measuring(&pairs), Policy::everything()).await;
    let numbers: Vec<u32> = measured.pairs.iter().map(|pair| pair.number).collect();
    assert_eq!((measured.query, numbers, measured.failure.as_str()), (7, vec![1], ""));
    assert_eq!(measured.read_bytes, "document 3document 11".len() as u64);
    let never = Policy { fine: FinePolicy::Never, ..Policy::everything() };
    let refused = answer(measuring(&pairs), never).await;
    assert!(refused.refused && refused.pairs.is_empty() && refused.failure.contains("policy.fine"), "{refused:?}");
    let other = MeasureQuery { repositories: vec!["other".into()], ..measuring(&pairs) };
    assert!(answer(other, Policy::everything()).await.failure.contains("no repository `other`"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_coordinator_that_asks_on_and_on_is_refused_by_what_the_site_itself_has_counted() {
    let mut running = Running::start(Script::sending(vec![]), Policy::everything());
    assert_eq!(running.assign(assignment(5)).await.failure, "");
    let pairs = [content(3), content(11)].repeat(64);
    let mut answered = 0;
    for query in 1..=40 {
        running.send(AttachDown::MeasureQuery(MeasureQuery { query, ..measuring(&pairs) }));
        let answer = tokio::time::timeout(Duration::from_secs(30), running.measured.recv()).await.unwrap().unwrap();
        answered += answer.pairs.len();
        assert_eq!((answer.refused, answer.failure.contains("were measured exactly today")), (query > 32, query > 32));
    }
    assert_eq!(answered, 32 * 64);
    running.stop().await.1.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_site_that_remembers_nothing_else_knows_where_the_contents_of_its_last_sync_are() {
    let fill = |root: &std::path::Path| write_documents(root, 0..20);
    let mut running = Running::start_as(Script::sending(vec![]), Policy::everything(), false, fill);
    assert_eq!(running.assign(assignment(5)).await.failure, "");
    running.send(AttachDown::MeasureQuery(measuring(&[content(3), content(11)])));
    let measured = tokio::time::timeout(Duration::from_secs(30), running.measured.recv()).await.unwrap().unwrap();
    assert_eq!((measured.pairs.len(), measured.failure.as_str()), (1, ""));
    running.stop().await.1.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scope_that_differs_from_its_announcement_ends_the_session() {
    let (refinement, scope) = refining(6, 1000, &[content(1), content(2), content(3)]);
    let cut_off = async |refinement: &Assignment, scope: Vec<Vec<u8>>, because: &str| {
        let then = vec![AttachDown::Assignment(refinement.clone())];
        let script = Script { then, scope, ..Script::sending(vec![AttachDown::Assignment(assignment(5))]) };
        is_cut_off(script, because).await;
    };
    cut_off(&refinement, vec![], "another number of contents").await;
    cut_off(&refinement, vec![scope[0].clone(), scope[0].clone()], "another number of contents").await;
    cut_off(&refinement, vec![[&scope[0][16..], &scope[0][..16]].concat()], "out of order").await;
    cut_off(&refinement, vec![vec![0; 7]], "a piece").await;
    let other = [&scope[0][..32], &[255; 16][..]].concat();
    cut_off(&refinement, vec![other], "have another digest").await;
    let announced = refinement.refinement.clone().unwrap();
    let endless = Refinement { contents: u64::MAX, ..announced };
    cut_off(&Assignment { refinement: Some(endless), ..refinement }, scope, "more than").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refinement_that_the_site_does_not_allow_is_refused_with_the_reason() {
    let refused = async |refinement: Assignment, policy: Policy, because: &str| {
        let then = vec![AttachDown::Assignment(refinement)];
        let script = Script { then, ..Script::sending(vec![AttachDown::Assignment(assignment(5))]) };
        let mut running = Running::start(script, policy);
        running.ended().await;
        let failure = running.ended().await.failure;
        assert!(failure.contains(because), "{failure}");
        running.stop().await.1.unwrap();
    };
    let (refinement, _) = refining(6, 1000, &[content(1)]);
    let policy = Policy { refine: false, ..Policy::everything() };
    refused(refinement.clone(), policy, "policy.refine is false").await;
    let coarse = Policy { chunk_bytes_min: 500, ..Policy::everything() };
    refused(refinement.clone(), coarse, "policy.chunk_bytes_min is 500").await;
    refused(refining(6, 2000, &[content(1)]).0, Policy::everything(), "nothing was ever sent").await;
    let same = Assignment { method: assignment(5).method, ..refinement.clone() };
    refused(same, Policy::everything(), "by the same").await;
    let asking = Assignment { estimate_only: true, ..refinement };
    refused(asking, Policy::everything(), "its scan knows").await;
}
