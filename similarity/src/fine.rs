//! Fine figures: two contents measured by their chunks and, of what is left, by fine chunks.
//!
//! `shared(x, y)` is the sum over common chunks of the lesser count times the length, plus the bytes that the chunks left on
//! both sides have in common by their fine chunks ([`FineMeasure`]). A chunk of which x has more occurrences than y is left as
//! often as x has it more. Whole chunks are decided first, so fine chunks never make a pair share less.
//!
//! A fine chunk has about seven bytes and a tag of eight bits. A *run* is three or more fine chunks that follow each other in
//! a chunk of either content. At either end of
//! a run is a *border*: the next fine chunk, if its four bytes towards the run agree with those of the fine chunk at
//! the same place of the other content. A border counts for the bytes of the shorter of the two less one, since they
//! differ somewhere. A run counts if it has [`RUN_BYTES_MIN`] bytes with its borders, so that phrases which all documents of one kind
//! have in common do not count.
//!
//! The runs of a content are found from its first fine chunk on. Of the first eight places of the other content where
//! a run begins as here, the one where it is longest is taken, as far as 64 rows show. A run that counts ends what was
//! looked at; else the search goes on one fine chunk later. Bytes that the other content has once and this one twice count twice
//! here and once there: the lesser sum of both is what they share.
//!
//! A pair may be measured once more, [closely](FineMeasure::shared_bytes_closely): then two fine chunks are a run. Where documents have many
//! short runs in common, three lose a tenth of the content and more. It takes twice the time, and phrases that documents of one kind have
//! in common count a little more often.
//!
//! [`places`](FineMeasure::places) has the bytes that were counted, with their offsets.
//!
//! Source of the idea: the coarse and the fine comparison of Forman, Eshghi, Chiocchetti (KDD 2005), section 4.

mod common_rows;
mod places;

use std::collections::HashMap;
use std::ops::Range;

use cognate_fingerprint::{FineChunk, Tag};

use self::common_rows::{CommonRows, NO_ROW, hash_rows_of};
pub use self::common_rows::{RowHash, hash_rows};
pub use self::places::FinePlace;
use crate::error::Error;
use crate::link::Link;
use crate::posting::{ContentIndex, Posting};
use crate::shards::Shards;

/// Occurrences of a chunk in a content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ChunkCount {
    /// The tag of the chunk.
    pub tag: Tag,
    /// Its length.
    pub length_bytes: u32,
    /// The number of its occurrences.
    pub count: u32,
}

/// A pair of contents by whole chunks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ByChunks {
    /// The bytes of chunks in common.
    pub shared_bytes: u64,
    /// The chunks in common, ascending, as often as both have them.
    pub common: Vec<ChunkCount>,
    /// The chunks that are left of the first and of the second content, ascending.
    pub left: [Vec<ChunkCount>; 2],
}

/// The chunks of a content counted, ascending by tag and length, from its chunks in any order.
pub fn counted(chunks: impl Iterator<Item = (Tag, u32)>) -> Vec<ChunkCount> {
    let mut all: Vec<(Tag, u32)> = chunks.collect();
    all.sort_unstable();
    let same = all.chunk_by(|a, b| a == b);
    let count = |same: &[(Tag, u32)]| u32::try_from(same.len()).unwrap_or(u32::MAX);
    same.map(|same| ChunkCount { tag: same[0].0, length_bytes: same[0].1, count: count(same) }).collect()
}

/// Compares two contents by whole chunks, each ascending by tag and length.
pub fn by_chunks(a: &[ChunkCount], b: &[ChunkCount]) -> ByChunks {
    let mut found = ByChunks::default();
    let key = |chunk: &ChunkCount| (chunk.tag, chunk.length_bytes);
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    loop {
        match (a.peek(), b.peek()) {
            (None, None) => return found,
            (Some(first), second) if second.is_none_or(|second| key(first) < key(second)) => {
                found.left[0].extend(a.next().copied());
            }
            (Some(first), Some(second)) if key(first) == key(second) => {
                let common = first.count.min(second.count);
                found.shared_bytes += u64::from(common) * u64::from(first.length_bytes);
                found.common.push(ChunkCount { count: common, ..**first });
                for (side, chunk) in [(0, **first), (1, **second)] {
                    let count = chunk.count - common;
                    found.left[side].extend((count > 0).then_some(ChunkCount { count, ..chunk }));
                }
                a.next();
                b.next();
            }
            _ => found.left[1].extend(b.next().copied()),
        }
    }
}

