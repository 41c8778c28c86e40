//! How this program reads documents: by starting itself again, for that and for nothing else.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::Context as _;
use cognate_view::{CHILD_ARGUMENT, Limits, Pool};
use cognate_worker::Extraction;

/// How much extracted text is kept where nothing else is said.
pub(crate) const TEXTS_BYTES_MAX: u64 = 2 << 30;

/// This program, also where its file has been replaced since it was started.
pub(crate) fn program() -> PathBuf {
    if cfg!(target_os = "linux") {
        return PathBuf::from("/proc/self/exe");
    }
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("cognate"))
}

/// How sites of this process come by text.
pub(crate) fn extraction(texts_bytes_max: u64) -> Extraction {
    Extraction {
        program: program(),
        arguments: vec![CHILD_ARGUMENT.into()],
        limits: Limits::default(),
        texts_bytes_max,
    }
}

/// Children that read documents, for a command that asks them itself.
pub(crate) fn pool(size: NonZeroUsize) -> anyhow::Result<Pool> {
    let started = Pool::new(program(), [CHILD_ARGUMENT], size, Limits::default());
    started.context("no process can be started that reads documents")
}
