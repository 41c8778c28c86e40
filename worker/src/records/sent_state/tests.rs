//! The sent state over restarts, cuts and damage of its log.

use cognate_fingerprint::WindowSample;

use super::*;

fn upload(epoch: u64) -> IndexUpload {
    IndexUpload { epoch, samples: true }
}

fn row(path: &str, content: u8) -> DocumentRow {
    DocumentRow {
        path: DocumentPath::new(path.as_bytes()).unwrap(),
        state: DocumentState::Read,
        content: Some(ContentDigest([content; 16])),
        modified: 5,
        message_id_hash: None,
    }
}

fn gone(path: &str) -> DocumentRow {
    let path = DocumentPath::new(path.as_bytes()).unwrap();
    DocumentRow::without_content(path, DocumentState::Removed)
}

/// Sends the rows as one batch, and returns the digest after it.
fn send(state: &mut SentState, rows: &[DocumentRow]) -> IndexDigest {
    let mut contents = vec![];
    for row in rows {
        if let Some(digest) = row.content
            && !state.has_content(&digest)
        {
            let sample = WindowSample::new(&[u64::from(digest.0[0]) + 1]).unwrap();
            contents.push(Content { size_bytes: 10, chunk_count: 1, digest, sample });
            state.add_content(&contents[contents.len() - 1]);
        }
        state.add_document(row);
    }
    state.log_batch(rows, &contents).unwrap();
    state.root()
}

#[test]
fn a_stopped_worker_continues_after_the_last_durable_batch() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x/index.log");
    let mut state = SentState::open(&path, upload(7)).unwrap();
    let roots = [send(&mut state, &[row("a", 1), row("b", 1)]), send(&mut state, &[gone("a"), row("b", 2)])];
    drop(state);
    for (committed, root) in [(0, IndexDigest::default()), (1, roots[0]), (2, roots[1])].into_iter().rev() {
        let mut state = SentState::open(&path, upload(8)).unwrap();
        assert!(state.resume(committed, root).unwrap(), "{committed}");
        assert_eq!(
            (state.epoch(), state.sequence(), state.documents()),
            (7, committed, [0, 2, 1][usize::try_from(committed).unwrap()])
        );
    }
}

#[test]
fn a_coordinator_that_holds_more_or_something_else_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.log");
    let root = send(&mut SentState::open(&path, upload(7)).unwrap(), &[row("a", 1)]);
    assert!(!SentState::open(&path, upload(8)).unwrap().resume(2, root).unwrap());
    assert!(!SentState::open(&path, upload(8)).unwrap().resume(1, IndexDigest::default()).unwrap());
}

#[test]
fn a_cut_or_damaged_log_ends_before_the_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.log");
    let mut state = SentState::open(&path, upload(7)).unwrap();
    let first = send(&mut state, &[row("a", 1)]);
    let after_first = usize::try_from(std::fs::metadata(&path).unwrap().len()).unwrap();
    let second = send(&mut state, &[row("b", 2)]);
    let intact = std::fs::read(&path).unwrap();
    for cut in after_first..intact.len() {
        std::fs::write(&path, &intact[..cut]).unwrap();
        assert!(!SentState::open(&path, upload(8)).unwrap().resume(2, second).unwrap(), "cut at {cut}");
        assert!(SentState::open(&path, upload(8)).unwrap().resume(1, first).unwrap(), "cut at {cut}");
        let mut damaged = intact.clone();
        damaged[cut] ^= 1;
        std::fs::write(&path, &damaged).unwrap();
        assert!(!SentState::open(&path, upload(8)).unwrap().resume(2, second).unwrap(), "flipped at {cut}");
    }
}

#[test]
fn a_log_that_has_grown_is_replaced_by_a_shorter_one_with_the_same_content() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.log");
    let mut state = SentState::open(&path, upload(7)).unwrap();
    for round in 0..3 * SNAPSHOT_ROWS {
        send(&mut state, &[row("same", u8::try_from(round % 250).unwrap())]);
    }
    let (sequence, root) = (state.sequence(), state.root());
    let before = std::fs::metadata(&path).unwrap().len();
    state.finish_sync().unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() < before / 10);
    let after = send(&mut state, &[row("other", 1)]);
    drop(state);
    assert!(SentState::open(&path, upload(8)).unwrap().resume(sequence + 1, after).unwrap());
    assert!(SentState::open(&path, upload(8)).unwrap().resume(sequence, root).unwrap());
}

#[test]
fn an_index_starts_again_when_its_contents_get_or_lose_their_samples() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.log");
    let root = send(&mut SentState::open(&path, upload(7)).unwrap(), &[row("a", 1)]);
    let without = |epoch| IndexUpload { epoch, samples: false };
    let mut state = SentState::open(&path, without(8)).unwrap();
    assert!(!state.has_samples() && !state.resume(1, root).unwrap());
    assert_eq!(SentState::open(&path, without(9)).unwrap().epoch(), 8);
    let again = SentState::open(&path, upload(10)).unwrap();
    assert_eq!((again.epoch(), again.has_samples()), (10, true));
}

#[test]
fn each_query_finds_the_first_document_of_each_content_whatever_was_asked_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.log");
    let mut state = SentState::open(&path, upload(7)).unwrap();
    send(&mut state, &[row("a", 1), row("b", 2), row("c", 1), row("d", 3), row("e", 2), row("f", 4)]);
    let mut files = SentState::read(&path).unwrap().unwrap().into_sent_files();
    let mut found = |contents: &[u8]| -> Vec<String> {
        let wanted = contents.iter().map(|content| ContentDigest([*content; 16])).collect();
        let mut found: Vec<String> = files.find(&wanted).into_values().map(|path| path.to_string()).collect();
        found.sort();
        found
    };
    for (contents, expected) in [
        (&[1][..], &["a"][..]),
        (&[1, 2], &["a", "b"]),
        (&[3], &["d"]),
        // The first of these is before the last one that was found.
        (&[1], &["a"]),
        (&[1, 4], &["a", "f"]),
        (&[2, 9], &["b"]),
        (&[9], &[]),
        (&[], &[]),
        (&[1, 2, 3, 4], &["a", "b", "d", "f"]),
    ] {
        assert_eq!(found(contents), expected, "{contents:?}");
    }
}
