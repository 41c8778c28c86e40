use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::*;
use crate::harness::opened_again;
use crate::journal::{Acted, CaseChecked, CaseErased, Certified, Event, Invited, Journal, Position, Restored, verify};
use crate::sample::{Judged, SampleRow, SampledPair};
use crate::verdict::{self, Decided, Decision, Undone};

/// A state in a folder of its own.
struct State {
    folder: tempfile::TempDir,
}

/// All rows that come from the journal, by tree and key.
type Rows = BTreeMap<(&'static str, Vec<u8>), Vec<u8>>;

impl State {
    fn new() -> State {
        State { folder: tempfile::tempdir().unwrap() }
    }

    /// A copy, as a killed process would leave it.
    fn copy(&self) -> State {
        let copy = State::new();
        for name in ["journal", "journal.head"] {
            std::fs::copy(self.path(name), copy.path(name)).unwrap();
        }
        for folder in ["store", "journal.past"].map(|name| self.path(name)).iter().filter(|folder| folder.is_dir()) {
            copy_below(folder, &copy.folder.path().join(folder.file_name().unwrap()));
        }
        copy
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn try_open(&self) -> Result<Store, Error> {
        opened_again(|| Store::open(&self.path("store"), &self.path("journal"), false))
    }

    fn open(&self) -> Store {
        self.try_open().unwrap()
    }

    /// Opens a store that has nothing but the journal.
    fn rebuilt(&self) -> Store {
        let _ = std::fs::remove_dir_all(self.path("store"));
        self.open()
    }

    fn kept(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.path("journal.past")) else { return Vec::new() };
        let mut kept: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        kept.sort();
        kept
    }
}

fn copy_below(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        match entry.file_type().unwrap().is_dir() {
            true => copy_below(&entry.path(), &to.join(entry.file_name())),
            false => drop(std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

fn rows(store: &Store) -> Rows {
    let mut rows = Rows::new();
    for tree in journal_trees() {
        for entry in store.tree(tree).iter() {
            let (key, value) = entry.unwrap();
            rows.insert((tree.name(), key.to_vec()), value.to_vec());
        }
    }
    rows
}

fn history(store: &Store) -> Vec<(u64, Event)> {
    store
        .history()
        .unwrap()
        .newest_first(u64::MAX, usize::MAX, |brief, at| Some((at.end, brief.event.clone())))
        .unwrap()
}

fn record(store: &Store, what: What) {
    store.record(&Event { time: 7, by: "anna".to_owned(), what: Some(what) }).unwrap();
}

fn member(name: &str) -> MemberName {
    MemberName { kind: v1::MemberKind::Site.into(), name: name.to_owned() }
}

fn profile(name: &str) -> What {
    What::Profile(v1::Profile { name: name.to_owned(), options: None })
}

/// Something of every kind of event, some of it replaced or taken back.
fn live(store: &Store) {
    for name in ["ada", "ben", "cora", "dora"] {
        let membership = v1::Membership { kind: v1::MemberKind::Site.into(), name: name.into(), ..Default::default() };
        record(store, What::Invited(Invited { membership, token_id: vec![1; 16], ..Invited::default() }));
    }
    let admitted = v1::Membership { kind: v1::MemberKind::Operator.into(), name: "ada".into(), ..Default::default() };
    record(store, What::Admitted(admitted));
    let certified = |name| Certified { name: member(name), key_sha256: vec![2; 32], ..Certified::default() };
    record(store, What::Certified(certified("ada")));
    record(store, What::Certified(certified("ben")));
    record(store, What::Certified(certified("cora")));
    record(store, What::Renewed(Certified { asked_with_key_sha256: vec![2; 32], ..certified("ada") }));
    record(store, What::Revoked(member("ben")));
    record(store, What::Forgotten(member("cora")));
    record(store, What::Restored(Restored {}));
    for id in 1..=3 {
        record(store, What::Scan(ScanEvent { id, row: ScanRow { failure: "x".into(), ..ScanRow::default() } }));
    }
    record(store, What::ScanDeleted(2));
    for (party, full_name) in [("acme", "Acme Trading GmbH"), ("gone", "Gone Ltd"), ("gone", "")] {
        record(store, What::PartyNamed(PartyNamed { party: party.into(), full_name: full_name.into() }));
    }
    record(store, profile("weekly"));
    record(store, profile("gone"));
    record(store, What::ProfileRemoved("gone".into()));
    record(store, What::Schedule(v1::Schedule { name: "nightly".into(), ..v1::Schedule::default() }));
    record(store, What::Schedule(v1::Schedule { name: "gone".into(), ..v1::Schedule::default() }));
    record(store, What::ScheduleRemoved("gone".into()));
    for id in [4, 5] {
        record(store, What::Template(v1::Template { id, note: "n".into(), ..v1::Template::default() }));
    }
    record(store, What::TemplateUnmarked(4));
    record(store, What::Watch(v1::Watch { name: "w".into(), ..v1::Watch::default() }));
    record(store, What::Watch(v1::Watch { name: "gone".into(), ..v1::Watch::default() }));
    record(store, What::WatchRemoved("gone".into()));
    record(store, What::Case(v1::Case { name: "c".into(), ..v1::Case::default() }));
    for number in 0..2 {
        let check = Some(v1::CaseCheck::default());
        record(store, What::CaseChecked(CaseChecked { name: "c".into(), number, check }));
    }
    record(store, What::CaseErased(CaseErased { name: "c".into(), number: 0 }));
    for action in 1..=3 {
        for part in 0..2_u32 {
            let key = verdict::Key::of_document("ada", "main", &part.to_be_bytes()).0.to_vec();
            let decided = vec![Decided { key, site: "ada".into(), ..Decided::default() }];
            record(store, What::Decided(Decision { action, part, verdict: 1, decided, ..Decision::default() }));
        }
    }
    record(store, What::Undone(Undone { action: 2 }));
    let key = verdict::Key::of_cluster("raw", &"cd".repeat(16)).unwrap().0.to_vec();
    for action in 10..12 {
        let decided = vec![Decided { key: key.clone(), ..Decided::default() }];
        let label = Some(v1::LabelChange { add: vec![format!("tag {action}")], ..v1::LabelChange::default() });
        record(store, What::Decided(Decision { action, decided, label, ..Decision::default() }));
    }
    for name in ["f", "gone"] {
        record(store, What::FilterSaved(SavedFilter { name: name.into(), query: "q".into(), assignee: "ben".into() }));
    }
    record(store, What::FilterRemoved("gone".into()));
    let pair = SampledPair {
        view: "raw".into(),
        a: vec![1; 16],
        b: vec![2; 16],
        similarity: 90,
        answer: 0,
        by: String::new(),
    };
    let sample =
        SampleRow { id: 7, scan: 1, by: "anna".into(), links: 9, pairs: vec![pair; 2], ..SampleRow::default() };
    record(store, What::SampleDrawn(sample));
    record(store, What::SampleJudged(Judged { sample: 7, pair: 1, answer: 2 }));
    // Most events of this journal change nothing.
    for scan in 0..400 {
        record(store, What::Acted(Acted { action: 2, scan }));
    }
}

/// A state that was lived in and is closed, with its rows.
fn lived_in() -> (State, Rows) {
    let state = State::new();
    let store = state.open();
    live(&store);
    store.barrier().unwrap();
    let rows = rows(&store);
    (state, rows)
}

fn compact(store: &Store) -> Compacted {
    store.compact_journal_beyond(0).unwrap().expect("the journal has outgrown the state")
}

#[test]
fn a_compacted_journal_gives_the_same_rows_and_the_same_history_and_goes_on() {
    let (state, before) = lived_in();
    let store = state.open();
    let events = history(&store);
    assert!(events.len() > 400 && before.len() > 20);
    let compacted = compact(&store);
    assert!(compacted.bytes_after * 4 < compacted.bytes_before, "{compacted:?}");
    assert_eq!(std::fs::metadata(state.path("journal")).unwrap().len(), compacted.bytes_after);
    assert_eq!((rows(&store), history(&store)), (before.clone(), events.clone()));
    assert_eq!(store.compact_journal_beyond(0).unwrap(), None, "it has not outgrown the state any more");
    record(&store, What::ProfileRemoved("weekly".into()));
    let (after, number) = (rows(&store), store.verdict_number().unwrap());
    drop(store);
    for open in [State::open, State::rebuilt] {
        let store = open(&state);
        assert_eq!((rows(&store), store.verdict_number().unwrap()), (after.clone(), number));
        let now = history(&store);
        assert!(now[0].0 > events[0].0 && now[0].1.what == Some(What::ProfileRemoved("weekly".into())));
        assert_eq!(now[1..], events);
    }
    // A second time: the parts are read one after the other, in pages of any length.
    let store = state.open();
    live(&store);
    compact(&store);
    record(&store, profile("last"));
    let all = history(&store);
    assert_eq!((all.len(), state.kept().len()), (2 * events.len() + 2, 2));
    for count in [1, 7, 100, 450, 1000] {
        let (mut paged, mut before) = (Vec::new(), u64::MAX);
        loop {
            let mut history = store.history().unwrap();
            let page = history.newest_first(before, count, |brief, at| Some((at.end, brief.event.clone()))).unwrap();
            let Some(last) = page.last() else { break };
            before = last.0;
            paged.extend(page);
        }
        assert_eq!(paged, all, "{count}");
    }
    // The history ends at a part that the administrator has moved away.
    std::fs::remove_file(&state.kept()[0]).unwrap();
    assert_eq!(history(&store)[..], all[..events.len() + 2]);
}

#[test]
fn wherever_a_process_ends_in_a_compaction_the_journal_is_the_old_part_or_the_new_one() {
    let (state, expected) = lived_in();
    let old = state.copy();
    let store = state.open();
    let events = history(&store);
    compact(&store);
    drop(store);
    let (journal, kept) = (state.path("journal"), state.kept().remove(0));
    let kept_name = kept.file_name().unwrap().to_owned();
    let new = std::fs::read(&journal).unwrap();
    let check = |what: &str, left: State, is_new: bool| {
        for open in [State::open, State::rebuilt] {
            let store = open(&left);
            assert_eq!((rows(&store), history(&store)), (expected.clone(), events.clone()), "{what}");
            assert!(left.kept().len() == 1 || !is_new, "{what}");
        }
        // And it goes on from there.
        let store = left.open();
        record(&store, profile("after"));
        drop(store);
        let store = left.open();
        assert!(store.profile("after").unwrap().is_some(), "{what}");
        record(&store, What::ProfileRemoved("after".into()));
        (0..600).for_each(|scan| record(&store, What::Acted(Acted { action: 2, scan })));
        compact(&store);
        assert_eq!(rows(&store), expected, "{what}");
        assert_eq!(history(&store).len(), events.len() + 602, "{what}");
        assert_eq!(left.kept().len(), 1 + usize::from(is_new), "{what}");
    };
    for length in [0, 10, 18, 60, new.len() / 2, new.len()] {
        let left = old.copy();
        std::fs::write(left.path("journal.tmp"), &new[..length]).unwrap();
        check(&format!("{length} bytes of the new part are written"), left, false);
    }
    let linked = |left: &State| {
        std::fs::create_dir_all(left.path("journal.past")).unwrap();
        std::fs::hard_link(left.path("journal"), left.path("journal.past").join(&kept_name)).unwrap();
    };
    let left = old.copy();
    std::fs::write(left.path("journal.tmp"), &new).unwrap();
    linked(&left);
    check("the old part has its second name", left, false);
    let left = old.copy();
    linked(&left);
    std::fs::write(left.path("journal.tmp"), &new).unwrap();
    std::fs::rename(left.path("journal.tmp"), left.path("journal")).unwrap();
    check("the new part is in its place", left, true);
    let left = old.copy();
    linked(&left);
    std::fs::write(left.path("journal.tmp"), &new).unwrap();
    std::fs::rename(left.path("journal.tmp"), left.path("journal")).unwrap();
    std::fs::copy(state.path("journal.head"), left.path("journal.head")).unwrap();
    check("its head is written", left, true);
    check("the store knows of it", state, true);
}

#[test]
fn what_is_recorded_while_the_journal_is_compacted_is_in_it() {
    for round in 0..12 {
        let state = State::new();
        let store = state.open();
        let (recorded, is_over) = (AtomicU32::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Acquire) {
                    let number = recorded.fetch_add(1, Ordering::AcqRel);
                    // Each row is another, so that a lost event shows until its row is written again.
                    let (name, note) = (format!("w{}", number % 200), number.to_string());
                    record(&store, What::Watch(v1::Watch { name, note, ..v1::Watch::default() }));
                }
            });
            // Until the journal has outgrown the state, and records still come.
            while recorded.load(Ordering::Acquire) < 2000 {
                std::thread::yield_now();
            }
            compact(&store);
            is_over.store(true, Ordering::Release);
        });
        let expected = rows(&store);
        assert_eq!(history(&store).len(), recorded.into_inner() as usize, "round {round}");
        drop(store);
        assert_eq!(rows(&state.rebuilt()), expected, "round {round}");
    }
}

