//! From a name and parameters as they are typed to an algorithm with every parameter in range.

use crate::algorithm::{Algorithm, NAMES, TERMS, WindowParameters};
use crate::method::fuzzy::{Fuzzy, WORDS_LEAST};
use crate::method::shingle::{Sample, Shingle, TokenKind};
use crate::method::similarity_index::{Formula, SimilarityIndex};
use crate::method_error::MethodError;
use crate::param::{ParamError, Params};
use crate::tttd::{CHUNK_BYTES_LEAST, CHUNK_BYTES_MOST};

/// The algorithm called `name` with the parameters `param`.
///
/// `default_bytes` is the mean of the view, used if neither `asked_bytes` nor a parameter gives one.
pub(crate) fn algorithm(
    name: &str,
    default_bytes: u64,
    asked_bytes: Option<u64>,
    param: &str,
) -> Result<Algorithm, MethodError> {
    let unknown = || MethodError::UnknownMethod { method: name.to_owned() };
    let name = NAMES.into_iter().chain([TERMS]).find(|known| *known == name).ok_or_else(unknown)?;
    if name == "tttd" {
        return match param {
            "" => tttd(asked_bytes.unwrap_or(default_bytes)),
            _ => Err(MethodError::TttdParam { param: param.to_owned() }),
        };
    }
    let mean = Mean {
        asked: asked_bytes.map(|bytes| checked(name, bytes)).transpose()?,
        default: u32::try_from(default_bytes).expect("the default of a view is a few hundred bytes"),
    };
    let mut params = Params::parse(name, param)?;
    let algorithm = sampling(name, &mut params, mean)?;
    params.finish()?;
    Ok(algorithm)
}

/// TTTD with a mean of `chunk_bytes`.
pub(crate) fn tttd(chunk_bytes: u64) -> Result<Algorithm, MethodError> {
    match u32::try_from(chunk_bytes) {
        Ok(mean) if (CHUNK_BYTES_LEAST..=CHUNK_BYTES_MOST).contains(&mean) => Ok(Algorithm::Tttd { chunk_bytes: mean }),
        _ => Err(MethodError::ChunkBytesOutOfRange { chunk_bytes }),
    }
}

/// The mean number of bytes to a feature: the one that was asked for, and the default.
#[derive(Clone, Copy)]
struct Mean {
    asked: Option<u32>,
    default: u32,
}

fn sampling(name: &str, params: &mut Params<'_>, mean: Mean) -> Result<Algorithm, ParamError> {
    Ok(match name {
        "mod" => Algorithm::Mod(one_in_n(params, 1, mean)?),
        "bsw" => Algorithm::Bsw(one_in_n(params, 1, mean)?),
        "bsw-chunk" => Algorithm::BswChunk(one_in_n(params, 16, mean)?),
        "min" => Algorithm::Min(n_in_all(params, 65_536)?),
        "sketch" => Algorithm::Sketch(n_in_all(params, 4_096)?),
        "shingle" => Algorithm::Shingle(shingle(params, mean)?),
        "fuzzy" => Algorithm::Fuzzy(fuzzy(params)?),
        "similarity-index" => Algorithm::SimilarityIndex(similarity_index(params)?),
        _ => Algorithm::Terms,
    })
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

fn one_in_n(params: &mut Params<'_>, n_least: u32, mean: Mean) -> Result<WindowParameters, ParamError> {
    let w = width(params)?;
    Ok(WindowParameters { w, n: params.sampling("n", n_least..=CHUNK_BYTES_MOST, mean.asked, mean.default)? })
}

fn n_in_all(params: &mut Params<'_>, n_most: u32) -> Result<WindowParameters, ParamError> {
    Ok(WindowParameters { w: width(params)?, n: params.number("n", 1..=n_most, 100)? })
}

fn shingle(params: &mut Params<'_>, mean: Mean) -> Result<Shingle, ParamError> {
    let kinds = [("words", TokenKind::Words), ("letters", TokenKind::Letters), ("lines", TokenKind::Lines)];
    let tokens = params.choice("tokens", &kinds)?;
    let w = params.number("w", 1..=1000, 7)?;
    let labelled = params.choice("option", &[("b", false), ("a", true)])?;
    Ok(Shingle { tokens, w, labelled, sample: sample(params, tokens, mean)? })
}

fn sample(params: &mut Params<'_>, tokens: TokenKind, mean: Mean) -> Result<Sample, ParamError> {
    let token_bytes = tokens.mean_bytes();
    let in_tokens = |bytes: u32| u32::try_from((u64::from(bytes) + token_bytes / 2) / token_bytes).unwrap_or(1).max(1);
    let names = ["mod", "min", "min-of-mod", "levels", "all"].map(|name| (name, name));
    let m = 1..=CHUNK_BYTES_MOST;
    let s = 1..=65_536;
    Ok(match params.choice("sample", &names)? {
        "mod" => Sample::Mod { m: params.sampling("m", m, mean.asked.map(in_tokens), in_tokens(mean.default))? },
        "min" => Sample::Min { s: params.number("s", s, 200)? },
        // The signature has a fixed size, so a mean is ignored.
        "min-of-mod" => Sample::MinOfMod { m: params.number("m", m, 25)?, s: params.number("s", s, 200)? },
        "levels" => Sample::Levels { s: params.number("s", s, 100)? },
        _ => Sample::All,
    })
}

fn fuzzy(params: &mut Params<'_>) -> Result<Fuzzy, ParamError> {
    let most = 1_000_000;
    let fuzzy = Fuzzy {
        k: params.number("k", 10..=30, 10)?,
        r: params.number("r", 2..=3, 2)?,
        rho: params.number("rho", 1..=16, 3)?,
        step: params.number("step", 1..=100, 30)?,
        words: params.number("words", 0..=most, 0)?,
    };
    if (1..WORDS_LEAST).contains(&fuzzy.words) {
        let value = fuzzy.words.to_string();
        return Err(ParamError::OutOfRange { method: "fuzzy", name: "words", value, least: WORDS_LEAST, most });
    }
    Ok(fuzzy)
}

fn similarity_index(params: &mut Params<'_>) -> Result<SimilarityIndex, ParamError> {
    let method = "similarity-index";
    let formula = match params.take("way") {
        None => Formula::DEFAULT,
        Some(text) => Formula::parse(text).ok_or_else(|| ParamError::Choice {
            method,
            name: "way",
            value: text.to_owned(),
            choices: vec!["1A to 14D", "21A to 34D", "41A to 54D but 13A to 13D"],
        })?,
    };
    let index = SimilarityIndex {
        formula,
        k: params.number("k", 1..=4096, 40)?,
        w: params.number("w", 1..=65_536, 100)?,
        sample: params.number("sample", 1..=65_536, 400)?,
        words: params.number("words", 1..=65_536, 200)?,
        seed: params.number("seed", 0..=u32::MAX, 1)?,
        signed: params.choice("hash", &[("signed", true), ("unsigned", false)])?,
    };
    if index.formula.number == 14 && index.k == 1 {
        return Err(ParamError::OutOfRange { method, name: "k", value: "1".to_owned(), least: 2, most: 4096 });
    }
    Ok(index)
}

#[cfg(test)]
mod tests;
