//! Fingerprints of documents: chunks, tags, digests and signatures.
//!
//! **It promises** that every site makes the same bytes from the same document, method and key. Only fingerprints under one [`MethodId`] may be
//! compared. `docs/fingerprint.md` describes the recipe for other programs, `testdata/` has its golden vectors.
//!
//! **It must not know** files, time, sites or the wire; it fails only if the reader that it is given fails.
//!
//! Read [`tttd`] first: the content decides where it is cut, each chunk gets a keyed [`Tag`], the list of tags a [`ContentDigest`]. Other methods
//! ([`Method::parse`], [`Method::signer`]) keep a [`Signature`] of weighted [`Feature`]s, and [`Method::likeness`] compares two. Callers decide by
//! the [`Capabilities`] of a method.
//!
//! ```
//! use cognate_fingerprint::{Key, Method, View};
//!
//! let method = Method::tttd(View::Raw, 1000)?;
//! let mut fingerprinter = method.fingerprinter(&Key::none());
//! let mut chunks = Vec::new();
//! let content = fingerprinter.read(&mut "some text".as_bytes(), |chunk| {
//!     chunks.push(chunk);
//!     Ok(())
//! })?;
//! assert_eq!((content.size_bytes, chunks.len()), (9, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod tttd;

mod agreement;
mod algorithm;
mod assembly;
mod candidates;
mod capabilities;
mod chunk;
mod chunk_reader;
mod chunk_tagger;
mod estimate;
mod extractor;
mod feature_reader;
mod fine;
mod fingerprinter;
mod hex;
mod interval;
mod java;
mod key;
mod lanes;
mod likeness;
mod line_ends;
mod method;
mod method_error;
mod mix;
mod param;
mod parse;
mod rabin;
mod rolling;
mod run_length;
mod sampler;
mod shared_runs;
mod signature;
mod signer;
mod sip;
mod soundex;
mod sparse;
mod split_mix;
mod stop_words;
mod terms;
#[cfg(test)]
mod test_support;
mod text;
mod view;
mod window;
mod window_sample;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use agreement::Agreement;
pub use algorithm::{Algorithm, WindowParameters};
pub use capabilities::{Capabilities, FeatureKind, Verification};
pub use chunk::{Chunk, Content, ContentDigest, Tag};
pub use chunk_reader::Contents;
pub use chunk_reader::segments::{Join, Segment};
pub use chunk_tagger::ChunkTagger;
pub use estimate::{Estimate, Likeness};
pub use fine::{
    FINE_BYTES_MAX, FINE_CHUNK_BYTES_MOST, FineChunk, FineCutter, fine_chunks_max, fine_of_text, fine_to_text,
};
pub use fingerprinter::{ChunkVisitor, Fingerprinter, Segmenter};
pub use interval::{binomial_interval, hypergeometric_interval, interval_of_selected, within, within_tenth};
pub use key::{Key, KeyError, KeyFingerprint};
pub use lanes::ManyHasher;
pub use line_ends::{CRLF_BYTES_MAX, LineReader, crlf_to_lf};
pub use method::fuzzy::Fuzzy;
pub use method::shingle::{Sample, Shingle, TokenKind};
pub use method::similarity_index::{Formula, SimilarityIndex, Stream, Variation, is_hit};
pub use method::term_vector::cosine_of_features;
pub use method::{Method, MethodId};
pub use method_error::MethodError;
pub use param::ParamError;
pub use run_length::{RunLengths, Runs};
pub use shared_runs::{EXACT_WINDOW_BYTES, SharedRuns, WindowIndex, exact_shared_bytes, window_hashes};
pub use signature::{Feature, Shortage, Signature, UnsupportedDocument};
pub use signer::Signer;
pub use sparse::{Dense, ReadSparse};
pub use split_mix::SplitMix64;
pub use terms::{Terms, cosine};
pub use view::View;
pub use window_sample::{
    SAMPLE_VALUE_BYTES, SAMPLE_VALUES_MAX, SAMPLE_WINDOW_BYTES, SampleCounts, WindowSample, sample_bytes_per_value,
    sample_level, sample_part, unpack_sample_value,
};
