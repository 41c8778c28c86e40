//! An estimate of what places have in common beyond what was measured. Not every content is paired with every other, so a content may share
//! passages with contents with which it was not paired. The fine chunks of all pairs together show how much that is.
//!
//! A sample of the chunks of a place that another place does not have as a whole is looked up among all fine chunks that are known of the other
//! ([`SampledRows`]): so the sum is that of all windows of 32 bytes, as far as it was held against them
//! (`docs/decisions/0063-headline-estimate.md`).
//!
//! The sample has the chunks with the least tags, which are hashes. What is true of its bytes is taken as true of all (a ratio estimator;
//! Cochran, "Sampling Techniques", chapter 6). What is in common with contents that have no candidate, so that no site is asked for their chunks, their
//! window samples show (`unasked`). Where a site gave less than nine tenths of what it was asked for, there is no estimate.

use std::collections::{BTreeMap, BinaryHeap};

use cognate_fingerprint::Tag;
use cognate_similarity::{OverlapLevel, Posting};
use foldhash::{HashMap, HashSet, HashSetExt as _};

use super::estimate::EstimatedBytes;
use super::expansions::{Expansions, Reading};
use super::pair::Pair;
use super::parts::Parts;
use super::sampled_rows::{CoveredBytes, SampledRows, covered, own_bytes, rows_of};
use super::unasked::MeasuredContents;
use crate::compare::Task;
use crate::error::Error;
use crate::subject::Subject;

/// The chunks of all samples together: some 20 MB of rows.
const SAMPLED_CHUNKS: usize = 1 << 13;
/// The least that the sample of one place has of them.
const SAMPLED_CHUNKS_MIN: usize = 256;
/// Chunks that a thread looks up at a time.
const PORTION_CHUNKS: usize = 1024;

/// Of each two places of one level, the bytes of the first that the second has and no measured pair shows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct UnmeasuredBytes {
    label_count: usize,
    /// Nothing where too little is known.
    cells: Vec<Option<EstimatedBytes>>,
}

/// The places of all levels in one sequence: sites, then parties.
struct Places<'a> {
    subject: &'a Subject<'a>,
    /// The number of each level's first place; at the end, that of all.
    starts: [usize; 3],
}

/// Chunks that were cut again, with the places that have each.
#[derive(Default)]
struct CutChunks {
    tags: Vec<Tag>,
    /// Per chunk, the end of its places.
    ends: Vec<u32>,
    places: Vec<u16>,
}

/// The chunks of one place that another does not have as a whole, and that its site was asked for.
#[derive(Clone, Copy, Default)]
struct Stratum {
    asked_bytes: u64,
    /// Of these, chunks that were cut again, and their bytes.
    chunks: u64,
    bytes: u64,
}

/// The bytes of one place that another does not have as whole chunks.
#[derive(Clone, Copy)]
struct Remainder {
    bytes: u64,
    asked: Stratum,
}

/// The chunks that one thread has visited, with their sums.
struct ThreadChunks {
    chunks: CutChunks,
    /// Of each two places.
    strata: Vec<Stratum>,
    /// Per place the least tags.
    least: Vec<BinaryHeap<Tag>>,
    /// The contents of these chunks.
    contents: HashSet<u32>,
}

/// Chunks with their fine chunks, and what each of these is part of.
struct MeasuredChunks<'a> {
    /// Ascending.
    tags: &'a [Tag],
    expansions: &'a Expansions,
    parts: &'a Parts,
}

/// Sums over the sampled chunks of one place that another does not have as a whole. Numbers are bytes in all copies.
#[derive(Clone, Copy, Default)]
struct Sums {
    chunks: u64,
    weight: f64,
    covered: f64,
    uncertain: f64,
    /// Sums of squares and products.
    weight_weight: f64,
    weight_covered: f64,
    covered_covered: f64,
}

impl UnmeasuredBytes {
    /// The bytes of `a` that `b` has; nothing if the fine chunks of one of the two are not known.
    pub(crate) fn of(&self, a: usize, b: usize) -> Option<EstimatedBytes> {
        self.cells[a * self.label_count + b]
    }
}

