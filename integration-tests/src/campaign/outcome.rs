//! What came of a campaign.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// The outcome of a campaign.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What was done and found, with how often.
    pub counts: BTreeMap<String, u64>,
    /// The time of each step, of all rounds together.
    pub spent: BTreeMap<&'static str, Duration>,
    /// What does not hold.
    pub violations: Vec<Violation>,
}

/// Something that does not hold.
#[derive(Debug)]
pub struct Violation {
    /// The lane.
    pub lane: u64,
    /// Its seed.
    pub seed: u64,
    /// The round of the lane.
    pub round: u64,
    /// The sentence that says what does not hold.
    pub text: String,
}

impl Outcome {
    /// Adds what another part of the campaign did and found.
    pub(super) fn add(&mut self, other: Outcome) {
        other.counts.into_iter().for_each(|(what, count)| *self.counts.entry(what).or_default() += count);
        other.spent.into_iter().for_each(|(step, time)| *self.spent.entry(step).or_default() += time);
        self.violations.extend(other.violations);
    }

    /// The rounds that were run.
    pub fn rounds(&self) -> u64 {
        self.counts.get(ROUNDS).copied().unwrap_or_default()
    }
}

/// The name of the count of rounds.
pub(super) const ROUNDS: &str = "rounds";

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "what was done and found")?;
        self.counts.iter().try_for_each(|(what, count)| writeln!(f, "{count:>8}  {what}"))?;
        writeln!(f, "seconds of each round, by step")?;
        let rounds = self.rounds().max(1) as f64;
        self.spent.iter().try_for_each(|(step, time)| writeln!(f, "{:>8.1}  {step}", time.as_secs_f64() / rounds))?;
        writeln!(f, "{} violations in {} rounds", self.violations.len(), self.rounds())?;
        self.violations.iter().try_for_each(|one| {
            writeln!(f, "  lane {}, COGNATE_SEED={} COGNATE_ROUND={}: {}", one.lane, one.seed, one.round, one.text)
        })
    }
}
