//! A repository that changes between two syncs: which rows are sent, which are removed, and when the site asks first.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cognate_fingerprint::View;
use cognate_proto::batch::DocumentState;
use cognate_proto::v1::push_request::Message as PushUp;
use cognate_proto::v1::push_response::Message as PushDown;
use cognate_proto::v1::{Ack, Assignment, SelectionSpec, SyncEnded};
use cognate_worker::control::Request as Ask;
use cognate_worker::policy::Policy;

use crate::coordinator::{Running, Script, assignment, assignment_of, honest, write_documents};

/// A site that asks before it removes many documents, with `count` files.
fn site(count: u32) -> Running {
    let policy = Policy { mass_removals: false, ..Policy::everything() };
    Running::start_in(Script::sending(vec![]), policy, |root| write_documents(root, 0..count))
}

fn remove(root: &Path, numbers: std::ops::Range<u32>) {
    numbers.for_each(|number| std::fs::remove_file(root.join(format!("paper {number}"))).unwrap());
}

/// The assignment with a greatest size of documents.
fn up_to(size_max_bytes: u64, assignment: Assignment) -> Assignment {
    let selection = SelectionSpec { size_max_bytes: Some(size_max_bytes), ..SelectionSpec::default() };
    Assignment { selection: Some(selection), ..assignment }
}

#[track_caller]
fn succeeds(ended: SyncEnded) -> u64 {
    assert_eq!(ended.failure, "");
    ended.summary.unwrap().read_documents
}

