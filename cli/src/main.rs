//! `cognate`: see the library of this crate.

fn main() -> std::process::ExitCode {
    cognate_cli::main()
}
