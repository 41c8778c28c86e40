//! How long a run of bytes must be that two documents share for it to be found.
//!
//! **Methods that cut** find a run when it covers at least one chunk that both documents have. A document's cuts depend on
//! what stands around the run, so that two chunkers which come from different sides must first fall into step; then comes a
//! whole chunk. Where a fingerprint behaves like a random function, a place is a cut or a candidate for one by chance, and
//! the same chance for both documents as soon as the window lies inside the run. [`Runs::of`] throws these dice: two
//! histories of their own, one run in common, and how far into it the first common chunk ends. A chunk that ends for want
//! of a better place is counted only when the run reaches as far as that place was looked for. [`Runs::of`] so speaks of
//! bytes without repeats; [`Runs::observed`] speaks of given documents: for places spread evenly over them, the distance
//! to the end of the first whole chunk after the place, as their own chunks lie, and on top of it what falling into step
//! took in one of the throws.
//!
//! **Methods that sample** (`mod`, `shingle` with MOD) find a run when one of its windows is kept: of `L - w + 1` windows
//! each is with a chance of 1 in n. **Methods whose signatures have a fixed size** find documents that are alike, and no
//! runs: nothing can be said.
//!
//! The seed is fixed and nothing but additions and multiplications is done, so that every machine finds the same numbers.

use crate::method::Method;
use crate::method::shingle::{Sample, Shingle};
use crate::recipe::Recipe;
use crate::tttd::{self, Parameters};

/// How often the dice are thrown: the share of 99 % is then right to a fifth of a percent.
const THROWS: usize = 4096;
/// How many places of given documents are looked at, at most.
const PLACES: u64 = 1 << 14;
/// A run is followed for at most so many greatest chunks.
const REACH_CHUNKS: i64 = 64;
/// A chunker has forgotten where it began after so many greatest chunks.
const HISTORY_CHUNKS: i64 = 4;

/// The lengths of shared runs, in bytes, that are found with a probability of 50, 95 and 99 %. `None`: no run that the
/// documents have room for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RunLengths {
    /// Every second one is found.
    pub p50: Option<u64>,
    /// Of twenty, one is missed.
    pub p95: Option<u64>,
    /// Of a hundred, one is missed.
    pub p99: Option<u64>,
}

impl RunLengths {
    fn each(mut length: impl FnMut(f64) -> Option<u64>) -> RunLengths {
        RunLengths { p50: length(0.5), p95: length(0.95), p99: length(0.99) }
    }
}

/// What a method finds of shared runs.
#[derive(Clone, Debug)]
pub struct Runs {
    lengths: RunLengths,
    /// What falling into step took in each throw, where the method cuts.
    steps: Vec<u64>,
}

impl Runs {
    /// What a method finds of runs without repeats; `None` where nothing can be said.
    pub fn of(method: &Method) -> Option<Runs> {
        match method {
            Method::Tttd { chunk_bytes, .. } => Some(thrown(&Cutter::tttd(Parameters::for_mean(*chunk_bytes)))),
            Method::Other { recipe, .. } => of_recipe(recipe),
        }
    }

    /// The lengths for bytes without repeats.
    pub fn lengths(&self) -> RunLengths {
        self.lengths
    }

    /// The lengths for runs of given documents, each told as the lengths of its chunks in their order; those for bytes
    /// without repeats where the method does not cut.
    pub fn observed<'a>(&self, documents: impl Iterator<Item = &'a [u32]> + Clone) -> RunLengths {
        if self.steps.is_empty() {
            return self.lengths;
        }
        let sizes = documents.clone().map(|lengths| lengths.iter().copied().map(u64::from).sum::<u64>());
        let stride = sizes.sum::<u64>().div_ceil(PLACES).max(1);
        let mut places = Places { stride, next: stride / 2, ..Places::default() };
        documents.for_each(|lengths| places.look_at(lengths, &self.steps));
        places.lengths()
    }
}