impl<'a> Places<'a> {
    fn of(subject: &'a Subject<'a>) -> Places<'a> {
        let [sites, parties] = subject.levels.each_ref().map(|level| usize::from(level.label_count));
        Places { subject, starts: [0, sites, sites + parties] }
    }

    fn count(&self) -> usize {
        self.starts[2]
    }

    fn cell(&self, a: usize, b: usize) -> usize {
        a * self.count() + b
    }

    /// The other places of the same level.
    fn others(&self, place: usize) -> impl Iterator<Item = usize> {
        let level = usize::from(place >= self.starts[1]);
        (self.starts[level]..self.starts[level + 1]).filter(move |other| *other != place)
    }

    /// Per place the bytes of its contents in all copies, without templates.
    fn total_bytes(&self) -> Vec<u64> {
        let mut totals = vec![0; self.count()];
        for (number, content) in (0..).zip(&self.subject.frozen.contents) {
            for root in self.subject.roots_of(number) {
                for (level, start) in self.subject.levels.iter().zip(self.starts) {
                    totals[start + usize::from(level.labels[usize::from(root)])] += content.weight;
                }
            }
        }
        totals
    }

    /// The places that have a chunk, ascending, each with the number of its occurrences there in all copies.
    fn with(&self, postings: &[Posting]) -> BTreeMap<usize, u64> {
        let mut counts = BTreeMap::new();
        for posting in postings.iter().filter(|posting| !posting.template) {
            for root in self.subject.roots_of(posting.content.0) {
                for (level, start) in self.subject.levels.iter().zip(self.starts) {
                    *counts.entry(start + usize::from(level.labels[usize::from(root)])).or_default() += 1;
                }
            }
        }
        counts
    }
}

impl CutChunks {
    fn push(&mut self, tag: Tag, places: impl Iterator<Item = usize>) {
        self.tags.push(tag);
        self.places.extend(places.map(|place| u16::try_from(place).expect("sites are few")));
        self.ends.push(u32::try_from(self.places.len()).expect("a scan asks for fewer than 2^32 chunks"));
    }

    fn places(&self, number: usize) -> &[u16] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.places[start..self.ends[number] as usize]
    }
}

