//! Makes `integration-tests/advisories.txt` from a clone of `github.com/rustsec/advisory-db`: `advisories FOLDER`.

use std::process::ExitCode;

use cognate_integration_tests::advisories::copy;
use cognate_integration_tests::binary::workspace;

#[expect(clippy::print_stderr, reason = "it is a program")]
fn main() -> ExitCode {
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("usage: advisories FOLDER");
        return ExitCode::from(2);
    };
    let file = workspace().join("integration-tests/advisories.txt");
    let written = copy(folder.as_ref())
        .and_then(|copy| std::fs::write(&file, copy).map_err(|error| format!("{}: {error}", file.display())));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("advisories: {problem}");
            ExitCode::FAILURE
        }
    }
}
