//! Reading of documents: the program starts itself again as a child process that does nothing else.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use cognate_view::{CHILD_ARGUMENT, Limits, Pool, Recogniser, Recognition};
use cognate_worker::Extraction;

use crate::exit::usage;

/// Default size of the cache of extracted text.
pub(crate) const TEXTS_BYTES_MAX: u64 = 2 << 30;

/// Path of this program, even if its file has been replaced since the start.
pub(crate) fn program() -> PathBuf {
    if cfg!(target_os = "linux") {
        return PathBuf::from("/proc/self/exe");
    }
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("cognate"))
}

/// The option to recognise text.
#[derive(Args, Debug)]
pub(crate) struct OcrArgs {
    /// Recognise the text of scanned pages with the program `tesseract`, in these languages, joined by `+`
    #[arg(
        long,
        value_name = "LANGUAGES",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "eng"
    )]
    ocr: Option<String>,
}

impl OcrArgs {
    /// The program that recognises text, if the option asks for one.
    pub(crate) fn recogniser(&self) -> anyhow::Result<Option<Arc<Recogniser>>> {
        let Some(languages) = &self.ocr else { return Ok(None) };
        let languages = languages.split('+').map(str::to_owned).collect();
        let found = recogniser(Recognition::of_languages(languages));
        found.map(Some).map_err(|problem| usage(format!("--ocr: {problem}")))
    }
}

/// Finds the program that recognises text, and warns if it is not confined as it could be.
pub(crate) fn recogniser(settings: Recognition) -> Result<Arc<Recogniser>, String> {
    let found = Recogniser::open(program(), settings).map_err(|error| error.to_string())?;
    let confinement = found.confinement();
    if !confinement.is_full() {
        tracing::warn!("the program that recognises text is confined without {confinement}");
    }
    Ok(Arc::new(found))
}

/// Text extraction for the sites of this process.
pub(crate) fn extraction(texts_bytes_max: u64, recogniser: Option<Arc<Recogniser>>) -> Extraction {
    Extraction {
        program: program(),
        arguments: vec![CHILD_ARGUMENT.into()],
        limits: Limits::default(),
        texts_bytes_max,
        recogniser,
    }
}

/// Child processes that read documents, for a command that uses them directly.
pub(crate) fn pool(size: NonZeroUsize) -> anyhow::Result<Pool> {
    recognising_pool(size, None)
}

/// The same, with recognition of text in pictures of pages.
pub(crate) fn recognising_pool(size: NonZeroUsize, recogniser: Option<Arc<Recogniser>>) -> anyhow::Result<Pool> {
    let started = Pool::with_recogniser(program(), [CHILD_ARGUMENT], size, Limits::default(), recogniser);
    started.context("no process can be started that reads documents")
}
