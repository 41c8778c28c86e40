//! The methods but `tttd`: their names, their parameters, and the machines that carry them out.

use std::fmt;

use crate::estimate::{self, Likeness};
use crate::fingerprinter::Fingerprinter;
use crate::key::Key;
use crate::method::bsw::Bsw;
use crate::method::bsw_chunk::{self, BswChunk};
use crate::method::fuzzy::{Fuzzy, WORDS_LEAST};
use crate::method::min_n::MinN;
use crate::method::mod_n::ModN;
use crate::method::shingle::{Sample, Shingle, TokenKind};
use crate::method::similarity_index::{SimilarityIndex, Stream, Variation, Way};
use crate::method::sketch::Sketch;
use crate::method::term_vector::TermsMaker;
use crate::method::{Method, MethodError};
use crate::mix::Mix;
use crate::param::{ParamError, Params};
use crate::rabin::{Polynomial, Rabin};
use crate::rolling::Rolling;
use crate::sampler::Sampler;
use crate::signature::{Signature, Tagger};
use crate::signer::{Maker, Signer};
use crate::window::Windows;

/// The mean that can be asked for at most, as for chunks.
const CHUNK_BYTES_MOST: u32 = crate::tttd::CHUNK_BYTES_MOST;

/// A window of w bytes, and n: one in so many, or so many in all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Windowed {
    /// The window, in bytes.
    pub w: u32,
    /// The sampling.
    pub n: u32,
}

/// A method with its parameters. Its values are made by [`Method::parse`](crate::Method::parse), which checks them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recipe {
    /// One window in n.
    Mod(Windowed),
    /// The n smallest windows.
    Min(Windowed),
    /// The smallest window under each of n functions.
    Sketch(Windowed),
    /// The smallest window of each run of about n bytes.
    Bsw(Windowed),
    /// Chunks of about n bytes.
    BswChunk(Windowed),
    /// Runs of tokens.
    Shingle(Shingle),
    /// First letters of words.
    Fuzzy(Fuzzy),
    /// One number.
    SimilarityIndex(SimilarityIndex),
    /// Words and how often each occurs: for verifying alone.
    Terms,
}

