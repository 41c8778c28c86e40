//! Runs a soak of twenty sites: `soak PICTURE.svg`. `COGNATE_SOAK_MINUTES` is its length, 60 by default, `COGNATE_SOAK_SITES` the number
//! of sites, `COGNATE_SOAK_HOSTILE` that of hostile ones among them, `COGNATE_SEED` its seed. It prints a line a minute, and ends with 1 if a scan fails or something grows without an end.

use std::process::ExitCode;
use std::time::Duration;

use cognate_integration_tests::soak::{Size, draw, growth, run};

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[expect(clippy::print_stderr, clippy::print_stdout, reason = "it is a program")]
fn main() -> ExitCode {
    let Some(picture) = std::env::args().nth(1) else {
        eprintln!("usage: soak PICTURE.svg");
        return ExitCode::from(2);
    };
    let (seed, minutes) = (number("COGNATE_SEED", 1), number("COGNATE_SOAK_MINUTES", 60));
    let sites = u8::try_from(number("COGNATE_SOAK_SITES", 20)).unwrap_or(20);
    let hostile = u8::try_from(number("COGNATE_SOAK_HOSTILE", 0)).unwrap_or(0);
    // Old results go every ten minutes: what is kept longer still grows in the last quarter of a short soak.
    let keep_scans = if minutes < 60 { "2m" } else { "15m" };
    let size = Size { sites, hostile, samples: minutes, interval: Duration::from_secs(60), keep_scans };
    println!("seed {seed}, {sites} sites, {minutes} minutes");
    let samples = match run(seed, size, &mut std::io::stdout()) {
        Ok(samples) => samples,
        Err(problem) => {
            eprintln!("soak: {problem}");
            return ExitCode::FAILURE;
        }
    };
    let title = format!("A soak of {sites} sites, a scan a minute for {minutes} minutes");
    if let Err(error) = std::fs::write(&picture, draw(&samples, &title)) {
        eprintln!("soak: {picture}: {error}");
        return ExitCode::FAILURE;
    }
    let grown = growth(&samples);
    grown.iter().for_each(|what| eprintln!("soak: {what}"));
    if grown.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
