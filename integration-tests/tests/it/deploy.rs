//! The files for operators match the programs: units, images, configurations, alerts and the dashboard.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use cognate_integration_tests::binary::{cognate, workspace};
use cognate_integration_tests::sandbox::names;
use cognate_integration_tests::{Sandbox, not_checked};
use saphyr::{LoadableYamlNode as _, Yaml};
use serde_json::{Map, Value, json};

/// The longest that a daemon takes to stop, as it is configured by default, in seconds.
const DRAIN_SECONDS: u64 = 30;

fn deployed(path: &str) -> PathBuf {
    workspace().join("deploy").join(path)
}

fn text(path: &str) -> String {
    std::fs::read_to_string(deployed(path)).unwrap()
}

/// A document of YAML as JSON, with `<<` filled in.
fn yaml(text: &str) -> Value {
    let documents = Yaml::load_from_str(text).unwrap();
    assert_eq!(documents.len(), 1, "one document");
    as_json(&documents[0])
}

fn as_json(node: &Yaml<'_>) -> Value {
    if let Some(mapping) = node.as_mapping() {
        let mut fields = Map::new();
        for (name, value) in mapping {
            let name = name.as_str().expect("names are text");
            let value = as_json(value);
            match (name, value) {
                ("<<", Value::Object(inherited)) => {
                    for (name, value) in inherited {
                        fields.entry(name).or_insert(value);
                    }
                }
                (name, value) => drop(fields.insert(name.to_owned(), value)),
            }
        }
        return Value::Object(fields);
    }
    if let Some(items) = node.as_sequence() {
        return items.iter().map(as_json).collect();
    }
    if let Some(text) = node.as_str() {
        return text.into();
    }
    if let Some(number) = node.as_integer() {
        return number.into();
    }
    node.as_bool().map_or(Value::Null, Value::Bool)
}

// --- Units

/// The assignments of a unit, all values of a key.
fn assignments(unit: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut found: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in unit.lines().filter(|line| !line.starts_with(['#', '[', ';'])) {
        if let Some((name, value)) = line.split_once('=') {
            found.entry(name).or_default().push(value);
        }
    }
    found
}

#[test]
fn units_start_watch_and_stop_the_daemons_as_these_expect() {
    for role in ["coordinator", "worker"] {
        let unit = text(&format!("systemd/cognate-{role}.service"));
        let set = assignments(&unit);
        assert_eq!(set["Type"], ["notify"]);
        assert_eq!(set["Restart"], ["on-failure"]);
        assert!(set["WatchdogSec"][0].parse::<u64>().unwrap() >= 30);
        assert!(set["TimeoutStopSec"][0].parse::<u64>().unwrap() > DRAIN_SECONDS);
        assert_eq!(set["StateDirectoryMode"], ["0700"]);
        assert_eq!(set["UMask"], ["0077"]);
        assert_ne!(set["User"], ["root"]);
        assert_eq!(set["ExecStart"], [format!("/usr/bin/cognate {role} run --config /etc/cognate/{role}.toml")]);
        let users = text("systemd/cognate.sysusers");
        assert!(users.contains(&format!("u {} ", set["User"][0])), "{users}");
        let state = format!("/var/lib/{}", set["StateDirectory"][0]);
        let configured: toml::Table = text(&format!("config/{role}.toml")).parse().unwrap();
        assert_eq!(configured["state_dir"].as_str(), Some(state.as_str()));
    }
}

#[test]
fn the_timer_of_backups_starts_a_backup_that_is_checked_before_old_ones_go() {
    let (unit, timer) = (text("systemd/cognate-backup.service"), text("systemd/cognate-backup.timer"));
    let set = assignments(&unit);
    assert_eq!(
        (&set["Type"][..], &set["User"][..], &set["UMask"][..]),
        (&["oneshot"][..], &["cognate"][..], &["0077"][..])
    );
    let command = set["ExecStart"][0].strip_prefix("/usr/bin/cognate ").unwrap();
    assert_eq!(command, "coordinator backup /var/backups/cognate --rotate 7 --config /etc/cognate/coordinator.toml");
    assert!(set["ReadWritePaths"][0].contains("/var/backups/cognate"));
    let set = assignments(&timer);
    assert_eq!((&set["Persistent"][..], &set["WantedBy"][..]), (&["true"][..], &["timers.target"][..]));
}