impl Recipe {
    pub(crate) fn parse(name: &str, view_bytes: u32, asked: Option<u64>, param: &str) -> Result<Recipe, MethodError> {
        let names = ["mod", "min", "sketch", "bsw", "bsw-chunk", "shingle", "fuzzy", "similarity-index", Method::TERMS];
        let unknown = || MethodError::UnknownMethod { method: name.to_owned() };
        let name = names.into_iter().find(|known| *known == name).ok_or_else(unknown)?;
        let asked = asked.map(|bytes| checked(name, bytes)).transpose()?;
        let mut params = Params::parse(name, param)?;
        let recipe = match name {
            "mod" => Recipe::Mod(windowed(&mut params, 1, asked, view_bytes)?),
            "bsw" => Recipe::Bsw(windowed(&mut params, 1, asked, view_bytes)?),
            "bsw-chunk" => Recipe::BswChunk(windowed(&mut params, 16, asked, view_bytes)?),
            "min" => Recipe::Min(Windowed { w: width(&mut params)?, n: params.number("n", 1..=65_536, 100)? }),
            "sketch" => Recipe::Sketch(Windowed { w: width(&mut params)?, n: params.number("n", 1..=4_096, 100)? }),
            "shingle" => Recipe::Shingle(shingle(&mut params, asked, view_bytes)?),
            "fuzzy" => Recipe::Fuzzy(fuzzy(&mut params)?),
            Method::TERMS => Recipe::Terms,
            _ => Recipe::SimilarityIndex(similarity_index(&mut params)?),
        };
        params.finish()?;
        Ok(recipe)
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Recipe::Mod(_) => "mod",
            Recipe::Min(_) => "min",
            Recipe::Sketch(_) => "sketch",
            Recipe::Bsw(_) => "bsw",
            Recipe::BswChunk(_) => "bsw-chunk",
            Recipe::Shingle(_) => "shingle",
            Recipe::Fuzzy(_) => "fuzzy",
            Recipe::SimilarityIndex(_) => "similarity-index",
            Recipe::Terms => Method::TERMS,
        }
    }

    /// About one feature in so many bytes is kept; `None` where signatures have a fixed size.
    pub(crate) fn sampling_bytes(&self) -> Option<u32> {
        match self {
            Recipe::Mod(windowed) | Recipe::Bsw(windowed) | Recipe::BswChunk(windowed) => Some(windowed.n),
            Recipe::Shingle(Shingle { tokens, sample, .. }) => {
                let bytes = |m: u32| u32::try_from(u64::from(m) * tokens.mean_bytes()).unwrap_or(u32::MAX);
                match sample {
                    Sample::All => Some(bytes(1)),
                    Sample::Mod { m } => Some(bytes(*m)),
                    Sample::Min { .. } | Sample::MinOfMod { .. } | Sample::Levels { .. } => None,
                }
            }
            Recipe::Min(_) | Recipe::Sketch(_) | Recipe::Fuzzy(_) | Recipe::SimilarityIndex(_) | Recipe::Terms => None,
        }
    }

    /// How many bytes a feature is made from.
    pub(crate) fn window_bytes(&self) -> Option<u32> {
        match self {
            Recipe::Mod(windowed) | Recipe::Min(windowed) | Recipe::Sketch(windowed) | Recipe::Bsw(windowed) => {
                Some(windowed.w)
            }
            Recipe::Shingle(shingle) => u32::try_from(u64::from(shingle.w) * shingle.tokens.mean_bytes()).ok(),
            Recipe::BswChunk(_) | Recipe::Fuzzy(_) | Recipe::SimilarityIndex(_) | Recipe::Terms => None,
        }
    }

    /// How many features a signature has at most, where that does not grow with the document.
    pub(crate) fn signature_features_max(&self) -> Option<u32> {
        match self {
            Recipe::Min(windowed) | Recipe::Sketch(windowed) => Some(windowed.n),
            Recipe::Shingle(shingle) => match shingle.sample {
                Sample::Min { s } | Sample::MinOfMod { s, .. } => Some(s),
                Sample::Levels { s } => Some(2 * s),
                Sample::All | Sample::Mod { .. } => None,
            },
            _ => None,
        }
    }

    /// Whether one can say from two signatures how much of a document is in the other.
    pub(crate) fn has_containment(&self) -> bool {
        match self {
            Recipe::Mod(_) | Recipe::Bsw(_) | Recipe::BswChunk(_) => true,
            Recipe::Shingle(shingle) => {
                matches!(shingle.sample, Sample::All | Sample::Mod { .. } | Sample::Levels { .. })
            }
            Recipe::Min(_) | Recipe::Sketch(_) | Recipe::Fuzzy(_) | Recipe::SimilarityIndex(_) | Recipe::Terms => false,
        }
    }

    /// Whether a signature is all that a document consists of.
    pub(crate) fn takes_all(&self) -> bool {
        match self {
            Recipe::Mod(windowed) => windowed.n == 1,
            Recipe::Shingle(shingle) => matches!(shingle.sample, Sample::All | Sample::Mod { m: 1 }),
            Recipe::BswChunk(_) => true,
            _ => false,
        }
    }

    /// What two signatures under this recipe say of their documents.
    pub(crate) fn likeness(&self, a: &Signature, b: &Signature) -> Likeness {
        match self {
            Recipe::Mod(windowed) => estimate::by_sampled_sets(&a.features, &b.features, windowed.n == 1),
            Recipe::Bsw(_) => estimate::by_sampled_sets(&a.features, &b.features, false),
            Recipe::Min(windowed) => estimate::by_smallest(a, b, windowed.n.into()),
            Recipe::Sketch(windowed) => estimate::by_places(&a.features, &b.features, windowed.n.into()),
            Recipe::BswChunk(_) => estimate::by_weights(a, b),
            Recipe::Shingle(shingle) => shingle.likeness(a, b),
            Recipe::Fuzzy(_) | Recipe::Terms => estimate::by_collision(&a.features, &b.features),
            Recipe::SimilarityIndex(_) => estimate::by_range(a, b),
        }
    }

    pub(crate) fn chunk_bytes_max(&self) -> u32 {
        match self {
            Recipe::BswChunk(windowed) => bsw_chunk::chunk_bytes_max(windowed.n),
            _ => 1,
        }
    }

    pub(crate) fn signer(&self, key: &Key) -> Signer {
        match self {
            Recipe::BswChunk(windowed) => Signer::of_chunks(self.chunks(*windowed, key), key),
            _ => Signer::of_maker(self.maker(key), key),
        }
    }

    pub(crate) fn fingerprinter(&self, key: &Key) -> Fingerprinter {
        match self {
            Recipe::BswChunk(windowed) => self.chunks(*windowed, key),
            _ => Fingerprinter::of_features(*self, key),
        }
    }

    fn chunks(&self, windowed: Windowed, key: &Key) -> Fingerprinter {
        Fingerprinter::of_windows(BswChunk::new(rolling(windowed.w, key), Mix::of(key), windowed.n), key)
    }

    fn maker(&self, key: &Key) -> Box<dyn Maker> {
        let tagger = Tagger::new(key);
        match self {
            Recipe::Mod(windowed) | Recipe::BswChunk(windowed) => windows(windowed, key, ModN::new(windowed.n)),
            Recipe::Min(windowed) => windows(windowed, key, MinN::new(windowed.n, u64::MAX, tagger)),
            Recipe::Sketch(windowed) => windows(windowed, key, Sketch::new(windowed.n)),
            Recipe::Bsw(windowed) => windows(windowed, key, Bsw::new(windowed.n)),
            Recipe::Shingle(shingle) => Box::new(shingle.maker(Rabin::new(Polynomial::of(key)), Mix::of(key), tagger)),
            Recipe::Fuzzy(fuzzy) => Box::new(fuzzy.maker(tagger)),
            Recipe::SimilarityIndex(index) => Box::new(index.maker()),
            Recipe::Terms => Box::new(TermsMaker::new(tagger)),
        }
    }
}

