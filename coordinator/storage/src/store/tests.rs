use cognate_fingerprint::MethodId;
use cognate_proto::name::RepositoryName;
use cognate_proto::scope::ScopeId;

use super::*;
use crate::harness::opened_again;
use crate::journal::{Certified, Event, MemberName, ScanEvent, ScanNamed, What};
use crate::verdict::{self, Decided, Decision};

/// Opens the store in a folder.
fn opened(folder: &Path, durable: bool) -> Result<Store, Error> {
    opened_again(|| Store::open(&folder.join("store"), &folder.join("journal"), durable))
}

#[test]
fn rows_survive_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let key = SlotKey {
        site: "a".parse().unwrap(),
        repository: RepositoryName::main(),
        method_id: MethodId([3; 16]),
        scope: None,
    };
    let slot = SlotRow { current: 5, pending: 0 };
    let open = || opened(folder.path(), true).unwrap();
    let store = open();
    let first = store.next_index_id().unwrap();
    store.put_slot(&key, &slot).unwrap();
    let row = ScanRow { failure: "x".into(), ..Default::default() };
    store.record(&Event { what: Some(What::Scan(ScanEvent { id: 9, row })), ..Default::default() }).unwrap();
    store.barrier().unwrap();
    drop(store);
    let store = open();
    assert_eq!(store.slot(&key).unwrap(), slot);
    assert_eq!(store.scans().unwrap()[0].0, ScanId(9));
    assert!(store.next_index_id().unwrap() > first);
}

/// Bytes of all files below a folder.
fn bytes_below(folder: &Path) -> u64 {
    let size =
        |path: &Path| if path.is_dir() { bytes_below(path) } else { path.metadata().map_or(0, |file| file.len()) };
    std::fs::read_dir(folder).unwrap().map(|entry| size(&entry.unwrap().path())).sum()
}

/// So many rounds over a thousand rows, each of which writes 74 kB; a night asks for a thousand.
const ROUNDS_VARIABLE: &str = "COGNATE_OVERWRITES";

#[test]
fn a_store_whose_rows_are_overwritten_over_and_over_stays_small() {
    let rounds = std::env::var(ROUNDS_VARIABLE).map_or(300, |rounds| rounds.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let store = opened(folder.path(), false).unwrap();
    let key = |number: u32| SlotKey {
        site: format!("site-{number}").parse().unwrap(),
        repository: RepositoryName::main(),
        method_id: MethodId([3; 16]),
        scope: None,
    };
    for round in 1..=rounds {
        for number in 0..1000 {
            store.put_slot(&key(number), &SlotRow { current: round, pending: u64::from(number) }).unwrap();
        }
        store.barrier().unwrap();
        // Space is used again a while after its rows were overwritten, the later the busier the machine is: 3 to 9 MB at a time.
        let size = bytes_below(folder.path());
        assert!(size <= 16 << 20, "{size} bytes in round {round}");
    }
    assert_eq!(store.slot(&key(999)).unwrap(), SlotRow { current: rounds, pending: 999 });
}

#[test]
fn a_scan_keeps_its_name_whatever_its_steps_know_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = opened(folder.path(), true).unwrap();
    let record = |what| store.record(&Event { what: Some(what), ..Event::default() }).unwrap();
    let launched = ScanRow { name: "first".into(), ..ScanRow::default() };
    let named = |name: &str| What::ScanNamed(ScanNamed { id: 9, name: name.into() });
    let name = || store.scan(ScanId(9)).unwrap().unwrap().name;
    // The name of a scan that is not there goes nowhere.
    record(named("too early"));
    assert!(store.scan(ScanId(9)).unwrap().is_none());
    record(What::Scan(ScanEvent { id: 9, row: launched.clone() }));
    assert_eq!(name(), "first");
    record(named("second"));
    // A step has the row of the launch.
    record(What::Scan(ScanEvent { id: 9, row: ScanRow { finished: 7, ..launched.clone() } }));
    assert_eq!((name().as_str(), store.scan(ScanId(9)).unwrap().unwrap().finished), ("second", 7));
    record(named(""));
    record(What::Scan(ScanEvent { id: 9, row: launched }));
    assert_eq!(name(), "");
}

#[test]
fn a_part_of_a_repository_has_a_place_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("store"), &folder.path().join("journal"), false).unwrap();
    let key = |scope| SlotKey {
        site: "a".parse().unwrap(),
        repository: RepositoryName::main(),
        // Zeros are what names end with.
        method_id: MethodId([0; 16]),
        scope,
    };
    let scopes = [None, Some(ScopeId([0; 16])), Some(ScopeId([9; 16]))];
    for (current, scope) in (1..).zip(scopes) {
        store.put_slot(&key(scope), &SlotRow { current, pending: 0 }).unwrap();
    }
    let mut slots = store.slots().unwrap();
    slots.sort_by_key(|(_, slot)| slot.current);
    let keys: Vec<_> = slots.into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, scopes.map(key));
    store.remove_slot(&key(scopes[1])).unwrap();
    assert_eq!(store.slot(&key(None)).unwrap().current, 1);
}

#[test]
fn a_store_of_another_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let open = || opened(folder.path(), false);
    let store = open().unwrap();
    store.put(&Key::Schema, &7_u32).unwrap();
    store.db.flush().unwrap();
    drop(store);
    assert!(matches!(open(), Err(Error::OtherVersion { found: 7, .. })));
}

