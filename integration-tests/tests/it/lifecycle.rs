//! Starting, stopping, backing up, restoring and mending: what operators do, and what happens to machines.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use cognate_integration_tests::Federation;
use cognate_integration_tests::canonical::comparable;
use cognate_integration_tests::proxy::{Way, Weather};
use cognate_integration_tests::sandbox::{contents, copy, names, wait_until};
use cognate_integration_tests::tree::varied;
use rustix::process::Signal;

/// What identifies a folder and everything in it, but for the lock, which says who looked last.
fn hash(folder: &Path) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for (path, bytes) in contents(folder).into_iter().filter(|(path, _)| path != Path::new("lock")) {
        hasher.update(path.to_str().unwrap().as_bytes()).update(&[0]).update(blake3::hash(&bytes).as_bytes());
    }
    hasher.finalize()
}

fn change(federation: &mut Federation, name: &str, documents: usize) {
    let folder = federation.site(name).folder().to_owned();
    for number in 0..documents {
        std::fs::write(folder.join(format!("changed-{number}")), federation.dice.bytes(30_000)).unwrap();
    }
    federation.sandbox.settle();
}

// --- Stopping

#[test]
fn a_coordinator_refuses_a_state_that_others_can_enter() {
    let federation = Federation::prepared(1604);
    federation.init();
    std::fs::set_permissions(federation.coordinator_state(), std::fs::Permissions::from_mode(0o750)).unwrap();
    let refused = federation.sandbox.cognate([
        "coordinator",
        "run",
        "--config",
        federation.coordinator_config().to_str().unwrap(),
    ]);
    assert!(refused.code.is_some_and(|code| code != 0), "{refused:?}");
    assert!(refused.stderr.contains("is open to other users (mode 750)"), "{refused:?}");
    assert!(refused.stderr.contains("chmod 700"), "{refused:?}");
}

#[test]
fn daemons_stop_when_they_are_asked_and_go_on_after_it() {
    let mut federation = Federation::new(701);
    let trees = varied(&mut federation.dice, 2, 80);
    for (name, files) in ["a", "b"].iter().zip(&trees) {
        federation.add_with(name, None, files, "[policy]\nread_bytes_per_second = \"500KB\"\n");
    }
    federation.sandbox.settle();
    federation.start_all();
    // In the middle of a sync, and one site hears nothing and says nothing.
    let scan = federation.begin_scan(&[]);
    let line = federation.site("a").line();
    let before = line.bytes(Way::Up);
    wait_until("the sites are sending", || line.bytes(Way::Up) > before + 3000);
    federation.site("b").line().set(Weather { silent_up: true, silent_down: true, ..Weather::default() });
    let began = Instant::now();
    federation.stop_coordinator();
    federation.stop("a");
    assert!(began.elapsed() < Duration::from_secs(30), "it took {:?}", began.elapsed());
    federation.site("b").line().heal();
    federation.site("b").line().cut();
    federation.start_coordinator();
    federation.start("a");
    federation.check(scan.ended(), &[]);
}

#[test]
fn a_second_signal_ends_a_daemon_at_once() {
    let mut federation = Federation::of(702, 1, 20);
    federation.scan(&[]).report();
    // Somebody who does not answer keeps the first stop waiting.
    federation.site("a").line().set(Weather { silent_up: true, silent_down: true, ..Weather::default() });
    for (number, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let mut coordinator = federation.take_coordinator();
        coordinator.signal(Signal::TERM);
        wait_until("it is stopping", || federation_is_stopping(&coordinator.stderr()));
        let began = Instant::now();
        coordinator.signal(number);
        let run = coordinator.ended();
        // It may have been done before the second signal came.
        assert!(run.code == Some(code) || run.code == Some(0), "{run:?}");
        assert!(began.elapsed() < Duration::from_secs(2), "it took {:?}", began.elapsed());
        federation.start_coordinator();
    }
    federation.site("a").line().heal();
    federation.site("a").line().cut();
    federation.check(federation.scan(&[]), &[]);
}

fn federation_is_stopping(log: &str) -> bool {
    ["stopping", "draining", "stop", "drain"].iter().any(|word| log.contains(word))
}