#[test]
fn a_journal_that_does_not_end_where_its_head_says_is_not_compacted() {
    let (state, _) = lived_in();
    let earlier_head = std::fs::read(state.path("journal.head")).unwrap();
    let store = state.open();
    record(&store, What::Revoked(member("ada")));
    let (journal, head) = (state.path("journal"), state.path("journal.head"));
    let (intact, intact_head) = (std::fs::read(&journal).unwrap(), std::fs::read(&head).unwrap());
    let mut flipped = intact.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let cases = [
        ("a record that nobody knows here", [&intact[..], &intact[18..200]].concat(), &intact_head),
        ("a flipped bit in the last record", flipped, &intact_head),
        ("a journal that was cut", intact[..intact.len() - 1].to_vec(), &intact_head),
        ("a head of an earlier time", intact.clone(), &earlier_head),
        ("a damaged head", intact.clone(), &vec![7; intact_head.len()]),
    ];
    for (what, bytes, head_bytes) in cases {
        std::fs::write(&journal, &bytes).unwrap();
        std::fs::write(&head, head_bytes).unwrap();
        let refused = store.compact_journal_beyond(0).expect_err(what);
        assert!(!refused.is_fatal() && refused.to_string().contains("not compacted"), "{what}: {refused}");
        assert_eq!(std::fs::read(&journal).unwrap(), bytes, "{what}: nothing is changed");
        assert!(state.kept().is_empty(), "{what}");
    }
    std::fs::write(&journal, &intact).unwrap();
    std::fs::write(&head, &intact_head).unwrap();
    compact(&store);
}

