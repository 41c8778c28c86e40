//! Fine figures: two contents measured by their chunks and, of what is left, by fine chunks.
//!
//! `shared(x, y)` is the sum over common chunks of the lesser count times the length, plus the bytes that the chunks left on
//! both sides have in common by their fine chunks ([`FineMeasure`]). A chunk of which x has more occurrences than y is left as
//! often as x has it more. Whole chunks are decided first, so fine chunks never make a pair share less.
//!
//! A fine chunk has about seven bytes and a tag of eight bits. A *run* are fine chunks of one content that follow each other in
//! a chunk, and in a chunk of the other content as well: three or more of them. At either end of
//! a run is a *border*: the next fine chunk, if its four bytes towards the run agree with those of the fine chunk at
//! the same place of the other content. Of a border count as many bytes as the shorter of these two has, but one: somewhere they differ. A run counts if it has
//! [`RUN_BYTES_MIN`] bytes with its borders, so that phrases which all documents of one kind have in common count for nothing.
//!
//! The runs of a content are found from its first fine chunk on. Of the first eight places of the other content where
//! a run begins as here, the one where it is longest is taken, as far as 64 rows show. A run that counts ends what was
//! looked at; else the search goes on one fine chunk later. Bytes that the other content has once and this one twice count twice
//! here and once there: the lesser sum of both is what they share.
//!
//! [`places`](FineMeasure::places) has the bytes that were counted, with their offsets.
//!
//! Source of the idea: the coarse and the fine comparison of Forman, Eshghi, Chiocchetti (KDD 2005), section 4.

mod common_rows;
mod places;

use std::collections::HashMap;
use std::ops::Range;

use cognate_fingerprint::{FineChunk, Tag};

use self::common_rows::CommonRows;
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
/// The least bytes of a run that counts, with its borders.
pub const RUN_BYTES_MIN: u64 = 32;
/// The places of the other content at which a run is tried.
const PARTNERS_MAX: usize = 8;
/// The rows by which these places are compared.
const AHEAD_MAX: usize = 64;
/// A row that crosses the end of a chunk: it is equal to no other.
const NO_ROW: u64 = 0;
/// Bits of a fine chunk in a row: its tag, and its length less 1.
const FINE_BITS: u32 = 12;
/// The bit that every row has, above those of its fine chunks.
#[expect(clippy::cast_possible_truncation, reason = "a row has three fine chunks")]
const ROW_MARK: u64 = 1 << (FINE_BITS * ROW as u32);
/// The bits of the fine chunks of a row.
const ROW_MASK: u64 = ROW_MARK - 1;

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
    /// Per fine chunk, what it is part of.
    parts: Vec<Part>,
    /// Per fine chunk, the row that begins there.
    rows: Vec<u64>,
    /// Per fine chunk, the bytes of it that count: all of them in a run, some in a border.
    counted: Vec<u8>,
    /// The runs that count, ascending.
    runs: Vec<CountedRun>,
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
}

impl SharedBytes {
    fn of(sides: [[u64; 3]; 2]) -> SharedBytes {
        let lesser = |parts: usize| {
            let [a, b] = sides.map(|bytes| bytes[..parts].iter().sum::<u64>());
            a.min(b)
        };
        SharedBytes { all: lesser(3), outside_templates: lesser(2), outside_frames: lesser(1) }
    }

    /// Both sums together.
    #[must_use]
    pub fn plus(self, other: SharedBytes) -> SharedBytes {
        SharedBytes {
            all: self.all + other.all,
            outside_templates: self.outside_templates + other.outside_templates,
            outside_frames: self.outside_frames + other.outside_frames,
        }
    }
}

impl FineMeasure {
    /// Begins a pair.
    pub fn begin(&mut self) {
        for side in &mut self.sides {
            side.fine.clear();
            side.parts.clear();
        }
    }

