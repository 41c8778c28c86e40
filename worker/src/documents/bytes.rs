//! Reading a document as bytes.

use std::fs::File;
use std::io;

use cognate_fingerprint::{Content, LineReader};
use cognate_proto::file_hash::HashKinds;
use cognate_proto::v1::FileClass;
use cognate_view::Candidate;

use super::file_class::{HeadReader, class_of};
use super::handful::Handful;
use super::hashing::HashingReader;
use super::holes::HoleReader;
use super::long::LongDocuments;
use super::open_files::Open;
use super::outcome::{Fingerprinted, PartOutcome, ReadOutcome};
use super::spool::Spool;
use super::states::state_of;
use super::tools::Tools;
use crate::pace::Paced;
use crate::records::file_hashes::FileHashes;
use crate::records::stamp::Stamp;

/// Reads the bytes of an open document; a long one together with other readers, if there are any.
pub(super) fn read_bytes(
    tools: &mut Tools<'_>,
    long: Option<&LongDocuments>,
    file: &File,
    stamp: Stamp,
) -> io::Result<ReadOutcome> {
    let mut spool = Spool::new(tools.lists);
    let shared = long.and_then(|long| read_in_segments(tools, long, file, stamp, &mut spool));
    let read = match shared {
        Some(read) => read,
        None => read_in_order(tools, file, stamp, &mut spool),
    };
    let (content, read) = match read {
        Ok(read) => read,
        // An error of the spool is one of the site's own records; any other is one of the document.
        Err(error) if spool.failed => return Err(error),
        Err(error) => return Ok(ReadOutcome::Failed(state_of(&error))),
    };
    let own = PartOutcome::read(content, spool.end_list()?);
    Ok(ReadOutcome::Fingerprinted(Fingerprinted { spool_file: spool.finish()?, ..fingerprinted(own, read, stamp) }))
}

fn read_in_order(
    tools: &mut Tools<'_>,
    file: &File,
    stamp: Stamp,
    spool: &mut Spool<'_>,
) -> io::Result<(Content, Read)> {
    let head = HeadReader::with(opened(tools, file, stamp), std::mem::take(&mut tools.head));
    let mut reader = LineReader::new(HashingReader::new(head, tools.hashes))?;
    let read = tools.fingerprinter.read_sparse(&mut reader, |chunk| spool.push(&chunk))?;
    let (content, reader, size_bytes) = reader.finish(read);
    let (head, hashes) = reader.finish();
    let read = Read { class: head.class(), hashes, read_bytes: head.read_bytes(), size_bytes };
    tools.head = head.into_bytes();
    Ok((content, read))
}

/// Reads a document in segments; `None` if it is to be read in order, as for the hashes of its bytes.
fn read_in_segments(
    tools: &mut Tools<'_>,
    long: &LongDocuments,
    file: &File,
    stamp: Stamp,
    spool: &mut Spool<'_>,
) -> Option<io::Result<(Content, Read)>> {
    if tools.hashes != HashKinds::NONE {
        return None;
    }
    let mut counted = Open::new(io::empty(), stamp.length_bytes, tools.open_files);
    let document = (file, stamp.length_bytes);
    let content = long.read(tools, document, |bytes| counted.pass(bytes), |chunk| spool.push(&chunk))?;
    let first = Paced::new(HoleReader::new(file, stamp.length_bytes, tools.calls), tools.pace, tools.cancelled);
    let mut head = HeadReader::new(first);
    Some(content.and_then(|content| {
        head.fill()?;
        let Content { size_bytes, .. } = content;
        let read = Read { class: head.class(), hashes: FileHashes::default(), read_bytes: size_bytes, size_bytes };
        Ok((content, read))
    }))
}

/// Reads the bytes of an open document, for which a handful has room, and leaves them there.
pub(super) fn keep_bytes(tools: &Tools<'_>, handful: &mut Handful, file: &File, stamp: Stamp) -> ReadOutcome {
    let mut reader = HashingReader::new(opened(tools, file, stamp), tools.hashes);
    let bytes = match handful.read(&mut reader, stamp.length_bytes) {
        Ok(bytes) => bytes,
        Err(error) => return ReadOutcome::Failed(state_of(&error)),
    };
    let (_, hashes) = reader.finish();
    let size_bytes = bytes.len() as u64;
    let read = Read { class: class_of(bytes), hashes, read_bytes: size_bytes, size_bytes };
    handful.compare_with_lf();
    ReadOutcome::Fingerprinted(fingerprinted(PartOutcome::waiting(), read, stamp))
}

/// The bytes of an open document, at the site's pace, and counted.
fn opened<'f, 't: 'f>(tools: &Tools<'t>, file: &'f File, stamp: Stamp) -> Open<'f, Paced<'f, HoleReader<'f>>> {
    // A file that grows as fast as it is read would never end: read only the length that it had when it was opened.
    let paced = Paced::new(HoleReader::new(file, stamp.length_bytes, tools.calls), tools.pace, tools.cancelled);
    Open::new(paced, stamp.length_bytes, tools.open_files)
}

/// The facts about a document that its reader collects.
struct Read {
    class: (FileClass, Candidate),
    hashes: FileHashes,
    read_bytes: u64,
    size_bytes: u64,
}

fn fingerprinted(own: PartOutcome, read: Read, stamp: Stamp) -> Fingerprinted {
    let Read { class: (class, candidate), hashes, read_bytes, size_bytes } = read;
    Fingerprinted {
        own,
        inside: Vec::new(),
        spool_file: None,
        class,
        candidate,
        has_pictures: false,
        bytes_digest: None,
        hashes,
        read_bytes,
        stamp,
        changing: size_bytes != stamp.length_bytes,
        settled: true,
    }
}
