//! Several federations at once, each a lane of rounds.

use std::any::Any;
use std::fmt::Display;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::outcome::ROUNDS;
use super::{Campaign, Outcome, Violation};
use crate::dice::Dice;

/// A clock that is behind by more than this was stopped: with the machine, or with all processes of the campaign.
const STANDSTILL_LEAST: Duration = Duration::from_secs(15);
static STANDSTILLS: AtomicU64 = AtomicU64::new(0);

/// How often everything stood still so far.
pub(super) fn standstills() -> u64 {
    STANDSTILLS.load(Ordering::Relaxed)
}

/// Counts standstills until the campaign is over.
fn watch_standstills(is_over: &AtomicBool) {
    let mut last = Instant::now();
    while !is_over.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(500));
        if last.elapsed() > STANDSTILL_LEAST {
            STANDSTILLS.fetch_add(1, Ordering::Relaxed);
        }
        last = Instant::now();
    }
}

/// What a campaign is to do.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The seed of a lane that runs alone; the seeds of several lanes are drawn from it.
    pub seed: u64,
    /// The number of federations at once.
    pub lanes: u64,
    /// The first round of each lane.
    pub first: u64,
    /// The number of rounds of all lanes together.
    pub rounds: u64,
    /// Whether every act is printed.
    pub is_told: bool,
}

/// One federation after the other: after a violation the next round has one of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    number: u64,
    pub(super) seed: u64,
}

/// Runs rounds. Each lane takes the next one while some are left, so that all end at about the same time; what a round does comes
/// from the seed of its lane and its number there alone.
pub fn run(plan: Plan) -> Outcome {
    let (taken, is_over) = (&AtomicU64::new(0), &AtomicBool::new(false));
    let mut outcome = Outcome::default();
    std::thread::scope(|scope| {
        scope.spawn(|| watch_standstills(is_over));
        let lanes: Vec<_> = plan.lanes().into_iter().map(|lane| scope.spawn(move || lane.run(plan, taken))).collect();
        for lane in lanes {
            outcome.add(lane.join().expect("panics of rounds are caught"));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    outcome
}

impl Plan {
    fn lanes(self) -> Vec<Lane> {
        let mut dice = Dice::new(self.seed);
        let seed = |_: u64| if self.lanes == 1 { self.seed } else { dice.roll() >> 32 };
        (0..self.lanes).map(seed).zip(0..).map(|(seed, number)| Lane { number, seed }).collect()
    }
}

impl Lane {
    fn run(self, plan: Plan, taken: &AtomicU64) -> Outcome {
        let mut outcome = Outcome::default();
        let (mut campaign, mut last_round) = (None, plan.first);
        for round in plan.first.. {
            let before = taken.fetch_add(1, Ordering::Relaxed);
            if before >= plan.rounds {
                break;
            }
            let began = Instant::now();
            let done = catch_unwind(AssertUnwindSafe(|| {
                campaign.get_or_insert_with(|| Campaign::begin(self.seed.wrapping_add(round))).begin_round(self, round);
            }));
            // A federation that cannot begin is a violation as well.
            let done = done.and_then(|()| {
                let now: &mut Campaign = campaign.as_mut().expect("it has begun");
                let told = now.history.len();
                let done = catch_unwind(AssertUnwindSafe(|| now.round(round)));
                if plan.is_told {
                    self.say(&now.history[told..]);
                }
                done
            });
            *outcome.counts.entry(ROUNDS.to_owned()).or_default() += 1;
            let verdict = if done.is_ok() { "holds" } else { "DOES NOT HOLD" };
            let seconds = began.elapsed().as_secs();
            self.say(&[format!("round {round}, number {} of all: {verdict}, after {seconds} s", before + 1)]);
            last_round = round;
            if let Err(panic) = done {
                self.violated(&mut outcome, campaign.take(), round, &*panic);
            }
        }
        // What a round leaves behind, at the latest the last check of all records finds.
        if let Some(mut last) = campaign {
            match catch_unwind(AssertUnwindSafe(|| last.check_records())) {
                Ok(()) => outcome.add(last.outcome),
                Err(panic) => self.violated(&mut outcome, Some(last), last_round, &*panic),
            }
        }
        outcome
    }

    /// Takes down what does not hold, and prints what led to it.
    fn violated(self, outcome: &mut Outcome, broken: Option<Campaign>, round: u64, panic: &(dyn Any + Send)) {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default();
        self.say(&[format!("VIOLATION: {text}"), "the history:".to_owned()]);
        if let Some(mut broken) = broken {
            broken.show(self, round);
            outcome.add(broken.outcome);
        }
        outcome.violations.push(Violation { lane: self.number, seed: self.seed, round, text });
    }

    /// Prints lines together, each with the lane and its seed.
    pub(super) fn say(self, lines: &[impl Display]) {
        let text: String =
            lines.iter().map(|line| format!("lane {} seed {}: {line}\n", self.number, self.seed)).collect();
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}
