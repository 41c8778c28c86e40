//! A soak: many sites for a long time, each a process of its own with a small tree that changes. Once a minute it scans all of them
//! and takes the memory, the open files and the disk of every process; what grows without an end shows.

mod chart;
mod hostile;
mod sample;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::{Duration, Instant};

pub use chart::draw;
pub use sample::Sample;

use crate::canonical::comparable;
use crate::federation::text;
use crate::sandbox::{contents, wait_within};
use crate::tree::{edited, varied};
use crate::{Dice, Federation};

/// Each so many scans, the result is held against a comparison in one process.
const COMPARED_EVERY: u64 = 10;

/// The size of a soak.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// The number of sites.
    pub sites: u8,
    /// Of them, those whose trees mean harm: the others are compared by text as well, and no result is held against a comparison.
    pub hostile: u8,
    /// The number of samples.
    pub samples: u64,
    /// The time between two of them.
    pub interval: Duration,
    /// Results older than this are deleted, as `keep_scans` takes it.
    pub keep_scans: &'static str,
}

/// Runs a soak, and writes a line for each sample.
///
/// # Errors
/// Names the scan that failed or differed from a comparison.
pub fn run(seed: u64, size: Size, out: &mut dyn std::io::Write) -> Result<Vec<Sample>, String> {
    let mut soak = Soak::begin(seed, size);
    let mut samples = Vec::new();
    for number in 0..size.samples {
        let due = size.interval * u32::try_from(number).unwrap_or(u32::MAX);
        soak.scan(number)?;
        let sample = soak.sample();
        let _ = writeln!(out, "{sample}");
        within_bounds(&sample)?;
        samples.push(sample);
        let next = due + size.interval;
        std::thread::sleep(next.saturating_sub(soak.began.elapsed()));
    }
    soak.end()?;
    Ok(samples)
}

/// Fails if a process ever had more memory than `docs/operations.md` says: a gibibyte for a worker, beside the processes that read
/// text, and `MemoryMax` of its unit for the coordinator.
fn within_bounds(sample: &Sample) -> Result<(), String> {
    for (what, used, most) in
        [("a worker", sample.workers, 1_u64 << 30), ("the coordinator", sample.coordinator, 8 << 30)]
    {
        if used.peak_bytes > most {
            return Err(format!("{what} had {} bytes of memory, of {most}", used.peak_bytes));
        }
    }
    Ok(())
}

/// A figure of a sample.
type Figure = fn(&Sample) -> u64;

/// What grew without an end: the last quarter held against the second.
pub fn growth(samples: &[Sample]) -> Vec<String> {
    let quarter = samples.len() / 4;
    if quarter == 0 {
        return Vec::new();
    }
    let (earlier, later) = (&samples[quarter..2 * quarter], &samples[3 * quarter..]);
    let most = |of: &[Sample], value: Figure| of.iter().map(value).max().unwrap_or_default();
    let rules: [(&str, Figure, u64); 6] = [
        ("memory of the coordinator", |sample| sample.coordinator.memory_bytes, 32 << 20),
        ("memory of the workers", |sample| sample.workers.memory_bytes, 64 << 20),
        ("open files of the coordinator", |sample| sample.coordinator.open_files, 10),
        ("open files of the workers", |sample| sample.workers.open_files, 40),
        ("disk of the coordinator", |sample| sample.coordinator.disk_bytes, 16 << 20),
        ("disk of the workers", |sample| sample.workers.disk_bytes, 64 << 20),
    ];
    let grown = |(what, value, slack): &(&str, Figure, u64)| {
        let (before, after) = (most(earlier, *value), most(later, *value));
        (after > before + before / 4 + slack).then(|| format!("the {what} grew from {before} to {after}"))
    };
    rules.iter().filter_map(grown).collect()
}

struct Soak {
    federation: Federation,
    dice: Dice,
    names: Vec<String>,
    hostile: usize,
    began: Instant,
    scans: BTreeMap<i32, u64>,
    compared: u64,
    documents: u64,
}

impl Soak {
    fn begin(seed: u64, size: Size) -> Soak {
        let mut federation = Federation::prepared(seed);
        federation.add_config(&format!("keep_scans = \"{}\"\n", size.keep_scans));
        federation.init();
        federation.start_coordinator();
        let mut dice = Dice::new(seed);
        let names: Vec<String> = (0..size.sites).map(|number| format!("site{number:02}")).collect();
        for (name, files) in names.iter().zip(varied(&mut dice, names.len(), 12 * names.len())) {
            federation.add(name, &files);
        }
        let hostile = usize::from(size.hostile);
        for (site, name) in names.iter().take(hostile).enumerate() {
            hostile::write(federation.site(name).folder(), site, 0);
        }
        federation.sandbox.settle();
        for name in &names {
            federation.start(name);
        }
        for name in &names {
            wait_within(Duration::from_secs(120), "all are attached", || federation.member(name)["attached"] == true);
        }
        let (scans, began) = (BTreeMap::new(), Instant::now());
        Soak { federation, dice, names, hostile, began, scans, compared: 0, documents: 0 }
    }

