//! Has the linker keep one of several functions with the same code: generic code has many, 3 % of the binary.
//!
//! Only where the toolchain links with LLD by itself, which knows the option. The language promises no function an address of
//! its own.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let own_linker = env::var_os("RUSTC_LINKER").is_some()
        || env::var("CARGO_ENCODED_RUSTFLAGS").is_ok_and(|flags| flags.contains("link"));
    if is("TARGET", "x86_64-unknown-linux-gnu") && is("PROFILE", "release") && !own_linker {
        println!("cargo:rustc-link-arg-bins=-Wl,--icf=all");
    }
}