    /// Adds a chunk that is left of the first (0) or of the second (1) content, with what each fine chunk is part of; nothing: all are
    /// the content's own.
    pub fn add(&mut self, side: usize, fine: &[FineChunk], parts: &[Part]) {
        let side = &mut self.sides[side];
        side.fine.extend_from_slice(fine);
        side.fine.push(FineChunk { tag: 0, length_bytes: 0 });
        side.parts.extend_from_slice(parts);
        side.parts.resize(side.fine.len(), Part::Own);
    }

    /// The bytes in common: of each content the runs that count, with their borders; then the lesser of the two. Runs are found
    /// whatever they are part of, so that what is next to a frame counts as well.
    pub fn shared_bytes(&mut self) -> SharedBytes {
        self.sides.iter_mut().for_each(Side::find_rows);
        let [a, b] = &mut self.sides;
        self.common.find(&a.rows, &b.rows);
        self.common.fill(1, &b.rows);
        a.find_runs(b, &self.common, [0, 1]);
        // The lesser sum is of both: it is nothing already.
        if a.runs.is_empty() {
            return SharedBytes::default();
        }
        self.common.fill(0, &a.rows);
        b.find_runs(a, &self.common, [1, 0]);
        SharedBytes::of([a.counted_by_part(), b.counted_by_part()])
    }

    /// The chunks that were added on a side, in order, each with the bytes that count of each of its fine chunks, 0 to its length:
    /// after [`shared_bytes`](FineMeasure::shared_bytes).
    pub fn counted(&self, side: usize) -> impl Iterator<Item = (&[FineChunk], &[u8])> {
        let Side { fine, counted, .. } = &self.sides[side];
        let mut start = 0;
        let ends = fine.iter().enumerate().filter(|(_, fine)| fine.length_bytes == 0).map(|(end, _)| end);
        ends.map(move |end| {
            let of_chunk = (&fine[start..end], &counted[start..end]);
            start = end + 1;
            of_chunk
        })
    }
}

impl Side {
    fn find_rows(&mut self) {
        self.rows.clear();
        let (mut row, mut in_chunk) = (0_u64, 0_usize);
        let ending = self.fine.iter().map(|fine| {
            in_chunk = if fine.length_bytes > 0 { in_chunk + 1 } else { 0 };
            row = row << FINE_BITS | u64::from(fine.tag) << 4 | u64::from(fine.length_bytes.wrapping_sub(1) & 0xf);
            if in_chunk < ROW { NO_ROW } else { row & ROW_MASK | ROW_MARK }
        });
        self.rows.extend(ending.skip(ROW - 1));
        self.counted.clear();
        self.counted.resize(self.fine.len(), 0);
        self.runs.clear();
    }

    /// Finds the runs that count. `common` has the table of the other side; the sides are this one and the other.
    fn find_runs(&mut self, other: &Side, common: &CommonRows, [own, opposite]: [usize; 2]) {
        let mut next = 0;
        for place in common.of_side(own) {
            let place = *place as usize;
            if place < next {
                continue;
            }
            let partners = common.places(opposite, self.rows[place]);
            let Some((partner, rows)) = self.partner(place, other, partners) else { continue };
            let end = place + rows + ROW - 1;
            if self.count_run(Run { fine: place..end, partner }, &other.fine) {
                next = end;
            }
        }
    }

    /// The bytes that count, by what they are part of.
    fn counted_by_part(&self) -> [u64; 3] {
        let mut bytes = [0; 3];
        for (part, counted) in self.parts.iter().zip(&self.counted) {
            bytes[*part as usize] += u64::from(*counted);
        }
        bytes
    }

