//! Damaged inputs for readers of outside bytes, for tests. No program that is shipped contains this crate.
//!
//! **It promises** that a target which panics, takes longer than [`SECONDS_MAX`] of the processor for one input, or grows the process by more than
//! [`BYTES_MAX`], fails, and that the input is in a file which the message names.
//!
//! **It must not know** what is read. A target answers in a word or a sentence; an input with a new answer is kept and mutated further, which leads
//! step by step into the reader.
//!
//! Read [`run`] first: every file of a committed corpus, then mutations.
//!
//! | variable | meaning |
//! |---|---|
//! | `COGNATE_FUZZ_SECONDS` | seconds of the processor for each target, with a line about each; otherwise a few hundred inputs |
//! | `COGNATE_FUZZ_SEED` | another seed than 1 |
//! | `COGNATE_FUZZ_KEEP` | if set, inputs with new answers are added to the corpus |

mod dice;
mod mutate;

use std::collections::HashSet;
use std::io::Write as _;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use dice::Dice;
use mutate::Mutator;
use rustix::time::{ClockId, clock_gettime};

/// Seconds of the processor that a target may take for one input, in a build without optimisation.
pub const SECONDS_MAX: u64 = 10;
/// Bytes by which a process may grow.
pub const BYTES_MAX: u64 = 1 << 30;
/// Inputs of a run without a time.
const INPUTS: u64 = 400;
/// The longest input that is mutated or kept in memory, in bytes.
const INPUT_BYTES_MAX: usize = 64 << 10;
/// The most answers that are told apart, and the bytes of the inputs that are mutated: a reader that repeats its input in its answer has a new one
/// for each, and would fill the memory.
const ANSWERS_MAX: usize = 1 << 12;
const POOL_BYTES_MAX: usize = 64 << 20;
/// The longest input that is added to a corpus, and how many it has at most.
const KEPT_BYTES_MAX: usize = 1 << 9;
const KEPT_MAX: usize = 12;

/// A run of a target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ran {
    /// Number of inputs.
    pub inputs: u64,
    /// Number of different answers.
    pub answers: usize,
}

/// Runs a target: `corpus` is the folder of its corpus, `valid` are inputs to begin with.
///
/// # Panics
/// Panics if the target does, or takes too long or too much memory; the message names the seed and a file with the input.
pub fn run(name: &str, corpus: &Path, valid: &[Vec<u8>], target: impl FnMut(&[u8]) -> String) -> Ran {
    let setting = |variable: &str| std::env::var(variable).ok().and_then(|value| value.parse::<u64>().ok());
    Run {
        name,
        time: setting("COGNATE_FUZZ_SECONDS").map(Duration::from_secs),
        seed: setting("COGNATE_FUZZ_SEED").unwrap_or(1),
        corpus: std::env::var_os("COGNATE_FUZZ_KEEP").map(|_| corpus.to_owned()),
        answers: HashSet::new(),
        inputs: 0,
        pool: Vec::new(),
        target,
    }
    .run(corpus, valid)
}

struct Run<'a, T> {
    name: &'a str,
    /// Time of the processor; none for a number of inputs.
    time: Option<Duration>,
    seed: u64,
    corpus: Option<PathBuf>,
    answers: HashSet<String>,
    inputs: u64,
    pool: Vec<Vec<u8>>,
    target: T,
}

impl<T: FnMut(&[u8]) -> String> Run<'_, T> {
    fn run(mut self, corpus: &Path, valid: &[Vec<u8>]) -> Ran {
        let (before, began, used) = (resident_bytes(), Instant::now(), processor_time());
        let mut kept = 0;
        for path in files(corpus) {
            let input = std::fs::read(&path).expect("the corpus can be read");
            self.give(&input);
            self.pool.push(input);
            kept += 1;
        }
        for input in valid {
            self.give(input);
            self.pool.push(input.clone());
        }
        assert!(!self.pool.is_empty(), "{} has nothing to begin with", self.name);
        let mut mutator = Mutator::new(self.seed);
        let mut pool_bytes: usize = self.pool.iter().map(Vec::len).sum();
        while self.time.map_or(self.inputs < INPUTS, |time| processor_time() - used < time) {
            let mut input = mutator.mutated(&self.pool);
            input.truncate(INPUT_BYTES_MAX);
            if self.give(&input) {
                if let Some(folder) = self.corpus.as_ref().filter(|_| input.len() <= KEPT_BYTES_MAX && kept < KEPT_MAX)
                {
                    std::fs::create_dir_all(folder).expect("the corpus can be written");
                    std::fs::write(folder.join(format!("{kept:02}")), &input).expect("the corpus can be written");
                    kept += 1;
                }
                if pool_bytes + input.len() <= POOL_BYTES_MAX {
                    pool_bytes += input.len();
                    self.pool.push(input);
                }
            }
        }
        let grown = resident_bytes().saturating_sub(before);
        assert!(grown < BYTES_MAX, "{}: it grew by {grown} bytes, seed {}", self.name, self.seed);
        if self.time.is_some() {
            let (seconds, answers) = (began.elapsed().as_secs(), self.answers.len());
            let processor = (processor_time() - used).as_secs();
            // Written past the harness, which keeps the output of a test that passes.
            let _ = writeln!(
                std::io::stderr(),
                "{}: {} inputs of seed {} in {processor} s of the processor and {seconds} s, {answers} different answers",
                self.name,
                self.inputs,
                self.seed
            );
        }
        Ran { inputs: self.inputs, answers: self.answers.len() }
    }

    /// Gives an input to the target. Answers whether what it says is new.
    fn give(&mut self, input: &[u8]) -> bool {
        self.inputs += 1;
        // In long runs, also what ends the process at once leaves its input.
        if self.time.is_some() {
            self.keep(input, "last");
        }
        let (name, seed, number) = (self.name, self.seed, self.inputs);
        let mut ran = || {
            let began = processor_time();
            let answer = std::panic::catch_unwind(AssertUnwindSafe(|| (self.target)(input)));
            answer.map(|answer| (answer, processor_time() - began > Duration::from_secs(SECONDS_MAX)))
        };
        // Other programs on the same core slow a thread down as well: slow is what is slow twice.
        let answer = match ran() {
            Ok((_, true)) => ran(),
            ran => ran,
        };
        match answer {
            Err(_) => panic!("{name}: input {number} of seed {seed} in `{}`", self.keep(input, "panic").display()),
            Ok((_, true)) => {
                panic!("{name}: input {number} of seed {seed} is slow: `{}`", self.keep(input, "slow").display())
            }
            Ok((answer, false)) => self.answers.len() < ANSWERS_MAX && self.answers.insert(shape(&answer)),
        }
    }

    fn keep(&self, input: &[u8], kind: &str) -> PathBuf {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let path = folder.join(format!("cognate-fuzz-{}-{kind}", self.name.replace(' ', "-")));
        std::fs::write(&path, input).expect("the temporary folder can be written");
        path
    }
}

