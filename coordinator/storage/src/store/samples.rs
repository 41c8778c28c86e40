//! Blind samples in the store.

use super::{Key, Prefix, Store, Tree};
use crate::error::Error;
use crate::sample::{Judged, SampleRow};

impl Store {
    /// Takes in what somebody said of a pair.
    pub(super) fn apply_judged(&self, judged: Judged, by: &str) -> Result<(), Error> {
        let key = Key::Sample(judged.sample);
        let Some(mut sample): Option<SampleRow> = self.get(&key)? else { return Ok(()) };
        if let Some(pair) = sample.pairs.get_mut(judged.pair as usize) {
            pair.answer = judged.answer;
            by.clone_into(&mut pair.by);
        }
        self.put(&key, &sample)
    }

    /// A sample by its number.
    pub fn sample(&self, id: u64) -> Result<Option<SampleRow>, Error> {
        self.get(&Key::Sample(id))
    }

    /// All samples, in the order in which they were drawn.
    pub fn samples(&self) -> Result<Vec<SampleRow>, Error> {
        self.values(Prefix::all(Tree::Samples))
    }
}
