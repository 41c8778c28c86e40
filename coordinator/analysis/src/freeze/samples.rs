//! The window samples of all contents of a frozen set, packed: a list of a few bytes for each would take more memory than the samples.

use std::cmp::Ordering;

use cognate_fingerprint::{
    SAMPLE_VALUE_BYTES, SampleCounts, WindowSample, sample_level, sample_part, unpack_sample_value,
};

/// The window samples of contents.
#[derive(Default)]
pub(crate) struct WindowSamples {
    /// All values, content by content.
    packed: Vec<u8>,
    /// Of each content, its values.
    places: Vec<SamplePlace>,
    /// Of each content, the level from which on all of its values are in its sample.
    lowest_levels: Vec<u8>,
}

/// The place of a content's sample; empty if none of its sites sends samples.
#[derive(Clone, Copy, Default)]
pub(crate) struct SamplePlace {
    start: u64,
    bytes: u32,
}

impl SamplePlace {
    pub(crate) fn is_empty(self) -> bool {
        self.bytes == 0
    }
}

impl WindowSamples {
    /// Empty samples of so many contents.
    #[cfg(test)]
    pub(crate) fn none(contents: usize) -> WindowSamples {
        let (places, lowest_levels) = (vec![SamplePlace::default(); contents], vec![0; contents]);
        WindowSamples { packed: Vec::new(), places, lowest_levels }
    }

    /// Takes in the sample of a content.
    pub(crate) fn put(&mut self, sample: &WindowSample) -> SamplePlace {
        let (start, bytes) = (self.packed.len() as u64, sample.as_bytes());
        self.packed.extend_from_slice(bytes);
        SamplePlace { start, bytes: u32::try_from(bytes.len()).expect("a sample is a few kilobytes") }
    }

    /// Numbers the contents, one after the other.
    pub(crate) fn number(&mut self, places: Vec<SamplePlace>) {
        self.places = places;
        let lowest = |content: u32| self.of(content).next().map_or(0, sample_level);
        let levels =
            (0..).take(self.places.len()).map(|content| u8::try_from(lowest(content)).expect("levels are few"));
        self.lowest_levels = levels.collect();
    }

    /// The number of values.
    pub(crate) fn value_count(&self) -> usize {
        self.packed.len() / SAMPLE_VALUE_BYTES
    }

    /// The values of a content, ascending.
    pub(crate) fn of(&self, content: u32) -> impl Iterator<Item = u64> {
        let SamplePlace { start, bytes } = self.places[content as usize];
        let start = usize::try_from(start).expect("it is in memory");
        let own = &self.packed[start..start + bytes as usize];
        own.as_chunks::<SAMPLE_VALUE_BYTES>().0.iter().map(unpack_sample_value)
    }

    /// True if two contents have no value in common.
    pub(crate) fn have_none_in_common(&self, a: u32, b: u32) -> bool {
        let (mut own, mut others) = (self.of(a), self.of(b));
        let (mut first, mut second) = (own.next(), others.next());
        while let (Some(one), Some(other)) = (first, second) {
            match one.cmp(&other) {
                Ordering::Less => first = own.next(),
                Ordering::Greater => second = others.next(),
                Ordering::Equal => return false,
            }
        }
        true
    }

    /// The values of one part of `parts`, each with a content that has it and fulfils a condition, ascending. The hash of a value decides in
    /// which part it is.
    pub(crate) fn holders(&self, [part, parts]: [u64; 2], is_wanted: impl Fn(u32, u64) -> bool) -> Vec<(u64, u32)> {
        let mut holders: Vec<(u64, u32)> = Vec::new();
        for (place, content) in self.places.iter().zip(0..) {
            if !place.is_empty() {
                let own = self.of(content);
                let own = own.filter(|value| sample_part(*value, parts) == part && is_wanted(content, *value));
                holders.extend(own.map(|value| (value, content)));
            }
        }
        holders.sort_unstable();
        holders
    }

    /// The level from which on all values of a content are in its sample.
    pub(crate) fn lowest_level(&self, content: u32) -> usize {
        usize::from(self.lowest_levels[content as usize])
    }

    /// The number of values of a content from each level on.
    pub(crate) fn counts(&self, content: u32) -> SampleCounts {
        SampleCounts::of(self.of(content))
    }
}