#[test]
fn systemd_accepts_the_units_and_finds_them_little_exposed() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        return not_checked("the units, since `systemd-analyze` is not installed");
    }
    let sandbox = Sandbox::new();
    let drop_in = text("systemd/cognate-worker.service.d/read-everything.conf");
    let drop_in = drop_in.split_once("[Service]\n").unwrap().1;
    for (role, more) in [("coordinator", ""), ("worker", ""), ("worker", drop_in), ("backup", "")] {
        let file = sandbox.path(format!("cognate-{role}.service"));
        let unit = text(&format!("systemd/cognate-{role}.service"))
            .replace("/usr/bin/cognate", cognate().to_str().unwrap())
            .replace("\n[Install]", &format!("{more}\n[Install]"));
        std::fs::write(&file, unit).unwrap();
        let verified = Command::new("systemd-analyze").arg("verify").arg(&file).output().unwrap();
        assert!(verified.status.success() && verified.stderr.is_empty(), "{verified:?}");
        let exposed = Command::new("systemd-analyze")
            .args(["security", "--offline=yes", "--threshold=20", "--no-pager"])
            .arg(&file)
            .output()
            .unwrap();
        assert!(exposed.status.success(), "{role}: {}", String::from_utf8_lossy(&exposed.stdout));
    }
}

// --- Configurations

/// The effective configuration of a daemon: key and value.
fn in_force(sandbox: &Sandbox, role: &str, config: &Path) -> BTreeMap<String, String> {
    let args = [role, "run", "--config", config.to_str().unwrap(), "--print-config"];
    let run = sandbox.cognate(args).expect(0);
    let pair = |line: &str| {
        let (key, rest) = line.split_once(" = ").unwrap();
        (key.to_owned(), rest.split_once("  # ").unwrap().0.to_owned())
    };
    run.text().lines().map(pair).collect()
}

#[test]
fn example_configurations_name_every_key_and_its_default() {
    let sandbox = Sandbox::new();
    let empty = sandbox.path("empty.toml");
    std::fs::write(&empty, "").unwrap();
    for (role, own) in [("coordinator", "names"), ("worker", "repository")] {
        let file = deployed(&format!("config/{role}.toml"));
        let mut example = in_force(&sandbox, role, &file);
        let mut default = in_force(&sandbox, role, &empty);
        assert_ne!(example.remove(own), default.remove(own));
        assert_eq!(example, default);
        // The file itself has each of them, with a comment.
        let written = text(&format!("config/{role}.toml"));
        for key in example.keys().map(|key| key.rsplit_once('.').map_or(key.as_str(), |(_, last)| last)) {
            let lines: Vec<&str> = written.lines().collect();
            let place = lines.iter().position(|line| line.starts_with(&format!("{key} = ")));
            let place = place.unwrap_or_else(|| panic!("`{key}` is not in {role}.toml"));
            assert!(lines[place - 1].starts_with("# "), "nothing is said about `{key}`");
        }
    }
}

/// A size with a unit, as units of systemd and configurations have it.
fn bytes(text: &str) -> i64 {
    let digits = text.trim_end_matches(|c: char| c.is_alphabetic());
    let unit = match text[digits.len()..].to_uppercase().trim_end_matches("IB") {
        "M" => 20,
        "G" => 30,
        unit => panic!("{unit}"),
    };
    digits.parse::<i64>().unwrap() << unit
}

#[test]
fn the_memory_of_a_worker_is_bounded_and_holds_eight_threads_that_read_text() {
    // `docs/operations.md`, Sizes.
    let needed = (1 << 30) + 8 * (448 << 20);
    let unit = text("systemd/cognate-worker.service");
    let set = assignments(&unit);
    let [high, most] = ["MemoryHigh", "MemoryMax"].map(|key| bytes(set[key][0]));
    assert!(needed < high && high < most, "{needed} of {most}");
    let sizes = std::fs::read_to_string(workspace().join("docs/operations.md")).unwrap();
    assert!(sizes.contains("at most a gibibyte; and 448 MiB for each of `threads` while text is read"));
}

#[test]
fn the_memory_of_a_coordinator_is_bounded_and_holds_what_its_defaults_need() {
    let config: toml::Table = text("config/coordinator.toml").parse().unwrap();
    let size = |key: &str| bytes(config[key].as_str().unwrap());
    let number = |key: &str| config[key].as_integer().unwrap();
    // `docs/operations.md`, Limits: with one site that sends as much as it may, and is then analysed, beside another analysis and two that wait for sites.
    let site = 160 * number("site_documents") + 120 * number("site_contents") + size("site_names");
    let scan = 600 * number("site_documents") + 2 * size("site_names");
    let needed = 4 * size("memory_budget") + site + scan + (256 << 20) + (64 << 20) + (128 << 20) + (32 << 20);
    let unit = text("systemd/cognate-coordinator.service");
    let set = assignments(&unit);
    let most = bytes(set["MemoryMax"][0]);
    assert!(needed < bytes(set["MemoryHigh"][0]) && bytes(set["MemoryHigh"][0]) < most, "{needed} of {most}");
    let compose: String = text("compose.yaml");
    let limit = compose.lines().find_map(|line| line.trim().strip_prefix("mem_limit: ")).unwrap();
    assert_eq!(bytes(limit), most);
}

