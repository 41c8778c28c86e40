//! Fine figures of a layer: after the comparison by whole chunks, sites cut the chunks that candidate pairs do not share into
//! fine chunks, and the links follow from both (`docs/decisions/0028-fine-figures.md`).
//!
//! `candidates` bounds the pairs, `wanted` finds their chunks and asks for them, `expansions` keeps the answers,
//! `links` measures the pairs again, and `kept` reads the answers once more for a pair of a result.

mod candidates;
mod coverage;
mod expansions;
mod kept;
mod links;
mod wanted;

use std::path::{Path, PathBuf};

use cognate_fingerprint::{Method, MethodId};
use cognate_proto::fine::{Expansion, FineChoice};
use cognate_proto::name::{RepositoryName, SiteName};
use cognate_similarity::{Analysis, LinkFile};

use crate::alignment::Alignment;
use crate::checkpoint::Checkpoint;
use crate::compare::Task;
use crate::error::Error;
use expansions::{Expansions, ExpansionsWriter};

pub use kept::KeptFineChunks;

/// A request to a site: chunks of one of its repositories that it cuts again.
#[derive(Clone)]
pub struct FineRequest {
    /// The site.
    pub site: SiteName,
    /// The repository.
    pub repository: RepositoryName,
    /// The method under which the chunks were sent.
    pub method: Method,
    /// Its id under the site's key.
    pub method_id: MethodId,
    /// The contents and chunks.
    pub choice: FineChoice,
}

/// The answer of a site.
#[derive(Default)]
pub struct FineAnswer {
    /// The chunks that it cut, each of the request at most once.
    pub expansions: Vec<Expansion>,
    /// Contents that it could not read, because their documents are gone or have changed.
    pub changed_contents: u64,
    /// Bytes of documents that it read.
    pub read_bytes: u64,
    /// Bytes of its messages.
    pub sent_bytes: u64,
}

/// The reason why a site gives no fine chunks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FineFailure {
    /// One line for people.
    pub reason: String,
    /// True if the site's policy refuses them, or the scan asks no site; else they were to be had, and are not there now.
    pub refused: bool,
}

impl FineFailure {
    /// A failure that may pass.
    pub fn passing(reason: impl Into<String>) -> FineFailure {
        FineFailure { reason: reason.into(), refused: false }
    }
}

/// The sites, as an analysis asks them for fine chunks.
pub trait FineSource: Sync {
    /// Asks several sites at the same time. The answers come in the order of the requests.
    fn ask(&self, requests: Vec<FineRequest>) -> Vec<Result<FineAnswer, FineFailure>>;
}

/// What is known of the fine figures of a layer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct FineFigures {
    /// Pairs that were measured by fine chunks.
    pub(crate) fine_pairs: u64,
    /// Candidates of which some chunk could not be cut again.
    pub(crate) coarse_pairs: u64,
    /// Pairs that were not measured, because their contents have too many candidates.
    pub(crate) omitted_pairs: u64,
    /// Of each root, in their order.
    pub(crate) roots: Vec<FineRoot>,
}

/// The fine chunks that a repository gave.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct FineRoot {
    /// Chunks that the site was asked to cut.
    pub(crate) chunks: u64,
    /// Of these, chunks that it cut, now or for an earlier scan.
    pub(crate) expanded_chunks: u64,
    /// Contents whose documents are gone or have changed.
    pub(crate) changed_contents: u64,
    /// The reason why the site gave no more fine chunks.
    pub(crate) failure: Option<FineFailure>,
    /// Bytes of documents that it read for them.
    pub(crate) read_bytes: u64,
    /// Bytes of its messages with them.
    pub(crate) sent_bytes: u64,
}

/// The files of a layer's fine figures, in the folder of its scan.
#[derive(Debug)]
pub(crate) struct FineFiles {
    links: PathBuf,
    expansions: PathBuf,
}

impl FineFiles {
    pub(crate) fn new(folder: &Path, layer: usize) -> FineFiles {
        FineFiles {
            links: folder.join(format!("fine-links-{layer}")),
            expansions: folder.join(format!("fine-chunks-{layer}")),
        }
    }

    /// The files of a comparison within one process, whose fine chunks stay for the next one with the same method.
    pub(crate) fn in_process(folder: &Path, scans: &Path, layer: usize, method_id: MethodId) -> FineFiles {
        let expansions = scans.join(format!("fine-chunks-{method_id}"));
        FineFiles { expansions, ..FineFiles::new(folder, layer) }
    }

    /// True if there are fine chunks.
    pub(crate) fn has_chunks(&self) -> bool {
        self.expansions.is_file()
    }

    /// Removes the links, which nothing but the result needs, and keeps what a later scan may use.
    pub(crate) fn remove_links(&self) {
        let _ = std::fs::remove_file(&self.links);
    }

    /// Removes the fine chunks, which a later scan has taken over.
    pub(crate) fn remove(&self) {
        self.remove_links();
        let _ = std::fs::remove_file(&self.expansions);
    }
}

/// The sites and files of one round.
pub(crate) struct FineRound<'a> {
    pub(crate) source: &'a dyn FineSource,
    pub(crate) method_id: MethodId,
    pub(crate) files: FineFiles,
    /// The files of the latest scans under the same method.
    pub(crate) earlier: Vec<FineFiles>,
    /// True if all fine chunks of earlier comparisons stay: one file serves those of a state, whatever each is about.
    pub(crate) keeps_earlier: bool,
    /// True if the fine chunks must survive a loss of power.
    pub(crate) durable: bool,
}

impl Task<'_> {
    /// Measures the candidates of a comparison by fine chunks, writes the links that follow, and adds to the overlap of what
    /// it found what fine chunks cover.
    pub(crate) fn fine_links(
        &self,
        coarse: &LinkFile,
        alignment: &Alignment,
        own: &Checkpoint,
        round: &FineRound<'_>,
        found: &mut Analysis,
    ) -> Result<(LinkFile, FineFigures), Error> {
        let candidates = self.fine_candidates(coarse, alignment)?;
        let wanted = self.wanted_chunks(&candidates.pairs)?;
        let mut earlier = Vec::new();
        for files in round.earlier.iter().filter(|files| files.has_chunks()) {
            match Expansions::open(&files.expansions) {
                Ok(expansions) => earlier.push(expansions),
                Err(error) => tracing::info!(%error, "the fine chunks of an earlier scan are not used"),
            }
        }
        let mut writer = ExpansionsWriter::create(&round.files.expansions)?;
        let roots = self.ask(wanted, round, &earlier, &mut writer)?;
        if round.keeps_earlier {
            earlier.iter().try_for_each(|expansions| writer.keep(expansions))?;
        }
        let expansions = writer.finish(round.durable)?;
        let (measured, covered) = self.measured_finely(&candidates.pairs, &expansions)?;
        self.add_coverage(covered, &expansions, &mut found.overlap)?;
        let figures = FineFigures {
            fine_pairs: measured.iter().filter(|one| one.complete).count() as u64,
            coarse_pairs: measured.iter().filter(|one| !one.complete).count() as u64,
            omitted_pairs: candidates.omitted + found.omitted.count,
            roots,
        };
        tracing::info!(
            candidates = candidates.pairs.len(),
            omitted = figures.omitted_pairs,
            fine = figures.fine_pairs,
            coarse = figures.coarse_pairs,
            "measured by fine chunks"
        );
        let links = self.write_fine_links(coarse, &measured, &round.files.links, own.binding(), &mut found.omitted)?;
        Ok((links, figures))
    }
}
