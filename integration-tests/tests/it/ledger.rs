//! Data that leaves a site is known in advance, recorded when it leaves, and provable later; it contains no content.

use std::path::{Path, PathBuf};

use cognate_integration_tests::proxy::Way;
use cognate_integration_tests::sandbox::{Run, contents, find, names};
use cognate_integration_tests::tree::{Files, varied};
use cognate_integration_tests::{Dice, Federation};

/// No file of a person holds this by chance.
const CANARY: &[u8] = b"the canary of the coal mine sings at a quarter past four";
const CANARY_NAME: &str = "ledger-test-canary.txt";

fn with_canary(seed: u64) -> Files {
    let mut dice = Dice::new(seed);
    let mut files = varied(&mut dice, 1, 30).remove(0);
    // Short and long, at the beginning, in the middle, in a document of nothing else.
    files.insert(CANARY_NAME.to_owned(), CANARY.to_vec());
    let middle = [&dice.bytes(4000)[..], CANARY, &dice.bytes(9000)].concat();
    files.insert("middle".to_owned(), middle);
    files.insert("often".to_owned(), CANARY.repeat(400));
    files
}

/// Checks that no file below a folder holds the canary, as it is or in another form that a program may give it.
#[track_caller]
fn silent(folder: &Path) {
    let hex = data_encoding::HEXLOWER.encode(CANARY);
    let base64 = data_encoding::BASE64.encode(CANARY);
    for (path, bytes) in contents(folder) {
        for form in [CANARY, &CANARY[..20], hex.as_bytes(), &base64.as_bytes()[..60]] {
            assert!(!find(&bytes, form), "the canary is in {}", path.display());
        }
    }
}

#[test]
fn no_content_is_in_sent_data_nor_in_any_state_or_log() {
    let mut federation = Federation::new(601);
    let trees = [with_canary(601), with_canary(602)];
    for (name, files) in ["a", "b"].iter().zip(&trees) {
        federation.prepare_site(name, None, files, "");
    }
    federation.sandbox.settle();
    // Before the site is a member: the very bytes that would leave.
    let out = federation.sandbox.path("would-leave/bytes");
    std::fs::create_dir(out.parent().unwrap()).unwrap();
    let dry = ["sync", "kb", "--dry-run", "--out", out.to_str().unwrap()];
    federation.worker("a", &dry).expect(0);
    assert_eq!(federation.site("a").line().connections(), 0, "no connection was made");
    let would_leave = std::fs::read(&out).unwrap();
    assert!(find(&would_leave, CANARY_NAME.as_bytes()) && would_leave.len() > 1000, "names are in it");
    silent(out.parent().unwrap());
    for name in ["a", "b"] {
        let token = federation.invite(name);
        federation.enroll(name, &token).expect(0);
    }
    federation.start_all();
    let report = federation.check(federation.scan(&["--min-shared-bytes", "1"]), &["--min-shared-bytes", "1"]);
    let is_found = report["identical"].as_array().unwrap().iter().any(|set| set["documents"][0]["path"] == CANARY_NAME);
    assert!(is_found, "what is the same at both is found all the same");
    federation.worker("a", &["ledger", "export"]).expect(0);
    for name in ["a", "b"] {
        federation.stop(name);
        silent(federation.site(name).state());
    }
    federation.stop_coordinator();
    silent(&federation.coordinator_state());
    silent(&federation.sandbox.path("output"));
    silent(&federation.sandbox.path("tmp"));
    // The coordinator has exactly the tags that the rehearsal showed.
    let segments: Vec<u8> = contents(&federation.coordinator_state()).into_values().flatten().collect();
    assert!(find(&segments, CANARY_NAME.as_bytes()));
}

/// The files of a worker's ledger.
fn ledger_files(state: &Path) -> Vec<PathBuf> {
    let files = |path: PathBuf| if path.is_dir() { names(&path) } else { vec![path] };
    let own = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("ledger");
    names(state).into_iter().filter(own).flat_map(files).filter(|path| path.metadata().unwrap().len() > 100).collect()
}