// --- Containers

/// A word and what follows it.
type Instruction = (String, String);

/// Name, what it is based on, instructions.
type Stage = (String, String, Vec<Instruction>);

/// The instructions of a container file, with continued lines joined.
fn instructions(text: &str) -> Vec<Instruction> {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split_once(' ').unwrap()).map(|(name, rest)| (name.to_owned(), rest.to_owned())).collect()
}

/// The stages of a container file.
fn stages(text: &str) -> Vec<Stage> {
    let mut stages: Vec<Stage> = Vec::new();
    for (name, rest) in instructions(text) {
        if name == "FROM" {
            let (base, stage) = rest.split_once(" AS ").expect("every stage has a name");
            stages.push((stage.to_owned(), base.to_owned(), Vec::new()));
        } else {
            stages.last_mut().unwrap().2.push((name, rest));
        }
    }
    stages
}

#[test]
fn images_run_only_the_binary_without_privileges() {
    let file = text("container/Dockerfile");
    let stages = stages(&file);
    for role in ["coordinator", "worker"] {
        // The instructions of the stage after those of what it is based on.
        let (_, base, own) = stages.iter().find(|(name, ..)| name == role).unwrap();
        let (_, from, below) = stages.iter().find(|(name, ..)| name == base).unwrap();
        assert!(from.contains(':') && !from.contains("latest"), "`{from}` is not pinned");
        let all: Vec<&(String, String)> = below.iter().chain(own).collect();
        let last = |name: &str| {
            let found = all.iter().rfind(|(instruction, _)| instruction == name);
            found.map_or_else(|| panic!("{role} has no {name}"), |(_, rest)| rest.as_str())
        };
        let user: Vec<u32> = last("USER").split(':').map(|id| id.parse().unwrap()).collect();
        assert!(user.len() == 2 && user.iter().all(|id| *id > 0), "a number, not root");
        assert_eq!(last("STOPSIGNAL"), "SIGTERM");
        // Without a shell, the form that is a list is the only one that works.
        let entry: Vec<String> = serde_json::from_str(last("ENTRYPOINT")).unwrap();
        assert_eq!(entry, ["/usr/bin/cognate"]);
        let command: Vec<String> = serde_json::from_str(last("CMD")).unwrap();
        assert_eq!(command, [role, "run", "--config", &format!("/etc/cognate/{role}.toml")]);
        let health = last("HEALTHCHECK");
        let health: Vec<String> = serde_json::from_str(health.split_once("CMD ").unwrap().1).unwrap();
        assert_eq!(health[..3], ["/usr/bin/cognate", role, "health"]);
        assert_eq!(serde_json::from_str::<Vec<String>>(last("VOLUME")).unwrap(), ["/var/lib/cognate"]);
        let secrets = ["KEY", "SECRET", "TOKEN", "PASSWORD"];
        assert!(!secrets.iter().any(|word| last("ENV").to_uppercase().contains(word)));
    }
    assert!(text("container/Dockerfile.dockerignore").lines().any(|line| line == "target"));
}