fn windows(windowed: &Windowed, key: &Key, sampler: impl Sampler + 'static) -> Box<dyn Maker> {
    Box::new(Windows::new(rolling(windowed.w, key), Mix::of(key), Tagger::new(key), sampler))
}

fn rolling(w: u32, key: &Key) -> Rolling {
    Rolling::new(Rabin::new(Polynomial::of(key)), w as usize)
}

fn checked(method: &'static str, bytes: u64) -> Result<u32, MethodError> {
    let most = u64::from(CHUNK_BYTES_MOST);
    u32::try_from(bytes)
        .ok()
        .filter(|bytes| (1..=CHUNK_BYTES_MOST).contains(bytes))
        .ok_or(MethodError::SamplingOutOfRange { method, chunk_bytes: bytes, most })
}

fn width(params: &mut Params<'_>) -> Result<u32, ParamError> {
    params.number("w", 2..=1024, 20)
}

fn windowed(params: &mut Params<'_>, n_least: u32, asked: Option<u32>, default: u32) -> Result<Windowed, ParamError> {
    let w = width(params)?;
    Ok(Windowed { w, n: params.sampling("n", n_least..=CHUNK_BYTES_MOST, asked, default)? })
}

fn shingle(params: &mut Params<'_>, asked: Option<u32>, default_bytes: u32) -> Result<Shingle, ParamError> {
    let kinds = [("words", TokenKind::Words), ("letters", TokenKind::Letters), ("lines", TokenKind::Lines)];
    let tokens = params.choice("tokens", &kinds)?;
    let w = params.number("w", 1..=1000, 7)?;
    let labelled = params.choice("option", &[("b", false), ("a", true)])?;
    let samples = ["mod", "min", "min-of-mod", "levels", "all"].map(|name| (name, name));
    let mean = tokens.mean_bytes();
    let per_token = |bytes: u32| u32::try_from((u64::from(bytes) + mean / 2) / mean).unwrap_or(1).max(1);
    let m = |params: &mut Params<'_>, asked: Option<u32>| {
        params.sampling("m", 1..=CHUNK_BYTES_MOST, asked.map(per_token), per_token(default_bytes))
    };
    let s = |params: &mut Params<'_>, default| params.number("s", 1..=65_536, default);
    let sample = match params.choice("sample", &samples)? {
        "mod" => Sample::Mod { m: m(params, asked)? },
        "min" => Sample::Min { s: s(params, 200)? },
        // The signature has a fixed size: a sampling by bytes does not concern it.
        "min-of-mod" => Sample::MinOfMod { m: params.number("m", 1..=CHUNK_BYTES_MOST, 25)?, s: s(params, 200)? },
        "levels" => Sample::Levels { s: s(params, 100)? },
        _ => Sample::All,
    };
    Ok(Shingle { tokens, w, labelled, sample })
}