impl Task<'_> {
    /// The bytes that sites, and parties, have in common beyond what was measured. `asked` are the chunks that sites were asked for, ascending;
    /// `pairs` are those that were measured, `shared` the measured bytes, and `by_fine` those of them that fine chunks show.
    pub(super) fn unmeasured_bytes(
        &self,
        asked: &[Tag],
        expansions: &Expansions,
        parts: &Parts,
        pairs: &[Pair],
        [shared, by_fine]: [&[OverlapLevel]; 2],
    ) -> Result<[UnmeasuredBytes; 2], Error> {
        let places = Places::of(self.subject);
        let of_threads = self.cut_chunks(&places, asked, expansions, parts)?;
        let mut strata = vec![Stratum::default(); places.count() * places.count()];
        for found in &of_threads {
            strata.iter_mut().zip(&found.strata).for_each(|(all, found)| all.add(*found));
        }
        let samples = samples(&places, &of_threads);
        let mut tags = samples.concat();
        tags.sort_unstable();
        tags.dedup();
        let mut rows: Vec<u64> = Vec::new();
        expansions.each(tags.iter().copied(), &mut Reading::default(), |_, fine| rows.extend(rows_of(fine)))?;
        let sampled = SampledRows::of(rows, places.count());
        for found in &of_threads {
            self.look_up(&found.chunks, expansions, &sampled)?;
        }
        let mut is_asked = vec![false; self.subject.frozen.contents.len()];
        of_threads.iter().flat_map(|found| &found.contents).for_each(|content| is_asked[*content as usize] = true);
        drop(of_threads);
        let unasked = self.unasked_bytes(&MeasuredContents::of(pairs, is_asked))?;
        let sums = self.sample_sums(&places, &samples, &sampled, &MeasuredChunks { tags: &tags, expansions, parts })?;
        let totals = places.total_bytes();
        let level = |level: usize| {
            let (shared, by_fine) = (&shared[level], &by_fine[level]);
            let label_count = self.subject.levels[level].label_count;
            let place = |label: u16| places.starts[level] + usize::from(label);
            let left = |a: u16, b: u16| {
                let whole_bytes = shared.shared_bytes(a, b).saturating_sub(by_fine.shared_bytes(a, b));
                let asked = strata[places.cell(place(a), place(b))];
                Remainder { bytes: totals[place(a)].saturating_sub(whole_bytes).max(asked.asked_bytes), asked }
            };
            let pairs = (0..label_count).flat_map(|a| (0..label_count).map(move |b| (a, b)));
            let cells = pairs.map(|(a, b)| {
                let sums = &sums[places.cell(place(a), place(b))];
                let of_samples = sums.estimate([left(a, b), left(b, a)], by_fine.shared_bytes(a, b))?;
                Some(of_samples.plus(unasked[level].of(a, b)))
            });
            UnmeasuredBytes { label_count: usize::from(label_count), cells: cells.collect() }
        };
        Ok([level(0), level(1)])
    }

    /// The bytes that sampled chunks have in common with each place that lacks the chunk.
    fn sample_sums(
        &self,
        places: &Places<'_>,
        samples: &[Vec<Tag>],
        sampled: &SampledRows,
        chunks: &MeasuredChunks<'_>,
    ) -> Result<Vec<Sums>, Error> {
        let MeasuredChunks { tags, expansions, parts } = *chunks;
        let holders = self.on_tags(tags, &Vec::new, &|all: &mut Vec<(Tag, BTreeMap<usize, u64>)>, tag, postings| {
            all.push((tag, places.with(postings)));
        })?;
        let holders: HashMap<Tag, BTreeMap<usize, u64>> = holders.into_iter().flatten().collect();
        let mut sums = vec![Sums::default(); places.count() * places.count()];
        // In the order of the tags, so that every sum is rounded alike.
        for tag in tags {
            let fine = expansions.get(tag)?.unwrap_or_default();
            let (of_chunk, found) = (parts.of_chunk(tag, &fine), sampled.found_in(&fine));
            let (own, holders) = (own_bytes(&fine, &of_chunk), &holders[tag]);
            for (place, occurrences) in holders.iter().filter(|(place, _)| samples[**place].binary_search(tag).is_ok())
            {
                for other in places.others(*place).filter(|other| !holders.contains_key(other)) {
                    let covered = covered(&fine, &of_chunk, |row| sampled.is_at(found[row], other));
                    sums[places.cell(*place, other)].add(*occurrences, own, covered);
                }
            }
        }
        Ok(sums)
    }

    /// The places of all chunks that were cut again, and the least tags of each place.
    fn cut_chunks(
        &self,
        places: &Places<'_>,
        asked: &[Tag],
        expansions: &Expansions,
        parts: &Parts,
    ) -> Result<Vec<ThreadChunks>, Error> {
        let begin = || ThreadChunks {
            chunks: CutChunks::default(),
            strata: vec![Stratum::default(); places.count() * places.count()],
            least: vec![BinaryHeap::new(); places.count()],
            contents: HashSet::new(),
        };
        let sample_size = sample_size(places);
        self.on_tags(asked, &begin, &|found: &mut ThreadChunks, tag, postings| {
            let holders = places.with(postings);
            let length_bytes = postings.first().map_or(0, |posting| u64::from(posting.length_bytes));
            let own = length_bytes.saturating_sub(parts.of_tag(&tag).template);
            let is_cut = expansions.contains(&tag);
            found.contents.extend(postings.iter().map(|posting| posting.content.0));
            for (place, occurrences) in &holders {
                let least = &mut found.least[*place];
                if is_cut && (least.len() < sample_size || least.peek().is_some_and(|most| tag < *most)) {
                    least.push(tag);
                    if least.len() > sample_size {
                        least.pop();
                    }
                }
                let asked_bytes = occurrences * own;
                let (chunks, bytes) = if is_cut { (1, asked_bytes) } else { (0, 0) };
                for other in places.others(*place).filter(|other| !holders.contains_key(other)) {
                    found.strata[places.cell(*place, other)].add(Stratum { asked_bytes, chunks, bytes });
                }
            }
            if is_cut {
                found.chunks.push(tag, holders.into_keys());
            }
        })
    }

    /// Notes for each row of the samples at which places these chunks have it.
    fn look_up(&self, chunks: &CutChunks, expansions: &Expansions, sampled: &SampledRows) -> Result<(), Error> {
        let mut order: Vec<(u64, usize)> = (0..chunks.tags.len())
            .filter_map(|number| Some((expansions.offset(&chunks.tags[number])?, number)))
            .collect();
        order.sort_unstable();
        let portions: Vec<&[(u64, usize)]> = order.chunks(PORTION_CHUNKS).collect();
        self.on_threads(&portions, &Reading::default, &|reading: &mut Reading, portion| {
            let tags = portion.iter().map(|(_, number)| chunks.tags[*number]);
            expansions.each(tags, reading, |number, fine| {
                let places = chunks.places(portion[number].1);
                rows_of(fine).for_each(|row| sampled.mark(row, places));
            })
        })?;
        Ok(())
    }
}

