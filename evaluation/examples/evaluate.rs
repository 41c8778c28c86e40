//! Runs an experiment without the rest of the program: `evaluate EXPERIMENT OUT [CORPUS] [--full]`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that says what it does")]

use std::path::PathBuf;

use cognate_evaluation::{Experiment, Setting};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (options, words): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let [name, out, rest @ ..] = words.as_slice() else {
        return Err("evaluate EXPERIMENT OUT [CORPUS] [--full]".into());
    };
    let experiment = Experiment::named(name).ok_or("no such experiment")?;
    let corpus = rest.first().map(PathBuf::from);
    let progress = |what: &str, done: u64, total: u64| {
        eprintln!("{what} {done}/{total}");
        true
    };
    let full = options.iter().any(|option| option == "--full");
    let setting =
        Setting { corpus: corpus.as_deref(), pairs: &[], office_set: false, full, seed: 1, progress: &progress };
    let findings = experiment.run(&setting)?;
    cognate_evaluation::write(name, &findings, &PathBuf::from(out))?;
    for row in &findings.comparisons {
        println!("{:?}: {} | {} | {}", row.agreement, row.what, row.paper, row.ours);
    }
    Ok(())
}