fn of_recipe(recipe: &Recipe) -> Option<Runs> {
    let sampled = |one_in: u32, windows_before: u64, bytes_each: u64| {
        let length = |p| Some((windows_before + draws_until(one_in, p)) * bytes_each);
        Some(Runs { lengths: RunLengths::each(length), steps: Vec::new() })
    };
    match recipe {
        Recipe::Mod(windowed) => sampled(windowed.n, u64::from(windowed.w) - 1, 1),
        Recipe::BswChunk(windowed) | Recipe::Bsw(windowed) => {
            Some(thrown(&Cutter::windows(windowed.w, windowed.n, recipe.chunk_bytes_max())))
        }
        Recipe::Shingle(Shingle { tokens, w, sample, .. }) => match sample {
            Sample::Mod { m } => sampled(*m, u64::from(*w) - 1, tokens.mean_bytes()),
            Sample::All => sampled(1, u64::from(*w) - 1, tokens.mean_bytes()),
            Sample::Min { .. } | Sample::MinOfMod { .. } | Sample::Levels { .. } => None,
        },
        Recipe::Min(_) | Recipe::Sketch(_) | Recipe::Fuzzy(_) | Recipe::SimilarityIndex(_) | Recipe::Terms => None,
    }
}

/// How many draws, each successful with a chance of 1 in `one_in`, until one is with probability `p`.
fn draws_until(one_in: u32, p: f64) -> u64 {
    let missed = 1.0 - 1.0 / f64::from(one_in.max(1));
    let (mut draws, mut none) = (0, 1.0);
    while none > 1.0 - p {
        none *= missed;
        draws += 1;
    }
    draws
}

/// A chunker, as far as chance is concerned.
struct Cutter {
    /// How many bytes a place's fingerprint depends on.
    window: i64,
    min: i64,
    max: i64,
    /// The chance that a place is a candidate.
    candidate: Chance,
    /// Of so many candidates, in 2^32, one is a cut at once.
    main: u64,
}

impl Cutter {
    fn tttd(parameters: Parameters) -> Cutter {
        let Parameters { chunk_bytes_min, chunk_bytes_max, divisor_main, divisor_backup } = parameters;
        Cutter {
            window: i64::try_from(tttd::WINDOW_BYTES).expect("a few bytes"),
            min: chunk_bytes_min.into(),
            max: chunk_bytes_max.into(),
            candidate: Chance::one_in(divisor_backup),
            main: (u64::from(divisor_backup) << 32) / u64::from(divisor_main),
        }
    }

    fn windows(w: u32, n: u32, chunk_bytes_max: u32) -> Cutter {
        let max = if chunk_bytes_max > 1 { chunk_bytes_max } else { n.saturating_mul(64) };
        Cutter { window: w.into(), min: 1, max: max.into(), candidate: Chance::one_in(n), main: 1 << 32 }
    }

    /// The candidates from one place to another, each with whether it is a cut at once.
    fn candidates(&self, dice: &mut Dice, from: i64, to: i64) -> Vec<(i64, bool)> {
        let mut found = Vec::new();
        let mut place = from;
        loop {
            place += self.candidate.failures(dice);
            if place >= to {
                return found;
            }
            found.push((place, dice.next() >> 32 < self.main));
            place += 1;
        }
    }

    /// The cut after one at `start`, and how far the bytes must be known for it.
    fn cut(&self, candidates: &[(i64, bool)], start: i64) -> (i64, i64) {
        let (first, last) = (start + self.min, start + self.max);
        let from = candidates.partition_point(|(place, _)| *place < first);
        let within = candidates[from..].iter().take_while(|(place, _)| *place <= last);
        let mut backup = last;
        for (place, is_main) in within {
            if *is_main {
                return (*place, *place);
            }
            backup = *place;
        }
        (backup, last)
    }
}

/// A chance of 1 in some number, as powers of its opposite: `failures` needs no logarithm.
struct Chance {
    /// The chance of 2^i failures one after the other.
    powers: [f64; 40],
}

impl Chance {
    fn one_in(number: u32) -> Chance {
        let mut powers = [0.0; 40];
        let mut power = 1.0 - 1.0 / f64::from(number.max(1));
        for each in &mut powers {
            *each = power;
            power *= power;
        }
        Chance { powers }
    }

    /// How many failures come before the next success.
    fn failures(&self, dice: &mut Dice) -> i64 {
        let chance = dice.unit();
        let (mut failures, mut probability) = (0, 1.0);
        for (step, power) in self.powers.iter().enumerate().rev() {
            if probability * power > chance {
                probability *= power;
                failures += 1_i64 << step;
            }
        }
        failures
    }
}

/// Numbers as good as random from a fixed seed: `splitmix64`.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Above 0, below 1.
    fn unit(&mut self) -> f64 {
        let bits = u32::try_from(self.next() >> 32).expect("32 bits");
        (f64::from(bits) + 0.5) / 4_294_967_296.0
    }
}

