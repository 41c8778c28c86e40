//! Reading a document as bytes.

use std::fs::File;
use std::io;

use super::file_class::HeadReader;
use super::hashing::HashingReader;
use super::holes::HoleReader;
use super::open_files::Open;
use super::outcome::{Fingerprinted, PartOutcome, ReadOutcome};
use super::spool::Spool;
use super::states::state_of;
use super::tools::Tools;
use crate::pace::Paced;
use crate::records::stamp::Stamp;

/// Reads the bytes of an open document.
pub(super) fn read_bytes(tools: &mut Tools<'_>, file: &File, stamp: Stamp) -> io::Result<ReadOutcome> {
    // A file that grows as fast as it is read would never end: read only the length that it had when it was opened.
    let paced = Paced::new(HoleReader::new(file, stamp.length_bytes), tools.pace, tools.cancelled);
    let open = Open::new(paced, stamp.length_bytes, tools.open_files);
    let head = HeadReader::with(open, std::mem::take(&mut tools.head));
    let mut hashing = HashingReader::new(head, tools.hashes);
    let mut spool = Spool::new(tools.lists);
    let content = match tools.fingerprinter.read_sparse(&mut hashing, |chunk| spool.push(&chunk)) {
        Ok(content) => content,
        // An error of the spool is one of the site's own records; any other is one of the document.
        Err(error) if spool.failed => return Err(error),
        Err(error) => return Ok(ReadOutcome::Failed(state_of(&error))),
    };
    let (head, hashes) = hashing.finish();
    let chunks = spool.end_list()?;
    let fingerprinted = Fingerprinted {
        own: PartOutcome::read(content, chunks),
        inside: Vec::new(),
        spool_file: spool.finish()?,
        class: head.class(),
        candidate: head.candidate(),
        has_pictures: false,
        bytes_digest: None,
        hashes,
        read_bytes: head.read_bytes(),
        stamp,
        changing: content.size_bytes != stamp.length_bytes,
        settled: true,
    };
    tools.head = head.into_bytes();
    Ok(ReadOutcome::Fingerprinted(fingerprinted))
}
