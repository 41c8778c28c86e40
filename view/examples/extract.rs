//! Reads files: `cargo run --release -p cognate-view --example extract -- FILE…` prints the kind of each, its
//! outcome, its bytes, those of its text, and milliseconds. After `--text` it prints the text instead, after
//! `--members` a row for each document inside too.
#![expect(clippy::print_stdout, reason = "an example talks to people")]

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::time::Instant;

use cognate_view::{Kind, Normaliser, Reason, Source, Text, extract, members};

struct OpenFile(File);

impl Read for OpenFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl Seek for OpenFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

impl Source for OpenFile {
    fn length_bytes(&self) -> u64 {
        self.0.metadata().map_or(0, |metadata| metadata.len())
    }
}

#[derive(Default)]
struct Collected {
    normaliser: Normaliser,
    out: String,
}

impl Text for Collected {
    fn push(&mut self, text: &str) -> Result<(), Reason> {
        self.normaliser.push(text, &mut self.out);
        Ok(())
    }

    fn end_paragraph(&mut self) -> Result<(), Reason> {
        self.normaliser.end_paragraph(&mut self.out);
        Ok(())
    }
}

fn main() -> io::Result<()> {
    let mut files: Vec<String> = std::env::args_os().skip(1).map(|file| file.to_string_lossy().into_owned()).collect();
    let mut option = |name: &str| {
        let before = files.len();
        files.retain(|file| file != name);
        files.len() < before
    };
    let (text, inside) = (option("--text"), option("--members"));
    for file in files {
        show(&file, &mut OpenFile(File::open(&file)?), text, inside)?;
    }
    Ok(())
}

fn show(name: &str, source: &mut dyn Source, text: bool, inside: bool) -> io::Result<()> {
    let begun = Instant::now();
    let kind = Kind::detect(source)?;
    let mut collected = Collected::default();
    let outcome = extract(kind, source, &mut collected);
    collected.normaliser.finish(&mut collected.out);
    let milliseconds = begun.elapsed().as_secs_f64() * 1e3;
    if text {
        println!("{}", collected.out);
    } else {
        let came = outcome.map_or_else(|reason| reason.to_string(), |()| "text".to_owned());
        let (bytes, of_text) = (source.length_bytes(), collected.out.len());
        println!("{kind:?}\t{came}\t{bytes}\t{of_text}\t{milliseconds:.1}\t{name}");
    }
    if inside {
        let mut each = |member: &str, source: &mut dyn Source| {
            show(&format!("{name}!/{member}"), source, text, inside).map_err(|_| Reason::Damaged)
        };
        if let Err(reason) = members(kind, source, &mut each) {
            println!("members\t{reason}\t\t\t\t{name}");
        }
    }
    Ok(())
}
