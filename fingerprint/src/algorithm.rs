//! The algorithms, each with its parameters, their names and their canonical form.

use std::fmt;

use crate::method::bsw_chunk;
use crate::method::fuzzy::Fuzzy;
use crate::method::shingle::{Sample, Shingle};
use crate::method::similarity_index::SimilarityIndex;
use crate::tttd::Parameters;

/// The names that people choose from, as they are typed and stored.
pub(crate) const NAMES: [&str; 9] =
    ["tttd", "mod", "min", "sketch", "bsw", "bsw-chunk", "shingle", "fuzzy", "similarity-index"];

/// The name of the algorithm that only verifies; people do not choose it.
pub(crate) const TERMS: &str = "terms";

/// The parameters of the algorithms that look at windows of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowParameters {
    /// The length of a window in bytes, 2 to 1024.
    pub w: u32,
    /// The size of the sample. `mod`, `bsw` and `bsw-chunk` keep about one feature in n bytes; `min` and `sketch` keep n
    /// features.
    pub n: u32,
}

/// An algorithm with its parameters. [`Method::parse`](crate::Method::parse) makes the values and checks the ranges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// Content-defined chunks by two thresholds and two divisors (Forman et al. 2005, section 2.2).
    Tttd {
        /// The mean length of a chunk, 80 bytes to 1 MiB.
        chunk_bytes: u32,
    },
    /// One window in n (Broder 1997, `MOD_m`).
    Mod(WindowParameters),
    /// The n smallest windows (Broder 1997, `MIN_s`).
    Min(WindowParameters),
    /// The smallest window under each of n functions (Broder et al. 1998).
    Sketch(WindowParameters),
    /// The smallest window of each run of about n bytes (Cherkasova et al. 2009, `BSW_n`).
    Bsw(WindowParameters),
    /// Content-defined chunks of about n bytes, cut by the basic sliding window (Muthitacharoen et al. 2001).
    BswChunk(WindowParameters),
    /// Runs of tokens, or a sample of them (Broder 1997).
    Shingle(Shingle),
    /// Deviations from the usual shares of first letters (Stein 2005).
    Fuzzy(Fuzzy),
    /// One number for a document (Roth 2011).
    SimilarityIndex(SimilarityIndex),
    /// The words of a text, each with its count. It verifies what `fuzzy` proposes.
    Terms,
}

impl Algorithm {
    /// The name, as it is typed and stored.
    pub fn name(&self) -> &'static str {
        match self {
            Algorithm::Tttd { .. } => "tttd",
            Algorithm::Mod(_) => "mod",
            Algorithm::Min(_) => "min",
            Algorithm::Sketch(_) => "sketch",
            Algorithm::Bsw(_) => "bsw",
            Algorithm::BswChunk(_) => "bsw-chunk",
            Algorithm::Shingle(_) => "shingle",
            Algorithm::Fuzzy(_) => "fuzzy",
            Algorithm::SimilarityIndex(_) => "similarity-index",
            Algorithm::Terms => TERMS,
        }
    }

    /// The mean length of a chunk, or the mean number of bytes to a feature; `None` if the number of features does not
    /// follow from the size of the document.
    pub(crate) fn sampling_bytes(&self) -> Option<u32> {
        match self {
            Algorithm::Tttd { chunk_bytes } => Some(*chunk_bytes),
            Algorithm::Mod(sampled) | Algorithm::Bsw(sampled) | Algorithm::BswChunk(sampled) => Some(sampled.n),
            Algorithm::Shingle(shingle) => shingle.sampling_bytes(),
            Algorithm::Min(_)
            | Algorithm::Sketch(_)
            | Algorithm::Fuzzy(_)
            | Algorithm::SimilarityIndex(_)
            | Algorithm::Terms => None,
        }
    }

    /// The number of bytes that a feature is made from; `None` for chunks, and for features that are no run of bytes.
    pub(crate) fn window_bytes(&self) -> Option<u32> {
        match self {
            Algorithm::Mod(sampled)
            | Algorithm::Min(sampled)
            | Algorithm::Sketch(sampled)
            | Algorithm::Bsw(sampled) => Some(sampled.w),
            Algorithm::Shingle(shingle) => shingle.window_bytes(),
            Algorithm::Tttd { .. }
            | Algorithm::BswChunk(_)
            | Algorithm::Fuzzy(_)
            | Algorithm::SimilarityIndex(_)
            | Algorithm::Terms => None,
        }
    }

    /// The greatest number of features in a signature; `None` if it grows with the document.
    pub(crate) fn signature_features_max(&self) -> Option<u32> {
        match self {
            Algorithm::Min(sampled) | Algorithm::Sketch(sampled) => Some(sampled.n),
            Algorithm::Shingle(shingle) => shingle.signature_features_max(),
            _ => None,
        }
    }

    /// The length of the longest chunk in bytes; 1 where features are no chunks.
    pub(crate) fn chunk_bytes_max(&self) -> u32 {
        match self {
            Algorithm::Tttd { chunk_bytes } => Parameters::for_mean(*chunk_bytes).chunk_bytes_max,
            Algorithm::BswChunk(sampled) => bsw_chunk::chunk_bytes_max(sampled.n),
            _ => 1,
        }
    }
}