#[test]
fn a_compacted_journal_that_is_damaged_or_cut_is_refused_and_so_is_the_part_before_it() {
    let (state, _) = lived_in();
    let old = state.copy();
    let store = state.open();
    compact(&store);
    record(&store, What::Revoked(member("ada")));
    drop(store);
    let (journal, head) = (state.path("journal"), state.path("journal.head"));
    let new = std::fs::read(&journal).unwrap();
    let old_head = std::fs::read(old.path("journal.head")).unwrap();
    let new_head = std::fs::read(&head).unwrap();
    let places: Vec<usize> = (0..new.len()).step_by(37).chain(new.len() - 200..new.len()).collect();
    let flipped = places.iter().map(|place| {
        let mut bytes = new.clone();
        bytes[*place] ^= 4;
        bytes
    });
    let cut = places.iter().map(|length| new[..*length].to_vec());
    let verified = |path: &Path| verify(path, |_, _| Ok(())).map(drop);
    for bytes in flipped.chain(cut) {
        std::fs::write(&journal, &bytes).unwrap();
        assert!(matches!(verified(&journal), Err(Error::Corrupt { .. })), "{} bytes", bytes.len());
    }
    // The head of the old part fits a checkpoint only if that is complete.
    std::fs::write(&head, &old_head).unwrap();
    std::fs::write(&journal, &new).unwrap();
    verified(&journal).unwrap();
    let mut checkpoint_end = None;
    verify(&journal, |event, at| {
        if matches!(event.what, Some(What::CheckpointEnd(_))) {
            checkpoint_end = Some(at);
        }
        Ok(())
    })
    .unwrap();
    let base = std::fs::metadata(old.path("journal")).unwrap().len();
    let end = usize::try_from(checkpoint_end.unwrap().end - base).unwrap();
    for length in (18..end).step_by(13).chain([end - 1]) {
        std::fs::write(&journal, &new[..length]).unwrap();
        let error = verified(&journal).unwrap_err().to_string();
        assert!(error.contains("--accept-loss"), "{length}: {error}");
    }
    // The old part with its own head is an earlier registry: the store knows of a later one.
    std::fs::write(&head, &old_head).unwrap();
    std::fs::copy(old.path("journal"), &journal).unwrap();
    let error = state.try_open().err().expect("an earlier part").to_string();
    assert!(error.contains("--accept-loss"), "{error}");
    std::fs::write(&head, &new_head).unwrap();
    assert!(state.try_open().is_err());
}

