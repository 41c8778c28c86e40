use cognate_fingerprint::MethodId;
use cognate_proto::name::RepositoryName;
use cognate_proto::scope::ScopeId;

use super::*;
use crate::journal::{Event, ScanEvent, What};

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
    let open = || Store::open(&folder.path().join("store"), &folder.path().join("journal"), true).unwrap();
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
    // A version that knows whole ones only refuses it.
    assert_eq!(store.meta.get("schema").unwrap().unwrap(), SCHEMA_PARTS.to_be_bytes());
    drop(store);
    Store::open(&folder.path().join("store"), &folder.path().join("journal"), false).unwrap();
}

#[test]
fn a_newer_store_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Store::open(&folder.path().join("store"), &folder.path().join("journal"), false);
    let store = open().unwrap();
    store.db.open_tree("meta").unwrap().insert("schema", &7_u32.to_be_bytes()).unwrap();
    store.db.flush().unwrap();
    drop(store);
    assert!(matches!(open(), Err(Error::Newer { found: 7, .. })));
}
