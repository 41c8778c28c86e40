//! Reasons why a method or a view is refused.

use crate::algorithm::NAMES;
use crate::param::ParamError;
use crate::tttd;

/// The reason why a method does not exist, or not with these parameters.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum MethodError {
    /// The mean of `tttd` is out of range.
    #[error(
        "a mean chunk of {chunk_bytes} bytes is out of range: {min} to {max} bytes",
        min = tttd::CHUNK_BYTES_LEAST, max = tttd::CHUNK_BYTES_MOST
    )]
    ChunkBytesOutOfRange {
        /// The mean that was asked for, in bytes.
        chunk_bytes: u64,
    },
    /// No view has this name.
    #[error("there is no view `{view}`: there are raw, text, passages and office")]
    UnknownView {
        /// The name that was given.
        view: String,
    },
    /// No method has this name.
    #[error("there is no method `{method}`: there are {}", NAMES.join(", "))]
    UnknownMethod {
        /// The name that was given.
        method: String,
    },
    /// A parameter is unknown, out of range, or malformed.
    #[error("{0}")]
    Param(#[from] ParamError),
    /// `tttd` was given a parameter; its mean is an option of its own.
    #[error("`tttd` has no parameter `{param}`; its one parameter is --chunk-bytes")]
    TttdParam {
        /// The parameters that were given.
        param: String,
    },
    /// The mean number of bytes to a feature is out of range.
    #[error("`{method}` cannot keep one feature in {chunk_bytes} bytes: 1 to {most} bytes")]
    SamplingOutOfRange {
        /// The method.
        method: &'static str,
        /// The mean that was asked for, in bytes.
        chunk_bytes: u64,
        /// The greatest mean, in bytes.
        most: u64,
    },
}
