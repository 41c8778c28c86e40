//! A scan as an analysis sees it: its options, checked, and what follows from them.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use cognate_fingerprint::{Method, MethodId, Verification};
use cognate_proto::name::ScanId;
use cognate_proto::options::{OptionError, Precision, ScanOptions};
use cognate_proto::selection::Selection;
use cognate_similarity::Thresholds;

use crate::error::Error;
use crate::link_figures::Estimate;

/// A scan that can be carried out: a value exists only for options that make sense.
#[derive(Clone, Debug)]
pub struct ScanSpec {
    /// The options, as somebody gave them.
    pub options: ScanOptions,
    /// The comparisons, in their order, at least one. What one finds never meets what another does.
    pub layers: Vec<Layer>,
    /// Working memory of the analysis, in bytes.
    pub memory_budget_bytes: u64,
    /// The most pairs that chunks of very many contents may propose.
    pub pairs_max: u64,
    /// Threads of the analysis.
    pub threads: NonZeroUsize,
    /// A comparison within one process: the sites are its own, so that their policies are not asked, and only the result
    /// remains of it.
    pub in_process: bool,
}

/// One comparison: a method over one view.
#[derive(Clone, Debug)]
pub struct Layer {
    /// The method.
    pub method: Method,
    /// The id under which the sites' features are stored, where it is known beforehand; needed to analyse without syncing.
    pub method_id: Option<MethodId>,
    /// The thresholds of a link.
    pub thresholds: Thresholds,
}

/// How the pairs of a layer are compared. It follows from the method and the options, and nothing but [`ScanSpec::comparison`] decides
/// it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Comparison {
    /// By whole chunks, and candidates by fine chunks.
    FineChunks,
    /// By whole chunks; the sites measure a sample of the pairs exactly.
    SampledChunks,
    /// By whole chunks.
    Chunks,
    /// By the features of fair samples, from whose number bytes are estimated.
    Samples(Estimate),
    /// One pair after the other, by signatures of a fixed size.
    Signatures {
        /// True if two signatures give the share of one document that is in the other.
        has_containment: bool,
    },
    /// One pair after the other, by what is read again of the pairs that the method proposes.
    Proposals(Verification),
}

impl Comparison {
    /// True if the features are chunks.
    pub(crate) fn has_chunks(self) -> bool {
        matches!(self, Comparison::FineChunks | Comparison::SampledChunks | Comparison::Chunks)
    }

    /// True if the links follow from the weights of features, so that the engine finds and measures them.
    pub(crate) fn is_by_weights(self) -> bool {
        self.has_chunks() || matches!(self, Comparison::Samples(_))
    }
}

/// The memory and threads that a coordinator grants to an analysis.
#[derive(Clone, Copy, Debug)]
pub struct AnalysisLimits {
    /// Working memory where no amount is given, and the greatest amount that may be.
    pub memory_budget_bytes: u64,
    /// The most pairs of contents that chunks of very many of them may propose; beyond it such chunks are set aside.
    pub pairs_max: u64,
    /// Threads where no number is given, and the greatest number that is granted.
    pub threads: NonZeroUsize,
}

impl ScanSpec {
    /// Checks the options.
    ///
    /// # Errors
    /// Fails if an option makes no sense, or is more than the coordinator grants; the error names it.
    pub fn new(options: ScanOptions, limits: &AnalysisLimits) -> Result<ScanSpec, Error> {
        options.check().map_err(invalid)?;
        let min_containment = options.min_containment.parse();
        let min_containment = min_containment.map_err(|error| Error::Invalid(format!("`min_containment`: {error}")))?;
        let layer = |method, min_shared_bytes| Layer {
            method,
            method_id: None,
            thresholds: Thresholds { min_shared_bytes, min_containment },
        };
        let layers = options.layers().map_err(invalid)?;
        let threads = options.threads.and_then(|threads| NonZeroUsize::try_from(threads).ok());
        Ok(ScanSpec {
            layers: layers.into_iter().map(|one| layer(one.method, one.min_shared_bytes)).collect(),
            memory_budget_bytes: memory_budget_bytes(options.memory_budget_bytes, limits)?,
            pairs_max: limits.pairs_max,
            threads: threads.unwrap_or(limits.threads).min(limits.threads),
            in_process: false,
            options,
        })
    }