#[test]
fn health_tells_who_serves_and_who_does_not() {
    let mut federation = Federation::of(703, 1, 10);
    let config = federation.coordinator_config();
    let asked = ["coordinator", "health", "--config", config.to_str().unwrap()];
    federation.sandbox.cognate(asked).expect(0);
    assert_eq!((federation.http("/livez").0, federation.http("/readyz").0), (200, 200));
    let (status, metrics) = federation.http("/metrics");
    assert!(status == 200 && metrics.contains("cognate_build_info"), "{metrics}");
    let first = r#"cognate_auth_failures_total{reason="token"} 0"#;
    assert!(metrics.contains(first), "a rate needs a value before the first burst: {metrics}");
    assert!(!metrics.contains("/kb") && !metrics.contains("changed-"), "neither paths nor documents: {metrics}");
    federation.worker("a", &["health"]).expect(0);
    assert!(federation.worker("a", &["status"]).expect(0).text().contains("kb"));
    federation.stop("a");
    assert_ne!(federation.worker("a", &["health"]).code, Some(0));
    federation.stop_coordinator();
    assert_ne!(federation.sandbox.cognate(asked).code, Some(0));
}

// --- Configuration

#[test]
fn a_configuration_that_makes_no_sense_is_refused_by_key_and_place() {
    let federation = Federation::prepared(704);
    let file = federation.coordinator_config();
    let good = std::fs::read_to_string(&file).unwrap();
    for (more, key) in
        [("lisen = \"x\"\n", "lisen"), ("threads = \"many\"\n", "threads"), ("drain = \"soon\"\n", "drain")]
    {
        let bad = good.replace("drain = \"10s\"\n", "");
        std::fs::write(&file, format!("{bad}{more}")).unwrap();
        let refused = federation.sandbox.cognate(["coordinator", "run", "--config", file.to_str().unwrap()]).refusal(2);
        assert!(refused.contains(key) && refused.contains(file.to_str().unwrap()), "{refused}");
    }
    std::fs::write(&file, &good).unwrap();
    // The environment goes before the file, and a wrong value there is called by its origin.
    let mut command = std::process::Command::new(cognate_integration_tests::binary::cognate());
    command.args(["coordinator", "run", "--print-config", "--config", file.to_str().unwrap()]);
    command.env_remove("COGNATE_TEST_SEED").env_remove("COGNATE_TEST_BINARIES");
    let shown = command.env("COGNATE_DRAIN", "7s").output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.lines().any(|line| line.starts_with("drain = \"7s\"") && line.contains("environment")), "{shown}");
    let refused = command.env("COGNATE_THREADS", "many").output().unwrap();
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(2) && told.contains("environment") && told.contains("threads"), "{told}");
}

#[test]
fn a_bad_configuration_that_is_read_again_leaves_everything_as_it_was() {
    let mut federation = Federation::of(713, 1, 10);
    let file = federation.coordinator_config();
    let good = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, good.replace("drain = ", "drian = ")).unwrap();
    federation.coordinator().signal(Signal::HUP);
    wait_until("it is told", || {
        let log = federation.coordinator().stderr();
        log.contains("drian") && log.contains("nothing changes")
    });
    federation.check(federation.scan(&[]), &[]);
    // And a good one counts: what is logged from then on, for example.
    std::fs::write(&file, format!("{good}log_level = \"warn\"\n")).unwrap();
    federation.coordinator().signal(Signal::HUP);
    wait_until("it is told", || federation.coordinator().stderr().contains("was read again"));
    federation.scan(&[]).report();
    assert_eq!(federation.coordinator().stderr().matches("a scan is launched").count(), 1);
}

#[test]
fn a_state_that_was_never_made_or_cannot_be_written_is_told_before_anything_is_served() {
    let federation = Federation::prepared(705);
    let file = federation.coordinator_config();
    let run = federation.sandbox.cognate(["coordinator", "run", "--config", file.to_str().unwrap()]);
    assert!(run.code != Some(0) && run.stderr.contains("init"), "{run:?}");
    // Not even root can make a folder below a file.
    std::fs::write(federation.sandbox.path("file"), "").unwrap();
    let config = std::fs::read_to_string(&file).unwrap();
    let config = config.replace(
        federation.coordinator_state().to_str().unwrap(),
        &format!("{}/state", federation.sandbox.path("file").display()),
    );
    std::fs::write(&file, config).unwrap();
    let refused = federation.sandbox.cognate(["coordinator", "init", "--config", file.to_str().unwrap()]).refusal(74);
    assert!(refused.contains("file/state"), "{refused}");
}

