//! Chunks the files whose paths come from standard input, one a line, and writes their chunks: the chunking process of Forman
//! et al. (2005), which ran in 4 MB. `find DIR -type f | chunk MEAN > metadata`; the system tells its memory (`/usr/bin/time -v`).

use std::fs::File;
use std::io::{BufRead, BufWriter, Write};

use cognate_fingerprint::{Key, Method, View};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mean = std::env::args().nth(1).ok_or("chunk MEAN")?.parse()?;
    let mut fingerprinter = Method::tttd(View::Raw, mean)?.fingerprinter(&Key::none());
    let mut out = BufWriter::new(std::io::stdout().lock());
    for path in std::io::stdin().lock().lines() {
        let path = path?;
        write!(out, "{path}")?;
        fingerprinter.read(&mut File::open(&path)?, |chunk| write!(out, " {} {}", chunk.length_bytes, chunk.tag))?;
        writeln!(out)?;
    }
    out.flush()?;
    Ok(())
}
