//! Rounds of faults and of acts of people over real processes, at random.

use cognate_integration_tests::binary::cognate_failpoints;
use cognate_integration_tests::campaign::{self, Plan};
use cognate_integration_tests::dice::seed;

/// Rounds unless `COGNATE_ROUNDS` is the number of a long campaign, which tells every act; `COGNATE_ROUND` its first.
const ROUNDS: u64 = 6;
/// Federations at once unless `COGNATE_LANES` is their number. One alone, with the seed of a lane, repeats what that lane did.
const LANES: u64 = 3;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

#[test]
#[ignore = "it takes minutes: `.ci/nightly`"]
fn in_random_rounds_of_faults_nothing_acknowledged_is_lost_and_complete_scans_are_whole() {
    // Built now, and not while somebody waits for it.
    cognate_failpoints();
    let rounds = number("COGNATE_ROUNDS");
    let plan = Plan {
        seed: seed(number("COGNATE_SEED").unwrap_or(1201)),
        lanes: number("COGNATE_LANES").unwrap_or(LANES).max(1),
        first: number("COGNATE_ROUND").unwrap_or(0),
        rounds: rounds.unwrap_or(ROUNDS),
        is_told: rounds.is_some(),
    };
    let outcome = campaign::run(plan);
    println!("{plan:?}\n{outcome}");
    assert!(outcome.violations.is_empty(), "{plan:?}\n{outcome}");
    assert_eq!(outcome.rounds(), plan.rounds);
}
