//! What an experiment is, and the list of all.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::findings::Findings;
use crate::kdd2009::{collections, false_similarity, four_algorithms, runtime, sampling, window};
use crate::{broder, broder_web, chunkers, fuzzy, hp2005, similarity_index};

/// An experiment of a paper.
#[derive(Debug)]
pub struct Experiment {
    /// Its name, as it is typed.
    pub name: &'static str,
    /// What it shows.
    pub about: &'static str,
    /// What the folder given with `--corpus` is to hold.
    pub corpus: &'static str,
    run: fn(&Setting<'_>) -> Result<Findings, Error>,
}

const RESEARCH: &str = "a hundred different texts of 9 to 540 KB (of a folder with RC_orig inside, those)";

/// All experiments, in the order in which they are listed.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "hp2005",
        about: "a documentation collection from files to clusters: time, memory, chunks (Forman et al. 2005, 3.1)",
        corpus: "a collection of documents, in any folders",
        run: hp2005::run,
    },
    Experiment {
        name: "chunkers",
        about: "TTTD against other ways to cut: what is found of what is shared, and what it costs (Forman et al. 2005, 2.3)",
        corpus: "documents of which some are versions of others",
        run: chunkers::run,
    },
    Experiment {
        name: "window",
        about: "what the width of the window does to similarity (Cherkasova et al. 2009, Fig. 2)",
        corpus: RESEARCH,
        run: window::run,
    },
    Experiment {
        name: "false-similarity",
        about: "how similar different documents seem (Cherkasova et al. 2009, Fig. 3 and 4)",
        corpus: RESEARCH,
        run: false_similarity::run,
    },
    Experiment {
        name: "sampling",
        about: "what the size of a sample does (Cherkasova et al. 2009, Fig. 5 and 6)",
        corpus: RESEARCH,
        run: sampling::run,
    },
    Experiment {
        name: "four-algorithms",
        about: "Mod, Min, Sketch and BSW side by side (Cherkasova et al. 2009, Fig. 7 and 8)",
        corpus: RESEARCH,
        run: four_algorithms::run,
    },
    Experiment {
        name: "collections",
        about: "similar pairs of short documents, correct and false (Cherkasova et al. 2009, Fig. 9 and 10, Table 2)",
        corpus: "texts of 600 to 1500 bytes and of 2 to 4 KiB, some of them versions of others",
        run: collections::run,
    },
    Experiment {
        name: "runtime",
        about: "how long 500 KB take under each method (Cherkasova et al. 2009, Fig. 11)",
        corpus: "any texts",
        run: runtime::run,
    },
    Experiment {
        name: "broder",
        about: "resemblance by definition and by estimate: the roses, MIN_s, MOD_m, L_i (Broder 1997)",
        corpus: "none; it makes its own",
        run: broder::run,
    },
    Experiment {
        name: "broder-web",
        about: "greedy clustering at 50 % resemblance (Broder 1997, introduction and 4.4)",
        corpus: "a collection of texts or web pages",
        run: broder_web::run,
    },
    Experiment {
        name: "similarity-index",
        about: "one number a document: 656 runs, scores, and a large collection (Roth 2011)",
        corpus: "the paper's fifteen documents under their names, and texts beside them",
        run: similarity_index::run,
    },
    Experiment {
        name: "fuzzy",
        about: "fuzzy fingerprints: recall against cosine similarity, speed-up, planted passages (Stein et al.)",
        corpus: "English texts or web pages, some of them versions of others",
        run: fuzzy::run,
    },
];

/// What an experiment is run with.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// The documents; without, the experiment makes some.
    pub corpus: Option<&'a Path>,
    /// All of the corpus and all of the repetitions, not what takes less than two minutes.
    pub full: bool,
    /// Where dice begin.
    pub seed: u64,
    /// Told what is being done, how much of it is done, and how much there is; `false` ends the experiment.
    pub progress: &'a (dyn Fn(&str, u64, u64) -> bool + Sync),
}

impl Experiment {
    /// The experiment of this name.
    pub fn named(name: &str) -> Option<&'static Experiment> {
        EXPERIMENTS.iter().find(|experiment| experiment.name == name)
    }

    /// Runs it.
    ///
    /// # Errors
    /// When the corpus cannot be read or does not hold what is needed, or somebody stops it.
    pub fn run(&self, setting: &Setting<'_>) -> Result<Findings, Error> {
        let mut findings = (self.run)(setting)?;
        let size = if setting.full { "whole" } else { "small; --full runs all of it" };
        findings.facts.push(("run".to_owned(), size.to_owned()));
        findings.facts.push(("seed".to_owned(), setting.seed.to_string()));
        Ok(findings)
    }
}

impl Setting<'_> {
    /// The value for a small run, or that for a whole one.
    pub(crate) fn either<T>(&self, small: T, full: T) -> T {
        if self.full { full } else { small }
    }

    /// Tells how far the experiment is, and whether to go on.
    pub(crate) fn step(&self, what: &str, done: usize, total: usize) -> Result<(), Error> {
        if (self.progress)(what, done as u64, total as u64) { Ok(()) } else { Err(Error::Stopped) }
    }

    /// What the corpus is called in the findings: its last names, not where it lies on this machine.
    pub(crate) fn corpus_name(&self) -> String {
        match self.corpus {
            None => "made from the seed".to_owned(),
            Some(path) => {
                let names: Vec<_> = path.components().rev().take(2).collect();
                names.into_iter().rev().collect::<PathBuf>().display().to_string()
            }
        }
    }
}