#[test]
fn the_sites_of_the_compose_file_cannot_see_each_other() {
    let compose = yaml(&text("compose.yaml"));
    let services = compose["services"].as_object().unwrap();
    let networks_of = |name: &str| -> BTreeSet<&str> {
        services[name]["networks"].as_array().unwrap().iter().map(|network| network.as_str().unwrap()).collect()
    };
    let sites: Vec<&str> = services.keys().map(String::as_str).filter(|name| *name != "coordinator").collect();
    assert_eq!(sites.len(), 2);
    assert!(networks_of(sites[0]).is_disjoint(&networks_of(sites[1])));
    let mut coordinator = networks_of("coordinator");
    assert!(coordinator.remove("outside"), "its ports are open");
    let of_coordinator = &services["coordinator"];
    let published: Vec<&str> = of_coordinator["ports"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(published, ["7443:7443", "127.0.0.1:7480:7480"], "workers from anywhere, pages on this machine");
    assert_eq!(of_coordinator["environment"]["COGNATE_HTTP_LISTEN"], "0.0.0.0:7480");
    let targets: Vec<String> = stages(&text("container/Dockerfile")).into_iter().map(|(name, ..)| name).collect();
    for (name, service) in services {
        assert!(!networks_of(name).is_disjoint(&coordinator), "{name} reaches the coordinator");
        for network in networks_of(name).into_iter().filter(|network| *network != "outside" || name != "coordinator") {
            assert_eq!(compose["networks"][network]["internal"], true, "{network} leads nowhere else");
        }
        assert_eq!(service["read_only"], true);
        assert_eq!(service["cap_drop"], json!(["ALL"]));
        assert_eq!(service["security_opt"], json!(["no-new-privileges:true"]));
        assert_ne!(service["user"].as_str().unwrap().split(':').next().unwrap().parse::<u32>().unwrap(), 0);
        let grace: u64 = service["stop_grace_period"].as_str().unwrap().trim_end_matches('s').parse().unwrap();
        assert!(grace > DRAIN_SECONDS);
        assert!(targets.iter().any(|target| service["build"]["target"] == target.as_str()));
        assert!(deployed("").join(service["build"]["context"].as_str().unwrap()).join("Cargo.lock").is_file());
        for volume in service["volumes"].as_array().unwrap() {
            let parts: Vec<&str> = volume.as_str().unwrap().split(':').collect();
            if parts[0].starts_with('.') {
                assert!(deployed(parts[0]).canonicalize().is_ok(), "`{}` is not there", parts[0]);
                assert_eq!(parts[2], "ro", "what is mounted is only read");
            } else {
                assert!(compose["volumes"].as_object().unwrap().contains_key(parts[0]));
                assert_eq!(parts[1], "/var/lib/cognate");
            }
        }
    }
}

// --- Metrics

/// The names of our metrics in an expression, as they are registered: without what the format adds.
fn metrics(expression: &str) -> BTreeSet<String> {
    let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let name = |word: &str| {
        let word = word.strip_prefix("cognate_")?;
        let added = ["_bucket", "_sum", "_count", "_total", "_info"];
        Some(added.iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word).to_owned())
    };
    words.filter_map(name).collect()
}

/// True if the coordinator registers a metric: its name is a text of its own in the source.
fn is_exported(source: &str, metric: &str) -> bool {
    ["", "_total", "_info"].iter().any(|end| source.contains(&format!("\"{metric}{end}\"")))
}

fn metrics_source() -> String {
    std::fs::read_to_string(workspace().join("coordinator/server/src/metrics.rs")).unwrap()
}

#[test]
fn alerts_ask_for_metrics_that_there_are() {
    let rules = yaml(&text("prometheus/alerts.yaml"));
    let source = metrics_source();
    let mut seen = BTreeSet::new();
    for group in rules["groups"].as_array().unwrap() {
        for rule in group["rules"].as_array().unwrap() {
            let name = rule["alert"].as_str().unwrap();
            assert!(seen.insert(name.to_owned()), "two alerts are called {name}");
            let expression = rule["expr"].as_str().unwrap();
            assert_eq!(expression.matches('(').count(), expression.matches(')').count(), "{name}");
            for metric in metrics(expression) {
                assert!(is_exported(&source, &metric), "{name} asks for `cognate_{metric}`, which is not exported");
            }
            assert!(["info", "warning", "critical"].iter().any(|level| rule["labels"]["severity"] == *level));
            for said in ["summary", "action"] {
                assert!(rule["annotations"][said].as_str().is_some_and(|text| text.ends_with('.')), "{name}: {said}");
            }
        }
    }
    assert!(seen.len() >= 7);
}

#[test]
fn the_dashboard_shows_metrics_that_there_are() {
    let dashboard: Value = serde_json::from_str(&text("grafana/cognate.json")).unwrap();
    let source = metrics_source();
    let mut places = BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        let title = panel["title"].as_str().unwrap();
        let place = &panel["gridPos"];
        assert!(
            places.insert((place["x"].as_u64().unwrap(), place["y"].as_u64().unwrap())),
            "{title} overlaps another"
        );
        for target in panel["targets"].as_array().unwrap() {
            let used = metrics(target["expr"].as_str().unwrap());
            assert!(!used.is_empty(), "{title} shows nothing of ours");
            for metric in used {
                assert!(is_exported(&source, &metric), "{title} shows `cognate_{metric}`, which is not exported");
            }
        }
    }
}

#[test]
fn everything_that_is_deployed_is_looked_at_here() {
    let mut found = BTreeSet::new();
    let mut folders = vec![deployed("")];
    while let Some(folder) = folders.pop() {
        for path in names(&folder) {
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.strip_prefix(deployed("")).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    let source = include_str!("deploy.rs");
    for file in found {
        let shape = file.replace("coordinator.", "{role}.").replace("worker.", "{role}.");
        assert!(source.contains(&file) || source.contains(&shape), "no test looks at deploy/{file}");
    }
}
