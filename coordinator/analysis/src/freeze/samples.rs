//! The window samples of all contents of a frozen set, packed: a list of a few bytes for each would take more memory than the samples.

use cognate_fingerprint::{SAMPLE_VALUE_BYTES, SampleCounts, WindowSample, sample_level, unpack_sample_value};

/// The window samples of contents.
#[derive(Default)]
pub(crate) struct WindowSamples {
    /// All values, content by content.
    packed: Vec<u8>,
    /// Of each content, its values.
    places: Vec<SamplePlace>,
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
        WindowSamples { packed: Vec::new(), places: vec![SamplePlace::default(); contents] }
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

    /// The number of values that two contents have in common.
    pub(crate) fn in_common(&self, a: u32, b: u32) -> u64 {
        let mut others = self.of(b).peekable();
        let is_other = |value: &u64| {
            while others.next_if(|other| other < value).is_some() {}
            others.peek() == Some(value)
        };
        self.of(a).filter(is_other).count() as u64
    }

    /// The level from which on all values of a content are in its sample.
    pub(crate) fn lowest_level(&self, content: u32) -> usize {
        self.of(content).next().map_or(0, sample_level)
    }

    /// The number of values of a content from each level on.
    pub(crate) fn counts(&self, content: u32) -> SampleCounts {
        SampleCounts::of(self.of(content))
    }
}
