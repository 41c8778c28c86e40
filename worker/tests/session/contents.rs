//! Contents and rows as they arrive: long ones in parts, office files, documents that change or cannot be read.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cognate_fingerprint::View;
use cognate_proto::batch::{Batch, DocumentRow, DocumentState};
use cognate_proto::limits::{BATCH_BODY_BYTES_MAX, CONTENT_CHUNKS_MAX};
use cognate_proto::v1::attach_request::Message as AttachUp;
use cognate_proto::v1::attach_response::Message as AttachDown;
use cognate_proto::v1::push_response::Message as PushDown;
use cognate_proto::v1::{Assignment, Cancel};
use cognate_worker::control::Request as Ask;
use cognate_worker::ledger::Kind;
use cognate_worker::ledger::read::Entries;
use cognate_worker::policy::Policy;

use crate::coordinator::{Running, Script, assignment, assignment_of, honest, write_documents};

fn site(fill: impl FnOnce(&Path)) -> Running {
    Running::start_in(Script::sending(vec![]), Policy::everything(), fill)
}

/// Bytes that nothing shortens.
fn bytes(seed: u8, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    blake3::Hasher::new_keyed(&[seed; 32]).finalize_xof().fill(&mut bytes);
    bytes
}

/// Chunks that batches bring, and those that the ledger has of them since it had `before`.
fn chunks(batches: &[Batch], state: &Path, before: u64) -> (u64, u64) {
    let rows = |batch: &Batch| batch.chunks.rows() + batch.parts.iter().map(|part| part.chunks.rows()).sum::<usize>();
    let mut entries = Entries::open(&state.join("ledger")).unwrap().unwrap();
    let mut counted = 0;
    while let Some(entry) = entries.next().unwrap() {
        if entry.kind() == Kind::Batch {
            counted += entry.index.unwrap().chunks;
        }
    }
    (batches.iter().map(rows).sum::<usize>() as u64, counted - before)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_contents_go_in_parts_of_their_own_and_the_ledger_counts_every_chunk_once() {
    let mut running = site(|root| {
        write_documents(root, 0..20);
        (1..3).for_each(|seed| std::fs::write(root.join(format!("long {seed}")), bytes(seed, 2 << 20)).unwrap());
    });
    let mut before = 0;
    // The second time the coordinator has lost the index, and gets the lists that the site has stored.
    for number in [5, 6] {
        let ended = running.assign(assignment_of(number, View::Raw, 100)).await;
        assert_eq!(
            (ended.failure.as_str(), ended.summary.unwrap().read_documents),
            ("", if number == 5 { 22 } else { 0 })
        );
        let batches = running.batches();
        assert!(batches.iter().all(|batch| batch.chunks.rows() <= CONTENT_CHUNKS_MAX));
        let mut uploads: BTreeMap<u64, (u64, Vec<u64>)> = BTreeMap::new();
        for part in batches.iter().flat_map(|batch| &batch.parts) {
            let (rows, ends) = uploads.entry(part.upload).or_default();
            *rows += part.chunks.rows() as u64;
            ends.extend(part.end.as_ref().map(|content| content.chunk_count));
        }
        assert_eq!(uploads.len(), 2, "{uploads:?}");
        assert!(
            uploads.values().all(|(rows, ends)| ends[..] == [*rows] && *rows > CONTENT_CHUNKS_MAX as u64),
            "{uploads:?}"
        );
        let short: usize = batches.iter().map(|batch| batch.contents.len()).sum();
        assert_eq!(short, 20);
        let (sent, counted) = chunks(&batches, &running.state(), before);
        assert_eq!(sent, counted);
        before += counted;
        running.received.lock().unwrap().sealed.clear();
    }
    running.stop().await.1.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sync_sends_batches_as_they_fill_and_its_progress_names_the_bytes() {
    // The end of the sync waits for an answer to the seal.
    let answers = |message| honest(message).filter(|answer| !matches!(answer, PushDown::Sealed(_)));
    let script = Script { answers: Arc::new(answers), ..Script::sending(vec![]) };
    let mut running = Running::start_in(script, Policy::everything(), |root| {
        (0..30).for_each(|seed| std::fs::write(root.join(format!("paper {seed}")), bytes(seed, 300_000)).unwrap());
    });
    running.send(AttachDown::Assignment(assignment_of(5, View::Raw, 100)));
    let enough = async {
        loop {
            if let AttachUp::Progress(progress) = running.hear().await
                && progress.sent_bytes > BATCH_BODY_BYTES_MAX as u64
            {
                break;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), enough).await.expect("its progress names the bytes");
    let sizes = running.pushed.lock().unwrap().clone();
    assert!(sizes.iter().all(|size| *size <= BATCH_BODY_BYTES_MAX), "{sizes:?}");
    running.send(AttachDown::Cancel(Cancel { assignment: 5 }));
    assert!(running.ended().await.failure.contains("cancelled"));
    running.stop().await.1.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_a_document_that_changes_during_every_read_is_sent_as_one_that_changes() {
    let mut running = site(|root| write_documents(root, 0..1));
    let path = running.root().join("growing");
    std::fs::write(&path, bytes(1, 1 << 20)).unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let writer = {
        let (is_over, mut file) = (Arc::clone(&is_over), std::fs::File::options().append(true).open(&path).unwrap());
        std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                file.write_all(b"x").unwrap();
                std::thread::yield_now();
            }
        })
    };
    let end = Instant::now() + Duration::from_secs(60);
    let mut number = 5;
    let state =
        |rows: &[DocumentRow], name: &str| rows.iter().find(|row| row.path.to_string() == name).map(|row| row.state);
    // A read that the writer has slept through is one of a document that does not change.
    loop {
        assert_eq!(running.assign(assignment(number)).await.failure, "");
        let rows = running.rows();
        if number == 5 {
            assert_eq!(state(&rows, "paper 0"), Some(DocumentState::Read));
        }
        if state(&rows, "growing") == Some(DocumentState::Changing) {
            break;
        }
        assert!(Instant::now() < end, "it changes all the time");
        number += 1;
    }
    is_over.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    assert_eq!(running.assign(assignment(number + 1)).await.failure, "");
    assert_eq!(state(&running.rows(), "growing"), Some(DocumentState::Read));
    running.stop().await.1.unwrap();
}

const LETTER: &[u8] = br"{\rtf1\ansi Dear reader, this letter is long enough to have a text of its own.}";

/// Files of plain text, an office file, one that is damaged, and an archive that begins like an office file.
fn office(root: &Path) {
    write_documents(root, 0..20);
    std::fs::write(root.join("broken.pdf"), b"%PDF-1.7\nnothing of a document").unwrap();
    std::fs::write(root.join("letter.rtf"), LETTER).unwrap();
    std::fs::write(root.join("none.zip"), [&b"PK\x05\x06"[..], &[0; 18]].concat()).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_index_of_office_files_has_a_row_for_each_of_them_and_for_no_other() {
    let office_files = |number| assignment_of(number, View::Office, 1000);
    let rows = |running: &Running| -> BTreeMap<String, bool> {
        running.rows().into_iter().map(|row| (row.path.to_string(), row.content.is_some())).collect()
    };
    let expected: BTreeMap<_, _> = [("broken.pdf".to_owned(), false), ("letter.rtf".to_owned(), true)].into();
    let mut alone = site(office);
    let ended = alone.assign(office_files(5)).await;
    assert_eq!((ended.failure.as_str(), ended.summary.unwrap().read_documents), ("", 23));
    assert_eq!(rows(&alone), expected);
    alone.stop().await.1.unwrap();
    // A sync of the bytes finds them, and the one that follows looks at nothing else.
    let mut after = site(office);
    assert_eq!(after.assign(assignment(5)).await.failure, "");
    assert_eq!(rows(&after).len(), 23);
    let ended = after.assign(office_files(6)).await;
    assert_eq!((ended.failure.as_str(), ended.summary.unwrap().read_documents), ("", 3));
    assert_eq!(rows(&after), expected);
    // Also those of which nothing has changed.
    std::fs::write(after.root().join("letter.rtf"), [&LETTER[..LETTER.len() - 1], b" And more.}"].concat()).unwrap();
    assert_eq!(after.assign(assignment(7)).await.failure, "");
    rows(&after);
    assert_eq!(after.assign(office_files(8)).await.failure, "");
    assert_eq!(rows(&after), [("letter.rtf".to_owned(), true)].into());
    after.stop().await.1.unwrap();
}

/// The number of unreadable documents in the status of the only index, and the paths that it lists.
async fn unreadable(running: &Running) -> (u64, BTreeSet<String>) {
    let status = running.ask(Ask::Status).await.unwrap();
    let index = &status[0]["status"]["done"][0];
    let listed = index["unreadable_documents"].as_array().unwrap();
    let paths = listed.iter().map(|document| document["path"].as_str().unwrap().to_owned()).collect();
    (index["unreadable"].as_u64().unwrap(), paths)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_status_counts_every_document_that_cannot_be_read_and_lists_the_first_thousand() {
    let mut running = site(|root| {
        std::fs::write(root.join("../outside"), "outside").unwrap();
        (0..1003).for_each(|number| symlink("../outside", root.join(format!("link {number}"))).unwrap());
    });
    let followed = Assignment { follow_symlinks: true, ..assignment(5) };
    assert_eq!(running.assign(followed).await.failure, "");
    let (count, paths) = unreadable(&running).await;
    assert_eq!((count, paths.len()), (1003, 1000));
    running.stop().await.1.unwrap();
    // An archive and a file without text can be read.
    let mut running = site(|root| {
        office(root);
        std::fs::write(root.join("noise"), bytes(1, 1000)).unwrap();
    });
    assert_eq!(running.assign(assignment_of(5, View::Text, 1000)).await.failure, "");
    assert_eq!(unreadable(&running).await, (1, ["broken.pdf".to_owned()].into()));
    running.stop().await.1.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_of_which_passages_are_compared_is_known_by_the_hash_of_its_id() {
    let mut running = site(|root| {
        std::fs::write(
            root.join("short.eml"),
            b"From: a@example.org\r\nMessage-ID: <1@example.org>\r\n\r\nA passage.\r\n",
        )
        .unwrap();
    });
    assert_eq!(running.assign(assignment_of(5, View::Passages, 1000)).await.failure, "");
    let rows = running.rows();
    let own = rows.iter().find(|row| row.path.as_bytes() == b"short.eml").unwrap();
    assert!(own.content.is_none() && own.message_id_hash.is_some(), "{rows:?}");
    running.stop().await.1.unwrap();
}
