//! `cognate` with points at which a test can end it: built with the feature `failpoints` only, and never shipped.

fn main() -> std::process::ExitCode {
    cognate_cli::main()
}
