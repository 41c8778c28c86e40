//! The capabilities of a method: callers decide by these, not by names or by the size of a parameter.

use crate::algorithm::Algorithm;
use crate::fine::FINE_CHUNK_BYTES_MOST;
use crate::method::shingle::Sample;

/// The kind of features that a signature consists of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FeatureKind {
    /// Chunks: they tile the document, in their order and with repeats; a feature weighs the bytes of its chunk.
    Chunks,
    /// A sample of the document's windows or shingles, each once; a feature weighs 1.
    Samples,
    /// Coarse numbers: two documents that share one are candidates and no more.
    Collisions,
    /// No features, but one plain number: the Similarity Index.
    Index,
    /// Every word with the number of times that it occurs, in one feature.
    TermCounts,
}

/// The second look at the pairs that a method only proposes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verification {
    /// The contents of a candidate are cut into chunks (`tttd`), and what they share is counted.
    Chunks,
    /// The cosine of the angle between the term vectors of the two texts.
    Cosine,
}

impl Verification {
    /// The name in reports: `tttd` or `cosine`.
    pub fn name(self) -> &'static str {
        match self {
            Verification::Chunks => "tttd",
            Verification::Cosine => "cosine",
        }
    }
}

/// The things that a method can do. They depend on the parameters too: `shingle` has containment with some samples only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capabilities {
    /// The kind of its features.
    pub features: FeatureKind,
    /// True if no mean number of bytes to a feature (`--chunk-bytes`) can be chosen: the size of a signature is fixed, or
    /// follows from the text alone.
    pub fixed_size: bool,
    /// True if a signature holds everything that the document consists of, so that nothing is estimated.
    pub complete: bool,
    /// True if two signatures give the resemblance of their documents.
    pub resemblance: bool,
    /// True if the error of an estimate is known: features are as good as independent draws.
    pub interval: bool,
    /// True if two signatures give the share of one document that is in the other.
    pub containment: bool,
    /// True if the bytes that two documents share are known or estimated (if need be by the verification), so that a
    /// threshold in bytes has a meaning.
    pub shared_bytes: bool,
    /// True if chunks that two documents do not share can be cut into fine chunks.
    pub fine: bool,
    /// True if features can be declared templates: they then count neither as shared nor as part of a document's size.
    pub templates: bool,
    /// True if a refinement may use the method: it must find links by itself, not only propose pairs.
    pub refinement: bool,
    /// True if the method reads words, and so refuses documents that are not text.
    pub words: bool,
    /// True if the features can be made only with the key. The Similarity Index is a plain number that no key protects.
    pub keyed: bool,
    /// True if the mean (`--chunk-bytes`) is the method's one parameter; all other methods write it into `param`.
    pub mean_is_parameter: bool,
    /// The verification of candidates, for a method that only proposes pairs.
    pub verified_by: Option<Verification>,
    /// The method whose candidates this one verifies. People do not choose such a method themselves.
    pub verifies: Option<&'static str>,
}

impl Capabilities {
    /// True if the features are chunks: only then each feature has a place in the document.
    pub fn has_chunks(&self) -> bool {
        self.features == FeatureKind::Chunks
    }

    /// True if the method only proposes pairs.
    pub fn only_proposes(&self) -> bool {
        self.verified_by.is_some()
    }

    /// A method of chunks.
    const CHUNKS: Capabilities = Capabilities {
        features: FeatureKind::Chunks,
        fixed_size: false,
        complete: true,
        resemblance: true,
        interval: true,
        containment: true,
        shared_bytes: true,
        fine: false,
        templates: true,
        refinement: true,
        words: false,
        keyed: true,
        mean_is_parameter: false,
        verified_by: None,
        verifies: None,
    };

    /// A method whose sample grows with the document.
    const SAMPLES: Capabilities =
        Capabilities { features: FeatureKind::Samples, complete: false, templates: false, ..Capabilities::CHUNKS };

    /// A method whose sample has one size, so that it gives the resemblance and no more.
    const FIXED: Capabilities =
        Capabilities { fixed_size: true, containment: false, shared_bytes: false, ..Capabilities::SAMPLES };

    /// A method that does not even give the resemblance.
    const COARSE: Capabilities = Capabilities { resemblance: false, refinement: false, ..Capabilities::FIXED };

    fn of_shingles(sample: Sample) -> Capabilities {
        let grown = Capabilities { words: true, ..Capabilities::SAMPLES };
        match sample {
            Sample::All => Capabilities { complete: true, ..grown },
            Sample::Mod { m } => Capabilities { complete: m == 1, ..grown },
            // Two sketches are cut to a common level before they are compared, which makes them fair samples.
            Sample::Levels { .. } => Capabilities { fixed_size: true, ..grown },
            Sample::Min { .. } | Sample::MinOfMod { .. } => Capabilities { words: true, ..Capabilities::FIXED },
        }
    }
}

impl Algorithm {
    /// The capabilities of the algorithm with these parameters.
    pub fn capabilities(&self) -> Capabilities {
        match self {
            Algorithm::Tttd { chunk_bytes } => Capabilities {
                mean_is_parameter: true,
                fine: *chunk_bytes <= FINE_CHUNK_BYTES_MOST,
                ..Capabilities::CHUNKS
            },
            Algorithm::BswChunk(_) => Capabilities::CHUNKS,
            Algorithm::Mod(sampled) => Capabilities { complete: sampled.n == 1, ..Capabilities::SAMPLES },
            // An edit at the end of a run changes two features at once, and a text that repeats itself has few runs of its own.
            Algorithm::Bsw(_) => Capabilities { interval: false, ..Capabilities::SAMPLES },
            Algorithm::Min(_) | Algorithm::Sketch(_) => Capabilities::FIXED,
            Algorithm::Shingle(shingle) => Capabilities::of_shingles(shingle.sample),
            Algorithm::Fuzzy(_) => Capabilities {
                features: FeatureKind::Collisions,
                words: true,
                verified_by: Some(Verification::Cosine),
                ..Capabilities::COARSE
            },
            Algorithm::SimilarityIndex(_) => Capabilities {
                features: FeatureKind::Index,
                words: true,
                keyed: false,
                shared_bytes: true,
                verified_by: Some(Verification::Chunks),
                ..Capabilities::COARSE
            },
            Algorithm::Terms => Capabilities {
                features: FeatureKind::TermCounts,
                words: true,
                verifies: Some("fuzzy"),
                ..Capabilities::COARSE
            },
        }
    }
}
