//! The children that read documents, and how the worker asks them.
//!
//! A child is the worker's own program, started again with one argument. It gets each document as an open descriptor
//! and answers with a stream of parts; it is used for many documents. If it fails, the document that it was reading
//! gets the reason as its outcome, and the next document gets a new child.

mod answer;
mod process;
mod recognition;
mod slot;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};

use crate::frames::Parts;
use crate::limits::Limits;
use crate::recognise::Recogniser;
use crate::sandbox::Confinement;
use answer::Answer;
use process::Process;
use slot::{Shared, State};

/// Children that read documents, at most as many as the pool is large.
#[derive(Clone, Debug)]
pub struct Pool(Arc<Shared>);

impl Pool {
    /// Makes a pool and starts its first child; others are started when they are needed.
    ///
    /// `program` with `arguments` must call [`child_main`](crate::child_main) before anything else; the worker passes its
    /// own program.
    ///
    /// # Errors
    /// If the child cannot be started or does not answer.
    pub fn new(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
        size: NonZeroUsize,
        limits: Limits,
    ) -> io::Result<Pool> {
        Pool::with_recogniser(program, arguments, size, Limits { picture_pages_max: 0, ..limits }, None)
    }

    /// As [`new`](Pool::new); the text of pages that are pictures is recognised.
    ///
    /// # Errors
    /// As [`new`](Pool::new).
    pub fn with_recogniser(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
        size: NonZeroUsize,
        limits: Limits,
        recogniser: Option<Arc<Recogniser>>,
    ) -> io::Result<Pool> {
        let picture_pages_max = recogniser.as_ref().map_or(0, |recogniser| recogniser.settings().pages_max);
        let limits = Limits { picture_pages_max, ..limits };
        let program = program.into();
        let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
        let (first, confinement) = Process::start(&program, &arguments, &limits)?;
        let state = Mutex::new(State { idle: vec![first], running: 1 });
        let returned = Condvar::new();
        let size = size.get();
        Ok(Pool(Arc::new(Shared { program, arguments, size, limits, recogniser, confinement, state, returned })))
    }

    /// Has a document read, by the first child that is free; waits for one.
    ///
    /// The name is a hint for the names of members, or empty: only the last component of that of a compressed file
    /// (`notes.txt.gz`) matters. The file is read from its beginning to its end, and its position is not touched.
    ///
    /// # Errors
    /// If a child cannot be started or the descriptor cannot be sent. A document that cannot be read is no error.
    pub fn extract(&self, file: &File, name: &str) -> io::Result<Extraction> {
        self.ask(file, Some(crate::hint::hint(name)))
    }

    /// As [`extract`](Pool::extract), but an archive stays closed: it has no parts but itself.
    ///
    /// # Errors
    /// As [`extract`](Pool::extract).
    pub fn extract_unless_archive(&self, file: &File) -> io::Result<Extraction> {
        self.ask(file, None)
    }

    fn ask(&self, file: &File, hint: Option<String>) -> io::Result<Extraction> {
        let mut slot = Shared::acquire(&self.0)?;
        // The position is shared with the caller's descriptor; the child does not use it.
        let file = file.try_clone()?;
        if slot.process()?.ask(&file, hint.as_deref()).is_err() {
            // It died while it was idle. A failure of a new one as well is an error.
            slot.replace()?;
            slot.process()?.ask(&file, hint.as_deref())?;
        }
        Ok(Extraction(Answer::new(slot, file, hint, self.0.recogniser.clone())))
    }

    /// The confinement of the children.
    pub fn confinement(&self) -> Confinement {
        self.0.confinement
    }

    /// The limits of the children.
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// Number of children that may work at the same time.
    pub fn size(&self) -> usize {
        self.0.size
    }
}

/// The parts of a document, as the stream that [`Parts`] reads and a cache may store: always complete even if the child
/// fails. The document whose child crashed, was killed or took too long ends with a part that has this reason.
///
/// Dropped before its end, it ends the child.
#[derive(Debug)]
pub struct Extraction(Answer);

impl Extraction {
    /// Reads it part by part.
    pub fn parts(self) -> Parts<Extraction> {
        Parts::new(self)
    }
}

impl Read for Extraction {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}
