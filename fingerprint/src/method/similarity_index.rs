//! `similarity-index`: one number for a document.
//!
//! Source: M. S. Roth, "The Similarity Index" (2011). A document is a stream of characters, words or Soundex codes, from which
//! one of four variations leaves something out. The k-grams of the stream have Java hash codes. Fourteen ways to select among
//! these and to add them up give as many numbers, named by tracking number and variation: `43B` sums the hashes of Soundex
//! k-grams that are 0 modulo 25, without stop words. Two documents are alike if the number of one is within 30 % of the
//! other's ([`is_hit`]).
//!
//! Memory: a few hundred hashes. The ways that leave out repeated words, count words or build super shingles keep these, and
//! refuse documents of more than 256 MiB.

mod element_stream;
mod formula;
mod index_extractor;
mod parameters;
mod selector;
mod winnowing;

pub use formula::{Formula, Stream, Variation, is_hit};
pub(crate) use index_extractor::IndexExtractor;
pub use parameters::SimilarityIndex;

#[cfg(test)]
mod tests;