fn fuzzy(params: &mut Params<'_>) -> Result<Fuzzy, ParamError> {
    let fuzzy = Fuzzy {
        r: params.number("r", 2..=3, 3)?,
        rho: params.number("rho", 1..=16, 3)?,
        step: params.number("step", 1..=100, 30)?,
        words: params.number("words", 0..=1_000_000, 0)?,
    };
    if (1..WORDS_LEAST).contains(&fuzzy.words) {
        let value = fuzzy.words.to_string();
        return Err(ParamError::OutOfRange {
            method: "fuzzy",
            name: "words",
            value,
            least: WORDS_LEAST,
            most: 1_000_000,
        });
    }
    Ok(fuzzy)
}

fn similarity_index(params: &mut Params<'_>) -> Result<SimilarityIndex, ParamError> {
    let (method, name) = ("similarity-index", "way");
    let way = match params.take(name) {
        None => Way { number: 3, stream: Stream::Soundex, variation: Variation::B },
        Some(text) => Way::parse(text).ok_or_else(|| ParamError::Choice {
            method,
            name,
            value: text.to_owned(),
            choices: vec!["1A to 14D", "21A to 34D", "41A to 54D but 13A to 13D"],
        })?,
    };
    let index = SimilarityIndex {
        way,
        k: params.number("k", 1..=4096, 40)?,
        w: params.number("w", 1..=65_536, 100)?,
        sample: params.number("sample", 1..=65_536, 400)?,
        words: params.number("words", 1..=65_536, 200)?,
        seed: params.number("seed", 0..=u32::MAX, 1)?,
        signed: params.choice("hash", &[("signed", true), ("unsigned", false)])?,
    };
    if way.number == 14 && index.k == 1 {
        return Err(ParamError::OutOfRange { method, name: "k", value: "1".to_owned(), least: 2, most: 4096 });
    }
    Ok(index)
}

impl fmt::Display for Recipe {
    /// The parameters of the canonical form, a line each; a parameter that changes nothing stands there all the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Recipe::Mod(windowed)
            | Recipe::Min(windowed)
            | Recipe::Sketch(windowed)
            | Recipe::Bsw(windowed)
            | Recipe::BswChunk(windowed) => write!(f, "w={}\nn={}", windowed.w, windowed.n),
            Recipe::Shingle(Shingle { tokens, w, labelled, sample }) => {
                let option = if *labelled { 'a' } else { 'b' };
                write!(f, "{}\ntokens={}\nw={w}\noption={option}\n{sample}", Unicode, tokens.name())
            }
            Recipe::Fuzzy(Fuzzy { r, rho, step, words }) => {
                write!(f, "{Unicode}\nr={r}\nrho={rho}\nstep={step}\nwords={words}")
            }
            Recipe::SimilarityIndex(SimilarityIndex { way, k, w, sample, words, seed, signed }) => {
                let hash = if *signed { "signed" } else { "unsigned" };
                let own = format!("way={way}\nk={k}\nw={w}\nsample={sample}\nwords={words}\nseed={seed}\nhash={hash}");
                write!(f, "{Unicode}\n{own}")
            }
            Recipe::Terms => write!(f, "{Unicode}"),
        }
    }
}

/// The version of Unicode that says what letters are: two sites with different ones may see different words.
struct Unicode;

impl fmt::Display for Unicode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor, update) = char::UNICODE_VERSION;
        write!(f, "unicode={major}.{minor}.{update}")
    }
}