/// Fine chunks in a row that must agree before they count: about 21 bytes, and 33 bits or more, so that even in long contents few
/// agree by chance.
const ROW: usize = 3;
/// The same where a pair is measured closely: about 14 bytes, and 22 bits or more.
const CLOSE_ROW: usize = 2;
/// A pair that is no link, and would be one with so many times the bytes, is measured [closely](FineMeasure::shared_bytes_closely).
pub const CLOSE_LOOK_TIMES: u64 = 4;
/// The least bytes of a run that counts, with its borders.
pub const RUN_BYTES_MIN: u64 = 32;
/// The places of the other content at which a run is tried.
const PARTNERS_MAX: usize = 8;
/// The rows by which these places are compared.
const AHEAD_MAX: usize = 64;
/// Bits of a fine chunk in a row: its tag, and its length less 1.
const FINE_BITS: u32 = 12;
/// Measures pairs by the fine chunks of those chunks that are left. It holds memory that one pair after the other uses.
#[derive(Debug, Default)]
pub struct FineMeasure {
    sides: [Side; 2],
    common: CommonRows,
}

/// The fine chunks of one content.
#[derive(Debug, Default)]
struct Side {
    /// In the order of its chunks; where a chunk ends is a fine chunk without bytes.
    fine: Vec<FineChunk>,
    /// Per fine chunk, what it is part of; those that are not listed at the end are the content's own.
    parts: Vec<Part>,
    /// Per fine chunk, the row that begins there.
    rows: Vec<RowHash>,
    /// Per fine chunk, the bytes of it that count: all of them in a run, some in a border.
    counted: Vec<u8>,
    /// Per chunk, where it ends.
    ends: Vec<usize>,
    /// The runs that count, ascending.
    runs: Vec<CountedRun>,
    /// The fine chunks of a row.
    row: usize,
}

/// A run that counts, with the bytes that count for it alone.
#[derive(Debug)]
struct CountedRun {
    run: Run,
    /// Bytes of the border before it.
    before: u8,
    /// Bytes of its first fine chunk that count already, as the border of the run before.
    skipped: u8,
    /// Bytes of the border after it.
    after: u8,
}

/// Fine chunks of one content, and the place in the other content where the same begin.
#[derive(Debug)]
struct Run {
    fine: Range<usize>,
    partner: usize,
}

/// What a fine chunk is part of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Part {
    /// Of the content's own text.
    #[default]
    Own,
    /// Of a frame: many otherwise unlike contents have it.
    Frame,
    /// Of a template: it does not count.
    Template,
}

/// The bytes that a pair has in common, by what they are part of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct SharedBytes {
    /// Of any part.
    pub all: u64,
    /// Outside of templates.
    pub outside_templates: u64,
    /// Outside of templates and of frames.
    pub outside_frames: u64,
    /// Of any part, in the first and in the second: what one has once and the other twice counts twice there. Nothing if nothing of one counts.
    pub of_each: [u64; 2],
}

impl SharedBytes {
    /// Bytes of which none is in a template or a frame.
    #[must_use]
    pub fn whole(bytes: u64) -> SharedBytes {
        SharedBytes { all: bytes, outside_templates: bytes, outside_frames: bytes, of_each: [bytes; 2] }
    }

    fn of(sides: [[u64; 3]; 2]) -> SharedBytes {
        let lesser = |parts: usize| {
            let [a, b] = sides.map(|bytes| bytes[..parts].iter().sum::<u64>());
            a.min(b)
        };
        let of_each = if lesser(3) > 0 { sides.map(|bytes| bytes.iter().sum()) } else { [0; 2] };
        SharedBytes { all: lesser(3), outside_templates: lesser(2), outside_frames: lesser(1), of_each }
    }

