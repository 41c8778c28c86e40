//! Prints docs/reliability.md: how well each row of the specification is tested. Arguments are files with the output of test runs.
//! `--page faults` or `--page threats` before them prints that page instead; with a run, it has the result of every test that it names.

use std::process::ExitCode;

use cognate_integration_tests::rows::{ROWS, missing, page, parse, results, with_results};

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]
fn main() -> ExitCode {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let read = |path: &String| std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
    let named = args.first().is_some_and(|first| first == "--page");
    let named = named.then(|| args.drain(..2.min(args.len())).next_back().unwrap_or_default());
    let table = |name: &String| match name.as_str() {
        "faults" => Ok(include_str!("../../../docs/faults.md")),
        "threats" => Ok(include_str!("../../../docs/threats.md")),
        _ => Err(format!("there is no page `{name}`: there are `faults` and `threats`")),
    };
    let output: Result<Vec<String>, String> = args.iter().map(read).collect();
    let table = named.as_ref().map(table).transpose();
    let (rows, output, table) = match parse(ROWS).and_then(|rows| Ok((rows, output?, table?))) {
        Ok(all) => all,
        Err(problem) => {
            eprintln!("fault-rows: {problem}");
            return ExitCode::from(2);
        }
    };
    if output.is_empty() {
        print!("{}", table.map_or_else(|| page(&rows, None), str::to_owned));
        return ExitCode::SUCCESS;
    }
    let results = results(&output.concat());
    let (page, missing) = match table {
        Some(table) => with_results(table, &results),
        None => {
            let missing = missing(&rows, &results).into_iter().map(str::to_owned).collect();
            (page(&rows, Some(&results)), missing)
        }
    };
    print!("{page}");
    missing.iter().for_each(|test| eprintln!("fault-rows: {test} failed or was not run"));
    if missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
