//! Fine figures of a layer: after the comparison by whole chunks, sites cut the chunks that candidate pairs do not share into
//! fine chunks, and the links follow from both (`docs/decisions/0028-fine-figures.md`). `comparison` has the steps.
//!
//! | step | modules | result |
//! |---|---|---|
//! | propose | `candidates`: `sharing`, `placed`, `sampled` (`frequent`) | a bounded number of pairs |
//! | ask | `wanted`, `asking` (`arrivals`), `expansions` (`chunk_file`, `lookup`, `kept`) | the fine chunks of what the pairs do not share |
//! | measure | `links`, `parts`, `coverage` | the bytes that each pair shares, and each two places |
//! | estimate | `estimate`, `unmeasured`, `sampled_rows`, `unasked` | the bytes that two places share beyond the measured pairs |
//! | find frames | `loose`, `loose_links`, `frames`, `crowded`, `outside` | what many unlike contents have, and links without it |
//! | describe | `describe` | what people read about frames |
//! | check | `sample`, `exact`, `answers` | how far reported shares are from the truth |

mod answers;
mod arrivals;
mod asking;
mod bits;
mod by_content;
mod candidates;
mod chunk_file;
mod comparison;
mod coverage;
mod crowded;
mod describe;
mod estimate;
mod exact;
mod expansions;
mod frames;
mod frequent;
mod kept;
mod links;
mod lookup;
mod loose;
mod loose_links;
mod outside;
mod pair;
mod pair_sums;
mod parts;
mod placed;
mod sample;
mod sampled;
mod sampled_rows;
mod sharing;
mod tag_list;
#[cfg(test)]
mod tests;
mod unasked;
mod unmeasured;
mod wanted;

use std::path::{Path, PathBuf};

use cognate_fingerprint::{Method, MethodId};
use cognate_proto::fine::{Expansion, FineChoice};
use cognate_proto::measure::{ContentPair, PairMeasure};
use cognate_proto::name::{RepositoryName, SiteName};
use cognate_similarity::frame::FrameRow;

use self::expansions::Expansions;
use self::parts::Parts;
use crate::error::Error;
use crate::undecided::UndecidedReason;

pub(crate) use self::describe::Frame;
pub(crate) use self::estimate::EstimatedBytes;
pub(crate) use self::exact::ExactFigures;
pub(crate) use self::outside::{OutsideLink, outside_of, rests_on_frame};
pub(crate) use self::unmeasured::UnmeasuredBytes;

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

/// A repository of which fine chunks are wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AskedRepository {
    /// The site.
    pub site: SiteName,
    /// The repository.
    pub repository: RepositoryName,
    /// The number of chunks that it has to cut.
    pub chunks: u64,
}

/// A part of an answer.
pub struct FineArrival {
    /// The number of the repository, as [`FineWork::repositories`] lists them.
    pub number: usize,
    /// Chunks of a request to it, each at most once.
    pub expansions: Vec<Expansion>,
    /// Bytes of the message.
    pub sent_bytes: u64,
}

/// The end of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FineSiteEnd {
    /// Contents that the site could not read, because their documents are gone or have changed.
    pub changed_contents: u64,
    /// Bytes of documents that it read.
    pub read_bytes: u64,
}

/// The chunks that an analysis wants cut again, and the place for what sites cut.
pub trait FineWork {
    /// The repositories that have such chunks.
    fn repositories(&self) -> Vec<AskedRepository>;

    /// The next request to a repository, about so many chunks at most; `None` if there are no more.
    fn next(&mut self, number: usize, chunks_max: usize) -> Option<FineRequest>;

    /// Keeps what has arrived, for good: nobody is asked for it again.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    fn take(&mut self, arrived: Vec<FineArrival>) -> Result<(), Error>;

    /// A request to a repository is answered, or the repository gives no more.
    fn end(&mut self, number: usize, end: Result<FineSiteEnd, FineFailure>);

    /// True if a repository gives no more.
    fn failed(&self, number: usize) -> bool;
}

/// The answer of a site to a find.
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

/// A request to a site: pairs of contents that it has, which it measures exactly.
#[derive(Clone)]
pub struct MeasureRequest {
    /// The site.
    pub site: SiteName,
    /// Its repositories that have the contents.
    pub repositories: Vec<RepositoryName>,
    /// The method under which the contents were sent.
    pub method: Method,
    /// Its id under the site's key.
    pub method_id: MethodId,
    /// The pairs.
    pub pairs: Vec<ContentPair>,
}

