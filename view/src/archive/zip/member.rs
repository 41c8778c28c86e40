//! Visits one member of a zip archive whose header and size are known.

use std::io::{self, BufReader, Read, SeekFrom};
use std::rc::Rc;

use flate2::bufread::DeflateDecoder;
use lzma_rust2::LzmaReader;

use super::directory::read_at;
use super::record::{self, Fields, Member};
use crate::archive::compressed::{Zstd, xz};
use crate::archive::member::{MemberContent, VisitMember};
use crate::budget::{Budget, Counted, Metered, fault, reason};
use crate::outcome::Reason;
use crate::source::Source;

/// Size of the header of a stream of LZMA: a version, the size of the properties, and the properties.
const LZMA_HEADER_BYTES: usize = 9;
/// Begins the local header of a member.
pub(super) const SIGNATURE: u32 = 0x0403_4B50;
/// Bytes of a local header without its name and extra field.
pub(super) const HEADER_BYTES: u64 = 30;

/// Visits a member that the directory names.
pub(super) fn visit_member(
    source: &mut dyn Source,
    member: &Member,
    budget: &Rc<Budget>,
    each: &mut VisitMember<'_>,
) -> Result<(), Reason> {
    if member.is_encrypted() {
        return each(&member.name, MemberContent::Closed(Reason::Encrypted));
    }
    let start = match content_start(source, member.header_at) {
        Ok(start) => start,
        Err(error) => return each(&member.name, MemberContent::Closed(reason(&error))),
    };
    if let Err(error) = source.seek(SeekFrom::Start(start)) {
        return each(&member.name, MemberContent::Closed(reason(&error)));
    }
    let (stream, compressed) = Counted::new(source.take(member.compressed_bytes));
    let stream = BufReader::with_capacity(32 * 1024, stream);
    let decoder: Box<dyn Read> = match member.method {
        record::STORED => Box::new(stream),
        record::DEFLATED => Box::new(DeflateDecoder::new(stream)),
        record::BZIP2 => Box::new(bzip2::bufread::BzDecoder::new(stream)),
        record::DEFLATED64 => Box::new(deflate64::Deflate64Decoder::with_buffer(stream)),
        record::LZMA => match lzma(stream, member, budget) {
            Ok(decoder) => decoder,
            Err(error) => return each(&member.name, MemberContent::Closed(reason(&error))),
        },
        record::ZSTD => Box::new(Zstd::new(stream, budget)),
        record::XZ => xz(stream, budget),
        _ => return each(&member.name, MemberContent::Closed(Reason::Unsupported)),
    };
    let metered = Metered::new(decoder, budget, compressed);
    let mut checked = Checked { inner: metered, sum: crc32fast::Hasher::new(), left: member.bytes, stated: member.sum };
    each(&member.name, MemberContent::Bytes(&mut checked, Some(member.bytes)))
}

/// A stream of LZMA, which has a version, the size of its properties, and these before it.
fn lzma<'s>(mut stream: impl Read + 's, member: &Member, budget: &Budget) -> io::Result<Box<dyn Read + 's>> {
    let mut header = [0; LZMA_HEADER_BYTES];
    stream.read_exact(&mut header)?;
    let [_, _, 5, 0, properties, dictionary @ ..] = header else {
        return Err(fault(Reason::Unsupported));
    };
    let dictionary_bytes = u32::from_le_bytes(dictionary);
    if dictionary_bytes / 1024 > budget.dictionary_kib_max() {
        return Err(fault(Reason::OutOfMemory));
    }
    let bytes = if member.has_end_mark() { u64::MAX } else { member.bytes };
    Ok(Box::new(LzmaReader::new_with_props(stream, bytes, properties, dictionary_bytes, None)?))
}

/// Reads exactly the stated number of bytes and checks their checksum.
struct Checked<R> {
    inner: R,
    sum: crc32fast::Hasher,
    left: u64,
    stated: u32,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        if read == 0 && !buffer.is_empty() {
            let complete = self.left == 0 && self.sum.clone().finalize() == self.stated;
            return if complete { Ok(0) } else { Err(fault(Reason::Damaged)) };
        }
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| fault(Reason::Damaged))?;
        self.sum.update(&buffer[..read]);
        Ok(read)
    }
}

/// The place at which the content of a member begins.
fn content_start(source: &mut dyn Source, header_at: u64) -> io::Result<u64> {
    let header = read_at(source, header_at, HEADER_BYTES)?;
    let mut fields = Fields(&header);
    let lengths = (fields.u32() == Some(SIGNATURE))
        .then(|| fields.bytes(22))
        .flatten()
        .and_then(|_| fields.u16().zip(fields.u16()))
        .ok_or(io::ErrorKind::InvalidData)?;
    Ok(header_at + HEADER_BYTES + u64::from(lengths.0) + u64::from(lengths.1))
}