fn thrown(cutter: &Cutter) -> Runs {
    let mut dice = Dice(0x436f_676e_6174_6521);
    let throws: Vec<(u64, u64)> = (0..THROWS).map(|_| throw(cutter, &mut dice)).collect();
    let mut lengths: Vec<u64> = throws.iter().map(|throw| throw.0).collect();
    lengths.sort_unstable();
    let quantile = |hundredths: usize| lengths.get((THROWS * hundredths).div_ceil(100).max(1) - 1).copied();
    let lengths = RunLengths { p50: quantile(50), p95: quantile(95), p99: quantile(99) };
    Runs { lengths, steps: throws.into_iter().map(|throw| throw.1).collect() }
}

/// Two documents and a run in common that begins at 0: how long it must be, and how much of that is due to falling into
/// step.
fn throw(cutter: &Cutter, dice: &mut Dice) -> (u64, u64) {
    let (begin, reach) = (-HISTORY_CHUNKS * cutter.max, REACH_CHUNKS * cutter.max.min(64 << 20));
    // Far more is seldom needed, and costs.
    let mut end = 8 * cutter.max;
    let own = [cutter.candidates(dice, begin, cutter.window), cutter.candidates(dice, begin, cutter.window)];
    let mut common = cutter.candidates(dice, cutter.window, end);
    loop {
        let [a, b] = own.each_ref().map(|own| chunks(cutter, &[own.as_slice(), &common].concat(), begin, end));
        let alone = a.first().map_or(end, |chunk| chunk.2);
        let in_common = a.iter().find(|chunk| b.binary_search(chunk).is_ok());
        match in_common {
            Some((_, _, known)) => {
                let bytes = |length: i64| u64::try_from(length).unwrap_or(0);
                return (bytes(*known), bytes(*known - alone));
            }
            None if end >= reach => return (u64::try_from(end).unwrap_or(0), u64::try_from(end - alone).unwrap_or(0)),
            None => {
                common.extend(cutter.candidates(dice, end, 2 * end));
                end *= 2;
            }
        }
    }
}

/// The whole chunks from 0 on: where each begins and ends, and how far the bytes must be known for it.
fn chunks(cutter: &Cutter, candidates: &[(i64, bool)], begin: i64, end: i64) -> Vec<(i64, i64, i64)> {
    let (mut start, mut found) = (begin, Vec::new());
    while start + cutter.max < end {
        let (cut, known) = cutter.cut(candidates, start);
        if start >= 0 {
            found.push((start, cut, known));
        }
        start = cut;
    }
    found
}

/// Places of given documents at which a shared run may begin.
#[derive(Default)]
struct Places {
    stride: u64,
    /// How far the next place is from the beginning of the next document.
    next: u64,
    /// How long a run must be that begins there, and how long it can be.
    found: Vec<(u64, u64)>,
}

impl Places {
    fn look_at(&mut self, lengths: &[u32], steps: &[u64]) {
        let size: u64 = lengths.iter().copied().map(u64::from).sum();
        let mut begin = 0;
        for (chunk, &length) in lengths.iter().enumerate() {
            let length = u64::from(length);
            let end = begin + length;
            while self.next < end {
                let place = self.next;
                let after = lengths.get(chunk + 1).map(|next| end - place + u64::from(*next));
                let alone = if place == begin { Some(length) } else { after };
                let step = steps[self.found.len() % steps.len()];
                self.found.push((alone.map_or(u64::MAX, |alone| alone + step), size - place));
                self.next += self.stride;
            }
            begin = end;
        }
        self.next -= size;
    }

