//! The truth about two sites: the bytes of one in windows that occur anywhere at the other.
//!
//! The windows of both sites are too many for one table. They are taken in parts by some bits of their hashes.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Error;
use crate::only_here::hashed::WindowSet;
use crate::only_here::sites::Sites;
use crate::setting::Setting;
use crate::threads::each;

/// The number of parts, and the bits of a hash that name the part: neither those by which a table finds a place nor those by which it
/// compares.
const PARTS: usize = 16;
const PART_SHIFT: u32 = 40;

/// What one site has of another's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Coverage {
    /// The bytes that count of all documents of the site, copies included.
    pub(super) bytes: usize,
    /// Those of them in windows that occur at the other site.
    pub(super) covered_bytes: usize,
}

/// The coverage of a site's documents by another's, of those that are compared by their text or of those that are not.
pub(super) fn coverage(
    setting: &Setting<'_>,
    sites: &Sites,
    [of, at]: [usize; 2],
    by_text: bool,
) -> Result<Coverage, Error> {
    let held = |site: usize| {
        let contents = sites.contents.iter().enumerate();
        contents.filter(move |(number, content)| sites.holders[*number] >> site & 1 == 1 && content.by_text == by_text)
    };
    // A bit for each window of a content that occurs at the other site.
    let words = |content: usize| sites.contents[content].bytes.len().div_ceil(64);
    let mut marks: Vec<Vec<AtomicU64>> = vec![];
    marks.resize_with(sites.contents.len(), Vec::new);
    for (number, _) in held(of) {
        marks[number].resize_with(words(number), AtomicU64::default);
    }
    each(PARTS, |part| {
        setting.step(&format!("windows of {} at {}", sites.sites[of].name, sites.sites[at].name), part, PARTS)?;
        let in_part = |hash: u64| hash >> PART_SHIFT & (PARTS as u64 - 1) == part as u64;
        let mut known = WindowSet::default();
        for (_, content) in held(at) {
            known.extend(content.windows().map(|window| window.hash).filter(|hash| in_part(*hash)));
        }
        for (number, content) in held(of) {
            for window in content.windows().filter(|window| in_part(window.hash) && known.contains(&window.hash)) {
                marks[number][window.start / 64].fetch_or(1 << (window.start % 64), Ordering::Relaxed);
            }
        }
        Ok(())
    })?;
    let covered = |number: usize| {
        let is_marked = |start: &usize| marks[number][start / 64].load(Ordering::Relaxed) >> (start % 64) & 1 == 1;
        sites.contents[number].covered_bytes((0..sites.contents[number].bytes.len()).filter(is_marked))
    };
    let covered: Vec<usize> =
        (0..sites.contents.len()).map(|number| if marks[number].is_empty() { 0 } else { covered(number) }).collect();
    let mut coverage = Coverage { bytes: 0, covered_bytes: 0 };
    for document in &sites.sites[of].documents {
        let content = &sites.contents[document.content];
        if content.by_text == by_text {
            coverage.bytes += content.counted_bytes();
            coverage.covered_bytes += covered[document.content];
        }
    }
    Ok(coverage)
}
