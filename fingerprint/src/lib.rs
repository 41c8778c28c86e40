//! Fingerprints of documents: chunks, tags, digests and signatures, which every site must make to the byte.
//!
//! The content of a document decides where it is cut ([`tttd`]). Each chunk gets a keyed [`Tag`], and the list of tags and
//! lengths gets a [`ContentDigest`]: two documents are identical if their digests are. Other methods keep a sample of a
//! document's windows, shingles or words and make a [`Signature`] of weighted [`Feature`]s ([`Method::parse`],
//! [`Method::signer`]). Two signatures give the [`Likeness`] of two documents, with an interval ([`Method::likeness`]). A
//! [`MethodId`] names the method, its parameters and the key; only fingerprints under the same id may be compared. The
//! [`Capabilities`] of a method are what callers decide by.
//!
//! This crate is pure: it knows nothing of files, time, sites or the wire, and it fails only when the reader it is given
//! fails. `docs/fingerprint.md` describes the same recipe for other programs; `testdata/` holds its golden vectors.
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
mod content_sketch;
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
#[cfg(target_arch = "x86_64")]
mod x86;

pub use agreement::Agreement;
pub use algorithm::{Algorithm, WindowParameters};
pub use capabilities::{Capabilities, FeatureKind, Verification};
pub use chunk::{Chunk, Content, ContentDigest, Tag};
pub use chunk_reader::Contents;
pub use chunk_reader::segments::{Join, Segment};
pub use chunk_tagger::ChunkTagger;
pub use content_sketch::{ContentSketch, SKETCH_SLOTS, SKETCH_WINDOW_BYTES};
pub use estimate::{Estimate, Likeness};
pub use fine::{
    FINE_BYTES_MAX, FINE_CHUNK_BYTES_MOST, FineChunk, FineCutter, fine_chunks_max, fine_of_text, fine_to_text,
};
pub use fingerprinter::{ChunkVisitor, Fingerprinter, Segmenter};
pub use interval::{binomial_interval, hypergeometric_interval, within, within_tenth};
pub use key::{Key, KeyError, KeyFingerprint};
pub use lanes::ManyHasher;
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