    /// Both sums together.
    #[must_use]
    pub fn plus(self, other: SharedBytes) -> SharedBytes {
        SharedBytes {
            all: self.all + other.all,
            outside_templates: self.outside_templates + other.outside_templates,
            outside_frames: self.outside_frames + other.outside_frames,
            of_each: [0, 1].map(|side: usize| self.of_each[side] + other.of_each[side]),
        }
    }
}

impl FineMeasure {
    /// Begins a pair.
    pub fn begin(&mut self) {
        for side in &mut self.sides {
            side.fine.clear();
            side.parts.clear();
            side.rows.clear();
            side.ends.clear();
        }
    }

    /// Adds a chunk that is left of the first (0) or of the second (1) content, with the part to which each fine chunk belongs; if
    /// `parts` is empty, all are the content's own.
    pub fn add(&mut self, side: usize, fine: &[FineChunk], parts: &[Part]) {
        hash_rows(fine, &mut self.sides[side].rows);
        self.sides[side].end_chunk(fine, parts);
    }

    /// Does the same with the [hashes of its rows](hash_rows), which a chunk of many pairs needs once.
    pub fn add_hashed(&mut self, side: usize, fine: &[FineChunk], rows: &[RowHash], parts: &[Part]) {
        debug_assert_eq!(fine.len(), rows.len(), "each fine chunk has the hash of its row");
        self.sides[side].rows.extend_from_slice(rows);
        self.sides[side].end_chunk(fine, parts);
    }

    /// The bytes in common: of each content the runs that count, with their borders; then the lesser of the two. Runs are found
    /// whatever they are part of, so that what is next to a frame counts as well.
    pub fn shared_bytes(&mut self) -> SharedBytes {
        self.count(ROW)
    }

    /// The same with runs of two fine chunks and more, of the pair that was measured last.
    pub fn shared_bytes_closely(&mut self) -> SharedBytes {
        self.sides.iter_mut().for_each(|side| side.hash_rows(CLOSE_ROW));
        self.count(CLOSE_ROW)
    }

    /// Counts runs of so many fine chunks, whose rows were hashed.
    fn count(&mut self, row: usize) -> SharedBytes {
        self.sides.iter_mut().for_each(|side| side.begin_runs(row));
        let [a, b] = &mut self.sides;
        self.common.find(&a.rows, &b.rows);
        // The lesser sum is of both: it is nothing if no run of one of them can count.
        if !a.may_have_run(self.common.of_side(0)) {
            return SharedBytes::default();
        }
        self.common.fill(1, &b.rows);
        a.find_runs(b, self.common.of_side(0), &self.common);
        if a.runs.is_empty() {
            return SharedBytes::default();
        }
        self.common.fill(0, &a.rows);
        b.find_runs(a, self.common.of_side(1), &self.common);
        SharedBytes::of([a.counted_by_part(), b.counted_by_part()])
    }

    /// The chunks of a side of which any byte counts, ascending by their numbers in the order in which they were added, each with the bytes that count of
    /// each of its fine chunks, 0 to its length: after [`shared_bytes`](FineMeasure::shared_bytes).
    pub fn counted(&self, side: usize) -> impl Iterator<Item = (usize, (&[FineChunk], &[u8]))> {
        let Side { fine, counted, ends, runs, .. } = &self.sides[side];
        let (mut start, mut runs) = (0, runs.as_slice());
        ends.iter().enumerate().filter_map(move |(number, end)| {
            let of_chunk = start..*end;
            start = end + 1;
            // Borders are in the chunk of their run.
            let here = runs.iter().take_while(|counted| counted.run.fine.start < *end).count();
            runs = &runs[here..];
            (here > 0).then(|| (number, (&fine[of_chunk.clone()], &counted[of_chunk])))
        })
    }
}