/// The counts of a site.
#[derive(Default)]
pub struct MeasureAnswer {
    /// The pairs whose documents are unchanged, ascending by their places in the request.
    pub measures: Vec<PairMeasure>,
    /// Bytes of documents that it read.
    pub read_bytes: u64,
}

/// The sites, as an analysis asks them for fine chunks and for exact measures.
pub trait FineSource: Sync {
    /// Has the sites cut chunks, all at the same time, and hands on what arrives. Returns when every repository has answered or given up.
    ///
    /// # Errors
    /// Fails if what arrives cannot be kept, if the scan is cancelled, or with [`Error::Waiting`].
    fn ask(&self, work: &mut dyn FineWork) -> Result<(), Error>;

    /// Asks several sites for exact measures at the same time. The answers come in the order of the requests.
    fn measure(&self, requests: Vec<MeasureRequest>) -> Vec<Result<MeasureAnswer, FineFailure>>;
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
    /// Per content, the reason why some pair of it was not measured to the end.
    pub(crate) undecided: Vec<Option<UndecidedReason>>,
    /// By sites and by parties, the bytes that two of them have in common beyond the measured pairs.
    pub(crate) unmeasured: [UnmeasuredBytes; 2],
    /// Rows of the templates in force.
    pub(crate) template_rows: u64,
    /// The frames, by the documents that have them.
    pub(crate) frames: Vec<Frame>,
    /// The links of which a frame is part, by (a, b).
    pub(crate) outside: Vec<OutsideLink>,
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

/// The figures of a comparison by fine chunks, and the data from which its frames are described.
pub(crate) struct FineFindings {
    /// The figures, without a description of the frames.
    pub(crate) figures: FineFigures,
    /// Of every content, the bytes that rows of templates cover: its size is without them, as without template chunks.
    pub(crate) template_bytes: Vec<u64>,
    parts: Parts,
    expansions: Expansions,
    /// The contents that may have frames, ascending.
    contents: Vec<u32>,
}

/// The files of a layer's fine figures, in the folder of its scan.
#[derive(Debug)]
pub(crate) struct FineFiles {
    links: PathBuf,
    expansions: PathBuf,
    /// The log of the fine chunks that have arrived. The file of `expansions` replaces it once that is complete.
    arrivals: PathBuf,
    answers: PathBuf,
}

impl FineFiles {
    pub(crate) fn new(folder: &Path, layer: usize) -> FineFiles {
        FineFiles {
            arrivals: folder.join(format!("fine-arrivals-{layer}")),
            links: folder.join(format!("fine-links-{layer}")),
            expansions: folder.join(format!("fine-chunks-{layer}")),
            answers: folder.join(format!("exact-measures-{layer}")),
        }
    }

    /// The files of a comparison within one process, whose fine chunks stay for the next one with the same method.
    pub(crate) fn in_process(folder: &Path, scans: &Path, layer: usize, method_id: MethodId) -> FineFiles {
        let expansions = scans.join(format!("fine-chunks-{method_id}"));
        let answers = scans.join(format!("exact-measures-{method_id}"));
        FineFiles { expansions, answers, ..FineFiles::new(folder, layer) }
    }

    fn has_chunks(&self) -> bool {
        self.expansions.is_file()
    }

    /// True if there are answers of sites, which a later scan may use.
    pub(crate) fn has_any(&self) -> bool {
        self.has_chunks() || self.answers.is_file()
    }

    /// Removes the log, which the complete file replaces.
    fn remove_arrivals(&self) {
        let _ = std::fs::remove_file(&self.arrivals);
    }

    /// Removes the links, which nothing but the result needs, and keeps what a later scan may use.
    pub(crate) fn remove_links(&self) {
        let _ = std::fs::remove_file(&self.links);
    }

    /// Removes the answers of sites, which a later scan has taken over.
    pub(crate) fn remove(&self) {
        self.remove_links();
        self.remove_arrivals();
        let _ = std::fs::remove_file(&self.expansions);
        let _ = std::fs::remove_file(&self.answers);
    }
}

/// The sites and files of one round.
pub(crate) struct FineRound<'a> {
    pub(crate) source: &'a dyn FineSource,
    pub(crate) method_id: MethodId,
    pub(crate) files: FineFiles,
    /// Rows of the templates in force, ascending.
    pub(crate) template_rows: Vec<FrameRow>,
    /// The files of an earlier attempt, and of the latest scans under the same method.
    pub(crate) earlier: Vec<FineFiles>,
    /// True if all fine chunks of earlier comparisons stay: one file serves those of a state, whatever each is about.
    pub(crate) keeps_earlier: bool,
    /// True if the fine chunks must survive a loss of power.
    pub(crate) durable: bool,
}
