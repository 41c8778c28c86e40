//! Candidates of sixteen stretches side by side, with AVX-512.
//!
//! The table of the rolling fingerprint has 256 words of eight bytes. Loading a word for each byte would take most of the time, so the
//! table is in registers, as eight planes of 256 bytes: an instruction looks 64 bytes up in half a plane. The planes are then woven
//! into words.

use std::arch::x86_64::*;

use super::{Bits, Run, WORD_PLACES};
use crate::lanes::sixteen::{blocks, last_blocks};
use crate::tttd::{Tttd, WINDOW_BYTES};
use crate::window_sample::{LEVELLED_BITS, OpenSample, WindowSampler};
use crate::x86::{Avx512Vbmi2, load_8, load_32_short, load_64, store_16_at};

/// Fewer bytes than these are followed place by place: sixteen stretches take at least the steps of 64 bytes each, and as many before
/// they begin.
pub(super) const BYTES_LEAST: usize = 640;

const STRETCHES: usize = 16;
/// The steps of a group, as many as a register has bytes.
const STEPS: usize = WORD_PLACES;
const _: () = assert!(WINDOW_BYTES == STEPS);
const PLACES: usize = STEPS * STRETCHES;

type Words = __m512i;

/// The table of the rolling fingerprint byte by byte: byte p of all words is plane p, in four quarters.
#[repr(align(64))]
pub(super) struct Planes([[[u8; 64]; 4]; 8]);

impl Planes {
    pub(super) fn of(table: &[u64; 256]) -> Box<Planes> {
        let mut planes = Box::new(Planes([[[0; 64]; 4]; 8]));
        for (byte, word) in table.iter().enumerate() {
            for (plane, value) in planes.0.iter_mut().zip(word.to_le_bytes()) {
                plane[byte / 64][byte % 64] = value;
            }
        }
        planes
    }
}