/// An answer without its numbers and names, so that there are few different ones.
fn shape(answer: &str) -> String {
    let mut shape = String::new();
    let mut is_quoted = false;
    for letter in answer.chars().take(400) {
        match letter {
            '`' => is_quoted = !is_quoted,
            _ if is_quoted || letter.is_ascii_digit() => {}
            _ => shape.push(letter),
        }
    }
    shape
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("the corpus can be read").path()).collect();
    files.sort();
    files
}

/// Time that the processor spent on this thread.
fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader with a fault three steps inside.
    fn faulty(input: &[u8]) -> String {
        match input {
            [b'C', b'G', third, ..] if *third >= 200 => panic!("the fault"),
            [b'C', b'G', ..] => "the magic".to_owned(),
            [b'C', ..] => "half of the magic".to_owned(),
            _ => "nothing".to_owned(),
        }
    }

    #[test]
    fn a_fault_behind_several_steps_is_found_from_a_seed() {
        let found = std::panic::catch_unwind(|| {
            let time = Some(Duration::from_secs(60));
            let (answers, pool) = (HashSet::new(), vec![]);
            let run = Run { name: "faulty", time, seed: 1, corpus: None, answers, inputs: 0, pool, target: faulty };
            run.run(Path::new("/nonexistent"), &[b"xyz, and more".to_vec()])
        });
        let message = *found.unwrap_err().downcast::<String>().unwrap();
        assert!(message.contains("seed 1"), "{message}");
        let input = std::fs::read(message.split('`').nth(1).unwrap()).unwrap();
        assert!(input.starts_with(b"CG") && input[2] >= 200, "{input:?}");
    }

    #[test]
    fn a_run_has_seconds_of_the_processor_and_not_of_the_clock() {
        let run = |wait: Duration| {
            let (answers, pool) = (HashSet::new(), vec![]);
            // A message that never comes.
            let (_sender, receiver) = std::sync::mpsc::channel::<()>();
            let target = |_: &[u8]| format!("{:?}", receiver.recv_timeout(wait));
            let time = Some(Duration::from_millis(5));
            let run = Run { name: "waiting", time, seed: 1, corpus: None, answers, inputs: 0, pool, target };
            let (began, used) = (Instant::now(), processor_time());
            run.run(Path::new("/nonexistent"), &[b"made".to_vec()]);
            (began.elapsed(), processor_time() - used)
        };
        let (clock, processor) = run(Duration::from_millis(5));
        assert!(processor >= Duration::from_millis(5) && clock > 3 * processor, "{clock:?} {processor:?}");
    }

    #[test]
    fn a_reader_that_repeats_its_input_has_no_more_answers_than_are_told_apart() {
        let mut inputs = 0_u32;
        let target = |_: &[u8]| {
            inputs += 1;
            (0..u32::BITS).map(|bit| if inputs >> bit & 1 == 1 { 'x' } else { 'y' }).collect()
        };
        let time = Some(Duration::from_secs(1));
        let (answers, pool) = (HashSet::new(), vec![]);
        let run = Run { name: "repeating", time, seed: 1, corpus: None, answers, inputs: 0, pool, target };
        let ran = run.run(Path::new("/nonexistent"), &[b"made".to_vec()]);
        assert!(ran.inputs > ANSWERS_MAX as u64, "{ran:?}");
        assert_eq!(ran.answers, ANSWERS_MAX);
    }

    #[test]
    fn a_corpus_is_replayed_and_answers_are_counted_without_their_numbers() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("00"), b"committed").unwrap();
        let mut first = None;
        let ran = run("counting", folder.path(), &[b"made".to_vec()], |input| {
            first.get_or_insert_with(|| input.to_vec());
            format!("{} bytes of `{}`", input.len(), input.len() % 7)
        });
        assert_eq!((first.as_deref(), ran.answers), (Some(&b"committed"[..]), 1));
        assert!(ran.inputs >= 2);
    }
}