#[test]
fn one_flipped_bit_of_the_ledger_is_found_and_the_entry_named() {
    let mut federation = Federation::of(603, 1, 40);
    federation.scan(&[]).report();
    federation.worker("a", &["ledger", "verify"]).expect(0);
    // Held against the coordinator's count; then on its own.
    federation.stop("a");
    let files = ledger_files(federation.site("a").state());
    let file = files.first().unwrap_or_else(|| panic!("no ledger in {:?}", names(federation.site("a").state())));
    let intact = std::fs::read(file).unwrap();
    for _ in 0..12 {
        let mut bytes = intact.clone();
        let place = federation.dice.below(bytes.len());
        bytes[place] ^= 1 << federation.dice.below(8);
        std::fs::write(file, bytes).unwrap();
        let run = federation.worker("a", &["ledger", "verify"]);
        let named = run.stderr.contains("entry") || run.stdout.windows(5).any(|word| word == b"entry");
        assert!(run.code != Some(0) && named, "byte {place}: {run:?}");
    }
    std::fs::write(file, &intact).unwrap();
    federation.worker("a", &["ledger", "verify"]).expect(0);
}

#[test]
fn the_counts_of_the_ledger_are_those_of_the_coordinator() {
    let mut federation = Federation::of(604, 1, 120);
    let line = federation.site("a").line();
    let before = line.bytes(Way::Up);
    federation.scan(&["--chunk-bytes", "80"]).report();
    let up = line.bytes(Way::Up) - before;
    let summary = federation.worker("a", &["ledger", "summary", "--format", "json"]).expect(0).json();
    let rows = summary.as_array().unwrap().iter().filter(|row| row["kind"] != "enroll" && row["kind"] != "hello");
    let bytes: u64 = rows.map(|row| row["bytes"].as_u64().unwrap()).sum();
    assert!(bytes > 100_000, "{summary}");
    // All that crossed the line is what the ledger says, and what TLS and HTTP/2 put around it.
    assert!(bytes <= up && up < bytes + bytes / 10 + 20_000, "{bytes} bytes in the ledger, {up} on the line");
    // A state that was put back to before says something else than the coordinator.
    federation.stop("a");
    let files = ledger_files(federation.site("a").state());
    let saved: Vec<(PathBuf, Vec<u8>)> =
        files.iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();
    federation.start("a");
    federation.wait_attached("a");
    std::fs::write(federation.site("a").folder().join("another"), federation.dice.bytes(30_000)).unwrap();
    federation.sandbox.settle();
    federation.scan(&["--chunk-bytes", "80"]).report();
    federation.worker("a", &["ledger", "verify"]).expect(0);
    federation.kill("a");
    for (path, bytes) in saved {
        std::fs::write(path, bytes).unwrap();
    }
    let run = federation.worker("a", &["ledger", "verify", "--coordinator"]);
    assert_ne!(run.code, Some(0), "the coordinator has received more than the ledger says: {run:?}");
}

#[test]
fn a_restored_coordinator_is_behind_until_the_next_sync_and_a_ledger_that_differs_is_still_found() {
    let mut federation = Federation::of(608, 1, 40);
    let options = ["--chunk-bytes", "80"];
    let (config, backup) = (federation.coordinator_config(), federation.sandbox.path("backup"));
    let (config, backup) = (config.to_str().unwrap().to_owned(), backup.to_str().unwrap().to_owned());
    // Of indexes with batches. That of the office view has none.
    let verdicts = |run: &Run| -> Vec<String> {
        let rows = run.text().lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let rows = rows.filter(|row| row.first() == Some(&"kb") && row[3..5] != ["0", "0"]);
        let mut verdicts: Vec<String> = rows.map(|row| row[7..].join(" ")).collect();
        verdicts.sort();
        verdicts
    };
    federation.scan(&options).report();
    federation.sandbox.cognate(["coordinator", "backup", &backup, "--include-ca", "--config", &config]).expect(0);
    // Since the backup: more batches under the same method, and another method for the first time.
    std::fs::write(federation.site("a").folder().join("another"), federation.dice.bytes(30_000)).unwrap();
    federation.sandbox.settle();
    federation.scan(&options).report();
    federation.scan(&[]).report();
    let same = federation.worker("a", &["ledger", "verify", "--coordinator"]).expect(0);
    assert_eq!(verdicts(&same), ["same", "same"]);
    federation.stop_coordinator();
    federation.lose_coordinator_state();
    let restore = ["coordinator", "restore", &backup, "--none-revoked", "--config", &config];
    federation.sandbox.cognate(restore).expect(0);
    federation.start_coordinator();
    federation.restart_all();
    let behind = federation.worker("a", &["ledger", "verify", "--coordinator"]).expect(3);
    assert_eq!(verdicts(&behind), ["behind", "behind"]);
    let told = behind.text();
    assert!(told.contains("an earlier state of 2 indexes, to the last byte, without 2 batches"), "{told}");
    // By a ledger that has other batches than the coordinator, an earlier state differs all the same.
    federation.stop("a");
    let files = ledger_files(federation.site("a").state());
    let saved: Vec<(PathBuf, Vec<u8>)> =
        files.iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();
    files.iter().for_each(|path| std::fs::remove_file(path).unwrap());
    let other = federation.worker("a", &["ledger", "verify", "--coordinator"]).expect(1);
    assert_eq!(verdicts(&other), ["DIFFERS"]);
    saved.iter().for_each(|(path, bytes)| std::fs::write(path, bytes).unwrap());
    // The next sync under a method sends the rest.
    federation.start("a");
    federation.wait_attached("a");
    federation.scan(&options).report();
    let half = federation.worker("a", &["ledger", "verify", "--coordinator"]).expect(3);
    assert_eq!(verdicts(&half), ["behind", "same"]);
    federation.scan(&[]).report();
    let same = federation.worker("a", &["ledger", "verify", "--coordinator"]).expect(0);
    assert_eq!(verdicts(&same), ["same", "same"]);
    assert!(same.text().contains("the coordinator received what this site sent, to the last byte"));
}

