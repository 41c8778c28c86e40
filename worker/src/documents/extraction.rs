//! Extraction of text: the program that reads documents in processes of its own, and its limits.

use std::ffi::OsString;
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Mutex;

use cognate_fingerprint::View;
use cognate_view::{Limits, Pool};

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
}

/// The processes that read documents. They run only while there is work.
pub(crate) struct ReaderProcesses {
    extraction: Extraction,
    size: NonZeroUsize,
    pool: Mutex<Option<Pool>>,
}

impl ReaderProcesses {
    pub(crate) fn new(extraction: Extraction, size: NonZeroUsize) -> ReaderProcesses {
        ReaderProcesses { extraction, size, pool: Mutex::new(None) }
    }

    /// The pool of processes; it is started if necessary.
    pub(crate) fn pool(&self) -> io::Result<Pool> {
        let mut slot = self.pool.lock().expect("no code panics while it holds this lock");
        if let Some(pool) = &*slot {
            return Ok(pool.clone());
        }
        let Extraction { program, arguments, limits, .. } = &self.extraction;
        let pool = Pool::new(program, arguments, self.size, *limits)?;
        let confinement = pool.confinement();
        if !confinement.is_full() {
            tracing::warn!("the processes that read documents are confined {confinement}");
        }
        *slot = Some(pool.clone());
        Ok(pool)
    }

    /// Stops the processes. They are started again when there is work.
    pub(crate) fn stop(&self) {
        *self.pool.lock().expect("no code panics while it holds this lock") = None;
    }
}

/// The error of a sync that cannot start a process.
pub(crate) fn cannot_start(error: io::Error) -> io::Error {
    io::Error::other(format!("no process can be started that reads documents: {error}"))
}
