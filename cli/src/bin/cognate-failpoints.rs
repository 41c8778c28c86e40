//! `cognate` with failpoints, at which a test can end the process, and with errors of the disk. Built only with the feature
//! `failpoints`, never shipped.

fn main() -> std::process::ExitCode {
    if let Err(problem) = cognate_disk_faults::errors::inject_from_environment() {
        panic!("{problem}");
    }
    cognate_disk_faults::errors::watch_from_environment();
    let _points = fail::FailScenario::setup();
    cognate_durable::failpoint::call(reached);
    cognate_cli::main()
}

/// Ends the process at a point that `FAILPOINTS` names.
fn reached(name: &str) {
    fail::fail_point!(name, |_| std::process::abort());
}
