//! Prints docs/reliability.md: how well each row of the specification is tested. Arguments are files with the output of test runs.

use std::process::ExitCode;

use cognate_integration_tests::rows::{ROWS, missing, page, parse, results};

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]
fn main() -> ExitCode {
    let read = |path: String| std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"));
    let output: Result<Vec<String>, String> = std::env::args().skip(1).map(read).collect();
    let (rows, output) = match parse(ROWS).and_then(|rows| Ok((rows, output?))) {
        Ok(both) => both,
        Err(problem) => {
            eprintln!("fault-rows: {problem}");
            return ExitCode::from(2);
        }
    };
    if output.is_empty() {
        print!("{}", page(&rows, None));
        return ExitCode::SUCCESS;
    }
    let results = results(&output.concat());
    print!("{}", page(&rows, Some(&results)));
    let missing = missing(&rows, &results);
    missing.iter().for_each(|test| eprintln!("fault-rows: {test} failed or was not run"));
    if missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