    /// What people do to documents in a minute: some are edited, some are new, about as many go.
    fn change(&mut self, turn: u64) {
        for (site, name) in self.names.iter().take(self.hostile).enumerate() {
            // Each has its own time, so that there are scans without a change as well.
            if turn.is_multiple_of(3 + site as u64) {
                hostile::write(self.federation.site(name).folder(), site, turn);
            }
        }
        for site in self.hostile..self.names.len() {
            let name = self.names[site].clone();
            if self.dice.below(3) != 0 {
                continue;
            }
            let folder = self.federation.site(&name).folder().to_owned();
            let there: Vec<_> = contents(&folder).into_iter().collect();
            let (path, bytes) = self.dice.pick(&there).clone();
            std::fs::write(folder.join(&path), edited(&mut self.dice, bytes)).unwrap();
            let size = self.dice.between(100, 20_000);
            std::fs::write(folder.join(format!("new-{}", self.dice.below(8))), self.dice.bytes(size)).unwrap();
            if there.len() > 16 {
                let (path, _) = self.dice.pick(&there).clone();
                std::fs::remove_file(folder.join(path)).unwrap();
            }
        }
        self.federation.sandbox.settle();
    }

    fn scan(&mut self, number: u64) -> Result<(), String> {
        self.change(number);
        let repositories = self.names.iter().map(|name| format!("{name}/kb")).collect::<Vec<_>>().join(",");
        let is_hostile = self.hostile > 0;
        let view: &[&str] = if is_hostile && !number.is_multiple_of(2) { &["--view", "text"] } else { &[] };
        let mut scan = self.federation.begin(&Federation::launching(&repositories, view));
        if !scan.ends_within(Duration::from_secs(600)) {
            return Err(format!("scan {number} takes longer than ten minutes"));
        }
        let run = scan.ended();
        *self.scans.entry(run.code.unwrap_or(-1)).or_default() += 1;
        // What hostile sites have is named as not read; the scan itself is complete.
        if run.code != Some(0) && !(is_hostile && run.code == Some(3)) {
            return Err(format!("scan {number} is not complete: {run:?}"));
        }
        let report = run.json();
        if report["scan"]["status"] != "complete" {
            return Err(format!("scan {number} is {}: {}", report["scan"]["status"], report["scan"]["missing"]));
        }
        self.documents =
            report["sites"].as_array().into_iter().flatten().filter_map(|row| row["documents"].as_u64()).sum();
        if number.is_multiple_of(COMPARED_EVERY) && !is_hostile {
            self.compared += 1;
            if comparable(&report) != comparable(&self.federation.expected_of(&self.names, &[])) {
                return Err(format!("scan {number} differs from a comparison of the same folders"));
            }
        }
        Ok(())
    }

    fn sample(&mut self) -> Sample {
        let mut workers = sample::Use::default();
        for name in &self.names {
            let id = self.federation.site_mut(name).worker().id();
            workers.add(&sample::Use::of(id, self.federation.site(name).state()));
        }
        let id = self.federation.coordinator().id();
        let coordinator = sample::Use::of(id, &self.federation.coordinator_state());
        Sample {
            seconds: self.began.elapsed().as_secs(),
            coordinator,
            workers,
            scans: self.scans.values().sum(),
            compared: self.compared,
            documents: self.documents,
        }
    }

    /// Everything stops when it is asked, and every record is whole.
    fn end(mut self) -> Result<(), String> {
        for name in &self.names {
            let run = self.federation.worker(name, &["ledger", "verify"]);
            if run.code != Some(0) {
                return Err(format!("the ledger of {name} is damaged: {run:?}"));
            }
            self.federation.stop(name);
        }
        self.federation.stop_coordinator();
        let config = self.federation.coordinator_config();
        let run = self.federation.sandbox.cognate(["coordinator", "check", "--read-data", "--config", text(&config)]);
        let _ = std::io::stderr().flush();
        if run.code == Some(0) { Ok(()) } else { Err(format!("the state is damaged: {run:?}")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(memory: impl Fn(u64) -> u64) -> Vec<Sample> {
        let sample = |number: u64| {
            let coordinator = sample::Use { memory_bytes: memory(number), ..sample::Use::default() };
            Sample { seconds: 60 * number, coordinator, ..Sample::default() }
        };
        (0..40).map(sample).collect()
    }

    #[test]
    fn memory_that_grows_all_the_time_is_named_and_one_that_only_begins_so_is_not() {
        assert_eq!(growth(&samples(|number| 50 << 20 | number.min(8) << 24)), Vec::<String>::new());
        let grown = growth(&samples(|number| (50 + 10 * number) << 20));
        assert!(grown.len() == 1 && grown[0].contains("memory of the coordinator"), "{grown:?}");
    }

    #[test]
    fn a_picture_has_a_curve_for_each_figure_of_each_side() {
        let picture = draw(&samples(|number| number << 20), "twenty sites");
        assert_eq!(picture.matches("<polyline").count(), 6, "{picture}");
        assert!(picture.contains("twenty sites") && picture.ends_with("</svg>\n"), "{picture}");
        assert!(!picture.contains("NaN"), "{picture}");
    }
}
