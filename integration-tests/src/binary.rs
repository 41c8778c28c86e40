//! The binary under test, built once for each test process.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The folder of the workspace.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a crate of the workspace has a parent")
}

/// Cargo, as the tests themselves were built with.
pub fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into()));
    cargo.current_dir(workspace()).stdin(Stdio::null());
    cargo
}

/// The path of the `cognate` binary. The first call builds it, so that a fresh clone needs nothing but `cargo test`.
pub fn cognate() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| build("cognate", &[]))
}

/// Builds the laboratory beside the binary, which starts it.
pub fn build_laboratory() {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    // Together with the binary, so that what both need is built once.
    PATH.get_or_init(|| build("cognate-evaluate", &["-p", "cognate-evaluation"]));
}

/// The path of the same program with points at which it can be made to fail.
pub fn cognate_failpoints() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    let feature = if cfg!(debug_assertions) { "failpoints" } else { "failpoints-in-release" };
    PATH.get_or_init(|| build("cognate-failpoints", &["--features", feature]))
}

/// A folder with both binaries, which are used as they are: those of a release, or those that a long run began with.
const BUILT: &str = "COGNATE_TEST_BINARIES";

fn build(name: &str, args: &[&str]) -> PathBuf {
    if let Some(folder) = std::env::var_os(BUILT) {
        return PathBuf::from(folder).join(name);
    }
    let mut cargo = cargo();
    cargo.args(["build", "--quiet", "-p", "cognate-cli", "--bin", name, "--message-format", "json"]).args(args);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let output = cargo.stderr(Stdio::inherit()).output().expect("cargo can be started");
    assert!(output.status.success(), "the binary under test cannot be built");
    let messages = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
    let executable = |line: &str| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_ours = message["target"]["name"] == name;
        message["executable"].as_str().filter(|_| is_ours).map(PathBuf::from)
    };
    messages.lines().find_map(executable).expect("cargo says where it put the binary")
}