/// Sets the bits of the run's candidates, and offers its windows to the sample.
#[expect(unsafe_code, reason = "the token proves that the processor has the instructions")]
pub(super) fn find(
    _: Avx512Vbmi2,
    tttd: &Tttd,
    planes: &Planes,
    run: Run<'_>,
    bits: Bits<'_>,
    sample: Option<(&WindowSampler, &mut OpenSample)>,
) {
    unsafe { follow(tttd, planes, run, bits, sample) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
fn follow(
    tttd: &Tttd,
    planes: &Planes,
    run: Run<'_>,
    bits: Bits<'_>,
    sample: Option<(&WindowSampler, &mut OpenSample)>,
) {
    let mut stretch_words = bits.main.len().div_ceil(STRETCHES);
    // At distances of a power of two stretches would evict each other from the nearest cache.
    stretch_words += usize::from(stretch_words.is_multiple_of(8));
    let stretch_bytes = stretch_words * WORD_PLACES;
    let begins: [usize; STRETCHES] = std::array::from_fn(|stretch| run.from + stretch * stretch_bytes);
    let mut group = Group::new(tttd, planes, run, bits, stretch_words);
    // Before the first stretch, there may be fewer bytes than a window has.
    group.follow::<false>(&rows(run.data, &begins.map(|begin| begin.saturating_sub(WINDOW_BYTES))));
    group.begin_first(tttd.before(run.data, run.from));
    let mut offers = sample.map(|(sampler, sample)| Offers::new(sampler, sample, run, begins));
    for word in 0..stretch_words {
        let at = word * WORD_PLACES;
        let rows = rows(run.data, &begins.map(|begin| begin + at));
        if let Some(offers) = &mut offers {
            group.follow::<true>(&rows);
            offers.offer_all(at, &group.samples);
        } else {
            group.follow::<false>(&rows);
        }
        group.set_bits(word);
    }
    if let Some(offers) = offers {
        offers.sample.add(run.data.len() - run.from);
    }
}

/// The next bytes of each stretch.
#[inline]
fn rows<'a>(data: &'a [u8], places: &[usize; STRETCHES]) -> [&'a [u8]; STRETCHES] {
    std::array::from_fn(|stretch| data.get(places[stretch]..).unwrap_or(&[]))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
fn splat(word: u32) -> Words {
    _mm512_set1_epi32(word.cast_signed())
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
fn splat_long(word: u64) -> Words {
    _mm512_set1_epi64(word.cast_signed())
}

/// 64 places of each stretch.
struct Group<'a> {
    tttd: &'a Tttd,
    planes: &'a Planes,
    bits: Bits<'a>,
    data: &'a [u8],
    from: usize,
    /// The places of the run.
    places: usize,
    stretch_words: usize,
    /// The low and the high half of the fingerprint of each stretch.
    halves: [Words; 2],
    /// The high halves after each step.
    highs: Highs,
    /// For each step, a bit for each stretch whose high half is at most that of the bound of D'.
    near: [u16; STEPS],
    samples: Samples,
}

/// Stored as registers are, none of which may lie across two lines of the cache.
#[repr(align(64))]
struct Highs([[u32; STRETCHES]; STEPS]);

/// The windows of a group whose function is so small that they are sampled.
struct Samples {
    /// The functions, in the order of steps.
    functions: [u32; PLACES + STRETCHES],
    /// For each step, a bit for each stretch that has a window in it.
    stretches: [u16; STEPS],
    /// How many there are after each step.
    counts: [u16; STEPS],
}

impl Group<'_> {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
    fn new<'a>(tttd: &'a Tttd, planes: &'a Planes, run: Run<'a>, bits: Bits<'a>, stretch_words: usize) -> Group<'a> {
        Group {
            tttd,
            planes,
            bits,
            data: run.data,
            from: run.from,
            places: run.data.len() - run.from,
            stretch_words,
            halves: [splat(0); 2],
            highs: Highs([[0; STRETCHES]; STEPS]),
            near: [0; STEPS],
            samples: Samples { functions: [0; PLACES + STRETCHES], stretches: [0; STEPS], counts: [0; STEPS] },
        }
    }

    /// The first stretch continues from a fingerprint that is known.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
    fn begin_first(&mut self, fingerprint: u64) {
        let [low, high] = self.halves;
        let first = |half: u64| splat(u32::try_from(half & u64::from(u32::MAX)).expect("32 bits"));
        self.halves = [
            _mm512_mask_mov_epi32(low, 1, first(fingerprint)),
            _mm512_mask_mov_epi32(high, 1, first(fingerprint >> 32)),
        ];
    }

    /// Follows 64 places of each stretch.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
    fn follow<const SAMPLES: bool>(&mut self, rows: &[&[u8]; STRETCHES]) {
        // At the end of the data, stretches have fewer bytes.
        let is_whole = rows.iter().all(|row| row.len() >= STEPS);
        let bytes =
            if is_whole { blocks(&rows.map(|row| row.first_chunk().expect("it is whole"))) } else { last_blocks(rows) };
        let mut all = splat(0);
        for bytes in &bytes {
            all = _mm512_or_si512(all, *bytes);
        }
        // Of text, the upper half of the table is not needed.
        if _mm512_movepi8_mask(all) == 0 {
            self.each_step::<SAMPLES, true>(&bytes);
        } else {
            self.each_step::<SAMPLES, false>(&bytes);
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
    #[expect(clippy::cast_possible_truncation, reason = "a group has 1024 places")]
    fn each_step<const SAMPLES: bool, const ASCII: bool>(&mut self, bytes: &[Words; 16]) {
        let [mut low, mut high] = self.halves;
        let bound = splat(high_half(self.tttd.bound_backup()));
        // The compiler is not to know it: it would make three instructions of an addition where there is a carry.
        let one = splat(std::hint::black_box(1));
        let not_sampled = splat(!(u32::MAX >> LEVELLED_BITS));
        let mut sampled = 0_usize;
        for (four, bytes) in bytes.iter().enumerate() {
            let words = self.words::<ASCII>(*bytes);
            for (step, [word_low, word_high]) in words.into_iter().enumerate() {
                // The fingerprint doubles, and the word of the byte is added.
                high = _mm512_add_epi32(_mm512_shldi_epi32::<1>(high, low), word_high);
                low = _mm512_add_epi32(_mm512_add_epi32(low, low), word_low);
                let carry = _mm512_cmplt_epu32_mask(low, word_low);
                high = _mm512_mask_add_epi32(high, carry, high, one);
                let step = 4 * four + step;
                self.near[step] = _mm512_cmple_epu32_mask(high, bound);
                store_16_at(high, &mut self.highs.0[step]);
                if SAMPLES {
                    let stretches = _mm512_testn_epi32_mask(low, not_sampled);
                    // There are never more than there were places.
                    let to = self.samples.functions[sampled.min(PLACES)..].first_chunk_mut();
                    store_16_at(_mm512_maskz_compress_epi32(stretches, low), to.expect("a register has room"));
                    sampled += stretches.count_ones() as usize;
                    self.samples.stretches[step] = stretches;
                    self.samples.counts[step] = sampled as u16;
                }
            }
        }
        self.halves = [low, high];
    }

    /// Sets the bits of the candidates of a group. `word` is the number of its word in each stretch.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
    fn set_bits(&mut self, word: usize) {
        let (bound_main, bound_backup) = (self.tttd.bound_main(), self.tttd.bound_backup());
        let halves = self.near.as_chunks::<32>().0;
        let near = |half: &[u16; 32]| {
            let half = load_32_short(half);
            u64::from(_mm512_test_epi16_mask(half, half))
        };
        let mut steps = near(&halves[0]) | near(&halves[1]) << 32;
        while steps != 0 {
            let step = steps.trailing_zeros() as usize;
            steps &= steps - 1;
            let mut stretches = self.near[step];
            while stretches != 0 {
                let stretch = stretches.trailing_zeros() as usize;
                stretches &= stretches - 1;
                let number = stretch * self.stretch_words + word;
                let place = number * WORD_PLACES + step;
                if place >= self.places {
                    continue;
                }
                let high = self.highs.0[step][stretch];
                let bit = 1 << (WORD_PLACES - 1 - step);
                let (mut is_main, mut is_backup) = (high < high_half(bound_main), true);
                if high == high_half(bound_main) || high == high_half(bound_backup) {
                    // One place in 2^31: the low half decides.
                    let fingerprint = self.tttd.before(self.data, self.from + place + 1);
                    (is_main, is_backup) = (fingerprint < bound_main, fingerprint < bound_backup);
                }
                // By arithmetic: no processor foresees which candidates are main ones.
                self.bits.backup[number] |= u64::from(is_backup) * bit;
                self.bits.main[number] |= u64::from(is_main) * bit;
            }
        }
    }

    /// The words of the table for four bytes of each stretch: for each step, their low and their high halves.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
    fn words<const ASCII: bool>(&self, bytes: Words) -> [[Words; 2]; 4] {
        // Bytes of the same step side by side, in each quarter of the register.
        let order = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
        let bytes = _mm512_shuffle_epi8(bytes, _mm512_broadcast_i32x4(order));
        let upper = _mm512_movepi8_mask(bytes);
        let mut planes = [bytes; 8];
        for (plane, quarters) in planes.iter_mut().zip(&self.planes.0) {
            let [a, b, c, d] = quarters;
            *plane = _mm512_permutex2var_epi8(load_64(a), bytes, load_64(b));
            if !ASCII {
                let other = _mm512_permutex2var_epi8(load_64(c), bytes, load_64(d));
                *plane = _mm512_mask_blend_epi8(upper, *plane, other);
            }
        }
        let mut words = [[bytes; 2]; 4];
        for half in 0..2 {
            let [a, b, c, d] = [planes[4 * half], planes[4 * half + 1], planes[4 * half + 2], planes[4 * half + 3]];
            let (low_ab, high_ab) = (_mm512_unpacklo_epi8(a, b), _mm512_unpackhi_epi8(a, b));
            let (low_cd, high_cd) = (_mm512_unpacklo_epi8(c, d), _mm512_unpackhi_epi8(c, d));
            words[0][half] = _mm512_unpacklo_epi16(low_ab, low_cd);
            words[1][half] = _mm512_unpackhi_epi16(low_ab, low_cd);
            words[2][half] = _mm512_unpacklo_epi16(high_ab, high_cd);
            words[3][half] = _mm512_unpackhi_epi16(high_ab, high_cd);
        }
        words
    }
}

fn high_half(word: u64) -> u32 {
    u32::try_from(word >> 32).expect("32 bits")
}

/// Offers sampled windows to a sample, where they may win.
struct Offers<'a> {
    sampler: &'a WindowSampler,
    sample: &'a mut OpenSample,
    run: Run<'a>,
    begins: [usize; STRETCHES],
    /// The number of first places at which no window ends.
    lacking: usize,
}

impl<'a> Offers<'a> {
    fn new(
        sampler: &'a WindowSampler,
        sample: &'a mut OpenSample,
        run: Run<'a>,
        begins: [usize; STRETCHES],
    ) -> Offers<'a> {
        let lacking = sample.lacking();
        Offers { sampler, sample, run, begins, lacking }
    }

    /// Offers the windows of a group, which begins at `at` in each stretch.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
    fn offer_all(&mut self, at: usize, samples: &Samples) {
        let count = usize::from(samples.counts[STEPS - 1]);
        let [added, odd_first, odd_second] = self.sampler.mix().words().map(|word| splat_long(word));
        let mut number = 0;
        while number < count {
            let functions: &[u32; 8] = samples.functions[number..].first_chunk().expect("a register has room");
            let functions = _mm512_cvtepu32_epi64(load_8(functions));
            let mixed = _mm512_mullo_epi64(_mm512_xor_si512(functions, added), odd_first);
            let mixed = _mm512_xor_si512(mixed, _mm512_srli_epi64::<32>(mixed));
            let mixed = _mm512_mullo_epi64(mixed, odd_second);
            let mixed = _mm512_xor_si512(mixed, _mm512_srli_epi64::<32>(mixed));
            let mut taken = u32::from(_mm512_cmple_epu64_mask(mixed, splat_long(self.sample.limit())));
            taken &= (1 << (count - number).min(8)) - 1;
            while taken != 0 {
                self.offer(at, samples, number + taken.trailing_zeros() as usize);
                taken &= taken - 1;
            }
            number += 8;
        }
    }

    /// Offers the window with this number, after its place is found.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,avx512vbmi2,bmi2,popcnt")]
    #[expect(clippy::cast_possible_truncation, reason = "a group has 1024 places")]
    fn offer(&mut self, at: usize, samples: &Samples, number: usize) {
        let halves = samples.counts.as_chunks::<32>().0;
        let wanted = _mm512_set1_epi16((number as u16).cast_signed());
        let before = |half: &[u16; 32]| _mm512_cmple_epu16_mask(load_32_short(half), wanted).count_ones() as usize;
        let step = before(&halves[0]) + before(&halves[1]);
        let earlier = step.checked_sub(1).map_or(0, |step| samples.counts[step]);
        let stretch = _pdep_u32(1 << (number - usize::from(earlier)), u32::from(samples.stretches[step]))
            .trailing_zeros() as usize;
        let place = self.begins[stretch] + at + step;
        // Windows count if they are complete, and end in the run.
        if place >= self.run.data.len() || place < self.run.from + self.lacking {
            return;
        }
        let fingerprint = u64::from(samples.functions[number]);
        self.sampler.offer(self.sample, fingerprint, self.run.data, place);
    }
}