#[test]
fn every_site_checks_in_one_signed_report_that_what_was_compared_is_what_it_sent() {
    let mut federation = Federation::of(606, 2, 40);
    let audit = |federation: &Federation, name: &str| {
        let file = federation.sandbox.path(name);
        federation.operate(&["report", "audit", "latest", "--format", "json", "-o", file.to_str().unwrap()]).expect(0);
        file
    };
    let verify = |federation: &Federation, site: &str, report: &Path| {
        federation.worker(site, &["ledger", "verify", "--report", report.to_str().unwrap()])
    };
    let refused = |federation: &Federation, site: &str, report: &Path| {
        let run = verify(federation, site, report);
        assert_eq!(run.code, Some(1), "{run:?}");
        run.stderr
    };
    federation.scan(&[]).report();
    let first = audit(&federation, "first.json");
    let files = ledger_files(federation.site("a").state());
    let saved: Vec<(PathBuf, Vec<u8>)> =
        files.iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();
    std::fs::write(federation.site("a").folder().join("another"), federation.dice.bytes(30_000)).unwrap();
    federation.sandbox.settle();
    federation.scan(&[]).report();
    let second = audit(&federation, "second.json");
    // A report stays that of its time, whatever was sent since; and no daemon is needed.
    for report in [&first, &second] {
        for site in ["a", "b"] {
            let told = verify(&federation, site, report).expect(0);
            assert!(
                told.text().contains("what was compared is what this site sent, to the last byte"),
                "{}",
                told.text()
            );
        }
    }
    federation.kill("a");
    verify(&federation, "a", &second).expect(0);
    // By this ledger the site has sent what the first report counts, and nothing of what the second one does.
    for (path, bytes) in saved {
        std::fs::write(path, bytes).unwrap();
    }
    verify(&federation, "a", &first).expect(0);
    let told = refused(&federation, "a", &second);
    assert!(told.contains("what was compared is not what this site sent, in 1 indexes"), "{told}");
    verify(&federation, "b", &second).expect(0);
    // Nobody but the own coordinator says what was compared.
    let sealed = std::fs::read(&second).unwrap();
    let mut changed = sealed.clone();
    changed[sealed.len() / 3] ^= 1;
    std::fs::write(&second, changed).unwrap();
    let told = refused(&federation, "b", &second);
    assert!(told.contains("does not match its signature"), "{told}");
    let other = Federation::of(607, 2, 5);
    other.scan(&[]).report();
    let told = refused(&federation, "b", &audit(&other, "other.json"));
    assert!(told.contains("is not that of your federation"), "{told}");
}

#[test]
fn where_the_ledger_cannot_be_written_nothing_is_sent() {
    let mut federation = Federation::of(605, 1, 30);
    federation.stop("a");
    for file in ledger_files(federation.site("a").state()) {
        // A folder in its place: no user, not even root, can append to it.
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
    }
    let before = federation.metric("cognate_received_bytes_total");
    let run = federation.worker("a", &["run"]);
    assert!(run.code == Some(74) || run.code == Some(1), "{run:?}");
    assert_eq!(federation.metric("cognate_received_bytes_total"), before);
}