// --- Versions

#[test]
fn a_state_of_a_newer_version_is_refused_and_not_touched() {
    let mut federation = Federation::of(706, 1, 20);
    federation.scan(&[]).report();
    federation.stop("a");
    federation.stop_coordinator();
    let config = federation.coordinator_config();
    let coordinator = |words: &[&str]| {
        let args = ["coordinator"].iter().chain(words).copied().chain(["--config", config.to_str().unwrap()]);
        federation.sandbox.cognate(args)
    };
    let journal = federation.coordinator_state().join("journal");
    let schema = federation.site("a").state().join("schema");
    for (file, from, to) in [(&journal, "cognate journal 1\n", "cognate journal 9\n"), (&schema, "1", "9")] {
        let kept = std::fs::read(file).unwrap();
        assert!(kept.starts_with(from.as_bytes()), "{}", file.display());
        std::fs::write(file, [to.as_bytes(), &kept[from.len()..]].concat()).unwrap();
        let state = file.parent().unwrap();
        let before = hash(state);
        let run = if file == &journal { coordinator(&["run"]) } else { federation.worker("a", &["run"]) };
        assert!(run.code == Some(15) && run.stderr.contains('9'), "{run:?}");
        assert_eq!(hash(state), before, "{} was touched", state.display());
        std::fs::write(file, kept).unwrap();
    }
    coordinator(&["check", "--read-data"]).expect(0);
}

// --- Backup, restore, rebuild

#[test]
fn a_backup_under_load_restores_to_a_coordinator_that_workers_go_on_with() {
    let mut federation = Federation::new(707);
    let trees = varied(&mut federation.dice, 2, 80);
    for (name, files) in ["a", "b"].iter().zip(&trees) {
        federation.add_with(name, None, files, "[policy]\nread_bytes_per_second = \"700KB\"\n");
    }
    federation.sandbox.settle();
    federation.start_all();
    federation.scan(&["--chunk-bytes", "700"]).report();
    let scan = federation.begin_scan(&[]);
    let line = federation.site("a").line();
    let before = line.bytes(Way::Up);
    wait_until("the sites are sending", || line.bytes(Way::Up) > before + 3000);
    let (config, backup) = (federation.coordinator_config(), federation.sandbox.path("backup"));
    let (config, folder) = (config.to_str().unwrap(), backup.to_str().unwrap());
    federation.sandbox.cognate(["coordinator", "backup", folder, "--include-ca", "--config", config]).expect(0);
    let digest = federation.check(scan.ended(), &[])["scan"]["digest"].clone();
    // Everything is lost; what was backed up is brought back.
    federation.kill_coordinator();
    federation.lose_coordinator_state();
    federation.sandbox.cognate(["coordinator", "restore", folder, "--none-revoked", "--config", config]).expect(0);
    federation.sandbox.cognate(["coordinator", "check", "--read-data", "--config", config]).expect(0);
    federation.start_coordinator();
    federation.wait_attached("a");
    federation.wait_attached("b");
    let report = federation.check(federation.scan(&[]), &[]);
    assert_eq!(report["scan"]["digest"], digest);
    // The first administrator's credential is of the same authority: it was not lost with the state.
    for name in ["a", "b"] {
        federation.worker(name, &["ledger", "verify"]).expect(0);
    }
}

