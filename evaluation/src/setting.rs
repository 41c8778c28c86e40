//! The settings that an experiment is run with.

use std::path::{Path, PathBuf};

use crate::error::Error;

/// The settings that an experiment is run with.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// The folder of the documents; if there is none, most experiments generate documents from the seed.
    pub corpus: Option<&'a Path>,
    /// Pairs of folders with two versions of the same documents, for the experiments that compare such.
    pub pairs: &'a [[PathBuf; 2]],
    /// True if contracts that are made from one template and the seed are compared as well, by the experiments that compare
    /// folders.
    pub office_set: bool,
    /// True for all of the corpus and all repetitions; false for a part that takes less than two minutes.
    pub full: bool,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Is called with the current step, its progress and its total. Returning `false` ends the experiment.
    pub progress: &'a (dyn Fn(&str, u64, u64) -> bool + Sync),
}

impl Setting<'_> {
    /// The value for a small run, or the one for a full run.
    pub(crate) fn either<T>(&self, small: T, full: T) -> T {
        if self.full { full } else { small }
    }

    /// Reports progress.
    ///
    /// # Errors
    /// If the caller ends the experiment.
    pub(crate) fn step(&self, what: &str, done: usize, total: usize) -> Result<(), Error> {
        if (self.progress)(what, done as u64, total as u64) { Ok(()) } else { Err(Error::Stopped) }
    }

    /// The name of the corpus in the findings: the last two parts of its path, so that it does not depend on the machine.
    pub(crate) fn corpus_name(&self) -> String {
        match self.corpus {
            None => "made from the seed".to_owned(),
            Some(path) => {
                let names: Vec<_> = path.components().rev().take(2).collect();
                names.into_iter().rev().collect::<PathBuf>().display().to_string()
            }
        }
    }

    /// The error that the corpus does not hold what the experiment needs.
    pub(crate) fn corpus_lacks(&self, found: String, needed: &'static str) -> Error {
        Error::Corpus { corpus: self.corpus.unwrap_or(Path::new("")).to_owned(), found, needed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with<T>(corpus: Option<&str>, full: bool, check: impl Fn(&Setting<'_>) -> T) -> T {
        let progress = |_: &str, done, total| done < total;
        check(&Setting {
            corpus: corpus.map(Path::new),
            pairs: &[],
            office_set: false,
            full,
            seed: 1,
            progress: &progress,
        })
    }

    #[test]
    fn the_name_of_a_corpus_is_the_end_of_its_path() {
        for (path, name) in
            [(Some("/srv/data/manuals/v5"), "manuals/v5"), (Some("v5"), "v5"), (None, "made from the seed")]
        {
            assert_eq!(with(path, false, |setting| setting.corpus_name()), name);
        }
    }

    #[test]
    fn the_caller_ends_an_experiment_at_any_step() {
        assert!(with(None, false, |setting| setting.step("reading", 1, 2)).is_ok());
        assert!(matches!(with(None, false, |setting| setting.step("reading", 2, 2)), Err(Error::Stopped)));
        assert_eq!([true, false].map(|full| with(None, full, |setting| setting.either(1, 2))), [2, 1]);
        let error = with(Some("/a"), false, |setting| setting.corpus_lacks("3 texts".to_owned(), "100"));
        assert_eq!(error.to_string(), "`/a` has 3 texts; the experiment needs 100");
    }
}