impl Side {
    /// Adds a chunk whose rows are there, and its end.
    fn end_chunk(&mut self, fine: &[FineChunk], parts: &[Part]) {
        if !parts.is_empty() {
            // Chunks that were added without parts are the content's own text.
            self.parts.resize(self.fine.len(), Part::Own);
            self.parts.extend_from_slice(parts);
        }
        self.fine.extend_from_slice(fine);
        self.ends.push(self.fine.len());
        self.fine.push(FineChunk { tag: 0, length_bytes: 0 });
        self.rows.push(NO_ROW);
    }

    /// Hashes the rows of all chunks once more.
    fn hash_rows(&mut self, row: usize) {
        self.rows.clear();
        let mut start = 0;
        for end in &self.ends {
            hash_rows_of(row, &self.fine[start..*end], &mut self.rows);
            self.rows.push(NO_ROW);
            start = end + 1;
        }
    }

    fn begin_runs(&mut self, row: usize) {
        self.row = row;
        self.counted.clear();
        self.counted.resize(self.fine.len(), 0);
        self.runs.clear();
    }

    /// Finds the runs that count, from the places of rows that the other side may have. `common` has the table of that side.
    fn find_runs(&mut self, other: &Side, places: &[u32], common: &CommonRows) {
        let (mut next, mut number) = (0, 0);
        while number < places.len() {
            let place = places[number] as usize;
            number += 1;
            if place < next || !self.may_count(&places[number - 1..]) {
                continue;
            }
            let partners = common.places(self.rows[place]);
            let Some((partner, rows)) = self.partner(place, other, partners) else { continue };
            let end = place + rows + self.row - 1;
            if self.count_run(Run { fine: place..end, partner }, &other.fine) {
                next = end;
                // The other side has the rows of the run, so that all of their places follow.
                number += rows - 1;
            }
        }
    }

    /// False if no run from any of these places is long enough to count.
    fn may_have_run(&self, places: &[u32]) -> bool {
        (0..places.len()).any(|number| self.may_count(&places[number..]))
    }

    /// False if a run from the first of these places is too short to count: all of its rows are among those that the other side may have.
    fn may_count(&self, places: &[u32]) -> bool {
        let start = places[0] as usize;
        let length = |place: usize| self.fine.get(place).map_or(0, |fine| u64::from(fine.length_bytes));
        let mut bytes: u64 = (start.saturating_sub(1)..start + self.row).map(length).sum();
        for (place, row) in (start..).zip(places) {
            if *row as usize != place {
                break;
            }
            // It is the border after the run, or part of it.
            bytes += length(place + self.row);
            if bytes >= RUN_BYTES_MIN {
                return true;
            }
        }
        false
    }

    /// The bytes that count, by what they are part of.
    fn counted_by_part(&self) -> [u64; 3] {
        let (with_parts, own) = self.counted.split_at(self.parts.len());
        let mut bytes = [own.iter().map(|counted| u64::from(*counted)).sum(), 0, 0];
        for (part, counted) in self.parts.iter().zip(with_parts) {
            bytes[*part as usize] += u64::from(*counted);
        }
        bytes
    }

    /// The place in the other content where the longest run begins that begins here, and its rows. `partners` are the places there of
    /// rows with the same hash.
    fn partner(&self, place: usize, other: &Side, partners: impl Iterator<Item = usize>) -> Option<(usize, usize)> {
        let agree = |partner: usize, from: usize, most: usize| {
            let pairs = self.fine[place + from..].iter().zip(&other.fine[partner + from..]).take(most + self.row - 1);
            let alike = pairs.take_while(|(own, other)| own == other && own.length_bytes > 0).count();
            from + alike.saturating_sub(self.row - 1)
        };
        let mut longest: Option<(usize, usize)> = None;
        let of_row = partners.map(|partner| (partner, agree(partner, 0, AHEAD_MAX))).filter(|(_, rows)| *rows > 0);
        for (partner, rows) in of_row.take(PARTNERS_MAX) {
            if longest.is_none_or(|(_, most)| rows > most) {
                longest = Some((partner, rows));
            }
            if rows == AHEAD_MAX {
                break;
            }
        }
        longest.map(|(partner, rows)| (partner, agree(partner, rows, self.fine.len())))
    }

