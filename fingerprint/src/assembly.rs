//! Puts together the parts that carry out an algorithm under a key.

use crate::algorithm::{Algorithm, WindowParameters};
use crate::chunk_reader::{ChunkReader, Chunker};
use crate::extractor::Extractor;
use crate::feature_reader::FeatureReader;
use crate::key::Key;
use crate::method::bsw::Bsw;
use crate::method::bsw_chunk::BswChunk;
use crate::method::fuzzy::FuzzyExtractor;
use crate::method::min_n::MinN;
use crate::method::mod_n::ModN;
use crate::method::shingle_extractor::ShingleExtractor;
use crate::method::similarity_index::IndexExtractor;
use crate::method::sketch::Sketch;
use crate::method::term_vector::TermExtractor;
use crate::mix::Mix;
use crate::rabin::{Polynomial, Rabin};
use crate::rolling::Rolling;
use crate::sampler::Sampler;
use crate::signature::Tagger;
use crate::tttd::Tttd;
use crate::window::WindowExtractor;

/// The reader of documents for an algorithm.
pub(crate) enum DocumentReader {
    /// The algorithm cuts: its features are chunks.
    Chunks(Box<ChunkReader>),
    /// The algorithm makes features of another kind.
    Features(FeatureReader),
}

impl DocumentReader {
    pub(crate) fn new(algorithm: Algorithm, key: &Key) -> DocumentReader {
        let tagger = || Tagger::new(key);
        let extractor: Box<dyn Extractor> = match algorithm {
            Algorithm::Tttd { chunk_bytes } => {
                let samples = algorithm.capabilities().fine;
                return chunks(Chunker::Tttd(Tttd::new(chunk_bytes, key)), key, samples);
            }
            Algorithm::BswChunk(WindowParameters { w, n }) => {
                let bsw = BswChunk::new(rolling(w, key), Mix::of(key), n);
                return chunks(Chunker::Bsw(Box::new(bsw)), key, false);
            }
            Algorithm::Mod(WindowParameters { w, n }) => windows(w, key, ModN::new(n)),
            Algorithm::Min(WindowParameters { w, n }) => windows(w, key, MinN::new(n, u64::MAX, tagger())),
            Algorithm::Sketch(WindowParameters { w, n }) => windows(w, key, Sketch::new(n)),
            Algorithm::Bsw(WindowParameters { w, n }) => windows(w, key, Bsw::new(n)),
            Algorithm::Shingle(shingle) => {
                Box::new(ShingleExtractor::new(shingle, Rabin::new(Polynomial::of(key)), Mix::of(key), tagger()))
            }
            Algorithm::Fuzzy(fuzzy) => Box::new(FuzzyExtractor::new(fuzzy, tagger())),
            Algorithm::SimilarityIndex(index) => Box::new(IndexExtractor::new(index)),
            Algorithm::Terms => Box::new(TermExtractor::new(tagger())),
        };
        DocumentReader::Features(FeatureReader::new(extractor, key))
    }
}

fn chunks(chunker: Chunker, key: &Key, samples: bool) -> DocumentReader {
    DocumentReader::Chunks(Box::new(ChunkReader::new(chunker, key, samples)))
}

fn windows(w: u32, key: &Key, sampler: impl Sampler + 'static) -> Box<dyn Extractor> {
    Box::new(WindowExtractor::new(rolling(w, key), Mix::of(key), Tagger::new(key), sampler))
}

fn rolling(w: u32, key: &Key) -> Rolling {
    Rolling::new(Rabin::new(Polynomial::of(key)), w as usize)
}