#[test]
fn a_journal_that_cannot_be_compacted_goes_on_as_it_is() {
    let (state, expected) = lived_in();
    // A folder that is none, for one.
    std::fs::write(state.path("journal.past"), "").unwrap();
    let store = state.open();
    assert!(matches!(store.compact_journal_beyond(0), Err(Error::State { .. })));
    record(&store, profile("after"));
    record(&store, What::ProfileRemoved("after".into()));
    drop(store);
    assert_eq!(rows(&state.rebuilt()), expected);
    assert!(!state.path("journal.tmp").try_exists().unwrap());
}

#[test]
fn what_a_later_version_recorded_is_never_cut_off() {
    let (state, _) = lived_in();
    let mut journal = Journal::open(&state.path("journal"), false, |_, _| Ok(())).unwrap();
    journal.append(&Event { time: 1, by: "later".into(), what: None }).unwrap();
    drop(journal);
    let store = state.open();
    assert_eq!(store.compact_journal_beyond(0).unwrap(), None);
}

#[test]
fn a_small_journal_and_one_that_is_mostly_state_are_left_alone() {
    let (state, _) = lived_in();
    let store = state.open();
    assert_eq!(store.compact_journal().unwrap(), None, "it is small");
    let state = State::new();
    let store = state.open();
    (0..500).for_each(|number| record(&store, profile(&format!("p{number}"))));
    assert_eq!(store.compact_journal_beyond(0).unwrap(), None, "all of it counts");
}

#[test]
fn a_journal_that_has_outgrown_the_state_is_compacted_when_it_is_opened() {
    let (state, _) = lived_in();
    let store = state.open();
    let note = "x".repeat(60_000);
    for _ in 0..20 {
        record(&store, What::Watch(v1::Watch { name: "w".into(), note: note.clone(), ..v1::Watch::default() }));
    }
    let expected = rows(&store);
    drop(store);
    let store = state.open();
    let bytes = std::fs::metadata(state.path("journal")).unwrap().len();
    assert!(bytes < 200_000 && state.kept().len() == 1, "{bytes}");
    assert_eq!(rows(&store), expected);
    assert!(store.applied().unwrap() != Position::default());
}
