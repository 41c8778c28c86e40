//! Floor 2: from a folder to fingerprints. A failure of a document is its state, never an error of the sync.
//!
//! - [`root`]: the open folder of a repository; the only place that opens documents.
//! - [`walk`]: the documents below a root.
//! - [`reader`]: reads one document, as bytes ([`bytes`]) or as text ([`text_reader`], with [`parts`] and [`names`]), into
//!   an [`outcome`]. Readers share [`tools`]; long lists of chunks go through a [`spool`], short documents wait for each other in a
//!   [`handful`], and of [`long`] ones each takes segments.
//! - [`file_calls`]: calls to the file system, which may never be answered.
//! - [`extraction`]: the processes that extract text.
//! - [`file_class`], [`hashing`], [`states`]: class, hashes and state of a file.

mod bytes;
pub(crate) mod extraction;
pub(crate) mod file_calls;
pub(crate) mod file_class;
pub(crate) mod handful;
mod hashing;
pub(crate) mod holes;
pub(crate) mod long;
mod names;
pub(crate) mod open_files;
pub(crate) mod outcome;
mod parts;
pub(crate) mod reader;
pub(crate) mod root;
mod spool;
pub(crate) mod states;
pub(crate) mod text_reader;
pub(crate) mod tools;
pub(crate) mod walk;
