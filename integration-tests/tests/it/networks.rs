//! Networks that lose packets, and names that lead elsewhere: both need namespaces of the system, so that nobody else notices.

use std::path::Path;
use std::process::{Command, Stdio};

use cognate_integration_tests::proxy::Way;
use cognate_integration_tests::sandbox::wait_until;
use cognate_integration_tests::tree::edited;
use cognate_integration_tests::{Federation, Files, Running, not_checked};

/// Set in the process of this test that has a network of its own.
const WITHIN: &str = "COGNATE_TEST_WITHIN_NETWORK";
/// Loses every twentieth packet, of either direction, at random. Those that are sent again come out of order, and twice where an
/// acknowledgement was lost.
const LOSING: &str = "ip link set lo mtu 1500 up && nft add table ip lossy \
    && nft add chain ip lossy input '{ type filter hook input priority 0; }' \
    && nft add rule ip lossy input meta l4proto tcp numgen random mod 100 '<' 5 counter drop && exec \"$0\" \"$@\"";

/// A program in a network of its own that loses packets.
fn in_lossy_network(program: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.args(["-n", "sh", "-c", LOSING]).arg(program);
    command
}

/// Number of packets that were lost here.
fn lost_packets() -> u64 {
    let listed = Command::new("nft").args(["list", "table", "ip", "lossy"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let mut words = listed.split_whitespace().skip_while(|word| *word != "packets");
    words.nth(1).and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no count: {listed}"))
}

#[test]
fn a_network_that_loses_every_twentieth_packet_only_takes_longer() {
    if std::env::var_os(WITHIN).is_none() {
        let mut probe = in_lossy_network(Path::new("true"));
        if !probe.stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
            return not_checked("packets that are lost: unshare, ip and nft are not all installed, or not allowed");
        }
        let mut test = in_lossy_network(&std::env::current_exe().unwrap());
        let name = "networks::a_network_that_loses_every_twentieth_packet_only_takes_longer";
        test.args(["--exact", name, "--nocapture"]).env(WITHIN, "1");
        assert!(test.status().unwrap().success());
        return;
    }
    let mut federation = Federation::new(1801);
    let common: Vec<Vec<u8>> = (0..10).map(|_| federation.dice.bytes(60_000)).collect();
    for name in ["a", "b"] {
        let content =
            |(number, content): (usize, &Vec<u8>)| (number.to_string(), edited(&mut federation.dice, content.clone()));
        let files: Files = common.iter().enumerate().map(content).collect();
        federation.add(name, &files);
    }
    federation.sandbox.settle();
    federation.start_all();
    let more = ["--chunk-bytes", "80"];
    federation.check(federation.scan(&more), &more);
    let sent: u64 = ["a", "b"].iter().map(|name| federation.site(name).line().bytes(Way::Up)).sum();
    assert!(lost_packets() >= 10, "{} packets lost of {sent} bytes say nothing", lost_packets());
    for name in ["a", "b"] {
        federation.worker(name, &["ledger", "verify"]).expect(0);
    }
}

/// The worker of `a`, for which names are those of a file. It starts in a mount namespace of its own, where that is allowed.
fn worker_with_names(federation: &Federation, hosts: &Path) -> Option<Running> {
    let nobody = federation.sandbox.path("resolv.conf");
    std::fs::write(&nobody, "").unwrap();
    let script = "mount --bind \"$1\" /etc/hosts && mount --bind \"$2\" /etc/resolv.conf && shift 2 && exec \"$@\"";
    let within = |command: &mut Command| {
        command.args(["-m", "sh", "-c", script, "sh"]).args([hosts, &nobody]);
    };
    let mut probe = Command::new("unshare");
    within(&mut probe);
    if !probe.arg("true").stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
        return None;
    }
    let mut command = Command::new("unshare");
    within(&mut command);
    command.arg(cognate_integration_tests::binary::cognate()).args(["worker", "run", "--config"]);
    command.arg(federation.site("a").config()).args(["--log-level", "info", "--log-format", "compact"]);
    Some(federation.sandbox.spawn(command))
}

#[test]
fn a_coordinator_whose_name_leads_nowhere_and_then_elsewhere_is_found_there() {
    const NAME: &str = "coordinator.test";
    let mut federation = Federation::prepared(1802);
    let config = std::fs::read_to_string(federation.coordinator_config()).unwrap();
    let config = config.replace("\nnames = [", &format!("\nnames = [\"{NAME}\", "));
    std::fs::write(federation.coordinator_config(), config).unwrap();
    federation.init();
    federation.start_coordinator();
    let files: Files = (0..10).map(|number| (number.to_string(), federation.dice.bytes(3000))).collect();
    federation.add("a", &files);
    federation.sandbox.settle();
    let (first, second) = (federation.site("a").line().address(), federation.address(1));
    assert_eq!(first.port(), second.port(), "a name has no port of its own");
    std::fs::write(federation.site("a").state().join("addresses"), format!("{NAME}:{}\n", first.port())).unwrap();
    let hosts = federation.sandbox.path("hosts");
    // Into the same file: another one under its name would not be the one that is mounted.
    let leads_to = |line: &str| std::fs::write(&hosts, line).unwrap();
    leads_to(&format!("{} {NAME}\n", first.ip()));
    let Some(mut worker) = worker_with_names(&federation, &hosts) else {
        return not_checked("a name that leads elsewhere: files cannot be mounted");
    };
    federation.wait_attached("a");
    let line = federation.site("a").line();
    assert!(line.connections() >= 1, "the name leads to the line");
    let before = worker.stderr().len();
    leads_to("");
    line.cut();
    wait_until("the name leads nowhere", || worker.stderr()[before..].contains("lookup"));
    assert!(!worker.ends_within(std::time::Duration::ZERO), "{}", worker.stderr());
    let made = line.connections();
    leads_to(&format!("{} {NAME}\n", second.ip()));
    federation.wait_attached("a");
    federation.check(federation.scan(&[]), &[]);
    assert_eq!(federation.site("a").line().connections(), made, "it goes to the new address");
    worker.signal(rustix::process::Signal::TERM);
    worker.ended().expect(0);
}
