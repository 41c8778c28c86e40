//! Names the commit in the version, where there is one, and has the linker keep one of several functions with the same code: generic code has many, 3 % of the binary.
//!
//! Only where the toolchain links with LLD by itself, which knows the option. The language promises no function an address of
//! its own.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    name_the_commit();
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let own_linker = env::var_os("RUSTC_LINKER").is_some()
        || env::var("CARGO_ENCODED_RUSTFLAGS").is_ok_and(|flags| flags.contains("link"));
    if is("TARGET", "x86_64-unknown-linux-gnu") && is("PROFILE", "release") && !own_linker {
        println!("cargo:rustc-link-arg-bins=-Wl,--icf=all");
    }
}

/// `COGNATE_VERSION` is the version, and the commit if this is a checkout with `git` at hand.
fn name_the_commit() {
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let commit = git(&["rev-parse", "--short=12", "HEAD"]);
    // A commit, and a change of branch, append a line to this file.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    let version = commit.map_or(version.clone(), |commit| format!("{version} ({commit})"));
    println!("cargo:rustc-env=COGNATE_VERSION={version}");
}

/// The first line of what `git` answers.
fn git(words: &[&str]) -> Option<String> {
    let answer = Command::new("git").args(words).output().ok().filter(|answer| answer.status.success())?;
    let text = String::from_utf8(answer.stdout).ok()?;
    text.lines().next().map(str::to_owned).filter(|line| !line.is_empty())
}