/// The number of documents in each index of the status.
async fn documents(running: &Running) -> Vec<u64> {
    let status = running.ask(Ask::Status).await.unwrap();
    let done = status[0]["status"]["done"].as_array().unwrap();
    done.iter().map(|index| index["documents"].as_u64().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_has_not_changed_is_neither_read_nor_sent_again() {
    let mut running = site(20);
    assert_eq!(succeeds(running.assign(assignment(5)).await), 20);
    assert_eq!(running.rows().len(), 20);
    running.pushed.lock().unwrap().clear();
    assert_eq!(succeeds(running.assign(assignment(6)).await), 0);
    assert!(running.rows().is_empty());
    // The opening and the seal.
    assert_eq!(running.pushed.lock().unwrap().len(), 2);
    assert_eq!(documents(&running).await, [20]);
    // Of one new file and one that is gone there are two rows.
    write_documents(&running.root(), 20..21);
    remove(&running.root(), 3..4);
    assert_eq!(succeeds(running.assign(assignment(7)).await), 1);
    let rows: Vec<_> = running.rows().into_iter().map(|row| (row.path.to_string(), row.state)).collect();
    assert_eq!(rows, [("paper 20".into(), DocumentState::Read), ("paper 3".into(), DocumentState::Removed)]);
    running.stop().await.1.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn up_to_twenty_files_may_be_gone_from_the_same_folder_and_an_index_that_begins_has_none_to_lose() {
    let mut running = site(30);
    succeeds(running.assign(assignment(5)).await);
    // More than there are left.
    remove(&running.root(), 0..16);
    succeeds(running.assign(assignment(6)).await);
    assert_eq!(documents(&running).await, [14]);
    write_documents(&running.root(), 0..30);
    succeeds(running.assign(assignment(7)).await);
    remove(&running.root(), 0..25);
    succeeds(running.assign(assignment_of(8, View::Raw, 2000)).await);
    let ended = running.assign(assignment(9)).await;
    assert!(ended.failure.contains("25 files of") && ended.failure.contains("5 are there"), "{}", ended.failure);
    assert!(!ended.failure.contains("another folder"), "{}", ended.failure);
    running.ask(Ask::Sync { repositories: vec![], accept_removals: true }).await.unwrap();
    assert_eq!(documents(&running).await, [5, 5]);
    running.stop().await.1.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_sync_has_read_before_it_asks_is_not_read_again() {
    let mut running = site(5);
    let (root, away) = (running.root(), running.folder.path().join("away"));
    std::fs::create_dir(root.join("many")).unwrap();
    write_documents(&root.join("many"), 0..25);
    succeeds(running.assign(assignment(5)).await);
    std::fs::rename(root.join("many"), &away).unwrap();
    write_documents(&root, 5..8);
    let ended = running.assign(assignment(6)).await;
    assert!(ended.failure.contains("25 files of"), "{}", ended.failure);
    std::fs::rename(&away, root.join("many")).unwrap();
    assert_eq!(succeeds(running.assign(assignment(7)).await), 0);
    assert_eq!(documents(&running).await, [33]);
    running.stop().await.1.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_folder_with_fewer_files_is_asked_about_unless_fewer_are_selected() {
    let mut running = site(30);
    succeeds(running.assign(assignment(5)).await);
    // It has no office files, and says nothing about how many files there are.
    succeeds(running.assign(assignment_of(6, View::Office, 1000)).await);
    let root = running.root();
    std::fs::rename(&root, running.folder.path().join("away")).unwrap();
    std::fs::create_dir(&root).unwrap();
    write_documents(&root, 100..105);
    // Under the method of the index, and under one whose index begins.
    for (number, chunk_bytes, gone) in [(7, 1000, 30), (8, 2000, 25)] {
        let ended = running.assign(assignment_of(number, View::Raw, chunk_bytes)).await;
        assert!(ended.failure.contains(&format!("{gone} files of")), "{}", ended.failure);
        assert!(ended.failure.contains("leads to another folder"), "{}", ended.failure);
    }
    let selection = Some(SelectionSpec { include: vec!["paper 100".into()], ..SelectionSpec::default() });
    succeeds(running.assign(Assignment { selection, ..assignment_of(9, View::Raw, 2000) }).await);
    running.stop().await.1.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_grew_beyond_the_selection_are_there_and_are_no_reason_to_ask() {
    let mut running = site(47);
    let root = running.root();
    succeeds(running.assign(assignment(5)).await);
    running.rows();
    remove(&root, 0..22);
    (22..47).for_each(|number| std::fs::write(root.join(format!("paper {number}")), [b'x'; 5000]).unwrap());
    // Another index has their long contents.
    assert_eq!(succeeds(running.assign(assignment_of(6, View::Raw, 2000)).await), 25);
    running.rows();
    assert_eq!(succeeds(running.assign(up_to(1000, assignment(7))).await), 0);
    let rows = running.rows();
    assert!(rows.len() == 47 && rows.iter().all(|row| row.state == DocumentState::Removed), "{rows:?}");
    // What is remembered of them stays.
    assert_eq!(succeeds(running.assign(assignment_of(8, View::Raw, 2000)).await), 0);
    running.stop().await.1.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_another_selection_leaves_out_stays_in_the_index() {
    let mut running = site(20);
    std::fs::write(running.root().join("further"), [b'x'; 5000]).unwrap();
    succeeds(running.assign(assignment(5)).await);
    running.rows();
    for assignment in [up_to(1000, assignment(6)), assignment(7)] {
        assert_eq!(succeeds(running.assign(assignment).await), 0);
        assert_eq!((running.rows(), documents(&running).await), (vec![], vec![21]));
    }
    running.stop().await.1.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_is_empty_only_if_nothing_at_all_is_in_it() {
    let mut running = site(3);
    succeeds(running.assign(assignment(5)).await);
    remove(&running.root(), 0..3);
    let ended = running.assign(assignment(6)).await;
    assert!(ended.failure.contains("is empty, but held 3 documents"), "{}", ended.failure);
    // A link is no document.
    std::os::unix::fs::symlink("/nowhere", running.root().join("link")).unwrap();
    succeeds(running.assign(assignment(7)).await);
    assert_eq!(documents(&running).await, [0]);
    running.stop().await.1.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_a_folder_that_looks_like_an_archive_are_missed_like_others() {
    let mut running = site(0);
    let root = running.root();
    std::fs::create_dir(root.join("photos!")).unwrap();
    write_documents(&root.join("photos!"), 0..25);
    for (number, view) in [(5, View::Raw), (6, View::Text)] {
        succeeds(running.assign(assignment_of(number, view, 1000)).await);
    }
    std::fs::remove_dir_all(root.join("photos!")).unwrap();
    write_documents(&root, 0..1);
    for (number, view) in [(7, View::Raw), (8, View::Text)] {
        let ended = running.assign(assignment_of(number, view, 1000)).await;
        assert!(ended.failure.contains("25 files of"), "{view}: {}", ended.failure);
    }
    running.stop().await.1.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_archive_that_is_gone_is_one_file_however_many_documents_were_inside() {
    let mut running = site(1);
    let mail =
        |number: u32| format!("From a@b Mon Jan  1 10:00:00 2024\nFrom: a@b\nSubject: {number}\n\nText {number}.\n\n");
    std::fs::write(running.root().join("mails.mbox"), (0..25).map(mail).collect::<String>()).unwrap();
    let of_text = |number| assignment_of(number, View::Text, 1000);
    succeeds(running.assign(of_text(5)).await);
    // The file, the mailbox and the messages inside.
    assert_eq!(documents(&running).await, [27]);
    std::fs::remove_file(running.root().join("mails.mbox")).unwrap();
    succeeds(running.assign(of_text(6)).await);
    assert_eq!(documents(&running).await, [1]);
    running.stop().await.1.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_is_emptied_while_the_coordinator_has_lost_the_index_is_not_taken_for_empty() {
    let (is_lost, folder) = (Arc::new(AtomicBool::new(false)), tempfile::tempdir().unwrap());
    let (loses, files) = (Arc::clone(&is_lost), folder.path().join("files"));
    std::fs::create_dir(&files).unwrap();
    write_documents(&files, 0..20);
    let away = folder.path().join("away");
    let share = files.clone();
    let answers = move |message| match message {
        // The share goes away while the site begins again.
        PushUp::Batch(_) if loses.swap(false, Ordering::Relaxed) => {
            std::fs::rename(&share, &away).unwrap();
            std::fs::create_dir(&share).unwrap();
            Some(PushDown::Ack(Ack { unknown_contents: vec![7; 16], ..Ack::default() }))
        }
        other => honest(other),
    };
    let script = Script { answers: Arc::new(answers), ..Script::sending(vec![]) };
    let mut running = Running::start_in(script, Policy::everything(), |root| {
        std::fs::remove_dir(root).unwrap();
        std::os::unix::fs::symlink(&files, root).unwrap();
    });
    assert_eq!(succeeds(running.assign(assignment(5)).await), 20);
    write_documents(&files, 20..21);
    is_lost.store(true, Ordering::Relaxed);
    let ended = running.assign(assignment(6)).await;
    assert!(ended.failure.contains("is empty, but held 20 documents"), "{}", ended.failure);
    running.stop().await.1.unwrap();
}