#[test]
fn a_row_that_is_not_of_the_form_of_its_tree_is_found_when_the_store_is_opened() {
    let rows: [(Tree, &[u8], &[u8]); 4] = [
        (Tree::Used, b"no slot", &[0; 8]),
        (Tree::Scans, &[0; 7], &[1]),
        (Tree::Scans, &[0; 8], b"another version"),
        (Tree::Meta, b"number", &[0; 7]),
    ];
    for (tree, key, value) in rows {
        let folder = tempfile::tempdir().unwrap();
        let open = || opened(folder.path(), false);
        let store = open().unwrap();
        store.tree(tree).insert(key, value).unwrap();
        store.db.flush().unwrap();
        drop(store);
        let detail = open().err().unwrap().to_string();
        assert!(detail.contains(&format!("a row of `{}` cannot be read", tree.name())), "{detail}");
    }
}

/// A store in which site `paris` has been heard of and has a verdict about one of its documents.
fn store_that_knows_paris(folder: &Path) -> (Store, verdict::Key) {
    let store = Store::open(&folder.join("store"), &folder.join("journal"), false).unwrap();
    let seen = SeenRow { instance: 5, ..SeenRow::default() };
    store.put_seen(&"paris".parse().unwrap(), &seen).unwrap();
    let key = verdict::Key::of_document("paris", "main", b"a.txt");
    let decided = Decided { key: key.0.to_vec(), site: "paris".into(), ..Decided::default() };
    let decision = Decision { action: 1, decided: vec![decided], ..Decision::default() };
    store.record(&Event { what: Some(What::Decided(decision)), ..Event::default() }).unwrap();
    (store, key)
}

#[test]
fn labels_outlast_any_number_of_later_decisions_and_the_last_of_them_can_be_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = opened(folder.path(), false).unwrap();
    let key = verdict::Key::of_cluster("raw", &"ab".repeat(16)).unwrap();
    let decide = |action: u64, verdict: v1::Verdict, label: Option<v1::LabelChange>| {
        let decided = vec![Decided { key: key.0.to_vec(), ..Decided::default() }];
        let decision = Decision { action, verdict: verdict.into(), decided, label, ..Decision::default() };
        store.apply_decision(&decision, "anna", 1).unwrap();
    };
    let add = |tag: &str| v1::LabelChange { add: vec![tag.to_owned()], ..v1::LabelChange::default() };
    let labels = || store.verdict(key).unwrap().unwrap().labels(|_| true);
    decide(1, v1::Verdict::Keep, None);
    let to_ben = v1::LabelChange { assignee: Some("ben".to_owned()), ..add("first") };
    decide(2, v1::Verdict::Unspecified, Some(to_ben));
    for action in 3..40 {
        decide(action, v1::Verdict::Unspecified, Some(add(&format!("tag {action}"))));
        let remove = vec![format!("tag {}", action - 1)];
        decide(action + 100, v1::Verdict::Unspecified, Some(v1::LabelChange { remove, ..v1::LabelChange::default() }));
    }
    let row = store.verdict(key).unwrap().unwrap();
    assert_eq!(row.entries.len(), 1 + 1 + 16, "{row:?}");
    assert!(row.entries.iter().any(|entry| entry.verdict() == v1::Verdict::Keep), "the verdict is gone");
    assert_eq!(labels().tags.into_iter().collect::<Vec<_>>(), ["first", "tag 39"]);
    assert_eq!(labels().assignee, "ben");
    store.apply_undone(139, "anna", 2).unwrap();
    assert_eq!(labels().tags.into_iter().collect::<Vec<_>>(), ["first", "tag 38", "tag 39"]);
    // Verdicts do not push labels out either.
    for action in 200..240 {
        decide(action, v1::Verdict::Done, None);
    }
    assert_eq!(labels().assignee, "ben");
}

/// State of site `paris` after an event: its worker, and true if it has a verdict.
fn left_of_paris(what: impl Fn(MemberName) -> What, kind: v1::MemberKind) -> (u64, bool) {
    let folder = tempfile::tempdir().unwrap();
    let (store, key) = store_that_knows_paris(folder.path());
    let name = MemberName { kind: kind.into(), name: "paris".into() };
    store.record(&Event { what: Some(what(name)), ..Event::default() }).unwrap();
    (store.seen(&"paris".parse().unwrap()).unwrap().instance, store.verdict(key).unwrap().is_some())
}

fn certified(name: MemberName) -> What {
    What::Certified(Certified { name, ..Certified::default() })
}

#[test]
fn an_operator_of_the_same_name_changes_nothing_that_is_known_of_a_site() {
    let certified = left_of_paris(certified, v1::MemberKind::Operator);
    let forgotten = left_of_paris(What::Forgotten, v1::MemberKind::Operator);
    assert_eq!([certified, forgotten], [(5, true); 2]);
}

#[test]
fn a_site_that_enrols_again_counts_from_nothing_and_one_that_is_forgotten_leaves_nothing() {
    assert_eq!(left_of_paris(certified, v1::MemberKind::Site), (0, true));
    assert_eq!(left_of_paris(What::Forgotten, v1::MemberKind::Site), (0, false));
}
