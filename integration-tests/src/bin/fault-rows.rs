//! Prints docs/reliability.md: how well each row of the specification is tested. Arguments are files with the output of test runs.
//! `--page FILE` before them prints that page instead, docs/faults.md or docs/threats.md, with the result of every test that it names.

use std::process::ExitCode;

use cognate_integration_tests::rows::{ROWS, missing, page, parse, results, with_results};

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]
fn main() -> ExitCode {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let read = |path: &String| std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
    let own = if args.first().is_some_and(|first| first == "--page") {
        Some(args.drain(..2.min(args.len())).next_back())
    } else {
        None
    };
    let output: Result<Vec<String>, String> = args.iter().map(read).collect();
    let own = own.flatten().map(|path| read(&path)).transpose();
    let (rows, output, own) = match parse(ROWS).and_then(|rows| Ok((rows, output?, own?))) {
        Ok(all) => all,
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
    let (page, missing) = match own {
        Some(own) => with_results(&own, &results),
        None => {
            let missing = missing(&rows, &results).into_iter().map(str::to_owned).collect();
            (page(&rows, Some(&results)), missing)
        }
    };
    print!("{page}");
    missing.iter().for_each(|test| eprintln!("fault-rows: {test} failed or was not run"));
    if missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
