//! Bytes in, chunks and tags out: the recipe that every site must follow to the byte.
//!
//! Methods besides the chunker take samples of a document's windows, shingles or words and make a [`Signature`] of weighted
//! [`Feature`]s ([`Method::parse`], [`Method::signer`]); two signatures say how alike two documents are
//! ([`Method::likeness`]), and how far that can be trusted.
//!
//! A document is cut where its own content says so ([`tttd`]), each chunk gets a keyed [`Tag`], and the list of tags
//! and lengths gets a [`ContentDigest`]: two documents are identical when their digests are. Which recipe was used, with
//! which parameters and which key, is named by a [`MethodId`]; only fingerprints under the same id may be compared.
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
mod chunk;
mod estimate;
mod fingerprinter;
mod hex;
mod java;
mod key;
mod method;
mod mix;
mod param;
mod rabin;
mod recipe;
mod rolling;
mod run_length;
mod sampler;
mod signature;
mod signer;
mod soundex;
mod stop_words;
mod terms;
mod text;
mod window;

pub use agreement::Agreement;
pub use chunk::{Chunk, ContentDigest, Tag};
pub use estimate::{Estimate, Likeness, binomial_interval, hypergeometric_interval, within};
pub use fingerprinter::{Content, Fingerprinter};
pub use key::{Key, KeyError, KeyFingerprint};
pub use method::fuzzy::Fuzzy;
pub use method::shingle::{Sample, Shingle, TokenKind};
pub use method::similarity_index::{SimilarityIndex, Stream, Variation, Way, is_hit};
pub use method::term_vector::cosine_of_features;
pub use method::{Method, MethodError, MethodId, View};
pub use param::ParamError;
pub use recipe::{Recipe, Windowed};
pub use run_length::{RunLengths, Runs};
pub use signature::{Feature, Shortage, Signature, Unfit};
pub use signer::Signer;
pub use terms::{Terms, cosine};