#[test]
fn a_coordinator_moves_to_another_machine_and_address_and_everybody_follows_with_a_command_each() {
    let mut federation = Federation::of(718, 2, 40);
    let digest = federation.scan(&[]).report()["scan"]["digest"].clone();
    let config = federation.coordinator_config();
    let coordinator = |federation: &Federation, words: &[&str]| {
        let args = [&["coordinator"], words, &["--config", config.to_str().unwrap()]].concat();
        federation.sandbox.cognate(args).expect(0)
    };
    // On the old machine: a backup while it runs, and the one that is moved, after a stop.
    let (first, moved) = (federation.sandbox.path("first"), federation.sandbox.path("moved"));
    coordinator(&federation, &["backup", first.to_str().unwrap(), "--include-ca"]);
    federation.stop_coordinator();
    coordinator(&federation, &["backup", moved.to_str().unwrap(), "--include-ca"]);
    std::fs::rename(federation.coordinator_state(), federation.sandbox.path("old machine")).unwrap();
    // On the new one, under an address that no certificate has: its configuration, the backup, and what the guide says.
    let (old, new) = (federation.address(1), federation.address(40));
    let values = std::fs::read_to_string(&config).unwrap();
    let names = values.lines().find(|line| line.starts_with("names")).unwrap();
    let values = values.replace(names, &format!("names = [\"{}\"]", new.ip()));
    std::fs::write(&config, values.replace(&old.ip().to_string(), &new.ip().to_string())).unwrap();
    let brought = federation.sandbox.path("new machine/backup");
    copy(&moved, &brought);
    federation.begin_state_with_key(&brought.join("ca.key"));
    coordinator(&federation, &["restore", brought.to_str().unwrap(), "--none-revoked"]);
    coordinator(&federation, &["check", "--read-data"]);
    federation.start_coordinator();
    // A person: `addresses` of the file. A site: one command.
    let person = std::fs::read_to_string(federation.operator()).unwrap();
    let addresses = person.split_once("addresses = [").and_then(|(_, rest)| rest.split_once(']')).unwrap().0;
    std::fs::write(federation.operator(), person.replace(addresses, &format!("\"{new}\""))).unwrap();
    assert_eq!(federation.member("a")["attached"], false);
    for name in ["a", "b"] {
        federation.worker(name, &["move", "no address"]).refusal(2);
        federation.worker(name, &["move", &new.to_string()]).expect(0);
        federation.stop(name);
        federation.start(name);
        federation.wait_attached(name);
    }
    let report = federation.check(federation.scan(&[]), &[]);
    assert_eq!(report["scan"]["digest"], digest);
    for name in ["a", "b"] {
        federation.worker(name, &["ledger", "verify"]).expect(0);
    }
}

#[test]
fn backups_take_turns_and_none_goes_before_a_new_one_was_restored_and_checked() {
    let mut federation = Federation::of(717, 1, 20);
    federation.scan(&[]).report();
    let (config, folder) = (federation.coordinator_config(), federation.sandbox.path("backups"));
    let rotate = |federation: &Federation| {
        let args =
            ["coordinator", "backup", folder.to_str().unwrap(), "--rotate", "2", "--config", config.to_str().unwrap()];
        federation.sandbox.cognate(args)
    };
    let backups = || -> Vec<String> {
        let all = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = all.filter(|name| !name.starts_with('.')).collect();
        names.sort();
        names
    };
    // The name has the seconds of the time.
    let mut made = Vec::new();
    for _ in 0..3 {
        wait_until("a second has passed", || {
            let run = rotate(&federation);
            run.code == Some(0) && backups().last() != made.last()
        });
        made.push(backups().last().unwrap().clone());
    }
    assert_eq!(backups(), made[1..], "the last two");
    // A backup says the time of its name, or the next one of an unchanged state could say the same and pass for its copy.
    for name in backups() {
        let manifest = std::fs::read_to_string(folder.join(&name).join("manifest.json")).unwrap();
        let time = name.strip_prefix("cognate-").unwrap().replace('-', "");
        assert!(manifest.contains(&format!("\"made\": \"{time}\"")), "{name}: {manifest}");
    }
    let restored = std::fs::read_dir(&folder).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_dir()).count();
    assert_eq!(restored, 2, "no scratch folder is left");
    // Neither a name nor a copy of a backup pushes a good one out.
    let (empty, copied) = ("cognate-2999-01-01T000000Z", "cognate-2998-01-01T000000Z");
    std::fs::create_dir(folder.join(empty)).unwrap();
    copy(&folder.join(&made[2]), &folder.join(copied));
    wait_until("a second has passed", || {
        let run = rotate(&federation);
        assert_eq!(run.text().matches("does not count").count(), 2 * usize::from(run.code == Some(0)), "{run:?}");
        run.code == Some(0)
    });
    let (own, planted) = backups().into_iter().partition::<Vec<_>, _>(|name| !name.starts_with("cognate-299"));
    assert_eq!(planted, [copied, empty]);
    assert!(own.len() == 2 && own[0] == made[2], "{own:?}");
    for name in planted {
        std::fs::remove_dir_all(folder.join(name)).unwrap();
    }
    let made = own;
    // A state that is damaged is saved, told, and takes no place of a good one. While a coordinator runs, the end of a segment may be
    // a record that is being written.
    federation.stop_coordinator();
    let segment = cognate_integration_tests::sandbox::names(&federation.coordinator_state().join("indexes"))
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "seg"))
        .max_by_key(|path| path.metadata().unwrap().len())
        .expect("a segment");
    let mut bytes = std::fs::read(&segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    wait_until("a second has passed, and the damage is found", || {
        let run = rotate(&federation);
        run.code == Some(1) && run.text().contains("no earlier backup was removed")
    });
    assert_eq!(backups()[..2], made);
    assert!(backups()[2].ends_with(".unchecked"), "{:?}", backups());
}

