//! A coordinator and workers as separate processes: what they say is what one process says about the same folders.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use cognate_integration_tests::Federation;
use cognate_integration_tests::canonical::comparable;
use cognate_integration_tests::proxy::Way;
use cognate_integration_tests::sandbox::{names, wait_until};
use cognate_integration_tests::tree::varied;
use serde_json::Value;

/// Documents and bytes that the sites have read for a scan.
fn reads(report: &Value) -> (u64, u64) {
    let sites = report["scan"]["run"]["sites"].as_array().unwrap();
    let sum = |name: &str| sites.iter().map(|site| site[name].as_u64().unwrap()).sum();
    (sum("read_documents"), sum("read_bytes"))
}

#[test]
fn separate_processes_report_the_same_as_one_process() {
    let federation = Federation::of(301, 2, 150);
    let report = federation.check(federation.scan(&[]), &[]);
    assert_eq!(reads(&report).0, 150);
    // Launched again, nothing is read, and hardly anything said.
    let before: u64 = federation.names().iter().map(|name| federation.site(name).line().bytes(Way::Up)).sum();
    for more in [&["--min-containment", "0.9"][..], &["--across-only", "--min-shared-bytes", "4KB"], &["--no-sync"]] {
        let again = federation.check(federation.scan(more), if more == ["--no-sync"] { &[] } else { more });
        assert_eq!(reads(&again), (0, 0), "{more:?}");
    }
    let after: u64 = federation.names().iter().map(|name| federation.site(name).line().bytes(Way::Up)).sum();
    assert!(after - before < 40_000, "{} bytes were sent again", after - before);
}

#[test]
fn every_site_has_its_own_configuration_and_the_scan_its_own_options() {
    let mut federation = Federation::new(302);
    let trees = varied(&mut federation.dice, 3, 120);
    for (name, files) in ["a", "b", "c"].iter().zip(&trees) {
        federation.add_with(
            name,
            Some(if *name == "c" { "acme" } else { "home" }),
            files,
            "[policy]\nunkeyed_across_parties = true\n",
        );
    }
    federation.sandbox.settle();
    federation.start_all();
    // Without a key, sites give no fine chunks to another party; a comparison within one process always has them.
    let chunks = ["--chunk-bytes", "600", "--precision", "coarse"];
    let more = [&chunks[..], &["--across-only", "--exclude", "d1", "--size-max", "60KB"]].concat();
    let report = federation.check(federation.scan(&more), &more);
    assert!(report["overlap"].as_array().unwrap().iter().any(|row| row["level"] == "party"));
}

#[test]
fn a_site_that_is_away_makes_the_result_partial_and_is_named() {
    let mut federation = Federation::of(303, 2, 40);
    federation.stop("b");
    let launched = federation.scan(&["--sync-deadline", "5s"]);
    let report = launched.expect(3).json();
    assert_eq!(report["scan"]["status"], "partial");
    let missing = report["scan"]["missing"].as_array().unwrap();
    assert_eq!((missing.len(), &missing[0]["site"]), (1, &"b".into()));
    // The first line for people says so as well.
    let id = report["scan"]["id"].as_str().unwrap();
    let shown = federation.operate(&["report", id]).expect(3);
    let first = shown.text().lines().next().unwrap();
    assert!(first.contains("partial") || first.contains("without") || first.contains("missing"), "{first}");
    // A request for all sites or none fails.
    federation.scan(&["--sync-deadline", "1s", "--require-complete"]).expect(1);
    // Once it is back, so is everything.
    federation.start("b");
    federation.wait_attached("b");
    federation.check(federation.scan(&[]), &[]);
}

#[test]
fn scans_at_once_do_not_get_in_each_others_way() {
    let federation = Federation::of(304, 2, 100);
    let options: [&[&str]; 3] = [&[], &["--chunk-bytes", "300"], &["--chunk-bytes", "300", "--min-containment", "0.8"]];
    let running = options.map(|more| federation.begin_scan(more));
    for (running, more) in running.into_iter().zip(options) {
        federation.check(running.ended(), more);
    }
    let list = federation.operate(&["scan", "list", "--format", "json"]).expect(0).json();
    assert!(list.as_array().unwrap().len() == 3 && list[0]["status"] == "complete", "{list}");
}

#[test]
fn a_scan_waits_for_a_site_that_comes_later_and_says_so_without_a_terminal() {
    let mut federation = Federation::of(305, 2, 40);
    federation.kill("b");
    let scan = federation.begin_scan(&[]);
    let told = "waits for b/kb: its site is not attached";
    wait_until("the scan says whom it waits for", || scan.stderr().contains(told));
    federation.start("b");
    federation.check(scan.ended(), &[]);
}