    /// The place in the other content where the longest run begins that begins here, and its rows.
    fn partner(&self, place: usize, other: &Side, partners: impl Iterator<Item = usize>) -> Option<(usize, usize)> {
        let agree = |partner: usize, from: usize, most: usize| {
            let pairs = self.rows[place + from..].iter().zip(&other.rows[partner + from..]).take(most);
            from + pairs.take_while(|(own, other)| own == other && **own != NO_ROW).count()
        };
        let mut longest: Option<(usize, usize)> = None;
        let same = partners.filter(|partner| other.rows[*partner] == self.rows[place]);
        for partner in same.take(PARTNERS_MAX) {
            let rows = agree(partner, 0, AHEAD_MAX);
            if longest.is_none_or(|(_, most)| rows > most) {
                longest = Some((partner, rows));
            }
            if rows == AHEAD_MAX {
                break;
            }
        }
        longest.map(|(partner, rows)| (partner, agree(partner, rows, usize::MAX)))
    }

    /// Counts a run with its borders; false if they have too few bytes.
    fn count_run(&mut self, run: Run, other: &[FineChunk]) -> bool {
        let borders = self.borders(&run, other);
        let in_borders: u64 = borders.iter().flatten().map(|(_, bytes)| u64::from(*bytes) + 1).sum();
        let in_run: u64 = self.fine[run.fine.clone()].iter().map(|fine| u64::from(fine.length_bytes)).sum();
        if in_run + in_borders < RUN_BYTES_MIN {
            return false;
        }
        // A fine chunk counts once: in a run before as a border, and as a border of the first of two runs.
        let skipped = self.counted[run.fine.start];
        for own in run.fine.clone() {
            self.counted[own] = self.fine[own].length_bytes;
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
mod tests {
    use std::num::NonZeroU32;

    use proptest::prelude::*;

    use super::*;
    use crate::shards::MemoryShards;

    fn tag(number: u8) -> Tag {
        Tag([number; 16])
    }

    fn content(chunks: &[u8]) -> Vec<ChunkCount> {
        counted(chunks.iter().map(|number| (tag(*number), 100 + u32::from(*number))))
    }

    #[test]
    fn a_chunk_is_shared_as_often_as_both_have_it_and_left_as_often_as_one_has_it_more() {
        let found = by_chunks(&content(&[1, 1, 1, 2, 4]), &content(&[1, 3, 4]));
        assert_eq!(found.shared_bytes, 101 + 104);
        let one = |number, count| ChunkCount { tag: tag(number), length_bytes: 100 + u32::from(number), count };
        assert_eq!(found.left, [vec![one(1, 2), one(2, 1)], vec![one(3, 1)]]);
    }

    #[test]
    fn a_tag_with_two_lengths_counts_as_two_chunks() {
        let short = counted([(tag(1), 5)].into_iter());
        let found = by_chunks(&content(&[1]), &short);
        assert_eq!((found.shared_bytes, found.left[0].len(), found.left[1].len()), (0, 1, 1));
    }

    #[test]
    fn only_chunks_of_few_contents_make_pairs() {
        let posting = |number, content| Posting {
            tag: tag(number),
            length_bytes: 10,
            template: number == 9,
            content: ContentIndex(content),
        };
        let postings = [(1, 0), (1, 1), (1, 1), (1, 0), (2, 0), (2, 1), (2, 2), (3, 2), (9, 0), (9, 2)];
        let shards =
            MemoryShards::new(postings.map(|(number, content)| posting(number, content)).to_vec(), NonZeroU32::MIN);
        let found = |holders_max| {
            let mut found = Vec::new();
            pairs_of_rare_chunks(&shards, 0, holders_max, &mut |link| {
                found.push((link.a.0, link.b.0, link.shared_bytes));
                Ok(())
            })
            .unwrap();
            found.sort_unstable();
            found
        };
        assert_eq!(found(2), [(0, 1, 20)]);
        assert_eq!(found(3), [(0, 1, 10), (0, 1, 20), (0, 2, 10), (1, 2, 10)]);
    }

    /// Fine chunks of which some begin or end alike.
    const NUMBERS: [u8; 9] = [10, 11, 19, 27, 16, 24, 0, 2, 8];

    proptest! {
        #[test]
        fn a_pair_by_chunks_equals_the_count_of_each_chunk(
            a in proptest::collection::vec(0_u8..12, 0..40),
            b in proptest::collection::vec(0_u8..12, 0..40),
        ) {
            let found = by_chunks(&content(&a), &content(&b));
            let times = |list: &[u8], number: u8| list.iter().filter(|one| **one == number).count() as u64;
            let shared: u64 =
                (0..12).map(|number| times(&a, number).min(times(&b, number)) * (100 + u64::from(number))).sum();
            prop_assert_eq!(found.shared_bytes, shared);
            for (side, list) in [(0, &a), (1, &b)] {
                let left: u64 = found.left[side].iter().map(|one| u64::from(one.count) * u64::from(one.length_bytes)).sum();
                let all: u64 = list.iter().map(|number| 100 + u64::from(*number)).sum();
                prop_assert_eq!(left + shared, all);
            }
        }

        #[test]
        fn fine_chunks_are_shared_as_their_definition_says(
            a in proptest::collection::vec(proptest::collection::vec(proptest::sample::select(&NUMBERS), 1..90), 0..5),
            b in proptest::collection::vec(proptest::collection::vec(proptest::sample::select(&NUMBERS), 1..90), 0..5),
        ) {
            let mut measure = FineMeasure::default();
            for _ in 0..2 {
                measure.begin();
                a.iter().for_each(|chunk| measure.add(0, &of_numbers(chunk), &[]));
                b.iter().for_each(|chunk| measure.add(1, &of_numbers(chunk), &[]));
                prop_assert_eq!(measure.shared_bytes().all, counted_bytes(&a, &b).min(counted_bytes(&b, &a)));
            }
        }
    }

    fn of_numbers(numbers: &[u8]) -> Vec<FineChunk> {
        numbers
            .iter()
            .map(|number| FineChunk { tag: *number, length_bytes: length(*number).to_le_bytes()[0] })
            .collect()
    }

    fn length(number: u8) -> u64 {
        4 + u64::from(number % 12)
    }

    /// What counts of a towards b by the definition, with every list of fine chunks ended by none.
    fn counted_bytes(a: &[Vec<u8>], b: &[Vec<u8>]) -> u64 {
        let listed = |chunks: &[Vec<u8>]| -> Vec<Option<u8>> {
            chunks.iter().flat_map(|chunk| chunk.iter().copied().map(Some).chain([None])).collect()
        };
        let (a, b) = (listed(a), listed(b));
        // The fine chunks that agree from two places on.
        let agree = |x: usize, y: usize| a[x..].iter().zip(&b[y..]).take_while(|(x, y)| x == y && x.is_some()).count();
        let (mut counted, mut place) = (vec![0; a.len()], 0);
        while place < a.len() {
            let partners = (0..b.len()).filter(|partner| agree(place, *partner) >= 3).take(8);
            // The first of the longest, as far as 64 rows show.
            let longest = partners.min_by_key(|partner| std::cmp::Reverse(agree(place, *partner).min(66)));
            let Some(partner) = longest else {
                place += 1;
                continue;
            };
            let end = place + agree(place, partner);
            let border = |x: Option<usize>, y: Option<usize>, mask: u8| {
                let (own, opposite) = (a[x?]?, b[y?]?);
                ((own ^ opposite) & mask == 0).then(|| length(own).min(length(opposite)))
            };
            let before = border(place.checked_sub(1), partner.checked_sub(1), 7 << 3);
            let after = border(Some(end), Some(partner + end - place), 7);
            let sum: u64 = a[place..end].iter().flatten().map(|number| length(*number)).sum();
            if sum + before.unwrap_or(0) + after.unwrap_or(0) < 32 {
                place += 1;
                continue;
            }
            (place..end).for_each(|own| counted[own] = length(a[own].unwrap()));
            for (own, bytes) in [(place.wrapping_sub(1), before), (end, after)] {
                match bytes {
                    Some(bytes) if counted[own] == 0 => counted[own] = bytes - 1,
                    _ => {}
                }
            }
            place = end;
        }
        counted.iter().sum()
    }

    fn shared(a: &[&[u8]], b: &[&[u8]]) -> u64 {
        let mut measure = FineMeasure::default();
        measure.begin();
        a.iter().for_each(|chunk| measure.add(0, &of_numbers(chunk), &[]));
        b.iter().for_each(|chunk| measure.add(1, &of_numbers(chunk), &[]));
        measure.shared_bytes().all
    }

    #[test]
    fn runs_do_not_cross_chunks_and_count_from_their_least_length_on() {
        // A fine chunk of number n has 4 + n bytes.
        assert_eq!(shared(&[&[10, 11, 8, 3]], &[&[10, 11, 4, 8]]), 0, "no row");
        assert_eq!(shared(&[&[10, 11, 8]], &[&[10, 11, 8]]), 14 + 15 + 12);
        assert_eq!(shared(&[&[6, 7, 6]], &[&[6, 7, 6]]), 0, "31 bytes");
        assert_eq!(shared(&[&[10, 11], &[8]], &[&[10, 11, 8]]), 0, "in two chunks");
        assert_eq!(shared(&[], &[&[1, 2, 3]]), 0);
    }

    #[test]
    fn rows_that_follow_each_other_in_one_content_alone_are_no_run() {
        // Both rows of three are in the other content, in the other order, and too short.
        let (one, other): (&[u8], &[u8]) = (&[6, 7, 5, 4, 3, 2], &[4, 3, 2, 6, 7, 5]);
        assert_eq!(shared(&[one], &[other]), 0);
        let both = &[4, 3, 2, 0, 6, 7, 5, 4, 3, 2];
        assert_eq!(shared(&[one], &[both]), 10 + 11 + 9 + 8 + 7 + 6, "the longest of two places");
    }

    #[test]
    fn bytes_that_one_has_twice_and_the_other_once_are_shared_once() {
        assert_eq!(shared(&[&[8, 9, 10, 3, 8, 9, 10]], &[&[8, 9, 10]]), 12 + 13 + 14);
        assert_eq!(shared(&[&[8, 9, 10, 3, 8, 9, 10]], &[&[8, 9, 10, 4, 8, 9, 10]]), 2 * (12 + 13 + 14));
    }

    #[test]
    fn of_a_border_that_agrees_towards_the_run_all_bytes_but_one_of_the_shorter_one_count() {
        // The lowest three bits are of the beginning, the next three of the end: 19 begins like 43, and 16 ends like 17.
        assert_eq!(shared(&[&[2, 10, 11, 19]], &[&[2, 10, 11, 43]]), 6 + 14 + 15 + 10, "the end begins alike");
        assert_eq!(shared(&[&[1, 1, 8, 19]], &[&[1, 1, 8, 18]]), 0, "nothing agrees");
        assert_eq!(shared(&[&[16, 2, 10, 11]], &[&[17, 2, 10, 11]]), 7 + 6 + 14 + 15, "the beginning ends alike");
        assert_eq!(shared(&[&[24, 1, 1, 8]], &[&[17, 1, 1, 8]]), 0, "it begins alike alone");
    }

    #[test]
    fn bytes_in_common_are_counted_by_the_part_that_has_them() {
        use Part::{Frame, Own, Template};
        let mut measure = FineMeasure::default();
        measure.begin();
        let chunk = of_numbers(&[8, 9, 10, 11]);
        measure.add(0, &chunk, &[Template, Frame, Own, Own]);
        measure.add(1, &chunk, &[Template, Frame, Own, Frame]);
        let found = measure.shared_bytes();
        // The run is one, of 54 bytes, though its own text alone has fewer than count.
        assert_eq!((found.all, found.outside_templates, found.outside_frames), (54, 42, 14));
    }
}
