//! Extraction of text: the program that reads documents in processes of its own, and its limits.

use std::ffi::OsString;
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use cognate_fingerprint::View;
use cognate_view::{Candidate, Limits, Pool, Recogniser};

// Method ids contain the version of the text, so both crates must agree on it.
const _: () = assert!(View::TEXT_VERSION == cognate_view::TEXT_VERSION);
// They must also agree on the mark between a document and a name inside of it.
const _: () = {
    let (view, proto) = (cognate_view::INSIDE.as_bytes(), cognate_proto::path::INSIDE.as_bytes());
    assert!(view.len() == 2 && proto.len() == 2 && view[0] == proto[0] && view[1] == proto[1]);
};

/// Configuration of the extraction of text.
#[derive(Clone, Debug)]
pub struct Extraction {
    /// The program that reads documents: usually the running program itself.
    pub program: PathBuf,
    /// Its arguments, with which it does nothing else.
    pub arguments: Vec<OsString>,
    /// The limits for one document.
    pub limits: Limits,
    /// Bytes of compressed text that are stored, so that nothing is extracted twice.
    pub texts_bytes_max: u64,
    /// Recognises the text of pages that are pictures; `None`: such pages are counted and not read.
    pub recogniser: Option<Arc<Recogniser>>,
}

/// The recognition of text that is in force.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RecognitionInForce {
    /// Identifies program and settings; 0: there is none.
    pub(crate) id: u64,
    /// The least guess with which a file is read under the view of office files.
    pub(crate) least: Candidate,
}

/// The processes that read documents. They run only while there is work.
pub(crate) struct ReaderProcesses {
    extraction: Extraction,
    size: NonZeroUsize,
    /// Processes that hand over no pictures, and processes that do.
    pools: [Mutex<Option<Pool>>; 2],
}

impl ReaderProcesses {
    pub(crate) fn new(extraction: Extraction, size: NonZeroUsize) -> ReaderProcesses {
        ReaderProcesses { extraction, size, pools: Default::default() }
    }

    /// The recognition of text for a job, which needs none if the policy keeps the text.
    pub(crate) fn recognition(&self, keeps_text: bool) -> RecognitionInForce {
        match self.recogniser(keeps_text) {
            None => RecognitionInForce { id: 0, least: Candidate::Document },
            Some(recogniser) => {
                let digest = blake3::derive_key("cognate recognition of text v1", recogniser.recipe().as_bytes());
                let id = digest.first_chunk().map_or(1, |bytes| u64::from_le_bytes(*bytes)).max(1);
                RecognitionInForce { id, least: Candidate::Picture }
            }
        }
    }

    /// The program that recognises text for a job, for people: with its version and its languages.
    pub(crate) fn recogniser_name(&self, keeps_text: bool) -> Option<String> {
        let recogniser = self.recogniser(keeps_text)?;
        Some(format!("tesseract {}, {}", recogniser.version(), recogniser.settings().languages.join("+")))
    }

    fn recogniser(&self, keeps_text: bool) -> Option<&Arc<Recogniser>> {
        self.extraction.recogniser.as_ref().filter(|_| !keeps_text)
    }

    /// The pool of processes for a job; it is started if necessary.
    pub(crate) fn pool(&self, keeps_text: bool) -> io::Result<Pool> {
        let recogniser = self.recogniser(keeps_text);
        let slot = &self.pools[usize::from(recogniser.is_some())];
        let mut slot = slot.lock().expect("no code panics while it holds this lock");
        if let Some(pool) = &*slot {
            return Ok(pool.clone());
        }
        let Extraction { program, arguments, limits, .. } = &self.extraction;
        let pool = Pool::with_recogniser(program, arguments, self.size, *limits, recogniser.cloned())?;
        let confinement = pool.confinement();
        if !confinement.is_full() {
            tracing::warn!("the processes that read documents are confined {confinement}");
        }
        *slot = Some(pool.clone());
        Ok(pool)
    }

    /// Stops the processes. They are started again when there is work.
    pub(crate) fn stop(&self) {
        for pool in &self.pools {
            *pool.lock().expect("no code panics while it holds this lock") = None;
        }
    }
}

/// The error of a sync that cannot start a process.
pub(crate) fn cannot_start(error: io::Error) -> io::Error {
    io::Error::other(format!("no process can be started that reads documents: {error}"))
}