#[test]
fn a_scan_can_be_called_off_and_deleted() {
    let mut federation = Federation::of(306, 2, 40);
    federation.kill("b");
    let scan = federation.begin_scan(&[]);
    let mut id = String::new();
    wait_until("the scan is launched", || {
        let list = federation.operate(&["scan", "list", "--format", "json"]).expect(0).json();
        id = list[0]["id"].as_str().unwrap_or_default().to_owned();
        !id.is_empty()
    });
    // A running scan has no report.
    federation.operate(&["report", &id, "--format", "json"]).refusal(1);
    federation.operate(&["scan", "cancel", &id]).expect(0);
    assert_ne!(scan.ended().code, Some(0));
    federation.operate(&["scan", "delete", &id]).expect(0);
    assert_eq!(federation.operate(&["scan", "list", "--format", "json"]).expect(0).json(), Value::Array(Vec::new()));
    // The next is none the worse for it.
    federation.start("b");
    federation.wait_attached("b");
    federation.check(federation.scan(&[]), &[]);
}

#[test]
fn a_site_can_see_the_results_that_concern_it() {
    let federation = Federation::of(307, 2, 60);
    let report = federation.scan(&[]).report();
    let id = report["scan"]["id"].as_str().unwrap();
    let list = federation.worker("a", &["results"]).expect(0);
    assert!(list.text().contains(id), "{list:?}");
    let rows = federation.worker("a", &["results", id]).expect(0);
    assert!(!rows.text().trim().is_empty(), "{rows:?}");
}

#[test]
fn a_repository_that_is_not_offered_is_refused_by_name() {
    let federation = Federation::of(308, 1, 10);
    let launch = |repositories| {
        federation.operate(&["scan", "launch", "--repositories", repositories, "--yes", "--wait", "--format", "json"])
    };
    assert!(launch("a/none").expect(2).stderr.contains("`a` offers no `none`"));
    assert!(launch("nobody/kb").expect(1).stderr.contains("nobody"));
    // Without a terminal no confirmation is possible.
    federation.operate(&["scan", "launch", "--repositories", "a/kb"]).refusal(2);
}

#[test]
fn a_request_against_the_policy_of_a_site_is_refused_with_the_reason() {
    let mut federation = Federation::new(309);
    let trees = varied(&mut federation.dice, 2, 20);
    federation.add_with("a", None, &trees[0], "[policy]\nchunk_bytes_min = \"800\"\n");
    federation.add("b", &trees[1]);
    federation.sandbox.settle();
    federation.start_all();
    let run = federation.scan(&["--chunk-bytes", "200"]);
    assert!(matches!(run.code, Some(1 | 3)), "{run:?}");
    let output = format!("{}{}", String::from_utf8_lossy(&run.stdout), run.stderr);
    assert!(output.contains("800"), "{output}");
    federation.check(federation.scan(&["--chunk-bytes", "800"]), &["--chunk-bytes", "800"]);
}

#[test]
fn secrets_are_readable_only_by_their_owner() {
    let mut federation = Federation::of(310, 1, 10);
    federation.scan(&[]).report();
    let mode = |path: &Path| std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777;
    for state in [federation.coordinator_state(), federation.site("a").state().to_owned()] {
        assert_eq!(mode(&state) & 0o077, 0, "{}", state.display());
        let mut secrets = 0;
        for path in names(&state).into_iter().filter(|path| path.is_file()) {
            let bytes = std::fs::read(&path).unwrap();
            if cognate_integration_tests::sandbox::find(&bytes, b"PRIVATE KEY") {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
                secrets += 1;
            }
        }
        assert!(secrets > 0, "no private key in {}", state.display());
    }
    // A key that others can read is not used.
    federation.stop("a");
    let state = federation.site("a").state().to_owned();
    let holds_key = |path: &std::path::PathBuf| {
        path.is_file() && cognate_integration_tests::sandbox::find(&std::fs::read(path).unwrap(), b"PRIVATE KEY")
    };
    let key = names(&state).into_iter().find(holds_key).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let run = federation.worker("a", &["run"]);
    assert!(run.stderr.contains("chmod") && run.code != Some(0), "{run:?}");
}

#[test]
fn documents_come_and_go_and_the_next_scan_knows() {
    let mut federation = Federation::of(311, 2, 80);
    let first = federation.check(federation.scan(&[]), &[]);
    let folder = federation.site("a").folder().to_owned();
    std::fs::write(folder.join("new"), federation.dice.bytes(20_000)).unwrap();
    std::fs::copy(folder.join("new"), federation.site("b").folder().join("copy")).unwrap();
    let gone = names(&folder).into_iter().find(|path| path.is_file() && !path.ends_with("new")).unwrap();
    std::fs::remove_file(gone).unwrap();
    federation.sandbox.settle();
    let second = federation.check(federation.scan(&[]), &[]);
    assert_eq!(reads(&second), (2, 40_000));
    assert_ne!(comparable(&first), comparable(&second));
}