    /// The first comparison, which may be the only one.
    pub fn first(&self) -> &Layer {
        &self.layers[0]
    }

    /// The precision with which a layer's pairs are measured; none if the method has no fine chunks.
    pub fn precision(&self, layer: usize) -> Option<Precision> {
        let can = self.layers[layer].method.capabilities();
        // Sites find the chunks in what they sent of complete repositories, and a refinement is an index of its own.
        let precision = if self.options.refine.is_some() { Precision::Coarse } else { self.options.precision };
        can.fine.then_some(precision)
    }

    /// The choice of documents.
    ///
    /// # Errors
    /// Fails if a pattern makes no sense.
    pub(crate) fn selection(&self) -> Result<Selection, Error> {
        Selection::new(self.options.selection()).map_err(|error| Error::Invalid(error.to_string()))
    }

    /// How the pairs of a layer are compared.
    pub(crate) fn comparison(&self, layer: usize) -> Comparison {
        let can = self.layers[layer].method.capabilities();
        match (self.precision(layer), can.verified_by) {
            (Some(Precision::Fine), _) => Comparison::FineChunks,
            (Some(Precision::Coarse), _) if self.options.refine.is_none() => Comparison::SampledChunks,
            (_, Some(verification)) => Comparison::Proposals(verification),
            _ if can.fixed_size => Comparison::Signatures { has_containment: can.containment },
            _ if can.has_chunks() => Comparison::Chunks,
            _ if can.interval => Comparison::Samples(Estimate::of(can.complete)),
            _ => Comparison::Samples(Estimate::Comparison),
        }
    }

    /// Every index that the scan is about: the place of its repository, and of its layer. Those of a repository follow each
    /// other.
    pub fn targets(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let layers = self.layers.len();
        (0..self.options.repositories.len())
            .flat_map(move |repository| (0..layers).map(move |layer| (repository, layer)))
    }
}

/// The phase of an analysis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnalysisPhase {
    /// Putting the documents of all indexes together.
    Freezing,
    /// Writing the postings for an engine elsewhere.
    Exporting,
    /// That engine groups or compares them.
    Grouping,
    /// Reading back what it returns.
    Fetching,
    /// Finding what contents share.
    Comparing,
    /// Writing the result.
    Publishing,
}

/// A scan as an analysis sees it.
pub struct ScanJob {
    /// The scan.
    pub id: ScanId,
    /// Its options.
    pub spec: ScanSpec,
    /// Set by another thread to end the analysis.
    pub cancelled: AtomicBool,
    /// Set ahead of `cancelled` if the scan continues at the next start.
    pub halted: AtomicBool,
    /// Receives the phase, the steps done and the steps in total.
    pub progress: Box<dyn Fn(AnalysisPhase, u64, u64) + Send + Sync>,
}

impl ScanJob {
    /// A job without an observer.
    pub fn unwatched(id: ScanId, spec: ScanSpec) -> ScanJob {
        let [cancelled, halted] = [false; 2].map(AtomicBool::new);
        ScanJob { id, spec, cancelled, halted, progress: Box::new(|_, _, _| {}) }
    }
}

fn memory_budget_bytes(given: Option<u64>, limits: &AnalysisLimits) -> Result<u64, Error> {
    let most = limits.memory_budget_bytes;
    match given {
        Some(bytes) if bytes > most => {
            Err(Error::Invalid(format!("`memory_budget`: this coordinator gives at most {most} bytes to an analysis")))
        }
        given => Ok(given.unwrap_or(most)),
    }
}