/// The number of chunks in the sample of one place.
fn sample_size(places: &Places<'_>) -> usize {
    (SAMPLED_CHUNKS / places.starts[1].max(1)).max(SAMPLED_CHUNKS_MIN)
}

/// Per place its sample, ascending.
fn samples(places: &Places<'_>, of_threads: &[ThreadChunks]) -> Vec<Vec<Tag>> {
    let sample = |place: usize| {
        let mut tags: Vec<Tag> = of_threads.iter().flat_map(|found| found.least[place].iter().copied()).collect();
        tags.sort_unstable();
        tags.truncate(sample_size(places));
        tags
    };
    (0..places.count()).map(sample).collect()
}

impl Stratum {
    fn add(&mut self, other: Stratum) {
        self.asked_bytes = self.asked_bytes.saturating_add(other.asked_bytes);
        self.chunks += other.chunks;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    /// True if most of what a site was asked for is there.
    fn is_given(&self) -> bool {
        10 * u128::from(self.bytes) >= 9 * u128::from(self.asked_bytes)
    }
}

impl Sums {
    /// Adds a chunk with so many bytes that are no template.
    fn add(&mut self, occurrences: u64, own: u64, covered: CoveredBytes) {
        let [weight, covered, uncertain] =
            [own, covered.all, covered.uncertain].map(|bytes| float(occurrences * bytes));
        self.chunks += 1;
        self.weight += weight;
        self.covered += covered;
        self.uncertain += uncertain;
        self.weight_weight += weight * weight;
        self.weight_covered += weight * covered;
        self.covered_covered += covered * covered;
    }