    /// Counts a run with its borders; false if they have too few bytes.
    fn count_run(&mut self, run: Run, other: &[FineChunk]) -> bool {
        let borders = self.borders(&run, other);
        let in_borders: u64 = borders.iter().flatten().map(|(_, bytes)| u64::from(*bytes) + 1).sum();
        let fine = &self.fine[run.fine.clone()];
        if fine.iter().map(|fine| u64::from(fine.length_bytes)).sum::<u64>() + in_borders < RUN_BYTES_MIN {
            return false;
        }
        // A fine chunk counts once: in a run before as a border, and as a border of the first of two runs.
        let skipped = self.counted[run.fine.start];
        for (counted, fine) in self.counted[run.fine.clone()].iter_mut().zip(fine) {
            *counted = fine.length_bytes;
        }
        let [before, after] = borders.map(|border| match border {
            Some((own, bytes)) if self.counted[own] == 0 => {
                self.counted[own] = bytes;
                bytes
            }
            _ => 0,
        });
        self.runs.push(CountedRun { run, before, skipped, after });
        true
    }

    /// The fine chunks at both ends of a run that agree towards it, each with its bytes that count.
    fn borders(&self, run: &Run, other: &[FineChunk]) -> [Option<(usize, u8)>; 2] {
        let border = |own: Option<usize>, opposite: Option<usize>, agree: fn(FineChunk, FineChunk) -> bool| {
            let (own, opposite) = (own?, other[opposite?]);
            let fine = self.fine[own];
            let is_border = fine.length_bytes > 0 && opposite.length_bytes > 0 && agree(fine, opposite);
            is_border.then(|| (own, fine.length_bytes.min(opposite.length_bytes) - 1))
        };
        let Run { fine, partner } = run;
        [
            border(fine.start.checked_sub(1), partner.checked_sub(1), FineChunk::ends_like),
            border(Some(fine.end), Some(partner + fine.len()), FineChunk::begins_like),
        ]
    }
}

/// Visits every pair of contents that share a chunk which at most `holders_max` contents have, templates apart: once for
/// each such chunk, with its bytes in common.
///
/// # Errors
///
/// If the postings cannot be read, and whatever `visit` returns.
pub fn pairs_of_rare_chunks(
    shards: &dyn Shards,
    shard: u32,
    holders_max: usize,
    visit: &mut dyn FnMut(Link) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut of_tag: Vec<Posting> = Vec::new();
    shards.visit(shard, &mut |postings| {
        for posting in postings.iter().filter(|posting| !posting.template) {
            if of_tag.first().is_some_and(|first| first.tag != posting.tag) {
                pairs_of_tag(&of_tag, holders_max, visit)?;
                of_tag.clear();
            }
            of_tag.push(*posting);
        }
        Ok(())
    })?;
    pairs_of_tag(&of_tag, holders_max, visit)
}

fn pairs_of_tag(
    postings: &[Posting],
    holders_max: usize,
    visit: &mut dyn FnMut(Link) -> Result<(), Error>,
) -> Result<(), Error> {
    if postings.len() < 2 {
        return Ok(());
    }
    let mut holders: HashMap<(u32, ContentIndex), u64> = HashMap::new();
    for posting in postings {
        *holders.entry((posting.length_bytes, posting.content)).or_default() += 1;
    }
    let mut holders: Vec<((u32, ContentIndex), u64)> = holders.into_iter().collect();
    holders.sort_unstable();
    for same in holders.chunk_by(|a, b| a.0.0 == b.0.0).filter(|same| same.len() <= holders_max) {
        for (place, ((length_bytes, a), a_count)) in same.iter().enumerate() {
            for ((_, b), b_count) in &same[place + 1..] {
                let shared_bytes = u64::from(*length_bytes) * a_count.min(b_count);
                visit(Link { a: *a, b: *b, shared_bytes })?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
