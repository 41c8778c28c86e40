//! The list of experiments.

use crate::error::Error;
use crate::findings::Findings;
use crate::kdd2009::{
    collections, false_similarity, four_algorithms, long_files, runtime, sampling, sketch_functions, window,
};
use crate::setting::Setting;
use crate::{broder, broder_web, chunkers, fuzzy, hp2005, in_common, only_here, pieces, similarity_index, templates};

/// An experiment: of a paper, or of this project's own figures.
#[derive(Debug)]
pub struct Experiment {
    /// The name, as it is typed.
    pub name: &'static str,
    /// The question that it answers, on one line.
    pub about: &'static str,
    /// The documents that the folder given with `--corpus` must hold.
    pub corpus: &'static str,
    run: fn(&Setting<'_>) -> Result<Findings, Error>,
}

const RESEARCH: &str = "a hundred different texts of 9 to 540 KB (of a folder with RC_orig inside, those)";

/// The experiment that compares folders.
const IN_COMMON: &str = "in-common";

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
        name: "templates",
        about: "185 documents with 17 chunks of a template in common, and what its marking leaves (Forman et al. 2005, 4)",
        corpus: "none; it makes its own",
        run: templates::run,
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
        name: "sketch-functions",
        about: "Sketch with n hash functions one by one, as the paper has it (Cherkasova et al. 2009, Fig. 7, 8 and 11)",
        corpus: RESEARCH,
        run: sketch_functions::run,
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
        name: "long-files",
        about: "the traditional sliding window on long files, against samples (Cherkasova et al. 2009, 8: a conjecture)",
        corpus: "texts of 16 KiB to 16 MiB, some of them versions of others",
        run: long_files::run,
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
    Experiment {
        name: IN_COMMON,
        about: "how close reported shares are to what documents truly have in common",
        corpus: "with --pairs: folders with two versions of the same documents; with --office-set: contracts of one template",
        run: in_common::run,
    },
    Experiment {
        name: "only-here",
        about: "whether what a comparison calls only here has no relative elsewhere, by windows of every document",
        corpus: "two folders or more, each of which is a site",
        run: only_here::run,
    },
    Experiment {
        name: "fine-chunks",
        about: "what a coordinator without the key learns from the pieces that a site gives",
        corpus: "documents of 2 to 64 KB of one kind",
        run: pieces::run,
    },
];

impl Experiment {
    /// The experiment of this name.
    pub fn named(name: &str) -> Option<&'static Experiment> {
        EXPERIMENTS.iter().find(|experiment| experiment.name == name)
    }

    /// True if it compares pairs of folders, false if it reads one corpus.
    pub fn compares_folders(&self) -> bool {
        self.name == IN_COMMON
    }

    /// Runs the experiment.
    ///
    /// # Errors
    /// If the corpus cannot be read or does not hold the documents that are needed, or if the caller ends the run.
    pub fn run(&self, setting: &Setting<'_>) -> Result<Findings, Error> {
        let mut findings = (self.run)(setting)?;
        let size = if setting.full { "whole" } else { "small; --full runs all of it" };
        findings.facts.push(("run".to_owned(), size.to_owned()));
        findings.facts.push(("seed".to_owned(), setting.seed.to_string()));
        Ok(findings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn experiments_are_found_by_their_names_and_no_two_have_the_same() {
        for experiment in EXPERIMENTS {
            let found = Experiment::named(experiment.name).unwrap();
            assert_eq!(found.about, experiment.about, "{}", experiment.name);
            let same_name = EXPERIMENTS.iter().filter(|other| other.name == experiment.name);
            assert_eq!(same_name.count(), 1, "{}", experiment.name);
            assert!(!experiment.about.is_empty() && !experiment.corpus.is_empty(), "{}", experiment.name);
        }
        assert!(Experiment::named("").is_none() && Experiment::named("Broder").is_none());
    }

    #[test]
    fn an_experiment_that_its_caller_ends_has_no_findings() {
        let progress = |_: &str, _, _| false;
        let setting =
            Setting { corpus: None, pairs: &[], office_set: false, full: false, seed: 1, progress: &progress };
        for experiment in EXPERIMENTS.iter().filter(|experiment| matches!(experiment.name, "broder" | "runtime")) {
            assert!(matches!(experiment.run(&setting), Err(Error::Stopped)), "{}", experiment.name);
        }
    }
}