    /// The bytes beyond those that fine chunks show already: of what is left of a place, and of the other one.
    fn estimate(&self, [own, other]: [Remainder; 2], measured_bytes: u64) -> Option<EstimatedBytes> {
        if !own.asked.is_given() || !other.asked.is_given() {
            return None;
        }
        if self.weight == 0.0 {
            return Some(EstimatedBytes::default());
        }
        let ratio = self.covered / self.weight;
        // The squares of what each chunk has more or less than the ratio.
        let squares = self.covered_covered - 2.0 * ratio * self.weight_covered + ratio * ratio * self.weight_weight;
        let left_out = 1.0 - float(self.chunks) / float(own.asked.chunks.max(self.chunks));
        let standard_error = (squares.max(0.0) * left_out).sqrt() / self.weight;
        let cut_bytes = float(own.asked.bytes);
        let found = (ratio * cut_bytes - float(measured_bytes)).max(0.0);
        let of_sample = cut_bytes * (2.0 * standard_error + self.uncertain / self.weight);
        let unseen = found * other.uncut_bytes() / float(other.bytes.max(1));
        Some(EstimatedBytes { bytes: whole(found), error_bytes: whole(of_sample + unseen) })
    }
}

impl Remainder {
    fn uncut_bytes(&self) -> f64 {
        float(self.bytes - self.asked.bytes)
    }
}

/// A number of bytes: far below 2^53.
fn float(bytes: u64) -> f64 {
    bytes as f64
}

/// A sum that is not negative, as a number of bytes.
#[expect(clippy::cast_possible_truncation, reason = "sums are far below 2^53")]
fn whole(bytes: f64) -> u64 {
    bytes.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A place with so many chunks of 1,000 bytes that were cut again, with bytes that its site refused, and with bytes that nobody asked for.
    fn left(chunks: u64, [refused_bytes, other_bytes]: [u64; 2]) -> Remainder {
        let bytes = 1000 * chunks;
        let asked = Stratum { asked_bytes: bytes + refused_bytes, chunks, bytes };
        Remainder { bytes: asked.asked_bytes + other_bytes, asked }
    }

    /// Sums over chunks of 1,000 bytes, of which each has these in common, some of them for certain.
    fn sums(covered: &[(u64, u64)]) -> Sums {
        let mut sums = Sums::default();
        covered.iter().for_each(|(all, certain)| {
            sums.add(1, 1000, CoveredBytes { all: *all, uncertain: all - certain });
        });
        sums
    }

    fn estimate(sums: &Sums, left: [Remainder; 2], measured_bytes: u64) -> Option<(u64, u64)> {
        sums.estimate(left, measured_bytes).map(|estimate| (estimate.bytes, estimate.error_bytes))
    }

    #[test]
    fn what_a_sample_shows_is_taken_as_true_of_all_and_measured_bytes_are_none_of_it() {
        let all = sums(&[(500, 500); 10]);
        assert_eq!(estimate(&all, [left(10, [0, 0]), left(10, [0, 0])], 0), Some((5000, 0)), "all were looked up");
        assert_eq!(estimate(&all, [left(40, [0, 0]), left(10, [0, 0])], 12_000), Some((8000, 0)), "all are alike");
        assert_eq!(estimate(&all, [left(10, [0, 0]), left(10, [0, 0])], 6000), Some((0, 0)));
        assert_eq!(estimate(&sums(&[(500, 400); 10]), [left(10, [0, 0]), left(10, [0, 0])], 0), Some((5000, 1000)));
        assert_eq!(
            estimate(&Sums::default(), [left(0, [0, 0]), left(0, [0, 0])], 0),
            Some((0, 0)),
            "all is there as a whole"
        );
    }

    #[test]
    fn a_small_sample_of_unlike_chunks_has_a_large_error() {
        let half = |count: usize| sums(&[(1000, 1000), (0, 0)].repeat(count / 2));
        let error = |count: usize| estimate(&half(count), [left(1_000_000, [0, 0]), left(9, [0, 0])], 0).unwrap();
        // Two standard errors of a share of one half.
        assert_eq!(error(100), (500_000_000, 99_995_000));
        assert_eq!(error(10_000), (500_000_000, 9_949_874));
    }

    #[test]
    fn chunks_that_were_not_cut_add_to_the_error_and_a_site_that_gives_few_leaves_no_estimate() {
        let (all, cut) = (sums(&[(500, 500); 10]), left(10, [0, 0]));
        assert_eq!(estimate(&all, [left(10, [0, 4000]), cut], 0), Some((5000, 0)));
        assert_eq!(estimate(&all, [cut, left(10, [0, 10_000])], 0), Some((5000, 2500)));
        assert_eq!(estimate(&all, [left(10, [1111, 0]), cut], 0), Some((5000, 0)));
        assert_eq!(estimate(&all, [left(10, [1112, 0]), cut], 0), None);
        assert_eq!(estimate(&all, [cut, left(10, [1112, 0])], 0), None);
    }
}