fn invalid(error: OptionError) -> Error {
    Error::Invalid(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cognate_proto::options::ScanView;
    use std::num::NonZeroU32;

    const LIMITS: AnalysisLimits =
        AnalysisLimits { memory_budget_bytes: 1 << 30, pairs_max: u64::MAX, threads: NonZeroUsize::new(2).unwrap() };

    fn options() -> ScanOptions {
        let places = ["paris", "tokyo"].map(|site| (site.parse().unwrap(), "kb".parse().unwrap()));
        ScanOptions { repositories: places.to_vec(), ..ScanOptions::default() }
    }

    #[test]
    fn a_scan_gets_at_most_what_the_coordinator_grants() {
        let spec = |change: &dyn Fn(&mut ScanOptions)| {
            let mut options = options();
            change(&mut options);
            ScanSpec::new(options, &LIMITS).map(|spec| (spec.memory_budget_bytes, spec.threads.get()))
        };
        assert_eq!(spec(&|_| ()).unwrap(), (1 << 30, 2));
        assert_eq!(spec(&|options| options.memory_budget_bytes = Some(64 << 20)).unwrap(), (64 << 20, 2));
        assert_eq!(spec(&|options| options.threads = NonZeroU32::new(1)).unwrap(), (1 << 30, 1));
        assert_eq!(spec(&|options| options.threads = NonZeroU32::new(9)).unwrap(), (1 << 30, 2));
        let error = spec(&|options| options.memory_budget_bytes = Some(2 << 30)).unwrap_err().to_string();
        assert!(error.contains("`memory_budget`") && error.contains("at most 1073741824"), "{error}");
    }

    #[test]
    fn a_share_that_is_none_and_options_that_fail_their_check_are_named() {
        for (share, option) in [("1.5", "min_containment"), ("half", "min_containment")] {
            let options = ScanOptions { min_containment: share.into(), ..options() };
            let error = ScanSpec::new(options, &LIMITS).unwrap_err().to_string();
            assert!(error.contains(&format!("`{option}`")), "{error}");
        }
        let error = ScanSpec::new(ScanOptions::default(), &LIMITS).unwrap_err().to_string();
        assert!(error.contains("`repositories`"), "{error}");
    }

    #[test]
    fn each_repository_has_its_layers_one_after_the_other() {
        let spec = ScanSpec::new(ScanOptions { view: ScanView::Both, ..options() }, &LIMITS).unwrap();
        assert_eq!(spec.targets().collect::<Vec<_>>(), [(0, 0), (0, 1), (1, 0), (1, 1)]);
        assert_eq!(spec.layers[1].thresholds.min_shared_bytes, 2048);
    }

    #[test]
    fn each_method_is_compared_in_one_way() {
        use Comparison::{FineChunks, Proposals, SampledChunks, Samples, Signatures};
        let check = |method: &str, precision: Precision, expected: Comparison| {
            let options = ScanOptions { method: method.into(), precision, view: ScanView::Text, ..options() };
            let comparison = ScanSpec::new(options, &LIMITS).unwrap().comparison(0);
            assert_eq!(comparison, expected, "{method}");
            let is_by_pairs = matches!(comparison, Signatures { .. } | Proposals(_));
            assert_eq!(comparison.is_by_weights(), !is_by_pairs, "{method}");
        };
        check("tttd", Precision::Fine, FineChunks);
        check("tttd", Precision::Coarse, SampledChunks);
        check("bsw-chunk", Precision::Fine, Comparison::Chunks);
        check("bsw", Precision::Fine, Samples(Estimate::Comparison));
        check("min", Precision::Fine, Signatures { has_containment: false });
        check("sketch", Precision::Fine, Signatures { has_containment: false });
        check("fuzzy", Precision::Fine, Proposals(Verification::Cosine));
        check("similarity-index", Precision::Fine, Proposals(Verification::Chunks));
    }
}
