//! Rounds of faults and of acts of people over real processes, at random.

use cognate_integration_tests::binary::cognate_failpoints;
use cognate_integration_tests::campaign;
use cognate_integration_tests::dice::seed;

/// Rounds unless `COGNATE_ROUNDS` is the number of a long campaign, which tells every act; `COGNATE_ROUND` its first.
const ROUNDS: u64 = 6;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

#[test]
#[ignore = "it takes minutes: `.ci/nightly`"]
fn in_random_rounds_of_faults_nothing_acknowledged_is_lost_and_complete_scans_are_whole() {
    // Built now, and not while somebody waits for it.
    cognate_failpoints();
    let rounds = number("COGNATE_ROUNDS");
    let seed = seed(number("COGNATE_SEED").unwrap_or(1201));
    let outcome = campaign::run(seed, number("COGNATE_ROUND").unwrap_or(0), rounds.unwrap_or(ROUNDS), rounds.is_some());
    println!("seed {seed}: {:#?}", outcome.counts);
    assert!(outcome.violations.is_empty(), "seed {seed}: {:#?}", outcome.violations);
}
