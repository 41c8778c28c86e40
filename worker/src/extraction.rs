//! How a site comes by text: which program reads documents, within which limits, and how much of it is kept.

use std::ffi::OsString;
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Mutex;

use cognate_fingerprint::View;
use cognate_view::{Limits, Pool};

// The ids of methods that read text hold the version of the text: both sides of it are one.
const _: () = assert!(View::TEXT_VERSION == cognate_view::TEXT_VERSION);
// So is what begins the name of something inside of a document: `view` knows nothing of the wire.
const _: () = {
    let (here, there) = (cognate_view::INSIDE.as_bytes(), cognate_proto::path::INSIDE.as_bytes());
    assert!(here.len() == 2 && there.len() == 2 && here[0] == there[0] && here[1] == there[1]);
};

/// How a site comes by text.
#[derive(Clone, Debug)]
pub struct Extraction {
    /// The program that is started to read documents: this one.
    pub program: PathBuf,
    /// What it is started with, so that it does nothing else.
    pub arguments: Vec<OsString>,
    /// How much one document may cost.
    pub limits: Limits,
    /// How many bytes of extracted text are kept, compressed, so that nothing is extracted twice.
    pub texts_bytes_max: u64,
}

/// The children of a site, while there is work for them.
pub(crate) struct Children {
    extraction: Extraction,
    size: NonZeroUsize,
    pool: Mutex<Option<Pool>>,
}

impl Children {
    pub(crate) fn new(extraction: Extraction, size: NonZeroUsize) -> Children {
        Children { extraction, size, pool: Mutex::new(None) }
    }

    /// The pool, started where it is not.
    pub(crate) fn pool(&self) -> io::Result<Pool> {
        let mut slot = self.pool.lock().expect("nothing panics while it is held");
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

    /// Lets the children go: they are started again when there is work.
    pub(crate) fn rest(&self) {
        *self.pool.lock().expect("nothing panics while it is held") = None;
    }
}
