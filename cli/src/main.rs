//! `cognate`: see the library beside this.

fn main() -> std::process::ExitCode {
    cognate_cli::main()
}
