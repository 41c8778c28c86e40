//! Measures how long a store takes to open over a journal of so many events, and how much memory:
//! `cargo run --release -p cognate-storage --example journal -- make FOLDER EVENTS`, then `-- open FOLDER` again and again.

#![expect(clippy::print_stdout, reason = "it is a program that prints what it measured")]

use std::path::{Path, PathBuf};
use std::time::Instant;

use cognate_storage::journal::{Event, ScanEvent, What};
use cognate_storage::store::{ScanRow, Store};

/// So many scans are in the registry, whatever the number of events.
const SCANS: u64 = 50;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["make", folder, events] => make(Path::new(folder), events.parse()?),
        ["open", folder] => open(Path::new(folder)),
        _ => Err("give `make FOLDER EVENTS` or `open FOLDER`".into()),
    }
}

fn make(folder: &Path, events: u64) -> Result<(), Box<dyn std::error::Error>> {
    std::fs::create_dir_all(folder)?;
    let store = Store::open(&folder.join("store"), &folder.join("journal"), false)?;
    for number in 0..events {
        let row = ScanRow { failure: format!("step {number:0>140}"), ..ScanRow::default() };
        let what = Some(What::Scan(ScanEvent { id: number % SCANS + 1, row }));
        store.record(&Event { time: 1_800_000_000, by: "anna".to_owned(), what })?;
    }
    println!("{} bytes", journal_bytes(folder)?);
    Ok(())
}

fn open(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let began = Instant::now();
    let store = Store::open(&folder.join("store"), &folder.join("journal"), true)?;
    let seconds = began.elapsed().as_secs_f64();
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default().trim().to_owned();
    let scans = store.scans()?.len();
    println!("{seconds:.3} s, at most {peak} resident, journal {} bytes, {scans} scans", journal_bytes(folder)?);
    Ok(())
}

fn journal_bytes(folder: &Path) -> std::io::Result<u64> {
    Ok(std::fs::metadata(PathBuf::from(folder).join("journal"))?.len())
}
