//! Known faults of dependencies, from the committed copy of the database.

use cognate_integration_tests::advisories::{ADVISORIES, Advisory, found, parse};
use cognate_integration_tests::binary::workspace;

fn known() -> Vec<Advisory> {
    let known = parse(ADVISORIES).unwrap();
    assert!(known.len() > 900, "the copy has {} advisories", known.len());
    known
}

/// Those that `deny.toml` accepts, each for a reason.
fn accepted() -> Vec<String> {
    let rules: toml::Table = std::fs::read_to_string(workspace().join("deny.toml")).unwrap().parse().unwrap();
    let ignored = rules["advisories"]["ignore"].as_array().unwrap();
    assert!(ignored.iter().all(|row| row["reason"].as_str().is_some_and(|reason| reason.len() > 20)), "{ignored:?}");
    ignored.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn no_dependency_has_a_known_fault() {
    let (known, accepted) = (known(), accepted());
    let accepted: Vec<&str> = accepted.iter().map(String::as_str).collect();
    let mut excused = 0;
    for name in ["Cargo.lock", "coordinator/spark/Cargo.lock"] {
        let lock = std::fs::read_to_string(workspace().join(name)).unwrap();
        let faults = found(&known, &lock, &accepted).unwrap();
        assert!(faults.is_empty(), "{name}: {faults:#?}");
        excused += found(&known, &lock, &[]).unwrap().len();
    }
    // Each that is accepted is there: one that is not would excuse a later version.
    assert!(excused >= accepted.len(), "deny.toml accepts more than there is: {accepted:?}");
}

#[test]
fn a_dependency_with_a_known_fault_is_named() {
    let lock = std::fs::read_to_string(workspace().join("Cargo.lock")).unwrap();
    let at = lock.find("name = \"h2\"\n").unwrap() + "name = \"h2\"\n".len();
    let end = at + lock[at..].find('\n').unwrap();
    let planted = format!("{}version = \"0.3.23\"{}", &lock[..at], &lock[end..]);
    let known = known();
    let new = |lock: &str| found(&known, lock, &[]).unwrap();
    let faults: Vec<String> = new(&planted).into_iter().filter(|fault| !new(&lock).contains(fault)).collect();
    assert!(faults.contains(&"RUSTSEC-2024-0332: h2 0.3.23".to_owned()), "{faults:#?}");
}
