//! The handles that all ways of reading a document share.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cognate_fingerprint::Fingerprinter;
use cognate_proto::file_hash::HashKinds;

use super::file_calls::FileCalls;
use super::open_files::OpenFiles;
use super::root::Root;
use crate::pace::Pace;
use crate::records::lists::Lists;

/// The handles of one reader of documents.
pub(crate) struct Tools<'a> {
    pub(crate) root: &'a Root,
    pub(crate) lists: &'a Lists,
    pub(crate) fingerprinter: Fingerprinter,
    /// The kinds of hashes of complete files that are made.
    pub(crate) hashes: HashKinds,
    pub(crate) pace: &'a Pace,
    pub(crate) cancelled: &'a AtomicBool,
    /// The calls of this reader to the file system.
    pub(crate) calls: &'a Arc<FileCalls>,
    /// The count of open files, if anybody waits for their end.
    pub(crate) open_files: Option<&'a OpenFiles>,
    /// The first bytes of the last document, for their memory.
    pub(crate) head: Vec<u8>,
}
