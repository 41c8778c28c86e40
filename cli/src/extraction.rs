//! Reading of documents: the program starts itself again as a child process that does nothing else.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::Context as _;
use cognate_view::{CHILD_ARGUMENT, Limits, Pool};
use cognate_worker::Extraction;

/// Default size of the cache of extracted text.
pub(crate) const TEXTS_BYTES_MAX: u64 = 2 << 30;

/// Path of this program, even if its file has been replaced since the start.
pub(crate) fn program() -> PathBuf {
    if cfg!(target_os = "linux") {
        return PathBuf::from("/proc/self/exe");
    }
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("cognate"))
}

/// Text extraction for the sites of this process.
pub(crate) fn extraction(texts_bytes_max: u64) -> Extraction {
    Extraction {
        program: program(),
        arguments: vec![CHILD_ARGUMENT.into()],
        limits: Limits::default(),
        texts_bytes_max,
    }
}

/// Child processes that read documents, for a command that uses them directly.
pub(crate) fn pool(size: NonZeroUsize) -> anyhow::Result<Pool> {
    let started = Pool::new(program(), [CHILD_ARGUMENT], size, Limits::default());
    started.context("no process can be started that reads documents")
}