#[test]
fn a_backup_holds_no_private_key_unless_it_is_asked_for() {
    let federation = Federation::of(708, 1, 10);
    let config = federation.coordinator_config();
    let backup = |name: &str, more: &[&str]| {
        let folder = federation.sandbox.path(name);
        let args = ["coordinator", "backup", folder.to_str().unwrap(), "--config", config.to_str().unwrap()];
        federation.sandbox.cognate(args.iter().chain(more)).expect(0);
        contents(&folder).into_values().any(|bytes| cognate_integration_tests::sandbox::find(&bytes, b"PRIVATE KEY"))
    };
    assert!(!backup("without", &[]));
    assert!(backup("with", &["--include-ca"]));
}

#[test]
fn a_key_of_the_authority_that_is_lost_is_asked_for_and_put_back() {
    let mut federation = Federation::of(714, 1, 10);
    federation.scan(&[]).report();
    let (key, kept) = (federation.coordinator_state().join("ca.key"), federation.sandbox.path("kept-apart"));
    std::fs::rename(&key, &kept).unwrap();
    federation.stop_coordinator();
    let config = federation.coordinator_config();
    let run = federation.sandbox.cognate(["coordinator", "run", "--config", config.to_str().unwrap()]);
    assert!(run.code != Some(0) && run.stderr.contains("put it back"), "{run:?}");
    std::fs::rename(&kept, &key).unwrap();
    federation.start_coordinator();
    federation.restart_all();
    federation.check(federation.scan(&[]), &[]);
}

#[test]
fn a_disk_without_room_is_told_and_taken_in_again_when_there_is_some() {
    let mut federation = Federation::new(715);
    let trees = varied(&mut federation.dice, 1, 40);
    federation.add("a", &trees[0]);
    federation.sandbox.settle();
    federation.start_all();
    federation.stop_coordinator();
    // No disk has so much: for the coordinator it is full.
    let file = federation.coordinator_config();
    let good = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{good}disk_reserve = \"1000TiB\"\n")).unwrap();
    federation.start_coordinator();
    federation.restart_all();
    let (status, reasons) = federation.http("/readyz");
    assert!(status == 503 && reasons.contains("disk"), "{status} {reasons}");
    let config = file.to_str().unwrap();
    let health = federation.sandbox.cognate(["coordinator", "health", "--config", config]);
    assert!(health.code == Some(1) && health.stderr.contains("disk"), "{health:?}");
    let scan = federation.begin_scan(&[]);
    wait_until("the site is turned away", || federation.metric("cognate_shed_total") > 0.0);
    federation.kill_coordinator();
    std::fs::write(&file, &good).unwrap();
    federation.start_coordinator();
    federation.restart_all();
    federation.check(scan.ended(), &[]);
    assert_eq!(federation.http("/readyz").0, 200);
}

#[test]
fn a_site_whose_worker_is_lost_is_revoked_and_invited_again() {
    let mut federation = Federation::of(716, 2, 40);
    let first = federation.check(federation.scan(&[]), &[]);
    federation.operate(&["site", "revoke", "a"]).expect(0);
    assert_eq!(federation.take_worker("a").ended().code, Some(14));
    std::fs::remove_dir_all(federation.site("a").state()).unwrap();
    let token = federation.invite("a");
    federation.enroll("a", &token).expect(0);
    // What the lost one sent is the site's again, until the first sync of the new one takes its place.
    assert_eq!(comparable(&federation.scan(&["--no-sync"]).report()), comparable(&first));
    federation.start("a");
    federation.wait_attached("a");
    federation.check(federation.scan(&[]), &[]);
}