impl fmt::Display for Algorithm {
    /// The parameters of the canonical form, one `name=value` a line. Every parameter is written, even where it changes
    /// nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Algorithm::Tttd { chunk_bytes } => {
                let Parameters { chunk_bytes_min, chunk_bytes_max, divisor_main, divisor_backup } =
                    Parameters::for_mean(*chunk_bytes);
                write!(f, "chunk_bytes_min={chunk_bytes_min}\nchunk_bytes_max={chunk_bytes_max}\n")?;
                write!(f, "divisor_main={divisor_main}\ndivisor_backup={divisor_backup}")
            }
            Algorithm::Mod(WindowParameters { w, n })
            | Algorithm::Min(WindowParameters { w, n })
            | Algorithm::Sketch(WindowParameters { w, n })
            | Algorithm::Bsw(WindowParameters { w, n })
            | Algorithm::BswChunk(WindowParameters { w, n }) => write!(f, "w={w}\nn={n}"),
            Algorithm::Shingle(Shingle { tokens, w, labelled, sample }) => {
                let option = if *labelled { 'a' } else { 'b' };
                write!(f, "{Unicode}\ntokens={}\nw={w}\noption={option}\n", tokens.name())?;
                match sample {
                    Sample::All => write!(f, "sample=all"),
                    Sample::Mod { m } => write!(f, "sample=mod\nm={m}"),
                    Sample::Min { s } => write!(f, "sample=min\ns={s}"),
                    Sample::MinOfMod { m, s } => write!(f, "sample=min-of-mod\nm={m}\ns={s}"),
                    Sample::Levels { s } => write!(f, "sample=levels\ns={s}"),
                }
            }
            Algorithm::Fuzzy(Fuzzy { k, r, rho, step, words }) => {
                write!(f, "{Unicode}\nk={k}\nr={r}\nrho={rho}\nstep={step}\nwords={words}")
            }
            Algorithm::SimilarityIndex(SimilarityIndex { formula, k, w, sample, words, seed, signed }) => {
                let hash = if *signed { "signed" } else { "unsigned" };
                write!(f, "{Unicode}\nway={formula}\nk={k}\nw={w}\nsample={sample}\nwords={words}\n")?;
                write!(f, "seed={seed}\nhash={hash}")
            }
            Algorithm::Terms => write!(f, "{Unicode}"),
        }
    }
}

/// The version of Unicode, which decides what is a letter: two sites with different versions may see different words.
struct Unicode;

impl fmt::Display for Unicode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor, update) = char::UNICODE_VERSION;
        write!(f, "unicode={major}.{minor}.{update}")
    }
}
