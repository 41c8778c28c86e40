//! `cognate` with failpoints, at which a test can end the process. Built only with the feature `failpoints`, never shipped.

fn main() -> std::process::ExitCode {
    cognate_cli::main()
}