#[test]
fn an_older_state_that_is_put_back_costs_sending_again_and_nothing_else() {
    let mut federation = Federation::of(709, 2, 60);
    federation.check(federation.scan(&[]), &[]);
    federation.stop_coordinator();
    let (state, old) = (federation.coordinator_state(), federation.sandbox.path("old"));
    copy(&state, &old);
    federation.start_coordinator();
    federation.restart_all();
    change(&mut federation, "a", 5);
    federation.check(federation.scan(&[]), &[]);
    change(&mut federation, "b", 5);
    federation.check(federation.scan(&[]), &[]);
    federation.kill_coordinator();
    std::fs::remove_dir_all(&state).unwrap();
    copy(&old, &state);
    federation.start_coordinator();
    federation.restart_all();
    federation.check(federation.scan(&[]), &[]);
    change(&mut federation, "a", 7);
    federation.check(federation.scan(&[]), &[]);
}

/// Takes everything from a worker's state but these files.
fn lose_all_but(state: &Path, kept: &[&str]) {
    for path in names(state) {
        match path.file_name().unwrap().to_str().unwrap() {
            name if kept.contains(&name) => {}
            _ if path.is_dir() => std::fs::remove_dir_all(&path).unwrap(),
            _ => std::fs::remove_file(&path).unwrap(),
        }
    }
}

#[test]
fn a_worker_that_lost_what_it_knew_begins_anew() {
    let mut federation = Federation::of(710, 2, 60);
    let first = federation.check(federation.scan(&[]), &[]);
    let state = federation.site("a").state().to_owned();
    federation.stop("a");
    lose_all_but(&state, &["identity.pem", "addresses", "starts"]);
    change(&mut federation, "a", 3);
    // Until it has sent everything anew, what it sent before stands.
    let before = federation.scan(&["--no-sync"]).report();
    assert_eq!(comparable(&before), comparable(&first));
    federation.start("a");
    federation.wait_attached("a");
    federation.check(federation.scan(&[]), &[]);
    // Without the record of its starts it looks like a copy.
    federation.stop("a");
    lose_all_but(&state, &["identity.pem", "addresses"]);
    federation.start("a");
    wait_until("it is told", || federation.site_mut("a").worker().stderr().contains("enrol the site again"));
    // Another invitation for the same site, and it is the site again.
    federation.kill("a");
    lose_all_but(&state, &[]);
    let token = federation.invite("a");
    federation.enroll("a", &token).expect(0);
    federation.start("a");
    federation.wait_attached("a");
    federation.check(federation.scan(&[]), &[]);
}

#[test]
fn the_store_is_made_anew_from_what_it_is_a_view_of() {
    let mut federation = Federation::of(711, 2, 60);
    let report = federation.check(federation.scan(&[]), &[]);
    federation.stop_coordinator();
    let (state, config) = (federation.coordinator_state(), federation.coordinator_config());
    std::fs::remove_dir_all(state.join("store")).unwrap();
    federation.sandbox.cognate(["coordinator", "rebuild", "--config", config.to_str().unwrap()]).expect(0);
    federation.start_coordinator();
    federation.restart_all();
    let again = federation.check(federation.scan(&[]), &[]);
    assert_eq!(again["scan"]["run"]["sites"][0]["read_documents"], 0);
    // The report of before is still there.
    let id = report["scan"]["id"].as_str().unwrap();
    let shown = federation.operate(&["report", id, "--format", "json"]).report();
    assert_eq!(shown, report);
}

#[test]
fn a_site_that_is_forgotten_leaves_nothing_behind() {
    let mut federation = Federation::of(712, 2, 40);
    let name = "the name of a document that only one site has.txt";
    std::fs::write(federation.site("a").folder().join(name), "some words").unwrap();
    federation.sandbox.settle();
    federation.scan(&[]).report();
    let holds_name = |federation: &Federation| {
        let all = contents(&federation.coordinator_state());
        all.into_iter().find(|(_, bytes)| cognate_integration_tests::sandbox::find(bytes, name.as_bytes()))
    };
    assert!(holds_name(&federation).is_some());
    federation.stop("a");
    let told = federation.operate(&["site", "forget", "a", "--yes"]).expect(0);
    assert!(told.text().contains("document"), "{told:?}");
    federation.stop_coordinator();
    let left = holds_name(&federation).map(|(path, _)| path);
    assert_eq!(left, None, "the name is still there");
    federation.start_coordinator();
    assert!(federation.member("a").is_null());
}