    /// The least lengths at which the shares are found of those runs that there is room for.
    fn lengths(mut self) -> RunLengths {
        self.found.sort_unstable();
        let longest = self.found.iter().map(|found| found.1).max().unwrap_or(0);
        RunLengths::each(|p| {
            // Lengths that grow by a fiftieth.
            let grown = |length: &u64| Some(length + (length / 50).max(1));
            std::iter::successors(Some(1), grown).take_while(|length| *length <= longest).find(|length| {
                let room = self.found.iter().filter(|found| found.1 >= *length).count();
                let least = self.found.iter().take_while(|found| found.0 <= *length);
                let found = least.filter(|found| found.1 >= *length).count();
                let float = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
                found > 0 && float(found) >= p * float(room)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::Tag;
    use crate::key::Key;
    use crate::method::View;

    fn bytes(dice: &mut Dice, count: usize) -> Vec<u8> {
        (0..count.div_ceil(8)).flat_map(|_| dice.next().to_le_bytes()).take(count).collect()
    }

    fn tags(method: &Method, document: &[u8]) -> Vec<Tag> {
        let mut tags = Vec::new();
        method.fingerprinter(&Key::none()).slice(document, |chunk| tags.push(chunk.tag));
        tags
    }

    /// How many of a hundred shared runs of a length are really found.
    fn found(method: &Method, length: u64, trials: usize) -> usize {
        let mut dice = Dice(length);
        let around = 6 * method.chunk_bytes() as usize;
        let found = (0..trials).filter(|_| {
            let run = bytes(&mut dice, usize::try_from(length).unwrap());
            let own = usize::try_from(dice.next() % 1024).unwrap();
            let document =
                |dice: &mut Dice, own| [bytes(dice, around + own), run.clone(), bytes(dice, around)].concat();
            let (a, b) = (document(&mut dice, own), document(&mut dice, 0));
            let of_a = tags(method, &a);
            tags(method, &b).iter().any(|tag| of_a.contains(tag))
        });
        found.count() * 100 / trials
    }

    #[test]
    fn what_is_foretold_is_what_the_chunkers_find() {
        for method in [
            Method::tttd(View::Raw, 200).unwrap(),
            Method::parse("bsw-chunk", View::Raw, Some(200), "").unwrap(),
            Method::parse("mod", View::Raw, Some(200), "").unwrap(),
        ] {
            let lengths = Runs::of(&method).unwrap().lengths();
            for (length, percent) in [(lengths.p50, 50), (lengths.p95, 95), (lengths.p99, 99)] {
                let really = found(&method, length.unwrap(), 600);
                // What is found for want of a better place is foretold with caution.
                let more = if percent == 50 { 8 } else { 3 };
                assert!((percent - 4..=percent + more).contains(&really), "{} {percent} {really}", method.name());
            }
        }
    }

    #[test]
    fn lengths_scale_with_the_mean_and_are_the_same_every_time() {
        let of = |mean| Runs::of(&Method::tttd(View::Raw, mean).unwrap()).unwrap().lengths();
        assert_eq!(of(1000), of(1000));
        let (small, large) = (of(1000).p95.unwrap(), of(10_000).p95.unwrap());
        assert!(large > 9 * small && large < 11 * small, "{small} {large}");
        assert!(of(1000).p50 < of(1000).p95 && of(1000).p95 < of(1000).p99);
    }

    #[test]
    fn observed_lengths_of_random_bytes_are_those_foretold() {
        let method = Method::tttd(View::Raw, 200).unwrap();
        let document = bytes(&mut Dice(7), 1 << 20);
        let mut lengths = Vec::new();
        method.fingerprinter(&Key::none()).slice(&document, |chunk| lengths.push(chunk.length_bytes));
        let runs = Runs::of(&method).unwrap();
        let observed = runs.observed([lengths.as_slice()].into_iter());
        for (observed, foretold) in
            [(observed.p50, runs.lengths().p50), (observed.p95, runs.lengths().p95), (observed.p99, runs.lengths().p99)]
        {
            let (observed, foretold) = (observed.unwrap(), foretold.unwrap());
            assert!(observed.abs_diff(foretold) * 8 < foretold, "{observed} {foretold}");
        }
    }

    #[test]
    fn a_document_of_one_chunk_has_no_run_that_is_found_for_certain() {
        let runs = Runs::of(&Method::tttd(View::Raw, 1000).unwrap()).unwrap();
        assert_eq!(runs.observed([[300].as_slice()].into_iter()).p95, None);
        assert_eq!(runs.observed(std::iter::empty()), RunLengths::default());
    }

    #[test]
    fn nothing_is_said_where_signatures_have_a_fixed_size() {
        for name in ["min", "sketch", "fuzzy", "similarity-index"] {
            assert!(Runs::of(&Method::parse(name, View::Raw, None, "").unwrap()).is_none(), "{name}");
        }
        // One window in 50: P(found) = 1 - 0.98^k.
        let lengths = Runs::of(&Method::parse("mod", View::Raw, Some(50), "w=20").unwrap()).unwrap().lengths();
        assert_eq!((lengths.p50, lengths.p95), (Some(19 + 35), Some(19 + 149)));
    }
}
